/*
 * aws_process.c - credentials that a program prints: a profile's credential_process, or the AWS
 * command line.
 */
#include "location/aws_finding.h"

#include "base/system.h"
#include "location/bucket.h"
#include "wire/json_tree.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define WORDS 64
#define WAIT_MS 60000L
#define PATIENCE "STEPSCOPE_FETCH_TIMEOUT_S"

/* named: "the credential_process of the profile 'x'"; advice: what to do where it fails, or "" */
struct program {
	struct ss_str named;
	const char *advice;
	const char *words[WORDS + 1];
};

/* ---- the words of the command, as a shell takes them apart ---- */

/* The next character of a word; false: it is over. In quotes, `quote` is their kind. */
static bool next_char(struct ss_str *s, char *quote, char *c)
{
	while (s->n) {
		*c = s->p[0];
		bool blank = *c == ' ' || (*c >= '\t' && *c <= '\r');
		if (!*quote && blank)
			return false;
		*s = ss_str_sub(*s, 1, s->n);
		bool opens = !*quote && (*c == '"' || *c == '\'');
		if (opens || (*quote && *c == *quote)) {
			*quote = opens ? *c : '\0';
			continue;
		}
		bool escapes =
			*c == '\\' && s->n && (!*quote || (*quote == '"' && (s->p[0] == '"' || s->p[0] == '\\')));
		if (escapes) {
			*c = s->p[0];
			*s = ss_str_sub(*s, 1, s->n);
		}
		return true;
	}
	return false;
}

static bool split(struct ss_aws_finding *f, const char *profile, struct ss_str command, const char *words[WORDS + 1])
{
	size_t n = 0;
	for (command = ss_aws_trim(command); command.n && n < WORDS; command = ss_aws_trim(command)) {
		struct ss_buf b = { 0 };
		char quote = '\0', c;
		while (next_char(&command, &quote, &c))
			ss_buf_char(&b, c);
		struct ss_str word = ss_buf_to_arena(&b, f->arena);
		if (!word.p)
			return ss_fail_mem(f->err);
		if (quote)
			return ss_fail(f->err, SS_EINVAL,
				       "a quote in credential_process of the profile '%.100s' is not closed", profile);
		words[n++] = word.p;
	}
	words[n] = NULL;
	return (n && !command.n) || ss_fail(f->err, SS_EINVAL, "credential_process of the profile '%.100s' has %s",
					    profile, n ? "more than 64 words" : "no program");
}

/* ---- the program ---- */

static int64_t now_ms(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* With nothing to read, and all signals as they usually are. */
static int start(const char *const words[], int out, pid_t *pid)
{
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attributes;
	sigset_t none;
	sigemptyset(&none);
	if (posix_spawn_file_actions_init(&files))
		return ENOMEM;
	if (posix_spawnattr_init(&attributes)) {
		posix_spawn_file_actions_destroy(&files);
		return ENOMEM;
	}
	int failed = posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
	failed = failed ? failed : posix_spawn_file_actions_adddup2(&files, out, 1);
	failed = failed ? failed : posix_spawnattr_setsigmask(&attributes, &none);
	failed = failed ? failed : posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
	failed = failed ? failed
			: posix_spawnp(pid, words[0], &files, &attributes, (char *const *)(uintptr_t)words,
				       ss_environment());
	posix_spawnattr_destroy(&attributes);
	posix_spawn_file_actions_destroy(&files);
	return failed;
}

/* Read its output up to its end. False: it takes too long, or prints too much. */
static bool read_all(int fd, struct ss_buf *b, int64_t until_ms)
{
	char piece[4096];
	for (;;) {
		int64_t left = until_ms - now_ms();
		struct pollfd p = { .fd = fd, .events = POLLIN };
		int ready = left > 0 ? poll(&p, 1, (int)left) : 0;
		ssize_t n = ready > 0 ? read(fd, piece, sizeof(piece)) : -1;
		if (n > 0)
			ss_buf_str(b, (struct ss_str){ piece, (size_t)n });
		bool again = ready < 0 ? errno == EINTR : ready > 0 && n < 0 && (errno == EINTR || errno == EAGAIN);
		if (!again && (n <= 0 || b->over || b->no_memory))
			return n == 0;
	}
}

/* The status of the process; -1: it had to be killed. */
static int wait_for(pid_t pid, bool ends, int64_t until_ms)
{
	const struct timespec pause = { 0, 5000000 };
	int status = 0;
	pid_t done = 0;
	while (ends && !done && now_ms() < until_ms) {
		done = waitpid(pid, &status, WNOHANG);
		if (done < 0 && errno == EINTR)
			done = 0;
		if (!done)
			nanosleep(&pause, NULL);
	}
	if (done)
		return done > 0 ? status : -1;
	kill(pid, SIGKILL);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return -1;
}

static bool run(struct ss_aws_finding *f, const struct program *p, struct ss_buf *b)
{
	int ends[2];
	pid_t pid = 0;
	long patience_ms = ss_patience_ms(PATIENCE, WAIT_MS);
	int64_t until_ms = now_ms() + patience_ms;
	if (!ss_pipe_open(ends))
		return ss_fail(f->err, SS_EIO, "cannot open a pipe: %s", strerror(errno));
	int failed = fcntl(ends[1], F_SETFL, 0) < 0 ? errno : start(p->words, ends[1], &pid);
	close(ends[1]);
	bool whole = !failed && read_all(ends[0], b, until_ms);
	int status = failed ? 0 : wait_for(pid, whole, until_ms);
	close(ends[0]);
	if (b->no_memory)
		return ss_fail_mem(f->err);
	if (failed)
		return ss_fail(f->err, SS_EIO, "cannot run '%.200s', %s: %s%s", p->words[0], p->named.p,
			       strerror(failed), p->advice);
	if (b->over)
		return ss_fail(f->err, SS_EFORMAT, "%s prints more than 64 KiB", p->named.p);
	if (status == -1)
		return ss_fail(f->err, SS_EIO, "%s was ended after %ld s (" PATIENCE ")", p->named.p,
			       patience_ms / 1000);
	return (WIFEXITED(status) && WEXITSTATUS(status) == 0) ||
	       ss_fail(f->err, SS_EIO, "%s failed (%s %d): '%.200s'%s", p->named.p,
		       WIFEXITED(status) ? "status" : "signal",
		       WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status), p->words[0], p->advice);
}

static bool take_output(struct ss_aws_finding *f, const struct program *p, struct ss_str text)
{
	struct ss_err why = { 0 };
	struct ss_str from = ss_arena_printf(f->arena, "of %s", p->named.p);
	const struct ss_jnode *n = text.p && from.p ? ss_jtree_of_json(text, f->arena, &why) : NULL;
	if (f->arena->no_memory)
		return ss_fail_mem(f->err);
	if (!n || n->kind != SS_J_OBJECT || ss_jnode_int(n, "Version", 0) != 1)
		return ss_fail(f->err, SS_EFORMAT,
			       "%s prints no credentials: JSON with \"Version\": 1 is expected", p->named.p);
	const struct ss_aws_given g = { ss_jnode_text(n, "AccessKeyId"), ss_jnode_text(n, "SecretAccessKey"),
					ss_jnode_text(n, "SessionToken"), ss_utc_ns(ss_jnode_text(n, "Expiration")) };
	return ss_aws_take(f, &g, from);
}

static bool ask(struct ss_aws_finding *f, const struct program *p)
{
	struct ss_buf b = { .limit_bytes = SS_AWS_TOKEN_BYTES };
	f->a->of_program = true;
	bool ok = p->named.p ? run(f, p, &b) : ss_fail_mem(f->err);
	struct ss_str text = ss_buf_to_arena(&b, f->arena);
	return ok && take_output(f, p, text);
}

bool ss_aws_process(struct ss_aws_finding *f, const char *profile, struct ss_str command)
{
	struct program p = {
		.named = ss_arena_printf(f->arena, "the credential_process of the profile '%.100s'", profile),
		.advice = "",
	};
	return split(f, profile, command, p.words) && ask(f, &p);
}

bool ss_aws_login(struct ss_aws_finding *f, const char *profile)
{
	struct ss_str name = ss_arena_str(f->arena, ss_str_from(profile));
	struct program p = {
		.named = ss_arena_printf(f->arena, "the program of 'aws login' for the profile '%.100s'", profile),
		.words = { "aws", "configure", "export-credentials", "--profile", name.p,
			   "--format", "process" },
	};
	struct ss_str advice = ss_arena_printf(f->arena,
					       "; it takes version 2 of the AWS command line, whose 'aws login --profile "
					       "%.100s' begins a new session",
					       profile);
	p.advice = advice.p;
	return name.p && advice.p ? ask(f, &p) : ss_fail_mem(f->err);
}
