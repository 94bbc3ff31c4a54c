/*
 * event_type.h - the kinds of host events that analyses know by name.
 *
 * An exact name of event_types.def, or else what the name parses to as an operation: TensorFlow
 * operations are TF_OP_RUN, tf.data iterators ITERATOR. The kind depends on the name only: look it
 * up once per metadata, not per event.
 */
#ifndef SS_MODEL_HOST_EVENT_TYPE_H
#define SS_MODEL_HOST_EVENT_TYPE_H

#include "model/host/plane.h"

enum ss_event_type {
	SS_EV_UNKNOWN = 0,
#define EVENT(id, name) SS_EV_##id,
#include "model/host/event_types.def"
#undef EVENT
	SS_EV_COUNT
};

/* Exact names only. */
enum ss_event_type ss_event_type_of_name(struct ss_str name);
/* Exact names and operations. */
enum ss_event_type ss_event_type_of(struct ss_str name);

/* Type by meta index, x->nevent_meta of them, in the arena; NULL when memory is out. */
uint8_t *ss_plane_event_types(const struct ss_xplane *x, struct ss_arena *arena);

/* `types`: of ss_plane_event_types, or NULL for few events. */
static inline enum ss_event_type ss_event_type_at(const uint8_t *types, const struct ss_plane *p, uint32_t meta)
{
	if (meta >= p->x->nevent_meta)
		return SS_EV_UNKNOWN;
	return types ? (enum ss_event_type)types[meta] : ss_event_type_of(p->x->event_meta[meta].name);
}

#endif
