/*
 * spill.h - bytes that this program made and that are too many for memory: they go to a file without a
 * name, which is mapped like any other, so that bytes that are not read take no memory
 * (ss_file_forget).
 *
 * * * The file stands in $TMPDIR, else in /var/tmp, which is on a disk where /tmp is memory; no other
 * process can open it, and it disappears when it is closed or the program ends.
 */
#ifndef SS_BASE_SPILL_H
#define SS_BASE_SPILL_H

#include "base/buf.h"
#include "base/file.h"

/*
 * `bytes` become the file's and are freed. False: there is no such file to be had (no room, no
 * right to write), and `bytes` are as they were.
 */
bool ss_spill(struct ss_file *f, struct ss_buf *bytes);

#endif
