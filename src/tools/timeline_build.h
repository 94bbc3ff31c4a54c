/*
 * timeline_build.h - filling a struct ss_timeline from hits of the index. For trace_viewer.c and
 * timeline.c.
 */
#ifndef SS_TOOLS_TIMELINE_BUILD_H
#define SS_TOOLS_TIMELINE_BUILD_H

#include "base/vec.h"
#include "tools/name_slots.h"
#include "tools/timeline.h"

enum ss_tl_fill {
	SS_TL_GROUPS = 1 << 0,	/* step groups */
	SS_TL_FLOWS = 1 << 1,	/* flows */
	SS_TL_ARGS = 1 << 2,	/* all arguments of all slices; without it only the values of counters */
	SS_TL_EACH_NAME_ONCE = 1 << 3, /* else names of different planes, or of metadata, may be equal */
};

struct ss_timeline_build {
	struct ss_model *m;
	const struct ss_model_trace *mt;
	struct ss_arena *arena;
	struct ss_timeline *tl;
	unsigned fill;
	SS_VEC(struct ss_str) names;
	struct ss_strmap once;	/* with SS_TL_EACH_NAME_ONCE: number of each name */
	struct ss_name_slots slots; /* numbers of names in this answer */
	size_t slice_cap, flow_cap, arg_cap;
};

/* Sections and tracks of all hosts. On failure the build holds nothing. */
bool ss_timeline_begin(struct ss_timeline_build *b, struct ss_model *m, unsigned fill, struct ss_arena *arena,
		       struct ss_err *err);
/* Announce how many slices will come. */
bool ss_timeline_reserve(struct ss_timeline_build *b, size_t nslices, struct ss_err *err);
/*
 * Append the events of one track (numbered within host `h`) at ascending positions. Tracks come in
 * order, hosts in order.
 */
bool ss_timeline_add(struct ss_timeline_build *b, size_t h, uint32_t track, const uint32_t *pos, size_t n,
		     struct ss_err *err);
/* Done, also after a failure: gives scratch memory back. False when memory is out. */
bool ss_timeline_end(struct ss_timeline_build *b);

/* A stat as an argument; raw bytes become text. */
struct ss_tl_value ss_timeline_value(const struct ss_xstat *s);

#endif
