/*
 * hlo.h - a zero-copy view of one compiled program (a serialized HloProto).
 *
 * Two states. Opened: the module's name is known and nothing else was read; a profile holds
 * hundreds of modules of megabytes each, and a request needs few of them. Indexed: computations and
 * instructions are in arrays and are found by name or id. The fields of an instruction are decoded
 * on request (ss_hlo_instr_read): the index takes some 70 bytes an instruction, whose proto takes
 * hundreds.
 *
 * An opened module points into the bytes given to ss_hlo_open, an indexed one into a copy of them,
 * which lives until ss_hlo_close: walks rely on the counts of earlier walks, and another process
 * may write to the file between them. Malformed parts are left out and counted in `ndamaged`.
 */
#ifndef SS_HLO_HLO_H
#define SS_HLO_HLO_H

#include "base/err.h"
#include "base/map.h"
#include "hlo/fields.h"
#include "wire/pb.h"

struct ss_hlo_computation {
	struct ss_str name;
	struct ss_str body;	/* the whole HloComputationProto */
	int64_t id, root_id;
	uint32_t first, ninstrs; /* instructions[first .. first + ninstrs) */
	bool is_fusion;
};

struct ss_hlo_module {
	struct ss_str bytes;	/* HloProto */
	struct ss_str body;	/* HloModuleProto; empty: the proto has none */
	struct ss_str name, entry_name;
	int64_t id, entry_id;	/* of the module; of its entry computation */
	/* From here on after ss_hlo_index. */
	char *own;		/* the copy that `bytes` is then */
	struct ss_hlo_computation *computations;
	uint32_t ncomputations;
	struct ss_str *instrs;	/* HloInstructionProto each, in the file's order */
	uint32_t ninstrs;
	uint32_t ndamaged;	/* the program, its computations and instructions whose bytes break off */
	struct ss_u64map computation_by_id, instr_by_id, instr_by_name; /* the last by hash: use the functions below */
};

/* Never fails: bytes that are no HloProto are a module without a name. */
void ss_hlo_open(struct ss_hlo_module *m, struct ss_str bytes);
bool ss_hlo_index(struct ss_hlo_module *m, struct ss_err *err);
void ss_hlo_close(struct ss_hlo_module *m);
/*
 * Equal for modules with the same computations and instructions, within this process only.
 * Differences that compiling the same program on another host makes do not count: numbers of
 * devices, the order of attributes. Needs no index.
 */
uint64_t ss_hlo_hash(const struct ss_hlo_module *m);

struct ss_hlo_instr {
	struct ss_str name, opcode;
	struct ss_str op_name, op_type;	/* of its metadata: where in the user's program it comes from */
	struct ss_str source_file;
	int64_t source_line;
	int64_t stack_frame_id;	/* 1-based index into the module's stack frames, 0: none */
	int64_t id;
	int64_t parameter_number, tuple_index;
	struct ss_str fusion_kind, custom_call_target;
	struct ss_str shape;	/* ShapeProto */
	struct ss_str body;	/* the whole HloInstructionProto: operands etc. by ss_hlo_ids_of */
};

void ss_hlo_instr_read(struct ss_str body, struct ss_hlo_instr *out);

/* Indices into instrs or computations, SS_NONE if there is none. The first of equal names and ids counts. */
uint32_t ss_hlo_instr_by_name(const struct ss_hlo_module *m, struct ss_str name);
uint32_t ss_hlo_instr_by_id(const struct ss_hlo_module *m, int64_t id);
uint32_t ss_hlo_computation_by_id(const struct ss_hlo_module *m, int64_t id);

/*
 * Walking a repeated int64 (HLO_INSTRUCTION_OPERAND_IDS, HLO_INSTRUCTION_CALLED_IDS ...), packed or
 * not:
 *
 *	struct ss_hlo_ids it = ss_hlo_ids_of(instr.body, HLO_INSTRUCTION_OPERAND_IDS);
 *	int64_t id;
 *	while (ss_hlo_ids_next(&it, &id)) ...
 */
struct ss_hlo_ids {
	struct ss_pb outer, packed;
	uint32_t number;
};

struct ss_hlo_ids ss_hlo_ids_of(struct ss_str body, uint32_t number);
bool ss_hlo_ids_next(struct ss_hlo_ids *it, int64_t *id);

#endif
