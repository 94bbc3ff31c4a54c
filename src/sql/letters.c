/*
 * letters.c - trim, ltrim, rtrim and unhex with a set of letters. SQLite's own compare every letter of the
 * text with every one of the set: hours for two values of a few MiB, during which nothing asks whether
 * time is up. Here both are read once.
 */
#include "sql/engine.h"

#include <stdlib.h>

/* Letters of one byte (ASCII, and bytes that are no UTF-8) are bits. Longer ones are their bytes as a number, sorted. */
struct letters {
	uint64_t few[4];
	uint32_t *more;
	size_t n;
};

enum ends { LEFT = 1, RIGHT = 2 };

static uint32_t number_of(struct ss_str letter)
{
	uint32_t v = 0;
	for (size_t i = 0; i < letter.n; i++)
		v = v << 8 | (unsigned char)letter.p[i];
	return v;
}

static struct ss_str first_letter(struct ss_str text)
{
	return (struct ss_str){ text.p, ss_sql_letter_bytes(text.p, text.p + text.n) };
}

static struct ss_str last_letter(struct ss_str text)
{
	const char *end = text.p + text.n;
	for (size_t n = 2; n <= 4 && n <= text.n; n++)
		if (ss_sql_letter_bytes(end - n, end) == n)
			return (struct ss_str){ end - n, n };
	return (struct ss_str){ end - 1, 1 };
}

static int by_number(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	return SS_CMP(x, y);
}

/* False: memory is out. */
static bool read_letters(struct letters *l, struct ss_str text)
{
	*l = (struct letters){ .n = 0 };
	while (text.n) {
		struct ss_str letter = first_letter(text);
		uint32_t v = number_of(letter);
		text = ss_str_sub(text, letter.n, text.n);
		if (v < 256) {
			l->few[v / 64] |= 1ull << v % 64;
			continue;
		}
		/* SQLite's own allocator, so that its limit of memory holds. */
		if (!l->more)
			l->more = sqlite3_malloc64((text.n / 2 + 1) * sizeof(*l->more));
		if (!l->more)
			return false;
		l->more[l->n++] = v;
	}
	if (l->n > 1)
		qsort(l->more, l->n, sizeof(*l->more), by_number);
	return true;
}

static bool has_letter(const struct letters *l, struct ss_str letter)
{
	uint32_t v = number_of(letter);
	if (v < 256)
		return l->few[v / 64] >> v % 64 & 1;
	return l->n && bsearch(&v, l->more, l->n, sizeof(v), by_number);
}

static void trim(sqlite3_context *c, sqlite3_value **v, int ends)
{
	struct ss_str text, set, letter;
	struct letters l;
	if (!ss_sql_text_of(c, v[0], &text) || !ss_sql_text_of(c, v[1], &set))
		return;
	if (!read_letters(&l, set)) {
		sqlite3_result_error_nomem(c);
		return;
	}
	while (ends & LEFT && text.n && has_letter(&l, letter = first_letter(text)))
		text = ss_str_sub(text, letter.n, text.n);
	while (ends & RIGHT && text.n && has_letter(&l, letter = last_letter(text)))
		text.n -= letter.n;
	sqlite3_result_text64(c, text.p, text.n, SQLITE_TRANSIENT, SQLITE_UTF8);
	sqlite3_free(l.more);
}

static void trim_function(sqlite3_context *c, int n, sqlite3_value **v)
{
	(void)n;
	trim(c, v, LEFT | RIGHT);
}

static void ltrim_function(sqlite3_context *c, int n, sqlite3_value **v)
{
	(void)n;
	trim(c, v, LEFT);
}

static void rtrim_function(sqlite3_context *c, int n, sqlite3_value **v)
{
	(void)n;
	trim(c, v, RIGHT);
}

/* The bytes of pairs of digits, with letters of the set between them. SIZE_MAX: something else stands there. */
static size_t from_digits(struct ss_str text, const struct letters *l, char *out)
{
	size_t n = 0;
	while (text.n) {
		struct ss_str letter = first_letter(text);
		if (ss_hex_digit(*text.p) >= 0) {
			if (text.n < 2 || ss_hex_digit(text.p[1]) < 0)
				return SIZE_MAX;
			out[n++] = (char)(ss_hex_digit(*text.p) << 4 | ss_hex_digit(text.p[1]));
			letter.n = 2;
		} else if (!has_letter(l, letter)) {
			return SIZE_MAX;
		}
		text = ss_str_sub(text, letter.n, text.n);
	}
	return n;
}

static void unhex_function(sqlite3_context *c, int n, sqlite3_value **v)
{
	struct ss_str text, set = SS_STR("");
	struct letters l;
	if (!ss_sql_text_of(c, v[0], &text) || (n > 1 && !ss_sql_text_of(c, v[1], &set)))
		return;
	char *out = sqlite3_malloc64(text.n / 2 + 1);
	if (!out || !read_letters(&l, set)) {
		sqlite3_free(out);
		sqlite3_result_error_nomem(c);
		return;
	}
	size_t bytes = from_digits(text, &l, out);
	if (bytes == SIZE_MAX)
		sqlite3_free(out);
	else
		sqlite3_result_blob64(c, out, bytes, sqlite3_free);
	sqlite3_free(l.more);
}

bool ss_sql_add_letters(struct ss_sql *s)
{
	static const struct ss_sql_function functions[] = {
		{ "trim", 2, trim_function },	{ "ltrim", 2, ltrim_function }, { "rtrim", 2, rtrim_function },
		{ "unhex", 1, unhex_function }, { "unhex", 2, unhex_function },
	};
	return ss_sql_create_functions(s, functions, SS_COUNT(functions));
}

bool ss_sql_text_of(sqlite3_context *c, sqlite3_value *v, struct ss_str *out)
{
	if (sqlite3_value_type(v) == SQLITE_NULL)
		return false;
	out->p = (const char *)sqlite3_value_text(v);
	out->n = (size_t)sqlite3_value_bytes(v);
	if (!out->p)
		sqlite3_result_error_nomem(c);
	return out->p;
}

size_t ss_sql_letter_bytes(const char *p, const char *end)
{
	unsigned char c = (unsigned char)*p;
	size_t n = c < 0xc2 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : c < 0xf5 ? 4 : 1;
	for (size_t i = 1; i < n; i++)
		if (p + i >= end || (p[i] & 0xc0) != 0x80)
			return 1;
	return n;
}
