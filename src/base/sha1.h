/* sha1.h - SHA-1, for names that other programs give their files. It is not used for protection. */
#ifndef SS_BASE_SHA1_H
#define SS_BASE_SHA1_H

#include "base/str.h"

#define SS_SHA1_HEX_BYTES 41

/* In hexadecimal digits, with a NUL. */
void ss_sha1_hex(struct ss_str s, char hex[SS_SHA1_HEX_BYTES]);

#endif
