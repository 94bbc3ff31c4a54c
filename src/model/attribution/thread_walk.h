/* thread_walk.h - the walk over a thread: thread_claims.c goes it, thread_event.c says what begins. */
#ifndef SS_MODEL_ATTRIBUTION_THREAD_WALK_H
#define SS_MODEL_ATTRIBUTION_THREAD_WALK_H

#include "model/attribution/build.h"
#include "model/host/forget.h"

struct ss_open_event {
	int64_t end_ps;
	enum ss_time_class class;
	enum ss_claim_rank rank;
	bool claims; /* false: what this thread does here keeps nobody waiting */
	bool op;     /* an operation of an eager framework, or a detail of it */
	bool python; /* a frame of the framework's own Python */
	bool demand; /* within a request for data */
	bool overhead;
	bool small;	  /* within a call that is short as a whole */
	uint32_t call;	  /* path, SS_NONE */
	bool of_frame;	  /* `func` is a frame of JAX: the operation that it starts says more */
	uint32_t func;	  /* metadata of the outermost function or operation around, SS_NONE */
	uint32_t op_meta; /* of the operation */
	uint32_t op_ref;  /* likewise: ss_op_ref_of */
};

/* Outer events before inner ones. */
struct ss_event_order {
	uint32_t *v; /* NULL: as they stand */
	size_t n;
};

struct ss_thread_walk {
	struct ss_attr_build *b;
	const struct ss_line *line;
	struct ss_event_order order;
	size_t next;	/* event, in this order */
	uint32_t event; /* that begins */
	size_t gc_end;	/* place of the event that ends a collection of garbage */
	bool starter, data_thread;
	bool again; /* all is numbered and counted: only what is claimed counts */
	bool over;
	SS_VEC(struct ss_open_event) open;
	SS_VEC(int64_t) compiled; /* begins of outermost functions that were compiled, ascending */
	size_t compiled_at;
	SS_VEC(struct ss_claim) made;	/* the last one may grow until the walk is over */
	SS_VEC(struct ss_claim) beyond; /* the ends of its events: claims of other threads */
	int64_t now_ps;
	size_t window_at;
	size_t event_at, claim_at; /* of the idle stretches, those before are over: for the next event, the next claim */
	struct ss_forget passed;
	bool failed;
};

/*
 * Fill `o` for the event of the walk, which begins within `p` (NULL: on the thread); `o` is a copy of
 * `p` at first.
 */
void ss_classify_event(struct ss_thread_walk *w, struct ss_open_event *o, const struct ss_open_event *p,
		       enum ss_host_kind kind, uint32_t meta, int64_t begin_ps, uint64_t dur_ps);

#endif
