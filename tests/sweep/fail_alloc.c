/*
 * fail_alloc.c - every tool with every allocation failing in turn.
 *
 *	fail_alloc DIR [STRIDE]
 *
 * For n = 1, 2, 3, ... the n-th allocation of "open the profile and run the tool" fails, until none
 * is left to fail. With a stride only every so manyth, beginning elsewhere for each sample and
 * question: most places in the code are reached by many of them, so few are missed. Each time the
 * tool must say so, or do without and give the very same answer; nothing may be leaked; and once
 * there is memory again, the same open profile must answer as if nothing had happened.
 */
#include "sweep/drive.h"
#include "sweep/hook.h"

#include <stdio.h>
#include <stdlib.h>

enum {
	SMALL_BYTES = 12 << 10,	/* of a sample that every tool is tried on */
	EACH = 120,	/* every single one up to here, */
	PART = 20,	/* then a twentieth further at a time: later ones repeat the same places */
};

/* Which allocations fail. */
struct schedule {
	size_t stride;
	size_t begun;	/* sweeps so far */
};

static size_t first_of(struct schedule *s)
{
	return 1 + s->begun++ % s->stride;
}

static size_t next_of(const struct schedule *s, size_t n)
{
	size_t part = n < EACH ? 1 : n / PART;

	return n + (part > s->stride ? part : s->stride);
}

static bool complain(const struct sample *s, const struct ss_tool *tool, size_t n, const char *what)
{
	printf("%s %s, allocation %zu: %s\n", s->path, tool->name, n, what);
	return false;
}

static bool open_sample(struct drive *d, const struct sample *s, bool visited, struct ss_err *err)
{
	return visited ? drive_open_visited(d, s, err) : drive_open(d, s, s->bytes, err);
}

/* One run with the n-th allocation failing; *done when it was not reached. */
static bool try_nth(const struct sample *s, bool visited, const struct ss_tool *tool, const struct drive_question *question,
		    size_t n, uint64_t want, bool *done)
{
	static struct drive d;
	struct ss_err err = { 0 }, again = { 0 };
	size_t before = hook_live_bytes();
	uint64_t got = 0;
	bool good = true, ok;

	hook_arm(n);
	ok = open_sample(&d, s, visited, &err);
	if (ok) {
		ok = drive_run(&d, tool, question, &got, &err);
		*done = !hook_fired();
		hook_arm(0);
		if (ok && got != want)
			good = complain(s, tool, n, "another answer");
		if (!ok && (!drive_run(&d, tool, question, &got, &again) || got != want))
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

static bool answer(const struct sample *s, bool visited, const struct ss_tool *tool, const struct drive_question *question,
		   uint64_t *digest, bool *refused)
{
	static struct drive d;
	struct ss_err err = { 0 };
	bool ok;

	if (!open_sample(&d, s, visited, &err))
		return false;
	ok = drive_run(&d, tool, question, digest, &err);
	drive_close(&d);
	*refused |= !ok && err.code == SS_EINVAL;
	return ok;
}

/* False with *good unchanged when the tool has nothing to say about this sample. */
static bool sweep(const struct sample *s, bool visited, const struct ss_tool *tool, const struct drive_question *question,
		  struct schedule *which, bool *good, bool *refused)
{
	uint64_t want = 0;
	bool done = false;

	if (!answer(s, visited, tool, question, &want, refused))
		return false;
	for (size_t n = first_of(which); !done && *good; n = next_of(which, n))
		*good = try_nth(s, visited, tool, question, n, want, &done);
	return true;
}

/*
 * All small samples, or, where the tool has no answer for any, the smallest of the others that it
 * answers; `small` 0: the smallest that it answers, for questions that differ little from the
 * first.
 */
static bool sweep_tool(const struct samples *samples, const struct ss_tool *tool, const struct drive_question *question,
		       struct schedule *which, size_t small)
{
	bool good = true, any = false, refused = false;

	for (size_t i = 0; i < samples->n && good; i++)
		if (drive_fits(&samples->v[i], tool) && (samples->v[i].bytes.n <= small || !any))
			any |= sweep(&samples->v[i], false, tool, question, which, &good, &refused);
	/* The smallest one once more, as two hosts that are opened one after the other. */
	bool visits = small && tool->flags & SS_TOOL_VISITS;
	for (size_t i = 0; i < samples->n && good && visits; i++)
		if (drive_fits(&samples->v[i], tool))
			visits = !sweep(&samples->v[i], true, tool, question, which, &good, &refused);
	if (!any && refused)	/* a timeline is no CSV */
		return good;
	if (!any)
		printf("%s %s: no sample has data for it, so nothing was tested\n", tool->name, question->params);
	return good && any;
}

static int by_size(const void *a, const void *b)
{
	size_t na = ((const struct sample *)a)->bytes.n, nb = ((const struct sample *)b)->bytes.n;

	return (na > nb) - (na < nb);
}

int main(int argc, char **argv)
{
	struct samples samples = samples_load(argc > 1 ? argv[1] : ".", 1 << 20);
	struct schedule which = { .stride = argc > 2 && atoi(argv[2]) > 0 ? (size_t)atoi(argv[2]) : 1 };
	unsigned passed = 0, failed = 0;

	if (samples.n)
		qsort(samples.v, samples.n, sizeof(*samples.v), by_size);
	for (size_t i = 0, k = 0; ss_tools[i]; k++) {
		const struct drive_question *question = drive_question(ss_tools[i], k);

		if (!question) {	/* on to the next tool; k becomes 0 */
			i++;
			k = SIZE_MAX;
		} else if (sweep_tool(&samples, ss_tools[i], question, &which, k ? 0 : SMALL_BYTES)) {
			passed++;
		} else {
			failed++;
		}
	}
	samples_free(&samples);
	printf("%u passed, %u failed\n", passed, failed);
	return failed || !passed;
}
