/*
 * meaning.h - what kind of work an event of a device is, in the five words of the page's colours.
 */
#ifndef SS_MODEL_STEPS_MEANING_H
#define SS_MODEL_STEPS_MEANING_H

#include <stdint.h>

struct ss_plane;

enum ss_meaning {
	SS_MEANING_OTHER,	/* not known, or only around others: a loop, a call */
	SS_MEANING_COMPUTE,
	SS_MEANING_COMMUNICATION, /* with other devices */
	SS_MEANING_COPY,
	SS_MEANING_INPUT,	/* waiting for the host's data */
	SS_MEANING_COUNT
};

/* By the HLO category or the name of the kernel, of any event with this metadata. */
enum ss_meaning ss_event_meaning(const struct ss_plane *p, uint32_t meta);
/* "other", "compute", "communication", "copy", "input" */
const char *ss_meaning_name(enum ss_meaning m);

#endif
