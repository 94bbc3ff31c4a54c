/*
 * snapshot_build.h - making a snapshot of values as they come: a stack machine as Python's pickles want
 * one, which keeps of finished dictionaries and lists what a snapshot needs and forgets the rest.
 *
 * A dictionary is recognized by its keys, not by its place: with "action" it is an event, with
 * "state" a block, with "filename" a frame.
 */
#ifndef SS_IMPORT_SNAPSHOT_BUILD_H
#define SS_IMPORT_SNAPSHOT_BUILD_H

#include "import/snapshot.h"

enum ss_sb_kind {
	SS_SB_NONE,	/* also unused values */
	SS_SB_INT,	/* u: two's complement */
	SS_SB_BIG,	/* an integer beyond INT64_MAX in u */
	SS_SB_STR,	/* number of a text of the builder */
	SS_SB_PAIR,	/* a tuple of two numbers, 28 bits each */
	SS_SB_MARK,
	SS_SB_DICT,	/* open: number of its record */
	SS_SB_LIST,
	/* Finished ones. */
	SS_SB_FRAME,
	SS_SB_STACK,	/* a list of frames */
	SS_SB_EVENT,
	SS_SB_BLOCK,
	SS_SB_SEGMENT,
	SS_SB_HISTORY,	/* of a block, before PyTorch 2.1: number of a stack + 1 */
	SS_SB_GROUP,	/* a list of events or of blocks */
	SS_SB_EMPTY,	/* a list of nothing */
	SS_SB_TOP,	/* the snapshot itself */
};

struct ss_sb_value {
	enum ss_sb_kind kind;
	uint64_t u;
};

#define SS_SB_KEYS 24
#define SS_SB_STACK_MOST 65536	/* values at a time; pickles have a few thousand */

/* A dictionary or list that is not finished. */
struct ss_sb_open {
	uint32_t memo;			/* its number in the memo + 1 */
	uint32_t at;			/* where it is on the stack */
	uint32_t seen;			/* of a dictionary: bits of keys */
	union {
		uint64_t v[SS_SB_KEYS];	/* by key, where seen */
		struct {
			uint32_t group, frame_begin, nframes, items;
			uint64_t history, numbers[2];
			bool has_history;
		} list;
	};
};

struct ss_sb_text {
	const char *p;
	uint32_t n;
	int8_t key;	/* its meaning as a key; -1: none */
	uint8_t word;	/* its meaning as an action or a state */
};

struct ss_sb {
	struct ss_snapshot *s;
	SS_VEC(struct ss_sb_value) stack;
	SS_VEC(struct ss_sb_open) open;
	SS_VEC(uint32_t) spare;		/* of `open` */
	SS_VEC(struct ss_sb_text) texts;
	SS_VEC(uint64_t) memo;		/* kind in the upper 8 bits */
	struct ss_u64map sparse;	/* memo numbers out of order: index into `far` */
	SS_VEC(uint64_t) far;
	struct ss_u64map stacks, frames;	/* by hash */
	bool top;			/* a dictionary with segments or device_traces was begun */
	bool no_memory, full;		/* sticky; the second: more values at a time than there can be */
};

void ss_sb_free(struct ss_sb *b);
/*
 * Numbers of a frame, and of the stack of the `n` frame ids that were appended last; known ones are
 * found. SS_NONE: memory is out.
 */
uint32_t ss_sb_frame(struct ss_sb *b, struct ss_str file, struct ss_str name, int64_t line);
uint32_t ss_sb_stack(struct ss_sb *b, uint32_t begin, uint32_t n);
void ss_sb_push(struct ss_sb *b, enum ss_sb_kind kind, uint64_t u);
void ss_sb_push_text(struct ss_sb *b, struct ss_str text);
void ss_sb_push_dict(struct ss_sb *b);
void ss_sb_push_list(struct ss_sb *b);
/* The opcodes of the same names. False: the values on the stack have the wrong types. */
bool ss_sb_append(struct ss_sb *b);
bool ss_sb_appends(struct ss_sb *b);
bool ss_sb_setitem(struct ss_sb *b);
bool ss_sb_setitems(struct ss_sb *b);
bool ss_sb_tuple(struct ss_sb *b, int n);	/* -1: to the mark */
bool ss_sb_pop(struct ss_sb *b, bool to_mark);
bool ss_sb_memoize(struct ss_sb *b, uint64_t number);
bool ss_sb_get(struct ss_sb *b, uint64_t number);
/* Finish at the end of the text. If the text ends early, open objects are finished as if their end were there. */
void ss_sb_finish(struct ss_sb *b);

#endif
