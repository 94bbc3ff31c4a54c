/* exposed.c - see exposed.h. */
#include "model/cluster/exposed.h"

#include "base/bisect.h"
#include "base/exclusive.h"
#include "base/pool.h"
#include "base/safe.h"
#include "base/sort.h"
#include "model/host/part.h"
#include "model/model.h"

#include <stdlib.h>

/* A launch that ends so close to a gap's end is what the gap was waiting for. */
#define CLOSE_PS INT64_C(300000)

enum rank { RANK_COMPUTE, RANK_TRANSFER, RANK_WAIT, RANK_COMM, RANK_COPY, RANK_INPUT };

/* The source of a claim. */
struct behind {
	uint32_t op;	 /* of the cluster, UINT32_MAX: none */
	uint32_t launch; /* of the part's events */
};

struct interval {
	int64_t begin_ps, end_ps;
};

/* Intervals that do not overlap, in order, and how much there is of them up to each. */
struct cover {
	SS_VEC(struct interval) v;
	SS_VEC(int64_t) before_ps;
	size_t hint;	/* where the last question ended: the next is near */
	bool mixed;	/* until it is made: some begin before those they follow */
};

struct dividing {
	struct ss_cluster *c;
	struct ss_exposed *x;
	const struct ss_skeleton *s;
	uint32_t *op_of;	/* operations of the part that communicate: the cluster's */
	struct cover input, busy;
	SS_VEC(struct ss_claim) claims;
	SS_VEC(struct ss_claim) transfers; /* apart: each list is nearly in order then */
	SS_VEC(struct behind) behind;
	SS_VEC(struct interval) comms;
	/* State of the current window. */
	struct ss_device_step *row;
	int64_t gap_begin_ps;	/* a gap that has no end yet */
	bool in_gap;
};

/* ---- covers ---- */

static int by_begin(const void *a, const void *b)
{
	const struct interval *x = a, *y = b;
	return SS_CMP(x->begin_ps, y->begin_ps);
}

/* A span that touches the previous one is merged into it. */
static bool add_to_cover(struct cover *c, int64_t begin_ps, int64_t end_ps)
{
	struct interval *last = c->v.n ? &c->v.v[c->v.n - 1] : NULL;
	if (end_ps <= begin_ps)
		return true;
	if (last && begin_ps >= last->begin_ps && begin_ps <= last->end_ps) {
		last->end_ps = end_ps > last->end_ps ? end_ps : last->end_ps;
		return true;
	}
	c->mixed |= last && begin_ps < last->begin_ps;
	return ss_vec_push(&c->v, ((struct interval){ begin_ps, end_ps }));
}

/* All are in it. */
static bool make_cover(struct cover *c)
{
	size_t n = c->v.n;
	int64_t sum = 0;
	if (c->mixed) {
		qsort(c->v.v, n, sizeof(*c->v.v), by_begin);
		c->v.n = 0;
		for (size_t i = 0; i < n; i++)
			(void)add_to_cover(c, c->v.v[i].begin_ps, c->v.v[i].end_ps); /* no more than there were */
	}
	c->before_ps.n = c->hint = 0;
	c->mixed = false;
	for (size_t i = 0; i < c->v.n; i++) {
		if (!ss_vec_push(&c->before_ps, sum))
			return false;
		sum += c->v.v[i].end_ps - c->v.v[i].begin_ps;
	}
	return true;
}

/* The first interval that does not begin before a moment. */
static size_t place_of(struct cover *c, int64_t at_ps)
{
	size_t lo = 0, hi = c->v.n, k = c->hint;
	for (size_t i = 0; i < 4 && k < c->v.n && c->v.v[k].begin_ps < at_ps; i++)
		lo = ++k;
	for (size_t i = 0; i < 4 && k > lo && c->v.v[k - 1].begin_ps >= at_ps; i++)
		hi = --k;
	if ((k == c->v.n || c->v.v[k].begin_ps >= at_ps) && (!k || c->v.v[k - 1].begin_ps < at_ps))
		return c->hint = k;
	SS_BISECT(lo, hi, mid, c->v.v[mid].begin_ps < at_ps);
	return c->hint = lo;
}

/* The part of it before a moment. */
static int64_t covered_before(struct cover *c, int64_t at_ps)
{
	size_t at = place_of(c, at_ps);
	if (!at)
		return 0;
	const struct interval *v = &c->v.v[at - 1];
	return c->before_ps.v[at - 1] + ((at_ps < v->end_ps ? at_ps : v->end_ps) - v->begin_ps);
}

static int64_t covered(struct cover *c, int64_t begin_ps, int64_t end_ps)
{
	if (end_ps <= begin_ps || !c->v.n)
		return 0;
	int64_t before = covered_before(c, begin_ps);
	return covered_before(c, end_ps) - before;
}

/* ---- gaps ---- */

/*
 * Input first; of the rest the host has what passed until the launch of the operation behind the
 * gap was made.
 */
static void close_gap(struct dividing *d, int64_t begin, int64_t end, uint32_t launch)
{
	int64_t *to = d->row->class_ps, input = covered(&d->input, begin, end), rest = end - begin - input, host = 0;
	if (launch != SS_NO_LAUNCH) {
		int64_t launched = d->s->events.v[launch].end_ps;
		if (launched >= end - CLOSE_PS)
			host = rest;
		else if (launched > begin)
			host = launched - begin - covered(&d->input, begin, launched);
	}
	to[SS_EXPOSED_INPUT] += input;
	to[SS_EXPOSED_HOST] += host;
	to[SS_EXPOSED_OTHER] += rest - host;
}

static bool take_piece(void *ctx, int64_t begin, int64_t end, const struct ss_claim *winner)
{
	static const enum ss_exposed_class class_of[] = { SS_EXPOSED_COMPUTE, SS_EXPOSED_TRANSFER, SS_EXPOSED_WAIT,
							  SS_EXPOSED_TRANSFER, SS_EXPOSED_COPY, SS_EXPOSED_INPUT };
	struct dividing *d = ctx;
	if (!winner) {
		d->in_gap = true;
		d->gap_begin_ps = begin;
		return true;
	}
	const struct behind *b = &d->behind.v[winner->owner];
	if (d->in_gap)
		close_gap(d, d->gap_begin_ps, begin, b->launch);
	d->in_gap = false;
	enum ss_exposed_class cls = class_of[winner->rank];
	d->row->class_ps[cls] = ss_safe_sum(d->row->class_ps[cls], end - begin);
	if (b->op != UINT32_MAX && cls == SS_EXPOSED_WAIT)
		d->x->ops[b->op].wait_ps = ss_safe_sum(d->x->ops[b->op].wait_ps, end - begin);
	else if (b->op != UINT32_MAX)
		d->x->ops[b->op].transfer_ps = ss_safe_sum(d->x->ops[b->op].transfer_ps, end - begin);
	return true;
}

/* ---- one window ---- */

static bool claim(struct dividing *d, int64_t begin, int64_t end, enum rank rank, uint32_t op, uint32_t launch)
{
	if (end <= begin)
		return true;
	struct ss_claim c = { begin, end, (uint32_t)rank, (uint32_t)d->behind.n };
	return ss_vec_push(&d->behind, ((struct behind){ op, launch })) &&
	       (rank == RANK_TRANSFER ? ss_vec_push(&d->transfers, c) : ss_vec_push(&d->claims, c));
}

static bool claim_span(struct dividing *d, const struct ss_skel_span *s)
{
	static const enum rank ranks[] = { [SS_SPAN_COMPUTE] = RANK_COMPUTE, [SS_SPAN_COPY] = RANK_COPY, [SS_SPAN_COMM] = RANK_COMM,
					   [SS_SPAN_COLLECTIVE] = RANK_COMM, [SS_SPAN_INPUT] = RANK_INPUT };
	enum rank rank = ranks[d->s->ops.v[s->op].cls];
	return claim(d, s->begin_ps, s->end_ps, rank, rank == RANK_COMM ? d->op_of[s->op] : UINT32_MAX, s->launch);
}

/* A collective that is not joined is a transfer from begin to end. */
static bool claim_member(struct dividing *d, const struct ss_member *m, uint32_t launch)
{
	int64_t meets = m->arrive_ps, done = m->end_ps;
	if (m->collective != UINT32_MAX) {
		const struct ss_collective *k = &d->c->collectives.v[m->collective];
		meets = ss_member_meets_ps(d->c, k, m);
		if (k->pairs)
			done = m->end_ps;
		else
			done = k->done_ps > meets ? k->done_ps : meets;
		/* An arrival after its own end is ignored: point-to-point operations, or clocks. */
		done = done < m->end_ps || k->pairs ? done : m->end_ps;
		meets = meets < done ? meets : done;
	}
	return claim(d, m->arrive_ps, meets, RANK_WAIT, m->op, launch) && claim(d, meets, done, RANK_TRANSFER, m->op, launch) &&
	       ss_vec_push(&d->comms, ((struct interval){ m->arrive_ps, done }));
}

/* The compute time while any collective was running. */
static int64_t overlapped(struct dividing *d, int64_t from, int64_t to)
{
	int64_t sum = 0, end = from;
	ss_sort(d->comms.v, d->comms.n, sizeof(*d->comms.v), by_begin);
	for (size_t i = 0; i < d->comms.n; i++) {
		int64_t begin = d->comms.v[i].begin_ps > end ? d->comms.v[i].begin_ps : end;
		int64_t until = d->comms.v[i].end_ps < to ? d->comms.v[i].end_ps : to;
		if (until <= begin)
			continue;
		sum += covered(&d->busy, begin, until);
		end = until;
	}
	return sum;
}

struct walk {
	size_t span, comm; /* those before have ended before the window */
};

static bool divide_window(struct dividing *d, const struct ss_skel_device *dev, const struct ss_cluster_device *cd, struct walk *w)
{
	struct ss_device_step *r = d->row;
	bool ok = true;
	d->claims.n = d->transfers.n = d->behind.n = d->comms.n = 0;
	d->in_gap = false;
	while (w->span < dev->spans.n && dev->spans.v[w->span].end_ps <= r->begin_ps)
		w->span++;
	while (w->comm < dev->comms.n && dev->comms.v[w->comm].end_ps <= r->begin_ps)
		w->comm++;
	for (size_t i = w->span; ok && i < dev->spans.n && dev->spans.v[i].begin_ps < r->end_ps; i++)
		if (dev->spans.v[i].end_ps > r->begin_ps)
			ok = claim_span(d, &dev->spans.v[i]);
	for (size_t i = w->comm; ok && i < dev->comms.n && dev->comms.v[i].begin_ps < r->end_ps; i++)
		if (dev->comms.v[i].end_ps > r->begin_ps)
			ok = claim_member(d, &d->c->members.v[cd->first_member + i], dev->comms.v[i].launch);
	for (size_t i = 0; ok && i < d->transfers.n; i++)
		ok = ss_vec_push(&d->claims, d->transfers.v[i]);
	ok = ok && ss_exclusive(d->claims.v, d->claims.n, r->begin_ps, r->end_ps, take_piece, d);
	if (ok && d->in_gap)
		close_gap(d, d->gap_begin_ps, r->end_ps, SS_NO_LAUNCH);
	if (ok)
		r->overlapped_ps = overlapped(d, r->begin_ps, r->end_ps);
	return ok;
}

/* ---- devices ---- */

static bool cover_compute(struct dividing *d, const struct ss_skel_device *dev)
{
	bool ok = true;
	d->busy.v.n = 0;
	for (size_t i = 0; ok && i < dev->spans.n; i++)
		if (d->s->ops.v[dev->spans.v[i].op].cls == SS_SPAN_COMPUTE)
			ok = add_to_cover(&d->busy, dev->spans.v[i].begin_ps, dev->spans.v[i].end_ps);
	return ok && make_cover(&d->busy);
}

/* For each collective of the device, whatever else runs. */
static void add_overlap_by_op(struct dividing *d, const struct ss_cluster_device *cd, int64_t from, int64_t to)
{
	for (uint32_t i = 0; i < cd->nmembers; i++) {
		const struct ss_member *m = &d->c->members.v[cd->first_member + i];
		int64_t done = m->end_ps;
		if (m->collective != UINT32_MAX && !d->c->collectives.v[m->collective].pairs &&
		    d->c->collectives.v[m->collective].done_ps < done)
			done = d->c->collectives.v[m->collective].done_ps;
		if (m->arrive_ps >= from && m->arrive_ps < to)
			d->x->ops[m->op].overlapped_ps = ss_safe_sum(d->x->ops[m->op].overlapped_ps,
								     covered(&d->busy, m->arrive_ps, done < to ? done : to));
	}
}

static bool divide_device(struct dividing *d, uint32_t device)
{
	const struct ss_cluster_device *cd = &d->c->devices.v[device];
	const struct ss_skel_device *dev = ss_cluster_device(d->s, cd);
	const struct ss_cluster_step *steps = cd->nsteps ? &d->c->steps.v[cd->first_step] : NULL;
	struct walk w = { 0, 0 };
	if (!cover_compute(d, dev))
		return false;
	for (uint32_t i = 0; i < cd->nsteps; i++) {
		bool follows = i && ss_cluster_follows(d->c, steps[i].num, steps[i - 1].num);
		struct ss_device_step r = { .device = device,
					    .step = steps[i].num,
					    .begin_ps = follows ? steps[i - 1].end_ps : steps[i].begin_ps,
					    .end_ps = steps[i].end_ps };
		d->x->ngaps += i && !follows;
		if (r.end_ps <= r.begin_ps)
			continue;
		d->row = &r;
		if (!divide_window(d, dev, cd, &w) || !ss_vec_push(&d->x->rows, r))
			return false;
	}
	if (cd->nsteps)
		add_overlap_by_op(d, cd, steps[0].begin_ps, steps[cd->nsteps - 1].end_ps);
	return true;
}

/* Starts and dones bear the name of their collective. */
static bool match_ops(struct dividing *d)
{
	d->op_of = calloc(d->s->ops.n + 1, sizeof(*d->op_of));
	for (size_t i = 0; d->op_of && i < d->s->ops.n; i++) {
		const struct ss_skel_op *o = &d->s->ops.v[i];
		d->op_of[i] = UINT32_MAX;
		for (uint32_t k = 0; o->cls == SS_SPAN_COMM && k < d->c->ops.n && d->op_of[i] == UINT32_MAX; k++)
			if (d->c->ops.v[k].kind == o->kind && ss_str_eq(d->c->ops.v[k].name, o->name))
				d->op_of[i] = k;
	}
	return d->op_of;
}

static bool read_part(struct dividing *d)
{
	bool ok = match_ops(d);
	for (size_t i = 0; ok && i < d->s->events.n; i++)
		if (d->s->events.v[i].cls == SS_HOST_INPUT_EVENT)
			ok = add_to_cover(&d->input, d->s->events.v[i].begin_ps, d->s->events.v[i].end_ps);
	return ok && make_cover(&d->input);
}

static void release_dividing(struct dividing *d)
{
	free(d->op_of);
	ss_vec_free(&d->input.v);
	ss_vec_free(&d->input.before_ps);
	ss_vec_free(&d->busy.v);
	ss_vec_free(&d->busy.before_ps);
	ss_vec_free(&d->claims);
	ss_vec_free(&d->transfers);
	ss_vec_free(&d->behind);
	ss_vec_free(&d->comms);
}

/* ---- pieces: devices of one part, side by side with others ---- */

#define PIECES 128 /* at a time, at most: what is held of each is its outline, and its sums */
#define LEAST_PIECES 4
#define SUMS_BYTES ((size_t)8 << 20)

struct piece {
	struct ss_cluster *c;
	uint32_t first, n;	/* devices */
	struct ss_exposed x;	/* theirs alone */
};

static bool divide_piece(void *arg, size_t index, struct ss_err *err)
{
	struct piece *p = &((struct piece *)arg)[index];
	struct ss_outline o;
	struct dividing d = { .c = p->c, .x = &p->x, .s = &o.s };
	if (!ss_cluster_outline(p->c, p->c->devices.v[p->first].part, &o, err))
		return false;
	bool ok = (p->x.ops = calloc(p->c->ops.n + 1, sizeof(*p->x.ops))) &&
		  (p->x.first = calloc((size_t)p->n + 1, sizeof(*p->x.first)));
	ok = ok && read_part(&d);
	for (uint32_t i = 0; ok && i < p->n; i++) {
		p->x.first[i] = (uint32_t)p->x.rows.n;
		ok = divide_device(&d, p->first + i);
	}
	release_dividing(&d);
	ss_outline_close(&o);
	return ok || ss_fail_mem(err);
}

static bool take_piece_of(struct ss_exposed *x, const struct piece *p)
{
	size_t before = x->rows.n;
	if (before + p->x.rows.n >= UINT32_MAX || !ss_vec_reserve(&x->rows, before + p->x.rows.n + 1))
		return false;
	for (uint32_t i = 0; i < p->n; i++)
		x->first[p->first + i] = (uint32_t)before + p->x.first[i];
	if (p->x.rows.n)
		memcpy(&x->rows.v[before], p->x.rows.v, p->x.rows.n * sizeof(*x->rows.v));
	x->rows.n += p->x.rows.n;
	x->ngaps += p->x.ngaps;
	for (size_t i = 0; i < p->c->ops.n; i++) {
		x->ops[i].wait_ps = ss_safe_sum(x->ops[i].wait_ps, p->x.ops[i].wait_ps);
		x->ops[i].transfer_ps = ss_safe_sum(x->ops[i].transfer_ps, p->x.ops[i].transfer_ps);
		x->ops[i].overlapped_ps = ss_safe_sum(x->ops[i].overlapped_ps, p->x.ops[i].overlapped_ps);
	}
	return true;
}

/* The next devices, up to so many parts of them. */
static uint32_t next_pieces(struct ss_cluster *c, uint32_t from, struct piece *pieces, size_t *n)
{
	size_t most = SUMS_BYTES / ((c->ops.n + 1) * sizeof(struct ss_exposed_op));
	most = most < LEAST_PIECES ? LEAST_PIECES : most < PIECES ? most : PIECES;
	for (*n = 0; *n < most && from < c->devices.n; ++*n) {
		uint32_t to = from + 1;
		while (to < c->devices.n && c->devices.v[to].part == c->devices.v[from].part)
			to++;
		pieces[*n] = (struct piece){ .c = c, .first = from, .n = to - from };
		from = to;
	}
	return from;
}

static void free_exposed(struct ss_exposed *x)
{
	if (!x)
		return;
	ss_vec_free(&x->rows);
	free(x->first);
	free(x->ops);
	free(x);
}

/* The caller holds the cluster's lock. */
static struct ss_exposed *divide_cluster(struct ss_cluster *c, struct ss_err *err)
{
	struct ss_exposed *x = calloc(1, sizeof(*x));
	struct piece pieces[PIECES];
	bool ok = x && (x->ops = calloc(c->ops.n + 1, sizeof(*x->ops))) &&
		  (x->first = calloc(c->devices.n + 1, sizeof(*x->first)));
	ok = ok || ss_fail_mem(err);
	for (uint32_t at = 0; ok && at < c->devices.n;) {
		size_t n;
		at = next_pieces(c, at, pieces, &n);
		ok = ss_parallel(n, 0, divide_piece, pieces, err);
		for (size_t i = 0; i < n; i++) {
			ok = ok && (take_piece_of(x, &pieces[i]) || ss_fail_mem(err));
			ss_vec_free(&pieces[i].x.rows);
			free(pieces[i].x.first);
			free(pieces[i].x.ops);
		}
	}
	if (ok)
		x->first[c->devices.n] = (uint32_t)x->rows.n;
	if (ok)
		return x;
	free_exposed(x);
	return NULL;
}

/* ---- as a part of the model ---- */

static void *build(void *owner, struct ss_err *err)
{
	struct ss_cluster *c = ss_model_cluster(owner, err);
	if (!c)
		return NULL;
	ss_cluster_lock(c);
	struct ss_exposed *x = divide_cluster(c, err);
	ss_cluster_unlock(c);
	return x;
}

static void release(void *data)
{
	free_exposed(data);
}

const struct ss_exposed *ss_model_exposed(struct ss_model *m, struct ss_err *err)
{
	return ss_part_get(&m->parts[SS_MODEL_EXPOSED], build, release, m, err);
}
