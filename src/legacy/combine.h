/*
 * combine.h - stored answers of several hosts as one answer.
 *
 * Each file is read alone, by the tool's reader; its rows are then added to those of the files
 * before, by the rules of the tool. What the reader made dies before the next file is read, so memory
 * is that of the combination and of one file. A file that cannot be read is left out with a note,
 * unless none can.
 *
 * Sentences (verdicts, advice) cannot be added up: they come from the host with the worst figures,
 * and a note names it.
 */
#ifndef SS_LEGACY_COMBINE_H
#define SS_LEGACY_COMBINE_H

#include "legacy/answers.h"

struct ss_host;

enum ss_legacy_how {
	SS_LEGACY_SUM,
	SS_LEGACY_MIN,
	SS_LEGACY_MAX,
	SS_LEGACY_MEAN,	/* over the hosts that have the row, weighted by the column `by`, which is a SUM */
};

/* A column of numbers. Columns without such a rule are those of one host: see `longest`. */
struct ss_legacy_col {
	const char *id;
	enum ss_legacy_how how;
	const char *by;		/* NULL: all hosts count alike */
};

struct ss_legacy_table {
	const char *name;
	/*
	 * Columns that are equal in rows of different hosts that belong together, up to NULL. Without
	 * any the whole table is that of the host that is worst off.
	 */
	const char *key[8];
	const struct ss_legacy_col *cols;
	size_t ncols;
	/* Columns without a rule come from the host whose row is greatest in the first of these columns that exists. */
	const char *longest[3];
	bool everywhere;	/* rows that a host lacks are left out */
	const struct ss_legacy_col *props;	/* the same of properties; texts are those of the host that is worst off */
	size_t nprops;
};

struct ss_legacy_answer {
	bool (*read)(const struct ss_request *q, const struct ss_host *h, struct ss_result *out, struct ss_err *err);
	const struct ss_legacy_table *tables;
	size_t ntables;
	/* The rank of a host for this choice, higher is worse; NULL: the first host is taken. */
	double (*worst)(const struct ss_result *r);
	/* The last steps after all hosts: order, ranks, shares. NULL: none. `nhosts`: hosts that were read. */
	bool (*end)(struct ss_result *out, size_t nhosts);
	const char *says;	/* how hosts are combined, a sentence for the note */
};

bool ss_legacy_combine(const struct ss_request *q, const struct ss_legacy_answer *a, struct ss_result *out, struct ss_err *err);

/* For `end`. */

/* The table of this name, NULL if there is none. */
struct ss_table *ss_legacy_find(struct ss_result *r, const char *name);
/* Order the rows by some columns, up to NULL; "-id" has the greatest first. Equal ones stay as they are. */
bool ss_legacy_sort(struct ss_table *t, const char *const *by);
/* A property, added or replaced. */
void ss_legacy_set_prop(struct ss_table *t, const char *id, enum ss_unit unit, double v, const char *fmt);

#endif
