/*
 * megascale_stats.c - transfers between slices over the data center network: time the network had
 * (slack), time the device lost waiting (stall), and the bandwidth that would have been enough. See
 * model/megascale/dcn.h for how they are found.
 */
#include "base/map.h"

#include "base/vec.h"
#include "model/megascale/dcn.h"
#include "model/megascale/perfetto.h"
#include "model/model.h"
#include "tools/tool.h"
#include "tools/words.h"

#include <stdlib.h>

enum {
	COL_RENDEZVOUS, COL_RECV_NAME, COL_SEND_NAME, COL_TYPE, COL_SLACK, COL_HOST_STALL, COL_OBSERVED, COL_SEND,
	COL_SEND_DONE, COL_RECV, COL_RECV_DONE, COL_STALL, COL_TOTAL_STALL, COL_OCCURRENCES, COL_BYTES, COL_BANDWIDTH
};

static const struct ss_col cols[] = {
	STR("rendezvous_name", "Rendezvous Name", "The transfer's name, shared by its operations"),
	STR("recv_op_name", "Recv Op Name", "Name of the recv-done that waits for the data"),
	STR("send_op_name", "Send Op Name", NULL),
	STR("transfer_type", "Transfer Type", "Collective operation that the transfer belongs to"),
	NUM("slack_time", "Slack Time (ms)", MS,
	    "From the begin of send to the begin of recv-done, minus other transfer operations"),
	STR("host_stall", "Host Stall (ms)", "Delay caused by the host; -: not recorded"),
	NUM("observed_duration", "Observed Duration (ms)", MS, "From the begin of send to the end of recv-done"),
	NUM("send_stall", "Send Stall (ms)", MS, "Mean duration of send"),
	NUM("send_done_stall", "SendDone Stall (ms)", MS, "Mean duration of send-done"),
	NUM("recv_stall", "Recv Stall (ms)", MS, "Mean duration of recv"),
	NUM("recv_done_stall", "RecvDone Stall (ms)", MS, "Mean duration of recv-done"),
	NUM("stall_duration", "Stall Duration (ms)", MS, "Sum over all operations of the transfer"),
	NUM("total_stall", "Aggregated Total Stall (ms)", MS, "stall duration * occurrences"),
	INT("occurrences", "Occurrences", COUNT, "Transfers recorded from begin to end"),
	INT("net_tx_bytes", "Data Transmitted Size", BYTES, "Bytes that one participant sends in one transfer"),
	NUM("required_bandwidth", "Required Bandwidth (Gbps)", NONE,
	    "Bits sent / slack: the bandwidth at which the transfer never stalls; 2147483647: no slack"),
};

#define NO_SLACK_GBPS 2147483647.0

static double ms(uint64_t us)
{
	return (double)us / 1000;
}

static void add_row(struct ss_table *t, const struct ss_dcn *d)
{
	ss_table_row(t);
	ss_set_str(t, COL_RENDEZVOUS, d->rendezvous);
	ss_set_str(t, COL_RECV_NAME, d->recv_name);
	ss_set_str(t, COL_SEND_NAME, d->send_name);
	ss_set_str(t, COL_TYPE, d->transfer_type);
	ss_set_f64(t, COL_SLACK, ms(d->slack_us));
	ss_set_str(t, COL_HOST_STALL, SS_STR("-"));
	ss_set_f64(t, COL_OBSERVED, ms(d->observed_us));
	ss_set_f64(t, COL_SEND, ms(d->send_us));
	ss_set_f64(t, COL_SEND_DONE, ms(d->send_done_us));
	ss_set_f64(t, COL_RECV, ms(d->recv_us));
	ss_set_f64(t, COL_RECV_DONE, ms(d->recv_done_us));
	ss_set_f64(t, COL_STALL, ms(d->stall_us));
	ss_set_f64(t, COL_TOTAL_STALL, ms(d->stall_us * d->occurrences));
	ss_set_i64(t, COL_OCCURRENCES, (int64_t)d->occurrences);
	ss_set_i64(t, COL_BYTES, (int64_t)d->net_bytes);
	ss_set_f64(t, COL_BANDWIDTH, d->slack_us ? (double)d->net_bytes / (double)d->slack_us * 0.008 : NO_SLACK_GBPS);
}

/* Rendezvous of all hosts: sums of time * occurrences while hosts are added, means at the end. */
struct all {
	struct ss_strmap names;
	SS_VEC(struct ss_dcn) v;
	struct ss_intern *texts; /* of the result */
};

#define EACH_TIME(X) X(slack_us) X(stall_us) X(observed_us) X(send_us) X(send_done_us) X(recv_us) X(recv_done_us)

static bool add_host(struct all *all, const struct ss_dcn *rows, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct ss_str rendezvous = ss_intern_str(all->texts, rows[i].rendezvous);
		uint32_t k = ss_strmap_add(&all->names, rendezvous);
		if (k == SS_NONE || (k == all->v.n && !ss_vec_push(&all->v, (struct ss_dcn){ 0 })))
			return false;
		struct ss_dcn *to = &all->v.v[k];
#define ADD(time) to->time += rows[i].time * rows[i].occurrences;
		EACH_TIME(ADD)
#undef ADD
		to->occurrences += rows[i].occurrences;
		/* What does not add up is the last host's. */
		to->rendezvous = rendezvous;
		to->recv_name = ss_intern_str(all->texts, rows[i].recv_name);
		to->send_name = ss_intern_str(all->texts, rows[i].send_name);
		to->transfer_type = ss_intern_str(all->texts, rows[i].transfer_type);
		to->net_bytes = rows[i].net_bytes;
	}
	return true;
}

static int by_rendezvous(const void *a, const void *b)
{
	return ss_str_cmp(((const struct ss_dcn *)a)->rendezvous, ((const struct ss_dcn *)b)->rendezvous);
}

static bool fill(struct ss_table *t, struct all *all)
{
	if (all->v.n)
		qsort(all->v.v, all->v.n, sizeof(*all->v.v), by_rendezvous);
	for (size_t i = 0; i < all->v.n; i++) {
		struct ss_dcn *d = &all->v.v[i];
#define MEAN(time) d->time /= d->occurrences;
		EACH_TIME(MEAN)
#undef MEAN
		add_row(t, d);
	}
	return true;
}

static const struct ss_param params[] = {
	{ "perfetto", "true|false", "false", "write a trace of one host for ui.perfetto.dev instead of the table" },
	{ "group_tiny_events", "true|false", "true", "in the trace: merge operations shorter than 1 ns" },
};

extern const struct ss_tool ss_tool_megascale_stats;

static bool is_true(const struct ss_request *q, const char *param)
{
	return ss_str_ieq(ss_request_param(q, &ss_tool_megascale_stats, param), SS_STR("true"));
}

static bool write_trace(const struct ss_request *q, struct ss_result *out, struct ss_err *err)
{
	struct ss_megascale m = { 0 };
	if (q->model->nhosts != 1)
		return ss_fail(err, SS_EINVAL, "a trace shows one host: select one of the %zu hosts", q->model->nhosts);
	if (q->model->visited)
		return ss_fail(err, SS_EINVAL, "a trace needs the profile itself: parts hold no events");
	bool ok = ss_model_load(q->model, err) &&
		  ss_megascale_read(&m, q->model->hosts[0], is_true(q, "group_tiny_events"), err);
	if (ok)
		ok = ss_perfetto_write(&m, q->arena, &out->body, err);
	ss_megascale_release(&m);
	out->content_type = "application/octet-stream";
	return ok;
}

static bool read_host(void *arg, size_t i, struct ss_host *h, struct ss_err *err)
{
	(void)arg;
	(void)i;
	return ss_host_dcn(h, err) != NULL;
}

static bool take_host(void *arg, size_t i, struct ss_host *h, struct ss_err *err)
{
	const struct ss_host_dcn *d = ss_host_dcn(h, err);
	(void)i;
	return d && (add_host(arg, d->v, d->n) || ss_fail_mem(err));
}

static bool run(const struct ss_request *q, struct ss_result *out, struct ss_err *err)
{
	if (is_true(q, "perfetto"))
		return write_trace(q, out, err);
	struct ss_table *t = ss_result_table(out, "megascale_stats", "Transfers between slices", cols, SS_COUNT(cols));
	struct all all = { .texts = &out->texts };
	const struct ss_visit visit = { .read = read_host, .take = take_host, .arg = &all };
	bool ok = ss_tool_visit(q, out, &visit, err);
	if (ok && !fill(t, &all))
		ok = ss_fail_mem(err);
	ss_strmap_free(&all.names);
	ss_vec_free(&all.v);
	if (ok && !t->nrows)
		ss_result_note(out, SS_INFO, SS_STR("the profile holds no transfers between slices"));
	return ok;
}

#define NO_SLACK 2147483647.0 /* required_bandwidth where no bandwidth would be enough */

/* The transfer that the device waits for most, and whether a faster network would help. */
static bool conclude(const struct ss_request *q, struct ss_result *out, struct ss_err *err)
{
	(void)err;
	const struct ss_table *t = ss_result_find(out, "megascale_stats");
	struct ss_greatest top = ss_greatest_row(t, "total_stall", NULL, NULL);
	(void)q;
	if (top.row == SS_NPOS) {
		if (t->nrows)
			ss_result_say(out, SS_STR("No transfer between slices stalls a device."));
		return true;
	}
	double slack = ss_cell_f64(t, top.row, "slack_time"),
	       need = ss_cell_f64(t, top.row, "required_bandwidth");
	ss_say(out,
	       "'" SS_FMT "' (" SS_FMT
	       ") stalls the device most: %s of all stalls, %s on average in %s of %s.",
	       SS_ARG(ss_cell_str(t, top.row, "rendezvous_name")),
	       SS_ARG(ss_cell_str(t, top.row, "transfer_type")),
	       ss_share_words(SS_UNIT_MS, top.value, top.sum).s,
	       ss_value_words(SS_UNIT_MS, ss_cell_f64(t, top.row, "stall_duration")).s,
	       ss_count_words(ss_cell_f64(t, top.row, "occurrences"), "transfer").s,
	       ss_value_words(SS_UNIT_BYTES, ss_cell_f64(t, top.row, "net_tx_bytes")).s);
	if ((!(slack > 0) || need >= NO_SLACK))
		ss_result_say(out, SS_STR("The compiler placed no other work between its begin and its end: begin the "
		    "transfer earlier."));
	else ss_say(out,
	       "Other work hides it for %s: a network of %.3g Gbit/s is enough to "
	       "finish it in that time.",
	       ss_value_words(SS_UNIT_MS, slack).s, need);
	return true;
}

const struct ss_tool ss_tool_megascale_stats = {
	.name = "megascale_stats",
	.title = "Megascale stats",
	.summary =
		"Transfers between slices over the data center network: slack, stalls, bandwidth",
	.kind = SS_KIND_TABLES,
	.flags = SS_TOOL_ALL_HOSTS | SS_TOOL_VISITS | SS_TOOL_OF_PARTS,
	.params = params,
	.nparams = SS_COUNT(params),
	.present = ss_host_has_dcn,
	.needs = SS_NEEDS_HLO,
	.run = run,
	.conclude = conclude,
};
