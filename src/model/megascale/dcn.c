/*
 * dcn.c - from transfer operations of a TensorCore to slack and stalls per rendezvous.
 *
 * Operations are taken in the file's order, which is that of time. "Time of other transfers so far"
 * is one running sum; a rendezvous remembers where the sum stood when it began. Arithmetic is in
 * whole nanoseconds and microseconds, as the values are compared between hosts and programs.
 */
#include "model/megascale/dcn.h"

#include "base/bisect.h"
#include "base/vec.h"
#include "hlo/shape.h"
#include "model/host/host.h"
#include "model/host/partial_read.h"
#include "model/program/hlo_map.h"

#include <stdlib.h>

/* DcnCollectiveInfoProto */
enum { DCN_ENDPOINT_GROUPS = 2, DCN_ONE_TO_ONE_GROUPS = 3, ENDPOINT_GROUP_ENDPOINTS = 1 };

enum kind { KIND_OTHER, KIND_SEND, KIND_SEND_DONE, KIND_RECV, KIND_RECV_DONE };

/* Facts of an instruction of a program about its transfer. */
struct instr {
	enum kind kind;
	struct ss_str rendezvous, transfer_type;
	int64_t channel;
	uint64_t bytes;
};

/* The state of one rendezvous while the operations pass by, and the sums over its occurrences. */
struct transfer {
	struct ss_str send_name, transfer_type;
	uint64_t send_begin_ns, others_before_ns, stall_ns;
	uint64_t send_ns, send_done_ns, recv_ns, recv_done_ns;
	uint64_t group_size;
	bool group_known;
	struct ss_dcn sum;
};

struct walk {
	struct ss_host *h;
	const struct ss_plane *p;
	const struct ss_line *ops, *modules;
	uint32_t *module_order;		/* modules by begin */
	uint32_t *module_of_meta;	/* event metadata of a module line to entry, SS_NONE: none */
	bool *is_transfer;		/* by event metadata: category "host send..." or "host recv..." */
	const struct ss_hlo_entry *entries;
	struct ss_hlo_map *hlo;
	SS_VEC(struct instr) instrs;
	struct ss_u64map instr_of;	/* program and name to instrs */
	struct ss_strmap names;		/* rendezvous to transfers */
	SS_VEC(struct transfer) transfers;
	struct ss_u64map by_channel;	/* channel to transfers */
	uint64_t others_ns;		/* durations of all transfer operations so far */
};

bool ss_host_has_dcn(const struct ss_host *h)
{
	const struct ss_plane *p = ss_host_plane(h, SS_PLANE_HOST_CPU);
	for (uint32_t i = 0; p && i < p->x->nevent_meta; i++)
		if (ss_str_starts(p->x->event_meta[i].name, SS_STR("MegaScale:")))
			return true;
	return false;
}

static struct ss_str attribute(struct ss_str instr, struct ss_str name)
{
	struct ss_str found = SS_STR("");
	struct ss_pb c = ss_pb_of(instr);
	struct ss_pb_field f, e, v;
	while (ss_pb_next(&c, &f)) {
		if (f.key != PB_LEN(HLO_INSTRUCTION_FRONTEND_ATTRIBUTES))
			continue;
		struct ss_pb map = ss_pb_of(f.bytes);
		while (ss_pb_next(&map, &e)) {
			struct ss_str key = SS_STR(""), value = SS_STR("");
			struct ss_pb entry = ss_pb_of(e.bytes);
			if (e.key != PB_LEN(FRONTEND_ATTRIBUTES_MAP))
				continue;
			while (ss_pb_next(&entry, &v))
				if (v.key == PB_LEN(1))
					key = v.bytes;
				else if (v.key == PB_LEN(2))
					value = v.bytes;
			if (ss_str_eq(key, name))
				found = value;
		}
	}
	return found;
}

static uint64_t add_up(uint64_t a, uint64_t b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

/*
 * Bytes of an array, or of the arrays in a tuple. Tokens and tuples inside of it have none of their
 * own.
 */
static uint64_t payload_bytes(struct ss_str shape)
{
	if (ss_hlo_shape_type(shape) != SS_HLO_TUPLE)
		return (uint64_t)ss_hlo_shape_bytes(shape);
	uint64_t sum = 0;
	struct ss_pb c = ss_pb_of(shape);
	struct ss_pb_field f;
	while (ss_pb_next(&c, &f))
		if (f.key == PB_LEN(SHAPE_TUPLE_SHAPES) && ss_hlo_shape_type(f.bytes) != SS_HLO_TUPLE)
			sum = add_up(sum, (uint64_t)ss_hlo_shape_bytes(f.bytes));
	return sum;
}

static enum kind kind_of(struct ss_str opcode)
{
	if (ss_str_is(opcode, "send"))
		return KIND_SEND;
	if (ss_str_is(opcode, "send-done"))
		return KIND_SEND_DONE;
	if (ss_str_is(opcode, "recv"))
		return KIND_RECV;
	return ss_str_is(opcode, "recv-done") ? KIND_RECV_DONE : KIND_OTHER;
}

static void read_instr(struct ss_str body, struct instr *out)
{
	struct ss_hlo_instr in;
	struct ss_pb c = ss_pb_of(body);
	struct ss_pb_field f;
	ss_hlo_instr_read(body, &in);
	*out = (struct instr){ .kind = kind_of(in.opcode), .bytes = payload_bytes(in.shape) };
	out->rendezvous = attribute(body, SS_STR("_xla_host_transfer_rendezvous"));
	out->transfer_type = attribute(body, SS_STR("_xla_megascale_transfer_type"));
	while (ss_pb_next(&c, &f))
		if (f.key == PB_VAR(HLO_INSTRUCTION_CHANNEL_ID))
			out->channel = (int64_t)f.u;
}

/*
 * The instruction of a program by name; *out is NULL if there is none. Read once for all its
 * events.
 */
static bool find_instr(struct walk *w, uint32_t entry, struct ss_str name, const struct instr **out, struct ss_err *err)
{
	uint64_t key = ss_mix(entry, ss_str_hash(name));
	uint32_t i = ss_u64map_get(&w->instr_of, key);
	*out = NULL;
	if (i == SS_NONE) {
		const struct ss_hlo_module *m;
		struct instr in = { 0 };
		if (!ss_hlo_map_get(w->hlo, w->entries[entry].program_id, &m, err))
			return false;
		uint32_t at = m ? ss_hlo_instr_by_name(m, name) : SS_NONE;
		if (at != SS_NONE)
			read_instr(m->instrs[at], &in);
		i = (uint32_t)w->instrs.n;
		if (!ss_vec_push(&w->instrs, in) || ss_u64map_add(&w->instr_of, key, i) == SS_NONE)
			return ss_fail_mem(err);
	}
	*out = &w->instrs.v[i];
	return true;
}

/*
 * The number of participants in a transfer: 1 for pairs, the first group's members for collectives,
 * 0 if unknown.
 */
static uint64_t group_size(struct ss_str info)
{
	struct ss_pb c = ss_pb_of(info), g;
	struct ss_pb_field f, e;
	uint64_t members = 0;
	bool first = true;
	while (ss_pb_next(&c, &f)) {
		if (f.key == PB_LEN(DCN_ONE_TO_ONE_GROUPS))
			return 1;
		if (f.key != PB_LEN(DCN_ENDPOINT_GROUPS) || !first)
			continue;
		first = false;
		g = ss_pb_of(f.bytes);
		while (ss_pb_next(&g, &e))
			members += e.key == PB_LEN(ENDPOINT_GROUP_ENDPOINTS);
	}
	return members;
}

/* Bytes that one participant of `g` sends when the transfer's result has `b`. */
static uint64_t network_bytes(struct ss_str type, uint64_t g, uint64_t b)
{
	double share = g ? (double)(g - 1) / (double)g : 0, bytes = 0;
	if (ss_str_is(type, "ONE_TO_ONE"))
		bytes = (double)g * (double)b;
	else if (ss_str_is(type, "ALL_GATHER") || ss_str_is(type, "ALL_TO_ALL"))
		bytes = share * (double)b;
	else if (ss_str_is(type, "ALL_REDUCE"))
		bytes = 2 * share * (double)b;
	else if (ss_str_is(type, "REDUCE_SCATTER") && g)
		bytes = (double)(g - 1) * (double)b;
	return bytes < 0x1p63 ? (uint64_t)bytes : INT64_MAX;
}

/*
 * The transfer an instruction belongs to: by its rendezvous, which is then remembered for its
 * channel, or else by its channel. *out is NULL if it belongs to none.
 */
static bool find_transfer(struct walk *w, const struct instr *in, struct transfer **out, struct ss_err *err)
{
	uint32_t i;
	*out = NULL;
	if (in->rendezvous.n) {
		i = ss_strmap_add(&w->names, in->rendezvous);
		if (i == SS_NONE)
			return ss_fail_mem(err);
		if (i == w->transfers.n && !ss_vec_push(&w->transfers, (struct transfer){ .sum.rendezvous = in->rendezvous }))
			return ss_fail_mem(err);
		if (!ss_u64map_put(&w->by_channel, (uint64_t)in->channel, i))
			return ss_fail_mem(err);
	} else {
		i = ss_u64map_get(&w->by_channel, (uint64_t)in->channel);
	}
	if (i != SS_NONE)
		*out = &w->transfers.v[i];
	return true;
}

static void begin_transfer(struct walk *w, struct transfer *t, const struct instr *in, uint32_t event)
{
	struct ss_xstat s;
	uint32_t meta = w->ops->ev.meta[event];
	t->send_begin_ns = (uint64_t)w->ops->ev.begin_ps[event] / 1000;
	t->send_ns = w->ops->ev.dur_ps[event] / 1000;
	t->stall_ns = t->send_ns;
	t->others_before_ns = w->others_ns;
	t->send_name = ss_event_display_name(w->p, meta);
	t->transfer_type = in->transfer_type;
	if (t->group_known)
		return;
	t->group_known = true;
	if (ss_xstats_find(ss_xevent_meta_stats(w->p->x, meta), SS_STAT_DCN_COLLECTIVE_INFO, &s))
		t->group_size = s.kind == SS_X_BYTES || s.kind == SS_X_STR ? group_size(s.s) : 0;
}

static void end_transfer(struct walk *w, struct transfer *t, const struct instr *in, uint32_t event)
{
	uint64_t begin_ns = (uint64_t)w->ops->ev.begin_ps[event] / 1000;
	uint64_t end_us = (uint64_t)ss_xevents_end_ps(&w->ops->ev, event) / 1000000;
	uint64_t busy_ns = t->send_begin_ns + (w->others_ns - t->others_before_ns);
	struct ss_dcn *d = &t->sum;
	t->recv_done_ns = w->ops->ev.dur_ps[event] / 1000;
	if (!t->send_begin_ns)
		return;
	d->slack_us += begin_ns > busy_ns ? (begin_ns - busy_ns) / 1000 : 0;
	d->stall_us += t->stall_ns / 1000;
	d->observed_us += end_us > t->send_begin_ns / 1000 ? end_us - t->send_begin_ns / 1000 : 0;
	d->send_us += t->send_ns / 1000;
	d->send_done_us += t->send_done_ns / 1000;
	d->recv_us += t->recv_ns / 1000;
	d->recv_done_us += t->recv_done_ns / 1000;
	d->occurrences++;
	d->send_name = t->send_name;
	d->recv_name = ss_event_display_name(w->p, w->ops->ev.meta[event]);
	d->transfer_type = t->transfer_type;
	d->net_bytes = network_bytes(t->transfer_type, t->group_size, in->bytes);
}

static bool visit(struct walk *w, uint32_t event, const struct instr *in, struct ss_err *err)
{
	uint64_t dur_ns = w->ops->ev.dur_ps[event] / 1000;
	struct transfer *t;
	if (!find_transfer(w, in, &t, err))
		return false;
	if (!t)
		return true;
	t->stall_ns += dur_ns;
	switch (in->kind) {
	case KIND_SEND:
		begin_transfer(w, t, in, event);
		break;
	case KIND_SEND_DONE:
		t->send_done_ns = dur_ns;
		break;
	case KIND_RECV:
		t->recv_ns = dur_ns;
		break;
	case KIND_RECV_DONE:
		end_transfer(w, t, in, event);
		break;
	case KIND_OTHER:
		break;
	}
	w->others_ns += dur_ns;
	return true;
}

/* The module event that holds the span of `event`, SS_NONE if there is none. */
static uint32_t enclosing_module(const struct walk *w, uint32_t event)
{
	const struct ss_xevents *m = &w->modules->ev;
	int64_t begin = w->ops->ev.begin_ps[event];
	uint32_t lo = 0, hi = m->n;
	SS_BISECT(lo, hi, mid, m->begin_ps[w->module_order[mid]] <= begin);
	if (!lo)
		return SS_NONE;
	uint32_t i = w->module_order[lo - 1];
	return ss_xevents_end_ps(&w->ops->ev, event) <= ss_xevents_end_ps(m, i) ? i : SS_NONE;
}

static bool walk_ops(struct walk *w, struct ss_err *err)
{
	for (uint32_t i = 0; i < w->ops->ev.n; i++) {
		uint32_t meta = w->ops->ev.meta[i];
		const struct instr *in;
		if (meta >= w->p->x->nevent_meta || !w->is_transfer[meta])
			continue;
		uint32_t module = enclosing_module(w, i);
		uint32_t module_meta = module == SS_NONE ? SS_NONE : w->modules->ev.meta[module];
		if (module_meta >= w->p->x->nevent_meta || w->module_of_meta[module_meta] == SS_NONE)
			continue;
		if (!find_instr(w, w->module_of_meta[module_meta], ss_event_display_name(w->p, meta), &in, err) ||
		    !visit(w, i, in, err))
			return false;
	}
	return true;
}

static bool is_transfer(const struct ss_xplane *x, uint32_t meta)
{
	struct ss_xstat s;
	if (!ss_xstats_find(ss_xevent_meta_stats(x, meta), SS_STAT_HLO_CATEGORY, &s))
		return false;
	return ss_str_contains(ss_xstat_str(&s), SS_STR("host send")) || ss_str_contains(ss_xstat_str(&s), SS_STR("host recv"));
}

static bool match_programs(struct walk *w, struct ss_err *err)
{
	struct ss_strmap titles = { 0 };
	const struct ss_xplane *x = w->p->x;
	uint32_t n;
	bool ok = true;
	w->entries = ss_hlo_map_entries(w->hlo, &n);
	/* Index in `titles` is not index in `entries`: equal titles share one. The first counts. */
	struct ss_u64map first = { 0 };
	for (uint32_t i = 0; ok && i < n; i++) {
		uint32_t t = ss_strmap_add(&titles, w->entries[i].title);
		ok = t != SS_NONE && ss_u64map_add(&first, t, i) != SS_NONE;
	}
	for (uint32_t i = 0; ok && i < x->nevent_meta; i++) {
		uint32_t t = ss_strmap_get(&titles, x->event_meta[i].name);
		w->module_of_meta[i] = t == SS_NONE ? SS_NONE : ss_u64map_get(&first, t);
		w->is_transfer[i] = is_transfer(x, i);
	}
	ss_strmap_free(&titles);
	ss_u64map_free(&first);
	return ok || ss_fail_mem(err);
}

struct begun {
	int64_t begin_ps;
	uint32_t i;
};

static int by_begin(const void *a, const void *b)
{
	const struct begun *x = a, *y = b;
	return SS_CMP(x->begin_ps, y->begin_ps) ?: SS_CMP(x->i, y->i);
}

static bool order_modules(struct walk *w)
{
	const struct ss_xevents *e = &w->modules->ev;
	struct begun *order = malloc(((size_t)e->n + 1) * sizeof(*order));
	if (!order)
		return false;
	for (uint32_t i = 0; i < e->n; i++)
		order[i] = (struct begun){ e->begin_ps[i], i };
	if (!e->sorted)
		qsort(order, e->n, sizeof(*order), by_begin);
	for (uint32_t i = 0; i < e->n; i++)
		w->module_order[i] = order[i].i;
	free(order);
	return true;
}

static bool prepare(struct walk *w, struct ss_err *err)
{
	size_t metas = (size_t)w->p->x->nevent_meta + 1;
	w->hlo = ss_host_hlo(w->h, err);
	if (!w->hlo)
		return false;
	w->module_order = malloc(((size_t)w->modules->ev.n + 1) * sizeof(*w->module_order));
	w->module_of_meta = malloc(metas * sizeof(*w->module_of_meta));
	w->is_transfer = malloc(metas * sizeof(*w->is_transfer));
	if (!w->module_order || !w->module_of_meta || !w->is_transfer || !order_modules(w))
		return ss_fail_mem(err);
	return match_programs(w, err);
}

static void mean(struct ss_dcn *d)
{
	uint64_t *sums[] = { &d->slack_us, &d->stall_us, &d->observed_us, &d->send_us,
			     &d->send_done_us, &d->recv_us, &d->recv_done_us };
	for (size_t i = 0; i < SS_COUNT(sums); i++)
		*sums[i] /= d->occurrences;
}

static int by_rendezvous(const void *a, const void *b)
{
	return ss_str_cmp(((const struct ss_dcn *)a)->rendezvous, ((const struct ss_dcn *)b)->rendezvous);
}

static bool gather(const struct walk *w, struct ss_arena *arena, struct ss_dcn **out, size_t *n)
{
	*out = SS_NEW_N(arena, struct ss_dcn, w->transfers.n + 1);
	for (size_t i = 0; *out && i < w->transfers.n; i++)
		if (w->transfers.v[i].sum.occurrences) {
			(*out)[*n] = w->transfers.v[i].sum;
			mean(&(*out)[(*n)++]);
		}
	if (*out)
		qsort(*out, *n, sizeof(**out), by_rendezvous);
	return *out != NULL;
}

/* If no operation is part of a transfer, nothing need be read. */
static bool may_transfer(const struct ss_plane *p)
{
	bool any = false;
	for (uint32_t i = 0; ss_str_is(p->name, "/device:TPU:0") && i < p->x->nevent_meta && !any; i++)
		any = is_transfer(p->x, i);
	return any;
}

static bool is_of_programs(struct ss_str line)
{
	return ss_str_is(line, "XLA Ops") || ss_str_is(line, "XLA Modules");
}

static const struct ss_plane *read_lines(struct ss_host *h, struct ss_err *err)
{
	static const struct ss_partial_read programs = { .plane = may_transfer, .line = is_of_programs, .in_time = true };
	return ss_host_read_partially(h, SS_HOST_TRANSFERS, &programs, err);
}

static bool collect(struct ss_host *h, struct ss_arena *arena, struct ss_dcn **out, size_t *n, struct ss_err *err)
{
	const struct ss_plane *planes = read_lines(h, err);
	struct walk w = { .h = h };
	*out = NULL;
	*n = 0;
	if (!planes)
		return false;
	for (uint32_t i = 0; i < h->nplanes && !w.p; i++)
		if (ss_str_is(planes[i].name, "/device:TPU:0"))
			w.p = &planes[i];
	w.ops = w.p ? ss_plane_line(w.p, SS_STR("XLA Ops")) : NULL;
	w.modules = w.p ? ss_plane_line(w.p, SS_STR("XLA Modules")) : NULL;
	if (!w.ops || !w.modules)
		return true;
	bool ok = prepare(&w, err) && walk_ops(&w, err);
	if (ok && !gather(&w, arena, out, n))
		ok = ss_fail_mem(err);
	free(w.module_order);
	free(w.module_of_meta);
	free(w.is_transfer);
	ss_vec_free(&w.instrs);
	ss_u64map_free(&w.instr_of);
	ss_strmap_free(&w.names);
	ss_vec_free(&w.transfers);
	ss_u64map_free(&w.by_channel);
	return ok;
}

struct own {
	struct ss_host_dcn all; /* first */
	struct ss_arena arena;
};

static void release(void *data)
{
	struct own *own = data;
	ss_arena_release(&own->arena);
	free(own);
}

static void *build(void *owner, struct ss_err *err)
{
	struct own *own = calloc(1, sizeof(*own));
	if (!own) {
		ss_fail_mem(err);
		return NULL;
	}
	if (collect(owner, &own->arena, &own->all.v, &own->all.n, err))
		return own;
	release(own);
	return NULL;
}

const struct ss_host_dcn *ss_host_dcn(struct ss_host *h, struct ss_err *err)
{
	return ss_part_get(&h->parts[SS_HOST_DCN], build, release, h, err);
}
