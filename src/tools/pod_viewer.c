/*
 * pod_viewer.c - every step on every core of every host: what each spent its time on, and where the
 * cores are (pod_viewer.md).
 *
 * The nine parts are those of the overview's steps. On TPUs they come from HLO categories: what is
 * neither a transfer, nor a collective, nor waiting for the host counts as compute. The topology is
 * read off the planes (places.h); XProf leaves it empty, and with it chip and node of each core,
 * so they stand in a table of their own.
 */
#include "model/steps/inferred.h"
#include "model/model.h"

#include "model/host/identity.h"
#include "tools/input_report.h"
#include "tools/pod_channels.h"
#include "xprof/quirks/quirks.h"
#include "tools/words.h"

#include <math.h>
#include <stdlib.h>

enum { COL_STEP, COL_CORE, COL_HOST, COL_TOTAL_US, COL_BOTTLENECK, COL_PARTS };

static const struct ss_col step_cols[] = {
	INT("step_num", "Step", COUNT, NULL),
	NUM("total_us", "Step time", US, "Maximum over cores"),
	INT("cores", "Cores", COUNT, "Cores that are shown"),
	STR("bottleneck", "Bottleneck", "The part with the longest time, summed over cores"),
	NUM("bottleneck_frac", "Its share", FRAC, "Time of that part / time of the step, mean over the cores"),
	INT("busiest_core", "Busiest core", NONE, "The core for which all other cores wait"),
	NUM("busiest_us", "Busiest core's work", US, "Step time - input - transfers - collectives - \"All others\""),
	INT("idlest_core", "Least busy core", NONE, NULL),
	NUM("idlest_us", "Least busy core's work", US, NULL),
};

enum {
	STEP_NUM,
	STEP_TOTAL_US,
	STEP_CORES,
	STEP_BOTTLENECK,
	STEP_BOTTLENECK_FRAC,
	STEP_BUSIEST,
	STEP_BUSIEST_US,
	STEP_IDLEST,
	STEP_IDLEST_US
};

/* The parts in the order of enum ss_step_part; XProf numbers them from 1. */
static const struct ss_col core_cols[] = {
	INT("step_num", "Step", COUNT, NULL),
	INT("core_id", "Core", NONE,
	    "1000 times the number of the host plus the number of the core; 1 for a host's GPUs or CPUs together"),
	STR("host_name", "Host", NULL),
	NUM("total_us", "Step time", US, "Time from the begin to the end of the step; on TPUs the maximum over cores"),
	STR("bottleneck", "Bottleneck", "Name of the part with the longest time"),
	PART("device_compute_us", "Device compute", US, "Operations that compute"),
	PART("device_to_device_us", "Device to device", US, "Sending to and receiving from other devices"),
	PART("collectives_us", "Device collective communication", US, "All-reduce and all-to-all"),
	NUM("host_compute_us", "Host compute", US, NULL),
	PART("kernel_launch_us", "Kernel launch", US, "Time in which the host prepares the next work of the device"),
	PART("input_us", "Input", US, "Waiting for input, and copying it to the device"),
	PART("output_us", "Output", US, "Copying results to the host"),
	PART("compile_us", "Compilation", US, NULL),
	NUM("other_us", "All others", US, "The rest of the step; on TPUs idle time"),
};

static const struct ss_col place_cols[] = {
	INT("core_id", "Core", NONE, NULL),
	STR("host_name", "Host", NULL),
	ID("global_chip_id", "Chip", "Global chip ID; -1 if the profile does not record it"),
	ID("local_chip_id", "Chip on host", NULL),
	ID("core_num", "Core on chip", NULL),
	ID("device_ordinal", "Device", "Number of the device on its host"),
	ID("replica_id", "Replica", "-1 if the profile does not record it"),
};

static const struct ss_col collective_cols[] = {
	INT("step_num", "Step", COUNT, NULL),
	INT("collective_id", "Collective", NONE, "Equal on all participating cores"),
	INT("cores", "Cores", COUNT, "Participating cores"),
	NUM("least_us", "Shortest", US, "Duration on the core that arrives last: the transfer itself"),
	NUM("most_us", "Longest", US, "Duration on the core that waits longest"),
	STR("hlo_op_name", "Operation", NULL),
	INT("last_core", "Core that arrived last", NONE, "The core with the shortest time"),
	NUM("waiting_us", "Waiting", US, "Longest - shortest: waiting for the last core"),
};

static double us(uint64_t ps)
{
	return (double)ps / 1e6;
}

/* HLO categories that are not compute. */
static enum ss_step_part part_of_category(struct ss_str category)
{
	static const struct {
		struct ss_str category;
		enum ss_step_part part;
	} rules[] = {
		{ SS_STR_INIT("infeed"), SS_STEP_PART_INPUT },
		{ SS_STR_INIT("host recv"), SS_STEP_PART_INPUT },
		{ SS_STR_INIT("host recv-done"), SS_STEP_PART_INPUT },
		{ SS_STR_INIT("sparsecorev0 infeed"), SS_STEP_PART_INPUT },
		{ SS_STR_INIT("outfeed"), SS_STEP_PART_OUTPUT },
		{ SS_STR_INIT("host send"), SS_STEP_PART_OUTPUT },
		{ SS_STR_INIT("host send-done"), SS_STEP_PART_OUTPUT },
		{ SS_STR_INIT("sparsecorev0 outfeed"), SS_STEP_PART_OUTPUT },
		{ SS_STR_INIT("send"), SS_STEP_PART_DEVICE_TO_DEVICE },
		{ SS_STR_INIT("send-done"), SS_STEP_PART_DEVICE_TO_DEVICE },
		{ SS_STR_INIT("recv"), SS_STEP_PART_DEVICE_TO_DEVICE },
		{ SS_STR_INIT("recv-done"), SS_STEP_PART_DEVICE_TO_DEVICE },
		{ SS_STR_INIT("megacore fusion"), SS_STEP_PART_DEVICE_TO_DEVICE },
		{ SS_STR_INIT("async-done"), SS_STEP_PART_DEVICE_TO_DEVICE },
		{ SS_STR_INIT("all-reduce"), SS_STEP_PART_COLLECTIVES },
		{ SS_STR_INIT("all-reduce fusion"), SS_STEP_PART_COLLECTIVES },
		{ SS_STR_INIT("all-to-all"), SS_STEP_PART_COLLECTIVES },
		{ SS_STR_INIT("IDLE"), SS_STEP_PART_OTHER },
	};
	for (size_t i = 0; i < SS_COUNT(rules); i++)
		if (ss_str_eq(category, rules[i].category))
			return rules[i].part;
	return SS_STEP_PART_DEVICE_COMPUTE;
}

static void parts_of_core(const struct ss_step_core *c, uint64_t part_ps[SS_STEP_PART_COUNT])
{
	if (c->kind == SS_STEP_BY_WORK) {
		ss_step_parts(c, part_ps);
		return;
	}
	memset(part_ps, 0, SS_STEP_PART_COUNT * sizeof(*part_ps));
	for (uint32_t i = 0; i < c->step->ncats; i++) {
		const struct ss_cat_time *t = &c->core->cats[c->step->first_cat + i];
		part_ps[part_of_category(c->core->categories[t->category])] += t->self_ps;
	}
	part_ps[SS_STEP_PART_OTHER] += c->idle_ps;
	part_ps[SS_STEP_PART_INPUT] += c->host_input_ps;
}

/* The largest part. */
static struct ss_str bottleneck(const uint64_t part_ps[SS_STEP_PART_COUNT])
{
	size_t best = 0;
	for (size_t i = 1; i < SS_STEP_PART_COUNT; i++)
		if (part_ps[i] > part_ps[best] ||
		    (part_ps[i] == part_ps[best] &&
		     ss_quirk_is_bottleneck_before(core_cols[COL_PARTS + i].label, core_cols[COL_PARTS + best].label)))
			best = i;
	return ss_str_from(core_cols[COL_PARTS + best].label);
}

/*
 * SparseCores have no steps of their own. To XProf a core counts only if its plane has
 * core_details.
 */
static bool counts(const struct ss_step_core *c, bool as_xprof)
{
	return c->kind == SS_STEP_BY_WORK ||
	       (c->kind == SS_STEP_TENSOR_CORE && (!as_xprof || c->core->details.present));
}

static bool add_core(struct ss_table *t, const struct ss_request *q, const struct ss_step *s, const struct ss_step_core *c)
{
	uint64_t part_ps[SS_STEP_PART_COUNT];
	ss_table_row(t);
	parts_of_core(c, part_ps);
	ss_set_i64(t, COL_STEP, s->num);
	ss_set_i64(t, COL_CORE, c->core_id);
	ss_set_str(t, COL_HOST, ss_host_shown(q->model->hosts[c->host], q->as_xprof));
	ss_set_f64(t, COL_TOTAL_US, us(c->dur_ps));
	ss_set_str(t, COL_BOTTLENECK, bottleneck(part_ps));
	for (size_t i = 0; i < SS_STEP_PART_COUNT; i++)
		ss_set_f64(t, COL_PARTS + i, us(part_ps[i]));
	return true;
}

/* Operations belong to a step by its number; nothing says that they end with its marker. */
static void note_overlong(struct ss_result *out)
{
	const struct ss_table *t = ss_result_at(out, out->ntables - 1);
	size_t n = 0;
	for (size_t i = 0; i < t->nrows; i++) {
		double sum_us = 0, total_us = t->data[COL_TOTAL_US].f64[i];
		for (size_t k = 0; k < SS_STEP_PART_COUNT; k++)
			sum_us += t->data[COL_PARTS + k].f64[i];
		n += sum_us > total_us * (1 + 1e-6);
	}
	if (!n)
		return;
	struct ss_str text = ss_arena_printf(out->arena,
					     "Step breakdown: in %zu of %zu rows the parts exceed the step, because operations "
					     "ran beyond the step marker.",
					     n, t->nrows);
	ss_result_note(out, SS_WARNING, text);
}

static bool cores(const struct ss_request *q, const struct ss_steps *steps, struct ss_result *out)
{
	struct ss_table *t = ss_result_table(out, "cores", "Step breakdown", core_cols, SS_COUNT(core_cols));
	for (size_t i = 0; i < steps->n; i++)
		for (size_t k = 0; k < steps->v[i].ncores; k++)
			if (counts(&steps->v[i].cores[k], q->as_xprof) &&
			    !add_core(t, q, &steps->v[i], &steps->v[i].cores[k]))
				return false;
	note_overlong(out);
	return true;
}

/* A core's own work: waiting for others or for input is no work. */
static uint64_t work_of(const uint64_t part_ps[SS_STEP_PART_COUNT], uint64_t dur_ps)
{
	uint64_t waits = part_ps[SS_STEP_PART_OTHER] + part_ps[SS_STEP_PART_COLLECTIVES] + part_ps[SS_STEP_PART_INPUT] +
			 part_ps[SS_STEP_PART_DEVICE_TO_DEVICE];
	return waits < dur_ps ? dur_ps - waits : 0;
}

/* The cores of a step compared with each other. */
static void compare_cores(struct ss_table *t, const struct ss_step *s, bool as_xprof)
{
	uint64_t part_ps[SS_STEP_PART_COUNT], sum_ps[SS_STEP_PART_COUNT] = { 0 }, all_ps = 0, max = 0, min = UINT64_MAX;
	int64_t n = 0;
	for (size_t k = 0; k < s->ncores; k++) {
		const struct ss_step_core *c = &s->cores[k];
		if (!counts(c, as_xprof))
			continue;
		n++;
		all_ps += c->dur_ps;
		parts_of_core(c, part_ps);
		for (size_t i = 0; i < SS_STEP_PART_COUNT; i++)
			sum_ps[i] += part_ps[i];
		uint64_t work_ps = work_of(part_ps, c->dur_ps);
		if (n == 1 || work_ps > max) {
			max = work_ps;
			ss_set_i64(t, STEP_BUSIEST, c->core_id);
			ss_set_f64(t, STEP_BUSIEST_US, us(work_ps));
		}
		if (work_ps < min) {
			min = work_ps;
			ss_set_i64(t, STEP_IDLEST, c->core_id);
			ss_set_f64(t, STEP_IDLEST_US, us(work_ps));
		}
	}
	ss_set_i64(t, STEP_CORES, n);
	if (!n)
		return;
	size_t best = 0;
	for (size_t i = 1; i < SS_STEP_PART_COUNT; i++)
		if (sum_ps[i] > sum_ps[best])
			best = i;
	ss_set_str(t, STEP_BOTTLENECK, ss_str_from(core_cols[COL_PARTS + best].label));
	ss_set_f64(t, STEP_BOTTLENECK_FRAC, all_ps ? (double)sum_ps[best] / (double)all_ps : 0);
}

/* All steps, those without a core that counts as well. */
static void step_list(const struct ss_request *q, const struct ss_steps *steps, struct ss_result *out)
{
	struct ss_table *t = ss_result_table(out, "steps", "Steps", step_cols, SS_COUNT(step_cols));
	for (size_t i = 0; i < steps->n; i++) {
		ss_table_row(t);
		ss_set_i64(t, STEP_NUM, steps->v[i].num);
		ss_set_f64(t, STEP_TOTAL_US, us(steps->v[i].dur_ps));
		compare_cores(t, &steps->v[i], q->as_xprof);
	}
}

/* Where each core is, whether it had a step or not. */
static void places(const struct ss_places *all, bool as_xprof, struct ss_result *out)
{
	struct ss_table *t = ss_result_table(out, "topology", "Topology", place_cols, SS_COUNT(place_cols));
	for (size_t k = 0; k < all->n; k++) {
		const struct ss_place *p = &all->v[k];
		const int64_t numbers[] = { p->global_chip_id, p->local_chip_id, p->core_num, p->device_ordinal, p->replica_id };
		ss_table_row(t);
		ss_set_i64(t, 0, p->core_id);
		ss_set_str(t, 1, as_xprof ? p->hostname : p->host);
		for (size_t i = 0; i < SS_COUNT(numbers); i++)
			ss_set_i64(t, 2 + i, numbers[i]);
	}
}

/* One core's share of a collective in one step. */
struct share {
	uint64_t id, time_ps;
	uint32_t core_id;
	struct ss_str name;
};

static int by_id(const void *a, const void *b)
{
	const struct share *x = a, *y = b;
	return SS_CMP(x->id, y->id) ?: SS_CMP(x->time_ps, y->time_ps) ?: SS_CMP(x->core_id, y->core_id);
}

static bool add_collectives(struct ss_table *t, const struct ss_step *s)
{
	size_t n = 0, k = 0;
	for (size_t i = 0; i < s->ncores; i++)
		n += s->cores[i].kind == SS_STEP_TENSOR_CORE ? s->cores[i].step->ncollectives : 0;
	struct share *v = SS_NEW_N(t->arena, struct share, n + 1);
	if (!v)
		return false;
	for (size_t i = 0; i < s->ncores; i++) {
		const struct ss_step_core *c = &s->cores[i];
		for (uint32_t j = 0; c->kind == SS_STEP_TENSOR_CORE && j < c->step->ncollectives; j++) {
			const struct ss_collective *x = &c->core->collectives[c->step->first_collective + j];
			v[k++] = (struct share){ x->id, x->time_ps, c->core_id, x->name };
		}
	}
	qsort(v, n, sizeof(*v), by_id);
	for (size_t from = 0, to; from < n; from = to) {
		for (to = from + 1; to < n && v[to].id == v[from].id;)
			to++;
		ss_table_row(t);
		ss_set_i64(t, 0, s->num);
		ss_set_i64(t, 1, (int64_t)v[from].id);
		ss_set_i64(t, 2, (int64_t)(to - from));
		ss_set_f64(t, 3, us(v[from].time_ps));
		ss_set_f64(t, 4, us(v[to - 1].time_ps));
		ss_set_str(t, 5, v[from].name);
		ss_set_i64(t, 6, v[from].core_id);
		ss_set_f64(t, 7, us(v[to - 1].time_ps - v[from].time_ps));
	}
	return true;
}

static bool collectives(const struct ss_steps *steps, struct ss_result *out)
{
	struct ss_table *t = ss_result_table(out, "collectives", "Collectives", collective_cols,
					     SS_COUNT(collective_cols));
	for (size_t i = 0; i < steps->n; i++)
		if (!add_collectives(t, &steps->v[i]))
			return false;
	return true;
}

static bool run(const struct ss_request *q, struct ss_result *out, struct ss_err *err)
{
	const struct ss_steps *steps = ss_request_steps(q, false, err);
	const struct ss_env *env = steps ? ss_model_env(q->model, err) : NULL;
	if (!env)
		return false;
	struct ss_input_report said = { .env = env, .steps = steps };
	bool ok = cores(q, steps, out);
	if (ok)
		ss_table_prop(ss_result_at(out, 0), "device_type", env->device_type);
	if (ok)
		step_list(q, steps, out);
	if (ok)
		places(&env->places, q->as_xprof, out);
	if (ok && !q->as_xprof) {
		ss_table_sort_naturally(ss_result_at(out, 0), "host_name", "step_num");
		ss_table_sort_naturally(ss_result_at(out, 2), "host_name", NULL);
	}
	ok = ok && collectives(steps, out);
	if (!ok)
		return ss_fail_mem(err);
	return ss_pod_channels(q->model, steps, out, err) && (ss_input_diagnostics(&said, q, out, false) || ss_fail_mem(err));
}

/* "7002 of 'host7'": its number alone tells nobody where it is. */
static struct ss_str core_words(const struct ss_model *m, struct ss_arena *a, int64_t core)
{
	uint64_t host = (uint64_t)core / 1000;
	if (m->nhosts > 1 && core >= 0 && host < m->nhosts)
		return ss_arena_printf(a, "%lld of '" SS_FMT "'", (long long)core, SS_ARG(ss_host_name(m->hosts[host])));
	return ss_arena_printf(a, "%lld", (long long)core);
}

static double shortest_us(const struct ss_table *t)
{
	double min = INFINITY;
	for (size_t i = 0; i < t->nrows; i++)
		min = fmin(min, ss_cell_f64(t, i, "total_us"));
	return min;
}

/* The longest step, what most of it is, and how unequal the cores are in it. */
static bool conclude(const struct ss_request *q, struct ss_result *out, struct ss_err *err)
{
	const struct ss_steps *steps = ss_request_steps(q, false, err);
	const struct ss_env *env = steps ? ss_model_env(q->model, err) : NULL;
	const struct ss_table *t = ss_result_find(out, "steps");
	struct ss_greatest top = ss_greatest_row(t, "total_us", NULL, NULL);
	if (!env || top.row == SS_NPOS)
		return env;
	double busiest = ss_cell_f64(t, top.row, "busiest_us"), idlest = ss_cell_f64(t, top.row, "idlest_us");
	struct ss_str part = ss_cell_str(t, top.row, "bottleneck");
	/*
	 * As the program calls it, "train 8"; a table that an older program stored has numbers
	 * alone.
	 */
	int64_t num = ss_cell_i64(t, top.row, "step_num");
	bool named = top.row < steps->n && steps->v[top.row].num == num && steps->v[top.row].name.n &&
		     !steps->v[top.row].mixed;
	int64_t same;
	if (named && ss_str_to_i64(steps->v[top.row].name, &same))
		named = same != num;
	struct ss_str step = named ? ss_arena_printf(out->arena, "'" SS_FMT "'", SS_ARG(steps->v[top.row].name))
				   : ss_arena_printf(out->arena, "%lld", (long long)num);
	if (t->nrows > 1 && !(shortest_us(t) < top.value))
		ss_say(out, "Each of the %zu steps takes %s, as XProf counts.", t->nrows, ss_value_words(SS_UNIT_US, top.value).s);
	else if (t->nrows == 1)
		ss_say(out, "Step " SS_FMT " takes %s, as XProf counts.", SS_ARG(step), ss_value_words(SS_UNIT_US, top.value).s);
	else
		ss_say(out, "Step " SS_FMT " is the longest of %zu, as XProf counts: %s.", SS_ARG(step), t->nrows,
		       ss_value_words(SS_UNIT_US, top.value).s);
	if (part.n)
		ss_say(out, "The largest part of it is '" SS_FMT "': %s of the step, mean of the cores.",
		       SS_ARG(part), ss_value_words(SS_UNIT_FRAC, ss_cell_f64(t, top.row, "bottleneck_frac")).s);
	/* On a CPU a thread that waits for others in a collective operation counts as working. */
	if (ss_cell_i64(t, top.row, "cores") > 1 && busiest > idlest && env->hardware != SS_HW_CPU_ONLY) {
		struct ss_str first = core_words(q->model, out->arena, ss_cell_i64(t, top.row, "busiest_core"));
		struct ss_str last = core_words(q->model, out->arena, ss_cell_i64(t, top.row, "idlest_core"));
		ss_say(out, "Core " SS_FMT " works longest in it, %s.", SS_ARG(first), ss_value_words(SS_UNIT_US, busiest).s);
		/* Of a recording that is cut, too. */
		if (!(idlest > 0))
			ss_say(out, "No work of core " SS_FMT " is recorded in it.", SS_ARG(last));
		else
			ss_say(out, "Core " SS_FMT " works least, %s.", SS_ARG(last), ss_value_words(SS_UNIT_US, idlest).s);
	}
	return true;
}

const struct ss_tool ss_tool_pod_viewer = {
	.name = "pod_viewer",
	.title = "Pod viewer",
	.summary = "Breakdown of each step on each core of all hosts; topology; collectives",
	.kind = SS_KIND_TABLES,
	.flags = SS_TOOL_ALL_HOSTS | SS_TOOL_ONLY_ALL_HOSTS | SS_TOOL_UNLISTED | SS_TOOL_VISITS | SS_TOOL_OF_PARTS,
	.facts = SS_FACTS_ENV | SS_FACTS_STEPS | SS_FACTS_INFERRED_STEPS | SS_FACTS_TRANSFERS,
	.run = run,
	.conclude = conclude,
};
