/* rocprof_csv.c - row by row; cells are borrowed, but for those with quotes inside. */
#include "import/rocprof_csv.h"

#include "import/gpu_words.h"
#include "import/rocprof.h"

#include <stdlib.h>

#define CELLS 64	/* of a row; more are passed over */

enum column {
	C_AGENT,
	C_QUEUE,
	C_STREAM,
	C_THREAD,
	C_PROCESS,
	C_KERNEL,
	C_FUNCTION,
	C_DIRECTION,
	C_TO,
	C_FROM,
	C_CORRELATION,
	C_START,
	C_END,
	C_SHARED,
	C_REGISTERS,
	C_GROUP,
	C_GRID = C_GROUP + 3,
	C_COLUMNS = C_GRID + 3,
};

static const struct ss_str names[C_COLUMNS] = {
	[C_AGENT] = SS_STR_INIT("Agent_Id"),
	[C_QUEUE] = SS_STR_INIT("Queue_Id"),
	[C_STREAM] = SS_STR_INIT("Stream_Id"),
	[C_THREAD] = SS_STR_INIT("Thread_Id"),
	[C_PROCESS] = SS_STR_INIT("Process_Id"),
	[C_KERNEL] = SS_STR_INIT("Kernel_Name"),
	[C_FUNCTION] = SS_STR_INIT("Function"),
	[C_DIRECTION] = SS_STR_INIT("Direction"),
	[C_TO] = SS_STR_INIT("Destination_Agent_Id"),
	[C_FROM] = SS_STR_INIT("Source_Agent_Id"),
	[C_CORRELATION] = SS_STR_INIT("Correlation_Id"),
	[C_START] = SS_STR_INIT("Start_Timestamp"),
	[C_END] = SS_STR_INIT("End_Timestamp"),
	[C_SHARED] = SS_STR_INIT("LDS_Block_Size"),
	[C_REGISTERS] = SS_STR_INIT("VGPR_Count"),
	[C_GROUP] = SS_STR_INIT("Workgroup_Size_X"),
	[C_GROUP + 1] = SS_STR_INIT("Workgroup_Size_Y"),
	[C_GROUP + 2] = SS_STR_INIT("Workgroup_Size_Z"),
	[C_GRID] = SS_STR_INIT("Grid_Size_X"),
	[C_GRID + 1] = SS_STR_INIT("Grid_Size_Y"),
	[C_GRID + 2] = SS_STR_INIT("Grid_Size_Z"),
};

struct reader {
	struct ss_space_out *o;
	struct ss_rocprof_csv_loss *loss;
	struct ss_str rest;
	struct ss_str cells[CELLS];
	size_t ncells;
	size_t at[C_COLUMNS];	/* which cell, SS_NPOS: the table has no such column */
	struct ss_gpu_event event;
};

bool ss_rocprof_csv_is(struct ss_str head)
{
	struct ss_str line = ss_str_sub(head, 0, ss_str_chr(head, '\n'));
	bool first = ss_str_starts(line, SS_STR("\"Kind\",")) || ss_str_starts(line, SS_STR("\"Domain\","));
	return first && ss_str_contains(line, SS_STR("\"Correlation_Id\"")) && ss_str_contains(line, SS_STR("\"Start_Timestamp\""));
}

/*
 * A cell, without its quotes. Two quotes within are left as they are: names of kernels have none.
 */
static struct ss_str take_cell(struct reader *r, char *behind)
{
	struct ss_str s = r->rest;
	bool quoted = s.n && s.p[0] == '"';
	size_t i = quoted, begin = i, end;
	if (quoted) {
		while (i < s.n && (s.p[i] != '"' || (i + 1 < s.n && s.p[i + 1] == '"')))
			i += s.p[i] == '"' ? 2 : 1;
		end = i < s.n ? i : s.n;
		i = end + (end < s.n);
	} else {
		while (i < s.n && s.p[i] != ',' && s.p[i] != '\n')
			i++;
		end = i > begin && s.p[i - 1] == '\r' ? i - 1 : i;
	}
	while (i < s.n && s.p[i] != ',' && s.p[i] != '\n')
		i++;
	*behind = i < s.n ? s.p[i] : '\0';
	r->rest = ss_str_sub(s, i + 1, s.n);
	return ss_str_sub(s, begin, end);
}

/* The next row; false at the end, and for a last one without its end of line that lacks cells. */
static bool take_row(struct reader *r)
{
	char behind = ',';
	r->ncells = 0;
	if (!r->rest.n)
		return false;
	while (behind == ',') {
		struct ss_str cell = take_cell(r, &behind);
		if (r->ncells < CELLS)
			r->cells[r->ncells++] = cell;
	}
	return true;
}

static struct ss_str cell(const struct reader *r, enum column c)
{
	return r->at[c] < r->ncells ? r->cells[r->at[c]] : SS_STR("");
}

/* "4" or "Agent 4". */
static int64_t number(const struct reader *r, enum column c)
{
	struct ss_str s = cell(r, c);
	size_t space = ss_str_rchr(s, ' ');
	int64_t v = 0;
	ss_str_to_i64(space == SS_NPOS ? s : ss_str_sub(s, space + 1, s.n), &v);
	return v;
}

static void place_on_gpu(struct reader *r, int64_t agent)
{
	uint32_t plane = ss_gpu_plane(r->o, agent);
	if (plane != SS_NONE && !r->o->planes.v[plane].own.n)
		ss_gpu_is_amd(r->o, agent, SS_STR(""));
	int64_t stream = number(r, C_STREAM) ? number(r, C_STREAM) : number(r, C_QUEUE);
	ss_gpu_event_int(&r->event, "correlation", number(r, C_CORRELATION));
	ss_gpu_event_place(&r->event, r->o, plane, plane == SS_NONE ? SS_NONE : ss_gpu_stream(r->o, plane, 0, stream));
}

static void take_kernel(struct reader *r, int64_t begin, int64_t end)
{
	int64_t blocks[3], threads[3];
	ss_gpu_event_begin(&r->event, SS_STR("kernel"), cell(r, C_KERNEL), begin, end);
	for (int i = 0; i < 3; i++) {
		int64_t items = number(r, (enum column)(C_GRID + i));
		threads[i] = number(r, (enum column)(C_GROUP + i));
		threads[i] = threads[i] > 0 ? threads[i] : 1;
		/* The grid is counted in work items. */
		blocks[i] = items > 0 ? (items - 1) / threads[i] + 1 : 1;
	}
	ss_gpu_event_dims(&r->event, r->o, "grid", blocks);
	ss_gpu_event_dims(&r->event, r->o, "block", threads);
	ss_gpu_event_int(&r->event, "registers per thread", number(r, C_REGISTERS));
	ss_gpu_event_int(&r->event, "shared memory", number(r, C_SHARED));
	place_on_gpu(r, number(r, C_AGENT));
}

static void take_copy(struct reader *r, int64_t begin, int64_t end)
{
	struct ss_str direction = cell(r, C_DIRECTION), name = ss_rocprof_copy(direction, &r->event.scratch);
	r->o->no_memory |= !name.p;
	ss_gpu_event_begin(&r->event, SS_STR("gpu_memcpy"), name.p ? name : SS_STR(""), begin, end);
	place_on_gpu(r, number(r, ss_str_ends(direction, SS_STR("TO_HOST")) ? C_FROM : C_TO));
}

static void take_call(struct reader *r, int64_t begin, int64_t end)
{
	bool marker = ss_str_contains(r->cells[0], SS_STR("MARKER"));
	ss_gpu_event_begin(&r->event, marker ? SS_STR("user_annotation") : SS_STR("hip_runtime"), cell(r, C_FUNCTION), begin, end);
	if (!marker)
		ss_gpu_event_int(&r->event, "correlation", number(r, C_CORRELATION));
	uint32_t plane = ss_host_process(r->o, number(r, C_PROCESS));
	uint32_t line = plane == SS_NONE ? SS_NONE : ss_host_thread(r->o, plane, number(r, C_THREAD), SS_STR(""), "");
	ss_gpu_event_place(&r->event, r->o, plane, line);
}

static void read_rows(struct reader *r)
{
	size_t columns = r->ncells;
	while (!r->o->no_memory && take_row(r)) {
		int64_t begin, end;
		if (r->ncells < columns && !r->rest.n) {
			r->loss->cut = true;
		} else if (!ss_str_to_i64(cell(r, C_START), &begin) || !ss_str_to_i64(cell(r, C_END), &end) || end < begin) {
			r->loss->malformed++;
		} else if (r->at[C_KERNEL] != SS_NPOS) {
			take_kernel(r, begin, end);
		} else if (r->at[C_DIRECTION] != SS_NPOS) {
			take_copy(r, begin, end);
		} else {
			take_call(r, begin, end);
		}
	}
}

bool ss_rocprof_csv_read(struct ss_str bytes, struct ss_space_out *o, struct ss_rocprof_csv_loss *loss, struct ss_err *err)
{
	struct reader *r = calloc(1, sizeof(*r));
	*loss = (struct ss_rocprof_csv_loss){ 0 };
	if (!r)
		return ss_fail_mem(err);
	r->o = o;
	r->loss = loss;
	r->rest = bytes;
	bool header = take_row(r);
	for (size_t c = 0; c < C_COLUMNS; c++) {
		r->at[c] = SS_NPOS;
		for (size_t i = 0; header && i < r->ncells; i++)
			if (ss_str_eq(r->cells[i], names[c]))
				r->at[c] = i;
	}
	bool times = r->at[C_START] != SS_NPOS && r->at[C_END] != SS_NPOS;
	if (times)
		read_rows(r);
	bool memory = !o->no_memory && ss_name_processes(o, NULL, NULL);
	ss_arena_release(&r->event.scratch);
	free(r);
	if (!memory)
		return ss_fail_mem(err);
	return times || ss_fail(err, SS_EFORMAT, "its table has no Start_Timestamp and End_Timestamp");
}
