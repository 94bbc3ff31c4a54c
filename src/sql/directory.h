/*
 * directory.h - where every event of a model's files stands, for questions in SQL.
 *
 * Events are as the files have them, numbered over hosts (by name), planes, lines and events: the
 * event_id of SQL. Reading them is done once, 24 bytes an event; what else a question needs of a
 * line (its order in time, which event is inside of which, the events of each name) is made when
 * the first asks for it and then kept. Part of struct ss_model, whose hosts must be open; shared by
 * threads.
 *
 * Times are ps since the earliest event of all hosts.
 */
#ifndef SS_SQL_DIRECTORY_H
#define SS_SQL_DIRECTORY_H

#include "base/err.h"
#include "base/safe.h"
#include "base/str.h"
#include "model/clock_map.h"
#include "model/host/plane.h"
#include "xspace/events.h"

#include <pthread.h>

struct ss_host;
struct ss_model;

/* The events of one name in a line: posts[first .. first + n). */
struct ss_sql_pair {
	uint32_t meta, first, n;
};

/* Greatest values of blocks of 64, of blocks of those, and so on. */
#define SS_SQL_LEVELS 6u
struct ss_sql_maxima {
	int64_t *level[SS_SQL_LEVELS]; /* level[0]: of 64 events each */
	unsigned nlevels;
};

struct ss_sql_directory;
struct ss_sql_line {
	const struct ss_sql_directory *directory;
	struct ss_host *host;
	const struct ss_plane *plane;
	uint32_t host_at, plane_at;	/* numbers of host and, over all hosts, plane */
	uint64_t first_id;		/* event_id of its first event */
	struct ss_clock_map clock;	/* from begin_ps to the run's time */
	struct ss_line l;		/* events in the file's order */
	/* Made by the functions below. */
	_Atomic bool timed, nested, posted;
	uint32_t *order;		/* by (begin, longer first, event); NULL: that is the file's */
	struct ss_sql_maxima ends, lengths; /* over that order, of ends (unshifted) and durations */
	uint32_t *parent, *depth;	/* parent: event of the line, SS_NONE */
	int64_t *self_ps;
	uint32_t *posts;
	struct ss_sql_pair *pairs;	/* by meta */
	uint32_t npairs;
};

struct ss_sql_plane {
	struct ss_host *host;
	const struct ss_plane *plane;
	uint32_t host_at, first_line, nlines;
	uint64_t nevents;
};

/* A name in a plane, for looking up events by name. */
struct ss_sql_name {
	struct ss_str text;
	uint32_t plane_at, meta;
};

struct ss_sql_directory {
	struct ss_model *model;
	struct ss_sql_line *lines;
	struct ss_sql_plane *planes;
	uint32_t nlines, nplanes;
	uint64_t nevents;
	int64_t origin_ns, origin_rest_ps; /* the earliest event: ns and the ps behind them */
	struct ss_sql_name *names;	/* by text, plane, meta: ss_sql_names */
	size_t nnames;
	_Atomic bool named;
	bool borrowed;			/* the events are the hosts', loaded: sorted, and some were added */
	pthread_mutex_t lock;
};

/* Reads the events of all hosts. NULL on failure. */
struct ss_sql_directory *ss_model_sql_directory(struct ss_model *m, struct ss_err *err);
/*
 * The same over the events of the hosts, which are loaded for it, so that events are in memory once. For one walk, of one thread:
 * preprocessing has sorted them and added some. The caller's to free.
 */
struct ss_sql_directory *ss_sql_directory_of_loaded(struct ss_model *m, struct ss_err *err);
void ss_sql_directory_free(struct ss_sql_directory *d);

/* The line of an event; *i is its place there. NULL: there is no such event. */
struct ss_sql_line *ss_sql_line_of(const struct ss_sql_directory *d, int64_t event_id, uint32_t *i);

/* Make what the comment above says of a line, or of all names; false when memory is out. */
bool ss_sql_time_line(struct ss_sql_directory *d, struct ss_sql_line *line);
bool ss_sql_nest_line(struct ss_sql_directory *d, struct ss_sql_line *line);
bool ss_sql_post_line(struct ss_sql_directory *d, struct ss_sql_line *line);
bool ss_sql_names(struct ss_sql_directory *d);
/* Free what was made of a line, which nobody else reads. */
void ss_sql_forget_line(struct ss_sql_line *line);

/* The events of this name in a posted line; NULL: none. */
const struct ss_sql_pair *ss_sql_pair_of(const struct ss_sql_line *line, uint32_t meta);

static inline uint32_t ss_sql_in_time(const struct ss_sql_line *line, uint32_t k)
{
	return line->order ? line->order[k] : k;
}

static inline int64_t ss_sql_start_ps(const struct ss_sql_line *line, uint32_t i)
{
	return ss_clock_shown(&line->clock, line->l.ev.begin_ps[i]);
}

static inline int64_t ss_sql_end_ps(const struct ss_sql_line *line, uint32_t i)
{
	return ss_clock_shown(&line->clock, ss_xevents_end_ps(&line->l.ev, i));
}

/* A time of the line in ns since 1970: by the host's clock, or, of an aligned model, by the common one. */
int64_t ss_sql_unix_ns(const struct ss_sql_line *line, int64_t own_ps);

/* The displayed name of the line. */
static inline struct ss_str ss_sql_line_name(const struct ss_sql_line *line)
{
	return line->l.display_name.n ? line->l.display_name : line->l.name;
}

/*
 * In a timed line, the first place in time from k on, below `to`, whose end (unshifted) is after x,
 * or whose duration is x or longer.
 */
uint32_t ss_sql_next_ending(const struct ss_sql_line *line, uint32_t k, uint32_t to, int64_t after_ps);
uint32_t ss_sql_next_lasting(const struct ss_sql_line *line, uint32_t k, uint32_t to, int64_t least_ps);
/* The first place in time that begins (unshifted) at or after x. */
uint32_t ss_sql_first_from(const struct ss_sql_line *line, int64_t begin_ps);

#endif
