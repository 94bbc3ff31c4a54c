/* text_groups.c - which devices a collective's groups are made of, in the three ways that a module says it. */
#include "hlo/literal.h"
#include "hlo/text_parts.h"

/* Groups one by one: {{0,1},{2,3}}. */
static void group_list(struct ss_buf *b, struct ss_str body, uint32_t number)
{
	struct ss_pb c = ss_pb_of(body);
	struct ss_str group;
	ss_buf_char(b, '{');
	for (const char *comma = ""; ss_hlo_next_field(&c, number, &group); comma = ",") {
		ss_buf_z(b, comma);
		ss_buf_char(b, '{');
		ss_hlo_print_ints(b, group, REPLICA_GROUP_IDS);
		ss_buf_char(b, '}');
	}
	ss_buf_char(b, '}');
}

/* T(1,0): in which order dimensions are counted, if it is not their own. */
static bool is_identity(struct ss_str body, uint32_t number)
{
	struct ss_hlo_ids it = ss_hlo_ids_of(body, number);
	int64_t v, k = 0;
	while (ss_hlo_ids_next(&it, &v))
		if (v != k++)
			return false;
	return true;
}

static void transposed(struct ss_buf *b, struct ss_str body, uint32_t dims, uint32_t order)
{
	ss_buf_char(b, '[');
	ss_hlo_print_ints(b, body, dims);
	ss_buf_char(b, ']');
	if (is_identity(body, order))
		return;
	ss_buf_lit(b, "T(");
	ss_hlo_print_ints(b, body, order);
	ss_buf_char(b, ')');
}

/* Groups as a rule: [4,2]<=[2,4]T(1,0) counts devices in one order and cuts them in another. */
static void iota_groups(struct ss_buf *b, struct ss_str iota)
{
	ss_buf_printf(b, "[%lld,%lld]<=", (long long)ss_hlo_field_u64(iota, IOTA_GROUPS),
		      (long long)ss_hlo_field_u64(iota, IOTA_GROUP_SIZE));
	transposed(b, iota, IOTA_RESHAPE_DIMS, IOTA_TRANSPOSE);
}

#define MOST_DIMS 16u
#define MOST_DEVICES (1u << 20)

/* The same one by one. False: it is no rule for as many devices as there are groups of their size. */
static bool iota_one_by_one(struct ss_buf *b, struct ss_str iota)
{
	uint64_t dims[MOST_DIMS], strides[MOST_DIMS], order[MOST_DIMS], at[MOST_DIMS] = { 0 };
	uint64_t groups = ss_hlo_field_u64(iota, IOTA_GROUPS), size = ss_hlo_field_u64(iota, IOTA_GROUP_SIZE), n = 1;
	struct ss_hlo_ids dim = ss_hlo_ids_of(iota, IOTA_RESHAPE_DIMS), turn = ss_hlo_ids_of(iota, IOTA_TRANSPOSE);
	unsigned rank = 0, turned = 0;
	int64_t v;
	for (; rank < MOST_DIMS && ss_hlo_ids_next(&dim, &v); n *= dims[rank++]) {
		if (v < 1 || (uint64_t)v > MOST_DEVICES || n > MOST_DEVICES)
			return false;
		dims[rank] = (uint64_t)v;
		order[rank] = rank;
	}
	while (turned < rank && ss_hlo_ids_next(&turn, &v) && v >= 0 && v < (int64_t)rank)
		order[turned++] = (uint64_t)v;
	if (!size || n > MOST_DEVICES || groups > MOST_DEVICES || size > MOST_DEVICES || groups * size != n)
		return false;
	if (turned && turned != rank)
		return false;
	for (unsigned k = rank; k-- > 0;)
		strides[k] = k + 1 < rank ? strides[k + 1] * dims[k + 1] : 1;
	for (uint64_t i = 0; i < n && !b->over; i++) {
		uint64_t device = 0;
		for (unsigned k = 0; k < rank; k++)
			device += at[k] * strides[order[k]];
		ss_buf_printf(b, "%s%llu", i % size ? "," : i ? "},{" : "{{", (unsigned long long)device);
		for (unsigned k = rank; k-- > 0 && ++at[k] == dims[order[k]];)
			at[k] = 0;
	}
	ss_buf_lit(b, "}}");
	return true;
}

/* Devices stand in a mesh in the order of their numbers, in another that is a rule, or as they are listed. */
static void mesh_devices(struct ss_buf *b, struct ss_str mesh)
{
	struct ss_str iota;
	if (ss_hlo_has(mesh, MESH_DEVICE_IDS)) {
		ss_buf_lit(b, ", device_ids=(");
		ss_hlo_print_ints(b, mesh, MESH_DEVICE_IDS);
		ss_buf_char(b, ')');
	} else if (ss_hlo_field(mesh, MESH_IOTA, &iota) && !is_identity(iota, MESH_IOTA_TRANSPOSE)) {
		ss_buf_lit(b, ", device_ids=(");
		transposed(b, iota, MESH_IOTA_RESHAPE, MESH_IOTA_TRANSPOSE);
		ss_buf_char(b, ')');
	}
}

static void axis_name(struct ss_buf *b, struct ss_str mesh, uint64_t index)
{
	struct ss_pb c = ss_pb_of(mesh);
	struct ss_str axis, name = { "", 0 };
	while (ss_hlo_next_field(&c, MESH_AXES, &axis))
		if (index-- == 0) {
			ss_hlo_field(axis, MESH_AXIS_NAME, &name);
			break;
		}
	ss_buf_char(b, '\'');
	ss_buf_str(b, name);
	ss_buf_char(b, '\'');
}

/* Groups along axes of a mesh: mesh['x'=4,'y'=2] {'x'}. */
static void mesh_groups(struct ss_buf *b, struct ss_str list)
{
	struct ss_str mesh = { "", 0 }, axis, sub;
	uint64_t k = 0;
	ss_hlo_field(list, MESH_LIST_MESH, &mesh);
	ss_buf_lit(b, "mesh[");
	struct ss_pb c = ss_pb_of(mesh);
	for (; ss_hlo_next_field(&c, MESH_AXES, &axis); k++) {
		if (k)
			ss_buf_char(b, ',');
		axis_name(b, mesh, k);
		ss_buf_printf(b, "=%lld", (long long)ss_hlo_field_u64(axis, MESH_AXIS_SIZE));
	}
	ss_buf_char(b, ']');
	mesh_devices(b, mesh);
	ss_buf_lit(b, " {");
	c = ss_pb_of(list);
	for (const char *comma = ""; ss_hlo_next_field(&c, MESH_LIST_AXES, &axis); comma = ",") {
		ss_buf_z(b, comma);
		axis_name(b, mesh, ss_hlo_field_u64(axis, AXIS_REF_INDEX));
		if (ss_hlo_field(axis, AXIS_REF_SUB, &sub))
			ss_buf_printf(b, ":(%lld)%lld", (long long)ss_hlo_field_u64(sub, SUB_AXIS_PRE_SIZE),
				      (long long)ss_hlo_field_u64(sub, SUB_AXIS_SIZE));
	}
	ss_buf_char(b, '}');
}

void ss_hlo_print_replica_groups(struct ss_hlo_printer *p, struct ss_str body)
{
	struct ss_str list;
	ss_hlo_attr(p, "replica_groups");
	if (ss_hlo_field(body, HLO_INSTRUCTION_MESH_DEVICE_LIST, &list))
		mesh_groups(p->b, list);
	else if (ss_hlo_field(body, HLO_INSTRUCTION_IOTA_DEVICE_LIST, &list))
		p->style == SS_HLO_CANONICAL && iota_one_by_one(p->b, list) ? (void)0 : iota_groups(p->b, list);
	else if (ss_hlo_field(body, HLO_INSTRUCTION_DEVICE_LIST, &list))
		group_list(p->b, list, DEVICE_LIST_GROUPS);
	else
		group_list(p->b, body, HLO_INSTRUCTION_REPLICA_GROUPS);
}
