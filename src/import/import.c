/* import.c - from a file's first bytes and name to the reader of its format. */
#include "import/import.h"

#include "import/chrome_trace.h"
#include "import/form.h"
#include "import/hlo_proto.h"
#include "import/nsys.h"
#include "import/perfetto.h"
#include "import/pickle.h"
#include "import/riegeli.h"
#include "import/rocpd.h"
#include "import/rocprof.h"
#include "import/rocprof_csv.h"
#include "import/run_metadata.h"
#include "import/snapshot.h"
#include "import/trace_proto.h"
#include "legacy/files/hlo_json.h"
#include "wire/gz_in.h"

/* The form of a file, by its first bytes; if it is packed, by those of its contents. */
static const struct ss_form *form_of(struct ss_str path, struct ss_str bytes)
{
	return ss_form_of(path, ss_str_sub(bytes, 0, SS_FORM_HEAD_BYTES));
}

bool ss_import_is(const struct ss_file *f, struct ss_str path)
{
	return ss_gz_is(f->bytes) || form_of(path, f->bytes)->id != SS_FORM_XSPACE;
}

static bool note(struct ss_imported *out, struct ss_str text)
{
	if (!text.p)
		return false;
	if (out->nnotes < SS_COUNT(out->notes))
		out->notes[out->nnotes++] = text;
	return true;
}

/* A number and what it counts: of "event[|s]" the part of one, or that of several. */
static bool note_count(struct ss_imported *out, struct ss_arena *a, uint64_t n, const char *what)
{
	struct ss_buf b = { 0 };
	struct ss_str rest = ss_str_from(what);
	if (!n)
		return true;
	ss_buf_printf(&b, "%llu ", (unsigned long long)n);
	for (size_t open; (open = ss_str_chr(rest, '[')) != SS_NPOS;) {
		size_t bar = ss_str_chr(rest, '|'), close = ss_str_chr(rest, ']');
		ss_buf_str(&b, ss_str_sub(rest, 0, open));
		ss_buf_str(&b, n == 1 ? ss_str_sub(rest, open + 1, bar) : ss_str_sub(rest, bar + 1, close));
		rest = ss_str_sub(rest, close + 1, rest.n);
	}
	ss_buf_str(&b, rest);
	bool ok = !b.no_memory && note(out, ss_arena_str(a, ss_buf_get(&b)));
	ss_buf_free(&b);
	return ok;
}

static bool read_json(const struct ss_file *f, struct ss_space_out *o, struct ss_str *hostname, struct ss_arena *a,
		      struct ss_imported *out, struct ss_err *err)
{
	struct ss_chrome_loss loss;
	if (!ss_chrome_read(f, o, hostname, &loss, err))
		return false;
	out->cut |= loss.cut;
	bool ok =
		note_count(out, a, loss.malformed, "event[|s] of the trace [is|are] malformed and left out") &&
		note_count(out, a, loss.unknown, "event[|s] of the trace [has|have] a phase that a timeline cannot show") &&
		  note_count(out, a, loss.endless,
			     "event[|s] of the trace [has|have] no duration; [it is|they are] shown but not counted") &&
		note_count(out, a, loss.not_numbers,
			   "event[|s] [has|have] a time or a duration that is not a number (NaN, Infinity): [it is|they are] "
			   "left out, or shown without a duration") &&
		note_count(out, a, loss.negative, "event[|s] [has|have] a negative duration and [is|are] shown without one") &&
		note_count(out, a, loss.other_clock,
			   "event[|s] [has|have] times that cannot be microseconds (nanoseconds, perhaps) and [is|are] "
			   "left out") &&
		note_count(out, a, loss.same_launch,
			   "call[|s] [has|have] the correlation id of another call: operations that they launched may be "
			   "linked to the wrong call") &&
		note_count(out, a, loss.same_arrow,
			   "arrow[|s] [has|have] the id of another arrow: both may lead to the wrong event") &&
		note_count(out, a, loss.long_values, "value[|s] of the trace [is|are] longer than 16 MiB and [is|are] left out") &&
		(!loss.no_work ||
		 note(out, SS_STR("the trace holds no operators and no work of devices: if torch.profiler has a schedule, "
		     "write the trace in on_trace_ready, because its next cycle drops the recorded events"))) &&
		(!loss.more || note(out, SS_STR("more text stands after the end of the trace (another one, perhaps) and is not "
		    "read"))) &&
		(!loss.cut || loss.too_long ||
		 note(out, SS_STR("the trace is truncated or damaged; events before that point are shown"))) &&
		(!loss.too_long || note(out, SS_STR("the trace decompresses to more than the limit; the rest is left out")));
	return ok || ss_fail_mem(err);
}

static bool read_proto(struct ss_str bytes, struct ss_space_out *o, struct ss_arena *a, struct ss_imported *out,
		       struct ss_err *err)
{
	struct ss_trace_loss loss;
	if (!ss_trace_proto_read(bytes, o, &loss, err))
		return false;
	return (note_count(out, a, loss.malformed, "event[|s] of the trace [is|are] malformed and left out") &&
		(!loss.cut || note(out, SS_STR("the trace is truncated or damaged; events before that point are shown")))) ||
	       ss_fail_mem(err);
}

static bool read_perfetto(struct ss_str bytes, const struct ss_file *f, struct ss_space_out *o, struct ss_arena *a,
			  struct ss_imported *out, struct ss_err *err)
{
	struct ss_perfetto_loss loss;
	if (!ss_perfetto_read(bytes, bytes.p == f->bytes.p ? f : NULL, o, &loss, err))
		return false;
	bool ok = note_count(out, a, loss.malformed, "packet[|s] of the trace [is|are] malformed and left out") &&
		  note_count(out, a, loss.beyond,
			     "compressed packet[|s] of the trace [is|are] left out, whole or in part: together they decompress "
			     "to more than 50 times the trace and 16 MB") &&
		  note_count(out, a, loss.other, "packet[|s] of the trace [comes|come] from data sources that no timeline shows") &&
		  note_count(out, a, loss.nameless, "event[|s] [has|have] no name in the trace") &&
		  (!loss.cut || note(out, SS_STR("the trace is truncated or damaged; the content before the damage is shown")));
	return ok || ss_fail_mem(err);
}

/* An XSpace, or a Trace, needs all its bytes at once. */
static bool unpack(const struct ss_file *f, struct ss_buf *to, struct ss_imported *out, struct ss_err *err)
{
	bool whole;
	to->hold = out->hold;
	if (!ss_gz_in_all(f->bytes, to, &whole, err))
		return false;
	if (to->over)
		return note(out, SS_STR("the file decompresses to more than compressed files may take in memory; the content "
		    "up to the limit is shown. Decompress it ('gunzip') and open the result"));
	if (!whole && !to->n)
		return ss_fail(err, SS_EFORMAT, "the compressed file is damaged or truncated, and nothing of it can be unpacked: "
			       "copy it again");
	return whole || note(out, SS_STR("the compressed file is damaged; events before the damage are shown"));
}

static bool read_run_metadata(struct ss_str bytes, struct ss_space_out *o, struct ss_arena *a, struct ss_imported *out,
			      struct ss_err *err)
{
	struct ss_run_metadata_loss loss;
	if (!ss_run_metadata_read(bytes, o, &loss, err))
		return false;
	out->cut |= loss.cut;
	bool ok = note_count(out, a, loss.malformed, "node[|s] [has|have] no times and [is|are] left out") &&
		  (!loss.cut || note(out, SS_STR("the file is truncated or damaged; the content before the damage is shown")));
	return ok || ss_fail_mem(err);
}

static bool note_riegeli(const struct ss_riegeli_loss *loss, struct ss_arena *a, struct ss_imported *out)
{
	bool damaged = loss->lost_chunks > (loss->cut ? 1 : 0) || loss->lost_bytes;
	if (damaged &&
	    !note(out, ss_arena_printf(a, "the file is damaged, first at byte %llu: %llu of its chunks are left out, and %llu "
					  "bytes in which no chunk is found",
				       (unsigned long long)loss->lost_at, (unsigned long long)loss->lost_chunks,
				       (unsigned long long)loss->lost_bytes)))
		return false;
	return note_count(out, a, loss->lost_records, "record[|s] of the file [is|are] lost completely or partly") &&
	       note_count(out, a, loss->other_chunks, "chunk[|s] of the file [has|have] a kind that stepscope does not know") &&
	       (!loss->cut || note(out, SS_STR("the file is truncated, or still being written: its complete records are shown"))) &&
	       (!loss->over || note(out, SS_STR("the file decompresses to more than compressed files may take in memory; the "
	       "content up to the limit is shown")));
}

static bool read_riegeli(struct ss_str bytes, const struct ss_file *f, struct ss_arena *a, struct ss_imported *out,
			 struct ss_err *err)
{
	struct ss_riegeli_loss loss;
	out->own = true;
	out->space.hold = out->hold;
	if (!ss_riegeli_read(bytes, bytes.p == f->bytes.p ? f : NULL, &out->space, &loss, err))
		return false;
	out->cut |= loss.cut;
	return note_riegeli(&loss, a, out) || ss_fail_mem(err);
}

static bool read_rocprof(const struct ss_file *f, struct ss_space_out *o, struct ss_str *hostname, struct ss_arena *a,
			 struct ss_imported *out, struct ss_err *err)
{
	struct ss_rocprof_loss loss;
	if (!ss_rocprof_read(f, o, hostname, &loss, err))
		return false;
	bool ok = note_count(out, a, loss.malformed,
			     "record[|s] [has|have] no times, or [ends before it begins|end before they begin], "
			     "and [is|are] left out") &&
		  (!loss.cut || note(out, SS_STR("the file is truncated or damaged; the content before the damage is shown")));
	return ok || ss_fail_mem(err);
}

static bool read_rocprof_csv(struct ss_str bytes, struct ss_space_out *o, struct ss_arena *a, struct ss_imported *out,
			     struct ss_err *err)
{
	struct ss_rocprof_csv_loss loss;
	if (!ss_rocprof_csv_read(bytes, o, &loss, err))
		return false;
	bool ok = note_count(out, a, loss.malformed,
			     "row[|s] [has|have] no times, or [ends before it begins|end before they begin], "
			     "and [is|are] left out") &&
		  (!loss.cut || note(out, SS_STR("the table is truncated; the rows before the end are shown"))) &&
		  note(out, SS_STR("a table in CSV holds one kind of events: rocprofv3's JSON, pftrace and database hold all "
				   "of them"));
	return ok || ss_fail_mem(err);
}

static bool read_nsys(struct ss_db *db, struct ss_space_out *o, struct ss_str *hostname, struct ss_arena *a,
		      struct ss_imported *out, struct ss_err *err)
{
	struct ss_nsys_loss loss;
	if (!ss_nsys_read(db, o, hostname, &loss, err))
		return false;
	bool ok = note_count(out, a, loss.malformed,
			     "row[|s] [has|have] no times, or [ends before it begins|end before they begin], "
			     "and [is|are] left out") &&
		  note_count(out, a, loss.nameless, "event[|s] [has|have] no name in the export") &&
		  (!loss.cut || note(out, SS_STR("the database is damaged; the readable content is shown"))) &&
		  (!loss.warning.n || note(out, ss_arena_printf(a, "Nsight Systems warned: " SS_FMT, SS_ARG(loss.warning))));
	return ok || ss_fail_mem(err);
}

static bool read_rocpd(struct ss_db *db, struct ss_space_out *o, struct ss_str *hostname, struct ss_arena *a,
		       struct ss_imported *out, struct ss_err *err)
{
	struct ss_rocpd_loss loss;
	if (!ss_rocpd_read(db, o, hostname, &loss, err))
		return false;
	bool ok = note_count(out, a, loss.malformed,
			     "row[|s] [has|have] no times, or [ends before it begins|end before they begin], "
			     "and [is|are] left out") &&
		  (!loss.cut || note(out, SS_STR("the database is damaged; the readable content is shown")));
	return ok || ss_fail_mem(err);
}

/* Databases that profilers write and that are not read: told by a table. */
static bool name_database(struct ss_db *db, struct ss_err *err)
{
	static const struct {
		const char *prefix, *says;
	} known[] = {
		{ "CUPTI_ACTIVITY_KIND_",
		  "it is from nvprof, which is discontinued: record with 'nsys profile' or torch.profiler" },
	};
	struct ss_str name;
	if (db->cut)
		return ss_fail(err, SS_EFORMAT, "the database is truncated: copy it again, or wait until its export has ended");
	for (size_t i = 0; i < SS_COUNT(known); i++)
		if (ss_db_find_table(db, known[i].prefix, &name))
			return ss_fail(err, SS_EFORMAT, "%s", known[i].says);
	return ss_fail(err, SS_EFORMAT, "its tables are not those of a profiler that stepscope knows");
}

static bool read_database(struct ss_str bytes, const struct ss_file *f, struct ss_space_out *o, struct ss_str *hostname,
			  struct ss_arena *a, struct ss_imported *out, struct ss_err *err)
{
	struct ss_db db;
	if (!ss_db_open(&db, bytes, bytes.p == f->bytes.p ? f : NULL, err))
		return false;
	bool rocpd = ss_rocpd_is(&db), nsys = !rocpd && ss_nsys_is(&db);
	out->form = rocpd ? "a rocpd database of rocprofv3" : "an export of Nsight Systems";
	bool ok = rocpd ? read_rocpd(&db, o, hostname, a, out, err)
		  : nsys ? read_nsys(&db, o, hostname, a, out, err)
			 : name_database(&db, err);
	ss_db_close(&db);
	return ok;
}

static bool read_as(enum ss_form_id kind, struct ss_str bytes, const struct ss_file *f, struct ss_space_out *o,
		    struct ss_str *hostname, struct ss_arena *a, struct ss_imported *out, struct ss_err *err)
{
	switch (kind) {
	case SS_FORM_JSON:
		return read_json(f, o, hostname, a, out, err);
	case SS_FORM_ROCPROF:
		return read_rocprof(f, o, hostname, a, out, err);
	case SS_FORM_ROCPROF_CSV:
		return read_rocprof_csv(bytes, o, a, out, err);
	case SS_FORM_PERFETTO:
		return read_perfetto(bytes, f, o, a, out, err);
	case SS_FORM_RUN_METADATA:
		return read_run_metadata(bytes, o, a, out, err);
	case SS_FORM_SQLITE:
		return read_database(bytes, f, o, hostname, a, out, err);
	default:
		return read_proto(bytes, o, a, out, err);
	}
}

static bool convert(const struct ss_file *f, enum ss_form_id kind, struct ss_str unpacked, struct ss_arena *arena,
		    struct ss_imported *out, struct ss_err *err)
{
	struct ss_space_out o = { .hold = out->hold };
	struct ss_str hostname = SS_STR("");
	bool ok = read_as(kind, unpacked, f, &o, &hostname, arena, out, err);
	ok = ok && ss_so_finish(&o, hostname, &out->space, err);
	out->launch_ops = o.launch_ops;
	if (ok && !(note_count(out, arena, o.unmatched, "event[|s] of the trace [ends|end] without a begin") &&
		    note_count(out, arena, o.left_out,
			       "event[|s] of the trace [is|are] left out: [it exceeds|they exceed] the memory limit") &&
		    note_count(out, arena, o.far, "event[|s] [lies|lie] months apart from the others and [is|are] left out")))
		ok = ss_fail_mem(err);
	ss_so_free(&o);
	if (!ok)
		return false;
	out->space.hold = out->hold;
	out->space.held_bytes = ss_hold_take(out->hold, out->space.n) ? out->space.n : 0;
	return out->space.held_bytes == out->space.n || ss_hold_fail(SS_STR("the trace"), err);
}

static bool refuse(struct ss_str path, const struct ss_form *form, struct ss_str head, struct ss_err *err)
{
	struct ss_str line = ss_str_sub(head, 0, ss_str_chr(head, '\n'));
	bool shows = form->id == SS_FORM_REFUSED_LINE && line.n > 1;
	line = ss_utf8_front(line.n && line.p[line.n - 1] == '\r' ? ss_str_sub(line, 0, line.n - 1) : line, 100);
	return ss_fail(err, SS_EFORMAT, "'" SS_FMT "' is %s%s" SS_FMT "%s: %s", SS_ARG(path), form->name,
		       shows ? " (it begins with '" : "", SS_ARG(shows ? line : SS_STR("")), shows ? "')" : "", form->advice);
}

/* Without a look at all of a pickle: is it one of something else, as far as its beginning shows? */
static bool refuse_snapshot(struct ss_str path, const struct ss_form *form, struct ss_str head, struct ss_err *err)
{
	if (ss_pickle_is(head) && !ss_snapshot_is(head))
		return ss_fail(err, SS_EFORMAT, "'" SS_FMT "' is a pickle of Python, not a profile, and does not begin as a memory "
			       "snapshot of PyTorch does: a profile is a file *.xplane.pb", SS_ARG(path));
	return ss_fail(err, SS_EFORMAT, "'" SS_FMT "' is %s: 'stepscope tool memory_snapshot' shows it", SS_ARG(path), form->name);
}

static bool import_layer(const struct ss_file *f, struct ss_str path, struct ss_arena *arena, struct ss_imported *out,
		   bool *twice, struct ss_err *err)
{
	struct ss_buf unpacked = { 0 };
	char head[SS_FORM_HEAD_BYTES];
	struct ss_str begin = ss_str_sub(f->bytes, 0, SS_FORM_HEAD_BYTES);
	const struct ss_form *form = ss_form_of(path, begin);
	if (ss_gz_is(f->bytes)) {
		/* A look at the beginning says what it is; JSON is unpacked as it is read. */
		begin = ss_form_head(f->bytes, head);
		if (!begin.p)
			return ss_fail_mem(err);
		*twice = ss_gz_is(begin);
		if (*twice)
			return true;
		form = ss_form_of(path, begin);
	}
	out->form = form->name;
	if (form->id == SS_FORM_SNAPSHOT)
		return refuse_snapshot(path, form, begin, err);
	if (form->id == SS_FORM_REFUSED || form->id == SS_FORM_REFUSED_LINE)
		return refuse(path, form, begin, err);
	if (ss_gz_is(f->bytes) && form->id != SS_FORM_JSON && form->id != SS_FORM_ROCPROF && !unpack(f, &unpacked, out, err)) {
		ss_buf_free(&unpacked);
		return false;
	}
	if (form->id == SS_FORM_XSPACE) {
		out->own = true;
		out->space = unpacked;
		return true;
	}
	struct ss_err why = { 0 };
	struct ss_str bytes = unpacked.p ? ss_buf_get(&unpacked) : f->bytes;
	bool json = form->id == SS_FORM_PROGRAM && ss_hlo_json_is(bytes);
	bool ok = json				      ? ss_hlo_json_read(bytes, &out->space, &why) :
		  form->id == SS_FORM_PROGRAM ? ss_hlo_proto_read(bytes, &out->space, &why) :
		  form->id == SS_FORM_RIEGELI ? read_riegeli(bytes, f, arena, out, &why) :
						      convert(f, form->id, bytes, arena, out, &why);
	ss_buf_free(&unpacked);
	return ok || ss_fail(err, why.code, "'" SS_FMT "' is not %s: %s", SS_ARG(path), form->name, why.text);
}

bool ss_import(const struct ss_file *f, struct ss_str path, struct ss_arena *arena, struct ss_imported *out,
	       struct ss_err *err)
{
	struct ss_buf inner = { 0 };
	bool twice = false, again = false;
	*out = (struct ss_imported){ .hold = ss_hold_open(f->bytes.n) };
	if (!out->hold)
		return ss_fail_mem(err);
	bool ok = import_layer(f, path, arena, out, &twice, err);
	if (!ok || !twice)
		return ok;
	/*
	 * Packed once more on its way (fetched with a content encoding): the outer layer is held,
	 * the inner one read as ever.
	 */
	ok = unpack(f, &inner, out, err);
	struct ss_file file = { .bytes = ss_buf_get(&inner), .borrowed = true };
	ok = ok && import_layer(&file, path, arena, out, &again, err);
	if (ok && again)
		ok = ss_fail(err, SS_EFORMAT, "'" SS_FMT "' is compressed more than twice", SS_ARG(path));
	ss_buf_free(&inner);
	return ok;
}
