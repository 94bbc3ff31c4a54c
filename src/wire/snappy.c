/*
 * snappy.c - see snappy.h. A block is its length unpacked, then elements: literal bytes, or a copy
 * of bytes that were written before. The low two bits of an element's first byte say which.
 */
#include "wire/snappy.h"

#include "wire/pb.h"

struct snappy {
	const uint8_t *at, *end;
	char *to;
	size_t room, n;
};

/* A little-endian number of `bytes` bytes. */
static bool read_number(struct snappy *s, unsigned bytes, size_t *v)
{
	*v = 0;
	if ((size_t)(s->end - s->at) < bytes)
		return false;
	for (unsigned i = 0; i < bytes; i++)
		*v |= (size_t)ss_pb_once(s->at++) << (8 * i);
	return true;
}

/* As many of the bytes as there are are written, also when some are missing. */
static bool put_literal(struct snappy *s, uint8_t tag)
{
	size_t n = tag >> 2, left;
	if (n >= 60 && !read_number(s, (unsigned)n - 59, &n))
		return false;
	n++;
	left = (size_t)(s->end - s->at);
	size_t take = n < left ? n : left;
	if (take > s->room - s->n)
		take = s->room - s->n;
	memcpy(s->to + s->n, s->at, take);
	s->n += take;
	s->at += take;
	return take == n;
}

/* The bytes may overlap those that they become: then they repeat. */
static bool put_copy(struct snappy *s, size_t n, size_t offset)
{
	if (!offset || offset > s->n || n > s->room - s->n)
		return false;
	for (size_t i = 0; i < n; i++, s->n++)
		s->to[s->n] = s->to[s->n - offset];
	return true;
}

static bool put_element(struct snappy *s)
{
	uint8_t tag = ss_pb_once(s->at++);
	size_t offset;
	switch (tag & 3) {
	case 0:
		return put_literal(s, tag);
	case 1:
		return read_number(s, 1, &offset) && put_copy(s, (tag >> 2 & 7) + 4u, (size_t)(tag >> 5) << 8 | offset);
	case 2:
		return read_number(s, 2, &offset) && put_copy(s, (tag >> 2) + 1u, offset);
	default:
		return read_number(s, 4, &offset) && put_copy(s, (tag >> 2) + 1u, offset);
	}
}

bool ss_snappy(struct ss_str packed, char *to, size_t room, size_t *n)
{
	struct ss_pb c = ss_pb_of(packed);
	struct snappy s = { .at = c.at, .end = c.end, .to = to, .room = room };
	uint64_t told;
	bool ok = ss_pb_varint(&s.at, s.end, &told) && told == room;
	while (ok && s.at < s.end)
		ok = put_element(&s);
	*n = s.n;
	return ok && s.n == room;
}
