/* ssh_process.h - ssh as a child of this program. */
#ifndef SS_CLI_SSH_PROCESS_H
#define SS_CLI_SSH_PROCESS_H

#include <stdbool.h>

/*
 * The script of the other machine ends with the status of stepscope there plus this, so that a status of ssh's own, which is
 * 255 or, of a program around it, often 1, is not taken for an answer.
 */
#define CLI_SSH_ANSWERED 100
#define CLI_SSH_MOST 4	/* the greatest status of a command: docs/xprof_cli.md */

/*
 * Runs argv (ssh) to its end. The status of stepscope on `host`, or `failed` where none came, everything said. holds_input: its
 * standard input is open until this program ends, however it does; else it is ours.
 */
int cli_ssh_run(const char *const *argv, const char *host, bool holds_input, int failed);

#endif
