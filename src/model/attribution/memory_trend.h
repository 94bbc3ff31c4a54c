/*
 * memory_trend.h - how the use of memory goes on from step to step, and how near it comes to what there is.
 */
#ifndef SS_MODEL_ATTRIBUTION_MEMORY_TREND_H
#define SS_MODEL_ATTRIBUTION_MEMORY_TREND_H

#include "model/attribution/windows.h"

struct ss_host;

struct ss_memory_trend {
	bool known;		  /* allocations were recorded */
	struct ss_str allocator;  /* whose figures these are: of those that grow, or are full, the one that is most so */
	uint64_t peak_bytes;	  /* most in use */
	uint64_t capacity_bytes;  /* of the device; 0: unknown */
	bool is_device;
	double fragmentation;	  /* at the peak, 0..1: of what is free, outside of the largest block */
	uint64_t free_bytes;	  /* then */
	struct ss_str grower;	  /* the allocator that grows; "" */
	size_t steps, grew;	  /* steps compared, those after which more was in use than ever after one before */
	uint64_t first_bytes, last_bytes; /* in use after the first and the last step */
};

bool ss_memory_trend_read(struct ss_memory_trend *out, struct ss_host *h, const struct ss_windows *w, struct ss_err *err);

#endif
