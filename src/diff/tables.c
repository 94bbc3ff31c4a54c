/* tables.c - see result.h. */
#include "diff/result.h"

#include "table/cols.h"

#include <math.h>
#include <stdlib.h>

bool ss_diff_by_of(struct ss_str word, enum ss_diff_by *out)
{
#define BY(id, name, table) \
	if (ss_str_is(word, name)) { \
		*out = SS_DIFF_BY_##id; \
		return true; \
	}
	SS_DIFF_VIEWS(BY)
#undef BY
	return false;
}

/* ---- metrics ---- */

enum { M_METRIC, M_UNIT, M_BASE, M_NEW, M_DELTA, M_FRAC, M_LOW, M_HIGH, M_P, M_MDE, M_VERDICT };

static const struct ss_col metric_cols[] = {
	STR("metric", "Metric", NULL),
	STR("unit", "Unit", "Unit of base, new, delta, the interval and the smallest detectable change: us, bytes or count"),
	NUM("base", "Base", NONE, "Mean over the runs of the base"),
	NUM("new", "New", NONE, "Mean over the runs of the new side"),
	NUM("delta", "Delta", NONE, "New minus base"),
	NUM("delta_frac", "Delta (%)", FRAC, "Delta divided by base"),
	NUM("ci_low", "95 % from", NONE,
	    "Begin of the interval that holds the true delta with 95 % confidence (1 - alpha)"),
	NUM("ci_high", "95 % to", NONE, "End of that interval"),
	NUM("p_value", "p", NONE, "Probability of a difference at least as large if nothing had changed; empty: no test"),
	NUM("mde", "Detectable Change", NONE,
	    "Smallest change that 8 of 10 comparisons like this one would find"),
	STR("verdict", "Verdict", "more, less, no_change, unknown"),
};

static double frac(double part, double whole)
{
	return whole > 0 ? part / whole : NAN;
}

static void metric(struct ss_table *t, const char *name, const char *unit, const struct ss_diff_row *r, bool refused)
{
	const struct ss_comparison *c = &r->c;
	bool known = !isnan(c->delta) && !refused, tested = !isnan(c->p) || strcmp(unit, "bytes") == 0;
	const char *verdict = !known || !tested ? "unknown"
			      : !r->significant ? "no_change"
			      : c->delta > 0	? "more"
						: "less";
	ss_table_row(t);
	ss_set_str(t, M_METRIC, ss_str_from(name));
	ss_set_str(t, M_UNIT, ss_str_from(unit));
	ss_set_f64(t, M_BASE, c->base);
	ss_set_f64(t, M_NEW, c->new);
	ss_set_f64(t, M_DELTA, c->delta);
	ss_set_f64(t, M_FRAC, frac(c->delta, c->base));
	ss_set_f64(t, M_LOW, c->low);
	ss_set_f64(t, M_HIGH, c->high);
	ss_set_f64(t, M_P, c->p);
	ss_set_f64(t, M_MDE, r->detectable);
	ss_set_str(t, M_VERDICT, ss_str_from(verdict));
}

/* Steps in a second follow from the period, and the ends of the interval with it. */
static struct ss_diff_row rate_of(const struct ss_diff *d)
{
	const struct ss_comparison *c = &d->period.c;
	struct ss_diff_row r = d->period;
	r.c.base = frac(1e6, c->base);
	r.c.new = frac(1e6, c->new);
	r.c.delta = r.c.new - r.c.base;
	double slow = c->base + c->high, fast = c->base + c->low;
	r.c.low = slow > 0 ? 1e6 / slow - r.c.base : NAN;
	r.c.high = fast > 0 ? 1e6 / fast - r.c.base : NAN;
	r.detectable = c->base > 0 ? r.c.base * d->period.detectable / c->base : NAN;
	if (!ss_diff_is_per_example(d))
		return r;
	/* Times are of as many examples, and steps are of what they were recorded with: their number says nothing. */
	r.c.new /= d->batch_factor;
	r.c.delta = r.c.new - r.c.base;
	r.c.low = r.c.high = r.c.p = r.detectable = NAN;
	r.significant = false;
	return r;
}

/* Bytes are what they are: any difference is one. */
static struct ss_diff_row peak_of(const struct ss_diff *d)
{
	struct ss_diff_row r = {
		.c = { .base = d->base_peak_bytes, .new = d->new_peak_bytes, .low = NAN, .high = NAN, .p = NAN },
		.detectable = NAN
	};
	r.c.delta = r.c.new - r.c.base;
	r.significant = fabs(r.c.delta) > 0;
	return r;
}

static void add_metrics(struct ss_diff *d, struct ss_result *out)
{
	bool refused = ss_diff_is_refused(d);
	struct ss_table *t = ss_result_table(out, "metrics", "Figures", metric_cols, SS_COUNT(metric_cols));
	struct ss_diff_row rate = rate_of(d), peak = peak_of(d);
	metric(t, "step_time", "us", &d->step, refused);
	metric(t, "step_period", "us", &d->period, refused);
	metric(t, "mean_step_time", "us", &d->mean_step, refused);
	for (int i = 0; i < SS_DIFF_PARTS; i++)
		metric(t, ss_diff_part_name(i).p, "us", &d->parts[i], refused);
	metric(t, "peak_memory", "bytes", &peak, false);
	metric(t, "steps_per_second", "count", &rate, refused);
	ss_table_prop_num(t, "band_frac", "Difference between recordings of an unchanged program", SS_UNIT_FRAC,
			  d->options.band_frac, "%.3f");
	ss_table_prop_num(t, "needed",
			  d->one_run ? "Steps that would find a change of 3 %"
				     : "Runs a side that would find a change of 3 %",
			  SS_UNIT_COUNT, (double)d->needed, "%.0f");
}

/* ---- breakdown ---- */

enum { B_COMPONENT, B_BASE, B_NEW, B_DELTA, B_LOW, B_HIGH, B_P, B_SIGNIFICANT };

static const struct ss_col breakdown_cols[] = {
	STR("component", "Component", "Part of the step; each moment of a step belongs to one part"),
	NUM("base_us", "Base", US, NULL),
	LIKE("new_us", "New", US, "base_us", NULL),
	LIKE("delta_us", "Delta", US, "base_us", "New minus base; the rows sum to the delta of the period"),
	LIKE("ci_low_us", "95 % from", US, "base_us", NULL),
	LIKE("ci_high_us", "95 % to", US, "base_us", NULL),
	NUM("p_value", "p", NONE, NULL),
	FLAG("significant", "Significant", "Whether the change is beyond noise and large enough to matter"),
};

static bool add_breakdown(struct ss_diff *d, struct ss_result *out)
{
	struct ss_table *t =
		ss_result_table(out, "breakdown", "Where the difference is", breakdown_cols, SS_COUNT(breakdown_cols));
	double sum = 0;
	bool ok = t;
	for (int i = 0; ok && i < SS_DIFF_PARTS; i++) {
		const struct ss_diff_row *r = &d->parts[i];
		ss_table_row(t);
		if (!ok)
			break;
		ss_set_str(t, B_COMPONENT, ss_diff_part_name(i));
		ss_set_f64(t, B_BASE, r->c.base);
		ss_set_f64(t, B_NEW, r->c.new);
		ss_set_f64(t, B_DELTA, r->c.delta);
		ss_set_f64(t, B_LOW, r->c.low);
		ss_set_f64(t, B_HIGH, r->c.high);
		ss_set_f64(t, B_P, r->c.p);
		ss_set_bool(t, B_SIGNIFICANT, r->significant && !ss_diff_is_refused(d));
		sum += r->c.delta;
	}
	if (!ok)
		return false;
	ss_table_prop_num(t, "step_period_delta_us", "Delta of the period", SS_UNIT_US, d->period.c.delta, "%.3f");
	ss_table_prop_num(t, "step_time_delta_us", "Delta of the step", SS_UNIT_US, d->step.c.delta, "%.3f");
	ss_table_prop_num(t, "sum_delta_us", "Sum of the rows", SS_UNIT_US, sum, "%.3f");
	return true;
}

/* ---- operations ---- */

enum {
	O_MATCH,
	O_BASE_NAME,
	O_NEW_NAME,
	O_BASE_PATH,
	O_NEW_PATH,
	O_COMPONENT,
	O_BASE,
	O_NEW,
	O_DELTA,
	O_FRAC,
	O_LOW,
	O_HIGH,
	O_P,
	O_ADJUSTED,
	O_SIGNIFICANT,
	O_BASE_CALLS,
	O_NEW_CALLS,
	O_SHARE,
	O_BASE_SHAPE,
	O_NEW_SHAPE,
	O_SOURCE,
	O_MODULE,
	O_KERNEL
};

static const struct ss_col op_cols[] = {
	STR("match", "Match",
	    "How base and new were matched: path, name, graph, split, merged; or added, removed"),
	STR("base_name", "Base", NULL),
	STR("new_name", "New", NULL),
	STR("base_path", "Base Path", "Place in the user's program"),
	STR("new_path", "New Path", NULL),
	STR("component", "Component", NULL),
	NUM("base_us", "Base", US, "Time per step and device in which nothing of higher rank ran"),
	LIKE("new_us", "New", US, "base_us", NULL),
	LIKE("delta_us", "Delta", US, "base_us", NULL),
	NUM("delta_frac", "Delta (%)", FRAC, NULL),
	LIKE("ci_low_us", "95 % from", US, "base_us", NULL),
	LIKE("ci_high_us", "95 % to", US, "base_us", NULL),
	NUM("p_value", "p", NONE, NULL),
	NUM("p_adjusted", "p adjusted", NONE,
	    "p after Benjamini and Hochberg: of rows below 0.05, at most 5 % are false alarms"),
	FLAG("significant", "Significant", NULL),
	NUM("base_calls", "Base Calls", COUNT, "Per step and device"),
	NUM("new_calls", "New Calls", COUNT, NULL),
	NUM("share_frac", "Share", FRAC, "Delta divided by the step's delta; empty if the step did not change"),
	STR("base_shape", "Base Shape", NULL),
	STR("new_shape", "New Shape", NULL),
	STR("source", "Source", NULL),
	STR("module", "Module", NULL),
	STR("kernel", "Kernel", NULL),
};

static double calls_of(const struct ss_diff_side *s, uint32_t first, const uint32_t *next)
{
	double calls = 0;
	for (uint32_t i = first; i != SS_NONE; i = next[i])
		calls += s->ops.v[i].calls;
	return calls;
}

/* For a row of several operations, the joined paths; texts are those of the first. */
static struct ss_str paths_of(struct ss_arena *a, const struct ss_diff_side *s, uint32_t first, const uint32_t *next)
{
	struct ss_str all = SS_STR(""), last = SS_STR("");
	size_t n = 0;
	for (uint32_t i = first; i != SS_NONE && all.p && n < SS_DIFF_JOINED; i = next[i]) {
		struct ss_str path = s->ops.v[i].op->path;
		if (!path.n || ss_str_eq(path, last))
			continue;
		all = n++ ? ss_arena_printf(a, SS_FMT " + " SS_FMT, SS_ARG(all), SS_ARG(path)) : path;
		last = path;
	}
	return all.p ? all : SS_STR("");
}

static void set_op(struct ss_diff *d, struct ss_table *t, const struct ss_diff_op_row *o)
{
	const struct ss_str none = SS_STR("");
	const struct ss_diff_op *b = o->first_base == SS_NONE ? NULL : d->base.ops.v[o->first_base].op;
	const struct ss_diff_op *n = o->first_new == SS_NONE ? NULL : d->new.ops.v[o->first_new].op;
	const struct ss_diff_op *any = n ? n : b;
	const struct ss_comparison *c = &o->r.c;
	bool shared = d->verdict == SS_DIFF_SLOWER || d->verdict == SS_DIFF_FASTER;
	ss_set_str(t, O_MATCH, ss_match_name(o->how));
	ss_set_str(t, O_BASE_NAME, ss_diff_names(&d->arena, &d->base, o->first_base, d->next_base));
	ss_set_str(t, O_NEW_NAME, ss_diff_names(&d->arena, &d->new, o->first_new, d->next_new));
	ss_set_str(t, O_BASE_PATH, paths_of(&d->arena, &d->base, o->first_base, d->next_base));
	ss_set_str(t, O_NEW_PATH, paths_of(&d->arena, &d->new, o->first_new, d->next_new));
	ss_set_str(t, O_COMPONENT, ss_diff_component_name(o->component));
	ss_set_f64(t, O_BASE, c->base);
	ss_set_f64(t, O_NEW, c->new);
	ss_set_f64(t, O_DELTA, c->delta);
	ss_set_f64(t, O_FRAC, frac(c->delta, c->base));
	ss_set_f64(t, O_LOW, c->low);
	ss_set_f64(t, O_HIGH, c->high);
	ss_set_f64(t, O_P, c->p);
	ss_set_f64(t, O_ADJUSTED, o->r.p_adjusted);
	ss_set_bool(t, O_SIGNIFICANT, o->r.significant && !ss_diff_is_refused(d));
	ss_set_f64(t, O_BASE_CALLS, calls_of(&d->base, o->first_base, d->next_base));
	ss_set_f64(t, O_NEW_CALLS, calls_of(&d->new, o->first_new, d->next_new));
	ss_set_f64(t, O_SHARE, shared && d->step.c.delta != 0 ? c->delta / d->step.c.delta : NAN);
	ss_set_str(t, O_BASE_SHAPE, b ? b->shape : none);
	ss_set_str(t, O_NEW_SHAPE, n ? n->shape : none);
	ss_set_str(t, O_SOURCE, any->source);
	ss_set_str(t, O_MODULE, any->module);
	ss_set_str(t, O_KERNEL, any->kernel);
}

static bool add_ops(struct ss_diff *d, struct ss_result *out)
{
	struct ss_table *t = ss_result_table(out, "ops", "Operations", op_cols, SS_COUNT(op_cols));
	uint32_t *order = ss_diff_ops_in_order(d);
	bool ok = order;
	if (ok)
		ss_table_reserve(t, d->match.rows);
	for (size_t i = 0; ok && i < d->match.rows; i++) {
		ss_table_row(t);
		if (ok)
			set_op(d, t, &d->ops[order[i]]);
	}
	free(order);
	if (!ok)
		return false;
	ss_table_prop_num(t, "matched_base_frac", "Operation time of base that has a partner", SS_UNIT_FRAC,
			  d->match.matched_base_frac, "%.4f");
	ss_table_prop_num(t, "matched_new_frac", "Operation time of new that has a partner", SS_UNIT_FRAC,
			  d->match.matched_new_frac, "%.4f");
	return true;
}

/* ---- the host ---- */

enum { F_FUNCTION, F_BASE, F_NEW, F_DELTA, F_P, F_ADJUSTED, F_SIGNIFICANT, F_BASE_CALLS, F_NEW_CALLS };

static const struct ss_col function_cols[] = {
	STR("function", "Function", "Function on the thread that starts programs"),
	NUM("base_us", "Base", US, "Self time per step, without called functions"),
	LIKE("new_us", "New", US, "base_us", NULL),
	LIKE("delta_us", "Delta", US, "base_us", NULL),
	NUM("p_value", "p", NONE, NULL),
	NUM("p_adjusted", "p adjusted", NONE, NULL),
	FLAG("significant", "Significant", NULL),
	NUM("base_calls", "Base Calls", COUNT, "Per step"),
	NUM("new_calls", "New Calls", COUNT, NULL),
};

static int by_delta(const void *a, const void *b)
{
	const struct ss_diff_function_row *x = a, *y = b;
	double dx = fabs(x->r.c.delta), dy = fabs(y->r.c.delta);
	return SS_CMP(dy, dx) ?: SS_CMP(x->base, y->base) ?: SS_CMP(x->new, y->new);
}

static bool add_functions(struct ss_diff *d, struct ss_result *out)
{
	struct ss_table *t = ss_result_table(out, "host", "Functions of the host", function_cols, SS_COUNT(function_cols));
	bool both = d->base.runs[0].has_functions && d->new.runs[0].has_functions, ok = t;
	if (d->nfunctions)
		qsort(d->functions, d->nfunctions, sizeof(*d->functions), by_delta);
	for (size_t i = 0; ok && both && i < d->nfunctions; i++) {
		const struct ss_diff_function_row *f = &d->functions[i];
		ss_table_row(t);
		if (!ok)
			break;
		ss_set_str(t, F_FUNCTION,
			   f->base != SS_NONE ? d->base.functions.v[f->base].name : d->new.functions.v[f->new].name);
		ss_set_f64(t, F_BASE, f->r.c.base);
		ss_set_f64(t, F_NEW, f->r.c.new);
		ss_set_f64(t, F_DELTA, f->r.c.delta);
		ss_set_f64(t, F_P, f->r.c.p);
		ss_set_f64(t, F_ADJUSTED, f->r.p_adjusted);
		ss_set_bool(t, F_SIGNIFICANT, f->r.significant && !ss_diff_is_refused(d));
		ss_set_f64(t, F_BASE_CALLS, f->base != SS_NONE ? d->base.functions.v[f->base].calls : 0);
		ss_set_f64(t, F_NEW_CALLS, f->new != SS_NONE ? d->new.functions.v[f->new].calls : 0);
	}
	return ok;
}

static const struct ss_col host_cols[] = {
	STR("host", "Host", NULL),
	NUM("base_busy_us", "Base Busy", US, "Computing, per step and device"),
	LIKE("new_busy_us", "New Busy", US, "base_busy_us", NULL),
	LIKE("delta_us", "Delta", US, "base_busy_us", NULL),
};

static bool add_hosts(struct ss_diff *d, struct ss_result *out)
{
	struct ss_table *t = ss_result_table(out, "hosts", "Hosts", host_cols, SS_COUNT(host_cols));
	size_t n;
	struct ss_diff_host_pair *v = ss_diff_host_pairs(d, &n);
	for (size_t i = 0; v && i < n; i++) {
		const double *b = v[i].us[0], *w = v[i].us[1];
		ss_table_row(t);
		ss_set_str(t, 0, v[i].name);
		ss_set_f64(t, 1, b[SS_DIFF_COMPUTE]);
		ss_set_f64(t, 2, w[SS_DIFF_COMPUTE]);
		ss_set_f64(t, 3, w[SS_DIFF_COMPUTE] - b[SS_DIFF_COMPUTE]);
	}
	free(v);
	return v;
}

/* ---- memory, steps, environment ---- */

static const struct ss_col memory_cols[] = {
	STR("what", "What", NULL),
	NUM("base_bytes", "Base", BYTES, NULL),
	LIKE("new_bytes", "New", BYTES, "base_bytes", NULL),
	LIKE("delta_bytes", "Delta", BYTES, "base_bytes", NULL),
};

static double memory_of(const struct ss_diff_side *s, struct ss_str what)
{
	double sum = 0;
	for (size_t i = 0; i < s->n; i++) {
		double bytes = NAN;
		for (size_t k = 0; k < s->runs[i].memory.n; k++)
			if (ss_str_eq(s->runs[i].memory.v[k].what, what))
				bytes = s->runs[i].memory.v[k].bytes;
		sum += bytes / (double)s->n;
	}
	return sum;
}

static void add_memory(struct ss_diff *d, struct ss_result *out)
{
	struct ss_table *t = ss_result_table(out, "memory", "Memory", memory_cols, SS_COUNT(memory_cols));
	const struct ss_diff_run *r = &d->base.runs[0];
	for (size_t i = 0; i < r->memory.n; i++) {
		double b = memory_of(&d->base, r->memory.v[i].what), n = memory_of(&d->new, r->memory.v[i].what);
		ss_table_row(t);
		ss_set_str(t, 0, r->memory.v[i].what);
		ss_set_f64(t, 1, b);
		ss_set_f64(t, 2, n);
		ss_set_f64(t, 3, n - b);
	}
}

static const struct ss_col step_cols[] = {
	STR("side", "Side", NULL),
	INT("run", "Run", NONE, "Number of the run on its side, from 0"),
	INT("step", "Step", NONE, "Its number"),
	NUM("begin_us", "Begin", US, "Begin on the first host, since the begin of its recording"),
	NUM("duration_us", "Duration", US, "Mean over the hosts"),
	FLAG("outlier", "Outlier", "Whether the step is much longer or shorter than most"),
};

static void add_steps_of(struct ss_table *t, const struct ss_diff_side *s, struct ss_str side)
{
	for (size_t i = 0; i < s->n; i++)
		for (size_t k = 0; k < s->runs[i].steps.n; k++) {
			const struct ss_diff_step *v = &s->runs[i].steps.v[k];
			ss_table_row(t);
			ss_set_str(t, 0, side);
			ss_set_i64(t, 1, (int64_t)i);
			ss_set_i64(t, 2, v->num);
			ss_set_f64(t, 3, v->begin_us);
			ss_set_f64(t, 4, v->us);
			ss_set_bool(t, 5, v->outlier);
		}
}

static void add_steps(struct ss_diff *d, struct ss_result *out)
{
	struct ss_table *t = ss_result_table(out, "steps", "Steps", step_cols, SS_COUNT(step_cols));
	add_steps_of(t, &d->base, SS_STR("base"));
	add_steps_of(t, &d->new, SS_STR("new"));
}

static const struct ss_col environment_cols[] = {
	STR("key", "What", NULL),
	STR("base", "Base", NULL),
	STR("new", "New", NULL),
	FLAG("differs", "Differs", NULL),
	STR("effect", "Effect", "none; noted; normalised; refused: no verdict on times"),
};

static const char *effect_of(const struct ss_diff *d, struct ss_str key, bool differs)
{
	for (size_t i = 0; i < d->nchecks; i++)
		if (ss_str_is(key, d->checks[i].what))
			return d->checks[i].state == SS_DIFF_REFUSED ? "refused" : differs ? "noted" : "none";
	if (ss_str_is(key, "entry_parameters") && d->batch_factor > 0)
		return d->options.per_example ? "normalised" : "refused";
	return differs ? "noted" : "none";
}

static void add_fact(struct ss_diff *d, struct ss_table *t, struct ss_str key, struct ss_str base, struct ss_str new)
{
	/* Everything is per step: how many there are does not matter. */
	bool differs = !ss_str_eq(base, new) && !ss_str_is(key, "steps");
	ss_table_row(t);
	ss_set_str(t, 0, key);
	ss_set_str(t, 1, base);
	ss_set_str(t, 2, new);
	ss_set_bool(t, 3, differs);
	ss_set_str(t, 4, ss_str_from(effect_of(d, key, differs)));
}

static bool add_environment(struct ss_diff *d, struct ss_result *out)
{
	struct ss_table *t =
		ss_result_table(out, "environment", "Environment", environment_cols, SS_COUNT(environment_cols));
	const struct ss_diff_run *b = &d->base.runs[0], *n = &d->new.runs[0];
	bool ok = t;
	for (size_t i = 0; ok && i < b->facts.n; i++)
		add_fact(d, t, b->facts.v[i].key, b->facts.v[i].value, ss_diff_fact_of(n, b->facts.v[i].key));
	for (size_t i = 0; ok && i < n->facts.n; i++)
		if (!ss_diff_fact_of(b, n->facts.v[i].key).n)
			add_fact(d, t, n->facts.v[i].key, SS_STR(""), n->facts.v[i].value);
	return ok;
}

static const struct ss_col check_cols[] = {
	STR("what", "What", NULL),
	STR("state", "State", "compared, normalised, refused"),
	STR("reason", "Reason", NULL),
};

static void add_checks(struct ss_diff *d, struct ss_result *out)
{
	static const char *const states[] = { "compared", "normalised", "refused" };
	struct ss_table *t = ss_result_table(out, "comparability", "Comparable", check_cols, SS_COUNT(check_cols));
	for (size_t i = 0; i < d->nchecks; i++) {
		ss_table_row(t);
		ss_set_str(t, 0, ss_str_from(d->checks[i].what));
		ss_set_str(t, 1, ss_str_from(states[d->checks[i].state]));
		ss_set_str(t, 2, d->checks[i].reason);
	}
}

bool ss_diff_result(struct ss_diff *d, enum ss_diff_by by, struct ss_result *out, struct ss_err *err)
{
	add_metrics(d, out);
	if (!add_breakdown(d, out) || !add_ops(d, out) || !ss_diff_add_view(d, by, out) || !add_functions(d, out) ||
	    !add_hosts(d, out))
		return ss_fail_mem(err);
	add_memory(d, out);
	add_steps(d, out);
	if (!add_environment(d, out))
		return ss_fail_mem(err);
	add_checks(d, out);
	if (!ss_diff_say(d, out))
		return ss_fail_mem(err);
	return ss_result_is_whole(out, err);
}
