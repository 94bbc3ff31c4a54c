/* nsys.c - one pass over each table. */
#include "import/nsys.h"

#include "base/vec.h"
#include "import/gpu_words.h"

#include <stdlib.h>

struct reader {
	struct ss_db *db;
	struct ss_space_out *o;
	struct ss_nsys_loss *loss;
	SS_VEC(struct ss_str) strings;
	struct ss_u64map string_ids, threads, processes, gpus; /* ids to numbers of strings; the last: process and device to GPU */
	struct ss_u64map pids;		/* numbers of processes, in the order of their first event */
	struct ss_gpu_event event;
	struct ss_err err;
};

/* Columns that every table of events is asked for, in this order. */
#define TIMES "start", "end"
enum { START, END };

static int64_t pid_of(int64_t global)
{
	return (int64_t)((uint64_t)global >> 24 & 0xffffff);
}

static int64_t tid_of(int64_t global)
{
	return (int64_t)((uint64_t)global & 0xffffff);
}

static struct ss_str string(struct reader *r, int64_t id)
{
	uint32_t at = ss_u64map_get(&r->string_ids, (uint64_t)id);
	r->loss->nameless += at == SS_NONE;
	return at == SS_NONE ? SS_STR("") : r->strings.v[at];
}

/* Correlations are unique within a process. */
static int64_t correlation(struct reader *r, int64_t global, int64_t id)
{
	uint32_t n = ss_u64map_add(&r->pids, (uint64_t)pid_of(global), (uint32_t)r->pids.n);
	r->o->no_memory |= n == SS_NONE;
	return (int64_t)((uint64_t)id | (uint64_t)n << 40);
}

/* Go through a table; false when memory is out. Damage ends the table and is noted. */
typedef void row_fn(struct reader *r, const struct ss_db_rows *rows);

static bool each(struct reader *r, const char *table, const char *const *cols, size_t ncols, row_fn *row)
{
	struct ss_db_rows rows;
	struct ss_err err = { 0 };
	bool ok = ss_db_scan(r->db, table, cols, ncols, &rows, &err);
	while (ok && !r->o->no_memory && ss_db_next(&rows))
		row(r, &rows);
	ok = ss_db_end(&rows, &err) && ok;
	r->loss->cut |= !ok;
	return (ok || err.code != SS_ENOMEM) && !r->o->no_memory;
}

#define EACH(r, table, cols, row) each(r, table, cols, SS_COUNT(cols), row)

/* ---- names ---- */

static void keep(struct reader *r, struct ss_u64map *ids, uint64_t id, struct ss_str text)
{
	struct ss_str copy = ss_arena_str(&r->o->arena, text);
	if (!copy.p || r->strings.n >= SS_NONE || !ss_u64map_put(ids, id, (uint32_t)r->strings.n) ||
	    !ss_vec_push(&r->strings, copy))
		r->o->no_memory = true;
}

static void take_string(struct reader *r, const struct ss_db_rows *row)
{
	keep(r, &r->string_ids, (uint64_t)ss_db_i64(row, 0), ss_db_text(row, 1));
}

static void take_thread_name(struct reader *r, const struct ss_db_rows *row)
{
	keep(r, &r->threads, (uint64_t)ss_db_i64(row, 1) & 0xffffffffffff, string(r, ss_db_i64(row, 0)));
}

static void take_process(struct reader *r, const struct ss_db_rows *row)
{
	keep(r, &r->processes, (uint64_t)pid_of(ss_db_i64(row, 0)), ss_db_text(row, 1));
}

static struct ss_str process_name(void *arg, int64_t pid)
{
	const struct reader *r = arg;
	uint32_t at = ss_u64map_get(&r->processes, (uint64_t)pid);
	return at == SS_NONE ? SS_STR("") : r->strings.v[at];
}

static bool read_names(struct reader *r)
{
	static const char *const strings[] = { "id", "value" }, *const threads[] = { "nameId", "globalTid" };
	static const char *const processes[] = { "globalPid", "name" };
	bool ok = EACH(r, "StringIds", strings, take_string) && EACH(r, "ThreadNames", threads, take_thread_name) &&
		  EACH(r, "PROCESSES", processes, take_process);
	r->loss->nameless = 0;
	return ok;
}

/* ---- places ---- */

static uint32_t line_of_thread(struct reader *r, uint32_t plane, int64_t global, const char *what)
{
	uint32_t at = ss_u64map_get(&r->threads, (uint64_t)global & 0xffffffffffff);
	return ss_host_thread(r->o, plane, tid_of(global), at == SS_NONE ? SS_STR("") : r->strings.v[at], what);
}

/* A process numbers the GPUs that it sees; the table of devices says which these are. */
static uint32_t plane_of_gpu(struct reader *r, int64_t global_pid, int64_t device)
{
	uint32_t gpu = ss_u64map_get(&r->gpus, (uint64_t)pid_of(global_pid) << 32 | (uint64_t)(uint32_t)device);
	return ss_gpu_plane(r->o, gpu == SS_NONE ? device : (int64_t)gpu);
}

static void take_cuda_device(struct reader *r, const struct ss_db_rows *row)
{
	uint64_t key = (uint64_t)ss_db_i64(row, 2) << 32 | (uint64_t)(uint32_t)ss_db_i64(row, 1);
	if (!ss_db_is_null(row, 0) && !ss_u64map_put(&r->gpus, key, (uint32_t)ss_db_i64(row, 0) & 0xffff))
		r->o->no_memory = true;
}

/* ---- what ran on GPUs ---- */

/* A row's times; false, and counted, for what cannot be. */
static bool times(struct reader *r, const struct ss_db_rows *row, int64_t *begin, int64_t *end)
{
	*begin = ss_db_i64(row, START);
	*end = ss_db_is_null(row, END) ? *begin : ss_db_i64(row, END);
	bool ok = !ss_db_is_null(row, START) && *end >= *begin;
	r->loss->malformed += !ok;
	return ok;
}

enum { D_DEVICE = 2, D_CONTEXT, D_STREAM, D_CORRELATION, D_PID, D_GRAPH_NODE, D_REST };
#define DEVICE_COLS TIMES, "deviceId", "contextId", "streamId", "correlationId", "globalPid", "graphNodeId"

static void place_device_event(struct reader *r, const struct ss_db_rows *row)
{
	int64_t pid = ss_db_i64(row, D_PID);
	uint32_t plane = plane_of_gpu(r, pid, ss_db_i64(row, D_DEVICE));
	ss_gpu_event_int(&r->event, "device", ss_db_i64(row, D_DEVICE));
	ss_gpu_event_int(&r->event, "stream", ss_db_i64(row, D_STREAM));
	if (!ss_db_is_null(row, D_CORRELATION))
		ss_gpu_event_int(&r->event, "correlation", correlation(r, pid, ss_db_i64(row, D_CORRELATION)));
	if (!ss_db_is_null(row, D_GRAPH_NODE))
		ss_gpu_event_int(&r->event, "graph node id", ss_db_i64(row, D_GRAPH_NODE));
	uint32_t line =
		plane == SS_NONE ? SS_NONE : ss_gpu_stream(r->o, plane, ss_db_i64(row, D_CONTEXT), ss_db_i64(row, D_STREAM));
	ss_gpu_event_place(&r->event, r->o, plane, line);
}

enum { KE_NAME = D_REST, KE_GRID, KE_BLOCK = KE_GRID + 3, KE_REGISTERS = KE_BLOCK + 3, KE_STATIC, KE_DYNAMIC };

static void take_kernel(struct reader *r, const struct ss_db_rows *row)
{
	int64_t begin, end, grid[3], block[3];
	if (!times(r, row, &begin, &end))
		return;
	ss_gpu_event_begin(&r->event, SS_STR("kernel"), string(r, ss_db_i64(row, KE_NAME)), begin, end);
	for (int i = 0; i < 3; i++) {
		grid[i] = ss_db_is_null(row, KE_GRID + i) ? 1 : ss_db_i64(row, KE_GRID + i);
		block[i] = ss_db_is_null(row, KE_BLOCK + i) ? 1 : ss_db_i64(row, KE_BLOCK + i);
	}
	ss_gpu_event_dims(&r->event, r->o, "grid", grid);
	ss_gpu_event_dims(&r->event, r->o, "block", block);
	ss_gpu_event_int(&r->event, "registers per thread", ss_db_i64(row, KE_REGISTERS));
	ss_gpu_event_int(&r->event, "shared memory",
			 (int64_t)((uint64_t)ss_db_i64(row, KE_STATIC) + (uint64_t)ss_db_i64(row, KE_DYNAMIC)));
	place_device_event(r, row);
}

static const char *copy_kind(int64_t kind)
{
	static const char *const names[] = {
		"",	"HtoD", "DtoH", "HtoA", "AtoH", "AtoA", "AtoD",
		"DtoA", "DtoD", "HtoH", "PtoP", "HtoD", "DtoH",
	};
	return kind > 0 && kind < (int64_t)SS_COUNT(names) ? names[kind] : "";
}

static const char *memory_kind(int64_t kind)
{
	static const char *const names[] = { "Pageable", "Pinned",	  "Device",	   "Array",
					     "Managed",	 "Device Static", "Managed Static" };
	return kind >= 0 && kind < (int64_t)SS_COUNT(names) ? names[kind] : "Unknown";
}

enum { CO_BYTES = D_REST, CO_KIND, CO_FROM, CO_TO };

static void take_copy(struct reader *r, const struct ss_db_rows *row)
{
	int64_t begin, end, bytes = ss_db_i64(row, CO_BYTES);
	if (!times(r, row, &begin, &end))
		return;
	struct ss_str name = ss_arena_printf(&r->event.scratch, "Memcpy %s (%s -> %s)", copy_kind(ss_db_i64(row, CO_KIND)),
					     memory_kind(ss_db_i64(row, CO_FROM)), memory_kind(ss_db_i64(row, CO_TO)));
	r->o->no_memory |= !name.p;
	if (!name.p)
		return;
	r->event.category = SS_STR("gpu_memcpy");
	r->event.name = name;
	r->event.begin_ns = begin;
	r->event.end_ns = end;
	r->event.args.n = 0;
	ss_gpu_event_int(&r->event, "bytes", bytes);
	if (end > begin)
		ss_gpu_event_num(&r->event, "memory bandwidth (GB/s)", (double)bytes / ((double)end - (double)begin));
	place_device_event(r, row);
	if (r->event.scratch.used_bytes > (size_t)1 << 20)
		ss_arena_release(&r->event.scratch);
}

static void take_set(struct reader *r, const struct ss_db_rows *row)
{
	int64_t begin, end;
	if (!times(r, row, &begin, &end))
		return;
	ss_gpu_event_begin(&r->event, SS_STR("gpu_memset"), SS_STR("Memset (Device)"), begin, end);
	ss_gpu_event_int(&r->event, "bytes", ss_db_i64(row, D_REST));
	place_device_event(r, row);
}

/* A whole graph, where its nodes were not recorded: that is the default. */
static void take_graph(struct reader *r, const struct ss_db_rows *row)
{
	int64_t begin, end;
	if (!times(r, row, &begin, &end))
		return;
	ss_gpu_event_begin(&r->event, SS_STR("kernel"), SS_STR("CUDA graph"), begin, end);
	ss_gpu_event_int(&r->event, "graph id", ss_db_i64(row, D_REST));
	place_device_event(r, row);
}

static bool read_device_events(struct reader *r)
{
	static const char *const devices[] = { "gpuId", "cudaId", "pid" };
	static const char *const kernels[] = { DEVICE_COLS,
					       "demangledName",
					       "gridX",
					       "gridY",
					       "gridZ",
					       "blockX",
					       "blockY",
					       "blockZ",
					       "registersPerThread",
					       "staticSharedMemory",
					       "dynamicSharedMemory" };
	static const char *const copies[] = { DEVICE_COLS, "bytes", "copyKind", "srcKind", "dstKind" };
	static const char *const sets[] = { DEVICE_COLS, "bytes" }, *const graphs[] = { DEVICE_COLS, "graphId" };
	return EACH(r, "TARGET_INFO_CUDA_DEVICE", devices, take_cuda_device) &&
	       EACH(r, "CUPTI_ACTIVITY_KIND_KERNEL", kernels, take_kernel) &&
	       EACH(r, "CUPTI_ACTIVITY_KIND_MEMCPY", copies, take_copy) &&
	       EACH(r, "CUPTI_ACTIVITY_KIND_MEMSET", sets, take_set) &&
	       EACH(r, "CUPTI_ACTIVITY_KIND_GRAPH_TRACE", graphs, take_graph);
}

/* ---- what the host did ---- */

/* "cudaLaunchKernel_v7000": the name without the version. */
static struct ss_str without_version(struct ss_str name)
{
	size_t at = name.n;
	while (at && name.p[at - 1] >= '0' && name.p[at - 1] <= '9')
		at--;
	bool version = at < name.n && at > 2 && name.p[at - 1] == 'v' && name.p[at - 2] == '_';
	return version ? ss_str_sub(name, 0, at - 2) : name;
}

static void place_host_event(struct reader *r, int64_t global, const char *what)
{
	uint32_t plane = ss_host_process(r->o, pid_of(global));
	uint32_t line = plane == SS_NONE ? SS_NONE : line_of_thread(r, plane, global, what);
	ss_gpu_event_place(&r->event, r->o, plane, line);
}

enum { CA_TID = 2, CA_CORRELATION, CA_NAME, CA_RETURN, CA_CLASS };

static void take_call(struct reader *r, const struct ss_db_rows *row)
{
	int64_t begin, end, tid = ss_db_i64(row, CA_TID);
	if (!times(r, row, &begin, &end))
		return;
	bool driver = ss_db_i64(row, CA_CLASS) == 1;
	ss_gpu_event_begin(&r->event, driver ? SS_STR("cuda_driver") : SS_STR("cuda_runtime"),
			   without_version(string(r, ss_db_i64(row, CA_NAME))), begin, end);
	if (!ss_db_is_null(row, CA_CORRELATION))
		ss_gpu_event_int(&r->event, "correlation", correlation(r, tid, ss_db_i64(row, CA_CORRELATION)));
	if (ss_db_i64(row, CA_RETURN))
		ss_gpu_event_int(&r->event, "return value", ss_db_i64(row, CA_RETURN));
	place_host_event(r, tid, "");
}

static void take_system_call(struct reader *r, const struct ss_db_rows *row)
{
	int64_t begin, end;
	if (!times(r, row, &begin, &end))
		return;
	ss_gpu_event_begin(&r->event, SS_STR("os_runtime"), string(r, ss_db_i64(row, CA_NAME)), begin, end);
	place_host_event(r, ss_db_i64(row, CA_TID), " OS runtime");
}

enum { NV_TID = 2, NV_TYPE, NV_TEXT, NV_TEXT_ID, NV_DOMAIN };
enum { NVTX_MARK = 34, NVTX_PUSH_POP = 59, NVTX_START_END = 60 };

/* "aten::add, seq = 3, sizes = [[2]]", as torch.autograd.profiler.emit_nvtx writes it. */
static void take_pytorch_words(struct reader *r)
{
	size_t at = ss_str_find(r->event.name, SS_STR(", seq = "));
	if (at == SS_NPOS)
		return;
	struct ss_str rest = ss_str_sub(r->event.name, at + 8, r->event.name.n);
	uint64_t seq;
	if (ss_str_take_u64(&rest, &seq))
		ss_gpu_event_int(&r->event, "Sequence number", (int64_t)seq);
	if (ss_str_take(&rest, SS_STR(", sizes = ")))
		ss_gpu_event_str(&r->event, "Input Dims", rest);
	r->event.name = ss_str_sub(r->event.name, 0, at);
	r->event.category = SS_STR("cpu_op");
}

static void take_range(struct reader *r, const struct ss_db_rows *row)
{
	int64_t begin, end, type = ss_db_i64(row, NV_TYPE);
	if ((type != NVTX_MARK && type != NVTX_PUSH_POP && type != NVTX_START_END) || !times(r, row, &begin, &end))
		return;
	struct ss_str name = ss_db_is_null(row, NV_TEXT) ? string(r, ss_db_i64(row, NV_TEXT_ID)) : ss_db_text(row, NV_TEXT);
	ss_gpu_event_begin(&r->event, SS_STR("user_annotation"), name, begin, end);
	take_pytorch_words(r);
	/* Ranges that one thread starts and another may end need not nest. */
	place_host_event(r, ss_db_i64(row, NV_TID), type == NVTX_START_END ? " NVTX ranges" : "");
}

static bool read_host_events(struct reader *r)
{
	static const char *const calls[] = { TIMES, "globalTid", "correlationId", "nameId", "returnValue", "eventClass" };
	static const char *const ranges[] = { TIMES, "globalTid", "eventType", "text", "textId", "domainId" };
	return EACH(r, "CUPTI_ACTIVITY_KIND_RUNTIME", calls, take_call) && EACH(r, "NVTX_EVENTS", ranges, take_range) &&
	       EACH(r, "OSRT_API", calls, take_system_call);
}

/* ---- what it ran on ---- */

static void take_start(struct reader *r, const struct ss_db_rows *row)
{
	if (ss_db_i64(row, 0) > 0)
		r->o->start_unix_ns = ss_db_i64(row, 0);
}

static void take_gpu(struct reader *r, const struct ss_db_rows *row)
{
	enum { ID, NAME, MEMORY, BANDWIDTH, CLOCK, SMS, MAJOR, MINOR };
	static const struct {
		int col;
		const char *stat;
		int64_t per;
	} numbers[] = {
		{ MEMORY, "memory_size", 1 }, { BANDWIDTH, "memory_bandwidth", 1 }, { CLOCK, "clock_rate", 1000 },
		{ SMS, "core_count", 1 },     { MAJOR, "compute_cap_major", 1 },    { MINOR, "compute_cap_minor", 1 },
	};
	struct ss_str key = ss_arena_printf(&r->o->arena, "/device:GPU:%lld", (long long)ss_db_i64(row, ID));
	uint32_t plane = key.p ? ss_strmap_get(&r->o->plane_keys, key) : SS_NONE;
	/* One that ran nothing has no plane. */
	if (plane == SS_NONE || r->o->planes.v[plane].own.n)
		return;
	for (size_t i = 0; i < SS_COUNT(numbers); i++) {
		struct ss_so_arg a = { .name = ss_str_from(numbers[i].stat), .kind = SS_SO_UINT };
		a.u = (uint64_t)(ss_db_i64(row, numbers[i].col) / numbers[i].per);
		if (ss_db_i64(row, numbers[i].col) > 0 || (numbers[i].col == MINOR && !ss_db_is_null(row, MINOR)))
			ss_so_plane_stat(r->o, plane, &a);
	}
	struct ss_so_arg name = { .name = SS_STR("gpu_device_name"), .kind = SS_SO_STR, .s = ss_db_text(row, NAME) };
	struct ss_so_arg vendor = { .name = SS_STR("device_vendor"), .kind = SS_SO_STR, .s = SS_STR("Nvidia") };
	ss_so_plane_stat(r->o, plane, &vendor);
	if (name.s.n)
		ss_so_plane_stat(r->o, plane, &name);
}

static void take_warning(struct reader *r, const struct ss_db_rows *row)
{
	if (ss_db_i64(row, 0) <= 1 || r->loss->warning.n)
		return;
	struct ss_str text = ss_db_text(row, 1);
	size_t line = ss_str_chr(text, '\n');
	r->loss->warning = ss_arena_str(&r->o->arena, ss_str_sub(text, 0, line == SS_NPOS ? 300 : line < 300 ? line : 300));
	r->o->no_memory |= !r->loss->warning.p;
}

struct host {
	struct reader r;
	struct ss_str name;
};

static void take_host(struct reader *r, const struct ss_db_rows *row)
{
	struct host *h = (struct host *)(void *)r;
	if (h->name.n || !ss_str_is(ss_db_text(row, 0), "Hostname"))
		return;
	h->name = ss_arena_str(&r->o->arena, ss_db_text(row, 1));
	r->o->no_memory |= !h->name.p;
}

static bool read_surroundings(struct reader *r)
{
	static const char *const start[] = { "utcEpochNs" }, *const env[] = { "name", "value" },
				 *const warnings[] = { "severity", "text" };
	static const char *const gpus[] = { "id", "name", "totalMemory", "memoryBandwidth", "clockRate", "smCount", "computeMajor",
					    "computeMinor" };
	return EACH(r, "TARGET_INFO_SESSION_START_TIME", start, take_start) && EACH(r, "TARGET_INFO_GPU", gpus, take_gpu) &&
	       EACH(r, "TARGET_INFO_SYSTEM_ENV", env, take_host) && EACH(r, "DIAGNOSTIC_EVENT", warnings, take_warning);
}

/* ---- all of it ---- */

bool ss_nsys_is(struct ss_db *db)
{
	struct ss_str any;
	return ss_db_has_table(db, "StringIds") &&
	       (ss_db_has_table(db, "META_DATA_EXPORT") || ss_db_has_table(db, "NVTX_EVENTS") ||
		ss_db_has_table(db, "TARGET_INFO_GPU") || ss_db_has_table(db, "ANALYSIS_DETAILS") ||
		ss_db_find_table(db, "CUPTI_ACTIVITY_KIND_", &any));
}

bool ss_nsys_read(struct ss_db *db, struct ss_space_out *o, struct ss_str *hostname, struct ss_nsys_loss *loss, struct ss_err *err)
{
	struct host *h = calloc(1, sizeof(*h));
	*loss = (struct ss_nsys_loss){ .warning = { "", 0 } };
	if (!h)
		return ss_fail_mem(err);
	struct reader *r = &h->r;
	h->name = SS_STR("");
	r->db = db;
	r->o = o;
	r->loss = loss;
	bool ok = read_names(r) && read_device_events(r) && read_host_events(r) && read_surroundings(r) &&
		  ss_name_processes(o, process_name, r);
	*hostname = h->name;
	ss_vec_free(&r->strings);
	ss_u64map_free(&r->string_ids);
	ss_u64map_free(&r->threads);
	ss_u64map_free(&r->processes);
	ss_u64map_free(&r->gpus);
	ss_u64map_free(&r->pids);
	ss_arena_release(&r->event.scratch);
	free(h);
	return ok || ss_fail_mem(err);
}
