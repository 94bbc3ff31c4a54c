/* module_pick.c - compiled programs of all hosts of a model, by name. */
#include "tools/module_pick.h"
#include "model/host/host.h"

#include "model/ops/ops.h"

#include <stdlib.h>

struct candidate {
	struct ss_str file;
	struct ss_hlo_map *map;
	const struct ss_hlo_entry *entry;
	uint32_t index;		/* in its map */
};

/* Hosts of one job carry the same programs: of equal names the first counts. */
static int by_name(const void *a, const void *b)
{
	return ss_str_cmp(((const struct candidate *)a)->file, ((const struct candidate *)b)->file);
}

/* An array in the request's arena. */
static bool candidates(const struct ss_request *q, struct candidate **out, size_t *n, struct ss_err *err)
{
	size_t total = 0;
	*n = 0;
	for (size_t h = 0; h < q->model->nhosts; h++) {
		struct ss_hlo_map *map = ss_host_hlo(q->model->hosts[h], err);
		uint32_t count;
		if (!map)
			return false;
		ss_hlo_map_entries(map, &count);
		total += count;
	}
	struct candidate *v = SS_NEW_N(q->arena, struct candidate, total);
	struct ss_strmap seen = { 0 };
	bool ok = v != NULL;
	for (size_t h = 0; ok && h < q->model->nhosts; h++) {
		struct ss_hlo_map *map = ss_host_hlo(q->model->hosts[h], err);
		uint32_t count = 0;
		const struct ss_hlo_entry *e = map ? ss_hlo_map_entries(map, &count) : NULL;
		ok = map != NULL;
		for (uint32_t i = 0; ok && i < count; i++) {
			struct ss_str file = ss_hlo_entry_file(&e[i], q->arena);
			uint32_t at = file.p ? ss_strmap_add(&seen, file) : SS_NONE;
			ok = at != SS_NONE;
			if (ok && at == *n)
				v[(*n)++] = (struct candidate){ file, map, &e[i], i };
		}
	}
	ss_strmap_free(&seen);
	if (!ok)
		return ss_fail_mem(err);
	qsort(v, *n, sizeof(*v), by_name);
	*out = v;
	return true;
}

static const struct candidate *choose(const struct candidate *v, size_t n, struct ss_str name, struct ss_str id)
{
	const struct candidate *best = NULL;
	uint64_t number;
	for (size_t i = 0; i < n; i++) {
		if (name.n) {
			if (ss_str_eq(v[i].file, name))
				return &v[i];
		} else if (!id.n && (!best || v[i].entry->module.bytes.n > best->entry->module.bytes.n)) {
			best = &v[i];
		}
	}
	if (name.n || !id.n)
		return best;
	/* The very number first, with SQL's sign or without, then any that contains it. */
	int64_t with_sign = 0;
	bool is_number = ss_str_to_u64(id, &number);
	if (!is_number && ss_str_to_i64(id, &with_sign)) {
		is_number = true;
		number = (uint64_t)with_sign;
	}
	for (size_t i = 0; is_number && i < n; i++)
		if ((uint64_t)v[i].entry->program_id == number)
			return &v[i];
	for (size_t i = 0; i < n; i++)
		if (ss_str_contains(v[i].file, id))
			return &v[i];
	return NULL;
}

bool ss_module_ops(const struct ss_request *q, const struct ss_op_db **out, struct ss_err *err)
{
	struct ss_err why = { 0 };
	const struct ss_ops *ops = q->as_xprof ? NULL : ss_model_ops(q->model, &why);
	*out = ops ? ss_ops_computed(ops, false) : NULL;
	return why.code != SS_ENOMEM || ss_fail_mem(err);
}

const struct ss_op *ss_module_op(const struct ss_op_db *db, const struct ss_module_pick *p, struct ss_str name)
{
	return db && p->program_id ? ss_op_db_find(db, (uint64_t)p->program_id, name) : NULL;
}

/* The program with the most time on the device; NULL: none of them has any. */
static bool busiest(const struct ss_request *q, const struct candidate *v, size_t n, const struct candidate **out,
		    struct ss_err *err)
{
	const struct ss_op_db *db;
	uint64_t *time_ps = SS_NEW_N(q->arena, uint64_t, n), most = 0;
	struct ss_u64map by_id = { 0 };
	*out = NULL;
	if (!time_ps || !ss_module_ops(q, &db, err))
		return time_ps ? false : ss_fail_mem(err);
	bool ok = true;
	for (size_t i = 0; ok && db && i < n; i++)
		ok = ss_u64map_add(&by_id, (uint64_t)v[i].entry->program_id, (uint32_t)i) != SS_NONE;
	for (size_t i = 0; ok && db && i < db->n; i++) {
		uint32_t at = ss_u64map_get(&by_id, db->v[i].program_id);
		if (at != SS_NONE && db->v[i].program_id && (time_ps[at] += db->v[i].self_ps) > most) {
			most = time_ps[at];
			*out = &v[at];
		}
	}
	ss_u64map_free(&by_id);
	return ok || ss_fail_mem(err);
}

bool ss_module_hottest_op(const struct ss_request *q, const struct ss_module_pick *p, struct ss_str *name, struct ss_err *err)
{
	const struct ss_op_db *db;
	uint64_t most = 0;
	*name = SS_STR("");
	if (!ss_module_ops(q, &db, err))
		return false;
	for (size_t i = 0; db && p->program_id && i < db->n; i++) {
		const struct ss_op *op = &db->v[i];
		if (op->program_id == (uint64_t)p->program_id && op->self_ps > most &&
		    ss_hlo_instr_by_name(p->module, op->name) != SS_NONE) {
			most = op->self_ps;
			*name = op->name;
		}
	}
	return true;
}

bool ss_module_pick(const struct ss_request *q, const struct ss_tool *tool, struct ss_module_pick *out, struct ss_err *err)
{
	struct ss_str name = ss_request_param(q, tool, "module_name"), id = ss_request_param(q, tool, "program_id");
	struct candidate *v;
	size_t n;
	if (!candidates(q, &v, &n, err))
		return false;
	if (!n)
		return ss_fail(err, SS_ENODATA, "the profile holds no compiled programs: it was recorded without HLO protos");
	const struct candidate *c = NULL;
	if (!name.n && !id.n && n > 1 && !busiest(q, v, n, &c, err))
		return false;
	if (!c)
		c = choose(v, n, name, id);
	if (!c)
		return ss_fail(err, SS_ENOTFOUND,
			       "the profile has no program '" SS_FMT "' (it holds %zu programs; the first is '" SS_FMT
			       "')",
			       SS_ARG(name.n ? name : id), n, SS_ARG(v[0].file));
	out->file = c->file;
	out->program_id = c->entry->program_id;
	return ss_hlo_map_at(c->map, c->index, &out->module, err);
}

bool ss_module_pick_by_node(const struct ss_request *q, struct ss_str node, struct ss_module_pick *out, struct ss_err *err)
{
	struct candidate *v;
	size_t n;
	*out = (struct ss_module_pick){ .module = NULL };
	if (!candidates(q, &v, &n, err))
		return false;
	for (size_t i = 0; i < n; i++) {
		const struct ss_hlo_module *m;
		if (!ss_hlo_map_at(v[i].map, v[i].index, &m, err))
			return false;
		if (ss_hlo_instr_by_name(m, node) != SS_NONE) {
			*out = (struct ss_module_pick){ m, v[i].file, v[i].entry->program_id };
			return true;
		}
	}
	return true;
}

bool ss_module_table(const struct ss_request *q, struct ss_result *out, struct ss_err *err)
{
	enum { NAME, PROGRAM_ID, BYTES };
	static const struct ss_col cols[] = {
		STR("module_name", "Program", NULL),
		INT("program_id", "Program ID", NONE, NULL),
		INT("proto_bytes", "Size of its proto", BYTES, NULL),
	};
	struct candidate *v;
	size_t n;
	if (!candidates(q, &v, &n, err))
		return false;
	struct ss_table *t = ss_result_table(out, "modules", "Compiled programs", cols, SS_COUNT(cols));
	for (size_t i = 0; i < n; i++) {
		ss_table_row(t);
		ss_set_str(t, NAME, v[i].file);
		ss_set_i64(t, PROGRAM_ID, v[i].entry->program_id);
		ss_set_i64(t, BYTES, (int64_t)v[i].entry->module.bytes.n);
	}
	return t || ss_fail_mem(err);
}

bool ss_module_present(const struct ss_host *first)
{
	const struct ss_plane *p = ss_host_plane(first, SS_PLANE_METADATA);
	return p && ss_xplane_has(p->x, SS_STAT_HLO_PROTO);
}
