/*
 * fuzz_html.c - any bytes as a profile, exported as one file of HTML: a page, or a reason. Nothing of the profile
 * ends the element that holds the answers, and what it holds is JSON.
 */
#include "fuzz/mutate.h"
#include "wire/json.h"

#include "export_html.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char dir[200], path[240];

static void remove_files(void)
{
	unlink(path);
	rmdir(dir);
}

static void put(const uint8_t *data, size_t size)
{
	if (!path[0]) {
		bool memory = access("/dev/shm", W_OK) == 0;
		snprintf(dir, sizeof(dir), "%s/stepscope-fuzz-html-%d", memory ? "/dev/shm" : "/tmp", (int)getpid());
		snprintf(path, sizeof(path), "%s/host.xplane.pb", dir);
		mkdir(dir, 0700);
		atexit(remove_files);
	}
	unlink(path); /* another file, with another number */
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0 || write(fd, data, size) != (ssize_t)size || close(fd) != 0)
		abort();
}

static void check(struct ss_str page)
{
	const struct ss_str begin = SS_STR("id=\"saved\">\n"), end = SS_STR("\n</script>\n<script>\n");
	size_t from = ss_str_find(page, begin);
	if (from == SS_NPOS)
		abort();
	struct ss_str rest = ss_str_sub(page, from + begin.n, page.n);
	size_t to = ss_str_find(rest, end);
	if (to == SS_NPOS || ss_str_chr(rest, '<') != to + 1)
		abort();
	struct ss_jsonr r = ss_jsonr_of(ss_str_sub(rest, 0, to));
	struct ss_jtok t;
	size_t depth = 0;
	do {
		if (!ss_jsonr_next(&r, &t))
			abort();
		depth += t.kind == SS_J_OBJECT || t.kind == SS_J_ARRAY;
		depth -= t.kind == SS_J_END;
	} while (depth);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct ss_err err = { 0 };
	struct ss_out out;
	if (!size)
		return 0;
	put(data, size);
	ss_out_init(&out, NULL, NULL);
	bool ok = cli_export_html(path, &out, &err);
	if (ok)
		check((struct ss_str){ out.buf, out.n });
	else if (!err.code || !err.text[0])
		abort();
	ss_out_free(&out);
	return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
	return mutate_message(data, size, max, seed);
}
