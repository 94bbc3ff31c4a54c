/* board.h - the figures of a job's hosts with their history, as text, as a page, and for Prometheus. */
#ifndef SS_CLI_BOARD_H
#define SS_CLI_BOARD_H

#include "figures.h"

#include <pthread.h>

#define CLI_BOARD_HOSTS 1024
#define CLI_BOARD_HISTORY 60

struct cli_board_host {
	char name[280];
	struct cli_look look;		/* the last */
	double step_ms[CLI_BOARD_HISTORY]; /* average of each look, NAN where it failed; the oldest first */
	size_t nsteps;
	uint64_t failures;
};

struct ss_http;

struct cli_board {
	pthread_mutex_t lock;
	struct cli_board_host *hosts;
	size_t nhosts;
	uint64_t looks;
	uint64_t interval_ms;
	struct ss_http *http;
	bool local;		/* only this machine can ask */
	const char *link;	/* of struct cli_board_address */
};

/* Where it answers HTTP. */
struct cli_board_address {
	const char *bind;	/* NULL: 127.0.0.1 */
	const char *token;	/* must be there where others than this machine can ask */
	uint16_t port;		/* 0: any that is free */
	const char *link;	/* address of the page with the profiles, which the board's page links to; or NULL */
};

/* `targets` as given, with commas. Without an address it does not answer HTTP. */
bool cli_board_open(struct cli_board *b, const char *targets, const struct cli_board_address *at, uint64_t interval_ms,
		    struct ss_err *err);
uint16_t cli_board_port(const struct cli_board *b);
void cli_board_add(struct cli_board *b, const struct cli_look *looks, size_t n);
/* The step time in the middle of the looks so far; NAN before the third. */
double cli_board_usual_ms(const struct cli_board *b, size_t host);
/* Was any host ever seen? */
bool cli_board_any(const struct cli_board *b);
void cli_board_text(struct cli_board *b, struct ss_buf *out);
void cli_board_close(struct cli_board *b);

#endif
