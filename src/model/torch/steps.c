/* steps.c - see steps.h. */
#include "model/torch/steps.h"

#include "base/bisect.h"
#include "base/exclusive.h"
#include "base/map.h"
#include "model/torch/kernel_name.h"
#include "model/torch/torch_build.h"

#include <stdlib.h>

/* ---- which steps there are ---- */

static int by_begin(const void *a, const void *b)
{
	const struct ss_torch_step *x = a, *y = b;
	return SS_CMP(x->begin_ns, y->begin_ns) ?: SS_CMP(x->number, y->number);
}

static void widen(struct ss_torch_step *s, int64_t begin_ns, int64_t end_ns)
{
	s->begin_ns = begin_ns < s->begin_ns ? begin_ns : s->begin_ns;
	s->end_ns = end_ns > s->end_ns ? end_ns : s->end_ns;
}

/*
 * Nobody marked steps: all operators are one; of a trace without operators all calls; else whatever
 * ran on devices.
 */
static bool one_step(struct ss_torch *t)
{
	struct ss_torch_step s = { 0, INT64_MAX, INT64_MIN, 0 };
	for (size_t i = 0; i < t->ops.n; i++)
		widen(&s, t->ops.v[i].begin_ns, t->ops.v[i].end_ns);
	for (size_t i = 0; i < t->ranges.n; i++)
		if (t->ranges.v[i].operators)
			widen(&s, t->ranges.v[i].begin_ns, t->ranges.v[i].end_ns);
	bool any = s.begin_ns <= s.end_ns;
	for (size_t i = 0; !any && i < t->calls.n; i++)
		widen(&s, t->calls.v[i].begin_ns, t->calls.v[i].end_ns);
	any = s.begin_ns <= s.end_ns;
	for (size_t i = 0; !any && i < t->device.n; i++)
		widen(&s, t->device.v[i].begin_ns, t->device.v[i].end_ns);
	return s.begin_ns > s.end_ns || ss_vec_push(&t->steps, s);
}

/*
 * Marks of one number are one step if they overlap, or no other is between them. A job that restarts from a checkpoint marks
 * numbers again behind others: steps of their own.
 */
static bool merge_marks(struct ss_torch *t)
{
	struct ss_u64map last = { 0 };
	size_t n = 0;
	bool ok = true;
	for (size_t i = 0; ok && i < t->steps.n; i++) {
		const struct ss_torch_step *s = &t->steps.v[i];
		uint32_t k = ss_u64map_get(&last, (uint64_t)s->number);
		if (k != SS_NONE && ((size_t)k + 1 == n || s->begin_ns < t->steps.v[k].end_ns))
			continue;
		ok = n < SS_NONE && ss_u64map_put(&last, (uint64_t)s->number, (uint32_t)n);
		t->steps.v[n++] = *s;
	}
	t->steps.n = n;
	ss_u64map_free(&last);
	return ok;
}

bool ss_torch_find_steps(struct ss_torch *t)
{
	for (size_t i = 0; i < t->ranges.n; i++) {
		const struct ss_torch_range *r = &t->ranges.v[i];
		if (r->step != INT64_MIN &&
		    !ss_vec_push(&t->steps, ((struct ss_torch_step){ r->step, r->begin_ns, r->end_ns, r->mark })))
			return false;
	}
	t->marked = t->steps.n > 0;
	if (!t->marked)
		return one_step(t);
	qsort(t->steps.v, t->steps.n, sizeof(*t->steps.v), by_begin);
	return merge_marks(t);
}

/* ---- steps by the device ---- */

size_t ss_torch_step_of_call(const struct ss_torch *t, const struct ss_torch_call *c)
{
	size_t lo = 0, hi = t->steps.n;
	SS_BISECT(lo, hi, mid, t->steps.v[mid].begin_ns <= c->begin_ns);
	return lo && c->end_ns <= t->steps.v[lo - 1].end_ns ? lo - 1 : SS_NPOS;
}

struct device_step {
	int64_t first_ns, last_ns; /* of what the step launched */
};

/* When the device was done with what was launched before the first step; a first step that launched nothing does not tell. */
static int64_t before_first(const struct ss_torch *t, const struct device_step *d)
{
	int64_t end_ns = INT64_MIN;
	for (size_t i = 0; d[0].last_ns != INT64_MIN && i < t->device.n; i++) {
		const struct ss_torch_device_event *e = &t->device.v[i];
		bool launched = e->call != SS_NONE && ss_torch_step_of_call(t, &t->calls.v[e->call]) != SS_NPOS;
		if (!launched && e->end_ns < d[0].first_ns && e->end_ns > end_ns)
			end_ns = e->end_ns;
	}
	return end_ns;
}

bool ss_torch_device_steps(const struct ss_torch *t, struct ss_torch_step *out)
{
	size_t n = t->steps.n;
	bool any = false;
	struct device_step *d = malloc((n + 1) * sizeof(*d));
	if (!d)
		return false;
	for (size_t i = 0; i < n; i++) {
		d[i] = (struct device_step){ INT64_MAX, INT64_MIN };
		out[i] = t->steps.v[i];
	}
	for (size_t i = 0; i < t->device.n; i++) {
		const struct ss_torch_device_event *e = &t->device.v[i];
		size_t s = e->call == SS_NONE ? SS_NPOS : ss_torch_step_of_call(t, &t->calls.v[e->call]);
		if (s == SS_NPOS)
			continue;
		any = true;
		d[s].first_ns = e->begin_ns < d[s].first_ns ? e->begin_ns : d[s].first_ns;
		d[s].last_ns = e->end_ns > d[s].last_ns ? e->end_ns : d[s].last_ns;
	}
	int64_t before_ns = any ? before_first(t, d) : INT64_MIN;
	for (size_t i = 0; any && i < n; i++) {
		struct ss_torch_step *s = &out[i];
		s->begin_ns = before_ns > s->begin_ns ? before_ns : s->begin_ns;
		s->end_ns = d[i].last_ns > s->end_ns ? d[i].last_ns : s->end_ns;
		s->end_ns = s->begin_ns > s->end_ns ? s->begin_ns : s->end_ns;
		before_ns = s->end_ns;
	}
	free(d);
	return true;
}

/* ---- what their time went to ---- */

bool ss_torch_is_gloo(const struct ss_torch *t, const struct ss_torch_range *r)
{
	return !t->device.n && ss_str_starts(ss_torch_text(t, r->name), SS_STR("gloo:"));
}

static uint32_t class_of_device(const struct ss_torch_device_event *e)
{
	switch (e->kind) {
	case SS_TORCH_MEMCPY:
		return SS_TORCH_IN_MEMCPY;
	case SS_TORCH_MEMSET:
		return SS_TORCH_IN_MEMSET;
	case SS_TORCH_COLLECTIVE:
		return SS_TORCH_IN_COMMUNICATION;
	default:
		return SS_TORCH_IN_KERNEL;
	}
}

static uint32_t class_of_range(const struct ss_torch *t, const struct ss_torch_range *r)
{
	if (r->step != INT64_MIN || ss_kineto_is_step(ss_torch_text(t, r->name)))
		return SS_TORCH_CLASSES;
	if (ss_kineto_is_dataloader(ss_torch_text(t, r->name)))
		return SS_TORCH_IN_DATALOADER;
	return ss_torch_is_gloo(t, r) ? SS_TORCH_IN_COMMUNICATION : SS_TORCH_IN_CPU_OP;
}

/* ---- what kernels and copies are ---- */

/* Beside its class, what a claim's owner says. */
enum { PART_NONE = 0, PART_16_BIT = 1 << 8, PART_TO_DEVICE = 2 << 8, PART_TO_HOST = 3 << 8 };
#define CLASS_MASK 0xffu

enum width { WIDTH_NEW, WIDTH_NARROW, WIDTH_WIDE, WIDTH_UNKNOWN };

static enum width width_of_name(struct ss_str kernel)
{
	const char *p = ss_torch_precision(kernel);
	if (strcmp(p, "other") == 0)
		return WIDTH_UNKNOWN;
	return strcmp(p, "fp32") == 0 || strcmp(p, "tf32") == 0 ? WIDTH_WIDE : WIDTH_NARROW;
}

/* `known`: by the text of the kernel's name. */
static bool is_narrow(const struct ss_torch *t, const struct ss_torch_device_event *e, uint8_t *known)
{
	if (known[e->name] == WIDTH_NEW)
		known[e->name] = (uint8_t)width_of_name(ss_torch_text(t, e->name));
	if (known[e->name] != WIDTH_UNKNOWN || e->op == SS_NONE)
		return known[e->name] == WIDTH_NARROW;
	struct ss_str types = ss_torch_text(t, ss_torch_shape(t, e->op)->types);
	return ss_str_contains(types, SS_STR("BFloat16")) || ss_str_contains(types, SS_STR("Half"));
}

static uint32_t part_of(const struct ss_torch *t, const struct ss_torch_device_event *e, uint8_t *known)
{
	if (e->kind == SS_TORCH_KERNEL)
		return is_narrow(t, e, known) ? PART_16_BIT : PART_NONE;
	if (e->kind != SS_TORCH_MEMCPY)
		return PART_NONE;
	struct ss_str name = ss_torch_text(t, e->name);
	if (ss_str_contains(name, SS_STR("HtoD")) || ss_str_contains(name, SS_STR("HostToDevice")))
		return PART_TO_DEVICE;
	bool to_host = ss_str_contains(name, SS_STR("DtoH")) || ss_str_contains(name, SS_STR("DeviceToHost"));
	return to_host ? PART_TO_HOST : PART_NONE;
}

bool ss_torch_precision_ns(const struct ss_torch *t, int64_t *narrow_ns, int64_t *wide_ns)
{
	uint8_t *known = calloc(t->texts.n + 1, 1);
	*narrow_ns = *wide_ns = 0;
	for (size_t i = 0; known && i < t->device.n; i++) {
		const struct ss_torch_device_event *e = &t->device.v[i];
		if (e->kind == SS_TORCH_KERNEL)
			*(is_narrow(t, e, known) ? narrow_ns : wide_ns) += e->end_ns - e->begin_ns;
	}
	free(known);
	return known;
}

struct claims {
	SS_VEC(struct ss_claim) v;
	int64_t from_ns, to_ns;
};

static bool claim(struct claims *c, int64_t begin_ns, int64_t end_ns, uint32_t class)
{
	if ((class & CLASS_MASK) == SS_TORCH_CLASSES || end_ns <= c->from_ns || begin_ns >= c->to_ns)
		return true;
	return ss_vec_push(&c->v, ((struct ss_claim){ begin_ns, end_ns, class & CLASS_MASK, class }));
}

static bool claim_device(struct claims *c, const struct ss_torch *t)
{
	uint8_t *known = calloc(t->texts.n + 1, 1);
	bool ok = known;
	for (size_t i = 0; ok && i < t->device.n; i++) {
		const struct ss_torch_device_event *e = &t->device.v[i];
		ok = claim(c, e->begin_ns, e->end_ns, class_of_device(e) | part_of(t, e, known));
	}
	free(known);
	return ok;
}

/*
 * What has an operator around it adds nothing to the same class. Waiting for other ranks (gloo) is
 * nothing that the host does.
 */
static bool claim_host(struct claims *c, const struct ss_torch *t, bool host_only)
{
	bool ok = true;
	for (size_t i = 0; ok && i < t->calls.n; i++)
		ok = t->calls.v[i].nested ||
		     claim(c, t->calls.v[i].begin_ns, t->calls.v[i].end_ns, SS_TORCH_IN_RUNTIME);
	for (size_t i = 0; ok && i < t->ops.n; i++) {
		const struct ss_torch_op *op = &t->ops.v[i];
		bool covered = op->parent != SS_NONE && t->ops.v[op->parent].end_ns >= op->end_ns;
		ok = covered || claim(c, op->begin_ns, op->end_ns, SS_TORCH_IN_CPU_OP);
	}
	for (size_t i = 0; ok && i < t->ranges.n; i++) {
		const struct ss_torch_range *r = &t->ranges.v[i];
		uint32_t class = class_of_range(t, r);
		ok = (host_only && class == SS_TORCH_IN_COMMUNICATION) || claim(c, r->begin_ns, r->end_ns, class);
	}
	return ok;
}

/* Pieces come in the order of time; steps begin in theirs. */
struct division {
	struct ss_torch_step_time *v;
	size_t n, first;
};

static void add_piece(struct ss_torch_step_time *s, uint32_t owner, int64_t ns)
{
	s->class_ns[owner & CLASS_MASK] += ns;
	s->kernel_16bit_ns += (owner & ~CLASS_MASK) == PART_16_BIT ? ns : 0;
	s->to_device_ns += (owner & ~CLASS_MASK) == PART_TO_DEVICE ? ns : 0;
	s->to_host_ns += (owner & ~CLASS_MASK) == PART_TO_HOST ? ns : 0;
}

static bool take_piece(void *ctx, int64_t begin_ns, int64_t end_ns, const struct ss_claim *winner)
{
	struct division *d = ctx;
	while (d->first < d->n && d->v[d->first].step.end_ns <= begin_ns)
		d->first++;
	for (size_t i = d->first; i < d->n && d->v[i].step.begin_ns < end_ns; i++) {
		const struct ss_torch_step *s = &d->v[i].step;
		int64_t from = begin_ns > s->begin_ns ? begin_ns : s->begin_ns, to = end_ns < s->end_ns ? end_ns : s->end_ns;
		if (from < to)
			add_piece(&d->v[i], winner ? winner->owner : SS_TORCH_IN_OTHER, to - from);
	}
	return true;
}

static bool divide(const struct ss_torch *t, const struct ss_torch_step *steps, size_t n, bool host_only,
		   struct ss_torch_step_time **out)
{
	struct claims c = { .from_ns = INT64_MAX, .to_ns = INT64_MIN };
	struct division d = { .v = calloc(n + 1, sizeof(*d.v)), .n = n };
	bool ok = d.v != NULL;
	for (size_t i = 0; ok && i < n; i++) {
		d.v[i].step = steps[i];
		c.from_ns = steps[i].begin_ns < c.from_ns ? steps[i].begin_ns : c.from_ns;
		c.to_ns = steps[i].end_ns > c.to_ns ? steps[i].end_ns : c.to_ns;
	}
	if (ok && c.from_ns < c.to_ns)
		ok = (host_only || claim_device(&c, t)) && claim_host(&c, t, host_only) &&
		     ss_exclusive(c.v.v, c.v.n, c.from_ns, c.to_ns, take_piece, &d);
	ss_vec_free(&c.v);
	if (!ok)
		free(d.v);
	*out = ok ? d.v : NULL;
	return ok;
}

bool ss_torch_divide(const struct ss_torch *t, const struct ss_torch_step *steps, size_t n, struct ss_torch_step_time **out)
{
	return divide(t, steps, n, false, out);
}

bool ss_torch_divide_host(const struct ss_torch *t, const struct ss_torch_step *steps, size_t n,
			  struct ss_torch_step_time **out)
{
	return divide(t, steps, n, true, out);
}
