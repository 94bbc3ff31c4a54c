/*
 * hash.h - hashes with a secret.
 *
 * Keys come from files and requests, whose author may have chosen keys that collide. A seed at the
 * beginning is not enough: where each step can be undone by the next word whatever the state is,
 * strings collide under every seed. Here every word meets a secret before it is multiplied.
 */
#ifndef SS_BASE_HASH_H
#define SS_BASE_HASH_H

#include "base/str.h"

/* Random, drawn when the program or the library is loaded. */
extern uint64_t ss_hash_seeds[2];

__extension__ typedef unsigned __int128 ss_u128;

static inline uint64_t ss_hash_fold(uint64_t a, uint64_t b)
{
	ss_u128 product = (ss_u128)a * b;
	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static inline uint64_t ss_hash_u64(uint64_t key)
{
	return ss_hash_fold(key ^ ss_hash_seeds[0], ss_hash_seeds[1]);
}

/* For tables; the same string has another hash in every run. */
uint64_t ss_str_hash(struct ss_str a);

/* Without a secret: 64 bits that tell texts and contents of files apart, the same in every run and on every machine. */
uint64_t ss_str_digest(struct ss_str a);

#endif
