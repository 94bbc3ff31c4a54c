/* chrome_planes.c - see chrome_planes.h. */
#include "import/chrome_planes.h"

/* Threads without a number: behind those of any system. */
#define MADE_UP_TID INT64_C(0x40000000)

static struct ss_chrome_plane *at(struct ss_chrome_planes *c, struct ss_space_out *o, uint32_t plane)
{
	const struct ss_chrome_plane none = { .name = { "", 0 }, .label = { "", 0 }, .pid = { "", 0 } };
	while (c->v.n <= plane)
		if (!ss_vec_push(&c->v, none)) {
			o->no_memory = true;
			return NULL;
		}
	return &c->v.v[plane];
}

uint32_t ss_chrome_process(struct ss_chrome_planes *c, struct ss_space_out *o, struct ss_str pid)
{
	uint32_t plane = ss_so_plane(o, pid);
	return plane != SS_NONE && at(c, o, plane) ? plane : SS_NONE;
}

/* A new line gets its number, and until somebody gives it a better one its name. */
uint32_t ss_chrome_thread(struct ss_space_out *o, uint32_t plane, struct ss_str tid)
{
	size_t known = o->planes.v[plane].lines.n;
	uint32_t line = ss_so_line(o, plane, tid);
	int64_t number;
	if (line == SS_NONE || line < known)
		return line;
	struct ss_so_line *l = &o->planes.v[plane].lines.v[line];
	bool numbered = ss_str_to_i64(tid, &number);
	l->id = numbered ? number : MADE_UP_TID + line;
	l->name = numbered ? SS_STR("") : tid.n ? ss_arena_str(&o->arena, tid) : SS_STR("no thread");
	o->no_memory |= !l->name.p;
	return line;
}

/* ---- devices ---- */

/* A number among the arguments, or written as text. */
static bool number_of(const struct ss_chrome_place *e, const char *name, int64_t *n)
{
	for (size_t i = 0; i < e->nargs; i++) {
		const struct ss_so_arg *a = &e->args[i];
		if (!ss_str_is(a->name, name))
			continue;
		if (a->kind == SS_SO_STR)
			return ss_str_to_i64(a->s, n);
		*n = (int64_t)a->u;
		return a->kind == SS_SO_INT;
	}
	return false;
}

/* The number that a text ends in: "stream 7". */
static bool last_number(struct ss_str s, int64_t *n)
{
	size_t from = s.n;
	while (from && s.p[from - 1] >= '0' && s.p[from - 1] <= '9')
		from--;
	return ss_str_to_i64(ss_str_sub(s, from, s.n), n);
}

/*
 * The process stands for the device: its events are found by it, its number is told by any of them.
 */
static uint32_t device_plane(struct ss_chrome_planes *c, struct ss_space_out *o, const struct ss_chrome_place *e)
{
	bool marks = ss_kineto_is_device_mark(e->kind);
	o->key.n = 0;
	ss_buf_char(&o->key, marks ? '\3' : '\2');
	ss_buf_str(&o->key, e->pid);
	o->no_memory |= o->key.no_memory;
	size_t known = o->planes.n;
	uint32_t plane = ss_so_plane(o, ss_buf_get(&o->key));
	struct ss_chrome_plane *p = plane != SS_NONE ? at(c, o, plane) : NULL;
	if (!p)
		return SS_NONE;
	if (plane >= known) {
		*p = (struct ss_chrome_plane){ .name = { "", 0 }, .label = { "", 0 }, .pid = ss_arena_str(&o->arena, e->pid),
					       .device = -1, .is_device = true, .marks = marks };
		o->no_memory |= !p->pid.p;
		c->any_device |= !marks;
	}
	if (p->device < 0 && !number_of(e, "device", &p->device))
		p->device = -1;
	return plane;
}

uint32_t ss_chrome_stream(struct ss_chrome_planes *c, struct ss_space_out *o, const struct ss_chrome_place *e, uint32_t *line)
{
	int64_t stream = 0;
	uint32_t plane = device_plane(c, o, e);
	if (plane == SS_NONE)
		return SS_NONE;
	size_t known = o->planes.v[plane].lines.n;
	*line = ss_chrome_thread(o, plane, e->tid);
	if (*line != SS_NONE && *line >= known && (number_of(e, "stream", &stream) || last_number(e->tid, &stream)))
		o->planes.v[plane].lines.v[*line].id = stream;
	return *line == SS_NONE ? SS_NONE : plane;
}

/*
 * Streams have the names that metadata gave to the threads of the process that stands for the
 * device.
 */
static bool name_streams(struct ss_space_out *o, const struct ss_chrome_plane *c, struct ss_so_plane *p)
{
	uint32_t process = ss_strmap_get(&o->plane_keys, c->pid);
	for (uint32_t i = 0; i < p->lines.n; i++) {
		struct ss_so_line *l = &p->lines.v[i];
		struct ss_str name = { "", 0 };
		const struct ss_so_plane *from = process != SS_NONE ? &o->planes.v[process] : NULL;
		uint32_t k = from ? ss_strmap_get(&from->line_keys, p->line_keys.keys[i]) : SS_NONE;
		if (k != SS_NONE)
			name = from->lines.v[k].name;
		if (!ss_str_istarts(name, SS_STR("stream")))
			name = ss_arena_printf(&o->arena, "stream %lld", (long long)l->id);
		l->name = name;
		while (l->name.n && l->name.p[l->name.n - 1] == ' ')
			l->name.n--;
		if (!name.p)
			return false;
	}
	return true;
}

/* "GPU 3": 3, -1 for what is no such label. */
static int64_t labelled(struct ss_str label)
{
	int64_t n;
	return ss_str_take(&label, SS_STR("GPU ")) && ss_str_to_i64(label, &n) && n >= 0 ? n : -1;
}

/* The number comes from its events, else from the label of the process, else from the process id. */
static bool name_device(const struct ss_chrome_planes *all, struct ss_space_out *o, struct ss_chrome_plane *c,
			struct ss_so_plane *p)
{
	uint32_t process = ss_strmap_get(&o->plane_keys, c->pid);
	if (c->device < 0 && process < all->v.n)
		c->device = labelled(all->v.v[process].label);
	if (c->device < 0 && !ss_str_to_i64(c->pid, &c->device))
		c->device = 0;
	p->name = ss_arena_printf(&o->arena, c->marks ? "GPU %lld annotations" : "/device:GPU:%lld", (long long)c->device);
	p->id = c->device;
	return p->name.p && name_streams(o, c, p);
}

/* ---- processes ---- */

/*
 * "host /device:TPU:0" of several hosts, "/job:worker/task:0/device:GPU:0": where the plane's own
 * name begins.
 */
static size_t own_name(struct ss_str name)
{
	static const struct ss_str marks[] = {
		SS_STR_INIT("/device:"), SS_STR_INIT("/host:"), SS_STR_INIT("#Chip"), SS_STR_INIT("/custom:"),
	};
	for (size_t i = 0; i < SS_COUNT(marks); i++) {
		size_t found = ss_str_find(name, marks[i]);
		if (found != SS_NPOS)
			return found;
	}
	return SS_NPOS;
}

/* XProf numbers devices from 1 and custom planes from 501, and adds a thousand for each host. */
static int64_t plane_id(struct ss_str pid, int64_t otherwise)
{
	int64_t n;
	if (!ss_str_to_i64(pid, &n) || n <= 0)
		return otherwise;
	n %= 1000;
	return n >= 501 && n <= 700 ? n - 501 : n >= 1 && n <= 500 ? n - 1 : otherwise;
}

static bool name_process(struct ss_chrome_planes *c, struct ss_space_out *o, size_t i, struct ss_str *hostname, bool *cpu)
{
	struct ss_so_plane *p = &o->planes.v[i];
	const struct ss_chrome_plane none = { .name = { "", 0 }, .label = { "", 0 } }, *pr = i < c->v.n ? &c->v.v[i] : &none;
	size_t own = own_name(pr->name);
	int64_t n = labelled(pr->label);
	if (own != SS_NPOS) {
		p->name = ss_str_sub(pr->name, own, pr->name.n);
		p->id = plane_id(p->key, (int64_t)i);
		if (own > 1 && pr->name.p[own - 1] == ' ' && !hostname->n)
			*hostname = ss_str_sub(pr->name, 0, own - 1);
	} else if (!c->any_device && n >= 0) {
		p->name = ss_arena_printf(&o->arena, "/device:GPU:%lld", (long long)n);
		p->id = n;
	} else if (!*cpu && ss_str_is(pr->label, "CPU")) {
		p->name = SS_STR("/host:CPU");
	} else {
		struct ss_str pid = p->key.n ? p->key : SS_STR("?");
		p->name = ss_arena_printf(&o->arena, "/host:CPU " SS_FMT "%s" SS_FMT, SS_ARG(pr->name), pr->name.n ? " " : "",
					  SS_ARG(pid));
	}
	*cpu |= ss_str_is(p->name, "/host:CPU");
	return p->name.p != NULL;
}

/* A process that did nothing is none: PyTorch names one for every GPU of the machine. */
static bool is_idle(const struct ss_so_plane *p, const struct ss_chrome_planes *c, size_t i)
{
	return !p->nevents && (i >= c->v.n || own_name(c->v.v[i].name) == SS_NPOS);
}

/*
 * The host's threads are those of the process that says so, else of the busiest one that says
 * nothing.
 */
bool ss_chrome_name_planes(struct ss_chrome_planes *c, struct ss_space_out *o, struct ss_str *hostname)
{
	bool cpu = false;
	size_t busiest = SIZE_MAX;
	for (size_t i = 0; i < o->planes.n; i++) {
		struct ss_so_plane *p = &o->planes.v[i];
		bool device = i < c->v.n && c->v.v[i].is_device;
		if (is_idle(p, c, i))
			continue;
		if (device ? !name_device(c, o, &c->v.v[i], p) : !name_process(c, o, i, hostname, &cpu))
			return false;
		bool plain = ss_str_starts(p->name, SS_STR("/host:CPU "));
		if (plain && (busiest == SIZE_MAX || p->nevents > o->planes.v[busiest].nevents))
			busiest = i;
	}
	if (!cpu && busiest != SIZE_MAX)
		o->planes.v[busiest].name = SS_STR("/host:CPU");
	return true;
}
