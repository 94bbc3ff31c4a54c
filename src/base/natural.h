/* natural.h - the order in which people count: "host2" before "host10". */
#ifndef SS_BASE_NATURAL_H
#define SS_BASE_NATURAL_H

#include "base/str.h"

int ss_natural_cmp(struct ss_str a, struct ss_str b);

#endif
