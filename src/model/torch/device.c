/* device.c - see device.h. */
#include "model/torch/device.h"

#include "model/torch/kernel_name.h"
#include "model/torch/steps.h"

#include <math.h>
#include <stdlib.h>

#define LAUNCH_GAP_NS 30000 /* shorter gaps are what launching costs */

/* ---- order ---- */

struct place {
	int64_t stream, begin_ns;
	int32_t device;
	uint32_t event;
};

static int by_place(const void *a, const void *b)
{
	const struct place *x = a, *y = b;
	return SS_CMP(x->device, y->device) ?: SS_CMP(x->stream, y->stream) ?: SS_CMP(x->begin_ns, y->begin_ns) ?:
	       SS_CMP(x->event, y->event);
}

uint32_t *ss_torch_by_stream(const struct ss_torch *t)
{
	size_t n = t->device.n;
	struct place *v = malloc((n + 1) * sizeof(*v));
	uint32_t *out = malloc((n + 1) * sizeof(*out));
	for (size_t i = 0; v && i < n; i++)
		v[i] = (struct place){ t->device.v[i].stream, t->device.v[i].begin_ns, t->device.v[i].device, (uint32_t)i };
	if (v)
		qsort(v, n, sizeof(*v), by_place);
	for (size_t i = 0; v && out && i < n; i++)
		out[i] = v[i].event;
	if (!v) {
		free(out);
		out = NULL;
	}
	free(v);
	return out;
}

/* ---- times ---- */

/* The events of one device: `of` are their numbers. */
struct view {
	const struct ss_torch *t;
	const uint32_t *of;
	size_t n;
};

static bool collect(const struct view *w, struct ss_intervals *compute, struct ss_intervals *communication,
		    struct ss_intervals *memory, struct ss_intervals *all)
{
	bool ok = true;
	for (size_t i = 0; ok && i < w->n; i++) {
		const struct ss_torch_device_event *e = &w->t->device.v[w->of[i]];
		struct ss_intervals *to = e->kind == SS_TORCH_KERNEL	 ? compute :
					  e->kind == SS_TORCH_COLLECTIVE ? communication :
									   memory;
		ok = ss_intervals_add(to, e->begin_ns, e->end_ns) && ss_intervals_add(all, e->begin_ns, e->end_ns);
	}
	ss_intervals_unite(compute);
	ss_intervals_unite(communication);
	ss_intervals_unite(memory);
	ss_intervals_unite(all);
	return ok;
}

static bool add_times(const struct view *w, struct ss_torch_device *d)
{
	struct ss_intervals compute = { 0 }, communication = { 0 }, memory = { 0 }, all = { 0 };
	bool ok = collect(w, &compute, &communication, &memory, &all);
	d->begin_ns = INT64_MAX;
	d->end_ns = INT64_MIN;
	for (size_t i = 0; i < w->n; i++) {
		const struct ss_torch_device_event *e = &w->t->device.v[w->of[i]];
		d->begin_ns = e->begin_ns < d->begin_ns ? e->begin_ns : d->begin_ns;
		d->end_ns = e->end_ns > d->end_ns ? e->end_ns : d->end_ns;
	}
	d->busy_ns = ss_intervals_ns(&all);
	d->compute_ns = ss_intervals_ns(&compute);
	d->communication_ns = ss_intervals_ns(&communication);
	d->memory_ns = ss_intervals_ns(&memory);
	d->overlap_ns = ss_intervals_common_ns(&compute, &communication);
	ss_intervals_free(&compute);
	ss_intervals_free(&communication);
	ss_intervals_free(&memory);
	ss_intervals_free(&all);
	return ok;
}

/* ---- how well kernels use the device ---- */

struct edge {
	int64_t time_ns;
	double blocks;
	int begins;
};

static int by_time(const void *a, const void *b)
{
	const struct edge *x = a, *y = b;
	return SS_CMP(x->time_ns, y->time_ns) ?: x->begins - y->begins;
}

/*
 * At each moment the blocks of running kernels on a multiprocessor, 1 at most; nanoseconds times
 * that.
 */
static double full_ns(struct edge *v, size_t n)
{
	double sum = 0, blocks = 0;
	long running = 0;
	qsort(v, n, sizeof(*v), by_time);
	for (size_t i = 0; i < n; i++) {
		if (i && running)
			sum += (double)(v[i].time_ns - v[i - 1].time_ns) * (blocks < 1 ? blocks : 1);
		running += v[i].begins ? 1 : -1;
		blocks = running ? blocks + (v[i].begins ? v[i].blocks : -v[i].blocks) : 0;
	}
	return sum;
}

struct window {
	int64_t begin_ns, end_ns;
};

static bool add_metrics(const struct view *w, const struct window *in, struct ss_torch_device *d)
{
	struct edge *edges = malloc((2 * w->n + 1) * sizeof(*edges));
	struct ss_intervals kernels = { 0 };
	double window_ns = (double)(in->end_ns - in->begin_ns), occupancy = 0, weight = 0, all_ns = 0, core_ns = 0;
	bool ok = edges, any_blocks = false, any_occupancy = false;
	size_t n = 0;
	for (size_t i = 0; ok && i < w->n; i++) {
		const struct ss_torch_device_event *e = &w->t->device.v[w->of[i]];
		if (!ss_torch_is_kernel(e))
			continue;
		int64_t from = e->begin_ns > in->begin_ns ? e->begin_ns : in->begin_ns;
		int64_t to = e->end_ns < in->end_ns ? e->end_ns : in->end_ns;
		all_ns += (double)(e->end_ns - e->begin_ns);
		if (ss_torch_uses_tensor_core(ss_torch_text(w->t, e->name)))
			core_ns += (double)(e->end_ns - e->begin_ns);
		any_blocks |= !isnan(e->blocks_per_sm);
		any_occupancy |= !isnan(e->occupancy_pct);
		if (from >= to)
			continue;
		ok = ss_intervals_add(&kernels, from, to);
		if (!isnan(e->occupancy_pct)) {
			occupancy += (double)e->occupancy_pct * (double)(to - from);
			weight += (double)(to - from);
		}
		if (isnan(e->blocks_per_sm))
			continue;
		edges[n++] = (struct edge){ from, (double)e->blocks_per_sm, 1 };
		edges[n++] = (struct edge){ to, (double)e->blocks_per_sm, 0 };
	}
	ss_intervals_unite(&kernels);
	if (ok && window_ns > 0) {
		d->utilization_frac = (double)ss_intervals_ns(&kernels) / window_ns;
		d->sm_efficiency_frac = any_blocks ? full_ns(edges, n) / window_ns : NAN;
	}
	d->occupancy_pct = any_occupancy ? weight > 0 ? occupancy / weight : 0 : NAN;
	d->tensor_core_frac = all_ns > 0 ? core_ns / all_ns : NAN;
	ss_intervals_free(&kernels);
	free(edges);
	return ok;
}

static bool find_window(const struct ss_torch *t, struct window *w)
{
	struct ss_torch_step *steps = malloc((t->steps.n + 1) * sizeof(*steps));
	bool ok = steps && ss_torch_device_steps(t, steps);
	*w = (struct window){ 0, 0 };
	if (ok && t->steps.n)
		*w = (struct window){ steps[0].begin_ns, steps[t->steps.n - 1].end_ns };
	free(steps);
	return ok;
}

static size_t device_end(const struct ss_torch *t, const uint32_t *of, size_t i)
{
	int32_t device = t->device.v[of[i]].device;
	while (i < t->device.n && t->device.v[of[i]].device == device)
		i++;
	return i;
}

bool ss_torch_devices(const struct ss_torch *t, struct ss_torch_device **out, size_t *n)
{
	SS_VEC(struct ss_torch_device) v = { 0 };
	struct window w;
	uint32_t *of = ss_torch_by_stream(t);
	bool ok = of && find_window(t, &w);
	for (size_t i = 0, end; ok && i < t->device.n; i = end) {
		end = device_end(t, of, i);
		struct ss_torch_device d = { .device = t->device.v[of[i]].device, .utilization_frac = NAN,
					     .sm_efficiency_frac = NAN, .occupancy_pct = NAN, .tensor_core_frac = NAN };
		const struct view view = { t, of + i, end - i };
		ok = add_times(&view, &d) && add_metrics(&view, &w, &d) && ss_vec_push(&v, d);
	}
	free(of);
	if (!ok)
		ss_vec_free(&v);
	*out = v.v;
	*n = v.n;
	return ok;
}

/* ---- gaps ---- */

static void add_gap(const struct ss_torch *t, const struct ss_torch_device_event *e, int64_t free_ns, struct ss_torch_gaps *g)
{
	int64_t gap_ns = e->begin_ns - free_ns;
	if (gap_ns <= 0)
		return;
	if (e->call != SS_NONE && t->calls.v[e->call].begin_ns > free_ns)
		g->host_ns += gap_ns;
	else if (gap_ns < LAUNCH_GAP_NS)
		g->kernel_ns += gap_ns;
	else
		g->other_ns += gap_ns;
}

bool ss_torch_gaps(const struct ss_torch *t, struct ss_torch_gaps **out, size_t *n)
{
	SS_VEC(struct ss_torch_gaps) v = { 0 };
	uint32_t *of = ss_torch_by_stream(t);
	bool ok = of;
	int64_t free_ns = 0;
	for (size_t i = 0; ok && i < t->device.n; i++) {
		const struct ss_torch_device_event *e = &t->device.v[of[i]];
		struct ss_torch_gaps *last = v.n ? &v.v[v.n - 1] : NULL;
		if (!last || last->device != e->device || last->stream != e->stream) {
			ok = ss_vec_push(&v, ((struct ss_torch_gaps){ .device = e->device, .stream = e->stream }));
			free_ns = e->end_ns;
			continue;
		}
		add_gap(t, e, free_ns, last);
		free_ns = e->end_ns > free_ns ? e->end_ns : free_ns;
	}
	free(of);
	if (!ok)
		ss_vec_free(&v);
	*out = v.v;
	*n = v.n;
	return ok;
}

/* ---- others ---- */

bool ss_torch_compute(const struct ss_torch *t, int32_t device, struct ss_intervals *out)
{
	bool ok = true;
	for (size_t i = 0; ok && i < t->device.n; i++) {
		const struct ss_torch_device_event *e = &t->device.v[i];
		if (e->device == device && e->kind == SS_TORCH_KERNEL)
			ok = ss_intervals_add(out, e->begin_ns, e->end_ns);
	}
	ss_intervals_unite(out);
	return ok;
}

int64_t ss_torch_capacity(const struct ss_torch *t, struct ss_str name)
{
	size_t colon = ss_str_rchr(name, ':');
	int64_t id;
	if (colon == SS_NPOS || !ss_str_to_i64(ss_str_sub(name, colon + 1, name.n), &id))
		return 0;
	for (size_t i = 0; i < t->gpus.n; i++)
		if (t->gpus.v[i].id == id)
			return t->gpus.v[i].memory_bytes;
	return 0;
}
