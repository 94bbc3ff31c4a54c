/*
 * names.h - what the name of a file says: of which host it is, and whether it is a profile.
 *
 * A profile is `<host>.xplane.pb`, or what tools of other times and houses wrote in its place.
 * Where a host has several, one counts: the one of the least rank.
 */
#ifndef SS_IMPORT_NAMES_H
#define SS_IMPORT_NAMES_H

#include "base/str.h"

#define SS_NO_PROFILE (-1)
#define SS_LAST_XSPACE 2	/* greatest rank of what the profiler itself wrote, packed or not */

/*
 * Rank of a profile of this name, 0 for *.xplane.pb; SS_NO_PROFILE for a file that is not a profile, or
 * has no host.
 */
int ss_profile_rank(struct ss_str name);
/*
 * The same for a file in a run's own directory, which may lack the host's name, as
 * capture_tpu_profile wrote it of a single TPU: "trace", "trace.json.gz".
 */
int ss_profile_rank_in_run(struct ss_str name);
#define SS_UNNAMED_HOST "unnamed"	/* what the host of such a file is called */
/* Does the name say that PyTorch's profiler wrote it: *.pt.trace.json, packed or not? */
bool ss_profile_is_torch(struct ss_str name);
/*
 * When PyTorch's tensorboard_trace_handler wrote the file, as digits:
 * "worker.1790000000123.pt.trace.json" is a span of what "worker" did. "" where the name has no
 * such number.
 */
struct ss_str ss_profile_span(struct ss_str name);
/* The host: the name without what makes it a profile. All of it where nothing does. */
struct ss_str ss_profile_host(struct ss_str name);

#endif
