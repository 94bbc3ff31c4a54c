/*
 * events.c - the table `events`: every event of the files.
 *
 * What a statement asks for is turned into pieces of lines: all of a line in the file's order, a
 * stretch of time, or the events of one name. SQLite tests again whatever is not exact here. A
 * grouping by names and lines is answered by pieces in the order of the group, so that nothing
 * needs to be sorted.
 */
#include "sql/events.h"

#include "base/bisect.h"
#include "base/vec.h"

#include <stdlib.h>

#define AHEAD 16u /* events of a name, that are fetched */

static const char schema[] = "CREATE TABLE events(event_id INTEGER, host TEXT, plane TEXT, line_id "
			     "INTEGER, line TEXT, name TEXT, display_name TEXT, "
			     "start_ps INTEGER, end_ps INTEGER, dur_ps INTEGER, self_ps INTEGER, "
			     "depth INTEGER, parent_id INTEGER, start_ns INTEGER, "
			     "end_ns INTEGER, group_id INTEGER, correlation_id HIDDEN)";

#define ROWS_BETWEEN 4096 /* two questions whether to go on */

enum piece_kind { IN_FILE, IN_TIME, OF_NAME };

struct piece {
	uint32_t line, lo, hi, meta;
	uint8_t kind; /* enum piece_kind */
};

struct bounds {
	int64_t lo, hi; /* both inclusive */
};

struct cursor {
	sqlite3_vtab_cursor base;
	SS_VEC(struct piece) pieces;
	SS_VEC(uint32_t) lines; /* those that the texts of the last filter leave */
	struct texts {
		char *v;
		size_t n, cap;
	} texts, wanted; /* of that filter, and of this */
	SS_VEC(struct ss_sql_name) names;
	SS_VEC(int64_t) ids; /* instead of pieces */
	size_t piece, id;
	uint32_t k;		       /* place in the piece */
	struct bounds start, end, dur; /* of run time */
	uint32_t rows;
	/* The row. */
	struct ss_sql_line *line;
	uint32_t i;
	bool done, lines_known, bounded;
};

static const struct bounds all = { INT64_MIN, INT64_MAX };

static bool is_bounded(struct bounds b)
{
	return b.lo != INT64_MIN || b.hi != INT64_MAX;
}

/* ---- reading a filter ---- */

static void narrow(struct bounds *b, int64_t lo, int64_t hi)
{
	b->lo = lo > b->lo ? lo : b->lo;
	b->hi = hi < b->hi ? hi : b->hi;
}

/* The whole numbers for which `x op v` holds. What v is not a number for is left to SQLite. */
static struct bounds bounds_of(char op, sqlite3_value *v)
{
	struct bounds none = { 1, 0 };
	int type = sqlite3_value_numeric_type(v);
	if (type != SQLITE_INTEGER && type != SQLITE_FLOAT)
		return type == SQLITE_NULL ? none : all;
	int64_t at = sqlite3_value_int64(v), above = at;
	if (type == SQLITE_FLOAT) { /* the whole numbers around it */
		double d = sqlite3_value_double(v);
		if (!(d > -9e18 && d < 9e18))
			return all;
		at = (int64_t)d - ((double)(int64_t)d > d);
		above = at + ((double)at < d);
	}
	switch (op) {
	case '=':
		return at == above ? (struct bounds){ at, at } : none;
	case '<':
		return above == INT64_MIN ? none : (struct bounds){ INT64_MIN, above - 1 };
	case 'l':
		return (struct bounds){ INT64_MIN, at };
	case '>':
		return at == INT64_MAX ? none : (struct bounds){ at + 1, INT64_MAX };
	default:
		return (struct bounds){ above, INT64_MAX };
	}
}

/* Bounds of absolute ns as bounds of ps since the origin. */
static struct bounds ps_of_ns(const struct ss_sql_directory *d, struct bounds ns)
{
	struct bounds ps = all;
	int64_t v;
	if (ns.lo != INT64_MIN && !__builtin_sub_overflow(ns.lo, d->origin_ns, &v) &&
	    !__builtin_mul_overflow(v, 1000, &v))
		ps.lo = ss_safe_sum(v, -d->origin_rest_ps);
	if (ns.hi != INT64_MAX && !__builtin_sub_overflow(ns.hi, d->origin_ns, &v) &&
	    !__builtin_mul_overflow(v, 1000, &v))
		ps.hi = ss_safe_sum(v, 999 - d->origin_rest_ps);
	return ns.lo > ns.hi ? ns : ps;
}

/* The letters before the first that stands for others. */
static struct ss_str plain_prefix(char op, struct ss_str pattern)
{
	size_t n = 0;
	while (n < pattern.n &&
	       !(op == 'G' ? strchr("*?[", pattern.p[n]) : strchr("%_", pattern.p[n])))
		n++;
	return ss_str_sub(pattern, 0, n);
}

static int by_plane(const void *a, const void *b)
{
	const struct ss_sql_name *x = a, *y = b;
	return SS_CMP(x->plane_at, y->plane_at) ?: SS_CMP(x->meta, y->meta);
}

/* The names that are `text`, or begin with it: into c->names, by plane. */
static bool find_names(struct cursor *c, struct ss_sql_directory *d, struct ss_str text, bool whole)
{
	size_t lo = 0, hi = d->nnames;
	c->names.n = 0;
	if (!ss_sql_names(d))
		return false;
	hi = d->nnames;
	SS_BISECT(lo, hi, mid, ss_str_cmp(d->names[mid].text, text) < 0);
	for (; lo < d->nnames; lo++) {
		const struct ss_sql_name *n = &d->names[lo];
		if (whole ? !ss_str_eq(n->text, text) : !ss_str_starts(n->text, text))
			break;
		if (!ss_vec_push(&c->names, *n))
			return false;
	}
	if (!whole && c->names.n)
		qsort(c->names.v, c->names.n, sizeof(*c->names.v), by_plane);
	return true;
}

struct filter {
	const char *terms; /* letters of column and constraint */
	int n;
	sqlite3_value **values;
	bool named; /* c->names are those that are wanted */
};

static int col_of(const struct filter *f, int k)
{
	return f->terms[2 * k] - 'A';
}

static bool chooses_lines(int col)
{
	return is_line_text(col) || col == C_LINE_ID;
}

static bool line_is_in(struct ss_sql *s, const struct filter *f, const struct ss_sql_line *line)
{
	for (int k = 0; k < f->n; k++) {
		int col = col_of(f, k);
		if (is_line_text(col)
			    ? !line_fits(s, line, col, f->terms[2 * k + 1],
					 value_text(f->values[k]))
			    : col == C_LINE_ID &&
				      sqlite3_value_numeric_type(f->values[k]) == SQLITE_INTEGER &&
				      sqlite3_value_int64(f->values[k]) != line->l.id)
			return false;
	}
	return true;
}

static bool put_text(struct cursor *c, struct ss_str t)
{
	if (!ss_vec_reserve(&c->wanted, c->wanted.n + t.n + 1))
		return false;
	memcpy(c->wanted.v + c->wanted.n, t.p, t.n);
	c->wanted.n += t.n + 1;
	c->wanted.v[c->wanted.n - 1] = 0;
	return true;
}

/*
 * Joins filter again and again by the same host, plane and line. What is asked for now goes to
 * c->wanted. False: memory is out.
 */
static bool put_texts(struct cursor *c, const struct filter *f)
{
	c->wanted.n = 0;
	for (int k = 0; k < f->n; k++)
		if (chooses_lines(col_of(f, k)) && !put_text(c, value_text(f->values[k])))
			return false;
	return true;
}

static bool same_texts(const struct cursor *c)
{
	return c->lines_known && c->texts.n == c->wanted.n &&
	       (!c->texts.n || memcmp(c->texts.v, c->wanted.v, c->texts.n) == 0);
}

static bool choose_lines(struct cursor *c, struct ss_sql *s, const struct filter *f)
{
	if (!put_texts(c, f))
		return false;
	if (same_texts(c))
		return true;
	c->lines.n = 0;
	c->lines_known = false;
	for (uint32_t i = 0; i < s->dir->nlines; i++)
		if (s->dir->lines[i].l.ev.n && line_is_in(s, f, &s->dir->lines[i]) &&
		    !ss_vec_push(&c->lines, i))
			return false;
	struct texts t = c->texts;
	c->texts = c->wanted;
	c->wanted = t;
	c->lines_known = true;
	return true;
}

/* ---- pieces ---- */

static bool add_names(struct cursor *c, struct ss_sql_directory *d, uint32_t at)
{
	struct ss_sql_line *line = &d->lines[at];
	size_t lo = 0, hi = c->names.n;
	SS_BISECT(lo, hi, mid, c->names.v[mid].plane_at < line->plane_at);
	if (lo == c->names.n || c->names.v[lo].plane_at != line->plane_at)
		return true;
	if (!ss_sql_post_line(d, line))
		return false;
	for (; lo < c->names.n && c->names.v[lo].plane_at == line->plane_at; lo++) {
		const struct ss_sql_pair *p = ss_sql_pair_of(line, c->names.v[lo].meta);
		if (p && !ss_vec_push(&c->pieces, ((struct piece){ at, p->first, p->first + p->n,
								   p->meta, OF_NAME })))
			return false;
	}
	return true;
}

/* A bound of run time as one of the line's. */
static int64_t unshifted(const struct ss_sql_line *line, int64_t ps)
{
	return ps == INT64_MIN || ps == INT64_MAX ? ps : ss_clock_own(&line->clock, ps);
}

static bool add_stretch(struct cursor *c, struct ss_sql_directory *d, uint32_t at)
{
	struct ss_sql_line *line = &d->lines[at];
	int64_t last = c->start.hi < c->end.hi ? c->start.hi : c->end.hi;
	if (!ss_sql_time_line(d, line))
		return false;
	uint32_t lo = c->start.lo == INT64_MIN
			      ? 0
			      : ss_sql_first_from(line, unshifted(line, c->start.lo)),
		 hi = line->l.ev.n;
	if (last != INT64_MAX)
		hi = ss_sql_first_from(line, unshifted(line, last + 1));
	return lo >= hi ||
	       ss_vec_push(&c->pieces, ((struct piece){ at, lo, hi, SS_NONE, IN_TIME }));
}

static bool add_pairs(struct cursor *c, struct ss_sql_directory *d, uint32_t at)
{
	struct ss_sql_line *line = &d->lines[at];
	if (!ss_sql_post_line(d, line) || !ss_vec_reserve(&c->pieces, c->pieces.n + line->npairs))
		return false;
	for (uint32_t p = 0; p < line->npairs; p++)
		c->pieces.v[c->pieces.n++] =
			(struct piece){ at, line->pairs[p].first,
					line->pairs[p].first + line->pairs[p].n,
					line->pairs[p].meta, OF_NAME };
	return true;
}

struct ordering {
	const struct ss_sql_directory *d;
	const char *cols;
};

static bool stands_before(const struct ordering *o, const struct piece *x, const struct piece *y)
{
	const struct ss_sql_line *lx = &o->d->lines[x->line], *ly = &o->d->lines[y->line];
	for (const char *p = o->cols; *p; p += 2) {
		int col = *p - 'A', c;
		if (col == C_LINE_ID)
			c = SS_CMP(lx->l.id, ly->l.id);
		else if (col == C_NAME)
			c = ss_str_cmp(ss_event_name_in_file(lx->plane, x->meta),
				       ss_event_name_in_file(ly->plane, y->meta));
		else if (col == C_DISPLAY_NAME)
			c = ss_str_cmp(ss_event_display_name(lx->plane, x->meta),
				       ss_event_display_name(ly->plane, y->meta));
		else
			c = ss_str_cmp(line_text(lx, col), line_text(ly, col));
		if (c)
			return (p[1] == 'd') == (c > 0);
	}
	return x->line != y->line ? x->line < y->line : x->meta != y->meta ? x->meta < y->meta : x->lo < y->lo;
}

#define SORT_ITEM struct piece
#define SORT_LESS(ctx, a, b) stands_before(ctx, a, b)
#include "base/introsort_of.h"

static bool names_in(const char *order)
{
	for (; order && *order; order += 2)
		if (*order - 'A' == C_NAME || *order - 'A' == C_DISPLAY_NAME)
			return true;
	return false;
}

static bool cut_pieces(struct cursor *c, struct ss_sql_directory *d, const struct filter *f,
		       const char *order)
{
	bool bounded = is_bounded(c->start) || is_bounded(c->end) || is_bounded(c->dur),
	     pairs = names_in(order), ok = true;
	for (size_t k = 0; ok && k < c->lines.n; k++) {
		uint32_t at = c->lines.v[k];
		if (f->named)
			ok = add_names(c, d, at);
		else if (pairs)
			ok = add_pairs(c, d, at);
		else if (bounded)
			ok = add_stretch(c, d, at);
		else
			ok = ss_vec_push(&c->pieces, ((struct piece){ at, 0, d->lines[at].l.ev.n,
								      SS_NONE, IN_FILE }));
	}
	if (ok && order && c->pieces.n)
		sort_items(c->pieces.v, c->pieces.n, &(struct ordering){ d, order });
	return ok;
}

/* ---- events by correlation id ---- */

static int by_id(const void *a, const void *b)
{
	const struct ss_sql_correlated *x = a, *y = b;
	return SS_CMP(x->id, y->id) ?: SS_CMP(x->event_id, y->event_id);
}

static bool correlate(struct ss_sql_events_table *t)
{
	const struct ss_sql_directory *d = t->base.s->dir;
	SS_VEC(struct ss_sql_correlated) v = { 0 };
	struct ss_xstat s;
	for (uint32_t at = 0; at < d->nlines; at++)
		for (uint32_t i = 0; i < d->lines[at].l.ev.n; i++) {
			if (t->correlation.first[d->lines[at].plane_at] == SS_NONE ||
			    (i % ROWS_BETWEEN == 0 && !ss_sql_go_on(t->base.s)))
				break;
			bool has = ss_sql_stat(&t->correlation, &d->lines[at], i, &s) &&
				   (s.kind == SS_X_INT || s.kind == SS_X_UINT);
			if (has &&
			    !ss_vec_push(&v, ((struct ss_sql_correlated){
						     (int64_t)s.u,
						     (int64_t)(d->lines[at].first_id + i) }))) {
				ss_vec_free(&v);
				return false;
			}
		}
	if (!v.n && !ss_vec_reserve(&v, 1))
		return false;
	qsort(v.v, v.n, sizeof(*v.v), by_id);
	t->correlated = v.v;
	t->ncorrelated = v.n;
	return true;
}

static bool find_correlated(struct ss_sql_events_table *t, struct cursor *c, int64_t id)
{
	if (!t->correlated && !correlate(t))
		return false;
	size_t lo = 0, hi = t->ncorrelated;
	SS_BISECT(lo, hi, mid, t->correlated[mid].id < id);
	for (; lo < t->ncorrelated && t->correlated[lo].id == id; lo++)
		if (!ss_vec_push(&c->ids, t->correlated[lo].event_id))
			return false;
	return true;
}

/* ---- the cursor ---- */

static bool fits(struct bounds b, int64_t v)
{
	return v >= b.lo && v <= b.hi;
}

/*
 * The next place of a piece that can be a row: of stretches of time, blocks of events that are too
 * short or over too early are passed.
 */
static uint32_t next_place(const struct cursor *c, const struct ss_sql_line *line,
			   const struct piece *p)
{
	if (p->kind != IN_TIME || c->k >= p->hi)
		return c->k;
	if (c->end.lo != INT64_MIN)
		return ss_sql_next_ending(line, c->k, p->hi,
					  ss_safe_sum(unshifted(line, c->end.lo), -1));
	if (c->dur.lo != INT64_MIN)
		return ss_sql_next_lasting(line, c->k, p->hi, c->dur.lo);
	return c->k;
}

static int advance_ids(struct ss_sql_events_table *t, struct cursor *c)
{
	while (c->id < c->ids.n)
		if ((c->line = ss_sql_line_of(t->base.s->dir, c->ids.v[c->id++], &c->i)))
			return SQLITE_OK;
	c->done = true;
	return SQLITE_OK;
}

/* Events of one name stand far apart: what is asked of most is fetched before its turn. */
static inline void fetch(const struct ss_xevents *ev, uint32_t i)
{
	__builtin_prefetch(&ev->dur_ps[i]);
	__builtin_prefetch(&ev->meta[i]);
}

/* To the next row, from place c->k of the piece on. */
static int advance(struct ss_sql_events_table *t, struct cursor *c)
{
	t->base.s->steps = 0;
	if (c->ids.n)
		return advance_ids(t, c);
	for (; c->piece < c->pieces.n;
	     c->piece++, c->k = c->piece < c->pieces.n ? c->pieces.v[c->piece].lo : 0) {
		const struct piece *p = &c->pieces.v[c->piece];
		struct ss_sql_line *line = c->line = &t->base.s->dir->lines[p->line];
		while ((c->k = next_place(c, line, p)) < p->hi) {
			if (++c->rows % ROWS_BETWEEN == 0 && !ss_sql_go_on(t->base.s))
				return SQLITE_INTERRUPT;
			uint32_t i = p->kind == OF_NAME	  ? line->posts[c->k]
				     : p->kind == IN_TIME ? ss_sql_in_time(line, c->k)
							  : c->k;
			c->k++;
			c->i = i;
			if (p->kind == OF_NAME && p->hi - c->k > AHEAD)
				fetch(&line->l.ev, line->posts[c->k + AHEAD]);
			if (!c->bounded || p->kind == IN_FILE || (fits(c->start, ss_sql_start_ps(line, i)) &&
						   fits(c->end, ss_sql_end_ps(line, i)) &&
						   fits(c->dur, (int64_t)line->l.ev.dur_ps[i])))
				return SQLITE_OK;
		}
	}
	c->done = true;
	return SQLITE_OK;
}

/* Reads the constraints. False: memory is out. *empty: no event can be a row. */
static bool read_filter(struct ss_sql_events_table *t, struct cursor *c, struct filter *f,
			bool *empty)
{
	for (int k = 0; k < f->n; k++) {
		int col = col_of(f, k);
		char op = f->terms[2 * k + 1];
		sqlite3_value *v = f->values[k];
		if (sqlite3_value_type(v) == SQLITE_NULL ||
		    (is_line_text(col) && sqlite3_value_type(v) == SQLITE_BLOB)) {
			*empty = true;
		} else if (is_number_col(col)) {
			struct bounds b = bounds_of(op, v);
			if (col == C_START_NS || col == C_END_NS)
				b = ps_of_ns(t->base.s->dir, b);
			narrow(col == C_DUR_PS				? &c->dur
			       : col == C_START_PS || col == C_START_NS ? &c->start
									: &c->end,
			       b.lo, b.hi);
		} else if (col == C_NAME && !f->named) {
			struct ss_str text = value_text(v);
			if (op != '=' && !(text = plain_prefix(op, text)).n)
				continue;
			if (!find_names(c, t->base.s->dir, text, op == '='))
				return false;
			f->named = true;
		}
	}
	*empty = *empty || c->start.lo > c->start.hi || c->end.lo > c->end.hi ||
		 c->dur.lo > c->dur.hi;
	return true;
}

/*
 * Events by number or correlation id, which all other constraints are tested of by SQLite, but
 * those of lines. 0: there are none such.
 */
static int filter_ids(struct ss_sql_events_table *t, struct cursor *c, const struct filter *f)
{
	for (int k = 0; k < f->n; k++) {
		int col = col_of(f, k), type = sqlite3_value_numeric_type(f->values[k]);
		double d = sqlite3_value_double(f->values[k]);
		if ((col != C_EVENT_ID && col != C_CORRELATION_ID) ||
		    (type != SQLITE_INTEGER && type != SQLITE_FLOAT))
			continue;
		int64_t id = sqlite3_value_int64(f->values[k]);
		if (type == SQLITE_FLOAT && (double)id != d)
			return 1;
		if (!(col == C_EVENT_ID ? ss_vec_push(&c->ids, id) : find_correlated(t, c, id)))
			return -1;
		size_t left = 0;
		for (size_t n = 0; n < c->ids.n; n++) {
			uint32_t i;
			const struct ss_sql_line *line =
				ss_sql_line_of(t->base.s->dir, c->ids.v[n], &i);
			if (line && line_is_in(t->base.s, f, line))
				c->ids.v[left++] = c->ids.v[n];
		}
		c->ids.n = left;
		return 1;
	}
	return 0;
}

static int filter(sqlite3_vtab_cursor *cursor, int number, const char *terms, int n,
		  sqlite3_value **values)
{
	struct cursor *c = (struct cursor *)cursor;
	struct ss_sql_events_table *t = (struct ss_sql_events_table *)cursor->pVtab;
	struct filter f = { .terms = terms, .n = n, .values = values };
	const char *order = strchr(terms, '|');
	bool empty = false;
	(void)number;
	c->pieces.n = c->ids.n = c->piece = c->id = 0;
	c->k = 0;
	c->start = c->end = c->dur = all;
	c->done = false;
	if (!read_filter(t, c, &f, &empty))
		return SQLITE_NOMEM;
	c->bounded = is_bounded(c->start) || is_bounded(c->end) || is_bounded(c->dur);
	int ids = empty ? 1 : filter_ids(t, c, &f);
	if (ids) {
		c->done = ids > 0 && !c->ids.n;
		return ids < 0 ? SQLITE_NOMEM : c->done ? SQLITE_OK : advance_ids(t, c);
	}
	if (!choose_lines(c, t->base.s, &f) ||
	    !cut_pieces(c, t->base.s->dir, &f, order ? order + 1 : NULL))
		return SQLITE_NOMEM;
	if (c->pieces.n)
		c->k = c->pieces.v[0].lo;
	return t->base.s->end == SS_SQL_GOES_ON ? advance(t, c) : SQLITE_INTERRUPT;
}

static int next(sqlite3_vtab_cursor *cursor)
{
	return advance((struct ss_sql_events_table *)cursor->pVtab, (struct cursor *)cursor);
}

static int eof(sqlite3_vtab_cursor *cursor)
{
	return ((struct cursor *)cursor)->done;
}

static int rowid(sqlite3_vtab_cursor *cursor, sqlite3_int64 *out)
{
	const struct cursor *c = (struct cursor *)cursor;
	*out = (sqlite3_int64)(c->line->first_id + c->i);
	return SQLITE_OK;
}

static void result_nesting(struct ss_sql_events_table *t, sqlite3_context *c,
			   struct ss_sql_line *line, uint32_t i, int col)
{
	if (!ss_sql_nest_line(t->base.s->dir, line))
		sqlite3_result_error_nomem(c);
	else if (col == C_SELF_PS)
		sqlite3_result_int64(c, line->self_ps[i]);
	else if (col == C_DEPTH)
		sqlite3_result_int64(c, line->depth[i]);
	else if (line->parent[i] != SS_NONE)
		sqlite3_result_int64(c, (sqlite3_int64)(line->first_id + line->parent[i]));
}

static void result_stat(struct ss_sql_key *k, sqlite3_context *c, const struct ss_sql_line *line,
			uint32_t i)
{
	struct ss_xstat s;
	if (ss_sql_stat(k, line, i, &s))
		ss_sql_result_stat(c, &s);
}

static int column(sqlite3_vtab_cursor *cursor, sqlite3_context *c, int col)
{
	struct cursor *at = (struct cursor *)cursor;
	struct ss_sql_events_table *t = (struct ss_sql_events_table *)cursor->pVtab;
	struct ss_sql_line *line = at->line;
	uint32_t i = at->i, meta = line->l.ev.meta[i];
	struct ss_str s;
	switch (col) {
	case C_EVENT_ID:
		sqlite3_result_int64(c, (sqlite3_int64)(line->first_id + i));
		break;
	case C_HOST:
	case C_PLANE:
	case C_LINE:
		ss_sql_result_str(c, line_text(line, col));
		break;
	case C_LINE_ID:
		sqlite3_result_int64(c, line->l.id);
		break;
	case C_NAME:
		ss_sql_result_str(c, ss_event_name_in_file(line->plane, meta));
		break;
	case C_DISPLAY_NAME:
		s = ss_event_display_name(line->plane, meta);
		if (s.n)
			ss_sql_result_str(c, s);
		break;
	case C_START_PS:
		sqlite3_result_int64(c, ss_sql_start_ps(line, i));
		break;
	case C_END_PS:
		sqlite3_result_int64(c, ss_sql_end_ps(line, i));
		break;
	case C_DUR_PS:
		sqlite3_result_int64(c, (sqlite3_int64)line->l.ev.dur_ps[i]);
		break;
	case C_START_NS:
		sqlite3_result_int64(c, ss_sql_unix_ns(line, line->l.ev.begin_ps[i]));
		break;
	case C_END_NS:
		sqlite3_result_int64(c, ss_sql_unix_ns(line, ss_xevents_end_ps(&line->l.ev, i)));
		break;
	case C_GROUP_ID:
		result_stat(&t->group, c, line, i);
		break;
	case C_CORRELATION_ID:
		result_stat(&t->correlation, c, line, i);
		break;
	default:
		result_nesting(t, c, line, i, col);
	}
	return SQLITE_OK;
}

static int open_cursor(sqlite3_vtab *v, sqlite3_vtab_cursor **out)
{
	(void)v;
	return ss_sql_new_cursor(sizeof(struct cursor), out);
}

static int close_cursor(sqlite3_vtab_cursor *cursor)
{
	struct cursor *c = (struct cursor *)cursor;
	ss_vec_free(&c->pieces);
	ss_vec_free(&c->lines);
	ss_vec_free(&c->texts);
	ss_vec_free(&c->wanted);
	ss_vec_free(&c->names);
	ss_vec_free(&c->ids);
	free(c);
	return SQLITE_OK;
}

static int disconnect(sqlite3_vtab *v)
{
	struct ss_sql_events_table *t = (struct ss_sql_events_table *)v;
	free(t->group.first);
	free(t->correlation.first);
	free(t->correlated);
	return ss_sql_vtab_free(v);
}

static int connect_table(sqlite3 *db, void *arg, int argc, const char *const *argv,
			 sqlite3_vtab **out, char **why)
{
	struct ss_sql *s = arg;
	(void)db;
	(void)argc;
	(void)argv;
	int code = ss_sql_vtab_of_events(s, out, sizeof(struct ss_sql_events_table), schema, why);
	struct ss_sql_events_table *t = (struct ss_sql_events_table *)*out;
	if (code != SQLITE_OK)
		return code;
	if (ss_sql_key_init(&t->group, s->dir, SS_STR("group_id")) &&
	    ss_sql_key_init(&t->correlation, s->dir, SS_STR("correlation_id")))
		return SQLITE_OK;
	disconnect(*out);
	*out = NULL;
	return SQLITE_NOMEM;
}

bool ss_sql_add_events(struct ss_sql *s)
{
	static const sqlite3_module module = {
		.xConnect = connect_table,
		.xDisconnect = disconnect,
		.xBestIndex = ss_sql_events_plan,
		.xOpen = open_cursor,
		.xClose = close_cursor,
		.xFilter = filter,
		.xNext = next,
		.xEof = eof,
		.xColumn = column,
		.xRowid = rowid,
	};
	return sqlite3_create_module(s->db, "events", &module, s) == SQLITE_OK;
}
