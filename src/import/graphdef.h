/*
 * graphdef.h - a view of a TensorFlow GraphDef: nodes in the order of the file, those of its
 * function library behind them.
 *
 * Names borrow from the bytes; attributes and inputs stay there until somebody asks for those of
 * one node. Field numbers are those of graph.proto, node_def.proto, attr_value.proto,
 * function.proto, tensor_shape.proto and types.proto.
 */
#ifndef SS_IMPORT_GRAPHDEF_H
#define SS_IMPORT_GRAPHDEF_H

#include "base/arena.h"
#include "base/err.h"
#include "wire/pb.h"

struct ss_graph_node {
	struct ss_str name, op, device;
	struct ss_str body;	/* the NodeDef, for inputs and attributes */
	uint32_t ninputs;
	uint32_t function;	/* it stands in, SS_GRAPH_MAIN for none */
	uint32_t part;		/* which of several GraphDefs */
};

#define SS_GRAPH_MAIN UINT32_MAX

struct ss_graph_function {
	struct ss_str name;
	uint32_t first, nnodes;	/* its nodes */
};

struct ss_graphdef {
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
 * Several GraphDefs are read as one; of functions of the same name the first counts. Memory comes
 * from `arena`. SS_EFORMAT when nothing of the bytes is a GraphDef.
 */
bool ss_graphdef_read(struct ss_graphdef *g, const struct ss_str *parts, size_t nparts, struct ss_arena *arena,
		      struct ss_err *err);

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

/* "float32" of a DataType, NULL if the number has none; *ref: a reference to one. */
const char *ss_tf_dtype_name(uint64_t dtype, bool *ref);

#endif
