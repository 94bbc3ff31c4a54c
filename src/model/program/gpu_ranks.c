/* gpu_ranks.c - how many devices take part in a collective, by its groups. */
#include "hlo/field.h"
#include "model/program/gpu_coster.h"

/* The largest of groups that are listed: {{0,1},{2,3}}. */
static uint64_t largest_group(struct ss_str body, uint32_t number)
{
	struct ss_pb c = ss_pb_of(body);
	struct ss_str group;
	uint64_t max = 0;
	while (ss_hlo_next_field(&c, number, &group)) {
		struct ss_hlo_ids it = ss_hlo_ids_of(group, REPLICA_GROUP_IDS);
		uint64_t n = 0;
		int64_t id;
		while (ss_hlo_ids_next(&it, &id))
			n++;
		max = n > max ? n : max;
	}
	return max;
}

static uint64_t axis_size(struct ss_str mesh, uint64_t index)
{
	struct ss_pb c = ss_pb_of(mesh);
	struct ss_str axis;
	while (ss_hlo_next_field(&c, MESH_AXES, &axis))
		if (index-- == 0)
			return ss_hlo_field_u64(axis, MESH_AXIS_SIZE);
	return 1;
}

/* Groups along axes of a mesh: as many as these have devices. */
static uint64_t along_axes(struct ss_str list)
{
	struct ss_str mesh = { "", 0 }, axis, sub;
	struct ss_pb c = ss_pb_of(list);
	uint64_t n = 1;
	ss_hlo_field(list, MESH_LIST_MESH, &mesh);
	while (ss_hlo_next_field(&c, MESH_LIST_AXES, &axis)) {
		uint64_t size = ss_hlo_field(axis, AXIS_REF_SUB, &sub)
					? ss_hlo_field_u64(sub, SUB_AXIS_SIZE)
					: axis_size(mesh, ss_hlo_field_u64(axis, AXIS_REF_INDEX));
		n *= size && size < UINT64_MAX / n ? size : 1;
	}
	return n;
}

uint64_t ss_gpu_ranks(struct ss_str body)
{
	struct ss_str list;
	uint64_t n;
	if (ss_hlo_field(body, HLO_INSTRUCTION_MESH_DEVICE_LIST, &list))
		n = along_axes(list);
	else if (ss_hlo_field(body, HLO_INSTRUCTION_IOTA_DEVICE_LIST, &list))
		n = ss_hlo_field_u64(list, IOTA_GROUP_SIZE);
	else if (ss_hlo_field(body, HLO_INSTRUCTION_DEVICE_LIST, &list))
		n = largest_group(list, DEVICE_LIST_GROUPS);
	else
		n = largest_group(body, HLO_INSTRUCTION_REPLICA_GROUPS);
	return n ? n : 1;
}
