/* hlo_json.c - writing JSON as protobuf by the schema in schema.def. */
#include "legacy/files/hlo_json.h"

#include "wire/pb_out.h"
#include "xspace/fields.h"

#define MAX_DEPTH 64

enum type { INT32, INT64, UINT32, UINT64, BOOL, FLOAT, DOUBLE, STRING, BYTES, ENUM_TYPE, MESSAGE_TYPE };

/* Messages and enums are numbered in the order of the list. */
#define FIELD(number, type, name)
#define REPEATED_FIELD FIELD
#define SHOWN_ZERO_FIELD FIELD
#define ENUM_FIELD FIELD
#define REPEATED_ENUM_FIELD FIELD
#define SHOWN_ZERO_ENUM_FIELD FIELD
#define MESSAGE_FIELD FIELD
#define MAP_FIELD FIELD
#define VALUE(number, name)
enum message {
#define MESSAGE(id) MSG_##id,
#define ENUM(id)
#include "hlo/schema.def"
#undef MESSAGE
#undef ENUM
	MESSAGE_COUNT
};

enum enumeration {
#define MESSAGE(id)
#define ENUM(id) ENUM_##id,
#include "hlo/schema.def"
#undef MESSAGE
#undef ENUM
	ENUM_COUNT
};
#undef FIELD
#undef REPEATED_FIELD
#undef SHOWN_ZERO_FIELD
#undef ENUM_FIELD
#undef REPEATED_ENUM_FIELD
#undef SHOWN_ZERO_ENUM_FIELD
#undef MESSAGE_FIELD
#undef MAP_FIELD
#undef VALUE

struct row {
	uint16_t number;	/* of the field; 0: here begins message `of` */
	uint8_t type;
	uint16_t of;		/* message or enum */
	const char *name;
};

/* Maps have other JSON than their entries: they are left out, nothing here needs them. */
static const struct row rows[] = {
#define MESSAGE(id) { .of = MSG_##id },
#define FIELD(num, kind, text) { .number = num, .type = kind, .name = #text },
#define REPEATED_FIELD FIELD
#define SHOWN_ZERO_FIELD FIELD
#define ENUM_FIELD(num, id, text) { .number = num, .type = ENUM_TYPE, .of = ENUM_##id, .name = #text },
#define REPEATED_ENUM_FIELD ENUM_FIELD
#define SHOWN_ZERO_ENUM_FIELD ENUM_FIELD
#define MESSAGE_FIELD(num, id, text) { .number = num, .type = MESSAGE_TYPE, .of = MSG_##id, .name = #text },
#define MAP_FIELD(num, id, text)
#define ENUM(id)
#define VALUE(num, text)
#include "hlo/schema.def"
#undef MESSAGE
#undef FIELD
#undef ENUM_FIELD
#undef MESSAGE_FIELD
#undef MAP_FIELD
#undef ENUM
#undef VALUE
};

static const struct value {
	int32_t owner, number;	/* owner -1: the enum that began last */
	const char *name;
} values[] = {
#define MESSAGE(id)
#define FIELD(num, kind, text)
#define ENUM_FIELD FIELD
#define MESSAGE_FIELD FIELD
#define MAP_FIELD FIELD
#define ENUM(id) { ENUM_##id, 0, NULL },
#define VALUE(num, text) { -1, num, #text },
#include "hlo/schema.def"
};

/* First row of each message, found once for each text. */
struct writer {
	uint16_t messages[MESSAGE_COUNT];
};

/* "entryComputationName" is entry_computation_name; so is that itself. */
static bool is_name(struct ss_str key, const char *name)
{
	size_t i = 0;
	if (ss_str_is(key, name))
		return true;
	for (bool up = false; *name; name++) {
		if (*name == '_') {
			up = true;
			continue;
		}
		char c = up && *name >= 'a' && *name <= 'z' ? (char)(*name - 32) : *name;
		up = false;
		if (i >= key.n || key.p[i++] != c)
			return false;
	}
	return i == key.n;
}

static const struct row *find(const struct writer *w, uint16_t message, struct ss_str key)
{
	for (size_t i = w->messages[message]; i < SS_COUNT(rows) && rows[i].number; i++)
		if (is_name(key, rows[i].name))
			return &rows[i];
	return NULL;
}

static bool enum_number(uint16_t of, const struct ss_jnode *n, uint64_t *out)
{
	bool inside = false;
	if (n->kind == SS_J_NUMBER && n->num >= 0 && n->num < 1e9) {
		*out = (uint64_t)n->num;
		return true;
	}
	for (size_t i = 0; i < SS_COUNT(values); i++) {
		if (values[i].owner >= 0)
			inside = values[i].owner == of;
		else if (inside && ss_str_is(n->text, values[i].name)) {
			*out = (uint64_t)values[i].number;
			return true;
		}
	}
	return false;
}

static uint64_t whole(const struct ss_jnode *n)
{
	int64_t i;
	uint64_t u;
	if (ss_str_to_i64(n->text, &i))
		return (uint64_t)i;
	if (ss_str_to_u64(n->text, &u))
		return u;
	return n->num >= -9e18 && n->num <= 9e18 ? (uint64_t)(int64_t)n->num : 0;
}

static void put_float(struct ss_buf *b, uint32_t field, double v)
{
	float f = (float)v;
	uint32_t bits;
	memcpy(&bits, &f, sizeof(bits));
	ss_pbo_varint(b, (uint64_t)field << 3 | 5);
	for (unsigned i = 0; i < 32; i += 8)
		ss_buf_char(b, (char)(bits >> i));
}

static void put_message(const struct writer *w, uint16_t message, const struct ss_jnode *n, struct ss_buf *b, unsigned depth);

static void put_value(const struct writer *w, const struct row *f, const struct ss_jnode *n, struct ss_buf *b, unsigned depth)
{
	uint64_t number;
	struct ss_buf inner = { 0 };
	switch ((enum type)f->type) {
	case INT32:
	case INT64:
	case UINT32:
	case UINT64:
		ss_pbo_uint(b, f->number, whole(n));
		break;
	case BOOL:
		ss_pbo_uint(b, f->number, n->kind == SS_J_TRUE || ss_str_is(n->text, "true"));
		break;
	case FLOAT:
		put_float(b, f->number, n->num);
		break;
	case DOUBLE:
		ss_pbo_double(b, f->number, n->num);
		break;
	case STRING:
		ss_pbo_bytes(b, f->number, n->text);
		break;
	case ENUM_TYPE:
		if (enum_number(f->of, n, &number))
			ss_pbo_uint(b, f->number, number);
		break;
	case MESSAGE_TYPE:
		if (n->kind != SS_J_OBJECT || depth == MAX_DEPTH)
			break;
		put_message(w, f->of, n, &inner, depth + 1);
		ss_pbo_bytes(b, f->number, ss_buf_get(&inner));
		b->no_memory |= inner.no_memory;
		ss_buf_free(&inner);
		break;
	case BYTES:	/* base64, of what no tool looks at */
		break;
	}
}

static void put_message(const struct writer *w, uint16_t message, const struct ss_jnode *n, struct ss_buf *b, unsigned depth)
{
	for (const struct ss_jnode *c = n->first; c; c = c->next) {
		const struct row *f = find(w, message, c->key);
		if (!f || c->kind == SS_J_NULL)
			continue;
		if (c->kind != SS_J_ARRAY) {
			put_value(w, f, c, b, depth);
			continue;
		}
		for (const struct ss_jnode *e = c->first; e; e = e->next)
			put_value(w, f, e, b, depth);
	}
}

bool ss_hlo_json_is(struct ss_str text)
{
	struct ss_str head = ss_str_sub(text, 0, 256);
	return ss_str_contains(head, SS_STR("\"hloModule\"")) || ss_str_contains(head, SS_STR("\"hlo_module\""));
}

void ss_hlo_put_space(struct ss_buf *space, struct ss_str name, int64_t id, struct ss_str program)
{
	struct ss_buf stat = { 0 }, meta = { 0 }, entry = { 0 }, plane = { 0 };
	ss_pbo_bytes(&plane, XPLANE_NAME, SS_STR("/host:metadata"));
	ss_pbo_uint(&stat, XSTAT_METADATA_ID, 1);
	ss_pbo_bytes(&stat, XSTAT_BYTES_VALUE, program);
	ss_pbo_uint(&meta, XEVENT_METADATA_META_ID, 1);
	ss_buf_printf(&entry, SS_FMT "(%lld)", SS_ARG(name), (long long)id);
	ss_pbo_bytes(&meta, XEVENT_METADATA_NAME, ss_buf_get(&entry));
	ss_pbo_bytes(&meta, XEVENT_METADATA_STATS, ss_buf_get(&stat));
	entry.n = 0;
	ss_pbo_uint(&entry, 1, 1);
	ss_pbo_bytes(&entry, 2, ss_buf_get(&meta));
	ss_pbo_bytes(&plane, XPLANE_EVENT_METADATA, ss_buf_get(&entry));
	stat.n = entry.n = 0;
	ss_pbo_uint(&stat, XSTAT_METADATA_META_ID, 1);
	ss_pbo_bytes(&stat, XSTAT_METADATA_NAME, SS_STR("Hlo Proto"));
	ss_pbo_uint(&entry, 1, 1);
	ss_pbo_bytes(&entry, 2, ss_buf_get(&stat));
	ss_pbo_bytes(&plane, XPLANE_STAT_METADATA, ss_buf_get(&entry));
	ss_pbo_bytes(space, XSPACE_PLANES, ss_buf_get(&plane));
	space->no_memory |= stat.no_memory || meta.no_memory || entry.no_memory || plane.no_memory;
	ss_buf_free(&stat);
	ss_buf_free(&meta);
	ss_buf_free(&entry);
	ss_buf_free(&plane);
}

bool ss_hlo_json_read(struct ss_str text, struct ss_buf *space, struct ss_err *err)
{
	struct ss_arena arena = { 0 };
	struct ss_buf program = { 0 };
	struct writer w = { { 0 } };
	for (size_t i = 0; i < SS_COUNT(rows); i++)
		if (!rows[i].number)
			w.messages[rows[i].of] = (uint16_t)(i + 1);
	const struct ss_jnode *root = ss_jtree_of_json(text, &arena, err);
	const struct ss_jnode *module = ss_jnode_get(root, "hloModule");
	if (!module)
		module = ss_jnode_get(root, "hlo_module");
	bool ok = root && (module || ss_fail(err, SS_EFORMAT, "it holds no program"));
	if (ok) {
		put_message(&w, MSG_HloProto, root, &program, 0);
		ss_hlo_put_space(space, ss_jnode_text(module, "name"), ss_jnode_int(module, "id", 0), ss_buf_get(&program));
		ok = (!program.no_memory && !space->no_memory) || ss_fail_mem(err);
	}
	ss_buf_free(&program);
	ss_arena_release(&arena);
	return ok;
}
