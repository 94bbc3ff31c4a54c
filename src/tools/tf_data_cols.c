/* tf_data_cols.c - see tf_data_cols.h. */
#include "tools/tf_data_cols.h"

#include "table/cols.h"

const struct ss_col ss_tf_data_bottleneck_cols[BN_COLS] = {
	STR("host", "Host", NULL),
	STR("input_pipeline", "Input Pipeline", NULL),
	INT("max_latency_ps", "Max Latency", PS, "The slowest element"),
	STR("iterator_name", "Bottleneck", "Stage the slowest element waited for most"),
	STR("iterator_long_name", "Stage", "Name of the stage with its place in the pipeline"),
	INT("iterator_latency_ps", "Bottleneck Latency", PS, "Self time of the stage, summed over all threads"),
	STR("suggestion", "Suggestion", NULL),
};

const struct ss_col ss_tf_data_pipeline_cols[PL_COLS] = {
	STR("host", "Host", NULL),
	STR("id", "Iterator", "Number of the root iterator, in 64 bits"),
	STR("input_pipeline", "Input Pipeline", NULL),
	STR("type", "Type", "HOST, or DEVICE for one that copies to a device in the background"),
	INT("min_latency_ps", "Min", PS, NULL),
	INT("avg_latency_ps", "Mean", PS, NULL),
	INT("max_latency_ps", "Max", PS, NULL),
	INT("calls", "# calls", COUNT, "Elements the program asked for"),
	INT("slow_calls", "# Slow calls", COUNT, "Slower than 50 us"),
};

const struct ss_col ss_tf_data_iterator_cols[IT_COLS] = {
	STR("host", "Host", NULL),
	STR("id", "Iterator", NULL),
	STR("parent_id", "Parent", "Iterator that requests elements from this one; 0: the program"),
	STR("name", "Name", NULL),
	STR("long_name", "Long name", NULL),
	FLAG("is_async", "Works ahead", "Whether the stage has its own threads"),
};

const struct ss_col ss_tf_data_stat_cols[ST_COLS] = {
	STR("host", "Host", NULL),
	STR("pipeline_id", "Input Pipeline", "Number of its root iterator"),
	INT("rank", "Rank", NONE, "Rank by duration; 0: the slowest element of the pipeline"),
	STR("id", "Iterator", NULL),
	STR("name", "Name", NULL),
	INT("start_time_ps", "Start Time", PS, "Since the profile began"),
	INT("duration_ps", "Total Duration", PS, "Time of all calls for this element, on all threads"),
	INT("self_time_ps", "Self Duration", PS, "Time without the overlap with nested calls"),
	INT("calls", "# calls", COUNT, NULL),
	FLAG("is_blocking", "Critical path", "Whether the program waited for the stage"),
	FLAG("is_bottleneck", "Bottleneck", "Whether the stage has the most self time on the critical path"),
};
