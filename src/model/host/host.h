/*
 * host.h - the profile of one host: its file, opened, and the parts derived from it. What it consists of
 * stands in plane.h, so that what reads planes and lines alone does not depend on this.
 *
 * A host has two states. Opened: planes, lines and metadata are indexed, and no event is read
 * (names, tool list). Loaded: the events of every line are columns, events are grouped into steps, and
 * the steps of a GPU are a line after the file's own lines (preprocess/preprocess.h; the other derived
 * lines are only for display, see display_lines.h). Loading happens once, at the first ss_host_load
 * (preprocess/load.h); afterwards the host is immutable and may be read by any number of threads.
 *
 * Times are ps since the start of the session. Strings borrow from the mapped file or the host's
 * arena.
 */
#ifndef SS_MODEL_HOST_HOST_H
#define SS_MODEL_HOST_HOST_H

#include "base/arena.h"
#include "base/buf.h"
#include "model/host/part.h"
#include "xspace/xspace.h"

struct ss_plane;

/* A group of events that belong to one step, request or run. */
struct ss_group {
	struct ss_str name;	/* "train 3", or the number */
	bool implicit;		/* the root is a framework event, not the user's marker */
	int64_t *parents, *children; /* group ids, ascending */
	uint32_t nparents, nchildren;
};

enum ss_source_state {
	SS_HOST_IS_OPEN,
	SS_HOST_IS_DESCRIBED,	/* not opened: ss_host_describe */
	SS_HOST_IS_UNREADABLE,	/* the file is not a profile: ss_host_open_among */
	SS_HOST_IS_RAW,		/* a file of another kind: only x.file and the name are set */
};

/* The source that a selection names. */
struct ss_host_source {
	enum ss_source_state state;
	const char *top;	/* of a described host: the directory that links must not leave, or NULL */
	uint64_t file_bytes;	/* of the file as it was opened */
	int64_t file_mtime_ns;
};

/* The result of importing a file in another format. */
struct ss_host_import {
	bool any;		/* the file was in another format */
	bool launch_ops;	/* GPU operations are the events around launches, such as NVTX ranges, without name scopes */
	bool cut;		/* the file ends early (in an XSpace, its planes record this) */
	unsigned categories;	/* a bit per enum ss_kineto (import/kineto.h) that its texts name */
	const char *form;	/* the format: "a trace of Perfetto"; NULL: not imported */
	struct ss_buf space;
	struct ss_hold *hold;	/* counts the memory of `space` and its events */
};

struct ss_host {
	struct ss_str name;	/* file name without ".xplane.pb" or the like */
	struct ss_host_source source;
	struct ss_host_import imported;
	/* The open host. */
	struct ss_xspace x;
	struct ss_plane *planes; /* parallel to x.planes */
	uint32_t nplanes;
	bool preprocessed;	/* the file had been preprocessed by its writer */
	struct ss_group *groups; /* index = group id; empty when preprocessed */
	uint32_t ngroups;
	uint64_t nevents;	/* after loading */
	_Atomic uint64_t ndropped; /* largest number of events that a reader could not read so far */
	_Atomic uint64_t nclipped; /* likewise, events whose end exceeds 64 bits */
	unsigned threads;	/* threads for work on this host only; 0: one per core */
	struct ss_part parts[SS_HOST_PART_COUNT];
	struct ss_arena arena;	/* written while opening and loading only */
};

/* Open `path`, an XSpace or what import.h makes one of; the host's name is the file's. */
bool ss_host_open(struct ss_host *h, const char *path, struct ss_err *err);
/* The same for a path below the directory `top`, which links must not leave; NULL: any path. */
bool ss_host_open_below(struct ss_host *h, const char *top, const char *path, struct ss_err *err);
/*
 * Open one host of several. A file that cannot be read as a profile becomes a host without planes, with
 * the reason as its note and in `why`, so that the other hosts are shown. False: out of memory.
 */
bool ss_host_open_among(struct ss_host *h, const char *top, const char *path, struct ss_err *why, struct ss_err *err);
bool ss_host_open_bytes(struct ss_host *h, struct ss_str bytes, const char *name, struct ss_err *err);
/* Open an XSpace, whatever its name is. */
bool ss_host_open_space(struct ss_host *h, struct ss_str bytes, const char *path, struct ss_err *err);
/*
 * Describe a profile without opening it: sets name, path and size, in the host's arena. False: out of
 * memory.
 */
bool ss_host_describe(struct ss_host *h, const char *top, const char *path, uint64_t file_bytes);
/*
 * Open a file that is not a profile: it is mapped (x.file) and named, and has no plane. The second
 * function takes bytes that stay with the caller.
 */
bool ss_host_open_raw(struct ss_host *h, const char *top, const char *path, struct ss_str name, struct ss_err *err);
bool ss_host_open_raw_bytes(struct ss_host *h, struct ss_str bytes, const char *name, struct ss_err *err);
/* Add a note that so many events could not be read. */
void ss_host_note_losses(struct ss_host *h, uint64_t dropped, uint64_t clipped);
/* Free the events of all lines. */
void ss_host_free_events(struct ss_host *h);
void ss_host_close(struct ss_host *h);

/* Of an opened host: has it a device, or threads that run operations of compiled programs? */
bool ss_host_runs_programs(const struct ss_host *h);
/*
 * Of an opened host: does it mark so many steps, on a line of a TPU, or by events with different
 * numbers? If none is found among the first events of the host, it may.
 */
bool ss_host_marks_steps(const struct ss_host *h, size_t least);

#endif
