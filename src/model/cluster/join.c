/*
 * join.c - events of different devices that are one collective: never by time, for clocks differ by
 * more than collectives are apart, but by what is equal on all sides (the step or the program's
 * run, the operation, the group, and which execution it is).
 */
#include "model/cluster/cluster.h"

#include <stdlib.h>

/* The point where the count of executions begins anew. */
enum unit { UNIT_STEP, UNIT_RUN, UNIT_SEQ, UNIT_END, UNIT_NONE };

struct identity {
	uint32_t key, group, nth;
	int64_t value;
	enum unit unit;
};

struct joining {
	struct ss_cluster *c;
	SS_VEC(struct identity) ids;	/* of collectives */
	struct ss_u64map by_hash;
	bool *from_end;			/* by device: nothing there has a step */
	uint64_t outside;		/* members that are in no group of their operation */
};

static uint32_t group_of(const struct ss_cluster *c, const struct ss_member *m)
{
	const struct ss_cluster_op *op = &c->ops.v[m->op];
	if (op->scope == SS_SCOPE_HOST)
		return c->devices.v[m->device].host;
	return op->scope == SS_SCOPE_TORCH ? 0 : ss_members_group(&c->groups.v[op->groups], c->devices.v[m->device].number);
}

/* ---- do run ids agree between hosts? ---- */

struct runs {
	uint32_t *last_host, *nhosts; /* by run */
	uint32_t *step;
};

static void count_runs(struct ss_cluster *c, struct runs *r, uint64_t *with, uint64_t *both, uint64_t *conflicts)
{
	*with = *both = *conflicts = 0;
	for (size_t d = 0; d < c->devices.n; d++) {
		const struct ss_cluster_device *dev = &c->devices.v[d];
		for (uint32_t i = 0; i < dev->nmembers; i++) {
			const struct ss_member_key *m = &c->keys.v[dev->first_member + i];
			if (m->run == UINT32_MAX)
				continue;
			++*with;
			if (r->last_host[m->run] != dev->host + 1)
				r->nhosts[m->run]++;
			r->last_host[m->run] = dev->host + 1;
			if (m->step == UINT32_MAX)
				continue;
			++*both;
			if (r->step[m->run] == UINT32_MAX)
				r->step[m->run] = m->step;
			*conflicts += r->step[m->run] != m->step;
		}
	}
}

/* Half of what each host has, others must have, too. */
static bool runs_are_shared(const struct ss_cluster *c, const struct runs *r)
{
	for (size_t h = 0; h < c->hosts.n; h++) {
		uint64_t shared = 0, all = 0;
		for (uint32_t d = 0; d < c->hosts.v[h].ndevices; d++) {
			const struct ss_cluster_device *dev = &c->devices.v[c->hosts.v[h].first_device + d];
			for (uint32_t i = 0; i < dev->nmembers; i++) {
				const struct ss_member_key *m = &c->keys.v[dev->first_member + i];
				all++;
				shared += m->run != UINT32_MAX && r->nhosts[m->run] > 1;
			}
		}
		if (2 * shared < all)
			return false;
	}
	return true;
}

static bool decide_by_run(struct ss_cluster *c)
{
	struct runs r = { calloc(c->nruns + 1, sizeof(uint32_t)), calloc(c->nruns + 1, sizeof(uint32_t)),
			  calloc(c->nruns + 1, sizeof(uint32_t)) };
	bool ok = r.last_host && r.nhosts && r.step;
	uint64_t with, both, conflicts, n = 0;
	for (uint32_t i = 0; ok && i < c->nruns; i++)
		r.step[i] = UINT32_MAX;
	for (size_t d = 0; d < c->devices.n; d++)
		n += c->devices.v[d].nmembers;
	if (ok) {
		count_runs(c, &r, &with, &both, &conflicts);
		c->by_run = n && with * 10 >= n * 9 && conflicts * 10 <= both && runs_are_shared(c, &r);
	}
	free(r.last_host);
	free(r.nhosts);
	free(r.step);
	return ok;
}

/* ---- joining ---- */

static bool identify(const struct joining *j, const struct ss_member *m, struct identity *id)
{
	const struct ss_cluster *c = j->c;
	const struct ss_cluster_op *op = &c->ops.v[m->op];
	const struct ss_member_key *k = &c->keys.v[m - c->members.v];
	*id = (struct identity){ .key = op->key, .group = group_of(c, m), .unit = UNIT_NONE };
	if (id->group == UINT32_MAX)
		return false;
	if (op->scope == SS_SCOPE_TORCH && k->seq >= 0) {
		id->unit = UNIT_SEQ;
		id->value = k->seq;
	} else if (c->by_run && k->run != UINT32_MAX) {
		id->unit = UNIT_RUN;
		id->value = k->run;
	} else if (k->step != UINT32_MAX) {
		id->unit = UNIT_STEP;
		id->value = c->step_nums.v[k->step];
	} else if (j->from_end[m->device]) {
		id->unit = UNIT_END;
	}
	return id->unit != UNIT_NONE;
}

static uint64_t hash_of(const struct identity *id, uint64_t salt)
{
	uint64_t h = ss_mix((uint64_t)id->value, (uint64_t)id->key << 32 | id->group);
	return ss_mix(h, (uint64_t)id->nth << 8 | (uint64_t)id->unit) + salt * UINT64_C(0x9e3779b97f4a7c15);
}

static bool same(const struct identity *a, const struct identity *b)
{
	return a->key == b->key && a->group == b->group && a->nth == b->nth && a->value == b->value && a->unit == b->unit;
}

/* Number of the collective; SS_NONE: memory is out. */
static uint32_t collective_of(struct joining *j, const struct identity *id)
{
	for (uint64_t salt = 0;; salt++) {
		uint32_t k = ss_u64map_add(&j->by_hash, hash_of(id, salt), (uint32_t)j->ids.n);
		if (k == SS_NONE)
			return SS_NONE;
		if (k == j->ids.n)
			return ss_vec_push(&j->ids, *id) ? k : SS_NONE;
		if (same(&j->ids.v[k], id))
			return k;
	}
}

static bool join_member(struct joining *j, struct ss_member *m, struct ss_u64map *counts)
{
	struct identity id;
	if (!identify(j, m, &id)) {
		j->outside += id.group == UINT32_MAX;
		return true;
	}
	uint64_t count_key = hash_of(&id, 0);
	uint32_t n = ss_u64map_get(counts, count_key);
	id.nth = n == SS_NONE ? 0 : n;
	if (!ss_u64map_put(counts, count_key, id.nth + 1))
		return false;
	m->collective = collective_of(j, &id);
	return m->collective != SS_NONE;
}

static bool join_device(struct joining *j, uint32_t device)
{
	struct ss_cluster *c = j->c;
	const struct ss_cluster_device *d = &c->devices.v[device];
	struct ss_u64map counts = { 0 };
	bool ok = true;
	for (uint32_t i = 0; ok && i < d->nmembers; i++) {
		/*
		 * Recordings begin at different moments but stop closer together: without steps the
		 * last are counted first.
		 */
		uint32_t at = j->from_end[device] ? d->nmembers - 1 - i : i;
		ok = join_member(j, &c->members.v[d->first_member + at], &counts);
	}
	ss_u64map_free(&counts);
	return ok;
}

/* ---- is what was counted alike? ---- */

/* This share of counted collectives must have the same kind and size on all sides. */
#define ALIKE_FRAC 0.90

struct alike {
	uint32_t members, same;
	bool counted;
};

/* Was it joined by nothing but a count? Operations of programs have names besides. */
static bool is_counted(const struct joining *j, const struct ss_member *m)
{
	enum unit unit = j->ids.v[m->collective].unit;
	return unit == UNIT_END || (unit == UNIT_STEP && j->c->ops.v[m->op].scope == SS_SCOPE_TORCH);
}

static void compare(struct joining *j, const uint32_t *first, struct alike *of_key)
{
	struct ss_cluster *c = j->c;
	for (size_t i = 0; i < c->members.n; i++) {
		const struct ss_member *m = &c->members.v[i];
		if (m->collective == UINT32_MAX || first[m->collective] == i || !is_counted(j, m))
			continue;
		const struct ss_cluster_op *own = &c->ops.v[m->op], *other = &c->ops.v[c->members.v[first[m->collective]].op];
		struct alike *a = &of_key[own->key];
		a->counted = true;
		a->members++;
		a->same += own->kind == other->kind && own->bytes == other->bytes;
	}
}

/* Collectives without members are gone: number the others anew. `first` becomes their numbers. */
static void renumber(struct joining *j, uint32_t *first)
{
	struct ss_cluster *c = j->c;
	uint32_t kept = 0;
	for (size_t k = 0; k < j->ids.n; k++) {
		bool is_kept = c->members.v[first[k]].collective != UINT32_MAX;
		j->ids.v[kept] = j->ids.v[k];
		first[k] = kept;
		kept += is_kept;
	}
	j->ids.n = kept;
	for (size_t i = 0; i < c->members.n; i++)
		if (c->members.v[i].collective != UINT32_MAX)
			c->members.v[i].collective = first[c->members.v[i].collective];
}

/*
 * What was counted from different beginnings, or runs other programs, differs in kind and size:
 * then counting joins what does not belong together, and nothing is joined.
 */
static bool undo_unlike(struct joining *j, uint32_t nkeys)
{
	struct ss_cluster *c = j->c;
	uint32_t *first = malloc((j->ids.n + 1) * sizeof(*first)), undone = 0;
	struct alike *of_key = calloc((size_t)nkeys + 1, sizeof(*of_key));
	bool ok = first && of_key;
	for (size_t i = 0; ok && i < j->ids.n; i++)
		first[i] = UINT32_MAX;
	for (uint32_t i = 0; ok && i < c->members.n; i++)
		if (c->members.v[i].collective != UINT32_MAX && first[c->members.v[i].collective] == UINT32_MAX)
			first[c->members.v[i].collective] = i;
	if (ok)
		compare(j, first, of_key);
	for (uint32_t k = 0; ok && k < nkeys; k++)
		undone += of_key[k].counted && of_key[k].same < ALIKE_FRAC * of_key[k].members;
	for (uint32_t i = 0; ok && undone && i < c->members.n; i++) {
		struct ss_member *m = &c->members.v[i];
		const struct alike *a = &of_key[c->ops.v[m->op].key];
		if (m->collective != UINT32_MAX && a->counted && a->same < ALIKE_FRAC * a->members && is_counted(j, m))
			m->collective = UINT32_MAX;
	}
	if (ok && undone)
		renumber(j, first);
	free(first);
	free(of_key);
	return ok && (!undone ||
		      ss_cluster_note(c, true,
				      "collectives of %u groups are not joined: they can only be counted, and less than 90%% "
				      "of them have the same kind and size on all hosts",
				      undone));
}

/* ---- of each collective ---- */

/* Members by collective, within one by device. */
static bool order_members(struct ss_cluster *c, uint32_t ncollectives)
{
	if (!ss_vec_reserve(&c->collectives, ncollectives + 1))
		return false;
	c->order = calloc(c->members.n + 1, sizeof(*c->order));
	if (!c->order)
		return false;
	for (uint32_t k = 0; k < ncollectives; k++)
		c->collectives.v[k] = (struct ss_collective){ .step = SS_NO_STEP };
	c->collectives.n = ncollectives;
	for (size_t i = 0; i < c->members.n; i++)
		if (c->members.v[i].collective != UINT32_MAX)
			c->collectives.v[c->members.v[i].collective].n++;
	uint32_t at = 0;
	for (uint32_t k = 0; k < ncollectives; k++) {
		c->collectives.v[k].first = at;
		at += c->collectives.v[k].n;
		c->collectives.v[k].n = 0;
	}
	for (size_t d = 0; d < c->devices.n; d++)
		for (uint32_t i = 0; i < c->devices.v[d].nmembers; i++) {
			uint32_t m = c->devices.v[d].first_member + i;
			if (c->members.v[m].collective == UINT32_MAX)
				continue;
			struct ss_collective *k = &c->collectives.v[c->members.v[m].collective];
			c->order[k->first + k->n++] = m;
		}
	return true;
}

static uint32_t expected_of(const struct ss_cluster *c, const struct ss_collective *k)
{
	const struct ss_cluster_op *op = &c->ops.v[k->op];
	const struct ss_members *g = &c->groups.v[op->groups];
	if (op->scope == SS_SCOPE_HOST)
		return c->hosts.v[k->group].ndevices;
	if (op->scope == SS_SCOPE_DEVICES && g->known)
		return g->all ? (uint32_t)c->ndevices_expected : ss_members_size(g, k->group);
	return op->expected;
}

/*
 * The least number of devices that are all that can be told: those of whole hosts, if they are
 * several.
 */
static uint32_t devices_of_whole_hosts(const struct ss_cluster *c)
{
	uint32_t whole = 0, most = 0;
	for (size_t h = 0; h < c->hosts.n; h++) {
		const struct ss_cluster_host *host = &c->hosts.v[h];
		whole += host->state == SS_HOST_OK ? host->ndevices : 0;
		most = host->ndevices > most ? host->ndevices : most;
	}
	return whole > most ? whole : (uint32_t)c->devices.n;
}

static void describe(struct ss_cluster *c, const struct joining *j, uint32_t *most_of_key)
{
	uint32_t whole = devices_of_whole_hosts(c);
	for (uint32_t i = 0; i < c->collectives.n; i++) {
		struct ss_collective *k = &c->collectives.v[i];
		uint32_t host = SS_NO_HOST;
		bool one = true;
		k->op = c->members.v[c->order[k->first]].op;
		k->group = j->ids.v[i].group;
		k->pairs = !ss_comm_is_barrier(c->ops.v[k->op].kind);
		for (uint32_t n = 0; n < k->n; n++) {
			const struct ss_member *m = &c->members.v[c->order[k->first + n]];
			const struct ss_cluster_op *op = &c->ops.v[m->op];
			one = one && (host == SS_NO_HOST || host == c->devices.v[m->device].host);
			host = c->devices.v[m->device].host;
			k->bytes = op->bytes > k->bytes ? op->bytes : k->bytes;
			uint32_t step = c->keys.v[c->order[k->first + n]].step;
			if (k->step == SS_NO_STEP && step != UINT32_MAX)
				k->step = c->step_nums.v[step];
		}
		k->expected = expected_of(c, k);
		k->is_told = k->expected;
		k->group_host = one && k->expected <= c->hosts.v[host].ndevices ? host : SS_NO_HOST;
		uint32_t *most = &most_of_key[c->ops.v[k->op].key];
		*most = k->n > *most ? k->n : *most;
	}
	/*
	 * Without an expected number of participants: the largest number that came, and all devices
	 * if those of all whole hosts came. A recording that ends early may lack the step that it
	 * was in.
	 */
	for (uint32_t i = 0; i < c->collectives.n; i++) {
		struct ss_collective *k = &c->collectives.v[i];
		uint32_t most = most_of_key[c->ops.v[k->op].key];
		if (most >= whole && c->ndevices_expected < UINT32_MAX)
			most = (uint32_t)c->ndevices_expected;
		k->expected = k->expected ? k->expected : most;
		k->expected = k->expected < k->n ? k->n : k->expected;
		if (k->expected > 1 && k->group_host != SS_NO_HOST && k->expected > c->hosts.v[k->group_host].ndevices)
			k->group_host = SS_NO_HOST;
	}
}

static bool note_losses(struct ss_cluster *c, const struct joining *j, bool any_from_end)
{
	if (any_from_end && !ss_cluster_note(c, false,
					     "some recordings have neither numbered steps nor runs of programs that can be "
					     "matched: their collectives are counted from the end of the recording"))
		return false;
	if (j->outside && !ss_cluster_note(c, true,
					   "%llu events of collectives are left out: their device is in none of the groups "
					   "that the operation names",
					   (unsigned long long)j->outside))
		return false;
	return true;
}

bool ss_cluster_join(struct ss_cluster *c)
{
	struct joining j = { .c = c, .from_end = calloc(c->devices.n + 1, sizeof(bool)) };
	bool any = false, ok = j.from_end && ss_cluster_tell_runs(c) && decide_by_run(c);
	uint32_t nkeys = 0;
	for (size_t d = 0; ok && d < c->devices.n; d++) {
		const struct ss_cluster_device *dev = &c->devices.v[d];
		bool stepped = false;
		for (uint32_t i = 0; i < dev->nmembers; i++) {
			const struct ss_member_key *m = &c->keys.v[dev->first_member + i];
			stepped |= m->step != UINT32_MAX || m->seq >= 0 || (c->by_run && m->run != UINT32_MAX);
		}
		j.from_end[d] = !stepped && !dev->left_out;
		stepped |= dev->left_out;
		any |= !stepped && dev->nmembers;
	}
	for (uint32_t d = 0; ok && d < c->devices.n; d++)
		ok = join_device(&j, d);
	for (size_t i = 0; i < c->ops.n; i++)
		nkeys = c->ops.v[i].key >= nkeys ? c->ops.v[i].key + 1 : nkeys;
	uint32_t *most = calloc((size_t)nkeys + 1, sizeof(*most));
	ok = ok && most && undo_unlike(&j, nkeys) && order_members(c, (uint32_t)j.ids.n);
	if (ok)
		describe(c, &j, most);
	ok = ok && note_losses(c, &j, any);
	ss_vec_free(&c->keys);
	free(most);
	free(j.from_end);
	ss_vec_free(&j.ids);
	ss_u64map_free(&j.by_hash);
	return ok;
}
