/* words.c - the comparison in sentences: the verdict, what it comes from, what it rests on. */
#include "diff/result.h"

#include "base/buf.h"
#include "base/percent.h"
#include "table/units.h"

#include <math.h>
#include <stdlib.h>

/* Rows are named until they make up this much of the delta, and no more than so many. */
#define NAMED_FRAC 0.8
#define MOST_NAMED 3
/* With less of the time matched, operations are not blamed. */
#define LEAST_MATCHED_FRAC 0.8
/* So little without a partner is not worth a sentence. */
#define LEAST_UNMATCHED_FRAC 0.005
/* A side with a smaller share is not mentioned beside the other. */
#define LEAST_SAID_FRAC 0.001

static struct ss_str us(struct ss_diff *d, double v)
{
	struct ss_str s = ss_unit_text(&d->arena, SS_UNIT_US, v);
	return s.p ? s : SS_STR("");
}

static void interval(const struct ss_diff *d, struct ss_buf *b, const struct ss_comparison *c)
{
	if (!isnan(c->low) && c->base > 0)
		ss_buf_printf(b, "%.4g%% interval %+.1f%% to %+.1f%%", 100 * (1 - d->options.alpha), 100 * c->low / c->base,
			      100 * c->high / c->base);
	else
		ss_buf_lit(b, "no interval: too few steps");
}

/* Times of new are those of as many examples as the base's batch has. */
static const char *unit_of_work(const struct ss_diff *d)
{
	return ss_diff_is_per_example(d) ? "for the base's batch" : "per step";
}

static void say_factor(const struct ss_diff *d, struct ss_buf *b)
{
	if (ss_diff_is_per_example(d))
		ss_buf_printf(b, ", new divided by %g", d->batch_factor);
}

static void say_change(struct ss_diff *d, struct ss_buf *b)
{
	const struct ss_diff_row *r = d->outliers_decide ? &d->mean_step : &d->step;
	const struct ss_comparison *c = &r->c;
	struct ss_str from = us(d, c->base), to = us(d, c->new);
	const char *what = d->outliers_decide ? "The mean step, with its outliers," : "The step";
	const char *each = ss_diff_is_per_example(d) ? " per example" : "";
	switch (d->verdict) {
	case SS_DIFF_SLOWER:
	case SS_DIFF_FASTER:
		ss_buf_printf(b, "%s is %.1f%% %s%s (" SS_FMT " -> " SS_FMT, what, 100 * fabs(c->delta) / c->base,
			      c->delta > 0 ? "slower" : "faster",
			      each, SS_ARG(from), SS_ARG(to));
		say_factor(d, b);
		if (!d->outliers_decide) {
			ss_buf_lit(b, ", ");
			interval(d, b, c);
		}
		ss_buf_lit(b, ").");
		break;
	case SS_DIFF_NO_SIGNIFICANT_CHANGE:
		ss_buf_printf(b, "No significant change of the step%s (" SS_FMT " -> " SS_FMT, each, SS_ARG(from), SS_ARG(to));
		say_factor(d, b);
		ss_buf_lit(b, ", ");
		interval(d, b, c);
		ss_buf_lit(b, ").");
		break;
	case SS_DIFF_TOO_NOISY:
		ss_buf_printf(b, "The steps vary too much to tell (" SS_FMT " -> " SS_FMT, SS_ARG(from), SS_ARG(to));
		say_factor(d, b);
		ss_buf_lit(b, ", ");
		interval(d, b, c);
		ss_buf_lit(b, ").");
		break;
	case SS_DIFF_NOT_COMPARABLE:
		ss_buf_lit(b, "Not comparable");
		for (size_t i = 0, n = 0; i < d->nchecks; i++)
			if (d->checks[i].state == SS_DIFF_REFUSED)
				ss_buf_printf(b, "%s" SS_FMT, n++ ? "; " : ": ", SS_ARG(d->checks[i].reason));
		ss_buf_lit(b, ".");
		break;
	}
}

static void name_row(struct ss_diff *d, struct ss_buf *b, const struct ss_diff_op_row *o)
{
	bool new = o->first_new != SS_NONE;
	const struct ss_diff_op *op = new ? d->new.ops.v[o->first_new].op : d->base.ops.v[o->first_base].op;
	struct ss_str names = new ? ss_diff_names(&d->arena, &d->new, o->first_new, d->next_new)
				  : ss_diff_names(&d->arena, &d->base, o->first_base, d->next_base);
	ss_buf_str(b, ss_utf8_front(names, 120));
	if (op->path.n || op->source.n)
		ss_buf_printf(b, " (" SS_FMT ")", SS_ARG(ss_utf8_front(op->path.n ? op->path : op->source, 200)));
}

/* The rows that are significant and go the way of the step, until they make up most of it. */
static bool say_ops(struct ss_diff *d, struct ss_buf *b)
{
	uint32_t *order = ss_diff_ops_in_order(d);
	double sum = 0, delta = d->step.c.delta;
	uint32_t named[MOST_NAMED];
	size_t n = 0;
	if (!order)
		return false;
	for (size_t i = 0; i < d->match.rows && n < MOST_NAMED && sum < NAMED_FRAC * fabs(delta); i++) {
		const struct ss_diff_op_row *o = &d->ops[order[i]];
		if (!o->r.significant || (o->r.c.delta > 0) != (delta > 0) || fabs(o->r.c.delta) < 0.05 * fabs(delta))
			continue;
		sum += fabs(o->r.c.delta);
		named[n++] = order[i];
	}
	for (size_t i = 0; i < n; i++) {
		const struct ss_diff_op_row *o = &d->ops[named[i]];
		struct ss_str part = us(d, fabs(o->r.c.delta)), whole = us(d, fabs(delta));
		if (i == 0 && sum <= fabs(delta))
			ss_buf_printf(b, SS_FMT " of this " SS_FMT " are in ", SS_ARG(part), SS_ARG(whole));
		else if (i == 0)
			ss_buf_printf(b, "Operations: " SS_FMT " %s in ", SS_ARG(part), delta > 0 ? "more" : "less");
		else
			ss_buf_printf(b, "%s" SS_FMT " in ", i + 1 < n ? ", " : " and ", SS_ARG(part));
		name_row(d, b, o);
		if (o->how == SS_MATCH_ADDED || o->how == SS_MATCH_REMOVED)
			ss_buf_printf(b, ", which was " SS_FMT, SS_ARG(ss_match_name(o->how)));
	}
	if (n)
		ss_buf_lit(b, ".");
	free(order);
	return true;
}

/* The component that changed most, if it goes the way of the step. */
static void say_component(struct ss_diff *d, struct ss_buf *b)
{
	int best = -1;
	double sign = d->verdict == SS_DIFF_SLOWER ? 1 : -1;
	for (int i = 0; i < SS_DIFF_OUTSIDE; i++)
		if (d->parts[i].significant && sign * d->parts[i].c.delta > 0 &&
		    (best < 0 || fabs(d->parts[i].c.delta) > fabs(d->parts[best].c.delta)))
			best = i;
	if (best < 0)
		return;
	struct ss_str from = us(d, d->parts[best].c.base), to = us(d, d->parts[best].c.new);
	double part = fabs(d->parts[best].c.delta), whole = fabs(d->step.c.delta);
	struct ss_str part_us = us(d, part), whole_us = us(d, whole);
	/* What changed more may be chance. */
	if (part > whole / 2)
		ss_buf_lit(b, "Most of it is");
	else
		ss_buf_printf(b, SS_FMT " of this " SS_FMT " are", SS_ARG(part_us), SS_ARG(whole_us));
	ss_buf_printf(b, " %s: " SS_FMT " -> " SS_FMT " %s.", ss_diff_part_words(best), SS_ARG(from), SS_ARG(to),
		      unit_of_work(d));
}

/* The step is as long as before, and yet fewer begin in a second. */
static void say_outside(struct ss_diff *d, struct ss_buf *b)
{
	const struct ss_comparison *c = &d->parts[SS_DIFF_OUTSIDE].c, *period = &d->period.c;
	if (!d->parts[SS_DIFF_OUTSIDE].significant || !d->period.significant || !(c->delta * period->delta > 0))
		return;
	struct ss_str from = us(d, c->base), to = us(d, c->new);
	ss_buf_printf(b,
		      SS_FMT " pass between steps instead of " SS_FMT
		      ": a step and the time until the next one together take %.1f%% %s.",
		      SS_ARG(to), SS_ARG(from), 100 * fabs(period->delta) / period->base,
		      period->delta > 0 ? "longer" : "less");
}

/* ---- outliers ---- */

struct outliers {
	size_t n, of;
	double longest_us;
	int64_t num; /* of the longest */
};

static struct outliers outliers_of(const struct ss_diff_side *s)
{
	struct outliers o = { 0 };
	for (size_t i = 0; i < s->n; i++) {
		o.of += s->runs[i].steps.n;
		for (size_t k = 0; k < s->runs[i].steps.n; k++) {
			const struct ss_diff_step *v = &s->runs[i].steps.v[k];
			if (!v->outlier)
				continue;
			o.n++;
			o.num = v->us > o.longest_us ? v->num : o.num;
			o.longest_us = fmax(o.longest_us, v->us);
		}
	}
	return o;
}

/*
 * Outliers are not in the typical step, so that their own sentence tells of them: where there are
 * more or fewer than chance gives, and where chance may give them but the mean step moved with
 * them.
 */
static void say_outliers(struct ss_diff *d, struct ss_buf *b)
{
	const struct ss_diff_row *r = &d->parts[SS_DIFF_OUTLIERS];
	struct outliers base = outliers_of(&d->base), new = outliers_of(&d->new);
	const struct outliers *more = r->c.delta > 0 ? &new : &base;
	bool moved = fabs(r->c.delta) > d->options.band_frac * d->step.c.base;
	if (!(r->significant || moved) || !more->n)
		return;
	struct ss_str from = us(d, r->c.base), to = us(d, r->c.new), longest = us(d, more->longest_us);
	ss_buf_printf(b, "Outliers, steps far from the run's median, are %zu of %zu (base: %zu of %zu", new.n, new.of, base.n,
		      base.of);
	ss_buf_printf(b, "; the longest%s is step %lld with " SS_FMT "). They make the mean step " SS_FMT " longer than the "
			 "typical one (base: " SS_FMT ")",
		      more == &base ? " of base" : "", (long long)more->num, SS_ARG(longest), SS_ARG(to), SS_ARG(from));
	if (!r->significant && !isnan(r->c.p))
		ss_buf_printf(b, ", which may be chance (p %.2g)", r->c.p);
	ss_buf_lit(b, ".");
}

/* ---- operations that do not explain their component ---- */

static bool goes_with(const struct ss_diff_op_row *o, int part, double delta)
{
	return (int)o->component == part && o->r.c.delta * delta > 0;
}

/* Among the components that consist of operations, the one that changed most. */
static int changed_component(const struct ss_diff *d)
{
	static const int of_ops[] = { SS_DIFF_COMPUTE, SS_DIFF_COMMUNICATION, SS_DIFF_COPIES, SS_DIFF_OUTPUT };
	int best = -1;
	for (size_t i = 0; i < SS_COUNT(of_ops); i++)
		if (d->parts[of_ops[i]].significant &&
		    (best < 0 || fabs(d->parts[of_ops[i]].c.delta) > fabs(d->parts[best].c.delta)))
			best = of_ops[i];
	return best;
}

static void name_largest(struct ss_diff *d, struct ss_buf *b, const uint32_t *order, int part, double delta)
{
	for (size_t i = 0, n = 0; i < d->match.rows && n < MOST_NAMED; i++) {
		const struct ss_diff_op_row *o = &d->ops[order[i]];
		if (!goes_with(o, part, delta))
			continue;
		struct ss_str size = us(d, fabs(o->r.c.delta));
		ss_buf_printf(b, "%s%s" SS_FMT " ", n++ ? ", " : "", delta > 0 ? "+" : "-", SS_ARG(size));
		name_row(d, b, o);
	}
}

/*
 * A component changed, and those of its operations that did make up less than half of it: which
 * ones come next?
 */
static bool say_unexplained(struct ss_diff *d, struct ss_buf *b)
{
	int part = changed_component(d);
	double delta = part < 0 ? 0 : d->parts[part].c.delta, known = 0;
	size_t rows = 0, ops = 0;
	uint32_t *order = part < 0 ? NULL : ss_diff_ops_in_order(d);
	if (!order)
		return part < 0;
	for (size_t i = 0; i < d->match.rows; i++) {
		const struct ss_diff_op_row *o = &d->ops[i];
		ops += (int)o->component == part;
		rows += goes_with(o, part, delta);
		known += goes_with(o, part, delta) && o->r.significant ? fabs(o->r.c.delta) : 0;
	}
	if (rows && known < fabs(delta) / 2 && fabs(delta) > d->options.band_frac * d->step.c.base) {
		struct ss_str size = us(d, fabs(delta)), part_of = us(d, known);
		ss_buf_printf(b, SS_FMT " %s %s goes to %s, ", SS_ARG(size), delta > 0 ? "more" : "less", unit_of_work(d),
			      ss_diff_part_words(part));
		if (known > 0)
			ss_buf_printf(b, "and the operations that changed by more than noise make up " SS_FMT " of it",
				      SS_ARG(part_of));
		else
			ss_buf_printf(b,
				      "but none of its %zu operations changed by more than noise and %g%% of the step on its own",
				      ops, 100 * SS_DIFF_LEAST_OP_FRAC);
		ss_buf_lit(b, "; the largest changes are ");
		name_largest(d, b, order, part, delta);
		ss_buf_lit(b, ".");
	}
	free(order);
	return true;
}

static struct ss_str name_of(const struct ss_diff *d, const struct ss_diff_function_row *f)
{
	return f->new != SS_NONE ? d->new.functions.v[f->new].name : d->base.functions.v[f->base].name;
}

static void say_function(struct ss_diff *d, struct ss_buf *b)
{
	const struct ss_diff_function_row *best = NULL;
	for (size_t i = 0; i < d->nfunctions; i++)
		if (d->functions[i].r.significant && (!best || fabs(d->functions[i].r.c.delta) > fabs(best->r.c.delta)))
			best = &d->functions[i];
	if (!best)
		return;
	struct ss_str name = name_of(d, best);
	struct ss_str from = us(d, best->r.c.base), to = us(d, best->r.c.new);
	ss_buf_printf(b, "On the host, " SS_FMT " takes " SS_FMT " %s (before: " SS_FMT ").",
		      SS_ARG(ss_utf8_front(name, 200)), SS_ARG(to), unit_of_work(d), SS_ARG(from));
}

static void say_detectable(struct ss_diff *d, struct ss_buf *b)
{
	double frac = d->step.detectable / d->step.c.base;
	if (!isfinite(frac))
		return;
	ss_buf_printf(b, "The smallest change that these recordings could have shown is %.1f%%", 100 * frac);
	if (frac > 0.03 && d->needed)
		ss_buf_printf(b, "; a change of 3%% needs about %llu %s", (unsigned long long)d->needed,
			      d->one_run ? "typical steps a side" : "runs a side");
	ss_buf_lit(b, ".");
}

static void say_matched(struct ss_diff *d, struct ss_buf *b)
{
	double base = 1 - d->match.matched_base_frac, new = 1 - d->match.matched_new_frac;
	if (!(fmax(base, new) >= LEAST_UNMATCHED_FRAC))
		return;
	if (fmax(base, new) > 1 - LEAST_MATCHED_FRAC)
		ss_buf_lit(b, "The programs differ too much to attribute the change to operations: ");
	if (fmin(base, new) >= LEAST_SAID_FRAC)
		ss_buf_printf(b, "%s of the base's operation time and %s of the new one's have no partner on the other side.",
			      ss_percent_of(base).s, ss_percent_of(new).s);
	else
		ss_buf_printf(b, "%s of the operation time of %s has no partner on the other side.",
			      ss_percent_of(fmax(base, new)).s, base > new ? "the base" : "the new one");
}

static void say_memory(struct ss_diff *d, struct ss_buf *b)
{
	double delta = d->new_peak_bytes - d->base_peak_bytes;
	if (!(fabs(delta) >= 0.01 * d->base_peak_bytes))
		return;
	struct ss_str from = ss_unit_text(&d->arena, SS_UNIT_BYTES, d->base_peak_bytes),
		      to = ss_unit_text(&d->arena, SS_UNIT_BYTES, d->new_peak_bytes);
	ss_buf_printf(b, "Peak memory %s by %.1f%%: " SS_FMT " -> " SS_FMT ".", delta > 0 ? "grew" : "fell",
		      100 * fabs(delta) / d->base_peak_bytes, SS_ARG(from), SS_ARG(to));
}

/* A text that was put together, as a sentence of the conclusion; "" is passed over. */
static bool add(struct ss_diff *d, struct ss_result *out, struct ss_buf *b)
{
	struct ss_str s = b->n ? ss_arena_str(&d->arena, ss_buf_get(b)) : SS_STR("");
	bool ok = !b->no_memory;
	if (ok)
		ss_result_say(out, s);
	ss_buf_free(b);
	return ok;
}

static void note(struct ss_result *out, enum ss_severity severity, struct ss_str text)
{
	ss_result_note(out, severity, text);
}

static void add_notes_of(struct ss_diff *d, struct ss_result *out, const struct ss_diff_side *s, const char *side)
{
	for (size_t i = 0; i < s->n; i++)
		for (size_t k = 0; k < s->runs[i].notes.n; k++)
			note(out, SS_WARNING,
			     ss_arena_printf(&d->arena, "%s, '" SS_FMT "': " SS_FMT, side, SS_ARG(s->runs[i].path),
					     SS_ARG(s->runs[i].notes.v[k])));
}

static void add_notes(struct ss_diff *d, struct ss_result *out)
{
	bool one_run = d->base.n == 1 || d->new.n == 1;
	if (one_run)
		note(out, SS_WARNING,
		     ss_arena_printf(
			     &d->arena,
			     "%s one run, so the variation between runs %s: if runs vary by 1.5 %%, one in seven such comparisons "
			     "is a false alarm; record 3 or more runs a side",
			     d->one_run	   ? "each side is"
			     : d->base.n == 1 ? "base is"
					      : "new is",
			     d->one_run ? "is unknown" : "is that of the other side"));
	note(out, SS_INFO,
	     ss_arena_printf(&d->arena,
			     "a change counts if p < %g and it exceeds %g %%, by which recordings of an unchanged program "
			     "may differ",
			     d->options.alpha, 100 * d->options.band_frac));
	add_notes_of(d, out, &d->base, "base");
	add_notes_of(d, out, &d->new, "new");
}

bool ss_diff_say(struct ss_diff *d, struct ss_result *out)
{
	struct ss_buf b = { 0 };
	bool changed = d->verdict == SS_DIFF_SLOWER || d->verdict == SS_DIFF_FASTER, ok = true;
	bool refused = d->verdict == SS_DIFF_NOT_COMPARABLE;
	say_change(d, &b);
	ok = add(d, out, &b);
	out->conclusion.mood = d->verdict == SS_DIFF_SLOWER   ? SS_MOOD_BAD
			       : d->verdict == SS_DIFF_FASTER ? SS_MOOD_GOOD
			       : refused		      ? SS_MOOD_WARN
							      : SS_MOOD_PLAIN;
	if (ok && changed) {
		say_component(d, &b);
		ok = add(d, out, &b);
	}
	bool blame = fmin(d->match.matched_base_frac, d->match.matched_new_frac) >= LEAST_MATCHED_FRAC;
	if (ok && changed && blame && !d->outliers_decide)
		ok = say_ops(d, &b) && add(d, out, &b);
	if (ok && !refused && blame)
		ok = say_unexplained(d, &b) && add(d, out, &b);
	if (ok && !refused) {
		ok = ss_diff_say_hosts(d, &b) && add(d, out, &b);
	}
	if (ok && !refused) {
		say_outliers(d, &b);
		ok = add(d, out, &b);
	}
	if (ok && !refused) {
		say_outside(d, &b);
		ok = add(d, out, &b);
	}
	if (ok && !refused) {
		say_function(d, &b);
		ok = add(d, out, &b);
	}
	if (ok) {
		say_matched(d, &b);
		ok = add(d, out, &b);
	}
	if (ok) {
		say_memory(d, &b);
		ok = add(d, out, &b);
	}
	if (ok && !refused && !changed) {
		say_detectable(d, &b);
		ok = add(d, out, &b);
	}
	if (!ok)
		return false;
	add_notes(d, out);
	return true;
}
