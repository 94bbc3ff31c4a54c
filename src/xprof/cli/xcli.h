/*
 * xcli.h - XProf's command line: its subcommands, arguments, JSON, exit statuses and errors.
 *
 * commands.def lists the subcommands: name, function, how several traces are combined, parameters
 * with their defaults. A function reads its arguments and the session's profiles and makes the
 * answer as JSON values (value.h); what is common to all (finding the session, the member
 * `capture`, errors) is done around it (run.c).
 */
#ifndef SS_XPROF_CLI_XCLI_H
#define SS_XPROF_CLI_XCLI_H

#include "location/location.h"
#include "model/model.h"
#include "request/request.h"
#include "xprof/cli/value.h"

#define XCLI_MAX_PARAMS 20

/* Exit statuses; the words of reasons are in run.c. */
enum xcli_status { XCLI_OK, XCLI_INTERNAL, XCLI_USAGE, XCLI_PATH, XCLI_INVALID };

/* The text of the warning about several traces. */
enum xcli_combine { XCLI_MERGED, XCLI_SUMMED, XCLI_LISTED, XCLI_APART };

enum xcli_flags {
	XCLI_ONE_TRACE = 1 << 0,
	XCLI_HOST_IS_NUMBER = 1 << 1, /* its parameter `host` is not a name */
	XCLI_NO_SESSION = 1 << 2,     /* reads no trace, or finds its traces itself */
	XCLI_STEP_TIMES = 1 << 3,     /* step times of several hosts are the slowest of each step */
	XCLI_DUMPS = 1 << 4,	      /* a directory of a compiler's dumps is a session, too */
};

struct xcli;

/* Makes the answer into *out: an object, an array, or a text. */
typedef bool xcli_fn(struct xcli *x, struct xv **out);

#define COMMAND(word, fn, ...) xcli_fn fn;
#include "xprof/cli/commands.def"
#undef COMMAND

struct xcli_param {
	const char *name, *preset; /* NULL: there is none, it must be given */
};

struct xcli_command {
	const char *name;
	xcli_fn *run;
	enum xcli_combine combine;
	unsigned flags;
	struct xcli_param params[XCLI_MAX_PARAMS]; /* beside the session and --host */
};

struct xcli_trace {
	struct ss_str path, stem, host; /* path NUL-terminated */
};

struct xcli {
	const struct xcli_command *commands; /* all of them, for xcli_ask */
	const struct xcli_command *cmd;
	const char *name;		     /* as called */
	const char *values[XCLI_MAX_PARAMS]; /* of cmd->params; NULL: not given */
	const char *session, *logdir, *host;
	bool strict;		     /* a trace of which something is missing is a failure */
	struct ss_location place;    /* where the session is, or the log directory with it */
	struct ss_str run;	 /* directory's name */
	struct ss_str dir, root; /* its path, as it was typed and without links */
	struct ss_str input;	 /* session after --host chose a file */
	struct xcli_trace *traces, *available;
	size_t ntraces, navailable;
	struct xv *warnings;
	struct ss_store store;
	struct ss_host *hosts;
	size_t nhosts;
	struct ss_model model;
	struct xcli_answer *answers; /* of tools, run once each */
	struct xcli *others, *next;  /* sessions opened beside this one */
	struct ss_arena arena;
	struct xv_maker make;
	enum xcli_status status;
	struct ss_str error;
};

/* Record a failure; always false. The first wins. */
bool xcli_fail(struct xcli *x, enum xcli_status status, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
bool xcli_no_memory(struct xcli *x);
/* Report the error of a tool or of the store. */
bool xcli_failed(struct xcli *x, const struct ss_err *err);

/*
 * Arguments by name. Numbers are whole or real, "True" is 1; anything else is a wrong usage: false.
 * A parameter that was not given has its preset, one without it "".
 */
const char *xcli_text(const struct xcli *x, const char *name);
bool xcli_given(const struct xcli *x, const char *name);
bool xcli_int(struct xcli *x, const char *name, int64_t *v);
bool xcli_real(struct xcli *x, const char *name, double *v);
bool xcli_flag(const struct xcli *x, const char *name);
/* The next of "a,b", without the letters `around` it, such as the brackets and quotes of a list as Python writes it. */
struct ss_str xcli_next_of_list(struct ss_str *rest, const char *around);

/* The profiles of the session, opened. */
bool xcli_open(struct xcli *x);
/* The same, and nothing of them is missing: for --strict. */
bool xcli_whole(struct xcli *x);

/*
 * A tool's answer as XProf's clients get it, of all hosts; without parameters it is run once. NULL:
 * it failed, and *why (or NULL) says how; the subcommand has not failed yet.
 */
const struct ss_result *xcli_tool(struct xcli *x, const char *tool, struct ss_err *why);
const struct ss_result *xcli_tool_of(struct xcli *x, const char *tool,
				     const struct ss_param_value *params, size_t nparams,
				     struct ss_err *why);
/* The answer for all hosts, as our own clients get it. */
const struct ss_result *xcli_tool_ours(struct xcli *x, const char *tool, struct ss_err *why);
/* The answer for one host, by its number. */
const struct ss_result *xcli_tool_on(struct xcli *x, const char *tool, size_t host,
				     struct ss_err *why);
void xcli_answers_free(struct xcli *x);

/* NULL where the list has none of that name. */
const struct xcli_command *xcli_find(const struct xcli_command *list, const char *name);
extern const struct xcli_command xcli_commands[]; /* the last has no name */

/*
 * Another subcommand, with its presets, for the answer of this one. False where it fails; *error
 * (or NULL) says why, and `x` has not failed yet.
 */
bool xcli_ask(struct xcli *x, const char *command, struct xv **out, struct ss_str *error);
/* Another session, for xcli_ask; it lives as long as `x`. NULL where there is none. */
struct xcli *xcli_other(struct xcli *x, const char *session);
/* A new file below $TMPDIR that only its owner can read (file.c). */
struct xcli_file {
	struct ss_out out;
	struct ss_str path;
	int fd, error; /* of the system */
};

bool xcli_file_open(struct xcli *x, struct xcli_file *f, const char *name, const char *suffix);
/* Keeps the file if `ok`; else, and if it cannot be written, removes it. */
bool xcli_file_close(struct xcli *x, struct xcli_file *f, bool ok);
/* Such a file of this text: its path; p is NULL where it failed. */
struct ss_str xcli_file(struct xcli *x, const char *name, const char *suffix, struct ss_str text);

/* The answer of get_utilization_viewer for one node (counters.c). */
bool xcli_utilization(struct xcli *x, int64_t host, int64_t device, int64_t node, struct xv **out);

/* argv[0] is the subcommand. Prints the answer and returns the exit status. */
int xcli_main(int argc, char **argv);

#endif
