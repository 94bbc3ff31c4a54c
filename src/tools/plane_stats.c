/*
 * plane_stats.c - what is in this profile: lines, events and summed event time of each plane.
 *
 * `busy_ps` is the plain sum of event durations: nested and concurrent events count more than once,
 * so it can exceed the length of the profile. It answers "where is the data", not "how busy was the
 * device".
 */
#include "model/host/host.h"
#include "model/host/plane.h"
#include "model/model.h"
#include "model/timeline/plane_sums.h"
#include "table/units.h"
#include "tools/tool.h"

enum { COL_HOST, COL_PLANE, COL_LINES, COL_EVENTS, COL_BUSY_PS, COL_DROPPED };

static const struct ss_col cols[] = {
	STR("host", "Host", NULL),
	STR("plane", "Plane", "Device, host thread pool or metadata that holds the events"),
	INT("lines", "Lines", COUNT, "Threads, streams or units of the plane, including derived lines"),
	INT("events", "Events", COUNT, NULL),
	INT("busy_ps", "Summed event time", PS, "Sum of all durations; nested events count more than once"),
	INT("dropped", "Unreadable events", COUNT, NULL),
};

static void add_plane(struct ss_table *t, struct ss_str host, struct ss_str plane, const struct ss_plane_sum *s)
{
	ss_table_row(t);
	ss_set_str(t, COL_HOST, host);
	ss_set_str(t, COL_PLANE, plane);
	ss_set_i64(t, COL_LINES, (int64_t)s->lines);
	ss_set_i64(t, COL_EVENTS, (int64_t)s->events);
	ss_set_i64(t, COL_BUSY_PS, (int64_t)s->busy_ps);
	ss_set_i64(t, COL_DROPPED, (int64_t)s->dropped);
}

struct plane_rows {
	struct ss_model *m;
	struct ss_table *t;
};

static bool read_host(void *arg, size_t i, struct ss_host *h, struct ss_err *err)
{
	(void)arg;
	(void)i;
	return ss_host_plane_sums(h, err) != NULL;
}

static bool take_host(void *arg, size_t i, struct ss_host *h, struct ss_err *err)
{
	struct plane_rows *j = arg;
	const struct ss_plane_sum *sums = ss_host_plane_sums(h, err);
	for (uint32_t k = 0; sums && k < h->nplanes; k++)
		add_plane(j->t, j->m->hosts[i]->name, h->planes[k].name, &sums[k]);
	return sums;
}

static bool run(const struct ss_request *q, struct ss_result *out, struct ss_err *err)
{
	struct plane_rows j = { .m = q->model, .t = ss_result_table(out, "planes", "Planes", cols, SS_COUNT(cols)) };
	const struct ss_visit visit = { .read = read_host, .take = take_host, .arg = &j };
	if (!j.t)
		return ss_fail_mem(err);
	if (!ss_tool_visit(q, out, &visit, err))
		return false;
	ss_table_sort_naturally(j.t, "host", NULL);
	return true;
}

/* Is there anything of a device, where are most events, was anything lost? */
static bool conclude(const struct ss_request *q, struct ss_result *out, struct ss_err *err)
{
	(void)err;
	const struct ss_table *t = ss_result_at(out, 0);
	double events = 0, max = 0;
	int64_t dropped = 0;
	size_t largest = 0, ndevices = 0;
	for (size_t i = 0; i < t->nrows; i++) {
		double n = ss_cell_f64(t, i, "events");
		events += n;
		dropped += ss_cell_i64(t, i, "dropped");
		ndevices += n > 0 && ss_str_contains(ss_cell_str(t, i, "plane"), SS_STR("/device:"));
		if (n > max) {
			max = n;
			largest = i;
		}
	}
	if (!(events > 0)) {
		ss_result_say(out, SS_STR("The profile holds no events: nothing was traced."));
		return true;
	}
	struct ss_str share = ss_unit_text(q->arena, SS_UNIT_FRAC, max / events), host = ss_cell_str(t, largest, "host");
	struct ss_str of = q->model->nhosts > 1 ? ss_arena_printf(q->arena, " of '" SS_FMT "'", SS_ARG(host)) : SS_STR("");
	ss_result_say(out, ss_arena_printf(q->arena, "%.0f event%s in %zu plane%s, " SS_FMT " of them in '" SS_FMT "'" SS_FMT ".",
					   events, events > 1 ? "s" : "", t->nrows, t->nrows == 1 ? "" : "s", SS_ARG(share),
					   SS_ARG(ss_cell_str(t, largest, "plane")), SS_ARG(of)));
	ss_result_say(out, ndevices ? ss_arena_printf(q->arena, "%zu device plane%s hold%s events.", ndevices,
						      ndevices == 1 ? "" : "s", ndevices == 1 ? "s" : "") :
				      SS_STR("No device plane holds events: only the host was traced."));
	if (dropped) {
		out->conclusion.mood = SS_MOOD_WARN;
		ss_result_say(out, ss_arena_printf(q->arena, "%lld event%s could not be read.", (long long)dropped,
						   dropped == 1 ? "" : "s"));
	}
	return true;
}

const struct ss_tool ss_tool_plane_stats = {
	.name = "plane_stats",
	.title = "Plane stats",
	.summary = "Lines, events and summed event time of each plane",
	.kind = SS_KIND_TABLES,
	.flags = SS_TOOL_ALL_HOSTS | SS_TOOL_OURS | SS_TOOL_VISITS | SS_TOOL_OF_PARTS,
	.run = run,
	.conclude = conclude,
};
