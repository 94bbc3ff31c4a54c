/*
 * err.h - the one channel for failures.
 *
 * A function that can fail returns bool, true = done, and takes `struct ss_err *err` last. The
 * first failure wins; its text is for the user: lower case, what, where and why, no full stop.
 * `err` may be NULL.
 */
#ifndef SS_BASE_ERR_H
#define SS_BASE_ERR_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

enum ss_errcode {
	SS_OK = 0,
	SS_ENOMEM,	/* an allocation failed */
	SS_EIO,		/* the system refused a file or socket */
	SS_EFORMAT,	/* the bytes are not what they should be */
	SS_ENOTFOUND,	/* no such run, host, tool, event ... */
	SS_EINVAL,	/* the caller's request makes no sense */
	SS_ENODATA,	/* the profile holds no data for the request */
	SS_EBUSY,	/* cancelled, timed out, or too much at once */
	SS_ELATER,	/* it is being fetched: ask again */
};

struct ss_err {
	enum ss_errcode code;
	char text[500];
};

/* Record a failure unless one is recorded already; always returns false. */
bool ss_fail(struct ss_err *err, enum ss_errcode code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* Shorthand for a failed allocation. */
bool ss_fail_mem(struct ss_err *err);

/*
 * Texts of failures use the name that the user gave, not the temporary file or directory of this
 * process: "runs.tgz:run/vm.pb" for /var/tmp/x1/run/vm.pb. The texts are not copied; they must stay
 * valid until the name is removed.
 */
struct ss_path_name {
	const char *path, *shown;
	char between;		/* in place of the slash after `path` */
	struct ss_path_name *next;
};
void ss_path_name_add(struct ss_path_name *n);
void ss_path_name_remove(struct ss_path_name *n);
/* Exchange the paths in a text of another kind, in a buffer of `size` bytes; the end of a text that grows beyond it is cut off. */
void ss_path_names_apply(char *text, size_t size);

/* The same as macros, so that the compiler sees that they return false and does not warn of variables that a
 * failed call left unset. */
static inline bool ss_false(bool told)
{
	(void)told;
	return false;
}
#define ss_fail(...) ss_false((ss_fail)(__VA_ARGS__))
#define ss_fail_mem(err) ss_false((ss_fail_mem)(err))

#endif
