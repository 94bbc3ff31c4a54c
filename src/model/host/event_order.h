/* event_order.h - the events of a thread as calls: in the order of begins, outer events before nested ones. */
#ifndef SS_MODEL_HOST_EVENT_ORDER_H
#define SS_MODEL_HOST_EVENT_ORDER_H

#include "xspace/events.h"

/* The events that take time by index, *n of them. The caller's to free; NULL when memory is out. */
uint32_t *ss_events_outer_first(const struct ss_xevents *e, size_t *n);

#endif
