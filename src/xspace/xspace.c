/*
 * xspace.c - indexing planes, lines and metadata.
 *
 * Two passes over a plane's top level: one counts, one fills, so that every array has its exact
 * size and is bounded by the bytes that describe it. The file may be written to between the two:
 * the second one fills no more than the first one made room for. Neither looks inside a line
 * further than its header: the length before it says where it ends.
 */
#include "xspace/xspace.h"

#include "base/pool.h"
#include "xspace/fields.h"
#include "xspace/top.h"

#include <stdio.h>
#include <stdlib.h>

/*
 * What the index may take: entries of a few bytes each, of which an honest profile has few, must
 * not multiply the file. Beyond it entries are left out, and a note says how many.
 */
#define INDEX_FLOOR ((uint64_t)64 << 20)
#define INDEX_PER_FILE_BYTE 4
#define PLANE_COST 1024		/* bytes a plane takes here and in the model */
#define LINE_COST 512		/* the same of a line */
#define MAX_NOTES 20
#define NOTE_BYTES 8192		/* two paths, and words */

/* Where a plane's, or the file's, top level stops making sense. */
static uint64_t position(const struct ss_xspace *x, const uint8_t *at)
{
	return (uint64_t)(at - (const uint8_t *)x->file.bytes.p);
}

/* The text of a note, with the name that the user gave to the file. */
static struct ss_str named(struct ss_arena *a, struct ss_str text)
{
	char shown[NOTE_BYTES];
	if (!text.p || text.n >= sizeof(shown))
		return text;
	snprintf(shown, sizeof(shown), SS_FMT, SS_ARG(text));
	ss_path_names_apply(shown, sizeof(shown));
	return ss_arena_str(a, ss_str_from(shown));
}

bool ss_xspace_note(struct ss_xspace *x, struct ss_str text, struct ss_err *err)
{
	if (!x->notes)
		x->notes = SS_NEW_N(&x->arena, struct ss_str, MAX_NOTES);
	text = named(&x->arena, text);
	if (!x->notes || !text.p)
		return ss_fail_mem(err);
	if (x->nnotes < MAX_NOTES)
		x->notes[x->nnotes++] = text;
	return true;
}

/*
 * Header of a line: the fields before its first event, which is where writers put them all but the
 * display name.
 */
static void read_line(struct ss_xline *line, struct ss_str body)
{
	*line = (struct ss_xline){ .body = body };
	struct ss_pb c = ss_pb_lenient(body);
	struct ss_pb_field f;
	const uint8_t *at = c.at;
	while (ss_pb_next(&c, &f)) {
		switch (f.key) {
		case PB_VAR(XLINE_ID):
			line->id = (int64_t)f.u;
			break;
		case PB_VAR(XLINE_DISPLAY_ID):
			line->display_id = (int64_t)f.u;
			break;
		case PB_LEN(XLINE_NAME):
			line->name = f.bytes;
			break;
		case PB_LEN(XLINE_DISPLAY_NAME):
			line->display_name = f.bytes;
			break;
		case PB_VAR(XLINE_TIMESTAMP_NS):
			line->timestamp_ns = (int64_t)f.u;
			break;
		case PB_VAR(XLINE_DURATION_PS):
			line->duration_ps = f.u;
			break;
		case PB_LEN(XLINE_EVENTS):
			line->events = at;
			return;
		}
		at = c.at;
	}
}

static bool read_event_meta(struct ss_xevent_meta *m, struct ss_str entry)
{
	uint64_t id;
	struct ss_pb_field f;
	*m = (struct ss_xevent_meta){ .name = { "", 0 }, .display_name = { "", 0 }, .name_in_file = { "", 0 } };
	if (!ss_pb_map_entry(entry, &id, &m->body))
		return false;
	m->id = (int64_t)id;
	struct ss_pb c = ss_pb_of(m->body);
	while (ss_pb_next(&c, &f)) {
		if (f.key == PB_LEN(XEVENT_METADATA_NAME))
			m->name = f.bytes;
		else if (f.key == PB_LEN(XEVENT_METADATA_DISPLAY_NAME))
			m->display_name = f.bytes;
		else if (f.key == PB_LEN(XEVENT_METADATA_NAME_IN_FILE))
			m->name_in_file = f.bytes;
	}
	return !c.bad;
}

static bool read_stat_meta(struct ss_xstat_meta *m, struct ss_str entry)
{
	uint64_t id;
	struct ss_str body;
	struct ss_pb_field f;
	*m = (struct ss_xstat_meta){ .name = { "", 0 } };
	if (!ss_pb_map_entry(entry, &id, &body))
		return false;
	m->id = (int64_t)id;
	struct ss_pb c = ss_pb_of(body);
	while (ss_pb_next(&c, &f))
		if (f.key == PB_LEN(XSTAT_METADATA_NAME))
			m->name = f.bytes;
	m->stat = ss_stat_of(m->name);
	return !c.bad;
}

struct counts {
	uint32_t lines, event_meta, stat_meta;
};

static struct counts count_plane(struct ss_str body)
{
	struct counts n = { 0 };
	struct ss_pb c = ss_pb_lenient(body);
	struct ss_pb_field f;
	while (ss_pb_next(&c, &f)) {
		n.lines += f.key == PB_LEN(XPLANE_LINES);
		n.event_meta += f.key == PB_LEN(XPLANE_EVENT_METADATA);
		n.stat_meta += f.key == PB_LEN(XPLANE_STAT_METADATA);
	}
	return n;
}

/*
 * How many of `n` entries of `cost` bytes still fit the index; what does not fit is added to
 * *left_out.
 */
static uint32_t afford(struct ss_xspace *x, uint32_t n, uint64_t cost, uint64_t *left_out)
{
	uint64_t limit = INDEX_FLOOR + INDEX_PER_FILE_BYTE * (uint64_t)x->file.bytes.n;
	uint64_t room = limit > x->index_bytes ? (limit - x->index_bytes) / cost : 0;
	uint32_t fit = n <= room ? n : (uint32_t)room;
	while (fit && !ss_hold_take(x->hold, fit * cost))
		fit /= 2;
	x->index_bytes += fit * cost;
	*left_out += n - fit;
	return fit;
}

/* Fills the arrays of a plane, which have room for `n`. */
static void fill_plane(struct ss_xplane *p, struct counts n)
{
	struct ss_pb c = ss_pb_lenient(p->body);
	struct ss_pb_field f;
	while (ss_pb_next(&c, &f)) {
		switch (f.key) {
		case PB_VAR(XPLANE_ID):
			p->id = (int64_t)f.u;
			break;
		case PB_LEN(XPLANE_NAME):
			p->name = f.bytes;
			break;
		case PB_LEN(XPLANE_LINES):
			if (p->nlines == n.lines)
				break;
			read_line(&p->lines[p->nlines], f.bytes);
			p->lines[p->nlines++].cut = c.cut;
			break;
		case PB_LEN(XPLANE_EVENT_METADATA):
			if (p->nevent_meta == n.event_meta)
				break;
			if (read_event_meta(&p->event_meta[p->nevent_meta], f.bytes))
				p->nevent_meta++;
			else
				p->bad = true;
			break;
		case PB_LEN(XPLANE_STAT_METADATA):
			if (p->nstat_meta == n.stat_meta)
				break;
			if (read_stat_meta(&p->stat_meta[p->nstat_meta], f.bytes))
				p->nstat_meta++;
			else
				p->bad = true;
			break;
		}
	}
	p->bad |= c.bad;
	p->cut |= c.cut;
}

/*
 * Direct tables hold ids below four times the number of entries; others go through the map. A later
 * entry replaces an earlier one.
 */
static bool index_ids(struct ss_arena *a, struct ss_u64map *map, uint32_t **direct, uint32_t *ndirect, const void *entries,
		      uint32_t n, size_t size)
{
	uint64_t limit = (uint64_t)n * 4 + 16, top = 0;
	const char *p = entries;
	for (uint32_t i = 0; i < n; i++) {
		uint64_t id = *(const uint64_t *)(const void *)(p + i * size);
		if (id < limit && id >= top)
			top = id + 1;
	}
	*direct = ss_arena_alloc(a, (size_t)top * sizeof(**direct) + 1);
	if (!*direct)
		return false;
	memset(*direct, 0xff, (size_t)top * sizeof(**direct));
	*ndirect = (uint32_t)top;
	for (uint32_t i = 0; i < n; i++) {
		uint64_t id = *(const uint64_t *)(const void *)(p + i * size);
		if (id < top)
			(*direct)[id] = i;
		else if (!ss_u64map_put(map, id, i))
			return false;
	}
	return true;
}

static bool keep(struct ss_arena *a, struct ss_str *s)
{
	if (!s->n)
		return true;
	*s = ss_arena_str(a, *s);
	return s->p;
}

/*
 * Names of planes and lines tell what they are, time and again: they are copied, so that they tell
 * the same each time when the file is written to.
 */
static bool keep_names(struct ss_arena *a, struct ss_xplane *p)
{
	bool ok = keep(a, &p->name);
	for (uint32_t i = 0; ok && i < p->nlines; i++)
		ok = keep(a, &p->lines[i].name) && keep(a, &p->lines[i].display_name);
	return ok;
}

static bool index_plane(struct ss_xspace *x, struct ss_xplane *p, struct ss_err *err)
{
	struct counts n = count_plane(p->body);
	uint64_t left_out = 0;
	/* An entry costs twice its size: growing hash tables hold up to as much again. */
	n.stat_meta = afford(x, n.stat_meta, 2 * sizeof(*p->stat_meta), &left_out);
	n.event_meta = afford(x, n.event_meta, 2 * sizeof(*p->event_meta), &left_out);
	n.lines = afford(x, n.lines, LINE_COST, &left_out);
	p->lines = SS_NEW_N(&x->arena, struct ss_xline, n.lines);
	p->event_meta = SS_NEW_N(&x->arena, struct ss_xevent_meta, n.event_meta);
	p->stat_meta = SS_NEW_N(&x->arena, struct ss_xstat_meta, n.stat_meta);
	if (!p->lines || !p->event_meta || !p->stat_meta)
		return ss_fail_mem(err);
	fill_plane(p, n);
	if (!keep_names(&x->arena, p))
		return ss_fail_mem(err);
	if (!index_ids(&x->arena, &p->event_meta_by_id, &p->event_meta_direct, &p->nevent_meta_direct,
		       p->event_meta, p->nevent_meta, sizeof(*p->event_meta)) ||
	    !index_ids(&x->arena, &p->stat_meta_by_id, &p->stat_meta_direct, &p->nstat_meta_direct,
		       p->stat_meta, p->nstat_meta, sizeof(*p->stat_meta)))
		return ss_fail_mem(err);
	if (left_out &&
	    !ss_xspace_note(x, ss_arena_printf(&x->arena, "'" SS_FMT "': plane '" SS_FMT "' holds more lines and names than "
				     "%llu bytes of profile can have; %llu are left out", SS_ARG(x->path), SS_ARG(p->name),
				     (unsigned long long)x->file.bytes.n, (unsigned long long)left_out), err))
		return false;
	for (uint32_t i = 0; i < p->nstat_meta; i++)
		p->has_stat[p->stat_meta[i].stat / 64] |= UINT64_C(1) << (p->stat_meta[i].stat % 64);
	return true;
}

/* A hostile file holds a malformed plane every three bytes: name the first, count the others. */
static bool note_bad_planes(struct ss_xspace *x, struct ss_err *err)
{
	const uint32_t named = 8;
	uint32_t bad = 0;
	for (uint32_t i = 0; i < x->nplanes; i++) {
		const struct ss_xplane *p = &x->planes[i];
		if (p->bad && bad++ < named &&
		    !ss_xspace_note(x,
				    ss_arena_printf(&x->arena,
						    "'" SS_FMT "': plane '" SS_FMT
						    "' at byte %llu is malformed; records before the damage are shown",
						    SS_ARG(x->path), SS_ARG(p->name),
						    (unsigned long long)position(x, (const uint8_t *)p->body.p)),
				    err))
			return false;
	}
	return bad <= named || ss_xspace_note(x, ss_arena_printf(&x->arena, "'" SS_FMT "': %u more planes are malformed",
						       SS_ARG(x->path), bad - named), err);
}

/*
 * Timestamps that overflow 63 bits once in ps are absolute; then the smallest becomes the origin.
 */
static int64_t find_origin(const struct ss_xspace *x)
{
	const int64_t limit = INT64_MAX / 1000;
	int64_t min = INT64_MAX;
	bool absolute = false;
	for (uint32_t i = 0; i < x->nplanes; i++)
		for (uint32_t j = 0; j < x->planes[i].nlines; j++) {
			int64_t t = x->planes[i].lines[j].timestamp_ns;
			absolute |= t > limit;
			if (t > limit / 2 && t < min)
				min = t;
		}
	return absolute ? min : 0;
}

/* Fills the arrays of the file, which have room for `n`. */
static bool fill_top(struct ss_xspace *x, struct ss_xspace_top n, struct ss_err *err)
{
	struct ss_pb c = ss_pb_lenient(x->file.bytes);
	struct ss_pb_field f;
	while (ss_pb_next(&c, &f)) {
		switch (f.key) {
		case PB_LEN(XSPACE_PLANES):
			if (x->nplanes == n.planes)
				break;
			x->planes[x->nplanes].body = f.bytes;
			x->planes[x->nplanes++].cut = c.cut;
			break;
		case PB_LEN(XSPACE_HOSTNAMES):
			if (x->nhostnames < n.hostnames)
				x->hostnames[x->nhostnames++] = f.bytes;
			break;
		case PB_LEN(XSPACE_ERRORS):
			if (x->nerrors < n.errors)
				x->errors[x->nerrors++] = f.bytes;
			break;
		case PB_LEN(XSPACE_WARNINGS):
			if (x->nwarnings < n.warnings)
				x->warnings[x->nwarnings++] = f.bytes;
			break;
		}
	}
	if (c.bad &&
	    !ss_xspace_note(x,
			    ss_arena_printf(&x->arena,
					    "'" SS_FMT
					    "' is malformed from byte %llu of %llu on; records before that are shown",
					    SS_ARG(x->path), (unsigned long long)position(x, c.at),
					    (unsigned long long)x->file.bytes.n),
			    err))
		return false;
	if (c.cut &&
	    !ss_xspace_note(
		    x,
		    ss_arena_printf(&x->arena,
				    "'" SS_FMT
				    "' is truncated: it ends at byte %llu inside a plane; complete records are shown%s",
				    SS_ARG(x->path), (unsigned long long)x->file.bytes.n,
				    ss_xspace_text_copy(x->file.bytes)),
		    err))
		return false;
	return true;
}

static bool is_xspace(struct ss_xspace *x, const struct ss_xspace_top *top, struct ss_err *err)
{
	const char *copied = ss_xspace_text_copy(x->file.bytes), *what = NULL;
	if (x->file.bytes.n == 0)
		what = "is empty: the program may have been killed while it wrote it, or the disk is full";
	else if (top->bare_plane)
		what = "is one plane of a profile (an XPlane), not a profile: put the plane into an XSpace "
		       "(XSpace(planes=[plane]) in Python), and save that";
	if (what)
		return ss_fail(err, SS_EFORMAT, "'" SS_FMT "' %s", SS_ARG(x->path), what);
	if (!top->planes && !top->hostnames && !top->errors && !top->warnings)
		return ss_fail(err, SS_EFORMAT, "'" SS_FMT "' is not a profile: no XSpace field can be read at its start%s",
			       SS_ARG(x->path), *copied ? copied : ". It is of another kind, or its first part is missing: "
			       "copy the original again");
	if (!top->foreign)
		return true;
	what = top->other_front ? "does not begin as a profile does: its front is missing, or other bytes stand before it" :
				  "holds bytes that no profile has: a part of it is missing or damaged";
	return ss_xspace_note(x, ss_arena_printf(&x->arena, "'" SS_FMT "' %s. Copy it again; the planes that are found are shown",
						 SS_ARG(x->path), what), err);
}

static bool index_file(struct ss_xspace *x, struct ss_err *err)
{
	struct ss_xspace_top n = ss_xspace_top_of(x->file.bytes);
	if (!is_xspace(x, &n, err))
		return false;
	uint64_t left_out = 0;
	n.planes = afford(x, n.planes, PLANE_COST, &left_out);
	n.hostnames = afford(x, n.hostnames, sizeof(struct ss_str), &left_out);
	n.errors = afford(x, n.errors, sizeof(struct ss_str), &left_out);
	n.warnings = afford(x, n.warnings, sizeof(struct ss_str), &left_out);
	x->planes = SS_NEW_N(&x->arena, struct ss_xplane, n.planes);
	x->hostnames = SS_NEW_N(&x->arena, struct ss_str, n.hostnames);
	x->errors = SS_NEW_N(&x->arena, struct ss_str, n.errors);
	x->warnings = SS_NEW_N(&x->arena, struct ss_str, n.warnings);
	if (!x->planes || !x->hostnames || !x->errors || !x->warnings)
		return ss_fail_mem(err);
	if (!fill_top(x, n, err))
		return false;
	if (left_out &&
	    !ss_xspace_note(x, ss_arena_printf(&x->arena, "'" SS_FMT "': %llu planes, host names and messages are left out, more "
				     "than %llu bytes of profile can have", SS_ARG(x->path),
				     (unsigned long long)left_out,
				     (unsigned long long)x->file.bytes.n), err))
		return false;
	for (uint32_t i = 0; i < x->nplanes; i++)
		if (!index_plane(x, &x->planes[i], err))
			return false;
	x->origin_ns = find_origin(x);
	return note_bad_planes(x, err);
}

static bool open_common(struct ss_xspace *x, const char *name, struct ss_err *err)
{
	x->path = ss_arena_str(&x->arena, ss_str_from(name));
	bool ok = x->path.p ? index_file(x, err) : ss_fail_mem(err);
	if (!ok)
		ss_xspace_close(x);
	return ok;
}

bool ss_xspace_open_file(struct ss_xspace *x, struct ss_file *f, const char *path, struct ss_err *err)
{
	return ss_xspace_open_made(x, f, NULL, path, err);
}

bool ss_xspace_open_made(struct ss_xspace *x, struct ss_file *f, struct ss_hold *hold, const char *path, struct ss_err *err)
{
	*x = (struct ss_xspace){ .file = *f, .hold = hold };
	*f = (struct ss_file){ 0 };
	return open_common(x, path, err);
}

bool ss_xspace_open_bytes(struct ss_xspace *x, struct ss_str bytes, const char *name, struct ss_err *err)
{
	return ss_xspace_open_made(x, &(struct ss_file){ .bytes = bytes, .borrowed = true }, NULL, name, err);
}

void ss_xspace_close(struct ss_xspace *x)
{
	for (uint32_t i = 0; i < x->nplanes; i++) {
		ss_u64map_free(&x->planes[i].event_meta_by_id);
		ss_u64map_free(&x->planes[i].stat_meta_by_id);
	}
	ss_arena_release(&x->arena);
	ss_file_close(&x->file);
	*x = (struct ss_xspace){ 0 };
}

const struct ss_xplane *ss_xspace_plane(const struct ss_xspace *x, struct ss_str name)
{
	for (uint32_t i = 0; i < x->nplanes; i++)
		if (ss_str_eq(x->planes[i].name, name))
			return &x->planes[i];
	return NULL;
}
