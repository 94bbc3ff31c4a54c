/*
 * sql.c - stepscope sql PATH QUERY: questions in SQL about the events, the steps and the answers of
 * the tools.
 */
#include "cli.h"

#include "sql/saved.h"
#include "sql/write.h"

#include <ctype.h>
#include <getopt.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define TIMEOUT_S "30"
#define TIMEOUT_MOST_S 86400.0
#define GRACE_S 5 /* for a function of SQLite that asks nobody */
#define MOST_VALUES 32
#define QUERY_BYTES (1u << 20)
#define STATUS_DEADLINE 124

extern const struct cli_command cli_command_sql;

struct options {
	const char *run, *host, *format, *output, *timeout, *colour, *saved, *clocks;
	bool raw, tables;
	uint64_t limit;
	struct ss_sql_value values[MOST_VALUES + SS_SQL_SAVED_VALUES];
	size_t nvalues;
	struct ss_str twice; /* a parameter that has two */
};

static bool add_value(struct options *o, const char *text, bool is_text)
{
	const char *eq = strchr(text, '=');
	struct ss_str name = { text, eq ? (size_t)(eq - text) : 0 };
	if (!name.n || o->nvalues == MOST_VALUES)
		return false;
	for (size_t i = 0; i < o->nvalues; i++)
		if (ss_str_eq(o->values[i].name, name))
			o->twice = o->values[i].name;
	o->values[o->nvalues++] =
		(struct ss_sql_value){ .name = name, .value = ss_str_from(eq + 1), .is_text = is_text };
	return true;
}

static bool take_value(void *arg, const char *text)
{
	return add_value(arg, text, false);
}

static bool take_text(void *arg, const char *text)
{
	return add_value(arg, text, true);
}

static bool timeout_of(const char *text, uint64_t *ms)
{
	double s;
	if (!ss_str_to_f64(ss_str_from(text), &s) || !(s >= 0 && s <= TIMEOUT_MOST_S))
		return false;
	*ms = (uint64_t)(s * 1000);
	return true;
}

/* "-": the query stands on standard input. */
static bool read_query(const char *text, char *buf, struct ss_str *query, struct ss_err *err)
{
	*query = ss_str_from(text);
	if (strcmp(text, "-") != 0)
		return true;
	size_t n = fread(buf, 1, QUERY_BYTES + 1, stdin);
	if (n > QUERY_BYTES)
		return ss_fail(err, SS_EINVAL, "the query is longer than 1 MiB");
	*query = (struct ss_str){ buf, n };
	return true;
}

/* Time has been up for long, and a single step of SQLite still runs. */
static void end_it(int sig)
{
	static const char words[] =
		"stepscope: the query was stopped: it takes longer than it may (--timeout S)\n";
	(void)sig;
	ssize_t n = write(STDERR_FILENO, words, sizeof(words) - 1);
	(void)n;
	_exit(STATUS_DEADLINE);
}

static void watch(uint64_t timeout_ms)
{
	if (!timeout_ms)
		return;
	signal(SIGALRM, end_it);
	alarm((unsigned)(timeout_ms / 1000) + GRACE_S);
}

static int status_of(const struct ss_err *err)
{
	return err->code == SS_EBUSY				   ? STATUS_DEADLINE
	       : err->code == SS_EINVAL || err->code == SS_ENODATA ? CLI_MISUSE
								   : CLI_FAILED;
}

static bool write_rows(struct ss_sql_rows *rows, const struct options *o,
		       const struct ss_sql_writing *w, struct ss_err *err)
{
	struct cli_sink sink;
	struct ss_sql_written done;
	if (!cli_sink_open(&sink, o->output, err))
		return false;
	bool ok = ss_sql_write(rows, w, &sink.out, &done, err);
	ok = cli_sink_close(&sink, ok, err);
	if (ok && !done.rows && cli_for_agent)
		fprintf(stderr, "stepscope: the query has no rows%s%s\n", o->saved ? ": it asks for " : "",
			o->saved ? ss_sql_saved_find(ss_str_from(o->saved))->doc : "");
	if (ok && done.cut)
		fprintf(stderr,
			"stepscope: only the first %llu rows are shown; there are more (--limit "
			"N)\n",
			(unsigned long long)done.rows);
	return ok;
}

static bool ask(struct cli_profile *p, const struct options *o, struct ss_str query,
		const struct ss_sql_writing *w, struct ss_err *err)
{
	struct ss_sql_question q = { .model = cli_profile_clocks(p, o->clocks, err),
				     .query = query,
				     .values = o->values,
				     .nvalues = o->nvalues,
				     .more_time = " (--timeout S)" };
	/* A user who gives it a timeout knows that it takes long. */
	q.bound_recursion = !o->timeout;
	if (!timeout_of(o->timeout ? o->timeout : TIMEOUT_S, &q.timeout_ms))
		return ss_fail(err, SS_EINVAL, "--timeout takes seconds, from 0 (none) to 86400");
	if (!q.model)
		return false;
	watch(q.timeout_ms);
	struct ss_sql_rows *rows = ss_sql_ask(&q, err);
	bool ok = rows && cli_profile_spared(p, o->output, err) && write_rows(rows, o, w, err) && cli_profile_intact(p, err);
	ss_sql_close(rows);
	alarm(0);
	return ok;
}

static int list_tables(void)
{
	for (size_t i = 0; ss_sql_table_name(i); i++)
		printf("%-16s %s\n", ss_sql_table_name(i), ss_sql_table_doc(i));
	for (size_t i = 0; ss_tools[i]; i++)
		if (ss_tool_is_listed(ss_tools[i]) && ss_tool_reads_profiles(ss_tools[i])) {
			const char *quote = strchr(ss_tools[i]->name, '@') ? "\"" : "";
			printf("%stool_%s%s\n", quote, ss_tools[i]->name, quote);
		}
	puts("\nNamed queries, for --saved, and their parameters:");
	for (size_t i = 0; ss_sql_saved_at(i); i++) {
		const struct ss_sql_saved *q = ss_sql_saved_at(i);
		printf("%-20s %s", q->name, q->doc);
		for (size_t k = 0; q->values[k].name; k++)
			printf("%s%s=%s", k ? ", " : " (", q->values[k].name, q->values[k].preset);
		puts(q->values[0].name ? ")" : "");
	}
	return CLI_DONE;
}

static const char *saved_word(const void *list, size_t i)
{
	(void)list;
	return ss_sql_saved_at(i) ? ss_sql_saved_at(i)->name : NULL;
}

static int refuse_saved(const char *name)
{
	const char *meant = cli_closest(name, saved_word, NULL);
	if (meant)
		return cli_misuse(&cli_command_sql, "there is no named query '%s'; did you mean '%s'?", name, meant);
	struct ss_buf names = { 0 };
	for (size_t i = 0; ss_sql_saved_at(i); i++)
		ss_buf_printf(&names, "%s%s", i ? ", " : "", ss_sql_saved_at(i)->name);
	ss_buf_char(&names, '\0');
	int status = cli_misuse(&cli_command_sql, "there is no named query '%s': there are %s", name,
				names.no_memory ? "others" : names.p);
	ss_buf_free(&names);
	return status;
}

/* The question of that name, with the presets of the parameters that have no value. -1: go on. */
static int take_saved(struct options *o, struct ss_str *query)
{
	const struct ss_sql_saved *q = ss_sql_saved_find(ss_str_from(o->saved));
	struct ss_err err = { 0 };
	if (!q)
		return refuse_saved(o->saved);
	for (size_t i = 0; i < o->nvalues; i++)
		if (!ss_sql_saved_takes(q, o->values[i].name, o->values[i].value, &err))
			return cli_misuse(&cli_command_sql, "%s", err.text);
	/* The first of a name counts: what was asked for comes before the presets. */
	for (size_t k = 0; q->values[k].name && o->nvalues < SS_COUNT(o->values); k++)
		o->values[o->nvalues++] = (struct ss_sql_value){ .name = ss_str_from(q->values[k].name),
								 .value = ss_str_from(q->values[k].preset) };
	*query = ss_str_from(q->sql);
	return -1;
}

/*
 * A query may begin with a comment, which getopt takes for an option: no option has a blank behind its dashes. The comment
 * becomes blanks, so that places in the query stay.
 */
static void blank_comments(int argc, char **argv)
{
	for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
		if (strncmp(argv[i], "--", 2) == 0 && isspace((unsigned char)argv[i][2]))
			memset(argv[i], ' ', strcspn(argv[i], "\n"));
}

/* A status to end with, or -1. `args`: PATH and QUERY. */
static int check(const struct options *o, int n, char **args)
{
	if (n != (o->saved ? 1 : 2))
		return cli_misuse(&cli_command_sql, !o->saved ? "sql takes a PATH and a QUERY"
						    : n > 1
							    ? "sql with --saved takes a PATH and no QUERY"
							    : "sql with --saved takes a PATH");
	if (!o->saved && strcmp(args[0], "-") == 0 && strcmp(args[1], "-") == 0)
		return cli_misuse(&cli_command_sql, "PATH and QUERY cannot both be read from standard input");
	if (!cli_clocks_known(o->clocks))
		return cli_misuse(&cli_command_sql, "--clocks takes recorded or aligned, not '%s'", o->clocks);
	if (o->twice.n)
		return cli_misuse(&cli_command_sql, "the parameter :" SS_FMT " is given twice", SS_ARG(o->twice));
	if (!o->limit)
		return cli_misuse(&cli_command_sql, "--limit takes a number of rows from 1 on");
	return -1;
}

static int run(int argc, char **argv)
{
	struct options o = { .limit = UINT64_MAX };
	blank_comments(argc, argv);
	const struct cli_opt opts[] = {
		CLI_TEXT("run", 'r', &o.run),
		CLI_TEXT("host", 'H', &o.host),
		CLI_TEXT("format", 'f', &o.format),
		CLI_OUTPUT(&o.output),
		CLI_NUMBER("limit", 'n', UINT32_MAX, &o.limit),
		CLI_TEXT("timeout", 't', &o.timeout),
		CLI_EACH("value", 'v', take_value, &o),
		CLI_EACH("text", 0, take_text, &o),
		CLI_FLAG("raw", 0, &o.raw),
		CLI_FLAG("tables", 0, &o.tables),
		CLI_TEXT("color", 0, &o.colour),
		CLI_TEXT("saved", 's', &o.saved),
		CLI_TEXT("clocks", 0, &o.clocks),
		CLI_STRICT,
	};
	int status = cli_parse(&cli_command_sql, argc, argv, opts, SS_COUNT(opts), 0, 2);
	if (status >= 0)
		return status;
	if (o.tables)
		return list_tables();
	status = check(&o, argc - optind, argv + optind);
	if (status >= 0)
		return status;
	struct ss_sql_writing w = { .format = o.format ? ss_sql_format_of(ss_str_from(o.format))
						       : SS_SQL_TABLE,
				    .most_rows = o.limit,
				    .raw = o.raw };
	if (w.format == SS_SQL_FORMATS || w.format == SS_SQL_ROWS)
		return cli_misuse(&cli_command_sql,
				  "unknown format '%s': use table, json, jsonl or csv", o.format);
	w.style = cli_style(o.colour);
	if (o.output)
		w.style = (struct ss_text_style){ .colour = o.colour &&
							    strcmp(o.colour, "always") == 0 };
	struct cli_profile p = { 0 };
	struct ss_err err = { 0 };
	struct ss_str query = SS_STR("");
	status = o.saved ? take_saved(&o, &query) : -1;
	if (status >= 0)
		return status;
	char *buf = malloc(QUERY_BYTES + 1);
	bool found = buf || ss_fail_mem(&err);
	bool ok = found && (o.saved || read_query(argv[optind + 1], buf, &query, &err));
	found = ok && cli_profile_find(&p, argv[optind], o.run, &err) &&
		cli_profile_open(&p, o.host, true, &err);
	ok = found && ask(&p, &o, query, &w, &err);
	cli_profile_close(&p);
	free(buf);
	if (ok)
		return CLI_DONE;
	cli_fail(&err);
	return found ? status_of(&err) : CLI_FAILED;
}

const struct cli_command cli_command_sql = {
	.name = "sql",
	.args = "PATH QUERY [--run R] [--host H] [--format table|json|jsonl|csv] [--value|--text k=v]... "
		"[--limit N] "
		"[--timeout S] [--clocks recorded|aligned] [--output FILE]",
	.summary = "query events, steps and the tools' tables in SQL",
	.help = "Runs one SELECT over all hosts of the profile at PATH: a log directory, a run, or one file.\n"
		"QUERY '-' is read from standard input. docs/sql.md has the tables, the "
		"functions, and examples.\n\n"
		"  -r, --run R       the run to open (default: the newest)\n"
		"  -H, --host H      the host; several separated by commas (default: all)\n"
		"  -f, --format F    table for people; json; jsonl, one object per line; csv\n"
		"  -v, --value k=v   the value of the parameter :k in the query; a decimal number is a number\n"
		"      --text k=v    the same, always as text\n"
		"  -n, --limit N     print at most N rows, from 1 on (default: all)\n"
		"  -t, --timeout S   stop after S seconds (default: " TIMEOUT_S
		"; 0: never); status 124\n"
		"  -o, --output FILE write to FILE instead of stdout\n"
		"  -s, --saved NAME  run a named query instead of QUERY; --tables lists "
		"them\n"
		"      --clocks C    recorded (default), or aligned: several hosts' times on one clock\n"
		"      --raw         table: times and bytes as plain numbers\n"
		"      --tables      list the tables and the named queries\n"
		"      --strict      fail if anything of a profile is missing (default: a warning)\n"
		"      --color WHEN  always, never or auto\n\n"
		"  stepscope sql logs/ \"SELECT name, COUNT(*), SUM(dur_ps) AS sum_ps FROM events\n"
		"    WHERE plane GLOB '/device:*' GROUP BY name ORDER BY sum_ps DESC LIMIT 10\"\n",
	.run = run,
};
