/* judged.h - what holds a program up, for the sweeps: no tool's answer, though it comes from the same files. */
#ifndef SS_TESTS_SWEEP_JUDGED_H
#define SS_TESTS_SWEEP_JUDGED_H

#include "model/model.h"

/* The sentences go to `take`. */
bool judged(struct ss_model *model, bool (*take)(void *arg, const char *p, size_t n), void *arg, struct ss_err *err);

#endif
