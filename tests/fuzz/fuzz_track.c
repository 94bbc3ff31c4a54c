/* fuzz_track.c - any bytes as the file of a history of runs: shown and added to, or a reason. */
#include "diff/track.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char path[200];

static void remove_file(void)
{
	unlink(path);
}

static bool put(const uint8_t *data, size_t size)
{
	struct stat st;
	if (!path[0]) {
		bool memory = stat("/dev/shm", &st) == 0 && access("/dev/shm", W_OK) == 0;
		snprintf(path, sizeof(path), "%s/stepscope-fuzz-%d.db", memory ? "/dev/shm" : "/tmp", (int)getpid());
		atexit(remove_file);
	}
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	bool ok = fd >= 0 && write(fd, data, size) == (ssize_t)size;
	return fd >= 0 && close(fd) == 0 && ok;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct ss_track_label where = { SS_STR_INIT("branch"), SS_STR_INIT("main") };
	struct ss_diff_op ops[] = { { .name = SS_STR("a"), .us.mean = 1 }, { .name = SS_STR("b"), .us.mean = 2 } };
	struct ss_diff_fact facts[] = { { SS_STR("program"), SS_STR("jit_step") } };
	struct ss_str parameters[] = { SS_STR("f32[2,3]") };
	struct ss_diff_memory memory[] = { { SS_STR("peak"), 1000 } };
	struct ss_diff_run run = { .ops = { .v = ops, .n = SS_COUNT(ops) }, .facts = { .v = facts, .n = SS_COUNT(facts) },
				   .parameters = { .v = parameters, .n = 1 }, .memory = { .v = memory, .n = 1 } };
	const struct ss_track_filter filters[] = { { NULL, 0, NULL, 0 }, { NULL, 0, &where, 1 } };
	struct ss_err err = { 0 };
	struct ss_track t;
	bool known = false;

	if (!put(data, size))
		return 0;
	bool ok = ss_track_open(&t, path, size % 2, &err);
	for (size_t i = 0; ok && i < SS_COUNT(filters); i++) {
		struct ss_arena arena = { 0 };
		struct ss_result result;
		struct ss_track_change sum = { 0 };
		ss_result_init(&result, &arena);
		ok = ss_track_result(&t, &filters[i], 5, &result, &sum, &err);
		ss_arena_release(&arena);
	}
	ok = ok && ss_track_add(&t, &(struct ss_track_run){ &run, SS_STR("hash"), SS_STR("run"), 1, &where, 1 }, &known, &err);
	if (!ok && (!err.code || !err.text[0]))
		abort();
	ss_track_close(&t);
	return 0;
}
