/* windows.c - see windows.h. */
#include "model/attribution/windows.h"

#include "base/map.h"
#include "base/safe.h"
#include "base/vec.h"
#include "model/attribution/frames.h"
#include "model/attribution/host_kinds.h"
#include "model/attribution/thresholds.h"
#include "model/host/forget.h"
#include "model/host/host.h"
#include "model/host/identity.h"
#include "model/host/stat_filter.h"
#include "model/device/env.h"
#include "model/fold.h"
#include "model/preprocess/load.h"
#include "model/steps/inferred.h"

#include <stdlib.h>

struct ss_str ss_step_source_name(enum ss_step_source s)
{
	static const struct ss_str names[] = {
		[SS_STEPS_NONE] = SS_STR_INIT("none"),
		[SS_STEPS_MARKED] = SS_STR_INIT("marked"),
		[SS_STEPS_DERIVED] = SS_STR_INIT("derived"),
		[SS_STEPS_INFERRED] = SS_STR_INIT("inferred"),
	};
	return names[s];
}

bool ss_is_step_marker_name(struct ss_str name)
{
	return ss_str_starts(name, SS_STR("ProfilerStep#")) || ss_str_starts(name, SS_STR("TraceContext"));
}

/* ---- marks on threads ---- */

struct marks {
	SS_VEC(struct ss_window) v;
	const struct ss_line *line;
	struct ss_str name;
};

/*
 * A number of a step on an event that the framework has a name for (IteratorGetNext) says to which
 * it belongs.
 */
static bool mark_of(const struct ss_plane *p, const struct ss_line *l, uint32_t i, const struct ss_stat_filter *f,
		    int64_t *num)
{
	struct ss_str name = ss_event_name(p, l->ev.meta[i]);
	struct ss_xstat s;
	if (ss_str_take(&name, SS_STR("ProfilerStep#")))
		return ss_str_to_i64(name, num);
	if (!l->ev.dur_ps[i] || !ss_stat_filter_line(f, l, i) ||
	    !ss_xstats_find(ss_line_stats(p, l, i), SS_STAT_STEP_NUM, &s))
		return false;
	enum ss_host_kind kind = ss_host_kind_of_name(name);
	*num = ss_xstat_int_or_uint(&s);
	return kind == SS_KIND_OTHER || kind == SS_KIND_SKIP;
}

static int by_begin(const void *a, const void *b)
{
	const struct ss_window *x = a, *y = b;
	return SS_CMP(x->begin_ps, y->begin_ps) ?: SS_CMP(y->end_ps, x->end_ps);
}

/* Remove steps that begin within another step; if two overlap, the first ends at the begin of the second. */
static void make_disjoint(struct ss_windows *w)
{
	size_t k = 0;
	if (!w->n)
		return;
	qsort(w->v, w->n, sizeof(*w->v), by_begin);
	for (size_t i = 1; i < w->n; i++) {
		if (w->v[i].begin_ps >= w->v[k].end_ps)
			w->v[++k] = w->v[i];
		else if (w->v[i].end_ps > w->v[k].end_ps && w->v[i].begin_ps > w->v[k].begin_ps) {
			w->v[k].end_ps = w->v[i].begin_ps;
			w->v[++k] = w->v[i];
		}
	}
	w->n = k + 1;
}

/* Is there any that marks by its name? Else events without the stat need no look. */
static bool has_named_marks(const struct ss_plane *p)
{
	for (uint32_t i = 0; i < p->x->nevent_meta; i++)
		if (ss_str_starts(p->x->event_meta[i].name, SS_STR("ProfilerStep#")))
			return true;
	return false;
}

static bool read_marks(struct marks *best, const struct ss_host *h, const struct ss_plane *p)
{
	struct ss_forget passed = { .h = h };
	static const enum ss_stat stats[] = { SS_STAT_STEP_NUM };
	struct ss_stat_filter f = ss_stat_filter_of(p->x, stats, SS_COUNT(stats));
	bool named = has_named_marks(p);
	uint64_t best_ps = 0;
	for (uint32_t k = 0; k < p->nlines; k++) {
		const struct ss_line *l = &p->lines[k];
		if (l->derived || (!named && !ss_stat_filter_in(&f, l)))
			continue;
		struct marks m = { .line = l, .name = SS_STR("") };
		uint64_t sum_ps = 0, longest_ps = 0;
		int64_t num;
		bool ok = true;
		for (uint32_t i = 0; ok && i < l->ev.n; i++) {
			ss_forget_passed(&passed, l, i);
			if (!mark_of(p, l, i, &f, &num))
				continue;
			ok = ss_vec_push(&m.v, ((struct ss_window){ l->ev.begin_ps[i], ss_xevents_end_ps(&l->ev, i),
								    num, false }));
			sum_ps += l->ev.dur_ps[i];
			if (l->ev.dur_ps[i] >= longest_ps) {
				longest_ps = l->ev.dur_ps[i];
				m.name = ss_event_name(p, l->ev.meta[i]);
			}
		}
		ss_forget_line(&passed, l);
		/*
		 * Many short marks on a helper's thread say less than those in which the time goes.
		 */
		if (ok && m.v.n && sum_ps > best_ps) {
			struct marks swap = *best;
			*best = m;
			m = swap;
			best_ps = sum_ps;
		}
		ss_vec_free(&m.v);
		if (!ok)
			return false;
	}
	ss_forget_rest(&passed);
	return true;
}

/* ---- steps of others ---- */

/*
 * The program's number of the step: from the name of the device's step, or of the marker around its
 * middle.
 */
static int64_t number_of(const struct ss_step *s, const struct ss_line *device, const struct ss_plane *p,
			 const struct marks *m)
{
	int64_t middle_ps = ss_safe_end(s->begin_ps, s->dur_ps / 2), num;
	size_t space = ss_str_rchr(s->name, ' ');
	for (uint32_t i = 0; device && i < device->ev.n; i++)
		if (device->ev.begin_ps[i] <= middle_ps && middle_ps < ss_xevents_end_ps(&device->ev, i) &&
		    ss_str_to_i64(ss_event_label(p, device->ev.meta[i]), &num))
			return num;
	if (s->name.n && ss_str_to_i64(space == SS_NPOS ? s->name : ss_str_sub(s->name, space + 1, s->name.n), &num))
		return num;
	for (size_t i = 0; i < m->v.n; i++)
		if (m->v.v[i].begin_ps <= middle_ps && middle_ps < m->v.v[i].end_ps)
			return m->v.v[i].num;
	return s->num;
}

static bool copy_steps(struct ss_windows *out, const struct ss_steps *s, const struct ss_host *h, const struct marks *m)
{
	const struct ss_plane *p = ss_host_plane(h, SS_PLANE_TENSOR_CORE);
	const struct ss_line *device = p ? ss_plane_line(p, SS_STR("Steps")) : NULL;
	out->v = calloc(s->n + 1, sizeof(*out->v));
	for (size_t i = 0; out->v && i < s->n; i++)
		if (s->v[i].dur_ps)
			out->v[out->n++] =
				(struct ss_window){ s->v[i].begin_ps, ss_safe_end(s->v[i].begin_ps, s->v[i].dur_ps),
						    number_of(&s->v[i], device, p, m), false };
	return out->v;
}

/* Is the moment within a mark? */
static bool is_marked(const struct marks *m, int64_t at_ps)
{
	for (size_t i = 0; i < m->v.n; i++)
		if (m->v.v[i].begin_ps <= at_ps && at_ps < m->v.v[i].end_ps)
			return true;
	return false;
}

/*
 * A device's own steps end with its work. What follows up to the next is the program's step still,
 * where the program marks it so or marks nothing.
 */
static void extend(struct ss_windows *w, const struct marks *m)
{
	for (size_t i = 0; i + 1 < w->n; i++) {
		int64_t from_ps = w->v[i].end_ps, to_ps = w->v[i + 1].begin_ps;
		if (to_ps > from_ps && (!m->v.n || is_marked(m, from_ps + (to_ps - from_ps) / 2)))
			w->v[i].end_ps = to_ps;
	}
}

/*
 * A GPU's step is what it ran of one mark, and so begins with its first kernel: what the program did before, in the same mark,
 * is of that step as well, and what it did behind the last kernel. Work of the step before comes first.
 */
static bool join_marks(struct ss_windows *w, const struct marks *m)
{
	struct ss_u64map by_num = { 0 };
	bool ok = true;
	for (size_t i = 0; ok && i < m->v.n; i++)
		ok = ss_u64map_add(&by_num, (uint64_t)m->v.v[i].num, (uint32_t)i) != SS_NONE;
	for (size_t i = 0; ok && i < w->n; i++) {
		uint32_t at = ss_u64map_get(&by_num, (uint64_t)w->v[i].num);
		if (at == SS_NONE)
			continue;
		const struct ss_window *mark = &m->v.v[at];
		int64_t free_ps = i ? w->v[i - 1].end_ps : mark->begin_ps;
		int64_t next_ps = i + 1 < w->n ? w->v[i + 1].begin_ps : mark->end_ps;
		if (mark->end_ps <= free_ps || mark->begin_ps >= next_ps)
			continue; /* started long before, or another step of the same number */
		int64_t begin_ps = mark->begin_ps > free_ps ? mark->begin_ps : free_ps;
		int64_t end_ps = mark->end_ps < next_ps ? mark->end_ps : next_ps;
		w->v[i].begin_ps = begin_ps < w->v[i].begin_ps ? begin_ps : w->v[i].begin_ps;
		w->v[i].end_ps = end_ps > w->v[i].end_ps ? end_ps : w->v[i].end_ps;
	}
	ss_u64map_free(&by_num);
	return ok;
}

/* Time that devices of the host worked between steps, in each pause and behind the last step. */
static bool work_between(const struct ss_windows *w, const struct ss_host *h, uint64_t *work_ps, int64_t *last_ps)
{
	*last_ps = w->v[w->n - 1].end_ps;
	for (uint32_t k = 0; k < h->nplanes; k++) {
		const struct ss_plane *p = &h->planes[k];
		for (uint32_t j = 0; (p->kind == SS_PLANE_GPU || p->kind == SS_PLANE_TENSOR_CORE) && j < p->nlines;
		     j++) {
			const struct ss_line *l = &p->lines[j];
			size_t at = 0;
			for (uint32_t i = 0; ss_is_work_line(p, l) && i < l->ev.n; i++) {
				int64_t begin_ps = l->ev.begin_ps[i], end_ps = ss_xevents_end_ps(&l->ev, i);
				*last_ps = end_ps > *last_ps ? end_ps : *last_ps;
				while (at > 0 && w->v[at].begin_ps > begin_ps)
					at--;
				while (at + 1 < w->n && w->v[at + 1].begin_ps <= begin_ps)
					at++;
				if (begin_ps >= w->v[at].end_ps)
					work_ps[at] += l->ev.dur_ps[i];
			}
		}
	}
	return true;
}

/*
 * Where programs are started and not waited for, a mark is over when all is started, and the device
 * works on behind it: the step lasts until the next begins.
 */
static bool extend_to_work(struct ss_windows *w, const struct ss_host *h)
{
	uint64_t *work_ps = calloc(w->n + 1, sizeof(*work_ps));
	int64_t last_ps = 0;
	bool ok = work_ps && work_between(w, h, work_ps, &last_ps) && ss_windows_follow_launches(w, h, last_ps);
	for (size_t i = 0; ok && i < w->n; i++) {
		int64_t to_ps = i + 1 < w->n ? w->v[i + 1].begin_ps : last_ps;
		if (to_ps > w->v[i].end_ps && 2 * work_ps[i] > (uint64_t)(to_ps - w->v[i].end_ps))
			w->v[i].end_ps = to_ps;
	}
	free(work_ps);
	return ok;
}

static bool use_derived(struct ss_windows *out, const struct ss_steps *s, const struct ss_host *h,
			const struct marks *m)
{
	if (!copy_steps(out, s, h, m))
		return false;
	/* Steps of a trace of PyTorch are its marks (model/steps/steps_torch.c). */
	bool torch = m->v.n && ss_str_starts(m->name, SS_STR("ProfilerStep"));
	out->source = torch ? SS_STEPS_MARKED : SS_STEPS_DERIVED;
	out->device_alone = !m->v.n;
	out->confidence_frac = 1;
	make_disjoint(out);
	bool gpu = ss_host_hardware(h) == SS_HW_GPU;
	if (gpu && !join_marks(out, m))
		return false;
	extend(out, m);
	return !gpu || extend_to_work(out, h);
}

static void use_marks(struct ss_windows *out, struct marks *m)
{
	out->source = SS_STEPS_MARKED;
	out->confidence_frac = 1;
	out->v = m->v.v;
	out->n = m->v.n;
	out->name = m->name;
	m->v.v = NULL;
	m->v.n = m->v.cap = 0;
	make_disjoint(out);
}

static bool use_found(struct ss_windows *out, const struct ss_steps *s, const struct ss_host *h, const struct marks *m)
{
	if (!ss_steps_are_sure(s))
		return true;
	if (!copy_steps(out, s, h, m))
		return false;
	out->source = SS_STEPS_INFERRED;
	out->confidence_frac = s->inferred.confidence_frac;
	make_disjoint(out);
	return true;
}

/* ---- all ---- */

/*
 * Does the event say that the program ran? Python's frames are around the profiler's own start and
 * stop as well.
 */
static bool is_work(const struct ss_plane *p, uint32_t meta)
{
	if (p->kind != SS_PLANE_HOST_CPU)
		return true;
	struct ss_str name = ss_event_name(p, meta);
	struct ss_frame f;
	return ss_host_kind_of_name(name) != SS_KIND_SKIP && !ss_frame_parse(name, &f);
}

static bool span_of(struct ss_windows *w, const struct ss_plane *p, bool work_only, bool *any)
{
	uint8_t *known = calloc((size_t)p->x->nevent_meta + 1, 1);
	for (uint32_t j = 0; known && j < p->nlines; j++) {
		const struct ss_line *l = &p->lines[j];
		for (uint32_t i = 0; !l->derived && i < l->ev.n; i++) {
			int64_t begin_ps = l->ev.begin_ps[i], end_ps = ss_xevents_end_ps(&l->ev, i);
			uint32_t meta = l->ev.meta[i], at = meta < p->x->nevent_meta ? meta : p->x->nevent_meta;
			if (!l->ev.dur_ps[i] || end_ps < begin_ps)
				continue;
			if (!known[at])
				known[at] = !work_only || is_work(p, meta) ? 1 : 2;
			if (known[at] == 2)
				continue;
			w->begin_ps = *any && w->begin_ps < begin_ps ? w->begin_ps : begin_ps;
			w->end_ps = *any && w->end_ps > end_ps ? w->end_ps : end_ps;
			*any = true;
		}
	}
	free(known);
	return known != NULL;
}

/*
 * Of steps that nobody marked the first and the last begin and end where the recording does: one
 * that is shorter than half of the usual is a part of a step.
 */
static bool leave_out_cut(struct ss_windows *w)
{
	uint64_t *v = w->n >= SS_LEAST_STEPS_OF_OUTLIERS ? malloc(w->n * sizeof(*v)) : NULL;
	if (w->source == SS_STEPS_MARKED || w->n < SS_LEAST_STEPS_OF_OUTLIERS || !v) {
		free(v);
		return w->source == SS_STEPS_MARKED || w->n < SS_LEAST_STEPS_OF_OUTLIERS;
	}
	for (size_t i = 0; i < w->n; i++)
		v[i] = ss_safe_between(w->v[i].begin_ps, w->v[i].end_ps);
	bool last = false, first = false;
	uint64_t first_ps = v[0], last_ps = v[w->n - 1];
	qsort(v, w->n, sizeof(*v), ss_cmp_u64);
	first = first_ps < v[w->n / 2] / 2;
	last = last_ps < v[w->n / 2] / 2;
	free(v);
	w->n -= (size_t)first + last;
	memmove(w->v, w->v + first, w->n * sizeof(*w->v));
	w->ncut = (size_t)first + last;
	return true;
}

static bool whole_recording(struct ss_windows *w, const struct ss_host *h)
{
	bool any = false, ok = true;
	for (int pass = 0; ok && pass < 2 && !any; pass++)
		for (uint32_t k = 0; ok && k < h->nplanes; k++) {
			const struct ss_plane *p = &h->planes[k];
			if (p->kind == SS_PLANE_HOST_CPU || p->kind == SS_PLANE_GPU || p->kind == SS_PLANE_TENSOR_CORE)
				ok = span_of(w, p, pass == 0, &any);
		}
	return ok;
}

static bool choose(struct ss_windows *out, struct ss_host *h, struct marks *m, struct ss_err *err)
{
	bool has_device = ss_host_hardware(h) != SS_HW_CPU_ONLY;
	bool kineto = m->v.n && ss_str_starts(m->name, SS_STR("ProfilerStep#"));
	const struct ss_host_steps *own = ss_host_steps(h, err), *found;
	if (!own)
		return false;
	if (has_device && own->steps.n && !kineto)
		return use_derived(out, &own->steps, h, m) || ss_fail_mem(err);
	if (m->v.n) {
		use_marks(out, m);
		out->as_marked = !has_device;
		return (has_device ? extend_to_work(out, h)
				   : ss_windows_follow_work(out, ss_host_plane(h, SS_PLANE_HOST_CPU))) ||
		       ss_fail_mem(err);
	}
	if (own->steps.n)
		return use_derived(out, &own->steps, h, m) || ss_fail_mem(err);
	return (found = ss_host_inferred_steps(h, err)) && (use_found(out, &found->steps, h, m) || ss_fail_mem(err));
}

static bool find_windows(struct ss_windows *out, struct ss_host *h, struct ss_err *err)
{
	const struct ss_plane *p = ss_host_plane(h, SS_PLANE_HOST_CPU);
	struct marks m = { .name = SS_STR("") };
	*out = (struct ss_windows){ .name = SS_STR("") };
	bool ok = (!p || read_marks(&m, h, p) || ss_fail_mem(err)) && choose(out, h, &m, err);
	out->line = m.line;
	if (!out->name.n)
		out->name = m.name;
	ss_vec_free(&m.v);
	ok = ok && (leave_out_cut(out) || ss_fail_mem(err));
	if (ok && out->n) {
		out->begin_ps = out->v[0].begin_ps;
		out->end_ps = out->v[out->n - 1].end_ps;
	} else if (ok) {
		ok = whole_recording(out, h) || ss_fail_mem(err);
	}
	ok = ok && (ss_windows_find_outliers(out) || ss_fail_mem(err));
	return ok;
}

static void release_host(void *data)
{
	struct ss_windows *w = data;
	free(w->v);
	free(w);
}

static void *build_host(void *owner, struct ss_err *err)
{
	struct ss_host *h = owner;
	struct ss_windows *w = calloc(1, sizeof(*w));
	if (!w) {
		ss_fail_mem(err);
		return NULL;
	}
	w->name = SS_STR("");
	if (ss_host_is_raw(h) || (ss_host_load(h, err) && find_windows(w, h, err)))
		return w;
	release_host(w);
	return NULL;
}

static const struct ss_host_fact of_host = { SS_HOST_WINDOWS, build_host, release_host };

const struct ss_windows *ss_host_windows(struct ss_host *h, struct ss_err *err)
{
	return ss_host_fact_get(h, &of_host, err);
}

/* ---- all hosts ---- */

bool ss_windows_intern(struct ss_windows *w, struct ss_intern *k)
{
	w->name = ss_intern_str(k, w->name);
	if (k->copies) {
		w->line = NULL;
		w->v = ss_intern_copy(k, w->v, w->n, sizeof(*w->v));
	}
	return !k->no_memory;
}

struct all {
	struct ss_all_windows out; /* first */
	struct ss_intern intern;
};

static bool begin(void *data, const struct ss_model *m)
{
	struct all *all = data;
	all->out.v = SS_NEW_N(&all->intern.arena, struct ss_windows, m->nhosts + 1);
	all->out.n = m->nhosts;
	return all->out.v;
}

static bool take_host(void *data, size_t i, struct ss_host *h, const void *fact, struct ss_err *err)
{
	struct all *all = data;
	const struct ss_windows *one = fact;
	(void)h;
	all->out.v[i] = *one;
	return ss_windows_intern(&all->out.v[i], &all->intern) || ss_fail_mem(err);
}

static void release(void *data)
{
	struct all *all = data;
	ss_intern_release(&all->intern);
	free(all);
}

const struct ss_fold ss_fold_windows = {
	.part = SS_MODEL_WINDOWS,
	SS_FOLD_DATA(struct all),
	.of = &of_host,
	.begin = begin,
	.take = take_host,
	.release = release,
};

const struct ss_all_windows *ss_model_windows(struct ss_model *m, struct ss_err *err)
{
	return ss_fold_get(m, &ss_fold_windows, err);
}
