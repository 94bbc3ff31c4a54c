/* compare.c - see compare.h. */
#include "diff/compare.h"

#include "statistics/distribution.h"

#include <math.h>
#include <stdlib.h>

#define ALPHA 0.05
#define BAND_ONE_RUN 0.02
#define BAND_RUNS 0.01
/*
 * An operation, a function, a component that is no more than this of the step is not worth a word.
 */
#define LEAST_FUNCTION_FRAC 0.005
#define LEAST_PART_FRAC 0.002
/* An interval wider than this of the base tells nothing. */
#define NOISY_FRAC 0.25
#define OUTLIERS_MATTER_FRAC 0.02
#define WANTED_CHANGE_FRAC 0.03

struct ss_str ss_diff_verdict_name(enum ss_diff_verdict v)
{
	static const struct ss_str names[] = {
		[SS_DIFF_SLOWER] = SS_STR_INIT("slower"),
		[SS_DIFF_FASTER] = SS_STR_INIT("faster"),
		[SS_DIFF_NO_SIGNIFICANT_CHANGE] = SS_STR_INIT("no_significant_change"),
		[SS_DIFF_TOO_NOISY] = SS_STR_INIT("too_noisy"),
		[SS_DIFF_NOT_COMPARABLE] = SS_STR_INIT("not_comparable"),
	};
	return names[v];
}

struct ss_str ss_diff_part_name(int part)
{
	return part == SS_DIFF_OUTLIERS	 ? SS_STR("outlier_steps")
	       : part == SS_DIFF_OUTSIDE ? SS_STR("outside_steps")
					 : ss_diff_component_name((enum ss_diff_component)part);
}

/* ---- one figure ---- */

/* A figure of a run, as a sample. */
typedef struct ss_sample figure_fn(const struct ss_diff_run *r, int which);

static bool compare_figures(struct ss_diff *d, figure_fn *of, int which, struct ss_comparison *out)
{
	struct ss_sample *v = calloc(d->base.n + d->new.n, sizeof(*v));
	if (!v)
		return false;
	for (size_t i = 0; i < d->base.n; i++)
		v[i] = of(&d->base.runs[i], which);
	for (size_t i = 0; i < d->new.n; i++)
		v[d->base.n + i] = of(&d->new.runs[i], which);
	*out = ss_compare((struct ss_runs){ v, d->base.n }, (struct ss_runs){ v + d->base.n, d->new.n }, d->options.alpha);
	free(v);
	return true;
}

static struct ss_sample step_of(const struct ss_diff_run *r, int which)
{
	(void)which;
	return r->step;
}

static struct ss_sample part_of(const struct ss_diff_run *r, int which)
{
	return which == SS_DIFF_OUTSIDE ? r->outside : r->components[which];
}

/*
 * What steps that are not typical add to the mean. They are rare and come by themselves, so that as many more or fewer as the root
 * of their number are chance (Poisson): runs that have equally many by luck prove nothing.
 */
static struct ss_sample outliers_of(const struct ss_diff_run *r)
{
	struct ss_sample s = { .n = r->steps.n };
	double squares = 0;
	for (size_t i = 0; i < r->steps.n; i++) {
		double more = r->steps.v[i].us - r->step.mean;
		if (!r->steps.v[i].outlier)
			continue;
		squares += more * more;
		s.df++;
	}
	if (s.df > 0) { /* else it is a rounding error */
		s.mean = r->all.mean - r->step.mean;
		s.se = sqrt(squares) / (double)r->steps.n;
	}
	return s;
}

static struct ss_sample mean_step_of(const struct ss_diff_run *r, int which)
{
	struct ss_sample s = r->all;
	if (which) {
		s.mean += r->outside.mean;
		s.se = hypot(s.se, r->outside.se);
	}
	return s;
}

static void judge(const struct ss_diff *d, struct ss_diff_row *r, double least)
{
	double size = r->c.base > 0 ? r->c.base : 0;
	r->p_adjusted = isnan(r->p_adjusted) ? r->c.p : r->p_adjusted;
	struct ss_comparison c = r->c;
	struct ss_rule rule = { d->options.alpha, d->options.band_frac * size, d->one_run };
	c.p = r->p_adjusted;
	r->significant = ss_changed(&c, &rule) && fabs(r->c.delta) >= least;
	r->detectable = ss_detectable(&c, &rule);
}

/* No time is below 0: none gets shorter by more than it is. */
static void bound(struct ss_comparison *c)
{
	c->low = c->low < -c->base && c->delta >= -c->base ? -c->base : c->low;
}

static bool compare_step(struct ss_diff *d)
{
	if (!compare_figures(d, step_of, 0, &d->step.c) || !compare_figures(d, mean_step_of, 0, &d->mean_step.c) ||
	    !compare_figures(d, mean_step_of, 1, &d->period.c))
		return false;
	d->step.p_adjusted = d->mean_step.p_adjusted = d->period.p_adjusted = NAN;
	struct ss_diff_row *const rows[] = { &d->step, &d->mean_step, &d->period };
	for (size_t i = 0; i < SS_COUNT(rows); i++) {
		bound(&rows[i]->c);
		judge(d, rows[i], 0);
	}
	size_t n = d->one_run ? d->base.runs[0].typical : d->base.n < d->new.n ? d->base.n : d->new.n;
	d->needed = ss_samples_needed(&d->step.c, n, WANTED_CHANGE_FRAC * d->step.c.base,
				      &(struct ss_rule){ d->options.alpha, d->options.band_frac * d->step.c.base, d->one_run });
	return true;
}

static size_t steps_of(const struct ss_diff_side *s)
{
	size_t n = 0;
	for (size_t i = 0; i < s->n; i++)
		n += s->runs[i].steps.n;
	return n;
}

static size_t outliers_on(const struct ss_diff_side *s)
{
	size_t n = 0;
	for (size_t i = 0; i < s->n; i++)
		n += s->runs[i].steps.n - s->runs[i].typical;
	return n;
}

/* With several runs a side, the runs' contributions; else how many there are. */
static bool compare_outliers(struct ss_diff *d)
{
	struct ss_diff_row *r = &d->parts[SS_DIFF_OUTLIERS];
	struct ss_sample *v = calloc(d->base.n + d->new.n, sizeof(*v));
	if (!v)
		return false;
	for (size_t i = 0; i < d->base.n; i++)
		v[i] = outliers_of(&d->base.runs[i]);
	for (size_t i = 0; i < d->new.n; i++)
		v[d->base.n + i] = outliers_of(&d->new.runs[i]);
	r->c = ss_compare_rare((struct ss_runs){ v, d->base.n }, (struct ss_runs){ v + d->base.n, d->new.n }, d->options.alpha);
	free(v);
	if (d->base.n < 2 || d->new.n < 2) {
		r->c.low = r->c.high = r->c.mde = NAN;
		r->c.p =
			ss_fisher_exact(outliers_on(&d->base), steps_of(&d->base), outliers_on(&d->new), steps_of(&d->new));
	}
	r->p_adjusted = r->c.p;
	r->detectable = r->c.mde;
	r->significant = r->c.p < d->options.alpha && fabs(r->c.delta) > LEAST_PART_FRAC * d->step.c.base;
	return true;
}

static bool compare_parts(struct ss_diff *d)
{
	for (int i = 0; i < SS_DIFF_PARTS; i++) {
		struct ss_diff_row *r = &d->parts[i];
		r->p_adjusted = NAN;
		if (i == SS_DIFF_OUTLIERS) {
			if (!compare_outliers(d))
				return false;
			continue;
		}
		if (!compare_figures(d, part_of, i, &r->c))
			return false;
		bound(&r->c);
		judge(d, r, LEAST_PART_FRAC * d->step.c.base);
	}
	return true;
}

static enum ss_diff_verdict verdict_of(struct ss_diff *d)
{
	const struct ss_diff_row *out = &d->parts[SS_DIFF_OUTLIERS];
	if (ss_diff_is_refused(d))
		return SS_DIFF_NOT_COMPARABLE;
	double delta = d->step.significant ? d->step.c.delta : 0;
	if (out->significant && fabs(out->c.delta) > OUTLIERS_MATTER_FRAC * d->step.c.base &&
	    fabs(out->c.delta) > fabs(delta)) {
		d->outliers_decide = true;
		delta += out->c.delta;
	}
	if (delta != 0)
		return delta > 0 ? SS_DIFF_SLOWER : SS_DIFF_FASTER;
	bool wide = !(d->step.c.high - d->step.c.low <= NOISY_FRAC * d->step.c.base);
	return wide ? SS_DIFF_TOO_NOISY : SS_DIFF_NO_SIGNIFICANT_CHANGE;
}

/* ---- many rows ---- */

struct rows {
	struct ss_diff_row **v;
	size_t n;
	struct ss_sample *base, *new; /* of a row after the other */
	double *values;
	struct ss_log_row *logs;
	bool *in_logs;
};

static void rows_free(struct rows *t)
{
	free(t->v);
	free(t->base);
	free(t->new);
	free(t->values);
	free(t->logs);
	free(t->in_logs);
}

static bool rows_init(struct rows *t, const struct ss_diff *d, size_t n)
{
	t->n = n;
	t->v = calloc(n + 1, sizeof(*t->v));
	t->base = calloc(n * d->base.n + 1, sizeof(*t->base));
	t->new = calloc(n * d->new.n + 1, sizeof(*t->new));
	t->values = calloc(n + d->base.n + d->new.n + 1, sizeof(*t->values));
	t->logs = calloc(2 * n + 1, sizeof(*t->logs));
	t->in_logs = calloc(n + 1, sizeof(*t->in_logs));
	return t->v && t->base && t->new && t->values && t->logs && t->in_logs;
}

/* Operations of one row: steps that are slow are slow for all of them, so their errors add up. */
void ss_diff_add_samples(struct ss_sample *to, const struct ss_sample *from, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		to[i].df = to[i].n ? fmin(to[i].df, from[i].df) : from[i].df;
		to[i].n = from[i].n > to[i].n ? from[i].n : to[i].n;
		to[i].mean += from[i].mean;
		to[i].se += from[i].se;
	}
}

static bool log_row(const struct ss_diff *d, struct rows *t, size_t i, struct ss_log_row *out)
{
	double *b = t->values, *n = b + d->base.n;
	for (size_t k = 0; k < d->base.n; k++)
		b[k] = t->base[i * d->base.n + k].mean;
	for (size_t k = 0; k < d->new.n; k++)
		n[k] = t->new[i * d->new.n + k].mean;
	return !d->one_run && ss_log_row_of(b, d->base.n, n, d->new.n, out);
}

/* Few runs tell little of the spread of one row, and much of that of all. */
static void moderate(const struct ss_diff *d, struct rows *t)
{
	size_t n = 0;
	for (size_t i = 0; i < t->n; i++) {
		t->in_logs[i] = log_row(d, t, i, &t->logs[t->n + i]);
		if (t->in_logs[i])
			t->logs[n++] = t->logs[t->n + i]; /* n <= i */
	}
	struct ss_moderation m = ss_moderation_of(t->logs, n);
	for (size_t i = 0; i < t->n; i++) {
		if (!t->in_logs[i])
			continue;
		struct ss_comparison c = ss_compare_logs(&t->logs[t->n + i], &m, d->base.n, d->new.n, d->options.alpha);
		struct ss_comparison *to = &t->v[i]->c;
		double scale = c.base > 0 ? to->base / c.base : 1;
		to->p = c.p;
		to->df = c.df;
		to->se = c.se * scale;
		to->low = fmin(c.low * scale, to->delta);
		to->high = fmax(c.high * scale, to->delta);
		to->mde = c.mde * scale;
	}
}

/* A side that does not have a row spends no time on it, which is as sure as anything. */
static void fill_absent(struct ss_sample *v, const struct ss_diff_side *s, size_t n)
{
	for (size_t i = 0; i < n * s->n; i++)
		if (!v[i].n)
			v[i] = (struct ss_sample){ .n = s->runs[i % s->n].step.n, .df = s->runs[i % s->n].step.df };
}

static bool compare_rows(struct ss_diff *d, struct rows *t, double least)
{
	fill_absent(t->base, &d->base, t->n);
	fill_absent(t->new, &d->new, t->n);
	for (size_t i = 0; i < t->n; i++)
		t->v[i]->c = ss_compare_means((struct ss_runs){ t->base + i * d->base.n, d->base.n },
					      (struct ss_runs){ t->new + i * d->new.n, d->new.n }, d->options.alpha);
	moderate(d, t);
	for (size_t i = 0; i < t->n; i++)
		t->values[i] = t->v[i]->c.p;
	if (!ss_adjust_p(t->values, t->n))
		return false;
	for (size_t i = 0; i < t->n; i++) {
		t->v[i]->p_adjusted = t->values[i];
		if (least > 0)
			bound(&t->v[i]->c);
		judge(d, t->v[i], least);
	}
	return true;
}

bool ss_diff_compare_samples(struct ss_diff *d, const struct ss_sample *base, const struct ss_sample *new, size_t n, double least,
			     struct ss_diff_row *out)
{
	struct rows t = { 0 };
	bool ok = rows_init(&t, d, n);
	for (size_t i = 0; ok && i < n; i++)
		t.v[i] = &out[i];
	if (ok && n) {
		memcpy(t.base, base, n * d->base.n * sizeof(*base));
		memcpy(t.new, new, n * d->new.n * sizeof(*new));
	}
	ok = ok && compare_rows(d, &t, least);
	rows_free(&t);
	return ok;
}

/* The chain of a row's operations, in the order of the side. */
static void chain(uint32_t *first, uint32_t *next, const uint32_t *row, size_t stride, size_t n)
{
	for (size_t i = n; i-- > 0;) {
		uint32_t *head = (uint32_t *)(void *)((char *)(void *)first + row[i] * stride);
		next[i] = *head;
		*head = (uint32_t)i;
	}
}

static void add_chain(struct ss_sample *to, const struct ss_diff_side *s, uint32_t at, const uint32_t *next)
{
	for (; at != SS_NONE; at = next[at])
		ss_diff_add_samples(to, s->op_us + (size_t)at * s->n, s->n);
}

static bool compare_ops(struct ss_diff *d)
{
	struct ss_matching *m = &d->match;
	struct rows t = { 0 };
	d->ops = calloc(m->rows + 1, sizeof(*d->ops));
	d->next_base = calloc(d->base.ops.n + 1, sizeof(*d->next_base));
	d->next_new = calloc(d->new.ops.n + 1, sizeof(*d->next_new));
	bool ok = d->ops && d->next_base && d->next_new && rows_init(&t, d, m->rows);
	for (size_t i = 0; ok && i < m->rows; i++) {
		d->ops[i].how = m->how[i];
		d->ops[i].first_base = d->ops[i].first_new = SS_NONE;
		t.v[i] = &d->ops[i].r;
	}
	if (ok) {
		chain(&d->ops[0].first_base, d->next_base, m->base_row, sizeof(*d->ops), d->base.ops.n);
		chain(&d->ops[0].first_new, d->next_new, m->new_row, sizeof(*d->ops), d->new.ops.n);
	}
	for (size_t i = 0; ok && i < m->rows; i++) {
		struct ss_diff_op_row *o = &d->ops[i];
		o->component = o->first_base != SS_NONE ? d->base.ops.v[o->first_base].op->component
							: d->new.ops.v[o->first_new].op->component;
		add_chain(t.base + i * d->base.n, &d->base, o->first_base, d->next_base);
		add_chain(t.new + i * d->new.n, &d->new, o->first_new, d->next_new);
	}
	ok = ok && compare_rows(d, &t, SS_DIFF_LEAST_OP_FRAC * d->step.c.base);
	rows_free(&t);
	return ok;
}

bool ss_diff_compare_groups(struct ss_diff *d, const uint32_t *group, size_t n, struct ss_diff_row *out)
{
	struct rows t = { 0 };
	bool ok = rows_init(&t, d, n);
	for (size_t i = 0; ok && i < n; i++)
		t.v[i] = &out[i];
	for (size_t i = 0; ok && i < d->match.rows; i++) {
		add_chain(t.base + group[i] * d->base.n, &d->base, d->ops[i].first_base, d->next_base);
		add_chain(t.new + group[i] * d->new.n, &d->new, d->ops[i].first_new, d->next_new);
	}
	ok = ok && compare_rows(d, &t, SS_DIFF_LEAST_OP_FRAC * d->step.c.base);
	rows_free(&t);
	return ok;
}

/* ---- host functions ---- */

static bool pair_functions(struct ss_diff *d)
{
	struct ss_strmap names = { 0 };
	d->functions = calloc(d->base.functions.n + d->new.functions.n + 1, sizeof(*d->functions));
	bool ok = d->functions;
	for (size_t i = 0; ok && i < d->base.functions.n; i++) {
		ok = ss_strmap_add(&names, d->base.functions.v[i].name) != SS_NONE;
		d->functions[d->nfunctions].base = (uint32_t)i;
		d->functions[d->nfunctions++].new = SS_NONE;
	}
	for (size_t i = 0; ok && i < d->new.functions.n; i++) {
		uint32_t at = ss_strmap_get(&names, d->new.functions.v[i].name);
		if (at == SS_NONE) {
			at = (uint32_t)d->nfunctions++;
			d->functions[at].base = SS_NONE;
		}
		d->functions[at].new = (uint32_t)i;
	}
	ss_strmap_free(&names);
	return ok;
}

static bool compare_functions(struct ss_diff *d)
{
	struct rows t = { 0 };
	bool ok = pair_functions(d) && rows_init(&t, d, d->nfunctions);
	for (size_t i = 0; ok && i < d->nfunctions; i++) {
		struct ss_diff_function_row *f = &d->functions[i];
		t.v[i] = &f->r;
		if (f->base != SS_NONE)
			ss_diff_add_samples(t.base + i * d->base.n, d->base.function_us + (size_t)f->base * d->base.n, d->base.n);
		if (f->new != SS_NONE)
			ss_diff_add_samples(t.new + i * d->new.n, d->new.function_us + (size_t)f->new * d->new.n, d->new.n);
	}
	ok = ok && compare_rows(d, &t, LEAST_FUNCTION_FRAC * d->step.c.base);
	rows_free(&t);
	return ok;
}

/* ---- all ---- */

static double peak_of(const struct ss_diff_side *s)
{
	double sum = 0;
	for (size_t i = 0; i < s->n; i++) {
		if (!s->runs[i].memory.n)
			return NAN;
		sum += s->runs[i].memory.v[0].bytes;
	}
	return sum / (double)s->n;
}

static void set_options(struct ss_diff *d)
{
	d->one_run = d->base.n == 1 && d->new.n == 1;
	if (!(d->options.alpha > 0))
		d->options.alpha = ALPHA;
	if (!(d->options.band_frac > 0))
		d->options.band_frac = d->one_run ? BAND_ONE_RUN : BAND_RUNS;
}

bool ss_diff_compare(struct ss_diff *d, struct ss_err *err)
{
	set_options(d);
	d->base_peak_bytes = peak_of(&d->base);
	d->new_peak_bytes = peak_of(&d->new);
	ss_diff_check_all(d);
	bool ok = true;
	for (size_t i = 0; ok && ss_diff_is_per_example(d) && i < d->new.n; i++)
		ss_diff_run_scale(&d->new.runs[i], 1 / d->batch_factor);
	ok = ok && ss_diff_side_make(&d->base) && ss_diff_side_make(&d->new) && compare_step(d) && compare_parts(d) &&
	     ss_match_ops(&d->match, &d->base, &d->new) && compare_ops(d) && compare_functions(d);
	if (ok)
		d->verdict = verdict_of(d);
	return ok || ss_fail_mem(err);
}

void ss_diff_free(struct ss_diff *d)
{
	ss_diff_side_free(&d->base);
	ss_diff_side_free(&d->new);
	ss_matching_free(&d->match);
	free(d->ops);
	free(d->next_base);
	free(d->next_new);
	free(d->functions);
	ss_arena_release(&d->arena);
}
