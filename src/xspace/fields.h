/*
 * fields.h - field numbers of the XSpace messages under their proto names (package
 * tensorflow.profiler, xplane.proto).
 */
#ifndef SS_XSPACE_FIELDS_H
#define SS_XSPACE_FIELDS_H

enum {
	XSPACE_PLANES = 1,		/* repeated XPlane */
	XSPACE_ERRORS = 2,		/* repeated string */
	XSPACE_WARNINGS = 3,		/* repeated string */
	XSPACE_HOSTNAMES = 4,		/* repeated string */

	XPLANE_ID = 1,			/* int64 */
	XPLANE_NAME = 2,		/* string */
	XPLANE_LINES = 3,		/* repeated XLine */
	XPLANE_EVENT_METADATA = 4,	/* map<int64, XEventMetadata> */
	XPLANE_STAT_METADATA = 5,	/* map<int64, XStatMetadata> */
	XPLANE_STATS = 6,		/* repeated XStat */

	XLINE_ID = 1,			/* int64 */
	XLINE_NAME = 2,			/* string */
	XLINE_TIMESTAMP_NS = 3,		/* int64 */
	XLINE_EVENTS = 4,		/* repeated XEvent */
	XLINE_DURATION_PS = 9,		/* int64 */
	XLINE_DISPLAY_ID = 10,		/* int64 */
	XLINE_DISPLAY_NAME = 11,	/* string */

	XEVENT_METADATA_ID = 1,		/* int64 */
	XEVENT_OFFSET_PS = 2,		/* int64, oneof data */
	XEVENT_DURATION_PS = 3,		/* int64 */
	XEVENT_STATS = 4,		/* repeated XStat */
	XEVENT_NUM_OCCURRENCES = 5,	/* int64, oneof data */

	XSTAT_METADATA_ID = 1,		/* int64 */
	XSTAT_DOUBLE_VALUE = 2,		/* double, oneof value up to ref_value */
	XSTAT_UINT64_VALUE = 3,		/* uint64 */
	XSTAT_INT64_VALUE = 4,		/* int64 */
	XSTAT_STR_VALUE = 5,		/* string */
	XSTAT_BYTES_VALUE = 6,		/* bytes */
	XSTAT_REF_VALUE = 7,		/* uint64: id of a stat metadata whose name is the string */

	XEVENT_METADATA_META_ID = 1,	/* int64 */
	XEVENT_METADATA_NAME = 2,	/* string */
	XEVENT_METADATA_DISPLAY_NAME = 4, /* string */
	XEVENT_METADATA_STATS = 5,	/* repeated XStat */
	XEVENT_METADATA_CHILD_ID = 6,	/* repeated int64 */
	XEVENT_METADATA_NAME_IN_FILE = 24001, /* string; ours: the name in the converted trace, where `name` is another */

	XSTAT_METADATA_META_ID = 1,	/* int64 */
	XSTAT_METADATA_NAME = 2,	/* string */
};

#endif
