/*
 * device_planes.h - the planes "/device:GPU:N" of a recording: one line a stream, written while the
 * program runs into a spool file of its own beside the host's, `<host>.gpuN.xplane.pb`, which is a
 * whole XSpace at every moment. At the stop the planes go into the host's file and the spools away.
 *
 * Files that a killed program leaves can be joined: XSpaces one after the other are an XSpace.
 *
 * Not thread-safe: the caller's lock guards it.
 */
#ifndef SS_INSTRUMENT_DEVICE_PLANES_H
#define SS_INSTRUMENT_DEVICE_PLANES_H

#include "ss_trace.h"

struct device_planes;

enum device_event_type {
	DEVICE_KERNEL, DEVICE_MEMCPY_H2D, DEVICE_MEMCPY_D2H, DEVICE_MEMCPY_D2D, DEVICE_MEMCPY_P2P, DEVICE_MEMCPY_OTHER,
	DEVICE_MEMSET, DEVICE_EVENT_TYPES
};

struct device_stat {
	const char *key;	/* a constant: its address is remembered */
	enum ss_trace_kind kind; /* SS_TRACE_TEXT: kept once for all events that have it */
	union { int64_t i; uint64_t u; double d; const char *text; } v;
};

struct device_event {
	enum device_event_type type;
	uint32_t device, context, stream; /* streams are numbered by their context */
	const char *name;
	uint64_t begin_ns, end_ns;	/* since the begin of the session */
	const struct device_stat *stats;
	size_t nstats;
};

struct device_planes_options {
	const char *path;	/* of the host's profile: "<folder>/<host>.xplane.pb" */
	const char *host;
	uint64_t start_unix_ns;
	uint64_t max_bytes;	/* bound of one device's spool */
};

/* NULL when memory is out. Files come into being with a device's first event or stat. */
struct device_planes *ss_device_planes_new(const struct device_planes_options *o);
/* False: there was no room, and the event is counted as dropped. */
bool ss_device_planes_add(struct device_planes *p, const struct device_event *e);
/* A fact about the device. The same key twice: the first stays. */
bool ss_device_planes_fact(struct device_planes *p, uint32_t device, const struct device_stat *stat);
uint64_t ss_device_planes_dropped(const struct device_planes *p);
uint64_t ss_device_planes_events(const struct device_planes *p);
/* The planes in order of devices, lines in order of streams, events in order of time. errno tells why it failed. */
bool ss_device_planes_write(struct device_planes *p, int fd);
/* Removes the spools if `written`; else they stay beside the host's file. */
void ss_device_planes_free(struct device_planes *p, bool written);

#endif
