/* err.c - recording the first failure. */
#include "base/err.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

static pthread_rwlock_t names_lock = PTHREAD_RWLOCK_INITIALIZER;
static struct ss_path_name *names;

void ss_path_name_add(struct ss_path_name *n)
{
	pthread_rwlock_wrlock(&names_lock);
	n->next = names;
	names = n;
	pthread_rwlock_unlock(&names_lock);
}

void ss_path_name_remove(struct ss_path_name *n)
{
	pthread_rwlock_wrlock(&names_lock);
	struct ss_path_name **at = &names;
	while (*at && *at != n)
		at = &(*at)->next;
	if (*at)
		*at = n->next;
	pthread_rwlock_unlock(&names_lock);
}

/* One path in the text; a text that becomes too long is cut at its end. */
static void rename_path(char *text, size_t size, const struct ss_path_name *n)
{
	size_t path_n = strlen(n->path), shown_n = strlen(n->shown);
	for (char *at = text; (at = strstr(at, n->path)); at += shown_n) {
		char *rest = at + path_n;
		if (*rest == '/')
			*rest = n->between;
		size_t room = size - (size_t)(at - text);
		if (shown_n + 1 > room)
			return;
		size_t rest_n = strlen(rest);
		rest_n = rest_n > room - shown_n - 1 ? room - shown_n - 1 : rest_n;
		memmove(at + shown_n, rest, rest_n);
		memcpy(at, n->shown, shown_n);
		at[shown_n + rest_n] = 0;
	}
}

/* A child of a process that was changing the names at its fork never gets the lock, and says the paths as they are. */
void ss_path_names_apply(char *text, size_t size)
{
	if (pthread_rwlock_tryrdlock(&names_lock) != 0)
		return;
	for (const struct ss_path_name *n = names; n; n = n->next)
		rename_path(text, size, n);
	pthread_rwlock_unlock(&names_lock);
}

bool (ss_fail)(struct ss_err *err, enum ss_errcode code, const char *fmt, ...)
{
	if (!err || err->code)
		return false;
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(err->text, sizeof(err->text), fmt, ap);
	va_end(ap);
	ss_path_names_apply(err->text, sizeof(err->text));
	err->code = code;
	return false;
}

bool (ss_fail_mem)(struct ss_err *err)
{
	return ss_fail(err, SS_ENOMEM, "out of memory");
}
