/*
 * args.c - the arguments of a subcommand: flags in any of the forms that XProf's command line
 * takes, the session, and values.
 */
#include "xprof/cli/args.h"

#include <ctype.h>
#include <stdlib.h>
#include <strings.h>

static bool is_name(const char *flag, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (!name[i] || (flag[i] == '-' ? '_' : flag[i]) != name[i])
			return false;
	return !name[n];
}

/* Where the flag's value goes; NULL: there is no such parameter. */
static const char **place_of(struct xcli *x, const char *flag, size_t n)
{
	static const char *const session[] = { "session_id", "session_dir", "session_path",
					       "source" };
	static const char *ignored;
	bool reads = !(x->cmd->flags & XCLI_NO_SESSION);
	for (size_t i = 0; reads && i < SS_COUNT(session); i++)
		if (is_name(flag, n, session[i]))
			return &x->session;
	for (size_t i = 0; i < XCLI_MAX_PARAMS && x->cmd->params[i].name; i++)
		if (is_name(flag, n, x->cmd->params[i].name))
			return &x->values[i];
	if (is_name(flag, n, "logdir"))
		return &x->logdir;
	if (is_name(flag, n, "bypass_cache"))
		return &ignored;
	return reads && is_name(flag, n, "host") ? &x->host : NULL;
}

static bool unknown(struct xcli *x, const char *flag, size_t n)
{
	return xcli_fail(x, XCLI_USAGE, "%s() got an unexpected keyword argument '%.*s'", x->name,
			 (int)(n > 100 ? 100 : n), flag);
}

/* A flag at argv[*i]; a value of its own may follow it. */
static bool take_flag(struct xcli *x, int argc, char **argv, int *i)
{
	const char *flag = argv[*i] + strspn(argv[*i], "-"), *eq = strchr(flag, '=');
	size_t n = eq ? (size_t)(eq - flag) : strlen(flag);
	const char **place = place_of(x, flag, n);
	if (is_name(flag, n, "strict") && (!eq || strcmp(eq, "=True") == 0 || strcmp(eq, "=False") == 0)) {
		x->strict = !eq || eq[1] == 'T';	/* no value of its own may follow it */
		return true;
	}
	if (!place && n > 2 && strncmp(flag, "no", 2) == 0 && !eq &&
	    (place = place_of(x, flag + 2, n - 2))) {
		*place = "False";
		return true;
	}
	if (!place)
		return unknown(x, flag, n);
	if (eq)
		*place = eq + 1;
	else if (*i + 1 < argc &&
		 (argv[*i + 1][0] != '-' || isdigit((unsigned char)argv[*i + 1][1])))
		*place = argv[++*i];
	else
		*place = "True";
	return true;
}

static bool take_operand(struct xcli *x, const char *word, size_t *operands)
{
	size_t at = *operands;
	bool reads = !(x->cmd->flags & XCLI_NO_SESSION);
	(*operands)++;
	if (reads && at == 0) {
		x->session = word;
		return true;
	}
	at -= reads;
	if (at >= XCLI_MAX_PARAMS || !x->cmd->params[at].name)
		return xcli_fail(x, XCLI_USAGE, "%s() takes no further argument: '%.100s'", x->name,
				 word);
	x->values[at] = word;
	return true;
}

bool xcli_args_take(struct xcli *x, int argc, char **argv)
{
	size_t operands = x->session ? 1 : 0;
	for (int i = 1; i < argc; i++) {
		bool flag = argv[i][0] == '-' && argv[i][1] && !isdigit((unsigned char)argv[i][1]);
		if (!(flag ? take_flag(x, argc, argv, &i) : take_operand(x, argv[i], &operands)))
			return false;
	}
	return true;
}

bool xcli_args_check(struct xcli *x)
{
	if (x->logdir && (!*x->logdir || strcmp(x->logdir, "True") == 0))
		return xcli_fail(x, XCLI_USAGE, "The flag --logdir needs a value");
	if (x->host && (!*x->host || strcmp(x->host, "True") == 0))
		return xcli_fail(x, XCLI_USAGE, "The flag --host needs a value");
	if (!(x->cmd->flags & XCLI_NO_SESSION) && !x->session && !x->logdir)
		return xcli_fail(x, XCLI_USAGE, "%s() is missing 1 required argument: 'session_id'",
				 x->name);
	if (x->session && !*x->session)
		return xcli_fail(x, XCLI_INVALID, "The session must not be an empty text");
	for (size_t i = 0; i < XCLI_MAX_PARAMS && x->cmd->params[i].name; i++)
		if (!x->cmd->params[i].preset && !x->values[i])
			return xcli_fail(x, XCLI_USAGE, "%s() is missing 1 required argument: '%s'",
					 x->name, x->cmd->params[i].name);
	return true;
}

static size_t index_of(const struct xcli *x, const char *name)
{
	size_t i = 0;
	while (i < XCLI_MAX_PARAMS && x->cmd->params[i].name &&
	       strcmp(x->cmd->params[i].name, name) != 0)
		i++;
	return i < XCLI_MAX_PARAMS && x->cmd->params[i].name ? i : XCLI_MAX_PARAMS;
}

bool xcli_given(const struct xcli *x, const char *name)
{
	size_t i = index_of(x, name);
	return i < XCLI_MAX_PARAMS && x->values[i] && *x->values[i];
}

const char *xcli_text(const struct xcli *x, const char *name)
{
	size_t i = index_of(x, name);
	const char *v = i < XCLI_MAX_PARAMS ? x->values[i] : NULL;
	if (!v && i < XCLI_MAX_PARAMS)
		v = x->cmd->params[i].preset;
	if (!v || strcmp(v, "None") == 0)
		return "";
	return v;
}

bool xcli_real(struct xcli *x, const char *name, double *v)
{
	const char *text = xcli_text(x, name);
	if (strcmp(text, "True") == 0 || strcmp(text, "False") == 0) {
		*v = *text == 'T';
		return true;
	}
	if (ss_str_to_f64(ss_str_from(text), v))
		return true;
	return xcli_fail(x, XCLI_USAGE, "--%s: '%.100s' is not a number", name, text);
}

bool xcli_int(struct xcli *x, const char *name, int64_t *v)
{
	double d;
	if (ss_str_to_i64(ss_str_from(xcli_text(x, name)), v))
		return true;
	if (!xcli_real(x, name, &d))
		return false;
	if (!(d > -9e15 && d < 9e15) || d != (double)(int64_t)d)
		return xcli_fail(x, XCLI_USAGE, "--%s: '%.100s' is not a whole number", name,
				 xcli_text(x, name));
	*v = (int64_t)d;
	return true;
}

bool xcli_flag(const struct xcli *x, const char *name)
{
	const char *v = xcli_text(x, name);
	return *v && strcmp(v, "False") != 0 && strcmp(v, "0") != 0 && strcmp(v, "''") != 0;
}

struct ss_str xcli_next_of_list(struct ss_str *rest, const char *around)
{
	size_t comma = ss_str_chr(*rest, ',');
	struct ss_str one = ss_str_sub(*rest, 0, comma == SS_NPOS ? rest->n : comma);
	*rest = ss_str_sub(*rest, comma == SS_NPOS ? rest->n : comma + 1, rest->n);
	while (one.n && strchr(around, one.p[0]))
		one = ss_str_sub(one, 1, one.n);
	while (one.n && strchr(around, one.p[one.n - 1]))
		one.n--;
	return one;
}
