/*
 * torture.c - libsstrace in programs that do to it what programs do.
 *	torture WHAT LOGDIR [MS] [LIBRARY]
 * Prints "attempted N" and "dropped N" of each session that is to be counted, and its profile;
 * torture.py compares them with what the profile holds. Whatever hangs is ended by an alarm, so
 * that it fails.
 */
#include "ss_trace.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define THREADS 4
#define LIMIT_S 60
#define SOON_FULL ((uint64_t)4 << 20)	/* so that events are dropped too, and the profile is soon read */

static const char *logdir;
static long run_ms = 1000;
static int quit;		/* atomic */
static uint64_t attempted;	/* atomic */

static bool quitting(void)
{
	return __atomic_load_n(&quit, __ATOMIC_RELAXED);
}

static void die(const char *what)
{
	fprintf(stderr, "%s: %s\n", what, ss_trace_error());
	exit(1);
}

static void sleep_ms(long ms)
{
	struct timespec end;
	clock_gettime(CLOCK_MONOTONIC, &end);
	end.tv_nsec += ms % 1000 * 1000000;
	end.tv_sec += ms / 1000 + end.tv_nsec / 1000000000;
	end.tv_nsec %= 1000000000;
	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &end, NULL) == EINTR)
		continue;
}

static bool start(const char *session, uint64_t max_bytes)
{
	const struct ss_trace_options o = { .size = sizeof(o), .logdir = logdir, .session = session, .host = "h",
					    .max_bytes = max_bytes };
	return ss_trace_start(&o);
}

/* What the session has to hold, for torture.py. */
static void stop_and_tell(void)
{
	uint64_t dropped = ss_trace_dropped();
	const char *path = ss_trace_stop();
	if (!path)
		die("stop");
	printf("attempted %llu dropped %llu profile %s\n", (unsigned long long)attempted, (unsigned long long)dropped, path);
}

static void attempt(uint64_t n)
{
	__atomic_fetch_add(&attempted, n, __ATOMIC_RELAXED);
}

/* Six events, of every kind. */
static void record(int i)
{
	static struct ss_trace_name with = { "with arguments", 0 }, number = { "number", 0 }, text = { "text", 0 };
	static struct ss_trace_name counter = { "counter", 0 }, moment = { "moment", 0 };
	const struct ss_trace_arg args[] = {
		{ &number, SS_TRACE_INT, { .i = i } },
		{ &text, SS_TRACE_TEXT, { .text = &"some text of an argument"[i % 20] } },
	};
	char name[32];
	snprintf(name, sizeof(name), "interned %d", i % 300);
	struct ss_trace_name *interned = ss_trace_intern(name);
	SS_TRACE_STEP("step", i);
	SS_TRACE("scope");
	struct ss_trace_scope s = ss_trace_begin(SS_TRACE_INFO, &with, args, 2);
	ss_trace_instant(SS_TRACE_INFO, interned ? interned : &moment, args, (size_t)i % 3);
	ss_trace_counter(&counter, i);
	ss_trace_instant(SS_TRACE_INFO, &moment, NULL, 0);
	ss_trace_end(&s);
	attempt(6);
}

static void *record_until_told(void *arg)
{
	for (int i = 0; !quitting(); i++)
		record(i);
	return arg;
}

static void *record_so_many(void *arg)
{
	for (int i = 0; i < 3000; i++)
		record(i);
	return arg;
}

static void begin_threads(pthread_t *out, int n, void *(*run)(void *))
{
	__atomic_store_n(&quit, 0, __ATOMIC_RELAXED);
	for (int i = 0; i < n; i++)
		if (pthread_create(&out[i], NULL, run, NULL) != 0)
			die("pthread_create");
}

static void end_threads(const pthread_t *threads, int n)
{
	__atomic_store_n(&quit, 1, __ATOMIC_RELAXED);
	for (int i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
}

/* Nothing is lost when threads only record. */
static void torture_threads(void)
{
	pthread_t threads[THREADS];
	if (!start("all", (uint64_t)1 << 30))
		die("start");
	begin_threads(threads, THREADS, record_so_many);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	stop_and_tell();
}

/* Sessions come and go while threads record, with scopes open from one into the next. */
static void torture_stop(void)
{
	pthread_t threads[THREADS];
	char session[32];
	begin_threads(threads, THREADS, record_until_told);
	for (int i = 0; i < run_ms / 20; i++) {
		snprintf(session, sizeof(session), "s%d", i);
		if (!start(session, 0))
			die("start");
		SS_TRACE("across the stop");
		sleep_ms(i % 7);
		if (!ss_trace_stop())
			die("stop");
		if (i % 3 == 0)
			sleep_ms(1);
	}
	end_threads(threads, THREADS);
}

static void *one_event(void *arg)
{
	SS_TRACE("short life");
	attempt(1);
	return arg;
}

static void *spawn(void *arg)
{
	while (!quitting()) {
		pthread_t t[8];
		int made = 0;
		while (made < 8 && pthread_create(&t[made], NULL, one_event, NULL) == 0)
			made++;
		while (made)
			pthread_join(t[--made], NULL);
	}
	return arg;
}

/* Threads by the thousand that record one event and end. */
static void torture_exits(void)
{
	pthread_t threads[THREADS];
	if (!start("storm", (uint64_t)64 << 20))
		die("start");
	begin_threads(threads, THREADS, spawn);
	sleep_ms(run_ms);
	end_threads(threads, THREADS);
	stop_and_tell();
	begin_threads(threads, THREADS, spawn);
	for (int i = 0; i < 20; i++) {
		char session[32];
		snprintf(session, sizeof(session), "s%d", i);
		if (!start(session, (uint64_t)16 << 20))
			die("start");
		sleep_ms(run_ms / 40);
		if (!ss_trace_stop())
			die("stop");
	}
	end_threads(threads, THREADS);
}

/* --- forks --------------------------------------------------------------------------------------- */

/*
 * A child that was made in any way records nothing, and all it calls returns; then it may record
 * for itself.
 */
static void be_child(int i)
{
	alarm(LIMIT_S / 2);
	for (int k = 0; k < 3; k++) {
		SS_TRACE("in a child");
		SS_TRACE_STEP("in a child", k);
	}
	static struct ss_trace_name counter = { "in a child", 0 };
	ss_trace_counter(&counter, 1);
	ss_trace_intern("of a child");
	ss_trace_dropped();
	if (ss_trace_stop())
		_exit(2);	/* it has no recording to stop */
	if (i % 16 < 2) {
		char host[32];
		snprintf(host, sizeof(host), "child%d", i);
		/* Those whose fork is known are named by the time. */
		const struct ss_trace_options o = { .size = sizeof(o), .logdir = logdir, .session = i % 2 ? "children" : NULL,
						    .host = host };
		if (!ss_trace_start(&o))
			_exit(3);
		record(i);
		if (!ss_trace_stop())
			_exit(4);
	}
	_exit(0);
}

/*
 * Slowly enough for there to be room all the time, and fast enough to hold every lock once when a
 * fork comes.
 */
static void *record_gently(void *arg)
{
	for (int i = 0; !quitting(); i++) {
		record(i);
		if (i % 16 == 0)
			usleep(2000);
	}
	return arg;
}

/* As a program does that writes a log: the C library has a lock for it, which a fork may find taken. */
static void *tell_the_time(void *arg)
{
	struct tm tm;
	for (time_t t = 0; !quitting(); t++)
		localtime_r(&t, &tm);
	return arg;
}

static void torture_fork(void)
{
	pthread_t threads[THREADS], clock;
	struct timespec begin, now;
	if (!start("forks", (uint64_t)64 << 20))
		die("start");
	begin_threads(threads, THREADS, record_gently);
	if (pthread_create(&clock, NULL, tell_the_time, NULL) != 0)
		die("pthread_create");
	clock_gettime(CLOCK_MONOTONIC, &begin);
	for (int i = 0; i < 200; i++) {
		SS_TRACE("scope around a fork");
		attempt(1);
		/* Every other child is made behind the library's back. */
		pid_t child = i % 2 ? (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0) : fork();
		if (child == 0)
			be_child(i);
		int status = 0;
		if (child < 0 || waitpid(child, &status, 0) != child || status != 0) {
			fprintf(stderr, "child %d: status %d\n", i, status);
			exit(1);
		}
		clock_gettime(CLOCK_MONOTONIC, &now);
		if (now.tv_sec - begin.tv_sec > LIMIT_S / 2)
			die("forks take too long");
	}
	end_threads(threads, THREADS);
	pthread_join(clock, NULL);
	stop_and_tell();
}

/* --- cancelled threads ---------------------------------------------------------------------------- */

static void *record_until_cancelled(void *arg)
{
	char name[16];
	for (int i = 0;; i++) {
		snprintf(name, sizeof(name), "%d", i % 3);
		ss_trace_thread_name(name);
		record(i);
		pthread_testcancel();
	}
	return arg;
}

static void stop_and_remove(void)
{
	const char *path = ss_trace_stop();
	if (path)
		unlink(path);
}

static void *start_and_stop_until_cancelled(void *arg)
{
	char session[32];
	for (int i = 0;; i++) {
		snprintf(session, sizeof(session), "c%lx_%d", (long)pthread_self(), i);
		start(session, SOON_FULL);
		sleep_ms(1 + i % 3);	/* others need buffers meanwhile */
		stop_and_remove();
		pthread_testcancel();
	}
	return arg;
}

/* A thread that is cancelled in the recorder leaves no lock behind: whoever comes after it records, starts and stops. */
static void torture_cancels(void)
{
	struct timespec begin, now;
	clock_gettime(CLOCK_MONOTONIC, &begin);
	do {
		pthread_t threads[4];
		begin_threads(threads, 3, record_until_cancelled);
		if (pthread_create(&threads[3], NULL, start_and_stop_until_cancelled, NULL) != 0)
			die("pthread_create");
		sleep_ms(5);
		for (int i = 0; i < 4; i++)
			pthread_cancel(threads[i]);
		end_threads(threads, 4);
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while ((now.tv_sec - begin.tv_sec) * 1000 + (now.tv_nsec - begin.tv_nsec) / 1000000 < run_ms * 4);
	stop_and_remove();
	__atomic_store_n(&attempted, 0, __ATOMIC_RELAXED);
	if (!start("after", 0))
		die("start");
	record(1);
	stop_and_tell();
}

/* --- signals -------------------------------------------------------------------------------------- */

static __thread int in_handler;
static __thread uint64_t handled;

/* What a handler may call, on a small stack. */
static void on_timer(int signal)
{
	static struct ss_trace_name name = { "in a handler", 0 }, key = { "signal", 0 }, counter = { "handler's counter", 0 };
	const struct ss_trace_arg arg = { &key, SS_TRACE_INT, { .i = signal } };
	int before = errno;
	errno = 1234;
	struct ss_trace_scope s = ss_trace_begin(SS_TRACE_INFO, &name, &arg, 1);
	SS_TRACE("short, in a handler");
	ss_trace_instant(SS_TRACE_INFO, &name, NULL, 0);
	ss_trace_counter(&counter, 1);
	ss_trace_end(&s);
	if (errno != 1234)
		abort();
	errno = before;
	if (++handled % 50 == 0) {
		pid_t child = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
		if (child == 0) {
			SS_TRACE("in a child");
			_exit(0);
		}
		waitpid(child, NULL, 0);
		errno = before;
	}
	attempt(4);
}

static void timer_on_me(long period_us)
{
	struct sigevent event = { .sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGRTMIN };
	const struct itimerspec every = { { 0, period_us * 1000 }, { 0, period_us * 1000 } };
	timer_t timer;
	size_t size = (size_t)sysconf(_SC_SIGSTKSZ) > 12288 ? (size_t)sysconf(_SC_SIGSTKSZ) : 12288;
	stack_t stack = { .ss_size = size, .ss_sp = malloc(size) };
#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif
	event.sigev_notify_thread_id = (pid_t)syscall(SYS_gettid);
	if (!stack.ss_sp || sigaltstack(&stack, NULL) != 0 || timer_create(CLOCK_MONOTONIC, &event, &timer) != 0 ||
	    timer_settime(timer, 0, &every, NULL) != 0)
		die("timer");
}

static void *record_under_signals(void *arg)
{
	timer_on_me(1000);
	record_until_told(NULL);
	return arg;
}

/* Its first event is one of a handler that interrupts malloc. */
static void *allocate_under_signals(void *arg)
{
	timer_on_me(300);
	while (!quitting()) {
		void *volatile p = malloc((size_t)(100 + in_handler));
		free(p);
		p = malloc(400000);
		free(p);
	}
	return arg;
}

static void *short_scopes_under_signals(void *arg)
{
	timer_on_me(100);
	while (!quitting()) {
		for (int i = 0; i < 100; i++) {
			SS_TRACE("short");
		}
		attempt(100);
	}
	return arg;
}

static void torture_signals(void)
{
	pthread_t threads[3];
	struct sigaction action = { .sa_handler = on_timer, .sa_flags = SA_RESTART | SA_ONSTACK };
	sigaction(SIGRTMIN, &action, NULL);
	if (!start("signals", SOON_FULL))
		die("start");
	__atomic_store_n(&quit, 0, __ATOMIC_RELAXED);
	if (pthread_create(&threads[0], NULL, record_under_signals, NULL) != 0 ||
	    pthread_create(&threads[1], NULL, allocate_under_signals, NULL) != 0 ||
	    pthread_create(&threads[2], NULL, short_scopes_under_signals, NULL) != 0)
		die("pthread_create");
	sleep_ms(run_ms);
	signal(SIGRTMIN, SIG_IGN);
	end_threads(threads, 3);
	stop_and_tell();
	/* The same while sessions come and go, and in the thread that starts and stops. */
	sigaction(SIGRTMIN, &action, NULL);
	timer_on_me(500);
	begin_threads(threads, 2, short_scopes_under_signals);
	for (int i = 0; i < 20; i++) {
		char session[32];
		snprintf(session, sizeof(session), "s%d", i);
		if (!start(session, 0))
			die("start");
		sleep_ms(run_ms / 40);
		if (!ss_trace_stop())
			die("stop");
	}
	signal(SIGRTMIN, SIG_IGN);
	end_threads(threads, 2);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} tortures[] = { { "threads", torture_threads }, { "stop", torture_stop }, { "exits", torture_exits },
			 { "fork", torture_fork }, { "cancels", torture_cancels }, { "signals", torture_signals } };
	if (argc < 3)
		return 2;
	logdir = argv[2];
	run_ms = argc > 3 ? atol(argv[3]) : run_ms;
	alarm(LIMIT_S);
	for (size_t i = 0; i < sizeof(tortures) / sizeof(*tortures); i++)
		if (strcmp(tortures[i].name, argv[1]) == 0) {
			tortures[i].run();
			return 0;
		}
	return 2;
}
