/* not_a_profile.h - files that look like profiles by their names and are none, and what to do about them. */
#ifndef SS_STORE_NOT_A_PROFILE_H
#define SS_STORE_NOT_A_PROFILE_H

#include "base/str.h"

/* Why is a file of this name no host of a run? NULL: nobody would have thought it was. */
const char *ss_not_a_profile(struct ss_str name);

#endif
