/*
 * pod_viewer.c - stored pod viewers: PodViewerInputData in JSON. Steps with each core's parts,
 * channels, all-reduce operations, and where the cores are.
 *
 * The parts are those of the time: the compiler's categories told apart computing at many and at
 * few FLOPS, and the two phases of an all-reduce, which before 2019 were one ("crs").
 */
#include "legacy/combine.h"
#include "model/host/host.h"

#include <math.h>

enum { CORE_STEP, CORE_ID, CORE_HOST, CORE_TOTAL, CORE_BOTTLENECK, CORE_PARTS };

/* By column behind CORE_PARTS: members of the record; the second is what is left of the step. */
static const char *const part_keys[][2] = {
	{ "highFlopsComputeUs", NULL },	      { NULL, NULL },		    { "hostInfeedDurationUs", NULL },
	{ "hostOutfeedDurationUs", NULL },    { "allReduceComputeDurationUs", "crsDurationUs" },
	{ "allReduceSyncDurationUs", NULL },  { "sendDurationUs", NULL },   { "recvDurationUs", NULL },
};
#define LOW_FLOPS 1

static const struct ss_col core_cols[] = {
	INT("step_num", "Step", COUNT, NULL),
	INT("core_id", "Core", NONE, NULL),
	STR("host_name", "Host", NULL),
	NUM("total_us", "Step time", US, NULL),
	STR("bottleneck", "Bottleneck", NULL),
	NUM("high_flops_compute_us", "High FLOPS compute", US, "Convolutions and matrix products"),
	NUM("low_flops_compute_us", "Low FLOPS compute", US, "The rest of the step"),
	NUM("infeed_us", "Infeed", US, "Waiting for the host's input"),
	NUM("outfeed_us", "Outfeed", US, NULL),
	NUM("all_reduce_compute_us", "All-reduce compute", US, "The whole all-reduce, if the file does not record its phases"),
	NUM("all_reduce_sync_us", "All-reduce sync", US, "Waiting for the other cores"),
	NUM("send_us", "Send", US, NULL),
	NUM("recv_us", "Receive", US, NULL),
};

static const struct ss_col step_cols[] = {
	INT("step_num", "Step", COUNT, NULL),
	NUM("total_us", "Step time", US, "Maximum over cores"),
	INT("cores", "Cores", COUNT, NULL),
	STR("bottleneck", "Bottleneck", "The part with the longest time, summed over cores"),
	NUM("bottleneck_frac", "Its share", FRAC, "Time of that part / time of the step, all cores together"),
};

static const struct ss_col place_cols[] = {
	INT("core_id", "Core", NONE, NULL),
	STR("host_name", "Host", NULL),
	ID("global_chip_id", "Chip", NULL),
	ID("core_num", "Core on chip", NULL),
	ID("replica_id", "Replica", "-1 if the file does not record it"),
	ID("x", "x", "Coordinate of the chip; -1 if the file does not record the pod's size"),
	ID("y", "y", NULL),
};

static const struct ss_col collective_cols[] = {
	INT("step_num", "Step", COUNT, NULL),
	STR("hlo_op_name", "Operation", NULL),
	NUM("most_us", "Duration", US, "Mean of an execution"),
	INT("occurrences", "Occurrences", COUNT, "On all cores"),
	INT("bytes", "Size", BYTES, NULL),
	NUM("bandwidth", "Bandwidth", GIB_PER_S, "Size / duration"),
	INT("cores", "Replicas", COUNT, "That take part; 0 if the file does not record it"),
	STR("replica_groups", "Replica groups", "Empty if the file does not record it"),
	STR("description", "HLO text", NULL),
};

static const struct ss_col channel_cols[] = {
	INT("step_num", "Step", COUNT, NULL),
	INT("channel_id", "Channel", NONE, NULL),
	INT("src_core", "From core", NONE, "The first one, if there are several"),
	INT("dst_core", "To core", NONE, "The first one, if there are several"),
	INT("bytes", "Size", BYTES, NULL),
	NUM("latency_us", "Latency", US, NULL),
	NUM("bandwidth", "Bandwidth", GIB_PER_S, "Size / latency"),
	NUM("send_delay_us", "Send delay", US, "How late the sender started"),
	INT("occurrences", "Occurrences", COUNT, NULL),
	STR("send_op", "HLO operations", NULL),
};

static int64_t whole(struct ss_str s)
{
	int64_t v;
	return ss_str_to_i64(s, &v) ? v : -1;
}

static double bandwidth(int64_t bytes, double time_us)
{
	return time_us > 0 ? (double)bytes / time_us * 1e6 / 1073741824 : NAN;
}

/* Its first element where it is a list. */
static int64_t first_int(const struct ss_jnode *n, const char *one, const char *several)
{
	const struct ss_jnode *list = ss_jnode_get(n, several);
	if (list && list->first && list->first->num == list->first->num)
		return (int64_t)list->first->num;
	return ss_jnode_int(n, one, -1);
}

/* Returns the step's time. */
static double parts_of(const struct ss_jnode *record, double us[SS_COUNT(part_keys)])
{
	double total = ss_jnode_num(record, "totalDurationUs", 0), rest = total;
	for (size_t i = 0; i < SS_COUNT(part_keys); i++) {
		us[i] = 0;
		for (size_t k = 0; k < 2; k++)
			if (part_keys[i][k])
				us[i] += ss_jnode_num(record, part_keys[i][k], 0);
		rest -= us[i];
	}
	us[LOW_FLOPS] = rest > 0 ? rest : 0;
	return total;
}

static void add_core(struct ss_table *t, int64_t step, const struct ss_jnode *record)
{
	double us[SS_COUNT(part_keys)], total = parts_of(record, us);
	ss_table_row(t);
	ss_set_i64(t, CORE_STEP, step);
	ss_set_i64(t, CORE_ID, whole(record->key));
	ss_set_str(t, CORE_HOST, ss_jnode_text(record, "hostName"));
	ss_set_f64(t, CORE_TOTAL, total);
	ss_set_str(t, CORE_BOTTLENECK, ss_jnode_text(record, "bottleneck"));
	for (size_t i = 0; i < SS_COUNT(part_keys); i++)
		ss_set_f64(t, CORE_PARTS + i, us[i]);
}

typedef bool step_fn(struct ss_table *t, int64_t num, const struct ss_jnode *step);

static bool add_cores(struct ss_table *t, int64_t num, const struct ss_jnode *step)
{
	const struct ss_jnode *cores = ss_jnode_get(step, "podStatsPerCore");
	for (const struct ss_jnode *c = cores ? cores->first : NULL; c; c = c->next)
		add_core(t, num, c);
	return true;
}

/* A step of rows [from, to) of the table of cores. */
static void add_step(struct ss_table *t, const struct ss_table *cores, size_t from, size_t to)
{
	double max = 0, all = 0, sum[SS_COUNT(part_keys)] = { 0 };
	size_t best = 0;
	ss_table_row(t);
	for (size_t row = from; row < to; row++) {
		max = fmax(max, cores->data[CORE_TOTAL].f64[row]);
		all += cores->data[CORE_TOTAL].f64[row];
		for (size_t i = 0; i < SS_COUNT(sum); i++)
			sum[i] += cores->data[CORE_PARTS + i].f64[row];
	}
	for (size_t i = 1; i < SS_COUNT(sum); i++)
		best = sum[i] > sum[best] ? i : best;
	ss_set_i64(t, 0, cores->data[CORE_STEP].i64[from]);
	ss_set_f64(t, 1, max);
	ss_set_i64(t, 2, (int64_t)(to - from));
	ss_set_str(t, 3, ss_str_from(core_cols[CORE_PARTS + best].label));
	ss_set_f64(t, 4, all > 0 ? sum[best] / all : NAN);
}

/* Rows of one step stand together in the table of cores. */
static void add_steps(struct ss_table *t, const struct ss_table *cores)
{
	t->nrows = 0;
	for (size_t from = 0, to; from < cores->nrows; from = to) {
		for (to = from; to < cores->nrows && cores->data[CORE_STEP].i64[to] == cores->data[CORE_STEP].i64[from];)
			to++;
		add_step(t, cores, from, to);
	}
}

/* "{0,1},{2,3}", and how many there are. */
static struct ss_str groups(struct ss_arena *a, const struct ss_jnode *list, int64_t *n)
{
	struct ss_str s = SS_STR("");
	for (const struct ss_jnode *g = list ? list->first : NULL; g && s.p; g = g->next) {
		const struct ss_jnode *ids = ss_jnode_get(g, "replicaIds");
		s = ss_arena_printf(a, SS_FMT "%s{", SS_ARG(s), s.n ? "," : "");
		for (const struct ss_jnode *id = ids ? ids->first : NULL; id && s.p; id = id->next, (*n)++)
			s = ss_arena_printf(a, SS_FMT "%s" SS_FMT, SS_ARG(s), id == ids->first ? "" : ",", SS_ARG(id->text));
		if (s.p)
			s = ss_arena_printf(a, SS_FMT "}", SS_ARG(s));
		/* A pod has a thousand cores at most; longer lists are cut. */
		if (s.n > 4000)
			break;
	}
	return s;
}

static bool add_collectives(struct ss_table *t, int64_t num, const struct ss_jnode *step)
{
	const struct ss_jnode *ops = ss_jnode_get(step, "allReduceOpDb");
	for (const struct ss_jnode *op = ops ? ops->first : NULL; op; op = op->next) {
		double us = ss_jnode_num(op, "durationUs", 0);
		int64_t bytes = ss_jnode_int(op, "dataSize", 0), n = 0;
		struct ss_str g = groups(t->arena, ss_jnode_get(op, "replicaGroups"), &n);
		ss_table_row(t);
		ss_set_i64(t, 0, num);
		ss_set_str(t, 1, ss_jnode_text(op, "name"));
		ss_set_f64(t, 2, us);
		ss_set_i64(t, 3, ss_jnode_int(op, "occurrences", 0));
		ss_set_i64(t, 4, bytes);
		ss_set_f64(t, 5, bandwidth(bytes, us));
		ss_set_i64(t, 6, n);
		ss_set_str(t, 7, g);
		ss_set_str(t, 8, ss_jnode_text(op, "description"));
	}
	return true;
}

static bool add_channels(struct ss_table *t, int64_t num, const struct ss_jnode *step)
{
	const struct ss_jnode *channels = ss_jnode_get(step, "channelDb");
	for (const struct ss_jnode *c = channels ? channels->first : NULL; c; c = c->next) {
		const struct ss_jnode *ops = ss_jnode_get(c, "hloNames");
		struct ss_str text = SS_STR("");
		double us = ss_jnode_num(c, "durationUs", 0);
		int64_t bytes = ss_jnode_int(c, "dataSize", 0);
		for (const struct ss_jnode *op = ops ? ops->first : NULL; op && text.p && text.n < 4000; op = op->next)
			text = ss_arena_printf(t->arena, SS_FMT "%s" SS_FMT, SS_ARG(text), text.n ? ", " : "", SS_ARG(op->text));
		ss_table_row(t);
		ss_set_i64(t, 0, num);
		ss_set_i64(t, 1, ss_jnode_int(c, "channelId", 0));
		ss_set_i64(t, 2, first_int(c, "srcCoreId", "srcCoreIds"));
		ss_set_i64(t, 3, first_int(c, "dstCoreId", "dstCoreIds"));
		ss_set_i64(t, 4, bytes);
		ss_set_f64(t, 5, us);
		ss_set_f64(t, 6, bandwidth(bytes, us));
		ss_set_f64(t, 7, ss_jnode_num(c, "sendDelayUs", NAN));
		ss_set_i64(t, 8, ss_jnode_int(c, "occurrences", 0));
		ss_set_str(t, 9, text);
	}
	return true;
}

/* The cores of the first step: all steps have the same. */
static void add_places(struct ss_table *t, const struct ss_jnode *step, int64_t x_size)
{
	const struct ss_jnode *cores = ss_jnode_get(step, "podStatsPerCore"),
			      *replicas = ss_jnode_get(step, "coreIdToReplicaIdMap");
	const struct ss_jnode *r = replicas ? replicas->first : NULL;
	for (const struct ss_jnode *c = cores ? cores->first : NULL; c; c = c->next) {
		int64_t chip = ss_jnode_int(c, "chipId", -1);
		ss_table_row(t);
		/*
		 * Both maps are mostly in the same order; a look from where the last one was found.
		 */
		if (!(r && ss_str_eq(r->key, c->key)))
			for (r = replicas ? replicas->first : NULL; r && !ss_str_eq(r->key, c->key);)
				r = r->next;
		ss_set_i64(t, 0, whole(c->key));
		ss_set_str(t, 1, ss_jnode_text(c, "hostName"));
		ss_set_i64(t, 2, chip);
		ss_set_i64(t, 3, ss_jnode_int(c, "nodeId", 0));
		ss_set_i64(t, 4, r && r->num == r->num ? (int64_t)r->num : -1);
		ss_set_i64(t, 5, x_size > 0 && chip >= 0 ? chip % x_size : -1);
		ss_set_i64(t, 6, x_size > 0 && chip >= 0 ? chip / x_size : -1);
		r = r ? r->next : NULL;
	}
}

static void environment(struct ss_table *t, const struct ss_jnode *env)
{
	const struct ss_jnode *topology = ss_jnode_get(env, "topology");
	static const struct {
		const char *key, *id;
	} sizes[] = { { "xDimension", "topology_x" }, { "yDimension", "topology_y" }, { "zDimension", "topology_z" } };
	for (size_t i = 0; topology && i < SS_COUNT(sizes); i++)
		ss_table_prop(t, sizes[i].id, ss_jnode_text(topology, sizes[i].key));
	ss_table_prop(t, "device_type", ss_jnode_text(env, "tpuType"));
	if (ss_jnode_get(env, "hostCount"))
		ss_table_prop(t, "host_count", ss_jnode_text(env, "hostCount"));
}

static bool per_step(struct ss_result *out, const char *name, const char *title, const struct ss_col *cols, size_t ncols,
		     const struct ss_jnode *steps, step_fn *fn)
{
	struct ss_table *t = ss_result_table(out, name, title, cols, ncols);
	for (const struct ss_jnode *s = steps ? steps->first : NULL; s; s = s->next)
		if (!fn(t, ss_jnode_int(s, "stepNum", 0), s))
			return false;
	return t != NULL;
}

static bool read_pod(const struct ss_request *q, const struct ss_host *h, struct ss_result *out, struct ss_err *err)
{
	const struct ss_jnode *root = ss_legacy_read(q, h, NULL, out, err);
	const struct ss_jnode *env = ss_jnode_get(root, "runEnvironment");
	const struct ss_jnode *steps = ss_jnode_get(ss_jnode_get(root, "podStatsSequence"), "podStatsMap");
	if (!root)
		return false;
	if (!steps)
		return ss_fail(err, SS_EFORMAT, "'" SS_FMT "' holds no steps of a pod", SS_ARG(h->x.path));
	bool ok = per_step(out, "cores", "Step breakdown", core_cols, SS_COUNT(core_cols), steps, add_cores);
	if (ok)
		environment(ss_result_at(out, 0), env);
	struct ss_table *t = ok ? ss_result_table(out, "steps", "Steps", step_cols, SS_COUNT(step_cols)) : NULL;
	add_steps(t, ss_result_at(out, 0));
	t = ok ? ss_result_table(out, "topology", "Topology", place_cols, SS_COUNT(place_cols)) : NULL;
	if (steps->first)
		add_places(t, steps->first, ss_jnode_int(ss_jnode_get(env, "topology"), "xDimension", 0));
	ok = ok && per_step(out, "collectives", "Collectives", collective_cols, SS_COUNT(collective_cols), steps,
			    add_collectives) &&
	     per_step(out, "channels", "Channels", channel_cols, SS_COUNT(channel_cols), steps, add_channels);
	return ok || ss_fail_mem(err);
}

/* Hosts bring cores of their own; what two files tell of the same core is one row. */
static bool end_pod(struct ss_result *out, size_t nhosts)
{
	static const char *const by[][4] = {
		{ "cores", "step_num", "core_id" },
		{ "topology", "core_id" },
		{ "collectives", "step_num", "hlo_op_name" },
		{ "channels", "step_num", "channel_id" },
	};
	for (size_t i = 0; nhosts > 1 && i < SS_COUNT(by); i++) {
		struct ss_table *t = ss_legacy_find(out, by[i][0]);
		if (t && !ss_legacy_sort(t, by[i] + 1))
			return false;
	}
	struct ss_table *cores = ss_legacy_find(out, "cores"), *steps = ss_legacy_find(out, "steps");
	if (nhosts >= 2 && cores && steps)
		add_steps(steps, cores);
	return true;
}

bool ss_legacy_pod_viewer(const struct ss_request *q, struct ss_result *out, struct ss_err *err)
{
	static const struct ss_legacy_table tables[] = {
		{ .name = "cores", .key = { "step_num", "core_id" } },
		{ .name = "steps" },	/* made of the cores */
		{ .name = "topology", .key = { "core_id" } },
		{ .name = "collectives", .key = { "step_num", "hlo_op_name", "replica_groups" }, .longest = { "most_us" } },
		{ .name = "channels", .key = { "step_num", "channel_id" }, .longest = { "latency_us" } },
	};
	static const struct ss_legacy_answer answer = {
		.read = read_pod, .tables = tables, .ntables = SS_COUNT(tables), .end = end_pod,
		.says = "Cores, channels and collectives come from all files; duplicates are merged.",
	};
	return ss_legacy_combine(q, &answer, out, err);
}
