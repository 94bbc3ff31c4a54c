/* facts.c - see facts.h. */
#include "model/facts/facts.h"

#include "model/fold.h"

#define FOLD(NAME, name) extern const struct ss_fold ss_fold_##name;
#include "model/host/parts.def"

_Static_assert((int)SS_FACT_COUNT <= SS_MAX_FOLDS, "one visit gathers all facts");

bool ss_model_gather(struct ss_model *m, unsigned facts, struct ss_err *err)
{
	static const struct ss_fold *const all[] = {
#define FOLD(NAME, name) &ss_fold_##name,
#include "model/host/parts.def"
	};
	const struct ss_fold *folds[SS_FACT_COUNT];
	size_t n = 0;
	for (size_t i = 0; i < SS_FACT_COUNT; i++)
		if (facts & 1u << i)
			folds[n++] = all[i];
	return ss_model_gather_folds(m, folds, n, err);
}
