/*
 * graph_text.c - see graph_text.h. Lengths of messages are written as varints of five bytes, filled
 * in when the message ends; readers do not mind.
 */
#include "legacy/files/graph_text.h"

#include "base/buf.h"

#include <stdlib.h>

enum {
	DEPTH = 32,		/* attributes of functions of attributes ... */
	LENGTH_BYTES = 5,
};

enum type { T_STR, T_INT, T_BOOL, T_FLOAT, T_DOUBLE, T_DTYPE, T_MESSAGE };

enum message {
	GRAPH, VERSIONS, NODE, ATTR, VALUE, LIST, SHAPE, DIM, TENSOR, FUNC, LIBRARY, FUNCTION, SIGNATURE, NMESSAGES
};

/* FIELD(message, name, number, type, message of a T_MESSAGE) */
static const struct field {
	enum message in;
	const char *name;
	uint32_t number;
	enum type type;
	enum message of;
} fields[] = {
	{ GRAPH, "node", 1, T_MESSAGE, NODE },
	{ GRAPH, "library", 2, T_MESSAGE, LIBRARY },
	{ GRAPH, "version", 3, T_INT, 0 },
	{ GRAPH, "versions", 4, T_MESSAGE, VERSIONS },
	{ VERSIONS, "producer", 1, T_INT, 0 },
	{ NODE, "name", 1, T_STR, 0 },
	{ NODE, "op", 2, T_STR, 0 },
	{ NODE, "input", 3, T_STR, 0 },
	{ NODE, "device", 4, T_STR, 0 },
	{ NODE, "attr", 5, T_MESSAGE, ATTR },
	{ ATTR, "key", 1, T_STR, 0 },
	{ ATTR, "value", 2, T_MESSAGE, VALUE },
	{ VALUE, "list", 1, T_MESSAGE, LIST },
	{ VALUE, "s", 2, T_STR, 0 },
	{ VALUE, "i", 3, T_INT, 0 },
	{ VALUE, "f", 4, T_FLOAT, 0 },
	{ VALUE, "b", 5, T_BOOL, 0 },
	{ VALUE, "type", 6, T_DTYPE, 0 },
	{ VALUE, "shape", 7, T_MESSAGE, SHAPE },
	{ VALUE, "tensor", 8, T_MESSAGE, TENSOR },
	{ VALUE, "placeholder", 9, T_STR, 0 },
	{ VALUE, "func", 10, T_MESSAGE, FUNC },
	{ LIST, "s", 2, T_STR, 0 },
	{ LIST, "i", 3, T_INT, 0 },
	{ LIST, "f", 4, T_FLOAT, 0 },
	{ LIST, "b", 5, T_BOOL, 0 },
	{ LIST, "type", 6, T_DTYPE, 0 },
	{ LIST, "shape", 7, T_MESSAGE, SHAPE },
	{ LIST, "tensor", 8, T_MESSAGE, TENSOR },
	{ LIST, "func", 9, T_MESSAGE, FUNC },
	{ SHAPE, "dim", 2, T_MESSAGE, DIM },
	{ SHAPE, "unknown_rank", 3, T_BOOL, 0 },
	{ DIM, "size", 1, T_INT, 0 },
	{ TENSOR, "dtype", 1, T_DTYPE, 0 },
	{ TENSOR, "tensor_shape", 2, T_MESSAGE, SHAPE },
	{ TENSOR, "tensor_content", 4, T_STR, 0 },
	{ TENSOR, "float_val", 5, T_FLOAT, 0 },
	{ TENSOR, "double_val", 6, T_DOUBLE, 0 },
	{ TENSOR, "int_val", 7, T_INT, 0 },
	{ TENSOR, "string_val", 8, T_STR, 0 },
	{ TENSOR, "int64_val", 10, T_INT, 0 },
	{ TENSOR, "bool_val", 11, T_BOOL, 0 },
	{ FUNC, "name", 1, T_STR, 0 },
	{ FUNC, "attr", 2, T_MESSAGE, ATTR },
	{ LIBRARY, "function", 1, T_MESSAGE, FUNCTION },
	{ FUNCTION, "signature", 1, T_MESSAGE, SIGNATURE },
	{ FUNCTION, "node_def", 3, T_MESSAGE, NODE },
	{ SIGNATURE, "name", 1, T_STR, 0 },
};

/* Words for DataTypes, by number. */
static const char *const dtypes[] = {
	"DT_INVALID", "DT_FLOAT", "DT_DOUBLE", "DT_INT32", "DT_UINT8", "DT_INT16", "DT_INT8", "DT_STRING", "DT_COMPLEX64",
	"DT_INT64", "DT_BOOL", "DT_QINT8", "DT_QUINT8", "DT_QINT32", "DT_BFLOAT16", "DT_QINT16", "DT_QUINT16", "DT_UINT16",
	"DT_COMPLEX128", "DT_HALF", "DT_RESOURCE", "DT_VARIANT", "DT_UINT32", "DT_UINT64", "DT_FLOAT8_E5M2",
	"DT_FLOAT8_E4M3FN", "DT_FLOAT8_E4M3FNUZ", "DT_FLOAT8_E4M3B11FNUZ", "DT_FLOAT8_E5M2FNUZ", "DT_INT4", "DT_UINT4",
	"DT_INT2", "DT_UINT2",
};

struct text {
	const char *at, *end, *begin;
	struct ss_buf out;
	const char *wrong;	/* what is malformed at `at` */
};

static bool bad(struct text *t, const char *what)
{
	if (!t->wrong)
		t->wrong = what;
	return false;
}

static void skip_space(struct text *t)
{
	while (t->at < t->end) {
		char c = *t->at;
		if (c == '#')
			while (t->at < t->end && *t->at != '\n')
				t->at++;
		else if (c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\v' || c == '\f')
			t->at++;
		else
			return;
	}
}

static bool take(struct text *t, char c)
{
	skip_space(t);
	if (t->at == t->end || *t->at != c)
		return false;
	t->at++;
	return true;
}

static bool is_word(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' || c == '-' ||
	       c == '+';
}

/* A name, number or enumerator; empty if there is none. */
static struct ss_str word(struct text *t)
{
	skip_space(t);
	const char *from = t->at;
	while (t->at < t->end && is_word(*t->at))
		t->at++;
	return (struct ss_str){ from, (size_t)(t->at - from) };
}

/* The byte that an escape stands for; `at` is behind the backslash. */
static char unescape(struct text *t)
{
	static const char letters[] = "abfnrtv", bytes[] = "\a\b\f\n\r\t\v";
	char c = *t->at++;
	const char *letter = memchr(letters, c, sizeof(letters) - 1);
	int base = c == 'x' || c == 'X' ? 16 : 8, value = 0, max = base == 16 ? 2 : 3;
	if (letter)
		return bytes[letter - letters];
	if (base == 8 && (c < '0' || c > '7'))
		return c;
	if (base == 8)
		t->at--;
	for (int i = 0; i < max && t->at < t->end; i++) {
		int digit = ss_hex_digit(*t->at);
		if (digit < 0 || digit >= base)
			break;
		value = value * base + digit;
		t->at++;
	}
	return (char)(unsigned char)value;
}

/* One or several quoted texts, which are one; with `out` NULL passed over. */
static bool quoted(struct text *t, struct ss_buf *out)
{
	bool any = false;
	for (;; any = true) {
		skip_space(t);
		if (t->at == t->end || (*t->at != '"' && *t->at != '\''))
			return any || bad(t, "a text in quotes is missing");
		char quote = *t->at++;
		while (t->at < t->end && *t->at != quote) {
			char c = *t->at++;
			if (c == '\\' && t->at < t->end)
				c = unescape(t);
			if (out)
				ss_buf_char(out, c);
		}
		if (!take(t, quote))
			return bad(t, "a text has no end");
	}
}

static void put_varint(struct ss_buf *b, uint64_t v)
{
	for (; v >= 0x80; v >>= 7)
		ss_buf_char(b, (char)(v | 0x80));
	ss_buf_char(b, (char)v);
}

static void put_little_endian(struct ss_buf *b, uint64_t v, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		ss_buf_char(b, (char)(v >> 8 * i));
}

/* Begin something of a length that is not known yet; returns where its length stands. */
static size_t begin_length(struct ss_buf *b, uint32_t number)
{
	put_varint(b, number << 3 | 2);
	size_t at = b->n;
	for (unsigned i = 0; i < LENGTH_BYTES; i++)
		ss_buf_char(b, 0);
	return at;
}

static void end_length(struct ss_buf *b, size_t at)
{
	if (b->no_memory || b->over)
		return;
	uint64_t n = b->n - at - LENGTH_BYTES;
	for (unsigned i = 0; i < LENGTH_BYTES; i++, n >>= 7)
		b->p[at + i] = (char)((n & 0x7f) | (i + 1 < LENGTH_BYTES ? 0x80 : 0));
}

static bool put_number(struct text *t, const struct field *f, struct ss_str w)
{
	struct ss_buf *b = &t->out;
	double d = 0;
	float single;
	uint64_t bits = 0;
	uint32_t low;
	int64_t i;
	if (!ss_str_to_f64(w, &d)) {
		struct ss_str bare = ss_str_sub(w, w.n && w.p[0] == '-', w.n);
		if (!ss_str_ieq(bare, SS_STR("inf")) && !ss_str_ieq(bare, SS_STR("infinity")) && !ss_str_ieq(bare, SS_STR("nan")) &&
		    !(w.n && (w.p[w.n - 1] == 'f' || w.p[w.n - 1] == 'F') && ss_str_to_f64(ss_str_sub(w, 0, w.n - 1), &d)))
			return bad(t, "a number is missing");
		if (bare.n && (bare.p[0] == 'i' || bare.p[0] == 'I'))
			d = w.p[0] == '-' ? -(double)__builtin_inf() : (double)__builtin_inf();
		else if (bare.n && (bare.p[0] == 'n' || bare.p[0] == 'N'))
			d = __builtin_nan("");
	}
	switch (f->type) {
	case T_FLOAT:
		single = (float)d;
		memcpy(&low, &single, sizeof(low));
		put_varint(b, f->number << 3 | 5);
		put_little_endian(b, low, 4);
		return true;
	case T_DOUBLE:
		memcpy(&bits, &d, sizeof(bits));
		put_varint(b, f->number << 3 | 1);
		put_little_endian(b, bits, 8);
		return true;
	default:
		if (!ss_str_to_i64(w, &i) && !ss_str_to_u64(w, &bits))
			return bad(t, "a whole number is missing");
		put_varint(b, f->number << 3);
		put_varint(b, ss_str_to_i64(w, &i) ? (uint64_t)i : bits);
		return true;
	}
}

static bool put_word(struct text *t, const struct field *f)
{
	struct ss_str w = word(t);
	uint64_t v = 0;
	if (f->type == T_BOOL) {
		v = ss_str_is(w, "true") || ss_str_is(w, "True") || ss_str_is(w, "t") || ss_str_is(w, "1");
	} else if (f->type == T_DTYPE && !ss_str_to_u64(w, &v)) {
		struct ss_str bare = w;
		if (ss_str_ends(bare, SS_STR("_REF")))
			bare.n -= 4;
		for (size_t i = 0; i < SS_COUNT(dtypes); i++)
			if (ss_str_is(bare, dtypes[i]))
				v = i + (bare.n != w.n ? 100 : 0);
	} else if (f->type != T_DTYPE) {
		return put_number(t, f, w);
	}
	if (!w.n)
		return bad(t, "a value is missing");
	put_varint(&t->out, f->number << 3);
	put_varint(&t->out, v);
	return true;
}

static bool read_message(struct text *t, enum message m, char close, unsigned depth);

/* '{' or '<' opens a message; returns what closes it, 0 if there is none. */
static char open_message(struct text *t)
{
	return take(t, '{') ? '}' : take(t, '<') ? '>' : 0;
}

static bool put_value(struct text *t, const struct field *f, unsigned depth)
{
	size_t at;
	char close;
	switch (f->type) {
	case T_STR:
		at = begin_length(&t->out, f->number);
		if (!quoted(t, &t->out))
			return false;
		end_length(&t->out, at);
		return true;
	case T_MESSAGE:
		close = open_message(t);
		if (!close)
			return bad(t, "a brace is missing");
		at = begin_length(&t->out, f->number);
		if (!read_message(t, f->of, close, depth + 1))
			return false;
		end_length(&t->out, at);
		return true;
	default:
		return put_word(t, f);
	}
}

/* A value of a field that is not known: text, word or all up to the matching brace. */
static bool skip_value(struct text *t)
{
	unsigned open = 0;
	do {
		skip_space(t);
		if (t->at == t->end)
			return bad(t, "a value has no end");
		char c = *t->at;
		if (c == '"' || c == '\'') {
			if (!quoted(t, NULL))
				return false;
			continue;
		}
		if (c == '{' || c == '<' || c == '[')
			open++;
		else if ((c == '}' || c == '>' || c == ']') && open-- == 0)
			return bad(t, "a value is missing");
		if (is_word(c))
			word(t);
		else
			t->at++;
	} while (open);
	return true;
}

static const struct field *find_field(enum message m, struct ss_str name)
{
	for (size_t i = 0; i < SS_COUNT(fields); i++)
		if (fields[i].in == m && ss_str_is(name, fields[i].name))
			return &fields[i];
	return NULL;
}

/* "name: value", "name { … }" or "name: [value, value]". */
static bool read_field(struct text *t, enum message m, struct ss_str name, unsigned depth)
{
	const struct field *f = find_field(m, name);
	bool colon = take(t, ':');
	skip_space(t);
	if (!colon && (t->at == t->end || (*t->at != '{' && *t->at != '<')))
		return bad(t, "a colon is missing");
	if (!f)
		return skip_value(t);
	if (!take(t, '['))
		return put_value(t, f, depth);
	while (!take(t, ']'))
		if (!put_value(t, f, depth) || (!take(t, ',') && t->at < t->end && *t->at != ']'))
			return bad(t, "a list is broken");
	return true;
}

/* Fields up to `close`, or to the end of the text where that is 0. */
static bool read_message(struct text *t, enum message m, char close, unsigned depth)
{
	if (depth > DEPTH)
		return bad(t, "messages are nested too deep");
	while (!close || !take(t, close)) {
		struct ss_str name = word(t);
		if (!name.n)
			return (!close && t->at == t->end) || bad(t, "the name of a field is missing");
		if (!read_field(t, m, name, depth))
			return false;
		if (!take(t, ','))
			take(t, ';');
	}
	return true;
}

bool ss_graph_text_is(struct ss_str text)
{
	struct text t = { .at = text.n ? text.p : "", .begin = text.p };
	t.end = t.at + text.n;
	struct ss_str name = word(&t);
	skip_space(&t);
	bool opens = t.at < t.end && (*t.at == '{' || *t.at == '<' || *t.at == ':');
	return find_field(GRAPH, name) && opens;
}

static unsigned line_of(const struct text *t)
{
	unsigned line = 1;
	for (const char *p = t->begin; p < t->at; p++)
		line += *p == '\n';
	return line;
}

bool ss_graph_text_read(struct ss_str text, struct ss_str *graph, struct ss_arena *arena, struct ss_err *err)
{
	struct text t = { .at = text.n ? text.p : "", .begin = text.p };
	t.end = t.at + text.n;
	bool ok = read_message(&t, GRAPH, 0, 0);
	if (!ok && t.wrong)
		ss_fail(err, SS_EFORMAT, "the graph's text is malformed in line %u: %s", line_of(&t), t.wrong);
	ok = ok && ss_buf_ok(&t.out, "the graph", err);
	if (ok) {
		*graph = ss_arena_str(arena, ss_buf_get(&t.out));
		ok = graph->p || ss_fail_mem(err);
	}
	ss_buf_free(&t.out);
	return ok;
}
