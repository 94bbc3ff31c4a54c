/* cluster_notes.h - the notes of all tools that treat many hosts as one machine. */
#ifndef SS_TOOLS_CLUSTER_NOTES_H
#define SS_TOOLS_CLUSTER_NOTES_H

#include "model/cluster/cluster.h"
#include "tools/tool.h"

/* Notes of the cluster: hosts that are missing, cut or left out, clocks that are not aligned. */
bool ss_cluster_notes(const struct ss_cluster *c, struct ss_result *out);
/* The same of a tool that compares whole recordings alone. */
bool ss_cluster_notes_of_whole(const struct ss_cluster *c, struct ss_result *out);
/* The number of a step, as recorded, for a cell; -1 for none. */
int64_t ss_step_cell(const struct ss_cluster *c, int64_t step);
/*
 * The last column of tables by step, which is there only where step numbers repeat: ss_step_columns says how many columns of
 * so many there are with or without it.
 */
#define SS_STEP_ROUND_COL ID("round", "Round", "How often step numbers had gone back before: only where they do")
size_t ss_step_columns(const struct ss_cluster *c, size_t n);
void ss_set_step(struct ss_table *t, const struct ss_cluster *c, size_t col, size_t round_col, int64_t step);
/* Whole picoseconds as microseconds. */
double ss_ps_us(int64_t ps);

#endif
