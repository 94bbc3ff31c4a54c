/*
 * functions.c - functions that SQLite lacks, and some of its own written anew: its like, glob,
 * replace and instr take time with the product of their arguments' lengths, during which nothing
 * asks whether time is up.
 */
#include "sql/engine.h"

#include "base/regex.h"
#include "sql/directory.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define STEPS_BETWEEN 1000000 /* of a match, between two questions whether to go on */

static struct ss_sql *sql_of(sqlite3_context *c)
{
	return sqlite3_user_data(c);
}

static void stop(sqlite3_context *c)
{
	sqlite3_result_error_code(c, SQLITE_INTERRUPT);
}

/* ---- stat ---- */

static void free_key(void *p)
{
	struct ss_sql_key *k = p;
	free(k->first);
	free(k);
}

/*
 * The key, which mostly is the same text in every row: SQLite keeps what was made of it. `fresh`:
 * it does not yet.
 */
static struct ss_sql_key *key_of(sqlite3_context *c, const struct ss_sql_directory *d,
				 sqlite3_value *v, bool *fresh)
{
	struct ss_sql_key *k = sqlite3_get_auxdata(c, 1);
	struct ss_str text;
	if (!ss_sql_text_of(c, v, &text))
		return NULL;
	if (k && ss_str_eq(k->text, text))
		return k;
	k = malloc(sizeof(*k) + text.n);
	if (k && !ss_sql_key_init(k, d, (struct ss_str){ memcpy(k + 1, text.p, text.n), text.n })) {
		free(k);
		k = NULL;
	}
	if (!k) {
		sqlite3_result_error_nomem(c);
		return NULL;
	}
	*fresh = true;
	return k;
}

static void stat_function(sqlite3_context *c, int n, sqlite3_value **v)
{
	(void)n;
	struct ss_sql *s = sql_of(c);
	struct ss_sql_directory *d = ss_sql_events(s);
	struct ss_xstat out;
	uint32_t i;
	if (!d) {
		sqlite3_result_error(c, s->err.text, -1);
		return;
	}
	if (sqlite3_value_type(v[0]) == SQLITE_NULL)
		return;
	struct ss_sql_line *line = ss_sql_line_of(d, sqlite3_value_int64(v[0]), &i);
	bool fresh = false;
	struct ss_sql_key *k = line ? key_of(c, d, v[1], &fresh) : NULL;
	if (k && ss_sql_stat(k, line, i, &out))
		ss_sql_result_stat(c, &out);
	if (fresh)
		sqlite3_set_auxdata(c, 1, k, free_key);
}

/* ---- regular expressions ---- */

static bool still(void *arg)
{
	return ss_sql_go_on(arg);
}

/* The last pattern: SQLite does not tell whether a pattern is the same in every row. */
struct compiled {
	struct ss_regex *regex;
	size_t n;
	char pattern[];
};

static void free_compiled(void *p)
{
	struct compiled *k = p;
	ss_regex_free(k->regex);
	free(k);
}

static struct compiled *compile(sqlite3_context *c, struct ss_str pattern)
{
	struct ss_err err = { 0 };
	struct compiled *k = malloc(sizeof(*k) + pattern.n);
	if (k) {
		k->n = pattern.n;
		memcpy(k->pattern, pattern.p, pattern.n);
		k->regex = ss_regex_new(pattern, &err);
		if (k->regex)
			return k;
	}
	free(k);
	if (!err.code || err.code == SS_ENOMEM)
		sqlite3_result_error_nomem(c);
	else
		sqlite3_result_error(c, err.text, -1);
	return NULL;
}

static void refuse_group(sqlite3_context *c, int group, uint32_t most)
{
	char text[100];
	snprintf(text, sizeof(text), "regexp_extract: there is no group %d: the pattern has %u, and 0 is the whole match",
		 group, most);
	sqlite3_result_error(c, text, -1);
}

static void found_in(sqlite3_context *c, struct ss_regex *r, struct ss_str text, int group,
		     bool extract)
{
	struct ss_str groups[SS_REGEX_GROUPS];
	uint32_t most = ss_regex_ngroups(r) < SS_REGEX_GROUPS ? ss_regex_ngroups(r) : SS_REGEX_GROUPS - 1;
	if (extract && (group < 0 || (uint32_t)group > most)) {
		refuse_group(c, group, most);
		return;
	}
	enum ss_regex_found found =
		ss_regex_search(r, text, groups, extract ? SS_REGEX_GROUPS : 0, still, sql_of(c));
	if (found == SS_REGEX_STOPPED)
		stop(c);
	else if (!extract)
		sqlite3_result_int(c, found == SS_REGEX_YES);
	else if (found == SS_REGEX_YES && groups[group].p)
		sqlite3_result_text64(c, groups[group].p, groups[group].n, SQLITE_TRANSIENT,
				      SQLITE_UTF8);
}

static void search(sqlite3_context *c, int pattern_at, sqlite3_value *pattern_value,
		   sqlite3_value *text_value, int group, bool extract)
{
	struct ss_str text, pattern;
	struct compiled *k = sqlite3_get_auxdata(c, pattern_at);
	if (!ss_sql_text_of(c, pattern_value, &pattern) || !ss_sql_text_of(c, text_value, &text))
		return;
	bool kept = k && ss_str_eq((struct ss_str){ k->pattern, k->n }, pattern);
	k = kept ? k : compile(c, pattern);
	if (!k)
		return;
	found_in(c, k->regex, text, group, extract);
	if (!kept)
		sqlite3_set_auxdata(c, pattern_at, k, free_compiled);
}

/* x REGEXP p is regexp(p, x). */
static void regexp_function(sqlite3_context *c, int n, sqlite3_value **v)
{
	(void)n;
	search(c, 0, v[0], v[1], 0, false);
}

static void extract_function(sqlite3_context *c, int n, sqlite3_value **v)
{
	search(c, 1, v[1], v[0], n > 2 ? sqlite3_value_int(v[2]) : 0, true);
}

/* ---- like, glob ---- */

struct wild {
	bool like;
	char escape;
};

/*
 * A set of GLOB at *p, behind its '[': is the letter in it? *p is behind the set then. -1: it has
 * no end.
 */
static int in_glob_set(const char **p, const char *end, struct ss_str letter)
{
	bool negated = *p < end && **p == '^', in = false, first = true;
	*p += negated;
	for (; *p < end && (first || **p != ']'); first = false) {
		size_t n = ss_sql_letter_bytes(*p, end);
		struct ss_str from = { *p, n }, to = from;
		*p += n;
		if (end - *p >= 2 && (*p)[0] == '-' && (*p)[1] != ']') {
			++*p;
			n = ss_sql_letter_bytes(*p, end);
			to = (struct ss_str){ *p, n };
			*p += n;
		}
		in = in || (ss_str_cmp(from, letter) <= 0 && ss_str_cmp(letter, to) <= 0);
	}
	if (*p == end)
		return -1;
	++*p;
	return in != negated;
}

/*
 * Does what stands at *p of the pattern, which is no star, take the letter? *p is behind it then.
 */
static bool takes(const struct wild *w, const char **p, const char *end, struct ss_str letter)
{
	size_t n = ss_sql_letter_bytes(*p, end);
	char c = **p;
	if (c == (w->like ? '_' : '?')) {
		++*p;
		return true;
	}
	if (!w->like && c == '[') {
		++*p;
		return in_glob_set(p, end, letter) == 1;
	}
	if (w->like && w->escape && c == w->escape && *p + 1 < end) {
		++*p;
		n = ss_sql_letter_bytes(*p, end);
	}
	bool same = ss_str_eq((struct ss_str){ *p, n }, letter);
	*p += n;
	return same;
}

/*
 * The last star takes one letter more whenever what is behind it does not fit: no way back before
 * it is ever needed.
 */
static bool wild_match(struct ss_sql *s, const struct wild *w, struct ss_str pattern,
		       struct ss_str text)
{
	const char *p = pattern.p, *pend = p + pattern.n, *t = text.p, *tend = t + text.n,
		   *star = NULL, *from = NULL;
	char many = w->like ? '%' : '*';
	size_t steps = 0; /* letters of the text, and bytes of the pattern: a set may be long */
	while (t < tend) {
		size_t n = ss_sql_letter_bytes(t, tend);
		if (++steps >= STEPS_BETWEEN && !ss_sql_go_on(s))
			return false;
		steps = steps < STEPS_BETWEEN ? steps : 0;
		if (p < pend && *p == many && !(w->escape && many == w->escape)) {
			star = ++p;
			from = t;
			continue;
		}
		const char *at = p;
		bool taken = at < pend && takes(w, &at, pend, (struct ss_str){ t, n });
		steps += (size_t)(at - p);
		if (taken) {
			p = at;
			t += n;
			continue;
		}
		if (!star)
			return false;
		p = star;
		from += ss_sql_letter_bytes(from, tend);
		t = from;
	}
	while (p < pend && *p == many)
		p++;
	return p == pend;
}

bool ss_sql_glob(struct ss_sql *s, struct ss_str pattern, struct ss_str text)
{
	return wild_match(s, &(struct wild){ false, 0 }, pattern, text);
}

bool ss_sql_like(struct ss_sql *s, struct ss_str pattern, struct ss_str text, char escape)
{
	return wild_match(s, &(struct wild){ true, escape }, pattern, text);
}

static void wild_function(sqlite3_context *c, int n, sqlite3_value **v, bool like)
{
	struct ss_str pattern, text, escape = SS_STR("");
	struct ss_sql *s = sql_of(c);
	if (!ss_sql_text_of(c, v[0], &pattern) || !ss_sql_text_of(c, v[1], &text))
		return;
	if (n > 2 && !ss_sql_text_of(c, v[2], &escape))
		return;
	if (n > 2 && escape.n != 1) {
		sqlite3_result_error(c, "ESCAPE takes one ASCII character", -1);
		return;
	}
	bool yes = like ? ss_sql_like(s, pattern, text, escape.n ? *escape.p : 0)
			: ss_sql_glob(s, pattern, text);
	if (s->end != SS_SQL_GOES_ON)
		stop(c);
	else
		sqlite3_result_int(c, yes);
}

static void like_function(sqlite3_context *c, int n, sqlite3_value **v)
{
	wild_function(c, n, v, true);
}

static void glob_function(sqlite3_context *c, int n, sqlite3_value **v)
{
	wild_function(c, n, v, false);
}

/* ---- instr, replace ---- */

/* The place of its first letter, counted from 1; 0: not there. */
static void instr_function(sqlite3_context *c, int n, sqlite3_value **v)
{
	(void)n;
	struct ss_str text, piece;
	bool blobs =
		sqlite3_value_type(v[0]) == SQLITE_BLOB && sqlite3_value_type(v[1]) == SQLITE_BLOB;
	if (!ss_sql_text_of(c, v[0], &text) || !ss_sql_text_of(c, v[1], &piece))
		return;
	size_t at = piece.n ? ss_str_find(text, piece) : 0;
	int64_t place = 1;
	for (size_t i = 0; at != SS_NPOS && i < at; i++)
		place += blobs || (text.p[i] & 0xc0) != 0x80;
	sqlite3_result_int64(c, at == SS_NPOS ? 0 : place);
}

static bool put_piece(sqlite3_context *c, sqlite3_str *out, struct ss_str s)
{
	size_t most = (size_t)sqlite3_limit(sqlite3_context_db_handle(c), SQLITE_LIMIT_LENGTH, -1);
	if (s.n + (size_t)sqlite3_str_length(out) > most) {
		sqlite3_result_error_toobig(c);
		return false;
	}
	sqlite3_str_append(out, s.p, (int)s.n);
	return true;
}

static void replace_function(sqlite3_context *c, int n, sqlite3_value **v)
{
	(void)n;
	struct ss_str text, piece, with;
	if (!ss_sql_text_of(c, v[0], &text) || !ss_sql_text_of(c, v[1], &piece) || !ss_sql_text_of(c, v[2], &with))
		return;
	sqlite3_str *out = sqlite3_str_new(sqlite3_context_db_handle(c));
	bool ok = true;
	for (size_t at; ok && piece.n && (at = ss_str_find(text, piece)) != SS_NPOS;) {
		ok = put_piece(c, out, ss_str_sub(text, 0, at)) && put_piece(c, out, with);
		text = ss_str_sub(text, at + piece.n, text.n);
	}
	ok = ok && put_piece(c, out, text);
	int bytes = sqlite3_str_length(out);
	int code = sqlite3_str_errcode(out);
	char *all = sqlite3_str_finish(out);
	if (ok && code == SQLITE_OK)
		sqlite3_result_text(c, all ? all : "", bytes, all ? sqlite3_free : SQLITE_STATIC);
	else
		sqlite3_free(all);
	if (ok && code != SQLITE_OK)
		sqlite3_result_error_code(c, code);
}

/* ---- for people ---- */

static void fmt_ps_function(sqlite3_context *c, int n, sqlite3_value **v)
{
	static const struct {
		double least;
		const char *unit;
	} units[] = { { 1e12, "s" }, { 1e9, "ms" }, { 1e6, "us" }, { 1e3, "ns" }, { 1, "ps" } };
	(void)n;
	if (sqlite3_value_type(v[0]) == SQLITE_NULL)
		return;
	int type = sqlite3_value_numeric_type(v[0]);
	if (type != SQLITE_INTEGER && type != SQLITE_FLOAT) {
		sqlite3_result_error(c, "fmt_ps takes a number of picoseconds", -1);
		return;
	}
	double ps = sqlite3_value_double(v[0]);
	size_t i = 0;
	while (i + 1 < SS_COUNT(units) && fabs(ps) < units[i].least)
		i++;
	char *text = sqlite3_mprintf("%.4g %s", ps / units[i].least, units[i].unit);
	sqlite3_result_text(c, text, -1, sqlite3_free);
}

bool ss_sql_add_functions(struct ss_sql *s)
{
	static const struct ss_sql_function functions[] = {
		{ "stat", 2, stat_function },
		{ "regexp", 2, regexp_function },
		{ "regexp_extract", 2, extract_function },
		{ "regexp_extract", 3, extract_function },
		{ "like", 2, like_function },
		{ "like", 3, like_function },
		{ "glob", 2, glob_function },
		{ "instr", 2, instr_function },
		{ "replace", 3, replace_function },
		{ "fmt_ps", 1, fmt_ps_function },
	};
	return ss_sql_create_functions(s, functions, SS_COUNT(functions)) && ss_sql_add_format(s) && ss_sql_add_letters(s) &&
	       ss_sql_add_percentiles(s);
}
