/*
 * fail_alloc.c - every tool with every allocation failing in turn.
 *
 *	fail_alloc DIR [MAX_BYTES]
 *
 * For n = 1, 2, 3, ... the n-th allocation of "open the profile and run the tool" fails, until none is left to fail. Each time the tool must
 * say so, or do without and give the very same answer; nothing may be leaked; and once there is memory again, the same
 * open profile must answer as if nothing had happened.
 */
#include "sweep/drive.h"
#include "sweep/hook.h"

#include <stdio.h>
#include <stdlib.h>

enum {
	EACH = 400,	/* every single one up to here, */
	PART = 40,	/* then a fortieth further at a time: later ones repeat the same places */
};

static bool complain(const struct sample *s, const struct ss_tool *tool, size_t n, const char *what)
{
	printf("%s %s, allocation %zu: %s\n", s->path, tool->name, n, what);
	return false;
}

/* One run with the n-th allocation failing; *done when it was not reached. */
static bool try_nth(const struct sample *s, const struct ss_tool *tool, size_t n, uint64_t want, bool *done)
{
	static struct drive d;
	struct ss_err err = { 0 }, again = { 0 };
	size_t before = hook_live_bytes();
	uint64_t got = 0;
	bool good = true, ok;

	hook_arm(n);
	ok = drive_open(&d, s->bytes, &err);
	if (ok) {
		ok = drive_run(&d, tool, &got, &err);
		*done = !hook_fired();
		hook_arm(0);
		if (ok && got != want)
			good = complain(s, tool, n, "another answer");
		if (!ok && (!drive_run(&d, tool, &got, &again) || got != want))
			good = complain(s, tool, n, again.code ? again.text : "another answer afterwards");
		drive_close(&d);
	}
	hook_arm(0);
	if (!ok && err.code != SS_ENOMEM)
		good = complain(s, tool, n, err.code ? err.text : "failed without a reason");
	if (hook_live_bytes() != before)
		good = complain(s, tool, n, "leak");
	return good;
}

/* A tool that has no answer for this profile is none of our business here. */
static bool answer(const struct sample *s, const struct ss_tool *tool, uint64_t *digest)
{
	static struct drive d;
	struct ss_err err = { 0 };
	bool ok;

	if (!drive_open(&d, s->bytes, &err))
		return false;
	ok = drive_run(&d, tool, digest, &err);
	drive_close(&d);
	return ok;
}

static bool sweep(const struct sample *s, const struct ss_tool *tool)
{
	uint64_t want = 0;
	bool done = false, good = true;

	if (!answer(s, tool, &want))
		return true;
	for (size_t n = 1; !done && good; n += n < EACH ? 1 : n / PART)
		good = try_nth(s, tool, n, want, &done);
	return good;
}

int main(int argc, char **argv)
{
	struct samples samples = samples_load(argc > 1 ? argv[1] : ".", argc > 2 ? (size_t)atoi(argv[2]) : 12 << 10);
	unsigned passed = 0, failed = 0;

	for (size_t i = 0; i < samples.n; i++)
		for (size_t k = 0; ss_tools[k]; k++) {
			if (sweep(&samples.v[i], ss_tools[k]))
				passed++;
			else
				failed++;
		}
	samples_free(&samples);
	printf("%u passed, %u failed\n", passed, failed);
	return failed || !passed;
}
