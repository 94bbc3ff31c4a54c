/*
 * skeleton.h - the data of one host's profile that the analysis of many hosts as one machine needs: for
 * each device its steps, the spans of its operations and its collectives; for the host's threads the
 * input, the launches and the waits.
 *
 * Times are whole ps of the host's own clock, from its recording's start. Nothing here needs
 * another host: what combines hosts (cluster.h) is computed from skeletons alone, whether they come
 * from profiles or from parts (part.h), and so is the same.
 *
 * A skeleton is kept packed (some 3 % of the profile's bytes) and unpacked while it is used.
 */
#ifndef SS_MODEL_CLUSTER_SKELETON_H
#define SS_MODEL_CLUSTER_SKELETON_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"
#include "base/vec.h"
#include "model/cluster/comm_op.h"

struct ss_host;

#define SS_NO_STEP INT64_MIN

/* The kind of an operation. */
enum ss_span_class {
	SS_SPAN_COMPUTE,
	SS_SPAN_COPY,	/* between host and device, outfeed */
	SS_SPAN_COMM,	/* the operation that starts a transfer, or waits for one; send, recv */
	SS_SPAN_COLLECTIVE, /* a whole collective: it stands in the list of them, not among spans */
	SS_SPAN_INPUT,	/* infeed: the device waits for its next batch and takes it */
};

struct ss_skel_op {
	struct ss_str name;	/* of starts and dones that of their collective */
	struct ss_str program;	/* the module's name without its number */
	uint64_t program_id;
	enum ss_span_class cls;
	/* Members of operations that communicate. */
	enum ss_comm kind;
	struct ss_str groups;	/* members.h; of PyTorch "torch:" and what identifies the group */
	uint64_t bytes;
	uint32_t expected;	/* participants, where the recording counts them; else 0 */
};

#define SS_NO_LAUNCH UINT32_MAX

struct ss_skel_span {
	int64_t begin_ps, end_ps;
	uint32_t op;
	uint32_t launch;	/* index into `host`, or SS_NO_LAUNCH */
	uint32_t stream;
};

struct ss_skel_comm {
	int64_t begin_ps, end_ps; /* of an asynchronous one from the begin of its start to the end of its done */
	int64_t step;		/* or SS_NO_STEP */
	int64_t run;		/* of the program's execution; 0: not recorded */
	int64_t seq;		/* within its group, -1: not recorded */
	uint32_t op, launch, stream;
	bool waited;		/* a participant waited for its end, so the end is that of the collective */
	bool async;		/* its start and its done are spans */
};

struct ss_skel_step {
	int64_t num, begin_ps, end_ps;
};

struct ss_skel_device {
	int32_t ordinal;	/* on its host */
	int64_t global;		/* number among all devices, -1: not recorded */
	SS_VEC(struct ss_skel_step) steps;	/* by begin */
	SS_VEC(struct ss_skel_span) spans;	/* by begin */
	SS_VEC(struct ss_skel_comm) comms;	/* by begin */
};

/* A launch that lasts so long, until what it launched is done, waits for it: a copy to memory that is not pinned. */
#define SS_CALL_BLOCKS_PS INT64_C(50000000)

enum ss_skel_host_class { SS_HOST_INPUT_EVENT, SS_HOST_LAUNCH_EVENT, SS_HOST_WAIT_EVENT };

struct ss_skel_host_event {
	int64_t begin_ps, end_ps;
	uint32_t thread;
	enum ss_skel_host_class cls;
};

enum ss_skel_state { SS_SKEL_OK, SS_SKEL_CUT, SS_SKEL_UNREADABLE };

struct ss_skeleton {
	struct ss_str host;	/* as the file is named */
	struct ss_str hostname;	/* as it names itself; "" where it does not */
	struct ss_str run;	/* the run it was found in */
	struct ss_str note;	/* why it is cut or unreadable */
	enum ss_skel_state state;
	bool is_rank;		/* the file is of one process among several of a host */
	bool on_cpu;		/* its devices are threads of the host that run compiled programs */
	int64_t start_unix_ns;	/* of the recording; 0: not recorded */
	uint64_t world;		/* ranks in all; 0: not recorded */
	uint64_t file_bytes;
	SS_VEC(struct ss_skel_op) ops;
	SS_VEC(struct ss_skel_device) devices;	/* by ordinal */
	SS_VEC(struct ss_skel_host_event) events; /* by begin */
	struct ss_arena arena;	/* of texts */
	struct ss_buf unpacked;	/* where those of one that was unpacked lie */
};

/*
 * Read it of an open host, which needs not be loaded. False: memory is out, or a program in it
 * cannot be read.
 */
bool ss_skeleton_read(struct ss_skeleton *s, struct ss_host *h, struct ss_err *err);
void ss_skeleton_free(struct ss_skeleton *s);

/* Append its bytes to `to`. */
bool ss_skeleton_pack(const struct ss_skeleton *s, struct ss_buf *to, struct ss_err *err);
/* Host and run that packed bytes are of, in `arena`, without unpacking the rest. */
bool ss_skeleton_peek(struct ss_str packed, struct ss_arena *arena, struct ss_str *host, struct ss_str *run, struct ss_err *err);
/* All but those: equal for the same recording under two names. */
struct ss_str ss_skeleton_rest(struct ss_str packed);
/* SS_EFORMAT where they are none. */
bool ss_skeleton_unpack(struct ss_skeleton *s, struct ss_str packed, struct ss_err *err);

#endif
