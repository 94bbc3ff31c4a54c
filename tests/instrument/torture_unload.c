/*
 * torture_unload.c - a library with the recorder in it is unloaded while its threads live, and
 * while it records.
 *	torture_unload LIBRARY LOGDIR
 * LIBRARY exports the functions of ss_trace.h. Returns 0 when the program has survived.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ss_trace.h"

#define THREADS 8

static struct library {
	void *handle;
	bool (*start)(const struct ss_trace_options *options);
	const char *(*stop)(void);
	struct ss_trace_scope (*begin)(struct ss_trace_name *name, const struct ss_trace_arg *args, size_t nargs);
	void (*end)(struct ss_trace_scope scope);
} library;

static sem_t recorded, unloaded;

static void *of(const char *name)
{
	void *at = dlsym(library.handle, name);
	if (!at) {
		fprintf(stderr, "%s\n", dlerror());
		exit(1);
	}
	return at;
}

static void load(const char *path)
{
	library.handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!library.handle) {
		fprintf(stderr, "%s\n", dlerror());
		exit(1);
	}
	void *at[] = { of("ss_trace_start"), of("ss_trace_stop"), of("ss_trace_begin_now"), of("ss_trace_end_now") };
	memcpy(&library.start, &at[0], sizeof(at[0]));
	memcpy(&library.stop, &at[1], sizeof(at[1]));
	memcpy(&library.begin, &at[2], sizeof(at[2]));
	memcpy(&library.end, &at[3], sizeof(at[3]));
}

static void *record(void *arg)
{
	static struct ss_trace_name name = { "event", 0 };
	struct ss_trace_scope scope = library.begin(&name, NULL, 0);
	if (scope.record)
		library.end(scope);
	sem_post(&recorded);
	sem_wait(&unloaded);
	return arg;
}

static void unload(const char *path, const char *logdir, const char *session, bool stop)
{
	pthread_t threads[THREADS];
	const struct ss_trace_options o = { .size = sizeof(o), .logdir = logdir, .session = session, .host = "h" };
	load(path);
	if (!library.start(&o))
		exit(1);
	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, record, NULL);
	for (int i = 0; i < THREADS; i++)
		sem_wait(&recorded);
	if (stop && !library.stop())
		exit(1);
	dlclose(library.handle);
	usleep(20000);
	for (int i = 0; i < THREADS; i++)
		sem_post(&unloaded);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	if (fork() == 0)
		_exit(0);
}

int main(int argc, char **argv)
{
	if (argc < 3)
		return 2;
	alarm(30);
	sem_init(&recorded, 0, 0);
	sem_init(&unloaded, 0, 0);
	for (int i = 0; i < 5; i++) {
		char session[32];
		snprintf(session, sizeof(session), "stopped%d", i);
		unload(argv[1], argv[2], session, true);
	}
	unload(argv[1], argv[2], "running", false);
	return 0;
}
