/*
 * memory_snapshot.c - a memory snapshot of PyTorch, or a device memory profile of JAX: how full the
 * device is, of what, who had memory at the peak, what grew, and why memory ran out.
 *
 * Rules and definitions stand in model/runtime/snapshot.h and docs/tools/memory_snapshot.md. It
 * does not know the capacity of the device, which is not in the file, nor what other processes
 * hold.
 */
#include "table/units.h"
#include "model/model.h"

#include "tools/memory_snapshot_rows.h"
#include "tools/tool.h"

#include <stdlib.h>

extern const struct ss_tool ss_tool_memory_snapshot;

static const struct ss_param params[] = {
	{ "device", "number", NULL, "only this device" },
	{ "view", "allocator|tensor", "allocator",
	  "end of use: when the allocator may reuse the memory, or when the program released it" },
};

static bool replay(const struct ss_request *q, struct ss_snap_answer *a, struct ss_snap_device *devices, struct ss_err *err)
{
	bool tensors = ss_str_is(ss_request_param(q, &ss_tool_memory_snapshot, "view"), "tensor");
	struct ss_str asked = ss_request_param(q, &ss_tool_memory_snapshot, "device");
	uint64_t only = 0;
	if (asked.n && (!ss_str_to_u64(asked, &only) || only >= a->s->ndevices))
		return ss_fail(err, SS_ENOTFOUND, "the snapshot has no device '" SS_FMT "'; it has %u", SS_ARG(asked),
			       a->s->ndevices);
	for (uint32_t d = 0; d < a->s->ndevices; d++) {
		if (asked.n && d != only)
			continue;
		if (!ss_snap_replay(a->s, d, tensors, &devices[a->ndevices++]))
			return ss_fail_mem(err);
		/* Devices that were not used have an empty list. */
		const struct ss_snap_device *last = &devices[a->ndevices - 1];
		a->ndevices -= !asked.n && !last->nevents && !last->nsegments;
	}
	return true;
}

static int64_t first_time(const struct ss_snap_answer *a)
{
	int64_t first = INT64_MAX;
	for (size_t i = 0; i < a->ndevices; i++)
		if (a->devices[i].nevents && ss_snap_event(a->s, (uint32_t)a->devices[i].first_event)->time_us < first)
			first = ss_snap_event(a->s, (uint32_t)a->devices[i].first_event)->time_us;
	return first == INT64_MAX ? 0 : first;
}

static bool add_tables(struct ss_snap_answer *a)
{
	ss_snap_add_summary(a);
	if (a->s->jax)
		ss_snap_add_kinds(a);
	if (!ss_snap_add_timeline(a) || !ss_snap_add_by_whom(a) || !ss_snap_add_allocations(a) ||
	    !ss_snap_add_segments(a) || !ss_snap_add_blocks(a))
		return false;
	ss_snap_add_oom(a);
	return true;
}

static bool add_notes(const struct ss_snap_answer *a)
{
	const struct ss_snapshot *s = a->s;
	if (s->malformed)
		ss_result_note(
			a->out, SS_WARNING,
			ss_arena_printf(a->arena, "%llu records are malformed and left out", (unsigned long long)s->malformed));
	if (s->cut)
		ss_result_note(a->out, SS_WARNING, SS_STR("the file is truncated or damaged; the content before the damage is "
		    "shown"));
	if (s->stopped.n)
		ss_result_note(a->out, SS_WARNING, s->stopped);
	return true;
}

static bool run(const struct ss_request *q, struct ss_result *out, struct ss_err *err)
{
	if (q->model->nhosts != 1)
		return ss_fail(err, SS_EINVAL, "memory is shown for one file at a time: choose one of the %zu", q->model->nhosts);
	const struct ss_snapshot *s = ss_host_snapshot(q->model->hosts[0], err);
	if (!s)
		return false;
	struct ss_snap_device *devices = calloc(s->ndevices + 1, sizeof(*devices));
	struct ss_snap_answer a = { .out = out, .arena = q->arena, .s = s, .devices = devices };
	bool ok = devices ? replay(q, &a, devices, err) : ss_fail_mem(err);
	a.first_us = first_time(&a);
	ok = ok && ((add_tables(&a) && add_notes(&a)) || ss_fail_mem(err));
	for (size_t i = 0; devices && i < s->ndevices; i++)
		ss_snap_device_free(&devices[i]);
	free(devices);
	return ok;
}

/* ---- what it comes to ---- */

static const char *bytes(char text[32], double v)
{
	ss_format_value(text, 32, SS_UNIT_BYTES, v);
	return text;
}

/* The device that holds most; JAX's programs are on none. */
static size_t fullest(const struct ss_table *t, bool jax)
{
	size_t best = 0;
	for (size_t i = 1; i < t->nrows; i++) {
		bool named = ss_cell_str(t, i, "device_name").n, best_named = ss_cell_str(t, best, "device_name").n;
		if (jax && named != best_named ? named : ss_cell_f64(t, i, "peak_bytes") > ss_cell_f64(t, best, "peak_bytes"))
			best = i;
	}
	return best;
}

/* " on device 3", of a row; "" where the snapshot is of one device. */
static struct ss_str on_device(const struct ss_request *q, const struct ss_table *devices, const struct ss_table *t, size_t row)
{
	return devices->nrows > 1 ? ss_arena_printf(q->arena, " on device %lld", (long long)ss_cell_i64(t, row, "device"))
				  : SS_STR("");
}

static void say_oom(const struct ss_request *q, struct ss_result *out)
{
	const struct ss_table *t = ss_result_find(out, "oom");
	char wanted[32], held[32], used[32], left[32];
	if (!t->nrows)
		return;
	const size_t last = t->nrows - 1;
	struct ss_str on = on_device(q, ss_result_find(out, "summary"), t, last);
	out->conclusion.mood = SS_MOOD_BAD;
	ss_result_say(out, ss_arena_printf(q->arena,
					   "Memory ran out" SS_FMT ": PyTorch requested %s while it held %s (%s in use), and the "
					   "device had %s left. " SS_FMT,
					   SS_ARG(on),
					   bytes(wanted, ss_cell_f64(t, last, "wanted_bytes")),
					   bytes(held, ss_cell_f64(t, last, "reserved_bytes")),
					   bytes(used, ss_cell_f64(t, last, "allocated_bytes")),
					   bytes(left, ss_cell_f64(t, last, "device_free_bytes")),
					   SS_ARG(ss_cell_str(t, last, "verdict"))));
}

/* The largest row of the device: of a frame, or of allocations without a stack. */
static struct ss_str say_largest(const struct ss_request *q, const struct ss_table *frames, int64_t device, double max,
				 double before)
{
	char bytes_text[32], second[32];
	size_t k = 0;
	while (k < frames->nrows && ss_cell_i64(frames, k, "device") != device)
		k++;
	if (k >= frames->nrows || !(max > 0))
		return SS_STR("");
	double share = ss_cell_f64(frames, k, "peak_bytes");
	struct ss_str name = ss_cell_str(frames, k, "frame");
	if (!ss_str_is(name, "(no stack)"))
		return ss_arena_printf(q->arena, " The largest part, %s (%.0f%%), was requested by " SS_FMT ".",
				       bytes(bytes_text, share), 100 * share / max, SS_ARG(name));
	struct ss_str text =
		ss_arena_printf(q->arena, " %s of it (%.0f%%) has no stack%s.", bytes(bytes_text, share), 100 * share / max,
				share <= before ? ": it was allocated before the recording began" : "");
	bool next = k + 1 < frames->nrows && ss_cell_i64(frames, k + 1, "device") == device &&
		    ss_cell_f64(frames, k + 1, "peak_bytes") > 0;
	if (!next || !text.p)
		return text;
	return ss_arena_printf(q->arena, SS_FMT " The largest part after that, %s, was requested by " SS_FMT ".", SS_ARG(text),
			       bytes(second, ss_cell_f64(frames, k + 1, "peak_bytes")),
			       SS_ARG(ss_cell_str(frames, k + 1, "frame")));
}

static void say_peak(const struct ss_request *q, struct ss_result *out, const struct ss_table *t, size_t row)
{
	char peak[32];
	double max = ss_cell_f64(t, row, "peak_bytes");
	bool jax = ss_result_find(out, "kinds")->ncols;
	struct ss_str largest = say_largest(q, ss_result_find(out, "frames"), ss_cell_i64(t, row, "device"), max,
					    ss_cell_f64(t, row, "start_bytes"));
	struct ss_str on = on_device(q, t, t, row);
	ss_result_say(out, jax ? ss_arena_printf(q->arena, "%s are in use on " SS_FMT "." SS_FMT, bytes(peak, max),
						 SS_ARG(ss_cell_str(t, row, "device_name")), SS_ARG(largest))
			       : ss_arena_printf(q->arena, "Peak use" SS_FMT " was %s." SS_FMT, SS_ARG(on),
						 bytes(peak, max), SS_ARG(largest)));
}

static void say_held(const struct ss_request *q, struct ss_result *out, const struct ss_table *t, size_t row)
{
	double held = ss_cell_f64(t, row, "reserved_bytes"), unused = ss_cell_f64(t, row, "inactive_bytes");
	char a[32], b[32], c[32];
	if (!(held > 0) || ss_result_find(out, "kinds")->ncols || unused < 0.05 * held)
		return;
	struct ss_str on = on_device(q, t, t, row);
	ss_result_say(out,
		      ss_arena_printf(q->arena,
				      "At the end PyTorch holds %s of the device's memory" SS_FMT
				      " and does not use %s (%.0f%%) of it; the largest free block has %s.",
				      bytes(a, held), SS_ARG(on), bytes(b, unused), 100 * unused / held,
				      bytes(c, ss_cell_f64(t, row, "largest_inactive_block_bytes"))));
}

static void say_growth(const struct ss_request *q, struct ss_result *out)
{
	const struct ss_table *t = ss_result_find(out, "growth");
	char grown[32];
	if (!t->nrows)
		return;
	ss_result_say(out, ss_arena_printf(q->arena, "Memory of " SS_FMT " grew in every quarter of the time, by %s in all.",
					   SS_ARG(ss_cell_str(t, 0, "frame")), bytes(grown, ss_cell_f64(t, 0, "growth_bytes"))));
}

static bool conclude(const struct ss_request *q, struct ss_result *out, struct ss_err *err)
{
	(void)err;
	const struct ss_table *t = ss_result_find(out, "summary");
	if (!t->nrows)
		return true;
	size_t row = fullest(t, ss_result_find(out, "kinds")->ncols);
	say_oom(q, out);
	say_peak(q, out, t, row);
	say_held(q, out, t, row);
	say_growth(q, out);
	return true;
}

const struct ss_tool ss_tool_memory_snapshot = {
	.name = "memory_snapshot",
	.title = "Memory snapshot",
	.summary = "Owners of memory at the peak, growth, fragmentation and the cause of out-of-memory errors: PyTorch's "
	    "snapshots, JAX's memory profiles",
	.kind = SS_KIND_TABLES,
	.flags = SS_TOOL_OURS,
	.params = params,
	.nparams = SS_COUNT(params),
	.run = run,
	.conclude = conclude,
};
