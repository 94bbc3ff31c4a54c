/* text_sharding.c - shardings, frontend attributes and metadata as text. */
#include "base/vec.h"
#include "hlo/literal.h"
#include "hlo/text_parts.h"

#include <stdlib.h>

enum { REPLICATED, MAXIMAL, TUPLE, OTHER, MANUAL, UNKNOWN, UNREDUCED };

static const char *const type_names[] = { "replicated", "maximal", "tuple", "other", "manual", "unknown", "unreduced" };

static const char *type_name(uint64_t type)
{
	return type < SS_COUNT(type_names) ? type_names[type] : "unknown";
}

static void print_transpose(struct ss_buf *b, struct ss_str body, uint32_t number)
{
	struct ss_hlo_ids it = ss_hlo_ids_of(body, number);
	int64_t v, i = 0;
	bool identity = true;
	while (ss_hlo_ids_next(&it, &v))
		identity &= v == i++;
	if (identity)
		return;
	ss_buf_lit(b, "T(");
	ss_hlo_print_ints(b, body, number);
	ss_buf_char(b, ')');
}

/* devices=[2,1]0,1 or [4,2]<=[2,4]T(1,0), then what the last dimensions are. */
static void print_tiled(struct ss_buf *b, struct ss_str s)
{
	struct ss_hlo_ids it;
	int64_t v;
	ss_buf_lit(b, "devices=[");
	ss_hlo_print_ints(b, s, SHARDING_DIMENSIONS);
	ss_buf_char(b, ']');
	it = ss_hlo_ids_of(s, SHARDING_IOTA_DIMS);
	if (ss_hlo_ids_next(&it, &v)) {
		ss_buf_lit(b, "<=[");
		ss_hlo_print_ints(b, s, SHARDING_IOTA_DIMS);
		ss_buf_char(b, ']');
		print_transpose(b, s, SHARDING_IOTA_TRANSPOSE);
	} else {
		ss_hlo_print_ints(b, s, SHARDING_DEVICES);
	}
	if (ss_hlo_field_u64(s, SHARDING_REPLICATE_LAST))
		ss_buf_lit(b, " last_tile_dim_replicate");
	it = ss_hlo_ids_of(s, SHARDING_LAST_DIMS);
	const char *sep = " last_tile_dims={";
	while (ss_hlo_ids_next(&it, &v)) {
		ss_buf_z(b, sep);
		ss_buf_z(b, type_name((uint64_t)v));
		sep = ", ";
	}
	if (*sep == ',')
		ss_buf_char(b, '}');
}

static void print_sharding_metadata(struct ss_hlo_printer *p, struct ss_str s)
{
	struct ss_pb c = ss_pb_of(s);
	struct ss_str one;
	uint32_t n = 0;
	while (ss_hlo_next_field(&c, SHARDING_METADATA, &one))
		n++;
	if (p->metadata && !n && ss_hlo_field_u64(s, SHARDING_TYPE) == UNREDUCED)
		ss_buf_lit(p->b, " metadata={op_type=\"sdy::reduction_op\" op_name=\"SUM\"}");
	if (!p->metadata || !n)
		return;
	ss_buf_z(p->b, n > 1 ? " metadata={" : " metadata=");
	c = ss_pb_of(s);
	for (uint32_t i = 0; ss_hlo_next_field(&c, SHARDING_METADATA, &one); i++) {
		ss_buf_z(p->b, i ? ", {" : "{");
		ss_hlo_print_metadata(p, one);
		ss_buf_char(p->b, '}');
	}
	if (n > 1)
		ss_buf_char(p->b, '}');
}

static void print_one(struct ss_hlo_printer *p, struct ss_str s)
{
	uint64_t type = ss_hlo_field_u64(s, SHARDING_TYPE);
	ss_buf_char(p->b, '{');
	if (type == OTHER) {
		print_tiled(p->b, s);
	} else {
		ss_buf_z(p->b, type_name(type));
		if (type == MAXIMAL) {
			ss_buf_lit(p->b, " device=");
			ss_hlo_print_ints(p->b, s, SHARDING_DEVICES);
		}
	}
	if (ss_hlo_field_u64(s, SHARDING_IS_GROUP))
		ss_buf_printf(p->b, " shard_%s %lld", ss_hlo_field_u64(s, SHARDING_GROUP_TYPE) ? "like" : "as",
			      (long long)ss_hlo_field_u64(s, SHARDING_GROUP_ID));
	print_sharding_metadata(p, s);
	ss_buf_char(p->b, '}');
}

/* Tuples hold shardings of leaves only: they are not nested. */
void ss_hlo_print_sharding(struct ss_hlo_printer *p, struct ss_str s)
{
	if (ss_hlo_field_u64(s, SHARDING_TYPE) != TUPLE) {
		print_one(p, s);
		return;
	}
	struct ss_pb c = ss_pb_of(s);
	struct ss_str one;
	const char *sep = "{";
	while (ss_hlo_next_field(&c, SHARDING_TUPLE, &one)) {
		ss_buf_z(p->b, sep);
		print_one(p, one);
		sep = ", ";
	}
	ss_buf_z(p->b, *sep == ',' ? "}" : "{}");
}

struct pair {
	struct ss_str key, value;
};

static int by_key(const void *a, const void *b)
{
	return ss_str_cmp(((const struct pair *)a)->key, ((const struct pair *)b)->key);
}

static bool read_pairs(struct ss_str attributes, struct pair **out, size_t *n)
{
	SS_VEC(struct pair) v = { 0 };
	struct ss_pb c = ss_pb_of(attributes);
	struct ss_str entry;
	bool ok = true;
	while (ok && ss_hlo_next_field(&c, FRONTEND_ATTRIBUTES_MAP, &entry)) {
		struct pair one = { { "", 0 }, { "", 0 } };
		ss_hlo_field(entry, 1, &one.key);
		ss_hlo_field(entry, 2, &one.value);
		ok = ss_vec_push(&v, one);
	}
	*out = v.v;
	*n = v.n;
	return ok;
}

void ss_hlo_print_frontend_attributes(struct ss_hlo_printer *p, struct ss_str attributes)
{
	struct pair *v;
	size_t n;
	if (!read_pairs(attributes, &v, &n))
		p->no_memory = true;
	if (n)
		qsort(v, n, sizeof(*v), by_key);
	ss_buf_char(p->b, '{');
	for (size_t i = 0; i < n; i++) {
		if (i)
			ss_buf_char(p->b, ',');
		ss_buf_str(p->b, v[i].key);
		ss_buf_char(p->b, '=');
		if (ss_str_starts(v[i].value, SS_STR("{"))) {
			ss_buf_str(p->b, v[i].value);
		} else {
			ss_buf_char(p->b, '"');
			ss_hlo_print_escaped(p->b, v[i].value);
			ss_buf_char(p->b, '"');
		}
	}
	ss_buf_char(p->b, '}');
	free(v);
}

static void metadata_text(struct ss_hlo_printer *p, const char **sep, const char *name, struct ss_str body, uint32_t number)
{
	struct ss_str v = { "", 0 };
	ss_hlo_field(body, number, &v);
	if (!v.n)
		return;
	ss_buf_z(p->b, *sep);
	ss_buf_printf(p->b, "%s=\"", name);
	ss_hlo_print_escaped(p->b, v);
	ss_buf_char(p->b, '"');
	*sep = " ";
}

static void metadata_number(struct ss_hlo_printer *p, const char **sep, const char *name, int64_t v)
{
	if (!v)
		return;
	ss_buf_printf(p->b, "%s%s=%lld", *sep, name, (long long)v);
	*sep = " ";
}

static int64_t frame_of(const struct ss_hlo_printer *p, struct ss_str body)
{
	int64_t id = (int32_t)ss_hlo_field_u64(body, OP_METADATA_STACK_FRAME_ID);
	if (!p->frames)
		return id;
	return id >= 1 && id <= p->nframes ? p->frames[id] : 0;
}

void ss_hlo_print_metadata(struct ss_hlo_printer *p, struct ss_str body)
{
	const char *sep = "";
	struct ss_hlo_ids types = ss_hlo_ids_of(body, OP_METADATA_PROFILE_TYPE);
	int64_t type;
	metadata_text(p, &sep, "op_type", body, OP_METADATA_OP_TYPE);
	metadata_text(p, &sep, "op_name", body, OP_METADATA_OP_NAME);
	metadata_text(p, &sep, "source_file", body, OP_METADATA_SOURCE_FILE);
	metadata_number(p, &sep, "source_line", (int32_t)ss_hlo_field_u64(body, OP_METADATA_SOURCE_LINE));
	metadata_number(p, &sep, "source_end_line", (int32_t)ss_hlo_field_u64(body, OP_METADATA_SOURCE_END_LINE));
	metadata_number(p, &sep, "source_column", (int32_t)ss_hlo_field_u64(body, OP_METADATA_SOURCE_COLUMN));
	metadata_number(p, &sep, "source_end_column", (int32_t)ss_hlo_field_u64(body, OP_METADATA_SOURCE_END_COLUMN));
	if (ss_hlo_ids_next(&types, &type)) {
		ss_buf_printf(p->b, "%sprofile_type={", sep);
		ss_hlo_print_ints(p->b, body, OP_METADATA_PROFILE_TYPE);
		ss_buf_char(p->b, '}');
		sep = " ";
	}
	metadata_text(p, &sep, "deduplicated_name", body, OP_METADATA_DEDUPLICATED_NAME);
	metadata_text(p, &sep, "scheduling_name", body, OP_METADATA_SCHEDULING_NAME);
	metadata_number(p, &sep, "stack_frame_id", frame_of(p, body));
}
