/*
 * answers.h - the answers that capture_tpu_profile and TensorBoard's profilers of old stored as
 * files, as the tables of the tools that compute them now.
 *
 * legacy.def names the tool, the kind of such files and one of these functions. The model's
 * hosts are then such files; several are combined (legacy/combine.h). What a file does not tell is left
 * out, or empty; XProf's clients get JSON of one file as it stands, as the plug-ins of the time handed
 * it on.
 */
#ifndef SS_LEGACY_ANSWERS_H
#define SS_LEGACY_ANSWERS_H

#include "legacy/legacy.h"
#include "wire/json_tree.h"

struct ss_host;

ss_legacy_fn ss_legacy_overview_page, ss_legacy_input_pipeline, ss_legacy_op_profile, ss_legacy_pod_viewer,
	ss_legacy_framework_op_stats, ss_legacy_kernel_stats, ss_legacy_memory_profile, ss_legacy_tf_data;

/* For those. */

/* The file as a tree, JSON or (with `fields`) protobuf; NULL on failure. Its JSON becomes the answer for XProf's clients. */
const struct ss_jnode *ss_legacy_read(const struct ss_request *q, const struct ss_host *h, const struct ss_pbt_field *fields,
				   struct ss_result *out, struct ss_err *err);
/* The same of JSON that may be nested `levels` deep, not SS_JSON_DEPTH. */
const struct ss_jnode *ss_legacy_read_to(const struct ss_request *q, const struct ss_host *h, const struct ss_pbt_field *fields,
					 size_t levels, struct ss_result *out, struct ss_err *err);
/*
 * Append a DataTable {"cols","rows","p"}. A column gets the properties of its id in `known`; an unknown
 * column keeps its own label. `names` are pairs of an older id and the one it has now, up to NULL.
 */
bool ss_legacy_table(const struct ss_jnode *data_table, const char *name, const char *title, const struct ss_col *known,
		  size_t nknown, const char *const *names, struct ss_result *out);
/* Does the file of this name hold JSON, or a message? */
bool ss_legacy_is_json(const struct ss_host *h);

#endif
