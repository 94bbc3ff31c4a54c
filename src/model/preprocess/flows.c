/*
 * flows.c - the arrows between events (docs/tools/trace_viewer.md).
 *
 * An event is in one flow at most: as a consumer, else as a producer, else by its correlation id. A
 * flow that the file itself gives stays; a file that came grouped has all its flows so.
 */
#include "base/vec.h"
#include "base/arena.h"

#include "model/host/forget.h"
#include "model/host/host.h"
#include "model/preprocess/context.h"
#include "model/preprocess/flows.h"
#include "model/preprocess/preprocess.h"

#include <stdlib.h>

/* Writers pack a flow into 64 bits: 2 of direction, 56 of id, 6 of category. */
static struct ss_flow flow_of_file(uint64_t packed)
{
	return (struct ss_flow){ .dir = packed & 3, .id = packed >> 2 & ((UINT64_C(1) << 56) - 1),
				 .category = (uint8_t)(packed >> 58) };
}

/*
 * Ids of different categories are of different flows; in a file's own flows the category is only a
 * name.
 */
static uint64_t id_of(uint8_t category, int64_t id)
{
	return ss_mix(ss_mix((uint64_t)id, 0x464c), category);
}

static bool find_flow(const struct ss_plane *p, const struct ss_context *c, bool preprocessed, struct ss_flow *out)
{
	if (ss_context_has(c, SS_CTX_FLOW)) {
		*out = flow_of_file((uint64_t)c->v[SS_CTX_FLOW]);
		return true;
	}
	if (preprocessed)
		return false;
	if (ss_context_consumes(c)) {
		*out = (struct ss_flow){ .dir = SS_FLOW_IN, .category = (uint8_t)c->v[SS_CTX_CONSUMER_TYPE] };
		out->id = id_of(out->category, c->v[SS_CTX_CONSUMER]);
		return true;
	}
	if (ss_context_produces(c)) {
		*out = (struct ss_flow){ .dir = SS_FLOW_OUT, .category = (uint8_t)c->v[SS_CTX_PRODUCER_TYPE] };
		out->id = id_of(out->category, c->v[SS_CTX_PRODUCER]);
		return true;
	}
	if (!ss_context_has(c, SS_CTX_CORRELATION) || !(ss_plane_is_host(p) || ss_plane_is_device(p)))
		return false;
	*out = (struct ss_flow){ .dir = ss_plane_is_host(p) ? SS_FLOW_OUT : SS_FLOW_IN,
				 .category = SS_CONTEXT_GPU_LAUNCH,
				 .id = id_of(SS_CONTEXT_GPU_LAUNCH, c->v[SS_CTX_CORRELATION]) };
	return true;
}

/* Can an event of this plane be in a flow at all? Reading every event's stats is worth avoiding. */
static bool may_have_flows(const struct ss_plane *p, bool preprocessed)
{
	static const enum ss_stat pairs[][2] = {
		{ SS_STAT_CONSUMER_TYPE, SS_STAT_CONSUMER_ID }, { SS_STAT_PRODUCER_TYPE, SS_STAT_PRODUCER_ID },
		{ SS_STAT_CORRELATION_ID, SS_STAT_CORRELATION_ID }, { SS_STAT_ID, SS_STAT_ITER_NUM },
		{ SS_STAT_REQUEST_ID, SS_STAT_QUEUE_ADDR }, { SS_STAT_RUN_ID, SS_STAT_QUEUE_ID },
	};
	if (ss_xplane_has(p->x, SS_STAT_FLOW))
		return true;
	for (size_t i = 0; !preprocessed && i < SS_COUNT(pairs); i++)
		if (ss_xplane_has(p->x, pairs[i][0]) && ss_xplane_has(p->x, pairs[i][1]))
			return true;
	return false;
}

bool ss_preprocess_flows(const struct ss_host *h, const struct ss_plane *p, const struct ss_line *l,
			 struct ss_flow **flows, size_t *n, struct ss_err *err)
{
	struct ss_arena scratch = { 0 };
	struct ss_context_reader reader;
	struct ss_forget forget = { .h = h };
	SS_VEC(struct ss_flow) all = { 0 };
	*flows = NULL;
	*n = 0;
	if (!l->ev.off || !may_have_flows(p, h->preprocessed))
		return true;
	bool ok = ss_context_reader_init(&reader, p, l->ev.n, &scratch), module = ss_line_is_tpu_modules(p, l);
	for (uint32_t i = 0; ok && i < l->ev.n; i++) {
		struct ss_context c;
		struct ss_flow flow;
		ss_forget_passed(&forget, l, i);
		ss_context_read(&reader, l, i, module, &c);
		if (!find_flow(p, &c, h->preprocessed, &flow))
			continue;
		flow.event = i;
		ok = ss_vec_push(&all, flow);
	}
	ss_forget_line(&forget, l);
	ss_forget_rest(&forget);
	ss_arena_release(&scratch);
	if (!ok) {
		ss_vec_free(&all);
		return ss_fail_mem(err);
	}
	*flows = all.v;
	*n = all.n;
	return true;
}
