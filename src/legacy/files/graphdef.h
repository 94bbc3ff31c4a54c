/*
 * graphdef.h - a view of a TensorFlow GraphDef: nodes in the order of the file, those of its function
 * library behind them.
 *
 * Names borrow from the bytes; attributes and inputs stay there until those of one node are
 * requested. Field numbers are those of graph.proto, node_def.proto, attr_value.proto, function.proto,
 * tensor_shape.proto and types.proto.
 */
#ifndef SS_LEGACY_FILES_GRAPHDEF_H
#define SS_LEGACY_FILES_GRAPHDEF_H

#include "base/arena.h"
#include "base/err.h"
#include "base/file.h"
#include "wire/pb.h"

struct ss_graph_node {
	struct ss_str name;
	struct ss_str body;	/* the NodeDef, for inputs and attributes */
	uint32_t op, device;	/* indices of words */
	uint32_t function;	/* it stands in, SS_GRAPH_MAIN for none */
	uint32_t part;		/* which of several GraphDefs */
};

#define SS_GRAPH_MAIN UINT32_MAX

struct ss_graph_function {
	struct ss_str name;
	uint32_t first, nnodes;	/* its nodes */
};

struct ss_graphdef {
	struct ss_str *words;	/* operators and devices, each once; [0] is "" */
	struct ss_graph_node *nodes;
	uint32_t nnodes;	/* those in functions behind all others */
	uint32_t nparts;
	struct ss_graph_function *functions;
	uint32_t nfunctions;
	int64_t producer;	/* version of the GraphDef, 0 unknown */
	uint32_t nbroken;	/* nodes that are no NodeDef: left out */
	bool cut;		/* the bytes end early: what stood before that is here */
};

/*
 * `file` is what the bytes are of, or NULL: its pages are given back behind the walk. Operators, devices and functions
 * are copied, each once; names of nodes stay in the bytes.
 *
 * Several GraphDefs are read as one; of functions of the same name the first counts. Memory comes
 * from `arena`. SS_EFORMAT when nothing of the bytes is a GraphDef.
 */
bool ss_graphdef_read(struct ss_graphdef *g, const struct ss_str *parts, size_t nparts, const struct ss_file *file,
		      struct ss_arena *arena, struct ss_err *err);

/* A walk over a file's bytes in their order, which gives back what lies behind. */
struct ss_graph_walk {
	const struct ss_file *file;	/* NULL: nothing is given back */
	const char *from;		/* what was passed since */
};
void ss_graph_walk_to(struct ss_graph_walk *w, const char *at);

static inline struct ss_str ss_graph_op(const struct ss_graphdef *g, const struct ss_graph_node *n)
{
	return g->words[n->op];
}

static inline struct ss_str ss_graph_device(const struct ss_graphdef *g, const struct ss_graph_node *n)
{
	return g->words[n->device];
}

/* An input: "name", "name:2" or "^name". */
struct ss_graph_input {
	struct ss_str name;	/* of the node it comes from */
	uint32_t output;	/* which of that node's */
	bool control;		/* an order only, no data */
};

/* Step through inputs: start with ss_graph_inputs_of. */
struct ss_graph_inputs {
	struct ss_pb c;
};
struct ss_graph_inputs ss_graph_inputs_of(const struct ss_graph_node *n);
bool ss_graph_inputs_next(struct ss_graph_inputs *it, struct ss_graph_input *out);

/* Step through attributes by their order in the file. */
struct ss_graph_attrs {
	struct ss_pb c;
};
struct ss_graph_attrs ss_graph_attrs_of(const struct ss_graph_node *n);
bool ss_graph_attrs_next(struct ss_graph_attrs *it, struct ss_str *name, struct ss_str *value);
/*
 * An attribute's value (an AttrValue) as a text of one line: "float32", "[?,28,28,1]", "[1, 2]",
 * "\"VALID\"". Long lists, texts and tensors end in "…". In `arena`; p NULL when memory is out.
 */
struct ss_str ss_graph_attr_text(struct ss_str value, struct ss_arena *arena);

#endif
