/*
 * remote.c - stepscope remote: what a server of ProfileAnalysis has, another stepscope with --grpc
 * or a pod's master: its runs, or one tool's answer.
 */
#include "capture_words.h"

#include "capture/requests.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>

extern const struct cli_command cli_command_remote;

#define ANSWER_S 600	/* opening a large profile takes its time */
#define MAX_PARAMS 32

struct asked {
	struct ss_peer peer;
	struct ss_tool_question q;
	const char *params[MAX_PARAMS], *output;
};

static bool add_param(void *arg, const char *value)
{
	struct asked *a = arg;
	const char *equals = strchr(value, '=');
	if (!equals || equals == value || a->q.nparams == MAX_PARAMS)
		return false;
	a->params[a->q.nparams++] = value;
	return true;
}

static int fail(const struct ss_peer *peer, const struct ss_grpc_status *status)
{
	struct ss_buf b = { 0 };
	/* The server's own words about a run or a tool have no code. */
	if (status->code == SS_GRPC_UNKNOWN)
		ss_buf_printf(&b, "%s: %s", peer->target, status->text);
	else
		ss_buf_printf(&b, "%s: %s: %s", peer->target, ss_grpc_code_name(status->code), status->text);
	cli_say(NULL, ss_buf_get(&b));
	ss_buf_free(&b);
	if (status->code == SS_GRPC_UNIMPLEMENTED)
		cli_say(NULL, SS_STR("this port belongs to a program's profiler, which stores no runs: use 'stepscope "
				     "capture' to take a profile"));
	return CLI_FAILED;
}

static int list(const struct asked *a)
{
	struct ss_sessions s;
	struct ss_arena arena = { 0 };
	struct ss_grpc_status status;
	struct cli_sink sink;
	struct ss_err err = { 0 };
	bool ok = ss_request_sessions(&a->peer, a->q.root, &arena, &s, &status);
	int result = CLI_DONE;
	if (!ok) {
		result = fail(&a->peer, &status);
	} else if (cli_sink_open(&sink, a->output, &err)) {
		for (size_t i = 0; i < s.n; i++) {
			ss_text_put(&sink.out, s.v[i].id, 0);
			ss_out_lit(&sink.out, ": ");
			ss_text_put(&sink.out, s.v[i].tools, 0);
			ss_out_char(&sink.out, '\n');
		}
		result = cli_sink_close(&sink, true, &err) ? CLI_DONE : cli_fail(&err);
		if (!s.n)
			cli_say(NULL, SS_STR("there is no run"));
	} else {
		result = cli_fail(&err);
	}
	ss_arena_release(&arena);
	return result;
}

static int fetch(const struct asked *a)
{
	struct ss_buf out = { 0 };
	struct ss_grpc_status status;
	struct cli_sink sink;
	struct ss_err err = { 0 };
	char format[64];
	if (!ss_request_tool_data(&a->peer, &a->q, &out, format, &status)) {
		ss_buf_free(&out);
		return fail(&a->peer, &status);
	}
	bool ok = cli_sink_open(&sink, a->output, &err);
	if (ok) {
		ss_out_str(&sink.out, ss_buf_get(&out));
		if (!a->output && strcmp(format, "json") == 0)
			ss_out_char(&sink.out, '\n');
		ok = cli_sink_close(&sink, true, &err);
	}
	ss_buf_free(&out);
	return ok ? CLI_DONE : cli_fail(&err);
}

static int run(int argc, char **argv)
{
	struct asked a = { .q = { 0 } };
	uint64_t timeout_s = ANSWER_S;
	struct cli_tls tls = { 0 };
	struct ss_err err = { 0 };
	const struct cli_opt opts[] = {
		CLI_TEXT("run", 'r', &a.q.session), CLI_TEXT("tool", 't', &a.q.tool),	CLI_TEXT("host", 'H', &a.q.host),
		CLI_TEXT("root", 0, &a.q.root),	    CLI_EACH("param", 'p', add_param, &a), CLI_OUTPUT(&a.output),
		CLI_NUMBER("timeout_s", 1, 86400, &timeout_s),
		CLI_TLS_OPTS(tls),
	};
	int status = cli_parse(&cli_command_remote, argc, argv, opts, SS_COUNT(opts), 1, 1);
	if (status >= 0)
		return status;
	a.peer.target = argv[optind];
	a.peer.timeout_ns = (int64_t)timeout_s * 1000000000;
	a.q.params = a.params;
	if (!a.q.session != !a.q.tool)
		return cli_misuse(&cli_command_remote, "--run and --tool must be given together; without them the runs are listed");
	if (!cli_tls_open(&tls, &a.peer.tls, &a.peer.token, &err))
		status = cli_fail(&err);
	else
		status = a.q.tool ? fetch(&a) : list(&a);
	cli_tls_close(&tls);
	return status;
}

const struct cli_command cli_command_remote = {
	.name = "remote",
	.args = "HOST:PORT [--run R --tool T]",
	.summary = "list runs and get answers from another server, over gRPC",
	.help = "Asks a server of the service ProfileAnalysis ('stepscope serve --grpc PORT', or the profiler of a TPU pod's\n"
		"master). Without --run and --tool it lists the runs and their tools; with both it prints the answer of the\n"
		"tool.\n\n"
		"  -r, --run R               as listed\n"
		"  -t, --tool T              as listed\n"
		"  -H, --host H              the host (default: all, or the first if the tool shows one)\n"
		"  -p, --param k=v           a parameter of the tool\n"
		"      --root DIR            a directory of runs on the server (default: the server's)\n"
		"  -o, --output FILE         write to FILE instead of stdout\n"
		"      --timeout_s N         seconds to wait for the answer (default: 600)\n" CLI_TLS_HELP,
	.run = run,
};
