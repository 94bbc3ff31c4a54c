/*
 * env.c - the run environment of all hosts.
 *
 * Where hosts disagree, XProf takes what the last one says; here the answer does not depend on
 * their order: a run is a training if any host trains, and the device is that of the last host by
 * name that has one.
 */
#include "model/device/env.h"

#include "model/device/core_details.h"
#include "model/fold.h"
#include "model/host/host.h"
#include "model/host/identity.h"
#include "model/host/opname.h"
#include "model/program/hlo_map.h"

#include "base/vec.h"

#include <math.h>
#include <stdlib.h>

struct env_data {
	struct ss_env env; /* first: what the getter returns points here */
	struct ss_arena arena;
	struct ss_intern intern;
	struct ss_strmap names; /* of hosts, while they are added */
	double mxu, hbm;	/* sums */
	bool has_peaks;
};

struct ss_str ss_hardware_name(enum ss_hardware hw)
{
	switch (hw) {
	case SS_HW_CPU_ONLY:
		return SS_STR("CPU_ONLY");
	case SS_HW_GPU:
		return SS_STR("GPU");
	case SS_HW_TPU:
		return SS_STR("TPU");
	case SS_HW_UNKNOWN:
		break;
	}
	return SS_STR("UNKNOWN_HARDWARE");
}

enum ss_hardware ss_host_hardware(const struct ss_host *h)
{
	if (ss_host_plane(h, SS_PLANE_GPU))
		return SS_HW_GPU;
	return ss_host_plane(h, SS_PLANE_TENSOR_CORE) ? SS_HW_TPU : SS_HW_CPU_ONLY;
}

static bool instruction_is_gradient(struct ss_str instruction)
{
	struct ss_pb c = ss_pb_of(instruction), m;
	struct ss_pb_field f;
	struct ss_str name = { "", 0 }, type = { "", 0 };
	while (ss_pb_next(&c, &f)) {
		if (f.key != PB_LEN(HLO_INSTRUCTION_METADATA))
			continue;
		m = ss_pb_of(f.bytes);
		while (ss_pb_next(&m, &f)) {
			if (f.key == PB_LEN(OP_METADATA_OP_NAME))
				name = f.bytes;
			else if (f.key == PB_LEN(OP_METADATA_OP_TYPE))
				type = f.bytes;
		}
	}
	return name.n && ss_op_is_gradient(name, type);
}

/* Looks at the proto itself: an index of all modules would cost more than the answer is worth. */
static bool module_trains(const struct ss_hlo_module *module)
{
	struct ss_pb c = ss_pb_of(module->body), k;
	struct ss_pb_field f, g;
	while (ss_pb_next(&c, &f)) {
		if (f.key != PB_LEN(HLO_MODULE_COMPUTATIONS))
			continue;
		k = ss_pb_of(f.bytes);
		while (ss_pb_next(&k, &g))
			if (g.key == PB_LEN(HLO_COMPUTATION_INSTRUCTIONS) &&
			    instruction_is_gradient(g.bytes))
				return true;
	}
	return false;
}

/* PyTorch's engine of gradients ran, or one of its optimizers: the names of events tell. */
static bool torch_trains(const struct ss_host *h)
{
	for (uint32_t i = 0; h->imported.any && i < h->nplanes; i++)
		for (uint32_t k = 0; k < h->planes[i].x->nevent_meta; k++) {
			struct ss_str name = h->planes[i].x->event_meta[k].name;
			if (ss_str_starts(name, SS_STR("autograd::engine::evaluate_function")) ||
			    ss_str_starts(name, SS_STR("Optimizer.step#")))
				return true;
		}
	return false;
}

static void *find_training(void *owner, struct ss_err *err)
{
	static const bool yes = true, no = false;
	struct ss_hlo_map *map = ss_host_hlo(owner, err);
	bool trains = torch_trains(owner);
	uint32_t n;
	if (!map)
		return NULL;
	const struct ss_hlo_entry *entries = ss_hlo_map_entries(map, &n);
	for (uint32_t i = 0; i < n && !trains; i++)
		trains = module_trains(&entries[i].module);
	return (void *)(uintptr_t)(trains ? &yes : &no);
}

static void nothing(void *data)
{
	(void)data;
}

static const struct ss_host_fact trains_of_host = { SS_HOST_TRAINS, find_training, nothing };

bool ss_host_trains(struct ss_host *h, bool *out, struct ss_err *err)
{
	const bool *trains = ss_host_fact_get(h, &trains_of_host, err);
	*out = trains && *trains;
	return trains;
}

static struct ss_str tpu_type(const struct ss_plane *p)
{
	struct ss_xstat s;
	return ss_xstats_find(ss_xplane_stats(p->x), SS_STAT_DEVICE_TYPE_STRING, &s)
		       ? ss_xstat_str(&s)
		       : SS_STR("");
}

/*
 * Hosts with other devices: as XProf, the bandwidths of the first, the arithmetic of the last that
 * says any.
 */
static void combine_peaks(struct env_data *d, const struct ss_peaks *peaks)
{
	double tflops = peaks->tflops > 0 ? peaks->tflops : d->env.peaks.tflops;
	if (!d->has_peaks)
		d->env.peaks = *peaks;
	d->env.peaks.tflops = tflops;
	d->has_peaks = true;
}

static bool has_lines(const struct ss_host *h)
{
	for (uint32_t i = 0; i < h->nplanes; i++)
		if (h->planes[i].nlines)
			return true;
	return false;
}

/* Add the devices of one host. */
static bool add_devices(struct env_data *d, const struct ss_host *h)
{
	struct ss_env *env = &d->env;
	enum ss_hardware hw = ss_host_hardware(h);
	/* A program alone says nothing of the machine that ran it. */
	struct ss_str type = has_lines(h) ? SS_STR("CPU") : SS_STR("");
	const struct ss_plane *first = NULL;
	for (uint32_t i = 0; i < h->nplanes; i++) {
		const struct ss_plane *p = &h->planes[i];
		if (p->kind == SS_PLANE_SPARSE_CORE && ss_plane_core_details(p).present)
			env->has_sparse_core = true;
		if (p->kind != (hw == SS_HW_GPU ? SS_PLANE_GPU : SS_PLANE_TENSOR_CORE))
			continue;
		env->core_count++;
		first = first ? first : p;
	}
	if (first)
		type = hw == SS_HW_GPU ? ss_gpu_model_name(first, &d->arena) : tpu_type(first);
	if (!type.p)
		return false;
	if (!env->device_type.n || (type.n && !ss_str_is(type, "CPU")))
		env->device_type = ss_intern_str(&d->intern, type);
	if (hw > env->hardware)
		env->hardware = hw;
	if (first) {
		struct ss_peaks peaks;
		ss_peaks_read(&peaks, first);
		combine_peaks(d, &peaks);
	}
	return true;
}

/* Hardware counters that the host's plane carries as two percentages. */
static void add_counters(const struct ss_host *h, double *mxu, double *hbm)
{
	const struct ss_plane *p = ss_host_plane(h, SS_PLANE_HOST_CPU);
	if (!p)
		return;
	struct ss_xstats it = ss_xplane_stats(p->x);
	struct ss_xstat s;
	while (ss_xstats_next(&it, &s)) {
		double v = ss_xstat_double(&s);
		if (s.stat == SS_STAT_MATRIX_UNIT_UTILIZATION_PERCENT && isfinite(v))
			*mxu += v;
		else if (s.stat == SS_STAT_HBM_UTILIZATION_PERCENT && isfinite(v))
			*hbm += v;
	}
}

/* Append the texts of one host, each once. */
static bool add_texts(struct ss_str **to, size_t *n, const struct ss_str *from, uint32_t count, struct ss_intern *intern)
{
	struct ss_strmap seen = { 0 };
	size_t cap = *n;
	bool ok = true;
	for (uint32_t i = 0; ok && i < count; i++) {
		uint32_t had = seen.n;
		ok = ss_strmap_add(&seen, from[i]) != SS_NONE;
		if (!ok || seen.n == had)
			continue;
		ok = ss_grow((void **)to, &cap, *n + 1, sizeof(**to));
		if (ok)
			(*to)[(*n)++] = ss_intern_str(intern, from[i]);
	}
	ss_strmap_free(&seen);
	return ok;
}

static bool take_host(void *data, size_t i, struct ss_host *h, const void *fact, struct ss_err *err)
{
	struct env_data *d = data;
	const bool *trains = fact;
	d->env.is_training |= *trains;
	add_counters(h, &d->mxu, &d->hbm);
	/*
	 * A file that is no profile is of no host that took part; one that holds nothing is, as in
	 * XProf.
	 */
	bool took_part = h->source.state != SS_HOST_IS_UNREADABLE;
	d->env.task_count += took_part;
	d->env.hosts_unknown |= took_part && h->imported.any && (!h->x.nhostnames || !h->x.hostnames[0].n);
	if ((took_part && ss_strmap_add(&d->names, ss_intern_str(&d->intern, ss_host_hostname(h))) == SS_NONE) ||
	    !add_devices(d, h) ||
	    !ss_places_add(&d->env.places, h, i, &d->intern) ||
	    !add_texts(&d->env.errors, &d->env.nerrors, h->x.errors, h->x.nerrors, &d->intern) ||
	    !add_texts(&d->env.warnings, &d->env.nwarnings, h->x.warnings, h->x.nwarnings, &d->intern) ||
	    d->intern.no_memory)
		return ss_fail_mem(err);
	return true;
}

static bool end(void *data, struct ss_err *err)
{
	struct env_data *d = data;
	(void)err;
	d->env.host_count = d->names.n ? d->names.n : 1;
	d->env.hosts_unknown &= d->env.task_count > 1;
	d->env.task_count = d->env.task_count ? d->env.task_count : 1;
	d->env.mxu_percent = d->mxu / d->env.task_count;
	d->env.hbm_percent = d->hbm / d->env.task_count;
	ss_strmap_free(&d->names);
	return true;
}

static void release(void *data)
{
	struct env_data *d = data;
	free(d->env.errors);
	free(d->env.places.v);
	free(d->env.warnings);
	ss_arena_release(&d->arena);
	ss_strmap_free(&d->names);
	ss_intern_release(&d->intern);
	free(d);
}

const struct ss_fold ss_fold_env = {
	.part = SS_MODEL_ENV,
	SS_FOLD_DATA(struct env_data),
	.of = &trains_of_host,
	.take = take_host,
	.end = end,
	.release = release,
};

const struct ss_env *ss_model_env(struct ss_model *m, struct ss_err *err)
{
	return ss_fold_get(m, &ss_fold_env, err);
}
