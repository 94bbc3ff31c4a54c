/*
 * monitor.c - stepscope monitor: a job's hosts, looked at again and again: a table in the terminal, a
 * page and figures for Prometheus on a port, and profiles kept when a step was slow.
 *
 * A look is a short profile of all hosts at once, thrown away when its figures are taken. A host is
 * called a straggler when its steps take a tenth longer than those of the host in the middle.
 */
#include "board.h"

#include <getopt.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern const struct cli_command cli_command_monitor;

struct monitor {
	struct ss_capture_config capture;
	struct cli_board board;
	struct cli_keep keep;
	double slow;		/* a step so many times as long as usual is worth a profile; 0: none is */
	uint64_t interval_ms, queries;
	bool terminal;
};

/* Was a step far longer than the steps of the looks before? */
static bool was_slow(void *arg, const struct cli_look *looks, size_t n)
{
	const struct monitor *m = arg;
	bool slow = false;
	for (size_t i = 0; i < n && !slow; i++) {
		double usual = cli_board_usual_ms(&m->board, i);
		slow = looks[i].ok && usual > 0 && looks[i].figures.step_ms_max > m->slow * usual;
	}
	return slow;
}

static void show(struct monitor *m)
{
	struct ss_buf b = { 0 };
	if (m->terminal)
		ss_buf_z(&b, "\033[H\033[J");
	cli_board_text(&m->board, &b);
	if (m->terminal)
		ss_buf_z(&b, "\nCtrl-C ends\n");
	fwrite(b.p, 1, b.n, stdout);
	fflush(stdout);
	ss_buf_free(&b);
}

static bool look(struct monitor *m, struct cli_look *looks, struct ss_err *err)
{
	size_t n;
	if (!cli_look(&m->capture, looks, CLI_BOARD_HOSTS, &n, m->slow > 0 ? &m->keep : NULL, err))
		return false;
	cli_board_add(&m->board, looks, n);
	show(m);
	if (m->slow > 0 && m->keep.run[0])
		fprintf(stderr, "stepscope: a slow step: kept as run %s of %s\n", m->keep.run, m->keep.logdir);
	return true;
}

static int watch(struct monitor *m)
{
	struct cli_look *looks = calloc(CLI_BOARD_HOSTS, sizeof(*looks));
	struct ss_err err = { 0 };
	bool ok = looks || ss_fail_mem(&err);
	for (uint64_t i = 0; ok && (!m->queries || i < m->queries); i++) {
		int64_t next_ns = ss_net_now_ns() + (int64_t)m->interval_ms * SS_NS_PER_MS;
		ok = look(m, looks, &err);
		int64_t left_ms = (next_ns - ss_net_now_ns()) / SS_NS_PER_MS;
		bool last = m->queries && i + 1 == m->queries;
		if (ok && !last && ss_net_wait_readable(m->capture.wake_fd, left_ms > 0 ? (int)left_ms : 0))
			break;
	}
	free(looks);
	if (err.code && err.code != SS_EBUSY)
		return cli_fail(&err);
	return cli_board_any(&m->board) ? CLI_DONE : CLI_FAILED;
}

static int start(struct monitor *m, const char *port)
{
	struct ss_err err = { 0 };
	uint64_t number = 0;
	m->capture.wake_fd = cli_interrupt_open(&err);
	if (m->capture.wake_fd < 0)
		return cli_fail(&err);
	if (port && !cli_number(port, 65535, &number))
		return cli_misuse(&cli_command_monitor, "--http: '%s' is no port: 0 to 65535", port);
	if (!cli_board_open(&m->board, m->capture.targets, port != NULL, (uint16_t)number, m->interval_ms, &err))
		return cli_fail(&err);
	if (port)
		fprintf(stderr, "stepscope: http://127.0.0.1:%u/ and /metrics\n", cli_board_port(&m->board));
	int status = watch(m);
	cli_board_close(&m->board);
	cli_interrupt_close(m->capture.wake_fd);
	return status;
}

static bool read_number(const char *name, const char *text, uint64_t max, uint64_t *out)
{
	if (!text || cli_number(text, max, out))
		return true;
	cli_misuse(&cli_command_monitor, "--%s: '%s' is no number from 0 to %llu", name, text, (unsigned long long)max);
	return false;
}

static int run(int argc, char **argv)
{
	const char *addresses = NULL, *duration = NULL, *interval = NULL, *queries = NULL, *port = NULL, *slow = NULL,
		   *logdir = NULL;
	struct monitor m = { .capture = { .options = ss_profile_defaults, .attempts = 1 }, .interval_ms = 5000 };
	struct cli_tls tls = { 0 };
	struct ss_err err = { 0 };
	uint64_t interval_s = 5;
	const struct cli_opt opts[] = {
		{ "service_addr", 'a', true, &addresses, NULL, NULL }, { "duration_ms", 'd', true, &duration, NULL, NULL },
		{ "interval_s", 'i', true, &interval, NULL, NULL },    { "num_queries", 'n', true, &queries, NULL, NULL },
		{ "http", 0, true, &port, NULL, NULL },		       { "keep_slow", 0, true, &slow, NULL, NULL },
		{ "logdir", 'l', true, &logdir, NULL, NULL },	       CLI_TLS_OPTS(tls),
	};
	int status = cli_parse(&cli_command_monitor, argc, argv, opts, SS_COUNT(opts), 0, 1);
	if (status >= 0)
		return status;
	if (!addresses && optind < argc)
		addresses = argv[optind++];
	if (!addresses || optind < argc)
		return cli_misuse(&cli_command_monitor, "which programs? --service_addr HOST:PORT[,...] says");
	m.capture.options.duration_ms = 500;
	if (!read_number("duration_ms", duration, 600000, &m.capture.options.duration_ms) ||
	    !read_number("interval_s", interval, 86400, &interval_s) || !read_number("num_queries", queries, INT64_MAX, &m.queries))
		return CLI_MISUSE;
	if (slow && (!ss_str_to_f64(ss_str_from(slow), &m.slow) || !(m.slow > 1) || m.slow > 1e6))
		return cli_misuse(&cli_command_monitor, "--keep_slow: '%s' is no number above 1", slow);
	if (slow && !logdir)
		return cli_misuse(&cli_command_monitor, "--keep_slow needs --logdir, where the profiles go");
	m.interval_ms = interval_s * 1000;
	m.capture.targets = addresses;
	m.keep = (struct cli_keep){ .logdir = logdir, .wanted = was_slow, .arg = &m };
	m.terminal = isatty(STDOUT_FILENO);
	status = cli_tls_open(&tls, &m.capture.tls, &m.capture.token, &err) ? start(&m, port) : cli_fail(&err);
	cli_tls_close(&tls);
	return status;
}

const struct cli_command cli_command_monitor = {
	.name = "monitor",
	.args = "HOST:PORT[,...] [--http PORT]",
	.summary = "watch running programs: step times, idle, stragglers",
	.help = "Takes a short profile of all programs again and again, and shows step times, the device's idle time, the\n"
		"use of a TPU's matrix units, the share of input, and which hosts are slower than the others.\n\n"
		"  -a, --service_addr LIST  host:port, several with commas between them\n"
		"  -d, --duration_ms N      of each profile; 500 without it\n"
		"  -i, --interval_s N       from one to the next; 5 without it\n"
		"  -n, --num_queries N      so many; 0 (without it): until Ctrl-C\n"
		"      --http PORT          the same as a page, and for Prometheus at /metrics, on 127.0.0.1; 0 takes any "
		"that is free\n"
		"      --keep_slow X        keep the profile when a step took X times as long as usual\n"
		"  -l, --logdir DIR         where it is kept\n" CLI_TLS_HELP,
	.run = run,
};
