/*
 * facts.c - what a run was recorded on and with: devices, versions, options, the program's
 * parameters, memory.
 */
#include "diff/read.h"

#include "base/buf.h"
#include "hlo/shape.h"
#include "model/device/env.h"
#include "model/host/host.h"
#include "model/host/plane.h"
#include "model/program/hlo_map.h"
#include "model/torch/torch.h"

#include <stdlib.h>

#define MOST_FACTS 200
#define MOST_VALUE_BYTES 2000

/* A value is one line: JSON is recorded with line ends and indents. */
static struct ss_str one_line(char *to, struct ss_str value)
{
	size_t n = 0;
	value = ss_utf8_front(value, MOST_VALUE_BYTES);
	for (size_t i = 0; i < value.n; i++) {
		bool blank = (unsigned char)value.p[i] <= ' ';
		if (!blank || (n && to[n - 1] != ' '))
			to[n++] = blank ? ' ' : value.p[i];
	}
	return (struct ss_str){ to, n && to[n - 1] == ' ' ? n - 1 : n };
}

static bool add_fact(struct ss_diff_run *run, struct ss_str key, struct ss_str value)
{
	char line[MOST_VALUE_BYTES];
	struct ss_diff_fact f = { ss_intern_str(&run->texts, key), ss_intern_str(&run->texts, one_line(line, value)) };
	return !f.value.n || run->facts.n >= MOST_FACTS || ss_vec_push(&run->facts, f);
}

static bool add_number(struct ss_diff_reader *r, struct ss_str key, uint64_t n)
{
	struct ss_str text = ss_arena_printf(&r->arena, "%llu", (unsigned long long)n);
	return text.p && add_fact(r->run, key, text);
}

/* ---- the task's environment ---- */

/* Differs from recording to recording by itself. */
static bool is_fleeting(struct ss_str key)
{
	static const char *const words[] = { "time", "pid", "hostname", "host_name", "uuid", "session", "trace_id" };
	for (size_t i = 0; i < SS_COUNT(words); i++)
		if (ss_str_contains(key, ss_str_from(words[i])))
			return true;
	return false;
}

static bool add_stat(struct ss_diff_reader *r, const struct ss_xplane *x, const struct ss_xstat *s)
{
	struct ss_str key = s->meta == SS_NONE ? SS_STR("") : x->stat_meta[s->meta].name;
	if (!key.n || is_fleeting(key))
		return true;
	if (s->kind == SS_X_STR)
		return add_fact(r->run, key, s->s);
	return (s->kind != SS_X_INT && s->kind != SS_X_UINT) || add_number(r, key, s->u);
}

static bool add_task(struct ss_diff_reader *r, const struct ss_host *h)
{
	const struct ss_plane *p = ss_host_plane(h, SS_PLANE_TASK_ENV);
	struct ss_xstat s;
	if (!p)
		return true;
	struct ss_xstats it = ss_xplane_stats(p->x);
	while (ss_xstats_next(&it, &s))
		if (!add_stat(r, p->x, &s))
			return false;
	return true;
}

/* ---- the program that takes most time ---- */

static const struct ss_hlo_entry *main_program(struct ss_diff_reader *r, struct ss_hlo_map *map, uint32_t *at)
{
	uint32_t n = 0, best = SS_NONE;
	const struct ss_hlo_entry *e = ss_hlo_map_entries(map, &n);
	double most_us = 0;
	for (uint32_t i = 0; i < n; i++) {
		double us = 0;
		for (size_t k = 0; k < r->run->ops.n; k++)
			if (ss_str_eq(r->run->ops.v[k].module, e[i].module.name))
				us += r->ops.total[k];
		if (us > most_us) {
			most_us = us;
			best = i;
		}
	}
	*at = best;
	return best == SS_NONE ? NULL : &e[best];
}

struct parameter {
	int64_t number;
	struct ss_str shape;
};

static int by_number(const void *a, const void *b)
{
	const struct parameter *x = a, *y = b;
	return SS_CMP(x->number, y->number);
}

static bool add_parameters(struct ss_diff_reader *r, const struct ss_hlo_module *m)
{
	SS_VEC(struct parameter) v = { 0 };
	uint32_t c = ss_hlo_computation_by_id(m, m->entry_id);
	const struct ss_hlo_computation *entry = c != SS_NONE	    ? &m->computations[c]
						 : m->ncomputations ? &m->computations[m->ncomputations - 1]
								    : NULL;
	bool ok = true;
	for (uint32_t i = 0; ok && entry && i < entry->ninstrs; i++) {
		struct ss_hlo_instr in;
		ss_hlo_instr_read(m->instrs[entry->first + i], &in);
		if (ss_str_is(in.opcode, "parameter"))
			ok = ss_vec_push(&v, ((struct parameter){ in.parameter_number, in.shape }));
	}
	if (v.n)
		qsort(v.v, v.n, sizeof(*v.v), by_number);
	for (size_t i = 0; ok && i < v.n; i++) {
		struct ss_buf b = { .limit_bytes = MOST_VALUE_BYTES };
		ss_hlo_shape_print(&b, v.v[i].shape, false);
		ok = ss_vec_push(&r->run->parameters, ss_intern_str(&r->run->texts, ss_buf_get(&b)));
		ss_buf_free(&b);
	}
	ss_vec_free(&v);
	return ok;
}

#define MOST_TORCH_SHAPES 256

/* "[32,3,224,224]" of "[[32,3,224,224],[64,3,7,7]]". */
static struct ss_str first_shape(struct ss_str dims)
{
	size_t end = ss_str_chr(dims, ']');
	return ss_str_starts(dims, SS_STR("[[")) && end != SS_NPOS ? ss_str_sub(dims, 1, end + 1) : SS_STR("");
}

/*
 * PyTorch has no program with parameters: what its outermost operators of the forward pass are given says as much,
 * each shape once.
 */
static bool add_torch_shapes(struct ss_diff_reader *r)
{
	struct ss_err ignored = { 0 };
	const struct ss_torch *t = ss_host_is_kineto(r->host) ? ss_host_torch(r->host, &ignored) : NULL;
	struct ss_strmap known = { 0 };
	bool ok = ignored.code != SS_ENOMEM;
	for (size_t i = 0; ok && t && t->record_shapes && i < t->ops.n && known.n < MOST_TORCH_SHAPES; i++) {
		const struct ss_torch_op *o = &t->ops.v[i];
		struct ss_str shape = first_shape(ss_torch_text(t, t->shapes.v[o->shape].dims));
		if (o->parent != SS_NONE || o->backward || !shape.n)
			continue;
		struct ss_str name = ss_torch_text(t, o->name);
		struct ss_str text = ss_arena_printf(&r->arena, SS_FMT SS_FMT, SS_ARG(name), SS_ARG(shape));
		uint32_t n = known.n, at = text.p ? ss_strmap_add(&known, text) : SS_NONE;
		ok = at != SS_NONE && (at < n || ss_vec_push(&r->run->parameters, ss_intern_str(&r->run->texts, text)));
	}
	ss_strmap_free(&known);
	return ok;
}

/* "bf16, f32": the types of its parameters and of what its operations give. */
static bool add_types(struct ss_diff_reader *r)
{
	struct ss_strmap types = { 0 };
	struct ss_buf b = { .limit_bytes = MOST_VALUE_BYTES };
	bool ok = true;
	for (size_t i = 0; ok && i < r->run->parameters.n; i++) {
		struct ss_str s = r->run->parameters.v[i];
		size_t open = ss_str_chr(s, '[');
		if (open != SS_NPOS && open && s.p[0] != '(')
			ok = ss_strmap_add(&types, ss_str_sub(s, 0, open)) != SS_NONE;
	}
	for (uint32_t i = 0; i < types.n; i++) {
		if (i)
			ss_buf_lit(&b, ", ");
		ss_buf_str(&b, types.keys[i]);
	}
	ok = ok && !b.no_memory && add_fact(r->run, SS_STR("dtype"), ss_buf_get(&b));
	ss_strmap_free(&types);
	ss_buf_free(&b);
	return ok;
}

static bool add_shapes(struct ss_diff_reader *r)
{
	struct ss_buf b = { .limit_bytes = MOST_VALUE_BYTES };
	for (size_t i = 0; i < r->run->parameters.n && b.n < MOST_VALUE_BYTES / 2; i++) {
		if (i)
			ss_buf_lit(&b, ", ");
		ss_buf_str(&b, r->run->parameters.v[i]);
	}
	bool ok = !b.no_memory && add_fact(r->run, SS_STR("entry_parameters"), ss_buf_get(&b));
	ss_buf_free(&b);
	return ok;
}

bool ss_diff_program_facts(struct ss_diff_reader *r)
{
	struct ss_err ignored = { 0 };
	struct ss_hlo_map *map = r->run->parameters.n ? NULL : ss_host_hlo(r->host, &ignored);
	const struct ss_hlo_module *m = NULL;
	uint32_t at;
	const struct ss_hlo_entry *e = map ? main_program(r, map, &at) : NULL;
	if (ignored.code == SS_ENOMEM)
		return false;
	if (!e && !r->run->parameters.n)
		return add_torch_shapes(r) && add_shapes(r);
	if (!e || !ss_hlo_map_at(map, at, &m, &ignored))
		return ignored.code != SS_ENOMEM;
	return add_fact(r->run, SS_STR("program"), e->module.name) && add_parameters(r, m) && add_types(r) && add_shapes(r);
}

/* ---- devices ---- */

static bool add_device(struct ss_diff_reader *r, const struct ss_host *h)
{
	struct ss_diff_run *run = r->run;
	for (uint32_t i = 0; i < h->nplanes && !run->device_type.n; i++) {
		const struct ss_plane *p = &h->planes[i];
		struct ss_xstat s;
		struct ss_str type = SS_STR("");
		if (p->kind == SS_PLANE_TENSOR_CORE &&
		    ss_xstats_find(ss_xplane_stats(p->x), SS_STAT_DEVICE_TYPE_STRING, &s))
			type = ss_xstat_str(&s);
		if (p->kind == SS_PLANE_GPU) {
			type = ss_xstats_find(ss_xplane_stats(p->x), SS_STAT_GPU_DEVICE_NAME, &s)
				       ? ss_xstat_str(&s)
				       : ss_gpu_model_name(p, &r->arena);
		}
		run->device_type = ss_intern_str(&run->texts, type);
	}
	return true;
}

bool ss_diff_host_facts(struct ss_diff_reader *r, const struct ss_pieces *p)
{
	struct ss_memory_trend t;
	struct ss_err ignored = { 0 };
	bool first = !r->run->nhosts;
	if (!ss_memory_trend_read(&t, p->host, r->windows, &ignored))
		return ignored.code != SS_ENOMEM;
	if (t.known) {
		if (!r->run->memory.n && !ss_vec_push(&r->run->memory, ((struct ss_diff_memory){ SS_STR("peak"), 0 })))
			return false;
		double bytes = (double)t.peak_bytes;
		r->run->memory.v[0].bytes = bytes > r->run->memory.v[0].bytes ? bytes : r->run->memory.v[0].bytes;
	}
	return !first || (add_device(r, p->host) && add_task(r, p->host));
}

struct ss_str ss_diff_steps_from(const struct ss_diff_run *r)
{
	return r->device_alone ? SS_STR("derived only from the device") : ss_step_source_name(r->steps_from);
}

bool ss_diff_run_facts(struct ss_diff_reader *r)
{
	struct ss_diff_run *run = r->run;
	if (!run->device_type.n)
		run->device_type = run->on_cpu ? SS_STR("CPU") : SS_STR("");
	return add_fact(run, SS_STR("device_type"), run->device_type) &&
	       add_number(r, SS_STR("device_count"), run->ndevices) && add_number(r, SS_STR("host_count"), run->nhosts) &&
	       add_number(r, SS_STR("steps"), run->steps.n) &&
	       add_fact(run, SS_STR("steps_from"), ss_diff_steps_from(run));
}
