/* links.h - operands and users of every instruction of a module, as indices. */
#ifndef SS_HLO_LINKS_H
#define SS_HLO_LINKS_H

#include "base/arena.h"
#include "hlo/hlo.h"

struct ss_hlo_links {
	/* The operands of instruction i are operands[operand_first[i] .. operand_first[i + 1]), with repetitions. */
	uint32_t *operands, *operand_first;
	/* users[user_first[i] .. user_first[i + 1]), each once, in the file's order. */
	uint32_t *users, *user_first;
	uint32_t *computation;	/* of each instruction */
};

/* `m` must be indexed. Operands that do not exist are left out. Lives in `arena`; false when memory is out. */
bool ss_hlo_links_of(struct ss_hlo_links *l, const struct ss_hlo_module *m, struct ss_arena *arena);

#endif
