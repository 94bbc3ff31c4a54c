/*
 * pickle.h - walking a pickle of plain data: dictionaries, lists, tuples, texts and numbers.
 *
 * A pickle is a program for a stack machine, and some of its opcodes import modules and call
 * functions of them. Those are not known here: the walk ends at the first one, with its name and place.
 * What plain data needs works on bounded memory.
 */
#ifndef SS_IMPORT_PICKLE_H
#define SS_IMPORT_PICKLE_H

#include "base/file.h"
#include "import/snapshot_build.h"

struct ss_pickle_end {
	bool cut;		/* the bytes end before the pickle does */
	const char *opcode;	/* where it ended early: what stands there; NULL: nothing is wrong */
	bool hostile;		/* it would call or import something */
	uint64_t at;		/* the byte */
};

/* Does it begin as a pickle of protocol 2 to 5 does? */
bool ss_pickle_is(struct ss_str head);
/*
 * Hand the values to `b`. `file`: where the bytes are mapped, whose pages are given back, or NULL.
 */
void ss_pickle_walk(struct ss_str bytes, const struct ss_file *file, struct ss_sb *b, struct ss_pickle_end *end);

#endif
