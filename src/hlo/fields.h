/*
 * fields.h - field numbers of HLO messages under their proto names (package xla, hlo.proto and
 * xla_data.proto).
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
	HLO_INSTRUCTION_CHANNEL_ID = 26, /* int64 */
	HLO_INSTRUCTION_CUSTOM_CALL_TARGET = 28, /* string */
	HLO_INSTRUCTION_ID = 35,	/* int64 */
	HLO_INSTRUCTION_OPERAND_IDS = 36, /* repeated int64 */
	HLO_INSTRUCTION_CONTROL_IDS = 37, /* repeated int64 */
	HLO_INSTRUCTION_CALLED_IDS = 38, /* repeated int64 */
	HLO_INSTRUCTION_BACKEND_CONFIG = 43, /* bytes */
	HLO_INSTRUCTION_FRONTEND_ATTRIBUTES = 68, /* FrontendAttributes */

	FRONTEND_ATTRIBUTES_MAP = 1,	/* map<string, string> */

	OP_METADATA_OP_TYPE = 1,	/* string */
	OP_METADATA_OP_NAME = 2,	/* string */
	OP_METADATA_SOURCE_FILE = 3,	/* string */
	OP_METADATA_SOURCE_LINE = 4,	/* int32 */
	OP_METADATA_STACK_FRAME_ID = 15, /* int32 */

	SHAPE_ELEMENT_TYPE = 2,		/* PrimitiveType */
	SHAPE_DIMENSIONS = 3,		/* repeated int64 */
	SHAPE_TUPLE_SHAPES = 4,		/* repeated ShapeProto */
	SHAPE_LAYOUT = 5,		/* LayoutProto */
	SHAPE_IS_DYNAMIC = 6,		/* repeated bool */

	LAYOUT_MINOR_TO_MAJOR = 1,	/* repeated int64 */
	LAYOUT_TILES = 6,		/* repeated TileProto */
	LAYOUT_ELEMENT_BITS = 7,	/* int64 */
	LAYOUT_MEMORY_SPACE = 8,	/* int64 */
	LAYOUT_LEVEL_TYPES = 9,		/* repeated DimLevelType */
	LAYOUT_PHYSICAL_SHAPE = 10,	/* ShapeProto */
	LAYOUT_INDEX_TYPE = 11,		/* PrimitiveType */
	LAYOUT_POINTER_TYPE = 12,	/* PrimitiveType */
	LAYOUT_PREFIX_BYTES = 15,	/* int64 */
	LAYOUT_TAIL_PADDING = 16,	/* int64 */
	LAYOUT_SPLITS = 17,		/* repeated SplitConfigProto */

	BUFFER_ASSIGNMENT_BUFFERS = 1,	/* repeated LogicalBufferProto */
	BUFFER_ASSIGNMENT_ALLOCATIONS = 3, /* repeated BufferAllocationProto */
	BUFFER_ASSIGNMENT_TRACES = 4,	/* repeated HeapSimulatorTrace */

	LOGICAL_BUFFER_ID = 1,		/* int64 */
	LOGICAL_BUFFER_SIZE = 2,	/* int64 */
	LOGICAL_BUFFER_DEFINED_AT = 3,	/* Location */
	LOGICAL_BUFFER_COLOR = 4,	/* int64: memory space */

	LOCATION_INSTRUCTION_NAME = 2,	/* string, of old writers */
	LOCATION_SHAPE_INDEX = 3,	/* repeated int64 */
	LOCATION_INSTRUCTION_ID = 4,	/* int64 */

	ALLOCATION_INDEX = 1,		/* int64 */
	ALLOCATION_SIZE = 2,		/* int64 */
	ALLOCATION_IS_THREAD_LOCAL = 3,	/* bool */
	ALLOCATION_IS_PARAMETER = 5,	/* bool */
	ALLOCATION_PARAMETER_NUMBER = 6, /* int64 */
	ALLOCATION_MAYBE_LIVE_OUT = 7,	/* bool */
	ALLOCATION_COLOR = 8,		/* int64 */
	ALLOCATION_ASSIGNED = 9,	/* repeated Assigned */
	ALLOCATION_IS_TUPLE = 11,	/* bool */
	ALLOCATION_IS_CONSTANT = 12,	/* bool */

	ASSIGNED_BUFFER_ID = 1,		/* int64 */
	ASSIGNED_OFFSET = 2,		/* int64 */
	ASSIGNED_SIZE = 3,		/* int64 */

	TRACE_EVENTS = 1,		/* repeated HeapSimulatorTrace.Event */

	TRACE_EVENT_KIND = 1,		/* enum: 0 ALLOC, 1 FREE, 2 SHARE_WITH */
	TRACE_EVENT_BUFFER_ID = 2,	/* int64 */
	TRACE_EVENT_INSTRUCTION_NAME = 4, /* string */
	TRACE_EVENT_CANONICAL_ID = 5,	/* int64 */

	STACK_FRAMES_FILE_NAMES = 1,	/* repeated string; all ids in these messages count from 1 */
	STACK_FRAMES_FUNCTION_NAMES = 2, /* repeated string */
	STACK_FRAMES_LOCATIONS = 3,	/* repeated FileLocation */
	STACK_FRAMES_FRAMES = 4,	/* repeated StackFrame */

	FILE_LOCATION_FILE_ID = 1,	/* int32 */
	FILE_LOCATION_FUNCTION_ID = 2,	/* int32 */
	FILE_LOCATION_LINE = 3,		/* int32 */
	FILE_LOCATION_COLUMN = 4,	/* int32 */
	FILE_LOCATION_END_LINE = 5,	/* int32 */
	FILE_LOCATION_END_COLUMN = 6,	/* int32 */

	STACK_FRAME_LOCATION_ID = 1,	/* int32 */
	STACK_FRAME_PARENT_ID = 2,	/* int32 */

	TILE_DIMENSIONS = 1,		/* repeated int64 */
	SPLIT_DIMENSION = 1,		/* int64 */
	SPLIT_INDICES = 2,		/* repeated int64 */
};

#endif
