/* inference_models.c - reads the requests and batches of all hosts and files them by model. */
#include "tools/inference_models.h"

#include "model/model.h"

#include <stdlib.h>

static struct served_item item_of_request(const struct ss_inference_request *r)
{
	return (struct served_item){
		.id = r->id, .begin_ps = r->begin_ps, .end_ps = r->end_ps,
		.v = {
			[V_LATENCY] = (int64_t)((uint64_t)r->end_ps - (uint64_t)r->begin_ps), [V_DELAY] = r->delay_ps,
			[V_SIZE] = r->size, [V_PREPROCESS] = (int64_t)r->work_ps[SS_SERVE_PREPROCESS],
			[V_FORMATION] = (int64_t)r->work_ps[SS_SERVE_BATCHING],
			[V_RUNTIME] = (int64_t)r->work_ps[SS_SERVE_RUNTIME], [V_H2D] = (int64_t)r->work_ps[SS_SERVE_TO_DEVICE],
			[V_D2H] = (int64_t)r->work_ps[SS_SERVE_FROM_DEVICE],
			[V_COMPUTE] = (int64_t)r->work_ps[SS_SERVE_COMPUTE],
			[V_POSTPROCESS] = (int64_t)r->work_ps[SS_SERVE_POSTPROCESS], [V_IDLE] = (int64_t)r->work_ps[SS_SERVE_IDLE],
		},
	};
}

static struct served_item item_of_batch(const struct ss_inference *inf, const struct ss_batch *b)
{
	return (struct served_item){
		.id = b->id, .begin_ps = b->begin_ps, .end_ps = b->end_ps, .programs = &inf->programs[b->first_program],
		.nprograms = b->nprograms,
		.v = {
			[V_LATENCY] = (int64_t)((uint64_t)b->end_ps - (uint64_t)b->begin_ps), [V_DELAY] = b->delay_ps,
			[V_COMPUTE] = (int64_t)b->compute_ps, [V_PADDING] = b->padding, [V_BATCH_SIZE] = b->size_after_padding,
		},
	};
}

/* The data of one host. */
struct of_host {
	struct ss_inference inf;
	struct ss_batching batching;
};

struct reader {
	const struct ss_request *q;
	struct served_models *models;
	struct of_host *hosts;
	struct ss_intern *texts; /* of the result */
	bool any_id;
	struct ss_str only; /* the model that is named, as long as it is one; "" where there are several */
};

/*
 * The model of this name; NULL when memory is out. Without any name in the profile all share one.
 */
static struct served_model *model_of(struct reader *rd, struct ss_str name)
{
	if (!rd->any_id)
		name = SS_STR("ALL");
	uint32_t i = ss_strmap_add(&rd->models->by_name, name);
	if (i == SS_NONE || (i == rd->models->v.n && !ss_vec_push(&rd->models->v, (struct served_model){ .name = name })))
		return NULL;
	return &rd->models->v.v[i];
}

static void find_params(const struct of_host *h, struct served_model *m)
{
	for (size_t i = 0; i < h->batching.n && !m->params.known; i++)
		if (ss_str_eq(h->batching.v[i].model, m->name))
			m->params = h->batching.v[i].params;
}

static bool add_copied(struct served_model *m, const struct ss_inference *inf, uint32_t pattern, uint64_t dur_ps)
{
	return pattern == SS_NONE || ss_vec_push(&m->copied, ((struct served_copy){ inf->patterns[pattern], dur_ps }));
}

static bool add_host(struct reader *rd, const struct of_host *h)
{
	const struct ss_inference *inf = &h->inf;
	rd->models->has_patterns = rd->models->has_patterns || inf->npatterns;
	for (uint32_t i = 0; i < inf->nrequests; i++) {
		const struct ss_inference_request *r = &inf->requests[i];
		struct ss_str name = !r->model.n && r->of_some_model ? rd->only : r->model;
		if (rd->any_id && !name.n) {
			rd->models->nunnamed++;
			continue;
		}
		struct served_model *m = model_of(rd, name);
		if (!m || !ss_vec_push(&m->requests, item_of_request(r)) || !add_copied(m, inf, r->pattern, r->pattern_ps))
			return false;
		for (uint32_t k = 0; k < r->nbatches; k++) {
			const struct ss_batch *b = &inf->batches[inf->related[r->first_batch + k]];
			if (!ss_vec_push(&m->links, ((struct served_link){ (uint32_t)m->requests.n - 1, b->size_after_padding })))
				return false;
		}
	}
	for (uint32_t i = 0; i < inf->nbatches; i++) {
		const struct ss_batch *b = &inf->batches[i];
		if (rd->any_id && !b->model.n)
			continue;
		struct served_model *m = model_of(rd, b->model);
		if (!m || !ss_vec_push(&m->batches, item_of_batch(inf, b)) || !add_copied(m, inf, b->pattern, b->pattern_ps))
			return false;
		find_params(h, m);
	}
	return true;
}

static bool keep_batching(struct reader *rd, struct ss_batching *to, const struct ss_batching *from)
{
	to->v = SS_NEW_N(rd->q->arena, struct ss_batching_model, from->n + 1);
	for (; to->v && to->n < from->n; to->n++) {
		struct ss_batching_model *m = &to->v[to->n];
		*m = from->v[to->n];
		struct ss_str *const texts[] = { &m->model, &m->params.threads, &m->params.max_batch_size, &m->params.timeout_us,
						 &m->params.max_enqueued, &m->params.allowed_sizes };
		for (size_t i = 0; i < SS_COUNT(texts); i++)
			*texts[i] = ss_intern_str(rd->texts, *texts[i]);
	}
	return to->v;
}

static bool read_host(void *arg, size_t i, struct ss_host *h, struct ss_err *err)
{
	(void)arg;
	(void)i;
	return ss_host_batching(h, err) != NULL;
}

static void note_name(struct reader *rd, struct ss_str name)
{
	if (!name.n)
		return;
	if (!rd->any_id)
		rd->only = name;
	else if (!ss_str_eq(rd->only, name))
		rd->only = SS_STR("");
	rd->any_id = true;
}

static bool take_host(void *arg, size_t i, struct ss_host *h, struct ss_err *err)
{
	struct reader *rd = arg;
	struct of_host *o = &rd->hosts[i];
	const struct ss_inference *inf = ss_host_inference(h, err);
	const struct ss_batching *batching = inf ? ss_host_batching(h, err) : NULL;
	if (!batching)
		return false;
	o->inf = *inf;
	if ((rd->texts->copies && !ss_inference_intern(&o->inf, inf, rd->texts)) || !keep_batching(rd, &o->batching, batching))
		return ss_fail_mem(err);
	for (uint32_t k = 0; k < o->inf.nrequests; k++)
		note_name(rd, o->inf.requests[k].model);
	for (uint32_t k = 0; k < o->inf.nbatches; k++)
		note_name(rd, o->inf.batches[k].model);
	rd->models->ncut += o->inf.ncut;
	return true;
}

/*
 * All hosts are read before any is added: whether a model is named anywhere decides about all
 * requests.
 */
bool ss_served_models_read(struct served_models *m, const struct ss_request *q, struct ss_result *out, struct ss_err *err)
{
	struct reader rd = { .q = q, .models = m, .only = SS_STR(""), .texts = &out->texts };
	const struct ss_visit visit = { .read = read_host, .take = take_host, .arg = &rd };
	size_t nhosts = q->model->nhosts;
	rd.hosts = SS_NEW_N(q->arena, struct of_host, nhosts + 1);
	bool ok = rd.hosts ? ss_tool_visit(q, out, &visit, err) : ss_fail_mem(err);
	for (size_t i = 0; ok && i < nhosts; i++)
		ok = add_host(&rd, &rd.hosts[i]) || ss_fail_mem(err);
	return ok && (m->v.n || model_of(&rd, SS_STR("ALL")) || ss_fail_mem(err));
}

void ss_served_models_free(struct served_models *m)
{
	for (size_t i = 0; i < m->v.n; i++) {
		ss_vec_free(&m->v.v[i].requests);
		ss_vec_free(&m->v.v[i].batches);
		ss_vec_free(&m->v.v[i].links);
		ss_vec_free(&m->v.v[i].copied);
	}
	ss_vec_free(&m->v);
	ss_strmap_free(&m->by_name);
}
