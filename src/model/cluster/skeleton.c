/* skeleton.c - see skeleton.h: the parts of a host's profile that are read, one after the other. */
#include "model/cluster/skeleton.h"

#include "model/cluster/skeleton_read.h"
#include "model/host/host.h"
#include "model/host/job.h"

#include <stdlib.h>

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
	struct ss_host_job job = ss_host_job(h);
	s->world = job.world > 0 ? (uint64_t)job.world : 0;
	s->is_rank = r.torch || job.rank >= 0;
	if (ok && job.rank >= 0 && s->devices.n == 1)
		s->devices.v[0].global = job.rank;
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
