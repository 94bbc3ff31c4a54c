/*
 * json_feed.h - a JSON text too long to be held, value by value.
 *
 * The caller walks the outer brackets by hand and takes whole inner values: each is in memory from
 * its first to its last byte, until the next call. A packed text is unpacked as it is walked; of a
 * plain one the mapped bytes are used, and given back behind the walk.
 */
#ifndef SS_IMPORT_JSON_FEED_H
#define SS_IMPORT_JSON_FEED_H

#include "base/file.h"
#include "wire/gz_in.h"

/* One event, or one of the other members, at most. */
#define SS_JSON_VALUE_BYTES ((size_t)16 << 20)

struct ss_json_feed {
	const struct ss_file *file;
	struct ss_gz_in *gz;	/* NULL: the text is the file */
	const char *p;
	size_t at, n;		/* walked and known bytes of p */
	size_t forgotten;	/* of a plain text: given back up to here */
	char *buf;
	size_t cap;
	uint64_t unpacked_bytes;
	uint64_t long_values;	/* longer than SS_JSON_VALUE_BYTES: passed over */
	bool too_long;		/* unpacks to more than such a file should */
	bool no_memory;
};

/* False when memory is out. */
bool ss_json_feed_open(struct ss_json_feed *f, const struct ss_file *file);
void ss_json_feed_close(struct ss_json_feed *f);
/* Is the packed file damaged, as far as it was read? */
bool ss_json_feed_bad(const struct ss_json_feed *f);

/* The next byte that is no blank, not taken; '\0' at the end. */
char ss_json_feed_peek(struct ss_json_feed *f);
/* Take it. */
void ss_json_feed_skip(struct ss_json_feed *f);
/* The text from here on, at most as long as a value may be. It may hold only a part of the next value. */
struct ss_str ss_json_feed_known(struct ss_json_feed *f);
/* Take so many bytes of it: the value it begins with. */
void ss_json_feed_take(struct ss_json_feed *f, size_t n);
/*
 * Take a whole value; false when the text ends within it. One that is longer than a value can be is
 * passed over: it is given as empty, and counted in `long_values`.
 */
bool ss_json_feed_value(struct ss_json_feed *f, struct ss_str *out);

#endif
