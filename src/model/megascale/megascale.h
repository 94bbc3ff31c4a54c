/*
 * megascale.h - the life of transfers between slices, on devices and in the runtime that carries
 * them, as tracks of events that point at each other: for a viewer of traces.
 *
 * TensorCores show their steps, modules, operations and annotations. The runtime has a track for
 * each execution of a collective (graph key): copies to the host, sends, receives, copies to the
 * device. A device of the runtime is a TensorCore of this host: both are numbered, and matched in
 * that order. Runs of a program tie both sides together: what begins after the begin of a module
 * belongs to its run.
 */
#ifndef SS_MODEL_MEGASCALE_MEGASCALE_H
#define SS_MODEL_MEGASCALE_MEGASCALE_H

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

struct ss_host;
struct ss_line;
struct ss_plane;

/* An event of a track: of the profile, or made up (`at` is SS_NONE). */
struct ss_ms_event {
	int64_t begin_ps;
	uint64_t dur_ps;	/* 0: an instant */
	const struct ss_line *line;
	uint32_t at;		/* event in the line */
	uint32_t rare;		/* index into more, SS_NONE: nothing more to say */
	int64_t run;		/* run id, SS_MS_NO_RUN; of modules that have a stat run_id, that stat says it */
};

#define SS_MS_NO_RUN INT64_MIN

/* Members that few events have. */
struct ss_ms_rare_stats {
	uint32_t in[3], out[3];	/* flows, from 1: out of one event, into another */
	uint8_t nin, nout;
	bool is_last;		/* the last copy of its execution */
	struct ss_str name;	/* made up: "3 events are hidden", "recv-done.1 END"; "" else */
	struct ss_str hidden;	/* names of hidden events */
};

struct ss_ms_track {
	struct ss_str name;
	const struct ss_plane *plane;
	int64_t device, iteration; /* of the runtime's tracks: their order; -1: none */
	struct ss_ms_event *v;
	size_t n, cap;
};

/* A TensorCore: the tracks of its lines, then those of the runtime. */
struct ss_ms_tpu {
	struct ss_str name;
	int64_t number;
	struct ss_ms_track *lines, *runtime;
	size_t nlines, nruntime, line_cap, runtime_cap;
};

struct ss_ms_point {
	int64_t at_ps;
	double value;
};

enum ss_ms_counter {
	SS_MS_BYTES_RX, SS_MS_BYTES_TX, SS_MS_GBPS_RX, SS_MS_GBPS_TX, SS_MS_INFLIGHT, SS_MS_INFLIGHT_BYTES, SS_MS_COUNTERS
};

struct ss_ms_series {
	struct ss_ms_point *v;
	size_t n, cap;
};

struct ss_megascale {
	struct ss_ms_tpu *tpus;	/* by number */
	size_t ntpus, tpu_cap;
	struct ss_ms_rare_stats *rare;
	size_t nrare, rare_cap;
	struct ss_ms_series counters[SS_MS_COUNTERS];
	struct ss_arena arena;
};

/* Read a loaded host. Release it with ss_megascale_release, also after a failure. */
bool ss_megascale_read(struct ss_megascale *m, const struct ss_host *h, bool group_tiny, struct ss_err *err);
void ss_megascale_release(struct ss_megascale *m);

/* Name for people: the display name, else the name. `more` of the event goes before. */
struct ss_str ss_ms_name(const struct ss_megascale *m, const struct ss_ms_track *t, const struct ss_ms_event *e);

/* The parts of ss_megascale_read, in their order. False when memory is out. */
bool ss_ms_add_flows(struct ss_megascale *m);
bool ss_ms_count(struct ss_megascale *m);

/*
 * The `more` of an event, added when it has none; NULL when memory is out. Good until the next
 * call.
 */
struct ss_ms_rare_stats *ss_ms_rare_stats_of(struct ss_megascale *m, struct ss_ms_event *e);
/* A number at the begin, and what follows it. */
bool ss_ms_read_number(struct ss_str *s, int64_t *v);
/* "device_<n>_gid_<collective>": both parts, if all of `text` up to `end` is that. */
bool ss_ms_parse_key(struct ss_str text, int64_t *device, struct ss_str *collective);
/* Is it the name of an execution: such a key whose collective ends in "_<number>"? */
bool ss_ms_is_execution(struct ss_str name);

#endif
