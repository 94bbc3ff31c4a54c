/* gaps.c - what the recording lacks, so that nobody takes the rest for the whole. */
#include "model/host/host.h"

#include "base/safe.h"
#include "model/cluster/cluster.h"
#include "model/model.h"
#include "model/ops/ops.h"
#include "verdict/judge.h"
#include "verdict/limits.h"

static void add(struct ss_judge *j, struct ss_str text, bool noted)
{
	if (!ss_vec_push(&j->gaps, ((struct ss_recording_gap){ text, noted })))
		j->no_memory = true;
}

/* The notes of the file's writer and of its reader. */
static void of_files(struct ss_judge *j, struct ss_model *m)
{
	pthread_mutex_lock(&m->lock);
	for (size_t i = 0; i < m->nhosts; i++) {
		const struct ss_host *h = m->hosts[i];
		for (uint32_t k = 0; k < h->x.nnotes; k++)
			add(j, ss_say(j, SS_FMT ": " SS_FMT, SS_ARG(h->name), SS_ARG(h->x.notes[k])), true);
		if (h->ndropped)
			add(j,
			    ss_say(j, SS_FMT ": %llu event%s could not be read", SS_ARG(h->name),
				   (unsigned long long)h->ndropped, h->ndropped == 1 ? "" : "s"),
			    true);
		if (h->imported.any && h->nevents == SS_MOST_EVENTS_OF_TRACE)
			add(j,
			    ss_say(j,
				   SS_FMT ": the trace holds exactly one million events, which is the most that XProf writes: "
					  "later ones are missing.",
				   SS_ARG(h->name)),
			    false);
	}
	pthread_mutex_unlock(&m->lock);
}

#define MOST_NAMED 4

/* The profiler's own reports: errors, and events that its buffers (CUPTI's) had no room for. */
static void of_profiler(struct ss_judge *j)
{
	const struct ss_env *e = j->env;
	for (size_t i = 0; i < e->nerrors && i < MOST_NAMED; i++)
		add(j, ss_say(j, "The profiler reports an error: " SS_FMT, SS_ARG(ss_shorten(j, e->errors[i], 300))), false);
	for (size_t i = 0, n = 0; i < e->nwarnings && n < MOST_NAMED; i++) {
		if (!ss_str_contains(e->warnings[i], SS_STR("drop")) && !ss_str_contains(e->warnings[i], SS_STR("Drop")))
			continue;
		add(j,
		    ss_say(j, "The profiler had no room for all events: " SS_FMT ". Record fewer steps at once.",
			   SS_ARG(ss_shorten(j, e->warnings[i], 300))),
		    false);
		n++;
	}
}

/* "host3, host7 and 2 more" of one state, *n of them. */
static struct ss_str names_of(struct ss_judge *j, const struct ss_cluster *c, enum ss_host_state state, size_t *n)
{
	struct ss_str text = SS_STR("");
	*n = 0;
	for (size_t i = 0; i < c->hosts.n; i++) {
		if (c->hosts.v[i].state != state || (*n)++ >= MOST_NAMED)
			continue;
		struct ss_str name = ss_shorten(j, c->hosts.v[i].name, 60);
		text = ss_say(j, SS_FMT "%s" SS_FMT, SS_ARG(text), *n > 1 ? ", " : "", SS_ARG(name));
	}
	return *n > MOST_NAMED ? ss_say(j, SS_FMT " and %zu more", SS_ARG(text), *n - MOST_NAMED) : text;
}

/* Hosts that the names of the others, or the job itself, tell of. */
static bool of_hosts(struct ss_judge *j, struct ss_model *m, struct ss_err *err)
{
	const struct ss_cluster *c = m->nhosts > 1 ? ss_model_cluster(m, err) : NULL;
	size_t n = 0;
	struct ss_str names = c ? names_of(j, c, SS_HOST_MISSING, &n) : SS_STR("");
	if (n)
		add(j,
		    ss_say(j, "%zu of %zu %ss %s not in the recording: " SS_FMT ". What %s is not known.", n, c->hosts.n,
			   ss_cluster_noun(c), n == 1 ? "is" : "are", SS_ARG(names), n == 1 ? "it does" : "they do"),
		    false);
	else if (c && c->nranks_missing)
		add(j,
		    ss_say(j, "%llu of %llu ranks %s not in the recording. What %s is not known.",
			   (unsigned long long)c->nranks_missing, (unsigned long long)(c->nparts + c->nranks_missing),
			   c->nranks_missing == 1 ? "is" : "are", c->nranks_missing == 1 ? "it does" : "they do"),
		    false);
	if (c && c->apart.n)
		add(j, ss_say(j, SS_FMT, SS_ARG(c->apart)), false);
	return c || m->nhosts <= 1;
}

static void of_steps(struct ss_judge *j)
{
	const struct ss_verdict *v = j->out;
	if (v->steps && v->steps_cut)
		add(j,
		    ss_say(j,
			   "%zu of %zu steps are whole. The recording has only a part of the other%s, which %s left out.",
			   v->steps, v->steps + v->steps_cut, v->steps_cut == 1 ? "" : "s",
			   v->steps_cut == 1 ? "is" : "are"),
		    false);
}

static void of_left_out(struct ss_judge *j)
{
	for (size_t i = 0; i < j->a->nhosts; i++)
		if (j->a->hosts[i].units_left_out)
			add(j,
			    ss_say(j,
				   "The recording of host " SS_FMT " holds %zu devices: time is attributed for the "
				   "first %zu only.",
				   SS_ARG(j->a->hosts[i].name), j->a->hosts[i].nunits + j->a->hosts[i].units_left_out,
				   j->a->hosts[i].nunits),
			    false);
}

/* A device of which nothing was recorded for long at the begin or the end, while others go on. */
static void of_devices(struct ss_judge *j)
{
	size_t n = 0;
	for (size_t i = 0; i < j->nunits; i++) {
		const struct ss_judged_unit *u = &j->units[i];
		const struct ss_windows *w = &u->h->windows;
		double window_ps = (double)u->u->window_ps;
		if (!u->u->device.n || !u->u->ops || !(window_ps > 0))
			continue;
		double before = (double)ss_safe_between(w->begin_ps, u->u->first_ps) / window_ps,
		       after = (double)ss_safe_between(u->u->last_ps, w->end_ps) / window_ps;
		if (fmax(before, after) >= SS_UNCOVERED_SHARE && n++ < MOST_NAMED)
			add(j,
			    ss_say(j,
				   "Nothing of " SS_FMT " of %s " SS_FMT
				   " is recorded in the %s %s of the time: it did nothing then, or its events were lost.",
				   SS_ARG(u->u->device), ss_recording_word(j), SS_ARG(u->h->name),
				   before > after ? "first" : "last", ss_percent_of(fmax(before, after)).s),
			    false);
	}
	if (n > MOST_NAMED)
		add(j, ss_say(j, "This also holds for %zu more devices.", n - MOST_NAMED), false);
}

/* Programs of JAX on a CPU that were started, and none of whose operations was recorded. */
static void of_programs(struct ss_judge *j)
{
	for (size_t i = 0; i < j->nunits; i++) {
		const struct ss_judged_unit *u = &j->units[i];
		if (!u->u->device.n && u->u->calls && !u->u->ops && u->h->hardware == SS_HW_CPU_ONLY &&
		    u->h->frameworks == SS_FW_JAX)
			add(j,
			    ss_say(j,
				   SS_FMT ": %llu program%s started, and no operation of %s is recorded: the recording may have "
				   "ended before. Wait for the last result (block_until_ready) before you stop it.",
				   SS_ARG(u->h->name), (unsigned long long)u->u->calls, u->u->calls == 1 ? " was" : "s were",
				   u->u->calls == 1 ? "it" : "them"),
			    false);
	}
}

/* Kernels that no operation of the program is known for. */
static bool of_kernels(struct ss_judge *j, struct ss_model *m, struct ss_err *err)
{
	const struct ss_ops *ops = j->env->hardware == SS_HW_GPU ? ss_model_ops(m, err) : NULL;
	double all = 0, known = 0;
	if (j->env->hardware == SS_HW_GPU && !ops)
		return false;
	for (size_t i = 0; ops && i < ops->kernels.n; i++) {
		all += (double)ops->kernels.v[i].total_ns;
		known += ops->kernels.v[i].op_name.n ? (double)ops->kernels.v[i].total_ns : 0;
	}
	if (known > 0 && known < SS_ATTRIBUTED_SHARE * all)
		add(j,
		    ss_say(j,
			   "%s of the kernels' time can be attributed to operations of the program; for the rest, the "
			   "recording names only the kernels.",
			   ss_percent_of(known / all).s),
		    false);
	return true;
}

/* CUDA graphs: XLA's command buffers. */
static bool of_graphs(struct ss_judge *j, struct ss_model *m, struct ss_err *err)
{
	const struct ss_ops *ops = j->env->hardware == SS_HW_GPU ? ss_model_ops(m, err) : NULL;
	if (j->env->hardware == SS_HW_GPU && !ops)
		return false;
	if (ops && ops->graph_ps && (double)ops->graph_known_ps < SS_ATTRIBUTED_SHARE * (double)ops->graph_ps)
		add(j,
		    ss_say(j,
			   "%s of the time of kernels that CUDA graphs (XLA's command buffers) started cannot be attributed to an "
			   "operation: the recording names only the graph.",
			   ss_percent_of(1 - (double)ops->graph_known_ps / (double)ops->graph_ps).s),
		    false);
	return true;
}

bool ss_find_gaps(struct ss_judge *j, struct ss_model *m, struct ss_err *err)
{
	struct ss_verdict *v = j->out;
	of_files(j, m);
	of_profiler(j);
	of_steps(j);
	of_left_out(j);
	of_devices(j);
	of_programs(j);
	if (!of_hosts(j, m, err) || !of_kernels(j, m, err) || !of_graphs(j, m, err))
		return false;
	v->gaps = SS_NEW_N(j->arena, struct ss_recording_gap, j->gaps.n + 1);
	if (j->no_memory || !v->gaps)
		return ss_fail_mem(err);
	if (j->gaps.n)
		memcpy(v->gaps, j->gaps.v, j->gaps.n * sizeof(*v->gaps));
	v->ngaps = j->gaps.n;
	return true;
}
