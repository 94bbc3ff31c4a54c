/*
 * file.h - a file's bytes, mapped read-only.
 *
 * * * The mapping is private. If another process shortens the file while it is mapped, reading past the
 * new end raises SIGBUS. A program that calls ss_file_guard survives it: missing bytes then read as
 * zeros, and ss_file_torn reports it afterwards.
 */
#ifndef SS_BASE_FILE_H
#define SS_BASE_FILE_H

#include "base/err.h"
#include "base/str.h"

struct ss_guarded;

struct ss_file {
	struct ss_str bytes;
	int64_t mtime_ns;	/* since the Unix epoch */
	struct ss_guarded *guard; /* where the mapping is known to ss_file_guard; NULL: it is none */
	bool borrowed;		/* another owner has the bytes: closing does not free them */
};

bool ss_file_open(struct ss_file *f, const char *path, struct ss_err *err);
/*
 * The same of a path below the directory `top`, which links do not lead out of (below.h); NULL: any
 * path.
 */
bool ss_file_open_below(struct ss_file *f, const char *top, const char *path, struct ss_err *err);
/* The same; only the first `bytes` are read: of a file that lies elsewhere (provide.h) no more is fetched. */
bool ss_file_open_begin(struct ss_file *f, const char *top, const char *path, uint64_t bytes, struct ss_err *err);
/* The file that is open as `fd`, which stays with the caller. */
bool ss_file_of_fd(struct ss_file *f, int fd);
void ss_file_close(struct ss_file *f);
/*
 * Write a directory itself to the disk: the names that were made in it. What the system cannot do
 * is left.
 */
void ss_dir_sync(const char *path);
/* Has a part of the mapping turned out to be gone? Answers made of it are worth nothing. */
bool ss_file_torn(const struct ss_file *f);
/* Take SIGBUS for the whole process. To be called once, by a program, never by a library. */
void ss_file_guard(void);
/*
 * Tell the system that `part` of the mapping is not needed for now: resident memory falls, the
 * bytes stay readable. Bounds the memory of a pass over a large file.
 */
void ss_file_forget(const struct ss_file *f, struct ss_str part);

#endif
