/* facts.c - see facts.h. */
#include "model/facts/facts.h"

#include "model/fold.h"

#include <limits.h>

#define FOLD(NAME, name) extern const struct ss_fold ss_fold_##name;
#include "model/host/parts.def"

_Static_assert((int)SS_FACT_COUNT <= SS_MAX_FOLDS, "one visit gathers all facts");

/* Opening a host of merged parts costs more than all that is taken of it: whoever has it visited has all facts gathered. */
static unsigned widened(const struct ss_model *m, const struct ss_fold *const *all, unsigned facts)
{
	for (size_t i = 0; m->opener.open && i < SS_FACT_COUNT; i++)
		if (facts & 1u << i && !all[i]->unvisited)
			return UINT_MAX;
	return facts;
}

bool ss_model_gather(struct ss_model *m, unsigned facts, struct ss_err *err)
{
	static const struct ss_fold *const all[] = {
#define FOLD(NAME, name) &ss_fold_##name,
#include "model/host/parts.def"
	};
	const struct ss_fold *folds[SS_FACT_COUNT];
	size_t n = 0;
	facts = widened(m, all, facts);
	for (size_t i = 0; i < SS_FACT_COUNT; i++)
		if (facts & 1u << i)
			folds[n++] = all[i];
	return ss_model_gather_folds(m, folds, n, err);
}
