/*
 * gpu_trace.c - see ss_trace_gpu.h: a session with CUPTI.
 *
 * Two ways of CUPTI's are used. Callbacks tell of calls of the driver on the thread that makes
 * them: they become scopes like the program's own, on our clock, in the right place among them.
 * Activity records tell what the device did; they come in buffers, later, from a thread of CUPTI's,
 * and with times of CUPTI's clock, which is set against ours whenever a buffer comes. Both carry
 * the same correlation id, by which readers connect a launch with its kernel.
 *
 * What was dropped: activity records of API calls (they lack the ranges that were open, and double
 * the number of records).
 */
#include "ss_trace_gpu.h"

#include "base/write.h"
#include "cupti.h"
#include "cupti_abi.h"
#include "cupti_convert.h"
#include "gpu_trace.h"
#include "joined.h"
#include "nvtx.h"
#include "recorder.h"
#include "wire.h"

#include <dlfcn.h>
#include <glob.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ACTIVITY_BUFFER ((size_t)1 << 20)
#define FLUSH_PERIOD_S 1	/* what a killed program loses of its device at most */
#define SPARE_BUFFERS 8u
#define RANGES 16384u		/* launches under way; their ranges are remembered this far back */
#define CALLS_DEEP 8u
#define WARNINGS 2048u

/* The range of a launch, in two words that are read and written by several threads. */
struct launch_range {
	uint32_t correlation;
	const char *text;
};

static struct gpu {
	pthread_mutex_t lock;	/* guards all but what is said */
	bool running;		/* atomic: callbacks ask */
	struct cuda_driver driver;
	struct cupti cupti;	/* loaded once, then kept */
	void *subscriber;
	struct converter *converter; /* NULL: buffers that come are not wanted */
	struct converter *ended;     /* of the session that stops, which takes no lock: the recorder's is taken inside ours */
	bool forks;		     /* children are told */
	bool facts_known;	     /* the driver told of its devices */
	pthread_t flusher;
	bool flushing, quit;	     /* the flusher exists, and shall end */
	pthread_cond_t ends;	     /* told with quit */
	pthread_mutex_t spare_lock;  /* guards what follows; nothing is locked in it */
	uint8_t *spare[SPARE_BUFFERS];
	unsigned nspare;
	uint64_t cupti_dropped;
	uint64_t records;
	struct ss_trace_name names[CUPTI_CALLBACKS]; /* atomic: of driver functions, by number */
	struct launch_range ranges[RANGES];	     /* atomic */
	char error[1400];
	char warnings[WARNINGS]; /* lines */
} gpu = { .lock = PTHREAD_MUTEX_INITIALIZER, .spare_lock = PTHREAD_MUTEX_INITIALIZER };

/* Calls of the driver that a thread is in, and the last context's device. */
struct calls {
	unsigned depth;
	uint64_t session;	/* in which it entered them: an end that was not told is forgotten with it */
	struct ss_trace_scope scope[CALLS_DEEP];
	const void *context;
	uint32_t device;
};

static void warn(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static void warn(const char *fmt, ...)
{
	va_list ap;
	size_t n = strlen(gpu.warnings);
	va_start(ap, fmt);
	vsnprintf(gpu.warnings + n, sizeof(gpu.warnings) - n, fmt, ap);
	va_end(ap);
}

/* --- callbacks: calls of the driver ------------------------------------------------------------- */

static const char *range_of(uint32_t correlation)
{
	struct launch_range *r = &gpu.ranges[correlation % RANGES];
	if (__atomic_load_n(&r->correlation, __ATOMIC_ACQUIRE) != correlation)
		return NULL;
	const char *text = __atomic_load_n(&r->text, __ATOMIC_ACQUIRE);
	return __atomic_load_n(&r->correlation, __ATOMIC_ACQUIRE) == correlation ? text : NULL;
}

static void remember_range(uint32_t correlation)
{
	struct launch_range *r = &gpu.ranges[correlation % RANGES];
	const char *text = ss_nvtx_path();
	__atomic_store_n(&r->correlation, 0, __ATOMIC_RELEASE);
	if (!text)
		return;
	__atomic_store_n(&r->text, text, __ATOMIC_RELEASE);
	__atomic_store_n(&r->correlation, correlation, __ATOMIC_RELEASE);
}

static uint32_t device_of(struct calls *calls, const void *data)
{
	void *context;
	memcpy(&context, (const char *)data + CALLBACK_CONTEXT, sizeof(context));
	if (context && context != calls->context && gpu.cupti.get_device_id(context, &calls->device) == CUPTI_OK)
		calls->context = context;
	return context ? calls->device : 0;
}

static struct ss_trace_scope enter(struct calls *calls, uint32_t cbid, const void *data)
{
	static struct ss_trace_name keys[] = { { "correlation_id", 0 }, { "device_id", 0 }, { "context_id", 0 } };
	struct ss_trace_name *name = &gpu.names[cbid];
	uint32_t correlation = abi_u32(data, CALLBACK_CORRELATION);
	char context[24];
	const char *function = abi_text(data, CALLBACK_FUNCTION);
	if (!__atomic_load_n(&name->text, __ATOMIC_ACQUIRE))
		__atomic_store_n(&name->text, function ? function : "driver call", __ATOMIC_RELEASE);
	snprintf(context, sizeof(context), "$$%u", abi_u32(data, CALLBACK_CONTEXT_UID));
	const struct ss_trace_arg args[] = {
		{ &keys[0], SS_TRACE_UINT, { .u = correlation } },
		{ &keys[1], SS_TRACE_INT, { .i = device_of(calls, data) } },
		{ &keys[2], SS_TRACE_TEXT, { .text = context } },
	};
	remember_range(correlation);
	return ss_trace_begin(SS_TRACE_CRITICAL, name, args, 3);
}

static bool ends_context(int domain, uint32_t cbid)
{
#define R(first, last) if (domain == CUPTI_DOMAIN_DRIVER && cbid >= (first) && cbid <= (last)) return true;
	CUPTI_ENDING_CALLBACKS
#undef R
	return domain == CUPTI_DOMAIN_RUNTIME && cbid == CUPTI_DEVICE_RESET;
}

static void on_call(void *user, int domain, uint32_t cbid, const void *data)
{
	(void)user;
	if (cbid >= CUPTI_CALLBACKS || !data)
		return;
	if (ends_context(domain, cbid)) {
		if (abi_u32(data, CALLBACK_SITE) == CUPTI_API_ENTER && __atomic_load_n(&gpu.running, __ATOMIC_ACQUIRE))
			gpu.cupti.flush_all(0);
		return;
	}
	struct calls *calls = domain == CUPTI_DOMAIN_DRIVER ? ss_rec_mine(THREAD_CALLS, sizeof(*calls)) : NULL;
	if (!calls)
		return;
	if (abi_u32(data, CALLBACK_SITE) == CUPTI_API_ENTER) {
		uint64_t session = ss_rec_session();
		if (calls->session != session)
			calls->depth = 0;
		calls->session = session;
		unsigned at = calls->depth++;
		if (at < CALLS_DEEP)
			calls->scope[at] = __atomic_load_n(&gpu.running, __ATOMIC_ACQUIRE) ? enter(calls, cbid, data) :
											      (struct ss_trace_scope){ 0 };
	} else if (calls->depth) {
		unsigned at = --calls->depth;
		if (at < CALLS_DEEP)
			ss_trace_end(&calls->scope[at]);
	}
}

/* --- buffers: what the device did --------------------------------------------------------------- */

static void on_requested(uint8_t **buffer, size_t *size, size_t *max_records)
{
	/* Asked for in the middle of launches: one that was used already has its pages. */
	pthread_mutex_lock(&gpu.spare_lock);
	*buffer = gpu.nspare ? gpu.spare[--gpu.nspare] : NULL;
	pthread_mutex_unlock(&gpu.spare_lock);
	if (!*buffer)
		*buffer = aligned_alloc(8, ACTIVITY_BUFFER);
	*size = *buffer ? ACTIVITY_BUFFER : 0;
	*max_records = 0;	/* as many as fit */
}

/*
 * The offset between our clock and CUPTI's. The best of a few readings is the one with the shortest
 * interval between two readings of our clock.
 */
static bool clock_offset(const struct cupti *c, int64_t *out)
{
	uint64_t best = UINT64_MAX;
	for (int i = 0; i < 5; i++) {
		uint64_t theirs = 0, before = now_ns(CLOCK_MONOTONIC);
		if (c->get_timestamp(&theirs) != CUPTI_OK)
			return false;
		uint64_t after = now_ns(CLOCK_MONOTONIC);
		if (after - before < best) {
			best = after - before;
			*out = (int64_t)(before + best / 2 - theirs);
		}
	}
	return true;
}

static void spare(uint8_t *buffer)
{
	pthread_mutex_lock(&gpu.spare_lock);
	bool kept = buffer && gpu.nspare < SPARE_BUFFERS;
	if (kept)
		gpu.spare[gpu.nspare++] = buffer;
	pthread_mutex_unlock(&gpu.spare_lock);
	if (!kept)
		free(buffer);
}

static void on_completed(void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid)
{
	(void)size;
	size_t dropped = 0;
	void *record = NULL;
	pthread_mutex_lock(&gpu.lock);
	if (gpu.converter) {
		clock_offset(&gpu.cupti, &gpu.converter->clock_offset_ns);
		while (valid && gpu.cupti.next_record(buffer, valid, &record) == CUPTI_OK) {
			ss_convert(gpu.converter, record);
			gpu.records++;
		}
		ss_convert_end(gpu.converter);
		if (gpu.cupti.dropped_records(context, stream, &dropped) == CUPTI_OK)
			gpu.cupti_dropped += dropped;
	}
	pthread_mutex_unlock(&gpu.lock);
	spare(buffer);
}

/* --- what is done once a second ----------------------------------------------------------------- */

/*
 * CUPTI tells of devices only if it was asked before CUDA was initialized; the driver, only after.
 */
static void learn_devices(void)
{
	struct device_facts facts;
	if (gpu.facts_known)
		return;
	for (int i = 0; i < (int)CONVERT_DEVICES && ss_cuda_facts(&gpu.driver, i, &facts); i++) {
		pthread_mutex_lock(&gpu.lock);
		if (gpu.converter)
			ss_convert_facts(gpu.converter, (uint32_t)i, &facts);
		pthread_mutex_unlock(&gpu.lock);
		gpu.facts_known = true;
	}
}

/*
 * CUPTI delivers full buffers by itself, which may take a program minutes. A flush delivers those
 * whose records are complete; it is not forced, so that none is cut short that is under way.
 */
static void *flush_often(void *arg)
{
	(void)arg;
	struct timespec next;
	clock_gettime(CLOCK_MONOTONIC, &next);
	pthread_mutex_lock(&gpu.lock);
	while (!gpu.quit) {
		next.tv_sec += FLUSH_PERIOD_S;
		while (!gpu.quit && pthread_cond_timedwait(&gpu.ends, &gpu.lock, &next) == 0)
			continue;
		if (gpu.quit)
			break;
		pthread_mutex_unlock(&gpu.lock);
		learn_devices();
		gpu.cupti.flush_all(0);
		pthread_mutex_lock(&gpu.lock);
	}
	pthread_mutex_unlock(&gpu.lock);
	return NULL;
}

static void begin_flushing(void)
{
	pthread_condattr_t clock;
	pthread_condattr_init(&clock);
	pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
	pthread_cond_init(&gpu.ends, &clock);
	pthread_condattr_destroy(&clock);
	gpu.quit = false;
	gpu.flushing = ss_rec_thread(&gpu.flusher, flush_often);
}

static void end_flushing(void)
{
	if (!gpu.flushing)
		return;
	pthread_mutex_lock(&gpu.lock);
	gpu.quit = true;
	pthread_cond_signal(&gpu.ends);
	pthread_mutex_unlock(&gpu.lock);
	pthread_join(gpu.flusher, NULL);
	gpu.flushing = false;
}

/* --- the session's source of planes ------------------------------------------------------------- */

static const int kinds[] = { CUPTI_KIND_CONCURRENT_KERNEL, CUPTI_KIND_DEVICE, CUPTI_KIND_MEMCPY, CUPTI_KIND_MEMCPY_PEER,
			     CUPTI_KIND_MEMSET, CUPTI_KIND_MEMORY };

static void end_cupti(void)
{
	gpu.cupti.flush_all(FLUSH_FORCED);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		gpu.cupti.disable(kinds[i]);
	gpu.cupti.unsubscribe(gpu.subscriber);
}

static void source_stop(void)
{
	if (!__atomic_load_n(&gpu.running, __ATOMIC_ACQUIRE))
		return;
	end_flushing();
	learn_devices();
	end_cupti();
	__atomic_store_n(&gpu.running, false, __ATOMIC_RELEASE);
	pthread_mutex_lock(&gpu.lock);
	uint64_t full = ss_device_planes_dropped(gpu.converter->planes);
	if (gpu.cupti_dropped)
		warn("CUPTI dropped %llu records of the GPUs: its buffers were full\n", (unsigned long long)gpu.cupti_dropped);
	if (full)
		warn("%llu GPU events did not fit in the recording\n", (unsigned long long)full);
	if (gpu.converter->untimed)
		warn("%llu GPU events have no times: they were still running when the recording ended, or "
		     "CUPTI could not time them\n", (unsigned long long)gpu.converter->untimed);
	if (!gpu.records)
		warn("CUPTI delivered no GPU record: the program used no GPU while it was recorded\n");
	gpu.ended = gpu.converter;
	gpu.converter = NULL;
	pthread_mutex_unlock(&gpu.lock);
}

/* XSpace.warnings, one a line of ours. */
static bool write_warnings(int fd)
{
	bool ok = true;
	for (const char *at = gpu.warnings, *end; ok && (end = strchr(at, '\n')); at = end + 1) {
		unsigned char head[16];
		size_t n = (size_t)(end - at);
		unsigned char *stop = put_varint(put_varint(head, XSPACE_WARNINGS << 3 | 2), n);
		ok = ss_write_all(fd, head, (size_t)(stop - head)) && ss_write_all(fd, at, n);
	}
	return ok;
}

static bool source_write(int fd)
{
	return (!gpu.ended || ss_device_planes_write(gpu.ended->planes, fd)) && write_warnings(fd);
}

static void free_converter(struct converter **c, bool written)
{
	if (!*c)
		return;
	ss_device_planes_free((*c)->planes, written);
	ss_converter_release(*c);
	free(*c);
	*c = NULL;
}

static void source_finish(bool written)
{
	free_converter(&gpu.ended, written);
}

static const struct recorder_source source = { source_stop, source_write, source_finish };

/* --- start -------------------------------------------------------------------------------------- */

/* CUDA does not survive a fork, and the planes' files are the parent's. */
static void in_child(void)
{
	gpu.running = gpu.flushing = gpu.facts_known = false;
	gpu.converter = gpu.ended = NULL;
	pthread_mutex_init(&gpu.lock, NULL);
	pthread_mutex_init(&gpu.spare_lock, NULL);
}

/*
 * True: the session, if it still runs, has our planes beside its own. What it is comes first, so
 * that nothing is allocated in the lock.
 */
static bool set_source(uint64_t session)
{
	ss_rec_lock();
	bool running = ss_rec.running && ss_rec.session == session;
	if (running)
		ss_rec.source = &source;
	ss_rec_unlock();
	return running;
}

/* The planes beside the session that runs; false: there is none, or no memory. */
static bool join_session(void)
{
	char path[sizeof(ss_rec.spool.path)], host[sizeof(ss_rec.host)];
	struct converter *c = calloc(1, sizeof(*c));
	ss_rec_lock();
	bool running = ss_rec.running;
	const uint64_t session = ss_rec.session;
	const struct device_planes_options o = { path, host, ss_rec.start_unix_ns, ss_rec.spool.max_bytes };
	memcpy(path, ss_rec.spool.path, sizeof(path));
	memcpy(host, ss_rec.host, sizeof(host));
	if (c)
		c->start_ns = ss_rec.start_ns;
	ss_rec_unlock();
	if (c && running) {
		c->range_of = range_of;
		c->planes = ss_device_planes_new(&o);
	}
	running = running && set_source(session);
	if (!running)
		snprintf(gpu.error, sizeof(gpu.error), "no recording is running: call ss_trace_start first");
	else if (!c || !c->planes)
		snprintf(gpu.error, sizeof(gpu.error), "out of memory for the GPU planes");
	if (!running || !c || !c->planes) {
		free_converter(&c, false);
		return false;
	}
	ss_converter_init(c);
	gpu.converter = c;
	return true;
}

static bool called(const char *call, int status)
{
	if (status == CUPTI_OK)
		return true;
	ss_cupti_explain(&gpu.cupti, call, status, gpu.error, sizeof(gpu.error));
	return false;
}

/*
 * A CUPTI that is older than a function does not know it; one that knows none at all is a failure.
 */
static bool enable_callbacks(void)
{
	static const uint16_t ranges[][2] = {
#define R(first, last) { first, last },
		CUPTI_RECORDED_CALLBACKS
		CUPTI_ENDING_CALLBACKS
#undef R
	};
	int failed = CUPTI_OK;
	size_t enabled = 0;
	for (size_t i = 0; i < sizeof(ranges) / sizeof(*ranges); i++)
		for (uint32_t id = ranges[i][0]; id <= ranges[i][1]; id++) {
			int status = gpu.cupti.enable_callback(1, gpu.subscriber, CUPTI_DOMAIN_DRIVER, id);
			enabled += status == CUPTI_OK;
			failed = status != CUPTI_OK ? status : failed;
		}
	gpu.cupti.enable_callback(1, gpu.subscriber, CUPTI_DOMAIN_RUNTIME, CUPTI_DEVICE_RESET);
	return enabled || called("cuptiEnableCallback", failed);
}

/* Kernels are what it is about; without the rest the recording goes on and says so. */
static bool enable_kinds(void)
{
	static const char *const what[] = { "kernels", "facts about the devices", "copies", "copies between devices", "memsets",
					    "allocations" };
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		int status = gpu.cupti.enable(kinds[i]);
		if (status == CUPTI_OK)
			continue;
		if (!called("cuptiActivityEnable", status) && kinds[i] == CUPTI_KIND_CONCURRENT_KERNEL)
			return false;
		warn("%s are not recorded: %s\n", what[i], gpu.error);
		gpu.error[0] = '\0';
	}
	return true;
}

/*
 * The buffers' callbacks take the lock and CUPTI may call them at once, so it is given up around
 * this. To subscribe comes first: buffers are the whole process's, and another profiler's would
 * come to us. It may have been there since our last session, so that they are asked for anew each
 * time.
 */
static bool begin_cupti(void)
{
	struct cupti *c = &gpu.cupti;
	if (!called("cuptiSubscribe", c->subscribe(&gpu.subscriber, on_call, NULL)))
		return false;
	if (!called("cuptiActivityRegisterCallbacks", c->register_callbacks(on_requested, on_completed)) || !enable_callbacks() ||
	    !enable_kinds()) {
		for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
			c->disable(kinds[i]);
		c->unsubscribe(gpu.subscriber);
		return false;
	}
	begin_flushing();
	return true;
}

static bool load(void)
{
	if (gpu.cupti.library)
		return true;
	return ss_cuda_load(&gpu.driver, gpu.error, sizeof(gpu.error)) &&
	       ss_cupti_load(&gpu.cupti, &gpu.driver, gpu.error, sizeof(gpu.error));
}

static bool start(bool in_init)
{
	gpu.error[0] = gpu.warnings[0] = '\0';
	gpu.cupti_dropped = gpu.records = 0;
	gpu.facts_known = false;
	if (!gpu.forks)
		gpu.forks = pthread_atfork(NULL, NULL, in_child) == 0;
	if (!join_session())
		return false;
	if (!load() || !called("cuptiGetTimestamp", clock_offset(&gpu.cupti, &gpu.converter->clock_offset_ns) ? 0 : CUPTI_UNKNOWN))
		return false;
	__atomic_store_n(&gpu.running, true, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&gpu.lock);
	if (!in_init)
		learn_devices();
	bool begun = begin_cupti();
	pthread_mutex_lock(&gpu.lock);
	if (!begun)
		__atomic_store_n(&gpu.running, false, __ATOMIC_RELEASE);
	return begun;
}

bool ss_gpu_start(bool in_init)
{
	pthread_mutex_lock(&gpu.lock);
	bool ok = gpu.running || start(in_init);
	if (!ok && gpu.converter) {
		free_converter(&gpu.converter, true);
		warn("GPUs are not recorded: %s\n", gpu.error);
	}
	pthread_mutex_unlock(&gpu.lock);
	return ok;
}

bool ss_trace_gpu_start(void)
{
	const struct recorder_table *other = ss_rec_other();
	return other ? other->gpu_start() : ss_gpu_start(false);
}

bool ss_trace_gpu_used(void)
{
	void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
	if (driver)
		dlclose(driver);
	return driver != NULL;
}

const char *ss_trace_gpu_error(void)
{
	const struct recorder_table *other = ss_rec_other();
	return other ? other->gpu_error() : gpu.error;
}

/* --- what there is ------------------------------------------------------------------------------ */

static bool hardware_present(void)
{
	glob_t found;
	bool present = access("/dev/nvidiactl", F_OK) == 0 || access("/dev/dxg", F_OK) == 0;
	if (present || glob("/sys/bus/pci/devices/*/vendor", 0, NULL, &found) != 0)
		return present;
	for (size_t i = 0; !present && i < found.gl_pathc; i++) {
		char vendor[16] = "", class[16] = "", path[256];
		snprintf(path, sizeof(path), "%.*s/class", (int)(strlen(found.gl_pathv[i]) - strlen("/vendor")), found.gl_pathv[i]);
		FILE *f = fopen(found.gl_pathv[i], "re");
		FILE *g = fopen(path, "re");
		/* NVIDIA's number, and the class of display and 3D controllers. */
		if (f && g && fgets(vendor, sizeof(vendor), f) && fgets(class, sizeof(class), g))
			present = strncmp(vendor, "0x10de", 6) == 0 && strncmp(class, "0x03", 4) == 0;
		if (f)
			fclose(f);
		if (g)
			fclose(g);
	}
	globfree(&found);
	return present;
}

static void check_permission(struct ss_trace_gpu_report *r, const struct cupti *c)
{
	void *subscriber = NULL;
	const char *call = "cuptiSubscribe";
	int status = c->subscribe(&subscriber, on_call, NULL);
	if (status == CUPTI_OK) {
		call = "cuptiActivityEnable";
		status = c->enable(CUPTI_KIND_CONCURRENT_KERNEL);
		if (status == CUPTI_OK)
			c->disable(CUPTI_KIND_CONCURRENT_KERNEL);
		c->unsubscribe(subscriber);
	}
	r->permission = status == CUPTI_OK;
	if (r->permission)
		snprintf(r->permission_text, sizeof(r->permission_text), "CUPTI may record");
	else
		ss_cupti_explain(c, call, status, r->permission_text, sizeof(r->permission_text));
}

static void check(struct ss_trace_gpu_report *r)
{
	struct cuda_driver d;
	struct cupti c;
	char version[48];
	bool loaded = ss_cuda_load(&d, r->driver_text, sizeof(r->driver_text));
	r->driver = loaded && ss_cuda_count(&d, &r->ngpus, r->driver_text, sizeof(r->driver_text));
	r->driver_cuda = loaded ? d.cuda : 0;
	if (r->driver)
		snprintf(r->driver_text, sizeof(r->driver_text), "CUDA up to %u.%u, %d GPU%s", d.cuda / 1000, d.cuda / 10 % 100,
			 r->ngpus, r->ngpus == 1 ? "" : "s");
	r->cupti = ss_cupti_load(&c, loaded ? &d : NULL, r->cupti_text, sizeof(r->cupti_text));
	snprintf(r->permission_text, sizeof(r->permission_text), "not checked: this needs a driver and CUPTI");
	if (!r->cupti)
		return;
	r->cupti_version = c.version;
	ss_cupti_version_text(c.version, version, sizeof(version));
	snprintf(r->cupti_text, sizeof(r->cupti_text), "%s, '%.900s'", version, c.path);
	if (r->driver)
		check_permission(r, &c);
}

void ss_trace_gpu_check(struct ss_trace_gpu_report *report)
{
	struct ss_trace_gpu_report r = { .size = sizeof(r), .hardware = hardware_present() };
	size_t n = report->size < sizeof(r) ? report->size : sizeof(r);
	check(&r);
	r.size = n;
	memcpy(report, &r, n);
}
