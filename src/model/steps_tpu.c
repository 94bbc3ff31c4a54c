/*
 * steps_tpu.c - steps of a host's TPU cores, by HLO category (common_xspace, section 7.10).
 *
 * A step is one that every TensorCore has. Its span is that of the longest marker of all of them,
 * and all cores are measured against it: a core that is done early is idle until the slowest is.
 */
#include "model/ops_build.h"
#include "model/opname.h"
#include "model/steps.h"

#include "base/vec.h"

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
	return ia->begin_ps < ib->begin_ps ? -1 : ia->begin_ps > ib->begin_ps;
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
			out->before_ps[i] + (uint64_t)(v.v[i].end_ps - v.v[i].begin_ps);
	return out->before_ps;
}

/* Busy time before `at_ps`. */
static uint64_t busy_before(const struct sparse *s, int64_t at_ps)
{
	size_t lo = 0, hi = s->n;
	while (lo < hi) {
		size_t mid = (lo + hi) / 2;
		if (s->busy[mid].end_ps <= at_ps)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo < s->n && s->busy[lo].begin_ps < at_ps)
		return s->before_ps[lo] + (uint64_t)(at_ps - s->busy[lo].begin_ps);
	return s->before_ps[lo];
}

struct pass {
	struct ss_host *h;
	struct ss_host_steps *out;
	const struct ss_host_ops *ops;
	struct sparse *sparse;
	size_t nsparse;
	struct ss_host_marks marks;
	size_t *at; /* per core: next step */
	size_t ncores_out;
	size_t mark_at;
	bool host_input; /* the host prepares the input: no core has an infeed op */
};

static bool has_infeed(const struct ss_host_ops *ops)
{
	for (size_t i = 0; i < ops->ncores; i++)
		for (uint32_t k = 0; k < ops->cores[i].ncategories; k++)
			if (ss_str_is(ops->cores[i].categories[k], "infeed"))
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

/* Advance every core to the next group that all of them have; false: there is none. */
static bool next_common(struct pass *s, int64_t *group)
{
	const struct ss_host_ops *o = s->ops;
	for (size_t agreed = 0, i = 0; agreed < o->ncores; i = (i + 1) % o->ncores) {
		const struct ss_tpu_core *c = &o->cores[i];
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
	return true;
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
	for (size_t i = 0; i < s->ops->ncores; i++) {
		const struct ss_core_step *c = &s->ops->cores[i].steps[s->at[i]];
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

/* While the host prepared input, a core that did nothing was waiting for it. */
static void take_host_input(struct ss_step_core *c, uint64_t input_ps)
{
	if (c->idle_ps == 0)
		return;
	double ratio = (double)input_ps / (double)c->idle_ps;
	uint64_t moved_ps = ratio >= 1 ? c->idle_ps : (uint64_t)(ratio * (double)c->idle_ps);
	c->idle_ps -= moved_ps;
	c->host_input_ps = moved_ps;
}

static int by_core_id(const void *a, const void *b)
{
	const struct ss_step_core *ca = a, *cb = b;
	return ca->core_id < cb->core_id ? -1 : ca->core_id > cb->core_id;
}

static void add_step(struct pass *s, int64_t group)
{
	struct ss_step *step = &s->out->steps.v[s->out->steps.n++];
	struct ss_step_core *cores = s->out->cores + s->ncores_out;
	const struct ss_host_mark *mark = mark_of(s, group);
	size_t n = 0;
	*step = (struct ss_step){ .num = group,
				  .name = mark ? mark->name : SS_STR(""),
				  .cores = cores };
	span_of_step(s, mark, step);
	for (size_t i = 0; i < s->ops->ncores; i++) {
		cores[n] =
			(struct ss_step_core){ .begin_ps = step->begin_ps, .dur_ps = step->dur_ps };
		add_tensor_core(&cores[n], &s->ops->cores[i], &s->ops->cores[i].steps[s->at[i]]);
		if (s->host_input && mark)
			take_host_input(&cores[n], mark->input_ps);
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
}

static bool make_steps(struct pass *s)
{
	size_t most = s->ops->cores[0].nsteps, each = s->ops->ncores + s->nsparse;
	for (size_t i = 1; i < s->ops->ncores; i++)
		if (s->ops->cores[i].nsteps < most)
			most = s->ops->cores[i].nsteps;
	s->at = calloc(s->ops->ncores, sizeof(*s->at));
	s->out->steps.v = calloc(most + 1, sizeof(*s->out->steps.v));
	s->out->cores = calloc(most + 1, each * sizeof(*s->out->cores));
	if (!s->at || !s->out->steps.v || !s->out->cores)
		return false;
	int64_t group = 0;
	while (next_common(s, &group)) {
		add_step(s, group);
		for (size_t i = 0; i < s->ops->ncores; i++)
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
	if (ok && s.ops->ncores)
		ok = (list_sparse(&s) && make_steps(&s)) || ss_fail_mem(err);
	for (size_t i = 0; s.sparse && i < s.nsparse; i++) {
		free(s.sparse[i].busy);
		free(s.sparse[i].before_ps);
	}
	free(s.sparse);
	free(s.marks.v);
	free(s.at);
	return ok;
}
