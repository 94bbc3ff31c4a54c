/*
 * part.h - skeletons (cluster/skeleton.h) and facts (facts.h) of some hosts in a file, so that a
 * run of thousands of hosts is read in shards, anywhere, and answered from the parts: the same
 * answers, to the last byte.
 *
 * A part names its session and all hosts of it, so that parts of another run are refused and hosts
 * of a lost part are named. It ends with a checksum. Parts of equal bytes are equal: a retry is
 * harmless.
 */
#ifndef SS_MODEL_REDUCED_PART_H
#define SS_MODEL_REDUCED_PART_H

#include "base/buf.h"
#include "base/vec.h"
#include "model/model.h"
#include "model/reduced/facts.h"

/* The first bytes of a part. */
#define SS_PART_MAGIC "stepscope part 9\n"

/* One host of a part. */
struct ss_part_host {
	uint64_t index;		/* in the session's list of hosts */
	uint64_t digest;	/* of its file */
	struct ss_str path;	/* of its file, as it was opened */
	uint64_t file_bytes, ndropped;
	struct ss_str packed;	/* skeleton.h */
	struct ss_host_facts facts;	/* behind the skeletons of all hosts, where equal ones stand together; none: "" */
	struct ss_str *notes;	/* what its file lacks */
	uint64_t nnotes;
};

struct ss_shard {
	uint64_t index, count;	/* shard index of count */
	struct ss_str run, label; /* the run, and the hosts, as answers name them */
	struct ss_str *hosts;	/* of the whole session, in natural order */
	uint64_t nhosts;
	SS_VEC(struct ss_part_host) v; /* by index */
	struct ss_arena arena;	/* of lists */
	struct ss_buf bytes;	/* of one that was read, inflated: texts borrow from them */
};

bool ss_shard_write(const struct ss_shard *s, struct ss_buf *to, struct ss_err *err);
/* SS_EFORMAT where the bytes are no part, damaged, or of another version. They may go then. */
bool ss_shard_read(struct ss_shard *s, struct ss_str bytes, struct ss_err *err);
void ss_shard_free(struct ss_shard *s);

/*
 * A model that answers from parts; `s` outlives it. The facts that are gathered of many hosts
 * (model/facts) can be asked of it.
 */
bool ss_model_init_shard(struct ss_model *m, const struct ss_shard *s, struct ss_err *err);

#endif
