/*
 * facts_pages.c - what single pages show of a host and no other asks for: how much its planes hold,
 * its transfers between slices, its place in a PyTorch job, its input pipelines.
 */
#include "model/megascale/dcn.h"
#include "model/host/host.h"
#include "model/reduced/facts.h"
#include "model/reduced/known.h"
#include "model/runtime/tfdata.h"
#include "model/timeline/plane_sums.h"
#include "model/torch/rank.h"

/*
 * What an iterator did for an element takes some ten bytes: so many in all cases, and one for so
 * many bytes of a recording.
 */
#define ALWAYS_STATS 1000u
#define BYTES_A_STAT 400u

static bool planes(struct ss_pack *p, struct ss_host *h, struct ss_err *err)
{
	struct ss_plane_sum *v = p->reading ? ss_facts_part(p, h, SS_HOST_PLANE_SUMS, ((size_t)h->nplanes + 1) * sizeof(*v))
					    : (struct ss_plane_sum *)(uintptr_t)ss_host_plane_sums(h, err);
	if (!v)
		return p->reading;
	PACK_COLUMN(p, PACK_U, v, h->nplanes, lines);
	PACK_COLUMN(p, PACK_U, v, h->nplanes, events);
	PACK_COLUMN(p, PACK_U, v, h->nplanes, busy_ps);
	PACK_COLUMN(p, PACK_U, v, h->nplanes, dropped);
	return true;
}

static bool slices(struct ss_pack *p, struct ss_host *h, struct ss_err *err)
{
	struct ss_host_dcn own, *d = SS_FACTS(p, h, SS_HOST_DCN, ss_host_dcn(h, err), &own);
	if (!d)
		return p->reading;
	PACK_ARRAY(p, d->v, d->n, 13);
	for (size_t i = 0; d->v && i < d->n; i++) {
		struct ss_dcn *v = &d->v[i];
		uint64_t *const numbers[] = { &v->slack_us, &v->stall_us, &v->observed_us, &v->send_us, &v->send_done_us,
					      &v->recv_us, &v->recv_done_us, &v->occurrences, &v->net_bytes };
		PACK_S(p, v->rendezvous);
		PACK_S(p, v->recv_name);
		PACK_S(p, v->send_name);
		PACK_S(p, v->transfer_type);
		for (size_t k = 0; k < SS_COUNT(numbers); k++)
			PACK_U(p, *numbers[k]);
		p->bad |= !v->occurrences || v->occurrences > UINT32_MAX; /* times are means over them, and are summed */
	}
	return true;
}

static void rank_calls(struct ss_pack *p, struct ss_torch_rank *r)
{
	PACK_ARRAY(p, r->calls, r->ncalls, 11);
	struct ss_torch_rank_call *v = r->calls;
	size_t n = v ? r->ncalls : 0;
	PACK_COLUMN(p, PACK_X, v, n, key);
	PACK_TIMES(p, v, n, nth);
	PACK_TIMES(p, v, n, sequence);
	struct ss_known k = ss_known_device(p->skeleton, 0);
	for (size_t i = 0; i < n; i++) {
		uint64_t dur_ps = (uint64_t)v[i].dur_ns * 1000;
		ss_pack_known_stay(p, &k, &dur_ps);
		PACK_NEAR(p, v[i].dur_ns, dur_ps / 1000);
		p->bad |= v[i].dur_ns < 0;
	}
}

static bool rank(struct ss_pack *p, struct ss_host *h, struct ss_err *err)
{
	struct ss_torch_rank own, *r = SS_FACTS(p, h, SS_HOST_TORCH_RANK, ss_host_torch_rank(h, err), &own);
	if (!r)
		return p->reading;
	PACK_U(p, r->is_torch);
	if (!r->is_torch)
		return true;
	PACK_I(p, r->number);
	PACK_F(p, r->computation_us);
	PACK_F(p, r->overlap_us);
	PACK_F(p, r->communication_us);
	PACK_F(p, r->other_us);
	rank_calls(p, r);
	return true;
}

static void iterators(struct ss_pack *p, struct ss_tfdata *t)
{
	PACK_ARRAY(p, t->iterators, t->niterators, 7);
	struct ss_tfdata_iterator *v = t->iterators;
	size_t n = v ? t->niterators : 0;
	PACK_COLUMN(p, PACK_X, v, n, id);
	PACK_COLUMN(p, PACK_X, v, n, parent_id);
	PACK_COLUMN(p, PACK_S, v, n, name);
	PACK_COLUMN(p, PACK_S, v, n, long_name);
	PACK_COLUMN(p, PACK_U, v, n, is_root);
	PACK_COLUMN(p, PACK_U, v, n, is_device);
	PACK_COLUMN(p, PACK_U, v, n, is_async);
}

static void stats(struct ss_pack *p, struct ss_tfdata *t)
{
	PACK_ARRAY(p, t->stats, t->nstats, 6);
	struct ss_tfdata_stat *v = t->stats;
	size_t n = v ? t->nstats : 0;
	for (size_t i = 0; i < n; i++) {
		PACK_U(p, v[i].iterator);
		p->bad |= v[i].iterator >= t->niterators;
	}
	PACK_TIMES(p, v, n, begin_ps);
	PACK_COLUMN(p, PACK_U, v, n, dur_ps);
	for (size_t i = 0; i < n; i++)
		PACK_NEAR(p, v[i].self_ps, v[i].dur_ps);
	PACK_COLUMN(p, PACK_U, v, n, calls);
	PACK_COLUMN(p, PACK_U, v, n, is_blocking);
}

static void calls(struct ss_pack *p, struct ss_tfdata *t)
{
	PACK_ARRAY(p, t->calls, t->ncalls, 4);
	struct ss_tfdata_call *v = t->calls;
	size_t n = v ? t->ncalls : 0;
	PACK_TIMES(p, v, n, dur_ps);
	PACK_TIMES(p, v, n, first);
	PACK_COLUMN(p, PACK_U, v, n, n);
	for (size_t i = 0; i < n; i++) {
		PACK_NEAR(p, v[i].bottleneck, v[i].first);
		p->bad |= (uint64_t)v[i].first + v[i].n > t->nstats;
		p->bad |= v[i].bottleneck != SS_NONE && v[i].bottleneck >= t->nstats;
	}
}

static void pipelines(struct ss_pack *p, struct ss_tfdata *t)
{
	PACK_ARRAY(p, t->pipelines, t->npipelines, 8);
	for (size_t i = 0; t->pipelines && i < t->npipelines; i++) {
		struct ss_tfdata_pipeline *v = &t->pipelines[i];
		PACK_U(p, v->iterator);
		PACK_U(p, v->number);
		PACK_U(p, v->first);
		PACK_U(p, v->n);
		PACK_U(p, v->sum_ps);
		PACK_U(p, v->min_ps);
		PACK_U(p, v->max_ps);
		PACK_U(p, v->slow);
		p->bad |= v->iterator >= t->niterators || !v->n || (uint64_t)v->first + v->n > t->ncalls;
	}
	PACK_U(p, t->ncut);
}

/* Whoever asks is told so. */
static bool too_many(struct ss_host *h, uint64_t n)
{
	struct ss_err why = { 0 };
	ss_fail(&why, SS_ENODATA,
		"the input pipelines of '" SS_FMT "' have %llu stages of elements, more than a part holds: give its profile itself",
		SS_ARG(h->name), (unsigned long long)n);
	return ss_part_put_failure(&h->parts[SS_HOST_TFDATA], &why);
}

static bool input(struct ss_pack *p, struct ss_host *h, struct ss_err *err)
{
	struct ss_tfdata own;
	const struct ss_tfdata *made = p->reading ? NULL : ss_host_tfdata(h, err);
	uint64_t left_out = made && made->nstats > ALWAYS_STATS + h->source.file_bytes / BYTES_A_STAT ? made->nstats : 0;
	PACK_U(p, left_out);
	if (left_out) {
		p->no_memory |= p->reading && !too_many(h, left_out);
		return true;
	}
	struct ss_tfdata *t = ss_facts_either(p, h, SS_HOST_TFDATA, made, &own, sizeof(own));
	if (!t)
		return p->reading;
	iterators(p, t);
	stats(p, t);
	calls(p, t);
	pipelines(p, t);
	return true;
}

bool ss_facts_pages(struct ss_pack *p, struct ss_host *h, struct ss_err *err)
{
	return planes(p, h, err) && slices(p, h, err) && rank(p, h, err) && input(p, h, err);
}
