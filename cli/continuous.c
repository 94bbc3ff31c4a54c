/*
 * continuous.c - stepscope continuous: profile what has just happened (start, snapshot, stop). The
 * programs gather events all the time; a snapshot takes what they have.
 */
#include "capture_words.h"
#include "programs.h"

#include <getopt.h>
#include <signal.h>
#include <string.h>

extern const struct cli_command cli_command_continuous;

/* The same question to all; what each says. */
static int ask_all(const struct ss_capture_config *config, bool (*ask)(struct cli_programs *p), const char *done)
{
	struct cli_programs p;
	struct ss_err err = { 0 };
	if (!cli_programs_open(&p, config, &err))
		return cli_fail(&err);
	bool all = ask(&p);
	for (size_t i = 0; i < p.n; i++) {
		const struct cli_program *one = &p.v[i];
		struct ss_buf text = { 0 };
		if (one->status.code == SS_GRPC_OK)
			ss_buf_printf(&text, "%s: %s", one->target, done);
		else
			ss_buf_printf(&text, "%s: %s: %s", one->target, ss_grpc_code_name(one->status.code), one->status.text);
		cli_say(NULL, ss_buf_get(&text));
		ss_buf_free(&text);
	}
	int status = !p.n ? cli_misuse(&cli_command_continuous, "no program is named") : all ? CLI_DONE : CLI_FAILED;
	cli_programs_close(&p);
	return status;
}

static int work(const char *what, struct ss_capture_config *config)
{
	if (strcmp(what, "start") == 0)
		return ask_all(config, cli_programs_start, "collects events from now on");
	if (strcmp(what, "stop") == 0)
		return ask_all(config, cli_programs_stop, "has stopped collecting");
	config->mode = SS_CAPTURE_SNAPSHOT;
	return cli_capture_take(config, true);
}

static int run(int argc, char **argv)
{
	struct ss_capture_config config = { .options = ss_profile_defaults, .attempts = 1, .wake_fd = -1 };
	struct cli_tls tls = { 0 };
	struct ss_err err = { 0 };
	const struct cli_opt opts[] = {
		CLI_TEXT("service_addr", 'a', &config.targets),
		CLI_TEXT("logdir", 'l', &config.logdir),
		CLI_TEXT("session_id", 0, &config.run),
		CLI_TEXT("override_hostnames", 0, &config.names),
		CLI_LEVEL_OPTS(config.options),
		CLI_TLS_OPTS(tls),
	};
	int status = cli_parse(&cli_command_continuous, argc, argv, opts, SS_COUNT(opts), 1, 1);
	if (status >= 0)
		return status;
	const char *what = argv[optind];
	bool snapshot = strcmp(what, "snapshot") == 0;
	if (!snapshot && strcmp(what, "start") != 0 && strcmp(what, "stop") != 0)
		return cli_misuse(&cli_command_continuous, "unknown action '%s': use start, snapshot or stop", what);
	if (!config.targets)
		return cli_misuse(&cli_command_continuous, "no programs given: use --service_addr HOST:PORT[,...]");
	if (snapshot && !config.logdir)
		return cli_misuse(&cli_command_continuous, "no destination given: use --logdir DIR");
	config.options.circular_buffer = true;
	signal(SIGPIPE, SIG_IGN);
	status = cli_tls_open(&tls, &config.tls, &config.token, &err) ? work(what, &config) : cli_fail(&err);
	cli_tls_close(&tls);
	return status;
}

const struct cli_command cli_command_continuous = {
	.name = "continuous",
	.args = "start|snapshot|stop --service_addr HOST:PORT[,...]",
	.summary = "profile what has just happened (start, snapshot, stop)",
	.help = "start: the programs begin to collect events. snapshot: the collected events become a run below --logdir,\n"
		"its summary is printed, and collection goes on. stop: the programs stop collecting.\n\n"
		"  -a, --service_addr LIST       addresses host:port, separated by commas\n"
		"  -l, --logdir DIR              log directory for snapshots\n"
		"      --session_id NAME         name of the run (default: the time)\n"
		"      --override_hostnames LIST host names in the run, one per address\n"
		CLI_LEVEL_HELP CLI_TLS_HELP
		"\nTPUs keep the latest events in a ring buffer. Other tracers keep all events since the last snapshot: take\n"
		"one regularly to limit their memory.\n",
	.run = run,
};
