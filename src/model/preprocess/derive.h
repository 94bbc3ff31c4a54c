/*
 * derive.h - shared code of the derivation of lines: synthetic names of a plane, and op names, each
 * parsed once.
 */
#ifndef SS_MODEL_PREPROCESS_DERIVE_H
#define SS_MODEL_PREPROCESS_DERIVE_H

#include "base/arena.h"
#include "base/map.h"
#include "base/vec.h"
#include "model/preprocess/nest.h"

struct ss_host;

/* An op name: its scopes are scopes[first_scope ..] of the deriver. */
struct ss_derived_op {
	uint32_t first_scope, nscopes;
	uint32_t op;		/* meta of the op itself */
};

struct ss_deriver {
	struct ss_host *h;
	struct ss_plane *p;
	struct ss_arena *arena;		/* of the plane's lines and names */
	struct ss_strmap names;		/* made names, in the order of metas */
	SS_VEC(uint32_t) metas;
	struct ss_strmap op_names;	/* in the order of ops */
	SS_VEC(struct ss_derived_op) ops;
	SS_VEC(uint32_t) scopes;
	struct ss_arena scratch;
};

/* `p` is one that may still be changed: of a host that is being loaded, or a copy that will be shown. */
bool ss_deriver_init(struct ss_deriver *d, struct ss_host *h, struct ss_plane *p, struct ss_arena *arena);
void ss_deriver_free(struct ss_deriver *d);

/*
 * Meta index of a name, made when new; SS_NONE when memory is out. `name` must live as long as the
 * plane. A display name of length 0 leaves that of an earlier call.
 */
uint32_t ss_deriver_name(struct ss_deriver *d, struct ss_str name, struct ss_str display_name);
/* Index into ops of an op's full name ("a/b/MatMul:MatMul"), SS_NONE when memory is out. `full` must live as long as the plane. */
uint32_t ss_deriver_op(struct ss_deriver *d, struct ss_str full);
/* Add an op to the lines of scopes and of ops. The names of `item` are overwritten; scope ranges are not known. */
bool ss_deriver_add_op(struct ss_deriver *d, uint32_t op, struct ss_nest_item *item, struct ss_nest *scopes,
		       struct ss_nest *ops);
/* The id of a derived line: of enum ss_derived_line, or beyond. */
int64_t ss_derived_line_id(uint32_t id);

#endif
