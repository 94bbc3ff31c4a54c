/* import.c - from a file's first bytes and name to the reader of its format. */
#include "import/import.h"

#include "import/chrome_trace.h"
#include "import/trace_proto.h"
#include "legacy/files/hlo_json.h"
#include "wire/gz_in.h"

/* What events may take in memory, whatever is packed into few bytes. */
#define FLOOR_BYTES ((uint64_t)64 << 20)
#define PER_FILE_BYTE 24
#define HEAD_BYTES 256	/* that tell what a file is */

enum kind { XSPACE, TRACE, JSON, PROGRAM };

static bool is_blank(char c)
{
	return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

/*
 * Brackets are no tags of an XSpace or a Trace, so they begin JSON. Behind blanks they do so only
 * where the name says so too: a line feed and a bracket are the tag of a plane and its length.
 */
static enum kind kind_of(struct ss_str path, struct ss_str head)
{
	size_t i = ss_str_starts(head, SS_STR("\xef\xbb\xbf")) ? 3 : 0;
	while (ss_str_contains(path, SS_STR(".json")) && i < head.n && is_blank(head.p[i]))
		i++;
	if (i < head.n && (head.p[i] == '{' || head.p[i] == '['))
		return ss_hlo_json_is(head) ? PROGRAM : JSON;
	struct ss_str name = ss_str_sub(path, ss_str_rchr(path, '/') + 1, path.n);	/* SS_NPOS + 1 is 0 */
	if (ss_str_ends(path, SS_STR(".trace")) || ss_str_ends(path, SS_STR(".trace.gz")) || ss_str_is(name, "trace") ||
	    ss_str_is(name, "trace.gz"))
		return TRACE;
	return XSPACE;
}

bool ss_import_is(const struct ss_file *f, struct ss_str path)
{
	return ss_gz_is(f->bytes) || kind_of(path, ss_str_sub(f->bytes, 0, HEAD_BYTES)) != XSPACE;
}

static bool note(struct ss_imported *out, struct ss_str text)
{
	if (!text.p)
		return false;
	if (out->nnotes < SS_COUNT(out->notes))
		out->notes[out->nnotes++] = text;
	return true;
}

static bool note_count(struct ss_imported *out, struct ss_arena *a, uint64_t n, const char *what)
{
	return !n || note(out, ss_arena_printf(a, "%llu %s", (unsigned long long)n, what));
}

static bool read_json(const struct ss_file *f, struct ss_space_out *o, struct ss_str *hostname, struct ss_arena *a,
		      struct ss_imported *out, struct ss_err *err)
{
	struct ss_chrome_loss loss;
	if (!ss_chrome_read(f, o, hostname, &loss, err))
		return false;
	bool ok = note_count(out, a, loss.malformed, "events of the trace are malformed and left out") &&
		  note_count(out, a, loss.unknown, "events of the trace have a phase that a timeline cannot show") &&
		  (!loss.cut || note(out, SS_STR("the trace is truncated or damaged; events before that point are shown"))) &&
		  (!loss.too_long || note(out, SS_STR("the trace decompresses to more than the limit; the rest is left out")));
	return ok || ss_fail_mem(err);
}

static bool read_proto(struct ss_str bytes, struct ss_space_out *o, struct ss_arena *a, struct ss_imported *out,
		       struct ss_err *err)
{
	struct ss_trace_loss loss;
	if (!ss_trace_proto_read(bytes, o, &loss, err))
		return false;
	return (note_count(out, a, loss.malformed, "events of the trace are malformed and left out") &&
		(!loss.cut || note(out, SS_STR("the trace is truncated or damaged; events before that point are shown")))) ||
	       ss_fail_mem(err);
}

/* An XSpace, or a Trace, needs all its bytes at once. */
static bool unpack(const struct ss_file *f, struct ss_buf *to, struct ss_imported *out, struct ss_err *err)
{
	bool whole;
	to->limit_bytes = (size_t)FLOOR_BYTES + 300 * f->bytes.n;
	if (!ss_gz_in_all(f->bytes, to, &whole, err))
		return false;
	to->limit_bytes = 0;
	return whole || note(out, SS_STR("the compressed file is damaged; events before the damage are shown"));
}

static bool convert(const struct ss_file *f, enum kind kind, struct ss_str unpacked, struct ss_arena *arena,
		    struct ss_imported *out, struct ss_err *err)
{
	struct ss_space_out o = { .limit_bytes = FLOOR_BYTES + PER_FILE_BYTE * (uint64_t)f->bytes.n };
	struct ss_str hostname = SS_STR("");
	bool ok = kind == JSON ? read_json(f, &o, &hostname, arena, out, err) : read_proto(unpacked, &o, arena, out, err);
	ok = ok && ss_so_finish(&o, hostname, &out->space, err);
	if (ok && !(note_count(out, arena, o.unmatched, "events of the trace end without a begin") &&
		    note_count(out, arena, o.left_out, "events of the trace are left out: they exceed the memory limit") &&
		    note_count(out, arena, o.far, "events lie months apart from the others and are left out")))
		ok = ss_fail_mem(err);
	ss_so_free(&o);
	return ok;
}

static bool import(const struct ss_file *f, struct ss_str path, struct ss_arena *arena, struct ss_imported *out,
		   bool *twice, struct ss_err *err)
{
	struct ss_buf unpacked = { 0 };
	enum kind kind = kind_of(path, ss_str_sub(f->bytes, 0, HEAD_BYTES));
	if (ss_gz_is(f->bytes)) {
		/* A look at the beginning says what it is; JSON is unpacked as it is read. */
		struct ss_gz_in *g = ss_gz_in_open(f->bytes);
		char head[HEAD_BYTES];
		if (!g)
			return ss_fail_mem(err);
		struct ss_str begin = { head, ss_gz_in_read(g, head, sizeof(head)) };
		ss_gz_in_close(g);
		*twice = ss_gz_is(begin);
		if (*twice)
			return true;
		kind = kind_of(path, begin);
		if (kind != JSON && !unpack(f, &unpacked, out, err)) {
			ss_buf_free(&unpacked);
			return false;
		}
	}
	if (kind == XSPACE) {
		out->space = unpacked;
		return true;
	}
	struct ss_err why = { 0 };
	struct ss_str bytes = unpacked.p ? ss_buf_get(&unpacked) : f->bytes;
	bool ok = kind == PROGRAM ? ss_hlo_json_read(bytes, &out->space, &why) : convert(f, kind, bytes, arena, out, &why);
	ss_buf_free(&unpacked);
	return ok || ss_fail(err, why.code, "'" SS_FMT "' is not a %s: %s", SS_ARG(path),
			     kind == PROGRAM ? "program" : "trace", why.text);
}

bool ss_import(const struct ss_file *f, struct ss_str path, struct ss_arena *arena, struct ss_imported *out,
	       struct ss_err *err)
{
	struct ss_buf inner = { 0 };
	bool twice = false, again = false;
	*out = (struct ss_imported){ 0 };
	bool ok = import(f, path, arena, out, &twice, err);
	if (!ok || !twice)
		return ok;
	/*
	 * Packed once more on its way (fetched with a content encoding): the outer layer is held,
	 * the inner one read as ever.
	 */
	ok = unpack(f, &inner, out, err);
	struct ss_file file = { .bytes = ss_buf_get(&inner), .borrowed = true };
	ok = ok && import(&file, path, arena, out, &again, err);
	if (ok && again)
		ok = ss_fail(err, SS_EFORMAT, "'" SS_FMT "' is compressed more than twice", SS_ARG(path));
	ss_buf_free(&inner);
	return ok;
}
