/* parquet.c - see parquet.h. */
#include "export/parquet.h"

#include "export/thrift.h"

#include <stdlib.h>

#define MAGIC SS_STR("PAR1")

/* Numbers of the format. */
enum { T_INT32 = 1, T_INT64 = 2, T_DOUBLE = 5, T_BYTES = 6 };
enum { R_REQUIRED = 0, R_OPTIONAL = 1, R_REPEATED = 2 };
enum { C_NONE = -1, C_UTF8 = 0, C_LIST = 3, C_UINT_32 = 13, C_UINT_64 = 14 };
enum { E_PLAIN = 0, E_RLE = 3, E_DELTA_BINARY_PACKED = 5, E_RLE_DICTIONARY = 8 };
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

/* ---- numbers of few bits ---- */

static void put_varint(struct ss_buf *b, uint64_t v)
{
	for (; v >= 0x80; v >>= 7)
		ss_buf_char(b, (char)(v | 0x80));
	ss_buf_char(b, (char)v);
}

/* n values, of `bits` each, without gaps. At most 32 of them. */
static void put_bits(struct ss_buf *b, const uint64_t *v, size_t n, unsigned bits)
{
	uint8_t packed[32 * 8 + 16] = { 0 };
	size_t at = 0;
	for (size_t i = 0; i < n; i++, at += bits) {
		unsigned within = at % 8;
		uint64_t word;
		memcpy(&word, packed + at / 8, 8);
		word |= v[i] << within;
		memcpy(packed + at / 8, &word, 8);
		if (within + bits > 64)
			packed[at / 8 + 8] = (uint8_t)(v[i] >> (64 - within));
	}
	ss_buf_str(b, (struct ss_str){ (const char *)packed, n * bits / 8 });
}

static size_t run_at(const uint64_t *v, size_t n, size_t i, size_t most)
{
	size_t run = 1;
	while (i + run < n && run < most && v[i + run] == v[i])
		run++;
	return run;
}

static void put_run(struct ss_buf *b, uint64_t value, uint64_t n, unsigned bits)
{
	put_varint(b, n << 1);
	for (unsigned k = 0; k < bits; k += 8)
		ss_buf_char(b, (char)(value >> k));
}

/* Runs, or groups of eight. */
static void put_hybrid(struct ss_buf *b, const uint64_t *v, size_t n, unsigned bits)
{
	for (size_t i = 0; i < n;) {
		size_t run = run_at(v, n, i, SIZE_MAX);
		if (run >= 8 || i + run == n) {
			put_run(b, v[i], run, bits);
			i += run;
			continue;
		}
		size_t groups = 1;
		while (groups < 63 && i + 8 * groups < n && run_at(v, n, i + 8 * groups, 8) < 8)
			groups++;
		ss_buf_char(b, (char)(groups << 1 | 1));
		for (size_t k = 0; k < groups; k++, i += 8) {
			uint64_t group[8] = { 0 };
			memcpy(group, v + i, (n - i < 8 ? n - i : 8) * sizeof(*v));
			put_bits(b, group, 8, bits);
		}
	}
}

static unsigned bits_for(uint64_t most)
{
	return most ? 64 - (unsigned)__builtin_clzll(most) : 0;
}

/* ---- numbers by their differences ---- */

enum { BLOCK = 128, PARTS = 4, PART = BLOCK / PARTS };

static uint64_t zigzag(int64_t v)
{
	return (uint64_t)v << 1 ^ (uint64_t)(v >> 63);
}

/* Of the differences of a block what they are above the least, in parts with as few bits as each needs. */
static void put_block(struct ss_buf *b, uint64_t *v, size_t n)
{
	int64_t least = INT64_MAX;
	unsigned bits[PARTS] = { 0 };
	for (size_t i = 0; i < n; i++)
		least = (int64_t)v[i] < least ? (int64_t)v[i] : least;
	for (size_t i = 0; i < n; i++) {
		v[i] -= (uint64_t)least;
		unsigned need = bits_for(v[i]);
		bits[i / PART] = need > bits[i / PART] ? need : bits[i / PART];
	}
	memset(v + n, 0, (BLOCK - n) * sizeof(*v));
	put_varint(b, zigzag(least));
	for (size_t k = 0; k < PARTS; k++)
		ss_buf_char(b, (char)bits[k]);
	for (size_t k = 0; k * PART < n; k++)
		put_bits(b, v + k * PART, PART, bits[k]);
}

static void put_differences(struct ss_buf *b, const uint64_t *v, size_t n, bool narrow)
{
	uint64_t block[BLOCK];
	put_varint(b, BLOCK);
	put_varint(b, PARTS);
	put_varint(b, n);
	put_varint(b, zigzag(!n ? 0 : narrow ? (int32_t)v[0] : (int64_t)v[0]));
	for (size_t i = 1; i < n;) {
		size_t k = 0;
		for (; k < BLOCK && i < n; k++, i++)
			block[k] = narrow ? (uint64_t)(int64_t)(int32_t)((uint32_t)v[i] - (uint32_t)v[i - 1]) : v[i] - v[i - 1];
		put_block(b, block, k);
	}
}

/* ---- pages ---- */

static void put_u32(struct ss_buf *b, uint32_t v)
{
	ss_buf_str(b, (struct ss_str){ (const char *)&v, sizeof(v) });
}

/* Levels have their length before them, which is known afterwards. */
static void put_levels(struct ss_parquet *p, const struct ss_column *c, bool repeats, unsigned bits)
{
	struct ss_buf *b = &p->page;
	size_t at = b->n, n = 0;
	put_u32(b, 0);
	if (c->runs.n == 1) {
		put_run(b, repeats ? c->runs.v[0].repeat : c->runs.v[0].level, c->nvalues, bits);
	} else if (ss_vec_reserve(&p->levels, c->nvalues)) {
		for (size_t i = 0; i < c->runs.n; i++)
			for (uint32_t k = 0; k < c->runs.v[i].n; k++)
				p->levels.v[n++] = repeats ? c->runs.v[i].repeat : c->runs.v[i].level;
		put_hybrid(b, p->levels.v, n, bits);
	} else {
		b->no_memory = true;
	}
	uint32_t bytes = (uint32_t)(b->n - at - 4);
	if (!b->no_memory)
		memcpy(b->p + at, &bytes, sizeof(bytes));
}

static void put_text(struct ss_buf *b, struct ss_str s)
{
	put_u32(b, (uint32_t)s.n);
	ss_buf_str(b, s);
}

static void put_cells(struct ss_buf *b, const struct ss_column *c, int32_t encoding)
{
	if (encoding == E_RLE_DICTIONARY) {
		unsigned bits = bits_for(c->texts.n ? c->texts.n - 1 : 0);
		bits = bits ? bits : 1;
		ss_buf_char(b, (char)bits);
		put_hybrid(b, c->cells.v, c->cells.n, bits);
	} else if (encoding == E_DELTA_BINARY_PACKED) {
		put_differences(b, c->cells.v, c->cells.n, c->kind == SS_COLUMN_U32);
	} else if (ss_column_is_text(c)) {
		for (size_t i = 0; i < c->cells.n; i++)
			put_text(b, ss_column_text_at(c, c->cells.v[i]));
	} else if (c->cells.n) {
		ss_buf_str(b, (struct ss_str){ (const char *)c->cells.v,
					       c->cells.n * sizeof(*c->cells.v) });
	}
}

static void put_texts(struct ss_buf *b, const struct ss_column *c)
{
	for (uint32_t i = 0; i < c->texts.n; i++)
		put_text(b, c->texts.keys[i]);
}

static int32_t encoding_of(const struct ss_column *c)
{
	if (ss_column_is_text(c))
		return c->ends.n ? E_PLAIN : E_RLE_DICTIONARY;
	return c->kind == SS_COLUMN_F64 ? E_PLAIN : E_DELTA_BINARY_PACKED;
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
	ss_out_many(p->o, ss_buf_get(&p->page));
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
		return SS_CMP((int64_t)a, (int64_t)b);
	return SS_CMP(a, b);
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
	int32_t encoding = encoding_of(c);
	bool texts = c->kind == SS_COLUMN_TEXTS, dictionary = encoding == E_RLE_DICTIONARY, ok = true;
	if (dictionary) {
		put_texts(&p->page, c);
		ok = put_page(p, PAGE_DICTIONARY, c->texts.n, E_PLAIN);
	}
	data = offset(p);
	if (texts)
		put_levels(p, c, true, 1);
	put_levels(p, c, false, texts ? 2 : 1);
	put_cells(&p->page, c, encoding);
	ok = ok && put_page(p, PAGE_DATA, c->nvalues, encoding);
	ss_thrift_begin(t, 0);
	ss_thrift_i64(t, 2, (int64_t)begin);
	ss_thrift_begin(t, 3);
	ss_thrift_i32(t, 1, type_of(c->kind));
	ss_thrift_list(t, 2, SS_THRIFT_I32, dictionary ? 3 : 2);
	ss_thrift_element_i32(t, E_RLE);
	ss_thrift_element_i32(t, encoding);
	if (dictionary)
		ss_thrift_element_i32(t, E_PLAIN);
	ss_thrift_list(t, 3, SS_THRIFT_BINARY, texts ? 3 : 1);
	ss_thrift_element_binary(t, ss_str_from(c->name));
	if (texts) {
		ss_thrift_element_binary(t, SS_STR("list"));
		ss_thrift_element_binary(t, SS_STR("element"));
	}
	ss_thrift_i32(t, 4, 0);
	ss_thrift_i64(t, 5, (int64_t)c->nvalues);
	ss_thrift_i64(t, 6, (int64_t)(offset(p) - begin));
	ss_thrift_i64(t, 7, (int64_t)(offset(p) - begin));
	ss_thrift_i64(t, 9, (int64_t)data);
	if (dictionary)
		ss_thrift_i64(t, 11, (int64_t)begin);
	put_statistics(t, c);
	ss_thrift_end(t);
	ss_thrift_end(t);
	return ok;
}

bool ss_parquet_rows(struct ss_parquet *p, uint64_t n)
{
	struct ss_thrift t = { .b = &p->groups };
	uint64_t begin = offset(p);
	bool ok = true;
	ss_thrift_list(&t, 1, SS_THRIFT_STRUCT, p->ncols);
	for (size_t i = 0; ok && i < p->ncols; i++)
		ok = put_column(p, &t, &p->cols[i]);
	ss_thrift_i64(&t, 2, (int64_t)(offset(p) - begin));
	ss_thrift_i64(&t, 3, (int64_t)n);
	ss_thrift_end(&t);
	for (size_t i = 0; i < p->ncols; i++)
		ss_column_forget(&p->cols[i]);
	p->rows += n;
	p->ngroups++;
	return ok && !p->groups.no_memory;
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
	ss_vec_free(&p->levels);
	ss_buf_free(&p->groups);
	ss_buf_free(&p->page);
	ss_buf_free(&p->head);
}
