/* hlo_graph.c - choosing nodes, boxes and edges. */
#include "model/program/hlo_graph.h"

#include "base/vec.h"
#include "hlo/shape.h"

#include <stdlib.h>

#define MAX_USERS 16	/* of an instruction with more users none is followed */
#define MAX_STEPS 100	/* through elements of tuples and roots of fusions, to where an edge begins */

struct builder {
	struct ss_hlo_graph *g;
	const struct ss_hlo_graph_ask *ask;
	struct ss_arena *arena;
	uint8_t *state;		/* by instruction of the outermost computation: enum ss_graph_state */
	uint32_t *fusion_of;	/* by computation: the instruction that fuses it, SS_NONE */
	bool *drawn;		/* by computation */
	uint32_t *cluster_of;	/* by computation, SS_NONE */
	SS_VEC(struct ss_graph_node) nodes;
	SS_VEC(struct ss_graph_cluster) clusters;
	SS_VEC(struct ss_graph_edge) edges;
};

static struct ss_hlo_instr read(const struct ss_hlo_module *m, uint32_t i)
{
	struct ss_hlo_instr instr;
	ss_hlo_instr_read(m->instrs[i], &instr);
	return instr;
}

static bool is_op(const struct ss_hlo_module *m, uint32_t i, const char *opcode)
{
	struct ss_hlo_instr instr = read(m, i);
	return ss_str_is(instr.opcode, opcode);
}

static uint32_t index_of_id(const struct ss_hlo_module *m, const struct ss_hlo_computation *c, int64_t id)
{
	uint32_t at = ss_hlo_instr_by_id(m, id);
	return at != SS_NONE && at >= c->first && at - c->first < c->ninstrs ? at : SS_NONE;
}

static uint32_t root_of(const struct ss_hlo_module *m, uint32_t computation)
{
	return index_of_id(m, &m->computations[computation], m->computations[computation].root_id);
}

/* The first computation that an instruction calls. */
static uint32_t called(const struct ss_hlo_module *m, uint32_t i)
{
	struct ss_hlo_ids it = ss_hlo_ids_of(m->instrs[i], HLO_INSTRUCTION_CALLED_IDS);
	int64_t id;
	return ss_hlo_ids_next(&it, &id) ? ss_hlo_computation_by_id(m, id) : SS_NONE;
}

/* --- which instructions of the outermost computation are shown ---------------------------------- */

struct seen {
	uint32_t instr, depth;
};

struct search {
	struct builder *b;
	SS_VEC(struct seen) queue;
	uint32_t *depth;	/* by instruction: the least that it was visited at, SS_NONE: not yet */
	uint32_t root;
	bool no_memory;
};

/*
 * On the way up a bitcast costs no distance, so the queue is not quite in the order of distance:
 * until an instruction is visited it may be reached again, and it is visited again if it was
 * nearer.
 */
static void enqueue(struct search *s, uint32_t from, uint32_t to, uint32_t depth, bool free_bitcasts)
{
	const struct ss_hlo_module *m = s->b->g->m;
	if (s->depth[to] != SS_NONE)
		return;
	bool is_free = free_bitcasts && (is_op(m, to, "bitcast") || is_op(m, from, "bitcast"));
	s->no_memory |= !ss_vec_push(&s->queue, (struct seen){ to, is_free ? depth : depth + 1 });
}

static void visit(struct search *s, struct seen at)
{
	const struct ss_hlo_graph *g = s->b->g;
	const struct ss_hlo_links *l = &g->links;
	uint32_t i = at.instr;
	if (s->depth[i] <= at.depth)
		return;
	s->depth[i] = at.depth;
	s->b->state[i] = SS_GRAPH_NORMAL;
	if (at.depth == s->b->ask->radius)
		return;
	if (i == s->root || !is_op(g->m, i, "tuple"))
		for (uint32_t k = l->operand_first[i]; k < l->operand_first[i + 1]; k++)
			enqueue(s, i, l->operands[k], at.depth, true);
	struct ss_hlo_ids it = ss_hlo_ids_of(g->m->instrs[i], HLO_INSTRUCTION_CALLED_IDS);
	int64_t id;
	while (ss_hlo_ids_next(&it, &id)) {
		uint32_t c = ss_hlo_computation_by_id(g->m, id), root = c == SS_NONE ? SS_NONE : root_of(g->m, c);
		if (root != SS_NONE)
			enqueue(s, i, root, at.depth, false);
	}
	if (is_op(g->m, i, "constant"))
		return;
	if (l->user_first[i + 1] - l->user_first[i] > MAX_USERS) {
		s->b->state[i] = SS_GRAPH_SOME_USERS_OMITTED;
		return;
	}
	for (uint32_t k = l->user_first[i]; k < l->user_first[i + 1]; k++)
		enqueue(s, i, l->users[k], at.depth, false);
}

static bool is_displayed(const struct builder *b, uint32_t i)
{
	return b->state[i] != SS_GRAPH_HIDDEN || is_op(b->g->m, i, "constant");
}

/* Some or all operands of a shown instruction may be too far away, and users too many. */
static void mark_omissions(struct builder *b, uint32_t i)
{
	const struct ss_hlo_links *l = &b->g->links;
	uint32_t n = l->operand_first[i + 1] - l->operand_first[i], shown = 0, users = 0;
	for (uint32_t k = 0; k < n; k++)
		shown += is_displayed(b, l->operands[l->operand_first[i] + k]);
	for (uint32_t k = l->user_first[i]; k < l->user_first[i + 1]; k++)
		users += is_displayed(b, l->users[k]);
	if (shown && shown < n)
		b->state[i] = SS_GRAPH_SOME_OPERANDS_OMITTED;
	else if (n && !shown)
		b->state[i] = SS_GRAPH_OPERANDS_OMITTED;
	else if (b->state[i] == SS_GRAPH_SOME_USERS_OMITTED && users == l->user_first[i + 1] - l->user_first[i])
		b->state[i] = SS_GRAPH_NORMAL;
}

static bool choose(struct builder *b)
{
	const struct ss_hlo_graph *g = b->g;
	const struct ss_hlo_computation *c = &g->m->computations[g->computation];
	if (b->ask->instr == SS_NONE) {
		for (uint32_t i = 0; i < c->ninstrs; i++)
			b->state[c->first + i] = SS_GRAPH_NORMAL;
		return true;
	}
	struct search s = { .b = b, .root = b->ask->instr };
	s.depth = SS_NEW_N(b->arena, uint32_t, g->m->ninstrs);
	if (!s.depth || !ss_vec_push(&s.queue, (struct seen){ s.root, 0 }))
		return false;
	for (uint32_t i = 0; i < g->m->ninstrs; i++)
		s.depth[i] = SS_NONE;
	for (size_t k = 0; k < s.queue.n && !s.no_memory; k++)
		visit(&s, s.queue.v[k]);
	for (uint32_t i = 0; i < c->ninstrs; i++)
		if (b->state[c->first + i] != SS_GRAPH_HIDDEN)
			mark_omissions(b, c->first + i);
	b->state[s.root] = SS_GRAPH_ROOT;
	ss_vec_free(&s.queue);
	return !s.no_memory;
}

static bool shows(const struct builder *b, uint32_t i)
{
	return b->g->links.computation[i] != b->g->computation || b->state[i] != SS_GRAPH_HIDDEN;
}

/* --- what is a node, what is said inside of others ---------------------------------------------- */

static uint32_t fusing(const struct builder *b, uint32_t i)
{
	return b->fusion_of[b->g->links.computation[i]];
}

/* A parameter of a fusion that is always the same constant. */
static bool is_constant_parameter(const struct builder *b, uint32_t i)
{
	const struct ss_hlo_links *l = &b->g->links;
	struct ss_hlo_instr instr = read(b->g->m, i);
	uint32_t fusion = fusing(b, i);
	if (fusion == SS_NONE || !ss_str_is(instr.opcode, "parameter"))
		return false;
	uint32_t n = l->operand_first[fusion + 1] - l->operand_first[fusion];
	if (instr.parameter_number < 0 || instr.parameter_number >= n)
		return false;
	return is_op(b->g->m, l->operands[l->operand_first[fusion] + (uint32_t)instr.parameter_number], "constant");
}

/* A tuple that is a parameter and is only taken apart, by many. */
static bool is_merged_parameter(const struct builder *b, uint32_t i)
{
	const struct ss_hlo_links *l = &b->g->links;
	struct ss_hlo_instr instr = read(b->g->m, i);
	uint32_t shown = 0;
	if (!ss_str_is(instr.opcode, "parameter") || ss_hlo_shape_type(instr.shape) != SS_HLO_TUPLE || fusing(b, i) != SS_NONE)
		return false;
	for (uint32_t k = l->user_first[i]; k < l->user_first[i + 1]; k++) {
		if (!shows(b, l->users[k]))
			continue;
		shown++;
		if (!is_op(b->g->m, l->users[k], "get-tuple-element"))
			return false;
	}
	return shown > 3;
}

static bool is_merged(const struct builder *b, uint32_t i)
{
	if (is_op(b->g->m, i, "get-tuple-element") && root_of(b->g->m, b->g->links.computation[i]) != i)
		return true;
	return is_constant_parameter(b, i) || is_merged_parameter(b, i);
}

static bool is_effective_scalar(struct ss_str shape)
{
	return ss_hlo_shape_type(shape) != SS_HLO_TUPLE && ss_hlo_shape_elements(shape) == 1;
}

static uint32_t broadcast_constant(const struct ss_hlo_module *m, const struct ss_hlo_links *l, uint32_t i, bool fused)
{
	if (!fused || !is_op(m, i, "broadcast") || l->operand_first[i] == l->operand_first[i + 1])
		return SS_NONE;
	uint32_t operand = l->operands[l->operand_first[i]];
	struct ss_hlo_instr instr = read(m, operand);
	return ss_str_is(instr.opcode, "constant") && is_effective_scalar(instr.shape) ? operand : SS_NONE;
}

static bool is_no_node(const struct builder *b, uint32_t i)
{
	const struct ss_hlo_links *l = &b->g->links;
	if (is_op(b->g->m, i, "constant"))
		/* A constant that is a result, or asked for, is shown for itself. */
		return root_of(b->g->m, l->computation[i]) != i && b->ask->instr != i;
	return is_merged(b, i) ||
	       broadcast_constant(b->g->m, &b->g->links, i, fusing(b, i) != SS_NONE) != SS_NONE;
}

static bool shows_inside(const struct builder *b, uint32_t fusion)
{
	uint32_t c = called(b->g->m, fusion);
	if (b->ask->merge_fusions || c == SS_NONE || !shows(b, fusion) || c == b->g->computation)
		return false;
	uint8_t state = b->g->links.computation[fusion] == b->g->computation ? b->state[fusion] : SS_GRAPH_NORMAL;
	return state != SS_GRAPH_SOME_OPERANDS_OMITTED && state != SS_GRAPH_OPERANDS_OMITTED;
}

/* --- drawing ----------------------------------------------------------------------------------- */

static bool is_fusion(const struct builder *b, uint32_t i)
{
	return is_op(b->g->m, i, "fusion");
}

static bool add_cluster(struct builder *b, uint32_t c, uint32_t caller, uint32_t parent)
{
	const struct ss_hlo_module *m = b->g->m;
	bool fusion = is_fusion(b, caller);
	if (c == SS_NONE || b->drawn[c] || (fusion ? !shows_inside(b, caller) : ss_hlo_trivial_operation(m, c) != NULL))
		return true;
	b->drawn[c] = true;
	if (b->nodes.n + m->computations[c].ninstrs > b->ask->most_nodes) {
		b->g->nleft_out += m->computations[c].ninstrs;
		return true;
	}
	bool root = b->ask->instr == caller;
	b->cluster_of[c] = (uint32_t)b->clusters.n;
	return ss_vec_push(&b->clusters, (struct ss_graph_cluster){ c, caller, parent, fusion, root });
}

static bool draw_instr(struct builder *b, uint32_t i, uint32_t cluster)
{
	struct ss_hlo_ids it = ss_hlo_ids_of(b->g->m->instrs[i], HLO_INSTRUCTION_CALLED_IDS);
	int64_t id;
	while (ss_hlo_ids_next(&it, &id))
		if (!add_cluster(b, ss_hlo_computation_by_id(b->g->m, id), i, cluster))
			return false;
	b->g->inlined[i] = is_merged(b, i);
	if (is_no_node(b, i) || (is_fusion(b, i) && shows_inside(b, i)))
		return true;
	uint8_t state = cluster == SS_NONE ? b->state[i] : SS_GRAPH_NORMAL;
	b->g->node_of[i] = (uint32_t)b->nodes.n;
	return ss_vec_push(&b->nodes, (struct ss_graph_node){ i, cluster, state });
}

/* The outermost computation, then box by box; a box's own boxes are appended as they are met. */
static bool draw(struct builder *b)
{
	const struct ss_hlo_module *m = b->g->m;
	uint32_t cluster = SS_NONE, c = b->g->computation;
	b->drawn[c] = true;
	for (size_t next = 0;; next++) {
		for (uint32_t k = 0; k < m->computations[c].ninstrs; k++) {
			uint32_t i = m->computations[c].first + k;
			if (shows(b, i) && !draw_instr(b, i, cluster))
				return false;
		}
		if (next == b->clusters.n)
			return true;
		cluster = (uint32_t)next;
		c = b->clusters.v[next].computation;
	}
}

/* Where an edge from `i` begins: behind elements of tuples, and at the root inside of a fusion. */
static uint32_t edge_begin(const struct builder *b, uint32_t i)
{
	const struct ss_hlo_links *l = &b->g->links;
	for (int step = 0; step < MAX_STEPS && i != SS_NONE && b->g->node_of[i] == SS_NONE; step++) {
		if (is_op(b->g->m, i, "get-tuple-element") && l->operand_first[i] < l->operand_first[i + 1])
			i = l->operands[l->operand_first[i]];
		else if (is_fusion(b, i) && shows_inside(b, i))
			i = root_of(b->g->m, called(b->g->m, i));
		else
			return SS_NONE;
	}
	return i == SS_NONE ? SS_NONE : b->g->node_of[i];
}

static bool add_edge(struct builder *b, uint32_t from, uint32_t to_node, uint32_t operand, enum ss_graph_edge_kind kind)
{
	uint32_t node = edge_begin(b, from);
	return node == SS_NONE ||
	       ss_vec_push(&b->edges, (struct ss_graph_edge){ node, to_node, operand, (uint8_t)kind, SS_NONE });
}

/* A parameter of a fusion is reached from the fusion's operand. */
static bool connect_parameter(struct builder *b, uint32_t node, uint32_t fusion)
{
	const struct ss_hlo_links *l = &b->g->links;
	struct ss_hlo_instr instr = read(b->g->m, b->nodes.v[node].instr);
	uint32_t n = l->operand_first[fusion + 1] - l->operand_first[fusion];
	if (b->nodes.v[node].cluster == SS_NONE || instr.parameter_number < 0 || instr.parameter_number >= n)
		return true;
	return add_edge(b, l->operands[l->operand_first[fusion] + (uint32_t)instr.parameter_number], node, 0, SS_GRAPH_DATA);
}

static bool connect_node(struct builder *b, uint32_t node)
{
	const struct ss_hlo_links *l = &b->g->links;
	uint32_t i = b->nodes.v[node].instr, fusion = fusing(b, i);
	int64_t id;
	if (fusion != SS_NONE && is_op(b->g->m, i, "parameter"))
		return connect_parameter(b, node, fusion);
	for (uint32_t k = l->operand_first[i]; k < l->operand_first[i + 1]; k++)
		if (!add_edge(b, l->operands[k], node, k - l->operand_first[i], SS_GRAPH_DATA))
			return false;
	struct ss_hlo_ids it = ss_hlo_ids_of(b->g->m->instrs[i], HLO_INSTRUCTION_CONTROL_IDS);
	while (ss_hlo_ids_next(&it, &id)) {
		uint32_t before = ss_hlo_instr_by_id(b->g->m, id);
		if (before != SS_NONE && !add_edge(b, before, node, 0, SS_GRAPH_CONTROL))
			return false;
	}
	return true;
}

/* Results of called computations go to all that call them. */
static bool connect_calls(struct builder *b, uint32_t node)
{
	uint32_t i = b->nodes.v[node].instr;
	struct ss_hlo_ids it = ss_hlo_ids_of(b->g->m->instrs[i], HLO_INSTRUCTION_CALLED_IDS);
	int64_t id;
	if (is_fusion(b, i))
		return true;
	while (ss_hlo_ids_next(&it, &id)) {
		uint32_t c = ss_hlo_computation_by_id(b->g->m, id);
		if (c == SS_NONE || b->cluster_of[c] == SS_NONE)
			continue;
		uint32_t root = root_of(b->g->m, c), from = root == SS_NONE ? SS_NONE : edge_begin(b, root);
		struct ss_graph_edge e = { from, node, 0, SS_GRAPH_CALL, b->cluster_of[c] };
		if (from != SS_NONE && !ss_vec_push(&b->edges, e))
			return false;
	}
	return true;
}

static bool connect(struct builder *b)
{
	for (uint32_t i = 0; i < b->nodes.n; i++)
		if (!connect_node(b, i) || !connect_calls(b, i))
			return false;
	return true;
}

static void *copy(struct ss_arena *arena, const void *v, size_t n, size_t size)
{
	void *to = ss_arena_zalloc(arena, n, size);
	if (to && n)
		memcpy(to, v, n * size);
	return to;
}

static bool prepare(struct builder *b)
{
	struct ss_hlo_graph *g = b->g;
	const struct ss_hlo_module *m = g->m;
	b->state = SS_NEW_N(b->arena, uint8_t, m->ninstrs);
	b->fusion_of = SS_NEW_N(b->arena, uint32_t, m->ncomputations);
	b->drawn = SS_NEW_N(b->arena, bool, m->ncomputations);
	b->cluster_of = SS_NEW_N(b->arena, uint32_t, m->ncomputations);
	g->node_of = SS_NEW_N(b->arena, uint32_t, m->ninstrs);
	g->inlined = SS_NEW_N(b->arena, bool, m->ninstrs);
	if (!b->state || !b->fusion_of || !b->drawn || !b->cluster_of || !g->node_of || !g->inlined ||
	    !ss_hlo_links_of(&g->links, m, b->arena))
		return false;
	memset(b->state, SS_GRAPH_HIDDEN, m->ninstrs);
	for (uint32_t c = 0; c < m->ncomputations; c++)
		b->fusion_of[c] = b->cluster_of[c] = SS_NONE;
	for (uint32_t i = 0; i < m->ninstrs; i++) {
		g->node_of[i] = SS_NONE;
		uint32_t c = is_fusion(b, i) ? called(m, i) : SS_NONE;
		if (c != SS_NONE && b->fusion_of[c] == SS_NONE)
			b->fusion_of[c] = i;
	}
	g->computation = b->ask->instr == SS_NONE ? b->ask->computation : g->links.computation[b->ask->instr];
	return true;
}

bool ss_hlo_graph_of(struct ss_hlo_graph *g, const struct ss_hlo_module *m, const struct ss_hlo_graph_ask *ask,
		     struct ss_arena *arena, struct ss_err *err)
{
	struct builder b = { .g = g, .ask = ask, .arena = arena };
	*g = (struct ss_hlo_graph){ .m = m, .merge_fusions = ask->merge_fusions };
	bool ok = prepare(&b) && choose(&b) && draw(&b) && connect(&b);
	if (ok) {
		g->nodes = copy(arena, b.nodes.v, b.nodes.n, sizeof(*b.nodes.v));
		g->clusters = copy(arena, b.clusters.v, b.clusters.n, sizeof(*b.clusters.v));
		g->edges = copy(arena, b.edges.v, b.edges.n, sizeof(*b.edges.v));
		g->nnodes = (uint32_t)b.nodes.n;
		g->nclusters = (uint32_t)b.clusters.n;
		g->nedges = (uint32_t)b.edges.n;
		ok = g->nodes && g->clusters && g->edges;
	}
	ss_vec_free(&b.nodes);
	ss_vec_free(&b.clusters);
	ss_vec_free(&b.edges);
	return ok || ss_fail_mem(err);
}

bool ss_hlo_graph_is_inlined(const struct ss_hlo_graph *g, uint32_t i)
{
	return g->node_of[i] == SS_NONE && (g->inlined[i] || is_op(g->m, i, "get-tuple-element"));
}

uint32_t ss_hlo_graph_broadcast_constant(const struct ss_hlo_graph *g, uint32_t i)
{
	return g->node_of[i] == SS_NONE ? broadcast_constant(g->m, &g->links, i, true) : SS_NONE;
}

const char *ss_hlo_trivial_operation(const struct ss_hlo_module *m, uint32_t computation)
{
	static const struct {
		const char *opcode, *name;
	} names[] = {
		{ "add", "add" }, { "multiply", "multiply" }, { "minimum", "min" }, { "maximum", "max" },
		{ "and", "and" }, { "or", "or" }, { "xor", "xor" },
	}, comparisons[] = {
		{ "EQ", "equal-to" }, { "NE", "not-equal-to" }, { "GE", "greater-or-equal" }, { "GT", "greater-than" },
		{ "LE", "less-or-equal" }, { "LT", "less-than" },
	};
	const struct ss_hlo_computation *c = &m->computations[computation];
	uint32_t root = root_of(m, computation), parameters = 0;
	struct ss_str direction = SS_STR("");
	if (c->ninstrs != 3 || root == SS_NONE)
		return NULL;
	for (uint32_t i = 0; i < 3; i++)
		parameters += is_op(m, c->first + i, "parameter");
	struct ss_hlo_instr instr = read(m, root);
	if (parameters != 2 || ss_str_is(instr.opcode, "parameter"))
		return NULL;
	for (size_t i = 0; i < SS_COUNT(names); i++)
		if (ss_str_is(instr.opcode, names[i].opcode))
			return names[i].name;
	struct ss_pb p = ss_pb_of(instr.body);
	struct ss_pb_field f;
	while (ss_pb_next(&p, &f))
		if (f.key == PB_LEN(HLO_INSTRUCTION_DIRECTION))
			direction = f.bytes;
	for (size_t i = 0; ss_str_is(instr.opcode, "compare") && i < SS_COUNT(comparisons); i++)
		if (ss_str_is(direction, comparisons[i].opcode))
			return comparisons[i].name;
	return NULL;
}
