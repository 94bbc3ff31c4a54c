/*
 * highway.h - HighwayHash with 64 bits: the checksum of Riegeli's blocks and chunks. It is fast,
 * and does not protect against an attacker who knows the key.
 */
#ifndef SS_WIRE_HIGHWAY_H
#define SS_WIRE_HIGHWAY_H

#include "base/str.h"

uint64_t ss_highway64(const uint64_t key[4], struct ss_str bytes);

#endif
