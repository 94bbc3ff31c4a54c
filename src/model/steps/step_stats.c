/* step_stats.c - what steps were spent on. */
#include "model/steps/step_stats.h"

#include "base/bisect.h"
#include "base/vec.h"
#include "model/host/opname.h"
#include "xprof/quirks/quirks.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

struct ss_summary ss_summary_of(const double *v, size_t n)
{
	struct ss_summary s = { .min = DBL_MAX, .max = ss_quirk_first_max() };
	double sum = 0, squares = 0;
	if (n == 0)
		return (struct ss_summary){ 0 };
	for (size_t i = 0; i < n; i++) {
		sum += v[i];
		squares += v[i] * v[i];
		s.min = v[i] < s.min ? v[i] : s.min;
		s.max = v[i] > s.max ? v[i] : s.max;
	}
	s.mean = sum / (double)n;
	if (s.min != s.max)
		s.stddev =
			n == 1 ? NAN : sqrt((squares - sum * sum / (double)n) / (double)(n - 1));
	return s;
}

static double ms(uint64_t ps)
{
	return (double)ps / 1e9;
}

double ss_step_longest_ms(const struct ss_step *s)
{
	uint64_t max = 0;
	for (size_t i = 0; i < s->ncores; i++)
		if (s->cores[i].kind != SS_STEP_SPARSE_CORE && s->cores[i].dur_ps > max)
			max = s->cores[i].dur_ps;
	return ms(max);
}

void ss_step_parts(const struct ss_step_core *c, uint64_t part_ps[SS_STEP_PART_COUNT])
{
	static const uint8_t part_of[SS_WORK_COUNT] = {
		/* 1 + part; 0: shown nowhere */
		[SS_WORK_UNKNOWN] = 1 + SS_STEP_PART_OTHER,
		[SS_WORK_HOST_COMPUTE] = 1 + SS_STEP_PART_HOST_COMPUTE,
		[SS_WORK_HOST_COMPILE] = 1 + SS_STEP_PART_COMPILE,
		[SS_WORK_HOST_TO_DEVICE] = 1 + SS_STEP_PART_INPUT,
		[SS_WORK_HOST_PREPARE] = 1 + SS_STEP_PART_KERNEL_LAUNCH,
		[SS_WORK_COLLECTIVES] = 1 + SS_STEP_PART_COLLECTIVES,
		[SS_WORK_HOST_WAIT_INPUT] = 1 + SS_STEP_PART_INPUT,
		[SS_WORK_DEVICE_TO_DEVICE] = 1 + SS_STEP_PART_DEVICE_TO_DEVICE,
		[SS_WORK_DEVICE_TO_HOST] = 1 + SS_STEP_PART_OUTPUT,
		[SS_WORK_DEVICE_COMPUTE_32] = 1 + SS_STEP_PART_DEVICE_COMPUTE,
		[SS_WORK_DEVICE_COMPUTE_16] = 1 + SS_STEP_PART_DEVICE_COMPUTE,
		[SS_WORK_DEVICE_WAIT_DEVICE] = 1 + SS_STEP_PART_DEVICE_TO_DEVICE,
		[SS_WORK_DEVICE_WAIT_HOST] = 1 + SS_STEP_PART_INPUT,
	};
	memset(part_ps, 0, SS_STEP_PART_COUNT * sizeof(*part_ps));
	for (size_t i = 0; i < SS_WORK_COUNT; i++)
		if (part_of[i])
			part_ps[part_of[i] - 1] += c->work_ps[i];
}

struct ss_part_row ss_part_row_of(const struct ss_step *s)
{
	struct ss_part_row r = { 0 };
	uint64_t part_ps[SS_STEP_PART_COUNT];
	if (s->ncores == 0 || s->cores[0].kind != SS_STEP_BY_WORK)
		return r;
	const struct ss_step_core *c = &s->cores[0];
	ss_step_parts(c, part_ps);
	for (size_t i = 0; i < SS_STEP_PART_COUNT; i++)
		r.part_ms[i] = ms(part_ps[i]);
	r.step_ms = ms(c->dur_ps);
	r.host_to_device_ms =
		ms(c->work_ps[SS_WORK_HOST_TO_DEVICE] + c->work_ps[SS_WORK_DEVICE_WAIT_HOST]);
	return r;
}

/* The categories of a TensorCore's step that mean something for input and output. */
enum wait_kind {
	NOT_WAITING,
	INFEED,
	OUTFEED,
	HOST_SEND,
	HOST_RECV,
	SCV0_INFEED,
	SCV0_OUTFEED,
	OTHER_OFF_DUTY,
	WAIT_COUNT
};

static enum wait_kind wait_of(struct ss_str category)
{
	static const struct {
		struct ss_str name;
		enum wait_kind kind;
	} table[] = {
		{ SS_STR_INIT("infeed"), INFEED },
		{ SS_STR_INIT("outfeed"), OUTFEED },
		{ SS_STR_INIT("host send"), HOST_SEND },
		{ SS_STR_INIT("host send-done"), HOST_SEND },
		{ SS_STR_INIT("host recv"), HOST_RECV },
		{ SS_STR_INIT("host recv-done"), HOST_RECV },
		{ SS_STR_INIT("sparsecorev0 infeed"), SCV0_INFEED },
		{ SS_STR_INIT("sparsecorev0 outfeed"), SCV0_OUTFEED },
	};
	for (size_t i = 0; i < SS_COUNT(table); i++)
		if (ss_str_eq(category, table[i].name))
			return table[i].kind;
	return ss_hlo_is_off_duty(category) ? OTHER_OFF_DUTY : NOT_WAITING;
}

/* One TensorCore's share of a step. */
struct share {
	double infeed_ms, outfeed_ms, host_ms, idle_ms, wait_scv0_ms, step_ms;
	double optimal_ms; /* without waiting and idling */
	double active_ms;
};

static struct share share_of(const struct ss_step_core *c)
{
	uint64_t ps[WAIT_COUNT] = { 0 };
	for (uint32_t i = 0; i < c->step->ncats; i++) {
		const struct ss_cat_time *t = &c->core->cats[c->step->first_cat + i];
		ps[wait_of(c->core->categories[t->category])] += t->self_ps;
	}
	uint64_t scv0 = ps[SCV0_INFEED] > ps[SCV0_OUTFEED] ? ps[SCV0_INFEED] - ps[SCV0_OUTFEED] : 0;
	struct share s = {
		.infeed_ms = ms(ps[INFEED] + c->host_input_ps),
		.outfeed_ms = ms(ps[OUTFEED]),
		.host_ms = ms(ps[HOST_SEND] + ps[HOST_RECV]),
		.idle_ms = ms(c->idle_ps),
		.wait_scv0_ms = ms(scv0),
		.step_ms = ms(c->dur_ps),
	};
	uint64_t lost = ps[INFEED] + c->host_input_ps + ps[OUTFEED] + ps[HOST_SEND] +
			ps[HOST_RECV] + c->idle_ps + scv0;
	s.optimal_ms = c->dur_ps > lost ? ms(c->dur_ps - lost) : 0;
	lost += ps[OTHER_OFF_DUTY];
	s.active_ms = c->dur_ps > lost ? ms(c->dur_ps - lost) : 0;
	return s;
}

/*
 * The shortest time of each collective over all cores: what it would take if none waited for
 * another.
 */
struct shortest {
	uint64_t id, time_ps;
};

static int by_id(const void *a, const void *b)
{
	const struct shortest *sa = a, *sb = b;
	return SS_CMP(sa->id, sb->id) ?: SS_CMP(sa->time_ps, sb->time_ps);
}

static const struct ss_collective *collectives_of(const struct ss_step_core *c, uint32_t *n)
{
	*n = c->kind == SS_STEP_TENSOR_CORE ? c->step->ncollectives : 0;
	return *n ? c->core->collectives + c->step->first_collective : NULL;
}

static uint64_t shortest_of(const struct shortest *v, size_t n, uint64_t id)
{
	size_t lo = 0, hi = n;
	SS_BISECT(lo, hi, mid, v[mid].id < id);
	return v[lo].time_ps;
}

/*
 * For the core with the most time in collectives: its transfer time, and its time of waiting for other
 * cores.
 */
static bool split_collectives(const struct ss_step *s, struct ss_tpu_row *r)
{
	SS_VEC(struct shortest) v = { 0 };
	bool ok = true;
	uint32_t n;
	for (size_t i = 0; ok && i < s->ncores; i++) {
		const struct ss_collective *c = collectives_of(&s->cores[i], &n);
		for (uint32_t k = 0; ok && k < n; k++)
			ok = ss_vec_push(&v, ((struct shortest){ c[k].id, c[k].time_ps }));
	}
	if (ok && v.n)
		qsort(v.v, v.n, sizeof(*v.v), by_id);
	uint64_t max = 0;
	for (size_t i = 0; ok && i < s->ncores; i++) {
		const struct ss_collective *c = collectives_of(&s->cores[i], &n);
		uint64_t compute = 0, all = 0;
		for (uint32_t k = 0; k < n; k++) {
			compute += shortest_of(v.v, v.n, c[k].id);
			all += c[k].time_ps;
		}
		if (all > max) {
			max = all;
			r->all_reduce_compute_ms = ms(compute);
			r->all_reduce_sync_ms = ms(all - compute);
		}
	}
	ss_vec_free(&v);
	return ok;
}

static void add_sparse_core(struct ss_tpu_row *r, const struct ss_step_core *c, size_t nth)
{
	double busy_ms = ms(c->busy_ps);
	r->has_sparse_core = true;
	r->sc_compute_ms = nth == 0 || busy_ms < r->sc_compute_ms ? busy_ms : r->sc_compute_ms;
	r->sc_step_ms += ms(c->dur_ps);
	r->sc_idle_ms += ms(c->dur_ps - c->busy_ps);
	r->sc_active_ms += busy_ms;
}

/* The part of the row for one TensorCore. */
static void add_tensor_core(struct ss_tpu_row *r, const struct ss_step_core *c, size_t nth,
			    double *wait_scv0_ms)
{
	struct share s = share_of(c);
	double percent = s.step_ms > 0 ? 100 * s.infeed_ms / s.step_ms : 0;
	if (nth == 0 || s.optimal_ms < r->tc_compute_ms)
		r->tc_compute_ms = s.optimal_ms;
	if (s.infeed_ms > r->tc_infeed_ms) {
		r->tc_infeed_ms = s.infeed_ms;
		r->infeed_core = c;
	}
	if (s.host_ms > r->host_transfer_ms)
		r->host_transfer_ms = s.host_ms;
	if (s.wait_scv0_ms > *wait_scv0_ms)
		*wait_scv0_ms = r->scv0_compute_ms = s.wait_scv0_ms;
	if (s.step_ms > r->step_ms)
		r->step_ms = s.step_ms;
	r->tc_outfeed_ms += s.outfeed_ms;
	r->tc_active_ms += s.active_ms;
	r->infeed_percent_mean += percent;
	if (nth == 0 || percent < r->infeed_percent_min)
		r->infeed_percent_min = percent;
	if (percent > r->infeed_percent_max)
		r->infeed_percent_max = percent;
}

bool ss_tpu_row_of(const struct ss_step *s, struct ss_tpu_row *r)
{
	size_t ntensor = 0, nsparse = 0;
	double shortest_ms = DBL_MAX, wait_scv0_ms = 0;
	*r = (struct ss_tpu_row){ .infeed_percent_max = ss_quirk_first_max() };
	for (size_t i = 0; i < s->ncores; i++) {
		const struct ss_step_core *c = &s->cores[i];
		if (c->kind == SS_STEP_SPARSE_CORE) {
			add_sparse_core(r, c, nsparse++);
		} else if (c->kind == SS_STEP_TENSOR_CORE) {
			add_tensor_core(r, c, ntensor++, &wait_scv0_ms);
			shortest_ms = ms(c->dur_ps) < shortest_ms ? ms(c->dur_ps) : shortest_ms;
		}
	}
	if (ntensor) {
		r->tc_outfeed_ms /= (double)ntensor;
		r->tc_active_ms /= (double)ntensor;
		r->infeed_percent_mean /= (double)ntensor;
		double rest =
			shortest_ms - (r->tc_compute_ms + r->scv0_compute_ms + r->scv0_infeed_ms +
				       r->tc_infeed_ms + r->tc_outfeed_ms);
		r->tc_idle_ms = rest > 0 ? rest : 0;
	}
	if (nsparse) {
		r->sc_step_ms /= (double)nsparse;
		r->sc_idle_ms /= (double)nsparse;
		r->sc_active_ms /= (double)nsparse;
	}
	if (!split_collectives(s, r))
		return false;
	r->total_ms = r->tc_compute_ms + r->scv0_compute_ms + r->tc_infeed_ms + r->scv0_infeed_ms +
		      r->all_reduce_compute_ms + r->all_reduce_sync_ms + r->tc_outfeed_ms +
		      r->tc_idle_ms;
	return true;
}
