/*
 * parts.h - parts of a run on disk (model/reduced/part.h): reading all of a directory, writing one
 * whole or not at all.
 */
#ifndef SS_CLI_PARTS_H
#define SS_CLI_PARTS_H

#include "base/vec.h"
#include "model/reduced/part.h"

#define CLI_PART_SUFFIX ".ssp"
#define CLI_MERGED_NAME "merged" CLI_PART_SUFFIX

struct cli_parts {
	SS_VEC(struct ss_shard) shards;
	SS_VEC(struct ss_str) paths;	/* of them */
	struct ss_shard all;		/* the union: shard 0 of 1 */
	SS_VEC(uint64_t) lost;		/* indices of shards that are not there */
	uint64_t count;			/* how many there should be */
	struct ss_arena arena;
};

/* A part, or a directory with parts? */
bool cli_parts_is(const char *path);
/*
 * Read them and bring them together; `lost` says which are missing. Of a directory with a merged
 * file that alone, if `merged`. Parts of different runs, of different counts, and two different
 * parts of one host are refused, by name.
 */
bool cli_parts_read(struct cli_parts *p, const char *path, bool merged, struct ss_err *err);
/* With --strict: did the profiles have everything, and is every host there whose shard is? */
bool cli_parts_whole(const struct cli_parts *p, struct ss_err *err);
void cli_parts_close(struct cli_parts *p);
/* "3/8 (host3, host11)": a shard and its hosts. p is NULL when memory is out. */
struct ss_str cli_parts_name_lost(struct cli_parts *p, uint64_t index);
/* To a file of another name first, so that a killed program leaves nothing that counts. */
bool cli_parts_write(const struct ss_shard *s, const char *dir, const char *name, struct ss_err *err);

#endif
