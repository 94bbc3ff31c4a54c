/*
 * xprof_rows.h - the events that XProf puts into its database of events, line by line, and what its
 * columns say of each.
 *
 * TPU cores give their steps, programs and operations; SparseCores, GPUs, other devices and the host give every line of the
 * file. Steps of GPUs and hosts come from preprocessing, so a query for them loads the hosts.
 */
#ifndef SS_SQL_XPROF_ROWS_H
#define SS_SQL_XPROF_ROWS_H

#include "hlo/hlo.h"
#include "sql/directory.h"
#include "sql/xprof_fingerprint.h"

struct ss_host;

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
	const struct ss_line *groups;		/* loaded, of what groups a TPU core's events; or NULL */
	enum ss_xprof_kind kind;
};

struct ss_xprof_lines {
	struct ss_xprof_line *v;	/* in the arena */
	size_t n;
	bool grouped;			/* hosts are loaded: steps and what preprocessing adds are known */
};

/* The lines, with the steps of GPUs and hosts if `grouped`. */
bool ss_xprof_lines_of(const struct ss_sql_directory *d, bool grouped, struct ss_arena *arena, struct ss_xprof_lines *lines,
		       struct ss_err *err);
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

static inline int64_t ss_xprof_start_ns(const struct ss_xprof_line *line, uint32_t i)
{
	return ss_sql_unix_ns(line->raw, line->l->ev.begin_ps[i]);
}

/* Is it one of the file's? Preprocessing adds some to the lines of the host. */
static inline bool ss_xprof_is_event(const struct ss_xprof_line *line, uint32_t i)
{
	return !ss_xevents_is_added(&line->l->ev, i);
}

/*
 * The scope on which the value of a column depends within one line: nothing, the event's name
 * (ev.meta), or the event.
 */
enum ss_xprof_scope { SS_XPROF_OF_LINE, SS_XPROF_OF_NAME, SS_XPROF_OF_EVENT };
enum ss_xprof_scope ss_xprof_scope(const struct ss_xprof_line *line, int col);

/* ---- cells ---- */

enum ss_xprof_type { SS_XPROF_NULL, SS_XPROF_INT, SS_XPROF_REAL, SS_XPROF_TEXT, SS_XPROF_TEXTS };

struct ss_xprof_value {
	enum ss_xprof_type type;
	int64_t i;
	double real;
	struct ss_str text;	/* SS_XPROF_TEXTS: a JSON array of texts */
	bool made;		/* the text stays until the next one is made; else as long as the host */
};

#define SS_XPROF_STATS 19u	/* those of stats that columns ask for */

struct ss_xprof_stats {
	uint32_t found;		/* a bit for each */
	struct ss_xstat v[SS_XPROF_STATS];
};

/* trace_args of a name, on a kind of line. */
struct ss_xprof_args {
	struct ss_str text;	/* p is NULL: not known */
	enum ss_xprof_kind kind;
};

/* Reads the cells of one event after the other: what several columns ask for is read once. */
struct ss_xprof_reader {
	struct ss_sql_directory *d;
	const struct ss_xprof_line *line;
	uint32_t i;
	struct ss_xprof_stats own, named;	/* of the event; of its name */
	const struct ss_plane *named_plane;	/* whose name `named_meta` those are */
	uint32_t named_meta;
	bool own_read;
	int8_t known;				/* its instruction: 1 yes, 0 no, -1 not looked for */
	const struct ss_hlo_module *module;
	struct ss_hlo_instr instr;
	uint32_t instr_at;			/* its number in the module */
	struct ss_xprof_fingerprints fingerprints;
	struct ss_buf text, shape;
	const struct ss_plane *args_plane;
	struct ss_xprof_args *args;		/* by name of that plane */
	struct ss_arena args_arena;
};

static inline void ss_xprof_read(struct ss_xprof_reader *r, const struct ss_xprof_line *line, uint32_t i)
{
	r->line = line;
	r->i = i;
	r->own_read = false;
	r->known = -1;
}

/* A cell of the event at hand. */
struct ss_xprof_value ss_xprof_value(struct ss_xprof_reader *r, int col);
void ss_xprof_reader_free(struct ss_xprof_reader *r);

#endif
