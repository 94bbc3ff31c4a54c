/*
 * provide.h - files of a directory that have their name and length, and whose bytes are fetched
 * when they are opened.
 *
 * Code that opens a file announces it first (ss_file_open does); the code that made the directory
 * provides the bytes. Without a provider, the usual case, the call costs one load.
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
 * Has the file that was opened at `path` these bytes? False if another file replaced it after they
 * were provided: provide them again.
 */
bool ss_provided(const char *path, int fd, uint64_t bytes);
/* Does anybody provide the file at this path, or the files below it? */
bool ss_provides(struct ss_str path);
/*
 * Provide the first `bytes` of all these files, several at once. If some fail, the first failure is
 * reported, and the others are still tried. After `most_ms`, unless 0, no further file is begun:
 * SS_ELATER.
 */
bool ss_provide_all(const char *const *paths, size_t n, uint64_t bytes, long most_ms, struct ss_err *err);

#endif
