/*
 * trace_cost.c - what an event of libsstrace costs, beside what it cannot do without.
 *	trace_cost LOGDIR [EVENTS]
 * Prints, per event, ns of CPU: two clock readings (the floor of a recorded scope), a recorded
 * scope, a scope while nothing is recorded, an empty loop; then the stop, beside writing as many
 * bytes to a file. Each is the best of several rounds: the first file of a round pays for memory
 * that the second finds, and a busy machine for everything.
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
#define SESSIONS 8

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
	double min = 1e30;
	for (int r = 0; r < ROUNDS; r++) {
		double t = cpu_ns();
		work(n);
		t = (cpu_ns() - t) / (double)n;
		min = t < min ? t : min;
	}
	return min;
}

/* Another file of as many bytes, from memory that the cache holds. */
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

static double min(double a, double b)
{
	return a < b ? a : b;
}

/* What one session of n scopes costs; of several, the least of each. */
struct costs {
	double first_ns, scope_ns, stop_ns, write_ns;
	long long bytes;
	unsigned sessions;
};

/* What is left to do after a stop is the library's thread's; the next start waits for it, and we measure without it. */
static void wait_for_library(const char *logdir)
{
	struct ss_trace_options o = { .size = sizeof(o), .logdir = logdir, .session = "empty", .host = "bench" };
	const char *path = ss_trace_start(&o) ? ss_trace_stop() : NULL;
	if (path)
		unlink(path);
}

static bool session(struct costs *c, const char *logdir, long n)
{
	struct ss_trace_options o = { .size = sizeof(o), .logdir = logdir, .session = "bench", .host = "bench",
				      .max_bytes = (uint64_t)4 << 30 };
	char own[4200], other[4200];
	snprintf(other, sizeof(other), "%s/copy", logdir);
	/*
	 * Before or after in turn, so that neither of the two always finds the memory that the other has just given back; as often
	 * as a stop, because of more tries the least is less.
	 */
	bool before = c->sessions++ % 2;
	if (before)
		c->write_ns = min(c->write_ns, write_ns(other, (size_t)c->bytes));
	if (!ss_trace_start(&o))
		return false;
	/* The first pass over fresh memory pays for its pages too: both are said. */
	double t = cpu_ns();
	scopes(n - 1000000);
	c->first_ns = min(c->first_ns, (cpu_ns() - t) / (double)(n - 1000000));
	for (int r = 0; r < 10; r++) {
		t = cpu_ns();
		scopes(100000);
		c->scope_ns = min(c->scope_ns, (cpu_ns() - t) / 100000);
	}
	t = cpu_ns();
	const char *path = ss_trace_stop();
	t = cpu_ns() - t;
	struct stat st;
	if (!path || stat(path, &st) != 0)
		return false;
	c->stop_ns = min(c->stop_ns, t);
	c->bytes = st.st_size;
	snprintf(own, sizeof(own), "%s", path);
	wait_for_library(logdir);
	if (!before)
		c->write_ns = min(c->write_ns, write_ns(other, (size_t)st.st_size));
	return unlink(own) == 0;
}

int main(int argc, char **argv)
{
	if (argc < 2)
		return 2;
	long n = argc > 2 ? atol(argv[2]) : 10000000;
	double off = best(scopes, 10000000), empty = best(nothing, 10000000), floor = best(clocks, 1000000);
	struct costs c = { 1e30, 1e30, 1e30, 1e30, 0, 0 };
	for (int r = 0; r < SESSIONS; r++) {
		if (!session(&c, argv[1], n > 2000000 ? n : 2000000)) {
			fprintf(stderr, "%s\n", ss_trace_error());
			return 1;
		}
		floor = min(floor, best(clocks, 1000000));
	}
	printf("clocks_ns %.1f\nscope_ns %.1f\nscope_first_touch_ns %.1f\n", floor, c.scope_ns, c.first_ns);
	printf("scope_off_ns %.2f\nempty_ns %.2f\nscope_ratio %.2f\n", off, empty, c.scope_ns / floor);
	printf("stop_ms %.1f\nwrite_ms %.1f\nstop_ratio %.2f\n", c.stop_ns / 1e6, c.write_ns / 1e6, c.stop_ns / c.write_ns);
	printf("events %ld\nbytes %lld\n", n, c.bytes);
	return 0;
}
