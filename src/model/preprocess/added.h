/*
 * added.h - collecting the stats that preprocessing adds to events, handed to the lines at the end.
 */
#ifndef SS_MODEL_PREPROCESS_ADDED_H
#define SS_MODEL_PREPROCESS_ADDED_H

#include "base/vec.h"
#include "model/host/plane.h"

struct ss_added {
	SS_VEC(struct ss_added_entry {
		struct ss_added_stats *to;	/* of a line */
		struct ss_added_stat stat;
	}) all;
};

bool ss_added_int(struct ss_added *a, struct ss_added_stats *to, uint32_t event, enum ss_stat stat, int64_t v);
bool ss_added_double(struct ss_added *a, struct ss_added_stats *to, uint32_t event, enum ss_stat stat, double v);
bool ss_added_str(struct ss_added *a, struct ss_added_stats *to, uint32_t event, enum ss_stat stat, struct ss_str s);
/*
 * Give each line its stats, ordered by event and kind of stat, among those it has already. Empties
 * `a`; the lines must not move before. False when memory is out; `a` is then to be freed.
 */
bool ss_added_deliver(struct ss_added *a);
void ss_added_free(struct ss_added *a);

#endif
