/*
 * buffers.h - how the compiler laid out a program's memory: its BufferAssignmentProto.
 *
 * An allocation is a piece of memory that exists while the program runs; a logical buffer is a
 * value (or an element of a tuple) that is placed in an allocation for some time; a trace says in
 * which order the values of an allocation came and went. Buffers that no allocation holds are left
 * out; of several that hold one the last counts.
 */
#ifndef SS_HLO_BUFFERS_H
#define SS_HLO_BUFFERS_H

#include "base/arena.h"
#include "base/buf.h"
#include "hlo/hlo.h"

struct ss_hlo_buffer {
	int64_t id, size_bytes;	/* as padded for the device */
	int64_t memory_space;
	uint32_t instr;		/* that defines it: index into the module's instrs, SS_NONE if it has none such */
	struct ss_str defined_at; /* Location: the index in a tuple */
	/*
	 * The shape of the instruction, or of the tuple element that the last number of the index
	 * names; and its bytes without tiling and padding. Empty and 0 if the instruction is not known.
	 */
	struct ss_str shape;
	int64_t unpadded_bytes;
	uint32_t alloc;		/* index into allocs */
	int64_t offset_bytes;	/* in the allocation */
};

struct ss_hlo_assigned {
	int64_t id;
	uint32_t buffer;	/* SS_NONE: its id is unknown */
	int64_t offset_bytes, size_bytes;
};

struct ss_hlo_alloc {
	int64_t index, size_bytes, memory_space;
	bool thread_local_, parameter, constant, live_out, tuple;
	uint32_t first, nassigned; /* assigned[first .. first + nassigned) */
	uint32_t trace;		/* the last that is of this allocation, SS_NONE: none */
};

struct ss_hlo_trace {
	struct ss_str body;	/* HeapSimulatorTrace */
	uint32_t nevents;
};

struct ss_hlo_buffers {
	struct ss_hlo_buffer *buffers;
	struct ss_hlo_alloc *allocs;
	struct ss_hlo_assigned *assigned;
	struct ss_hlo_trace *traces;
	uint32_t nbuffers, nallocs, nassigned, ntraces;
	struct ss_u64map by_id;	/* of buffers */
	struct ss_arena arena;
};

/*
 * `m` must be indexed. A module without an assignment has no allocations. SS_EFORMAT when buffers
 * refer to large shapes so often that reading them would take far longer than reading the file.
 */
bool ss_hlo_buffers_read(struct ss_hlo_buffers *b, const struct ss_hlo_module *m, struct ss_err *err);
void ss_hlo_buffers_free(struct ss_hlo_buffers *b);

/* Lives as long as the program, and never changes. */
static inline bool ss_hlo_alloc_is_indefinite(const struct ss_hlo_alloc *a)
{
	return a->thread_local_ || a->parameter || a->constant || a->live_out;
}

/* "Parameter", "Output", "Thread-local", "Constant" or "Temporary". */
const char *ss_hlo_alloc_category(const struct ss_hlo_alloc *a);

/* "{0,1}", nothing for an empty index. */
void ss_hlo_buffer_index_print(struct ss_buf *out, const struct ss_hlo_buffer *b);

enum ss_hlo_trace_kind { SS_HLO_TRACE_ALLOC, SS_HLO_TRACE_FREE, SS_HLO_TRACE_SHARE };

struct ss_hlo_trace_event {
	uint64_t kind;		/* enum ss_hlo_trace_kind, or something unknown */
	uint32_t buffer, canonical; /* indices into buffers, SS_NONE: unknown */
	struct ss_str instr_name;
};

struct ss_hlo_trace_walk {
	struct ss_pb c;
	const struct ss_hlo_buffers *b;
};

struct ss_hlo_trace_walk ss_hlo_trace_of(const struct ss_hlo_buffers *b, const struct ss_hlo_trace *t);
bool ss_hlo_trace_next(struct ss_hlo_trace_walk *w, struct ss_hlo_trace_event *e);

#endif
