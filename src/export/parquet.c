/* parquet.c - see parquet.h. */
#include "export/parquet.h"

#include "export/thrift.h"

#include <stdlib.h>

#define MAGIC SS_STR("PAR1")

/* Numbers of the format. */
enum { T_INT32 = 1, T_INT64 = 2, T_DOUBLE = 5, T_BYTES = 6 };
enum { R_REQUIRED = 0, R_OPTIONAL = 1, R_REPEATED = 2 };
enum { C_NONE = -1, C_UTF8 = 0, C_LIST = 3, C_UINT_32 = 13, C_UINT_64 = 14 };
enum { E_PLAIN = 0, E_RLE = 3, E_RLE_DICTIONARY = 8 };
enum { PAGE_DATA = 0, PAGE_DICTIONARY = 2 };

static int32_t type_of(enum ss_column_kind kind)
{
	return kind == SS_COLUMN_U32	? T_INT32
	       : kind == SS_COLUMN_F64 ? T_DOUBLE
	       : kind < SS_COLUMN_F64	? T_INT64
					: T_BYTES;
}

static int32_t converted_of(enum ss_column_kind kind)
{
	return kind == SS_COLUMN_U32	 ? C_UINT_32
	       : kind == SS_COLUMN_U64	 ? C_UINT_64
	       : kind >= SS_COLUMN_TEXT ? C_UTF8
					 : C_NONE;
}

void ss_parquet_begin(struct ss_parquet *p, struct ss_out *o, struct ss_column *cols,
		      size_t ncols)
{
	*p = (struct ss_parquet){ .o = o, .cols = cols, .ncols = ncols, .begin = o->total_bytes + o->n };
	ss_out_str(o, MAGIC);
}

/* ---- numbers of few bits: runs, or groups of eight ---- */

struct numbers {
	const uint64_t *wide; /* or */
	const uint8_t *narrow;
	size_t n;
};

static uint64_t number_at(const struct numbers *v, size_t i)
{
	return i >= v->n ? 0 : v->wide ? v->wide[i] : v->narrow[i];
}

static size_t run_at(const struct numbers *v, size_t i, size_t most)
{
	size_t n = 1;
	while (i + n < v->n && n < most && number_at(v, i + n) == number_at(v, i))
		n++;
	return n;
}

static void put_varint(struct ss_buf *b, uint64_t v)
{
	for (; v >= 0x80; v >>= 7)
		ss_buf_char(b, (char)(v | 0x80));
	ss_buf_char(b, (char)v);
}

static void put_group(struct ss_buf *b, const struct numbers *v, size_t i, unsigned bits)
{
	uint64_t held = 0;
	unsigned n = 0;
	for (size_t k = 0; k < 8; k++) {
		held |= number_at(v, i + k) << n;
		for (n += bits; n >= 8; n -= 8, held >>= 8)
			ss_buf_char(b, (char)held);
	}
}

static void put_hybrid(struct ss_buf *b, const struct numbers *v, unsigned bits)
{
	for (size_t i = 0; i < v->n;) {
		size_t run = run_at(v, i, SIZE_MAX);
		if (run >= 8 || i + run == v->n) {
			put_varint(b, (uint64_t)run << 1);
			for (unsigned k = 0; k < bits; k += 8)
				ss_buf_char(b, (char)(number_at(v, i) >> k));
			i += run;
			continue;
		}
		size_t groups = 1;
		while (groups < 63 && i + 8 * groups < v->n && run_at(v, i + 8 * groups, 8) < 8)
			groups++;
		ss_buf_char(b, (char)(groups << 1 | 1));
		for (size_t k = 0; k < groups; k++)
			put_group(b, v, i + 8 * k, bits);
		i += 8 * groups;
	}
}

static unsigned bits_for(uint64_t most)
{
	unsigned bits = 0;
	while (most >> bits)
		bits++;
	return bits;
}

/* ---- pages ---- */

static void put_u32(struct ss_buf *b, uint32_t v)
{
	for (unsigned i = 0; i < 32; i += 8)
		ss_buf_char(b, (char)(v >> i));
}

/* Levels have their length before them, which is known afterwards. */
static void put_levels(struct ss_buf *b, const uint8_t *v, size_t n, unsigned bits)
{
	size_t at = b->n;
	put_u32(b, 0);
	put_hybrid(b, &(struct numbers){ .narrow = v, .n = n }, bits);
	for (unsigned i = 0; !b->no_memory && i < 4; i++)
		b->p[at + i] = (char)((b->n - at - 4) >> (8 * i));
}

static void put_cells(struct ss_buf *b, const struct ss_column *c)
{
	if (ss_column_is_text(c)) {
		unsigned bits = bits_for(c->texts.n ? c->texts.n - 1 : 0);
		bits = bits ? bits : 1;
		ss_buf_char(b, (char)bits);
		put_hybrid(b, &(struct numbers){ .wide = c->cells.v, .n = c->cells.n }, bits);
	} else if (c->kind == SS_COLUMN_U32) {
		for (size_t i = 0; i < c->cells.n; i++)
			put_u32(b, (uint32_t)c->cells.v[i]);
	} else if (c->cells.n) {
		ss_buf_str(b, (struct ss_str){ (const char *)c->cells.v,
					       c->cells.n * sizeof(*c->cells.v) });
	}
}

static void put_texts(struct ss_buf *b, const struct ss_column *c)
{
	for (uint32_t i = 0; i < c->texts.n; i++) {
		put_u32(b, (uint32_t)c->texts.keys[i].n);
		ss_buf_str(b, c->texts.keys[i]);
	}
}

/* A head, and what is in p->page. */
static bool put_page(struct ss_parquet *p, int type, size_t nvalues, int encoding)
{
	struct ss_thrift t = { .b = &p->head };
	p->head.n = 0;
	if (p->page.n > INT32_MAX)
		return false;
	ss_thrift_i32(&t, 1, type);
	ss_thrift_i32(&t, 2, (int32_t)p->page.n);
	ss_thrift_i32(&t, 3, (int32_t)p->page.n);
	ss_thrift_begin(&t, type == PAGE_DATA ? 5 : 7);
	ss_thrift_i32(&t, 1, (int32_t)nvalues);
	ss_thrift_i32(&t, 2, encoding);
	if (type == PAGE_DATA) {
		ss_thrift_i32(&t, 3, E_RLE);
		ss_thrift_i32(&t, 4, E_RLE);
	}
	ss_thrift_end(&t);
	ss_thrift_end(&t);
	ss_out_str(p->o, ss_buf_get(&p->head));
	ss_out_str(p->o, ss_buf_get(&p->page));
	p->page.n = 0;
	return !p->head.no_memory && !p->page.no_memory;
}

static uint64_t offset(const struct ss_parquet *p)
{
	return p->o->total_bytes + p->o->n - p->begin;
}

static int64_t compare(enum ss_column_kind kind, uint64_t a, uint64_t b)
{
	if (kind == SS_COLUMN_I64)
		return (int64_t)a < (int64_t)b ? -1 : (int64_t)a > (int64_t)b;
	return a < b ? -1 : a > b;
}

/* Least and greatest of whole numbers; of others only how many are empty. */
static void put_statistics(struct ss_thrift *t, const struct ss_column *c)
{
	bool whole = c->kind <= SS_COLUMN_U32 && c->cells.n;
	uint64_t least = whole ? c->cells.v[0] : 0, most = least;
	for (size_t i = 0; whole && i < c->cells.n; i++) {
		least = compare(c->kind, c->cells.v[i], least) < 0 ? c->cells.v[i] : least;
		most = compare(c->kind, c->cells.v[i], most) > 0 ? c->cells.v[i] : most;
	}
	size_t bytes = c->kind == SS_COLUMN_U32 ? 4 : 8;
	ss_thrift_begin(t, 12);
	ss_thrift_i64(t, 3, (int64_t)c->nnulls);
	if (whole) {
		ss_thrift_binary(t, 5, (struct ss_str){ (const char *)&most, bytes });
		ss_thrift_binary(t, 6, (struct ss_str){ (const char *)&least, bytes });
	}
	ss_thrift_end(t);
}

static bool put_column(struct ss_parquet *p, struct ss_thrift *t, const struct ss_column *c)
{
	uint64_t begin = offset(p), data;
	bool texts = c->kind == SS_COLUMN_TEXTS, ok = true;
	if (ss_column_is_text(c)) {
		put_texts(&p->page, c);
		ok = put_page(p, PAGE_DICTIONARY, c->texts.n, E_PLAIN);
	}
	data = offset(p);
	if (texts)
		put_levels(&p->page, c->repeats.v, c->repeats.n, 1);
	put_levels(&p->page, c->levels.v, c->levels.n, texts ? 2 : 1);
	put_cells(&p->page, c);
	ok = ok && put_page(p, PAGE_DATA, c->levels.n, ss_column_is_text(c) ? E_RLE_DICTIONARY : E_PLAIN);
	ss_thrift_begin(t, 0);
	ss_thrift_i64(t, 2, (int64_t)begin);
	ss_thrift_begin(t, 3);
	ss_thrift_i32(t, 1, type_of(c->kind));
	ss_thrift_list(t, 2, SS_THRIFT_I32, ss_column_is_text(c) ? 3 : 2);
	ss_thrift_element_i32(t, E_PLAIN);
	ss_thrift_element_i32(t, E_RLE);
	if (ss_column_is_text(c))
		ss_thrift_element_i32(t, E_RLE_DICTIONARY);
	ss_thrift_list(t, 3, SS_THRIFT_BINARY, texts ? 3 : 1);
	ss_thrift_element_binary(t, ss_str_from(c->name));
	if (texts) {
		ss_thrift_element_binary(t, SS_STR("list"));
		ss_thrift_element_binary(t, SS_STR("element"));
	}
	ss_thrift_i32(t, 4, 0);
	ss_thrift_i64(t, 5, (int64_t)c->levels.n);
	ss_thrift_i64(t, 6, (int64_t)(offset(p) - begin));
	ss_thrift_i64(t, 7, (int64_t)(offset(p) - begin));
	ss_thrift_i64(t, 9, (int64_t)data);
	if (ss_column_is_text(c))
		ss_thrift_i64(t, 11, (int64_t)begin);
	put_statistics(t, c);
	ss_thrift_end(t);
	ss_thrift_end(t);
	return ok;
}

static bool put_rows(struct ss_parquet *p)
{
	struct ss_thrift t = { .b = &p->groups };
	uint64_t begin = offset(p);
	bool ok = true;
	if (!p->group_rows)
		return true;
	ss_thrift_list(&t, 1, SS_THRIFT_STRUCT, p->ncols);
	for (size_t i = 0; ok && i < p->ncols; i++)
		ok = put_column(p, &t, &p->cols[i]);
	ss_thrift_i64(&t, 2, (int64_t)(offset(p) - begin));
	ss_thrift_i64(&t, 3, (int64_t)p->group_rows);
	ss_thrift_end(&t);
	for (size_t i = 0; i < p->ncols; i++)
		ss_column_forget(&p->cols[i]);
	p->group_rows = 0;
	p->ngroups++;
	return ok && !p->groups.no_memory;
}

bool ss_parquet_row(struct ss_parquet *p)
{
	p->rows++;
	return ++p->group_rows < SS_PARQUET_ROWS || put_rows(p);
}

/* ---- the file's end ---- */

static void put_element(struct ss_thrift *t, const char *name, int32_t type, int32_t repetition,
			int32_t children, int32_t converted)
{
	ss_thrift_begin(t, 0);
	if (type >= 0)
		ss_thrift_i32(t, 1, type);
	if (repetition >= 0)
		ss_thrift_i32(t, 3, repetition);
	ss_thrift_binary(t, 4, ss_str_from(name));
	if (children)
		ss_thrift_i32(t, 5, children);
	if (converted != C_NONE)
		ss_thrift_i32(t, 6, converted);
	ss_thrift_end(t);
}

static void put_schema(struct ss_thrift *t, const struct ss_parquet *p)
{
	size_t n = p->ncols + 1;
	for (size_t i = 0; i < p->ncols; i++)
		n += p->cols[i].kind == SS_COLUMN_TEXTS ? 2 : 0;
	ss_thrift_list(t, 2, SS_THRIFT_STRUCT, n);
	put_element(t, "schema", -1, -1, (int32_t)p->ncols, C_NONE);
	for (size_t i = 0; i < p->ncols; i++) {
		const struct ss_column *c = &p->cols[i];
		if (c->kind != SS_COLUMN_TEXTS) {
			put_element(t, c->name, type_of(c->kind), R_OPTIONAL, 0,
				    converted_of(c->kind));
			continue;
		}
		put_element(t, c->name, -1, R_OPTIONAL, 1, C_LIST);
		put_element(t, "list", -1, R_REPEATED, 1, C_NONE);
		put_element(t, "element", T_BYTES, R_REQUIRED, 0, C_UTF8);
	}
}

bool ss_parquet_end(struct ss_parquet *p)
{
	struct ss_thrift t = { .b = &p->head };
	if (!put_rows(p))
		return false;
	p->head.n = 0;
	ss_thrift_i32(&t, 1, 1);
	put_schema(&t, p);
	ss_thrift_i64(&t, 3, (int64_t)p->rows);
	ss_thrift_list(&t, 4, SS_THRIFT_STRUCT, p->ngroups);
	ss_buf_str(&p->head, ss_buf_get(&p->groups));
	ss_thrift_binary(&t, 6, SS_STR("stepscope " SS_VERSION));
	ss_thrift_list(&t, 7, SS_THRIFT_STRUCT, p->ncols);
	for (size_t i = 0; i < p->ncols; i++) {
		ss_thrift_begin(&t, 0); /* ordered as the type is */
		ss_thrift_begin(&t, 1);
		ss_thrift_end(&t);
		ss_thrift_end(&t);
	}
	ss_thrift_end(&t);
	uint32_t n = (uint32_t)p->head.n;
	put_u32(&p->head, n);
	ss_out_str(p->o, ss_buf_get(&p->head));
	ss_out_str(p->o, MAGIC);
	return !p->head.no_memory;
}

void ss_parquet_free(struct ss_parquet *p)
{
	ss_buf_free(&p->groups);
	ss_buf_free(&p->page);
	ss_buf_free(&p->head);
}
