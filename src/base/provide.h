/*
 * provide.h - files that stand in a directory by name and length, and whose bytes come from elsewhere when somebody opens them.
 *
 * Whoever opens a file says so first (ss_file_open does); whoever made the directory brings the bytes. Where nobody did, which is
 * nearly always, the call costs one load.
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
	/* Are they there, in a file of this state? NULL: what was provided stays. */
	bool (*has)(const struct stat *st, uint64_t bytes);
	void *arg;
	struct ss_provider *next;
};

/* It stays with the caller until it is removed; nobody is in it then. */
void ss_provider_add(struct ss_provider *p);
void ss_provider_remove(struct ss_provider *p);
/* The first `bytes` of the file at `path` are about to be read. True also where nobody has to do anything. */
bool ss_provide(const char *path, uint64_t bytes, struct ss_err *err);
/*
 * Has the file that was opened at `path` these bytes? Not where another took its place after they were provided: then they are
 * to be provided once more.
 */
bool ss_provided(const char *path, int fd, uint64_t bytes);
/* Does anybody provide anything? */
bool ss_provides(void);
/*
 * All of these files, several at once; of what fails the first says why, and the rest is tried all the same. After
 * `most_ms`, unless 0, no further one is begun: SS_ELATER.
 */
bool ss_provide_all(const char *const *paths, size_t n, long most_ms, struct ss_err *err);

#endif
