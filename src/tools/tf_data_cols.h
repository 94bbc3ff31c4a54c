/*
 * tf_data_cols.h - the tables of tf_data_bottleneck_analysis: computed from a profile, or read from
 * a stored answer.
 */
#ifndef SS_TOOLS_TF_DATA_COLS_H
#define SS_TOOLS_TF_DATA_COLS_H

#include "table/table.h"

enum { BN_HOST, BN_PIPELINE, BN_MAX, BN_NAME, BN_LONG, BN_LATENCY, BN_SUGGESTION, BN_COLS };
enum { PL_HOST, PL_ID, PL_NAME, PL_TYPE, PL_MIN, PL_AVG, PL_MAX, PL_CALLS, PL_SLOW, PL_COLS };
enum { IT_HOST, IT_ID, IT_PARENT, IT_NAME, IT_LONG, IT_ASYNC, IT_COLS };
enum { ST_HOST, ST_PIPELINE, ST_RANK, ST_ID, ST_NAME, ST_BEGIN, ST_DUR, ST_SELF, ST_CALLS, ST_BLOCKING, ST_BOTTLENECK, ST_COLS };

extern const struct ss_col ss_tf_data_bottleneck_cols[BN_COLS];
extern const struct ss_col ss_tf_data_pipeline_cols[PL_COLS];
extern const struct ss_col ss_tf_data_iterator_cols[IT_COLS];
extern const struct ss_col ss_tf_data_stat_cols[ST_COLS];

#endif
