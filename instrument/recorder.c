/* recorder.c - the one recorder of a program. */
#include "recorder.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int ss_trace_level_now;

struct recorder ss_rec = { .session_lock = PTHREAD_MUTEX_INITIALIZER, .intern_lock = PTHREAD_MUTEX_INITIALIZER,
			   .shared_lock = PTHREAD_MUTEX_INITIALIZER, .lock = PTHREAD_MUTEX_INITIALIZER };

bool ss_rec_fail(const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(ss_rec.error, sizeof(ss_rec.error), fmt, ap);
	va_end(ap);
	return false;
}

__thread struct self ss_rec_self;
