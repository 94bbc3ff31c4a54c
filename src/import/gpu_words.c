/* gpu_words.c - see gpu_words.h. */
#include "import/gpu_words.h"

#include <stdio.h>

#define SCRATCH_BYTES ((size_t)1 << 20)

void ss_gpu_event_begin(struct ss_gpu_event *e, struct ss_str category, struct ss_str name, int64_t begin_ns, int64_t end_ns)
{
	if (e->scratch.used_bytes > SCRATCH_BYTES)
		ss_arena_release(&e->scratch);
	e->category = category;
	e->name = name;
	e->begin_ns = begin_ns;
	e->end_ns = end_ns;
	e->args.n = 0;
}

void ss_gpu_event_int(struct ss_gpu_event *e, const char *name, int64_t v)
{
	ss_chrome_args_add(&e->args, (struct ss_so_arg){ .name = ss_str_from(name), .kind = SS_SO_INT, .u = (uint64_t)v });
}

void ss_gpu_event_num(struct ss_gpu_event *e, const char *name, double v)
{
	struct ss_so_arg a = { .name = ss_str_from(name), .kind = SS_SO_DOUBLE };
	memcpy(&a.u, &v, sizeof(v));
	ss_chrome_args_add(&e->args, a);
}

void ss_gpu_event_str(struct ss_gpu_event *e, const char *name, struct ss_str s)
{
	ss_chrome_args_add(&e->args, (struct ss_so_arg){ .name = ss_str_from(name), .kind = SS_SO_STR, .s = s });
}

void ss_gpu_event_dims(struct ss_gpu_event *e, struct ss_space_out *o, const char *name, const int64_t v[3])
{
	struct ss_str s = ss_arena_printf(&e->scratch, "[%lld, %lld, %lld]", (long long)v[0], (long long)v[1], (long long)v[2]);
	o->no_memory |= !s.p;
	if (s.p)
		ss_gpu_event_str(e, name, s);
}

/* "step 7", "iteration_7", "Iter #7": the number behind the word; false for what is none. */
static bool step_number(struct ss_str name, int64_t *n)
{
	static const struct ss_str words[] = {
		SS_STR_INIT("iteration"), SS_STR_INIT("step"), SS_STR_INIT("iter"),
	};
	for (size_t i = 0; i < SS_COUNT(words); i++) {
		if (!ss_str_istarts(name, words[i]))
			continue;
		size_t at = words[i].n;
		while (at < name.n && strchr(" _#:", name.p[at]))
			at++;
		return at > words[i].n && ss_str_to_i64(ss_str_sub(name, at, name.n), n) && *n >= 0;
	}
	return false;
}

/* Written as PyTorch marks a step. */
static void name_step(struct ss_gpu_event *e, struct ss_space_out *o)
{
	int64_t n;
	if (!ss_str_is(e->category, "user_annotation") || !step_number(e->name, &n))
		return;
	e->name = ss_arena_printf(&e->scratch, "ProfilerStep#%lld", (long long)n);
	o->no_memory |= !e->name.p;
	if (!e->name.p)
		e->name = SS_STR("");
}

void ss_gpu_event_place(struct ss_gpu_event *e, struct ss_space_out *o, uint32_t plane, uint32_t line)
{
	struct ss_str in_file = e->name;
	name_step(e, o);
	if (plane == SS_NONE || line == SS_NONE || o->no_memory)
		return;
	if (!ss_chrome_args_kineto(e->category, ss_kineto_of(e->category), &e->name, &e->scratch, &e->args)) {
		o->no_memory = true;
		return;
	}
	struct ss_so_event ev = { .begin = { .ns = e->begin_ns }, .name = e->name, .args = e->args.v, .nargs = e->args.n };
	ev.name_in_file = ss_chrome_name_in_file(in_file, e->name);
	uint64_t dur_ns = (uint64_t)e->end_ns - (uint64_t)e->begin_ns;
	ev.dur_ps = e->end_ns > e->begin_ns ? dur_ns < INT64_MAX / 1000 ? dur_ns * 1000 : INT64_MAX : 0;
	ss_so_add(o, plane, line, &ev);
}

/* ---- places ---- */

/* Keys are looked up for every event: they are made where they cost no memory. */
struct key {
	char text[64];
};

static struct ss_str key_text(const struct key *k)
{
	return ss_str_from(k->text);
}

static uint32_t plane_of(struct ss_space_out *o, const char *before, int64_t n)
{
	struct key k;
	snprintf(k.text, sizeof(k.text), "%s%lld", before, (long long)n);
	uint32_t plane = ss_so_plane(o, key_text(&k));
	o->no_memory |= plane == SS_NONE;
	return plane;
}

uint32_t ss_gpu_plane(struct ss_space_out *o, int64_t device)
{
	uint32_t plane = plane_of(o, "/device:GPU:", device);
	if (plane != SS_NONE) {
		o->planes.v[plane].name = o->planes.v[plane].key;
		o->planes.v[plane].id = device;
	}
	return plane;
}

static void add_text(struct ss_space_out *o, uint32_t plane, const char *name, struct ss_str s)
{
	ss_so_plane_stat(o, plane, &(struct ss_so_arg){ .name = ss_str_from(name), .kind = SS_SO_STR, .s = s });
}

void ss_gpu_is_amd(struct ss_space_out *o, int64_t device, struct ss_str name)
{
	struct key k;
	snprintf(k.text, sizeof(k.text), "/device:GPU:%lld", (long long)device);
	uint32_t plane = ss_strmap_get(&o->plane_keys, key_text(&k));
	if (plane == SS_NONE || o->planes.v[plane].own.n)
		return;
	add_text(o, plane, "device_vendor", SS_STR("AMD"));
	if (name.n)
		add_text(o, plane, "gpu_device_name", name);
}

uint32_t ss_gpu_stream(struct ss_space_out *o, uint32_t plane, int64_t context, int64_t stream)
{
	struct key k;
	snprintf(k.text, sizeof(k.text), "%lld %lld", (long long)context, (long long)stream);
	uint32_t line = plane == SS_NONE ? SS_NONE : ss_so_line(o, plane, key_text(&k));
	if (line == SS_NONE) {
		o->no_memory = true;
		return SS_NONE;
	}
	struct ss_so_line *l = &o->planes.v[plane].lines.v[line];
	if (!l->name.n) {
		l->id = stream;
		l->name = ss_arena_printf(&o->arena, "stream %lld", (long long)stream);
		o->no_memory |= !l->name.p;
	}
	return line;
}

uint32_t ss_host_process(struct ss_space_out *o, int64_t pid)
{
	return plane_of(o, "", pid);
}

uint32_t ss_host_thread(struct ss_space_out *o, uint32_t plane, int64_t tid, struct ss_str name, const char *what)
{
	struct key k;
	snprintf(k.text, sizeof(k.text), "%lld%s", (long long)tid, what);
	uint32_t line = plane == SS_NONE ? SS_NONE : ss_so_line(o, plane, key_text(&k));
	if (line == SS_NONE) {
		o->no_memory = true;
		return SS_NONE;
	}
	struct ss_so_line *l = &o->planes.v[plane].lines.v[line];
	if (l->events.n || l->name.n)
		return line;
	/* Lines of one thread have numbers of their own. */
	l->id = *what ? (INT64_C(1) << 32) + line : tid;
	l->name = name.n || *what ? ss_arena_printf(&o->arena, SS_FMT "%s", SS_ARG(name), what) : SS_STR("");
	o->no_memory |= !l->name.p;
	return line;
}

bool ss_name_processes(struct ss_space_out *o, ss_process_name_fn *name_of, void *arg)
{
	size_t busiest = SIZE_MAX;
	for (size_t i = 0; i < o->planes.n; i++) {
		struct ss_so_plane *p = &o->planes.v[i];
		int64_t pid;
		if (!ss_str_to_i64(p->key, &pid))
			continue;
		struct ss_str name = name_of ? name_of(arg, pid) : SS_STR("");
		p->name = ss_arena_printf(&o->arena, "/host:CPU " SS_FMT "%s" SS_FMT, SS_ARG(name), name.n ? " " : "",
					  SS_ARG(p->key));
		if (!p->name.p)
			return false;
		if (busiest == SIZE_MAX || p->nevents > o->planes.v[busiest].nevents)
			busiest = i;
	}
	if (busiest != SIZE_MAX)
		o->planes.v[busiest].name = SS_STR("/host:CPU");
	return true;
}
