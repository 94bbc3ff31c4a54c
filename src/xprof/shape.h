/*
 * shape.h - answers of XProf that are no DataTables: one file shape_<tool>.c each, listed in
 * shapes.def.
 *
 * A shape prints what XProf's clients expect of a tool from the tool's tables, and nothing else:
 * all numbers are in the tables, where our own clients find them too.
 */
#ifndef SS_XPROF_SHAPE_H
#define SS_XPROF_SHAPE_H

#include "emit/out.h"
#include "table/table.h"

typedef void ss_shape_fn(struct ss_out *o, const struct ss_result *r);

#define SHAPE(name) ss_shape_fn ss_shape_##name;
#include "xprof/shapes.def"
#undef SHAPE

/* The shape of a tool, NULL when its answer is DataTables. */
ss_shape_fn *ss_shape_find(struct ss_str tool);

/* For the shapes. The number of a property, 0 if there is none; its text, "" if there is none. */
double ss_shape_prop(const struct ss_table *t, const char *id);
struct ss_str ss_shape_prop_text(const struct ss_table *t, const char *id);

/*
 * Members of JSON objects as protobuf prints them: 64-bit integers as strings. `first` is true
 * before the first member of an object and becomes false; a member whose name is given writes its
 * own comma.
 */
struct ss_json {
	struct ss_out *o;
	bool first;
};

void ss_json_open(struct ss_json *j, char bracket);	/* { or [ */
void ss_json_close(struct ss_json *j, char bracket);
/* Begin a member of an object, or with NULL an element of an array. */
void ss_json_key(struct ss_json *j, const char *key);
void ss_json_str(struct ss_json *j, const char *key, struct ss_str v);
void ss_json_i64(struct ss_json *j, const char *key, int64_t v);	/* "12" */
void ss_json_u64(struct ss_json *j, const char *key, uint64_t v);	/* "12" */
void ss_json_int(struct ss_json *j, const char *key, int64_t v);	/* 12 */
void ss_json_f64(struct ss_json *j, const char *key, double v);

#endif
