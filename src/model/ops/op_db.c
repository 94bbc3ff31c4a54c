/* op_db.c - tables of operations keyed by program and name, and how two of them become one. */
#include "model/ops/ops.h"

#include "base/intern.h"
#include "base/vec.h"

#include <stdlib.h>

static uint64_t key_of(uint64_t program_id, struct ss_str name)
{
	return ss_mix(ss_str_hash(name), program_id);
}

/* Index of the key, or SS_NONE and in *slot the map key where it belongs. */
static uint32_t look_up(const struct ss_op_db *db, uint64_t program_id, struct ss_str name,
			uint64_t *slot)
{
	uint64_t key = key_of(program_id, name);
	for (;; key++) {
		uint32_t i = ss_u64map_get(&db->by_key, key);
		*slot = key;
		if (i == SS_NONE ||
		    (db->v[i].program_id == program_id && ss_str_eq(db->v[i].name, name)))
			return i;
	}
}

struct ss_op *ss_op_db_get(struct ss_op_db *db, uint64_t program_id, struct ss_str name)
{
	uint64_t slot;
	uint32_t i = look_up(db, program_id, name, &slot);
	if (i != SS_NONE)
		return &db->v[i];
	if (!ss_vec_reserve(db, db->n + 1) ||
	    ss_u64map_add(&db->by_key, slot, (uint32_t)db->n) == SS_NONE)
		return NULL;
	db->v[db->n] = (struct ss_op){
		.program_id = program_id,
		.name = name,
		.source_line = -1,
	};
	return &db->v[db->n++];
}

const struct ss_op *ss_op_db_find(const struct ss_op_db *db, uint64_t program_id,
				  struct ss_str name)
{
	uint64_t slot;
	uint32_t i = look_up(db, program_id, name, &slot);
	return i == SS_NONE ? NULL : &db->v[i];
}

static void fill(struct ss_str *to, struct ss_str from)
{
	if (!to->n)
		*to = from;
}

/* Texts of `from` where `to` has none. */
static void op_describe(struct ss_op *to, const struct ss_op *from)
{
	fill(&to->long_name, from->long_name);
	fill(&to->category, from->category);
	fill(&to->provenance, from->provenance);
	fill(&to->dedup_name, from->dedup_name);
	if (!to->source_file.n) {
		to->source_file = from->source_file;
		to->source_stack = from->source_stack;
		to->source_line = from->source_line;
	}
	if (!to->core_type)
		to->core_type = from->core_type;
	if (!to->offloaded)
		to->offloaded = from->offloaded;
	to->is_eager |= from->is_eager;
	to->one_scope |= from->one_scope;
}

void ss_op_add(struct ss_op *to, const struct ss_op *from)
{
	op_describe(to, from);
	if (from->occurrences && (!to->occurrences || from->min_ps < to->min_ps))
		to->min_ps = from->min_ps;
	to->occurrences += from->occurrences;
	to->time_ps += from->time_ps;
	to->self_ps += from->self_ps;
	to->normalized_ps += from->normalized_ps;
	to->dma_stall_ps += from->dma_stall_ps;
	ss_cost_add(&to->cost, &from->cost, 1);
	to->vdd_energy_j += from->vdd_energy_j;
	to->estimated_flops += from->estimated_flops;
	to->estimated_bytes += from->estimated_bytes;
}

static void intern_op(struct ss_op *to, const struct ss_op *from, struct ss_intern *intern);

/* What SparseCores ran for an operation, whatever becomes of the host. It is only walked: it needs no map. */
static const struct ss_op_db *intern_offloaded(const struct ss_op_db *from, struct ss_intern *intern)
{
	struct ss_op_db *kept = ss_intern_copy(intern, from, 1, sizeof(*kept));
	struct ss_op *v = ss_intern_copy(intern, from->v, from->n, sizeof(*v));
	if (!kept || !v)
		return NULL;
	kept->v = v;
	kept->cap = kept->n;
	kept->by_key = (struct ss_u64map){ 0 };
	for (size_t i = 0; i < from->n; i++) {
		v[i].name = ss_intern_str(intern, v[i].name);
		intern_op(&v[i], &from->v[i], intern);
	}
	return kept;
}

/* The SparseCore work of this op. */
static void intern_op(struct ss_op *to, const struct ss_op *from, struct ss_intern *intern)
{
	struct ss_str *const texts[] = { &to->long_name, &to->category, &to->provenance,
					 &to->dedup_name, &to->source_file, &to->source_stack };
	const struct ss_str *const theirs[] = { &from->long_name, &from->category, &from->provenance,
						&from->dedup_name, &from->source_file, &from->source_stack };
	for (size_t i = 0; i < SS_COUNT(texts); i++)
		if (texts[i]->n && texts[i]->p == theirs[i]->p)
			*texts[i] = ss_intern_str(intern, *texts[i]);
	if (to->offloaded && to->offloaded == from->offloaded)
		to->offloaded = intern_offloaded(from->offloaded, intern);
}

bool ss_op_db_merge(struct ss_op_db *db, const struct ss_op_db *from, struct ss_intern *intern)
{
	bool copies = intern && intern->copies;
	for (size_t i = 0; i < from->n; i++) {
		size_t had = db->n;
		struct ss_op *to = ss_op_db_get(db, from->v[i].program_id, from->v[i].name);
		if (!to)
			return false;
		if (copies && db->n > had)
			to->name = ss_intern_str(intern, to->name);
		ss_op_add(to, &from->v[i]);
		if (copies)
			intern_op(to, &from->v[i], intern);
	}
	if (copies && intern->no_memory)
		return false;
	db->total_ps += from->total_ps;
	db->op_ps += from->op_ps;
	db->normalized_op_ps += from->normalized_op_ps;
	db->infeed_enq_ps += from->infeed_enq_ps;
	db->infeed_enq_period_ps += from->infeed_enq_period_ps;
	return true;
}

bool ss_op_db_finish(struct ss_op_db *db, uint64_t total_ps)
{
	struct ss_op *idle = ss_op_db_get(db, 0, SS_STR("IDLE"));
	if (!idle)
		return false;
	db->total_ps = total_ps > db->op_ps ? total_ps : db->op_ps;
	idle->category = SS_STR("IDLE");
	idle->source_line = 0;
	idle->time_ps += db->total_ps - db->op_ps;
	idle->self_ps += db->total_ps - db->op_ps;
	return true;
}

bool ss_op_db_compact(struct ss_op_db *db)
{
	size_t n = 0;
	ss_u64map_free(&db->by_key);
	for (size_t i = 0; i < db->n; i++) {
		uint64_t slot;
		if (!db->v[i].occurrences && !ss_op_is_idle(&db->v[i]))
			continue;
		struct ss_op op = db->v[i];
		struct ss_op_db kept = { .v = db->v, .n = n, .by_key = db->by_key };
		look_up(&kept, op.program_id, op.name, &slot);
		if (ss_u64map_add(&db->by_key, slot, (uint32_t)n) == SS_NONE)
			return false;
		db->v[n++] = op;
	}
	db->n = n;
	return true;
}

void ss_op_db_free(struct ss_op_db *db)
{
	free(db->v);
	ss_u64map_free(&db->by_key);
	*db = (struct ss_op_db){ 0 };
}
