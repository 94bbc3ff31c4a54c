/*
 * graph_text.h - a GraphDef in protobuf's text format (graph.pbtxt, as Estimators and
 * tf.io.write_graph leave it), turned into its bytes, so that one reader serves both.
 *
 * Fields that no analysis here reads are passed over. What is malformed fails with the line.
 */
#ifndef SS_LEGACY_FILES_GRAPH_TEXT_H
#define SS_LEGACY_FILES_GRAPH_TEXT_H

#include "base/arena.h"
#include "base/err.h"

/* Does it begin like one: a word, then a brace or a colon? Comments and white space may stand before it. */
bool ss_graph_text_is(struct ss_str text);
/* The bytes are in `arena`; of the order of the text's length. */
bool ss_graph_text_read(struct ss_str text, struct ss_str *graph, struct ss_arena *arena, struct ss_err *err);

#endif
