/* steps_generic.c - steps of GPUs and of programs that run on the CPU alone, by kind of work. */
#include "model/host/opname.h"
#include "model/host/derived_line.h"

#include "base/assert.h"
#include "base/vec.h"
#include "model/host/host.h"
#include "model/ops/ops_build.h"
#include "model/ops/step_marker.h"
#include "model/steps/steps.h"

#include <stdlib.h>

struct markers {
	SS_VEC(struct ss_step_marker) v;
};

struct stream_event {
	struct ss_str shape;
	int64_t group;
	bool has_correlation;
};

static struct stream_event read_stats(const struct ss_plane *p, const struct ss_line *l, uint32_t i)
{
	struct stream_event e = { .shape = SS_STR(""), .group = SS_NO_GROUP };
	struct ss_xstats it = ss_line_stats(p, l, i);
	struct ss_xstat s;
	while (ss_xstats_next(&it, &s)) {
		if (s.stat == SS_STAT_CORRELATION_ID) {
			e.has_correlation = true;
		} else if (s.stat == SS_STAT_GROUP_ID) {
			e.group = ss_xstat_int_or_uint(&s);
		} else if (s.stat == SS_STAT_TENSOR_SHAPES) {
			e.shape = ss_xstat_str(&s);
		}
	}
	if (ss_line_has_groups(l))
		e.group = ss_line_group(l, i);
	return e;
}

/*
 * What the name of an event says; computation is told apart further by its shapes. One byte per
 * metadata entry.
 */
enum { NOT_READ = 0, COMPUTE_16 = 1, COMPUTE_32 = 2, WORK = 3 /* + enum ss_work */ };

static unsigned classify(struct ss_str name)
{
	switch (ss_op_name_parse(name).category) {
	case SS_OP_MEMCPY_HTOD:
		return WORK + SS_WORK_HOST_TO_DEVICE;
	case SS_OP_MEMCPY_DTOH:
		return WORK + SS_WORK_DEVICE_TO_HOST;
	case SS_OP_MEMCPY_DTOD:
		return WORK + SS_WORK_DEVICE_TO_DEVICE;
	default:
		break;
	}
	if (ss_str_istarts(name, SS_STR("nccl")))
		return WORK + SS_WORK_COLLECTIVES;
	return ss_str_contains(name, SS_STR("half")) || ss_str_contains(name, SS_STR("fp16"))
		       ? COMPUTE_16
		       : COMPUTE_32;
}

static enum ss_work work_of(unsigned kind, const struct stream_event *e)
{
	if (kind >= WORK)
		return (enum ss_work)(kind - WORK);
	bool half = e->shape.n ? ss_str_contains(e->shape, SS_STR("half")) : kind == COMPUTE_16;
	return half ? SS_WORK_DEVICE_COMPUTE_16 : SS_WORK_DEVICE_COMPUTE_32;
}

/* One GPU while it is read. */
struct gpu {
	const struct ss_host *h;
	const struct ss_plane *p;
	uint8_t *known;
	struct ss_u64map marked; /* groups with a marker on this GPU: 1 if they have an event too */
	struct markers *markers;
	struct ss_work_spans *spans;
};

static bool add_stream(struct gpu *g, const struct ss_line *l)
{
	const struct ss_plane *p = g->p;
	struct ss_forget f = { .h = g->h };
	for (uint32_t i = 0; i < l->ev.n; i++) {
		struct stream_event e = read_stats(p, l, i);
		ss_forget_passed(&f, l, i);
		if (!e.has_correlation || e.group == SS_NO_GROUP ||
		    ss_u64map_get(&g->marked, (uint64_t)e.group) == SS_NONE)
			continue;
		ss_u64map_put(&g->marked, (uint64_t)e.group, 1); /* never new: cannot fail */
		uint32_t meta = l->ev.meta[i];
		unsigned kind = meta < p->x->nevent_meta ? g->known[meta] : NOT_READ;
		if (kind == NOT_READ)
			kind = classify(ss_event_name(p, meta));
		if (meta < p->x->nevent_meta)
			g->known[meta] = (uint8_t)kind;
		if (!ss_work_spans_add(g->spans, e.group, l->ev.begin_ps[i],
				       ss_xevents_end_ps(&l->ev, i), work_of(kind, &e)))
			return false;
	}
	ss_forget_line(&f, l);
	ss_forget_rest(&f);
	return true;
}

static bool find_marked(struct gpu *g, const struct ss_line *l)
{
	for (uint32_t i = 0; i < l->ev.n; i++) {
		int64_t group = ss_event_group(g->p, l, i);
		if (group != SS_NO_GROUP &&
		    ss_u64map_add(&g->marked, (uint64_t)group, 0) == SS_NONE)
			return false;
	}
	return true;
}

/* Markers of groups in which this GPU did something. */
static bool add_markers(struct gpu *g, const struct ss_line *l)
{
	for (uint32_t i = 0; i < l->ev.n; i++) {
		int64_t group = ss_event_group(g->p, l, i);
		struct ss_step_marker m = { group, l->ev.begin_ps[i], l->ev.dur_ps[i], SS_STR("") };
		if (group != SS_NO_GROUP && ss_u64map_get(&g->marked, (uint64_t)group) == 1 &&
		    !ss_vec_push(&g->markers->v, m))
			return false;
	}
	return true;
}

static bool is_steps_line(const struct ss_line *l)
{
	return (uint32_t)((uint64_t)l->id & UINT32_MAX) == SS_DERIVED_BASE + SS_DERIVED_STEPS;
}

static bool read_gpu(struct markers *m, struct ss_work_spans *spans, const struct ss_host *h,
		     const struct ss_plane *p)
{
	struct gpu g = { .h = h, .p = p, .markers = m, .spans = spans };
	g.known = calloc((size_t)p->x->nevent_meta + 1, 1);
	bool ok = g.known;
	for (uint32_t k = 0; ok && k < p->nlines; k++)
		if (is_steps_line(&p->lines[k]))
			ok = find_marked(&g, &p->lines[k]);
	for (uint32_t k = 0; ok && k < p->nlines; k++)
		if (!p->lines[k].derived)
			ok = add_stream(&g, &p->lines[k]);
	for (uint32_t k = 0; ok && k < p->nlines; k++)
		if (is_steps_line(&p->lines[k]))
			ok = add_markers(&g, &p->lines[k]);
	free(g.known);
	ss_u64map_free(&g.marked);
	return ok;
}

static bool read_host(struct markers *m, struct ss_work_spans *spans, const struct ss_host *h,
		      struct ss_err *err)
{
	struct ss_host_marks marks;
	if (!ss_host_marks_read(&marks, spans, h, err))
		return false;
	bool ok = true;
	for (size_t i = 0; ok && i < marks.n; i++)
		if (marks.v[i].dur_ps)
			ok = ss_vec_push(&m->v,
					 ((struct ss_step_marker){ marks.v[i].group, marks.v[i].begin_ps,
							   marks.v[i].dur_ps, marks.v[i].name }));
	free(marks.v);
	return ok || ss_fail_mem(err);
}

static bool keep_step(const uint64_t *work_ps, bool has_device)
{
	if (has_device)
		return work_ps[SS_WORK_DEVICE_COMPUTE_16] || work_ps[SS_WORK_DEVICE_COMPUTE_32];
	return work_ps[SS_WORK_HOST_COMPUTE];
}

static void add_step(struct ss_host_steps *out, const struct ss_step_marker *m, const uint64_t *work_ps)
{
	size_t i = out->steps.n++;
	uint64_t *kept = out->work_ps + i * SS_WORK_COUNT, sum_ps = 0;
	for (size_t k = 1; k < SS_WORK_COUNT; k++)
		sum_ps += kept[k] = work_ps[k];
	kept[SS_WORK_UNKNOWN] = m->dur_ps > sum_ps ? m->dur_ps - sum_ps : 0;
	out->cores[i] = (struct ss_step_core){
		.kind = SS_STEP_BY_WORK,
		.core_id = 1,
		.begin_ps = m->begin_ps,
		.dur_ps = m->dur_ps,
		.work_ps = kept,
	};
	out->steps.v[i] = (struct ss_step){
		.num = m->group,
		.name = m->name,
		.begin_ps = m->begin_ps,
		.dur_ps = m->dur_ps,
		.cores = &out->cores[i],
		.ncores = 1,
	};
}

/* Making steps of markers and spans of work. */
struct maker {
	struct ss_host_steps *out;
	struct ss_sweep sweep;
	bool *swept;			  /* by group of the spans */
	uint64_t whole_ps[SS_WORK_COUNT]; /* of all groups */
	bool has_device;
};

/* Room for a step of each of `n` markers. */
static bool begin(struct maker *k, struct ss_host_steps *out, size_t n, struct ss_work_spans *spans)
{
	out->steps.v = malloc((n + 1) * sizeof(*out->steps.v));
	out->cores = malloc((n + 1) * sizeof(*out->cores));
	out->work_ps = malloc((n + 1) * SS_WORK_COUNT * sizeof(*out->work_ps));
	k->out = out;
	k->swept = calloc(spans->ngroups + 1, 1);
	return out->steps.v && out->cores && out->work_ps && k->swept && ss_sweep_init(&k->sweep, spans);
}

/* The group `g` of the spans is a step if anything was computed in it. */
static bool make_step(struct maker *k, const struct ss_step_marker *m, uint32_t g)
{
	uint64_t work_ps[SS_WORK_COUNT] = { 0 }, all_ps[SS_WORK_COUNT] = { 0 };
	int64_t end_ps = (int64_t)((uint64_t)m->begin_ps + m->dur_ps);
	ss_assert(!k->swept[g]);
	k->swept[g] = true;
	if (!ss_sweep_group(&k->sweep, g, m->begin_ps, end_ps, work_ps, all_ps))
		return false;
	/* Computation counts wherever it was done: work of a step may end after its marker. */
	if (m->dur_ps && keep_step(all_ps, k->has_device))
		add_step(k->out, m, work_ps);
	for (size_t i = 0; i < SS_WORK_COUNT; i++)
		k->whole_ps[i] += all_ps[i];
	return true;
}

/* Groups without a marker only count for the precision. */
static bool count_rest(struct maker *k, size_t ngroups)
{
	bool ok = true;
	for (uint32_t g = 0; ok && g < ngroups; g++) {
		uint64_t unused[SS_WORK_COUNT] = { 0 };
		ok = k->swept[g] || ss_sweep_group(&k->sweep, g, 0, 0, unused, k->whole_ps);
	}
	return ok;
}

/* Steps are the groups with a marker and some computation. */
static bool make_steps(struct ss_host_steps *out, struct markers *markers, struct ss_work_spans *spans,
		       bool has_device)
{
	struct maker k = { .has_device = has_device };
	const struct ss_step_marker *m = markers->v.v;
	bool ok = begin(&k, out, markers->v.n, spans);
	ss_step_markers_sort(markers->v.v, markers->v.n);
	for (size_t i = 0; ok && i < markers->v.n; i++) {
		uint32_t g = ss_u64map_get(&spans->by_group, (uint64_t)m[i].group);
		bool counts = !i || m[i - 1].group != m[i].group;
		if (counts && g != SS_NONE)
			ok = make_step(&k, &m[i], g);
	}
	ok = ok && (!has_device || count_rest(&k, spans->ngroups));
	out->steps.compute_16bit_ps = k.whole_ps[SS_WORK_DEVICE_COMPUTE_16];
	out->steps.compute_32bit_ps = k.whole_ps[SS_WORK_DEVICE_COMPUTE_32];
	free(k.swept);
	ss_sweep_free(&k.sweep);
	return ok;
}

bool ss_steps_by_work(struct ss_host_steps *out, struct ss_host *h, bool has_device,
		      struct ss_err *err)
{
	struct markers m = { 0 };
	struct ss_work_spans spans = { 0 };
	bool ok = true;
	for (uint32_t i = 0; ok && has_device && i < h->nplanes; i++)
		if (h->planes[i].kind == SS_PLANE_GPU)
			ok = read_gpu(&m, &spans, h, &h->planes[i]) || ss_fail_mem(err);
	if (ok && !has_device)
		ok = read_host(&m, &spans, h, err);
	if (ok)
		ok = make_steps(out, &m, &spans, has_device) || ss_fail_mem(err);
	ss_vec_free(&m.v);
	ss_work_spans_free(&spans);
	return ok;
}
