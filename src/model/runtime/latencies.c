/* latencies.c - the requests to all hosts, as far as the overview shows them. */
#include "base/safe.h"
#include "base/vec.h"
#include "model/device/env.h"
#include "model/fold.h"
#include "model/host/host.h"
#include "model/preprocess/load.h"
#include "model/runtime/inference.h"

#include <stdlib.h>

struct all {
	struct ss_latencies list; /* first: what the getter returns points here */
	bool any_named;
	size_t cap;
};

static void release_host(void *data)
{
	ss_inference_release(data);
	free(data);
}

static void *build_host(void *owner, struct ss_err *err)
{
	struct ss_host *h = owner;
	bool any = ss_host_may_have_requests(h);
	struct ss_inference *inf = !any || ss_host_load(h, err) ? calloc(1, sizeof(*inf)) : NULL;
	if (!inf || !any)
		return inf;
	if (ss_inference_read(inf, h, err))
		return inf;
	release_host(inf);
	return NULL;
}

const struct ss_inference *ss_host_inference(struct ss_host *h, struct ss_err *err)
{
	return ss_part_get(&h->parts[SS_HOST_REQUESTS], build_host, release_host, h, err);
}

bool ss_inference_intern(struct ss_inference *to, const struct ss_inference *from, struct ss_intern *intern)
{
	*to = (struct ss_inference){ .nrequests = from->nrequests, .nbatches = from->nbatches, .nrelated = from->nrelated,
				     .nprograms = from->nprograms, .npatterns = from->npatterns, .ncut = from->ncut };
	to->requests = ss_intern_copy(intern, from->requests, from->nrequests, sizeof(*to->requests));
	to->batches = ss_intern_copy(intern, from->batches, from->nbatches, sizeof(*to->batches));
	to->related = ss_intern_copy(intern, from->related, from->nrelated, sizeof(*to->related));
	to->programs = ss_intern_copy(intern, from->programs, from->nprograms, sizeof(*to->programs));
	to->patterns = ss_intern_copy(intern, from->patterns, from->npatterns, sizeof(*to->patterns));
	if (intern->no_memory)
		return false;
	for (uint32_t i = 0; i < to->nrequests; i++)
		to->requests[i].model = ss_intern_str(intern, to->requests[i].model);
	for (uint32_t i = 0; i < to->nbatches; i++)
		to->batches[i].model = ss_intern_str(intern, to->batches[i].model);
	for (uint32_t i = 0; i < to->nprograms; i++)
		to->programs[i] = ss_intern_str(intern, to->programs[i]);
	for (uint32_t i = 0; i < to->npatterns; i++)
		to->patterns[i] = ss_intern_str(intern, to->patterns[i]);
	return !intern->no_memory;
}

static bool read_host(struct ss_host *h, struct ss_err *err)
{
	bool trains;
	return ss_host_trains(h, &trains, err) && (trains || ss_host_inference(h, err));
}

static struct ss_latency latency_of(const struct ss_inference_request *r)
{
	const uint64_t *work = r->work_ps;
	return (struct ss_latency){
		.total = (double)ss_safe_between(r->begin_ps, r->end_ps) / 1e9,
		.device = (double)work[SS_SERVE_COMPUTE] / 1e9,
		.communication = (double)(work[SS_SERVE_TO_DEVICE] + work[SS_SERVE_FROM_DEVICE]) / 1e9,
		.named = r->model.n || r->of_some_model,
	};
}

static bool take_host(void *data, size_t i, struct ss_host *h, const void *fact, struct ss_err *err)
{
	struct all *all = data;
	bool trains;
	(void)i, (void)fact;
	if (!ss_host_trains(h, &trains, err))
		return false;
	const struct ss_inference *inf = trains ? NULL : ss_host_inference(h, err);
	if (!inf)
		return trains;
	if (!ss_grow((void **)&all->list.v, &all->cap, all->list.n + inf->nrequests, sizeof(*all->list.v)))
		return ss_fail_mem(err);
	for (uint32_t k = 0; k < inf->nrequests; k++) {
		all->list.v[all->list.n++] = latency_of(&inf->requests[k]);
		all->any_named |= inf->requests[k].model.n > 0;
	}
	for (uint32_t k = 0; k < inf->nbatches; k++)
		all->any_named |= inf->batches[k].model.n > 0;
	return true;
}

static int by_total(const void *a, const void *b)
{
	const struct ss_latency *x = a, *y = b;
	return SS_CMP(x->total, y->total) ?: SS_CMP(x->device, y->device);
}

static bool end(void *data, struct ss_err *err)
{
	struct all *all = data;
	size_t kept = 0;
	(void)err;
	for (size_t i = 0; i < all->list.n; i++)
		if (!all->any_named || all->list.v[i].named)
			all->list.v[kept++] = all->list.v[i];
	all->list.n = kept;
	if (all->list.n)
		qsort(all->list.v, all->list.n, sizeof(*all->list.v), by_total);
	return true;
}

static void release(void *data)
{
	struct all *all = data;
	free(all->list.v);
	free(all);
}

const struct ss_fold ss_fold_requests = {
	.part = SS_MODEL_REQUESTS,
	.size = sizeof(struct all),
	.read = read_host,
	.take = take_host,
	.end = end,
	.release = release,
};

const struct ss_latencies *ss_model_latencies(struct ss_model *m, struct ss_err *err)
{
	return ss_fold_get(m, &ss_fold_requests, err);
}
