/* not_a_profile.h - files whose names look like those of profiles but that are not profiles, and what to do about each. */
#ifndef SS_STORE_NOT_A_PROFILE_H
#define SS_STORE_NOT_A_PROFILE_H

#include "base/str.h"

/* The reason why a file of this name is no host of a run; NULL: its name does not suggest it. */
const char *ss_not_a_profile(struct ss_str name);

#endif
