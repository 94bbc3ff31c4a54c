/*
 * forest_loops.c - iterations of TensorFlow loops.
 *
 * A function run as a loop leaves ExecutorState::Process events with a step id and an iteration
 * number. The first event of an iteration is the parent of its others, and where there are such
 * iterations they are the steps of the profile.
 */
#include "model/preprocess/forest.h"

#include <stdlib.h>

struct part {
	int64_t step, iter, begin_ps;
	struct ss_node node;
};

bool ss_forest_captured(const struct ss_forest *f, struct ss_captured *out)
{
	*out = (struct ss_captured){ 0 };
	for (uint32_t i = 0; i < f->nlines; i++)
		for (size_t k = 0; k < f->lines[i].captured.n; k++)
			if (!ss_vec_push(&out->ids, f->lines[i].captured.v[k])) {
				ss_vec_free(&out->ids);
				return false;
			}
	if (out->ids.n)
		qsort(out->ids.v, out->ids.n, sizeof(*out->ids.v), ss_cmp_i64);
	return true;
}

bool ss_captured_has(const struct ss_captured *c, int64_t id)
{
	return c->ids.n && bsearch(&id, c->ids.v, c->ids.n, sizeof(*c->ids.v), ss_cmp_i64);
}

static int cmp(int64_t a, int64_t b)
{
	return SS_CMP(a, b);
}

static int by_node(struct ss_node a, struct ss_node b)
{
	return a.line != b.line ? cmp(a.line, b.line) : cmp(a.event, b.event);
}

/* Parts of an iteration together, the first of them in front; among equal times the last in the file is the first. */
static int by_iteration(const void *a, const void *b)
{
	const struct part *x = a, *y = b;
	int order = cmp(x->step, y->step);
	if (!order)
		order = cmp(x->iter, y->iter);
	if (!order)
		order = cmp(x->begin_ps, y->begin_ps);
	return order ? order : by_node(y->node, x->node);
}

static int by_time(const void *a, const void *b)
{
	const struct part *x = a, *y = b;
	int order = cmp(x->begin_ps, y->begin_ps);
	return order ? order : by_node(x->node, y->node);
}

struct parts {
	SS_VEC(struct part) all, firsts;
};

static bool collect(const struct ss_forest *f, struct parts *p)
{
	struct ss_captured captured;
	bool ok = ss_forest_captured(f, &captured);
	for (uint32_t i = 0; ok && i < f->nlines; i++) {
		const struct ss_forest_line *fl = &f->lines[i];
		for (size_t k = 0; ok && k < fl->iterations.n; k++) {
			const struct ss_iteration *it = &fl->iterations.v[k];
			if (!ss_captured_has(&captured, it->step))
				ok = ss_vec_push(&p->all, (struct part){ it->step, it->iter,
							  fl->l->ev.begin_ps[it->event], { i, it->event } });
		}
	}
	ss_vec_free(&captured.ids);
	return ok;
}

/* Tie the parts [from, to) of one step, unless it is no loop: iteration 0 only. */
static bool link_step(struct ss_forest *f, struct parts *p, size_t from, size_t to)
{
	const struct part *v = p->all.v;
	if (v[from].iter == v[to - 1].iter && v[from].iter == 0)
		return true;
	for (size_t i = from, first = from; i < to; i++) {
		if (v[i].iter != v[first].iter)
			first = i;
		/* Any number that no other iteration has names the link group. */
		struct ss_event_link link = { ss_event_link_key(SS_EVENT_LINK_LOOP, 0, first), v[i].node.event, SS_NONE };
		struct ss_forest_line *fl = &f->lines[v[i].node.line];
		if (i == first ? !ss_vec_push(&p->firsts, v[i]) || !ss_vec_push(&fl->out, link)
			       : !ss_vec_push(&fl->in, link))
			return false;
	}
	return true;
}

bool ss_forest_link_loops(struct ss_forest *f)
{
	struct parts p = { 0 };
	bool ok = collect(f, &p);
	if (ok && p.all.n)
		qsort(p.all.v, p.all.n, sizeof(*p.all.v), by_iteration);
	for (size_t from = 0, to; ok && from < p.all.n; from = to) {
		for (to = from + 1; to < p.all.n && p.all.v[to].step == p.all.v[from].step; to++)
			;
		ok = link_step(f, &p, from, to);
	}
	if (ok && p.firsts.n)
		qsort(p.firsts.v, p.firsts.n, sizeof(*p.firsts.v), by_time);
	for (size_t i = 0; ok && i < p.firsts.n; i++)
		ok = ss_vec_push(&f->loop_roots, p.firsts.v[i].node);
	ss_vec_free(&p.all);
	ss_vec_free(&p.firsts);
	return ok;
}
