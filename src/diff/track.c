/* track.c - see track.h. */
#include "diff/track.h"

#include "base/bisect.h"
#include "base/buf.h"
#include "base/vec.h"
#include "diff/result.h"
#include "statistics/change_points.h"
#include "table/cols.h"

#include <math.h>
#include <stdlib.h>
#include <time.h>

#define ALPHA 0.001
#define BAND_FRAC 0.01
#define MOST_OPS 200 /* kept of a run */

static const struct ss_own_kind history = {
	.what = "a history of runs ('stepscope track add' makes one)",
	.application_id = 0x53535452,
	.version = 1,
	.schema =
		"CREATE TABLE run(id INTEGER PRIMARY KEY, hash TEXT UNIQUE NOT NULL, path TEXT NOT NULL, time_ns INTEGER "
		"NOT NULL,"
		" steps INTEGER NOT NULL, device_type TEXT NOT NULL, device_count INTEGER NOT NULL, program TEXT NOT NULL);"
		"CREATE TABLE label(run INTEGER NOT NULL REFERENCES run(id), key TEXT NOT NULL, value TEXT NOT NULL,"
		" PRIMARY KEY(run, key)) WITHOUT ROWID;"
		"CREATE TABLE figure(run INTEGER NOT NULL REFERENCES run(id), metric TEXT NOT NULL, unit TEXT NOT NULL,"
		" value REAL, se REAL, n INTEGER NOT NULL, PRIMARY KEY(run, metric)) WITHOUT ROWID;"
		"CREATE TABLE op(run INTEGER NOT NULL REFERENCES run(id), key TEXT NOT NULL, path TEXT NOT NULL,"
		" opcode TEXT NOT NULL, shape TEXT NOT NULL, us REAL NOT NULL);"
		"CREATE INDEX op_of ON op(run);",
};

bool ss_track_open(struct ss_track *t, const char *path, bool create, struct ss_err *err)
{
	return ss_own_open(&t->db, path, &history, create, err);
}

void ss_track_close(struct ss_track *t)
{
	ss_own_close(&t->db);
}

/* ---- adding ---- */

/* Runs of equal programs are one series: the name, and the shapes of what it is given. */
static bool program_of(const struct ss_diff_run *r, struct ss_buf *b)
{
	for (size_t i = 0; i < r->facts.n; i++)
		if (ss_str_is(r->facts.v[i].key, "program"))
			ss_buf_str(b, r->facts.v[i].value);
	for (size_t i = 0; i < r->parameters.n && b->n < 2000; i++) {
		ss_buf_char(b, ' ');
		ss_buf_str(b, r->parameters.v[i]);
	}
	return !b->no_memory;
}

static bool add_run(struct ss_track *t, const struct ss_track_run *r, bool *known, int64_t *id, struct ss_err *err)
{
	struct ss_own_query q;
	struct ss_buf program = { .limit_bytes = 8000 };
	bool row = false, ok = ss_own_prepare(&q, &t->db, "SELECT id FROM run WHERE hash = ?1", err);
	if (ok) {
		ss_own_bind_text(&q, 1, r->hash);
		ok = ss_own_next(&q, &row, err);
	}
	*known = row;
	ss_own_end(&q);
	if (!ok || row)
		return ok;
	ok = program_of(r->run, &program) || ss_fail_mem(err);
	ok = ok && ss_own_prepare(&q, &t->db,
				  "INSERT INTO run(hash, path, time_ns, steps, device_type, device_count, program)"
				  " VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7) RETURNING id",
				  err);
	if (ok) {
		ss_own_bind_text(&q, 1, r->hash);
		ss_own_bind_text(&q, 2, r->path);
		ss_own_bind_i64(&q, 3, r->time_ns);
		ss_own_bind_i64(&q, 4, (int64_t)r->run->steps.n);
		ss_own_bind_text(&q, 5, r->run->device_type);
		ss_own_bind_i64(&q, 6, (int64_t)r->run->ndevices);
		ss_own_bind_text(&q, 7, ss_buf_get(&program));
		ok = ss_own_next(&q, &row, err);
		*id = ok && row ? ss_own_i64(&q, 0) : 0;
		ok = ok && ss_own_next(&q, &row, err);
		ss_own_end(&q);
	}
	ss_buf_free(&program);
	return ok;
}

static bool add_labels(struct ss_track *t, const struct ss_track_run *r, int64_t id, struct ss_err *err)
{
	struct ss_own_query q;
	bool row, ok = ss_own_prepare(&q, &t->db, "INSERT OR REPLACE INTO label VALUES(?1, ?2, ?3)", err);
	for (size_t i = 0; ok && i < r->nlabels; i++) {
		ss_own_bind_i64(&q, 1, id);
		ss_own_bind_text(&q, 2, r->labels[i].key);
		ss_own_bind_text(&q, 3, r->labels[i].value);
		ok = ss_own_next(&q, &row, err);
		ss_own_again(&q);
	}
	ss_own_end(&q);
	return ok;
}

struct figure {
	struct ss_str metric;
	const char *unit;
	double value, se;
};

#define MOST_FIGURES (SS_DIFF_PARTS + 8)

static size_t figures_of(const struct ss_diff_run *r, struct figure *v)
{
	size_t n = 0;
	double period = r->all.mean + r->outside.mean;
	v[n++] = (struct figure){ SS_STR("step_time"), "us", r->step.mean, r->step.se };
	v[n++] = (struct figure){ SS_STR("step_period"), "us", period, hypot(r->all.se, r->outside.se) };
	v[n++] = (struct figure){ SS_STR("mean_step_time"), "us", r->all.mean, r->all.se };
	for (int i = 0; i < SS_DIFF_COMPONENTS; i++)
		v[n++] = (struct figure){ ss_diff_part_name(i), "us", r->components[i].mean, r->components[i].se };
	v[n++] = (struct figure){ SS_STR("outlier_steps"), "us", r->typical == r->steps.n ? 0 : r->all.mean - r->step.mean,
				  NAN };
	v[n++] = (struct figure){ SS_STR("outside_steps"), "us", r->outside.mean, r->outside.se };
	v[n++] = (struct figure){ SS_STR("steps_per_second"), "count", period > 0 ? 1e6 / period : NAN, NAN };
	if (r->memory.n)
		v[n++] = (struct figure){ SS_STR("peak_memory"), "bytes", r->memory.v[0].bytes, NAN };
	return n;
}

static bool add_figures(struct ss_track *t, const struct ss_diff_run *r, int64_t id, struct ss_err *err)
{
	struct figure v[MOST_FIGURES];
	struct ss_own_query q;
	size_t n = figures_of(r, v);
	bool row, ok = ss_own_prepare(&q, &t->db, "INSERT INTO figure VALUES(?1, ?2, ?3, ?4, ?5, ?6)", err);
	for (size_t i = 0; ok && i < n; i++) {
		ss_own_bind_i64(&q, 1, id);
		ss_own_bind_text(&q, 2, v[i].metric);
		ss_own_bind_text(&q, 3, ss_str_from(v[i].unit));
		ss_own_bind_f64(&q, 4, v[i].value);
		ss_own_bind_f64(&q, 5, v[i].se);
		ss_own_bind_i64(&q, 6, (int64_t)r->typical);
		ok = ss_own_next(&q, &row, err);
		ss_own_again(&q);
	}
	ss_own_end(&q);
	return ok;
}

static int by_time(const void *a, const void *b)
{
	const struct ss_diff_op *const *x = a, *const *y = b;
	return SS_CMP((*y)->us.mean, (*x)->us.mean) ?: ss_str_cmp((*x)->name, (*y)->name);
}

static bool add_ops(struct ss_track *t, const struct ss_diff_run *r, int64_t id, struct ss_err *err)
{
	struct ss_own_query q = { 0 };
	const struct ss_diff_op **v = malloc((r->ops.n + 1) * sizeof(const struct ss_diff_op *));
	bool row, ok = v || ss_fail_mem(err);
	for (size_t i = 0; ok && i < r->ops.n; i++)
		v[i] = &r->ops.v[i];
	if (ok && r->ops.n)
		qsort(v, r->ops.n, sizeof(const struct ss_diff_op *), by_time);
	ok = ok && ss_own_prepare(&q, &t->db, "INSERT INTO op VALUES(?1, ?2, ?3, ?4, ?5, ?6)", err);
	for (size_t i = 0; ok && i < r->ops.n && i < MOST_OPS; i++) {
		ss_own_bind_i64(&q, 1, id);
		ss_own_bind_text(&q, 2, v[i]->name);
		ss_own_bind_text(&q, 3, v[i]->path);
		ss_own_bind_text(&q, 4, v[i]->opcode);
		ss_own_bind_text(&q, 5, v[i]->shape);
		ss_own_bind_f64(&q, 6, v[i]->us.mean);
		ok = ss_own_next(&q, &row, err);
		ss_own_again(&q);
	}
	ss_own_end(&q);
	free(v);
	return ok;
}

bool ss_track_add(struct ss_track *t, const struct ss_track_run *r, bool *known, struct ss_err *err)
{
	int64_t id = 0;
	if (!ss_own_run(&t->db, "BEGIN IMMEDIATE", err))
		return false;
	bool ok = add_run(t, r, known, &id, err);
	if (ok && !*known)
		ok = add_labels(t, r, id, err) && add_figures(t, r->run, id, err) && add_ops(t, r->run, id, err);
	return ss_own_run(&t->db, ok ? "COMMIT" : "ROLLBACK", ok ? err : NULL) && ok;
}

/* ---- reading ---- */

struct run_row {
	int64_t id, time_ns;
	struct ss_str path, device, count, program;
};

struct point {
	const struct run_row *run;
	double value, se;
};

struct label_row {
	int64_t run;
	struct ss_track_label l;
};

struct reading {
	struct ss_track *t;
	const struct ss_track_filter *f;
	size_t last;
	struct ss_result *out;
	struct ss_table *figures, *changes;
	struct ss_track_change *sum;
	SS_VEC(struct label_row) labels; /* by run, then key */
	SS_VEC(struct run_row) runs;	/* by series, then time */
	SS_VEC(struct point) series;
	struct ss_str metric, unit, about; /* of the series */
	bool lower_is_worse, first_metric;
};

static int compare_series(const struct run_row *x, const struct run_row *y)
{
	return ss_str_cmp(x->device, y->device) ?: ss_str_cmp(x->count, y->count) ?: ss_str_cmp(x->program, y->program);
}

static bool read_labels(struct reading *r, struct ss_err *err)
{
	struct ss_own_query q;
	bool row = true, ok = ss_own_prepare(&q, &r->t->db, "SELECT run, key, value FROM label ORDER BY run, key", err);
	while (ok && (ok = ss_own_next(&q, &row, err)) && row) {
		struct label_row l = { ss_own_i64(&q, 0),
				       { ss_arena_str(r->out->arena, ss_own_text(&q, 1)),
					 ss_arena_str(r->out->arena, ss_own_text(&q, 2)) } };
		ok = (l.l.key.p && l.l.value.p && ss_vec_push(&r->labels, l)) || ss_fail_mem(err);
	}
	ss_own_end(&q);
	return ok;
}

static size_t first_label(const struct reading *r, int64_t run)
{
	size_t lo = 0, hi = r->labels.n;
	SS_BISECT(lo, hi, mid, r->labels.v[mid].run < run);
	return lo;
}

static struct ss_str label_of(const struct reading *r, int64_t run, struct ss_str key)
{
	for (size_t i = first_label(r, run); i < r->labels.n && r->labels.v[i].run == run; i++)
		if (ss_str_eq(r->labels.v[i].l.key, key))
			return r->labels.v[i].l.value;
	return SS_STR("");
}

static bool is_wanted(const struct reading *r, int64_t run)
{
	for (size_t i = 0; i < r->f->nwhere; i++)
		if (!ss_str_eq(label_of(r, run, r->f->where[i].key), r->f->where[i].value))
			return false;
	return true;
}

static struct ss_str labels_text(const struct reading *r, int64_t run)
{
	struct ss_buf b = { .limit_bytes = 4000 };
	for (size_t i = first_label(r, run); i < r->labels.n && r->labels.v[i].run == run; i++)
		ss_buf_printf(&b, "%s" SS_FMT "=" SS_FMT, b.n ? ", " : "", SS_ARG(r->labels.v[i].l.key),
			      SS_ARG(r->labels.v[i].l.value));
	struct ss_str s = ss_arena_str(r->out->arena, ss_buf_get(&b));
	ss_buf_free(&b);
	return s.p ? s : SS_STR("");
}

static struct ss_str time_text(const struct reading *r, int64_t time_ns)
{
	time_t s = (time_t)(time_ns / 1000000000);
	struct tm tm;
	char text[40] = "";
	if (gmtime_r(&s, &tm))
		strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &tm);
	struct ss_str out = ss_arena_str(r->out->arena, ss_str_from(text));
	return out.p ? out : SS_STR("");
}

enum { G_RUN, G_TIME, G_SERIES, G_METRIC, G_UNIT, G_VALUE, G_SE, G_LABELS, G_PATH };

static const struct ss_col figure_cols[] = {
	INT("run", "Run", NONE, "Number of the run in the file"),
	STR("time", "Time", NULL),
	STR("series", "Series", "Device and program: runs with equal device and program are a series"),
	STR("metric", "Metric", NULL),
	STR("unit", "Unit", NULL),
	NUM("value", "Value", NONE, NULL),
	NUM("se", "Standard Error", NONE, "Standard error of the mean, from the steps of the run"),
	STR("labels", "Labels", NULL),
	STR("path", "Path", NULL),
};

enum {
	C_SERIES,
	C_METRIC,
	C_RUN,
	C_COMMIT,
	C_BEFORE,
	C_AFTER,
	C_FRAC,
	C_P,
	C_NBEFORE,
	C_NAFTER,
	C_WORSE,
	C_LATELY,
	C_GOOD,
	C_PATH
};

static const struct ss_col change_cols[] = {
	STR("series", "Series", "Device and program: runs with equal device and program are a series"),
	STR("metric", "Metric", NULL),
	INT("run", "Run", NONE, "First run of the new level"),
	STR("label_commit", "Commit", "Label `commit` of that run"),
	NUM("before", "Before", NONE, "Mean of the runs between the previous change and this one"),
	NUM("after", "After", NONE, NULL),
	NUM("delta_frac", "Delta (%)", FRAC, NULL),
	NUM("p_value", "p", NONE, NULL),
	INT("runs_before", "Runs Before", COUNT, NULL),
	INT("runs_after", "Runs After", COUNT, NULL),
	FLAG("worse", "Worse", NULL),
	FLAG("lately", "Lately", "Whether the change is among the last runs that the check covers"),
	STR("last_good", "Last Good", "Run before the change"),
	STR("path", "Path", NULL),
};

static void add_figure(struct reading *r, const struct point *p)
{
	struct ss_table *t = r->figures;
	ss_table_row(t);
	ss_set_i64(t, G_RUN, p->run->id);
	ss_set_str(t, G_TIME, time_text(r, p->run->time_ns));
	ss_set_str(t, G_SERIES, r->about);
	ss_set_str(t, G_METRIC, r->metric);
	ss_set_str(t, G_UNIT, r->unit);
	ss_set_f64(t, G_VALUE, p->value);
	ss_set_f64(t, G_SE, p->se);
	ss_set_str(t, G_LABELS, labels_text(r, p->run->id));
	ss_set_str(t, G_PATH, p->run->path);
}

static void add_change(struct reading *r, const struct ss_change_point *c, const struct point *v, size_t n)
{
	struct ss_table *t = r->changes;
	bool worse = r->lower_is_worse ? c->after < c->before : c->after > c->before, lately = c->at + r->last >= n;
	ss_table_row(t);
	ss_set_str(t, C_SERIES, r->about);
	ss_set_str(t, C_METRIC, r->metric);
	ss_set_i64(t, C_RUN, v[c->at].run->id);
	ss_set_str(t, C_COMMIT, label_of(r, v[c->at].run->id, SS_STR("commit")));
	ss_set_f64(t, C_BEFORE, c->before);
	ss_set_f64(t, C_AFTER, c->after);
	ss_set_f64(t, C_FRAC, c->before > 0 ? (c->after - c->before) / c->before : NAN);
	ss_set_f64(t, C_P, c->p);
	ss_set_i64(t, C_NBEFORE, (int64_t)c->nbefore);
	ss_set_i64(t, C_NAFTER, (int64_t)c->nafter);
	ss_set_bool(t, C_WORSE, worse);
	ss_set_bool(t, C_LATELY, lately);
	ss_set_str(t, C_GOOD, c->at ? v[c->at - 1].run->path : SS_STR(""));
	ss_set_str(t, C_PATH, v[c->at].run->path);
	r->sum->worse_lately = r->sum->worse_lately || (worse && lately);
}

/* A whole series: its figures, and where they changed. */
static bool end_series(struct reading *r)
{
	size_t n = r->series.n, from = n > SS_MOST_HISTORY ? n - SS_MOST_HISTORY : 0, kept = 0;
	double *v = malloc((n + 1) * sizeof(*v));
	struct ss_change_point *changes = malloc((n + 1) * sizeof(*changes));
	bool ok = v && changes;
	for (size_t i = 0; ok && i < n; i++) {
		add_figure(r, &r->series.v[i]);
		if (i >= from && isfinite(r->series.v[i].value)) {
			r->series.v[kept] = r->series.v[i]; /* kept <= i */
			v[kept] = r->series.v[kept].value;
			kept++;
		}
	}
	size_t found = ok ? ss_change_points(v, kept, ALPHA, BAND_FRAC, changes) : SIZE_MAX;
	ok = found != SIZE_MAX;
	for (size_t i = 0; ok && i < found; i++)
		add_change(r, &changes[i], r->series.v, kept);
	r->sum->longest = kept > r->sum->longest ? kept : r->sum->longest;
	r->sum->too_short += r->first_metric && n && kept < 2 * SS_LEAST_SEGMENT;
	r->series.n = 0;
	free(v);
	free(changes);
	return ok;
}

/* "TPU v5p x 8, jit_step f32[16,16]" */
static struct ss_str about_series(struct ss_arena *a, const struct run_row *v)
{
	const size_t most = 300;
	return ss_arena_printf(a, SS_FMT " x " SS_FMT "%s" SS_FMT, SS_ARG(v->device.n ? v->device : SS_STR("CPU")),
			       SS_ARG(v->count), v->program.n ? ", " : "", SS_ARG(ss_str_sub(v->program, 0, most)));
}

/* Runs of one series lie together, in the order of time. */
static int by_series(const void *a, const void *b)
{
	const struct run_row *x = a, *y = b;
	return compare_series(x, y) ?: SS_CMP(x->time_ns, y->time_ns) ?: SS_CMP(x->id, y->id);
}

/* The runs that are asked about, each held once, whatever the number of metrics. */
static bool read_runs(struct reading *r, struct ss_err *err)
{
	struct ss_own_query q;
	struct ss_arena *a = r->out->arena;
	bool row = true, ok = ss_own_prepare(&q, &r->t->db,
					     "SELECT id, time_ns, path, device_type, device_count, program FROM run", err);
	while (ok && (ok = ss_own_next(&q, &row, err)) && row) {
		if (!is_wanted(r, ss_own_i64(&q, 0)))
			continue;
		struct run_row v = { ss_own_i64(&q, 0),
				     ss_own_i64(&q, 1),
				     ss_arena_str(a, ss_own_text(&q, 2)),
				     ss_arena_str(a, ss_own_text(&q, 3)),
				     ss_arena_str(a, ss_own_text(&q, 4)),
				     ss_arena_str(a, ss_own_text(&q, 5)) };
		ok = (v.path.p && v.device.p && v.count.p && v.program.p && ss_vec_push(&r->runs, v)) || ss_fail_mem(err);
	}
	ss_own_end(&q);
	if (ok && r->runs.n)
		qsort(r->runs.v, r->runs.n, sizeof(*r->runs.v), by_series);
	r->sum->runs = r->runs.n;
	return ok;
}

/* The figure of a run, if it has one. */
static bool read_figure(struct reading *r, struct ss_own_query *q, const struct run_row *run, struct ss_err *err)
{
	bool row = false;
	ss_own_again(q);
	ss_own_bind_i64(q, 1, run->id);
	ss_own_bind_text(q, 2, r->metric);
	if (!ss_own_next(q, &row, err))
		return false;
	if (!row)
		return true;
	if (!r->series.n)
		r->unit = ss_arena_str(r->out->arena, ss_own_text(q, 2));
	struct point p = { run, ss_own_f64(q, 0), ss_own_f64(q, 1) };
	return (r->unit.p && ss_vec_push(&r->series, p)) || ss_fail_mem(err);
}

static bool read_metric(struct reading *r, struct ss_str metric, struct ss_err *err)
{
	struct ss_own_query q;
	const struct run_row *v = r->runs.v;
	bool ok = ss_own_prepare(&q, &r->t->db, "SELECT value, se, unit FROM figure WHERE run = ?1 AND metric = ?2", err);
	r->metric = metric;
	r->lower_is_worse = ss_str_is(metric, "steps_per_second");
	for (size_t i = 0; ok && i < r->runs.n; i++) {
		if (!i || compare_series(&v[i - 1], &v[i]) != 0) {
			ok = end_series(r) || ss_fail_mem(err);
			r->about = about_series(r->out->arena, &v[i]);
		}
		ok = ok && read_figure(r, &q, &v[i], err);
	}
	ss_own_end(&q);
	return ok && (end_series(r) || ss_fail_mem(err));
}

/* ---- words ---- */

/* A series of its own begins with another program, other shapes or other devices. */
static void say_short(struct reading *r)
{
	size_t n = r->sum->too_short;
	if (n)
		ss_result_say(r->out,
			      ss_arena_printf(r->out->arena,
					      "%zu series %s too short to judge: %d runs of one program and device are needed.",
					      n, n == 1 ? "is" : "are", 2 * SS_LEAST_SEGMENT));
}

static bool say(struct reading *r)
{
	const struct ss_table *t = r->changes;
	struct ss_arena *a = r->out->arena;
	if (r->sum->longest < 2 * SS_LEAST_SEGMENT) {
		ss_result_say(r->out,
			      ss_arena_printf(a,
					      "Too few runs to find a change: %zu of one program and device, and %d are needed.",
					      r->sum->longest, 2 * SS_LEAST_SEGMENT));
		return true;
	}
	if (!t->nrows) {
		ss_result_say(r->out, ss_arena_printf(a, "No change in %zu runs.", r->sum->runs));
		say_short(r);
		return true;
	}
	/* The latest first. */
	for (size_t i = t->nrows; i-- > 0 && r->out->conclusion.nmore + 1 < SS_CONCLUSION_MORE;) {
		struct ss_str metric = ss_cell_str(t, i, "metric"), commit = ss_cell_str(t, i, "label_commit"),
			      good = ss_cell_str(t, i, "last_good"), path = ss_cell_str(t, i, "path");
		double frac = ss_cell_f64(t, i, "delta_frac");
		struct ss_str s =
			ss_arena_printf(a,
					"%s " SS_FMT " %s by %.1f%% since run %lld%s" SS_FMT
					": compare 'stepscope diff " SS_FMT " " SS_FMT "'.",
					ss_cell_bool(t, i, "worse") ? "Worse:" : "Better:", SS_ARG(metric),
					frac > 0 ? "grew" : "fell", 100 * fabs(frac), (long long)ss_cell_i64(t, i, "run"),
					commit.n ? ", commit " : "", SS_ARG(commit), SS_ARG(good), SS_ARG(path));
		ss_result_say(r->out, s);
	}
	r->out->conclusion.mood = r->sum->worse_lately ? SS_MOOD_BAD : SS_MOOD_PLAIN;
	return true;
}

bool ss_track_result(struct ss_track *t, const struct ss_track_filter *f, size_t last, struct ss_result *out,
		     struct ss_track_change *sum, struct ss_err *err)
{
	static const struct ss_str defaults[] = { SS_STR_INIT("step_time"), SS_STR_INIT("mean_step_time"),
						  SS_STR_INIT("peak_memory") };
	const struct ss_str *metrics = f->nmetrics ? f->metrics : defaults;
	size_t nmetrics = f->nmetrics ? f->nmetrics : SS_COUNT(defaults);
	struct reading r = { .t = t, .f = f, .last = last, .out = out, .sum = sum };
	*sum = (struct ss_track_change){ 0 };
	bool ok = ss_result_table(out, "changes", "Changes", change_cols, SS_COUNT(change_cols)) &&
		  ss_result_table(out, "figures", "Figures of runs", figure_cols, SS_COUNT(figure_cols));
	ok = ok || ss_fail_mem(err);
	if (ok) {
		r.changes = &out->tables[out->ntables - 2];
		r.figures = &out->tables[out->ntables - 1];
	}
	/* One transaction: what others add meanwhile is not seen by halves. */
	bool begun = ok && ss_own_run(&t->db, "BEGIN", err);
	ok = begun && read_labels(&r, err) && read_runs(&r, err);
	for (size_t i = 0; ok && i < nmetrics; i++) {
		r.first_metric = i == 0;
		ok = read_metric(&r, metrics[i], err);
	}
	if (ok && f->nmetrics && !r.figures->nrows)
		ok = ss_fail(err, SS_ENODATA, "'%s' has no figure of this name and these labels", t->db.path);
	ok = ok && ((say(&r) && !out->arena->no_memory) || ss_fail_mem(err));
	if (begun)
		ss_own_run(&t->db, "ROLLBACK", NULL);
	ss_vec_free(&r.labels);
	ss_vec_free(&r.runs);
	ss_vec_free(&r.series);
	return ok;
}
