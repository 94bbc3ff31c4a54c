/* graph_file.c - see graph_file.h. */
#include "legacy/files/graph_file.h"

#include "legacy/files/graph_text.h"
#include "legacy/files/keras_graph.h"
#include "wire/pb.h"

enum {
	SAVED_MODEL_SCHEMA = 1,	/* a number, where the others have messages */
	SAVED_MODEL_META_GRAPH = 2,
	META_GRAPH_INFO = 1,
	META_GRAPH_GRAPH = 2,
	RUN_PARTITION_GRAPHS = 3,
	RUN_FUNCTION_GRAPHS = 4,
	FUNCTION_GRAPHS_BEFORE = 2, /* pre_optimization_graph */
	NODE_NAME = 1,
	NODE_OP = 2,
};

/* The last field `number` of a message, counted; p NULL if there is none. */
static struct ss_str last_field(struct ss_str message, uint32_t number, uint64_t *n)
{
	struct ss_pb c = ss_pb_of(message);
	struct ss_pb_field f;
	struct ss_str found = { NULL, 0 };
	while (message.p && ss_pb_next(&c, &f))
		if (f.key == PB_LEN(number)) {
			found = f.bytes;
			++*n;
		}
	return found;
}

static bool one_graph(struct ss_graph_file *f, struct ss_str graph, struct ss_arena *arena, struct ss_err *err)
{
	f->graphs = SS_NEW_N(arena, struct ss_str, 1);
	if (!f->graphs)
		return ss_fail_mem(err);
	f->graphs[0] = graph;
	f->n = 1;
	return true;
}

/*
 * The graph of each traced function as it was before it was optimized; where there is none, what each
 * device was given of the program.
 */
static bool traced_graphs(struct ss_graph_file *f, struct ss_str run_metadata, struct ss_arena *arena, struct ss_err *err)
{
	struct ss_pb_field field;
	size_t n = 0;
	for (struct ss_pb c = ss_pb_of(run_metadata); ss_pb_next(&c, &field);)
		n += field.key == PB_LEN(RUN_FUNCTION_GRAPHS) || field.key == PB_LEN(RUN_PARTITION_GRAPHS);
	f->graphs = SS_NEW_N(arena, struct ss_str, n);
	if (!f->graphs)
		return ss_fail_mem(err);
	for (struct ss_pb c = ss_pb_of(run_metadata); ss_pb_next(&c, &field);) {
		uint64_t found = 0;
		if (field.key != PB_LEN(RUN_FUNCTION_GRAPHS))
			continue;
		struct ss_str graph = last_field(field.bytes, FUNCTION_GRAPHS_BEFORE, &found);
		if (graph.p && f->n < n)
			f->graphs[f->n++] = graph;
	}
	for (struct ss_pb c = ss_pb_of(f->n ? SS_STR("") : run_metadata); ss_pb_next(&c, &field);)
		if (field.key == PB_LEN(RUN_PARTITION_GRAPHS) && f->n < n)
			f->graphs[f->n++] = field.bytes;
	return f->n || ss_fail(err, SS_ENODATA, "the event file holds the trace of a program, but no graph of its functions");
}

static bool read_events(struct ss_graph_file *f, struct ss_str bytes, struct ss_arena *arena, struct ss_err *err)
{
	struct ss_event_graph e;
	f->form = SS_GRAPH_EVENTS;
	ss_event_file_graph(bytes, &e, &f->tally);
	f->nversions = e.n;
	if (e.graph.p)
		return one_graph(f, e.graph, arena, err);
	f->form = SS_GRAPH_TRACED;
	if (e.run_metadata.p)
		return traced_graphs(f, e.run_metadata, arena, err);
	if (f->tally.bad)
		return ss_fail(err, SS_ENODATA, "the event file holds no graph up to byte %zu, where it is damaged",
			       f->tally.bad_at);
	return ss_fail(err, SS_ENODATA, "the event file holds no graph: none of its %llu records is a graph_def%s",
		       (unsigned long long)f->tally.nrecords, f->tally.ndamaged ? " that is intact" : "");
}

/* Does it begin with a node that has a name and an operator? */
static bool is_node(struct ss_str bytes)
{
	struct ss_pb c = ss_pb_of(bytes);
	struct ss_pb_field f;
	bool name = false, op = false;
	while (ss_pb_next(&c, &f)) {
		name = name || f.key == PB_LEN(NODE_NAME);
		op = op || f.key == PB_LEN(NODE_OP);
	}
	return name && op && !c.bad;
}

static bool of_bytes(struct ss_graph_file *f, struct ss_str bytes, struct ss_arena *arena, struct ss_err *err)
{
	struct ss_pb c = ss_pb_of(bytes);
	struct ss_pb_field first;
	struct ss_str graph = bytes;
	uint64_t n = 0;
	f->nversions = 1;
	f->form = SS_GRAPH_BARE;
	if (!ss_pb_next(&c, &first))
		return ss_fail(err, SS_EFORMAT, "is neither an event file nor a graph (GraphDef)");
	if (first.key == PB_VAR(SAVED_MODEL_SCHEMA)) {
		f->form = SS_GRAPH_SAVED_MODEL;
		struct ss_str meta = last_field(bytes, SAVED_MODEL_META_GRAPH, &n);
		f->nversions = n;
		graph = last_field(meta, META_GRAPH_GRAPH, &n);
	} else if (first.key == PB_LEN(META_GRAPH_INFO) && !is_node(first.bytes)) {
		f->form = SS_GRAPH_META;
		graph = last_field(bytes, META_GRAPH_GRAPH, &n);
	}
	if (!graph.p)
		return ss_fail(err, SS_ENODATA, "holds no graph (GraphDef)");
	return one_graph(f, graph, arena, err);
}

bool ss_graph_file_read(struct ss_graph_file *f, struct ss_str bytes, struct ss_arena *arena, struct ss_err *err)
{
	struct ss_str graph;
	*f = (struct ss_graph_file){ 0 };
	if (!bytes.n)
		return ss_fail(err, SS_ENODATA, "is empty");
	if (ss_event_file_is(bytes))
		return read_events(f, bytes, arena, err);
	if (!ss_graph_text_is(bytes))
		return of_bytes(f, bytes, arena, err);
	f->form = SS_GRAPH_TEXT;
	f->nversions = 1;
	return ss_graph_text_read(bytes, &graph, arena, err) && one_graph(f, graph, arena, err);
}

bool ss_graph_file_read_keras(struct ss_graph_file *f, struct ss_str bytes, struct ss_arena *arena, struct ss_err *err)
{
	struct ss_str json, graph;
	*f = (struct ss_graph_file){ .form = SS_GRAPH_KERAS };
	if (!ss_event_file_is(bytes))
		return ss_fail(err, SS_ENODATA, "is no event file: Keras writes the graph of a model's layers into one");
	ss_event_file_keras(bytes, &json, &f->nversions, &f->tally);
	if (!json.p)
		return ss_fail(err, SS_ENODATA, "the event file holds no model of Keras");
	return ss_keras_graph_read(json, &graph, arena, err) && one_graph(f, graph, arena, err);
}
