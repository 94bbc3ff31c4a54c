/* gpu_graphs.c - see gpu_graphs.h. */
#include "model/ops/gpu_graphs.h"

#include "hlo/order.h"
#include "model/host/stat_filter.h"

#include <stdlib.h>

/* An event of a graph. */
struct kernel {
	uint64_t program_id, launch; /* launch: the correlation of the call that started the graph */
	struct ss_str caller;	     /* the instruction that the event names */
	int64_t begin_ps;
	uint64_t dur_ps;
	struct ss_str name;
	uint32_t line, event;
	uint32_t step; /* its place in the schedule, SS_NONE */
};

/* An instruction of the computation that starts kernels. */
struct step {
	struct ss_str name;
	bool library; /* its kernels have names of their own */
};

/* A computation that programs hand over as a graph. */
struct schedule {
	uint64_t program_id;
	struct ss_str caller;
	SS_VEC(struct step) steps;
};

struct reader {
	struct ss_gpu_graphs *g;
	const struct ss_plane *p;
	struct ss_hlo_map *hlo;
	SS_VEC(struct kernel) kernels;
	struct schedule schedule; /* of the latest caller */
	SS_VEC(uint32_t) seen;	  /* by step: kernels of its name in the replay */
};

static uint64_t key_of(uint32_t line, uint32_t event)
{
	return ((uint64_t)line << 32 | event) + 1;
}

/* ---- kernels ---- */

static bool add_kernel(struct reader *r, uint32_t line, uint32_t i)
{
	const struct ss_line *l = &r->p->lines[line];
	struct ss_gpu_stats s = ss_gpu_stats_read(r->p, l, i);
	struct ss_xstat id;
	struct ss_str name = ss_event_name(r->p, l->ev.meta[i]);
	if (!s.hlo_op.n || ss_str_starts(name, SS_STR("Mem")) ||
	    !ss_xstats_find(ss_line_stats(r->p, l, i), SS_STAT_CORRELATION_ID, &id))
		return true;
	return ss_vec_push(&r->kernels, ((struct kernel){ .program_id = s.program_id,
							  .launch = (uint64_t)ss_xstat_int_or_uint(&id),
							  .caller = ss_gpu_innermost(s.hlo_op),
							  .begin_ps = l->ev.begin_ps[i],
							  .dur_ps = l->ev.dur_ps[i],
							  .name = name,
							  .line = line,
							  .event = i,
							  .step = SS_NONE }));
}

/* By program, caller, launch, begin: a replay is a run of them. */
static int in_order(const void *a, const void *b)
{
	const struct kernel *x = a, *y = b;
	return SS_CMP(x->program_id, y->program_id) ?: ss_str_cmp(x->caller, y->caller) ?: SS_CMP(x->launch, y->launch) ?:
	       SS_CMP(x->begin_ps, y->begin_ps) ?: SS_CMP(x->line, y->line) ?: SS_CMP(x->event, y->event);
}

static bool find_kernels(struct reader *r)
{
	static const enum ss_stat stats[] = { SS_STAT_CUDA_GRAPH_ID, SS_STAT_CUDA_GRAPH_NODE_ID };
	struct ss_stat_filter f = ss_stat_filter_of(r->p->x, stats, SS_COUNT(stats));
	struct ss_xstat s;
	for (uint32_t k = 0; f.line_ids && k < r->p->nlines; k++) {
		const struct ss_line *l = &r->p->lines[k];
		for (uint32_t i = 0; !l->derived && i < l->ev.n; i++) {
			if (!ss_stat_filter_line(&f, l, i) ||
			    (!ss_xstats_find(ss_line_stats(r->p, l, i), SS_STAT_CUDA_GRAPH_ID, &s) &&
			     !ss_xstats_find(ss_line_stats(r->p, l, i), SS_STAT_CUDA_GRAPH_NODE_ID, &s)))
				continue;
			if (ss_xstat_int_or_uint(&s) && !add_kernel(r, k, i))
				return false;
		}
	}
	if (r->kernels.n)
		qsort(r->kernels.v, r->kernels.n, sizeof(*r->kernels.v), in_order);
	return true;
}

/* ---- the schedule ---- */

/* Does it start kernels? */
static bool works(struct ss_str opcode)
{
	static const char *const others[] = { "parameter", "constant", "tuple", "get-tuple-element", "bitcast",
					      "after-all", "partition-id", "replica-id", "opt-barrier" };
	for (size_t i = 0; i < SS_COUNT(others); i++)
		if (ss_str_is(opcode, others[i]))
			return false;
	return true;
}

/* The computation that the event's instruction hands over: what it calls, or what bears the name itself. */
static uint32_t computation_of(const struct ss_hlo_module *m, struct ss_str caller)
{
	uint32_t at = ss_hlo_instr_by_name(m, caller);
	if (at != SS_NONE) {
		struct ss_hlo_instr in;
		int64_t id;
		ss_hlo_instr_read(m->instrs[at], &in);
		struct ss_hlo_ids it = ss_hlo_ids_of(in.body, HLO_INSTRUCTION_CALLED_IDS);
		bool call = ss_str_is(in.opcode, "call") || ss_str_is(in.opcode, "command-buffer");
		return call && ss_hlo_ids_next(&it, &id) ? ss_hlo_computation_by_id(m, id) : SS_NONE;
	}
	for (uint32_t i = 0; i < m->ncomputations; i++)
		if (!m->computations[i].is_fusion && ss_str_eq(m->computations[i].name, caller))
			return i;
	return SS_NONE;
}

static bool add_steps(struct schedule *s, const struct ss_hlo_module *m, uint32_t computation, struct ss_err *err)
{
	struct ss_arena arena = { 0 };
	struct ss_hlo_order order;
	bool ok = ss_hlo_order_of(&order, m, &arena, err);
	uint32_t first = m->computations[computation].first, n = ok ? order.nshown[computation] : 0;
	for (uint32_t i = 0; ok && i < n; i++) {
		struct ss_hlo_instr in;
		ss_hlo_instr_read(m->instrs[order.instrs[first + i]], &in);
		if (works(in.opcode))
			ok = ss_vec_push(&s->steps, ((struct step){ in.name, ss_str_is(in.opcode, "custom-call") })) ||
			     ss_fail_mem(err);
	}
	ss_arena_release(&arena);
	return ok;
}

static bool read_schedule(struct reader *r, const struct kernel *k, struct ss_err *err)
{
	struct schedule *s = &r->schedule;
	const struct ss_hlo_module *m;
	if (s->caller.n && s->program_id == k->program_id && ss_str_eq(s->caller, k->caller))
		return true;
	s->program_id = k->program_id;
	s->caller = k->caller;
	s->steps.n = 0;
	if (!ss_hlo_map_get(r->hlo, (int64_t)k->program_id, &m, err))
		return false;
	uint32_t at = m ? computation_of(m, k->caller) : SS_NONE;
	return at == SS_NONE || add_steps(s, m, at, err);
}

/* ---- who runs what ---- */

/* "loop_add_fusion.1" as the name of a kernel. */
static bool names_kernel(struct ss_str instr, struct ss_str kernel)
{
	bool same = instr.n == kernel.n;
	for (size_t i = 0; same && i < instr.n; i++)
		same = instr.p[i] == kernel.p[i] || ((instr.p[i] == '.' || instr.p[i] == '-') && kernel.p[i] == '_');
	return same;
}

/* A step of this name; SS_NONE: none, or several. */
static uint32_t step_named(const struct schedule *s, struct ss_str kernel)
{
	uint32_t found = SS_NONE;
	for (uint32_t i = 0; i < s->steps.n; i++) {
		if (!names_kernel(s->steps.v[i].name, kernel))
			continue;
		if (found != SS_NONE)
			return SS_NONE;
		found = i;
	}
	return found;
}

/* False: memory is out. *ordered: kernels that names tell come in the order of the schedule. */
static bool match_names(struct reader *r, struct kernel *v, size_t n, bool *ordered)
{
	struct schedule *s = &r->schedule;
	uint32_t last = 0;
	if (!ss_vec_reserve(&r->seen, s->steps.n + 1))
		return false;
	memset(r->seen.v, 0, (s->steps.n + 1) * sizeof(*r->seen.v));
	for (size_t i = 0; i < n; i++) {
		v[i].step = step_named(s, v[i].name);
		if (v[i].step != SS_NONE)
			r->seen.v[v[i].step]++;
	}
	*ordered = true;
	for (size_t i = 0; i < n; i++) {
		/* Equal instructions share a kernel: what comes twice may be either. */
		if (v[i].step != SS_NONE && r->seen.v[v[i].step] > 1)
			v[i].step = SS_NONE;
		if (v[i].step == SS_NONE)
			continue;
		*ordered = *ordered && v[i].step >= last;
		last = v[i].step;
	}
	return true;
}

/* Kernels v[from .. to) lie between the steps `first` and `end`, which are known. */
static void fill(const struct schedule *s, struct kernel *v, size_t from, size_t to, uint32_t first, uint32_t end)
{
	size_t nsteps = 0, nkernels = to - from;
	for (uint32_t i = first; i < end; i++)
		nsteps += s->steps.v[i].library;
	for (uint32_t i = first; i < end; i++)
		if (!s->steps.v[i].library)
			return; /* a kernel of XLA's own that names did not tell: it may be any */
	if (nsteps != 1 && nsteps != nkernels)
		return;
	for (size_t i = from; i < to; i++)
		v[i].step = first + (nsteps == 1 ? 0 : (uint32_t)(i - from));
}

static void match_libraries(const struct schedule *s, struct kernel *v, size_t n)
{
	size_t from = 0;
	uint32_t first = 0;
	for (size_t i = 0; i <= n; i++) {
		if (i < n && v[i].step == SS_NONE)
			continue;
		uint32_t end = i < n ? v[i].step : (uint32_t)s->steps.n;
		if (i > from)
			fill(s, v, from, i, first, end);
		from = i + 1;
		first = end + 1;
	}
}

static bool keep(struct reader *r, const struct kernel *k)
{
	struct ss_gpu_graphs *g = r->g;
	g->graph_ps += k->dur_ps;
	if (k->step == SS_NONE)
		return true;
	g->known_ps += k->dur_ps;
	uint32_t at = (uint32_t)g->names.n;
	return ss_vec_push(&g->names, r->schedule.steps.v[k->step].name) &&
	       ss_u64map_add(&g->by_event, key_of(k->line, k->event), at) != SS_NONE;
}

static bool match_replay(struct reader *r, struct kernel *v, size_t n, struct ss_err *err)
{
	bool ordered = false;
	if (!read_schedule(r, v, err))
		return false;
	if (!r->schedule.steps.n)
		return true; /* the event's own instruction runs it */
	if (!match_names(r, v, n, &ordered))
		return ss_fail_mem(err);
	if (ordered)
		match_libraries(&r->schedule, v, n);
	for (size_t i = 0; i < n; i++)
		if (!keep(r, &v[i]))
			return ss_fail_mem(err);
	return true;
}

static bool same_replay(const struct kernel *a, const struct kernel *b)
{
	return a->program_id == b->program_id && a->launch == b->launch && ss_str_eq(a->caller, b->caller);
}

bool ss_gpu_graphs_read(struct ss_gpu_graphs *g, const struct ss_plane *p, struct ss_hlo_map *hlo, struct ss_err *err)
{
	struct reader r = { .g = g, .p = p, .hlo = hlo };
	bool ok = find_kernels(&r) || ss_fail_mem(err);
	for (size_t i = 0, n; ok && i < r.kernels.n; i += n) {
		for (n = 1; i + n < r.kernels.n && same_replay(&r.kernels.v[i], &r.kernels.v[i + n]); n++)
			;
		ok = match_replay(&r, r.kernels.v + i, n, err);
	}
	ss_vec_free(&r.kernels);
	ss_vec_free(&r.schedule.steps);
	ss_vec_free(&r.seen);
	return ok;
}

void ss_gpu_graphs_free(struct ss_gpu_graphs *g)
{
	ss_u64map_free(&g->by_event);
	ss_vec_free(&g->names);
}

struct ss_str ss_gpu_graph_instr(const struct ss_gpu_graphs *g, uint32_t line, uint32_t event)
{
	uint32_t at = g->names.n ? ss_u64map_get(&g->by_event, key_of(line, event)) : SS_NONE;
	return at == SS_NONE ? SS_STR("") : g->names.v[at];
}
