/*
 * doctor.h - lines of 'stepscope doctor': what was checked, and what is to be done. For doctor*.c
 * only.
 */
#ifndef SS_CLI_DOCTOR_H
#define SS_CLI_DOCTOR_H

#include "cli.h"

enum doctor_level { DOCTOR_GOOD, DOCTOR_NOTE, DOCTOR_BAD };

struct doctor {
	struct ss_out *out;
	bool gpu_wanted;
	unsigned bad;
};

void doctor_say(struct doctor *d, enum doctor_level level, const char *what, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
/* The nearest folder above that is there, in `out`. */
const char *doctor_existing(const char *path, char *out, size_t n);
/* What is wrong with a file or a directory of profiles. */
void doctor_path(struct doctor *d, const char *path);

#endif
