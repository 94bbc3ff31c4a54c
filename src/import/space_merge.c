/*
 * space_merge.c - see space_merge.h.
 *
 * The parts of a plane are joined in their order. The ids of names in a later part are translated
 * to those of the plane, by name; where a name stands for several ids, the same id with that name
 * is taken. Where the ids agree, which is the rule, the bytes of events are copied as they are.
 */
#include "import/space_merge.h"

#include "base/map.h"
#include "base/vec.h"
#include "wire/pb.h"
#include "wire/pb_out.h"
#include "xspace/fields.h"

#include <stdlib.h>

/* A plane of the result, or another field of it. */
struct entry {
	struct ss_str field;	/* as it stands there */
	struct ss_str body;	/* of a plane */
	uint32_t first_part;	/* in `parts`: further bodies of this plane, SS_NONE: none */
	uint32_t last_part;
};

struct part {
	struct ss_str body;
	uint32_t next;
};

struct line {
	struct ss_str body;	/* p is NULL: it stands in `translated` */
	size_t begin;		/* there */
	uint32_t next;		/* another part of the line, SS_NONE: there is none */
	uint32_t last;		/* of the first part: the last one */
	bool joined;		/* it is a further part of another one */
};

struct piece {
	size_t begin, end;	/* in a buffer */
};

struct ids {
	uint64_t *v;
	size_t n, cap;
};

/* Names of events, or of stats: what the ids of a part are in the plane. */
struct names {
	uint32_t field;		/* of the plane */
	struct ss_strmap by_name;
	SS_VEC(uint64_t) ids;	/* by number in by_name */
	struct ss_u64map several; /* numbers of names that have more than one id */
	struct ss_u64map used;	/* id to number of the name */
	uint64_t greatest;
	struct ss_u64map to;	/* of the part at hand: id to index in `target` */
	SS_VEC(uint64_t) target;
	bool same;		/* all ids of the part mean the same in the plane */
};

struct merge {
	struct ss_buf *in;
	struct ss_buf out, plane; /* the result, and the plane that is being joined */
	struct ss_buf translated; /* lines with the ids of the plane */
	struct ss_buf stat, event, line, name, map_entry; /* one of each, before it goes into what holds it */
	SS_VEC(struct entry) entries;
	SS_VEC(struct part) parts;
	SS_VEC(struct line) lines;
	struct ss_u64map line_by_id;
	struct names events, stats;
	struct ss_u64map stat_by_id; /* to index in `plane_stats` */
	SS_VEC(struct piece) plane_stats;
	struct ss_buf stat_texts;
	bool no_memory;
};

static struct ss_str bytes_from(const uint8_t *from, const uint8_t *to)
{
	return (struct ss_str){ (const char *)from, (size_t)(to - from) };
}

static struct ss_str plane_name(struct ss_str body)
{
	struct ss_pb c = ss_pb_lenient(body);
	struct ss_pb_field f;
	struct ss_str name = SS_STR("");
	while (ss_pb_next(&c, &f))
		if (f.key == PB_LEN(XPLANE_NAME))
			name = f.bytes;
	return name;
}

/* ---- which planes are one ---- */

static bool add_part(struct merge *m, uint32_t to, struct ss_str body)
{
	struct entry *e = &m->entries.v[to];
	uint32_t n = (uint32_t)m->parts.n;
	if (!ss_vec_push(&m->parts, (struct part){ body, SS_NONE }))
		return false;
	if (e->first_part == SS_NONE)
		e->first_part = n;
	else
		m->parts.v[e->last_part].next = n;
	e->last_part = n;
	return true;
}

/* *any: planes are to be joined. */
static bool find_planes(struct merge *m, size_t first_end, bool *any)
{
	struct ss_strmap names = { 0 };
	SS_VEC(uint32_t) entry_of = { 0 };
	struct ss_pb c = ss_pb_lenient(ss_buf_get(m->in));
	const uint8_t *begin = c.at, *at = c.at;
	struct ss_pb_field f;
	bool ok = true;
	for (*any = false; ok && ss_pb_next(&c, &f); at = c.at) {
		bool plane = f.key == PB_LEN(XSPACE_PLANES);
		struct entry e = { .field = bytes_from(at, c.at), .body = plane ? f.bytes : SS_STR(""), .first_part = SS_NONE };
		struct ss_str name = plane ? plane_name(f.bytes) : SS_STR("");
		uint32_t known = plane ? ss_strmap_get(&names, name) : SS_NONE;
		if (known != SS_NONE && (size_t)(at - begin) >= first_end) {
			ok = add_part(m, entry_of.v[known], f.bytes);
			*any = true;
			continue;
		}
		if (plane && known == SS_NONE)
			ok = ss_strmap_add(&names, name) != SS_NONE && ss_vec_push(&entry_of, (uint32_t)m->entries.n);
		ok = ok && ss_vec_push(&m->entries, e);
	}
	ss_strmap_free(&names);
	ss_vec_free(&entry_of);
	return ok;
}

/* ---- names ---- */

static bool name_entry(struct ss_str entry, uint64_t *id, struct ss_str *name)
{
	struct ss_str body;
	struct ss_pb_field f;
	*name = SS_STR("");
	if (!ss_pb_map_entry(entry, id, &body))
		return false;
	struct ss_pb c = ss_pb_of(body);
	while (ss_pb_next(&c, &f))
		if (f.key == PB_LEN(XEVENT_METADATA_NAME))	/* the number is the same of a stat */
			*name = f.bytes;
	return true;
}

static bool add_name(struct names *n, uint64_t id, struct ss_str name)
{
	uint32_t known = ss_strmap_get(&n->by_name, name);
	n->greatest = id > n->greatest ? id : n->greatest;
	if (known == SS_NONE) {
		known = ss_strmap_add(&n->by_name, name);
		return known != SS_NONE && ss_vec_push(&n->ids, id) && ss_u64map_put(&n->used, id, known);
	}
	return (n->ids.v[known] == id || ss_u64map_put(&n->several, known, 0)) && ss_u64map_put(&n->used, id, known);
}

static bool translate_to(struct names *n, uint64_t id, uint64_t target)
{
	n->same &= id == target;
	return ss_vec_push(&n->target, target) && ss_u64map_put(&n->to, id, (uint32_t)n->target.n - 1);
}

/* What an id of the part is in the plane; what the part has no name for has none there either. */
static uint64_t translated(struct merge *m, struct names *n, uint64_t id)
{
	uint32_t at = ss_u64map_get(&n->to, id);
	if (at != SS_NONE)
		return n->target.v[at];
	uint64_t target = ss_u64map_get(&n->used, id) == SS_NONE ? id : ++n->greatest;
	m->no_memory |= !translate_to(n, id, target);
	return target;
}

/*
 * The id of the plane for a name of a part; *fresh: the plane did not know it.
 */
static uint64_t find_target(struct names *n, uint64_t id, struct ss_str name, bool *fresh)
{
	uint32_t known = ss_strmap_get(&n->by_name, name), same = ss_u64map_get(&n->used, id);
	bool several = known != SS_NONE && ss_u64map_get(&n->several, known) != SS_NONE;
	*fresh = known == SS_NONE || (several && same != known);
	if (!*fresh)
		return several ? id : n->ids.v[known];
	return same == SS_NONE ? id : n->greatest + 1;
}

static bool names_of_first(struct merge *m, struct names *n, struct ss_str body)
{
	struct ss_pb c = ss_pb_lenient(body);
	struct ss_pb_field f;
	uint64_t id;
	struct ss_str name;
	bool ok = true;
	while (ok && ss_pb_next(&c, &f))
		if (f.key == PB_LEN(n->field) && name_entry(f.bytes, &id, &name))
			ok = add_name(n, id, name);
	m->no_memory |= !ok;
	return ok;
}

/* A stat, with the plane's ids, as a field of *to. */
static void put_stat(struct merge *m, struct ss_buf *to, uint32_t field, struct ss_str stat)
{
	struct ss_pb c = ss_pb_of(stat);
	struct ss_pb_field f;
	const uint8_t *at = c.at;
	m->stat.n = 0;
	for (; ss_pb_next(&c, &f); at = c.at) {
		if (f.key == PB_VAR(XSTAT_METADATA_ID) || f.key == PB_VAR(XSTAT_REF_VALUE))
			ss_pbo_uint(&m->stat, f.key >> 3, translated(m, &m->stats, f.u));
		else
			ss_buf_str(&m->stat, bytes_from(at, c.at));
	}
	ss_pbo_bytes(to, field, ss_buf_get(&m->stat));
}

/* The entry of a name that is new in the plane: its ids are the plane's. */
static void put_name(struct merge *m, struct names *n, struct ss_str message, uint64_t id)
{
	bool event = n == &m->events;
	struct ss_pb c = ss_pb_of(message);
	struct ss_pb_field f;
	const uint8_t *at = c.at;
	m->name.n = m->map_entry.n = 0;
	for (; ss_pb_next(&c, &f); at = c.at) {
		if (f.key == PB_VAR(XEVENT_METADATA_META_ID))
			ss_pbo_uint(&m->name, XEVENT_METADATA_META_ID, id);
		else if (event && f.key == PB_LEN(XEVENT_METADATA_STATS))
			put_stat(m, &m->name, XEVENT_METADATA_STATS, f.bytes);
		else if (event && f.key == PB_VAR(XEVENT_METADATA_CHILD_ID))
			ss_pbo_uint(&m->name, XEVENT_METADATA_CHILD_ID, translated(m, n, f.u));
		else
			ss_buf_str(&m->name, bytes_from(at, c.at));
	}
	ss_pbo_uint(&m->map_entry, 1, id);
	ss_pbo_bytes(&m->map_entry, 2, ss_buf_get(&m->name));
	ss_pbo_bytes(&m->plane, n->field, ss_buf_get(&m->map_entry));
}

/* Every name of the part gets its id; the ids of those that are new in the plane go to *fresh. */
static bool take_names(struct merge *m, struct names *n, struct ss_str body, struct ids *fresh)
{
	struct ss_pb c = ss_pb_lenient(body);
	struct ss_pb_field f;
	struct ss_str name;
	uint64_t id;
	bool ok = true, is_new;
	ss_u64map_free(&n->to);
	n->target.n = 0;
	n->same = true;
	while (ok && ss_pb_next(&c, &f)) {
		if (f.key != PB_LEN(n->field) || !name_entry(f.bytes, &id, &name))
			continue;
		uint64_t target = find_target(n, id, name, &is_new);
		ok = translate_to(n, id, target) && (!is_new || (add_name(n, target, name) && ss_vec_push(fresh, id)));
	}
	m->no_memory |= !ok;
	return ok;
}

/* They may refer to each other, and to names of the other kind: all ids are known by now. */
static void put_names(struct merge *m, struct names *n, struct ss_str body, const struct ids *fresh)
{
	struct ss_pb c = ss_pb_lenient(body);
	struct ss_pb_field f;
	struct ss_str message;
	uint64_t id;
	for (size_t i = 0; i < fresh->n && ss_pb_next(&c, &f);)
		if (f.key == PB_LEN(n->field) && ss_pb_map_entry(f.bytes, &id, &message) && id == fresh->v[i]) {
			put_name(m, n, message, translated(m, n, id));
			i++;
		}
}

/* ---- lines ---- */

/* As it is, with the ids of the plane, and `later_ps` later. */
static void put_event(struct merge *m, struct ss_buf *to, struct ss_str event, bool translate, uint64_t later_ps)
{
	struct ss_pb c = ss_pb_of(event);
	struct ss_pb_field f;
	const uint8_t *at = c.at;
	bool timed = false;
	m->event.n = 0;
	for (; ss_pb_next(&c, &f); at = c.at) {
		timed |= f.key == PB_VAR(XEVENT_OFFSET_PS) || f.key == PB_VAR(XEVENT_NUM_OCCURRENCES);
		if (translate && f.key == PB_VAR(XEVENT_METADATA_ID))
			ss_pbo_uint(&m->event, XEVENT_METADATA_ID, translated(m, &m->events, f.u));
		else if (translate && f.key == PB_LEN(XEVENT_STATS))
			put_stat(m, &m->event, XEVENT_STATS, f.bytes);
		else if (f.key == PB_VAR(XEVENT_OFFSET_PS))
			ss_pbo_uint(&m->event, XEVENT_OFFSET_PS, f.u + later_ps);
		else
			ss_buf_str(&m->event, bytes_from(at, c.at));
	}
	if (!timed && later_ps)
		ss_pbo_uint(&m->event, XEVENT_OFFSET_PS, later_ps);
	ss_pbo_bytes(to, XLINE_EVENTS, ss_buf_get(&m->event));
}

/* The events of a line; one that the file ends in is left out. */
static void put_events(struct merge *m, struct ss_buf *to, struct ss_str line, bool translate, uint64_t later_ps)
{
	struct ss_pb c = ss_pb_lenient(line);
	struct ss_pb_field f;
	const uint8_t *at = c.at;
	for (; ss_pb_next(&c, &f) && !c.cut; at = c.at) {
		if (f.key != PB_LEN(XLINE_EVENTS))
			continue;
		if (translate || later_ps)
			put_event(m, to, f.bytes, translate, later_ps);
		else
			ss_buf_str(to, bytes_from(at, c.at));
	}
}

struct line_head {
	uint64_t id;
	int64_t timestamp_ns;
	uint64_t duration_ps;
};

static struct line_head head_of(struct ss_str body)
{
	struct line_head h = { 0 };
	struct ss_pb c = ss_pb_lenient(body);
	struct ss_pb_field f;
	while (ss_pb_next(&c, &f)) {
		if (f.key == PB_VAR(XLINE_ID))
			h.id = f.u;
		else if (f.key == PB_VAR(XLINE_TIMESTAMP_NS))
			h.timestamp_ns = (int64_t)f.u;
		else if (f.key == PB_VAR(XLINE_DURATION_PS))
			h.duration_ps = f.u;
	}
	return h;
}

/*
 * What stands in a line beside its events; `times`: also what says when it began, and how long it
 * took.
 */
static void put_head(struct ss_buf *to, struct ss_str line, bool times)
{
	struct ss_pb c = ss_pb_lenient(line);
	struct ss_pb_field f;
	const uint8_t *at = c.at;
	for (; ss_pb_next(&c, &f) && !c.cut; at = c.at)
		if (f.key != PB_LEN(XLINE_EVENTS) &&
		    (times || (f.key != PB_VAR(XLINE_TIMESTAMP_NS) && f.key != PB_VAR(XLINE_DURATION_PS))))
			ss_buf_str(to, bytes_from(at, c.at));
}

/* A line of a part. Those of a later part join the lines of the plane that have their ids. */
static bool add_line(struct merge *m, struct ss_str body, bool later)
{
	uint64_t id = head_of(body).id;
	uint32_t n = (uint32_t)m->lines.n, known = ss_u64map_get(&m->line_by_id, id);
	struct line l = { .body = body, .next = SS_NONE, .last = n, .joined = known != SS_NONE && later };
	if (!(m->events.same && m->stats.same)) {
		l.begin = m->translated.n;
		put_head(&m->translated, body, true);
		put_events(m, &m->translated, body, true, 0);
		l.body = (struct ss_str){ NULL, m->translated.n - l.begin };
	}
	if (!ss_vec_push(&m->lines, l))
		return false;
	if (l.joined) {
		m->lines.v[m->lines.v[known].last].next = n;
		m->lines.v[known].last = n;
	}
	return known != SS_NONE || ss_u64map_put(&m->line_by_id, id, n);
}

static struct ss_str body_of(const struct merge *m, const struct line *l)
{
	return l->body.p ? l->body : ss_str_sub(ss_buf_get(&m->translated), l->begin, l->begin + l->body.n);
}

static const struct line *next_part(const struct merge *m, const struct line *l)
{
	return l->next == SS_NONE ? NULL : &m->lines.v[l->next];
}

/* A line and its further parts: it begins where the first of them does. */
static void put_line(struct merge *m, const struct line *first)
{
	struct line_head h = head_of(body_of(m, first));
	int64_t begin_ns = h.timestamp_ns;
	uint64_t duration_ps = 0;
	bool differ = false;
	for (const struct line *l = first; l; l = next_part(m, l)) {
		int64_t t = head_of(body_of(m, l)).timestamp_ns;
		differ |= t != begin_ns;
		begin_ns = t < begin_ns ? t : begin_ns;
	}
	for (const struct line *l = first; l; l = next_part(m, l)) {
		h = head_of(body_of(m, l));
		uint64_t end_ps = ((uint64_t)h.timestamp_ns - (uint64_t)begin_ns) * 1000 + h.duration_ps;
		duration_ps = h.duration_ps && end_ps > duration_ps ? end_ps : duration_ps;
	}
	m->line.n = 0;
	put_head(&m->line, body_of(m, first), !differ && first->next == SS_NONE);
	if (differ || first->next != SS_NONE) {
		ss_pbo_uint(&m->line, XLINE_TIMESTAMP_NS, (uint64_t)begin_ns);
		if (duration_ps)
			ss_pbo_uint(&m->line, XLINE_DURATION_PS, duration_ps);
	}
	for (const struct line *l = first; l; l = next_part(m, l)) {
		struct ss_str body = body_of(m, l);
		put_events(m, &m->line, body, false, ((uint64_t)head_of(body).timestamp_ns - (uint64_t)begin_ns) * 1000);
	}
	ss_pbo_bytes(&m->plane, XPLANE_LINES, ss_buf_get(&m->line));
}

/* ---- planes ---- */

/* A stat of the plane itself: the last part that has it is right. */
static bool take_plane_stat(struct merge *m, struct ss_str stat)
{
	struct ss_pb c = ss_pb_of(stat);
	struct ss_pb_field f;
	uint64_t id = 0;
	while (ss_pb_next(&c, &f))
		if (f.key == PB_VAR(XSTAT_METADATA_ID))
			id = translated(m, &m->stats, f.u);
	size_t begin = m->stat_texts.n;
	put_stat(m, &m->stat_texts, XPLANE_STATS, stat);
	struct piece p = { begin, m->stat_texts.n };
	uint32_t known = ss_u64map_get(&m->stat_by_id, id);
	if (known != SS_NONE) {
		m->plane_stats.v[known] = p;
		return true;
	}
	return ss_vec_push(&m->plane_stats, p) && ss_u64map_put(&m->stat_by_id, id, (uint32_t)m->plane_stats.n - 1);
}

/* Lines and stats of a part of the plane; of its first one also all that is neither. */
static bool add_part_of_plane(struct merge *m, struct ss_str body, bool later)
{
	struct ss_pb c = ss_pb_lenient(body);
	struct ss_pb_field f;
	const uint8_t *at = c.at;
	bool ok = true;
	for (; ok && ss_pb_next(&c, &f); at = c.at) {
		if (f.key == PB_LEN(XPLANE_LINES))
			ok = add_line(m, f.bytes, later);
		else if (c.cut)
			break;
		else if (f.key == PB_LEN(XPLANE_STATS))
			ok = take_plane_stat(m, f.bytes);
		else if (!later)
			ss_buf_str(&m->plane, bytes_from(at, c.at));
	}
	m->no_memory |= !ok;
	return ok;
}

static bool join_part(struct merge *m, struct ss_str body)
{
	struct ids events = { 0 }, stats = { 0 };
	bool ok = take_names(m, &m->stats, body, &stats) && take_names(m, &m->events, body, &events);
	if (ok) {
		put_names(m, &m->stats, body, &stats);
		put_names(m, &m->events, body, &events);
		ok = add_part_of_plane(m, body, true);
	}
	ss_vec_free(&events);
	ss_vec_free(&stats);
	return ok;
}

static void forget_names(struct names *n)
{
	ss_strmap_free(&n->by_name);
	ss_vec_free(&n->ids);
	ss_u64map_free(&n->several);
	ss_u64map_free(&n->used);
	ss_u64map_free(&n->to);
	ss_vec_free(&n->target);
	*n = (struct names){ .field = n->field, .same = true };
}

static void forget_plane(struct merge *m)
{
	forget_names(&m->events);
	forget_names(&m->stats);
	ss_u64map_free(&m->line_by_id);
	ss_u64map_free(&m->stat_by_id);
	m->lines.n = m->plane_stats.n = 0;
	m->plane.n = m->translated.n = m->stat_texts.n = 0;
}

static bool join_plane(struct merge *m, const struct entry *e)
{
	forget_plane(m);
	if (!names_of_first(m, &m->events, e->body) || !names_of_first(m, &m->stats, e->body) ||
	    !add_part_of_plane(m, e->body, false))
		return false;
	for (uint32_t i = e->first_part; i != SS_NONE; i = m->parts.v[i].next)
		if (!join_part(m, m->parts.v[i].body))
			return false;
	for (size_t i = 0; i < m->plane_stats.n; i++)
		ss_buf_str(&m->plane, ss_str_sub(ss_buf_get(&m->stat_texts), m->plane_stats.v[i].begin, m->plane_stats.v[i].end));
	for (size_t i = 0; i < m->lines.n; i++)
		if (!m->lines.v[i].joined)
			put_line(m, &m->lines.v[i]);
	ss_pbo_bytes(&m->out, XSPACE_PLANES, ss_buf_get(&m->plane));
	return !m->no_memory;
}

static bool join(struct merge *m)
{
	bool ok = true;
	for (size_t i = 0; ok && i < m->entries.n; i++)
		if (m->entries.v[i].first_part == SS_NONE)
			ss_buf_str(&m->out, m->entries.v[i].field);
		else
			ok = join_plane(m, &m->entries.v[i]);
	return ok;
}

bool ss_space_merge(struct ss_buf *space, size_t first_end, bool *over, struct ss_err *err)
{
	struct merge m = { .in = space, .events = { .field = XPLANE_EVENT_METADATA }, .stats = { .field = XPLANE_STAT_METADATA } };
	struct ss_buf *const bufs[] = { &m.out,	 &m.plane, &m.translated, &m.stat_texts, &m.stat,
					&m.event, &m.line,  &m.name,	      &m.map_entry };
	bool any = false, ok = find_planes(&m, first_end, &any), full = false;
	for (size_t i = 0; i < SS_COUNT(bufs); i++)
		bufs[i]->hold = space->hold;
	if (ok && any)
		ok = join(&m);
	for (size_t i = 0; i < SS_COUNT(bufs); i++) {
		ok &= !bufs[i]->no_memory;
		full |= bufs[i]->over;
	}
	*over |= full;
	if (ok && any && !full) {
		struct ss_buf whole = m.out;
		m.out = *space;
		*space = whole;
	}
	forget_plane(&m);
	for (size_t i = 0; i < SS_COUNT(bufs); i++)
		ss_buf_free(bufs[i]);
	ss_vec_free(&m.entries);
	ss_vec_free(&m.parts);
	ss_vec_free(&m.lines);
	ss_vec_free(&m.plane_stats);
	return ok || ss_fail_mem(err);
}
