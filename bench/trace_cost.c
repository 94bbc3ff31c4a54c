/*
 * trace_cost.c - what an event of libsstrace costs, beside what it cannot do without.
 *	trace_cost LOGDIR [EVENTS]
 * Prints, per event, ns of CPU: two clock readings (the floor of a recorded scope), a recorded
 * scope, a scope while nothing is recorded, an empty loop; then the stop, beside writing as many
 * bytes to a file. Each is the best of several rounds.
 */
#include "ss_trace.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define ROUNDS 7

static double cpu_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static volatile uint64_t sink;

static void clocks(long n)
{
	struct timespec a, b;
	for (long i = 0; i < n; i++) {
		clock_gettime(CLOCK_MONOTONIC, &a);
		clock_gettime(CLOCK_MONOTONIC, &b);
		sink = (uint64_t)(b.tv_nsec - a.tv_nsec);
	}
}

static void scopes(long n)
{
	for (long i = 0; i < n; i++) {
		SS_TRACE("event");
		sink = (uint64_t)i;
	}
}

static void nothing(long n)
{
	for (long i = 0; i < n; i++)
		sink = (uint64_t)i;
}

static double best(void (*work)(long), long n)
{
	double least = 1e30;
	for (int r = 0; r < ROUNDS; r++) {
		double t = cpu_ns();
		work(n);
		t = (cpu_ns() - t) / (double)n;
		least = t < least ? t : least;
	}
	return least;
}

static double write_ns(const char *path, size_t bytes)
{
	static char block[256 << 10];
	memset(block, 1, sizeof(block));
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
	double t = cpu_ns();
	for (size_t done = 0; fd >= 0 && done < bytes; done += sizeof(block))
		if (write(fd, block, sizeof(block)) < 0)
			break;
	t = cpu_ns() - t;
	close(fd);
	unlink(path);
	return t;
}

int main(int argc, char **argv)
{
	if (argc < 2)
		return 2;
	long n = argc > 2 ? atol(argv[2]) : 10000000;
	struct ss_trace_options o = { .size = sizeof(o), .logdir = argv[1], .host = "bench", .max_bytes = (uint64_t)4 << 30 };
	double off = best(scopes, 10000000), empty = best(nothing, 10000000), floor = best(clocks, 1000000);
	if (!ss_trace_start(&o)) {
		fprintf(stderr, "%s\n", ss_trace_error());
		return 1;
	}
	/* The first pass over fresh memory pays for its pages too: both are said. */
	double first = cpu_ns();
	scopes(n - 1000000);
	first = (cpu_ns() - first) / (double)(n - 1000000);
	double on = 1e30;
	for (int r = 0; r < 10; r++) {
		double t = cpu_ns();
		scopes(100000);
		t = (cpu_ns() - t) / 100000;
		on = t < on ? t : on;
	}
	double stop = cpu_ns();
	const char *path = ss_trace_stop();
	stop = cpu_ns() - stop;
	struct stat st;
	if (!path || stat(path, &st) != 0) {
		fprintf(stderr, "%s\n", ss_trace_error());
		return 1;
	}
	char other[4200];
	snprintf(other, sizeof(other), "%s.copy", path);
	double copy = write_ns(other, (size_t)st.st_size);
	printf("clocks_ns %.1f\nscope_ns %.1f\nscope_first_touch_ns %.1f\n", floor, on, first);
	printf("scope_off_ns %.2f\nempty_ns %.2f\nscope_ratio %.2f\n", off, empty, on / floor);
	printf("stop_ms %.1f\nwrite_ms %.1f\nstop_ratio %.2f\n", stop / 1e6, copy / 1e6, stop / copy);
	printf("events %ld\nbytes %lld\n", n, (long long)st.st_size);
	return 0;
}
