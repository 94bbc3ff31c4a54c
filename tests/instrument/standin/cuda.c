/* cuda.c - see standin.h: the driver, libcuda.so.1. Signatures are the driver's own. */
#include "standin.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define API __attribute__((visibility("default")))

enum { NO_DEVICE = 100, NOT_INITIALIZED = 3, INVALID = 1 };
enum {
	CBID_ALLOC = 243, CBID_FREE = 245, CBID_SET = 216, CBID_H2D = 277, CBID_D2H = 279, CBID_LAUNCH = 307, CBID_SYNC = 126,
	CBID_PEER = 319, CBID_GRAPH = 514, CBID_DESTROY = 322,
};
#define STREAMS 8u

static struct driver {
	const struct standin_tool *tool;
	bool ready, initializing;
	uint32_t correlation;
	uint64_t busy_until_ns[STANDIN_DEVICES][STREAMS];
	uint64_t next_address;
} driver = { .next_address = UINT64_C(0x700000000000) };

static __thread uint32_t device, context = 1;

API uint64_t standin_now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_REALTIME, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec + (uint64_t)STANDIN_CLOCK_SHIFT_NS;
}

API bool standin_ready(void)
{
	return driver.ready;
}

API bool standin_mig(void)
{
	return getenv("STANDIN_MIG") != NULL;
}

API void standin_attach(const struct standin_tool *tool)
{
	driver.tool = tool;
}

API int cuDriverGetVersion(int *version);
API int cuInit(unsigned flags);
API int cuDeviceGetCount(int *n);
API int cuCtxSetCurrent(void *context);
API int cuMemAlloc_v2(uint64_t *address, size_t bytes);
API int cuMemFree_v2(uint64_t address);
API int cuMemsetD8Async(uint64_t address, unsigned char value, size_t n, void *stream);
API int cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t bytes, void *stream);
API int cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t bytes, void *stream);
API int cuLaunchKernel(const void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared,
		       void *stream, void **params, void **extra);
API int cuStreamSynchronize(void *stream);
API int cuMemcpyPeerAsync(uint64_t to, void *to_context, uint64_t from, void *from_context, size_t bytes, void *stream);
API int cuGraphLaunch(const void *executable, void *stream);
API int cuCtxDestroy_v2(void *context);
API int cuDeviceGet(int *out, int ordinal);
API int cuDeviceGetName(char *name, int n, int ordinal);
API int cuDeviceGetAttribute(int *value, int attribute, int ordinal);
API int cuDeviceTotalMem_v2(size_t *bytes, int ordinal);
API int cuDeviceGetUuid_v2(uint8_t uuid[16], int ordinal);

int cuDriverGetVersion(int *version)
{
	const char *given = getenv("STANDIN_DRIVER");
	*version = given ? atoi(given) : 13010;
	return 0;
}

/* As NVIDIA's driver does it: the first initialization loads the injected library and calls it, before it has ended. */
int cuInit(unsigned flags)
{
	(void)flags;
	if (getenv("STANDIN_NO_GPU"))
		return NO_DEVICE;
	if (driver.ready)
		return 0;
	if (driver.initializing)
		abort();	/* the real one would wait for itself */
	driver.initializing = true;
	const char *path = getenv("CUDA_INJECTION64_PATH");
	void *library = path ? dlopen(path, RTLD_NOW) : NULL;
	int (*begin)(void) = NULL;
	void *at = library ? dlsym(library, "InitializeInjection") : NULL;
	memcpy(&begin, &at, sizeof(at));
	if (begin)
		begin();
	driver.ready = true;
	driver.initializing = false;
	return 0;
}

static int known(int ordinal)
{
	return !driver.ready ? NOT_INITIALIZED : ordinal < 0 || ordinal >= (int)STANDIN_DEVICES ? INVALID : 0;
}

int cuDeviceGet(int *out, int ordinal)
{
	if (driver.initializing)
		abort();
	*out = ordinal;
	return known(ordinal);
}

int cuDeviceGetName(char *name, int n, int ordinal)
{
	snprintf(name, (size_t)n, "Stand-in GPU%s", standin_mig() ? " MIG 1g.10gb" : "");
	return known(ordinal);
}

/* An H100 SXM, or a seventh of one. */
int cuDeviceGetAttribute(int *value, int attribute, int ordinal)
{
	static const struct { int attribute, value; } table[] = {
		{ 10, 32 }, { 13, 1980000 }, { 16, 132 }, { 36, 2619000 }, { 37, 5120 }, { 39, 2048 }, { 75, 9 }, { 76, 0 },
		{ 81, 233472 }, { 82, 65536 }, { 106, 32 },
	};
	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++)
		if (table[i].attribute == attribute) {
			*value = attribute == 16 && standin_mig() ? 16 : table[i].value;
			return known(ordinal);
		}
	return INVALID;
}

int cuDeviceTotalMem_v2(size_t *bytes, int ordinal)
{
	*bytes = UINT64_C(85520809984);
	return known(ordinal);
}

int cuDeviceGetUuid_v2(uint8_t uuid[16], int ordinal)
{
	for (int i = 0; i < 16; i++)
		uuid[i] = (uint8_t)(16 * (ordinal + 1 + 8 * standin_mig()) + i);
	return known(ordinal);
}

int cuDeviceGetCount(int *n)
{
	*n = STANDIN_DEVICES;
	return driver.ready ? 0 : NOT_INITIALIZED;
}

/* Contexts are numbered from 1, and belong to the devices in turn. */
int cuCtxSetCurrent(void *current)
{
	context = (uint32_t)(uintptr_t)current;
	device = STANDIN_DEVICE_OF(context);
	return context ? 0 : INVALID;
}

static uint32_t enter(uint32_t cbid, const char *name)
{
	uint32_t correlation = __atomic_add_fetch(&driver.correlation, 1, __ATOMIC_RELAXED);
	if (driver.tool)
		driver.tool->call(0, cbid, name, context, correlation);
	return correlation;
}

static int leave(uint32_t cbid, const char *name, uint32_t correlation)
{
	if (driver.tool)
		driver.tool->call(1, cbid, name, context, correlation);
	return 0;
}

/* Work begins when the stream is free, a microsecond after it was queued at the earliest. */
static void queue(struct standin_record *r, void *stream, uint64_t duration_ns)
{
	static int lock;
	r->device = device;
	r->context = context;
	r->stream = (uint32_t)(uintptr_t)stream;
	while (__atomic_exchange_n(&lock, 1, __ATOMIC_ACQUIRE))
		;
	uint64_t *busy = &driver.busy_until_ns[device][r->stream % STREAMS], soonest = standin_now_ns() + 1000;
	r->start_ns = *busy > soonest ? *busy : soonest;
	*busy = r->end_ns = r->start_ns + duration_ns;
	__atomic_store_n(&lock, 0, __ATOMIC_RELEASE);
	if (driver.tool)
		driver.tool->work(r);
}

int cuMemAlloc_v2(uint64_t *address, size_t bytes)
{
	uint32_t id = enter(CBID_ALLOC, "cuMemAlloc_v2");
	*address = __atomic_fetch_add(&driver.next_address, 1 << 20, __ATOMIC_RELAXED);
	struct standin_record r = { .work = STANDIN_ALLOC, .correlation = id, .dst_kind = 3, .bytes = bytes, .address = *address };
	queue(&r, NULL, 0);
	return leave(CBID_ALLOC, "cuMemAlloc_v2", id);
}

int cuMemFree_v2(uint64_t address)
{
	uint32_t id = enter(CBID_FREE, "cuMemFree_v2");
	/* A release that says no more than the address: nobody shall rely on it. */
	struct standin_record r = { .work = STANDIN_FREE, .correlation = id, .address = address };
	queue(&r, NULL, 0);
	return leave(CBID_FREE, "cuMemFree_v2", id);
}

int cuMemsetD8Async(uint64_t address, unsigned char value, size_t n, void *stream)
{
	(void)value;
	uint32_t id = enter(CBID_SET, "cuMemsetD8Async");
	struct standin_record r = { .work = STANDIN_SET, .correlation = id, .dst_kind = 3, .bytes = n, .address = address };
	queue(&r, stream, 1000 + n / 100);
	return leave(CBID_SET, "cuMemsetD8Async", id);
}

int cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t bytes, void *stream)
{
	(void)from;
	uint32_t id = enter(CBID_H2D, "cuMemcpyHtoDAsync_v2");
	struct standin_record r = { .work = STANDIN_COPY, .correlation = id, .copy_kind = 1, .src_kind = 1, .dst_kind = 3,
				    .bytes = bytes, .address = to };
	queue(&r, stream, 2000 + bytes / 10);
	return leave(CBID_H2D, "cuMemcpyHtoDAsync_v2", id);
}

int cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t bytes, void *stream)
{
	(void)to;
	uint32_t id = enter(CBID_D2H, "cuMemcpyDtoHAsync_v2");
	struct standin_record r = { .work = STANDIN_COPY, .correlation = id, .copy_kind = 2, .src_kind = 3, .dst_kind = 2,
				    .bytes = bytes, .address = from };
	queue(&r, stream, 2000 + bytes / 10);
	return leave(CBID_D2H, "cuMemcpyDtoHAsync_v2", id);
}

int cuLaunchKernel(const void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared,
		   void *stream, void **params, void **extra)
{
	(void)params;
	(void)extra;
	uint32_t id = enter(CBID_LAUNCH, "cuLaunchKernel");
	const struct standin_function *function = f;
	struct standin_record r = { .work = STANDIN_KERNEL, .correlation = id, .function = function, .grid = { gx, gy, gz },
				    .block = { bx, by, bz }, .dynamic_shared = shared };
	queue(&r, stream, function->duration_ns);
	return leave(CBID_LAUNCH, "cuLaunchKernel", id);
}

int cuMemcpyPeerAsync(uint64_t to, void *to_context, uint64_t from, void *from_context, size_t bytes, void *stream)
{
	(void)from;
	(void)from_context;
	uint32_t id = enter(CBID_PEER, "cuMemcpyPeerAsync");
	struct standin_record r = { .work = STANDIN_PEER_COPY, .correlation = id, .copy_kind = 10, .src_kind = 3, .dst_kind = 3,
				    .bytes = bytes, .address = to,
				    .to_device = STANDIN_DEVICE_OF((uint32_t)(uintptr_t)to_context) };
	queue(&r, stream, 1000 + bytes / 100);
	return leave(CBID_PEER, "cuMemcpyPeerAsync", id);
}

/* All nodes have the correlation of the launch. */
int cuGraphLaunch(const void *executable, void *stream)
{
	const struct standin_graph *g = executable;
	uint32_t id = enter(CBID_GRAPH, "cuGraphLaunch");
	for (size_t i = 0; i < g->nkernels; i++) {
		struct standin_record r = { .work = STANDIN_KERNEL, .correlation = id, .function = g->kernels[i],
					    .grid = { 64, 1, 1 }, .block = { 1024, 1, 1 },
					    .graph = g->id, .graph_node = (uint64_t)g->id << 32 | i };
		queue(&r, stream, g->kernels[i]->duration_ns);
	}
	struct standin_record set = { .work = STANDIN_SET, .correlation = id, .dst_kind = 3, .bytes = 4096, .address = 4096,
				      .graph = g->id, .graph_node = (uint64_t)g->id << 32 | g->nkernels };
	queue(&set, stream, 1000);
	return leave(CBID_GRAPH, "cuGraphLaunch", id);
}

int cuCtxDestroy_v2(void *ended)
{
	uint32_t id = enter(CBID_DESTROY, "cuCtxDestroy_v2");
	if (driver.tool)
		driver.tool->ended((uint32_t)(uintptr_t)ended);
	return leave(CBID_DESTROY, "cuCtxDestroy_v2", id);
}

int cuStreamSynchronize(void *stream)
{
	uint32_t id = enter(CBID_SYNC, "cuStreamSynchronize");
	uint64_t until = driver.busy_until_ns[device][(uintptr_t)stream % STREAMS], now = standin_now_ns();
	if (until > now) {
		struct timespec t = { (time_t)((until - now) / 1000000000u), (long)((until - now) % 1000000000u) };
		nanosleep(&t, NULL);
	}
	return leave(CBID_SYNC, "cuStreamSynchronize", id);
}
