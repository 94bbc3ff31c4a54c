/*
 * timing.c - of each collective: who came last, who waited how long, and how long the transfer
 * took.
 */
#include "model/cluster/cluster.h"

#include "base/bisect.h"
#include "model/cluster/robust.h"

#include <math.h>
#include <stdlib.h>

static const struct ss_member *member(const struct ss_cluster *c, const struct ss_collective *k, uint32_t i)
{
	return &c->members.v[c->order[k->first + i]];
}

uint32_t ss_member_source_member(const struct ss_cluster *c, const struct ss_collective *k, const struct ss_member *m)
{
	const struct ss_members *g = &c->groups.v[c->ops.v[k->op].groups];
	uint32_t source = ss_members_source(g, c->devices.v[m->device].number);
	uint32_t lo = 0, hi = k->n;
	if (source == UINT32_MAX)
		return UINT32_MAX;
	/* Members stand by device, and devices mostly in the order of their numbers. */
	SS_BISECT(lo, hi, mid, c->devices.v[member(c, k, mid)->device].number < source);
	if (lo < k->n && c->devices.v[member(c, k, lo)->device].number == source)
		return c->order[k->first + lo];
	for (uint32_t i = 0; i < k->n; i++)
		if (c->devices.v[member(c, k, i)->device].number == source)
			return c->order[k->first + i];
	return UINT32_MAX;
}

uint32_t ss_member_source(const struct ss_cluster *c, const struct ss_collective *k, const struct ss_member *m)
{
	uint32_t source = ss_member_source_member(c, k, m);
	return source == UINT32_MAX ? UINT32_MAX : c->members.v[source].device;
}

int64_t ss_member_meets_ps(const struct ss_cluster *c, const struct ss_collective *k, const struct ss_member *m)
{
	if (!k->pairs)
		return k->last_ps > m->arrive_ps ? k->last_ps : m->arrive_ps;
	uint32_t source = ss_member_source_member(c, k, m);
	if (source != UINT32_MAX)
		return c->members.v[source].arrive_ps > m->arrive_ps ? c->members.v[source].arrive_ps : m->arrive_ps;
	/* Nobody says who sends: what is longer than the shortest is waiting. */
	int64_t meets = m->end_ps - k->min_ps;
	return meets > m->arrive_ps ? meets : m->arrive_ps;
}

int64_t ss_member_wait_ps(const struct ss_cluster *c, const struct ss_collective *k, const struct ss_member *m)
{
	int64_t meets = ss_member_meets_ps(c, k, m);
	meets = meets < m->end_ps ? meets : m->end_ps;
	return meets > m->arrive_ps ? meets - m->arrive_ps : 0;
}

/* Without clocks that can be compared, who was there the shortest time came last. */
static void time_by_duration(struct ss_cluster *c, struct ss_collective *k)
{
	uint32_t last = 0;
	int64_t least = INT64_MAX;
	for (uint32_t i = 0; i < k->n; i++) {
		const struct ss_member *m = member(c, k, i);
		if (m->waited && m->end_ps - m->arrive_ps < least) {
			least = m->end_ps - m->arrive_ps;
			last = i;
		}
	}
	k->last = c->order[k->first + last];
	k->transfer_ps = least == INT64_MAX ? 0 : least;
	k->is_clear = false;
}

static void time_one(struct ss_cluster *c, struct ss_collective *k)
{
	int64_t second = INT64_MIN, done = INT64_MAX, latest = INT64_MAX;
	uint32_t last = 0, next = UINT32_MAX;
	k->min_ps = INT64_MAX;
	k->last_ps = INT64_MIN;
	for (uint32_t i = 0; i < k->n; i++) {
		const struct ss_member *m = member(c, k, i);
		int64_t dur = m->end_ps - m->arrive_ps;
		if (m->arrive_ps > k->last_ps) {
			second = k->last_ps;
			next = k->n > 1 && i ? last : UINT32_MAX;
			k->last_ps = m->arrive_ps;
			last = i;
		} else if (m->arrive_ps > second || next == UINT32_MAX) {
			second = m->arrive_ps;
			next = i;
		}
		if (m->waited) {
			done = m->end_ps < done ? m->end_ps : done;
			k->min_ps = dur < k->min_ps ? dur : k->min_ps;
		}
		latest = m->end_ps < latest ? m->end_ps : latest;
	}
	k->last = c->order[k->first + last];
	k->is_bound = done == INT64_MAX;
	k->done_ps = latest;	/* who comes late to its done ends later: the first end is nearest */
	k->min_ps = k->min_ps == INT64_MAX ? 0 : k->min_ps;
	k->transfer_ps = k->done_ps > k->last_ps ? k->done_ps - k->last_ps : 0;
	k->margin_ps = next == UINT32_MAX ? 0 : k->last_ps - second;
	if (next == UINT32_MAX)
		return;
	double u = ss_cluster_uncertainty_ps(c, c->devices.v[member(c, k, last)->device].host,
					     c->devices.v[member(c, k, next)->device].host);
	k->is_clear = (double)k->margin_ps > u;
	if (!isfinite(u))
		time_by_duration(c, k);
}

/*
 * Point to point: the transfer is what a member took once both sides were there; of all the median.
 */
static bool time_pairs(struct ss_cluster *c, struct ss_collective *k, double *scratch)
{
	size_t n = 0;
	for (uint32_t i = 0; i < k->n; i++) {
		const struct ss_member *m = member(c, k, i);
		int64_t meets = ss_member_meets_ps(c, k, m);
		scratch[n++] = m->end_ps > meets ? (double)(m->end_ps - meets) : 0;
	}
	k->transfer_ps = (int64_t)ss_median(scratch, n);
	return true;
}

/* ---- transfers that nobody waited for: as long as the least that was seen of its like ---- */


static uint64_t like_key(const struct ss_cluster *c, const struct ss_collective *k)
{
	return ss_mix(k->bytes, (uint64_t)c->ops.v[k->op].kind << 32 | k->expected);
}

static bool estimate_hidden(struct ss_cluster *c)
{
	struct ss_u64map likes = { 0 };
	SS_VEC(int64_t) least = { 0 };
	bool ok = true;
	for (size_t i = 0; ok && i < c->collectives.n; i++) {
		const struct ss_collective *k = &c->collectives.v[i];
		if (k->is_bound || k->pairs)
			continue;
		uint32_t at = ss_u64map_add(&likes, like_key(c, k), (uint32_t)least.n);
		ok = at != SS_NONE && (at < least.n || ss_vec_push(&least, INT64_MAX));
		if (ok && k->transfer_ps < least.v[at])
			least.v[at] = k->transfer_ps;
	}
	for (size_t i = 0; ok && i < c->collectives.n; i++) {
		struct ss_collective *k = &c->collectives.v[i];
		uint32_t at = k->is_bound ? ss_u64map_get(&likes, like_key(c, k)) : SS_NONE;
		if (at != SS_NONE && k->last_ps + least.v[at] < k->done_ps)
			k->done_ps = k->last_ps + least.v[at];
	}
	ss_u64map_free(&likes);
	ss_vec_free(&least);
	return ok;
}

/* ---- order ---- */

struct placed {
	struct ss_collective k;
	uint32_t was;
	struct ss_str name;
};

static int by_step(const void *a, const void *b)
{
	const struct placed *x = a, *y = b;
	return SS_CMP(x->k.step, y->k.step) ?: SS_CMP(x->k.last_ps, y->k.last_ps) ?: ss_str_cmp(x->name, y->name) ?:
	       SS_CMP(x->was, y->was);
}

static bool sort_collectives(struct ss_cluster *c)
{
	size_t n = c->collectives.n;
	struct placed *v = calloc(n + 1, sizeof(*v));
	struct ss_u64map counts = { 0 };
	bool ok = v;
	for (uint32_t i = 0; ok && i < n; i++)
		v[i] = (struct placed){ c->collectives.v[i], i, c->ops.v[c->collectives.v[i].op].name };
	if (ok && n)
		qsort(v, n, sizeof(*v), by_step);
	for (uint32_t i = 0; ok && i < n; i++) {
		struct ss_collective *k = &c->collectives.v[i];
		*k = v[i].k;
		for (uint32_t m = 0; m < k->n; m++)
			c->members.v[c->order[k->first + m]].collective = i;
		uint64_t key = ss_mix(ss_mix((uint64_t)k->step, c->ops.v[k->op].key), k->group);
		uint32_t nth = ss_u64map_get(&counts, key);
		k->nth = nth == SS_NONE ? 0 : nth;
		ok = ss_u64map_put(&counts, key, k->nth + 1);
	}
	free(v);
	ss_u64map_free(&counts);
	return ok;
}

bool ss_cluster_time_collectives(struct ss_cluster *c)
{
	uint32_t most = 0;
	for (size_t i = 0; i < c->collectives.n; i++)
		most = c->collectives.v[i].n > most ? c->collectives.v[i].n : most;
	double *scratch = calloc((size_t)most + 1, sizeof(*scratch));
	bool ok = scratch;
	for (size_t i = 0; ok && i < c->collectives.n; i++) {
		struct ss_collective *k = &c->collectives.v[i];
		time_one(c, k);
		if (k->pairs)
			ok = time_pairs(c, k, scratch);
	}
	free(scratch);
	return ok && estimate_hidden(c) && sort_collectives(c);
}
