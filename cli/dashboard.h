/* dashboard.h - the figures of a job's hosts with their history, as text, as a page, and for Prometheus. */
#ifndef SS_CLI_DASHBOARD_H
#define SS_CLI_DASHBOARD_H

#include "metrics.h"

#include <pthread.h>

#define CLI_DASHBOARD_HOSTS 1024
#define CLI_DASHBOARD_HISTORY 60

struct cli_dashboard_host {
	char name[280];
	struct cli_sample sample;		/* the last */
	double step_ms[CLI_DASHBOARD_HISTORY]; /* average of each look, NAN where it failed; the oldest first */
	size_t nsteps;
	uint64_t failures;
};

struct ss_http;

struct cli_dashboard {
	pthread_mutex_t lock;
	struct cli_dashboard_host *hosts;
	size_t nhosts;
	uint64_t samples;
	uint64_t interval_ms;
	struct ss_http *http;
	bool local;		/* only this machine can ask */
	const char *link;	/* of struct cli_dashboard_address */
	char verdict[CLI_VERDICT_BYTES]; /* of the last look */
};

/* The address at which the page is served. */
struct cli_dashboard_address {
	const char *bind;	/* NULL: 127.0.0.1 */
	const char *token;	/* must be there where others than this machine can ask */
	uint16_t port;		/* 0: any that is free */
	const char *link;	/* address of the page with the profiles, which the dashboard's page links to; or NULL */
};

/* `targets` as given, with commas. Without an address it does not answer HTTP. */
bool cli_dashboard_open(struct cli_dashboard *b, const char *targets, const struct cli_dashboard_address *at, uint64_t interval_ms,
		    struct ss_err *err);
uint16_t cli_dashboard_port(const struct cli_dashboard *b);
/* `verdict`: as cli_sample has it. */
void cli_dashboard_add(struct cli_dashboard *b, const struct cli_sample *samples, size_t n, const char *verdict);
/* The step time in the middle of the looks so far; NAN before the third. */
double cli_dashboard_usual_ms(const struct cli_dashboard *b, size_t host);
/* Was any host ever seen? */
bool cli_dashboard_any(const struct cli_dashboard *b);
void cli_dashboard_text(struct cli_dashboard *b, struct ss_buf *out);
void cli_dashboard_close(struct cli_dashboard *b);

#endif
