/* programs.h - short questions to several running programs at once. */
#ifndef SS_CLI_PROGRAMS_H
#define SS_CLI_PROGRAMS_H

#include "capture/requests.h"
#include "capture/capture.h"

struct cli_program {
	const char *target;
	bool wanted;			/* is to be asked */
	bool ours;			/* gathers events because we asked for it */
	struct ss_grpc_status status;	/* of the last question */
};

struct cli_programs {
	const struct ss_capture_config *config;	/* outlives them */
	struct cli_program *v;
	size_t n;
	char *targets;
};

/* The programs of config->targets in that order; each must answer. */
bool cli_programs_open(struct cli_programs *p, const struct ss_capture_config *config, struct ss_err *err);
void cli_programs_close(struct cli_programs *p);

/*
 * Continuous profiling, of those that are wanted; they are not any more then. `ours` follows what
 * they answer. False when one of them failed.
 */
bool cli_programs_start(struct cli_programs *p);
bool cli_programs_stop(struct cli_programs *p);

#endif
