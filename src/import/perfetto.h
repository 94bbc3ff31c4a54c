/*
 * perfetto.h - traces of Perfetto (protos/perfetto/trace): the track events in them, as Perfetto's
 * SDK, rocprofv3, Neuron's profiler and others write them.
 *
 * Two passes over the file: what tracks there are and how clocks relate, then the events. What the
 * system's own tracers wrote (ftrace, statistics of processes) is counted and not shown. What
 * becomes of it stands in docs/formats/others.md.
 */
#ifndef SS_IMPORT_PERFETTO_H
#define SS_IMPORT_PERFETTO_H

#include "base/file.h"
#include "import/space_out.h"

/* Counts of packets and events that could not be used. */
struct ss_perfetto_loss {
	uint64_t malformed;	/* packets whose bytes are no message */
	uint64_t beyond;	/* compressed packets that would be longer than such packets may become together */
	uint64_t other;		/* packets of data sources that are not shown */
	uint64_t nameless;	/* events whose name the trace has lost: they are shown without one */
	bool cut;		/* it ends within a packet */
};

/*
 * Put the events into `o`, whose planes then have names. `file`: where the bytes are mapped, whose
 * pages are given back as they are passed, or NULL. SS_EFORMAT when there is no packet in it.
 */
bool ss_perfetto_read(struct ss_str bytes, const struct ss_file *file, struct ss_space_out *o, struct ss_perfetto_loss *loss,
		      struct ss_err *err);

#endif
