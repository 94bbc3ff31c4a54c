/* group.c - event forest and groups (common_xspace sections 6.2, 6.4, 6.5). */
#include "model/preprocess.h"

bool ss_preprocess_group(struct ss_host *h, struct ss_err *err)
{
	(void)h;
	(void)err;
	return true;
}
