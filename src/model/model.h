/*
 * model.h - the input of the tools: the selected hosts, and facts that combine all of them.
 *
 * Facts about one host are parts of struct ss_host and shared by all models that hold it; facts that
 * combine hosts are parts of the model. Each part has a header and a file of its own in this folder.
 *
 * The hosts of a model are open, or, if there are many, are opened one after the other on request
 * (visit.h). Then `hosts` holds the facts that need no open file: name, path, size, and after a
 * visit the host's own name and the missing parts of its file.
 */
#ifndef SS_MODEL_MODEL_H
#define SS_MODEL_MODEL_H

#include "base/err.h"
#include "model/host/part.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ss_host;
struct ss_outlines;

/* Combined over hosts; see the header of the same name. */
enum ss_model_part {
#define MODEL_PART(name) SS_MODEL_##name,
#include "model/host/parts.def"
	SS_MODEL_PART_COUNT
};

/* The source of the hosts of a visited model, if not their files: reduced/part.h. */
struct ss_host_opener {
	/* Host i of those that the model was made of; `why` as in ss_host_open_among. NULL: the files are opened. */
	bool (*open)(const struct ss_host_opener *o, size_t i, const char *path, struct ss_host *h, struct ss_err *why,
		     struct ss_err *err);
	const void *arg;
	/* With the model; NULL where there is none. */
	void (*close)(struct ss_host_opener *o);
	struct ss_str *skeletons; /* of all of them: cluster/skeleton.h */
	struct ss_outlines *outlines; /* the same: cluster/outline.h */
};

struct ss_model {
	struct ss_host **hosts;	/* by name ascending, whatever order was asked for */
	size_t nhosts;
	bool visited;		/* the hosts are not open */
	bool aligned;		/* times of its timeline and events are on the common clock: cluster/aligned.h */
	struct ss_host *known;	/* then: what `hosts` points to */
	struct ss_host_opener opener;
	pthread_mutex_t lock;	/* then: guards what visits add to it */
	pthread_mutex_t gathering; /* fold.h */
	struct ss_part parts[SS_MODEL_PART_COUNT];
};

/* The hosts stay with the caller and must outlive the model. The list is copied and sorted. */
bool ss_model_init(struct ss_model *m, struct ss_host *const *hosts, size_t nhosts, struct ss_err *err);
/* A profile that is opened when it is visited. */
struct ss_host_file_at {
	const char *path;
	uint64_t bytes;
	const char *top;	/* the directory that links do not lead out of; NULL: anywhere */
};
/* The paths are copied. */
bool ss_model_init_visited(struct ss_model *m, const struct ss_host_file_at *files, size_t n, struct ss_err *err);
void ss_model_release(struct ss_model *m);
/* Load the events of all hosts, which are open. */
bool ss_model_load(struct ss_model *m, struct ss_err *err);

#endif
