/*
 * context.h - what links an event to others: its stats about producers, consumers, roots and runs
 * (docs/model/preprocess.md).
 *
 * Programs mark work handed from one thread or device to another with a (type, id) pair on either
 * side. For some pairs of host events, named in the rules below, the id is made from other stats.
 * Grouping and flows read events only through these functions.
 */
#ifndef SS_MODEL_PREPROCESS_CONTEXT_H
#define SS_MODEL_PREPROCESS_CONTEXT_H

#include "model/host/event_type.h"
#include "model/host/stat_projection.h"

enum ss_context_key {
	SS_CTX_PRODUCER_TYPE,
	SS_CTX_PRODUCER,
	SS_CTX_CONSUMER_TYPE,
	SS_CTX_CONSUMER,
	SS_CTX_ROOT_LEVEL,
	SS_CTX_ASYNC,		/* the value is never looked at by flows, only 0 or not by the forest */
	SS_CTX_CORRELATION,
	SS_CTX_FLOW,
	SS_CTX_COMMON,		/* how many mean something on an event of any type; the others on few types */
	SS_CTX_ID = SS_CTX_COMMON,
	SS_CTX_ITER,
	SS_CTX_REQUEST_ID,
	SS_CTX_QUEUE_ADDR,
	SS_CTX_RUN_ID,
	SS_CTX_QUEUE_ID,
	SS_CTX_DEVICE_ORDINAL,
	SS_CTX_CORE_TYPE,
	SS_CTX_COUNT
};

#define SS_CTX_BIT(key) (1u << (key))

struct ss_context {
	unsigned has;			/* SS_CTX_BIT of those present */
	unsigned is_uint;		/* of these, those written as uint64 */
	int64_t v[SS_CTX_COUNT];	/* of those present */
};

static inline bool ss_context_has(const struct ss_context *c, enum ss_context_key key)
{
	return c->has >> key & 1;
}

/* Read a value like XProf where it expects an int64: other kinds count as 0. */
static inline int64_t ss_context_int(const struct ss_context *c, enum ss_context_key key)
{
	return c->is_uint >> key & 1 ? 0 : c->v[key];
}

/* Both halves of a pair: an id without its type links nothing. */
static inline bool ss_context_produces(const struct ss_context *c)
{
	return ss_context_has(c, SS_CTX_PRODUCER_TYPE) && ss_context_has(c, SS_CTX_PRODUCER);
}

static inline bool ss_context_consumes(const struct ss_context *c)
{
	return ss_context_has(c, SS_CTX_CONSUMER_TYPE) && ss_context_has(c, SS_CTX_CONSUMER);
}

/* Prepared per plane. */
struct ss_context_reader {
	const struct ss_plane *plane;
	const uint8_t *types;		/* enum ss_event_type by meta, or NULL */
	struct ss_stat_projection all, common;	/* stats of every key; of those before SS_CTX_COMMON */
	int64_t device_ordinal;		/* of a TensorCore plane, from its name */
};

/*
 * To read `nevents` of a plane. Where these are fewer than its names, as on one of very many lines, the types of all names are
 * not found beforehand. The reader lives as long as the arena.
 */
bool ss_context_reader_init(struct ss_context_reader *r, const struct ss_plane *p, uint64_t nevents, struct ss_arena *arena);
/*
 * Read event i of a line; `module` says that it is an "XLA Modules" event of a TensorCore. Keys
 * from SS_CTX_COMMON on are read only for modules and for events of the types that use them: most
 * events are neither, and often carry nothing else.
 */
void ss_context_read(const struct ss_context_reader *r, const struct ss_line *l, uint32_t i, bool module,
		     struct ss_context *out);
/* All keys as the event has them, of any type; none made up. */
void ss_context_read_all(const struct ss_context_reader *r, const struct ss_line *l, uint32_t i, struct ss_context *out);

/* Context types given to ids made here. */
enum { SS_CONTEXT_LEGACY = 1, SS_CONTEXT_GPU_LAUNCH = 9, SS_CONTEXT_TPU_STREAM = 11, SS_CONTEXT_TPU_LAUNCH = 12 };

/* Is this line one of program runs on a TensorCore? */
static inline bool ss_line_is_tpu_modules(const struct ss_plane *p, const struct ss_line *l)
{
	return p->kind == SS_PLANE_TENSOR_CORE && ss_str_eq(l->name, SS_STR("XLA Modules"));
}

#endif
