/* rocprof.c - member by member. */
#include "import/rocprof.h"

#include "base/vec.h"
#include "import/gpu_words.h"
#include "import/json_feed.h"
#include "wire/json_tree.h"

#include <stdlib.h>

#define SCRATCH_BYTES ((size_t)1 << 20)
#define KINDS 256

struct reader {
	struct ss_space_out *o;
	struct ss_rocprof_loss *loss;
	struct ss_json_feed feed;
	struct ss_arena scratch;	/* of some records */
	struct ss_gpu_event event;
	bool records;			/* the second pass */
	struct ss_str array;		/* of the records at hand: "kernel_dispatch" */
	struct ss_str hostname;
	int64_t pid;
	uint64_t process;		/* number of the one at hand: each numbers its kernels */
	uint32_t ngpus;
	SS_VEC(uint32_t) gpu_names;	/* by number: numbers of texts */
	struct ss_u64map gpus, kernels, markers;	/* by handle, id and correlation; the last two: numbers of texts */
	struct ss_u64map registers;	/* of kernels, of a work item */
	SS_VEC(struct ss_str) texts;
	uint32_t operations[KINDS];	/* by kind: number of the text of operation 0 + 1 */
	uint32_t noperations[KINDS];
};

/* ---- walking ---- */

typedef bool member_fn(struct reader *r, struct ss_str key);
typedef bool element_fn(struct reader *r);

/* Behind "{": `fn` takes the value of each member. False where the text ends or is none. */
static bool members(struct reader *r, member_fn *fn)
{
	ss_json_feed_skip(&r->feed);
	for (;;) {
		char key[64], c = ss_json_feed_peek(&r->feed);
		struct ss_str text;
		if (c == '}' || c == ',') {
			ss_json_feed_skip(&r->feed);
			if (c == '}')
				return true;
			continue;
		}
		if (c != '"' || r->o->no_memory || !ss_json_feed_value(&r->feed, &text))
			return false;
		size_t n = text.n - 2 < sizeof(key) ? text.n - 2 : 0;
		memcpy(key, text.p + 1, n);
		if (ss_json_feed_peek(&r->feed) != ':')
			return false;
		ss_json_feed_skip(&r->feed);
		if (!fn(r, (struct ss_str){ key, n }))
			return false;
	}
}

static bool elements(struct reader *r, element_fn *fn)
{
	ss_json_feed_skip(&r->feed);
	for (;;) {
		char c = ss_json_feed_peek(&r->feed);
		if (c == ']' || c == ',') {
			ss_json_feed_skip(&r->feed);
			if (c == ']')
				return true;
			continue;
		}
		if (!c || r->o->no_memory || !fn(r))
			return false;
	}
}

/* A value that nobody wants, however long. */
static bool pass_value(struct reader *r)
{
	struct ss_str value;
	return ss_json_feed_value(&r->feed, &value) && value.n;
}

static bool pass_member(struct reader *r, struct ss_str key)
{
	(void)key;
	return ss_json_feed_peek(&r->feed) == '[' ? elements(r, pass_value) : pass_value(r);
}

static bool pass_over(struct reader *r)
{
	char c = ss_json_feed_peek(&r->feed);
	return c == '{' ? members(r, pass_member) : c == '[' ? elements(r, pass_value) : pass_value(r);
}

/* The next value as a tree, good until the next but some; NULL: none is there, or it is no JSON. */
static const struct ss_jnode *tree(struct reader *r, bool *there)
{
	struct ss_str value;
	struct ss_err why = { 0 };
	*there = ss_json_feed_value(&r->feed, &value) && value.n;
	if (!*there)
		return NULL;
	if (r->scratch.used_bytes > SCRATCH_BYTES)
		ss_arena_release(&r->scratch);
	/* The feed's bytes move on; texts that are kept are copied. */
	const struct ss_jnode *n = ss_jtree_of_json(value, &r->scratch, &why);
	r->o->no_memory |= why.code == SS_ENOMEM;
	return n;
}

/* ---- what records refer to ---- */

static uint32_t keep(struct reader *r, struct ss_str text)
{
	struct ss_str copy = ss_arena_str(&r->o->arena, text);
	if (!copy.p || r->texts.n >= SS_NONE || !ss_vec_push(&r->texts, copy))
		r->o->no_memory = true;
	return (uint32_t)r->texts.n - 1;
}

static uint64_t handle_of(const struct ss_jnode *n, const char *key)
{
	return (uint64_t)ss_jnode_i64(ss_jnode_get(n, key), "handle");
}

static bool take_agent(struct reader *r)
{
	bool there;
	const struct ss_jnode *n = tree(r, &there);
	if (n && ss_jnode_int(n, "type", 0) == 2) {
		/* All processes see the same. */
		uint32_t at = ss_u64map_add(&r->gpus, handle_of(n, "id"), r->ngpus);
		r->o->no_memory |= at == SS_NONE;
		if (at == r->ngpus) {
			r->ngpus++;
			r->o->no_memory |= !ss_vec_push(&r->gpu_names, keep(r, ss_jnode_text(n, "name")));
		}
	}
	return there;
}

static bool take_symbol(struct reader *r)
{
	bool there;
	const struct ss_jnode *n = tree(r, &there);
	static const char *const names[] = { "formatted_kernel_name", "demangled_kernel_name", "kernel_name",
					     "truncated_kernel_name" };
	struct ss_str name = SS_STR("");
	for (size_t i = 0; n && i < SS_COUNT(names) && !name.n; i++)
		name = ss_jnode_text(n, names[i]);
	uint64_t key = ss_mix(r->process, (uint64_t)ss_jnode_i64(n, "kernel_id"));
	int64_t registers = ss_jnode_int(n, "arch_vgpr_count", 0);
	if (n && name.n && !ss_u64map_put(&r->kernels, key, keep(r, name)))
		r->o->no_memory = true;
	if (registers > 0 && registers < SS_NONE && !ss_u64map_put(&r->registers, key, (uint32_t)registers))
		r->o->no_memory = true;
	return there;
}

/* Kinds of records, in the order of their numbers. */
static bool take_kinds(struct reader *r)
{
	bool there;
	const struct ss_jnode *n = tree(r, &there);
	uint32_t kind = 0;
	for (const struct ss_jnode *k = n ? n->first : NULL; k && kind < KINDS; k = k->next, kind++) {
		const struct ss_jnode *operations = ss_jnode_get(k, "operations");
		r->operations[kind] = (uint32_t)r->texts.n + 1;
		for (const struct ss_jnode *op = operations ? operations->first : NULL; op; op = op->next) {
			keep(r, op->text);
			r->noperations[kind]++;
		}
	}
	return there;
}

static bool take_marker(struct reader *r)
{
	bool there;
	const struct ss_jnode *n = tree(r, &there);
	if (n && !ss_u64map_put(&r->markers, (uint64_t)ss_jnode_i64(n, "key"), keep(r, ss_jnode_text(n, "value"))))
		r->o->no_memory = true;
	return there;
}

static bool take_strings(struct reader *r, struct ss_str key)
{
	if (ss_str_is(key, "buffer_records") && ss_json_feed_peek(&r->feed) == '[')
		return take_kinds(r);
	if (ss_str_is(key, "marker_api") && ss_json_feed_peek(&r->feed) == '[')
		return elements(r, take_marker);
	return pass_over(r);
}

static bool take_metadata(struct reader *r)
{
	bool there;
	const struct ss_jnode *n = tree(r, &there);
	if (n) {
		r->pid = ss_jnode_i64(n, "pid");
		if (!r->hostname.n)
			r->hostname = ss_arena_str(&r->o->arena, ss_jnode_text(ss_jnode_get(n, "node"), "hostname"));
		r->o->no_memory |= !r->hostname.p;
	}
	return there;
}

/* ---- records ---- */

static struct ss_str text_of(const struct reader *r, uint32_t at)
{
	return at < r->texts.n ? r->texts.v[at] : SS_STR("");
}

static struct ss_str operation_of(const struct reader *r, const struct ss_jnode *n)
{
	int64_t kind = ss_jnode_int(n, "kind", -1), op = ss_jnode_int(n, "operation", -1);
	if (kind < 0 || kind >= KINDS || !r->operations[kind] || op < 0 || op >= r->noperations[kind])
		return SS_STR("");
	return text_of(r, r->operations[kind] - 1 + (uint32_t)op);
}

struct ss_str ss_rocprof_copy(struct ss_str operation, struct ss_arena *arena)
{
	static const struct {
		const char *theirs, *ours;
	} ends[] = {
		{ "HOST_TO_DEVICE", "HtoD" },
		{ "DEVICE_TO_HOST", "DtoH" },
		{ "DEVICE_TO_DEVICE", "DtoD" },
		{ "HOST_TO_HOST", "HtoH" },
	};
	for (size_t i = 0; i < SS_COUNT(ends); i++)
		if (ss_str_ends(operation, ss_str_from(ends[i].theirs)))
			return ss_arena_printf(arena, "Memcpy %s", ends[i].ours);
	return operation.n ? operation : SS_STR("Memcpy");
}

static void add_correlation(struct reader *r, const struct ss_jnode *n)
{
	const struct ss_jnode *c = ss_jnode_get(n, "correlation_id");
	if (c)
		ss_gpu_event_int(&r->event, "correlation",
				 c->first ? ss_jnode_i64(c, "internal") : ss_jnode_i64(n, "correlation_id"));
}

static void place_on_gpu(struct reader *r, const struct ss_jnode *n, uint64_t agent, const struct ss_jnode *info)
{
	uint32_t gpu = ss_u64map_get(&r->gpus, agent);
	uint32_t plane = ss_gpu_plane(r->o, gpu == SS_NONE ? 0 : gpu);
	const struct ss_jnode *stream = ss_jnode_get(n, "stream_id");
	uint64_t number = stream && handle_of(n, "stream_id") ? handle_of(n, "stream_id") : info ? handle_of(info, "queue_id") : 0;
	add_correlation(r, n);
	ss_gpu_event_place(&r->event, r->o, plane, plane == SS_NONE ? SS_NONE : ss_gpu_stream(r->o, plane, 0, (int64_t)number));
}

/* A kernel that the file does not name is called by its number. */
static struct ss_str kernel_name(struct reader *r, const struct ss_jnode *info, uint64_t key)
{
	uint32_t known = ss_u64map_get(&r->kernels, key);
	if (known != SS_NONE || !ss_jnode_get(info, "kernel_id"))
		return text_of(r, known);
	struct ss_str name = ss_arena_printf(&r->scratch, "kernel %lld", (long long)ss_jnode_i64(info, "kernel_id"));
	r->o->no_memory |= !name.p;
	return name.p ? name : SS_STR("");
}

static void take_dispatch(struct reader *r, const struct ss_jnode *n, int64_t begin, int64_t end)
{
	static const char *const axes[] = { "x", "y", "z" };
	const struct ss_jnode *info = ss_jnode_get(n, "dispatch_info");
	const struct ss_jnode *grid = ss_jnode_get(info, "grid_size"), *group = ss_jnode_get(info, "workgroup_size");
	int64_t blocks[3], threads[3];
	uint64_t key = ss_mix(r->process, (uint64_t)ss_jnode_i64(info, "kernel_id"));
	uint32_t registers = ss_u64map_get(&r->registers, key);
	ss_gpu_event_begin(&r->event, SS_STR("kernel"), kernel_name(r, info, key), begin, end);
	for (int i = 0; i < 3; i++) {
		int64_t items = ss_jnode_int(grid, axes[i], 1);
		threads[i] = ss_jnode_int(group, axes[i], 1);
		/* The grid is counted in work items. */
		blocks[i] = threads[i] > 0 && items > 0 ? (items - 1) / threads[i] + 1 : items;
	}
	ss_gpu_event_dims(&r->event, r->o, "grid", blocks);
	ss_gpu_event_dims(&r->event, r->o, "block", threads);
	if (registers != SS_NONE)
		ss_gpu_event_int(&r->event, "registers per thread", registers);
	ss_gpu_event_int(&r->event, "shared memory", ss_jnode_i64(info, "group_segment_size"));
	place_on_gpu(r, n, handle_of(info, "agent_id"), info);
}

static void take_copy(struct reader *r, const struct ss_jnode *n, int64_t begin, int64_t end)
{
	uint64_t to = handle_of(n, "dst_agent_id"), from = handle_of(n, "src_agent_id");
	int64_t bytes = ss_jnode_i64(n, "bytes");
	struct ss_str name = ss_rocprof_copy(operation_of(r, n), &r->scratch);
	r->o->no_memory |= !name.p;
	ss_gpu_event_begin(&r->event, SS_STR("gpu_memcpy"), name.p ? name : SS_STR(""), begin, end);
	ss_gpu_event_int(&r->event, "bytes", bytes);
	if (end > begin)
		ss_gpu_event_num(&r->event, "memory bandwidth (GB/s)", (double)bytes / ((double)end - (double)begin));
	place_on_gpu(r, n, ss_u64map_get(&r->gpus, to) != SS_NONE ? to : from, NULL);
}

static void take_call(struct reader *r, const struct ss_jnode *n, int64_t begin, int64_t end)
{
	const struct ss_jnode *c = ss_jnode_get(n, "correlation_id");
	bool marker = ss_str_is(r->array, "marker_api");
	uint32_t text = marker && c ? ss_u64map_get(&r->markers, (uint64_t)ss_jnode_i64(c, "internal")) : SS_NONE;
	ss_gpu_event_begin(&r->event, marker ? SS_STR("user_annotation") : SS_STR("hip_runtime"),
			   text != SS_NONE ? text_of(r, text) : operation_of(r, n), begin, end);
	if (!marker)
		add_correlation(r, n);
	uint32_t plane = ss_host_process(r->o, r->pid);
	uint32_t line = plane == SS_NONE ? SS_NONE : ss_host_thread(r->o, plane, ss_jnode_i64(n, "thread_id"), SS_STR(""), "");
	ss_gpu_event_place(&r->event, r->o, plane, line);
}

static bool take_record(struct reader *r)
{
	bool there;
	const struct ss_jnode *n = tree(r, &there);
	if (!n)
		return there;
	int64_t begin = ss_jnode_i64(n, "start_timestamp"), end = ss_jnode_i64(n, "end_timestamp");
	if (!ss_jnode_get(n, "start_timestamp") || end < begin) {
		r->loss->malformed++;
		return there;
	}
	if (ss_str_is(r->array, "kernel_dispatch"))
		take_dispatch(r, n, begin, end);
	else if (ss_str_is(r->array, "memory_copy"))
		take_copy(r, n, begin, end);
	else
		take_call(r, n, begin, end);
	return there;
}

static bool take_records(struct reader *r, struct ss_str key)
{
	bool wanted = ss_str_is(key, "kernel_dispatch") || ss_str_is(key, "memory_copy") || ss_str_ends(key, SS_STR("_api"));
	if (!wanted || ss_json_feed_peek(&r->feed) != '[')
		return pass_over(r);
	r->array = key;
	return elements(r, take_record);
}

/* ---- a process ---- */

static bool take_member(struct reader *r, struct ss_str key)
{
	static const struct {
		const char *key;
		element_fn *each;
	} lists[] = { { "agents", take_agent }, { "kernel_symbols", take_symbol } };
	char c = ss_json_feed_peek(&r->feed);
	if (r->records && c == '{' && ss_str_is(key, "buffer_records"))
		return members(r, take_records);
	if (c == '{' && ss_str_is(key, "metadata"))
		return take_metadata(r);
	for (size_t i = 0; !r->records && c == '[' && i < SS_COUNT(lists); i++)
		if (ss_str_is(key, lists[i].key))
			return elements(r, lists[i].each);
	if (!r->records && c == '{' && ss_str_is(key, "strings"))
		return members(r, take_strings);
	return pass_over(r);
}

static bool take_process(struct reader *r)
{
	r->process++;
	return ss_json_feed_peek(&r->feed) == '{' ? members(r, take_member) : pass_value(r);
}

static bool take_top(struct reader *r, struct ss_str key)
{
	bool ours = ss_str_is(key, "rocprofiler-sdk-tool") && ss_json_feed_peek(&r->feed) == '[';
	return ours ? elements(r, take_process) : pass_over(r);
}

static bool walk(struct reader *r, const struct ss_file *f, bool records)
{
	if (!ss_json_feed_open(&r->feed, f)) {
		r->o->no_memory = true;
		return false;
	}
	r->records = records;
	r->process = 0;
	bool whole = ss_json_feed_peek(&r->feed) == '{' && members(r, take_top) && !ss_json_feed_bad(&r->feed);
	r->o->no_memory |= r->feed.no_memory;
	ss_json_feed_close(&r->feed);
	return whole;
}

bool ss_rocprof_read(const struct ss_file *f, struct ss_space_out *o, struct ss_str *hostname, struct ss_rocprof_loss *loss,
		     struct ss_err *err)
{
	struct reader *r = calloc(1, sizeof(*r));
	*loss = (struct ss_rocprof_loss){ 0 };
	if (!r)
		return ss_fail_mem(err);
	r->o = o;
	r->loss = loss;
	r->hostname = SS_STR("");
	bool first = walk(r, f, false);
	loss->cut = !(walk(r, f, true) && first);
	bool ok = !o->no_memory && ss_name_processes(o, NULL, NULL);
	for (size_t i = 0; i < r->gpu_names.n; i++)
		ss_gpu_is_amd(o, (int64_t)i, r->texts.v[r->gpu_names.v[i]]);
	*hostname = r->hostname;
	ss_u64map_free(&r->gpus);
	ss_u64map_free(&r->kernels);
	ss_u64map_free(&r->registers);
	ss_u64map_free(&r->markers);
	ss_vec_free(&r->texts);
	ss_vec_free(&r->gpu_names);
	ss_arena_release(&r->scratch);
	ss_arena_release(&r->event.scratch);
	free(r);
	return ok || ss_fail_mem(err);
}
