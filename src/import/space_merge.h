/*
 * space_merge.h - several XSpaces, one after the other in one buffer, become one.
 *
 * Bytes of one after the other are an XSpace already. But a plane that stands in several of them is
 * one plane, and a line in several parts of a plane is one line: then their names are unified.
 */
#ifndef SS_IMPORT_SPACE_MERGE_H
#define SS_IMPORT_SPACE_MERGE_H

#include "base/buf.h"

/*
 * `first_end`: where the first XSpace in *space ends; two planes of one name in it stay two. *over
 * says that the result takes more than the hold of *space allows: then it is left as it was. False
 * when memory is out.
 */
bool ss_space_merge(struct ss_buf *space, size_t first_end, bool *over, struct ss_err *err);

#endif
