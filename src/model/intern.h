/*
 * intern.h - texts that outlive the host they come from.
 *
 * A result that combines hosts which are opened one after the other (visit.h) must not point into
 * their files. If hosts stay open, nothing is copied.
 */
#ifndef SS_MODEL_INTERN_H
#define SS_MODEL_INTERN_H

#include "base/intern.h"
#include "model/model.h"

static inline struct ss_intern ss_intern_of(const struct ss_model *m)
{
	return (struct ss_intern){ .copies = m->visited };
}

#endif
