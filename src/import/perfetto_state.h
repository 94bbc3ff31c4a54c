/*
 * perfetto_state.h - the tables that packets of a Perfetto trace refer to: tracks, interned names, clocks.
 * Each sequence (the packets of one writer) has its own names and clocks.
 */
#ifndef SS_IMPORT_PERFETTO_STATE_H
#define SS_IMPORT_PERFETTO_STATE_H

#include "base/arena.h"
#include "base/map.h"
#include "base/vec.h"

struct ss_pf_track {
	uint64_t uuid, parent;	/* parent 0: none */
	struct ss_str name;
	struct ss_str process;	/* its process' name, where the track is a process' or a thread's */
	int64_t pid, tid;	/* -1: not told */
	uint32_t plane, line;	/* SS_NONE: not used yet */
};

struct ss_pf_clock {
	uint64_t last_ns;	/* of an incremental one: the latest value */
	uint64_t unit_ns;
	int64_t ahead_ns;	/* of the trace's own clock */
	bool known, incremental;
};

struct ss_pf_sequence {
	uint64_t id;
	uint64_t generation;	/* of its names: older ones are forgotten */
	uint64_t clock, track;	/* of packets and events that name none */
	int64_t reference_us;
};

struct ss_pf_state {
	SS_VEC(struct ss_pf_track) tracks;
	SS_VEC(struct ss_pf_sequence) sequences;
	SS_VEC(struct ss_str) names;
	SS_VEC(struct ss_pf_clock) clocks;
	struct ss_u64map by_uuid, by_sequence, by_name, by_clock;
	struct ss_arena arena;
	bool no_memory;
};

/* Made when it is new; NULL when memory is out. Pointers are good until the next one is made. */
struct ss_pf_track *ss_pf_track(struct ss_pf_state *s, uint64_t uuid);
struct ss_pf_sequence *ss_pf_sequence(struct ss_pf_state *s, uint64_t id);

/* Packets of these fields: TrackDescriptor, InternedData, ClockSnapshot, TracePacketDefaults. */
void ss_pf_take_track(struct ss_pf_state *s, struct ss_str descriptor);
void ss_pf_take_names(struct ss_pf_state *s, const struct ss_pf_sequence *q, struct ss_str interned);
void ss_pf_take_clocks(struct ss_pf_state *s, uint64_t sequence, struct ss_str snapshot);
void ss_pf_take_defaults(struct ss_pf_sequence *q, struct ss_str defaults);
void ss_pf_forget(struct ss_pf_state *s, struct ss_pf_sequence *q); /* incremental state cleared */

/*
 * The name of number `iid` in InternedData's field `field`; false: the trace does not have it (any
 * more).
 */
bool ss_pf_name(const struct ss_pf_state *s, const struct ss_pf_sequence *q, uint32_t field, uint64_t iid, struct ss_str *out);
/*
 * A packet's time on the trace's own clock, in ns. Of an incremental clock this is to be asked once
 * for each packet.
 */
int64_t ss_pf_time_ns(struct ss_pf_state *s, const struct ss_pf_sequence *q, uint64_t clock, uint64_t timestamp);

void ss_pf_free(struct ss_pf_state *s);

#endif
