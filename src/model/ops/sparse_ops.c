/*
 * sparse_ops.c - one pass over the modules of a SparseCore, one over its operations.
 *
 * An operation belongs to the module that it lies within; modules follow each other in time, so
 * both are walked together. Self times are kept per pair of ids, as its modules may be several.
 */
#include "model/ops/sparse_ops.h"

#include "base/vec.h"
#include "model/device/op_facts.h"
#include "model/host/host.h"
#include "model/ops/tpu.h"

#include <stdlib.h>

struct open_op {
	int64_t begin_ps, end_ps;
	uint64_t children_ps;
	uint32_t facts; /* index into facts, SS_NONE: no operation */
};

struct ss_sparse_db {
	uint64_t core, start;
	const struct ss_plane *plane; /* the last with modules of these ids: to XProf only that counts, where chips count alike */
	struct ss_op_db db;
	uint64_t modules_ps; /* summed time of its modules */
	SS_VEC(struct open_op) stack;
};

struct module {
	int64_t begin_ps, end_ps;
	uint32_t db;
};

struct pass {
	struct ss_sparse_ops *out;
	const struct ss_plane *p;
	SS_VEC(struct module) modules;
	uint32_t *facts_of_meta; /* 0: not read; SS_NONE: no operation; else 1 + index into facts */
	SS_VEC(struct ss_op_facts) facts;
};

/* Index of these ids, SS_NONE if they are new; *slot is where they would stand. */
static uint32_t look_up(const struct ss_sparse_ops *s, uint64_t core, uint64_t start, uint64_t *slot)
{
	for (*slot = ss_mix(core, start);; ++*slot) {
		uint32_t i = ss_u64map_get(&s->by_key, *slot);
		if (i == SS_NONE || (s->v[i].core == core && s->v[i].start == start))
			return i;
	}
}

const struct ss_op_db *ss_sparse_ops_find(const struct ss_sparse_ops *s, uint64_t core, uint64_t start)
{
	uint64_t slot;
	uint32_t i = look_up(s, core, start, &slot);
	return i == SS_NONE || !s->v[i].db.n ? NULL : &s->v[i].db;
}

/* SS_NONE when memory is out. */
static uint32_t get(struct ss_sparse_ops *s, uint64_t core, uint64_t start)
{
	uint64_t slot;
	uint32_t i = look_up(s, core, start, &slot);
	if (i != SS_NONE)
		return i;
	i = (uint32_t)s->n;
	if (!ss_vec_push(s, ((struct ss_sparse_db){ .core = core, .start = start })))
		return SS_NONE;
	return ss_u64map_add(&s->by_key, slot, i);
}

static bool add_module(struct pass *s, const struct ss_line *l, uint32_t i)
{
	struct ss_xstats it = ss_line_stats(s->p, l, i);
	struct ss_xstat x;
	uint64_t core = 0, start = 0, dur_ps;
	bool has_core = false, has_start = false;
	while (ss_xstats_next(&it, &x)) {
		if (x.stat == SS_STAT_OFFLOAD_CORE_ID) {
			core = ss_xstat_uint(&x);
			has_core = true;
		} else if (x.stat == SS_STAT_TC_OFFLOAD_START_ID) {
			start = ss_xstat_uint(&x);
			has_start = true;
		}
	}
	if (!has_core || !has_start)
		return true;
	struct module m = { .db = get(s->out, core, start) };
	if (m.db == SS_NONE)
		return false;
	struct ss_sparse_db *d = &s->out->v[m.db];
	if (d->plane != s->p) {
		ss_op_db_free(&d->db);
		d->db = (struct ss_op_db){ 0 };
		d->modules_ps = 0;
		d->plane = s->p;
	}
	ss_device_span(s->p, l, i, &m.begin_ps, &dur_ps);
	m.end_ps = (int64_t)((uint64_t)m.begin_ps + dur_ps);
	return ss_vec_push(&s->modules, m);
}

static int by_begin(const void *a, const void *b)
{
	const struct module *ma = a, *mb = b;
	return SS_CMP(ma->begin_ps, mb->begin_ps) ?: SS_CMP(mb->end_ps, ma->end_ps) ?: SS_CMP(ma->db, mb->db);
}

/* SS_NONE: no operation; 0: no memory; else 1 + index. */
static uint32_t facts_of(struct pass *s, uint32_t meta)
{
	struct ss_op_facts f;
	if (meta >= s->p->x->nevent_meta)
		return SS_NONE;
	uint32_t *known = &s->facts_of_meta[meta];
	if (!*known && (!ss_op_facts_read(&f, s->p->x, meta) || f.symbol_id == 0))
		*known = SS_NONE;
	else if (!*known && ss_vec_push(&s->facts, f))
		*known = (uint32_t)s->facts.n;
	return *known;
}

/* The innermost operation is over. */
static bool pop(struct pass *s, struct ss_sparse_db *d)
{
	struct open_op o = d->stack.v[--d->stack.n];
	uint64_t dur_ps = (uint64_t)o.end_ps - (uint64_t)o.begin_ps;
	if (d->stack.n)
		d->stack.v[d->stack.n - 1].children_ps += dur_ps;
	if (o.facts == SS_NONE)
		return true;
	struct ss_op op = ss_op_facts_op(&s->facts.v[o.facts]);
	op.core_type = SS_CORE_SPARSE;
	op.occurrences = 1;
	op.time_ps = op.min_ps = dur_ps;
	op.self_ps = dur_ps > o.children_ps ? dur_ps - o.children_ps : 0;
	ss_cost_add(&op.cost, &s->facts.v[o.facts].cost, 1);
	struct ss_op *to = ss_op_db_get(&d->db, op.program_id, op.name);
	if (!to)
		return false;
	ss_op_add(to, &op);
	d->db.op_ps += op.self_ps;
	return true;
}

static bool flush(struct pass *s, struct ss_sparse_db *d)
{
	while (d->stack.n)
		if (!pop(s, d))
			return false;
	return true;
}

static bool add_op(struct pass *s, struct ss_sparse_db *d, uint32_t meta, int64_t begin_ps, int64_t end_ps)
{
	uint32_t facts = facts_of(s, meta);
	if (!facts)
		return false;
	while (d->stack.n && !(d->stack.v[d->stack.n - 1].begin_ps <= begin_ps &&
			       end_ps <= d->stack.v[d->stack.n - 1].end_ps))
		if (!pop(s, d))
			return false;
	return ss_vec_push(&d->stack, ((struct open_op){ begin_ps, end_ps, 0, facts == SS_NONE ? SS_NONE : facts - 1 }));
}

/* Modules that end before an operation begins are over for good, as XProf's are. */
static bool add_ops(struct pass *s, const struct ss_line *l)
{
	size_t at = 0;
	for (uint32_t i = 0; i < l->ev.n; i++) {
		int64_t begin_ps;
		uint64_t dur_ps;
		ss_device_span(s->p, l, i, &begin_ps, &dur_ps);
		int64_t end_ps = (int64_t)((uint64_t)begin_ps + dur_ps);
		while (at < s->modules.n && s->modules.v[at].end_ps < begin_ps)
			at++;
		if (at == s->modules.n)
			return true;
		const struct module *m = &s->modules.v[at];
		if (m->begin_ps <= begin_ps && end_ps <= m->end_ps &&
		    !add_op(s, &s->out->v[m->db], l->ev.meta[i], begin_ps, end_ps))
			return false;
	}
	return true;
}

static bool read_plane(struct ss_sparse_ops *out, const struct ss_plane *p)
{
	struct pass s = { .out = out, .p = p };
	bool ok = true;
	s.facts_of_meta = calloc((size_t)p->x->nevent_meta + 1, sizeof(*s.facts_of_meta));
	ok = s.facts_of_meta;
	for (uint32_t k = 0; ok && k < p->nlines; k++)
		for (uint32_t i = 0; ok && ss_str_is(p->lines[k].name, "Sparse Core Modules") && i < p->lines[k].ev.n; i++)
			ok = add_module(&s, &p->lines[k], i);
	if (s.modules.n)
		qsort(s.modules.v, s.modules.n, sizeof(*s.modules.v), by_begin);
	for (size_t i = 0; i < s.modules.n; i++)
		out->v[s.modules.v[i].db].modules_ps +=
			(uint64_t)s.modules.v[i].end_ps - (uint64_t)s.modules.v[i].begin_ps;
	for (uint32_t k = 0; ok && s.modules.n && k < p->nlines; k++)
		if (ss_str_is(p->lines[k].name, "Sparse Core Ops"))
			ok = add_ops(&s, &p->lines[k]);
	for (size_t i = 0; ok && i < out->n; i++)
		ok = flush(&s, &out->v[i]);
	free(s.facts_of_meta);
	ss_vec_free(&s.facts);
	ss_vec_free(&s.modules);
	return ok;
}

bool ss_sparse_ops_read(struct ss_sparse_ops *out, const struct ss_host *h, struct ss_err *err)
{
	bool ok = true;
	for (uint32_t i = 0; ok && i < h->nplanes; i++)
		if (h->planes[i].kind == SS_PLANE_SPARSE_CORE)
			ok = read_plane(out, &h->planes[i]);
	for (size_t i = 0; ok && i < out->n; i++)
		if (out->v[i].db.n)
			ok = ss_op_db_finish(&out->v[i].db, out->v[i].modules_ps);
	return ok || ss_fail_mem(err);
}

void ss_sparse_ops_free(struct ss_sparse_ops *s)
{
	for (size_t i = 0; i < s->n; i++) {
		ss_op_db_free(&s->v[i].db);
		ss_vec_free(&s->v[i].stack);
	}
	ss_u64map_free(&s->by_key);
	ss_vec_free(s);
}
