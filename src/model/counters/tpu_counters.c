/*
 * tpu_counters.c - ids and sets of TPU counters, and the samples of a plane. What is made of them
 * stands in tpu_use.c.
 */
#include "model/counters/tpu_counters.h"

#include "model/counters/tpu_regs.h"
#include "model/host/host.h"
#include "model/host/partial_read.h"

#include <stdlib.h>

static const struct unit {
	enum ss_tpu_chip chip;
	enum ss_tpu_unit kind;
	uint64_t base;
	uint32_t n[3];		/* dies, groups, members */
	uint64_t stride[3];
} units[] = {
#define UNIT(chip, kind, base, dies, ds, groups, gs, members, ms) \
	{ SS_TPU_##chip, SS_TPU_UNIT_##kind, base, { dies, groups, members }, { ds, gs, ms } },
#include "model/counters/tpu_counters.def"
#undef UNIT
};

#define NO SS_NO_OFFSET
static const struct counter {
	enum ss_tpu_unit kind;
	uint32_t copies;
	uint32_t offset[2];	/* v6e, v7x */
	struct ss_str doc;
	const char *unit, *name;
} counters[] = {
#define COUNTER(kind, name, copies, v6e, v7x, doc) \
	{ SS_TPU_UNIT_##kind, copies, { v6e, v7x }, SS_STR_INIT(doc), #kind, #name },
#include "model/counters/tpu_counters.def"
#undef COUNTER
};

static const struct set {
	enum ss_tpu_chip chip;
	enum ss_tpu_unit kind;
	uint32_t first, last;
	struct ss_str tokens;
} sets[] = {
#define SET(chip, kind, first, last, tokens) { SS_TPU_##chip, SS_TPU_UNIT_##kind, first, last, SS_STR_INIT(tokens) },
#include "model/counters/tpu_counters.def"
#undef SET
};

/* A router has 19 queues of 7 counters each. */
#define QUEUE_BYTES (7 * 8)
#define QUEUES_BYTES (19 * QUEUE_BYTES)

enum ss_tpu_chip ss_tpu_chip_of(struct ss_str device_type)
{
	if (ss_str_is(device_type, "TPU v6 Lite"))
		return SS_TPU_V6E;
	return ss_str_is(device_type, "TPU v7x") ? SS_TPU_V7X : SS_TPU_OTHER;
}

bool ss_plane_int_stat(const struct ss_plane *p, enum ss_stat stat, int64_t *value)
{
	struct ss_xstats it = ss_xplane_stats(p->x);
	struct ss_xstat s;
	bool found = false;
	while (ss_xplane_has(p->x, stat) && ss_xstats_next(&it, &s)) {
		if (s.stat != stat)
			continue;
		*value = ss_xstat_int_or_uint(&s);
		found = true;
	}
	return found;
}

struct ss_str ss_plane_str_stat(const struct ss_plane *p, enum ss_stat stat)
{
	struct ss_xstat s;
	if (!ss_xplane_has(p->x, stat) || !ss_xstats_find(ss_xplane_stats(p->x), stat, &s))
		return SS_STR("");
	return ss_xstat_str(&s);
}

bool ss_host_has_tpu_counters(const struct ss_host *h)
{
	for (uint32_t i = 0; i < h->nplanes; i++)
		if (ss_str_starts(h->planes[i].name, SS_STR("/device:TPU:")) &&
		    ss_xplane_has(h->planes[i].x, SS_STAT_COUNTER_VALUE))
			return true;
	return false;
}

static bool may_have_counters(const struct ss_plane *p)
{
	return (ss_str_starts(p->name, SS_STR("/device:TPU:")) || ss_str_starts(p->name, SS_STR("/device:GPU:"))) &&
	       ss_xplane_has(p->x, SS_STAT_COUNTER_VALUE);
}

const struct ss_plane *ss_host_counters(struct ss_host *h, struct ss_err *err)
{
	static const struct ss_partial_read what = { .plane = may_have_counters, .stat = SS_STAT_COUNTER_VALUE };
	return ss_host_read_partially(h, SS_HOST_COUNTERS, &what, err);
}

static bool is_counted(struct ss_str line)
{
	return ss_str_is(line, "XLA Ops") || ss_str_is(line, "Steps");
}

const struct ss_plane *ss_host_counted(struct ss_host *h, struct ss_err *err)
{
	static const struct ss_partial_read what = { .plane = may_have_counters, .line = is_counted };
	return ss_host_read_partially(h, SS_HOST_COUNTED, &what, err);
}

/* The position of register `id` in its block, if it belongs to one of the units `u`. */
static bool offset_in(const struct unit *u, uint64_t id, uint64_t *offset)
{
	if (id < u->base)
		return false;
	uint64_t rest = id - u->base;
	for (size_t d = 0; d < 3; d++) {
		if (u->n[d] == 1)
			continue;
		if (rest / u->stride[d] >= u->n[d])
			return false;
		rest %= u->stride[d];
	}
	*offset = rest;
	return true;
}

struct ss_str ss_tpu_counter_set(enum ss_tpu_chip chip, uint64_t id)
{
	for (size_t i = 0; i < SS_COUNT(units); i++) {
		const struct unit *u = &units[i];
		uint64_t offset;
		if (u->chip != chip || !offset_in(u, id, &offset))
			continue;
		if (u->kind == SS_TPU_UNIT_ICR)
			offset = offset < QUEUES_BYTES ? offset % QUEUE_BYTES : QUEUES_BYTES;
		for (size_t k = 0; k < SS_COUNT(sets); k++)
			if (sets[k].chip == chip && sets[k].kind == u->kind && sets[k].first <= offset &&
			    offset <= sets[k].last && (offset - sets[k].first) % 8 == 0)
				return sets[k].tokens;
	}
	return SS_STR("");
}

struct ss_str ss_tpu_counter_doc(enum ss_tpu_chip chip, uint64_t id)
{
	for (size_t i = 0; i < SS_COUNT(units); i++) {
		uint64_t offset;
		if (units[i].chip != chip || !offset_in(&units[i], id, &offset))
			continue;
		for (size_t k = 0; k < SS_COUNT(counters); k++) {
			const struct counter *c = &counters[k];
			uint64_t from = c->offset[chip == SS_TPU_V7X];
			if (c->kind == units[i].kind && from != NO && offset >= from &&
			    offset < from + c->copies * UINT64_C(8) && offset % 8 == 0)
				return c->doc;
		}
	}
	return SS_STR("");
}

bool ss_tpu_counter_id(enum ss_tpu_chip chip, enum ss_tpu_counter counter, struct ss_tpu_place at, uint32_t copy, uint64_t *id)
{
	const struct counter *c = &counters[counter];
	uint32_t offset = c->offset[chip == SS_TPU_V7X];
	for (size_t i = 0; offset != NO && copy < c->copies && i < SS_COUNT(units); i++) {
		const struct unit *u = &units[i];
		if (u->chip != chip || u->kind != c->kind || at.die >= u->n[0] || at.group >= u->n[1] || at.member >= u->n[2])
			continue;
		*id = u->base + at.die * u->stride[0] + at.group * u->stride[1] + at.member * u->stride[2] + offset +
		      copy * UINT64_C(8);
		return true;
	}
	return false;
}

enum ss_tpu_chip ss_tpu_chip_of_version(struct ss_str version)
{
	if (ss_str_is(version, "v6e"))
		return SS_TPU_V6E;
	return ss_str_is(version, "v7x") ? SS_TPU_V7X : SS_TPU_OTHER;
}

/* Numbers of a unit or copy, as far as there are several of them. */
static struct ss_str numbered(struct ss_arena *a, struct ss_str name, uint32_t number, uint32_t of)
{
	return of > 1 && name.p ? ss_arena_printf(a, SS_FMT "_%u", SS_ARG(name), number) : name;
}

static struct ss_str name_of(struct ss_arena *a, const struct unit *u, const struct counter *c, struct ss_tpu_place at,
			     uint32_t copy)
{
	struct ss_str s = numbered(a, ss_str_from(c->unit), at.die, u->n[0]);
	s = numbered(a, numbered(a, s, at.group, u->n[1]), at.member, u->n[2]);
	s = s.p ? ss_arena_printf(a, SS_FMT "_%s", SS_ARG(s), c->name) : s;
	s = numbered(a, s, copy, c->copies);
	for (size_t i = 0; i < s.n; i++) /* made here, so it may be written to */
		if (s.p[i] >= 'A' && s.p[i] <= 'Z')
			((char *)(uintptr_t)s.p)[i] = (char)(s.p[i] - 'A' + 'a');
	return s;
}

static bool add_unit(enum ss_tpu_chip chip, const struct unit *u, struct ss_arena *a, struct ss_tpu_counter_name *out,
		     size_t *n)
{
	for (uint32_t k = 0; k < SS_COUNT(counters); k++)
		for (uint32_t place = 0; counters[k].kind == u->kind && place < u->n[0] * u->n[1] * u->n[2]; place++)
			for (uint32_t copy = 0; copy < counters[k].copies; copy++) {
				struct ss_tpu_place at = { place / (u->n[1] * u->n[2]), place / u->n[2] % u->n[1],
							   place % u->n[2] };
				uint64_t id;
				if (!ss_tpu_counter_id(chip, (enum ss_tpu_counter)k, at, copy, &id))
					continue;
				if (out)
					out[*n] = (struct ss_tpu_counter_name){ name_of(a, u, &counters[k], at, copy), id };
				if (out && !out[*n].name.p)
					return false;
				++*n;
			}
	return true;
}

bool ss_tpu_counter_names(enum ss_tpu_chip chip, struct ss_arena *a, struct ss_tpu_counter_name **out, size_t *n)
{
	*out = NULL;
	for (int fill = 0; fill < 2; fill++) {
		size_t count = *n;
		*n = 0;
		if (fill && !(*out = SS_NEW_N(a, struct ss_tpu_counter_name, count + 1)))
			return false;
		for (size_t i = 0; i < SS_COUNT(units); i++)
			if (units[i].chip == chip && !add_unit(chip, &units[i], a, *out, n))
				return false;
	}
	return true;
}

uint32_t ss_tpu_counter_copies(enum ss_tpu_counter counter)
{
	return counters[counter].copies;
}

uint64_t ss_counter_value(const struct ss_xstat *s)
{
	if (s->kind != SS_X_DOUBLE)
		return (uint64_t)ss_xstat_int_or_uint(s);
	double d = ss_xstat_double(s);
	if (!(d > 0))
		return 0;
	return d < 0x1p64 ? (uint64_t)d : UINT64_MAX;
}

/*
 * Id and value of an event, from its own stats or else from its metadata. False if it is no
 * counter.
 */
static bool counter_of(const struct ss_plane *p, const struct ss_line *l, uint32_t i, uint64_t *id, uint64_t *value)
{
	struct ss_xstat s;
	bool has_id = false, has_value = false;
	*id = 0;
	*value = 0;
	struct ss_xstats from[2] = { ss_line_stats(p, l, i), ss_xevent_meta_stats(p->x, l->ev.meta[i]) };
	for (size_t k = 0; k < 2; k++)
		while (ss_xstats_next(&from[k], &s)) {
			if (s.stat == SS_STAT_PERFORMANCE_COUNTER_ID && !has_id) {
				*id = (uint64_t)ss_xstat_int_or_uint(&s);
				has_id = true;
			} else if (s.stat == SS_STAT_COUNTER_VALUE && !has_value) {
				*value = ss_counter_value(&s);
				has_value = true;
			}
		}
	if (*id == 0 && l->ev.meta[i] != SS_NONE)
		*id = (uint64_t)p->x->event_meta[l->ev.meta[i]].id;
	return has_value;
}

bool ss_tpu_sample_read(struct ss_tpu_sample *s, const struct ss_plane *p, const struct ss_line *l)
{
	*s = (struct ss_tpu_sample){ 0 };
	/* Planes without the stat need not be walked. */
	if (!ss_xplane_has(p->x, SS_STAT_COUNTER_VALUE) || l->ev.n == 0)
		return true;
	s->last = malloc(l->ev.n * sizeof(*s->last));
	s->sum = malloc(l->ev.n * sizeof(*s->sum));
	if (!s->last || !s->sum)
		return false;
	for (uint32_t i = 0; i < l->ev.n; i++) {
		uint64_t id, value;
		if (!counter_of(p, l, i, &id, &value))
			continue;
		uint32_t at = ss_u64map_add(&s->index, id, s->n);
		if (at == SS_NONE)
			return false;
		if (at == s->n)
			s->sum[s->n++] = 0;
		s->last[at] = value;
		s->sum[at] += value;
	}
	return true;
}

void ss_tpu_sample_free(struct ss_tpu_sample *s)
{
	ss_u64map_free(&s->index);
	free(s->last);
	free(s->sum);
	*s = (struct ss_tpu_sample){ 0 };
}
