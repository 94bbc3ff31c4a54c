/*
 * gpu_probe.h - driver, CUPTI and permission, looked at from a child process: initializing a driver can
 * hang, or end the process that tries it.
 */
#ifndef SS_CLI_GPU_PROBE_H
#define SS_CLI_GPU_PROBE_H

#include "base/err.h"

#include "ss_trace_gpu.h"

/* False when the child died or took longer than 20 seconds; `err` says which. */
bool cli_gpu_probe(struct ss_trace_gpu_report *out, struct ss_err *err);

#endif
