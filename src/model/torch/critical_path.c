/* critical_path.c - see critical_path.h. */
#include "model/torch/critical_path.h"

#include "base/bisect.h"
#include "model/torch/device.h"
#include "model/torch/steps.h"

#include <stdlib.h>

#define OTHER_STREAM_NS 10000 /* a stream that stood idle so long may have waited for another */

/* A call that waits for the device, and what it had to wait for. */
struct blocking {
	int64_t begin_ns, end_ns;
	uint32_t waited_for; /* device event, SS_NONE: none */
};

struct walk {
	const struct ss_torch *t;
	uint32_t *before;  /* of each device event the one before it on its stream, SS_NONE */
	uint32_t *by_end;  /* device events by device, end, begin, place */
	uint32_t *all_by_end; /* the same of all devices together */
	SS_VEC(struct blocking) blocking; /* by end */
	SS_VEC(struct ss_torch_step) host; /* stretches on the host; number: of the path */
	struct ss_torch_path *paths;
};

/* ---- orders ---- */

struct ended {
	int64_t end_ns, begin_ns;
	int32_t device;
	uint32_t event;
};

static int by_end(const void *a, const void *b)
{
	const struct ended *x = a, *y = b;
	return SS_CMP(x->device, y->device) ?: SS_CMP(x->end_ns, y->end_ns) ?: SS_CMP(x->begin_ns, y->begin_ns) ?:
	       SS_CMP(x->event, y->event);
}

static uint32_t *order_by_end(const struct ss_torch *t, bool together)
{
	struct ended *v = malloc((t->device.n + 1) * sizeof(*v));
	uint32_t *out = malloc((t->device.n + 1) * sizeof(*out));
	for (size_t i = 0; v && i < t->device.n; i++) {
		const struct ss_torch_device_event *e = &t->device.v[i];
		v[i] = (struct ended){ e->end_ns, e->begin_ns, together ? 0 : e->device, (uint32_t)i };
	}
	if (v)
		qsort(v, t->device.n, sizeof(*v), by_end);
	for (size_t i = 0; v && out && i < t->device.n; i++)
		out[i] = v[i].event;
	if (!v) {
		free(out);
		out = NULL;
	}
	free(v);
	return out;
}

static bool order_streams(struct walk *w)
{
	const struct ss_torch *t = w->t;
	uint32_t *of = ss_torch_by_stream(t);
	w->before = malloc((t->device.n + 1) * sizeof(*w->before));
	for (size_t i = 0; of && w->before && i < t->device.n; i++) {
		const struct ss_torch_device_event *e = &t->device.v[of[i]], *p = i ? &t->device.v[of[i - 1]] : NULL;
		w->before[of[i]] = p && p->device == e->device && p->stream == e->stream ? of[i - 1] : SS_NONE;
	}
	bool ok = of && w->before;
	free(of);
	return ok;
}

static bool is_before(const struct ss_torch_device_event *e, bool together, int32_t device, int64_t at)
{
	return together || e->device == device ? e->end_ns <= at : e->device < device;
}

/* Where the events of this device (`together`: all) that end by `at` stop in the order. */
static size_t ended_by(const struct walk *w, const uint32_t *order, bool together, int32_t device, int64_t at)
{
	size_t lo = 0, hi = w->t->device.n;
	SS_BISECT(lo, hi, mid, is_before(&w->t->device.v[order[mid]], together, device, at));
	return lo;
}

/* The event of g's device that ended last by `at`, not g itself; SS_NONE: none. */
static uint32_t ended_last(const struct walk *w, uint32_t g, int64_t at)
{
	int32_t device = w->t->device.v[g].device;
	size_t i = ended_by(w, w->by_end, false, device, at);
	if (i && w->by_end[i - 1] == g)
		i--;
	if (!i || w->t->device.v[w->by_end[i - 1]].device != device)
		return SS_NONE;
	return w->by_end[i - 1];
}

/* ---- calls that wait ---- */

static bool is_blocking(struct ss_str name)
{
	static const struct ss_str copies[] = { SS_STR_INIT("cudaMemcpy"), SS_STR_INIT("cudaMemcpyAsync"), SS_STR_INIT("hipMemcpy"),
						SS_STR_INIT("hipMemcpyAsync") };
	static const struct ss_str libraries[] = { SS_STR_INIT("cuda"), SS_STR_INIT("hip"), SS_STR_INIT("cu") };
	static const struct ss_str things[] = { SS_STR_INIT("Device"), SS_STR_INIT("Ctx"), SS_STR_INIT("Stream"),
						SS_STR_INIT("Event") };
	for (size_t i = 0; i < SS_COUNT(copies); i++)
		if (ss_str_eq(name, copies[i]))
			return true;
	if (ss_str_starts(name, SS_STR("cuMemcpy")))
		return true;
	for (size_t i = 0; i < SS_COUNT(libraries); i++)
		for (size_t k = 0; k < SS_COUNT(things); k++) {
			struct ss_str rest = name;
			if (ss_str_take(&rest, libraries[i]) && ss_str_take(&rest, things[k]) &&
			    ss_str_starts(rest, SS_STR("Synchronize")))
				return true;
		}
	return false;
}

static int blocking_by_end(const void *a, const void *b)
{
	const struct blocking *x = a, *y = b;
	return SS_CMP(x->end_ns, y->end_ns) ?: SS_CMP(x->begin_ns, y->begin_ns);
}

static bool list_blocking(struct walk *w)
{
	const struct ss_torch *t = w->t;
	for (size_t i = 0; i < t->calls.n; i++) {
		const struct ss_torch_call *c = &t->calls.v[i];
		if (!is_blocking(ss_torch_text(t, c->name)))
			continue;
		size_t k = ended_by(w, w->all_by_end, true, 0, c->end_ns);
		uint32_t r = k ? w->all_by_end[k - 1] : SS_NONE;
		if (r == SS_NONE || t->device.v[r].end_ns <= c->begin_ns)
			continue;
		if (!ss_vec_push(&w->blocking, ((struct blocking){ c->begin_ns, c->end_ns, r })))
			return false;
	}
	if (w->blocking.n)
		qsort(w->blocking.v, w->blocking.n, sizeof(*w->blocking.v), blocking_by_end);
	return true;
}

/* The last event that the host waited for between `from` and `at`; SS_NONE: none. */
static uint32_t waited_for(const struct walk *w, int64_t from_ns, int64_t at_ns)
{
	size_t lo = 0, hi = w->blocking.n;
	SS_BISECT(lo, hi, mid, w->blocking.v[mid].end_ns <= at_ns);
	for (; lo && w->blocking.v[lo - 1].end_ns > from_ns; lo--) {
		uint32_t r = w->blocking.v[lo - 1].waited_for;
		if (w->t->device.v[r].end_ns < at_ns)
			return r;
	}
	return SS_NONE;
}

/* ---- the walk ---- */

/* Where the walk stands: at a device event, or (SS_NONE) on the host. */
struct stand {
	uint32_t event;
	int64_t at_ns, begin_ns; /* begin: of the step */
	struct ss_torch_path *path;
	size_t index;
};

static void pass(struct stand *s, enum ss_torch_on_path part, int64_t to_ns)
{
	int64_t from_ns = to_ns > s->begin_ns ? to_ns : s->begin_ns;
	if (from_ns >= s->at_ns)
		return;
	s->path->part_ns[part] += s->at_ns - from_ns;
	s->at_ns = from_ns;
}

static bool on_host(struct walk *w, struct stand *s)
{
	uint32_t r = waited_for(w, s->begin_ns, s->at_ns);
	int64_t from_ns = r == SS_NONE ? s->begin_ns : w->t->device.v[r].end_ns;
	from_ns = from_ns > s->begin_ns ? from_ns : s->begin_ns;
	if (from_ns < s->at_ns && !ss_vec_push(&w->host, ((struct ss_torch_step){ (int64_t)s->index, from_ns, s->at_ns, 0 })))
		return false;
	s->event = r;
	s->at_ns = r == SS_NONE ? s->begin_ns : from_ns;
	return true;
}

static void on_device(const struct walk *w, struct stand *s)
{
	const struct ss_torch *t = w->t;
	const struct ss_torch_device_event *g = &t->device.v[s->event];
	pass(s,
	     g->kind == SS_TORCH_KERNEL	    ? SS_TORCH_PATH_COMPUTE :
	     g->kind == SS_TORCH_COLLECTIVE ? SS_TORCH_PATH_COMMUNICATION :
					      SS_TORCH_PATH_MEMORY,
	     g->begin_ns);
	if (s->at_ns <= s->begin_ns)
		return;
	const struct ss_torch_call *l = g->call == SS_NONE ? NULL : &t->calls.v[g->call];
	uint32_t p = w->before[s->event];
	if (p != SS_NONE && (!l || t->device.v[p].end_ns > l->begin_ns)) {
		if (s->at_ns - t->device.v[p].end_ns > OTHER_STREAM_NS) {
			uint32_t q = ended_last(w, s->event, s->at_ns);
			if (q != SS_NONE && t->device.v[q].end_ns > t->device.v[p].end_ns)
				p = q;
		}
		pass(s, SS_TORCH_PATH_KERNEL_DELAY, t->device.v[p].end_ns);
		s->event = p;
	} else if (l) {
		pass(s, SS_TORCH_PATH_LAUNCH_DELAY, l->begin_ns);
		s->event = SS_NONE;
	} else {
		pass(s, SS_TORCH_PATH_OTHER, s->begin_ns);
	}
}

static bool walk_step(struct walk *w, size_t i, uint32_t last)
{
	const struct ss_torch_step *step = &w->t->steps.v[i];
	struct stand s = { .event = SS_NONE, .at_ns = step->end_ns, .begin_ns = step->begin_ns, .path = &w->paths[i], .index = i };
	/* Nothing is stood at twice, but for events without length that wait for each other. */
	size_t left = w->t->device.n + w->blocking.n + 2;
	if (last != SS_NONE && w->t->device.v[last].end_ns >= step->end_ns) {
		s.event = last;
		s.at_ns = w->t->device.v[last].end_ns;
	}
	w->paths[i].step = step->number;
	w->paths[i].path_ns = s.at_ns - s.begin_ns;
	for (; s.at_ns > s.begin_ns && left; left--) {
		if (s.event != SS_NONE)
			on_device(w, &s);
		else if (!on_host(w, &s))
			return false;
	}
	pass(&s, SS_TORCH_PATH_OTHER, s.begin_ns);
	return true;
}

/* For each step, the last event to end among those launched in it. */
static void find_last(const struct ss_torch *t, uint32_t *last)
{
	for (size_t i = 0; i < t->steps.n; i++)
		last[i] = SS_NONE;
	for (uint32_t i = 0; i < t->device.n; i++) {
		const struct ss_torch_device_event *e = &t->device.v[i];
		size_t s = e->call == SS_NONE ? SS_NPOS : ss_torch_step_of_call(t, &t->calls.v[e->call]);
		if (s == SS_NPOS)
			continue;
		const struct ss_torch_device_event *had = last[s] == SS_NONE ? NULL : &t->device.v[last[s]];
		if (!had || e->end_ns > had->end_ns || (e->end_ns == had->end_ns && e->begin_ns >= had->begin_ns))
			last[s] = i;
	}
}

static int by_begin(const void *a, const void *b)
{
	const struct ss_torch_step *x = a, *y = b;
	return SS_CMP(x->begin_ns, y->begin_ns);
}

/* What threads were in while the path was on the host. */
static bool divide_host(struct walk *w)
{
	struct ss_torch_step_time *v = NULL;
	if (w->host.n)
		qsort(w->host.v, w->host.n, sizeof(*w->host.v), by_begin);
	if (!ss_torch_divide_host(w->t, w->host.v, w->host.n, &v))
		return false;
	for (size_t i = 0; i < w->host.n; i++) {
		int64_t *part = w->paths[v[i].step.number].part_ns;
		part[SS_TORCH_PATH_RUNTIME] += v[i].class_ns[SS_TORCH_IN_RUNTIME];
		part[SS_TORCH_PATH_DATALOADER] += v[i].class_ns[SS_TORCH_IN_DATALOADER];
		part[SS_TORCH_PATH_CPU_OP] += v[i].class_ns[SS_TORCH_IN_CPU_OP];
		part[SS_TORCH_PATH_OTHER] += v[i].class_ns[SS_TORCH_IN_OTHER];
	}
	free(v);
	return true;
}

bool ss_torch_critical_path(const struct ss_torch *t, struct ss_torch_path **out, size_t *n)
{
	struct walk w = { .t = t };
	*n = t->marked ? t->steps.n : 0;
	w.paths = calloc(*n + 1, sizeof(*w.paths));
	w.by_end = order_by_end(t, false);
	w.all_by_end = order_by_end(t, true);
	uint32_t *last = malloc((t->steps.n + 1) * sizeof(*last));
	bool ok = w.paths && w.by_end && w.all_by_end && last && order_streams(&w) && list_blocking(&w);
	if (ok)
		find_last(t, last);
	for (size_t i = 0; ok && i < *n; i++)
		ok = walk_step(&w, i, last[i]);
	ok = ok && divide_host(&w);
	free(last);
	free(w.before);
	free(w.by_end);
	free(w.all_by_end);
	ss_vec_free(&w.blocking);
	ss_vec_free(&w.host);
	if (!ok)
		free(w.paths);
	*out = ok ? w.paths : NULL;
	return ok;
}
