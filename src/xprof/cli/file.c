/* file.c - answers that are files. */
#include "base/write.h"
#include "xprof/cli/xcli.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

static bool take(void *arg, const char *p, size_t n)
{
	struct xcli_file *f = arg;
	if (ss_write_all(f->fd, p, n))
		return true;
	f->error = errno;
	return false;
}

static bool cannot_write(struct xcli *x, const struct xcli_file *f)
{
	return xcli_fail(x, XCLI_INTERNAL, "Cannot write " SS_FMT ": %s", SS_ARG(f->path), strerror(f->error));
}

bool xcli_file_open(struct xcli *x, struct xcli_file *f, const char *name, const char *suffix)
{
	const char *dir = getenv("TMPDIR");
	*f = (struct xcli_file){ .fd = -1 };
	f->path = ss_arena_printf(&x->arena, "%s/%s_XXXXXX%s", dir && *dir ? dir : "/tmp", name, suffix);
	if (!f->path.p)
		return xcli_no_memory(x);
	f->fd = mkstemps((char *)f->path.p, (int)strlen(suffix));
	f->error = errno;
	ss_out_init(&f->out, take, f);
	return f->fd >= 0 || cannot_write(x, f);
}

bool xcli_file_close(struct xcli *x, struct xcli_file *f, bool ok)
{
	struct ss_err why = { 0 };
	if (f->fd < 0)
		return false;
	bool whole = ok && ss_out_finish(&f->out, &why);
	if (close(f->fd) != 0 && whole) {
		f->error = errno;
		whole = false;
	}
	ss_out_free(&f->out);
	if (whole)
		return true;
	unlink(f->path.p);
	if (ok && why.code == SS_ENOMEM)
		return xcli_no_memory(x);
	return ok ? cannot_write(x, f) : false;
}

struct ss_str xcli_file(struct xcli *x, const char *name, const char *suffix, struct ss_str text)
{
	struct xcli_file f;
	if (!xcli_file_open(x, &f, name, suffix))
		return (struct ss_str){ NULL, 0 };
	ss_out_str(&f.out, text);
	return xcli_file_close(x, &f, true) ? f.path : (struct ss_str){ NULL, 0 };
}
