/*
 * distributed.c - the ranks of a PyTorch job side by side: how much each computed and communicated
 * in a step, and how long it waited in collectives for the others.
 *
 * The k-th call of a collective in a process group is the same operation on each rank, unless the
 * traces number their calls (Seq). It begins for all when the last rank has come, so the shortest
 * duration of it is its transfer, and what it takes longer on a rank is waiting. Clocks of ranks
 * differ, durations do not. Rules of steps: model/torch/steps.h, by the device.
 */
#include "model/host/host.h"
#include "model/torch/comm.h"
#include "model/torch/device.h"
#include "model/torch/steps.h"
#include "tools/torch_tool.h"
#include "tools/words.h"

enum { R_RANK, R_HOST, R_COMPUTATION, R_OVERLAP, R_COMMUNICATION, R_OTHER, R_COLS };

static const struct ss_col rank_cols[R_COLS] = {
	INT("rank", "Rank", NONE, NULL),
	STR("host", "Host", "The recording's name"),
	NUM("computation_us", "Computation", US, "Kernels that hide no communication, in a step; without devices operators"),
	NUM("overlap_us", "Overlap", US, "Computation and communication"),
	NUM("communication_us", "Communication", US, "Nothing hides it"),
	NUM("other_us", "Other", US, "The rest of the step"),
};

enum { W_RANK, W_CALLS, W_TOTAL, W_TRANSFER, W_WAIT, W_COLS };

static const struct ss_col wait_cols[W_COLS] = {
	INT("rank", "Rank", NONE, NULL),
	INT("calls", "Calls", COUNT, "Of collectives that all ranks of the group have recorded"),
	NUM("total_us", "Total", US, NULL),
	NUM("transfer_us", "Transfer", US, "The shortest duration of each on any rank"),
	NUM("wait_us", "Waiting", US, "The rest. The rank that waits least is the one that the others wait for"),
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

static bool collect(const struct ss_torch *t, struct ss_intervals *compute, struct ss_intervals *communication)
{
	bool ok = true;
	for (size_t i = 0; ok && i < t->device.n; i++) {
		const struct ss_torch_device_event *e = &t->device.v[i];
		if (ss_torch_is_kernel(e))
			ok = ss_intervals_add(e->kind == SS_TORCH_KERNEL ? compute : communication, e->begin_ns, e->end_ns);
	}
	for (size_t i = 0; ok && !t->device.n && i < t->ops.n; i++)
		if (t->ops.v[i].parent == SS_NONE)
			ok = ss_intervals_add(compute, t->ops.v[i].begin_ns, t->ops.v[i].end_ns);
	for (size_t i = 0; ok && !t->device.n && i < t->ranges.n; i++) {
		const struct ss_torch_range *r = &t->ranges.v[i];
		struct ss_str name = ss_torch_text(t, r->name);
		if (ss_torch_is_gloo(t, r))
			ok = ss_intervals_add(communication, r->begin_ns, r->end_ns);
		else if (!ss_kineto_is_step(name) && !ss_kineto_is_dataloader(name))
			ok = ss_intervals_add(compute, r->begin_ns, r->end_ns);
	}
	ss_intervals_unite(compute);
	ss_intervals_unite(communication);
	return ok;
}

static bool clip(const struct ss_intervals *s, int64_t begin_ns, int64_t end_ns, struct ss_intervals *out)
{
	bool ok = true;
	out->v.n = 0;
	for (size_t i = 0; ok && i < s->v.n; i++) {
		int64_t from = s->v.v[i].begin_ns > begin_ns ? s->v.v[i].begin_ns : begin_ns;
		ok = ss_intervals_add(out, from, s->v.v[i].end_ns < end_ns ? s->v.v[i].end_ns : end_ns);
	}
	return ok;
}

/* The mean step. */
static bool add_times(const struct ss_torch *t, struct rank *r)
{
	struct ss_intervals compute = { 0 }, communication = { 0 }, c = { 0 }, m = { 0 };
	struct ss_torch_step *steps = malloc((t->steps.n + 1) * sizeof(*steps));
	bool ok = steps && ss_torch_device_steps(t, steps) && collect(t, &compute, &communication);
	for (size_t i = 0; ok && i < t->steps.n; i++) {
		ok = clip(&compute, steps[i].begin_ns, steps[i].end_ns, &c) &&
		     clip(&communication, steps[i].begin_ns, steps[i].end_ns, &m);
		double n = (double)t->steps.n * 1000;
		int64_t c_ns = ss_intervals_ns(&c), m_ns = ss_intervals_ns(&m), both_ns = ss_intervals_common_ns(&c, &m);
		r->computation_us += (double)(c_ns - both_ns) / n;
		r->overlap_us += (double)both_ns / n;
		r->communication_us += (double)(m_ns - both_ns) / n;
		r->other_us += (double)(steps[i].end_ns - steps[i].begin_ns - c_ns - m_ns + both_ns) / n;
	}
	free(steps);
	ss_intervals_free(&compute);
	ss_intervals_free(&communication);
	ss_intervals_free(&c);
	ss_intervals_free(&m);
	return ok;
}

static bool add_calls(struct job *j, const struct ss_torch *t)
{
	struct ss_torch_comm_call *v;
	size_t n;
	bool ok = ss_torch_comm_calls(t, &v, &n);
	struct ss_u64map nth = { 0 };
	for (size_t i = 0; ok && i < n; i++) {
		struct call c = { .key = ss_mix(ss_str_hash(ss_str_from(v[i].kind)), ss_str_hash(v[i].group)),
				  .ns = v[i].end_ns - v[i].begin_ns, .sequence = v[i].sequence,
				  .rank = (uint32_t)j->ranks.n - 1 };
		uint32_t before = ss_u64map_get(&nth, c.key);
		uint32_t now = before == SS_NONE ? 0 : before + 1;
		c.nth = now;
		j->all_numbered &= c.sequence >= 0;
		ok = ss_u64map_put(&nth, c.key, now) && ss_vec_push(&j->calls, c);
	}
	ss_u64map_free(&nth);
	free(v);
	return ok;
}

static bool read_host(void *arg, size_t i, struct ss_host *h, struct ss_err *err)
{
	(void)arg;
	(void)i;
	return ss_host_torch(h, err) != NULL;
}

static bool take_host(void *arg, size_t i, struct ss_host *h, struct ss_err *err)
{
	struct job *j = arg;
	const struct ss_torch *t = ss_host_torch(h, err);
	if (!t)
		return false;
	if (!t->is_torch)
		return true;
	struct rank r = { .number = t->rank, .host = j->m->hosts[i]->name };
	if (r.number < 0)
		r.number = rank_in(r.host);
	if (r.number < 0)
		r.number = (int64_t)i;
	bool ok = add_times(t, &r) && ss_vec_push(&j->ranks, r) && add_calls(j, t);
	return ok || ss_fail_mem(err);
}

/* ---- all ranks ---- */

static int by_operation(const void *a, const void *b)
{
	const struct call *x = a, *y = b;
	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	if (x->nth != y->nth)
		return x->nth < y->nth ? -1 : 1;
	return x->rank < y->rank ? -1 : x->rank > y->rank;
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
		r->total_ns += v[i].ns;
		r->transfer_ns += transfer_ns;
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
	if (x->number != y->number)
		return x->number < y->number ? -1 : 1;
	return ss_str_cmp(x->host, y->host);
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
		ss_set_f64(t, W_TOTAL, ss_us(r->total_ns));
		ss_set_f64(t, W_TRANSFER, ss_us(r->transfer_ns));
		ss_set_f64(t, W_WAIT, ss_us(r->total_ns - r->transfer_ns));
	}
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
		if (ok && !j.ranks.n)
			ss_result_note(out, SS_INFO, SS_STR("None of the recordings is a trace of PyTorch's profiler"));
		ok = ok || ss_fail_mem(err);
	}
	ss_vec_free(&j.ranks);
	ss_vec_free(&j.calls);
	return ok;
}

/* In collectives the rank that waits least is the one that the others wait for. */
static void say_waiting(struct ss_result *out, const struct ss_table *t)
{
	struct ss_greatest most = ss_greatest_row(t, "wait_us", NULL, NULL);
	size_t least = 0;
	if (most.row == SS_NPOS || t->nrows < 2)
		return;
	for (size_t i = 1; i < t->nrows; i++)
		if (ss_cell_f64(t, i, "wait_us") < ss_cell_f64(t, least, "wait_us"))
			least = i;
	ss_say(out,
	       "Rank %lld waits longest in collectives: %s of their time. Rank %lld waits least, "
	       "%s: the others wait for it.",
	       (long long)ss_cell_i64(t, most.row, "rank"),
	       ss_share_words(SS_UNIT_US, most.value, ss_cell_f64(t, most.row, "total_us")).s,
	       (long long)ss_cell_i64(t, least, "rank"),
	       ss_value_words(SS_UNIT_US, ss_cell_f64(t, least, "wait_us")).s);
}

static bool conclude(const struct ss_request *q, struct ss_result *out, struct ss_err *err)
{
	(void)err;
	const struct ss_table *t = ss_result_find(out, "ranks");
	struct ss_greatest most = ss_greatest_row(t, "communication_us", NULL, NULL);
	(void)q;
	say_waiting(out, ss_result_find(out, "waiting"));
	if (most.row != SS_NPOS) {
		double step = ss_cell_f64(t, most.row, "computation_us") +
			      ss_cell_f64(t, most.row, "overlap_us") + most.value +
			      ss_cell_f64(t, most.row, "other_us");
		ss_say(out,
		       "Exposed communication takes most on rank %lld: %s of a step.",
		       (long long)ss_cell_i64(t, most.row, "rank"),
		       ss_share_words(SS_UNIT_US, most.value, step).s);
	}
	return true;
}

const struct ss_tool ss_tool_distributed = {
	.name = "distributed",
	.title = "Distributed",
	.summary = "PyTorch: computation, communication and waiting of the ranks of a job",
	.kind = SS_KIND_TABLES,
	.flags = SS_TOOL_ALL_HOSTS | SS_TOOL_ONLY_ALL_HOSTS | SS_TOOL_OURS | SS_TOOL_VISITS,
	.present = ss_host_is_torch,
	.run = run,
	.conclude = conclude,
};
