/*
 * thrift.h - writing structs of Thrift's compact protocol, as the metadata of Parquet are. A struct
 * is begun and ended; its fields are written by ascending number. Failure is sticky in the buffer.
 */
#ifndef SS_EXPORT_THRIFT_H
#define SS_EXPORT_THRIFT_H

#include "base/buf.h"

#define SS_THRIFT_DEPTH 8u

struct ss_thrift {
	struct ss_buf *b;
	int last[SS_THRIFT_DEPTH];	/* field of each open struct */
	unsigned depth;			/* of open structs, the outermost is 0 */
};

void ss_thrift_i32(struct ss_thrift *t, int field, int32_t v);
void ss_thrift_i64(struct ss_thrift *t, int field, int64_t v);
void ss_thrift_binary(struct ss_thrift *t, int field, struct ss_str v);
/*
 * A list of n; its elements follow: structs between begin and end, or the functions without a
 * field.
 */
enum ss_thrift_type { SS_THRIFT_I32 = 5, SS_THRIFT_BINARY = 8, SS_THRIFT_STRUCT = 12 };
void ss_thrift_list(struct ss_thrift *t, int field, enum ss_thrift_type type, size_t n);
void ss_thrift_element_i32(struct ss_thrift *t, int32_t v);
void ss_thrift_element_binary(struct ss_thrift *t, struct ss_str v);
/* A struct as a field, or field 0: as an element of a list. */
void ss_thrift_begin(struct ss_thrift *t, int field);
void ss_thrift_end(struct ss_thrift *t);

#endif
