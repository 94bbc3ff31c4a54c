/*
 * derive.c - derived lines (docs/tools/trace_viewer.md): what all kinds
 * of device share.
 *
 * Names are made once per plane and compared as numbers; an op's name is taken apart once, however
 * many events bear it.
 */
#include "model/preprocess/derive.h"
#include "model/host/derived_line.h"

#include "model/host/opname.h"
#include "model/host/plane.h"
#include "model/preprocess/preprocess.h"
#include "xprof/quirks/quirks.h"

#include <stdlib.h>

/* Names that were added while loading are used again; if several are equal, the first. */
bool ss_deriver_init(struct ss_deriver *d, struct ss_host *h, struct ss_plane *p, struct ss_arena *arena)
{
	*d = (struct ss_deriver){ .h = h, .p = p, .arena = arena };
	for (uint32_t i = 0; i < p->nsynthetic; i++) {
		uint32_t at = ss_strmap_add(&d->names, p->synthetic[i].name);
		if (at == SS_NONE || (at == d->metas.n && !ss_vec_push(&d->metas, p->x->nevent_meta + i)))
			return false;
	}
	return true;
}

void ss_deriver_free(struct ss_deriver *d)
{
	ss_strmap_free(&d->names);
	ss_vec_free(&d->metas);
	ss_strmap_free(&d->op_names);
	ss_vec_free(&d->ops);
	ss_vec_free(&d->scopes);
	ss_arena_release(&d->scratch);
}

uint32_t ss_deriver_name(struct ss_deriver *d, struct ss_str name, struct ss_str display_name)
{
	uint32_t i = ss_strmap_add(&d->names, name);
	if (i == SS_NONE)
		return SS_NONE;
	if (i == d->metas.n) {
		uint32_t meta = ss_plane_add_synthetic_name(d->arena, d->p, name, display_name);
		if (meta == SS_NONE || !ss_vec_push(&d->metas, meta))
			return SS_NONE;
	} else if (display_name.n) {
		d->p->synthetic[d->metas.v[i] - d->p->x->nevent_meta].display_name = display_name;
	}
	return d->metas.v[i];
}

/* The stages of tf.data pipelines are known by their last part: "Iterator::Batch::Map" is "Iterator::Map". */
static struct ss_str label(struct ss_deriver *d, const struct ss_op_name *op)
{
	if (op->category != SS_OP_TFDATA)
		return ss_op_label(op);
	size_t colon = ss_str_rchr(op->name, ':');
	struct ss_str last = colon == SS_NPOS ? op->name : ss_str_sub(op->name, colon + 1, op->name.n);
	return ss_arena_printf(d->arena, "Iterator::" SS_FMT, SS_ARG(last));
}

static bool take_apart(struct ss_deriver *d, struct ss_str full, struct ss_derived_op *out)
{
	struct ss_op_name op = ss_op_name_parse(full);
	struct ss_str shown = label(d, &op), rest = op.name, scope;
	bool scoped = op.category == SS_OP_TENSORFLOW || op.category == SS_OP_JAX;
	*out = (struct ss_derived_op){ .first_scope = (uint32_t)d->scopes.n };
	if (!shown.p)
		return false;
	out->op = ss_deriver_name(d, full, shown);
	if (out->op == SS_NONE)
		return false;
	while (scoped && out->nscopes < SS_NEST_LEVELS && ss_op_scope_next(&rest, &scope)) {
		uint32_t meta = ss_deriver_name(d, scope, SS_STR(""));
		if (meta == SS_NONE || !ss_vec_push(&d->scopes, meta))
			return false;
		out->nscopes++;
	}
	return true;
}

uint32_t ss_deriver_op(struct ss_deriver *d, struct ss_str full)
{
	uint32_t i = ss_strmap_add(&d->op_names, full);
	struct ss_derived_op op;
	if (i == SS_NONE || i < d->ops.n)
		return i;
	return take_apart(d, full, &op) && ss_vec_push(&d->ops, op) ? i : SS_NONE;
}

bool ss_deriver_add_op(struct ss_deriver *d, uint32_t op, struct ss_nest_item *item, struct ss_nest *scopes,
		       struct ss_nest *ops)
{
	const struct ss_derived_op *o = &d->ops.v[op];
	item->scopes = NULL;
	/* An op without scopes leaves those open that are. */
	if (o->nscopes) {
		item->metas = &d->scopes.v[o->first_scope];
		item->nmetas = o->nscopes;
		if (!ss_nest_add(scopes, item))
			return false;
	}
	item->metas = &o->op;
	item->nmetas = 1;
	return ss_nest_add(ops, item);
}

int64_t ss_derived_line_id(uint32_t id)
{
	return ss_quirk_line_id(SS_DERIVED_BASE + id);
}
