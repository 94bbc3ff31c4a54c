/* rank.c - see rank.h. */
#include "model/torch/rank.h"

#include "model/host/host.h"
#include "model/torch/comm.h"
#include "model/torch/device.h"
#include "model/torch/steps.h"

#include <stdlib.h>

static bool collect(const struct ss_torch *t, struct ss_intervals *compute, struct ss_intervals *communication)
{
	bool ok = true;
	for (size_t i = 0; ok && i < t->device.n; i++) {
		const struct ss_torch_device_event *e = &t->device.v[i];
		if (ss_torch_is_kernel(e))
			ok = ss_intervals_add(e->kind == SS_TORCH_KERNEL ? compute : communication, e->begin_ns, e->end_ns);
	}
	for (size_t i = 0; ok && !t->device.n && i < t->ops.n; i++)
		if (t->ops.v[i].parent == SS_NONE)
			ok = ss_intervals_add(compute, t->ops.v[i].begin_ns, t->ops.v[i].end_ns);
	for (size_t i = 0; ok && !t->device.n && i < t->ranges.n; i++) {
		const struct ss_torch_range *r = &t->ranges.v[i];
		struct ss_str name = ss_torch_text(t, r->name);
		if (ss_torch_is_gloo(t, r))
			ok = ss_intervals_add(communication, r->begin_ns, r->end_ns);
		else if (!ss_kineto_is_step(name) && !ss_kineto_is_dataloader(name))
			ok = ss_intervals_add(compute, r->begin_ns, r->end_ns);
	}
	ss_intervals_unite(compute);
	ss_intervals_unite(communication);
	return ok;
}

static bool clip(const struct ss_intervals *s, int64_t begin_ns, int64_t end_ns, struct ss_intervals *out)
{
	bool ok = true;
	out->v.n = 0;
	for (size_t i = 0; ok && i < s->v.n; i++) {
		int64_t from = s->v.v[i].begin_ns > begin_ns ? s->v.v[i].begin_ns : begin_ns;
		ok = ss_intervals_add(out, from, s->v.v[i].end_ns < end_ns ? s->v.v[i].end_ns : end_ns);
	}
	return ok;
}

/* The mean step. */
static bool add_times(const struct ss_torch *t, struct ss_torch_rank *r)
{
	struct ss_intervals compute = { 0 }, communication = { 0 }, c = { 0 }, m = { 0 };
	struct ss_torch_step *steps = malloc((t->steps.n + 1) * sizeof(*steps));
	bool ok = steps && ss_torch_device_steps(t, steps) && collect(t, &compute, &communication);
	for (size_t i = 0; ok && i < t->steps.n; i++) {
		ok = clip(&compute, steps[i].begin_ns, steps[i].end_ns, &c) &&
		     clip(&communication, steps[i].begin_ns, steps[i].end_ns, &m);
		double n = (double)t->steps.n * 1000;
		int64_t c_ns = ss_intervals_ns(&c), m_ns = ss_intervals_ns(&m), both_ns = ss_intervals_common_ns(&c, &m);
		r->computation_us += (double)(c_ns - both_ns) / n;
		r->overlap_us += (double)both_ns / n;
		r->communication_us += (double)(m_ns - both_ns) / n;
		r->other_us += (double)(steps[i].end_ns - steps[i].begin_ns - c_ns - m_ns + both_ns) / n;
	}
	free(steps);
	ss_intervals_free(&compute);
	ss_intervals_free(&communication);
	ss_intervals_free(&c);
	ss_intervals_free(&m);
	return ok;
}

static bool add_calls(const struct ss_torch *t, struct ss_torch_rank *r)
{
	struct ss_torch_comm_call *v;
	size_t n;
	struct ss_u64map before = { 0 };
	bool ok = ss_torch_comm_calls(t, &v, &n);
	r->calls = ok ? malloc((n + 1) * sizeof(*r->calls)) : NULL;
	ok = r->calls;
	for (size_t i = 0; ok && i < n; i++) {
		uint64_t key = ss_mix(ss_str_digest(ss_str_from(v[i].kind)), ss_str_digest(v[i].group));
		key = v[i].any_group ? SS_TORCH_NO_GROUP : key == SS_TORCH_NO_GROUP ? 1 : key;
		uint32_t last = ss_u64map_get(&before, key), nth = last == SS_NONE ? 0 : last + 1;
		int64_t dur_ns = v[i].end_ns > v[i].begin_ns ? v[i].end_ns - v[i].begin_ns : 0;
		r->calls[r->ncalls++] = (struct ss_torch_rank_call){ key, nth, v[i].sequence, dur_ns };
		ok = ss_u64map_put(&before, key, nth);
	}
	ss_u64map_free(&before);
	free(v);
	return ok;
}

static void release(void *data)
{
	struct ss_torch_rank *r = data;
	free(r->calls);
	free(r);
}

static void *build(void *owner, struct ss_err *err)
{
	struct ss_host *h = owner;
	const struct ss_torch *t = ss_host_torch(h, err);
	struct ss_torch_rank *r = t ? calloc(1, sizeof(*r)) : NULL;
	if (!r) {
		if (t)
			ss_fail_mem(err);
		return NULL;
	}
	r->is_torch = t->is_torch;
	r->number = t->rank;
	if (!t->is_torch || (add_times(t, r) && add_calls(t, r)))
		return r;
	release(r);
	ss_fail_mem(err);
	return NULL;
}

const struct ss_torch_rank *ss_host_torch_rank(struct ss_host *h, struct ss_err *err)
{
	return ss_part_get(&h->parts[SS_HOST_TORCH_RANK], build, release, h, err);
}
