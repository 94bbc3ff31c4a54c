/*
 * exclusive.h - attribution of time: each moment of a window goes to exactly one of the spans that
 * cover it.
 *
 * A moment goes to the claim with the least rank that covers it; among claims of one rank, to the one
 * that began last (of nested spans, the innermost); among claims with equal begin, to the one that
 * ends first. So the pieces add up to the window, whatever overlaps. The caller gives ranks
 * to classes ("compute before communication before copies") and sums the pieces.
 */
#ifndef SS_BASE_EXCLUSIVE_H
#define SS_BASE_EXCLUSIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ss_claim {
	int64_t begin_ps, end_ps; /* a claim with end <= begin covers nothing */
	uint32_t rank;
	uint32_t owner; /* the caller's: an index, a class */
};

/* The source of claims: an array in any order, or a stream, which is never held as a whole. */
struct ss_claims {
	const struct ss_claim *v;
	size_t n;
	/*
	 * NULL, or called at the start and whenever all claims have been used: it sets v and n to
	 * the next claims, in the order of their begin and after all previous ones; n = 0 after the
	 * last. False: memory is out.
	 */
	bool (*more)(struct ss_claims *c);
	void *arg;
};

/* A piece of the window. `winner`: NULL if nothing covers it; valid during the call. False stops the walk. */
typedef bool ss_piece_fn(void *ctx, int64_t begin_ps, int64_t end_ps, const struct ss_claim *winner);

/*
 * Calls `piece` for pieces in the order of time that tile [from_ps, to_ps) without gaps; neighbours
 * have different winners. O(n log r) time for claims that come in r runs in the order of their
 * begin, 32 bytes of scratch memory a run and 24 a claim that is open. False when memory is out or
 * `piece` returned false.
 */
bool ss_exclusive_of(struct ss_claims *sources, size_t nsources, int64_t from_ps, int64_t to_ps, ss_piece_fn *piece,
		     void *ctx);
/* Compute it for one array. */
bool ss_exclusive(const struct ss_claim *claims, size_t n, int64_t from_ps, int64_t to_ps, ss_piece_fn *piece, void *ctx);

#endif
