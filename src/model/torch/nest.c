/*
 * nest.c - who belongs to whom: operators in operators, calls in operators, device events to calls;
 * and the times that follow.
 */
#include "model/torch/torch_build.h"

#include "base/huge.h"
#include "base/ids.h"

#include <stdlib.h>

static int64_t min(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* ---- operators ---- */

/* Parents, and how many operators stand right below each. */
static bool find_parents(struct ss_torch_build *b, const struct ss_torch_thread *th, uint32_t *children)
{
	struct ss_torch_op *ops = b->t->ops.v;
	b->open.n = 0;
	for (uint32_t i = th->ops; i < th[1].ops; i++) {
		while (b->open.n && ops[b->open.v[b->open.n - 1]].end_ns <= ops[i].begin_ns)
			b->open.n--;
		if (b->open.n) {
			ops[i].parent = b->open.v[b->open.n - 1];
			children[ops[i].parent]++;
		}
		if (!ss_vec_push(&b->open, i))
			return false;
	}
	return true;
}

static void find_heads(struct ss_torch *t, const uint32_t *children)
{
	for (uint32_t i = 0; i < t->ops.n; i++) {
		struct ss_torch_op *op = &t->ops.v[i];
		bool one = op->parent != SS_NONE && children[op->parent] == 1 && t->ops.v[op->parent].name == op->name;
		op->head = one ? t->ops.v[op->parent].head : i;
	}
}

static bool nest_operators(struct ss_torch_build *b)
{
	struct ss_torch *t = b->t;
	uint32_t *children = calloc(t->ops.n + 1, sizeof(*children));
	bool ok = children != NULL;
	for (size_t i = 0; ok && i + 1 < t->threads.n; i++)
		ok = find_parents(b, &t->threads.v[i], children);
	if (ok)
		find_heads(t, children);
	free(children);
	return ok;
}

/* ---- what is around a moment ---- */

/*
 * A walk over the operators, or modules, of a thread: which is the innermost at times that never go
 * back?
 */
struct walk {
	struct ss_torch_build *b;
	uint32_t next, end;
	bool modules;
	SS_VEC(uint32_t) open;
};

static int64_t begin_of(const struct walk *w, uint32_t i)
{
	return w->modules ? w->b->t->modules.v[i].begin_ns : w->b->t->ops.v[i].begin_ns;
}

static int64_t end_of(const struct walk *w, uint32_t i)
{
	return w->modules ? w->b->t->modules.v[i].end_ns : w->b->t->ops.v[i].end_ns;
}

/* begin <= t < end; SS_NONE: nothing is. False when memory is out. */
static bool innermost(struct walk *w, int64_t t, uint32_t *out)
{
	for (; w->next < w->end && begin_of(w, w->next) <= t; w->next++) {
		while (w->open.n && end_of(w, w->open.v[w->open.n - 1]) <= begin_of(w, w->next))
			w->open.n--;
		if (!ss_vec_push(&w->open, w->next))
			return false;
	}
	while (w->open.n && end_of(w, w->open.v[w->open.n - 1]) <= t)
		w->open.n--;
	*out = w->open.n ? w->open.v[w->open.n - 1] : SS_NONE;
	return true;
}

static struct walk walk_of(struct ss_torch_build *b, const struct ss_torch_thread *th, bool modules)
{
	struct walk w = { .b = b, .modules = modules };
	w.next = modules ? th->modules : th->ops;
	w.end = modules ? th[1].modules : th[1].ops;
	return w;
}

static uint32_t head_of(const struct ss_torch *t, uint32_t op)
{
	return op == SS_NONE ? SS_NONE : t->ops.v[op].head;
}

/* Is the operator on this thread, and around this moment, its end included? */
static bool is_around(const struct ss_torch *t, uint32_t op, uint32_t thread, int64_t at)
{
	if (op == SS_NONE)
		return false;
	const struct ss_torch_op *o = &t->ops.v[op];
	return o->thread == thread && o->begin_ns <= at && at <= o->end_ns;
}

static uint32_t named(const struct ss_ids *by_id, uint64_t id)
{
	return id ? ss_ids_get(by_id, id) : SS_NONE;
}

/*
 * Calls in calls, and the innermost operator around each: one by its id goes first, see
 * place_calls.
 */
static bool place_calls(struct ss_torch_build *b, const struct ss_torch_thread *th, const struct ss_ids *by_id)
{
	struct ss_torch *t = b->t;
	struct walk ops = walk_of(b, th, false), modules = walk_of(b, th, true);
	int64_t busy_ns = INT64_MIN;
	bool ok = true;
	for (uint32_t i = th->calls; ok && i < th[1].calls; i++) {
		struct ss_torch_call *c = &t->calls.v[i];
		uint32_t around, by_name = named(by_id, b->call_ids.v[i]);
		ok = innermost(&ops, c->begin_ns, &around) && innermost(&modules, c->begin_ns, &c->module);
		c->nested = c->begin_ns < busy_ns;
		if (!c->nested)
			busy_ns = c->end_ns;
		/*
		 * What its own id does not say its device events' may: until then the innermost
		 * waits in `first`.
		 */
		bool said = is_around(t, by_name, c->thread, c->begin_ns);
		c->op = head_of(t, said ? by_name : around);
		c->first = said ? SS_NONE : 0;
	}
	ss_vec_free(&ops.open);
	ss_vec_free(&modules.open);
	return ok;
}

static bool place_others(struct ss_torch_build *b, const struct ss_torch_thread *th)
{
	struct ss_torch *t = b->t;
	struct walk modules = walk_of(b, th, true), ops = walk_of(b, th, false), again = walk_of(b, th, true);
	bool ok = true;
	for (uint32_t i = th->ops; ok && i < th[1].ops; i++)
		ok = innermost(&modules, t->ops.v[i].begin_ns, &t->ops.v[i].module);
	for (uint32_t i = th->memory; ok && i < th[1].memory; i++) {
		struct ss_torch_memory *m = &t->memory.v[i];
		ok = innermost(&ops, m->time_ns, &m->op) && innermost(&again, m->time_ns, &m->module);
		m->op = head_of(t, m->op);
	}
	ss_vec_free(&modules.open);
	ss_vec_free(&ops.open);
	ss_vec_free(&again.open);
	return ok;
}

/* ---- devices ---- */

/* By id its number in the list, the first of several; 0 is none. */
static bool map_ids(struct ss_ids *m, const uint64_t *ids, size_t n)
{
	uint64_t least = UINT64_MAX, most = 0;
	size_t count = 0;
	for (size_t i = 0; i < n; i++) {
		if (!ids[i])
			continue;
		least = ids[i] < least ? ids[i] : least;
		most = ids[i] > most ? ids[i] : most;
		count++;
	}
	bool ok = ss_ids_open(m, least, most, count);
	for (size_t i = 0; ok && i < n; i++)
		ok = !ids[i] || ss_ids_add(m, ids[i], (uint32_t)i) != SS_NONE;
	return ok;
}

/* Of device events that no correlation ties to a call. */
static void follow_arrows(struct ss_torch_build *b, const struct ss_ids *calls)
{
	for (size_t i = 0; i < b->device_arrows.n; i++) {
		struct ss_torch_device_event *d = &b->t->device.v[b->device_arrows.v[i].device];
		if (d->call == SS_NONE)
			d->call = named(calls, b->device_arrows.v[i].link);
	}
}

static void tie_device_event(struct ss_torch_build *b, uint32_t i, const struct ss_ids *ops)
{
	struct ss_torch *t = b->t;
	struct ss_torch_device_event *d = &t->device.v[i];
	uint32_t own = named(ops, b->device_ids.v[i]);
	if (d->call == SS_NONE) {
		d->op = head_of(t, own);
		return;
	}
	const struct ss_torch_call *c = &t->calls.v[d->call];
	bool said = c->first == SS_NONE;
	d->op = !said && is_around(t, own, c->thread, c->begin_ns) ? head_of(t, own) : c->op;
}

/* The device events of each call stand together in `by_call`, in their order. */
static bool list_by_call(struct ss_torch *t)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < t->calls.n; i++)
		t->calls.v[i].first = t->calls.v[i].ndevice = 0;
	for (uint32_t i = 0; i < t->device.n; i++)
		if (t->device.v[i].call != SS_NONE)
			t->calls.v[t->device.v[i].call].ndevice++;
	for (uint32_t i = 0; i < t->calls.n; i++) {
		t->calls.v[i].first = n;
		n += t->calls.v[i].ndevice;
		t->calls.v[i].ndevice = 0;
	}
	if (!ss_vec_reserve(&t->by_call, (size_t)n + 1))
		return false;
	t->by_call.n = n;
	for (uint32_t i = 0; i < t->device.n; i++)
		if (t->device.v[i].call != SS_NONE) {
			struct ss_torch_call *c = &t->calls.v[t->device.v[i].call];
			t->by_call.v[c->first + c->ndevice++] = i;
		}
	return true;
}

bool ss_torch_nest(struct ss_torch_build *b)
{
	struct ss_torch *t = b->t;
	struct ss_ids ops = { 0 }, calls = { 0 };
	bool ok = map_ids(&ops, b->op_ids.v, b->op_ids.n) && map_ids(&calls, b->call_links.v, b->call_links.n);
	ss_vec_free(&b->op_ids);
	ss_vec_free(&b->call_links);
	ok = ok && nest_operators(b);
	for (size_t i = 0; ok && i + 1 < t->threads.n; i++)
		ok = place_calls(b, &t->threads.v[i], &ops) && place_others(b, &t->threads.v[i]);
	for (uint32_t i = 0; ok && i < t->device.n; i++)
		t->device.v[i].call = named(&calls, b->device_links.v[i]);
	if (ok)
		follow_arrows(b, &calls);
	for (uint32_t i = 0; ok && i < t->device.n; i++)
		tie_device_event(b, i, &ops);
	ok = ok && list_by_call(t);
	ss_ids_free(&ops);
	ss_ids_free(&calls);
	return ok;
}

/* ---- times ---- */

static void sum_cpu(const struct ss_torch *t, struct ss_torch_op_times *v)
{
	for (uint32_t i = 0; i < t->ops.n; i++) {
		const struct ss_torch_op *op = &t->ops.v[i];
		if (op->head != i)
			continue;
		v[i].cpu_self_ns += op->end_ns - op->begin_ns;
		uint32_t above = ss_torch_above(t, i);
		if (above != SS_NONE)
			v[above].cpu_self_ns -= min(op->end_ns, t->ops.v[above].end_ns) - op->begin_ns;
	}
	for (uint32_t i = 0; i < t->calls.n; i++) {
		const struct ss_torch_call *c = &t->calls.v[i];
		if (c->op != SS_NONE && !c->nested)
			v[c->op].cpu_self_ns -= min(c->end_ns, t->ops.v[c->op].end_ns) - c->begin_ns;
	}
}

struct ss_torch_op_times *ss_torch_op_times(const struct ss_torch *t)
{
	struct ss_torch_op_times *v = calloc(t->ops.n + 1, sizeof(*v));
	if (!v)
		return NULL;
	ss_huge_advise(v, (t->ops.n + 1) * sizeof(*v));
	sum_cpu(t, v);
	for (uint32_t i = 0; i < t->device.n; i++)
		if (t->device.v[i].op != SS_NONE)
			v[t->device.v[i].op].device_self_ns += t->device.v[i].end_ns - t->device.v[i].begin_ns;
	for (uint32_t i = (uint32_t)t->ops.n; i-- > 0;) {
		if (t->ops.v[i].head != i)
			continue;
		v[i].device_total_ns += v[i].device_self_ns;
		uint32_t above = ss_torch_above(t, i);
		if (above != SS_NONE)
			v[above].device_total_ns += v[i].device_total_ns;
	}
	return v;
}
