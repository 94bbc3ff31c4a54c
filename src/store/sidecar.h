/*
 * sidecar.h - handing the files that stand beside profiles to the runs of a scan.
 *
 * A run's home is the directory that holds its plugins/profile, or the run's own directory where
 * there is none. A file belongs to the nearest home at or above its directory, and to all runs of
 * that home; a file above or aside of all homes belongs to none.
 */
#ifndef SS_STORE_SIDECAR_H
#define SS_STORE_SIDECAR_H

#include "store/store.h"

struct ss_sidecar_file {
	struct ss_str dir;	/* absolute */
	struct ss_host_file file; /* its name as in the directory */
};

struct ss_sidecar {
	struct ss_sidecar_file *v;
	size_t n, cap;
};

/* `dir` and the file's strings must live as long as the list. False when memory is out. */
bool ss_sidecar_add(struct ss_sidecar *b, struct ss_str dir, const struct ss_host_file *file);
/* Set `beside` of all runs, in memory of `arena`; names are paths from the home. */
bool ss_sidecar_give(const struct ss_sidecar *b, struct ss_run *runs, size_t nruns, struct ss_arena *arena);
/*
 * Each directory with such files as a run without hosts, named by its path from `root`. A log of
 * phases stands in a directory `profile` of the one that is meant.
 */
bool ss_sidecar_runs(const struct ss_sidecar *b, struct ss_str root, struct ss_run **runs, size_t *nruns,
		    struct ss_arena *arena);
/* Collect the files that belong to no run and can be shown as a run, into `orphans` (empty before). */
bool ss_sidecar_orphans(const struct ss_sidecar *b, const struct ss_run *runs, size_t nruns, struct ss_sidecar *orphans);
/*
 * Does the file begin with a graph? Programs write it when they start, so its first part is looked at; of a scan, of at most
 * SS_SIDECAR_SNIFFED files.
 */
bool ss_sidecar_tells_graph(const struct ss_host_file *f);
#define SS_SIDECAR_SNIFFED 500
void ss_sidecar_free(struct ss_sidecar *b);

#endif
