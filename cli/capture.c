/*
 * capture.c - stepscope capture: a profile of running programs, and then its summary. Here are the
 * words; src/capture does the work.
 */
#include "capture_words.h"

#include "capture/requests.h"
#include "watch.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern const struct cli_command cli_command_capture;
extern const struct cli_command cli_command_summary;

static const char *plural(size_t n)
{
	return n == 1 ? "" : "s";
}

static void print_bytes(char *out, size_t cap, uint64_t bytes)
{
	if (bytes < 1000)
		snprintf(out, cap, "%llu bytes", (unsigned long long)bytes);
	else if (bytes < 1000000)
		snprintf(out, cap, "%.1f kB", (double)bytes / 1e3);
	else
		snprintf(out, cap, "%.1f MB", (double)bytes / 1e6);
}

/* A line on stderr; control characters of others' texts are replaced on the way. */
static void say(struct cli_words *w, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void say(struct cli_words *w, const char *fmt, ...)
{
	struct ss_buf b = { 0 };
	char text[1500];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (w->live)
		fputs("\r\033[K", stderr);
	w->live = false;
	ss_buf_z(&b, text);
	cli_say(NULL, ss_buf_get(&b));
	ss_buf_free(&b);
}

static void say_host(struct cli_words *w, const struct ss_capture *c, const struct ss_capture_host *h)
{
	char size[32];
	print_bytes(size, sizeof(size), h->reply.bytes);
	switch (h->end) {
	case SS_CAPTURE_KEPT:
		if (h->reply.kept.n)
			say(w, "%s: %s", h->target, size);
		else
			say(w, "%s: the program wrote the profile itself", h->target);
		break;
	case SS_CAPTURE_ELSEWHERE:
		say(w, "%s: the program says it wrote its profile below '" SS_FMT
		       "', which does not exist on this machine", h->target,
		    SS_ARG(c->dir.path));
		break;
	case SS_CAPTURE_EMPTY:
		say(w, "%s: no trace event was collected", h->target);
		break;
	case SS_CAPTURE_FAILED:
		say(w, "%s: %s: %s", h->target, ss_grpc_code_name(h->status.code), h->status.text);
		break;
	case SS_CAPTURE_WAITING:
		break;
	}
}

/* Show the progress if stderr is a terminal. */
static void say_progress(struct cli_words *w, const struct ss_capture *c)
{
	uint64_t bytes = 0;
	char size[32];
	if (!w->terminal)
		return;
	for (size_t i = 0; i < c->nhosts; i++)
		if (c->hosts[i].call)
			bytes += ss_grpc_call_received(c->hosts[i].call);
	print_bytes(size, sizeof(size), bytes);
	fprintf(stderr, "\r\033[Kstepscope: %.1f s, waiting for %zu of %zu host%s%s%s (Ctrl-C ends)",
		(double)(ss_net_now_ns() - c->begin_ns) / 1e9, ss_capture_count(c, SS_CAPTURE_WAITING), c->nhosts,
		plural(c->nhosts), bytes ? ", " : "", bytes ? size : "");
	fflush(stderr);
	w->live = true;
}

static void capture_progress(void *arg, const struct ss_capture *c, const struct ss_capture_host *host)
{
	struct cli_words *w = arg;
	if (c->attempt > w->attempt && c->attempt > 1)
		say(w, "no trace yet, attempt %u of %u", c->attempt, w->attempts);
	w->attempt = c->attempt;
	if (host)
		say_host(w, c, host);
	else
		say_progress(w, c);
}

/* The end of it: what there is, and what there is not. */
static void say_end(struct cli_words *w, const struct ss_capture *c)
{
	size_t kept = ss_capture_count(c, SS_CAPTURE_KEPT), elsewhere = ss_capture_count(c, SS_CAPTURE_ELSEWHERE);
	if (c->cancelled)
		say(w, "cancelled; complete profiles are kept");
	if (kept + elsewhere < c->nhosts)
		say(w, "warning: %zu of %zu hosts returned no profile; the run holds the other hosts only",
		    c->nhosts - kept - elsewhere, c->nhosts);
	say(w, "run " SS_FMT " in " SS_FMT, SS_ARG(c->dir.run), SS_ARG(c->dir.path));
}

/* The summary of what was taken, as the command of this name prints it. */
static int summarize(const char *logdir, const char *run_name)
{
	char name[] = "summary", option[] = "--run";
	char *path = strdup(logdir), *run = strdup(run_name);
	char *argv[] = { name, option, run, path, NULL };
	int status = path && run ? cli_command_summary.run(4, argv) : CLI_FAILED;
	free(path);
	free(run);
	return status;
}

/* Why there is nothing, as far as it was not said host by host. */
static void say_failure(struct cli_words *w, const struct ss_capture *c, const struct ss_err *err)
{
	size_t away = 0;
	for (size_t i = 0; i < c->nhosts; i++)
		away += c->hosts[i].end == SS_CAPTURE_FAILED && strstr(c->hosts[i].status.text, "refused");
	if (c->nhosts == 1 && ss_capture_count(c, SS_CAPTURE_FAILED))
		say(w, "no profile was taken");
	else
		say(w, "%s", err->text);
	if (away && away == c->nhosts)
		say(w, "is the program running, and its profiler's port open? jax.profiler.start_server(PORT), "
		       "tf.profiler.experimental.server.start(PORT) or ss_trace_server_start(PORT) opens it");
}

int cli_capture_take(struct ss_capture_config *config, bool summary)
{
	struct cli_words w = { .terminal = isatty(STDERR_FILENO), .attempts = config->attempts };
	struct ss_capture c;
	struct ss_err err = { 0 };
	config->progress = capture_progress;
	config->progress_arg = &w;
	config->wake_fd = cli_interrupt_open(&err);
	if (config->wake_fd < 0)
		return cli_fail(&err);
	bool ok = ss_capture_run(&c, config, &err);
	cli_interrupt_close(config->wake_fd);
	int status = ok && !c.cancelled ? CLI_DONE : CLI_FAILED;
	if (ok)
		say_end(&w, &c);
	else
		say_failure(&w, &c, &err);
	if (ok && summary && ss_capture_count(&c, SS_CAPTURE_KEPT) && summarize(config->logdir, c.dir.run.p) != CLI_DONE)
		status = CLI_FAILED;
	if (ok && ss_capture_count(&c, SS_CAPTURE_KEPT) + ss_capture_count(&c, SS_CAPTURE_ELSEWHERE) < c.nhosts)
		status = CLI_FAILED;
	if (!ok && err.code == SS_EINVAL)
		status = CLI_MISUSE;
	ss_capture_release(&c);
	return status;
}

/* Ask the master until there is a trace. */
static bool ask_master(const struct ss_capture_config *config, const char *master, struct ss_new_session *s,
		       struct ss_grpc_status *status)
{
	const struct ss_peer peer = { .target = master, .tls = config->tls, .token = config->token, .wake_fd = config->wake_fd,
				      .timeout_ns = ss_capture_timeout_ns(config) };
	unsigned attempts = config->attempts ? config->attempts : 1;
	for (unsigned i = 1; i <= attempts; i++) {
		if (!ss_request_new_session(&peer, s, status))
			return false;
		if (!s->empty_trace)
			return true;
		fprintf(stderr, "stepscope: no trace event was collected, attempt %u of %u\n", i, attempts);
	}
	return ss_grpc_fail(status, SS_GRPC_UNAVAILABLE, "no trace event was collected after %u attempt%s", attempts,
			    plural(attempts));
}

int cli_capture_pod(struct ss_capture_config *config, const char *master, bool summary)
{
	struct cli_words w = { 0 };
	struct ss_run_dir d;
	struct ss_err err = { 0 };
	struct ss_grpc_status status = { 0 };
	if ((config->wake_fd = cli_interrupt_open(&err)) < 0 || !ss_run_dir_make(&d, config->logdir, config->run, &err))
		return cli_fail(&err);
	struct ss_new_session s = { .request = { .options = &config->options, .repository_root = d.root.p,
						 .session_id = d.run.p, .host_name = master },
				    .workers = config->targets };
	bool ok = ask_master(config, master, &s, &status);
	cli_interrupt_close(config->wake_fd);
	int result = ok ? CLI_DONE : status.code == SS_GRPC_UNIMPLEMENTED ? -1 : CLI_FAILED;
	if (ok)
		say(&w, "%s took the profile of its workers: run " SS_FMT " in " SS_FMT, master, SS_ARG(d.run), SS_ARG(d.path));
	else if (result == CLI_FAILED)
		say(&w, "%s: %s: %s", master, ss_grpc_code_name(status.code), status.text);
	if (ok && summary && !d.remote)
		result = summarize(config->logdir, d.run.p);
	ss_run_dir_release(&d);
	return result;
}

/* Addresses one a line, '#' begins a comment; the list with commas, to be freed. */
static char *read_hosts(const char *path, struct ss_err *err)
{
	FILE *f = strcmp(path, "-") == 0 ? stdin : fopen(path, "r");
	struct ss_buf list = { .limit_bytes = 1 << 20 };
	char line[512];
	if (!f) {
		ss_fail(err, SS_EIO, "cannot read '%s'", path);
		return NULL;
	}
	while (fgets(line, sizeof(line), f)) {
		line[strcspn(line, "#\r\n")] = '\0';
		char *at = line + strspn(line, " \t");
		at[strcspn(at, " \t")] = '\0';
		if (*at && list.n)
			ss_buf_char(&list, ',');
		ss_buf_z(&list, at);
	}
	if (f != stdin)
		fclose(f);
	ss_buf_char(&list, '\0');
	if (!ss_buf_ok(&list, "list of hosts", err) || (!list.p[0] && !ss_fail(err, SS_EINVAL, "'%s' names no host", path))) {
		ss_buf_free(&list);
		return NULL;
	}
	return list.p;
}

/* The options as they are given. */
struct asked {
	struct ss_capture_config config;
	const char *addresses, *workers, *hosts, *mode;
	uint64_t attempts, timeout_s, level, queries;
	bool no_summary;
};

static int take(struct asked *a, struct cli_tls *tls)
{
	struct ss_capture_config *config = &a->config;
	struct ss_err err = { 0 };
	char *list = NULL;
	if (a->hosts && !(list = read_hosts(a->hosts, &err)))
		return cli_fail(&err);
	config->targets = a->workers && a->workers[0] ? a->workers : a->addresses ? a->addresses : list;
	config->attempts = (unsigned)a->attempts;
	config->timeout_ms = a->timeout_s * 1000;
	config->mode = a->mode && a->mode[0] == 's' ? SS_CAPTURE_WRITE : SS_CAPTURE_SEND;
	int status = -1;
	if (!cli_tls_open(tls, &config->tls, &config->token, &err))
		status = cli_fail(&err);
	else if (a->level)
		status = cli_watch_lines(&(struct cli_watch){ .capture = *config, .level = (unsigned)a->level,
							      .queries = a->queries, .timestamp = true });
	else if (a->workers && a->addresses)
		status = cli_capture_pod(config, a->addresses, !a->no_summary);
	/* Without a master that takes it of all, we do. */
	if (status < 0)
		status = cli_capture_take(config, !a->no_summary);
	cli_tls_close(tls);
	free(list);
	return status;
}

static int run(int argc, char **argv)
{
	struct asked a = { .config = { .options = ss_profile_defaults, .wake_fd = -1 }, .attempts = 3, .queries = 100 };
	struct ss_capture_config *config = &a.config;
	struct cli_tls tls = { 0 };
	const struct cli_opt opts[] = {
		CLI_TEXT("service_addr", 'a', &a.addresses),
		CLI_TEXT("hosts", 0, &a.hosts),
		CLI_TEXT("worker_list", 0, &a.workers),
		CLI_TEXT("logdir", 'l', &config->logdir),
		CLI_TEXT("session_id", 0, &config->run),
		CLI_TEXT("override_hostnames", 0, &config->names),
		CLI_NUMBER("duration_ms", 'd', 86400000, &config->options.duration_ms),
		CLI_NUMBER("delay_ms", 0, 86400000, &config->delay_ms),
		CLI_NUMBER("num_tracing_attempts", 0, 1000, &a.attempts),
		CLI_LEVEL_OPTS(config->options),
		CLI_BOOL("include_dataset_ops", 0, &config->options.include_dataset_ops),
		CLI_NUMBER("timeout_s", 0, 864000, &a.timeout_s),
		CLI_TEXT("write", 0, &a.mode),
		CLI_NUMBER("monitoring_level", 0, 2, &a.level),
		CLI_NUMBER("num_queries", 0, INT64_MAX, &a.queries),
		CLI_FLAG("no_summary", 0, &a.no_summary),
		CLI_TLS_OPTS(tls),
	};
	int status = cli_parse(&cli_command_capture, argc, argv, opts, SS_COUNT(opts), 0, 2);
	if (status >= 0)
		return status;
	/* stepscope capture localhost:6009 DIR */
	if (optind < argc && !a.addresses && !a.hosts && !a.workers)
		a.addresses = argv[optind++];
	if (optind < argc && !config->logdir)
		config->logdir = argv[optind++];
	if (optind < argc)
		return cli_misuse(&cli_command_capture, "too many arguments: '%s'", argv[optind]);
	if (!a.addresses && !a.hosts && !a.workers)
		return cli_misuse(&cli_command_capture, "no program given: use --service_addr HOST:PORT");
	if ((!config->logdir || !config->logdir[0]) && !a.level)
		return cli_misuse(&cli_command_capture, "no destination given: use --logdir DIR");
	if (a.mode && strcmp(a.mode, "client") != 0 && strcmp(a.mode, "server") != 0)
		return cli_misuse(&cli_command_capture, "--write: '%s' must be client or server", a.mode);
	return take(&a, &tls);
}

const struct cli_command cli_command_capture = {
	.name = "capture",
	.args = "--service_addr HOST:PORT[,...] --logdir DIR",
	.summary = "take a profile of running programs",
	.help = "Asks the profilers of running programs (jax.profiler.start_server, tf.profiler.experimental.server.start, "
		"libsstrace)\nfor a profile, all at once, writes it to DIR/plugins/profile/RUN and prints its summary.\n\n"
		"  -a, --service_addr LIST       addresses host:port, separated by commas\n"
		"      --hosts FILE              addresses from a file, one per line; -: standard input\n"
		"      --worker_list LIST        workers of a TPU pod; --service_addr is then its master, if any\n"
		"  -l, --logdir DIR              log directory for the run; gs://... if the programs write it\n"
		"      --session_id NAME         name of the run (default: the time)\n"
		"      --override_hostnames LIST host names in the run, one per address\n"
		"  -d, --duration_ms N           length of the profile (default: 1000)\n"
		"      --delay_ms N              delay before the capture starts\n"
		"      --num_tracing_attempts N  attempts while no event is traced (default: 3)\n"
		CLI_LEVEL_HELP
		"      --include_dataset_ops B   false: longer device traces with old programs\n"
		"      --timeout_s N             seconds to wait for the profile (default: delay, twice the duration, and 120)\n"
		"      --write WHO               client (default): programs send the profile; server: they write to DIR\n"
		"      --no_summary              do not print the summary\n"
		"      --monitoring_level N      1 or 2: print live figures instead of writing a profile\n"
		"      --num_queries N           number of figures to print (default: 100); 0: until Ctrl-C\n" CLI_TLS_HELP
		"\nProfiles of hosts that answered are kept when others fail; the exit status is then 1. Ctrl-C stops at once.\n"
		"No file is ever half-written.\n",
	.run = run,
};
