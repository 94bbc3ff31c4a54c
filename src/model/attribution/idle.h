/*
 * idle.h - when a device does nothing, one stretch after the other, and what the attribution says of
 * it.
 *
 * A gap is a stretch of the window (attribution.h) in which the device neither computes nor
 * communicates nor copies nor runs a callback, whatever the steps. Its class is the class with the most
 * of its time.
 */
#ifndef SS_MODEL_ATTRIBUTION_IDLE_H
#define SS_MODEL_ATTRIBUTION_IDLE_H

#include "model/attribution/attribution.h"

struct ss_host;

#define SS_MOST_GAPS 200000u /* kept of a device; of more, the longer ones */

struct ss_idle_gap {
	int64_t begin_ps, end_ps;
	uint64_t class_ps; /* that belongs to the class */
	enum ss_time_class class;
};

struct ss_idle_unit {
	struct ss_str device;	 /* "/device:GPU:0"; "" for the program on a CPU */
	struct ss_idle_gap *v;	 /* ascending, disjoint */
	size_t n, cap;
	uint64_t kept_ps;	 /* shorter gaps are only in the sums */
	uint64_t count[SS_TIME_COUNT], ps[SS_TIME_COUNT]; /* of gaps of a class, and how long they are as a whole */
};

struct ss_idle {
	struct ss_idle_unit *units;
	size_t nunits;
	int64_t begin_ps, end_ps; /* the window */
	bool has_starter;
	int64_t starter_id;	  /* line of the thread that starts programs */
	struct ss_str starter;	  /* its name; "" */
};

/* A part of the host; making it takes the time of an attribution. */
const struct ss_idle *ss_host_idle(struct ss_host *h, struct ss_err *err);

#endif
