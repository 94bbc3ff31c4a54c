/* outline.c - see outline.h. Bytes of an outline stay in this process: they are what was written here. */
#include "model/cluster/outline.h"

#include "base/map.h"
#include "wire/pb.h"
#include "wire/pb_out.h"

#include <stdlib.h>

/* The limit for all outlines; for many hosts, half of the bytes of their skeletons. */
#define MOST_BYTES ((uint64_t)24 << 20)

enum { COMPUTING, COPYING, OTHERS };

struct outlining {
	const struct ss_skeleton *s;
	uint32_t *ops;	  /* of the skeleton's: the outline's; SS_NONE: not used */
	uint32_t *events; /* the same */
	SS_VEC(struct ss_skel_span) spans; /* of the device at hand */
	struct ss_buf texts, rest;
	bool no_memory;
};

static uint64_t zigzag(int64_t v)
{
	return (uint64_t)v << 1 ^ (uint64_t)(v >> 63);
}

static void put_signed(struct ss_buf *b, int64_t v)
{
	ss_pbo_varint(b, zigzag(v));
}

/* Any two values: the difference may wrap, and wraps back. */
static char *near(char *to, int64_t v, int64_t guess)
{
	return ss_pbo_put(to, zigzag((int64_t)((uint64_t)v - (uint64_t)guess)));
}

/* A row of numbers; NULL: memory is out, which the buffer remembers. */
#define ROW_BYTES ((size_t)8 * SS_VARINT_BYTES)

static char *row(struct outlining *o)
{
	return ss_buf_room(&o->rest, ROW_BYTES);
}

static void end_row(struct outlining *o, const char *end)
{
	ss_buf_wrote(&o->rest, ROW_BYTES, (size_t)(end - (o->rest.p + o->rest.n)));
}

static void put_str(struct ss_buf *b, struct ss_str s)
{
	ss_pbo_varint(b, s.n);
	ss_buf_str(b, s);
}

static void put_head(struct outlining *o)
{
	const struct ss_skeleton *s = o->s;
	put_str(&o->rest, s->host);
	put_str(&o->rest, s->hostname);
	put_str(&o->rest, s->run);
	put_str(&o->rest, s->note);
	ss_pbo_varint(&o->rest, (uint64_t)s->state << 2 | (uint64_t)s->on_cpu << 1 | s->is_rank);
	put_signed(&o->rest, s->start_unix_ns);
	ss_pbo_varint(&o->rest, s->world);
	ss_pbo_varint(&o->rest, s->file_bytes);
}

/* Operations that communicate keep their texts. */
static void put_ops(struct outlining *o)
{
	uint32_t n = OTHERS;
	for (size_t i = 0; i < o->s->ops.n; i++) {
		const struct ss_skel_op *v = &o->s->ops.v[i];
		o->ops[i] = v->cls == SS_SPAN_COMPUTE ? COMPUTING : v->cls == SS_SPAN_COPY ? COPYING : n++;
		if (o->ops[i] < OTHERS)
			continue;
		put_str(&o->texts, v->name);
		put_str(&o->texts, v->program);
		put_str(&o->texts, v->groups);
		ss_pbo_varint(&o->texts, v->program_id);
		ss_pbo_varint(&o->texts, (uint64_t)v->cls);
		ss_pbo_varint(&o->texts, (uint64_t)v->kind);
		ss_pbo_varint(&o->texts, v->bytes);
		ss_pbo_varint(&o->texts, v->expected);
	}
	ss_pbo_varint(&o->rest, n);
}

/* ---- host events ---- */

static void mark(struct outlining *o, uint32_t launch)
{
	if (launch != SS_NO_LAUNCH)
		o->events[launch] = 0;
}

static void put_events(struct outlining *o)
{
	const struct ss_skeleton *s = o->s;
	uint32_t n = 0;
	int64_t at = 0;
	for (size_t k = 0; k < s->devices.n; k++) {
		for (size_t i = 0; i < s->devices.v[k].spans.n; i++)
			mark(o, s->devices.v[k].spans.v[i].launch);
		for (size_t i = 0; i < s->devices.v[k].comms.n; i++)
			mark(o, s->devices.v[k].comms.v[i].launch);
	}
	for (size_t i = 0; i < s->events.n; i++)
		if (s->events.v[i].cls == SS_HOST_INPUT_EVENT || o->events[i] != SS_NONE)
			o->events[i] = n++;
	ss_pbo_varint(&o->rest, n);
	for (size_t i = 0; i < s->events.n; i++) {
		const struct ss_skel_host_event *e = &s->events.v[i];
		char *to = o->events[i] == SS_NONE ? NULL : row(o);
		if (!to)
			continue;
		to = near(to, e->begin_ps, at);
		to = near(to, e->end_ps, e->begin_ps);
		end_row(o, ss_pbo_put(to, (uint64_t)e->cls));
		at = e->begin_ps;
	}
}

static char *put_launch(const struct outlining *o, char *to, uint32_t launch, int64_t *guess)
{
	int64_t v = launch == SS_NO_LAUNCH ? -1 : (int64_t)o->events[launch], before = *guess;
	*guess = v;
	return near(to, v, before);
}

/* ---- devices ---- */

static void put_steps(struct outlining *o, const struct ss_skel_device *d)
{
	struct ss_skel_step before = { 0, 0, 0 };
	ss_pbo_varint(&o->rest, d->steps.n);
	for (size_t i = 0; i < d->steps.n; i++) {
		char *to = row(o);
		if (!to)
			return;
		to = near(to, d->steps.v[i].num, before.num);
		to = near(to, d->steps.v[i].begin_ps, before.end_ps);
		end_row(o, near(to, d->steps.v[i].end_ps, d->steps.v[i].begin_ps));
		before = d->steps.v[i];
	}
}

/*
 * To a span that is there, if they touch. Its launch is that of the operation which it begins with; of several that begin
 * together, of the one that has the moment (exclusive.h).
 */
static bool extend(struct ss_skel_span *at, int64_t *first_end_ps, const struct ss_skel_span *s)
{
	if (s->begin_ps < at->begin_ps || s->begin_ps > at->end_ps)
		return false;
	if (s->begin_ps == at->begin_ps && s->end_ps <= *first_end_ps) {
		at->launch = s->launch;
		*first_end_ps = s->end_ps;
	}
	at->end_ps = s->end_ps > at->end_ps ? s->end_ps : at->end_ps;
	return true;
}

/* Spans come by begin, and stay so. */
static bool unite_spans(struct outlining *o, const struct ss_skel_device *d)
{
	size_t open[OTHERS] = { SIZE_MAX, SIZE_MAX };
	int64_t first_end_ps[OTHERS] = { 0, 0 };
	o->spans.n = 0;
	for (size_t i = 0; i < d->spans.n; i++) {
		struct ss_skel_span s = d->spans.v[i];
		s.op = o->ops[s.op];
		if (s.end_ps <= s.begin_ps)
			continue;
		if (s.op < OTHERS) {
			if (open[s.op] != SIZE_MAX && extend(&o->spans.v[open[s.op]], &first_end_ps[s.op], &s))
				continue;
			open[s.op] = o->spans.n;
			first_end_ps[s.op] = s.end_ps;
		}
		if (!ss_vec_push(&o->spans, s))
			return false;
	}
	return true;
}

static void put_spans(struct outlining *o)
{
	int64_t end = 0, launch = 0;
	ss_pbo_varint(&o->rest, o->spans.n);
	for (size_t i = 0; i < o->spans.n; i++) {
		const struct ss_skel_span *s = &o->spans.v[i];
		char *to = row(o);
		if (!to)
			return;
		to = ss_pbo_put(to, s->op);
		to = near(to, s->begin_ps, end);
		to = near(to, s->end_ps, s->begin_ps);
		end_row(o, put_launch(o, to, s->launch, &launch));
		end = s->end_ps;
	}
}

static void put_comms(struct outlining *o, const struct ss_skel_device *d)
{
	struct ss_skel_comm before = { .seq = 0 };
	int64_t launch = 0;
	ss_pbo_varint(&o->rest, d->comms.n);
	for (size_t i = 0; i < d->comms.n; i++) {
		const struct ss_skel_comm *m = &d->comms.v[i];
		char *to = row(o);
		if (!to)
			return;
		to = ss_pbo_put(to, (uint64_t)o->ops[m->op] << 2 | (uint64_t)m->async << 1 | m->waited);
		to = near(to, m->begin_ps, before.begin_ps);
		to = near(to, m->end_ps, m->begin_ps);
		to = near(to, m->step, before.step);
		to = near(to, m->run, before.run);
		to = near(to, m->seq, before.seq);
		end_row(o, put_launch(o, to, m->launch, &launch));
		before = *m;
	}
}

static void put_devices(struct outlining *o)
{
	ss_pbo_varint(&o->rest, o->s->devices.n);
	for (size_t i = 0; i < o->s->devices.n && !o->no_memory; i++) {
		const struct ss_skel_device *d = &o->s->devices.v[i];
		put_signed(&o->rest, d->ordinal);
		put_signed(&o->rest, d->global);
		put_steps(o, d);
		o->no_memory = !unite_spans(o, d);
		put_spans(o);
		put_comms(o, d);
	}
}

/* Texts of operations, and the rest. */
static bool outline(const struct ss_skeleton *s, struct ss_buf out[2])
{
	struct outlining o = { .s = s, .ops = calloc(s->ops.n + 1, sizeof(*o.ops)),
			       .events = malloc((s->events.n + 1) * sizeof(*o.events)) };
	o.no_memory = !o.ops || !o.events;
	for (size_t i = 0; o.events && i < s->events.n; i++)
		o.events[i] = SS_NONE;
	if (!o.no_memory) {
		put_head(&o);
		put_ops(&o);
		put_events(&o);
		put_devices(&o);
	}
	free(o.ops);
	free(o.events);
	ss_vec_free(&o.spans);
	out[0] = o.texts;
	out[1] = o.rest;
	return !o.no_memory && !o.texts.no_memory && !o.rest.no_memory;
}

/* ---- reading them ---- */

struct in {
	const uint8_t *at, *end;
	bool no_memory;
};

static uint64_t get(struct in *r)
{
	uint64_t v = 0;
	(void)ss_pb_varint(&r->at, r->end, &v);
	return v;
}

static int64_t get_near(struct in *r, int64_t guess)
{
	uint64_t v = get(r);
	return (int64_t)((v >> 1 ^ (0 - (v & 1))) + (uint64_t)guess);
}

static struct ss_str get_str(struct in *r)
{
	size_t n = (size_t)get(r);
	struct ss_str s = { n ? (const char *)r->at : "", n };
	r->at += n;
	return s;
}

/* Make room for `count` elements; the number is 0 if memory is out, or was out before. */
#define GET_ROOM(r, vec, count)                                                   \
	do {                                                                      \
		(vec)->n = (size_t)(count);                                       \
		(r)->no_memory = (r)->no_memory || !ss_vec_reserve((vec), (vec)->n + 1); \
		(vec)->n = (r)->no_memory ? 0 : (vec)->n;                         \
	} while (0)

static void get_ops(struct in *r, struct ss_skeleton *s, uint64_t n)
{
	GET_ROOM(r, &s->ops, n);
	for (size_t i = 0; i < s->ops.n; i++) {
		struct ss_skel_op *v = &s->ops.v[i];
		*v = (struct ss_skel_op){ .name = SS_STR(""), .program = SS_STR(""), .groups = SS_STR(""),
					  .cls = i == COPYING ? SS_SPAN_COPY : SS_SPAN_COMPUTE };
		if (i < OTHERS)
			continue;
		v->name = get_str(r);
		v->program = get_str(r);
		v->groups = get_str(r);
		v->program_id = get(r);
		v->cls = (enum ss_span_class)get(r);
		v->kind = (enum ss_comm)get(r);
		v->bytes = get(r);
		v->expected = (uint32_t)get(r);
	}
}

static uint64_t get_head(struct in *r, struct ss_skeleton *s)
{
	s->host = get_str(r);
	s->hostname = get_str(r);
	s->run = get_str(r);
	s->note = get_str(r);
	uint64_t state = get(r);
	s->state = (enum ss_skel_state)(state >> 2);
	s->on_cpu = state >> 1 & 1;
	s->is_rank = state & 1;
	s->start_unix_ns = get_near(r, 0);
	s->world = get(r);
	s->file_bytes = get(r);
	return get(r);
}

static void get_events(struct in *r, struct ss_skeleton *s)
{
	int64_t at = 0;
	GET_ROOM(r, &s->events, get(r));
	for (size_t i = 0; i < s->events.n; i++) {
		struct ss_skel_host_event *e = &s->events.v[i];
		e->begin_ps = at = get_near(r, at);
		e->end_ps = get_near(r, e->begin_ps);
		e->cls = (enum ss_skel_host_class)get(r);
		e->thread = 0;
	}
}

static uint32_t get_launch(struct in *r, int64_t *guess)
{
	*guess = get_near(r, *guess);
	return *guess < 0 ? SS_NO_LAUNCH : (uint32_t)*guess;
}

static void get_steps(struct in *r, struct ss_skel_device *d)
{
	struct ss_skel_step before = { 0, 0, 0 };
	GET_ROOM(r, &d->steps, get(r));
	for (size_t i = 0; i < d->steps.n; i++) {
		before.num = get_near(r, before.num);
		before.begin_ps = get_near(r, before.end_ps);
		before.end_ps = get_near(r, before.begin_ps);
		d->steps.v[i] = before;
	}
}

static void get_spans(struct in *r, struct ss_skel_device *d)
{
	int64_t end = 0, launch = 0;
	GET_ROOM(r, &d->spans, get(r));
	for (size_t i = 0; i < d->spans.n; i++) {
		struct ss_skel_span *s = &d->spans.v[i];
		s->op = (uint32_t)get(r);
		s->begin_ps = get_near(r, end);
		s->end_ps = end = get_near(r, s->begin_ps);
		s->launch = get_launch(r, &launch);
		s->stream = 0;
	}
}

static void get_comms(struct in *r, struct ss_skel_device *d)
{
	struct ss_skel_comm before = { .seq = 0 };
	int64_t launch = 0;
	GET_ROOM(r, &d->comms, get(r));
	for (size_t i = 0; i < d->comms.n; i++) {
		uint64_t kind = get(r);
		before.op = (uint32_t)(kind >> 2);
		before.async = kind >> 1 & 1;
		before.waited = kind & 1;
		before.begin_ps = get_near(r, before.begin_ps);
		before.end_ps = get_near(r, before.begin_ps);
		before.step = get_near(r, before.step);
		before.run = get_near(r, before.run);
		before.seq = get_near(r, before.seq);
		before.launch = get_launch(r, &launch);
		d->comms.v[i] = before;
	}
}

/* False: memory is out. */
static bool read_outline(struct ss_skeleton *s, struct ss_str ops, struct ss_str rest)
{
	struct in texts = { .at = (const uint8_t *)ops.p, .end = (const uint8_t *)ops.p + ops.n };
	struct in r = { .at = (const uint8_t *)rest.p, .end = (const uint8_t *)rest.p + rest.n };
	get_ops(&texts, s, get_head(&r, s));
	get_events(&r, s);
	size_t n = (size_t)get(&r);
	/* Where memory was out, what follows was not read from its beginning. */
	r.no_memory = r.no_memory || texts.no_memory || !ss_vec_reserve(&s->devices, n + 1);
	for (size_t i = 0; i < n && !r.no_memory; i++) {
		struct ss_skel_device d = { .ordinal = (int32_t)get_near(&r, 0) };
		d.global = get_near(&r, 0);
		get_steps(&r, &d);
		get_spans(&r, &d);
		get_comms(&r, &d);
		s->devices.v[s->devices.n++] = d;
	}
	return !r.no_memory;
}

/* ---- those of many hosts ---- */

struct kept {
	struct ss_str ops, rest; /* rest.p NULL: not kept */
};

struct ss_outlines {
	struct kept *v;
	size_t n;
	uint64_t most_bytes;
	/* Under the lock. */
	pthread_mutex_t lock;
	struct ss_arena arena;
	struct ss_strmap ops;	/* texts of operations, which are the same on all hosts of one program */
};

struct ss_outlines *ss_outlines_new(const struct ss_str *packed, size_t n)
{
	struct ss_outlines *o = calloc(1, sizeof(*o));
	if (!o || !(o->v = calloc(n + 1, sizeof(*o->v)))) {
		free(o);
		return NULL;
	}
	o->n = n;
	for (size_t i = 0; i < n; i++)
		o->most_bytes += packed[i].n / 2;
	o->most_bytes = o->most_bytes > MOST_BYTES ? o->most_bytes : MOST_BYTES;
	pthread_mutex_init(&o->lock, NULL);
	return o;
}

void ss_outlines_free(struct ss_outlines *o)
{
	if (!o)
		return;
	ss_strmap_free(&o->ops);
	ss_arena_release(&o->arena);
	pthread_mutex_destroy(&o->lock);
	free(o->v);
	free(o);
}

/* *room: for one more. */
static struct kept look_up(struct ss_outlines *o, size_t i, bool *room)
{
	struct kept k = { .rest = { NULL, 0 } };
	pthread_mutex_lock(&o->lock);
	*room = i < o->n && o->arena.used_bytes < o->most_bytes;
	if (i < o->n)
		k = o->v[i];
	pthread_mutex_unlock(&o->lock);
	return k;
}

/* An outline that cannot be stored is made again, so that lack of memory is not a failure. */
static void keep(struct ss_outlines *o, size_t i, const struct ss_buf bytes[2])
{
	struct ss_str ops = ss_buf_get(&bytes[0]);
	pthread_mutex_lock(&o->lock);
	uint32_t k = ss_strmap_get(&o->ops, ops);
	if (k == SS_NONE) {
		struct ss_str copy = ss_arena_str(&o->arena, ops);
		k = copy.p ? ss_strmap_add(&o->ops, copy) : SS_NONE;
	}
	if (k != SS_NONE && !o->v[i].rest.p) {
		o->v[i].ops = o->ops.keys[k];
		o->v[i].rest = ss_arena_str(&o->arena, ss_buf_get(&bytes[1]));
	}
	pthread_mutex_unlock(&o->lock);
}

void ss_outlines_keep(struct ss_outlines *o, size_t i, const struct ss_skeleton *s)
{
	bool room;
	struct ss_buf bytes[2];
	if (look_up(o, i, &room).rest.p || !room)
		return;
	if (outline(s, bytes))
		keep(o, i, bytes);
	ss_buf_free(&bytes[0]);
	ss_buf_free(&bytes[1]);
}

static bool make(struct ss_outlines *o, size_t i, bool room, struct ss_str packed, struct ss_outline *out, struct ss_err *err)
{
	struct ss_skeleton s;
	if (!ss_skeleton_unpack(&s, packed, err))
		return false;
	bool ok = outline(&s, out->own) || ss_fail_mem(err);
	ss_skeleton_free(&s);
	if (ok && room)
		keep(o, i, out->own);
	return ok;
}

bool ss_outline_open(struct ss_outlines *o, size_t i, struct ss_str packed, struct ss_outline *out, struct ss_err *err)
{
	bool room;
	*out = (struct ss_outline){ .s = { .start_unix_ns = 0 } };
	struct kept k = look_up(o, i, &room);
	bool ok = k.rest.p || make(o, i, room, packed, out, err);
	if (ok && !k.rest.p) {
		k = look_up(o, i, &room);
		if (!k.rest.p)
			k = (struct kept){ ss_buf_get(&out->own[0]), ss_buf_get(&out->own[1]) };
	}
	out->ops = k.ops;
	ok = ok && (read_outline(&out->s, k.ops, k.rest) || ss_fail_mem(err));
	if (!ok)
		ss_outline_close(out);
	return ok;
}

void ss_outline_close(struct ss_outline *out)
{
	ss_skeleton_free(&out->s);
	ss_buf_free(&out->own[0]);
	ss_buf_free(&out->own[1]);
}
