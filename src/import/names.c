/* names.c - suffixes of profiles, the best first. */
#include "import/names.h"

/* Longer ones stand before those that they end in. */
static const struct ss_str suffixes[] = {
	SS_STR_INIT(".xplane.pb"),	 SS_STR_INIT(".xplane.pb.gz"),	  SS_STR_INIT(".pt.trace.json"),
	SS_STR_INIT(".pt.trace.json.gz"), SS_STR_INIT(".trace.json.gz"), SS_STR_INIT(".trace.json"),
	SS_STR_INIT(".trace"),		 SS_STR_INIT(".trace.gz"),
};

int ss_profile_rank(struct ss_str name)
{
	for (size_t i = 0; i < SS_COUNT(suffixes); i++)
		if (name.n > suffixes[i].n && ss_str_ends(name, suffixes[i]))
			return (int)i;
	return SS_NO_PROFILE;
}

int ss_profile_rank_in_run(struct ss_str name)
{
	int rank = ss_profile_rank(name);
	bool dot = name.n && name.p[0] == '.';
	for (size_t i = SS_LAST_XSPACE + 1; rank == SS_NO_PROFILE && i < SS_COUNT(suffixes); i++)
		if (ss_str_eq(name, ss_str_sub(suffixes[i], !dot, suffixes[i].n)))
			rank = (int)i;
	return rank;
}

struct ss_str ss_profile_host(struct ss_str name)
{
	/* A single file may be called anything. */
	static const struct ss_str others[] = {
		SS_STR_INIT(".pb"),   SS_STR_INIT(".pb.gz"),   SS_STR_INIT(".memory_viewer.json"),
		SS_STR_INIT(".json"), SS_STR_INIT(".json.gz"),
	};
	int rank = ss_profile_rank(name);
	if (rank != SS_NO_PROFILE)
		return ss_str_sub(name, 0, name.n - suffixes[rank].n);
	for (size_t i = 0; i < SS_COUNT(others); i++)
		if (name.n > others[i].n && ss_str_ends(name, others[i]))
			return ss_str_sub(name, 0, name.n - others[i].n);
	return name;
}
