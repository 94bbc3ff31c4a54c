/* ssh_process.c - ssh as a child: its end, and what that says about the command there. */
#include "ssh_process.h"

#include "cli.h"

#include "base/system.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const int passed_on[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
static volatile sig_atomic_t child, caught;

static void pass_on(int number)
{
	caught = number;
	kill((pid_t)child, number);
}

/* The child's standard input is `in`, or ours if `in` is negative. Its signals are set as at the begin of this program. */
static int start(const char *const *argv, int in, const sigset_t *mask, pid_t *pid)
{
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attributes;
	if (posix_spawn_file_actions_init(&files))
		return ENOMEM;
	if (posix_spawnattr_init(&attributes)) {
		posix_spawn_file_actions_destroy(&files);
		return ENOMEM;
	}
	int failed = in < 0 ? 0 : posix_spawn_file_actions_adddup2(&files, in, STDIN_FILENO);
	failed = failed ? failed : posix_spawnattr_setsigmask(&attributes, mask);
	failed = failed ? failed : posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
	char *const *words = (char *const *)(uintptr_t)argv;
	failed = failed ? failed : posix_spawnp(pid, argv[0], &files, &attributes, words, ss_environment());
	posix_spawnattr_destroy(&attributes);
	posix_spawn_file_actions_destroy(&files);
	return failed;
}

/* The status of waitpid(). Signals that end this program end ssh; what the user has ignored stays ignored. */
static bool run(const char *const *argv, int in, int *status)
{
	struct sigaction pass = { .sa_handler = pass_on }, was;
	sigset_t block, mask;
	pid_t pid = 0;
	sigemptyset(&block);
	for (size_t i = 0; i < SS_COUNT(passed_on); i++)
		sigaddset(&block, passed_on[i]);
	sigprocmask(SIG_BLOCK, &block, &mask);
	int failed = start(argv, in, &mask, &pid);
	child = (sig_atomic_t)pid;
	for (size_t i = 0; !failed && i < SS_COUNT(passed_on); i++)
		if (sigaction(passed_on[i], NULL, &was) == 0 && was.sa_handler != SIG_IGN)
			sigaction(passed_on[i], &pass, NULL);
	sigprocmask(SIG_SETMASK, &mask, NULL);
	if (failed) {
		cli_tell("cannot run '%s': %s", argv[0], strerror(failed));
		return false;
	}
	while (waitpid(pid, status, 0) < 0)
		if (errno != EINTR)
			return false;
	return true;
}

/* End as a shell expects: by the signal that this program got. */
static void end_by(int number)
{
	struct sigaction usual = { .sa_handler = SIG_DFL };
	sigaction(number, &usual, NULL);
	raise(number);
}

int cli_ssh_run(const char *const *argv, const char *host, bool holds_input, int failed)
{
	int ends[2] = { -1, -1 }, status = 0;
	if (holds_input && (!ss_pipe_open(ends) || fcntl(ends[0], F_SETFL, 0) != 0)) {
		cli_tell("cannot run '%s': %s", argv[0], strerror(errno));
		return failed;
	}
	bool ran = run(argv, ends[0], &status);
	if (holds_input)
		ss_pipe_close(ends);
	if (!ran)
		return failed;
	if (caught)
		end_by(caught);
	int there = WIFEXITED(status) ? WEXITSTATUS(status) - CLI_SSH_ANSWERED : -1;
	if (there >= 0 && there <= CLI_SSH_MOST)
		return there;
	if (WIFEXITED(status))
		cli_tell("no answer came from '%s': '%s' ended with status %d", host, argv[0], WEXITSTATUS(status));
	else
		cli_tell("no answer came from '%s': '%s' ended by signal %d", host, argv[0], WTERMSIG(status));
	return failed;
}
