/* pack.c - see pack.h. */
#include "model/reduced/pack.h"

#include "wire/pb.h"
#include "wire/pb_out.h"

#include <stdlib.h>

void ss_pack_u64(struct ss_pack *p, uint64_t *v)
{
	if (!p->reading) {
		ss_pbo_varint(&p->out, *v);
		return;
	}
	*v = 0;
	if (!p->bad && !ss_pb_varint(&p->at, p->end, v))
		p->bad = true;
}

static uint64_t reversed(uint64_t v)
{
	uint64_t r = 0;
	for (unsigned i = 0; i < 64; i += 8)
		r |= (v >> i & 0xff) << (56 - i);
	return r;
}

/* The last bytes of whole numbers are 0: turned round they are short. */
void ss_pack_f64(struct ss_pack *p, double *v)
{
	uint64_t bits;
	memcpy(&bits, v, sizeof(bits));
	bits = reversed(bits);
	ss_pack_u64(p, &bits);
	if (!p->reading)
		return;
	bits = reversed(bits);
	memcpy(v, &bits, sizeof(bits));
}

void ss_pack_fixed(struct ss_pack *p, uint64_t *v)
{
	if (!p->reading) {
		for (unsigned i = 0; i < 64; i += 8)
			ss_buf_char(&p->out, (char)(*v >> i));
		return;
	}
	*v = 0;
	p->bad |= p->end - p->at < 8;
	for (unsigned i = 0; !p->bad && i < 64; i += 8)
		*v |= (uint64_t)*p->at++ << i;
}

static void write_str(struct ss_pack *p, struct ss_str s)
{
	uint32_t had = p->numbers.n, i = ss_strmap_add(&p->numbers, s);
	p->no_memory |= i == SS_NONE || (i == had && !ss_vec_push(&p->texts, s));
	p->text = i;
	ss_pbo_varint(&p->out, i);
}

void ss_pack_str(struct ss_pack *p, struct ss_str *s)
{
	uint64_t i;
	if (!p->reading) {
		write_str(p, s->p ? *s : SS_STR(""));
		return;
	}
	ss_pack_u64(p, &i);
	p->bad |= i >= p->nknown;
	*s = p->bad ? SS_STR("") : p->known[i];
	p->text = i;
}

void ss_pack_bytes(struct ss_pack *p, struct ss_str *s)
{
	uint64_t n = s->n;
	ss_pack_u64(p, &n);
	if (!p->reading) {
		ss_buf_str(&p->out, *s);
		return;
	}
	p->bad |= n > (uint64_t)(p->end - p->at);
	*s = p->bad || !n ? SS_STR("") : (struct ss_str){ (const char *)p->at, (size_t)n };
	p->at += s->n;
}

void *ss_pack_array(struct ss_pack *p, void *v, uint64_t *n, size_t size, size_t bytes_each)
{
	ss_pack_u64(p, n);
	if (!p->reading)
		return v;
	p->bad |= *n > (uint64_t)(p->end - p->at) / bytes_each;
	void *to = p->bad ? NULL : ss_arena_zalloc(p->arena, (size_t)*n + 1, size);
	p->no_memory |= !p->bad && !to;
	if (!to)
		*n = 0;
	return to;
}

void ss_pack_free(struct ss_pack *p)
{
	ss_buf_free(&p->out);
	ss_strmap_free(&p->numbers);
	ss_vec_free(&p->texts);
}
