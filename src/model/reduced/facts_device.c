/*
 * facts_device.c - devices of a host: how busy they were, what they sent, how full their memory
 * was; who waited at barriers.
 */
#include "model/device/duty.h"
#include "model/device/transfers.h"
#include "model/reduced/facts.h"
#include "model/reduced/pieces.h"
#include "model/runtime/memory.h"
#include "model/steps/event_share.h"

static bool duty(struct ss_pack *p, struct ss_host *h, struct ss_err *err)
{
	struct ss_duty own, *d = SS_FACTS(p, h, SS_HOST_DUTY, ss_host_duty(h, err), &own);
	if (!d)
		return p->reading;
	uint64_t expected = 0;
	for (size_t i = 1; i < p->pieces->n; i++)
		expected += p->pieces->host[i].ps;
	PACK_NEAR(p, d->busy_ps, expected);
	PACK_U(p, d->idle_ps);
	PACK_NEAR(p, d->busy_high_confidence_ps, d->busy_ps);
	PACK_NEAR(p, d->idle_high_confidence_ps, d->idle_ps);
	return true;
}

static bool barriers(struct ss_pack *p, struct ss_host *h, struct ss_err *err)
{
	struct ss_host_barriers own, *b = SS_FACTS(p, h, SS_HOST_BARRIERS, ss_host_barriers(h, err), &own);
	if (!b)
		return p->reading;
	PACK_ARRAY(p, b->v, b->n, 3);
	size_t n = b->v ? b->n : 0;
	PACK_TIMES(p, b->v, n, step);
	PACK_COLUMN(p, PACK_U, b->v, n, step_ps);
	PACK_COLUMN(p, PACK_F, b->v, n, share_frac);
	return true;
}

static void core(struct ss_pack *p, struct ss_core_transfers *c)
{
	PACK_U(p, c->core_id);
	PACK_ARRAY(p, c->v, c->n, 7);
	struct ss_transfer *v = c->v;
	size_t n = v ? c->n : 0;
	PACK_TIMES(p, v, n, channel);
	PACK_TIMES(p, v, n, group);
	for (size_t i = 0; i < n; i++)
		PACK_ENUM(p, v[i].kind, SS_RECV_DONE + 1);
	PACK_TIMES(p, v, n, begin_ps);
	for (size_t i = 0; i < n; i++)
		PACK_NEAR(p, v[i].end_ps, v[i].begin_ps);
	PACK_COLUMN(p, PACK_S, v, n, name);
	PACK_COLUMN(p, PACK_S, v, n, expression);
}

static bool transfers(struct ss_pack *p, struct ss_host *h, struct ss_err *err)
{
	struct ss_host_transfers own, *t = SS_FACTS(p, h, SS_HOST_SENT, ss_host_transfers(h, err), &own);
	if (!t)
		return p->reading;
	PACK_ARRAY(p, t->cores, t->n, 2);
	for (size_t i = 0; t->cores && i < t->n; i++)
		core(p, &t->cores[i]);
	return true;
}

static bool memory_peak(struct ss_pack *p, struct ss_host *h, struct ss_err *err)
{
	struct ss_host_memory_peak own, *m = SS_FACTS(p, h, SS_HOST_MEMORY_PEAK, ss_host_memory_peak(h, err), &own);
	if (!m)
		return p->reading;
	PACK_F(p, m->used_frac);
	PACK_S(p, m->peak.host);
	PACK_S(p, m->peak.id);
	PACK_U(p, m->peak.used_bytes);
	PACK_U(p, m->peak.capacity_bytes);
	PACK_F(p, m->peak.fragmentation);
	PACK_S(p, m->peak.op);
	PACK_U(p, m->peak.op_bytes);
	return true;
}

bool ss_facts_device(struct ss_pack *p, struct ss_host *h, struct ss_err *err)
{
	return duty(p, h, err) && barriers(p, h, err) && transfers(p, h, err) && memory_peak(p, h, err);
}
