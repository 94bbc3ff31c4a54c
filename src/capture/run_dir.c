/* run_dir.c - directories and files of a run in the making. */
#include "capture/run_dir.h"

#include "base/file.h"
#include "base/write.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* A name that is one component of a path and not hidden. */
static bool is_plain(struct ss_str s)
{
	if (!s.n || s.n > 200 || s.p[0] == '.')
		return false;
	for (size_t i = 0; i < s.n; i++)
		if (s.p[i] == '/' || (unsigned char)s.p[i] < 0x20 || s.p[i] == 0x7f)
			return false;
	return true;
}

static bool make_root(struct ss_run_dir *d, struct ss_err *err)
{
	struct ss_str path = ss_arena_printf(&d->arena, SS_FMT "/", SS_ARG(d->root));
	if (!path.p)
		return ss_fail_mem(err);
	return ss_make_dirs_above((char *)(uintptr_t)path.p, &d->made) ||
	       ss_fail(err, SS_EIO, "cannot make the directory '%s': %s", path.p, strerror(errno));
}

static struct ss_str now_name(struct ss_arena *a, unsigned again)
{
	char text[64] = "";
	time_t now = time(NULL);
	struct tm tm;
	if (localtime_r(&now, &tm))
		strftime(text, sizeof(text), "%Y_%m_%d_%H_%M_%S", &tm);
	return again ? ss_arena_printf(a, "%s_%u", text, again) : ss_arena_printf(a, "%s", text);
}

/* The last component, new or, where it was named, at least there. */
static bool make_run(struct ss_run_dir *d, const char *run, struct ss_err *err)
{
	for (unsigned again = 0; again < 100; again++) {
		d->run = run ? ss_arena_str(&d->arena, ss_str_from(run)) : now_name(&d->arena, again);
		d->path = ss_arena_printf(&d->arena, SS_FMT "/" SS_FMT, SS_ARG(d->root), SS_ARG(d->run));
		if (!d->run.p || !d->path.p)
			return ss_fail_mem(err);
		if (mkdir(d->path.p, 0777) == 0) {
			d->made++;
			return true;
		}
		if (errno == EEXIST && run)
			return access(d->path.p, W_OK | X_OK) == 0 ||
			       ss_fail(err, SS_EIO, "cannot write to '%s': %s", d->path.p, strerror(errno));
		if (errno != EEXIST)
			break;
	}
	return ss_fail(err, SS_EIO, "cannot make the directory '%s': %s", d->path.p, strerror(errno));
}

static struct ss_str absolute(struct ss_arena *a, const char *path)
{
	char *cwd = path[0] == '/' ? NULL : getcwd(NULL, 0);
	struct ss_str s = cwd ? ss_arena_printf(a, "%s/%s", cwd, path) : ss_arena_printf(a, "%s", path);
	free(cwd);
	while (s.p && s.n > 1 && s.p[s.n - 1] == '/')
		s.n--;
	return s;
}

bool ss_run_dir_make(struct ss_run_dir *d, const char *logdir, const char *run, struct ss_err *err)
{
	*d = (struct ss_run_dir){ .remote = strstr(logdir, "://") };
	if (!logdir[0])
		return ss_fail(err, SS_EINVAL, "the log directory has no name");
	if (run && !is_plain(ss_str_from(run)))
		return ss_fail(err, SS_EINVAL, "'%s' is not a valid run name: use letters, digits, '_', '-' and '.'", run);
	struct ss_str top = d->remote ? ss_str_from(logdir) : absolute(&d->arena, logdir);
	d->root = ss_arena_printf(&d->arena, SS_FMT "/plugins/profile", SS_ARG(top));
	if (!top.p || !d->root.p)
		return ss_fail_mem(err);
	if (d->remote) {
		d->run = run ? ss_arena_str(&d->arena, ss_str_from(run)) : now_name(&d->arena, 0);
		d->path = ss_arena_printf(&d->arena, SS_FMT "/" SS_FMT, SS_ARG(d->root), SS_ARG(d->run));
		return (d->run.p && d->path.p) || ss_fail_mem(err);
	}
	if (make_root(d, err) && make_run(d, run, err))
		return true;
	ss_run_dir_release(d);
	return false;
}

bool ss_run_dir_has(const struct ss_run_dir *d, const char *name)
{
	char path[PATH_MAX];
	struct stat st;
	int n = snprintf(path, sizeof(path), "%s/%s", d->path.p, name);
	return !d->remote && n > 0 && (size_t)n < sizeof(path) && stat(path, &st) == 0;
}

void ss_run_dir_release(struct ss_run_dir *d)
{
	/* From the run upwards; the first that is not empty ends it. */
	struct ss_str at = d->path.p ? d->path : d->root;
	for (; d->made && at.p && rmdir(at.p) == 0; d->made--) {
		size_t slash = ss_str_rchr(at, '/');
		if (slash == SS_NPOS || slash == 0)
			break;
		((char *)(uintptr_t)at.p)[slash] = '\0';
		at.n = slash;
	}
	ss_arena_release(&d->arena);
	*d = (struct ss_run_dir){ 0 };
}

bool ss_new_file_open(struct ss_new_file *f, const struct ss_run_dir *d, struct ss_err *err)
{
	char hidden[PATH_MAX];
	mode_t mask = umask(0);
	umask(mask);
	f->bytes = 0;
	f->draft.fd = -1;
	int n = snprintf(hidden, sizeof(hidden), "%s/.part-", d->path.p);
	if (n < 0 || (size_t)n >= sizeof(hidden))
		return ss_fail(err, SS_EINVAL, "the log directory's name is too long");
	return ss_draft_open(&f->draft, hidden, 0666 & ~mask) ||
	       ss_fail(err, SS_EIO, "cannot write to '%s': %s", d->path.p, strerror(errno));
}

bool ss_new_file_write(struct ss_new_file *f, struct ss_str bytes, struct ss_err *err)
{
	while (bytes.n) {
		ssize_t n = write(f->draft.fd, bytes.p, bytes.n);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return ss_fail(err, SS_EIO, "cannot write the profile to disk after %llu bytes: %s",
				       (unsigned long long)f->bytes, strerror(n < 0 ? errno : ENOSPC));
		f->bytes += (uint64_t)n;
		bytes = ss_str_sub(bytes, (size_t)n, bytes.n);
	}
	return true;
}

/* The names of the directories that are new. */
static void sync_names(const struct ss_run_dir *d)
{
	char path[PATH_MAX];
	snprintf(path, sizeof(path), "%s", d->path.p);
	for (unsigned i = 0; i < d->made && path[1]; i++) {
		char *slash = strrchr(path, '/');
		slash[slash == path] = '\0';
		ss_dir_sync(path);
	}
}

bool ss_new_file_keep(struct ss_new_file *f, const struct ss_run_dir *d, const char *name, struct ss_err *err)
{
	char path[PATH_MAX];
	int n = snprintf(path, sizeof(path), "%s/%s", d->path.p, name);
	if (n < 0 || (size_t)n >= sizeof(path)) {
		ss_new_file_drop(f);
		return ss_fail(err, SS_EINVAL, "the name of the file is too long");
	}
	if (!ss_draft_keep(&f->draft, path, false))
		return errno == EEXIST ? ss_fail(err, SS_EINVAL, "'%s' is there already: choose another --session_id", path) :
					 ss_fail(err, SS_EIO, "cannot write '%s': %s", path, strerror(errno));
	sync_names(d);
	return true;
}

void ss_new_file_drop(struct ss_new_file *f)
{
	ss_draft_drop(&f->draft);
}

struct ss_str ss_host_file_stem(struct ss_arena *a, const char *host_name)
{
	struct ss_str s = ss_arena_str(a, ss_str_from(host_name));
	for (size_t i = 0; s.p && i < s.n; i++) {
		char *c = (char *)(uintptr_t)&s.p[i];
		if (*c == ':' || *c == '/' || *c == '[' || *c == ']' || (unsigned char)*c <= ' ' || (*c == '.' && i == 0))
			*c = '_';
	}
	return s;
}
