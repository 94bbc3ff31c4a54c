/*
 * read.c - see run.h: visits the hosts of a run, and adds each piece of time to its component,
 * operation and step.
 */
#include "diff/read.h"

#include "base/buf.h"
#include "model/host/host.h"
#include "model/host/identity.h"

#include "base/safe.h"
#include "model/device/env.h"
#include "model/preprocess/load.h"
#include "model/visit.h"

#include <stdlib.h>

#define PS_PER_US 1e6

struct ss_str ss_diff_component_name(enum ss_diff_component c)
{
	static const struct ss_str names[SS_DIFF_COMPONENTS] = {
		[SS_DIFF_COMPUTE] = SS_STR_INIT("compute"), [SS_DIFF_COMMUNICATION] = SS_STR_INIT("exposed_communication"),
		[SS_DIFF_COPIES] = SS_STR_INIT("copies"),   [SS_DIFF_INPUT] = SS_STR_INIT("input"),
		[SS_DIFF_OUTPUT] = SS_STR_INIT("output"),   [SS_DIFF_COMPILE] = SS_STR_INIT("compile"),
		[SS_DIFF_HOST] = SS_STR_INIT("host"),	    [SS_DIFF_IDLE] = SS_STR_INIT("idle"),
	};
	return names[c];
}

static enum ss_diff_component component_of(enum ss_time_class c)
{
	static const enum ss_diff_component of[SS_TIME_COUNT] = {
		[SS_TIME_COMPUTE] = SS_DIFF_COMPUTE, [SS_TIME_COLLECTIVE] = SS_DIFF_COMMUNICATION,
		[SS_TIME_COPY] = SS_DIFF_COPIES,     [SS_TIME_CALLBACK] = SS_DIFF_HOST,
		[SS_TIME_INPUT] = SS_DIFF_INPUT,     [SS_TIME_COMPILE] = SS_DIFF_COMPILE,
		[SS_TIME_GC] = SS_DIFF_HOST,	     [SS_TIME_LOCK] = SS_DIFF_HOST,
		[SS_TIME_HOST_CODE] = SS_DIFF_HOST,  [SS_TIME_LAUNCH] = SS_DIFF_HOST,
		[SS_TIME_SYNC] = SS_DIFF_HOST,	     [SS_TIME_UNKNOWN] = SS_DIFF_IDLE,
	};
	return of[c];
}

/* ---- the steps of a host ---- */

static double us_between(int64_t begin_ps, int64_t end_ps)
{
	return (double)ss_safe_between(begin_ps, end_ps) / PS_PER_US;
}

static double window_us(const struct ss_windows *w, size_t i)
{
	return us_between(w->v[i].begin_ps, w->v[i].end_ps);
}

static bool is_wanted(const struct ss_diff_selection *only, const struct ss_window *w)
{
	return !only->some_steps || (w->num >= only->first_step && w->num <= only->last_step);
}

/*
 * The first step on a CPU warms caches; one at either end that is far too short was cut by the
 * recording.
 */
static void leave_out_ends(struct ss_diff_reader *r, const double *us, double *scratch, size_t n, size_t *from, size_t *to)
{
	const struct ss_windows *w = r->windows;
	*from = 0;
	*to = n;
	if (n < 4 || r->only->some_steps)
		return;
	if (r->run->on_cpu)
		*from = 1;
	if (w->source == SS_STEPS_MARKED)
		return;
	memcpy(scratch, us, n * sizeof(*us));
	double least = 0.7 * ss_median(scratch, n);
	*from += us[*from] < least;
	*to -= us[*to - 1] < least;
}

static void mark_typical(struct ss_diff_reader *r, double *us, double *scratch, bool *outlier)
{
	const struct ss_windows *w = r->windows;
	size_t from, to, n = 0;
	for (size_t i = 0; i < w->n; i++)
		us[i] = window_us(w, i);
	leave_out_ends(r, us, scratch, w->n, &from, &to);
	for (size_t i = from; i < to; i++)
		if (is_wanted(r->only, &w->v[i])) {
			r->step_of[i] = 0;
			us[n++] = us[i]; /* n <= i */
		}
	ss_mark_outliers(us, n, outlier, scratch);
	for (size_t i = 0, k = 0; i < w->n; i++)
		if (r->step_of[i] != SS_NONE) {
			r->typical[i] = !outlier[k++];
		}
}

/* The first host says which steps there are; those of others are found by their number. */
static bool name_steps(struct ss_diff_reader *r, bool first)
{
	const struct ss_windows *w = r->windows;
	struct ss_diff_run *run = r->run;
	for (size_t i = 0; i < w->n; i++) {
		const struct ss_window *v = &w->v[i];
		if (r->step_of[i] == SS_NONE)
			continue;
		if (first) {
			struct ss_diff_step s = { v->num, (double)v->begin_ps / PS_PER_US, 0, false };
			r->step_of[i] = (uint32_t)run->steps.n;
			if (ss_u64map_add(&r->step_by_num, (uint64_t)v->num, r->step_of[i]) == SS_NONE ||
			    !ss_vec_push(&run->steps, s))
				return false;
		} else {
			r->step_of[i] = ss_u64map_get(&r->step_by_num, (uint64_t)v->num);
		}
	}
	return true;
}

/* If step numbers cannot be matched (they begin anew on each host), the n-th steps are matched. */
static void pair_by_order(struct ss_diff_reader *r, size_t kept)
{
	size_t found = 0, at = 0;
	for (size_t i = 0; i < r->windows->n; i++)
		found += r->step_of[i] != SS_NONE;
	if (2 * found >= kept)
		return;
	for (size_t i = 0; i < r->windows->n; i++) {
		bool counts = is_wanted(r->only, &r->windows->v[i]) && at < r->run->steps.n;
		r->step_of[i] = counts ? (uint32_t)at++ : SS_NONE;
	}
}

static void add_steps(struct ss_diff_reader *r)
{
	const struct ss_windows *w = r->windows;
	size_t n = 0, pauses = 0;
	double sum = 0, gaps = 0;
	for (size_t i = 0; i < w->n; i++) {
		uint32_t s = r->step_of[i];
		if (s == SS_NONE)
			continue;
		double us = window_us(w, i);
		r->run->steps.v[s].us += us;
		r->seen[s]++;
		r->weight[s] += r->typical[i];
		sum += us;
		n++;
		if (i + 1 < w->n && r->step_of[i + 1] != SS_NONE) {
			gaps += us_between(w->v[i].end_ps, w->v[i + 1].begin_ps);
			pauses++;
		}
	}
	r->mean_us += n ? sum / (double)n : 0;
	r->gap_us += pauses ? gaps / (double)pauses : 0;
}

static bool keep_gaps(struct ss_diff_reader *r)
{
	const struct ss_windows *w = r->windows;
	bool ok = true;
	for (size_t i = 0; ok && i + 1 < w->n; i++)
		if (r->step_of[i] != SS_NONE && r->step_of[i + 1] != SS_NONE)
			ok = ss_vec_push(&r->gaps, us_between(w->v[i].end_ps, w->v[i + 1].begin_ps));
	return ok;
}

static bool begin_run(struct ss_diff_reader *r)
{
	size_t n = r->run->steps.n;
	r->weight = calloc(n + 1, sizeof(*r->weight));
	r->seen = calloc(n + 1, sizeof(*r->seen));
	r->components.steps = r->ops.steps = r->functions.steps = n;
	return r->weight && r->seen && keep_gaps(r) && ss_diff_grid_rows(&r->components, SS_DIFF_COMPONENTS);
}

static bool find_steps(struct ss_diff_reader *r)
{
	size_t n = r->windows->n, kept = 0;
	double *us = calloc(n + 1, sizeof(*us)), *scratch = calloc(n + 1, sizeof(*scratch));
	bool *outlier = calloc(n + 1, sizeof(*outlier));
	r->step_of = malloc((n + 1) * sizeof(*r->step_of));
	r->typical = calloc(n + 1, sizeof(*r->typical));
	bool first = !r->run->nhosts, ok = us && scratch && outlier && r->step_of && r->typical;
	if (ok) {
		memset(r->step_of, 0xff, (n + 1) * sizeof(*r->step_of));
		mark_typical(r, us, scratch, outlier);
		for (size_t i = 0; i < n; i++)
			kept += r->step_of[i] != SS_NONE;
		ok = name_steps(r, first) && (!first || begin_run(r));
	}
	if (ok && !first)
		pair_by_order(r, kept);
	r->ntypical = 0;
	for (size_t i = 0; ok && i < n; i++)
		r->ntypical += r->step_of[i] != SS_NONE && r->typical[i];
	if (ok)
		add_steps(r);
	free(us);
	free(scratch);
	free(outlier);
	return ok;
}

/* ---- pieces ---- */

static bool begin_host(void *arg, const struct ss_pieces *p)
{
	struct ss_diff_reader *r = arg;
	r->windows = &p->about->windows;
	r->run->on_cpu = p->about->hardware == SS_HW_CPU_ONLY;
	r->nunits = p->nunits;
	if (!r->windows->n || !p->nunits)
		return true;
	if (!find_steps(r) || !ss_diff_host_facts(r, p))
		return false;
	r->scale = r->ntypical ? 1 / ((double)r->nunits * (double)r->ntypical) / PS_PER_US : 0;
	if (!r->run->nhosts) {
		r->run->steps_from = r->windows->source;
		r->run->device_alone = r->windows->device_alone;
		r->run->recorded_steps = r->windows->n + r->windows->ncut;
		r->least_num = r->most_num = r->windows->v[0].num;
		for (size_t i = 1; i < r->windows->n; i++) {
			int64_t num = r->windows->v[i].num;
			r->least_num = num < r->least_num ? num : r->least_num;
			r->most_num = num > r->most_num ? num : r->most_num;
		}
	}
	return ss_diff_read_functions(r, p);
}

static struct ss_diff_owner look_at(const struct ss_pieces *p, size_t owner)
{
	struct ss_piece_owner o = ss_pieces_owner(p, (uint32_t)owner);
	struct ss_str category = o.is_op ? ss_diff_category(o.plane, o.meta) : SS_STR("");
	bool sends = ss_str_contains(category, SS_STR("outfeed")) || ss_str_contains(category, SS_STR("host send"));
	enum ss_diff_component c = component_of(o.class);
	if (c == SS_DIFF_COPIES && sends)
		c = SS_DIFF_OUTPUT;
	else if (c == SS_DIFF_COMPUTE && ss_str_is(category, "data formatting"))
		c = SS_DIFF_COPIES; /* moves what is there, computes nothing */
	return (struct ss_diff_owner){
		.row = SS_NONE,
		.class = (uint8_t)o.class,
		.component = (uint8_t)c,
		.is_op = o.is_op,
	};
}

static bool begin_unit(void *arg, const struct ss_pieces *p)
{
	struct ss_diff_reader *r = arg;
	if (!ss_vec_reserve(&r->owners, p->nowners))
		return false;
	while (r->owners.n < p->nowners) {
		r->owners.v[r->owners.n] = look_at(p, r->owners.n);
		r->owners.n++;
	}
	r->pieces = p;
	r->run->ndevices++;
	return true;
}

static void add_to_op(struct ss_diff_reader *r, uint32_t owner, enum ss_diff_component c, size_t step, uint64_t ps)
{
	uint32_t *row = owner == SS_NO_OWNER ? &r->between : &r->owners.v[owner].row;
	if (*row == SS_NONE && !ss_diff_op_of(r, owner, c, row)) {
		r->no_memory = true;
		return;
	}
	ss_diff_grid_add(&r->ops, *row, step, (double)ps / PS_PER_US / (double)r->nunits);
	r->ops.total[*row] += (double)ps * r->scale;
}

static void add_piece(void *arg, size_t window, uint32_t owner, enum ss_time_class class, uint64_t ps)
{
	struct ss_diff_reader *r = arg;
	if (window == SIZE_MAX || !r->step_of || r->step_of[window] == SS_NONE || !r->typical[window] || r->no_memory)
		return;
	const struct ss_diff_owner *o = owner == SS_NO_OWNER ? NULL : &r->owners.v[owner];
	/* A pause that was given to what follows it has the class of that. */
	enum ss_diff_component c = o && o->class == class ? o->component : component_of(class);
	size_t step = r->step_of[window];
	ss_diff_grid_add(&r->components, c, step, (double)ps / PS_PER_US / (double)r->nunits);
	r->components.total[c] += (double)ps * r->scale;
	r->host_us[c] += (double)ps * r->scale;
	/* Waiting of the host by itself is not an operation. Moving data is one, also as a call of a runtime's thread. */
	if (c <= SS_DIFF_OUTPUT && (o ? o->is_op || c == SS_DIFF_COPIES : c == SS_DIFF_COMPUTE))
		add_to_op(r, owner, c, step, ps);
}

static bool end_unit(void *arg, const struct ss_pieces *p)
{
	struct ss_diff_reader *r = arg;
	double n = (double)r->windows->n * (double)p->nunits;
	for (size_t i = 0; i < p->nowners; i++) {
		uint32_t row = r->owners.v[i].row;
		if (row == SS_NONE || r->owners.v[i].counted)
			continue;
		r->owners.v[i].counted = true;
		r->run->ops.v[row].calls += n > 0 ? (double)ss_pieces_owner(p, (uint32_t)i).count / n : 0;
	}
	return !r->no_memory;
}

/* ---- hosts ---- */

static bool load(void *arg, size_t i, struct ss_host *h, struct ss_err *err)
{
	(void)arg;
	(void)i;
	return ss_host_is_raw(h) || ss_host_load(h, err);
}

static void forget_host(struct ss_diff_reader *r)
{
	free(r->step_of);
	free(r->typical);
	r->step_of = NULL;
	r->typical = NULL;
	ss_vec_free(&r->owners);
	ss_vec_free(&r->programs);
	ss_arena_release(&r->arena);
	memset(r->host_us, 0, sizeof(r->host_us));
	r->between = SS_NONE;
}

static bool keep_notes(struct ss_diff_run *run, const struct ss_host *h)
{
	for (uint32_t i = 0; i < h->x.nnotes; i++)
		if (!ss_vec_push(&run->notes, ss_intern_str(&run->texts, h->x.notes[i])))
			return false;
	return true;
}

static bool take(void *arg, size_t i, struct ss_host *h, struct ss_err *err)
{
	(void)i;
	struct ss_diff_reader *r = arg;
	const struct ss_piece_reader reader = { r, begin_host, begin_unit, add_piece, end_unit };
	struct ss_diff_host one = { ss_intern_str(&r->run->texts, h->name), { 0 } };
	r->host = h;
	bool ok = ss_host_pieces(h, &reader, err);
	if (ok && r->step_of) {
		memcpy(one.us, r->host_us, sizeof(one.us));
		r->run->nhosts++;
		ok = (ss_vec_push(&r->run->hosts, one) && ss_diff_program_facts(r)) || ss_fail_mem(err);
	}
	ok = ok && (keep_notes(r->run, h) || ss_fail_mem(err));
	forget_host(r);
	return ok;
}

/* ---- the run ---- */

/* A step is an outlier if it is one on most hosts that have it. */
static void finish_steps(struct ss_diff_reader *r, double *scratch)
{
	struct ss_diff_run *run = r->run;
	double hosts = (double)run->nhosts, sum = 0;
	size_t n = 0;
	for (size_t i = 0; i < run->steps.n; i++) {
		struct ss_diff_step *s = &run->steps.v[i];
		s->us = r->seen[i] ? s->us / r->seen[i] : 0;
		s->outlier = 2 * r->weight[i] < r->seen[i];
		run->typical += !s->outlier && r->seen[i];
		if (r->weight[i])
			scratch[n++] = s->us;
	}
	run->step = ss_sample_of(scratch, n);
	for (int c = 0; c < SS_DIFF_COMPONENTS; c++) {
		r->components.total[c] /= hosts;
		sum += r->components.total[c];
		run->components[c] = ss_diff_grid_sample(&r->components, (size_t)c, r->weight, scratch);
	}
	run->step.mean = sum;
	for (size_t i = 0; i < run->steps.n; i++)
		scratch[i] = run->steps.v[i].us;
	run->all = ss_sample_of(scratch, run->steps.n);
	run->all.mean = r->mean_us / hosts;
	run->outside = ss_sample_of(r->gaps.v, r->gaps.n);
	run->outside.mean = r->gap_us / hosts;
}

static void finish_rows(struct ss_diff_reader *r, double *scratch)
{
	struct ss_diff_run *run = r->run;
	double hosts = (double)run->nhosts;
	for (size_t i = 0; i < run->ops.n; i++) {
		r->ops.total[i] /= hosts;
		run->ops.v[i].us = ss_diff_grid_sample(&r->ops, i, r->weight, scratch);
		run->ops.v[i].calls /= hosts;
	}
	for (size_t i = 0; i < run->functions.n; i++) {
		r->functions.total[i] /= hosts;
		run->functions.v[i].us = ss_diff_grid_sample(&r->functions, i, r->weight, scratch);
		run->functions.v[i].calls /= hosts;
	}
}

static bool no_steps(const struct ss_diff_reader *r, struct ss_err *err)
{
	const struct ss_diff_run *run = r->run;
	if (r->only->some_steps && run->nhosts)
		return ss_fail(err, SS_ENODATA, "'" SS_FMT "' has no step with a number from %lld to %lld: it has %lld to %lld",
			       SS_ARG(run->path), (long long)r->only->first_step, (long long)r->only->last_step,
			       (long long)r->least_num, (long long)r->most_num);
	if (run->notes.n)
		return ss_fail(err, SS_ENODATA, "no step can be read: " SS_FMT, SS_ARG(run->notes.v[0]));
	return ss_fail(err, SS_ENODATA,
		       "'" SS_FMT "' has no steps: mark them (jax.profiler.StepTraceAnnotation, profiler.step()), or record "
		       "longer",
		       SS_ARG(run->path));
}

static bool finish(struct ss_diff_reader *r, struct ss_err *err)
{
	if (!r->run->nhosts || !r->run->steps.n)
		return no_steps(r, err);
	double *scratch = malloc((r->run->steps.n + 1) * sizeof(*scratch));
	if (!scratch)
		return ss_fail_mem(err);
	finish_steps(r, scratch);
	finish_rows(r, scratch);
	free(scratch);
	return ss_diff_run_facts(r) || ss_fail_mem(err);
}

bool ss_diff_run_read(struct ss_diff_run *out, struct ss_model *m, struct ss_str path, const struct ss_diff_selection *only,
		      struct ss_err *err)
{
	struct ss_diff_reader r = { .run = out, .only = only, .between = SS_NONE };
	const struct ss_visit visit = { load, take, &r };
	*out = (struct ss_diff_run){ .texts.copies = true, .device_type = SS_STR("") };
	out->path = ss_intern_str(&out->texts, path);
	bool ok = ss_model_visit(m, &visit, err) && finish(&r, err) && (!out->texts.no_memory || ss_fail_mem(err));
	forget_host(&r);
	free(r.weight);
	free(r.seen);
	ss_u64map_free(&r.step_by_num);
	ss_u64map_free(&r.op_by_key);
	ss_u64map_free(&r.function_by_key);
	ss_diff_grid_free(&r.components);
	ss_diff_grid_free(&r.ops);
	ss_diff_grid_free(&r.functions);
	ss_vec_free(&r.gaps);
	return ok;
}

static void scale(struct ss_sample *s, double factor)
{
	s->mean *= factor;
	s->sd *= factor;
	s->se *= factor;
}

static bool is_same_recording(const struct ss_diff_run *a, const struct ss_diff_run *b)
{
	bool same = a->steps.n == b->steps.n && a->ops.n == b->ops.n && a->steps.n;
	for (size_t i = 0; same && i < a->steps.n; i++)
		same = a->steps.v[i].begin_us == b->steps.v[i].begin_us && a->steps.v[i].us == b->steps.v[i].us;
	for (size_t i = 0; same && i < a->ops.n; i++)
		same = ss_str_eq(a->ops.v[i].name, b->ops.v[i].name) && a->ops.v[i].us.mean == b->ops.v[i].us.mean;
	return same;
}

bool ss_diff_run_drop_copy(struct ss_diff_run *v, size_t *n)
{
	struct ss_diff_run *last = &v[*n - 1];
	struct ss_buf b = { 0 };
	for (size_t i = 0; i + 1 < *n; i++) {
		if (!is_same_recording(&v[i], last))
			continue;
		ss_buf_printf(&b, "'" SS_FMT "' is the same recording as another one and was left out",
			      SS_ARG(last->path));
		bool ok = !b.no_memory && ss_vec_push(&v[i].notes, ss_intern_str(&v[i].texts, ss_buf_get(&b)));
		ss_buf_free(&b);
		ss_diff_run_release(last);
		(*n)--;
		return ok;
	}
	return true;
}

void ss_diff_run_scale(struct ss_diff_run *r, double factor)
{
	scale(&r->step, factor);
	scale(&r->all, factor);
	scale(&r->outside, factor);
	for (int i = 0; i < SS_DIFF_COMPONENTS; i++)
		scale(&r->components[i], factor);
	for (size_t i = 0; i < r->ops.n; i++)
		scale(&r->ops.v[i].us, factor);
	for (size_t i = 0; i < r->functions.n; i++)
		scale(&r->functions.v[i].us, factor);
	for (size_t i = 0; i < r->hosts.n; i++)
		for (int c = 0; c < SS_DIFF_COMPONENTS; c++)
			r->hosts.v[i].us[c] *= factor;
	for (size_t i = 0; i < r->steps.n; i++)
		r->steps.v[i].us *= factor;
}

void ss_diff_run_release(struct ss_diff_run *r)
{
	ss_vec_free(&r->steps);
	ss_vec_free(&r->ops);
	ss_vec_free(&r->functions);
	ss_vec_free(&r->hosts);
	ss_vec_free(&r->memory);
	ss_vec_free(&r->facts);
	ss_vec_free(&r->parameters);
	ss_vec_free(&r->notes);
	ss_intern_release(&r->texts);
	*r = (struct ss_diff_run){ 0 };
}
