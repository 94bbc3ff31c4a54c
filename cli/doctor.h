/* doctor.h - lines of 'stepscope doctor': each check and its remedy. For doctor*.c only. */
#ifndef SS_CLI_DOCTOR_H
#define SS_CLI_DOCTOR_H

#include "cli.h"

enum doctor_level { DOCTOR_GOOD, DOCTOR_NOTE, DOCTOR_BAD };

struct doctor {
	struct ss_out *out;
	bool gpu_wanted;
	bool copied;	/* what is judged was unpacked or fetched: the times of its files on this machine say nothing */
	unsigned bad;
};

void doctor_say(struct doctor *d, enum doctor_level level, const char *what, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
/* The nearest folder above that is there, in `out`. */
const char *doctor_existing(const char *path, char *out, size_t n);
/* Check a file or a directory of profiles, and report its faults. */
void doctor_path(struct doctor *d, const char *path);

#endif
