/* xprof_rows.c - see xprof_rows.h. */
#include "sql/xprof_rows.h"

#include "base/bisect.h"
#include "base/buf.h"
#include "hlo/shape.h"
#include "model/host/opname.h"
#include "model/preprocess/load.h"
#include "model/program/hlo_map.h"

#include <stdio.h>
#include <stdlib.h>

static bool is_named(const struct ss_sql_line *line, const char *name)
{
	return ss_str_is(ss_sql_line_name(line), name);
}

static enum ss_xprof_kind kind_of(const struct ss_sql_line *line)
{
	switch (line->plane->kind) {
	case SS_PLANE_TENSOR_CORE:
		return is_named(line, "Steps")	       ? SS_XPROF_STEPS
		       : is_named(line, "XLA Modules") ? SS_XPROF_MODULES
						       : SS_XPROF_OPS;
	case SS_PLANE_GPU:
		return SS_XPROF_GPU;
	case SS_PLANE_HOST_CPU:
		return SS_XPROF_CPU;
	default:
		return SS_XPROF_OTHER;
	}
}

static bool is_shown(const struct ss_sql_line *line)
{
	if (line->plane->kind == SS_PLANE_METADATA || !line->l.ev.n)
		return false;
	return line->plane->kind != SS_PLANE_TENSOR_CORE || is_named(line, "Steps") ||
	       is_named(line, "XLA Modules") || is_named(line, "XLA Ops");
}

static struct ss_sql_line *line_of_plane(const struct ss_sql_directory *d, uint32_t plane_at,
					 const char *name)
{
	const struct ss_sql_plane *p = &d->planes[plane_at];
	for (uint32_t k = p->first_line; k < p->first_line + p->nlines; k++)
		if (d->lines[k].l.ev.n && is_named(&d->lines[k], name))
			return &d->lines[k];
	return NULL;
}

/* The loaded host's line of the same bytes; its events may stand in another order. */
static const struct ss_line *loaded_line(const struct ss_sql_directory *d,
					 const struct ss_sql_line *raw)
{
	uint32_t k = (uint32_t)(raw - d->lines) - d->planes[raw->plane_at].first_line;
	return &raw->plane->lines[k];
}

static bool load_hosts(struct ss_sql *s)
{
	for (size_t h = 0; h < s->model->nhosts; h++)
		if (!ss_host_is_raw(s->model->hosts[h]) && !ss_host_load(s->model->hosts[h], &s->err))
			return false;
	return true;
}

bool ss_xprof_lines_of(struct ss_sql *s, struct ss_xprof_lines *lines, bool grouped)
{
	const struct ss_sql_directory *d = ss_sql_events(s);
	if (!d || (grouped && !load_hosts(s)))
		return false;
	lines->v = SS_NEW_N(&s->arena, struct ss_xprof_line, d->nlines + 1u);
	if (!lines->v)
		return ss_fail_mem(&s->err);
	for (uint32_t k = 0; k < d->nlines; k++) {
		struct ss_sql_line *raw = &d->lines[k];
		struct ss_xprof_line *line = &lines->v[lines->n];
		if (!is_shown(raw))
			continue;
		*line = (struct ss_xprof_line){ .host = raw->host,
						.plane = raw->plane,
						.l = &raw->l,
						.raw = raw,
						.kind = kind_of(raw) };
		if (grouped && (line->kind == SS_XPROF_GPU || line->kind == SS_XPROF_CPU))
			line->l = loaded_line(d, raw);
		if (grouped && line->kind == SS_XPROF_STEPS &&
		    loaded_line(d, raw)->ev.n == raw->l.ev.n)
			line->groups = loaded_line(d, raw);
		if (line->kind == SS_XPROF_OPS) {
			line->steps = line_of_plane(d, raw->plane_at, "Steps");
			line->modules = line_of_plane(d, raw->plane_at, "XLA Modules");
		}
		lines->n++;
	}
	lines->grouped = grouped;
	return true;
}

struct ss_str ss_xprof_line_text(const struct ss_xprof_line *line, int col, char *buf, size_t bytes)
{
	struct ss_str name = line->plane->name;
	if (col == SS_XPROF_HOST)
		return line->host->name;
	if (col == SS_XPROF_CATEGORY)
		return line->kind == SS_XPROF_GPU   ? SS_STR("device")
		       : line->kind == SS_XPROF_CPU ? SS_STR("host")
						    : ss_sql_line_name(line->raw);
	if (line->kind == SS_XPROF_CPU)
		return SS_STR("cpu:0");
	if (line->kind == SS_XPROF_GPU) {
		int n = snprintf(buf, bytes, "gpu:%lld", (long long)line->plane->x->id);
		return (struct ss_str){ buf, n < 0 ? 0 : (size_t)n };
	}
	return ss_str_take(&name, SS_STR("/device:")) ? name : line->plane->name;
}

/* ---- stats ---- */

/* Of the event, of several the last; else of its name's metadata. */
static bool stat_of(const struct ss_xprof_line *line, uint32_t i, enum ss_stat which,
		    struct ss_xstat *out)
{
	bool found = false;
	struct ss_xstat s;
	if (!ss_xplane_has(line->plane->x, which))
		return false;
	struct ss_xstats it = ss_line_stats(line->plane, line->l, i);
	while (ss_xstats_next(&it, &s))
		if (s.stat == which) {
			*out = s;
			found = true;
		}
	it = ss_xevent_meta_stats(line->plane->x, line->l->ev.meta[i]);
	while (!found && ss_xstats_next(&it, &s))
		if (s.stat == which) {
			*out = s;
			found = true;
		}
	return found;
}

static void result_stat(sqlite3_context *c, const struct ss_xprof_line *line, uint32_t i,
			enum ss_stat which)
{
	struct ss_xstat s;
	if (stat_of(line, i, which, &s))
		ss_sql_result_stat(c, &s);
}

static struct ss_str stat_text(const struct ss_xprof_line *line, uint32_t i, enum ss_stat which)
{
	struct ss_xstat s;
	return stat_of(line, i, which, &s) ? ss_xstat_str(&s) : SS_STR("");
}

#define FRAMEWORK_NAME \
	"name" /* the stat in which older programs say the operation of a GPU's event */

static struct ss_str named_text(const struct ss_xprof_line *line, uint32_t i)
{
	struct ss_xstats it = ss_line_stats(line->plane, line->l, i);
	struct ss_xstat s;
	while (ss_xstats_next(&it, &s))
		if (s.meta != SS_NONE &&
		    ss_str_is(line->plane->x->stat_meta[s.meta].name, FRAMEWORK_NAME))
			return ss_xstat_str(&s);
	return SS_STR("");
}

/* ---- what is around an operation ---- */

/*
 * The event of a line that begins last before a time, or with it, and is not over then; SS_NONE:
 * there is none.
 */
static uint32_t event_around(struct ss_sql *s, struct ss_sql_line *line, int64_t begin_ps)
{
	if (!line || !ss_sql_time_line(s->dir, line))
		return SS_NONE;
	uint32_t lo = 0, hi = line->l.ev.n;
	SS_BISECT(lo, hi, mid, line->l.ev.begin_ps[ss_sql_in_time(line, mid)] <= begin_ps);
	uint32_t i = lo ? ss_sql_in_time(line, lo - 1) : SS_NONE;
	return i != SS_NONE && ss_xevents_end_ps(&line->l.ev, i) > begin_ps ? i : SS_NONE;
}

static struct ss_str name_of(const struct ss_sql_line *line, uint32_t i)
{
	return ss_event_name(line->plane, line->l.ev.meta[i]);
}

static void result_joined(sqlite3_context *c, const char *before, struct ss_str name)
{
	size_t n = strlen(before);
	char *text = sqlite3_malloc64(n + name.n + 1);
	if (!text) {
		sqlite3_result_error_nomem(c);
		return;
	}
	memcpy(text, before, n);
	memcpy(text + n, name.p, name.n);
	sqlite3_result_text64(c, text, n + name.n, sqlite3_free, SQLITE_UTF8);
}

static void result_step(struct ss_sql *s, sqlite3_context *c, const struct ss_xprof_line *line,
			uint32_t i)
{
	if (line->kind == SS_XPROF_OPS) {
		uint32_t at = event_around(s, line->steps, line->l->ev.begin_ps[i]);
		if (at != SS_NONE)
			result_joined(c, "step:", name_of(line->steps, at));
	} else if (line->kind == SS_XPROF_GPU || line->kind == SS_XPROF_CPU) {
		int64_t group = ss_event_group(line->plane, line->l, i);
		if (group >= 0 && group < line->host->ngroups && line->host->groups[group].name.n)
			ss_sql_result_str(c, line->host->groups[group].name);
	}
}

static void result_module(struct ss_sql *s, sqlite3_context *c, const struct ss_xprof_line *line,
			  uint32_t i)
{
	if (line->kind == SS_XPROF_GPU)
		result_stat(c, line, i, SS_STAT_HLO_MODULE);
	if (line->kind != SS_XPROF_OPS)
		return;
	uint32_t at = event_around(s, line->modules, line->l->ev.begin_ps[i]);
	if (at != SS_NONE)
		ss_sql_result_str(c, name_of(line->modules, at));
}

static struct ss_str hlo_op(const struct ss_xprof_line *line, uint32_t i)
{
	if (line->kind == SS_XPROF_OPS)
		return ss_event_display_name(line->plane, line->l->ev.meta[i]);
	return line->kind == SS_XPROF_GPU ? stat_text(line, i, SS_STAT_HLO_OP) : SS_STR("");
}

/* ---- the compiled instruction ---- */

/* Which of the profile's programs it belongs to: by its number, else by the module's name. */
static const struct ss_hlo_module *module_of(const struct ss_xprof_line *line, uint32_t i)
{
	struct ss_hlo_map *map = ss_host_hlo(line->host, NULL);
	const struct ss_hlo_module *m = NULL;
	struct ss_xstat s;
	uint32_t n = 0;
	if (!map)
		return NULL;
	if (stat_of(line, i, SS_STAT_PROGRAM_ID, &s))
		return ss_hlo_map_get(map, ss_xstat_int_or_uint(&s), &m, NULL) ? m : NULL;
	struct ss_str name = stat_text(line, i, SS_STAT_HLO_MODULE);
	const struct ss_hlo_entry *entries = ss_hlo_map_entries(map, &n);
	for (uint32_t k = 0; name.n && k < n; k++)
		if (ss_str_eq(entries[k].module.name, name))
			return ss_hlo_map_at(map, k, &m, NULL) ? m : NULL;
	return NULL;
}

static bool instruction_of(const struct ss_xprof_line *line, uint32_t i,
			   const struct ss_hlo_module **m, struct ss_hlo_instr *in)
{
	struct ss_str name = hlo_op(line, i);
	*m = name.n ? module_of(line, i) : NULL;
	uint32_t at = *m ? ss_hlo_instr_by_name(*m, name) : SS_NONE;
	if (at == SS_NONE)
		return false;
	ss_hlo_instr_read((*m)->instrs[at], in);
	return true;
}

static void put_shape(struct ss_buf *b, struct ss_buf *scratch, struct ss_str shape)
{
	scratch->n = 0;
	ss_hlo_shape_print(scratch, shape, false);
	ss_buf_z(b, b->n > 1 ? ", " : "");
	ss_buf_json_str(b, ss_buf_get(scratch));
}

static void result_tensors(sqlite3_context *c, const struct ss_xprof_line *line, uint32_t i,
			   bool inputs)
{
	const struct ss_hlo_module *m;
	struct ss_hlo_instr in, operand;
	struct ss_buf b = { .limit_bytes = 1 << 20 }, scratch = { .limit_bytes = 1 << 20 };
	int64_t id;
	if (line->kind == SS_XPROF_CPU && inputs)
		result_stat(c, line, i, SS_STAT_TENSOR_SHAPES);
	if ((line->kind != SS_XPROF_OPS && line->kind != SS_XPROF_GPU) ||
	    !instruction_of(line, i, &m, &in))
		return;
	ss_buf_char(&b, '[');
	if (!inputs)
		put_shape(&b, &scratch, in.shape);
	struct ss_hlo_ids it = ss_hlo_ids_of(in.body, HLO_INSTRUCTION_OPERAND_IDS);
	while (inputs && ss_hlo_ids_next(&it, &id)) {
		uint32_t at = ss_hlo_instr_by_id(m, id);
		if (at == SS_NONE)
			continue;
		ss_hlo_instr_read(m->instrs[at], &operand);
		put_shape(&b, &scratch, operand.shape);
	}
	ss_buf_char(&b, ']');
	if (!b.no_memory && !scratch.no_memory)
		sqlite3_result_text64(c, b.p, b.n, SQLITE_TRANSIENT, SQLITE_UTF8);
	ss_buf_free(&b);
	ss_buf_free(&scratch);
}

/* ---- names ---- */

static void result_op(sqlite3_context *c, const struct ss_xprof_line *line, uint32_t i, bool type)
{
	const struct ss_hlo_module *m;
	struct ss_hlo_instr in;
	if (line->kind == SS_XPROF_CPU) {
		struct ss_op_name op =
			ss_op_name_parse(ss_event_name(line->plane, line->l->ev.meta[i]));
		if (op.category == SS_OP_TENSORFLOW)
			ss_sql_result_str(c, type ? op.type : op.name);
		return;
	}
	if (line->kind != SS_XPROF_OPS && line->kind != SS_XPROF_GPU)
		return;
	bool known = line->kind == SS_XPROF_GPU && instruction_of(line, i, &m, &in);
	struct ss_str text = known ? in.op_name : stat_text(line, i, SS_STAT_TF_OP);
	if (!text.n && line->kind == SS_XPROF_GPU && !known)
		text = named_text(line, i);
	size_t colon = ss_str_rchr(text, ':');
	struct ss_str name = ss_str_sub(text, 0, colon),
		      kind = colon == SS_NPOS ? SS_STR("") : ss_str_sub(text, colon + 1, text.n);
	if (!text.n && !known)
		return;
	if (!type) {
		ss_sql_result_str(c, name);
		return;
	}
	if (!kind.n && instruction_of(line, i, &m, &in))
		kind = ss_str_sub(name, ss_str_rchr(name, '/') + 1, name.n);
	ss_sql_result_str(c, kind);
}

static void result_kernel(sqlite3_context *c, const struct ss_xprof_line *line, uint32_t i)
{
	struct ss_str name = ss_event_name(line->plane, line->l->ev.meta[i]);
	if (line->kind == SS_XPROF_STEPS)
		result_joined(c, "step:", name);
	else if (line->kind == SS_XPROF_MODULES)
		result_joined(c, "HLO Module:", name);
	else if (line->kind != SS_XPROF_OTHER)
		ss_sql_result_str(c, name);
}

/* ---- the other stats ---- */

/* Those that are columns. */
static bool is_column(enum ss_xprof_kind kind, enum ss_stat stat)
{
	switch (stat) {
	case SS_STAT_FLOW:
	case SS_STAT_TF_OP:
	case SS_STAT_CORRELATION_ID:
	case SS_STAT_KERNEL_DETAILS:
		return true;
	case SS_STAT_HLO_OP:
	case SS_STAT_HLO_MODULE:
	case SS_STAT_PROGRAM_ID:
		return kind == SS_XPROF_GPU;
	case SS_STAT_FLOPS:
	case SS_STAT_BYTES_ACCESSED:
	case SS_STAT_SOURCE:
		return kind == SS_XPROF_OPS;
	case SS_STAT_GROUP_ID:
		return kind == SS_XPROF_GPU || kind == SS_XPROF_CPU;
	case SS_STAT_TENSOR_SHAPES:
		return kind == SS_XPROF_CPU;
	default:
		return false;
	}
}

static void put_arg(struct ss_buf *b, const struct ss_xprof_line *line, struct ss_str key,
		    const struct ss_xstat *s)
{
	if (is_column(line->kind, s->stat) ||
	    (line->kind == SS_XPROF_GPU && ss_str_is(key, FRAMEWORK_NAME)))
		return;
	ss_buf_z(b, b->n ? "," : "");
	ss_buf_str(b, key);
	ss_buf_char(b, '=');
	switch (s->kind) {
	case SS_X_INT:
		ss_buf_i64(b, (int64_t)s->u);
		break;
	case SS_X_UINT:
		ss_buf_u64(b, s->u);
		break;
	case SS_X_DOUBLE:
		ss_buf_printf(b, "%.6g", ss_pb_double(s->u));
		break;
	case SS_X_STR:
		ss_buf_str(b, s->s);
		break;
	case SS_X_BYTES:
		ss_buf_lit(b, "<opaque bytes>");
		break;
	case SS_X_NONE:
		break;
	}
}

static void put_args(struct ss_buf *b, const struct ss_xprof_line *line, struct ss_xstats it)
{
	struct ss_xstat s;
	while (ss_xstats_next(&it, &s))
		if (s.meta != SS_NONE)
			put_arg(b, line, line->plane->x->stat_meta[s.meta].name, &s);
}

static void result_args(sqlite3_context *c, const struct ss_xprof_line *line, uint32_t i)
{
	const struct ss_line *l = line->l;
	struct ss_buf b = { .limit_bytes = 16 << 20 };
	put_args(&b, line, ss_xevent_meta_stats(line->plane->x, l->ev.meta[i]));
	put_args(&b, line, ss_line_stats(line->plane, l, i));
	for (size_t k = 0; k < l->added.n; k++)
		if (l->added.v[k].event == i) {
			struct ss_xstat s = { .stat = l->added.v[k].stat,
					      .kind = l->added.v[k].kind,
					      .u = l->added.v[k].u,
					      .s = l->added.v[k].s };
			put_arg(&b, line, ss_stat_name(s.stat), &s);
		}
	int64_t group = line->groups ? ss_event_group(line->plane, line->groups, i) : SS_NO_GROUP;
	if (group >= 0)
		ss_buf_printf(&b, "%sgroup_id=%lld", b.n ? "," : "", (long long)group);
	if (l->eager && l->eager[i] >= 0)
		ss_buf_printf(&b, "%sis_eager=%d", b.n ? "," : "", l->eager[i]);
	if (!b.no_memory && b.n)
		sqlite3_result_text64(c, b.p, b.n, SQLITE_TRANSIENT, SQLITE_UTF8);
	ss_buf_free(&b);
}

static int64_t self_ns(struct ss_sql *s, const struct ss_xprof_line *line, uint32_t i)
{
	if (line->kind == SS_XPROF_OPS && ss_sql_nest_line(s->dir, line->raw))
		return line->raw->self_ps[i] / 1000;
	return (int64_t)(line->l->ev.dur_ps[i] / 1000);
}

static enum ss_stat stat_of_col(int col)
{
	switch (col) {
	case SS_XPROF_KERNEL_DETAILS:
		return SS_STAT_KERNEL_DETAILS;
	case SS_XPROF_FLOW:
		return SS_STAT_FLOW;
	case SS_XPROF_DCN_SRC_SLICE_ID:
		return SS_STAT_DCN_SOURCE_SLICE_ID;
	case SS_XPROF_DCN_DST_SLICE_ID:
		return SS_STAT_DCN_DESTINATION_SLICE_ID;
	case SS_XPROF_DCN_SRC_DEVICE:
		return SS_STAT_DCN_SOURCE_PER_SLICE_DEVICE_ID;
	case SS_XPROF_DCN_DST_DEVICE:
		return SS_STAT_DCN_DESTINATION_PER_SLICE_DEVICE_ID;
	case SS_XPROF_DCN_NAME:
		return SS_STAT_DCN_LABEL;
	case SS_XPROF_DCN_DURATION_US:
		return SS_STAT_DURATION_US;
	case SS_XPROF_DCN_PAYLOAD_BYTES:
		return SS_STAT_PAYLOAD_SIZE_BYTES;
	default:
		return SS_STAT_OTHER;
	}
}

static void result_number(sqlite3_context *c, const struct ss_xprof_line *line, uint32_t i, int col)
{
	uint64_t dur_ns = line->l->ev.dur_ps[i] / 1000;
	switch (col) {
	case SS_XPROF_STREAM_ID:
		if (line->kind != SS_XPROF_CPU)
			sqlite3_result_int64(c, (sqlite3_int64)(uint32_t)line->raw->l.id);
		break;
	case SS_XPROF_THREAD_ID:
		if (line->kind == SS_XPROF_CPU)
			sqlite3_result_int64(c, (sqlite3_int64)(uint32_t)line->raw->l.id);
		break;
	case SS_XPROF_START_NS:
		sqlite3_result_int64(c, ss_xprof_start_ns(line, i));
		break;
	default:
		sqlite3_result_int64(c, ss_safe_sum(ss_xprof_start_ns(line, i), (int64_t)dur_ns));
	}
}

void ss_xprof_result(struct ss_sql *s, sqlite3_context *c, const struct ss_xprof_line *line,
		     uint32_t i, int col)
{
	char buf[32];
	struct ss_str text;
	bool device = line->kind == SS_XPROF_OPS || line->kind == SS_XPROF_GPU;
	switch (col) {
	case SS_XPROF_DEVICE:
	case SS_XPROF_CATEGORY:
	case SS_XPROF_HOST:
		text = ss_xprof_line_text(line, col, buf, sizeof(buf));
		sqlite3_result_text64(c, text.p, text.n,
				      text.p == buf ? SQLITE_TRANSIENT : SQLITE_STATIC,
				      SQLITE_UTF8);
		break;
	case SS_XPROF_STREAM_ID:
	case SS_XPROF_THREAD_ID:
	case SS_XPROF_START_NS:
	case SS_XPROF_END_NS:
		result_number(c, line, i, col);
		break;
	case SS_XPROF_THREAD_NAME:
		if (line->kind == SS_XPROF_CPU)
			ss_sql_result_str(c, ss_sql_line_name(line->raw));
		break;
	case SS_XPROF_CORRELATION_ID:
		if (line->kind == SS_XPROF_GPU || line->kind == SS_XPROF_CPU)
			result_stat(c, line, i, SS_STAT_CORRELATION_ID);
		break;
	case SS_XPROF_KERNEL_NAME:
		result_kernel(c, line, i);
		break;
	case SS_XPROF_TF_OP_NAME:
	case SS_XPROF_TF_OP_TYPE:
		result_op(c, line, i, col == SS_XPROF_TF_OP_TYPE);
		break;
	case SS_XPROF_HLO_OP:
		text = hlo_op(line, i);
		if (text.n)
			ss_sql_result_str(c, text);
		break;
	case SS_XPROF_HLO_MODULE:
		result_module(s, c, line, i);
		break;
	case SS_XPROF_SELF_TIME_NS:
		sqlite3_result_int64(c, self_ns(s, line, i));
		break;
	case SS_XPROF_STEP:
		result_step(s, c, line, i);
		break;
	case SS_XPROF_FLOPS:
	case SS_XPROF_MEMORY_ACCESSED:
		if (line->kind == SS_XPROF_OPS)
			result_stat(c, line, i,
				    col == SS_XPROF_FLOPS ? SS_STAT_FLOPS : SS_STAT_BYTES_ACCESSED);
		break;
	case SS_XPROF_INPUT_TENSORS:
	case SS_XPROF_OUTPUT_TENSORS:
		result_tensors(c, line, i, col == SS_XPROF_INPUT_TENSORS);
		break;
	case SS_XPROF_TRACE_ARGS:
		result_args(c, line, i);
		break;
	case SS_XPROF_SOURCE_LINE:
		if (line->kind == SS_XPROF_OPS)
			result_stat(c, line, i, SS_STAT_SOURCE);
		break;
	case SS_XPROF_HLO_FINGERPRINT: /* not computed: unknown */
		break;
	case SS_XPROF_KERNEL_DETAILS:
		if (device)
			result_stat(c, line, i, SS_STAT_KERNEL_DETAILS);
		break;
	default:
		result_stat(c, line, i, stat_of_col(col));
	}
}
