/* snapshot_build.c - values become records as soon as they are put into something. */
#include "import/snapshot_build.h"

#include <stdlib.h>

#define FRAMES_MOST 4096	/* of a stack; the rest is left out */
#define GROUPS_MOST ((1u << 28) - 1)
#define NO_GROUP GROUPS_MOST

enum key {
	K_ACTION, K_ADDR, K_SIZE, K_STREAM, K_TIME, K_FRAMES, K_DEVICE_FREE, K_ADDRESS, K_TOTAL_SIZE, K_SEGMENT_TYPE,
	K_EXPANDABLE, K_REQUESTED, K_DEVICE, K_BLOCKS, K_STATE, K_HISTORY, K_REAL_SIZE, K_FILENAME, K_LINE, K_NAME, K_POOL,
	K_SEGMENTS, K_TRACES, K_KEYS,
};
_Static_assert(K_KEYS <= SS_SB_KEYS, "keys fit their record");

#define HAS(o, k) ((o)->seen >> (k) & 1)

static const struct {
	struct ss_str name;
	enum key key;
} keys[] = {
	{ SS_STR_INIT("action"), K_ACTION },	      { SS_STR_INIT("addr"), K_ADDR },
	{ SS_STR_INIT("size"), K_SIZE },	      { SS_STR_INIT("stream"), K_STREAM },
	{ SS_STR_INIT("time_us"), K_TIME },	      { SS_STR_INIT("frames"), K_FRAMES },
	{ SS_STR_INIT("device_free"), K_DEVICE_FREE }, { SS_STR_INIT("address"), K_ADDRESS },
	{ SS_STR_INIT("total_size"), K_TOTAL_SIZE },  { SS_STR_INIT("segment_type"), K_SEGMENT_TYPE },
	{ SS_STR_INIT("is_expandable"), K_EXPANDABLE }, { SS_STR_INIT("requested_size"), K_REQUESTED },
	{ SS_STR_INIT("device"), K_DEVICE },	      { SS_STR_INIT("blocks"), K_BLOCKS },
	{ SS_STR_INIT("state"), K_STATE },	      { SS_STR_INIT("history"), K_HISTORY },
	{ SS_STR_INIT("real_size"), K_REAL_SIZE },    { SS_STR_INIT("filename"), K_FILENAME },
	{ SS_STR_INIT("line"), K_LINE },	      { SS_STR_INIT("name"), K_NAME },
	{ SS_STR_INIT("segment_pool_id"), K_POOL },   { SS_STR_INIT("segments"), K_SEGMENTS },
	{ SS_STR_INIT("device_traces"), K_TRACES },
};

/* Words of "action", "state" and "segment_type"; none has two meanings. */
enum { W_NONE, W_SMALL = 9, W_INACTIVE, W_ALLOCATED, W_AWAITING };

static const struct {
	struct ss_str name;
	uint8_t word;
} words[] = {
	{ SS_STR_INIT("alloc"), SS_SNAP_ALLOC },
	{ SS_STR_INIT("free_requested"), SS_SNAP_FREE_REQUESTED },
	{ SS_STR_INIT("free_completed"), SS_SNAP_FREE_COMPLETED },
	{ SS_STR_INIT("free"), SS_SNAP_FREE_COMPLETED }, /* of older versions, which had one for both */
	{ SS_STR_INIT("segment_alloc"), SS_SNAP_SEGMENT_ALLOC },
	{ SS_STR_INIT("segment_free"), SS_SNAP_SEGMENT_FREE },
	{ SS_STR_INIT("segment_map"), SS_SNAP_SEGMENT_MAP },
	{ SS_STR_INIT("segment_unmap"), SS_SNAP_SEGMENT_UNMAP },
	{ SS_STR_INIT("oom"), SS_SNAP_OOM },
	{ SS_STR_INIT("small"), W_SMALL },
	{ SS_STR_INIT("inactive"), W_INACTIVE },
	{ SS_STR_INIT("active_allocated"), W_ALLOCATED },
	{ SS_STR_INIT("active_awaiting_free"), W_AWAITING },
	{ SS_STR_INIT("active_pending_free"), W_AWAITING },
};

void ss_sb_free(struct ss_sb *b)
{
	ss_vec_free(&b->stack);
	ss_vec_free(&b->open);
	ss_vec_free(&b->spare);
	ss_vec_free(&b->texts);
	ss_vec_free(&b->memo);
	ss_vec_free(&b->far);
	ss_u64map_free(&b->sparse);
	ss_u64map_free(&b->stacks);
	ss_u64map_free(&b->frames);
}

/* ---- the stack ---- */

void ss_sb_push(struct ss_sb *b, enum ss_sb_kind kind, uint64_t u)
{
	if (b->stack.n >= SS_SB_STACK_MOST)
		b->full = true;
	else if (!ss_vec_push(&b->stack, (struct ss_sb_value){ kind, u }))
		b->no_memory = true;
}

void ss_sb_push_text(struct ss_sb *b, struct ss_str text)
{
	struct ss_sb_text t = { .p = text.p, .n = text.n < UINT32_MAX ? (uint32_t)text.n : UINT32_MAX, .key = -1 };
	for (size_t i = 0; i < SS_COUNT(keys); i++)
		if (ss_str_eq(text, keys[i].name))
			t.key = (int8_t)keys[i].key;
	for (size_t i = 0; i < SS_COUNT(words); i++)
		if (ss_str_eq(text, words[i].name))
			t.word = words[i].word;
	if (!ss_vec_push(&b->texts, t))
		b->no_memory = true;
	else
		ss_sb_push(b, SS_SB_STR, b->texts.n - 1);
}

static void push_open(struct ss_sb *b, enum ss_sb_kind kind)
{
	uint32_t at;
	if (b->spare.n) {
		at = b->spare.v[--b->spare.n];
	} else if (!ss_vec_reserve(&b->open, b->open.n + 1)) {
		b->no_memory = true;
		return;
	} else {
		at = (uint32_t)b->open.n++;
	}
	struct ss_sb_open *o = &b->open.v[at];
	o->memo = o->seen = 0;
	o->at = (uint32_t)b->stack.n;
	if (kind == SS_SB_LIST) {
		memset(&o->list, 0, sizeof(o->list));
		o->list.group = NO_GROUP;
		o->list.numbers[0] = o->list.numbers[1] = UINT64_MAX;
	}
	ss_sb_push(b, kind, at);
}

void ss_sb_push_dict(struct ss_sb *b)
{
	push_open(b, SS_SB_DICT);
}

void ss_sb_push_list(struct ss_sb *b)
{
	push_open(b, SS_SB_LIST);
}

/* Where the items of the innermost mark begin; SS_NPOS: there is none, or nothing below it. */
static size_t to_mark(const struct ss_sb *b)
{
	for (size_t i = b->stack.n; i-- > 1;)
		if (b->stack.v[i].kind == SS_SB_MARK)
			return i + 1;
	return SS_NPOS;
}

/* ---- finished dictionaries ---- */

static uint32_t stack_of(const struct ss_sb_open *o)
{
	return HAS(o, K_FRAMES) ? (uint32_t)o->v[K_FRAMES] : SS_NONE;
}

static uint64_t of(const struct ss_sb_open *o, enum key k)
{
	return HAS(o, k) ? o->v[k] : 0;
}

static bool is_size(uint64_t size)
{
	return size <= (uint64_t)INT64_MAX >> 8; /* sums of many do not overflow */
}

uint32_t ss_sb_frame(struct ss_sb *b, struct ss_str file, struct ss_str name, int64_t line)
{
	struct ss_snapshot *s = b->s;
	struct ss_snap_frame f = { .file = ss_strmap_add(&s->texts, file), .name = ss_strmap_add(&s->texts, name), .line = line };
	uint64_t key = ss_mix((uint64_t)f.file << 32 | f.name, (uint64_t)f.line);
	uint32_t at = f.file == SS_NONE || f.name == SS_NONE || s->frames.n >= SS_NONE
			      ? SS_NONE
			      : ss_u64map_add(&b->frames, key, (uint32_t)s->frames.n);
	if (at == SS_NONE || (at == s->frames.n && !ss_vec_push(&s->frames, f)))
		b->no_memory = true;
	return at;
}

static struct ss_sb_value frame(struct ss_sb *b, const struct ss_sb_open *o)
{
	const struct ss_sb_text *file = &b->texts.v[o->v[K_FILENAME]];
	const struct ss_sb_text *name = HAS(o, K_NAME) ? &b->texts.v[o->v[K_NAME]] : &(struct ss_sb_text){ .p = "" };
	uint32_t at = ss_sb_frame(b, (struct ss_str){ file->p, file->n }, (struct ss_str){ name->p, name->n },
				  (int64_t)of(o, K_LINE));
	return (struct ss_sb_value){ SS_SB_FRAME, at };
}

static struct ss_sb_value event(struct ss_sb *b, const struct ss_sb_open *o)
{
	struct ss_snapshot *s = b->s;
	uint8_t action = b->texts.v[o->v[K_ACTION]].word;
	struct ss_snap_event e = { .addr = of(o, K_ADDR), .size = of(o, K_SIZE), .time_us = (int64_t)of(o, K_TIME),
				   .stack = stack_of(o), .group = NO_GROUP };
	e.action = action <= SS_SNAP_OOM ? action & 15u : SS_SNAP_OTHER;
	if (action == SS_SNAP_OOM)
		e.addr = of(o, K_DEVICE_FREE);
	if (e.action == SS_SNAP_OTHER)
		return (struct ss_sb_value){ SS_SB_NONE, 0 };
	if (!is_size(e.size) || s->events.n >= SS_NONE) {
		s->malformed++;
		return (struct ss_sb_value){ SS_SB_NONE, 0 };
	}
	b->no_memory |= !ss_vec_push(&s->events, e);
	return (struct ss_sb_value){ SS_SB_EVENT, s->events.n - 1 };
}

static struct ss_sb_value block(struct ss_sb *b, const struct ss_sb_open *o)
{
	struct ss_snapshot *s = b->s;
	uint8_t word = b->texts.v[o->v[K_STATE]].word;
	struct ss_snap_block k = { .addr = of(o, K_ADDRESS), .size = of(o, K_SIZE), .stack = stack_of(o), .count = 1,
				   .group = NO_GROUP };
	k.state = word == W_ALLOCATED ? SS_SNAP_ALLOCATED : word == W_AWAITING ? SS_SNAP_AWAITING_FREE : SS_SNAP_INACTIVE;
	k.requested = HAS(o, K_REQUESTED) ? o->v[K_REQUESTED] : k.size;
	if (HAS(o, K_HISTORY) && o->v[K_HISTORY] && k.stack == SS_NONE)
		k.stack = (uint32_t)(o->v[K_HISTORY] - 1);
	if (!is_size(k.size) || !is_size(k.requested) || s->blocks.n >= SS_NONE) {
		s->malformed++;
		return (struct ss_sb_value){ SS_SB_NONE, 0 };
	}
	b->no_memory |= !ss_vec_push(&s->blocks, k);
	return (struct ss_sb_value){ SS_SB_BLOCK, s->blocks.n - 1 };
}

static struct ss_sb_value segment(struct ss_sb *b, const struct ss_sb_open *o)
{
	struct ss_snapshot *s = b->s;
	struct ss_snap_segment g = { .addr = of(o, K_ADDRESS), .size = of(o, K_TOTAL_SIZE), .stream = (int64_t)of(o, K_STREAM),
				     .device = (uint32_t)of(o, K_DEVICE), .stack = stack_of(o),
				     .expandable = of(o, K_EXPANDABLE) };
	g.small = HAS(o, K_SEGMENT_TYPE) && b->texts.v[o->v[K_SEGMENT_TYPE]].word == W_SMALL;
	g.pool[0] = of(o, K_POOL) >> 28;
	g.pool[1] = of(o, K_POOL) & ((1u << 28) - 1);
	if (!is_size(g.size) || of(o, K_DEVICE) >= SS_SNAP_DEVICES || s->segments.n >= SS_NONE) {
		s->malformed++;
		return (struct ss_sb_value){ SS_SB_NONE, 0 };
	}
	if (HAS(o, K_BLOCKS))
		s->groups.v[o->v[K_BLOCKS]].segment = (uint32_t)s->segments.n;
	b->no_memory |= !ss_vec_push(&s->segments, g);
	return (struct ss_sb_value){ SS_SB_SEGMENT, s->segments.n - 1 };
}

static struct ss_sb_value finished_dict(struct ss_sb *b, const struct ss_sb_open *o)
{
	if (HAS(o, K_ACTION))
		return event(b, o);
	if (HAS(o, K_STATE))
		return block(b, o);
	if (HAS(o, K_TOTAL_SIZE))
		return segment(b, o);
	if (HAS(o, K_FILENAME))
		return frame(b, o);
	if (HAS(o, K_REAL_SIZE))
		return (struct ss_sb_value){ SS_SB_HISTORY, HAS(o, K_FRAMES) ? (uint64_t)stack_of(o) + 1 : 0 };
	return (struct ss_sb_value){ HAS(o, K_SEGMENTS) || HAS(o, K_TRACES) ? SS_SB_TOP : SS_SB_NONE, 0 };
}

/* ---- finished lists ---- */

static bool same_frames(const struct ss_snapshot *s, const struct ss_snap_stack *a, const uint32_t *ids, uint32_t n)
{
	return a->n == n && memcmp(s->frame_ids.v + a->begin, ids, n * sizeof(*ids)) == 0;
}

uint32_t ss_sb_stack(struct ss_sb *b, uint32_t begin, uint32_t n)
{
	struct ss_snapshot *s = b->s;
	const uint32_t *ids = s->frame_ids.v + begin;
	uint64_t key = ss_str_hash((struct ss_str){ (const char *)ids, n * sizeof(*ids) });
	uint32_t at = s->stacks.n < SS_NONE ? ss_u64map_add(&b->stacks, key, (uint32_t)s->stacks.n) : SS_NONE;
	if (at == SS_NONE) {
		b->no_memory = true;
	} else if (at < s->stacks.n && same_frames(s, &s->stacks.v[at], ids, n)) {
		/* Known: its frames need not stand there twice. */
		if (begin + n == s->frame_ids.n)
			s->frame_ids.n -= n;
	} else {
		at = (uint32_t)s->stacks.n;
		b->no_memory |= !ss_vec_push(&s->stacks, (struct ss_snap_stack){ begin, n });
	}
	return at;
}

static struct ss_sb_value finished_list(struct ss_sb *b, const struct ss_sb_open *o)
{
	if (o->list.nframes)
		return (struct ss_sb_value){ SS_SB_STACK, ss_sb_stack(b, o->list.frame_begin, o->list.nframes) };
	if (o->list.group != NO_GROUP)
		return (struct ss_sb_value){ SS_SB_GROUP, o->list.group };
	/* The JSON form of a tuple. */
	if (o->list.items == 2 && o->list.numbers[0] < 1u << 28 && o->list.numbers[1] < 1u << 28)
		return (struct ss_sb_value){ SS_SB_PAIR, o->list.numbers[0] << 28 | o->list.numbers[1] };
	if (o->list.has_history)
		return (struct ss_sb_value){ SS_SB_HISTORY, o->list.history };
	return (struct ss_sb_value){ o->list.items ? SS_SB_NONE : SS_SB_EMPTY, 0 };
}

/* What a value is from now on: open ones are finished when they are put somewhere. */
static struct ss_sb_value finished(struct ss_sb *b, struct ss_sb_value v)
{
	if (v.kind != SS_SB_DICT && v.kind != SS_SB_LIST)
		return v;
	uint32_t at = (uint32_t)v.u;
	const struct ss_sb_open o = b->open.v[at];
	v = v.kind == SS_SB_DICT ? finished_dict(b, &o) : finished_list(b, &o);
	if (o.memo)
		b->memo.v[o.memo - 1] = (uint64_t)v.kind << 56 | v.u;
	b->no_memory |= !ss_vec_push(&b->spare, at);
	return v;
}

/* ---- into lists ---- */

static uint32_t group_of(struct ss_sb *b, uint32_t list)
{
	struct ss_sb_open *o = &b->open.v[list];
	struct ss_snapshot *s = b->s;
	if (o->list.group != NO_GROUP || s->groups.n >= NO_GROUP)
		return o->list.group;
	if (!ss_vec_push(&s->groups, (struct ss_snap_group){ .place = 0, .segment = SS_NONE }))
		b->no_memory = true;
	else
		o->list.group = (uint32_t)s->groups.n - 1;
	return o->list.group;
}

static void add_frame(struct ss_sb *b, struct ss_sb_open *o, uint32_t id)
{
	struct ss_snapshot *s = b->s;
	if (!o->list.nframes)
		o->list.frame_begin = (uint32_t)s->frame_ids.n;
	/* Lists are filled one after the other; of one that is not, the rest is left out. */
	if (o->list.nframes >= FRAMES_MOST || s->frame_ids.n >= SS_NONE || o->list.frame_begin + o->list.nframes != s->frame_ids.n)
		return;
	b->no_memory |= !ss_vec_push(&s->frame_ids, id);
	o->list.nframes++;
}

/* The same event or block in a second list is a second one. */
static uint64_t own_event(struct ss_sb *b, uint64_t at)
{
	struct ss_snap_event copy = b->s->events.v[at];
	if (copy.group == NO_GROUP || b->s->events.n >= SS_NONE)
		return at;
	b->no_memory |= !ss_vec_push(&b->s->events, copy);
	return b->s->events.n - 1;
}

static uint64_t own_block(struct ss_sb *b, uint64_t at)
{
	struct ss_snap_block copy = b->s->blocks.v[at];
	if (copy.group == NO_GROUP || b->s->blocks.n >= SS_NONE)
		return at;
	b->no_memory |= !ss_vec_push(&b->s->blocks, copy);
	return b->s->blocks.n - 1;
}

static void append(struct ss_sb *b, uint32_t list, struct ss_sb_value v)
{
	v = finished(b, v);
	uint32_t group = v.kind == SS_SB_EVENT || v.kind == SS_SB_BLOCK ? group_of(b, list) : NO_GROUP;
	struct ss_sb_open *o = &b->open.v[list];
	uint64_t at;
	if (b->no_memory)
		return;
	switch (v.kind) {
	case SS_SB_FRAME:
		add_frame(b, o, (uint32_t)v.u);
		break;
	case SS_SB_EVENT:
		at = own_event(b, v.u);	/* this may move them */
		b->s->events.v[at].group = group & GROUPS_MOST;
		break;
	case SS_SB_BLOCK:
		at = own_block(b, v.u);
		b->s->blocks.v[at].group = group & GROUPS_MOST;
		break;
	case SS_SB_GROUP:
		b->s->groups.v[v.u].place = o->list.items < SS_SNAP_DEVICES ? o->list.items : SS_SNAP_DEVICES - 1;
		break;
	case SS_SB_INT:
		if (o->list.items < 2)
			o->list.numbers[o->list.items] = v.u;
		break;
	case SS_SB_HISTORY:
		/* The newest stands first. */
		if (!o->list.has_history)
			o->list.history = v.u;
		o->list.has_history = true;
		break;
	default:
		break;
	}
	o->list.items += o->list.items < UINT32_MAX;
}

bool ss_sb_append(struct ss_sb *b)
{
	if (b->stack.n < 2 || b->stack.v[b->stack.n - 2].kind != SS_SB_LIST)
		return b->stack.n >= 2 && b->stack.v[b->stack.n - 2].kind != SS_SB_DICT && ss_sb_pop(b, false);
	append(b, (uint32_t)b->stack.v[b->stack.n - 2].u, b->stack.v[b->stack.n - 1]);
	b->stack.n--;
	return true;
}

bool ss_sb_appends(struct ss_sb *b)
{
	size_t from = to_mark(b);
	if (from == SS_NPOS || from < 2)
		return false;
	struct ss_sb_value to = b->stack.v[from - 2];
	for (size_t i = from; i < b->stack.n && to.kind == SS_SB_LIST && !b->no_memory; i++)
		append(b, (uint32_t)to.u, b->stack.v[i]);
	b->stack.n = from - 1;
	return to.kind != SS_SB_DICT;
}

/* ---- into dictionaries ---- */

/* The kinds of values that a key accepts. */
static bool takes(enum key k, struct ss_sb_value *v)
{
	switch (k) {
	case K_ACTION:
	case K_SEGMENT_TYPE:
	case K_STATE:
	case K_FILENAME:
	case K_NAME:
		return v->kind == SS_SB_STR;
	case K_FRAMES:
		return v->kind == SS_SB_STACK;
	case K_BLOCKS:
		return v->kind == SS_SB_GROUP;
	case K_HISTORY:
		return v->kind == SS_SB_HISTORY;
	case K_POOL:
		return v->kind == SS_SB_PAIR;
	case K_SEGMENTS:
	case K_TRACES:
		return true;
	case K_ADDR:
	case K_ADDRESS:
		return v->kind == SS_SB_INT || v->kind == SS_SB_BIG;
	default:
		return v->kind == SS_SB_INT;
	}
}

static void set(struct ss_sb *b, uint32_t dict, struct ss_sb_value key, struct ss_sb_value v)
{
	v = finished(b, v);
	if (key.kind == SS_SB_DICT || key.kind == SS_SB_LIST)
		key = finished(b, key);
	if (key.kind != SS_SB_STR || b->no_memory)
		return;
	int k = b->texts.v[key.u].key;
	struct ss_sb_open *o = &b->open.v[dict];
	if (k < 0 || !takes((enum key)k, &v))
		return;
	b->top |= k == K_SEGMENTS || k == K_TRACES;
	o->v[k] = v.u;
	o->seen |= 1u << k;
}

bool ss_sb_setitem(struct ss_sb *b)
{
	size_t n = b->stack.n;
	if (n < 3 || b->stack.v[n - 3].kind == SS_SB_LIST)
		return false;
	if (b->stack.v[n - 3].kind == SS_SB_DICT)
		set(b, (uint32_t)b->stack.v[n - 3].u, b->stack.v[n - 2], b->stack.v[n - 1]);
	b->stack.n -= 2;
	return true;
}

bool ss_sb_setitems(struct ss_sb *b)
{
	size_t from = to_mark(b);
	if (from == SS_NPOS || from < 2 || (b->stack.n - from) % 2)
		return false;
	struct ss_sb_value to = b->stack.v[from - 2];
	for (size_t i = from; i + 1 < b->stack.n && to.kind == SS_SB_DICT && !b->no_memory; i += 2)
		set(b, (uint32_t)to.u, b->stack.v[i], b->stack.v[i + 1]);
	b->stack.n = from - 1;
	return to.kind != SS_SB_LIST;
}

bool ss_sb_tuple(struct ss_sb *b, int n)
{
	size_t from = n < 0 ? to_mark(b) : b->stack.n - (size_t)n;
	if (from == SS_NPOS || (n >= 0 && b->stack.n < (size_t)n))
		return false;
	size_t items = b->stack.n - from;
	const struct ss_sb_value *v = items ? b->stack.v + from : NULL;
	bool pair = items == 2 && v[0].kind == SS_SB_INT && v[1].kind == SS_SB_INT && v[0].u < 1u << 28 && v[1].u < 1u << 28;
	struct ss_sb_value tuple = { pair ? SS_SB_PAIR : SS_SB_NONE, pair ? v[0].u << 28 | v[1].u : 0 };
	for (size_t i = from; i < b->stack.n && !b->no_memory; i++)
		finished(b, b->stack.v[i]);
	b->stack.n = from - (n < 0);
	ss_sb_push(b, tuple.kind, tuple.u);
	return true;
}

bool ss_sb_pop(struct ss_sb *b, bool to)
{
	size_t from = to ? to_mark(b) : b->stack.n - 1;
	if (!b->stack.n || from == SS_NPOS)
		return false;
	for (size_t i = from; i < b->stack.n && !b->no_memory; i++)
		finished(b, b->stack.v[i]);
	b->stack.n = from - to;
	return true;
}

/* ---- the memo ---- */

static bool memo_at(struct ss_sb *b, uint64_t number, uint64_t **slot)
{
	uint32_t i;
	if (number < b->memo.n) {
		*slot = &b->memo.v[number];
		return true;
	}
	if (number == b->memo.n && number < SS_NONE - 1) {
		b->no_memory |= !ss_vec_push(&b->memo, 0);
		*slot = b->no_memory ? NULL : &b->memo.v[number];
		return !b->no_memory;
	}
	i = b->far.n < SS_NONE ? ss_u64map_add(&b->sparse, number, (uint32_t)b->far.n) : SS_NONE;
	if (i == SS_NONE || (i == b->far.n && !ss_vec_push(&b->far, 0))) {
		b->no_memory = true;
		return false;
	}
	*slot = &b->far.v[i];
	return true;
}

bool ss_sb_memoize(struct ss_sb *b, uint64_t number)
{
	uint64_t *slot;
	if (!b->stack.n || b->stack.v[b->stack.n - 1].kind == SS_SB_MARK)
		return false;
	struct ss_sb_value v = b->stack.v[b->stack.n - 1];
	if (!memo_at(b, number, &slot))
		return false;
	bool open = v.kind == SS_SB_DICT || v.kind == SS_SB_LIST;
	/* Numbers are never referred to; one that does not fit is of no use. */
	bool fits = open ? number < b->memo.n && !b->open.v[v.u].memo : v.u < UINT64_C(1) << 56;
	*slot = fits ? (uint64_t)v.kind << 56 | v.u : SS_SB_NONE;
	if (open && fits)
		b->open.v[v.u].memo = (uint32_t)number + 1;
	return true;
}

/*
 * A list or dictionary that is complete and was not put anywhere yet, as a segment's frames while
 * its blocks are read, is finished where it stands. One that is being filled has a mark above it.
 */
static struct ss_sb_value finish_in_place(struct ss_sb *b, struct ss_sb_value v)
{
	size_t at = b->open.v[v.u].at;
	if (at + 1 < b->stack.n && b->stack.v[at + 1].kind == SS_SB_MARK)
		return (struct ss_sb_value){ SS_SB_NONE, 0 };
	return b->stack.v[at] = finished(b, v);
}

bool ss_sb_get(struct ss_sb *b, uint64_t number)
{
	uint64_t v;
	uint32_t i = number < b->memo.n ? SS_NONE : ss_u64map_get(&b->sparse, number);
	if (number >= b->memo.n && i == SS_NONE)
		return false;
	v = number < b->memo.n ? b->memo.v[number] : b->far.v[i];
	struct ss_sb_value value = { (enum ss_sb_kind)(v >> 56), v & ((UINT64_C(1) << 56) - 1) };
	if (value.kind == SS_SB_DICT || value.kind == SS_SB_LIST)
		value = finish_in_place(b, value);
	ss_sb_push(b, value.kind, value.u);
	return true;
}

/* ---- the end ---- */

/*
 * The values above a dictionary's mark: a value is followed by a key, so what follows it and is
 * none is in it.
 */
static void fold_values(struct ss_sb *b, size_t from)
{
	for (size_t i = b->stack.n; i-- > from + 1;) {
		struct ss_sb_value below = b->stack.v[i - 1];
		if (b->stack.v[i].kind != SS_SB_STR && below.kind == SS_SB_LIST && i + 1 == b->stack.n)
			ss_sb_append(b);
	}
	if ((b->stack.n - from) % 2)
		ss_sb_pop(b, false);
}

void ss_sb_finish(struct ss_sb *b)
{
	size_t from;
	while (!b->no_memory && (from = to_mark(b)) != SS_NPOS) {
		enum ss_sb_kind to = from >= 2 ? b->stack.v[from - 2].kind : SS_SB_NONE;
		if (to == SS_SB_DICT)
			fold_values(b, from);
		/*
		 * An event or the like behind a list, not a list beside it: it was to be appended.
		 */
		while (to == SS_SB_LIST && b->stack.n - from >= 2 && b->stack.v[b->stack.n - 1].kind == SS_SB_DICT &&
		       b->stack.v[b->stack.n - 2].kind == SS_SB_LIST)
			ss_sb_append(b);
		if (!(to == SS_SB_DICT ? ss_sb_setitems(b) : to == SS_SB_LIST ? ss_sb_appends(b) : ss_sb_pop(b, true)))
			break;
	}
	while (!b->no_memory && b->stack.n > 1) {
		enum ss_sb_kind below = b->stack.v[b->stack.n - 2].kind;
		bool pair = b->stack.n >= 3 && below == SS_SB_STR && b->stack.v[b->stack.n - 3].kind == SS_SB_DICT;
		if (!(pair ? ss_sb_setitem(b) : below == SS_SB_LIST ? ss_sb_append(b) : ss_sb_pop(b, false)))
			break;
	}
	if (!b->no_memory && b->stack.n)
		ss_sb_pop(b, false);
}
