/* kinds.c - the table of names, see kinds.h. */
#include "store/kinds.h"

#include "base/file.h"
#include "import/form.h"
#include "import/names.h"
#include "import/pprof.h"
#include "import/snapshot.h"

/*
 * The first row that fits decides. TensorBoard takes every file with "tfevents" in its name for
 * events; TPUEstimator's log of phases ends in .profile_logger, and older samples of it are called
 * end_2_end. A file *.profile-empty says that a profile exists and holds nothing.
 */
#define ANSWER(suffix, kind) \
	{ SS_STR_INIT(""), SS_STR_INIT(suffix), kind, SS_PLACE_RUN | SS_PLACE_LOOSE | SS_PLACE_NAMED }
static const struct {
	struct ss_str middle, suffix;
	const char *kind;	/* NULL: passed over */
	unsigned places;
} rules[] = {
	{ SS_STR_INIT("tfevents"), SS_STR_INIT(".profile-empty"), NULL, SS_PLACE_SIDECAR | SS_PLACE_RUN | SS_PLACE_NAMED },
	{ SS_STR_INIT("tfevents"), SS_STR_INIT(".profile_logger"), SS_KIND_FILE_END_TO_END,
	  SS_PLACE_SIDECAR | SS_PLACE_RUN | SS_PLACE_NAMED },
	{ SS_STR_INIT(""), SS_STR_INIT("end_to_end.tfevents"), SS_KIND_FILE_END_TO_END,
	  SS_PLACE_SIDECAR | SS_PLACE_RUN | SS_PLACE_NAMED },
	{ SS_STR_INIT(""), SS_STR_INIT("end_2_end.tfevents"), SS_KIND_FILE_END_TO_END,
	  SS_PLACE_SIDECAR | SS_PLACE_RUN | SS_PLACE_NAMED },
	{ SS_STR_INIT(""), SS_STR_INIT("end_to_end.json"), SS_KIND_FILE_END_TO_END, SS_PLACE_RUN | SS_PLACE_NAMED },
	{ SS_STR_INIT(""), SS_STR_INIT("end_2_end.json"), SS_KIND_FILE_END_TO_END, SS_PLACE_RUN | SS_PLACE_NAMED },
	{ SS_STR_INIT("tfevents"), SS_STR_INIT(""), SS_KIND_FILE_GRAPH, SS_PLACE_SIDECAR | SS_PLACE_RUN | SS_PLACE_NAMED },
	{ SS_STR_INIT(""), SS_STR_INIT("graph.pbtxt"), SS_KIND_FILE_GRAPH, SS_PLACE_SIDECAR | SS_PLACE_NAMED },
	{ SS_STR_INIT(""), SS_STR_INIT(".pbtxt"), SS_KIND_FILE_GRAPH, SS_PLACE_NAMED },
	{ SS_STR_INIT(""), SS_STR_INIT(".xplane.pb"), NULL, SS_PLACE_SIDECAR | SS_PLACE_RUN | SS_PLACE_NAMED },
	ANSWER("overview_page.json", SS_KIND_FILE_OVERVIEW),
	ANSWER("overview_page.pb", SS_KIND_FILE_OVERVIEW),
	ANSWER("input_pipeline.json", SS_KIND_FILE_INPUT),
	ANSWER("input_pipeline.pb", SS_KIND_FILE_INPUT),
	ANSWER("op_profile.json", SS_KIND_FILE_OP_PROFILE),
	ANSWER("pod_viewer.json", SS_KIND_FILE_POD),
	ANSWER("memory_viewer.json", SS_KIND_FILE_MEMORY),
	ANSWER("tensorflow_stats.pb", SS_KIND_FILE_TF_STATS),
	ANSWER("kernel_stats.pb", SS_KIND_FILE_KERNELS),
	ANSWER("memory_profile.json", SS_KIND_FILE_ALLOCATIONS),
	ANSWER("memory_profile.json.gz", SS_KIND_FILE_ALLOCATIONS),
	ANSWER("tf_data_bottleneck_analysis.json", SS_KIND_FILE_TF_DATA),
	ANSWER("tf_data_bottleneck_analysis.json.gz", SS_KIND_FILE_TF_DATA),
	{ SS_STR_INIT("part-"), SS_STR_INIT(".ssp"), NULL, SS_PLACE_RUN | SS_PLACE_LOOSE | SS_PLACE_NAMED },
	{ SS_STR_INIT(""), SS_STR_INIT(".ssp"), SS_KIND_FILE_PART, SS_PLACE_RUN | SS_PLACE_LOOSE | SS_PLACE_NAMED },
	{ SS_STR_INIT(""), SS_STR_INIT(".pb"), SS_KIND_FILE_GRAPH, SS_PLACE_NAMED },
	{ SS_STR_INIT(""), SS_STR_INIT(".pickle"), SS_KIND_FILE_SNAPSHOT, SS_PLACE_SIDECAR | SS_PLACE_RUN | SS_PLACE_NAMED },
	{ SS_STR_INIT(""), SS_STR_INIT(".pickle.gz"), SS_KIND_FILE_SNAPSHOT, SS_PLACE_SIDECAR | SS_PLACE_RUN | SS_PLACE_NAMED },
	{ SS_STR_INIT(""), SS_STR_INIT(".prof"), SS_KIND_FILE_SNAPSHOT, SS_PLACE_SIDECAR | SS_PLACE_RUN | SS_PLACE_NAMED },
};

bool ss_file_kind_is_answer(const char *kind)
{
	return kind && strncmp(kind, "answer:", 7) == 0;
}

bool ss_file_kind_is_raw(const char *kind)
{
	return kind && strcmp(kind, SS_KIND_FILE_MEMORY) != 0;
}

const char *ss_file_kind(struct ss_str name, unsigned place, struct ss_str *label)
{
	*label = name;
	for (size_t i = 0; i < SS_COUNT(rules); i++) {
		if (!(rules[i].places & place) || !ss_str_contains(name, rules[i].middle) || !ss_str_ends(name, rules[i].suffix))
			continue;
		struct ss_str rest = ss_str_sub(name, 0, name.n - rules[i].suffix.n);
		/* "host.op_profile.json", not "my_op_profile.json": those are somebody's own. */
		if (ss_file_kind_is_answer(rules[i].kind) && rest.n && rest.p[rest.n - 1] != '.')
			continue;
		bool of_host = (place == SS_PLACE_RUN || ss_file_kind_is_answer(rules[i].kind)) && !rules[i].middle.n;
		while (of_host && rest.n && rest.p[rest.n - 1] == '.')
			rest.n--;
		if (of_host && rest.n)
			*label = rest;
		else if (of_host && place == SS_PLACE_RUN)
			*label = SS_STR(SS_UNNAMED_HOST);
		return rules[i].kind;
	}
	return NULL;
}

bool ss_file_name_tells(struct ss_str name)
{
	struct ss_str label;
	return ss_profile_rank(name) != SS_NO_PROFILE || ss_file_kind(name, SS_PLACE_NAMED, &label);
}

const char *ss_file_kind_of_bytes(const char *path, bool sure)
{
	struct ss_file f;
	char head[SS_FORM_HEAD_BYTES];
	if (!ss_file_open(&f, path, NULL))
		return NULL;
	struct ss_str begin = ss_form_head(f.bytes, head);
	bool snapshot = ss_form_of(ss_str_from(path), begin)->id == SS_FORM_SNAPSHOT &&
			(!sure || ss_snapshot_is(begin) || ss_pprof_is(begin));
	ss_file_close(&f);
	return snapshot ? SS_KIND_FILE_SNAPSHOT : NULL;
}

bool ss_file_shows_profile(const char *path)
{
	struct ss_file f;
	char head[SS_FORM_HEAD_BYTES];
	if (!ss_file_open(&f, path, NULL))
		return false;
	struct ss_str begin = ss_form_head(f.bytes, head);
	bool shows = ss_form_of(ss_str_from(path), begin)->id != SS_FORM_XSPACE || ss_form_is_plane(begin);
	ss_file_close(&f);
	return shows;
}

const char *ss_file_kind_says(const char *kind)
{
	static const struct {
		const char *kind, *says;
	} words[] = {
		{ SS_KIND_FILE_GRAPH, "event file (events.out.tfevents.*) or graph.pbtxt" },
		{ SS_KIND_FILE_SNAPSHOT, "memory snapshot of PyTorch (*.pickle) or memory profile of JAX (*.prof)" },
		{ SS_KIND_FILE_PART, "merged parts (*.ssp)" },
		{ SS_KIND_FILE_END_TO_END, "events.out.tfevents.*.profile_logger or end_to_end.json" },
	};
	if (ss_file_kind_is_answer(kind))
		return "file with the answer of an older tool";
	for (size_t i = 0; kind && i < SS_COUNT(words); i++)
		if (strcmp(words[i].kind, kind) == 0)
			return words[i].says;
	return "*.xplane.pb file";
}
