/*
 * dcn.h - transfers between the slices of a multislice TPU job over the data center network, from
 * the device's point of view.
 *
 * A transfer is four operations of a program that share a rendezvous: send, send-done, recv,
 * recv-done. Between the begin of send and the begin of recv-done the network has time to work; the
 * time of the other transfer operations in between does not count, for the core waits in them. What
 * remains is the slack. Only the first TensorCore is looked at: all cores of a slice run the same
 * program.
 *
 * Needs the compiled program in the profile: names and sizes stand nowhere else.
 */
#ifndef SS_MODEL_MEGASCALE_DCN_H
#define SS_MODEL_MEGASCALE_DCN_H

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

struct ss_host;
struct ss_plane;

/*
 * One rendezvous on one host, or on all hosts. Times are means over its occurrences, in
 * microseconds.
 */
struct ss_dcn {
	struct ss_str rendezvous, recv_name, send_name, transfer_type;
	uint64_t slack_us, stall_us, observed_us;
	uint64_t send_us, send_done_us, recv_us, recv_done_us;
	uint64_t occurrences;
	uint64_t net_bytes;	/* sent by one participant, once */
};

/* Has the host events of such transfers? Needs the host opened only. */
bool ss_host_has_dcn(const struct ss_host *h);
/* All rendezvous of a host, by name. */
struct ss_host_dcn {
	struct ss_dcn *v;
	size_t n;
};

/* Part of the host; read from the operations and programs of the first TensorCore (partial_read.h). NULL on failure. */
const struct ss_host_dcn *ss_host_dcn(struct ss_host *h, struct ss_err *err);

#endif
