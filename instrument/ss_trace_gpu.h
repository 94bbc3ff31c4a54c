/*
 * ss_trace_gpu.h - record NVIDIA GPUs into a profile of libsstrace, through CUPTI.
 *
 *	ss_trace_start(&options);
 *	if (!ss_trace_gpu_start())
 *		fprintf(stderr, "%s\n", ss_trace_gpu_error());
 *	...
 *	ss_trace_stop();
 *
 * Kernels, copies, memsets and allocations go on planes "/device:GPU:N" as XLA and TensorFlow write
 * them, calls of the driver on the threads that make them. CUPTI is looked for when this is called:
 * nothing of CUDA is needed to build or to run without it. Best called before the program's first
 * use of CUDA. `stepscope record` does all this from outside. docs/gpu.md tells more.
 */
#ifndef SS_TRACE_GPU_H
#define SS_TRACE_GPU_H

#include "ss_trace.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Record GPUs until the session ends. False if no session runs, or if something is missing; what and
 * what to do about it says ss_trace_gpu_error, and a warning in the profile. The session goes on.
 */
SS_TRACE_API bool ss_trace_gpu_start(void);
/* Has the program loaded NVIDIA's driver? */
SS_TRACE_API bool ss_trace_gpu_used(void);
/* Why GPUs are not recorded: "" if they are. */
SS_TRACE_API const char *ss_trace_gpu_error(void);

/* The GPU support of this machine. Texts are sentences for people. */
struct ss_trace_gpu_report {
	size_t size;		/* sizeof(struct ss_trace_gpu_report) */
	bool hardware;		/* there is an NVIDIA GPU on the PCI bus, or a device file of the driver */
	bool driver;		/* the driver's library loads and finds a GPU */
	bool cupti;		/* a CUPTI that fits loads */
	bool permission;	/* CUPTI may record */
	int ngpus;
	uint32_t driver_cuda;	/* newest CUDA the driver knows: 12040 is 12.4; 0: no driver */
	uint32_t cupti_version;	/* as cuptiGetVersion says */
	char driver_text[512], cupti_text[1024], permission_text[512];
};
/*
 * Looks at driver, CUPTI and permission; initializes CUDA in this process if there is a driver, so a
 * child process is the better place.
 */
SS_TRACE_API void ss_trace_gpu_check(struct ss_trace_gpu_report *report);

#ifdef __cplusplus
}
#endif

#endif
