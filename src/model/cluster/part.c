/* part.c - see part.h. */
#include "model/cluster/part.h"
#include "model/host/host.h"

#include "model/cluster/cluster.h"
#include "wire/gz_in.h"
#include "wire/gz_out.h"
#include "wire/pb_out.h"

#include <stdlib.h>

#define MAGIC_ANY "stepscope part "
#define CHECK_BYTES 8

uint64_t ss_content_digest(struct ss_str bytes)
{
	uint64_t h = UINT64_C(0x9e3779b97f4a7c15) ^ bytes.n;
	size_t i = 0;
	for (; i + 8 <= bytes.n; i += 8) {
		uint64_t w = 0;
		for (unsigned k = 0; k < 8; k++)
			w |= (uint64_t)(uint8_t)bytes.p[i + k] << 8 * k;
		h = (h ^ w) * UINT64_C(0xff51afd7ed558ccd);
		h ^= h >> 32;
	}
	for (; i < bytes.n; i++) {
		h = (h ^ (uint8_t)bytes.p[i]) * UINT64_C(0xc4ceb9fe1a85ec53);
		h ^= h >> 29;
	}
	return h;
}

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

/* Deflated host by host: what is held besides is one host's. */
static bool deflate_hosts(const struct ss_shard *s, struct ss_gz_out *gz, struct ss_err *err)
{
	struct ss_buf piece = { 0 };
	bool ok = true;
	put_hosts(s, &piece);
	for (size_t i = 0; ok && i <= s->v.n; i++) {
		ok = ss_buf_ok(&piece, "a part", err);
		if (ok)
			ss_gz_write(gz, ss_buf_get(&piece));
		piece.n = 0;
		if (ok && i < s->v.n)
			put_host(&s->v.v[i], &piece);
	}
	ss_buf_free(&piece);
	return ok;
}

bool ss_shard_write(const struct ss_shard *s, struct ss_buf *to, struct ss_err *err)
{
	struct ss_gz_out *gz = ss_gz_open();
	struct ss_str deflated;
	bool ok = (gz || ss_fail_mem(err)) && deflate_hosts(s, gz, err) && (ss_gz_finish(gz, &deflated) || ss_fail_mem(err));
	if (ok) {
		ss_buf_lit(to, SS_PART_MAGIC);
		ss_buf_str(to, deflated);
		put_fixed(to, ss_content_digest(ss_buf_get(to)));
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

static bool inflate_hosts(struct ss_shard *s, struct ss_str bytes, struct ss_err *err)
{
	bool whole = true;
	struct ss_str deflated = ss_str_sub(bytes, sizeof(SS_PART_MAGIC) - 1, bytes.n - CHECK_BYTES);
	s->bytes.hold = ss_arena_hold(&s->arena, deflated.n);
	if (!s->bytes.hold)
		return ss_fail_mem(err);
	if (!ss_gz_in_all(deflated, &s->bytes, &whole, err))
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
	    get_fixed(&sum) != ss_content_digest(ss_str_sub(bytes, 0, bytes.n - CHECK_BYTES)))
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

/* What a visit would have found of the files. False: memory is out. */
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

bool ss_model_init_shard(struct ss_model *m, const struct ss_shard *s, struct ss_err *err)
{
	struct ss_host_file_at *files = calloc(s->v.n + 1, sizeof(*files));
	struct ss_str *packed = calloc(s->v.n + 1, sizeof(*packed));
	struct ss_arena paths = { 0 };
	bool ok = (files && packed) || ss_fail_mem(err);
	for (size_t i = 0; ok && i < s->v.n; i++) {
		struct ss_str path = ss_arena_str(&paths, s->v.v[i].path);
		ok = path.p || ss_fail_mem(err);
		files[i] = (struct ss_host_file_at){ .path = path.p, .bytes = s->v.v[i].file_bytes };
		packed[i] = s->v.v[i].packed;
	}
	ok = ok && ss_model_init_visited(m, files, s->v.n, err);
	if (ok && !((describe(m, s) || ss_fail_mem(err)) && ss_model_put_cluster(m, packed, s->v.n, err))) {
		ss_model_release(m);
		ok = false;
	}
	ss_arena_release(&paths);
	free(files);
	free(packed);
	return ok;
}
