/*
 * critical_path.c - what each step's length consists of, over all hosts: the chain of operations,
 * transfers, launches and input that leads back from its last end to the last end of the step
 * before. model/cluster/critical_path.h has the rules.
 */
#include "model/cluster/critical_path.h"

#include "model/model.h"
#include "tools/cluster_notes.h"
#include "tools/torch_critical_path.h"
#include "tools/words.h"

#include <math.h>
#include <stdlib.h>

#define STEP_ROWS 100u		/* operations, or hosts, of a step */
#define MOST_ROWS 100000u	/* of all steps, and segments of one */

enum { CAT_STEP, CAT_CATEGORY, CAT_US, CAT_FRAC, CAT_ROUND };

static const struct ss_col category_cols[] = {
	INT("step_num", "Step", NONE, NULL),
	STR("category", "Category",
	    "compute, transfer, copy, input, host (launches, and time between events of its thread) or idle"),
	NUM("path_us", "On the path (us)", US, "The categories of a step add up to its length"),
	NUM("path_frac", "Share", FRAC, "Share of the step's length"),
	SS_STEP_ROUND_COL,
};

enum { OP_STEP, OP_OP, OP_US, OP_FRAC, OP_SLACK, OP_ROUND, HOST_ROUND = OP_SLACK };

static const struct ss_col op_cols[] = {
	INT("step_num", "Step", NONE, NULL),
	STR("op", "Operation", "Name of the operation, or input, launch, host, idle"),
	NUM("path_us", "On the path (us)", US, NULL),
	NUM("path_frac", "Share", FRAC, "Share of the step's length"),
	NUM("slack_us", "Slack (us)", US, "Delay of the operation that would not make the step longer: 0 on the path"),
	SS_STEP_ROUND_COL,
};

static const struct ss_col host_cols[] = {
	INT("step_num", "Step", NONE, NULL),
	STR("host", "Host", "The host; empty: the network"),
	NUM("path_us", "On the path (us)", US, "Time of the path on this host or its devices"),
	NUM("path_frac", "Share", FRAC, "Share of the step's length"),
	SS_STEP_ROUND_COL,
};

enum { SEG_HOST, SEG_DEVICE, SEG_OP, SEG_CATEGORY, SEG_BEGIN, SEG_END };

static const struct ss_col segment_cols[] = {
	STR("host", "Host", "The host; empty: the network"),
	ID("device", "Device", "Number of the device on the host; -1: a thread of the host, or the network"),
	STR("op", "Operation", NULL),
	STR("category", "Category", NULL),
	NUM("begin_us", "Begin (us)", US, "Time since the begin of the session, on the common clock"),
	NUM("end_us", "End (us)", US, NULL),
};

static const struct ss_param params[] = {
	{ "step", "number", "", "the step whose segments are listed (default: the last)" },
};

extern const struct ss_tool ss_tool_critical_path;

static double frac(int64_t part, const struct ss_path_step *st)
{
	return (double)part / (double)(st->end_ps - st->begin_ps);
}

static void add_categories(struct ss_table *t, const struct ss_cluster *c, const struct ss_path *p, const struct ss_path_step *st)
{
	int64_t sum[SS_PATH_CATEGORIES] = { 0 };
	for (size_t k = 0; k < st->n; k++) {
		struct ss_path_segment s = ss_path_segment(c, p, st, k);
		sum[s.category] += s.end_ps - s.begin_ps;
	}
	for (unsigned k = 0; k < SS_PATH_CATEGORIES; k++) {
		if (!sum[k])
			continue;
		ss_table_row(t);
		ss_set_step(t, c, CAT_STEP, CAT_ROUND, st->step);
		ss_set_str(t, CAT_CATEGORY, ss_str_from(ss_path_category_name((enum ss_path_category)k)));
		ss_set_f64(t, CAT_US, ss_ps_us(sum[k]));
		ss_set_f64(t, CAT_FRAC, frac(sum[k], st));
	}
}

/* Sums by a text, greatest first. */
struct share {
	struct ss_str key;
	int64_t ps;
};

static int by_share(const void *a, const void *b)
{
	const struct share *x = a, *y = b;
	return SS_CMP(y->ps, x->ps) ?: ss_str_cmp(x->key, y->key);
}

static int by_key(const void *a, const void *b)
{
	return ss_str_cmp(((const struct share *)a)->key, ((const struct share *)b)->key);
}

static size_t sum_shares(struct share *v, size_t n)
{
	size_t kept = 0;
	if (n)
		qsort(v, n, sizeof(*v), by_key);
	for (size_t i = 0; i < n; i++) {
		if (kept && ss_str_eq(v[kept - 1].key, v[i].key))
			v[kept - 1].ps += v[i].ps;
		else
			v[kept++] = v[i];
	}
	if (kept)
		qsort(v, kept, sizeof(*v), by_share);
	return kept;
}

/* The `most` greatest. How many are not listed. */
static size_t add_shares(struct ss_table *t, const struct ss_cluster *c, const struct ss_path_step *st, struct share *v, size_t n,
			 size_t most, struct ss_result *out, bool slack)
{
	n = sum_shares(v, n);
	for (size_t i = 0; i < n && i < most; i++) {
		struct ss_str key = ss_arena_str(out->arena, v[i].key);
		ss_table_row(t);
		ss_set_step(t, c, OP_STEP, slack ? OP_ROUND : HOST_ROUND, st->step);
		ss_set_str(t, OP_OP, key);
		ss_set_f64(t, OP_US, ss_ps_us(v[i].ps));
		ss_set_f64(t, OP_FRAC, frac(v[i].ps, st));
		if (slack)
			ss_set_f64(t, OP_SLACK, 0);
	}
	return n > most ? n - most : 0;
}

static struct ss_str host_name(const struct ss_cluster *c, const struct ss_path_segment *s)
{
	return s->host == SS_NO_HOST ? SS_STR("") : c->hosts.v[s->host].name;
}

/* For the operations, or the hosts, of each step. */
static bool fill_shares(struct ss_result *out, const struct ss_cluster *c, const struct ss_path *p, struct ss_table *t, bool hosts)
{
	size_t longest = 0, most = p->steps.n ? MOST_ROWS / p->steps.n : 0, left_out = 0;
	most = most > STEP_ROWS ? STEP_ROWS : most ? most : 1;
	for (size_t i = 0; i < p->steps.n; i++)
		longest = p->steps.v[i].n > longest ? p->steps.v[i].n : longest;
	struct share *v = calloc(longest + 1, sizeof(*v));
	for (size_t i = 0; v && t && i < p->steps.n; i++) {
		const struct ss_path_step *st = &p->steps.v[i];
		for (size_t k = 0; k < st->n; k++) {
			struct ss_path_segment s = ss_path_segment(c, p, st, k);
			v[k] = (struct share){ hosts ? host_name(c, &s) : ss_path_op(p, &s), s.end_ps - s.begin_ps };
		}
		left_out += add_shares(t, c, st, v, st->n, most, out, !hosts);
	}
	free(v);
	if (left_out)
		ss_result_note(out, SS_INFO,
			       ss_arena_printf(out->arena, "each step has its %zu longest %s; %zu rows are left out",
					       most, hosts ? "hosts" : "operations", left_out));
	return v && t;
}

static bool fill_sums(struct ss_result *out, const struct ss_cluster *c, const struct ss_path *p)
{
	size_t ncategories = ss_step_columns(c, SS_COUNT(category_cols)), nops = ss_step_columns(c, SS_COUNT(op_cols));
	struct ss_table *t = ss_result_table(out, "categories", "Categories", category_cols, ncategories);
	for (size_t i = 0; t && i < p->steps.n; i++)
		add_categories(t, c, p, &p->steps.v[i]);
	return t && fill_shares(out, c, p, ss_result_table(out, "ops", "Operations", op_cols, nops), false) &&
	       fill_shares(out, c, p, ss_result_table(out, "hosts", "Hosts", host_cols, nops - 1), true);
}

static bool fill_segments(struct ss_result *out, const struct ss_cluster *c, const struct ss_path *p, const struct ss_path_step *st)
{
	struct ss_table *t = ss_result_table(out, "segments", "Segments of one step", segment_cols, SS_COUNT(segment_cols));
	size_t n = st ? st->n : 0, least = n > MOST_ROWS ? n - MOST_ROWS : 0;
	if (least)
		ss_result_note(out, SS_INFO,
			       ss_arena_printf(out->arena, "the last %u of %zu segments of step %lld are listed", MOST_ROWS, n,
					       (long long)ss_step_cell(c, st->step)));
	for (size_t k = n - least; t && k-- > 0;) {
		struct ss_path_segment s = ss_path_segment(c, p, st, k);
		struct ss_str host = ss_arena_str(out->arena, host_name(c, &s)), op = ss_arena_str(out->arena, ss_path_op(p, &s));
		ss_table_row(t);
		ss_set_str(t, SEG_HOST, host);
		ss_set_i64(t, SEG_DEVICE, s.device);
		ss_set_str(t, SEG_OP, op);
		ss_set_str(t, SEG_CATEGORY, ss_str_from(ss_path_category_name((enum ss_path_category)s.category)));
		ss_set_f64(t, SEG_BEGIN, ss_ps_us(s.begin_ps));
		ss_set_f64(t, SEG_END, ss_ps_us(s.end_ps));
	}
	return t;
}

/* Of several rounds the last. */
static bool choose_step(const struct ss_request *q, const struct ss_cluster *c, const struct ss_path *p,
			const struct ss_path_step **st, struct ss_err *err)
{
	struct ss_str text = ss_request_param(q, &ss_tool_critical_path, "step");
	int64_t num;
	*st = p->steps.n ? &p->steps.v[p->steps.n - 1] : NULL;
	if (!text.n)
		return true;
	if (!ss_str_to_i64(text, &num))
		return ss_fail(err, SS_EINVAL, "'" SS_FMT "' is not the number of a step", SS_ARG(text));
	for (size_t i = p->steps.n; i-- > 0;)
		if (ss_step_cell(c, p->steps.v[i].step) == num) {
			*st = &p->steps.v[i];
			return true;
		}
	return ss_fail(err, SS_ENOTFOUND, "step %lld has no path: it, or the step before it, is not in the recordings",
		       (long long)num);
}

static bool run(const struct ss_request *q, struct ss_result *out, struct ss_err *err)
{
	struct ss_cluster *c = ss_model_cluster(q->model, err);
	const struct ss_path *p;
	const struct ss_path_step *st;
	if (!c || !ss_torch_add_critical_path(q, out, err) || !(p = ss_model_path(q->model, err)))
		return false;
	bool ok = choose_step(q, c, p, &st, err);
	ok = ok && ((fill_sums(out, c, p) && fill_segments(out, c, p, st) && ss_cluster_notes(c, out)) || ss_fail_mem(err));
	if (ok && !p->steps.n)
		ss_result_note(out, SS_INFO,
			       q->model->nhosts > 1 && !ss_cluster_any_device(c)
				       ? SS_STR("no device is recorded: choose one process to see the path through its operators")
				       : SS_STR("no device of the recordings has two steps in a row"));
	return ok;
}

/* The parts of the critical paths of all steps together. */
static bool conclude(const struct ss_request *q, struct ss_result *out, struct ss_err *err)
{
	(void)err;
	const struct ss_table *t = ss_result_find(out, "categories"),
			      *ops = ss_result_find(out, "ops");
	struct ss_greatest top = ss_greatest_kind(t, "path_us", ss_kind_of_column, "category");
	struct ss_greatest op = ss_greatest_row(ops, "path_us", NULL, NULL);
	(void)q;
	if (top.row == SS_NPOS)
		return true;
	ss_say(out, "The largest part of the critical path of all steps is '" SS_FMT "': %s.",
	       SS_ARG(ss_cell_str(t, top.row, "category")),
	       ss_share_words(SS_UNIT_US, top.value, top.sum).s);
	if (op.row != SS_NPOS)
		ss_say(out,
		       "The longest part of one step is '" SS_FMT
		       "' in step %lld: %s, %s of the step.",
		       SS_ARG(ss_cell_str(ops, op.row, "op")),
		       (long long)ss_cell_i64(ops, op.row, "step_num"),
		       ss_value_words(SS_UNIT_US, op.value).s,
		       ss_value_words(SS_UNIT_FRAC, ss_cell_f64(ops, op.row, "path_frac")).s);
	return true;
}

const struct ss_tool ss_tool_critical_path = {
	.name = "critical_path",
	.title = "Critical path",
	.summary = "The parts of each step's length over all hosts: operations, transfers, launches, input",
	.kind = SS_KIND_TABLES,
	.flags = SS_TOOL_ALL_HOSTS | SS_TOOL_OURS | SS_TOOL_VISITS | SS_TOOL_SESSION | SS_TOOL_OF_PARTS,
	.params = params,
	.nparams = SS_COUNT(params),
	.facts = SS_FACTS_CLUSTER,
	.needs = SS_NEEDS_PATHS | SS_NEEDS_TWO_STEPS,
	.run = run,
	.conclude = conclude,
};
