/*
 * literal.c - printing literals.
 *
 * Numbers are printed with as few digits as their type can tell apart: f32 and f64 with 6 and 15
 * where those read back the same, else 9 and 17; smaller types with what their mantissa needs.
 */
#include "hlo/literal.h"

#include "hlo/shape.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define MAX_RANK 64

enum storage { VARINTS, FIXED32, FIXED64, BYTES1, BYTES2 };

/* A small float: sign, exponent, mantissa from the top; digits that tell its values apart. */
struct small_float {
	uint8_t exp_bits, mant_bits;
	int16_t bias;
	uint8_t digits;
	bool has_inf;		/* exponent all ones is infinity or NaN */
	bool nan_all_ones;	/* only all ones is NaN */
	bool nan_is_minus_zero;	/* only minus zero is NaN */
};

/* The field of a LiteralProto that holds the data of a type, and its encoding. */
static const struct type {
	uint8_t field, storage;
	bool is_signed, is_float, is_complex;
	uint8_t bits;
	struct small_float f;
} types[] = {
	[SS_HLO_PRED] = { 2, VARINTS, .bits = 1 },
	[SS_HLO_S1] = { 30, BYTES1, .is_signed = true, .bits = 1 },
	[SS_HLO_S2] = { 26, BYTES1, .is_signed = true, .bits = 2 },
	[SS_HLO_S4] = { 21, BYTES1, .is_signed = true, .bits = 4 },
	[SS_HLO_S8] = { 15, BYTES1, .is_signed = true, .bits = 8 },
	[SS_HLO_S16] = { 17, BYTES2, .is_signed = true, .bits = 16 },
	[SS_HLO_S32] = { 4, VARINTS, .is_signed = true, .bits = 32 },
	[SS_HLO_S64] = { 5, VARINTS, .is_signed = true, .bits = 64 },
	[SS_HLO_U1] = { 31, BYTES1, .bits = 1 },
	[SS_HLO_U2] = { 27, BYTES1, .bits = 2 },
	[SS_HLO_U4] = { 22, BYTES1, .bits = 4 },
	[SS_HLO_U8] = { 3, BYTES1, .bits = 8 },
	[SS_HLO_U16] = { 16, BYTES2, .bits = 16 },
	[SS_HLO_U32] = { 6, VARINTS, .bits = 32 },
	[SS_HLO_U64] = { 7, VARINTS, .bits = 64 },
	[SS_HLO_F32] = { 8, FIXED32, .is_float = true, .bits = 32 },
	[SS_HLO_F64] = { 9, FIXED64, .is_float = true, .bits = 64 },
	[SS_HLO_C64] = { 12, FIXED32, .is_float = true, .is_complex = true, .bits = 32 },
	[SS_HLO_C128] = { 18, FIXED64, .is_float = true, .is_complex = true, .bits = 64 },
	[SS_HLO_F16] = { 11, BYTES2, .is_float = true, .bits = 16, .f = { 5, 10, 15, 5, .has_inf = true } },
	[SS_HLO_BF16] = { 13, BYTES2, .is_float = true, .bits = 16, .f = { 8, 7, 127, 4, .has_inf = true } },
	[SS_HLO_F8E5M2] = { 19, BYTES1, .is_float = true, .bits = 8, .f = { 5, 2, 15, 2, .has_inf = true } },
	[SS_HLO_F8E4M3] = { 28, BYTES1, .is_float = true, .bits = 8, .f = { 4, 3, 7, 3, .has_inf = true } },
	[SS_HLO_F8E3M4] = { 29, BYTES1, .is_float = true, .bits = 8, .f = { 3, 4, 3, 3, .has_inf = true } },
	[SS_HLO_F8E4M3FN] = { 20, BYTES1, .is_float = true, .bits = 8, .f = { 4, 3, 7, 3, .nan_all_ones = true } },
	[SS_HLO_F8E4M3B11FNUZ] = { 23, BYTES1, .is_float = true, .bits = 8, .f = { 4, 3, 11, 3, .nan_is_minus_zero = true } },
	[SS_HLO_F8E4M3FNUZ] = { 25, BYTES1, .is_float = true, .bits = 8, .f = { 4, 3, 8, 3, .nan_is_minus_zero = true } },
	[SS_HLO_F8E5M2FNUZ] = { 24, BYTES1, .is_float = true, .bits = 8, .f = { 5, 2, 16, 2, .nan_is_minus_zero = true } },
	[SS_HLO_F4E2M1FN] = { 32, BYTES1, .is_float = true, .bits = 4, .f = { 2, 1, 1, 2, .has_inf = false } },
	[SS_HLO_F6E3M2FN] = { 35, BYTES1, .is_float = true, .bits = 6, .f = { 3, 2, 3, 2, .has_inf = false } },
	[SS_HLO_F6E2M3FN] = { 36, BYTES1, .is_float = true, .bits = 6, .f = { 2, 3, 1, 3, .has_inf = false } },
	/* A power of two alone: no sign, no mantissa. */
	[SS_HLO_F8E8M0FNU] = { 33, BYTES1, .is_float = true, .bits = 8, .f = { 8, 0, 127, 2, .nan_all_ones = true } },
};

struct literal {
	const struct type *type;
	uint64_t *data;		/* bits of each number, in the order of memory */
	uint64_t n;
	uint32_t rank;
	int64_t dims[MAX_RANK];
	int64_t strides[MAX_RANK]; /* in elements, by dimension */
	bool in_array;
};

static double small_value(const struct type *t, uint64_t bits)
{
	const struct small_float *f = &t->f;
	uint64_t mant = bits & ((1u << f->mant_bits) - 1), exp = bits >> f->mant_bits & ((1u << f->exp_bits) - 1);
	uint64_t top = (1u << f->exp_bits) - 1, all = (1u << (f->exp_bits + f->mant_bits)) - 1;
	bool negative = f->mant_bits && (bits >> (f->exp_bits + f->mant_bits) & 1);
	if (f->has_inf && exp == top)
		return mant ? (negative ? -(double)NAN : (double)NAN) : (negative ? -(double)INFINITY : (double)INFINITY);
	if ((f->nan_all_ones && (bits & all) == all) || (f->nan_is_minus_zero && negative && !(bits & all)))
		return negative && !f->nan_is_minus_zero ? -(double)NAN : (double)NAN;
	double v = exp || !f->mant_bits ? ldexp(1.0 + (double)mant / (double)(1u << f->mant_bits), (int)exp - f->bias) :
					  ldexp((double)mant / (double)(1u << f->mant_bits), 1 - f->bias);
	return negative ? -v : v;
}

static void print_float(struct ss_buf *b, const struct type *t, uint64_t bits)
{
	char text[320];
	double v = t->bits == 64 ? ss_pb_double(bits) : 0;
	float single;
	uint32_t low = (uint32_t)bits;
	memcpy(&single, &low, sizeof(single));
	if (t->bits < 32)
		v = small_value(t, bits);
	else if (t->bits == 32)
		v = (double)single;
	if (isnan(v) || isinf(v)) {
		ss_buf_z(b, isnan(v) ? (signbit(v) ? "-nan" : "nan") : v < 0 ? "-inf" : "inf");
		return;
	}
	if (t->bits < 32) {
		snprintf(text, sizeof(text), "%.*g", t->f.digits, v);
	} else if (t->bits == 32) {
		snprintf(text, sizeof(text), "%.6g", v);
		if (strtof(text, NULL) != single)
			snprintf(text, sizeof(text), "%.9g", v);
	} else {
		snprintf(text, sizeof(text), "%.15g", v);
		if (strtod(text, NULL) != v)
			snprintf(text, sizeof(text), "%.17g", v);
	}
	ss_buf_z(b, text);
}

static void print_integer(struct ss_buf *b, const struct type *t, uint64_t bits)
{
	unsigned unused = 64u - t->bits;
	if (t->is_signed)
		ss_buf_i64(b, (int64_t)(bits << unused) >> unused);
	else
		ss_buf_u64(b, bits << unused >> unused);
}

static void print_element(struct ss_buf *b, const struct literal *l, uint64_t i)
{
	const struct type *t = l->type;
	if (t->is_complex) {
		ss_buf_char(b, '(');
		print_float(b, t, l->data[2 * i]);
		ss_buf_lit(b, ", ");
		print_float(b, t, l->data[2 * i + 1]);
		ss_buf_char(b, ')');
	} else if (t->is_float) {
		print_float(b, t, l->data[i]);
	} else if (t->field == LITERAL_PREDS && !l->in_array) {
		ss_buf_z(b, l->data[i] ? "true" : "false");
	} else if (t->field == LITERAL_PREDS) {
		ss_buf_char(b, l->data[i] ? '1' : '0');
	} else {
		print_integer(b, t, l->data[i]);
	}
}

/* From rank 4 on the outer dimensions but the first carry their number. */
static void open_brace(struct ss_buf *b, const struct literal *l, uint32_t dim, int64_t number)
{
	ss_buf_char(b, '{');
	if (l->rank == 1)
		return;
	if (dim + 1 == l->rank) {
		if (l->dims[dim] > 1)
			ss_buf_char(b, ' ');
		return;
	}
	bool numbered = l->rank > 3 && dim > 0;
	if (numbered)
		ss_buf_printf(b, " /*i%u=%lld*/", dim - 1, (long long)number);
	if (!numbered || l->dims[dim])
		ss_buf_char(b, ' ');
}

static void close_brace(struct ss_buf *b, const struct literal *l, uint32_t dim)
{
	if (l->rank > 1 && (dim + 1 < l->rank || l->dims[dim] > 1))
		ss_buf_char(b, ' ');
	ss_buf_char(b, '}');
}

/* Recursion is as deep as the rank. */
static void print_dim(struct ss_buf *b, const struct literal *l, uint32_t dim, uint64_t at, int64_t number)
{
	if (dim == l->rank) {
		print_element(b, l, at);
		return;
	}
	open_brace(b, l, dim, number);
	for (int64_t i = 0; i < l->dims[dim] && !b->over && !b->no_memory; i++) {
		if (i)
			ss_buf_lit(b, ", ");
		print_dim(b, l, dim + 1, at + (uint64_t)i * (uint64_t)l->strides[dim], i);
	}
	close_brace(b, l, dim);
}

/* Dimensions and, by the layout, how far their neighbours are apart. False for what does not fit. */
static bool read_dims(struct literal *l, struct ss_str shape, uint64_t elements)
{
	struct ss_hlo_ids it = ss_hlo_ids_of(shape, SHAPE_DIMENSIONS);
	struct ss_pb c = ss_pb_of(shape);
	struct ss_pb_field f;
	struct ss_str layout = { "", 0 };
	int64_t v, step = 1;
	uint32_t done = 0;
	bool seen[MAX_RANK] = { false };
	while (ss_hlo_ids_next(&it, &v)) {
		if (l->rank == MAX_RANK || v < 0)
			return false;
		l->dims[l->rank++] = v;
	}
	while (ss_pb_next(&c, &f))
		if (f.key == PB_LEN(SHAPE_LAYOUT))
			layout = f.bytes;
	it = ss_hlo_ids_of(layout, LAYOUT_MINOR_TO_MAJOR);
	for (; ss_hlo_ids_next(&it, &v); done++) {
		if (v < 0 || v >= l->rank || seen[v])
			return false;
		seen[v] = true;
		l->strides[v] = step;
		step = elements ? step * l->dims[v] : 1;
	}
	/* Without a layout the last dimension is the minor one. */
	for (uint32_t i = l->rank; done == 0 && i-- > 0; step = elements ? step * l->dims[i] : 1)
		l->strides[i] = step;
	return done == 0 || done == l->rank;
}

/* Count the numbers (without `data`), or store them. Repeated fields may be packed or not. */
static uint64_t read_data(const struct type *t, struct ss_str literal, uint64_t *data)
{
	struct ss_pb c = ss_pb_of(literal), inner;
	struct ss_pb_field f;
	uint64_t n = 0, v;
	size_t width = t->storage == FIXED64 ? 8 : t->storage == FIXED32 ? 4 : t->storage == BYTES2 ? 2 : 1;
	while (ss_pb_next(&c, &f)) {
		if (f.key >> 3 != t->field)
			continue;
		if ((f.key & 7) != 2) {
			if (data)
				data[n] = f.u;
			n++;
		} else if (t->storage == VARINTS) {
			inner = ss_pb_of(f.bytes);
			for (; inner.at != inner.end && ss_pb_varint(&inner.at, inner.end, &v); n++)
				if (data)
					data[n] = v;
		} else {
			for (size_t i = 0; i + width <= f.bytes.n; i += width, n++) {
				v = 0;
				memcpy(&v, f.bytes.p + i, width);
				if (data)
					data[n] = v;
			}
		}
	}
	return n;
}

static bool print_array(struct ss_buf *b, struct ss_str literal, struct ss_str shape, uint64_t max)
{
	uint64_t number = ss_hlo_shape_type(shape), elements = ss_hlo_shape_elements(shape);
	struct literal l = { .type = number < SS_COUNT(types) ? &types[number] : &types[0] };
	if (!l.type->field || elements > max) {
		ss_buf_lit(b, "{...}");
		return true;
	}
	l.n = read_data(l.type, literal, NULL);
	if (l.n / (l.type->is_complex ? 2 : 1) != elements || !read_dims(&l, shape, elements)) {
		ss_buf_lit(b, "{...}");
		return true;
	}
	l.data = malloc((size_t)(l.n + 1) * sizeof(*l.data));
	if (!l.data)
		return false;
	read_data(l.type, literal, l.data);
	l.in_array = l.rank > 0;
	print_dim(b, &l, 0, 0, 0);
	free(l.data);
	return true;
}

static struct ss_str shape_of(struct ss_str literal)
{
	struct ss_pb c = ss_pb_of(literal);
	struct ss_pb_field f;
	struct ss_str shape = { "", 0 };
	while (ss_pb_next(&c, &f))
		if (f.key == PB_LEN(LITERAL_SHAPE))
			shape = f.bytes;
	return shape;
}

static bool print(struct ss_buf *b, struct ss_str literal, uint64_t max, int depth)
{
	struct ss_str shape = shape_of(literal);
	if (ss_hlo_shape_type(shape) != SS_HLO_TUPLE)
		return print_array(b, literal, shape, max);
	if (max != UINT64_MAX || depth > 100) {
		ss_buf_lit(b, "{...}");
		return true;
	}
	struct ss_pb c = ss_pb_of(literal);
	struct ss_pb_field f;
	const char *open = "( ";
	while (ss_pb_next(&c, &f)) {
		if (f.key != PB_LEN(LITERAL_TUPLE))
			continue;
		ss_buf_z(b, open);
		open = ", ";
		if (!print(b, f.bytes, max, depth + 1))
			return false;
	}
	ss_buf_z(b, *open == ',' ? " )" : "()");
	return true;
}

bool ss_hlo_literal_print(struct ss_buf *b, struct ss_str literal, uint64_t max)
{
	return print(b, literal, max, 0);
}

void ss_hlo_print_escaped(struct ss_buf *b, struct ss_str s)
{
	static const char from[] = "\n\r\t\"'\\", to[] = "nrt\"'\\";
	size_t run = 0;
	for (size_t i = 0; i < s.n; i++) {
		unsigned char c = (unsigned char)s.p[i];
		const char *at = c ? strchr(from, c) : NULL;
		if (!at && c >= 0x20 && c < 0x7f)
			continue;
		ss_buf_str(b, ss_str_sub(s, run, i));
		run = i + 1;
		if (at)
			ss_buf_printf(b, "\\%c", to[at - from]);
		else
			ss_buf_printf(b, "\\%03o", c);
	}
	ss_buf_str(b, ss_str_sub(s, run, s.n));
}
