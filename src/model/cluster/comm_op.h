/*
 * comm_op.h - operations that communicate: what the compiler's text, or a kernel's name, says of
 * one.
 */
#ifndef SS_MODEL_CLUSTER_COMM_OP_H
#define SS_MODEL_CLUSTER_COMM_OP_H

#include "base/arena.h"

/* COMM(identifier, name, is a barrier: no participant leaves before all have arrived) */
#define SS_COMMS(COMM)                                                                             \
	COMM(ALL_REDUCE, "all-reduce", true) COMM(ALL_GATHER, "all-gather", true)                   \
	COMM(REDUCE_SCATTER, "reduce-scatter", true) COMM(RAGGED_ALL_TO_ALL, "ragged-all-to-all", true) \
	COMM(ALL_TO_ALL, "all-to-all", true) COMM(PERMUTE, "collective-permute", false)             \
	COMM(BROADCAST, "collective-broadcast", true) COMM(SEND, "send", false) COMM(RECV, "recv", false) \
	COMM(BARRIER, "barrier-cores", true)

enum ss_comm {
	SS_COMM_NONE = 0,
#define COMM(id, name, barrier) SS_COMM_##id,
	SS_COMMS(COMM)
#undef COMM
	SS_COMM_COUNT
};

const char *ss_comm_name(enum ss_comm kind); /* "" for none */
bool ss_comm_is_barrier(enum ss_comm kind);
/*
 * Bytes that the slowest link of a participant carries, per byte of the larger of operand and
 * result (the bus bandwidth of NCCL's tests).
 */
double ss_comm_bus_factor(enum ss_comm kind, uint64_t participants);

enum ss_comm_phase { SS_COMM_WHOLE, SS_COMM_START, SS_COMM_DONE };

struct ss_comm_op {
	enum ss_comm kind;
	enum ss_comm_phase phase;
	struct ss_str name;	/* "all-gather.3" of all-gather-start.3 and of the all-gather-done that waits for it */
	struct ss_str groups;	/* as members.h reads them; "" if not given */
	uint64_t bytes;		/* the larger of operand and result; 0: unknown */
};

/*
 * `text` is an HLO instruction, or its name where nothing more is known; `shown` the name that
 * people are shown, `category` the profiler's. Texts borrow or live in `arena`. False: memory is
 * out. What is no communication has the kind SS_COMM_NONE.
 */
bool ss_comm_op_read(struct ss_comm_op *out, struct ss_str text, struct ss_str shown, struct ss_str category,
		     struct ss_arena *arena);
enum ss_comm ss_comm_of_opcode(struct ss_str opcode); /* "all-gather-start" */
/*
 * The kind that a kernel of NCCL or RCCL is of; SS_COMM_NONE for all others. Send and receive are
 * one kernel: SS_COMM_SEND.
 */
enum ss_comm ss_comm_of_kernel(struct ss_str kernel);
/* "_allgather_base", "allreduce_coalesced": what PyTorch calls it. */
enum ss_comm ss_comm_of_torch(struct ss_str name);
/* Bytes of an element of PyTorch's data type ("Float", "BFloat16"); 0: unknown. */
uint64_t ss_torch_type_bytes(struct ss_str type);

#endif
