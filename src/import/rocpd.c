/* rocpd.c - one pass over each table, those first that others refer to. */
#include "import/rocpd.h"

#include "base/vec.h"
#include "import/gpu_words.h"
#include "import/rocprof.h"

#include <stdlib.h>

struct reader {
	struct ss_db *db;
	struct ss_space_out *o;
	struct ss_rocpd_loss *loss;
	SS_VEC(struct ss_str) texts;
	/*
	 * By id: numbers of texts, of GPUs, of processes and threads of the system, of stacks of
	 * calls.
	 */
	struct ss_u64map strings, kernels, gpus, pids, tids, events;
	uint32_t ngpus;
	SS_VEC(struct ss_str) gpu_names; /* by number */
	struct ss_str hostname;
	struct ss_gpu_event event;
};

typedef void row_fn(struct reader *r, const struct ss_db_rows *row);

/* The table whose name begins so; none is no failure. */
static bool each(struct reader *r, const char *prefix, const char *const *cols, size_t ncols, row_fn *row)
{
	struct ss_db_rows rows;
	struct ss_err err = { 0 };
	struct ss_str table;
	if (!ss_db_find_table(r->db, prefix, &table))
		return true;
	bool ok = ss_db_scan(r->db, table.p, cols, ncols, &rows, &err);
	while (ok && !r->o->no_memory && ss_db_next(&rows))
		row(r, &rows);
	ok = ss_db_end(&rows, &err) && ok;
	r->loss->cut |= !ok;
	return (ok || err.code != SS_ENOMEM) && !r->o->no_memory;
}

#define EACH(r, table, cols, row) each(r, table, cols, SS_COUNT(cols), row)

static void keep(struct reader *r, struct ss_u64map *ids, int64_t id, struct ss_str text)
{
	struct ss_str copy = ss_arena_str(&r->o->arena, text);
	if (!copy.p || r->texts.n >= SS_NONE || !ss_u64map_put(ids, (uint64_t)id, (uint32_t)r->texts.n) ||
	    !ss_vec_push(&r->texts, copy))
		r->o->no_memory = true;
}

static struct ss_str text_of(const struct reader *r, const struct ss_u64map *ids, int64_t id)
{
	uint32_t at = ss_u64map_get(ids, (uint64_t)id);
	return at == SS_NONE ? SS_STR("") : r->texts.v[at];
}

static void put(struct reader *r, struct ss_u64map *ids, int64_t id, int64_t number)
{
	if (number >= 0 && number < SS_NONE && !ss_u64map_put(ids, (uint64_t)id, (uint32_t)number))
		r->o->no_memory = true;
}

/* The number of the system that an id stands for; the id where the table has none. */
static int64_t number_of(const struct ss_u64map *ids, int64_t id)
{
	uint32_t n = ss_u64map_get(ids, (uint64_t)id);
	return n == SS_NONE ? id : (int64_t)n;
}

/* ---- what rows refer to ---- */

static void take_string(struct reader *r, const struct ss_db_rows *row)
{
	keep(r, &r->strings, ss_db_i64(row, 0), ss_db_text(row, 1));
}

static void take_symbol(struct reader *r, const struct ss_db_rows *row)
{
	struct ss_str name = ss_db_text(row, 1);
	keep(r, &r->kernels, ss_db_i64(row, 0), name.n ? name : ss_db_text(row, 2));
}

static void take_agent(struct reader *r, const struct ss_db_rows *row)
{
	if (!ss_str_ieq(ss_db_text(row, 1), SS_STR("GPU")))
		return;
	struct ss_str name = ss_arena_str(&r->o->arena, ss_db_text(row, 2));
	r->o->no_memory |= !name.p || !ss_vec_push(&r->gpu_names, name);
	put(r, &r->gpus, ss_db_i64(row, 0), r->ngpus++);
}

static void take_process(struct reader *r, const struct ss_db_rows *row)
{
	put(r, &r->pids, ss_db_i64(row, 0), ss_db_i64(row, 1));
}

static void take_thread(struct reader *r, const struct ss_db_rows *row)
{
	put(r, &r->tids, ss_db_i64(row, 0), ss_db_i64(row, 1));
}

static void take_node(struct reader *r, const struct ss_db_rows *row)
{
	if (r->hostname.n)
		return;
	r->hostname = ss_arena_str(&r->o->arena, ss_db_text(row, 0));
	r->o->no_memory |= !r->hostname.p;
}

/* A call and what it launched stand in one stack. */
static void take_event(struct reader *r, const struct ss_db_rows *row)
{
	int64_t stack = ss_db_i64(row, 1) ? ss_db_i64(row, 1) : ss_db_i64(row, 2);
	put(r, &r->events, ss_db_i64(row, 0), stack);
}

static bool read_tables(struct reader *r)
{
	static const char *const strings[] = { "id", "string" }, *const symbols[] = { "id", "display_name", "kernel_name" };
	static const char *const agents[] = { "id", "type", "name" }, *const processes[] = { "id", "pid" },
				 *const threads[] = { "id", "tid" };
	static const char *const nodes[] = { "hostname" }, *const events[] = { "id", "stack_id", "correlation_id" };
	return EACH(r, "rocpd_string", strings, take_string) && EACH(r, "rocpd_info_kernel_symbol", symbols, take_symbol) &&
	       EACH(r, "rocpd_info_agent", agents, take_agent) && EACH(r, "rocpd_info_process", processes, take_process) &&
	       EACH(r, "rocpd_info_thread", threads, take_thread) && EACH(r, "rocpd_info_node", nodes, take_node) &&
	       EACH(r, "rocpd_event", events, take_event);
}

/* ---- rows ---- */

enum { START, END, PID, TID, EVENT, REST };
#define ROW_COLS "start", "end", "pid", "tid", "event_id"

static bool begin(struct reader *r, const struct ss_db_rows *row, struct ss_str category, struct ss_str name)
{
	int64_t from = ss_db_i64(row, START), to = ss_db_i64(row, END);
	if (ss_db_is_null(row, START) || to < from) {
		r->loss->malformed++;
		return false;
	}
	ss_gpu_event_begin(&r->event, category, name, from, to);
	return true;
}

static void add_stack(struct reader *r, const struct ss_db_rows *row)
{
	uint32_t stack = ss_u64map_get(&r->events, (uint64_t)ss_db_i64(row, EVENT));
	if (stack != SS_NONE && stack)
		ss_gpu_event_int(&r->event, "correlation", stack);
}

static void place_on_gpu(struct reader *r, const struct ss_db_rows *row, int64_t agent, int64_t queue)
{
	uint32_t gpu = ss_u64map_get(&r->gpus, (uint64_t)agent);
	uint32_t plane = ss_gpu_plane(r->o, gpu == SS_NONE ? 0 : gpu);
	add_stack(r, row);
	ss_gpu_event_place(&r->event, r->o, plane, plane == SS_NONE ? SS_NONE : ss_gpu_stream(r->o, plane, 0, queue));
}

enum { KE_AGENT = REST, KE_KERNEL, KE_QUEUE, KE_GRID, KE_GROUP = KE_GRID + 3, KE_SHARED = KE_GROUP + 3 };

static void take_kernel(struct reader *r, const struct ss_db_rows *row)
{
	int64_t blocks[3], threads[3];
	if (!begin(r, row, SS_STR("kernel"), text_of(r, &r->kernels, ss_db_i64(row, KE_KERNEL))))
		return;
	for (int i = 0; i < 3; i++) {
		int64_t items = ss_db_i64(row, KE_GRID + i);
		threads[i] = ss_db_is_null(row, KE_GROUP + i) ? 1 : ss_db_i64(row, KE_GROUP + i);
		/* The grid is counted in work items. */
		blocks[i] = threads[i] > 0 && items > 0 ? (items - 1) / threads[i] + 1 : 1;
	}
	ss_gpu_event_dims(&r->event, r->o, "grid", blocks);
	ss_gpu_event_dims(&r->event, r->o, "block", threads);
	ss_gpu_event_int(&r->event, "shared memory", ss_db_i64(row, KE_SHARED));
	place_on_gpu(r, row, ss_db_i64(row, KE_AGENT), ss_db_i64(row, KE_QUEUE));
}

enum { CO_NAME = REST, CO_BYTES, CO_TO, CO_FROM, CO_QUEUE };

static void take_copy(struct reader *r, const struct ss_db_rows *row)
{
	int64_t bytes = ss_db_i64(row, CO_BYTES), to = ss_db_i64(row, CO_TO);
	double span_ns = (double)ss_db_i64(row, END) - (double)ss_db_i64(row, START);
	struct ss_str name = ss_rocprof_copy(text_of(r, &r->strings, ss_db_i64(row, CO_NAME)), &r->event.scratch);
	r->o->no_memory |= !name.p;
	if (!name.p || !begin(r, row, SS_STR("gpu_memcpy"), name))
		return;
	ss_gpu_event_int(&r->event, "bytes", bytes);
	if (span_ns > 0)
		ss_gpu_event_num(&r->event, "memory bandwidth (GB/s)", (double)bytes / span_ns);
	place_on_gpu(r, row, ss_u64map_get(&r->gpus, (uint64_t)to) != SS_NONE ? to : ss_db_i64(row, CO_FROM),
		     ss_db_i64(row, CO_QUEUE));
}

/* A call by its name (hipLaunchKernel, hsa_..., rccl...), else a marker of the user. */
static struct ss_str category_of(struct ss_str name)
{
	static const struct ss_str calls[] = {
		SS_STR_INIT("hip"), SS_STR_INIT("__hip"), SS_STR_INIT("hsa_"), SS_STR_INIT("nccl"), SS_STR_INIT("rocDec"),
	};
	for (size_t i = 0; i < SS_COUNT(calls); i++)
		if (ss_str_starts(name, calls[i]))
			return SS_STR("hip_runtime");
	return SS_STR("user_annotation");
}

static void take_region(struct reader *r, const struct ss_db_rows *row)
{
	struct ss_str name = text_of(r, &r->strings, ss_db_i64(row, REST));
	struct ss_str category = category_of(name);
	if (!begin(r, row, category, name))
		return;
	if (ss_str_is(category, "hip_runtime"))
		add_stack(r, row);
	uint32_t plane = ss_host_process(r->o, number_of(&r->pids, ss_db_i64(row, PID)));
	uint32_t line = plane == SS_NONE ? SS_NONE
					 : ss_host_thread(r->o, plane, number_of(&r->tids, ss_db_i64(row, TID)), SS_STR(""), "");
	ss_gpu_event_place(&r->event, r->o, plane, line);
}

static bool read_rows(struct reader *r)
{
	static const char *const kernels[] = { ROW_COLS,	   "agent_id",	       "kernel_id",	    "queue_id",
					       "grid_size_x",	   "grid_size_y",      "grid_size_z",	    "workgroup_size_x",
					       "workgroup_size_y", "workgroup_size_z", "group_segment_size" };
	static const char *const copies[] = { ROW_COLS, "name_id", "size", "dst_agent_id", "src_agent_id", "queue_id" };
	static const char *const regions[] = { ROW_COLS, "name_id" };
	return EACH(r, "rocpd_kernel_dispatch", kernels, take_kernel) && EACH(r, "rocpd_memory_copy", copies, take_copy) &&
	       EACH(r, "rocpd_region", regions, take_region);
}

static void name_gpus(struct reader *r)
{
	for (size_t i = 0; i < r->gpu_names.n; i++)
		ss_gpu_is_amd(r->o, (int64_t)i, r->gpu_names.v[i]);
}

bool ss_rocpd_is(struct ss_db *db)
{
	struct ss_str any;
	return ss_db_find_table(db, "rocpd_string", &any) &&
	       (ss_db_find_table(db, "rocpd_kernel_dispatch", &any) || ss_db_find_table(db, "rocpd_region", &any));
}

bool ss_rocpd_read(struct ss_db *db, struct ss_space_out *o, struct ss_str *hostname, struct ss_rocpd_loss *loss,
		   struct ss_err *err)
{
	struct reader *r = calloc(1, sizeof(*r));
	*loss = (struct ss_rocpd_loss){ 0 };
	if (!r)
		return ss_fail_mem(err);
	r->db = db;
	r->o = o;
	r->loss = loss;
	r->hostname = SS_STR("");
	bool ok = read_tables(r) && read_rows(r) && ss_name_processes(o, NULL, NULL);
	name_gpus(r);
	*hostname = r->hostname;
	ss_vec_free(&r->texts);
	ss_vec_free(&r->gpu_names);
	ss_u64map_free(&r->strings);
	ss_u64map_free(&r->kernels);
	ss_u64map_free(&r->gpus);
	ss_u64map_free(&r->pids);
	ss_u64map_free(&r->tids);
	ss_u64map_free(&r->events);
	ss_arena_release(&r->event.scratch);
	free(r);
	return ok || ss_fail_mem(err);
}
