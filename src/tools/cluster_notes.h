/* cluster_notes.h - what every tool that sees many hosts as one says beside its tables. */
#ifndef SS_TOOLS_CLUSTER_NOTES_H
#define SS_TOOLS_CLUSTER_NOTES_H

#include "model/cluster/cluster.h"
#include "tools/tool.h"

/* Notes of the cluster: hosts that are missing, cut or left out, clocks that are not aligned. */
bool ss_cluster_notes(const struct ss_cluster *c, struct ss_result *out);
/* A step number for a cell, -1 for none. */
int64_t ss_step_cell(int64_t step);
/* Whole picoseconds as microseconds. */
double ss_ps_us(int64_t ps);

#endif
