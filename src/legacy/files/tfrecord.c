/* tfrecord.c - see tfrecord.h. */
#include "legacy/files/tfrecord.h"

enum { HEAD_BYTES = SS_TFRECORD_HEAD_BYTES, FOOT_BYTES = 4 };

/*
 * The polynomial 0x1edc6f41, reflected, four bits at a time: a table of 64 bytes that is easily
 * checked. Payloads of interest are a few megabytes, so a larger table would not be noticed.
 */
static const uint32_t nibbles[16] = {
	0x00000000, 0x105ec76f, 0x20bd8ede, 0x30e349b1, 0x417b1dbc, 0x5125dad3, 0x61c69362, 0x7198540d,
	0x82f63b78, 0x92a8fc17, 0xa24bb5a6, 0xb21572c9, 0xc38d26c4, 0xd3d3e1ab, 0xe330a81a, 0xf36e6f75,
};

uint32_t ss_crc32c(struct ss_str bytes)
{
	uint32_t crc = UINT32_MAX;
	for (size_t i = 0; i < bytes.n; i++) {
		crc ^= (unsigned char)bytes.p[i];
		crc = crc >> 4 ^ nibbles[crc & 15];
		crc = crc >> 4 ^ nibbles[crc & 15];
	}
	return ~crc;
}

static uint64_t little_endian(const char *p, unsigned n)
{
	uint64_t v = 0;
	for (unsigned i = 0; i < n; i++)
		v |= (uint64_t)(unsigned char)p[i] << 8 * i;
	return v;
}

/* `s` is followed by its masked checksum. */
static bool fits(struct ss_str s)
{
	uint32_t crc = ss_crc32c(s);
	uint32_t masked = (crc >> 15 | crc << 17) + 0xa282ead8u;
	return masked == little_endian(s.p + s.n, FOOT_BYTES);
}

bool ss_tfrecord_intact(struct ss_str record)
{
	return fits(record);
}

bool ss_tfrecord_next(struct ss_tfrecord *r, struct ss_str *record)
{
	size_t left = r->bytes.n - r->at;
	if (!left || r->cut || r->bad)
		return false;
	if (left < HEAD_BYTES) {
		r->cut = true;
		return false;
	}
	const char *p = r->bytes.p + r->at;
	if (!fits((struct ss_str){ p, 8 })) {
		r->bad = true;
		return false;
	}
	uint64_t n = little_endian(p, 8);
	if (left - HEAD_BYTES < FOOT_BYTES || n > left - HEAD_BYTES - FOOT_BYTES) {
		r->cut = true;
		return false;
	}
	*record = (struct ss_str){ p + HEAD_BYTES, (size_t)n };
	r->at += HEAD_BYTES + (size_t)n + FOOT_BYTES;
	r->nrecords++;
	return true;
}
