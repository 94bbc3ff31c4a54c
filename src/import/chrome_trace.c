/* chrome_trace.c - Trace Event Format, phase by phase. */
#include "import/chrome_trace.h"

#include "base/ids.h"
#include "import/chrome_args.h"
#include "import/chrome_devices.h"
#include "import/chrome_planes.h"
#include "import/json_feed.h"

#include <math.h>
#include <stdlib.h>

#define SCRATCH_BYTES ((size_t)1 << 20)
#define MAX_MEMBERS 64	/* of the trace, beside its events */
#define RECENT_THREADS 16

/* The kind of each phase of events. */
enum { PHASE_TIMED = 1, PHASE_ASYNC = 2, PHASE_ARROW = 4 };
#define ASYNC (PHASE_TIMED | PHASE_ASYNC)
#define ARROW (PHASE_TIMED | PHASE_ARROW)

static const uint8_t phases[256] = {
	['X'] = PHASE_TIMED, ['B'] = PHASE_TIMED, ['E'] = PHASE_TIMED, ['i'] = PHASE_TIMED, ['I'] = PHASE_TIMED,
	['R'] = PHASE_TIMED, ['P'] = PHASE_TIMED, ['C'] = PHASE_TIMED, ['b'] = ASYNC,	    ['n'] = ASYNC,
	['e'] = ASYNC,	     ['S'] = ASYNC,	  ['T'] = ASYNC,       ['p'] = ASYNC,	    ['F'] = ASYNC,
	['s'] = ARROW,	     ['t'] = ARROW,	  ['f'] = ARROW,
};

struct chrome {
	struct ss_space_out *o;
	struct ss_json_feed feed;
	struct ss_chrome_loss *loss;
	struct ss_chrome_planes planes;
	struct ss_arena scratch;		/* of some events */
	struct ss_chrome_args args;
	struct ss_idset launches;	/* correlations by process and category */
	struct ss_idset numbered_arrows; /* that begin: ids by category */
	struct ss_u64map arrows;	/* others, by id */
	struct ss_str hostname, devices;
	struct ss_so_time before;	/* when the event before began, arrows aside */
	bool before_is_linked;		/* it has a correlation */
	bool any_list;
	bool any_work;	/* operators, calls of a device's library, what ran on devices */
	struct {
		uint32_t plane, line;
		bool known;
	} recent[RECENT_THREADS];
};

/* The members of one event, as they are written; strings decoded. */
struct raw {
	struct ss_str ph, name, cat, pid, tid, ts, dur, id, bind_id, bp;
	struct ss_str name_in_file; /* "": it is `name` */
	enum ss_kineto kind;	/* of its category */
	bool flow_in, flow_out;
};

/* ---- one event ---- */

/*
 * The destination of a member of this name; NULL: it is not needed. Compare by length and first
 * letters, because every event has members.
 */
static struct ss_str *member_of(struct raw *e, struct ss_str key)
{
	const char *p = key.p;
	switch (key.n) {
	case 2:
		return p[0] == 'p' && p[1] == 'h' ? &e->ph :
		       p[0] == 't' && p[1] == 's' ? &e->ts :
		       p[0] == 'i' && p[1] == 'd' ? &e->id :
		       p[0] == 'b' && p[1] == 'p' ? &e->bp :
						    NULL;
	case 3:
		return memcmp(p, "pid", 3) == 0 ? &e->pid :
		       memcmp(p, "tid", 3) == 0 ? &e->tid :
		       memcmp(p, "dur", 3) == 0 ? &e->dur :
		       memcmp(p, "cat", 3) == 0 ? &e->cat :
						  NULL;
	case 4:
		return memcmp(p, "name", 4) == 0 ? &e->name : NULL;
	case 7:
		return memcmp(p, "bind_id", 7) == 0 ? &e->bind_id : NULL;
	default:
		return NULL;
	}
}

/* An object or an array: the arguments are read into c->args. False: it is malformed. */
static bool take_nested(struct chrome *c, struct ss_jsonr *r, struct raw *e, const struct ss_jtok *key, const struct ss_jtok *t)
{
	const char *begin = r->at - 1;
	if (t->kind == SS_J_OBJECT && ss_jtok_is(key, "args")) {
		c->args.n = 0;
		bool ok = ss_chrome_args_read(r, &c->scratch, &c->args);
		c->o->no_memory |= !ok && !r->bad;
		return ok;
	}
	if (!ss_jsonr_skip(r, t))
		return false;
	if (ss_jtok_is(key, "id2"))
		e->id = (struct ss_str){ begin, (size_t)(r->at - begin) };
	return true;
}

static bool take_member(struct chrome *c, struct ss_jsonr *r, struct raw *e)
{
	struct ss_jtok key, t;
	if (!ss_jsonr_member(r, &key, &t))
		return false;
	if (t.kind == SS_J_OBJECT || t.kind == SS_J_ARRAY)
		return take_nested(c, r, e, &key, &t);
	struct ss_str *to = key.escaped ? NULL : member_of(e, key.text);
	if (to) {
		struct ss_str s = ss_jtok_str(&t, &c->scratch);
		c->o->no_memory |= !s.p;
		*to = s.p ? s : SS_STR("");
	} else if (key.text.n >= 7) {
		if (ss_jtok_is(&key, "flow_in"))
			e->flow_in = t.kind == SS_J_TRUE;
		if (ss_jtok_is(&key, "flow_out"))
			e->flow_out = t.kind == SS_J_TRUE;
	}
	return true;
}

/*
 * The event that `text` begins with; *bytes: of it. False: it is malformed, or does not end there.
 */
static bool read_raw(struct chrome *c, struct ss_str text, struct raw *e, size_t *bytes)
{
	struct ss_jsonr r = ss_jsonr_of(text);
	struct ss_jtok t;
	*e = (struct raw){ .pid = { "", 0 }, .tid = { "", 0 }, .name = { "", 0 } };
	c->args.n = 0;
	if (!ss_jsonr_next(&r, &t))
		return false;
	while (take_member(c, &r, e))
		;
	*bytes = (size_t)(r.at - text.p);
	return !r.bad && r.done;
}

static struct ss_str kept(struct chrome *c, struct ss_str s)
{
	struct ss_str copy = ss_arena_str(&c->o->arena, s);
	c->o->no_memory |= !copy.p;
	return copy.p ? copy : SS_STR("");
}

/* The member `name` of the arguments, as text. */
static struct ss_str text_arg(const struct chrome *c, const char *name)
{
	for (size_t i = 0; i < c->args.n; i++)
		if (ss_str_is(c->args.v[i].name, name) && c->args.v[i].kind == SS_SO_STR)
			return c->args.v[i].s;
	return SS_STR("");
}

static void take_meta(struct chrome *c, const struct raw *e)
{
	uint32_t plane = ss_chrome_process(&c->planes, c->o, e->pid);
	if (plane == SS_NONE)
		return;
	if (ss_str_is(e->name, "process_name")) {
		c->planes.v.v[plane].name = kept(c, text_arg(c, "name"));
	} else if (ss_str_is(e->name, "process_labels")) {
		c->planes.v.v[plane].label = kept(c, text_arg(c, "labels"));
	} else if (ss_str_is(e->name, "thread_name") && e->tid.n) {
		struct ss_str name = text_arg(c, "name");
		uint32_t line = name.n ? ss_chrome_thread(c->o, plane, e->tid) : SS_NONE;
		if (line != SS_NONE)
			c->o->planes.v[plane].lines.v[line].name = kept(c, name);
	}
}

/* Numbers of flows are shown: they are the same in each run of the program (FNV-1a). */
static uint64_t shown_hash(struct ss_str s)
{
	uint64_t h = 0xcbf29ce484222325u;
	for (size_t i = 0; i < s.n; i++)
		h = (h ^ (uint8_t)s.p[i]) * 0x100000001b3u;
	return h;
}

static uint64_t id_of(const struct raw *e, struct ss_str id)
{
	return ss_mix(shown_hash(id), shown_hash(e->cat));
}

/* Each number of a counter is a counter: the series of one are drawn apart. */
static void take_counter(struct chrome *c, const struct raw *e, uint32_t plane, struct ss_so_time at)
{
	uint32_t line = ss_so_line(c->o, plane, SS_STR("\1counters"));
	if (line == SS_NONE)
		return;
	c->o->planes.v[plane].lines.v[line].name = SS_STR("_counters_");
	c->o->planes.v[plane].lines.v[line].id = 0;
	size_t numbers = 0;
	for (size_t i = 0; i < c->args.n; i++)
		numbers += c->args.v[i].kind != SS_SO_STR;
	bool several = numbers > 1;
	for (size_t i = 0; i < c->args.n; i++) {
		const struct ss_so_arg *a = &c->args.v[i];
		struct ss_so_event ev = { .begin = at, .name = e->name, .args = a, .nargs = 1 };
		if (a->kind == SS_SO_STR)
			continue;
		if (several)
			ev.name = ss_arena_printf(&c->scratch, SS_FMT " " SS_FMT, SS_ARG(e->name), SS_ARG(a->name));
		if (!ev.name.p)
			c->o->no_memory = true;
		else
			ss_so_add(c->o, plane, line, &ev);
	}
}

static void add_uint(struct chrome *c, struct ss_str name, enum ss_so_kind kind, uint64_t v)
{
	ss_chrome_args_add(&c->args, (struct ss_so_arg){ .name = name, .kind = kind, .u = v });
}

/*
 * Begin, middle or end of something that is not bound to a thread: a mark, linked to the others by
 * a flow.
 */
static void add_async(struct chrome *c, const struct raw *e)
{
	enum ss_so_dir dir = e->ph.p[0] == 'b' || e->ph.p[0] == 'S' ? SS_SO_FLOW_OUT :
			     e->ph.p[0] == 'e' || e->ph.p[0] == 'F' ? SS_SO_FLOW_IN :
								      SS_SO_FLOW_BOTH;
	add_uint(c, SS_STR("flow"), SS_SO_UINT, ss_so_flow_bits(ss_mix(id_of(e, e->id), shown_hash(e->pid)), dir));
	add_uint(c, SS_STR("_a"), SS_SO_INT, 1);
}

/* Arrows that begin with the id of another: `id` is that of the category, too. */
static void count_arrow(struct chrome *c, const struct raw *e, uint64_t id)
{
	uint64_t number;
	bool had;
	if (ss_str_to_u64(e->id, &number)) {
		c->o->no_memory |= !ss_idset_add(&c->numbered_arrows, ss_str_hash(e->cat), number, &had);
	} else {
		size_t before = c->arrows.n;
		c->o->no_memory |= ss_u64map_add(&c->arrows, id, 1) == SS_NONE;
		had = c->arrows.n == before;
	}
	c->loss->same_arrow += had;
}

/*
 * PyTorch writes the ends of an arrow behind the call that launches and behind what it launched.
 * Their correlation links the two already.
 */
static bool is_linked(const struct chrome *c, struct ss_so_time at)
{
	return c->before_is_linked && c->before.ns == at.ns && c->before.ps == at.ps;
}

static void take_flow(struct chrome *c, const struct raw *e, uint32_t plane, uint32_t line, struct ss_so_time at)
{
	struct ss_so_flow f = { .at = at, .id = id_of(e, e->id) };
	f.dir = e->ph.p[0] == 's' ? SS_SO_FLOW_OUT : e->ph.p[0] == 'f' ? SS_SO_FLOW_IN : SS_SO_FLOW_BOTH;
	if (f.dir == SS_SO_FLOW_OUT)
		count_arrow(c, e, f.id);
	f.next = f.dir == SS_SO_FLOW_IN && !ss_str_is(e->bp, "e");
	if (!is_linked(c, f.at))
		ss_so_flow(c->o, plane, line, &f);
}

static bool is_counters(const struct chrome *c, uint32_t plane, uint32_t line)
{
	return ss_str_is(c->o->planes.v[plane].lines.v[line].name, "_counters_");
}

/* The arguments of an event in our words. */
static bool name_args(struct chrome *c, struct raw *e, bool counters)
{
	struct ss_str in_file = e->name;
	if (counters)
		ss_chrome_args_numbers(&c->args);
	if (!ss_chrome_args_kineto(e->cat, e->kind, &e->name, &c->scratch, &c->args)) {
		c->o->no_memory = true;
		return false;
	}
	e->name_in_file = ss_chrome_name_in_file(in_file, e->name);
	/* Flows as XProf writes them, a member of the event. */
	if (e->bind_id.n && (e->flow_in || e->flow_out))
		add_uint(c, SS_STR("flow"), SS_SO_UINT,
			 ss_so_flow_bits(shown_hash(e->bind_id), (enum ss_so_dir)(e->flow_in | e->flow_out << 1)));
	return true;
}

/* Where a thread that events came of lately is remembered. */
static size_t slot_of(const struct raw *e)
{
	if (!e->tid.n || !e->pid.n)
		return 0;
	return ((uint8_t)e->tid.p[e->tid.n - 1] + (uint8_t)e->pid.p[e->pid.n - 1] * 5u) % RECENT_THREADS;
}

/*
 * Of an event of a process. Counters have their line made when they are taken. Threads that events
 * came of lately are found without hashing their names.
 */
static uint32_t place(struct chrome *c, const struct raw *e, uint32_t *line)
{
	size_t slot = slot_of(e);
	uint32_t plane = c->recent[slot].plane;
	if (c->recent[slot].known && e->ph.p[0] != 'C' && ss_str_eq(c->o->plane_keys.keys[plane], e->pid) &&
	    ss_str_eq(c->o->planes.v[plane].line_keys.keys[c->recent[slot].line], e->tid)) {
		*line = c->recent[slot].line;
		return plane;
	}
	plane = ss_chrome_process(&c->planes, c->o, e->pid);
	if (plane == SS_NONE || e->ph.p[0] == 'C')
		return plane;
	*line = ss_chrome_thread(c->o, plane, e->tid);
	if (*line == SS_NONE)
		return SS_NONE;
	c->recent[slot].plane = plane;
	c->recent[slot].line = *line;
	c->recent[slot].known = true;
	return plane;
}

/*
 * Reads the arguments and finds the place, which for devices stands among them. False: there is
 * none.
 */
static bool read_placed(struct chrome *c, struct raw *e, uint32_t *plane, uint32_t *line)
{
	struct ss_chrome_place at = { .kind = e->kind, .pid = e->pid, .tid = e->tid };
	if (e->ph.p[0] != 'X' || !(ss_kineto_is_device_work(at.kind) || ss_kineto_is_device_mark(at.kind))) {
		*plane = place(c, e, line);
		return *plane != SS_NONE && name_args(c, e, e->ph.p[0] == 'C' || is_counters(c, *plane, *line));
	}
	if (!name_args(c, e, false))
		return false;
	at.args = c->args.v;
	at.nargs = c->args.n;
	*plane = ss_chrome_stream(&c->planes, c->o, &at, line);
	return *plane != SS_NONE;
}

static bool is_number(struct ss_str text)
{
	double v;
	return ss_str_to_f64(text, &v) && isfinite(v);
}

/* A time that cannot be: why. */
static void count_bad_time(struct chrome *c, struct ss_str ts)
{
	if (!is_number(ts) && ts.n && strchr("NnIi+-", ts.p[0]))
		c->loss->not_numbers++;
	else if (is_number(ts))
		c->loss->other_clock++;
	else
		c->loss->malformed++;
}

static void count_bad_duration(struct chrome *c, struct ss_str dur)
{
	if (!dur.n)
		return;
	if (!is_number(dur))
		c->loss->not_numbers++;
	else if (dur.p[0] == '-')
		c->loss->negative++;
}

/* Calls that say that they launched the same. */
static void count_launch(struct chrome *c, const struct raw *e)
{
	static const struct ss_str calls[] = {
		SS_STR_INIT("cuda_runtime"), SS_STR_INIT("cuda_driver"), SS_STR_INIT("hip_runtime"),
	};
	bool call = false;
	for (size_t i = 0; e->kind == SS_KINETO_CALL && i < SS_COUNT(calls); i++)
		call = call || ss_str_eq(e->cat, calls[i]);
	for (size_t i = 0; call && i < c->args.n; i++) {
		const struct ss_so_arg *a = &c->args.v[i];
		if (a->kind == SS_SO_STR || !a->u || !ss_str_is(a->name, "correlation_id"))
			continue;
		bool had;
		uint64_t kind = ss_mix(ss_str_hash(e->pid), ss_str_hash(e->cat));
		c->o->no_memory |= !ss_idset_add(&c->launches, kind, a->u, &had);
		c->loss->same_launch += had;
	}
}

/* An event without an interval is no work: without its category nothing counts it. */
static void judge_duration(struct chrome *c, struct raw *e)
{
	if (e->dur.n || e->kind == SS_KINETO_OTHER)
		return;
	c->loss->endless++;
	e->cat = SS_STR("");
	e->kind = SS_KINETO_OTHER;
}

static void take_timed(struct chrome *c, struct raw *e)
{
	struct ss_so_event ev = { .name = { "", 0 } };
	char ph = e->ph.p[0];
	uint32_t plane, line = SS_NONE;
	size_t before;
	if (!ss_chrome_time(e->ts, &ev.begin)) {
		count_bad_time(c, e->ts);
		return;
	}
	if (ph == 's' || ph == 't' || ph == 'f') {
		plane = place(c, e, &line);
		if (plane != SS_NONE)
			take_flow(c, e, plane, line, ev.begin);
		return;
	}
	c->before_is_linked = false;
	if (ph == 'X')
		judge_duration(c, e);
	if (!read_placed(c, e, &plane, &line))
		return;
	ev.name = e->name;
	ev.name_in_file = e->name_in_file;
	ev.dur_ps = ss_chrome_dur_ps(e->dur);
	if (!ev.dur_ps)
		count_bad_duration(c, e->dur);
	count_launch(c, e);
	if (phases[(uint8_t)ph] & PHASE_ASYNC)
		add_async(c, e);
	ev.args = c->args.v;
	ev.nargs = c->args.n;
	ev.shares = ph == 'X' && e->kind != SS_KINETO_OTHER;
	switch (ph) {
	case 'C':
		take_counter(c, e, plane, ev.begin);
		break;
	case 'B':
		ss_so_open(c->o, plane, line, &ev);
		break;
	case 'E':
		ss_so_close(c->o, plane, line, ev.begin, ev.args, ev.nargs);
		break;
	case 'X':
		before = c->o->links.n;
		ss_so_add(c->o, plane, line, &ev);
		c->before = ev.begin;
		c->before_is_linked = c->o->links.n > before;
		break;
	default:
		ev.dur_ps = 0;
		ss_so_add(c->o, plane, line, &ev);
	}
}

static void take_raw(struct chrome *c, struct raw *e)
{
	uint8_t phase = phases[(uint8_t)e->ph.p[0]];
	/* An arrow has none of its own. */
	e->kind = e->ph.n == 1 && (phase & PHASE_ARROW) ? SS_KINETO_OTHER : ss_kineto_of(e->cat);
	c->any_work |= e->kind == SS_KINETO_OPERATOR || e->kind == SS_KINETO_CALL || ss_kineto_is_device_work(e->kind);
	if (e->ph.p[0] == 'M')
		take_meta(c, e);
	else if (phase & PHASE_TIMED)
		take_timed(c, e);
	else
		c->loss->unknown++;
}

/*
 * Read an event at the begin of the known text; it is mostly complete and well-formed. False: there
 * is none.
 */
static bool take_known(struct chrome *c)
{
	struct raw e;
	size_t bytes;
	if (c->scratch.used_bytes > SCRATCH_BYTES)
		ss_arena_release(&c->scratch);
	if (!read_raw(c, ss_json_feed_known(&c->feed), &e, &bytes) || !e.ph.n)
		return false;
	take_raw(c, &e);
	ss_json_feed_take(&c->feed, bytes);
	return true;
}

static void take_event(struct chrome *c, struct ss_str text)
{
	struct raw e;
	size_t bytes;
	if (text.p[0] != '{' || !read_raw(c, text, &e, &bytes))
		c->loss->malformed++;
	else if (!e.ph.n) /* XProf ends its list with an empty object. */
		c->loss->malformed += text.n > 4;
	else
		take_raw(c, &e);
}

/* ---- the text around them ---- */

/* Behind "[": events up to "]", which some writers forget. False when the text ends before. */
static bool read_list(struct chrome *c)
{
	struct ss_str value;
	uint64_t passed = c->feed.long_values;
	c->any_list = true;
	for (;;) {
		char ch = ss_json_feed_peek(&c->feed);
		if (ch == ',') {
			ss_json_feed_skip(&c->feed);
			continue;
		}
		if (ch == ']') {
			ss_json_feed_skip(&c->feed);
			return true;
		}
		if (ch == '{' && !c->o->no_memory && take_known(c))
			continue;
		if (!ch || c->o->no_memory || !ss_json_feed_value(&c->feed, &value))
			return false;
		/* No value begins so: the text is none. One that is too long was passed over. */
		if (!value.n && c->feed.long_values == passed)
			return false;
		passed = c->feed.long_values;
		if (!value.n)
			continue;
		take_event(c, value);
	}
}

/*
 * Members of the trace that are kept: what PyTorch says of the recording, the devices and the job.
 */
static bool is_kept(struct ss_str key)
{
	static const struct ss_str names[] = {
		SS_STR_INIT("deviceProperties"), SS_STR_INIT("distributedInfo"), SS_STR_INIT("record_shapes"),
		SS_STR_INIT("profile_memory"),	 SS_STR_INIT("with_stack"),	 SS_STR_INIT("with_flops"),
		SS_STR_INIT("with_modules"),	 SS_STR_INIT("trace_id"),	 SS_STR_INIT("schemaVersion"),
	};
	for (size_t i = 0; i < SS_COUNT(names); i++)
		if (ss_str_eq(key, names[i]))
			return true;
	return ss_str_ends(key, SS_STR("_version"));
}

/* The last of members of one name counts. */
static void keep_member(struct chrome *c, struct ss_str key, struct ss_str value)
{
	struct ss_so_arg a = { .kind = SS_SO_STR, .s = value };
	size_t i = 0;
	int64_t n;
	if (value.n >= 2 && value.p[0] == '"')
		a.s = ss_str_sub(value, 1, value.n - 1);
	else if (ss_str_to_i64(value, &n))
		a = (struct ss_so_arg){ .kind = SS_SO_INT, .u = (uint64_t)n };
	while (i < c->o->about.n && !ss_str_eq(c->o->about.v[i].name, key))
		i++;
	if (i == MAX_MEMBERS)
		return;
	/* `key` and `value` end with the member. */
	a.name = i < c->o->about.n ? c->o->about.v[i].name : kept(c, key);
	a.s = kept(c, a.s);
	if (i < c->o->about.n)
		c->o->about.v[i] = a;
	else if (!ss_vec_push(&c->o->about, a))
		c->o->no_memory = true;
}

/* `key` is quoted. */
static void take_header(struct chrome *c, struct ss_str key, struct ss_str value)
{
	int64_t n;
	key = ss_str_sub(key, 1, key.n - 1);
	if (ss_str_is(key, "baseTimeNanoseconds") && ss_str_to_i64(value, &n) && n > 0)
		c->o->start_unix_ns = n;
	if (ss_str_is(key, "host_name") && value.n > 2 && value.p[0] == '"')
		c->hostname = kept(c, ss_str_sub(value, 1, value.n - 1));
	if (is_kept(key))
		keep_member(c, key, value);
	if (ss_str_is(key, "deviceProperties"))
		c->devices = kept(c, value);
}

/* Behind "{": the list of events and whatever else there is. */
static bool read_members(struct chrome *c)
{
	struct ss_str value;
	char key[32];
	for (;;) {
		char ch = ss_json_feed_peek(&c->feed);
		if (ch == '}')
			return true;
		if (ch == ',') {
			ss_json_feed_skip(&c->feed);
			continue;
		}
		if (ch != '"' || c->o->no_memory || !ss_json_feed_value(&c->feed, &value))
			return false;
		size_t n = value.n < sizeof(key) ? value.n : 0;
		memcpy(key, value.p, n);
		key[n] = '\0';
		if (ss_json_feed_peek(&c->feed) != ':')
			return false;
		ss_json_feed_skip(&c->feed);
		if (strcmp(key, "\"traceEvents\"") == 0 && ss_json_feed_peek(&c->feed) == '[') {
			ss_json_feed_skip(&c->feed);
			if (!read_list(c))
				return false;
			continue;
		}
		if (!ss_json_feed_value(&c->feed, &value))
			return false;
		take_header(c, ss_str_from(key), value);
	}
}

static bool has_member(const struct chrome *c, const char *name)
{
	for (size_t i = 0; i < c->o->about.n; i++)
		if (ss_str_is(c->o->about.v[i].name, name))
			return true;
	return false;
}

bool ss_chrome_read(const struct ss_file *f, struct ss_space_out *o, struct ss_str *hostname, struct ss_chrome_loss *loss,
		    struct ss_err *err)
{
	struct chrome *c = calloc(1, sizeof(*c));
	*loss = (struct ss_chrome_loss){ 0 };
	if (!c || !ss_json_feed_open(&c->feed, f)) {
		free(c);
		return ss_fail_mem(err);
	}
	c->o = o;
	c->loss = loss;
	char first = ss_json_feed_peek(&c->feed);
	/* A byte order mark. */
	for (const char *mark = "\xef\xbb\xbf"; *mark && first == *mark; mark++) {
		ss_json_feed_skip(&c->feed);
		first = ss_json_feed_peek(&c->feed);
	}
	ss_json_feed_skip(&c->feed);
	bool whole = first == '[' ? read_list(c) : first == '{' && read_members(c);
	if (whole)
		ss_json_feed_skip(&c->feed);
	loss->more = whole && ss_json_feed_peek(&c->feed) != '\0';
	loss->cut = !whole || ss_json_feed_bad(&c->feed);
	loss->no_work = !loss->cut && !c->any_work && has_member(c, "schemaVersion");
	loss->too_long = c->feed.too_long;
	loss->long_values = c->feed.long_values;
	bool memory = !c->feed.no_memory && !o->no_memory && ss_chrome_name_planes(&c->planes, o, &c->hostname);
	if (memory)
		ss_chrome_devices(o, c->devices);
	memory = memory && !o->no_memory;
	bool ok = memory ? c->any_list || ss_fail(err, SS_EFORMAT, "it holds no list of trace events")
			 : ss_fail_mem(err);
	*hostname = c->hostname;
	ss_json_feed_close(&c->feed);
	ss_idset_free(&c->launches);
	ss_idset_free(&c->numbered_arrows);
	ss_u64map_free(&c->arrows);
	ss_arena_release(&c->scratch);
	ss_vec_free(&c->planes.v);
	free(c);
	return ok;
}
