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
enum { CBID_ALLOC = 243, CBID_FREE = 245, CBID_SET = 216, CBID_H2D = 277, CBID_D2H = 279, CBID_LAUNCH = 307, CBID_SYNC = 126 };
#define STREAMS 8u

static struct driver {
	const struct standin_tool *tool;
	bool ready;
	uint32_t correlation;
	uint64_t busy_until_ns[STANDIN_DEVICES][STREAMS];
	uint64_t next_address;
	uint64_t bytes_at[256];	/* of allocations, by slot of the address */
} driver = { .next_address = UINT64_C(0x700000000000) };

static __thread uint32_t device;

API uint64_t standin_now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_REALTIME, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec + (uint64_t)STANDIN_CLOCK_SHIFT_NS;
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

int cuDriverGetVersion(int *version)
{
	const char *given = getenv("STANDIN_DRIVER");
	*version = given ? atoi(given) : 13010;
	return 0;
}

/* As NVIDIA's driver does it: the first initialization loads the injected library and calls it. */
int cuInit(unsigned flags)
{
	(void)flags;
	if (getenv("STANDIN_NO_GPU"))
		return NO_DEVICE;
	if (driver.ready)
		return 0;
	driver.ready = true;
	const char *path = getenv("CUDA_INJECTION64_PATH");
	void *library = path ? dlopen(path, RTLD_NOW) : NULL;
	int (*begin)(void) = NULL;
	void *at = library ? dlsym(library, "InitializeInjection") : NULL;
	memcpy(&begin, &at, sizeof(at));
	if (begin)
		begin();
	return 0;
}

int cuDeviceGetCount(int *n)
{
	*n = STANDIN_DEVICES;
	return driver.ready ? 0 : NOT_INITIALIZED;
}

/* A context is a device's number + 1. */
int cuCtxSetCurrent(void *context)
{
	device = (uint32_t)(uintptr_t)context - 1;
	return device < STANDIN_DEVICES ? 0 : INVALID;
}

static uint32_t enter(uint32_t cbid, const char *name)
{
	uint32_t correlation = __atomic_add_fetch(&driver.correlation, 1, __ATOMIC_RELAXED);
	if (driver.tool)
		driver.tool->call(0, cbid, name, device + 1, correlation);
	return correlation;
}

static int leave(uint32_t cbid, const char *name, uint32_t correlation)
{
	if (driver.tool)
		driver.tool->call(1, cbid, name, device + 1, correlation);
	return 0;
}

/* Work begins when the stream is free, a microsecond after it was queued at the earliest. */
static void queue(struct standin_record *r, void *stream, uint64_t duration_ns)
{
	static int lock;
	r->device = device;
	r->context = device + 1;
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
	driver.bytes_at[*address >> 20 & 255] = bytes;
	struct standin_record r = { .work = STANDIN_ALLOC, .correlation = id, .dst_kind = 3, .bytes = bytes, .address = *address };
	queue(&r, NULL, 0);
	return leave(CBID_ALLOC, "cuMemAlloc_v2", id);
}

int cuMemFree_v2(uint64_t address)
{
	uint32_t id = enter(CBID_FREE, "cuMemFree_v2");
	struct standin_record r = { .work = STANDIN_FREE, .correlation = id, .dst_kind = 3,
				    .bytes = driver.bytes_at[address >> 20 & 255], .address = address };
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
