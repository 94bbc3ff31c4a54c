/*
 * continuous.c - stepscope continuous: profiles of what has just happened. The programs gather
 * events all the time; a snapshot takes what they have.
 */
#include "capture/ask.h"
#include "capture_words.h"

#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern const struct cli_command cli_command_continuous;

#define ANSWER_NS INT64_C(30000000000)

typedef bool ask_fn(const struct ss_peer *peer, const struct ss_profile_options *options, struct ss_grpc_status *status);

static bool stop(const struct ss_peer *peer, const struct ss_profile_options *options, struct ss_grpc_status *status)
{
	(void)options;
	return ss_ask_stop_continuous(peer, status);
}

/* The same question to one program after the other; each that fails is said. */
static int ask_all(const struct ss_capture_config *config, ask_fn *fn, const char *done)
{
	char *list = strdup(config->targets), *save = NULL;
	bool all = list;
	for (char *at = list ? strtok_r(list, ",", &save) : NULL; at; at = strtok_r(NULL, ",", &save)) {
		const struct ss_peer peer = { .target = at, .tls = config->tls, .token = config->token, .timeout_ns = ANSWER_NS };
		struct ss_grpc_status status = { 0 };
		struct ss_arena a = { 0 };
		bool ok = fn(&peer, &config->options, &status);
		struct ss_str text = ok ? ss_arena_printf(&a, "%s: %s", at, done)
					: ss_arena_printf(&a, "%s: %s: %s", at, ss_grpc_code_name(status.code), status.text);
		if (text.p)
			cli_say(NULL, text);
		ss_arena_release(&a);
		all = all && ok;
	}
	free(list);
	return all ? CLI_DONE : CLI_FAILED;
}

static int work(const char *what, struct ss_capture_config *config)
{
	if (strcmp(what, "start") == 0)
		return ask_all(config, ss_ask_start_continuous, "gathers events from now on");
	if (strcmp(what, "stop") == 0)
		return ask_all(config, stop, "gathers no more");
	config->mode = SS_CAPTURE_SNAPSHOT;
	return cli_capture_take(config, true);
}

static bool level(const char *name, const char *text, uint64_t max, uint32_t *out)
{
	uint64_t v = *out;
	if (text && !cli_number(text, max, &v)) {
		cli_misuse(&cli_command_continuous, "--%s: '%s' is no number from 0 to %llu", name, text, (unsigned long long)max);
		return false;
	}
	*out = (uint32_t)v;
	return true;
}

static int run(int argc, char **argv)
{
	const char *addresses = NULL, *logdir = NULL, *session = NULL, *host = NULL, *device = NULL, *python = NULL;
	struct ss_capture_config config = { .options = ss_profile_defaults, .attempts = 1, .wake_fd = -1 };
	struct ss_profile_options *o = &config.options;
	struct cli_tls tls = { 0 };
	struct ss_err err = { 0 };
	const struct cli_opt opts[] = {
		{ "service_addr", 'a', true, &addresses, NULL, NULL }, { "logdir", 'l', true, &logdir, NULL, NULL },
		{ "session_id", 0, true, &session, NULL, NULL },       { "host_tracer_level", 0, true, &host, NULL, NULL },
		{ "device_tracer_level", 0, true, &device, NULL, NULL }, { "python_tracer_level", 0, true, &python, NULL, NULL },
		CLI_TLS_OPTS(tls),
	};
	int status = cli_parse(&cli_command_continuous, argc, argv, opts, SS_COUNT(opts), 1, 1);
	if (status >= 0)
		return status;
	const char *what = argv[optind];
	bool snapshot = strcmp(what, "snapshot") == 0;
	if (!snapshot && strcmp(what, "start") != 0 && strcmp(what, "stop") != 0)
		return cli_misuse(&cli_command_continuous, "'%s' is none of start, snapshot, stop", what);
	if (!addresses)
		return cli_misuse(&cli_command_continuous, "which programs? --service_addr HOST:PORT[,...] says");
	if (snapshot && !logdir)
		return cli_misuse(&cli_command_continuous, "where to? --logdir DIR says");
	if (!level("host_tracer_level", host, 3, &o->host_level) || !level("device_tracer_level", device, 2, &o->device_level) ||
	    !level("python_tracer_level", python, 1, &o->python_level))
		return CLI_MISUSE;
	o->circular_buffer = true;
	config.targets = addresses;
	config.logdir = logdir;
	config.run = session;
	signal(SIGPIPE, SIG_IGN);
	status = cli_tls_open(&tls, &config.tls, &config.token, &err) ? work(what, &config) : cli_fail(&err);
	cli_tls_close(&tls);
	return status;
}

const struct cli_command cli_command_continuous = {
	.name = "continuous",
	.args = "start|snapshot|stop --service_addr HOST:PORT[,...]",
	.summary = "profiles of what has just happened",
	.help = "start: the programs gather events from now on. snapshot: what they have gathered becomes a run of --logdir, its\n"
		"summary is printed, and they go on. stop: they gather no more.\n\n"
		"  -a, --service_addr LIST       where the programs' profilers are: host:port, with commas between them\n"
		"  -l, --logdir DIR              where a snapshot goes\n"
		"      --session_id NAME         of the run; the time without it\n"
		"      --host_tracer_level N     0 none, 1 critical, 2 (without it) info, 3 verbose\n"
		"      --device_tracer_level N   0 none, 1 (without it)\n"
		"      --python_tracer_level N   0 none (without it), 1: Python's own calls\n" CLI_TLS_HELP
		"\nOn TPUs the last events are kept in a ring; other tracers keep all since the last snapshot: take one now and "
		"then.\n",
	.run = run,
};
