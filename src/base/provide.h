/*
 * provide.h - files that are in a directory by name and length, and whose bytes come from another place
 * when they are opened.
 *
 * * * * Whoever opens a file says so first (ss_file_open does); the maker of the directory provides the
 * bytes. Without a provider, the usual case, the call costs one load.
 */
#ifndef SS_BASE_PROVIDE_H
#define SS_BASE_PROVIDE_H

#include "base/err.h"
#include "base/str.h"

#include <sys/stat.h>

#define SS_WHOLE_FILE UINT64_MAX

struct ss_provider {
	struct ss_str below;	/* absolute, links resolved, without "/" at the end: the files below are its own */
	/* The first `bytes` of the file are needed. Called from several threads at once. */
	bool (*provide)(void *arg, const char *path, uint64_t bytes, struct ss_err *err);
	/* Are the bytes there, in a file of this state? NULL: the provided bytes stay. */
	bool (*has)(const struct stat *st, uint64_t bytes);
	void *arg;
	struct ss_provider *next;
};

/* It stays with the caller until it is removed; no thread is in the callback then. */
void ss_provider_add(struct ss_provider *p);
void ss_provider_remove(struct ss_provider *p);
/* The first `bytes` of the file at `path` are about to be read. True also if no provider is set. */
bool ss_provide(const char *path, uint64_t bytes, struct ss_err *err);
/*
 * Has the file that was opened at `path` these bytes? Not where another took its place after they were provided: then they are
 * to be provided once more.
 */
bool ss_provided(const char *path, int fd, uint64_t bytes);
/* Does anybody provide the file at this path, or the files below it? */
bool ss_provides(struct ss_str path);
/*
 * The first `bytes` of all of these files, several at once; of what fails the first says why, and the rest is tried all the
 * same. After `most_ms`, unless 0, no further one is begun: SS_ELATER.
 */
bool ss_provide_all(const char *const *paths, size_t n, uint64_t bytes, long most_ms, struct ss_err *err);

#endif
