/*
 * forest.h - causes of events: events nested in one another, and events linked across lines (docs/model/preprocess.md).
 *
 * Exists only while a host is loaded. Lines that neither begin a group nor are linked to others
 * cost only a scan of their stats. Of the other lines, the forest keeps the events at which a walk
 * can begin or through which it can pass: events with links, roots, and the events around them. Two
 * words of each give the end of its children and its parent:
 *
 *	end	first event behind it that is not below it: all in between are its subtree
 *	parent	the innermost event around it, SS_NONE for none
 *
 * Asynchronous events take no part in nesting.
 *
 * The order of events in the file counts, not their times: a line that is not in the order of time
 * nests little.
 *
 * Links form groups: every producer of a link group is a parent of every consumer in it. They are
 * never stored as pairs.
 */
#ifndef SS_MODEL_PREPROCESS_FOREST_H
#define SS_MODEL_PREPROCESS_FOREST_H

#include "base/bisect.h"
#include "base/vec.h"
#include "model/preprocess/context.h"

struct ss_host;

/* An event of the host: line is an index into ss_forest.lines. */
struct ss_node {
	uint32_t line, event;
};

enum ss_event_link_kind {	/* in the order in which they make parents */
	SS_EVENT_LINK_ITERATOR,	/* executor to iterator, by step and iteration */
	SS_EVENT_LINK_KERNEL,		/* launch to kernel, by correlation id */
	SS_EVENT_LINK_CONTEXT,		/* by the stats of producer and consumer */
	SS_EVENT_LINK_LOOP,		/* first event of a loop iteration to the others */
	SS_EVENT_LINK_KINDS
};

/* One end of a link. */
struct ss_event_link {
	uint64_t key;		/* equal at both ends; the kind in its highest two bits, see ss_event_link_kind_of */
	uint32_t event;
	uint32_t link_group;	/* SS_NONE: no event at the other end */
};

struct ss_event_links {
	struct ss_event_link *v;
	size_t n, cap;
};

static inline enum ss_event_link_kind ss_event_link_kind_of(uint64_t key)
{
	return (enum ss_event_link_kind)(key >> 62);
}

static inline uint64_t ss_event_link_key(enum ss_event_link_kind kind, uint64_t salt, uint64_t id)
{
	return (ss_mix(id, salt) >> 2) | (uint64_t)kind << 62;
}

/* producers[first_producer ..], consumers[first_consumer ..] of the forest. */
struct ss_link_group {
	uint32_t first_producer, nproducers;
	uint32_t first_consumer, nconsumers;
	int32_t visited_by;	/* the last group that was passed on through it */
};

struct ss_root {
	uint32_t event;
	int64_t level;
};

/* An ExecutorState::Process with step and iteration. */
struct ss_iteration {
	uint32_t event;
	int64_t step, iter;
};

/* An event that is nested and has links, is a root or lies around one that does. */
struct ss_nested {
	uint32_t event, parent, end;
};

struct ss_forest_line {
	struct ss_plane *p;
	struct ss_line *l;
	const struct ss_context_reader *reader;
	bool flat;		/* a grouping line of a TPU: its events are not nested */
	bool is_nested;		/* neither flat nor of no consequence */
	/* By event ascending. */
	SS_VEC(struct ss_nested) nested;
	struct ss_event_links out, in;
	SS_VEC(struct ss_root) roots;
	SS_VEC(struct ss_iteration) iterations;
	SS_VEC(uint32_t) asyncs;
	SS_VEC(int64_t) captured; /* step ids of functions that tf.data runs */
	bool has_ops, has_eager; /* events that are to be marked eager or not; EagerExecute itself */
};

struct ss_forest {
	struct ss_host *h;
	struct ss_context_reader *readers; /* per plane */
	struct ss_forest_line *lines;
	uint32_t nlines;
	struct ss_link_group *link_groups;
	struct ss_node *producers, *consumers;
	/* The first events of loop iterations, in the order of time. Where there are any, they are the only roots. */
	SS_VEC(struct ss_node) loop_roots;
	bool has_roots, has_eager;
	bool tpu;
	/*
	 * Steps left for walks towards ancestors. No real profile uses it up; it bounds the cost of
	 * hostile ones, in which every event is an ancestor of every other.
	 */
	uint64_t budget;
	struct ss_arena arena;
};

/* In a TPU profile, the lines whose events are steps or programs: nodes of the forest; NULL for a plane that is no TPU core. */
struct ss_line *ss_tpu_grouping_line(const struct ss_plane *p);

/* Find loop iterations and link their events to the first of each: a step of forest building. False when memory is out. */
bool ss_forest_link_loops(struct ss_forest *f);
/* The step ids of functions that tf.data runs, sorted. */
struct ss_captured {
	SS_VEC(int64_t) ids;
};
bool ss_forest_captured(const struct ss_forest *f, struct ss_captured *out);
bool ss_captured_has(const struct ss_captured *c, int64_t id);

bool ss_forest_build(struct ss_forest *f, struct ss_host *h, bool tpu, struct ss_err *err);
void ss_forest_free(struct ss_forest *f);

/*
 * Walk a node and its ancestors, nearest first (breadth first over nesting and links), until visit
 * says true. Sets *found; false only when memory is out.
 */
typedef bool ss_forest_visit_fn(void *arg, const struct ss_forest *f, struct ss_node n);
bool ss_forest_ancestor(struct ss_forest *f, struct ss_node from, bool include_self, ss_forest_visit_fn *visit, void *arg,
			bool *found, struct ss_err *err);

/* The nested event with this number; NULL where none is kept: it is asynchronous, or nothing leads to it. */
const struct ss_nested *ss_forest_nested(const struct ss_forest_line *fl, uint32_t event);
/* Find which events lie around those with links and the roots. False when memory is out. */
bool ss_forest_nest(struct ss_forest_line *fl);

/* An event that has begun and not ended where a walk along its line is. */
struct ss_open_event {
	uint32_t event;
	uint32_t kept;	/* index among the nested events of the line, SS_NONE: not kept */
};

/* A walk along a line, event by event: begin with the line and zeros, free `open`. */
struct ss_nest_walk {
	struct ss_forest_line *line;
	size_t async;	/* so many asynchronous events are passed */
	SS_VEC(struct ss_open_event) open; /* outermost first */
};

enum ss_nest_entered { SS_NEST_ASYNC, SS_NEST_ENTERED, SS_NEST_NO_MEMORY };
/* Go to event i: behind it, `open` ends with it, unless it is asynchronous. */
enum ss_nest_entered ss_nest_walk_enter(struct ss_nest_walk *w, uint32_t i);
/* The innermost event that encloses the last entered event, SS_NONE for none. */
static inline uint32_t ss_nest_walk_parent(const struct ss_nest_walk *w)
{
	return w->open.n > 1 ? w->open.v[w->open.n - 2].event : SS_NONE;
}

/* First link of a list at or behind `event`. */
static inline size_t ss_event_link_at(const struct ss_event_link *links, size_t n, uint32_t event)
{
	size_t lo = 0, hi = n;
	SS_BISECT(lo, hi, mid, links[mid].event < event);
	return lo;
}

/* The level of a root, 0 for other events. */
int64_t ss_forest_root_level(const struct ss_forest *f, struct ss_node n);

#endif
