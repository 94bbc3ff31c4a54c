/*
 * display_lines.h - the lines of a host that are shown: its planes with all derived lines after
 * their own (docs/model/timeline.md).
 *
 * Scopes, framework ops, source lines, programs, launches: nothing is computed from them, and they
 * are a third of the work and half of the memory of reading a profile. So the host does not have
 * them; they are a separate part with separate types, so that no analysis can mistake a display
 * line for a line of the file.
 */
#ifndef SS_MODEL_TIMELINE_DISPLAY_LINES_H
#define SS_MODEL_TIMELINE_DISPLAY_LINES_H

#include "model/host/plane.h"

struct ss_display_line {
	int64_t id, display_id;
	struct ss_str name, display_name;
	uint32_t n;			/* events */
	bool sorted;			/* by begin ascending, longer first */
	const struct ss_line *line;	/* of the host; NULL: derived for display, */
	struct ss_spans spans;		/* ... then these are its events */
	struct ss_added_stats added;	/* ... and their stats */
};

struct ss_display_plane {
	struct ss_plane base;		/* the host's, with more synthetic names; its lines are the host's */
	struct ss_display_line *lines;	/* those of base.lines first, in their order */
	uint32_t nlines;
};

/*
 * An array of the host's planes in their order, with display lines. It loads the host, and lives as
 * long as the host. NULL on failure.
 */
const struct ss_display_plane *ss_host_display_planes(struct ss_host *h, struct ss_err *err);

static inline int64_t ss_display_begin_ps(const struct ss_display_line *l, uint32_t i)
{
	ss_assert(i < l->n);
	return l->line ? l->line->ev.begin_ps[i] : ss_spans_begin_ps(&l->spans, i);
}

static inline uint64_t ss_display_dur_ps(const struct ss_display_line *l, uint32_t i)
{
	ss_assert(i < l->n);
	return l->line ? l->line->ev.dur_ps[i] : ss_spans_dur_ps(&l->spans, i);
}

/* Both. */
static inline struct ss_span_times ss_display_times(const struct ss_display_line *l, uint32_t i)
{
	ss_assert(i < l->n);
	return l->line ? (struct ss_span_times){ l->line->ev.begin_ps[i], l->line->ev.dur_ps[i] } : ss_spans_times(&l->spans, i);
}

/*
 * Times of events next to each other, for walks over a line: those of event i stand at i - first.
 */
struct ss_display_run {
	uint32_t first, n;
	const int64_t *begin_ps;
	const uint64_t *dur_ps;
	int64_t own_begin_ps[SS_SPAN_CHUNK];	/* where no columns hold them */
	uint64_t own_dur_ps[SS_SPAN_CHUNK];
};

/* Event i, and those beside it that come as cheaply, but no other where the walk leaps. */
void ss_display_run(const struct ss_display_line *l, uint32_t i, bool leaps, struct ss_display_run *out);

static inline uint32_t ss_display_meta(const struct ss_display_line *l, uint32_t i)
{
	ss_assert(i < l->n);
	return l->line ? l->line->ev.meta[i] : ss_spans_meta(&l->spans, i);
}

/* Were the groups of this line computed here? */
static inline bool ss_display_has_groups(const struct ss_display_line *l)
{
	return !l->line || ss_line_has_groups(l->line);
}

/* If so, that of an event; `at` as for ss_runs_group_at. */
static inline int64_t ss_display_group_at(const struct ss_display_line *l, uint32_t i, size_t *at)
{
	return l->line ? ss_line_group_at(l->line, i, at) : ss_runs_group_at(l->spans.runs.v, l->spans.runs.n, i, at);
}

/* For walks that pass over events: begin, duration and name of one that will be asked for soon. */
static inline void ss_display_prefetch(const struct ss_display_line *l, uint32_t i)
{
	if (!l->line) {
		__builtin_prefetch(&l->spans.chunks.v[i / SS_SPAN_CHUNK]);
		return;
	}
	__builtin_prefetch(&l->line->ev.begin_ps[i]);
	__builtin_prefetch(&l->line->ev.dur_ps[i]);
	__builtin_prefetch(&l->line->ev.meta[i]);
}

#endif
