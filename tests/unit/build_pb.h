/*
 * build_pb.h - write protobuf messages in tests, by hand and bounded.
 */
#ifndef SS_TESTS_BUILD_PB_H
#define SS_TESTS_BUILD_PB_H

#include "base/str.h"

struct bytes {
	char p[8192];
	size_t n;
};

static inline struct ss_str bytes_str(const struct bytes *b)
{
	return (struct ss_str){ b->p, b->n };
}

static inline void put_varint(struct bytes *b, uint64_t v)
{
	for (; v > 127; v >>= 7)
		b->p[b->n++] = (char)(v | 128);
	b->p[b->n++] = (char)v;
}

static inline void put_num(struct bytes *b, unsigned field, uint64_t v)
{
	put_varint(b, field << 3);
	put_varint(b, v);
}

static inline void put_raw(struct bytes *b, unsigned field, struct ss_str s)
{
	put_varint(b, field << 3 | 2);
	put_varint(b, s.n);
	memcpy(b->p + b->n, s.p, s.n);
	b->n += s.n;
}

static inline void put_text(struct bytes *b, unsigned field, const char *s)
{
	put_raw(b, field, ss_str_from(s));
}

static inline void put_msg(struct bytes *b, unsigned field, const struct bytes *m)
{
	put_raw(b, field, bytes_str(m));
}

/* A map entry {1: id, 2: {1: id, 2: name}}: event or stat metadata. */
static inline void put_meta(struct bytes *b, unsigned field, uint64_t id, const char *name)
{
	struct bytes m = { .n = 0 }, entry = { .n = 0 };

	put_num(&m, 1, id);
	put_text(&m, 2, name);
	put_num(&entry, 1, id);
	put_msg(&entry, 2, &m);
	put_msg(b, field, &entry);
}

/* An event with at most one unsigned stat (stat 0: none). */
static inline void put_event(struct bytes *b, uint64_t meta, uint64_t offset_ps, uint64_t dur_ps, uint64_t stat,
			     uint64_t value)
{
	struct bytes e = { .n = 0 }, s = { .n = 0 };

	put_num(&e, 1, meta);
	put_num(&e, 2, offset_ps);
	put_num(&e, 3, dur_ps);
	if (stat) {
		put_num(&s, 1, stat);
		put_num(&s, 3, value);
		put_msg(&e, 4, &s);
	}
	put_msg(b, 4, &e);
}

#endif
