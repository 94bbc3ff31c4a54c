/*
 * perfetto.c - packets of a trace. Names and texts are sent once and then referred to by number
 * (iid); the packet that first uses one carries it.
 */
#include "model/megascale/perfetto.h"

#include "base/vec.h"
#include "model/host/plane.h"
#include "wire/gz_out.h"
#include "wire/pb_out.h"

#include <stdlib.h>

/* perfetto.protos: field numbers under their proto names. */
enum {
	TRACE_PACKET = 1,

	PACKET_TIMESTAMP = 8, PACKET_SEQUENCE_ID = 10, PACKET_TRACK_EVENT = 11, PACKET_INTERNED_DATA = 12,
	PACKET_SEQUENCE_FLAGS = 13, PACKET_TRACK_DESCRIPTOR = 60,

	TRACK_UUID = 1, TRACK_NAME = 2, TRACK_PARENT_UUID = 5, TRACK_COUNTER = 8,
	COUNTER_UNIT_NAME = 6, COUNTER_SHARE_KEY = 7,

	EVENT_ANNOTATIONS = 4, EVENT_TYPE = 9, EVENT_NAME_IID = 10, EVENT_TRACK_UUID = 11, EVENT_COUNTER = 30,
	EVENT_DOUBLE_COUNTER = 44, EVENT_FLOW_IDS = 47,

	ANNOTATION_NAME_IID = 1, ANNOTATION_UINT = 3, ANNOTATION_INT = 4, ANNOTATION_DOUBLE = 5, ANNOTATION_ARRAY = 12,
	ANNOTATION_STRING_IID = 17,

	INTERNED_EVENT_NAMES = 2, INTERNED_ANNOTATION_NAMES = 3, INTERNED_STRINGS = 29,
	INTERNED_IID = 1, INTERNED_TEXT = 2,

	TYPE_SLICE_BEGIN = 1, TYPE_SLICE_END = 2, TYPE_INSTANT = 3, TYPE_COUNTER = 4,

	FLAGS_FIRST = 3, FLAGS_NEXT = 2, /* state is cleared by the first packet; all need it */
};

/*
 * Where interned texts stand: of each kind the text's number among those of its kind gives its iid.
 */
enum table { TABLE_EVENTS, TABLE_ARGS, TABLE_TEXTS, TABLES };

struct writer {
	const struct ss_megascale *m;
	struct ss_gz_out *gz;
	struct ss_buf packet, event, note, interned, item;
	struct ss_strmap texts[TABLES];
	SS_VEC(uint64_t) iids[TABLES];
	uint64_t last_iid, last_uuid;
	bool begun, no_memory;
	uint64_t budget;	/* annotations that may still be written */
};

/* The number of a text; a new one goes into the packet in progress. */
static uint64_t intern(struct writer *w, enum table table, struct ss_str text)
{
	static const uint32_t fields[TABLES] = { INTERNED_EVENT_NAMES, INTERNED_ANNOTATION_NAMES, INTERNED_STRINGS };
	uint32_t i = ss_strmap_add(&w->texts[table], text);
	if (i != SS_NONE && i < w->iids[table].n)
		return w->iids[table].v[i];
	if (i == SS_NONE || !ss_vec_push(&w->iids[table], w->last_iid + 1)) {
		w->no_memory = true;
		return 0;
	}
	w->last_iid++;
	w->item.n = 0;
	ss_pbo_uint(&w->item, INTERNED_IID, w->last_iid);
	ss_pbo_bytes(&w->item, INTERNED_TEXT, text);
	ss_pbo_bytes(&w->interned, fields[table], ss_buf_get(&w->item));
	return w->last_iid;
}

/* End the packet in progress, which has what `packet` and `interned` hold. */
static void send_packet(struct writer *w)
{
	ss_pbo_uint(&w->packet, PACKET_SEQUENCE_ID, 1);
	ss_pbo_uint(&w->packet, PACKET_SEQUENCE_FLAGS, w->begun ? FLAGS_NEXT : FLAGS_FIRST);
	if (w->interned.n)
		ss_pbo_bytes(&w->packet, PACKET_INTERNED_DATA, ss_buf_get(&w->interned));
	w->begun = true;
	w->item.n = 0;
	ss_pbo_bytes(&w->item, TRACE_PACKET, ss_buf_get(&w->packet));
	w->no_memory = w->no_memory || w->packet.no_memory || w->interned.no_memory || w->item.no_memory || w->event.no_memory ||
		       w->note.no_memory;
	if (!w->no_memory)
		ss_gz_write(w->gz, ss_buf_get(&w->item));
	w->packet.n = w->interned.n = 0;
}

static uint64_t add_track(struct writer *w, struct ss_str name, uint64_t parent, const char *unit, const char *share_key)
{
	struct ss_buf *b = &w->event;
	b->n = 0;
	ss_pbo_uint(b, TRACK_UUID, ++w->last_uuid);
	ss_pbo_bytes(b, TRACK_NAME, name);
	if (parent)
		ss_pbo_uint(b, TRACK_PARENT_UUID, parent);
	if (unit) {
		w->note.n = 0;
		ss_pbo_bytes(&w->note, COUNTER_UNIT_NAME, ss_str_from(unit));
		ss_pbo_bytes(&w->note, COUNTER_SHARE_KEY, ss_str_from(share_key));
		ss_pbo_bytes(b, TRACK_COUNTER, ss_buf_get(&w->note));
	}
	ss_pbo_bytes(&w->packet, PACKET_TRACK_DESCRIPTOR, ss_buf_get(b));
	send_packet(w);
	return w->last_uuid;
}

static void begin_event(struct writer *w, uint64_t track, uint64_t type, int64_t at_ps)
{
	ss_pbo_uint(&w->packet, PACKET_TIMESTAMP, at_ps > 0 ? (uint64_t)at_ps / 1000 : 0);
	w->event.n = 0;
	ss_pbo_uint(&w->event, EVENT_TYPE, type);
	ss_pbo_uint(&w->event, EVENT_TRACK_UUID, track);
}

static void end_event(struct writer *w)
{
	ss_pbo_bytes(&w->packet, PACKET_TRACK_EVENT, ss_buf_get(&w->event));
	send_packet(w);
}

/* An annotation is begun by its name and ended by end_note. */
static struct ss_buf *begin_note(struct writer *w, struct ss_str name)
{
	uint64_t iid = intern(w, TABLE_ARGS, name);
	w->note.n = 0;
	ss_pbo_uint(&w->note, ANNOTATION_NAME_IID, iid);
	return &w->note;
}

static void end_note(struct writer *w)
{
	ss_pbo_bytes(&w->event, EVENT_ANNOTATIONS, ss_buf_get(&w->note));
}

static void note_int(struct writer *w, struct ss_str name, int64_t v)
{
	ss_pbo_uint(begin_note(w, name), ANNOTATION_INT, (uint64_t)v);
	end_note(w);
}

static void note_text(struct writer *w, struct ss_str name, struct ss_str v)
{
	uint64_t iid = intern(w, TABLE_TEXTS, v);
	ss_pbo_uint(begin_note(w, name), ANNOTATION_STRING_IID, iid);
	end_note(w);
}

static void note_flows(struct writer *w, struct ss_str name, const uint32_t *flows, size_t n)
{
	if (!n)
		return;
	struct ss_buf *b = begin_note(w, name);
	if (n == 1)
		ss_pbo_uint(b, ANNOTATION_INT, flows[0]);
	for (size_t i = 0; n > 1 && i < n; i++) {
		w->item.n = 0;
		ss_pbo_uint(&w->item, ANNOTATION_INT, flows[i]);
		ss_pbo_bytes(b, ANNOTATION_ARRAY, ss_buf_get(&w->item));
	}
	end_note(w);
}

/* Stats that tie events together for other tools, or that the timeline shows by itself. */
static bool is_internal(enum ss_stat stat)
{
	switch (stat) {
	case SS_STAT_CONSUMER_ID:
	case SS_STAT_CONSUMER_TYPE:
	case SS_STAT_PRODUCER_ID:
	case SS_STAT_PRODUCER_TYPE:
	case SS_STAT_FLOPS:
	case SS_STAT_FLOW:
	case SS_STAT_IS_ASYNC:
	case SS_STAT_ROOT_LEVEL:
	case SS_STAT_KERNEL_DETAILS:
	case SS_STAT_PROGRAM_ID:
	case SS_STAT_SYMBOL_ID:
	case SS_STAT_SOURCE:
	case SS_STAT_SOURCE_STACK:
		return true;
	default:
		return false;
	}
}

static void note_stat(struct writer *w, struct ss_str name, const struct ss_xstat *s)
{
	switch (s->kind) {
	case SS_X_STR:
		note_text(w, name, s->s);
		break;
	case SS_X_UINT:
		ss_pbo_uint(begin_note(w, name), ANNOTATION_UINT, s->u);
		end_note(w);
		break;
	case SS_X_INT:
		note_int(w, name, (int64_t)s->u);
		break;
	case SS_X_DOUBLE:
		ss_pbo_double(begin_note(w, name), ANNOTATION_DOUBLE, ss_pb_double(s->u));
		end_note(w);
		break;
	case SS_X_BYTES: /* messages: XProf says that they are there, not what they hold */
		note_text(w, name, SS_STR(""));
		break;
	case SS_X_NONE:
		break;
	}
}

static void note_stats(struct writer *w, const struct ss_xplane *x, struct ss_xstats it, bool has_run)
{
	struct ss_xstat s;
	while (w->budget && ss_xstats_next(&it, &s)) {
		if (s.meta == SS_NONE || is_internal(s.stat) || (has_run && s.stat == SS_STAT_RUN_ID))
			continue;
		w->budget--;
		note_stat(w, x->stat_meta[s.meta].name, &s);
	}
}

static void note_event(struct writer *w, const struct ss_ms_track *t, const struct ss_ms_event *e)
{
	const struct ss_ms_rare_stats *rare = e->rare == SS_NONE ? NULL : &w->m->rare[e->rare];
	bool has_run = e->run != SS_MS_NO_RUN;
	if (e->at != SS_NONE) {
		const struct ss_xplane *x = t->plane->x;
		uint32_t meta = e->line->ev.meta[e->at];
		if (ss_event_display_name(t->plane, meta).n)
			note_text(w, SS_STR("long_name"), ss_event_name(t->plane, meta));
		if (meta < x->nevent_meta)
			note_stats(w, x, ss_xevent_meta_stats(x, meta), has_run);
		note_stats(w, x, ss_line_stats(t->plane, e->line, e->at), has_run);
	}
	if (has_run)
		note_int(w, SS_STR("run_id"), e->run);
	if (!rare)
		return;
	if (rare->is_last)
		note_int(w, SS_STR("is_last_instance"), 1);
	if (rare->hidden.n) {
		note_text(w, SS_STR("hidden_events"), rare->hidden);
		note_text(w, SS_STR("description"), SS_STR("Each is shorter than 1 ns. group_tiny_events=false shows them."));
	}
	note_flows(w, SS_STR("flow_in"), rare->in, rare->nin);
	note_flows(w, SS_STR("flow_out"), rare->out, rare->nout);
}

/* Arrows end where an event begins and begin where it ends. */
static void add_event(struct writer *w, uint64_t track, const struct ss_ms_track *t, const struct ss_ms_event *e)
{
	const struct ss_ms_rare_stats *rare = e->rare == SS_NONE ? NULL : &w->m->rare[e->rare];
	bool instant = e->dur_ps == 0;
	begin_event(w, track, instant ? TYPE_INSTANT : TYPE_SLICE_BEGIN, e->begin_ps);
	ss_pbo_uint(&w->event, EVENT_NAME_IID, intern(w, TABLE_EVENTS, ss_ms_name(w->m, t, e)));
	note_event(w, t, e);
	for (size_t i = 0; rare && i < rare->nin; i++)
		ss_pbo_fixed64(&w->event, EVENT_FLOW_IDS, rare->in[i]);
	if (!instant) {
		end_event(w);
		begin_event(w, track, TYPE_SLICE_END, (int64_t)((uint64_t)e->begin_ps + e->dur_ps));
	}
	for (size_t i = 0; rare && i < rare->nout; i++)
		ss_pbo_fixed64(&w->event, EVENT_FLOW_IDS, rare->out[i]);
	end_event(w);
}

static void add_tracks(struct writer *w, const struct ss_ms_track *tracks, size_t n, uint64_t parent)
{
	static const struct {
		const char *name, *shown;
	} lines[] = {
		{ "Steps", "1. Steps" }, { "XLA Modules", "2. XLA Modules" }, { "XLA Ops", "3. XLA Ops" },
		{ "XLA TraceMe", "4. XLA TraceMe" },
	};
	for (size_t i = 0; i < n && !w->no_memory; i++) {
		struct ss_str name = tracks[i].name;
		for (size_t k = 0; k < SS_COUNT(lines); k++)
			if (ss_str_is(name, lines[k].name))
				name = ss_str_from(lines[k].shown);
		uint64_t track = add_track(w, name, parent, NULL, NULL);
		for (size_t k = 0; k < tracks[i].n && !w->no_memory; k++)
			add_event(w, track, &tracks[i], &tracks[i].v[k]);
	}
}

static void add_counter(struct writer *w, uint64_t parent, enum ss_ms_counter counter)
{
	static const struct {
		const char *name, *unit, *share_key;
		bool whole;
	} counters[SS_MS_COUNTERS] = {
		[SS_MS_BYTES_RX] = { "Outstanding Bytes RX", "bytes", "outstanding_bytes", true },
		[SS_MS_BYTES_TX] = { "Outstanding Bytes TX", "bytes", "outstanding_bytes", true },
		[SS_MS_GBPS_RX] = { "Bandwidth RX (Gbps)", "Gbps", "bandwidth", false },
		[SS_MS_GBPS_TX] = { "Bandwidth TX (Gbps)", "Gbps", "bandwidth", false },
		[SS_MS_INFLIGHT] = { "Inflight Collectives", "count", "inflight_collectives", true },
		[SS_MS_INFLIGHT_BYTES] = { "Inflight Collective Payload", "bytes", "inflight_collective_payload", true },
	};
	const struct ss_ms_series *s = &w->m->counters[counter];
	if (!s->n)
		return;
	uint64_t track = add_track(w, ss_str_from(counters[counter].name), parent, counters[counter].unit,
				   counters[counter].share_key);
	for (size_t i = 0; i < s->n && !w->no_memory; i++) {
		double v = s->v[i].value;
		begin_event(w, track, TYPE_COUNTER, s->v[i].at_ps);
		if (counters[counter].whole && v > -0x1p62 && v < 0x1p62)
			ss_pbo_uint(&w->event, EVENT_COUNTER, (uint64_t)(int64_t)v);
		else
			ss_pbo_double(&w->event, EVENT_DOUBLE_COUNTER, v);
		end_event(w);
	}
}

static bool any_counter(const struct ss_megascale *m, enum ss_ms_counter from, enum ss_ms_counter to)
{
	for (enum ss_ms_counter c = from; c <= to; c++)
		if (m->counters[c].n)
			return true;
	return false;
}

static void add_counters(struct writer *w)
{
	if (!any_counter(w->m, SS_MS_BYTES_RX, SS_MS_INFLIGHT_BYTES))
		return;
	uint64_t all = add_track(w, SS_STR("1. Global Counters"), 0, NULL, NULL);
	if (any_counter(w->m, SS_MS_BYTES_RX, SS_MS_GBPS_TX)) {
		uint64_t network = add_track(w, SS_STR("Network"), all, NULL, NULL);
		for (enum ss_ms_counter c = SS_MS_BYTES_RX; c <= SS_MS_GBPS_TX; c++)
			add_counter(w, network, c);
	}
	if (any_counter(w->m, SS_MS_INFLIGHT, SS_MS_INFLIGHT_BYTES)) {
		uint64_t megascale = add_track(w, SS_STR("Megascale"), all, NULL, NULL);
		add_counter(w, megascale, SS_MS_INFLIGHT);
		add_counter(w, megascale, SS_MS_INFLIGHT_BYTES);
	}
}

static void add_tpus(struct writer *w)
{
	if (!w->m->ntpus)
		return;
	uint64_t all = add_track(w, SS_STR("2. TPUs"), 0, NULL, NULL);
	for (size_t i = 0; i < w->m->ntpus && !w->no_memory; i++) {
		const struct ss_ms_tpu *tpu = &w->m->tpus[i];
		uint64_t track = add_track(w, tpu->name, all, NULL, NULL);
		add_tracks(w, tpu->lines, tpu->nlines, track);
		if (tpu->nruntime)
			add_tracks(w, tpu->runtime, tpu->nruntime, add_track(w, SS_STR("Megascale"), track, NULL, NULL));
	}
}

static uint64_t count_events(const struct ss_megascale *m)
{
	uint64_t n = 0;
	for (size_t i = 0; i < m->ntpus; i++) {
		for (size_t k = 0; k < m->tpus[i].nlines; k++)
			n += m->tpus[i].lines[k].n;
		for (size_t k = 0; k < m->tpus[i].nruntime; k++)
			n += m->tpus[i].runtime[k].n;
	}
	return n;
}

bool ss_perfetto_write(const struct ss_megascale *m, struct ss_arena *arena, struct ss_str *out, struct ss_err *err)
{
	/*
	 * Stats of metadata are repeated for each event; a hostile file could have any number of
	 * both.
	 */
	struct writer w = { .m = m, .gz = ss_gz_open(SS_GZ_FAST), .budget = 64 * count_events(m) + 100000 };
	struct ss_str file = { NULL, 0 };
	bool ok = w.gz != NULL;
	if (ok) {
		add_counters(&w);
		add_tpus(&w);
		ok = !w.no_memory && ss_gz_finish(w.gz, &file);
	}
	if (ok) {
		*out = ss_arena_str(arena, file);
		ok = out->p != NULL;
	}
	ss_gz_close(w.gz);
	struct ss_buf *bufs[] = { &w.packet, &w.event, &w.note, &w.interned, &w.item };
	for (size_t i = 0; i < SS_COUNT(bufs); i++)
		ss_buf_free(bufs[i]);
	for (size_t i = 0; i < TABLES; i++) {
		ss_strmap_free(&w.texts[i]);
		ss_vec_free(&w.iids[i]);
	}
	return ok || ss_fail_mem(err);
}
