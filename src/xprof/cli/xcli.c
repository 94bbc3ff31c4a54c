/* xcli.c - see xcli.h: what subcommands ask for, and how they fail. */
#include "model/host/host.h"
#include "xprof/cli/xcli.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

struct xcli_answer {
	struct xcli_answer *next;
	const char *tool;
	struct ss_tool_request request;
	struct ss_host *host[1];
	struct ss_model one; /* of one host */
	struct ss_err err;
	bool ok, own_model, apart;
};

const struct xcli_command *xcli_find(const struct xcli_command *list, const char *name)
{
	for (const struct xcli_command *c = list; c->name; c++)
		if (strcmp(c->name, name) == 0)
			return c;
	return NULL;
}

bool xcli_fail(struct xcli *x, enum xcli_status status, const char *fmt, ...)
{
	char text[1024];
	va_list ap;
	if (x->status)
		return false;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	x->status = status;
	x->error = ss_arena_str(&x->arena, ss_str_from(text));
	if (!x->error.p)
		x->error = SS_STR("out of memory");
	return false;
}

bool xcli_no_memory(struct xcli *x)
{
	return xcli_fail(x, XCLI_INTERNAL, "out of memory");
}

bool xcli_failed(struct xcli *x, const struct ss_err *err)
{
	enum xcli_status status = XCLI_INTERNAL;
	if (err->code == SS_ENOTFOUND || err->code == SS_ENODATA)
		status = XCLI_PATH;
	else if (err->code == SS_EINVAL)
		status = XCLI_INVALID;
	return xcli_fail(x, status, "%s", err->text);
}

/* The model that the tool reads: one host, or all of them. */
static struct ss_model *model_for(struct xcli *x, struct xcli_answer *a, size_t host)
{
	if (host >= x->nhosts)
		return &x->model;
	a->host[0] = &x->hosts[host];
	a->own_model = ss_model_init(&a->one, a->host, 1, &a->err);
	return a->own_model ? &a->one : NULL;
}

static const struct ss_result *run_tool(struct xcli *x, const char *tool, size_t host,
					const struct ss_param_value *params, size_t nparams,
					bool ours, struct ss_err *why)
{
	const struct ss_tool *t = ss_tool_find(ss_str_from(tool));
	struct xcli_answer *a = calloc(1, sizeof(*a));
	struct ss_err none;
	why = why ? why : &none;
	*why = (struct ss_err){ 0 };
	if (!a || !t) {
		free(a);
		ss_fail_mem(why);
		return NULL;
	}
	a->tool = tool;
	a->apart = host < x->nhosts || ours;
	a->next = x->answers;
	x->answers = a;
	a->request = (struct ss_tool_request){ .tool = t, .params = params, .nparams = nparams };
	a->request.format = ours ? SS_FORMAT_JSON : SS_FORMAT_XPROF;
	a->request.model = model_for(x, a, host);
	a->ok = a->request.model && ss_tool_request_run(&a->request, &a->err);
	*why = a->err;
	return a->ok ? &a->request.result : NULL;
}

const struct ss_result *xcli_tool_of(struct xcli *x, const char *tool,
				     const struct ss_param_value *params, size_t nparams,
				     struct ss_err *why)
{
	return run_tool(x, tool, SIZE_MAX, params, nparams, false, why);
}

const struct ss_result *xcli_tool(struct xcli *x, const char *tool, struct ss_err *why)
{
	for (struct xcli_answer *a = x->answers; a; a = a->next)
		if (strcmp(a->tool, tool) == 0 && !a->request.nparams && !a->apart) {
			if (why)
				*why = a->err;
			return a->ok ? &a->request.result : NULL;
		}
	return xcli_tool_of(x, tool, NULL, 0, why);
}

const struct ss_result *xcli_tool_on(struct xcli *x, const char *tool, size_t host,
				     struct ss_err *why)
{
	return run_tool(x, tool, host, NULL, 0, false, why);
}

const struct ss_result *xcli_tool_ours(struct xcli *x, const char *tool, struct ss_err *why)
{
	return run_tool(x, tool, SIZE_MAX, NULL, 0, true, why);
}

bool xcli_ask(struct xcli *x, const char *command, struct xv **out, struct ss_str *error)
{
	const struct xcli_command *cmd = x->cmd;
	const char *name = x->name, *values[XCLI_MAX_PARAMS];
	memcpy(values, x->values, sizeof(values));
	memset(x->values, 0, sizeof(x->values));
	x->cmd = xcli_find(x->commands, command);
	x->name = command;
	*out = NULL;
	bool ok = x->cmd->run(x, out);
	if (!ok && error)
		*error = x->error;
	x->status = XCLI_OK;
	x->error = SS_STR("");
	x->cmd = cmd;
	x->name = name;
	memcpy(x->values, values, sizeof(values));
	return ok && *out;
}

void xcli_answers_free(struct xcli *x)
{
	for (struct xcli_answer *a = x->answers, *next; a; a = next) {
		next = a->next;
		ss_tool_request_release(&a->request);
		if (a->own_model)
			ss_model_release(&a->one);
		free(a);
	}
}
