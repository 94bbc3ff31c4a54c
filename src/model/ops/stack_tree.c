/* stack_tree.c - see stack_tree.h. */
#include "model/ops/stack_tree.h"

#include "base/bisect.h"
#include "model/ops/name_scope.h"

#include <stdlib.h>

uint32_t ss_stack_push(struct ss_stack_tree *t, uint32_t parent, struct ss_str frame)
{
	uint32_t depth = parent == SS_NONE ? 0 : t->v.v[parent].depth + 1;
	struct ss_str text = frame.n ? frame : SS_STR("(no name)");
	if (depth >= t->most_depth) {
		t->cut = true;
		return parent;
	}
	uint32_t f = ss_strmap_get(&t->frames, text);
	if (f == SS_NONE)
		f = ss_strmap_add(&t->frames, t->texts ? ss_intern_str(t->texts, text) : text);
	if (f == SS_NONE)
		return SS_NONE;
	uint64_t key = (uint64_t)parent << 32 | f;
	uint32_t at = ss_u64map_get(&t->children, key);
	if (at != SS_NONE)
		return at;
	if (t->v.n >= t->most && parent != SS_NONE) {
		t->cut = true;
		return parent;
	}
	if (!ss_vec_push(&t->v, ((struct ss_stack){ .parent = parent, .frame = f, .depth = depth })))
		return SS_NONE;
	return ss_u64map_add(&t->children, key, (uint32_t)t->v.n - 1);
}

static uint32_t push_scopes(struct ss_stack_tree *t, uint32_t at, struct ss_str scope)
{
	struct ss_str path = ss_scope_path(scope), part;
	while (at != SS_NONE && t->v.v[at].depth + 1 < t->most_depth && ss_scope_next(&path, &part))
		at = ss_stack_push(t, at, part);
	t->cut |= path.n > 0;
	return at;
}

uint32_t ss_stack_of_op(struct ss_stack_tree *t, uint32_t root, struct ss_str program, const struct ss_plane *p,
			const struct ss_line *l, uint32_t event, bool names_ranges)
{
	uint32_t at = program.n ? ss_stack_push(t, root, program) : root;
	struct ss_str scope = ss_stack_text(p, l, event, SS_STAT_TF_OP);
	if (at != SS_NONE && scope.n)
		at = names_ranges ? ss_stack_push(t, at, scope) : push_scopes(t, at, scope);
	return at == SS_NONE ? at : ss_stack_push(t, at, ss_event_label(p, l->ev.meta[event]));
}

struct ss_str ss_stack_text(const struct ss_plane *p, const struct ss_line *l, uint32_t event, enum ss_stat which)
{
	struct ss_xstat s;
	if (!ss_xplane_has(p->x, which))
		return SS_STR("");
	if (ss_xstats_find(ss_line_stats(p, l, event), which, &s) ||
	    (l->ev.meta[event] < p->x->nevent_meta && ss_xstats_find(ss_xevent_meta_stats(p->x, l->ev.meta[event]), which, &s)))
		return ss_xstat_str(&s);
	return SS_STR("");
}

uint32_t ss_stack_running(const struct ss_line *l, const uint32_t *in_time, int64_t at_ps)
{
	uint32_t lo = 0, hi = l->ev.n;
	SS_BISECT(lo, hi, mid, l->ev.begin_ps[in_time ? in_time[mid] : mid] <= at_ps);
	if (!lo)
		return SS_NONE;
	uint32_t at = in_time ? in_time[lo - 1] : lo - 1;
	return ss_xevents_end_ps(&l->ev, at) > at_ps ? at : SS_NONE;
}

void ss_stack_tree_free(struct ss_stack_tree *t)
{
	ss_vec_free(&t->v);
	ss_strmap_free(&t->frames);
	ss_u64map_free(&t->children);
	ss_arena_release(&t->arena);
}
