/*
 * derived.h - lines that only people look at, made of the events of a device.
 */
#ifndef SS_MODEL_TIMELINE_DERIVED_H
#define SS_MODEL_TIMELINE_DERIVED_H

#include "model/preprocess/derive.h"

bool ss_derive_tensor_core(struct ss_host *h, struct ss_plane *p, struct ss_arena *arena, struct ss_err *err);
/* All lines of a GPU but "Steps" (preprocess/gpu_steps.c) and the next. */
bool ss_derive_gpu(struct ss_host *h, struct ss_plane *p, struct ss_arena *arena, struct ss_err *err);
/* The line of launch statistics of every GPU among `planes`, which are parallel to the host's. */
bool ss_derive_launches(struct ss_host *h, struct ss_plane *planes, struct ss_arena *arena, struct ss_err *err);
/* Rows of copies between device and host: events in the order of time, then the rows. */
struct ss_offload *ss_offload_new(struct ss_deriver *d);
/* Has this metadata's name to do with such copies? */
bool ss_offload_concerns(const struct ss_offload *o, uint32_t meta);
bool ss_offload_event(struct ss_offload *o, const struct ss_line *l, uint32_t i);
bool ss_offload_finish(struct ss_offload *o);
void ss_offload_free(struct ss_offload *o);

#endif
