/*
 * fuzz_bucket.c - any bytes as what says who asks a bucket (the files of the AWS tools and of
 * Google's) and as what servers answer, and a credential_process prints: credentials, lists, refusals. Pieces end at a
 * byte 0x1e: the kind ("s" or "g"), two files, then answers, each with its status on the first line. No
 * request leaves the process (see CMakeLists.txt), no program is run, and nobody waits.
 */
#include "base/system.h"
#include "location/bucket.h"
#include "location/tree_files.h"
#include "rpc/fetch.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define MOST_PAGES 4

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
bool __wrap_ss_ask(const struct ss_question *q, struct ss_reply *a, struct ss_err *err);
int __wrap_nanosleep(const struct timespec *t, struct timespec *rest);
int __wrap_posix_spawnp(pid_t *pid, const char *file, const posix_spawn_file_actions_t *actions, const posix_spawnattr_t *attr,
			char *const argv[], char *const envp[]);
bool __wrap_ss_pipe_open(int ends[2]);
pid_t __wrap_waitpid(pid_t pid, int *status, int options);
int __wrap_kill(pid_t pid, int number);
bool __real_ss_pipe_open(int ends[2]);

#define PROGRAM 12345	/* the id of a program that is not there */

static int program_out = -1, program_status;
static struct ss_str rest;	/* of the input */
static char home[64], config[96], credentials[96];

static struct ss_str next_piece(void)
{
	size_t end = ss_str_chr(rest, '\x1e');
	struct ss_str piece = ss_str_sub(rest, 0, end);
	rest = ss_str_sub(rest, end == SS_NPOS ? rest.n : end + 1, rest.n);
	return piece;
}

bool __wrap_ss_ask(const struct ss_question *q, struct ss_reply *a, struct ss_err *err)
{
	*a = (struct ss_reply){ .body.limit_bytes = q->limit_bytes ? q->limit_bytes : SS_FETCH_BYTES };
	struct ss_str piece = next_piece();
	size_t line = ss_str_chr(piece, '\n');
	uint64_t status = 0;
	if (strlen(q->url) < 8 || line == SS_NPOS || !ss_str_to_u64(ss_str_sub(piece, 0, line), &status) || status > 999)
		return ss_fail(err, SS_EIO, "no answer from %s", q->named ? q->named : q->url);
	a->status = (long)status;
	ss_buf_str(&a->body, ss_str_sub(piece, line + 1, piece.n));
	return true;
}

int __wrap_nanosleep(const struct timespec *t, struct timespec *left)
{
	(void)t;
	(void)left;
	return 0;
}

bool __wrap_ss_pipe_open(int ends[2])
{
	bool ok = __real_ss_pipe_open(ends);
	program_out = ok ? ends[1] : -1;
	return ok;
}

/* What the program would print is the next piece, and its status the number on the first line, as that of a server. */
int __wrap_posix_spawnp(pid_t *pid, const char *file, const posix_spawn_file_actions_t *actions, const posix_spawnattr_t *attr,
			char *const argv[], char *const envp[])
{
	(void)actions;
	(void)attr;
	(void)envp;
	if (!file || !argv[0])
		abort();
	if (!rest.n)
		return ENOENT;
	struct ss_str piece = next_piece();
	size_t line = ss_str_chr(piece, '\n');
	uint64_t status = 0;
	if (line == SS_NPOS || !ss_str_to_u64(ss_str_sub(piece, 0, line), &status))
		return EACCES;
	struct ss_str text = ss_str_sub(piece, line + 1, piece.n);
	(void)fcntl(program_out, F_SETPIPE_SZ, 1 << 18);
	if (text.n && write(program_out, text.p, text.n < 1 << 17 ? text.n : 1 << 17) < 0)
		abort();
	program_status = (int)(status == 200 ? 0 : (status & 0xff) << 8);
	*pid = PROGRAM;
	return 0;
}

pid_t __wrap_waitpid(pid_t pid, int *status, int options)
{
	(void)options;
	if (pid != PROGRAM)
		abort();
	*status = program_status;
	return pid;
}

int __wrap_kill(pid_t pid, int number)
{
	if (pid != PROGRAM || number != SIGKILL)
		abort();
	return 0;
}

static void remove_files(void)
{
	unlink(config);
	unlink(credentials);
	rmdir(home);
}

static void set_up(void)
{
	static const char *const unset[] = { "AWS_ACCESS_KEY_ID", "AWS_PROFILE", "AWS_DEFAULT_PROFILE", "AWS_REGION",
					     "AWS_DEFAULT_REGION", "AWS_ENDPOINT_URL", "CLOUDSDK_AUTH_ACCESS_TOKEN" };
	struct stat st;
	snprintf(home, sizeof(home), "%s/fuzz_bucket_XXXXXX", stat("/dev/shm", &st) == 0 ? "/dev/shm" : "/tmp");
	if (!mkdtemp(home))
		abort();
	snprintf(config, sizeof(config), "%s/config", home);
	snprintf(credentials, sizeof(credentials), "%s/credentials", home);
	for (size_t i = 0; i < SS_COUNT(unset); i++)
		unsetenv(unset[i]);
	setenv("HOME", home, 1);
	setenv("AWS_CONFIG_FILE", config, 1);
	setenv("AWS_SHARED_CREDENTIALS_FILE", credentials, 1);
	setenv("GOOGLE_APPLICATION_CREDENTIALS", credentials, 1);
	atexit(remove_files);
}

static void put(const char *path, struct ss_str bytes)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0 || write(fd, bytes.p ? bytes.p : "", bytes.n) != (ssize_t)bytes.n)
		abort();
	close(fd);
}

/* No name of an object leads out of where its file would be made. */
static void check_object(struct ss_bucket *b, const struct ss_object *o, struct ss_arena *arena)
{
	if (!o->key.n || !b->kind->url(b, o->key, o->tag, arena).p)
		abort();
	if (ss_tree_is_path(o->key) && (o->key.p[0] == '/' || ss_str_is(o->key, "..") || ss_str_starts(o->key, SS_STR("../")) ||
					ss_str_contains(o->key, SS_STR("/../"))))
		abort();
}

static void list(struct ss_bucket *b)
{
	struct ss_str next = SS_STR("");
	struct ss_arena arena = { 0 };
	for (unsigned i = 0; i < MOST_PAGES; i++) {
		struct ss_page page;
		struct ss_err err = { 0 };
		if (!b->kind->list(b, SS_STR("a/"), next, &arena, &page, &err)) {
			if (!err.code || !err.text[0])
				abort();
			if (!b->kind->again(b))
				break;
			continue;
		}
		for (size_t k = 0; k < page.v.n; k++)
			check_object(b, &page.v.v[k], &arena);
		next = page.next;
		ss_vec_free(&page.v);
		if (!next.n)
			break;
	}
	ss_arena_release(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct ss_err err = { 0 };
	if (!home[0])
		set_up();
	rest = (struct ss_str){ (const char *)data, size };
	bool google = ss_str_is(next_piece(), "g");
	put(config, next_piece());
	put(credentials, next_piece());
	struct ss_bucket *b = ss_bucket_open(google ? "gs://logs/a" : "s3://logs/a", &err);
	if (b)
		list(b);
	else if (!err.code || !err.text[0])
		abort();
	ss_bucket_close(b);
	return 0;
}
