/*
 * chrome_file.c - a whole host as Chrome trace JSON: an event a line, every argument a string, as
 * XProf's static trace viewer (and the `<host>.trace.json.gz` that JAX leaves beside a profile) has
 * it.
 */
#include "emit/chrome.h"

static void write_name(struct ss_out *o, const char *kind, struct ss_str name, uint32_t pid)
{
	ss_out_lit(o, "{\"args\":{\"name\":");
	ss_out_json_str(o, name);
	ss_out_printf(o, "},\"name\":\"%s\",\"ph\":\"M\",\"pid\":%u", kind, pid);
}

static void write_section(struct ss_out *o, const struct ss_timeline *tl, const struct ss_tl_section *s)
{
	write_name(o, "process_name", s->name, s->pid);
	ss_out_printf(o, "},\n{\"args\":{\"sort_index\":%u},\"name\":\"process_sort_index\",\"ph\":\"M\",\"pid\":%u},\n",
		      s->sort_index, s->pid);
	for (uint32_t i = s->first_track; i < s->first_track + s->ntracks; i++) {
		uint32_t tid = tl->tracks[i].tid;
		/* Of lines with one id the last names the thread; they stand together. */
		if (i + 1 < s->first_track + s->ntracks && tl->tracks[i + 1].tid == tid)
			continue;
		write_name(o, "thread_name", tl->tracks[i].name, s->pid);
		ss_out_printf(o, ",\"tid\":%u},\n{\"args\":{\"sort_index\":%u},\"name\":\"thread_sort_index\",\"ph\":\"M\","
			      "\"pid\":%u,\"tid\":%u},\n", tid, tid, s->pid, tid);
	}
}

/* Numbers as text, doubles with six digits. */
static void write_text(struct ss_out *o, const struct ss_tl_value *v)
{
	double d;
	if (v->kind == SS_TL_STR) {
		ss_out_json_str(o, v->s);
		return;
	}
	memcpy(&d, &v->u, sizeof(d));
	ss_out_char(o, '"');
	if (v->kind == SS_TL_INT)
		ss_out_i64(o, (int64_t)v->u);
	else if (v->kind == SS_TL_UINT)
		ss_out_u64(o, v->u);
	else
		ss_out_printf(o, "%g", d);
	ss_out_char(o, '"');
}

static void write_args(struct ss_out *o, const struct ss_timeline *piece, struct ss_tl_args own)
{
	ss_out_lit(o, "\"args\":{");
	for (size_t i = own.first; i < own.first + own.n; i++) {
		if (i > own.first)
			ss_out_char(o, ',');
		ss_out_json_str(o, piece->args[i].name);
		ss_out_char(o, ':');
		write_text(o, &piece->args[i].value);
	}
	ss_out_lit(o, "},");
}

static void write_slice(struct ss_out *o, const struct ss_timeline *tl, const struct ss_timeline *piece, size_t i)
{
	const struct ss_tl_slice *s = &piece->slices[i];
	const struct ss_tl_track *t = &tl->tracks[s->track];
	ss_out_char(o, '{');
	if (piece->slice_args[i].n)
		write_args(o, piece, piece->slice_args[i]);
	if (s->dur_ps) {
		ss_out_lit(o, "\"dur\":");
		ss_out_us(o, s->dur_ps);
		ss_out_char(o, ',');
	}
	ss_out_lit(o, "\"name\":");
	ss_out_json_str(o, piece->names[s->name]);
	/* By hand: printf took a quarter of the time of a file. */
	ss_out_z(o, s->dur_ps ? ",\"ph\":\"X\",\"pid\":" : ",\"ph\":\"i\",\"pid\":");
	ss_out_u64(o, tl->sections[t->section].pid);
	ss_out_z(o, s->dur_ps ? ",\"tid\":" : ",\"s\":\"t\",\"tid\":");
	ss_out_u64(o, t->tid);
	ss_out_lit(o, ",\"ts\":");
	ss_out_us(o, s->begin_ps);
	ss_out_lit(o, "},\n");
}

void ss_chrome_write_file(struct ss_out *o, const struct ss_timeline *tl)
{
	struct ss_timeline piece;
	struct ss_err err = { 0 };
	ss_out_lit(o, "{\"displayTimeUnit\":\"ns\",\"metadata\":{\"highres-ticks\":true},\n\"traceEvents\":[\n");
	for (size_t i = 0; i < tl->nsections; i++)
		write_section(o, tl, &tl->sections[i]);
	do {
		if (!tl->pull->next(tl->pull, &piece, &err)) {
			o->no_memory = true;
			break;
		}
		for (size_t i = 0; i < piece.nslices; i++)
			write_slice(o, tl, &piece, i);
	} while (piece.nslices && !o->refused && !o->no_memory);
	tl->pull->close(tl->pull);
	ss_out_lit(o, "{}]}\n");
}
