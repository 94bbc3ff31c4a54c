/*
 * write.h - what every writer of files does: all bytes, and the directories above. It needs nothing
 * but the C library, so that libsstrace has it, too.
 */
#ifndef SS_BASE_WRITE_H
#define SS_BASE_WRITE_H

#include <stdbool.h>
#include <stddef.h>

/* All of it, in as many pieces as the system takes; false: errno says why. */
bool ss_write_all(int fd, const void *bytes, size_t n);
/*
 * Make the directories that end at a slash of the path. *made, unless NULL, counts those that are new.
 * False: errno says why, and the path ends with the directory that could not be made.
 */
bool ss_make_dirs_above(char *path, unsigned *made);

#endif
