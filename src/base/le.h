/* le.h - numbers as little-endian files have them, and back. */
#ifndef SS_BASE_LE_H
#define SS_BASE_LE_H

#include <stdint.h>

static inline uint32_t ss_le32(uint32_t v)
{
	return __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? v : __builtin_bswap32(v);
}

static inline uint64_t ss_le64(uint64_t v)
{
	return __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? v : __builtin_bswap64(v);
}

#endif
