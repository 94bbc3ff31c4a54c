/*
 * keras_graph.h - the model of Keras in an event file: its layers and how they are connected, as the
 * callback TensorBoard writes them (`model.to_json()`, plugin graph_keras_model).
 *
 * Models of layers in a row (Sequential) and of layers that call each other (Functional), one inside
 * of another; written by Keras 2 and 3. A layer becomes a node whose operator is its class; the
 * names of models are scopes. An edge to a model leads to its first layers, one from it comes from
 * its last.
 */
#ifndef SS_LEGACY_FILES_KERAS_GRAPH_H
#define SS_LEGACY_FILES_KERAS_GRAPH_H

#include "base/arena.h"
#include "base/err.h"

/* The GraphDef, in the arena. SS_EFORMAT when it is no model, SS_ENODATA when it tells no layers. */
bool ss_keras_graph_read(struct ss_str json, struct ss_str *graphdef, struct ss_arena *arena, struct ss_err *err);

#endif
