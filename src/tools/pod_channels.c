/*
 * pod_channels.c - sends and receives of each step, put together by channel.
 *
 * A transfer begins with the send operation on its source and is over when recv-done ends on its
 * target. Which core the source is the operation may say (source_target_pairs, by number of the
 * device); else the sends of the channel are matched with its receives in their order. Cores of
 * different hosts have different clocks: their latencies are as good as these agree.
 */
#include "tools/pod_channels.h"

#include "base/bisect.h"
#include "model/device/transfers.h"
#include "model/program/tiling.h"

#include <math.h>
#include <stdlib.h>

enum { STEP, CHANNEL, SRC, DST, BYTES, LATENCY_US, GIB_PER_S, SEND_DELAY_US, SEND_OP, RECV_OP };

static const struct ss_col cols[] = {
	INT("step_num", "Step", COUNT, NULL),
	INT("channel_id", "Channel", NONE, NULL),
	ID("src_core", "From core", "-1 if the profile does not record it"),
	ID("dst_core", "To core", NULL),
	INT("bytes", "Data transferred", BYTES, "0 if the operation does not record it"),
	NUM("latency_us", "Latency", US, "Begin of the send to the end of recv-done"),
	NUM("bandwidth", "Bandwidth", GIB_PER_S, "Data transferred / latency"),
	NUM("send_delay_us", "Send delay", US,
	    "From the begin of recv-done to the begin of send: how long the target waited for its source"),
	STR("send_op", "Send operation", NULL),
	STR("recv_op", "Receive operation", NULL),
};

struct pod {
	const struct ss_all_transfers *all;
	struct ss_table *t;
};

/* An end of a transfer in the step at hand. */
struct end {
	const struct ss_transfer *t;
	uint32_t core;	/* index into the step's cores */
};

static int by_core_id(const void *a, const void *b)
{
	const struct ss_core_transfers *x = a, *y = b;
	return SS_CMP(x->core_id, y->core_id);
}

/* The core's transfers of a group: they stand together. */
static const struct ss_transfer *of_group(const struct ss_core_transfers *c, int64_t group, size_t *n)
{
	size_t lo = 0, hi = c->n, end;
	SS_BISECT(lo, hi, mid, c->v[mid].group < group);
	for (end = lo; end < c->n && c->v[end].group == group;)
		end++;
	*n = end - lo;
	return c->v + lo;
}

static int by_channel(const void *a, const void *b)
{
	const struct end *x = a, *y = b;
	return SS_CMP(x->t->channel, y->t->channel) ?: SS_CMP(x->t->kind, y->t->kind) ?:
	       SS_CMP(x->t->begin_ps, y->t->begin_ps) ?: SS_CMP(x->core, y->core);
}

static double us(int64_t ps)
{
	return ps > 0 ? (double)ps / 1e6 : 0;
}

/*
 * The send of the k-th receive: from the core that the text names, else the k-th of another core.
 * False when the text says that this core receives nothing; *send is NULL when there is none to be
 * found.
 */
static bool find_send(const struct end *sends, size_t n, const struct end *recv, size_t k, const struct end **send)
{
	uint64_t source;
	enum ss_transfer_source said = ss_transfer_source(recv->t->expression, recv->core, &source);
	*send = NULL;
	if (said == SS_SOURCE_NONE)
		return false;
	for (size_t i = 0; i < n && !*send; i++) {
		bool fits = said == SS_SOURCE_SAID ? sends[i].core == source && sends[i].t->begin_ps <= recv->t->end_ps
						   : sends[i].core != recv->core && k-- == 0;
		if (fits)
			*send = &sends[i];
	}
	return true;
}

static bool add_row(struct pod *pod, const struct ss_step *s, const struct end *send, const struct end *recv)
{
	struct ss_tiling tensors = ss_tiling_of((send ? send : recv)->t->expression);
	struct ss_tiled data;
	uint64_t bytes = ss_tiling_next(&tensors, &data) ? ss_tiled_bytes(&data) : 0;
	double latency_us = send ? us((int64_t)((uint64_t)recv->t->end_ps - (uint64_t)send->t->begin_ps)) : NAN;
	ss_table_row(pod->t);
	ss_set_i64(pod->t, STEP, s->num);
	ss_set_i64(pod->t, CHANNEL, recv->t->channel);
	ss_set_i64(pod->t, SRC, send ? (int64_t)s->cores[send->core].core_id : -1);
	ss_set_i64(pod->t, DST, s->cores[recv->core].core_id);
	ss_set_i64(pod->t, BYTES, bytes > INT64_MAX ? INT64_MAX : (int64_t)bytes);
	ss_set_f64(pod->t, LATENCY_US, latency_us);
	ss_set_f64(pod->t, GIB_PER_S, latency_us > 0 ? (double)bytes / latency_us * 1e6 / 1073741824 : NAN);
	ss_set_f64(pod->t, SEND_DELAY_US, send ? us((int64_t)((uint64_t)send->t->begin_ps - (uint64_t)recv->t->begin_ps)) : NAN);
	ss_set_str(pod->t, SEND_OP, send ? send->t->name : SS_STR(""));
	ss_set_str(pod->t, RECV_OP, recv->t->name);
	return true;
}

/* The ends of one channel, sends before receives. */
static bool add_channel(struct pod *pod, const struct ss_step *s, const struct end *v, size_t n)
{
	size_t nsends = 0, k = 0;
	while (nsends < n && v[nsends].t->kind == SS_SEND)
		nsends++;
	for (size_t i = nsends; i < n; i++) {
		const struct end *send;
		if (v[i].t->kind == SS_RECV_DONE && find_send(v, nsends, &v[i], k++, &send) &&
		    !add_row(pod, s, send, &v[i]))
			return false;
	}
	return true;
}

static bool add_step(struct pod *pod, const struct ss_step *s)
{
	struct end *v = NULL;
	size_t n = 0, cap = 0;
	for (size_t k = 0; k < s->ncores; k++) {
		if (s->cores[k].kind != SS_STEP_TENSOR_CORE)
			continue;
		struct ss_core_transfers key = { .core_id = s->cores[k].core_id };
		const struct ss_core_transfers *c =
			pod->all->n ? bsearch(&key, pod->all->cores, pod->all->n, sizeof(key), by_core_id) : NULL;
		size_t m;
		if (!c)
			continue;
		const struct ss_transfer *t = of_group(c, s->cores[k].step->group, &m);
		if (n + m > cap) {
			cap = 2 * (n + m);
			struct end *more = SS_NEW_N(pod->t->arena, struct end, cap);
			if (!more)
				return false;
			if (n)
				memcpy(more, v, n * sizeof(*v));
			v = more;
		}
		for (size_t i = 0; i < m; i++)
			v[n++] = (struct end){ &t[i], (uint32_t)k };
	}
	if (n)
		qsort(v, n, sizeof(*v), by_channel);
	for (size_t from = 0, to; from < n; from = to) {
		for (to = from + 1; to < n && v[to].t->channel == v[from].t->channel;)
			to++;
		if (!add_channel(pod, s, v + from, to - from))
			return false;
	}
	return true;
}

bool ss_pod_channels(struct ss_model *m, const struct ss_steps *steps, struct ss_result *out, struct ss_err *err)
{
	struct pod pod = { .t = ss_result_table(out, "channels", "Channels", cols, SS_COUNT(cols)) };
	if (!pod.t)
		return ss_fail_mem(err);
	pod.all = ss_model_transfers(m, err);
	if (!pod.all)
		return false;
	for (size_t i = 0; i < steps->n; i++)
		if (!add_step(&pod, &steps->v[i]))
			return ss_fail_mem(err);
	return true;
}
