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
	HLO_MODULE_HOST_SHAPE = 4,	/* ProgramShapeProto */
	HLO_MODULE_SCHEDULE = 7,	/* HloScheduleProto */
	HLO_MODULE_ALIASES = 8,		/* HloInputOutputAliasProto */
	HLO_MODULE_STACK_FRAMES = 17,	/* StackFrameIndexProto */
	HLO_MODULE_BUFFER_DONOR = 18,	/* HloBufferDonorProto */
	HLO_MODULE_FRONTEND_ATTRIBUTES = 19, /* FrontendAttributes */

	HLO_COMPUTATION_NAME = 1,	/* string */
	HLO_COMPUTATION_INSTRUCTIONS = 2, /* repeated HloInstructionProto */
	HLO_COMPUTATION_ID = 5,		/* int64 */
	HLO_COMPUTATION_ROOT_ID = 6,	/* int64 */
	HLO_COMPUTATION_IS_FUSION = 7,	/* bool */
	HLO_COMPUTATION_THREAD = 8,	/* string */

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
	HLO_INSTRUCTION_CONVOLUTION = 16, /* ConvolutionDimensionNumbers */
	HLO_INSTRUCTION_SLICES = 17,	/* repeated SliceDimensions */
	HLO_INSTRUCTION_EXPONENT_BITS = 18, /* int32 */
	HLO_INSTRUCTION_MANTISSA_BITS = 19, /* int32 */
	HLO_INSTRUCTION_DYNAMIC_SLICE_SIZES = 20, /* repeated int64 */
	HLO_INSTRUCTION_PADDING = 21,	/* PaddingConfig */
	HLO_INSTRUCTION_OUTFEED_CONFIG = 22, /* bytes */
	HLO_INSTRUCTION_DISTRIBUTION = 23, /* RandomDistribution */
	HLO_INSTRUCTION_EPSILON = 24,	/* float */
	HLO_INSTRUCTION_FEATURE_INDEX = 25, /* int64 */
	HLO_INSTRUCTION_CHANNEL_ID = 26, /* int64 */
	HLO_INSTRUCTION_INFEED_CONFIG = 27, /* bytes */
	HLO_INSTRUCTION_CUSTOM_CALL_TARGET = 28, /* string */
	HLO_INSTRUCTION_OUTFEED_SHAPE = 29, /* ShapeProto */
	HLO_INSTRUCTION_DOT = 30,	/* DotDimensionNumbers */
	HLO_INSTRUCTION_FFT_TYPE = 31,	/* FftType */
	HLO_INSTRUCTION_FFT_LENGTH = 32, /* repeated int64 */
	HLO_INSTRUCTION_GATHER = 33,	/* GatherDimensionNumbers */
	HLO_INSTRUCTION_GATHER_SLICE_SIZES = 34, /* repeated int64 */
	HLO_INSTRUCTION_ID = 35,	/* int64 */
	HLO_INSTRUCTION_OPERAND_IDS = 36, /* repeated int64 */
	HLO_INSTRUCTION_CONTROL_IDS = 37, /* repeated int64 */
	HLO_INSTRUCTION_CALLED_IDS = 38, /* repeated int64 */
	HLO_INSTRUCTION_SHARDING = 40,	/* OpSharding */
	HLO_INSTRUCTION_BACKEND_CONFIG = 43, /* bytes */
	HLO_INSTRUCTION_IS_HOST_TRANSFER = 47, /* bool */
	HLO_INSTRUCTION_SCATTER = 48,	/* ScatterDimensionNumbers */
	HLO_INSTRUCTION_REPLICA_GROUPS = 49, /* repeated ReplicaGroup */
	HLO_INSTRUCTION_FEATURE_GROUPS = 50, /* int64 */
	HLO_INSTRUCTION_PRECISION = 51,	/* PrecisionConfig */
	HLO_INSTRUCTION_SOURCE_TARGETS = 52, /* repeated SourceTarget */
	HLO_INSTRUCTION_DOMAIN_ENTRY = 54, /* OpSharding */
	HLO_INSTRUCTION_DOMAIN_EXIT = 55, /* OpSharding */
	HLO_INSTRUCTION_CONSTRAIN_LAYOUT = 56, /* bool */
	HLO_INSTRUCTION_OPERAND_SHAPES = 57, /* repeated ShapeProto */
	HLO_INSTRUCTION_BATCH_GROUPS = 58, /* int64 */
	HLO_INSTRUCTION_TRIANGULAR_SOLVE = 59, /* TriangularSolveOptions */
	HLO_INSTRUCTION_IS_STABLE = 60,	/* bool */
	HLO_INSTRUCTION_REPLICATION = 61, /* ParameterReplication */
	HLO_INSTRUCTION_CHOLESKY = 62,	/* CholeskyOptions */
	HLO_INSTRUCTION_DIRECTION = 63,	/* string */
	HLO_INSTRUCTION_SIDE_EFFECT = 65, /* bool */
	HLO_INSTRUCTION_DELTA = 66,	/* int64 */
	HLO_INSTRUCTION_INDICES_SORTED = 67, /* bool */
	HLO_INSTRUCTION_FRONTEND_ATTRIBUTES = 68, /* FrontendAttributes */
	HLO_INSTRUCTION_UNIQUE_INDICES = 69, /* bool */
	HLO_INSTRUCTION_RNG_ALGORITHM = 70, /* RandomAlgorithm */
	HLO_INSTRUCTION_GLOBAL_DEVICE_IDS = 71, /* bool */
	HLO_INSTRUCTION_COMPARISON_TYPE = 72, /* string */
	HLO_INSTRUCTION_OUTPUT_ALIASING = 74, /* repeated OutputOperandAliasing */
	HLO_INSTRUCTION_CALL_SCHEDULE = 76, /* CustomCallSchedule */
	HLO_INSTRUCTION_API_VERSION = 77, /* CustomCallApiVersion */
	HLO_INSTRUCTION_ASYNC_THREAD = 79, /* string */
	HLO_INSTRUCTION_PREFETCH_INDEX = 80, /* int32 */
	HLO_INSTRUCTION_K = 81,		/* int64 */
	HLO_INSTRUCTION_STATISTICS = 82, /* StatisticsViz */
	HLO_INSTRUCTION_LARGEST = 85,	/* bool */
	HLO_INSTRUCTION_DEVICE_LIST = 87, /* CollectiveDeviceListProto */
	HLO_INSTRUCTION_ORIGINAL_VALUE = 88, /* OriginalValueProto */
	HLO_INSTRUCTION_IS_COMPOSITE = 89, /* bool */
	HLO_INSTRUCTION_RAGGED_DOT = 90, /* RaggedDotDimensionNumbers */
	HLO_INSTRUCTION_RESULT_ACCURACY = 91, /* ResultAccuracy */
	HLO_INSTRUCTION_IOTA_DEVICE_LIST = 92, /* IotaReplicaGroupListProto */
	HLO_INSTRUCTION_MESH_DEVICE_LIST = 93, /* MeshAxesReplicaGroupListProto */
	HLO_INSTRUCTION_DYNAMIC_ROOT = 100, /* bool */
	HLO_INSTRUCTION_COMPARISON_ORDER = 102, /* string */

	WINDOW_DIMENSIONS = 1,		/* repeated WindowDimension */
	WINDOW_SIZE = 1,		/* int64, and so are the others but the last */
	WINDOW_STRIDE = 2,
	WINDOW_PADDING_LOW = 3,
	WINDOW_PADDING_HIGH = 4,
	WINDOW_DILATION = 5,
	WINDOW_BASE_DILATION = 6,
	WINDOW_REVERSAL = 7,		/* bool */

	CONVOLUTION_KERNEL_INPUT_FEATURE = 3, /* int64 */
	CONVOLUTION_KERNEL_OUTPUT_FEATURE = 4, /* int64 */
	CONVOLUTION_KERNEL_SPATIAL = 6,	/* repeated int64 */
	CONVOLUTION_INPUT_BATCH = 7,	/* int64 */
	CONVOLUTION_INPUT_FEATURE = 8,	/* int64 */
	CONVOLUTION_OUTPUT_BATCH = 9,	/* int64 */
	CONVOLUTION_OUTPUT_FEATURE = 10, /* int64 */
	CONVOLUTION_INPUT_SPATIAL = 11,	/* repeated int64 */
	CONVOLUTION_OUTPUT_SPATIAL = 12, /* repeated int64 */

	SLICE_START = 1,		/* int64 */
	SLICE_LIMIT = 2,		/* int64 */
	SLICE_STRIDE = 3,		/* int64 */

	PADDING_DIMENSIONS = 1,		/* repeated PaddingConfigDimension */
	PADDING_LOW = 1,		/* int64 */
	PADDING_HIGH = 2,		/* int64 */
	PADDING_INTERIOR = 3,		/* int64 */

	DOT_LHS_CONTRACTING = 1,	/* repeated int64 */
	DOT_RHS_CONTRACTING = 2,	/* repeated int64 */
	DOT_LHS_BATCH = 3,		/* repeated int64 */
	DOT_RHS_BATCH = 4,		/* repeated int64 */

	RAGGED_DOT_DOT = 1,		/* DotDimensionNumbers */
	RAGGED_DOT_LHS_RAGGED = 2,	/* repeated int64 */
	RAGGED_DOT_RHS_GROUP = 3,	/* repeated int64 */

	GATHER_OFFSET_DIMS = 1,		/* repeated int64, and so are the others but the fourth */
	GATHER_COLLAPSED_DIMS = 2,
	GATHER_START_INDEX_MAP = 3,
	GATHER_INDEX_VECTOR_DIM = 4,	/* int64 */
	GATHER_OPERAND_BATCHING = 5,
	GATHER_INDICES_BATCHING = 6,

	SCATTER_WINDOW_DIMS = 1,	/* repeated int64, and so are the others but the fourth */
	SCATTER_INSERTED_DIMS = 2,
	SCATTER_DIMS_TO_OPERAND = 3,
	SCATTER_INDEX_VECTOR_DIM = 4,	/* int64 */
	SCATTER_INPUT_BATCHING = 5,
	SCATTER_INDICES_BATCHING = 6,

	PRECISION_OPERANDS = 1,		/* repeated Precision */
	PRECISION_ALGORITHM = 2,	/* Algorithm */

	SOURCE_TARGET_SOURCE = 1,	/* int64 */
	SOURCE_TARGET_TARGET = 2,	/* int64 */

	REPLICA_GROUP_IDS = 1,		/* repeated int64 */
	DEVICE_LIST_GROUPS = 1,		/* repeated ReplicaGroup */
	IOTA_GROUPS = 1,		/* int64 */
	IOTA_GROUP_SIZE = 2,		/* int64 */
	IOTA_RESHAPE_DIMS = 3,		/* repeated int64 */
	IOTA_TRANSPOSE = 4,		/* repeated int32 */
	MESH_LIST_MESH = 1,		/* MeshProto */
	MESH_LIST_AXES = 2,		/* repeated AxisRefProto */
	MESH_AXES = 1,			/* repeated MeshAxis */
	MESH_DEVICE_IDS = 2,		/* repeated int64 */
	MESH_IOTA = 3,			/* IotaTransform */
	MESH_IOTA_RESHAPE = 1,		/* repeated int64 */
	MESH_IOTA_TRANSPOSE = 2,	/* repeated int64 */
	MESH_AXIS_NAME = 1,		/* string */
	MESH_AXIS_SIZE = 2,		/* int64 */
	AXIS_REF_INDEX = 1,		/* int64 */
	AXIS_REF_SUB = 2,		/* SubAxis */
	SUB_AXIS_PRE_SIZE = 1,		/* int64 */
	SUB_AXIS_SIZE = 2,		/* int64 */

	OUTPUT_ALIASING_OUTPUT = 1,	/* repeated int64 */
	OUTPUT_ALIASING_OPERAND = 2,	/* int64 */
	OUTPUT_ALIASING_OPERAND_INDEX = 3, /* repeated int64 */

	RESULT_ACCURACY_MODE = 1,	/* enum: 1 highest */
	RESULT_ACCURACY_TOLERANCE = 2,	/* Tolerance */
	TOLERANCE_ATOL = 1,		/* double */
	TOLERANCE_RTOL = 2,		/* double */
	TOLERANCE_ULPS = 3,		/* int64 */

	REPLICATION_LEAVES = 1,		/* repeated bool */

	SHARDING_TYPE = 1,		/* enum: see text_sharding.c */
	SHARDING_DIMENSIONS = 3,	/* repeated int64 */
	SHARDING_DEVICES = 4,		/* repeated int64 */
	SHARDING_TUPLE = 5,		/* repeated OpSharding */
	SHARDING_REPLICATE_LAST = 6,	/* bool */
	SHARDING_METADATA = 7,		/* repeated OpMetadata */
	SHARDING_LAST_DIMS = 8,		/* repeated Type */
	SHARDING_IOTA_DIMS = 9,		/* repeated int64 */
	SHARDING_IOTA_TRANSPOSE = 10,	/* repeated int32 */
	SHARDING_IS_GROUP = 11,		/* bool */
	SHARDING_GROUP_ID = 12,		/* int64 */
	SHARDING_GROUP_TYPE = 13,	/* enum: 0 as, 1 like */

	STATISTICS_INDEX = 1,		/* int64 */
	STATISTICS_LIST = 2,		/* repeated Statistic {1: name, 2: double} */

	ORIGINAL_VALUE_ELEMENTS = 1,	/* repeated OriginalValueElementProto */
	ORIGINAL_ELEMENT_INDEX = 1,	/* repeated int64 */
	ORIGINAL_ELEMENT_ARRAY = 2,	/* OriginalArrayProto */
	ORIGINAL_ARRAY_INSTRUCTION = 1,	/* string */
	ORIGINAL_ARRAY_INDEX = 2,	/* repeated int64 */

	LITERAL_SHAPE = 1,		/* ShapeProto */
	LITERAL_PREDS = 2,		/* repeated bool */
	LITERAL_TUPLE = 10,		/* repeated LiteralProto; the data of other types: see literal.c */

	FRONTEND_ATTRIBUTES_MAP = 1,	/* map<string, string> */

	OP_METADATA_OP_TYPE = 1,	/* string */
	OP_METADATA_OP_NAME = 2,	/* string */
	OP_METADATA_SOURCE_FILE = 3,	/* string */
	OP_METADATA_SOURCE_LINE = 4,	/* int32 */
	OP_METADATA_PROFILE_TYPE = 5,	/* repeated ProfileType */
	OP_METADATA_DEDUPLICATED_NAME = 12, /* string */
	OP_METADATA_STACK_FRAME_ID = 15, /* int32 */
	OP_METADATA_SCHEDULING_NAME = 16, /* string */
	OP_METADATA_SOURCE_END_LINE = 17, /* int32 */
	OP_METADATA_SOURCE_COLUMN = 18,	/* int32 */
	OP_METADATA_SOURCE_END_COLUMN = 19, /* int32 */

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

	SCHEDULE_SEQUENCES = 1,		/* map<int64, InstructionSequence>, by id of computation */
	SEQUENCE_INSTRUCTION_IDS = 1,	/* repeated int64 */

	ALIASES_ENTRIES = 1,		/* repeated AliasEntryProto */
	ALIAS_OUTPUT_INDEX = 1,		/* repeated int64 */
	ALIAS_PARAMETER = 2,		/* int64 */
	ALIAS_PARAMETER_INDEX = 3,	/* repeated int64 */
	ALIAS_KIND = 4,			/* enum: 1 may, 2 must alias */

	BUFFER_DONOR_ENTRIES = 1,	/* repeated BufferDonorEntryProto */
	DONOR_PARAMETER = 1,		/* int64 */
	DONOR_PARAMETER_INDEX = 2,	/* repeated int64 */

	PROGRAM_SHAPE_PARAMETERS = 1,	/* repeated ShapeProto */
	PROGRAM_SHAPE_RESULT = 2,	/* ShapeProto */

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
