/*
 * test_draft.c - files in the making, also on systems that make none without a name or give none to
 * it.
 */
#include "unit/unit.h"

#include "base/draft.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char top[] = "/tmp/stepscope-draft-XXXXXX";

static const char *in_top(const char *name)
{
	static char path[128];
	snprintf(path, sizeof(path), "%s/%s", top, name);
	return path;
}

static int files_in_top(void)
{
	int n = 0;
	DIR *dir = opendir(top);
	assert_non_null(dir);
	for (const struct dirent *e; (e = readdir(dir));)
		n += strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
	closedir(dir);
	return n;
}

static void expect_file(const char *name, const char *text, mode_t mode)
{
	char got[64] = "";
	struct stat st;
	int fd = open(in_top(name), O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(read(fd, got, sizeof(got) - 1), strlen(text));
	assert_string_equal(got, text);
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(st.st_mode & 07777, mode);
	close(fd);
}

static bool make(const char *name, const char *text, bool hides, bool replaces)
{
	struct ss_draft d;
	assert_true(ss_draft_open(&d, in_top(".part-"), 0640));
	assert_int_equal(write(d.fd, text, 2), 2);
	if (hides)
		assert_true(ss_draft_hide(&d) && d.named && access(d.path, F_OK) == 0);
	assert_int_equal(write(d.fd, text + 2, strlen(text + 2)), strlen(text + 2));
	bool ok = ss_draft_keep(&d, in_top(name), replaces);
	assert_int_equal(d.fd, -1);
	return ok;
}

static void makes_files(void **state)
{
	struct ss_draft d;
	(void)state;
	assert_true(make("new", "first", false, false));
	expect_file("new", "first", 0640);
	assert_false(make("new", "second", false, false));
	assert_int_equal(errno, EEXIST);
	assert_false(make("new", "second", true, false));
	expect_file("new", "first", 0640);
	assert_true(make("new", "third", false, true));
	expect_file("new", "third", 0640);
	assert_true(make("new", "fourth", true, true));
	expect_file("new", "fourth", 0640);
	assert_true(make("other", "fifth", false, true));
	expect_file("other", "fifth", 0640);
	assert_true(ss_draft_open(&d, in_top(".part-"), 0600));
	ss_draft_drop(&d);
	ss_draft_drop(&d);
	assert_false(ss_draft_open(&d, in_top("none/.part-"), 0600));
	assert_int_equal(errno, ENOENT);
	assert_int_equal(files_in_top(), 2);
	assert_int_equal(unlink(in_top("new")) | unlink(in_top("other")), 0);
}

#if defined(__linux__) && (defined(__x86_64__) || defined(__aarch64__))
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#define AT(field) offsetof(struct seccomp_data, field)
#define NAMELESS (O_TMPFILE & ~O_DIRECTORY)

/* This call fails with `error` from now on, if its argument at `arg` in seccomp_data has one of these flags. */
static void refuse(unsigned call, unsigned arg, unsigned flags, unsigned error)
{
	struct sock_filter rules[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, AT(nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, arg),
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, flags, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog program = { SS_COUNT(rules), rules };
	assert_int_equal(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) | prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0), 0);
}

static void refuse_nameless(void)
{
	refuse(SYS_openat, AT(args[2]), NAMELESS, EOPNOTSUPP);
}

/* A name for a file that has none; a second name is another matter. */
static void refuse_names(void)
{
	refuse(SYS_linkat, AT(args[4]), AT_SYMLINK_FOLLOW, EPERM);
}

/* In a process of its own, whose status says whether drafts had no name. */
static void in_child(void (*forbid)(void), bool nameless)
{
	int status = 0;
	pid_t pid = fork();
	if (pid == 0) {
		struct ss_draft d;
		forbid();
		if (!ss_draft_open(&d, in_top(".part-"), 0600) || d.named == nameless)
			_exit(1);
		ss_draft_drop(&d);
		makes_files(NULL);
		_exit(0);
	}
	assert_true(waitpid(pid, &status, 0) == pid && WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

static bool system_makes_nameless(void)
{
	int fd = open(top, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

static void elsewhere(void **state)
{
	(void)state;
	in_child(refuse_nameless, false);
	in_child(refuse_names, system_makes_nameless());
}

static void nothing_is_left_of_a_killed_process(void **state)
{
	int status = 0;
	(void)state;
	pid_t pid = fork();
	if (pid == 0) {
		struct ss_draft d;
		(void)!(ss_draft_open(&d, in_top(".part-"), 0600) && write(d.fd, "half", 4) == 4);
		kill(getpid(), SIGKILL);
	}
	assert_true(waitpid(pid, &status, 0) == pid && WIFSIGNALED(status));
	assert_int_equal(files_in_top(), system_makes_nameless() ? 0 : 1);
}

/* Under a hidden name a file stays behind: the next one that gets such a name removes it, but none that is being made. */
static void next_writer_removes_what_is_left(void **state)
{
	int status = 0, ends[2];
	struct ss_draft mine, next;
	char left[PATH_MAX] = "";
	(void)state;
	assert_true(ss_draft_open(&mine, in_top(".part-"), 0600) && ss_draft_hide(&mine));
	assert_int_equal(pipe(ends), 0);
	pid_t pid = fork();
	if (pid == 0) {
		struct ss_draft d;
		(void)!(ss_draft_open(&d, in_top(".part-"), 0600) && ss_draft_hide(&d) && write(ends[1], d.path, sizeof(d.path)));
		kill(getpid(), SIGKILL);
	}
	assert_int_equal(read(ends[0], left, sizeof(left)), sizeof(left));
	assert_true(waitpid(pid, &status, 0) == pid && WIFSIGNALED(status));
	assert_int_equal(access(left, F_OK) | access(mine.path, F_OK), 0);
	/* Not of this file, no file, or no draft. */
	assert_int_equal(mkdir(in_top(".part-folder"), 0700) | symlink("/etc/passwd", in_top(".part-linked")), 0);
	close(open(in_top(".other-000000"), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
	close(open(in_top(".part-0000001"), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
	assert_true(ss_draft_open(&next, in_top(".part-"), 0600) && ss_draft_hide(&next));
	assert_int_equal(access(left, F_OK), -1);
	assert_int_equal(access(mine.path, F_OK) | access(next.path, F_OK), 0);
	assert_int_equal(files_in_top(), 6);
	ss_draft_drop(&next);
	ss_draft_drop(&mine);
	assert_int_equal(rmdir(in_top(".part-folder")) | unlink(in_top(".part-linked")), 0);
	assert_int_equal(unlink(in_top(".other-000000")) | unlink(in_top(".part-0000001")), 0);
	assert_int_equal(close(ends[0]) | close(ends[1]), 0);
}
#define ON_LINUX \
	cmocka_unit_test(elsewhere), cmocka_unit_test(nothing_is_left_of_a_killed_process), \
		cmocka_unit_test(next_writer_removes_what_is_left),
#else
#define ON_LINUX
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(makes_files),
		ON_LINUX
	};
	if (!mkdtemp(top))
		return 1;
	int failed = cmocka_run_group_tests(tests, NULL, NULL);
	rmdir(top);
	return failed;
}
