/* thrift.c - see thrift.h. */
#include "export/thrift.h"

#include "base/assert.h"

enum { TYPE_I32 = 5, TYPE_I64 = 6, TYPE_BINARY = 8, TYPE_LIST = 9, TYPE_STRUCT = 12 };

static void put_varint(struct ss_buf *b, uint64_t v)
{
	for (; v >= 0x80; v >>= 7)
		ss_buf_char(b, (char)(v | 0x80));
	ss_buf_char(b, (char)v);
}

static void put_signed(struct ss_buf *b, int64_t v)
{
	put_varint(b, (uint64_t)v << 1 ^ (uint64_t)(v >> 63));
}

/* Numbers of fields are told from the one before. */
static void put_field(struct ss_thrift *t, int field, int type)
{
	int *last = &t->last[t->depth];
	ss_assert(field > *last && field - *last < 16);
	ss_buf_char(t->b, (char)((field - *last) << 4 | type));
	*last = field;
}

void ss_thrift_i32(struct ss_thrift *t, int field, int32_t v)
{
	put_field(t, field, TYPE_I32);
	put_signed(t->b, v);
}

void ss_thrift_i64(struct ss_thrift *t, int field, int64_t v)
{
	put_field(t, field, TYPE_I64);
	put_signed(t->b, v);
}

void ss_thrift_element_binary(struct ss_thrift *t, struct ss_str v)
{
	put_varint(t->b, v.n);
	ss_buf_str(t->b, v);
}

void ss_thrift_binary(struct ss_thrift *t, int field, struct ss_str v)
{
	put_field(t, field, TYPE_BINARY);
	ss_thrift_element_binary(t, v);
}

void ss_thrift_list(struct ss_thrift *t, int field, enum ss_thrift_type type, size_t n)
{
	put_field(t, field, TYPE_LIST);
	ss_buf_char(t->b, (char)((n < 15 ? n : 15) << 4 | (unsigned)type));
	if (n >= 15)
		put_varint(t->b, n);
}

void ss_thrift_element_i32(struct ss_thrift *t, int32_t v)
{
	put_signed(t->b, v);
}

void ss_thrift_begin(struct ss_thrift *t, int field)
{
	if (field)
		put_field(t, field, TYPE_STRUCT);
	ss_assert(t->depth + 1 < SS_THRIFT_DEPTH);
	t->last[++t->depth] = 0;
}

void ss_thrift_end(struct ss_thrift *t)
{
	ss_buf_char(t->b, 0);
	if (t->depth)
		t->depth--;
}
