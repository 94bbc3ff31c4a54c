/*
 * kinds.h - files that are not profiles but that tools read; their names tell their kinds.
 *
 * Two places hold such files. Beside a profile: what the program itself logged, anywhere in the
 * directory that holds plugins/profile (TensorBoard's event files). In a run's own directory: what
 * the profilers of old wrote there in place of a profile.
 */
#ifndef SS_STORE_KINDS_H
#define SS_STORE_KINDS_H

#include "base/str.h"

enum ss_place {
	SS_PLACE_SIDECAR = 1 << 0,
	SS_PLACE_RUN = 1 << 1,
	SS_PLACE_NAMED = 1 << 2,	/* the user named this very file */
	SS_PLACE_LOOSE = 1 << 3,	/* any directory, which is a run then where there is no plugins/profile */
};

/* A tool that reads such files says so with the same word (legacy/legacy.def). */
#define SS_KIND_FILE_GRAPH "graph"
#define SS_KIND_FILE_END_TO_END "end_to_end"
#define SS_KIND_FILE_SNAPSHOT "memory_snapshot"

/* A file that 'stepscope merge' makes: tools over many hosts answer from it (model/reduced/part.h). */
#define SS_KIND_FILE_PART "part"

/*
 * Answers that capture_tpu_profile and TensorBoard's profilers of old stored in a run's directory
 * in place of, or beside, a trace. Tools show them as their own (legacy/legacy.def).
 */
#define SS_KIND_FILE_OVERVIEW "answer:overview_page"
#define SS_KIND_FILE_INPUT "answer:input_pipeline"
#define SS_KIND_FILE_OP_PROFILE "answer:op_profile"
#define SS_KIND_FILE_POD "answer:pod_viewer"
#define SS_KIND_FILE_MEMORY "answer:memory_viewer"
#define SS_KIND_FILE_TF_STATS "answer:tensorflow_stats"
#define SS_KIND_FILE_KERNELS "answer:kernel_stats"
#define SS_KIND_FILE_ALLOCATIONS "answer:memory_profile"
#define SS_KIND_FILE_TF_DATA "answer:tf_data"

bool ss_file_kind_is_answer(const char *kind);	/* one of these; NULL: no */
/* Is it opened as it stands? Profiles (NULL) and programs are read as profiles. */
bool ss_file_kind_is_raw(const char *kind);

/*
 * The kind of a file of this name, a static text; NULL: no tool reads it. `label` is what of the
 * name tells such files apart: in a run the name without the suffix of the kind, else all of it.
 */
const char *ss_file_kind(struct ss_str name, unsigned place, struct ss_str *label);
/* Does its name alone say what a file is that the user named: a profile, or one of these kinds? */
bool ss_file_name_tells(struct ss_str name);
/*
 * The kind of a file by its first bytes, whatever its name: a memory snapshot; NULL: none. A pickle
 * that may be anything counts only without `sure`.
 */
const char *ss_file_kind_of_bytes(const char *path, bool sure);
/* Do its first bytes show a profile, or a program of XLA? Then a file *.pb is no graph of TensorFlow. */
bool ss_file_shows_profile(const char *path);
/* The name of the kind of file for messages; `kind` NULL: a profile. */
const char *ss_file_kind_says(const char *kind);

#endif
