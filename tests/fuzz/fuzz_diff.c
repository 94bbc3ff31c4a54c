/*
 * fuzz_diff.c - two profiles, fields 1 (base) and 2 (new) of a message: compared in every way there
 * is, and put into a history. Several of a field are several runs of the side.
 */
#include "diff/result.h"
#include "diff/track.h"
#include "emit/json.h"
#include "fuzz/mutate.h"
#include "model/host/host.h"
#include "model/model.h"
#include "wire/pb.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define RUNS 4	/* of both sides */

struct run {
	struct ss_host host;
	struct ss_model model;
	bool open, init;
};

static void must_say(bool ok, const struct ss_err *err)
{
	if (!ok && (!err->code || !err->text[0]))
		abort();
}

static bool read_run(struct run *r, struct ss_str bytes, struct ss_diff_run *to, struct ss_err *err)
{
	static const struct ss_diff_selection all = { .some_steps = false };
	struct ss_host *hosts[] = { &r->host };

	r->open = ss_host_open_bytes(&r->host, bytes, "fuzz.xplane.pb", err);
	r->init = r->open && ss_model_init(&r->model, hosts, 1, err);
	return r->init && ss_diff_run_read(to, &r->model, SS_STR("run"), &all, err);
}

static void close_run(struct run *r)
{
	if (r->init)
		ss_model_release(&r->model);
	if (r->open)
		ss_host_close(&r->host);
}

static void compare(struct ss_diff_run *base, size_t nbase, struct ss_diff_run *new, size_t nnew, enum ss_diff_by by)
{
	struct ss_diff d = { .base = { .runs = base, .n = nbase }, .new = { .runs = new, .n = nnew } };
	struct ss_arena arena = { 0 };
	struct ss_result result;
	struct ss_err err = { 0 };
	struct ss_out out;

	ss_result_init(&result, &arena);
	ss_out_init(&out, NULL, NULL);
	bool ok = ss_diff_compare(&d, &err) && ss_diff_result(&d, by, &result, &err);
	must_say(ok, &err);
	if (ok && !ss_diff_emit_json(&out, &d, &result, SS_STR("diff"), SS_STR("")))
		abort();
	ss_out_free(&out);
	ss_diff_free(&d);
	ss_arena_release(&arena);
}

static char history[200];

static void remove_history(void)
{
	unlink(history);
}

/* A new one for each input: what an input finds must not depend on those before it. */
static const char *new_history(void)
{
	struct stat st;
	if (!history[0]) {
		bool memory = stat("/dev/shm", &st) == 0 && access("/dev/shm", W_OK) == 0;
		snprintf(history, sizeof(history), "%s/stepscope-fuzz-diff-%d.db", memory ? "/dev/shm" : "/tmp", (int)getpid());
		atexit(remove_history);
	}
	unlink(history);
	return history;
}

static void keep(const struct ss_diff_run *run)
{
	const struct ss_track_label label = { SS_STR("branch"), SS_STR("main") };
	struct ss_arena arena = { 0 };
	struct ss_result result;
	struct ss_track_change sum = { 0 };
	struct ss_track_filter all = { NULL, 0, NULL, 0 };
	struct ss_err err = { 0 };
	struct ss_track t;
	bool known = false;

	ss_result_init(&result, &arena);
	bool ok = ss_track_open(&t, new_history(), true, &err);
	for (int i = 0; ok && i < 3; i++) {
		char hash[8];
		snprintf(hash, sizeof(hash), "%d", i % 2);
		ok = ss_track_add(&t, &(struct ss_track_run){ run, ss_str_from(hash), SS_STR("run"), i, &label, 1 }, &known, &err);
	}
	ok = ok && ss_track_result(&t, &all, 5, &result, &sum, &err);
	must_say(ok, &err);
	if (ok && (!known || sum.runs != 2))
		abort();
	ss_track_close(&t);
	ss_arena_release(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct run runs[RUNS];
	static struct ss_diff_run sides[2][RUNS];
	size_t n[2] = { 0, 0 }, nruns = 0;
	struct ss_pb c = ss_pb_of((struct ss_str){ (const char *)data, size });
	struct ss_pb_field f;

	while (nruns < RUNS && ss_pb_next(&c, &f)) {
		struct ss_err err = { 0 };
		size_t side = f.key == PB_LEN(2);
		if (f.key != PB_LEN(1) && f.key != PB_LEN(2))
			continue;
		struct ss_diff_run *to = &sides[side][n[side]];
		*to = (struct ss_diff_run){ .typical = 0 };
		runs[nruns] = (struct run){ .open = false };
		bool ok = read_run(&runs[nruns++], f.bytes, to, &err);
		must_say(ok, &err);
		n[side] += ok;
		if (!ok)
			ss_diff_run_release(to);
	}
	if (n[0])
		keep(&sides[0][0]);
	for (int by = 0; n[0] && n[1] && by < SS_DIFF_BY_COUNT; by++)
		compare(sides[0], n[0], sides[1], n[1], (enum ss_diff_by)by);
	for (size_t side = 0; side < 2; side++)
		while (n[side])
			ss_diff_run_release(&sides[side][--n[side]]);
	while (nruns)
		close_run(&runs[--nruns]);
	return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
	return mutate_message(data, size, max, seed);
}
