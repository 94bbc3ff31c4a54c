/* timeline_build.c - the one place where hits of the index become slices. */
#include "tools/timeline_build.h"

#include "model/host/host.h"

#include <stdlib.h>

#define LONG_NAME_BYTES 10000u
#define FEW_EVENTS 16u

/* An array in an arena that may grow: by copying its `used` elements, since arenas only give. */
static bool arena_grow(struct ss_arena *a, void **v, size_t *cap, size_t used, size_t need, size_t size)
{
	if (need <= *cap)
		return true;
	size_t n = *cap * 2 > need ? *cap * 2 : need;
	void *p = n > SIZE_MAX / 2 / size ? NULL : ss_arena_alloc(a, n * size);
	if (!p)
		return false;
	if (used)
		memcpy(p, *v, used * size);
	*v = p;
	*cap = n;
	return true;
}

static void add_section(struct ss_timeline_build *b, size_t h, const struct ss_trace_section *from)
{
	static const enum ss_tl_section_kind kinds[] = {
		[SS_TRACE_DEVICE] = SS_TL_DEVICE, [SS_TRACE_HOST] = SS_TL_HOST, [SS_TRACE_CUSTOM] = SS_TL_CUSTOM,
	};
	struct ss_timeline *tl = b->tl;
	struct ss_tl_section *s = &tl->sections[tl->nsections++];
	*s = (struct ss_tl_section){
		/* The hosts of a request are told apart by thousands. */
		.pid = from->device + 1000 * (uint32_t)(h + 1), .kind = kinds[from->kind],
		.first_track = b->mt->first_track[h] + from->first_track, .ntracks = from->ntracks,
		.nthreads = from->nthreads,
	};
	s->sort_index = s->pid;
	s->name = ss_arena_printf(b->arena, SS_FMT " " SS_FMT, SS_ARG(b->mt->hosts[h]->host->name),
				  SS_ARG(from->plane->base.name));
}

static void add_track(struct ss_timeline_build *b, uint32_t section, const struct ss_track *from)
{
	static const enum ss_tl_track_kind kinds[] = {
		[SS_TRACE_SLICES] = SS_TL_SLICES, [SS_TRACE_COUNTER] = SS_TL_COUNTER, [SS_TRACE_ASYNC] = SS_TL_ASYNC,
	};
	struct ss_timeline *tl = b->tl;
	tl->tracks[tl->ntracks++] = (struct ss_tl_track){
		.section = section, .tid = from->tid, .name = from->name, .kind = kinds[from->kind],
		.rows = from->nrows, .nevents = from->nshown,
	};
}

static bool add_layout(struct ss_timeline_build *b)
{
	struct ss_timeline *tl = b->tl;
	size_t nsections = 0, ntracks = 0;
	for (size_t h = 0; h < b->mt->nhosts; h++) {
		nsections += b->mt->hosts[h]->nsections;
		ntracks += b->mt->hosts[h]->ntracks;
	}
	tl->sections = SS_NEW_N(b->arena, struct ss_tl_section, nsections);
	tl->tracks = SS_NEW_N(b->arena, struct ss_tl_track, ntracks);
	if (!tl->sections || !tl->tracks)
		return false;
	for (size_t h = 0; h < b->mt->nhosts; h++) {
		const struct ss_trace *tr = b->mt->hosts[h];
		uint32_t first = (uint32_t)tl->nsections;
		for (uint32_t i = 0; i < tr->nsections; i++) {
			add_section(b, h, &tr->sections[i]);
			if (!tl->sections[tl->nsections - 1].name.p)
				return false;
		}
		for (uint32_t i = 0; i < tr->ntracks; i++)
			add_track(b, first + tr->tracks[i].section, &tr->tracks[i]);
		tl->has_full_dma |= tr->any_tensor_core;
		tl->ndropped += tr->host->ndropped;
	}
	return true;
}

bool ss_timeline_begin(struct ss_timeline_build *b, struct ss_model *m, unsigned fill, struct ss_arena *arena,
		       struct ss_err *err)
{
	*b = (struct ss_timeline_build){ .m = m, .arena = arena, .fill = fill };
	b->mt = ss_model_trace(m, err);
	if (!b->mt)
		return false;
	b->tl = SS_NEW(arena, struct ss_timeline);
	if (!b->tl || !add_layout(b))
		return ss_fail_mem(err);
	b->tl->begin_ps = b->mt->begin_ps;
	b->tl->end_ps = b->mt->end_ps;
	b->tl->nevents = b->mt->nshown;
	b->tl->with_args = fill & SS_TL_ARGS;
	return true;
}

bool ss_timeline_reserve(struct ss_timeline_build *b, size_t nslices, struct ss_err *err)
{
	struct ss_timeline *tl = b->tl;
	if (nslices > UINT32_MAX - 1)
		return ss_fail(err, SS_EINVAL, "%zu events are too many for one answer", nslices);
	tl->slices = ss_arena_alloc(b->arena, (nslices + 1) * sizeof(*tl->slices));
	tl->slice_args = NULL;
	b->slice_cap = nslices;
	return tl->slices || ss_fail_mem(err);
}

/* ---- names ---- */

/* SS_NONE when memory is out. */
static uint32_t number_name(struct ss_timeline_build *b, struct ss_str name)
{
	if (b->fill & SS_TL_EACH_NAME_ONCE) {
		uint32_t k = ss_strmap_add(&b->once, name);
		if (k != b->names.n)
			return k;
	}
	return ss_vec_push(&b->names, name) ? (uint32_t)(b->names.n - 1) : SS_NONE;
}

static bool name_of(struct ss_timeline_build *b, const struct ss_track *t, uint32_t pos, uint32_t *out)
{
	uint32_t *slot = ss_name_slot(&b->slots, t, pos);
	*out = slot && *slot != SS_NONE ? *slot : number_name(b, ss_track_event_name(t, pos));
	if (slot)
		*slot = *out;
	return *out != SS_NONE;
}

/* ---- arguments ---- */

struct ss_tl_value ss_timeline_value(const struct ss_xstat *s)
{
	static const enum ss_tl_value_kind kinds[] = {
		[SS_X_NONE] = SS_TL_STR, [SS_X_DOUBLE] = SS_TL_DOUBLE, [SS_X_UINT] = SS_TL_UINT, [SS_X_INT] = SS_TL_INT,
		[SS_X_STR] = SS_TL_STR, [SS_X_BYTES] = SS_TL_STR,
	};
	struct ss_tl_value v = { .kind = kinds[s->kind], .u = s->u };
	if (v.kind == SS_TL_STR)
		v.s = s->s;
	return v;
}

static bool add_arg(void *arg, struct ss_str name, const struct ss_xstat *s)
{
	struct ss_timeline_build *b = arg;
	struct ss_timeline *tl = b->tl;
	struct ss_tl_arg a = { name, ss_timeline_value(s) };
	if (s->stat == SS_STAT_LONG_NAME && s->meta == SS_NONE && a.value.s.n > LONG_NAME_BYTES) {
		a.value.s = ss_arena_printf(b->arena, "%.*s...<truncated>", (int)LONG_NAME_BYTES, a.value.s.p);
		if (!a.value.s.p)
			return false;
	}
	if (!arena_grow(b->arena, (void **)&tl->args, &b->arg_cap, tl->nargs, tl->nargs + 1, sizeof(a)))
		return false;
	tl->args[tl->nargs++] = a;
	return true;
}

/* Arguments of the slice that was just added. */
static bool add_slice_args(struct ss_timeline_build *b, const struct ss_track *t, uint32_t pos)
{
	struct ss_timeline *tl = b->tl;
	if (!(b->fill & SS_TL_ARGS) && t->kind != SS_TRACE_COUNTER)
		return true;
	if (!tl->slice_args) {
		tl->slice_args = SS_NEW_N(b->arena, struct ss_tl_args, b->slice_cap);
		if (!tl->slice_args)
			return false;
	}
	struct ss_tl_args *own = &tl->slice_args[tl->nslices - 1];
	own->first = tl->nargs;
	bool ok = ss_track_args(t, pos, add_arg, b);
	own->n = tl->nargs - own->first;
	return ok;
}

/* ---- slices ---- */

static bool add_flow(struct ss_timeline_build *b, size_t h, const struct ss_track_flow *f, struct ss_tl_slice *s)
{
	struct ss_timeline *tl = b->tl;
	if (!arena_grow(b->arena, (void **)&tl->flows, &b->flow_cap, tl->nflows, tl->nflows + 1, sizeof(*tl->flows)))
		return false;
	s->flow = (uint32_t)tl->nflows;
	tl->flows[tl->nflows++] = (struct ss_tl_flow){ b->mt->first_flow[h] + f->flow, f->dir, f->category };
	return true;
}

static bool add_slice(struct ss_timeline_build *b, size_t h, uint32_t track, const struct ss_track *t, uint32_t pos)
{
	struct ss_timeline *tl = b->tl;
	struct ss_tl_slice *s = &tl->slices[tl->nslices++];
	uint32_t event = ss_track_event(t, pos), number = t->first + pos;
	*s = (struct ss_tl_slice){
		.begin_ps = ss_trace_shown(b->mt, h, (uint64_t)ss_display_begin_ps(t->line, event)),
		.dur_ps = ss_display_dur_ps(t->line, event), .group = -1, .event = b->mt->first_event[h] + number,
		.uid = number, .flow = SS_NONE, .row = ss_track_row(t, pos), .track = b->mt->first_track[h] + track,
	};
	if (!name_of(b, t, pos, &s->name))
		return false;
	if ((b->fill & SS_TL_FLOWS) && t->nflows) {
		const struct ss_track_flow *f = ss_track_flow(t, pos);
		if (f && !add_flow(b, h, f, s))
			return false;
	}
	return add_slice_args(b, t, pos);
}

static bool add_groups(struct ss_timeline_build *b, size_t h, const struct ss_track *t, const uint32_t *pos, size_t n)
{
	int64_t *group = malloc((n + 1) * sizeof(*group));
	if (!group)
		return false;
	ss_track_groups(b->mt->hosts[h], t, pos, n, group);
	for (size_t i = 0; i < n; i++)
		b->tl->slices[b->tl->nslices - n + i].group = group[i];
	free(group);
	return true;
}

bool ss_timeline_add(struct ss_timeline_build *b, size_t h, uint32_t track, const uint32_t *pos, size_t n,
		     struct ss_err *err)
{
	struct ss_timeline *tl = b->tl;
	const struct ss_track *t = &b->mt->hosts[h]->tracks[track];
	struct ss_tl_track *own = &tl->tracks[b->mt->first_track[h] + track];
	own->first = tl->nslices;
	own->count = n;
	if (n == 0)
		return true;
	/* A table for every name of the plane is not worth it for a few events. */
	if (n >= FEW_EVENTS && !ss_name_slots_use(&b->slots, t->plane))
		return ss_fail_mem(err);
	for (size_t i = 0; i < n; i++)
		if (!add_slice(b, h, track, t, pos[i]))
			return ss_fail_mem(err);
	if ((b->fill & SS_TL_GROUPS) && !add_groups(b, h, t, pos, n))
		return ss_fail_mem(err);
	return true;
}

bool ss_timeline_end(struct ss_timeline_build *b)
{
	bool ok = b->tl;
	if (ok) {
		b->tl->nnames = b->names.n;
		b->tl->names = SS_NEW_N(b->arena, struct ss_str, b->names.n);
		ok = b->tl->names;
		if (ok && b->names.n)
			memcpy(b->tl->names, b->names.v, b->names.n * sizeof(*b->names.v));
	}
	ss_vec_free(&b->names);
	ss_strmap_free(&b->once);
	free(b->slots.v);
	b->slots.v = NULL;
	return ok;
}
