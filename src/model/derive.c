/* derive.c - derived lines (common_xspace section 6.6). */
#include "model/preprocess.h"

bool ss_preprocess_derive(struct ss_host *h, struct ss_err *err)
{
	(void)h;
	(void)err;
	return true;
}
