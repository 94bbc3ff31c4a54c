/* mutate_pb.c - see mutate.h. */
#include "mutate.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define FIELDS_MAX 4096u
#define DEPTH_MAX 12u
#define HEADER_MAX 20u		/* a tag and a length */

enum { VARINT = 0, FIXED64 = 1, LENGTH = 2, FIXED32 = 5 };

struct field {
	size_t at, value, end;	/* tag, value behind the length, what is next */
	uint64_t tag;
};

struct fields {
	struct field v[FIELDS_MAX];
	size_t n;
};

bool mutate_get_varint(const uint8_t *p, size_t n, size_t *at, uint64_t *v)
{
	*v = 0;
	for (unsigned shift = 0; *at < n && shift < 64; shift += 7) {
		uint8_t byte = p[(*at)++];
		*v |= (uint64_t)(byte & 0x7f) << shift;
		if (byte < 0x80)
			return true;
	}
	return false;
}

size_t mutate_put_varint(uint8_t *p, uint64_t v)
{
	size_t n = 0;
	for (; v >= 0x80; v >>= 7)
		p[n++] = (uint8_t)(v | 0x80);
	p[n++] = (uint8_t)v;
	return n;
}

static bool next_field(const uint8_t *p, size_t n, size_t at, struct field *f)
{
	uint64_t length = 0, value;
	f->at = at;
	if (!mutate_get_varint(p, n, &at, &f->tag) || f->tag >> 3 == 0 || f->tag >> 3 > UINT32_MAX)
		return false;
	f->value = at;
	switch (f->tag & 7) {
	case VARINT:
		if (!mutate_get_varint(p, n, &at, &value))
			return false;
		break;
	case FIXED64:
		length = 8;
		break;
	case FIXED32:
		length = 4;
		break;
	case LENGTH:
		if (!mutate_get_varint(p, n, &at, &length))
			return false;
		f->value = at;
		break;
	default:
		return false;
	}
	if (length > n - at)
		return false;
	f->end = at + (size_t)length;
	return true;
}

/* All fields; false: the bytes are no message, or too many. */
static bool scan(const uint8_t *p, size_t n, struct fields *out)
{
	out->n = 0;
	for (size_t at = 0; at < n; at = out->v[out->n++].end)
		if (out->n == FIELDS_MAX || !next_field(p, n, at, &out->v[out->n]))
			return false;
	return out->n > 0;
}

/* Output that stops where there is no more room. */
struct out {
	uint8_t *p;
	size_t n, max;
};

static void put(struct out *o, const uint8_t *p, size_t n)
{
	n = n < o->max - o->n ? n : o->max - o->n;
	memcpy(o->p + o->n, p, n);
	o->n += n;
}

static void put_field(struct out *o, uint64_t tag, const uint8_t *value, size_t n)
{
	uint8_t head[HEADER_MAX];
	size_t nhead = mutate_put_varint(head, tag);
	if ((tag & 7) == LENGTH)
		nhead += mutate_put_varint(head + nhead, n);
	if (nhead + n > o->max - o->n)
		return;
	put(o, head, nhead);
	put(o, value, n);
}

uint64_t mutate_interesting(uint64_t *state)
{
	static const uint64_t some[] = { 0, 1, 2, 3, 127, 128, 255, 1000, 65535, 1u << 20, INT32_MAX, UINT32_MAX,
					 INT64_MAX, UINT64_MAX, UINT64_C(1) << 63, UINT64_C(1000000000000),
					 UINT64_C(1700000000000000000) };
	uint64_t v = some[mutate_pick(state, sizeof(some) / sizeof(*some))];
	return v + mutate_pick(state, 3) - 1;
}

static size_t mutate_in(const uint8_t *p, size_t n, uint8_t *to, size_t max, uint64_t *state, unsigned depth);

/* A new value of the field's type. */
static void put_changed(struct out *o, const uint8_t *p, const struct field *f, uint64_t *state, unsigned depth)
{
	uint8_t value[16];
	uint64_t word = mutate_interesting(state);
	double number = (double)(int64_t)word / 3;
	size_t n = f->end - f->value, room = o->max - o->n;
	switch (f->tag & 7) {
	case VARINT:
		put_field(o, f->tag, value, mutate_put_varint(value, word));
		return;
	case FIXED64:
	case FIXED32:
		memcpy(value, mutate_pick(state, 2) ? (const void *)&word : (const void *)&number, 8);
		put_field(o, f->tag, value, n);
		return;
	default:
		break;
	}
	if (room <= HEADER_MAX)
		return;
	room -= HEADER_MAX;
	size_t most = n + 64 < room ? n + 64 : room;
	uint8_t *inner = malloc(most + 1);
	if (inner)
		put_field(o, f->tag, inner, mutate_in(p + f->value, n, inner, most, state, depth + 1));
	free(inner);
}

static size_t mutate_bytes(const uint8_t *p, size_t n, uint8_t *to, size_t max)
{
	n = n < max ? n : max;
	memcpy(to, p, n);
	return max ? LLVMFuzzerMutate(to, n, max) : 0;
}

/* What is done to one field; most often something within it. */
enum { CHANGE, DROP, DOUBLE, RENUMBER, RETYPE, MOVE, EXCHANGE, CHANGES };

static void put_mutated(struct out *o, const uint8_t *p, const struct fields *all, const struct field *f, uint64_t *state,
			unsigned depth)
{
	const struct field *other = &all->v[mutate_pick(state, all->n)];
	size_t what = mutate_pick(state, 2 * CHANGES);
	switch (what < CHANGES ? what : CHANGE) {
	case DROP:
		return;
	case DOUBLE:
		put(o, p + f->at, f->end - f->at);
		put(o, p + f->at, f->end - f->at);
		return;
	case RENUMBER:
		put_field(o, (uint64_t)(1 + mutate_pick(state, 24)) << 3 | (f->tag & 7), p + f->value, f->end - f->value);
		return;
	case RETYPE: {	/* the bytes as a text or message, or its length as a number */
		uint8_t value[10];
		if ((f->tag & 7) == LENGTH)
			put_field(o, f->tag & ~UINT64_C(7), value, mutate_put_varint(value, f->end - f->value));
		else
			put_field(o, (f->tag & ~UINT64_C(7)) | LENGTH, p + f->value, f->end - f->value);
		return;
	}
	case MOVE:
		put(o, p + other->at, other->end - other->at);
		put(o, p + f->at, f->end - f->at);
		return;
	case EXCHANGE:	/* its number, another's value */
		put_field(o, (f->tag & ~UINT64_C(7)) | (other->tag & 7), p + other->value, other->end - other->value);
		return;
	default:
		put_changed(o, p, f, state, depth);
	}
}

static size_t mutate_in(const uint8_t *p, size_t n, uint8_t *to, size_t max, uint64_t *state, unsigned depth)
{
	struct fields *fields = malloc(sizeof(*fields));
	if (!fields || depth > DEPTH_MAX || !scan(p, n, fields)) {
		free(fields);
		return mutate_bytes(p, n, to, max);
	}
	struct out o = { to, 0, max };
	const struct field *f = &fields->v[mutate_pick(state, fields->n)];
	put(&o, p, f->at);
	put_mutated(&o, p, fields, f, state, depth);
	put(&o, p + f->end, n - f->end);
	free(fields);
	return o.n;
}

size_t mutate_message(uint8_t *data, size_t size, size_t max, unsigned seed)
{
	uint64_t state = mutate_seed(seed);
	uint8_t *copy = malloc(size + 1);
	if (!copy || mutate_pick(&state, 16) == 0) {	/* broken forms must be tried too */
		free(copy);
		return LLVMFuzzerMutate(data, size, max);
	}
	memcpy(copy, data, size);
	for (size_t i = 0, n = 1 + mutate_pick(&state, 3); i < n; i++) {
		size = mutate_in(copy, size, data, max, &state, 0);
		uint8_t *next = realloc(copy, size + 1);
		if (!next)
			break;
		copy = memcpy(next, data, size);
	}
	free(copy);
	return size;
}
