/*
 * name_scope.h - the parts of an operation's name scope, "jit(f)/layer/add:" as "jit(f)", "layer", "add".
 */
#ifndef SS_MODEL_OPS_NAME_SCOPE_H
#define SS_MODEL_OPS_NAME_SCOPE_H

#include "base/str.h"

/* Without the type behind the last colon. "aten::mm" has none. */
static inline struct ss_str ss_scope_path(struct ss_str name)
{
	size_t colon = ss_str_rchr(name, ':');
	bool typed = colon != SS_NPOS && (!colon || name.p[colon - 1] != ':');
	return ss_str_sub(name, 0, typed ? colon : name.n);
}

/* The next part that is not empty, taken off `path`; false at the end. */
static inline bool ss_scope_next(struct ss_str *path, struct ss_str *part)
{
	do {
		size_t slash = ss_str_chr(*path, '/');
		*part = ss_str_sub(*path, 0, slash);
		*path = slash == SS_NPOS ? SS_STR("") : ss_str_sub(*path, slash + 1, path->n);
	} while (!part->n && path->n);
	return part->n > 0;
}

#endif
