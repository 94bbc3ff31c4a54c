/* level.c - see level.h. */
#include "drawing/level.h"

#include "base/assert.h"

#include <stdlib.h>

#define SWEEPS 8
#define PLACE_WIDTH 6
#define PLACE_WEIGHT 4	/* the way of a long edge should be straight */

/* --- layers ------------------------------------------------------------------------------------ */

/* Links by the item that they begin at: out[first[i]..first[i + 1]). */
struct by_begin {
	uint32_t *first, *out;
};

static bool sort_links(const struct ss_level *l, struct by_begin *b)
{
	b->first = SS_NEW_N(l->arena, uint32_t, (size_t)l->nitems + 2);
	b->out = SS_NEW_N(l->arena, uint32_t, (size_t)l->nlinks + 1);
	if (!b->first || !b->out)
		return false;
	/* One further, so that filling leaves the beginnings. */
	for (uint32_t k = 0; k < l->nlinks; k++)
		b->first[l->links[k].from + 2]++;
	for (uint32_t i = 1; i <= l->nitems; i++)
		b->first[i + 1] += b->first[i];
	for (uint32_t k = 0; k < l->nlinks; k++)
		b->out[b->first[l->links[k].from + 1]++] = k;
	return true;
}

/* Kahn's order; a circle is opened at its first item, and its edge back is drawn upwards. */
static void order_layers(struct ss_level *l, const struct by_begin *b, uint32_t *left, uint32_t *queue)
{
	uint32_t head = 0, tail = 0, stuck = 0;
	for (uint32_t k = 0; k < l->nlinks; k++)
		left[l->links[k].to]++;
	for (uint32_t i = 0; i < l->nitems; i++)
		if (!left[i])
			queue[tail++] = i;
	for (;; head++) {
		if (head == tail) {
			while (stuck < l->nitems && !left[stuck])
				stuck++;
			if (stuck == l->nitems)
				break;
			left[stuck] = 0;
			queue[tail++] = stuck;
		}
		uint32_t i = queue[head];
		for (uint32_t k = b->first[i]; k < b->first[i + 1]; k++) {
			uint32_t to = l->links[b->out[k]].to;
			if (!left[to])
				continue;
			if (l->items[to].layer < l->items[i].layer + 1)
				l->items[to].layer = l->items[i].layer + 1;
			if (--left[to] == 0)
				queue[tail++] = to;
		}
	}
}

/* A node without incoming edges is placed directly above its first user. */
static void lower_sources(struct ss_level *l, const struct by_begin *b, uint32_t *fed)
{
	for (uint32_t k = 0; k < l->nlinks; k++)
		fed[l->links[k].to] = 1;
	for (uint32_t i = 0; i < l->nitems; i++) {
		uint32_t next = UINT32_MAX;
		for (uint32_t k = b->first[i]; k < b->first[i + 1]; k++) {
			uint32_t layer = l->items[l->links[b->out[k]].to].layer;
			next = layer < next ? layer : next;
		}
		if (!fed[i] && next != UINT32_MAX)
			l->items[i].layer = next ? next - 1 : 0;
	}
}

static bool find_layers(struct ss_level *l)
{
	struct by_begin b;
	uint32_t *left = SS_NEW_N(l->arena, uint32_t, (size_t)l->nitems + 1);
	uint32_t *queue = SS_NEW_N(l->arena, uint32_t, (size_t)l->nitems + 1);
	uint32_t *fed = SS_NEW_N(l->arena, uint32_t, (size_t)l->nitems + 1);
	if (!left || !queue || !fed || !sort_links(l, &b))
		return false;
	order_layers(l, &b, left, queue);
	lower_sources(l, &b, fed);
	for (uint32_t i = 0; i < l->nitems; i++)
		if (l->items[i].layer + 1 > l->nlayers)
			l->nlayers = l->items[i].layer + 1;
	return true;
}

/* --- places on long edges ---------------------------------------------------------------------- */

struct segment {
	uint32_t from, to;	/* items of neighbouring layers, or of further ones where no places were left */
};

/* Upwards lead the edges that close a circle: nothing is kept free for them. */
static bool leads_down(const struct ss_level *l, const struct ss_level_link *k)
{
	return l->items[k->to].layer > l->items[k->from].layer;
}

static uint32_t count_places(struct ss_level *l, uint32_t *places, uint32_t *nsegments)
{
	uint32_t n = l->nitems;
	for (uint32_t i = 0; i < l->nlinks; i++) {
		struct ss_level_link *k = &l->links[i];
		if (!leads_down(l, k))
			continue;
		uint32_t between = l->items[k->to].layer - l->items[k->from].layer - 1;
		k->first_place = n;
		k->nplaces = between <= *places ? between : 0;
		*places -= k->nplaces;
		n += k->nplaces;
		*nsegments += k->nplaces + 1;
	}
	return n;
}

static void make_places(struct ss_level *l, struct segment *s)
{
	for (uint32_t i = 0; i < l->nlinks; i++) {
		const struct ss_level_link *k = &l->links[i];
		uint32_t last = k->from;
		if (!leads_down(l, k))
			continue;
		for (uint32_t p = 0; p < k->nplaces; p++) {
			l->items[k->first_place + p] = (struct ss_level_item){
				.what = SS_LAYERED_NONE, .layer = l->items[k->from].layer + 1 + p, .w = PLACE_WIDTH };
			*s++ = (struct segment){ last, k->first_place + p };
			last = k->first_place + p;
		}
		*s++ = (struct segment){ last, k->to };
	}
}

/* For each item, the items at the other ends of the segments that begin (or end) at it. */
static bool list_neighbours(struct ss_level *l, const struct segment *s, uint32_t n, bool below, uint32_t **first, uint32_t **list)
{
	*first = SS_NEW_N(l->arena, uint32_t, (size_t)l->nitems + 2);
	*list = SS_NEW_N(l->arena, uint32_t, (size_t)n + 1);
	if (!*first || !*list)
		return false;
	for (uint32_t i = 0; i < n; i++)
		(*first)[(below ? s[i].from : s[i].to) + 2]++;
	for (uint32_t i = 1; i <= l->nitems; i++)
		(*first)[i + 1] += (*first)[i];
	for (uint32_t i = 0; i < n; i++)
		(*list)[(*first)[(below ? s[i].from : s[i].to) + 1]++] = below ? s[i].to : s[i].from;
	return true;
}

static bool fill_layers(struct ss_level *l)
{
	l->layer_first = SS_NEW_N(l->arena, uint32_t, (size_t)l->nlayers + 2);
	l->order = SS_NEW_N(l->arena, uint32_t, (size_t)l->nitems + 1);
	l->layer_height = SS_NEW_N(l->arena, double, (size_t)l->nlayers + 1);
	if (!l->layer_first || !l->order || !l->layer_height)
		return false;
	for (uint32_t i = 0; i < l->nitems; i++)
		l->layer_first[l->items[i].layer + 2]++;
	for (uint32_t k = 1; k <= l->nlayers; k++)
		l->layer_first[k + 1] += l->layer_first[k];
	for (uint32_t i = 0; i < l->nitems; i++) {
		struct ss_level_item *it = &l->items[i];
		l->order[l->layer_first[it->layer + 1]++] = i;
		if (it->h > l->layer_height[it->layer])
			l->layer_height[it->layer] = it->h;
	}
	for (uint32_t k = 0; k < l->nlayers; k++)
		for (uint32_t i = l->layer_first[k]; i < l->layer_first[k + 1]; i++)
			l->items[l->order[i]].rank = i - l->layer_first[k];
	return true;
}

static bool add_places(struct ss_level *l, uint32_t *places)
{
	uint32_t nsegments = 0, n = count_places(l, places, &nsegments);
	struct ss_level_item *items = SS_NEW_N(l->arena, struct ss_level_item, (size_t)n + 1);
	struct segment *s = SS_NEW_N(l->arena, struct segment, (size_t)nsegments + 1);
	if (!items || !s)
		return false;
	for (uint32_t i = 0; i < l->nitems; i++)
		items[i] = l->items[i];
	l->items = items;
	l->nitems = n;
	make_places(l, s);
	return list_neighbours(l, s, nsegments, false, &l->up_first, &l->up) &&
	       list_neighbours(l, s, nsegments, true, &l->down_first, &l->down) && fill_layers(l);
}

/* --- the order in each layer ------------------------------------------------------------------- */

struct key {
	double mean;
	uint32_t rank, item;
};

static int by_mean(const void *a, const void *b)
{
	const struct key *x = a, *y = b;
	return SS_CMP(x->mean, y->mean) ?: SS_CMP(x->rank, y->rank);
}

static void sort_layer(struct ss_level *l, uint32_t layer, const uint32_t *first, const uint32_t *list, struct key *keys)
{
	uint32_t from = l->layer_first[layer], n = l->layer_first[layer + 1] - from;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t at = l->order[from + i], k = first[at], end = first[at + 1];
		double sum = 0;
		for (; k < end; k++)
			sum += l->items[list[k]].rank;
		uint32_t of = end - first[at];
		keys[i] = (struct key){ of ? sum / of : l->items[at].rank, l->items[at].rank, at };
	}
	if (n > 1)
		qsort(keys, n, sizeof(*keys), by_mean);
	for (uint32_t i = 0; i < n; i++) {
		l->order[from + i] = keys[i].item;
		l->items[keys[i].item].rank = i;
	}
}

static bool sort_layers(struct ss_level *l)
{
	struct key *keys = SS_NEW_N(l->arena, struct key, (size_t)l->nitems + 1);
	if (!keys)
		return false;
	for (int s = 0; s < SWEEPS; s++) {
		for (uint32_t k = 0; k < l->nlayers; k++)
			sort_layer(l, k, l->up_first, l->up, keys);
		for (uint32_t k = l->nlayers; k-- > 0;)
			sort_layer(l, k, l->down_first, l->down, keys);
	}
	return true;
}

/* --- where in the layer; until measure(), x is that of the middle -------------------------------- */

struct run {
	double sum, weight;
	uint32_t n;
};

struct space {
	double *want;		/* by place in the layer */
	struct run *runs;
};

/*
 * Place nodes as near to their wanted positions as the order and the distances allow: runs that would
 * overlap are joined and placed at their mean.
 */
static void settle(struct ss_level *l, uint32_t layer, double gap, const struct space *s)
{
	uint32_t from = l->layer_first[layer], n = l->layer_first[layer + 1] - from, nruns = 0;
	double offset = 0;
	for (uint32_t i = 0; i < n; i++) {
		const struct ss_level_item *it = &l->items[l->order[from + i]];
		double weight = it->what == SS_LAYERED_NONE ? PLACE_WEIGHT : 1;
		struct run r = { (s->want[i] - offset - it->w / 2) * weight, weight, 1 };
		for (; nruns && s->runs[nruns - 1].sum / s->runs[nruns - 1].weight > r.sum / r.weight; nruns--) {
			const struct run *last = &s->runs[nruns - 1];
			r = (struct run){ r.sum + last->sum, r.weight + last->weight, r.n + last->n };
		}
		s->runs[nruns++] = r;
		offset += it->w + gap;
	}
	offset = 0;
	for (uint32_t k = 0, i = 0; k < nruns; k++)
		for (uint32_t end = i + s->runs[k].n; i < end; i++) {
			struct ss_level_item *it = &l->items[l->order[from + i]];
			it->x = s->runs[k].sum / s->runs[k].weight + offset + it->w / 2;
			offset += it->w + gap;
		}
}

/* Side by side, each layer around the same middle. */
static void line_up(struct ss_level *l, double gap)
{
	for (uint32_t k = 0; k < l->nlayers; k++) {
		double x = 0;
		for (uint32_t i = l->layer_first[k]; i < l->layer_first[k + 1]; i++) {
			struct ss_level_item *it = &l->items[l->order[i]];
			it->x = x + it->w / 2;
			x += it->w + gap;
		}
		for (uint32_t i = l->layer_first[k]; i < l->layer_first[k + 1]; i++)
			l->items[l->order[i]].x -= x / 2;
	}
}

/* The mean middle of the neighbours above, below, or on both sides. */
static double middle_of_neighbours(const struct ss_level *l, uint32_t at, bool above, bool below)
{
	double sum = 0;
	uint32_t n = 0;
	for (uint32_t k = l->up_first[at]; above && k < l->up_first[at + 1]; k++, n++)
		sum += l->items[l->up[k]].x;
	for (uint32_t k = l->down_first[at]; below && k < l->down_first[at + 1]; k++, n++)
		sum += l->items[l->down[k]].x;
	return n ? sum / n : l->items[at].x;
}

/* The node above, if each is the only neighbour of the other: chains are drawn straight. */
static double middle_of_chain(const struct ss_level *l, uint32_t at)
{
	if (l->up_first[at + 1] - l->up_first[at] != 1)
		return l->items[at].x;
	uint32_t above = l->up[l->up_first[at]];
	return l->items[l->down_first[above + 1] - l->down_first[above] == 1 ? above : at].x;
}

static bool align(struct ss_level *l, double gap)
{
	struct space s = { .want = SS_NEW_N(l->arena, double, (size_t)l->nitems + 1),
			   .runs = SS_NEW_N(l->arena, struct run, (size_t)l->nitems + 1) };
	if (!s.want || !s.runs)
		return false;
	line_up(l, gap);
	for (int turn = 0; turn <= 2 * SWEEPS; turn++) {
		bool down = turn % 2 == 0, chains = turn == 2 * SWEEPS, both = turn > SWEEPS;
		for (uint32_t k = 0; k < l->nlayers; k++) {
			uint32_t layer = down ? k : l->nlayers - 1 - k, from = l->layer_first[layer];
			for (uint32_t i = from; i < l->layer_first[layer + 1]; i++)
				s.want[i - from] = chains ? middle_of_chain(l, l->order[i])
							  : middle_of_neighbours(l, l->order[i], both || down, both || !down);
			settle(l, layer, gap, &s);
		}
	}
	return true;
}

static void measure(struct ss_level *l, double down)
{
	double left = 1e300, right = -1e300, y = 0;
	for (uint32_t i = 0; i < l->nitems; i++) {
		struct ss_level_item *it = &l->items[i];
		it->x -= it->w / 2;
		left = it->x < left ? it->x : left;
		right = it->x + it->w > right ? it->x + it->w : right;
	}
	for (uint32_t k = 0; k < l->nlayers; k++) {
		for (uint32_t i = l->layer_first[k]; i < l->layer_first[k + 1]; i++) {
			struct ss_level_item *it = &l->items[l->order[i]];
			it->x -= left;
			it->y = it->what == SS_LAYERED_NONE ? y : y + (l->layer_height[k] - it->h) / 2;
		}
		y += l->layer_height[k] + down;
	}
	l->w = l->nitems ? right - left : 0;
	l->h = l->nlayers ? y - down : 0;
}

bool ss_level_place(struct ss_level *l, const struct ss_layered_spacing *spacing, uint32_t *places)
{
	for (uint32_t k = 0; k < l->nlinks; k++)
		ss_assert(l->links[k].from < l->nitems && l->links[k].to < l->nitems && l->links[k].from != l->links[k].to);
	if (!find_layers(l) || !add_places(l, places) || !sort_layers(l) || !align(l, spacing->across))
		return false;
	measure(l, spacing->down);
	return true;
}
