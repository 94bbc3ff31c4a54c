/* module_pick.c - compiled programs of all hosts of a model, by name. */
#include "tools/module_pick.h"
#include "model/model.h"

#include "hlo/shape.h"
#include "model/device/env.h"
#include "model/host/identity.h"
#include "model/host/plane.h"
#include "model/ops/ops.h"
#include "model/program/hlo_graph.h"

#include <stdlib.h>

struct candidate {
	struct ss_str file;
	struct ss_host *host;	/* the first that holds it */
	struct ss_hlo_map *map;
	const struct ss_hlo_entry *entry;
	uint32_t index;		/* in its map */
	uint32_t order;
	uint32_t hosts;		/* that hold it */
};

struct candidates {
	struct candidate *v;	/* by name; of one name in the order of hosts */
	size_t n;
	struct ss_host *first;	/* of the hosts that hold programs */
};

/* Programs of one name by what they hold: the candidate of each. */
struct gathering {
	const struct ss_request *q;
	struct candidates *to;
	struct ss_strmap names;
	uint32_t *holders;	 /* by name: hosts that hold a program of it */
	uint32_t *last_host;	 /* by name: the last of them */
	struct ss_u64map by_hash; /* of name and instructions */
};

static int by_name(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;
	return ss_str_cmp(x->file, y->file) ?: SS_CMP(x->order, y->order);
}

/* Hosts with devices first: theirs are the times. XProf takes them as they come. */
static struct ss_host **hosts_in_order(const struct ss_request *q)
{
	const struct ss_model *m = q->model;
	struct ss_host **v = SS_NEW_N(q->arena, struct ss_host *, m->nhosts + 1);
	size_t n = 0;
	for (unsigned pass = 0; v && pass < 2; pass++)
		for (size_t h = 0; h < m->nhosts; h++)
			if ((q->as_xprof || ss_host_hardware(m->hosts[h]) != SS_HW_CPU_ONLY) == (pass == 0))
				v[n++] = m->hosts[h];
	return v;
}

/* How many hosts hold a program of each name: what is on one host alone need not be compared. */
static bool count_names(struct gathering *g, struct ss_host **hosts, size_t *total, struct ss_err *err)
{
	*total = 0;
	for (size_t h = 0; h < g->q->model->nhosts; h++) {
		struct ss_hlo_map *map = ss_host_hlo(hosts[h], err);
		uint32_t n;
		if (!map)
			return false;
		ss_hlo_map_entries(map, &n);
		*total += n;
	}
	g->holders = SS_NEW_N(g->q->arena, uint32_t, *total + 1);
	g->last_host = SS_NEW_N(g->q->arena, uint32_t, *total + 1);
	for (size_t h = 0; g->holders && g->last_host && h < g->q->model->nhosts; h++) {
		uint32_t n;
		const struct ss_hlo_entry *e = ss_hlo_map_entries(ss_host_hlo(hosts[h], err), &n);
		for (uint32_t i = 0; i < n; i++) {
			struct ss_str file = ss_hlo_entry_file(&e[i], g->q->arena);
			uint32_t name = file.p ? ss_strmap_add(&g->names, file) : SS_NONE;
			if (name == SS_NONE)
				return ss_fail_mem(err);
			g->holders[name] += g->last_host[name] != h + 1;
			g->last_host[name] = (uint32_t)h + 1;
		}
	}
	return (g->holders && g->last_host) || ss_fail_mem(err);
}

/* Of several of one name in a file the first counts. */
static bool add(struct gathering *g, struct ss_host *host, uint32_t h, struct ss_hlo_map *map, const struct ss_hlo_entry *e,
		uint32_t index)
{
	struct candidates *to = g->to;
	struct ss_str file = ss_hlo_entry_file(e, g->q->arena);
	uint32_t name = file.p ? ss_strmap_get(&g->names, file) : SS_NONE;
	if (name == SS_NONE)
		return false;
	if (g->last_host[name] == h + 1)
		return true;
	g->last_host[name] = h + 1;
	bool compare = !g->q->as_xprof && g->holders[name] > 1;
	uint32_t at = ss_u64map_add(&g->by_hash, ss_mix(compare ? ss_hlo_hash(&e->module) : 0, name), (uint32_t)to->n);
	if (at == SS_NONE)
		return false;
	if (at == to->n)
		to->v[to->n++] = (struct candidate){ .file = file, .host = host, .map = map, .entry = e, .index = index,
						     .order = at };
	to->v[at].hosts++;
	to->first = to->first ? to->first : host;
	return true;
}

/* Arrays in the request's arena. */
static bool candidates(const struct ss_request *q, struct candidates *out, struct ss_err *err)
{
	struct gathering g = { .q = q, .to = out };
	struct ss_host **hosts = hosts_in_order(q);
	size_t total = 0;
	*out = (struct candidates){ .n = 0 };
	bool ok = hosts ? count_names(&g, hosts, &total, err) : ss_fail_mem(err);
	out->v = ok ? SS_NEW_N(q->arena, struct candidate, total + 1) : NULL;
	if (ok && !out->v)
		ok = ss_fail_mem(err);
	if (ok)
		memset(g.last_host, 0, (total + 1) * sizeof(*g.last_host));
	for (size_t h = 0; ok && h < q->model->nhosts; h++) {
		struct ss_hlo_map *map = ss_host_hlo(hosts[h], err);
		uint32_t n;
		const struct ss_hlo_entry *e = ss_hlo_map_entries(map, &n);
		for (uint32_t i = 0; ok && i < n; i++)
			ok = add(&g, hosts[h], (uint32_t)h, map, &e[i], i) || ss_fail_mem(err);
	}
	ss_strmap_free(&g.names);
	ss_u64map_free(&g.by_hash);
	if (ok && out->n)
		qsort(out->v, out->n, sizeof(*out->v), by_name);
	return ok;
}

/* The largest, of one host or of all. */
static const struct candidate *largest(const struct candidates *of, const struct ss_host *host)
{
	const struct candidate *best = NULL;
	for (size_t i = 0; i < of->n; i++)
		if ((!host || of->v[i].host == host) &&
		    (!best || of->v[i].entry->module.bytes.n > best->entry->module.bytes.n))
			best = &of->v[i];
	return best;
}

static const struct candidate *named(const struct candidates *of, struct ss_str name)
{
	for (size_t i = 0; i < of->n; i++)
		if (ss_str_eq(of->v[i].file, name))
			return &of->v[i];
	return NULL;
}

/* The very number first, with SQL's sign or without, then any that contains it. */
static const struct candidate *numbered(const struct candidates *of, struct ss_str id)
{
	uint64_t number;
	int64_t with_sign = 0;
	bool is_number = ss_str_to_u64(id, &number);
	if (!is_number && ss_str_to_i64(id, &with_sign)) {
		is_number = true;
		number = (uint64_t)with_sign;
	}
	for (size_t i = 0; is_number && i < of->n; i++)
		if ((uint64_t)of->v[i].entry->program_id == number)
			return &of->v[i];
	for (size_t i = 0; i < of->n; i++)
		if (ss_str_contains(of->v[i].file, id))
			return &of->v[i];
	return NULL;
}

static bool take(const struct candidate *c, struct ss_module_pick *out, struct ss_err *err)
{
	*out = (struct ss_module_pick){ .file = c->file, .program_id = c->entry->program_id, .host = c->host };
	return ss_hlo_map_at(c->map, c->index, &out->module, err);
}

/* ---- times ---- */

static bool host_ops(const struct ss_request *q, struct ss_host *h, const struct ss_op_db **out, struct ss_err *err)
{
	struct ss_err why = { 0 };
	const struct ss_host_ops *o = q->as_xprof ? NULL : ss_host_ops(h, &why);
	*out = !o ? NULL : o->resolved.n ? &o->resolved : o->device.n || !o->cpu.n ? &o->device : &o->cpu;
	return why.code != SS_ENOMEM || ss_fail_mem(err);
}

bool ss_module_ops(const struct ss_request *q, const struct ss_module_pick *p, const struct ss_op_db **out, struct ss_err *err)
{
	return host_ops(q, p->host, out, err);
}

const struct ss_op *ss_module_op(const struct ss_op_db *db, const struct ss_module_pick *p, struct ss_str name)
{
	return db && p->program_id ? ss_op_db_find(db, (uint64_t)p->program_id, name) : NULL;
}

/* The program of the first host with the most time; NULL: none of them has any. */
static bool busiest(const struct ss_request *q, const struct candidates *of, const struct candidate **out, struct ss_err *err)
{
	const struct ss_op_db *db;
	uint64_t *time_ps = SS_NEW_N(q->arena, uint64_t, of->n), most = 0;
	struct ss_u64map by_id = { 0 };
	*out = NULL;
	if (!time_ps || !host_ops(q, of->first, &db, err))
		return time_ps ? false : ss_fail_mem(err);
	bool ok = true;
	for (size_t i = 0; ok && db && i < of->n; i++)
		ok = of->v[i].host != of->first ||
		     ss_u64map_add(&by_id, (uint64_t)of->v[i].entry->program_id, (uint32_t)i) != SS_NONE;
	for (size_t i = 0; ok && db && i < db->n; i++) {
		uint32_t at = ss_u64map_get(&by_id, db->v[i].program_id);
		if (at != SS_NONE && db->v[i].program_id && (time_ps[at] += db->v[i].self_ps) > most) {
			most = time_ps[at];
			*out = &of->v[at];
		}
	}
	ss_u64map_free(&by_id);
	return ok || ss_fail_mem(err);
}

/* Constants and elements of tuples are no nodes of a graph (graph_viewer). */
static bool is_node(const struct ss_hlo_module *m, struct ss_str name)
{
	uint32_t i = ss_hlo_instr_by_name(m, name);
	struct ss_hlo_instr in;
	if (i == SS_NONE)
		return false;
	ss_hlo_instr_read(m->instrs[i], &in);
	return !ss_str_is(in.opcode, "constant") && !ss_str_is(in.opcode, "get-tuple-element");
}

#define MOST_LOOKED_THROUGH 16

/* The operation that makes a value, seen through elements of tuples and bitcasts, which cost nothing. SS_NONE: none makes it. */
static uint32_t maker_of(const struct ss_hlo_module *m, uint32_t i)
{
	for (int k = 0; k < MOST_LOOKED_THROUGH && i != SS_NONE; k++) {
		struct ss_hlo_instr in;
		int64_t id;
		ss_hlo_instr_read(m->instrs[i], &in);
		if (ss_str_is(in.opcode, "parameter") || ss_str_is(in.opcode, "constant"))
			return SS_NONE;
		if (!ss_str_is(in.opcode, "get-tuple-element") && !ss_str_is(in.opcode, "bitcast"))
			return i;
		struct ss_hlo_ids it = ss_hlo_ids_of(in.body, HLO_INSTRUCTION_OPERAND_IDS);
		i = ss_hlo_ids_next(&it, &id) ? ss_hlo_instr_by_id(m, id) : SS_NONE;
	}
	return SS_NONE;
}

/*
 * Of a program that returns a tuple the operation that makes its largest part: the tuple itself has thousands of operands and says
 * nothing. "" for any other program.
 */
static struct ss_str largest_result(const struct ss_hlo_module *m)
{
	uint32_t c = ss_hlo_computation_by_id(m, m->entry_id), i = c == SS_NONE ? SS_NONE : ss_hlo_root_of(m, c), top = SS_NONE;
	struct ss_hlo_instr root = { 0 }, in;
	int64_t id, most = -1;
	if (i != SS_NONE)
		ss_hlo_instr_read(m->instrs[i], &root);
	if (!ss_str_is(root.opcode, "tuple"))
		return SS_STR("");
	for (struct ss_hlo_ids it = ss_hlo_ids_of(root.body, HLO_INSTRUCTION_OPERAND_IDS); ss_hlo_ids_next(&it, &id);) {
		uint32_t of = ss_hlo_instr_by_id(m, id), maker = maker_of(m, of);
		if (maker == SS_NONE)
			continue;
		ss_hlo_instr_read(m->instrs[of], &in);
		int64_t bytes = ss_hlo_shape_bytes(in.shape);
		if (bytes > most) {
			most = bytes;
			top = maker;
		}
	}
	if (top == SS_NONE)
		return SS_STR("");
	ss_hlo_instr_read(m->instrs[top], &in);
	return in.name;
}

bool ss_module_hottest_op(const struct ss_request *q, const struct ss_module_pick *p, struct ss_str *name, struct ss_err *err)
{
	const struct ss_op_db *db;
	uint64_t most = 0;
	*name = SS_STR("");
	if (!ss_module_ops(q, p, &db, err))
		return false;
	for (size_t i = 0; db && p->program_id && i < db->n; i++) {
		const struct ss_op *op = &db->v[i];
		if (op->program_id == (uint64_t)p->program_id && op->self_ps > most && is_node(p->module, op->name)) {
			most = op->self_ps;
			*name = op->name;
		}
	}
	if (!name->n)
		*name = largest_result(p->module);
	return true;
}

/* ---- which one ---- */

static bool by_default(const struct ss_request *q, const struct candidates *of, const struct candidate **out, struct ss_err *err)
{
	*out = NULL;
	if (of->n > 1 && !busiest(q, of, out, err))
		return false;
	*out = *out ? *out : largest(of, q->as_xprof ? NULL : of->first);
	return true;
}

static bool say_none(const struct ss_request *q, struct ss_err *err)
{
	if (q->model->nhosts == 1)
		return ss_fail(err, SS_ENODATA,
			       "the profile of host '" SS_FMT
			       "' holds no compiled programs: it was recorded without HLO protos",
			       SS_ARG(ss_host_name(q->model->hosts[0])));
	return ss_fail(err, SS_ENODATA,
		       "the profiles of the %zu hosts hold no compiled programs: they were recorded without HLO protos",
		       q->model->nhosts);
}

bool ss_module_pick(const struct ss_request *q, const struct ss_tool *tool, struct ss_module_pick *out, struct ss_err *err)
{
	struct ss_str name = ss_request_param(q, tool, "module_name"), id = ss_request_param(q, tool, "program_id");
	struct candidates of;
	if (!candidates(q, &of, err))
		return false;
	if (!of.n)
		return say_none(q, err);
	const struct candidate *c = name.n ? named(&of, name) : id.n ? numbered(&of, id) : NULL;
	if (!name.n && !id.n && !by_default(q, &of, &c, err))
		return false;
	if (!c)
		return ss_fail(err, SS_ENOTFOUND,
			       "the profile has no program '" SS_FMT "' (it holds %zu program%s; the first is '" SS_FMT
			       "')",
			       SS_ARG(name.n ? name : id), of.n, of.n > 1 ? "s" : "", SS_ARG(of.v[0].file));
	return take(c, out, err);
}

static bool holds(const struct ss_hlo_module *m, struct ss_str node, bool computations)
{
	if (ss_hlo_instr_by_name(m, node) != SS_NONE)
		return true;
	for (uint32_t i = 0; computations && i < m->ncomputations; i++)
		if (ss_str_eq(m->computations[i].name, node))
			return true;
	return false;
}

bool ss_module_pick_by_node(const struct ss_request *q, struct ss_str node, bool computations, struct ss_module_pick *out,
			    struct ss_err *err)
{
	struct candidates of;
	const struct candidate *first = NULL;
	*out = (struct ss_module_pick){ .module = NULL };
	if (node.n && !q->as_xprof)
		node = ss_str_sub(node, node.p[0] == '%', node.n);
	if (!candidates(q, &of, err) || (of.n && !q->as_xprof && !by_default(q, &of, &first, err)))
		return false;
	for (size_t i = 0; i <= of.n; i++) {
		const struct candidate *c = i ? &of.v[i - 1] : first;
		if (c && !take(c, out, err))
			return false;
		if (c && holds(out->module, node, computations && !q->as_xprof))
			return true;
	}
	*out = (struct ss_module_pick){ .module = NULL };
	return true;
}

/* ---- the table ---- */

/* The number of other programs with the name that is shown. */
static void note_others(const struct candidates *of, const struct ss_module_pick *p, struct ss_result *out)
{
	size_t others = 0;
	for (size_t i = 0; i < of->n; i++)
		others += ss_str_eq(of->v[i].file, p->file) && of->v[i].host != p->host;
	if (others)
		ss_result_note(out, SS_INFO,
			       ss_arena_printf(out->arena,
					       "Programs named '" SS_FMT "' differ between hosts: this is the program of '" SS_FMT
					       "'. Choose a host to see another.",
					       SS_ARG(p->file), SS_ARG(ss_host_name(p->host))));
}

static void note_damage(const struct ss_module_pick *p, struct ss_result *out)
{
	static const char says[] = "The program '" SS_FMT "' of '" SS_FMT "' is damaged in %u place%s: computations and "
				   "instructions that cannot be read are missing here.";
	uint32_t n = p->module->ndamaged;
	if (n)
		ss_result_note(out, SS_WARNING,
			       ss_arena_printf(out->arena, says, SS_ARG(p->file), SS_ARG(ss_host_name(p->host)), n,
					       n == 1 ? "" : "s"));
}

bool ss_module_table(const struct ss_request *q, const struct ss_module_pick *p, struct ss_result *out, struct ss_err *err)
{
	enum { NAME, PROGRAM_ID, BYTES, HOST, HOSTS };
	static const struct ss_col cols[] = {
		STR("module_name", "Program", NULL),
		INT("program_id", "Program ID", NONE, NULL),
		INT("proto_bytes", "Size of its proto", BYTES, "Size of the proto on this host"),
		STR("host", "Host", "The first host that holds the program; it identifies programs of equal name that differ"),
		INT("hosts", "Hosts", COUNT, "Hosts of the selection that hold the same instructions under this name"),
	};
	struct candidates of;
	if (!candidates(q, &of, err))
		return false;
	struct ss_table *t = ss_result_table(out, "modules", "Compiled programs", cols, SS_COUNT(cols));
	ss_table_prop(t, "shown_host", ss_host_name(p->host));
	for (size_t i = 0; i < of.n; i++) {
		ss_table_row(t);
		ss_set_str(t, NAME, of.v[i].file);
		ss_set_i64(t, PROGRAM_ID, of.v[i].entry->program_id);
		ss_set_i64(t, BYTES, (int64_t)of.v[i].entry->module.bytes.n);
		ss_set_str(t, HOST, ss_host_name(of.v[i].host));
		ss_set_i64(t, HOSTS, of.v[i].hosts);
	}
	note_others(&of, p, out);
	note_damage(p, out);
	return t || ss_fail_mem(err);
}

bool ss_module_present(const struct ss_host *first)
{
	const struct ss_plane *p = ss_host_plane(first, SS_PLANE_METADATA);
	return p && ss_xplane_has(p->x, SS_STAT_HLO_PROTO);
}
