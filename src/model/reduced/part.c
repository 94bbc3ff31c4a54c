/* part.c - see part.h. */
#include "model/reduced/part.h"

#include "model/host/host.h"
#include "wire/gz_in.h"
#include "wire/gz_out.h"
#include "wire/pb_out.h"

#include <stdlib.h>

#define MAGIC_ANY "stepscope part "
#define CHECK_BYTES 8

static void put_str(struct ss_buf *b, struct ss_str s)
{
	ss_pbo_varint(b, s.n);
	ss_buf_str(b, s);
}

static void put_fixed(struct ss_buf *b, uint64_t v)
{
	for (unsigned i = 0; i < 64; i += 8)
		ss_buf_char(b, (char)(v >> i));
}

static void put_hosts(const struct ss_shard *s, struct ss_buf *to)
{
	ss_pbo_varint(to, s->index);
	ss_pbo_varint(to, s->count);
	put_str(to, s->run);
	put_str(to, s->label);
	ss_pbo_varint(to, s->nhosts);
	for (uint64_t i = 0; i < s->nhosts; i++)
		put_str(to, s->hosts[i]);
	ss_pbo_varint(to, s->v.n);
}

static void put_host(const struct ss_part_host *h, struct ss_buf *to)
{
	ss_pbo_varint(to, h->index);
	put_fixed(to, h->digest);
	put_str(to, h->path);
	ss_pbo_varint(to, h->file_bytes);
	ss_pbo_varint(to, h->ndropped);
	ss_pbo_varint(to, h->nnotes);
	for (uint64_t k = 0; k < h->nnotes; k++)
		put_str(to, h->notes[k]);
	put_str(to, h->packed);
}

/* Texts of the facts of all hosts, each once, and which of them each host has. */
static bool put_texts(const struct ss_shard *s, struct ss_buf *to)
{
	struct ss_strmap known = { 0 };
	struct ss_buf texts = { 0 }, numbers = { 0 };
	bool ok = true;
	for (size_t i = 0; i < s->v.n; i++) {
		const struct ss_host_facts *f = &s->v.v[i].facts;
		uint32_t next = 0;
		ss_pbo_varint(&numbers, f->ntexts);
		for (uint64_t k = 0; ok && k < f->ntexts; k++) {
			uint32_t had = known.n, at = ss_strmap_add(&known, f->texts[k]);
			ok = at != SS_NONE;
			if (at == had)
				put_str(&texts, f->texts[k]);
			ss_pbo_varint(&numbers, ss_pack_zigzag((uint64_t)at - next));
			next = at + 1;
		}
	}
	ss_pbo_varint(to, known.n);
	ss_buf_str(to, ss_buf_get(&texts));
	ss_buf_str(to, ss_buf_get(&numbers));
	ok = ok && !texts.no_memory && !numbers.no_memory;
	ss_strmap_free(&known);
	ss_buf_free(&texts);
	ss_buf_free(&numbers);
	return ok;
}

/* Deflated host by host: what is held besides is one host's. */
static bool deflate_hosts(const struct ss_shard *s, struct ss_gz_out *gz, struct ss_err *err)
{
	struct ss_buf piece = { 0 };
	bool ok = true;
	put_hosts(s, &piece);
	for (size_t i = 0; ok && i <= 2 * s->v.n + 1; i++) {
		ok = ss_buf_ok(&piece, "a part", err);
		if (ok)
			ss_gz_write(gz, ss_buf_get(&piece));
		piece.n = 0;
		if (ok && i < s->v.n)
			put_host(&s->v.v[i], &piece);
		else if (ok && i == s->v.n)
			ok = put_texts(s, &piece) || ss_fail_mem(err);
		else if (ok && i <= 2 * s->v.n)
			put_str(&piece, s->v.v[i - s->v.n - 1].facts.bytes);
	}
	ss_buf_free(&piece);
	return ok;
}

bool ss_shard_write(const struct ss_shard *s, struct ss_buf *to, struct ss_err *err)
{
	struct ss_gz_out *gz = ss_gz_open(SS_GZ_SMALL);
	struct ss_str deflated;
	bool ok = (gz || ss_fail_mem(err)) && deflate_hosts(s, gz, err) && (ss_gz_finish(gz, &deflated) || ss_fail_mem(err));
	if (ok) {
		ss_buf_lit(to, SS_PART_MAGIC);
		ss_buf_str(to, deflated);
		put_fixed(to, ss_str_digest(ss_buf_get(to)));
		ok = ss_buf_ok(to, "a part", err);
	}
	ss_gz_close(gz);
	return ok;
}

struct in {
	const uint8_t *at, *end;
	bool bad;
};

static uint64_t get(struct in *r)
{
	uint64_t v = 0;
	if (!r->bad && !ss_pb_varint(&r->at, r->end, &v))
		r->bad = true;
	return r->bad ? 0 : v;
}

static struct ss_str get_str(struct in *r)
{
	uint64_t n = get(r);
	if (n > (uint64_t)(r->end - r->at))
		r->bad = true;
	if (r->bad || !n)
		return SS_STR("");
	struct ss_str s = { (const char *)r->at, (size_t)n };
	r->at += n;
	return s;
}

static uint64_t get_fixed(struct in *r)
{
	uint64_t v = 0;
	if (r->end - r->at < 8)
		r->bad = true;
	for (unsigned i = 0; !r->bad && i < 64; i += 8)
		v |= (uint64_t)*r->at++ << i;
	return v;
}

/* A list of texts, each of at least one byte of length. */
static struct ss_str *get_list(struct in *r, struct ss_arena *a, uint64_t *n, bool *no_memory)
{
	*n = get(r);
	if (*n > (uint64_t)(r->end - r->at))
		r->bad = true;
	struct ss_str *v = r->bad ? NULL : SS_NEW_N(a, struct ss_str, (size_t)*n + 1);
	*no_memory |= !r->bad && !v;
	for (uint64_t i = 0; v && i < *n; i++)
		v[i] = get_str(r);
	*n = v ? *n : 0;
	return v;
}

static bool read_host(struct ss_shard *s, struct in *r, bool *no_memory)
{
	struct ss_part_host h = { .index = get(r) };
	h.digest = get_fixed(r);
	h.path = get_str(r);
	h.file_bytes = get(r);
	h.ndropped = get(r);
	h.notes = get_list(r, &s->arena, &h.nnotes, no_memory);
	h.packed = get_str(r);
	r->bad |= h.index >= s->nhosts || (s->v.n && h.index <= s->v.v[s->v.n - 1].index);
	*no_memory |= !r->bad && !ss_vec_push(&s->v, h);
	return !r->bad && !*no_memory;
}

static void get_facts(struct ss_shard *s, struct in *r, bool *no_memory)
{
	uint64_t nknown = 0;
	struct ss_str *known = get_list(r, &s->arena, &nknown, no_memory);
	for (size_t i = 0; known && i < s->v.n && !r->bad && !*no_memory; i++) {
		struct ss_host_facts *f = &s->v.v[i].facts;
		uint64_t next = 0;
		f->ntexts = get(r);
		r->bad |= f->ntexts > (uint64_t)(r->end - r->at);
		f->texts = r->bad ? NULL : SS_NEW_N(&s->arena, struct ss_str, (size_t)f->ntexts + 1);
		*no_memory |= !r->bad && !f->texts;
		for (uint64_t k = 0; f->texts && k < f->ntexts && !r->bad; k++, next++) {
			next += ss_pack_unzigzag(get(r));
			r->bad |= next >= nknown;
			f->texts[k] = r->bad ? SS_STR("") : known[next];
		}
	}
	for (size_t i = 0; i < s->v.n && !r->bad && !*no_memory; i++)
		s->v.v[i].facts.bytes = get_str(r);
}

static bool inflate_hosts(struct ss_shard *s, struct ss_str bytes, struct ss_err *err)
{
	bool whole = true;
	struct ss_str deflated = ss_str_sub(bytes, sizeof(SS_PART_MAGIC) - 1, bytes.n - CHECK_BYTES);
	s->bytes.hold = ss_arena_hold(&s->arena, deflated.n);
	if (!s->bytes.hold)
		return ss_fail_mem(err);
	if (!ss_gz_in_one(deflated, &s->bytes, &whole, err))
		return false;
	if (s->bytes.over)
		return ss_hold_fail(SS_STR("it"), err);
	return whole || ss_fail(err, SS_EFORMAT, "it is damaged");
}

bool ss_shard_read(struct ss_shard *s, struct ss_str bytes, struct ss_err *err)
{
	bool no_memory = false;
	*s = (struct ss_shard){ .index = 0 };
	if (!ss_str_starts(bytes, SS_STR(SS_PART_MAGIC)))
		return ss_fail(err, SS_EFORMAT,
			       ss_str_starts(bytes, SS_STR(MAGIC_ANY)) ? "it is a part of another version" : "it is not a part");
	const uint8_t *p = (const uint8_t *)bytes.p;
	struct in sum = { .at = p + bytes.n - CHECK_BYTES, .end = p + bytes.n };
	if (bytes.n < sizeof(SS_PART_MAGIC) + CHECK_BYTES ||
	    get_fixed(&sum) != ss_str_digest(ss_str_sub(bytes, 0, bytes.n - CHECK_BYTES)))
		return ss_fail(err, SS_EFORMAT, "it is cut short or damaged");
	if (!inflate_hosts(s, bytes, err)) {
		ss_shard_free(s);
		return false;
	}
	struct ss_str body = ss_buf_get(&s->bytes);
	struct in r = { .at = (const uint8_t *)body.p, .end = (const uint8_t *)body.p + body.n };
	s->index = get(&r);
	s->count = get(&r);
	s->run = get_str(&r);
	s->label = get_str(&r);
	s->hosts = get_list(&r, &s->arena, &s->nhosts, &no_memory);
	uint64_t n = get(&r);
	for (uint64_t i = 0; i < n && !r.bad && !no_memory; i++)
		read_host(s, &r, &no_memory);
	get_facts(s, &r, &no_memory);
	if (!r.bad && !no_memory && r.at == r.end && s->index < s->count)
		return true;
	ss_shard_free(s);
	return no_memory ? ss_fail_mem(err) : ss_fail(err, SS_EFORMAT, "it is damaged");
}

void ss_shard_free(struct ss_shard *s)
{
	ss_vec_free(&s->v);
	ss_buf_free(&s->bytes);
	ss_arena_release(&s->arena);
	*s = (struct ss_shard){ .index = 0 };
}

/* The facts of the files that a visit would find. False: memory is out. */
static bool describe(struct ss_model *m, const struct ss_shard *s)
{
	struct ss_strmap by_path = { 0 };
	bool ok = true;
	for (size_t i = 0; ok && i < s->v.n; i++)
		ok = ss_strmap_add(&by_path, s->v.v[i].path) != SS_NONE;
	for (size_t i = 0; ok && i < m->nhosts; i++) {
		struct ss_host *k = m->hosts[i];
		uint32_t at = ss_strmap_get(&by_path, k->x.path);
		/* Paths differ, or else the first of them stands for all. */
		if (at >= s->v.n || !ss_str_eq(s->v.v[at].path, k->x.path))
			continue;
		k->x.notes = s->v.v[at].notes;
		k->x.nnotes = (uint32_t)s->v.v[at].nnotes;
		k->ndropped = s->v.v[at].ndropped;
	}
	ss_strmap_free(&by_path);
	return ok;
}

static bool open_host(const struct ss_host_opener *o, size_t i, const char *path, struct ss_host *h, struct ss_err *why,
		      struct ss_err *err)
{
	const struct ss_shard *s = o->arg;
	const struct ss_part_host *p = &s->v.v[i];
	struct ss_facts_skeleton skeleton = { p->packed, o->outlines, i };
	if (!ss_facts_open(h, &p->facts, &skeleton, path, why, err))
		return false;
	h->x.notes = p->notes;
	h->x.nnotes = (uint32_t)p->nnotes;
	return true;
}

static void close_opener(struct ss_host_opener *o)
{
	free(o->skeletons);
	ss_outlines_free(o->outlines);
}

/* A model of hosts that are opened from their facts. */
static bool init_model(struct ss_model *m, const struct ss_shard *s, const struct ss_host_file_at *files, struct ss_err *err)
{
	if (!ss_model_init_visited(m, files, s->v.n, err))
		return false;
	m->opener = (struct ss_host_opener){ .open = open_host, .arg = s, .close = close_opener,
					     .skeletons = calloc(s->v.n + 1, sizeof(*m->opener.skeletons)) };
	for (size_t i = 0; m->opener.skeletons && i < s->v.n; i++)
		m->opener.skeletons[i] = s->v.v[i].packed;
	if (m->opener.skeletons)
		m->opener.outlines = ss_outlines_new(m->opener.skeletons, s->v.n);
	if (m->opener.outlines && describe(m, s))
		return true;
	ss_model_release(m);
	return ss_fail_mem(err);
}

bool ss_model_init_shard(struct ss_model *m, const struct ss_shard *s, struct ss_err *err)
{
	struct ss_host_file_at *files = calloc(s->v.n + 1, sizeof(*files));
	struct ss_arena paths = { 0 };
	bool ok = files || ss_fail_mem(err);
	for (size_t i = 0; ok && i < s->v.n; i++) {
		struct ss_str path = ss_arena_str(&paths, s->v.v[i].path);
		ok = path.p || ss_fail_mem(err);
		files[i] = (struct ss_host_file_at){ .path = path.p, .bytes = s->v.v[i].file_bytes };
	}
	ok = ok && init_model(m, s, files, err);
	ss_arena_release(&paths);
	free(files);
	return ok;
}
