/* batching.c - how the batching layer of a serving program is configured, out of the metrics it exports. */
#include "base/map.h"

#include "model/host/host.h"
#include "model/host/plane.h"
#include "model/runtime/inference.h"

#include <stdlib.h>

/* "m0:1" is version 1 of the model "m0", as the batching layer calls it. */
static struct ss_str model_name(struct ss_str id)
{
	size_t colon = ss_str_rchr(id, ':');
	return colon == SS_NPOS ? id : ss_str_sub(id, 0, colon);
}

/* "/tensorflow/serving/batching/<parameter>{model_name=<model>}" */
static struct ss_str parameter_of(struct ss_str stat, struct ss_str model)
{
	const struct ss_str prefix = SS_STR("/tensorflow/serving/batching/"), middle = SS_STR("{model_name=");
	if (!ss_str_starts(stat, prefix))
		return SS_STR("");
	stat = ss_str_sub(stat, prefix.n, stat.n);
	size_t brace = ss_str_chr(stat, '{');
	struct ss_str labels = brace == SS_NPOS ? SS_STR("") : ss_str_sub(stat, brace, stat.n);
	if (!ss_str_starts(labels, middle) || !ss_str_ends(labels, SS_STR("}")))
		return SS_STR("");
	if (!ss_str_eq(ss_str_sub(labels, middle.n, labels.n - 1), model))
		return SS_STR("");
	return ss_str_sub(stat, 0, brace);
}

static struct ss_str number(struct ss_arena *arena, const struct ss_xstat *s)
{
	return ss_arena_printf(arena, "%lld", (long long)ss_xstat_int_or_uint(s));
}

/*
 * The plane of exported metrics has one event at the begin and one at the end of the profile; the
 * stats of the last are the configuration as it is now.
 */
static bool params_of(const struct ss_host *h, struct ss_str model, struct ss_arena *arena, struct ss_batching_params *out)
{
	const struct ss_plane *p = NULL;
	const struct ss_str zero = SS_STR("0");
	*out = (struct ss_batching_params){ false, zero, zero, zero, zero, SS_STR("") };
	for (uint32_t i = 0; i < h->nplanes && !p; i++)
		if (ss_str_is(h->planes[i].name, "/host:tfstreamz"))
			p = &h->planes[i];
	if (!p || !p->nlines || p->lines[0].ev.n < 2)
		return true;
	struct ss_xstats it = ss_line_stats(p, &p->lines[0], p->lines[0].ev.n - 1);
	struct ss_xstat s;
	const struct {
		const char *name;
		struct ss_str *to;
	} numbers[] = {
		{ "num_batch_threads", &out->threads }, { "max_batch_size", &out->max_batch_size },
		{ "batch_timeout_micros", &out->timeout_us }, { "max_enqueued_batches", &out->max_enqueued },
	};
	while (ss_xstats_next(&it, &s)) {
		struct ss_str name = s.meta == SS_NONE ? SS_STR("") : p->x->stat_meta[s.meta].name;
		struct ss_str param = parameter_of(name, model_name(model));
		if (ss_str_is(param, "allowed_batch_sizes")) {
			out->allowed_sizes = ss_xstat_str(&s);
			out->known = true;
		}
		for (size_t i = 0; i < SS_COUNT(numbers); i++) {
			if (!ss_str_is(param, numbers[i].name))
				continue;
			*numbers[i].to = number(arena, &s);
			out->known = true;
			if (!numbers[i].to->p)
				return false;
		}
	}
	return true;
}

struct own {
	struct ss_batching all; /* first */
	struct ss_arena arena;
};

static void release(void *data)
{
	struct own *own = data;
	ss_arena_release(&own->arena);
	free(own);
}

static bool add(struct own *own, const struct ss_host *h, struct ss_str model)
{
	struct ss_batching_model *to = &own->all.v[own->all.n];
	for (size_t i = 0; i < own->all.n; i++)
		if (ss_str_eq(own->all.v[i].model, model))
			return true;
	to->model = model;
	own->all.n++;
	return params_of(h, model, &own->arena, &to->params);
}

static bool add_all(struct own *own, const struct ss_host *h, const struct ss_inference *inf)
{
	struct ss_strmap models = { 0 };
	bool ok = true;
	for (uint32_t i = 0; ok && i < inf->nbatches; i++)
		ok = ss_strmap_add(&models, inf->batches[i].model) != SS_NONE;
	own->all.v = SS_NEW_N(&own->arena, struct ss_batching_model, (size_t)models.n + 2);
	ok = ok && own->all.v;
	for (uint32_t i = 0; ok && i < models.n; i++)
		ok = add(own, h, models.keys[i]);
	ok = ok && (!models.n || add(own, h, SS_STR("ALL")));
	ss_strmap_free(&models);
	return ok;
}

static void *build(void *owner, struct ss_err *err)
{
	struct ss_host *h = owner;
	const struct ss_inference *inf = ss_host_inference(h, err);
	struct own *own = inf ? calloc(1, sizeof(*own)) : NULL;
	if (!inf || (own && add_all(own, h, inf)))
		return own;
	if (own)
		release(own);
	ss_fail_mem(err);
	return NULL;
}

const struct ss_batching *ss_host_batching(struct ss_host *h, struct ss_err *err)
{
	return ss_part_get(&h->parts[SS_HOST_BATCHING], build, release, h, err);
}
