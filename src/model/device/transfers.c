/*
 * transfers.c - events of operations with a channel. Names are asked first: most profiles have no
 * such operation, and then no event is looked at.
 */
#include "model/device/transfers.h"

#include "base/vec.h"
#include "model/device/core_details.h"
#include "model/device/op_facts.h"
#include "model/fold.h"
#include "model/host/host.h"
#include "model/preprocess/load.h"

#include <stdlib.h>

/* Channel and kind from an event's name; without a channel the event is not a transfer. */
struct known {
	bool is_transfer;
	int64_t channel;
	enum ss_transfer_kind kind;
	struct ss_str name, expression;
};

struct list {
	SS_VEC(struct ss_transfer) v;
};

static struct ss_str number_at(struct ss_str s)
{
	size_t n = 0;
	while (n < s.n && s.p[n] >= '0' && s.p[n] <= '9')
		n++;
	return ss_str_sub(s, 0, n);
}

static bool read_known(const struct ss_xplane *x, uint32_t meta, struct known *out)
{
	static const struct {
		struct ss_str category;
		enum ss_transfer_kind kind;
	} kinds[] = { { SS_STR_INIT("send"), SS_SEND },
		      { SS_STR_INIT("send-done"), SS_SEND_DONE },
		      { SS_STR_INIT("recv"), SS_RECV },
		      { SS_STR_INIT("recv-done"), SS_RECV_DONE } };
	const struct ss_str key = SS_STR("channel_id=");
	struct ss_op_facts f;
	if (!ss_op_facts_read(&f, x, meta))
		return false;
	size_t at = ss_str_find(f.long_name, key);
	if (at == SS_NPOS || !ss_str_to_i64(number_at(ss_str_sub(f.long_name, at + key.n, f.long_name.n)), &out->channel))
		return false;
	for (size_t i = 0; i < SS_COUNT(kinds); i++)
		if (ss_str_eq(f.category, kinds[i].category)) {
			out->kind = kinds[i].kind;
			out->name = f.name;
			out->expression = f.long_name;
			out->is_transfer = true;
		}
	return out->is_transfer;
}

static bool read_line(struct list *to, const struct ss_plane *p, const struct ss_line *l, const struct known *known)
{
	for (uint32_t i = 0; i < l->ev.n; i++) {
		uint32_t meta = l->ev.meta[i];
		if (meta >= p->x->nevent_meta || !known[meta].is_transfer)
			continue;
		const struct known *k = &known[meta];
		struct ss_transfer t = { .channel = k->channel, .kind = k->kind, .name = k->name,
					 .expression = k->expression, .group = ss_event_group(p, l, i) };
		uint64_t dur_ps;
		ss_device_span(p, l, i, &t.begin_ps, &dur_ps);
		t.end_ps = (int64_t)((uint64_t)t.begin_ps + dur_ps);
		if (t.group != SS_NO_GROUP && !ss_vec_push(&to->v, t))
			return false;
	}
	return true;
}

static int in_order(const void *a, const void *b)
{
	const struct ss_transfer *x = a, *y = b;
	return SS_CMP(x->group, y->group) ?: SS_CMP(x->channel, y->channel) ?: SS_CMP(x->kind, y->kind) ?:
	       SS_CMP(x->begin_ps, y->begin_ps);
}

/* By group, then channel, kind and begin; in `arena`. Cheap where no operation transfers anything. */
static bool transfers_read(const struct ss_plane *p, struct ss_arena *arena, struct ss_transfer **v, size_t *n,
		       struct ss_err *err)
{
	struct known *known = calloc((size_t)p->x->nevent_meta + 1, sizeof(*known));
	struct list all = { 0 };
	bool ok = known, any = false;
	for (uint32_t i = 0; known && i < p->x->nevent_meta; i++)
		any = read_known(p->x, i, &known[i]) || any;
	for (uint32_t i = 0; ok && any && i < p->nlines; i++)
		ok = p->lines[i].derived || read_line(&all, p, &p->lines[i], known);
	*n = all.v.n;
	*v = ok ? SS_NEW_N(arena, struct ss_transfer, all.v.n + 1) : NULL;
	if (*v && all.v.n) {
		qsort(all.v.v, all.v.n, sizeof(*all.v.v), in_order);
		memcpy(*v, all.v.v, all.v.n * sizeof(*all.v.v));
	}
	ss_vec_free(&all.v);
	free(known);
	return *v || ss_fail_mem(err);
}

/* A number, which is passed. */
static bool take_number(struct ss_str *s, uint64_t *out)
{
	struct ss_str digits = number_at(*s);
	*s = ss_str_sub(*s, digits.n, s->n);
	return ss_str_to_u64(digits, out);
}

static bool take(struct ss_str *s, char c)
{
	if (!s->n || s->p[0] != c)
		return false;
	*s = ss_str_sub(*s, 1, s->n);
	return true;
}

enum ss_transfer_source ss_transfer_source(struct ss_str expression, uint64_t target, uint64_t *source)
{
	const struct ss_str key = SS_STR("source_target_pairs=");
	size_t at = ss_str_find(expression, key);
	struct ss_str s = at == SS_NPOS ? SS_STR("") : ss_str_sub(expression, at + key.n, expression.n);
	uint64_t from, to;
	while (take(&s, '"') || take(&s, '\\'))
		;
	if (!take(&s, '{') || !s.n || s.p[0] != '{')
		return SS_SOURCE_UNSAID;
	while (take(&s, '{')) {
		if (!take_number(&s, &from) || !take(&s, ',') || !take_number(&s, &to) || !take(&s, '}'))
			return SS_SOURCE_UNSAID;
		if (to == target) {
			*source = from;
			return SS_SOURCE_SAID;
		}
		take(&s, ',');
	}
	return SS_SOURCE_NONE;
}

/* ---- of one host ---- */

static void release_host(void *data)
{
	struct ss_host_transfers *t = data;
	ss_arena_release(&t->arena);
	free(t);
}

static bool add_core(struct ss_host_transfers *t, const struct ss_plane *core, struct ss_err *err)
{
	struct ss_core_transfers c = { .core_id = (uint32_t)core->id };
	/* Planes of one number: the first counts. */
	for (size_t i = 0; i < t->n; i++)
		if (t->cores[i].core_id == c.core_id)
			return true;
	if (!transfers_read(core, &t->arena, &c.v, &c.n, err))
		return false;
	if (c.n)
		t->cores[t->n++] = c;
	return true;
}

static void *build_host(void *owner, struct ss_err *err)
{
	struct ss_host *h = owner;
	if (!ss_host_load(h, err))
		return NULL;
	struct ss_host_transfers *t = calloc(1, sizeof(*t));
	if (!t) {
		ss_fail_mem(err);
		return NULL;
	}
	t->cores = SS_NEW_N(&t->arena, struct ss_core_transfers, (size_t)h->nplanes + 1);
	bool ok = t->cores || ss_fail_mem(err);
	for (uint32_t k = 0; ok && k < h->nplanes; k++)
		if (h->planes[k].kind == SS_PLANE_TENSOR_CORE)
			ok = add_core(t, &h->planes[k], err);
	if (ok)
		return t;
	release_host(t);
	return NULL;
}

static const struct ss_host_fact of_host = { SS_HOST_SENT, build_host, release_host };

const struct ss_host_transfers *ss_host_transfers(struct ss_host *h, struct ss_err *err)
{
	return ss_host_fact_get(h, &of_host, err);
}

/* ---- of all hosts ---- */

struct all {
	struct ss_all_transfers out; /* first: what the getter returns points here */
	size_t cap;
	struct ss_intern intern;
};

static bool take_host(void *data, size_t i, struct ss_host *h, const void *fact, struct ss_err *err)
{
	struct all *all = data;
	const struct ss_host_transfers *t = fact;
	(void)h;
	if (!ss_grow((void **)&all->out.cores, &all->cap, all->out.n + t->n, sizeof(*all->out.cores)))
		return ss_fail_mem(err);
	for (size_t k = 0; k < t->n; k++) {
		struct ss_core_transfers *c = &all->out.cores[all->out.n++];
		*c = t->cores[k];
		c->core_id += (uint32_t)i * 1000;
		c->v = ss_intern_copy(&all->intern, c->v, c->n, sizeof(*c->v));
		for (size_t e = 0; c->v && e < c->n; e++) {
			c->v[e].name = ss_intern_str(&all->intern, c->v[e].name);
			c->v[e].expression = ss_intern_str(&all->intern, c->v[e].expression);
		}
	}
	return !all->intern.no_memory || ss_fail_mem(err);
}

static int by_core_id(const void *a, const void *b)
{
	const struct ss_core_transfers *x = a, *y = b;
	return SS_CMP(x->core_id, y->core_id);
}

static bool end_all(void *data, struct ss_err *err)
{
	struct all *all = data;
	(void)err;
	if (all->out.n)
		qsort(all->out.cores, all->out.n, sizeof(*all->out.cores), by_core_id);
	return true;
}

static void release_all(void *data)
{
	struct all *all = data;
	free(all->out.cores);
	ss_intern_release(&all->intern);
	free(all);
}

const struct ss_fold ss_fold_transfers = {
	.part = SS_MODEL_TRANSFERS,
	SS_FOLD_DATA(struct all),
	.of = &of_host,
	.take = take_host,
	.end = end_all,
	.release = release_all,
};

const struct ss_all_transfers *ss_model_transfers(struct ss_model *m, struct ss_err *err)
{
	return ss_fold_get(m, &ss_fold_transfers, err);
}
