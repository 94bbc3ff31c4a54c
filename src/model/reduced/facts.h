/*
 * facts.h - what the tools over all hosts ask of one host beside its skeleton, as bytes: its
 * planes, operations and steps, where its time went, its requests, its devices. A host that is
 * opened from them has the parts (host/part.h) that the folds take, as its profile would make them:
 * same structs, same order, so the same bits.
 *
 * What takes the events themselves is not there: texts of programs and sources, single events,
 * threads.
 */
#ifndef SS_MODEL_REDUCED_FACTS_H
#define SS_MODEL_REDUCED_FACTS_H

#include "model/cluster/outline.h"
#include "model/host/part.h"
#include "model/reduced/pack.h"

struct ss_host;

struct ss_host_facts {
	struct ss_str bytes;
	struct ss_str *texts;	/* that the bytes have by number */
	uint64_t ntexts;
};

/*
 * The facts of an opened host, in the arena; `why`: the reason where its file is no profile. Loads
 * it. What makes facts impossible is written as their answer.
 */
bool ss_facts_write(struct ss_host_facts *out, struct ss_host *h, const struct ss_err *why, struct ss_arena *arena,
		    struct ss_err *err);
/* A host's packed skeleton, and where its outline is left when it was unpacked. */
struct ss_facts_skeleton {
	struct ss_str packed;
	struct ss_outlines *outlines;
	size_t number;
};

/*
 * A host of these facts and of its skeleton, which stay with the caller; `path` names it. To
 * be closed by ss_host_close. SS_EFORMAT where they are damaged.
 */
bool ss_facts_open(struct ss_host *h, const struct ss_host_facts *facts, const struct ss_facts_skeleton *skeleton, const char *path,
		   struct ss_err *why, struct ss_err *err);

/*
 * The parts of a host, either way: when writing they are made, when reading put. False: `err`
 * tells; damage is p->bad.
 */
typedef bool ss_facts_fn(struct ss_pack *p, struct ss_host *h, struct ss_err *err);
ss_facts_fn ss_facts_ops, ss_facts_steps, ss_facts_time, ss_facts_requests, ss_facts_device, ss_facts_pages;

/* The part, to be filled when reading: zeroed, in the arena. NULL: memory is out, or the bytes are damaged, as `p` remembers. */
void ss_facts_put(struct ss_host *h, enum ss_host_part part, void *data);
void *ss_facts_part(struct ss_pack *p, struct ss_host *h, enum ss_host_part part, size_t size);
/*
 * The part either way: when reading as above, when writing a copy in `own` of what was made. NULL: when writing, it could not be
 * made. Whoever gets NULL answers p->reading.
 */
void *ss_facts_either(struct ss_pack *p, struct ss_host *h, enum ss_host_part part, const void *made, void *own, size_t size);
#define SS_FACTS(p, h, part, made, own) \
	ss_facts_either((p), (h), (part), (p)->reading ? NULL : (made), (own), sizeof(*(own)))

/* planes.c: an XSpace of the host's planes and their stats, without events. */
void ss_facts_planes(const struct ss_host *h, struct ss_buf *to);

#endif
