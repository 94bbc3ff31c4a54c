/* pbtxt.c - printing by the schema in schema.def. */
#include "hlo/pbtxt.h"

#include "hlo/literal.h"
#include "wire/pb.h"

#include <stdio.h>
#include <stdlib.h>

#define MAX_DEPTH 100

enum type { INT32, INT64, UINT32, UINT64, BOOL, FLOAT, DOUBLE, STRING, BYTES, ENUM_TYPE, MESSAGE_TYPE };

/* Messages and enums are numbered in the order of the list. */
enum message {
#define MESSAGE(id) MSG_##id,
#define FIELD(number, type, name)
#define REPEATED_FIELD FIELD
#define SHOWN_ZERO_FIELD FIELD
#define ENUM_FIELD FIELD
#define REPEATED_ENUM_FIELD FIELD
#define SHOWN_ZERO_ENUM_FIELD FIELD
#define MESSAGE_FIELD FIELD
#define MAP_FIELD FIELD
#define ENUM(id)
#define VALUE(number, name)
#include "hlo/schema.def"
#undef MESSAGE
#undef ENUM
	MESSAGE_COUNT
};

enum enumeration {
#define MESSAGE(id)
#define ENUM(id) ENUM_##id,
#include "hlo/schema.def"
#undef ENUM
	ENUM_COUNT
};

struct field {
	uint16_t owner;		/* message */
	uint16_t number;
	uint8_t type;
	bool repeated, shown_zero;
	uint16_t of;		/* message or enum */
	const char *name;
};

#undef FIELD
#undef REPEATED_FIELD
#undef SHOWN_ZERO_FIELD
#undef ENUM_FIELD
#undef REPEATED_ENUM_FIELD
#undef SHOWN_ZERO_ENUM_FIELD
#undef MESSAGE_FIELD
#undef MAP_FIELD
#undef MESSAGE
#undef VALUE

/* The owner of a row is not in it: a row that begins a message has number 0 and says which. */
static const struct field rows[] = {
#define MESSAGE(id) { .owner = MSG_##id },
#define FIELD(num, kind, text) { .number = num, .type = kind, .name = #text },
#define REPEATED_FIELD(num, kind, text) { .number = num, .type = kind, .repeated = true, .name = #text },
#define SHOWN_ZERO_FIELD(num, kind, text) { .number = num, .type = kind, .shown_zero = true, .name = #text },
#define ENUM_FIELD(num, id, text) { .number = num, .type = ENUM_TYPE, .of = ENUM_##id, .name = #text },
#define REPEATED_ENUM_FIELD(num, id, text) \
	{ .number = num, .type = ENUM_TYPE, .repeated = true, .of = ENUM_##id, .name = #text },
#define SHOWN_ZERO_ENUM_FIELD(num, id, text) \
	{ .number = num, .type = ENUM_TYPE, .shown_zero = true, .of = ENUM_##id, .name = #text },
#define MESSAGE_FIELD(num, id, text) { .number = num, .type = MESSAGE_TYPE, .of = MSG_##id, .name = #text },
#define MAP_FIELD MESSAGE_FIELD
#define ENUM(id)
#define VALUE(num, text)
#include "hlo/schema.def"
#undef MESSAGE
#undef FIELD
#undef REPEATED_FIELD
#undef SHOWN_ZERO_FIELD
#undef ENUM_FIELD
#undef REPEATED_ENUM_FIELD
#undef SHOWN_ZERO_ENUM_FIELD
#undef MESSAGE_FIELD
#undef MAP_FIELD
#undef ENUM
#undef VALUE
};

static const struct value {
	int32_t owner, number;
	const char *name;
} values[] = {
#define MESSAGE(id)
#define FIELD(num, kind, text)
#define REPEATED_FIELD FIELD
#define SHOWN_ZERO_FIELD FIELD
#define ENUM_FIELD FIELD
#define REPEATED_ENUM_FIELD FIELD
#define SHOWN_ZERO_ENUM_FIELD FIELD
#define MESSAGE_FIELD FIELD
#define MAP_FIELD FIELD
#define ENUM(id) { ENUM_##id, 0, NULL },
#define VALUE(num, text) { -1, num, #text },
#include "hlo/schema.def"
};

/* First row of each message and enum, found once for each answer. */
struct schema {
	uint16_t messages[MESSAGE_COUNT];
	uint16_t enums[ENUM_COUNT];
};

struct printer {
	struct ss_buf *b;
	struct schema schema;
};

static void read_schema(struct schema *s)
{
	for (size_t i = 0; i < SS_COUNT(rows); i++)
		if (!rows[i].number)
			s->messages[rows[i].owner] = (uint16_t)(i + 1);
	for (size_t i = 0; i < SS_COUNT(values); i++)
		if (values[i].owner >= 0)
			s->enums[values[i].owner] = (uint16_t)(i + 1);
}

static void indent(struct ss_buf *b, int depth)
{
	for (int i = 0; i < depth; i++)
		ss_buf_lit(b, "  ");
}

static void print_double(struct ss_buf *b, double v, const char *short_format, const char *long_format, bool single)
{
	char text[64];
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	snprintf(text, sizeof(text), short_format, v);
	if (single ? strtof(text, NULL) != (float)v : strtod(text, NULL) != v)
		snprintf(text, sizeof(text), long_format, v);
#pragma GCC diagnostic pop
	ss_buf_z(b, v != v ? "nan" : text);
}

static void print_enum(struct printer *p, uint16_t of, int32_t v)
{
	for (size_t i = p->schema.enums[of]; i < SS_COUNT(values) && values[i].owner < 0; i++)
		if (values[i].number == v) {
			ss_buf_z(p->b, values[i].name);
			return;
		}
	ss_buf_i64(p->b, v);
}

static void print_number(struct printer *p, const struct field *f, uint64_t v)
{
	float single;
	uint32_t low = (uint32_t)v;
	switch (f->type) {
	case INT32:
		ss_buf_i64(p->b, (int32_t)v);
		break;
	case INT64:
		ss_buf_i64(p->b, (int64_t)v);
		break;
	case UINT32:
		ss_buf_u64(p->b, low);
		break;
	case UINT64:
		ss_buf_u64(p->b, v);
		break;
	case BOOL:
		ss_buf_z(p->b, v ? "true" : "false");
		break;
	case FLOAT:
		memcpy(&single, &low, sizeof(single));
		print_double(p->b, (double)single, "%.6g", "%.9g", true);
		break;
	case DOUBLE:
		print_double(p->b, ss_pb_double(v), "%.15g", "%.17g", false);
		break;
	case ENUM_TYPE:
		print_enum(p, f->of, (int32_t)v);
		break;
	}
}

static void print_scalar(struct printer *p, const struct field *f, uint64_t v, int depth)
{
	indent(p->b, depth);
	ss_buf_z(p->b, f->name);
	ss_buf_lit(p->b, ": ");
	print_number(p, f, v);
	ss_buf_char(p->b, '\n');
}

static void print_text(struct printer *p, const struct field *f, struct ss_str s, int depth)
{
	indent(p->b, depth);
	ss_buf_z(p->b, f->name);
	ss_buf_lit(p->b, ": \"");
	ss_hlo_print_escaped(p->b, s);
	ss_buf_lit(p->b, "\"\n");
}

/* Numbers of a packed field stand one after the other. */
static void print_packed(struct printer *p, const struct field *f, struct ss_str bytes, int depth)
{
	const uint8_t *at = (const uint8_t *)bytes.p, *end = at + bytes.n;
	size_t width = f->type == FLOAT ? 4 : f->type == DOUBLE ? 8 : 0;
	uint64_t v;
	while (at < end && !p->b->over && !p->b->no_memory) {
		if (width) {
			if ((size_t)(end - at) < width)
				return;
			v = 0;
			memcpy(&v, at, width);
			at += width;
		} else if (!ss_pb_varint(&at, end, &v)) {
			return;
		}
		print_scalar(p, f, v, depth);
	}
}

static void print_message(struct printer *p, uint16_t message, struct ss_str body, int depth);

static void print_occurrence(struct printer *p, const struct field *f, const struct ss_pb_field *at, int depth)
{
	bool is_len = (at->key & 7) == 2;
	if (f->type == MESSAGE_TYPE && is_len) {
		indent(p->b, depth);
		ss_buf_z(p->b, f->name);
		ss_buf_lit(p->b, " {\n");
		print_message(p, f->of, at->bytes, depth + 1);
		indent(p->b, depth);
		ss_buf_lit(p->b, "}\n");
	} else if (f->type == STRING || f->type == BYTES) {
		if (is_len && (at->bytes.n || f->repeated || f->shown_zero))
			print_text(p, f, at->bytes, depth);
	} else if (f->type != MESSAGE_TYPE && is_len) {
		print_packed(p, f, at->bytes, depth);
	} else if (f->type != MESSAGE_TYPE && (at->u || f->repeated || f->shown_zero)) {
		print_scalar(p, f, at->u, depth);
	}
}

/* One walk finds which fields there are, then one for each of them prints it: fields come by number, whatever their order was. */
static void print_message(struct printer *p, uint16_t message, struct ss_str body, int depth)
{
	uint64_t present[2] = { 0 };
	struct ss_pb_field at;
	struct ss_pb c = ss_pb_of(body);
	if (depth > MAX_DEPTH)
		return;
	while (ss_pb_next(&c, &at))
		if (at.key >> 3 < 128)
			present[(at.key >> 3) / 64] |= (uint64_t)1 << ((at.key >> 3) % 64);
	for (size_t i = p->schema.messages[message]; i < SS_COUNT(rows) && rows[i].number; i++) {
		const struct field *f = &rows[i];
		if (!(present[f->number / 64] >> (f->number % 64) & 1))
			continue;
		c = ss_pb_of(body);
		while (!p->b->over && !p->b->no_memory && ss_pb_next(&c, &at))
			if (at.key >> 3 == f->number)
				print_occurrence(p, f, &at, depth);
	}
}

void ss_hlo_pbtxt(struct ss_buf *b, struct ss_str hlo_proto)
{
	struct printer p = { .b = b };
	read_schema(&p.schema);
	print_message(&p, MSG_HloProto, hlo_proto, 0);
}
