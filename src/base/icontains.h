/* icontains.h - does a text hold another one, ASCII letters compared without case? */
#ifndef SS_BASE_ICONTAINS_H
#define SS_BASE_ICONTAINS_H

#include "base/str.h"

static inline bool ss_str_icontains(struct ss_str a, struct ss_str needle)
{
	for (size_t i = 0; i + needle.n <= a.n; i++)
		if (ss_str_istarts(ss_str_sub(a, i, a.n), needle))
			return true;
	return false;
}

#endif
