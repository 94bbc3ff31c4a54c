/*
 * steps_tpu.c - steps of a host's TPU cores, by HLO category
 * (docs/tools/input_pipeline_analyzer.md).
 *
 * A step is one that every TensorCore has. Its span is that of the longest marker of all of them,
 * and all cores are measured against it: a core that is done early is idle until the slowest is.
 */
#include "model/host/opname.h"
#include "model/host/host.h"

#include "base/bisect.h"
#include "base/safe.h"
#include "base/vec.h"
#include "model/ops/ops_build.h"
#include "model/steps/step_stats.h"
#include "model/steps/steps.h"

#include <stdlib.h>

struct interval {
	int64_t begin_ps, end_ps;
};

/* A SparseCore: when it was busy, on the host's clock. */
struct sparse {
	uint32_t core_id;
	struct interval *busy; /* disjoint, ascending */
	uint64_t *before_ps;   /* busy time of the intervals before; one more than intervals */
	size_t n;
};

static int by_begin(const void *a, const void *b)
{
	const struct interval *ia = a, *ib = b;
	return SS_CMP(ia->begin_ps, ib->begin_ps);
}

/* Sort and join what overlaps; returns how many are left. */
static size_t join(struct interval *v, size_t n)
{
	size_t k = 0;
	if (n == 0)
		return 0;
	qsort(v, n, sizeof(*v), by_begin);
	for (size_t i = 1; i < n; i++) {
		if (v[i].begin_ps <= v[k].end_ps) {
			if (v[i].end_ps > v[k].end_ps)
				v[k].end_ps = v[i].end_ps;
		} else {
			v[++k] = v[i];
		}
	}
	return k + 1;
}

/* Core ids of SparseCores begin at a million. */
#define SPARSE_CORE_ID 1000000u

static bool read_sparse(struct sparse *out, const struct ss_plane *p)
{
	SS_VEC(struct interval) v = { 0 };
	for (uint32_t k = 0; k < p->nlines; k++) {
		const struct ss_line *l = &p->lines[k];
		for (uint32_t i = 0; ss_str_is(l->name, "Sparse Core Ops") && i < l->ev.n; i++)
			if (!ss_vec_push(&v, ((struct interval){ l->ev.begin_ps[i],
								 ss_xevents_end_ps(&l->ev, i) }))) {
				ss_vec_free(&v);
				return false;
			}
	}
	*out = (struct sparse){ .core_id = SPARSE_CORE_ID + (uint32_t)p->id,
				.busy = v.v,
				.n = join(v.v, v.n) };
	out->before_ps = calloc(out->n + 1, sizeof(*out->before_ps));
	for (size_t i = 0; out->before_ps && i < out->n; i++)
		out->before_ps[i + 1] =
			out->before_ps[i] + ss_safe_between(v.v[i].begin_ps, v.v[i].end_ps);
	return out->before_ps;
}

/* Busy time before `at_ps`. */
static uint64_t busy_before(const struct sparse *s, int64_t at_ps)
{
	size_t lo = 0, hi = s->n;
	SS_BISECT(lo, hi, mid, s->busy[mid].end_ps <= at_ps);
	if (lo < s->n && s->busy[lo].begin_ps < at_ps)
		return s->before_ps[lo] + ss_safe_between(s->busy[lo].begin_ps, at_ps);
	return s->before_ps[lo];
}

struct pass {
	struct ss_host *h;
	struct ss_host_steps *out;
	const struct ss_host_ops *ops;
	struct sparse *sparse;
	size_t nsparse;
	struct ss_host_marks marks;
	const struct ss_tpu_core **cores; /* TensorCores that have steps */
	size_t ncores;
	size_t *at; /* per core: next step */
	size_t ncores_out;
	size_t mark_at;
	bool host_input; /* the host prepares the input: no core has an infeed op */
};

static bool has_infeed(const struct ss_host_ops *ops)
{
	for (size_t i = 0; i < ops->ncores; i++)
		for (uint32_t k = 0; k < ops->cores[i].ncategories; k++)
			if (ss_str_contains(ops->cores[i].categories[k], SS_STR("infeed")))
				return true;
	return false;
}

static bool list_sparse(struct pass *s)
{
	s->sparse = calloc((size_t)s->h->nplanes + 1, sizeof(*s->sparse));
	if (!s->sparse)
		return false;
	for (uint32_t i = 0; i < s->h->nplanes; i++) {
		if (s->h->planes[i].kind != SS_PLANE_SPARSE_CORE)
			continue;
		struct sparse *sc = &s->sparse[s->nsparse++];
		if (!read_sparse(sc, &s->h->planes[i]))
			return false;
		if (sc->n == 0) {
			free(sc->before_ps);
			free(sc->busy);
			*sc = (struct sparse){ 0 };
			s->nsparse--;
		}
	}
	return true;
}

/*
 * Advance every core to the next group that all of them have; false: there is none. Cores that have
 * no step at all take no part.
 */
static bool next_common(struct pass *s, int64_t *group)
{
	for (size_t agreed = 0, i = 0; agreed < s->ncores; i = (i + 1) % s->ncores) {
		const struct ss_tpu_core *c = s->cores[i];
		while (s->at[i] < c->nsteps && agreed && c->steps[s->at[i]].group < *group)
			s->at[i]++;
		if (s->at[i] == c->nsteps)
			return false;
		if (agreed && c->steps[s->at[i]].group == *group) {
			agreed++;
		} else {
			*group = c->steps[s->at[i]].group;
			agreed = 1;
		}
	}
	return s->ncores > 0;
}

static const struct ss_host_mark *mark_of(struct pass *s, int64_t group)
{
	while (s->mark_at < s->marks.n && s->marks.v[s->mark_at].group < group)
		s->mark_at++;
	if (s->mark_at < s->marks.n && s->marks.v[s->mark_at].group == group)
		return &s->marks.v[s->mark_at];
	return NULL;
}

/* The longest marker; the host's, if it includes that. */
static void span_of_step(const struct pass *s, const struct ss_host_mark *mark,
			 struct ss_step *step)
{
	for (size_t i = 0; i < s->ncores; i++) {
		const struct ss_core_step *c = &s->cores[i]->steps[s->at[i]];
		if (i == 0 || c->dur_ps > step->dur_ps) {
			step->begin_ps = c->begin_ps;
			step->dur_ps = c->dur_ps;
		}
	}
	if (!mark || !mark->dur_ps)
		return;
	uint64_t mark_end = (uint64_t)mark->begin_ps + mark->dur_ps,
		 end = (uint64_t)step->begin_ps + step->dur_ps;
	if (mark->begin_ps <= step->begin_ps && (int64_t)end <= (int64_t)mark_end) {
		step->begin_ps = mark->begin_ps;
		step->dur_ps = mark->dur_ps;
	}
}

static void add_tensor_core(struct ss_step_core *out, const struct ss_tpu_core *core,
			    const struct ss_core_step *cs)
{
	uint64_t sum_ps = 0;
	for (uint32_t i = 0; i < cs->ncats; i++)
		sum_ps += core->cats[cs->first_cat + i].self_ps;
	out->kind = SS_STEP_TENSOR_CORE;
	out->core_id = core->core_id;
	out->core = core;
	out->step = cs;
	out->idle_ps = out->dur_ps > sum_ps ? out->dur_ps - sum_ps : 0;
}

/*
 * While the host prepared input, cores that did nothing were waiting for it: the same share of
 * every core's idle time. In ms, as in XProf, whose rounding this follows.
 */
static bool take_host_input(struct ss_step *step, uint64_t input_ps, struct ss_step_core *cores)
{
	struct ss_tpu_row row;
	if (!ss_tpu_row_of(step, &row))
		return false;
	double ratio = row.tc_idle_ms > 0 ? (double)input_ps / 1e9 / row.tc_idle_ms : 0;
	for (size_t i = 0; i < step->ncores; i++) {
		if (cores[i].kind != SS_STEP_TENSOR_CORE)
			continue;
		uint64_t moved_ps = ratio >= 1 ? cores[i].idle_ps
					       : ss_safe_u64(ratio * (double)cores[i].idle_ps);
		cores[i].idle_ps -= moved_ps;
		cores[i].host_input_ps = moved_ps;
	}
	return true;
}

static int by_core_id(const void *a, const void *b)
{
	const struct ss_step_core *ca = a, *cb = b;
	return SS_CMP(ca->core_id, cb->core_id);
}

/* As the program's thread calls it, "train 8"; else the number on the device's line. */
static struct ss_str name_of(const struct pass *s, const struct ss_host_mark *mark)
{
	struct ss_str own = s->ncores ? s->cores[0]->steps[s->at[0]].name : SS_STR("");
	int64_t num;
	if (mark && mark->name.n)
		return mark->name;
	return ss_str_to_i64(own, &num) ? own : SS_STR("");
}

static bool add_step(struct pass *s, int64_t group)
{
	struct ss_step *step = &s->out->steps.v[s->out->steps.n++];
	struct ss_step_core *cores = s->out->cores + s->ncores_out;
	const struct ss_host_mark *mark = mark_of(s, group);
	size_t n = 0;
	*step = (struct ss_step){ .num = group,
				  .name = name_of(s, mark),
				  .cores = cores };
	span_of_step(s, mark, step);
	for (size_t i = 0; i < s->ncores; i++) {
		cores[n] =
			(struct ss_step_core){ .begin_ps = step->begin_ps, .dur_ps = step->dur_ps };
		add_tensor_core(&cores[n], s->cores[i], &s->cores[i]->steps[s->at[i]]);
		n++;
	}
	int64_t end_ps = (int64_t)((uint64_t)step->begin_ps + step->dur_ps);
	for (size_t i = 0; i < s->nsparse; i++) {
		const struct sparse *sc = &s->sparse[i];
		cores[n++] = (struct ss_step_core){
			.kind = SS_STEP_SPARSE_CORE,
			.core_id = sc->core_id,
			.begin_ps = step->begin_ps,
			.dur_ps = step->dur_ps,
			.busy_ps = busy_before(sc, end_ps) - busy_before(sc, step->begin_ps),
		};
	}
	qsort(cores, n, sizeof(*cores), by_core_id);
	step->ncores = n;
	s->ncores_out += n;
	return !s->host_input || !mark || !mark->input_ps ||
	       take_host_input(step, mark->input_ps, cores);
}

static bool make_steps(struct pass *s)
{
	size_t max = SIZE_MAX;
	s->cores = calloc(s->ops->ncores + 1, sizeof(*s->cores));
	s->at = calloc(s->ops->ncores + 1, sizeof(*s->at));
	if (!s->cores || !s->at)
		return false;
	for (size_t i = 0; i < s->ops->ncores; i++) {
		if (s->ops->cores[i].nsteps == 0)
			continue;
		s->cores[s->ncores++] = &s->ops->cores[i];
		max = s->ops->cores[i].nsteps < max ? s->ops->cores[i].nsteps : max;
	}
	max = s->ncores ? max : 0;
	s->out->steps.v = calloc(max + 1, sizeof(*s->out->steps.v));
	s->out->cores = calloc(max + 1, (s->ncores + s->nsparse + 1) * sizeof(*s->out->cores));
	if (!s->out->steps.v || !s->out->cores)
		return false;
	int64_t group = 0;
	while (next_common(s, &group)) {
		if (!add_step(s, group))
			return false;
		for (size_t i = 0; i < s->ncores; i++)
			s->at[i]++;
	}
	return true;
}

bool ss_steps_by_category(struct ss_host_steps *out, struct ss_host *h, struct ss_err *err)
{
	struct pass s = { .h = h, .out = out, .ops = ss_host_ops(h, err) };
	if (!s.ops)
		return false;
	out->steps.by_category = true;
	s.host_input = !has_infeed(s.ops);
	bool ok = ss_host_marks_read(&s.marks, NULL, h, err);
	if (ok)
		ok = (list_sparse(&s) && make_steps(&s)) || ss_fail_mem(err);
	for (size_t i = 0; s.sparse && i < s.nsparse; i++) {
		free(s.sparse[i].busy);
		free(s.sparse[i].before_ps);
	}
	free(s.sparse);
	free(s.marks.v);
	free(s.at);
	free(s.cores);
	return ok;
}
