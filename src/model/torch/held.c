/* held.c - see held.h. */
#include "model/torch/held.h"

#include "model/torch/memory_order.h"

#include <stdlib.h>

#define MOST_ROWS 1000000	/* of steps on devices; more are left out */

/* The events of one device in time, and what is in use after each. */
struct run {
	const struct ss_torch *t;
	const struct ss_torch_memory_at *v;
	int64_t *in_use;
	size_t n;
	bool known;	/* as the allocator says it */
};

static int64_t add(int64_t a, int64_t b)
{
	int64_t sum;
	return __builtin_add_overflow(a, b, &sum) ? b < 0 ? INT64_MIN : INT64_MAX : sum;
}

static const struct ss_torch_memory *event(const struct run *r, size_t i)
{
	return &r->t->memory.v[r->v[i].event];
}

static void find_in_use(struct run *r)
{
	int64_t sum = 0;
	r->known = true;
	for (size_t i = 0; i < r->n; i++)
		r->known = r->known && event(r, i)->allocated_bytes >= 0;
	for (size_t i = 0; i < r->n; i++) {
		sum = add(sum, event(r, i)->bytes);
		r->in_use[i] = r->known ? event(r, i)->allocated_bytes : sum;
	}
}

/* ---- steps ---- */

static bool add_steps(const struct run *r, struct ss_torch_held *out)
{
	size_t i = 0;
	for (size_t s = 0; s < r->t->steps.n && out->steps.n < MOST_ROWS; s++) {
		const struct ss_torch_step *step = &r->t->steps.v[s];
		while (i < r->n && r->v[i].time_ns < step->begin_ns)
			i++;
		int64_t begin = i ? r->in_use[i - 1] : r->n ? add(r->in_use[0], -event(r, 0)->bytes) : 0;
		struct ss_torch_step_memory m = { .device = r->v->device, .step = step->number };
		for (; i < r->n && r->v[i].time_ns < step->end_ns; i++) {
			int64_t bytes = event(r, i)->bytes, above = add(r->in_use[i], -begin);
			m.allocated_bytes = add(m.allocated_bytes, bytes > 0 ? bytes : 0);
			m.released_bytes = add(m.released_bytes, bytes < 0 && bytes > INT64_MIN ? -bytes : 0);
			m.peak_growth_bytes = above > m.peak_growth_bytes ? above : m.peak_growth_bytes;
		}
		m.end_bytes = r->known && i ? r->in_use[i - 1] : -1;
		if (!ss_vec_push(&out->steps, m))
			return false;
	}
	return true;
}

/* ---- the peak ---- */

static size_t find_peak(const struct run *r)
{
	size_t peak = 0;
	for (size_t i = 1; i < r->n; i++)
		peak = r->in_use[i] > r->in_use[peak] ? i : peak;
	return peak;
}

/* Which event up to the peak allocated each address that is open then: its number. */
static bool find_open(const struct run *r, size_t peak, struct ss_u64map *open)
{
	bool ok = true;
	for (size_t i = 0; ok && i <= peak; i++) {
		const struct ss_torch_memory *m = event(r, i);
		if (m->addressed && m->bytes)
			ok = ss_u64map_put(open, m->address, m->bytes > 0 ? (uint32_t)i : SS_NONE - 1);
	}
	return ok;
}

static struct ss_torch_holder *holder(const struct run *r, const struct ss_torch_memory *m, struct ss_u64map *rows,
				      struct ss_torch_held *out)
{
	struct ss_torch_holder h = { .device = m->device };
	h.op = m->op == SS_NONE ? 0 : r->t->ops.v[m->op].name;
	h.module = m->module == SS_NONE ? 0 : r->t->modules.v[m->module].path;
	uint32_t at = ss_u64map_add(rows, (uint64_t)h.op << 32 | h.module, (uint32_t)out->holders.n);
	if (at == SS_NONE || (at == out->holders.n && !ss_vec_push(&out->holders, h)))
		return NULL;
	return &out->holders.v[at];
}

static int most_first(const void *a, const void *b)
{
	const struct ss_torch_holder *x = a, *y = b;
	return SS_CMP(y->bytes, x->bytes) ?: SS_CMP(x->op, y->op) ?: SS_CMP(x->module, y->module);
}

static bool add_holders(const struct run *r, struct ss_torch_held *out)
{
	struct ss_u64map open = { 0 }, rows = { 0 };
	size_t first = out->holders.n, peak = find_peak(r);
	int64_t recorded = 0;
	bool any = false, ok = find_open(r, peak, &open);
	for (size_t i = 0; ok && i <= peak; i++) {
		const struct ss_torch_memory *m = event(r, i);
		any |= m->addressed;
		if (!m->addressed || m->bytes <= 0 || ss_u64map_get(&open, m->address) != (uint32_t)i)
			continue;
		struct ss_torch_holder *h = holder(r, m, &rows, out);
		ok = h;
		if (!h)
			break;
		h->blocks++;
		h->bytes = add(h->bytes, m->bytes);
		recorded = add(recorded, m->bytes);
	}
	int64_t before = r->known ? add(r->in_use[peak], -recorded) : 0;
	if (ok && any && before > 0)
		ok = ss_vec_push(&out->holders,
				 ((struct ss_torch_holder){ .device = r->v->device, .bytes = before, .before = true }));
	if (ok && out->holders.n > first)
		qsort(out->holders.v + first, out->holders.n - first, sizeof(*out->holders.v), most_first);
	ss_u64map_free(&open);
	ss_u64map_free(&rows);
	return ok;
}

bool ss_torch_held(const struct ss_torch *t, struct ss_torch_held *out)
{
	struct ss_torch_memory_at *v = ss_torch_memory_order(t);
	int64_t *in_use = malloc((t->memory.n + 1) * sizeof(*in_use));
	bool ok = v && in_use;
	*out = (struct ss_torch_held){ .steps = { 0 } };
	for (size_t i = 0, end; ok && i < t->memory.n; i = end) {
		for (end = i; end < t->memory.n && v[end].device == v[i].device; end++)
			;
		struct run r = { .t = t, .v = v + i, .in_use = in_use, .n = end - i };
		find_in_use(&r);
		ok = add_steps(&r, out) && add_holders(&r, out);
	}
	free(v);
	free(in_use);
	if (!ok)
		ss_torch_held_free(out);
	return ok;
}

void ss_torch_held_free(struct ss_torch_held *h)
{
	ss_vec_free(&h->steps);
	ss_vec_free(&h->holders);
}
