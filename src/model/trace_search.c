/*
 * trace_search.c - events by name. A name is held against the text once per metadata entry; events
 * are then found by their entry's byte.
 */
#include "model/trace.h"

#include "base/vec.h"

#include <stdlib.h>

static char lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c + ('a' - 'A')) : c;
}

static bool is_within(struct ss_str name, struct ss_str text)
{
	for (size_t i = 0; i + text.n <= name.n; i++) {
		size_t k = 0;
		while (k < text.n && lower(name.p[i + k]) == lower(text.p[k]))
			k++;
		if (k == text.n)
			return true;
	}
	return false;
}

static bool matches(struct ss_str name, struct ss_str text, enum ss_match how)
{
	return how == SS_MATCH_PREFIX ? ss_str_starts(name, text) : is_within(name, text);
}

static struct ss_str shown_name(const struct ss_plane *p, uint32_t meta)
{
	struct ss_str display = ss_event_display_name(p, meta);
	return display.n ? display : ss_event_name(p, meta);
}

/* One byte for each event name of the plane, and one more for events without: does it match? */
static uint8_t *match_names(const struct ss_plane *p, struct ss_str text, enum ss_match how)
{
	uint32_t n = p->x->nevent_meta + p->nmade;
	uint8_t *match = malloc((size_t)n + 1);
	for (uint32_t i = 0; match && i < n; i++)
		match[i] = matches(shown_name(p, i), text, how);
	if (match)
		match[n] = matches(SS_STR(""), text, how);
	return match;
}

static bool scan(const struct ss_track *t, const uint8_t *match, struct ss_str text, enum ss_match how,
		 struct ss_trace_hits *out)
{
	const uint32_t *metas = t->line->ev.meta, none = t->plane->x->nevent_meta + t->plane->nmade;
	uint32_t named = 0;
	for (uint32_t pos = 0; pos < t->n; pos++) {
		uint32_t meta = metas[ss_track_event(t, pos)];
		bool hit = match[meta == SS_NONE ? none : meta];
		if (named < t->nnames && t->names[named].pos == pos)
			hit = matches(t->names[named++].name, text, how);
		if (!hit || t->level[pos] == SS_TRACE_HIDDEN)
			continue;
		if (out->n == out->cap && !ss_grow((void **)&out->pos, &out->cap, out->n + 1, sizeof(*out->pos)))
			return false;
		out->pos[out->n++] = pos;
	}
	return true;
}

bool ss_trace_match(const struct ss_trace *tr, struct ss_str text, enum ss_match how, struct ss_trace_hits *out,
		    struct ss_err *err)
{
	const struct ss_plane *plane = NULL;
	uint8_t *match = NULL;
	*out = (struct ss_trace_hits){ .tracks = calloc((size_t)tr->ntracks + 1, sizeof(*out->tracks)) };
	bool ok = out->tracks;
	for (uint32_t i = 0; ok && i < tr->ntracks; i++) {
		const struct ss_track *t = &tr->tracks[i];
		if (t->plane != plane) {
			free(match);
			match = match_names(t->plane, text, how);
			plane = t->plane;
		}
		out->tracks[i].first = out->n;
		ok = match && scan(t, match, text, how, out);
		out->tracks[i].n = (uint32_t)(out->n - out->tracks[i].first);
	}
	free(match);
	if (ok)
		return true;
	ss_trace_hits_free(out);
	return ss_fail_mem(err);
}
