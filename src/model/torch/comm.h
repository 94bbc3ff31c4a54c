/*
 * comm.h - collectives of a trace of PyTorch: kinds, sizes, and their rates as NVIDIA's nccl-tests
 * define them.
 *
 * The kernel of a collective records its facts; if it does not (AMD, older versions), the nearest
 * operator above it does. In a run without devices, the `gloo:` ranges are the collectives.
 */
#ifndef SS_MODEL_TORCH_COMM_H
#define SS_MODEL_TORCH_COMM_H

#include "model/torch/torch.h"

/* The bytes of one element of c10's type; 0: not known. */
int64_t ss_torch_element_bytes(struct ss_str dtype);
/* Bytes of one call, as nccl-tests count them. */
int64_t ss_torch_comm_bytes(const char *kind, int64_t in_elements, int64_t out_elements, int64_t element_bytes);
/* The ratio of the rate of the links to the rate of the call, for a group of n. */
double ss_torch_bus_factor(const char *kind, int64_t n);

/* One call of a collective on this rank. */
struct ss_torch_comm_call {
	int64_t begin_ns, end_ns;
	int64_t group_size, in_elements, out_elements, sequence;
	const char *kind;
	struct ss_str group, dtype;
	int32_t device; /* -1: the host's, of gloo */
	bool any_group; /* the job has several groups, and nothing says which of them this call is of */
};

/* In the order of begin; the caller frees *out. False when memory is out. */
bool ss_torch_comm_calls(const struct ss_torch *t, struct ss_torch_comm_call **out, size_t *n);

#endif
