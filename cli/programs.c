/* programs.c - one question to many. Who is slow to answer holds up nobody else. */
#include "programs.h"

#include "base/pool.h"

#include <stdlib.h>
#include <string.h>

#define START_NS INT64_C(30000000000)
#define STOP_NS INT64_C(10000000000)
#define AT_ONCE 16

bool cli_programs_open(struct cli_programs *p, const struct ss_capture_config *config, struct ss_err *err)
{
	size_t max = 1;
	for (const char *at = config->targets; *at; at++)
		max += *at == ',';
	*p = (struct cli_programs){ .config = config, .targets = strdup(config->targets) };
	p->v = calloc(max, sizeof(*p->v));
	if (!p->targets || !p->v) {
		cli_programs_close(p);
		return ss_fail_mem(err);
	}
	struct ss_str list = ss_str_from(p->targets), one;
	while (ss_next_target(&list, &one)) {
		((char *)(uintptr_t)one.p)[one.n] = '\0';
		p->v[p->n++] = (struct cli_program){ .target = one.p, .wanted = true };
	}
	return true;
}

void cli_programs_close(struct cli_programs *p)
{
	free(p->v);
	free(p->targets);
	*p = (struct cli_programs){ 0 };
}

struct question {
	struct cli_programs *p;
	bool start;
};

static bool ask_one(void *arg, size_t i, struct ss_err *err)
{
	const struct question *q = arg;
	const struct ss_capture_config *config = q->p->config;
	struct cli_program *one = &q->p->v[i];
	/* Ctrl-C is the reason to stop, and must not stop that. */
	const struct ss_peer peer = { .target = one->target, .tls = config->tls, .token = config->token,
				      .timeout_ns = q->start ? START_NS : STOP_NS, .wake_fd = q->start ? config->wake_fd : -1 };
	(void)err;
	if (!one->wanted)
		return true;
	if (q->start)
		one->ours = ss_request_start_continuous(&peer, &config->options, &one->status);
	else if (ss_request_stop_continuous(&peer, &one->status))
		one->ours = false;
	return true;
}

static bool ask_all(struct cli_programs *p, bool start)
{
	struct question q = { p, start };
	bool ok = ss_parallel(p->n, AT_ONCE, ask_one, &q, NULL);
	for (size_t i = 0; i < p->n; i++) {
		ok = ok && (!p->v[i].wanted || p->v[i].status.code == SS_GRPC_OK);
		p->v[i].wanted = false;
	}
	return ok;
}

bool cli_programs_start(struct cli_programs *p)
{
	return ask_all(p, true);
}

bool cli_programs_stop(struct cli_programs *p)
{
	return ask_all(p, false);
}
