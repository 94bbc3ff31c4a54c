/*
 * cupti_convert.h - from CUPTI's activity records to events of a device's plane, spelled as XLA and
 * TensorFlow spell them, and to events of the memory profile.
 */
#ifndef SS_INSTRUMENT_CUPTI_CONVERT_H
#define SS_INSTRUMENT_CUPTI_CONVERT_H

#include "cupti.h"
#include "device_planes.h"

#define CONVERT_DEVICES 64u
#define MEMORY_POOLS 4u

/* Inputs of the computation of occupancy and memory; all 0: nothing is known of the device yet. */
struct device_caps {
	uint64_t memory_bytes;
	uint32_t warp, warps_per_sm, blocks_per_sm, shared_per_sm, registers_per_sm, major;
};

/* Running sums need allocations in order of time, in which they do not come. */
struct memory_record {
	uint64_t time_ns;
	const void *record;
};

/* A live allocation. It is kept because a release need not give its size and its kind. */
struct allocation {
	uint64_t address, bytes;	/* address 0: free slot */
	uint32_t device;
	unsigned pool;
};

struct demangled {
	char *raw, *text;	/* text NULL: the name is what it is */
};

struct converter {
	struct device_planes *planes;
	/* CUPTI's clock to that of the session: add, both in ns. Renewed with every buffer. */
	int64_t clock_offset_ns;
	uint64_t start_ns;
	/* The ranges that were open when a call was made, or NULL. */
	const char *(*range_of)(uint32_t correlation);
	struct device_caps caps[CONVERT_DEVICES];
	uint64_t in_use[CONVERT_DEVICES][MEMORY_POOLS], peak[CONVERT_DEVICES][MEMORY_POOLS];
	struct allocation *live; /* by address; slots are a power of two, half of them free */
	size_t nlive, live_slots;
	struct memory_record *memory; /* of the buffer at hand */
	size_t nmemory, memory_room;
	struct demangled demangled[512];
	char *(*demangle)(const char *name, char *out, size_t *n, int *status); /* of the C++ library, if there is one */
	uint64_t early;		/* records from before the session */
	uint64_t untimed;	/* work that was under way at the stop, or of which CUPTI has no times */
};

void ss_converter_init(struct converter *c);
void ss_converter_release(struct converter *c);
/* Facts about a device go onto its plane. The driver and CUPTI may both report it: the first report is kept. */
void ss_convert_facts(struct converter *c, uint32_t device, const struct device_facts *facts);
/* One record of a buffer; kinds that were not asked for are passed over. */
void ss_convert(struct converter *c, const void *record);
/* The buffer is at its end; its records are not needed any more. */
void ss_convert_end(struct converter *c);

/* Share of an SM's threads that blocks of this kind can fill, in percent; 0 if the device is not known. */
double ss_occupancy_pct(const struct device_caps *d, uint32_t threads, uint32_t registers, uint32_t shared_bytes);

#endif
