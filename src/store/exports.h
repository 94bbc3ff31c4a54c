/*
 * exports.h - exports of Nsight Systems in one directory: which are hosts of one run, and which are
 * recordings of something else. Their names say nothing; the exports themselves do
 * (import/nsys_when.h).
 */
#ifndef SS_STORE_EXPORTS_H
#define SS_STORE_EXPORTS_H

#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>

/* A directory of more is one run: none of them is read. */
#define SS_MOST_EXPORTS 256

struct ss_export {
	const char *path;
	uint32_t run;	/* out: its number, 0 for the latest recording */
};

/* Files below `top`. The number of runs goes to *nruns. False: memory is out. */
bool ss_exports_part(struct ss_export *v, size_t n, const char *top, uint32_t *nruns);

#endif
