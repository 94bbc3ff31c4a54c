/*
 * derive_tpu.c - derived lines of a TensorCore: scopes, ops and source lines of the user's program,
 * and copies to and from the host.
 *
 * The compiler says for each op where it comes from; mostly in the metadata, which is read once,
 * but an event's own stats count more.
 */
#include "base/apart.h"

#include "base/pool.h"
#include "model/host/derived_line.h"
#include "model/host/forget.h"
#include "model/host/time_walk.h"
#include "model/host/stat_projection.h"
#include "model/timeline/derived.h"

#include <stdlib.h>

enum { TF_OP, SOURCE, ASYNC, NPROJECTED };
static const enum ss_stat projected_stats[NPROJECTED] = { SS_STAT_TF_OP, SS_STAT_SOURCE, SS_STAT_IS_ASYNC };

/* What one event, or all of one metadata, say. */
struct origin {
	uint32_t op, source;	/* index of an op, a meta; SS_NONE: none */
	bool async;
};

struct core {
	struct ss_deriver d;
	struct ss_display_plane *out;
	struct ss_stat_projection projection;
	struct origin *by_meta;
	const struct ss_xevents *most;	/* of the line that most derived events are of */
	struct ss_offload *offload;
	/*
	 * Written with each event, perhaps by two threads: scopes and ops by one, sources by the
	 * other.
	 */
	SS_APART struct ss_nest scopes;
	struct ss_nest ops;
	SS_APART struct ss_nest sources;
};

static bool read_origin(struct core *c, struct ss_projection_walk walk, struct origin *out)
{
	struct ss_xstat s;
	unsigned which;
	while (ss_projection_next(&walk, &which, &s)) {
		struct ss_str text = ss_xstat_str(&s);
		if (which == ASYNC) {
			out->async = ss_xstat_int_or_uint(&s) != 0;
		} else if (which == TF_OP) {
			out->op = text.n ? ss_deriver_op(&c->d, text) : SS_NONE;
			if (text.n && out->op == SS_NONE)
				return false;
		} else {
			out->source = text.n ? ss_deriver_name(&c->d, text, SS_STR("")) : SS_NONE;
			if (text.n && out->source == SS_NONE)
				return false;
		}
	}
	return true;
}

static bool read_event(struct core *c, const struct ss_line *l, uint32_t i, struct origin *from)
{
	*from = (struct origin){ SS_NONE, SS_NONE, false };
	if (l->ev.meta[i] < c->d.p->x->nevent_meta)
		*from = c->by_meta[l->ev.meta[i]];
	return !ss_projection_in(&c->projection, &l->ev) ||
	       read_origin(c, ss_projection_event(&c->projection, ss_xevents_body(&l->ev, l->src, i)), from);
}

/* One pass over the events for all lines, or one for each half of them. */
enum half { OPS = 1, REST = 2 };

struct pass {
	SS_APART struct core *c;
	unsigned halves;
	struct ss_time_walk walk;
	size_t *run;		/* per line, for groups */
};

static bool add_event(const struct pass *pass, const struct ss_line *l, uint32_t i)
{
	struct core *c = pass->c;
	struct origin from;
	if (!read_event(c, l, i, &from))
		return false;
	if (from.async)
		return true;
	struct ss_nest_item item = { .begin_ps = l->ev.begin_ps[i], .end_ps = ss_xevents_end_ps(&l->ev, i),
				     .event = &l->ev == c->most ? i : SS_NONE,
				     .group = ss_event_group_at(c->d.p, l, i, &pass->run[l - c->d.p->lines]) };
	if ((pass->halves & OPS) && from.op != SS_NONE && !ss_deriver_add_op(&c->d, from.op, &item, &c->scopes, &c->ops))
		return false;
	if (!(pass->halves & REST))
		return true;
	item.metas = &from.source;
	item.nmetas = 1;
	return ss_offload_event(c->offload, l, i) && (from.source == SS_NONE || ss_nest_add(&c->sources, &item));
}

static bool read_metas(struct core *c)
{
	const struct ss_xplane *x = c->d.p->x;
	c->by_meta = SS_NEW_N(&c->d.scratch, struct origin, x->nevent_meta);
	bool ok = c->by_meta && ss_projection_init(&c->projection, x, projected_stats, NPROJECTED, &c->d.scratch);
	for (uint32_t i = 0; ok && i < x->nevent_meta; i++) {
		c->by_meta[i] = (struct origin){ SS_NONE, SS_NONE, false };
		ok = read_origin(c, ss_projection_meta(&c->projection, i), &c->by_meta[i]);
	}
	return ok;
}

/*
 * Steps and programs have no origin, and what is asynchronous does not count: their lines need not
 * be walked.
 */
static bool says_nothing(struct core *c, const struct ss_line *l, bool *ok)
{
	for (uint32_t i = 0; *ok && i < l->ev.n; i++) {
		struct origin from;
		*ok = read_event(c, l, i, &from);
		bool copy = ss_offload_concerns(c->offload, l->ev.meta[i]);
		if (!from.async && (copy || from.op != SS_NONE || from.source != SS_NONE))
			return false;
	}
	return true;
}

static bool run_pass(void *passes, size_t half, struct ss_err *err)
{
	struct pass *pass = (struct pass *)passes + half;
	struct ss_forget forget = { .h = pass->c->d.h };
	struct ss_line *l;
	uint32_t first, n;
	bool ok = true;
	while (ok && ss_time_walk_run(&pass->walk, &l, &first, &n))
		for (uint32_t i = first; ok && i - first < n; i++) {
			ok = add_event(pass, l, i);
			ss_forget_passed(&forget, l, i);
		}
	ss_forget_rest(&forget);
	return ok || ss_fail_mem(err);
}

static bool begin_pass(struct core *c, struct pass *pass, unsigned halves)
{
	pass->c = c;
	pass->halves = halves;
	pass->run = SS_NEW_N(&c->d.scratch, size_t, c->d.p->nlines + SS_APART_BYTES / sizeof(*pass->run));
	return pass->run;
}

/*
 * Scopes and ops rule each other, sources and copies know nothing of them: where the events
 * themselves name neither, so that no name is made on the way, each half is a thread's.
 */
static bool add_halves(struct core *c, const bool *skip, bool named)
{
	struct pass passes[2] = { 0 };
	bool ok = begin_pass(c, &passes[0], named ? OPS | REST : OPS) && begin_pass(c, &passes[1], REST) &&
		  ss_time_walk_init(&passes[0].walk, c->d.p, skip) &&
		  (named || ss_time_walk_fork(&passes[1].walk, &passes[0].walk)) &&
		  ss_parallel(named ? 1 : 2, 0, run_pass, passes, NULL);
	if (!named)
		ss_time_walk_free(&passes[1].walk);
	ss_time_walk_free(&passes[0].walk);
	return ok;
}

/* All lines count, not only "XLA Ops", but mostly only that one has something to say. */
static bool add_events(struct core *c)
{
	const struct ss_plane *p = c->d.p;
	bool *skip = SS_NEW_N(&c->d.scratch, bool, p->nlines), ok = skip, named = false;
	for (uint32_t i = 0; ok && i < p->nlines; i++) {
		skip[i] = says_nothing(c, &p->lines[i], &ok);
		named |= !skip[i] && ss_projection_in(&c->projection, &p->lines[i].ev);
		if (!skip[i] && (!c->most || p->lines[i].ev.n > c->most->n))
			c->most = &p->lines[i].ev;
	}
	c->scopes.spans.of = c->ops.spans.of = c->sources.spans.of = c->most;
	return ok && add_halves(c, skip, named);
}

static bool add_lines(struct core *c)
{
	struct ss_derived lines[] = {
		{ .id = SS_DERIVED_NAME_SCOPE, .name = SS_STR("Framework Name Scope"), .nest = c->scopes },
		{ .id = SS_DERIVED_FRAMEWORK_OP, .name = SS_STR("Framework Ops"), .nest = c->ops },
		{ .id = SS_DERIVED_SOURCE, .name = SS_STR("Source code"), .nest = c->sources },
	};
	bool ok = ss_display_add_lines(c->out, c->d.arena, lines, SS_COUNT(lines));
	c->scopes = lines[0].nest;
	c->ops = lines[1].nest;
	c->sources = lines[2].nest;
	return ok;
}

bool ss_derive_tensor_core(struct ss_host *h, struct ss_display_plane *p, struct ss_arena *arena, struct ss_err *err)
{
	struct core c = { .out = p };
	uint64_t n = 0;
	for (uint32_t i = 0; i < p->nlines; i++)
		n += p->lines[i].n;
	ss_nest_init(&c.scopes, false, n);
	ss_nest_init(&c.ops, false, n);
	ss_nest_init(&c.sources, false, n);
	c.scopes.ruled[0] = &c.ops;
	bool ok = ss_deriver_init(&c.d, h, &p->base, arena);
	c.offload = ok ? ss_offload_new(&c.d, p) : NULL;
	ok = c.offload && read_metas(&c) && add_events(&c) && add_lines(&c) && ss_offload_finish(c.offload);
	ss_offload_free(c.offload);
	ss_nest_free(&c.scopes);
	ss_nest_free(&c.ops);
	ss_nest_free(&c.sources);
	ss_deriver_free(&c.d);
	return ok || ss_fail_mem(err);
}
