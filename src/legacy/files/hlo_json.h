/*
 * hlo_json.h - a compiled program with its buffers in JSON (`*.memory_viewer.json`): the HloProto
 * that older tools wrote for a viewer in the browser, as an XSpace that carries it.
 */
#ifndef SS_LEGACY_FILES_HLO_JSON_H
#define SS_LEGACY_FILES_HLO_JSON_H

#include "base/buf.h"
#include "wire/json_tree.h"

/* Is this text such a program? Tells by its beginning. */
bool ss_hlo_json_is(struct ss_str text);
/*
 * Append the XSpace: a plane of programs with this one. Members that the schema does not know, and
 * texts of bytes, are left out. SS_EFORMAT when it is not JSON, or no program.
 */
bool ss_hlo_json_read(struct ss_str text, struct ss_buf *space, struct ss_err *err);

/*
 * Append an XSpace with one program, an HloProto, as XProf stores programs: a plane /host:metadata.
 */
void ss_hlo_put_space(struct ss_buf *space, struct ss_str name, int64_t id, struct ss_str program);

#endif
