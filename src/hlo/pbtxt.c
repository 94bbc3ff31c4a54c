/* pbtxt.c - printing by the schema in schema.def. */
#include "hlo/pbtxt.h"

#include "hlo/literal.h"
#include "hlo/schema.h"
#include "wire/pb.h"

#include <stdio.h>
#include <stdlib.h>

#define MAX_DEPTH 100

struct printer {
	struct ss_buf *b;
	struct ss_schema schema;
};

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
	for (const struct ss_schema_value *value = p->schema.enums[of]; value->name; value++)
		if (value->number == v) {
			ss_buf_z(p->b, value->name);
			return;
		}
	ss_buf_i64(p->b, v);
}

static void print_number(struct printer *p, const struct ss_schema_field *f, uint64_t v)
{
	float single;
	uint32_t low = (uint32_t)v;
	switch (f->type) {
	case SS_SCHEMA_INT32:
		ss_buf_i64(p->b, (int32_t)v);
		break;
	case SS_SCHEMA_INT64:
		ss_buf_i64(p->b, (int64_t)v);
		break;
	case SS_SCHEMA_UINT32:
		ss_buf_u64(p->b, low);
		break;
	case SS_SCHEMA_UINT64:
		ss_buf_u64(p->b, v);
		break;
	case SS_SCHEMA_BOOL:
		ss_buf_z(p->b, v ? "true" : "false");
		break;
	case SS_SCHEMA_FLOAT:
		memcpy(&single, &low, sizeof(single));
		print_double(p->b, (double)single, "%.6g", "%.9g", true);
		break;
	case SS_SCHEMA_DOUBLE:
		print_double(p->b, ss_pb_double(v), "%.15g", "%.17g", false);
		break;
	case SS_SCHEMA_ENUM:
		print_enum(p, f->of, (int32_t)v);
		break;
	}
}

static void print_scalar(struct printer *p, const struct ss_schema_field *f, uint64_t v, int depth)
{
	indent(p->b, depth);
	ss_buf_z(p->b, f->name);
	ss_buf_lit(p->b, ": ");
	print_number(p, f, v);
	ss_buf_char(p->b, '\n');
}

static void print_text(struct printer *p, const struct ss_schema_field *f, struct ss_str s, int depth)
{
	indent(p->b, depth);
	ss_buf_z(p->b, f->name);
	ss_buf_lit(p->b, ": \"");
	ss_hlo_print_escaped(p->b, s);
	ss_buf_lit(p->b, "\"\n");
}

/* Numbers of a packed field stand one after the other. */
static void print_packed(struct printer *p, const struct ss_schema_field *f, struct ss_str bytes, int depth)
{
	const uint8_t *at = (const uint8_t *)bytes.p, *end = at + bytes.n;
	size_t width = f->type == SS_SCHEMA_FLOAT ? 4 : f->type == SS_SCHEMA_DOUBLE ? 8 : 0;
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

static void print_occurrence(struct printer *p, const struct ss_schema_field *f, const struct ss_pb_field *at, int depth)
{
	bool is_len = (at->key & 7) == 2;
	if (f->type == SS_SCHEMA_MESSAGE && is_len) {
		indent(p->b, depth);
		ss_buf_z(p->b, f->name);
		ss_buf_lit(p->b, " {\n");
		print_message(p, f->of, at->bytes, depth + 1);
		indent(p->b, depth);
		ss_buf_lit(p->b, "}\n");
	} else if (f->type == SS_SCHEMA_STRING || f->type == SS_SCHEMA_BYTES) {
		if (is_len && (at->bytes.n || f->repeated || f->shown_zero))
			print_text(p, f, at->bytes, depth);
	} else if (f->type != SS_SCHEMA_MESSAGE && is_len) {
		print_packed(p, f, at->bytes, depth);
	} else if (f->type != SS_SCHEMA_MESSAGE && (at->u || f->repeated || f->shown_zero)) {
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
	for (const struct ss_schema_field *f = p->schema.messages[message]; f->number; f++) {
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
	ss_schema_read(&p.schema);
	print_message(&p, SS_MSG_HloProto, hlo_proto, 0);
}
