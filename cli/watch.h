/* watch.h - looking at a job again and again. */
#ifndef SS_CLI_WATCH_H
#define SS_CLI_WATCH_H

#include "capture_words.h"

struct cli_watch {
	struct ss_capture_config capture;	/* logdir and run are not used */
	unsigned level;		/* 1 or 2 */
	uint64_t queries;	/* 0: until Ctrl-C */
	bool timestamp;
};

/* The lines of each look on stdout, one sample after the other; the exit status. */
int cli_watch_lines(struct cli_watch *w);

#endif
