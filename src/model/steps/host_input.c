/* host_input.c - input ops of the host. */
#include "model/steps/host_input.h"

#include "model/host/opname.h"
#include "model/ops/framework_ops.h"
#include "model/ops/roofline.h"

struct ss_str ss_input_kind_name(enum ss_input_kind kind)
{
	switch (kind) {
	case SS_INPUT_ENQUEUE:
		return SS_STR("Enqueue");
	case SS_INPUT_DEMANDED_READ:
		return SS_STR("Demanded file read");
	case SS_INPUT_ADVANCED_READ:
		return SS_STR("Advanced file read");
	case SS_INPUT_PREPROCESSING:
		return SS_STR("Preprocessing");
	case SS_INPUT_UNKNOWN:
		break;
	}
	return SS_STR("Unknown");
}

/*
 * A tf.data iterator by its path of transformations: reading files, ahead of time or when asked, or
 * something else.
 */
static enum ss_input_kind dataset_kind(struct ss_str name)
{
	static const struct ss_str readers[] = {
		SS_STR_INIT("::TFRecord"),	    SS_STR_INIT("::TextLine"),
		SS_STR_INIT("::FixedLengthRecord"), SS_STR_INIT("::SSTable"),
		SS_STR_INIT("::RecordIO"),	    SS_STR_INIT("::ArrayRecord"),
	};
	static const struct ss_str ahead[] = {
		SS_STR_INIT("::MemoryReader"), SS_STR_INIT("::MemoryWriter"),
		SS_STR_INIT("::Interleave"),   SS_STR_INIT("::Prefetch"),
		SS_STR_INIT("::ParallelMap"),
	};
	bool reads = false;
	for (size_t i = 0; i < SS_COUNT(readers); i++)
		reads |= ss_str_ends(name, readers[i]);
	if (!reads)
		return SS_INPUT_PREPROCESSING;
	for (size_t i = 0; i < SS_COUNT(ahead); i++)
		if (ss_str_contains(name, ahead[i]))
			return SS_INPUT_ADVANCED_READ;
	return SS_INPUT_DEMANDED_READ;
}

/* Is it an input op, and of which kind? */
static bool kind_of(const struct ss_op *op, enum ss_input_kind *kind)
{
	static const struct {
		struct ss_str category;
		enum ss_input_kind kind;
	} stages[] = {
		{ SS_STR_INIT("enqueue"), SS_INPUT_ENQUEUE },
		{ SS_STR_INIT("read"), SS_INPUT_DEMANDED_READ },
		{ SS_STR_INIT("preprocessing"), SS_INPUT_PREPROCESSING },
		{ SS_STR_INIT("unknown"), SS_INPUT_UNKNOWN },
	};
	for (size_t i = 0; i < SS_COUNT(stages); i++)
		if (ss_str_ieq(op->category, stages[i].category)) {
			*kind = stages[i].kind;
			return true;
		}
	if (ss_op_is_infeed_enqueue(op->category) || ss_str_is(op->category, "MemcpyHToD"))
		*kind = SS_INPUT_ENQUEUE;
	else if (ss_op_is_dataset(op->category))
		*kind = dataset_kind(op->name);
	else
		return false;
	return true;
}

/*
 * While the device works on one batch the host can prepare the next for free: of everything but the
 * enqueueing itself, only that part costs which does not fit. `ratio`: share of the time between
 * enqueues that enqueueing takes.
 */
static void weigh(struct ss_host_input *in, const double sum_us[5], double ratio)
{
	double enqueue = sum_us[SS_INPUT_ENQUEUE];
	double demanded = sum_us[SS_INPUT_DEMANDED_READ], advanced = sum_us[SS_INPUT_ADVANCED_READ];
	double preprocessing = sum_us[SS_INPUT_PREPROCESSING],
	       all = demanded + advanced + preprocessing;
	double rest = ratio != 0 ? enqueue * (1 - ratio) / ratio : all;
	in->enqueue_us = enqueue;
	in->demanded_read_us = ss_ratio(rest * demanded, all);
	in->advanced_read_us = ss_ratio(rest * advanced, all);
	in->preprocessing_us = ss_ratio(rest * preprocessing, all);
	double left = rest - in->demanded_read_us - in->advanced_read_us - in->preprocessing_us;
	in->unclassified_us = left > 0 ? left : 0;
	in->uses_tf_data =
		in->demanded_read_us > 0 || in->advanced_read_us > 0 || in->preprocessing_us > 0;
}

bool ss_host_input_of(struct ss_host_input *out, const struct ss_op_db *host, double transfer_ratio,
		      struct ss_arena *arena)
{
	const struct ss_op **ops = ss_ops_by_self_time(host, arena);
	*out = (struct ss_host_input){ .ops = SS_NEW_N(arena, struct ss_input_op, host->n + 1) };
	double sum_us[5] = { 0 }, ratio = transfer_ratio;
	if (!ops || !out->ops)
		return false;
	for (size_t i = 0; i < host->n; i++) {
		enum ss_input_kind kind;
		if (!kind_of(ops[i], &kind))
			continue;
		out->ops[out->nops++] = (struct ss_input_op){ ops[i], kind };
		out->self_ps += ops[i]->self_ps;
		sum_us[kind] += (double)ops[i]->self_ps / 1e6;
	}
	if (host->infeed_enq_period_ps)
		ratio = (double)host->infeed_enq_ps / (double)host->infeed_enq_period_ps;
	weigh(out, sum_us, ratio < 1 ? ratio : 1);
	return true;
}
