/*
 * chrome.c - trace.json for chrome://tracing and what else reads Chrome's trace events: every event of the files with the stats
 * of it and of its name, samples of counters, a process for each plane and a thread for each lane of a line.
 */
#include "export/lanes.h"
#include "base/buf.h"
#include "model/host/identity.h"
#include "model/model.h"
#include "sql/directory.h"

struct writer {
	struct ss_export *x;
	struct ss_out *o;
	bool any;
};

static void open_entry(struct writer *w, const char *phase, const struct ss_sql_line *line, uint64_t tid)
{
	ss_out_printf(w->o, "%s{\"ph\":\"%s\",\"pid\":%u,\"tid\":%llu", w->any ? ",\n" : "\n", phase, line->plane_at + 1u,
		      (unsigned long long)tid);
	w->any = true;
}

static void put_time(struct ss_out *o, const char *key, int64_t ps)
{
	ss_out_printf(o, ",\"%s\":", key);
	ss_out_us(o, ps < 0 ? 0 : (uint64_t)ps);
}

/* Whole numbers that a double cannot hold are texts. */
static void put_value(struct ss_out *o, const struct ss_xstat *s)
{
	const uint64_t exact = UINT64_C(1) << 53;
	bool small = s->kind == SS_X_UINT ? s->u <= exact : s->u + exact <= 2 * exact;
	if (s->kind == SS_X_DOUBLE) {
		ss_out_f64(o, ss_pb_double(s->u));
	} else if (s->kind == SS_X_INT || s->kind == SS_X_UINT) {
		ss_out_z(o, small ? "" : "\"");
		if (s->kind == SS_X_INT)
			ss_out_i64(o, (int64_t)s->u);
		else
			ss_out_u64(o, s->u);
		ss_out_z(o, small ? "" : "\"");
	} else {
		ss_out_json_str(o, s->kind == SS_X_STR ? s->s : SS_STR("<opaque bytes>"));
	}
}

static void put_stats(struct ss_out *o, const struct ss_xplane *x, struct ss_xstats it, bool *any)
{
	struct ss_xstat s;
	while (ss_xstats_next(&it, &s)) {
		if (s.meta == SS_NONE || s.kind == SS_X_NONE)
			continue;
		ss_out_z(o, *any ? "," : "");
		ss_out_json_str(o, x->stat_meta[s.meta].name);
		ss_out_char(o, ':');
		put_value(o, &s);
		*any = true;
	}
}

/* If both have a key, the event's counts: readers take the last. */
static void put_args(struct ss_out *o, const struct ss_sql_line *line, uint32_t i)
{
	const struct ss_xplane *x = line->plane->x;
	bool any = false;
	ss_out_lit(o, ",\"args\":{");
	if (ss_event_display_name(line->plane, line->l.ev.meta[i]).n) {
		ss_out_lit(o, "\"long_name\":");
		ss_out_json_str(o, ss_event_name(line->plane, line->l.ev.meta[i]));
		any = true;
	}
	put_stats(o, x, ss_xevent_meta_stats(x, line->l.ev.meta[i]), &any);
	put_stats(o, x, ss_xevents_stats(&line->l.ev, x, line->l.src, i), &any);
	ss_out_lit(o, "}}");
}

static void put_name(struct ss_out *o, const struct ss_sql_line *line, uint32_t i)
{
	struct ss_str name = ss_event_label(line->plane, line->l.ev.meta[i]);
	ss_out_lit(o, ",\"name\":");
	ss_out_json_str(o, name.n ? name : SS_STR("(no name)"));
}

static void put_event(struct writer *w, const struct ss_sql_line *line, uint32_t i, uint64_t tid)
{
	open_entry(w, "X", line, tid);
	put_time(w->o, "ts", ss_sql_start_ps(line, i));
	put_time(w->o, "dur", ss_safe_sum(ss_sql_end_ps(line, i), -ss_sql_start_ps(line, i)));
	put_name(w->o, line, i);
	put_args(w->o, line, i);
	w->x->nevents++;
}

static void put_meta(struct writer *w, const struct ss_sql_line *line, uint64_t tid, const char *what, struct ss_str name,
		     unsigned lane)
{
	open_entry(w, "M", line, tid);
	ss_out_printf(w->o, ",\"name\":\"%s_name\",\"args\":{\"name\":\"", what);
	ss_out_json_escaped(w->o, name);
	if (lane)
		ss_out_printf(w->o, " (%u)", lane + 1);
	ss_out_lit(w->o, "\"}}");
	open_entry(w, "M", line, tid);
	ss_out_printf(w->o, ",\"name\":\"%s_sort_index\",\"args\":{\"sort_index\":%llu}}", what,
		      (unsigned long long)(tid ? tid : line->plane_at));
}

/* Events that fit into no lane go into one extra lane, where viewers draw them over each other. */
static bool put_line(struct writer *w, struct ss_sql_line *line, uint32_t at)
{
	struct ss_lanes l;
	if (!ss_lanes_of(&l, w->x, line))
		return false;
	for (unsigned lane = 0; lane < l.n + (l.nleft_out > 0); lane++) {
		uint64_t tid = (uint64_t)at * (SS_EXPORT_LANES + 1) + lane + 1;
		uint8_t which = (uint8_t)(lane < l.n ? lane : SS_EXPORT_NO_LANE);
		put_meta(w, line, tid, "thread", ss_sql_line_name(line), lane);
		for (uint32_t k = l.lo; k < l.hi; k++)
			if (l.of[k - l.lo] == which)
				put_event(w, line, ss_sql_in_time(line, k), tid);
	}
	ss_lanes_free(&l);
	return true;
}

static bool put_counters(struct writer *w, struct ss_sql_line *line)
{
	uint32_t lo, hi;
	double v;
	if (!ss_export_range(w->x, line, &lo, &hi))
		return false;
	for (uint32_t k = lo; k < hi; k++) {
		uint32_t i = ss_sql_in_time(line, k);
		bool number = ss_export_counter(line, i, &v);
		open_entry(w, number ? "C" : "i", line, 0);
		put_time(w->o, "ts", ss_sql_start_ps(line, i));
		put_name(w->o, line, i);
		if (number) {
			ss_out_lit(w->o, ",\"args\":{\"value\":");
			ss_out_f64(w->o, v);
			ss_out_lit(w->o, "}}");
		} else {
			put_args(w->o, line, i);
		}
		w->x->nevents++;
	}
	return true;
}

static void put_process(struct writer *w, const struct ss_sql_line *line)
{
	struct ss_buf name = { 0 };
	if (w->x->model->nhosts > 1) {
		ss_buf_str(&name, ss_host_name(line->host));
		ss_buf_char(&name, ' ');
	}
	ss_buf_str(&name, line->plane->name);
	put_meta(w, line, 0, "process", name.no_memory ? line->plane->name : ss_buf_get(&name), 0);
	ss_buf_free(&name);
}

static bool write(struct ss_export *x, struct ss_out *o, struct ss_err *err)
{
	struct writer w = { .x = x, .o = o };
	uint32_t plane = SS_NONE;
	bool ok = true;
	ss_out_lit(o, "{\"displayTimeUnit\":\"ns\",\"metadata\":{\"highres-ticks\":true,\"exporter\":\"stepscope " SS_VERSION
		      "\",\"run\":");
	ss_out_json_str(o, x->name);
	ss_out_lit(o, "},\"traceEvents\":[");
	for (uint32_t k = 0; ok && k < x->d->nlines; k++) {
		struct ss_sql_line *line = &x->d->lines[k];
		if (!ss_export_takes(x, line))
			continue;
		if (plane != line->plane_at)
			put_process(&w, line);
		plane = line->plane_at;
		ok = ss_str_is(line->l.name, "_counters_") ? put_counters(&w, line) : put_line(&w, line, k);
	}
	ss_out_lit(o, "\n]}\n");
	return ok || ss_fail_mem(err);
}

const struct ss_export_format ss_export_chrome = {
	.name = "chrome",
	.doc = "trace.json, for chrome://tracing",
	.write = write,
};
