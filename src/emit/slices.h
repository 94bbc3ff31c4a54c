/*
 * slices.h - timelines for our page (docs/api.md): tracks, events and search as JSON, slices as
 * binary columns.
 */
#ifndef SS_EMIT_SLICES_H
#define SS_EMIT_SLICES_H

#include "emit/out.h"
#include "table/timeline.h"

/* GET /api/timeline */
void ss_emit_timeline_layout(struct ss_out *o, const struct ss_timeline *tl);
/* GET /api/timeline/slices: application/octet-stream */
void ss_emit_timeline_slices(struct ss_out *o, const struct ss_timeline *tl);
/* GET /api/timeline/event */
void ss_emit_timeline_event(struct ss_out *o, const struct ss_timeline *tl);
/* GET /api/timeline/search */
void ss_emit_timeline_search(struct ss_out *o, const struct ss_timeline *tl);
/* GET /api/timeline/summary */
void ss_emit_timeline_summary(struct ss_out *o, const struct ss_tl_summary *s);
/* GET /api/timeline/bands */
void ss_emit_timeline_bands(struct ss_out *o, const struct ss_tl_bands *b);
/* GET /api/timeline/gap, steps, names */
void ss_emit_timeline_gap(struct ss_out *o, const struct ss_tl_gap *g);
void ss_emit_timeline_steps(struct ss_out *o, const struct ss_tl_steps *s);
void ss_emit_timeline_names(struct ss_out *o, const struct ss_tl_names *s);

#endif
