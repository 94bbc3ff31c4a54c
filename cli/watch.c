/*
 * watch.c - monitoring in lines, as the documents of Cloud TPUs show it. A server that answers
 * Monitor is asked; of others a short profile is taken and the same figures are computed.
 */
#include "watch.h"

#include "capture/requests.h"
#include "metrics.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MAX_HOSTS 1024

static void heading(const struct cli_watch *w, uint64_t i)
{
	char text[32] = "";
	time_t now = time(NULL);
	struct tm tm;
	if (w->timestamp && localtime_r(&now, &tm))
		strftime(text, sizeof(text), ", %H:%M:%S", &tm);
	printf("Monitoring results (sample %llu%s):\n", (unsigned long long)i + 1, text);
}

/* Does the (only) server know Monitor? Then its words are printed as they are. */
static bool ask_server(const struct cli_watch *w, struct ss_grpc_status *status)
{
	const struct ss_capture_config *c = &w->capture;
	struct ss_buf out = { 0 };
	const struct ss_peer peer = { .target = c->targets, .tls = c->tls, .token = c->token, .wake_fd = c->wake_fd,
				      .timeout_ns = (int64_t)(60000 + 2 * c->options.duration_ms) * SS_NS_PER_MS };
	bool ok = ss_request_monitor(&peer, c->options.duration_ms, w->level, w->timestamp, &out, status);
	for (struct ss_str rest = ss_buf_get(&out); ok && rest.n;) {
		size_t end = ss_str_chr(rest, '\n');
		struct ss_str line = ss_str_sub(rest, 0, end == SS_NPOS ? rest.n : end);
		struct ss_out o;
		rest = end == SS_NPOS ? SS_STR("") : ss_str_sub(rest, end + 1, rest.n);
		ss_out_init(&o, NULL, NULL);
		ss_text_put(&o, line, 0);
		printf("    %.*s\n", (int)o.n, o.buf ? o.buf : "");
		ss_out_free(&o);
	}
	ss_buf_free(&out);
	return ok;
}

static bool take_sample(const struct cli_watch *w, struct cli_sample *samples, size_t *good, struct ss_err *err)
{
	size_t n;
	if (!cli_sample(&w->capture, samples, MAX_HOSTS, &n, NULL, NULL, err))
		return false;
	for (size_t i = 0; i < n; i++) {
		*good += samples[i].ok;
		if (n > 1)
			printf("  %s\n", samples[i].target);
		if (samples[i].ok)
			cli_metrics_print(&samples[i].metrics, w->level, "    ");
		else
			printf("    %s\n", samples[i].why);
	}
	return true;
}

int cli_watch_lines(struct cli_watch *w)
{
	struct cli_sample *samples = calloc(MAX_HOSTS, sizeof(*samples));
	struct ss_err err = { 0 };
	struct ss_grpc_status status = { 0 };
	bool server = !strchr(w->capture.targets, ',');
	size_t good = 0;
	if (!samples || (w->capture.wake_fd = cli_interrupt_open(&err)) < 0) {
		free(samples);
		ss_fail_mem(&err);
		return cli_fail(&err);
	}
	for (uint64_t i = 0; !err.code && (!w->queries || i < w->queries); i++) {
		if (ss_net_readable(w->capture.wake_fd))
			break;
		heading(w, i);
		if (server && ask_server(w, &status))
			good++;
		else if (server && status.code == SS_GRPC_CANCELLED && ss_net_readable(w->capture.wake_fd))
			ss_fail(&err, SS_EBUSY, "cancelled");
		else if (server && status.code != SS_GRPC_UNIMPLEMENTED)
			ss_fail(&err, SS_EIO, "%s: %s", ss_grpc_code_name(status.code), status.text);
		else
			server = false;
		size_t before = good;
		if (!server && !err.code)
			take_sample(w, samples, &good, &err);
		fflush(stdout);
		/* A host that does not answer is not asked more often than one that does. */
		if (!server && good == before)
			ss_net_wait_readable(w->capture.wake_fd, (int)w->capture.options.duration_ms);
	}
	free(samples);
	cli_interrupt_close(w->capture.wake_fd);
	if (err.code == SS_EBUSY)
		return good ? CLI_DONE : CLI_FAILED;
	return err.code ? cli_fail(&err) : good ? CLI_DONE : CLI_FAILED;
}
