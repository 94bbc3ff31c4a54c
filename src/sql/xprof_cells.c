/* xprof_cells.c - the values of the columns of xprof_rows.h, of one event after the other. */
#include "sql/xprof_rows.h"

#include "base/bisect.h"
#include "base/buf.h"
#include "emit/out.h"
#include "hlo/shape.h"
#include "model/host/host.h"
#include "model/host/opname.h"
#include "model/program/hlo_map.h"

#include <stdio.h>

#define TENSORS_MOST (1u << 20)	/* bytes of shapes */
#define ARGS_MOST (16u << 20)	/* bytes of arguments */
#define ARGS_KEPT 512u		/* bytes of those of a name, at most, to be kept */

typedef struct ss_xprof_value value;
typedef struct ss_xprof_reader reader;

static const value nothing = { .type = SS_XPROF_NULL };

static value of_int(int64_t i)
{
	return (value){ .type = SS_XPROF_INT, .i = i };
}

static value of_text(struct ss_str s)
{
	return (value){ .type = SS_XPROF_TEXT, .text = s };
}

/* A text is composed, of at most so many bytes. */
static struct ss_buf *compose(reader *r, size_t limit_bytes)
{
	r->text.n = 0;
	r->text.over = false;
	r->text.limit_bytes = limit_bytes;
	return &r->text;
}

/* It is. */
static value of_made(const reader *r, enum ss_xprof_type type)
{
	if (r->text.no_memory || r->shape.no_memory)
		return nothing;
	return (value){ .type = type, .text = ss_buf_get(&r->text), .made = true };
}

/* ---- stats ---- */

/* Numbers from 1 of those that columns ask for. */
static const uint8_t places[SS_STAT_COUNT] = {
	[SS_STAT_CORRELATION_ID] = 1,
	[SS_STAT_KERNEL_DETAILS] = 2,
	[SS_STAT_TF_OP] = 3,
	[SS_STAT_HLO_OP] = 4,
	[SS_STAT_HLO_MODULE] = 5,
	[SS_STAT_PROGRAM_ID] = 6,
	[SS_STAT_FLOPS] = 7,
	[SS_STAT_BYTES_ACCESSED] = 8,
	[SS_STAT_SOURCE] = 9,
	[SS_STAT_FLOW] = 10,
	[SS_STAT_DCN_SOURCE_SLICE_ID] = 11,
	[SS_STAT_DCN_DESTINATION_SLICE_ID] = 12,
	[SS_STAT_DCN_SOURCE_PER_SLICE_DEVICE_ID] = 13,
	[SS_STAT_DCN_DESTINATION_PER_SLICE_DEVICE_ID] = 14,
	[SS_STAT_DCN_LABEL] = 15,
	[SS_STAT_DURATION_US] = 16,
	[SS_STAT_PAYLOAD_SIZE_BYTES] = 17,
	[SS_STAT_TENSOR_SHAPES] = 18,
};

/* Of several of the same name the last counts, or the first. */
static void read_stats(struct ss_xprof_stats *out, struct ss_xstats it, bool last)
{
	struct ss_xstat s;
	out->found = 0;
	while (ss_xstats_next(&it, &s)) {
		unsigned at = places[s.stat];
		if (!at || (!last && out->found >> at & 1))
			continue;
		out->v[at] = s;
		out->found |= 1u << at;
	}
}

/* The stat of the event; else that of its name's metadata. */
static bool stat_of(reader *r, enum ss_stat which, struct ss_xstat *out)
{
	const struct ss_xprof_line *line = r->line;
	unsigned at = places[which];
	if (!ss_xplane_has(line->plane->x, which))
		return false;
	if (!r->own_read)
		read_stats(&r->own, ss_line_stats(line->plane, line->l, r->i), true);
	r->own_read = true;
	if (r->own.found >> at & 1) {
		*out = r->own.v[at];
		return true;
	}
	uint32_t meta = line->l->ev.meta[r->i];
	if (r->named_plane != line->plane || r->named_meta != meta)
		read_stats(&r->named, ss_xevent_meta_stats(line->plane->x, meta), false);
	r->named_plane = line->plane;
	r->named_meta = meta;
	if (r->named.found >> at & 1)
		*out = r->named.v[at];
	return r->named.found >> at & 1;
}

static value stat_value(reader *r, enum ss_stat which)
{
	struct ss_xstat s;
	if (!stat_of(r, which, &s))
		return nothing;
	if (s.kind == SS_X_INT || s.kind == SS_X_UINT)
		return of_int((int64_t)s.u);
	if (s.kind == SS_X_DOUBLE)
		return (value){ .type = SS_XPROF_REAL, .real = ss_pb_double(s.u) };
	return s.kind == SS_X_STR ? of_text(s.s) : nothing;
}

static struct ss_str stat_text(reader *r, enum ss_stat which)
{
	struct ss_xstat s;
	return stat_of(r, which, &s) ? ss_xstat_str(&s) : SS_STR("");
}

#define FRAMEWORK_NAME \
	"name" /* the stat in which older programs say the operation of a GPU's event */

static struct ss_str named_text(const reader *r)
{
	struct ss_xstats it = ss_line_stats(r->line->plane, r->line->l, r->i);
	struct ss_xstat s;
	while (ss_xstats_next(&it, &s))
		if (s.meta != SS_NONE &&
		    ss_str_is(r->line->plane->x->stat_meta[s.meta].name, FRAMEWORK_NAME))
			return ss_xstat_str(&s);
	return SS_STR("");
}

/* ---- what is around an operation ---- */

/*
 * The event of a line that begins last before a time, or with it, and is not over then; SS_NONE:
 * there is none.
 */
static uint32_t event_around(struct ss_sql_directory *d, struct ss_sql_line *line, int64_t begin_ps)
{
	if (!line || !ss_sql_time_line(d, line))
		return SS_NONE;
	uint32_t lo = 0, hi = line->l.ev.n;
	SS_BISECT(lo, hi, mid, line->l.ev.begin_ps[ss_sql_in_time(line, mid)] <= begin_ps);
	uint32_t i = lo ? ss_sql_in_time(line, lo - 1) : SS_NONE;
	return i != SS_NONE && ss_xevents_end_ps(&line->l.ev, i) > begin_ps ? i : SS_NONE;
}

static struct ss_str name_of(const struct ss_sql_line *line, uint32_t i)
{
	return ss_event_name_in_file(line->plane, line->l.ev.meta[i]);
}

static value joined(reader *r, const char *before, struct ss_str name)
{
	struct ss_buf *b = compose(r, 0);
	ss_buf_z(b, before);
	ss_buf_str(b, name);
	return of_made(r, SS_XPROF_TEXT);
}

static value step_of(reader *r)
{
	const struct ss_xprof_line *line = r->line;
	if (line->kind == SS_XPROF_OPS) {
		uint32_t at = event_around(r->d, line->steps, line->l->ev.begin_ps[r->i]);
		return at == SS_NONE ? nothing : joined(r, "step:", name_of(line->steps, at));
	}
	if (line->kind != SS_XPROF_GPU && line->kind != SS_XPROF_CPU)
		return nothing;
	int64_t group = ss_event_group(line->plane, line->l, r->i);
	return group >= 0 && group < line->host->ngroups && line->host->groups[group].name.n
		       ? of_text(line->host->groups[group].name)
		       : nothing;
}

static value program_of(reader *r)
{
	const struct ss_xprof_line *line = r->line;
	if (line->kind == SS_XPROF_GPU)
		return stat_value(r, SS_STAT_HLO_MODULE);
	if (line->kind != SS_XPROF_OPS)
		return nothing;
	uint32_t at = event_around(r->d, line->modules, line->l->ev.begin_ps[r->i]);
	return at == SS_NONE ? nothing : of_text(name_of(line->modules, at));
}

static struct ss_str hlo_op(reader *r)
{
	if (r->line->kind == SS_XPROF_OPS)
		return ss_event_display_name(r->line->plane, r->line->l->ev.meta[r->i]);
	return r->line->kind == SS_XPROF_GPU ? stat_text(r, SS_STAT_HLO_OP) : SS_STR("");
}

/* ---- the compiled instruction ---- */

/* Which of the profile's programs it belongs to: by its number, else by the module's name. */
static const struct ss_hlo_module *module_of(reader *r)
{
	struct ss_hlo_map *map = ss_host_hlo(r->line->host, NULL);
	const struct ss_hlo_module *m = NULL;
	struct ss_xstat s;
	uint32_t n = 0;
	if (!map)
		return NULL;
	if (stat_of(r, SS_STAT_PROGRAM_ID, &s))
		return ss_hlo_map_get(map, ss_xstat_int_or_uint(&s), &m, NULL) ? m : NULL;
	struct ss_str name = stat_text(r, SS_STAT_HLO_MODULE);
	const struct ss_hlo_entry *entries = ss_hlo_map_entries(map, &n);
	for (uint32_t k = 0; name.n && k < n; k++)
		if (ss_str_eq(entries[k].module.name, name))
			return ss_hlo_map_at(map, k, &m, NULL) ? m : NULL;
	return NULL;
}

/* Into r->instr. */
static bool find_instruction(reader *r)
{
	if (r->known >= 0)
		return r->known;
	struct ss_str name = hlo_op(r);
	r->module = name.n ? module_of(r) : NULL;
	uint32_t at = r->module ? ss_hlo_instr_by_name(r->module, name) : SS_NONE;
	r->known = at != SS_NONE;
	r->instr_at = at;
	if (r->known)
		ss_hlo_instr_read(r->module->instrs[at], &r->instr);
	return r->known;
}

static void put_shape(reader *r, struct ss_str shape)
{
	r->shape.n = 0;
	r->shape.over = false;
	ss_hlo_shape_print(&r->shape, shape, false);
	ss_buf_z(&r->text, r->text.n > 1 ? ", " : "");
	ss_buf_json_str(&r->text, ss_buf_get(&r->shape));
}

/* Of an operation of the framework: "(half[8];float[2,3])". */
static value framework_shapes(reader *r)
{
	struct ss_str text = stat_text(r, SS_STAT_TENSOR_SHAPES);
	if (!stat_text(r, SS_STAT_TF_OP).n || text.n < 2 || text.p[0] != '(' || text.p[text.n - 1] != ')')
		return nothing;
	struct ss_buf *b = compose(r, TENSORS_MOST);
	ss_buf_char(b, '[');
	text = ss_str_sub(text, 1, text.n - 1);
	for (size_t at = 0; at <= text.n;) {
		size_t end = ss_str_chr(ss_str_sub(text, at, text.n), ';');
		end = end == SS_NPOS ? text.n : at + end;
		ss_buf_z(b, at ? ", " : "");
		ss_buf_json_str(b, ss_str_sub(text, at, end));
		at = end + 1;
	}
	ss_buf_char(b, ']');
	return of_made(r, SS_XPROF_TEXTS);
}

static value tensors(reader *r, bool inputs)
{
	struct ss_hlo_instr operand;
	int64_t id;
	if (inputs && r->line->kind == SS_XPROF_GPU && !find_instruction(r))
		return framework_shapes(r);
	if ((r->line->kind != SS_XPROF_OPS && r->line->kind != SS_XPROF_GPU) || !find_instruction(r))
		return nothing;
	r->shape.limit_bytes = TENSORS_MOST;
	ss_buf_char(compose(r, TENSORS_MOST), '[');
	if (!inputs)
		put_shape(r, r->instr.shape);
	struct ss_hlo_ids it = ss_hlo_ids_of(r->instr.body, HLO_INSTRUCTION_OPERAND_IDS);
	while (inputs && ss_hlo_ids_next(&it, &id)) {
		uint32_t at = ss_hlo_instr_by_id(r->module, id);
		if (at == SS_NONE)
			continue;
		ss_hlo_instr_read(r->module->instrs[at], &operand);
		put_shape(r, operand.shape);
	}
	if (r->text.n == 1)
		return nothing;		/* XProf has no empty list */
	ss_buf_char(&r->text, ']');
	return of_made(r, SS_XPROF_TEXTS);
}

/* ---- names ---- */

static value op_of(reader *r, bool type)
{
	const struct ss_xprof_line *line = r->line;
	if (line->kind == SS_XPROF_CPU) {
		struct ss_op_name op = ss_op_name_parse(ss_event_name(line->plane, line->l->ev.meta[r->i]));
		return op.category == SS_OP_TENSORFLOW ? of_text(type ? op.type : op.name) : nothing;
	}
	bool known = line->kind == SS_XPROF_GPU && find_instruction(r);
	struct ss_str text = known ? r->instr.op_name : stat_text(r, SS_STAT_TF_OP);
	if (!text.n && line->kind == SS_XPROF_GPU && !known)
		text = named_text(r);
	size_t colon = ss_str_rchr(text, ':');
	struct ss_str name = ss_str_sub(text, 0, colon),
		      kind = colon == SS_NPOS ? SS_STR("") : ss_str_sub(text, colon + 1, text.n);
	if (!text.n && !known)
		return nothing;
	if (!type)
		return of_text(name);
	if (!kind.n && find_instruction(r))
		kind = ss_str_sub(name, ss_str_rchr(name, '/') + 1, name.n);
	return of_text(kind);
}

static value kernel_of(reader *r)
{
	struct ss_str name = ss_event_name_in_file(r->line->plane, r->line->l->ev.meta[r->i]);
	switch (r->line->kind) {
	case SS_XPROF_STEPS:
		return joined(r, "step:", name);
	case SS_XPROF_MODULES:
		return joined(r, "HLO Module:", name);
	case SS_XPROF_OTHER:
		return r->line->plane->kind == SS_PLANE_CUSTOM ? of_text(name) : nothing;
	default:
		return of_text(name);
	}
}

/* ---- the other stats ---- */

/* Those that are columns. */
static bool is_column(enum ss_xprof_kind kind, enum ss_stat stat)
{
	switch (stat) {
	case SS_STAT_FLOW:
		return true;
	case SS_STAT_CORRELATION_ID:
		return kind == SS_XPROF_GPU || kind == SS_XPROF_CPU;
	case SS_STAT_TF_OP:
		return kind != SS_XPROF_CPU;
	case SS_STAT_KERNEL_DETAILS:
	case SS_STAT_TENSOR_SHAPES:
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
	default:
		return false;
	}
}

/* Does that stat say the operation? */
static bool is_named_by_it(reader *r)
{
	struct ss_xstat s;
	return r->line->kind == SS_XPROF_GPU && !find_instruction(r) && !stat_of(r, SS_STAT_TF_OP, &s);
}

static void put_arg(reader *r, struct ss_str key, const struct ss_xstat *s)
{
	struct ss_str text = s->kind == SS_X_STR ? s->s : s->kind == SS_X_BYTES ? SS_STR("<opaque bytes>") : SS_STR("");
	size_t most = key.n + text.n + 2 * SS_PUT_ROOM;
	if (is_column(r->line->kind, s->stat) || (ss_str_is(key, FRAMEWORK_NAME) && is_named_by_it(r)))
		return;
	char *to = ss_buf_room(&r->text, most), *p = to;
	if (!p)
		return;
	if (r->text.n)
		*p++ = ',';
	p = ss_put_str(p, key);
	*p++ = '=';
	if (text.n)
		p = ss_put_str(p, text);
	bool below = s->kind == SS_X_INT && (int64_t)s->u < 0;
	if (below)
		*p++ = '-';
	if (s->kind == SS_X_INT || s->kind == SS_X_UINT)
		p = ss_put_u64(p, below ? -s->u : s->u);
	if (s->kind == SS_X_DOUBLE)
		p += snprintf(p, SS_PUT_ROOM, "%.6g", ss_pb_double(s->u));
	ss_buf_wrote(&r->text, most, (size_t)(p - to));
}

static void put_args(reader *r, struct ss_xstats it)
{
	struct ss_xstat s;
	while (ss_xstats_next(&it, &s))
		if (s.meta != SS_NONE)
			put_arg(r, r->line->plane->x->stat_meta[s.meta].name, &s);
}

/* Those of the event's name, which are composed once, unless they are long. */
static void put_named_args(reader *r)
{
	const struct ss_plane *plane = r->line->plane;
	uint32_t meta = r->line->l->ev.meta[r->i];
	if (r->args_plane != plane) {
		ss_arena_release(&r->args_arena);
		r->args = SS_NEW_N(&r->args_arena, struct ss_xprof_args, plane->x->nevent_meta + 1u);
		r->args_plane = plane;
	}
	struct ss_xprof_args *known = r->args && meta < plane->x->nevent_meta ? &r->args[meta] : NULL;
	if (known && known->text.p && known->kind == r->line->kind) {
		ss_buf_str(&r->text, known->text);
		return;
	}
	put_args(r, ss_xevent_meta_stats(plane->x, meta));
	if (known && r->text.n <= ARGS_KEPT)
		*known = (struct ss_xprof_args){ ss_arena_str(&r->args_arena, ss_buf_get(&r->text)), r->line->kind };
}

static void put_added(reader *r)
{
	const struct ss_added_stats *added = &r->line->l->added;
	size_t lo = 0, hi = added->n;
	SS_BISECT(lo, hi, mid, added->v[mid].event < r->i);
	for (; lo < added->n && added->v[lo].event == r->i; lo++) {
		const struct ss_added_stat *a = &added->v[lo];
		struct ss_xstat s = { .stat = a->stat, .kind = a->kind, .u = a->u, .s = a->s };
		put_arg(r, ss_stat_name(s.stat), &s);
	}
}

static value args_of(reader *r)
{
	const struct ss_xprof_line *line = r->line;
	compose(r, ARGS_MOST);
	put_named_args(r);
	put_args(r, ss_line_stats(line->plane, line->l, r->i));
	if (line->kind == SS_XPROF_GPU || line->kind == SS_XPROF_CPU)
		put_added(r);
	int64_t group = line->groups ? ss_event_group(line->plane, line->groups, r->i) : SS_NO_GROUP;
	if (group >= 0)
		ss_buf_printf(&r->text, "%sgroup_id=%lld", r->text.n ? "," : "", (long long)group);
	if (line->l->eager && line->l->eager[r->i] >= 0)
		ss_buf_printf(&r->text, "%sis_eager=%d", r->text.n ? "," : "", line->l->eager[r->i]);
	return r->text.n ? of_made(r, SS_XPROF_TEXT) : nothing;
}

/* ---- columns ---- */

static int64_t self_ns(const reader *r)
{
	const struct ss_xprof_line *line = r->line;
	if (line->kind == SS_XPROF_OPS && ss_sql_nest_line(r->d, line->raw))
		return line->raw->self_ps[r->i] / 1000;
	return (int64_t)(line->l->ev.dur_ps[r->i] / 1000);
}

/* Columns that are a stat, of the kinds of lines that have it. */
static enum ss_stat stat_of_col(enum ss_xprof_kind kind, int col)
{
	bool ops = kind == SS_XPROF_OPS, gpu = kind == SS_XPROF_GPU, cpu = kind == SS_XPROF_CPU;
	switch (col) {
	case SS_XPROF_CORRELATION_ID:
		return gpu || cpu ? SS_STAT_CORRELATION_ID : SS_STAT_OTHER;
	case SS_XPROF_KERNEL_DETAILS:
		return gpu ? SS_STAT_KERNEL_DETAILS : SS_STAT_OTHER;
	case SS_XPROF_FLOPS:
		return ops ? SS_STAT_FLOPS : SS_STAT_OTHER;
	case SS_XPROF_MEMORY_ACCESSED:
		return ops ? SS_STAT_BYTES_ACCESSED : SS_STAT_OTHER;
	case SS_XPROF_SOURCE_LINE:
		return ops ? SS_STAT_SOURCE : SS_STAT_OTHER;
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

static value line_text(reader *r, int col)
{
	char buf[32];
	struct ss_str text = ss_xprof_line_text(r->line, col, buf, sizeof(buf));
	return text.p == buf ? joined(r, "", text) : of_text(text);
}

/* The same bits as a signed number. */
static value fingerprint_of(reader *r)
{
	bool device = r->line->kind == SS_XPROF_OPS || r->line->kind == SS_XPROF_GPU;
	uint64_t v;
	if (!device || !find_instruction(r) ||
	    !ss_xprof_fingerprint(&r->fingerprints, r->line->host, r->module, r->instr_at, &v))
		return nothing;
	return of_int((int64_t)v);
}

value ss_xprof_value(reader *r, int col)
{
	const struct ss_xprof_line *line = r->line;
	bool cpu = line->kind == SS_XPROF_CPU;
	switch (col) {
	case SS_XPROF_DEVICE:
	case SS_XPROF_CATEGORY:
	case SS_XPROF_HOST:
		return line_text(r, col);
	case SS_XPROF_STREAM_ID:
		return cpu ? nothing : of_int((uint32_t)line->raw->l.id);
	case SS_XPROF_THREAD_ID:
		return cpu ? of_int((uint32_t)line->raw->l.id) : nothing;
	case SS_XPROF_THREAD_NAME:
		return cpu ? of_text(ss_sql_line_name(line->raw)) : nothing;
	case SS_XPROF_START_NS:
		return of_int(ss_xprof_start_ns(line, r->i));
	case SS_XPROF_END_NS:
		return of_int(ss_safe_sum(ss_xprof_start_ns(line, r->i),
					  (int64_t)(line->l->ev.dur_ps[r->i] / 1000)));
	case SS_XPROF_SELF_TIME_NS:
		return of_int(self_ns(r));
	case SS_XPROF_KERNEL_NAME:
		return kernel_of(r);
	case SS_XPROF_TF_OP_NAME:
	case SS_XPROF_TF_OP_TYPE:
		return op_of(r, col == SS_XPROF_TF_OP_TYPE);
	case SS_XPROF_HLO_OP: {
		struct ss_str op = hlo_op(r);
		return op.n ? of_text(op) : nothing;
	}
	case SS_XPROF_HLO_MODULE:
		return program_of(r);
	case SS_XPROF_STEP:
		return step_of(r);
	case SS_XPROF_INPUT_TENSORS:
	case SS_XPROF_OUTPUT_TENSORS:
		return tensors(r, col == SS_XPROF_INPUT_TENSORS);
	case SS_XPROF_TRACE_ARGS:
		return args_of(r);
	case SS_XPROF_HLO_FINGERPRINT:
		return fingerprint_of(r);
	default: {
		enum ss_stat which = stat_of_col(line->kind, col);
		return which == SS_STAT_OTHER ? nothing : stat_value(r, which);
	}
	}
}

void ss_xprof_reader_free(reader *r)
{
	ss_xprof_fingerprints_free(&r->fingerprints);
	ss_buf_free(&r->text);
	ss_buf_free(&r->shape);
	ss_arena_release(&r->args_arena);
}

/* ---- scopes ---- */

/* Do the line's events have a stat, or at most the metadata of their names? */
static enum ss_xprof_scope stat_scope(const struct ss_xprof_line *line, enum ss_stat which)
{
	const struct ss_xplane *x = line->plane->x;
	if (which == SS_STAT_OTHER || !ss_xplane_has(x, which))
		return SS_XPROF_OF_LINE;
	for (uint32_t i = 0; i < x->nstat_meta; i++)
		if (x->stat_meta[i].stat == which &&
		    line->l->ev.stat_ids & ss_stat_id_bit((uint64_t)x->stat_meta[i].id))
			return SS_XPROF_OF_EVENT;
	return SS_XPROF_OF_NAME;
}

/* Of what comes from the compiled instruction. */
static enum ss_xprof_scope instruction_scope(const struct ss_xprof_line *line)
{
	static const enum ss_stat stats[] = { SS_STAT_HLO_OP, SS_STAT_PROGRAM_ID, SS_STAT_HLO_MODULE, SS_STAT_TF_OP };
	if (line->kind == SS_XPROF_GPU)
		return SS_XPROF_OF_EVENT;
	for (size_t i = 0; line->kind == SS_XPROF_OPS && i < SS_COUNT(stats); i++)
		if (stat_scope(line, stats[i]) == SS_XPROF_OF_EVENT)
			return SS_XPROF_OF_EVENT;
	return line->kind == SS_XPROF_OPS ? SS_XPROF_OF_NAME : SS_XPROF_OF_LINE;
}

static enum ss_xprof_scope op_scope(const struct ss_xprof_line *line)
{
	if (line->kind == SS_XPROF_CPU)
		return SS_XPROF_OF_NAME;
	return line->kind == SS_XPROF_OPS || line->kind == SS_XPROF_GPU ? instruction_scope(line) : stat_scope(line, SS_STAT_TF_OP);
}

enum ss_xprof_scope ss_xprof_scope(const struct ss_xprof_line *line, int col)
{
	bool ops = line->kind == SS_XPROF_OPS, cpu = line->kind == SS_XPROF_CPU, gpu = line->kind == SS_XPROF_GPU;
	switch (col) {
	case SS_XPROF_DEVICE:
	case SS_XPROF_CATEGORY:
	case SS_XPROF_HOST:
	case SS_XPROF_STREAM_ID:
	case SS_XPROF_THREAD_ID:
	case SS_XPROF_THREAD_NAME:
		return SS_XPROF_OF_LINE;
	case SS_XPROF_KERNEL_NAME:
		return SS_XPROF_OF_NAME;
	case SS_XPROF_TF_OP_NAME:
	case SS_XPROF_TF_OP_TYPE:
		return op_scope(line);
	case SS_XPROF_HLO_OP:
		return ops ? SS_XPROF_OF_NAME : gpu ? stat_scope(line, SS_STAT_HLO_OP) : SS_XPROF_OF_LINE;
	case SS_XPROF_HLO_MODULE:
		return ops ? SS_XPROF_OF_EVENT : gpu ? stat_scope(line, SS_STAT_HLO_MODULE) : SS_XPROF_OF_LINE;
	case SS_XPROF_STEP:
		return ops || gpu || cpu ? SS_XPROF_OF_EVENT : SS_XPROF_OF_LINE;
	case SS_XPROF_INPUT_TENSORS:
	case SS_XPROF_OUTPUT_TENSORS:
	case SS_XPROF_HLO_FINGERPRINT:
		return instruction_scope(line);
	case SS_XPROF_START_NS:
	case SS_XPROF_END_NS:
	case SS_XPROF_SELF_TIME_NS:
	case SS_XPROF_TRACE_ARGS:
		return SS_XPROF_OF_EVENT;
	default:
		return stat_scope(line, stat_of_col(line->kind, col));
	}
}
