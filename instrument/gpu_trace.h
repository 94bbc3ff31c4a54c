/* gpu_trace.h - what libsstrace_inject asks of gpu_trace.c beyond ss_trace_gpu.h. */
#ifndef SS_INSTRUMENT_GPU_TRACE_H
#define SS_INSTRUMENT_GPU_TRACE_H

#include <stdbool.h>

/* ss_trace_gpu_start. `in_init`: called by the driver in the middle of cuInit, when it must not be asked anything. */
bool ss_gpu_start(bool in_init);

#endif
