/* json_tree.c - see json_tree.h. No recursion over JSON: a stack of the nodes that are open. */
#include "wire/json_tree.h"

#include "wire/pb.h"

#include <math.h>

#define PB_DEPTH 16

/* Appends below `parent`, whose last child is *last. */
static struct ss_jnode *add(struct ss_arena *arena, struct ss_jnode *parent, struct ss_jnode **last)
{
	struct ss_jnode *n = SS_NEW(arena, struct ss_jnode);
	if (!n)
		return NULL;
	n->key = n->text = SS_STR("");
	n->num = NAN;
	if (*last)
		(*last)->next = n;
	else if (parent)
		parent->first = n;
	*last = n;
	return n;
}

struct level {
	struct ss_jnode *node, *last;
};

static bool fill(struct ss_jnode *n, const struct ss_jtok *t, struct ss_arena *arena)
{
	n->kind = t->kind;
	if (t->kind != SS_J_STRING && t->kind != SS_J_NUMBER)
		return true;
	n->text = ss_jtok_str(t, arena);
	if (!ss_jtok_f64(t, &n->num))
		n->num = NAN;
	return n->text.p != NULL;
}

const struct ss_jnode *ss_jtree_of_json(struct ss_str text, struct ss_arena *arena, struct ss_err *err)
{
	return ss_jtree_of_json_to(text, SS_JSON_DEPTH, arena, err);
}

/* The bracket was read, the rest is skipped: all of it is the node's text. */
static void leave(struct ss_jsonr *r, const struct ss_jtok *t, struct ss_jnode *n)
{
	const char *begin = r->at - 1;
	if (ss_jsonr_skip(r, t))
		n->text = (struct ss_str){ begin, (size_t)(r->at - begin) };
}

const struct ss_jnode *ss_jtree_of_json_to(struct ss_str text, size_t levels, struct ss_arena *arena, struct ss_err *err)
{
	bool marked = ss_str_starts(text, SS_STR("\xef\xbb\xbf"));
	struct ss_jsonr r = ss_jsonr_of(ss_str_sub(text, marked ? 3 : 0, text.n));
	struct ss_jtok t;
	struct ss_jnode *root = NULL;
	struct ss_str key = SS_STR("");
	size_t depth = 0;
	struct level *open = SS_NEW_N(arena, struct level, SS_JSON_DEPTH + 1);
	while (open && ss_jsonr_next(&r, &t)) {
		if (t.kind == SS_J_KEY) {
			key = ss_jtok_str(&t, arena);
			if (!key.p)
				break;
			continue;
		}
		if (t.kind == SS_J_END) {
			depth--;
			continue;
		}
		struct level none = { NULL, NULL }, *at = depth ? &open[depth - 1] : &none;
		struct ss_jnode *n = add(arena, at->node, &at->last);
		if (!n || !fill(n, &t, arena)) {
			key.p = NULL;
			break;
		}
		n->key = key;
		key = SS_STR("");
		root = root ? root : n;
		bool opens = t.kind == SS_J_OBJECT || t.kind == SS_J_ARRAY;
		if (opens && depth >= levels)
			leave(&r, &t, n);
		else if (opens)
			open[depth++] = (struct level){ n, NULL };
	}
	if (!open || !key.p) {
		ss_fail_mem(err);
		return NULL;
	}
	if (r.bad || !r.done || !root) {
		ss_fail(err, SS_EFORMAT, "it is not valid JSON from byte %zu of %zu on", (size_t)(r.at - text.p), text.n);
		return NULL;
	}
	return root;
}

static void set_number(struct ss_jnode *n, double v)
{
	n->kind = SS_J_NUMBER;
	n->num = v;
}

static const struct ss_pbt_field *find_field(const struct ss_pbt_field *fields, uint32_t key)
{
	static const uint32_t wire[] = {
		[SS_PBT_UINT] = PB_VAR(0),   [SS_PBT_INT] = PB_VAR(0),	  [SS_PBT_UINTS] = PB_VAR(0),  [SS_PBT_FLOAT] = PB_I32(0),
		[SS_PBT_DOUBLE] = PB_I64(0), [SS_PBT_STRING] = PB_LEN(0), [SS_PBT_MESSAGE] = PB_LEN(0),
	};
	for (; fields->number; fields++) {
		bool packed = fields->type == SS_PBT_UINTS && key == PB_LEN(fields->number);
		if (packed || (PB_VAR(fields->number) | wire[fields->type]) == key)
			return fields;
	}
	return NULL;
}

/* The numbers of a packed field, each a node of its own. */
static bool read_packed(struct ss_str bytes, const char *name, struct ss_arena *arena, struct ss_jnode *into,
			struct ss_jnode **last)
{
	const uint8_t *p = (const uint8_t *)bytes.p, *end = p + bytes.n;
	uint64_t v;
	while (p < end && ss_pb_varint(&p, end, &v)) {
		struct ss_jnode *n = add(arena, into, last);
		if (!n)
			return false;
		n->key = ss_str_from(name);
		set_number(n, (double)v);
	}
	return true;
}

static double float_of(uint64_t bits)
{
	uint32_t low = (uint32_t)bits;
	float f;
	memcpy(&f, &low, sizeof(f));
	return (double)f;
}

static bool read_message(struct ss_str bytes, const struct ss_pbt_field *fields, struct ss_arena *arena,
			 struct ss_jnode *into, unsigned depth, bool *bad)
{
	struct ss_pb c = ss_pb_of(bytes);
	struct ss_pb_field f;
	struct ss_jnode *last = NULL;
	into->kind = SS_J_OBJECT;
	while (ss_pb_next(&c, &f)) {
		const struct ss_pbt_field *field = find_field(fields, f.key);
		if (!field)
			continue;
		if (f.key == PB_LEN(field->number) && field->type == SS_PBT_UINTS) {
			if (!read_packed(f.bytes, field->name, arena, into, &last))
				return false;
			continue;
		}
		struct ss_jnode *n = add(arena, into, &last);
		if (!n)
			return false;
		n->key = ss_str_from(field->name);
		switch (field->type) {
		case SS_PBT_UINT:
		case SS_PBT_UINTS:
			set_number(n, (double)f.u);
			break;
		case SS_PBT_INT:
			set_number(n, (double)(int64_t)f.u);
			break;
		case SS_PBT_FLOAT:
			set_number(n, float_of(f.u));
			break;
		case SS_PBT_DOUBLE:
			set_number(n, ss_pb_double(f.u));
			break;
		case SS_PBT_STRING:
			n->kind = SS_J_STRING;
			n->text = f.bytes;
			break;
		case SS_PBT_MESSAGE:
			if (depth < PB_DEPTH && !read_message(f.bytes, field->message, arena, n, depth + 1, bad))
				return false;
			break;
		}
	}
	*bad |= c.bad;
	return true;
}

const struct ss_jnode *ss_jtree_of_pb(struct ss_str bytes, const struct ss_pbt_field *fields, struct ss_arena *arena,
				      struct ss_err *err)
{
	struct ss_jnode *last = NULL, *root = add(arena, NULL, &last);
	bool bad = false;
	if (!root || !read_message(bytes, fields, arena, root, 0, &bad)) {
		ss_fail_mem(err);
		return NULL;
	}
	if (bad || !root->first) {
		ss_fail(err, SS_EFORMAT,
			bad ? "it is malformed or truncated" : "none of its fields is known for this kind of file");
		return NULL;
	}
	return root;
}

const struct ss_jnode *ss_jnode_get(const struct ss_jnode *n, const char *key)
{
	const struct ss_jnode *c = n ? n->first : NULL;
	while (c && !ss_str_is(c->key, key))
		c = c->next;
	return c;
}

const struct ss_jnode *ss_jnode_again(const struct ss_jnode *n)
{
	const struct ss_jnode *c = n->next;
	while (c && !ss_str_eq(c->key, n->key))
		c = c->next;
	return c;
}

struct ss_str ss_jnode_text(const struct ss_jnode *n, const char *key)
{
	const struct ss_jnode *c = ss_jnode_get(n, key);
	return c ? c->text : SS_STR("");
}

double ss_jnode_num(const struct ss_jnode *n, const char *key, double otherwise)
{
	const struct ss_jnode *c = ss_jnode_get(n, key);
	return c && c->num == c->num ? c->num : otherwise;
}

int64_t ss_jnode_int(const struct ss_jnode *n, const char *key, int64_t otherwise)
{
	double d = ss_jnode_num(n, key, NAN);
	return d >= -9.2e18 && d <= 9.2e18 ? (int64_t)d : otherwise;
}

int64_t ss_jnode_i64(const struct ss_jnode *n, const char *key)
{
	struct ss_str text = ss_jnode_text(n, key);
	int64_t i;
	uint64_t u;
	if (ss_str_to_i64(text, &i))
		return i;
	return ss_str_to_u64(text, &u) ? (int64_t)u : ss_jnode_int(n, key, 0);
}

size_t ss_jnode_count(const struct ss_jnode *n)
{
	size_t k = 0;
	for (const struct ss_jnode *c = n ? n->first : NULL; c; c = c->next)
		k++;
	return k;
}
