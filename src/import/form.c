/* form.c - see form.h. The first row that fits decides. */
#include "import/form.h"

#include "import/pickle.h"
#include "import/pprof.h"
#include "import/riegeli.h"
#include "import/rocprof_csv.h"
#include "import/run_metadata.h"
#include "legacy/files/hlo_json.h"
#include "wire/gz_in.h"
#include "wire/json.h"
#include "wire/pb.h"

static bool is_blank(char c)
{
	return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

/* ---- JSON ---- */

#define RECORD_ANEW "profile with torch.profiler and open its trace (export_chrome_trace or tensorboard_trace_handler)"

/* The form of a list: PyTorch's memory timeline consists of lists of numbers. */
static const struct ss_form memory_timeline = {
	SS_FORM_REFUSED, "a memory_timeline of PyTorch, which holds sums of memory without names and events",
	"profile with profile_memory=True and open the trace, or open what torch.cuda.memory._dump_snapshot writes",
};

/* A member of the outermost object that tells who wrote it. */
static const struct {
	const char *key;
	struct ss_form form;
} members[] = {
	{ "traceEvents", { SS_FORM_JSON, "a trace", NULL } },
	{ "segments", { SS_FORM_SNAPSHOT, "a memory snapshot of PyTorch", NULL } },
	{ "device_traces", { SS_FORM_SNAPSHOT, "a memory snapshot of PyTorch", NULL } },
	{ "rocprofiler-sdk-tool",
	  { SS_FORM_ROCPROF, "a result of rocprofv3", NULL } },
	{ "schema",
	  { SS_FORM_REFUSED, "an execution trace of PyTorch (Chakra), which holds a graph of operators without times on a timeline",
	    RECORD_ANEW } },
	{ "error",
	  { SS_FORM_REFUSED, "an error in JSON, as a server answers in place of a file",
	    "read it for the reason, and fetch the file again" } },
	{ "mediaLink",
	  { SS_FORM_REFUSED, "the description of an object of Google Cloud Storage in place of its content",
	    "fetch the content with 'gcloud storage cp', or with '?alt=media' at the end of the address" } },
	{ "ContentLength",
	  { SS_FORM_REFUSED, "the description of an object of S3 in place of its content",
	    "fetch the content with 'aws s3 cp'" } },
	{ "planes", { SS_FORM_REFUSED, "a profile that was written as JSON", "write it with SerializeToString" } },
	{ "$schema", { SS_FORM_REFUSED, "a profile for speedscope, which holds sampled stacks", "export it as a Chrome trace" } },
};

static const struct ss_form json_form = { SS_FORM_JSON, "a trace", NULL };

/*
 * `text` begins with a bracket, as JSON does, and as lines of logs do ("[INFO] step 1"): objects or
 * lists follow in a trace.
 */
static bool is_json(struct ss_str text)
{
	size_t i = 1;
	while (i < text.n && is_blank(text.p[i]))
		i++;
	char next = i < text.n ? text.p[i] : '}';
	return next == '}' || (text.p[0] == '{' ? next == '"' : next == '{' || next == '[' || next == ']');
}

/* `text` begins with a bracket. */
static const struct ss_form *json_of(struct ss_str text)
{
	struct ss_jsonr r = ss_jsonr_of(text);
	struct ss_jtok t;
	if (!ss_jsonr_next(&r, &t))
		return &json_form;
	if (t.kind == SS_J_ARRAY) {
		bool lists = ss_jsonr_next(&r, &t) && t.kind == SS_J_ARRAY && ss_jsonr_next(&r, &t) && t.kind != SS_J_OBJECT;
		return lists ? &memory_timeline : &json_form;
	}
	while (ss_jsonr_next(&r, &t) && t.kind == SS_J_KEY) {
		for (size_t i = 0; i < SS_COUNT(members); i++)
			if (ss_jtok_is(&t, members[i].key))
				return &members[i].form;
		if (!ss_jsonr_next(&r, &t) || !ss_jsonr_skip(&r, &t))
			break;
	}
	return &json_form;
}

/* ---- protobuf ---- */

/*
 * Does the available part of a message in field 1 have fields of a TracePacket that an XPlane does
 * not have?
 */
static bool is_packet(struct ss_str message)
{
	struct ss_pb c = ss_pb_lenient(message);
	struct ss_pb_field f;
	bool packet = false;
	while (ss_pb_next(&c, &f))
		switch (f.key >> 3) {
		case 8:		/* timestamp */
		case 10:	/* trusted_packet_sequence_id */
		case 58:	/* timestamp_clock_id */
			packet = packet || (f.key & 7) == 0;
			break;
		case 11:	/* track_event */
		case 33:	/* trace_config */
		case 36:	/* synchronization_marker */
		case 50:	/* compressed_packets */
		case 60:	/* track_descriptor */
			packet = packet || (f.key & 7) == 2;
			break;
		default:
			break;
		}
	return packet;
}

static bool is_perfetto(struct ss_str head)
{
	struct ss_pb c = ss_pb_lenient(head);
	struct ss_pb_field f;
	/* The first few may hold something else. */
	for (int i = 0; i < 8 && ss_pb_next(&c, &f) && f.key == PB_LEN(1); i++)
		if (is_packet(f.bytes))
			return true;
	return false;
}

/* Messages have bytes below a blank from the first on. */
static bool is_text(struct ss_str head)
{
	size_t n = 0;
	while (n < head.n && n < 256 && ((unsigned char)head.p[n] >= ' ' || is_blank(head.p[n])))
		n++;
	return n >= 16 && (n == head.n || n == 256);
}

static bool is_svg(struct ss_str head)
{
	return ss_str_contains(head, SS_STR("<svg")) && !ss_str_contains(head, SS_STR("<html"));
}

/* Its first field is its id or its name. */
bool ss_form_is_plane(struct ss_str bytes)
{
	struct ss_pb c = ss_pb_lenient(bytes), plane;
	struct ss_pb_field f;
	if (!ss_pb_next(&c, &f) || f.key != PB_LEN(1))
		return false;
	plane = ss_pb_lenient(f.bytes);
	return ss_pb_next(&plane, &f) &&
	       (f.key == PB_VAR(1) || (f.key == PB_LEN(2) && f.bytes.n && (unsigned char)f.bytes.p[0] > ' '));
}

static bool is_name(struct ss_str s)
{
	size_t n = 0;
	while (n < s.n && (unsigned char)s.p[n] > ' ')
		n++;
	return s.n && n == s.n;
}

/*
 * The first fields of a module are its name, that of its first computation, and computations. A
 * plane begins with its id.
 */
static bool is_module(struct ss_str bytes)
{
	struct ss_pb c = ss_pb_lenient(bytes);
	struct ss_pb_field name, entry, computation;
	return ss_pb_next(&c, &name) && name.key == PB_LEN(1) && is_name(name.bytes) && ss_pb_next(&c, &entry) &&
	       entry.key == PB_LEN(2) && is_name(entry.bytes) && ss_pb_next(&c, &computation) && computation.key == PB_LEN(3) &&
	       ss_str_starts(computation.bytes, SS_STR("\n"));
}

/* A program in a file of any name: a module, or an HloProto, which holds one first. */
static bool is_program(struct ss_str head)
{
	struct ss_pb c = ss_pb_lenient(head);
	struct ss_pb_field f;
	return is_module(head) || (ss_pb_next(&c, &f) && f.key == PB_LEN(1) && is_module(f.bytes));
}

/* ---- signs of other formats ---- */

/*
 * Lines that a login, a shell or a warning printed, and then a profile: packed, or from the tag of
 * a plane on, which is a line feed too.
 */
static bool is_behind_lines(struct ss_str head)
{
	for (size_t n = 0; n < head.n && ((unsigned char)head.p[n] >= ' ' || is_blank(head.p[n])); n++) {
		struct ss_str rest = ss_str_sub(head, n + 1, head.n);
		if (n >= 8 && head.p[n] == '\n' && (ss_form_is_plane(rest) || ss_gz_is(rest)))
			return true;
	}
	return false;
}

static bool is_upload(struct ss_str head)
{
	return ss_str_contains(ss_str_sub(head, 0, 512), SS_STR("Content-Disposition: "));
}

/* A record of an event file: its length, a checksum, and what TensorFlow writes first. */
static bool is_events(struct ss_str head)
{
	return ss_str_contains(ss_str_sub(head, 0, 64), SS_STR("brain.Event:"));
}

static bool is_base64(struct ss_str head)
{
	size_t n = 0;
	while (n < head.n && ((head.p[n] | 0x20) >= 'a' ? (head.p[n] | 0x20) <= 'z' : (head.p[n] >= '/' && head.p[n] <= '9') ||
			      head.p[n] == '+' || head.p[n] == '=' || head.p[n] == '\n' || head.p[n] == '\r'))
		n++;
	return n >= 64 && n == head.n;
}

/* Zeros: a program reserved them and did not write, or a disk lost them. */
static bool is_zeros(struct ss_str head)
{
	size_t n = 0;
	while (n < head.n && !head.p[n])
		n++;
	return n >= 16 && n == head.n;
}

static bool is_tar(struct ss_str head)
{
	return ss_str_starts(ss_str_sub(head, 257, head.n), SS_STR("ustar"));
}

/* Every second byte of an ASCII text is zero then. */
static bool is_utf16(struct ss_str head)
{
	return head.n >= 4 && (!head.p[2] || !head.p[3]);
}

/* cProfile's files are a dictionary of tuples, as Python marshals them. */
static bool is_cprofile(struct ss_str head)
{
	return ss_str_starts(head, SS_STR("{\xa9\3")) || ss_str_starts(head, SS_STR("{)\3")) ||
	       ss_str_starts(head, SS_STR("\xfb\xa9\3"));
}

/* ---- the list ---- */

#define A_TEXT { SS_FORM_REFUSED_LINE, "a text file, not a profile",								\
		 "name a profile or the directory that holds one; if this was a profile, copy it again as it is" }
#define UNPACK "unpack it and open the profile that is in it"
#define STORE_ANSWER "an XML document, as an object store answers in place of a file"
#define READ_REASON "read it for the reason, and fetch the file again"
#define UNPACK_ZLIB "unpack it with zlib.decompress of Python, or pack the original with gzip"
#define ANOTHER "a profile is a file *.xplane.pb, which the profiler writes below plugins/profile"
#define NSYS_EXPORT "export it with 'nsys export --type sqlite' and open the .sqlite file"

static const struct rule {
	struct ss_str suffix, magic;	/* "": any */
	bool (*is)(struct ss_str head);	/* NULL: any */
	struct ss_form form;
} rules[] = {
	{ SS_STR_INIT(".nsys-rep"), SS_STR_INIT(""), NULL,
	  { SS_FORM_REFUSED, "a report of Nsight Systems, which only NVIDIA's own tools read", NSYS_EXPORT } },
	{ SS_STR_INIT(".qdrep"), SS_STR_INIT(""), NULL,
	  { SS_FORM_REFUSED, "a report of Nsight Systems, which only NVIDIA's own tools read", NSYS_EXPORT } },
	{ SS_STR_INIT(".ncu-rep"), SS_STR_INIT(""), NULL,
	  { SS_FORM_REFUSED, "a report of Nsight Compute, which holds counters of single kernels",
	    "take a timeline with 'nsys profile' or torch.profiler" } },
	{ SS_STR_INIT(".ntff"), SS_STR_INIT(""), NULL,
	  { SS_FORM_REFUSED, "a profile of AWS Neuron, which only its own tools read",
	    "export it with 'neuron-profile view --output-format perfetto', or profile through torch-xla or JAX" } },
	{ SS_STR_INIT(".tracetable"), SS_STR_INIT(""), NULL,
	  { SS_FORM_REFUSED, "a table of the trace server of Cloud TPUs", "open the *.xplane.pb of the same run" } },
	{ SS_STR_INIT(""), SS_STR_INIT(""), ss_riegeli_is, { SS_FORM_RIEGELI, "a profile in the riegeli format", NULL } },
	{ SS_STR_INIT(".riegeli"), SS_STR_INIT(""), ss_form_is_plane, { SS_FORM_XSPACE, "a profile", NULL } },
	{ SS_STR_INIT(".riegeli"), SS_STR_INIT(""), NULL, { SS_FORM_RIEGELI, "a profile in the riegeli format", NULL } },
	{ SS_STR_INIT(""), SS_STR_INIT("SQLite format 3"), NULL,
	  { SS_FORM_SQLITE, "a profile that stepscope reads", NULL } },
	{ SS_STR_INIT(""), SS_STR_INIT("\""), ss_rocprof_csv_is, { SS_FORM_ROCPROF_CSV, "a table of rocprofv3", NULL } },
	{ SS_STR_INIT(""), SS_STR_INIT("PERFILE2"), NULL,
	  { SS_FORM_REFUSED, "a recording of perf, which holds samples of CPUs", "'perf report' reads it" } },
	{ SS_STR_INIT(""), SS_STR_INIT("PK\3\4"), NULL,
	  { SS_FORM_REFUSED, "a zip archive (as checkpoints of PyTorch are)", UNPACK } },
	{ SS_STR_INIT(""), SS_STR_INIT("\x28\xb5\x2f\xfd"), NULL,
	  { SS_FORM_REFUSED, "packed with zstd", "unpack it with 'zstd -d'" } },
	{ SS_STR_INIT(""), SS_STR_INIT("\xfd" "7zXZ"), NULL, { SS_FORM_REFUSED, "packed with xz", "unpack it with 'xz -d'" } },
	{ SS_STR_INIT(""), SS_STR_INIT("\x78\x9c"), NULL, { SS_FORM_REFUSED, "packed with zlib", UNPACK_ZLIB } },
	{ SS_STR_INIT(""), SS_STR_INIT("\x78\xda"), NULL, { SS_FORM_REFUSED, "packed with zlib", UNPACK_ZLIB } },
	{ SS_STR_INIT(""), SS_STR_INIT("\x1f\x9d"), NULL,
	  { SS_FORM_REFUSED, "packed with compress", "unpack it with 'gzip -d'" } },
	{ SS_STR_INIT(""), SS_STR_INIT("BZh"), NULL, { SS_FORM_REFUSED, "packed with bzip2", "unpack it with 'bzip2 -d'" } },
	{ SS_STR_INIT(""), SS_STR_INIT("\x04\x22\x4d\x18"), NULL,
	  { SS_FORM_REFUSED, "packed with lz4", "unpack it with 'lz4 -d'" } },
	{ SS_STR_INIT(""), SS_STR_INIT("7z\xbc\xaf"), NULL, { SS_FORM_REFUSED, "a 7z archive", UNPACK } },
	{ SS_STR_INIT(""), SS_STR_INIT("Rar!\x1a\7"), NULL, { SS_FORM_REFUSED, "a RAR archive", UNPACK } },
	{ SS_STR_INIT(""), SS_STR_INIT("\0\5\x16\7"), NULL,
	  { SS_FORM_REFUSED, "a note of macOS about a file (AppleDouble)", "open the file without '._' before its name" } },
	{ SS_STR_INIT(""), SS_STR_INIT(""), is_tar, { SS_FORM_REFUSED, "a tar archive", UNPACK } },
	{ SS_STR_INIT(""), SS_STR_INIT(""), is_zeros,
	  { SS_FORM_REFUSED, "zero bytes where a profile begins",
	    "its content, or the first part of it, was never written: the disk was full, the machine stopped, or a copy "
	    "failed. Copy it again, or profile again" } },
	{ SS_STR_INIT(""), SS_STR_INIT("HTTP/"), NULL,
	  { SS_FORM_REFUSED_LINE, "an answer of a web server with its HTTP headers",
	    "fetch the file again without them ('curl -i' writes them)" } },
	{ SS_STR_INIT(""), SS_STR_INIT("--"), is_upload,
	  { SS_FORM_REFUSED, "an upload of a form (multipart/form-data), with the file in it",
	    "let the server store the part, not the body of the request" } },
	{ SS_STR_INIT(""), SS_STR_INIT(""), is_events,
	  { SS_FORM_REFUSED, "an event file of TensorBoard under another name",
	    "open it as events.out.tfevents.*, or open the profile, plugins/profile/<run>/<host>.xplane.pb" } },
	{ SS_STR_INIT(""), SS_STR_INIT(""), is_behind_lines,
	  { SS_FORM_REFUSED, "a profile behind lines of text, which a login, a shell or a warning printed",
	    "copy it again without them (scp or rsync in place of 'ssh HOST cat'), or silence what ~/.bashrc prints" } },
	{ SS_STR_INIT(""), SS_STR_INIT("planes {"), NULL,
	  { SS_FORM_REFUSED, "a profile that was written as text (text_format)", "write it with SerializeToString" } },
	{ SS_STR_INIT(""), SS_STR_INIT("/annex/objects/"), NULL,
	  { SS_FORM_REFUSED, "a pointer of git-annex in place of the file", "fetch the file itself with 'git annex get'" } },
	{ SS_STR_INIT(""), SS_STR_INIT("version https://git-lfs"), NULL,
	  { SS_FORM_REFUSED, "a pointer of Git LFS in place of the file", "fetch the file itself with 'git lfs pull'" } },
	{ SS_STR_INIT(""), SS_STR_INIT("\xff\xfe"), is_utf16,
	  { SS_FORM_REFUSED, "a text in UTF-16",
	    "write it in UTF-8 (PowerShell writes UTF-16: redirect with '| Out-File -Encoding utf8')" } },
	{ SS_STR_INIT(""), SS_STR_INIT("\xfe\xff"), is_utf16, { SS_FORM_REFUSED, "a text in UTF-16", "write it in UTF-8" } },
	{ SS_STR_INIT(""), SS_STR_INIT("\x89HDF"), NULL,
	  { SS_FORM_REFUSED, "a file of HDF5, as weights of Keras are", ANOTHER } },
	{ SS_STR_INIT(""), SS_STR_INIT("PAR1"), NULL, { SS_FORM_REFUSED, "a table of Parquet", ANOTHER } },
	{ SS_STR_INIT(""), SS_STR_INIT("\x93NUMPY"), NULL, { SS_FORM_REFUSED, "an array of NumPy", ANOTHER } },
	{ SS_STR_INIT(""), SS_STR_INIT("\x89PNG"), NULL, { SS_FORM_REFUSED, "a picture", ANOTHER } },
	{ SS_STR_INIT(""), SS_STR_INIT("\x7f" "ELF"), NULL,
	  { SS_FORM_REFUSED, "a program", "record what it does with 'stepscope record PROGRAM', and open what that writes" } },
	{ SS_STR_INIT(""), SS_STR_INIT(""), ss_run_metadata_is,
	  { SS_FORM_RUN_METADATA, "RunMetadata of TensorFlow 1", NULL } },
	{ SS_STR_INIT(""), SS_STR_INIT("<"), is_svg, { SS_FORM_REFUSED, "a picture (SVG)", ANOTHER } },
	{ SS_STR_INIT(""), SS_STR_INIT("<<<<<<< "), NULL,
	  { SS_FORM_REFUSED, "a file that Git could not merge", "take one of its two versions with 'git checkout --ours FILE' or "
	    "'--theirs'" } },
	{ SS_STR_INIT(""), SS_STR_INIT("<?xml"), NULL, { SS_FORM_REFUSED, STORE_ANSWER, READ_REASON } },
	{ SS_STR_INIT(""), SS_STR_INIT("<Error"), NULL, { SS_FORM_REFUSED, STORE_ANSWER, READ_REASON } },
	{ SS_STR_INIT(""), SS_STR_INIT("<ListBucket"), NULL, { SS_FORM_REFUSED, STORE_ANSWER, READ_REASON } },
	{ SS_STR_INIT(""), SS_STR_INIT("<"), is_text,
	  { SS_FORM_REFUSED, "a web page (HTML)",
	    "if it came from a server, its answer was a page (to sign in, or an error): read it, and fetch the profile again. Of "
	    "PyTorch's memory_timeline open the trace that it was made of, recorded with profile_memory=True" } },
	{ SS_STR_INIT(".hlo.pb"), SS_STR_INIT(""), NULL, { SS_FORM_PROGRAM, "a program of XLA", NULL } },
	{ SS_STR_INIT(".hlo_proto.pb"), SS_STR_INIT(""), NULL, { SS_FORM_PROGRAM, "a program of XLA", NULL } },
	{ SS_STR_INIT(""), SS_STR_INIT(""), is_program, { SS_FORM_PROGRAM, "a program of XLA", NULL } },
	{ SS_STR_INIT(".trace"), SS_STR_INIT(""), NULL, { SS_FORM_TRACE, "a trace", NULL } },
	{ SS_STR_INIT(""), SS_STR_INIT(""), ss_pickle_is,
	  { SS_FORM_SNAPSHOT, "a pickle of Python, as PyTorch's memory snapshots are", NULL } },
	{ SS_STR_INIT(""), SS_STR_INIT(""), is_perfetto,
	  { SS_FORM_PERFETTO, "a trace of Perfetto", NULL } },
	{ SS_STR_INIT(".pftrace"), SS_STR_INIT(""), NULL,
	  { SS_FORM_PERFETTO, "a trace of Perfetto", NULL } },
	{ SS_STR_INIT(".perfetto-trace"), SS_STR_INIT(""), NULL,
	  { SS_FORM_PERFETTO, "a trace of Perfetto", NULL } },
	{ SS_STR_INIT(""), SS_STR_INIT(""), ss_pprof_is,
	  { SS_FORM_SNAPSHOT, "a profile in the format of pprof, as JAX's memory profiles are", NULL } },
	{ SS_STR_INIT(""), SS_STR_INIT(""), is_base64,
	  { SS_FORM_REFUSED, "a text in base64", "decode it with 'base64 -d'" } },
	{ SS_STR_INIT(""), SS_STR_INIT(""), is_text,
	  A_TEXT },
};

static bool fits(const struct rule *r, struct ss_str name, struct ss_str head)
{
	return ss_str_ends(name, r->suffix) && ss_str_starts(head, r->magic) && (!r->is || r->is(head));
}

struct ss_str ss_form_head(struct ss_str bytes, char *head)
{
	if (!ss_gz_is(bytes))
		return ss_str_sub(bytes, 0, SS_FORM_HEAD_BYTES);
	struct ss_gz_in *g = ss_gz_in_open(bytes);
	struct ss_str begin = { head, g ? ss_gz_in_read(g, head, SS_FORM_HEAD_BYTES) : 0 };
	if (!g || ss_gz_in_no_memory(g))
		begin.p = NULL;
	ss_gz_in_close(g);
	return begin;
}

const struct ss_form *ss_form_of(struct ss_str path, struct ss_str head)
{
	static const struct ss_form xspace = { SS_FORM_XSPACE, "a profile", NULL }, trace = { SS_FORM_TRACE, "a trace", NULL };
	static const struct ss_form cprofile = {
		SS_FORM_REFUSED, "a profile of Python's cProfile, which holds functions without times on a timeline",
		"record a timeline with jax.profiler, torch.profiler or 'stepscope record'"
	};
	static const struct ss_form program = { SS_FORM_PROGRAM, "a program", NULL }, a_text = A_TEXT;
	struct ss_str name = ss_str_sub(path, ss_str_rchr(path, '/') + 1, path.n); /* SS_NPOS + 1 is 0 */
	size_t i = ss_str_starts(head, SS_STR("\xef\xbb\xbf")) ? 3 : 0;
	if (ss_str_ends(name, SS_STR(".gz")))
		name.n -= 3;
	/*
	 * Brackets are no tags of an XSpace or a Trace, so they begin JSON. Behind blanks they do
	 * so only where the name says so too: a line feed and a bracket are the tag of a plane and
	 * its length.
	 */
	while (ss_str_contains(path, SS_STR(".json")) && i < head.n && is_blank(head.p[i]))
		i++;
	struct ss_str text = ss_str_sub(head, i, head.n);
	if (is_cprofile(head))
		return &cprofile;
	if (i && text.n && text.p[0] == '<')
		head = text;
	bool bracket = text.n && (text.p[0] == '{' || text.p[0] == '[');
	if (bracket && !is_json(text) && is_text(text))
		return &a_text;
	if (bracket)
		return ss_hlo_json_is(head) ? &program : json_of(text);
	if (ss_str_is(name, "trace"))
		return &trace;
	for (size_t k = 0; k < SS_COUNT(rules); k++)
		if (fits(&rules[k], name, head))
			return &rules[k].form;
	return &xspace;
}
