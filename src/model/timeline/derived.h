/*
 * derived.h - lines that only people look at, made of the events of a device.
 */
#ifndef SS_MODEL_TIMELINE_DERIVED_H
#define SS_MODEL_TIMELINE_DERIVED_H

#include "model/preprocess/derive.h"
#include "model/timeline/display_lines.h"

struct ss_host;

/* A line to be added: id is that of enum ss_derived_line, or beyond. */
struct ss_derived {
	uint32_t id;
	int64_t display_id;
	struct ss_str name;
	struct ss_nest nest;
};

/* Add the lines that are not empty to the plane and empty their nests; the others are to be freed. False when memory is out. */
bool ss_display_add_lines(struct ss_display_plane *p, struct ss_arena *arena, struct ss_derived *lines, size_t n);

bool ss_derive_tensor_core(struct ss_host *h, struct ss_display_plane *p, struct ss_arena *arena, struct ss_err *err);
/* All lines of a GPU but "Steps" (preprocess/gpu_steps.c) and the next. */
bool ss_derive_gpu(struct ss_host *h, struct ss_display_plane *p, struct ss_arena *arena, struct ss_err *err);
/* The line of launch statistics of every GPU among `planes`, which are parallel to the host's. */
bool ss_derive_launches(struct ss_host *h, struct ss_display_plane *planes, struct ss_arena *arena, struct ss_err *err);
/* Rows of copies between device and host: events in the order of time, then the rows. */
struct ss_offload *ss_offload_new(struct ss_deriver *d, struct ss_display_plane *p);
/* Has this metadata's name to do with such copies? */
bool ss_offload_concerns(const struct ss_offload *o, uint32_t meta);
bool ss_offload_event(struct ss_offload *o, const struct ss_line *l, uint32_t i);
bool ss_offload_finish(struct ss_offload *o);
void ss_offload_free(struct ss_offload *o);

#endif
