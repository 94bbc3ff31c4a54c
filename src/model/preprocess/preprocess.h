/*
 * preprocess.h - additions to a host's events before analyses read them (docs/decisions.md).
 *
 * Runs once, inside ss_host_load, over loaded columns. A file whose host and device planes all name
 * the stat group_id came preprocessed and is left alone.
 */
#ifndef SS_MODEL_PREPROCESS_PREPROCESS_H
#define SS_MODEL_PREPROCESS_PREPROCESS_H

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

struct ss_host;
struct ss_line;
struct ss_plane;

/*
 * The meta index of a name that the file does not have; SS_NONE when memory is out. While a plane
 * is being made only. Does not look whether it was made before.
 */
uint32_t ss_plane_add_synthetic_name(struct ss_arena *arena, struct ss_plane *p, struct ss_str name, struct ss_str display_name);

/* Builds the event forest, groups, step names and is_eager (docs/model/preprocess.md). */
bool ss_preprocess_group(struct ss_host *h, struct ss_err *err);
/*
 * May that give events of the host's threads a group? From names alone, of an opened host: there is a
 * group only below a root, and the steps of a TPU reach a thread only by a link that begins on the TPU.
 */
bool ss_preprocess_may_group_threads(const struct ss_host *h);
/* The groups of the kernels of GPUs, and their line "Steps" (docs/model/preprocess.md, "GPU"). */
bool ss_preprocess_gpu_steps(struct ss_host *h, struct ss_err *err);
/* Groups take less room from now on, and do not change any more. */
void ss_preprocess_pack_groups(struct ss_host *h);

#endif
