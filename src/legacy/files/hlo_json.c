/* hlo_json.c - writing JSON as protobuf by the schema in schema.def. */
#include "legacy/files/hlo_json.h"

#include "hlo/schema.h"
#include "wire/pb_out.h"
#include "xspace/fields.h"

#define MAX_DEPTH 64

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

/* Maps have other JSON than their entries: they are left out, because nothing here needs them. */
static const struct ss_schema_field *find(const struct ss_schema *s, uint16_t message, struct ss_str key)
{
	for (const struct ss_schema_field *f = s->messages[message]; f->number; f++)
		if (!f->is_map && is_name(key, f->name))
			return f;
	return NULL;
}

static bool enum_number(const struct ss_schema *s, uint16_t of, const struct ss_jnode *n, uint64_t *out)
{
	if (n->kind == SS_J_NUMBER && n->num >= 0 && n->num < 1e9) {
		*out = (uint64_t)n->num;
		return true;
	}
	for (const struct ss_schema_value *v = s->enums[of]; v->name; v++)
		if (ss_str_is(n->text, v->name)) {
			*out = (uint64_t)v->number;
			return true;
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

static void put_message(const struct ss_schema *s, uint16_t message, const struct ss_jnode *n, struct ss_buf *b, unsigned depth);

static void put_value(const struct ss_schema *s, const struct ss_schema_field *f, const struct ss_jnode *n, struct ss_buf *b,
		      unsigned depth)
{
	uint64_t number;
	struct ss_buf inner = { 0 };
	switch ((enum ss_schema_type)f->type) {
	case SS_SCHEMA_INT32:
	case SS_SCHEMA_INT64:
	case SS_SCHEMA_UINT32:
	case SS_SCHEMA_UINT64:
		ss_pbo_uint(b, f->number, whole(n));
		break;
	case SS_SCHEMA_BOOL:
		ss_pbo_uint(b, f->number, n->kind == SS_J_TRUE || ss_str_is(n->text, "true"));
		break;
	case SS_SCHEMA_FLOAT:
		put_float(b, f->number, n->num);
		break;
	case SS_SCHEMA_DOUBLE:
		ss_pbo_double(b, f->number, n->num);
		break;
	case SS_SCHEMA_STRING:
		ss_pbo_bytes(b, f->number, n->text);
		break;
	case SS_SCHEMA_ENUM:
		if (enum_number(s, f->of, n, &number))
			ss_pbo_uint(b, f->number, number);
		break;
	case SS_SCHEMA_MESSAGE:
		if (n->kind != SS_J_OBJECT || depth == MAX_DEPTH)
			break;
		put_message(s, f->of, n, &inner, depth + 1);
		ss_pbo_bytes(b, f->number, ss_buf_get(&inner));
		b->no_memory |= inner.no_memory;
		ss_buf_free(&inner);
		break;
	case SS_SCHEMA_BYTES:	/* base64, of what no tool looks at */
		break;
	}
}

static void put_message(const struct ss_schema *s, uint16_t message, const struct ss_jnode *n, struct ss_buf *b, unsigned depth)
{
	for (const struct ss_jnode *c = n->first; c; c = c->next) {
		const struct ss_schema_field *f = find(s, message, c->key);
		if (!f || c->kind == SS_J_NULL)
			continue;
		if (c->kind != SS_J_ARRAY) {
			put_value(s, f, c, b, depth);
			continue;
		}
		for (const struct ss_jnode *e = c->first; e; e = e->next)
			put_value(s, f, e, b, depth);
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
	struct ss_schema s;
	ss_schema_read(&s);
	const struct ss_jnode *root = ss_jtree_of_json(text, &arena, err);
	const struct ss_jnode *module = ss_jnode_get(root, "hloModule");
	if (!module)
		module = ss_jnode_get(root, "hlo_module");
	bool ok = root && (module || ss_fail(err, SS_EFORMAT, "it holds no program"));
	if (ok) {
		put_message(&s, SS_MSG_HloProto, root, &program, 0);
		ss_hlo_put_space(space, ss_jnode_text(module, "name"), ss_jnode_int(module, "id", 0), ss_buf_get(&program));
		ok = (!program.no_memory && !space->no_memory) || ss_fail_mem(err);
	}
	ss_buf_free(&program);
	ss_arena_release(&arena);
	return ok;
}
