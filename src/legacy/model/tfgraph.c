/* tfgraph.c - see tfgraph.h. Linear in names, but for the sorting of scopes and operations. */
#include "legacy/model/tfgraph.h"

#include "base/map.h"
#include "base/vec.h"
#include "legacy/files/graph_file.h"
#include "model/host/host.h"
#include "model/host/identity.h"

#include <math.h>
#include <stdlib.h>

static const struct ss_str tpu_ops[] = {
#define TPU_OP(name) SS_STR_INIT(#name),
#define TPU_ASIDE(name) SS_STR_INIT(#name),
#define TPU_LATER(name) SS_STR_INIT(#name),
#include "legacy/model/tpu_ops.def"
#undef TPU_OP
#undef TPU_ASIDE
#undef TPU_LATER
};

bool ss_tf_op_on_tpu(struct ss_str op)
{
	return ss_str_find_in_order(tpu_ops, SS_COUNT(tpu_ops), op) != SS_NPOS;
}

const char *ss_tf_verdict_name(enum ss_tf_verdict v)
{
	static const char *const names[] = {
		[SS_TF_COMPATIBLE] = "compatible",
		[SS_TF_INCOMPATIBLE] = "incompatible",
		[SS_TF_PLACED] = "not judged: placed by hand",
		[SS_TF_FUNCTION] = "not judged: in a function",
		[SS_TF_UNTYPED] = "not judged: no operator",
		[SS_TF_LAYER] = "not judged: a layer",
	};
	return names[v];
}

/* Does `s` hold `word` (in lower case), whatever the case of its letters? */
static bool holds(struct ss_str s, struct ss_str word)
{
	for (size_t i = 0; i + word.n <= s.n; i++)
		if (ss_str_ieq(ss_str_sub(s, i, i + word.n), word))
			return true;
	return false;
}

enum ss_tf_verdict ss_tf_judge(struct ss_str op, struct ss_str device)
{
	if (!op.n)
		return SS_TF_UNTYPED;
	bool elsewhere = holds(device, SS_STR("cpu:")) || holds(device, SS_STR("gpu:")) || !holds(device, SS_STR("tpu"));
	if (device.n && (elsewhere || ss_str_contains(device, SS_STR("TPU_SYSTEM"))))
		return SS_TF_PLACED;
	return ss_tf_op_on_tpu(op) ? SS_TF_COMPATIBLE : SS_TF_INCOMPATIBLE;
}

struct ss_str ss_tf_op_label(const struct ss_tf_op *op, struct ss_arena *arena)
{
	struct ss_str label = ss_str_sub(op->name, op->label_at, op->name.n);
	return op->is_scope ? ss_arena_printf(arena, "(" SS_FMT ")", SS_ARG(label)) : label;
}

double ss_tf_scope_compatible_frac(const struct ss_tf_scope *s)
{
	return s->nops ? 1.0 - (double)s->n[SS_TF_INCOMPATIBLE] / s->nops : (double)NAN;
}

double ss_tf_scope_judged_frac(const struct ss_tf_scope *s)
{
	double judged = (double)s->n[SS_TF_COMPATIBLE] + s->n[SS_TF_INCOMPATIBLE];
	return judged > 0 ? s->n[SS_TF_COMPATIBLE] / judged : (double)NAN;
}

/* Paths in the order of a tree: "a" before "a/b" before "a.c". */
static int path_cmp(struct ss_str a, struct ss_str b)
{
	for (size_t i = 0; i < a.n && i < b.n; i++)
		if (a.p[i] != b.p[i]) {
			int ca = a.p[i] == '/' ? 0 : (unsigned char)a.p[i] + 1, cb = b.p[i] == '/' ? 0 : (unsigned char)b.p[i] + 1;
			return ca - cb;
		}
	return SS_CMP(a.n, b.n);
}

static int by_path(const void *a, const void *b)
{
	return path_cmp(((const struct ss_tf_scope *)a)->name, ((const struct ss_tf_scope *)b)->name);
}

static int by_place(const void *a, const void *b)
{
	const struct ss_tf_op *x = a, *y = b;
	/* Names are unique in a whole file; in a broken one the order of the file decides. */
	return SS_CMP(x->scope, y->scope) ?: SS_CMP(y->is_scope, x->is_scope) ?:
	       ss_str_cmp(ss_str_sub(x->name, x->label_at, x->name.n), ss_str_sub(y->name, y->label_at, y->name.n)) ?:
	       SS_CMP(x->node, y->node);
}

/* Where the next part of a path ends that is a scope: position of the slash, SS_NPOS for none. */
static size_t next_slash(struct ss_str path, size_t from)
{
	size_t at = ss_str_chr(ss_str_sub(path, from, path.n), '/');
	return at == SS_NPOS || from + at + 1 >= path.n ? SS_NPOS : from + at;
}

/* The name of the scope that a path stands in. */
static struct ss_str scope_of(struct ss_str path)
{
	size_t end = 0, at = next_slash(path, 0);
	for (unsigned depth = 0; at != SS_NPOS && depth < SS_TF_DEPTH; depth++) {
		end = at;
		at = next_slash(path, at + 1);
	}
	return ss_str_sub(path, 0, end);
}

/* All scopes above a path, the whole graph first. */
static bool add_scopes(struct ss_strmap *map, struct ss_str path)
{
	size_t at = next_slash(path, 0);
	bool ok = ss_strmap_add(map, ss_str_sub(path, 0, 0)) != SS_NONE;
	for (unsigned depth = 0; ok && at != SS_NPOS && depth < SS_TF_DEPTH; depth++) {
		ok = ss_strmap_add(map, ss_str_sub(path, 0, at)) != SS_NONE;
		at = next_slash(path, at + 1);
	}
	return ok;
}

/*
 * The path of a node. In a function its name stands behind the function's, of which a hostile file
 * could have a long one repeated for each of many nodes: it is cut, and then told by its number.
 */
static struct ss_str path_of(struct ss_tfgraph *g, const struct ss_graph_node *n)
{
	enum { FUNCTION_BYTES = 200 };
	if (n->function == SS_GRAPH_MAIN && g->def.nparts > 1)
		return ss_arena_printf(&g->arena, "graph_%u/" SS_FMT, n->part + 1, SS_ARG(n->name));
	if (n->function == SS_GRAPH_MAIN)
		return ss_arena_str(&g->arena, n->name);
	struct ss_str fn = g->def.functions[n->function].name;
	if (fn.n <= FUNCTION_BYTES)
		return ss_arena_printf(&g->arena, SS_TF_LIBRARY "/" SS_FMT "/" SS_FMT, SS_ARG(fn), SS_ARG(n->name));
	return ss_arena_printf(&g->arena, SS_TF_LIBRARY "/%.*s…%u/" SS_FMT, FUNCTION_BYTES, fn.p, n->function, SS_ARG(n->name));
}

/* Scopes by path, numbered in that order. */
static bool make_scopes(struct ss_tfgraph *g, struct ss_strmap *map)
{
	bool ok = add_scopes(map, SS_STR(""));
	for (uint32_t i = 0; ok && i < g->nops; i++)
		ok = add_scopes(map, g->ops[i].name);
	g->scopes = ok ? SS_NEW_N(&g->arena, struct ss_tf_scope, map->n + 1) : NULL;
	if (!g->scopes)
		return false;
	g->nscopes = map->n;
	for (uint32_t i = 0; i < map->n; i++)
		g->scopes[i].name = map->keys[i];
	qsort(g->scopes, g->nscopes, sizeof(*g->scopes), by_path);
	ss_strmap_free(map);
	for (uint32_t i = 0; i < g->nscopes; i++)
		if (ss_strmap_add(map, g->scopes[i].name) != i)
			return false;
	for (uint32_t i = 0; i < g->nscopes; i++) {
		struct ss_tf_scope *s = &g->scopes[i];
		size_t slash = ss_str_rchr(s->name, '/');
		s->parent = i ? ss_strmap_get(map, ss_str_sub(s->name, 0, slash == SS_NPOS ? 0 : slash)) : SS_NONE;
		s->depth = i ? g->scopes[s->parent].depth + 1 : 0;
	}
	return true;
}

/* Put each operation into its scope, and count upwards: parents stand before their children. */
static bool place_ops(struct ss_tfgraph *g, const struct ss_strmap *map)
{
	for (uint32_t i = 0; i < g->nops; i++) {
		struct ss_tf_op *op = &g->ops[i];
		struct ss_str scope = scope_of(op->name);
		uint32_t itself = op->name.n ? ss_strmap_get(map, op->name) : SS_NONE;
		op->scope = itself != SS_NONE ? itself : ss_strmap_get(map, scope);
		op->label_at = (uint32_t)(scope.n ? scope.n + 1 : 0);
		op->is_scope = itself != SS_NONE;
		g->scopes[op->scope].nops++;
		g->scopes[op->scope].n[op->verdict]++;
	}
	qsort(g->ops, g->nops, sizeof(*g->ops), by_place);
	g->first_op = SS_NEW_N(&g->arena, uint32_t, g->nscopes + 1);
	if (!g->first_op)
		return false;
	for (uint32_t i = 0; i < g->nscopes; i++)
		g->first_op[i + 1] = g->first_op[i] + g->scopes[i].nops;
	for (uint32_t i = g->nscopes; i-- > 1;) {
		struct ss_tf_scope *s = &g->scopes[i], *above = &g->scopes[s->parent];
		above->nops += s->nops;
		for (unsigned v = 0; v < SS_TF_VERDICTS; v++)
			above->n[v] += s->n[v];
	}
	return true;
}

/*
 * Names are copied, the node's own is the end of its path: what sorts and prints them need not go
 * back to the file.
 */
static bool make_ops(struct ss_tfgraph *g, const struct ss_file *file)
{
	struct ss_graph_walk walk = { file, file->bytes.p };
	g->ops = SS_NEW_N(&g->arena, struct ss_tf_op, g->def.nnodes + 1);
	if (!g->ops)
		return false;
	for (uint32_t i = 0; i < g->def.nnodes; i++) {
		struct ss_graph_node *n = &g->def.nodes[i];
		struct ss_tf_op *op = &g->ops[g->nops++];
		op->name = path_of(g, n);
		op->node = n;
		op->verdict = SS_TF_FUNCTION;
		if (g->keras)
			op->verdict = SS_TF_LAYER;
		else if (n->function == SS_GRAPH_MAIN)
			op->verdict = (uint8_t)ss_tf_judge(ss_graph_op(&g->def, n), ss_graph_device(&g->def, n));
		if (!op->name.p)
			return false;
		n->name = ss_str_sub(op->name, op->name.n - n->name.n, op->name.n);
		ss_graph_walk_to(&walk, n->body.p);
	}
	return true;
}

static void note(struct ss_tfgraph *g, struct ss_str text)
{
	if (text.p)
		g->notes[g->nnotes++] = text;
}

static bool make_notes(struct ss_tfgraph *g, const struct ss_graph_file *f)
{
	const struct ss_event_tally *t = &f->tally;
	struct ss_arena *a = &g->arena;
	bool ok = (g->notes = SS_NEW_N(a, struct ss_str, 6)) != NULL;
	if (ok && f->nversions > 1)
		note(g, ss_arena_printf(a, "%llu graphs in the file: this is the newest",
					(unsigned long long)f->nversions));
	if (ok && t->ndamaged)
		note(g, ss_arena_printf(a, "%llu damaged records were skipped", (unsigned long long)t->ndamaged));
	if (ok && t->bad)
		note(g, ss_arena_printf(a, "damaged at byte %zu: what follows was not read", t->bad_at));
	if (ok && t->cut)
		note(g, SS_STR("the file ends inside a record: it is still being written, or it is truncated"));
	if (ok && g->def.cut)
		note(g, SS_STR("the graph is truncated or damaged: what comes before that is shown"));
	if (ok && g->def.nbroken)
		note(g, ss_arena_printf(a, "%u operation%s could not be read", g->def.nbroken, g->def.nbroken == 1 ? "" : "s"));
	return ok;
}

static void release(void *data)
{
	struct ss_tfgraph *g = data;
	ss_arena_release(&g->arena);
	free(g);
}

static bool read_graph(struct ss_tfgraph *g, struct ss_host *h, struct ss_err *err)
{
	static const char *const forms[] = {
		[SS_GRAPH_EVENTS] = "event file",
		[SS_GRAPH_TRACED] = "traced functions in an event file",
		[SS_GRAPH_KERAS] = "model of Keras in an event file",
		[SS_GRAPH_TEXT] = "text of a graph",
		[SS_GRAPH_SAVED_MODEL] = "SavedModel",
		[SS_GRAPH_META] = "MetaGraphDef",
		[SS_GRAPH_BARE] = "GraphDef",
	};
	struct ss_graph_file f;
	struct ss_strmap map = { 0 };
	struct ss_err why = { 0 };
	bool read = (g->keras ? ss_graph_file_read_keras : ss_graph_file_read)(&f, h->x.file.bytes, &g->arena, &why);
	g->file = &h->x.file;
	ss_tfgraph_forget(g);
	if (!read || !ss_graphdef_read(&g->def, f.graphs, f.n, g->file, &g->arena, &why))
		return ss_fail(err, why.code, "'" SS_FMT "': %s", SS_ARG(h->name), why.text);
	g->source = ss_str_from(forms[f.form]);
	bool ok = make_ops(g, g->file) && make_scopes(g, &map) && place_ops(g, &map) && make_notes(g, &f);
	ss_strmap_free(&map);
	ss_tfgraph_forget(g);
	return ok || ss_fail_mem(err);
}

void ss_tfgraph_forget(const struct ss_tfgraph *g)
{
	ss_file_forget(g->file, g->file->bytes);
}

static void *build_graph(void *owner, bool keras, struct ss_err *err)
{
	struct ss_tfgraph *g = calloc(1, sizeof(*g));
	if (!g) {
		ss_fail_mem(err);
		return NULL;
	}
	g->keras = keras;
	if (read_graph(g, owner, err))
		return g;
	release(g);
	return NULL;
}

static void *build(void *owner, struct ss_err *err)
{
	return build_graph(owner, false, err);
}

static void *build_keras(void *owner, struct ss_err *err)
{
	return build_graph(owner, true, err);
}

static bool is_raw(const struct ss_host *h, struct ss_err *err)
{
	return ss_host_is_raw(h) ||
	       ss_fail(err, SS_ENODATA, "'" SS_FMT "' is a profile, which holds no TensorFlow graph", SS_ARG(h->name));
}

const struct ss_tfgraph *ss_host_tfgraph(struct ss_host *h, struct ss_err *err)
{
	return is_raw(h, err) ? ss_part_get(&h->parts[SS_HOST_GRAPH], build, release, h, err) : NULL;
}

const struct ss_tfgraph *ss_host_keras_graph(struct ss_host *h, struct ss_err *err)
{
	return is_raw(h, err) ? ss_part_get(&h->parts[SS_HOST_KERAS], build_keras, release, h, err) : NULL;
}

uint32_t ss_tfgraph_find_scope(const struct ss_tfgraph *g, struct ss_str name)
{
	for (uint32_t i = 0; i < g->nscopes; i++)
		if (ss_str_eq(g->scopes[i].name, name))
			return i;
	return SS_NONE;
}

uint32_t ss_tfgraph_find_op(const struct ss_tfgraph *g, struct ss_str name)
{
	for (uint32_t i = 0; i < g->nops; i++)
		if (ss_str_eq(g->ops[i].name, name))
			return i;
	return SS_NONE;
}
