/* not_a_profile.c - see not_a_profile.h. */
#include "store/not_a_profile.h"

/* Names that programs give to what they have not copied whole. */
static bool is_unfinished(struct ss_str name)
{
	static const struct ss_str ends[] = { SS_STR_INIT(".part"), SS_STR_INIT(".partial"), SS_STR_INIT(".tmp"),
					      SS_STR_INIT(".crdownload"), SS_STR_INIT("_.gstmp") };
	for (size_t i = 0; i < SS_COUNT(ends); i++)
		if (ss_str_ends(name, ends[i]))
			return ss_str_contains(name, SS_STR("xplane")) || ss_str_contains(name, SS_STR("trace"));
	return false;
}

/*
 * What rsync ('.HOST.xplane.pb.Ab12Cd') and the AWS CLI ('HOST.xplane.pb.6eF3bC9a') write until a
 * copy is complete.
 */
static bool is_copy_in_work(struct ss_str name)
{
	size_t at = ss_str_find(name, SS_STR(".xplane.pb."));
	struct ss_str rest = ss_str_sub(name, at == SS_NPOS ? name.n : at + 11, name.n);
	size_t n = 0;
	while (n < rest.n && ((rest.p[n] | 0x20) >= 'a' ? (rest.p[n] | 0x20) <= 'z' : rest.p[n] >= '0' && rest.p[n] <= '9'))
		n++;
	return n == rest.n && (n == 8 || (n == 6 && name.p[0] == '.'));
}

#define NAMED "does not end in .xplane.pb: rename it if it is a profile, or give its own path as PATH"
#define UNFINISHED "is a copy or a download that has not finished"
#define NSYS "is a report of Nsight Systems: export it with 'nsys export --type sqlite' and open the .sqlite file"
#define ARCHIVE "is an archive: give its own path as PATH (unpack it first if it is in another archive)"

const char *ss_not_a_profile(struct ss_str name)
{
	static const struct {
		struct ss_str suffix;
		const char *why;
	} rules[] = {
		{ SS_STR_INIT(".nsys-rep"), NSYS },
		{ SS_STR_INIT(".qdrep"), NSYS },
		{ SS_STR_INIT(".ncu-rep"),
		  "is a report of Nsight Compute, which holds counters of single kernels: take a timeline with 'nsys profile'" },
		{ SS_STR_INIT(".ntff"),
		  "is a profile of AWS Neuron: export it with 'neuron-profile view --output-format perfetto'" },
		{ SS_STR_INIT(".zip"), ARCHIVE },
		{ SS_STR_INIT(".tar"), ARCHIVE },
		{ SS_STR_INIT(".tar.gz"), ARCHIVE },
		{ SS_STR_INIT(".tgz"), ARCHIVE },
		{ SS_STR_INIT(".tar.zst"), ARCHIVE },
		{ SS_STR_INIT(".hlo_proto.pb"), "holds one HLO module, not a profile" },
		{ SS_STR_INIT(".tracetable"), "is an SSTable of the Cloud TPU trace server, which cannot be read" },
		{ SS_STR_INIT(".json"), "is JSON, not a profile" },
		{ SS_STR_INIT("perfetto_trace.json.gz"),
		  "is the trace that JAX writes for Perfetto, not a profile: open it by its own path" },
		{ SS_STR_INIT(":Zone.Identifier"), "is a note of Windows about the file of this name, not a profile: delete it" },
		{ SS_STR_INIT(".icloud"), "is a placeholder for a file in iCloud: download it ('brctl download')" },
		{ SS_STR_INIT(".dvc"), "is a pointer of DVC: fetch the file itself with 'dvc pull'" },
		{ SS_STR_INIT(".xplane.pb.zst"), "is packed with zstd: give its own path as PATH, or unpack it with 'zstd -d'" },
		{ SS_STR_INIT(".xplane.pb.xz"), "is packed with xz: unpack it with 'xz -d'" },
		{ SS_STR_INIT(".xplane.pb.bz2"), "is packed with bzip2: unpack it with 'bzip2 -d'" },
		{ SS_STR_INIT(".xplane.pb.lz4"), "is packed with lz4: unpack it with 'lz4 -d'" },
		{ SS_STR_INIT(".XPLANE.PB"), "has an ending in capital letters: rename it to end in .xplane.pb" },
		{ SS_STR_INIT(".pb.gz"),
		  "does not end in .xplane.pb.gz: rename it if it is a profile, or give its own path as PATH" },
		{ SS_STR_INIT(".pb"), NAMED },
	};
	if (ss_str_starts(name, SS_STR("._")))
		return "is a note of macOS about the file of this name, not a profile: delete it";
	if (ss_str_is(name, "xplane.pb"))
		return "has no host name before .xplane.pb";
	if (is_unfinished(name))
		return UNFINISHED;
	for (size_t i = 0; i < SS_COUNT(rules); i++)
		if (ss_str_ends(name, rules[i].suffix))
			return rules[i].why;
	if (is_copy_in_work(name))
		return UNFINISHED;
	return ss_str_contains(name, SS_STR("xplane")) ? NAMED : NULL;
}
