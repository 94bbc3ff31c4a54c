/*
 * shifting.c - every tool on files that change while they are read, as `rsync --inplace` or a writer
 * that begins anew changes them.
 *
 *	shifting DIR [SECONDS [SEED]]	by default 40 seconds, seed 1
 *
 * Each sample stands in a file that is mapped twice: the tools read it as ever, a second thread turns
 * some of its bytes, a part of it or all of it to others and back, thousands of times a second: those of
 * another place or of another sample, so that there are more or fewer fields than a moment before. The
 * answer is a table or a
 * sentence, whatever the bytes were; never a crash or a hang (SIGALRM). What is read or written out of
 * bounds is found by AddressSanitizer.
 */
#include "sweep/drive.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum {
	LARGE = 500 << 10,	/* samples up to this size */
	HANG_S = 120,
	SPOTS = 6,		/* that shift at a time */
	TURNS = 60,		/* before others do */
};

static uint64_t rnd(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15u;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

struct shifter {
	struct ss_str bytes;	/* as they are in the sample */
	struct ss_str donor;	/* another sample's */
	char *live;		/* in the file */
	uint64_t seed;
	atomic_bool stop;
};

/* Bytes of the file, and what else they are at times. */
struct spot {
	size_t at, n;
	const char *other;
	char byte;
};

static void copy(const struct shifter *s, size_t at, const char *from, size_t n)
{
	memcpy(s->live + at, from, n);
	atomic_signal_fence(memory_order_seq_cst);
}

/* A bit, a byte, or a byte of somewhere else: lengths and tags become those of a sibling. */
static struct spot pick_byte(struct shifter *s)
{
	size_t at = rnd(&s->seed) % s->bytes.n;
	struct spot spot = { .at = at, .n = 1 };
	char was = s->bytes.p[at];

	switch (rnd(&s->seed) % 4) {
	case 0:
		spot.byte = (char)rnd(&s->seed);
		break;
	case 1:
		spot.byte = s->bytes.p[rnd(&s->seed) % s->bytes.n];
		break;
	case 2:
		spot.byte = (char)(was + (rnd(&s->seed) % 2 ? 1 : -1));
		break;
	default:
		spot.byte = (char)(was ^ 1 << rnd(&s->seed) % 8);
	}
	return spot;
}

/* As many as both have behind a place of each; often from their beginnings. */
static struct spot pick_part(struct shifter *s, struct ss_str from)
{
	size_t at = rnd(&s->seed) % 4 ? rnd(&s->seed) % s->bytes.n : 0, begin = rnd(&s->seed) % 4 ? rnd(&s->seed) % from.n : 0;
	size_t max = s->bytes.n - at < from.n - begin ? s->bytes.n - at : from.n - begin;
	size_t n = rnd(&s->seed) % 4 ? 1 + rnd(&s->seed) % 300 : max;

	return (struct spot){ .at = at, .n = n < max ? n : max, .other = from.p + begin };
}

static unsigned pick(struct shifter *s, struct spot *spots)
{
	unsigned kind = (unsigned)(rnd(&s->seed) % 4), n = 1 + (unsigned)(rnd(&s->seed) % SPOTS);

	for (unsigned i = 0; i < n; i++)
		spots[i] = kind < 2 ? pick_byte(s) : pick_part(s, kind == 2 ? s->bytes : s->donor);
	return n;
}

static void wait_some(struct shifter *s)
{
	for (unsigned wait = (unsigned)(rnd(&s->seed) % 512); wait; wait--)
		atomic_signal_fence(memory_order_seq_cst);
}

static void *shift(void *arg)
{
	struct shifter *s = arg;
	struct spot spots[SPOTS];

	while (!atomic_load(&s->stop)) {
		unsigned n = pick(s, spots);

		for (unsigned turn = 0; turn < TURNS && !atomic_load(&s->stop); turn++) {
			for (unsigned i = 0; i < n; i++)
				copy(s, spots[i].at, spots[i].other ? spots[i].other : &spots[i].byte, spots[i].n);
			wait_some(s);
			for (unsigned i = n; i-- > 0;)
				copy(s, spots[i].at, s->bytes.p + spots[i].at, spots[i].n);
			wait_some(s);
		}
	}
	return NULL;
}

/* NULL, or what is wrong with how the file was treated. */
static const char *try_tools(const struct sample *s, const char *path)
{
	static struct drive d;
	struct ss_err err = { 0 };
	const char *wrong = NULL;
	uint64_t digest;

	if (!drive_open_file(&d, s, path, &err))
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

/* The sample as a file of its name, which tells what it is. */
static bool put(const struct sample *s, const char *path)
{
	int fd = open(path, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600);
	bool ok = fd >= 0 && write(fd, s->bytes.p, s->bytes.n) == (ssize_t)s->bytes.n;

	if (fd >= 0)
		close(fd);
	return ok;
}

static const char *try_shifting(const struct sample *s, struct ss_str donor, const char *dir, uint64_t seed)
{
	const char *slash = strrchr(s->path, '/'), *wrong = "the file cannot be prepared";
	struct shifter shifter = { .bytes = s->bytes, .donor = donor, .seed = seed };
	pthread_t thread;
	char path[1024];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", dir, slash ? slash + 1 : s->path);
	if (!put(s, path) || (fd = open(path, O_RDWR | O_CLOEXEC)) < 0)
		return wrong;
	void *p = mmap(NULL, s->bytes.n, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (p == MAP_FAILED)
		return wrong;
	shifter.live = p;
	if (pthread_create(&thread, NULL, shift, &shifter) == 0) {
		alarm(HANG_S);
		wrong = try_tools(s, path);
		alarm(0);
		atomic_store(&shifter.stop, true);
		pthread_join(thread, NULL);
	}
	munmap(p, s->bytes.n);
	unlink(path);
	return wrong;
}

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
	struct samples samples = samples_load(argc > 1 ? argv[1] : ".", LARGE);
	double end_s = now_s() + (argc > 2 ? atof(argv[2]) : 40);
	uint64_t seed = argc > 3 ? strtoull(argv[3], NULL, 10) : 1;
	char dir[] = "/tmp/shifting-XXXXXX";
	unsigned passed = 0, failed = 0;

	if (!mkdtemp(dir))
		return 1;
	while (samples.n && now_s() < end_s) {
		const struct sample *s = &samples.v[rnd(&seed) % samples.n];
		const struct sample *donor = &samples.v[rnd(&seed) % samples.n];
		uint64_t turn = seed;

		if (!s->bytes.n || !donor->bytes.n)
			continue;
		printf("%s seed %llu\n", s->path, (unsigned long long)turn);
		fflush(stdout);
		const char *wrong = try_shifting(s, donor->bytes, dir, rnd(&seed));
		passed += !wrong;
		failed += wrong != NULL;
		if (wrong)
			printf("%s: %s\n", s->path, wrong);
	}
	rmdir(dir);
	samples_free(&samples);
	printf("%u passed, %u failed\n", passed, failed);
	return failed || !passed;
}
