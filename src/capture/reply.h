/*
 * reply.h - a ProfileResponse as it comes in: the profile and the files in it go to disk piece by
 * piece, nothing long is ever held.
 */
#ifndef SS_CAPTURE_REPLY_H
#define SS_CAPTURE_REPLY_H

#include "capture/run_dir.h"

/* The destination of the bytes of a field. */
enum ss_reply_to { SS_TO_NOBODY, SS_TO_NAME, SS_TO_XSPACE, SS_TO_TRACE, SS_TO_TOOL };

struct ss_reply {
	const struct ss_run_dir *dir;
	const char *stem;	/* files are called <stem>.<name> */
	struct ss_new_file xspace, trace, tool;
	struct {
		char *path[32];	/* files that are whole, relative to the run; freed with the rest */
		size_t n;
	} kept;
	bool empty_trace;
	uint64_t bytes;		/* of files */
	/* The parser's place. */
	uint64_t at;		/* in the message */
	uint64_t sub_end;	/* end of the ProfileToolData we are in; 0: in none */
	uint64_t left;		/* bytes of the field's value */
	enum { SS_AT_KEY, SS_AT_VARINT, SS_AT_LENGTH, SS_AT_BYTES } state;
	uint64_t varint;
	unsigned shift;
	uint32_t key;
	enum ss_reply_to to;
	char name[256];
	size_t name_n;
};

/* `dir` and `stem` outlive it. */
void ss_reply_init(struct ss_reply *r, const struct ss_run_dir *dir, const char *stem);
/* For ss_grpc_call_config.sink, with the reply as its argument. */
bool ss_reply_take(void *arg, struct ss_str piece, uint64_t total, struct ss_err *err);
/* After the last piece: gives the profile its name. SS_EFORMAT when the message is cut short. */
bool ss_reply_finish(struct ss_reply *r, struct ss_err *err);
/* Removes incomplete files; complete ones, which have their name, stay. */
void ss_reply_release(struct ss_reply *r);
/* The same, and the stored part of this answer is removed, because the answer failed. */
void ss_reply_undo(struct ss_reply *r);

#endif
