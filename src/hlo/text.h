/*
 * text.h - programs and instructions in the compiler's own notation.
 *
 *			      short		     long			 expression
 *	% before names	      no		     yes			 yes
 *	shapes of operands    no		     no				 yes
 *	constants	      at most 10 elements    whole			 at most 10 elements
 *	control-predecessors  no		     yes			 yes
 *	metadata	      if asked for	     if asked for		 no
 *	backend config	      yes		     yes			 no
 *	"ROOT "		      yes		     yes			 no
 *
 * Canonical is an expression without names (text_canonical.c).
 */
#ifndef SS_HLO_TEXT_H
#define SS_HLO_TEXT_H

#include "base/arena.h"
#include "base/buf.h"
#include "hlo/hlo.h"
#include "hlo/order.h"

enum ss_hlo_style { SS_HLO_SHORT, SS_HLO_LONG, SS_HLO_EXPRESSION, SS_HLO_CANONICAL };

/*
 * The whole module; `m` must be indexed. Fails when memory is out, or when the text would be longer
 * than b->limit_bytes.
 */
bool ss_hlo_text(struct ss_buf *b, const struct ss_hlo_module *m, enum ss_hlo_style style, bool metadata, struct ss_err *err);

/* One instruction, by its index: "%add.3 = f32[2]{0} add(f32[2]{0} %a, f32[2]{0} %b)". False when memory is out. */
bool ss_hlo_instr_text(struct ss_buf *b, const struct ss_hlo_module *m, uint32_t instr, enum ss_hlo_style style);

/* Canonical texts of a module's instructions. */
struct ss_hlo_canonical {
	const struct ss_hlo_module *m;
	struct ss_hlo_order order;
	uint32_t *numbers;   /* by instruction: of the body that is printed */
	uint64_t left_bytes; /* of all texts: nested bodies may be many times as long as the module */
};

/* `m` must be indexed. Lives in `arena`. */
bool ss_hlo_canonical_open(struct ss_hlo_canonical *c, const struct ss_hlo_module *m, struct ss_arena *arena, struct ss_err *err);
/*
 * "f32[2]{0} add(f32[2]{0}, f32[2]{0})", equal for equal instructions of different programs. Empty: it is too long, or calls
 * itself. In `b`, which is emptied before. False when memory is out.
 */
bool ss_hlo_canonical_text(struct ss_hlo_canonical *c, uint32_t instr, struct ss_buf *b, struct ss_str *text);

/*
 * Print the attributes of the instruction, one per line, without called computations, metadata and
 * backend config. False: out of memory.
 */
bool ss_hlo_instr_attributes(struct ss_buf *b, const struct ss_hlo_module *m, uint32_t instr);

#endif
