/*
 * number.h - doubles as text, with the fewest digits that read back the same.
 */
#ifndef SS_EMIT_NUMBER_H
#define SS_EMIT_NUMBER_H

#include <stddef.h>

/* Room for any number, and a NUL. */
#define SS_NUMBER_BYTES 40

/*
 * As "%.15g", "%.16g" or "%.17g" print a finite number, whichever is the first to read back the
 * same, without a NUL. Returns the length.
 */
size_t ss_put_number(char *out, double v);

#endif
