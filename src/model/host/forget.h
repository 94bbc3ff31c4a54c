/*
 * forget.h - releasing pages of the file after a walk has passed them.
 *
 * A walk over the stats of lines brings their pages of the file back into memory; this releases
 * them again, some megabytes at a time. The lines of a plane mostly follow one another in the file.
 */
#ifndef SS_MODEL_HOST_FORGET_H
#define SS_MODEL_HOST_FORGET_H

#include "model/host/plane.h"

struct ss_forget {
	const struct ss_host *h;
	const char *from, *to; /* what lies around the places that were walked and not given up */
};

void ss_forget_upto(struct ss_forget *f, const char *at);
/* All of a line was walked. */
void ss_forget_line(struct ss_forget *f, const struct ss_line *l);
/* The walk is over. */
void ss_forget_rest(struct ss_forget *f);

/* Event `i` of the line was read, and of those around it some may be. */
static inline void ss_forget_near(struct ss_forget *f, const struct ss_line *l, uint32_t i)
{
	if (l->ev.base)
		ss_forget_upto(f, l->src->body.p + l->ev.base[i / SS_EVENT_CHUNK]);
}

/* Events up to `i` of the line were walked; of an order that is not the file's, those that lie near. */
static inline void ss_forget_passed(struct ss_forget *f, const struct ss_line *l, uint32_t i)
{
	if (i % SS_EVENT_CHUNK == 0)
		ss_forget_near(f, l, i);
}

#endif
