/*
 * chrome_trace.h - traces in Chrome's JSON (Trace Event Format), as XProf, PyTorch (Kineto),
 * TensorFlow's timeline, Perfetto's exporter and many others write them; gzipped or not.
 *
 * The text is read event by event and never held as a whole. docs/formats/legacy.md describes the
 * members that are read and their conversion.
 */
#ifndef SS_IMPORT_CHROME_TRACE_H
#define SS_IMPORT_CHROME_TRACE_H

#include "base/file.h"
#include "import/space_out.h"

/* Counts of events that could not be used. */
struct ss_chrome_loss {
	uint64_t malformed;	/* events that are no JSON object, or lack a phase or a time */
	uint64_t endless;	/* of PyTorch's, whose length is missing: no work is counted for them */
	uint64_t unknown;	/* of a phase that has no place on a timeline */
	uint64_t negative;	/* with a duration below 0: shown without one */
	uint64_t not_numbers;	/* with a time or duration that is NaN or infinite: left out, or shown without a duration */
	uint64_t other_clock;	/* with a time beyond that of microseconds: nanoseconds, perhaps; left out */
	uint64_t same_launch;	/* calls whose correlation another call of the process has */
	uint64_t same_arrow;	/* arrows that begin with the id of another */
	uint64_t long_values;	/* events or members that are longer than an event can be */
	bool no_work;		/* PyTorch's profiler wrote it, and no operator, call or work of a device is in it */
	bool cut;		/* the text ends early, or is damaged from some point on */
	bool more;		/* something stands behind its end */
	bool too_long;		/* it decompresses to more than the limit */
};

/*
 * Put the events into `o`, whose planes then have names. `f` is the file as it stands; its pages
 * are given back as they are passed. `hostname` is set if the trace names one, in o's arena.
 * SS_EFORMAT when there is no list of events in it.
 */
bool ss_chrome_read(const struct ss_file *f, struct ss_space_out *o, struct ss_str *hostname, struct ss_chrome_loss *loss,
		    struct ss_err *err);

#endif
