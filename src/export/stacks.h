/*
 * stacks.h - where time went, by stack: each stack that differs once, with the time spent in its last frame itself.
 *
 * The stack of a device is plane, program, name scopes, operation; that of hosts and other planes is plane, line, and events inside
 * of events. A deeper event counts for the frame at SS_STACK_DEPTH: formats that write each stack in full would grow with the
 * square of the depth.
 */
#ifndef SS_EXPORT_STACKS_H
#define SS_EXPORT_STACKS_H

#include "export/export.h"
#include "model/ops/stack_tree.h"

#define SS_STACK_DEPTH 1024u
#define SS_STACKS_OMIT "lines of devices without operations (steps, programs, asynchronous operations, counters)"

/* False: memory is out. */
bool ss_stacks_of(struct ss_stack_tree *t, struct ss_export *x);

#endif
