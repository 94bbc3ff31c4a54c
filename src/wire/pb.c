/* pb.c - the rare half of the protobuf cursor. */
#include "wire/pb.h"

#define MAX_GROUP_DEPTH 64

bool ss_pb_varint_slow(const uint8_t **p, const uint8_t *end, uint64_t *out)
{
	const uint8_t *q = *p;
	uint64_t v = 0;
	for (unsigned shift = 0; q < end && shift < 70; shift += 7) {
		uint8_t byte = *q++;
		if (shift < 64)
			v |= (uint64_t)(byte & 0x7f) << shift;
		if (byte < 0x80) {
			*p = q;
			*out = v;
			return true;
		}
	}
	return false;
}

static bool fixed(struct ss_pb *c, const uint8_t *p, size_t width, struct ss_pb_field *f)
{
	if ((size_t)(c->end - p) < width)
		return false;
	f->u = 0;
	for (size_t i = 0; i < width; i++)
		f->u |= (uint64_t)p[i] << (8 * i);
	c->at = p + width;
	return true;
}

/* A length that runs past the end: all that is left for a lenient cursor, malformed for others. */
static bool over_long(struct ss_pb *c, struct ss_pb_field *f)
{
	uint64_t n;
	const uint8_t *q = c->at;
	if (!c->lenient || !ss_pb_varint(&q, c->end, &n) || !ss_pb_varint(&q, c->end, &n))
		return false;
	f->bytes = (struct ss_str){ (const char *)q, (size_t)(c->end - q) };
	c->at = c->end;
	c->cut = true;
	return true;
}

/* Groups (wire types 3 and 4) have not been written for twenty years, but they may be skipped, nested ones too. */
static bool skip_group(struct ss_pb *c, const uint8_t *p, struct ss_pb_field *f)
{
	uint32_t open[MAX_GROUP_DEPTH];
	size_t depth = 0;
	open[depth++] = f->key >> 3;
	while (depth) {
		uint64_t key, n;
		if (!ss_pb_varint(&p, c->end, &key) || key < 8 || key > UINT32_MAX)
			return false;
		switch (key & 7) {
		case 0:
			if (!ss_pb_varint(&p, c->end, &n))
				return false;
			break;
		case 3:
			if (depth == MAX_GROUP_DEPTH)
				return false;
			open[depth++] = (uint32_t)(key >> 3);
			break;
		case 4:
			if (open[--depth] != key >> 3)
				return false;
			break;
		case 1:
		case 2:
		case 5:
			n = (key & 7) == 1 ? 8 : 4;
			if ((key & 7) == 2 && !ss_pb_varint(&p, c->end, &n))
				return false;
			if (n > (uint64_t)(c->end - p))
				return false;
			p += n;
			break;
		default:
			return false;
		}
	}
	f->bytes = (struct ss_str){ "", 0 };
	c->at = p;
	return true;
}

bool ss_pb_next_slow(struct ss_pb *c, const uint8_t *p, struct ss_pb_field *f)
{
	bool ok = false;
	switch (f->key & 7) {
	case 1:
		ok = fixed(c, p, 8, f);
		break;
	case 2:
		ok = over_long(c, f);
		break;
	case 3:
		ok = skip_group(c, p, f);
		break;
	case 5:
		ok = fixed(c, p, 4, f);
		break;
	}
	c->bad = !ok;
	return ok;
}

bool ss_pb_map_entry(struct ss_str entry, uint64_t *key, struct ss_str *value)
{
	struct ss_pb c = ss_pb_of(entry);
	struct ss_pb_field f;
	*key = 0;
	*value = (struct ss_str){ "", 0 };
	while (ss_pb_next(&c, &f)) {
		if (f.key == PB_VAR(1))
			*key = f.u;
		else if (f.key == PB_LEN(2))
			*value = f.bytes;
	}
	return !c.bad;
}
