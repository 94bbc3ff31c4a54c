/* skeleton_unpack.c - the bytes of a packed skeleton, read back: see skeleton_column.h. */
#include "model/cluster/skeleton_column.h"

#include "wire/gz_in.h"

#include <stdlib.h>

/* Texts and counts. */
struct in {
	const uint8_t *at, *end;
	bool bad, no_memory;
	struct ss_arena *arena;
};

struct column {
	struct ss_bits_in in;	/* or bytes of varints */
	uint64_t zeros;
	enum ss_skel_written written;
	struct ss_lengths *lengths; /* of columns of bits */
};

struct unpacking {
	struct ss_skeleton *s;
	struct ss_skel_model model;
	struct column columns[SS_COL_COUNT];
	SS_VEC(struct ss_skel_comm) single; /* collectives of one event, of the device at hand */
	uint64_t unit, event_unit; /* of times of devices, and of the host's threads */
	bool bad, no_memory;
};

/* ---- texts ---- */

static uint64_t get_u(struct in *r)
{
	uint64_t v = 0;
	if (!r->bad && !ss_pb_varint(&r->at, r->end, &v))
		r->bad = true;
	return r->bad ? 0 : v;
}

static int64_t get_signed(struct in *r)
{
	uint64_t v = get_u(r);
	return (int64_t)(v >> 1 ^ (0 - (v & 1)));
}

/* A number that may be no greater than `most`. */
static uint64_t get_most(struct in *r, uint64_t most)
{
	uint64_t v = get_u(r);
	if (v > most)
		r->bad = true;
	return r->bad ? 0 : v;
}

/* Read the number of following elements; each takes at least `least` bytes. */
static size_t get_count(struct in *r, size_t least)
{
	return (size_t)get_most(r, (uint64_t)(r->end - r->at) / least);
}

static struct ss_str get_bytes(struct in *r)
{
	size_t n = get_count(r, 1);
	struct ss_str s = { n ? (const char *)r->at : "", n };
	r->at += n;
	return s;
}

static struct ss_str get_str(struct in *r)
{
	struct ss_str s = ss_arena_str(r->arena, get_bytes(r));
	r->no_memory |= !s.p;
	return s.p ? s : SS_STR("");
}

static void get_ops(struct in *r, struct ss_skeleton *s)
{
	size_t n = get_count(r, 8);
	if (!ss_vec_reserve(&s->ops, n + 1)) {
		r->no_memory = true;
		return;
	}
	for (size_t i = 0; i < n && !r->bad; i++) {
		struct ss_skel_op o = { .name = get_bytes(r) };
		o.program = get_bytes(r);
		o.program_id = get_u(r);
		o.cls = (enum ss_span_class)get_most(r, SS_SPAN_INPUT);
		o.kind = (enum ss_comm)get_most(r, SS_COMM_COUNT - 1);
		o.groups = get_bytes(r);
		o.bytes = get_u(r);
		o.expected = (uint32_t)get_most(r, UINT32_MAX);
		s->ops.v[s->ops.n++] = o;
	}
}

/* ---- columns ---- */

static bool take_varint(struct column *c, uint64_t *v)
{
	return ss_pb_varint(&c->in.at, c->in.end, v) && (*v || ss_pb_varint(&c->in.at, c->in.end, &c->zeros));
}

static bool take_bits(struct column *c, unsigned behind, uint64_t *v)
{
	if (!ss_lengths_take(c->lengths, behind, &c->in, v))
		return false;
	if (*v)
		return true;
	bool ok = ss_lengths_take(c->lengths, SS_LENGTH_OF_RUN, &c->in, &c->zeros) && c->zeros;
	c->zeros -= ok;
	return ok;
}

static int64_t signed_of(uint64_t v)
{
	return (int64_t)(v >> 1 ^ (0 - (v & 1)));
}

static int64_t fail_value(struct unpacking *u, struct column *c)
{
	u->bad = true;
	c->zeros = 0;
	return 0;
}

static int64_t get_varint(struct unpacking *u, struct column *c)
{
	uint64_t v = 0;
	return take_varint(c, &v) ? signed_of(v) : fail_value(u, c);
}

static inline int64_t get(struct unpacking *u, enum ss_skel_column column)
{
	struct column *c = &u->columns[column];
	if (!c->zeros)
		return get_varint(u, c);
	c->zeros--;
	return 0;
}

static int64_t get_bits(struct unpacking *u, struct column *c, uint8_t *length)
{
	uint64_t v = 0;
	if (!take_bits(c, *length, &v))
		return fail_value(u, c);
	*length = (uint8_t)ss_length_of(v);
	return signed_of(v);
}

/* Of columns of bits: `*length` is that of the operation's last value. */
static inline int64_t get_behind(struct unpacking *u, enum ss_skel_column column, uint8_t *length)
{
	struct column *c = &u->columns[column];
	if (!c->zeros)
		return get_bits(u, c, length);
	c->zeros--;
	*length = 0;
	return 0;
}

/* May so many rows follow? One byte of the column stands for few of them. */
static bool has_rows(struct unpacking *u, enum ss_skel_column column, uint64_t n)
{
	const struct column *c = &u->columns[column];
	if (c->zeros > SS_COL_SHORT_ZEROS || n > c->zeros + (uint64_t)(c->in.end - c->in.at) * SS_COL_SHORT_ZEROS)
		u->bad = true;
	return !u->bad;
}

/* An index below n. */
static uint32_t get_index(struct unpacking *u, enum ss_skel_column column, uint32_t expected, uint64_t n)
{
	int64_t v = ss_skel_plus(expected, get(u, column));
	if (v < 0 || (uint64_t)v >= n)
		u->bad = true;
	return u->bad ? 0 : (uint32_t)v;
}

/* Of an event of the host, or none. */
static uint32_t get_launch(struct unpacking *u, enum ss_skel_column column, int64_t expected)
{
	int64_t v = ss_skel_plus(expected, get(u, column));
	if (v != SS_NO_LAUNCH && (v < 0 || (uint64_t)v >= u->s->events.n))
		u->bad = true;
	return u->bad ? SS_NO_LAUNCH : (uint32_t)v;
}

static int64_t in_units(int64_t units, uint64_t unit)
{
	return ss_skel_held((int64_t)((uint64_t)units * unit));
}

static int64_t time_of(const struct unpacking *u, int64_t units)
{
	return in_units(units, u->unit);
}

/* Nothing that is written ends before it begins; whoever divides by durations relies on it. */
static void check_order(struct unpacking *u, int64_t begin_ps, int64_t end_ps)
{
	u->bad |= end_ps < begin_ps;
}

/* ---- devices ---- */

static void get_steps(struct unpacking *u, struct ss_skel_device *d)
{
	int64_t num = -1, end = 0, dur = 0;
	for (size_t i = 0; i < d->steps.n && !u->bad; i++) {
		num = ss_skel_plus(ss_skel_plus(num, 1), get(u, SS_COL_STEP_NUM));
		int64_t begin = ss_skel_plus(end, get(u, SS_COL_STEP_BEGIN));
		dur = ss_skel_plus(dur, get(u, SS_COL_STEP_DUR));
		end = ss_skel_plus(begin, dur);
		d->steps.v[i] = (struct ss_skel_step){ ss_skel_held(num), time_of(u, begin), time_of(u, end) };
		check_order(u, d->steps.v[i].begin_ps, d->steps.v[i].end_ps);
	}
}

/* *is_comm: it is a collective of one event. */
static void get_item(struct unpacking *u, struct ss_skel_span *v, bool *is_comm)
{
	struct ss_skel_model *m = &u->model;
	struct ss_skel_guess *next = ss_skel_model_next(m);
	uint32_t op = get_index(u, SS_COL_OP, next->op, m->nops);
	if (u->bad)
		return;
	struct ss_skel_guess rest = ss_skel_model_rest(m, next, op), seen = rest;
	*is_comm = (get(u, SS_COL_IS_COMM) != 0) != (u->s->ops.v[op].cls == SS_SPAN_COLLECTIVE);
	seen.op = op;
	seen.stream = get_index(u, SS_COL_STREAM, seen.stream, (uint64_t)UINT32_MAX + 1);
	seen.gap = ss_skel_plus(seen.gap, get_behind(u, SS_COL_GAP, &m->ops[op].gap_bits));
	seen.dur = ss_skel_plus(seen.dur, get_behind(u, SS_COL_DUR, &m->ops[op].dur_bits));
	int64_t *busy = &m->stream_end[seen.stream % SS_SKEL_SLOTS];
	int64_t begin = ss_skel_plus(*busy, seen.gap), end = ss_skel_plus(begin, seen.dur);
	uint32_t launch = get_launch(u, SS_COL_LAUNCH, ss_skel_plus(m->launch, seen.launch));
	seen.launch = (int64_t)launch - m->launch;
	*v = (struct ss_skel_span){ time_of(u, begin), time_of(u, end), op, launch, seen.stream };
	check_order(u, v->begin_ps, v->end_ps);
	*busy = end;
	m->launch = launch;
	ss_skel_model_seen(m, next, &rest, seen);
}

static void get_items(struct unpacking *u, struct ss_skel_device *d, size_t n)
{
	size_t nspans = d->spans.n;
	d->spans.n = u->single.n = 0;
	for (size_t i = 0; i < n && !u->bad; i++) {
		struct ss_skel_span v = { 0, 0, 0, SS_NO_LAUNCH, 0 };
		bool is_comm = false;
		get_item(u, &v, &is_comm);
		if (u->bad)
			return;
		if (is_comm) {
			struct ss_skel_comm m = { .begin_ps = v.begin_ps, .end_ps = v.end_ps, .op = v.op, .launch = v.launch,
						  .stream = v.stream };
			u->no_memory |= !ss_vec_push(&u->single, m);
			u->bad |= u->no_memory;
		} else if (d->spans.n < nspans) {
			if (u->s->ops.v[v.op].cls == SS_SPAN_COMM)
				ss_skel_model_span(&u->model, (uint32_t)d->spans.n, v.op);
			d->spans.v[d->spans.n++] = v;
		} else {
			u->bad = true;
		}
	}
	u->bad |= d->spans.n != nspans;
}

static void get_async(struct unpacking *u, const struct ss_skel_device *d, struct ss_skel_comm *m)
{
	int64_t hops = get(u, SS_COL_HOPS);
	if (hops < 0 || hops >= SS_SKEL_MOST_HOPS) {
		u->bad = true;
		return;
	}
	struct ss_skel_known *k = &u->model.ops[m->op];
	uint32_t start = ss_skel_model_start(&u->model, m->op, (unsigned)hops), done = ss_skel_model_done(&u->model, m->op, start);
	int64_t begin = start == SS_NONE ? 0 : d->spans.v[start].begin_ps, end = done == SS_NONE ? 0 : d->spans.v[done].end_ps;
	m->begin_ps = ss_skel_held(ss_skel_plus(begin, time_of(u, get_behind(u, SS_COL_ASYNC_BEGIN, &k->begin_bits))));
	m->end_ps = ss_skel_held(ss_skel_plus(end, time_of(u, get_behind(u, SS_COL_ASYNC_END, &k->end_bits))));
	check_order(u, m->begin_ps, m->end_ps);
	m->stream = k->async_stream = get_index(u, SS_COL_ASYNC_STREAM, k->async_stream, (uint64_t)UINT32_MAX + 1);
	m->launch = get_launch(u, SS_COL_ASYNC_LAUNCH, start == SS_NONE ? 0 : d->spans.v[start].launch);
	m->async = true;
}

static void get_comms(struct unpacking *u, struct ss_skel_device *d)
{
	uint32_t before = (uint32_t)u->model.nops;
	int64_t run = 0, step = 0;
	size_t single = 0;
	for (size_t i = 0; i < d->comms.n && !u->bad; i++) {
		struct ss_skel_comm *m = &d->comms.v[i];
		struct ss_skel_known *last = &u->model.ops[before];
		uint32_t which = last->comm_next = get_index(u, SS_COL_ASYNC_OP, last->comm_next, u->model.nops + 1);
		*m = (struct ss_skel_comm){ .op = which ? which - 1 : 0 };
		if (which)
			get_async(u, d, m);
		else if (single < u->single.n)
			*m = u->single.v[single++];
		else
			u->bad = true;
		if (u->bad)
			return;
		struct ss_skel_known *k = &u->model.ops[m->op];
		int64_t within = ss_skel_device_step(d, m->begin_ps);
		step = m->step = ss_skel_plus(within == SS_NO_STEP ? step : within, get(u, SS_COL_COMM_STEP));
		run = m->run = ss_skel_plus(run, get(u, SS_COL_RUN));
		m->seq = ss_skel_plus(ss_skel_plus(k->seq, k->seq_more), get(u, SS_COL_SEQ));
		k->seq_more = ss_skel_minus(m->seq, k->seq);
		k->seq = m->seq;
		k->waited = m->waited = k->waited != (get(u, SS_COL_WAITED) != 0);
		before = m->op;
	}
	u->bad |= single != u->single.n;
}

static void get_events(struct unpacking *u)
{
	struct ss_skeleton *s = u->s;
	uint32_t before = 0;
	for (size_t i = 0; i < s->events.n && !u->bad; i++) {
		uint32_t kind = get_index(u, SS_COL_EVENT, u->model.events[before].next, (uint64_t)UINT32_MAX + 1);
		uint32_t at = kind % SS_COUNT(u->model.events), thread = kind >> 2;
		struct ss_skel_known_event *k = &u->model.events[at];
		int64_t *busy = &u->model.thread_end[thread % SS_SKEL_SLOTS];
		u->model.events[before].next = kind;
		k->gap = ss_skel_plus(k->gap, get_behind(u, SS_COL_EVENT_GAP, &k->gap_bits));
		k->dur = ss_skel_plus(k->dur, get_behind(u, SS_COL_EVENT_DUR, &k->dur_bits));
		int64_t begin = ss_skel_plus(*busy, k->gap);
		*busy = ss_skel_plus(begin, k->dur);
		enum ss_skel_host_class cls = (enum ss_skel_host_class)((kind & 3) % 3);
		int64_t begin_ps = in_units(begin, u->event_unit), end_ps = in_units(*busy, u->event_unit);
		s->events.v[i] = (struct ss_skel_host_event){ begin_ps, end_ps, thread, cls };
		check_order(u, s->events.v[i].begin_ps, s->events.v[i].end_ps);
		before = at;
	}
}

static bool get_device(struct unpacking *u, struct ss_skel_device *d, const uint64_t *counts)
{
	uint64_t nsteps = counts[0], nspans = counts[1], ncomms = counts[2], nsingle = counts[3];
	u->bad |= nspans > UINT32_MAX || nsingle > ncomms || ncomms > UINT32_MAX;
	if (u->bad || !has_rows(u, SS_COL_STEP_NUM, nsteps) || !has_rows(u, SS_COL_ASYNC_OP, ncomms) ||
	    !has_rows(u, SS_COL_OP, nspans + nsingle))
		return false;
	d->steps.n = (size_t)nsteps;
	d->spans.n = (size_t)nspans;
	d->comms.n = (size_t)ncomms;
	if (!ss_vec_reserve(&d->steps, d->steps.n + 1) || !ss_vec_reserve(&d->spans, d->spans.n + 1) ||
	    !ss_vec_reserve(&d->comms, d->comms.n + 1) || !ss_skel_model_device(&u->model, d->spans.n)) {
		d->steps.n = d->spans.n = d->comms.n = 0;
		u->no_memory = true;
		return false;
	}
	get_steps(u, d);
	get_items(u, d, (size_t)(nspans + nsingle));
	get_comms(u, d);
	return !u->bad;
}

/* ---- the whole ---- */

struct device_counts {
	uint64_t v[4]; /* steps, spans, collectives, those of one event */
};

/* What is of this host alone, behind its name and run. */
static void get_own(struct in *r, struct unpacking *u, struct device_counts **counts, uint64_t *nevents)
{
	struct ss_skeleton *s = u->s;
	s->hostname = get_str(r);
	s->note = get_str(r);
	uint64_t state = get_most(r, (uint64_t)SS_SKEL_UNREADABLE << 2 | 3);
	s->state = (enum ss_skel_state)(state >> 2);
	s->on_cpu = state >> 1 & 1;
	s->is_rank = state & 1;
	s->start_unix_ns = get_signed(r);
	s->world = get_u(r);
	s->file_bytes = get_u(r);
	u->unit = get_u(r);
	u->event_unit = get_u(r);
	r->bad |= !u->unit || !u->event_unit;
	size_t n = get_count(r, 6);
	*counts = calloc(n + 1, sizeof(**counts));
	r->no_memory |= !*counts || !ss_vec_reserve(&s->devices, n + 1);
	for (size_t i = 0; i < n && !r->bad && !r->no_memory; i++) {
		struct ss_skel_device d = { .ordinal = (int32_t)get_signed(r) };
		d.global = get_signed(r);
		for (size_t k = 0; k < SS_COUNT((*counts)[i].v); k++)
			(*counts)[i].v[k] = get_u(r);
		s->devices.v[s->devices.n++] = d;
	}
	*nevents = get_u(r);
}

/* The operations, inflated. */
static bool inflate_ops(struct unpacking *u, struct ss_str deflated, struct ss_err *err)
{
	struct ss_skeleton *s = u->s;
	bool whole = true;
	s->unpacked.hold = ss_arena_hold(&s->arena, deflated.n);
	if (!s->unpacked.hold)
		return ss_fail_mem(err);
	if (!ss_gz_in_one(deflated, &s->unpacked, &whole, err))
		return false;
	if (s->unpacked.over)
		return ss_hold_fail(SS_STR("the skeleton of a host"), err);
	struct ss_str ops = ss_buf_get(&s->unpacked);
	struct in r = { .at = (const uint8_t *)ops.p, .end = (const uint8_t *)ops.p + ops.n, .arena = &s->arena };
	if (whole)
		get_ops(&r, s);
	u->bad |= !whole || r.bad || r.at != r.end;
	u->no_memory |= r.no_memory;
	return true;
}

/* Are all bytes used? */
static bool ends(const struct unpacking *u)
{
	bool all = true;
	for (size_t i = 0; i < SS_COL_COUNT; i++)
		all = all && u->columns[i].in.at == u->columns[i].in.end && u->columns[i].in.n < 8 && !u->columns[i].in.bits &&
		      !u->columns[i].zeros;
	return all;
}

static const enum ss_skel_written written[SS_COL_COUNT] = {
#define COLUMN(name, zeros, how) [SS_COL_##name] = SS_SKEL_##how,
	SS_SKEL_COLUMNS(COLUMN)
#undef COLUMN
};

static void get_columns(struct in *r, struct unpacking *u)
{
	for (size_t i = 0; i < SS_COL_COUNT; i++) {
		struct ss_str bytes = get_bytes(r);
		struct column *c = &u->columns[i];
		*c = (struct column){ .in = { .at = (const uint8_t *)bytes.p, .end = (const uint8_t *)bytes.p + bytes.n },
				      .written = written[i] };
		if (c->written == SS_SKEL_BITS && !(c->lengths = ss_lengths_new()))
			u->no_memory = true;
	}
	r->bad |= r->at != r->end;
}

static void get_rows(struct unpacking *u, const struct device_counts *counts, uint64_t nevents)
{
	struct ss_skeleton *s = u->s;
	if (!has_rows(u, SS_COL_EVENT, nevents))
		return;
	s->events.n = (size_t)nevents;
	if (!ss_vec_reserve(&s->events, s->events.n + 1)) {
		s->events.n = 0;
		u->no_memory = true;
		return;
	}
	u->no_memory = !ss_skel_model_init(&u->model, s);
	for (size_t i = 0; i < s->devices.n && !u->bad && !u->no_memory; i++)
		if (!get_device(u, &s->devices.v[i], counts[i].v))
			return;
	if (!u->bad && !u->no_memory)
		get_events(u);
	u->bad |= !u->no_memory && !ends(u);
}

/* Behind host and run. False: the operations cannot be inflated; else u->bad and u->no_memory tell. */
static bool read_all(struct unpacking *u, struct in *r, struct ss_err *err)
{
	struct device_counts *counts = NULL;
	uint64_t nevents = 0;
	get_own(r, u, &counts, &nevents);
	struct ss_str deflated = get_bytes(r);
	get_columns(r, u);
	u->bad |= r->bad;
	u->no_memory |= r->no_memory;
	bool ok = u->bad || u->no_memory || inflate_ops(u, deflated, err);
	if (ok && !u->bad && !u->no_memory)
		get_rows(u, counts, nevents);
	free(counts);
	return ok;
}

/* Host and run stand first. */
static bool open_bytes(struct in *r, struct ss_str packed, struct ss_arena *arena, struct ss_str *host, struct ss_str *run,
		       struct ss_err *err)
{
	if (!ss_str_take(&packed, SS_STR(SS_SKEL_MAGIC)))
		return ss_fail(err, SS_EFORMAT, "this is not the skeleton of a host, or it is of another version");
	*r = (struct in){ .at = (const uint8_t *)packed.p, .end = (const uint8_t *)packed.p + packed.n, .arena = arena };
	*host = get_str(r);
	*run = get_str(r);
	if (r->no_memory)
		return ss_fail_mem(err);
	return !r->bad || ss_fail(err, SS_EFORMAT, "the skeleton of a host is cut short or damaged");
}

bool ss_skeleton_peek(struct ss_str packed, struct ss_arena *arena, struct ss_str *host, struct ss_str *run, struct ss_err *err)
{
	struct in r;
	return open_bytes(&r, packed, arena, host, run, err);
}

struct ss_str ss_skeleton_rest(struct ss_str packed)
{
	if (!ss_str_take(&packed, SS_STR(SS_SKEL_MAGIC)))
		return SS_STR("");
	struct in r = { .at = (const uint8_t *)packed.p, .end = (const uint8_t *)packed.p + packed.n };
	get_bytes(&r);
	get_bytes(&r);
	return r.bad ? SS_STR("") : (struct ss_str){ (const char *)r.at, (size_t)(r.end - r.at) };
}

bool ss_skeleton_unpack(struct ss_skeleton *s, struct ss_str packed, struct ss_err *err)
{
	struct in r;
	*s = (struct ss_skeleton){ .start_unix_ns = 0 };
	struct unpacking u = { .s = s };
	bool ok = open_bytes(&r, packed, &s->arena, &s->host, &s->run, err) && read_all(&u, &r, err);
	if (ok && (u.bad || u.no_memory))
		ok = u.no_memory ? ss_fail_mem(err) :
		     s->host.n ? ss_fail(err, SS_EFORMAT, "the skeleton of host '" SS_FMT "' is damaged", SS_ARG(s->host)) :
				 ss_fail(err, SS_EFORMAT, "the skeleton of a host is cut short or damaged");
	for (size_t i = 0; i < SS_COL_COUNT; i++)
		free(u.columns[i].lengths);
	ss_vec_free(&u.single);
	ss_skel_model_free(&u.model);
	if (!ok)
		ss_skeleton_free(s);
	return ok;
}

void ss_skeleton_free(struct ss_skeleton *s)
{
	for (size_t i = 0; i < s->devices.n; i++) {
		ss_vec_free(&s->devices.v[i].steps);
		ss_vec_free(&s->devices.v[i].spans);
		ss_vec_free(&s->devices.v[i].comms);
	}
	ss_vec_free(&s->devices);
	ss_vec_free(&s->ops);
	ss_vec_free(&s->events);
	ss_buf_free(&s->unpacked);
	ss_arena_release(&s->arena);
}
