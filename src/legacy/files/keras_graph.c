/*
 * keras_graph.c - see keras_graph.h.
 *
 * Where a layer takes its tensors from stands in `inbound_nodes`, in two ways of writing: Keras 2 has
 * lists of [layer, call, tensor, {arguments}], Keras 3 the arguments of each call, in which a tensor
 * is {"keras_history": [layer, call, tensor]}. Both are found by what they share: an array of a text
 * and two numbers whose text is a layer of the same model.
 */
#include "legacy/files/keras_graph.h"

#include "base/map.h"
#include "base/vec.h"
#include "wire/json_tree.h"
#include "wire/pb_out.h"

#include <math.h>
#include <stdlib.h>

enum {
	GRAPH_NODE = 1,
	NODE_NAME = 1,
	NODE_OP = 2,
	NODE_INPUT = 3,
	NODE_ATTR = 5,
	ENTRY_KEY = 1,
	ENTRY_VALUE = 2,
	VALUE_TEXT = 2,
	VALUE_INT = 3,
	VALUE_BOOL = 5,
	MODELS = 32,		/* one in another */
	NAME_BYTES = 200,	/* of a layer's own name: what is longer is cut */
	NAMES_PER_BYTE = 32,	/* names with those of the models around them are at most so much longer than the text */
	TEXT_BYTES = 200,
};

/* A tensor: which layer made it, and which of its results it is. */
struct reference {
	uint32_t layer;
	uint32_t tensor;
};

typedef SS_VEC(struct reference) references;

struct layer {
	struct ss_str name;	/* with those of the models around it */
	const struct ss_jnode *config, *inbound;
	struct ss_str class_name;
	uint32_t model;		/* in which it stands: a layer, or SS_NONE */
	uint32_t before;	/* of a model in a row: the layer before it; SS_NONE: the first */
	uint32_t first, last;	/* of a model in a row: its ends; SS_NONE: none */
	bool is_model, in_row;
	references takers, makers; /* of a model: the layers that its inputs go to, and that its outputs come from */
	SS_VEC(struct ss_str) inputs; /* names of layers */
};

struct keras {
	SS_VEC(struct layer) layers;
	struct ss_strmap by_name;
	struct ss_arena *arena;
	struct ss_buf key;	/* a name that is looked for */
	size_t room_bytes;	/* for names */
	bool no_memory;
};

static bool is_row(struct ss_str class_name)
{
	return ss_str_is(class_name, "Sequential");
}

/* ---- the layers ---- */

static struct ss_str cut(struct ss_str name)
{
	return ss_str_sub(name, 0, name.n > NAME_BYTES ? NAME_BYTES : name.n);
}

/* The name of a layer of `model`, until the next is asked for. */
static struct ss_str full_name(struct keras *k, uint32_t model, struct ss_str own)
{
	k->key.n = 0;
	if (model != SS_NONE) {
		ss_buf_str(&k->key, k->layers.v[model].name);
		ss_buf_char(&k->key, '/');
	}
	ss_buf_str(&k->key, cut(own));
	k->no_memory |= k->key.no_memory;
	return ss_buf_get(&k->key);
}

static uint32_t add_layer(struct keras *k, const struct ss_jnode *n, uint32_t model)
{
	const struct ss_jnode *config = ss_jnode_get(n, "config");
	struct ss_str own = ss_jnode_text(n, "name");
	if (!own.n)
		own = ss_jnode_text(config, "name");
	struct layer l = { .config = config, .inbound = ss_jnode_get(n, "inbound_nodes"),
			   .class_name = ss_jnode_text(n, "class_name"),
			   .model = model, .before = SS_NONE, .first = SS_NONE, .last = SS_NONE };
	const struct ss_jnode *inner = ss_jnode_get(config, "layers");
	l.is_model = inner && inner->kind == SS_J_ARRAY;
	l.in_row = is_row(l.class_name);
	struct ss_str name = full_name(k, model, own);
	if (!own.n || name.n > k->room_bytes)
		return SS_NONE;
	k->room_bytes -= name.n;
	l.name = ss_arena_str(k->arena, name);
	uint32_t at = l.name.p ? ss_strmap_add(&k->by_name, l.name) : SS_NONE;
	k->no_memory |= at == SS_NONE;
	if (at != k->layers.n)		/* with the name of another */
		return SS_NONE;
	if (!ss_vec_push(&k->layers, l))
		k->no_memory = true;
	return k->no_memory ? SS_NONE : at;
}

static void add_model(struct keras *k, uint32_t model, unsigned depth)
{
	const struct ss_jnode *list = ss_jnode_get(k->layers.v[model].config, "layers");
	uint32_t before = SS_NONE;
	for (const struct ss_jnode *n = list->first; n && !k->no_memory; n = n->next) {
		uint32_t at = add_layer(k, n, model);
		if (at == SS_NONE)
			continue;
		struct layer *m = &k->layers.v[model];
		k->layers.v[at].before = m->in_row ? before : SS_NONE;
		m->first = m->first == SS_NONE ? at : m->first;
		m->last = before = at;
		if (k->layers.v[at].is_model && depth < MODELS)
			add_model(k, at, depth + 1);
		else
			k->layers.v[at].is_model = false;
	}
}

/* ---- how they are connected ---- */

/* All tensors of a model that are named below `n`, in the order of the text. */
static void find_references(struct keras *k, uint32_t model, const struct ss_jnode *n, references *out)
{
	if (!n || (n->kind != SS_J_ARRAY && n->kind != SS_J_OBJECT) || k->no_memory)
		return;
	const struct ss_jnode *name = n->kind == SS_J_ARRAY ? n->first : NULL, *call = name ? name->next : NULL,
			      *tensor = call ? call->next : NULL;
	if (tensor && name->kind == SS_J_STRING && call->kind == SS_J_NUMBER && tensor->kind == SS_J_NUMBER) {
		uint32_t at = ss_strmap_get(&k->by_name, full_name(k, model, name->text));
		bool fits = tensor->num >= 0 && tensor->num < (double)UINT32_MAX;
		if (at != SS_NONE && !ss_vec_push(out, ((struct reference){ at, fits ? (uint32_t)tensor->num : 0 })))
			k->no_memory = true;
	}
	for (const struct ss_jnode *c = n->first; c; c = c->next)
		find_references(k, model, c, out);
}

/* The layers that take a model's inputs and make its outputs; in a sequence, the first and the last. */
static void find_ends(struct keras *k, uint32_t model)
{
	struct layer *m = &k->layers.v[model];
	if (!m->in_row) {
		find_references(k, model, ss_jnode_get(m->config, "input_layers"), &m->takers);
		find_references(k, model, ss_jnode_get(m->config, "output_layers"), &m->makers);
	}
	if (m->first == SS_NONE)
		return;
	if ((!m->takers.n && !ss_vec_push(&m->takers, ((struct reference){ m->first, 0 }))) ||
	    (!m->makers.n && !ss_vec_push(&m->makers, ((struct reference){ m->last, 0 }))))
		k->no_memory = true;
}

/* The layer that makes a tensor: of a model one of its own. */
static uint32_t maker_of(const struct keras *k, struct reference r)
{
	while (k->layers.v[r.layer].is_model) {
		const struct layer *m = &k->layers.v[r.layer];
		if (!m->makers.n)
			return SS_NONE;
		r = m->makers.v[r.tensor < m->makers.n ? r.tensor : 0];
	}
	return r.layer;
}

static void add_input(struct keras *k, uint32_t to, uint32_t from)
{
	struct ss_str name = from == SS_NONE ? SS_STR("") : k->layers.v[from].name;
	if (!name.n || name.n > k->room_bytes)
		return;
	k->room_bytes -= name.n;
	if (!ss_vec_push(&k->layers.v[to].inputs, name))
		k->no_memory = true;
}

/*
 * The layer that takes the input `i` of a layer: of a model one of its own. A shared model is called
 * several times, each time with all.
 */
static uint32_t taker_of(const struct keras *k, uint32_t layer, size_t i)
{
	while (k->layers.v[layer].is_model) {
		const struct layer *m = &k->layers.v[layer];
		if (!m->takers.n)
			return SS_NONE;
		layer = m->takers.v[i % m->takers.n].layer;
		i = 0;
	}
	return layer;
}

static void connect_all(struct keras *k)
{
	for (uint32_t i = 0; i < k->layers.n && !k->no_memory; i++)
		if (k->layers.v[i].is_model)
			find_ends(k, i);
	for (uint32_t i = 0; i < k->layers.n && !k->no_memory; i++) {
		references inputs = { 0 };
		const struct layer *l = &k->layers.v[i];
		if (l->model != SS_NONE)
			find_references(k, l->model, l->inbound, &inputs);
		if (l->before != SS_NONE && !ss_vec_push(&inputs, ((struct reference){ l->before, 0 })))
			k->no_memory = true;
		for (size_t j = 0; j < inputs.n && !k->no_memory; j++) {
			uint32_t to = taker_of(k, i, j);
			if (to != SS_NONE)
				add_input(k, to, maker_of(k, inputs.v[j]));
		}
		ss_vec_free(&inputs);
	}
}

/* ---- the GraphDef ---- */

static void put_attribute(struct ss_buf *node, struct ss_str key, struct ss_buf *value)
{
	struct ss_buf entry = { 0 };
	ss_pbo_bytes(&entry, ENTRY_KEY, key);
	ss_pbo_bytes(&entry, ENTRY_VALUE, ss_buf_get(value));
	ss_pbo_bytes(node, NODE_ATTR, ss_buf_get(&entry));
	node->no_memory |= entry.no_memory || value->no_memory;
	ss_buf_free(&entry);
}

/* "[3, 3]"; of what stands in brackets only texts, numbers and the like are said. */
static void put_list(struct ss_buf *text, const struct ss_jnode *n)
{
	ss_buf_char(text, '[');
	for (const struct ss_jnode *c = n->first; c && text->n < TEXT_BYTES; c = c->next) {
		if (c->kind == SS_J_ARRAY || c->kind == SS_J_OBJECT)
			ss_buf_z(text, "...");
		else
			ss_buf_str(text, c->kind == SS_J_NULL ? SS_STR("None") : c->text);
		ss_buf_z(text, c->next ? ", " : "");
	}
	ss_buf_char(text, ']');
}

/* The arguments of a layer; for an object (an initializer, a policy of types), its name or its class. */
static void put_config(struct ss_buf *node, const struct ss_jnode *config)
{
	for (const struct ss_jnode *c = config ? config->first : NULL; c; c = c->next) {
		struct ss_buf value = { 0 }, text = { 0 };
		struct ss_str said = c->text;
		if (c->kind == SS_J_OBJECT) {
			said = ss_jnode_text(ss_jnode_get(c, "config"), "name");
			said = said.n ? said : ss_jnode_text(c, "class_name");
		} else if (c->kind == SS_J_ARRAY) {
			put_list(&text, c);
			said = ss_buf_get(&text);
		}
		if (c->kind == SS_J_NUMBER && c->num >= 0 && c->num < 1e15 && c->num == floor(c->num))
			ss_pbo_uint(&value, VALUE_INT, (uint64_t)c->num);
		else if (c->kind == SS_J_TRUE || c->kind == SS_J_FALSE)
			ss_pbo_uint(&value, VALUE_BOOL, c->kind == SS_J_TRUE);
		else if (said.n && c->kind != SS_J_NULL)
			ss_pbo_bytes(&value, VALUE_TEXT, said);
		node->no_memory |= value.no_memory || text.no_memory;
		if (value.n)
			put_attribute(node, c->key, &value);
		ss_buf_free(&value);
		ss_buf_free(&text);
	}
}

static bool put_nodes(struct keras *k, struct ss_str *graphdef)
{
	struct ss_buf graph = { 0 }, node = { 0 };
	for (size_t i = 0; i < k->layers.n; i++) {
		const struct layer *l = &k->layers.v[i];
		if (l->is_model)
			continue;
		node.n = 0;
		ss_pbo_bytes(&node, NODE_NAME, l->name);
		ss_pbo_bytes(&node, NODE_OP, l->class_name);
		for (size_t j = 0; j < l->inputs.n; j++)
			ss_pbo_bytes(&node, NODE_INPUT, l->inputs.v[j]);
		put_config(&node, l->config);
		ss_pbo_bytes(&graph, GRAPH_NODE, ss_buf_get(&node));
	}
	*graphdef = ss_arena_str(k->arena, ss_buf_get(&graph));
	bool ok = !graph.no_memory && !node.no_memory && graphdef->p;
	ss_buf_free(&graph);
	ss_buf_free(&node);
	return ok;
}

bool ss_keras_graph_read(struct ss_str json, struct ss_str *graphdef, struct ss_arena *arena, struct ss_err *err)
{
	struct keras k = { .arena = arena, .room_bytes = NAMES_PER_BYTE * json.n };
	const struct ss_jnode *root = ss_jtree_of_json(json, arena, err);
	if (!root)
		return false;
	uint32_t top = add_layer(&k, root, SS_NONE);
	bool ok = top != SS_NONE && k.layers.v[top].is_model;
	if (ok) {
		add_model(&k, top, 0);
		connect_all(&k);
		ok = !k.no_memory && put_nodes(&k, graphdef);
	} else if (!k.no_memory) {
		struct ss_str name = ss_jnode_text(root, "class_name");
		ss_fail(err, SS_ENODATA, "Keras' model " SS_FMT " tells no layers: only Sequential and Functional models do",
			SS_ARG(name));
	}
	for (size_t i = 0; i < k.layers.n; i++) {
		ss_vec_free(&k.layers.v[i].takers);
		ss_vec_free(&k.layers.v[i].makers);
		ss_vec_free(&k.layers.v[i].inputs);
	}
	ss_buf_free(&k.key);
	bool missing = k.no_memory || (top != SS_NONE && !ok && !err->code);
	ss_vec_free(&k.layers);
	ss_strmap_free(&k.by_name);
	return ok || (missing ? ss_fail_mem(err) : false);
}
