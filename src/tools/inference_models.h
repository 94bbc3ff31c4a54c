/*
 * inference_models.h - requests to served models and their batches, by model, of all hosts that a
 * request names. For inference_profile.
 */
#ifndef SS_TOOLS_INFERENCE_MODELS_H
#define SS_TOOLS_INFERENCE_MODELS_H

#include "base/map.h"
#include "base/vec.h"
#include "model/runtime/inference.h"
#include "tools/tool.h"

/* Numbers of requests and batches; the last is computed from two others and is not stored. */
enum served_value {
	V_LATENCY, V_DELAY, V_SIZE, V_PREPROCESS, V_FORMATION, V_RUNTIME, V_H2D, V_D2H, V_COMPUTE, V_POSTPROCESS, V_IDLE,
	V_PADDING, V_BATCH_SIZE, V_EFFICIENCY, V_COUNT
};

/* A request or a batch as numbers, times in ps. */
struct served_item {
	int64_t id, begin_ps, end_ps;
	int64_t v[V_EFFICIENCY];
	const struct ss_str *programs;
	uint32_t nprograms;
};

struct served_link {
	uint32_t request;	/* index into requests */
	int64_t batch_size;
};

/* One request or batch that had tensors copied. */
struct served_copy {
	struct ss_str pattern;
	uint64_t dur_ps;
};

struct served_model {
	struct ss_str name;
	SS_VEC(struct served_copy) copied;
	SS_VEC(struct served_item) requests;
	SS_VEC(struct served_item) batches;
	SS_VEC(struct served_link) links; /* requests by the sizes of their batches */
	struct ss_batching_params params;
};

struct served_models {
	SS_VEC(struct served_model) v;
	struct ss_strmap by_name;
	bool has_patterns;
	uint64_t ncut, nunnamed; /* intervals and requests that were left out */
};

/* Without any request there is one model, "ALL". The caller frees it, after a failure too. */
bool ss_served_models_read(struct served_models *m, const struct ss_request *q, struct ss_result *out, struct ss_err *err);
void ss_served_models_free(struct served_models *m);

#endif
