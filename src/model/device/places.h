/*
 * places.h - where in the system the TensorCores of a profile are.
 *
 * A plane says it in its stat core_details; where that is missing or empty, by device_id and
 * global_chip_id, and by its name. Cores of one chip are then counted in the order of their planes, and
 * so are the chips of a host. Unknown members are -1.
 */
#ifndef SS_MODEL_DEVICE_PLACES_H
#define SS_MODEL_DEVICE_PLACES_H

#include "base/intern.h"

struct ss_host;

struct ss_place {
	uint32_t core_id; /* as in steps of all hosts: 1000 * number of the host + number of the plane */
	struct ss_str host, hostname;	/* its name, and the one in the file, as ss_host_hostname */
	int64_t global_chip_id, local_chip_id, core_num, device_ordinal, replica_id;
};

struct ss_places {
	struct ss_place *v;
	size_t n, cap;
};

/* Add those of a host, the `number`-th of the run, in the order of its planes. False when memory is out. */
bool ss_places_add(struct ss_places *p, const struct ss_host *h, size_t number, struct ss_intern *intern);

#endif
