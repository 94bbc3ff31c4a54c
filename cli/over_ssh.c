/* over_ssh.c - the command line for the other machine, and ssh with it. */
#include "over_ssh.h"

#include "cli.h"
#include "ssh_process.h"

#include "base/buf.h"
#include "base/system.h"

#include <stdio.h>
#include <stdlib.h>

#define SCHEME "ssh://"
#define LEAST_PORT 20000	/* of the ports from which one is taken there: connections go out from those above 32767 */
#define PORTS 12768

/* Commands that read profiles and write to stdout. */
static const char *const commands[] = { "summary", "tool", "tools", "runs", "sql", "export", "diff", "gate", "doctor", "mcp",
					"serve", "xprof" };
/* Subcommands of xprof that write a file where they run, and answer with its path. */
static const char *const writers[] = { "create_events_db", "query_events_db" };

struct far {
	struct ss_str address;	/* "user@host:port", all of them the same */
	struct ss_str user_host, port;
	bool serves;
	const struct cli_opt *options;	/* of a comparison, whose operands are all paths; else NULL */
	size_t noptions;
	bool only_operands;	/* of those read so far: "--" was among them */
	struct ss_str option;	/* whose value comes next, or nothing */
	int failed;		/* its status where there is no answer */
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

/* The position of "ssh://" in an argument: at its begin, or as the value of an option. SS_NPOS: none. */
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

/* The parts of "user@host:22". A password, or what cannot be a port, is not repeated in a message. */
static bool take_parts(struct far *f, struct ss_str address, struct ss_err *err)
{
	uint64_t number = 0;
	size_t at = ss_str_rchr(address, '@'), colon = ss_str_rchr(address, ':');
	struct ss_str user = ss_str_sub(address, 0, at == SS_NPOS ? 0 : at);
	size_t secret = ss_str_chr(user, ':');
	if (secret != SS_NPOS)
		return ss_fail(err, SS_EINVAL,
			"'ssh://" SS_FMT ":...@" SS_FMT "' contains a password, which ssh does not accept there: write "
			"ssh://USER@HOST/DIR. ssh then asks for the password, or uses a key",
			       SS_ARG(ss_str_sub(user, 0, secret)), SS_ARG(ss_str_sub(address, at + 1, address.n)));
	struct ss_str host = ss_str_sub(address, at == SS_NPOS ? 0 : at + 1, colon == SS_NPOS ? address.n : colon);
	f->port = ss_str_sub(address, colon == SS_NPOS ? address.n : colon + 1, address.n);
	f->user_host = ss_str_sub(address, 0, colon == SS_NPOS ? address.n : colon);
	bool port = colon == SS_NPOS || (ss_str_to_u64(f->port, &number) && number && number < 65536);
	bool ok = port && is_name(host) && (at == SS_NPOS || is_name(user));
	return ok || ss_fail(err, SS_EINVAL,
		"'ssh://" SS_FMT "%s' does not name a machine: write ssh://HOST/DIR, or ssh://USER@HOST:PORT/DIR",
			     SS_ARG(port ? address : f->user_host), port ? "" : ":...");
}

/* "user@host:22", checked. */
static bool take_address(struct far *f, struct ss_str address, struct ss_err *err)
{
	struct far other = { .serves = false };
	if (!f->address.p) {
		f->address = address;
		return take_parts(f, address, err);
	}
	return take_parts(&other, address, err) && (ss_str_eq(f->address, address) ||
	       ss_fail(err, SS_EINVAL,
		"'ssh://" SS_FMT "' and 'ssh://" SS_FMT "' are two machines, but a command runs on one machine only",
		       SS_ARG(f->address), SS_ARG(address)));
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
			"%s does not apply to ssh://: the server listens on the loopback address there, and ssh forwards to it",
			argv[*i]);
	else
		return false;
	return true;
}

static bool is_output(struct ss_str arg)
{
	return ss_str_is(arg, "-o") || ss_str_is(arg, "--output") || ss_str_starts(arg, SS_STR("--output="));
}

static bool check_subcommand(int argc, char **argv, struct ss_err *err)
{
	for (int i = 1; i < argc && strcmp(argv[0], "xprof") == 0; i++)
		for (size_t k = 0; k < SS_COUNT(writers); k++)
			if (strcmp(argv[i], writers[k]) == 0)
				return ss_fail(err, SS_EINVAL,
					"'stepscope xprof %s' does not run on other machines: it writes a file where it runs. "
					"'stepscope sql ssh://...' answers queries there", writers[k]);
	return true;
}

/* For a comparison: is the next argument the value of this option? Long options may be abbreviated. */
static bool takes_value(const struct far *f, struct ss_str arg)
{
	bool whole = ss_str_starts(arg, SS_STR("--"));
	struct ss_str name = ss_str_sub(arg, 2, arg.n);
	if (whole ? !name.n || ss_str_chr(name, '=') != SS_NPOS : arg.n != 2)
		return false;
	for (size_t i = 0; i < f->noptions; i++)
		if (whole ? ss_str_starts(ss_str_from(f->options[i].name), name) : f->options[i].letter == arg.p[1])
			return f->options[i].takes_value;
	return false;
}

static bool is_side(struct ss_str option)
{
	return option.n > 2 && (ss_str_starts(SS_STR("--base"), option) || ss_str_starts(SS_STR("--new"), option));
}

/*
 * For diff and gate: the path in this argument or in its value, or an empty text. "-" is not a path:
 * ssh passes standard input on.
 */
static struct ss_str path_of(struct far *f, struct ss_str arg)
{
	struct ss_str path = SS_STR("");
	size_t is = ss_str_chr(arg, '=');
	bool value = f->option.n, option = !value && !f->only_operands && arg.n > 1 && arg.p[0] == '-';
	if (value)
		path = is_side(f->option) ? arg : path;
	else if (!option)
		path = arg;
	else if (is != SS_NPOS && is_side(ss_str_sub(arg, 0, is)))
		path = ss_str_sub(arg, is + 1, arg.n);
	f->only_operands |= option && ss_str_is(arg, "--");
	f->option = option && takes_value(f, arg) ? arg : SS_STR("");
	return ss_str_is(path, "-") ? SS_STR("") : path;
}

static bool read_argument(struct far *f, char **argv, int *i, struct ss_err *err)
{
	struct ss_str arg = ss_str_from(argv[*i]), path = f->options ? path_of(f, arg) : SS_STR("");
	size_t at = find_scheme(arg);
	if (is_output(arg))
		return ss_fail(err, SS_EINVAL, "stepscope writes nothing on another machine: write to a file on this machine "
		    "with '> FILE'");
	if (at != SS_NPOS)
		return add_path(f, arg, at, err);
	if (path.n)
		return ss_fail(err, SS_EINVAL,
			"'" SS_FMT "' is not a path on the machine that ssh:// names, and a command runs on one machine only: "
			"name it as ssh://HOST/DIR if it is there, or copy it there", SS_ARG(ss_str_sub(path, 0, 200)));
	if (!take_port(f, argv, i, err) && !err->code) {
		ss_buf_char(&f->words, ' ');
		quote(&f->words, arg);
	}
	return !err->code;
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
	if (!check_subcommand(argc, argv, err))
		return false;
	f->serves = strcmp(argv[0], "serve") == 0;
	quote(&f->words, ss_str_from(argv[0]));
	for (int i = 1; i < argc; i++)
		if (!read_argument(f, argv, &i, err))
			return false;
	return true;
}

/* The command for the remote shell. A server ends with this program, when its standard input ends. */
static void put_script(struct far *f, struct ss_buf *b)
{
	const char *set = getenv("STEPSCOPE_SSH_PROGRAM");
	struct ss_str program = set && *set ? ss_str_from(set) : SS_STR("stepscope");
	ss_buf_lit(b, "p=");
	quote(b, program);
	ss_buf_printf(b,
		"; command -v \"$p\" >/dev/null 2>&1 || { echo \"stepscope: there is no $p on " SS_FMT ", or not on the PATH of a "
		      "shell without a terminal there: install it there (pip install stepscope), or set "
		      "STEPSCOPE_SSH_PROGRAM to where it is\" >&2; exit %d; }; v=$(\"$p\" --version); "
		      "[ \"$v\" = 'stepscope " SS_VERSION "' ] || echo \"stepscope: warning: the other machine answers with "
			"$v, and here is " SS_VERSION
		      "\" >&2; ", SS_ARG(f->user_host), CLI_SSH_ANSWERED + f->failed);
	if (f->serves)
		ss_buf_printf(b,
			"exec 3<&0; \"$p\" " SS_FMT " --port %u </dev/null & s=$!; { cat <&3 >/dev/null; kill $s 2>/dev/null; "
			"} & wait $s; "
			      "r=$?; kill $! 2>/dev/null; ", SS_ARG(ss_buf_get(&f->words)), f->far_port);
	else
		ss_buf_printf(b, "\"$p\" " SS_FMT "; r=$?; ", SS_ARG(ss_buf_get(&f->words)));
	ss_buf_printf(b, "[ $r -gt %d ] && exit $r; exit $((r+%d))", CLI_SSH_MOST, CLI_SSH_ANSWERED);
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

static int run_ssh(struct far *f, const char *command, const char *host, const char *port, const char *forward)
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
	return cli_ssh_run(argv, host, f->serves, f->failed);
}

/* *status is that of the command there. */
static bool go(struct far *f, int *status, struct ss_err *err)
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
	*status = run_ssh(f, command.p, host, port, forward);
	ss_buf_free(&command);
	return true;
}

bool cli_over_ssh(int argc, char **argv, int *status)
{
	struct far f = { .failed = CLI_FAILED };
	struct ss_err err = { 0 };
	bool any = false;
	for (int i = 1; i < argc; i++)
		any |= find_scheme(ss_str_from(argv[i])) != SS_NPOS;
	if (!any || strcmp(argv[0], "help") == 0)
		return false;
	const struct cli_command *c = cli_command_find(argv[0]);
	f.options = c && c->options ? c->options(&f.noptions) : NULL;
	f.failed = f.options ? CLI_MISUSE : CLI_FAILED;
	if (!read_arguments(&f, argc, argv, &err) || !go(&f, status, &err)) {
		(void)cli_fail(&err);
		*status = f.failed;
	}
	ss_buf_free(&f.words);
	return true;
}
