/* over_ssh.c - the command line for the other machine, and ssh with it. */
#include "over_ssh.h"

#include "cli.h"

#include "base/buf.h"
#include "base/system.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define SCHEME "ssh://"
#define LEAST_PORT 20000	/* of the ports from which one is taken there: connections go out from those above 32767 */
#define PORTS 12768

/* Commands that read profiles and write to stdout. */
static const char *const commands[] = { "summary", "tool", "tools", "runs", "sql", "export", "diff", "gate", "doctor", "mcp",
					"serve" };

struct far {
	struct ss_str address;	/* "user@host:port", all of them the same */
	struct ss_str user_host, port;
	bool serves;
	const char *local_port;	/* of serve */
	unsigned far_port;
	struct ss_buf words;	/* its arguments, quoted for a shell */
};

/* Within single quotes a shell takes every character as it is, but for the quote. */
static void quote(struct ss_buf *b, struct ss_str s)
{
	ss_buf_char(b, '\'');
	for (size_t i = 0; i < s.n; i++)
		if (s.p[i] == '\'')
			ss_buf_lit(b, "'\\''");
		else
			ss_buf_char(b, s.p[i]);
	ss_buf_char(b, '\'');
}

/* Where an argument has "ssh://": at its beginning, or as the value of an option. SS_NPOS: it has not. */
static size_t find_scheme(struct ss_str arg)
{
	size_t at = ss_str_find(arg, SS_STR(SCHEME));
	bool value = at != SS_NPOS && at > 2 && arg.p[at - 1] == '=' && ss_str_starts(arg, SS_STR("--"));
	return at == 0 || value ? at : SS_NPOS;
}

/* Letters, digits and a few more: nothing that ssh would take for an option. */
static bool is_name(struct ss_str s)
{
	for (size_t i = 0; i < s.n; i++)
		if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-", s.p[i]) || !s.p[i])
			return false;
	return s.n && s.p[0] != '-';
}

/* "user@host:22", checked. */
static bool take_address(struct far *f, struct ss_str address, struct ss_err *err)
{
	uint64_t number = 0;
	if (f->address.p)
		return ss_str_eq(f->address, address) ||
		       ss_fail(err, SS_EINVAL,
			"'ssh://" SS_FMT "' and 'ssh://" SS_FMT "' are two machines, and a command runs on one of them",
			       SS_ARG(f->address), SS_ARG(address));
	f->address = address;
	size_t at = ss_str_rchr(address, '@'), colon = ss_str_rchr(address, ':');
	struct ss_str host = ss_str_sub(address, at == SS_NPOS ? 0 : at + 1, colon == SS_NPOS ? address.n : colon);
	f->port = ss_str_sub(address, colon == SS_NPOS ? address.n : colon + 1, address.n);
	f->user_host = ss_str_sub(address, 0, colon == SS_NPOS ? address.n : colon);
	bool ok = is_name(host) && (at == SS_NPOS || is_name(ss_str_sub(address, 0, at))) &&
		  (colon == SS_NPOS || (ss_str_to_u64(f->port, &number) && number && number < 65536));
	return ok || ss_fail(err, SS_EINVAL,
		"'ssh://" SS_FMT "' does not name a machine: write ssh://HOST/DIR, or ssh://USER@HOST:PORT/DIR", SS_ARG(address));
}

/* "ssh://HOST/DIR" is /DIR there, and "ssh://HOST/~/DIR" is DIR in the home directory, where ssh begins. */
static bool add_path(struct far *f, struct ss_str arg, size_t at, struct ss_err *err)
{
	struct ss_str rest = ss_str_sub(arg, at + strlen(SCHEME), arg.n);
	size_t slash = ss_str_chr(rest, '/');
	struct ss_str path = ss_str_sub(rest, slash == SS_NPOS ? rest.n : slash, rest.n);
	if (!take_address(f, ss_str_sub(rest, 0, slash), err))
		return false;
	if (!path.n)
		return ss_fail(err, SS_EINVAL, "'" SS_FMT "' names no directory: write ssh://HOST/DIR", SS_ARG(arg));
	if (ss_str_starts(path, SS_STR("/~/")))
		path = path.n > 3 ? ss_str_sub(path, 3, path.n) : SS_STR(".");
	ss_buf_char(&f->words, ' ');
	if (at)
		quote(&f->words, ss_str_sub(arg, 0, at));
	quote(&f->words, path);
	return true;
}

/* The port of serve is that on this machine. */
static bool take_port(struct far *f, char **argv, int *i, struct ss_err *err)
{
	struct ss_str arg = ss_str_from(argv[*i]);
	if (!f->serves)
		return false;
	if ((ss_str_is(arg, "--port") || ss_str_is(arg, "-p")) && argv[*i + 1])
		f->local_port = argv[++*i];
	else if (ss_str_starts(arg, SS_STR("--port=")))
		f->local_port = argv[*i] + 7;
	else if (ss_str_is(arg, "--bind") || ss_str_is(arg, "-b") || ss_str_starts(arg, SS_STR("--bind=")) || ss_str_starts(arg,
		SS_STR("--grpc")) ||
		 ss_str_starts(arg, SS_STR("--tls")) || ss_str_starts(arg, SS_STR("--allow-capture")) || ss_str_starts(arg,
			SS_STR("--history")))
		return ss_fail(err, SS_EINVAL,
			"%s does not apply to ssh://: the server listens there on the loopback address, and ssh leads to it",
			argv[*i]);
	else
		return false;
	return true;
}

static bool is_output(struct ss_str arg)
{
	return ss_str_is(arg, "-o") || ss_str_is(arg, "--output") || ss_str_starts(arg, SS_STR("--output="));
}

static bool read_arguments(struct far *f, int argc, char **argv, struct ss_err *err)
{
	bool known = false;
	for (size_t i = 0; i < SS_COUNT(commands); i++)
		known |= strcmp(argv[0], commands[i]) == 0;
	if (!known)
		return ss_fail(err, SS_EINVAL,
			"'stepscope %s' does not run on other machines: ssh:// is for commands that read profiles and write "
			       "nothing. 'ssh HOST tar -C DIR -cz .' piped to '-' brings the files here", argv[0]);
	f->serves = strcmp(argv[0], "serve") == 0;
	quote(&f->words, ss_str_from(argv[0]));
	for (int i = 1; i < argc && !err->code; i++) {
		struct ss_str arg = ss_str_from(argv[i]);
		size_t at = find_scheme(arg);
		if (is_output(arg))
			return ss_fail(err, SS_EINVAL,
				"nothing is written on another machine: write to a file of this one with '> FILE'");
		if (at != SS_NPOS) {
			if (!add_path(f, arg, at, err))
				return false;
		} else if (!take_port(f, argv, &i, err)) {
			ss_buf_char(&f->words, ' ');
			quote(&f->words, arg);
		}
	}
	return !err->code;
}

/* What a shell does there. A server ends when this program does: then its standard input ends. */
static void put_script(struct far *f, struct ss_buf *b)
{
	const char *set = getenv("STEPSCOPE_SSH_PROGRAM");
	struct ss_str program = set && *set ? ss_str_from(set) : SS_STR("stepscope");
	ss_buf_lit(b, "p=");
	quote(b, program);
	ss_buf_lit(b,
		"; command -v \"$p\" >/dev/null 2>&1 || { echo \"stepscope: there is no $p on this machine's PATH: install it "
		"there (pip install "
		      "stepscope), or set STEPSCOPE_SSH_PROGRAM to where it is\" >&2; exit 1; }; v=$(\"$p\" --version); "
		      "[ \"$v\" = 'stepscope " SS_VERSION "' ] || echo \"stepscope: warning: the other machine answers with "
			"$v, and here is " SS_VERSION
		      "\" >&2; ");
	if (f->serves)
		ss_buf_printf(b,
			"exec 3<&0; \"$p\" " SS_FMT " --port %u </dev/null & s=$!; { cat <&3 >/dev/null; kill $s 2>/dev/null; "
			"} & wait $s; "
			      "r=$?; kill $! 2>/dev/null; exit $r", SS_ARG(ss_buf_get(&f->words)), f->far_port);
	else
		ss_buf_printf(b, "exec \"$p\" " SS_FMT, SS_ARG(ss_buf_get(&f->words)));
}

/* For whatever shell the user has there. */
static bool put_command(struct far *f, struct ss_buf *b, struct ss_err *err)
{
	struct ss_buf script = { .p = NULL };
	put_script(f, &script);
	ss_buf_lit(b, "exec sh -c ");
	quote(b, ss_buf_get(&script));
	ss_buf_char(b, '\0');
	bool ok = !script.no_memory && !b->no_memory && !f->words.no_memory;
	ss_buf_free(&script);
	return ok || ss_fail_mem(err);
}

static void run_ssh(struct far *f, const char *command, const char *host, const char *port, const char *forward)
{
	const char *set = getenv("STEPSCOPE_SSH"), *argv[16];
	size_t n = 0;
	argv[n++] = set && *set ? set : "ssh";
	argv[n++] = "-T";
	if (f->port.n) {
		argv[n++] = "-p";
		argv[n++] = port;
	}
	if (f->serves) {
		argv[n++] = "-o";
		argv[n++] = "ExitOnForwardFailure=yes";
		argv[n++] = "-L";
		argv[n++] = forward;
	}
	argv[n++] = "--";
	argv[n++] = host;
	argv[n++] = command;
	argv[n] = NULL;
	execvp(argv[0], (char *const *)(uintptr_t)argv);
	fprintf(stderr, "stepscope: cannot run '%s': %s\n", argv[0], strerror(errno));
	_exit(CLI_FAILED);
}

/* ssh takes the place of this program. The standard input of a server stays open as long as the terminal does. */
static bool go(struct far *f, struct ss_err *err)
{
	struct ss_buf command = { .p = NULL };
	char host[300], port[8], forward[64];
	uint64_t number = 0;
	uint16_t random = 0;
	f->local_port = f->local_port ? f->local_port : "6006";
	if (f->serves && (!ss_str_to_u64(ss_str_from(f->local_port), &number) || !number || number > 65535))
		return ss_fail(err, SS_EINVAL, "'%s' is not a port: give a number from 1 to 65535", f->local_port);
	if (f->address.n >= sizeof(host))
		return ss_fail(err, SS_EINVAL, "the name of the machine is too long");
	(void)ss_random_bytes(&random, sizeof(random));
	f->far_port = LEAST_PORT + random % PORTS;
	snprintf(host, sizeof(host), SS_FMT, SS_ARG(f->user_host));
	snprintf(port, sizeof(port), SS_FMT, SS_ARG(f->port));
	snprintf(forward, sizeof(forward), "127.0.0.1:%s:127.0.0.1:%u", f->local_port, f->far_port);
	if (!put_command(f, &command, err))
		return false;
	if (f->serves)
		fprintf(stderr,
			"stepscope: the page is on http://127.0.0.1:%s/ of this machine as soon as the other one serves\n",
			f->local_port);
	run_ssh(f, command.p, host, port, forward);
	return false;
}

bool cli_over_ssh(int argc, char **argv, int *status)
{
	struct far f = { .serves = false };
	struct ss_err err = { 0 };
	bool any = false;
	for (int i = 1; i < argc; i++)
		any |= find_scheme(ss_str_from(argv[i])) != SS_NPOS;
	if (!any || strcmp(argv[0], "help") == 0)
		return false;
	if (read_arguments(&f, argc, argv, &err))
		(void)go(&f, &err);
	ss_buf_free(&f.words);
	*status = cli_fail(&err);
	return true;
}
