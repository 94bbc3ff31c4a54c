/*
 * format.c - printf and format. SQLite's own repeat a letter as often as a precision says, up to 2^31 times for each of the
 * conversions of a format, and ask nobody meanwhile: a query of one row could take hours. Here a width and a precision are at
 * most as long as a value may be. What a conversion makes is left to SQLite.
 */
#include "sql/engine.h"

#include <stdio.h>

struct conversion {
	char flags[8];
	int64_t width, precision;	/* precision -1: none */
	bool left;
	char type;
};

struct formatting {
	sqlite3_context *context;
	sqlite3_value **v;	/* the arguments that are left */
	int n;
	int64_t most;		/* bytes of a value */
	sqlite3_str *out;
};

static sqlite3_value *next_value(struct formatting *f)
{
	return f->n ? (f->n--, *f->v++) : NULL;
}

static int64_t next_number(struct formatting *f)
{
	sqlite3_value *v = next_value(f);
	return v ? sqlite3_value_int64(v) : 0;
}

static const char *next_text(struct formatting *f)
{
	sqlite3_value *v = next_value(f);
	return v ? (const char *)sqlite3_value_text(v) : NULL;
}

/* A number that is written, or "*": the next argument. Beyond what fits it is what no value can be. */
static int64_t take_number(struct formatting *f, const char **p)
{
	int64_t n = 0;
	if (**p == '*') {
		++*p;
		n = (int)next_number(f);
	}
	for (; **p >= '0' && **p <= '9'; ++*p)
		n = n > f->most ? n : n * 10 + (**p - '0');
	return n;
}

/* "%-08.3lld", from behind "%" to its end. */
static struct conversion take_conversion(struct formatting *f, const char **p)
{
	struct conversion c = { .precision = -1 };
	size_t n = 0;
	for (; **p && strchr("-+ #!0,", **p); ++*p) {
		c.left |= **p == '-';
		if (!strchr(c.flags, **p))
			c.flags[n++] = **p;
	}
	c.width = take_number(f, p);
	c.left |= c.width < 0;
	c.width = c.width < 0 ? -c.width : c.width;
	if (**p == '.') {
		++*p;
		c.precision = take_number(f, p);
		c.precision = c.precision < 0 ? -c.precision : c.precision;
	}
	while (**p == 'l')
		++*p;
	c.type = **p;
	*p += c.type != '\0';
	return c;
}

/* %c: the first letter of a text, or a zero byte where there is none, as often as the precision says. */
static void put_letters(struct formatting *f, const struct conversion *c)
{
	const char *given = next_text(f), *text = given ? given : "";
	size_t bytes = *text ? ss_sql_letter_bytes(text, text + strlen(text)) : 1;
	int64_t times = c->precision > 1 ? c->precision : 1, blanks = c->width > times ? c->width - times : 0;
	if (times * (int64_t)bytes > f->most - sqlite3_str_length(f->out)) {
		sqlite3_result_error_toobig(f->context);
		sqlite3_str_reset(f->out);
		f->n = -1;
		return;
	}
	if (!c->left)
		sqlite3_str_appendchar(f->out, (int)blanks, ' ');
	if (bytes == 1)
		sqlite3_str_appendchar(f->out, (int)times, *text);
	for (int64_t i = 0; bytes > 1 && i < times; i++)
		sqlite3_str_append(f->out, text, (int)bytes);
	if (c->left)
		sqlite3_str_appendchar(f->out, (int)blanks, ' ');
}

/* False: SQLite knows no such conversion, and what comes from here on is left out, as it does. */
static bool put(struct formatting *f, const struct conversion *c)
{
	char how[80], width[24] = "", precision[24] = "";
	const char *flags = c->flags, *minus = c->left && !strchr(flags, '-') ? "-" : "";
	if (c->width)
		snprintf(width, sizeof(width), "%lld", (long long)c->width);
	if (c->precision >= 0)
		snprintf(precision, sizeof(precision), ".%lld", (long long)c->precision);
	bool whole = strchr("diuxXopr", c->type);
	snprintf(how, sizeof(how), "%%%s%s%s%s%s%c", flags, minus, width, precision, whole ? "ll" : "",
		 c->type == 'z' ? 's' : c->type);
	if (c->type == '%')
		sqlite3_str_appendf(f->out, how);
	else if (c->type == 'c')
		put_letters(f, c);
	else if (whole)
		sqlite3_str_appendf(f->out, how, (sqlite3_int64)next_number(f));
	else if (strchr("feEgG", c->type)) {
		sqlite3_value *v = next_value(f);
		sqlite3_str_appendf(f->out, how, v ? sqlite3_value_double(v) : 0.0);
	} else if (strchr("szqQw", c->type))
		sqlite3_str_appendf(f->out, how, next_text(f));
	else
		return c->type == 'n';
	return true;
}

static void format(struct formatting *f, const char *p)
{
	for (bool known = true; known && *p && f->n >= 0 && !sqlite3_str_errcode(f->out);) {
		size_t plain = strcspn(p, "%");
		sqlite3_str_append(f->out, p, (int)plain);
		p += plain;
		if (!*p)
			return;
		if (!*++p) {
			sqlite3_str_appendchar(f->out, 1, '%');
			return;
		}
		struct conversion c = take_conversion(f, &p);
		if (c.width > f->most || c.precision > f->most) {
			sqlite3_result_error_toobig(f->context);
			f->n = -1;
			return;
		}
		known = c.type && put(f, &c);
	}
}

static void format_function(sqlite3_context *c, int n, sqlite3_value **v)
{
	struct ss_str text;
	sqlite3 *db = sqlite3_context_db_handle(c);
	if (!n || !ss_sql_text_of(c, v[0], &text))
		return;
	struct formatting f = { c, v + 1, n - 1, sqlite3_limit(db, SQLITE_LIMIT_LENGTH, -1), sqlite3_str_new(db) };
	format(&f, text.p);
	int code = sqlite3_str_errcode(f.out), bytes = sqlite3_str_length(f.out);
	char *all = sqlite3_str_finish(f.out);
	if (f.n < 0 || code != SQLITE_OK)
		sqlite3_free(all);
	if (f.n >= 0 && code != SQLITE_OK)
		sqlite3_result_error_code(c, code);
	else if (f.n >= 0)
		sqlite3_result_text(c, all ? all : "", bytes, all ? sqlite3_free : SQLITE_STATIC);
}

bool ss_sql_add_format(struct ss_sql *s)
{
	static const char *const names[] = { "printf", "format" };
	for (size_t i = 0; i < SS_COUNT(names); i++)
		if (sqlite3_create_function_v2(s->db, names[i], -1, SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS, s,
					       format_function, NULL, NULL, NULL) != SQLITE_OK)
			return false;
	return true;
}
