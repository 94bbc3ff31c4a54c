/*
 * json.h - reading JSON in place, token by token: no copies, no tree, no recursion.
 *
 *	struct ss_jsonr r = ss_jsonr_of(text);
 *	struct ss_jtok t;
 *	while (ss_jsonr_next(&r, &t)) ...
 *
 * A key is a token of its own and stands before its value. Strings are the bytes in the file,
 * escapes included: ss_jtok_is compares, ss_jtok_str decodes. Malformed text ends the walk and sets
 * `bad`.
 */
#ifndef SS_WIRE_JSON_H
#define SS_WIRE_JSON_H

#include "base/arena.h"

#define SS_JSON_DEPTH 512	/* deeper nesting is malformed */

enum ss_jkind { SS_J_OBJECT, SS_J_ARRAY, SS_J_END, SS_J_KEY, SS_J_STRING, SS_J_NUMBER, SS_J_TRUE, SS_J_FALSE, SS_J_NULL };

struct ss_jtok {
	enum ss_jkind kind;	/* SS_J_END closes an object or an array */
	struct ss_str text;	/* of keys and strings without the quotes, of numbers as they stand */
	bool escaped;		/* the text holds escapes */
	bool small;		/* a whole number without a sign, below 10^18: `u` is it */
	uint64_t u;
};

struct ss_jsonr {
	const char *at, *end;
	bool bad;
	bool want_value;	/* after a key */
	bool done;		/* the outermost value was read */
	bool first;		/* nothing was read of the innermost object or array */
	uint32_t depth;
	uint64_t in_object[SS_JSON_DEPTH / 64]; /* bit per level: object, else array */
};

struct ss_jsonr ss_jsonr_of(struct ss_str text);
bool ss_jsonr_next(struct ss_jsonr *r, struct ss_jtok *t);
/*
 * The next member of the innermost object: its name, and what its value begins with. False at the
 * end of the object, which is taken, and where the text is malformed.
 */
bool ss_jsonr_member(struct ss_jsonr *r, struct ss_jtok *key, struct ss_jtok *value);
/* Skip the value that `t` begins: to its end for an object or array, nothing for others. After a key skips its value. */
bool ss_jsonr_skip(struct ss_jsonr *r, const struct ss_jtok *t);

bool ss_jtok_is(const struct ss_jtok *t, const char *z);
struct ss_str ss_jtok_decoded(const struct ss_jtok *t, struct ss_arena *arena);
/* The decoded text; p is NULL when memory is out. Borrows if there is nothing to decode. */
static inline struct ss_str ss_jtok_str(const struct ss_jtok *t, struct ss_arena *arena)
{
	return t->escaped ? ss_jtok_decoded(t, arena) : t->text;
}
/* A number, or a string that is one, as some writers have it. False if it is neither. */
bool ss_jtok_f64(const struct ss_jtok *t, double *out);
bool ss_jtok_i64(const struct ss_jtok *t, int64_t *out);

#endif
