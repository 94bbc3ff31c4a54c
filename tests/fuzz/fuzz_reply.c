/*
 * fuzz_reply.c - any bytes as what a profiler sends: taken in pieces, they leave a run's directory
 * with nothing but whole files of good names in it, or an error. The first byte is how long the
 * pieces are.
 */
#include "capture/reply.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void empty(const char *path)
{
	DIR *d = opendir(path);
	for (const struct dirent *e; d && (e = readdir(d));) {
		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
			continue;
		if (strncmp(e->d_name, "host.", 5) != 0)
			abort();
		unlinkat(dirfd(d), e->d_name, 0);
	}
	if (d)
		closedir(d);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* In memory: on a disk nearly all the time would go into waiting for it. */
	char dir[] = "/dev/shm/fuzz_reply_XXXXXX";
	struct ss_run_dir run;
	struct ss_reply reply;
	struct ss_err err = { 0 };
	if (!size || !mkdtemp(dir))
		return 0;
	if (!ss_run_dir_make(&run, dir, "r", &err))
		abort();
	size_t step = 1 + data[0] % 64;
	bool ok = true;
	ss_reply_init(&reply, &run, "host");
	for (size_t at = 1; ok && at < size; at += step) {
		struct ss_str piece = { (const char *)data + at, size - at < step ? size - at : step };
		ok = ss_reply_take(&reply, piece, size, &err);
	}
	ok = ok && ss_reply_finish(&reply, &err);
	if (!ok && !err.code)
		abort();
	ss_reply_release(&reply);
	empty(run.path.p);
	ss_run_dir_release(&run);
	/* Directories that are empty are gone with it. */
	if (rmdir(dir) != 0)
		abort();
	return 0;
}
