/*
 * subjects.c - the sums of a unit by name.
 *
 * Calls of the thread that starts programs are looked for along the paths, from the outermost
 * inwards, each time to the one that holds most, as long as that is a third or more: what lies
 * deeper is spread over many, what lies higher says less. All else is summed by its name.
 */
#include "model/attribution/build.h"

#include "base/safe.h"
#include "model/attribution/frames.h"
#include "model/attribution/thresholds.h"
#include "model/host/opname.h"
#include "model/program/hlo_map.h"

#include <math.h>
#include <stdlib.h>

#define MAX_DEPTH 64

struct list {
	SS_VEC(struct ss_time_subject) v;
	bool failed;
};

static struct ss_time_subject blank(enum ss_time_class class)
{
	return (struct ss_time_subject){ .class = class,
					 .name = SS_STR(""),
					 .detail = SS_STR(""),
					 .caller = SS_STR(""),
					 .flops_frac = NAN,
					 .bytes_frac = NAN };
}

static uint64_t total_ps(const struct ss_time_subject *s)
{
	return s->ps[SS_REGION_STEPS] + s->ps[SS_REGION_OUTLIERS] + s->ps[SS_REGION_BETWEEN];
}

/* ---- calls ---- */

struct descent {
	struct ss_attr_build *b;
	struct list *out;
	uint64_t *incl_ps; /* by call: with what lies below of the same class */
	uint8_t *chosen;   /* by call: in the group that holds most */
	enum ss_time_region region;
	uint32_t path[MAX_DEPTH]; /* metadata */
	size_t depth;
	uint32_t example; /* the call of the last group that took longest at a stretch */
};

static bool is_root(const struct ss_attr_build *b, uint32_t i)
{
	uint32_t parent = b->calls.v[i].parent;
	return parent == SS_NONE || b->calls.v[parent].class != b->calls.v[i].class;
}

static void sum_up(struct descent *d)
{
	struct ss_attr_build *b = d->b;
	for (size_t i = 0; i < b->calls.n; i++)
		d->incl_ps[i] = i < b->sums->calls.n ? b->sums->calls.v[i].ps[d->region] : 0;
	for (uint32_t i = (uint32_t)b->calls.n; i-- > 0;)
		if (!is_root(b, i))
			d->incl_ps[b->calls.v[i].parent] += d->incl_ps[i];
}

/*
 * One level inwards; false where none holds enough. `least_ps` of the first level is 0: some name
 * is better than none.
 */
static bool go_in(struct descent *d, enum ss_time_class class, uint64_t min_ps)
{
	struct ss_attr_build *b = d->b;
	struct ss_u64map groups = { 0 };
	SS_VEC(struct {
		uint32_t meta;
		uint64_t ps;
	})
	sums = { 0 };
	size_t best = 0;
	bool first = d->depth == 0;
	for (uint32_t i = 0; i < b->calls.n && !d->out->failed; i++) {
		const struct ss_call *c = &b->calls.v[i];
		if (c->class != class || !d->incl_ps[i] ||
		    (first ? !is_root(b, i) : is_root(b, i) || d->chosen[c->parent] != d->depth))
			continue;
		uint32_t at = ss_u64map_add(&groups, c->meta, (uint32_t)sums.n);
		if (at == SS_NONE ||
		    (at == sums.n && (ss_vec_reserve(&sums, sums.n + 1)
					      ? (sums.v[sums.n].meta = c->meta, sums.v[sums.n++].ps = 0, false)
					      : true))) {
			d->out->failed = true;
			break;
		}
		sums.v[at].ps += d->incl_ps[i];
		best = sums.v[at].ps > sums.v[best].ps ? at : best;
	}
	bool ok = !d->out->failed && sums.n && sums.v[best].ps >= min_ps;
	uint64_t longest_ps = 0;
	bool seen = false;
	for (uint32_t i = 0; ok && i < b->calls.n; i++) {
		const struct ss_call *c = &b->calls.v[i];
		if (c->class != class || c->meta != sums.v[best].meta || !d->incl_ps[i] ||
		    (first ? !is_root(b, i) : is_root(b, i) || d->chosen[c->parent] != d->depth))
			continue;
		const struct ss_tally *t = &b->sums->calls.v[i];
		d->chosen[i] = (uint8_t)(d->depth + 1);
		if (!seen || ss_safe_between(t->begin_ps, t->end_ps) > longest_ps) {
			seen = true;
			longest_ps = ss_safe_between(t->begin_ps, t->end_ps);
			d->example = i;
		}
	}
	if (ok)
		d->path[d->depth++] = sums.v[best].meta;
	ss_u64map_free(&groups);
	ss_vec_free(&sums);
	return ok;
}

static bool has_source(const struct ss_attr_build *b, uint32_t meta)
{
	struct ss_frame f;
	struct ss_str name = ss_event_name(b->host, meta);
	return !ss_frame_parse(name, &f) || f.line;
}

static struct ss_str text_of(struct descent *d, uint32_t meta)
{
	struct ss_str s = ss_frame_text(ss_event_name(d->b->host, meta), d->b->arena);
	d->out->failed = d->out->failed || !s.p;
	return s.p ? s : SS_STR("");
}

/* The innermost call of the program's own around a call of another class. */
static uint32_t own_caller(const struct ss_attr_build *b, uint32_t call)
{
	for (uint32_t i = b->calls.v[call].parent; i != SS_NONE; i = b->calls.v[i].parent)
		if (b->calls.v[i].class == SS_TIME_HOST_CODE && has_source(b, b->calls.v[i].meta))
			return b->calls.v[i].meta;
	return SS_NONE;
}

/* "<listcomp>": a piece of the function around it. */
static bool is_inline(const struct ss_attr_build *b, uint32_t meta)
{
	struct ss_frame f;
	return ss_frame_parse(ss_event_name(b->host, meta), &f) && f.line && f.func.n && f.func.p[0] == '<';
}

/*
 * Who calls what stands at `at` of the path: the nearest of the file in which the path begins, as a
 * function of a library says less about the program than the line that calls it.
 */
static size_t caller_at(const struct descent *d, size_t at)
{
	struct ss_frame first = { .file = SS_STR("") }, f;
	size_t i = 0;
	for (; i < at && !(ss_frame_parse(ss_event_name(d->b->host, d->path[i]), &first) && first.line); i++)
		;
	if (i == at || (ss_frame_parse(ss_event_name(d->b->host, d->path[at]), &f) && ss_str_eq(f.file, first.file)))
		return at - 1;
	for (i = at; i-- > 0;)
		if (ss_frame_parse(ss_event_name(d->b->host, d->path[i]), &f) && f.line &&
		    ss_str_eq(f.file, first.file))
			return i;
	return at - 1;
}

/* "shuffle (main.py:4)" is what an annotation around it calls "shuffle". */
static bool is_same_function(struct ss_str frame, struct ss_str name)
{
	return name.n && frame.n > name.n && frame.p[name.n] == ' ' && ss_str_starts(frame, name);
}

/* The path as name, detail and caller. */
static void describe(struct descent *d, struct ss_time_subject *s)
{
	const struct ss_attr_build *b = d->b;
	size_t last = d->depth - 1, at = last;
	bool outer = s->class == SS_TIME_CALLBACK || s->class == SS_TIME_SYNC || s->class == SS_TIME_LOCK ||
		     s->class == SS_TIME_GC || s->class == SS_TIME_COPY;
	while (at > 0 && (!has_source(b, d->path[at]) || is_inline(b, d->path[at])))
		at--;
	if (outer) {
		s->name = text_of(d, d->path[0]);
		if (last > 0)
			s->detail = text_of(d, d->path[at > 0 ? at : last]);
	} else {
		s->name = text_of(d, d->path[at]);
		if (last > at)
			s->detail = text_of(d, d->path[last]);
		if (at > 0)
			s->caller = text_of(d, d->path[caller_at(d, at)]);
	}
	/* An annotation with the name of the function around it. */
	if (is_same_function(s->caller, s->name) || is_same_function(s->name, s->caller))
		s->caller = SS_STR("");
	uint32_t caller = s->caller.n || s->class == SS_TIME_HOST_CODE ? SS_NONE : own_caller(b, d->example);
	if (caller != SS_NONE)
		s->caller = text_of(d, caller);
	s->begin_ps = b->sums->calls.v[d->example].begin_ps;
	s->end_ps = b->sums->calls.v[d->example].end_ps;
}

static void add_path(struct descent *d, enum ss_time_class class, uint64_t whole_ps)
{
	uint64_t min_ps = (uint64_t)(SS_CALL_HOLDS_FRAC * (double)whole_ps), held_ps = 0;
	struct ss_time_subject s = blank(class);
	d->depth = 0;
	memset(d->chosen, 0, d->b->calls.n);
	while (d->depth < MAX_DEPTH && go_in(d, class, d->depth ? min_ps : 0))
		;
	if (!d->depth || d->out->failed)
		return;
	for (size_t i = 0; i < d->b->calls.n; i++)
		if (d->chosen[i] == d->depth)
			held_ps += d->incl_ps[i];
	describe(d, &s);
	s.ps[d->region] = held_ps;
	d->out->failed = d->out->failed || !ss_vec_push(&d->out->v, s);
}

static void add_paths(struct ss_attr_build *b, const struct ss_time_unit *u, struct list *out)
{
	struct descent d = { .b = b, .out = out };
	if (!b->sums->calls.n)
		return;
	d.incl_ps = calloc(b->calls.n + 1, sizeof(*d.incl_ps));
	d.chosen = calloc(b->calls.n + 1, 1);
	out->failed = out->failed || !d.incl_ps || !d.chosen;
	for (int r = 0; r < SS_REGION_COUNT && !out->failed; r++) {
		d.region = (enum ss_time_region)r;
		sum_up(&d);
		for (int c = 0; c < SS_TIME_COUNT && !out->failed; c++)
			if (u->ps[c][r])
				add_path(&d, (enum ss_time_class)c, u->ps[c][r]);
	}
	free(d.incl_ps);
	free(d.chosen);
}

/* ---- names ---- */

/*
 * A function with brackets, as one that is called "train" is not the step. p is NULL when memory is
 * out.
 */
static struct ss_str called(struct ss_attr_build *b, struct ss_str event, uint32_t meta)
{
	struct ss_str name = ss_called_name(event);
	bool function = name.n < event.n && (ss_str_starts(event, SS_STR("PjitFunction(")) ||
					     ss_str_starts(event, SS_STR("EagerLocalExecute: __")));
	/* A tf.function is an event of its own name. */
	bool known = meta < b->host->x->nevent_meta && b->kinds.known[meta] == SS_KIND_FUNCTION;
	bool plain = (known || (b->kinds.marker.n && ss_str_eq(event, b->kinds.marker))) &&
		     ss_str_chr(event, '#') == SS_NPOS && ss_str_chr(event, ' ') == SS_NPOS &&
		     ss_str_chr(event, ':') == SS_NPOS;
	return function || plain ? ss_arena_printf(b->arena, SS_FMT "()", SS_ARG(name)) : name;
}

static struct ss_str name_of(struct ss_attr_build *b, const struct ss_named *n)
{
	const struct ss_plane *p = &b->planes[n->plane];
	struct ss_str name = ss_event_name(p, n->meta);
	if (p != b->host)
		return p->kind == SS_PLANE_GPU ? ss_event_name_in_file(p, n->meta) : ss_event_label(p, n->meta);
	if (n->class != SS_TIME_COMPUTE)
		return called(b, name, n->meta);
	struct ss_op_name op = ss_op_name_parse(name);
	return op.category == SS_OP_TENSORFLOW && op.type.n ? op.type : ss_called_name(name);
}

/* The kind of a device's operation, and the share of the device's peaks that it reaches. */
static void describe_op(struct ss_attr_build *b, const struct ss_named *n, struct ss_time_subject *s, uint64_t ps,
			uint64_t count)
{
	const struct ss_plane *p = &b->planes[n->plane];
	struct ss_peaks peaks = { 0 };
	struct ss_xstat x;
	struct ss_str op = SS_STR(""), source = SS_STR("");
	double flops = 0, bytes = 0, seconds = (double)ps / 1e12;
	bool known = false;
	s->on_device = p != b->host;
	if (!s->on_device || n->meta >= p->x->nevent_meta)
		return;
	struct ss_xstats it = ss_xevent_meta_stats(p->x, n->meta);
	while (ss_xstats_next(&it, &x)) {
		if (x.stat == SS_STAT_TF_OP)
			op = ss_xstat_str(&x);
		else if (x.stat == SS_STAT_SOURCE)
			source = ss_xstat_str(&x);
		else if (x.stat == SS_STAT_FLOPS || x.stat == SS_STAT_BYTES_ACCESSED) {
			*(x.stat == SS_STAT_FLOPS ? &flops : &bytes) = (double)ss_xstat_int_or_uint(&x);
			known = true;
		}
	}
	s->detail = op.n && source.n ? ss_arena_printf(b->arena, SS_FMT ", " SS_FMT, SS_ARG(op), SS_ARG(source))
		    : op.n	     ? op
				     : source;
	if (!s->detail.p)
		s->detail = SS_STR("");
	ss_peaks_read(&peaks, p);
	if (known && count && seconds > 0 && peaks.tflops > 0)
		s->flops_frac = flops * (double)count / seconds / (peaks.tflops * 1e12);
	if (known && count && seconds > 0 && peaks.bw_gb_per_s[SS_BW_HBM] > 0)
		s->bytes_frac = bytes * (double)count / seconds / (peaks.bw_gb_per_s[SS_BW_HBM] * 1e9);
}

/* Programs that are looked into for the name of an operation. */
#define MOST_PROGRAMS 64

/* The source name of an XLA operation on a CPU, if all programs that have an operation of its name agree. */
static bool framework_op_of(struct ss_attr_build *b, struct ss_str op, struct ss_str *out)
{
	struct ss_err err = { 0 };
	struct ss_hlo_map *map = ss_host_hlo(b->h, &err);
	struct ss_str found = SS_STR("");
	uint32_t n = 0;
	if (!map || !ss_hlo_map_entries(map, &n) || n > MOST_PROGRAMS)
		return map;
	for (uint32_t i = 0; i < n; i++) {
		const struct ss_hlo_module *m;
		struct ss_hlo_instr in;
		if (!ss_hlo_map_at(map, i, &m, &err))
			return false;
		uint32_t at = m ? ss_hlo_instr_by_name(m, op) : SS_NONE;
		if (at == SS_NONE)
			continue;
		ss_hlo_instr_read(m->instrs[at], &in);
		if (found.n && !ss_str_eq(found, in.op_name))
			return true;
		found = in.op_name;
	}
	*out = ss_arena_str(b->arena, found);
	return out->p;
}

struct sum {
	struct ss_time_subject s;
	uint32_t named; /* the one of them with most time */
	uint64_t most_ps;
};

/* Larger first; of one class. */
static int by_time(const void *a, const void *b)
{
	const struct sum *x = a, *y = b;
	uint64_t px = total_ps(&x->s), py = total_ps(&y->s);
	return SS_CMP(x->s.class, y->s.class) ?: SS_CMP(py, px) ?: ss_str_cmp(x->s.name, y->s.name);
}

struct by_name {
	struct ss_strmap names;
	struct ss_u64map places; /* by name and class */
	SS_VEC(struct sum) v;
};

/* The sum that an owner belongs to; NULL: no memory. */
static struct sum *sum_of(struct by_name *to, struct ss_attr_build *b, const struct ss_named *n)
{
	struct ss_time_subject s = blank(n->class);
	s.name = name_of(b, n);
	if (s.name.p && !s.name.n)
		s.name = SS_STR(SS_NAMELESS);
	if (!s.name.p)
		return NULL;
	uint32_t name = ss_strmap_add(&to->names, s.name);
	uint32_t at = name == SS_NONE ? SS_NONE
				      : ss_u64map_add(&to->places, (uint64_t)name << 8 | n->class, (uint32_t)to->v.n);
	bool ok = at != SS_NONE && (at < to->v.n || ss_vec_push(&to->v, ((struct sum){ .s = s })));
	return ok ? &to->v.v[at] : NULL;
}

/*
 * What lies between operations is none. But where an instruction that holds others (while, call, conditional) runs them without
 * telling, it is the operation that is known.
 */
static bool is_loop(const struct ss_attr_build *b, const struct ss_named *n)
{
	struct ss_str name = ss_event_name(&b->planes[n->plane], n->meta);
	return ss_hlo_holds_others(name);
}

/* Tallies of owners that follow each other. */
static bool add_tallies(struct by_name *to, struct ss_attr_build *b, const struct ss_tally *v, size_t n, uint32_t first)
{
	for (size_t i = 0; i < n; i++) {
		const struct ss_tally *t = &v[i];
		uint32_t owner = first + (uint32_t)i;
		uint64_t ps = t->ps[0] + t->ps[1] + t->ps[2];
		if (!ps || (b->named.v[owner].overhead && !is_loop(b, &b->named.v[owner])))
			continue;
		struct sum *sum = sum_of(to, b, &b->named.v[owner]);
		if (!sum)
			return false;
		for (int r = 0; r < SS_REGION_COUNT; r++)
			sum->s.ps[r] += t->ps[r];
		if (ps > sum->most_ps) {
			sum->most_ps = ps;
			sum->named = owner;
			sum->s.begin_ps = t->begin_ps;
			sum->s.end_ps = t->end_ps;
		}
	}
	return true;
}

static bool list_largest(struct ss_attr_build *b, struct sum *v, size_t n, struct list *out)
{
	bool ok = true;
	for (size_t i = 0, of_class = 0; ok && i < n; i++) {
		const struct ss_named *named = &b->named.v[v[i].named];
		of_class = i && v[i].s.class == v[i - 1].s.class ? of_class + 1 : 0;
		if (of_class >= SS_MOST_SUBJECTS)
			continue;
		v[i].s.name = ss_frame_text(v[i].s.name, b->arena);
		describe_op(b, named, &v[i].s, v[i].most_ps, named->count);
		if (!of_class && v[i].s.class == SS_TIME_COMPUTE && !v[i].s.on_device)
			ok = framework_op_of(b, v[i].s.name, &v[i].s.detail);
		ok = ok && v[i].s.name.p && ss_vec_push(&out->v, v[i].s);
	}
	return ok;
}

static bool add_named(struct ss_attr_build *b, struct list *out)
{
	const struct ss_time_sums *s = b->sums;
	struct by_name sums = { 0 };
	bool ok = add_tallies(&sums, b, s->device.v, s->device.n, s->first) &&
		  add_tallies(&sums, b, s->host.v, s->host.n, b->first_host_owner);
	if (sums.v.n)
		qsort(sums.v.v, sums.v.n, sizeof(*sums.v.v), by_time);
	ok = ok && list_largest(b, sums.v.v, sums.v.n, out);
	ss_strmap_free(&sums.names);
	ss_u64map_free(&sums.places);
	ss_vec_free(&sums.v);
	return ok;
}

static int by_class(const void *a, const void *b)
{
	const struct ss_time_subject *x = a, *y = b;
	uint64_t px = total_ps(x), py = total_ps(y);
	return SS_CMP(x->class, y->class) ?: SS_CMP(py, px) ?: ss_str_cmp(x->name, y->name);
}

bool ss_attr_subjects(struct ss_attr_build *b, struct ss_time_unit *out)
{
	struct list l = { 0 };
	l.failed = !add_named(b, &l);
	if (!l.failed)
		add_paths(b, out, &l);
	if (!l.failed && l.v.n) {
		qsort(l.v.v, l.v.n, sizeof(*l.v.v), by_class);
		out->subjects = SS_NEW_N(b->arena, struct ss_time_subject, l.v.n);
		l.failed = !out->subjects;
		if (!l.failed) {
			memcpy(out->subjects, l.v.v, l.v.n * sizeof(*l.v.v));
			out->nsubjects = l.v.n;
		}
	}
	ss_vec_free(&l.v);
	return !l.failed;
}
