/*
 * riegeli_chunk.c - how pieces of chunks are packed, and chunks that hold their records one after
 * the other.
 */
#include "import/riegeli_chunk.h"

#include "wire/packed.h"

bool ss_riegeli_packing(struct ss_pb *data, int *packing)
{
	uint8_t byte = data->at < data->end ? ss_pb_once(data->at++) : 1;
	*packing = byte == 0   ? SS_PACKED_NOT
		   : byte == 'b' ? SS_PACKED_BROTLI
		   : byte == 'z' ? SS_PACKED_ZSTD
				 : SS_PACKED_SNAPPY;
	return byte == 0 || byte == 'b' || byte == 'z' || byte == 's';
}

bool ss_riegeli_piece(int packing, struct ss_str packed, struct ss_buf *to, struct ss_str *piece, bool *whole,
		      struct ss_err *err)
{
	struct ss_pb c = ss_pb_of(packed);
	uint64_t bytes;
	size_t before = to->n;
	*piece = packed;
	*whole = true;
	if (packing == SS_PACKED_NOT)
		return true;
	*piece = SS_STR("");
	*whole = ss_pb_varint(&c.at, c.end, &bytes);
	if (!*whole)
		return true;
	packed = (struct ss_str){ (const char *)c.at, (size_t)(c.end - c.at) };
	if (!ss_unpack_block((enum ss_packing)packing, packed, bytes, to, whole, err))
		return false;
	*piece = ss_str_sub(ss_buf_get(to), before, to->n);
	return true;
}

/*
 * Behind the values that were appended from `begin` on: as many whole records as their sizes say.
 * What is left of one that the file ends in stays.
 */
static bool count_records(const struct ss_riegeli_chunk *c, struct ss_str sizes, size_t begin, struct ss_riegeli_records *r)
{
	struct ss_pb s = ss_pb_of(sizes);
	size_t end = begin;
	uint64_t bytes, i = 0;
	while (i < c->nrecords && ss_pb_varint(&s.at, s.end, &bytes) && bytes <= r->bytes->n - end) {
		end += (size_t)bytes;
		if (!r->n++)
			r->first_end = end;
		i++;
	}
	bool whole = i == c->nrecords && s.at == s.end && end == r->bytes->n;
	r->partial = !whole && c->cut && end < r->bytes->n;
	if (!r->partial)
		r->bytes->n = end;
	else if (!r->n++)
		r->first_end = r->bytes->n;
	return whole;
}

static bool append_values(const struct ss_riegeli_chunk *c, int packing, struct ss_str packed, struct ss_riegeli_records *r,
			  bool *whole, struct ss_err *err)
{
	size_t begin = r->bytes->n;
	struct ss_str values;
	if (!ss_riegeli_piece(packing, packed, r->bytes, &values, whole, err))
		return false;
	if (packing == SS_PACKED_NOT)
		ss_buf_str(r->bytes, values);
	*whole &= r->bytes->n - begin == c->decoded_bytes;
	return !r->bytes->no_memory || ss_fail_mem(err);
}

bool ss_riegeli_simple(const struct ss_riegeli_chunk *c, struct ss_riegeli_records *r, bool *whole, struct ss_err *err)
{
	struct ss_pb d = ss_pb_of(c->data);
	struct ss_buf unpacked = { .hold = r->bytes->hold };
	struct ss_str sizes;
	uint64_t n;
	int packing;
	*whole = ss_riegeli_packing(&d, &packing) && ss_pb_varint(&d.at, d.end, &n) && n <= (uint64_t)(d.end - d.at);
	if (!*whole)
		return true;
	struct ss_str packed = { (const char *)d.at, (size_t)n }, rest = { packed.p + n, (size_t)(d.end - d.at) - (size_t)n };
	bool ok = ss_riegeli_piece(packing, packed, &unpacked, &sizes, whole, err);
	r->bytes->over |= unpacked.over;
	if (ok && *whole && !r->bytes->over) {
		size_t begin = r->bytes->n;
		bool values;
		ok = append_values(c, packing, rest, r, &values, err);
		if (ok)
			*whole = count_records(c, sizes, begin, r) && values;
	}
	ss_buf_free(&unpacked);
	return ok;
}
