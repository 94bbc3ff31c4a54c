/* facts_requests.c - requests to a host, as far as their latencies go; whether it trains. */
#include "model/device/env.h"
#include "model/reduced/facts.h"
#include "model/runtime/inference.h"

/* Of what compiled programs compute. */
static bool trains(struct ss_pack *p, struct ss_host *h, struct ss_err *err, bool *out)
{
	bool *part = p->reading ? ss_facts_part(p, h, SS_HOST_TRAINS, sizeof(*part)) : out;
	*out = false;
	if (!p->reading && !ss_host_trains(h, out, err))
		return false;
	if (!part)
		return true;
	PACK_U(p, *part);
	*out = *part;
	return true;
}

static void requests(struct ss_pack *p, struct ss_inference *inf)
{
	PACK_ARRAY(p, inf->requests, inf->nrequests, 7);
	struct ss_inference_request *v = inf->requests;
	size_t n = v ? inf->nrequests : 0;
	PACK_TIMES(p, v, n, id);
	PACK_COLUMN(p, PACK_S, v, n, model);
	PACK_COLUMN(p, PACK_U, v, n, of_some_model);
	PACK_TIMES(p, v, n, begin_ps);
	for (size_t i = 0; i < n; i++)
		PACK_NEAR(p, v[i].end_ps, v[i].begin_ps);
	PACK_COLUMN(p, PACK_U, v, n, work_ps[SS_SERVE_COMPUTE]);
	PACK_COLUMN(p, PACK_U, v, n, work_ps[SS_SERVE_TO_DEVICE]);
	PACK_COLUMN(p, PACK_U, v, n, work_ps[SS_SERVE_FROM_DEVICE]);
	PACK_ARRAY(p, inf->batches, inf->nbatches, 1);
	n = inf->batches ? inf->nbatches : 0;
	PACK_COLUMN(p, PACK_S, inf->batches, n, model);
}

/* What is being trained serves nobody. */
bool ss_facts_requests(struct ss_pack *p, struct ss_host *h, struct ss_err *err)
{
	struct ss_inference own, *inf = &own;
	bool training;
	if (!trains(p, h, err, &training))
		return false;
	if (training || p->bad)
		return true;
	const struct ss_inference *made = p->reading ? NULL : ss_host_inference(h, err);
	if (!p->reading && !made)
		return false;
	if (p->reading)
		inf = ss_facts_part(p, h, SS_HOST_REQUESTS, sizeof(*inf));
	else
		own = *made;
	if (inf)
		requests(p, inf);
	return true;
}
