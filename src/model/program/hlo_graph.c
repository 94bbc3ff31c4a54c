/* hlo_graph.c - choosing nodes, boxes and edges. */
#include "model/program/hlo_graph.h"

#include "base/vec.h"
#include "hlo/shape.h"

#include <stdlib.h>

#define MAX_USERS 16	/* of an instruction with more users none is followed */
#define MAX_EDGES 64	/* between two nodes; one more is still drawn */
#define MAX_STEPS 100	/* through roots of fusions, to where an edge begins */
#define MIN_ELEMENTS 3	/* a parameter with more users that all take it apart is no node */

static struct ss_hlo_instr read(const struct ss_hlo_module *m, uint32_t i)
{
	struct ss_hlo_instr instr;
	ss_hlo_instr_read(m->instrs[i], &instr);
	return instr;
}

static uint8_t op_of(struct ss_str opcode)
{
	static const struct {
		const char *opcode;
		uint8_t op;
	} ops[] = {
		{ "bitcast", SS_GRAPH_BITCAST },   { "broadcast", SS_GRAPH_BROADCAST },
		{ "call", SS_GRAPH_CALLER },	   { "constant", SS_GRAPH_CONSTANT },
		{ "copy", SS_GRAPH_COPY },	   { "get-tuple-element", SS_GRAPH_ELEMENT },
		{ "fusion", SS_GRAPH_FUSION },	   { "parameter", SS_GRAPH_PARAMETER },
		{ "tuple", SS_GRAPH_TUPLE },
	};
	for (size_t i = 0; i < SS_COUNT(ops); i++)
		if (ss_str_is(opcode, ops[i].opcode))
			return ops[i].op;
	return SS_GRAPH_OTHER;
}

static uint32_t index_of_id(const struct ss_hlo_module *m, const struct ss_hlo_computation *c, int64_t id)
{
	uint32_t at = ss_hlo_instr_by_id(m, id);
	return at != SS_NONE && at >= c->first && at - c->first < c->ninstrs ? at : SS_NONE;
}

uint32_t ss_hlo_root_of(const struct ss_hlo_module *m, uint32_t computation)
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

/* --- questions about instructions -------------------------------------------------------------- */

static uint32_t operand(const struct ss_hlo_graph *g, uint32_t i, uint32_t k)
{
	const struct ss_hlo_links *l = &g->links;
	return k < l->operand_first[i + 1] - l->operand_first[i] ? l->operands[l->operand_first[i] + k] : SS_NONE;
}

static bool is_op(const struct ss_hlo_graph *g, uint32_t i, enum ss_graph_op op)
{
	return i != SS_NONE && g->op[i] == op;
}

static uint32_t fusing(const struct ss_hlo_graph *g, uint32_t i)
{
	return g->fusion_of[g->links.computation[i]];
}

uint32_t ss_hlo_graph_parameter_constant(const struct ss_hlo_graph *g, uint32_t i)
{
	return is_op(g, g->given[i], SS_GRAPH_CONSTANT) ? g->given[i] : SS_NONE;
}

/* Has the array one element? Dimensions of 1 count as none. */
static bool is_one_number(struct ss_str shape)
{
	return ss_hlo_type_bits(ss_hlo_shape_type(shape)) && ss_hlo_shape_elements(shape) == 1;
}

static uint32_t given_to(const struct ss_hlo_graph *g, const struct ss_hlo_instr *parameter, uint32_t i)
{
	uint32_t fusion = fusing(g, i);
	int64_t number = parameter->parameter_number;
	return fusion == SS_NONE || number < 0 || number >= UINT32_MAX ? SS_NONE : operand(g, fusion, (uint32_t)number);
}

static uint32_t spread_by(const struct ss_hlo_graph *g, uint32_t broadcast)
{
	uint32_t from = fusing(g, broadcast) == SS_NONE ? SS_NONE : operand(g, broadcast, 0);
	return is_op(g, from, SS_GRAPH_CONSTANT) && is_one_number(read(g->m, from).shape) ? from : SS_NONE;
}

static bool shows(const struct ss_hlo_graph *g, uint32_t i)
{
	return g->state[i] != SS_GRAPH_HIDDEN;
}

/* A tuple that is a parameter and is only taken apart, by many. */
static bool is_merged_parameter(const struct ss_hlo_graph *g, uint32_t i)
{
	const struct ss_hlo_links *l = &g->links;
	uint32_t shown = 0;
	if (fusing(g, i) != SS_NONE || ss_hlo_shape_type(read(g->m, i).shape) != SS_HLO_TUPLE)
		return false;
	for (uint32_t k = l->user_first[i]; k < l->user_first[i + 1]; k++) {
		if (!shows(g, l->users[k]))
			continue;
		shown++;
		if (!is_op(g, l->users[k], SS_GRAPH_ELEMENT))
			return false;
	}
	return shown > MIN_ELEMENTS;
}

static bool is_merged(const struct ss_hlo_graph *g, uint32_t i)
{
	if (is_op(g, i, SS_GRAPH_ELEMENT))
		return ss_hlo_root_of(g->m, g->links.computation[i]) != i;
	return is_op(g, i, SS_GRAPH_PARAMETER) &&
	       (ss_hlo_graph_parameter_constant(g, i) != SS_NONE || is_merged_parameter(g, i));
}

/* Is the inside of this fusion drawn instead of it? */
static bool hlo_graph_shows_inside(const struct ss_hlo_graph *g, uint32_t fusion)
{
	uint32_t c = called(g->m, fusion);
	if (!is_op(g, fusion, SS_GRAPH_FUSION) || g->merge_fusions || c == SS_NONE || c == g->computation)
		return false;
	uint8_t state = g->state[fusion];
	return state != SS_GRAPH_HIDDEN && state != SS_GRAPH_SOME_OPERANDS_OMITTED && state != SS_GRAPH_OPERANDS_OMITTED;
}

static bool is_custom_call(const struct ss_hlo_graph *g, uint32_t i, const char *target)
{
	struct ss_hlo_instr instr = read(g->m, i);
	return ss_str_is(instr.opcode, "custom-call") && ss_str_is(instr.custom_call_target, target);
}

static bool is_collective_fusion(const struct ss_hlo_graph *g, uint32_t computation)
{
	return ss_str_starts(g->m->computations[computation].name, SS_STR("async_collective_fusion"));
}

/*
 * Compilers for TPUs pass values of a collective under way through other fusions. Such parameters,
 * which come from the collective's start and only go on to its end, are left out.
 */
static bool is_passed_through(const struct ss_hlo_graph *g, uint32_t i)
{
	const struct ss_hlo_links *l = &g->links;
	uint32_t given = g->given[i], c = l->computation[i];
	if (l->user_first[i + 1] - l->user_first[i] != 1 || !is_op(g, given, SS_GRAPH_ELEMENT))
		return false;
	uint32_t user = l->users[l->user_first[i]], source = operand(g, given, 0);
	uint32_t made_in = is_op(g, source, SS_GRAPH_FUSION) ? called(g->m, source) : SS_NONE;
	if (made_in == SS_NONE)
		return false;
	uint32_t root = ss_hlo_root_of(g->m, made_in);
	if (is_collective_fusion(g, c) && root != SS_NONE && is_custom_call(g, root, "AsyncCollectiveStart") &&
	    user == ss_hlo_root_of(g->m, c))
		return true;
	return is_collective_fusion(g, made_in) && is_custom_call(g, user, "AsyncCollectiveDone");
}

/* --- which instructions of the outermost computation are shown ---------------------------------- */

struct seen {
	uint32_t instr, depth;
};

struct search {
	struct ss_hlo_graph *g;
	SS_VEC(struct seen) queue;
	uint32_t *depth;	/* by instruction: the least that it was visited at, SS_NONE: not yet */
	uint32_t root, radius;
	bool no_memory;
};

static uint32_t nusers(const struct ss_hlo_graph *g, uint32_t i)
{
	return g->links.user_first[i + 1] - g->links.user_first[i];
}

static void enqueue(struct search *s, uint32_t to, uint32_t depth)
{
	if (s->depth[to] == SS_NONE && !ss_vec_push(&s->queue, (struct seen){ to, depth }))
		s->no_memory = true;
}

/*
 * On the way up a bitcast costs no distance, so the queue is not quite in the order of distance:
 * until an instruction is visited it may be reached again. Reached again from nearer, what is
 * around it is followed again; in any case the last visit decides whether its users were too many.
 */
static void visit(struct search *s, struct seen at)
{
	struct ss_hlo_graph *g = s->g;
	const struct ss_hlo_links *l = &g->links;
	uint32_t i = at.instr;
	bool again = s->depth[i] <= at.depth, many = nusers(g, i) > MAX_USERS && !is_op(g, i, SS_GRAPH_CONSTANT);
	g->state[i] = is_passed_through(g, i)		? SS_GRAPH_HIDDEN
		      : many && at.depth != s->radius	? SS_GRAPH_SOME_USERS_OMITTED
							: SS_GRAPH_NORMAL;
	if (again)
		return;
	s->depth[i] = at.depth;
	if (at.depth == s->radius)
		return;
	if (i == s->root || !is_op(g, i, SS_GRAPH_TUPLE))
		for (uint32_t k = l->operand_first[i]; k < l->operand_first[i + 1]; k++) {
			uint32_t to = l->operands[k];
			bool is_free = is_op(g, to, SS_GRAPH_BITCAST) || is_op(g, i, SS_GRAPH_BITCAST);
			enqueue(s, to, at.depth + !is_free);
		}
	if (many || is_op(g, i, SS_GRAPH_CONSTANT))
		return;
	for (uint32_t k = l->user_first[i]; k < l->user_first[i + 1]; k++)
		enqueue(s, l->users[k], at.depth + 1);
}

/* Some or all operands of a shown instruction may be too far away, and users too many. */
static void mark_omissions(const struct search *s, uint32_t i)
{
	const struct ss_hlo_graph *g = s->g;
	const struct ss_hlo_links *l = &g->links;
	uint32_t n = l->operand_first[i + 1] - l->operand_first[i], shown = 0, users = 0;
	for (uint32_t k = 0; k < n; k++) {
		uint32_t o = l->operands[l->operand_first[i] + k];
		shown += s->depth[o] != SS_NONE || is_op(g, o, SS_GRAPH_CONSTANT);
	}
	for (uint32_t k = l->user_first[i]; k < l->user_first[i + 1]; k++)
		users += s->depth[l->users[k]] != SS_NONE;
	if (shown && shown < n)
		g->state[i] = SS_GRAPH_SOME_OPERANDS_OMITTED;
	else if (n && !shown)
		g->state[i] = SS_GRAPH_OPERANDS_OMITTED;
	else if (g->state[i] == SS_GRAPH_SOME_USERS_OMITTED && users == nusers(g, i))
		g->state[i] = SS_GRAPH_NORMAL;
}

/* Everything is shown but for what is passed through; of the outermost computation, what is near. */
static bool choose(struct ss_hlo_graph *g, const struct ss_hlo_graph_request *ask, struct ss_arena *arena)
{
	const struct ss_hlo_computation *c = &g->m->computations[g->computation];
	struct search s = { .g = g, .root = ask->instr, .radius = ask->radius };
	if (ask->instr == SS_NONE)
		return true;
	s.depth = SS_NEW_N(arena, uint32_t, g->m->ninstrs);
	if (!s.depth || !ss_vec_push(&s.queue, (struct seen){ s.root, 0 }))
		return false;
	for (uint32_t i = 0; i < g->m->ninstrs; i++) {
		s.depth[i] = SS_NONE;
		if (i - c->first < c->ninstrs || (is_op(g, i, SS_GRAPH_PARAMETER) && is_passed_through(g, i)))
			g->state[i] = SS_GRAPH_HIDDEN;
	}
	for (size_t k = 0; k < s.queue.n && !s.no_memory; k++)
		if (s.queue.v[k].instr - c->first < c->ninstrs)
			visit(&s, s.queue.v[k]);
	for (uint32_t i = c->first; i - c->first < c->ninstrs; i++)
		if (s.depth[i] != SS_NONE)
			mark_omissions(&s, i);
	g->state[s.root] = SS_GRAPH_ROOT;
	ss_vec_free(&s.queue);
	return !s.no_memory;
}

/* --- drawing ----------------------------------------------------------------------------------- */

/* An edge between instructions, as it is met; which nodes stand for them is known at the end. */
struct tie {
	uint32_t from, to, operand, cluster;
	uint8_t kind;
};

/* A computation that is being drawn: the next instruction, and what that one calls. */
struct place {
	uint32_t computation, cluster, next;
	bool in_calls;
	struct ss_hlo_ids calls;
};

enum { UNKNOWN, YES, NO };

struct builder {
	struct ss_hlo_graph *g;
	const struct ss_hlo_graph_request *ask;
	uint32_t *cluster_of;	/* by computation, SS_NONE */
	bool *drawn;		/* by computation */
	uint8_t *shown;		/* by computation: UNKNOWN, YES, NO */
	SS_VEC(struct ss_graph_node) nodes;
	SS_VEC(struct ss_graph_cluster) clusters;
	SS_VEC(struct tie) ties;
	SS_VEC(struct place) way;
	SS_VEC(struct ss_graph_edge) edges;
};

static bool is_no_node(const struct ss_hlo_graph *g, uint32_t i)
{
	/* A result is shown as a node of its own. */
	if ((is_op(g, i, SS_GRAPH_CONSTANT) || g->scalar[i] != SS_NONE) &&
	    ss_hlo_root_of(g->m, g->links.computation[i]) != i)
		return true;
	return g->merged[i] || hlo_graph_shows_inside(g, i);
}

static bool tie(struct builder *b, uint32_t from, uint32_t to, uint32_t operand_number, enum ss_graph_edge_kind kind,
		uint32_t cluster)
{
	return ss_vec_push(&b->ties, (struct tie){ from, to, operand_number, cluster, (uint8_t)kind });
}

/* The operands of the instruction. A parameter of a fusion has the fusion's operand. */
static bool link_operands(struct builder *b, uint32_t i)
{
	const struct ss_hlo_graph *g = b->g;
	const struct ss_hlo_links *l = &g->links;
	int64_t id;
	if (is_op(g, i, SS_GRAPH_PARAMETER) && fusing(g, i) != SS_NONE) {
		return l->computation[i] == g->computation || g->given[i] == SS_NONE ||
		       tie(b, g->given[i], i, 0, SS_GRAPH_DATA, SS_NONE);
	}
	for (uint32_t k = l->operand_first[i]; k < l->operand_first[i + 1]; k++)
		if (!tie(b, l->operands[k], i, k - l->operand_first[i], SS_GRAPH_DATA, SS_NONE))
			return false;
	struct ss_hlo_ids it = ss_hlo_ids_of(g->m->instrs[i], HLO_INSTRUCTION_CONTROL_IDS);
	while (ss_hlo_ids_next(&it, &id)) {
		uint32_t before = ss_hlo_instr_by_id(g->m, id);
		if (before != SS_NONE && !tie(b, before, i, 0, SS_GRAPH_CONTROL, SS_NONE))
			return false;
	}
	return true;
}

static bool draw_instr(struct builder *b, uint32_t i, uint32_t cluster)
{
	if (is_no_node(b->g, i))
		return true;
	b->g->node_of[i] = (uint32_t)b->nodes.n;
	return ss_vec_push(&b->nodes, (struct ss_graph_node){ i, cluster, b->g->state[i] }) && link_operands(b, i);
}

/* The same for all that call it, so it is found out once. */
static bool shows_called(struct builder *b, uint32_t c)
{
	const struct ss_hlo_graph *g = b->g;
	const struct ss_hlo_computation *comp = &g->m->computations[c];
	uint32_t fusion = g->fusion_of[c];
	if (b->shown[c] != UNKNOWN)
		return b->shown[c] == YES;
	b->shown[c] = NO;
	if (fusion != SS_NONE ? !hlo_graph_shows_inside(g, fusion) : g->trivial[c] != NULL)
		return false;
	for (uint32_t k = 0; b->shown[c] == NO && k < comp->ninstrs; k++)
		if (shows(g, comp->first + k))
			b->shown[c] = YES;
	return b->shown[c] == YES;
}

/* A computation that `caller` calls: an edge from its result, and a box, if it has none yet. */
static bool draw_called(struct builder *b, uint32_t caller, uint32_t c, uint32_t parent)
{
	const struct ss_hlo_module *m = b->g->m;
	bool fusion = is_op(b->g, caller, SS_GRAPH_FUSION);
	if (c == SS_NONE || !shows_called(b, c))
		return true;
	if (!b->drawn[c]) {
		b->drawn[c] = true;
		if (b->nodes.n + m->computations[c].ninstrs > b->ask->max_nodes) {
			b->g->nleft_out += m->computations[c].ninstrs;
			return true;
		}
		b->cluster_of[c] = (uint32_t)b->clusters.n;
		struct ss_graph_cluster box = { c, caller, parent, (uint32_t)b->nodes.n, fusion, b->ask->instr == caller };
		struct place inside = { .computation = c, .cluster = (uint32_t)b->clusters.n };
		if (!ss_vec_push(&b->clusters, box) || !ss_vec_push(&b->way, inside))
			return false;
	}
	uint32_t root = ss_hlo_root_of(m, c);
	return fusion || root == SS_NONE || b->cluster_of[c] == SS_NONE ||
	       tie(b, root, caller, 0, SS_GRAPH_CALL, b->cluster_of[c]);
}

/* The outermost computation; before each instruction come the boxes of what it calls. */
static bool draw(struct builder *b)
{
	const struct ss_hlo_module *m = b->g->m;
	struct place outermost = { .computation = b->g->computation, .cluster = SS_NONE };
	b->drawn[b->g->computation] = true;
	if (!ss_vec_push(&b->way, outermost))
		return false;
	while (b->way.n) {
		struct place *p = &b->way.v[b->way.n - 1];
		const struct ss_hlo_computation *c = &m->computations[p->computation];
		uint32_t i = c->first + p->next, cluster = p->cluster;
		int64_t id;
		if (p->next == c->ninstrs) {
			b->way.n--;
		} else if (!shows(b->g, i)) {
			p->next++;
		} else if (!p->in_calls) {
			p->calls = ss_hlo_ids_of(m->instrs[i], HLO_INSTRUCTION_CALLED_IDS);
			p->in_calls = true;
		} else if (ss_hlo_ids_next(&p->calls, &id)) {
			if (!draw_called(b, i, ss_hlo_computation_by_id(m, id), cluster))
				return false;
		} else {
			p->in_calls = false;
			p->next++;
			if (!draw_instr(b, i, cluster))
				return false;
		}
	}
	return true;
}

/* --- edges ------------------------------------------------------------------------------------- */

/* Where an edge from `i` begins: at what an element is taken of, and at the root inside of a fusion. */
static uint32_t edge_begin(const struct ss_hlo_graph *g, uint32_t i)
{
	if (is_op(g, i, SS_GRAPH_ELEMENT))
		i = operand(g, i, 0);
	for (int step = 0; step < MAX_STEPS && i != SS_NONE && hlo_graph_shows_inside(g, i); step++)
		i = ss_hlo_root_of(g->m, called(g->m, i));
	return i;
}

/* Constants are said where they are used, even those that are nodes as well. */
static bool has_edges(const struct ss_hlo_graph *g, uint32_t i)
{
	return shows(g, i) && !is_op(g, i, SS_GRAPH_CONSTANT) && g->scalar[i] == SS_NONE &&
	       !g->merged[i];
}

struct counts {
	uint32_t *to, *n;	/* by instruction: edges from it to the instruction `to` */
};

static bool connect_link(struct builder *b, const struct tie *t, struct counts *k)
{
	struct ss_hlo_graph *g = b->g;
	uint32_t to = g->node_of[t->to], from = edge_begin(g, t->from);
	if (to == SS_NONE || from == SS_NONE || g->node_of[from] == SS_NONE)
		return true;
	if (t->kind != SS_GRAPH_CALL && (!has_edges(g, from) || (k->to[t->from] == t->to && k->n[t->from] > MAX_EDGES)))
		return true;
	k->n[from] = k->to[from] == t->to ? k->n[from] + 1 : 1;
	k->to[from] = t->to;
	return ss_vec_push(&b->edges, (struct ss_graph_edge){ g->node_of[from], to, t->operand, t->kind, t->cluster });
}

static bool connect(struct builder *b)
{
	struct ss_hlo_graph *g = b->g;
	struct counts k = { malloc(((size_t)g->m->ninstrs + 1) * sizeof(*k.to)), calloc((size_t)g->m->ninstrs + 1, sizeof(*k.n)) };
	bool ok = k.to && k.n;
	for (uint32_t i = 0; ok && i < g->m->ninstrs; i++)
		k.to[i] = SS_NONE;
	for (size_t i = 0; ok && i < b->ties.n; i++)
		ok = connect_link(b, &b->ties.v[i], &k);
	free(k.to);
	free(k.n);
	uint32_t root = ss_hlo_root_of(g->m, g->computation);
	uint32_t from = root == SS_NONE ? SS_NONE : edge_begin(g, root);
	if (ok && from != SS_NONE && shows(g, from) && !is_op(g, from, SS_GRAPH_CONSTANT) &&
	    g->scalar[from] == SS_NONE)
		g->root_node = g->node_of[from];
	return ok;
}

/* --- computations that say one thing ------------------------------------------------------------ */

/* Are the operands of `root` parameters 0 and 1, in any order, and all three one number each? */
static bool takes_both(const struct ss_hlo_module *m, const struct ss_hlo_instr *root)
{
	struct ss_hlo_ids it = ss_hlo_ids_of(root->body, HLO_INSTRUCTION_OPERAND_IDS);
	unsigned seen = 0, n = 0;
	int64_t id;
	while (ss_hlo_ids_next(&it, &id)) {
		uint32_t at = ss_hlo_instr_by_id(m, id);
		if (at == SS_NONE || ++n > 2)
			return false;
		struct ss_hlo_instr o = read(m, at);
		if (!ss_str_is(o.opcode, "parameter") || o.parameter_number < 0 || o.parameter_number > 1 ||
		    !is_one_number(o.shape))
			return false;
		seen |= 1u << o.parameter_number;
	}
	return seen == 3 && is_one_number(root->shape);
}

static const char *trivial_operation(const struct ss_hlo_module *m, uint32_t computation)
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
	uint32_t root = ss_hlo_root_of(m, computation);
	struct ss_str direction = SS_STR("");
	if (m->computations[computation].ninstrs != 3 || root == SS_NONE)
		return NULL;
	struct ss_hlo_instr instr = read(m, root);
	if (!takes_both(m, &instr))
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

/* --- putting it together ----------------------------------------------------------------------- */

static void *copy(struct ss_arena *arena, const void *v, size_t n, size_t size)
{
	void *to = ss_arena_zalloc(arena, n, size);
	if (to && n)
		memcpy(to, v, n * size);
	return to;
}

static bool make_room(struct builder *b, struct ss_arena *arena)
{
	struct ss_hlo_graph *g = b->g;
	const struct ss_hlo_module *m = g->m;
	g->op = SS_NEW_N(arena, uint8_t, m->ninstrs);
	g->state = SS_NEW_N(arena, uint8_t, m->ninstrs);
	g->merged = SS_NEW_N(arena, bool, m->ninstrs);
	g->given = SS_NEW_N(arena, uint32_t, m->ninstrs);
	g->scalar = SS_NEW_N(arena, uint32_t, m->ninstrs);
	g->node_of = SS_NEW_N(arena, uint32_t, m->ninstrs);
	g->fusion_of = SS_NEW_N(arena, uint32_t, m->ncomputations);
	g->trivial = SS_NEW_N(arena, const char *, m->ncomputations);
	b->drawn = SS_NEW_N(arena, bool, m->ncomputations);
	b->shown = SS_NEW_N(arena, uint8_t, m->ncomputations);
	b->cluster_of = SS_NEW_N(arena, uint32_t, m->ncomputations);
	return g->op && g->state && g->merged && g->given && g->scalar && g->node_of && g->fusion_of && g->trivial && b->drawn &&
	       b->shown && b->cluster_of;
}

static bool prepare(struct builder *b, struct ss_arena *arena)
{
	struct ss_hlo_graph *g = b->g;
	const struct ss_hlo_module *m = g->m;
	if (!make_room(b, arena) || !ss_hlo_links_of(&g->links, m, arena))
		return false;
	for (uint32_t c = 0; c < m->ncomputations; c++) {
		g->fusion_of[c] = b->cluster_of[c] = SS_NONE;
		g->trivial[c] = trivial_operation(m, c);
	}
	for (uint32_t i = 0; i < m->ninstrs; i++) {
		g->op[i] = op_of(read(m, i).opcode);
		uint32_t c = is_op(g, i, SS_GRAPH_FUSION) ? called(m, i) : SS_NONE;
		if (c != SS_NONE && g->fusion_of[c] == SS_NONE)
			g->fusion_of[c] = i;
	}
	for (uint32_t i = 0; i < m->ninstrs; i++) {
		struct ss_hlo_instr instr = read(m, i);
		g->node_of[i] = SS_NONE;
		g->given[i] = is_op(g, i, SS_GRAPH_PARAMETER) ? given_to(g, &instr, i) : SS_NONE;
		g->scalar[i] = is_op(g, i, SS_GRAPH_BROADCAST) ? spread_by(g, i) : SS_NONE;
	}
	g->computation = b->ask->instr == SS_NONE ? b->ask->computation : g->links.computation[b->ask->instr];
	return true;
}

/* Which are said in others depends on who of their users is shown. */
static void merge(struct ss_hlo_graph *g)
{
	for (uint32_t i = 0; i < g->m->ninstrs; i++)
		g->merged[i] = is_merged(g, i);
}

bool ss_hlo_graph_of(struct ss_hlo_graph *g, const struct ss_hlo_module *m, const struct ss_hlo_graph_request *ask,
		     struct ss_arena *arena, struct ss_err *err)
{
	struct builder b = { .g = g, .ask = ask };
	*g = (struct ss_hlo_graph){ .m = m, .merge_fusions = ask->merge_fusions, .root_node = SS_NONE };
	bool ok = prepare(&b, arena) && choose(g, ask, arena);
	if (ok)
		merge(g);
	ok = ok && draw(&b) && connect(&b);
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
	ss_vec_free(&b.ties);
	ss_vec_free(&b.way);
	ss_vec_free(&b.edges);
	return ok || ss_fail_mem(err);
}
