/*
 * fields.h - field numbers of HLO messages under their proto names (package xla, hlo.proto and xla_data.proto).
 */
#ifndef SS_HLO_FIELDS_H
#define SS_HLO_FIELDS_H

enum {
	HLO_PROTO_MODULE = 1,		/* HloModuleProto */
	HLO_PROTO_BUFFER_ASSIGNMENT = 3, /* BufferAssignmentProto */

	HLO_MODULE_NAME = 1,		/* string */
	HLO_MODULE_ENTRY_NAME = 2,	/* string */
	HLO_MODULE_COMPUTATIONS = 3,	/* repeated HloComputationProto */
	HLO_MODULE_ID = 5,		/* int64 */
	HLO_MODULE_ENTRY_ID = 6,	/* int64 */
	HLO_MODULE_STACK_FRAMES = 17,	/* StackFrameIndexProto */

	HLO_COMPUTATION_NAME = 1,	/* string */
	HLO_COMPUTATION_INSTRUCTIONS = 2, /* repeated HloInstructionProto */
	HLO_COMPUTATION_ID = 5,		/* int64 */
	HLO_COMPUTATION_ROOT_ID = 6,	/* int64 */
	HLO_COMPUTATION_IS_FUSION = 7,	/* bool */

	HLO_INSTRUCTION_NAME = 1,	/* string */
	HLO_INSTRUCTION_OPCODE = 2,	/* string */
	HLO_INSTRUCTION_SHAPE = 3,	/* ShapeProto */
	HLO_INSTRUCTION_METADATA = 7,	/* OpMetadata */
	HLO_INSTRUCTION_LITERAL = 8,	/* LiteralProto */
	HLO_INSTRUCTION_PARAMETER_NUMBER = 9, /* int64 */
	HLO_INSTRUCTION_FUSION_KIND = 11, /* string */
	HLO_INSTRUCTION_TUPLE_INDEX = 13, /* int64 */
	HLO_INSTRUCTION_DIMENSIONS = 14, /* repeated int64 */
	HLO_INSTRUCTION_WINDOW = 15,	/* Window */
	HLO_INSTRUCTION_CUSTOM_CALL_TARGET = 28, /* string */
	HLO_INSTRUCTION_ID = 35,	/* int64 */
	HLO_INSTRUCTION_OPERAND_IDS = 36, /* repeated int64 */
	HLO_INSTRUCTION_CONTROL_IDS = 37, /* repeated int64 */
	HLO_INSTRUCTION_CALLED_IDS = 38, /* repeated int64 */
	HLO_INSTRUCTION_BACKEND_CONFIG = 43, /* bytes */

	OP_METADATA_OP_TYPE = 1,	/* string */
	OP_METADATA_OP_NAME = 2,	/* string */
	OP_METADATA_SOURCE_FILE = 3,	/* string */
	OP_METADATA_SOURCE_LINE = 4,	/* int32 */
	OP_METADATA_STACK_FRAME_ID = 15, /* int32 */
};

#endif
