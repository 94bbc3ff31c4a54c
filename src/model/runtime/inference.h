/*
 * inference.h - requests to a served model and the batches they were executed in, of one host.
 *
 * A request is an event group whose root is a session run (of TensorFlow, TFRT, a serving
 * framework) or the user's own marker; a batch is a group whose root is ProcessBatch. Where
 * requests are batched, a request's events are those of its group and of its batches.
 */
#ifndef SS_MODEL_RUNTIME_INFERENCE_H
#define SS_MODEL_RUNTIME_INFERENCE_H

#include "base/intern.h"

struct ss_host;
struct ss_model;

/* Kinds of work in a request; of two at the same time the later in this list counts. */
enum ss_serve_work {
	SS_SERVE_IDLE,		/* nothing known between the first and the last known work */
	SS_SERVE_PREPROCESS,	/* begin of the request until the host calls the device */
	SS_SERVE_POSTPROCESS,	/* after the device's last answer */
	SS_SERVE_BATCHING,	/* from scheduling to the concatenation of the batch's inputs */
	SS_SERVE_RUNTIME,	/* from the call until the program is enqueued */
	SS_SERVE_TO_DEVICE,
	SS_SERVE_FROM_DEVICE,
	SS_SERVE_COMPUTE,
	SS_SERVE_WORK_COUNT
};

struct ss_inference_request {
	int64_t id;		/* group */
	struct ss_str model;	/* "" if unknown */
	/*
	 * It belongs to the batching layer or has the user's marker, so its model is named
	 * elsewhere, perhaps outside of the recording. A session run that names no model has none.
	 */
	bool of_some_model;
	int64_t begin_ps, end_ps;
	int64_t delay_ps;	/* until its first batch began */
	int64_t size;		/* tasks in it, as the batching layer was told */
	uint64_t work_ps[SS_SERVE_WORK_COUNT];
	uint32_t pattern;	/* of tensors copied, into patterns; SS_NONE: none */
	uint64_t pattern_ps;	/* what these copies took */
	uint32_t first_batch, nbatches; /* into related */
};

struct ss_batch {
	int64_t id;
	struct ss_str model;
	int64_t begin_ps, end_ps;
	int64_t delay_ps;	/* since its earliest request began */
	int64_t padding, size_after_padding;
	uint64_t compute_ps;
	uint32_t pattern;
	uint64_t pattern_ps;
	uint32_t first_program, nprograms; /* into programs: ids of what ran on the device, each once */
};

/* Parameters of the batching layer, as texts. */
struct ss_batching_params {
	bool known;
	struct ss_str threads, max_batch_size, timeout_us, max_enqueued, allowed_sizes;
};

/*
 * The configuration of the batching layer of a host: for every model that has batches there, and for "ALL", the name of all
 * models together if no host names them.
 */
struct ss_batching_model {
	struct ss_str model;
	struct ss_batching_params params;
};

struct ss_batching {
	struct ss_batching_model *v;
	size_t n;
};

struct ss_inference {
	struct ss_inference_request *requests;	/* by id */
	uint32_t nrequests;
	struct ss_batch *batches;	/* by id */
	uint32_t nbatches;
	uint32_t *related;		/* of requests: indices into batches */
	uint32_t nrelated;
	struct ss_str *programs;
	uint32_t nprograms;
	struct ss_str *patterns;	/* tensor_patterns.h */
	uint32_t npatterns;
	uint64_t ncut;			/* events not credited, see inference.c */
	struct ss_arena arena;
};

/* The same, read once and kept (SS_HOST_REQUESTS); loads the host. */
const struct ss_inference *ss_host_inference(struct ss_host *h, struct ss_err *err);

/* Part of the host; loads it where it may have requests. */
const struct ss_batching *ss_host_batching(struct ss_host *h, struct ss_err *err);

/* A copy of it in the arena of the keeper, which alone it lives in. False when memory is out. */
bool ss_inference_intern(struct ss_inference *to, const struct ss_inference *from, struct ss_intern *intern);

/* Parts of the time of one request, in ms. */
struct ss_latency {
	double total, device, communication;
	bool named;		/* the request is one to a model, if only we knew to which */
};

struct ss_latencies {
	struct ss_latency *v; /* by total, then by device */
	size_t n;
};

/*
 * Latencies of the requests to all hosts (SS_MODEL_REQUESTS), except hosts that compute gradients, because a program in training
 * serves no requests. If any request or batch names its model, requests without a model are left out.
 */
const struct ss_latencies *ss_model_latencies(struct ss_model *m, struct ss_err *err);

/*
 * Might the opened host have requests, or batches? By its names alone: one without need not be
 * loaded. False when memory is out, too.
 */
bool ss_host_may_have_requests(const struct ss_host *h);

/* Reads a loaded host. Release with ss_inference_release, also after a failure. */
bool ss_inference_read(struct ss_inference *out, const struct ss_host *h, struct ss_err *err);
void ss_inference_release(struct ss_inference *inf);
#endif
