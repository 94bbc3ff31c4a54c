/*
 * distributed.c - the ranks of a PyTorch job side by side: how much each computed and communicated
 * in a step, and how long it waited in collectives for the others.
 *
 * The k-th call of a collective in a process group is the same operation on each rank, unless the
 * traces number their calls (Seq). It begins for all when the last rank has come, so the shortest
 * duration of it is its transfer, and what it takes longer on a rank is waiting. Clocks of ranks
 * differ, durations do not. Rules of steps: model/torch/steps.h, by the device.
 */
#include "base/safe.h"

#include "model/host/identity.h"
#include "model/model.h"
#include "model/torch/rank.h"
#include "tools/torch_tool.h"
#include "tools/words.h"

#include <math.h>

enum { R_RANK, R_HOST, R_COMPUTATION, R_OVERLAP, R_COMMUNICATION, R_OTHER, R_COLS };

static const struct ss_col rank_cols[R_COLS] = {
	INT("rank", "Rank", NONE, NULL),
	STR("host", "Host", "Name of the recording"),
	NUM("computation_us", "Computation", US, "Time in a step of kernels that hide no communication; on CPUs of operators"),
	LIKE("overlap_us", "Overlap", US, "computation_us", "Computation and communication run at the same time"),
	LIKE("communication_us", "Communication", US, "computation_us", "Communication that no computation hides"),
	LIKE("other_us", "Other", US, "computation_us", "The rest of the step"),
};

enum { W_RANK, W_CALLS, W_TOTAL, W_TRANSFER, W_WAIT, W_COLS };

static const struct ss_col wait_cols[W_COLS] = {
	INT("rank", "Rank", NONE, NULL),
	INT("calls", "Calls", COUNT, "Collectives that all ranks of the group have recorded"),
	NUM("total_us", "Total", US, "Duration of these collectives"),
	LIKE("transfer_us", "Transfer", US, "total_us", "Sum over these collectives of the shortest duration on any rank"),
	LIKE("wait_us", "Waiting", US, "total_us", "Total minus transfer. The others wait for the rank that waits least"),
};

/* A call, by what joins it with those of other ranks. */
struct call {
	uint64_t key; /* kind and group */
	int64_t nth, sequence, ns;
	uint32_t rank; /* of `ranks` */
};

struct rank {
	int64_t number;
	struct ss_str host;
	double computation_us, overlap_us, communication_us, other_us; /* of the mean step */
	int64_t calls, total_ns, transfer_ns;
	uint64_t ungrouped; /* calls of which nobody can tell the group */
};

struct job {
	struct ss_model *m;
	SS_VEC(struct rank) ranks;
	SS_VEC(struct call) calls;
	bool all_numbered;
};

/* "rank-34.Jul_15": 34; -1 where the name says nothing. */
static int64_t rank_in(struct ss_str name)
{
	size_t at;
	while ((at = ss_str_find(name, SS_STR("rank"))) != SS_NPOS) {
		uint64_t n;
		name = ss_str_sub(name, at + 4, name.n);
		struct ss_str rest = name;
		if (rest.n && (rest.p[0] == '-' || rest.p[0] == '_'))
			rest = ss_str_sub(rest, 1, rest.n);
		if (ss_str_take_u64(&rest, &n) && n < 1000000000)
			return (int64_t)n;
	}
	return -1;
}

/* ---- one rank ---- */

static bool add_calls(struct job *j, const struct ss_torch_rank *t)
{
	bool ok = true;
	for (size_t i = 0; ok && i < t->ncalls; i++) {
		const struct ss_torch_rank_call *c = &t->calls[i];
		if (c->key == SS_TORCH_NO_GROUP) {
			j->ranks.v[j->ranks.n - 1].ungrouped++;
			continue;
		}
		j->all_numbered &= c->sequence >= 0;
		ok = ss_vec_push(&j->calls, ((struct call){ .key = c->key, .nth = c->nth, .sequence = c->sequence, .ns = c->dur_ns,
							    .rank = (uint32_t)j->ranks.n - 1 }));
	}
	return ok;
}

static bool read_host(void *arg, size_t i, struct ss_host *h, struct ss_err *err)
{
	(void)arg;
	(void)i;
	return ss_host_torch_rank(h, err) != NULL;
}

static bool take_host(void *arg, size_t i, struct ss_host *h, struct ss_err *err)
{
	struct job *j = arg;
	const struct ss_torch_rank *t = ss_host_torch_rank(h, err);
	if (!t)
		return false;
	if (!t->is_torch)
		return true;
	struct rank r = { .number = t->number, .host = ss_host_name(j->m->hosts[i]), .computation_us = t->computation_us,
			  .overlap_us = t->overlap_us, .communication_us = t->communication_us, .other_us = t->other_us };
	if (r.number < 0)
		r.number = rank_in(r.host);
	if (r.number < 0)
		r.number = (int64_t)i;
	bool ok = ss_vec_push(&j->ranks, r) && add_calls(j, t);
	return ok || ss_fail_mem(err);
}

/* ---- all ranks ---- */

static int by_operation(const void *a, const void *b)
{
	const struct call *x = a, *y = b;
	return SS_CMP(x->key, y->key) ?: SS_CMP(x->nth, y->nth) ?: SS_CMP(x->rank, y->rank);
}

/* How many ranks have calls among these; `seen`: by rank, the last `mark` that found it. */
static size_t count_ranks(const struct call *v, size_t n, size_t *seen, size_t mark)
{
	size_t count = 0;
	for (size_t i = 0; i < n; i++) {
		count += seen[v[i].rank] != mark;
		seen[v[i].rank] = mark;
	}
	return count;
}

/* One operation: all ranks of its group have recorded it, or it is left out. */
static void join(struct job *j, const struct call *v, size_t n)
{
	int64_t transfer_ns = INT64_MAX;
	for (size_t i = 0; i < n; i++)
		transfer_ns = v[i].ns < transfer_ns ? v[i].ns : transfer_ns;
	for (size_t i = 0; i < n; i++) {
		struct rank *r = &j->ranks.v[v[i].rank];
		r->calls++;
		r->total_ns = ss_safe_sum(r->total_ns, v[i].ns);
		r->transfer_ns = ss_safe_sum(r->transfer_ns, transfer_ns);
	}
}

static bool join_all(struct job *j)
{
	struct call *v = j->calls.v;
	size_t n = j->calls.n, mark = 0;
	size_t *seen = calloc(j->ranks.n + 1, sizeof(*seen));
	for (size_t i = 0; j->all_numbered && i < n; i++)
		v[i].nth = v[i].sequence;
	if (n)
		qsort(v, n, sizeof(*v), by_operation);
	for (size_t i = 0, end; seen && i < n; i = end) {
		for (end = i; end < n && v[end].key == v[i].key; end++)
			;
		size_t ranks = count_ranks(v + i, end - i, seen, ++mark);
		for (size_t k = i, stop; k < end; k = stop) {
			for (stop = k; stop < end && v[stop].nth == v[k].nth; stop++)
				;
			if (count_ranks(v + k, stop - k, seen, ++mark) == ranks)
				join(j, v + k, stop - k);
		}
	}
	free(seen);
	return seen;
}

static int by_number(const void *a, const void *b)
{
	const struct rank *x = a, *y = b;
	return SS_CMP(x->number, y->number) ?: ss_str_cmp(x->host, y->host);
}

static void put_ranks(struct ss_result *out, const struct job *j)
{
	struct ss_table *t = ss_result_table(out, "ranks", "Mean step of each rank", rank_cols, R_COLS);
	for (size_t i = 0; i < j->ranks.n; i++) {
		const struct rank *r = &j->ranks.v[i];
		ss_table_row(t);
		ss_set_i64(t, R_RANK, r->number);
		ss_set_str(t, R_HOST, r->host);
		ss_set_f64(t, R_COMPUTATION, r->computation_us);
		ss_set_f64(t, R_OVERLAP, r->overlap_us);
		ss_set_f64(t, R_COMMUNICATION, r->communication_us);
		ss_set_f64(t, R_OTHER, r->other_us);
	}
}

static void put_waits(struct ss_result *out, const struct job *j)
{
	struct ss_table *t = ss_result_table(out, "waiting", "Waiting in collectives", wait_cols, W_COLS);
	for (size_t i = 0; i < j->ranks.n; i++) {
		const struct rank *r = &j->ranks.v[i];
		ss_table_row(t);
		ss_set_i64(t, W_RANK, r->number);
		ss_set_i64(t, W_CALLS, r->calls);
		bool known = r->calls || !r->ungrouped;
		ss_set_f64(t, W_TOTAL, known ? ss_us(r->total_ns) : NAN);
		ss_set_f64(t, W_TRANSFER, known ? ss_us(r->transfer_ns) : NAN);
		ss_set_f64(t, W_WAIT, known ? ss_us(r->total_ns - r->transfer_ns) : NAN);
	}
}

static void note_ungrouped(struct ss_result *out, const struct job *j)
{
	uint64_t n = 0;
	for (size_t i = 0; i < j->ranks.n; i++)
		n += j->ranks.v[i].ungrouped;
	if (n)
		ss_result_note(out, SS_WARNING,
			       ss_arena_printf(out->arena,
					       "%llu collectives of gloo are not compared: the job has several process groups, and "
					       "the traces do not say to which of them a collective belongs",
					       (unsigned long long)n));
}

static bool run(const struct ss_request *q, struct ss_result *out, struct ss_err *err)
{
	struct job j = { .m = q->model, .all_numbered = true };
	const struct ss_visit visit = { .read = read_host, .take = take_host, .arg = &j };
	bool ok = ss_tool_visit(q, out, &visit, err);
	if (ok) {
		ok = join_all(&j);
		if (ok && j.ranks.n)
			qsort(j.ranks.v, j.ranks.n, sizeof(*j.ranks.v), by_number);
		put_ranks(out, &j);
		put_waits(out, &j);
		note_ungrouped(out, &j);
		if (ok && !j.ranks.n)
			ss_result_note(out, SS_INFO, SS_STR("None of the recordings is a trace of PyTorch's profiler"));
		ok = ok || ss_fail_mem(err);
	}
	ss_vec_free(&j.ranks);
	ss_vec_free(&j.calls);
	return ok;
}

#define LATE_FRAC 0.5 /* of the longest wait: who waits less comes late */

/*
 * In collectives the rank that waits least is the one that the others wait for, unless it waits
 * nearly as long as they do: then each waits for another at another time, or all for ranks without
 * a recording.
 */
static void say_waiting(struct ss_result *out, const struct ss_table *t)
{
	struct ss_greatest most = ss_greatest_row(t, "wait_us", NULL, NULL);
	size_t least = 0;
	if (most.row == SS_NPOS || t->nrows < 2)
		return;
	for (size_t i = 0; i < t->nrows; i++)
		if (isnan(ss_cell_f64(t, i, "wait_us")))
			return;
	for (size_t i = 1; i < t->nrows; i++)
		if (ss_cell_f64(t, i, "wait_us") < ss_cell_f64(t, least, "wait_us"))
			least = i;
	double least_us = ss_cell_f64(t, least, "wait_us");
	ss_say(out,
	       "In collectives rank %lld waits longest for the other recorded ranks: %s. Rank %lld waits least, %s%s.",
	       (long long)ss_cell_i64(t, most.row, "rank"),
	       ss_share_words(SS_UNIT_US, most.value, ss_cell_f64(t, most.row, "total_us")).s,
	       (long long)ss_cell_i64(t, least, "rank"),
	       ss_value_words(SS_UNIT_US, least_us).s,
	       least_us < LATE_FRAC * most.value ? ": the others wait for it" : "");
}

/* Calls count only if all ranks of a group are recorded; their time is known without. */
static bool any_collectives(const struct ss_result *r)
{
	const struct ss_table *waits = ss_result_find(r, "waiting"), *ranks = ss_result_find(r, "ranks");
	for (size_t i = 0; i < waits->nrows; i++)
		if (ss_cell_i64(waits, i, "calls"))
			return true;
	for (size_t i = 0; i < ranks->nrows; i++)
		if (ss_cell_f64(ranks, i, "communication_us") > 0 || ss_cell_f64(ranks, i, "overlap_us") > 0)
			return true;
	return false;
}

extern const struct ss_tool ss_tool_distributed;

static bool conclude(const struct ss_request *q, struct ss_result *out, struct ss_err *err)
{
	(void)err;
	const struct ss_table *t = ss_result_find(out, "ranks");
	struct ss_greatest most = ss_greatest_row(t, "communication_us", NULL, NULL);
	(void)q;
	if (!any_collectives(out) && !out->nnotes)
		ss_result_note(out, SS_INFO, ss_str_from(ss_tool_distributed.missing));
	say_waiting(out, ss_result_find(out, "waiting"));
	if (most.row != SS_NPOS) {
		double whole_us = ss_cell_f64(t, most.row, "computation_us") +
				  ss_cell_f64(t, most.row, "overlap_us") + most.value +
				  ss_cell_f64(t, most.row, "other_us");
		struct ss_words share = ss_share_words(SS_UNIT_US, most.value, whole_us);
		long long rank = (long long)ss_cell_i64(t, most.row, "rank");
		/* Of one rank, nobody could have less. */
		if (t->nrows > 1)
			ss_say(out, "Exposed communication takes most on rank %lld: %s of its mean step.", rank, share.s);
		else
			ss_say(out, "Exposed communication takes %s of the mean step of rank %lld.", share.s, rank);
	}
	return true;
}

const struct ss_tool ss_tool_distributed = {
	.name = "distributed",
	.title = "Distributed",
	.summary = "Computation, communication and waiting of the ranks of a job",
	.kind = SS_KIND_TABLES,
	.flags = SS_TOOL_ALL_HOSTS | SS_TOOL_ONLY_ALL_HOSTS | SS_TOOL_OURS | SS_TOOL_VISITS |
		 SS_TOOL_OF_PARTS,
	.present = ss_host_is_torch,
	.needs = SS_NEEDS_RANKS,
	.missing = "no process of the recording calls collectives: whom it waits for is not known",
	.run = run,
	.conclude = conclude,
};
