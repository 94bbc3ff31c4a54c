/*
 * hold.h - a bound on the memory that the content of files takes.
 *
 * A compressed file of some megabytes can decompress to gigabytes. The content of a file (its
 * decompressed bytes, the events that are read from them) may take SS_HOLD_PER_FILE_BYTE bytes for
 * each byte of the file. Memory beyond that comes from one budget of the whole process, for all
 * open files together. This file counts memory and does not allocate it.
 */
#ifndef SS_BASE_HOLD_H
#define SS_BASE_HOLD_H

#include "base/err.h"
#include "base/str.h"

#include <stddef.h>
#include <stdint.h>

/* Real profiles reach 6 for decompressed XSpaces with their events, and 12 for traces in JSON. */
#define SS_HOLD_PER_FILE_BYTE 24
#define SS_HOLD_BUDGET_BYTES ((uint64_t)64 << 20)

/*
 * The memory that one file holds. Any number of threads may use one; NULL stands for a file without a
 * bound.
 */
struct ss_hold;

/* NULL when memory is out. */
struct ss_hold *ss_hold_open(uint64_t file_bytes);
/* Give everything back; NULL is allowed. */
void ss_hold_close(struct ss_hold *h);
/* False if that exceeds the bound; nothing is counted then. */
bool ss_hold_take(struct ss_hold *h, uint64_t bytes);
void ss_hold_give(struct ss_hold *h, uint64_t bytes);
/* Report that this file needs too much memory, and what to do. */
bool ss_hold_fail(struct ss_str file, struct ss_err *err);
/* Bytes of the budget that are in use. */
uint64_t ss_hold_spent_bytes(void);

#endif
