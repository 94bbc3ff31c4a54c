/*
 * shape_memory_viewer.c - PreprocessResult as JSON: sizes in MiB, members that are zero or empty
 * left out, as protobuf does it.
 */
#include "xprof/shape.h"

/* Colours of rectangles, our own choice: neighbours differ. */
static const char *const colors[] = {
	"#4e79a7", "#f28e2b", "#59a14f", "#e15759", "#76b7b2", "#edc948",
	"#b07aa1", "#ff9da7", "#9c755f", "#bab0ac", "#1b9e77", "#7570b3",
};

static double mib(double bytes)
{
	return bytes / (1024.0 * 1024.0);
}

static void f64(struct ss_json *j, const char *key, double v)
{
	if (v != 0)
		ss_json_f64(j, key, v);
}

static void integer(struct ss_json *j, const char *key, int64_t v)
{
	if (v)
		ss_json_int(j, key, v);
}

static void str(struct ss_json *j, const char *key, struct ss_str v)
{
	if (v.n)
		ss_json_str(j, key, v);
}

static double size(const struct ss_table *t, size_t row, const char *col)
{
	return (double)ss_cell_i64(t, row, col);
}

static void source(struct ss_json *j, const struct ss_table *t, size_t row)
{
	struct ss_str file = ss_cell_str(t, row, "source_file"),
		      stack = ss_cell_str(t, row, "source_stack");
	if (!file.n)
		return;
	ss_json_key(j, "sourceInfo");
	ss_json_open(j, '{');
	str(j, "fileName", file);
	integer(j, "lineNumber", ss_cell_i64(t, row, "source_line"));
	str(j, "stackFrame", stack);
	ss_json_close(j, '}');
}

static void heap_object(struct ss_json *j, const struct ss_table *t, size_t row)
{
	ss_json_key(j, NULL);
	ss_json_open(j, '{');
	ss_json_int(j, "numbered", ss_cell_i64(t, row, "number"));
	str(j, "label", ss_cell_str(t, row, "label"));
	integer(j, "logicalBufferId", ss_cell_i64(t, row, "buffer_id"));
	f64(j, "logicalBufferSizeMib", mib(size(t, row, "size_bytes")));
	f64(j, "unpaddedShapeMib", mib(size(t, row, "unpadded_bytes")));
	str(j, "instructionName", ss_cell_str(t, row, "name"));
	str(j, "shapeString", ss_cell_str(t, row, "shape"));
	str(j, "tfOpName", ss_cell_str(t, row, "op_name"));
	str(j, "groupName", ss_cell_str(t, row, "category"));
	str(j, "opCode", ss_cell_str(t, row, "opcode"));
	source(j, t, row);
	ss_json_close(j, '}');
}

static void begin_array(struct ss_json *j, const char *key)
{
	ss_json_key(j, key);
	ss_json_open(j, '[');
}

static void peak(struct ss_json *j, const struct ss_table *t)
{
	if (!t->nrows)
		return;
	begin_array(j, "maxHeap");
	for (size_t i = 0; i < t->nrows; i++)
		heap_object(j, t, i);
	ss_json_close(j, ']');
	begin_array(j, "maxHeapBySize");
	for (size_t i = 0; i < t->nrows; i++)
		heap_object(j, t, (size_t)ss_cell_i64(t, i, "at_place"));
	ss_json_close(j, ']');
}

static void permutations(struct ss_json *j, const struct ss_table *t)
{
	if (!t->nrows)
		return;
	begin_array(j, "maxHeapToBySize");
	for (size_t i = 0; i < t->nrows; i++)
		ss_json_int(j, NULL, ss_cell_i64(t, i, "by_size"));
	ss_json_close(j, ']');
	begin_array(j, "bySizeToMaxHeap");
	for (size_t i = 0; i < t->nrows; i++)
		ss_json_int(j, NULL, ss_cell_i64(t, i, "at_place"));
	ss_json_close(j, ']');
}

static void sizes(struct ss_json *j, const struct ss_table *t, const char *key, const char *col)
{
	size_t c = ss_table_col(t, col);
	if (!t->nrows || c == SS_NPOS)
		return;
	begin_array(j, key);
	for (size_t i = 0; i < t->nrows; i++)
		ss_json_f64(j, NULL, mib((double)t->data[c].i64[i]));
	ss_json_close(j, ']');
}

static void spans(struct ss_json *j, const struct ss_table *t)
{
	if (!t->nrows)
		return;
	ss_json_key(j, "logicalBufferSpans");
	ss_json_open(j, '{');
	for (size_t i = 0; i < t->nrows; i++) {
		ss_json_key(j, NULL);
		ss_out_char(j->o, '"');
		ss_out_i64(j->o, ss_cell_i64(t, i, "buffer_id"));
		ss_out_lit(j->o, "\":");
		ss_json_open(j, '{');
		integer(j, "start", ss_cell_i64(t, i, "begin"));
		integer(j, "limit", ss_cell_i64(t, i, "end"));
		ss_json_close(j, '}');
	}
	ss_json_close(j, '}');
}

/* "{0,1}" as ["0","1"]. */
static void shape_index(struct ss_json *j, struct ss_str text)
{
	if (text.n < 2)
		return;
	begin_array(j, "shapeIndex");
	for (size_t i = 1; i < text.n; i++) {
		size_t end = i;
		while (end < text.n && text.p[end] != ',' && text.p[end] != '}')
			end++;
		ss_json_str(j, NULL, ss_str_sub(text, i, end));
		i = end;
	}
	ss_json_close(j, ']');
}

static void string_i64(struct ss_json *j, const char *key, int64_t v)
{
	if (v)
		ss_json_i64(j, key, v);
}

/* The rows of `assigned` from *at on that are of this allocation. */
static void logical_buffers(struct ss_json *j, const struct ss_table *t, int64_t allocation,
			    size_t *at)
{
	if (*at >= t->nrows || ss_cell_i64(t, *at, "allocation") != allocation)
		return;
	begin_array(j, "logicalBuffers");
	for (; *at < t->nrows && ss_cell_i64(t, *at, "allocation") == allocation; ++*at) {
		ss_json_key(j, NULL);
		ss_json_open(j, '{');
		string_i64(j, "id", ss_cell_i64(t, *at, "buffer_id"));
		str(j, "shape", ss_cell_str(t, *at, "shape"));
		f64(j, "sizeMib", mib(size(t, *at, "size_bytes")));
		str(j, "hloName", ss_cell_str(t, *at, "instruction"));
		shape_index(j, ss_cell_str(t, *at, "shape_index"));
		ss_json_close(j, '}');
	}
	ss_json_close(j, ']');
}

static void attributes(struct ss_json *j, const struct ss_table *t, size_t row)
{
	bool parameter = ss_cell_bool(t, row, "parameter"),
	     live_out = ss_cell_bool(t, row, "live_out");
	bool reusable = ss_cell_bool(t, row, "reusable");
	if (!parameter && !live_out && !reusable)
		return;
	begin_array(j, "attributes");
	if (parameter)
		ss_json_str(j, NULL, SS_STR("entry computation parameter"));
	if (live_out)
		ss_json_str(j, NULL, SS_STR("may-be live out"));
	if (reusable)
		ss_json_str(j, NULL, SS_STR("reusable"));
	ss_json_close(j, ']');
}

static void indefinite(struct ss_json *j, const struct ss_table *t, const struct ss_table *assigned)
{
	size_t at = 0;
	if (!t->nrows)
		return;
	begin_array(j, "indefiniteLifetimes");
	for (size_t i = 0; i < t->nrows; i++) {
		ss_json_key(j, NULL);
		ss_json_open(j, '{');
		string_i64(j, "id", ss_cell_i64(t, i, "allocation"));
		f64(j, "sizeMib", mib(size(t, i, "size_bytes")));
		attributes(j, t, i);
		logical_buffers(j, assigned, ss_cell_i64(t, i, "allocation"), &at);
		str(j, "commonShape", ss_cell_str(t, i, "shape"));
		ss_json_close(j, '}');
	}
	ss_json_close(j, ']');
}

static void instruction_names(struct ss_json *j, const struct ss_table *t)
{
	if (!t->nrows)
		return;
	begin_array(j, "hloInstructionNames");
	for (size_t i = 0; i < t->nrows; i++)
		ss_json_str(j, NULL, ss_cell_str(t, i, "instruction"));
	ss_json_close(j, ']');
}

/* Buffers at the peak have the colour of their number there, others that of their place in this list. */
static const char *color(const struct ss_table *t, size_t row)
{
	int64_t number = ss_cell_i64(t, row, "peak_number");
	if (ss_cell_i64(t, row, "buffer_id") < 0)
		return "#ffffff";
	return colors[(number >= 0 ? (uint64_t)number : row) % SS_COUNT(colors)];
}

static void blocks(struct ss_json *j, const struct ss_table *t)
{
	if (!t->nrows)
		return;
	begin_array(j, "bufferBlocks");
	for (size_t i = 0; i < t->nrows; i++) {
		ss_json_key(j, NULL);
		ss_json_open(j, '{');
		integer(j, "logicalBufferId", ss_cell_i64(t, i, "buffer_id"));
		str(j, "name", ss_cell_str(t, i, "name"));
		f64(j, "offset", size(t, i, "offset_bytes"));
		f64(j, "size", size(t, i, "size_bytes"));
		integer(j, "startStep", ss_cell_i64(t, i, "begin"));
		integer(j, "endStep", ss_cell_i64(t, i, "end"));
		str(j, "tfOpName", ss_cell_str(t, i, "op_name"));
		str(j, "category", ss_cell_str(t, i, "category"));
		source(j, t, i);
		str(j, "shapeString", ss_cell_str(t, i, "shape"));
		f64(j, "unpaddedSize", size(t, i, "unpadded_bytes"));
		ss_json_str(j, "color", ss_str_from(color(t, i)));
		ss_json_close(j, '}');
	}
	ss_json_close(j, ']');
}

void ss_shape_memory_viewer(struct ss_out *o, const struct ss_result *r)
{
	struct ss_json j = { o, true };
	const struct ss_table *t = ss_result_find(r, "timeline"),
			      *at_peak = ss_result_find(r, "peak");
	ss_json_open(&j, '{');
	sizes(&j, t, "heapSizes", "heap_bytes");
	sizes(&j, t, "unpaddedHeapSizes", "unpadded_bytes");
	peak(&j, at_peak);
	spans(&j, ss_result_find(r, "spans"));
	permutations(&j, at_peak);
	str(&j, "moduleName", ss_shape_prop_text(t, "module_name"));
	str(&j, "entryComputationName", ss_shape_prop_text(t, "entry_computation_name"));
	f64(&j, "peakHeapMib", mib(ss_shape_prop(t, "peak_heap")));
	f64(&j, "peakUnpaddedHeapMib", mib(ss_shape_prop(t, "peak_unpadded_heap")));
	integer(&j, "peakHeapSizePosition", (int64_t)ss_shape_prop(t, "peak_at"));
	f64(&j, "entryComputationParametersMib",
	    mib(ss_shape_prop(t, "entry_computation_parameters")));
	f64(&j, "nonReusableMib", mib(ss_shape_prop(t, "non_reusable")));
	f64(&j, "maybeLiveOutMib", mib(ss_shape_prop(t, "maybe_live_out")));
	indefinite(&j, ss_result_find(r, "indefinite"), ss_result_find(r, "assigned"));
	f64(&j, "totalBufferAllocationMib", mib(ss_shape_prop(t, "total_buffer_allocation")));
	f64(&j, "indefiniteBufferAllocationMib",
	    mib(ss_shape_prop(t, "indefinite_buffer_allocation")));
	instruction_names(&j, t);
	f64(&j, "maxScopedVmemAllocationMib", mib(ss_shape_prop(t, "max_scoped_vmem")));
	str(&j, "maxScopedVmemInstructionName",
	    ss_shape_prop_text(t, "max_scoped_vmem_instruction"));
	blocks(&j, ss_result_find(r, "blocks"));
	ss_json_close(&j, '}');
}
