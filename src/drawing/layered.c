/* layered.c - layered drawing, box by box from the inside out. */
#include "drawing/level.h"

#include "base/assert.h"
#include "base/map.h"

#include <stdlib.h>

/* Edges over several layers keep at most so many places free; further ones are drawn straight. */
#define MOST_PLACES 30000

/* An edge, and what its ends stand in: nodes, or nnodes + a box. */
struct lifted {
	uint32_t edge, from, to;
	uint32_t link;		/* of the level */
};

/* The nodes of each box and the edges between them. The last group is outside of all boxes. */
struct groups {
	struct ss_layered *g;
	struct ss_arena *arena, *points;
	uint32_t *depth;	/* by box: 1 for outermost */
	uint32_t *item_first, *items; /* by group: nodes, and nnodes + boxes */
	uint32_t *edge_first;
	struct lifted *edges;
	uint32_t *item_of;	/* by what: its number in its group */
	uint32_t *box_of;	/* by edge: the box that its points between the ends are counted from */
	uint32_t places;	/* left for the whole drawing */
};

static struct ss_layered_node *node_of(const struct ss_layered *g, uint32_t what)
{
	return what < g->nnodes ? &g->nodes[what] : &g->boxes[what - g->nnodes];
}

static uint32_t group_of(const struct ss_layered *g, uint32_t what)
{
	uint32_t box = node_of(g, what)->box;
	return box == SS_LAYERED_NONE ? g->nboxes : box;
}

static uint32_t depth_of(const struct groups *s, uint32_t what)
{
	uint32_t box = node_of(s->g, what)->box;
	return box == SS_LAYERED_NONE ? 0 : s->depth[box];
}

static uint32_t outwards(const struct ss_layered *g, uint32_t what)
{
	return g->nnodes + node_of(g, what)->box;
}

/* Both ends are lifted into the innermost box that holds both. False if they are the same then. */
static bool lift(const struct groups *s, uint32_t edge, struct lifted *out)
{
	uint32_t a = s->g->edges[edge].from, b = s->g->edges[edge].to, da = depth_of(s, a), db = depth_of(s, b);
	for (; da > db; da--)
		a = outwards(s->g, a);
	for (; db > da; db--)
		b = outwards(s->g, b);
	while (node_of(s->g, a)->box != node_of(s->g, b)->box) {
		a = outwards(s->g, a);
		b = outwards(s->g, b);
	}
	*out = (struct lifted){ edge, a, b, 0 };
	return a != b;
}

static bool group_items(struct groups *s)
{
	struct ss_layered *g = s->g;
	uint32_t n = g->nnodes + g->nboxes;
	s->depth = SS_NEW_N(s->arena, uint32_t, (size_t)g->nboxes + 1);
	s->item_first = SS_NEW_N(s->arena, uint32_t, (size_t)g->nboxes + 3);
	s->items = SS_NEW_N(s->arena, uint32_t, (size_t)n + 1);
	s->item_of = SS_NEW_N(s->arena, uint32_t, (size_t)n + 1);
	if (!s->depth || !s->item_first || !s->items || !s->item_of)
		return false;
	for (uint32_t i = 0; i < g->nboxes; i++) {
		ss_assert(g->boxes[i].box == SS_LAYERED_NONE || g->boxes[i].box < i);
		s->depth[i] = g->boxes[i].box == SS_LAYERED_NONE ? 1 : s->depth[g->boxes[i].box] + 1;
	}
	/* One further, so that filling leaves the beginnings. */
	for (uint32_t i = 0; i < n; i++)
		s->item_first[group_of(g, i) + 2]++;
	for (uint32_t i = 1; i <= g->nboxes + 1; i++)
		s->item_first[i + 1] += s->item_first[i];
	for (uint32_t i = 0; i < n; i++)
		s->items[s->item_first[group_of(g, i) + 1]++] = i;
	for (uint32_t i = 0; i < n; i++)
		s->item_of[s->items[i]] = i - s->item_first[group_of(g, s->items[i])];
	return true;
}

static bool group_edges(struct groups *s)
{
	struct ss_layered *g = s->g;
	struct lifted e;
	s->edge_first = SS_NEW_N(s->arena, uint32_t, (size_t)g->nboxes + 3);
	s->edges = SS_NEW_N(s->arena, struct lifted, (size_t)g->nedges + 1);
	s->box_of = SS_NEW_N(s->arena, uint32_t, (size_t)g->nedges + 1);
	if (!s->edge_first || !s->edges || !s->box_of)
		return false;
	for (uint32_t i = 0; i < g->nedges; i++)
		if (lift(s, i, &e))
			s->edge_first[group_of(g, e.from) + 2]++;
	for (uint32_t i = 1; i <= g->nboxes + 1; i++)
		s->edge_first[i + 1] += s->edge_first[i];
	for (uint32_t i = 0; i < g->nedges; i++)
		if (lift(s, i, &e))
			s->edges[s->edge_first[group_of(g, e.from) + 1]++] = e;
	return true;
}

/* Edges between the same two items are one link. */
static bool make_links(const struct groups *s, struct ss_level *l, struct lifted *edges, uint32_t n)
{
	struct ss_u64map known = { 0 };
	bool ok = true;
	for (uint32_t i = 0; ok && i < n; i++) {
		uint32_t from = s->item_of[edges[i].from], to = s->item_of[edges[i].to];
		edges[i].link = ss_u64map_add(&known, (uint64_t)from << 32 | to, l->nlinks);
		if (edges[i].link == l->nlinks)
			l->links[l->nlinks++] = (struct ss_level_link){ .from = from, .to = to };
		ok = edges[i].link != SS_NONE;
	}
	ss_u64map_free(&known);
	return ok;
}

/* The points of an edge; those between its ends are where the places are: through the height of every layer in between. */
static bool make_points(struct groups *s, const struct ss_level *l, uint32_t group, const struct lifted *e)
{
	struct ss_layered_edge *edge = &s->g->edges[e->edge];
	const struct ss_level_link *k = &l->links[e->link];
	edge->npoints = 2 + 2 * k->nplaces;
	edge->points = SS_NEW_N(s->points, double, 2 * (size_t)edge->npoints);
	if (!edge->points)
		return false;
	double *p = edge->points + 2;
	for (uint32_t i = k->first_place; i < k->first_place + k->nplaces; i++, p += 4) {
		const struct ss_level_item *it = &l->items[i];
		p[0] = p[2] = it->x + it->w / 2;
		p[1] = it->y;
		p[3] = it->y + l->layer_height[it->layer];
	}
	s->box_of[e->edge] = group == s->g->nboxes ? SS_LAYERED_NONE : group;
	return true;
}

static void enlarge(struct ss_layered *g, uint32_t group, double w, double h)
{
	if (group == g->nboxes) {
		g->w = w;
		g->h = h;
		return;
	}
	struct ss_layered_node *b = &g->boxes[group];
	w += 2 * g->spacing.pad;
	b->w = w > b->w ? w : b->w;
	b->h = h + g->spacing.title + g->spacing.pad;
}

static bool place_group(struct groups *s, uint32_t group)
{
	struct ss_layered *g = s->g;
	const uint32_t *whats = s->items + s->item_first[group];
	struct lifted *edges = s->edges + s->edge_first[group];
	uint32_t nedges = s->edge_first[group + 1] - s->edge_first[group];
	struct ss_level l = { .arena = s->arena, .nitems = s->item_first[group + 1] - s->item_first[group] };
	l.items = SS_NEW_N(s->arena, struct ss_level_item, (size_t)l.nitems + 1);
	l.links = SS_NEW_N(s->arena, struct ss_level_link, (size_t)nedges + 1);
	if (!l.items || !l.links || !make_links(s, &l, edges, nedges))
		return false;
	for (uint32_t i = 0; i < l.nitems; i++) {
		const struct ss_layered_node *n = node_of(g, whats[i]);
		l.items[i] = (struct ss_level_item){ .what = whats[i], .w = n->w, .h = n->h };
	}
	if (!ss_level_place(&l, &g->spacing, &s->places))
		return false;
	for (uint32_t i = 0; i < l.nitems && l.items[i].what != SS_LAYERED_NONE; i++) {
		struct ss_layered_node *n = node_of(g, l.items[i].what);
		n->x = l.items[i].x;
		n->y = l.items[i].y;
	}
	for (uint32_t i = 0; i < nedges; i++)
		if (!make_points(s, &l, group, &edges[i]))
			return false;
	enlarge(g, group, l.w, l.h);
	return true;
}

/* Boxes were laid out each from 0, 0: the outer ones first, the others move with them. */
static void move_inside(struct ss_layered *g)
{
	for (uint32_t i = 0; i < g->nboxes + g->nnodes; i++) {
		struct ss_layered_node *n = i < g->nboxes ? &g->boxes[i] : &g->nodes[i - g->nboxes];
		if (n->box == SS_LAYERED_NONE)
			continue;
		n->x += g->boxes[n->box].x + g->spacing.pad;
		n->y += g->boxes[n->box].y + g->spacing.title;
	}
}

static bool end_points(struct groups *s)
{
	struct ss_layered *g = s->g;
	for (uint32_t i = 0; i < g->nedges; i++) {
		struct ss_layered_edge *e = &g->edges[i];
		const struct ss_layered_node *from = &g->nodes[e->from], *to = &g->nodes[e->to];
		if (!e->npoints) {
			/* From a node to itself. */
			e->npoints = 2;
			e->points = SS_NEW_N(s->points, double, 4);
		}
		if (!e->points)
			return false;
		bool moved = e->npoints > 2 && s->box_of[i] != SS_LAYERED_NONE;
		const struct ss_layered_node *box = moved ? &g->boxes[s->box_of[i]] : NULL;
		for (uint32_t k = 1; box && k + 1 < e->npoints; k++) {
			e->points[2 * k] += box->x + g->spacing.pad;
			e->points[2 * k + 1] += box->y + g->spacing.title;
		}
		double *last = e->points + 2 * (e->npoints - 1);
		e->points[0] = from->x + from->w / 2;
		e->points[1] = from->y + from->h;
		last[0] = to->x + to->w / 2;
		last[1] = to->y;
	}
	return true;
}

struct end {
	uint32_t node, edge;
	double toward;		/* where the edge comes from, or goes to */
};

static int by_node_then_toward(const void *a, const void *b)
{
	const struct end *x = a, *y = b;
	return SS_CMP(x->node, y->node) ?: SS_CMP(x->toward, y->toward) ?: SS_CMP(x->edge, y->edge);
}

/* Edges that begin (or end) at one node share its side, in the order of where they go to (or come from). */
static bool spread(struct groups *s, bool begins)
{
	struct ss_layered *g = s->g;
	struct end *v = SS_NEW_N(s->arena, struct end, (size_t)g->nedges + 1);
	if (!v)
		return false;
	for (uint32_t i = 0; i < g->nedges; i++) {
		const struct ss_layered_edge *e = &g->edges[i];
		v[i] = (struct end){ begins ? e->from : e->to, i, e->points[begins ? 2 : 2 * (e->npoints - 2)] };
	}
	if (g->nedges)
		qsort(v, g->nedges, sizeof(*v), by_node_then_toward);
	for (uint32_t from = 0, to; from < g->nedges; from = to) {
		const struct ss_layered_node *n = &g->nodes[v[from].node];
		for (to = from + 1; to < g->nedges && v[to].node == v[from].node; to++)
			;
		double share = to - from, room = n->w * 0.8 < share * 40 ? n->w * 0.8 : share * 40;
		for (uint32_t i = from; i < to && to - from > 1; i++) {
			struct ss_layered_edge *e = &g->edges[v[i].edge];
			e->points[begins ? 0 : 2 * (e->npoints - 1)] = n->x + n->w / 2 + room * ((i - from + 0.5) / share - 0.5);
		}
	}
	return true;
}

bool ss_layered_place(struct ss_layered *g, struct ss_arena *arena)
{
	struct ss_arena scratch = { 0 };
	struct groups s = { .g = g, .arena = &scratch, .points = arena, .places = MOST_PLACES };
	for (uint32_t i = 0; i < g->nedges; i++) {
		ss_assert(g->edges[i].from < g->nnodes && g->edges[i].to < g->nnodes);
		g->edges[i].npoints = 0;
	}
	bool ok = group_items(&s) && group_edges(&s);
	for (uint32_t k = 0; ok && k <= g->nboxes; k++)
		ok = place_group(&s, k == g->nboxes ? g->nboxes : g->nboxes - 1 - k);
	if (ok)
		move_inside(g);
	ok = ok && end_points(&s) && spread(&s, true) && spread(&s, false);
	ss_arena_release(&scratch);
	return ok;
}
