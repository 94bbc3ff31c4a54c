/*
 * cli.h - what the commands share. stdout is data, stderr is words; status 0 done, 1 failed, 2
 * misuse.
 */
#ifndef SS_CLI_CLI_H
#define SS_CLI_CLI_H

#include "base/draft.h"
#include "emit/text.h"
#include "model/model.h"
#include "location/location.h"
#include "request/registry.h"
#include "store/store.h"

enum { CLI_DONE = 0, CLI_FAILED = 1, CLI_MISUSE = 2 };

/* The whole program: its command line, and its exit status. */
__attribute__((visibility("default"))) int stepscope_main(int argc, char **argv);

/* A command: the constant at the end of its file, listed in commands.def. */
struct cli_opt;

struct cli_command {
	const char *name;
	const char *args;	/* "PATH [--host H]" */
	const char *summary;	/* one line, for the list of commands */
	const char *help;	/* whole paragraphs and options, for --help */
	bool hidden;
	/*
	 * The options of a comparison, for who passes them on; their values go nowhere. NULL for
	 * all other commands.
	 */
	const struct cli_opt *(*options)(size_t *n);
	int (*run)(int argc, char **argv); /* argv[0] is the command's name */
};

/* All commands, NULL-terminated: main.c lists them, for those that name or run others. */
extern const struct cli_command *const *cli_commands;
const struct cli_command *cli_command_find(const char *name);

/*
 * "stepscope: <what>: ..." on stderr, `what` being NULL or "warning"; control characters in the
 * text are replaced.
 */
void cli_say(const char *what, struct ss_str text);
/* "stepscope: ..." on stderr, the same way. */
void cli_tell(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* A copy of others' text for a terminal: control characters replaced, cut to so many bytes. */
void cli_plain(char *out, size_t cap, struct ss_str text);
/* The same for a failure; status 1. */
int cli_fail(const struct ss_err *err);
/* The same, and where help is; status 2. */
int cli_misuse(const struct cli_command *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void cli_print_help(const struct cli_command *c);
/* Parameters of a tool, as "-p name=value" gives them; cli_take_param for CLI_EACH. */
struct cli_params {
	struct ss_param_value v[32];
	size_t n;
};

bool cli_take_param(void *params, const char *text);

/* The place of `word` in a list of so many. */
bool cli_word(const char *word, const char *const *list, int n, int *out);

/* The word of the list (NULL-terminated, by a getter) that `word` is a slip of, or NULL. */
typedef const char *cli_word_fn(const void *list, size_t i);
const char *cli_closest(const char *word, cli_word_fn *get, const void *list);

/*
 * Parse options and operands with getopt_long; Handles --help, and reports invalid values. Returns
 * -1 to go on, else the exit status. Operands are left in argv[optind ..].
 */
struct cli_opt {
	const char *name;	/* "host", without dashes */
	char letter;		/* or 0 */
	bool takes_value;
	/* The destination of the value: one of these members. */
	bool *flag;		/* true; with a value, what that says */
	const char **text;
	uint64_t *number, most;	/* a whole number from 0 to `most` */
	bool (*each)(void *arg, const char *value);	/* for options that come again and again */
	void *arg;
};
#define CLI_FLAG(option, short_name, to) { .name = option, .letter = short_name, .flag = to }
#define CLI_BOOL(option, short_name, to) { .name = option, .letter = short_name, .takes_value = true, .flag = to }
#define CLI_TEXT(option, short_name, to) { .name = option, .letter = short_name, .takes_value = true, .text = to }
#define CLI_NUMBER(option, short_name, max, to) \
	{ .name = option, .letter = short_name, .takes_value = true, .number = to, .most = max }
#define CLI_EACH(option, short_name, fn, to) { .name = option, .letter = short_name, .takes_value = true, .each = fn, .arg = to }
/* --output FILE of a command that otherwise writes to stdout. "-" is stdout, too. */
#define CLI_OUTPUT(to) CLI_EACH("output", 'o', cli_take_output, to)
bool cli_take_output(void *file, const char *value);
int cli_parse(const struct cli_command *c, int argc, char **argv, const struct cli_opt *opts, size_t nopts, int min_operands,
	      int max_operands);
/* A whole number within bounds. */
bool cli_number(const char *text, uint64_t max, uint64_t *out);

/* A profile named on the command line. */
struct cli_profile {
	struct ss_location place;
	struct ss_store store;
	const struct ss_run *run;	/* the one asked for, or the newest */
	bool run_asked;
	bool alone;			/* only that run, without other runs of the same recording: ss_session_run */
	struct ss_host *hosts;		/* the open hosts; none if the tool visits several hosts */
	size_t nhosts;
	struct ss_model model;
	struct ss_selection hosts_asked;
	struct cli_parts *parts;	/* the path led to parts (parts.h), not to profiles */
	struct ss_run parts_run;	/* then `run`: its name alone */
	struct ss_arena arena;
};

/* The messages go to an agent: they name no shell commands. */
extern bool cli_for_agent;
/* --strict was given: opening an incomplete profile fails. */
extern bool cli_strict;
#define CLI_STRICT CLI_FLAG("strict", 0, &cli_strict)
/*
 * With --strict: are all files of the run, or of all runs, complete? Each file is opened in turn to
 * check it.
 */
bool cli_run_whole(const struct ss_run *r, struct ss_err *err);
bool cli_runs_whole(const struct ss_store *s, struct ss_err *err);

/*
 * Open the location at `path`, like ss_location_open. Missing parts of an archive are printed as
 * warnings, and are a failure with --strict.
 */
bool cli_location_open(struct ss_location *p, const char *path, struct ss_err *err);
/* Print what opening the location cost, and the remark about its address. */
bool cli_location_say_cost(struct ss_location *p, struct ss_err *err);
/* Close the location, like ss_location_close, and print the requests to a bucket. */
void cli_location_close(struct ss_location *p);
/*
 * Find and open it. `run` and `host` may be NULL: then the newest run, and all hosts of it or, for
 * a tool that cannot combine them, the first. `host` may list several with commas.
 */
bool cli_profile_find(struct cli_profile *p, const char *path, const char *run, struct ss_err *err);
/* All hosts of the recording, not opened: hosts_asked. */
bool cli_profile_select(struct cli_profile *p, struct ss_err *err);
bool cli_profile_open(struct cli_profile *p, const char *host, bool all_by_default, struct ss_err *err);
/* The same, of which none is opened: the model visits them. */
bool cli_profile_list(struct cli_profile *p, const char *host, struct ss_err *err);
/*
 * The same for a tool: the files that it reads, all of them if it can combine them. Where no run
 * was asked for, of the newest that has such files.
 */
bool cli_profile_open_for(struct cli_profile *p, const struct ss_tool *tool, const char *host, struct ss_err *err);
/*
 * The model whose times `--clocks WORD` asks for (NULL: as recorded), and on stderr what aligning
 * came to. NULL on failure; cli_clocks_known reports a wrong word.
 */
struct ss_model *cli_profile_clocks(struct cli_profile *p, const char *word, struct ss_err *err);
bool cli_clocks_known(const char *word);
/* Fails when a file was shortened meanwhile. */
bool cli_profile_intact(const struct cli_profile *p, struct ss_err *err);
/* Fails when `output` (NULL: stdout) is one of the files that are read: it would replace the only recording. */
bool cli_profile_spared(const struct cli_profile *p, const char *output, struct ss_err *err);
/* Close the open hosts of the run, before another run of the same directory is opened. */
void cli_profile_shut(struct cli_profile *p);
void cli_profile_close(struct cli_profile *p);

/* A writer to a file, or to stdout for NULL. */
struct cli_sink {
	struct ss_out out;
	int fd;
	int error;		/* errno of the first failed write */
	const char *path;	/* NULL: stdout */
	struct ss_draft draft;	/* what is written; none: `path` is written itself */
	char *target;		/* the file that the draft becomes at the end */
};
bool cli_sink_open(struct cli_sink *s, const char *path, struct ss_err *err);
/* The path of what is written, for a writer that opens it by name. NULL: cli_sink_close says why there is none. */
const char *cli_sink_name(struct cli_sink *s);
/*
 * Flush and close. A file that was there before is replaced by the whole answer, or stays when `ok`
 * is false or writing fails.
 */
bool cli_sink_close(struct cli_sink *s, bool ok, struct ss_err *err);

/* Colours and width as stdout wants them; `colour` is "auto", "always", "never" or NULL. */
struct ss_text_style cli_style(const char *colour);
/* An empty line and a heading. */
void cli_heading(struct ss_out *o, const struct ss_text_style *style, const char *text);

/*
 * Says on stderr, when that is a terminal, that work goes on, as soon as it takes longer than a
 * moment.
 */
struct cli_progress;
struct cli_progress *cli_progress_start(const struct cli_profile *p);
void cli_progress_end(struct cli_progress *p);

#endif
