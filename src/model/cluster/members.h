/*
 * members.h - which devices take part in one collective: groups as compilers write them.
 *
 *	{{0,1},{2,3}}		one by one
 *	{}			all devices
 *	[2,4]<=[8]		2 groups of 4 of the numbers 0..7 in their order
 *	[4,2]<=[2,4]T(1,0)	... in the order of the transposed array
 *	mesh['x'=4,'y'=2] {'x'}	one group for each place on the other axes
 *	pairs{{0,1},{1,2}}	point to point: from 0 to 1, from 1 to 2
 */
#ifndef SS_MODEL_CLUSTER_MEMBERS_H
#define SS_MODEL_CLUSTER_MEMBERS_H

#include "base/arena.h"

#define SS_MEMBERS_MOST ((uint64_t)1 << 22) /* devices in one text */

struct ss_members {
	bool known;	/* the text was understood */
	bool all;	/* every device is in the one group */
	bool pairs;	/* sources and targets; all devices are in one group */
	uint32_t ngroups;
	uint32_t *size;	/* devices of each group */
	/* By device: its group, and its source (pairs only); UINT32_MAX for none. */
	uint32_t *group_of, *source_of;
	uint32_t ndevices; /* the greatest number and one */
};

/* In `arena`. False when memory is out; a text that is not understood is not known. */
bool ss_members_read(struct ss_members *m, struct ss_str text, struct ss_arena *arena);
/* The group of a device, UINT32_MAX: it is in none. */
static inline uint32_t ss_members_group(const struct ss_members *m, int64_t device)
{
	if (!m->known || m->all)
		return 0;
	return device >= 0 && device < m->ndevices ? m->group_of[device] : UINT32_MAX;
}

/* Devices of a group; 0 where it is all of them, or unknown. */
static inline uint32_t ss_members_size(const struct ss_members *m, uint32_t group)
{
	return group < m->ngroups ? m->size[group] : 0;
}

/* The device that sends to this device; UINT32_MAX: none. */
static inline uint32_t ss_members_source(const struct ss_members *m, int64_t device)
{
	return m->source_of && device >= 0 && device < m->ndevices ? m->source_of[device] : UINT32_MAX;
}

#endif
