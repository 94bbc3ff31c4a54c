/*
 * pool.h - do n independent pieces of work on several threads.
 *
 * Work is handed out by an atomic counter, so uneven pieces balance. Each piece writes only its own
 * output; results are therefore the same at any number of threads.
 */
#ifndef SS_BASE_POOL_H
#define SS_BASE_POOL_H

#include "base/err.h"

#include <stddef.h>

typedef bool ss_work_fn(void *arg, size_t index, struct ss_err *err);

/*
 * Run fn(arg, 0 .. n-1). At most `threads` threads (0: one a core, at most 16), the caller's among
 * them. After a failure no new piece is begun; the failure of the lowest index that failed is
 * reported.
 */
bool ss_parallel(size_t n, unsigned threads, ss_work_fn *fn, void *arg, struct ss_err *err);

#endif
