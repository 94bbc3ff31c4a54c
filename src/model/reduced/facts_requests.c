/* facts_requests.c - requests to a host and the batches they ran in; whether it trains. */
#include "model/device/env.h"
#include "model/reduced/facts.h"
#include "model/runtime/inference.h"

/* Of what compiled programs compute. */
static bool trains(struct ss_pack *p, struct ss_host *h, struct ss_err *err)
{
	bool own = false, *part = p->reading ? ss_facts_part(p, h, SS_HOST_TRAINS, sizeof(*part)) : &own;
	if (!p->reading && !ss_host_trains(h, &own, err))
		return false;
	if (part)
		PACK_U(p, *part);
	return true;
}

/* A number of a list of n, or none. */
static void number(struct ss_pack *p, uint32_t *i, uint32_t n)
{
	uint64_t from1 = *i == SS_NONE ? 0 : (uint64_t)*i + 1;
	PACK_U(p, from1);
	p->bad |= p->reading && from1 > n;
	if (p->reading)
		*i = from1 && !p->bad ? (uint32_t)(from1 - 1) : SS_NONE;
}

static void strs(struct ss_pack *p, struct ss_str **v, uint32_t *n)
{
	PACK_ARRAY(p, *v, *n, 1);
	for (size_t i = 0; *v && i < *n; i++)
		PACK_S(p, (*v)[i]);
}

/* Do n elements from `first` on lie in a list of so many? */
static void inside(struct ss_pack *p, uint64_t first, uint64_t n, uint64_t many)
{
	p->bad |= p->reading && first + n > many;
}

static void requests(struct ss_pack *p, struct ss_inference *inf)
{
	PACK_ARRAY(p, inf->requests, inf->nrequests, 16);
	struct ss_inference_request *v = inf->requests;
	size_t n = v ? inf->nrequests : 0;
	PACK_TIMES(p, v, n, id);
	PACK_COLUMN(p, PACK_S, v, n, model);
	PACK_COLUMN(p, PACK_U, v, n, of_some_model);
	PACK_TIMES(p, v, n, begin_ps);
	for (size_t i = 0; i < n; i++)
		PACK_NEAR(p, v[i].end_ps, v[i].begin_ps);
	PACK_COLUMN(p, PACK_I, v, n, delay_ps);
	PACK_COLUMN(p, PACK_I, v, n, size);
	for (size_t k = 0; k < SS_SERVE_WORK_COUNT; k++)
		PACK_COLUMN(p, PACK_U, v, n, work_ps[k]);
	for (size_t i = 0; i < n; i++)
		number(p, &v[i].pattern, inf->npatterns);
	PACK_COLUMN(p, PACK_U, v, n, pattern_ps);
	PACK_TIMES(p, v, n, first_batch);
	PACK_COLUMN(p, PACK_U, v, n, nbatches);
	for (size_t i = 0; i < n; i++)
		inside(p, v[i].first_batch, v[i].nbatches, inf->nrelated);
}

static void batches(struct ss_pack *p, struct ss_inference *inf)
{
	PACK_ARRAY(p, inf->batches, inf->nbatches, 11);
	struct ss_batch *v = inf->batches;
	size_t n = v ? inf->nbatches : 0;
	PACK_TIMES(p, v, n, id);
	PACK_COLUMN(p, PACK_S, v, n, model);
	PACK_TIMES(p, v, n, begin_ps);
	for (size_t i = 0; i < n; i++)
		PACK_NEAR(p, v[i].end_ps, v[i].begin_ps);
	PACK_COLUMN(p, PACK_I, v, n, delay_ps);
	PACK_COLUMN(p, PACK_I, v, n, padding);
	PACK_COLUMN(p, PACK_I, v, n, size_after_padding);
	PACK_COLUMN(p, PACK_U, v, n, compute_ps);
	for (size_t i = 0; i < n; i++)
		number(p, &v[i].pattern, inf->npatterns);
	PACK_COLUMN(p, PACK_U, v, n, pattern_ps);
	PACK_TIMES(p, v, n, first_program);
	PACK_COLUMN(p, PACK_U, v, n, nprograms);
	for (size_t i = 0; i < n; i++)
		inside(p, v[i].first_program, v[i].nprograms, inf->nprograms);
}

static void inference(struct ss_pack *p, struct ss_inference *inf)
{
	strs(p, &inf->programs, &inf->nprograms);
	strs(p, &inf->patterns, &inf->npatterns);
	PACK_ARRAY(p, inf->related, inf->nrelated, 1);
	PACK_U(p, inf->ncut);
	batches(p, inf);
	for (size_t i = 0; inf->related && i < inf->nrelated; i++) {
		PACK_U(p, inf->related[i]);
		p->bad |= inf->related[i] >= inf->nbatches;
	}
	requests(p, inf);
}

static bool batching(struct ss_pack *p, struct ss_host *h, struct ss_err *err)
{
	struct ss_batching own, *b = SS_FACTS(p, h, SS_HOST_BATCHING, ss_host_batching(h, err), &own);
	if (!b)
		return p->reading;
	PACK_ARRAY(p, b->v, b->n, 7);
	for (size_t i = 0; b->v && i < b->n; i++) {
		struct ss_batching_params *c = &b->v[i].params;
		PACK_S(p, b->v[i].model);
		PACK_U(p, c->known);
		PACK_S(p, c->threads);
		PACK_S(p, c->max_batch_size);
		PACK_S(p, c->timeout_us);
		PACK_S(p, c->max_enqueued);
		PACK_S(p, c->allowed_sizes);
	}
	return true;
}

bool ss_facts_requests(struct ss_pack *p, struct ss_host *h, struct ss_err *err)
{
	struct ss_inference own;
	if (!trains(p, h, err))
		return false;
	struct ss_inference *inf = SS_FACTS(p, h, SS_HOST_REQUESTS, ss_host_inference(h, err), &own);
	if (!inf)
		return p->reading;
	inference(p, inf);
	return batching(p, h, err);
}
