/*
 * json_tree.h - a small document in memory, as a tree: for the answers that older tools stored.
 *
 * JSON and protobuf give the same tree. A repeated field of a message is several nodes of one key;
 * a JSON array is one node with its elements below it. Nodes live in the arena, their texts there
 * or in the bytes.
 */
#ifndef SS_WIRE_JSON_TREE_H
#define SS_WIRE_JSON_TREE_H

#include "base/arena.h"
#include "base/err.h"
#include "wire/json.h"

struct ss_jnode {
	enum ss_jkind kind;
	struct ss_str key;	/* "" in arrays, and of the root */
	struct ss_str text;	/* of strings and numbers; of what was left as it stands */
	double num;		/* of numbers, and of strings that are one; else NaN */
	const struct ss_jnode *first, *next;
};

/* SS_EFORMAT when it is not JSON to its end. A byte order mark before it is passed over. */
const struct ss_jnode *ss_jtree_of_json(struct ss_str text, struct ss_arena *arena, struct ss_err *err);

/*
 * The same for a long document: objects and arrays below `levels` brackets have no children; their
 * text is the part of the document, which ss_jtree_of_json reads.
 */
const struct ss_jnode *ss_jtree_of_json_to(struct ss_str text, size_t levels, struct ss_arena *arena, struct ss_err *err);

/* UINTS: repeated numbers, packed or not. */
enum ss_pbt_type { SS_PBT_UINT, SS_PBT_INT, SS_PBT_UINTS, SS_PBT_FLOAT, SS_PBT_DOUBLE, SS_PBT_STRING, SS_PBT_MESSAGE };

struct ss_pbt_field {
	uint32_t number;
	enum ss_pbt_type type;
	const char *name;
	const struct ss_pbt_field *message;	/* its fields, up to one of number 0 */
};

/*
 * The fields named, in the order of the bytes; others are left out. A google.protobuf.Any is a
 * message of the fields 1 and 2. SS_EFORMAT when it is not protobuf, or none of the fields is there.
 */
const struct ss_jnode *ss_jtree_of_pb(struct ss_str bytes, const struct ss_pbt_field *fields, struct ss_arena *arena,
				      struct ss_err *err);

/* Member of this key, the first of several; NULL when there is none, or `n` is NULL. */
const struct ss_jnode *ss_jnode_get(const struct ss_jnode *n, const char *key);
/* The next one behind `n` with n's key. */
const struct ss_jnode *ss_jnode_again(const struct ss_jnode *n);
/* Text of a member, "" when it is none. */
struct ss_str ss_jnode_text(const struct ss_jnode *n, const char *key);
/* Number of a member, `otherwise` when it is none. */
double ss_jnode_num(const struct ss_jnode *n, const char *key, double otherwise);
/* The same as a whole number; what does not fit 53 bits is rounded. */
int64_t ss_jnode_int(const struct ss_jnode *n, const char *key, int64_t otherwise);
/* The same with all 64 bits; what is beyond int64 wraps around, as unsigned numbers of 64 bits do. */
int64_t ss_jnode_i64(const struct ss_jnode *n, const char *key);
size_t ss_jnode_count(const struct ss_jnode *n);

#endif
