/*
 * field.h - single fields of a message, each found by a walk over it: for messages of which few
 * fields are needed.
 */
#ifndef SS_HLO_FIELD_H
#define SS_HLO_FIELD_H

#include "base/buf.h"
#include "hlo/hlo.h"

/* The last value of a field, 0 where there is none. */
uint64_t ss_hlo_field_u64(struct ss_str body, uint32_t number);
double ss_hlo_field_f64(struct ss_str body, uint32_t number);
/* False, and *bytes as it was, where there is none. */
bool ss_hlo_field(struct ss_str body, uint32_t number, struct ss_str *bytes);
bool ss_hlo_has(struct ss_str body, uint32_t number); /* of any type */
/* Each occurrence of a message or string in turn. */
bool ss_hlo_next_field(struct ss_pb *c, uint32_t number, struct ss_str *bytes);

/* "1,2,3" of a repeated integer. */
void ss_hlo_print_ints(struct ss_buf *b, struct ss_str body, uint32_t number);

#endif
