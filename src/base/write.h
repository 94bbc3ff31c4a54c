/*
 * write.h - shared code of all writers of files: write all bytes, and make the directories above.
 * It needs only the C library, so that libsstrace can use it.
 */
#ifndef SS_BASE_WRITE_H
#define SS_BASE_WRITE_H

#include <stdbool.h>
#include <stddef.h>

/* Write all bytes, in as many calls as needed; false: errno has the reason. */
bool ss_write_all(int fd, const void *bytes, size_t n);
/*
 * Make the directories that end at a slash of the path. *made, unless NULL, counts those that are new.
 * False: errno says why, and the path ends with the directory that could not be made.
 */
bool ss_make_dirs_above(char *path, unsigned *made);

#endif
