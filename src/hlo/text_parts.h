/*
 * text_parts.h - shared code of the files text*.c. Internal to them.
 */
#ifndef SS_HLO_TEXT_PARTS_H
#define SS_HLO_TEXT_PARTS_H

#include "hlo/field.h"
#include "hlo/stack.h"
#include "hlo/text.h"

struct ss_hlo_printer {
	struct ss_buf *b;
	const struct ss_hlo_module *m;
	enum ss_hlo_style style;
	bool metadata;
	const char *separator;	/* before each attribute */
	bool in_group;		/* attributes that are one to the compiler: all but the first follow a comma */
	size_t group_begin;	/* where the group begins in `b` */
	bool no_calls;		/* leave out what is called, and configs of infeeds and outfeeds: for drawings */
	int32_t *frames;	/* by old stack frame id: its new one; NULL: as they are */
	uint32_t nframes;
	/* Of the canonical style; prints what an instruction calls in its place. */
	struct ss_hlo_canonical *canonical;
	void (*body)(struct ss_hlo_printer *p, uint32_t computation);
	unsigned depth;		/* bodies around it, there */
	bool too_deep;
	bool no_memory;
};

/*
 * The tables of stack frames that the module's instructions refer to, and p->frames for their new
 * numbers. False when memory is out.
 */
bool ss_hlo_print_stacks(struct ss_hlo_printer *p, const struct ss_hlo_stacks *old);

/* ", name=" */
void ss_hlo_attr(struct ss_hlo_printer *p, const char *name);
/* ", window={size=3x3 pad=1_1x1_1}" of an instruction that has one. */
void ss_hlo_print_window(struct ss_hlo_printer *p, struct ss_str instruction);
/* ", dim_labels=b01f_01io->b01f" of a convolution. */
void ss_hlo_print_dim_labels(struct ss_hlo_printer *p, struct ss_str instruction);
/* ", replica_groups={{0,1},{2,3}}", or the rule that they follow. */
void ss_hlo_print_replica_groups(struct ss_hlo_printer *p, struct ss_str instruction);

/* "{devices=[2,1]0,1}" */
void ss_hlo_print_sharding(struct ss_hlo_printer *p, struct ss_str sharding);
/* "op_name="..." source_line=3" */
void ss_hlo_print_metadata(struct ss_hlo_printer *p, struct ss_str metadata);
/* ", name=value" of everything that the opcode says, then the called computations. */
void ss_hlo_print_attributes(struct ss_hlo_printer *p, const struct ss_hlo_instr *i);
/* " {a="b",c={"d":1}}", by key. */
void ss_hlo_print_frontend_attributes(struct ss_hlo_printer *p, struct ss_str attributes);
/* "%" where the style has it, then the name. */
void ss_hlo_print_name(const struct ss_hlo_printer *p, struct ss_str name);
/* "f32[2]{0} add(...)", with what follows. */
void ss_hlo_print_unnamed(struct ss_hlo_printer *p, const struct ss_hlo_instr *i);
/* The name of an instruction in a body of the canonical style. */
void ss_hlo_print_tmp(const struct ss_hlo_printer *p, uint32_t instr);
/* The instruction of this id; false: there is none. */
bool ss_hlo_read_by_id(const struct ss_hlo_module *m, int64_t id, struct ss_hlo_instr *out);
/* The root of a computation that holds nothing but parameters besides, all of them operands of the root. */
bool ss_hlo_single_instr(const struct ss_hlo_module *m, const struct ss_hlo_computation *c, struct ss_hlo_instr *root);
/*
 * The instruction that an async-start, -update or -done wraps, if its computation holds nothing
 * else; false otherwise. `out` may be `i` itself.
 */
bool ss_hlo_wrapped_instr(const struct ss_hlo_module *m, const struct ss_hlo_instr *i, struct ss_hlo_instr *out);

#endif
