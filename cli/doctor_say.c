/* doctor_say.c - see doctor.h. */
#include "doctor.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

void doctor_say(struct doctor *d, enum doctor_level level, const char *what, const char *fmt, ...)
{
	static const char *const words[] = { "ok  ", "note", "BAD " };
	char text[1600];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	ss_out_printf(d->out, "%s  ", words[level]);
	ss_text_put(d->out, ss_str_from(what), 0);
	for (size_t n = strlen(what); n < 14; n++)
		ss_out_char(d->out, ' ');
	ss_out_z(d->out, "  ");
	ss_text_put(d->out, ss_str_from(text), 0);
	ss_out_char(d->out, '\n');
	d->bad += level == DOCTOR_BAD;
}

/* The nearest folder above that is there: what of the path is missing can be made in it or not. */
const char *doctor_existing(const char *path, char *out, size_t n)
{
	snprintf(out, n, "%s", path);
	while (access(out, F_OK) != 0) {
		char *slash = strrchr(out, '/');
		if (!slash || slash == out) {
			snprintf(out, n, "%s", slash ? "/" : ".");
			break;
		}
		*slash = '\0';
	}
	return out;
}
