/*
 * over_ssh.h - ssh://HOST/DIR as a path: the command runs on that machine, by the stepscope that is installed there, and its answer
 * comes here. Nothing is copied there or written there.
 */
#ifndef SS_CLI_OVER_SSH_H
#define SS_CLI_OVER_SSH_H

#include <stdbool.h>

/*
 * Does one of the arguments of this command (argv[0]) name such a path? Then *status is that of the command there; where none came,
 * what the command has for a failure.
 */
bool cli_over_ssh(int argc, char **argv, int *status);

#endif
