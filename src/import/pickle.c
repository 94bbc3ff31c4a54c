/* pickle.c - one opcode after the other, each with its operand checked against the end. */
#include "import/pickle.h"

#define FORGET_STRIDE ((size_t)8 << 20)

enum opcode {
	OP_PROTO = 0x80, OP_FRAME = 0x95, OP_STOP = '.',
	OP_EMPTY_DICT = '}', OP_SETITEM = 's', OP_SETITEMS = 'u', OP_EMPTY_LIST = ']', OP_APPEND = 'a', OP_APPENDS = 'e',
	OP_MARK = '(', OP_TUPLE = 't', OP_EMPTY_TUPLE = ')', OP_TUPLE1 = 0x85, OP_TUPLE2 = 0x86, OP_TUPLE3 = 0x87,
	OP_SHORT_BINUNICODE = 0x8c, OP_BINUNICODE = 'X', OP_BINUNICODE8 = 0x8d,
	OP_SHORT_BINBYTES = 'C', OP_BINBYTES = 'B', OP_BINBYTES8 = 0x8e, OP_SHORT_BINSTRING = 'U', OP_BINSTRING = 'T',
	OP_BININT = 'J', OP_BININT1 = 'K', OP_BININT2 = 'M', OP_LONG1 = 0x8a, OP_LONG4 = 0x8b, OP_BINFLOAT = 'G',
	OP_NONE = 'N', OP_NEWTRUE = 0x88, OP_NEWFALSE = 0x89,
	OP_MEMOIZE = 0x94, OP_BINPUT = 'q', OP_LONG_BINPUT = 'r', OP_BINGET = 'h', OP_LONG_BINGET = 'j',
	OP_POP = '0', OP_POP_MARK = '1', OP_DUP = '2',
	OP_LAST = 0x98,		/* of all opcodes */
};

/* Names of opcodes that plain data does not use, for messages. */
static const struct {
	uint8_t opcode;
	bool hostile;
	const char *name;
} others[] = {
	{ 'c', true, "GLOBAL" },       { 0x93, true, "STACK_GLOBAL" }, { 'R', true, "REDUCE" },
	{ 'b', true, "BUILD" },	       { 'i', true, "INST" },	       { 'o', true, "OBJ" },
	{ 0x81, true, "NEWOBJ" },      { 0x92, true, "NEWOBJ_EX" },    { 0x82, true, "EXT1" },
	{ 0x83, true, "EXT2" },	       { 0x84, true, "EXT4" },	       { 'P', true, "PERSID" },
	{ 'Q', true, "BINPERSID" },    { 0x97, true, "NEXT_BUFFER" },  { 0x98, true, "READONLY_BUFFER" },
	{ 0x96, false, "BYTEARRAY8" }, { 0x8f, false, "EMPTY_SET" },   { 0x90, false, "ADDITEMS" },
	{ 0x91, false, "FROZENSET" },  { 'd', false, "DICT" },	       { 'l', false, "LIST" },
	{ 'I', false, "INT" },	       { 'L', false, "LONG" },	       { 'F', false, "FLOAT" },
	{ 'S', false, "STRING" },      { 'V', false, "UNICODE" },      { 'p', false, "PUT" },
	{ 'g', false, "GET" },
};

bool ss_pickle_is(struct ss_str head)
{
	uint8_t first = head.n > 2 ? (uint8_t)head.p[2] : OP_STOP;
	return head.n >= 2 && (uint8_t)head.p[0] == OP_PROTO && head.p[1] >= 2 && head.p[1] <= 5 && first > ' ' &&
	       first <= OP_LAST && first != 0x7f;
}

struct walk {
	const uint8_t *p, *end;
	const struct ss_file *file;
	size_t forgotten;
	struct ss_sb *b;
	uint64_t memoized;	/* by MEMOIZE, which counts */
};

static uint64_t little(const uint8_t *p, unsigned n)
{
	uint64_t v = 0;
	for (unsigned i = 0; i < n; i++)
		v |= (uint64_t)p[i] << (8 * i);
	return v;
}

/* Take an operand of `n` bytes; false when it is not there. */
static bool number(struct walk *w, unsigned n, uint64_t *out)
{
	if ((size_t)(w->end - w->p) < n)
		return false;
	*out = little(w->p, n);
	w->p += n;
	return true;
}

/* Bytes behind a length of `n` bytes. */
static bool counted(struct walk *w, unsigned n, struct ss_str *out)
{
	const uint8_t *at = w->p;
	uint64_t len;
	if (!number(w, n, &len) || len > (uint64_t)(w->end - w->p)) {
		w->p = at;
		return false;
	}
	*out = (struct ss_str){ (const char *)w->p, (size_t)len };
	w->p += len;
	return true;
}

/* Two's complement of any length; what does not fit 64 bits is of no use. */
static bool long_integer(struct walk *w, unsigned n)
{
	struct ss_str s;
	if (!counted(w, n, &s))
		return false;
	const uint8_t *p = (const uint8_t *)s.p;
	size_t len = s.n;
	bool minus = len && p[len - 1] & 0x80;
	while (len > 8 && p[len - 1] == (minus ? 0xff : 0))
		len--;
	if (len > 8) {
		ss_sb_push(w->b, SS_SB_NONE, 0);
		return true;
	}
	uint64_t v = little(p, (unsigned)len);
	if (minus && len < 8)
		v |= UINT64_MAX << (8 * len);
	ss_sb_push(w->b, !minus && v > INT64_MAX ? SS_SB_BIG : SS_SB_INT, v);
	return true;
}

static bool text(struct walk *w, unsigned n)
{
	struct ss_str s;
	if (!counted(w, n, &s))
		return false;
	ss_sb_push_text(w->b, s);
	return true;
}

static bool nothing(struct walk *w, unsigned n)
{
	struct ss_str s;
	if (!counted(w, n, &s))
		return false;
	ss_sb_push(w->b, SS_SB_NONE, 0);
	return true;
}

/* Doubles hold no size or address. Whole ones do, in files that went through other programs. */
static bool real(struct walk *w)
{
	double d;
	uint64_t bits = 0;
	if (w->end - w->p < 8)
		return false;
	for (int i = 0; i < 8; i++)
		bits = bits << 8 | *w->p++;
	memcpy(&d, &bits, sizeof(d));
	bool whole = d >= 0 && d < 9e15 && (double)(int64_t)d == d;
	ss_sb_push(w->b, whole ? SS_SB_INT : SS_SB_NONE, whole ? (uint64_t)(int64_t)d : 0);
	return true;
}

enum step { GO_ON, CUT, REFUSED, DONE };

static enum step have(bool there)
{
	return there ? GO_ON : CUT;
}

static enum step valid(bool good)
{
	return good ? GO_ON : REFUSED;
}

static enum step integer(struct walk *w, unsigned n)
{
	uint64_t v;
	if (!number(w, n, &v))
		return CUT;
	ss_sb_push(w->b, SS_SB_INT, n == 4 ? (uint64_t)(int64_t)(int32_t)v : v);
	return GO_ON;
}

static enum step put(struct walk *w, unsigned n)
{
	uint64_t at;
	return number(w, n, &at) ? valid(ss_sb_memoize(w->b, at)) : CUT;
}

static enum step get(struct walk *w, unsigned n)
{
	uint64_t at;
	return number(w, n, &at) ? valid(ss_sb_get(w->b, at)) : CUT;
}

static enum step skip(struct walk *w, unsigned n)
{
	uint64_t ignored;
	return have(number(w, n, &ignored));
}

static enum step push(struct walk *w, enum ss_sb_kind kind, uint64_t u)
{
	ss_sb_push(w->b, kind, u);
	return GO_ON;
}

/* An opcode that pushes a number, a text, bytes or a constant. */
static enum step value(struct walk *w, uint8_t op)
{
	switch (op) {
	case OP_BININT1:
		return integer(w, 1);
	case OP_BININT2:
		return integer(w, 2);
	case OP_BININT:
		return integer(w, 4);
	case OP_LONG1:
		return have(long_integer(w, 1));
	case OP_LONG4:
		return have(long_integer(w, 4));
	case OP_SHORT_BINUNICODE:
	case OP_SHORT_BINSTRING:
		return have(text(w, 1));
	case OP_BINUNICODE:
	case OP_BINSTRING:
		return have(text(w, 4));
	case OP_BINUNICODE8:
		return have(text(w, 8));
	case OP_SHORT_BINBYTES:
		return have(nothing(w, 1));
	case OP_BINBYTES:
		return have(nothing(w, 4));
	case OP_BINBYTES8:
		return have(nothing(w, 8));
	case OP_BINFLOAT:
		return have(real(w));
	case OP_NONE:
		return push(w, SS_SB_NONE, 0);
	case OP_NEWTRUE:
	case OP_NEWFALSE:
		return push(w, SS_SB_INT, op == OP_NEWTRUE);
	default:
		return REFUSED;
	}
}

static enum step step(struct walk *w, uint8_t op)
{
	switch (op) {
	case OP_BINGET:
		return get(w, 1);
	case OP_LONG_BINGET:
		return get(w, 4);
	case OP_MEMOIZE:
		return valid(ss_sb_memoize(w->b, w->memoized++));
	case OP_BINPUT:
		return put(w, 1);
	case OP_LONG_BINPUT:
		return put(w, 4);
	case OP_EMPTY_DICT:
		ss_sb_push_dict(w->b);
		return GO_ON;
	case OP_EMPTY_LIST:
		ss_sb_push_list(w->b);
		return GO_ON;
	case OP_MARK:
		return push(w, SS_SB_MARK, 0);
	case OP_SETITEMS:
		return valid(ss_sb_setitems(w->b));
	case OP_SETITEM:
		return valid(ss_sb_setitem(w->b));
	case OP_APPENDS:
		return valid(ss_sb_appends(w->b));
	case OP_APPEND:
		return valid(ss_sb_append(w->b));
	case OP_TUPLE:
		return valid(ss_sb_tuple(w->b, -1));
	case OP_EMPTY_TUPLE:
	case OP_TUPLE1:
	case OP_TUPLE2:
	case OP_TUPLE3:
		return valid(ss_sb_tuple(w->b, op == OP_EMPTY_TUPLE ? 0 : op - OP_TUPLE1 + 1));
	case OP_POP:
		return valid(ss_sb_pop(w->b, false));
	case OP_POP_MARK:
		return valid(ss_sb_pop(w->b, true));
	case OP_PROTO:
		return skip(w, 1);
	case OP_FRAME:
		return skip(w, 8);
	case OP_STOP:
		return DONE;
	default:
		return value(w, op);
	}
}

static void refuse(struct ss_pickle_end *end, const struct ss_sb *b, uint8_t op)
{
	end->opcode = b->full ? "more values at one time than plain data has" : "an opcode that does not fit the preceding values";
	for (size_t i = 0; i < SS_COUNT(others); i++)
		if (others[i].opcode == op) {
			end->opcode = others[i].name;
			end->hostile = others[i].hostile;
		}
}

static void forget(struct walk *w)
{
	size_t at = (size_t)((const char *)w->p - w->file->bytes.p);
	if (at - w->forgotten < FORGET_STRIDE)
		return;
	ss_file_forget(w->file, ss_str_sub(w->file->bytes, w->forgotten, at));
	w->forgotten = at;
}

void ss_pickle_walk(struct ss_str bytes, const struct ss_file *file, struct ss_sb *b, struct ss_pickle_end *end)
{
	const uint8_t *begin = (const uint8_t *)(bytes.n ? bytes.p : "");
	struct walk w = { .p = begin, .end = begin + bytes.n, .file = file, .b = b };
	enum step s = CUT;
	*end = (struct ss_pickle_end){ 0 };
	while (!b->no_memory && w.p < w.end) {
		const uint8_t *at = w.p;
		s = step(&w, *w.p++);
		if (b->full)
			s = REFUSED;
		if (s != GO_ON) {
			end->at = (uint64_t)(at - begin);
			if (s == REFUSED)
				refuse(end, b, *at);
			break;
		}
		s = CUT; /* unless it goes on */
		if (file)
			forget(&w);
	}
	end->cut = s == CUT;
}
