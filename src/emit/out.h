/*
 * out.h - a buffered writer of text and JSON: to memory, or in pieces to a function.
 *
 * Failure is sticky: keep writing, and check ss_out_finish once at the end. Numbers are printed
 * without the locale.
 */
#ifndef SS_EMIT_OUT_H
#define SS_EMIT_OUT_H

#include "base/err.h"
#include "base/str.h"

/*
 * Takes `n` bytes; false stops the writing (the reader went away). Called with whole buffers, 64
 * KiB or so.
 */
typedef bool ss_out_fn(void *arg, const char *p, size_t n);

struct ss_out {
	char *buf;
	size_t n, cap;
	ss_out_fn *fn;		/* NULL: everything stays in buf, which grows */
	void *arg;
	size_t hold_bytes;	/* with fn: so many are held, in buf, before any are handed over */
	uint64_t total_bytes;	/* handed over so far; n more wait in the buffer */
	bool no_memory, refused;
};

void ss_out_init(struct ss_out *o, ss_out_fn *fn, void *arg);
/*
 * Flush; false with the reason if anything went wrong since ss_out_init. The memory stays until
 * ss_out_free.
 */
bool ss_out_finish(struct ss_out *o, struct ss_err *err);
void ss_out_free(struct ss_out *o);

/* Room for `n` more bytes at o->buf + o->n, NULL after a failure. */
char *ss_out_room_slow(struct ss_out *o, size_t n);
static inline char *ss_out_room(struct ss_out *o, size_t n)
{
	return o->cap - o->n > n ? o->buf + o->n : ss_out_room_slow(o, n);
}

static inline void ss_out_str(struct ss_out *o, struct ss_str s)
{
	char *p = ss_out_room(o, s.n);
	if (p && s.n) {
		memcpy(p, s.p, s.n);
		o->n += s.n;
	}
}

/* The same of many bytes, which are not copied on their way. */
void ss_out_many(struct ss_out *o, struct ss_str s);

static inline void ss_out_char(struct ss_out *o, char c)
{
	char *p = ss_out_room(o, 1);
	if (p) {
		*p = c;
		o->n++;
	}
}

/*
 * The same into memory that has room; they return the end. They are for writers of millions of
 * numbers, which reserve room once per record: SS_PUT_ROOM bytes for each number, because they may
 * write a few bytes beyond its end.
 */
#define SS_PUT_ROOM 32
char *ss_put_u64(char *p, uint64_t v);
char *ss_put_us(char *p, uint64_t ps);
static inline char *ss_put_str(char *p, struct ss_str s)
{
	memcpy(p, s.p, s.n);
	return p + s.n;
}
#define ss_put_lit(p, lit) ss_put_str((p), SS_STR(lit))

#define ss_out_lit(o, lit) ss_out_str((o), SS_STR(lit))
void ss_out_z(struct ss_out *o, const char *z);
void ss_out_printf(struct ss_out *o, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void ss_out_u64(struct ss_out *o, uint64_t v);
void ss_out_i64(struct ss_out *o, int64_t v);
/*
 * A JSON number that reads back as `v`, always with a point or exponent ("1.0"); infinities and NaN
 * as strings.
 */
void ss_out_f64(struct ss_out *o, double v);
/* Picoseconds as microseconds, exactly, without trailing zeros: 1234500 is 1.2345. */
void ss_out_us(struct ss_out *o, uint64_t ps);
/*
 * A quoted JSON string. < > & and control characters are escaped, so that it may stand in HTML;
 * bytes that are not UTF-8 become U+FFFD.
 */
void ss_out_json_str(struct ss_out *o, struct ss_str s);
/* The same without the quotes. */
void ss_out_json_escaped(struct ss_out *o, struct ss_str s);

#endif
