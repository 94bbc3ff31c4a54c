/* trace_args.c - what stands behind an event on the timeline: its step group and its arguments. */
#include "base/bisect.h"
#include "model/host/host.h"
#include "model/timeline/trace.h"
#include "xspace/fields.h"

/* File pages that a walk leaves behind are given back in pieces of this size. */
#define FORGET_STRIDE ((ptrdiff_t)4 << 20)

/* Stats that only programs need. */
static bool is_internal(enum ss_stat stat)
{
	switch (stat) {
	case SS_STAT_PRODUCER_TYPE:
	case SS_STAT_PRODUCER_ID:
	case SS_STAT_CONSUMER_TYPE:
	case SS_STAT_CONSUMER_ID:
	case SS_STAT_ROOT_LEVEL:
	case SS_STAT_FLOPS:
	case SS_STAT_PROGRAM_ID:
	case SS_STAT_SYMBOL_ID:
		return true;
	default:
		return false;
	}
}

/* The receiver of an event's arguments, and the selection of arguments. */
struct visitor {
	ss_arg_fn *fn;
	void *arg;
	bool raw;
};

/* Flows, groups and the mark of asynchronous events are shown in other ways, bytes not at all. */
static bool is_wanted(const struct visitor *v, const struct ss_xstat *s)
{
	if (s->kind == SS_X_NONE || is_internal(s->stat))
		return false;
	return v->raw || (s->kind != SS_X_BYTES && s->stat != SS_STAT_FLOW && s->stat != SS_STAT_GROUP_ID &&
			  s->stat != SS_STAT_IS_ASYNC);
}

static bool visit(const struct ss_plane *p, struct ss_xstats it, const struct visitor *v)
{
	struct ss_xstat s;
	while (ss_xstats_next(&it, &s))
		if (s.meta != SS_NONE && is_wanted(v, &s) && !v->fn(v->arg, p->x->stat_meta[s.meta].name, &s))
			return false;
	return true;
}

/* Added stats are by event ascending. */
static bool visit_added(const struct ss_added_stats *all, uint32_t event, const struct visitor *v)
{
	size_t lo = 0, hi = all->n;
	SS_BISECT(lo, hi, mid, all->v[mid].event < event);
	for (; lo < all->n && all->v[lo].event == event; lo++) {
		const struct ss_added_stat *a = &all->v[lo];
		struct ss_xstat s = { .stat = a->stat, .kind = a->kind, .meta = SS_NONE, .u = a->u, .s = a->s };
		if (is_wanted(v, &s) && !v->fn(v->arg, ss_stat_name(a->stat), &s))
			return false;
	}
	return true;
}

static bool visit_number(enum ss_stat stat, int64_t value, const struct visitor *v)
{
	struct ss_xstat s = { .stat = stat, .kind = SS_X_INT, .meta = SS_NONE, .u = (uint64_t)value };
	return value < 0 || v->fn(v->arg, ss_stat_name(stat), &s);
}

/* Columns that stand for stats: is_eager, and group_id where groups were made here. */
static bool visit_columns(const struct ss_display_line *l, uint32_t event, size_t *run, const struct visitor *v)
{
	int64_t eager = l->line && l->line->eager ? l->line->eager[event] : -1;
	int64_t group = v->raw && ss_display_has_groups(l) ? ss_display_group_at(l, event, run) : SS_NO_GROUP;
	return visit_number(SS_STAT_IS_EAGER, eager, v) && visit_number(SS_STAT_GROUP_ID, group, v);
}

static bool visit_meta(const struct ss_plane *p, uint32_t meta, const struct visitor *v)
{
	struct ss_xstat s = { .stat = SS_STAT_LONG_NAME, .kind = SS_X_STR, .meta = SS_NONE };
	s.s = ss_event_name(p, meta);
	if (ss_event_display_name(p, meta).n && !v->fn(v->arg, SS_STR("long_name"), &s))
		return false;
	return meta >= p->x->nevent_meta || visit(p, ss_xevent_meta_stats(p->x, meta), v);
}

static bool visit_own(const struct ss_track *t, uint32_t pos, size_t *run, const struct visitor *v)
{
	const struct ss_display_line *l = t->line;
	uint32_t event = ss_track_event(t, pos);
	return (!l->line || visit(t->plane, ss_line_stats(t->plane, l->line, event), v)) && visit_columns(l, event, run, v) &&
	       visit_added(l->line ? &l->line->added : &l->added, event, v);
}

bool ss_track_args(const struct ss_track *t, uint32_t pos, ss_arg_fn *fn, void *arg)
{
	const struct visitor v = { fn, arg, false };
	size_t run = SIZE_MAX;
	return visit_meta(t->plane, ss_display_meta(t->line, ss_track_event(t, pos)), &v) && visit_own(t, pos, &run, &v);
}

bool ss_plane_raw_args(const struct ss_plane *p, uint32_t meta, ss_arg_fn *fn, void *arg)
{
	return visit_meta(p, meta, &(struct visitor){ fn, arg, true });
}

bool ss_track_raw_args(const struct ss_track *t, uint32_t pos, size_t *run, ss_arg_fn *fn, void *arg)
{
	return visit_own(t, pos, run, &(struct visitor){ fn, arg, true });
}

struct first {
	struct ss_str name;
	struct ss_xstat value;
	bool any;
};

static bool take_first(void *arg, struct ss_str name, const struct ss_xstat *value)
{
	if (value->kind == SS_X_STR)
		return true;
	*(struct first *)arg = (struct first){ name, *value, true };
	return false;
}

bool ss_track_value(const struct ss_track *t, uint32_t pos, struct ss_str *name, struct ss_xstat *value)
{
	struct first f = { .any = false };
	ss_track_args(t, pos, take_first, &f);
	*name = f.name;
	*value = f.value;
	return f.any;
}

/* Id of the plane's stat group_id; false when no or several entries have that name. */
static bool group_stat_id(const struct ss_xplane *x, uint64_t *id)
{
	unsigned n = 0;
	for (uint32_t i = 0; i < x->nstat_meta; i++)
		if (x->stat_meta[i].stat == SS_STAT_GROUP_ID) {
			*id = (uint64_t)x->stat_meta[i].id;
			n++;
		}
	return n == 1;
}

/* As ss_event_group, but decodes no stat other than the one looked for: writers put the id first. */
static int64_t group_in(const struct ss_xplane *x, struct ss_str body, uint64_t wanted)
{
	struct ss_pb c = ss_pb_of(body);
	struct ss_pb_field f;
	struct ss_xstat s;
	while (ss_pb_next(&c, &f)) {
		if (f.key != PB_LEN(XEVENT_STATS) || f.bytes.n < 2)
			continue;
		const uint8_t *p = (const uint8_t *)f.bytes.p;
		uint64_t id = wanted;
		if (*p++ == PB_VAR(XSTAT_METADATA_ID) && ss_pb_varint(&p, c.at, &id) && id != wanted)
			continue;
		if (ss_xstat_parse(x, f.bytes, &s) && s.stat == SS_STAT_GROUP_ID)
			return ss_xstat_int_or_uint(&s);
	}
	return SS_NO_GROUP;
}

void ss_track_groups(const struct ss_trace *tr, const struct ss_track *t, const uint32_t *pos, size_t n, int64_t *group)
{
	const struct ss_line *l = t->line->line;
	const struct ss_xplane *x = t->plane->x;
	uint64_t id = 0;
	bool here = ss_display_has_groups(t->line), in_file = !here && l->ev.off && ss_xplane_has(x, SS_STAT_GROUP_ID);
	bool fast = in_file && group_stat_id(x, &id);
	const char *kept = NULL;
	size_t run = 0;
	for (size_t i = 0; i < n; i++) {
		uint32_t event = ss_track_event(t, pos[i]);
		if (!fast) {
			group[i] = here ? ss_display_group_at(t->line, event, &run) :
				   in_file ? ss_event_group_at(t->plane, l, event, &run) : SS_NO_GROUP;
			continue;
		}
		struct ss_str body = ss_xevents_body(&l->ev, l->src, event);
		group[i] = group_in(x, body, id);
		if (body.n == 0)
			continue;
		if (!kept || body.p < kept)
			kept = body.p;
		if (body.p - kept >= FORGET_STRIDE || i + 1 == n) {
			ss_file_forget(&tr->host->x.file, (struct ss_str){ kept, (size_t)(body.p - kept) });
			kept = body.p;
		}
	}
}
