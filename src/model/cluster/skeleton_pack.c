/*
 * skeleton_pack.c - a skeleton as bytes: columns of integers, each the difference to what was to be
 * expected, as varints, and all of it deflated.
 *
 * Operations mostly follow each other without a gap, and their launches too: most differences are
 * 0.
 */
#include "model/cluster/skeleton_read.h"

#include "wire/gz_in.h"
#include "wire/gz_out.h"
#include "wire/pb_out.h"

#include <stdlib.h>

#define MAGIC "stepscope skeleton 1\n"
/* Unpacked bytes for each packed one: what deflate can reach. */
#define MOST_RATIO 1100

/* ---- writing ---- */

static void put(struct ss_buf *b, int64_t v)
{
	ss_pbo_varint(b, (uint64_t)v << 1 ^ (uint64_t)(v >> 63));
}

static void put_diff(struct ss_buf *b, int64_t a, int64_t base)
{
	put(b, (int64_t)((uint64_t)a - (uint64_t)base));
}

static void put_str(struct ss_buf *b, struct ss_str s)
{
	ss_pbo_varint(b, s.n);
	ss_buf_str(b, s);
}

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

static void put_spans(struct ss_buf *b, const struct ss_skel_device *d)
{
	size_t n = d->spans.n;
	const struct ss_skel_span *v = d->spans.v;
	ss_pbo_varint(b, n);
	for (size_t i = 0; i < n; i++)
		put_diff(b, v[i].begin_ps, i ? v[i - 1].end_ps : 0);
	for (size_t i = 0; i < n; i++)
		put_diff(b, v[i].end_ps, v[i].begin_ps);
	for (size_t i = 0; i < n; i++)
		put(b, (int64_t)v[i].op - (i ? (int64_t)v[i - 1].op : 0));
	for (size_t i = 0; i < n; i++)
		put(b, (int64_t)v[i].launch - (i ? (int64_t)v[i - 1].launch : 0));
	for (size_t i = 0; i < n; i++)
		ss_pbo_varint(b, v[i].stream);
}

static void put_comms(struct ss_buf *b, const struct ss_skel_device *d)
{
	size_t n = d->comms.n;
	const struct ss_skel_comm *v = d->comms.v;
	ss_pbo_varint(b, n);
	for (size_t i = 0; i < n; i++)
		put_diff(b, v[i].begin_ps, i ? v[i - 1].begin_ps : 0);
	for (size_t i = 0; i < n; i++)
		put_diff(b, v[i].end_ps, v[i].begin_ps);
	for (size_t i = 0; i < n; i++)
		put_diff(b, v[i].step, i ? v[i - 1].step : 0);
	for (size_t i = 0; i < n; i++)
		put_diff(b, v[i].run, i ? v[i - 1].run : 0);
	for (size_t i = 0; i < n; i++)
		put_diff(b, v[i].seq, i ? v[i - 1].seq : 0);
	for (size_t i = 0; i < n; i++)
		put(b, (int64_t)v[i].op - (i ? (int64_t)v[i - 1].op : 0));
	for (size_t i = 0; i < n; i++)
		put(b, (int64_t)v[i].launch - (i ? (int64_t)v[i - 1].launch : 0));
	for (size_t i = 0; i < n; i++)
		ss_pbo_varint(b, (uint64_t)v[i].stream << 2 | (uint64_t)v[i].waited << 1 | v[i].async);
}

static void put_device(struct ss_buf *b, const struct ss_skel_device *d)
{
	put(b, d->ordinal);
	put(b, d->global);
	ss_pbo_varint(b, d->steps.n);
	for (size_t i = 0; i < d->steps.n; i++) {
		const struct ss_skel_step *v = &d->steps.v[i];
		put_diff(b, v->num, i ? v[-1].num + 1 : 0);
		put_diff(b, v->begin_ps, i ? v[-1].end_ps : 0);
		put_diff(b, v->end_ps, v->begin_ps);
	}
	put_spans(b, d);
	put_comms(b, d);
}

static void put_events(struct ss_buf *b, const struct ss_skeleton *s)
{
	size_t n = s->events.n;
	const struct ss_skel_host_event *v = s->events.v;
	ss_pbo_varint(b, n);
	for (size_t i = 0; i < n; i++)
		put_diff(b, v[i].begin_ps, i ? v[i - 1].end_ps : 0);
	for (size_t i = 0; i < n; i++)
		put_diff(b, v[i].end_ps, v[i].begin_ps);
	for (size_t i = 0; i < n; i++)
		ss_pbo_varint(b, (uint64_t)v[i].thread << 2 | (uint64_t)v[i].cls);
}

bool ss_skeleton_pack(const struct ss_skeleton *s, struct ss_buf *to, struct ss_err *err)
{
	struct ss_buf b = { 0 };
	struct ss_gz_out *gz = ss_gz_open();
	struct ss_str packed;
	ss_buf_lit(&b, MAGIC);
	put_str(&b, s->host);
	put_str(&b, s->run);
	put_str(&b, s->hostname);
	put_str(&b, s->note);
	ss_pbo_varint(&b, (uint64_t)s->state << 1 | s->is_rank);
	put(&b, s->start_unix_ns);
	ss_pbo_varint(&b, s->world);
	ss_pbo_varint(&b, s->file_bytes);
	put_ops(&b, s);
	ss_pbo_varint(&b, s->devices.n);
	for (size_t i = 0; i < s->devices.n; i++)
		put_device(&b, &s->devices.v[i]);
	put_events(&b, s);
	bool ok = ss_buf_ok(&b, "a skeleton", err) && (gz || ss_fail_mem(err));
	if (ok) {
		ss_gz_write(gz, ss_buf_get(&b));
		ok = ss_gz_finish(gz, &packed) || ss_fail_mem(err);
	}
	if (ok) {
		ss_buf_str(to, packed);
		ok = ss_buf_ok(to, "a skeleton", err);
	}
	ss_gz_close(gz);
	ss_buf_free(&b);
	return ok;
}

/* ---- reading ---- */

struct in {
	const uint8_t *at, *end;
	bool bad, no_memory;
	struct ss_arena *arena;
};

static uint64_t get_u(struct in *r)
{
	uint64_t v = 0;
	if (!r->bad && !ss_pb_varint(&r->at, r->end, &v))
		r->bad = true;
	return r->bad ? 0 : v;
}

static int64_t get(struct in *r)
{
	uint64_t v = get_u(r);
	return (int64_t)(v >> 1 ^ (0 - (v & 1)));
}

static int64_t get_diff(struct in *r, int64_t base)
{
	return (int64_t)((uint64_t)base + (uint64_t)get(r));
}

/* A number that may be no greater than `most`. */
static uint64_t get_most(struct in *r, uint64_t most)
{
	uint64_t v = get_u(r);
	if (v > most)
		r->bad = true;
	return r->bad ? 0 : v;
}

/* How many of something follow, each of which takes `least` bytes. */
static size_t get_count(struct in *r, size_t least)
{
	return (size_t)get_most(r, (uint64_t)(r->end - r->at) / least);
}

static struct ss_str get_str(struct in *r)
{
	size_t n = get_count(r, 1);
	struct ss_str s = { n ? (const char *)r->at : "", n };
	r->at += n;
	s = ss_arena_str(r->arena, s);
	r->no_memory |= !s.p;
	return s.p ? s : SS_STR("");
}

#define RESERVE(r, vec, count)                                                                                                   \
	((vec)->n = (r)->bad ? 0 : (count), ss_vec_reserve(vec, (vec)->n + 1) || ((vec)->n = 0, (r)->no_memory = true, false))

static void get_ops(struct in *r, struct ss_skeleton *s)
{
	size_t n = get_count(r, 8);
	RESERVE(r, &s->ops, n);
	for (size_t i = 0; i < s->ops.n && !r->bad; i++) {
		struct ss_skel_op *o = &s->ops.v[i];
		*o = (struct ss_skel_op){ .name = get_str(r) };
		o->program = get_str(r);
		o->program_id = get_u(r);
		o->cls = (enum ss_span_class)get_most(r, SS_SPAN_COLLECTIVE);
		o->kind = (enum ss_comm)get_most(r, SS_COMM_COUNT - 1);
		o->groups = get_str(r);
		o->bytes = get_u(r);
		o->expected = (uint32_t)get_most(r, UINT32_MAX);
	}
}

/* An index below n, kept as a difference; SS_NO_LAUNCH is allowed where `none` is. */
static uint32_t get_index(struct in *r, int64_t before, size_t n, bool none)
{
	int64_t v = get_diff(r, before);
	if (v < 0 || ((uint64_t)v >= n && !(none && v == SS_NO_LAUNCH)))
		r->bad = true;
	return r->bad ? 0 : (uint32_t)v;
}

static void get_spans(struct in *r, struct ss_skel_device *d, size_t nops)
{
	size_t n = get_count(r, 5);
	RESERVE(r, &d->spans, n);
	struct ss_skel_span *v = d->spans.v;
	n = d->spans.n;
	/* Begins count from the ends before them: both columns are read side by side. */
	struct in ends = *r;
	for (size_t i = 0; i < n; i++)
		get(&ends);
	for (size_t i = 0; i < n; i++) {
		v[i].begin_ps = ss_skel_held(get_diff(r, i ? v[i - 1].end_ps : 0));
		v[i].end_ps = ss_skel_held(get_diff(&ends, v[i].begin_ps));
	}
	ends.no_memory |= r->no_memory;
	ends.bad |= r->bad;
	*r = ends;
	for (size_t i = 0; i < n; i++)
		v[i].op = get_index(r, i ? v[i - 1].op : 0, nops, false);
	for (size_t i = 0; i < n; i++)
		v[i].launch = get_index(r, i ? v[i - 1].launch : 0, SS_NO_LAUNCH, true);
	for (size_t i = 0; i < n; i++)
		v[i].stream = (uint32_t)get_most(r, UINT32_MAX);
}

static void get_comms(struct in *r, struct ss_skel_device *d, size_t nops)
{
	size_t n = get_count(r, 8);
	RESERVE(r, &d->comms, n);
	struct ss_skel_comm *v = d->comms.v;
	n = d->comms.n;
	for (size_t i = 0; i < n; i++)
		v[i].begin_ps = ss_skel_held(get_diff(r, i ? v[i - 1].begin_ps : 0));
	for (size_t i = 0; i < n; i++)
		v[i].end_ps = ss_skel_held(get_diff(r, v[i].begin_ps));
	for (size_t i = 0; i < n; i++)
		v[i].step = get_diff(r, i ? v[i - 1].step : 0);
	for (size_t i = 0; i < n; i++)
		v[i].run = get_diff(r, i ? v[i - 1].run : 0);
	for (size_t i = 0; i < n; i++)
		v[i].seq = get_diff(r, i ? v[i - 1].seq : 0);
	for (size_t i = 0; i < n; i++)
		v[i].op = get_index(r, i ? v[i - 1].op : 0, nops, false);
	for (size_t i = 0; i < n; i++)
		v[i].launch = get_index(r, i ? v[i - 1].launch : 0, SS_NO_LAUNCH, true);
	for (size_t i = 0; i < n; i++) {
		uint64_t u = get_most(r, (uint64_t)UINT32_MAX << 2 | 3);
		v[i].stream = (uint32_t)(u >> 2);
		v[i].waited = u >> 1 & 1;
		v[i].async = u & 1;
	}
}

static void get_steps(struct in *r, struct ss_skel_device *d)
{
	size_t n = get_count(r, 3);
	RESERVE(r, &d->steps, n);
	for (size_t i = 0; i < d->steps.n; i++) {
		struct ss_skel_step *v = &d->steps.v[i];
		v->num = ss_skel_held(get_diff(r, i ? v[-1].num + 1 : 0));
		v->begin_ps = ss_skel_held(get_diff(r, i ? v[-1].end_ps : 0));
		v->end_ps = ss_skel_held(get_diff(r, v->begin_ps));
	}
}

static void get_events(struct in *r, struct ss_skeleton *s)
{
	size_t n = get_count(r, 3);
	RESERVE(r, &s->events, n);
	n = s->events.n;
	struct ss_skel_host_event *v = s->events.v;
	struct in ends = *r;
	for (size_t i = 0; i < n; i++)
		get(&ends);
	for (size_t i = 0; i < n; i++) {
		v[i].begin_ps = ss_skel_held(get_diff(r, i ? v[i - 1].end_ps : 0));
		v[i].end_ps = ss_skel_held(get_diff(&ends, v[i].begin_ps));
	}
	ends.no_memory |= r->no_memory;
	ends.bad |= r->bad;
	*r = ends;
	for (size_t i = 0; i < n; i++) {
		uint64_t u = get_most(r, (uint64_t)UINT32_MAX << 2 | 3);
		v[i].thread = (uint32_t)(u >> 2);
		v[i].cls = (enum ss_skel_host_class)((u & 3) % 3);
	}
}

/* Launches that no event is of would be looked up in vain. */
static bool launches_exist(const struct ss_skeleton *s)
{
	for (size_t k = 0; k < s->devices.n; k++) {
		const struct ss_skel_device *d = &s->devices.v[k];
		for (size_t i = 0; i < d->spans.n; i++)
			if (d->spans.v[i].launch != SS_NO_LAUNCH && d->spans.v[i].launch >= s->events.n)
				return false;
		for (size_t i = 0; i < d->comms.n; i++)
			if (d->comms.v[i].launch != SS_NO_LAUNCH && d->comms.v[i].launch >= s->events.n)
				return false;
	}
	return true;
}

static bool read_all(struct ss_skeleton *s, struct ss_str bytes, struct ss_err *err)
{
	if (!ss_str_take(&bytes, SS_STR(MAGIC)))
		return ss_fail(err, SS_EFORMAT, "this is no skeleton of a host, or one of another version");
	struct in r = { .at = (const uint8_t *)bytes.p, .end = (const uint8_t *)bytes.p + bytes.n, .arena = &s->arena };
	s->host = get_str(&r);
	s->run = get_str(&r);
	s->hostname = get_str(&r);
	s->note = get_str(&r);
	uint64_t state = get_most(&r, (uint64_t)SS_SKEL_UNREADABLE << 1 | 1);
	s->state = (enum ss_skel_state)(state >> 1);
	s->is_rank = state & 1;
	s->start_unix_ns = get(&r);
	s->world = get_u(&r);
	s->file_bytes = get_u(&r);
	get_ops(&r, s);
	size_t n = get_count(&r, 5);
	for (size_t i = 0; i < n && !r.bad && !r.no_memory; i++) {
		struct ss_skel_device d = { .ordinal = (int32_t)get(&r) };
		d.global = get(&r);
		get_steps(&r, &d);
		get_spans(&r, &d, s->ops.n);
		get_comms(&r, &d, s->ops.n);
		if (!ss_vec_reserve(&s->devices, n + 1)) {
			r.no_memory = true;
			ss_vec_free(&d.steps);
			ss_vec_free(&d.spans);
			ss_vec_free(&d.comms);
		} else {
			s->devices.v[s->devices.n++] = d;
		}
	}
	get_events(&r, s);
	if (r.no_memory)
		return ss_fail_mem(err);
	if (r.bad || r.at != r.end || !launches_exist(s))
		return ss_fail(err, SS_EFORMAT, "the skeleton of host '" SS_FMT "' is damaged", SS_ARG(s->host));
	return true;
}

bool ss_skeleton_peek(struct ss_str packed, struct ss_arena *arena, struct ss_str *host, struct ss_str *run, struct ss_err *err)
{
	char head[8192];
	struct ss_gz_in *gz = ss_gz_in_open(packed);
	if (!gz)
		return ss_fail_mem(err);
	struct ss_str bytes = { head, ss_gz_in_read(gz, head, sizeof(head)) };
	ss_gz_in_close(gz);
	if (!ss_str_take(&bytes, SS_STR(MAGIC)))
		return ss_fail(err, SS_EFORMAT, "this is no skeleton of a host, or one of another version");
	struct in r = { .at = (const uint8_t *)bytes.p, .end = (const uint8_t *)bytes.p + bytes.n, .arena = arena };
	*host = get_str(&r);
	*run = get_str(&r);
	if (r.no_memory)
		return ss_fail_mem(err);
	return !r.bad || ss_fail(err, SS_EFORMAT, "the skeleton of a host is cut short or damaged");
}

bool ss_skeleton_unpack(struct ss_skeleton *s, struct ss_str packed, struct ss_err *err)
{
	struct ss_buf b = { .limit_bytes = packed.n * MOST_RATIO + 4096 };
	bool whole = true;
	*s = (struct ss_skeleton){ .start_unix_ns = 0 };
	bool ok = ss_gz_in_all(packed, &b, &whole, err);
	if (ok && !whole)
		ok = ss_fail(err, SS_EFORMAT, "the skeleton of a host is cut short or damaged");
	ok = ok && read_all(s, ss_buf_get(&b), err);
	ss_buf_free(&b);
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
	ss_arena_release(&s->arena);
}
