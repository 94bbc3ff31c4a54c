/*
 * monitor.c - stepscope monitor: a job's hosts, looked at again and again: a table in the terminal,
 * a page and figures for Prometheus on a port, and profiles kept when a step was slow.
 *
 * A look is a short profile of all hosts at once, or with --keep_slow a snapshot of what they have
 * gathered since the last one; it is thrown away when its figures are taken. Who is a straggler is
 * the verdict of the tool of that name on the look.
 */
#include "dashboard.h"
#include "programs.h"

#include <getopt.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern const struct cli_command cli_command_monitor;

#define NO_PORT UINT64_MAX

struct monitor {
	struct ss_capture_config capture;
	struct cli_dashboard dashboard;
	struct cli_programs programs;	/* with keep_slow */
	struct cli_keep keep;
	char slowest[400];	/* why the last profile was kept */
	double slow;		/* a step so many times as long as usual is worth a profile; 0: none is */
	uint64_t interval_s, queries;
	bool terminal;
};

/* Programs in which this command started continuous recording. */
static void end_gathering(struct monitor *m)
{
	for (size_t i = 0; i < m->programs.n; i++)
		m->programs.v[i].wanted = m->programs.v[i].ours;
	cli_programs_stop(&m->programs);
}

/*
 * Was a step far longer than the steps of the looks before? The first host of which that is true.
 */
static bool was_slow(void *arg, const struct cli_sample *samples, size_t n)
{
	struct monitor *m = arg;
	for (size_t i = 0; i < n; i++) {
		double usual = cli_dashboard_usual_ms(&m->dashboard, i), longest = samples[i].metrics.step_ms_max;
		if (!samples[i].ok || !(usual > 0) || !(longest > m->slow * usual))
			continue;
		snprintf(m->slowest, sizeof(m->slowest), "%s took %.4g ms for a step; the usual time is %.4g ms",
			 samples[i].target, longest, usual);
		return true;
	}
	return false;
}

static void show(struct monitor *m)
{
	struct ss_buf b = { 0 };
	if (m->terminal)
		ss_buf_z(&b, "\033[H\033[J");
	cli_dashboard_text(&m->dashboard, &b);
	if (m->terminal)
		ss_buf_z(&b, "\nCtrl-C ends\n");
	fwrite(b.p, 1, b.n, stdout);
	fflush(stdout);
	ss_buf_free(&b);
}

/* If one program cannot record continuously, short profiles are taken of all. */
static void fall_back(struct monitor *m, const struct cli_program *cannot)
{
	fprintf(stderr,
		"stepscope: %s does not support continuous profiling: each sample is a profile of "
		"%llu ms, and slow steps between samples are missed\n",
		cannot->target, (unsigned long long)m->capture.options.duration_ms);
	m->capture.mode = SS_CAPTURE_SEND;
	end_gathering(m);
}

/*
 * To miss no slow step, the programs gather events all the time, and a look is what they have
 * gathered since the last. One that does so already goes on when we end.
 */
static void begin_gathering(struct monitor *m)
{
	m->capture.mode = SS_CAPTURE_SNAPSHOT;
	cli_programs_start(&m->programs);
	for (size_t i = 0; i < m->programs.n; i++)
		if (m->programs.v[i].status.code == SS_GRPC_UNIMPLEMENTED) {
			fall_back(m, &m->programs.v[i]);
			return;
		}
}

/* A program that was started anew gathers nothing until it is asked to. */
static void go_on_gathering(struct monitor *m, const struct cli_sample *samples, size_t n)
{
	for (size_t i = 0; i < n && i < m->programs.n; i++) {
		if (samples[i].code == SS_GRPC_UNIMPLEMENTED) {
			fall_back(m, &m->programs.v[i]);
			return;
		}
		m->programs.v[i].wanted = samples[i].code == SS_GRPC_NOT_FOUND;
	}
	begin_gathering(m);
}

static bool sample(struct monitor *m, struct cli_sample *samples, struct ss_err *err)
{
	size_t n;
	char verdict[CLI_VERDICT_BYTES];
	if (!cli_sample(&m->capture, samples, CLI_DASHBOARD_HOSTS, &n, m->slow > 0 ? &m->keep : NULL, verdict, err))
		return false;
	cli_dashboard_add(&m->dashboard, samples, n, verdict);
	show(m);
	if (m->capture.mode == SS_CAPTURE_SNAPSHOT)
		go_on_gathering(m, samples, n);
	if (m->slow > 0 && m->keep.run[0])
		cli_tell("%s: kept as run %s of %s", m->slowest, m->keep.run, m->keep.logdir);
	return true;
}

static int watch(struct monitor *m)
{
	struct cli_sample *samples = calloc(CLI_DASHBOARD_HOSTS, sizeof(*samples));
	struct ss_err err = { 0 };
	bool ok = samples || ss_fail_mem(&err);
	if (ok && m->slow > 0) {
		begin_gathering(m);
		/* Make the first sample hold events. */
		ok = !ss_net_wait_readable(m->capture.wake_fd, (int)m->capture.options.duration_ms);
	}
	for (uint64_t i = 0; ok && (!m->queries || i < m->queries); i++) {
		int64_t next_ns = ss_net_now_ns() + (int64_t)m->interval_s * 1000 * SS_NS_PER_MS;
		ok = sample(m, samples, &err);
		int64_t left_ms = (next_ns - ss_net_now_ns()) / SS_NS_PER_MS;
		bool last = m->queries && i + 1 == m->queries;
		if (ok && !last && ss_net_wait_readable(m->capture.wake_fd, left_ms > 0 ? (int)left_ms : 0))
			break;
	}
	if (m->slow > 0)
		end_gathering(m);
	free(samples);
	if (err.code && err.code != SS_EBUSY)
		return cli_fail(&err);
	return cli_dashboard_any(&m->dashboard) ? CLI_DONE : CLI_FAILED;
}

static void say_where(const struct monitor *m, const struct cli_dashboard_address *at, const char *made)
{
	const char *bind = at->bind ? at->bind : "127.0.0.1";
	bool v6 = strchr(bind, ':');
	fprintf(stderr, "stepscope: http://%s%s%s:%u/%s%s and /metrics\n", v6 ? "[" : "", bind, v6 ? "]" : "",
		cli_dashboard_port(&m->dashboard), made[0] ? "?token=" : "", made);
}

/* `at` may be NULL: then nobody is answered. */
static int start(struct monitor *m, struct cli_dashboard_address *at)
{
	struct ss_err err = { 0 };
	char made[CLI_TOKEN_BYTES] = "";
	m->capture.wake_fd = cli_interrupt_open(&err);
	if (m->capture.wake_fd < 0 || !cli_programs_open(&m->programs, &m->capture, &err))
		return cli_fail(&err);
	if ((at && !cli_token_for(at->bind, made, &at->token, &err)) ||
	    !cli_dashboard_open(&m->dashboard, m->capture.targets, at, m->interval_s * 1000, &err)) {
		cli_programs_close(&m->programs);
		return cli_fail(&err);
	}
	if (at)
		say_where(m, at, made);
	int status = watch(m);
	cli_dashboard_close(&m->dashboard);
	cli_programs_close(&m->programs);
	cli_interrupt_close(m->capture.wake_fd);
	return status;
}

static int run(int argc, char **argv)
{
	const char *slow = NULL, *logdir = NULL;
	struct monitor m = { .capture = { .options = ss_profile_defaults, .attempts = 1 }, .interval_s = 5 };
	struct ss_capture_config *config = &m.capture;
	struct cli_tls tls = { 0 }, http_token = { 0 };
	const struct ss_tls *no_tls;
	struct cli_dashboard_address at = { .bind = NULL };
	struct ss_err err = { 0 };
	uint64_t port = NO_PORT;
	const struct cli_opt opts[] = {
		CLI_TEXT("service_addr", 'a', &config->targets),
		CLI_NUMBER("duration_ms", 'd', 600000, &config->options.duration_ms),
		CLI_NUMBER("interval_s", 'i', 86400, &m.interval_s),
		CLI_NUMBER("num_queries", 'n', INT64_MAX, &m.queries),
		CLI_NUMBER("http", 0, 65535, &port),
		CLI_TEXT("http_bind", 0, &at.bind),
		CLI_TEXT("http_token_file", 0, &http_token.token_file),
		CLI_TEXT("http_link", 0, &at.link),
		CLI_TEXT("keep_slow", 0, &slow),
		CLI_TEXT("logdir", 'l', &logdir),
		CLI_TLS_OPTS(tls),
	};
	config->options.duration_ms = 500;
	config->options.circular_buffer = true;
	int status = cli_parse(&cli_command_monitor, argc, argv, opts, SS_COUNT(opts), 0, 1);
	if (status >= 0)
		return status;
	if (!config->targets && optind < argc)
		config->targets = argv[optind++];
	if (optind < argc)
		return cli_misuse(&cli_command_monitor, "too many arguments: '%s'; separate programs with commas",
				  argv[optind]);
	if (!config->targets)
		return cli_misuse(&cli_command_monitor, "no programs given: use --service_addr HOST:PORT[,...]");
	if (slow && (!ss_str_to_f64(ss_str_from(slow), &m.slow) || !(m.slow > 1) || m.slow > 1e6))
		return cli_misuse(&cli_command_monitor, "--keep_slow: '%s' is not a number above 1", slow);
	if (slow && !logdir)
		return cli_misuse(&cli_command_monitor, "--keep_slow needs --logdir, the directory for the profiles");
	if (at.link && strncmp(at.link, "http://", 7) != 0 && strncmp(at.link, "https://", 8) != 0)
		return cli_misuse(&cli_command_monitor, "--http_link: '%s' is not an http address", at.link);
	m.keep = (struct cli_keep){ .logdir = logdir, .wanted = was_slow, .arg = &m };
	m.terminal = isatty(STDOUT_FILENO);
	at.port = port == NO_PORT ? 0 : (uint16_t)port;
	bool ok = cli_tls_open(&tls, &config->tls, &config->token, &err) && cli_tls_open(&http_token, &no_tls, &at.token, &err);
	status = ok ? start(&m, port == NO_PORT ? NULL : &at) : cli_fail(&err);
	cli_tls_close(&tls);
	cli_tls_close(&http_token);
	return status;
}

const struct cli_command cli_command_monitor = {
	.name = "monitor",
	.args = "HOST:PORT[,...] [--http PORT]",
	.summary = "watch running programs: step times, idle, stragglers",
	.help = "Takes short profiles of all programs repeatedly and shows step times, device idle time, utilization of\n"
		"the TPU matrix units, the share of input, and hosts that are slower than the others.\n\n"
		"  -a, --service_addr LIST  addresses host:port, separated by commas\n"
		"  -d, --duration_ms N      length of each profile (default: 500)\n"
		"  -i, --interval_s N       time between two profiles (default: 5)\n"
		"  -n, --num_queries N      number of profiles (default: 0, until Ctrl-C)\n"
		"      --http PORT          also serve a page, and /metrics for Prometheus; 0: a free port\n"
		"      --http_bind ADDRESS  address to listen on (default: 127.0.0.1; any other requires a token,\n"
		"                           which is generated and printed)\n"
		"      --http_token_file F  require the token in file F\n"
		"      --http_link URL      address of 'stepscope serve' for links on the page\n"
		"      --keep_slow X        keep a profile when a step takes X times as long as usual. Uses continuous\n"
		"                           profiling, so that no slow step is missed; programs without it are\n"
		"                           sampled with short profiles\n"
		"  -l, --logdir DIR         directory for kept profiles\n" CLI_TLS_HELP,
	.run = run,
};
