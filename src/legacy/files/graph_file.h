/*
 * graph_file.h - the GraphDef inside of a file, whatever holds it: an event file, a GraphDef, a
 * MetaGraphDef or a SavedModel, binary or as text.
 */
#ifndef SS_LEGACY_FILES_GRAPH_FILE_H
#define SS_LEGACY_FILES_GRAPH_FILE_H

#include "legacy/files/event_file.h"

#include "base/arena.h"

enum ss_graph_form {
	SS_GRAPH_EVENTS, SS_GRAPH_TRACED, SS_GRAPH_KERAS, SS_GRAPH_TEXT, SS_GRAPH_SAVED_MODEL, SS_GRAPH_META, SS_GRAPH_BARE
};

struct ss_graph_file {
	struct ss_str *graphs;	/* bytes of the GraphDefs, in the file or in the arena: more than one of a traced program */
	size_t n;
	enum ss_graph_form form;
	uint64_t nversions;	/* in the file, of which the newest is meant */
	struct ss_event_tally tally; /* of an event file */
};

/* SS_ENODATA when the file holds no graph, SS_EFORMAT when it is none of these. */
bool ss_graph_file_read(struct ss_graph_file *f, struct ss_str bytes, struct ss_arena *arena, struct ss_err *err);
/* The model of Keras that an event file holds, as a graph of its layers. SS_ENODATA when it holds none. */
bool ss_graph_file_read_keras(struct ss_graph_file *f, struct ss_str bytes, struct ss_arena *arena, struct ss_err *err);

#endif
