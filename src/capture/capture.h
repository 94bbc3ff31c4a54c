/*
 * capture.h - taking a profile of running programs: all hosts at once, with one start time, into one
 * run of a log directory.
 *
 * A program sends its profile, which is written here as it comes, or writes it by itself where it
 * reaches the log directory (older ones, and gs://). What some hosts give is kept when others fail; the
 * failures are reported with their reasons.
 */
#ifndef SS_CAPTURE_CAPTURE_H
#define SS_CAPTURE_CAPTURE_H

#include "capture/messages.h"
#include "capture/reply.h"
#include "rpc/grpc_client.h"

enum ss_capture_end {
	SS_CAPTURE_WAITING,
	SS_CAPTURE_KEPT,	/* its files are in the run */
	SS_CAPTURE_ELSEWHERE,	/* it says it has written them, where we do not see them */
	SS_CAPTURE_EMPTY,	/* nothing happened in the program while it was profiled */
	SS_CAPTURE_FAILED,
};

struct ss_capture_host {
	const char *target;	/* as given, without grpc:// */
	const char *name;	/* in the run, instead of it; NULL: as the target */
	struct ss_str stem;	/* of its files */
	enum ss_capture_end end;
	struct ss_grpc_status status;	/* why it FAILED */
	struct ss_reply reply;	/* its files: reply.kept */
	struct ss_grpc_channel *channel;
	struct ss_grpc_call *call;
	struct ss_buf request;
};

struct ss_capture {
	struct ss_run_dir dir;
	struct ss_capture_host *hosts;
	size_t nhosts;
	unsigned attempt;	/* from 1 */
	bool cancelled;
	int64_t begin_ns;	/* of this attempt, monotonic */
	char *targets, *names;	/* what hosts' targets and names point into */
};

enum ss_capture_mode {
	SS_CAPTURE_SEND,	/* the program sends; one that cannot may write */
	SS_CAPTURE_WRITE,	/* the program writes */
	SS_CAPTURE_SNAPSHOT,	/* it sends what continuous profiling has gathered, and goes on gathering */
};

struct ss_capture_config {
	const char *targets;		/* "host:port,host:port" */
	const char *logdir;
	const char *run;		/* NULL: named by the time */
	const char *names;		/* of the hosts in the run, as many as targets; NULL: as they are called */
	struct ss_profile_options options;
	uint64_t delay_ms;
	unsigned attempts;		/* 0: 1. While no host has a trace */
	uint64_t timeout_ms;		/* of an attempt; 0: the usual */
	enum ss_capture_mode mode;
	const struct ss_tls *tls;
	const char *token;
	int wake_fd;			/* readable: cancel. -1: none */
	/* Called now and then (with `host` NULL) and when a host has ended. May be NULL. */
	void (*progress)(void *arg, const struct ss_capture *c, const struct ss_capture_host *host);
	void *progress_arg;
};

/*
 * False when no host gave anything: SS_EINVAL for a request that makes no sense, SS_EBUSY when it
 * was cancelled, SS_ENODATA when nothing was traced, else SS_EIO; the hosts say more. To be released
 * either way, which removes the run's directory if nothing is in it.
 */
bool ss_capture_run(struct ss_capture *c, const struct ss_capture_config *config, struct ss_err *err);
void ss_capture_release(struct ss_capture *c);
/* The time limit of an attempt: usually the delay, twice the duration and two minutes. */
int64_t ss_capture_timeout_ns(const struct ss_capture_config *config);
/* Hosts whose profile was taken. */
size_t ss_capture_count(const struct ss_capture *c, enum ss_capture_end end);

#endif
