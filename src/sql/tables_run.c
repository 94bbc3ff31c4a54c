/* tables_run.c - what is in the profile: hosts, planes, lines, steps, counters, allocations. */
#include "model/runtime/memory.h"
#include "model/model.h"

#include "model/host/identity.h"
#include "sql/directory.h"
#include "sql/engine.h"
#include "table/cols.h"

#include <math.h>

static struct ss_str host_name(const struct ss_sql_directory *d, uint32_t at)
{
	return ss_host_name(d->model->hosts[at]);
}

static bool out_of_memory(struct ss_err *err)
{
	return ss_fail_mem(err);
}

/* ---- hosts, planes, lines ---- */

static const struct ss_col host_cols[] = {
	STR("host", "Host", "Name of the file, without its ending"),
	INT("planes", "Planes", COUNT, NULL),
	INT("lines", "Lines", COUNT, NULL),
	INT("events", "Events", COUNT, NULL),
};

static bool fill_hosts(struct ss_sql *s, struct ss_table *t, struct ss_err *err)
{
	const struct ss_sql_directory *d = ss_sql_events(s);
	for (uint32_t h = 0; d && h < d->model->nhosts; h++) {
		uint64_t planes = 0, lines = 0, events = 0;
		for (uint32_t p = 0; p < d->nplanes; p++)
			if (d->planes[p].host_at == h) {
				planes++;
				lines += d->planes[p].nlines;
				events += d->planes[p].nevents;
			}
		ss_table_row(t);
		ss_set_str(t, 0, host_name(d, h));
		ss_set_i64(t, 1, (int64_t)planes);
		ss_set_i64(t, 2, (int64_t)lines);
		ss_set_i64(t, 3, (int64_t)events);
	}
	return d || ss_fail(err, s->err.code, "%s", s->err.text);
}

const struct ss_sql_made ss_sql_made_hosts = { "hosts", host_cols, SS_COUNT(host_cols), fill_hosts,
					       "a file of the run" };

static const struct ss_col plane_cols[] = {
	STR("host", "Host", NULL),
	INT("plane_id", "Plane id", NONE, NULL),
	STR("plane", "Plane", "Name of the plane: a device, or the host"),
	INT("lines", "Lines", COUNT, NULL),
	INT("events", "Events", COUNT, NULL),
};

static bool fill_planes(struct ss_sql *s, struct ss_table *t, struct ss_err *err)
{
	const struct ss_sql_directory *d = ss_sql_events(s);
	for (uint32_t p = 0; d && p < d->nplanes; p++) {
		ss_table_row(t);
		ss_set_str(t, 0, host_name(d, d->planes[p].host_at));
		ss_set_i64(t, 1, d->planes[p].plane->x->id);
		ss_set_str(t, 2, d->planes[p].plane->name);
		ss_set_i64(t, 3, d->planes[p].nlines);
		ss_set_i64(t, 4, (int64_t)d->planes[p].nevents);
	}
	return d || ss_fail(err, s->err.code, "%s", s->err.text);
}

const struct ss_sql_made ss_sql_made_planes = { "planes", plane_cols, SS_COUNT(plane_cols),
						fill_planes, "a plane: a device, or the host" };

static const struct ss_col line_cols[] = {
	STR("host", "Host", NULL),
	STR("plane", "Plane", NULL),
	INT("line_id", "Line id", NONE, NULL),
	STR("line", "Line", "Displayed name: a thread, a stream, XLA Ops"),
	INT("events", "Events", COUNT, NULL),
	INT("first_ps", "First", PS, "Begin of the earliest event"),
	INT("last_ps", "Last", PS, "Latest end of an event"),
	INT("sum_ps", "Sum", PS, "Sum of all durations"),
};

static bool fill_lines(struct ss_sql *s, struct ss_table *t, struct ss_err *err)
{
	const struct ss_sql_directory *d = ss_sql_events(s);
	for (uint32_t k = 0; d && k < d->nlines; k++) {
		const struct ss_sql_line *line = &d->lines[k];
		int64_t first = INT64_MAX, last = INT64_MIN, sum = 0;
		if (!line->l.ev.n)
			continue;
		for (uint32_t i = 0; i < line->l.ev.n; i++) {
			int64_t start = ss_sql_start_ps(line, i), end = ss_sql_end_ps(line, i);
			first = start < first ? start : first;
			last = end > last ? end : last;
			sum = ss_safe_sum(sum, (int64_t)line->l.ev.dur_ps[i]);
		}
		ss_table_row(t);
		ss_set_str(t, 0, ss_host_name(line->host));
		ss_set_str(t, 1, line->plane->name);
		ss_set_i64(t, 2, line->l.id);
		ss_set_str(t, 3, ss_sql_line_name(line));
		ss_set_i64(t, 4, line->l.ev.n);
		ss_set_i64(t, 5, first);
		ss_set_i64(t, 6, last);
		ss_set_i64(t, 7, sum);
	}
	return d || ss_fail(err, s->err.code, "%s", s->err.text);
}

const struct ss_sql_made ss_sql_made_lines = { "lines", line_cols, SS_COUNT(line_cols), fill_lines,
					       "a line with events: a thread, a stream" };

/* ---- steps ---- */

static const struct ss_col step_cols[] = {
	STR("host", "Host", NULL),	     STR("plane", "Plane", NULL),
	STR("name", "Name", NULL),	     INT("step", "Step", NONE, "The digits of the name"),
	INT("start_ps", "Start", PS, NULL),  INT("end_ps", "End", PS, NULL),
	INT("dur_ps", "Duration", PS, NULL),
};

static int64_t digits_of(struct ss_str name)
{
	int64_t v = SS_SQL_NULL;
	for (size_t i = 0; i < name.n; i++) {
		int64_t digit = name.p[i] - '0';
		if (digit < 0 || digit > 9)
			continue;
		if (v == SS_SQL_NULL)
			v = digit;
		else if (__builtin_mul_overflow(v, 10, &v) || __builtin_add_overflow(v, digit, &v))
			return SS_SQL_NULL;
	}
	return v;
}

static bool put_step(struct ss_table *t, const struct ss_sql_line *line, uint32_t i)
{
	struct ss_str name = ss_event_name_in_file(line->plane, line->l.ev.meta[i]);
	ss_table_row(t);
	ss_set_str(t, 0, ss_host_name(line->host));
	ss_set_str(t, 1, line->plane->name);
	ss_set_str(t, 2, name);
	ss_set_i64(t, 3, digits_of(name));
	ss_set_i64(t, 4, ss_sql_start_ps(line, i));
	ss_set_i64(t, 5, ss_sql_end_ps(line, i));
	ss_set_i64(t, 6, (int64_t)line->l.ev.dur_ps[i]);
	return true;
}

static bool fill_steps(struct ss_sql *s, struct ss_table *t, struct ss_err *err)
{
	const struct ss_sql_directory *d = ss_sql_events(s);
	for (uint32_t k = 0; d && k < d->nlines; k++) {
		const struct ss_sql_line *line = &d->lines[k];
		bool steps = ss_str_is(ss_sql_line_name(line), "Steps") &&
			     ss_str_starts(line->plane->name, SS_STR("/device:"));
		for (uint32_t i = 0; steps && i < line->l.ev.n; i++)
			if (!put_step(t, line, i))
				return out_of_memory(err);
	}
	return d || ss_fail(err, s->err.code, "%s", s->err.text);
}

const struct ss_sql_made ss_sql_made_steps = { "steps", step_cols, SS_COUNT(step_cols), fill_steps,
					       "a step of a device: an event of its line Steps" };

/* ---- counters ---- */

static const struct ss_col counter_cols[] = {
	STR("host", "Host", NULL),   STR("plane", "Plane", NULL),
	STR("line", "Line", NULL),   STR("name", "Name", "Name of the counter"),
	INT("ps", "Time", PS, NULL), NUM("value", "Value", NONE, NULL),
};

static double number_of(const struct ss_xstat *s)
{
	return s->kind == SS_X_DOUBLE ? ss_pb_double(s->u)
	       : s->kind == SS_X_INT  ? (double)(int64_t)s->u
	       : s->kind == SS_X_UINT ? (double)s->u
				      : NAN;
}

/*
 * A sample's value: of a line of counters the first number, elsewhere the stat counter_value. NaN:
 * it is none.
 */
static double counter_value(const struct ss_sql_line *line, uint32_t i, bool counters)
{
	struct ss_xstats it = ss_xevents_stats(&line->l.ev, line->plane->x, line->l.src, i);
	struct ss_xstat s;
	while (ss_xstats_next(&it, &s))
		if ((counters || s.stat == SS_STAT_COUNTER_VALUE) && !isnan(number_of(&s)))
			return number_of(&s);
	return NAN;
}

static bool put_counter(struct ss_table *t, const struct ss_sql_line *line, uint32_t i,
			double value)
{
	ss_table_row(t);
	ss_set_str(t, 0, ss_host_name(line->host));
	ss_set_str(t, 1, line->plane->name);
	ss_set_str(t, 2, ss_sql_line_name(line));
	ss_set_str(t, 3, ss_event_name_in_file(line->plane, line->l.ev.meta[i]));
	ss_set_i64(t, 4, ss_sql_start_ps(line, i));
	ss_set_f64(t, 5, value);
	return true;
}

static bool fill_counters(struct ss_sql *s, struct ss_table *t, struct ss_err *err)
{
	const struct ss_sql_directory *d = ss_sql_events(s);
	for (uint32_t k = 0; d && k < d->nlines; k++) {
		const struct ss_sql_line *line = &d->lines[k];
		bool counters = ss_str_is(line->l.name, "_counters_");
		if (!counters && !ss_xplane_has(line->plane->x, SS_STAT_COUNTER_VALUE))
			continue;
		for (uint32_t i = 0; i < line->l.ev.n; i++) {
			double value = counter_value(line, i, counters);
			if (!isnan(value) && !put_counter(t, line, i, value))
				return out_of_memory(err);
			if (i % 4096 == 0 && !ss_sql_go_on(s))
				return ss_fail(err, SS_EBUSY, "time is up");
		}
	}
	return d || ss_fail(err, s->err.code, "%s", s->err.text);
}

const struct ss_sql_made ss_sql_made_counters = { "counters", counter_cols, SS_COUNT(counter_cols),
						  fill_counters, "a sample of a counter" };

/* ---- memory_events ---- */

static const struct ss_col memory_cols[] = {
	STR("host", "Host", NULL),
	STR("allocator", "Allocator", NULL),
	STR("kind", "Kind", "allocation or deallocation"),
	INT("ps", "Time", PS, NULL),
	INT("bytes", "Bytes", BYTES, "Bytes as the allocator rounds them"),
	INT("address", "Address", HEX, NULL),
	STR("region", "Region", "Its type"),
	STR("tf_op", "Operation", NULL),
	STR("hlo_op", "HLO operation", NULL),
};

static struct ss_str or_null(struct ss_str s)
{
	return s.n ? s : SS_SQL_NO_TEXT;
}

static bool put_memory_event(struct ss_sql *s, struct ss_table *t, const struct ss_host *h,
			     const struct ss_memory *m, const struct ss_mem_allocator *a,
			     uint32_t i, const struct ss_clock_map *clock)
{
	const struct ss_mem_event *e = &a->events[i];
	const struct ss_line *line = &m->plane->lines[e->line];
	struct ss_mem_details d;
	struct ss_xstat op;
	if (!ss_mem_details(m, a, i, &s->arena, &d))
		return false;
	ss_table_row(t);
	ss_set_str(t, 0, ss_host_name(h));
	ss_set_str(t, 1, a->id);
	ss_set_str(t, 2, e->freed ? SS_STR("deallocation") : SS_STR("allocation"));
	ss_set_i64(t, 3, ss_clock_shown(clock, e->time_ps));
	ss_set_i64(t, 4, e->bytes);
	ss_set_i64(t, 5, a->unaddressed ? SS_SQL_NULL : (int64_t)e->address);
	ss_set_str(t, 6, or_null(d.region_type));
	ss_set_str(t, 7, or_null(d.tf_op));
	bool has = line->ev.off &&
		   ss_xstats_find(ss_line_stats(m->plane, line, e->event), SS_STAT_HLO_OP, &op) &&
		   op.kind == SS_X_STR;
	ss_set_str(t, 8, has ? or_null(op.s) : SS_SQL_NO_TEXT);
	return true;
}

static bool fill_memory(struct ss_sql *s, struct ss_table *t, struct ss_err *err)
{
	const struct ss_sql_directory *d = ss_sql_events(s);
	for (size_t h = 0; d && h < s->model->nhosts; h++) {
		struct ss_host *host = s->model->hosts[h];
		struct ss_clock_map clock = { 0 };
		if (ss_host_is_raw(host))
			continue;
		for (uint32_t k = 0; k < d->nlines; k++)
			if (d->lines[k].host == host)
				clock = d->lines[k].clock;
		const struct ss_memory *m = ss_host_memory(host, err);
		if (!m)
			return false;
		for (uint32_t a = 0; a < m->nallocators; a++)
			for (uint32_t i = 0; i < m->allocators[a].n; i++)
				if (!put_memory_event(s, t, host, m, &m->allocators[a], i,
						      &clock))
					return out_of_memory(err);
	}
	return d || ss_fail(err, s->err.code, "%s", s->err.text);
}

const struct ss_sql_made ss_sql_made_memory_events = { "memory_events", memory_cols,
						       SS_COUNT(memory_cols), fill_memory,
						       "an allocation or deallocation" };

/* ---- run ---- */

static const struct ss_col run_cols[] = {
	STR("key", "Key", NULL),
	STR("value", "Value", NULL),
};

static bool put_fact(struct ss_table *t, const char *key, struct ss_str value)
{
	if (!value.p)
		return false;
	ss_table_row(t);
	ss_set_str(t, 0, ss_str_from(key));
	ss_set_str(t, 1, value);
	return true;
}

static bool put_number(struct ss_sql *s, struct ss_table *t, const char *key, int64_t v)
{
	return put_fact(t, key, ss_arena_printf(&s->arena, "%lld", (long long)v));
}

static bool fill_run(struct ss_sql *s, struct ss_table *t, struct ss_err *err)
{
	const struct ss_sql_directory *d = ss_sql_events(s);
	int64_t last_ps = 0, steps = 0;
	if (!d)
		return ss_fail(err, s->err.code, "%s", s->err.text);
	for (uint32_t k = 0; k < d->nlines; k++) {
		const struct ss_sql_line *line = &d->lines[k];
		for (uint32_t i = 0; i < line->l.ev.n; i++)
			last_ps =
				ss_sql_end_ps(line, i) > last_ps ? ss_sql_end_ps(line, i) : last_ps;
		if (ss_str_is(ss_sql_line_name(line), "Steps") &&
		    ss_str_starts(line->plane->name, SS_STR("/device:")))
			steps += line->l.ev.n;
	}
	bool ok = put_number(s, t, "origin_ns", d->origin_ns) &&
		  put_number(s, t, "profile_start_ns", d->origin_ns) &&
		  put_number(s, t, "profile_duration_ns", last_ps / 1000) &&
		  put_number(s, t, "hosts", (int64_t)d->model->nhosts) &&
		  put_number(s, t, "planes", d->nplanes) &&
		  put_number(s, t, "events", (int64_t)d->nevents) &&
		  put_number(s, t, "device_steps", steps) &&
		  put_fact(t, "stepscope_version", SS_STR(SS_VERSION)) &&
		  put_fact(t, "sqlite_version", ss_str_from(sqlite3_libversion()));
	return ok || out_of_memory(err);
}

const struct ss_sql_made ss_sql_made_run = { "run", run_cols, SS_COUNT(run_cols), fill_run,
					     "a fact of the run, as text" };
