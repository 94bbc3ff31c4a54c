/* unpack.h - small packed files: all of their bytes, in memory of exactly that size. */
#ifndef SS_LEGACY_FILES_UNPACK_H
#define SS_LEGACY_FILES_UNPACK_H

#include "base/arena.h"
#include "base/err.h"

/*
 * Bytes that are no gzip are given back as they are; files packed twice are unpacked twice. In `arena`,
 * at most a mebibyte and 300 times the packed size, and what a hold of the arena bears. SS_EFORMAT when
 * it is damaged or longer than the former, SS_ENOMEM when it is longer than the latter.
 */
bool ss_unpack(struct ss_str bytes, struct ss_arena *arena, struct ss_str *out, struct ss_err *err);

#endif
