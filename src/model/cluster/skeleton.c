/* skeleton.c - see skeleton.h: the parts of a host's profile that are read, one after the other. */
#include "model/cluster/skeleton.h"

#include "base/bisect.h"
#include "hlo/text.h"
#include "model/cluster/skeleton_read.h"
#include "wire/json.h"

#include <stdio.h>
#include <stdlib.h>

uint32_t ss_skel_op(struct ss_skel_reading *r, const struct ss_skel_op *op)
{
	struct ss_arena *a = &r->s->arena;
	char head[64];
	int n = snprintf(head, sizeof(head), "%u %u %llx %llx %x ", (unsigned)op->cls, (unsigned)op->kind,
			 (unsigned long long)op->program_id, (unsigned long long)op->bytes, (unsigned)op->expected);
	size_t size = (size_t)n + op->name.n + op->groups.n + op->program.n + 2;
	char scratch[512], *key = size <= sizeof(scratch) ? scratch : malloc(size);
	if (!key)
		return SS_NONE;
	struct ss_str parts[] = { { head, (size_t)n }, op->name, SS_STR("\n"), op->groups, SS_STR("\n"), op->program };
	size_t at = 0;
	for (size_t i = 0; i < SS_COUNT(parts); i++) {
		if (parts[i].n)
			memcpy(key + at, parts[i].p, parts[i].n);
		at += parts[i].n;
	}
	uint32_t k = ss_strmap_get(&r->op_keys, (struct ss_str){ key, at });
	if (k == SS_NONE) {
		struct ss_skel_op copy = *op;
		struct ss_str kept = ss_arena_str(&r->arena, (struct ss_str){ key, at });
		copy.name = ss_arena_str(a, op->name);
		copy.groups = ss_arena_str(a, op->groups);
		copy.program = ss_arena_str(a, op->program);
		if (kept.p && copy.name.p && copy.groups.p && copy.program.p && ss_vec_push(&r->s->ops, copy))
			k = ss_strmap_add(&r->op_keys, kept);
	}
	if (key != scratch)
		free(key);
	return k;
}

struct ss_skel_device *ss_skel_device_at(struct ss_skel_reading *r, int64_t ordinal)
{
	size_t at = 0;
	while (at < r->s->devices.n && r->s->devices.v[at].ordinal < ordinal)
		at++;
	if (at < r->s->devices.n && r->s->devices.v[at].ordinal == ordinal)
		return &r->s->devices.v[at];
	if (!ss_vec_push(&r->s->devices, ((struct ss_skel_device){ .global = -1 })))
		return NULL;
	struct ss_skel_device *v = r->s->devices.v;
	memmove(&v[at + 1], &v[at], (r->s->devices.n - 1 - at) * sizeof(*v));
	v[at] = (struct ss_skel_device){ .ordinal = (int32_t)ordinal, .global = -1 };
	return &v[at];
}

static int comms_by_begin(const void *a, const void *b)
{
	const struct ss_skel_comm *x = a, *y = b;
	if (x->begin_ps != y->begin_ps)
		return x->begin_ps < y->begin_ps ? -1 : 1;
	if (x->end_ps != y->end_ps)
		return x->end_ps < y->end_ps ? -1 : 1;
	return x->op < y->op ? -1 : x->op > y->op;
}

void ss_skel_sort_comms(struct ss_skel_device *d)
{
	ss_sort(d->comms.v, d->comms.n, sizeof(*d->comms.v), comms_by_begin);
}

int64_t ss_skel_device_step(const struct ss_skel_device *d, int64_t at_ps)
{
	size_t lo = 0, hi = d->steps.n;
	SS_BISECT(lo, hi, mid, d->steps.v[mid].begin_ps <= at_ps);
	return lo && d->steps.v[lo - 1].end_ps > at_ps ? d->steps.v[lo - 1].num : SS_NO_STEP;
}

bool ss_skel_instruction(struct ss_skel_reading *r, uint64_t program_id, struct ss_str name, struct ss_comm_op *out,
			 struct ss_err *err)
{
	const struct ss_hlo_module *m = NULL;
	if (!ss_comm_op_read(out, name, name, SS_STR(""), &r->arena))
		return ss_fail_mem(err);
	if (!out->kind)
		return true;
	if (!ss_hlo_map_get(r->hlo, (int64_t)program_id, &m, err))
		return false;
	uint32_t i = m ? ss_hlo_instr_by_name(m, name) : SS_NONE;
	if (i == SS_NONE)
		return true;
	struct ss_buf b = { .limit_bytes = (size_t)64 << 20 };
	bool ok = ss_hlo_instr_text(&b, m, i, SS_HLO_EXPRESSION) && ss_buf_ok(&b, "an operation", err);
	struct ss_str text = ok ? ss_arena_str(&r->arena, ss_buf_get(&b)) : SS_STR("");
	ok = ok && text.p && ss_comm_op_read(out, text, name, SS_STR(""), &r->arena);
	ss_buf_free(&b);
	return ok || ss_fail_mem(err);
}

static bool is_read(const struct ss_plane *p)
{
	return p->kind == SS_PLANE_TENSOR_CORE || p->kind == SS_PLANE_SPARSE_CORE || p->kind == SS_PLANE_GPU ||
	       (ss_plane_is_host(p) && p->kind != SS_PLANE_METADATA && !ss_str_contains(p->name, SS_STR("python-tracer")));
}

static bool read_devices(struct ss_skel_reading *r, struct ss_err *err)
{
	/* Cores before their SparseCores: these have no steps of their own. */
	const enum ss_plane_kind order[] = { SS_PLANE_TENSOR_CORE, SS_PLANE_SPARSE_CORE, SS_PLANE_GPU };
	for (size_t k = 0; k < SS_COUNT(order); k++)
		for (uint32_t i = 0; i < r->h->nplanes; i++) {
			const struct ss_plane *p = &r->planes[i];
			if (p->kind != order[k])
				continue;
			if (order[k] == SS_PLANE_GPU ? !ss_skel_read_gpu(r, p, err) : !ss_skel_read_tpu(r, p) && !ss_fail_mem(err))
				return false;
			ss_partial_forget(r->partial, i);
		}
	return ss_skel_read_cpus(r, err);
}

/* When the recording began, and by how much times within it are short of that. */
static int64_t start_of(const struct ss_host *h)
{
	struct ss_xstat s;
	const struct ss_plane *p = ss_host_plane(h, SS_PLANE_TASK_ENV);
	if (h->x.origin_ns)
		return h->x.origin_ns;
	if (p && ss_xstats_find(ss_xplane_stats(p->x), SS_STAT_PROFILE_START_TIME, &s))
		return ss_xstat_int_or_uint(&s);
	return 0;
}

static bool is_cut(const struct ss_host *h)
{
	for (uint32_t i = 0; i < h->x.nplanes; i++)
		if (h->x.planes[i].cut)
			return true;
	return h->imported.cut;
}

/* The directory that the file is in. */
static struct ss_str run_of(struct ss_str path)
{
	struct ss_str dir = ss_str_sub(path, 0, ss_str_rchr(path, '/'));
	if (dir.n == path.n)
		return SS_STR("");
	size_t slash = ss_str_rchr(dir, '/');
	return slash == SS_NPOS ? dir : ss_str_sub(dir, slash + 1, dir.n);
}

/* {"rank": 3, "world_size": 8}: of a file that is one process among several. */
static void read_rank(struct ss_skeleton *s, const struct ss_host *h, int64_t *rank)
{
	const struct ss_plane *p = ss_host_plane(h, SS_PLANE_TASK_ENV);
	struct ss_xstat stat;
	struct ss_jtok key, value;
	int64_t v;
	*rank = -1;
	if (!p || !ss_xstats_find(ss_xplane_stats(p->x), SS_STAT_DISTRIBUTED_INFO, &stat))
		return;
	struct ss_jsonr r = ss_jsonr_of(ss_xstat_str(&stat));
	if (!ss_jsonr_next(&r, &key) || key.kind != SS_J_OBJECT)
		return;
	while (ss_jsonr_next(&r, &key) && key.kind == SS_J_KEY && ss_jsonr_next(&r, &value)) {
		if (ss_jtok_is(&key, "rank") && ss_jtok_i64(&value, &v) && v >= 0)
			*rank = v;
		else if (ss_jtok_is(&key, "world_size") && ss_jtok_i64(&value, &v) && v > 0)
			s->world = (uint64_t)v;
		if (!ss_jsonr_skip(&r, &value))
			return;
	}
}

static bool describe(struct ss_skeleton *s, const struct ss_host *h)
{
	struct ss_arena *a = &s->arena;
	s->host = ss_arena_str(a, h->name);
	s->hostname = ss_arena_str(a, h->x.nhostnames ? h->x.hostnames[0] : SS_STR(""));
	s->run = ss_arena_str(a, run_of(h->x.path));
	s->note = ss_arena_str(a, h->x.nnotes ? h->x.notes[0] : SS_STR(""));
	s->state = h->source.state == SS_HOST_IS_UNREADABLE ? SS_SKEL_UNREADABLE : is_cut(h) ? SS_SKEL_CUT : SS_SKEL_OK;
	s->start_unix_ns = start_of(h);
	s->file_bytes = h->source.file_bytes;
	return s->host.p && s->hostname.p && s->note.p && s->run.p;
}

bool ss_skeleton_read(struct ss_skeleton *s, struct ss_host *h, struct ss_err *err)
{
	static const struct ss_partial_read what = { .plane = is_read, .in_time = true };
	*s = (struct ss_skeleton){ .start_unix_ns = 0 };
	struct ss_skel_reading r = { .s = s, .h = h };
	bool ok = describe(s, h) || ss_fail_mem(err);
	ok = ok && (r.partial = ss_host_read_once(h, &what, err)) && (r.hlo = ss_host_hlo(h, err));
	r.planes = ok ? ss_partial_planes(r.partial) : NULL;
	ok = ok && (ss_skel_read_threads(&r) || ss_fail_mem(err)) && read_devices(&r, err);
	int64_t rank;
	read_rank(s, h, &rank);
	s->is_rank = r.torch || rank >= 0;
	if (ok && rank >= 0 && s->devices.n == 1)
		s->devices.v[0].global = rank;
	ss_partial_free(r.partial);
	ss_vec_free(&r.markers);
	ss_vec_free(&r.cpu_ops);
	ss_u64map_free(&r.by_correlation);
	ss_u64map_free(&r.by_run);
	ss_strmap_free(&r.op_keys);
	ss_strmap_free(&r.texts);
	ss_vec_free(&r.named);
	ss_arena_release(&r.arena);
	if (!ok)
		ss_skeleton_free(s);
	return ok;
}
