/*
 * spill.h - data of this program that is too large for memory: it is written to a file without a
 * name and mapped like any other file, so that unread bytes take no memory (ss_file_forget).
 *
 * The file is in $TMPDIR, else in /var/tmp, which is on a disk even where /tmp is memory. No other
 * process can open it, and it disappears when it is closed or the program ends.
 */
#ifndef SS_BASE_SPILL_H
#define SS_BASE_SPILL_H

#include "base/buf.h"
#include "base/file.h"

/*
 * `bytes` become the file's and are freed. False: the file cannot be made (no space, no
 * permission), and `bytes` are unchanged.
 */
bool ss_spill(struct ss_file *f, struct ss_buf *bytes);

#endif
