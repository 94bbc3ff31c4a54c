/*
 * export.h - a profile, or a part of it, for other viewers (docs/export.md). Every format is a row of exports.def and a file.
 *
 * What is written is streamed: beside the events in memory (sql/directory.h) a format holds names, and stacks that differ.
 */
#ifndef SS_EXPORT_EXPORT_H
#define SS_EXPORT_EXPORT_H

#include "base/regex.h"
#include "emit/out.h"
#include "sql/directory.h"

#define SS_EXPORT_LOSSES 4u

/* Events that a format has no place for. */
struct ss_export_loss {
	uint64_t n;
	const char *why;
};

/* What is asked for: lines of these hosts and planes, and of them the events that begin in a range of time. */
struct ss_export {
	struct ss_model *model;
	struct ss_sql_directory *d;	/* NULL for a format that loads the hosts */
	struct ss_regex *plane;		/* NULL: all */
	int64_t start_ps, end_ps;	/* since the run's origin; the end is not in it */
	struct ss_str name;		/* of the run */
	uint64_t nevents;		/* written */
	uint64_t nasked;		/* events of what is asked for, set before write(), by formats that load after it */
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
	const char *omits;		/* why events of what is asked for are not in it; NULL: all are */
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
