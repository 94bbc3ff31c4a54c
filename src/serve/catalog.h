/*
 * catalog.h - the log directory as requests see it: a snapshot, shared and replaced.
 */
#ifndef SS_SERVE_CATALOG_H
#define SS_SERVE_CATALOG_H

#include "location/location.h"

#include <pthread.h>

struct ss_snapshot {
	struct ss_store store;
	unsigned refs;		/* under the catalog's lock */
	int64_t made_ms, took_ms;
};

struct ss_catalog {
	pthread_mutex_t lock, scanning;
	const struct ss_location *place;
	struct ss_snapshot *now;
};

/* The place stays with the caller. */
void ss_catalog_init(struct ss_catalog *c, const struct ss_location *place);
void ss_catalog_release(struct ss_catalog *c);
/*
 * The newest snapshot. It is made again if it is older than `max_age_ms`; -1: any age. The result of a
 * slow scan is used for ten times as long as the scan took, so that scans do not take all the time.
 */
struct ss_snapshot *ss_catalog_get(struct ss_catalog *c, int64_t max_age_ms, struct ss_err *err);
void ss_catalog_put(struct ss_catalog *c, struct ss_snapshot *s);

#endif
