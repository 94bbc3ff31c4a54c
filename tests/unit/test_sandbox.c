/* test_sandbox.c - what a server gives up, tried in a process of its own. */
#include "unit/unit.h"

#include "base/file.h"
#include "base/sandbox.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* Whether connecting was forbidden, not whether somebody listens. */
static bool may_connect(void)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(1), .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	bool may = fd >= 0 && (connect(fd, (const struct sockaddr *)(const void *)&to, sizeof(to)) == 0 || errno == ECONNREFUSED);
	close(fd);
	return may;
}

static bool may_write(void)
{
	char path[] = "/tmp/stepscope-sandbox-XXXXXX";
	int fd = mkstemp(path);
	if (fd < 0)
		return false;
	close(fd);
	unlink(path);
	return true;
}

/* Below the directory that it keeps for its own files: making, writing and removing, and nothing beside it. */
static void keeps_its_own_directory(void **state)
{
	char own[] = "/tmp/stepscope-own-XXXXXX", path[64];
	int status = 0;
	(void)state;
	assert_non_null(mkdtemp(own));
	snprintf(path, sizeof(path), "%s/file", own);
	pid_t pid = fork();
	if (pid == 0) {
		ss_sandbox_enter(false, false, own);
		int fd = open(path, O_CREAT | O_WRONLY, 0600);
		bool ok = fd >= 0 && write(fd, "x", 1) == 1 && unlink(path) == 0;
		_exit((ok ? 1 : 0) | (may_write() ? 2 : 0));
	}
	assert_true(waitpid(pid, &status, 0) == pid && WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), ss_sandbox_landlock() ? 1 : 3);
	assert_int_equal(rmdir(own), 0);
}

static void *nothing(void *arg)
{
	return arg;
}

/* What is left, one bit each. */
enum { WRITES = 1, CONNECTS = 2, RUNS = 4, READS = 8, THREADS = 16 };

static int left_after(bool writes, bool connects)
{
	int status = 0;
	pid_t pid = fork();
	if (pid == 0) {
		struct ss_file f;
		pthread_t thread;
		char *const args[] = { (char *)(uintptr_t)"true", NULL };
		ss_sandbox_enter(writes, connects, NULL);
		int left = (may_write() ? WRITES : 0) | (may_connect() ? CONNECTS : 0);
		left |= ss_file_open(&f, "/proc/self/exe", NULL) ? READS : 0;
		left |= pthread_create(&thread, NULL, nothing, NULL) == 0 && pthread_join(thread, NULL) == 0 ? THREADS : 0;
		/* A child that runs the program ends with 0. */
		pid_t child = fork();
		if (child == 0) {
			execv("/bin/true", args);
			_exit(1);
		}
		waitpid(child, &status, 0);
		left |= WIFEXITED(status) && WEXITSTATUS(status) == 0 ? RUNS : 0;
		_exit(left);
	}
	assert_true(waitpid(pid, &status, 0) == pid && WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void gives_up_what_it_does_not_need(void **state)
{
	const int always = READS | THREADS, all = always | WRITES | CONNECTS | RUNS;
	int landlock = ss_sandbox_landlock() ? WRITES | RUNS : 0;
#if defined(__x86_64__) || defined(__aarch64__)
	int seccomp = ss_sandbox_seccomp() ? RUNS : 0, connects = ss_sandbox_seccomp() ? CONNECTS : 0;
#else
	int seccomp = 0, connects = 0;
#endif
#ifdef __has_feature
#if __has_feature(address_sanitizer)
	seccomp = connects = 0;
#endif
#endif
	(void)state;
	assert_int_equal(left_after(false, false), all & ~(landlock | seccomp | connects));
	assert_int_equal(left_after(false, true), all & ~(landlock | seccomp));
	assert_int_equal(left_after(true, true), all & ~seccomp);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(gives_up_what_it_does_not_need),
		cmocka_unit_test(keeps_its_own_directory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
