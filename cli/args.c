/* args.c - options, help, and words for misspelt names. */
#include "cli.h"

#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_OPTS 32

void cli_say(const char *what, struct ss_str text)
{
	struct ss_out o;
	ss_out_init(&o, NULL, NULL);
	ss_out_printf(&o, "stepscope: %s%s", what ? what : "", what ? ": " : "");
	ss_text_put(&o, text, 0);
	ss_out_char(&o, '\n');
	fwrite(o.buf, 1, o.n, stderr);
	ss_out_free(&o);
}

static void tell(const char *fmt, va_list ap)
{
	char *text = NULL;
	if (vasprintf(&text, fmt, ap) < 0)
		text = NULL;
	cli_say(NULL, text ? ss_str_from(text) : SS_STR("out of memory"));
	free(text);
}

void cli_tell(const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	tell(fmt, ap);
	va_end(ap);
}

void cli_plain(char *out, size_t cap, struct ss_str text)
{
	struct ss_out o;
	ss_out_init(&o, NULL, NULL);
	ss_text_put(&o, text, 0);
	snprintf(out, cap, SS_FMT, SS_ARG(ss_utf8_front((struct ss_str){ o.buf, o.n }, cap - 1)));
	ss_out_free(&o);
}

int cli_fail(const struct ss_err *err)
{
	cli_say(NULL, err->text[0] ? ss_str_from(err->text) : SS_STR("failed"));
	return CLI_FAILED;
}

bool cli_word(const char *word, const char *const *list, int n, int *out)
{
	for (int i = 0; i < n; i++)
		if (strcmp(word, list[i]) == 0) {
			*out = i;
			return true;
		}
	return false;
}

bool cli_take_param(void *params, const char *text)
{
	struct cli_params *p = params;
	const char *eq = strchr(text, '=');
	if (!eq || eq == text || p->n == SS_COUNT(p->v))
		return false;
	p->v[p->n++] = (struct ss_param_value){ { text, (size_t)(eq - text) }, ss_str_from(eq + 1) };
	return true;
}

bool cli_for_agent, cli_strict;
const struct cli_command *const *cli_commands;

const struct cli_command *cli_command_find(const char *name)
{
	for (size_t i = 0; cli_commands[i]; i++)
		if (strcmp(cli_commands[i]->name, name) == 0)
			return cli_commands[i];
	return NULL;
}

int cli_misuse(const struct cli_command *c, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	tell(fmt, ap);
	va_end(ap);
	if (!cli_for_agent)
		fprintf(stderr, "usage: stepscope %s %s\n'stepscope %s --help' shows the options\n", c->name, c->args, c->name);
	return CLI_MISUSE;
}

void cli_print_help(const struct cli_command *c)
{
	printf("usage: stepscope %s %s\n\n%s", c->name, c->args, c->help);
}

/* Letters to insert, delete, replace or swap; words longer than the rows are not compared. */
static size_t distance(const char *a, const char *b)
{
	enum { MAX = 40 };
	size_t na = strlen(a), nb = strlen(b), rows[3][MAX + 1];
	if (na > MAX || nb > MAX)
		return MAX;
	for (size_t j = 0; j <= nb; j++)
		rows[0][j] = j;
	for (size_t i = 1; i <= na; i++) {
		size_t *now = rows[i % 3], *before = rows[(i + 2) % 3], *earlier = rows[(i + 1) % 3];
		now[0] = i;
		for (size_t j = 1; j <= nb; j++) {
			size_t best = before[j - 1] + (a[i - 1] != b[j - 1]);
			if (before[j] + 1 < best)
				best = before[j] + 1;
			if (now[j - 1] + 1 < best)
				best = now[j - 1] + 1;
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
			    earlier[j - 2] + 1 < best)
				best = earlier[j - 2] + 1;
			now[j] = best;
		}
	}
	return rows[na % 3][nb];
}

const char *cli_closest(const char *word, cli_word_fn *get, const void *list)
{
	const char *best = NULL, *one;
	size_t best_distance = 2 + strlen(word) / 4;
	for (size_t i = 0; (one = get(list, i)); i++) {
		size_t d = distance(word, one);
		/* The beginning of one name is as good as a slip. */
		if (strlen(word) >= 3 && strncmp(word, one, strlen(word)) == 0)
			d = 1;
		if (d < best_distance) {
			best_distance = d;
			best = one;
		}
	}
	return best;
}

bool cli_number(const char *text, uint64_t max, uint64_t *out)
{
	uint64_t v;
	if (!ss_str_to_u64(ss_str_from(text), &v) || v > max)
		return false;
	*out = v;
	return true;
}

static const char *opt_name(const void *list, size_t i)
{
	const struct option *o = list;
	return o[i].name;
}

/* Report an option that getopt does not know. */
static int unknown_option(const struct cli_command *c, char **argv, const struct option *longs, int what)
{
	const char *word = argv[optind - 1];
	if (what == ':')
		return cli_misuse(c, "option '%s' needs a value", word);
	if (strncmp(word, "--", 2) != 0)
		return cli_misuse(c, "unknown option '-%c'", optopt ? optopt : '?');
	char bare[64];
	snprintf(bare, sizeof(bare), "%s", word + 2);
	bare[strcspn(bare, "=")] = '\0';
	const char *meant = cli_closest(bare, opt_name, longs);
	if (meant && strcmp(meant, bare) != 0)
		return cli_misuse(c, "unknown option '%s'; did you mean '--%s'?", word, meant);
	return cli_misuse(c, meant ? "option '%s' takes no value" : "unknown option '%s'", word);
}

/* "true", "false" and their like. */
static bool read_bool(const char *text, bool *out)
{
	static const char *const words[] = { "false", "true", "no", "yes", "0", "1" };
	for (size_t i = 0; i < SS_COUNT(words); i++)
		if (strcasecmp(text, words[i]) == 0) {
			*out = i & 1;
			return true;
		}
	return false;
}

bool cli_take_output(void *file, const char *value)
{
	*(const char **)file = strcmp(value, "-") == 0 ? NULL : value;
	return true;
}

/* An option has come; false when it was said what is wrong with its value. */
static bool take(const struct cli_command *c, const struct cli_opt *o, const char *value)
{
	if (o->number && !cli_number(value, o->most, o->number)) {
		cli_misuse(c, "--%s: '%s' is not a number from 0 to %llu", o->name, value, (unsigned long long)o->most);
		return false;
	}
	if (o->flag && o->takes_value && !read_bool(value, o->flag)) {
		cli_misuse(c, "--%s: '%s' is neither true nor false", o->name, value);
		return false;
	}
	if (o->flag && !o->takes_value)
		*o->flag = true;
	if (o->each && !o->each(o->arg, value)) {
		cli_misuse(c, "--%s: '%s' does not have the form that 'stepscope %s --help' shows", o->name, value, c->name);
		return false;
	}
	if (o->text)
		*o->text = value;
	return true;
}

/*
 * "token-file" of "token_file" and the other way round: people do not remember which. False: the
 * name has neither.
 */
static bool respell(const char *name, char *out, size_t size)
{
	snprintf(out, size, "%s", name);
	for (char *p = out; *p; p++)
		*p = *p == '-' ? '_' : *p == '_' ? '-' : *p;
	return strcmp(out, name) != 0;
}

int cli_parse(const struct cli_command *c, int argc, char **argv, const struct cli_opt *opts, size_t nopts,
	      int min_operands, int max_operands)
{
	struct option longs[2 * MAX_OPTS + 2] = { { "help", no_argument, NULL, 'h' } };
	char respelt[MAX_OPTS][40];
	char shorts[2 * MAX_OPTS + 4] = ":h";
	size_t at = 2, nlongs = 1;
	for (size_t i = 0; i < nopts && i < MAX_OPTS; i++) {
		longs[nlongs++] = (struct option){ opts[i].name, opts[i].takes_value, NULL, 256 + (int)i };
		if (respell(opts[i].name, respelt[i], sizeof(respelt[i])))
			longs[nlongs++] = (struct option){ respelt[i], opts[i].takes_value, NULL, 256 + (int)i };
		if (!opts[i].letter)
			continue;
		shorts[at++] = opts[i].letter;
		if (opts[i].takes_value)
			shorts[at++] = ':';
	}
	opterr = 0;
	optind = 1;
	for (int ch; (ch = getopt_long(argc, argv, shorts, longs, NULL)) != -1;) {
		const struct cli_opt *o = NULL;
		if (ch == 'h') {
			cli_print_help(c);
			return CLI_DONE;
		}
		if (ch == '?' || ch == ':')
			return unknown_option(c, argv, longs, ch);
		for (size_t i = 0; i < nopts; i++)
			if (ch == 256 + (int)i || (opts[i].letter && ch == opts[i].letter))
				o = &opts[i];
		if (o && !take(c, o, optarg))
			return CLI_MISUSE;
	}
	if (argc - optind < min_operands)
		return cli_misuse(c, "an argument is missing after '%s'", argv[0]);
	if (argc - optind > max_operands)
		return cli_misuse(c, "too many arguments: '%s'", argv[optind + max_operands]);
	return -1;
}
