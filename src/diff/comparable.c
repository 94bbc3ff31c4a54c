/* comparable.c - may these two be compared at all? */
#include "diff/compare.h"

#include <math.h>
#include <stdlib.h>

#define LEAST_STEPS 3

struct ss_str ss_diff_fact_of(const struct ss_diff_run *r, struct ss_str key)
{
	for (size_t i = 0; i < r->facts.n; i++)
		if (ss_str_eq(r->facts.v[i].key, key))
			return r->facts.v[i].value;
	return SS_STR("");
}

static void say(struct ss_diff *d, const char *what, enum ss_diff_state state, struct ss_str reason)
{
	if (d->nchecks < SS_COUNT(d->checks))
		d->checks[d->nchecks++] = (struct ss_diff_check){ what, state, reason };
}

bool ss_diff_is_refused(const struct ss_diff *d)
{
	for (size_t i = 0; i < d->nchecks; i++)
		if (d->checks[i].state == SS_DIFF_REFUSED)
			return true;
	return false;
}

static const struct ss_diff_run *run_at(const struct ss_diff *d, size_t i)
{
	return i < d->base.n ? &d->base.runs[i] : &d->new.runs[i - d->base.n];
}

static const char *side_at(const struct ss_diff *d, size_t i)
{
	return i < d->base.n ? "base" : "new";
}

/* The lost part of a recording may have named its steps or operations. */
static void check_whole(struct ss_diff *d)
{
	for (size_t i = 0; i < d->base.n + d->new.n; i++) {
		const struct ss_diff_run *r = run_at(d, i);
		if (!r->notes.n)
			continue;
		say(d, "recording", SS_DIFF_COMPARED,
		    ss_arena_printf(&d->arena, "a recording of %s is incomplete: " SS_FMT, side_at(d, i), SS_ARG(r->notes.v[0])));
		return;
	}
	say(d, "recording", SS_DIFF_COMPARED, SS_STR(""));
}

/* The first run of the side that is not as the first of all. */
static const struct ss_diff_run *other_device(const struct ss_diff *d, const struct ss_diff_side *s)
{
	for (size_t i = 0; i < s->n; i++)
		if (!ss_str_eq(s->runs[i].device_type, d->base.runs[0].device_type))
			return &s->runs[i];
	return NULL;
}

static void check_device(struct ss_diff *d)
{
	const struct ss_diff_run *b = &d->base.runs[0], *n = other_device(d, &d->base);
	n = n ? n : other_device(d, &d->new);
	if (!n) {
		say(d, "device_type", SS_DIFF_COMPARED, SS_STR(""));
		return;
	}
	struct ss_str x = b->device_type.n ? b->device_type : SS_STR("unknown"),
		      y = n->device_type.n ? n->device_type : SS_STR("unknown");
	say(d, "device_type", SS_DIFF_REFUSED,
	    ss_arena_printf(&d->arena, "the devices differ: " SS_FMT " and " SS_FMT, SS_ARG(x), SS_ARG(y)));
}

static void check_count(struct ss_diff *d)
{
	const struct ss_diff_run *b = &d->base.runs[0];
	for (size_t i = 0; i < d->base.n + d->new.n; i++) {
		const struct ss_diff_run *r = run_at(d, i);
		if (r->ndevices != b->ndevices) {
			say(d, "device_count", SS_DIFF_REFUSED,
			    ss_arena_printf(&d->arena, "the number of devices differs: %zu and %zu%s", b->ndevices,
					    r->ndevices, r->nhosts != b->nhosts ? "; so does the number of hosts" : ""));
			return;
		}
	}
	say(d, "device_count", SS_DIFF_COMPARED, SS_STR(""));
}

/* ---- the batch ---- */

/* "bf16[256,1024]": the type, the first dimension, and the others. */
struct shape {
	struct ss_str type, rest;
	uint64_t first;
};

static bool read_shape(struct ss_str s, struct shape *out)
{
	size_t open = ss_str_chr(s, '[');
	if (open == SS_NPOS || (s.n && s.p[0] == '('))
		return false;
	out->type = ss_str_sub(s, 0, open);
	out->rest = ss_str_sub(s, open + 1, s.n);
	return ss_str_take_u64(&out->rest, &out->first) && out->first > 0;
}

/*
 * The factor by which all parameters that differ do so in their first dimension alone; 0: they
 * differ otherwise or not at all.
 */
static double batch_factor(const struct ss_diff_run *b, const struct ss_diff_run *n)
{
	double factor = 0;
	if (b->parameters.n != n->parameters.n)
		return 0;
	for (size_t i = 0; i < b->parameters.n; i++) {
		struct shape x, y;
		if (ss_str_eq(b->parameters.v[i], n->parameters.v[i]))
			continue;
		if (!read_shape(b->parameters.v[i], &x) || !read_shape(n->parameters.v[i], &y) ||
		    !ss_str_eq(x.type, y.type) || !ss_str_eq(x.rest, y.rest))
			return 0;
		double f = (double)y.first / (double)x.first;
		if (factor > 0 && fabs(f - factor) > 1e-9 * factor)
			return 0;
		factor = f;
	}
	return factor;
}

static void check_batch(struct ss_diff *d)
{
	double factor = 0;
	for (size_t i = 0; i < d->new.n && !(factor > 0); i++)
		factor = batch_factor(&d->base.runs[0], &d->new.runs[i]);
	d->batch_factor = factor;
	if (!(factor > 0)) {
		say(d, "batch_size", SS_DIFF_COMPARED, SS_STR(""));
		return;
	}
	say(d, "batch_size", d->options.per_example ? SS_DIFF_NORMALISED : SS_DIFF_REFUSED,
	    d->options.per_example
		    ? ss_arena_printf(&d->arena,
				      "the new batch is %g times the base's: times of new are divided by that", factor)
		    : ss_arena_printf(&d->arena,
				      "the new batch is %g times the base's (compare per example with --per-example)",
				      factor));
}

/* ---- steps ---- */

static void check_steps(struct ss_diff *d)
{
	const struct ss_diff_side *sides[] = { &d->base, &d->new };
	static const char *const names[] = { "base", "new" };
	for (int i = 0; i < 2; i++)
		if (sides[i]->n == 1 && sides[i]->runs[0].typical < LEAST_STEPS) {
			say(d, "steps", SS_DIFF_REFUSED,
			    ss_arena_printf(
				    &d->arena,
				    "%s has %zu typical step%s, and %d are needed: record more steps, or several runs",
				    names[i], sides[i]->runs[0].typical, sides[i]->runs[0].typical == 1 ? "" : "s",
				    LEAST_STEPS));
			return;
		}
	struct ss_str x = ss_diff_steps_from(&d->base.runs[0]);
	for (size_t i = 0; i < d->base.n + d->new.n; i++) {
		const struct ss_diff_run *r = run_at(d, i);
		struct ss_str y = ss_diff_steps_from(r);
		if (ss_str_eq(x, y))
			continue;
		bool whole = !d->base.runs[0].notes.n && !r->notes.n;
		say(d, "steps", SS_DIFF_REFUSED,
		    ss_arena_printf(&d->arena,
				    "steps were found in different ways, " SS_FMT " and " SS_FMT ": %s", SS_ARG(x), SS_ARG(y),
				    whole ? "mark them in both programs"
					  : "a recording is incomplete; record it again"));
		return;
	}
	say(d, "steps", SS_DIFF_COMPARED, SS_STR(""));
}

/* Functions that the tracer of one side does not record are not new on the other side. */
static void forget_functions(struct ss_diff *d)
{
	for (size_t i = 0; i < d->base.n; i++)
		d->base.runs[i].functions.n = 0;
	for (size_t i = 0; i < d->new.n; i++)
		d->new.runs[i].functions.n = 0;
}

static void check_tracer(struct ss_diff *d)
{
	const struct ss_diff_run *b = &d->base.runs[0];
	for (size_t i = 0; i < d->base.n + d->new.n; i++) {
		const struct ss_diff_run *r = run_at(d, i);
		bool thread = r->has_functions != b->has_functions;
		if (!thread && r->has_python == b->has_python)
			continue;
		bool less = thread ? !r->has_functions : !r->has_python;
		forget_functions(d);
		say(d, "tracer", SS_DIFF_COMPARED,
		    ss_arena_printf(&d->arena, "%s did not record %s: host functions are not compared",
				    side_at(d, less ? i : 0), thread ? "the host's thread" : "Python's calls"));
		return;
	}
	say(d, "tracer", SS_DIFF_COMPARED, SS_STR(""));
}

void ss_diff_check_all(struct ss_diff *d)
{
	check_device(d);
	check_count(d);
	if (d->options.hosts_note.n)
		say(d, "hosts", SS_DIFF_COMPARED, d->options.hosts_note);
	check_batch(d);
	check_steps(d);
	check_tracer(d);
	check_whole(d);
}
