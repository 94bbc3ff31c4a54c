/* test_sstrace.c - libsstrace: what is recorded is there, in order, whatever happens to the program. */
#include "unit.h"

#include "gather.h"
#include "model/host/host.h"
#include "model/host/plane.h"
#include "model/preprocess/load.h"
#include "record.h"
#include "ss_trace.h"

#include <fcntl.h>
#include <ftw.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static char logdir[64];

static int make_logdir(void **state)
{
	(void)state;
	snprintf(logdir, sizeof(logdir), "/tmp/sstrace-test-XXXXXX");
	return mkdtemp(logdir) ? 0 : -1;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

static int remove_logdir(void **state)
{
	(void)state;
	return nftw(logdir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static struct ss_trace_options options(void)
{
	return (struct ss_trace_options){ .size = sizeof(struct ss_trace_options), .logdir = logdir,
					  .session = "run", .host = "h" };
}

static void path_of(char *out, size_t n)
{
	snprintf(out, n, "%s/plugins/profile/run/h.xplane.pb", logdir);
}

static struct ss_line *line_of(const struct ss_host *h, const char *name)
{
	const struct ss_plane *p = ss_host_plane(h, SS_PLANE_HOST_CPU);
	assert_non_null(p);
	struct ss_line *l = ss_plane_line(p, ss_str_from(name));
	assert_non_null(l);
	return l;
}

static struct ss_str event_name(const struct ss_host *h, const struct ss_line *l, uint32_t i)
{
	return ss_event_name(ss_host_plane(h, SS_PLANE_HOST_CPU), l->ev.meta[i]);
}

static void nested_scopes_keep_order_and_time(void **state)
{
	(void)state;
	struct ss_trace_options o = options();
	assert_true(ss_trace_start(&o));
	assert_false(ss_trace_start(&o));	/* one at a time */
	ss_trace_thread_name("main");
	for (int i = 0; i < 3; i++) {
		SS_TRACE_STEP("train", i);
		{
			SS_TRACE("inner");
			usleep(200);
		}
		SS_TRACE("second");
	}
	assert_non_null(ss_trace_stop());
	assert_null(ss_trace_stop());

	struct ss_host h;
	char path[256];
	path_of(path, sizeof(path));
	assert_ok(ss_host_open(&h, path, &err));
	assert_int_equal(h.x.nnotes, 0);
	assert_ok(ss_host_load(&h, &err));
	const struct ss_line *l = line_of(&h, "main");
	assert_int_equal(l->ev.n, 9);
	assert_true(l->ev.sorted);
	for (uint32_t i = 0; i < 9; i += 3) {
		assert_str(event_name(&h, l, i), "train");
		assert_str(event_name(&h, l, i + 1), "inner");
		assert_str(event_name(&h, l, i + 2), "second");
		assert_true(l->ev.dur_ps[i + 1] >= 200000000u);
		assert_true(ss_xevents_end_ps(&l->ev, i + 1) <= ss_xevents_end_ps(&l->ev, i));
		struct ss_xstat s;
		const struct ss_plane *p = ss_host_plane(&h, SS_PLANE_HOST_CPU);
		assert_true(ss_xstats_find(ss_line_stats(p, l, i), SS_STAT_STEP_NUM, &s));
		assert_int_equal(ss_xstat_int(&s), i / 3);
	}
	ss_host_close(&h);
}

static void *many_events(void *arg)
{
	static struct ss_trace_name name = { "work", 0 }, text = { "text", 0 }, number = { "number", 0 };
	char value[40];
	for (int i = 0; i < 30000; i++) {
		snprintf(value, sizeof(value), "%.*s", i % 39, "abcdefghijklmnopqrstuvwxyzabcdefghijklmn");
		const struct ss_trace_arg args[] = {
			{ &text, SS_TRACE_TEXT, { .text = value } },
			{ &number, SS_TRACE_DOUBLE, { .d = i * 0.5 } },
		};
		struct ss_trace_scope s = ss_trace_begin(SS_TRACE_INFO, &name, args, (size_t)i % 3);
		ss_trace_end(&s);
	}
	return arg;
}

/* Several buffers a thread, arguments of every length, threads that end before the stop. */
static void threads_lose_nothing(void **state)
{
	(void)state;
	struct ss_trace_options o = options();
	pthread_t threads[3];
	assert_true(ss_trace_start(&o));
	for (int i = 0; i < 3; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, many_events, NULL), 0);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(ss_trace_dropped(), 0);
	assert_non_null(ss_trace_stop());

	struct ss_host h;
	char path[256];
	path_of(path, sizeof(path));
	assert_ok(ss_host_open(&h, path, &err));
	assert_ok(ss_host_load(&h, &err));
	const struct ss_plane *p = ss_host_plane(&h, SS_PLANE_HOST_CPU);
	uint64_t events = 0;
	for (uint32_t i = 0; i < p->nlines; i++) {
		const struct ss_line *l = &p->lines[i];
		events += l->ev.n;
		for (uint32_t k = 0; k < l->ev.n && l->src; k++) {
			struct ss_xstats it = ss_line_stats(p, l, k);
			struct ss_xstat s;
			uint32_t n = 0;
			while (ss_xstats_next(&it, &s))
				if (s.kind == SS_X_DOUBLE)
					assert_true(ss_xstat_double(&s) == k * 0.5);
				else
					assert_int_equal(ss_xstat_str(&s).n, k % 39), n++;
			assert_int_equal(n, k % 3 > 0);
		}
	}
	assert_int_equal(events, 90000);
	assert_int_equal(h.ndropped, 0);
	ss_host_close(&h);
}

static void a_bound_is_kept_and_said(void **state)
{
	(void)state;
	struct ss_trace_options o = options();
	o.max_bytes = 3 << 20;
	assert_true(ss_trace_start(&o));
	for (int i = 0; i < 200000; i++) {
		SS_TRACE("event");
	}
	uint64_t dropped = ss_trace_dropped();
	assert_true(dropped > 0 && dropped < 200000);
	assert_non_null(ss_trace_stop());

	struct ss_host h;
	char path[256];
	path_of(path, sizeof(path));
	assert_ok(ss_host_open(&h, path, &err));
	assert_true(h.x.file.bytes.n <= 3 << 20);
	assert_ok(ss_host_load(&h, &err));
	assert_int_equal(h.nevents + dropped, 200000);
	struct ss_xstat s;
	assert_true(ss_xstats_find(ss_xplane_stats(ss_host_plane(&h, SS_PLANE_HOST_CPU)->x), SS_STAT_DROPPED_TRACES, &s));
	assert_int_equal(ss_xstat_uint(&s), dropped);
	ss_host_close(&h);
}

static void record_until_killed(int ready)
{
	struct ss_trace_options o = options();
	if (!ss_trace_start(&o))
		_exit(1);
	for (int i = 0;; i++) {
		SS_TRACE_STEP("train", i);
		SS_TRACE("inner");
		if (i == 20000 && write(ready, "", 1) != 1)
			_exit(1);
	}
}

static void a_killed_program_leaves_a_profile(void **state)
{
	(void)state;
	int ready[2];
	char byte;
	assert_int_equal(pipe(ready), 0);
	pid_t child = fork();
	if (child == 0)
		record_until_killed(ready[1]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	close(ready[0]);
	close(ready[1]);

	struct ss_host h;
	char path[256];
	path_of(path, sizeof(path));
	assert_ok(ss_host_open(&h, path, &err));
	assert_ok(ss_host_load(&h, &err));
	assert_int_equal(h.ndropped, 0);
	assert_true(h.nevents >= 40000);
	const struct ss_plane *p = ss_host_plane(&h, SS_PLANE_HOST_CPU);
	for (uint32_t i = 0; i < p->nlines; i++)
		assert_true(p->lines[i].ev.sorted);
	ss_host_close(&h);
}

static void nothing_is_recorded_when_off(void **state)
{
	(void)state;
	SS_TRACE("nobody sees this");
	assert_false(ss_trace_on(SS_TRACE_CRITICAL));
	struct ss_trace_options o = options();
	o.level = SS_TRACE_CRITICAL;
	assert_true(ss_trace_start(&o));
	{
		SS_TRACE("of a higher level");
	}
	assert_non_null(ss_trace_stop());
	struct ss_host h;
	char path[256];
	path_of(path, sizeof(path));
	assert_ok(ss_host_open(&h, path, &err));
	assert_ok(ss_host_load(&h, &err));
	assert_int_equal(h.nevents, 0);
	ss_host_close(&h);
}

static void failures_say_why(void **state)
{
	(void)state;
	struct ss_trace_options o = options();
	o.logdir = "/proc/nowhere";
	assert_false(ss_trace_start(&o));
	assert_non_null(strstr(ss_trace_error(), "/proc/nowhere"));
	o = options();
	o.host = "a/b";
	assert_false(ss_trace_start(&o));
	o = options();
	o.max_bytes = 1;
	assert_false(ss_trace_start(&o));
	char path[256];
	path_of(path, sizeof(path));
	assert_int_not_equal(access(path, F_OK), 0);	/* nothing half-written */
}

/* The two forms of an event, and the two ways to spread a number, are read back as what was written. */
static void forms_of_events_agree(void **state)
{
	(void)state;
	static const uint64_t numbers[] = { 0, 1, 127, 128, 16383, 16384, 999999999999, VARINT8_MAX - 1, VARINT8_MAX };
	static const uint32_t ids[] = { 1, 127, 128, 16384, (1u << SHORT_ID_BITS) - 1 };
	_Alignas(8) unsigned char plain[64], fast[64];
	for (size_t i = 0; i < SS_COUNT(numbers) * SS_COUNT(ids); i++) {
		uint64_t offset = numbers[i / SS_COUNT(ids)];
		uint32_t id = ids[i % SS_COUNT(ids)];
		memset(plain, 0xee, sizeof(plain));
		memset(fast, 0xee, sizeof(fast));
		append_short_event(plain, plain + 48, id, offset, false);
		append_short_event(fast, fast + 48, id, offset, wire_deposits());
		assert_memory_equal(plain, fast, sizeof(plain));
		assert_int_equal(plain[48], 0xee);
		struct event_at e = event_at(plain);
		assert_int_equal(e.bytes, SHORT_EVENT_BYTES);
		assert_true(e.offset_ps == offset && e.duration == plain + 16);
		assert_int_equal(get_varint_n(plain + 3, 3), id);
		put_event(plain, id, offset, varint8(offset, wire_deposits()), 0);
		e = event_at(plain);
		assert_int_equal(e.bytes, EVENT_BYTES);
		assert_true(e.offset_ps == offset && get_varint_n(e.duration, 8) == offset);
	}
	assert_true(duration_word(0, false) == varint8(1, false));
	assert_true(duration_word(UINT64_MAX, wire_deposits()) == varint8(VARINT8_MAX, false));
	assert_true(duration_word(1, false) != OPEN_DURATION);
}

/* A scope may end in a later session than it began in, with others before and after it: it ends with its own session. */
static void scopes_outlive_their_session(void **state)
{
	static struct ss_trace_name outer = { "outer", 0 };
	struct ss_trace_scope open[8];
	(void)state;
	for (int i = 0; i < 8; i++) {
		char session[16];
		snprintf(session, sizeof(session), "run%d", i);
		struct ss_trace_options o = options();
		o.session = session;
		assert_true(ss_trace_start(&o));
		for (int k = 0; k < 20000; k++) {
			SS_TRACE("before");
		}
		open[i] = ss_trace_begin(SS_TRACE_INFO, &outer, NULL, 0);
		for (int k = 0; k < i * 4000; k++) {
			SS_TRACE("after");
		}
		if (i % 3 == 2)
			for (int k = 0; k < 3; k++)
				ss_trace_end(&open[i - k]);
		assert_non_null(ss_trace_stop());

		struct ss_host h;
		char path[256];
		snprintf(path, sizeof(path), "%s/plugins/profile/%s/h.xplane.pb", logdir, session);
		assert_ok(ss_host_open(&h, path, &err));
		assert_ok(ss_host_load(&h, &err));
		assert_int_equal(h.nevents, 20001 + i * 4000);
		ss_host_close(&h);
	}
	ss_trace_end(&open[6]);
	ss_trace_end(&open[7]);
}

/* Pieces of every size come out one behind the other, whatever windows they cross. */
static void gathered_pieces_are_whole(void **state)
{
	(void)state;
	enum { ALL = 3 << 20 };
	unsigned char *bytes = malloc(ALL), *read_back = malloc(ALL), small[GATHER_SMALL];
	char path[128];
	unsigned random = 1;
	struct gather g;
	assert_non_null(bytes);
	assert_non_null(read_back);
	for (size_t i = 0; i < ALL; i++)
		bytes[i] = (unsigned char)((random = random * 1664525 + 1013904223) >> 24);
	snprintf(path, sizeof(path), "%s/gathered", logdir);
	int fd = open(path, O_RDWR | O_CREAT, 0600);
	assert_true(fd >= 0);
	ss_gather_init(&g, fd);
	for (size_t at = 0, n; at < ALL; at += n) {
		random = random * 1664525 + 1013904223;
		n = random >> 30 ? (random >> 8) % GATHER_SMALL : (random >> 8) % (2 * GATHER_WINDOW);
		n = n < ALL - at ? n : ALL - at;
		/* Small ones are copied, so that their place may be used again at once. */
		memcpy(small, bytes + at, n < sizeof(small) ? n : sizeof(small));
		assert_true(ss_gather(&g, n <= GATHER_SMALL ? small : bytes + at, n));
	}
	assert_true(ss_gather_flush(&g));
	assert_int_equal(pread(fd, read_back, ALL, 0), ALL);
	assert_memory_equal(bytes, read_back, ALL);
	close(fd);
	ss_gather_init(&g, -1);
	assert_true(ss_gather(&g, "x", 1));
	assert_false(ss_gather_flush(&g));
	free(bytes);
	free(read_back);
}

/* Names by the hundred thousand are found again, and as fast as the first. */
static void many_names_are_found(void **state)
{
	(void)state;
	enum { NAMES = 200000 };
	char text[32];
	struct ss_trace_name *first = NULL, *again = NULL;
	for (int round = 0; round < 2; round++)
		for (int i = 0; i < NAMES; i++) {
			snprintf(text, sizeof(text), "step, seq = %d", i);
			struct ss_trace_name *n = ss_trace_intern(text);
			assert_non_null(n);
			if (i == NAMES / 2)
				*(round ? &again : &first) = n;
		}
	assert_ptr_equal(first, again);
	assert_string_equal(first->text, "step, seq = 100000");
}

/* A forked child leaves the scopes that it was born in without a word in its parent's file. */
static void a_child_writes_nothing(void **state)
{
	static struct ss_trace_name name = { "parent", 0 };
	uint64_t duration;
	int status;
	(void)state;
	struct ss_trace_options o = options();
	assert_true(ss_trace_start(&o));
	struct ss_trace_scope scope = ss_trace_begin(SS_TRACE_INFO, &name, NULL, 0);
	pid_t child = fork();
	if (child == 0) {
		ss_trace_end(&scope);
		SS_TRACE("child");
		_exit(ss_trace_stop() ? 1 : 0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	memcpy(&duration, scope.record, sizeof(duration));
	assert_true(duration == OPEN_DURATION);
	ss_trace_end(&scope);
	memcpy(&duration, scope.record, sizeof(duration));
	assert_true(duration != OPEN_DURATION);
	assert_non_null(ss_trace_stop());
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, make_logdir, remove_logdir)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(nested_scopes_keep_order_and_time), TEST(threads_lose_nothing), TEST(a_bound_is_kept_and_said),
		TEST(a_killed_program_leaves_a_profile), TEST(nothing_is_recorded_when_off), TEST(failures_say_why),
		TEST(forms_of_events_agree), TEST(scopes_outlive_their_session), TEST(a_child_writes_nothing),
		TEST(many_names_are_found), TEST(gathered_pieces_are_whole),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
