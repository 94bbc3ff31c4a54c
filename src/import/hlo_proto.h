/*
 * hlo_proto.h - a compiled program that XLA has dumped (`*.hlo.pb`): an HloProto, or an
 * HloModuleProto alone, as an XSpace that carries it. Graph viewer and memory viewer then show it
 * as they show the programs of a profile.
 */
#ifndef SS_IMPORT_HLO_PROTO_H
#define SS_IMPORT_HLO_PROTO_H

#include "base/buf.h"
#include "base/err.h"

/* Append the XSpace. SS_EFORMAT when it holds no module with a name and computations. */
bool ss_hlo_proto_read(struct ss_str bytes, struct ss_buf *space, struct ss_err *err);

#endif
