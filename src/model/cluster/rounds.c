/*
 * rounds.c - steps whose numbers repeat. The k-th time that a number comes on one device is the step of its k-th time on
 * another, if it came equally often on all devices that have it. Where it did not, recordings begin or end between the
 * repeats, or hosts restarted apart, and nothing tells which belong together: those steps are left out.
 */
#include "model/cluster/cluster.h"

#include "base/bisect.h"

#include <stdlib.h>

#define MOST_BACK 64	/* steps that are looked through for that of a collective: steps of a device hardly overlap */
#define MOST_RANGES 3	/* named */

/* A number of a step. */
struct number {
	int64_t num;
	uint32_t times;		/* how often it comes on a device; on the one where it comes most */
	uint32_t here;		/* on this device so far */
	uint32_t device;	/* that `here` is of, counted from 1 */
	uint32_t round;		/* that it came in last */
	uint32_t first;		/* index of its first step */
	bool apart;		/* more often on some devices than on others */
};

/* A step of a device, beside those of the cluster. */
struct placed {
	uint32_t number, times;	/* times: how often the number came before */
	uint32_t round;
	bool kept;
};

struct numbering {
	struct ss_cluster *c;
	struct number *numbers;	/* as c->step_nums */
	struct placed *placed;	/* as c->steps */
	uint32_t *rounds;	/* by step: each time of each number */
	uint32_t *index;	/* by step: in the new step_nums; UINT32_MAX: left out */
	size_t nnumbers;
	uint32_t most_rounds;
	uint64_t left_out;
};

/* ---- how often each number comes ---- */

/*
 * A round ends where numbers go back, but not where steps that overlap begin in another order. No number is in a round twice.
 */
static bool goes_back(const struct ss_cluster_step *s, const struct number *n, uint32_t round)
{
	return (n->here && n->round == round) || (s->num <= s[-1].num && s->begin_ps >= s[-1].end_ps);
}

static void count_device(struct numbering *w, uint32_t device, const struct ss_u64map *numbers)
{
	const struct ss_cluster_device *d = &w->c->devices.v[device];
	const struct ss_cluster_step *s = &w->c->steps.v[d->first_step];
	uint32_t round = 0;
	for (uint32_t i = 0; i < d->nsteps; i++) {
		uint32_t k = ss_u64map_get(numbers, (uint64_t)s[i].num);
		struct number *n = &w->numbers[k];
		n->here = n->device == device + 1 ? n->here : 0;
		n->device = device + 1;
		round += i && goes_back(&s[i], n, round);
		n->round = round;
		w->placed[d->first_step + i] = (struct placed){ k, n->here++, round, false };
	}
	for (uint32_t i = 0; i < d->nsteps; i++) {
		struct number *n = &w->numbers[w->placed[d->first_step + i].number];
		n->apart |= n->times && n->times != n->here;
		n->times = n->here > n->times ? n->here : n->times;
	}
}

static bool count_all(struct numbering *w)
{
	struct ss_cluster *c = w->c;
	struct ss_u64map numbers = { 0 };
	bool ok = true;
	for (uint32_t i = 0; ok && i < c->step_nums.n; i++) {
		w->numbers[i].num = c->step_nums.v[i];
		ok = ss_u64map_add(&numbers, (uint64_t)c->step_nums.v[i], i) != SS_NONE;
	}
	for (uint32_t d = 0; ok && d < c->devices.n; d++)
		count_device(w, d, &numbers);
	ss_u64map_free(&numbers);
	return ok;
}

/* ---- rounds ---- */

/*
 * The round of a step: the highest that a device knows it in, as recordings may begin in a later round. Devices agree about the
 * order of those that come equally often.
 */
static bool find_rounds(struct numbering *w)
{
	struct ss_cluster *c = w->c;
	uint64_t n = 0;
	for (size_t i = 0; i < c->step_nums.n; i++) {
		w->numbers[i].first = (uint32_t)n;
		n += w->numbers[i].times ? w->numbers[i].times : 1;
	}
	n += n + c->steps.n < UINT32_MAX ? 0 : UINT32_MAX;
	w->rounds = n < UINT32_MAX ? calloc(n + 1, sizeof(*w->rounds)) : NULL;
	w->index = n < UINT32_MAX ? calloc(n + 1, sizeof(*w->index)) : NULL;
	for (size_t i = 0; w->rounds && i < c->steps.n; i++) {
		const struct placed *p = &w->placed[i];
		uint32_t *round = &w->rounds[w->numbers[p->number].first + p->times];
		*round = p->round > *round ? p->round : *round;
		w->most_rounds = *round > w->most_rounds ? *round : w->most_rounds;
	}
	return w->rounds && w->index;
}

/* Where numbers are too far apart for rounds of them, all that repeat are left out. */
static void choose_span(struct numbering *w)
{
	struct ss_cluster *c = w->c;
	int64_t least = INT64_MAX, most = INT64_MIN;
	for (size_t i = 0; i < c->step_nums.n; i++) {
		least = c->step_nums.v[i] < least ? c->step_nums.v[i] : least;
		most = c->step_nums.v[i] > most ? c->step_nums.v[i] : most;
	}
	uint64_t span = (uint64_t)most - (uint64_t)least, stride = (uint64_t)c->step_stride, room = (uint64_t)INT64_MAX / 2;
	if (span < room && stride < room / 4 && (span + 2 * stride) < room / ((uint64_t)w->most_rounds + 1)) {
		c->rounds.least = least;
		c->rounds.span = span + 2 * stride;
		return;
	}
	for (size_t i = 0; i < c->step_nums.n; i++)
		w->numbers[i].apart |= w->numbers[i].times > 1;
}

static int64_t step_of(const struct numbering *w, const struct number *n, uint32_t times)
{
	uint64_t round = w->c->rounds.span ? w->rounds[n->first + times] : 0;
	return (int64_t)((uint64_t)n->num + round * w->c->rounds.span);
}

/* ---- what is kept ---- */

/*
 * The step that a collective is of: the last of this number that began before it. One that is left out has a number from above, of
 * this device alone.
 */
static uint32_t step_around(const struct numbering *w, const struct ss_cluster_device *d, uint32_t number, int64_t at_ps)
{
	const struct ss_cluster *c = w->c;
	uint32_t lo = 0, hi = d->nsteps;
	SS_BISECT(lo, hi, mid, c->steps.v[d->first_step + mid].begin_ps <= at_ps);
	for (uint32_t k = 0; k < MOST_BACK && k < lo; k++) {
		const struct placed *p = &w->placed[d->first_step + lo - 1 - k];
		if (p->number == number)
			return p->kept ? w->index[w->numbers[number].first + p->times]
				       : UINT32_MAX - 1 - (uint32_t)(p - w->placed);
	}
	return UINT32_MAX;
}

/* Rounds of a device come in order. */
static void keep_steps(struct numbering *w, struct ss_cluster_device *d)
{
	struct ss_cluster *c = w->c;
	uint32_t before = 0;
	for (uint32_t i = d->first_step; i < d->first_step + d->nsteps; i++) {
		struct placed *p = &w->placed[i];
		const struct number *n = &w->numbers[p->number];
		uint32_t round = c->rounds.span ? w->rounds[n->first + p->times] : 0;
		p->kept = !n->apart && round >= before;
		before = p->kept ? round : before;
		w->left_out += !p->kept;
		d->left_out |= !p->kept;
	}
	for (uint32_t i = d->first_member; i < d->first_member + d->nmembers; i++)
		if (c->keys.v[i].step != UINT32_MAX)
			c->keys.v[i].step = step_around(w, d, c->keys.v[i].step, c->members.v[i].arrive_ps);
	uint32_t kept = d->first_step;
	for (uint32_t i = d->first_step; i < d->first_step + d->nsteps; i++) {
		const struct placed *p = &w->placed[i];
		if (!p->kept)
			continue;
		c->steps.v[kept] = c->steps.v[i];
		c->steps.v[kept++].num = step_of(w, &w->numbers[p->number], p->times);
	}
	d->nsteps = kept - d->first_step;
}

static bool renumber(struct numbering *w)
{
	struct ss_cluster *c = w->c;
	size_t n = c->step_nums.n;
	c->step_nums.n = 0;
	for (size_t i = 0; i < n; i++)
		for (uint32_t k = 0; k < w->numbers[i].times; k++) {
			w->index[w->numbers[i].first + k] = w->numbers[i].apart ? UINT32_MAX : (uint32_t)c->step_nums.n;
			if (!w->numbers[i].apart && !ss_vec_push(&c->step_nums, step_of(w, &w->numbers[i], k)))
				return false;
		}
	for (size_t d = 0; d < c->devices.n; d++)
		keep_steps(w, &c->devices.v[d]);
	return true;
}

/* ---- notes ---- */

static int by_number(const void *a, const void *b)
{
	const struct number *x = a, *y = b;
	return SS_CMP(x->num, y->num);
}

/* "steps 15 to 20 ran twice, 21 to 23 3 times". */
static void name_ranges(struct ss_buf *b, const struct number *v, size_t n, int64_t stride)
{
	size_t ranges = 0;
	for (size_t i = 0, to; i < n; i = to) {
		for (to = i + 1; to < n && v[to].times == v[i].times && v[to].num - v[to - 1].num == stride;)
			to++;
		if (ranges++ == MOST_RANGES) {
			ss_buf_printf(b, ", and %zu more", n - i);
			return;
		}
		ss_buf_printf(b, ranges > 1 ? ", %lld" : to - i > 1 ? "steps %lld" : "step %lld", (long long)v[i].num);
		if (to - i > 1)
			ss_buf_printf(b, " to %lld", (long long)v[to - 1].num);
		if (v[i].times == 2)
			ss_buf_lit(b, " ran twice");
		else
			ss_buf_printf(b, " ran %u times", v[i].times);
	}
}

static bool note_repeats(struct numbering *w)
{
	struct ss_cluster *c = w->c;
	struct ss_buf b = { 0 };
	size_t n = 0;
	for (size_t i = 0; i < w->nnumbers; i++)
		if (w->numbers[i].times > 1)
			w->numbers[n++] = w->numbers[i];
	if (n)
		qsort(w->numbers, n, sizeof(*w->numbers), by_number);
	name_ranges(&b, w->numbers, n, c->step_stride);
	struct ss_str ranges = ss_buf_get(&b);
	bool ok = !b.no_memory;
	if (ok && n)
		ok = ss_cluster_note(c, false,
				     "step numbers repeat (" SS_FMT "): the job restarted, or it counts anew; each repetition is a "
				     "step of its own",
				     SS_ARG(ranges));
	else if (ok)
		ok = ss_cluster_note(c, false, "step numbers go back: the job restarted, or it counts anew");
	if (ok && w->left_out)
		ok = ss_cluster_note(c, true,
				     "%llu steps of devices are left out: their numbers come more often in some recordings than in "
				     "others, so which of them belong together is not known",
				     (unsigned long long)w->left_out);
	ss_buf_free(&b);
	return ok;
}

bool ss_cluster_number_steps(struct ss_cluster *c)
{
	if (!c->steps_go_back)
		return true;
	struct numbering w = { .c = c, .nnumbers = c->step_nums.n, .numbers = calloc(c->step_nums.n + 1, sizeof(*w.numbers)),
			       .placed = calloc(c->steps.n + 1, sizeof(*w.placed)) };
	bool ok = w.numbers && w.placed && count_all(&w) && find_rounds(&w);
	if (ok && w.most_rounds) {
		choose_span(&w);
		ok = renumber(&w) && note_repeats(&w);
	}
	free(w.numbers);
	free(w.placed);
	free(w.rounds);
	free(w.index);
	return ok;
}
