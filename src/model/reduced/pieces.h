/*
 * pieces.h - what the operations of a skeleton add up to. Facts are sums of operations, so most of
 * them are expected to the last digit: they are stored as differences from these sums, nearly all
 * of which are 0.
 *
 * Writer and reader make the same sums of the same skeleton. A wrong expectation costs bytes, and
 * nothing else.
 */
#ifndef SS_MODEL_REDUCED_PIECES_H
#define SS_MODEL_REDUCED_PIECES_H

#include "model/attribution/attribution.h"
#include "model/cluster/skeleton.h"
#include "model/reduced/pack.h"

/*
 * An operation of the skeleton, of asynchronous ones the starts and the dones apart; counted from
 * 1, 0 is none.
 */
struct ss_piece {
	uint64_t ps, min_ps, longest_ps;
	uint64_t longest;	/* number of its longest execution, in the list of spans or of collectives */
	bool any, is_comm;
};

struct ss_pieces {
	const struct ss_skeleton *s;
	size_t n;			/* pieces, the one that is none included */
	struct ss_piece *host;		/* of all devices */
	struct ss_piece *device;	/* of one, in its windows that are no outliers: ss_pieces_device */
	uint32_t *category;		/* of each piece, from 1: of the core before */
	uint8_t *open;			/* by operation: a done is next */
	struct ss_u64map by_ps;		/* writing: the piece of a sum, of equal sums the next one */
	uint32_t *same;			/* by piece: the following one of equal sum, in a circle */
	SS_VEC(uint32_t) of_text;	/* the piece of an operation's name, by the number of the text */
	SS_VEC(uint32_t) of_op;		/* scratch */
};

/* False: memory is out. */
bool ss_pieces_init(struct ss_pieces *m, const struct ss_skeleton *s, bool writing);
void ss_pieces_free(struct ss_pieces *m);

/*
 * The piece whose executions take so long in all; of several one after the other. 0: there is none.
 */
uint32_t ss_pieces_find(struct ss_pieces *m, uint64_t ps);
/* The text that was packed last names this piece. False: memory is out. */
bool ss_pieces_name(struct ss_pieces *m, uint64_t text, uint32_t piece);
uint32_t ss_pieces_named(const struct ss_pieces *m, uint64_t text);

/* One execution. */
struct ss_item {
	int64_t begin_ps, end_ps;
	uint64_t number;
	uint32_t piece;
	bool is_comm;
};

/* All of a device, in the order of their begins. */
struct ss_items {
	const struct ss_pieces *pieces;
	const struct ss_skel_device *d;
	size_t span, comm;
};

struct ss_items ss_items_of(struct ss_pieces *m, size_t device);
bool ss_items_next(struct ss_items *it, struct ss_item *item);

/*
 * What is expected of a device: its pieces, and the time of each class in each window, in `steps`
 * (zeros before; NULL: not asked for).
 */
void ss_pieces_device(struct ss_pieces *m, size_t device, const struct ss_windows *w, struct ss_unit_step *steps);

#endif
