/* test_nsys.c - exports of Nsight Systems and results of rocprofv3: what becomes of their rows. */
#include "unit.h"

#include "model/device/env.h"
#include "model/host/host.h"
#include "model/host/identity.h"
#include "model/host/plane.h"
#include "model/preprocess/load.h"
#include "sqlite/db.h"

#include <sqlite3.h>

static struct ss_host host;

/* The bytes of a database made by these statements. */
static struct ss_str database(const char *statements)
{
	static unsigned char *last;
	sqlite3 *db;
	sqlite3_int64 n = 0;
	sqlite3_free(last);
	last = NULL;
	assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
	char *why = NULL;
	if (sqlite3_exec(db, statements, NULL, NULL, &why) != SQLITE_OK)
		fail_msg("%s", why);
	last = sqlite3_serialize(db, "main", &n, 0);
	sqlite3_close(db);
	assert_non_null(last);
	return (struct ss_str){ (const char *)last, (size_t)n };
}

static void open_bytes(struct ss_str bytes, const char *name)
{
	assert_ok(ss_host_open_bytes(&host, bytes, name, &err));
	assert_ok(ss_host_load(&host, &err));
}

static const struct ss_plane *plane(const char *name)
{
	for (uint32_t i = 0; i < host.nplanes; i++)
		if (ss_str_is(host.planes[i].name, name))
			return &host.planes[i];
	fail_msg("no plane %s", name);
	return NULL;
}

static const struct ss_line *line(const char *of, const char *name)
{
	const struct ss_line *l = ss_plane_line(plane(of), ss_str_from(name));
	if (!l)
		fail_msg("no line %s", name);
	return l;
}

static struct ss_xstat stat_of(const char *of, const struct ss_line *l, uint32_t i, const char *name)
{
	const struct ss_plane *p = plane(of);
	struct ss_xstats it = ss_line_stats(p, l, i);
	struct ss_xstat s;
	while (ss_xstats_next(&it, &s))
		if (ss_str_is(p->x->stat_meta[s.meta].name, name))
			return s;
	fail_msg("no stat %s", name);
	return (struct ss_xstat){ .kind = SS_X_NONE };
}

static struct ss_str name_of(const char *of, const struct ss_line *l, uint32_t i)
{
	return ss_event_name(plane(of), l->ev.meta[i]);
}

#define STRINGS "CREATE TABLE StringIds(id INTEGER, value TEXT); INSERT INTO StringIds VALUES(1, 'void gemm(float)'), (2, " \
	"'cudaLaunchKernel_v7000'), (3, 'main'), (4, 'train');"
/* Process 9, thread 10; process 11, thread 12. */
#define THREAD "150994954"	/* 9 << 24 | 10 */
#define PROCESS "150994944"
#define OTHER_THREAD "184549388"
#define OTHER_PROCESS "184549376"

static void rows_become_events(void **state)
{
	(void)state;
	open_bytes(
		database(STRINGS
			 "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(start, end, deviceId, contextId, streamId, correlationId, "
			 "globalPid,"
			 "demangledName, gridX, gridY, gridZ, blockX, blockY, blockZ, registersPerThread, staticSharedMemory);"
			 "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES(2000, 3500, 1, 1, 7, 5, " PROCESS
			 ", 1, 8, 1, 1, 128, 1, 1, 40, 512);"
			 "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY(start, end, deviceId, contextId, streamId, bytes, copyKind, "
			 "srcKind, dstKind, globalPid);"
			 "INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES(4000, 5000, 1, 1, 7, 2000, 1, 1, 2, " PROCESS ");"
			 "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME(start, end, globalTid, correlationId, nameId, eventClass);"
			 "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES(1500, 1700, " THREAD ", 5, 2, 0);"
			 "CREATE TABLE NVTX_EVENTS(start, end, eventType, text, textId, globalTid);"
			 "INSERT INTO NVTX_EVENTS VALUES(1000, 6000, 59, 'iteration 3', NULL, " THREAD "),"
			 "(1400, 1800, 59, 'aten::mm, seq = 12, sizes = [[2, 2]]', NULL, " THREAD
			 "), (1100, 1200, 60, NULL, 4, " THREAD "),"
			 "(1, NULL, 75, 'domain', NULL, " THREAD "), (900, 800, 59, 'backwards', NULL, " THREAD ");"
			 "CREATE TABLE ThreadNames(nameId, globalTid); INSERT INTO ThreadNames VALUES(3, " THREAD ");"
			 "CREATE TABLE TARGET_INFO_GPU(id, name, totalMemory, memoryBandwidth, clockRate, smCount, "
			 "computeMajor, computeMinor);"
			 "INSERT INTO TARGET_INFO_GPU VALUES(1, 'NVIDIA H100', 80, 3000, 1980000000, 132, 9, 0);"
			 "CREATE TABLE TARGET_INFO_SYSTEM_ENV(name, value); INSERT INTO TARGET_INFO_SYSTEM_ENV "
			 "VALUES('Hostname', 'node7');"),
		"report.sqlite");
	const struct ss_line *stream = line("/device:GPU:1", "stream 7"), *thread = line("/host:CPU", "main");
	assert_int_equal(stream->ev.n, 2);
	assert_str(name_of("/device:GPU:1", stream, 0), "void gemm(float)");
	assert_int_equal(stream->ev.dur_ps[0], 1500000);
	assert_str(name_of("/device:GPU:1", stream, 1), "MemcpyHtoD (Pinned -> Device)");
	assert_str(ss_event_label(plane("/device:GPU:1"), stream->ev.meta[1]), "Memcpy HtoD (Pinned -> Device)");
	assert_true(ss_str_contains(stat_of("/device:GPU:1", stream, 0, "kernel_details").s, SS_STR("grid:8,1,1 block:128,1,1")));
	assert_int_equal(thread->ev.n, 3);
	assert_str(name_of("/host:CPU", thread, 1), "aten::mm");
	assert_str(name_of("/host:CPU", thread, 2), "cudaLaunchKernel");
	assert_int_equal(stat_of("/host:CPU", thread, 0, "step_num").u, 3);
	assert_int_equal(stat_of("/host:CPU", thread, 2, "correlation_id").u,
			 stat_of("/device:GPU:1", stream, 0, "correlation_id").u);
	assert_int_equal(line("/host:CPU", "main NVTX ranges")->ev.n, 1);
	assert_str(ss_host_hostname(&host), "node7");
	/* The row that ends before it begins. */
	assert_int_equal(host.x.nnotes, 1);
	ss_host_close(&host);
}

static void processes_do_not_mix(void **state)
{
	(void)state;
	open_bytes(database(STRINGS "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(start, end, deviceId, streamId, correlationId, "
				    "globalPid, demangledName);"
				    "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES(10, 20, 0, 7, 5, " PROCESS
				    ", 1), (10, 20, 0, 7, 5, " OTHER_PROCESS ", 1);"
				    "CREATE TABLE TARGET_INFO_CUDA_DEVICE(gpuId, cudaId, pid); INSERT INTO "
				    "TARGET_INFO_CUDA_DEVICE VALUES(2, 0, 9), (3, 0, 11);"
				    "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME(start, end, globalTid, correlationId, nameId);"
				    "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES(1, 2, " THREAD
				    ", 5, 2), (1, 2, " OTHER_THREAD ", 5, 2);"),
		   "x");
	uint64_t a = stat_of("/device:GPU:2", line("/device:GPU:2", "stream 7"), 0, "correlation_id").u;
	uint64_t b = stat_of("/device:GPU:3", line("/device:GPU:3", "stream 7"), 0, "correlation_id").u;
	assert_int_not_equal(a, b);
	ss_host_close(&host);
}

/* A schema that would do something is not used. */
static void schemas_are_not_trusted(void **state)
{
	struct ss_err err = { 0 };
	(void)state;
	open_bytes(database(STRINGS
			    "CREATE TABLE t(x); CREATE VIEW CUPTI_ACTIVITY_KIND_KERNEL AS WITH RECURSIVE c(x) AS (SELECT 1 "
			    "UNION ALL "
			    "SELECT x + 1 FROM c) SELECT x AS start FROM c; CREATE TABLE NVTX_EVENTS(start, end, eventType, "
			    "text, globalTid,"
			    "u AS (hex(zeroblob(99999999))) VIRTUAL); INSERT INTO NVTX_EVENTS VALUES(1, 2, 59, 'a', " THREAD
			    ");"),
		   "x");
	assert_int_equal(host.nevents, 1);
	ss_host_close(&host);
	assert_false(ss_host_open_bytes(&host, database("CREATE TABLE mine(id);"), "r.db", &err));
	assert_non_null(strstr(err.text, "not those of a profiler"));
}

/* Whatever byte is another: an answer or a reason. */
static void damage_is_survived(void **state)
{
	struct ss_str good = database(STRINGS "CREATE TABLE NVTX_EVENTS(start, end, eventType, text, globalTid);"
					      "INSERT INTO NVTX_EVENTS VALUES(1, 2, 59, 'a', " THREAD ");");
	char *bytes = malloc(good.n);
	size_t opened = 0;
	(void)state;
	for (size_t i = 0; i < good.n; i += i < 200 ? 1 : 61)
		for (int bit = 0; bit < 8; bit += 7) {
			struct ss_err why = { 0 };
			memcpy(bytes, good.p, good.n);
			bytes[i] = (char)(bytes[i] ^ 1 << bit);
			if (ss_host_open_bytes(&host, (struct ss_str){ bytes, good.n }, "x.sqlite", &why)) {
				ss_host_close(&host);
				opened++;
			} else {
				assert_true(why.code && why.text[0]);
			}
		}
	for (size_t n = 16; n < good.n; n += 509)
		if (ss_host_open_bytes(&host, ss_str_sub(good, 0, n), "x.sqlite", NULL))
			ss_host_close(&host);
	assert_true(opened > 100);
	free(bytes);
}

static void is_gpu(const char *name, const char *model)
{
	struct ss_arena a = { 0 };
	assert_str(ss_gpu_model_name(plane(name), &a), model);
	ss_arena_release(&a);
}

static void results_of_rocprofv3(void **state)
{
	(void)state;
	open_bytes(SS_STR("{\"rocprofiler-sdk-tool\": [{\"metadata\": {\"pid\": 77, \"node\": {\"hostname\": \"amd1\"}},"
			  "\"agents\": [{\"id\": {\"handle\": 1}, \"type\": 1}, {\"id\": {\"handle\": 9}, \"type\": 2}, "
			  "{\"id\": {\"handle\": 8}, \"type\": 2, \"name\": \"gfx942\"}],"
			  "\"buffer_records\": {\"kernel_dispatch\": [{\"kind\": 1, \"operation\": 0, \"thread_id\": 5, "
			  "\"correlation_id\": {\"internal\": 3},"
			  "\"start_timestamp\": 2000, \"end_timestamp\": 2600, \"dispatch_info\": {\"agent_id\": {\"handle\": "
			  "8}, \"queue_id\": {\"handle\": 2},"
			  "\"kernel_id\": 4, \"workgroup_size\": {\"x\": 64, \"y\": 1, \"z\": 1}, \"grid_size\": {\"x\": 640, "
			  "\"y\": 2, \"z\": 1}}}],"
			  "\"hip_api\": [{\"kind\": 0, \"operation\": 1, \"thread_id\": 5, \"correlation_id\": {\"internal\": "
			  "3}, \"start_timestamp\": 1000,"
			  "\"end_timestamp\": 1100}, {\"kind\": 0, \"operation\": 1, \"thread_id\": 5, \"start_timestamp\": 9, "
			  "\"end_timestamp\": 1}],"
			  "\"marker_api\": [{\"kind\": 2, \"operation\": 0, \"thread_id\": 5, \"correlation_id\": "
			  "{\"internal\": 6}, \"start_timestamp\": 900,"
			  "\"end_timestamp\": 3000}], \"memory_copy\": [{\"kind\": 3, \"operation\": 1, \"start_timestamp\": "
			  "3000, \"end_timestamp\": 3100,"
			  "\"src_agent_id\": {\"handle\": 1}, \"dst_agent_id\": {\"handle\": 8}, \"bytes\": 100}]},"
			  "\"callback_records\": {\"counter_collection\": [[1, {\"a\": \"}\"}]]},"
			  "\"kernel_symbols\": [{\"kernel_id\": 4, \"formatted_kernel_name\": \"gemm\"}],"
			  "\"strings\": {\"buffer_records\": [{\"kind\": \"HIP\", \"operations\": [\"a\", "
			  "\"hipLaunchKernel\"]}, {\"kind\": \"K\", \"operations\": []},"
			  "{\"kind\": \"M\", \"operations\": [\"roctxRangePush\"]}, {\"kind\": \"C\", \"operations\": [\"N\", "
			  "\"MEMORY_COPY_HOST_TO_DEVICE\"]}],"
			  "\"marker_api\": [{\"key\": 6, \"value\": \"step 4\"}]}}]}"),
		   "1_results.json");
	const struct ss_line *queue = line("/device:GPU:1", "stream 2");
	assert_str(name_of("/device:GPU:1", queue, 0), "gemm");
	assert_true(ss_str_contains(stat_of("/device:GPU:1", queue, 0, "kernel_details").s, SS_STR("grid:10,2,1 block:64,1,1")));
	assert_str(name_of("/device:GPU:1", line("/device:GPU:1", "stream 0"), 0), "MemcpyHtoD");
	const struct ss_plane *cpu = plane("/host:CPU");
	const struct ss_line *thread = NULL;
	for (uint32_t i = 0; i < cpu->nlines; i++)
		if (cpu->lines[i].id == 5)
			thread = &cpu->lines[i];
	assert_non_null(thread);
	assert_int_equal(thread->ev.n, 2);
	assert_int_equal(stat_of("/host:CPU", thread, 0, "step_num").u, 4);
	assert_str(name_of("/host:CPU", thread, 1), "hipLaunchKernel");
	assert_str(ss_host_hostname(&host), "amd1");
	is_gpu("/device:GPU:1", "AMD GPU - gfx942");
	assert_int_equal(host.x.nnotes, 1);
	ss_host_close(&host);
}

static void databases_of_rocprofv3(void **state)
{
	(void)state;
	open_bytes(
		database("CREATE TABLE rocpd_string_0a(id, string); INSERT INTO rocpd_string_0a VALUES(1, 'hipLaunchKernel'), "
			 "(2, 'step 8'),"
			 "(3, 'MEMORY_COPY_DEVICE_TO_HOST');"
			 "CREATE TABLE rocpd_info_agent_0a(id, type, name); INSERT INTO rocpd_info_agent_0a VALUES(1, 'CPU', "
			 "'EPYC'), (2, 'GPU', 'gfx90a'), (3, 'GPU', 'gfx942');"
			 "CREATE TABLE rocpd_info_kernel_symbol_0a(id, kernel_name, display_name);"
			 "INSERT INTO rocpd_info_kernel_symbol_0a VALUES(4, '_Z4gemm', 'gemm');"
			 "CREATE TABLE rocpd_info_process_0a(id, pid); INSERT INTO rocpd_info_process_0a VALUES(1, 700);"
			 "CREATE TABLE rocpd_info_thread_0a(id, tid); INSERT INTO rocpd_info_thread_0a VALUES(1, 701);"
			 "CREATE TABLE rocpd_info_node_0a(hostname); INSERT INTO rocpd_info_node_0a VALUES('amd2');"
			 "CREATE TABLE rocpd_event_0a(id, stack_id); INSERT INTO rocpd_event_0a VALUES(10, 5), (11, 5);"
			 "CREATE TABLE rocpd_region_0a(start, end, pid, tid, event_id, name_id);"
			 "INSERT INTO rocpd_region_0a VALUES(100, 900, 1, 1, 12, 2), (200, 250, 1, 1, 10, 1), (5, 4, 1, 1, 1, "
			 "1);"
			 "CREATE TABLE rocpd_kernel_dispatch_0a(start, end, pid, tid, event_id, agent_id, kernel_id, queue_id, "
			 "grid_size_x,"
			 "workgroup_size_x); INSERT INTO rocpd_kernel_dispatch_0a VALUES(300, 400, 1, 1, 11, 3, 4, 2, 640, 64);"
			 "CREATE TABLE rocpd_memory_copy_0a(start, end, event_id, name_id, size, dst_agent_id, src_agent_id, "
			 "queue_id);"
			 "INSERT INTO rocpd_memory_copy_0a VALUES(500, 600, 13, 3, 1000, 1, 3, 2);"),
		"1_results.db");
	const struct ss_line *queue = line("/device:GPU:1", "stream 2");
	assert_int_equal(queue->ev.n, 2);
	assert_str(name_of("/device:GPU:1", queue, 0), "gemm");
	assert_str(name_of("/device:GPU:1", queue, 1), "MemcpyDtoH");
	assert_int_equal(stat_of("/device:GPU:1", queue, 0, "correlation_id").u, 5);
	const struct ss_plane *cpu = plane("/host:CPU");
	for (uint32_t i = 0; i < cpu->nlines; i++)
		if (cpu->lines[i].id == 701) {
			assert_int_equal(cpu->lines[i].ev.n, 2);
			assert_int_equal(stat_of("/host:CPU", &cpu->lines[i], 0, "step_num").u, 8);
			assert_int_equal(stat_of("/host:CPU", &cpu->lines[i], 1, "correlation_id").u, 5);
		}
	assert_str(ss_host_hostname(&host), "amd2");
	is_gpu("/device:GPU:1", "AMD GPU - gfx942");
	assert_int_equal(host.x.nnotes, 1);
	ss_host_close(&host);
}

static void tables_of_rocprofv3(void **state)
{
	(void)state;
	open_bytes(SS_STR("\"Kind\",\"Agent_Id\",\"Queue_Id\",\"Kernel_Name\",\"Correlation_Id\",\"Start_Timestamp\",\"End_"
			  "Timestamp\","
			  "\"VGPR_Count\",\"Workgroup_Size_X\",\"Grid_Size_X\"\n"
			  "\"KERNEL_DISPATCH\",\"Agent 4\",1,\"void f<int, 2>(a, b)\",7,100,350,16,64,640\r\n"
			  "\"KERNEL_DISPATCH\",4,1,\"g\",8,400,300,16,64,64\n"
			  "\"KERNEL_DISPATCH\",4,1,\"cu"),
		   "1_kernel_trace.csv");
	const struct ss_line *queue = line("/device:GPU:4", "stream 1");
	assert_int_equal(queue->ev.n, 1);
	assert_str(name_of("/device:GPU:4", queue, 0), "void f<int, 2>(a, b)");
	assert_int_equal(queue->ev.dur_ps[0], 250000);
	is_gpu("/device:GPU:4", "AMD GPU");
	assert_true(ss_str_contains(stat_of("/device:GPU:4", queue, 0, "kernel_details").s, SS_STR("grid:10,1,1 block:64,1,1")));
	/* The row that ends before it begins, the one that is cut off, and what such a file is. */
	assert_int_equal(host.x.nnotes, 3);
	ss_host_close(&host);
	open_bytes(SS_STR("\"Domain\",\"Function\",\"Process_Id\",\"Thread_Id\",\"Correlation_Id\",\"Start_Timestamp\",\"End_"
			  "Timestamp\"\n"
			  "\"HIP_RUNTIME_API\",\"hipMalloc\",5,6,1,10,20\n"),
		   "1_hip_api_trace.csv");
	assert_int_equal(host.nevents, 1);
	ss_host_close(&host);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_become_events),
		cmocka_unit_test(processes_do_not_mix),
		cmocka_unit_test(schemas_are_not_trusted),
		cmocka_unit_test(damage_is_survived),
		cmocka_unit_test(results_of_rocprofv3),
		cmocka_unit_test(databases_of_rocprofv3),
		cmocka_unit_test(tables_of_rocprofv3),
	};
	return RUN_TESTS(tests);
}
