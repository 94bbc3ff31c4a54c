/*
 * memory_snapshot_stacks.c - who had memory: by frame, by stack, as a tree of frames, and whose
 * memory grew.
 */
#include "base/buf.h"

#include "base/sort.h"
#include "table/cols.h"
#include "tools/memory_snapshot_rows.h"

#include <math.h>
#include <stdlib.h>

#define STACKS_MOST 1000	/* rows */
#define TEXT_MOST 4000		/* bytes of a stack */
#define NODES_MOST 5000		/* of the tree */

enum {
	W_DEVICE, W_NAME, W_PEAK, W_PEAK_BLOCKS, W_PEAK_FRAC, W_END, W_END_BLOCKS, W_ALLOCATIONS, W_SUM, W_UNFREED,
	W_UNFREED_BLOCKS, W_AGE, W_STACK, W_TEXT,
};

#define SUM_COLS												\
	INT("peak_bytes", "At the peak", BYTES, NULL),								\
	INT("peak_blocks", "Blocks at the peak", COUNT, NULL),							\
	NUM("peak_frac", "Share of the peak", FRAC, NULL),							\
	INT("end_bytes", "At the end", BYTES, NULL),								\
	INT("end_blocks", "Blocks at the end", COUNT, NULL),							\
	NUM("allocations", "Allocations", COUNT, "Among the events"),						\
	NUM("allocated_bytes", "Allocated in all", BYTES, "Bytes that these allocations " \
	    "requested"), \
	NUM("unfreed_bytes", "Not freed", BYTES, "Allocated among the events and in use at the end"),		\
	NUM("unfreed_blocks", "Blocks not freed", COUNT, NULL),							\
	NUM("oldest_age_us", "Age of the oldest", US, "Age of the oldest of these blocks at the last event")

static const struct ss_col frame_cols[] = {
	INT("device", "Device", NONE, NULL),
	STR("frame", "Frame", "file:line:function of the innermost frame of a Python file that is not part of PyTorch"),
	SUM_COLS,
};

static const struct ss_col stack_cols[] = {
	INT("device", "Device", NONE, NULL),
	STR("frame", "Frame", "Frame that names the stack: file:line:function"),
	SUM_COLS,
	ID("stack", "Number", "-1: unknown"),
	STR("frames", "Stack", "All frames, outermost first, separated by ;. A long stack is truncated"),
};

enum { GR_DEVICE, GR_FRAME, GR_Q1, GR_Q2, GR_Q3, GR_Q4, GR_GROWTH, GR_BLOCKS };

static const struct ss_col growth_cols[] = {
	INT("device", "Device", NONE, NULL),
	STR("frame", "Frame", NULL),
	INT("bytes_at_25", "At 25%", BYTES, "Memory in use after a quarter of the time"),
	INT("bytes_at_50", "At 50%", BYTES, NULL),
	INT("bytes_at_75", "At 75%", BYTES, NULL),
	INT("bytes_at_100", "At 100%", BYTES, NULL),
	INT("growth_bytes", "Growth", BYTES, "Growth from 25% to 100%; the table lists stacks that grew in every quarter"),
	INT("end_blocks", "Blocks at the end", COUNT, NULL),
};

enum { FL_DEVICE, FL_FRAME, FL_PARENT, FL_TOTAL, FL_SELF };

static const struct ss_col flame_cols[] = {
	INT("device", "Device", NONE, NULL),
	STR("frame", "Frame", "Function of the frame; the outermost frames are the roots"),
	INT("parent", "Parent", NONE, "Row of the enclosing frame; -1: a root"),
	INT("peak_bytes", "At the peak", BYTES, "Memory of the frame and of the frames below it"),
	INT("self_bytes", "Self", BYTES, "Memory of stacks that end at this frame"),
};

/* Sums of stacks, or of the frames that stacks are called by. */
struct sums {
	struct ss_snap_sum *v;
	uint32_t *which, n;	/* those that are not empty, by peak and then by what was allocated */
};

static bool by_peak(const void *sums, uint32_t i, uint32_t k)
{
	const struct ss_snap_sum *x = (const struct ss_snap_sum *)sums + i, *y = (const struct ss_snap_sum *)sums + k;
	if (x->peak_bytes != y->peak_bytes)
		return x->peak_bytes > y->peak_bytes;
	if (x->allocated_bytes != y->allocated_bytes)
		return x->allocated_bytes > y->allocated_bytes;
	return i < k;
}

static bool sort_sums(struct sums *s, size_t n)
{
	s->which = malloc((n + 1) * sizeof(*s->which));
	for (uint32_t i = 0; s->which && i < n; i++)
		if (s->v[i].peak_blocks || s->v[i].allocations || s->v[i].end_blocks)
			s->which[s->n++] = i;
	if (s->n)
		ss_sort_gnu(s->which, s->n, by_peak, s->v);
	return s->which;
}

static void free_sums(struct sums *s)
{
	free(s->v);
	free(s->which);
}

static void set_sum(struct ss_table *t, const struct ss_snap_answer *a, const struct ss_snap_device *d,
		    const struct ss_snap_sum *sum)
{
	size_t last = d->first_event + d->nevents - 1;
	ss_set_i64(t, W_DEVICE, d->device);
	ss_set_i64(t, W_PEAK, (int64_t)sum->peak_bytes);
	ss_set_i64(t, W_PEAK_BLOCKS, (int64_t)sum->peak_blocks);
	ss_set_f64(t, W_PEAK_FRAC, d->peak ? (double)sum->peak_bytes / (double)d->peak : 0);
	ss_set_i64(t, W_END, (int64_t)sum->end_bytes);
	ss_set_i64(t, W_END_BLOCKS, (int64_t)sum->end_blocks);
	ss_snap_set_pytorch(t, a, W_ALLOCATIONS, (double)sum->allocations);
	ss_snap_set_pytorch(t, a, W_SUM, (double)sum->allocated_bytes);
	ss_snap_set_pytorch(t, a, W_UNFREED, (double)sum->unfreed_bytes);
	ss_snap_set_pytorch(t, a, W_UNFREED_BLOCKS, (double)sum->unfreed_blocks);
	ss_set_f64(t, W_AGE,
		   sum->oldest ? ss_snap_since_us(a, (uint32_t)last) - ss_snap_since_us(a, sum->oldest - 1) : (double)NAN);
}

/* ---- by frame ---- */

static bool sum_frames(const struct ss_snap_answer *a, const struct ss_snap_sum *stacks, struct sums *out)
{
	size_t n = a->s->frames.n;
	out->v = calloc(n + 1, sizeof(*out->v));
	for (size_t i = 0; out->v && i <= a->s->stacks.n; i++) {
		uint32_t frame = ss_snap_frame_of(a->s, i < a->s->stacks.n ? (uint32_t)i : SS_NONE);
		struct ss_snap_sum *to = &out->v[frame == SS_NONE ? n : frame];
		const struct ss_snap_sum *from = &stacks[i];
		to->peak_bytes += from->peak_bytes;
		to->peak_blocks += from->peak_blocks;
		to->end_bytes += from->end_bytes;
		to->end_blocks += from->end_blocks;
		to->allocations += from->allocations;
		to->allocated_bytes += from->allocated_bytes;
		to->unfreed_bytes += from->unfreed_bytes;
		to->unfreed_blocks += from->unfreed_blocks;
		if (from->oldest && (!to->oldest || from->oldest < to->oldest))
			to->oldest = from->oldest;
		for (int q = 0; q < 4; q++)
			to->quarter_bytes[q] += from->quarter_bytes[q];
	}
	return out->v && sort_sums(out, n + 1);
}

static struct ss_str frame_name(const struct ss_snap_answer *a, uint32_t frame)
{
	return frame < a->s->frames.n ? ss_snap_frame_text(a, frame) : SS_STR("(no stack)");
}

static void add_frames(const struct ss_snap_answer *a, struct ss_table *t, const struct ss_snap_device *d, const struct sums *s)
{
	for (uint32_t i = 0; i < s->n && i < STACKS_MOST; i++) {
		struct ss_str name = frame_name(a, s->which[i]);
		ss_table_row(t);
		ss_set_str(t, W_NAME, name);
		set_sum(t, a, d, &s->v[s->which[i]]);
	}
}

static bool grew(const struct ss_snap_sum *s)
{
	return s->quarter_bytes[0] < s->quarter_bytes[1] && s->quarter_bytes[1] < s->quarter_bytes[2] &&
	       s->quarter_bytes[2] < s->quarter_bytes[3];
}

static bool by_growth(const void *sums, uint32_t i, uint32_t k)
{
	const struct ss_snap_sum *x = (const struct ss_snap_sum *)sums + i, *y = (const struct ss_snap_sum *)sums + k;
	uint64_t gx = x->quarter_bytes[3] - x->quarter_bytes[0], gy = y->quarter_bytes[3] - y->quarter_bytes[0];
	return gx != gy ? gx > gy : i < k;
}

static bool add_growth(const struct ss_snap_answer *a, struct ss_table *t, const struct ss_snap_device *d, const struct sums *s)
{
	uint32_t *grown = malloc((s->n + 1) * sizeof(*grown)), n = 0;
	bool ok = grown;
	for (uint32_t i = 0; ok && i < s->n; i++)
		if (grew(&s->v[s->which[i]]))
			grown[n++] = s->which[i];
	if (n)
		ss_sort_gnu(grown, n, by_growth, s->v);
	for (uint32_t i = 0; ok && i < n && i < STACKS_MOST; i++) {
		const struct ss_snap_sum *sum = &s->v[grown[i]];
		struct ss_str name = frame_name(a, grown[i]);
		ss_table_row(t);
		if (!ok)
			break;
		ss_set_i64(t, GR_DEVICE, d->device);
		ss_set_str(t, GR_FRAME, name);
		for (size_t q = 0; q < 4; q++)
			ss_set_i64(t, GR_Q1 + q, (int64_t)sum->quarter_bytes[q]);
		ss_set_i64(t, GR_GROWTH, (int64_t)(sum->quarter_bytes[3] - sum->quarter_bytes[0]));
		ss_set_i64(t, GR_BLOCKS, (int64_t)sum->end_blocks);
	}
	free(grown);
	return ok;
}

/* ---- by stack ---- */

/* "outermost;...;innermost". */
static struct ss_str stack_text(const struct ss_snap_answer *a, uint32_t stack)
{
	struct ss_buf b = { .limit_bytes = TEXT_MOST };
	const struct ss_snap_stack *k = stack < a->s->stacks.n ? &a->s->stacks.v[stack] : NULL;
	for (uint32_t i = k ? k->n : 0; i-- > 0 && !b.over;) {
		const struct ss_snap_frame *f = &a->s->frames.v[a->s->frame_ids.v[k->begin + i]];
		struct ss_str file = ss_snap_text(a->s, f->file);
		if (b.n)
			ss_buf_char(&b, ';');
		if (file.n && !ss_str_is(file, "??"))
			ss_buf_printf(&b, SS_FMT ":%lld:", SS_ARG(file), (long long)f->line);
		ss_buf_str(&b, ss_snap_text(a->s, f->name));
	}
	return ss_buf_to_arena(&b, a->arena);
}

static void add_stacks(const struct ss_snap_answer *a, struct ss_table *t, const struct ss_snap_device *d, const struct sums *s)
{
	for (uint32_t i = 0; i < s->n && i < STACKS_MOST; i++) {
		uint32_t stack = s->which[i];
		struct ss_str name = ss_snap_stack_name(a, stack), text = stack_text(a, stack);
		ss_table_row(t);
		ss_set_str(t, W_NAME, name);
		set_sum(t, a, d, &s->v[stack]);
		ss_set_i64(t, W_STACK, stack < a->s->stacks.n ? (int64_t)stack : -1);
		ss_set_str(t, W_TEXT, text);
	}
}

/* ---- the tree ---- */

struct node {
	uint32_t frame, parent;
	uint64_t total, self;
};

/*
 * Stacks with most first; when there are nodes enough, the rest of a stack counts as its last
 * node's own.
 */
static bool make_tree(const struct ss_snap_answer *a, const struct sums *s, struct node *nodes, uint32_t *nnodes)
{
	struct ss_u64map known = { 0 };
	uint32_t n = 0;
	bool ok = true;
	for (uint32_t i = 0; ok && i < s->n; i++) {
		const struct ss_snap_stack *k = s->which[i] < a->s->stacks.n ? &a->s->stacks.v[s->which[i]] : NULL;
		uint64_t bytes = s->v[s->which[i]].peak_bytes;
		uint32_t at = SS_NONE;
		for (uint32_t f = k && bytes ? k->n : 0; ok && f-- > 0;) {
			uint32_t frame = a->s->frame_ids.v[k->begin + f];
			uint64_t key = ss_mix((uint64_t)at << 32 | frame, 1);
			uint32_t next = n < NODES_MOST ? ss_u64map_add(&known, key, n) : ss_u64map_get(&known, key);
			ok = next != SS_NONE || n >= NODES_MOST;
			if (next == SS_NONE)
				break;
			if (next == n)
				nodes[n++] = (struct node){ .frame = frame, .parent = at };
			nodes[next].total += bytes;
			at = next;
		}
		if (at != SS_NONE)
			nodes[at].self += bytes;
	}
	ss_u64map_free(&known);
	*nnodes = n;
	return ok;
}

static bool add_flame(const struct ss_snap_answer *a, struct ss_table *t, const struct ss_snap_device *d, const struct sums *s)
{
	struct node *nodes = malloc(NODES_MOST * sizeof(*nodes));
	uint32_t n = 0;
	size_t first = t->nrows;
	bool ok = nodes && make_tree(a, s, nodes, &n);
	for (uint32_t i = 0; ok && i < n; i++) {
		struct ss_str name = frame_name(a, nodes[i].frame);
		ss_table_row(t);
		if (!ok)
			break;
		ss_set_i64(t, FL_DEVICE, d->device);
		ss_set_str(t, FL_FRAME, name);
		ss_set_i64(t, FL_PARENT, nodes[i].parent == SS_NONE ? -1 : (int64_t)(first + nodes[i].parent));
		ss_set_i64(t, FL_TOTAL, (int64_t)nodes[i].total);
		ss_set_i64(t, FL_SELF, (int64_t)nodes[i].self);
	}
	free(nodes);
	return ok;
}

/* ---- all of it ---- */

static bool add_device(const struct ss_snap_answer *a, const struct ss_snap_device *d)
{
	size_t nstacks = a->s->stacks.n;
	struct sums stacks = { .v = calloc(nstacks + 1, sizeof(*stacks.v)) }, frames = { 0 };
	struct ss_table *t = a->out->tables + a->out->ntables - 4;
	if (stacks.v)
		ss_snap_sum(a->s, d, stacks.v);
	bool ok = stacks.v && sort_sums(&stacks, nstacks + 1) && sum_frames(a, stacks.v, &frames);
	if (ok)
		add_frames(a, &t[0], d, &frames);
	if (ok)
		add_stacks(a, &t[1], d, &stacks);
	ok = ok && add_growth(a, &t[2], d, &frames) && add_flame(a, &t[3], d, &stacks);
	free_sums(&stacks);
	free_sums(&frames);
	return ok;
}

bool ss_snap_add_by_whom(struct ss_snap_answer *a)
{
	bool ok = ss_result_table(a->out, "frames", "By frame", frame_cols, SS_COUNT(frame_cols)) &&
		  ss_result_table(a->out, "stacks", "By stack", stack_cols, SS_COUNT(stack_cols)) &&
		  ss_result_table(a->out, "growth", "What grew", growth_cols, SS_COUNT(growth_cols)) &&
		  ss_result_table(a->out, "flame", "By tree of frames", flame_cols, SS_COUNT(flame_cols));
	for (size_t i = 0; ok && i < a->ndevices; i++)
		ok = add_device(a, &a->devices[i]);
	return ok;
}
