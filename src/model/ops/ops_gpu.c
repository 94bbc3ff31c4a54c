/*
 * ops_gpu.c - operations of one GPU; and of the threads of XLA's CPU backend, which say as kernels
 * do which instruction of which program they run.
 *
 * A kernel belongs to the HLO instruction that its stat hlo_op names, if the profile carries the
 * program; what the instruction is and costs then comes from there. Kernels of programs that are
 * missing count for nothing. Without hlo_op, the framework op that launched the kernel is the
 * operation. Kernels do not nest: self time is time.
 */
#include "hlo/stack.h"

#include "base/safe.h"
#include "base/vec.h"
#include "hlo/text.h"
#include "model/device/op_facts.h"
#include "model/host/async_ends.h"
#include "model/host/event_order.h"
#include "model/host/host.h"
#include "model/host/opname.h"
#include "model/host/stat_filter.h"
#include "model/ops/gpu_graphs.h"
#include "model/ops/gpu_stats.h"
#include "model/ops/ops_build.h"
#include "model/program/gpu_cost.h"
#include "model/program/hlo_map.h"
#include "model/program/hlo_op.h"
#include "model/torch/torch.h"

#include <stdlib.h>

struct program {
	struct ss_gpu_coster *coster;
	struct ss_hlo_stacks stacks;
};

struct pass {
	struct ss_op_db *db;
	struct ss_host *h;
	const struct ss_plane *p;
	const struct ss_gpu_graphs *graphs; /* NULL: not asked */
	struct ss_hlo_map *hlo;
	struct ss_arena *arena;
	SS_VEC(struct ss_cost) unit; /* by index in db: of one execution, from the program */
	SS_VEC(struct program) programs;
	struct ss_u64map program_of; /* by program id: index into programs */
	int64_t first_ps, last_ps;   /* offsets within lines */
	bool any;
};

/* "<op_name>:<op_type>", "" when both are empty. p is NULL when memory is out. */
static struct ss_str provenance(const struct ss_hlo_instr *in, struct ss_arena *arena)
{
	if (!in->op_name.n && !in->op_type.n)
		return SS_STR("");
	size_t n = in->op_name.n + 1 + in->op_type.n;
	char *p = ss_arena_alloc(arena, n);
	if (!p)
		return (struct ss_str){ NULL, 0 };
	if (in->op_name.n)
		memcpy(p, in->op_name.p, in->op_name.n);
	p[in->op_name.n] = ':';
	if (in->op_type.n)
		memcpy(p + in->op_name.n + 1, in->op_type.p, in->op_type.n);
	return (struct ss_str){ p, n };
}

/* The facts of a program; NULL when memory is out. Valid until the next call. */
static struct program *program_of(struct pass *s, uint64_t program_id,
				  const struct ss_hlo_module *m)
{
	uint32_t i = ss_u64map_get(&s->program_of, program_id);
	if (i != SS_NONE)
		return &s->programs.v[i];
	struct program p = { .coster = ss_gpu_coster_new(m, s->p->kind == SS_PLANE_HOST_CPU) };
	if (!p.coster || !ss_vec_push(&s->programs, p)) {
		ss_gpu_coster_free(p.coster);
		return NULL;
	}
	i = ss_u64map_add(&s->program_of, program_id, (uint32_t)s->programs.n - 1);
	struct program *kept = &s->programs.v[s->programs.n - 1];
	return i != SS_NONE && ss_hlo_stacks_read(&kept->stacks, m, s->arena) ? kept : NULL;
}

/*
 * Where the instruction comes from: the innermost frame of its stack, or else the file and line it
 * names itself.
 */
static bool locate(struct pass *s, const struct program *p, struct ss_op *op,
		   const struct ss_hlo_instr *in)
{
	const struct ss_hlo_location *at = ss_hlo_frame_location(&p->stacks, in->stack_frame_id);
	if (!at) {
		if (in->source_file.n) {
			op->source_file = in->source_file;
			op->source_line = in->source_line;
		}
		return true;
	}
	struct ss_buf b = { 0 };
	ss_hlo_stack_print(&b, &p->stacks, in->stack_frame_id);
	ss_buf_char(&b, '\n');
	op->source_stack = ss_arena_str(s->arena, ss_buf_get(&b));
	bool ok = op->source_stack.p && ss_buf_ok(&b, "stack", NULL);
	op->source_file = ss_hlo_location_file(&p->stacks, at);
	op->source_line = at->line;
	ss_buf_free(&b);
	return ok;
}

/* The instruction as the compiler writes it; what is longer than a megabyte is cut. */
static bool write_out(struct pass *s, struct ss_op *op, const struct ss_hlo_module *m,
		      uint32_t instr)
{
	struct ss_buf b = { .limit_bytes = 1 << 20 };
	bool ok = ss_hlo_instr_text(&b, m, instr, SS_HLO_EXPRESSION);
	op->long_name = ss_arena_str(s->arena, ss_buf_get(&b));
	ok = ok && !b.no_memory;
	ss_buf_free(&b);
	return ok && op->long_name.p;
}

/* Describe a new op by its instruction. */
static bool describe(struct pass *s, struct ss_op *op, const struct ss_hlo_module *m,
		     uint32_t instr)
{
	struct ss_hlo_instr in;
	struct ss_cost unit;
	struct program *p = program_of(s, op->program_id, m);
	ss_hlo_instr_read(m->instrs[instr], &in);
	op->category = ss_hlo_category(&in);
	op->provenance = provenance(&in, s->arena);
	return p && op->category.p && op->provenance.p && locate(s, p, op, &in) &&
	       write_out(s, op, m, instr) && ss_gpu_cost(p->coster, instr, &unit) &&
	       ss_vec_push(&s->unit, unit);
}

/* The op of an event with hlo_op; NULL in *out if the program or the instruction is not there. */
static bool hlo_op(struct pass *s, const struct ss_gpu_stats *e, struct ss_op **out,
		   struct ss_err *err)
{
	struct ss_str name = ss_gpu_innermost(e->hlo_op);
	const struct ss_hlo_module *m;
	*out = (struct ss_op *)ss_op_db_find(s->db, e->program_id, name);
	if (*out)
		return true;
	if (!ss_hlo_map_get(s->hlo, (int64_t)e->program_id, &m, err))
		return false;
	uint32_t instr = m ? ss_hlo_instr_by_name(m, name) : SS_NONE;
	if (instr == SS_NONE)
		return true;
	*out = ss_op_db_get(s->db, e->program_id, name);
	return (*out && describe(s, *out, m, instr)) || ss_fail_mem(err);
}

/* A kernel that only its framework op explains: "<framework op>/<kernel>". */
static bool framework_op(struct pass *s, const struct ss_gpu_stats *e, uint32_t meta,
			 struct ss_op **out)
{
	struct ss_op_name n = ss_op_name_parse(e->tf_op);
	struct ss_str kernel = ss_event_name_in_file(s->p, meta);
	size_t len = n.name.n + 1 + kernel.n;
	char stack[512], *text = len <= sizeof(stack) ? stack : ss_arena_alloc(s->arena, len);
	if (!text)
		return false;
	if (n.name.n)
		memcpy(text, n.name.p, n.name.n);
	text[n.name.n] = '/';
	if (kernel.n)
		memcpy(text + n.name.n + 1, kernel.p, kernel.n);
	struct ss_str name = { text, len };
	*out = (struct ss_op *)ss_op_db_find(s->db, 0, name);
	if (*out)
		return true;
	name = ss_arena_str(s->arena, name);
	*out = name.p ? ss_op_db_get(s->db, 0, name) : NULL;
	if (!*out)
		return false;
	(*out)->category = n.type.n ? n.type : SS_STR("unknown");
	(*out)->provenance = e->tf_op;
	(*out)->one_scope = ss_host_names_ranges(s->h);
	return ss_vec_push(&s->unit, (struct ss_cost){ 0 });
}

static bool add_event(struct pass *s, const struct ss_line *l, uint32_t i, struct ss_err *err)
{
	struct ss_gpu_stats e = ss_gpu_stats_read(s->p, l, i);
	struct ss_str of_graph = s->graphs ? ss_gpu_graph_instr(s->graphs, (uint32_t)(l - s->p->lines), i) : SS_STR("");
	struct ss_op *op = NULL;
	if (of_graph.n)
		e.hlo_op = of_graph;
	if (e.hlo_op.n) {
		if (!hlo_op(s, &e, &op, err))
			return false;
	} else if (e.tf_op.n && !framework_op(s, &e, l->ev.meta[i], &op)) {
		return ss_fail_mem(err);
	}
	if (!op)
		return true;
	uint64_t dur_ps = l->ev.dur_ps[i];
	const struct ss_cost *unit = &s->unit.v[op - s->db->v];
	if (!op->occurrences || dur_ps < op->min_ps)
		op->min_ps = dur_ps;
	op->occurrences++;
	op->time_ps += dur_ps;
	op->self_ps += dur_ps;
	/* The first execution tells. */
	if (op->occurrences == 1)
		op->is_eager = e.eager;
	s->db->op_ps += dur_ps;
	if (!e.hlo_op.n)
		return true;
	ss_cost_add(&op->cost, unit, 1);
	/* The profile may have what the analysis cannot determine. */
	if (unit->flops == 0) {
		op->cost.flops += (double)e.flops;
		op->cost.model_flops += (double)e.flops;
	}
	if (unit->bytes == 0)
		op->cost.bytes += e.bytes;
	return true;
}

/*
 * XProf takes the span over offsets, whatever the begin of their lines; lines of one GPU begin
 * together.
 */
static void extend(struct pass *s, const struct ss_line *l, uint32_t i)
{
	int64_t line_ps =
		l->src ? (int64_t)(((uint64_t)l->src->timestamp_ns - (uint64_t)s->h->x.origin_ns) *
				   1000)
		       : 0;
	int64_t begin_ps = (int64_t)((uint64_t)l->ev.begin_ps[i] - (uint64_t)line_ps);
	int64_t end_ps = (int64_t)((uint64_t)begin_ps + l->ev.dur_ps[i]);
	if (!s->any || begin_ps < s->first_ps)
		s->first_ps = begin_ps;
	if (!s->any || end_ps > s->last_ps)
		s->last_ps = end_ps;
	s->any = true;
}

static bool walk(struct pass *s, struct ss_err *err)
{
	for (uint32_t k = 0; k < s->p->nlines; k++) {
		const struct ss_line *l = &s->p->lines[k];
		struct ss_forget f = { .h = s->h };
		for (uint32_t i = 0; !l->derived && i < l->ev.n; i++) {
			extend(s, l, i);
			if (!add_event(s, l, i, err))
				return false;
			ss_forget_passed(&f, l, i);
		}
		ss_forget_line(&f, l);
		ss_forget_rest(&f);
	}
	return ss_op_db_finish(s->db, s->any ? ss_safe_between(s->first_ps, s->last_ps) : 0) ||
	       ss_fail_mem(err);
}

static void free_pass(struct pass *s)
{
	for (size_t i = 0; i < s->programs.n; i++)
		ss_gpu_coster_free(s->programs.v[i].coster);
	ss_vec_free(&s->programs);
	ss_u64map_free(&s->program_of);
	ss_vec_free(&s->unit);
}

bool ss_gpu_ops(struct ss_op_db *db, struct ss_host *h, const struct ss_plane *p, const struct ss_gpu_graphs *graphs,
		struct ss_arena *arena, struct ss_err *err)
{
	struct pass s = { .db = db, .h = h, .p = p, .graphs = graphs, .hlo = ss_host_hlo(h, err), .arena = arena };
	bool ok = s.hlo && walk(&s, err);
	free_pass(&s);
	return ok;
}

/* ---- threads of the CPU backend ---- */

struct open_instr {
	int64_t begin_ps, end_ps;
	uint64_t inner_ps, beyond_ps; /* of instructions inside; after its end, on other threads */
	size_t op; /* index in db */
};

struct thread_pass {
	struct pass s;
	struct ss_stat_filter filter;
	struct ss_async_ends ends;
	SS_VEC(struct open_instr) open;
};

static void end_instr(struct thread_pass *t)
{
	struct open_instr o = t->open.v[--t->open.n];
	struct ss_op *op = &t->s.db->v[o.op];
	uint64_t dur_ps = ss_safe_between(o.begin_ps, o.end_ps);
	uint64_t self_ps = (dur_ps > o.inner_ps ? dur_ps - o.inner_ps : 0) + o.beyond_ps;
	if (t->open.n)
		t->open.v[t->open.n - 1].inner_ps += dur_ps;
	dur_ps += o.beyond_ps;
	if (!op->occurrences || dur_ps < op->min_ps)
		op->min_ps = dur_ps;
	op->occurrences++;
	op->time_ps = ss_safe_add(op->time_ps, dur_ps);
	op->self_ps = ss_safe_add(op->self_ps, self_ps);
	t->s.db->op_ps = ss_safe_add(t->s.db->op_ps, self_ps);
	ss_cost_add(&op->cost, &t->s.unit.v[o.op], 1);
}

static bool begin_instr(struct thread_pass *t, const struct ss_line *l, uint32_t i, struct ss_err *err)
{
	struct ss_gpu_stats stats = ss_gpu_stats_read(t->s.p, l, i);
	struct ss_op *op = NULL;
	if (!stats.hlo_op.n)
		return true;
	if (!hlo_op(&t->s, &stats, &op, err))
		return false;
	if (!op)
		return true;
	while (t->open.n && t->open.v[t->open.n - 1].end_ps <= l->ev.begin_ps[i])
		end_instr(t);
	int64_t end_ps = ss_xevents_end_ps(&l->ev, i);
	struct open_instr o = { .begin_ps = l->ev.begin_ps[i],
				.end_ps = end_ps,
				.beyond_ps = ss_safe_between(end_ps, ss_async_end(&t->ends, t->s.p, l, i)),
				.op = (size_t)(op - t->s.db->v) };
	if (t->open.n && t->open.v[t->open.n - 1].end_ps < o.end_ps)
		o.end_ps = t->open.v[t->open.n - 1].end_ps;
	return ss_vec_push(&t->open, o) || ss_fail_mem(err);
}

static bool walk_thread(struct thread_pass *t, const struct ss_line *l, struct ss_err *err)
{
	size_t n = 0;
	uint32_t *v = ss_events_outer_first(&l->ev, &n);
	bool ok = v || ss_fail_mem(err);
	struct ss_forget passed = { .h = t->s.h };
	for (size_t i = 0; ok && i < n; i++) {
		ok = !ss_stat_filter_line(&t->filter, l, v[i]) || begin_instr(t, l, v[i], err);
		ss_forget_passed(&passed, l, v[i]);
	}
	ss_forget_line(&passed, l);
	ss_forget_rest(&passed);
	while (ok && t->open.n)
		end_instr(t);
	free(v);
	return ok;
}

bool ss_cpu_ops(struct ss_op_db *db, struct ss_host *h, const struct ss_plane *p, struct ss_arena *arena,
		struct ss_err *err)
{
	static const enum ss_stat stats[] = { SS_STAT_HLO_OP };
	struct thread_pass t = { .s = { .db = db, .h = h, .p = p, .hlo = ss_host_hlo(h, err), .arena = arena },
				 .filter = ss_stat_filter_of(p->x, stats, SS_COUNT(stats)) };
	bool ok = t.s.hlo && (!t.filter.line_ids || ss_async_ends_read(&t.ends, h, p, true) || ss_fail_mem(err));
	for (uint32_t k = 0; ok && t.filter.line_ids && k < p->nlines; k++)
		if (!p->lines[k].derived)
			ok = walk_thread(&t, &p->lines[k], err);
	db->total_ps = db->op_ps;
	ss_vec_free(&t.open);
	ss_async_ends_free(&t.ends);
	free_pass(&t.s);
	return ok;
}
