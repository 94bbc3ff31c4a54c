/* read_lines.h - reading the events of many lines in parallel. */
#ifndef SS_MODEL_HOST_READ_LINES_H
#define SS_MODEL_HOST_READ_LINES_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ss_host;
struct ss_line;
struct ss_plane;

struct ss_line_read {
	const struct ss_plane *plane;
	struct ss_line *line;		/* its src says what to read */
	const uint8_t *wanted;		/* as for ss_xevents_load_some */
};

/* Fills the lines; puts the jobs into another order. On failure lines read before are the caller's to free. */
bool ss_read_lines(struct ss_host *h, struct ss_line_read *reads, size_t n, struct ss_err *err);

/*
 * A line of the file, by its place, with its events as reading them would give them. NULL: the host
 * is not loaded, or preprocessing has sorted the events, or added some.
 */
const struct ss_line *ss_line_as_read(struct ss_host *h, uint32_t plane, uint32_t line);
/* A line with the events of such a line, which must outlive it. */
struct ss_line ss_line_borrow(const struct ss_line *l);

#endif
