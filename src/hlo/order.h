/*
 * order.h - the order in which the compiler's own texts show a module.
 *
 * Computations: those that are called before their callers. Instructions: as scheduled, where the
 * module has a schedule; else operands come before their users, beginning with instructions without
 * users, by id; the root comes last.
 */
#ifndef SS_HLO_ORDER_H
#define SS_HLO_ORDER_H

#include "base/arena.h"
#include "hlo/hlo.h"

struct ss_hlo_order {
	uint32_t *computations;	/* all of them, in order */
	/* The instructions of computation c are [c.first .. c.first + nshown[c]), as indices into the module's instrs. */
	uint32_t *instrs;
	uint32_t *nshown;
};

/* `m` must be indexed. Lives in `arena`. Cycles among calls or operands are cut where they close. */
bool ss_hlo_order_of(struct ss_hlo_order *o, const struct ss_hlo_module *m, struct ss_arena *arena, struct ss_err *err);

/* The same without the schedule: every computation by use. */
bool ss_hlo_order_by_use(struct ss_hlo_order *o, const struct ss_hlo_module *m, struct ss_arena *arena, struct ss_err *err);

/* Has the module a schedule? */
bool ss_hlo_is_scheduled(const struct ss_hlo_module *m);

#endif
