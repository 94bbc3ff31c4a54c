/*
 * slices.c - what our page draws: one JSON head, then columns that compress well (differences,
 * ticks).
 */
#include "emit/slices.h"

#include "base/arena.h"
#include "base/cxx_name.h"
#include "base/le.h"
#include "emit/json.h"

#include <math.h>
#include <stdlib.h>

static void key_str(struct ss_out *o, const char *key, struct ss_str v)
{
	ss_out_printf(o, "\"%s\":", key);
	ss_out_json_str(o, v);
}

static void key_u64(struct ss_out *o, const char *key, uint64_t v)
{
	ss_out_printf(o, "\"%s\":", key);
	ss_out_u64(o, v);
}

static void comma(struct ss_out *o, bool *any)
{
	if (*any)
		ss_out_char(o, ',');
	*any = true;
}

/* ---- layout ---- */

static void write_track(struct ss_out *o, const struct ss_timeline *tl, size_t i)
{
	static const char *const kinds[] = { [SS_TL_SLICES] = "slices", [SS_TL_COUNTER] = "counter",
					     [SS_TL_ASYNC] = "async" };
	const struct ss_tl_track *t = &tl->tracks[i];
	ss_out_printf(o, "{\"track\":%zu,\"tid\":%u,", i, t->tid);
	key_str(o, "name", t->name);
	ss_out_printf(o, ",\"kind\":\"%s\",\"rows\":%u,", kinds[t->kind], t->rows);
	key_u64(o, "events", t->nevents);
	if (t->kind == SS_TL_COUNTER) {
		ss_out_lit(o, ",\"min\":");
		ss_out_f64(o, t->min);
		ss_out_lit(o, ",\"max\":");
		ss_out_f64(o, t->max);
	}
	ss_out_char(o, '}');
}

static void write_section(struct ss_out *o, const struct ss_timeline *tl, const struct ss_tl_section *s)
{
	static const char *const kinds[] = { [SS_TL_DEVICE] = "device", [SS_TL_HOST] = "host", [SS_TL_CUSTOM] = "custom" };
	ss_out_printf(o, "{\"pid\":%u,", s->pid);
	key_str(o, "name", s->name);
	ss_out_printf(o, ",\"kind\":\"%s\",\"tracks\":[", kinds[s->kind]);
	bool any = false;
	for (uint32_t i = 0; i < s->ntracks; i++) {
		comma(o, &any);
		write_track(o, tl, (size_t)s->first_track + i);
	}
	ss_out_lit(o, "]}");
}

static void key_f64(struct ss_out *o, const char *key, double v)
{
	ss_out_printf(o, ",\"%s\":", key);
	if (isnan(v))
		ss_out_lit(o, "null");
	else
		ss_out_f64(o, v);
}

static void write_clocks(struct ss_out *o, const struct ss_timeline *tl)
{
	bool any = false;
	if (!tl->clock_words.p) {
		ss_out_lit(o, ",\"clocks\":null");
		return;
	}
	ss_out_lit(o, ",\"clocks\":{");
	key_str(o, "text", tl->clock_words);
	ss_out_lit(o, ",\"hosts\":[");
	for (size_t i = 0; i < tl->nclocks; i++) {
		const struct ss_tl_clock *k = &tl->clocks[i];
		comma(o, &any);
		ss_out_char(o, '{');
		key_str(o, "host", k->host);
		ss_out_printf(o, ",\"state\":\"%s\",\"corrected\":%s", k->state, k->corrected ? "true" : "false");
		key_f64(o, "offset_us", k->offset_us);
		key_f64(o, "drift_ppm", k->drift_ppm);
		key_f64(o, "uncertainty_us", k->uncertainty_us);
		ss_out_char(o, '}');
	}
	ss_out_lit(o, "]}");
}

void ss_emit_timeline_layout(struct ss_out *o, const struct ss_timeline *tl)
{
	bool any = false;
	ss_out_char(o, '{');
	key_u64(o, "begin_ps", tl->begin_ps);
	ss_out_char(o, ',');
	key_u64(o, "end_ps", tl->end_ps);
	ss_out_lit(o, ",\"start_unix_ns\":");
	if (tl->start_unix_ns)
		ss_out_i64(o, tl->start_unix_ns);
	else
		ss_out_lit(o, "null");
	ss_out_char(o, ',');
	key_u64(o, "events", tl->nevents);
	ss_out_char(o, ',');
	key_u64(o, "dropped", tl->ndropped);
	ss_out_lit(o, ",\"sections\":[");
	for (size_t i = 0; i < tl->nsections; i++) {
		comma(o, &any);
		write_section(o, tl, &tl->sections[i]);
	}
	ss_out_char(o, ']');
	write_clocks(o, tl);
	ss_out_lit(o, ",\"notes\":[");
	if (tl->ndropped)
		ss_out_printf(o, "{\"severity\":\"warning\",\"text\":\"%llu event%s could not be read and %s not shown\"}",
			      (unsigned long long)tl->ndropped, tl->ndropped == 1 ? "" : "s", tl->ndropped == 1 ? "is" : "are");
	ss_out_lit(o, "]}");
}

/* ---- values ---- */

/* Write JSON numbers if they are exact, else texts. */
static void write_value(struct ss_out *o, const struct ss_tl_value *v)
{
	const int64_t exact = INT64_C(1) << 53;
	int64_t i = (int64_t)v->u;
	double d;
	memcpy(&d, &v->u, sizeof(d));
	bool quote = v->kind == SS_TL_UINT ? v->u > (uint64_t)exact : v->kind == SS_TL_INT && (i > exact || i < -exact);
	if (quote)
		ss_out_char(o, '"');
	if (v->kind == SS_TL_INT)
		ss_out_i64(o, i);
	else if (v->kind == SS_TL_UINT)
		ss_out_u64(o, v->u);
	else if (v->kind == SS_TL_DOUBLE)
		ss_out_f64(o, d);
	else
		ss_out_json_str(o, v->s);
	if (quote)
		ss_out_char(o, '"');
}

/* The value of a point, its first argument that is a number; none draws as 0. */
static void write_point(struct ss_out *o, const struct ss_timeline *tl, const struct ss_tl_args *own)
{
	static const struct ss_tl_value none = { .kind = SS_TL_INT };
	const struct ss_tl_value *v = &none;
	for (size_t i = own->first; i < own->first + own->n && v == &none; i++)
		if (tl->args[i].value.kind != SS_TL_STR)
			v = &tl->args[i].value;

	double d;
	memcpy(&d, &v->u, sizeof(d));
	if (v->kind == SS_TL_INT)
		ss_out_i64(o, (int64_t)v->u);
	else if (v->kind == SS_TL_UINT)
		ss_out_u64(o, v->u);
	else if (v->kind == SS_TL_DOUBLE && d == d && d - d == 0)
		ss_out_f64(o, d);
	else
		ss_out_char(o, '0');
}

/* ---- slices ---- */

/* Counters are drawn from the head; the columns hold what has a length. */
static bool in_columns(const struct ss_tl_track *t)
{
	return t->wanted && t->kind != SS_TL_COUNTER;
}

static void write_counters(struct ss_out *o, const struct ss_timeline *tl)
{
	bool any = false;
	ss_out_lit(o, ",\"counters\":[");
	for (size_t i = 0; i < tl->ntracks; i++) {
		const struct ss_tl_track *t = &tl->tracks[i];
		if (t->kind != SS_TL_COUNTER || !t->wanted)
			continue;
		comma(o, &any);
		ss_out_printf(o, "{\"track\":%zu,\"t_ps\":[", i);
		for (size_t k = 0; k < t->count; k++) {
			if (k)
				ss_out_char(o, ',');
			ss_out_u64(o, tl->slices[t->first + k].begin_ps);
		}
		ss_out_lit(o, "],\"value\":[");
		for (size_t k = 0; k < t->count; k++) {
			if (k)
				ss_out_char(o, ',');
			write_point(o, tl, &tl->slice_args[t->first + k]);
		}
		ss_out_lit(o, "]}");
	}
	ss_out_char(o, ']');
}

static void write_arrows(struct ss_out *o, const struct ss_timeline *tl, const uint32_t *sent)
{
	bool any = false;
	ss_out_lit(o, ",\"flows\":[");
	for (size_t i = 0; i < tl->narrows; i++) {
		const struct ss_tl_arrow *a = &tl->arrows[i];
		comma(o, &any);
		ss_out_printf(o, "{\"id\":%u,\"from\":%u,\"to\":%u}", a->flow, sent[a->from], sent[a->to]);
	}
	ss_out_char(o, ']');
}

static void write_head(struct ss_out *o, const struct ss_timeline *tl, uint64_t origin_ps, size_t n, const uint32_t *sent)
{
	bool any = false;
	size_t first = 0;
	ss_out_char(o, '{');
	key_u64(o, "begin_ps", tl->from_ps);
	ss_out_char(o, ',');
	key_u64(o, "end_ps", tl->to_ps);
	ss_out_char(o, ',');
	key_u64(o, "origin_ps", origin_ps);
	ss_out_char(o, ',');
	key_u64(o, "tick_ps", tl->tick_ps);
	ss_out_printf(o, ",\"nslices\":%zu,\"tracks\":[", n);
	for (size_t i = 0; i < tl->ntracks; i++) {
		const struct ss_tl_track *t = &tl->tracks[i];
		size_t count = in_columns(t) ? t->count : 0;
		if (!t->wanted)
			continue;
		comma(o, &any);
		ss_out_printf(o, "{\"track\":%zu,\"first\":%zu,\"count\":%zu,\"complete\":%s}", i, first, count,
			      t->complete ? "true" : "false");
		first += count;
	}
	ss_out_lit(o, "],\"names\":[");
	for (size_t i = 0; i < tl->nnames; i++) {
		if (i)
			ss_out_char(o, ',');
		ss_out_json_str(o, tl->names[i]);
	}
	ss_out_char(o, ']');
	write_counters(o, tl);
	write_arrows(o, tl, sent);
	ss_out_char(o, '}');
}

static void put_u32(struct ss_out *o, uint32_t v)
{
	uint32_t le = ss_le32(v);
	ss_out_str(o, (struct ss_str){ (const char *)&le, sizeof(le) });
}

/* A slice's ends in ticks after the origin, cut a window's width outside the window. */
struct ticks {
	uint32_t begin, dur;
};

static struct ticks ticks_of(const struct ss_timeline *tl, const struct ss_tl_slice *s, uint64_t origin_ps)
{
	uint64_t limit_ps = tl->to_ps + (tl->to_ps - tl->from_ps);
	uint64_t begin_ps = s->begin_ps > origin_ps ? s->begin_ps : origin_ps;
	uint64_t end_ps = s->dur_ps > limit_ps || s->begin_ps > limit_ps - s->dur_ps ? limit_ps : s->begin_ps + s->dur_ps;
	if (begin_ps > limit_ps)
		begin_ps = limit_ps;
	if (end_ps < begin_ps)
		end_ps = begin_ps;
	uint64_t begin = (begin_ps - origin_ps) / tl->tick_ps;
	uint64_t dur = (end_ps - begin_ps + tl->tick_ps - 1) / tl->tick_ps;
	return (struct ticks){ (uint32_t)begin, (uint32_t)dur };
}

enum column { DBEGIN, DUR, NAME, EVENT, COLUMNS };

static void write_column(struct ss_out *o, const struct ss_timeline *tl, uint64_t origin_ps, enum column column)
{
	uint32_t last_event = 0;
	for (size_t i = 0; i < tl->ntracks; i++) {
		const struct ss_tl_track *t = &tl->tracks[i];
		uint32_t last_begin = 0;
		for (size_t k = t->first; in_columns(t) && k < t->first + t->count; k++) {
			const struct ss_tl_slice *s = &tl->slices[k];
			struct ticks ticks = column <= DUR ? ticks_of(tl, s, origin_ps) : (struct ticks){ 0, 0 };
			uint32_t v[COLUMNS] = { ticks.begin - last_begin, ticks.dur, s->name, s->event - last_event };
			put_u32(o, v[column]);
			last_begin = ticks.begin;
			last_event = s->event;
		}
	}
}

static void write_rows(struct ss_out *o, const struct ss_timeline *tl)
{
	for (size_t i = 0; i < tl->ntracks; i++) {
		const struct ss_tl_track *t = &tl->tracks[i];
		for (size_t k = t->first; in_columns(t) && k < t->first + t->count; k++)
			ss_out_char(o, (char)tl->slices[k].row);
	}
}

/* Index of each slice among those sent; `out` has room for all. Returns how many are. */
static size_t number_sent(const struct ss_timeline *tl, uint32_t *out)
{
	uint32_t n = 0;
	for (size_t i = 0; i < tl->ntracks; i++) {
		const struct ss_tl_track *t = &tl->tracks[i];
		for (size_t k = t->first; in_columns(t) && k < t->first + t->count; k++)
			out[k] = n++;
	}
	return n;
}

void ss_emit_timeline_slices(struct ss_out *o, const struct ss_timeline *tl)
{
	uint64_t width_ps = tl->to_ps - tl->from_ps;
	uint64_t origin_ps = tl->from_ps > width_ps ? tl->from_ps - width_ps : 0;
	uint32_t *sent = calloc(tl->nslices + 1, sizeof(*sent));
	struct ss_out head;
	ss_out_init(&head, NULL, NULL);
	size_t n = sent ? number_sent(tl, sent) : 0;
	if (sent)
		write_head(&head, tl, origin_ps, n, sent);
	while (head.n % 4 && !head.no_memory)
		ss_out_char(&head, ' ');
	if (sent && ss_out_finish(&head, NULL)) {
		ss_out_lit(o, "SSL1");
		put_u32(o, (uint32_t)head.n);
		ss_out_str(o, (struct ss_str){ head.buf, head.n });
		for (enum column c = DBEGIN; c < COLUMNS; c++)
			write_column(o, tl, origin_ps, c);
		write_rows(o, tl);
		for (size_t i = n; i % 4; i++)
			ss_out_char(o, 0);
	} else {
		o->no_memory = true;
	}
	ss_out_free(&head);
	free(sent);
}

/* ---- events and search ---- */

static void write_slice(struct ss_out *o, const struct ss_timeline *tl, const struct ss_tl_slice *s)
{
	key_u64(o, "event", s->event);
	ss_out_printf(o, ",\"track\":%u,\"row\":%u,", s->track, s->row);
	key_str(o, "name", tl->names[s->name]);
	ss_out_char(o, ',');
	key_u64(o, "begin_ps", s->begin_ps);
	ss_out_char(o, ',');
	key_u64(o, "dur_ps", s->dur_ps);
}

static void write_args(struct ss_out *o, const struct ss_timeline *tl, const struct ss_tl_slice *s)
{
	struct ss_tl_args own = tl->slice_args ? tl->slice_args[s - tl->slices] : (struct ss_tl_args){ 0, 0 };
	bool any = false;
	ss_out_lit(o, ",\"args\":[");
	if (s->group >= 0) {
		comma(o, &any);
		ss_out_printf(o, "{\"name\":\"group_id\",\"value\":%lld}", (long long)s->group);
	}
	for (size_t i = own.first; i < own.first + own.n; i++) {
		comma(o, &any);
		ss_out_char(o, '{');
		key_str(o, "name", tl->args[i].name);
		ss_out_lit(o, ",\"value\":");
		write_value(o, &tl->args[i].value);
		ss_out_char(o, '}');
	}
	ss_out_char(o, ']');
}

/* Seen from slices[0]: does the arrow come in from the other, or go out to it? */
static bool comes_in(const struct ss_timeline *tl, const struct ss_tl_slice *other)
{
	const struct ss_tl_slice *own = &tl->slices[0];
	uint8_t mine = tl->flows[own->flow].dir, theirs = tl->flows[other->flow].dir;
	bool in = mine & SS_TL_FLOW_IN && theirs & SS_TL_FLOW_OUT, out = mine & SS_TL_FLOW_OUT && theirs & SS_TL_FLOW_IN;
	return in && out ? other->begin_ps < own->begin_ps : in;
}

void ss_emit_timeline_event(struct ss_out *o, const struct ss_timeline *tl)
{
	bool any = false;
	ss_out_char(o, '{');
	write_slice(o, tl, &tl->slices[0]);
	ss_out_char(o, ',');
	key_u64(o, "self_ps", tl->self_ps);
	write_args(o, tl, &tl->slices[0]);
	ss_out_lit(o, ",\"flows\":[");
	for (size_t i = 1; i < tl->nslices; i++) {
		comma(o, &any);
		ss_out_printf(o, "{\"direction\":\"%s\",", comes_in(tl, &tl->slices[i]) ? "in" : "out");
		write_slice(o, tl, &tl->slices[i]);
		ss_out_char(o, '}');
	}
	ss_out_lit(o, "]}");
}

void ss_emit_timeline_search(struct ss_out *o, const struct ss_timeline *tl)
{
	bool any = false;
	ss_out_char(o, '{');
	key_u64(o, "count", tl->nfound);
	ss_out_char(o, ',');
	key_u64(o, "rank", tl->rank);
	ss_out_lit(o, ",\"hits\":[");
	for (size_t i = 0; i < tl->nslices; i++) {
		comma(o, &any);
		ss_out_char(o, '{');
		write_slice(o, tl, &tl->slices[i]);
		ss_out_char(o, '}');
	}
	ss_out_lit(o, "]}");
}

struct number {
	const char *key;
	uint64_t v;
};

static void write_numbers(struct ss_out *o, const struct number *v, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		ss_out_z(o, i ? "," : "");
		key_u64(o, v[i].key, v[i].v);
	}
}

/* A function with its template and its arguments; "aten::mm", "jit_f(17)" and "<built-in method f>" are names of other kinds. */
static bool is_cxx(struct ss_str name)
{
	size_t template = ss_str_chr(name, '<');
	return template != SS_NPOS && template > 0 && ss_str_contains(name, SS_STR("::")) && ss_str_ends(name, SS_STR(")"));
}

/* Begin the object of a name. */
static void begin_name(struct ss_out *o, struct ss_str name, const struct number *v, size_t n)
{
	struct ss_arena scratch = { 0 };
	struct ss_str brief = is_cxx(name) ? ss_cxx_short_name(name, &scratch) : name;
	ss_out_char(o, '{');
	key_str(o, "name", name);
	ss_out_char(o, ',');
	if (!ss_str_eq(brief, name)) {
		key_str(o, "short", brief);
		ss_out_char(o, ',');
	}
	ss_arena_release(&scratch);
	write_numbers(o, v, n);
}

static void write_sum(struct ss_out *o, const struct ss_tl_sum *s)
{
	const struct number numbers[] = {
		{ "count", s->count }, { "total_ps", s->total_ps }, { "avg_ps", s->count ? s->total_ps / s->count : 0 },
		{ "self_ps", s->self_ps }, { "min_ps", s->min_ps }, { "max_ps", s->max_ps }, { "event", s->event },
	};
	begin_name(o, s->name, numbers, SS_COUNT(numbers));
	ss_out_char(o, '}');
}

void ss_emit_timeline_summary(struct ss_out *o, const struct ss_tl_summary *s)
{
	const struct number head[] = {
		{ "count", s->count }, { "total_ps", s->total_ps }, { "self_ps", s->self_ps }, { "nnames", s->nnames },
	};
	bool any = false;
	ss_out_char(o, '{');
	write_numbers(o, head, SS_COUNT(head));
	ss_out_lit(o, ",\"names\":[");
	for (size_t i = 0; i < s->nrows; i++) {
		comma(o, &any);
		write_sum(o, &s->rows[i]);
	}
	ss_out_lit(o, "]}");
}

/* ---- bands ---- */

/* Two hexadecimal digits a bin. */
static void write_bins(struct ss_out *o, const char *key, const uint8_t *v, uint32_t n)
{
	static const char digits[] = "0123456789abcdef";
	ss_out_printf(o, "\"%s\":\"", key);
	for (uint32_t i = 0; i < n; i++) {
		ss_out_char(o, digits[v[i] >> 4]);
		ss_out_char(o, digits[v[i] & 15]);
	}
	ss_out_char(o, '"');
}

static bool any_bin(const uint8_t *v, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (v[i])
			return true;
	return false;
}

static void write_band(struct ss_out *o, const struct ss_tl_bands *b, const struct ss_tl_band *v)
{
	const struct number numbers[] = { { "section", v->section }, { "busy_ps", v->busy_ps } };
	ss_out_char(o, '{');
	write_numbers(o, numbers, SS_COUNT(numbers));
	ss_out_lit(o, ",\"busy_frac\":");
	ss_out_f64(o, v->busy_frac);
	if (v->device)
		ss_out_printf(o, ",\"own_ps\":%llu", (unsigned long long)v->own_ps);
	else
		ss_out_printf(o, ",\"threads\":%u", v->nthreads);
	if (v->slowest)
		ss_out_printf(o, ",\"slowest\":true,\"median_own_ps\":%llu", (unsigned long long)v->median_own_ps);
	ss_out_char(o, ',');
	write_bins(o, "busy", v->busy, v->busy ? b->bins : 0);
	ss_out_lit(o, ",\"parts\":{");
	bool any = false;
	for (size_t k = 0; v->parts && k < b->nmeanings; k++) {
		if (!any_bin(v->parts + k * b->bins, b->bins))
			continue;
		comma(o, &any);
		write_bins(o, b->meanings[k], v->parts + k * b->bins, b->bins);
	}
	ss_out_lit(o, "}}");
}

void ss_emit_timeline_bands(struct ss_out *o, const struct ss_tl_bands *b)
{
	bool any = false;
	ss_out_char(o, '{');
	key_u64(o, "begin_ps", b->begin_ps);
	ss_out_char(o, ',');
	key_u64(o, "end_ps", b->end_ps);
	ss_out_printf(o, ",\"bins\":%u,\"sections\":[", b->bins);
	for (size_t i = 0; i < b->n; i++) {
		comma(o, &any);
		write_band(o, b, &b->v[i]);
	}
	ss_out_lit(o, "]}");
}

/* ---- gaps, steps, names ---- */

static void write_gap_slice(struct ss_out *o, const char *key, const struct ss_tl_gap *g, size_t at)
{
	ss_out_printf(o, ",\"%s\":", key);
	if (at == SIZE_MAX) {
		ss_out_lit(o, "null");
		return;
	}
	ss_out_char(o, '{');
	write_slice(o, g->tl, &g->tl->slices[at]);
	ss_out_char(o, '}');
}

void ss_emit_timeline_gap(struct ss_out *o, const struct ss_tl_gap *g)
{
	ss_out_lit(o, "{\"gap\":");
	if (g->found)
		ss_out_printf(o, "{\"begin_ps\":%llu,\"end_ps\":%llu}", (unsigned long long)g->begin_ps,
			      (unsigned long long)g->end_ps);
	else
		ss_out_lit(o, "null");
	ss_out_char(o, ',');
	key_str(o, "device", g->device);
	ss_out_char(o, ',');
	key_str(o, "class", g->class);
	ss_out_lit(o, ",\"conclusion\":");
	ss_emit_json_conclusion(o, &g->conclusion);
	write_gap_slice(o, "ended_by", g, g->ended_by);
	write_gap_slice(o, "launch", g, g->launch);
	write_gap_slice(o, "host", g, g->host);
	ss_out_char(o, '}');
}

void ss_emit_timeline_steps(struct ss_out *o, const struct ss_tl_steps *s)
{
	bool any = false;
	ss_out_char(o, '{');
	key_str(o, "source", s->source);
	ss_out_printf(o, ",\"slowest\":%zu,\"median\":%zu,\"steps\":[", s->slowest, s->median);
	for (size_t i = 0; i < s->n; i++) {
		const struct ss_tl_step *x = &s->v[i];
		comma(o, &any);
		ss_out_printf(o, "{\"num\":%lld,\"begin_ps\":%llu,\"end_ps\":%llu%s}", (long long)x->num,
			      (unsigned long long)x->begin_ps, (unsigned long long)x->end_ps,
			      x->outlier ? ",\"outlier\":true" : "");
	}
	ss_out_lit(o, "]}");
}

static void write_name(struct ss_out *o, const struct ss_tl_name *n)
{
	const struct number numbers[] = {
		{ "count", n->count },	 { "total_ps", n->total_ps }, { "min_ps", n->min_ps }, { "p50_ps", n->p50_ps },
		{ "p99_ps", n->p99_ps }, { "max_ps", n->max_ps },     { "event", n->event },
	};
	begin_name(o, n->name, numbers, SS_COUNT(numbers));
	ss_out_lit(o, ",\"when\":[");
	for (size_t i = 0; i < SS_TL_WHEN_BINS; i++)
		ss_out_printf(o, i ? ",%u" : "%u", n->when[i]);
	ss_out_lit(o, "]}");
}

void ss_emit_timeline_names(struct ss_out *o, const struct ss_tl_names *s)
{
	const struct number head[] = {
		{ "begin_ps", s->begin_ps }, { "end_ps", s->end_ps }, { "count", s->count }, { "nnames", s->nnames },
	};
	bool any = false;
	ss_out_char(o, '{');
	write_numbers(o, head, SS_COUNT(head));
	ss_out_lit(o, ",\"names\":[");
	for (size_t i = 0; i < s->nrows; i++) {
		comma(o, &any);
		write_name(o, &s->rows[i]);
	}
	ss_out_lit(o, "]}");
}
