/* members.c - see members.h. */
#include "model/cluster/members.h"

#include "base/vec.h"

#include <stdlib.h>

#define MOST_DIMS 8

struct list {
	SS_VEC(int64_t) ids;
	SS_VEC(uint32_t) begin;
};

static bool take(struct ss_str *s, const char *word)
{
	while (s->n && s->p[0] == ' ')
		*s = ss_str_sub(*s, 1, s->n);
	return ss_str_take(s, ss_str_from(word));
}

/* "2,4" up to `end`. False: it is something else, or has too many. */
static bool numbers(struct ss_str *s, const char *end, uint64_t *v, size_t most, size_t *n)
{
	for (*n = 0; !take(s, end);) {
		if (*n && !take(s, ","))
			return false;
		if (*n == most || !ss_str_take_u64(s, &v[*n]))
			return false;
		++*n;
	}
	return true;
}

/* ---- {{0,1},{2,3}} ---- */

static bool read_list(struct list *l, struct ss_str s, bool *understood)
{
	*understood = take(&s, "{");
	while (*understood && !take(&s, "}")) {
		uint64_t v;
		take(&s, ",");
		*understood = take(&s, "{");
		if (*understood && !ss_vec_push(&l->begin, (uint32_t)l->ids.n))
			return false;
		while (*understood && !take(&s, "}")) {
			take(&s, ",");
			*understood = ss_str_take_u64(&s, &v) && v <= INT64_MAX && l->ids.n < SS_MEMBERS_MOST;
			if (*understood && !ss_vec_push(&l->ids, (int64_t)v))
				return false;
		}
	}
	return true;
}

/* ---- a rule: numbers 0..n-1 as an array, its axes in another order ---- */

struct iota {
	uint64_t dims[MOST_DIMS], order[MOST_DIMS];
	size_t ndims;
	uint64_t n;
};

/* "[2,4]T(1,0)" */
static bool read_iota(struct iota *r, struct ss_str *s)
{
	size_t norder = 0;
	if (!take(s, "[") || !numbers(s, "]", r->dims, MOST_DIMS, &r->ndims))
		return false;
	r->n = 1;
	for (size_t i = 0; i < r->ndims; i++) {
		r->order[i] = i;
		if (!r->dims[i] || r->dims[i] > SS_MEMBERS_MOST || (r->n *= r->dims[i]) > SS_MEMBERS_MOST)
			return false;
	}
	if (!take(s, "T("))
		return true;
	if (!numbers(s, ")", r->order, MOST_DIMS, &norder) || norder != r->ndims)
		return false;
	uint64_t seen = 0;
	for (size_t i = 0; i < norder; i++)
		seen |= r->order[i] < r->ndims ? UINT64_C(1) << r->order[i] : 0;
	return seen == (UINT64_C(1) << r->ndims) - 1;
}

/* The number at place `at` when the array is read in the new order. */
static int64_t iota_at(const struct iota *r, uint64_t at)
{
	uint64_t stride[MOST_DIMS], v = 0;
	for (size_t i = r->ndims; i-- > 0;)
		stride[i] = i + 1 == r->ndims ? 1 : stride[i + 1] * r->dims[i + 1];
	for (size_t i = r->ndims; i-- > 0;) {
		uint64_t axis = r->order[i];
		v += at % r->dims[axis] * stride[axis];
		at /= r->dims[axis];
	}
	return (int64_t)v;
}

static bool cut(struct list *l, const struct iota *r, uint64_t size)
{
	for (uint64_t i = 0; i < r->n; i++)
		if ((i % size == 0 && !ss_vec_push(&l->begin, (uint32_t)l->ids.n)) || !ss_vec_push(&l->ids, iota_at(r, i)))
			return false;
	return true;
}

/* [2,4]<=[8]: the last dimension is a group. */
static bool read_rule(struct list *l, struct ss_str s, bool *understood)
{
	struct iota r;
	uint64_t shape[MOST_DIMS], n = 1;
	size_t ndims;
	*understood = take(&s, "[") && numbers(&s, "]", shape, MOST_DIMS, &ndims) && ndims && take(&s, "<=") && read_iota(&r, &s);
	for (size_t i = 0; *understood && i < ndims; i++)
		*understood = shape[i] && shape[i] <= SS_MEMBERS_MOST && (n *= shape[i]) <= SS_MEMBERS_MOST;
	*understood = *understood && n == r.n;
	return !*understood || cut(l, &r, shape[ndims - 1]);
}

/* ---- axes of a mesh ---- */

struct mesh {
	struct ss_str names[MOST_DIMS];
	struct iota shape;	/* of the mesh */
	struct iota devices;	/* in which order devices stand in it */
	int64_t *ids;		/* or these */
	size_t nids;
};

static bool axis_word(struct ss_str *s, struct ss_str *name)
{
	if (!take(s, "'"))
		return false;
	size_t end = ss_str_chr(*s, '\'');
	if (end == SS_NPOS)
		return false;
	*name = ss_str_sub(*s, 0, end);
	*s = ss_str_sub(*s, end + 1, s->n);
	return true;
}

static bool mesh_axes(struct mesh *m, struct ss_str *s)
{
	m->shape.n = 1;
	for (m->shape.ndims = 0; !take(s, "]"); m->shape.ndims++) {
		size_t i = m->shape.ndims;
		take(s, ",");
		if (i == MOST_DIMS || !axis_word(s, &m->names[i]) || !take(s, "=") || !ss_str_take_u64(s, &m->shape.dims[i]))
			return false;
		if (!m->shape.dims[i] || m->shape.dims[i] > SS_MEMBERS_MOST || (m->shape.n *= m->shape.dims[i]) > SS_MEMBERS_MOST)
			return false;
	}
	m->devices = m->shape;
	for (size_t i = 0; i < m->shape.ndims; i++)
		m->devices.order[i] = i;
	return true;
}

static bool mesh_ids(struct mesh *m, struct ss_str *s, bool *no_memory)
{
	struct list l = { .ids = { NULL, 0, 0 } };
	uint64_t v;
	if (!take(s, ", device_ids=("))
		return true;
	if (s->n && s->p[0] == '[')
		return read_iota(&m->devices, s) && take(s, ")") && m->devices.n == m->shape.n;
	while (!take(s, ")")) {
		take(s, ",");
		if (!ss_str_take_u64(s, &v) || v > INT64_MAX || l.ids.n == SS_MEMBERS_MOST)
			break;
		if (!ss_vec_push(&l.ids, (int64_t)v)) {
			*no_memory = true;
			break;
		}
	}
	m->ids = l.ids.v;
	m->nids = l.ids.n;
	return !*no_memory && m->nids == m->shape.n;
}

/* The axes along which groups lie; parts of an axis ("'x':(2)4") are not read. */
static bool mesh_grouped(const struct mesh *m, struct ss_str *s, bool *along)
{
	if (!take(s, "{"))
		return false;
	while (!take(s, "}")) {
		struct ss_str name;
		bool any = false;
		take(s, ",");
		if (!axis_word(s, &name))
			return false;
		for (size_t i = 0; i < m->shape.ndims; i++)
			if (ss_str_eq(m->names[i], name))
				along[i] = any = true;
		if (!any)
			return false;
	}
	return true;
}

static bool read_mesh(struct list *l, struct ss_str s, bool *understood)
{
	struct mesh m = { .nids = 0 };
	bool along[MOST_DIMS] = { false }, no_memory = false, ok = true;
	*understood = take(&s, "mesh[") && mesh_axes(&m, &s) && mesh_ids(&m, &s, &no_memory) && mesh_grouped(&m, &s, along);
	if (*understood) {
		/* Axes of groups last: then a group is a row. */
		struct iota order = m.shape;
		uint64_t size = 1;
		size_t k = 0;
		for (size_t i = 0; i < m.shape.ndims; i++)
			if (!along[i])
				order.order[k++] = i;
		for (size_t i = 0; i < m.shape.ndims; i++)
			if (along[i]) {
				order.order[k++] = i;
				size *= m.shape.dims[i];
			}
		ok = cut(l, &order, size);
		for (size_t i = 0; ok && i < l->ids.n; i++)
			l->ids.v[i] = m.ids ? m.ids[l->ids.v[i]] : iota_at(&m.devices, (uint64_t)l->ids.v[i]);
	}
	free(m.ids);
	return ok && !no_memory;
}

/* Everybody who sends or receives is in one group. */
static void index_pairs(struct ss_members *m, const struct list *l)
{
	m->ngroups = 1;
	for (size_t g = 0; g < l->begin.n; g++) {
		size_t from = l->begin.v[g], to = g + 1 < l->begin.n ? l->begin.v[g + 1] : l->ids.n;
		for (size_t i = from; i < to; i++) {
			m->size[0] += m->group_of[l->ids.v[i]] != 0;
			m->group_of[l->ids.v[i]] = 0;
		}
		if (to - from == 2)
			m->source_of[l->ids.v[from + 1]] = (uint32_t)l->ids.v[from];
	}
}

static bool index_groups(struct ss_members *m, const struct list *l, struct ss_arena *arena)
{
	int64_t greatest = -1;
	for (size_t i = 0; i < l->ids.n; i++)
		greatest = l->ids.v[i] > greatest ? l->ids.v[i] : greatest;
	m->known = greatest < (int64_t)SS_MEMBERS_MOST;
	m->all = m->known && !l->ids.n;
	if (!m->known || m->all)
		return true;
	m->ndevices = (uint32_t)greatest + 1;
	m->size = SS_NEW_N(arena, uint32_t, l->begin.n + 1);
	m->group_of = SS_NEW_N(arena, uint32_t, m->ndevices);
	m->source_of = m->pairs ? SS_NEW_N(arena, uint32_t, m->ndevices) : NULL;
	if (!m->size || !m->group_of || (m->pairs && !m->source_of))
		return false;
	for (uint32_t i = 0; i < m->ndevices; i++) {
		m->group_of[i] = UINT32_MAX;
		if (m->pairs)
			m->source_of[i] = UINT32_MAX;
	}
	if (m->pairs) {
		index_pairs(m, l);
		return true;
	}
	m->ngroups = (uint32_t)l->begin.n;
	for (uint32_t g = 0; g < m->ngroups; g++) {
		size_t to = g + 1 < m->ngroups ? l->begin.v[g + 1] : l->ids.n;
		m->size[g] = (uint32_t)(to - l->begin.v[g]);
		for (size_t i = l->begin.v[g]; i < to; i++)
			m->group_of[l->ids.v[i]] = g;
	}
	return true;
}

bool ss_members_read(struct ss_members *m, struct ss_str text, struct ss_arena *arena)
{
	struct list l = { .ids = { NULL, 0, 0 } };
	bool ok = true;
	*m = (struct ss_members){ .pairs = ss_str_starts(text, SS_STR("pairs{")) };
	if (m->pairs)
		ok = read_list(&l, ss_str_sub(text, 5, text.n), &m->known);
	else if (ss_str_starts(text, SS_STR("{")))
		ok = read_list(&l, text, &m->known);
	else if (ss_str_starts(text, SS_STR("[")))
		ok = read_rule(&l, text, &m->known);
	else if (ss_str_starts(text, SS_STR("mesh[")))
		ok = read_mesh(&l, text, &m->known);
	if (ok && m->known)
		ok = index_groups(m, &l, arena);
	ss_vec_free(&l.ids);
	ss_vec_free(&l.begin);
	return ok;
}
