/*
 * cupti_abi.h - the part of NVIDIA's CUPTI interface that gpu_trace.c uses, as numbers: builds need no CUDA,
 * and one program serves every CUPTI from 12.0 to 13.x.
 *
 * Activity records only grow at their end from version to version, so one table of offsets holds for all.
 * What is read stands in every version since 12.0: kernels were version 9 of their record in 12.0 to 12.9
 * (208 bytes) and grew to version 13 in 13.5 (248); copies went from 5 (88) to 7 (112), memsets from 4 (88)
 * to 5 (104), memory operations from 3 (120) to 4 (128, in 12.x), devices from 4 (176) to 6 (192).
 * Records are packed, aligned to 8. tests/interop/cupti_live.py holds this file against NVIDIA's headers.
 */
#ifndef SS_INSTRUMENT_CUPTI_ABI_H
#define SS_INSTRUMENT_CUPTI_ABI_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* The result of cuptiGetVersion: a counter up to 12.9, then major * 10000 + minor * 100. */
enum { CUPTI_12_0 = 18, CUPTI_12_9 = 28, CUPTI_13_0 = 130000 };

enum cupti_status {
	CUPTI_OK = 0,
	CUPTI_MAX_LIMIT_REACHED = 12,	/* no more records in the buffer */
	CUPTI_NOT_INITIALIZED = 15,	/* without a driver, every call before 13.0 */
	CUPTI_HARDWARE_BUSY = 26,
	CUPTI_VIRTUALIZED = 33,
	CUPTI_INSUFFICIENT_PRIVILEGES = 35,
	CUPTI_MULTIPLE_SUBSCRIBERS = 39,
	CUPTI_VIRTUALIZED_PRIVILEGES = 40,
	CUPTI_CONFIDENTIAL_COMPUTING = 41,
	CUPTI_CMP_DEVICE = 42,
	CUPTI_MIG_DEVICE = 43,
	CUPTI_SLI_DEVICE = 44,
	CUPTI_WSL_DEVICE = 45,
	CUPTI_UNKNOWN = 999,		/* without a driver, every call since 13.0 */
};

enum cupti_kind {
	CUPTI_KIND_MEMCPY = 1,
	CUPTI_KIND_MEMSET = 2,
	CUPTI_KIND_DEVICE = 8,
	CUPTI_KIND_CONCURRENT_KERNEL = 10,
	CUPTI_KIND_MEMCPY_PEER = 22,
	CUPTI_KIND_MEMORY = 49,		/* "MEMORY2": allocations and releases */
};

/* Every record begins with its kind, 32 bits. */
enum {
	KERNEL_REGISTERS = 6,		/* u16: of a thread */
	KERNEL_START = 16, KERNEL_END = 24, /* u64, ns */
	KERNEL_DEVICE = 40, KERNEL_CONTEXT = 44, KERNEL_STREAM = 48,
	KERNEL_GRID = 52, KERNEL_BLOCK = 64, /* 3 x i32 each */
	KERNEL_STATIC_SHARED = 76, KERNEL_DYNAMIC_SHARED = 80, /* i32, bytes of a block */
	KERNEL_CORRELATION = 92,
	KERNEL_NAME = 104,		/* const char *, mangled */
	KERNEL_GRAPH_NODE = 144,	/* u64 */
	KERNEL_GRAPH = 156,
	KERNEL_BYTES = 160,		/* of which all versions have this much */

	MEMCPY_COPY_KIND = 4, MEMCPY_SRC_KIND = 5, MEMCPY_DST_KIND = 6, MEMCPY_FLAGS = 7, /* u8 */
	MEMCPY_SIZE = 8, MEMCPY_START = 16, MEMCPY_END = 24, /* u64 */
	MEMCPY_DEVICE = 32, MEMCPY_CONTEXT = 36, MEMCPY_STREAM = 40,
	MEMCPY_CORRELATION = 44,
	MEMCPY_GRAPH_NODE = 64, MEMCPY_GRAPH = 72,

	PEER_DST_DEVICE = 52,		/* up to the stream as MEMCPY */
	PEER_CORRELATION = 60,
	PEER_GRAPH_NODE = 72, PEER_GRAPH = 80,

	MEMSET_VALUE = 4,		/* u32 */
	MEMSET_SIZE = 8, MEMSET_START = 16, MEMSET_END = 24,
	MEMSET_DEVICE = 32, MEMSET_CONTEXT = 36, MEMSET_STREAM = 40,
	MEMSET_CORRELATION = 44,
	MEMSET_FLAGS = 48, MEMSET_MEMORY_KIND = 50, /* u16 */
	MEMSET_GRAPH_NODE = 64, MEMSET_GRAPH = 72,

	MEMORY_OPERATION = 4, MEMORY_MEMORY_KIND = 8, MEMORY_CORRELATION = 12,
	MEMORY_ADDRESS = 16, MEMORY_SIZE = 24, MEMORY_TIME = 32, /* u64 */
	MEMORY_DEVICE = 52,

	DEVICE_BANDWIDTH = 8,		/* u64, kB/s */
	DEVICE_MEMORY = 16,		/* u64, bytes */
	DEVICE_WARP = 32,		/* threads of a warp */
	DEVICE_CLOCK = 36,		/* kHz */
	DEVICE_SMS = 44,
	DEVICE_WARPS_PER_SM = 52, DEVICE_BLOCKS_PER_SM = 56,
	DEVICE_SHARED_PER_SM = 60, DEVICE_REGISTERS_PER_SM = 64,
	DEVICE_CAP_MAJOR = 104, DEVICE_CAP_MINOR = 108,
	DEVICE_ID = 112,
	DEVICE_UUID = 120,		/* 16 bytes */
	DEVICE_NAME = 136,		/* const char * */
	DEVICE_VISIBLE = 144,		/* u8: 0 if CUDA_VISIBLE_DEVICES hides it */
	DEVICE_MIG = 145,		/* u8: the rest is of a slice */
	DEVICE_GPU_INSTANCE = 152, DEVICE_COMPUTE_INSTANCE = 156, /* u32 */
	DEVICE_MIG_UUID = 160,		/* 16 bytes */
};

/* Attributes of a device that the driver reports (cuDeviceGetAttribute) if CUPTI does not. */
enum cuda_attribute {
	CUDA_WARP = 10, CUDA_CLOCK = 13, CUDA_SMS = 16, /* kHz */
	CUDA_MEMORY_CLOCK = 36, CUDA_BUS_BITS = 37, /* kHz */
	CUDA_THREADS_PER_SM = 39, CUDA_CAP_MAJOR = 75, CUDA_CAP_MINOR = 76,
	CUDA_SHARED_PER_SM = 81, CUDA_REGISTERS_PER_SM = 82, CUDA_BLOCKS_PER_SM = 106,
};

enum { MEMCPY_FLAG_ASYNC = 1, MEMSET_FLAG_ASYNC = 1 };
enum { MEMORY_ALLOCATION = 1, MEMORY_RELEASE = 2 };
enum { FLUSH_FORCED = 1 };

/* Callbacks: domains, where in the call, and the data they get. */
enum { CUPTI_DOMAIN_DRIVER = 1, CUPTI_DOMAIN_RUNTIME = 2 };
enum { CUPTI_DEVICE_RESET = 164 };	/* the runtime's cudaDeviceReset */
enum { CUPTI_API_ENTER = 0, CUPTI_API_EXIT = 1 };
enum {
	CALLBACK_SITE = 0,		/* u32 */
	CALLBACK_FUNCTION = 8,		/* const char *: a constant of the driver's */
	CALLBACK_CONTEXT = 40,		/* CUcontext */
	CALLBACK_CONTEXT_UID = 48,	/* u32 */
	CALLBACK_CORRELATION = 64,	/* u32: that of the activity records */
};

#define CUPTI_CALLBACKS 1024u		/* numbers of driver functions stay below (876 in 13.5) */

/*
 * The driver functions that are recorded, as ranges of their numbers, which never change: launches, copies, sets, allocations,
 * waits, and loading of modules. The rest is called often and says little. A CUPTI knows the functions of its own time: those
 * from 716 on are newer than 12.0.
 */
#define CUPTI_RECORDED_CALLBACKS                                                                                             \
	R(17, 21)	/* cuCtxSynchronize, cuModuleLoad* */                                                                \
	R(121, 121)	/* cuEventSynchronize */                                                                             \
	R(126, 126)	/* cuStreamSynchronize */                                                                            \
	R(216, 216) R(218, 218) R(220, 220) R(222, 222) R(224, 224) R(226, 226) /* cuMemset*Async */                         \
	R(243, 245)	/* cuMemAlloc_v2, cuMemAllocPitch_v2, cuMemFree_v2 */                                                \
	R(249, 254)	/* cuMemset*_v2 */                                                                                   \
	R(276, 294)	/* cuMemcpy*_v2, cuMemAllocHost_v2 */                                                                \
	R(305, 307)	/* cuMemcpy, cuMemcpyAsync, cuLaunchKernel */                                                        \
	R(318, 321)	/* cuMemcpy*Peer* */                                                                                 \
	R(371, 371)	/* cuMemAllocManaged */                                                                              \
	R(397, 416) R(418, 433) /* the above for per-thread default streams */                                               \
	R(440, 440) R(442, 442) /* cuStreamSynchronize_ptsz, cuLaunchKernel_ptsz */                                          \
	R(467, 468)	/* cuMemPrefetchAsync */                                                                             \
	R(477, 478) R(480, 480) /* cuLaunchCooperativeKernel* */                                                             \
	R(514, 515)	/* cuGraphLaunch */                                                                                  \
	R(527, 528)	/* cuLaunchHostFunc */                                                                               \
	R(598, 601)	/* cuMemAllocAsync, cuMemFreeAsync */                                                                \
	R(611, 612)	/* cuMemAllocFromPoolAsync */                                                                        \
	R(652, 653)	/* cuLaunchKernelEx */                                                                               \
	R(678, 679)	/* cuLibraryLoad* */                                                                                 \
	R(716, 717)	/* cuMemPrefetchAsync_v2 */                                                                          \
	R(776, 779)	/* cuMemcpyBatchAsync, cuMemcpy3DBatchAsync */                                                       \
	R(784, 785)	/* cuMemPrefetchBatchAsync */                                                                        \
	R(796, 800)	/* cuMemcpyBatchAsync_v2, cuMemcpy3DBatchAsync_v2, cuCtxSynchronize_v2 */                            \
	R(831, 832)	/* cuLaunchHostFunc_v2 */                                                                            \
	R(837, 840)	/* cuMemcpyWithAttributesAsync, cuMemcpy3DWithAttributesAsync */

/* Functions that end a context, and with it what CUPTI has not delivered of it: it is asked for that before. */
#define CUPTI_ENDING_CALLBACKS                                                                                               \
	R(322, 322)	/* cuCtxDestroy_v2 */                                                                                \
	R(387, 387) R(389, 389) /* cuDevicePrimaryCtxRelease, cuDevicePrimaryCtxReset */                                     \
	R(544, 545)	/* their second versions */

static inline uint16_t abi_u16(const void *record, size_t at)
{
	uint16_t v;
	memcpy(&v, (const char *)record + at, sizeof(v));
	return v;
}

static inline uint32_t abi_u32(const void *record, size_t at)
{
	uint32_t v;
	memcpy(&v, (const char *)record + at, sizeof(v));
	return v;
}

static inline uint64_t abi_u64(const void *record, size_t at)
{
	uint64_t v;
	memcpy(&v, (const char *)record + at, sizeof(v));
	return v;
}

static inline const char *abi_text(const void *record, size_t at)
{
	const char *v;
	memcpy(&v, (const char *)record + at, sizeof(v));
	return v;
}

#endif
