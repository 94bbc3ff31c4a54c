/* event_type.c - names of host events. */
#include "model/host/event_type.h"

#include "model/host/opname.h"

static const struct ss_str names[SS_EV_COUNT] = {
	SS_STR_INIT(""),
#define EVENT(id, name) SS_STR_INIT(name),
#include "model/host/event_types.def"
#undef EVENT
};

_Static_assert(SS_EV_COUNT <= 256, "types are stored in a byte");

enum ss_event_type ss_event_type_of_name(struct ss_str name)
{
	size_t at = ss_str_find_in_order(names + 1, SS_EV_COUNT - 1, name);
	return at == SS_NPOS ? SS_EV_UNKNOWN : (enum ss_event_type)(at + 1);
}

enum ss_event_type ss_event_type_of(struct ss_str name)
{
	enum ss_event_type t = ss_event_type_of_name(name);
	if (t != SS_EV_UNKNOWN)
		return t;
	switch (ss_op_name_parse(name).category) {
	case SS_OP_TENSORFLOW:
		return SS_EV_TF_OP_RUN;
	case SS_OP_TFDATA:
		return SS_EV_ITERATOR;
	default:
		return SS_EV_UNKNOWN;
	}
}

uint8_t *ss_plane_event_types(const struct ss_xplane *x, struct ss_arena *arena)
{
	uint8_t *types = ss_arena_alloc(arena, (size_t)x->nevent_meta + 1);
	for (uint32_t i = 0; types && i < x->nevent_meta; i++)
		types[i] = (uint8_t)ss_event_type_of(x->event_meta[i].name);
	return types;
}
