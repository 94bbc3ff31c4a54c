/* overview.h - what subcommands about the whole program share. */
#ifndef SS_XPROF_CLI_OVERVIEW_H
#define SS_XPROF_CLI_OVERVIEW_H

#include "xprof/cli/xcli.h"

/*
 * Percent of the device's time that custom calls take, by the roofline model's table, to two
 * decimals.
 */
double xcli_custom_call_share(const struct ss_table *records);
void xcli_put_custom_call_share(struct xv *v, double share);

/* Text of the property that the last table with it has; p is NULL where there is none. */
struct ss_str xcli_prop(const struct ss_result *r, const char *id);
/* The number that it is; 0 where it is none. */
double xcli_prop_number(const struct ss_result *r, const char *id);

/*
 * The numbers of the steps that XProf's command line counts: those of the pod viewer, and of GPUs
 * and CPUs without the first and the last, which the profile may cut.
 */
struct xcli_whole_steps {
	int64_t first, last;
};
struct xcli_whole_steps xcli_whole_steps(const struct ss_result *pod_viewer,
					 const struct ss_table *cores);

#endif
