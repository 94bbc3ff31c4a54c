/*
 * facts.h - what a tool asks a model for, named beforehand, so that one visit of many hosts gathers all of it.
 */
#ifndef SS_MODEL_FACTS_FACTS_H
#define SS_MODEL_FACTS_FACTS_H

#include "model/model.h"

enum ss_fact {
#define FOLD(NAME, name) SS_FACT_##NAME,
#include "model/host/parts.def"
	SS_FACT_COUNT
};

/* Sets of them. */
enum ss_facts {
#define FOLD(NAME, name) SS_FACTS_##NAME = 1 << SS_FACT_##NAME,
#include "model/host/parts.def"
};

/* Make those of the facts that are not there, in one visit; see ss_model_gather_folds. */
bool ss_model_gather(struct ss_model *m, unsigned facts, struct ss_err *err);

#endif
