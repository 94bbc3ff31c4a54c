/*
 * export.h - a profile, or a part of it, for other viewers (docs/export.md). Every format is a row of exports.def and a file.
 *
 * The output is streamed: besides the events in memory (sql/directory.h), a format keeps names and distinct stacks.
 */
#ifndef SS_EXPORT_EXPORT_H
#define SS_EXPORT_EXPORT_H

#include "base/regex.h"
#include "emit/out.h"

struct ss_model;
struct ss_sql_directory;
struct ss_sql_line;

#define SS_EXPORT_LOSSES 4u

/* Events that a format has no place for. */
struct ss_export_loss {
	uint64_t n;
	const char *why;
};

/* The selection: lines of these hosts and planes, and their events that begin in a range of time. */
struct ss_export {
	struct ss_model *model;
	struct ss_sql_directory *d;	/* NULL for a format that loads the hosts */
	struct ss_regex *plane;		/* NULL: all */
	int64_t start_ps, end_ps;	/* since the run's origin; the end is not in it */
	struct ss_str name;		/* of the run */
	uint64_t nevents;		/* written */
	uint64_t nasked;		/* number of selected events, set before write(), or by formats that load later */
	struct ss_export_loss losses[SS_EXPORT_LOSSES]; /* the caller says them */
	unsigned nlosses;
	const char *note;		/* what else is not there, or NULL */
};

struct ss_export_format {
	const char *name, *doc;
	bool binary;			/* not for a terminal */
	bool (*write)(struct ss_export *x, struct ss_out *o, struct ss_err *err);
	/* Instead of it: formats that need a file of their own. */
	bool (*write_file)(struct ss_export *x, const char *path, struct ss_err *err);
	bool loads;			/* reads the hosts loaded, not the directory */
	const char *whole;		/* why it takes no part of the planes and of the time; NULL: it does */
	const char *omits;		/* the reason why selected events are not in the file; NULL: all are */
};

/* NULL beyond the last. */
const struct ss_export_format *ss_export_at(size_t i);
const struct ss_export_format *ss_export_find(struct ss_str name);

/* The first number that a sample of a counter says; false: none. */
bool ss_export_counter(const struct ss_sql_line *line, uint32_t i, double *v);
/* So many events are not written. */
void ss_export_lose(struct ss_export *x, uint64_t n, const char *why);
/* x->nasked of the directory; false: memory is out. */
bool ss_export_count(struct ss_export *x);

/* Is the line asked for? */
bool ss_export_takes(const struct ss_export *x, const struct ss_sql_line *line);
/* Places in time of the line's events that are asked for: [*lo, *hi). False: memory is out. */
bool ss_export_range(const struct ss_export *x, struct ss_sql_line *line, uint32_t *lo, uint32_t *hi);

#endif
