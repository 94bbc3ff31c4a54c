/*
 * skeleton_markers.c - which markers on host threads are of one step. A program that restarts from a checkpoint, or counts
 * anew, marks a number again, and that is another step. Two threads may mark the same steps, one behind the other: each
 * thread counts for itself, and a thread that begins behind the end of another goes on where that one ended.
 */
#include "model/cluster/skeleton_read.h"

#include <stdlib.h>

/* So many of the threads before are looked at for one that has ended: programs mark in few. */
#define MOST_LANES 8

/* Threads that follow one another. */
struct lane {
	int64_t until_ps, num; /* of its last marker */
};

/* A number in a lane. */
struct marked {
	int64_t until_ps;
	uint32_t times;
};

struct telling {
	uint32_t *lane_of;	/* by thread; SS_NONE: none yet */
	int64_t *until_ps;	/* by thread: the end of its markers */
	SS_VEC(struct lane) lanes;
	struct ss_u64map seen;	/* by lane and number: index into `numbers` */
	SS_VEC(struct marked) numbers;
	struct ss_u64map steps;	/* by number and how often it came before */
};

/* Numbers that count up need no memory. */
static bool count_up(struct ss_skel_marker *v, size_t n)
{
	uint32_t step = 0;
	for (size_t i = 0; i < n; i++) {
		if (i && v[i].num < v[i - 1].num)
			return false;
		step += i && v[i].num > v[i - 1].num;
		v[i].step = step;
	}
	return true;
}

/* The lane of a marker's thread; SS_NONE: memory is out. */
static uint32_t lane_of(struct telling *t, const struct ss_skel_marker *m)
{
	uint32_t n = (uint32_t)t->lanes.n, *lane = &t->lane_of[m->thread];
	for (uint32_t k = n > MOST_LANES ? n - MOST_LANES : 0; *lane == SS_NONE && k < n; k++)
		*lane = t->lanes.v[k].until_ps <= m->begin_ps ? k : SS_NONE;
	if (*lane == SS_NONE && ss_vec_push(&t->lanes, (struct lane){ INT64_MIN, 0 }))
		*lane = n;
	if (*lane != SS_NONE && t->until_ps[m->thread] > t->lanes.v[*lane].until_ps)
		t->lanes.v[*lane].until_ps = t->until_ps[m->thread];
	return *lane;
}

/* It comes again if others came between, and it is not inside of its last marker. */
static bool tell_marker(struct telling *t, struct ss_skel_marker *m)
{
	uint32_t lane = lane_of(t, m);
	uint32_t k = lane == SS_NONE ? SS_NONE
				     : ss_u64map_add(&t->seen, ss_mix((uint64_t)m->num, lane), (uint32_t)t->numbers.n);
	bool first = k == t->numbers.n;
	if (k == SS_NONE || (first && !ss_vec_push(&t->numbers, (struct marked){ m->end_ps, 0 })))
		return false;
	struct marked *before = &t->numbers.v[k];
	struct lane *l = &t->lanes.v[lane];
	before->times += !first && l->num != m->num && m->begin_ps >= before->until_ps;
	before->until_ps = m->end_ps > before->until_ps ? m->end_ps : before->until_ps;
	l->num = m->num;
	m->step = ss_u64map_add(&t->steps, ss_mix((uint64_t)m->num, before->times), (uint32_t)t->steps.n);
	return m->step != SS_NONE;
}

bool ss_skel_tell_steps(struct ss_skel_reading *r)
{
	struct telling t = { .lane_of = NULL };
	uint32_t threads = 0;
	if (count_up(r->markers.v, r->markers.n))
		return true;
	for (size_t i = 0; i < r->markers.n; i++)
		threads = r->markers.v[i].thread >= threads ? r->markers.v[i].thread + 1 : threads;
	t.lane_of = malloc((size_t)threads * sizeof(*t.lane_of));
	t.until_ps = malloc((size_t)threads * sizeof(*t.until_ps));
	bool ok = t.lane_of && t.until_ps;
	for (uint32_t k = 0; ok && k < threads; k++) {
		t.lane_of[k] = SS_NONE;
		t.until_ps[k] = INT64_MIN;
	}
	for (size_t i = 0; ok && i < r->markers.n; i++) {
		const struct ss_skel_marker *m = &r->markers.v[i];
		t.until_ps[m->thread] = m->end_ps > t.until_ps[m->thread] ? m->end_ps : t.until_ps[m->thread];
	}
	for (size_t i = 0; ok && i < r->markers.n; i++)
		ok = tell_marker(&t, &r->markers.v[i]);
	free(t.lane_of);
	free(t.until_ps);
	ss_vec_free(&t.lanes);
	ss_u64map_free(&t.seen);
	ss_vec_free(&t.numbers);
	ss_u64map_free(&t.steps);
	return ok;
}
