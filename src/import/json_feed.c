/* json_feed.c - finding where values end, in a window that moves over the text. */
#include "import/json_feed.h"

#include "base/vec.h"

#include <stdlib.h>

#define WINDOW_BYTES ((size_t)256 << 10)
/* Traces pack some twenty to sixty times. */
#define FLOOR_BYTES ((uint64_t)64 << 20)
#define PER_PACKED_BYTE 300
#define FORGET_STRIDE ((size_t)4 << 20)

bool ss_json_feed_open(struct ss_json_feed *f, const struct ss_file *file)
{
	*f = (struct ss_json_feed){ .file = file, .p = "" };
	if (!ss_gz_is(file->bytes)) {
		f->p = file->bytes.n ? file->bytes.p : "";
		f->n = file->bytes.n;
		return true;
	}
	f->gz = ss_gz_in_open(file->bytes);
	return f->gz != NULL;
}

void ss_json_feed_close(struct ss_json_feed *f)
{
	ss_gz_in_close(f->gz);
	free(f->buf);
	*f = (struct ss_json_feed){ 0 };
}

bool ss_json_feed_bad(const struct ss_json_feed *f)
{
	return f->gz && ss_gz_in_bad(f->gz);
}

/* More bytes behind those that are known; what was walked may go. */
static bool more(struct ss_json_feed *f)
{
	if (!f->gz || f->too_long)
		return false;
	if (f->at) {
		memmove(f->buf, f->buf + f->at, f->n - f->at);
		f->n -= f->at;
		f->at = 0;
	}
	size_t need = f->n < WINDOW_BYTES / 2 ? WINDOW_BYTES : f->n * 2;
	if (f->cap < need && !ss_grow((void **)&f->buf, &f->cap, need, 1)) {
		f->no_memory = true;
		return false;
	}
	f->p = f->buf;
	size_t n = ss_gz_in_read(f->gz, f->buf + f->n, f->cap - f->n);
	f->no_memory |= ss_gz_in_no_memory(f->gz);
	f->n += n;
	f->unpacked_bytes += n;
	f->too_long = f->unpacked_bytes > FLOOR_BYTES + PER_PACKED_BYTE * (uint64_t)f->file->bytes.n;
	return n > 0;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

char ss_json_feed_peek(struct ss_json_feed *f)
{
	do
		while (f->at < f->n && is_blank(f->p[f->at]))
			f->at++;
	while (f->at == f->n && more(f));
	return f->at < f->n ? f->p[f->at] : '\0';
}

void ss_json_feed_skip(struct ss_json_feed *f)
{
	f->at += f->at < f->n;
}

/* Behind the closing quote of a string that begins at p; NULL when it does not end. */
static const char *string_end(const char *p, const char *end)
{
	for (p++; p < end && *p != '"'; p++)
		if (*p == '\\')
			p++;
	return p < end ? p + 1 : NULL;
}

/* The state between brackets. */
static const uint8_t marks[256] = { ['"'] = 1, ['{'] = 2, ['['] = 2, ['}'] = 3, [']'] = 3 };

static const char *bracket_end(const char *p, const char *end)
{
	size_t depth = 0;
	while (p && p < end) {
		uint8_t mark = marks[(uint8_t)*p];
		if (!mark) {
			p++;
		} else if (mark == 1) {
			p = string_end(p, end);
		} else {
			p++;
			depth += mark == 2 ? 1 : (size_t)-1;
			if (depth == 0)
				return p;
		}
	}
	return NULL;
}

/* Behind the value that begins at p; NULL when it does not end before `end`. */
static const char *value_end(const char *p, const char *end)
{
	if (*p == '{' || *p == '[')
		return bracket_end(p, end);
	if (*p == '"')
		return string_end(p, end);
	while (p < end && *p != ',' && *p != '}' && *p != ']' && !is_blank(*p))
		p++;
	return p < end ? p : NULL;
}

static void forget_passed(struct ss_json_feed *f)
{
	if (f->gz || f->at - f->forgotten < FORGET_STRIDE)
		return;
	ss_file_forget(f->file, ss_str_sub(f->file->bytes, f->forgotten, f->at));
	f->forgotten = f->at;
}

/* The state of a walk through a long value, which may continue in the next window. */
struct long_walk {
	size_t depth;
	bool text, escaped;
};

/* Behind the value, with *done set; else the end of what is known. */
static const char *walk_long(const char *p, const char *end, struct long_walk *w, bool *done)
{
	for (; p < end && !*done; p++) {
		char c = *p;
		if (w->text) {
			w->text = w->escaped || c != '"';
			w->escaped = !w->escaped && c == '\\';
			*done = !w->text && !w->depth;
		} else if (c == '"') {
			w->text = true;
		} else if (c == '{' || c == '[') {
			w->depth++;
		} else if (c == '}' || c == ']') {
			*done = --w->depth == 0;
		}
	}
	return p;
}

/* Pass over a string, an object or an array of any length; numbers are not that long. */
static bool pass_over(struct ss_json_feed *f, struct ss_str *out)
{
	struct long_walk w = { .depth = 0 };
	bool done = false;
	*out = SS_STR("");
	f->long_values++;
	if (!strchr("\"{[", f->p[f->at]))
		return false;
	do {
		size_t left = f->n - f->at, piece = left < FORGET_STRIDE ? left : FORGET_STRIDE;
		f->at = (size_t)(walk_long(f->p + f->at, f->p + f->at + piece, &w, &done) - f->p);
		forget_passed(f);
	} while (!done && (f->at < f->n || more(f)));
	return done;
}

struct ss_str ss_json_feed_known(struct ss_json_feed *f)
{
	size_t n = f->n - f->at;
	return (struct ss_str){ f->p + f->at, n < SS_JSON_VALUE_BYTES ? n : SS_JSON_VALUE_BYTES };
}

void ss_json_feed_take(struct ss_json_feed *f, size_t n)
{
	f->at += n;
	forget_passed(f);
}

bool ss_json_feed_value(struct ss_json_feed *f, struct ss_str *out)
{
	if (!ss_json_feed_peek(f))
		return false;
	const char *end = NULL;
	while (!end) {
		/* No further than a value can be long. */
		size_t known = f->n - f->at, most = known < SS_JSON_VALUE_BYTES ? known : SS_JSON_VALUE_BYTES;
		end = value_end(f->p + f->at, f->p + f->at + most);
		if (!end && known > most)
			return pass_over(f, out);
		if (!end && !more(f))
			return false;
	}
	*out = (struct ss_str){ f->p + f->at, (size_t)(end - (f->p + f->at)) };
	f->at += out->n;
	/* The value at hand stays. */
	forget_passed(f);
	return true;
}
