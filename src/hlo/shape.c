/* shape.c - reading and printing shapes. */
#include "hlo/shape.h"

#include "hlo/field.h"

/* Protobuf itself refuses messages that nest deeper; what stands deeper here was written to hurt and is left out. */
#define MAX_DEPTH 100

static const struct {
	const char *name;
	unsigned bits;
} types[] = {
#define TYPE(id, number, type_name, type_bits) [number] = { type_name, type_bits },
	SS_HLO_TYPES(TYPE)
#undef TYPE
};

const char *ss_hlo_type_name(uint64_t type)
{
	return type < SS_COUNT(types) ? types[type].name : types[0].name;
}

unsigned ss_hlo_type_bits(uint64_t type)
{
	return type < SS_COUNT(types) ? types[type].bits : 0;
}

/* The parts of a ShapeProto; tuple shapes by their number only. */
struct parts {
	uint64_t type;
	uint32_t rank, nelements;
	bool has_layout;
	struct ss_str layout;
};

static struct parts read_parts(struct ss_str shape)
{
	struct parts out = { 0 };
	struct ss_pb c = ss_pb_of(shape);
	struct ss_pb_field f;
	while (ss_pb_next(&c, &f))
		switch (f.key) {
		case PB_VAR(SHAPE_ELEMENT_TYPE):
			out.type = f.u;
			break;
		case PB_LEN(SHAPE_TUPLE_SHAPES):
			out.nelements++;
			break;
		case PB_LEN(SHAPE_LAYOUT):
			out.has_layout = true;
			out.layout = f.bytes;
			break;
		}
	struct ss_hlo_ids it = ss_hlo_ids_of(shape, SHAPE_DIMENSIONS);
	int64_t dim;
	while (ss_hlo_ids_next(&it, &dim))
		out.rank++;
	return out;
}

uint64_t ss_hlo_shape_type(struct ss_str shape)
{
	return read_parts(shape).type;
}

uint32_t ss_hlo_shape_rank(struct ss_str shape)
{
	return read_parts(shape).rank;
}

struct ss_str ss_hlo_tuple_at(struct ss_str shape, uint64_t i)
{
	struct ss_pb c = ss_pb_of(shape);
	struct ss_pb_field f;
	while (ss_pb_next(&c, &f))
		if (f.key == PB_LEN(SHAPE_TUPLE_SHAPES) && i-- == 0)
			return f.bytes;
	return (struct ss_str){ "", 0 };
}

uint64_t ss_hlo_shape_elements(struct ss_str shape)
{
	struct ss_hlo_ids it = ss_hlo_ids_of(shape, SHAPE_DIMENSIONS);
	uint64_t n = 1;
	bool over = false;
	int64_t dim;
	while (ss_hlo_ids_next(&it, &dim)) {
		if (dim <= 0)
			return 0;
		over |= n > UINT64_MAX / (uint64_t)dim;
		n *= (uint64_t)dim;
	}
	return over ? UINT64_MAX : n;
}

/* Bits of an element whose layout packs several into a byte, as E(4) does; 0 if it has none. */
static uint64_t packed_bits(struct ss_str layout)
{
	uint64_t bits = ss_hlo_field_u64(layout, LAYOUT_ELEMENT_BITS);
	return bits > INT64_MAX ? 0 : bits;
}

int64_t ss_hlo_shape_bytes(struct ss_str shape)
{
	struct parts p = read_parts(shape);
	if (p.type == SS_HLO_TUPLE)
		return (int64_t)p.nelements * 8;
	uint64_t n = ss_hlo_shape_elements(shape), bits = packed_bits(p.layout);
	uint64_t each = bits ? bits : (ss_hlo_type_bits(p.type) + 7) / 8, unit = bits ? 8 : 1;	/* bits or bytes */
	if (each && n > (uint64_t)INT64_MAX / each)
		return INT64_MAX;
	return (int64_t)(n * each / unit + (n * each % unit != 0));
}

static void print_ids(struct ss_buf *b, struct ss_str message, uint32_t field)
{
	struct ss_hlo_ids it = ss_hlo_ids_of(message, field);
	const char *comma = "";
	int64_t id;
	while (ss_hlo_ids_next(&it, &id)) {
		ss_buf_z(b, comma);
		ss_buf_i64(b, id);
		comma = ",";
	}
}

static void print_shape(struct ss_buf *b, struct ss_str shape, bool layouts, int depth);

/* The part of a layout behind its order: each item brings the colon if it is the first. */
struct items {
	struct ss_buf *b;
	bool colon;
};

static struct ss_buf *item(struct items *it, const char *name)
{
	if (!it->colon)
		ss_buf_char(it->b, ':');
	it->colon = true;
	ss_buf_z(it->b, name);
	return it->b;
}

/* Tiles, one after the other: T(8,128)(2,1). A dimension that joins its neighbour is a star. */
static void print_tiles(struct items *items, struct ss_str layout)
{
	struct ss_pb c = ss_pb_of(layout);
	struct ss_pb_field f;
	const char *name = "T(";
	while (ss_pb_next(&c, &f)) {
		if (f.key != PB_LEN(LAYOUT_TILES))
			continue;
		struct ss_buf *b = item(items, name);
		struct ss_hlo_ids it = ss_hlo_ids_of(f.bytes, TILE_DIMENSIONS);
		const char *comma = "";
		int64_t dim;
		while (ss_hlo_ids_next(&it, &dim)) {
			ss_buf_z(b, comma);
			if (dim == INT64_MIN)
				ss_buf_char(b, '*');
			else
				ss_buf_i64(b, dim);
			comma = ",";
		}
		ss_buf_char(b, ')');
		name = "(";
	}
}

static void print_levels(struct items *items, struct ss_str layout)
{
	static const char letters[] = "DCSH";
	struct ss_hlo_ids it = ss_hlo_ids_of(layout, LAYOUT_LEVEL_TYPES);
	bool sparse = false;
	int64_t level;
	while (ss_hlo_ids_next(&it, &level))
		sparse |= level != 0;
	if (!sparse)
		return;
	struct ss_buf *b = item(items, "D");
	const char *open = "(";
	it = ss_hlo_ids_of(layout, LAYOUT_LEVEL_TYPES);
	while (ss_hlo_ids_next(&it, &level)) {
		ss_buf_z(b, open);
		ss_buf_char(b, level >= 0 && level < 4 ? letters[level] : '?');
		open = ",";
	}
	ss_buf_char(b, ')');
}

/* Members of a layout that are single numbers, in the order of printing. */
struct numbers {
	uint64_t tail_padding, index_type, pointer_type, element_bits, memory_space, prefix_bytes;
	struct ss_str physical;
	bool has_physical;
};

static struct numbers read_numbers(struct ss_str layout)
{
	struct numbers n = { .tail_padding = 1 };
	struct ss_pb c = ss_pb_of(layout);
	struct ss_pb_field f;
	while (ss_pb_next(&c, &f))
		switch (f.key) {
		case PB_VAR(LAYOUT_TAIL_PADDING):
			n.tail_padding = f.u ? f.u : 1;
			break;
		case PB_VAR(LAYOUT_INDEX_TYPE):
			n.index_type = f.u;
			break;
		case PB_VAR(LAYOUT_POINTER_TYPE):
			n.pointer_type = f.u;
			break;
		case PB_VAR(LAYOUT_ELEMENT_BITS):
			n.element_bits = f.u;
			break;
		case PB_VAR(LAYOUT_MEMORY_SPACE):
			n.memory_space = f.u;
			break;
		case PB_VAR(LAYOUT_PREFIX_BYTES):
			n.prefix_bytes = f.u;
			break;
		case PB_LEN(LAYOUT_PHYSICAL_SHAPE):
			n.physical = f.bytes;
			n.has_physical = true;
			break;
		}
	return n;
}

static void print_number(struct items *items, const char *name, uint64_t v)
{
	struct ss_buf *b = item(items, name);
	ss_buf_i64(b, (int64_t)v);
	ss_buf_char(b, ')');
}

static void print_type(struct items *items, const char *name, uint64_t type)
{
	struct ss_buf *b = item(items, name);
	ss_buf_z(b, ss_hlo_type_name(type));
	ss_buf_char(b, ')');
}

static void print_splits(struct items *items, struct ss_str layout)
{
	struct ss_pb c = ss_pb_of(layout), inner;
	struct ss_pb_field f, g;
	while (ss_pb_next(&c, &f)) {
		if (f.key != PB_LEN(LAYOUT_SPLITS))
			continue;
		uint64_t dim = 0;
		inner = ss_pb_of(f.bytes);
		while (ss_pb_next(&inner, &g))
			if (g.key == PB_VAR(SPLIT_DIMENSION))
				dim = g.u;
		struct ss_buf *b = item(items, "SC(");
		ss_buf_i64(b, (int64_t)dim);
		ss_buf_char(b, ':');
		print_ids(b, f.bytes, SPLIT_INDICES);
		ss_buf_char(b, ')');
	}
}

static void print_layout(struct ss_buf *b, struct ss_str layout, int depth)
{
	struct items items = { b, false };
	struct numbers n = read_numbers(layout);
	ss_buf_char(b, '{');
	print_ids(b, layout, LAYOUT_MINOR_TO_MAJOR);
	print_levels(&items, layout);
	print_tiles(&items, layout);
	if (n.tail_padding != 1)
		print_number(&items, "L(", n.tail_padding);
	if (n.index_type)
		print_type(&items, "#(", n.index_type);
	if (n.pointer_type)
		print_type(&items, "*(", n.pointer_type);
	if (n.element_bits)
		print_number(&items, "E(", n.element_bits);
	if (n.memory_space)
		print_number(&items, "S(", n.memory_space);
	print_splits(&items, layout);
	if (n.has_physical) {
		item(&items, "P(");
		print_shape(b, n.physical, true, depth + 1);
		ss_buf_char(b, ')');
	}
	if (n.prefix_bytes)
		print_number(&items, "M(", n.prefix_bytes);
	ss_buf_char(b, '}');
}

static void print_dims(struct ss_buf *b, struct ss_str shape)
{
	struct ss_hlo_ids it = ss_hlo_ids_of(shape, SHAPE_DIMENSIONS), dynamic = ss_hlo_ids_of(shape, SHAPE_IS_DYNAMIC);
	const char *comma = "";
	int64_t dim, is_dynamic;
	ss_buf_char(b, '[');
	while (ss_hlo_ids_next(&it, &dim)) {
		ss_buf_z(b, comma);
		comma = ",";
		if (!ss_hlo_ids_next(&dynamic, &is_dynamic))
			is_dynamic = 0;
		if (is_dynamic && dim == INT64_MIN) {
			ss_buf_char(b, '?');
			continue;
		}
		if (is_dynamic)
			ss_buf_lit(b, "<=");
		ss_buf_i64(b, dim);
	}
	ss_buf_char(b, ']');
}

static void print_tuple(struct ss_buf *b, struct ss_str shape, bool layouts, int depth)
{
	struct ss_pb c = ss_pb_of(shape);
	struct ss_pb_field f;
	uint32_t i = 0;
	ss_buf_char(b, '(');
	while (ss_pb_next(&c, &f)) {
		if (f.key != PB_LEN(SHAPE_TUPLE_SHAPES))
			continue;
		if (i)
			ss_buf_lit(b, ", ");
		if (i && i % 5 == 0)
			ss_buf_printf(b, "/*index=%u*/", i);
		print_shape(b, f.bytes, layouts, depth + 1);
		i++;
	}
	ss_buf_char(b, ')');
}

static void print_shape(struct ss_buf *b, struct ss_str shape, bool layouts, int depth)
{
	struct parts p = read_parts(shape);
	if (depth > MAX_DEPTH) {
		ss_buf_lit(b, "...");
		return;
	}
	if (p.type == SS_HLO_TUPLE) {
		print_tuple(b, shape, layouts, depth);
		return;
	}
	if (p.type == SS_HLO_BUFFER) {
		ss_buf_lit(b, "b(");
		print_shape(b, ss_hlo_tuple_at(shape, 0), layouts, depth + 1);
		ss_buf_char(b, ')');
		return;
	}
	ss_buf_z(b, ss_hlo_type_name(p.type));
	print_dims(b, shape);
	if (!layouts || !p.has_layout || p.type == SS_HLO_TOKEN || p.type == SS_HLO_OPAQUE)
		return;
	size_t before = b->n;
	print_layout(b, p.layout, depth);
	/* A scalar's layout is shown only if there is something in it. */
	if (p.rank == 0 && b->n == before + 2)
		b->n = before;
}

void ss_hlo_shape_print(struct ss_buf *b, struct ss_str shape, bool layouts)
{
	print_shape(b, shape, layouts, 0);
}
