/*
 * zip.h - zip archives, 64-bit ones too: members that are stored, deflated or packed with zstd.
 * Encrypted members, links and other methods are named.
 */
#ifndef SS_WIRE_ZIP_H
#define SS_WIRE_ZIP_H

#include "wire/archive.h"

bool ss_zip_is(struct ss_str bytes);
/*
 * All members, as the directory at the end lists them; where that is missing, those whose headers
 * are found from the beginning on. False when memory is out, or a member's bytes were refused: then
 * err is as it was.
 */
bool ss_zip_read(struct ss_str bytes, const struct ss_members *to, struct ss_err *err);

#endif
