/*
 * partial_read.h - some events of a host, read without the others.
 *
 * Loading a host reads every event and finds the step of each. A request for a few lines, or for
 * events of a few names, needs neither. A partial read is a copy of the host's planes with only the
 * selected lines and events; the bytes of other lines are not read. It is a part of the host: made
 * once, then shared.
 *
 * Events are those of the file: only the step groups in the file, TPU steps in their parts, nothing
 * added or derived. A partial read is therefore the same whether or not the host is loaded.
 */
#ifndef SS_MODEL_HOST_PARTIAL_READ_H
#define SS_MODEL_HOST_PARTIAL_READ_H

#include "model/host/part.h"
#include "model/host/plane.h"

/* The selection to read; a member that is NULL selects everything. It must be a constant, because the first request decides. */
struct ss_partial_read {
	bool (*plane)(const struct ss_plane *p);
	bool (*line)(struct ss_str name);
	/* By metadata of the plane. Events without metadata are not read then. */
	bool (*event)(const struct ss_plane *p, uint32_t meta);
	/* Only lines with an event that may have it, of its own or from its metadata; SS_STAT_OTHER: all lines. */
	enum ss_stat stat;
	/* In the order begin ascending, longer first, as loading leaves the lines of TPUs; else the file's. */
	bool in_time;
};

/* An array of the host's planes in their order; it lives as long as the host. NULL on failure. */
const struct ss_plane *ss_host_read_partially(struct ss_host *h, enum ss_host_part part, const struct ss_partial_read *what,
				       struct ss_err *err);

/* The same for one reader only, which frees it. NULL on failure. */
struct ss_partial;
struct ss_partial *ss_host_read_once(struct ss_host *h, const struct ss_partial_read *what, struct ss_err *err);
const struct ss_plane *ss_partial_planes(const struct ss_partial *p);
/* The events of this plane are no longer needed. */
void ss_partial_forget(struct ss_partial *p, uint32_t plane);
void ss_partial_free(struct ss_partial *p);

#endif
