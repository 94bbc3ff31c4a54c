/*
 * buf.h - a growing text that is composed of many pieces. Failure is sticky: keep writing, and
 * check ss_buf_ok once at the end.
 *
 * A text that is composed from untrusted bytes can be far longer than they are (a long name that is
 * referred to a thousand times). The caller therefore sets a limit from the length of the input;
 * bytes beyond it are refused, and `over` is set.
 */
#ifndef SS_BASE_BUF_H
#define SS_BASE_BUF_H

#include "base/arena.h"
#include "base/err.h"
#include "base/hold.h"
#include "base/str.h"

struct ss_buf {
	char *p;
	size_t n, cap;
	size_t limit_bytes;	/* 0: none */
	struct ss_hold *hold;	/* the bytes are counted there until ss_buf_free; NULL: nowhere */
	size_t held_bytes;
	bool no_memory, over;
};

/* A zeroed struct ss_buf is an empty one without a limit. */
void ss_buf_str(struct ss_buf *b, struct ss_str s);
void ss_buf_char(struct ss_buf *b, char c);
void ss_buf_z(struct ss_buf *b, const char *z);
void ss_buf_u64(struct ss_buf *b, uint64_t v);
void ss_buf_i64(struct ss_buf *b, int64_t v);
void ss_buf_printf(struct ss_buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* `s` with U+FFFD in place of each byte that is not UTF-8. */
void ss_buf_utf8(struct ss_buf *b, struct ss_str s);
/*
 * A quoted JSON string that is safe inside an HTML script element; in a string that is not UTF-8, a
 * question mark replaces every byte beyond ASCII.
 */
void ss_buf_json_str(struct ss_buf *b, struct ss_str s);
/*
 * Make room for `n` more bytes. The caller writes them and then reports the number of written bytes;
 * NULL after a failure.
 */
char *ss_buf_room(struct ss_buf *b, size_t n);
void ss_buf_wrote(struct ss_buf *b, size_t room, size_t n);
#define ss_buf_lit(b, lit) ss_buf_str((b), SS_STR(lit))

static inline struct ss_str ss_buf_get(const struct ss_buf *b)
{
	return (struct ss_str){ b->n ? b->p : "", b->n };
}

/* False with the reason if anything was not written; `what` names the text for the message. */
bool ss_buf_ok(const struct ss_buf *b, const char *what, struct ss_err *err);
void ss_buf_free(struct ss_buf *b);
/* The text in an arena; the buffer is freed. p is NULL, and the arena remembers it, when memory was out. */
static inline struct ss_str ss_buf_to_arena(struct ss_buf *b, struct ss_arena *arena)
{
	struct ss_str text = b->no_memory ? (struct ss_str){ NULL, 0 } : ss_arena_str(arena, ss_buf_get(b));
	arena->no_memory |= b->no_memory;
	ss_buf_free(b);
	return text;
}

#endif
