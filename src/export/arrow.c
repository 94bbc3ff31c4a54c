/*
 * arrow.c - see arrow.h. Messages are FlatBuffers, written from front to back: a table's fields are known before it, so its vtable
 * stands before it, and what it refers to behind it.
 */
#include "export/arrow.h"

#include <stdlib.h>

enum { VERSION_5 = 4, HEADER_SCHEMA = 1, HEADER_BATCH = 3 };
enum { TYPE_INT = 2, TYPE_FLOAT = 3, TYPE_UTF8 = 5, TYPE_LIST = 12, PRECISION_DOUBLE = 2 };
#define MOST_FIELDS 8u

/* ---- FlatBuffers ---- */

static void put_number(struct ss_buf *b, uint64_t v, unsigned bytes)
{
	for (unsigned i = 0; i < bytes; i++)
		ss_buf_char(b, (char)(v >> (8 * i)));
}

static void patch(struct ss_buf *b, size_t at, uint64_t v, unsigned bytes)
{
	for (unsigned i = 0; !b->no_memory && i < bytes; i++)
		b->p[at + i] = (char)(v >> (8 * i));
}

static void align(struct ss_buf *b, size_t to)
{
	while (b->n % to && !b->no_memory)
		ss_buf_char(b, 0);
}

/* A place for an offset leads to here. */
static void lead_here(struct ss_buf *b, size_t place)
{
	patch(b, place, b->n - place, 4);
}

struct field {
	unsigned bytes; /* 0: absent; 4 of an offset, which is patched */
	uint64_t value;
};

/* A table of these fields; at[i] becomes the place of field i. Where the table begins. */
static size_t put_table(struct ss_buf *b, const struct field *f, size_t n, size_t *at)
{
	uint16_t place[MOST_FIELDS] = { 0 };
	uint16_t size = 4;
	for (unsigned bytes = 8; bytes; bytes /= 2) /* the widest first: the table begins 4 before a multiple of 8 */
		for (size_t i = 0; i < n; i++)
			if (f[i].bytes == bytes) {
				place[i] = size;
				size = (uint16_t)(size + bytes);
			}
	align(b, 8);
	while ((b->n + 4 + 2 * n) % 8 != 4)
		put_number(b, 0, 2);
	size_t vtable = b->n;
	put_number(b, 4 + 2 * n, 2);
	put_number(b, size, 2);
	for (size_t i = 0; i < n; i++)
		put_number(b, place[i], 2);
	size_t table = b->n;
	put_number(b, table - vtable, 4);
	for (size_t i = 4; i < size; i++)
		ss_buf_char(b, 0);
	for (size_t i = 0; i < n; i++) {
		at[i] = table + place[i];
		if (f[i].bytes)
			patch(b, at[i], f[i].value, f[i].bytes);
	}
	return table;
}

static void put_text(struct ss_buf *b, size_t place, struct ss_str s)
{
	align(b, 4);
	lead_here(b, place);
	put_number(b, s.n, 4);
	ss_buf_str(b, s);
	ss_buf_char(b, 0);
}

/* A vector of offsets: where the first stands. */
static size_t put_offsets(struct ss_buf *b, size_t place, size_t n)
{
	align(b, 4);
	lead_here(b, place);
	put_number(b, n, 4);
	size_t first = b->n;
	for (size_t i = 0; i < n; i++)
		put_number(b, 0, 4);
	return first;
}

/* Structs of two numbers of 8 bytes. */
static void put_pairs(struct ss_buf *b, size_t place, const struct ss_buf *pairs)
{
	while (b->n % 8 != 4 && !b->no_memory)
		ss_buf_char(b, 0);
	lead_here(b, place);
	put_number(b, pairs->n / 16, 4);
	ss_buf_str(b, ss_buf_get(pairs));
}

/* The table that a place for an offset leads to. */
static void put_table_at(struct ss_buf *b, size_t place, const struct field *f, size_t n, size_t *at)
{
	patch(b, place, put_table(b, f, n, at) - place, 4);
}

/* ---- messages ---- */

static void begin_message(struct ss_buf *b, int header, uint64_t body_bytes, size_t *header_at)
{
	const struct field fields[] = { { 2, VERSION_5 }, { 1, (uint64_t)header }, { 4, 0 }, { body_bytes ? 8 : 0, body_bytes } };
	size_t at[SS_COUNT(fields)];
	b->n = 0;
	put_number(b, 0, 4); /* the root */
	put_table_at(b, 0, fields, SS_COUNT(fields), at);
	*header_at = at[2];
}

static void put_message(struct ss_arrow *a, const struct ss_buf *body)
{
	align(&a->head, 8);
	struct ss_buf before = { 0 };
	put_number(&before, UINT32_MAX, 4);
	put_number(&before, a->head.n, 4);
	ss_out_str(a->o, ss_buf_get(&before));
	ss_out_str(a->o, ss_buf_get(&a->head));
	if (body)
		ss_out_str(a->o, ss_buf_get(body));
	a->head.no_memory = a->head.no_memory || before.no_memory;
	ss_buf_free(&before);
}

static void put_field(struct ss_buf *b, size_t place, const char *name, enum ss_column_kind kind)
{
	static const uint8_t types[] = {
		[SS_COLUMN_I64] = TYPE_INT,   [SS_COLUMN_U64] = TYPE_INT,   [SS_COLUMN_U32] = TYPE_INT,
		[SS_COLUMN_F64] = TYPE_FLOAT, [SS_COLUMN_TEXT] = TYPE_UTF8, [SS_COLUMN_TEXTS] = TYPE_LIST,
	};
	const struct field fields[] = { { 4, 0 }, { 1, 1 }, { 1, types[kind] }, { 4, 0 }, { 0, 0 }, { 4, 0 } };
	const struct field whole[] = { { 4, kind == SS_COLUMN_U32 ? 32 : 64 }, { 1, kind == SS_COLUMN_I64 } };
	const struct field real[] = { { 2, PRECISION_DOUBLE } };
	const struct field none[] = { { 0, 0 } };
	size_t at[SS_COUNT(fields)], inner[2];
	put_table_at(b, place, fields, SS_COUNT(fields), at);
	put_text(b, at[0], ss_str_from(name));
	if (types[kind] == TYPE_INT)
		put_table_at(b, at[3], whole, 2, inner);
	else
		put_table_at(b, at[3], types[kind] == TYPE_FLOAT ? real : none, 1, inner);
	size_t children = put_offsets(b, at[5], kind == SS_COLUMN_TEXTS);
	if (kind == SS_COLUMN_TEXTS)
		put_field(b, children, "item", SS_COLUMN_TEXT);
}

void ss_arrow_begin(struct ss_arrow *a, struct ss_out *o, struct ss_column *cols, size_t ncols)
{
	const struct field schema[] = { { 2, 0 }, { 4, 0 } };
	size_t header, at[2];
	*a = (struct ss_arrow){ .o = o, .cols = cols, .ncols = ncols };
	begin_message(&a->head, HEADER_SCHEMA, 0, &header);
	put_table_at(&a->head, header, schema, 2, at);
	size_t list = put_offsets(&a->head, at[1], ncols);
	for (size_t i = 0; i < ncols; i++)
		put_field(&a->head, list + 4 * i, cols[i].name, cols[i].kind);
	put_message(a, NULL);
}

/* ---- batches ---- */

static void end_buffer(struct ss_arrow *a, size_t from)
{
	put_number(&a->buffers, from, 8);
	put_number(&a->buffers, a->body.n - from, 8);
	align(&a->body, 8);
}

static void put_node(struct ss_arrow *a, uint64_t length, uint64_t nnulls)
{
	put_number(&a->nodes, length, 8);
	put_number(&a->nodes, nnulls, 8);
}

/* Of values that are there a bit each: of lists the values that begin a row. */
static void put_valid(struct ss_arrow *a, const struct ss_column *c)
{
	size_t from = a->body.n, row = 0;
	for (size_t i = 0; c->nnulls && i < c->levels.n; i++) {
		if (c->kind == SS_COLUMN_TEXTS && c->repeats.v[i])
			continue;
		if (row % 8 == 0)
			ss_buf_char(&a->body, 0);
		if (c->levels.v[i] && !a->body.no_memory)
			a->body.p[a->body.n - 1] = (char)(a->body.p[a->body.n - 1] | 1 << (row % 8));
		row++;
	}
	end_buffer(a, from);
}

/* Offsets and bytes of the texts of these values; with `holes` a value that is not there is an empty text. */
static void put_texts(struct ss_arrow *a, const struct ss_column *c, bool holes)
{
	size_t from = a->body.n, cell = 0;
	uint64_t end = 0;
	put_number(&a->body, 0, 4);
	for (size_t i = 0; i < (holes ? c->levels.n : c->cells.n); i++) {
		if (!holes || c->levels.v[i])
			end += c->texts.keys[c->cells.v[cell++]].n;
		put_number(&a->body, end, 4);
	}
	end_buffer(a, from);
	a->too_long = a->too_long || end > INT32_MAX;
	from = a->body.n;
	for (size_t i = 0; !a->too_long && i < c->cells.n; i++)
		ss_buf_str(&a->body, c->texts.keys[c->cells.v[i]]);
	end_buffer(a, from);
}

static void put_lists(struct ss_arrow *a, const struct ss_column *c)
{
	size_t from = a->body.n;
	uint64_t end = 0;
	for (size_t i = 0; i < c->levels.n; i++) {
		if (!c->repeats.v[i])
			put_number(&a->body, end, 4);
		end += c->levels.v[i] == 2;
	}
	put_number(&a->body, end, 4);
	end_buffer(a, from);
	put_node(a, c->cells.n, 0);
	end_buffer(a, a->body.n);
	put_texts(a, c, false);
}

static void put_numbers(struct ss_arrow *a, const struct ss_column *c)
{
	unsigned bytes = c->kind == SS_COLUMN_U32 ? 4 : 8;
	size_t from = a->body.n, cell = 0;
	for (size_t i = 0; i < c->levels.n; i++)
		put_number(&a->body, c->levels.v[i] ? c->cells.v[cell++] : 0, bytes);
	end_buffer(a, from);
}

static bool put_batch(struct ss_arrow *a)
{
	const struct field batch[] = { { 8, a->rows }, { 4, 0 }, { 4, 0 } };
	size_t header, at[SS_COUNT(batch)];
	if (!a->rows)
		return true;
	a->body.n = a->nodes.n = a->buffers.n = 0;
	for (size_t i = 0; i < a->ncols; i++) {
		const struct ss_column *c = &a->cols[i];
		put_node(a, a->rows, c->nnulls);
		put_valid(a, c);
		if (c->kind == SS_COLUMN_TEXTS)
			put_lists(a, c);
		else if (c->kind == SS_COLUMN_TEXT)
			put_texts(a, c, true);
		else
			put_numbers(a, c);
	}
	begin_message(&a->head, HEADER_BATCH, a->body.n, &header);
	put_table_at(&a->head, header, batch, SS_COUNT(batch), at);
	put_pairs(&a->head, at[1], &a->nodes);
	put_pairs(&a->head, at[2], &a->buffers);
	put_message(a, &a->body);
	for (size_t i = 0; i < a->ncols; i++)
		ss_column_forget(&a->cols[i]);
	a->rows = 0;
	return !a->head.no_memory && !a->body.no_memory && !a->nodes.no_memory && !a->buffers.no_memory && !a->too_long;
}

bool ss_arrow_row(struct ss_arrow *a)
{
	return ++a->rows < SS_ARROW_ROWS || put_batch(a);
}

bool ss_arrow_end(struct ss_arrow *a)
{
	if (!put_batch(a))
		return false;
	a->body.n = 0;
	put_number(&a->body, UINT32_MAX, 4);
	put_number(&a->body, 0, 4);
	ss_out_str(a->o, ss_buf_get(&a->body));
	return !a->head.no_memory && !a->body.no_memory;
}

void ss_arrow_free(struct ss_arrow *a)
{
	ss_buf_free(&a->head);
	ss_buf_free(&a->body);
	ss_buf_free(&a->nodes);
	ss_buf_free(&a->buffers);
}
