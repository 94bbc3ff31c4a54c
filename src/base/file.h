/*
 * file.h - a file's bytes, mapped read-only.
 *
 * The mapping is private. If another process shortens the file while it is mapped, reading past the
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
 * The same for a path below the directory `top`, from which links must not lead out (below.h);
 * NULL: any path.
 */
bool ss_file_open_below(struct ss_file *f, const char *top, const char *path, struct ss_err *err);
/* The same; only the first `bytes` will be read, so no more of a remote file (provide.h) is fetched. */
bool ss_file_open_begin(struct ss_file *f, const char *top, const char *path, uint64_t bytes, struct ss_err *err);
/* The file that is open as `fd`, which stays with the caller. */
bool ss_file_of_fd(struct ss_file *f, int fd);
void ss_file_close(struct ss_file *f);
/*
 * Write the entries of a directory to the disk. Does nothing if the system cannot do it.
 */
void ss_dir_sync(const char *path);
/* Was a part of the mapping missing when it was read? Answers that were computed from it are then invalid. */
bool ss_file_torn(const struct ss_file *f);
/* Handle SIGBUS for the whole process. Called once, by a program, never by a library. */
void ss_file_guard(void);
/*
 * Tell the system that `part` of the mapping is not needed for now: resident memory falls, the
 * bytes stay readable. Bounds the memory of a pass over a large file.
 */
void ss_file_forget(const struct ss_file *f, struct ss_str part);

#endif
