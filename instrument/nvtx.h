/*
 * nvtx.h - ranges and marks of NVTX, which CUDA libraries, PyTorch and many programs set, as events of the recording.
 */
#ifndef SS_INSTRUMENT_NVTX_H
#define SS_INSTRUMENT_NVTX_H

/* The ranges that are open on this thread, "outer/inner", or NULL. A text that stays. */
const char *ss_nvtx_path(void);
/*
 * NVTX 3 calls this when a program first uses it: through the library that NVTX_INJECTION64_PATH
 * names, or through the pointer below when this library is linked in. Not 0: we take part.
 */
typedef const void *nvtx_export_table_fn(unsigned id);
int ss_nvtx_initialize(nvtx_export_table_fn *get_table);
/*
 * Ranges of this name are steps, and those that have a number behind it: "step", "step 12", "step_12".
 * The number counts if there is one. The text stays the caller's; NULL: none are.
 */
void ss_nvtx_steps(const char *name);

#endif
