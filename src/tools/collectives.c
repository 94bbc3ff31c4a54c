/*
 * collectives.c - operations that all devices of a group take part in: who came last, how long the
 * others waited for it, and how long the transfer took. Events of different hosts are joined by
 * step (or run), operation and group, and their clocks aligned first; model/cluster has the rules.
 */
#include "base/map.h"

#include "model/cluster/comm_op.h"
#include "model/cluster/robust.h"
#include "tools/cluster_notes.h"
#include "tools/torch_collectives.h"
#include "tools/words.h"

#include <math.h>
#include <stdlib.h>

enum {
	COL_STEP,
	COL_OP,
	COL_KIND,
	COL_GROUP_HOST,
	COL_NTH,
	COL_PARTICIPANTS,
	COL_EXPECTED,
	COL_BYTES,
	COL_LAST_HOST,
	COL_LAST_DEVICE,
	COL_MARGIN,
	COL_TRANSFER,
	COL_IS_BOUND,
	COL_MIN,
	COL_WAIT_MAX,
	COL_WAIT_MEAN,
	COL_ALGBW,
	COL_BUSBW,
	COL_ROUND
};

static const struct ss_col cols[] = {
	ID("step_num", "Step", "Number of the step; -1: outside of steps"),
	STR("op", "Operation", "A start and its done have the name of their collective"),
	STR("kind", "Kind", NULL),
	STR("group_host", "Group's host", "The host of all members of the group; empty for groups over several hosts"),
	INT("nth", "Execution", COUNT, "Number of the execution of the operation by this group in the step, from 0"),
	INT("participants", "Participants", COUNT, "Devices whose recordings hold this collective"),
	INT("expected", "Expected", COUNT, "Devices of the group, as the program or the recording says"),
	INT("bytes", "Bytes", BYTES, "The larger of operand and result of one participant; 0: not recorded"),
	STR("last_host", "Last host", "The host that arrived last; empty if its delay is below the uncertainty of the clocks"),
	ID("last_device", "Last device", "Number of the last device on that host; -1: not known"),
	NUM("margin_us", "Margin (us)", US, "Time between the last two arrivals"),
	NUM("transfer_us", "Transfer (us)", US, "Time from the last arrival to the first end; for point-to-point operations "
	    "the median of the pairs"),
	FLAG("transfer_is_bound", "Transfer is a bound", "No participant waited for the end of the transfer, so the transfer "
	    "time is an upper bound"),
	NUM("min_duration_us", "Shortest (us)", US,
	    "Shortest duration of a participant that waited; the transfer time if no clock can be trusted"),
	NUM("wait_max_us", "Longest wait (us)", US, "Time from the first arrival to the last, if the first participant waited "
	    "that long"),
	NUM("wait_mean_us", "Mean wait (us)", US, "Mean wait of all participants"),
	NUM("algbw_gb_per_s", "Rate (GB/s)", GB_PER_S, "bytes / transfer"),
	NUM("busbw_gb_per_s", "Bus rate (GB/s)", GB_PER_S,
	    "Rate times what a link carries for each byte: 2(n-1)/n for all-reduce, (n-1)/n for "
	    "all-gather, reduce-scatter and all-to-all, else 1"),
	SS_STEP_ROUND_COL,
};

enum { CLK_HOST, CLK_OFFSET, CLK_DRIFT, CLK_UNCERTAINTY, CLK_BOUND, CLK_POINTS, CLK_STATE };

static const struct ss_col clock_cols[] = {
	STR("host", "Host", NULL),
	NUM("offset_us", "Offset (us)", US, "Time by which the host's clock is ahead of the first host's, in the middle of "
	    "the recording"),
	NUM("drift_ppm", "Drift (ppm)", NONE, "Rate of the host's clock relative to the first host's; 0: not measurable"),
	NUM("uncertainty_us", "Uncertainty (us)", US, "Uncertainty of the offset: 3 standard deviations of the estimates from "
	    "collectives"),
	NUM("bound_us", "Bound (us)", US,
	    "Half of the interval that causality allows for the offset: no participant ends before the last one has arrived"),
	INT("collectives", "Collectives", COUNT, "Collectives from which the estimate was computed"),
	STR("state", "State",
	    "good: nothing to correct; corrected: offset and drift are subtracted from the times here; unknown: no "
	    "collective links it to other hosts"),
};

enum {
	OP_OP,
	OP_KIND,
	OP_BYTES,
	OP_N,
	OP_T_MEAN,
	OP_T_P50,
	OP_T_P99,
	OP_T_MAX,
	OP_W_MEAN,
	OP_W_P50,
	OP_W_P99,
	OP_W_MAX,
	OP_TOP_HOST,
	OP_TOP_FRAC,
	OP_HIDDEN,
	OP_SEEN_T,
	OP_SEEN_W
};

static const struct ss_col op_cols[] = {
	STR("op", "Operation", NULL),
	STR("kind", "Kind", NULL),
	INT("bytes", "Bytes", BYTES, NULL),
	INT("occurrences", "Occurrences", COUNT, "Number of groups times executions"),
	NUM("transfer_mean_us", "Transfer, mean (us)", US, NULL),
	NUM("transfer_p50_us", "Transfer, median (us)", US, NULL),
	NUM("transfer_p99_us", "Transfer, 99% (us)", US, NULL),
	NUM("transfer_max_us", "Transfer, longest (us)", US, NULL),
	NUM("wait_max_mean_us", "Longest wait, mean (us)", US, "Mean over the occurrences of their longest wait"),
	NUM("wait_max_p50_us", "Longest wait, median (us)", US, NULL),
	NUM("wait_max_p99_us", "Longest wait, 99% (us)", US, NULL),
	NUM("wait_max_max_us", "Longest wait of all (us)", US, NULL),
	STR("top_last_host", "Mostly last", "The host that arrived last most often, where no participant is missing"),
	NUM("top_last_frac", "Its share", FRAC, "Share of the occurrences without missing participants at which this host "
	    "arrived last"),
	INT("hidden", "Hidden", COUNT, "Occurrences for whose end no participant waited: their transfer is an upper bound"),
	NUM("seen_transfer_us", "Transfer, not hidden (us)", US, "Mean over the other occurrences"),
	NUM("seen_wait_us", "Longest wait, not hidden (us)", US, "Mean over the other occurrences of their longest wait"),
};

struct waits {
	double most_us, mean_us;
};

/* The wait of the first member, and the mean wait of all. */
static struct waits waits_of(const struct ss_cluster *c, const struct ss_collective *k)
{
	struct waits w = { 0, 0 };
	for (uint32_t i = 0; i < k->n; i++) {
		double us = ss_ps_us(ss_member_wait_ps(c, k, &c->members.v[c->order[k->first + i]]));
		w.most_us = us > w.most_us ? us : w.most_us;
		w.mean_us += us / k->n;
	}
	return w;
}

static void add_row(struct ss_table *t, const struct ss_cluster *c, const struct ss_collective *k)
{
	const struct ss_cluster_op *op = &c->ops.v[k->op];
	const struct ss_cluster_device *last = &c->devices.v[c->members.v[k->last].device];
	struct waits w = waits_of(c, k);
	double rate = k->transfer_ps > 0 && k->n > 1 && k->bytes ? (double)k->bytes / (double)k->transfer_ps * 1e3 : NAN;
	ss_table_row(t);
	ss_set_step(t, c, COL_STEP, COL_ROUND, k->step);
	ss_set_str(t, COL_OP, op->name);
	ss_set_str(t, COL_KIND, ss_str_from(ss_comm_name(op->kind)));
	ss_set_str(t, COL_GROUP_HOST,
		   k->group_host == SS_NO_HOST ? SS_STR("") : c->hosts.v[k->group_host].name);
	ss_set_i64(t, COL_NTH, k->nth);
	ss_set_i64(t, COL_PARTICIPANTS, k->n);
	ss_set_i64(t, COL_EXPECTED, k->expected);
	ss_set_i64(t, COL_BYTES, (int64_t)k->bytes);
	ss_set_str(t, COL_LAST_HOST, k->is_clear ? c->hosts.v[last->host].name : SS_STR(""));
	ss_set_i64(t, COL_LAST_DEVICE, k->is_clear ? last->ordinal : -1);
	ss_set_f64(t, COL_MARGIN, k->is_clear ? ss_ps_us(k->margin_ps) : NAN);
	ss_set_f64(t, COL_TRANSFER, ss_ps_us(k->transfer_ps));
	ss_set_bool(t, COL_IS_BOUND, k->is_bound);
	ss_set_f64(t, COL_MIN, ss_ps_us(k->min_ps));
	ss_set_f64(t, COL_WAIT_MAX, w.most_us);
	ss_set_f64(t, COL_WAIT_MEAN, w.mean_us);
	ss_set_f64(t, COL_ALGBW, rate);
	ss_set_f64(t, COL_BUSBW, rate * ss_comm_bus_factor(op->kind, k->expected));
}

static void fill_collectives(struct ss_result *out, const struct ss_cluster *c)
{
	struct ss_table *t = ss_result_table(out, "collectives", "Collectives", cols, ss_step_columns(c, SS_COUNT(cols)));
	uint64_t unclear = 0;
	ss_table_reserve(t, c->collectives.n);
	for (size_t i = 0; i < c->collectives.n; i++) {
		add_row(t, c, &c->collectives.v[i]);
		unclear += !c->collectives.v[i].is_clear && c->collectives.v[i].n > 1;
	}
	struct ss_str text = unclear ? ss_arena_printf(out->arena,
						       "%llu of %zu collectives name no last host: its delay is below the "
						       "uncertainty of the clocks",
						       (unsigned long long)unclear, c->collectives.n)
				     : SS_STR("");
	if (unclear)
		ss_result_note(out, SS_INFO, text);
}

static void fill_clocks(struct ss_result *out, const struct ss_cluster *c)
{
	struct ss_table *t = ss_result_table(out, "clocks", "Clocks", clock_cols, SS_COUNT(clock_cols));
	for (size_t i = 0; i < c->hosts.n; i++) {
		const struct ss_cluster_host *h = &c->hosts.v[i];
		if (!h->ndevices)
			continue;
		ss_table_row(t);
		bool known = h->clock.aligned;
		ss_set_str(t, CLK_HOST, h->name);
		ss_set_f64(t, CLK_OFFSET, known ? h->clock.offset_ps * 1e-6 : NAN);
		ss_set_f64(t, CLK_DRIFT, known ? h->clock.drift * 1e6 : NAN);
		ss_set_f64(t, CLK_UNCERTAINTY, known ? h->clock.uncertainty_ps * 1e-6 : NAN);
		ss_set_f64(t, CLK_BOUND, h->clock.bound_ps * 1e-6);
		ss_set_i64(t, CLK_POINTS, h->clock.points);
		ss_set_str(t, CLK_STATE, ss_str_from(ss_clock_state_name(h->clock.state)));
	}
}

/* ---- by operation ---- */

struct entry {
	struct ss_str op;
	enum ss_comm kind;
	uint64_t bytes;
	uint32_t collective;
};

static int by_op(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;
	return ss_str_cmp(x->op, y->op) ?: SS_CMP(x->kind, y->kind) ?: SS_CMP(x->bytes, y->bytes) ?:
	       SS_CMP(x->collective, y->collective);
}

struct summing {
	const struct ss_cluster *c;
	struct ss_table *t;
	double *transfers, *waits;
	uint32_t *last; /* by host: how often last */
};

static void set_figures(struct ss_table *t, size_t col, double *v, size_t n)
{
	double sum = 0;
	for (size_t i = 0; i < n; i++)
		sum += v[i];
	ss_set_f64(t, col, n ? sum / (double)n : NAN);
	ss_set_f64(t, col + 1, ss_quantile(v, n, 0.5));
	ss_set_f64(t, col + 2, ss_quantile(v, n, 0.99));
	ss_set_f64(t, col + 3, ss_quantile(v, n, 1));
}

static void add_op(struct summing *s, const struct entry *e, size_t n)
{
	const struct ss_cluster *c = s->c;
	struct ss_table *t = s->t;
	size_t top = 0, seen = 0, whole = 0;
	double transfer = 0, wait = 0;
	memset(s->last, 0, (c->hosts.n + 1) * sizeof(*s->last));
	for (size_t i = 0; i < n; i++) {
		const struct ss_collective *k = &c->collectives.v[e[i].collective];
		s->transfers[i] = ss_ps_us(k->transfer_ps);
		s->waits[i] = waits_of(c, k).most_us;
		if (!k->is_bound) {
			seen++;
			transfer += s->transfers[i];
			wait += s->waits[i];
		}
		if (k->n < k->expected)
			continue;
		whole++;
		if (k->is_clear)
			s->last[c->devices.v[c->members.v[k->last].device].host]++;
	}
	for (size_t h = 0; h < c->hosts.n; h++)
		top = s->last[h] > s->last[top] ? h : top;
	ss_table_row(t);
	ss_set_str(t, OP_OP, e->op);
	ss_set_str(t, OP_KIND, ss_str_from(ss_comm_name(e->kind)));
	ss_set_i64(t, OP_BYTES, (int64_t)e->bytes);
	ss_set_i64(t, OP_N, (int64_t)n);
	set_figures(t, OP_T_MEAN, s->transfers, n);
	set_figures(t, OP_W_MEAN, s->waits, n);
	bool any = c->hosts.n && s->last[top];
	ss_set_str(t, OP_TOP_HOST, any ? c->hosts.v[top].name : SS_STR(""));
	ss_set_f64(t, OP_TOP_FRAC, any ? (double)s->last[top] / (double)whole : NAN);
	ss_set_i64(t, OP_HIDDEN, (int64_t)(n - seen));
	ss_set_f64(t, OP_SEEN_T, seen ? transfer / (double)seen : NAN);
	ss_set_f64(t, OP_SEEN_W, seen ? wait / (double)seen : NAN);
}

static bool fill_ops(struct ss_result *out, const struct ss_cluster *c)
{
	size_t n = c->collectives.n;
	struct entry *v = calloc(n + 1, sizeof(*v));
	struct summing s = { .c = c,

			     .transfers = calloc(n + 1, sizeof(double)),
			     .waits = calloc(n + 1, sizeof(double)),
			     .last = calloc(c->hosts.n + 1, sizeof(uint32_t)) };
	s.t = ss_result_table(out, "by_op", "By operation", op_cols, SS_COUNT(op_cols));
	bool ok = v && s.transfers && s.waits && s.last && s.t;
	for (uint32_t i = 0; ok && i < n; i++) {
		const struct ss_cluster_op *op = &c->ops.v[c->collectives.v[i].op];
		v[i] = (struct entry){ op->name, op->kind, c->collectives.v[i].bytes, i };
	}
	if (ok && n)
		qsort(v, n, sizeof(*v), by_op);
	for (size_t i = 0, k; ok && i < n; i = k) {
		for (k = i + 1; k < n && v[k].kind == v[i].kind && v[k].bytes == v[i].bytes && ss_str_eq(v[k].op, v[i].op);)
			k++;
		add_op(&s, &v[i], k - i);
	}
	free(v);
	free(s.transfers);
	free(s.waits);
	free(s.last);
	return ok;
}

static bool run(const struct ss_request *q, struct ss_result *out, struct ss_err *err)
{
	const struct ss_cluster *c = ss_model_cluster(q->model, err);
	if (!c)
		return false;
	bool ok = ss_torch_collectives(q, out, err);
	fill_collectives(out, c);
	fill_clocks(out, c);
	ok = ok && fill_ops(out, c);
	ok = ok && ss_cluster_notes(c, out);
	const struct ss_table *own = ss_result_find(out, "by_shape");
	if (ok && !c->collectives.n && !(own && own->nrows))
		ss_result_note(out, SS_INFO,
			       ss_cluster_any_device(c)
				       ? SS_STR("the recordings hold no collectives")
				       : SS_STR("the recordings hold no collectives of devices; 'distributed' compares ranks of "
						"PyTorch on CPUs, by collectives of gloo"));
	return ok || ss_fail_mem(err);
}

static void say_clocks(struct ss_result *out)
{
	const struct ss_table *t = ss_result_find(out, "clocks");
	size_t other = 0, largest = SS_NPOS;
	for (size_t i = 0; i < t->nrows; i++) {
		double v = fabs(ss_cell_f64(t, i, "offset_us"));
		if (!ss_str_is(ss_cell_str(t, i, "state"), "corrected"))
			continue;
		other++;
		if (largest == SS_NPOS || v > fabs(ss_cell_f64(t, largest, "offset_us")))
			largest = i;
	}
	if (!other || ss_cell_f64(t, largest, "offset_us") == 0)
		return;
	ss_say(out, "Clocks were corrected on %s; that of '" SS_FMT "' differs most, by %s.",
	       ss_count_words((double)other, "host").s,
	       SS_ARG(ss_cell_str(t, largest, "host")),
	       ss_value_words(SS_UNIT_US, fabs(ss_cell_f64(t, largest, "offset_us"))).s);
}

/* An operation, over its rows: one of each size. */
struct cost {
	struct ss_str op, kind;
	int64_t n, seen;	     /* executions; those that compute does not hide */
	double transfer_us, wait_us; /* of these */
};

static bool is_of(const struct ss_table *t, size_t row, const struct cost *c)
{
	return ss_str_eq(ss_cell_str(t, row, "op"), c->op) && ss_str_eq(ss_cell_str(t, row, "kind"), c->kind);
}

/*
 * The operation that costs most where compute does not hide it. seen is 0: all are hidden, or there
 * are none.
 */
static struct cost dearest(const struct ss_table *t)
{
	struct cost top = { 0 };
	for (size_t i = 0; i < t->nrows;) {
		struct cost c = { .op = ss_cell_str(t, i, "op"), .kind = ss_cell_str(t, i, "kind") };
		for (; i < t->nrows && is_of(t, i, &c); i++) {
			int64_t n = ss_cell_i64(t, i, "occurrences"), seen = n - ss_cell_i64(t, i, "hidden");
			c.n += n;
			c.seen += seen;
			c.transfer_us += seen ? (double)seen * ss_cell_f64(t, i, "seen_transfer_us") : 0;
			c.wait_us += seen ? (double)seen * ss_cell_f64(t, i, "seen_wait_us") : 0;
		}
		if (c.seen && (!top.seen || c.transfer_us + c.wait_us >= top.transfer_us + top.wait_us))
			top = c;
	}
	return top;
}

/* Who comes last in the executions of an operation. */
struct last {
	struct ss_str host; /* most often; "": nobody is known */
	uint32_t times;
	size_t whole, parted; /* executions with all participants; that lack some */
};

static bool find_last(const struct ss_result *out, const struct cost *of, struct last *l, struct ss_err *err)
{
	const struct ss_table *t = ss_result_find(out, "collectives"), *hosts = ss_result_find(out, "clocks");
	struct ss_strmap names = { 0 };
	uint32_t *times = calloc(hosts->nrows + 1, sizeof(*times));
	*l = (struct last){ .host = SS_STR("") };
	bool ok = times;
	for (size_t i = 0; ok && i < hosts->nrows; i++)
		ok = ss_strmap_add(&names, ss_cell_str(hosts, i, "host")) != SS_NONE;
	for (size_t i = 0; ok && i < t->nrows; i++) {
		if (!is_of(t, i, of))
			continue;
		bool parted = ss_cell_i64(t, i, "participants") < ss_cell_i64(t, i, "expected");
		uint32_t k = ss_strmap_get(&names, ss_cell_str(t, i, "last_host"));
		l->whole += !parted;
		l->parted += parted;
		if (!parted && k != SS_NONE)
			times[k]++;
	}
	for (uint32_t k = 0; ok && k < names.n; k++)
		if (times[k] > l->times) {
			l->times = times[k];
			l->host = names.keys[k];
		}
	ss_strmap_free(&names);
	free(times);
	return ok || ss_fail_mem(err);
}

static bool any_hidden(const struct ss_table *t)
{
	for (size_t i = 0; i < t->nrows; i++)
		if (ss_cell_i64(t, i, "hidden") > 0)
			return true;
	return false;
}

/* What an execution costs on average. */
static void say_cost(struct ss_result *out, const struct ss_table *t, const struct cost *c, const struct last *l)
{
	const char *among = any_hidden(t) ? " among those that compute does not hide" : "";
	struct ss_words transfer = ss_value_words(SS_UNIT_US, c->transfer_us / (double)c->seen);
	double wait_us = c->wait_us / (double)c->seen;
	/* Where participants have no recording, the last one is not known. */
	const char *takes = l->parted ? "takes" : "transfers for";
	if (c->seen < c->n)
		ss_say(out,
		       "The collective that costs most%s is '" SS_FMT
		       "', executed %s. Where compute does not hide it (%s), it %s %s on average.",
		       among, SS_ARG(c->op), ss_count_words((double)c->n, "time").s,
		       ss_count_words((double)c->seen, "time").s, takes, transfer.s);
	else
		ss_say(out, "The collective that costs most%s is '" SS_FMT "', executed %s: it %s %s on average.", among,
		       SS_ARG(c->op), ss_count_words((double)c->n, "time").s, takes, transfer.s);
	if (l->parted)
		ss_say(out, "How much of that is waiting for the participants without a recording is not known.");
	if (wait_us > 0)
		ss_say(out, "The first participant%s waits %s on average for the last one%s.",
		       l->parted ? " of those recorded" : "", ss_value_words(SS_UNIT_US, wait_us).s,
		       l->parted ? " of them" : "");
}

static bool conclude(const struct ss_request *q, struct ss_result *out, struct ss_err *err)
{
	(void)q;
	const struct ss_table *t = ss_result_find(out, "by_op");
	struct cost top = dearest(t);
	struct last last;
	if (!t->nrows)
		return true;
	if (!top.seen) {
		ss_result_say(out, SS_STR("Compute hides all collectives: no participant waited for the end of one."));
		say_clocks(out);
		return true;
	}
	if (!find_last(out, &top, &last, err))
		return false;
	say_cost(out, t, &top, &last);
	/* Where there is one host, nobody else could come last. */
	if (last.host.n && ss_result_find(out, "clocks")->nrows > 1)
		ss_say(out, "Host '" SS_FMT "' comes last in %s of %s.", SS_ARG(last.host),
		       ss_value_words(SS_UNIT_FRAC, (double)last.times / (double)last.whole).s,
		       last.parted ? "those that all participants recorded" : "them");
	say_clocks(out);
	return true;
}

const struct ss_tool ss_tool_collectives = {
	.name = "collectives",
	.title = "Collectives",
	.summary = "Collectives over all hosts: the last participant, waiting, transfer and rates; and the differences of the "
	    "hosts' clocks",
	.kind = SS_KIND_TABLES,
	.flags = SS_TOOL_ALL_HOSTS | SS_TOOL_OURS | SS_TOOL_VISITS | SS_TOOL_SESSION | SS_TOOL_OF_PARTS,
	.facts = SS_FACTS_CLUSTER,
	.needs = SS_NEEDS_COLLECTIVES,
	.run = run,
	.conclude = conclude,
};
