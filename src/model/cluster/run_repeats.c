/*
 * run_repeats.c - ids of program executions that repeat, as those of a job that restarts do: they count from the same begin
 * again. The k-th time of an id is an execution of its own, joined with the k-th time on other devices if the id came equally
 * often on all that have it; else it joins nothing.
 */
#include "model/cluster/cluster.h"

#include <stdlib.h>

/* Executions that a device runs side by side: after more than these an execution is another one of the same id. */
#define SIDE_BY_SIDE 3

struct run {
	uint32_t device;	/* that the following is of, counted from 1 */
	uint32_t seen;		/* runs that the device began until this one was seen last */
	uint32_t step;
	uint32_t here;		/* times before, on this device */
	uint32_t times, first;	/* on the device with most; its index in the new numbers */
	bool apart;
};

struct telling {
	struct ss_cluster *c;
	struct run *runs;
	uint32_t *times;	/* by member: how often its run came before; NULL: only whether any comes again */
	bool any;
	uint64_t left_out;
};

static bool is_step_again(const struct ss_cluster *c, uint32_t before, uint32_t step)
{
	size_t n = c->step_nums.n;
	if (before == UINT32_MAX || step == UINT32_MAX || before == step)
		return false;
	return before >= n || step >= n ||
	       ss_step_number(&c->rounds, c->step_nums.v[before]) == ss_step_number(&c->rounds, c->step_nums.v[step]);
}

static void read_device(struct telling *t, uint32_t device)
{
	struct ss_cluster *c = t->c;
	const struct ss_cluster_device *d = &c->devices.v[device];
	uint32_t begun = 0;
	for (uint32_t i = d->first_member; i < d->first_member + d->nmembers; i++) {
		const struct ss_member_key *k = &c->keys.v[i];
		if (k->run == UINT32_MAX)
			continue;
		struct run *r = &t->runs[k->run];
		if (r->device != device + 1) {
			begun++;
			r->device = device + 1;
			r->here = 0;
		} else if (begun - r->seen > SIDE_BY_SIDE || is_step_again(c, r->step, k->step)) {
			begun++;
			r->here++;
			t->any = true;
		}
		r->seen = begun;
		r->step = k->step;
		if (t->times)
			t->times[i] = r->here;
	}
}

static void read_all(struct telling *t)
{
	const struct ss_cluster *c = t->c;
	for (uint32_t i = 0; i < c->nruns; i++)
		t->runs[i] = (struct run){ .step = UINT32_MAX };
	for (uint32_t d = 0; d < c->devices.n; d++) {
		const struct ss_cluster_device *dev = &c->devices.v[d];
		read_device(t, d);
		for (uint32_t i = dev->first_member; t->times && i < dev->first_member + dev->nmembers; i++) {
			struct run *r = c->keys.v[i].run == UINT32_MAX ? NULL : &t->runs[c->keys.v[i].run];
			if (!r)
				continue;
			r->apart |= r->times && r->times != r->here + 1;
			r->times = r->here + 1 > r->times ? r->here + 1 : r->times;
		}
	}
}

static bool number_anew(struct telling *t)
{
	struct ss_cluster *c = t->c;
	uint64_t n = 0;
	for (uint32_t i = 0; i < c->nruns; i++) {
		t->runs[i].first = (uint32_t)n;
		n += t->runs[i].times;
	}
	if (n >= UINT32_MAX)
		return false;
	for (size_t d = 0; d < c->devices.n; d++)
		for (uint32_t i = 0; i < c->devices.v[d].nmembers; i++) {
			uint32_t at = c->devices.v[d].first_member + i, *run = &c->keys.v[at].run;
			if (*run == UINT32_MAX)
				continue;
			bool apart = t->runs[*run].apart;
			*run = apart ? UINT32_MAX : t->runs[*run].first + t->times[at];
			c->devices.v[d].left_out |= apart;
			t->left_out += apart;
		}
	c->nruns = (uint32_t)n;
	return !t->left_out ||
	       ss_cluster_note(c, true,
			       "%llu events of collectives cannot be joined by the ids of their program's executions: these come "
			       "more often in some recordings than in others",
			       (unsigned long long)t->left_out);
}

bool ss_cluster_tell_runs(struct ss_cluster *c)
{
	struct telling t = { .c = c, .runs = calloc((size_t)c->nruns + 1, sizeof(*t.runs)) };
	bool ok = t.runs;
	if (ok)
		read_all(&t);
	if (ok && t.any) {
		t.times = calloc(c->members.n + 1, sizeof(*t.times));
		ok = t.times;
		if (ok)
			read_all(&t);
		ok = ok && number_anew(&t);
	}
	for (size_t i = 0; i < c->keys.n && c->steps_go_back; i++)
		c->keys.v[i].step = c->keys.v[i].step < c->step_nums.n ? c->keys.v[i].step : UINT32_MAX;
	free(t.runs);
	free(t.times);
	return ok;
}
