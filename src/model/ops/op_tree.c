/*
 * op_tree.c - building the tree: insert every operation along its path, then sort and cut children,
 * then put copies together.
 */
#include "model/ops/op_tree.h"

#include "base/vec.h"
#include "model/host/opname.h"
#include "model/ops/framework_ops.h"
#include "model/ops/op_fused.h"
#include "model/ops/roofline.h"
#include "model/program/hlo_map.h"

#include <inttypes.h>
#include <stdlib.h>

/* Children that are kept below the levels that are kept whole. */
#define MAX_CHILDREN 100
/* Scopes in one provenance; names deeper than that are damage, and readers of the tree recurse. */
#define MAX_SCOPES 200

struct builder {
	struct ss_op_tree *t;
	const struct ss_op_programs *of;
	enum ss_op_grouping grouping;
	struct ss_arena *arena;
	struct ss_err *err;
	struct ss_u64map programs;	/* their nodes by id: those that nobody named are several, too */
};

/* The child of this name, added when new; SS_NONE when memory is out. */
static uint32_t child(struct builder *b, uint32_t parent, struct ss_str name)
{
	struct ss_op_tree *t = b->t;
	uint64_t key = ss_mix(ss_str_hash(name), parent + 1);
	uint32_t at;
	/* Keys that clash step on by one. */
	for (; (at = ss_u64map_get(&t->by_name, key)) != SS_NONE; key++)
		if (t->v[at].parent == parent && ss_str_eq(t->v[at].name, name))
			return at;
	at = ss_op_tree_add(t, parent, name);
	return at != SS_NONE && ss_u64map_add(&t->by_name, key, at) != SS_NONE ? at : SS_NONE;
}

static void add_known(struct ss_op_node *n, const struct ss_op *op)
{
	if (!ss_op_is_idle(op))
		*(ss_op_work_is_known(op) ? &n->known_ps : &n->unknown_ps) += op->self_ps;
}

/*
 * Nodes above the categories count self time, and costs only of operations without others inside.
 */
static void add_above(struct ss_op_node *n, const struct ss_op *op)
{
	n->time_ps += op->self_ps;
	n->normalized_ps += op->normalized_ps;
	add_known(n, op);
	if (op->time_ps == op->self_ps)
		ss_cost_add(&n->cost, &op->cost, 1);
}

static void add_whole(struct ss_op_node *n, const struct ss_op *op)
{
	n->occurrences += op->occurrences;
	n->time_ps += op->time_ps;
	n->normalized_ps += op->normalized_ps;
	add_known(n, op);
	ss_cost_add(&n->cost, &op->cost, 1);
}

/* "jit_step(17)" of the program with this id. */
static struct ss_str program_name(struct builder *b, uint64_t id)
{
	for (size_t i = 0; i < b->of->n; i++) {
		struct ss_hlo_map *map = ss_host_hlo(b->of->hosts[i], b->err);
		if (!map)
			return (struct ss_str){ NULL, 0 };
		uint32_t n;
		const struct ss_hlo_entry *e = ss_hlo_map_entries(map, &n);
		for (uint32_t k = 0; k < n; k++)
			if ((uint64_t)e[k].program_id == id)
				return ss_arena_printf(b->arena, SS_FMT "(%" PRIu64 ")",
						       SS_ARG(e[k].module.name), id);
	}
	return SS_STR("main");
}

static uint32_t program_node(struct builder *b, uint64_t id)
{
	uint32_t at = ss_u64map_get(&b->programs, id);
	if (at != SS_NONE)
		return at;
	struct ss_str name = program_name(b, id);
	at = name.p ? ss_op_tree_add(b->t, 0, name) : SS_NONE;
	return at == SS_NONE ? SS_NONE : ss_u64map_add(&b->programs, id, at);
}

/*
 * The scopes of a provenance: its components that are not empty. The last of them is cut at its
 * colon, and is a scope even when nothing is left, as XProf has it.
 */
static uint32_t scopes(struct builder *b, uint32_t at, const struct ss_op *op)
{
	struct ss_str rest = op->provenance, part;
	unsigned depth = 0;
	while (rest.n && rest.p[rest.n - 1] == '/')
		rest.n--;
	if (!rest.n)
		return at;
	if (op->one_scope) {
		at = child(b, at, op->provenance);
		if (at != SS_NONE)
			add_above(&b->t->v[at], op);
		return at;
	}
	while (at != SS_NONE && ss_path_next(&rest, &part)) {
		bool last = !rest.p;
		if (last)
			part = ss_str_sub(part, 0, ss_str_chr(part, ':'));
		else if (!part.n)
			continue;
		if (++depth > MAX_SCOPES)
			break;
		at = child(b, at, part);
		if (at != SS_NONE)
			add_above(&b->t->v[at], op);
	}
	return at;
}

/* Add what a SparseCore ran for the operation, including its idle time, as children of it. */
static bool insert_offloaded(struct builder *b, uint32_t parent, const struct ss_op *op)
{
	const struct ss_op **ops = op->offloaded ? ss_ops_by_self_time(op->offloaded, b->arena) : NULL;
	if (!op->offloaded)
		return true;
	for (size_t i = 0; ops && i < op->offloaded->n; i++) {
		uint32_t at = ss_op_tree_add(b->t, parent, ops[i]->name);
		if (at == SS_NONE)
			return false;
		add_whole(&b->t->v[at], ops[i]);
		b->t->v[at].op = ops[i];
	}
	return ops;
}

/* Category, copies, operation: the last three levels above fused instructions. */
static bool insert_op(struct builder *b, uint32_t at, const struct ss_op *op)
{
	const struct ss_str names[] = { op->category, op->dedup_name.n ? op->dedup_name : op->name };
	for (size_t i = 0; i < SS_COUNT(names); i++) {
		at = child(b, at, names[i]);
		if (at == SS_NONE)
			return false;
		add_whole(&b->t->v[at], op);
	}
	/* Operations of the same name in several programs are several. */
	at = ss_op_tree_add(b->t, at, op->name);
	if (at == SS_NONE)
		return false;
	add_whole(&b->t->v[at], op);
	b->t->v[at].op = op;
	return insert_offloaded(b, at, op) && ss_op_fused_add(b->t, at, b->of, op, b->arena, b->err);
}

static bool insert(struct builder *b, const struct ss_op *op)
{
	uint32_t at = 0;
	add_above(&b->t->v[0], op);
	if (b->grouping != SS_BY_CATEGORY && !ss_op_is_idle(op)) {
		at = program_node(b, op->program_id);
		if (at == SS_NONE)
			return false;
		add_above(&b->t->v[at], op);
	}
	/* Nested events are in the tree itself. */
	if (op->time_ps > op->self_ps && !op->offloaded)
		return true;
	if (ss_op_is_idle(op)) {
		at = child(b, 0, op->name);
		if (at == SS_NONE)
			return false;
		b->t->v[at].op = op;
		add_whole(&b->t->v[at], op);
		return true;
	}
	if (b->grouping == SS_BY_PROVENANCE)
		at = scopes(b, at, op);
	return at != SS_NONE && insert_op(b, at, op);
}

struct ranked {
	uint32_t node, order;
	double size;
};

static int larger_first(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;
	return SS_CMP(y->size, x->size) ?: SS_CMP(x->order, y->order);
}

/*
 * Sort a node's children by time, those of a fusion by FLOPs, and cut them where `keep_all` is
 * false.
 */
static void sort_children(struct ss_op_tree *t, struct ss_op_node *n, struct ranked *scratch, bool keep_all)
{
	uint32_t count = 0;
	for (uint32_t c = n->first_child; c != SS_NONE; c = t->v[c].next) {
		double size = n->op ? t->v[c].cost.model_flops : (double)t->v[c].time_ps;
		scratch[count] = (struct ranked){ c, count, size };
		count++;
	}
	if (count == 0)
		return;
	qsort(scratch, count, sizeof(*scratch), larger_first);
	if (!keep_all && count > MAX_CHILDREN)
		count = MAX_CHILDREN;
	n->first_child = scratch[0].node;
	for (uint32_t i = 0; i < count; i++)
		t->v[scratch[i].node].next = i + 1 < count ? scratch[i + 1].node : SS_NONE;
	n->last_child = scratch[count - 1].node;
}

static uint32_t depth_of(const struct ss_op_tree *t, uint32_t i)
{
	uint32_t depth = 0;
	for (; i != 0; i = t->v[i].parent)
		depth++;
	return depth;
}

static bool sort_all(struct builder *b)
{
	/* Levels from the root whose children are all kept. */
	static const uint32_t whole[] = { [SS_BY_PROGRAM] = 2, [SS_BY_CATEGORY] = 1, [SS_BY_PROVENANCE] = 100 };
	struct ranked *scratch = malloc((b->t->n + 1) * sizeof(*scratch));
	if (!scratch)
		return false;
	for (uint32_t i = 0; i < b->t->n; i++)
		sort_children(b->t, &b->t->v[i], scratch, depth_of(b->t, i) < whole[b->grouping]);
	free(scratch);
	return true;
}

/*
 * A node all of whose children are operations stands for copies: of one it is that operation
 * itself, of several it takes the name of the first. Parents come before their children in v, so a
 * category, whose children are no operations yet, is never one.
 */
static bool merge_copies(struct builder *b)
{
	struct ss_op_tree *t = b->t;
	for (uint32_t i = 0; i < t->n; i++) {
		struct ss_op_node *n = &t->v[i];
		bool ops = !n->op && n->first_child != SS_NONE;
		for (uint32_t c = n->first_child; ops && c != SS_NONE; c = t->v[c].next)
			ops = t->v[c].op && !t->v[c].is_copies;
		if (!ops)
			continue;
		struct ss_op_node *first = &t->v[n->first_child];
		n->op = first->op;
		if (first->next == SS_NONE) {
			struct ss_op_node only = *first;
			only.parent = n->parent;
			only.next = n->next;
			/* The child's place stays empty. */
			first->first_child = first->last_child = SS_NONE;
			*n = only;
			continue;
		}
		n->is_copies = true;
		n->name = ss_arena_printf(b->arena, SS_FMT " and its duplicate(s)", SS_ARG(first->name));
		if (!n->name.p)
			return false;
	}
	return true;
}

static struct ss_str root_name(enum ss_op_grouping grouping)
{
	static const struct ss_str names[] = { [SS_BY_PROGRAM] = SS_STR_INIT("by_program"),
					       [SS_BY_CATEGORY] = SS_STR_INIT("by_category"),
					       [SS_BY_PROVENANCE] = SS_STR_INIT("by_provenance") };
	return names[grouping];
}

static bool build(struct builder *b, const struct ss_op_db *db, bool idle)
{
	if (ss_op_tree_add(b->t, SS_NONE, root_name(b->grouping)) == SS_NONE)
		return false;
	for (size_t i = 0; i < db->n; i++) {
		const struct ss_op *op = &db->v[i];
		if (ss_str_starts(op->name, SS_STR("region")) || (!idle && ss_op_is_idle(op)))
			continue;
		if (!insert(b, op))
			return false;
	}
	b->t->v[0].time_ps = idle ? db->total_ps : db->op_ps;
	return sort_all(b) && merge_copies(b);
}

bool ss_op_tree_build(struct ss_op_tree *t, struct ss_model *m, enum ss_op_grouping grouping, bool idle, bool as_xprof,
		      struct ss_arena *arena, struct ss_err *err)
{
	const struct ss_ops *ops = ss_model_ops(m, err);
	struct ss_op_programs of;
	struct builder b = { t, &of, grouping, arena, err, { 0 } };
	*t = (struct ss_op_tree){ 0 };
	if (!ops)
		return false;
	const struct ss_op_db *db = ss_ops_computed(ops, as_xprof);
	bool ok = ss_op_programs_open(&of, m, db, err) && build(&b, db, idle);
	ss_op_programs_close(&of);
	ss_u64map_free(&b.programs);
	ss_u64map_free(&t->by_name);
	if (!ok)
		ss_op_tree_free(t);
	return ok || ss_fail_mem(err);
}

void ss_op_tree_free(struct ss_op_tree *t)
{
	ss_u64map_free(&t->by_name);
	ss_vec_free(t);
}
