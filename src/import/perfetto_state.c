/* perfetto_state.c - tables by number, each entry made on first mention. */
#include "import/perfetto_state.h"

#include "import/perfetto_fields.h"
#include "wire/pb.h"

#include <stdlib.h>

/*
 * The clock that others are told against, and those that take its place where a snapshot lacks it.
 */
#define CLOCK_BOOT 6
#define CLOCK_MONOTONIC 3
#define CLOCK_REALTIME 1
#define FIRST_OWN_CLOCK 64	/* from here to 127 each sequence has its own */

/* Index of `key`, `n` when it is new. */
static uint32_t number(struct ss_pf_state *s, struct ss_u64map *m, uint64_t key, size_t n)
{
	uint32_t i = n < SS_NONE ? ss_u64map_add(m, key, (uint32_t)n) : SS_NONE;
	s->no_memory |= i == SS_NONE;
	return i;
}

struct ss_pf_track *ss_pf_track(struct ss_pf_state *s, uint64_t uuid)
{
	uint32_t i = number(s, &s->by_uuid, uuid, s->tracks.n);
	struct ss_pf_track fresh = { .uuid = uuid, .name = { "", 0 }, .process = { "", 0 }, .pid = -1, .tid = -1,
				     .plane = SS_NONE, .line = SS_NONE };
	if (i != SS_NONE && i == s->tracks.n && !ss_vec_push(&s->tracks, fresh))
		s->no_memory = true;
	return s->no_memory ? NULL : &s->tracks.v[i];
}

struct ss_pf_sequence *ss_pf_sequence(struct ss_pf_state *s, uint64_t id)
{
	uint32_t i = number(s, &s->by_sequence, id, s->sequences.n);
	if (i != SS_NONE && i == s->sequences.n && !ss_vec_push(&s->sequences, (struct ss_pf_sequence){ .id = id }))
		s->no_memory = true;
	return s->no_memory ? NULL : &s->sequences.v[i];
}

/* Texts may lie in a packed packet, which is gone soon. */
static struct ss_str kept(struct ss_pf_state *s, struct ss_str text)
{
	struct ss_str copy = ss_arena_str(&s->arena, text);
	s->no_memory |= !copy.p;
	return copy.p ? copy : SS_STR("");
}

static void take_process(struct ss_pf_state *s, struct ss_pf_track *t, struct ss_str body)
{
	struct ss_pb c = ss_pb_of(body);
	struct ss_pb_field f;
	while (ss_pb_next(&c, &f))
		if (f.key == PB_VAR(PROCESS_PID))
			t->pid = (int32_t)f.u;
		else if (f.key == PB_LEN(PROCESS_NAME))
			t->process = kept(s, f.bytes);
}

static void take_thread(struct ss_pf_state *s, struct ss_pf_track *t, struct ss_str body)
{
	struct ss_pb c = ss_pb_of(body);
	struct ss_pb_field f;
	while (ss_pb_next(&c, &f))
		switch (f.key) {
		case PB_VAR(THREAD_PID):
			t->pid = (int32_t)f.u;
			break;
		case PB_VAR(THREAD_TID):
			t->tid = (int64_t)(f.u & UINT32_MAX);
			break;
		case PB_LEN(THREAD_NAME):
			if (!t->name.n)
				t->name = kept(s, f.bytes);
			break;
		}
}

void ss_pf_take_track(struct ss_pf_state *s, struct ss_str descriptor)
{
	struct ss_pb c = ss_pb_of(descriptor);
	struct ss_pb_field f;
	uint64_t uuid = 0;
	while (ss_pb_next(&c, &f))
		if (f.key == PB_VAR(TRACK_UUID))
			uuid = f.u;
	struct ss_pf_track *t = ss_pf_track(s, uuid);
	c = ss_pb_of(descriptor);
	while (t && ss_pb_next(&c, &f))
		switch (f.key) {
		case PB_LEN(TRACK_NAME):
		case PB_LEN(TRACK_STATIC_NAME):
			t->name = kept(s, f.bytes);
			break;
		case PB_VAR(TRACK_PARENT):
			t->parent = f.u;
			break;
		case PB_LEN(TRACK_PROCESS):
			take_process(s, t, f.bytes);
			break;
		case PB_LEN(TRACK_THREAD):
			take_thread(s, t, f.bytes);
			break;
		}
}

static uint64_t name_key(const struct ss_pf_sequence *q, uint32_t field, uint64_t iid)
{
	return ss_mix(ss_mix(q->id << 8 | field, q->generation), iid);
}

void ss_pf_take_names(struct ss_pf_state *s, const struct ss_pf_sequence *q, struct ss_str interned)
{
	struct ss_pb c = ss_pb_of(interned);
	struct ss_pb_field f, in;
	while (!s->no_memory && ss_pb_next(&c, &f)) {
		uint32_t field = f.key >> 3;
		if ((f.key & 7) != 2 || (field > INTERNED_ANNOTATION_NAMES && field != INTERNED_ANNOTATION_STRINGS))
			continue;
		struct ss_pb entry = ss_pb_of(f.bytes);
		uint64_t iid = 0;
		struct ss_str text = SS_STR("");
		while (ss_pb_next(&entry, &in))
			if (in.key == PB_VAR(INTERNED_IID))
				iid = in.u;
			else if (in.key == PB_LEN(INTERNED_TEXT))
				text = in.bytes;
		uint32_t i = number(s, &s->by_name, name_key(q, field, iid), s->names.n);
		text = kept(s, text);
		if (i != SS_NONE && i < s->names.n)
			s->names.v[i] = text;
		else if (i != SS_NONE && !ss_vec_push(&s->names, text))
			s->no_memory = true;
	}
}

bool ss_pf_name(const struct ss_pf_state *s, const struct ss_pf_sequence *q, uint32_t field, uint64_t iid, struct ss_str *out)
{
	uint32_t i = ss_u64map_get(&s->by_name, name_key(q, field, iid));
	*out = i == SS_NONE ? SS_STR("") : s->names.v[i];
	return i != SS_NONE;
}

void ss_pf_forget(struct ss_pf_state *s, struct ss_pf_sequence *q)
{
	(void)s;
	q->generation++;
	q->track = 0;
	q->clock = 0;
}

void ss_pf_take_defaults(struct ss_pf_sequence *q, struct ss_str defaults)
{
	struct ss_pb c = ss_pb_of(defaults);
	struct ss_pb_field f, in;
	while (ss_pb_next(&c, &f)) {
		if (f.key == PB_VAR(DEFAULTS_CLOCK_ID))
			q->clock = f.u;
		if (f.key != PB_LEN(DEFAULTS_TRACK_EVENT))
			continue;
		struct ss_pb event = ss_pb_of(f.bytes);
		while (ss_pb_next(&event, &in))
			if (in.key == PB_VAR(DEFAULTS_TRACK))
				q->track = in.u;
	}
}

/* ---- clocks ---- */

static uint64_t clock_key(uint64_t sequence, uint64_t clock)
{
	return clock >= FIRST_OWN_CLOCK && clock < 128 ? ss_mix(sequence + 1, clock) : clock;
}

static struct ss_pf_clock *clock_of(struct ss_pf_state *s, uint64_t sequence, uint64_t clock)
{
	uint32_t i = number(s, &s->by_clock, clock_key(sequence, clock), s->clocks.n);
	if (i != SS_NONE && i == s->clocks.n && !ss_vec_push(&s->clocks, (struct ss_pf_clock){ .unit_ns = 1 }))
		s->no_memory = true;
	return s->no_memory ? NULL : &s->clocks.v[i];
}

struct reading {
	uint64_t clock, value_ns, unit_ns;
	bool incremental;
};

static struct reading reading_of(struct ss_str body)
{
	struct reading r = { .unit_ns = 1 };
	struct ss_pb c = ss_pb_of(body);
	struct ss_pb_field f;
	while (ss_pb_next(&c, &f))
		switch (f.key) {
		case PB_VAR(CLOCK_ID):
			r.clock = f.u;
			break;
		case PB_VAR(CLOCK_TIMESTAMP):
			r.value_ns = f.u;
			break;
		case PB_VAR(CLOCK_INCREMENTAL):
			r.incremental = f.u;
			break;
		case PB_VAR(CLOCK_UNIT_NS):
			r.unit_ns = f.u ? f.u : 1;
			break;
		}
	r.value_ns *= r.unit_ns;
	return r;
}

/* If there are several clocks, the trace's own clock is the one since boot. */
static int rank(uint64_t clock)
{
	return clock == CLOCK_BOOT ? 3 : clock == CLOCK_MONOTONIC ? 2 : clock == CLOCK_REALTIME ? 1 : 0;
}

void ss_pf_take_clocks(struct ss_pf_state *s, uint64_t sequence, struct ss_str snapshot)
{
	struct ss_pb c = ss_pb_of(snapshot);
	struct ss_pb_field f;
	struct reading base = { 0 };
	while (ss_pb_next(&c, &f)) {
		struct reading r = f.key == PB_LEN(SNAPSHOT_CLOCKS) ? reading_of(f.bytes) : (struct reading){ 0 };
		if (rank(r.clock) > rank(base.clock))
			base = r;
	}
	c = ss_pb_of(snapshot);
	while (!s->no_memory && ss_pb_next(&c, &f)) {
		if (f.key != PB_LEN(SNAPSHOT_CLOCKS))
			continue;
		struct reading r = reading_of(f.bytes);
		struct ss_pf_clock *k = clock_of(s, sequence, r.clock);
		if (!k)
			return;
		k->incremental = r.incremental;
		k->unit_ns = r.unit_ns;
		k->last_ns = r.value_ns;
		/*
		 * The first snapshot decides, so that a clock that is set while it is looked at
		 * moves no event.
		 */
		if (!k->known || r.incremental)
			k->ahead_ns = base.clock ? (int64_t)(r.value_ns - base.value_ns) : 0;
		k->known = true;
	}
}

int64_t ss_pf_time_ns(struct ss_pf_state *s, const struct ss_pf_sequence *q, uint64_t clock, uint64_t timestamp)
{
	if (!clock)
		clock = q->clock;
	uint32_t i = clock ? ss_u64map_get(&s->by_clock, clock_key(q->id, clock)) : SS_NONE;
	if (i == SS_NONE || !s->clocks.v[i].known)
		return (int64_t)timestamp;
	struct ss_pf_clock *k = &s->clocks.v[i];
	uint64_t ns = timestamp * k->unit_ns;
	if (k->incremental)
		ns = k->last_ns += ns;
	return (int64_t)(ns - (uint64_t)k->ahead_ns);
}

void ss_pf_free(struct ss_pf_state *s)
{
	ss_vec_free(&s->tracks);
	ss_vec_free(&s->sequences);
	ss_vec_free(&s->names);
	ss_vec_free(&s->clocks);
	ss_u64map_free(&s->by_uuid);
	ss_u64map_free(&s->by_sequence);
	ss_u64map_free(&s->by_name);
	ss_u64map_free(&s->by_clock);
	ss_arena_release(&s->arena);
	*s = (struct ss_pf_state){ 0 };
}
