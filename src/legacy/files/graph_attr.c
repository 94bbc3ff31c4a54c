/* graph_attr.c - attributes of TensorFlow nodes as texts for people, see graphdef.h. */
#include "legacy/files/graphdef.h"

#include "base/buf.h"

enum {
	VALUE_LIST = 1,
	VALUE_S = 2,
	VALUE_I = 3,
	VALUE_F = 4,
	VALUE_B = 5,
	VALUE_TYPE = 6,
	VALUE_SHAPE = 7,
	VALUE_TENSOR = 8,
	VALUE_PLACEHOLDER = 9,
	VALUE_FUNC = 10,
	LIST_FUNC = 9,		/* all else has the same numbers in a list */
	FUNC_NAME = 1,
	SHAPE_DIM = 2,
	SHAPE_UNKNOWN_RANK = 3,
	DIM_SIZE = 1,
	TENSOR_DTYPE = 1,
	TENSOR_SHAPE = 2,
	TENSOR_CONTENT = 4,
	TENSOR_FLOAT_VAL = 5,
	TENSOR_DOUBLE_VAL = 6,
	TENSOR_INT_VAL = 7,
	TENSOR_STRING_VAL = 8,
	TENSOR_INT64_VAL = 10,
	TENSOR_BOOL_VAL = 11,
};

/* Of types.proto; references are a hundred more. */
enum { DT_FLOAT = 1, DT_DOUBLE = 2, DT_INT32 = 3, DT_INT64 = 9, DT_BOOL = 10, DT_REF = 100 };

enum {
	TEXT_BYTES = 2000,	/* of one attribute */
	STRING_BYTES = 120,	/* of one text in it */
	LIST_ITEMS = 64,
	TENSOR_ITEMS = 8,
};

/* "float32" of a DataType, NULL if the number has none; *ref: a reference to one. */
static const char *tf_dtype_name(uint64_t dtype, bool *ref)
{
	static const char *const names[] = {
		[1] = "float32", [2] = "float64", [3] = "int32", [4] = "uint8", [5] = "int16", [6] = "int8", [7] = "string",
		[8] = "complex64", [9] = "int64", [10] = "bool", [11] = "qint8", [12] = "quint8", [13] = "qint32",
		[14] = "bfloat16", [15] = "qint16", [16] = "quint16", [17] = "uint16", [18] = "complex128", [19] = "float16",
		[20] = "resource", [21] = "variant", [22] = "uint32", [23] = "uint64", [24] = "float8_e5m2",
		[25] = "float8_e4m3fn", [26] = "float8_e4m3fnuz", [27] = "float8_e4m3b11fnuz", [28] = "float8_e5m2fnuz",
		[29] = "int4", [30] = "uint4", [31] = "int2", [32] = "uint2",
	};
	*ref = dtype > DT_REF;
	if (*ref)
		dtype -= DT_REF;
	return dtype < SS_COUNT(names) ? names[dtype] : NULL;
}

static void put_dtype(struct ss_buf *b, uint64_t dtype)
{
	bool ref;
	const char *name = tf_dtype_name(dtype, &ref);
	if (!name) {
		ss_buf_lit(b, "type ");
		ss_buf_u64(b, dtype);
		return;
	}
	ss_buf_z(b, name);
	if (ref)
		ss_buf_lit(b, "_ref");
}

static void put_string(struct ss_buf *b, struct ss_str s)
{
	ss_buf_json_str(b, ss_str_sub(s, 0, STRING_BYTES));
	if (s.n > STRING_BYTES)
		ss_buf_lit(b, "…");
}

static void put_float(struct ss_buf *b, uint64_t bits)
{
	uint32_t low = (uint32_t)bits;
	float f;
	memcpy(&f, &low, sizeof(f));
	ss_buf_printf(b, "%.7g", (double)f);
}

/* "[?,28,28,1]"; "unknown" for an unknown rank. */
static void put_shape(struct ss_buf *b, struct ss_str shape)
{
	struct ss_pb c = ss_pb_of(shape);
	struct ss_pb_field f;
	size_t n = 0, start = b->n;
	ss_buf_char(b, '[');
	while (ss_pb_next(&c, &f) && n < LIST_ITEMS) {
		if (f.key == PB_VAR(SHAPE_UNKNOWN_RANK) && f.u) {
			if (!b->no_memory && !b->over)
				b->n = start;
			ss_buf_lit(b, "unknown");
			return;
		}
		if (f.key != PB_LEN(SHAPE_DIM))
			continue;
		struct ss_pb d = ss_pb_of(f.bytes);
		int64_t size = 0;
		while (ss_pb_next(&d, &f))
			if (f.key == PB_VAR(DIM_SIZE))
				size = (int64_t)f.u;
		if (n++)
			ss_buf_char(b, ',');
		if (size < 0)
			ss_buf_char(b, '?');
		else
			ss_buf_i64(b, size);
	}
	ss_buf_char(b, ']');
}

/* The values of a tensor that are given as one block of little-endian numbers. */
static void put_content(struct ss_buf *b, uint64_t dtype, struct ss_str content)
{
	size_t size = dtype == DT_BOOL ? 1 : dtype == DT_INT64 || dtype == DT_DOUBLE ? 8 : 4;
	bool known = dtype == DT_FLOAT || dtype == DT_DOUBLE || dtype == DT_INT32 || dtype == DT_INT64 || dtype == DT_BOOL;
	if (!known || content.n < size)
		return;
	ss_buf_lit(b, " {");
	for (size_t i = 0; i < content.n / size && i < TENSOR_ITEMS; i++) {
		uint64_t bits = 0;
		for (size_t k = 0; k < size; k++)
			bits |= (uint64_t)(unsigned char)content.p[i * size + k] << 8 * k;
		if (i)
			ss_buf_lit(b, ", ");
		if (dtype == DT_FLOAT)
			put_float(b, bits);
		else if (dtype == DT_DOUBLE)
			ss_buf_printf(b, "%.15g", ss_pb_double(bits));
		else
			ss_buf_i64(b, dtype == DT_INT32 ? (int64_t)(int32_t)bits : (int64_t)bits);
	}
	ss_buf_z(b, content.n / size > TENSOR_ITEMS ? ", …}" : "}");
}

/* One number of a repeated field of a tensor, whether packed or not. */
static void put_number(struct ss_buf *b, uint32_t field, uint64_t bits, size_t *n)
{
	++*n;
	if (*n > TENSOR_ITEMS + 1)
		return;
	ss_buf_z(b, *n == 1 ? " {" : ", ");
	if (*n > TENSOR_ITEMS)
		ss_buf_lit(b, "…");
	else if (field == TENSOR_FLOAT_VAL)
		put_float(b, bits);
	else if (field == TENSOR_DOUBLE_VAL)
		ss_buf_printf(b, "%.15g", ss_pb_double(bits));
	else
		ss_buf_i64(b, (int64_t)bits);
}

static void put_packed(struct ss_buf *b, uint32_t field, struct ss_str bytes, size_t *n)
{
	size_t size = field == TENSOR_FLOAT_VAL ? 4 : field == TENSOR_DOUBLE_VAL ? 8 : 0;
	const uint8_t *at = (const uint8_t *)(bytes.n ? bytes.p : ""), *end = at + bytes.n;
	while (at < end && *n <= TENSOR_ITEMS) {
		uint64_t bits = 0;
		if (!size && !ss_pb_varint(&at, end, &bits))
			return;
		if (size && (size_t)(end - at) < size)
			return;
		for (size_t k = 0; k < size; k++)
			bits |= (uint64_t)*at++ << 8 * k;
		put_number(b, field, bits, n);
	}
}

/* "float32 [2,3] {1, 2, …}" */
static void put_tensor(struct ss_buf *b, struct ss_str tensor)
{
	struct ss_pb c = ss_pb_of(tensor);
	struct ss_pb_field f;
	struct ss_str shape = SS_STR(""), content = SS_STR("");
	uint64_t dtype = 0;
	size_t n = 0;
	while (ss_pb_next(&c, &f)) {
		if (f.key == PB_VAR(TENSOR_DTYPE))
			dtype = f.u;
		else if (f.key == PB_LEN(TENSOR_SHAPE))
			shape = f.bytes;
		else if (f.key == PB_LEN(TENSOR_CONTENT))
			content = f.bytes;
	}
	put_dtype(b, dtype);
	ss_buf_char(b, ' ');
	put_shape(b, shape);
	put_content(b, dtype, content);
	for (c = ss_pb_of(tensor); ss_pb_next(&c, &f) && n <= TENSOR_ITEMS;) {
		uint32_t field = f.key >> 3;
		bool number = field == TENSOR_FLOAT_VAL || field == TENSOR_DOUBLE_VAL || field == TENSOR_INT_VAL ||
			      field == TENSOR_INT64_VAL || field == TENSOR_BOOL_VAL;
		if (field == TENSOR_STRING_VAL && f.key == PB_LEN(TENSOR_STRING_VAL)) {
			ss_buf_z(b, n++ ? ", " : " {");
			put_string(b, f.bytes);
		} else if (number && f.key == PB_LEN(field)) {
			put_packed(b, field, f.bytes, &n);
		} else if (number) {
			put_number(b, field, f.u, &n);
		}
	}
	if (n)
		ss_buf_char(b, '}');
}

static void put_func(struct ss_buf *b, struct ss_str func)
{
	struct ss_pb c = ss_pb_of(func);
	struct ss_pb_field f;
	ss_buf_lit(b, "function ");
	while (ss_pb_next(&c, &f))
		if (f.key == PB_LEN(FUNC_NAME))
			ss_buf_str(b, ss_str_sub(f.bytes, 0, STRING_BYTES));
}

/* One value; `field` as in AttrValue. False for what is none. */
static bool put_scalar(struct ss_buf *b, const struct ss_pb_field *f)
{
	switch (f->key) {
	case PB_LEN(VALUE_S):
	case PB_LEN(VALUE_PLACEHOLDER):
		put_string(b, f->bytes);
		return true;
	case PB_VAR(VALUE_I):
		ss_buf_i64(b, (int64_t)f->u);
		return true;
	case PB_I32(VALUE_F):
		put_float(b, f->u);
		return true;
	case PB_VAR(VALUE_B):
		ss_buf_z(b, f->u ? "true" : "false");
		return true;
	case PB_VAR(VALUE_TYPE):
		put_dtype(b, f->u);
		return true;
	case PB_LEN(VALUE_SHAPE):
		put_shape(b, f->bytes);
		return true;
	case PB_LEN(VALUE_TENSOR):
		put_tensor(b, f->bytes);
		return true;
	}
	return false;
}

/* A packed list as single values; returns how many were put. */
static size_t put_list_packed(struct ss_buf *b, uint32_t field, struct ss_str bytes, size_t n)
{
	const uint8_t *at = (const uint8_t *)(bytes.n ? bytes.p : ""), *end = at + bytes.n;
	size_t put = 0;
	while (at < end && n + put <= LIST_ITEMS) {
		struct ss_pb_field f = { .key = field == VALUE_F ? PB_I32(VALUE_F) : PB_VAR(field) };
		if (field == VALUE_F) {
			if (end - at < 4)
				break;
			for (unsigned k = 0; k < 4; k++)
				f.u |= (uint64_t)*at++ << 8 * k;
		} else if (!ss_pb_varint(&at, end, &f.u)) {
			break;
		}
		if (n + put)
			ss_buf_lit(b, ", ");
		put_scalar(b, &f);
		put++;
	}
	return put;
}

static void put_list(struct ss_buf *b, struct ss_str list)
{
	struct ss_pb c = ss_pb_of(list);
	struct ss_pb_field f;
	size_t n = 0;
	ss_buf_char(b, '[');
	while (n <= LIST_ITEMS && ss_pb_next(&c, &f)) {
		uint32_t field = f.key >> 3;
		bool packs = field == VALUE_I || field == VALUE_F || field == VALUE_B || field == VALUE_TYPE;
		if (packs && f.key == PB_LEN(field)) {
			n += put_list_packed(b, field, f.bytes, n);
			continue;
		}
		if (n && field >= VALUE_S && field <= LIST_FUNC)
			ss_buf_lit(b, ", ");
		if (f.key == PB_LEN(LIST_FUNC)) {
			put_func(b, f.bytes);
			n++;
		} else {
			n += put_scalar(b, &f);
		}
	}
	ss_buf_z(b, n > LIST_ITEMS ? ", …]" : "]");
}

struct ss_str ss_graph_attr_text(struct ss_str value, struct ss_arena *arena)
{
	struct ss_buf b = { .limit_bytes = TEXT_BYTES };
	struct ss_pb c = ss_pb_of(value);
	struct ss_pb_field f;
	while (ss_pb_next(&c, &f)) {
		if (f.key == PB_LEN(VALUE_LIST))
			put_list(&b, f.bytes);
		else if (f.key == PB_LEN(VALUE_FUNC))
			put_func(&b, f.bytes);
		else
			put_scalar(&b, &f);
	}
	if (!b.over)
		return ss_buf_to_arena(&b, arena);
	struct ss_str text = ss_arena_printf(arena, SS_FMT "…", SS_ARG(ss_buf_get(&b)));
	ss_buf_free(&b);
	return text;
}
