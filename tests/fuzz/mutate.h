/*
 * mutate.h - changes that keep the form of the input, for LLVMFuzzerCustomMutator: a fuzzer that changes bytes alone seldom gets
 * behind the lengths of a message or the brackets of JSON. Each returns the new size, at most `max`; the same seed makes the
 * same change. What is not of the form is changed byte by byte.
 */
#ifndef SS_TESTS_MUTATE_H
#define SS_TESTS_MUTATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* libFuzzer's own change of bytes. */
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed);

/* A field of a protobuf message, of whatever schema, at any depth: its value, its number, its place; lengths around it are set. */
size_t mutate_message(uint8_t *data, size_t size, size_t max, unsigned seed);
/* A value of a JSON text: another one, another place, gone, doubled, or a change within a string or number. */
size_t mutate_json(uint8_t *data, size_t size, size_t max, unsigned seed);

/* What `stepscope reduce` writes, inflated: a number, a text or a column of a host, what is deflated within it, a whole host. */
size_t mutate_part(uint8_t *data, size_t size, size_t max, unsigned seed);

/* Varints. False: they end or go on too long. */
bool mutate_get_varint(const uint8_t *p, size_t n, size_t *at, uint64_t *v);
/* At most 10 bytes; how many. */
size_t mutate_put_varint(uint8_t *p, uint64_t v);
/* A number at the end of a range, or beside it. */
uint64_t mutate_interesting(uint64_t *state);

/* Numbers from a seed: xorshift. Below n; n is not 0. */
static inline size_t mutate_pick(uint64_t *state, size_t n)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return (size_t)(*state >> 11) % n;
}

static inline uint64_t mutate_seed(unsigned seed)
{
	return (seed + UINT64_C(1)) * UINT64_C(0x9e3779b97f4a7c15);
}

#endif
