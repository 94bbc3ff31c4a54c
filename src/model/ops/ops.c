/*
 * ops.c - operations of one host, and of all hosts together.
 *
 * Device planes and host threads are independent pieces of work; each fills a table of its own, and
 * the tables are merged in the order of the planes. Hosts are merged in the order of their names.
 */
#include "model/ops/ops.h"

#include "base/pool.h"
#include "base/vec.h"
#include "model/device/env.h"
#include "model/fold.h"
#include "model/host/host.h"
#include "model/ops/gpu_graphs.h"
#include "model/ops/ops_build.h"
#include "model/ops/sparse_ops.h"
#include "model/ops/tpu.h"
#include "model/preprocess/load.h"

#include <stdlib.h>

struct gpu_build {
	struct ss_op_db ops, resolved; /* resolved: empty without graphs */
	uint64_t graph_ps, graph_known_ps;
};

/* Pieces of work of one host: its device planes, and last its threads. */
struct host_build {
	struct ss_host *h;
	struct ss_host_ops *ops;
	const struct ss_plane **planes;
	struct gpu_build *gpus; /* per plane */
	size_t nplanes;
	enum ss_hardware hw;
};

static bool build_gpu(struct gpu_build *g, struct ss_host *h, const struct ss_plane *p, struct ss_arena *arena,
		      struct ss_err *err)
{
	struct ss_gpu_graphs graphs = { .graph_ps = 0 };
	struct ss_hlo_map *hlo = ss_host_hlo(h, err);
	bool ok = hlo && ss_gpu_ops(&g->ops, h, p, NULL, arena, err) && ss_gpu_graphs_read(&graphs, p, hlo, err);
	g->graph_ps = graphs.graph_ps;
	g->graph_known_ps = graphs.known_ps;
	ok = ok && (!graphs.names.n || ss_gpu_ops(&g->resolved, h, p, &graphs, arena, err));
	ss_gpu_graphs_free(&graphs);
	return ok;
}

static bool do_piece(void *arg, size_t i, struct ss_err *err)
{
	struct host_build *j = arg;
	if (i == j->nplanes)
		return ss_host_thread_ops(&j->ops->host, j->h, err);
	if (j->hw == SS_HW_GPU)
		return build_gpu(&j->gpus[i], j->h, j->planes[i], &j->ops->arenas[i], err);
	return ss_tpu_core_build(&j->ops->cores[i], j->h, j->planes[i], j->ops->sparse, err);
}

static bool list_planes(struct host_build *j)
{
	enum ss_plane_kind kind = j->hw == SS_HW_GPU ? SS_PLANE_GPU : SS_PLANE_TENSOR_CORE;
	j->planes = malloc((j->h->nplanes + 1) * sizeof(*j->planes));
	if (!j->planes)
		return false;
	for (uint32_t i = 0; i < j->h->nplanes; i++)
		if (j->h->planes[i].kind == kind)
			j->planes[j->nplanes++] = &j->h->planes[i];
	if (j->hw == SS_HW_GPU) {
		j->gpus = calloc(j->nplanes + 1, sizeof(*j->gpus));
		j->ops->arenas = calloc(j->nplanes + 1, sizeof(*j->ops->arenas));
		j->ops->narenas = j->nplanes;
		return j->gpus && j->ops->arenas;
	}
	j->ops->cores = calloc(j->nplanes + 1, sizeof(*j->ops->cores));
	j->ops->ncores = j->nplanes;
	return j->ops->cores;
}

/* Planes without graphs are resolved as they are. */
static bool merge_gpus(struct host_build *j)
{
	struct ss_host_ops *o = j->ops;
	bool any = false, ok = true;
	for (size_t i = 0; i < j->nplanes; i++) {
		o->graph_ps += j->gpus[i].graph_ps;
		o->graph_known_ps += j->gpus[i].graph_known_ps;
		any = any || j->gpus[i].resolved.n;
	}
	for (size_t i = 0; ok && i < j->nplanes; i++) {
		const struct gpu_build *g = &j->gpus[i];
		ok = ss_op_db_merge(&o->device, &g->ops, NULL) &&
		     (!any || ss_op_db_merge(&o->resolved, g->resolved.n ? &g->resolved : &g->ops, NULL));
	}
	return ok;
}

static bool merge_planes(struct host_build *j)
{
	if (j->hw == SS_HW_GPU)
		return merge_gpus(j);
	for (size_t i = 0; i < j->nplanes; i++)
		if (!ss_op_db_merge(&j->ops->device, &j->ops->cores[i].ops, NULL))
			return false;
	return true;
}

/* Before the TensorCores, whose operations refer to it. */
static bool read_sparse(struct host_build *j, struct ss_err *err)
{
	if (!ss_host_plane(j->h, SS_PLANE_SPARSE_CORE))
		return true;
	j->ops->sparse = calloc(1, sizeof(*j->ops->sparse));
	if (!j->ops->sparse)
		return ss_fail_mem(err);
	return ss_sparse_ops_read(j->ops->sparse, j->h, err);
}

/* A host without devices. */
static bool read_cpu(struct host_build *j, struct ss_err *err)
{
	const struct ss_plane *p = ss_host_plane(j->h, SS_PLANE_HOST_CPU);
	if (!p)
		return true;
	j->ops->arenas = calloc(1, sizeof(*j->ops->arenas));
	if (!j->ops->arenas)
		return ss_fail_mem(err);
	j->ops->narenas = 1;
	return ss_cpu_ops(&j->ops->cpu, j->h, p, &j->ops->arenas[0], err);
}

static bool build_host(struct host_build *j, struct ss_err *err)
{
	if (!list_planes(j))
		return ss_fail_mem(err);
	if (j->hw == SS_HW_CPU_ONLY && !read_cpu(j, err))
		return false;
	if (j->hw == SS_HW_TPU && !read_sparse(j, err))
		return false;
	if (!ss_parallel(j->nplanes + 1, j->h->threads, do_piece, j, err))
		return false;
	if (!merge_planes(j))
		return ss_fail_mem(err);
	return j->hw != SS_HW_GPU || ss_host_kernels(&j->ops->kernels, j->h, &j->ops->arenas[0], err);
}

static void release_host(void *data)
{
	struct ss_host_ops *o = data;
	for (size_t i = 0; o->cores && i < o->ncores; i++)
		ss_tpu_core_free(&o->cores[i]);
	free(o->cores);
	if (o->sparse)
		ss_sparse_ops_free(o->sparse);
	free(o->sparse);
	ss_op_db_free(&o->device);
	ss_op_db_free(&o->resolved);
	ss_op_db_free(&o->host);
	ss_op_db_free(&o->cpu);
	free(o->kernels.v);
	for (size_t i = 0; o->arenas && i < o->narenas; i++)
		ss_arena_release(&o->arenas[i]);
	free(o->arenas);
	free(o);
}

static void *make_host(void *owner, struct ss_err *err)
{
	struct ss_host *h = owner;
	if (!ss_host_load(h, err))
		return NULL;
	struct ss_host_ops *o = calloc(1, sizeof(*o));
	if (!o) {
		ss_fail_mem(err);
		return NULL;
	}
	struct host_build j = { .h = h, .ops = o, .hw = ss_host_hardware(h) };
	bool ok = build_host(&j, err);
	for (size_t i = 0; j.gpus && i < j.nplanes; i++) {
		ss_op_db_free(&j.gpus[i].ops);
		ss_op_db_free(&j.gpus[i].resolved);
	}
	free(j.planes);
	free(j.gpus);
	if (ok)
		return o;
	release_host(o);
	return NULL;
}

static const struct ss_host_fact of_host = { SS_HOST_OPS, make_host, release_host };

const struct ss_host_ops *ss_host_ops(struct ss_host *h, struct ss_err *err)
{
	return ss_host_fact_get(h, &of_host, err);
}

/* All hosts together. */
struct all {
	struct ss_ops ops; /* first: what the getter returns points here */
	struct ss_intern intern;
	size_t kernels_cap;
};

static bool add_kernels(struct all *all, const struct ss_kernels *from)
{
	struct ss_kernels *to = &all->ops.kernels;
	if (!ss_grow((void **)&to->v, &all->kernels_cap, to->n + from->n, sizeof(*to->v)))
		return false;
	for (size_t i = 0; i < from->n; i++) {
		struct ss_kernel *k = &to->v[to->n++];
		*k = from->v[i];
		k->name = ss_intern_str(&all->intern, k->name);
		k->op_name = ss_intern_str(&all->intern, k->op_name);
	}
	if (to->n > 4 * SS_MAX_KERNELS)
		ss_kernels_sort(to);
	return !all->intern.no_memory;
}

/* Behind hosts without graphs, the first with some. */
static bool add_resolved(struct all *all, const struct ss_host_ops *one)
{
	struct ss_ops *o = &all->ops;
	if (!o->resolved.n && !one->resolved.n)
		return true;
	return (o->resolved.n || ss_op_db_merge(&o->resolved, &o->device, &all->intern)) &&
	       ss_op_db_merge(&o->resolved, one->resolved.n ? &one->resolved : &one->device, &all->intern);
}

static bool take_host(void *data, size_t i, struct ss_host *h, const void *fact, struct ss_err *err)
{
	struct all *all = data;
	struct ss_ops *o = &all->ops;
	const struct ss_host_ops *one = fact;
	(void)i, (void)h;
	o->graph_ps += one->graph_ps;
	o->graph_known_ps += one->graph_known_ps;
	return (add_resolved(all, one) && ss_op_db_merge(&o->device, &one->device, &all->intern) &&
		ss_op_db_merge(&o->host, &one->host, &all->intern) &&
		ss_op_db_merge(&o->cpu, &one->cpu, &all->intern) && add_kernels(all, &one->kernels)) ||
	       ss_fail_mem(err);
}

static bool end_all(void *data, struct ss_err *err)
{
	struct all *all = data;
	(void)err;
	ss_kernels_sort(&all->ops.kernels);
	return true;
}

static void release_all(void *data)
{
	struct all *all = data;
	ss_op_db_free(&all->ops.device);
	ss_op_db_free(&all->ops.resolved);
	ss_op_db_free(&all->ops.host);
	ss_op_db_free(&all->ops.cpu);
	free(all->ops.kernels.v);
	ss_intern_release(&all->intern);
	free(all);
}

const struct ss_fold ss_fold_ops = {
	.part = SS_MODEL_OPS,
	SS_FOLD_DATA(struct all),
	.of = &of_host,
	.take = take_host,
	.end = end_all,
	.release = release_all,
};

const struct ss_ops *ss_model_ops(struct ss_model *m, struct ss_err *err)
{
	return ss_fold_get(m, &ss_fold_ops, err);
}
