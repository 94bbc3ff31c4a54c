/* skeleton_pack.c - a skeleton as bytes: see skeleton_column.h. */
#include "model/cluster/skeleton_column.h"

#include "wire/gz_out.h"
#include "wire/pb_out.h"

#include <stdlib.h>

#define MOST_BYTES 40 /* that a run of zeros and a value behind it take */

struct column {
	SS_VEC(uint8_t) b;
	uint32_t zeros, most;
	enum ss_skel_written written;
	struct ss_lengths *lengths;	/* of columns of bits */
	unsigned behind;	/* this length the zeros began */
	uint64_t bits;		/* that are no byte yet */
	unsigned nbits;
};

struct packing {
	const struct ss_skeleton *s;
	struct ss_skel_model model;
	struct column columns[SS_COL_COUNT];
	int64_t unit, event_unit; /* of times of devices, and of the host's threads */
	bool no_memory;
};

/* ---- columns ---- */

static void put_varint(struct column *c, uint64_t v)
{
	for (; v >= 0x80; v >>= 7)
		c->b.v[c->b.n++] = (uint8_t)(v | 0x80);
	c->b.v[c->b.n++] = (uint8_t)v;
}

/* At most 56 of them. */
static void put_bits(struct column *c, uint64_t v, unsigned n)
{
	c->bits |= v << c->nbits;
	for (c->nbits += n; c->nbits >= 8; c->nbits -= 8) {
		c->b.v[c->b.n++] = (uint8_t)c->bits;
		c->bits >>= 8;
	}
}

/* The number behind one of this length, or a run of zeros. */
static void put_length(struct column *c, unsigned behind, uint64_t v)
{
	struct ss_length_ranks *r = ss_lengths_behind(c->lengths, behind);
	unsigned length = ss_length_of(v), below = length ? length - 1 : 0, first = below < 32 ? below : 32, rank = 0;
	while (r->of_rank[rank] != length)
		rank++;
	unsigned unary = rank < SS_LENGTH_MOST_UNARY ? rank : SS_LENGTH_MOST_UNARY;
	put_bits(c, UINT64_C(1) << unary, unary + 1);
	if (unary == SS_LENGTH_MOST_UNARY)
		put_bits(c, rank, SS_LENGTH_RANK_BITS);
	put_bits(c, v & ((UINT64_C(1) << first) - 1), first);
	if (below > first)
		put_bits(c, v >> first & ((UINT64_C(1) << (below - first)) - 1), below - first);
	ss_length_seen(r, rank);
}

static void end_zeros(struct column *c)
{
	if (!c->zeros)
		return;
	if (c->lengths) {
		put_length(c, c->behind, 0);
		put_length(c, SS_LENGTH_OF_RUN, c->zeros);
	} else {
		c->b.v[c->b.n++] = 0;
		put_varint(c, c->zeros - 1);
	}
	c->zeros = 0;
}

/* Of columns of bits: `*length` is that of the operation's last value. */
static inline void put_behind(struct packing *p, enum ss_skel_column column, uint8_t *length, int64_t v)
{
	struct column *c = &p->columns[column];
	unsigned behind = *length;
	uint64_t zigzag = (uint64_t)v << 1 ^ (uint64_t)(v >> 63);
	*length = (uint8_t)ss_length_of(zigzag);
	if (!v && !c->zeros)
		c->behind = behind;
	if (!v && ++c->zeros < c->most)
		return;
	if (!ss_vec_reserve(&c->b, c->b.n + MOST_BYTES)) {
		p->no_memory = true;
		return;
	}
	end_zeros(c);
	if (v && c->lengths)
		put_length(c, behind, zigzag);
	else if (v)
		put_varint(c, zigzag);
}

static inline void put(struct packing *p, enum ss_skel_column column, int64_t v)
{
	uint8_t none = 0;
	put_behind(p, column, &none, v);
}

static bool end_column(struct column *c)
{
	if (!ss_vec_reserve(&c->b, c->b.n + MOST_BYTES))
		return false;
	end_zeros(c);
	if (c->nbits)
		put_bits(c, 0, 8 - c->nbits);
	return true;
}

static void put_column(struct column *c, struct ss_buf *to)
{
	ss_pbo_varint(to, c->b.n);
	ss_buf_str(to, (struct ss_str){ c->b.n ? (const char *)c->b.v : "", c->b.n });
}

/* ---- texts ---- */

static void put_signed(struct ss_buf *b, int64_t v)
{
	ss_pbo_varint(b, (uint64_t)v << 1 ^ (uint64_t)(v >> 63));
}

static void put_str(struct ss_buf *b, struct ss_str s)
{
	ss_pbo_varint(b, s.n);
	ss_buf_str(b, s);
}

/* Hosts of one program have the same: these bytes are equal then, and take next to nothing in a part. */
static void put_ops(struct ss_buf *b, const struct ss_skeleton *s)
{
	ss_pbo_varint(b, s->ops.n);
	for (size_t i = 0; i < s->ops.n; i++) {
		const struct ss_skel_op *o = &s->ops.v[i];
		put_str(b, o->name);
		put_str(b, o->program);
		ss_pbo_varint(b, o->program_id);
		ss_pbo_varint(b, (uint64_t)o->cls);
		ss_pbo_varint(b, (uint64_t)o->kind);
		put_str(b, o->groups);
		ss_pbo_varint(b, o->bytes);
		ss_pbo_varint(b, o->expected);
	}
}

/* What is of this host alone. */
static void put_own(const struct packing *p, struct ss_buf *b)
{
	const struct ss_skeleton *s = p->s;
	put_str(b, s->host);
	put_str(b, s->run);
	put_str(b, s->hostname);
	put_str(b, s->note);
	ss_pbo_varint(b, (uint64_t)s->state << 2 | (uint64_t)s->on_cpu << 1 | s->is_rank);
	put_signed(b, s->start_unix_ns);
	ss_pbo_varint(b, s->world);
	ss_pbo_varint(b, s->file_bytes);
	ss_pbo_varint(b, (uint64_t)p->unit);
	ss_pbo_varint(b, (uint64_t)p->event_unit);
	ss_pbo_varint(b, s->devices.n);
	for (size_t i = 0; i < s->devices.n; i++) {
		const struct ss_skel_device *d = &s->devices.v[i];
		put_signed(b, d->ordinal);
		put_signed(b, d->global);
		ss_pbo_varint(b, d->steps.n);
		ss_pbo_varint(b, d->spans.n);
		ss_pbo_varint(b, d->comms.n);
		size_t single = 0;
		for (size_t k = 0; k < d->comms.n; k++)
			single += !d->comms.v[k].async;
		ss_pbo_varint(b, single);
	}
	ss_pbo_varint(b, s->events.n);
}

/* ---- the unit of times ---- */

static void divide_by(uint64_t *unit, int64_t v)
{
	uint64_t a = v < 0 ? 0 - (uint64_t)v : (uint64_t)v, b = *unit;
	if (b == 1 || (b && a % b == 0))
		return;
	while (a) {
		uint64_t rest = b % a;
		b = a;
		a = rest;
	}
	*unit = b;
}

#define DIVIDE(vec)                                                          \
	for (size_t i = 0; unit != 1 && i < (vec).n; i++) {                  \
		divide_by(&unit, (vec).v[i].begin_ps);                       \
		divide_by(&unit, (vec).v[i].end_ps);                         \
	}

static int64_t unit_of_devices(const struct ss_skeleton *s)
{
	uint64_t unit = 0;
	for (size_t k = 0; k < s->devices.n; k++) {
		DIVIDE(s->devices.v[k].spans)
		DIVIDE(s->devices.v[k].comms)
		DIVIDE(s->devices.v[k].steps)
	}
	return unit ? (int64_t)unit : 1;
}

static int64_t unit_of_events(const struct ss_skeleton *s)
{
	uint64_t unit = 0;
	DIVIDE(s->events)
	return unit ? (int64_t)unit : 1;
}
#undef DIVIDE

/* ---- devices ---- */

static void put_steps(struct packing *p, const struct ss_skel_device *d)
{
	int64_t num = -1, end = 0, dur = 0;
	for (size_t i = 0; i < d->steps.n; i++) {
		const struct ss_skel_step *v = &d->steps.v[i];
		int64_t begin = v->begin_ps / p->unit, own = ss_skel_minus(v->end_ps / p->unit, begin);
		put(p, SS_COL_STEP_NUM, ss_skel_minus(v->num, ss_skel_plus(num, 1)));
		put(p, SS_COL_STEP_BEGIN, ss_skel_minus(begin, end));
		put(p, SS_COL_STEP_DUR, ss_skel_minus(own, dur));
		num = v->num;
		end = v->end_ps / p->unit;
		dur = own;
	}
}

/* A span, or a collective that is a single event. */
static void put_item(struct packing *p, const struct ss_skel_span *v, bool is_comm)
{
	struct ss_skel_model *m = &p->model;
	struct ss_skel_guess *next = ss_skel_model_next(m), rest = ss_skel_model_rest(m, next, v->op);
	int64_t begin = v->begin_ps / p->unit, end = v->end_ps / p->unit, *busy = &m->stream_end[v->stream % SS_SKEL_SLOTS];
	struct ss_skel_guess seen = { .op = v->op, .stream = v->stream, .gap = ss_skel_minus(begin, *busy),
				      .dur = ss_skel_minus(end, begin), .launch = (int64_t)v->launch - m->launch };
	put(p, SS_COL_OP, (int64_t)v->op - (int64_t)next->op);
	put(p, SS_COL_IS_COMM, is_comm != (p->s->ops.v[v->op].cls == SS_SPAN_COLLECTIVE));
	put(p, SS_COL_STREAM, (int64_t)v->stream - (int64_t)rest.stream);
	put_behind(p, SS_COL_GAP, &m->ops[v->op].gap_bits, ss_skel_minus(seen.gap, rest.gap));
	put_behind(p, SS_COL_DUR, &m->ops[v->op].dur_bits, ss_skel_minus(seen.dur, rest.dur));
	put(p, SS_COL_LAUNCH, seen.launch - rest.launch);
	*busy = end;
	m->launch = v->launch;
	ss_skel_model_seen(m, next, &rest, seen);
}

/* Spans and collectives of one event in the order of their begins. */
static void put_items(struct packing *p, const struct ss_skel_device *d)
{
	size_t k = 0;
	for (size_t i = 0; i <= d->spans.n; i++) {
		for (; k < d->comms.n && (i == d->spans.n || d->comms.v[k].begin_ps < d->spans.v[i].begin_ps); k++) {
			const struct ss_skel_comm *m = &d->comms.v[k];
			struct ss_skel_span item = { m->begin_ps, m->end_ps, m->op, m->launch, m->stream };
			if (!m->async)
				put_item(p, &item, true);
		}
		if (i == d->spans.n)
			return;
		put_item(p, &d->spans.v[i], false);
		if (p->s->ops.v[d->spans.v[i].op].cls == SS_SPAN_COMM)
			ss_skel_model_span(&p->model, (uint32_t)i, d->spans.v[i].op);
	}
}

/* A collective with a start and a done: it begins and ends with them. */
static void put_async(struct packing *p, const struct ss_skel_device *d, const struct ss_skel_comm *m)
{
	struct ss_skel_known *k = &p->model.ops[m->op];
	unsigned hops = 0;
	for (unsigned i = 0; i < SS_SKEL_MOST_HOPS; i++) {
		uint32_t at = ss_skel_model_start(&p->model, m->op, i);
		if (at != SS_NONE && d->spans.v[at].begin_ps == m->begin_ps) {
			hops = i;
			break;
		}
	}
	uint32_t start = ss_skel_model_start(&p->model, m->op, hops), done = ss_skel_model_done(&p->model, m->op, start);
	int64_t begin = start == SS_NONE ? 0 : d->spans.v[start].begin_ps, end = done == SS_NONE ? 0 : d->spans.v[done].end_ps;
	put(p, SS_COL_HOPS, hops);
	put_behind(p, SS_COL_ASYNC_BEGIN, &k->begin_bits, ss_skel_minus(m->begin_ps / p->unit, begin / p->unit));
	put_behind(p, SS_COL_ASYNC_END, &k->end_bits, ss_skel_minus(m->end_ps / p->unit, end / p->unit));
	put(p, SS_COL_ASYNC_STREAM, (int64_t)m->stream - (int64_t)k->async_stream);
	put(p, SS_COL_ASYNC_LAUNCH, (int64_t)m->launch - (start == SS_NONE ? 0 : (int64_t)d->spans.v[start].launch));
	k->async_stream = m->stream;
}

static void put_comms(struct packing *p, const struct ss_skel_device *d)
{
	uint32_t before = (uint32_t)p->s->ops.n;
	int64_t run = 0, step = 0;
	for (size_t i = 0; i < d->comms.n; i++) {
		const struct ss_skel_comm *m = &d->comms.v[i];
		struct ss_skel_known *k = &p->model.ops[m->op], *last = &p->model.ops[before];
		int64_t within = ss_skel_device_step(d, m->begin_ps);
		uint32_t which = m->async ? m->op + 1 : 0;
		put(p, SS_COL_ASYNC_OP, (int64_t)which - (int64_t)last->comm_next);
		if (m->async)
			put_async(p, d, m);
		put(p, SS_COL_COMM_STEP, ss_skel_minus(m->step, within == SS_NO_STEP ? step : within));
		put(p, SS_COL_RUN, ss_skel_minus(m->run, run));
		put(p, SS_COL_SEQ, ss_skel_minus(m->seq, ss_skel_plus(k->seq, k->seq_more)));
		put(p, SS_COL_WAITED, m->waited != k->waited);
		last->comm_next = which;
		k->seq_more = ss_skel_minus(m->seq, k->seq);
		k->seq = m->seq;
		k->waited = m->waited;
		step = m->step;
		run = m->run;
		before = m->op;
	}
}

static void put_events(struct packing *p)
{
	uint32_t before = 0;
	for (size_t i = 0; i < p->s->events.n; i++) {
		const struct ss_skel_host_event *e = &p->s->events.v[i];
		uint32_t kind = e->thread << 2 | (uint32_t)e->cls, at = kind % SS_COUNT(p->model.events);
		struct ss_skel_known_event *k = &p->model.events[at];
		int64_t *busy = &p->model.thread_end[e->thread % SS_SKEL_SLOTS], begin = e->begin_ps / p->event_unit;
		int64_t gap = ss_skel_minus(begin, *busy), dur = ss_skel_minus(e->end_ps / p->event_unit, begin);
		put(p, SS_COL_EVENT, (int64_t)kind - (int64_t)p->model.events[before].next);
		put_behind(p, SS_COL_EVENT_GAP, &k->gap_bits, ss_skel_minus(gap, k->gap));
		put_behind(p, SS_COL_EVENT_DUR, &k->dur_bits, ss_skel_minus(dur, k->dur));
		p->model.events[before].next = kind;
		k->gap = gap;
		k->dur = dur;
		*busy = e->end_ps / p->event_unit;
		before = at;
	}
}

/* ---- the whole ---- */

static bool deflate_ops(const struct ss_skeleton *s, struct ss_buf *to, struct ss_err *err)
{
	struct ss_buf ops = { 0 };
	struct ss_gz_out *gz = ss_gz_open(SS_GZ_SMALL);
	struct ss_str packed;
	put_ops(&ops, s);
	bool ok = ss_buf_ok(&ops, "a skeleton", err) && (gz || ss_fail_mem(err));
	if (ok) {
		ss_gz_write(gz, ss_buf_get(&ops));
		ok = ss_gz_finish(gz, &packed) || ss_fail_mem(err);
	}
	if (ok)
		put_str(to, packed);
	ss_gz_close(gz);
	ss_buf_free(&ops);
	return ok;
}

static bool put_all(struct packing *p)
{
	const struct ss_skeleton *s = p->s;
	for (size_t i = 0; i < SS_COL_COUNT; i++) {
		struct column *c = &p->columns[i];
		if (c->written == SS_SKEL_BITS && !(c->lengths = ss_lengths_new()))
			return false;
	}
	if (!ss_skel_model_init(&p->model, s))
		return false;
	for (size_t i = 0; i < s->devices.n; i++) {
		if (!ss_skel_model_device(&p->model, s->devices.v[i].spans.n))
			return false;
		put_steps(p, &s->devices.v[i]);
		put_items(p, &s->devices.v[i]);
		put_comms(p, &s->devices.v[i]);
	}
	put_events(p);
	for (size_t i = 0; i < SS_COL_COUNT; i++)
		if (!end_column(&p->columns[i]))
			return false;
	return !p->no_memory;
}

bool ss_skeleton_pack(const struct ss_skeleton *s, struct ss_buf *to, struct ss_err *err)
{
	struct packing p = { .s = s, .unit = unit_of_devices(s), .event_unit = unit_of_events(s), .columns = {
#define COLUMN(name, zeros, how) [SS_COL_##name] = { .most = zeros, .written = SS_SKEL_##how },
		SS_SKEL_COLUMNS(COLUMN)
#undef COLUMN
	} };
	bool ok = put_all(&p) || ss_fail_mem(err);
	if (ok) {
		ss_buf_lit(to, SS_SKEL_MAGIC);
		put_own(&p, to);
		ok = deflate_ops(s, to, err);
	}
	for (size_t i = 0; i < SS_COL_COUNT; i++) {
		if (ok)
			put_column(&p.columns[i], to);
		ss_vec_free(&p.columns[i].b);
		free(p.columns[i].lengths);
	}
	ss_skel_model_free(&p.model);
	return ok && ss_buf_ok(to, "a skeleton", err);
}
