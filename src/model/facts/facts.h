/*
 * facts.h - the facts that a tool will ask a model for. The tool declares them, so that one visit of many hosts gathers all.
 */
#ifndef SS_MODEL_FACTS_FACTS_H
#define SS_MODEL_FACTS_FACTS_H

#include <stdbool.h>

struct ss_err;
struct ss_model;

enum ss_fact {
#define FOLD(NAME, name) SS_FACT_##NAME,
#include "model/host/parts.def"
	SS_FACT_COUNT
};

/* Sets of facts. */
enum ss_facts {
#define FOLD(NAME, name) SS_FACTS_##NAME = 1 << SS_FACT_##NAME,
#include "model/host/parts.def"
};

/* Build those of the facts that are missing, in one visit; see ss_model_gather_folds. */
bool ss_model_gather(struct ss_model *m, unsigned facts, struct ss_err *err);

#endif
