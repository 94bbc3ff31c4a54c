/*
 * derive_offload.c - copies between device and host memory, from their start to their end.
 *
 * The device records two instants, "copy-start.3" and "copy-done.3". They are paired first in,
 * first out, and laid out on as few rows as hold them without overlap.
 */
#include "model/preprocess/added.h"
#include "model/host/derived_line.h"

#include "model/timeline/derived.h"
#include "model/preprocess/preprocess.h"

#include <stdlib.h>

#define MAX_ROWS 41u	/* as many line ids are set aside */

/* The facts in a metadata's name. */
struct role {
	uint32_t pair;		/* kind and number: index into metas; SS_NONE: no such op */
	bool done;
};

struct copy {
	int64_t begin_ps, end_ps;
	uint32_t pair, start_meta;
};

struct waiting {
	uint32_t first, last;
};

struct start {
	int64_t begin_ps;
	uint32_t meta, next;
};

struct ss_offload {
	struct ss_deriver *d;
	struct ss_display_plane *out;
	struct role *roles;	/* per metadata */
	struct ss_strmap pairs;	/* "offload-copy.3" */
	SS_VEC(uint32_t) metas;	/* the full name stays empty, this is the display name; per pair */
	/* Per pair, the events of starts that wait for their end: a list through next, oldest first. */
	SS_VEC(struct waiting) waiting;
	SS_VEC(struct start) starts;
	SS_VEC(struct copy) copies;
};

/* "copy-start.12" is kind "copy", number "12". False: it is neither a start nor an end. */
static bool parse(struct ss_str name, struct ss_str *kind, struct ss_str *number, bool *done)
{
	static const struct ss_str ends[2] = { SS_STR_INIT("-start"), SS_STR_INIT("-done") };
	struct ss_str base = name;
	size_t dot = ss_str_rchr(name, '.');
	uint64_t n;
	*number = SS_STR("0");
	if (dot != SS_NPOS && ss_str_to_u64(ss_str_sub(name, dot + 1, name.n), &n)) {
		*number = ss_str_sub(name, dot + 1, name.n);
		base = ss_str_sub(name, 0, dot);
	}
	for (int i = 0; i < 2; i++)
		if (base.n > ends[i].n && ss_str_ends(base, ends[i])) {
			*kind = ss_str_sub(base, 0, base.n - ends[i].n);
			*done = i == 1;
			return true;
		}
	return false;
}

static bool find_role(struct ss_offload *o, uint32_t meta)
{
	const struct ss_xevent_meta *m = &o->d->p->x->event_meta[meta];
	struct role *role = &o->roles[meta];
	struct ss_str kind, number;
	*role = (struct role){ .pair = SS_NONE };
	/* S(5) is the memory space of the host. */
	if (!parse(m->display_name, &kind, &number, &role->done) || !ss_str_contains(m->name, SS_STR("S(5)")))
		return true;
	struct ss_str name = ss_arena_printf(o->d->arena, "offload-" SS_FMT "." SS_FMT, SS_ARG(kind), SS_ARG(number));
	if (!name.p)
		return false;
	role->pair = ss_strmap_add(&o->pairs, name);
	if (role->pair == SS_NONE)
		return false;
	if (role->pair < o->metas.n)
		return true;
	uint32_t made = ss_plane_add_synthetic_name(o->d->arena, o->d->p, SS_STR(""), name);
	return made != SS_NONE && ss_vec_push(&o->metas, made) &&
	       ss_vec_push(&o->waiting, (struct waiting){ SS_NONE, SS_NONE });
}

static bool on_start(struct ss_offload *o, struct waiting *w, const struct ss_line *l, uint32_t i)
{
	uint32_t at = (uint32_t)o->starts.n;
	if (!ss_vec_push(&o->starts, (struct start){ l->ev.begin_ps[i], l->ev.meta[i], SS_NONE }))
		return false;
	if (w->first == SS_NONE)
		w->first = at;
	else
		o->starts.v[w->last].next = at;
	w->last = at;
	return true;
}

static bool on_done(struct ss_offload *o, uint32_t pair, const struct ss_line *l, uint32_t i)
{
	struct waiting *w = &o->waiting.v[pair];
	if (w->first == SS_NONE)
		return true;
	const struct start *start = &o->starts.v[w->first];
	w->first = start->next;
	return ss_vec_push(&o->copies, (struct copy){ .begin_ps = start->begin_ps, .end_ps = ss_xevents_end_ps(&l->ev, i),
						     .pair = pair, .start_meta = start->meta });
}

bool ss_offload_concerns(const struct ss_offload *o, uint32_t meta)
{
	return meta < o->d->p->x->nevent_meta && o->roles[meta].pair != SS_NONE;
}

bool ss_offload_event(struct ss_offload *o, const struct ss_line *l, uint32_t i)
{
	uint32_t meta = l->ev.meta[i];
	if (!ss_offload_concerns(o, meta))
		return true;
	const struct role *role = &o->roles[meta];
	return role->done ? on_done(o, role->pair, l, i) : on_start(o, &o->waiting.v[role->pair], l, i);
}

struct rows {
	struct ss_derived lines[MAX_ROWS];
	struct row_stats {
		SS_VEC(uint32_t) start_metas;	/* by event of the row */
	} stats[MAX_ROWS];
	int64_t end_ps[MAX_ROWS];
	uint32_t n;
};

/* The row that has been free for longest, if it is free; else a new one; when there are too many the last, as in XProf. */
static uint32_t choose_row(struct rows *r, int64_t begin_ps)
{
	uint32_t best = SS_NONE;
	for (uint32_t i = 0; i < r->n; i++)
		if (best == SS_NONE || r->end_ps[i] <= r->end_ps[best])
			best = i;
	if (best != SS_NONE && r->end_ps[best] <= begin_ps)
		return best;
	return r->n < MAX_ROWS ? r->n++ : MAX_ROWS - 1;
}

static bool place(struct ss_offload *o, struct rows *r, const struct copy *c)
{
	uint32_t row = choose_row(r, c->begin_ps);
	struct ss_derived *line = &r->lines[row];
	if (!line->name.p) {
		line->id = SS_DERIVED_HOST_OFFLOAD + row;
		line->name = ss_arena_printf(o->d->arena, "Host Offload Ops row %u", row);
		ss_nest_init(&line->nest, false, o->copies.n);
		if (!line->name.p)
			return false;
	}
	struct ss_nest_item item = { .metas = &o->metas.v[c->pair], .nmetas = 1, .begin_ps = c->begin_ps,
				     .end_ps = c->end_ps, .group = SS_NO_GROUP };
	r->end_ps[row] = c->end_ps;
	return ss_nest_close(&line->nest) && ss_nest_add(&line->nest, &item) &&
	       ss_vec_push(&r->stats[row].start_metas, c->start_meta);
}

/* What the start says of its size and shape stands with the copy as well. */
static bool copy_stats(struct ss_offload *o, struct rows *r, uint32_t first_line)
{
	struct ss_added added = { 0 };
	bool ok = true;
	for (uint32_t row = 0; ok && row < r->n; row++) {
		struct ss_added_stats *to = &o->out->lines[first_line + row].added;
		for (uint32_t i = 0; ok && i < r->stats[row].start_metas.n; i++) {
			struct ss_xstats it = ss_xevent_meta_stats(o->d->p->x, r->stats[row].start_metas.v[i]);
			struct ss_xstat s;
			while (ok && ss_xstats_next(&it, &s)) {
				if (s.stat == SS_STAT_RAW_BYTES_ACCESSED)
					ok = ss_added_int(&added, to, i, s.stat, ss_xstat_int_or_uint(&s));
				else if (s.stat == SS_STAT_SHAPE_WITH_LAYOUT)
					ok = ss_added_str(&added, to, i, s.stat, ss_xstat_str(&s));
			}
		}
	}
	ok = ok && ss_added_deliver(&added);
	ss_added_free(&added);
	return ok;
}

static bool lay_out(struct ss_offload *o)
{
	struct rows *r = calloc(1, sizeof(*r));
	bool ok = r;
	for (size_t i = 0; ok && i < o->copies.n; i++)
		ok = place(o, r, &o->copies.v[i]);
	uint32_t first = o->out->nlines;
	ok = ok && ss_display_add_lines(o->out, o->d->arena, r->lines, r->n) && copy_stats(o, r, first);
	for (uint32_t i = 0; r && i < r->n; i++) {
		ss_nest_free(&r->lines[i].nest);
		ss_vec_free(&r->stats[i].start_metas);
	}
	free(r);
	return ok;
}

struct ss_offload *ss_offload_new(struct ss_deriver *d, struct ss_display_plane *p)
{
	uint32_t n = d->p->x->nevent_meta;
	struct ss_offload *o = calloc(1, sizeof(*o));
	if (!o)
		return NULL;
	o->d = d;
	o->out = p;
	o->roles = malloc(((size_t)n + 1) * sizeof(*o->roles));
	bool ok = o->roles;
	for (uint32_t i = 0; ok && i < n; i++)
		ok = find_role(o, i);
	if (ok)
		return o;
	ss_offload_free(o);
	return NULL;
}

bool ss_offload_finish(struct ss_offload *o)
{
	return !o->copies.n || lay_out(o);
}

void ss_offload_free(struct ss_offload *o)
{
	if (!o)
		return;
	free(o->roles);
	ss_strmap_free(&o->pairs);
	ss_vec_free(&o->metas);
	ss_vec_free(&o->waiting);
	ss_vec_free(&o->starts);
	ss_vec_free(&o->copies);
	free(o);
}
