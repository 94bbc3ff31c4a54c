/*
 * launches.c - what the calls cost that start work on GPUs, how long the work then waits, and how
 * long the queues of streams get.
 *
 * A call counts if what it started is in the trace; one graph launch starts many kernels. Delay:
 * from the end of the call to the begin of the first thing it started, 0 where that began during
 * the call. A launch is short where the device works less than the call takes. The queue of a
 * stream holds what was asked for and has not begun; a GPU holds 1024 of them, then the host waits.
 */
#include "tools/torch_tool.h"
#include "tools/words.h"

enum { S_KIND, S_LAUNCHES, S_EVENTS, S_CPU, S_DEVICE, S_DELAY, S_DELAY_MAX, S_SHORT, S_COLS };

static const struct ss_col summary_cols[S_COLS] = {
	STR("kind", "Kind", "Kind of the first operation that the call started; graph: a CUDA graph"),
	INT("launches", "Launches", COUNT, NULL),
	INT("device_events", "Started", COUNT, "Kernels, copies and fills that the calls started"),
	NUM("cpu_total_us", "Time of the calls", US, NULL),
	NUM("device_total_us", "Time on devices", US, NULL),
	NUM("delay_avg_us", "Mean delay", US, "Mean time from the end of the call until the device begins"),
	NUM("delay_max_us", "Longest delay", US, NULL),
	INT("short", "Short", COUNT, "Calls that take longer than the work that they started"),
};

enum { Q_DEVICE, Q_STREAM, Q_LAUNCHES, Q_LENGTH, Q_COLS };

static const struct ss_col queue_cols[Q_COLS] = {
	INT("device", "Device", NONE, NULL),
	INT("stream", "Stream", NONE, NULL),
	INT("launches", "Started by calls", COUNT, "Kernels, copies and fills"),
	INT("max_length", "Longest queue", COUNT, "Largest number of operations that were launched but had not begun"),
};

enum { GRAPH, KERNEL, MEMCPY, MEMSET, KINDS };

struct sum {
	int64_t launches, events, cpu_ns, device_ns, delay_ns, delay_max_ns, brief;
};

static size_t kind_of(const struct ss_torch *t, const struct ss_torch_call *c, const struct ss_torch_device_event *first)
{
	if (ss_str_contains(ss_torch_text(t, c->name), SS_STR("GraphLaunch")))
		return GRAPH;
	return first->kind == SS_TORCH_MEMCPY ? MEMCPY : first->kind == SS_TORCH_MEMSET ? MEMSET : KERNEL;
}

static void add_call(const struct ss_torch *t, const struct ss_torch_call *c, struct sum *sums)
{
	const uint32_t *of = &t->by_call.v[c->first];
	const struct ss_torch_device_event *first = &t->device.v[of[0]];
	int64_t device_ns = 0, cpu_ns = c->end_ns - c->begin_ns;
	for (uint32_t i = 0; i < c->ndevice; i++) {
		const struct ss_torch_device_event *e = &t->device.v[of[i]];
		device_ns += e->end_ns - e->begin_ns;
		first = e->begin_ns < first->begin_ns ? e : first;
	}
	struct sum *s = &sums[kind_of(t, c, first)];
	int64_t delay_ns = first->begin_ns > c->end_ns ? first->begin_ns - c->end_ns : 0;
	s->launches++;
	s->events += c->ndevice;
	s->cpu_ns += cpu_ns;
	s->device_ns += device_ns;
	s->delay_ns += delay_ns;
	s->delay_max_ns = delay_ns > s->delay_max_ns ? delay_ns : s->delay_max_ns;
	s->brief += device_ns < cpu_ns;
}

static void add_summary(struct ss_result *out, const struct ss_torch *t)
{
	static const char *const names[KINDS] = { "graph", "kernel", "memcpy", "memset" };
	struct ss_table *table = ss_result_table(out, "summary", "Launches", summary_cols, S_COLS);
	struct sum sums[KINDS] = { { 0 } };
	for (size_t i = 0; i < t->calls.n; i++)
		if (t->calls.v[i].ndevice)
			add_call(t, &t->calls.v[i], sums);
	for (size_t k = 0; k < KINDS; k++) {
		const struct sum *s = &sums[k];
		if (!s->launches)
			continue;
		ss_table_row(table);
		ss_set_str(table, S_KIND, ss_str_from(names[k]));
		ss_set_i64(table, S_LAUNCHES, s->launches);
		ss_set_i64(table, S_EVENTS, s->events);
		ss_set_f64(table, S_CPU, ss_us(s->cpu_ns));
		ss_set_f64(table, S_DEVICE, ss_us(s->device_ns));
		ss_set_f64(table, S_DELAY, ss_us(s->delay_ns) / (double)s->launches);
		ss_set_f64(table, S_DELAY_MAX, ss_us(s->delay_max_ns));
		ss_set_i64(table, S_SHORT, s->brief);
	}
}

/* ---- queues ---- */

struct change {
	int64_t time_ns, stream;
	int32_t device;
	int32_t by; /* 1: asked for, -1: begun */
};

static int by_stream(const void *a, const void *b)
{
	const struct change *x = a, *y = b;
	return SS_CMP(x->device, y->device) ?: SS_CMP(x->stream, y->stream) ?: SS_CMP(x->time_ns, y->time_ns) ?: y->by - x->by;
}

static void put_queue(struct ss_table *table, const struct change *c, int64_t launches, int64_t longest)
{
	ss_table_row(table);
	ss_set_i64(table, Q_DEVICE, c->device);
	ss_set_i64(table, Q_STREAM, c->stream);
	ss_set_i64(table, Q_LAUNCHES, launches);
	ss_set_i64(table, Q_LENGTH, longest);
}

static void fill_queues(struct ss_table *table, const struct change *v, size_t n)
{
	for (size_t i = 0, end; i < n; i = end) {
		int64_t length = 0, longest = 0, launches = 0;
		for (end = i; end < n && v[end].device == v[i].device && v[end].stream == v[i].stream; end++) {
			length += v[end].by;
			launches += v[end].by > 0;
			longest = length > longest ? length : longest;
		}
		put_queue(table, &v[i], launches, longest);
	}
}

static bool add_queues(struct ss_result *out, const struct ss_torch *t)
{
	struct ss_table *table = ss_result_table(out, "queue", "Queues of streams", queue_cols, Q_COLS);
	struct change *v = malloc((2 * t->device.n + 1) * sizeof(*v));
	size_t n = 0;
	bool ok = v;
	for (size_t i = 0; ok && i < t->device.n; i++) {
		const struct ss_torch_device_event *e = &t->device.v[i];
		if (e->call == SS_NONE)
			continue;
		v[n++] = (struct change){ t->calls.v[e->call].begin_ns, e->stream, e->device, 1 };
		v[n++] = (struct change){ e->begin_ns, e->stream, e->device, -1 };
	}
	if (ok && n)
		qsort(v, n, sizeof(*v), by_stream);
	fill_queues(table, v, n);
	free(v);
	return ok;
}

static bool run(const struct ss_request *q, struct ss_result *out, struct ss_err *err)
{
	const struct ss_torch *t = ss_torch_asked(q, out, err);
	if (!t)
		return false;
	add_summary(out, t);
	bool ok = add_queues(out, t);
	if (ok && t->is_torch && !t->device.n)
		ss_result_note(out, SS_INFO, SS_STR("No GPU activity was recorded: profile with "
						    "activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]"));
	return ok || ss_fail_mem(err);
}

/*
 * How long launching takes, how long what was launched then waits, and which calls cost more than
 * what they start.
 */
static bool conclude(const struct ss_request *q, struct ss_result *out, struct ss_err *err)
{
	(void)err;
	const struct ss_table *t = ss_result_find(out, "summary");
	struct ss_greatest top = ss_greatest_row(t, "launches", NULL, NULL),
			   most = ss_greatest_row(t, "short", NULL, NULL);
	(void)q;
	if (top.row == SS_NPOS)
		return true;
	ss_say(out,
	       "The host spends %s in %s to launch work ('" SS_FMT
	       "'); the device then begins after %s on average, "
	       "%s at most.",
	       ss_value_words(SS_UNIT_US, ss_cell_f64(t, top.row, "cpu_total_us")).s,
	       ss_count_words(top.value, "call").s, SS_ARG(ss_cell_str(t, top.row, "kind")),
	       ss_value_words(SS_UNIT_US, ss_cell_f64(t, top.row, "delay_avg_us")).s,
	       ss_value_words(SS_UNIT_US, ss_cell_f64(t, top.row, "delay_max_us")).s);
	if (most.row != SS_NPOS)
		ss_say(out,
		       "%.0f of all %.0f calls that launch work take longer than the work "
		       "that they start.",
		       most.sum, top.sum);
	return true;
}

const struct ss_tool ss_tool_launches = {
	.name = "launches",
	.title = "Launches",
	.summary =
		"Cost of launches, delays until the device begins, queues of streams",
	.kind = SS_KIND_TABLES,
	.flags = SS_TOOL_OURS,
	.present = ss_host_is_torch,
	.needs = SS_NEEDS_CALLS | SS_NEEDS_DEVICE_WORK,
	.missing = "no call of the recording names the kernel or the copy that it starts",
	.run = run,
	.conclude = conclude,
};
