/* gate.c - see gate.h. */
#include "diff/gate.h"

#include "table/cols.h"
#include "table/units.h"

#include <math.h>
#include <stdlib.h>

struct ss_str ss_gate_state_name(enum ss_gate_state s)
{
	static const struct ss_str names[] = { SS_STR_INIT("no_verdict"), SS_STR_INIT("pass"), SS_STR_INIT("fail") };
	return names[s];
}

/* ---- limits ---- */

static const struct unit {
	struct ss_str name;
	double factor;
	bool bytes;
} units[] = {
	{ SS_STR_INIT("us"), 1, false },	  { SS_STR_INIT("ms"), 1e3, false },
	{ SS_STR_INIT("s"), 1e6, false },	  { SS_STR_INIT("B"), 1, true },
	{ SS_STR_INIT("KiB"), 1024, true },	  { SS_STR_INIT("MiB"), 1048576, true },
	{ SS_STR_INIT("GiB"), 1073741824, true },
};

static bool read_number(struct ss_str s, struct ss_limit *l)
{
	size_t digits = 0;
	double v;
	while (digits < s.n && ((s.p[digits] >= '0' && s.p[digits] <= '9') || s.p[digits] == '.'))
		digits++;
	struct ss_str unit = ss_str_sub(s, digits, s.n);
	if (!digits || !ss_str_to_f64(ss_str_sub(s, 0, digits), &v) || !isfinite(v) || !(v > 0))
		return false;
	l->relative = ss_str_is(unit, "%");
	l->value = v / 100;
	for (size_t i = 0; !l->relative && i < SS_COUNT(units); i++)
		if (ss_str_eq(unit, units[i].name)) {
			l->value = v * units[i].factor;
			l->bytes = units[i].bytes;
			return true;
		}
	return l->relative;
}

/* Figures of the comparison by their name. */
static const struct ss_diff_row *row_named(const struct ss_diff *d, struct ss_str name)
{
	for (int i = 0; i < SS_DIFF_PARTS; i++)
		if (ss_str_eq(name, ss_diff_part_name(i)))
			return &d->parts[i];
	return ss_str_is(name, "step_time")	   ? &d->step
	       : ss_str_is(name, "step_period")	   ? &d->period
	       : ss_str_is(name, "mean_step_time") ? &d->mean_step
						   : NULL;
}

static bool is_of(const struct ss_limit *l, struct ss_str kind, struct ss_str *rest)
{
	*rest = l->metric;
	return ss_str_take(rest, kind) && rest->n;
}

static bool is_memory(const struct ss_limit *l)
{
	return ss_str_is(l->metric, "peak_memory");
}

static bool compile(struct ss_gate *g, struct ss_limit *l, struct ss_str pattern, struct ss_err *err)
{
	struct ss_str z = ss_arena_str(&g->arena, pattern);
	if (strlen(z.p) != z.n || regcomp(&l->pattern, z.p, REG_EXTENDED | REG_NOSUB) != 0)
		return ss_fail(err, SS_EINVAL, "'" SS_FMT "' is not a regular expression", SS_ARG(pattern));
	l->has_pattern = true;
	return true;
}

static bool check_metric(struct ss_gate *g, struct ss_limit *l, struct ss_err *err)
{
	const struct ss_diff none = { .verdict = SS_DIFF_TOO_NOISY };
	struct ss_str rest;
	if (is_of(l, SS_STR("op:"), &rest))
		return compile(g, l, rest, err);
	if (!is_of(l, SS_STR("scope:"), &rest) && !is_of(l, SS_STR("host:"), &rest) && !is_memory(l) &&
	    !row_named(&none, l->metric))
		return ss_fail(err, SS_EINVAL,
			       "there is no metric '" SS_FMT
			       "': use step_time, step_period, mean_step_time, peak_memory, a row of the "
			       "breakdown (compute, input ...), op:REGEX, scope:PREFIX or host:FUNCTION",
			       SS_ARG(l->metric));
	return true;
}

/* "peak_memory=+0%": `at` is where "=+" stands. */
static bool is_zero_limit(struct ss_str text, size_t at)
{
	struct ss_str number = at == SS_NPOS ? SS_STR("") : ss_str_sub(text, at + 2, text.n);
	size_t n = 0;
	while (n < number.n && (number.p[n] == '0' || number.p[n] == '.'))
		n++;
	return n && (n == number.n || ((number.p[n] < '0' || number.p[n] > '9')));
}

static bool add_limit(struct ss_gate *g, struct ss_str text, struct ss_err *err)
{
	struct ss_limit l = { .given = text, .reason = SS_STR("") };
	size_t at = ss_str_find(text, SS_STR("=+"));
	if (at == SS_NPOS || !at || !read_number(ss_str_sub(text, at + 2, text.n), &l))
		return is_zero_limit(text, at) ? ss_fail(err, SS_EINVAL,
							 "'" SS_FMT "': a limit must be above 0: two measured times are "
							 "never equal, and "
							 "peak_memory=+1B fails on more than one byte",
							 SS_ARG(text))
					       : ss_fail(err, SS_EINVAL,
			       "'" SS_FMT "' is not a limit: write METRIC=+3%% or METRIC=+10us (us, ms, s, B, KiB, MiB, GiB)",
			       SS_ARG(text));
	l.metric = ss_str_sub(text, 0, at);
	if (!l.relative && l.bytes != is_memory(&l))
		return ss_fail(err, SS_EINVAL, "'" SS_FMT "': %s", SS_ARG(text),
			       l.bytes ? "this metric is a time" : "this metric is in bytes");
	if (!check_metric(g, &l, err))
		return false;
	if (ss_vec_push(&g->limits, l))
		return true;
	if (l.has_pattern)
		regfree(&l.pattern);
	return ss_fail_mem(err);
}

/* A limit ends at the first comma behind its "=+": patterns may hold some. */
bool ss_gate_add_limits(struct ss_gate *g, struct ss_str text, struct ss_err *err)
{
	while (text.n) {
		size_t eq = ss_str_find(text, SS_STR("=+"));
		size_t comma = eq == SS_NPOS ? SS_NPOS : ss_str_chr(ss_str_sub(text, eq, text.n), ',');
		size_t end = comma == SS_NPOS ? text.n : eq + comma;
		if (!add_limit(g, ss_str_sub(text, 0, end), err))
			return false;
		text = ss_str_sub(text, end + 1, text.n);
	}
	return g->limits.n || ss_fail(err, SS_EINVAL, "no limit is given");
}

/* ---- figures ---- */

static bool matches(const struct ss_limit *l, struct ss_str s, struct ss_arena *a, bool *no_memory)
{
	struct ss_str z = s.n ? ss_arena_str(a, s) : SS_STR("");
	*no_memory = *no_memory || !z.p;
	return z.p && s.n && regexec(&l->pattern, z.p, 0, NULL, 0) == 0;
}

static bool wants_op(const struct ss_limit *l, const struct ss_diff_op *o, struct ss_str prefix, struct ss_arena *a,
		     bool *no_memory)
{
	return l->has_pattern ? matches(l, o->name, a, no_memory) || matches(l, o->path, a, no_memory)
			      : ss_str_starts(o->path, prefix);
}

/* The sum of the operations that the limit is about. *found: there are some. */
static bool sum_ops(struct ss_gate *g, struct ss_diff *d, const struct ss_limit *l, struct ss_str prefix,
		    struct ss_diff_row *out, bool *found)
{
	uint32_t *group = malloc((d->match.rows + 1) * sizeof(*group));
	struct ss_diff_row rows[2] = { { .p_adjusted = NAN }, { .p_adjusted = NAN } };
	bool no_memory = !group;
	*found = false;
	for (size_t i = 0; !no_memory && i < d->match.rows; i++) {
		bool wanted = false;
		for (uint32_t k = d->ops[i].first_base; k != SS_NONE && !wanted; k = d->next_base[k])
			wanted = wants_op(l, d->base.ops.v[k].op, prefix, &g->arena, &no_memory);
		for (uint32_t k = d->ops[i].first_new; k != SS_NONE && !wanted; k = d->next_new[k])
			wanted = wants_op(l, d->new.ops.v[k].op, prefix, &g->arena, &no_memory);
		group[i] = wanted ? 0 : 1;
		*found = *found || wanted;
	}
	bool ok = !no_memory && ss_diff_compare_groups(d, group, 2, rows);
	*out = rows[0];
	free(group);
	return ok;
}

static const struct ss_diff_row *function_row(const struct ss_diff *d, struct ss_str name)
{
	for (size_t i = 0; i < d->nfunctions; i++) {
		const struct ss_diff_function_row *f = &d->functions[i];
		struct ss_str is = f->base != SS_NONE ? d->base.functions.v[f->base].name : d->new.functions.v[f->new].name;
		if (ss_str_eq(is, name))
			return &f->r;
	}
	return NULL;
}

/* ---- judgement ---- */

static void decide(struct ss_limit *l, enum ss_gate_state state, struct ss_str reason)
{
	l->state = state;
	l->reason = reason.p ? reason : SS_STR("");
}

static struct ss_str value_text(struct ss_gate *g, const struct ss_limit *l, double v)
{
	struct ss_str s = ss_unit_text(&g->arena, is_memory(l) ? SS_UNIT_BYTES : SS_UNIT_US, fabs(v));
	return s.p ? ss_arena_printf(&g->arena, "%s" SS_FMT, v < 0 ? "-" : "+", SS_ARG(s)) : s;
}

static void judge_memory(struct ss_gate *g, const struct ss_diff *d, struct ss_limit *l)
{
	l->base = d->base_peak_bytes;
	l->delta = d->new_peak_bytes - d->base_peak_bytes;
	if (isnan(l->delta)) {
		decide(l, SS_GATE_NO_VERDICT, SS_STR("the profiles do not hold peak memory"));
		return;
	}
	l->limit = l->relative ? l->value * l->base : l->value;
	struct ss_str delta = value_text(g, l, l->delta), limit = value_text(g, l, l->limit);
	decide(l, l->delta > l->limit ? SS_GATE_FAIL : SS_GATE_PASS,
	       ss_arena_printf(&g->arena, SS_FMT " of " SS_FMT " allowed", SS_ARG(delta), SS_ARG(limit)));
}

/* A limit of the step does not cover longer pauses between steps. */
static struct ss_str beside_the_limit(struct ss_gate *g, const struct ss_diff *d, const struct ss_limit *l)
{
	const struct ss_diff_row *outside = &d->parts[SS_DIFF_OUTSIDE];
	if (!outside->significant || l->delta + outside->c.delta <= l->limit)
		return SS_STR("");
	return ss_arena_printf(&g->arena, ", but " SS_FMT " more pass between steps: limit step_period as well",
			       SS_ARG(value_text(g, l, outside->c.delta)));
}

static void judge_row(struct ss_gate *g, const struct ss_diff *d, struct ss_limit *l, const struct ss_diff_row *r)
{
	const struct ss_comparison *c = &r->c;
	const struct ss_diff_row *out = &d->parts[SS_DIFF_OUTLIERS];
	bool step = ss_str_is(l->metric, "step_time");
	l->base = c->base;
	l->delta = c->delta;
	l->low = c->low;
	l->high = c->high;
	l->mde = c->mde;
	l->limit = l->relative ? l->value * c->base : l->value;
	double band = d->options.band_frac * d->step.c.base;
	struct ss_str delta = value_text(g, l, c->delta), limit = value_text(g, l, l->limit);
	/*
	 * With one run a side nothing is known of other runs: the whole interval must be beyond
	 * what they may differ by.
	 */
	bool sure = c->p < d->options.alpha && (!d->one_run || c->low > d->options.band_frac * c->base);
	bool outliers = step && out->significant && c->delta + out->c.delta > l->limit;
	if (!(l->limit > 0) || isnan(c->delta))
		decide(l, SS_GATE_NO_VERDICT, SS_STR("this metric is 0 in the base: give the limit in us, ms or s"));
	else if (d->one_run && step && l->limit < band)
		decide(l, SS_GATE_NO_VERDICT,
		       ss_arena_printf(&g->arena,
				       "one run a side cannot show changes below %g %%: record 3 or more runs a side",
				       100 * d->options.band_frac));
	else if (c->delta > l->limit && sure)
		decide(l, SS_GATE_FAIL,
		       ss_arena_printf(&g->arena, SS_FMT " is more than " SS_FMT " (p %.2g)", SS_ARG(delta), SS_ARG(limit),
				       c->p));
	else if (outliers)
		decide(l, SS_GATE_FAIL,
		       ss_arena_printf(&g->arena,
				       "steps that take far longer than most make the mean step " SS_FMT " longer",
				       SS_ARG(value_text(g, l, c->delta + out->c.delta))));
	else if (c->delta > l->limit)
		decide(l, SS_GATE_NO_VERDICT,
		       ss_arena_printf(&g->arena, SS_FMT " is more than " SS_FMT ", but may be noise: record more runs",
				       SS_ARG(delta), SS_ARG(limit)));
	else if (c->high < l->limit || c->mde <= l->limit)
		decide(l, SS_GATE_PASS,
		       ss_arena_printf(&g->arena, SS_FMT " of " SS_FMT " allowed" SS_FMT, SS_ARG(delta), SS_ARG(limit),
				       SS_ARG(step ? beside_the_limit(g, d, l) : SS_STR(""))));
	else
		decide(l, SS_GATE_NO_VERDICT,
		       ss_arena_printf(&g->arena, "too noisy to tell a change of " SS_FMT ": record more steps or runs",
				       SS_ARG(limit)));
}

static struct ss_str refusal(struct ss_gate *g, const struct ss_diff *d)
{
	for (size_t i = 0; i < d->nchecks; i++)
		if (d->checks[i].state == SS_DIFF_REFUSED)
			return ss_arena_printf(&g->arena, "not comparable: " SS_FMT, SS_ARG(d->checks[i].reason));
	return SS_STR("");
}

static bool judge_limit(struct ss_gate *g, struct ss_diff *d, struct ss_limit *l)
{
	struct ss_diff_row sum;
	const struct ss_diff_row *r = row_named(d, l->metric);
	size_t runs = d->base.n < d->new.n ? d->base.n : d->new.n;
	struct ss_str rest;
	bool found = true;
	l->limit = l->delta = l->base = l->low = l->high = l->mde = NAN;
	if (runs < g->min_runs) {
		decide(l, SS_GATE_NO_VERDICT,
		       ss_arena_printf(&g->arena, "a side has %zu run%s, and --min-runs asks for %zu", runs, runs == 1 ? "" : "s",
				       g->min_runs));
		return true;
	}
	if (is_memory(l)) {
		judge_memory(g, d, l);
		return true;
	}
	if (ss_diff_is_refused(d)) {
		decide(l, SS_GATE_NO_VERDICT, refusal(g, d));
		return true;
	}
	if (l->has_pattern || is_of(l, SS_STR("scope:"), &rest)) {
		if (!sum_ops(g, d, l, l->has_pattern ? SS_STR("") : rest, &sum, &found))
			return false;
		r = &sum;
	} else if (is_of(l, SS_STR("host:"), &rest)) {
		r = function_row(d, rest);
	}
	if (!found || !r)
		decide(l, SS_GATE_NO_VERDICT, SS_STR("the profiles do not hold this metric: check the name"));
	else
		judge_row(g, d, l, r);
	return true;
}

bool ss_gate_judge(struct ss_gate *g, struct ss_diff *d, struct ss_err *err)
{
	for (size_t i = 0; i < g->limits.n; i++)
		if (!judge_limit(g, d, &g->limits.v[i]))
			return ss_fail_mem(err);
	return true;
}

bool ss_gate_accept(struct ss_gate *g, struct ss_str metric, struct ss_str reason, struct ss_err *err)
{
	bool found = false;
	for (size_t i = 0; i < g->limits.n; i++) {
		struct ss_limit *l = &g->limits.v[i];
		if (!ss_str_eq(l->metric, metric))
			continue;
		found = true;
		if (l->state == SS_GATE_FAIL)
			decide(l, SS_GATE_PASS,
			       ss_arena_printf(&g->arena, "accepted: " SS_FMT " (" SS_FMT ")", SS_ARG(reason),
					       SS_ARG(l->reason)));
	}
	return found || ss_fail(err, SS_EINVAL, "--accept '" SS_FMT "': no limit is on it", SS_ARG(metric));
}

enum ss_gate_state ss_gate_verdict(const struct ss_gate *g)
{
	enum ss_gate_state all = g->limits.n ? SS_GATE_PASS : SS_GATE_NO_VERDICT;
	for (size_t i = 0; i < g->limits.n; i++) {
		if (g->limits.v[i].state == SS_GATE_FAIL)
			return SS_GATE_FAIL;
		if (g->limits.v[i].state == SS_GATE_NO_VERDICT)
			all = SS_GATE_NO_VERDICT;
	}
	return all;
}

static const struct ss_col limit_cols[] = {
	STR("metric", "Metric", NULL),
	STR("limit", "Limit", "As given"),
	NUM("delta", "Delta", NONE, "New minus base, in `unit`"),
	STR("state", "State", "pass, fail, no_verdict"),
	STR("reason", "Reason", NULL),
	NUM("limit_value", "Limit in Units", NONE, NULL),
	STR("unit", "Unit", "us or bytes"),
	NUM("delta_frac", "Delta (%)", FRAC, NULL),
	NUM("ci_low", "95 % from", NONE, NULL),
	NUM("ci_high", "95 % to", NONE, NULL),
	NUM("mde", "Detectable Change", NONE, NULL),
};

void ss_gate_table(const struct ss_gate *g, struct ss_result *out)
{
	struct ss_table *t = ss_result_table(out, "limits", "Limits", limit_cols, SS_COUNT(limit_cols));
	for (size_t i = 0; i < g->limits.n; i++) {
		const struct ss_limit *l = &g->limits.v[i];
		ss_table_row(t);
		ss_set_str(t, 0, l->metric);
		ss_set_str(t, 1, ss_str_sub(l->given, l->metric.n + 1, l->given.n));
		ss_set_f64(t, 2, l->delta);
		ss_set_str(t, 3, ss_gate_state_name(l->state));
		ss_set_str(t, 4, l->reason);
		ss_set_f64(t, 5, l->limit);
		ss_set_str(t, 6, is_memory(l) ? SS_STR("bytes") : SS_STR("us"));
		ss_set_f64(t, 7, l->base > 0 ? l->delta / l->base : NAN);
		ss_set_f64(t, 8, l->low);
		ss_set_f64(t, 9, l->high);
		ss_set_f64(t, 10, l->mde);
	}
}

void ss_gate_free(struct ss_gate *g)
{
	for (size_t i = 0; i < g->limits.n; i++)
		if (g->limits.v[i].has_pattern)
			regfree(&g->limits.v[i].pattern);
	ss_vec_free(&g->limits);
	ss_arena_release(&g->arena);
}
