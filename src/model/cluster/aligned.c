/* aligned.c - see aligned.h. */
#include "model/cluster/aligned.h"

#include "model/host/part.h"
#include "model/model.h"

#include <stdlib.h>

static void release_aligned(void *data)
{
	ss_model_release(data);
	free(data);
}

static void *build_aligned(void *owner, struct ss_err *err)
{
	const struct ss_model *m = owner;
	struct ss_model *own = calloc(1, sizeof(*own));
	if (!own) {
		ss_fail_mem(err);
		return NULL;
	}
	if (!ss_model_init(own, m->hosts, m->nhosts, err)) {
		free(own);
		return NULL;
	}
	own->aligned = true;
	return own;
}

struct ss_model *ss_model_aligned(struct ss_model *m, struct ss_err *err)
{
	if (m->aligned)
		return m;
	if (!m->visited)
		return ss_part_get(&m->parts[SS_MODEL_ALIGNED], build_aligned, release_aligned, m, err);
	ss_fail(err, SS_EINVAL, "aligning clocks needs the hosts to be open");
	return NULL;
}

/* The contract is that of ss_cluster_time. */
static struct ss_clock_map map_of(const struct ss_cluster *c, const struct ss_cluster_part *p)
{
	struct ss_clock_map map = { .shift_ps = p->zero_ps };
	const struct ss_clock *k = p->host == SS_NO_HOST ? NULL : &c->hosts.v[p->host].clock;
	if (k && k->applied) {
		map.shift_ps = ss_safe_sum(map.shift_ps, -llrint(k->offset_ps));
		map.drift = k->drift / (1 + k->drift);
		map.about_ps = ss_safe_sum(c->middle_ps, -map.shift_ps);
	}
	return map;
}

static void *build_maps(void *owner, struct ss_err *err)
{
	struct ss_model *m = owner;
	const struct ss_cluster *c = ss_model_cluster(m, err);
	if (!c)
		return NULL;
	struct ss_clock_map *v = calloc(m->nhosts + 1, sizeof(*v));
	int64_t first = INT64_MAX;
	if (!v) {
		ss_fail_mem(err);
		return NULL;
	}
	for (uint32_t i = 0; i < c->nparts; i++) {
		size_t host = c->parts[i].number;
		if (host >= m->nhosts)
			continue;
		v[host] = map_of(c, &c->parts[i]);
		int64_t zero = ss_clock_shown(&v[host], 0);
		first = zero < first ? zero : first;
	}
	for (size_t i = 0; first != INT64_MAX && i < m->nhosts; i++)
		v[i].shift_ps = ss_safe_sum(v[i].shift_ps, -first);
	v[m->nhosts].shift_ps = first == INT64_MAX ? 0 : -first;
	return v;
}

const struct ss_clock_map *ss_model_clock_maps(struct ss_model *m, struct ss_err *err)
{
	return ss_part_get(&m->parts[SS_MODEL_CLOCK_MAPS], build_maps, free, m, err);
}
