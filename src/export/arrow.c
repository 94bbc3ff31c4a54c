/*
 * arrow.c - see arrow.h. Messages are FlatBuffers, written from front to back: a table's fields are known before it, so its vtable
 * stands before it, and what it refers to behind it.
 */
#include "export/arrow.h"

#include <stdlib.h>

enum { VERSION_5 = 4, HEADER_SCHEMA = 1, HEADER_DICTIONARY = 2, HEADER_BATCH = 3 };
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
		ss_out_many(a->o, ss_buf_get(body));
	a->head.no_memory = a->head.no_memory || before.no_memory;
	ss_buf_free(&before);
}

/* `dictionary`: its number; below 0: the texts stand in the rows. */
static void put_field(struct ss_buf *b, size_t place, const char *name, enum ss_column_kind kind, int dictionary)
{
	static const uint8_t types[] = {
		[SS_COLUMN_I64] = TYPE_INT,   [SS_COLUMN_U64] = TYPE_INT,   [SS_COLUMN_U32] = TYPE_INT,
		[SS_COLUMN_F64] = TYPE_FLOAT, [SS_COLUMN_TEXT] = TYPE_UTF8, [SS_COLUMN_TEXTS] = TYPE_LIST,
	};
	const struct field fields[] = { { 4, 0 }, { 1, 1 }, { 1, types[kind] }, { 4, 0 }, { dictionary < 0 ? 0 : 4, 0 }, { 4, 0 } };
	const struct field numbered[] = { { 8, (uint64_t)dictionary }, { 4, 0 } };
	const struct field index[] = { { 4, 32 }, { 1, true } };
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
		put_field(b, children, "item", SS_COLUMN_TEXT, -1);
	if (dictionary < 0)
		return;
	put_table_at(b, at[4], numbered, SS_COUNT(numbered), inner);
	size_t type = inner[1];
	put_table_at(b, type, index, SS_COUNT(index), inner);
}

static bool has_dictionary(const struct ss_column *c)
{
	return c->kind == SS_COLUMN_TEXT && c->form == SS_COLUMN_DICTIONARY;
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
		put_field(&a->head, list + 4 * i, cols[i].name, cols[i].kind, has_dictionary(&cols[i]) ? (int)i : -1);
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

/* So many bytes more of the body, zeros; NULL when memory is out. */
static char *more(struct ss_arrow *a, size_t n)
{
	char *p = ss_buf_room(&a->body, n);
	if (p) {
		memset(p, 0, n);
		a->body.n += n;
	}
	return p;
}

/* A bit for each row: of lists, for the values that begin one. */
static void put_valid(struct ss_arrow *a, const struct ss_column *c, uint64_t rows)
{
	size_t from = a->body.n, row = 0;
	char *bits = c->nnulls ? more(a, (rows + 7) / 8) : NULL;
	for (size_t i = 0; bits && i < c->runs.n; i++) {
		const struct ss_column_run *r = &c->runs.v[i];
		for (uint32_t k = 0; k < r->n && !r->repeat; k++, row++)
			bits[row / 8] = (char)(bits[row / 8] | (r->level > 0) << (row % 8));
	}
	end_buffer(a, from);
}

/* Numbers of so many bytes; what is not there is 0. */
static void put_numbers(struct ss_arrow *a, const struct ss_column *c, size_t bytes, uint64_t rows)
{
	size_t from = a->body.n, row = 0;
	const uint64_t *cell = c->cells.v;
	char *to = more(a, rows * bytes);
	for (size_t i = 0; to && i < c->runs.n; row += c->runs.v[i].n, i++)
		for (uint32_t k = 0; c->runs.v[i].level && k < c->runs.v[i].n; k++)
			memcpy(to + (row + k) * bytes, cell++, bytes);
	end_buffer(a, from);
}

/*
 * Texts: where each ends, then their bytes. `cells` has their numbers, NULL: 0 and up. With `runs` those that are not there are
 * empty, and n counts them.
 */
static void put_texts(struct ss_arrow *a, const struct ss_column *c, const uint64_t *cells, size_t n, bool runs)
{
	struct ss_column_run all = { (uint32_t)n, 1, 0 };
	const struct ss_column_run *r = runs ? c->runs.v : &all;
	size_t from = a->body.n, at = 0, nruns = runs ? c->runs.n : 1, ntexts = 0;
	uint64_t end = 0;
	char *to = more(a, (n + 1) * 4);
	for (size_t i = 0; to && i < nruns; i++)
		for (uint32_t k = 0; k < r[i].n; k++) {
			if (r[i].level) {
				end += ss_column_text_at(c, cells ? cells[ntexts] : ntexts).n;
				ntexts++;
			}
			memcpy(to + 4 * ++at, &end, 4);
		}
	end_buffer(a, from);
	a->too_long = a->too_long || end > INT32_MAX;
	from = a->body.n;
	for (size_t i = 0; !a->too_long && i < ntexts; i++)
		ss_buf_str(&a->body, ss_column_text_at(c, cells ? cells[i] : i));
	end_buffer(a, from);
}

static void put_lists(struct ss_arrow *a, const struct ss_column *c, uint64_t rows)
{
	size_t from = a->body.n, row = 0;
	uint32_t end = 0;
	char *to = more(a, (rows + 1) * 4);
	for (size_t i = 0; to && i < c->runs.n; i++)
		for (uint32_t k = 0; k < c->runs.v[i].n; k++) {
			if (!c->runs.v[i].repeat)
				memcpy(to + 4 * row++, &end, 4);
			end += c->runs.v[i].level == 2;
		}
	if (to)
		memcpy(to + 4 * row, &end, 4);
	end_buffer(a, from);
	put_node(a, c->cells.n, 0);
	end_buffer(a, a->body.n);
	put_texts(a, c, c->cells.v, c->cells.n, false);
}

/* The parts of a batch's table, which stand behind it. */
static void put_batch(struct ss_arrow *a, size_t place, uint64_t rows)
{
	const struct field batch[] = { { 8, rows }, { 4, 0 }, { 4, 0 } };
	size_t at[SS_COUNT(batch)];
	put_table_at(&a->head, place, batch, SS_COUNT(batch), at);
	put_pairs(&a->head, at[1], &a->nodes);
	put_pairs(&a->head, at[2], &a->buffers);
	put_message(a, &a->body);
	a->body.n = a->nodes.n = a->buffers.n = 0;
}

/* The texts of a column, instead of those of the batch before. */
static void put_dictionary(struct ss_arrow *a, const struct ss_column *c, size_t id)
{
	const struct field fields[] = { { 8, id }, { 4, 0 } };
	size_t header, at[SS_COUNT(fields)];
	put_node(a, c->texts.n, 0);
	end_buffer(a, a->body.n);
	put_texts(a, c, NULL, c->texts.n, false);
	begin_message(&a->head, HEADER_DICTIONARY, a->body.n, &header);
	put_table_at(&a->head, header, fields, SS_COUNT(fields), at);
	put_batch(a, at[1], c->texts.n);
}

static void put_column(struct ss_arrow *a, const struct ss_column *c, uint64_t rows)
{
	put_node(a, rows, c->nnulls);
	put_valid(a, c, rows);
	if (c->kind == SS_COLUMN_TEXTS)
		put_lists(a, c, rows);
	else if (c->kind == SS_COLUMN_TEXT && !has_dictionary(c))
		put_texts(a, c, c->cells.v, rows, true);
	else
		put_numbers(a, c, c->kind == SS_COLUMN_TEXT || c->kind == SS_COLUMN_U32 ? 4 : 8, rows);
}

bool ss_arrow_rows(struct ss_arrow *a, uint64_t n)
{
	size_t header;
	for (size_t i = 0; i < a->ncols; i++)
		if (has_dictionary(&a->cols[i]))
			put_dictionary(a, &a->cols[i], i);
	for (size_t i = 0; i < a->ncols; i++)
		put_column(a, &a->cols[i], n);
	begin_message(&a->head, HEADER_BATCH, a->body.n, &header);
	put_batch(a, header, n);
	for (size_t i = 0; i < a->ncols; i++)
		ss_column_forget(&a->cols[i]);
	return !a->head.no_memory && !a->body.no_memory && !a->nodes.no_memory && !a->buffers.no_memory && !a->too_long;
}

bool ss_arrow_end(struct ss_arrow *a)
{
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
