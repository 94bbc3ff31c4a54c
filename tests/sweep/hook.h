/*
 * hook.h - the allocator under test: counts what the library holds and fails on demand.
 *
 * The linker's --wrap sends every malloc, calloc, realloc and free of the library and of the test
 * here. The counters are atomic, as profiles load on several threads.
 */
#ifndef SS_TESTS_HOOK_H
#define SS_TESTS_HOOK_H

#include <stdbool.h>
#include <stddef.h>

/* Let the n-th allocation from now on fail, and only that one; 0: none. Also begins counting calls and the peak anew. */
void hook_arm(size_t n);
/* Has the allocation that was to fail been asked for? */
bool hook_fired(void);
size_t hook_calls(void);
size_t hook_live_bytes(void);
size_t hook_peak_bytes(void);

#endif
