/*
 * union.c - what the skeletons of all hosts hold, brought together: devices, steps, operations,
 * members of collectives.
 */
#include "base/natural.h"
#include "model/cluster/cluster.h"

#include "base/pool.h"

#include <stdlib.h>

struct uniting {
	struct ss_cluster *c;
	struct ss_u64map steps, runs; /* numbers to indices */
	struct ss_strmap op_texts, keys, likes, group_texts;
	struct ss_buf text;
	struct ss_arena scratch;
	uint32_t at_a_time;	/* outlines that are open */
	struct ss_str ops_of;	/* texts of the operations of the part before, and their numbers */
	uint32_t *ops;
};

/* A text of a skeleton that goes away again, kept once. */
static bool keep(struct ss_cluster *c, struct ss_str s, struct ss_str *out)
{
	uint32_t k = ss_strmap_get(&c->names, s);
	if (k == SS_NONE) {
		struct ss_str copy = ss_arena_str(&c->arena, s);
		k = copy.p ? ss_strmap_add(&c->names, copy) : SS_NONE;
	}
	*out = k == SS_NONE ? SS_STR("") : c->names.keys[k];
	return k != SS_NONE;
}

/* Sizes of PyTorch's are those of single executions: those of other sizes are other operations. */
static uint32_t op_number(struct uniting *u, const struct ss_skel_op *o)
{
	uint64_t bytes = ss_str_starts(o->groups, SS_STR("torch:")) ? o->bytes : 0;
	struct ss_buf *b = &u->text;
	b->n = 0;
	ss_buf_printf(b, "%u %u %llu ", (unsigned)o->kind, (unsigned)o->expected, (unsigned long long)bytes);
	ss_buf_str(b, o->name);
	ss_buf_char(b, '\n');
	ss_buf_str(b, o->program);
	ss_buf_char(b, '\n');
	ss_buf_str(b, o->groups);
	if (b->no_memory)
		return SS_NONE;
	/* Most are those of the host before. */
	uint32_t k = ss_strmap_get(&u->op_texts, ss_buf_get(b));
	if (k != SS_NONE)
		return k;
	struct ss_str copy = ss_arena_str(&u->scratch, ss_buf_get(b));
	return copy.p ? ss_strmap_add(&u->op_texts, copy) : SS_NONE;
}

static bool add_groups(struct uniting *u, const struct ss_skel_op *o, struct ss_cluster_op *to)
{
	struct ss_cluster *c = u->c;
	struct ss_str text;
	struct ss_members m = { .known = false };
	if (!keep(c, o->groups, &text))
		return false;
	to->scope = ss_str_starts(text, SS_STR("torch:")) ? SS_SCOPE_TORCH
		    : ss_str_is(text, "host")		  ? SS_SCOPE_HOST
							  : SS_SCOPE_DEVICES;
	to->groups = ss_strmap_add(&u->group_texts, text);
	if (to->groups == SS_NONE)
		return false;
	if (to->groups < c->groups.n)
		return true;
	return (to->scope != SS_SCOPE_DEVICES || ss_members_read(&m, text, &c->arena)) && ss_vec_push(&c->groups, m);
}

/*
 * Events that may be one collective have one key: a process group of PyTorch's, or an operation of a
 * program.
 */
static bool add_key(struct uniting *u, struct ss_cluster_op *op, const struct ss_skel_op *o)
{
	struct ss_str key = op->scope == SS_SCOPE_TORCH
		? ss_arena_printf(&u->scratch, "t" SS_FMT, SS_ARG(o->groups))
		: ss_arena_printf(&u->scratch, "x" SS_FMT "\n" SS_FMT, SS_ARG(o->name), SS_ARG(o->program));
	uint64_t bytes = op->scope == SS_SCOPE_TORCH ? o->bytes : 0;
	struct ss_str like = ss_arena_printf(&u->scratch, "%u %u %llu " SS_FMT "\n" SS_FMT, (unsigned)o->kind,
					     (unsigned)o->expected, (unsigned long long)bytes, SS_ARG(o->name),
					     SS_ARG(o->program));
	op->key = key.p ? ss_strmap_add(&u->keys, key) : SS_NONE;
	op->like = like.p ? ss_strmap_add(&u->likes, like) : SS_NONE;
	return op->key != SS_NONE && op->like != SS_NONE;
}

/* Index among the operations of all hosts; SS_NONE: memory is out. */
static uint32_t add_op(struct uniting *u, const struct ss_skel_op *o)
{
	struct ss_cluster *c = u->c;
	uint32_t k = op_number(u, o);
	if (k == SS_NONE || k >= SS_MOST_CLUSTER_OPS)
		return SS_NONE;
	if (k < c->ops.n) {
		c->ops.v[k].bytes = o->bytes > c->ops.v[k].bytes ? o->bytes : c->ops.v[k].bytes;
		return k;
	}
	struct ss_cluster_op op = { .kind = o->kind, .bytes = o->bytes, .expected = o->expected };
	bool ok = keep(c, o->name, &op.name) && keep(c, o->program, &op.program) && add_groups(u, o, &op) && add_key(u, &op, o);
	return ok && ss_vec_push(&c->ops, op) ? k : SS_NONE;
}

static bool add_step_num(struct uniting *u, int64_t num, uint32_t *index)
{
	*index = UINT32_MAX;
	if (num == SS_NO_STEP)
		return true;
	*index = ss_u64map_add(&u->steps, (uint64_t)num, (uint32_t)u->c->step_nums.n);
	return *index != SS_NONE && (*index < u->c->step_nums.n || ss_vec_push(&u->c->step_nums, num));
}

static bool add_device(struct uniting *u, uint32_t part, uint32_t index, const struct ss_skel_device *d, const uint32_t *ops)
{
	struct ss_cluster *c = u->c;
	struct ss_cluster_device dev = { .part = part, .index = index, .ordinal = d->ordinal, .number = d->global,
					 .first_member = (uint32_t)c->members.n, .nmembers = (uint32_t)d->comms.n,
					 .first_step = (uint32_t)c->steps.n, .nsteps = (uint32_t)d->steps.n };
	uint32_t at = (uint32_t)c->devices.n, unused;
	if (c->members.n + d->comms.n >= UINT32_MAX || c->steps.n + d->steps.n >= UINT32_MAX ||
	    !ss_vec_reserve(&c->members, c->members.n + d->comms.n) || !ss_vec_push(&c->devices, dev))
		return false;
	for (size_t i = 0; i < d->steps.n; i++) {
		struct ss_cluster_step s = { d->steps.v[i].num, d->steps.v[i].begin_ps, d->steps.v[i].end_ps };
		c->steps_go_back |= i && s.num <= d->steps.v[i - 1].num;
		if (!add_step_num(u, s.num, &unused) || !ss_vec_push(&c->steps, s))
			return false;
	}
	for (size_t i = 0; i < d->comms.n; i++) {
		const struct ss_skel_comm *v = &d->comms.v[i];
		struct ss_member m = { .arrive_ps = v->begin_ps, .end_ps = v->end_ps, .device = at, .collective = UINT32_MAX,
				       .op = ops[v->op] & (SS_MOST_CLUSTER_OPS - 1), .waited = v->waited, .async = v->async };
		struct ss_member_key k = { .run = UINT32_MAX, .seq = v->seq < 0 || v->seq > INT32_MAX ? -1 : (int32_t)v->seq };
		if (v->run) {
			k.run = ss_u64map_add(&u->runs, (uint64_t)v->run, c->nruns);
			if (k.run == SS_NONE)
				return false;
			c->nruns += k.run == c->nruns;
		}
		if (!add_step_num(u, v->step, &k.step) || !ss_vec_push(&c->members, m) || !ss_vec_push(&c->keys, k))
			return false;
	}
	return true;
}

/* Collectives of a part; most have those of the one before. */
static bool add_ops(struct uniting *u, const struct ss_outline *from)
{
	const struct ss_skeleton *s = &from->s;
	bool ok = true;
	if (u->ops && u->ops_of.p == from->ops.p && u->ops_of.n == from->ops.n)
		return true;
	free(u->ops);
	u->ops_of = from->ops;
	u->ops = calloc(s->ops.n + 1, sizeof(*u->ops));
	for (size_t k = 0; u->ops && ok && k < s->ops.n; k++)
		if (s->ops.v[k].cls == SS_SPAN_COLLECTIVE)
			ok = (u->ops[k] = add_op(u, &s->ops.v[k])) != SS_NONE;
	return u->ops && ok;
}

static bool add_part(struct uniting *u, uint32_t i, const struct ss_outline *from, struct ss_err *err)
{
	struct ss_cluster *c = u->c;
	struct ss_cluster_part *p = &c->parts[i];
	const struct ss_skeleton s = from->s;
	p->state = s.state;
	p->is_rank = s.is_rank;
	p->start_unix_ns = s.start_unix_ns;
	p->world = s.world;
	p->first_device = (uint32_t)c->devices.n;
	p->ndevices = (uint32_t)s.devices.n;
	bool ok = keep(c, s.host, &p->file) && keep(c, s.hostname, &p->hostname) && keep(c, s.run, &p->run) &&
		  keep(c, s.note, &p->note) && add_ops(u, from);
	/* Members are of collectives, whatever damaged bytes say. */
	for (size_t k = 0; ok && k < s.devices.n; k++)
		for (size_t n = 0; n < s.devices.v[k].comms.n; n++)
			if (s.ops.v[s.devices.v[k].comms.v[n].op].cls != SS_SPAN_COLLECTIVE)
				ok = ss_fail(err, SS_EFORMAT, "the skeleton of host '" SS_FMT "' is damaged", SS_ARG(s.host));
	for (uint32_t k = 0; ok && k < s.devices.n; k++)
		ok = add_device(u, i, k, &s.devices.v[k], u->ops);
	return ok || ss_fail_mem(err);
}

/* ---- outlines, side by side ---- */

/* Open at a time: starting threads takes as long as opening a few. How large they are is known when some were open. */
#define FIRST_OPENED 8
#define MOST_OPENED 256
#define OPENED_BYTES ((size_t)4 << 20)

struct opened {
	struct ss_cluster *c;
	const struct ss_cluster_part *part;
	struct ss_outline outline;
};

static bool open_outline(void *arg, size_t i, struct ss_err *err)
{
	struct opened *v = &((struct opened *)arg)[i];
	return ss_outline_open(v->c->outlines, v->part->number, v->part->packed, &v->outline, err);
}

static size_t bytes_of(const struct ss_skeleton *s)
{
	size_t bytes = s->events.n * sizeof(*s->events.v) + s->ops.n * sizeof(*s->ops.v);
	for (size_t i = 0; i < s->devices.n; i++) {
		const struct ss_skel_device *d = &s->devices.v[i];
		bytes += d->spans.n * sizeof(*d->spans.v) + d->comms.n * sizeof(*d->comms.v) + d->steps.n * sizeof(*d->steps.v);
	}
	return bytes;
}

/* Adds the parts from *at on, as many as may be open at a time, and moves *at behind them. */
static bool add_parts(struct uniting *u, uint32_t *at, struct ss_err *err)
{
	uint32_t n = u->c->nparts - *at, from = *at;
	n = n < u->at_a_time ? n : u->at_a_time;
	struct opened *v = calloc(n, sizeof(*v));
	size_t largest = OPENED_BYTES / MOST_OPENED;
	if (!v)
		return ss_fail_mem(err);
	for (uint32_t i = 0; i < n; i++)
		v[i] = (struct opened){ .c = u->c, .part = &u->c->parts[from + i] };
	bool ok = ss_parallel(n, 0, open_outline, v, err);
	for (uint32_t i = 0; i < n; i++) {
		size_t bytes = bytes_of(&v[i].outline.s);
		largest = bytes > largest ? bytes : largest;
		ok = ok && add_part(u, from + i, &v[i].outline, err);
		ss_outline_close(&v[i].outline);
	}
	free(v);
	u->at_a_time = OPENED_BYTES / largest > 2 ? (uint32_t)(OPENED_BYTES / largest) : 2;
	*at += n;
	return ok;
}

/* ---- the order of parts ---- */

struct named_part {
	struct ss_cluster_part part;
	struct ss_str host, run;
};

static int by_host_and_run(const void *a, const void *b)
{
	const struct named_part *x = a, *y = b;
	return ss_natural_cmp(x->host, y->host) ?: ss_natural_cmp(x->run, y->run);
}

static bool put_in_order(struct uniting *u, struct ss_err *err)
{
	struct ss_cluster *c = u->c;
	struct named_part *v = calloc(c->nparts + 1, sizeof(*v));
	bool ok = v || ss_fail_mem(err);
	for (uint32_t i = 0; ok && i < c->nparts; i++) {
		v[i].part = c->parts[i];
		ok = ss_skeleton_peek(c->parts[i].packed, &u->scratch, &v[i].host, &v[i].run, err);
	}
	if (ok && c->nparts)
		qsort(v, c->nparts, sizeof(*v), by_host_and_run);
	for (uint32_t i = 0; ok && i < c->nparts; i++)
		c->parts[i] = v[i].part;
	free(v);
	return ok;
}

/*
 * Room for the members of all parts, by what the first have for their bytes: growing step by step
 * would leave half of it in pieces behind. It may fail; then it grows.
 */
static void make_room(struct ss_cluster *c, uint32_t done)
{
	double all = 0, seen = 1;
	for (uint32_t i = 0; i < c->nparts; i++) {
		all += (double)c->parts[i].packed.n;
		seen += i < done ? (double)c->parts[i].packed.n : 0;
	}
	double n = 1.02 * (double)c->members.n * all / seen;
	if (n < UINT32_MAX) {
		(void)ss_vec_reserve(&c->members, (size_t)n);
		(void)ss_vec_reserve(&c->keys, (size_t)n);
	}
}

/* The least distance of numbers if most have it, and more than one pair; else 1. False: memory is out. */
static bool find_stride(struct ss_cluster *c)
{
	size_t n = c->step_nums.n, alike = 0;
	int64_t *nums = malloc((n + 1) * sizeof(*nums));
	uint64_t least = UINT64_MAX;
	c->step_stride = 1;
	if (!nums || !n) {
		free(nums);
		return !n;
	}
	memcpy(nums, c->step_nums.v, n * sizeof(*nums));
	qsort(nums, n, sizeof(*nums), ss_cmp_i64);
	for (size_t i = 1; i < n; i++) {
		uint64_t apart = (uint64_t)nums[i] - (uint64_t)nums[i - 1];
		alike = apart < least ? 0 : alike;
		least = apart < least ? apart : least;
		alike += apart == least;
	}
	if (alike > 1 && 2 * alike > n - 1 && least <= INT64_MAX)
		c->step_stride = (int64_t)least;
	free(nums);
	return true;
}

bool ss_cluster_unite(struct ss_cluster *c, struct ss_err *err)
{
	struct uniting u = { .c = c, .at_a_time = FIRST_OPENED };
	bool ok = put_in_order(&u, err);
	for (uint32_t i = 0; ok && i < c->nparts;) {
		bool first = !i;
		ok = add_parts(&u, &i, err);
		if (ok && first)
			make_room(c, i);
	}
	free(u.ops);
	ok = ok && (find_stride(c) || ss_fail_mem(err));
	ss_u64map_free(&u.steps);
	ss_u64map_free(&u.runs);
	ss_strmap_free(&u.op_texts);
	ss_strmap_free(&u.keys);
	ss_strmap_free(&u.likes);
	ss_strmap_free(&u.group_texts);
	ss_buf_free(&u.text);
	ss_arena_release(&u.scratch);
	return ok;
}
