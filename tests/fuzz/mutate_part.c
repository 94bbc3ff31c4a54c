/* mutate_part.c - see mutate.h, and part.c, facts.c and skeleton_pack.c for the format. */
#include "fuzz/mutate.h"

#include "model/cluster/skeleton_column.h"
#include "wire/gz_in.h"
#include "wire/gz_out.h"

#include <stdlib.h>

#define TOKENS_MAX 4096u
#define INFLATED_BYTES ((uint64_t)1 << 20)

/* What stands one behind the other; behind the length of those from TEXT on stands a value. */
enum kind { NUMBER, FIXED, TEXT, COLUMN, SPACE, OPS, SKELETON, FACTS };

struct token {
	size_t at, value, end;
	enum kind kind;
};

struct tokens {
	const uint8_t *p;
	size_t n, at;
	bool bad;		/* the bytes are not of the form; what was found counts */
	struct token v[TOKENS_MAX];
	size_t found;
};

static uint64_t take(struct tokens *t, enum kind kind)
{
	struct token *k = &t->v[t->found];
	uint64_t v = 0;
	size_t at = t->at, n = 0;
	t->bad = t->bad || t->found == TOKENS_MAX || (kind != FIXED && !mutate_get_varint(t->p, t->n, &at, &v));
	n = kind == FIXED ? 8 : kind == NUMBER ? 0 : (size_t)v;
	t->bad = t->bad || n > t->n - at;
	if (t->bad)
		return 0;
	*k = (struct token){ t->at, at, at + n, kind };
	t->at = at + n;
	t->found++;
	return v;
}

static void take_all(struct tokens *t, const char *kinds)
{
	for (; *kinds && !t->bad; kinds++)
		take(t, *kinds == 'n' ? NUMBER : *kinds == 'f' ? FIXED : TEXT);
}

/* A list: how many, and of each what stands in `kinds`. */
static uint64_t take_list(struct tokens *t, const char *kinds)
{
	uint64_t n = take(t, NUMBER);
	for (uint64_t i = 0; i < n && !t->bad; i++)
		take_all(t, kinds);
	return n;
}

static void find_contents(struct tokens *t)
{
	take_all(t, "nntt");
	take_list(t, "t");
	uint64_t hosts = take(t, NUMBER);
	for (uint64_t i = 0; i < hosts && !t->bad; i++) {
		take_all(t, "nftnn");
		take_list(t, "t");
		take(t, SKELETON);
	}
	take_list(t, "t");
	for (uint64_t i = 0; i < hosts && !t->bad; i++)
		take_list(t, "n");
	for (uint64_t i = 0; i < hosts && !t->bad; i++)
		take(t, FACTS);
}

static void find_skeleton(struct tokens *t)
{
	size_t magic = sizeof(SS_SKEL_MAGIC) - 1;
	t->bad = t->n < magic;
	t->at = magic;
	take_all(t, "ttttnnnnnn");
	take_list(t, "nnnnnn");
	take(t, NUMBER);
	take(t, OPS);
	while (!t->bad && t->at < t->n)
		take(t, COLUMN);
}

static void find_ops(struct tokens *t)
{
	take_list(t, "ttnnntnn");
}

/* Behind the planes nearly all are numbers. */
static void find_facts(struct tokens *t)
{
	take(t, SPACE);
	while (!t->bad && t->at < t->n)
		take(t, NUMBER);
}

static size_t mutate_in(void (*find)(struct tokens *), struct ss_str from, uint8_t *to, size_t max, uint64_t *state);

static size_t mutate_bytes(struct ss_str from, uint8_t *to, size_t max)
{
	size_t n = from.n < max ? from.n : max;
	memcpy(to, from.p, n);
	return max ? LLVMFuzzerMutate(to, n, max) : 0;
}

static size_t mutate_ops(struct ss_str deflated, uint8_t *to, size_t max, uint64_t *state)
{
	struct ss_buf ops = { .limit_bytes = INFLATED_BYTES };
	struct ss_err err = { 0 };
	struct ss_gz_out *gz = ss_gz_open(SS_GZ_FAST);
	struct ss_str packed = SS_STR("");
	bool whole = false, ok = gz && ss_gz_in_one(deflated, &ops, &whole, &err) && whole;
	size_t room = ops.n + 256, n = 0;
	uint8_t *changed = malloc(room);
	if (ok && changed) {
		n = mutate_in(find_ops, ss_buf_get(&ops), changed, room, state);
		ss_gz_write(gz, (struct ss_str){ (const char *)changed, n });
		ok = ss_gz_finish(gz, &packed) && packed.n <= max;
	}
	if (ok && changed)
		memcpy(to, packed.p, n = packed.n);
	else
		n = mutate_bytes(deflated, to, max);
	free(changed);
	ss_gz_close(gz);
	ss_buf_free(&ops);
	return n;
}

static size_t mutate_value(const struct token *k, struct ss_str value, uint8_t *to, size_t max, uint64_t *state)
{
	if (k->kind == SKELETON || k->kind == FACTS)
		return mutate_in(k->kind == FACTS ? find_facts : find_skeleton, value, to, max, state);
	if (k->kind == OPS)
		return mutate_ops(value, to, max, state);
	size_t n = mutate_bytes(value, to, max);
	if (k->kind != SPACE)
		return n;
	n = value.n < max ? value.n : max;
	memcpy(to, value.p, n);
	return mutate_message(to, n, max, (unsigned)*state);
}

/* Another number: one nearby, that of another, or one at the end of a range. */
static uint64_t other_number(const struct tokens *t, const struct token *k, uint64_t *state)
{
	const struct token *other = &t->v[mutate_pick(state, t->found)];
	size_t at = k->at, from = other->at;
	uint64_t v = 0, w = 0;
	mutate_get_varint(t->p, t->n, &at, &v);
	switch (mutate_pick(state, 4)) {
	case 0:
		return mutate_interesting(state);
	case 1:
		return other->kind == NUMBER && mutate_get_varint(t->p, t->n, &from, &w) ? w : v ^ 1;
	case 2:
		return v ^ UINT64_C(1) << mutate_pick(state, 40);
	default:
		return v + mutate_pick(state, 5) - 2;
	}
}

/* The changed token with its length, at `to`; 0: there is no room. */
static size_t put_changed(const struct tokens *t, const struct token *k, uint8_t *to, size_t max, uint64_t *state)
{
	struct ss_str value = { (const char *)t->p + k->value, k->end - k->value };
	size_t room = value.n + 256;
	if (max < 16)
		return 0;
	if (k->kind == NUMBER)
		return mutate_put_varint(to, other_number(t, k, state));
	if (k->kind == FIXED) {
		mutate_bytes(value, to, value.n);
		return value.n;
	}
	room = room < max - 10 ? room : max - 10;
	uint8_t *inner = malloc(room + 1);
	size_t n = inner ? mutate_value(k, value, inner, room, state) : 0, head = mutate_put_varint(to, n);
	if (inner)
		memcpy(to + head, inner, n);
	free(inner);
	return head + n;
}

/* One token in another form; hosts' skeletons and facts are most of the bytes, and are taken as often. */
static size_t mutate_in(void (*find)(struct tokens *), struct ss_str from, uint8_t *to, size_t max, uint64_t *state)
{
	struct tokens *t = calloc(1, sizeof(*t));
	size_t n = 0;
	if (t) {
		*t = (struct tokens){ .p = (const uint8_t *)from.p, .n = from.n };
		find(t);
	}
	if (!t || !t->found) {
		free(t);
		return mutate_bytes(from, to, max);
	}
	const struct token *k = &t->v[mutate_pick(state, t->found)];
	for (unsigned i = 0; i < 4 && k->kind < SPACE; i++)
		k = &t->v[mutate_pick(state, t->found)];
	size_t rest = t->n - k->end;
	if (k->at + rest <= max) {
		memcpy(to, t->p, k->at);
		n = k->at + put_changed(t, k, to + k->at, max - k->at - rest, state);
		memcpy(to + n, t->p + k->end, rest);
		n += rest;
	}
	free(t);
	return n ? n : mutate_bytes(from, to, max);
}

size_t mutate_part(uint8_t *data, size_t size, size_t max, unsigned seed)
{
	uint64_t state = mutate_seed(seed);
	uint8_t *copy = malloc(size + 1);
	if (!copy || mutate_pick(&state, 16) == 0) {
		free(copy);
		return LLVMFuzzerMutate(data, size, max);
	}
	memcpy(copy, data, size);
	size = mutate_in(find_contents, (struct ss_str){ (const char *)copy, size }, data, max, &state);
	free(copy);
	return size;
}
