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

/*
 * The head of an entry of event_metadata or stat_metadata, up to its text of n bytes: with it whole
 * words, by the key's width.
 */
#define NAME_HEAD_MAX 40u
static inline size_t put_name_head(unsigned char *p, unsigned field, uint32_t id, size_t n)
{
	unsigned width = varint_size(id);
	size_t metan = 1 + width + 1 + varint_size(n) + n;
	size_t inner = 1 + 1 + varint_size(metan) + metan; /* key's tag, value's tag, its length */
	while ((3 + inner + width) % 8)
		width++;
	unsigned char *at = p;
	*at++ = (unsigned char)(field << 3 | 2);
	at = put_varint_n(at, inner + width, 2);
	*at++ = 1 << 3;
	at = put_varint_n(at, id, width);
	*at++ = 2 << 3 | 2;
	at = put_field(put_varint(at, metan), 1, id);
	*at++ = 2 << 3 | 2;
	return (size_t)(put_varint(at, n) - p);
}

/*
 * Append such an entry to a rest that reaches to end and has room for it: NAME_HEAD_MAX + n.
 * Returns its bytes.
 */
static inline size_t append_name(unsigned char *p, const unsigned char *end, unsigned field, uint32_t id, const char *text,
				 size_t n)
{
	unsigned char head[NAME_HEAD_MAX];
	size_t nhead = put_name_head(head, field, id, n);
	uint64_t first;
	put_rest(p + nhead + n, end);
	memcpy(p + 8, head + 8, nhead - 8);
	memcpy(p + nhead, text, n);
	memcpy(&first, head, 8);
	store_word(p, first);
	return nhead + n;
}

/* Bytes of an argument's text that are kept. */
static inline size_t text_bytes(const struct ss_trace_arg *arg)
{
	return arg->kind == SS_TRACE_TEXT && arg->v.text ? strnlen(arg->v.text, TEXT_MAX) : 0;
}

static inline size_t value_bytes(const struct ss_trace_arg *arg, size_t text)
{
	switch (arg->kind) {
	case SS_TRACE_INT:
	case SS_TRACE_UINT:
		return 1 + varint_size(arg->v.u);
	case SS_TRACE_DOUBLE:
		return 1 + 8;
	case SS_TRACE_TEXT:
		return 1 + varint_size(text) + text;
	}
	return 0;
}

static inline unsigned char *put_value(unsigned char *at, const struct ss_trace_arg *arg, size_t text)
{
	switch (arg->kind) {
	case SS_TRACE_INT:
		return put_field(at, XSTAT_INT64, (uint64_t)arg->v.i);
	case SS_TRACE_UINT:
		return put_field(at, XSTAT_UINT64, arg->v.u);
	case SS_TRACE_DOUBLE:
		*at++ = XSTAT_DOUBLE << 3 | 1;
		memcpy(at, &arg->v.d, 8);
		return at + 8;
	case SS_TRACE_TEXT:
		return put_bytes(at, XSTAT_STR, text ? arg->v.text : "", text);
	}
	return at;
}

/*
 * A stat in whole words: the key's varint is as wide as it takes. That of a key which makes a stat
 * of n bytes of value whole words; 0: it cannot be (a key of four bytes and seven of slack).
 */
static inline unsigned stat_width(uint32_t key, size_t n)
{
	unsigned width = varint_size(key);
	while ((3 + 1 + n + width) % 8)
		width++;
	return width > 10 ? 0 : width;
}

static inline unsigned char *put_stat_head(unsigned char *at, uint32_t key, unsigned width, size_t n)
{
	*at++ = XEVENT_STATS << 3 | 2;
	at = put_varint_n(at, 1 + n + width, 2);
	*at++ = XSTAT_METADATA_ID << 3;
	return put_varint_n(at, key, width);
}

static inline size_t put_padded_stat(unsigned char *p, uint32_t key, const unsigned char *value, size_t n)
{
	unsigned width = stat_width(key, n);
	if (!width)
		return 0;
	memcpy(put_stat_head(p, key, width, n), value, n);
	return 4 + width + n;
}

/* At most TEXT_MAX + 32 bytes. */
static inline size_t put_stat(unsigned char *p, uint32_t key, const struct ss_trace_arg *arg)
{
	size_t text = text_bytes(arg), n = value_bytes(arg, text);
	unsigned width = stat_width(key, n);
	if (!width)
		return 0;
	put_value(put_stat_head(p, key, width, n), arg, text);
	return 4 + width + n;
}

/*
 * Events have two forms. In both the duration is the last of the fixed words, so that the end of a scope
 * stores one aligned word; it is 0 while the scope is open. The short form is that of events without
 * stats, which are most.
 *	short	22 16 | 08 id(3) | 10 offset(8) | 18 duration(8)	24 bytes
 *	long	22 length(2) | 08 id(8) | 10 offset(10) | 18 duration(8)	32 bytes, then the stats
 */
#define SHORT_EVENT_BYTES 24u
#define SHORT_ID_BITS 21u
#define OPEN_DURATION UINT64_C(0x0080808080808080)

/* The long form but for the stats: its fixed part. */
static inline void put_event(unsigned char *p, uint32_t id, uint64_t offset_ps, uint64_t duration, size_t stats)
{
	p[0] = XLINE_EVENTS << 3 | 2;
	put_varint_n(p + 1, EVENT_BYTES - 3 + stats, 2);
	p[3] = XEVENT_METADATA_ID << 3;
	put_varint_n(p + 4, id, 8);
	p[12] = XEVENT_OFFSET_PS << 3;
	put_varint10(p + 13, offset_ps);
	p[23] = XEVENT_DURATION_PS << 3;
	memcpy(p + 24, &duration, 8);
}

/*
 * Put the fixed part at p, where a rest begins: its first word, which makes an event of it and of
 * its stats, at last.
 */
static inline void append_head(unsigned char *p, const unsigned char head[static EVENT_BYTES])
{
	uint64_t first;
	memcpy(&first, head, 8);
	memcpy(p + 8, head + 8, EVENT_BYTES - 8);
	store_word(p, first);
}

/*
 * Append an open event of the short form to a rest that reaches to end; the id is below 2^21, the
 * offset at most VARINT8_MAX. Word by word: compilers make one store of two words that they have
 * put together in memory first, and the processor waits for that.
 */
static inline void append_short_event(unsigned char *p, const unsigned char *end, uint32_t id, uint64_t offset_ps, bool deposit)
{
	uint64_t offset = varint8(offset_ps, deposit);
	uint64_t id3 = (id & 0x7f) | (id & 0x3f80) << 1 | (id & 0x1fc000) << 2 | 0x8080;
	if (p + SHORT_EVENT_BYTES < end)
		store_word(p + SHORT_EVENT_BYTES, rest_word_by((uint64_t)(end - p) - SHORT_EVENT_BYTES - 8, deposit));
	store_word(p + 16, OPEN_DURATION);
	store_word(p + 8, offset >> 8 | (uint64_t)(XEVENT_DURATION_PS << 3) << 56);
	store_word(p, (XLINE_EVENTS << 3 | 2) | (SHORT_EVENT_BYTES - 2) << 8 | (uint64_t)(XEVENT_METADATA_ID << 3) << 16 |
		      id3 << 24 | (uint64_t)(XEVENT_OFFSET_PS << 3) << 48 | offset << 56);
}

/* A duration as it is stored. A clock that did not move counts as 1 ps, for 0 says that the scope is open. */
static inline uint64_t duration_word(uint64_t ps, bool deposit)
{
	if (__builtin_expect(ps - 1 >= VARINT8_MAX, 0))
		ps = ps ? VARINT8_MAX : 1;
	return varint8(ps, deposit);
}

/* An event as it stands in a buffer. */
struct event_at {
	uint32_t bytes;
	uint64_t offset_ps;
	unsigned char *duration;
};

static inline struct event_at event_at(unsigned char *p)
{
	if (p[1] < 0x80)
		return (struct event_at){ SHORT_EVENT_BYTES, get_varint_n(p + 7, 8), p + 16 };
	return (struct event_at){ 3u + (p[1] & 0x7fu) + ((uint32_t)p[2] << 7), get_varint_n(p + 13, 9), p + 24 };
}

#endif
