/* attribution.c - see attribution.h: one host, then all of them. */
#include "model/attribution/attribution.h"

#include "base/icontains.h"
#include "base/map.h"
#include "base/safe.h"
#include "model/attribution/build.h"
#include "model/host/host.h"
#include "model/host/identity.h"
#include "model/host/job.h"
#include "model/attribution/recompiled_torch.h"
#include "model/fold.h"
#include "model/preprocess/load.h"
#include "model/runtime/tfdata.h"
#include "model/torch/torch.h"

#include <stdlib.h>

struct ss_str ss_time_class_name(enum ss_time_class c)
{
	static const struct ss_str names[SS_TIME_COUNT] = {
		[SS_TIME_COMPUTE] = SS_STR_INIT("compute"),
		[SS_TIME_COLLECTIVE] = SS_STR_INIT("communication"),
		[SS_TIME_COPY] = SS_STR_INIT("copies"),
		[SS_TIME_CALLBACK] = SS_STR_INIT("callback"),
		[SS_TIME_INPUT] = SS_STR_INIT("input"),
		[SS_TIME_COMPILE] = SS_STR_INIT("compilation"),
		[SS_TIME_GC] = SS_STR_INIT("garbage collection"),
		[SS_TIME_LOCK] = SS_STR_INIT("locks"),
		[SS_TIME_HOST_CODE] = SS_STR_INIT("host code"),
		[SS_TIME_LAUNCH] = SS_STR_INIT("launching"),
		[SS_TIME_SYNC] = SS_STR_INIT("waiting for results"),
		[SS_TIME_UNKNOWN] = SS_STR_INIT("not recorded"),
	};
	return names[c];
}

/* ---- the build ---- */

static bool keep_meetings(struct ss_attr_build *b, struct ss_collectives *out, const struct ss_meeting *v, size_t n)
{
	out->v = SS_NEW_N(b->arena, struct ss_meeting, n + 1);
	if (!out->v)
		return false;
	if (n)
		memcpy(out->v, v, n * sizeof(*v));
	out->n = n;
	for (size_t i = 0; i < n; i++)
		out->dur_ps += v[i].dur_ps;
	return true;
}

static bool build_unit(struct ss_attr_build *b, struct ss_time_unit *u, const struct ss_device_claims *d,
		       struct ss_time_sums *sums)
{
	const struct ss_piece_reader *r = b->reader;
	b->pieces.device = u->device;
	b->pieces.nowners = b->named.n;
	u->window_ps = ss_safe_between(b->w->begin_ps, b->w->end_ps);
	if (r)
		return r->unit(r->arg, &b->pieces) && ss_attr_sweep(b, d, sums) && r->unit_end(r->arg, &b->pieces) &&
		       (b->pieces.unit++, true);
	b->sums = sums;
	if (!ss_attr_sweep(b, d, sums))
		return false;
	u->steps = sums->steps;
	memcpy(u->ps, sums->ps, sizeof(u->ps));
	return ss_attr_subjects(b, u);
}

static bool build_program(struct ss_attr_build *b)
{
	struct ss_time_unit *u = &b->out->units[b->out->nunits++];
	struct ss_time_sums sums = { .at = 0 };
	*u = (struct ss_time_unit){ .device = SS_STR(""), .ops = b->ops, .op_ps = b->op_ps, .calls = b->starts };
	bool ok = keep_meetings(b, &u->collectives, b->meetings.v, b->meetings.n) && build_unit(b, u, NULL, &sums);
	ss_sums_free(&sums);
	return ok;
}

static bool build_device(struct ss_attr_build *b, uint32_t plane)
{
	struct ss_device_claims *d = &b->devices[plane];
	struct ss_time_unit *u = &b->out->units[b->out->nunits++];
	*u = (struct ss_time_unit){ .device = b->planes[plane].name, .calls = b->starts };
	u->ops = d->ops;
	u->op_ps = d->op_ps;
	u->first_ps = d->first_ps;
	u->last_ps = d->last_ps;
	bool ok = keep_meetings(b, &u->collectives, d->meetings.v, d->meetings.n) && build_unit(b, u, d, &d->sums);
	ss_device_claims_free(d);
	return ok;
}

static bool build_units(struct ss_attr_build *b)
{
	b->out->units = SS_NEW_N(b->arena, struct ss_time_unit, (size_t)b->nplanes + 1);
	bool ok = b->out->units;
	for (uint32_t i = 0; ok && i < b->nplanes; i++)
		if (ss_is_unit(b, i))
			ok = build_device(b, i);
	return ok && (b->has_device || !b->any_claim || build_program(b));
}

/* ---- what else is known of the host ---- */

static void note_habit(struct ss_time_host *out, struct ss_str name)
{
	if (ss_str_starts(name, SS_STR("Torch-Compiled Region")) || ss_str_starts(name, SS_STR("_compile.compile_inner")))
		out->habits |= SS_HABIT_COMPILED;
	if (ss_str_starts(name, SS_STR("enumerate(DataLoader)#_MultiProcessingDataLoaderIter")))
		out->habits |= SS_HABIT_WORKERS;
	if (ss_str_contains(name, SS_STR("multi_step_on_iterator")) || ss_str_contains(name, SS_STR("one_step_on_iterator")))
		out->habits |= SS_HABIT_KERAS;
}

static void note_framework(struct ss_time_host *out, struct ss_str name)
{
	static const struct {
		unsigned framework;
		struct ss_str word;
	} words[] = {
		{ SS_FW_JAX, SS_STR_INIT("PjitFunction(") },
		{ SS_FW_JAX, SS_STR_INIT("np.asarray(jax") },
		{ SS_FW_TENSORFLOW, SS_STR_INIT("EagerLocalExecute") },
		{ SS_FW_TENSORFLOW, SS_STR_INIT("TFE_Py") },
		{ SS_FW_TENSORFLOW, SS_STR_INIT("IteratorGetNext") },
		{ SS_FW_TENSORFLOW, SS_STR_INIT("SessionRun") },
		{ SS_FW_PYTORCH, SS_STR_INIT("aten::") },
		{ SS_FW_PYTORCH, SS_STR_INIT("ProfilerStep#") },
		{ SS_FW_TORCH_XLA, SS_STR_INIT("XLAGraphExecutor") },
		{ SS_FW_TORCH_XLA, SS_STR_INIT("XlaGraphExecutor") },
		{ SS_FW_TORCH_XLA, SS_STR_INIT("SyncTensorsGraph") },
		{ SS_FW_TORCH_XLA, SS_STR_INIT("SyncLiveTensorsGraph") },
		{ SS_FW_TORCH_XLA, SS_STR_INIT("ScheduleSyncTensorsGraph") },
		{ SS_FW_TORCH_XLA, SS_STR_INIT("ExtractIRAndPrepareXlaData_") },
	};
	for (size_t i = 0; i < SS_COUNT(words); i++)
		if (ss_str_starts(name, words[i].word))
			out->frameworks |= words[i].framework;
}

static bool says_python(const struct ss_plane *p)
{
	if (ss_str_icontains(p->x->name, SS_STR("python")))
		return true;
	for (uint32_t i = 0; i < p->nlines; i++)
		if (ss_str_icontains(p->lines[i].name, SS_STR("python")))
			return true;
	return false;
}

/* Profilers of a system record programs in any language. */
static bool shows_no_python(const struct ss_attr_build *b)
{
	bool no = b->h->imported.any && !b->out->frameworks;
	for (uint32_t i = 0; no && i < b->h->nplanes; i++)
		no = !says_python(&b->h->planes[i]);
	return no;
}

/*
 * "jit(train_step)/..." is an operation's name in JAX; PyTorch's kernels are told without
 * operators, too.
 */
static void note_frameworks(struct ss_attr_build *b)
{
	for (uint32_t i = 0; b->host && i < b->host->x->nevent_meta; i++) {
		struct ss_str name = b->host->x->event_meta[i].name;
		note_framework(b->out, name);
		note_habit(b->out, name);
		if (ss_str_contains(name, SS_STR("PyFunc:")) || ss_str_ends(name, SS_STR(":EagerPyFunc")))
			b->out->python_input = true;
	}
	if (ss_host_is_kineto(b->h))
		b->out->frameworks |= SS_FW_PYTORCH;
	else if (b->out->frameworks & SS_FW_PYTORCH && b->h->imported.any)
		b->out->habits |= SS_HABIT_OTHER_PROFILER;
	for (uint32_t k = 0; !b->out->frameworks && k < b->nplanes; k++) {
		const struct ss_plane *p = &b->planes[k];
		for (uint32_t i = 0; ss_is_attributed_device(p) && i < p->x->nevent_meta; i++) {
			struct ss_xstat s;
			if (ss_str_contains(p->x->event_meta[i].name, SS_STR("at::native::")))
				b->out->frameworks |= SS_FW_PYTORCH;
			if (ss_str_starts(p->x->event_meta[i].name, SS_STR("jit_")) ||
			    (ss_xstats_find(ss_xevent_meta_stats(p->x, i), SS_STAT_TF_OP, &s) &&
			     ss_str_starts(ss_xstat_str(&s), SS_STR("jit("))))
				b->out->frameworks |= SS_FW_JAX;
		}
	}
	if (shows_no_python(b))
		b->out->habits |= SS_HABIT_NO_PYTHON;
}

static uint64_t input_ps(const struct ss_time_host *t)
{
	uint64_t sum_ps = 0;
	for (size_t i = 0; i < t->nunits; i++)
		for (int r = 0; r < SS_REGION_COUNT; r++)
			sum_ps += t->units[i].ps[SS_TIME_INPUT][r];
	return sum_ps;
}

/*
 * "num_parallel_calls=1", where the program fixed it, and more processors are free to be used; "".
 */
static struct ss_str fixed_option(struct ss_attr_build *b, const struct ss_tfdata *t, const struct ss_tfdata_iterator *stage)
{
	uint64_t budget = 0;
	for (size_t i = 0; i < t->niterators; i++)
		budget = t->iterators[i].cpu_budget > budget ? t->iterators[i].cpu_budget : budget;
	if (!stage->parallelism || (budget && stage->parallelism >= budget))
		return SS_STR("");
	return ss_arena_printf(b->arena, "num_parallel_calls=%llu", (unsigned long long)stage->parallelism);
}

/*
 * Of a name without the numbers in brackets, which tell apart the inputs that a stage reads in
 * turns.
 */
static uint64_t hash_of_stage(struct ss_str name)
{
	uint64_t hash = 0;
	bool inside = false;
	for (size_t i = 0; i < name.n; i++) {
		inside = (inside || name.p[i] == '[') && name.p[i] != ']';
		hash = inside ? hash : ss_mix(hash, (unsigned char)name.p[i]);
	}
	return hash;
}

/*
 * Of each iterator the first of the same stage: interleave() makes new ones for each of its inputs.
 * False: no memory.
 */
static bool group_stages(const struct ss_tfdata *t, uint32_t *first)
{
	struct ss_u64map stages = { 0 };
	bool ok = true;
	for (size_t i = 0; ok && i < t->niterators; i++) {
		first[i] = ss_u64map_add(&stages, hash_of_stage(t->iterators[i].long_name), (uint32_t)i);
		ok = first[i] != SS_NONE;
	}
	ss_u64map_free(&stages);
	return ok;
}

/* The stage that the program waited for, summed over its calls. */
static bool find_stage(struct ss_attr_build *b, struct ss_err *err)
{
	const struct ss_tfdata *t = ss_host_tfdata(b->h, err);
	uint64_t *self_ps = t ? calloc(t->niterators + 1, sizeof(*self_ps)) : NULL;
	uint32_t *group = t ? calloc(t->niterators + 1, sizeof(*group)) : NULL, best = SS_NONE;
	size_t most = 0; /* the iterator that stands for the best */
	bool ok = self_ps && group && group_stages(t, group);
	for (size_t i = 0; ok && i < t->ncalls; i++) {
		if (t->calls[i].bottleneck == SS_NONE)
			continue;
		const struct ss_tfdata_stat *s = &t->stats[t->calls[i].bottleneck];
		uint32_t k = group[s->iterator];
		self_ps[k] += s->self_ps;
		if (best != SS_NONE && self_ps[k] <= self_ps[best])
			continue;
		most = k == best ? most : s->iterator;
		best = k;
	}
	if (ok && best != SS_NONE) {
		b->out->input.name = ss_arena_str(b->arena, t->iterators[most].long_name);
		b->out->input.detail = fixed_option(b, t, &t->iterators[most]);
		b->out->input.ps[0] = self_ps[best];
		ok = b->out->input.name.p && b->out->input.detail.p;
	}
	free(self_ps);
	free(group);
	return t && (ok || ss_fail_mem(err));
}

/* The function that is compiled longest. */
static bool find_recompiled(struct ss_attr_build *b, struct ss_err *err)
{
	const struct ss_time_subject *most = NULL;
	uint64_t most_ps = 0;
	for (size_t u = 0; u < b->out->nunits; u++)
		for (size_t i = 0; i < b->out->units[u].nsubjects; i++) {
			const struct ss_time_subject *s = &b->out->units[u].subjects[i];
			uint64_t ps = s->ps[SS_REGION_STEPS] + s->ps[SS_REGION_OUTLIERS] + s->ps[SS_REGION_BETWEEN];
			if (s->class == SS_TIME_COMPILE && ps > most_ps) {
				most = s;
				most_ps = ps;
			}
		}
	if (most && ss_host_is_kineto(b->h))
		return ss_recompiled_torch(&b->out->recompiled, b->h, b->arena, err);
	return !most || ss_recompiled_read(&b->out->recompiled, b->h, most->name, b->arena, err);
}

/* ---- one host ---- */

struct own {
	struct ss_time_host out; /* first */
	struct ss_arena arena;
};

static void release_host(void *data)
{
	struct own *own = data;
	ss_arena_release(&own->arena);
	free(own);
}

static struct ss_time_host blank_host(struct ss_str name, const struct ss_windows *w)
{
	const struct ss_str none = SS_STR("");
	return (struct ss_time_host){
		.name = name,
		.device_type = none,
		.thread = none,
		.windows = *w,
		.memory = { .allocator = none, .grower = none },
		.precision.wide_kernel = none,
		.extra = none,
		.more_often.name = none,
		.recompiled = ss_recompiled_none(),
		.input = { .name = none, .detail = none, .caller = none },
	};
}

/*
 * Is it PyTorch's, of a machine without a GPU? Where there is one, it may work without being
 * recorded.
 */
static bool runs_on_cpu_alone(const struct ss_attr_build *b)
{
	struct ss_err err = { 0 };
	if (b->out->hardware != SS_HW_CPU_ONLY || !ss_host_is_kineto(b->h))
		return false;
	const struct ss_torch *t = ss_host_torch(b->h, &err);
	return t && !t->gpus.n;
}

/* A file that tells of devices without end costs no more than one of SS_MOST_UNITS. */
static void choose_units(struct ss_attr_build *b)
{
	size_t n = 0;
	for (uint32_t i = 0; b->has_device && i < b->nplanes; i++)
		if (ss_is_attributed_device(&b->planes[i]) && ++n <= SS_MOST_UNITS)
			b->planes_end = i + 1;
	b->out->units_left_out = n > SS_MOST_UNITS ? n - SS_MOST_UNITS : 0;
}

static size_t count_units(const struct ss_attr_build *b)
{
	size_t n = 0;
	for (uint32_t i = 0; i < b->nplanes; i++)
		n += ss_is_unit(b, i);
	return n;
}

static bool claim_host(struct ss_attr_build *b, struct ss_err *err)
{
	struct ss_host *h = b->h;
	b->w = &b->out->windows;
	b->host = ss_host_plane(h, SS_PLANE_HOST_CPU);
	b->host_at = b->host ? (uint32_t)(b->host - h->planes) : 0;
	b->out->hardware = ss_host_hardware(h);
	b->has_device = b->out->hardware != SS_HW_CPU_ONLY && b->out->hardware != SS_HW_UNKNOWN;
	b->is_gpu = b->out->hardware == SS_HW_GPU;
	b->no_groups = ss_host_job(h).groups > 1;
	choose_units(b);
	if (b->host && !ss_host_kinds_init(&b->kinds, b->host, b->w->name, b->has_device))
		return false;
	b->kinds.eager_cpu = runs_on_cpu_alone(b);
	if (b->host && !b->has_device && !(b->kinds.programs = ss_host_hlo(h, err)))
		return false;
	b->first_host_owner = SS_NONE;
	if (b->has_device && !ss_claim_devices(b))
		return false;
	b->first_host_owner = (uint32_t)b->named.n;
	return ss_claim_threads(b, !b->has_device || count_units(b) == 1) && !b->kinds.no_memory;
}

static bool attribute(struct ss_attr_build *b, struct ss_err *err)
{
	struct ss_host *h = b->h;
	/* Claims take the most memory: none of it for what was read of the file until now. */
	ss_file_forget(&h->x.file, h->x.file.bytes);
	if (!claim_host(b, err) || !build_units(b) || !ss_find_extra(b))
		return ss_fail_mem(err);
	note_frameworks(b);
	b->out->has_host = b->starter != NULL;
	b->out->thread = b->starter ? b->starter->name : SS_STR("");
	b->out->dropped = h->ndropped;
	return (!input_ps(b->out) || !ss_host_has_tfdata(h) || find_stage(b, err)) && find_recompiled(b, err);
}

static void free_build(struct ss_attr_build *b)
{
	ss_vec_free(&b->refs);
	ss_u64map_free(&b->by_ref);
	ss_host_kinds_free(&b->kinds);
	ss_async_ends_free(&b->ends);
	for (uint32_t i = 0; b->devices && i < b->nplanes; i++)
		ss_device_claims_free(&b->devices[i]);
	free(b->devices);
	ss_vec_free(&b->idle);
	ss_thread_walks_free(b);
	ss_vec_free(&b->threads);
	ss_vec_free(&b->calls);
	ss_vec_free(&b->named);
	ss_vec_free(&b->meetings);
	ss_u64map_free(&b->by_call);
	ss_u64map_free(&b->by_named);
}

static void *build_host(void *owner, struct ss_err *err)
{
	struct ss_host *h = owner;
	const struct ss_windows *w = ss_host_windows(h, err);
	struct own *own = w ? calloc(1, sizeof(*own)) : NULL;
	if (!own) {
		if (w)
			ss_fail_mem(err);
		return NULL;
	}
	own->out = blank_host(h->name, w);
	struct ss_attr_build b = { .h = h, .planes = h->planes, .nplanes = h->nplanes, .arena = &own->arena, .out = &own->out };
	/*
	 * Allocations first: reading them takes memory for a moment, as the claims of attribution
	 * do until its end.
	 */
	bool ok = ss_host_is_raw(h) || (ss_host_load(h, err) &&
					ss_memory_trend_read(&own->out.memory, h, &own->out.windows, err) && attribute(&b, err));
	free_build(&b);
	if (ok)
		return own;
	release_host(own);
	return NULL;
}

static bool read_pieces(struct ss_attr_build *b, const struct ss_piece_reader *r, struct ss_err *err)
{
	b->reader = r;
	b->pieces = (struct ss_pieces){ .host = b->h, .about = b->out, .build = b };
	if (!claim_host(b, err))
		return false;
	b->pieces.starter = b->starter;
	b->pieces.nunits = count_units(b) + (!b->has_device && b->any_claim);
	return r->begin(r->arg, &b->pieces) && build_units(b);
}

bool ss_host_pieces(struct ss_host *h, const struct ss_piece_reader *r, struct ss_err *err)
{
	const struct ss_windows *w = ss_host_windows(h, err);
	if (!w)
		return false;
	struct own own = { .out = blank_host(h->name, w) };
	struct ss_attr_build b = { .h = h, .planes = h->planes, .nplanes = h->nplanes, .arena = &own.arena, .out = &own.out };
	bool ok = ss_host_is_raw(h) || (ss_host_load(h, err) && (read_pieces(&b, r, err) || ss_fail_mem(err)));
	free_build(&b);
	ss_arena_release(&own.arena);
	return ok;
}

static const struct ss_host_fact of_host = { SS_HOST_ATTRIBUTION, build_host, release_host };

const struct ss_time_host *ss_host_attribution(struct ss_host *h, struct ss_err *err)
{
	return ss_host_fact_get(h, &of_host, err);
}

/* ---- all hosts ---- */

struct all {
	struct ss_attribution out; /* first */
	struct ss_intern intern;
};

static bool begin(void *data, const struct ss_model *m)
{
	struct all *all = data;
	all->out.hosts = SS_NEW_N(&all->intern.arena, struct ss_time_host, m->nhosts + 1);
	all->out.nhosts = m->nhosts;
	return all->out.hosts;
}

static void keep_subject(struct ss_time_subject *s, struct ss_intern *k)
{
	s->name = ss_intern_str(k, s->name);
	s->detail = ss_intern_str(k, s->detail);
	s->caller = ss_intern_str(k, s->caller);
}

static bool keep_unit(struct ss_time_unit *u, size_t nwindows, size_t host, struct ss_intern *k)
{
	u->host = (uint32_t)host;
	u->device = ss_intern_str(k, u->device);
	if (k->copies) {
		u->subjects = ss_intern_copy(k, u->subjects, u->nsubjects, sizeof(*u->subjects));
		u->collectives.v = ss_intern_copy(k, u->collectives.v, u->collectives.n, sizeof(*u->collectives.v));
		if (u->steps)
			u->steps = ss_intern_copy(k, u->steps, nwindows, sizeof(*u->steps));
	}
	for (size_t i = 0; k->copies && u->subjects && i < u->nsubjects; i++)
		keep_subject(&u->subjects[i], k);
	return true;
}

static bool take_host(void *data, size_t i, struct ss_host *h, const void *fact, struct ss_err *err)
{
	(void)h;
	struct all *all = data;
	struct ss_intern *k = &all->intern;
	const struct ss_time_host *one = fact;
	struct ss_time_host *t = &all->out.hosts[i];
	*t = *one;
	t->name = ss_intern_str(k, t->name);
	t->device_type = ss_intern_str(k, t->device_type);
	t->thread = ss_intern_str(k, t->thread);
	t->memory.allocator = ss_intern_str(k, t->memory.allocator);
	t->memory.grower = ss_intern_str(k, t->memory.grower);
	t->precision.wide_kernel = ss_intern_str(k, t->precision.wide_kernel);
	t->extra = ss_intern_str(k, t->extra);
	t->more_often.name = ss_intern_str(k, t->more_often.name);
	t->recompiled.changed = ss_intern_str(k, t->recompiled.changed);
	t->recompiled.function = ss_intern_str(k, t->recompiled.function);
	keep_subject(&t->input, k);
	t->units = ss_intern_copy(k, t->units, t->nunits, sizeof(*t->units));
	bool ok = ss_windows_intern(&t->windows, k) && t->units != NULL;
	for (size_t u = 0; ok && u < t->nunits; u++)
		ok = keep_unit(&t->units[u], t->windows.n, i, k);
	return (ok && !k->no_memory) || ss_fail_mem(err);
}

static void release(void *data)
{
	struct all *all = data;
	ss_intern_release(&all->intern);
	free(all);
}

const struct ss_fold ss_fold_attribution = {
	.part = SS_MODEL_ATTRIBUTION,
	SS_FOLD_DATA(struct all),
	.begin = begin,
	.of = &of_host,
	.take = take_host,
	.release = release,
};

const struct ss_attribution *ss_model_attribution(struct ss_model *m, struct ss_err *err)
{
	return ss_fold_get(m, &ss_fold_attribution, err);
}
