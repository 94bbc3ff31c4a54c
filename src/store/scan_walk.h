/*
 * scan_walk.h - the state of a walk over a directory tree: scan.c reads the directories, scan_runs.c makes runs of their files.
 * Internal to them.
 */
#ifndef SS_STORE_SCAN_WALK_H
#define SS_STORE_SCAN_WALK_H

#include "base/map.h"
#include "base/vec.h"
#include "store/sidecar.h"
#include "store/store.h"

struct stat;

/* Recordings of one host that become runs: older ones are passed over. */
#define MOST_SPANS 200
/* Exports of Nsight Systems that a scan reads to tell runs apart. */
#define MOST_EXPORTS 4096

struct ss_walk_dir {
	struct ss_str path; /* absolute, canonical but for links below the root */
	struct ss_str rel;  /* from the root, "" for itself */
	int depth;
	bool is_run; /* its parent is a plugins/profile, or it was named as a run */
};

struct ss_walk_file {
	struct ss_str name;
	uint64_t bytes;
	int64_t mtime_ns;
	const char *kind; /* NULL: a host's */
	bool by_content;  /* its name does not say what it is */
	uint32_t older;	  /* how many recordings of the same host are newer */
	bool own_run;	  /* an export that belongs to a run of its own, beside others of the directory */
};

struct ss_walk_files {
	struct ss_walk_file *v;
	size_t n, cap;
};

/* A file whose name does not say what it is (scan_inside.c). */
struct ss_walk_unsure {
	struct ss_str name;	/* NUL-terminated */
	uint32_t form;		/* SS_NONE: not to be looked at */
	bool chosen, looked;
};

/* Names that differ in their numbers only. */
struct ss_walk_form {
	size_t nmissed; /* files looked at that are no traces */
	size_t chosen;	/* looked at next */
	bool has_trace;
};

struct ss_walk {
	struct ss_store *s;
	enum ss_scan what;
	SS_VEC(struct ss_walk_dir) dirs; /* to visit; links after all others */
	SS_VEC(struct ss_walk_dir) links;
	SS_VEC(struct ss_run) runs;  /* below plugins/profile */
	SS_VEC(struct ss_run) loose; /* anywhere else */
	SS_VEC(struct ss_skipped) skipped;
	struct ss_sidecar sidecar; /* files of other kinds, to be handed to the runs at the end */
	struct ss_u64map seen;
	size_t nentries, nsniffed, nexports; /* exports.h: that were read */
	/* Files of unsure names: those that were looked at and of them those that are no traces; not, as names like theirs are
	   no traces, and not for other reasons. */
	size_t nlooked, nmissed, nalike, nothers;
	struct ss_strmap form_numbers;
	SS_VEC(struct ss_walk_form) forms; /* by number */
	struct ss_arena form_names;
	/* of the directory being read */
	struct ss_walk_files files;	    /* hosts */
	struct ss_walk_files torch;	    /* hosts of PyTorch's traces that stand among profiles */
	SS_VEC(struct ss_walk_file) others; /* of other kinds */
	SS_VEC(struct ss_walk_unsure) unsure;
	size_t nunsure_over; /* more of them */
	struct ss_arena names;
	SS_VEC(struct ss_str) subdirs;
	SS_VEC(struct ss_str) linked;
	bool no_memory;
};

struct ss_str ss_walk_join(struct ss_arena *a, struct ss_str dir, struct ss_str name);
/* Take note of something passed over. `name` "": the directory itself. */
void ss_walk_look(struct ss_walk *w, struct ss_str dir, struct ss_str name, const char *why);
struct ss_str ss_walk_last_part(struct ss_str path);
/* Numbers in the names of PyTorch's traces, the greatest first. */
int ss_walk_by_span_desc(struct ss_str a, struct ss_str b);
/* Runs of the files of a directory. False: memory is out. */
bool ss_walk_add_run(struct ss_walk *w, const struct ss_walk_dir *d, const struct stat *st);


/* ---- files whose names do not say what they are ---- */

bool ss_walk_is_unsure(struct ss_str name);
/* An entry of the directory that is being read. */
void ss_walk_add_unsure(struct ss_walk *w, struct ss_str name);
/* Hand over the traces among them. */
typedef void ss_walk_take_fn(struct ss_walk *w, const struct ss_walk_dir *d, int dir, struct ss_str name);
void ss_walk_look_inside(struct ss_walk *w, const struct ss_walk_dir *d, int dir, ss_walk_take_fn *take);
/* After the walk: reports how many files were not looked into. */
void ss_walk_tell_rest(struct ss_walk *w);

#endif
