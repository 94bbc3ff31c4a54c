/*
 * smart_suggestion.c - what to change first: rules over the figures of the other tools, the ones
 * that fire ranked by the share of time they are about, each with the figures that prove it.
 *
 * The rules stand in suggestion_rules.c. Matrix unit and memory utilisation come from hardware
 * counters, or where there are none from the costs of the operations against the device's peaks.
 */
#include "model/ops/ops.h"
#include "model/runtime/memory.h"
#include "model/steps/event_share.h"
#include "model/steps/inferred.h"
#include "model/steps/idle_attribution.h"
#include "tools/finding.h"
#include "tools/input_report.h"
#include "tools/op_cells.h"
#include "tools/suggestion_rules.h"

#include <stdlib.h>

enum { SUG_RULE, SUG_TITLE, SUG_PERCENT, SUG_FINDING };

static const struct ss_col suggestion_cols[] = {
	STR("rule", "Rule", NULL),
	STR("title", "Suggestion", NULL),
	NUM("percent", "Share", PERCENT, "Share of the time, or of the memory, that the suggestion is about"),
	STR("finding", "What was found", NULL),
};

enum { ADV_SUGGESTION, ADV_TITLE, ADV_TEXT };

static const struct ss_col advice_cols[] = {
	INT("suggestion", "Suggestion row", NONE, "Row of the table of suggestions"),
	STR("title", "What to do", NULL),
	STR("text", "How", NULL),
};

enum { EV_SUGGESTION, EV_FIGURE, EV_VALUE, EV_THRESHOLD, EV_TOOL };

static const struct ss_col evidence_cols[] = {
	INT("suggestion", "Suggestion row", NONE, "Row of the table of suggestions"),
	STR("figure", "Figure", NULL),
	NUM("percent", "Value", PERCENT, NULL),
	STR("condition", "Condition", "What makes the rule fire"),
	STR("tool", "Tool", "Where to look"),
};

/* The operations behind a figure: the largest of them prove it. */
enum { OP_SUGGESTION, OP_NAME, OP_CATEGORY, OP_PERCENT };

static const struct ss_col op_cols[] = {
	INT("suggestion", "Suggestion row", NONE, "Row of the table of suggestions"),
	STR("hlo_op_name", "Operation", NULL),
	STR("category", "Category", NULL),
	NUM("percent", "Share", PERCENT, "Self time / time of the device"),
};

#define MAX_OPS 5

/* What the host did in the time that a rule on idling is about. */
enum { HOST_SUGGESTION, HOST_EVENT, HOST_CALLER, HOST_PERCENT };

static const struct ss_col host_cols[] = {
	INT("suggestion", "Suggestion row", NONE, "Row of the table of suggestions"),
	STR("event", "The host was in", "Innermost event of the thread that starts the programs"),
	STR("caller", "Called by", NULL),
	NUM("percent", "Share", PERCENT, "Of the time within steps in which nothing computed"),
};

struct facts {
	double v[SS_FIG_COUNT];
	bool known[SS_FIG_COUNT];
	const struct ss_op_db *db;
	const struct ss_event_shares *barriers;
	const struct ss_idle_attribution *meanwhile; /* NULL: no rule asks for it */
	const struct ss_memory_peak *peak;
};

static void know(struct facts *f, enum ss_figure figure, double percent)
{
	f->v[figure] = percent;
	f->known[figure] = true;
}

static double share(double part, double whole)
{
	return whole > 0 ? 100 * part / whole : 0;
}

static bool is_one_of(struct ss_str category, const char *const *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (ss_str_is(category, list[i]))
			return true;
	return false;
}

static bool is_collective(struct ss_str category)
{
	static const char *const list[] = {
		"all-reduce", "all-reduce fusion", "all-reduce-scatter fusion", "all-to-all", "all-gather", "all-gather-start",
		"all-gather-done", "all-gather fusion", "reduce-scatter", "collective-permute", "collective-permute-start",
		"collective-permute-done", "megacore fusion", "host send", "host send-done", "host recv", "host recv-done",
	};
	return is_one_of(category, list, SS_COUNT(list));
}

static bool is_shuffle(struct ss_str category)
{
	static const char *const list[] = {
		"broadcast", "concatenate", "data formatting", "dynamic-slice", "dynamic-update-slice", "gather", "pad", "reverse",
		"scatter", "select", "select-and-scatter", "shuffle", "slice", "sort",
	};
	return is_one_of(category, list, SS_COUNT(list));
}

static bool is_async(struct ss_str category)
{
	return ss_str_is(category, "async-done");
}

static bool is_copy(struct ss_str category)
{
	return ss_str_is(category, "copy-done");
}

static bool is_work(struct ss_str category)
{
	return !ss_str_is(category, "IDLE");
}

/* Which operations a figure is about; NULL: about none. */
static bool (*const behind[SS_FIG_COUNT])(struct ss_str category) = {
	[SS_FIG_COLLECTIVE] = is_collective,
	[SS_FIG_SHUFFLE] = is_shuffle,
	[SS_FIG_ASYNC] = is_async,
	[SS_FIG_COPY] = is_copy,
	[SS_FIG_MXU] = is_work,
	[SS_FIG_HBM] = is_work,
};

static void read_device(struct facts *f, const struct ss_env *env, const struct ss_ops *ops)
{
	const struct ss_op_db *db = &ops->device;
	double total = (double)db->total_ps, flops = 0, bytes = 0;
	double sum[SS_FIG_COUNT] = { 0 }, idle = 0;
	f->db = db;
	if (!db->n || !(total > 0))
		return;
	for (size_t i = 0; i < db->n; i++) {
		const struct ss_op *op = &db->v[i];
		double self = (double)op->self_ps;
		flops += op->cost.flops;
		bytes += (double)ss_cost_hbm_bytes(&op->cost);
		idle += ss_op_is_idle(op) ? self : 0;
		for (size_t k = 0; k < SS_FIG_COUNT; k++)
			sum[k] += behind[k] && behind[k](op->category) ? self : 0;
	}
	know(f, SS_FIG_COLLECTIVE, share(sum[SS_FIG_COLLECTIVE], total));
	know(f, SS_FIG_SHUFFLE, share(sum[SS_FIG_SHUFFLE], total));
	/*
	 * Of the whole profile: how long a GPU's was begun before the program, or ended after it, nobody
	 * knows. Where no operation was recorded the device need not have been idle.
	 */
	if (env->hardware == SS_HW_TPU && db->op_ps)
		know(f, SS_FIG_IDLE, share(idle, total));
	know(f, SS_FIG_ASYNC, share(sum[SS_FIG_ASYNC], total));
	know(f, SS_FIG_COPY, share(sum[SS_FIG_COPY], total));
	/*
	 * Counters say how busy the units were; costs say it only for operations that state them.
	 */
	if (env->mxu_percent > 0)
		know(f, SS_FIG_MXU, env->mxu_percent);
	else if (env->peaks.tflops > 0 && flops > 0)
		know(f, SS_FIG_MXU, share(flops, total * env->peaks.tflops));
	if (env->hbm_percent > 0)
		know(f, SS_FIG_HBM, env->hbm_percent);
	else if (env->peaks.bw_gb_per_s[SS_BW_HBM] > 0 && bytes > 0)
		know(f, SS_FIG_HBM, share(bytes, total * env->peaks.bw_gb_per_s[SS_BW_HBM] / 1000));
}

static void read_steps(struct facts *f, const struct ss_input_report *r)
{
	double step_ms = 0, input_ms = 0, sparse_ms = 0, collective_ms = 0;
	for (size_t i = 0; i < r->steps->n; i++) {
		step_ms += r->tpu ? r->tpu[i].step_ms : r->parts[i].step_ms;
		input_ms += r->tpu ? r->tpu[i].tc_infeed_ms : r->parts[i].part_ms[SS_STEP_PART_INPUT];
		sparse_ms += r->tpu ? r->tpu[i].sc_compute_ms : 0;
		collective_ms += r->tpu ? 0 : r->parts[i].part_ms[SS_STEP_PART_COLLECTIVES];
	}
	if (!(step_ms > 0))
		return;
	know(f, SS_FIG_INPUT, share(input_ms, step_ms));
	know(f, SS_FIG_SPARSE, share(sparse_ms, step_ms));
	if (!r->tpu)
		know(f, SS_FIG_COLLECTIVE, share(collective_ms, step_ms));
	const struct ss_host_input *h = &r->host;
	double work = h->demanded_read_us + h->advanced_read_us + h->preprocessing_us + h->unclassified_us;
	know(f, SS_FIG_ENQUEUE, share(h->enqueue_us, h->enqueue_us + work));
	know(f, SS_FIG_HOST_WORK, share(work, h->enqueue_us + work));
	double debug_ps = 0;
	for (size_t i = 0; i < r->ops->host.n; i++)
		if (ss_str_contains(r->ops->host.v[i].name, SS_STR("debug_print")))
			debug_ps += (double)r->ops->host.v[i].self_ps;
	know(f, SS_FIG_DEBUG, share(debug_ps / 1e9, step_ms * (double)(r->env->task_count ? r->env->task_count : 1)));
}

static bool fires(const struct ss_rule *r, const struct facts *f)
{
	for (size_t i = 0; i < SS_COUNT(r->when) && r->when[i].figure; i++) {
		const struct ss_condition *c = &r->when[i];
		if (!f->known[c->figure] && c->sign == '>')
			return false;
		if (c->sign == '>' ? f->v[c->figure] < c->than : f->v[c->figure] >= c->than)
			return false;
	}
	return true;
}

static bool is_about_gaps(const struct ss_rule *r)
{
	return r->when[0].figure == SS_FIG_IDLE || r->when[0].figure == SS_FIG_GAPS;
}

/*
 * What the host did in idle time. A TPU says itself how long it is idle, and whether that is worth
 * reading the threads; elsewhere steps and threads say both.
 */
static bool read_threads(struct facts *f, const struct ss_input_report *r, const struct ss_request *q, struct ss_err *err)
{
	bool tpu = r->env->hardware == SS_HW_TPU, asked = !tpu;
	for (size_t i = 0; i < ss_nrules; i++)
		asked = asked || (is_about_gaps(&ss_rules[i]) && fires(&ss_rules[i], f));
	if (!asked)
		return true;
	f->meanwhile = ss_model_idle_attribution(q->model, err);
	double steps_ps = f->meanwhile && !tpu ? (double)f->meanwhile->steps_ps : 0;
	if (steps_ps > 0)
		know(f, SS_FIG_GAPS, share((double)f->meanwhile->idle_ps, steps_ps));
	if (steps_ps > 0 && r->env->hardware == SS_HW_CPU_ONLY)
		know(f, SS_FIG_COLLECTIVE, share((double)f->meanwhile->collective_ps, steps_ps));
	return f->meanwhile != NULL;
}

static bool add_evidence(struct ss_table *t, int64_t row, const struct ss_rule *r, const struct facts *f)
{
	for (size_t i = 0; i < SS_COUNT(r->when) && r->when[i].figure; i++) {
		const struct ss_condition *c = &r->when[i];
		if (!f->known[c->figure])
			continue;
		struct ss_str text = ss_arena_printf(t->arena, c->sign == '>' ? "at least %g%%" : "below %g%%", c->than);
		if (!text.p || !ss_table_row(t))
			return false;
		ss_set_i64(t, EV_SUGGESTION, row);
		ss_set_str(t, EV_FIGURE, ss_str_from(ss_figure_names[c->figure].label));
		ss_set_f64(t, EV_VALUE, f->v[c->figure]);
		ss_set_str(t, EV_THRESHOLD, text);
		ss_set_str(t, EV_TOOL, ss_str_from(ss_figure_names[c->figure].tool));
	}
	return true;
}

static bool add_host_evidence(struct ss_table *t, int64_t row, const struct ss_event_shares *s)
{
	for (size_t i = 0; i < s->nhosts; i++) {
		struct ss_str label = ss_arena_printf(t->arena, "Step time in barrier-cores on host " SS_FMT,
						      SS_ARG(s->hosts[i].hostname));
		if (!label.p || !ss_table_row(t))
			return false;
		ss_set_i64(t, EV_SUGGESTION, row);
		ss_set_str(t, EV_FIGURE, label);
		ss_set_f64(t, EV_VALUE, 100 * s->hosts[i].mean_frac);
		ss_set_str(t, EV_THRESHOLD, s->hosts[i].straggler ? SS_STR("far from the other hosts") : SS_STR(""));
		ss_set_str(t, EV_TOOL, SS_STR("trace_viewer@"));
	}
	return true;
}

static bool add_advice(struct ss_table *t, int64_t row, struct ss_str title, struct ss_str text)
{
	if (!title.p || !text.p || !ss_table_row(t))
		return false;
	ss_set_i64(t, ADV_SUGGESTION, row);
	ss_set_str(t, ADV_TITLE, title);
	ss_set_str(t, ADV_TEXT, text);
	return true;
}

/* Hosts far from the others take the place of the first, general advice. */
static bool add_stragglers(struct ss_table *t, int64_t row, const struct ss_event_shares *s, bool *any)
{
	for (size_t i = 0; i < s->nhosts; i++) {
		const struct ss_host_share *h = &s->hosts[i];
		if (!h->straggler)
			continue;
		*any = true;
		struct ss_str text = ss_arena_printf(t->arena, SS_FMT
						     " spends %.1f%% of its step time at barriers, far from what the "
						     "others do: the one that waits least is the one that the others "
						     "wait for.",
						     SS_ARG(h->hostname), 100 * h->mean_frac);
		if (!add_advice(t, row, SS_STR("Look at this host"), text))
			return false;
	}
	return true;
}

/* Share of the idle time in which the thread recorded nothing, if that comes first. */
static double unseen_percent(const struct ss_idle_attribution *m)
{
	return m->nrows && !m->rows[0].event.n ? share((double)m->rows[0].self_ps, (double)m->idle_ps) : 0;
}

/* " Meanwhile ...": what keeps the device waiting, "" where no place stands out. */
static struct ss_str whereabouts(const struct ss_idle_attribution *m, struct ss_arena *a)
{
	const char *by = m->inside_caller.n ? ", called by " : "";
	if (m->inside.n)
		return ss_arena_printf(a,
				       " For %.1f%% of that time the thread that starts the programs, '" SS_FMT
				       "', is in '" SS_FMT "'%s" SS_FMT ".",
				       100 * m->inside_frac, SS_ARG(m->thread), SS_ARG(m->inside), by, SS_ARG(m->inside_caller));
	if (unseen_percent(m) > 50)
		return ss_arena_printf(a,
				       " For %.1f%% of that time the thread that starts the programs, '" SS_FMT
				       "', recorded nothing.",
				       unseen_percent(m), SS_ARG(m->thread));
	return SS_STR("");
}

static bool waits(struct ss_str event)
{
	static const struct ss_str words[] = {
		SS_STR_INIT("wait"), SS_STR_INIT("Wait"), SS_STR_INIT("block_until"), SS_STR_INIT("BlockUntil"),
		SS_STR_INIT("to_block"), SS_STR_INIT("ynchronize"), SS_STR_INIT("acquire"),
	};
	for (size_t i = 0; i < SS_COUNT(words); i++)
		if (ss_str_contains(event, words[i]))
			return true;
	return false;
}

/* What helps against time lost in an event of that name. */
static struct ss_str help_against(struct ss_str event)
{
	enum ss_thread_event kind = ss_thread_event_of(event);
	if (kind == SS_THREAD_INPUT)
		return SS_STR("It waits for the input pipeline: input_pipeline_analyzer says which stage is slow.");
	if (kind == SS_THREAD_COPY)
		return SS_STR("It copies to the device: send less, or prefetch so that the copy runs beside the step.");
	if (kind == SS_THREAD_COMPILE)
		return SS_STR("It compiles: keep shapes and static arguments the same from step to step, and warm up before "
			      "you profile.");
	if (waits(event))
		return SS_STR("It waits. If for a result: start the next step first, and read results later. If for another "
			      "thread: look in the timeline at what that one does.");
	if (kind >= SS_THREAD_CALL || ss_str_contains(event, SS_STR("::")))
		return SS_STR("It is the framework's own work for each program that it starts: start fewer and larger ones, for "
			      "instance several steps in one (lax.scan, steps_per_execution).");
	return SS_STR("Make it quicker, do it less often, or let another thread do it ahead of time, so that the next program can "
		      "start.");
}

/* A place that stands out takes that of the first, general advice. */
static bool add_whereabouts(struct ss_table *t, int64_t row, const struct ss_idle_attribution *m, bool *any)
{
	if (m->inside.n) {
		*any = true;
		return add_advice(t, row, ss_arena_printf(t->arena, "Look at '" SS_FMT "'", SS_ARG(m->inside)),
				  help_against(m->inside));
	}
	if (unseen_percent(m) > 50) {
		*any = true;
		return add_advice(t, row, SS_STR("Record Python"),
				  SS_STR("Profile again with Python's tracer on (python_tracer_level=1): it shows which call "
					 "the thread is in."));
	}
	return true;
}

static bool add_host_work(struct ss_table *t, int64_t row, const struct ss_idle_attribution *m)
{
	for (size_t i = 0; i < m->nrows && i < MAX_OPS; i++) {
		if (!ss_table_row(t))
			return false;
		ss_set_i64(t, HOST_SUGGESTION, row);
		ss_set_str(t, HOST_EVENT, m->rows[i].event.n ? m->rows[i].event : SS_STR("(nothing recorded)"));
		ss_set_str(t, HOST_CALLER, m->rows[i].caller);
		ss_set_f64(t, HOST_PERCENT, share((double)m->rows[i].self_ps, (double)m->idle_ps));
	}
	return true;
}

/* The largest operations behind the figure, by insertion: there are few places. */
static bool add_ops(struct ss_table *t, int64_t row, enum ss_figure figure, const struct facts *f)
{
	const struct ss_op *top[MAX_OPS];
	size_t n = 0;
	for (size_t i = 0; behind[figure] && f->db && i < f->db->n; i++) {
		const struct ss_op *op = &f->db->v[i];
		if (!op->self_ps || !behind[figure](op->category))
			continue;
		size_t k = n < MAX_OPS ? n++ : MAX_OPS;
		for (; k > 0 && top[k - 1]->self_ps < op->self_ps; k--)
			if (k < MAX_OPS)
				top[k] = top[k - 1];
		if (k < MAX_OPS)
			top[k] = op;
	}
	for (size_t i = 0; i < n; i++) {
		struct ss_str name = top[i]->long_name.n ? ss_instruction_name(top[i]->long_name) : top[i]->name;
		if (!ss_table_row(t))
			return false;
		ss_set_i64(t, OP_SUGGESTION, row);
		ss_set_str(t, OP_NAME, name);
		ss_set_str(t, OP_CATEGORY, top[i]->category);
		ss_set_f64(t, OP_PERCENT, share((double)top[i]->self_ps, (double)f->db->total_ps));
	}
	return true;
}

/* "14.2 GiB". */
static struct ss_str size_text(uint64_t bytes, struct ss_arena *a)
{
	double mib = (double)bytes / (1 << 20);
	return mib < 1024 ? ss_arena_printf(a, "%.1f MiB", mib) : ss_arena_printf(a, "%.1f GiB", mib / 1024);
}

/* ": 14.2 GiB of 16.0 GiB on '0' of host h; the most, 3.1 GiB, for dense/MatMul." */
static struct ss_str memory_place(const struct ss_memory_peak *m, struct ss_arena *a)
{
	struct ss_str used = size_text(m->used_bytes, a), whole = size_text(m->capacity_bytes, a), max = SS_STR("");
	if (m->op.n) {
		max = size_text(m->op_bytes, a);
		max = ss_arena_printf(a, "; the most, " SS_FMT ", for " SS_FMT, SS_ARG(max), SS_ARG(m->op));
	}
	return ss_arena_printf(a, ": " SS_FMT " of " SS_FMT " on '" SS_FMT "' of host " SS_FMT SS_FMT ".", SS_ARG(used),
			       SS_ARG(whole), SS_ARG(m->id), SS_ARG(m->host), SS_ARG(max));
}

static bool add_suggestion(struct ss_result *out, const struct ss_rule *r, const struct facts *f)
{
	struct ss_table *t = &out->tables[0], *advice = &out->tables[1], *evidence = &out->tables[2];
	enum ss_figure first = r->when[0].figure;
	bool barriers = first == SS_FIG_BARRIER, gaps = is_about_gaps(r), specific = false;
	int64_t row = (int64_t)t->nrows;
	struct ss_str text = ss_arena_printf(out->arena, "%s%.1f%%%s", r->before, f->v[first], r->after);
	if (text.p && (gaps || r->about_memory)) {
		struct ss_str where = gaps ? whereabouts(f->meanwhile, out->arena) : memory_place(f->peak, out->arena);
		text = ss_arena_printf(out->arena, SS_FMT SS_FMT, SS_ARG(text), SS_ARG(where));
	}
	if (!text.p || !ss_table_row(t))
		return false;
	ss_set_str(t, SUG_RULE, ss_str_from(r->name));
	ss_set_str(t, SUG_TITLE, ss_str_from(r->title));
	ss_set_f64(t, SUG_PERCENT, f->v[first]);
	ss_set_str(t, SUG_FINDING, text);
	if ((barriers && !add_stragglers(advice, row, f->barriers, &specific)) ||
	    (gaps && !add_whereabouts(advice, row, f->meanwhile, &specific)))
		return false;
	for (size_t i = specific; i < SS_COUNT(r->advice) && r->advice[i].title; i++)
		if (!add_advice(advice, row, ss_str_from(r->advice[i].title), ss_str_from(r->advice[i].text)))
			return false;
	return add_evidence(evidence, row, r, f) && add_ops(&out->tables[3], row, first, f) &&
	       (!barriers || add_host_evidence(evidence, row, f->barriers)) &&
	       (!gaps || add_host_work(&out->tables[4], row, f->meanwhile));
}

struct ranked {
	bool about_memory;
	double percent;
	size_t rule;
};

static int by_share(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;
	if (x->about_memory != y->about_memory)
		return x->about_memory - y->about_memory;
	if (x->percent != y->percent)
		return x->percent > y->percent ? -1 : 1;
	return x->rule < y->rule ? -1 : x->rule > y->rule;
}

static bool suggest(struct ss_result *out, const struct facts *f)
{
	struct ranked *order = SS_NEW_N(out->arena, struct ranked, ss_nrules);
	size_t n = 0;
	if (!order)
		return false;
	for (size_t i = 0; i < ss_nrules; i++)
		if (fires(&ss_rules[i], f))
			order[n++] = (struct ranked){ ss_rules[i].about_memory, f->v[ss_rules[i].when[0].figure], i };
	qsort(order, n, sizeof(*order), by_share);
	for (size_t i = 0; i < n; i++)
		if (!add_suggestion(out, &ss_rules[order[i].rule], f))
			return false;
	return n || ss_result_note(out, SS_INFO, SS_STR("no rule fires: nothing stands out in this profile"));
}

static bool run(const struct ss_request *q, struct ss_result *out, struct ss_err *err)
{
	struct facts f = { 0 };
	struct ss_input_report r;
	if (!ss_result_table(out, "suggestions", "Suggestions", suggestion_cols, SS_COUNT(suggestion_cols)) ||
	    !ss_result_table(out, "advice", "What to do", advice_cols, SS_COUNT(advice_cols)) ||
	    !ss_result_table(out, "evidence", "Why", evidence_cols, SS_COUNT(evidence_cols)) ||
	    !ss_result_table(out, "operations", "Largest operations", op_cols, SS_COUNT(op_cols)) ||
	    !ss_result_table(out, "host_work", "What the host did meanwhile", host_cols, SS_COUNT(host_cols)))
		return ss_fail_mem(err);
	if (!ss_input_report_make(&r, q, err) || !(f.barriers = ss_model_barriers(q->model, err)) ||
	    !(f.peak = ss_model_memory_peak(q->model, err)))
		return false;
	if (f.barriers->n)
		know(&f, SS_FIG_BARRIER, 100 * f.barriers->mean_frac);
	if (f.peak->id.n) {
		know(&f, SS_FIG_MEMORY, share((double)f.peak->used_bytes, (double)f.peak->capacity_bytes));
		know(&f, SS_FIG_FRAGMENTED, 100 * f.peak->fragmentation);
	}
	read_device(&f, r.env, r.ops);
	read_steps(&f, &r);
	return read_threads(&f, &r, q, err) && (suggest(out, &f) || ss_fail_mem(err));
}

static bool conclude(const struct ss_request *q, struct ss_result *out, struct ss_err *err)
{
	const struct ss_table *t = &out->tables[0];
	size_t n = t->nrows;
	if (!n)
		return ss_result_say(out, SS_STR("Nothing stands out: no rule found a share of the time that is worth a change by "
						 "itself."));
	out->conclusion.mood = SS_MOOD_WARN;
	struct ss_str more = n == 1 ? SS_STR("Nothing else stands out. Change it, then profile again.") :
				      ss_arena_printf(q->arena,
						      "It is the first of %zu things that stand out. Change it, then profile "
						      "again: others often vanish with it.", n);
	return (ss_result_say(out, ss_cell_str(t, 0, "finding")) && ss_result_say(out, more)) || ss_fail_mem(err);
}

bool ss_finding_first(struct ss_finding *out, const struct ss_request *q, struct ss_err *err)
{
	struct ss_result r;
	ss_result_init(&r, q->arena);
	if (!run(q, &r, err))
		return false;
	*out = (struct ss_finding){ .text = ss_cell_str(&r.tables[0], 0, "finding") };
	for (size_t i = 0; i < ss_nrules; i++)
		if (ss_str_is(ss_cell_str(&r.tables[0], 0, "rule"), ss_rules[i].name))
			out->about_gaps = ss_rules[i].when[0].figure == SS_FIG_GAPS;
	return true;
}

const struct ss_tool ss_tool_smart_suggestion = {
	.name = "smart_suggestion",
	.title = "Suggestions",
	.summary = "What to change first, with the figures that prove it",
	.kind = SS_KIND_TABLES,
	.flags = SS_TOOL_ALL_HOSTS | SS_TOOL_ONLY_ALL_HOSTS | SS_TOOL_UNLISTED | SS_TOOL_VISITS,
	.facts = SS_FINDING_FACTS,
	.run = run,
	.conclude = conclude,
};
