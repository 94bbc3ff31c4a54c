/* perfetto.c - packet by packet. */
#include "import/perfetto.h"

#include "import/chrome_args.h"
#include "import/perfetto_fields.h"
#include "import/perfetto_state.h"
#include "wire/gz_in.h"
#include "wire/pb.h"

#include <stdlib.h>

#define SCRATCH_BYTES ((size_t)1 << 20)
/* Writers make 5 to 20 bytes from one. Each costs time twice, and an event more memory than its bytes. */
#define UNPACKED_PER_BYTE 50
#define UNPACKED_ALWAYS ((uint64_t)16 << 20)
#define FORGET_STRIDE ((size_t)4 << 20)
#define DEPTH 8		/* of packets in packets, of annotations in annotations, of tracks in tracks */
/* Tracks that are no thread: behind the numbers of any system's threads. */
#define MADE_UP_TID INT64_C(0x40000000)
#define CLOCK_REALTIME 1

struct reader {
	struct ss_space_out *o;
	struct ss_perfetto_loss *loss;
	const struct ss_file *file;	/* mapped, or NULL */
	size_t forgotten;
	struct ss_pf_state state;
	struct ss_arena scratch;	/* of some events */
	struct ss_chrome_args args;
	struct ss_u64map flows;		/* that began */
	uint64_t unpacked_bytes, max_unpacked_bytes;
	bool any;
};

/* One track event, its numbers not looked up yet. */
struct event {
	struct ss_str name, category;
	uint64_t type, track, duration_us;
	int64_t delta_us, absolute_us;
	bool has_delta, has_absolute, counts;
	double value;
};

/* ---- tracks ---- */

/* "COMPUTE GPU [2] QUEUE [1]": the number behind the word, -1 for what is no queue of a GPU. */
static int64_t number_behind(struct ss_str word, struct ss_str name)
{
	size_t at = ss_str_find(name, word);
	uint64_t n;
	struct ss_str rest = ss_str_sub(name, at == SS_NPOS ? name.n : at + word.n, name.n);
	return ss_str_take_u64(&rest, &n) && n < 1000000 ? (int64_t)n : -1;
}

/* The track itself, or the nearest above it, that says its process. */
static const struct ss_pf_track *of_process(struct reader *r, const struct ss_pf_track *t)
{
	for (int i = 0; i < DEPTH && t->pid < 0; i++) {
		uint32_t up = t->parent ? ss_u64map_get(&r->state.by_uuid, t->parent) : SS_NONE;
		if (up == SS_NONE)
			break;
		t = &r->state.tracks.v[up];
	}
	return t;
}

static uint32_t plane_of(struct reader *r, const struct ss_pf_track *t)
{
	int64_t gpu = number_behind(SS_STR("GPU ["), t->name);
	const struct ss_pf_track *p = of_process(r, t);
	struct ss_str key = gpu >= 0    ? ss_arena_printf(&r->scratch, "/device:GPU:%lld", (long long)gpu)
			    : p->pid >= 0 ? ss_arena_printf(&r->scratch, "%lld", (long long)p->pid)
					  : SS_STR("no process");
	uint32_t plane = key.p ? ss_so_plane(r->o, key) : SS_NONE;
	if (plane == SS_NONE) {
		r->o->no_memory = true;
		return SS_NONE;
	}
	if (gpu >= 0)
		r->o->planes.v[plane].id = gpu;
	return plane;
}

static struct ss_str kept(struct ss_space_out *o, struct ss_str s)
{
	struct ss_str copy = ss_arena_str(&o->arena, s);
	o->no_memory |= !copy.p;
	return copy.p ? copy : SS_STR("");
}

/* Plane and line of a track, made when an event first lies on it. */
static struct ss_pf_track *place_of(struct reader *r, uint64_t uuid)
{
	struct ss_pf_track *t = ss_pf_track(&r->state, uuid);
	if (!t || t->line != SS_NONE)
		return t;
	t->plane = plane_of(r, t);
	struct ss_str key = ss_arena_printf(&r->scratch, "%llu", (unsigned long long)uuid);
	t->line = t->plane != SS_NONE && key.p ? ss_so_line(r->o, t->plane, key) : SS_NONE;
	if (t->line == SS_NONE) {
		r->o->no_memory = true;
		return NULL;
	}
	struct ss_so_line *l = &r->o->planes.v[t->plane].lines.v[t->line];
	const struct ss_pf_track *up = of_process(r, t);
	l->id = t->tid >= 0 ? t->tid : MADE_UP_TID + (t - r->state.tracks.v);
	struct ss_str above = up->name.n ? up->name : up->process.n ? up->process : SS_STR("no name");
	l->name = kept(r->o, t->name.n || t->tid >= 0 ? t->name : above);
	return t;
}

/* ---- what an event carries ---- */

static void add_arg(struct reader *r, struct ss_str name, enum ss_so_kind kind, uint64_t u, struct ss_str s)
{
	ss_chrome_args_add(&r->args, (struct ss_so_arg){ .name = name, .kind = kind, .u = u, .s = s });
}

static uint64_t bits_of(double d)
{
	uint64_t u;
	memcpy(&u, &d, sizeof(u));
	return u;
}

/* The name that an annotation has, behind those of the annotations it stands in. */
static struct ss_str annotation_name(struct reader *r, const struct ss_pf_sequence *q, struct ss_str body, struct ss_str above)
{
	struct ss_pb c = ss_pb_of(body);
	struct ss_pb_field f;
	struct ss_str name = SS_STR("");
	while (ss_pb_next(&c, &f))
		if (f.key == PB_LEN(ANNOTATION_NAME))
			name = f.bytes;
		else if (f.key == PB_VAR(ANNOTATION_NAME_IID))
			ss_pf_name(&r->state, q, INTERNED_ANNOTATION_NAMES, f.u, &name);
	if (!above.n || !name.n)
		return above.n ? above : name;
	name = ss_arena_printf(&r->scratch, SS_FMT "." SS_FMT, SS_ARG(above), SS_ARG(name));
	r->o->no_memory |= !name.p;
	return name.p ? name : SS_STR("");
}

static void take_annotation(struct reader *r, const struct ss_pf_sequence *q, struct ss_str body, struct ss_str above, int depth)
{
	struct ss_str name = annotation_name(r, q, body, above), text;
	struct ss_pb c = ss_pb_of(body);
	struct ss_pb_field f;
	while (ss_pb_next(&c, &f))
		switch (f.key) {
		case PB_VAR(ANNOTATION_BOOL):
			add_arg(r, name, SS_SO_STR, 0, f.u ? SS_STR("true") : SS_STR("false"));
			break;
		case PB_VAR(ANNOTATION_UINT):
		case PB_VAR(ANNOTATION_POINTER):
			add_arg(r, name, f.u <= INT64_MAX ? SS_SO_INT : SS_SO_UINT, f.u, SS_STR(""));
			break;
		case PB_VAR(ANNOTATION_INT):
			add_arg(r, name, SS_SO_INT, f.u, SS_STR(""));
			break;
		case PB_I64(ANNOTATION_DOUBLE):
			add_arg(r, name, SS_SO_DOUBLE, f.u, SS_STR(""));
			break;
		case PB_LEN(ANNOTATION_STRING):
		case PB_LEN(ANNOTATION_JSON):
			add_arg(r, name, SS_SO_STR, 0, f.bytes);
			break;
		case PB_VAR(ANNOTATION_STRING_IID):
			if (ss_pf_name(&r->state, q, INTERNED_ANNOTATION_STRINGS, f.u, &text))
				add_arg(r, name, SS_SO_STR, 0, text);
			break;
		case PB_LEN(ANNOTATION_ENTRIES):
		case PB_LEN(ANNOTATION_VALUES):
			if (depth < DEPTH && r->args.n < SS_CHROME_ARGS)
				take_annotation(r, q, f.bytes, name, depth + 1);
			break;
		}
}

/* An arrow from the event before with this number to this one. */
static void take_flow(struct reader *r, const struct ss_pf_track *t, struct ss_so_time at, uint64_t id, bool ends)
{
	uint32_t begun = ss_u64map_get(&r->flows, id);
	struct ss_so_flow f = { .at = at, .id = ss_mix(id, 1) };
	f.dir = ends ? SS_SO_FLOW_IN : begun == SS_NONE ? SS_SO_FLOW_OUT : SS_SO_FLOW_BOTH;
	if (begun == SS_NONE && ss_u64map_add(&r->flows, id, 1) == SS_NONE)
		r->o->no_memory = true;
	ss_so_flow(r->o, t->plane, t->line, &f);
}

static void take_flows(struct reader *r, const struct ss_pf_track *t, struct ss_so_time at, struct ss_str body)
{
	struct ss_pb c = ss_pb_of(body);
	struct ss_pb_field f;
	while (ss_pb_next(&c, &f)) {
		uint32_t field = f.key >> 3;
		bool ends = field == EVENT_FLOW_END || field == EVENT_FLOW_END_OLD;
		if (!ends && field != EVENT_FLOW && field != EVENT_FLOW_OLD)
			continue;
		if ((f.key & 7) != 2) {
			take_flow(r, t, at, f.u, ends);
			continue;
		}
		/* Packed, eight bytes each. */
		for (size_t i = 0; i + 8 <= f.bytes.n; i += 8) {
			uint64_t id;
			memcpy(&id, f.bytes.p + i, sizeof(id));
			take_flow(r, t, at, id, ends);
		}
	}
}

/* Translate rocprofv3's names of events and numbers to those of PyTorch, which later code knows. */
static struct ss_str known_words(struct reader *r, struct ss_str category)
{
	static const struct {
		const char *theirs, *ours;
	} words[] = {
		{ "kernel_dispatch", "kernel" }, { "memory_copy", "gpu_memcpy" }, { "hip_api", "hip_runtime" },
		{ "hsa_api", "hip_runtime" },	 { "rccl_api", "hip_runtime" },
	};
	for (size_t i = 0; i < SS_COUNT(words); i++) {
		if (!ss_str_is(category, words[i].theirs))
			continue;
		for (size_t k = 0; k < r->args.n; k++)
			if (ss_str_is(r->args.v[k].name, "corr_id"))
				r->args.v[k].name = SS_STR("correlation");
		return ss_str_from(words[i].ours);
	}
	return category;
}

/* ---- one event ---- */

static void read_event(struct reader *r, const struct ss_pf_sequence *q, struct ss_str body, struct event *e)
{
	struct ss_pb c = ss_pb_of(body), in;
	struct ss_pb_field f, l;
	uint64_t name_iid = 0;
	*e = (struct event){ .name = { "", 0 }, .category = { "", 0 }, .track = q->track };
	while (ss_pb_next(&c, &f))
		switch (f.key) {
		case PB_VAR(EVENT_DELTA_US):
			e->delta_us = (int64_t)f.u;
			e->has_delta = true;
			break;
		case PB_VAR(EVENT_ABSOLUTE_US):
			e->absolute_us = (int64_t)f.u;
			e->has_absolute = true;
			break;
		case PB_VAR(EVENT_TYPE):
			e->type = f.u;
			break;
		case PB_VAR(EVENT_TRACK):
			e->track = f.u;
			break;
		case PB_VAR(EVENT_NAME_IID):
			name_iid = f.u;
			break;
		case PB_LEN(EVENT_NAME):
			e->name = f.bytes;
			break;
		case PB_LEN(EVENT_CATEGORIES):
			e->category = f.bytes;
			break;
		case PB_VAR(EVENT_CATEGORY_IIDS):
			ss_pf_name(&r->state, q, INTERNED_CATEGORIES, f.u, &e->category);
			break;
		case PB_VAR(EVENT_COUNTER):
			e->value = (double)(int64_t)f.u;
			e->counts = true;
			break;
		case PB_I64(EVENT_COUNTER_DOUBLE):
			e->value = ss_pb_double(f.u);
			e->counts = true;
			break;
		case PB_LEN(EVENT_ANNOTATIONS):
			take_annotation(r, q, f.bytes, SS_STR(""), 0);
			break;
		case PB_LEN(EVENT_LEGACY):
			in = ss_pb_of(f.bytes);
			while (ss_pb_next(&in, &l))
				if (l.key == PB_VAR(LEGACY_PHASE) && !e->type)
					e->type = l.u;
				else if (l.key == PB_VAR(LEGACY_DURATION_US))
					e->duration_us = l.u;
			break;
		}
	if (name_iid && !e->name.n)
		r->loss->nameless += !ss_pf_name(&r->state, q, INTERNED_NAMES, name_iid, &e->name);
}

static void take_counter(struct reader *r, const struct ss_pf_track *t, const struct event *e, struct ss_so_time at)
{
	uint32_t line = ss_so_line(r->o, t->plane, SS_STR("\1counters"));
	if (line == SS_NONE || !e->counts)
		return;
	r->o->planes.v[t->plane].lines.v[line].name = SS_STR("_counters_");
	r->o->planes.v[t->plane].lines.v[line].id = 0;
	struct ss_so_arg value = { .name = SS_STR("value"), .kind = SS_SO_DOUBLE, .u = bits_of(e->value) };
	struct ss_so_event ev = { .begin = at, .name = t->name.n ? t->name : e->name, .args = &value, .nargs = 1 };
	ss_so_add(r->o, t->plane, line, &ev);
}

static void place_event(struct reader *r, const struct ss_pf_track *t, struct event *e, struct ss_so_time at)
{
	e->category = known_words(r, e->category);
	if (!e->category.n && ss_kineto_is_step(e->name))
		e->category = SS_STR("user_annotation");
	int64_t queue = number_behind(SS_STR("QUEUE ["), t->name);
	if (queue >= 0 && e->type != TYPE_END)
		add_arg(r, SS_STR("stream"), SS_SO_INT, (uint64_t)queue, SS_STR(""));
	struct ss_str in_file = e->name;
	if (!ss_chrome_args_kineto(e->category, ss_kineto_of(e->category), &e->name, &r->scratch, &r->args)) {
		r->o->no_memory = true;
		return;
	}
	struct ss_so_event ev = { .begin = at, .name = e->name, .args = r->args.v, .nargs = r->args.n };
	ev.name_in_file = ss_chrome_name_in_file(in_file, e->name);
	switch (e->type) {
	case TYPE_BEGIN:
	case 'B':
		ss_so_open(r->o, t->plane, t->line, &ev);
		break;
	case TYPE_END:
	case 'E':
		/* The category is the begin's. */
		ss_so_close(r->o, t->plane, t->line, at, ev.args, ev.nargs - (e->category.n > 0 && ev.nargs > 0));
		break;
	case TYPE_INSTANT:
	case 'I':
	case 'i':
	case 'X':
		ev.dur_ps = e->type == 'X' && e->duration_us < UINT64_C(8640000000000) ? e->duration_us * 1000000 : 0;
		ss_so_add(r->o, t->plane, t->line, &ev);
		break;
	case TYPE_COUNTER:
		take_counter(r, t, e, at);
		break;
	default:
		r->loss->other++;
	}
}

/* What no clock says wraps; such events lie far from all others and are left out later. */
static int64_t ns_of_us(int64_t us)
{
	return (int64_t)((uint64_t)us * 1000);
}

static void take_event(struct reader *r, struct ss_pf_sequence *q, struct ss_str body, int64_t time_ns)
{
	struct event e;
	if (r->scratch.used_bytes > SCRATCH_BYTES)
		ss_arena_release(&r->scratch);
	r->args.n = 0;
	read_event(r, q, body, &e);
	if (e.has_absolute)
		time_ns = ns_of_us(e.absolute_us);
	else if (e.has_delta)
		time_ns = ns_of_us(q->reference_us = (int64_t)((uint64_t)q->reference_us + (uint64_t)e.delta_us));
	const struct ss_pf_track *t = place_of(r, e.track);
	if (!t || r->o->no_memory)
		return;
	const struct ss_so_time at = { .ns = time_ns };
	place_event(r, t, &e, at);
	take_flows(r, t, at, body);
}

/* ---- packets ---- */

struct packet {
	uint64_t timestamp, clock, sequence, flags;
	struct ss_str event, names, clocks, defaults, track, packed, thread;
	bool bad;
};

static struct packet read_packet(struct ss_str body)
{
	struct packet p = { 0 };
	struct ss_pb c = ss_pb_of(body);
	struct ss_pb_field f;
	while (ss_pb_next(&c, &f))
		switch (f.key) {
		case PB_VAR(PACKET_TIMESTAMP):
			p.timestamp = f.u;
			break;
		case PB_VAR(PACKET_CLOCK_ID):
			p.clock = f.u;
			break;
		case PB_VAR(PACKET_SEQUENCE):
			p.sequence = f.u;
			break;
		case PB_VAR(PACKET_SEQUENCE_FLAGS):
			p.flags = f.u;
			break;
		case PB_LEN(PACKET_TRACK_EVENT):
			p.event = f.bytes;
			break;
		case PB_LEN(PACKET_INTERNED_DATA):
			p.names = f.bytes;
			break;
		case PB_LEN(PACKET_CLOCK_SNAPSHOT):
			p.clocks = f.bytes;
			break;
		case PB_LEN(PACKET_DEFAULTS):
			p.defaults = f.bytes;
			break;
		case PB_LEN(PACKET_TRACK_DESCRIPTOR):
			p.track = f.bytes;
			break;
		case PB_LEN(PACKET_COMPRESSED):
			p.packed = f.bytes;
			break;
		case PB_LEN(PACKET_THREAD_DESCRIPTOR):
			p.thread = f.bytes;
			break;
		}
	p.bad = c.bad;
	return p;
}

static void take_reference(struct ss_pf_sequence *q, struct ss_str descriptor)
{
	struct ss_pb c = ss_pb_of(descriptor);
	struct ss_pb_field f;
	while (ss_pb_next(&c, &f))
		if (f.key == PB_VAR(THREAD_REFERENCE_US))
			q->reference_us = (int64_t)f.u;
}

/* The second pass: everything but tracks, in the order of the file. */
static void take_packet(struct reader *r, const struct packet *p)
{
	struct ss_pf_sequence *q = ss_pf_sequence(&r->state, p->sequence);
	if (!q)
		return;
	if (p->flags & 1)
		ss_pf_forget(&r->state, q);
	if (p->defaults.p)
		ss_pf_take_defaults(q, p->defaults);
	if (p->clocks.p)
		ss_pf_take_clocks(&r->state, p->sequence, p->clocks);
	if (p->names.p)
		ss_pf_take_names(&r->state, q, p->names);
	if (p->thread.p)
		take_reference(q, p->thread);
	if (p->event.p)
		take_event(r, q, p->event, ss_pf_time_ns(&r->state, q, p->clock, p->timestamp));
	else if (!p->defaults.p && !p->clocks.p && !p->names.p && !p->track.p && !p->thread.p && p->timestamp)
		r->loss->other++;
}

/* Give passed pages of the file back. */
static void forget(struct reader *r, const struct ss_pb *c)
{
	size_t at = (size_t)((const char *)c->at - r->file->bytes.p);
	if (at < r->forgotten + FORGET_STRIDE)
		return;
	ss_file_forget(r->file, ss_str_sub(r->file->bytes, r->forgotten, at));
	r->forgotten = at;
}

static void read_packets(struct reader *r, struct ss_str bytes, bool events, int depth);

static void read_packed(struct reader *r, struct ss_str packed, bool events, int depth)
{
	struct ss_buf unpacked = { .limit_bytes = (size_t)(r->max_unpacked_bytes - r->unpacked_bytes), .hold = r->o->hold };
	struct ss_err err = { 0 };
	bool whole = false;
	/* A limit of 0 would be none. */
	if (!unpacked.limit_bytes) {
		r->loss->beyond += events;
		return;
	}
	if (depth >= DEPTH) {
		r->loss->malformed += events;
		return;
	}
	if (!ss_gz_in_all(packed, &unpacked, &whole, &err))
		r->o->no_memory = true;
	r->unpacked_bytes += unpacked.n;
	r->loss->malformed += !whole && !unpacked.over && events;
	r->loss->beyond += unpacked.over && events;
	bool cut = r->loss->cut;
	read_packets(r, ss_buf_get(&unpacked), events, depth + 1);
	if (unpacked.over)
		r->loss->cut = cut;	/* it ends within a packet because it was not read on */
	ss_buf_free(&unpacked);
}

static void read_packets(struct reader *r, struct ss_str bytes, bool events, int depth)
{
	struct ss_pb c = ss_pb_lenient(bytes);
	struct ss_pb_field f;
	while (!r->o->no_memory && !r->state.no_memory && ss_pb_next(&c, &f)) {
		if (f.key != PB_LEN(TRACE_PACKET) || c.cut)
			continue;
		struct packet p = read_packet(f.bytes);
		r->any = true;
		if (p.packed.p)
			read_packed(r, p.packed, events, depth);
		else if (!events && p.track.p)
			ss_pf_take_track(&r->state, p.track);
		else if (events)
			take_packet(r, &p);
		r->loss->malformed += p.bad && events;
		if (r->file && depth == 0)
			forget(r, &c);
	}
	r->loss->cut |= c.bad || c.cut;
}

/* ---- processes ---- */

/* Tracks that say the name of a process, by its number. */
static bool map_processes(const struct ss_pf_state *s, struct ss_u64map *by_pid)
{
	bool ok = true;
	for (uint32_t i = 0; ok && i < s->tracks.n; i++)
		if (s->tracks.v[i].process.n)
			ok = ss_u64map_add(by_pid, (uint64_t)s->tracks.v[i].pid, i) != SS_NONE;
	return ok;
}

/*
 * GPUs are called as everywhere; the busiest process is the host, the others are processes beside
 * it.
 */
static bool name_planes(struct reader *r)
{
	struct ss_space_out *o = r->o;
	struct ss_u64map by_pid = { 0 };
	size_t busiest = SIZE_MAX;
	bool ok = map_processes(&r->state, &by_pid);
	for (size_t i = 0; ok && i < o->planes.n; i++) {
		struct ss_so_plane *p = &o->planes.v[i];
		if (ss_str_starts(p->key, SS_STR("/device:"))) {
			p->name = p->key;
			continue;
		}
		int64_t pid;
		uint32_t at = ss_str_to_i64(p->key, &pid) ? ss_u64map_get(&by_pid, (uint64_t)pid) : SS_NONE;
		struct ss_str name = at == SS_NONE ? SS_STR("") : r->state.tracks.v[at].process;
		p->name = ss_arena_printf(&o->arena, "/host:CPU " SS_FMT "%s" SS_FMT, SS_ARG(name), name.n ? " " : "",
					  SS_ARG(p->key));
		ok = p->name.p;
		if (busiest == SIZE_MAX || p->nevents > o->planes.v[busiest].nevents)
			busiest = i;
	}
	if (busiest != SIZE_MAX)
		o->planes.v[busiest].name = SS_STR("/host:CPU");
	ss_u64map_free(&by_pid);
	return ok;
}

/* When the zero of the trace's clock was, where it was compared with the time of day. */
static void set_start(struct reader *r)
{
	uint32_t i = ss_u64map_get(&r->state.by_clock, CLOCK_REALTIME);
	if (i != SS_NONE && r->state.clocks.v[i].known && r->state.clocks.v[i].ahead_ns > 0)
		r->o->start_unix_ns = r->state.clocks.v[i].ahead_ns;
}

bool ss_perfetto_read(struct ss_str bytes, const struct ss_file *file, struct ss_space_out *o, struct ss_perfetto_loss *loss,
		      struct ss_err *err)
{
	struct reader *r = calloc(1, sizeof(*r));
	*loss = (struct ss_perfetto_loss){ 0 };
	if (!r)
		return ss_fail_mem(err);
	r->o = o;
	r->loss = loss;
	r->file = file;
	for (int events = 0; events <= 1; events++) {
		r->unpacked_bytes = r->forgotten = 0;
		r->max_unpacked_bytes = UNPACKED_ALWAYS + UNPACKED_PER_BYTE * (uint64_t)bytes.n;
		read_packets(r, bytes, events, 0);
	}
	set_start(r);
	bool memory = !o->no_memory && !r->state.no_memory && name_planes(r);
	bool ok = memory ? r->any || ss_fail(err, SS_EFORMAT, "it holds no packet") : ss_fail_mem(err);
	ss_pf_free(&r->state);
	ss_u64map_free(&r->flows);
	ss_arena_release(&r->scratch);
	free(r);
	return ok;
}
