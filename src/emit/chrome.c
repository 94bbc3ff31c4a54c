/*
 * chrome.c - XProf's JSON of a timeline. Answers of 10 MB are common, so an event costs a few
 * copies: what does not change along a track, and each name already escaped, are made once; the
 * rest is four numbers.
 */
#include "emit/chrome.h"

#include "base/map.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Escaped names, one behind the other. */
struct names {
	struct ss_out bytes;
	size_t *end;		/* of each name in bytes */
};

/* Short strings are copied by blocks of so many bytes: source and target have room behind their end. */
#define COPY_BLOCK 16u
#define AHEAD 8u

static inline char *put_blocks(char *p, struct ss_str s)
{
	size_t i = 0;
	do {
		memcpy(p + i, s.p + i, COPY_BLOCK);
		i += COPY_BLOCK;
	} while (i < s.n);
	return p + s.n;
}

struct writer {
	struct ss_out *o;
	const struct ss_timeline *tl;
	struct names names;
	bool comma;		/* an element of traceEvents was written */
	struct ss_strmap frames;	/* long names, each once; their ids count from 1 */
};

/* Names of flow categories; the first two are general and have none. */
static struct ss_str category_name(uint8_t category)
{
	static const char *const names[] = {
		"", "", "tf_exec", "tfrt_exec", "batch_sched", "PjRt", "as_batch_sched", "tfrt_rt", "tpu_embed",
		"gpu_launch", "batcher", "tpu_stream", "tpu_launch", "pathways_exec", "pjrt_library_call",
		"threadpool_event", "jax_serving", "sparsecore_offload",
	};
	return ss_str_from(category < SS_COUNT(names) ? names[category] : "");
}

static bool escape_names(struct writer *w)
{
	const struct ss_timeline *tl = w->tl;
	ss_out_init(&w->names.bytes, NULL, NULL);
	w->names.end = malloc((tl->nnames + 1) * sizeof(*w->names.end));
	if (!w->names.end)
		return false;
	for (size_t i = 0; i < tl->nnames; i++) {
		/* Names stand all over the file: the next ones are on their way meanwhile. */
		if (i + AHEAD < tl->nnames)
			__builtin_prefetch(tl->names[i + AHEAD].p);
		ss_out_json_escaped(&w->names.bytes, tl->names[i]);
		w->names.end[i] = w->names.bytes.n;
	}
	/* Names are copied by blocks. */
	ss_out_str(&w->names.bytes, (struct ss_str){ (const char[COPY_BLOCK]){ 0 }, COPY_BLOCK });
	return ss_out_finish(&w->names.bytes, NULL);
}

static struct ss_str escaped(const struct writer *w, uint32_t name)
{
	size_t begin = name ? w->names.end[name - 1] : 0;
	const char *names = w->names.bytes.buf;		/* NULL when all of them are empty */
	return (struct ss_str){ names ? names + begin : "", w->names.end[name] - begin };
}

static void begin_element(struct writer *w)
{
	if (w->comma)
		ss_out_char(w->o, ',');
	w->comma = true;
}

/* ---- metadata ---- */

static void write_name(struct writer *w, struct ss_str name, const char *key)
{
	begin_element(w);
	ss_out_lit(w->o, "{\"args\":{\"name\":");
	ss_out_json_str(w->o, name);
	ss_out_printf(w->o, "},\"name\":\"%s\",\"ph\":\"M\",\"pid\":", key);
}

static void write_sort_index(struct writer *w, uint32_t index, const char *key)
{
	begin_element(w);
	ss_out_printf(w->o, "{\"args\":{\"sort_index\":%u},\"name\":\"%s\",\"ph\":\"M\",\"pid\":", index, key);
}

static void write_thread(struct writer *w, const struct ss_tl_section *s, const struct ss_tl_track *t)
{
	write_name(w, t->name, "thread_name");
	ss_out_printf(w->o, "%u,\"tid\":%u}", s->pid, t->tid);
	write_sort_index(w, t->tid, "thread_sort_index");
	ss_out_printf(w->o, "%u,\"tid\":%u}", s->pid, t->tid);
}

/*
 * Is there another line with the thread id of the section's i-th track, behind it? Such stand
 * together.
 */
static bool is_same_thread(const struct ss_timeline *tl, const struct ss_tl_section *s, uint32_t i)
{
	const struct ss_tl_track *t = &tl->tracks[s->first_track + i];
	for (uint32_t k = i + 1; k < s->ntracks; k++) {
		const struct ss_tl_track *other = &tl->tracks[s->first_track + k];
		if (other->tid != t->tid)
			return false;
		if (other->kind == SS_TL_SLICES)
			return true;
	}
	return false;
}

static void write_section(struct writer *w, const struct ss_tl_section *s)
{
	write_name(w, s->name, "process_name");
	ss_out_printf(w->o, "%u,\"thread_count\":%u}", s->pid, s->nthreads);
	write_sort_index(w, s->sort_index, "process_sort_index");
	ss_out_printf(w->o, "%u}", s->pid);
	for (uint32_t i = 0; i < s->ntracks; i++) {
		const struct ss_tl_track *t = &w->tl->tracks[s->first_track + i];
		/*
		 * Counters and asynchronous events belong to the process; of lines with one id the
		 * last names it.
		 */
		if (t->kind == SS_TL_SLICES && !is_same_thread(w->tl, s, i))
			write_thread(w, s, t);
	}
}

/* ---- arguments ---- */

static bool ends_with(struct ss_str s, const char *z)
{
	return ss_str_ends(s, ss_str_from(z));
}

static void write_value(struct ss_out *o, struct ss_str name, const struct ss_tl_value *v, bool exact_text)
{
	const uint64_t exact = exact_text ? UINT64_C(1) << 53 : UINT64_MAX; /* beyond, JavaScript's numbers lose digits */
	double d;
	memcpy(&d, &v->u, sizeof(d));
	switch (v->kind) {
	case SS_TL_INT: {
		int64_t i = (int64_t)v->u;
		bool quote = exact_text && (i > (int64_t)exact || i < -(int64_t)exact);
		ss_out_str(o, ss_str_sub(SS_STR("\""), 0, quote));
		ss_out_i64(o, i);
		ss_out_str(o, ss_str_sub(SS_STR("\""), 0, quote));
		break;
	}
	case SS_TL_UINT:
		ss_out_str(o, ss_str_sub(SS_STR("\""), 0, v->u > exact));
		ss_out_u64(o, v->u);
		ss_out_str(o, ss_str_sub(SS_STR("\""), 0, v->u > exact));
		break;
	case SS_TL_DOUBLE:
		if (isfinite(d) && (ends_with(name, "(util %)") || ends_with(name, " (MB/sec)")))
			ss_out_printf(o, "%.2f", d);
		else
			ss_out_f64(o, d);
		break;
	case SS_TL_STR:
		ss_out_json_str(o, v->s);
		break;
	}
}

/*
 * Long names are sent apart, as stack frames; XProf's store keeps strings of up to 16 bytes in
 * place.
 */
static bool is_frame(const struct ss_tl_arg *a)
{
	return a->value.kind == SS_TL_STR && a->value.s.n > 16 &&
	       (ss_str_is(a->name, "long_name") || ss_str_is(a->name, "hlo_text"));
}

static struct ss_tl_args args_of(const struct ss_timeline *tl, size_t slice)
{
	return tl->slice_args ? tl->slice_args[slice] : (struct ss_tl_args){ 0, 0 };
}

static bool find_frames(struct writer *w)
{
	for (size_t i = 0; i < w->tl->nargs; i++)
		if (is_frame(&w->tl->args[i]) && ss_strmap_add(&w->frames, w->tl->args[i].value.s) == SS_NONE)
			return false;
	return true;
}

static void write_frames(struct writer *w)
{
	ss_out_lit(w->o, "\"stackFrames\":{");
	for (uint32_t i = 0; i < w->frames.n; i++) {
		ss_out_printf(w->o, "%s\"%u\":{\"name\":", i ? "," : "", i + 1);
		ss_out_json_str(w->o, w->frames.keys[i]);
		ss_out_char(w->o, '}');
	}
	ss_out_lit(w->o, "},");
}

/* `,"args":{...}` and the stack frame. Only the first long name of an event is its frame. */
static void write_args(struct writer *w, size_t slice)
{
	const struct ss_tl_slice *s = &w->tl->slices[slice];
	struct ss_tl_args own = args_of(w->tl, slice);
	const char *comma = "";
	uint32_t frame = 0;
	ss_out_lit(w->o, ",\"args\":{");
	if (s->group >= 0) {
		ss_out_printf(w->o, "\"group_id\":%lld", (long long)s->group);
		comma = ",";
	}
	for (size_t i = own.first; i < own.first + own.n; i++) {
		const struct ss_tl_arg *a = &w->tl->args[i];
		if (frame == 0 && is_frame(a)) {
			frame = ss_strmap_get(&w->frames, a->value.s) + 1;
			continue;
		}
		ss_out_z(w->o, comma);
		ss_out_json_str(w->o, a->name);
		ss_out_char(w->o, ':');
		write_value(w->o, a->name, &a->value, true);
		comma = ",";
	}
	if (own.n == 0 && !w->tl->with_args)
		ss_out_printf(w->o, "%s\"uid\":%u", comma, s->uid);
	ss_out_char(w->o, '}');
	if (frame)
		ss_out_printf(w->o, ",\"sf\":%u", frame);
}

/* ---- slices ---- */

/* `,"bind_id":...` and what goes with it: up to 100 bytes and a number. */
static char *put_flow(char *p, const struct ss_tl_flow *f)
{
	p = ss_put_lit(p, ",\"bind_id\":");
	p = ss_put_u64(p, (uint64_t)f->id + 1);
	struct ss_str category = category_name(f->category);
	if (category.n) {
		p = ss_put_lit(p, ",\"cat\":\"");
		p = ss_put_str(p, category);
		*p++ = '"';
	}
	if (f->dir & SS_TL_FLOW_IN)
		p = ss_put_lit(p, ",\"flow_in\":true");
	if (f->dir & SS_TL_FLOW_OUT)
		p = ss_put_lit(p, ",\"flow_out\":true");
	return p;
}

/* The part that all slices have, up to `"ph":"X"`; `head` is what all of the track begin with. */
static inline char *put_common(const struct writer *w, char *p, const struct ss_tl_slice *s, struct ss_str head)
{
	p = put_blocks(p, head);
	p = put_blocks(p, escaped(w, s->name));
	p = ss_put_lit(p, "\",\"ts\":");
	p = ss_put_us(p, s->begin_ps);
	p = ss_put_lit(p, ",\"dur\":");
	p = ss_put_us(p, s->dur_ps ? s->dur_ps : 1);
	if (s->flow != UINT32_MAX)
		p = put_flow(p, &w->tl->flows[s->flow]);
	return ss_put_lit(p, ",\"ph\":\"X\"");
}

/* Room for put_common and some 200 bytes more. */
static inline char *slice_room(struct writer *w, const struct ss_tl_slice *s, struct ss_str head)
{
	return ss_out_room(w->o, head.n + escaped(w, s->name).n + 512);
}

static void write_slice_with_args(struct writer *w, size_t i, struct ss_str head)
{
	const struct ss_tl_slice *s = &w->tl->slices[i];
	char *p = slice_room(w, s, head);
	if (!p)
		return;
	w->o->n = (size_t)(put_common(w, p, s, head) - w->o->buf);
	write_args(w, i);
	ss_out_printf(w->o, ",\"z\":%u}", s->uid);
}

/* One reservation, then copies and digits. */
static inline void write_slice(struct writer *w, const struct ss_tl_slice *s, struct ss_str head)
{
	char digits[SS_PUT_ROOM], *p = slice_room(w, s, head);
	if (!p)
		return;
	const struct ss_str uid = { digits, (size_t)(ss_put_u64(digits, s->uid) - digits) };
	p = put_common(w, p, s, head);
	p = ss_put_lit(p, ",\"args\":{");
	if (s->group >= 0) {
		p = ss_put_lit(p, "\"group_id\":");
		p = ss_put_u64(p, (uint64_t)s->group);
		*p++ = ',';
	}
	p = ss_put_lit(p, "\"uid\":");
	p = put_blocks(p, uid);
	p = ss_put_lit(p, "},\"z\":");
	p = put_blocks(p, uid);
	*p++ = '}';
	w->o->n = (size_t)(p - w->o->buf);
}

static void write_slices(struct writer *w, const struct ss_tl_section *s, const struct ss_tl_track *t)
{
	const struct ss_timeline *tl = w->tl;
	char buf[80 + COPY_BLOCK] = { 0 };
	int n = snprintf(buf, sizeof(buf), ",{\"pid\":%u,\"tid\":%u,\"name\":\"", s->pid, t->tid);
	struct ss_str head = { buf, (size_t)n };
	for (size_t i = t->first; i < t->first + t->count; i++) {
		struct ss_str own = ss_str_sub(head, !w->comma, head.n);
		w->comma = true;
		if (tl->with_args)
			write_slice_with_args(w, i, own);
		else
			write_slice(w, &tl->slices[i], own);
	}
}

/* ---- counters and asynchronous events ---- */

static void write_counter(struct writer *w, const struct ss_tl_section *s, const struct ss_tl_track *t)
{
	const struct ss_timeline *tl = w->tl;
	if (t->count == 0)
		return;
	struct ss_tl_args first = args_of(tl, t->first);
	begin_element(w);
	ss_out_printf(w->o, "{\"pid\":%u,\"name\":", s->pid);
	ss_out_json_str(w->o, t->name);
	ss_out_lit(w->o, ",\"ph\":\"C\",\"event_stats\":");
	ss_out_json_str(w->o, first.n ? tl->args[first.first].name : SS_STR(""));
	ss_out_lit(w->o, ",\"entries\":[");
	bool comma = false;
	for (size_t i = t->first; i < t->first + t->count; i++) {
		struct ss_tl_args own = args_of(tl, i);
		if (own.n == 0)
			continue;
		ss_out_str(w->o, ss_str_sub(SS_STR(",["), !comma, 2));
		comma = true;
		ss_out_us(w->o, tl->slices[i].begin_ps);
		for (size_t k = own.first; k < own.first + own.n; k++) {
			ss_out_char(w->o, ',');
			write_value(w->o, tl->args[k].name, &tl->args[k].value, false);
		}
		ss_out_char(w->o, ']');
	}
	ss_out_lit(w->o, "]}");
}

static void write_mark(struct writer *w, const struct ss_tl_section *s, size_t i, uint64_t ps, const char *ph, bool args)
{
	const struct ss_tl_slice *e = &w->tl->slices[i];
	const struct ss_tl_flow *f = e->flow != UINT32_MAX ? &w->tl->flows[e->flow] : NULL;
	begin_element(w);
	ss_out_printf(w->o, "{\"pid\":%u,\"name\":\"", s->pid);
	ss_out_str(w->o, escaped(w, e->name));
	ss_out_lit(w->o, "\",\"ts\":");
	ss_out_us(w->o, ps);
	ss_out_printf(w->o, ",\"id\":%u,\"cat\":\"", f ? f->id + 1 : 0);
	ss_out_str(w->o, category_name(f ? f->category : 0));
	ss_out_printf(w->o, "\",\"ph\":\"%s\"", ph);
	if (args)
		write_args(w, i);
	ss_out_char(w->o, '}');
}

/* The flow pairs begin and end; what is neither is a span of its own. */
static void write_async(struct writer *w, const struct ss_tl_section *s, const struct ss_tl_track *t)
{
	for (size_t i = t->first; i < t->first + t->count; i++) {
		const struct ss_tl_slice *e = &w->tl->slices[i];
		uint8_t dir = e->flow != UINT32_MAX ? w->tl->flows[e->flow].dir : SS_TL_FLOW_INOUT;
		write_mark(w, s, i, e->begin_ps, dir == SS_TL_FLOW_IN ? "e" : "b", true);
		if (dir == SS_TL_FLOW_INOUT)
			write_mark(w, s, i, e->begin_ps + e->dur_ps, "e", false);
	}
}

/* ---- the whole ---- */

static void write_head(struct writer *w)
{
	const struct ss_timeline *tl = w->tl;
	ss_out_lit(w->o, "{\"displayTimeUnit\":\"ns\",\"metadata\":{\"highres-ticks\":true}, \"codeLink\":\"\","
			 "\"useNewBackend\": false,\"details\":[{\"name\":\"mpmd_pipeline_view\",\"value\":");
	ss_out_z(w->o, tl->mpmd_pipeline_view ? "true}" : "false}");
	if (tl->has_full_dma)
		ss_out_printf(w->o, ",{\"name\":\"full_dma\",\"value\":%s}", tl->full_dma ? "true" : "false");
	/* "filteredByVisibility" true makes the page ask again when it zooms, as XProf's answers do. */
	ss_out_printf(w->o, "],\"returnedEventsSize\":%zu,\"filteredByVisibility\":true,\"fullTimespan\":[", tl->nslices);
	ss_out_printf(w->o, "%g,%g],", (double)tl->begin_ps / 1e9, (double)tl->end_ps / 1e9);
	write_frames(w);
}

static void write_events(struct writer *w)
{
	const struct ss_timeline *tl = w->tl;
	uint64_t points = 0;
	ss_out_lit(w->o, "\"traceEvents\":[");
	for (size_t i = 0; i < tl->nsections; i++)
		write_section(w, &tl->sections[i]);
	for (size_t i = 0; i < tl->ntracks; i++) {
		const struct ss_tl_track *t = &tl->tracks[i];
		const struct ss_tl_section *s = &tl->sections[t->section];
		if (t->kind == SS_TL_SLICES)
			write_slices(w, s, t);
		else if (t->kind == SS_TL_ASYNC)
			write_async(w, s, t);
		else
			write_counter(w, s, t);
		points += t->kind == SS_TL_COUNTER ? t->count : 0;
	}
	ss_out_printf(w->o, "], \"showCounterMessage\": \"\" ,\"totalCounterEvents\":%llu}", (unsigned long long)points);
}

void ss_chrome_write(struct ss_out *o, const struct ss_timeline *tl)
{
	struct writer w = { .o = o, .tl = tl };
	if (tl->pull) {
		ss_chrome_write_file(o, tl);
		return;
	}
	if (escape_names(&w) && find_frames(&w)) {
		write_head(&w);
		write_events(&w);
	} else {
		o->no_memory = true;
	}
	ss_strmap_free(&w.frames);
	free(w.names.end);
	ss_out_free(&w.names.bytes);
}
