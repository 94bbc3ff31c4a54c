/*
 * cut_and_flip.c - every tool on damaged profiles: each sample cut short at many places, and with
 * bits flipped.
 *
 *	cut_and_flip DIR [CUTS FLIPS]	per sample; by default 24 cuts and 24 flips
 *
 * The answer is a table or a sentence; never a crash, a hang (SIGALRM), a leak, memory out of
 * proportion to the file, or bytes read beyond its end (each input lies in memory of its own size,
 * under AddressSanitizer).
 */
#include "sweep/drive.h"
#include "sweep/hook.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum {
	SMALL = 40 << 10,	/* samples up to this size are damaged as often as asked, */
	LARGE = 500 << 10,	/* up to this size a sixth as often */
	HANG_S = 60,		/* a single damaged input takes milliseconds */
	BASE_BYTES = 8 << 20,	/* what may be held whatever the input, */
	PER_BYTE = 256,		/* and for each byte of it */
};

struct tally {
	unsigned passed, failed;
};

static uint64_t rnd(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15u;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

/* NULL, or what is wrong with how this input was treated. */
static const char *try_tools(const struct sample *s, struct ss_str bytes)
{
	static struct drive d;
	struct ss_err err = { 0 };
	const char *wrong = NULL;
	uint64_t digest;

	if (!drive_open(&d, s, bytes, &err))
		return err.code && err.text[0] ? NULL : "refused without a reason";
	for (size_t i = 0, k = 0; ss_tools[i] && !wrong; k++) {
		const struct drive_question *question = drive_question(ss_tools[i], k);
		struct ss_err why = { 0 };

		if (!question || !drive_fits(s, ss_tools[i])) {	/* on to the next tool; k becomes 0 */
			i++;
			k = SIZE_MAX;
		} else if (!drive_run(&d, ss_tools[i], question, &digest, &why) && !(why.code && why.text[0])) {
			wrong = ss_tools[i]->name;
		}
	}
	drive_close(&d);
	return wrong;
}

static void check(const struct sample *s, const char *how, size_t at, struct ss_str bytes, struct tally *t)
{
	size_t before = hook_live_bytes();
	const char *wrong;

	hook_arm(0);
	alarm(HANG_S);
	wrong = try_tools(s, bytes);
	alarm(0);
	if (!wrong && hook_live_bytes() != before)
		wrong = "leak";
	if (!wrong && hook_peak_bytes() - before > BASE_BYTES + PER_BYTE * bytes.n)
		wrong = "memory out of proportion";
	if (!wrong) {
		t->passed++;
		return;
	}
	t->failed++;
	printf("%s %s at %zu: %s (peak %zu bytes, held %zu)\n", s->path, how, at, wrong,
		hook_peak_bytes() - before, hook_live_bytes() - before);
}

static char *copy_of(struct ss_str s)
{
	char *p = malloc(s.n ? s.n : 1);

	if (!p)
		abort();
	memcpy(p, s.p, s.n);
	return p;
}

static void cut(const struct sample *s, unsigned cuts, struct tally *t)
{
	for (unsigned k = 0; k < cuts; k++) {
		struct ss_str part = { s->bytes.p, s->bytes.n * k / cuts + k % 7 };
		char *p;

		if (part.n >= s->bytes.n)
			continue;
		p = copy_of(part);
		check(s, "cut", part.n, (struct ss_str){ p, part.n }, t);
		free(p);
	}
}

static void flip(const struct sample *s, unsigned flips, struct tally *t)
{
	uint64_t seed = s->bytes.n;

	for (unsigned k = 0; k < flips && s->bytes.n; k++) {
		char *p = copy_of(s->bytes);
		size_t at = 0;

		for (unsigned bits = 1u << k % 6; bits; bits--) {	/* 1 to 32 of them */
			at = rnd(&seed) % s->bytes.n;
			p[at] = (char)(p[at] ^ 1 << rnd(&seed) % 8);
		}
		check(s, "flipped", at, (struct ss_str){ p, s->bytes.n }, t);
		free(p);
	}
}

int main(int argc, char **argv)
{
	unsigned cuts = argc > 2 ? (unsigned)atoi(argv[2]) : 24, flips = argc > 3 ? (unsigned)atoi(argv[3]) : 24;
	struct samples samples = samples_load(argc > 1 ? argv[1] : ".", LARGE);
	struct tally t = { 0 };

	for (size_t i = 0; i < samples.n; i++) {
		unsigned part = samples.v[i].bytes.n <= SMALL ? 1 : 6;

		check(&samples.v[i], "whole", 0, samples.v[i].bytes, &t);
		cut(&samples.v[i], cuts / part, &t);
		flip(&samples.v[i], flips / part, &t);
	}
	samples_free(&samples);
	printf("%u passed, %u failed\n", t.passed, t.failed);
	return t.failed || !t.passed;
}
