/*
 * comm.h - collectives of a trace of PyTorch: kinds, sizes, and their rates as NVIDIA's nccl-tests
 * define them.
 *
 * What a collective says of itself stands in its kernel, or, where that says nothing (AMD, older
 * versions), in the nearest operator above it. On a run without devices the `gloo:` ranges are the
 * collectives.
 */
#ifndef SS_MODEL_TORCH_COMM_H
#define SS_MODEL_TORCH_COMM_H

#include "model/torch/torch.h"

/* Of one element of c10's type; 0: not known. */
int64_t ss_torch_element_bytes(struct ss_str dtype);
/* Bytes of one call, as nccl-tests count them. */
int64_t ss_torch_comm_bytes(const char *kind, int64_t in_elements, int64_t out_elements, int64_t element_bytes);
/* What the rate of the links is to the rate of the call, for a group of n. */
double ss_torch_bus_factor(const char *kind, int64_t n);

/* One call of a collective on this rank. */
struct ss_torch_comm_call {
	int64_t begin_ns, end_ns;
	int64_t group_size, in_elements, out_elements, sequence;
	const char *kind;
	struct ss_str group, dtype;
	int32_t device; /* -1: the host's, of gloo */
};

/* In the order of begin; the caller frees *out. False when memory is out. */
bool ss_torch_comm_calls(const struct ss_torch *t, struct ss_torch_comm_call **out, size_t *n);

#endif
