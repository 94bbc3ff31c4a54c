/*
 * standin.h - a CUDA driver and a CUPTI that stand in for NVIDIA's where there is no GPU, so that the whole
 * way from a launch to a profile can be tested. Our own code after the documented interface: what it
 * proves is our side of it. Records have the sizes and offsets of NVIDIA's (tests/interop/cupti_live.py).
 *
 * The driver (cuda.c) keeps a clock for each stream and computes nothing. It tells the tool that is
 * attached (cupti.c) of calls as they begin and end, and of work when it is queued.
 *
 * Environment: STANDIN_CUPTI=12|13 version, STANDIN_FAIL="function=status,...", STANDIN_DROP=n records said to be lost,
 * STANDIN_NO_GPU=1, STANDIN_DRIVER=12040, STANDIN_MIG=1: the GPUs are slices.
 */
#ifndef STANDIN_H
#define STANDIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define STANDIN_DEVICES 2u
#define STANDIN_DEVICE_OF(context) (((context) - 1) % STANDIN_DEVICES)
/* The device's clock is this far from the system's, as CUPTI's may be: whoever forgets to set clocks is found out. */
#define STANDIN_CLOCK_SHIFT_NS INT64_C(86400000000000)

struct standin_function {
	const char *name;	/* mangled */
	uint16_t registers;
	uint32_t static_shared;
	uint64_t duration_ns;
};

enum standin_work { STANDIN_KERNEL, STANDIN_COPY, STANDIN_PEER_COPY, STANDIN_SET, STANDIN_ALLOC, STANDIN_FREE };

struct standin_record {
	enum standin_work work;
	uint32_t device, context, stream, correlation;
	uint64_t start_ns, end_ns;	/* of the device's clock */
	const struct standin_function *function;
	uint32_t grid[3], block[3], dynamic_shared;
	uint8_t copy_kind, src_kind, dst_kind;
	uint64_t bytes, address;
	uint32_t to_device;	/* of a copy between devices */
	uint32_t graph;
	uint64_t graph_node;
};

/* What cuGraphLaunch takes for an executable graph: kernels, and a memset at the end. */
struct standin_graph {
	uint32_t id;
	size_t nkernels;
	const struct standin_function *kernels[4];
};

struct standin_tool {
	void (*call)(int exit, uint32_t cbid, const char *function, uint32_t context, uint32_t correlation);
	void (*work)(const struct standin_record *r);
	void (*ended)(uint32_t context);	/* what was not delivered of it is lost */
};

uint64_t standin_now_ns(void);
bool standin_ready(void);	/* cuInit has ended */
bool standin_mig(void);
void standin_attach(const struct standin_tool *tool);

#endif
