/*
 * run_dir.h - the directory of a run that is being written: <logdir>/plugins/profile/<run>/. A file
 * gets its name when it is whole; before, it is hidden and of no interest to anybody. What was made
 * and stays empty goes away again.
 */
#ifndef SS_CAPTURE_RUN_DIR_H
#define SS_CAPTURE_RUN_DIR_H

#include "base/arena.h"
#include "base/draft.h"
#include "base/err.h"

struct ss_run_dir {
	struct ss_str root;	/* <logdir>/plugins/profile, absolute */
	struct ss_str run;	/* the run's name */
	struct ss_str path;	/* <root>/<run>; all three end with a NUL */
	bool remote;		/* a log directory that only the profiled programs can reach, as gs://... */
	unsigned made;		/* directories that are new, counted from the deepest */
	struct ss_arena arena;
};

/*
 * Make it. Without a name the run is called by the local time, YYYY_MM_DD_HH_MM_SS, and by
 * something longer when that is taken. SS_EINVAL when a name is given that cannot be one; SS_EIO
 * when nothing can be written there.
 */
bool ss_run_dir_make(struct ss_run_dir *d, const char *logdir, const char *run, struct ss_err *err);
/* Is there such a file in it? */
bool ss_run_dir_has(const struct ss_run_dir *d, const char *name);
/* Give back memory; directories that were made here and are empty are removed. */
void ss_run_dir_release(struct ss_run_dir *d);

/* A file on its way. */
struct ss_new_file {
	struct ss_draft draft;
	uint64_t bytes;
};

bool ss_new_file_open(struct ss_new_file *f, const struct ss_run_dir *d, struct ss_err *err);
bool ss_new_file_write(struct ss_new_file *f, struct ss_str bytes, struct ss_err *err);
/* On disk, under this name, replacing nothing: SS_EINVAL when it is taken. Closed either way. */
bool ss_new_file_keep(struct ss_new_file *f, const struct ss_run_dir *d, const char *name, struct ss_err *err);
void ss_new_file_drop(struct ss_new_file *f);

/* "host:port" as it begins a file's name: "host_port". Nothing in it leads elsewhere. */
struct ss_str ss_host_file_stem(struct ss_arena *a, const char *host_name);

#endif
