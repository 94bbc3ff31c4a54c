/*
 * cupti.c - see standin.h: CUPTI, libcupti.so. Delivers records in buffers of the caller when it is asked
 * to, and each second record before the first, because real ones are in no order either. As NVIDIA's:
 * work that is under way stays behind unless the flush is forced, and then has no times; what was not
 * delivered of a context is gone with it; devices are told of only to those who ask before cuInit has
 * ended; and buffers go to whoever registered last. Offsets are written out here once more on purpose: they come from NVIDIA's
 * headers, not from the code under test.
 */
#include "standin.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define API __attribute__((visibility("default")))

enum { OK = 0, INVALID_PARAMETER = 1, MAX_LIMIT = 12, MULTIPLE_SUBSCRIBERS = 39 };
enum { KIND_MEMCPY = 1, KIND_MEMSET = 2, KIND_DEVICE = 8, KIND_KERNEL = 10, KIND_PEER = 22, KIND_MEMORY2 = 49, KINDS = 64 };
#define PENDING 65536u

typedef void callback_fn(void *user, int domain, uint32_t cbid, const void *data);
typedef void requested_fn(uint8_t **buffer, size_t *size, size_t *max);
typedef void completed_fn(void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid);

static struct tool {
	pthread_mutex_t lock;
	callback_fn *callback;
	void *user;
	bool subscribed;
	bool callbacks[1024], kinds[KINDS];
	requested_fn *requested;
	completed_fn *completed;
	struct standin_record *pending;
	size_t npending;
	bool devices_due;
	size_t dropped;
} tool = { .lock = PTHREAD_MUTEX_INITIALIZER };

static int version(void)
{
	const char *given = getenv("STANDIN_CUPTI");
	return given && atoi(given) == 13 ? 130000 : 28;
}

/* "cuptiSubscribe=39,cuptiActivityEnable=35" */
static int forced(const char *function)
{
	const char *list = getenv("STANDIN_FAIL"), *at = list ? strstr(list, function) : NULL;
	return at && at[strlen(function)] == '=' ? atoi(at + strlen(function) + 1) : OK;
}

static void put(uint8_t *record, size_t at, const void *value, size_t n)
{
	memcpy(record + at, value, n);
}

#define PUT(type, at, value)                             \
	do {                                             \
		type v_ = (type)(value);                 \
		put(record, (at), &v_, sizeof(v_));      \
	} while (0)

static size_t size_of(int kind)
{
	bool new = version() >= 130000;
	switch (kind) {
	case KIND_KERNEL: return new ? 216 : 208;
	case KIND_MEMCPY: return 96;
	case KIND_PEER: return 96;
	case KIND_MEMSET: return 88;
	case KIND_MEMORY2: return 128;
	default: return new ? 192 : 184;
	}
}

static void put_kernel(uint8_t *record, const struct standin_record *r)
{
	PUT(uint16_t, 6, r->function->registers);
	PUT(uint64_t, 16, r->start_ns);
	PUT(uint64_t, 24, r->end_ns);
	PUT(uint32_t, 40, r->device);
	PUT(uint32_t, 44, r->context);
	PUT(uint32_t, 48, r->stream);
	for (size_t i = 0; i < 3; i++) {
		PUT(uint32_t, 52 + 4 * i, r->grid[i]);
		PUT(uint32_t, 64 + 4 * i, r->block[i]);
	}
	PUT(uint32_t, 76, r->function->static_shared);
	PUT(uint32_t, 80, r->dynamic_shared);
	PUT(uint32_t, 92, r->correlation);
	PUT(const char *, 104, r->function->name);
	PUT(uint64_t, 144, r->graph_node);
	PUT(uint32_t, 156, r->graph);
}

static void put_transfer(uint8_t *record, const struct standin_record *r)
{
	PUT(uint8_t, 4, r->copy_kind);
	PUT(uint8_t, 5, r->src_kind);
	PUT(uint8_t, 6, r->dst_kind);
	PUT(uint8_t, 7, 1);
	PUT(uint64_t, 8, r->bytes);
	PUT(uint64_t, 16, r->start_ns);
	PUT(uint64_t, 24, r->end_ns);
	PUT(uint32_t, 32, r->device);
	PUT(uint32_t, 36, r->context);
	PUT(uint32_t, 40, r->stream);
}

static void put_copy(uint8_t *record, const struct standin_record *r)
{
	put_transfer(record, r);
	PUT(uint32_t, 44, r->correlation);
	PUT(uint64_t, 64, r->graph_node);
	PUT(uint32_t, 72, r->graph);
}

static void put_peer(uint8_t *record, const struct standin_record *r)
{
	put_transfer(record, r);
	PUT(uint32_t, 44, r->device);
	PUT(uint32_t, 48, r->context);
	PUT(uint32_t, 52, r->to_device);
	PUT(uint32_t, 56, r->to_device + 1);
	PUT(uint32_t, 60, r->correlation);
}

static void put_set(uint8_t *record, const struct standin_record *r)
{
	put_copy(record, r);
	PUT(uint32_t, 4, 0);
	PUT(uint16_t, 48, 1);
	PUT(uint16_t, 50, r->dst_kind);
}

static void put_memory(uint8_t *record, const struct standin_record *r)
{
	PUT(uint32_t, 4, r->work == STANDIN_ALLOC ? 1 : 2);
	PUT(uint32_t, 8, r->dst_kind);
	PUT(uint32_t, 12, r->correlation);
	PUT(uint64_t, 16, r->address);
	PUT(uint64_t, 24, r->bytes);
	PUT(uint64_t, 32, r->start_ns);
	PUT(uint32_t, 48, getpid());
	PUT(uint32_t, 52, r->device);
	PUT(uint32_t, 56, r->context);
}

/* An H100 SXM, or a seventh of one. The last one is hidden from the program. */
static void put_device(uint8_t *record, uint32_t id)
{
	bool mig = standin_mig();
	PUT(uint64_t, 8, 3352320000u);
	PUT(uint64_t, 16, UINT64_C(85520809984));
	PUT(uint32_t, 32, 32);
	PUT(uint32_t, 36, 1980000);
	PUT(uint32_t, 44, mig ? 16 : 132);
	PUT(uint32_t, 52, 64);
	PUT(uint32_t, 56, 32);
	PUT(uint32_t, 60, 233472);
	PUT(uint32_t, 64, 65536);
	PUT(uint32_t, 104, 9);
	PUT(uint32_t, 108, 0);
	PUT(uint32_t, 112, id);
	for (size_t i = 0; i < 16; i++) {
		PUT(uint8_t, 120 + i, 16 * (id + 1) + i);
		PUT(uint8_t, 160 + i, mig ? 16 * (id + 9) + i : 0);
	}
	PUT(const char *, 136, "Stand-in GPU");
	PUT(uint8_t, 144, id < STANDIN_DEVICES);
	PUT(uint8_t, 145, mig);
	PUT(uint32_t, 152, mig ? 7 + id : UINT32_MAX);
	PUT(uint32_t, 156, mig ? 0 : UINT32_MAX);
}

static int kind_of(const struct standin_record *r)
{
	switch (r->work) {
	case STANDIN_KERNEL: return KIND_KERNEL;
	case STANDIN_COPY: return KIND_MEMCPY;
	case STANDIN_PEER_COPY: return KIND_PEER;
	case STANDIN_SET: return KIND_MEMSET;
	default: return KIND_MEMORY2;
	}
}

struct filling {
	uint8_t *buffer;
	size_t size, used;
};

/* Room for a record of the kind, in a new buffer if it must be. The lock is held but for the caller's functions. */
static uint8_t *room(struct filling *f, int kind)
{
	size_t n = size_of(kind), max = 0;
	if (f->buffer && f->used + n > f->size) {
		pthread_mutex_unlock(&tool.lock);
		tool.completed(NULL, 0, f->buffer, f->size, f->used);
		pthread_mutex_lock(&tool.lock);
		f->buffer = NULL;
	}
	if (!f->buffer) {
		f->used = 0;
		pthread_mutex_unlock(&tool.lock);
		tool.requested(&f->buffer, &f->size, &max);
		pthread_mutex_lock(&tool.lock);
		if (!f->buffer || f->size < n) {
			tool.dropped++;
			return NULL;
		}
	}
	uint8_t *record = f->buffer + f->used;
	memset(record, 0, n);
	PUT(uint32_t, 0, kind);
	f->used += n;
	return record;
}

static void put_record(struct filling *f, const struct standin_record *r)
{
	int kind = kind_of(r);
	uint8_t *record = tool.kinds[kind] ? room(f, kind) : NULL;
	if (!record)
		return;
	switch (r->work) {
	case STANDIN_KERNEL: put_kernel(record, r); break;
	case STANDIN_COPY: put_copy(record, r); break;
	case STANDIN_PEER_COPY: put_peer(record, r); break;
	case STANDIN_SET: put_set(record, r); break;
	default: put_memory(record, r);
	}
}

/* Work that is under way: waits, or is delivered without times if the flush is forced. */
static size_t set_aside(struct standin_record *work, size_t n, bool forced)
{
	uint64_t now = standin_now_ns();
	size_t kept = 0;
	for (size_t i = 0; i < n; i++) {
		bool memory = work[i].work == STANDIN_ALLOC || work[i].work == STANDIN_FREE;
		if (work[i].end_ns > now && !forced && !memory) {
			tool.pending[tool.npending++] = work[i];
			continue;
		}
		work[kept] = work[i];
		if (work[i].end_ns > now && !memory)
			work[kept].start_ns = work[kept].end_ns = 0;
		kept++;
	}
	return kept;
}

static void deliver(bool forced)
{
	struct filling f = { 0 };
	pthread_mutex_lock(&tool.lock);
	for (uint32_t i = 0; tool.devices_due && i <= STANDIN_DEVICES; i++) {
		uint8_t *record = room(&f, KIND_DEVICE);
		if (record)
			put_device(record, i);
	}
	tool.devices_due = false;
	struct standin_record *work = tool.pending;
	size_t n = tool.npending;
	tool.pending = work ? malloc(PENDING * sizeof(*tool.pending)) : NULL;
	tool.npending = 0;
	n = tool.pending ? set_aside(work, n, forced) : n;
	for (size_t i = 0; i < n; i++)
		put_record(&f, &work[(i ^ 1) < n ? i ^ 1 : i]);
	pthread_mutex_unlock(&tool.lock);
	if (f.buffer)
		tool.completed(NULL, 0, f.buffer, f.size, f.used);
	free(work);
}

/* --- what the driver tells ---------------------------------------------------------------------- */

static void on_call(int exit, uint32_t cbid, const char *function, uint32_t context, uint32_t correlation)
{
	uint8_t record[72] = { 0 };
	uint64_t data = 0;
	if (!tool.subscribed || cbid >= 1024 || !tool.callbacks[cbid])
		return;
	PUT(uint32_t, 0, exit);
	PUT(const char *, 8, function);
	PUT(void *, 40, (uintptr_t)context);
	PUT(uint32_t, 48, context);
	PUT(uint64_t *, 56, &data);
	PUT(uint32_t, 64, correlation);
	tool.callback(tool.user, 1, cbid, record);
}

static void on_work(const struct standin_record *r)
{
	pthread_mutex_lock(&tool.lock);
	if (!tool.pending)
		tool.pending = malloc(PENDING * sizeof(*tool.pending));
	if (tool.pending && tool.npending < PENDING)
		tool.pending[tool.npending++] = *r;
	else
		tool.dropped++;
	pthread_mutex_unlock(&tool.lock);
}

static void on_ended(uint32_t context)
{
	size_t kept = 0;
	pthread_mutex_lock(&tool.lock);
	for (size_t i = 0; i < tool.npending; i++)
		if (tool.pending[i].context != context)
			tool.pending[kept++] = tool.pending[i];
	tool.npending = kept;
	pthread_mutex_unlock(&tool.lock);
}

static const struct standin_tool attached = { on_call, on_work, on_ended };

/* --- the interface ------------------------------------------------------------------------------ */

API int cuptiGetVersion(uint32_t *out);
API int cuptiGetTimestamp(uint64_t *ns);
API int cuptiGetResultString(int status, const char **text);
API int cuptiSubscribe(void **subscriber, callback_fn *callback, void *user);
API int cuptiUnsubscribe(void *subscriber);
API int cuptiEnableCallback(uint32_t on, void *subscriber, int domain, uint32_t cbid);
API int cuptiActivityRegisterCallbacks(requested_fn *requested, completed_fn *completed);
API int cuptiActivityEnable(int kind);
API int cuptiActivityDisable(int kind);
API int cuptiActivityFlushAll(uint32_t flags);
API int cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid, void **record);
API int cuptiActivityGetNumDroppedRecords(void *context, uint32_t stream, size_t *n);
API int cuptiGetDeviceId(void *context, uint32_t *device);

int cuptiGetVersion(uint32_t *out)
{
	const char *older = getenv("STANDIN_API");
	*out = older ? (uint32_t)atoi(older) : (uint32_t)version();
	return forced("cuptiGetVersion");
}

int cuptiGetTimestamp(uint64_t *ns)
{
	*ns = standin_now_ns();
	return forced("cuptiGetTimestamp");
}

int cuptiGetResultString(int status, const char **text)
{
	*text = status == 35 ? "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES" :
		status == 39 ? "CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED" : NULL;
	return *text ? OK : INVALID_PARAMETER;
}

int cuptiSubscribe(void **subscriber, callback_fn *callback, void *user)
{
	if (forced("cuptiSubscribe"))
		return forced("cuptiSubscribe");
	if (tool.subscribed)
		return MULTIPLE_SUBSCRIBERS;
	tool.callback = callback;
	tool.user = user;
	tool.subscribed = true;
	*subscriber = &tool;
	standin_attach(&attached);
	return OK;
}

int cuptiUnsubscribe(void *subscriber)
{
	(void)subscriber;
	tool.subscribed = false;
	memset(tool.callbacks, 0, sizeof(tool.callbacks));
	return OK;
}

int cuptiEnableCallback(uint32_t on, void *subscriber, int domain, uint32_t cbid)
{
	(void)subscriber;
	/* CUPTI 12 ends before cuMemcpyBatchAsync_v2, as NVIDIA's of 12.9 does. */
	if (domain < 1 || domain > 2 || cbid >= (version() < 130000 ? 784u : 1024u))
		return INVALID_PARAMETER;
	if (domain == 1)
		tool.callbacks[cbid] = on;
	return forced("cuptiEnableCallback");
}

int cuptiActivityRegisterCallbacks(requested_fn *requested, completed_fn *completed)
{
	/* Whoever has not subscribed takes another tool's buffers away. */
	if (!tool.subscribed)
		abort();
	tool.requested = requested;
	tool.completed = completed;
	return forced("cuptiActivityRegisterCallbacks");
}

int cuptiActivityEnable(int kind)
{
	char with_kind[48];
	snprintf(with_kind, sizeof(with_kind), "cuptiActivityEnable:%d", kind);
	int status = forced(with_kind) ? forced(with_kind) : forced("cuptiActivityEnable");
	if (status)
		return status;
	if (kind < 0 || kind >= KINDS)
		return INVALID_PARAMETER;
	tool.kinds[kind] = true;
	tool.devices_due |= kind == KIND_DEVICE && !standin_ready();
	const char *drop = getenv("STANDIN_DROP");
	tool.dropped = drop ? (size_t)atoi(drop) : 0;
	return OK;
}

int cuptiActivityDisable(int kind)
{
	if (kind >= 0 && kind < KINDS)
		tool.kinds[kind] = false;
	return OK;
}

int cuptiActivityFlushAll(uint32_t flags)
{
	if (tool.completed)
		deliver(flags == 1);
	return OK;
}

int cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid, void **record)
{
	uint8_t *at = *record, *next = buffer;
	if (at) {
		uint32_t kind;
		memcpy(&kind, at, sizeof(kind));
		next = at + size_of((int)kind);
	}
	if (next >= buffer + valid)
		return MAX_LIMIT;
	*record = next;
	return OK;
}

int cuptiActivityGetNumDroppedRecords(void *context, uint32_t stream, size_t *n)
{
	(void)context;
	(void)stream;
	*n = tool.dropped;
	tool.dropped = 0;
	return OK;
}

int cuptiGetDeviceId(void *context, uint32_t *device)
{
	*device = STANDIN_DEVICE_OF((uint32_t)(uintptr_t)context);
	return OK;
}
