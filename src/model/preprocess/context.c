/* context.c - reading the links of an event, made-up ones included. */
#include "model/preprocess/context.h"

/* By enum ss_context_key. */
static const enum ss_stat stats[SS_CTX_COUNT] = {
	[SS_CTX_PRODUCER_TYPE] = SS_STAT_PRODUCER_TYPE,
	[SS_CTX_PRODUCER] = SS_STAT_PRODUCER_ID,
	[SS_CTX_CONSUMER_TYPE] = SS_STAT_CONSUMER_TYPE,
	[SS_CTX_CONSUMER] = SS_STAT_CONSUMER_ID,
	[SS_CTX_ROOT_LEVEL] = SS_STAT_ROOT_LEVEL,
	[SS_CTX_ASYNC] = SS_STAT_IS_ASYNC,
	[SS_CTX_CORRELATION] = SS_STAT_CORRELATION_ID,
	[SS_CTX_ID] = SS_STAT_ID,
	[SS_CTX_ITER] = SS_STAT_ITER_NUM,
	[SS_CTX_REQUEST_ID] = SS_STAT_REQUEST_ID,
	[SS_CTX_QUEUE_ADDR] = SS_STAT_QUEUE_ADDR,
	[SS_CTX_RUN_ID] = SS_STAT_RUN_ID,
	[SS_CTX_QUEUE_ID] = SS_STAT_QUEUE_ID,
	[SS_CTX_DEVICE_ORDINAL] = SS_STAT_DEVICE_ORDINAL,
	[SS_CTX_CORE_TYPE] = SS_STAT_CORE_TYPE,
	[SS_CTX_FLOW] = SS_STAT_FLOW,
};

/* The meaning of keys from SS_CTX_COMMON on for events of a type. */
enum ids {
	IDS_NONE,
	IDS_STEP_FROM, IDS_STEP_TO,
	IDS_REQUEST_FROM, IDS_REQUEST_TO,
	IDS_LAUNCH_FROM, IDS_LAUNCH_TO,
	IDS_LOOP, /* for add_event in forest.c */
};

static enum ids ids_of(enum ss_event_type type)
{
	switch (type) {
	case SS_EV_EXECUTOR_STATE_PROCESS:
		return IDS_STEP_FROM;
	case SS_EV_TPU_EXECUTE_OP:
		return IDS_STEP_TO;
	case SS_EV_ENQUEUE_REQUEST_LOCKED:
		return IDS_REQUEST_FROM;
	case SS_EV_RUN_PROGRAM_REQUEST:
	case SS_EV_HOST_CALLBACK_REQUEST:
	case SS_EV_TRANSFER_H2D_REQUEST:
	case SS_EV_TRANSFER_PREPROCESSED_H2D_REQUEST:
	case SS_EV_TRANSFER_D2H_REQUEST:
	case SS_EV_ON_DEVICE_SEND_REQUEST:
	case SS_EV_ON_DEVICE_RECV_REQUEST:
	case SS_EV_ON_DEVICE_SEND_RECV_LOCAL_REQUEST:
	case SS_EV_CUSTOM_WAIT:
	case SS_EV_ON_DEVICE_SEND_REQUEST_MULTI:
	case SS_EV_ON_DEVICE_RECV_REQUEST_MULTI:
	case SS_EV_PJRT_ASYNC_WAIT:
		return IDS_REQUEST_TO;
	case SS_EV_DO_ENQUEUE_PROGRAM:
		return IDS_LAUNCH_FROM;
	case SS_EV_COMPLETE_CALLBACKS:
		return IDS_LAUNCH_TO;
	case SS_EV_ITERATOR_GET_NEXT:
	case SS_EV_ITERATOR_GET_NEXT_AS_OPTIONAL:
	case SS_EV_CAPTURED_FUNCTION_RUN:
	case SS_EV_CAPTURED_FUNCTION_RUN_ASYNC:
	case SS_EV_CAPTURED_FUNCTION_RUN_INSTANTIATED:
	case SS_EV_CAPTURED_FUNCTION_RUN_BORROWED:
		return IDS_LOOP;
	default:
		return IDS_NONE;
	}
}

/* "/device:TPU:3" is 3. */
static int64_t ordinal_of(const struct ss_plane *p)
{
	size_t colon = ss_str_rchr(p->name, ':');
	int64_t n = 0;
	if (p->kind == SS_PLANE_TENSOR_CORE && colon != SS_NPOS)
		ss_str_to_i64(ss_str_sub(p->name, colon + 1, p->name.n), &n);
	return n;
}

bool ss_context_reader_init(struct ss_context_reader *r, const struct ss_plane *p, uint64_t nevents, struct ss_arena *arena)
{
	bool each = nevents < p->x->nevent_meta;
	*r = (struct ss_context_reader){ .plane = p, .device_ordinal = ordinal_of(p) };
	r->types = each ? NULL : ss_plane_event_types(p->x, arena);
	return (each || r->types) && ss_projection_init(&r->all, p->x, stats, SS_CTX_COUNT, arena) &&
	       ss_projection_init(&r->common, p->x, stats, SS_CTX_COMMON, arena);
}

static void read_stats(const struct ss_stat_projection *w, const struct ss_line *l, uint32_t i, struct ss_context *out)
{
	out->has = out->is_uint = 0;
	if (!l->ev.off || !ss_projection_in(w, &l->ev))
		return;
	struct ss_projection_walk walk = ss_projection_event(w, ss_xevents_body(&l->ev, l->src, i));
	struct ss_xstat s;
	unsigned key;
	while (ss_projection_next(&walk, &key, &s)) {
		out->has |= SS_CTX_BIT(key);
		out->is_uint = s.kind == SS_X_UINT ? out->is_uint | SS_CTX_BIT(key) : out->is_uint & ~SS_CTX_BIT(key);
		/* Ids may be written either way; types, levels and marks are int64. */
		bool strict = key == SS_CTX_PRODUCER_TYPE || key == SS_CTX_CONSUMER_TYPE || key == SS_CTX_ROOT_LEVEL ||
			      key == SS_CTX_ASYNC;
		out->v[key] = strict ? ss_xstat_int(&s) : ss_xstat_int_or_uint(&s);
	}
}

static bool has_all(const struct ss_context *c, unsigned bits)
{
	return (c->has & bits) == bits;
}

static uint64_t hash2(int64_t a, int64_t b)
{
	return ss_mix(ss_mix((uint64_t)a, 0x5353), (uint64_t)b);
}

static void set(struct ss_context *c, bool producer, int64_t type, uint64_t id)
{
	enum ss_context_key t = producer ? SS_CTX_PRODUCER_TYPE : SS_CTX_CONSUMER_TYPE;
	enum ss_context_key k = producer ? SS_CTX_PRODUCER : SS_CTX_CONSUMER;
	c->has |= SS_CTX_BIT(t) | SS_CTX_BIT(k);
	c->v[t] = type;
	c->v[k] = (int64_t)id;
}

/* A step or function handed from the TensorFlow executor to a TPU op. */
static void link_executor(struct ss_context *c, bool producer)
{
	if (has_all(c, SS_CTX_BIT(SS_CTX_ID) | SS_CTX_BIT(SS_CTX_ITER)))
		set(c, producer, SS_CONTEXT_LEGACY, hash2(c->v[SS_CTX_ID], c->v[SS_CTX_ITER]));
}

/* A request put into a queue of the TPU runtime. */
static void link_request(struct ss_context *c, bool producer)
{
	if (has_all(c, SS_CTX_BIT(SS_CTX_REQUEST_ID) | SS_CTX_BIT(SS_CTX_QUEUE_ADDR)))
		set(c, producer, SS_CONTEXT_TPU_STREAM, hash2(c->v[SS_CTX_REQUEST_ID], c->v[SS_CTX_QUEUE_ADDR]));
}

/* A program started on a TPU: the device knows only the low 27 bits of the host's run id. */
static void link_launch(struct ss_context *c, bool producer, bool module, int64_t device_ordinal)
{
	if (!has_all(c, SS_CTX_BIT(SS_CTX_RUN_ID) | SS_CTX_BIT(SS_CTX_QUEUE_ID)) ||
	    (!module && !ss_context_has(c, SS_CTX_DEVICE_ORDINAL)))
		return;
	int64_t run = module ? c->v[SS_CTX_RUN_ID] : c->v[SS_CTX_RUN_ID] & ((1 << 27) - 1);
	int64_t core = ss_context_has(c, SS_CTX_CORE_TYPE) ? c->v[SS_CTX_CORE_TYPE] : 0;
	if (!module)
		device_ordinal = c->v[SS_CTX_DEVICE_ORDINAL];
	set(c, producer, SS_CONTEXT_TPU_LAUNCH,
	    ss_mix(hash2(device_ordinal, c->v[SS_CTX_QUEUE_ID]), hash2(run, core)));
}

static void set_root_level(struct ss_context *c, int64_t level)
{
	c->has |= SS_CTX_BIT(SS_CTX_ROOT_LEVEL);
	c->v[SS_CTX_ROOT_LEVEL] = level;
}

static void make_up_root(struct ss_context *c, enum ss_event_type type)
{
	if (type == SS_EV_PROCESS_BATCH || type == SS_EV_ORBAX_PROCESS_BATCH)
		set_root_level(c, 2);
	else if (type == SS_EV_BATCHING_SESSION_RUN || (type == SS_EV_TRACE_CONTEXT && !ss_context_has(c, SS_CTX_ROOT_LEVEL)))
		set_root_level(c, 1);
}

static void make_up_link(struct ss_context *c, enum ids ids)
{
	if (ids == IDS_STEP_FROM || ids == IDS_STEP_TO)
		link_executor(c, ids == IDS_STEP_FROM);
	else if (ids == IDS_REQUEST_FROM || ids == IDS_REQUEST_TO)
		link_request(c, ids == IDS_REQUEST_FROM);
	else if (ids == IDS_LAUNCH_FROM || ids == IDS_LAUNCH_TO)
		link_launch(c, ids == IDS_LAUNCH_FROM, false, 0);
}

void ss_context_read(const struct ss_context_reader *r, const struct ss_line *l, uint32_t i, bool module,
		     struct ss_context *out)
{
	enum ss_event_type type = ss_event_type_at(r->types, r->plane, l->ev.meta[i]);
	enum ids ids = ids_of(type);
	read_stats(module || ids != IDS_NONE ? &r->all : &r->common, l, i, out);
	make_up_root(out, type);
	make_up_link(out, ids);
	if (module)
		link_launch(out, false, true, r->device_ordinal);
}

void ss_context_read_all(const struct ss_context_reader *r, const struct ss_line *l, uint32_t i, struct ss_context *out)
{
	read_stats(&r->all, l, i, out);
}
