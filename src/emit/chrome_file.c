/*
 * chrome_file.c - a whole host as Chrome trace JSON: an event a line, every argument a string, as
 * XProf's static trace viewer (and the `<host>.trace.json.gz` that JAX leaves beside a profile) has
 * it.
 *
 * Such a file is ten to twenty times the profile, and most of it repeats: name and arguments of an
 * op in each step, the names of an event's own arguments. So the text of events of one kind that
 * have the same arguments of their own, a shape, is made once, with places left for the values; an
 * event then is a few copies and numbers. Room for shapes is set by the number of events, up to some
 * megabytes; when their texts have filled it all begin anew.
 */
#include "emit/chrome.h"

#include "base/vec.h"

#include <stdio.h>
#include <stdlib.h>

#define MAX_VALUES 6u			/* of a shape: events with more arguments of their own are rare */
#define PLACES 8u			/* where a shape may be */
/* Shapes, and bytes of all their texts: powers of two. */
#define MIN_SHAPES 64u
#define MAX_SHAPES 8192u
#define MIN_TEXT ((size_t)64 << 10)
#define MAX_TEXT ((size_t)4 << 20)
#define LONG_BYTES ((size_t)16 << 10)	/* such a text is not kept: it takes no time for each of its bytes, but memory */

/* Text of an event but for its values, times and track. */
struct shape {
	uint64_t kind;
	const char *names[MAX_VALUES];	/* of the event's own arguments, as the profile has them */
	uint8_t nown, nvalues;
	bool known;
	uint8_t own[MAX_VALUES];	/* which argument each value is of, in the order of the text */
	uint32_t end[MAX_VALUES];	/* where each value stands, from `text` on */
	uint32_t args_end, name_end;	/* ends of the arguments, and of the name behind them */
	uint32_t text;			/* in the texts of all shapes */
};

/* An argument on its way to its place. */
struct placed {
	const struct ss_tl_arg *arg;
	uint32_t own;			/* number among the event's own; UINT32_MAX: its kind's */
};

struct writer {
	struct ss_out *o;
	const struct ss_timeline *tl;
	struct shape *shapes;
	size_t nshapes;
	struct ss_out texts;
	size_t text_bytes;
	SS_VEC(struct placed) placed;	/* scratch: arguments of one event */
	size_t placed_bytes;		/* about so long is their text */
	/* Of the current track: the text between name and begin, for slices and for instants. */
	uint32_t track;
	struct ss_str slice_tail, instant_tail;
	char tails[2][96];
};

/* ---- names of processes and threads ---- */

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
		/* If lines share an id, the last one names the thread; such lines are adjacent. */
		if (i + 1 < s->first_track + s->ntracks && tl->tracks[i + 1].tid == tid)
			continue;
		write_name(o, "thread_name", tl->tracks[i].name, s->pid);
		ss_out_printf(o, ",\"tid\":%u},\n{\"args\":{\"sort_index\":%u},\"name\":\"thread_sort_index\",\"ph\":\"M\","
			      "\"pid\":%u,\"tid\":%u},\n", tid, tid, s->pid, tid);
	}
}

/* ---- arguments ---- */

static int by_name(const void *a, const void *b)
{
	const struct placed *pa = a, *pb = b;
	/* Equal ones as they came: those of the kind, then the event's own, each in the order of memory. */
	return ss_str_cmp(pa->arg->name, pb->arg->name) ?: SS_CMP(pa->own + 1, pb->own + 1) ?: SS_CMP(pa->arg, pb->arg);
}

static void sort_few(struct placed *v, size_t n)
{
	for (size_t i = 1; i < n; i++)
		for (size_t k = i; k && by_name(&v[k - 1], &v[k]) > 0; k--) {
			struct placed tmp = v[k];
			v[k] = v[k - 1];
			v[k - 1] = tmp;
		}
}

/* By name; of two with one name the later counts. False when memory is out. */
static bool place_args(struct writer *w, const struct ss_tl_kind *kind, const struct ss_tl_arg *own, uint32_t nown)
{
	size_t n = 0, kept = 0;
	if (!ss_vec_reserve(&w->placed, kind->nargs + nown + 1))
		return false;
	struct placed *v = w->placed.v;
	for (size_t i = 0; i < kind->nargs; i++)
		v[n++] = (struct placed){ &kind->args[i], UINT32_MAX };
	for (uint32_t i = 0; i < nown; i++)
		v[n++] = (struct placed){ &own[i], i };
	if (n <= 32)
		sort_few(v, n);
	else
		qsort(v, n, sizeof(*v), by_name);
	for (size_t i = 0; i < n; i++) {
		if (kept && ss_str_eq(v[kept - 1].arg->name, v[i].arg->name))
			kept--;
		v[kept++] = v[i];
	}
	w->placed.n = kept;
	w->placed_bytes = kind->name.n;
	for (size_t i = 0; i < kept; i++)
		w->placed_bytes += v[i].arg->name.n + (v[i].arg->value.kind == SS_TL_STR ? v[i].arg->value.s.n : 0);
	return true;
}

/* Numbers as text, doubles with six digits; without the quotes. */
static void write_value(struct ss_out *o, const struct ss_tl_value *v)
{
	double d;
	switch (v->kind) {
	case SS_TL_STR:
		ss_out_json_escaped(o, v->s);
		break;
	case SS_TL_INT:
		ss_out_i64(o, (int64_t)v->u);
		break;
	case SS_TL_UINT:
		ss_out_u64(o, v->u);
		break;
	case SS_TL_DOUBLE:
		memcpy(&d, &v->u, sizeof(d));
		ss_out_printf(o, "%g", d);
		break;
	}
}

/* From the event's begin to its name: all arguments, or all but the values of its own, whose places go into `s`. */
static void write_args(const struct writer *w, struct ss_out *o, struct shape *s)
{
	ss_out_char(o, '{');
	for (size_t i = 0; i < w->placed.n; i++) {
		const struct placed *p = &w->placed.v[i];
		ss_out_z(o, i ? "\",\"" : "\"args\":{\"");
		ss_out_json_escaped(o, p->arg->name);
		ss_out_lit(o, "\":\"");
		if (s && p->own != UINT32_MAX) {
			s->own[s->nvalues] = (uint8_t)p->own;
			s->end[s->nvalues++] = (uint32_t)(o->n - s->text);
		} else {
			write_value(o, &p->arg->value);
		}
	}
	if (w->placed.n)
		ss_out_lit(o, "\"},");
}

/* ---- shapes ---- */

/* Names are compared by where they stand: equal ones elsewhere make another shape. */
static bool fits(const struct shape *s, const struct ss_tl_event *e, const struct ss_tl_arg *own)
{
	if (s->kind != e->kind || s->nown != e->nargs)
		return false;
	for (uint32_t i = 0; i < e->nargs; i++)
		if (s->names[i] != own[i].name.p)
			return false;
	return true;
}

/* The shape of an event; or where it is to be made, in place of another one if need be: then it is not `known`. */
static struct shape *find_shape(const struct writer *w, const struct ss_tl_event *e, const struct ss_tl_arg *own)
{
	uint64_t h = e->kind * UINT64_C(0x9e3779b97f4a7c15);
	for (uint32_t i = 0; i < e->nargs; i++)
		h = (h ^ (uintptr_t)own[i].name.p) * UINT64_C(0xbf58476d1ce4e5b9);
	struct shape *s = NULL;
	for (unsigned i = 0; i < PLACES; i++) {
		s = &w->shapes[((h >> 40) + i) & (w->nshapes - 1)];
		if (!s->known || fits(s, e, own))
			return s;
	}
	s->known = false;
	return s;
}

static void write_name_of(struct ss_out *o, struct ss_str name)
{
	ss_out_lit(o, "\"name\":\"");
	ss_out_json_escaped(o, name);
}

static bool make_shape(struct writer *w, const struct ss_tl_event *e, const struct ss_tl_arg *own,
		       const struct ss_tl_kind *kind, struct shape *s)
{
	struct ss_out *o = &w->texts;
	if (o->n > w->text_bytes - LONG_BYTES) {
		memset(w->shapes, 0, w->nshapes * sizeof(*w->shapes));
		o->n = 0;
	}
	*s = (struct shape){ .kind = e->kind, .nown = (uint8_t)e->nargs, .text = (uint32_t)o->n };
	for (uint32_t i = 0; i < e->nargs; i++)
		s->names[i] = own[i].name.p;
	write_args(w, o, s);
	s->args_end = (uint32_t)(o->n - s->text);
	write_name_of(o, kind->name);
	s->name_end = (uint32_t)(o->n - s->text);
	s->known = !o->no_memory;
	return s->known;
}

/* ---- events ---- */

static void begin_track(struct writer *w, uint32_t track)
{
	const struct ss_tl_track *t = &w->tl->tracks[track];
	uint32_t pid = w->tl->sections[t->section].pid;
	int n = snprintf(w->tails[0], sizeof(w->tails[0]), "\",\"ph\":\"X\",\"pid\":%u,\"tid\":%u,\"ts\":", pid, t->tid);
	int m = snprintf(w->tails[1], sizeof(w->tails[1]), "\",\"ph\":\"i\",\"pid\":%u,\"s\":\"t\",\"tid\":%u,\"ts\":",
			 pid, t->tid);
	w->slice_tail = (struct ss_str){ w->tails[0], (size_t)n };
	w->instant_tail = (struct ss_str){ w->tails[1], (size_t)m };
	w->track = track;
}

/* Write the members after the arguments: duration, name, place and begin. */
static void write_rest(struct writer *w, const struct ss_tl_event *e, struct ss_str name)
{
	struct ss_str tail = e->dur_ps ? w->slice_tail : w->instant_tail;
	char *p = ss_out_room(w->o, name.n + tail.n + 2 * SS_PUT_ROOM + 16);
	if (!p)
		return;
	if (e->dur_ps) {
		p = ss_put_lit(p, "\"dur\":");
		p = ss_put_us(p, e->dur_ps);
		*p++ = ',';
	}
	p = ss_put_str(p, name);
	p = ss_put_str(p, tail);
	p = ss_put_us(p, e->begin_ps);
	p = ss_put_lit(p, "},\n");
	w->o->n = (size_t)(p - w->o->buf);
}

static void write_shaped(struct writer *w, const struct ss_tl_event *e, const struct ss_tl_arg *own, const struct shape *s)
{
	const struct ss_str text = { w->texts.buf + s->text, s->name_end };
	uint32_t at = 0;
	for (unsigned i = 0; i < s->nvalues; i++) {
		ss_out_str(w->o, ss_str_sub(text, at, s->end[i]));
		write_value(w->o, &own[s->own[i]].value);
		at = s->end[i];
	}
	ss_out_str(w->o, ss_str_sub(text, at, s->args_end));
	write_rest(w, e, ss_str_sub(text, s->args_end, s->name_end));
}

/* The name is written among the shapes, where it is needed no longer than this event. */
static bool write_plain(struct writer *w, const struct ss_tl_event *e, struct ss_str name)
{
	size_t at = w->texts.n;
	write_args(w, w->o, NULL);
	write_name_of(&w->texts, name);
	if (w->texts.no_memory)
		return false;
	write_rest(w, e, (struct ss_str){ w->texts.buf + at, w->texts.n - at });
	w->texts.n = at;
	return true;
}

static bool write_event(struct writer *w, const struct ss_tl_event *e, const struct ss_tl_arg *own, struct ss_err *err)
{
	struct ss_tl_kind kind;
	bool shaped = !e->name.p && e->nargs <= MAX_VALUES;
	struct shape *s = shaped ? find_shape(w, e, own) : NULL;
	if (e->track != w->track)
		begin_track(w, e->track);
	if (!s || !s->known) {
		if (!w->tl->pull->kind(w->tl->pull, e->kind, &kind, err) || !place_args(w, &kind, own, e->nargs))
			return false;
		if (!s || w->placed_bytes > LONG_BYTES)
			return write_plain(w, e, e->name.p ? e->name : kind.name);
		if (!make_shape(w, e, own, &kind, s))
			return false;
	}
	write_shaped(w, e, own, s);
	return true;
}

static const struct ss_tl_arg *own_args(const struct ss_tl_piece *piece, size_t event)
{
	return piece->events[event].nargs ? piece->args + piece->events[event].first_arg : NULL;
}

static bool write_events(struct writer *w, struct ss_err *err)
{
	struct ss_tl_pull *pull = w->tl->pull;
	struct ss_tl_piece piece;
	do {
		if (!pull->next(pull, &piece, err))
			return false;
		for (size_t i = 0; i < piece.nevents; i++)
			if (!write_event(w, &piece.events[i], own_args(&piece, i), err))
				return false;
	} while (piece.nevents && !w->o->refused && !w->o->no_memory);
	return true;
}

/* All room at once: what is not used costs nothing, growing would. */
static bool make_room(struct writer *w)
{
	w->nshapes = MIN_SHAPES;
	while (w->nshapes < MAX_SHAPES && w->nshapes < w->tl->nevents)
		w->nshapes *= 2;
	w->text_bytes = MIN_TEXT;
	while (w->text_bytes < MAX_TEXT && w->text_bytes < w->tl->nevents * 64)
		w->text_bytes *= 2;
	w->shapes = calloc(w->nshapes, sizeof(*w->shapes));
	return w->shapes && ss_out_room(&w->texts, w->text_bytes - 1);
}

void ss_chrome_write_file(struct ss_out *o, const struct ss_timeline *tl)
{
	struct writer w = { .o = o, .tl = tl, .track = UINT32_MAX };
	struct ss_err err = { 0 };
	ss_out_init(&w.texts, NULL, NULL);
	ss_out_lit(o, "{\"displayTimeUnit\":\"ns\",\"metadata\":{\"highres-ticks\":true},\n\"traceEvents\":[\n");
	for (size_t i = 0; i < tl->nsections; i++)
		write_section(o, tl, &tl->sections[i]);
	if (!make_room(&w) || !write_events(&w, &err))
		o->no_memory = true;
	tl->pull->close(tl->pull);
	ss_out_lit(o, "{}]}\n");
	free(w.shapes);
	ss_vec_free(&w.placed);
	ss_out_free(&w.texts);
}
