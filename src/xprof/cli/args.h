/* args.h - for run.c: reading the arguments of a subcommand. */
#ifndef SS_XPROF_CLI_ARGS_H
#define SS_XPROF_CLI_ARGS_H

#include "xprof/cli/xcli.h"

/* argv[0] is the subcommand. */
bool xcli_args_take(struct xcli *x, int argc, char **argv);
/* Is everything there that must be? */
bool xcli_args_check(struct xcli *x);
/* session.c: find the traces of the session. */
bool xcli_session_find(struct xcli *x);

#endif
