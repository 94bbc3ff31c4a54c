/*
 * fingerprint.h - FarmHash's Fingerprint64: a hash of bytes that is the same on all machines and in
 * all versions. It is for values that other programs compare; our own tables use hash.h, which has
 * a seed.
 */
#ifndef SS_BASE_FINGERPRINT_H
#define SS_BASE_FINGERPRINT_H

#include "base/str.h"

uint64_t ss_fingerprint64(struct ss_str bytes);

#endif
