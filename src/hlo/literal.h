/*
 * literal.h - constants of HLO programs as text: 1.5, {1, 2}, { { 1, 2 }, { 3, 4 } }, ( 1, {2, 3}
 * ).
 */
#ifndef SS_HLO_LITERAL_H
#define SS_HLO_LITERAL_H

#include "base/buf.h"

/*
 * Prints a serialized LiteralProto. `most` bounds the number of printed elements: larger literals,
 * and with a bound all tuples, are "{...}"; so are literals whose data do not fit their shape.
 * UINT64_MAX prints everything. False when memory is out.
 */
bool ss_hlo_literal_print(struct ss_buf *b, struct ss_str literal, uint64_t max);

/* A text between quotes, as C would write it: \n \r \t \" \' \\ and three octal digits. */
void ss_hlo_print_escaped(struct ss_buf *b, struct ss_str s);

#endif
