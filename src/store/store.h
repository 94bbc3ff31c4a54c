/*
 * store.h - finding profiles: a log directory, a directory of runs, one run, or one file.
 *
 * A scan is a snapshot: it is made once, then read by any number of threads, and thrown away for a
 * newer one. Nothing is opened but directories. Names are XProf's: a run is a directory
 * `<logdir>/[<dir>/]plugins/profile/<run>/`, its name is `[<dir>/]<run>`, its hosts are the files
 * `<host>.xplane.pb` in it.
 *
 * Where a directory holds no `plugins/profile` anywhere, every directory with *.xplane.pb files in
 * it is a run, named by its path from there (the top itself by its last component): so a run, a
 * directory of runs and a directory of copied files open as well.
 *
 * PyTorch's traces that stand among a run's profiles are one more run, `<run>.pytorch`.
 *
 * Some tools read other files (kinds.h): those in a run's directory are the run's own; those of the
 * directory that holds plugins/, or below it, stand beside all its runs. Other directories with
 * such files are runs without hosts; where there are profiles too, only those whose event files
 * begin with a graph (of a few hundred files the first part is read), as log directories are full
 * of others.
 *
 * JSON files of any name are looked into, for they may be traces of PyTorch; of a bucket some of them (scan_inside.c).
 *
 * Links are followed only to targets inside the top directory. Depth, directories and entries are
 * bounded; what was passed over, and why, stands in `looked`.
 */
#ifndef SS_STORE_STORE_H
#define SS_STORE_STORE_H

#include "base/arena.h"
#include "base/err.h"

struct ss_host_file {
	struct ss_str name;	/* of the host */
	struct ss_str path;	/* NUL-terminated */
	uint64_t bytes;
	int64_t mtime_ns;	/* since the Unix epoch */
	const char *kind;	/* NULL: a profile; else see kinds.h */
	const char *top;	/* the directory that no link leads out of: the store's top */
	bool duplicate;		/* another form of the file before it: the same answer of the same host */
};

struct ss_files {
	struct ss_host_file *v;	/* by name ascending */
	size_t n;
};

struct ss_run {
	struct ss_str name, dir; /* NUL-terminated */
	struct ss_host_file *hosts; /* by name ascending; may be empty */
	size_t nhosts;
	struct ss_files own, sidecar; /* files of other kinds; the latter shared by all runs of a directory */
	int64_t mtime_ns;	/* of the newest host; of the directory when there is none */
	int64_t dir_mtime_ns;	/* changes when a host is added or removed */
	bool aside;		/* no *.xplane.pb, among runs that have one: nothing that XProf would list */
	uint64_t bytes;
};

/* Something that might have been a profile and was not taken, and why. */
struct ss_skipped {
	struct ss_str path;
	const char *why;
};

#define SS_SKIPPED_MAX 100

struct ss_store {
	struct ss_str root;	/* canonical, NUL-terminated: names are from there */
	struct ss_str named;	/* what messages call it: the root, unless whoever scanned it says otherwise */
	struct ss_str top;	/* the same, or a directory above: nothing outside of it is ever named or opened */
	struct ss_run *runs;	/* by name descending, as XProf lists them */
	size_t nruns;
	struct ss_skipped *skipped; /* the first SS_SKIPPED_MAX, in the order of the walk */
	size_t nskipped, nskipped_all;
	size_t ndirs, nfiles;	/* visited */
	size_t nunread;		/* files whose names do not tell their kind and that were not looked into */
	bool stopped;		/* a bound was reached: there may be more runs */
	struct ss_arena arena;
};

enum ss_scan {
	SS_SCAN_ANY,	/* whatever `path` is, see above */
	SS_SCAN_RUN,	/* `path` is the directory of one run */
	SS_SCAN_RUNS,	/* `path` is a directory whose children are runs */
};

/*
 * SS_ENOTFOUND when `path` does not exist, SS_EIO when it cannot be read. A scan that finds nothing
 * is no failure.
 */
bool ss_store_scan(struct ss_store *s, const char *path, enum ss_scan what, struct ss_err *err);
/* The same of a path that must lie below the canonical directory `top`, else SS_ENOTFOUND. */
bool ss_store_scan_below(struct ss_store *s, struct ss_str top, const char *path, enum ss_scan what, struct ss_err *err);
void ss_store_free(struct ss_store *s);
/*
 * Something else that was passed over: `n` of `all`. The texts stay with the caller. False when
 * memory is out.
 */
bool ss_store_skip(struct ss_store *s, const struct ss_skipped *v, size_t n, size_t all);
/* Would a scan look at a file of this name, or path, at all? */
bool ss_store_reads(struct ss_str path);

/* NULL if there is none. */
const struct ss_run *ss_store_run(const struct ss_store *s, struct ss_str name);
/* Does it hold anything that a tool reads? */
static inline bool ss_run_holds(const struct ss_run *run)
{
	return run->nhosts || run->own.n || run->sidecar.n;
}
/* Has it files of this kind (NULL: profiles)? */
bool ss_run_has(const struct ss_run *run, const char *kind);
/*
 * The hosts of a run's stored answers, each once: from file number *at on, *name being the one
 * before ("" at first). False at the end.
 */
bool ss_run_answer_host(const struct ss_run *run, size_t *at, struct ss_str *name);
/* Newest run with at least one host, else the newest that holds anything; NULL if there is none. */
const struct ss_run *ss_store_newest(const struct ss_store *s);
/*
 * Newest run with files of this kind, NULL if there is none. Of runs with event files it is one
 * whose files begin with a graph, if any do: a program's evaluation has none, and is mostly newer.
 */
const struct ss_run *ss_store_newest_with(const struct ss_store *s, const char *kind);
/* Is what `path` leads to, links resolved, the canonical directory `root` or inside of it? */
bool ss_store_inside(struct ss_str root, const char *path);
/* Was a host added or removed since the scan? */
bool ss_run_changed(const struct ss_run *run);

#define SS_ALL_HOSTS "ALL_HOSTS"

/* Some files of a run, all of one kind. */
struct ss_selection {
	const struct ss_host_file **files; /* by name, each once */
	size_t n;
	struct ss_str name;	/* ALL_HOSTS, or the names with commas between them */
};

/*
 * All files of a kind (NULL: profiles) by name; the array is in `arena`, NULL when memory is out.
 */
const struct ss_host_file **ss_run_files(const struct ss_run *run, const char *kind, struct ss_arena *arena, size_t *n);

/*
 * The hosts (of another kind: the files) a user names: ALL_HOSTS, a host, or several with commas
 * between them; "" is all of them, or the first unless `all_by_default`. Of an answer that a host
 * has in two forms, all are the first. The array is in `arena`. SS_ENOTFOUND when there is no such
 * host, or none at all.
 */
bool ss_run_select(const struct ss_run *run, const char *kind, struct ss_str names, bool all_by_default, struct ss_arena *arena,
		   struct ss_selection *out, struct ss_err *err);
/* Fetch several files of the run at once if they come from another place (base/provide.h); else do nothing. */
void ss_selection_fetch(const struct ss_selection *sel);
/* A sentence or two on why a scan found nothing; lives in `arena`. */
struct ss_str ss_store_why_empty(const struct ss_store *s, struct ss_arena *arena);

#endif
