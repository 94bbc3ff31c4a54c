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

#define SS_WHOLE_FILE UINT64_MAX

struct ss_provider {
	struct ss_str below;	/* absolute, links resolved, without "/" at the end: the files below are its own */
	/* The first `bytes` of the file are needed. Called from several threads at once. */
	bool (*provide)(void *arg, const char *path, uint64_t bytes, struct ss_err *err);
	void *arg;
	struct ss_provider *next;
};

/* It stays with the caller until it is removed; nobody is in it then. */
void ss_provider_add(struct ss_provider *p);
void ss_provider_remove(struct ss_provider *p);
/* The first `bytes` of the file at `path` are about to be read. True also where nobody has to do anything. */
bool ss_provide(const char *path, uint64_t bytes, struct ss_err *err);
/* Does anybody provide anything? */
bool ss_provides(void);
/* All of these files, several at once. What fails now says why when it is opened. */
void ss_provide_all(const char *const *paths, size_t n);

#endif
