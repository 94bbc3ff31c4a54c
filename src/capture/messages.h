/*
 * messages.h - requests to a program's profiler, and the parsing of its answers. The numbers are those
 * of tsl/profiler/protobuf/profiler_service.proto, profiler_options.proto and profiler_analysis.proto,
 * package tensorflow.
 */
#ifndef SS_CAPTURE_MESSAGES_H
#define SS_CAPTURE_MESSAGES_H

#include "base/buf.h"

#define SS_METHOD_PROFILE "/tensorflow.ProfilerService/Profile"
#define SS_METHOD_TERMINATE "/tensorflow.ProfilerService/Terminate"
#define SS_METHOD_MONITOR "/tensorflow.ProfilerService/Monitor"
#define SS_METHOD_START_CONTINUOUS "/tensorflow.ProfilerService/StartContinuousProfiling"
#define SS_METHOD_GET_SNAPSHOT "/tensorflow.ProfilerService/GetSnapshot"
#define SS_METHOD_STOP_CONTINUOUS "/tensorflow.ProfilerService/StopContinuousProfiling"
#define SS_METHOD_NEW_SESSION "/tensorflow.ProfileAnalysis/NewSession"
#define SS_METHOD_ENUM_SESSIONS "/tensorflow.ProfileAnalysis/EnumSessions"
#define SS_METHOD_SESSION_TOOL_DATA "/tensorflow.ProfileAnalysis/GetSessionToolData"

enum {
	PROFILE_REQUEST_DURATION_MS = 1,
	PROFILE_REQUEST_MAX_EVENTS = 2,
	PROFILE_REQUEST_TOOLS = 3,
	PROFILE_REQUEST_OPTS = 4,
	PROFILE_REQUEST_REPOSITORY_ROOT = 5,
	PROFILE_REQUEST_SESSION_ID = 6,
	PROFILE_REQUEST_HOST_NAME = 7,
	PROFILE_REQUEST_EMIT_XSPACE = 9,

	PROFILE_OPTIONS_INCLUDE_DATASET_OPS = 1,
	PROFILE_OPTIONS_HOST_TRACER_LEVEL = 2,
	PROFILE_OPTIONS_DEVICE_TRACER_LEVEL = 3,
	PROFILE_OPTIONS_PYTHON_TRACER_LEVEL = 4,
	PROFILE_OPTIONS_VERSION = 5,
	PROFILE_OPTIONS_ENABLE_HLO_PROTO = 7,
	PROFILE_OPTIONS_START_TIMESTAMP_NS = 8,
	PROFILE_OPTIONS_DURATION_MS = 9,
	PROFILE_OPTIONS_REPOSITORY_PATH = 10,
	PROFILE_OPTIONS_ADVANCED = 12,
	PROFILE_OPTIONS_SESSION_ID = 14,
	PROFILE_OPTIONS_OVERRIDE_HOSTNAME = 15,
	ADVANCED_STRING_VALUE = 1,
	ADVANCED_BOOL_VALUE = 2,
	ADVANCED_INT64_VALUE = 3,

	PROFILE_RESPONSE_ENCODED_TRACE = 3,	/* until TensorFlow 2.1: the message Trace */
	PROFILE_RESPONSE_TOOL_DATA = 6,
	PROFILE_RESPONSE_EMPTY_TRACE = 7,
	PROFILE_RESPONSE_XSPACE = 8,
	TOOL_DATA_NAME = 1,
	TOOL_DATA_DATA = 2,

	TERMINATE_REQUEST_SESSION_ID = 1,

	SNAPSHOT_SESSION_ID = 1,

	MONITOR_REQUEST_DURATION_MS = 1,
	MONITOR_REQUEST_LEVEL = 2,
	MONITOR_REQUEST_TIMESTAMP = 3,
	MONITOR_RESPONSE_DATA = 1,

	NEW_SESSION_REQUEST = 1,
	NEW_SESSION_REPOSITORY_ROOT = 2,
	NEW_SESSION_HOSTS = 3,
	NEW_SESSION_SESSION_ID = 4,
	NEW_SESSION_ERROR_MESSAGE = 1,
	NEW_SESSION_EMPTY_TRACE = 2,

	ENUM_REPOSITORY_ROOT = 1,
	ENUM_ERROR_MESSAGE = 1,
	ENUM_SESSIONS = 2,
	SESSION_ID = 1,
	SESSION_TOOLS = 2,

	DATA_REPOSITORY_ROOT = 1,
	DATA_SESSION_ID = 2,
	DATA_TOOL_NAME = 3,
	DATA_PARAMETERS = 4,
	DATA_HOST_NAME = 5,
	DATA_ERROR_MESSAGE = 1,
	DATA_OUTPUT_FORMAT = 2,
	DATA_OUTPUT = 3,
};

/* Options of a profile. */
struct ss_profile_options {
	uint64_t duration_ms;
	uint64_t host_level, device_level, python_level;
	bool include_dataset_ops;
	bool circular_buffer;		/* TPUs: keep the last events instead of the first */
	/* Further options of a profiler, "name=value": a bool, a whole number, or a text. */
	const char *advanced[16];
	size_t nadvanced;
};

/* The default options: 1000 ms, levels 2, 1, 0. */
extern const struct ss_profile_options ss_profile_defaults;

/* One request to profile. Failure is sticky in `out`. */
struct ss_profile_request {
	const struct ss_profile_options *options;
	uint64_t start_unix_ns;		/* 0: at once */
	const char *repository_root;	/* directory of runs */
	const char *session_id;
	const char *host_name;		/* the program names its file by this, */
	const char *override_hostname;	/* or by this, if not NULL */
	bool emit_xspace;		/* send the profile instead of writing it */
};
void ss_put_profile_request(struct ss_buf *out, const struct ss_profile_request *r);

/*
 * The next of a list with commas, without blanks around it and "grpc://" before it; empty members are
 * ignored. False at the list's end.
 */
bool ss_next_target(struct ss_str *list, struct ss_str *one);

#endif
