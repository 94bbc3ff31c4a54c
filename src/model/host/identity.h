/* identity.h - what a host is called, and what its source is: for answers, which read nothing else of struct ss_host. */
#ifndef SS_MODEL_HOST_IDENTITY_H
#define SS_MODEL_HOST_IDENTITY_H

#include "base/str.h"

struct ss_host;

/* The file's name without ".xplane.pb" or the like. */
struct ss_str ss_host_name(const struct ss_host *h);
/* hostnames[0] of the file, or "localhost". */
struct ss_str ss_host_hostname(const struct ss_host *h);
/* The host in an answer: by its name, as in every tool; XProf's own answers have ss_host_hostname. */
struct ss_str ss_host_shown(const struct ss_host *h, bool as_xprof);

bool ss_host_is_raw(const struct ss_host *h);	/* SS_HOST_IS_RAW */
bool ss_host_is_described(const struct ss_host *h);	/* SS_HOST_IS_DESCRIBED */

#endif
