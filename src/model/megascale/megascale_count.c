/*
 * megascale_count.c - how much was under way at each moment, over all TensorCores: collectives and
 * their payload, bytes on the network and its bandwidth. What begins adds, what ends takes away;
 * each moment at which something changes is one point.
 */
#include "base/vec.h"

#include "model/host/plane.h"
#include "model/megascale/megascale.h"

#include <math.h>
#include <stdlib.h>

/* More than any link carries: a duration that was not measured. */
#define MAX_GBPS 200

static bool change(struct ss_ms_series *s, int64_t from_ps, int64_t to_ps, double value)
{
	if (!ss_grow((void **)&s->v, &s->cap, s->n + 2, sizeof(*s->v)))
		return false;
	s->v[s->n++] = (struct ss_ms_point){ from_ps, value };
	s->v[s->n++] = (struct ss_ms_point){ to_ps, -value };
	return true;
}

/* "s<slice>-><slice>d|$c<chunk>=<bytes>", at the begin of `s`. */
static bool read_buffer(struct ss_str s, uint64_t *from, uint64_t *to, uint64_t *bytes)
{
	uint64_t chunk;
	return ss_str_take(&s, SS_STR("s")) && ss_str_take_u64(&s, from) &&
	       ss_str_take(&s, SS_STR("->")) && ss_str_take_u64(&s, to) &&
	       ss_str_take(&s, SS_STR("d|$c")) && ss_str_take_u64(&s, &chunk) &&
	       ss_str_take(&s, SS_STR("=")) && ss_str_take_u64(&s, bytes);
}

struct event_stats {
	struct ss_str sizes;
	int64_t input_bytes, action_ns;
	uint64_t latency_us;
};

static struct event_stats read_stats(const struct ss_ms_track *t, const struct ss_ms_event *e)
{
	struct event_stats event_stats = { .sizes = SS_STR("") };
	struct ss_xstats it = ss_line_stats(t->plane, e->line, e->at);
	struct ss_xstat s;
	while (ss_xstats_next(&it, &s)) {
		switch (s.stat) {
		case SS_STAT_MEGASCALE_BUFFER_SIZES:
			event_stats.sizes = ss_xstat_str(&s);
			break;
		case SS_STAT_MEGASCALE_INPUT_SIZE:
			event_stats.input_bytes = ss_xstat_int_or_uint(&s);
			break;
		case SS_STAT_MEGASCALE_ACTION_DURATION_NS:
			event_stats.action_ns = ss_xstat_int_or_uint(&s);
			break;
		case SS_STAT_MEGASCALE_NETWORK_TRANSPORT_LATENCY_US:
			event_stats.latency_us = (uint64_t)ss_xstat_int_or_uint(&s);
			break;
		default:
			break;
		}
	}
	return event_stats;
}

/* What crosses between slices was under way for `ns` up to `end_ps`. A rate that is none is none of its buffer's only. */
static bool count_transfer(struct ss_megascale *m, struct ss_str sizes, double ns, int64_t end_ps, enum ss_ms_counter amount,
			   enum ss_ms_counter rate)
{
	double sum = 0;
	if (!(ns > 0) || ns > 9e15)
		return true;
	int64_t from_ps = (int64_t)((uint64_t)end_ps - (uint64_t)(ns * 1000));
	for (size_t i = 0; i < sizes.n; i++) {
		uint64_t from, to, bytes;
		if (sizes.p[i] != 's' || !read_buffer(ss_str_sub(sizes, i, sizes.n), &from, &to, &bytes) || from == to)
			continue;
		double gbps = (double)bytes * 8 / ns;
		sum += (double)bytes;
		if (bytes && gbps <= MAX_GBPS && !change(&m->counters[rate], from_ps, end_ps, gbps))
			return false;
	}
	return !(sum > 0) || change(&m->counters[amount], from_ps, end_ps, sum);
}

static bool count_event(struct ss_megascale *m, const struct ss_ms_track *t, const struct ss_ms_event *e)
{
	struct ss_str name = ss_ms_name(m, t, e);
	bool received = ss_str_is(name, "NetworkReceive END"), sent = ss_str_is(name, "NetworkSend END");
	bool execution = !received && !sent && ss_ms_is_execution(name);
	int64_t end_ps = (int64_t)((uint64_t)e->begin_ps + e->dur_ps);
	if (!received && !sent && !execution)
		return true;
	struct event_stats s = read_stats(t, e);
	if (received)
		return count_transfer(m, s.sizes, (double)s.latency_us * 1000, end_ps, SS_MS_BYTES_RX, SS_MS_GBPS_RX);
	if (sent)
		return count_transfer(m, s.sizes, (double)s.action_ns, end_ps, SS_MS_BYTES_TX, SS_MS_GBPS_TX);
	return change(&m->counters[SS_MS_INFLIGHT], e->begin_ps, end_ps, 1) &&
	       change(&m->counters[SS_MS_INFLIGHT_BYTES], e->begin_ps, end_ps, (double)s.input_bytes);
}

static int in_time(const void *a, const void *b)
{
	const struct ss_ms_point *x = a, *y = b;
	/* Sums of floating point numbers depend on the order of equal moments. */
	return SS_CMP(x->at_ps, y->at_ps) ?: SS_CMP(x->value, y->value);
}

static void sum_up(struct ss_ms_series *s)
{
	double sum = 0;
	size_t n = 0;
	if (s->n)
		qsort(s->v, s->n, sizeof(*s->v), in_time);
	for (size_t i = 0; i < s->n; i++) {
		sum += s->v[i].value;
		if (i + 1 < s->n && s->v[i + 1].at_ps == s->v[i].at_ps)
			continue;
		/* Rates that ended leave only rounding errors. */
		s->v[n++] = (struct ss_ms_point){ s->v[i].at_ps, fabs(sum) < 1e-9 ? 0 : sum };
	}
	s->n = n;
}

bool ss_ms_count(struct ss_megascale *m)
{
	for (size_t i = 0; i < m->ntpus; i++)
		for (size_t k = 0; k < m->tpus[i].nruntime; k++) {
			const struct ss_ms_track *t = &m->tpus[i].runtime[k];
			for (size_t e = 0; e < t->n; e++)
				if (!count_event(m, t, &t->v[e]))
					return false;
		}
	for (size_t i = 0; i < SS_MS_COUNTERS; i++)
		sum_up(&m->counters[i]);
	return true;
}
