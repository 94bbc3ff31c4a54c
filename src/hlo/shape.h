/*
 * shape.h - shapes of HLO values: element type, dimensions and layout in memory; or a tuple of
 * shapes.
 *
 * A shape is passed as its serialized ShapeProto and read where it stands.
 */
#ifndef SS_HLO_SHAPE_H
#define SS_HLO_SHAPE_H

#include "base/buf.h"
#include "hlo/hlo.h"

/* PrimitiveType: the number in protos, the name in texts, bits of an element (0: it has no size). */
#define SS_HLO_TYPES(TYPE)                                                                        \
	TYPE(INVALID, 0, "invalid", 0) TYPE(PRED, 1, "pred", 8) TYPE(S8, 2, "s8", 8)              \
	TYPE(S16, 3, "s16", 16) TYPE(S32, 4, "s32", 32) TYPE(S64, 5, "s64", 64)                   \
	TYPE(U8, 6, "u8", 8) TYPE(U16, 7, "u16", 16) TYPE(U32, 8, "u32", 32)                      \
	TYPE(U64, 9, "u64", 64) TYPE(F16, 10, "f16", 16) TYPE(F32, 11, "f32", 32)                 \
	TYPE(F64, 12, "f64", 64) TYPE(TUPLE, 13, "tuple", 0) TYPE(OPAQUE, 14, "opaque", 0)        \
	TYPE(C64, 15, "c64", 64) TYPE(BF16, 16, "bf16", 16) TYPE(TOKEN, 17, "token", 0)           \
	TYPE(C128, 18, "c128", 128) TYPE(F8E5M2, 19, "f8e5m2", 8)                                 \
	TYPE(F8E4M3FN, 20, "f8e4m3fn", 8) TYPE(S4, 21, "s4", 4) TYPE(U4, 22, "u4", 4)             \
	TYPE(F8E4M3B11FNUZ, 23, "f8e4m3b11fnuz", 8) TYPE(F8E5M2FNUZ, 24, "f8e5m2fnuz", 8)         \
	TYPE(F8E4M3FNUZ, 25, "f8e4m3fnuz", 8) TYPE(S2, 26, "s2", 2) TYPE(U2, 27, "u2", 2)         \
	TYPE(F8E4M3, 28, "f8e4m3", 8) TYPE(F8E3M4, 29, "f8e3m4", 8) TYPE(S1, 30, "s1", 1)         \
	TYPE(U1, 31, "u1", 1) TYPE(F4E2M1FN, 32, "f4e2m1fn", 4)                                   \
	TYPE(F8E8M0FNU, 33, "f8e8m0fnu", 8) TYPE(BUFFER, 34, "buffer", 0)                         \
	TYPE(F6E3M2FN, 35, "f6e3m2fn", 6) TYPE(F6E2M3FN, 36, "f6e2m3fn", 6)

enum ss_hlo_type {
#define TYPE(id, number, name, bits) SS_HLO_##id = number,
	SS_HLO_TYPES(TYPE)
#undef TYPE
	SS_HLO_TYPE_COUNT_
};

const char *ss_hlo_type_name(uint64_t type);	/* "invalid" for unknown numbers */
unsigned ss_hlo_type_bits(uint64_t type);

uint64_t ss_hlo_shape_type(struct ss_str shape);
uint32_t ss_hlo_shape_rank(struct ss_str shape);
/* Number of elements of an array, UINT64_MAX when it has more. */
uint64_t ss_hlo_shape_elements(struct ss_str shape);
/*
 * Bytes without tiling and padding: elements times bytes of one (at least one), or times the bits
 * that the layout gives each, rounded up; of a tuple 8 for each element, its table of pointers.
 * Saturates at INT64_MAX.
 */
int64_t ss_hlo_shape_bytes(struct ss_str shape);
/* Element of a tuple, empty when it has not so many. Linear in `i`. */
struct ss_str ss_hlo_tuple_at(struct ss_str shape, uint64_t i);

/* The shape as the compiler prints it: "f32[2,3]{1,0:T(8,128)}", "(f32[], s32[4]{0})"; without layouts "f32[2,3]". */
void ss_hlo_shape_print(struct ss_buf *b, struct ss_str shape, bool layouts);

#endif
