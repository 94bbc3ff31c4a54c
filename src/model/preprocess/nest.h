/*
 * nest.h - building a derived line: spans that follow one another merge, spans of several levels
 * nest.
 *
 * Items come in the order of time. An item has a name per level, outermost first, and one span. Per
 * level the last span stays open: an item with the same name and group extends it, any other closes
 * it and all below. Outer lines may rule inner ones: closing the outermost span of "XLA Modules"
 * closes the open spans on "XLA Ops", so that no span extends from one program into the next.
 *
 * Spans that close together are fitted into one another, from the outside in: one that begins and
 * ends with the one around it becomes 1 ns shorter than that, and so do all below it, so that the
 * nesting is visible. The innermost span keeps at least 1 ns. XProf does the same.
 *
 * Names are meta indices of the plane (made ones mostly), so that comparing them is comparing
 * numbers.
 */
#ifndef SS_MODEL_PREPROCESS_NEST_H
#define SS_MODEL_PREPROCESS_NEST_H

#include "model/host/spans.h"
#include <stdbool.h>
#include <stdint.h>

struct ss_line;

#define SS_NEST_LEVELS 256u	/* deeper ones are left out; the deepest seen in a real profile is below 60 */
#define SS_NEST_RULED 2u

/* A span that may go on. */
struct ss_nest_open {
	uint32_t event, meta;
	uint32_t first, last;		/* as in ss_span_draft */
	int64_t begin_ps, end_ps;
	int64_t scope;
	int32_t group;
};

struct ss_nest {
	/* The events so far, by begin, outer before inner; their times are set when they close. */
	struct ss_spans spans;
	struct ss_nest_open *open;	/* by level, nopen of SS_NEST_LEVELS */
	uint32_t nopen;
	int64_t last_ps;		/* begin of the last event */
	bool in_order;			/* nothing began with or before the event before it, so far */
	bool gpu;			/* spans of one name merge over any gap */
	struct ss_nest *ruled[SS_NEST_RULED]; /* closed with the outermost span of this line; NULL: none */
	uint64_t left;			/* events that may still be added: a bound against hostile names */
};

struct ss_nest_item {
	const uint32_t *metas;
	uint32_t nmetas;
	const int64_t *scopes;	/* scope range id per level, or SS_NO_SCOPE; NULL: none known */
	int64_t begin_ps, end_ps;
	uint32_t event;		/* that the times are of, of spans.of; SS_NONE: of another line. Without spans.of nobody reads it */
	int64_t group;		/* SS_NO_GROUP: none */
};

#define SS_NO_SCOPE INT64_MIN

/* `items`: how many will be added at most; the line then holds no more than 64 events an item, and some. */
void ss_nest_init(struct ss_nest *nest, bool gpu, uint64_t items);
/* False when memory is out. */
bool ss_nest_add(struct ss_nest *nest, const struct ss_nest_item *item);
/*
 * Nothing goes on: the next item begins new spans on this line and those ruled by it. False when
 * memory is out.
 */
bool ss_nest_close(struct ss_nest *nest);
void ss_nest_free(struct ss_nest *nest);

/*
 * Nothing more is added: the events, as they are shown (spans.h), and whether they are in the
 * order of time. False when memory is out; then `nest` is to be freed, else it is empty.
 */
bool ss_nest_to_spans(struct ss_nest *nest, struct ss_spans *out, bool *sorted);
/* The same as columns of an empty line, for those that are not only shown. */
bool ss_nest_to_columns(struct ss_nest *nest, struct ss_line *line);

#endif
