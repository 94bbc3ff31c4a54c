/* snapshot.c - from a file to the records of a snapshot. */
#include "import/snapshot.h"

#include "import/pickle.h"
#include "legacy/files/unpack.h"
#include "wire/gz_in.h"
#include "wire/json.h"

#include <stdlib.h>

#define FORGET_STRIDE ((size_t)8 << 20)

/* ---- what it is ---- */

bool ss_snapshot_is(struct ss_str head)
{
	struct ss_str begin = ss_str_sub(head, 0, 256);
	bool json = head.n && head.p[0] == '{';
	return (json || ss_pickle_is(head)) &&
	       (ss_str_contains(begin, SS_STR("segments")) || ss_str_contains(begin, SS_STR("device_traces")));
}

/* ---- JSON ---- */

/* A value is complete: into what it stands in. */
static bool put(struct ss_sb *b)
{
	enum ss_sb_kind below = b->stack.n > 1 ? b->stack.v[b->stack.n - 2].kind : SS_SB_MARK;
	return below == SS_SB_LIST ? ss_sb_append(b) : below == SS_SB_STR ? ss_sb_setitem(b) : true;
}

static void push_number(struct ss_sb *b, struct ss_str text)
{
	int64_t i;
	uint64_t u;
	double d;
	if (ss_str_to_i64(text, &i))
		ss_sb_push(b, SS_SB_INT, (uint64_t)i);
	else if (ss_str_to_u64(text, &u))
		ss_sb_push(b, SS_SB_BIG, u);
	else if (ss_str_to_f64(text, &d) && d >= 0 && d < 9e15)
		ss_sb_push(b, SS_SB_INT, (uint64_t)d);
	else
		ss_sb_push(b, SS_SB_NONE, 0);
}

static bool take(struct ss_sb *b, const struct ss_jtok *t)
{
	struct ss_str text;
	switch (t->kind) {
	case SS_J_OBJECT:
		ss_sb_push_dict(b);
		return true;
	case SS_J_ARRAY:
		ss_sb_push_list(b);
		return true;
	case SS_J_END:
		return put(b);
	case SS_J_KEY:
	case SS_J_STRING:
		text = ss_jtok_str(t, &b->s->arena);
		b->no_memory |= !text.p;
		ss_sb_push_text(b, text.p ? text : SS_STR(""));
		return t->kind == SS_J_KEY || put(b);
	case SS_J_NUMBER:
		push_number(b, t->text);
		return put(b);
	default:
		ss_sb_push(b, t->kind == SS_J_TRUE ? SS_SB_INT : SS_SB_NONE, t->kind == SS_J_TRUE);
		return put(b);
	}
}

static void walk_json(struct ss_str text, const struct ss_file *file, struct ss_sb *b, struct ss_snapshot *s)
{
	struct ss_jsonr r = ss_jsonr_of(text);
	struct ss_jtok t;
	size_t forgotten = 0;
	while (!b->no_memory && !b->full && ss_jsonr_next(&r, &t) && take(b, &t)) {
		size_t at = (size_t)(r.at - text.p);
		if (file && at - forgotten >= FORGET_STRIDE) {
			ss_file_forget(file, ss_str_sub(text, forgotten, at));
			forgotten = at;
		}
	}
	s->cut = !r.done || r.depth;
}

/* ---- records in their places ---- */

/* Blocks by segment; those of none are of a list that was cut off. */
static bool place_blocks(struct ss_snapshot *s)
{
	size_t n = s->blocks.n, kept = 0;
	struct ss_snap_block *sorted = malloc((n + 1) * sizeof(*sorted));
	if (!sorted)
		return false;
	for (size_t i = 0; i < n; i++) {
		uint32_t group = s->blocks.v[i].group, segment = group < s->groups.n ? s->groups.v[group].segment : SS_NONE;
		if (segment != SS_NONE)
			s->segments.v[segment].nblocks++;
		else
			s->malformed++;
	}
	for (size_t i = 0; i < s->segments.n; i++) {
		s->segments.v[i].first_block = (uint32_t)kept;
		kept += s->segments.v[i].nblocks;
		s->segments.v[i].nblocks = 0;
	}
	for (size_t i = 0; i < n; i++) {
		uint32_t group = s->blocks.v[i].group, segment = group < s->groups.n ? s->groups.v[group].segment : SS_NONE;
		if (segment == SS_NONE)
			continue;
		struct ss_snap_segment *g = &s->segments.v[segment];
		sorted[g->first_block + g->nblocks++] = s->blocks.v[i];
	}
	if (kept)
		memcpy(s->blocks.v, sorted, kept * sizeof(*sorted));
	s->blocks.n = kept;
	free(sorted);
	return true;
}

static uint32_t device_of(const struct ss_snapshot *s, const struct ss_snap_event *e)
{
	return e->group < s->groups.n ? s->groups.v[e->group].place : 0;
}

/* Events by device; in a file that PyTorch wrote they stand so. */
static bool place_events(struct ss_snapshot *s)
{
	size_t n = s->events.n, first[SS_SNAP_DEVICES + 1] = { 0 };
	bool sorted = true;
	for (size_t i = 0; i < n; i++) {
		uint32_t device = device_of(s, &s->events.v[i]);
		first[device + 1]++;
		sorted = sorted && (!i || device_of(s, &s->events.v[i - 1]) <= device);
	}
	for (uint32_t d = 0; d < SS_SNAP_DEVICES; d++) {
		s->events_of[d] = first[d];
		first[d + 1] += first[d];
	}
	s->events_of[SS_SNAP_DEVICES] = n;
	if (sorted)
		return true;
	struct ss_snap_event *by_device = malloc(n * sizeof(*by_device));
	if (!by_device)
		return false;
	for (size_t i = 0; i < n; i++)
		by_device[first[device_of(s, &s->events.v[i])]++] = s->events.v[i];
	free(s->events.v);
	s->events.v = by_device;
	s->events.cap = n;
	return true;
}

/* Before PyTorch 2.1 a block had no address: they stand side by side. */
static void set_addresses(struct ss_snapshot *s)
{
	for (size_t i = 0; i < s->segments.n; i++) {
		const struct ss_snap_segment *g = &s->segments.v[i];
		uint64_t at = g->addr;
		for (uint32_t k = 0; k < g->nblocks; k++) {
			struct ss_snap_block *b = &s->blocks.v[g->first_block + k];
			if (!b->addr)
				b->addr = at;
			at = b->addr + b->size;
		}
	}
}

static void count_devices(struct ss_snapshot *s)
{
	for (size_t i = 0; i < s->segments.n; i++)
		if (s->segments.v[i].device >= s->ndevices)
			s->ndevices = s->segments.v[i].device + 1;
	for (size_t i = 0; i < s->groups.n; i++)
		if (s->groups.v[i].segment == SS_NONE && s->groups.v[i].place >= s->ndevices)
			s->ndevices = s->groups.v[i].place + 1;
}

bool ss_snapshot_place(struct ss_snapshot *s)
{
	if (!place_blocks(s) || !place_events(s))
		return false;
	set_addresses(s);
	count_devices(s);
	return true;
}

/* ---- the file ---- */

static void walk(struct ss_str bytes, const struct ss_file *file, struct ss_sb *b, struct ss_snapshot *s)
{
	struct ss_pickle_end end;
	if (!ss_pickle_is(bytes)) {
		walk_json(bytes, file, b, s);
		return;
	}
	ss_pickle_walk(bytes, file, b, &end);
	s->cut = end.cut;
	if (!end.opcode)
		return;
	s->stopped = end.hostile
			     ? ss_arena_printf(&s->arena,
					       "the opcode %s at byte %llu would run code from the file: it was not executed, "
					       "and reading ended there",
					       end.opcode, (unsigned long long)end.at)
			     : ss_arena_printf(&s->arena, "reading ended at byte %llu, which plain data does not have: %s",
					       (unsigned long long)end.at, end.opcode);
	b->no_memory |= !s->stopped.p;
}

static bool is_empty(const struct ss_snapshot *s)
{
	return !s->events.n && !s->segments.n;
}

bool ss_snapshot_read(const struct ss_file *f, struct ss_snapshot *s, struct ss_err *err)
{
	struct ss_sb b = { .s = s };
	struct ss_str bytes;
	*s = (struct ss_snapshot){ .stopped = { "", 0 } };
	if (!ss_unpack(f->bytes, &s->arena, &bytes, err))
		return false;
	walk(bytes, bytes.p == f->bytes.p ? f : NULL, &b, s);
	ss_sb_finish(&b);
	bool top = b.top, ok = !b.no_memory;
	ss_sb_free(&b);
	if (!ok || !ss_snapshot_place(s))
		return ss_fail_mem(err);
	if (!is_empty(s) || (top && !s->stopped.n))
		return true;
	if (s->stopped.n)
		return ss_fail(err, SS_EFORMAT, SS_FMT, SS_ARG(s->stopped));
	return ss_fail(err, SS_EFORMAT, "it holds neither segments nor device_traces, which torch.cuda.memory._dump_snapshot "
	    "writes");
}

void ss_snapshot_free(struct ss_snapshot *s)
{
	ss_strmap_free(&s->texts);
	ss_strmap_free(&s->devices);
	ss_vec_free(&s->kinds);
	ss_vec_free(&s->frames);
	ss_vec_free(&s->frame_ids);
	ss_vec_free(&s->stacks);
	ss_vec_free(&s->groups);
	ss_vec_free(&s->events);
	ss_vec_free(&s->blocks);
	ss_vec_free(&s->segments);
	ss_arena_release(&s->arena);
	*s = (struct ss_snapshot){ 0 };
}
