/*
 * describe.c - which operation a piece of time belongs to: from the metadata of a TPU's event, the
 * stats of an event on a GPU or a thread, and the program that the profile carries.
 */
#include "diff/read.h"

#include "base/buf.h"
#include "hlo/shape.h"
#include "model/host/opname.h"
#include "model/host/plane.h"
#include "model/program/hlo_map.h"

#include <stdlib.h>

struct ss_str ss_diff_category(const struct ss_plane *p, uint32_t meta)
{
	struct ss_xstat s;
	bool known = meta < p->x->nevent_meta && ss_xstats_find(ss_xevent_meta_stats(p->x, meta), SS_STAT_HLO_CATEGORY, &s);
	return known ? ss_xstat_str(&s) : SS_STR("");
}

/* ---- programs ---- */

/* "jit_step" of "jit_step(17)". */
static struct ss_str without_id(struct ss_str title)
{
	size_t open = ss_str_rchr(title, '(');
	return open == SS_NPOS || !ss_str_ends(title, SS_STR(")")) ? title : ss_str_sub(title, 0, open);
}

static bool open_program(struct ss_diff_reader *r, uint64_t id, struct ss_str name, struct ss_diff_program *out)
{
	struct ss_err ignored = { 0 };
	struct ss_hlo_map *map = ss_host_hlo(r->host, &ignored);
	uint32_t n = 0, at = SS_NONE;
	*out = (struct ss_diff_program){ .id = id, .name = name };
	if (!map)
		return false;
	const struct ss_hlo_entry *e = ss_hlo_map_entries(map, &n);
	for (uint32_t i = 0; i < n && at == SS_NONE; i++)
		if (id ? (uint64_t)e[i].program_id == id : name.n && ss_str_eq(e[i].module.name, name))
			at = i;
	if (at == SS_NONE)
		return true;
	out->name = e[at].module.name.n ? e[at].module.name : without_id(e[at].title);
	/* A program that cannot be indexed is as good as none, unless memory is out. */
	return ss_hlo_map_at(map, at, &out->m, &ignored) || ignored.code != SS_ENOMEM;
}

/* Programs are few; the one asked for last is mostly asked for again. */
static struct ss_diff_program *program_of(struct ss_diff_reader *r, uint64_t id, struct ss_str name)
{
	struct ss_diff_program p;
	for (size_t i = r->programs.n; i-- > 0;)
		if (id ? r->programs.v[i].id == id : !r->programs.v[i].id && ss_str_eq(r->programs.v[i].name, name))
			return &r->programs.v[i];
	if (!open_program(r, id, name, &p) || !ss_vec_push(&r->programs, p))
		return NULL;
	return &r->programs.v[r->programs.n - 1];
}

/* ---- what an instruction says ---- */

static struct ss_str print_shape(struct ss_diff_reader *r, struct ss_str shape)
{
	struct ss_buf b = { .limit_bytes = 400 };
	ss_hlo_shape_print(&b, shape, false);
	struct ss_str s = ss_intern_str(&r->run->texts, ss_buf_get(&b));
	ss_buf_free(&b);
	return s;
}

static struct ss_str source_of(struct ss_diff_reader *r, struct ss_diff_program *p, const struct ss_hlo_instr *in)
{
	struct ss_str file = in->source_file;
	int64_t line = in->source_line;
	if (!file.n && in->stack_frame_id) {
		if (!p->has_stacks && !ss_hlo_stacks_read(&p->stacks, p->m, &r->arena))
			return SS_STR("");
		p->has_stacks = true;
		const struct ss_hlo_location *l = ss_hlo_frame_location(&p->stacks, in->stack_frame_id);
		file = l ? ss_hlo_location_file(&p->stacks, l) : file;
		line = l ? l->line : line;
	}
	size_t slash = ss_str_rchr(file, '/');
	file = slash == SS_NPOS ? file : ss_str_sub(file, slash + 1, file.n);
	if (!file.n)
		return SS_STR("");
	struct ss_str s = ss_arena_printf(&r->arena, SS_FMT ":%lld", SS_ARG(file), (long long)line);
	return s.p ? ss_intern_str(&r->run->texts, s) : SS_STR("");
}

/* Opcodes and shapes of an instruction and of what it is made from, `depth` levels up. */
static uint64_t fingerprint(const struct ss_hlo_module *m, const struct ss_hlo_instr *in, int depth)
{
	uint64_t h = ss_mix(ss_str_hash(in->opcode), ss_str_hash(in->shape));
	struct ss_hlo_ids it = ss_hlo_ids_of(in->body, HLO_INSTRUCTION_OPERAND_IDS);
	int64_t id;
	for (int n = 0; depth > 0 && n < 64 && ss_hlo_ids_next(&it, &id); n++) {
		uint32_t at = ss_hlo_instr_by_id(m, id);
		struct ss_hlo_instr operand;
		if (at == SS_NONE)
			continue;
		ss_hlo_instr_read(m->instrs[at], &operand);
		h = ss_mix(h, fingerprint(m, &operand, depth - 1) + 1);
	}
	return h ? h : 1;
}

/*
 * The op's path, without the type behind it: "jit(step)/mul" of "jit(step)/mul:mul"; "aten::mm" and "nccl:all_reduce"
 * have none: a type has a capital letter, or repeats the name.
 */
static struct ss_str path_of(struct ss_str tf_op)
{
	size_t colon = ss_str_rchr(tf_op, ':');
	if (colon != SS_NPOS && colon && tf_op.p[colon - 1] == ':')
		return tf_op;
	size_t slash = ss_str_rchr(tf_op, '/');
	struct ss_str type = colon == SS_NPOS ? SS_STR("") : ss_str_sub(tf_op, colon + 1, tf_op.n);
	if (slash == SS_NPOS && type.n && type.p[0] >= 'a' && type.p[0] <= 'z' &&
	    !ss_str_eq(type, ss_str_sub(tf_op, 0, colon)))
		return tf_op;
	return colon == SS_NPOS || (slash != SS_NPOS && slash > colon) ? tf_op : ss_str_sub(tf_op, 0, colon);
}

#define MOST_INNER 64
#define MOST_LOOKED 4096

/* Paths of what a fusion holds. */
static bool list_inner(struct ss_diff_reader *r, const struct ss_hlo_module *m, const struct ss_hlo_instr *in,
		       struct ss_diff_op *op)
{
	struct ss_hlo_ids it = ss_hlo_ids_of(in->body, HLO_INSTRUCTION_CALLED_IDS);
	uint64_t found[MOST_INNER];
	int64_t id;
	size_t n = 0, looked = 0;
	while (looked < MOST_LOOKED && ss_hlo_ids_next(&it, &id)) {
		uint32_t c = ss_hlo_computation_by_id(m, id);
		looked++;
		for (uint32_t i = 0;
		     c != SS_NONE && i < m->computations[c].ninstrs && n < MOST_INNER && looked++ < MOST_LOOKED; i++) {
			struct ss_hlo_instr inner;
			ss_hlo_instr_read(m->instrs[m->computations[c].first + i], &inner);
			if (inner.op_name.n)
				found[n++] = ss_str_hash(path_of(inner.op_name));
		}
	}
	op->inner = ss_intern_copy(&r->run->texts, found, n, sizeof(*found));
	op->ninner = n;
	return op->inner != NULL;
}

static bool ask_program(struct ss_diff_reader *r, uint64_t id, struct ss_str module, struct ss_diff_op *op)
{
	struct ss_diff_program *p = id || module.n ? program_of(r, id, module) : NULL;
	struct ss_hlo_instr in;
	if (!p)
		return !id && !module.n;
	op->module = op->module.n ? op->module : p->name;
	uint32_t at = p->m ? ss_hlo_instr_by_name(p->m, op->name) : SS_NONE;
	if (at == SS_NONE)
		return true;
	ss_hlo_instr_read(p->m->instrs[at], &in);
	op->opcode = in.opcode;
	op->shape = print_shape(r, in.shape);
	op->path = op->path.n ? op->path : path_of(in.op_name);
	op->source = op->source.n ? op->source : source_of(r, p, &in);
	op->graph = fingerprint(p->m, &in, 2);
	return !ss_str_is(in.opcode, "fusion") || list_inner(r, p->m, &in, op);
}

/* "%fusion.1 = bf16[256,1024]{1,0} fusion(...)": shape and opcode. */
static void read_text(struct ss_str text, struct ss_diff_op *op)
{
	size_t eq = ss_str_find(text, SS_STR(" = "));
	if (eq == SS_NPOS)
		return;
	struct ss_str rest = ss_str_sub(text, eq + 3, text.n);
	size_t at = 0, depth = 0;
	for (; at < rest.n && (rest.p[at] != ' ' || depth); at++)
		depth = rest.p[at] == '(' ? depth + 1 : rest.p[at] == ')' && depth ? depth - 1 : depth;
	struct ss_str shape = ss_str_sub(rest, 0, at), after = ss_str_sub(rest, at + 1, rest.n);
	size_t layout = ss_str_chr(shape, '{'), call = ss_str_chr(after, '(');
	if (shape.n && shape.p[0] != '(' && layout != SS_NPOS)
		shape = ss_str_sub(shape, 0, layout);
	op->shape = ss_str_sub(shape, 0, 400);
	op->opcode = call == SS_NPOS ? SS_STR("") : ss_str_sub(after, 0, call);
}

static uint64_t read_meta(const struct ss_plane *p, uint32_t meta, struct ss_diff_op *op)
{
	struct ss_xstats it = ss_xevent_meta_stats(p->x, meta < p->x->nevent_meta ? meta : SS_NONE);
	struct ss_xstat s;
	uint64_t program = 0;
	while (ss_xstats_next(&it, &s)) {
		if (s.stat == SS_STAT_TF_OP)
			op->path = path_of(ss_xstat_str(&s));
		else if (s.stat == SS_STAT_SOURCE)
			op->source = ss_xstat_str(&s);
		else if (s.stat == SS_STAT_PROGRAM_ID)
			program = (uint64_t)ss_xstat_int_or_uint(&s);
	}
	return program;
}

/* The owner, described by its texts where they lie. */
static bool describe(struct ss_diff_reader *r, const struct ss_piece_owner *o, struct ss_diff_op *op, uint64_t *program)
{
	struct ss_str name = ss_event_name(o->plane, o->meta);
	op->name = ss_event_kind_label(o->plane, o->meta);
	*program = read_meta(o->plane, o->meta, op);
	if (o->plane->kind == SS_PLANE_GPU)
		op->kernel = op->name = ss_event_name_in_file(o->plane, o->meta);
	else if (o->plane->kind != SS_PLANE_HOST_CPU)
		read_text(name, op);
	if (o->overhead)
		op->name = SS_STR("(between operations)");
	struct ss_str module = SS_STR("");
	if (o->ref) {
		*program = o->ref->program_id ? o->ref->program_id : *program;
		module = o->ref->module;
		op->path = o->ref->path.n ? path_of(o->ref->path) : op->path;
		op->name = o->ref->op.n ? o->ref->op : op->name;
	}
	if (!*program && !module.n && o->plane->kind == SS_PLANE_HOST_CPU) {
		struct ss_op_name parsed = ss_op_name_parse(name);
		if (parsed.category == SS_OP_TENSORFLOW && parsed.type.n) {
			op->path = parsed.name;
			op->opcode = parsed.type;
		}
	}
	op->module = module;
	return ask_program(r, *program, module, op);
}

static struct ss_diff_op keep(struct ss_diff_reader *r, const struct ss_diff_op *op)
{
	struct ss_intern *k = &r->run->texts;
	struct ss_diff_op kept = *op;
	kept.name = ss_intern_str(k, op->name);
	kept.path = ss_intern_str(k, op->path);
	kept.opcode = ss_intern_str(k, op->opcode);
	kept.shape = ss_intern_str(k, op->shape);
	kept.source = ss_intern_str(k, op->source);
	kept.module = ss_intern_str(k, op->module);
	kept.kernel = ss_intern_str(k, op->kernel);
	return kept;
}

bool ss_diff_op_of(struct ss_diff_reader *r, uint32_t owner, enum ss_diff_component c, uint32_t *row)
{
	const struct ss_str none = SS_STR("");
	struct ss_diff_op op = { .name = SS_STR("(between operations)"),
				 .path = none,
				 .opcode = none,
				 .shape = none,
				 .source = none,
				 .module = none,
				 .kernel = none,
				 .component = c };
	uint64_t program = 0;
	if (owner != SS_NO_OWNER) {
		struct ss_piece_owner o = ss_pieces_owner(r->pieces, owner);
		if (!describe(r, &o, &op, &program))
			return false;
	}
	uint64_t key = ss_mix(ss_mix(ss_str_hash(op.name), ss_str_hash(op.path)),
			      ss_mix(ss_mix(program, (uint64_t)c + 1), ss_str_hash(op.module)));
	size_t n = r->run->ops.n;
	*row = ss_u64map_add(&r->op_by_key, key, (uint32_t)n);
	if (*row == n && !(ss_vec_push(&r->run->ops, keep(r, &op)) && ss_diff_grid_rows(&r->ops, n + 1)))
		*row = SS_NONE;
	return *row != SS_NONE;
}
