/*
 * transfers.h - what a TensorCore sends to other cores and receives from them: events of the
 * operations send, send-done, recv and recv-done, by the channel that both ends name.
 *
 * The channel stands in the operation's text; transfers from and to the host are none of these.
 */
#ifndef SS_MODEL_DEVICE_TRANSFERS_H
#define SS_MODEL_DEVICE_TRANSFERS_H

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

struct ss_host;
struct ss_model;

enum ss_transfer_kind { SS_SEND, SS_SEND_DONE, SS_RECV, SS_RECV_DONE };

struct ss_transfer {
	int64_t channel;
	int64_t group; /* the core's step group */
	enum ss_transfer_kind kind;
	int64_t begin_ps, end_ps;
	struct ss_str name;	/* of the operation */
	struct ss_str expression;
};

/* The transfers of one core. Core ids are those of steps.h: in a model they include the host, in one host they do not. */
struct ss_core_transfers {
	uint32_t core_id;
	struct ss_transfer *v;
	size_t n;
};

struct ss_all_transfers {
	struct ss_core_transfers *cores; /* by core_id; all that transfer something */
	size_t n;
};

/* The transfers of the TensorCores of one host (SS_HOST_SENT), in the order of their planes. */
struct ss_host_transfers {
	struct ss_core_transfers *cores;
	size_t n;
	struct ss_arena arena;
};

const struct ss_host_transfers *ss_host_transfers(struct ss_host *h, struct ss_err *err);
/* The transfers of all TensorCores (SS_MODEL_TRANSFERS). */
const struct ss_all_transfers *ss_model_transfers(struct ss_model *m, struct ss_err *err);

/*
 * The source from which device number `target` receives, by the operation's text:
 * "source_target_pairs={{0,1},{1,0}}". SS_SOURCE_NONE: it lists pairs, but none for this target.
 */
enum ss_transfer_source { SS_SOURCE_UNSAID, SS_SOURCE_NONE, SS_SOURCE_SAID };
enum ss_transfer_source ss_transfer_source(struct ss_str expression, uint64_t target, uint64_t *source);

#endif
