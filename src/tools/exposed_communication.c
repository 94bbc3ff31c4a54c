/*
 * exposed_communication.c - where the time of each step went on each device, with communication
 * that nothing hides told apart into waiting for somebody who is late and the transfer.
 * model/cluster/exposed.h has the rules.
 */
#include "model/cluster/exposed.h"

#include "tools/cluster_notes.h"
#include "tools/words.h"

#include <math.h>
#include <stdlib.h>

enum {
	COL_STEP,
	COL_HOST,
	COL_DEVICE,
	COL_STEP_US,
	COL_COMPUTE,
	COL_WAIT,
	COL_TRANSFER,
	COL_COPY,
	COL_INPUT,
	COL_HOST_US,
	COL_OTHER,
	COL_OVER
};

#define TIMES(what)                                                                                                          \
	NUM("step_us", "Step (us)", US, "Length of the step's window" what),                                                 \
	NUM("compute_us", "Compute (us)", US, "Operations other than communication and copies"),                             \
	NUM("exposed_wait_us", "Exposed wait (us)", US,                                                                      \
	    "Time in which nothing computes and a collective waits for a late participant"),                                 \
	NUM("exposed_transfer_us", "Exposed transfer (us)", US,                                                              \
	    "Time in which nothing computes and a collective transfers data"),                                               \
	NUM("copy_us", "Copies (us)", US,                                                                                    \
	    "Time of copies between host and device and of outfeed without any of the above"),                               \
	NUM("idle_input_us", "Idle for input (us)", US,                                                                      \
	    "Time of infeed alone, or in which nothing runs and the host waits for input"),                                  \
	NUM("idle_host_us", "Idle for host (us)", US,                                                                        \
	    "Time in which nothing runs until the host has launched the next operation"),                                    \
	NUM("idle_other_us", "Idle (us)", US, "Time in which nothing runs and the recording shows no reason"),               \
	NUM("overlapped_us", "Overlapped (us)", US, "Compute while a collective runs: part of the compute")

static const struct ss_col cols[] = {
	INT("step_num", "Step", NONE, NULL),
	STR("host", "Host", NULL),
	INT("device", "Device", NONE, "Number of the device on the host"),
	TIMES(": from the end of the step before on this device to its own end"),
	SS_STEP_ROUND_COL,
};

enum { HOST_HOST, HOST_STEPS, HOST_STEP_US };

static const struct ss_col host_cols[] = {
	STR("host", "Host", NULL),
	INT("steps", "Steps", COUNT, "Steps of all devices of the host, over which the means are taken"),
	TIMES(", mean of the host's devices and steps"),
};

enum { OP_OP, OP_KIND, OP_WAIT, OP_TRANSFER, OP_OVER, OP_HIDDEN };

static const struct ss_col op_cols[] = {
	STR("op", "Operation", NULL),
	STR("kind", "Kind", NULL),
	NUM("exposed_wait_us", "Exposed wait (us)", US, "Sum over devices and steps"),
	NUM("exposed_transfer_us", "Exposed transfer (us)", US,
	    "Sum over devices and steps, its start and done operations included"),
	NUM("overlapped_us", "Overlapped (us)", US, "Sum over devices and steps of compute while it ran"),
	NUM("hidden_frac", "Hidden", FRAC, "overlapped / (overlapped + exposed)"),
};

static void set_times(struct ss_table *t, size_t col, const double *us)
{
	for (size_t i = 0; i < COL_OVER - COL_STEP_US + 1; i++)
		ss_set_f64(t, col + i, us[i]);
}

/* In the order of the columns. */
static void times_of(const struct ss_device_step *r, double *us)
{
	us[0] = ss_ps_us(r->end_ps - r->begin_ps);
	for (size_t k = 0; k < SS_EXPOSED_CLASSES; k++)
		us[1 + k] = ss_ps_us(r->class_ps[k]);
	us[1 + SS_EXPOSED_CLASSES] = ss_ps_us(r->overlapped_ps);
}

struct placed {
	int64_t step;
	uint32_t row;
};

static int by_step(const void *a, const void *b)
{
	const struct placed *x = a, *y = b;
	return SS_CMP(x->step, y->step) ?: SS_CMP(x->row, y->row);
}

static bool fill_steps(struct ss_result *out, const struct ss_cluster *c, const struct ss_exposed *x)
{
	struct ss_table *t = ss_result_table(out, "device_steps", "Steps of devices", cols, ss_step_columns(c, SS_COUNT(cols)));
	struct placed *v = calloc(x->rows.n + 1, sizeof(*v));
	bool ok = v;
	if (ok)
		ss_table_reserve(t, x->rows.n);
	for (uint32_t i = 0; ok && i < x->rows.n; i++)
		v[i] = (struct placed){ x->rows.v[i].step, i };
	if (ok && x->rows.n)
		qsort(v, x->rows.n, sizeof(*v), by_step);
	for (size_t i = 0; ok && i < x->rows.n; i++) {
		ss_table_row(t);
		const struct ss_device_step *r = &x->rows.v[v[i].row];
		const struct ss_cluster_device *d = &c->devices.v[r->device];
		double us[COL_OVER - COL_STEP_US + 1];
		times_of(r, us);
		ss_set_step(t, c, COL_STEP, SS_COUNT(cols) - 1, r->step);
		ss_set_str(t, COL_HOST, c->hosts.v[d->host].name);
		ss_set_i64(t, COL_DEVICE, d->ordinal);
		set_times(t, COL_STEP_US, us);
	}
	free(v);
	return ok;
}

static void fill_hosts(struct ss_result *out, const struct ss_cluster *c, const struct ss_exposed *x)
{
	struct ss_table *t = ss_result_table(out, "hosts", "Hosts", host_cols, SS_COUNT(host_cols));
	for (size_t h = 0; h < c->hosts.n; h++) {
		const struct ss_cluster_host *host = &c->hosts.v[h];
		double sum[COL_OVER - COL_STEP_US + 1] = { 0 }, us[COL_OVER - COL_STEP_US + 1];
		uint32_t from = host->ndevices ? x->first[host->first_device] : 0;
		uint32_t to = host->ndevices ? x->first[host->first_device + host->ndevices] : 0;
		for (uint32_t i = from; i < to; i++) {
			times_of(&x->rows.v[i], us);
			for (size_t k = 0; k < SS_COUNT(us); k++)
				sum[k] += us[k] / (to - from);
		}
		if (to == from)
			continue;
		ss_table_row(t);
		ss_set_str(t, HOST_HOST, host->name);
		ss_set_i64(t, HOST_STEPS, to - from);
		set_times(t, HOST_STEP_US, sum);
	}
}

static void fill_ops(struct ss_result *out, const struct ss_cluster *c, const struct ss_exposed *x)
{
	struct ss_table *t = ss_result_table(out, "ops", "Operations", op_cols, SS_COUNT(op_cols));
	for (size_t i = 0; i < c->ops.n; i++) {
		const struct ss_exposed_op *o = &x->ops[i];
		double exposed = ss_ps_us(o->wait_ps + o->transfer_ps), over = ss_ps_us(o->overlapped_ps);
		if (exposed == 0 && over == 0)
			continue;
		ss_table_row(t);
		ss_set_str(t, OP_OP, c->ops.v[i].name);
		ss_set_str(t, OP_KIND, ss_str_from(ss_comm_name(c->ops.v[i].kind)));
		ss_set_f64(t, OP_WAIT, ss_ps_us(o->wait_ps));
		ss_set_f64(t, OP_TRANSFER, ss_ps_us(o->transfer_ps));
		ss_set_f64(t, OP_OVER, over);
		ss_set_f64(t, OP_HIDDEN, over / (over + exposed));
	}
}

/* Collectives that lack participants. */
static uint64_t count_parted(const struct ss_cluster *c)
{
	uint64_t parted = 0;
	for (size_t i = 0; i < c->collectives.n; i++)
		parted += c->collectives.v[i].n < c->collectives.v[i].expected;
	return parted;
}

static void add_notes(struct ss_result *out, const struct ss_cluster *c, const struct ss_exposed *x)
{
	uint64_t parted = count_parted(c);
	struct ss_str text = SS_STR("");
	if (parted)
		text = ss_arena_printf(out->arena,
				       "%llu of %zu collectives lack participants: waiting and transfer are separated by those "
				       "that were recorded, and the last one may be missing",
				       (unsigned long long)parted, c->collectives.n);
	if (parted)
		ss_result_note(out, SS_WARNING, text);
	if (!x->rows.n)
		ss_result_note(out, SS_INFO, SS_STR("no device of the recordings has steps with numbers"));
}

static bool run(const struct ss_request *q, struct ss_result *out, struct ss_err *err)
{
	const struct ss_exposed *x = ss_model_exposed(q->model, err);
	const struct ss_cluster *c = x ? ss_model_cluster(q->model, err) : NULL;
	if (!c)
		return false;
	bool ok = fill_steps(out, c, x);
	if (ok)
		fill_hosts(out, c, x);
	if (ok)
		fill_ops(out, c, x);
	add_notes(out, c, x);
	ok = ok && ss_cluster_notes(c, out);
	return ok || ss_fail_mem(err);
}

/* Where the steps of the host with the most exposed communication go. */
static bool conclude(const struct ss_request *q, struct ss_result *out, struct ss_err *err)
{
	const struct ss_cluster *c = ss_model_cluster(q->model, err);
	if (!c)
		return false;
	const struct ss_table *t = ss_result_find(out, "hosts"), *ops = ss_result_find(out, "ops");
	struct ss_greatest transfer = ss_greatest_row(ops, "exposed_transfer_us", NULL, NULL);
	size_t top = 0;
	double max = -1;
	for (size_t i = 0; i < t->nrows; i++) {
		double v = ss_cell_f64(t, i, "exposed_wait_us") +
			   ss_cell_f64(t, i, "exposed_transfer_us");
		if (v > max) {
			max = v;
			top = i;
		}
	}
	if (!t->nrows || !(ss_cell_f64(t, top, "step_us") > 0))
		return true;
	if (!(max > 0)) {
		ss_result_say(out, SS_STR("No communication is exposed: compute hides it, or "
					  "there is none."));
		return true;
	}
	double wait = ss_cell_f64(t, top, "exposed_wait_us");
	struct ss_words share = ss_share_words(SS_UNIT_US, max, ss_cell_f64(t, top, "step_us"));
	/* Of one host, nobody could have less. */
	struct ss_str takes = t->nrows > 1 ? ss_arena_printf(q->arena, "takes most on '" SS_FMT "':",
							     SS_ARG(ss_cell_str(t, top, "host")))
					   : SS_STR("takes");
	if (!takes.p)
		return ss_fail_mem(err);
	if (count_parted(c))
		ss_say(out,
		       "Exposed communication " SS_FMT " %s of a mean step. How much of it is waiting for the participants "
		       "without a recording is not known.",
		       SS_ARG(takes), share.s);
	else if (wait > 0)
		ss_say(out,
		       "Exposed communication " SS_FMT " %s of a mean step, %s of it waiting for late participants and %s "
		       "transferring.",
		       SS_ARG(takes), share.s, ss_value_words(SS_UNIT_US, wait).s,
		       ss_value_words(SS_UNIT_US, ss_cell_f64(t, top, "exposed_transfer_us")).s);
	else
		ss_say(out, "Exposed communication " SS_FMT " %s of a mean step.", SS_ARG(takes), share.s);
	if (transfer.row != SS_NPOS && !count_parted(c))
		ss_say(out,
		       "The operation with the most exposed transfer is '" SS_FMT
		       "': %s of all devices and steps.",
		       SS_ARG(ss_cell_str(ops, transfer.row, "op")),
		       ss_share_words(SS_UNIT_US, transfer.value, transfer.sum).s);
	return true;
}

const struct ss_tool ss_tool_exposed_communication = {
	.name = "exposed_communication",
	.title = "Exposed communication",
	.summary = "The parts of each device's steps: compute, waiting for late hosts, transfers, copies, and idle time with "
	    "its cause",
	.kind = SS_KIND_TABLES,
	.flags = SS_TOOL_ALL_HOSTS | SS_TOOL_OURS | SS_TOOL_VISITS | SS_TOOL_SESSION | SS_TOOL_OF_PARTS,
	.facts = SS_FACTS_CLUSTER,
	.needs = SS_NEEDS_PROGRAMS | SS_NEEDS_STEPS,
	.run = run,
	.conclude = conclude,
};
