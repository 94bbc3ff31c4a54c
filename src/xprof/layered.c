/* layered.c - layered drawing, box by box from the inside out. */
#include "xprof/layered.h"

#include <stdlib.h>
#include <string.h>

#define SWEEPS 4
#define NONE SS_LAYERED_NONE

/* Items of one box: its nodes, then the boxes in it. An item is a node's index, or nnodes + a box's. */
struct item {
	uint32_t what;
	uint32_t layer;
	uint32_t in, out;	/* edges */
	double place;		/* for sorting in a layer */
	double x;		/* of the middle */
};

struct link {
	uint32_t from, to;	/* items of this level */
};

struct level {
	struct ss_layered *g;
	uint32_t box;		/* whose inside this is, NONE: the whole drawing */
	struct item *items;
	uint32_t nitems;
	struct link *links;
	uint32_t nlinks;
	uint32_t *out_first, *out; /* links by their beginning */
	uint32_t *order;	/* items by layer, then by place */
	uint32_t nlayers;
};

static struct ss_layered_node *node_of(struct ss_layered *g, uint32_t what)
{
	return what < g->nnodes ? &g->nodes[what] : &g->boxes[what - g->nnodes];
}

/* Kahn's order; what stands in a circle is put into the layer that it was pushed to so far. */
static bool find_layers(struct level *l)
{
	uint32_t *queue = malloc(((size_t)l->nitems + 1) * sizeof(*queue)), head = 0, tail = 0;
	uint32_t *left = calloc((size_t)l->nitems + 1, sizeof(*left));
	bool ok = queue && left;
	for (uint32_t i = 0; ok && i < l->nitems; i++) {
		left[i] = l->items[i].in;
		if (!left[i])
			queue[tail++] = i;
	}
	for (uint32_t stuck = 0; ok && (head < tail || stuck < l->nitems);) {
		if (head == tail) {
			/* Only circles are left: open one. */
			while (stuck < l->nitems && left[stuck] == 0)
				stuck++;
			if (stuck == l->nitems)
				break;
			left[stuck] = 0;
			queue[tail++] = stuck;
		}
		uint32_t i = queue[head++];
		for (uint32_t k = l->out_first[i]; k < l->out_first[i + 1]; k++) {
			uint32_t to = l->links[l->out[k]].to;
			if (!left[to])
				continue;
			if (l->items[to].layer < l->items[i].layer + 1)
				l->items[to].layer = l->items[i].layer + 1;
			if (--left[to] == 0)
				queue[tail++] = to;
		}
	}
	for (uint32_t i = 0; ok && i < l->nitems; i++)
		if (l->items[i].layer + 1 > l->nlayers)
			l->nlayers = l->items[i].layer + 1;
	free(queue);
	free(left);
	return ok;
}

struct key {
	uint32_t item, layer;
	double place;
};

static int by_place(const void *a, const void *b)
{
	const struct key *ka = a, *kb = b;
	if (ka->layer != kb->layer)
		return ka->layer < kb->layer ? -1 : 1;
	if (ka->place < kb->place || ka->place > kb->place)
		return ka->place < kb->place ? -1 : 1;
	return ka->item < kb->item ? -1 : ka->item > kb->item;
}

static bool sort_layers(struct level *l)
{
	struct key *keys = malloc(((size_t)l->nitems + 1) * sizeof(*keys));
	if (!keys)
		return false;
	for (uint32_t i = 0; i < l->nitems; i++)
		keys[i] = (struct key){ i, l->items[i].layer, l->items[i].place };
	qsort(keys, l->nitems, sizeof(*keys), by_place);
	for (uint32_t i = 0; i < l->nitems; i++)
		l->order[i] = keys[i].item;
	free(keys);
	return true;
}

/* Side by side in their order, each layer centred. */
static void line_up(struct level *l)
{
	for (uint32_t i = 0; i < l->nitems;) {
		uint32_t end = i, layer = l->items[l->order[i]].layer;
		double w = -l->g->gap, x;
		for (; end < l->nitems && l->items[l->order[end]].layer == layer; end++)
			w += node_of(l->g, l->items[l->order[end]].what)->w + l->g->gap;
		x = -w / 2;
		for (; i < end; i++) {
			struct item *item = &l->items[l->order[i]];
			double own = node_of(l->g, item->what)->w;
			item->x = x + own / 2;
			x += own + l->g->gap;
		}
	}
}

/* The mean middle of those above (or below) becomes the wish. */
static bool wish(struct level *l, bool from_above)
{
	double *sum = calloc((size_t)l->nitems + 1, sizeof(*sum));
	uint32_t *n = calloc((size_t)l->nitems + 1, sizeof(*n));
	bool ok = sum && n;
	for (uint32_t k = 0; ok && k < l->nlinks; k++) {
		uint32_t to = from_above ? l->links[k].to : l->links[k].from;
		uint32_t from = from_above ? l->links[k].from : l->links[k].to;
		sum[to] += l->items[from].x;
		n[to]++;
	}
	for (uint32_t i = 0; ok && i < l->nitems; i++)
		l->items[i].place = n[i] ? sum[i] / n[i] : l->items[i].x;
	free(sum);
	free(n);
	return ok;
}

/* Towards the wishes as far as the neighbours in the layer let go: first to the right, then back to the left. */
static void settle(struct level *l)
{
	for (uint32_t i = 0; i < l->nitems;) {
		uint32_t end = i, layer = l->items[l->order[i]].layer;
		while (end < l->nitems && l->items[l->order[end]].layer == layer)
			end++;
		double shift = 0, edge = -1e300;
		for (uint32_t k = i; k < end; k++) {
			struct item *item = &l->items[l->order[k]];
			double half = node_of(l->g, item->what)->w / 2;
			item->x = item->place - half < edge ? edge + half : item->place;
			edge = item->x + half + l->g->gap;
			shift += item->place - item->x;
		}
		/* Being pushed only to the right, the layer as a whole stands too far there. */
		shift /= end - i;
		for (; i < end; i++)
			l->items[l->order[i]].x += shift;
	}
}

static void measure(struct level *l)
{
	struct ss_layered *g = l->g;
	double left = 1e300, right = -1e300, y = l->box == NONE ? g->gap : g->title_h + g->gap / 2;
	for (uint32_t i = 0; i < l->nitems; i++) {
		double half = node_of(g, l->items[i].what)->w / 2;
		left = l->items[i].x - half < left ? l->items[i].x - half : left;
		right = l->items[i].x + half > right ? l->items[i].x + half : right;
	}
	for (uint32_t i = 0; i < l->nitems;) {
		uint32_t layer = l->items[l->order[i]].layer, end = i;
		double h = 0;
		for (; end < l->nitems && l->items[l->order[end]].layer == layer; end++) {
			double own = node_of(g, l->items[l->order[end]].what)->h;
			h = own > h ? own : h;
		}
		for (; i < end; i++) {
			struct ss_layered_node *n = node_of(g, l->items[l->order[i]].what);
			n->x = l->items[l->order[i]].x - n->w / 2 - left + g->gap;
			n->y = y + (h - n->h) / 2;
		}
		y += h + 2 * g->gap;
	}
	double w = l->nitems ? right - left + 2 * g->gap : 2 * g->gap, h = y - g->gap;
	if (l->box == NONE) {
		g->w = w;
		g->h = h;
	} else {
		g->boxes[l->box].w = w > g->boxes[l->box].w ? w : g->boxes[l->box].w;
		g->boxes[l->box].h = h;
	}
}

static bool index_links(struct level *l)
{
	uint32_t *at = calloc((size_t)l->nitems + 1, sizeof(*at)), sum = 0;
	l->out_first = calloc((size_t)l->nitems + 2, sizeof(*l->out_first));
	l->out = calloc((size_t)l->nlinks + 1, sizeof(*l->out));
	bool ok = at && l->out_first && l->out;
	for (uint32_t k = 0; ok && k < l->nlinks; k++) {
		l->items[l->links[k].from].out++;
		l->items[l->links[k].to].in++;
	}
	for (uint32_t i = 0; ok && i < l->nitems; i++) {
		l->out_first[i] = at[i] = sum;
		sum += l->items[i].out;
	}
	if (ok)
		l->out_first[l->nitems] = sum;
	for (uint32_t k = 0; ok && k < l->nlinks; k++)
		l->out[at[l->links[k].from]++] = k;
	free(at);
	return ok;
}

static bool place_level(struct level *l)
{
	l->order = calloc((size_t)l->nitems + 1, sizeof(*l->order));
	bool ok = l->order && index_links(l) && find_layers(l);
	for (uint32_t i = 0; ok && i < l->nitems; i++)
		l->items[i].place = i;
	ok = ok && sort_layers(l);
	if (ok)
		line_up(l);
	for (int s = 0; ok && s < SWEEPS; s++) {
		ok = wish(l, s % 2 == 0) && sort_layers(l);
		if (ok)
			line_up(l);
	}
	for (int s = 0; ok && s < SWEEPS; s++) {
		ok = wish(l, s % 2 == 1);
		if (ok)
			settle(l);
	}
	if (ok)
		measure(l);
	free(l->order);
	free(l->out_first);
	free(l->out);
	return ok;
}

/* Items and links of all levels, grouped by the box they stand in (the last group: in none). */
struct groups {
	struct item *items;
	struct link *links;
	uint32_t *item_first, *link_first; /* by group */
	uint32_t *item_of;	/* by what: its number in its group */
	uint32_t *depth;	/* by box: 1 for outermost */
};

static uint32_t group_of(const struct ss_layered *g, uint32_t box)
{
	return box == NONE ? g->nboxes : box;
}

static uint32_t depth_of(const struct ss_layered *g, const struct groups *s, uint32_t what)
{
	uint32_t box = what < g->nnodes ? g->nodes[what].box : g->boxes[what - g->nnodes].box;
	return box == NONE ? 0 : s->depth[box];
}

static uint32_t parent_of(const struct ss_layered *g, uint32_t what)
{
	return what < g->nnodes ? g->nodes[what].box : g->boxes[what - g->nnodes].box;
}

/* Both ends are lifted into the innermost box that holds both. False if they are the same then. */
static bool lift(const struct ss_layered *g, const struct groups *s, struct ss_layered_edge e, uint32_t *from, uint32_t *to)
{
	uint32_t a = e.from, b = e.to, da = depth_of(g, s, a), db = depth_of(g, s, b);
	for (; da > db; da--)
		a = g->nnodes + parent_of(g, a);
	for (; db > da; db--)
		b = g->nnodes + parent_of(g, b);
	while (parent_of(g, a) != parent_of(g, b)) {
		a = g->nnodes + parent_of(g, a);
		b = g->nnodes + parent_of(g, b);
	}
	*from = a;
	*to = b;
	return a != b;
}

static void fill_items(const struct ss_layered *g, struct groups *s, uint32_t *at)
{
	uint32_t total = g->nnodes + g->nboxes;
	for (uint32_t i = 0; i < total; i++)
		s->item_first[group_of(g, parent_of(g, i)) + 1]++;
	for (uint32_t i = 0; i <= g->nboxes; i++)
		s->item_first[i + 1] += s->item_first[i];
	for (uint32_t i = 0; i < total; i++) {
		uint32_t group = group_of(g, parent_of(g, i));
		s->item_of[i] = at[group]++;
		s->items[s->item_first[group] + s->item_of[i]] = (struct item){ .what = i };
	}
}

static void fill_links(const struct ss_layered *g, struct groups *s, uint32_t *at)
{
	uint32_t a, b;
	for (uint32_t k = 0; k < g->nedges; k++)
		if (lift(g, s, g->edges[k], &a, &b))
			s->link_first[group_of(g, parent_of(g, a)) + 1]++;
	for (uint32_t i = 0; i <= g->nboxes; i++)
		s->link_first[i + 1] += s->link_first[i];
	memset(at, 0, ((size_t)g->nboxes + 1) * sizeof(*at));
	for (uint32_t k = 0; k < g->nedges; k++) {
		if (!lift(g, s, g->edges[k], &a, &b))
			continue;
		uint32_t group = group_of(g, parent_of(g, a));
		s->links[s->link_first[group] + at[group]++] = (struct link){ s->item_of[a], s->item_of[b] };
	}
}

/* From the inside out: boxes stand behind those they stand in. Then their places are added up from the outside in. */
static bool place_groups(struct ss_layered *g, struct groups *s)
{
	for (uint32_t k = 0; k <= g->nboxes; k++) {
		uint32_t group = k == g->nboxes ? g->nboxes : g->nboxes - 1 - k;
		struct level l = { .g = g, .box = group == g->nboxes ? NONE : group };
		l.items = s->items + s->item_first[group];
		l.nitems = s->item_first[group + 1] - s->item_first[group];
		l.links = s->links + s->link_first[group];
		l.nlinks = s->link_first[group + 1] - s->link_first[group];
		if (!place_level(&l))
			return false;
	}
	for (uint32_t i = 0; i < g->nboxes + g->nnodes; i++) {
		struct ss_layered_node *n = i < g->nboxes ? &g->boxes[i] : &g->nodes[i - g->nboxes];
		if (n->box != NONE) {
			n->x += g->boxes[n->box].x;
			n->y += g->boxes[n->box].y;
		}
	}
	return true;
}

bool ss_layered_place(struct ss_layered *g)
{
	struct groups s = { 0 };
	uint32_t total = g->nnodes + g->nboxes;
	uint32_t *at = calloc((size_t)g->nboxes + 1, sizeof(*at));
	s.items = calloc((size_t)total + 1, sizeof(*s.items));
	s.links = calloc((size_t)g->nedges + 1, sizeof(*s.links));
	s.item_first = calloc((size_t)g->nboxes + 2, sizeof(*s.item_first));
	s.link_first = calloc((size_t)g->nboxes + 2, sizeof(*s.link_first));
	s.item_of = calloc((size_t)total + 1, sizeof(*s.item_of));
	s.depth = calloc((size_t)g->nboxes + 1, sizeof(*s.depth));
	bool ok = at && s.items && s.links && s.item_first && s.link_first && s.item_of && s.depth;
	if (ok) {
		for (uint32_t i = 0; i < g->nboxes; i++)
			s.depth[i] = g->boxes[i].box == NONE ? 1 : s.depth[g->boxes[i].box] + 1;
		fill_items(g, &s, at);
		fill_links(g, &s, at);
		ok = place_groups(g, &s);
	}
	free(at);
	free(s.items);
	free(s.links);
	free(s.item_first);
	free(s.link_first);
	free(s.item_of);
	free(s.depth);
	return ok;
}
