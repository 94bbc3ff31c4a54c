/*
 * derive_gpu.c - derived lines of a GPU: per stream the programs, ops, scopes and source lines that
 * its kernels come from.
 *
 * A kernel names its HLO module and op; where in the user's program the op comes from is looked up
 * in the module that the profile carries. Kernels without HLO may name a framework op themselves.
 */
#include "model/host/time_walk.h"
#include "model/host/host.h"

#include "model/host/stat_projection.h"
#include "model/timeline/derived.h"
#include "model/program/hlo_map.h"

#include <stdlib.h>

/* Lines of a stream are numbered in sevens, ids in sixes behind all others. */
#define DISPLAY_IDS 7
#define FIRST_ID 290u
#define IDS 6u

enum { KERNEL_DETAILS, GRAPH_EXEC, HLO_OP, HLO_MODULE, PROGRAM_ID, TF_OP, SCOPE_RANGE, NPROJECTED };
static const enum ss_stat projected_stats[NPROJECTED] = {
	SS_STAT_KERNEL_DETAILS, SS_STAT_CUDA_GRAPH_EXEC_ID, SS_STAT_HLO_OP,
	SS_STAT_HLO_MODULE,	SS_STAT_PROGRAM_ID,	    SS_STAT_TF_OP,
	SS_STAT_SCOPE_RANGE_ID,
};

/* What one kernel says of itself. */
struct kernel {
	bool is_kernel, has_program;
	struct ss_str hlo_op, hlo_module, tf_op;
	uint64_t program_id;
	int64_t scope;
};

/* What follows from that, found out once for all kernels that say the same. */
struct annotation {
	uint32_t first_op, nops; /* metas of the HLO ops, in pool */
	uint32_t module, source; /* metas or SS_NONE */
	uint32_t op;		 /* framework op, index of the deriver, or SS_NONE */
};

/* Kernels mostly refer to shared strings: the same pointers, the same annotation. */
struct cached {
	struct ss_str hlo_op, hlo_module;
	uint64_t program_id;
	uint32_t annotation;
	bool has_program, used;
};

#define CACHE 1024u

struct gpu {
	struct ss_deriver d;
	struct ss_display_plane *out;
	struct ss_stat_projection projection;
	struct ss_hlo_map *hlo;
	struct ss_strmap strings;
	struct ss_u64map programs, ops_of_module, annotation_of;
	SS_VEC(struct annotation) annotations;
	SS_VEC(uint32_t) pool;
	struct cached *cache;
	struct ss_u64map scope_parents; /* scope range id to index into scope_parent */
	SS_VEC(int64_t) scope_parent;
	/* The lines of the stream at hand. */
	struct ss_nest modules, ops, scopes, framework_ops, sources;
};

static void read_kernel(const struct gpu *g, struct ss_str body, struct kernel *k)
{
	struct ss_projection_walk walk = ss_projection_event(&g->projection, body);
	struct ss_xstat s;
	unsigned which;
	*k = (struct kernel){ .scope = SS_NO_SCOPE };
	while (ss_projection_next(&walk, &which, &s))
		switch (which) {
		case KERNEL_DETAILS:
			k->is_kernel |= ss_xstat_str(&s).n > 0;
			break;
		case GRAPH_EXEC:
			k->is_kernel = true;
			break;
		case HLO_OP:
			k->hlo_op = ss_xstat_str(&s);
			break;
		case HLO_MODULE:
			k->hlo_module = ss_xstat_str(&s);
			break;
		case PROGRAM_ID:
			k->has_program = true;
			k->program_id = (uint64_t)ss_xstat_int_or_uint(&s);
			break;
		case TF_OP:
			k->tf_op = ss_xstat_str(&s);
			break;
		case SCOPE_RANGE:
			k->scope = ss_xstat_int_or_uint(&s);
			break;
		}
}

static bool name_of_module(struct gpu *g, const struct kernel *k, uint32_t *meta)
{
	struct ss_str name = k->hlo_module;
	if (!name.n)
		return true;
	if (k->has_program)
		name = ss_arena_printf(g->d.arena, SS_FMT "(%llu)", SS_ARG(name),
				       (unsigned long long)k->program_id);
	*meta = name.p ? ss_deriver_name(&g->d, name, SS_STR("")) : SS_NONE;
	return *meta != SS_NONE;
}

/* "a::b::c": ops inside ops. */
static bool names_of_ops(struct gpu *g, const struct kernel *k, struct annotation *a,
			 struct ss_str *last)
{
	struct ss_str rest = k->hlo_op;
	a->first_op = (uint32_t)g->pool.n;
	for (bool more = true; more && a->nops < SS_NEST_LEVELS; a->nops++) {
		size_t at = ss_str_find(rest, SS_STR("::"));
		*last = ss_str_sub(rest, 0, at);
		more = at != SS_NPOS;
		rest = more ? ss_str_sub(rest, at + 2, rest.n) : rest;
		struct ss_str name =
			k->has_program
				? ss_arena_printf(g->d.arena, "%llu/" SS_FMT,
						  (unsigned long long)k->program_id, SS_ARG(*last))
				: ss_arena_printf(g->d.arena, SS_FMT "/" SS_FMT,
						  SS_ARG(k->hlo_module), SS_ARG(*last));
		uint32_t meta = name.p ? ss_deriver_name(&g->d, name, *last) : SS_NONE;
		if (meta == SS_NONE || !ss_vec_push(&g->pool, meta))
			return false;
	}
	return true;
}

/* Where the instruction comes from, if the profile carries its module. */
static bool look_up(struct gpu *g, const struct kernel *k, struct ss_str op, struct annotation *a,
		    struct ss_err *err)
{
	const struct ss_hlo_module *m = NULL;
	struct ss_hlo_instr instr;
	if (!k->has_program)
		return true;
	if (!ss_hlo_map_get(g->hlo, (int64_t)k->program_id, &m, err))
		return false;
	uint32_t i = m ? ss_hlo_instr_by_name(m, op) : SS_NONE;
	if (i == SS_NONE)
		return true;
	ss_hlo_instr_read(m->instrs[i], &instr);
	struct ss_str full = ss_arena_printf(g->d.arena, SS_FMT ":" SS_FMT,
					     SS_ARG(instr.op_name), SS_ARG(instr.op_type));
	a->op = full.p ? ss_deriver_op(&g->d, full) : SS_NONE;
	if (a->op == SS_NONE)
		return ss_fail_mem(err);
	if (!instr.source_file.n)
		return true;
	size_t slash = ss_str_rchr(instr.source_file, '/');
	struct ss_str file =
		slash == SS_NPOS ? instr.source_file
				 : ss_str_sub(instr.source_file, slash + 1, instr.source_file.n);
	struct ss_str source = ss_arena_printf(g->d.arena, SS_FMT ":%lld", SS_ARG(file),
					       (long long)instr.source_line);
	a->source = source.p ? ss_deriver_name(&g->d, source, SS_STR("")) : SS_NONE;
	return a->source != SS_NONE || ss_fail_mem(err);
}

static bool annotate(struct gpu *g, const struct kernel *k, struct annotation *a,
		     struct ss_err *err)
{
	struct ss_str last;
	*a = (struct annotation){ .module = SS_NONE, .source = SS_NONE, .op = SS_NONE };
	if (!name_of_module(g, k, &a->module))
		return ss_fail_mem(err);
	if (!k->hlo_op.n)
		return true;
	if (!names_of_ops(g, k, a, &last))
		return ss_fail_mem(err);
	return look_up(g, k, last, a, err);
}

/* One number for (op, module, program), by way of one for each. */
static uint32_t annotation_key(struct gpu *g, const struct kernel *k, bool *ok)
{
	uint32_t op = ss_strmap_add(&g->strings, k->hlo_op),
		 module = ss_strmap_add(&g->strings, k->hlo_module);
	uint32_t none = (uint32_t)g->programs.n;
	uint32_t program =
		k->has_program ? ss_u64map_add(&g->programs, k->program_id, none) + 1 : 0;
	uint32_t pair = ss_u64map_add(&g->ops_of_module, (uint64_t)op << 32 | module,
				      (uint32_t)g->ops_of_module.n);
	*ok = op != SS_NONE && module != SS_NONE && (!k->has_program || program != 0) &&
	      pair != SS_NONE;
	if (!*ok)
		return SS_NONE;
	uint32_t at = (uint32_t)g->annotations.n;
	uint32_t got = ss_u64map_add(&g->annotation_of, (uint64_t)pair << 32 | program, at);
	*ok = got != SS_NONE;
	return got;
}

static bool find_annotation(struct gpu *g, const struct kernel *k, uint32_t *out,
			    struct ss_err *err)
{
	uint64_t hash =
		ss_mix((uintptr_t)k->hlo_op.p, ss_mix((uintptr_t)k->hlo_module.p, k->program_id));
	struct cached *c = &g->cache[hash & (CACHE - 1)];
	bool ok;
	if (c->used && c->hlo_op.p == k->hlo_op.p && c->hlo_op.n == k->hlo_op.n &&
	    c->hlo_module.p == k->hlo_module.p && c->hlo_module.n == k->hlo_module.n &&
	    c->program_id == k->program_id && c->has_program == k->has_program) {
		*out = c->annotation;
		return true;
	}
	*out = annotation_key(g, k, &ok);
	if (!ok)
		return ss_fail_mem(err);
	if (*out == g->annotations.n) {
		struct annotation a;
		if (!annotate(g, k, &a, err))
			return false;
		if (!ss_vec_push(&g->annotations, a))
			return ss_fail_mem(err);
	}
	*c = (struct cached){ k->hlo_op, k->hlo_module, k->program_id, *out, k->has_program, true };
	return true;
}

/*
 * The scope ranges around a kernel, its own first, the root last; at most SS_NEST_LEVELS, for what
 * the file says may run in circles. None: 0.
 */
static uint32_t scope_path(const struct gpu *g, int64_t scope, int64_t *path)
{
	uint32_t n = 0;
	while (scope != SS_NO_SCOPE && n < SS_NEST_LEVELS) {
		path[n++] = scope;
		uint32_t at = ss_u64map_get(&g->scope_parents, (uint64_t)scope);
		scope = at == SS_NONE ? SS_NO_SCOPE : g->scope_parent.v[at];
	}
	return n;
}

static void reverse(int64_t *v, uint32_t n)
{
	for (uint32_t i = 0; i < n / 2; i++) {
		int64_t t = v[i];
		v[i] = v[n - 1 - i];
		v[n - 1 - i] = t;
	}
}

static bool add_hlo(struct gpu *g, const struct kernel *k, struct ss_nest_item *item,
		    struct ss_err *err)
{
	int64_t path[SS_NEST_LEVELS];
	uint32_t i, depth = scope_path(g, k->scope, path);
	if (!find_annotation(g, k, &i, err))
		return false;
	const struct annotation *a = &g->annotations.v[i];
	reverse(path, depth);
	/* The program goes by the root; the ops one by one, if there are as many of them as of ranges. */
	item->scopes = depth ? path : NULL;
	item->metas = &a->module;
	item->nmetas = 1;
	bool ok = a->module == SS_NONE || ss_nest_add(&g->modules, item);
	item->metas = a->nops ? &g->pool.v[a->first_op] : NULL;
	item->nmetas = a->nops;
	if (depth != a->nops)
		item->scopes = NULL;
	ok = ok && (!a->nops || ss_nest_add(&g->ops, item));
	item->scopes = NULL;
	ok = ok && (a->op == SS_NONE ||
		    ss_deriver_add_op(&g->d, a->op, item, &g->scopes, &g->framework_ops));
	item->metas = &a->source;
	item->nmetas = 1;
	return (ok && (a->source == SS_NONE || ss_nest_add(&g->sources, item))) || ss_fail_mem(err);
}

static bool add_kernel(struct gpu *g, const struct ss_line *l, uint32_t i, struct ss_err *err)
{
	struct kernel k;
	read_kernel(g, ss_xevents_body(&l->ev, l->src, i), &k);
	if (!k.is_kernel)
		return true;
	struct ss_nest_item item = { .begin_ps = l->ev.begin_ps[i],
				     .end_ps = ss_xevents_end_ps(&l->ev, i),
				     .group = ss_event_group(g->d.p, l, i) };
	/* A kernel may name its program alone. */
	if ((k.hlo_op.n || k.hlo_module.n) && !add_hlo(g, &k, &item, err))
		return false;
	if (k.hlo_op.n || !k.tf_op.n)
		return true;
	uint32_t op = ss_deriver_op(&g->d, k.tf_op);
	return (op != SS_NONE &&
		ss_deriver_add_op(&g->d, op, &item, &g->scopes, &g->framework_ops)) ||
	       ss_fail_mem(err);
}

static bool add_lines(struct gpu *g, uint32_t k, int64_t stream)
{
	static const char *const names[5] = { "Framework Name Scope", "Framework Ops",
					      "XLA Modules", "XLA Ops", "Source code" };
	static const unsigned ids[5] = { 0, 1, 2, 3, 5 };
	struct ss_nest *nests[5] = { &g->scopes, &g->framework_ops, &g->modules, &g->ops,
				     &g->sources };
	struct ss_derived lines[5];
	bool ok = true;
	for (unsigned i = 0; i < 5; i++) {
		struct ss_str name = ss_arena_printf(g->d.arena, "%s - from #%lld", names[i],
						     (long long)stream);
		lines[i] = (struct ss_derived){ .id = FIRST_ID + IDS * k + ids[i],
						.name = name,
						.nest = *nests[i],
						.display_id = (int64_t)DISPLAY_IDS * k + 2 + i };
		*nests[i] = (struct ss_nest){ 0 };
		ok &= name.p != NULL;
	}
	ok = ok && ss_display_add_lines(g->out, g->d.arena, lines, 5);
	for (unsigned i = 0; i < 5; i++)
		ss_nest_free(&lines[i].nest);
	return ok;
}

static bool derive_stream(struct gpu *g, uint32_t line, uint32_t k, struct ss_err *err)
{
	const struct ss_line *l = &g->d.p->lines[line];
	bool ok;
	uint32_t *order = ss_time_order(&l->ev, &ok);
	g->out->lines[line].display_id = (int64_t)DISPLAY_IDS * k + 1;
	ss_nest_init(&g->modules, true, l->ev.n);
	ss_nest_init(&g->ops, true, l->ev.n);
	ss_nest_init(&g->scopes, true, l->ev.n);
	ss_nest_init(&g->framework_ops, true, l->ev.n);
	ss_nest_init(&g->sources, true, l->ev.n);
	g->modules.ruled[0] = &g->scopes;
	g->modules.ruled[1] = &g->ops;
	g->scopes.ruled[0] = &g->framework_ops;
	if (!ok)
		return ss_fail_mem(err);
	for (uint32_t i = 0; ok && g->projection.any && i < l->ev.n; i++)
		ok = add_kernel(g, l, order ? order[i] : i, err);
	free(order);
	return ok && (add_lines(g, k, l->id) || ss_fail_mem(err));
}

struct stream {
	uint32_t line, nevents;
	bool compute;
};

static int by_weight(const void *a, const void *b)
{
	const struct stream *x = a, *y = b;
	return SS_CMP(y->compute, x->compute) ?: SS_CMP(y->nevents, x->nevents) ?: SS_CMP(x->line, y->line);
}

static bool derive_streams(struct gpu *g, struct ss_err *err)
{
	const struct ss_plane *p = g->d.p;
	uint32_t n = 0;
	struct stream *streams = SS_NEW_N(&g->d.scratch, struct stream, p->nlines);
	if (!streams)
		return ss_fail_mem(err);
	for (uint32_t i = 0; i < p->nlines; i++)
		if (!p->lines[i].derived)
			streams[n++] = (struct stream){ i, p->lines[i].ev.n,
							ss_str_contains(p->lines[i].name,
									SS_STR("Compute")) };
	if (n)
		qsort(streams, n, sizeof(*streams), by_weight);
	for (uint32_t k = 0; k < n; k++)
		if (!derive_stream(g, streams[k].line, k, err))
			return false;
	return true;
}

/* Plane /host:__ScopeRangeCallStack__: a stat's id is a child range, its value the parent. */
static bool read_scope_tree(struct gpu *g)
{
	if (!ss_xplane_has(g->d.p->x, SS_STAT_SCOPE_RANGE_ID))
		return true;
	const struct ss_xplane *x = ss_xspace_plane(&g->d.h->x, SS_STR("/host:__ScopeRangeCallStack__"));
	if (!x)
		return true;
	struct ss_pb c = ss_pb_of(x->body), stat;
	struct ss_pb_field f, v;
	while (ss_pb_next(&c, &f)) {
		if (f.key != PB_LEN(XPLANE_STATS))
			continue;
		uint64_t child = 0, parent = 0;
		for (stat = ss_pb_of(f.bytes); ss_pb_next(&stat, &v);) {
			if (v.key == PB_VAR(XSTAT_METADATA_ID))
				child = v.u;
			else if (v.key == PB_VAR(XSTAT_INT64_VALUE) ||
				 v.key == PB_VAR(XSTAT_UINT64_VALUE))
				parent = v.u;
		}
		uint32_t at = (uint32_t)g->scope_parent.n,
			 got = ss_u64map_add(&g->scope_parents, child, at);
		if (got == SS_NONE ||
		    (got == at && !ss_vec_push(&g->scope_parent, (int64_t)parent)))
			return false;
	}
	return true;
}

static void gpu_free(struct gpu *g)
{
	ss_nest_free(&g->modules);
	ss_nest_free(&g->ops);
	ss_nest_free(&g->scopes);
	ss_nest_free(&g->framework_ops);
	ss_nest_free(&g->sources);
	ss_strmap_free(&g->strings);
	ss_u64map_free(&g->programs);
	ss_u64map_free(&g->ops_of_module);
	ss_u64map_free(&g->annotation_of);
	ss_u64map_free(&g->scope_parents);
	ss_vec_free(&g->annotations);
	ss_vec_free(&g->pool);
	ss_vec_free(&g->scope_parent);
	ss_deriver_free(&g->d);
}

bool ss_derive_gpu(struct ss_host *h, struct ss_display_plane *p, struct ss_arena *arena, struct ss_err *err)
{
	struct gpu g = { .out = p };
	if (!p->nlines)
		return true;
	bool named = ss_deriver_init(&g.d, h, &p->base, arena);
	g.hlo = ss_host_hlo(h, err);
	g.cache = SS_NEW_N(&g.d.scratch, struct cached, CACHE);
	bool ok = g.hlo != NULL;
	if (ok &&
	    (!named || !g.cache || !ss_projection_init(&g.projection, p->base.x, projected_stats, NPROJECTED, &g.d.scratch) ||
	     !read_scope_tree(&g)))
		ok = ss_fail_mem(err);
	ok = ok && derive_streams(&g, err);
	gpu_free(&g);
	return ok;
}
