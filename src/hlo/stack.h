/*
 * stack.h - where in the user's source an instruction comes from: the module's table of stack
 * frames.
 */
#ifndef SS_HLO_STACK_H
#define SS_HLO_STACK_H

#include "base/arena.h"
#include "base/buf.h"
#include "hlo/hlo.h"

struct ss_hlo_location {
	int32_t file, function;	/* 1-based, 0: none */
	int32_t line, column, end_line, end_column;
};

struct ss_hlo_frame {
	int32_t location, parent; /* 1-based, 0: none */
};

struct ss_hlo_stacks {
	struct ss_str *files, *functions;
	struct ss_hlo_location *locations;
	struct ss_hlo_frame *frames;
	uint32_t nfiles, nfunctions, nlocations, nframes;
};

/* False when memory is out. */
bool ss_hlo_stacks_read(struct ss_hlo_stacks *s, const struct ss_hlo_module *m, struct ss_arena *arena);

/* The frame's location, NULL if it has none; ids count from 1. */
const struct ss_hlo_location *ss_hlo_frame_location(const struct ss_hlo_stacks *s, int64_t frame);
/* The file of a location, "" if it has none. */
struct ss_str ss_hlo_location_file(const struct ss_hlo_stacks *s, const struct ss_hlo_location *l);

/*
 * The chain of a frame, innermost first: at most `most` ids, as many as are written is returned. A
 * chain that comes back to itself ends with the number of frames.
 */
uint32_t ss_hlo_stack_walk(const struct ss_hlo_stacks *s, int64_t frame, uint32_t *ids, uint32_t max);
/* "file:line:column" of each frame, innermost first, a line each. */
void ss_hlo_stack_print(struct ss_buf *b, const struct ss_hlo_stacks *s, int64_t frame);
/* "file:function:line:column", in the same way; a column of 0 is left out. */
void ss_hlo_stack_print_functions(struct ss_buf *b, const struct ss_hlo_stacks *s, int64_t frame);

#endif
