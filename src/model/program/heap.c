/*
 * heap.c - playing heap simulator traces.
 *
 * Buffers that share memory form chains that end in the owner, the root; references are counted at
 * the root. Who lives at the peak is known only when the peak is, so each stay in memory is
 * recorded with its begin and end, instead of copying the list of the living at every new maximum.
 */
#include "model/program/heap.h"

struct stay {
	uint32_t buffer, shown;
	uint32_t begin, end;	/* numbers of events; end SS_NONE: never freed */
	uint32_t before;	/* the buffer's stay before that is not over either, SS_NONE: none */
};

struct player {
	struct ss_heap *h;
	const struct ss_hlo_buffers *b;
	struct ss_arena *arena;
	uint32_t *canonical;	/* by buffer: with whom it shares, SS_NONE: it has its own */
	int64_t *refs;		/* by root */
	uint32_t *shown;	/* by root: the last that revived it */
	uint32_t *open;		/* by root: its last stay that is not over */
	struct stay *stays;
	uint32_t nstays;
	uint32_t alloc;		/* of the buffer seen last; SS_NONE: none was */
	uint32_t k;		/* number of the event */
	uint64_t steps_left;	/* that following chains may take */
	int64_t bytes, unpadded_bytes;
};

/* The largest temporary allocation of this memory space that has a trace. */
static uint32_t trace_of_largest(const struct ss_hlo_buffers *b, int64_t space)
{
	uint32_t best = SS_NONE;
	for (uint32_t i = 0; i < b->nallocs; i++) {
		const struct ss_hlo_alloc *a = &b->allocs[i];
		if (a->memory_space == space && a->trace != SS_NONE && !ss_hlo_alloc_is_indefinite(a) &&
		    (best == SS_NONE || a->size_bytes > b->allocs[best].size_bytes))
			best = i;
	}
	return best == SS_NONE ? SS_NONE : b->allocs[best].trace;
}

static uint32_t trace_with_most_events(const struct ss_hlo_buffers *b, int64_t space)
{
	uint32_t best = SS_NONE, max = 0;
	for (uint32_t i = 0; i < b->ntraces; i++) {
		struct ss_hlo_trace_walk w = ss_hlo_trace_of(b, &b->traces[i]);
		struct ss_hlo_trace_event e;
		uint32_t n = 0;
		while (ss_hlo_trace_next(&w, &e))
			n += e.buffer != SS_NONE && b->buffers[e.buffer].memory_space == space;
		if (n > max) {
			max = n;
			best = i;
		}
	}
	return best;
}

static uint32_t *filled(struct ss_arena *arena, uint32_t n)
{
	uint32_t *v = SS_NEW_N(arena, uint32_t, n);
	for (uint32_t i = 0; v && i < n; i++)
		v[i] = SS_NONE;
	return v;
}

static bool make_room(struct player *p)
{
	struct ss_heap *h = p->h;
	uint32_t n = p->b->nbuffers;
	h->bytes = SS_NEW_N(p->arena, int64_t, (size_t)h->nevents + 1);
	h->unpadded_bytes = SS_NEW_N(p->arena, int64_t, (size_t)h->nevents + 1);
	h->instr_names = SS_NEW_N(p->arena, struct ss_str, (size_t)h->nevents + 1);
	p->stays = SS_NEW_N(p->arena, struct stay, h->nevents);
	p->refs = SS_NEW_N(p->arena, int64_t, n);
	p->canonical = filled(p->arena, n);
	p->shown = filled(p->arena, n);
	p->open = filled(p->arena, n);
	return h->bytes && h->unpadded_bytes && h->instr_names && p->stays && p->refs && p->canonical && p->shown && p->open;
}

/* The owner of a buffer's memory. A chain that leads back to itself, or nowhere in reasonable time, is no chain. */
static bool find_root(struct player *p, uint32_t buffer, uint32_t *root, struct ss_err *err)
{
	while (p->canonical[buffer] != SS_NONE) {
		if (p->steps_left-- == 0)
			return ss_fail(err, SS_EFORMAT,
				       "heap trace: buffer %lld shares memory with itself, or over too "
				       "many others",
				       (long long)p->b->buffers[buffer].id);
		buffer = p->canonical[buffer];
	}
	*root = buffer;
	return true;
}

static bool grow(struct player *p, uint32_t root, struct ss_err *err)
{
	const struct ss_hlo_buffer *b = &p->b->buffers[root];
	if (b->size_bytes < 0 || __builtin_add_overflow(p->bytes, b->size_bytes, &p->bytes) ||
	    __builtin_add_overflow(p->unpadded_bytes, b->unpadded_bytes, &p->unpadded_bytes))
		return ss_fail(err, SS_EFORMAT, "heap trace: buffer %lld has an impossible size", (long long)b->id);
	uint32_t shown = p->shown[root] == SS_NONE ? root : p->shown[root];
	p->stays[p->nstays] = (struct stay){ root, shown, p->k, SS_NONE, p->open[root] };
	p->open[root] = p->nstays++;
	return true;
}

static void begin_span(struct player *p, uint32_t buffer)
{
	p->h->span_begin[buffer] = p->k;
	p->h->span_end[buffer] = p->h->nevents - 1;
}

static bool share(struct player *p, uint32_t buffer, uint32_t canonical, struct ss_err *err)
{
	uint32_t root;
	p->canonical[buffer] = canonical;
	if (!find_root(p, canonical, &root, err))
		return false;
	if (++p->refs[root] != 1)
		return true;
	/* The memory had been freed already: it comes back under the new name. */
	p->shown[root] = buffer;
	begin_span(p, buffer);
	return grow(p, root, err);
}

static bool drop(struct player *p, uint32_t buffer, struct ss_err *err)
{
	struct ss_heap *h = p->h;
	uint32_t root;
	if (!find_root(p, buffer, &root, err))
		return false;
	if (--p->refs[root] < 0)
		return ss_fail(err, SS_EFORMAT, "heap trace: buffer %lld is freed more often than it is allocated",
			       (long long)p->b->buffers[buffer].id);
	if (p->refs[root] == 0) {
		p->bytes -= p->b->buffers[root].size_bytes;
		p->unpadded_bytes -= p->b->buffers[root].unpadded_bytes;
		if (p->bytes < 0)
			return ss_fail(err, SS_EFORMAT, "heap trace: the allocated size is negative after event %u", p->k);
		for (uint32_t s = p->open[root]; s != SS_NONE; s = p->stays[s].before)
			p->stays[s].end = p->k;
		p->open[root] = SS_NONE;
		/* A life that was over and went on under another name keeps its end. */
		if (h->span_begin[root] != SS_NONE && p->shown[root] == SS_NONE)
			h->span_end[root] = p->k;
	}
	if (buffer != root && h->span_begin[buffer] != SS_NONE)
		h->span_end[buffer] = p->k;
	return true;
}

static bool apply(struct player *p, const struct ss_hlo_trace_event *e, struct ss_err *err)
{
	if (e->buffer == SS_NONE)
		return true;
	uint32_t alloc = p->b->buffers[e->buffer].alloc;
	/* Compilers before 2019 traced several allocations of one memory together. */
	bool apart = p->alloc != SS_NONE && p->alloc != alloc;
	if (apart && (alloc == SS_NONE || p->b->allocs[p->alloc].memory_space != p->b->allocs[alloc].memory_space))
		return ss_fail(err, SS_EFORMAT, "heap trace: its buffers are in several memories");
	p->alloc = alloc;
	switch (e->kind) {
	case SS_HLO_TRACE_ALLOC:
		p->refs[e->buffer]++;
		begin_span(p, e->buffer);
		return grow(p, e->buffer, err);
	case SS_HLO_TRACE_FREE:
		return drop(p, e->buffer, err);
	case SS_HLO_TRACE_SHARE:
		return e->canonical == SS_NONE || share(p, e->buffer, e->canonical, err);
	}
	return true;
}

static void record(struct player *p, struct ss_str instr_name)
{
	p->h->bytes[p->k] = p->bytes;
	p->h->unpadded_bytes[p->k] = p->unpadded_bytes;
	p->h->instr_names[p->k] = instr_name;
}

static bool play(struct player *p, struct ss_err *err)
{
	struct ss_heap *h = p->h;
	struct ss_hlo_trace_walk w = ss_hlo_trace_of(p->b, &p->b->traces[h->trace]);
	struct ss_hlo_trace_event e;
	for (; ss_hlo_trace_next(&w, &e); p->k++) {
		record(p, e.instr_name);
		if (!apply(p, &e, err))
			return false;
		if (p->bytes > h->peak_bytes) {
			h->peak_bytes = p->bytes;
			h->peak_unpadded_bytes = p->unpadded_bytes;
			h->peak_at = p->k;
		}
	}
	record(p, SS_STR(""));
	return true;
}

static bool list_live(struct player *p)
{
	struct ss_heap *h = p->h;
	h->live = SS_NEW_N(p->arena, struct ss_heap_live, p->nstays);
	for (uint32_t i = 0; h->live && h->peak_bytes && i < p->nstays; i++) {
		const struct stay *s = &p->stays[i];
		if (s->begin <= h->peak_at && (s->end == SS_NONE || s->end > h->peak_at))
			h->live[h->nlive++] = (struct ss_heap_live){ s->buffer, s->shown };
	}
	return h->live != NULL;
}

bool ss_heap_play(struct ss_heap *h, const struct ss_hlo_buffers *b, int64_t memory_space, struct ss_arena *arena,
		  struct ss_err *err)
{
	*h = (struct ss_heap){ .trace = trace_of_largest(b, memory_space) };
	h->span_begin = filled(arena, b->nbuffers);
	h->span_end = filled(arena, b->nbuffers);
	if (!h->span_begin || !h->span_end)
		return ss_fail_mem(err);
	if (h->trace == SS_NONE)
		h->trace = trace_with_most_events(b, memory_space);
	if (h->trace == SS_NONE)
		return true;
	h->nevents = b->traces[h->trace].nevents;
	struct player p = { .h = h, .b = b, .arena = arena, .alloc = SS_NONE, .steps_left = (uint64_t)h->nevents * 64 + 4096 };
	if (!make_room(&p))
		return ss_fail_mem(err);
	return play(&p, err) && (list_live(&p) || ss_fail_mem(err));
}
