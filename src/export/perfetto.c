/*
 * perfetto.c - a trace for Perfetto: a process for each plane, a track for each lane of a line, begins and ends with their stats
 * as annotations, counters, and flows between launches and what they launched. Names are sent once.
 */
#include "export/lanes.h"

#include "base/map.h"
#include "model/host/identity.h"
#include "model/model.h"
#include "sql/directory.h"
#include "wire/pb_out.h"

/* Fields of Trace, TracePacket, TrackDescriptor, TrackEvent and InternedData. */
enum {
	TRACE_PACKET = 1,
	PACKET_TIMESTAMP = 8,
	PACKET_SEQUENCE = 10,
	PACKET_TRACK_EVENT = 11,
	PACKET_INTERNED = 12,
	PACKET_FLAGS = 13,
	PACKET_TRACK = 60,
	PACKET_FIRST = 87,
	TRACK_UUID = 1,
	TRACK_NAME = 2,
	TRACK_PROCESS = 3,
	TRACK_PARENT = 5,
	TRACK_COUNTER = 8,
	TRACK_ORDERING = 11,
	TRACK_RANK = 12,
	PROCESS_PID = 1,
	PROCESS_NAME = 6,
	EVENT_ANNOTATION = 4,
	EVENT_TYPE = 9,
	EVENT_NAME_IID = 10,
	EVENT_TRACK = 11,
	EVENT_DOUBLE_VALUE = 44,
	EVENT_FLOWS = 47,
	ANNOTATION_NAME_IID = 1,
	ANNOTATION_UINT = 3,
	ANNOTATION_INT = 4,
	ANNOTATION_DOUBLE = 5,
	ANNOTATION_TEXT = 6,
	INTERNED_EVENT_NAMES = 2,
	INTERNED_ANNOTATION_NAMES = 3,
	INTERNED_IID = 1,
	INTERNED_TEXT = 2,
};
enum { TYPE_BEGIN = 1, TYPE_END = 2, TYPE_COUNTER = 4 };
enum { STATE_CLEARED = 1, STATE_NEEDED = 2, CHILDREN_BY_RANK = 3 };

#define TEXT_MOST 4096u /* of an annotation */

struct writer {
	struct ss_export *x;
	struct ss_out *o;
	struct ss_strmap names, keys; /* sent */
	struct ss_buf packet, event, interned, entry, text;
	uint64_t track; /* of the lane that is written */
	bool begun;
};

/* Readers of Protocol Buffers refuse other texts. Valid until the next. */
static struct ss_str utf8(struct writer *w, struct ss_str s)
{
	if (ss_utf8_valid(s))
		return s;
	w->text.n = 0;
	ss_buf_utf8(&w->text, s);
	return ss_buf_get(&w->text);
}

static bool put_packet(struct writer *w, uint64_t ns, bool timed)
{
	char head[2 * SS_VARINT_BYTES];
	if (timed)
		ss_pbo_uint(&w->packet, PACKET_TIMESTAMP, ns);
	ss_pbo_uint(&w->packet, PACKET_SEQUENCE, 1);
	ss_pbo_uint(&w->packet, PACKET_FLAGS, w->begun ? STATE_NEEDED : STATE_CLEARED);
	if (!w->begun)
		ss_pbo_uint(&w->packet, PACKET_FIRST, 1);
	w->begun = true;
	if (w->interned.n)
		ss_pbo_bytes(&w->packet, PACKET_INTERNED, ss_buf_get(&w->interned));
	w->interned.n = 0;
	char *end = ss_pbo_put(ss_pbo_put(head, TRACE_PACKET << 3 | 2), w->packet.n);
	ss_out_str(w->o, (struct ss_str){ head, (size_t)(end - head) });
	ss_out_str(w->o, ss_buf_get(&w->packet));
	w->packet.n = 0;
	return !w->packet.no_memory && !w->event.no_memory && !w->interned.no_memory &&
	       !w->entry.no_memory;
}

/* The number of a text, which is sent when it is new. 0: memory is out. */
static uint64_t intern(struct writer *w, struct ss_strmap *known, uint32_t field,
		       struct ss_str text)
{
	uint32_t n = known->n, at = ss_strmap_add(known, text);
	if (at == SS_NONE)
		return 0;
	if (at < n)
		return at + 1u;
	w->entry.n = 0;
	ss_pbo_uint(&w->entry, INTERNED_IID, at + 1u);
	ss_pbo_bytes(&w->entry, INTERNED_TEXT, utf8(w, text));
	ss_pbo_bytes(&w->interned, field, ss_buf_get(&w->entry));
	return at + 1u;
}

static bool put_annotation(struct writer *w, struct ss_str key, const struct ss_xstat *s)
{
	uint64_t name = intern(w, &w->keys, INTERNED_ANNOTATION_NAMES, key);
	if (s->kind == SS_X_BYTES || s->kind == SS_X_NONE)
		return true;
	w->entry.n = 0;
	ss_pbo_uint(&w->entry, ANNOTATION_NAME_IID, name);
	if (s->kind == SS_X_INT)
		ss_pbo_uint(&w->entry, ANNOTATION_INT, s->u);
	else if (s->kind == SS_X_UINT)
		ss_pbo_uint(&w->entry, ANNOTATION_UINT, s->u);
	else if (s->kind == SS_X_DOUBLE)
		ss_pbo_double(&w->entry, ANNOTATION_DOUBLE, ss_pb_double(s->u));
	else
		ss_pbo_bytes(&w->entry, ANNOTATION_TEXT, utf8(w, ss_utf8_front(s->s, TEXT_MOST)));
	ss_pbo_bytes(&w->event, EVENT_ANNOTATION, ss_buf_get(&w->entry));
	return name;
}

/* The event's own stats. What ties a launch to a kernel becomes a flow as well. */
static bool put_stats(struct writer *w, const struct ss_sql_line *line, uint32_t i)
{
	const struct ss_xplane *x = line->plane->x;
	struct ss_xstats it = ss_xevents_stats(&line->l.ev, x, line->l.src, i);
	struct ss_xstat s;
	while (ss_xstats_next(&it, &s)) {
		if (s.meta != SS_NONE && !put_annotation(w, x->stat_meta[s.meta].name, &s))
			return false;
		if (s.stat == SS_STAT_CORRELATION_ID && s.u)
			ss_pbo_fixed64(&w->event, EVENT_FLOWS, ss_mix(line->host_at + 1u, s.u));
	}
	return true;
}

static uint64_t to_ns(int64_t ps)
{
	return ps < 0 ? 0 : (uint64_t)ps / 1000;
}

static bool begin(void *arg, const struct ss_sql_line *line, uint32_t i, int64_t ps)
{
	struct writer *w = arg;
	struct ss_str name = ss_event_label(line->plane, line->l.ev.meta[i]);
	uint64_t iid =
		intern(w, &w->names, INTERNED_EVENT_NAMES, name.n ? name : SS_STR("(no name)"));
	w->event.n = 0;
	ss_pbo_uint(&w->event, EVENT_TYPE, TYPE_BEGIN);
	ss_pbo_uint(&w->event, EVENT_TRACK, w->track);
	ss_pbo_uint(&w->event, EVENT_NAME_IID, iid);
	if (!iid || !put_stats(w, line, i))
		return false;
	ss_pbo_bytes(&w->packet, PACKET_TRACK_EVENT, ss_buf_get(&w->event));
	w->x->nevents++;
	return put_packet(w, to_ns(ps), true);
}

static bool end(void *arg, const struct ss_sql_line *line, uint32_t i, int64_t ps)
{
	struct writer *w = arg;
	(void)line;
	(void)i;
	w->event.n = 0;
	ss_pbo_uint(&w->event, EVENT_TYPE, TYPE_END);
	ss_pbo_uint(&w->event, EVENT_TRACK, w->track);
	ss_pbo_bytes(&w->packet, PACKET_TRACK_EVENT, ss_buf_get(&w->event));
	return put_packet(w, to_ns(ps), true);
}

static bool put_plane(struct writer *w, const struct ss_sql_plane *p, uint32_t at)
{
	struct ss_buf *process = &w->entry;
	process->n = 0;
	ss_pbo_uint(process, PROCESS_PID, at + 1u);
	w->event.n = 0;
	ss_pbo_uint(&w->event, TRACK_UUID, at + 1u);
	struct ss_buf name = { 0 };
	if (w->x->model->nhosts > 1) {
		ss_buf_str(&name, ss_host_name(p->host));
		ss_buf_char(&name, ' ');
	}
	ss_buf_str(&name, utf8(w, p->plane->name));
	ss_pbo_bytes(process, PROCESS_NAME, ss_buf_get(&name));
	ss_pbo_bytes(&w->event, TRACK_PROCESS, ss_buf_get(process));
	ss_pbo_uint(&w->event, TRACK_ORDERING, CHILDREN_BY_RANK);
	ss_pbo_bytes(&w->packet, PACKET_TRACK, ss_buf_get(&w->event));
	bool ok = !name.no_memory;
	ss_buf_free(&name);
	return put_packet(w, 0, false) && ok;
}

static bool put_track(struct writer *w, const struct ss_sql_line *line, uint32_t at,
		      struct ss_str name, bool counter)
{
	w->event.n = 0;
	ss_pbo_uint(&w->event, TRACK_UUID, w->track);
	ss_pbo_bytes(&w->event, TRACK_NAME, utf8(w, name));
	ss_pbo_uint(&w->event, TRACK_PARENT, line->plane_at + 1u);
	if (counter)
		ss_pbo_bytes(&w->event, TRACK_COUNTER, SS_STR(""));
	ss_pbo_uint(&w->event, TRACK_RANK, at);
	ss_pbo_bytes(&w->packet, PACKET_TRACK, ss_buf_get(&w->event));
	return put_packet(w, 0, false);
}

static bool put_line(struct writer *w, struct ss_sql_line *line, uint32_t at)
{
	struct ss_lanes l;
	if (!ss_lanes_of(&l, w->x, line))
		return false;
	bool ok = true;
	for (unsigned lane = 0; ok && lane < l.n; lane++) {
		w->track = ((uint64_t)at + 1) << 32 | (lane + 1u);
		ok = put_track(w, line, at, ss_sql_line_name(line), false) &&
		     ss_lane_write(&l, lane, line, &(struct ss_lane_writer){ begin, end, w });
	}
	ss_export_lose(w->x, l.nleft_out, SS_EXPORT_OVERLAP);
	ss_lanes_free(&l);
	return ok;
}

/* A line of counters: a track for each of their names. */
static bool put_counters(struct writer *w, struct ss_sql_line *line, uint32_t at)
{
	struct ss_u64map tracks = { 0 };
	uint32_t lo, hi;
	bool ok = ss_export_range(w->x, line, &lo, &hi);
	for (uint32_t k = lo; ok && k < hi; k++) {
		uint32_t i = ss_sql_in_time(line, k), meta = line->l.ev.meta[i];
		uint32_t known = (uint32_t)tracks.n, number = ss_u64map_add(&tracks, meta, known);
		double v = 0;
		w->track = ((uint64_t)at + 1) << 32 | (number + 1u);
		ok = number != SS_NONE &&
		     (number < known ||
		      put_track(w, line, at, ss_event_name_in_file(line->plane, meta), true));
		if (!ok)
			continue;
		if (!ss_export_counter(line, i, &v)) {
			ss_export_lose(w->x, 1, "samples of counters without a number");
			continue;
		}
		w->event.n = 0;
		ss_pbo_uint(&w->event, EVENT_TYPE, TYPE_COUNTER);
		ss_pbo_uint(&w->event, EVENT_TRACK, w->track);
		ss_pbo_double(&w->event, EVENT_DOUBLE_VALUE, v);
		ss_pbo_bytes(&w->packet, PACKET_TRACK_EVENT, ss_buf_get(&w->event));
		w->x->nevents++;
		ok = put_packet(w, to_ns(ss_sql_start_ps(line, i)), true);
	}
	ss_u64map_free(&tracks);
	return ok;
}

static bool put_all(struct writer *w)
{
	const struct ss_sql_directory *d = w->x->d;
	for (uint32_t p = 0; p < d->nplanes; p++) {
		bool any = false;
		for (uint32_t k = d->planes[p].first_line;
		     k < d->planes[p].first_line + d->planes[p].nlines; k++) {
			struct ss_sql_line *line = &d->lines[k];
			if (!ss_export_takes(w->x, line))
				continue;
			bool counters = ss_str_is(line->l.name, "_counters_");
			if ((!any && !put_plane(w, &d->planes[p], p)) ||
			    !(counters ? put_counters : put_line)(w, line, k))
				return false;
			any = true;
		}
	}
	return true;
}

static bool write(struct ss_export *x, struct ss_out *o, struct ss_err *err)
{
	struct writer w = { .x = x, .o = o };
	bool ok = put_all(&w);
	ss_strmap_free(&w.names);
	ss_strmap_free(&w.keys);
	ss_buf_free(&w.packet);
	ss_buf_free(&w.event);
	ss_buf_free(&w.interned);
	ss_buf_free(&w.entry);
	ss_buf_free(&w.text);
	return ok || ss_fail_mem(err);
}

const struct ss_export_format ss_export_perfetto = {
	.name = "perfetto",
	.doc = "a trace for ui.perfetto.dev",
	.binary = true,
	.write = write,
};
