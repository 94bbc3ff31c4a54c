/* load.c - reading all events of a host and preprocessing them, once. */
#include "model/preprocess/load.h"
#include "model/host/identity.h"

#include "model/host/host.h"
#include "model/host/plane.h"
#include "model/host/read_lines.h"
#include "model/preprocess/preprocess.h"

#include <stdlib.h>

static bool load_lines(struct ss_host *h, struct ss_err *err)
{
	size_t n = 0, k = 0;
	for (uint32_t i = 0; i < h->nplanes; i++)
		n += h->planes[i].nlines;
	struct ss_line_read *reads = malloc((n + 1) * sizeof(*reads));
	if (!reads)
		return ss_fail_mem(err);
	for (uint32_t i = 0; i < h->nplanes; i++)
		for (uint32_t j = 0; j < h->planes[i].nlines; j++)
			reads[k++] = (struct ss_line_read){ &h->planes[i], &h->planes[i].lines[j], NULL };
	bool ok = ss_read_lines(h, reads, n, err);
	free(reads);
	return ok;
}

static void count_events(struct ss_host *h)
{
	uint64_t dropped = 0, clipped = 0;
	for (uint32_t i = 0; i < h->nplanes; i++)
		for (uint32_t j = 0; j < h->planes[i].nlines; j++) {
			const struct ss_line *l = &h->planes[i].lines[j];
			if (l->src) {
				h->nevents += l->ev.n;
				dropped += l->ev.dropped;
				clipped += l->ev.clipped;
			}
		}
	ss_host_note_losses(h, dropped, clipped);
}

static void *load(void *owner, struct ss_err *err)
{
	struct ss_host *h = owner;
	bool ok = load_lines(h, err);
	if (ok && !h->preprocessed)
		ok = ss_preprocess_group(h, err) && ss_preprocess_gpu_steps(h, err);
	if (!ok) {
		/* Restore the state before: memory may be available later, and loading begins anew. */
		ss_host_free_events(h);
		for (uint32_t i = 0; i < h->nplanes; i++)
			h->planes[i].nlines = h->planes[i].x->nlines;
		return NULL;
	}
	ss_preprocess_pack_groups(h);
	count_events(h);
	return h;
}

/* The columns belong to the host itself and are freed with it. */
static void unload(void *data)
{
	(void)data;
}

bool ss_host_load(struct ss_host *h, struct ss_err *err)
{
	if (ss_host_is_described(h))
		return ss_fail(err, SS_EINVAL, "host '" SS_FMT "' is not open", SS_ARG(h->name));
	return ss_part_get(&h->parts[SS_HOST_EVENTS], load, unload, h, err) != NULL;
}
