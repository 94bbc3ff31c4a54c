/*
 * pack.h - facts of a host as bytes and back: one description of each struct serves both ways.
 *
 *	PACK_U(p, s->count);                                 one number
 *	struct step *v = PACK_ARRAY(p, s->v, s->n, 3);       a list; each element takes at least 3 bytes
 *	PACK_COLUMN(p, PACK_U, s->v, s->n, dur_ps);          a field of all of them
 *
 * A field of all elements is written before the next field: equal columns of hosts one after the
 * other then compress to nearly nothing. Texts are numbers of a list beside the bytes (part.h
 * writes equal ones of all hosts once). What is read is checked: counts against the bytes that are
 * left, numbers against the type they go to. Failure is sticky.
 */
#ifndef SS_MODEL_REDUCED_PACK_H
#define SS_MODEL_REDUCED_PACK_H

#include "base/buf.h"
#include "base/map.h"
#include "base/vec.h"

struct ss_skeleton; /* cluster/skeleton.h */
struct ss_pieces;   /* pieces.h */

struct ss_pack {
	bool reading, bad, no_memory;
	struct ss_buf out;		/* writing */
	struct ss_strmap numbers;	/* of texts */
	SS_VEC(struct ss_str) texts;	/* borrowed from what is written */
	const uint8_t *at, *end;	/* reading */
	const struct ss_str *known;	/* its texts */
	uint64_t nknown;
	uint64_t text;			/* number of the last one */
	struct ss_arena *arena;		/* of what is read; texts stay where they are */
	const struct ss_skeleton *skeleton; /* the host's: known.h */
	struct ss_pieces *pieces;	/* of it */
};

/* One number; what is read replaces it. */
void ss_pack_u64(struct ss_pack *p, uint64_t *v);
void ss_pack_f64(struct ss_pack *p, double *v);
void ss_pack_fixed(struct ss_pack *p, uint64_t *v);
void ss_pack_str(struct ss_pack *p, struct ss_str *s);
/* A text that is of one host alone, among the bytes. */
void ss_pack_bytes(struct ss_pack *p, struct ss_str *s);
/*
 * The count of a list, and when reading its elements, zeroed, with room for one more; NULL where
 * there is none to go through.
 */
void *ss_pack_array(struct ss_pack *p, void *v, uint64_t *n, size_t size, size_t bytes_each);
void ss_pack_free(struct ss_pack *p);

static inline uint64_t ss_pack_zigzag(uint64_t v)
{
	return v << 1 ^ (uint64_t)((int64_t)v >> 63);
}

static inline uint64_t ss_pack_unzigzag(uint64_t v)
{
	return v >> 1 ^ (~(v & 1) + 1);
}

/* Any unsigned type, bool or enum. */
#define PACK_U(p, x)                                                  \
	do {                                                          \
		uint64_t v_ = (uint64_t)(x);                          \
		ss_pack_u64((p), &v_);                                \
		if ((p)->reading) {                                   \
			(x) = (__typeof__(x))v_;                      \
			(p)->bad |= (uint64_t)(x) != v_;              \
		}                                                     \
	} while (0)
/* A number that is near `guess`: signed, or likely smaller than that. */
#define PACK_NEAR(p, x, guess)                                        \
	do {                                                          \
		uint64_t g_ = (uint64_t)(guess);                      \
		uint64_t v_ = ss_pack_zigzag((uint64_t)(x) - g_);     \
		ss_pack_u64((p), &v_);                                \
		if ((p)->reading)                                     \
			(x) = (__typeof__(x))(ss_pack_unzigzag(v_) + g_); \
	} while (0)
#define PACK_I(p, x) PACK_NEAR(p, x, 0)
#define PACK_F(p, x) ss_pack_f64((p), &(x))
/* Bits without an order: 8 bytes, which repeat from host to host. */
#define PACK_X(p, x) ss_pack_fixed((p), &(x))
#define PACK_S(p, x) ss_pack_str((p), &(x))
/* An enum whose values are less than `limit`. */
#define PACK_ENUM(p, x, limit)                                        \
	do {                                                          \
		PACK_U(p, x);                                         \
		(p)->bad |= (uint64_t)(x) >= (uint64_t)(limit);       \
	} while (0)

#define PACK_COLUMN(p, how, v, n, field)                              \
	for (size_t i_ = 0; i_ < (n); i_++)                           \
	how(p, (v)[i_].field)
/* Times that ascend, or lie near one another. */
#define PACK_TIMES(p, v, n, field)                                    \
	for (size_t i_ = 0; i_ < (n); i_++)                           \
	PACK_NEAR(p, (v)[i_].field, i_ ? (v)[i_ - 1].field : 0)

#define PACK_ARRAY(p, v, n, bytes_each)                               \
	do {                                                          \
		uint64_t n_ = (uint64_t)(n);                          \
		(v) = ss_pack_array((p), (v), &n_, sizeof(*(v)), (bytes_each)); \
		(n) = (__typeof__(n))n_;                              \
	} while (0)

#endif
