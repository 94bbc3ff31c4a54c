/*
 * tensor_patterns.h - which tensors requests had brought into the device's layout and back.
 *
 * A tensor is the kind of copy, its shape and its layout; the tensors of one request (or batch), by
 * text and with those that are several as often, are its pattern.
 */
#ifndef SS_MODEL_RUNTIME_TENSOR_PATTERNS_H
#define SS_MODEL_RUNTIME_TENSOR_PATTERNS_H

#include "base/arena.h"
#include "base/map.h"
#include "base/vec.h"

struct ss_tensor {
	uint32_t group, text;
	uint64_t dur_ps;
};

struct ss_tensors {
	SS_VEC(struct ss_tensor) v;
	struct ss_strmap texts, patterns; /* patterns: what was found, "a<br>b" */
	struct ss_arena *arena;		  /* of all texts */
	uint64_t room;			  /* bytes of text that may still be made: events can share theirs, and be many */
	uint64_t ncut;			  /* tensors and patterns without room */
};

/* The index of a group's pattern in `patterns`. */
typedef void ss_tensors_found(void *arg, uint32_t group, uint32_t pattern, uint64_t dur_ps);

/* False when memory is out. */
bool ss_tensors_add(struct ss_tensors *t, uint32_t group, struct ss_str kind, struct ss_str shape, struct ss_str layout,
		    uint64_t dur_ps);
/* Call `found` once for each group with tensors. False when memory is out. */
bool ss_tensors_join(struct ss_tensors *t, ss_tensors_found *found, void *arg);
void ss_tensors_free(struct ss_tensors *t);

#endif
