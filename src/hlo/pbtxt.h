/*
 * pbtxt.h - a serialized HloProto in protobuf's text form.
 */
#ifndef SS_HLO_PBTXT_H
#define SS_HLO_PBTXT_H

#include "base/buf.h"

/*
 * Print the fields in the order of their bytes, by number, without unknown fields, and malformed
 * messages up to the damage. XProf's answer goes through the compiler's own structures and so also
 * holds members that those always have (an empty frontend_attributes in every instruction).
 */
void ss_hlo_pbtxt(struct ss_buf *b, struct ss_str hlo_proto);

#endif
