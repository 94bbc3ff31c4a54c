/* torch_build.h - the stages in which torch.h's part is made, for its own files. */
#ifndef SS_MODEL_TORCH_TORCH_BUILD_H
#define SS_MODEL_TORCH_TORCH_BUILD_H

#include "base/buf.h"
#include "model/torch/torch.h"

struct ss_host;

/* An arrow ends at a device event. */
struct ss_torch_arrow {
	uint32_t device;
	uint64_t link;
};

#define SS_LINK_ARROW (UINT64_C(1) << 63)

struct ss_torch_build {
	struct ss_torch *t;
	struct ss_host *h;
	SS_VEC(uint64_t) op_ids;	/* External id of each operator, 0: none */
	SS_VEC(uint64_t) call_ids;	/* the same of calls */
	SS_VEC(uint64_t) device_ids;	/* and of device events */
	SS_VEC(uint64_t) call_links, device_links; /* correlations, 0: none; of calls without one their arrow (SS_LINK_ARROW) */
	SS_VEC(struct ss_torch_arrow) device_arrows; /* by device event */
	struct ss_u64map shape_of;	/* (dims, types) to shape */
	SS_VEC(uint32_t) open;		/* scratch: a stack */
	struct ss_u64map frame_of;	/* (parent, name) to frame */
	struct ss_u64map path_of;	/* (path of the parent, name) to path of a module */
	struct ss_buf text;		/* scratch */
};

/* The content of the file, thread by thread. */
bool ss_torch_read(struct ss_torch_build *b, struct ss_err *err);
/* Connects operators, calls and device events, and sums the times of operators. False when memory is out. */
bool ss_torch_nest(struct ss_torch_build *b);
bool ss_torch_find_steps(struct ss_torch *t);

#endif
