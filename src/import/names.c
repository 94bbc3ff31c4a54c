/* names.c - suffixes of profiles, the best first. */
#include "import/names.h"

/* Longer ones stand before those that they end in. */
static const struct ss_str suffixes[] = {
	SS_STR_INIT(".xplane.pb"),	 SS_STR_INIT(".xplane.pb.gz"),	  SS_STR_INIT(".xplane.riegeli"),
	SS_STR_INIT(".pt.trace.json"),
	SS_STR_INIT(".pt.trace.json.gz"), SS_STR_INIT(".trace.json.gz"), SS_STR_INIT(".trace.json"),
	SS_STR_INIT(".trace"),		 SS_STR_INIT(".trace.gz"),	  SS_STR_INIT(".pftrace"),
	SS_STR_INIT(".perfetto-trace"),	 SS_STR_INIT(".sqlite"),
	SS_STR_INIT("_results.db"),	 SS_STR_INIT(".hlo.pb"),
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

bool ss_profile_is_torch(struct ss_str name)
{
	return ss_str_ends(name, SS_STR(".pt.trace.json")) || ss_str_ends(name, SS_STR(".pt.trace.json.gz"));
}

#define SPAN_DIGITS 10 /* a time since 1970 has as many, a process or a rank fewer */

/* "worker.1790000000123": where the number begins; the name's end if there is none. */
static size_t span_at(struct ss_str host)
{
	size_t at = host.n;
	while (at && host.p[at - 1] >= '0' && host.p[at - 1] <= '9')
		at--;
	return host.n - at >= SPAN_DIGITS && at > 1 && host.p[at - 1] == '.' ? at : host.n;
}

/* The name of a trace of PyTorch's, without what makes it one; n is 0: it is none. */
static struct ss_str torch_name(struct ss_str name)
{
	static const struct ss_str ends[] = { SS_STR_INIT(".pt.trace.json"), SS_STR_INIT(".pt.trace.json.gz"),
					      SS_STR_INIT(".json"), SS_STR_INIT(".json.gz") };
	for (size_t i = 0; i < SS_COUNT(ends); i++)
		if (name.n > ends[i].n && ss_str_ends(name, ends[i]))
			return ss_str_sub(name, 0, name.n - ends[i].n);
	return SS_STR("");
}

struct ss_str ss_profile_span(struct ss_str name)
{
	struct ss_str host = torch_name(name);
	return ss_str_sub(host, span_at(host), host.n);
}

struct ss_str ss_profile_host(struct ss_str name)
{
	/* A single file may be called anything. */
	static const struct ss_str others[] = {
		SS_STR_INIT(".pb"),   SS_STR_INIT(".pb.gz"),   SS_STR_INIT(".memory_viewer.json"),
		SS_STR_INIT(".json"), SS_STR_INIT(".json.gz"),
	};
	int rank = ss_profile_rank(name);
	struct ss_str span = ss_profile_span(name);
	if (span.n)
		return ss_str_sub(name, 0, (size_t)(span.p - name.p) - 1);
	if (rank != SS_NO_PROFILE)
		return ss_str_sub(name, 0, name.n - suffixes[rank].n);
	for (size_t i = 0; i < SS_COUNT(others); i++)
		if (name.n > others[i].n && ss_str_ends(name, others[i]))
			return ss_str_sub(name, 0, name.n - others[i].n);
	return name;
}
