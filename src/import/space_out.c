/* space_out.c - collecting planes, lines and events. */
#include "import/space_out.h"

#include "wire/pb.h"
#include "wire/pb_out.h"
#include "xspace/fields.h"
#include "xspace/xspace.h"

#include <stdlib.h>

/* Strings of at least this length, and categories, which few events do not share, are stored once per plane and referred to. */
#define SHARED_FROM 8

/* Held memory is counted in steps. */
#define HOLD_STEP ((uint64_t)1 << 20)
/*
 * What a map takes at its first key: of a file with many planes or lines, first elements take most
 * of the memory.
 */
#define MAP_BYTES (16 * sizeof(uint32_t) + SS_VEC_FIRST * sizeof(struct ss_str))

void ss_so_free(struct ss_space_out *o)
{
	ss_hold_give(o->hold, o->counted_bytes);
	for (size_t i = 0; i < o->planes.n; i++) {
		struct ss_so_plane *p = &o->planes.v[i];
		for (size_t k = 0; k < p->lines.n; k++) {
			ss_vec_free(&p->lines.v[k].events);
			ss_buf_free(&p->lines.v[k].stats);
			ss_vec_free(&p->lines.v[k].flows);
			ss_vec_free(&p->lines.v[k].open);
			ss_vec_free(&p->lines.v[k].ends);
			free(p->lines.v[k].ops);
		}
		ss_vec_free(&p->lines);
		ss_strmap_free(&p->line_keys);
		ss_strmap_free(&p->names);
		ss_strmap_free(&p->metas);
		ss_vec_free(&p->meta);
		ss_buf_free(&p->own);
	}
	ss_vec_free(&o->planes);
	ss_strmap_free(&o->plane_keys);
	ss_vec_free(&o->links);
	ss_vec_free(&o->about);
	ss_buf_free(&o->key);
	ss_arena_release(&o->arena);
	*o = (struct ss_space_out){ 0 };
}

/*
 * Does it hold all that it may? Once it does, nothing more is added: what is missing is missing
 * from one moment on.
 */
static bool is_full(struct ss_space_out *o)
{
	while (!o->full && o->held_bytes > o->counted_bytes) {
		o->full = !ss_hold_take(o->hold, HOLD_STEP);
		o->counted_bytes += o->full ? 0 : HOLD_STEP;
	}
	return o->full;
}

/* Index of `key` in the map, which keeps a copy of its own. */
static uint32_t intern(struct ss_space_out *o, struct ss_strmap *m, struct ss_str key)
{
	uint32_t i = ss_strmap_get(m, key);
	if (i != SS_NONE)
		return i;
	if (!m->n)
		o->held_bytes += MAP_BYTES;
	struct ss_str copy = ss_arena_str(&o->arena, key);
	i = copy.p ? ss_strmap_add(m, copy) : SS_NONE;
	o->no_memory |= i == SS_NONE;
	o->held_bytes += key.n + 48;
	return i;
}

/* Names and texts of stats: the same few come again and again, and are found without hashing them. */
static uint32_t intern_name(struct ss_space_out *o, struct ss_so_plane *p, struct ss_str name)
{
	if (!name.n)
		return intern(o, &p->names, name);
	size_t at = (name.n * 7 + (uint8_t)name.p[0] * 3 + (uint8_t)name.p[name.n / 2] * 5 + (uint8_t)name.p[name.n - 1]) %
		    SS_SO_RECENT;
	uint32_t known = p->recent[at];
	if (known && ss_str_eq(p->names.keys[known - 1], name))
		return known - 1;
	uint32_t id = intern(o, &p->names, name);
	if (id != SS_NONE)
		p->recent[at] = id + 1;
	return id;
}

/*
 * The index of `key`; beyond the bound on memory all keys that were not seen before share one,
 * where nothing is kept.
 */
static uint32_t place(struct ss_space_out *o, struct ss_strmap *keys, struct ss_str key)
{
	bool known = !is_full(o) || ss_strmap_get(keys, key) != SS_NONE;
	return intern(o, keys, known ? key : SS_STR(SS_SO_NOWHERE));
}

uint32_t ss_so_plane(struct ss_space_out *o, struct ss_str key)
{
	uint32_t i = place(o, &o->plane_keys, key);
	if (i == SS_NONE || i < o->planes.n)
		return i;
	struct ss_so_plane p = { .key = o->plane_keys.keys[i], .name = { "", 0 }, .id = i };
	o->held_bytes += sizeof(p);
	if (ss_vec_push(&o->planes, p))
		return i;
	o->no_memory = true;
	return SS_NONE;
}

uint32_t ss_so_line(struct ss_space_out *o, uint32_t plane, struct ss_str key)
{
	struct ss_so_plane *p = &o->planes.v[plane];
	uint32_t i = place(o, &p->line_keys, key);
	if (i == SS_NONE || i < p->lines.n)
		return i;
	struct ss_so_line line = { .name = { "", 0 }, .id = i };
	o->held_bytes += p->lines.n ? sizeof(line) : SS_VEC_FIRST * sizeof(line);
	if (ss_vec_push(&p->lines, line))
		return i;
	o->no_memory = true;
	return SS_NONE;
}

/* ---- stats ---- */

#define STAT_BYTES (4 + 3 * SS_VARINT_BYTES)

/* A stat whose name has the number `id`, where there is room for STAT_BYTES; behind what was written. */
static char *write_stat(struct ss_space_out *o, struct ss_so_plane *p, char *bytes, uint32_t field, uint32_t id,
			const struct ss_so_arg *a)
{
	/*
	 * Tag and length of one byte each, then the body: no value is longer than the two numbers.
	 */
	char *body = bytes + 2, *at = ss_pbo_put(body, (uint64_t)XSTAT_METADATA_ID << 3);
	at = ss_pbo_put(at, (uint64_t)id + 1);
	switch (a->kind) {
	case SS_SO_INT:
	case SS_SO_UINT:
		at = ss_pbo_put(at, (uint64_t)(a->kind == SS_SO_INT ? XSTAT_INT64_VALUE : XSTAT_UINT64_VALUE) << 3);
		at = ss_pbo_put(at, a->u);
		break;
	case SS_SO_DOUBLE:
		at = ss_pbo_put(at, (uint64_t)XSTAT_DOUBLE_VALUE << 3 | 1);
		for (unsigned i = 0; i < 64; i += 8)
			*at++ = (char)(a->u >> i);
		break;
	case SS_SO_STR:
		if (a->s.n < SHARED_FROM && !ss_str_is(a->name, "category")) {
			at = ss_pbo_put(at, (uint64_t)XSTAT_STR_VALUE << 3 | 2);
			*at++ = (char)a->s.n;
			memcpy(at, a->s.p, a->s.n);
			at += a->s.n;
			break;
		}
		at = ss_pbo_put(at, (uint64_t)XSTAT_REF_VALUE << 3);
		at = ss_pbo_put(at, (uint64_t)intern_name(o, p, a->s) + 1);
		break;
	}
	bytes[0] = (char)(field << 3 | 2);
	bytes[1] = (char)(at - body);
	return at;
}

static void put_stat(struct ss_space_out *o, struct ss_so_plane *p, struct ss_buf *to, uint32_t field, uint32_t id,
		     const struct ss_so_arg *a)
{
	char bytes[STAT_BYTES];
	ss_buf_str(to, (struct ss_str){ bytes, (size_t)(write_stat(o, p, bytes, field, id, a) - bytes) });
	o->no_memory |= to->no_memory;
}

/* Append a stat, as an event has it. */
static void put_stat_named(struct ss_space_out *o, struct ss_so_plane *p, struct ss_buf *to, const struct ss_so_arg *a)
{
	put_stat(o, p, to, XEVENT_STATS, intern_name(o, p, a->name), a);
}

/*
 * The stats of the event are what stands in those of its line from `from` on: none, where they are
 * too many.
 */
static void set_stats(struct ss_space_out *o, struct ss_so_line *l, struct ss_so_record *r, size_t from)
{
	if (from >= SS_SO_MOST_STATS || l->stats.n - from >= SS_SO_EVENT_STATS) {
		o->full = true;
		l->stats.n = from;
		from = 0;
		r->nstats = 0;
	} else {
		r->nstats = (l->stats.n - from) & (SS_SO_EVENT_STATS - 1);
	}
	r->stats = from & (SS_SO_MOST_STATS - 1);
}

void ss_so_plane_stat(struct ss_space_out *o, uint32_t plane, const struct ss_so_arg *a)
{
	struct ss_so_plane *p = &o->planes.v[plane];
	size_t before = p->own.n;
	put_stat(o, p, &p->own, XPLANE_STATS, intern_name(o, p, a->name), a);
	o->held_bytes += p->own.n - before;
}

/* Arguments that describe an operation and not one execution of it. */
static bool is_of_op(struct ss_str name)
{
	static const struct ss_str names[] = {
		SS_STR_INIT("hlo_category"),	  SS_STR_INIT("tf_op"),		   SS_STR_INIT("source"),
		SS_STR_INIT("source_stack"),	  SS_STR_INIT("flops"),		   SS_STR_INIT("model_flops"),
		SS_STR_INIT("bytes_accessed"),	  SS_STR_INIT("raw_bytes_accessed"), SS_STR_INIT("shape_with_layout"),
		SS_STR_INIT("deduplicated_name"), SS_STR_INIT("program_id"),	   SS_STR_INIT("symbol_id"),
	};
	for (size_t i = 0; i < SS_COUNT(names); i++)
		if (ss_str_eq(name, names[i]))
			return true;
	return false;
}

/*
 * Of PyTorch's events (they have a category): arguments that differ from one execution to the next.
 * What is none of them describes all executions alike (shapes, types, geometry) and is held once,
 * in the metadata of the event. Stats that have a meaning here are looked for in events.
 */
static bool is_of_execution(struct ss_str name)
{
	static const struct ss_str names[] = {
		SS_STR_INIT("External id"),	    SS_STR_INIT("Ev Idx"),	     SS_STR_INIT("Sequence number"),
		SS_STR_INIT("Record function id"),  SS_STR_INIT("Python id"),	     SS_STR_INIT("Python parent id"),
		SS_STR_INIT("bytes"),		    SS_STR_INIT("Bytes"),	     SS_STR_INIT("memory bandwidth (GB/s)"),
		SS_STR_INIT("ptr"),		    SS_STR_INIT("src"),		     SS_STR_INIT("dst"),
		SS_STR_INIT("size"),		    SS_STR_INIT("Seq"),		     SS_STR_INIT("Total Reserved"),
		SS_STR_INIT("graph node id"),	    SS_STR_INIT("correlation"),	     SS_STR_INIT("queued"),
		SS_STR_INIT("Trace iteration"),	    SS_STR_INIT("External Id"),	     SS_STR_INIT("wait_on_cuda_event_id"),
		SS_STR_INIT("wait_on_cuda_event_record_corr_id"),
	};
	for (size_t i = 0; i < SS_COUNT(names); i++)
		if (ss_str_eq(name, names[i]))
			return true;
	return ss_stat_of(name) != SS_STAT_OTHER;
}

/*
 * Names of a plane that were seen as arguments: their kind is found once. `id`: the number of the
 * name.
 */
static uint8_t kind_of_arg(struct ss_so_plane *p, const struct ss_so_arg *a, uint32_t id)
{
	if (id >= SS_SO_ARG_KINDS)
		return SS_SO_ARG_OWN;
	if (!p->arg_kinds[id])
		p->arg_kinds[id] = is_of_execution(a->name) ? SS_SO_ARG_OWN : SS_SO_ARG_SHARED;
	return p->arg_kinds[id];
}

/* Metadata that nothing shares would take more than it saves. */
static bool may_share(const struct ss_so_plane *p)
{
	return p->meta.n < 4096 + p->nevents / 4;
}

static const struct ss_so_arg *find_arg(const struct ss_so_event *e, struct ss_str name)
{
	for (size_t i = 0; i < e->nargs; i++)
		if (ss_str_eq(e->args[i].name, name))
			return &e->args[i];
	return NULL;
}

/*
 * The stats of the operation, in o->key behind the two names. A trace has no `flops`, which XProf
 * keeps to itself; `model_flops` are the nearest.
 */
static void put_op_stats(struct ss_space_out *o, struct ss_so_plane *p, const struct ss_so_event *e)
{
	const struct ss_so_arg *model = find_arg(e, SS_STR("model_flops"));
	for (size_t i = 0; i < e->nargs; i++)
		if (is_of_op(e->args[i].name))
			put_stat_named(o, p, &o->key, &e->args[i]);
	if (model && !find_arg(e, SS_STR("flops"))) {
		struct ss_so_arg flops = *model;
		flops.name = SS_STR("flops");
		put_stat_named(o, p, &o->key, &flops);
	}
}

static char *put_name(char *to, struct ss_str name)
{
	/* Lengths first: no two entries can look alike. */
	to = ss_pbo_put(to, name.n);
	if (name.n)
		memcpy(to, name.p, name.n);
	return to + name.n;
}

/*
 * In o->key: the names of an event; `full` is its long one, NULL without. What is shared of its
 * stats follows, from *stats on.
 */
static void put_names(struct ss_space_out *o, const struct ss_so_event *e, const struct ss_so_arg *full, size_t *stats)
{
	bool two = full && full->kind == SS_SO_STR && full->s.n;
	struct ss_str name = two ? full->s : e->name, shown = two ? e->name : SS_STR("");
	o->key.n = 0;
	char *room = ss_buf_room(&o->key, name.n + shown.n + e->name_in_file.n + 3 * SS_VARINT_BYTES);
	if (room)
		o->key.n = (size_t)(put_name(put_name(put_name(room, name), shown), e->name_in_file) - room);
	*stats = o->key.n;
}

/* The bytes that put_name() wrote at *at. */
static struct ss_str take_name(const uint8_t **at, const uint8_t *end)
{
	uint64_t n = 0;
	if (!ss_pb_varint(at, end, &n))
		return SS_STR("");
	struct ss_str name = { (const char *)*at, n };
	*at += n;
	return name;
}

/* Metadata of the event: found by everything that is in o->key. */
static uint32_t find_meta(struct ss_space_out *o, struct ss_so_plane *p, const struct ss_so_event *e, bool op, size_t stats)
{
	if (o->key.no_memory) {
		o->no_memory = true;
		return SS_NONE;
	}
	uint32_t i = intern(o, &p->metas, ss_buf_get(&o->key));
	if (i == SS_NONE || i < p->meta.n)
		return i;
	struct ss_str kept = p->metas.keys[i];
	struct ss_so_meta m = { .stats = ss_str_sub(kept, stats, kept.n), .op = op && !find_arg(e, SS_STR("program_id")) };
	const uint8_t *at = (const uint8_t *)kept.p, *end = at + stats;
	m.name = take_name(&at, end);
	m.display_name = take_name(&at, end);
	m.name_in_file = take_name(&at, end);
	o->held_bytes += p->meta.n ? sizeof(m) : SS_VEC_FIRST * sizeof(m);
	if (ss_vec_push(&p->meta, m))
		return i;
	o->no_memory = true;
	return SS_NONE;
}

/* ---- events ---- */

static void keep_link(struct ss_space_out *o, struct ss_so_record *r, const struct ss_so_arg *a)
{
	if (!ss_str_eq(a->name, SS_STR("correlation_id")) || a->kind == SS_SO_STR || o->links.n >= SS_NONE - 1)
		return;
	o->no_memory |= !ss_vec_push(&o->links, a->u);
	r->link = (uint32_t)o->links.n;
	o->held_bytes += sizeof(a->u);
}

/* Stats of the event itself go to the line's, those of all that are alike behind o->key. */
static void put_stats(struct ss_space_out *o, struct ss_so_plane *p, struct ss_so_line *l, const struct ss_so_event *e,
		      const struct ss_so_arg *full, bool op, bool share, struct ss_so_record *r)
{
	if (!e->nargs)
		return;
	char *own = ss_buf_room(&l->stats, e->nargs * STAT_BYTES), *own_at = own;
	char *all = ss_buf_room(&o->key, e->nargs * STAT_BYTES), *all_at = all;
	o->no_memory |= !own || !all;
	for (size_t i = 0; i < e->nargs && !o->no_memory; i++) {
		const struct ss_so_arg *a = &e->args[i];
		if (a == full || (op && is_of_op(a->name)))
			continue;
		uint32_t id = intern_name(o, p, a->name);
		bool shared = share && kind_of_arg(p, a, id) == SS_SO_ARG_SHARED;
		char **to = shared ? &all_at : &own_at;
		*to = write_stat(o, p, *to, XEVENT_STATS, id, a);
		if (!shared)
			keep_link(o, r, a);
	}
	if (!o->no_memory) {
		l->stats.n += (size_t)(own_at - own);
		o->key.n += (size_t)(all_at - all);
	}
}

uint32_t ss_so_add(struct ss_space_out *o, uint32_t plane, uint32_t line, const struct ss_so_event *e)
{
	struct ss_so_plane *p = &o->planes.v[plane];
	struct ss_so_line *l = &p->lines.v[line];
	if (is_full(o) || l->events.n >= SS_NONE - 1) {
		o->left_out++;
		return SS_NONE;
	}
	bool op = !e->shares && find_arg(e, SS_STR("hlo_category")) != NULL, share = e->shares && may_share(p);
	struct ss_so_record r = { .begin_ns = e->begin.ns, .begin_sub_ps = e->begin.ps & 0x3ff, .dur_ps = e->dur_ps };
	size_t stats, from = l->stats.n;
	const struct ss_so_arg *full = find_arg(e, SS_STR("long_name"));
	put_names(o, e, full, &stats);
	if (op)
		put_op_stats(o, p, e);
	put_stats(o, p, l, e, full, op, share, &r);
	r.meta = find_meta(o, p, e, op, stats);
	set_stats(o, l, &r, from);
	o->held_bytes += l->events.n ? sizeof(r) + r.nstats : SS_VEC_FIRST * sizeof(r) + l->stats.cap;
	if (o->no_memory || !ss_vec_push(&l->events, r)) {
		o->no_memory = true;
		return SS_NONE;
	}
	p->nevents++;
	o->nevents++;
	return (uint32_t)l->events.n - 1;
}

void ss_so_open(struct ss_space_out *o, uint32_t plane, uint32_t line, const struct ss_so_event *e)
{
	uint32_t i = ss_so_add(o, plane, line, e);
	struct ss_so_line *l = &o->planes.v[plane].lines.v[line];
	o->held_bytes += sizeof(i);
	/* Also of one that was left out: its end must not close another. */
	if (!ss_vec_push(&l->open, i))
		o->no_memory = true;
}

uint64_t ss_so_between_ps(const struct ss_so_record *a, struct ss_so_time b)
{
	if (b.ns < a->begin_ns || (b.ns == a->begin_ns && b.ps < a->begin_sub_ps))
		return 0;
	uint64_t ns = (uint64_t)b.ns - (uint64_t)a->begin_ns;
	if (ns > INT64_MAX / 1000 - 1)
		return INT64_MAX;
	return ns * 1000 + b.ps - a->begin_sub_ps;
}

/* More stats for an event: those it has move to the end, where there is room. */
static void add_stats(struct ss_space_out *o, struct ss_so_plane *p, struct ss_so_line *l, struct ss_so_record *r,
		      const struct ss_so_arg *args, size_t nargs)
{
	size_t before = l->stats.n, from = r->stats;
	if (r->stats + r->nstats != l->stats.n) {
		o->key.n = 0;
		ss_buf_str(&o->key, ss_str_sub(ss_buf_get(&l->stats), r->stats, r->stats + r->nstats));
		from = l->stats.n;
		ss_buf_str(&l->stats, ss_buf_get(&o->key));
		o->no_memory |= o->key.no_memory || l->stats.no_memory;
	}
	for (size_t i = 0; i < nargs && !o->no_memory; i++)
		put_stat_named(o, p, &l->stats, &args[i]);
	set_stats(o, l, r, from);
	o->held_bytes += l->stats.n > before ? l->stats.n - before : 0;
}

void ss_so_close(struct ss_space_out *o, uint32_t plane, uint32_t line, struct ss_so_time end, const struct ss_so_arg *args,
		 size_t nargs)
{
	struct ss_so_plane *p = &o->planes.v[plane];
	struct ss_so_line *l = &p->lines.v[line];
	if (!l->open.n) {
		o->held_bytes += sizeof(end);
		if (is_full(o))
			o->unmatched++;
		else if (!ss_vec_push(&l->ends, end))
			o->no_memory = true;
		return;
	}
	uint32_t i = l->open.v[--l->open.n];
	if (i == SS_NONE)
		return;
	l->events.v[i].dur_ps = ss_so_between_ps(&l->events.v[i], end);
	if (nargs && !is_full(o))
		add_stats(o, p, l, &l->events.v[i], args, nargs);
}

void ss_so_flow(struct ss_space_out *o, uint32_t plane, uint32_t line, const struct ss_so_flow *f)
{
	if (is_full(o))
		return;
	o->held_bytes += sizeof(*f);
	if (!ss_vec_push(&o->planes.v[plane].lines.v[line].flows, *f))
		o->no_memory = true;
}

uint64_t ss_so_flow_bits(uint64_t id, enum ss_so_dir dir)
{
	return (uint64_t)dir | (id & ((UINT64_C(1) << 56) - 1)) << 2;
}
