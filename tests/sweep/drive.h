/*
 * drive.h - open a profile from memory and run every registered tool on it, as the server does.
 */
#ifndef SS_TESTS_DRIVE_H
#define SS_TESTS_DRIVE_H

#include "model/host/host.h"
#include "model/model.h"
#include "request/request.h"

struct drive {
	struct ss_host host;
	struct ss_model model;
	struct ss_model pair;	/* of a stored answer: it and itself as two hosts, which tools combine */
	bool has_pair;
};

struct sample {
	char path[512];
	struct ss_str bytes;
	const char *kind;	/* NULL: a profile; else as in store/kinds.h */
};

/* Bytes stay with the caller: the sample's, or in place of them others. */
bool drive_open(struct drive *d, const struct sample *s, struct ss_str bytes, struct ss_err *err);
/* The sample as it stands in the file `path`, which is mapped. */
bool drive_open_file(struct drive *d, const struct sample *s, const char *path, struct ss_err *err);
/* The sample's file as two hosts that are visited. */
bool drive_open_visited(struct drive *d, const struct sample *s, struct ss_err *err);
/* Is the sample of the kind that the tool reads? */
bool drive_fits(const struct sample *s, const struct ss_tool *tool);
void drive_close(struct drive *d);
struct drive_question {
	enum ss_format format;
	const char *params;	/* "k=v&k=v" */
};

/* What is asked of a tool, by number from 0; NULL: there is no such number. */
const struct drive_question *drive_question(const struct ss_tool *tool, size_t number);
/* Ask as the server does, to the last byte of the answer; *digest tells two answers apart. */
bool drive_run(struct drive *d, const struct ss_tool *tool, const struct drive_question *q, uint64_t *digest,
	       struct ss_err *err);

/* The files below `dir` that tools read, of at most `max_bytes`, by path; each in memory of exactly its size. */
struct samples {
	struct sample *v;
	size_t n;
};
struct samples samples_load(const char *dir, size_t max_bytes);
void samples_free(struct samples *s);

#endif
