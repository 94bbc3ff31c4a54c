/*
 * tf_data_bottleneck_analysis.c - which host's tf.data pipeline is slowest, which of its stages is
 * to blame, and what to do.
 *
 * Four tables, from the answer to its proof: the bottleneck of each host's pipelines, the pipelines
 * with their latencies, the stages of each, and what every stage did for every element. The rules
 * stand in model/runtime/tfdata.h.
 */
#include "base/vec.h"

#include "model/host/identity.h"
#include "model/model.h"
#include "model/runtime/tfdata.h"
#include "table/units.h"
#include "tools/tf_data_cols.h"
#include "tools/tool.h"
#include "tools/words.h"

#include <stdlib.h>

/* Stages by what helps them. Names that stand nowhere are "other". */
enum advice { ADVICE_OTHER, ADVICE_PYTHON, ADVICE_SOURCE, ADVICE_SERVICE, ADVICE_REMOTE, ADVICE_PARALLEL, ADVICE_SEQUENTIAL };

static const struct {
	const char *name;
	enum advice advice;
} stages[] = {
	{ "TFRecord", ADVICE_SOURCE }, { "SSTable", ADVICE_SOURCE }, { "RecordIO", ADVICE_SOURCE }, { "Spanner", ADVICE_SOURCE },
	{ "TFColumn", ADVICE_SOURCE }, { "SleepwalkRemoteDataset", ADVICE_SOURCE }, { "TextLine", ADVICE_SOURCE },
	{ "StitchedTimelineDataset", ADVICE_SOURCE }, { "DateKeyDataset", ADVICE_SOURCE }, { "CapacitorProto", ADVICE_SOURCE },
	{ "LMDB", ADVICE_SOURCE }, { "ExternalDataset", ADVICE_SOURCE }, { "PearModel", ADVICE_SOURCE },
	{ "FixedLengthRecord", ADVICE_SOURCE }, { "FromTensor", ADVICE_SOURCE }, { "TensorSlice", ADVICE_SOURCE },
	{ "Generator", ADVICE_PYTHON }, { "SyntheticDatasetOp", ADVICE_SOURCE }, { "DataService", ADVICE_SERVICE },
	{ "GuzzlerDataGuzzlerRemoteDataset", ADVICE_REMOTE }, { "ReverbDataset", ADVICE_REMOTE },
	{ "DatasetSampleGame", ADVICE_REMOTE }, { "Courier", ADVICE_REMOTE }, { "ReverbEpisodeDataset", ADVICE_REMOTE },
	{ "Map", ADVICE_PARALLEL }, { "Interleave", ADVICE_PARALLEL }, { "Filter", ADVICE_SEQUENTIAL },
	{ "Batch", ADVICE_SEQUENTIAL }, { "Unbatch", ADVICE_SEQUENTIAL },
};

static const char *const advice_texts[] = {
	[ADVICE_OTHER] =
		"Raise the stage's parallelism or buffer size (tf.data.AUTOTUNE), or reduce the work "
		"per element. See https://www.tensorflow.org/guide/data_performance_analysis",
	[ADVICE_PYTHON] =
		"A Python generator makes the elements, one at a time. Prepare them offline, read them with TensorFlow's own "
		"datasets, or do less in the generator",
	[ADVICE_SOURCE] =
		"Reading is slow. Store the data close to the machine, split it into more files and "
		"read several files at once (interleave with num_parallel_calls=tf.data.AUTOTUNE)",
	[ADVICE_SERVICE] =
		"The data service is slow. Profile one of its workers with this tool, or add workers",
	[ADVICE_REMOTE] =
		"The pipeline waits for another machine. Profile that machine, and check the network between the machines",
	[ADVICE_PARALLEL] =
		"The stage handles one element at a time. Set num_parallel_calls=tf.data.AUTOTUNE; "
		"if its output is small enough, cache it",
	[ADVICE_SEQUENTIAL] =
		"The stage cannot be made parallel by itself. Put a parallel stage around it (interleave, several "
		"shards), move the work before it, or cache its output",
};

static struct ss_str suggestion(struct ss_str iterator)
{
	struct ss_str name = ss_tfdata_base_name(iterator);
	enum advice advice = ADVICE_OTHER;
	for (size_t i = 0; i < SS_COUNT(stages); i++)
		if (ss_str_is(name, stages[i].name))
			advice = stages[i].advice;
	return ss_str_from(advice_texts[advice]);
}

/* The slowest element of a pipeline, to be ranked among all hosts. */
struct found {
	uint64_t max_ps;
	size_t order;		/* of hosts and pipelines: breaks ties */
	struct ss_str host, pipeline, name, long_name;
	uint64_t latency_ps;
};

struct pipeline_rows {
	const struct ss_request *q;
	struct ss_table *bottlenecks, *pipelines, *iterators, *stats;
	SS_VEC(struct found) found;
	struct ss_intern *texts; /* of the result */
	uint64_t ncut;
};

/*
 * Ids are texts: as numbers they would not survive a browser. Made once for each iterator; NULL
 * when memory is out.
 */
static struct ss_str *make_ids(struct ss_arena *arena, const struct ss_tfdata *d)
{
	struct ss_str *ids = SS_NEW_N(arena, struct ss_str, d->niterators + 1);
	for (size_t i = 0; ids && i < d->niterators; i++) {
		ids[i] = ss_arena_printf(arena, "%lld", (long long)d->iterators[i].id);
		if (!ids[i].p)
			return NULL;
	}
	return ids;
}

static bool add_pipeline(struct pipeline_rows *j, struct ss_str host, const struct ss_tfdata *d, const struct ss_tfdata_pipeline *p,
			 const struct ss_str *ids)
{
	const struct ss_tfdata_iterator *root = &d->iterators[p->iterator];
	struct ss_table *t = j->pipelines;
	const char *kind = root->is_device ? "Device" : "Host";
	struct ss_str name = ss_arena_printf(j->q->arena, "%s:%u", kind, p->number);
	ss_table_row(t);
	ss_set_str(t, PL_HOST, host);
	ss_set_str(t, PL_ID, ids[p->iterator]);
	ss_set_str(t, PL_NAME, name);
	ss_set_str(t, PL_TYPE, root->is_device ? SS_STR("DEVICE") : SS_STR("HOST"));
	ss_set_i64(t, PL_MIN, (int64_t)p->min_ps);
	ss_set_i64(t, PL_AVG, (int64_t)(p->sum_ps / p->n));
	ss_set_i64(t, PL_MAX, (int64_t)p->max_ps);
	ss_set_i64(t, PL_CALLS, p->n);
	ss_set_i64(t, PL_SLOW, (int64_t)p->slow);
	if (root->is_device)
		return true;
	const struct ss_tfdata_call *slowest = &d->calls[p->first];
	struct found f = { .max_ps = p->max_ps, .order = j->found.n, .host = host, .pipeline = name,
			   .name = SS_STR(""), .long_name = SS_STR("") };
	if (slowest->bottleneck != SS_NONE) {
		const struct ss_tfdata_stat *s = &d->stats[slowest->bottleneck];
		f.name = ss_intern_str(j->texts, d->iterators[s->iterator].name);
		f.long_name = ss_intern_str(j->texts, d->iterators[s->iterator].long_name);
		f.latency_ps = s->self_ps;
	}
	return ss_vec_push(&j->found, f);
}

static bool add_iterators(struct pipeline_rows *j, struct ss_str host, const struct ss_tfdata *d, const struct ss_str *ids)
{
	struct ss_table *t = j->iterators;
	for (size_t i = 0; i < d->niterators; i++) {
		const struct ss_tfdata_iterator *it = &d->iterators[i];
		struct ss_str parent = ss_arena_printf(t->arena, "%lld", (long long)it->parent_id);
		ss_table_row(t);
		ss_set_str(t, IT_HOST, host);
		ss_set_str(t, IT_ID, ids[i]);
		ss_set_str(t, IT_PARENT, parent);
		ss_set_str(t, IT_NAME, it->name);
		ss_set_str(t, IT_LONG, it->long_name);
		ss_set_bool(t, IT_ASYNC, it->is_async);
	}
	return true;
}

static bool add_stats(struct pipeline_rows *j, struct ss_str host, const struct ss_tfdata *d, const struct ss_tfdata_pipeline *p,
		      const struct ss_str *ids)
{
	struct ss_table *t = j->stats;
	for (uint32_t rank = 0; rank < p->n; rank++) {
		const struct ss_tfdata_call *c = &d->calls[p->first + rank];
		for (uint32_t i = c->first; i < c->first + c->n; i++) {
			const struct ss_tfdata_stat *s = &d->stats[i];
			ss_table_row(t);
			ss_set_str(t, ST_HOST, host);
			ss_set_str(t, ST_PIPELINE, ids[p->iterator]);
			ss_set_i64(t, ST_RANK, rank);
			ss_set_str(t, ST_ID, ids[s->iterator]);
			ss_set_str(t, ST_NAME, d->iterators[s->iterator].name);
			ss_set_i64(t, ST_BEGIN, s->begin_ps);
			ss_set_i64(t, ST_DUR, (int64_t)s->dur_ps);
			ss_set_i64(t, ST_SELF, (int64_t)s->self_ps);
			ss_set_i64(t, ST_CALLS, (int64_t)s->calls);
			ss_set_bool(t, ST_BLOCKING, s->is_blocking);
			ss_set_bool(t, ST_BOTTLENECK, i == c->bottleneck);
		}
	}
	return true;
}

static bool read_host(void *arg, size_t i, struct ss_host *h, struct ss_err *err)
{
	(void)arg;
	(void)i;
	return ss_host_tfdata(h, err) != NULL;
}

static bool take_host(void *arg, size_t i, struct ss_host *h, struct ss_err *err)
{
	struct pipeline_rows *j = arg;
	struct ss_str name = ss_host_name(j->q->model->hosts[i]);
	const struct ss_tfdata *d = ss_host_tfdata(h, err);
	if (!d)
		return false;
	struct ss_str *ids = make_ids(j->q->arena, d);
	bool ok = ids && add_iterators(j, name, d, ids);
	for (size_t k = 0; ok && k < d->npipelines; k++)
		ok = add_pipeline(j, name, d, &d->pipelines[k], ids) && add_stats(j, name, d, &d->pipelines[k], ids);
	j->ncut += d->ncut;
	return ok || ss_fail_mem(err);
}

static int slowest_first(const void *a, const void *b)
{
	const struct found *x = a, *y = b;
	return SS_CMP(y->max_ps, x->max_ps) ?: SS_CMP(x->order, y->order);
}

static bool add_bottlenecks(struct pipeline_rows *j)
{
	struct ss_table *t = j->bottlenecks;
	if (j->found.n)
		qsort(j->found.v, j->found.n, sizeof(*j->found.v), slowest_first);
	for (size_t i = 0; i < j->found.n; i++) {
		const struct found *f = &j->found.v[i];
		ss_table_row(t);
		ss_set_str(t, BN_HOST, f->host);
		ss_set_str(t, BN_PIPELINE, f->pipeline);
		ss_set_i64(t, BN_MAX, (int64_t)f->max_ps);
		ss_set_str(t, BN_NAME, f->name);
		ss_set_str(t, BN_LONG, f->long_name);
		ss_set_i64(t, BN_LATENCY, (int64_t)f->latency_ps);
		ss_set_str(t, BN_SUGGESTION, f->name.n ? suggestion(f->name) : SS_STR(""));
	}
	return true;
}

static bool add_verdict(struct pipeline_rows *j)
{
	uint64_t worst_ps = j->found.n ? j->found.v[0].max_ps : 0;
	bool slow = worst_ps > SS_TFDATA_SLOW_PS;
	struct ss_str text = SS_STR("The profile holds no activity of tf.data.");
	if (slow)
		text = SS_STR("The input is slow: at least one element took longer than 50 us, so steps may wait "
			      "for it. For each slow pipeline the table names the stage that the slowest element "
			      "waited for.");
	else if (worst_ps)
		text = SS_STR("The input is fast enough: no element took longer than 50 us. If steps still wait, "
			      "check the copies to the device.");
	ss_table_prop(j->bottlenecks, "is_input_bound", slow ? SS_STR("true") : SS_STR("false"));
	ss_table_prop(j->bottlenecks, "summary", text);
	return true;
}

static bool add_notes(struct pipeline_rows *j, struct ss_result *out)
{
	if (!j->ncut)
		return true;
	struct ss_str text = ss_arena_printf(j->q->arena,
					     "%llu calls were not followed further: the profile's elements reference each other "
					     "too many times", (unsigned long long)j->ncut);
	ss_result_note(out, SS_WARNING, text);
	return true;
}

static bool run(const struct ss_request *q, struct ss_result *out, struct ss_err *err)
{
	struct pipeline_rows j = { .q = q, .texts = &out->texts };
	const struct ss_visit visit = { .read = read_host, .take = take_host, .arg = &j };
	if (!ss_result_table(out, "bottlenecks", "Bottlenecks", ss_tf_data_bottleneck_cols, BN_COLS) ||
	    !ss_result_table(out, "input_pipelines", "Input pipelines", ss_tf_data_pipeline_cols, PL_COLS) ||
	    !ss_result_table(out, "iterators", "Stages", ss_tf_data_iterator_cols, IT_COLS) ||
	    !ss_result_table(out, "calls", "Stages by element", ss_tf_data_stat_cols, ST_COLS))
		return ss_fail_mem(err);
	j.bottlenecks = ss_result_at(out, 0);
	j.pipelines = ss_result_at(out, 1);
	j.iterators = ss_result_at(out, 2);
	j.stats = ss_result_at(out, 3);
	bool ok = ss_tool_visit(q, out, &visit, err);
	if (ok && !(add_bottlenecks(&j) && add_verdict(&j) && add_notes(&j, out)))
		ok = ss_fail_mem(err);
	ss_vec_free(&j.found);
	return ok;
}

/* Which element was slowest, and what to do about it. */
static bool conclude(const struct ss_request *q, struct ss_result *out, struct ss_err *err)
{
	(void)err;
	static const char *const summary[] = { "summary" };
	const struct ss_table *t = ss_result_find(out, "bottlenecks");
	if (!t->nrows) {
		ss_say_props(out, summary, 1);
		return true;
	}
	struct ss_str took = ss_unit_text(q->arena, SS_UNIT_PS, ss_cell_f64(t, 0, "max_latency_ps"));
	struct ss_str own = ss_unit_text(q->arena, SS_UNIT_PS, ss_cell_f64(t, 0, "iterator_latency_ps"));
	ss_result_say(out, ss_arena_printf(q->arena, "The slowest element took " SS_FMT ": " SS_FMT " on " SS_FMT
					   " waited most for " SS_FMT ", " SS_FMT " of its own work over all threads.",
					   SS_ARG(took),
					   SS_ARG(ss_cell_str(t, 0, "input_pipeline")), SS_ARG(ss_cell_str(t, 0, "host")),
					   SS_ARG(ss_cell_str(t, 0, "iterator_name")), SS_ARG(own)));
	ss_result_say(out, ss_plain_words(q->arena, ss_cell_str(t, 0, "suggestion")));
	ss_say_props(out, summary, 1);
	return true;
}

const struct ss_tool ss_tool_tf_data_bottleneck_analysis = {
	.name = "tf_data_bottleneck_analysis",
	.title = "tf.data bottleneck analysis",
	.summary = "The stage of a tf.data input pipeline for which the program waits, and how to make it faster",
	.kind = SS_KIND_TABLES,
	.flags = SS_TOOL_ALL_HOSTS | SS_TOOL_OURS | SS_TOOL_VISITS | SS_TOOL_OF_PARTS,
	.present = ss_host_has_tfdata,
	.run = run,
	.conclude = conclude,
};
