/* inference_words.c - see inference_words.h. */
#include "tools/inference_words.h"

#include "tools/words.h"

#include <math.h>

#define SLOWER_FRAC 1.2 /* of the median latency: what is beyond it is a slow request */

/* The percentile of a row of one request; NAN: the row is a mean. */
static double percentile(const struct ss_table *t, size_t row)
{
	struct ss_str s = ss_cell_str(t, row, "percentile");
	double v;
	return s.n && s.p[0] >= '0' && s.p[0] <= '9' && ss_str_to_f64(s, &v) ? v : (double)NAN;
}

/* The request next to a percentile; SS_NPOS: there is none. */
static size_t nearest(const struct ss_table *t, double at)
{
	size_t best = SS_NPOS;
	double least = (double)INFINITY;
	for (size_t i = 0; i < t->nrows; i++) {
		double d = fabs(percentile(t, i) - at);
		if (d < least) {
			least = d;
			best = i;
		}
	}
	return best;
}

/* The part in which the slow request exceeds the median request most. */
static void say_cause(struct ss_result *out, const struct ss_table *t, size_t median, size_t slow)
{
	size_t part = SS_NPOS;
	double most = 0;
	for (size_t c = 0; c < t->ncols; c++) {
		const char *id = t->cols[c].id;
		double grew = ss_cell_f64(t, slow, id) - ss_cell_f64(t, median, id);
		if (t->cols[c].unit != SS_UNIT_MS || strcmp(id, "latency_ms") == 0 || !(grew > most))
			continue;
		most = grew;
		part = c;
	}
	if (part == SS_NPOS) {
		ss_result_say(out, SS_STR("The profile does not show the cause of the difference."));
		return;
	}
	ss_say(out, "Most of the difference is '%s': %s more.", t->cols[part].label, ss_value_words(SS_UNIT_MS, most).s);
}

static size_t nrequests(const struct ss_table *t)
{
	size_t n = 0;
	for (size_t i = 0; i < t->nrows; i++)
		n += isnan(percentile(t, i)) ? 0 : 1;
	return n;
}

bool ss_inference_conclude(const struct ss_request *q, struct ss_result *out, struct ss_err *err)
{
	(void)err;
	const struct ss_table *t = ss_result_find(out, "requests_0");
	size_t median = nearest(t, 50), slow = nearest(t, 99);
	double usual = ss_cell_f64(t, median, "latency_ms"), most = ss_cell_f64(t, slow, "latency_ms");
	(void)q;
	if (median == SS_NPOS || !(usual > 0))
		return true;
	/* Of several models, the first. */
	const struct ss_table *models = ss_result_find(out, "models");
	struct ss_str to = SS_STR("");
	if (models->nrows > 1)
		to = ss_arena_printf(out->arena, " to '" SS_FMT "'", SS_ARG(ss_cell_str(models, 0, "model_name")));
	if (nrequests(t) < 2) {
		ss_say(out, "One request" SS_FMT " was traced: it took %s.", SS_ARG(to), ss_value_words(SS_UNIT_MS, usual).s);
		return true;
	}
	ss_say(out, "The median request" SS_FMT " took %s, the one nearest to the 99th percentile %s.", SS_ARG(to),
	       ss_value_words(SS_UNIT_MS, usual).s, ss_value_words(SS_UNIT_MS, most).s);
	if (most > SLOWER_FRAC * usual)
		say_cause(out, t, median, slow);
	return true;
}
