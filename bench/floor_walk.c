/*
 * floor_walk.c - the floor under any reader: visit every event and stat of an XSpace, keep nothing.
 *
 *	floor_walk FILE [TIMES]
 *
 * It maps the file, decodes each varint and sums durations and values, so that the compiler cannot
 * drop the walk. It checks bounds as plainly as possible and builds no tables: what a tool costs
 * beyond this is the price of its answer. Prints events, stats, bytes and CPU seconds of one walk.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

struct sums {
	uint64_t events, stats, dur_ps, values;
};

struct span {
	const uint8_t *p, *end;
};

static inline uint64_t varint(struct span *s)
{
	uint64_t v = 0;

	if (s->p < s->end && *s->p < 128)	/* most are one byte long */
		return *s->p++;
	for (int shift = 0; s->p < s->end && shift < 64; shift += 7) {
		uint8_t byte = *s->p++;

		v |= (uint64_t)(byte & 127) << shift;
		if (byte < 128)
			return v;
	}
	s->p = s->end;
	return 0;
}

/* The value of a field: a sub-message or string comes back as a span, a number as itself. */
static inline uint64_t value(struct span *s, unsigned type, struct span *sub)
{
	uint64_t v = 0;

	switch (type) {
	case 0:
		return varint(s);
	case 1:
		if (s->end - s->p >= 8)
			memcpy(&v, s->p, 8);
		s->p += s->end - s->p >= 8 ? 8 : s->end - s->p;
		return v;
	case 2:
		v = varint(s);
		if (v > (uint64_t)(s->end - s->p))
			v = (uint64_t)(s->end - s->p);
		*sub = (struct span){ s->p, s->p + v };
		s->p += v;
		return v;
	default:
		s->p = s->end;
		return 0;
	}
}

static void walk_stat(struct span s, struct sums *sums)
{
	struct span sub;

	sums->stats++;
	while (s.p < s.end) {
		uint64_t key = varint(&s);

		sums->values += value(&s, key & 7, &sub);
	}
}

static void walk_event(struct span s, struct sums *sums)
{
	struct span sub = { NULL, NULL };

	sums->events++;
	while (s.p < s.end) {
		uint64_t key = varint(&s), v = value(&s, key & 7, &sub);

		if (key == (4 << 3 | 2))
			walk_stat(sub, sums);
		else if (key == 3 << 3)
			sums->dur_ps += v;
	}
}

/* Planes hold lines in field 3, lines hold events in field 4. */
static void walk_line(struct span s, struct sums *sums)
{
	struct span sub = { NULL, NULL };

	while (s.p < s.end) {
		uint64_t key = varint(&s);

		value(&s, key & 7, &sub);
		if (key == (4 << 3 | 2))
			walk_event(sub, sums);
	}
}

static void walk_plane(struct span s, struct sums *sums)
{
	struct span sub = { NULL, NULL };

	while (s.p < s.end) {
		uint64_t key = varint(&s);

		value(&s, key & 7, &sub);
		if (key == (3 << 3 | 2))
			walk_line(sub, sums);
	}
}

static void walk_space(struct span s, struct sums *sums)
{
	struct span sub = { NULL, NULL };

	while (s.p < s.end) {
		uint64_t key = varint(&s);

		value(&s, key & 7, &sub);
		if (key == (1 << 3 | 2))
			walk_plane(sub, sums);
	}
}

static double cpu_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

int main(int argc, char **argv)
{
	long times = argc > 2 ? strtol(argv[2], NULL, 10) : 1;
	struct sums sums = { 0, 0, 0, 0 };
	struct stat st;
	const uint8_t *map;
	double begin;
	int fd = argc > 1 ? open(argv[1], O_RDONLY) : -1;

	if (fd < 0 || fstat(fd, &st) || st.st_size == 0 || times < 1) {
		fprintf(stderr, "usage: floor_walk FILE [TIMES]\n");
		return 2;
	}
	begin = cpu_s();
	map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (map == MAP_FAILED) {
		perror(argv[1]);
		return 1;
	}
	for (long i = 0; i < times; i++) {
		sums = (struct sums){ 0, 0, 0, 0 };
		walk_space((struct span){ map, map + st.st_size }, &sums);
	}
	printf("{\"events\":%" PRIu64 ",\"stats\":%" PRIu64 ",\"bytes\":%jd,\"check\":%" PRIu64
		",\"cpu_s\":%.6f}\n", sums.events, sums.stats, (intmax_t)st.st_size,
		sums.dur_ps ^ sums.values, (cpu_s() - begin) / (double)times);
	return 0;
}
