/*
 * xprof_rows.h - the events that XProf puts into its database of events, line by line, and what its
 * columns say of each.
 *
 * Of a TPU's cores the steps, programs and operations; of GPUs, the host and other planes every
 * line of the file. Steps of GPUs and hosts come from preprocessing, so a question for them loads
 * the hosts.
 */
#ifndef SS_SQL_XPROF_ROWS_H
#define SS_SQL_XPROF_ROWS_H

#include "sql/engine.h"

#define SS_XPROF_COLUMNS(COLUMN) \
	COLUMN(DEVICE, "device TEXT") COLUMN(STREAM_ID, "stream_id INTEGER") \
	COLUMN(THREAD_ID, "thread_id INTEGER") COLUMN(THREAD_NAME, "thread_name TEXT") \
	COLUMN(CORRELATION_ID, "correlation_id INTEGER") COLUMN(KERNEL_NAME, "kernel_name TEXT") \
	COLUMN(KERNEL_DETAILS, "kernel_details TEXT") COLUMN(TF_OP_NAME, "tf_op_name TEXT") \
	COLUMN(TF_OP_TYPE, "tf_op_type TEXT") COLUMN(HLO_OP, "hlo_op TEXT") \
	COLUMN(HLO_MODULE, "hlo_module TEXT") COLUMN(START_NS, "start_ns INTEGER") \
	COLUMN(END_NS, "end_ns INTEGER") COLUMN(SELF_TIME_NS, "self_time_ns INTEGER") \
	COLUMN(STEP, "step TEXT") COLUMN(CATEGORY, "category TEXT") \
	COLUMN(FLOPS, "flops INTEGER") COLUMN(MEMORY_ACCESSED, "memory_accessed INTEGER") \
	COLUMN(INPUT_TENSORS, "input_tensors TEXT") COLUMN(OUTPUT_TENSORS, "output_tensors TEXT") \
	COLUMN(TRACE_ARGS, "trace_args TEXT") COLUMN(HLO_FINGERPRINT, "hlo_fingerprint INTEGER") \
	COLUMN(FLOW, "flow INTEGER") COLUMN(SOURCE_LINE, "source_line TEXT") \
	COLUMN(DCN_SRC_SLICE_ID, "dcn_src_slice_id INTEGER") COLUMN(DCN_DST_SLICE_ID, "dcn_dst_slice_id INTEGER") \
	COLUMN(DCN_SRC_DEVICE, "dcn_src_logical_device_id INTEGER") COLUMN(DCN_DST_DEVICE, "dcn_dst_logical_device_id INTEGER") \
	COLUMN(DCN_NAME, "dcn_collective_name TEXT") COLUMN(DCN_DURATION_US, "dcn_duration_us INTEGER") \
	COLUMN(DCN_PAYLOAD_BYTES, "dcn_payload_size_bytes INTEGER")

enum ss_xprof_col {
#define COLUMN(id, sql) SS_XPROF_##id,
	SS_XPROF_COLUMNS(COLUMN)
#undef COLUMN
	SS_XPROF_HOST,		/* hidden */
	SS_XPROF_COLS
};

enum ss_xprof_kind { SS_XPROF_OPS, SS_XPROF_STEPS, SS_XPROF_MODULES, SS_XPROF_GPU, SS_XPROF_CPU, SS_XPROF_OTHER };

struct ss_xprof_line {
	struct ss_host *host;
	const struct ss_plane *plane;
	const struct ss_line *l;
	struct ss_sql_line *raw;		/* the line in the directory */
	struct ss_sql_line *steps, *modules;	/* of SS_XPROF_OPS; NULL: there are none */
	const struct ss_line *groups;		/* of SS_XPROF_STEPS: the loaded line, whose groups are known; or NULL */
	enum ss_xprof_kind kind;
};

struct ss_xprof_lines {
	struct ss_xprof_line *v;	/* in the connection's arena */
	size_t n;
	bool grouped;			/* hosts are loaded: steps and what preprocessing adds are known */
};

/* The lines, with the steps of GPUs and hosts if `grouped`. False: the reason is in s->err. */
bool ss_xprof_lines_of(struct ss_sql *s, struct ss_xprof_lines *lines, bool grouped);
/* Does the column need hosts to be loaded? */
static inline bool ss_xprof_needs_groups(int col)
{
	return col == SS_XPROF_STEP || col == SS_XPROF_TRACE_ARGS;
}

/*
 * The text of a column that is the same for all events of a line: device, category. To `buf` where
 * it is made.
 */
struct ss_str ss_xprof_line_text(const struct ss_xprof_line *line, int col, char *buf, size_t bytes);
/* A cell. */
void ss_xprof_result(struct ss_sql *s, sqlite3_context *c, const struct ss_xprof_line *line, uint32_t i, int col);

static inline int64_t ss_xprof_start_ns(const struct ss_xprof_line *line, uint32_t i)
{
	int64_t ps = line->l->ev.begin_ps[i];
	return ss_safe_sum(line->host->x.origin_ns, ps / 1000 - (ps % 1000 < 0));
}

/* Is it one of the file's? Preprocessing adds some to the lines of the host. */
static inline bool ss_xprof_is_event(const struct ss_xprof_line *line, uint32_t i)
{
	return line->l->ev.off[i] != SS_EVENT_SYNTHETIC;
}

#endif
