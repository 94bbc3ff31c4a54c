/* err.c - recording the first failure. */
#include "base/err.h"

#include <stdio.h>

bool (ss_fail)(struct ss_err *err, enum ss_errcode code, const char *fmt, ...)
{
	if (!err || err->code)
		return false;
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(err->text, sizeof(err->text), fmt, ap);
	va_end(ap);
	err->code = code;
	return false;
}

bool (ss_fail_mem)(struct ss_err *err)
{
	return ss_fail(err, SS_ENOMEM, "out of memory");
}
