/*
 * number.h - doubles as text, with the fewest digits that read back the same.
 */
#ifndef SS_EMIT_NUMBER_H
#define SS_EMIT_NUMBER_H

#include <stddef.h>

/* Room for any number, and a NUL. */
#define SS_NUMBER_BYTES 40

/*
 * Print a finite number with the first of "%.15g", "%.16g" and "%.17g" that reads back as the same
 * number, without a NUL. Returns the length.
 */
size_t ss_put_number(char *out, double v);

#endif
