/*
 * tpu_name.h - from the name of a Cloud TPU to the addresses of its profilers, over the Cloud TPU
 * API (GET .../v2/projects/P/locations/Z/nodes/NAME, or v1).
 *
 * Project, zone and the token come from the machine's metadata server where they are not given, as
 * for every program on Google's machines. Environment variables that Google's own tools have lead
 * elsewhere: GCE_METADATA_HOST, CLOUDSDK_API_ENDPOINT_OVERRIDES_TPU, CLOUDSDK_AUTH_ACCESS_TOKEN.
 */
#ifndef SS_CAPTURE_TPU_NAME_H
#define SS_CAPTURE_TPU_NAME_H

#include "base/arena.h"
#include "base/err.h"

struct ss_tpu {
	struct ss_str master;	/* "10.0.0.2:8466" */
	struct ss_str workers;	/* all of them, with commas between them */
	size_t nworkers;
};

/*
 * Texts live in `arena`. SS_ENOTFOUND: there is no such TPU; SS_EIO: no answer; SS_EFORMAT: the answer
 * names no address.
 */
bool ss_tpu_find(const char *name, const char *zone, const char *project, struct ss_arena *arena, struct ss_tpu *out,
		 struct ss_err *err);

/* Addresses with the profiler's port 8466 where the worker's, 8470, stands; "grpc://" is dropped. */
struct ss_str ss_profiler_addresses(struct ss_arena *arena, const char *list);

#endif
