/*
 * tf_graph.c - the TensorFlow graph of an event file by name scopes, and what of it a TPU could
 * run.
 *
 * The rules stand in legacy/model/tfgraph.h. Without parameters the answer is of the whole graph:
 * its scopes with their shares, the operations that a TPU would not run with their attributes, and
 * all operators. With `scope` it is of that scope, and holds what is needed to draw it: what stands
 * directly in it, and how that is connected. With `node` the attributes and neighbours are that
 * operation's.
 *
 * It does not compile anything and knows no shapes or types that a TPU refuses: it is an estimate,
 * as the dashboard's is.
 *
 * The layers of a model of Keras are shown in the same way, and not judged.
 */
#include "base/map.h"

#include "base/vec.h"
#include "legacy/model/tfgraph.h"
#include "model/host/identity.h"
#include "model/model.h"
#include "tools/tool.h"
#include "tools/words.h"

#include <math.h>
#include <stdlib.h>

extern const struct ss_tool ss_tool_tf_graph;

enum { SC_NAME, SC_PARENT, SC_OPS, SC_GOOD, SC_BAD, SC_ASIDE, SC_FRAC, SC_JUDGED };

#define COUNT_COLS												\
	INT("ops", "Operations", COUNT, "In it and below"),							\
	INT("compatible", "Compatible", COUNT, "Judged, and run by a TPU"),					\
	INT("incompatible", "Incompatible", COUNT, "Judged, and not run by a TPU"),				\
	INT("not_judged", "Not judged", COUNT, "Placed by hand on another device, or part of a function"),	\
	NUM("compatible_frac", "Compatible share", FRAC,							\
	    "(operations - incompatible) / operations: what is not judged counts as compatible, as in TensorBoard")

static const struct ss_col scope_cols[] = {
	STR("scope", "Scope", "Empty: the whole graph"),
	INT("parent", "Parent", NONE, "Row of the scope that it stands in; -1: none"),
	COUNT_COLS,
	NUM("judged_frac", "Share of the judged", FRAC, "compatible / (compatible + incompatible)"),
};

/* The first of them, of a model of Keras: nobody judges layers. */
static const struct ss_col model_cols[] = {
	STR("scope", "Model", "Empty: the whole graph"),
	INT("parent", "Parent", NONE, "Row of the model that it stands in; -1: none"),
	INT("ops", "Layers", COUNT, "In it and below"),
};

enum { BAD_NAME, BAD_OP, BAD_DEVICE, BAD_SCOPE };

static const struct ss_col bad_cols[] = {
	STR("node", "Operation", NULL),
	STR("op", "Operator", NULL),
	STR("device", "Device", "Where it was placed; empty: nowhere by hand"),
	STR("scope", "Scope", NULL),
};

enum { OP_NAME, OP_ON_TPU, OP_COUNT, OP_GOOD, OP_BAD, OP_ASIDE };

static const struct ss_col op_cols[] = {
	STR("op", "Operator", NULL),
	FLAG("on_tpu", "On TPU", "A TPU runs operators of this name"),
	INT("ops", "Operations", COUNT, NULL),
	INT("compatible", "Compatible", COUNT, NULL),
	INT("incompatible", "Incompatible", COUNT, NULL),
	INT("not_judged", "Not judged", COUNT, NULL),
};

enum { CLASS_NAME, CLASS_COUNT };

static const struct ss_col class_cols[] = {
	STR("op", "Class", NULL),
	INT("ops", "Layers", COUNT, NULL),
};

enum { AT_NODE, AT_NAME, AT_VALUE };

static const struct ss_col attr_cols[] = {
	STR("node", "Operation", NULL),
	STR("attribute", "Attribute", NULL),
	STR("value", "Value", "Long lists and tensors are cut"),
};

enum { CH_NAME, CH_LABEL, CH_IS_SCOPE, CH_OP, CH_DEVICE, CH_VERDICT, CH_OPS, CH_GOOD, CH_BAD, CH_ASIDE, CH_FRAC };

static const struct ss_col child_cols[] = {
	STR("name", "Name", NULL),
	STR("label", "Label", "The name without that of the scope"),
	FLAG("is_scope", "Scope", "Others are operations"),
	STR("op", "Operator", NULL),
	STR("device", "Device", NULL),
	STR("verdict", "TPU", "Of an operation"),
	COUNT_COLS,
};

enum { LN_FROM, LN_TO, LN_TENSORS, LN_CONTROL };

static const struct ss_col link_cols[] = {
	INT("from", "From", NONE, "Row of the children; -1: from outside of the scope"),
	INT("to", "To", NONE, "Row of the children; -1: to outside of the scope"),
	INT("tensors", "Tensors", COUNT, NULL),
	INT("control", "Control inputs", COUNT, "Orders without data"),
};

enum { NB_DIRECTION, NB_NODE, NB_OP, NB_OUTPUT, NB_CONTROL };

static const struct ss_col neighbour_cols[] = {
	STR("direction", "Direction", "input or output"),
	STR("node", "Operation", NULL),
	STR("op", "Operator", NULL),
	INT("output", "Output", NONE, "Which of the results of its source"),
	FLAG("control", "Control", NULL),
};

static const struct ss_param params[] = {
	{ "scope", "name", NULL, "of this scope, with what is in it and how that is connected; / is the whole graph" },
	{ "graph", "operations|layers", NULL,
	  "operations of TensorFlow, or layers of the model of Keras (without it what there is, operations first)" },
	{ "node", "name", NULL, "attributes and neighbours of this operation; without it attributes of the incompatible ones" },
};

/* The selection: the operations and scopes of a subtree are consecutive. */
struct graph_answer {
	const struct ss_request *q;
	struct ss_result *out;
	const struct ss_tfgraph *g;
	struct ss_str other;	/* what the parameter `graph` may name as well; empty: there is no other */
	uint32_t top, end;	/* scopes [top, end) */
	uint32_t op, op_end;	/* operations [op, op_end) */
	struct ss_u64map by_name; /* operations by function and name */
	struct ss_strmap words;	/* names of attributes, each once */
	uint32_t nread;		/* operations of which something was read in the file */
};

static int64_t not_judged(const struct ss_tf_scope *s)
{
	return (int64_t)s->n[SS_TF_PLACED] + s->n[SS_TF_FUNCTION] + s->n[SS_TF_UNTYPED] + s->n[SS_TF_LAYER];
}

/* The columns of COUNT_COLS, of which `first` is the first. */
static void set_counts(struct ss_table *t, size_t first, const struct ss_tf_scope *s)
{
	ss_set_i64(t, first, s->nops);
	ss_set_i64(t, first + 1, s->n[SS_TF_COMPATIBLE]);
	ss_set_i64(t, first + 2, s->n[SS_TF_INCOMPATIBLE]);
	ss_set_i64(t, first + 3, not_judged(s));
	/* Nothing is known about layers. */
	ss_set_f64(t, first + 4, s->n[SS_TF_LAYER] ? (double)NAN : ss_tf_scope_compatible_frac(s));
}

static void set_props(struct ss_table *t, const struct graph_answer *j)
{
	const struct ss_tf_scope *s = &j->g->scopes[j->top];
	/* TensorBoard's score is cut to whole percents, never rounded up to 100. */
	double percent = s->nops ? floor(100 * ss_tf_scope_compatible_frac(s)) : 0;
	ss_table_prop(t, "source", j->g->source);
	ss_table_prop(t, "graph", j->g->keras ? SS_STR("layers") : SS_STR("operations"));
	ss_table_prop(t, "other_graph", j->other);
	ss_table_prop_num(t, "ops", j->g->keras ? "Layers" : "Operations", SS_UNIT_COUNT, s->nops, "%.0f");
	if (j->g->keras)
		return;
	ss_table_prop_num(t, "compatible", "Compatible", SS_UNIT_COUNT, s->n[SS_TF_COMPATIBLE], "%.0f");
	ss_table_prop_num(t, "incompatible", "Incompatible", SS_UNIT_COUNT, s->n[SS_TF_INCOMPATIBLE], "%.0f");
	ss_table_prop_num(t, "not_judged", "Not judged", SS_UNIT_COUNT, (double)not_judged(s), "%.0f");
	ss_table_prop_num(t, "placed", "Placed by hand on another device", SS_UNIT_COUNT, s->n[SS_TF_PLACED], "%.0f");
	ss_table_prop_num(t, "in_functions", "In functions", SS_UNIT_COUNT, s->n[SS_TF_FUNCTION], "%.0f");
	ss_table_prop_num(t, "score", "TPU compatible", SS_UNIT_PERCENT, percent, "%.0f%%");
	ss_table_prop_num(t, "producer", "Version of the graph's writer", SS_UNIT_NONE, (double)j->g->def.producer, "%.0f");
}

static void add_scopes(struct graph_answer *j)
{
	bool keras = j->g->keras;
	struct ss_table *t = ss_result_table(j->out, "scopes", keras ? "Models" : "Name scopes", keras ? model_cols : scope_cols,
					     keras ? SS_COUNT(model_cols) : SS_COUNT(scope_cols));
	ss_table_reserve(t, j->end - j->top);
	set_props(t, j);
	for (uint32_t i = j->top; i < j->end; i++) {
		const struct ss_tf_scope *s = &j->g->scopes[i];
		ss_table_row(t);
		ss_set_str(t, SC_NAME, s->name);
		ss_set_i64(t, SC_PARENT, i == j->top ? -1 : (int64_t)s->parent - j->top);
		if (keras) {
			ss_set_i64(t, SC_OPS, s->nops);
			continue;
		}
		set_counts(t, SC_OPS, s);
		ss_set_f64(t, SC_JUDGED, ss_tf_scope_judged_frac(s));
	}
}

static void add_incompatible(struct graph_answer *j)
{
	struct ss_table *t = ss_result_table(j->out, "incompatible", "Incompatible operations", bad_cols, SS_COUNT(bad_cols));
	ss_table_reserve(t, j->g->scopes[j->top].n[SS_TF_INCOMPATIBLE]);
	for (uint32_t i = j->op; i < j->op_end; i++) {
		const struct ss_tf_op *op = &j->g->ops[i];
		if (op->verdict != SS_TF_INCOMPATIBLE)
			continue;
		ss_table_row(t);
		ss_set_str(t, BAD_NAME, op->name);
		ss_set_str(t, BAD_OP, ss_graph_op(&j->g->def, op->node));
		ss_set_str(t, BAD_DEVICE, ss_graph_device(&j->g->def, op->node));
		ss_set_str(t, BAD_SCOPE, j->g->scopes[op->scope].name);
	}
}

struct op_type {
	struct ss_str name;
	int64_t n[SS_TF_VERDICTS], all;
};

/* First the incompatible operators, then the most frequent ones. */
static int by_weight(const void *a, const void *b)
{
	const struct op_type *x = a, *y = b;
	return SS_CMP(y->n[SS_TF_INCOMPATIBLE], x->n[SS_TF_INCOMPATIBLE]) ?: SS_CMP(y->all, x->all) ?:
	       ss_str_cmp(x->name, y->name);
}

static bool fill_op_types(struct graph_answer *j, struct ss_table *t, struct ss_strmap *map, struct op_type *v)
{
	for (uint32_t i = j->op; i < j->op_end; i++) {
		const struct ss_tf_op *op = &j->g->ops[i];
		struct ss_str name = ss_graph_op(&j->g->def, op->node);
		uint32_t k = ss_strmap_add(map, name);
		if (k == SS_NONE)
			return false;
		v[k].name = name;
		v[k].n[op->verdict]++;
		v[k].all++;
	}
	qsort(v, map->n, sizeof(*v), by_weight);
	for (uint32_t i = 0; i < map->n; i++) {
		ss_table_row(t);
		if (j->g->keras) {
			ss_set_str(t, CLASS_NAME, v[i].name);
			ss_set_i64(t, CLASS_COUNT, v[i].all);
			continue;
		}
		ss_set_str(t, OP_NAME, v[i].name);
		ss_set_bool(t, OP_ON_TPU, ss_tf_op_on_tpu(v[i].name));
		ss_set_i64(t, OP_COUNT, v[i].all);
		ss_set_i64(t, OP_GOOD, v[i].n[SS_TF_COMPATIBLE]);
		ss_set_i64(t, OP_BAD, v[i].n[SS_TF_INCOMPATIBLE]);
		ss_set_i64(t, OP_ASIDE, v[i].all - v[i].n[SS_TF_COMPATIBLE] - v[i].n[SS_TF_INCOMPATIBLE]);
	}
	return true;
}

static bool add_op_types(struct graph_answer *j)
{
	struct ss_table *t = j->g->keras ? ss_result_table(j->out, "operators", "Classes", class_cols, SS_COUNT(class_cols)) :
					   ss_result_table(j->out, "operators", "Operators", op_cols, SS_COUNT(op_cols));
	struct op_type *v = calloc((size_t)(j->op_end - j->op) + 1, sizeof(*v));
	struct ss_strmap map = { 0 };
	bool ok = v && fill_op_types(j, t, &map, v);
	ss_strmap_free(&map);
	free(v);
	return ok;
}

/* Before something of an operation is read in the file. */
static void read_in_file(struct graph_answer *j)
{
	if (++j->nread % SS_TF_FORGET == 0)
		ss_tfgraph_forget(j->g);
}

static bool add_attrs_of(struct graph_answer *j, struct ss_table *t, const struct ss_tf_op *op)
{
	struct ss_graph_attrs it = ss_graph_attrs_of(op->node);
	struct ss_str name, value;
	read_in_file(j);
	while (ss_graph_attrs_next(&it, &name, &value)) {
		struct ss_str text = ss_graph_attr_text(value, j->q->arena);
		uint32_t known = ss_strmap_get(&j->words, name);
		if (known == SS_NONE && text.p) {
			name = ss_arena_str(j->q->arena, name);
			known = name.p ? ss_strmap_add(&j->words, name) : SS_NONE;
		}
		if (known == SS_NONE)
			return false;
		ss_table_row(t);
		ss_set_str(t, AT_NODE, op->name);
		ss_set_str(t, AT_NAME, j->words.keys[known]);
		ss_set_str(t, AT_VALUE, text);
	}
	return true;
}

/* For the requested operation, else for those that a TPU would not run. */
static bool add_attributes(struct graph_answer *j, uint32_t node)
{
	struct ss_table *t = ss_result_table(j->out, "attributes", "Attributes", attr_cols, SS_COUNT(attr_cols));
	bool ok = true;
	if (ok && node != SS_NONE)
		return add_attrs_of(j, t, &j->g->ops[node]);
	for (uint32_t i = j->op; ok && i < j->op_end; i++)
		if (j->g->ops[i].verdict == SS_TF_INCOMPATIBLE)
			ok = add_attrs_of(j, t, &j->g->ops[i]);
	return ok;
}

/* Names are unique in each graph and in each function. */
static uint64_t key_of(const struct ss_graph_node *in, struct ss_str name)
{
	bool main = in->function == SS_GRAPH_MAIN;
	return ss_mix(ss_str_hash(name), (uint64_t)(main ? in->part : in->function) << 1 | main);
}

static bool same_place(const struct ss_graph_node *a, const struct ss_graph_node *b)
{
	return a->function == b->function && (a->part == b->part || a->function != SS_GRAPH_MAIN);
}

static bool index_ops(struct graph_answer *j)
{
	bool ok = ss_u64map_reserve(&j->by_name, j->g->nops);
	for (uint32_t i = 0; ok && i < j->g->nops; i++) {
		const struct ss_graph_node *n = j->g->ops[i].node;
		ok = ss_u64map_add(&j->by_name, key_of(n, n->name), i) != SS_NONE;
	}
	return ok;
}

/*
 * The operation that an input of `user` comes from, SS_NONE if there is none: an argument of a
 * function, say.
 */
static uint32_t source_of(const struct graph_answer *j, const struct ss_graph_node *user, struct ss_str name)
{
	uint32_t i = ss_u64map_get(&j->by_name, key_of(user, name));
	bool right = i != SS_NONE && ss_str_eq(j->g->ops[i].node->name, name) && same_place(j->g->ops[i].node, user);
	return right ? i : SS_NONE;
}

static void add_neighbour(struct ss_table *t, const char *direction, struct ss_str name, struct ss_str op,
			  const struct ss_graph_input *in)
{
	ss_table_row(t);
	ss_set_str(t, NB_DIRECTION, ss_str_from(direction));
	ss_set_str(t, NB_NODE, name);
	ss_set_str(t, NB_OP, op);
	ss_set_i64(t, NB_OUTPUT, in->output);
	ss_set_bool(t, NB_CONTROL, in->control);
}

static bool add_neighbours(struct graph_answer *j, uint32_t node)
{
	struct ss_table *t = ss_result_table(j->out, "neighbours", "Inputs and outputs", neighbour_cols, SS_COUNT(neighbour_cols));
	const struct ss_tf_op *ops = j->g->ops;
	struct ss_graph_inputs it = ss_graph_inputs_of(ops[node].node);
	struct ss_graph_input in;
	if (!index_ops(j))
		return false;
	while (ss_graph_inputs_next(&it, &in)) {
		uint32_t from = source_of(j, ops[node].node, in.name);
		add_neighbour(t, "input", from == SS_NONE ? in.name : ops[from].name,
			      from == SS_NONE ? SS_STR("") : ss_graph_op(&j->g->def, ops[from].node), &in);
	}
	for (uint32_t i = 0; i < j->g->nops; i++) {
		if (!same_place(ops[i].node, ops[node].node))
			continue;
		read_in_file(j);
		for (it = ss_graph_inputs_of(ops[i].node); ss_graph_inputs_next(&it, &in);)
			if (ss_str_eq(in.name, ops[node].node->name))
				add_neighbour(t, "output", ops[i].name, ss_graph_op(&j->g->def, ops[i].node), &in);
	}
	return true;
}

/* A child that is a scope, or with `op` an operation. */
static void add_child(struct graph_answer *j, struct ss_table *t, const struct ss_tf_scope *s, const struct ss_tf_op *op)
{
	size_t above = j->g->scopes[j->top].name.n;
	ss_table_row(t);
	ss_set_str(t, CH_NAME, op ? op->name : s->name);
	struct ss_str label = op ? ss_tf_op_label(op, t->arena) : ss_str_sub(s->name, above ? above + 1 : 0, s->name.n);
	ss_set_str(t, CH_LABEL, label);
	ss_set_bool(t, CH_IS_SCOPE, !op);
	if (op) {
		struct ss_tf_scope one = { .nops = 1 };
		one.n[op->verdict] = 1;
		ss_set_str(t, CH_OP, ss_graph_op(&j->g->def, op->node));
		ss_set_str(t, CH_DEVICE, ss_graph_device(&j->g->def, op->node));
		ss_set_str(t, CH_VERDICT, ss_str_from(ss_tf_verdict_name(op->verdict)));
		set_counts(t, CH_OPS, &one);
	} else {
		set_counts(t, CH_OPS, s);
	}
}

/*
 * The children of the scope: scopes first. `child` gets the row of each scope of the subtree, which
 * is that of the child it stands in.
 */
static void add_children(struct graph_answer *j, uint32_t *child)
{
	const struct ss_tfgraph *g = j->g;
	struct ss_table *t = ss_result_table(j->out, "children", "In this scope", child_cols, SS_COUNT(child_cols));
	uint32_t n = 0;
	for (uint32_t i = j->top + 1; i < j->end; i++) {
		bool direct = g->scopes[i].parent == j->top;
		child[i] = direct ? n++ : child[g->scopes[i].parent];
		if (direct)
			add_child(j, t, &g->scopes[i], NULL);
	}
	for (uint32_t i = g->first_op[j->top]; i < g->first_op[j->top + 1]; i++)
		add_child(j, t, NULL, &g->ops[i]);
	child[j->top] = n;	/* the first of the operations */
}

struct link {
	uint32_t from, to;
	int64_t tensors, control;
};

struct links {
	SS_VEC(struct link) v;
	struct ss_u64map map;
};

/* The child that an operation stands in, SS_NONE for one outside of the scope. */
static uint32_t child_of(const struct graph_answer *j, const uint32_t *child, uint32_t op)
{
	uint32_t scope = j->g->ops[op].scope;
	if (scope < j->top || scope >= j->end)
		return SS_NONE;
	return scope == j->top ? child[scope] + (op - j->g->first_op[scope]) : child[scope];
}

static bool count_link(struct links *l, uint32_t from, uint32_t to, bool control)
{
	uint32_t k = ss_u64map_add(&l->map, (uint64_t)from << 32 | to, (uint32_t)l->v.n);
	if (k == SS_NONE || (k == l->v.n && !ss_vec_push(&l->v, (struct link){ from, to, 0, 0 })))
		return false;
	if (control)
		l->v.v[k].control++;
	else
		l->v.v[k].tensors++;
	return true;
}

static bool find_links(struct graph_answer *j, const uint32_t *child, struct links *l)
{
	for (uint32_t i = 0; i < j->g->nops; i++) {
		struct ss_graph_inputs it = ss_graph_inputs_of(j->g->ops[i].node);
		struct ss_graph_input in;
		uint32_t to = child_of(j, child, i);
		read_in_file(j);
		while (ss_graph_inputs_next(&it, &in)) {
			uint32_t source = source_of(j, j->g->ops[i].node, in.name);
			uint32_t from = source == SS_NONE ? to : child_of(j, child, source);
			if (from != to && !count_link(l, from, to, in.control))
				return false;
		}
	}
	return true;
}

static bool add_links(struct graph_answer *j, const uint32_t *child)
{
	struct ss_table *t = ss_result_table(j->out, "links", "Connections", link_cols, SS_COUNT(link_cols));
	struct links l = { 0 };
	bool ok = index_ops(j) && find_links(j, child, &l);
	for (size_t i = 0; ok && i < l.v.n; i++) {
		ss_table_row(t);
		if (!ok)
			break;
		ss_set_i64(t, LN_FROM, l.v.v[i].from == SS_NONE ? -1 : (int64_t)l.v.v[i].from);
		ss_set_i64(t, LN_TO, l.v.v[i].to == SS_NONE ? -1 : (int64_t)l.v.v[i].to);
		ss_set_i64(t, LN_TENSORS, l.v.v[i].tensors);
		ss_set_i64(t, LN_CONTROL, l.v.v[i].control);
	}
	ss_vec_free(&l.v);
	ss_u64map_free(&l.map);
	return ok;
}

static bool add_drawing(struct graph_answer *j)
{
	uint32_t *child = calloc((size_t)j->g->nscopes + 1, sizeof(*child));
	bool ok = child;
	if (ok)
		add_children(j, child);
	ok = ok && add_links(j, child);
	free(child);
	return ok;
}

typedef const struct ss_tfgraph *graph_of(struct ss_host *h, struct ss_err *err);

/* The first of the files that holds a graph of this kind; `h` is the file. */
static const struct ss_tfgraph *first_graph(const struct ss_model *m, graph_of *of, struct ss_host **h, struct ss_err *err)
{
	struct ss_err first = { 0 };
	for (size_t i = 0; i < m->nhosts; i++) {
		struct ss_err why = { 0 };
		const struct ss_tfgraph *g = of(m->hosts[i], &why);
		*h = m->hosts[i];
		if (g)
			return g;
		if (!first.code || why.code == SS_ENOMEM)
			first = why;
	}
	ss_fail(err, first.code ? first.code : SS_ENODATA, "%s", first.code ? first.text : "there is no event file");
	return NULL;
}

static void note_graph(struct graph_answer *j, const struct ss_host *h)
{
	struct ss_arena *a = j->q->arena;
	size_t nhosts = j->q->model->nhosts;
	for (size_t k = 0; k < j->g->nnotes; k++)
		ss_result_note(j->out, SS_WARNING,
			       ss_arena_printf(a, SS_FMT ": " SS_FMT, SS_ARG(ss_host_name(h)), SS_ARG(j->g->notes[k])));
	if (nhosts > 1)
		ss_result_note(j->out, SS_INFO,
			       ss_arena_printf(a, "graph of " SS_FMT ", the first of %zu files that holds one: "
					       "choose another as the host",
					       SS_ARG(ss_host_name(h)), nhosts));
	if (j->other.n)
		ss_result_note(j->out, SS_INFO,
			       ss_arena_printf(a, "there is a graph of %s, too: graph=" SS_FMT,
					       j->g->keras ? "TensorFlow's operations" : "the layers of Keras' model",
					       SS_ARG(j->other)));
}

/* Operations unless layers are asked for or there is nothing else; and whether there is the other. */
static bool pick(struct graph_answer *j, struct ss_err *err)
{
	struct ss_str asked = ss_request_param(j->q, &ss_tool_tf_graph, "graph");
	const struct ss_model *m = j->q->model;
	bool layers = ss_str_is(asked, "layers");
	struct ss_host *h = NULL, *unused;
	struct ss_err why = { 0 };
	if (asked.n && !layers && !ss_str_is(asked, "operations"))
		return ss_fail(err, SS_EINVAL, "graph is operations or layers, not '" SS_FMT "'", SS_ARG(asked));
	j->g = first_graph(m, layers ? ss_host_keras_graph : ss_host_tfgraph, &h, err);
	if (!j->g && !asked.n && err->code == SS_ENODATA) {
		j->g = first_graph(m, ss_host_keras_graph, &h, &why);
		if (j->g)
			*err = (struct ss_err){ 0 };
	} else if (j->g && first_graph(m, layers ? ss_host_tfgraph : ss_host_keras_graph, &unused, &why)) {
		j->other = layers ? SS_STR("operations") : SS_STR("layers");
	}
	if (why.code == SS_ENOMEM)
		return ss_fail_mem(err);
	if (j->g)
		note_graph(j, h);
	return j->g;
}

/* The compatible share does not cover functions: they are not judged, and TensorFlow 2 has little else. */
static void note_functions(struct graph_answer *j)
{
	uint32_t in_functions = j->g->scopes[j->top].n[SS_TF_FUNCTION], unknown = 0;
	for (uint32_t i = j->op; i < j->op_end; i++)
		unknown += j->g->ops[i].verdict == SS_TF_FUNCTION && !ss_tf_op_on_tpu(ss_graph_op(&j->g->def, j->g->ops[i].node));
	if (!in_functions || !unknown)
		return;
	ss_result_note(j->out, SS_INFO,
		       ss_arena_printf(j->q->arena,
				       "%u operations stand in functions and are not judged; a TPU does not run the "
				       "operators of %u of them",
				       in_functions, unknown));
}

static bool run(const struct ss_request *q, struct ss_result *out, struct ss_err *err)
{
	struct graph_answer j = { .q = q, .out = out };
	struct ss_str scope = ss_request_param(q, &ss_tool_tf_graph, "scope"),
		      name = ss_request_param(q, &ss_tool_tf_graph, "node");
	bool draw = scope.n, ok;
	if (!pick(&j, err))
		return false;
	if (ss_str_is(scope, "/"))
		scope.n = 0;
	j.top = ss_tfgraph_find_scope(j.g, scope);
	uint32_t node = name.n ? ss_tfgraph_find_op(j.g, name) : SS_NONE;
	if (j.top == SS_NONE)
		return ss_fail(err, SS_ENOTFOUND, "the graph has no scope '" SS_FMT "'", SS_ARG(scope));
	if (name.n && node == SS_NONE)
		return ss_fail(err, SS_ENOTFOUND, "the graph has no operation '" SS_FMT "'", SS_ARG(name));
	j.end = j.top + 1;
	while (j.end < j.g->nscopes && j.g->scopes[j.end].depth > j.g->scopes[j.top].depth)
		j.end++;
	j.op = j.g->first_op[j.top];
	j.op_end = j.g->first_op[j.end];
	add_scopes(&j);
	add_incompatible(&j);
	ok = add_op_types(&j) && add_attributes(&j, node);
	ok = ok && (node == SS_NONE || add_neighbours(&j, node)) && (!draw || add_drawing(&j));
	if (ok)
		note_functions(&j);
	ss_u64map_free(&j.by_name);
	ss_strmap_free(&j.words);
	return ok || ss_fail_mem(err);
}

/* Only the number of layers is known here. */
static bool conclude_layers(const struct ss_request *q, struct ss_result *out, double layers)
{
	const struct ss_table *t = ss_result_find(out, "operators");
	bool part = ss_request_param(q, &ss_tool_tf_graph, "scope").n;
	ss_say(out, layers == 1 ? "%s has %.0f layer." : "%s has %.0f layers.", part ? "This scope" : "The model", layers);
	if (t->nrows > 1 && ss_cell_i64(t, 0, "ops") > 1)
		ss_say(out, "The most frequent class is " SS_FMT ", %.0f of them.", SS_ARG(ss_cell_str(t, 0, "op")),
		       (double)ss_cell_i64(t, 0, "ops"));
	return true;
}

/* An estimate from the operators' names: nothing was compiled. */
static bool conclude(const struct ss_request *q, struct ss_result *out, struct ss_err *err)
{
	(void)err;
	const struct ss_table *t = ss_result_find(out, "scopes");
	const char *where =
		ss_request_param(q, &ss_tool_tf_graph, "scope").n ? " of this scope" : "";
	double ops = ss_result_number(out, "ops"), bad = ss_result_number(out, "incompatible"),
	       aside = ss_result_number(out, "not_judged");
	if (!t->nrows || !(ops > 0))
		return true;
	const struct ss_prop *graph = ss_table_find_prop(t, "graph");
	if (graph && ss_str_is(graph->text, "layers"))
		return conclude_layers(q, out, ops);
	if (bad > 0)
		ss_say(out, "A TPU does not run %.0f of the %.0f operations%s.", bad,
		       ops, where);
	else
		ss_say(out,
		       "None of the %.0f operations%s is known to be one that a TPU "
		       "does not run.",
		       ops, where);
	if (bad > 0)
		ss_result_say(out,
			      SS_STR("Outside of the training loop they run on the host, and may stay."));
	if (aside > 0)
		ss_say(out,
		       "%.0f are not judged: they stand in functions, or were placed by hand "
		       "on another device.",
		       aside);
	ss_result_say(out, SS_STR("Nothing was compiled: this is an estimate."));
	return true;
}

const struct ss_tool ss_tool_tf_graph = {
	.name = "tf_graph",
	.title = "TF graph",
	.summary = "The TensorFlow graph by name scopes, and what of it a TPU could run",
	.kind = SS_KIND_TREE,
	.flags = SS_TOOL_ALL_HOSTS | SS_TOOL_OURS,
	.params = params,
	.nparams = SS_COUNT(params),
	.run = run,
	.conclude = conclude,
};
