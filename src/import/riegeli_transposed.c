/*
 * riegeli_transposed.c - chunks whose records were taken apart: all values of a field stand in one
 * buffer. Machine instructions say how to put them together again: each state writes one tag with a
 * value of its buffer, and bytes of transitions choose the next state. Records are written from the
 * last byte of the last record to the first byte of the first.
 *
 * Everything that is read is checked where it is read. Steps that write nothing are counted, so
 * that the time is linear in the bytes of the chunk and of its records.
 */
#include "import/riegeli_chunk.h"

#include "base/arena.h"
#include "wire/pb_out.h"
#include "wire/packed.h"

#include <stdlib.h>

#define MOST_NESTED 1024	/* submessages; the format's own writer stops at 100 */

enum action {
	NO_OP,
	NON_PROTO,
	START_OF_SUBMESSAGE,
	START_OF_MESSAGE,
	VARINT,			/* its bytes in the buffer, without the bits that go on */
	INLINE,			/* a varint of one byte, in the state itself */
	FIXED,
	STRING,
	GROUP,			/* a tag without a value */
	END_OF_SUBMESSAGE,
};

struct state {
	uint32_t tag;		/* of the field */
	uint32_t next, buffer;
	uint8_t action;		/* enum action */
	uint8_t bytes;		/* of a VARINT and a FIXED; the value of an INLINE */
	bool implicit;		/* its next state is reached without a byte of transitions */
};

struct bucket {
	size_t begin, bytes;	/* in `from` */
};

struct machine {
	struct ss_hold *hold;
	struct ss_arena arena;
	uint64_t arena_held;
	bool over, no_memory;
	struct ss_buf header, buckets, jumps; /* unpacked; the last is the transitions */
	struct bucket *bucket;
	struct ss_pb *buffers;
	struct state *states;
	uint64_t nbuckets, nbuffers, nstates;
	uint64_t first;
	struct ss_pb transitions;
	/* writing */
	char *to;
	size_t at, room;	/* bytes are written before `at` */
	struct {
		size_t at;
		uint32_t tag;
	} stack[MOST_NESTED];
	size_t depth;
	uint64_t nrecords;	/* written so far */
	size_t record_end;	/* of the one that was written last, which is the first of the chunk */
};

static bool number(struct ss_pb *c, uint64_t most, uint64_t *v)
{
	return ss_pb_varint(&c->at, c->end, v) && *v <= most;
}

static uint64_t left(const struct ss_pb *c)
{
	return (uint64_t)(c->end - c->at);
}

/* ---- reading the machine ---- */

/* Cleared; NULL: m->over or m->no_memory says why. */
static void *room_for(struct machine *m, uint64_t n, size_t size)
{
	m->over |= !ss_hold_take(m->hold, n * size);
	if (m->over)
		return NULL;
	m->arena_held += n * size;
	void *p = ss_arena_zalloc(&m->arena, (size_t)n, size);
	m->no_memory |= !p;
	return p;
}

/*
 * A packed piece of the chunk, unpacked into *to. It is copied where it is not packed: whoever
 * writes to the file changes none of it then.
 */
static bool unpack_piece(struct machine *m, int packing, struct ss_pb *data, uint64_t n, struct ss_buf *to, struct ss_err *err)
{
	struct ss_str piece, packed = { (const char *)data->at, (size_t)n };
	bool whole;
	data->at += n;
	if (!ss_riegeli_piece(packing, packed, to, &piece, &whole, err)) {
		m->no_memory = true;
		return false;
	}
	if (packing == SS_PACKED_NOT)
		ss_buf_str(to, piece);
	m->over |= to->over;
	m->no_memory |= to->no_memory;
	return whole && !m->over && !m->no_memory;
}

/* The packed buckets stand between the header and the transitions. */
static bool unpack_buckets(struct machine *m, struct ss_pb *h, struct ss_pb *data, int packing, struct ss_err *err)
{
	m->bucket = room_for(m, m->nbuckets, sizeof(*m->bucket));
	for (uint64_t i = 0; m->bucket && i < m->nbuckets; i++) {
		uint64_t n;
		m->bucket[i].begin = m->buckets.n;
		if (!number(h, left(data), &n) || !unpack_piece(m, packing, data, n, &m->buckets, err))
			return false;
		m->bucket[i].bytes = m->buckets.n - m->bucket[i].begin;
	}
	return m->bucket;
}

static bool read_buffers(struct machine *m, struct ss_pb *h)
{
	struct ss_str all = ss_buf_get(&m->buckets);
	uint64_t k = 0;
	m->buffers = room_for(m, m->nbuffers, sizeof(*m->buffers));
	for (uint64_t i = 0; m->buffers && i < m->nbuffers; i++) {
		uint64_t n;
		while (k < m->nbuckets && !m->bucket[k].bytes && k + 1 < m->nbuckets)
			k++;
		if (!number(h, k < m->nbuckets ? m->bucket[k].bytes : 0, &n))
			return false;
		size_t begin = k < m->nbuckets ? m->bucket[k].begin : 0;
		m->buffers[i] = ss_pb_of(ss_str_sub(all, begin, begin + (size_t)n));
		if (k < m->nbuckets) {
			m->bucket[k].begin += (size_t)n;
			m->bucket[k].bytes -= (size_t)n;
		}
	}
	return m->buffers;
}

static bool is_varint(uint32_t tag)
{
	return tag >= 8 && (tag & 7) == 0;
}

static bool set_action(struct state *s, uint8_t subtype)
{
	static const uint8_t of_wire_type[8] = { VARINT, FIXED, STRING, GROUP, GROUP, FIXED, END_OF_SUBMESSAGE, NO_OP };
	if (s->tag < 8) {
		s->action = (uint8_t)s->tag;
		return s->tag <= START_OF_MESSAGE;
	}
	s->action = of_wire_type[s->tag & 7];
	s->bytes = (s->tag & 7) == 1 ? 8 : 4;
	if (s->action == END_OF_SUBMESSAGE)
		s->tag -= 4;	/* the tag of a field with a length */
	if (s->action == VARINT) {
		s->action = subtype < 10 ? VARINT : INLINE;
		s->bytes = (uint8_t)(subtype < 10 ? subtype + 1 : subtype - 10);
		return subtype < 10 + 128;
	}
	return s->action != NO_OP;
}

static bool has_buffer(const struct state *s)
{
	return s->action == NON_PROTO || s->action == VARINT || s->action == FIXED || s->action == STRING;
}

/*
 * A circle of states that need no transition would never end. Each state is marked with the walk
 * that first met it.
 */
static bool ends_everywhere(struct machine *m)
{
	uint32_t *walk = room_for(m, m->nstates, sizeof(*walk));
	for (uint32_t i = 0; walk && i < m->nstates; i++)
		for (uint32_t s = i; m->states[s].implicit; s = m->states[s].next) {
			if (walk[s] == i + 1)
				return false;
			if (walk[s])
				break;
			walk[s] = i + 1;
		}
	return walk;
}

static bool read_states(struct machine *m, struct ss_pb *h)
{
	uint64_t v, nvarints = 0;
	/* A tag and a next state: two bytes at least. */
	if (!number(h, left(h) / 2, &m->nstates) || !(m->states = room_for(m, m->nstates, sizeof(*m->states))))
		return false;
	for (uint64_t i = 0; i < m->nstates; i++) {
		if (!number(h, UINT32_MAX, &v))
			return false;
		m->states[i].tag = (uint32_t)v;
		nvarints += is_varint((uint32_t)v);
	}
	for (uint64_t i = 0; i < m->nstates; i++) {
		if (!number(h, 2 * m->nstates - 1, &v))
			return false;
		m->states[i].implicit = v >= m->nstates;
		m->states[i].next = (uint32_t)(v >= m->nstates ? v - m->nstates : v);
	}
	const uint8_t *subtype = h->at;
	if (nvarints > left(h))
		return false;
	h->at += nvarints;
	for (uint64_t i = 0; i < m->nstates; i++) {
		struct state *s = &m->states[i];
		if (!set_action(s, is_varint(s->tag) ? *subtype++ : 0))
			return false;
		if (has_buffer(s) && (!m->nbuffers || !number(h, m->nbuffers - 1, &v)))
			return false;
		s->buffer = has_buffer(s) ? (uint32_t)v : 0;
	}
	return m->nstates ? number(h, m->nstates - 1, &m->first) : number(h, 0, &m->first);
}

/* False also where the chunk is damaged. */
static bool read_machine(struct machine *m, const struct ss_riegeli_chunk *c, struct ss_err *err)
{
	struct ss_pb data = ss_pb_of(c->data);
	uint64_t n;
	int packing;
	if (!ss_riegeli_packing(&data, &packing) || !number(&data, UINT64_MAX, &n) || n > left(&data) ||
	    !unpack_piece(m, packing, &data, n, &m->header, err))
		return false;
	struct ss_pb h = ss_pb_of(ss_buf_get(&m->header));
	if (!number(&h, UINT64_MAX, &m->nbuckets) || !number(&h, UINT64_MAX, &m->nbuffers) || m->nbuckets > left(&h) ||
	    m->nbuffers > left(&h))
		return false;
	if (!unpack_buckets(m, &h, &data, packing, err) || !read_buffers(m, &h) || !read_states(m, &h) || left(&h) ||
	    !ends_everywhere(m) || !unpack_piece(m, packing, &data, left(&data), &m->jumps, err))
		return false;
	m->transitions = ss_pb_of(ss_buf_get(&m->jumps));
	return true;
}

/* ---- running it ---- */

static bool put(struct machine *m, const void *p, size_t n)
{
	if (n > m->at)
		return false;
	m->at -= n;
	if (n)
		memcpy(m->to + m->at, p, n);
	return true;
}

static bool put_varint(struct machine *m, uint64_t v)
{
	char bytes[SS_VARINT_BYTES];
	return put(m, bytes, (size_t)(ss_pbo_put(bytes, v) - bytes));
}

static bool put_from(struct machine *m, struct ss_pb *buffer, uint64_t n)
{
	const uint8_t *p = buffer->at;
	if (n > left(buffer))
		return false;
	buffer->at += n;
	return put(m, p, (size_t)n);
}

static bool put_value(struct machine *m, const struct state *s)
{
	struct ss_pb *b = &m->buffers[s->buffer];
	size_t before = m->at;
	if (!put_from(m, b, s->bytes))
		return false;
	for (size_t i = m->at; s->action == VARINT && i + 1 < before; i++)
		m->to[i] = (char)((unsigned char)m->to[i] | 0x80);
	return put_varint(m, s->tag);
}

/* Its length is written as it stands in the buffer. */
static bool put_string(struct machine *m, const struct state *s)
{
	struct ss_pb *b = &m->buffers[s->buffer];
	const uint8_t *begin = b->at;
	uint64_t n;
	if (!number(b, UINT32_MAX, &n) || n > left(b))
		return false;
	b->at += n;
	return put(m, begin, (size_t)(b->at - begin)) && put_varint(m, s->tag);
}

static bool push(struct machine *m, const struct state *s)
{
	if (m->depth == MOST_NESTED)
		return false;
	m->stack[m->depth].at = m->at;
	m->stack[m->depth++].tag = s->tag;
	return true;
}

static bool pop(struct machine *m)
{
	if (!m->depth--)
		return false;
	size_t bytes = m->stack[m->depth].at - m->at;
	return put_varint(m, bytes) && put_varint(m, m->stack[m->depth].tag);
}

/* Records are written backwards: this one is whole now. */
static bool begin_record(struct machine *m, size_t end)
{
	m->record_end = end;
	m->nrecords++;
	return m->depth == 0;
}

static bool step(struct machine *m, const struct state *s, size_t *end)
{
	const char byte = (char)s->bytes;
	uint64_t n;
	switch ((enum action)s->action) {
	case NO_OP:
		return true;
	case NON_PROTO:
		if (!number(&m->buffers[m->nbuffers - 1], UINT32_MAX, &n) || !put_from(m, &m->buffers[s->buffer], n) ||
		    !begin_record(m, *end))
			return false;
		*end = m->at;
		return true;
	case START_OF_SUBMESSAGE:
		return pop(m);
	case START_OF_MESSAGE:
		if (!begin_record(m, *end))
			return false;
		*end = m->at;
		return true;
	case VARINT:
	case FIXED:
		return put_value(m, s);
	case INLINE:
		return put(m, &byte, 1) && put_varint(m, s->tag);
	case STRING:
		return put_string(m, s);
	case GROUP:
		return put_varint(m, s->tag);
	case END_OF_SUBMESSAGE:
		return push(m, s);
	}
	return false;
}

static bool run(struct machine *m, const struct ss_riegeli_chunk *c)
{
	if (!m->nstates)
		return !c->nrecords && !c->decoded_bytes;
	uint64_t at = m->first, steps = 64 + 8 * (left(&m->transitions) + m->room + c->nrecords);
	size_t end = m->at;
	unsigned iterations = m->states[at].implicit ? 1 : 0;
	while (steps--) {
		if (!step(m, &m->states[at], &end) || m->nrecords > c->nrecords)
			return false;
		at = m->states[at].next;
		if (iterations) {
			iterations -= m->states[at].implicit ? 0 : 1;
			continue;
		}
		if (!left(&m->transitions))
			return true;
		uint8_t byte = *m->transitions.at++;
		at += byte >> 2;
		if (at >= m->nstates)
			return false;
		iterations = (byte & 3u) + (m->states[at].implicit ? 1 : 0);
	}
	return false;
}

/* All that is there was used, and nothing is missing. */
static bool is_done(const struct machine *m, const struct ss_riegeli_chunk *c)
{
	for (uint64_t i = 0; i < m->nbuffers; i++)
		if (left(&m->buffers[i]))
			return false;
	return !m->depth && !m->at && m->nrecords == c->nrecords;
}

static bool write_records(struct machine *m, const struct ss_riegeli_chunk *c, struct ss_riegeli_records *r, bool *whole,
			  struct ss_err *err)
{
	size_t begin = r->bytes->n;
	*whole = c->decoded_bytes <= SIZE_MAX / 16;
	m->room = *whole ? (size_t)c->decoded_bytes : 0;
	m->to = m->room ? ss_buf_room(r->bytes, m->room) : NULL;
	if (m->room && !m->to)
		return !r->bytes->no_memory || ss_fail_mem(err);
	m->at = m->room;
	*whole = *whole && run(m, c) && is_done(m, c);
	if (m->room)
		ss_buf_wrote(r->bytes, m->room, *whole ? m->room : 0);
	if (*whole && !r->n)
		r->first_end = begin + m->record_end;
	r->n += *whole ? m->nrecords : 0;
	return true;
}

bool ss_riegeli_transposed(const struct ss_riegeli_chunk *c, struct ss_riegeli_records *r, bool *whole, struct ss_err *err)
{
	struct ss_hold *hold = r->bytes->hold;
	struct machine *m = calloc(1, sizeof(*m));
	*whole = false;
	if (!m)
		return ss_fail_mem(err);
	m->hold = m->header.hold = m->buckets.hold = m->jumps.hold = hold;
	bool readable = !c->cut && read_machine(m, c, err), ok = !m->no_memory || ss_fail_mem(err);
	r->bytes->over |= m->over;
	if (readable)
		ok = write_records(m, c, r, whole, err);
	ss_buf_free(&m->header);
	ss_buf_free(&m->buckets);
	ss_buf_free(&m->jumps);
	ss_hold_give(hold, m->arena_held);
	ss_arena_release(&m->arena);
	free(m);
	return ok;
}
