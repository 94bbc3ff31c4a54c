/* event_order.h - the events of a thread as calls: by begin, outer ones before what they hold. */
#ifndef SS_MODEL_HOST_EVENT_ORDER_H
#define SS_MODEL_HOST_EVENT_ORDER_H

#include "xspace/events.h"

struct ss_event_order {
	int64_t begin_ps;
	uint64_t dur_ps;
	uint32_t event; /* index in the line */
};

/* The events that take time, *n of them. The caller's to free; NULL when memory is out. */
struct ss_event_order *ss_events_outer_first(const struct ss_xevents *e, size_t *n);

#endif
