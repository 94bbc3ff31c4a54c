/*
 * space_write.c - an XSpace's bytes, out of what was collected.
 *
 * Sizes are computed before anything is written, so that nothing is held twice but the plane at
 * hand.
 */
#include "import/space_lines.h"

#include "base/bisect.h"
#include "base/huge.h"
#include "base/ids.h"
#include "import/kineto.h"
#include "wire/pb.h"
#include "wire/pb_out.h"
#include "xspace/fields.h"

#include <stdlib.h>

#define EPOCH_NS INT64_C(1000000000000000000) /* in 2001 */
#define LATE_NS (INT64_C(60) * 1000000000)

/* ---- time ---- */

static void widen(const struct ss_space_out *o, int64_t from_ns, int64_t *min, int64_t *max)
{
	*min = INT64_MAX;
	*max = INT64_MIN;
	for (size_t i = 0; i < o->planes.n; i++) {
		const struct ss_so_plane *p = &o->planes.v[i];
		for (size_t k = 0; k < p->lines.n; k++)
			for (size_t e = 0; e < p->lines.v[k].events.n; e++) {
				int64_t t = p->lines.v[k].events.v[e].begin_ns;
				if (t < from_ns)
					continue;
				*min = t < *min ? t : *min;
				*max = t > *max ? t : *max;
			}
	}
}

/*
 * The time that becomes 0. A trace that counts from the start of its session is left alone; one
 * that counts from the start of the machine or of the epoch would begin after hours of nothing.
 * Events more than SS_SO_FAR_NS before the last one are damage: they are not written.
 */
static int64_t find_origin(const struct ss_space_out *o, int64_t *from_ns)
{
	int64_t min, max;
	*from_ns = INT64_MIN;
	widen(o, INT64_MIN, &min, &max);
	if (min > max)
		return 0;
	if (max > INT64_MIN + SS_SO_FAR_NS && min < max - SS_SO_FAR_NS) {
		*from_ns = max - SS_SO_FAR_NS;
		widen(o, *from_ns, &min, &max);
	}
	if (min < 0)
		return min;
	return min > LATE_NS && min > max - min ? min / 1000 * 1000 : 0;
}

/* ---- flows ---- */

static int by_time(const void *a, const void *b)
{
	const struct ss_so_flow *fa = a, *fb = b;
	return SS_CMP(fa->at.ns, fb->at.ns) ?: SS_CMP(fa->at.ps, fb->at.ps) ?: SS_CMP(fa->id, fb->id);
}

/*
 * The stat "flow" of each event, 0 for none: one sweep over events and points in the order of time,
 * with a stack of the events that are open. NULL when memory is out or there are none to be set.
 * `linked`: events with correlation ids need none.
 */
static uint64_t *flows_of(struct ss_so_line *l, bool linked, bool *ok)
{
	size_t n = l->events.n, e = 0, depth = 0;
	if (!l->flows.n || !n)
		return NULL;
	uint64_t *bits = calloc(n, sizeof(*bits));
	uint32_t *stack = malloc(n * sizeof(*stack));
	*ok = bits && stack;
	qsort(l->flows.v, l->flows.n, sizeof(*l->flows.v), by_time);
	for (size_t i = 0; *ok && i < l->flows.n; i++) {
		const struct ss_so_flow *f = &l->flows.v[i];
		while (e < n && ss_so_begins_by(&l->events.v[e], f->at)) {
			struct ss_so_time t = { l->events.v[e].begin_ns, l->events.v[e].begin_sub_ps };
			while (depth && !ss_so_lasts_to(&l->events.v[stack[depth - 1]], t))
				depth--;
			stack[depth++] = (uint32_t)e++;
		}
		while (depth && !ss_so_lasts_to(&l->events.v[stack[depth - 1]], f->at))
			depth--;
		size_t at = depth && !f->next ? stack[depth - 1] : e;
		/* "Next" is also one that begins at this very moment. */
		if (f->next && depth && l->events.v[stack[depth - 1]].begin_ns == f->at.ns)
			at = stack[depth - 1];
		if (at < n && !bits[at] && !(linked && l->events.v[at].link))
			bits[at] = ss_so_flow_bits(f->id, f->dir);
	}
	free(stack);
	if (*ok)
		return bits;
	free(bits);
	return NULL;
}

/* ---- programs ---- */

/* "jit_step(123)": the number of the program, 0 where there is none. */
static uint64_t program_in(struct ss_str name)
{
	size_t open = ss_str_rchr(name, '(');
	uint64_t id = 0;
	if (open != SS_NPOS && name.p[name.n - 1] == ')')
		ss_str_to_u64(ss_str_sub(name, open + 1, name.n - 1), &id);
	return id;
}

static const struct ss_so_line *modules_of(const struct ss_so_plane *p)
{
	for (size_t i = 0; i < p->lines.n; i++)
		if (ss_str_is(p->lines.v[i].name, "XLA Modules"))
			return &p->lines.v[i];
	return NULL;
}

static void put_number(struct ss_buf *b, uint32_t id, uint64_t v)
{
	char body[32];
	struct ss_buf stat = { .p = body, .cap = sizeof(body) };
	ss_pbo_uint(&stat, XSTAT_METADATA_ID, (uint64_t)id + 1);
	ss_pbo_uint(&stat, XSTAT_UINT64_VALUE, v);
	ss_pbo_bytes(b, XEVENT_METADATA_STATS, ss_buf_get(&stat));
}

/*
 * Another entry that says what this one does, and the program; its number, SS_NONE when memory is
 * out.
 */
static uint32_t copy_meta(struct ss_space_out *o, struct ss_so_plane *p, uint32_t meta, uint64_t program)
{
	uint32_t pid = ss_strmap_add(&p->names, SS_STR("program_id"));
	uint32_t sid = ss_strmap_add(&p->names, SS_STR("symbol_id"));
	struct ss_so_meta m = p->meta.v[meta];
	struct ss_buf b = { 0 };
	ss_buf_str(&b, m.stats);
	put_number(&b, pid, program);
	/* The numbers of symbols only tell operations from what is none. */
	put_number(&b, sid, (uint64_t)meta + 1);
	m.stats = b.no_memory ? (struct ss_str){ NULL, 0 } : ss_arena_str(&o->arena, ss_buf_get(&b));
	m.op = false;
	ss_buf_free(&b);
	if (pid == SS_NONE || sid == SS_NONE || !m.stats.p || p->meta.n >= SS_NONE - 1 || !ss_vec_push(&p->meta, m))
		return SS_NONE;
	return (uint32_t)p->meta.n - 1;
}

/* Give the operations of a line their programs: those of the modules that run while they do. `modules`: NULL, or the plane's. */
static bool add_programs(struct ss_space_out *o, struct ss_so_plane *p, struct ss_so_line *l, const struct ss_so_line *modules,
			 struct ss_u64map *known)
{
	size_t k = 0, n = modules ? modules->events.n : 0;
	for (size_t i = 0; i < l->events.n; i++) {
		struct ss_so_record *r = &l->events.v[i];
		if (!p->meta.v[r->meta].op)
			continue;
		struct ss_so_time t = { r->begin_ns, r->begin_sub_ps };
		while (k + 1 < n && ss_so_begins_by(&modules->events.v[k + 1], t))
			k++;
		bool inside = k < n && ss_so_begins_by(&modules->events.v[k], t);
		uint64_t program = inside ? program_in(p->meta.v[modules->events.v[k].meta].name) : 0;
		uint64_t key = ss_mix(program, r->meta);
		uint32_t meta = ss_u64map_get(known, key);
		if (meta == SS_NONE) {
			meta = copy_meta(o, p, r->meta, program);
			if (meta == SS_NONE || ss_u64map_add(known, key, meta) == SS_NONE)
				return false;
		}
		r->meta = meta;
	}
	return true;
}

/* ---- what launched what ---- */

struct launches {
	struct ss_ids by_id;	/* correlation id to index in ops */
	SS_VEC(struct ss_str) ops;
};

/* An event that has begun and not ended, and the innermost one from it outwards that is no call: SS_NONE where all are. */
struct open_event {
	uint32_t event, operation;
};

/*
 * The innermost event around each call that launches something, by its correlation id; "" for the
 * mark of a step, which is no operation. Calls lie within calls: the runtime's makes the driver's.
 */
static bool find_launches(struct ss_space_out *o, const struct ss_so_plane *p, const struct ss_so_line *l,
			  struct launches *found)
{
	size_t n = l->events.n, depth = 0;
	struct open_event *stack = malloc((n + 1) * sizeof(*stack));
	bool ok = stack != NULL;
	for (size_t i = 0; ok && i < n; i++) {
		const struct ss_so_record *r = &l->events.v[i];
		struct ss_so_time t = { r->begin_ns, r->begin_sub_ps };
		while (depth && !ss_so_lasts_to(&l->events.v[stack[depth - 1].event], t))
			depth--;
		uint32_t operation = depth ? stack[depth - 1].operation : SS_NONE;
		o->calls_linked |= r->link != 0;
		if (r->link && operation != SS_NONE) {
			struct ss_str name = p->meta.v[l->events.v[operation].meta].name;
			uint32_t next = (uint32_t)found->ops.n;
			uint32_t at = ss_ids_add(&found->by_id, o->links.v[r->link - 1], next);
			ok = at != SS_NONE &&
			     (at != next || ss_vec_push(&found->ops, ss_kineto_is_step(name) ? SS_STR("") : name));
		}
		stack[depth++] = (struct open_event){ (uint32_t)i, r->link ? operation : (uint32_t)i };
	}
	free(stack);
	return ok;
}

/* One more stat for the i-th event of a line, which is in order; `name` lives as long as `o` does. */
static bool give_op(struct ss_so_plane *p, struct ss_so_line *l, size_t i, struct ss_str name)
{
	uint32_t number = ss_strmap_add(&p->names, name);
	if (!l->ops)
		l->ops = calloc(l->events.n, sizeof(*l->ops));
	if (!l->ops || number == SS_NONE)
		return false;
	l->ops[i] = number + 1;
	return true;
}

static struct ss_str name_in_file(const struct ss_so_meta *m)
{
	return m->name_in_file.n ? m->name_in_file : m->name;
}

/* Give what ran on a GPU the operation it was launched by; what the step alone launched is one of its own. */
static bool add_ops(const struct ss_space_out *o, struct ss_so_plane *p, struct ss_so_line *l, const struct launches *found)
{
	bool ok = true;
	for (size_t i = 0; ok && i < l->events.n; i++) {
		const struct ss_so_record *r = &l->events.v[i];
		uint32_t at = r->link ? ss_ids_get(&found->by_id, o->links.v[r->link - 1]) : SS_NONE;
		ok = at == SS_NONE || give_op(p, l, i, found->ops.v[at].n ? found->ops.v[at] : name_in_file(&p->meta.v[r->meta]));
	}
	return ok;
}

/*
 * Give allocations the operation that asked for them: the innermost event around. Not as `tf_op`,
 * they are none themselves.
 */
static bool name_allocations(struct ss_so_plane *p, struct ss_so_line *l)
{
	size_t n = l->events.n, depth = 0;
	uint32_t *stack = malloc((n + 1) * sizeof(*stack));
	bool ok = stack != NULL;
	for (size_t i = 0; ok && i < n; i++) {
		const struct ss_so_record *r = &l->events.v[i];
		struct ss_so_time t = { r->begin_ns, r->begin_sub_ps };
		while (depth && !ss_so_lasts_to(&l->events.v[stack[depth - 1]], t))
			depth--;
		if (!ss_str_starts(p->meta.v[r->meta].name, SS_STR("Memory")) || r->dur_ps)
			stack[depth++] = (uint32_t)i;
		else if (depth)
			ok = give_op(p, l, i, p->meta.v[l->events.v[stack[depth - 1]].meta].name);
	}
	free(stack);
	return ok;
}

static bool is_gpu(const struct ss_so_plane *p)
{
	return ss_str_starts(p->name, SS_STR("/device:GPU:"));
}

/* XProf's traces name the operation themselves. */
static bool link_launches(struct ss_space_out *o)
{
	struct launches found = { .ops = { 0 } };
	uint64_t least = UINT64_MAX, most = 0;
	for (size_t i = 0; i < o->links.n; i++) {
		least = o->links.v[i] < least ? o->links.v[i] : least;
		most = o->links.v[i] > most ? o->links.v[i] : most;
	}
	bool ok = ss_ids_open(&found.by_id, least, most, o->links.n);
	for (size_t i = 0; ok && o->links.n && i < o->planes.n; i++) {
		struct ss_so_plane *p = &o->planes.v[i];
		for (size_t k = 0; ok && !is_gpu(p) && k < p->lines.n; k++) {
			ok = ss_so_line_settle(o, &p->lines.v[k]) &&
			     find_launches(o, p, &p->lines.v[k], &found);
		}
	}
	for (size_t i = 0; ok && found.ops.n && i < o->planes.n; i++) {
		struct ss_so_plane *p = &o->planes.v[i];
		bool named = ss_strmap_get(&p->names, SS_STR("tf_op")) != SS_NONE;
		for (size_t k = 0; ok && is_gpu(p) && !named && k < p->lines.n; k++)
			ok = ss_so_line_settle(o, &p->lines.v[k]) &&
			     add_ops(o, p, &p->lines.v[k], &found);
		o->launch_ops |= is_gpu(p) && !named;
	}
	ss_ids_free(&found.by_id);
	ss_vec_free(&found.ops);
	ss_vec_free(&o->links);
	return ok;
}

/* The same of allocators, whose events PyTorch does not name. */
static bool link_allocations(struct ss_space_out *o)
{
	bool ok = true;
	for (size_t i = 0; ok && i < o->planes.n; i++) {
		struct ss_so_plane *p = &o->planes.v[i];
		bool any = ss_strmap_get(&p->names, SS_STR("allocator_name")) != SS_NONE;
		bool named = ss_strmap_get(&p->names, SS_STR("tf_op")) != SS_NONE;
		for (size_t k = 0; ok && any && !named && !is_gpu(p) && k < p->lines.n; k++) {
			ok = ss_so_line_settle(o, &p->lines.v[k]) &&
			     name_allocations(p, &p->lines.v[k]);
		}
	}
	return ok;
}

/* ---- bytes ---- */

static size_t varint_bytes(uint64_t v)
{
	size_t n = 1;
	while (v >>= 7)
		n++;
	return n;
}

/* What all events of a plane are written by. */
struct layout {
	int64_t origin_ns, from_ns;
	uint32_t flow_id, op_id; /* of the stat "flow", and of the operation around an event */
};

/* What events are given when they are written. */
struct given {
	uint64_t flow;
	uint32_t op;	/* text + 1 */
};

static uint64_t offset_ps(const struct layout *y, const struct ss_so_record *r)
{
	return ((uint64_t)r->begin_ns - (uint64_t)y->origin_ns) * 1000 + r->begin_sub_ps;
}

/* The body of a stat. */
static size_t stat_bytes(uint32_t id, uint64_t value)
{
	return 1 + varint_bytes(id) + 1 + varint_bytes(value);
}

static size_t event_bytes(const struct layout *y, const struct ss_so_record *r, struct given g)
{
	size_t n = 1 + varint_bytes((uint64_t)r->meta + 1) + 1 + varint_bytes(offset_ps(y, r)) + r->nstats;
	if (r->dur_ps)
		n += 1 + varint_bytes(r->dur_ps);
	/* Bodies of stats are no longer than 127 bytes: their lengths are one. */
	if (g.op)
		n += 2 + stat_bytes(y->op_id, g.op);
	if (g.flow)
		n += 2 + stat_bytes(y->flow_id, g.flow);
	return n;
}

static char *put_number_at(char *at, uint32_t field, uint64_t v)
{
	return ss_pbo_put(ss_pbo_put(at, (uint64_t)field << 3), v);
}

static char *put_stat_at(char *at, uint32_t id, uint32_t kind, uint64_t value)
{
	*at++ = XEVENT_STATS << 3 | 2;
	*at++ = (char)stat_bytes(id, value);
	return put_number_at(put_number_at(at, XSTAT_METADATA_ID, id), kind, value);
}

/* Of an event without its own stats, at most: its tag and length, three numbers and two stats. */
#define EVENT_BYTES (18 * SS_VARINT_BYTES)

static void put_event(struct ss_buf *b, const struct layout *y, const struct ss_so_line *l, const struct ss_so_record *r,
		      struct given g)
{
	char *from = ss_buf_room(b, EVENT_BYTES + r->nstats), *at = from;
	if (!at)
		return;
	at = ss_pbo_put(at, (uint64_t)XLINE_EVENTS << 3 | 2);
	at = ss_pbo_put(at, event_bytes(y, r, g));
	at = put_number_at(at, XEVENT_METADATA_ID, (uint64_t)r->meta + 1);
	at = put_number_at(at, XEVENT_OFFSET_PS, offset_ps(y, r));
	if (r->dur_ps)
		at = put_number_at(at, XEVENT_DURATION_PS, r->dur_ps);
	if (r->nstats)
		memcpy(at, l->stats.p + r->stats, r->nstats);
	at += r->nstats;
	if (g.op)
		at = put_stat_at(at, y->op_id, XSTAT_REF_VALUE, g.op);
	if (g.flow)
		at = put_stat_at(at, y->flow_id, XSTAT_UINT64_VALUE, g.flow);
	ss_buf_wrote(b, EVENT_BYTES + r->nstats, (size_t)(at - from));
}

static struct given given_to(const struct ss_so_line *l, const uint64_t *flows, size_t i)
{
	return (struct given){ flows ? flows[i] : 0, l->ops ? l->ops[i] : 0 };
}

static bool is_written(const struct layout *y, const struct ss_so_record *r)
{
	return r->begin_ns >= y->from_ns;
}

#define RELEASE_EVENTS 16384

/*
 * Where the stats of all events from the i-th on begin, for every RELEASE_EVENTS-th i: those before are
 * not read again. Few stand out of order: ranges that were written when they ended, and what was given
 * one more stat, which moved to the end. NULL: memory is out, and nothing is released.
 */
static uint64_t *first_stats(const struct ss_so_line *l)
{
	uint64_t *from = malloc((l->events.n / RELEASE_EVENTS + 1) * sizeof(*from)), least = UINT64_MAX;
	for (size_t i = l->events.n; from && i-- > 0;) {
		least = l->events.v[i].stats < least ? l->events.v[i].stats : least;
		if (i % RELEASE_EVENTS == 0)
			from[i / RELEASE_EVENTS] = least;
	}
	return from;
}

/* Events up to `i` were written: they and their stats are not held any longer. */
static void release_passed(struct ss_so_line *l, size_t i, const uint64_t *from)
{
	if (i % RELEASE_EVENTS || !i || !from)
		return;
	ss_huge_release(l->stats.p, from[i / RELEASE_EVENTS]);
	ss_huge_release(l->events.v, i * sizeof(*l->events.v));
}

static size_t name_bytes(const struct ss_so_line *l)
{
	return 1 + varint_bytes((uint64_t)l->id) + 1 + varint_bytes(l->name.n) + l->name.n;
}

/* How long all of a line is but its tag and length. */
static size_t line_bytes(struct ss_space_out *o, const struct layout *y, const struct ss_so_line *l, const uint64_t *flows)
{
	size_t n = name_bytes(l);
	for (size_t i = 0; i < l->events.n; i++) {
		const struct ss_so_record *r = &l->events.v[i];
		size_t body = event_bytes(y, r, given_to(l, flows, i));
		bool written = is_written(y, r);
		o->far += !written;
		n += written ? 1 + varint_bytes(body) + body : 0;
	}
	return n;
}

/* Write it; its events are gone then. */
static void put_line(struct ss_buf *b, const struct layout *y, struct ss_so_line *l, const uint64_t *flows)
{
	uint64_t *from = first_stats(l);
	ss_pbo_uint(b, XLINE_ID, (uint64_t)l->id);
	ss_pbo_bytes(b, XLINE_NAME, l->name);
	for (size_t i = 0; i < l->events.n; i++) {
		const struct ss_so_record *r = &l->events.v[i];
		if (is_written(y, r))
			put_event(b, y, l, r, given_to(l, flows, i));
		release_passed(l, i, from);
	}
	free(from);
}

static void put_entry(struct ss_buf *b, struct ss_buf *tmp, uint32_t field, uint64_t id, struct ss_str body)
{
	tmp->n = 0;
	ss_pbo_uint(tmp, 1, id);
	ss_pbo_bytes(tmp, 2, body);
	ss_pbo_bytes(b, field, ss_buf_get(tmp));
}

/* Names of events and of stats, behind the lines. */
static bool put_names(struct ss_buf *b, const struct ss_so_plane *p)
{
	struct ss_buf body = { 0 }, tmp = { 0 };
	for (size_t i = 0; i < p->meta.n; i++) {
		const struct ss_so_meta *m = &p->meta.v[i];
		body.n = 0;
		ss_pbo_uint(&body, XEVENT_METADATA_META_ID, i + 1);
		ss_pbo_bytes(&body, XEVENT_METADATA_NAME, m->name);
		if (m->display_name.n)
			ss_pbo_bytes(&body, XEVENT_METADATA_DISPLAY_NAME, m->display_name);
		if (m->name_in_file.n)
			ss_pbo_bytes(&body, XEVENT_METADATA_NAME_IN_FILE, m->name_in_file);
		ss_buf_str(&body, m->stats);
		put_entry(b, &tmp, XPLANE_EVENT_METADATA, i + 1, ss_buf_get(&body));
	}
	for (uint32_t i = 0; i < p->names.n; i++) {
		body.n = 0;
		ss_pbo_uint(&body, XSTAT_METADATA_META_ID, (uint64_t)i + 1);
		ss_pbo_bytes(&body, XSTAT_METADATA_NAME, p->names.keys[i]);
		put_entry(b, &tmp, XPLANE_STAT_METADATA, (uint64_t)i + 1, ss_buf_get(&body));
	}
	bool ok = !body.no_memory && !tmp.no_memory;
	ss_buf_free(&body);
	ss_buf_free(&tmp);
	return ok;
}

/* The number of the stat that names operations, where any event of the plane was given one. */
static bool number_of_ops(struct ss_so_plane *p, uint32_t *id)
{
	bool any = false;
	for (size_t i = 0; i < p->lines.n; i++)
		any |= p->lines.v[i].ops != NULL;
	uint32_t number = any ? ss_strmap_add(&p->names, is_gpu(p) ? SS_STR("tf_op") : SS_STR("tf_op_name")) : 0;
	*id = number + 1;
	return number != SS_NONE;
}

static bool put_lines(struct ss_space_out *o, struct ss_buf *b, struct layout *y, struct ss_so_plane *p)
{
	uint32_t flow_id = ss_strmap_add(&p->names, SS_STR("flow"));
	bool ok = flow_id != SS_NONE && number_of_ops(p, &y->op_id);
	y->flow_id = flow_id + 1;
	for (size_t i = 0; ok && i < p->lines.n; i++) {
		struct ss_so_line *l = &p->lines.v[i];
		uint64_t *flows = flows_of(l, o->calls_linked, &ok);
		if (ok && l->events.n) {
			ss_pbo_varint(b, (uint64_t)XPLANE_LINES << 3 | 2);
			ss_pbo_varint(b, line_bytes(o, y, l, flows));
			put_line(b, y, l, flows);
			ok = !b->no_memory;
		}
		free(flows);
		free(l->ops);
		l->ops = NULL;
		ss_vec_free(&l->events);
		ss_vec_free(&l->flows);
		ss_buf_free(&l->stats);
	}
	return ok;
}

/* Stats sit in event metadata under another field number than in events. */
_Static_assert((int)XEVENT_STATS == 4 && (int)XEVENT_METADATA_STATS == 5, "see restat");

static bool restat(struct ss_space_out *o, struct ss_so_plane *p)
{
	for (size_t i = 0; i < p->meta.n; i++) {
		struct ss_so_meta *m = &p->meta.v[i];
		struct ss_str s = ss_arena_str(&o->arena, m->stats);
		struct ss_pb c = ss_pb_of(s);
		struct ss_pb_field f;
		if (!s.p)
			return false;
		/* Tags are one byte, so the new one takes the place of the old. */
		for (const uint8_t *at = c.at; ss_pb_next(&c, &f); at = c.at)
			((char *)(uintptr_t)s.p)[at - (const uint8_t *)s.p] = XEVENT_METADATA_STATS << 3 | 2;
		m->stats = s;
	}
	return true;
}

/*
 * Room for the length of a message that is written behind it: a varint of five bytes, whatever the
 * number.
 */
#define LENGTH_BYTES 5

static size_t open_plane(struct ss_buf *out)
{
	ss_pbo_varint(out, (uint64_t)XSPACE_PLANES << 3 | 2);
	ss_buf_str(out, (struct ss_str){ "\0\0\0\0", LENGTH_BYTES });
	return out->n;
}

/* `from`: what open_plane returned. */
static bool close_plane(struct ss_buf *out, size_t from)
{
	uint64_t n = out->n - from;
	if (out->no_memory || n >> (7 * LENGTH_BYTES))
		return false;
	for (size_t i = 0; i < LENGTH_BYTES; i++)
		out->p[from - LENGTH_BYTES + i] = (char)((n >> (7 * i) & 0x7f) | (i + 1 < LENGTH_BYTES ? 0x80 : 0));
	return true;
}

static bool put_plane(struct ss_space_out *o, struct ss_buf *out, struct layout *y, struct ss_so_plane *p)
{
	struct ss_u64map known = { 0 };
	bool ok = restat(o, p);
	for (size_t i = 0; ok && i < p->lines.n; i++) {
		ok = ss_so_line_settle(o, &p->lines.v[i]);
	}
	const struct ss_so_line *modules = modules_of(p);
	for (size_t i = 0; ok && i < p->lines.n; i++)
		ok = add_programs(o, p, &p->lines.v[i], modules, &known);
	ss_u64map_free(&known);
	size_t from = open_plane(out);
	ss_pbo_uint(out, XPLANE_ID, (uint64_t)p->id);
	ss_pbo_bytes(out, XPLANE_NAME, p->name);
	ss_buf_str(out, ss_buf_get(&p->own));
	ok = ok && put_lines(o, out, y, p) && put_names(out, p);
	return ok && close_plane(out, from);
}

/* One stat of the plane "Task Environment", with its name. */
static void put_about(struct ss_buf *plane, uint64_t id, const struct ss_so_arg *a)
{
	struct ss_buf stat = { 0 }, tmp = { 0 };
	ss_pbo_bytes(&stat, XSTAT_METADATA_NAME, a->name);
	put_entry(plane, &tmp, XPLANE_STAT_METADATA, id, ss_buf_get(&stat));
	stat.n = 0;
	ss_pbo_uint(&stat, XSTAT_METADATA_ID, id);
	if (a->kind == SS_SO_STR)
		ss_pbo_bytes(&stat, XSTAT_STR_VALUE, a->s);
	else
		ss_pbo_uint(&stat, XSTAT_UINT64_VALUE, a->u);
	ss_pbo_bytes(plane, XPLANE_STATS, ss_buf_get(&stat));
	plane->no_memory |= stat.no_memory || tmp.no_memory;
	ss_buf_free(&stat);
	ss_buf_free(&tmp);
}

/*
 * When the session began, where XProf's clients look for it, and what the source says of the
 * recording.
 */
static void put_task(const struct ss_space_out *o, struct ss_buf *out, int64_t start_unix_ns)
{
	const struct ss_so_arg start = { .name = SS_STR("profile_start_time"), .u = (uint64_t)start_unix_ns };
	struct ss_buf plane = { 0 };
	uint64_t id = 0;
	if (!start_unix_ns && !o->about.n)
		return;
	ss_pbo_bytes(&plane, XPLANE_NAME, SS_STR("Task Environment"));
	if (start_unix_ns)
		put_about(&plane, ++id, &start);
	for (size_t i = 0; i < o->about.n; i++)
		put_about(&plane, ++id, &o->about.v[i]);
	ss_pbo_bytes(out, XSPACE_PLANES, ss_buf_get(&plane));
	out->no_memory |= plane.no_memory;
	ss_buf_free(&plane);
}

bool ss_so_finish(struct ss_space_out *o, struct ss_str hostname, struct ss_buf *out, struct ss_err *err)
{
	struct layout y = { 0 };
	y.origin_ns = find_origin(o, &y.from_ns);
	bool ok = !o->no_memory && link_launches(o) && link_allocations(o);
	for (size_t i = 0; ok && i < o->planes.n; i++)
		if (o->planes.v[i].name.n && !ss_str_is(o->planes.v[i].key, SS_SO_NOWHERE))
			ok = put_plane(o, out, &y, &o->planes.v[i]);
	/* Times of this size count from the epoch, whatever the trace says. */
	if (y.origin_ns > EPOCH_NS)
		o->start_unix_ns = 0;
	bool known = o->start_unix_ns > 0 || y.origin_ns > EPOCH_NS;
	/*
	 * Clocks count from a time of their own: events before it are no reason to forget when it
	 * was.
	 */
	known = known && y.origin_ns > -o->start_unix_ns && (y.origin_ns < 0 || o->start_unix_ns <= INT64_MAX - y.origin_ns);
	if (ok)
		put_task(o, out, known ? o->start_unix_ns + y.origin_ns : 0);
	ss_pbo_bytes(out, XSPACE_HOSTNAMES, hostname);
	return (ok && !out->no_memory) || ss_fail_mem(err);
}
