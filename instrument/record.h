/*
 * record.h - the records of a recording: lines, names, events and stats of an XSpace in whole words,
 * so that wire.h can append them to a file that is read at any moment.
 */
#ifndef SS_INSTRUMENT_RECORD_H
#define SS_INSTRUMENT_RECORD_H

#include "recorder.h"
#include "wire.h"

#define TEXT_MAX 1000u		/* bytes of a text that are kept */
#define NAME_MAX_BYTES 8000u	/* of a name: those of C++ kernels are long, and differ at their ends */

/* Header of a line that fills its buffer: id and name in whole words; the width of their varints takes up the slack. */
static inline size_t put_line_header(unsigned char *p, int64_t id, const char *name)
{
	size_t n = strlen(name);
	unsigned narrow = varint_size((uint64_t)id), width = narrow, length = 1;
	while ((1 + width + 1 + length + n) % 8) {
		if (++width <= 10)
			continue;
		width = narrow;
		length++;
	}
	unsigned char *at = p;
	*at++ = XLINE_ID << 3;
	at = put_varint_n(at, (uint64_t)id, width);
	*at++ = XLINE_NAME << 3 | 2;
	at = put_varint_n(at, n, length);
	memcpy(at, name, n);
	return (size_t)(at + n - p);
}

/* An entry of event_metadata or stat_metadata, padded to whole words by the width of its key. */
static inline size_t put_name(unsigned char *p, unsigned field, uint32_t id, const char *text, size_t n)
{
	unsigned char meta[NAME_MAX_BYTES + 32], *end = put_field(meta, 1, id);
	end = put_bytes(end, 2, text, n < NAME_MAX_BYTES ? n : NAME_MAX_BYTES);
	size_t metan = (size_t)(end - meta);
	size_t inner = 1 + 1 + varint_size(metan) + metan; /* key's tag, value's tag, its length */
	unsigned width = varint_size(id);
	while ((3 + inner + width) % 8)
		width++;
	unsigned char *at = p;
	*at++ = (unsigned char)(field << 3 | 2);
	at = put_varint_n(at, inner + width, 2);
	*at++ = 1 << 3;
	at = put_varint_n(at, id, width);
	at = put_bytes(at, 2, meta, metan);
	return (size_t)(at - p);
}

static inline size_t put_value(unsigned char *p, const struct ss_trace_arg *arg)
{
	unsigned char *at = p;
	switch (arg->kind) {
	case SS_TRACE_INT:
		at = put_field(at, XSTAT_INT64, (uint64_t)arg->v.i);
		break;
	case SS_TRACE_UINT:
		at = put_field(at, XSTAT_UINT64, arg->v.u);
		break;
	case SS_TRACE_DOUBLE:
		*at++ = XSTAT_DOUBLE << 3 | 1;
		memcpy(at, &arg->v.d, 8);
		at += 8;
		break;
	case SS_TRACE_TEXT: {
		size_t n = arg->v.text ? strlen(arg->v.text) : 0;
		at = put_bytes(at, XSTAT_STR, arg->v.text ? arg->v.text : "", n < TEXT_MAX ? n : TEXT_MAX);
		break;
	}
	}
	return (size_t)(at - p);
}

/* A stat in whole words: the key's varint is as wide as it takes. At most TEXT_MAX + 32 bytes. */
static inline size_t put_stat(unsigned char *p, uint32_t key, const struct ss_trace_arg *arg)
{
	unsigned char value[TEXT_MAX + 32];
	size_t n = put_value(value, arg), inner = 1 + n;
	unsigned width = varint_size(key);
	while ((3 + inner + width) % 8)
		width++;
	if (width > 10)		/* a key of four bytes and seven of slack */
		return 0;
	unsigned char *at = p;
	*at++ = XEVENT_STATS << 3 | 2;
	at = put_varint_n(at, inner + width, 2);
	*at++ = XSTAT_METADATA_ID << 3;
	at = put_varint_n(at, key, width);
	memcpy(at, value, n);
	return (size_t)(at + n - p);
}

/* 22 length(2) | 08 id(6) | 10 offset(10) | 18 duration(10): 32 bytes, then the stats. */
static inline void put_event(unsigned char *p, uint32_t id, uint64_t offset_ps, size_t stats)
{
	p[0] = XLINE_EVENTS << 3 | 2;
	put_varint_n(p + 1, EVENT_BYTES - 3 + stats, 2);
	p[3] = XEVENT_METADATA_ID << 3;
	put_varint_n(p + 4, id, 6);
	p[10] = XEVENT_OFFSET_PS << 3;
	put_varint10(p + 11, offset_ps);
	p[21] = XEVENT_DURATION_PS << 3;
	put_varint10(p + DURATION_AT, 0);
}

#endif
