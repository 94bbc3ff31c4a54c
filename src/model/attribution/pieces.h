/*
 * pieces.h - the attribution of a host in full: each piece of time with its step and its owner, for
 * comparisons of two recordings. The pieces are not stored: a reader sums them as they come.
 */
#ifndef SS_MODEL_ATTRIBUTION_PIECES_H
#define SS_MODEL_ATTRIBUTION_PIECES_H

#include "model/attribution/attribution.h"

struct ss_host;

/* The operation and the program that an event on a GPU or on a thread runs, by the event's own stats. */
struct ss_op_ref {
	struct ss_str op, module, path; /* "fusion.3", "jit_step", "jit(step)/mul:mul"; each may be "" */
	uint64_t program_id;		/* 0: unknown */
};

/* The use of a piece of time. */
struct ss_piece_owner {
	enum ss_time_class class;
	const struct ss_plane *plane; /* of the event */
	uint32_t meta;		      /* its name */
	const struct ss_op_ref *ref;  /* NULL: its stats name no operation */
	bool is_op;		      /* an operation or kernel; else a call on a thread */
	bool overhead;		      /* what lies between the operations of a program */
	uint64_t count;		      /* times that it ran within the windows */
};

struct ss_pieces {
	struct ss_host *host;
	const struct ss_time_host *about;	/* windows and what else is known; no subjects */
	const struct ss_line *starter;		/* the thread that starts programs; NULL */
	size_t unit, nunits;			/* which device, of how many */
	struct ss_str device;			/* "/device:TPU:0"; "" for the program on a CPU */
	size_t nowners;				/* of this unit and those before */
	const struct ss_attr_build *build;
};

/* SS_NO_OWNER, of a piece without an owner, has none. */
#define SS_NO_OWNER UINT32_MAX
/* `at` < nowners. */
struct ss_piece_owner ss_pieces_owner(const struct ss_pieces *p, uint32_t at);

struct ss_piece_reader {
	void *arg;
	bool (*begin)(void *arg, const struct ss_pieces *p); /* windows and `starter` are known, units are not */
	bool (*unit)(void *arg, const struct ss_pieces *p); /* its pieces come next */
	/* `step` is an index into the windows, SIZE_MAX between steps. In the order of time. */
	void (*piece)(void *arg, size_t step, uint32_t owner, enum ss_time_class class, uint64_t ps);
	bool (*unit_end)(void *arg, const struct ss_pieces *p);
};

/* Loads the host. A reader's false means that memory is out. */
bool ss_host_pieces(struct ss_host *h, const struct ss_piece_reader *r, struct ss_err *err);

#endif
