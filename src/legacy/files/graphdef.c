/*
 * graphdef.c - see graphdef.h. Counted first, then filled: no array grows with a number from the
 * file.
 */
#include "legacy/files/graphdef.h"

#include "base/map.h"

enum {
	GRAPH_NODE = 1,
	GRAPH_LIBRARY = 2,
	GRAPH_VERSION = 3,	/* of graphs before 2015-11 */
	GRAPH_VERSIONS = 4,
	VERSIONS_PRODUCER = 1,
	LIBRARY_FUNCTION = 1,
	FUNCTION_SIGNATURE = 1,
	FUNCTION_NODE = 3,
	SIGNATURE_NAME = 1,
	NODE_NAME = 1,
	NODE_OP = 2,
	NODE_INPUT = 3,
	NODE_DEVICE = 4,
	NODE_ATTR = 5,
	ENTRY_KEY = 1,
	ENTRY_VALUE = 2,
};

#define FORGET_STRIDE ((ptrdiff_t)1 << 20)

void ss_graph_walk_to(struct ss_graph_walk *w, const char *at)
{
	if (!w->file || (at >= w->from && at - w->from < FORGET_STRIDE))
		return;
	if (at > w->from)
		ss_file_forget(w->file, (struct ss_str){ w->from, (size_t)(at - w->from) });
	w->from = at;
}

/* Facts about a node from its bytes alone. */
struct raw_node {
	struct ss_str name, op, device;
};

static bool read_node(struct ss_str body, struct raw_node *out)
{
	struct ss_pb c = ss_pb_of(body);
	struct ss_pb_field f;
	*out = (struct raw_node){ SS_STR(""), SS_STR(""), SS_STR("") };
	while (ss_pb_next(&c, &f))
		switch (f.key) {
		case PB_LEN(NODE_NAME):
			out->name = f.bytes;
			break;
		case PB_LEN(NODE_OP):
			out->op = f.bytes;
			break;
		case PB_LEN(NODE_DEVICE):
			out->device = f.bytes;
			break;
		}
	return !c.bad && out->name.n;
}

/* The sizes to allocate. */
struct counts {
	size_t nodes, functions;
};

static void count_library(struct ss_str library, struct counts *n, struct ss_graph_walk *w)
{
	struct ss_pb c = ss_pb_of(library);
	struct ss_pb_field f;
	while (ss_pb_next(&c, &f)) {
		if (f.key != PB_LEN(LIBRARY_FUNCTION))
			continue;
		struct ss_pb fn = ss_pb_of(f.bytes);
		n->functions++;
		ss_graph_walk_to(w, f.bytes.p);
		while (ss_pb_next(&fn, &f))
			n->nodes += f.key == PB_LEN(FUNCTION_NODE);
	}
}

struct reading {
	struct ss_graphdef *g;
	struct counts room;	/* what was counted; the file may hold more by now */
	struct ss_strmap functions; /* by name */
	struct ss_strmap words;	/* operators and devices */
	struct ss_graph_walk walk;
	struct ss_arena *arena;
	bool no_memory;
	uint32_t part;
};

/* Index of the one copy of a word. */
static uint32_t word(struct reading *r, struct ss_str s)
{
	uint32_t i = ss_strmap_get(&r->words, s);
	if (i != SS_NONE)
		return i;
	s = ss_arena_str(r->arena, s);
	i = s.p ? ss_strmap_add(&r->words, s) : SS_NONE;
	r->no_memory |= i == SS_NONE;
	return i;
}

static void add_node(struct reading *r, struct ss_str body, uint32_t function)
{
	struct ss_graphdef *g = r->g;
	struct raw_node raw;
	bool ok = g->nnodes < r->room.nodes && read_node(body, &raw);
	if (ok)
		g->nodes[g->nnodes++] = (struct ss_graph_node){ raw.name, body, word(r, raw.op), word(r, raw.device), function,
								 r->part };
	g->nbroken += !ok;
	ss_graph_walk_to(&r->walk, body.p);
}

static struct ss_str name_of_function(struct ss_str bytes)
{
	struct ss_pb c = ss_pb_of(bytes);
	struct ss_pb_field f;
	struct ss_str name = SS_STR("");
	while (ss_pb_next(&c, &f)) {
		if (f.key != PB_LEN(FUNCTION_SIGNATURE))
			continue;
		struct ss_pb s = ss_pb_of(f.bytes);
		while (ss_pb_next(&s, &f))
			if (f.key == PB_LEN(SIGNATURE_NAME))
				name = f.bytes;
	}
	return name;
}

/* False when memory is out. */
static bool read_function(struct reading *r, struct ss_str bytes)
{
	struct ss_graphdef *g = r->g;
	struct ss_graph_function *fn = &g->functions[g->nfunctions];
	struct ss_pb c = ss_pb_of(bytes);
	struct ss_pb_field f;
	if (g->nfunctions == r->room.functions)
		return true;
	*fn = (struct ss_graph_function){ ss_arena_str(r->arena, name_of_function(bytes)), g->nnodes, 0 };
	if (!fn->name.p)
		return false;
	uint32_t known = ss_strmap_add(&r->functions, fn->name);
	if (known != g->nfunctions)
		return known != SS_NONE;
	while (ss_pb_next(&c, &f))
		if (f.key == PB_LEN(FUNCTION_NODE))
			add_node(r, f.bytes, g->nfunctions);
	fn->nnodes = g->nnodes - fn->first;
	g->nfunctions++;
	return true;
}

static bool read_library(struct reading *r, struct ss_str library)
{
	struct ss_pb c = ss_pb_of(library);
	struct ss_pb_field f;
	while (ss_pb_next(&c, &f))
		if (f.key == PB_LEN(LIBRARY_FUNCTION) && !read_function(r, f.bytes))
			return false;
	return true;
}

static int64_t read_producer(struct ss_str versions)
{
	struct ss_pb c = ss_pb_of(versions);
	struct ss_pb_field f;
	int64_t producer = 0;
	while (ss_pb_next(&c, &f))
		if (f.key == PB_VAR(VERSIONS_PRODUCER))
			producer = (int64_t)f.u;
	return producer;
}

static void count_graph(struct ss_graphdef *g, struct ss_str bytes, struct counts *n, struct ss_graph_walk *w)
{
	struct ss_pb c = ss_pb_of(bytes);
	struct ss_pb_field f;
	while (ss_pb_next(&c, &f)) {
		n->nodes += f.key == PB_LEN(GRAPH_NODE);
		if (f.key == PB_LEN(GRAPH_NODE))
			ss_graph_walk_to(w, f.bytes.p);
		if (f.key == PB_LEN(GRAPH_LIBRARY))
			count_library(f.bytes, n, w);
	}
	g->cut = g->cut || c.bad;
}

static void read_main(struct reading *r, struct ss_str bytes)
{
	struct ss_pb c = ss_pb_of(bytes);
	struct ss_pb_field f;
	while (ss_pb_next(&c, &f)) {
		if (f.key == PB_LEN(GRAPH_NODE))
			add_node(r, f.bytes, SS_GRAPH_MAIN);
		else if (f.key == PB_VAR(GRAPH_VERSION) && !r->g->producer)
			r->g->producer = (int64_t)f.u;
		else if (f.key == PB_LEN(GRAPH_VERSIONS))
			r->g->producer = read_producer(f.bytes);
	}
}

static bool read_libraries(struct reading *r, struct ss_str bytes)
{
	struct ss_pb c = ss_pb_of(bytes);
	struct ss_pb_field f;
	while (ss_pb_next(&c, &f))
		if (f.key == PB_LEN(GRAPH_LIBRARY) && !read_library(r, f.bytes))
			return false;
	return true;
}

static bool keep_words(struct reading *r)
{
	r->g->words = SS_NEW_N(r->arena, struct ss_str, r->words.n);
	for (uint32_t i = 0; r->g->words && i < r->words.n; i++)
		r->g->words[i] = r->words.keys[i];
	return r->g->words != NULL;
}

bool ss_graphdef_read(struct ss_graphdef *g, const struct ss_str *parts, size_t nparts, const struct ss_file *file,
		      struct ss_arena *arena, struct ss_err *err)
{
	struct reading r = { .g = g, .arena = arena, .walk = { file, file ? file->bytes.p : NULL } };
	struct counts n = { 0 };
	bool ok = true;
	*g = (struct ss_graphdef){ .nparts = (uint32_t)nparts };
	for (size_t i = 0; i < nparts; i++)
		count_graph(g, parts[i], &n, &r.walk);
	if (n.nodes >= UINT32_MAX || n.functions >= UINT32_MAX || nparts >= UINT32_MAX)
		return ss_fail(err, SS_EFORMAT, "the graph has more than %u operations", UINT32_MAX - 1);
	g->nodes = SS_NEW_N(arena, struct ss_graph_node, n.nodes + 1);
	g->functions = SS_NEW_N(arena, struct ss_graph_function, n.functions + 1);
	r.room = n;
	if (!g->nodes || !g->functions || word(&r, SS_STR("")) != 0) {
		ss_strmap_free(&r.words);
		return ss_fail_mem(err);
	}
	for (size_t i = 0; i < nparts; i++) {
		r.part = (uint32_t)i;
		read_main(&r, parts[i]);
	}
	for (size_t i = 0; ok && i < nparts; i++) {
		r.part = (uint32_t)i;
		ok = read_libraries(&r, parts[i]);
	}
	ss_strmap_free(&r.functions);
	ok = ok && !r.no_memory && keep_words(&r);
	ss_strmap_free(&r.words);
	if (!ok)
		return ss_fail_mem(err);
	if (!g->nnodes && (g->cut || g->nbroken))
		return ss_fail(err, SS_EFORMAT, "it is not a graph (GraphDef)");
	return true;
}

struct ss_graph_inputs ss_graph_inputs_of(const struct ss_graph_node *n)
{
	return (struct ss_graph_inputs){ ss_pb_of(n->body) };
}

/*
 * "^a" is a control input, "a:1" the second output. Inside a function an output is named as well,
 * "a:out:0": the name ends at the first colon, the number stands behind the last.
 */
static struct ss_graph_input parse_input(struct ss_str s)
{
	struct ss_graph_input in = { .name = s };
	uint64_t output;
	if (s.n && s.p[0] == '^') {
		in.control = true;
		in.name = ss_str_sub(s, 1, s.n);
		return in;
	}
	size_t colon = ss_str_chr(s, ':'), last = ss_str_rchr(s, ':');
	if (colon == SS_NPOS)
		return in;
	in.name = ss_str_sub(s, 0, colon);
	if (ss_str_to_u64(ss_str_sub(s, last + 1, s.n), &output) && output < UINT32_MAX)
		in.output = (uint32_t)output;
	return in;
}

bool ss_graph_inputs_next(struct ss_graph_inputs *it, struct ss_graph_input *out)
{
	struct ss_pb_field f;
	while (ss_pb_next(&it->c, &f))
		if (f.key == PB_LEN(NODE_INPUT)) {
			*out = parse_input(f.bytes);
			return true;
		}
	return false;
}

struct ss_graph_attrs ss_graph_attrs_of(const struct ss_graph_node *n)
{
	return (struct ss_graph_attrs){ ss_pb_of(n->body) };
}

bool ss_graph_attrs_next(struct ss_graph_attrs *it, struct ss_str *name, struct ss_str *value)
{
	struct ss_pb_field f;
	while (ss_pb_next(&it->c, &f)) {
		if (f.key != PB_LEN(NODE_ATTR))
			continue;
		struct ss_pb e = ss_pb_of(f.bytes);
		*name = *value = SS_STR("");
		while (ss_pb_next(&e, &f)) {
			if (f.key == PB_LEN(ENTRY_KEY))
				*name = f.bytes;
			else if (f.key == PB_LEN(ENTRY_VALUE))
				*value = f.bytes;
		}
		return true;
	}
	return false;
}
