/*
 * event_file.h - what a TensorBoard event file (TFRecord of Event messages) holds for us: the
 * graph, and scalars with their wall times.
 *
 * Everything is borrowed from the file. Payloads are checked against their checksums only where
 * they are used: an event file may hold gigabytes of images.
 */
#ifndef SS_LEGACY_FILES_EVENT_FILE_H
#define SS_LEGACY_FILES_EVENT_FILE_H

#include "base/err.h"
#include "legacy/files/tfrecord.h"

struct ss_tf_event {
	double wall_time_s;	/* since the Unix epoch */
	int64_t step;
	struct ss_str bytes;	/* of the message, for ss_tfrecord_intact */
	struct ss_str graph_def, meta_graph_def, summary, tagged_metadata; /* p NULL: not there */
};

/* The contents that were found in a file. */
struct ss_event_tally {
	uint64_t nrecords;
	uint64_t ndamaged;	/* records with a wrong checksum, passed over */
	bool cut, bad;		/* as in struct ss_tfrecord */
	size_t bad_at, cut_at;	/* byte where reading ended, if so */
};

/* Do the bytes begin like an event file? Decides nothing but what to say of the others. */
bool ss_event_file_is(struct ss_str bytes);

/*
 * The graph of a file as TensorBoard takes it: of several the newest; one inside a MetaGraphDef
 * only where there is no other. A program traced with tf.summary.trace_export leaves RunMetadata
 * instead, in a summary of its own kind; TensorFlow 1's add_run_metadata in an event of its own.
 */
struct ss_event_graph {
	struct ss_str graph;	/* GraphDef; p NULL: the file holds none */
	struct ss_str run_metadata; /* where there is no graph: the newest; p NULL: none either */
	uint64_t n;		/* how many of the kind that is given */
};
void ss_event_file_graph(struct ss_str bytes, struct ss_event_graph *out, struct ss_event_tally *tally);

/* The newest model of Keras, in JSON, of the `n` in the file; p NULL: the file holds none. */
void ss_event_file_keras(struct ss_str bytes, struct ss_str *json, uint64_t *n, struct ss_event_tally *tally);

/* Does the first part of a file tell that it holds a graph? */
bool ss_event_file_tells_graph(struct ss_str head);

/* Each tag of each intact summary with its event; false from the function ends the walk with failure. */
typedef bool ss_event_tag_fn(void *arg, const struct ss_tf_event *event, struct ss_str tag, struct ss_err *err);
bool ss_event_file_tags(struct ss_str bytes, ss_event_tag_fn *fn, void *arg, struct ss_event_tally *tally,
			struct ss_err *err);

#endif
