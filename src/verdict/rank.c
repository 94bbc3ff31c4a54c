/*
 * rank.c - the order of findings: by the time that would be gained, with what is said of the same time put in order.
 */
#include "verdict/judge.h"
#include "verdict/limits.h"

#include <stdlib.h>

static bool is_time(const struct ss_verdict_finding *f)
{
	return !isnan(f->share_frac);
}

static bool is_compute(const struct ss_verdict_finding *f)
{
	return f->cause == SS_CAUSE_COMPUTE || f->cause == SS_CAUSE_NONE;
}

/*
 * Findings of the same time: one that says more comes first. A straggler before what makes it late; steps that are
 * slow before what they spend it on, unless all steps do; a cause with a name before idle.
 */
static int layer(const struct ss_verdict_finding *f)
{
	bool outliers = f->cause == SS_CAUSE_OUTLIER_STEPS && !(f->traits & SS_TRAIT_MORE_OF_SAME);
	return f->cause == SS_CAUSE_STRAGGLER ? 0 : outliers ? 1 : is_compute(f) ? 3 : 2;
}

static int by_gain(const void *a, const void *b)
{
	const struct ss_verdict_finding *x = a, *y = b;
	bool tx = is_time(x), ty = is_time(y);
	if (tx != ty)
		return tx ? -1 : 1;
	/* Causes of a quarter of the time go before computing, stragglers and outliers of that size before all. */
	bool bx = tx && x->share_frac >= SS_COMPUTE_GIVES_WAY, by = ty && y->share_frac >= SS_COMPUTE_GIVES_WAY;
	if (bx && by && layer(x) != layer(y))
		return layer(x) - layer(y);
	if (bx != by)
		return bx ? -1 : 1;
	if (tx && x->share_frac != y->share_frac)
		return SS_CMP(y->share_frac, x->share_frac);
	return (int)x->cause - (int)y->cause;
}

/* What costs no time yet stands behind the verdict, in sight. */
static void show_timeless(struct ss_judge *j)
{
	size_t time = 0;
	while (time < j->found.n && is_time(&j->found.v[time]))
		time++;
	for (size_t i = time, to = 1; time > 1 && i < j->found.n && to <= 2; i++, to++) {
		struct ss_verdict_finding f = j->found.v[i];
		for (size_t k = i; k > to; k--)
			j->found.v[k] = j->found.v[k - 1];
		j->found.v[to] = f;
	}
}

void ss_rank(struct ss_judge *j)
{
	if (j->found.n)
		qsort(j->found.v, j->found.n, sizeof(*j->found.v), by_gain);
	show_timeless(j);
}
