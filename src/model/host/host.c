/* host.c - opening one host's profile, and closing it. */
#include "model/host/host.h"

#include "base/spill.h"
#include "import/import.h"
#include "import/kineto.h"
#include "import/names.h"
#include "xspace/fields.h"

#include <ctype.h>
#include <stdatomic.h>
#include <stdlib.h>

static bool all_digits(struct ss_str s)
{
	for (size_t i = 0; i < s.n; i++)
		if (s.p[i] < '0' || s.p[i] > '9')
			return false;
	return true;
}

static size_t digits(struct ss_str s)
{
	size_t n = 0;
	while (n < s.n && s.p[n] >= '0' && s.p[n] <= '9')
		n++;
	return n;
}

/*
 * After "/device:TPU:": digits only is a TensorCore; digits, " SparseCore", perhaps a word, and a
 * number a SparseCore.
 */
static enum ss_plane_kind tpu_kind(struct ss_str rest)
{
	if (all_digits(rest))
		return SS_PLANE_TENSOR_CORE;
	size_t n = digits(rest);
	struct ss_str tail = ss_str_sub(rest, n, rest.n);
	if (n == 0 || !ss_str_starts(tail, SS_STR(" SparseCore ")))
		return SS_PLANE_OTHER;
	size_t space = ss_str_rchr(tail, ' ');
	struct ss_str number = ss_str_sub(tail, space + 1, tail.n);
	return number.n && all_digits(number) ? SS_PLANE_SPARSE_CORE : SS_PLANE_OTHER;
}

static enum ss_plane_kind kind_of(struct ss_str name)
{
	static const struct {
		struct ss_str name;
		bool whole;
		enum ss_plane_kind kind;
	} rules[] = {
		{ SS_STR_INIT("/host:CPU"), true, SS_PLANE_HOST_CPU },
		{ SS_STR_INIT("/host:metadata"), true, SS_PLANE_METADATA },
		{ SS_STR_INIT("Task Environment"), true, SS_PLANE_TASK_ENV },
		{ SS_STR_INIT("/device:GPU:"), false, SS_PLANE_GPU },
		{ SS_STR_INIT("/device:CUSTOM:"), false, SS_PLANE_CUSTOM },
		{ SS_STR_INIT("/custom:"), false, SS_PLANE_CUSTOM },
		{ SS_STR_INIT("#Chip"), false, SS_PLANE_TPU_NONCORE },
	};
	const struct ss_str tpu = SS_STR("/device:TPU:");
	if (ss_str_starts(name, tpu))
		return tpu_kind(ss_str_sub(name, tpu.n, name.n));
	for (size_t i = 0; i < SS_COUNT(rules); i++)
		if (rules[i].whole ? ss_str_eq(name, rules[i].name) : ss_str_starts(name, rules[i].name))
			return rules[i].kind;
	return SS_PLANE_OTHER;
}

bool ss_plane_is_host(const struct ss_plane *p)
{
	static const struct ss_str prefixes[] = {
		SS_STR_INIT("/host:CPU"), SS_STR_INIT("Host CPUs"), SS_STR_INIT("/host:tfstreamz"),
		SS_STR_INIT("/host:metadata"), SS_STR_INIT("Syscalls"), SS_STR_INIT("/host:python-tracer"),
		SS_STR_INIT("/host:CUPTI"), SS_STR_INIT("/host:__ScopeRangeCallStack__"),
	};
	for (size_t i = 0; i < SS_COUNT(prefixes); i++)
		if (ss_str_starts(p->name, prefixes[i]))
			return true;
	return false;
}

bool ss_plane_is_device(const struct ss_plane *p)
{
	return !ss_plane_is_host(p) &&
	       (ss_str_starts(p->name, SS_STR("/device")) || p->kind == SS_PLANE_TPU_NONCORE ||
		p->kind == SS_PLANE_CUSTOM);
}

bool ss_host_runs_programs(const struct ss_host *h)
{
	for (uint32_t i = 0; i < h->nplanes; i++)
		if (ss_plane_is_device(&h->planes[i]) || ss_xplane_has(h->planes[i].x, SS_STAT_HLO_OP))
			return true;
	return false;
}

/* Does it have so many events? Reads no more. */
static bool has_events(const struct ss_xline *l, size_t least)
{
	const uint8_t *end = (const uint8_t *)l->body.p + l->body.n;
	struct ss_pb c = ss_pb_of((struct ss_str){ (const char *)l->events, l->events ? (size_t)(end - l->events) : 0 });
	struct ss_pb_field f;
	size_t n = 0;
	while (n < least && ss_pb_next(&c, &f))
		n += f.key == PB_LEN(XLINE_EVENTS);
	return n >= least;
}

bool ss_plane_has_events_of(const struct ss_plane *p, struct ss_str line, size_t least)
{
	for (uint32_t i = 0; i < p->x->nlines; i++)
		if (ss_str_eq(p->x->lines[i].name, line) && has_events(&p->x->lines[i], least))
			return true;
	return false;
}

bool ss_plane_has_events(const struct ss_plane *p)
{
	for (uint32_t i = 0; i < p->x->nlines; i++)
		if (has_events(&p->x->lines[i], 1))
			return true;
	return false;
}

#define MOST_LOOKED 200000 /* events, to find numbers of steps: 20 ms */

struct numbers {
	size_t n, least, looked;
	int64_t last;
};

/*
 * The numbers of steps among the events of one line; true: enough of them, or too many events to
 * look at all.
 */
static bool count_numbers(const struct ss_xplane *x, const struct ss_xline *l, struct numbers *v)
{
	const uint8_t *end = (const uint8_t *)l->body.p + l->body.n;
	struct ss_pb c = ss_pb_of((struct ss_str){ (const char *)l->events, l->events ? (size_t)(end - l->events) : 0 });
	struct ss_pb_field f;
	struct ss_xstat s;
	while (ss_pb_next(&c, &f)) {
		if (f.key != PB_LEN(XLINE_EVENTS) || !ss_xstats_find(ss_xevent_stats(x, f.bytes), SS_STAT_STEP_NUM, &s)) {
			if (++v->looked >= MOST_LOOKED)
				return true;
			continue;
		}
		v->n += !v->n || v->last != ss_xstat_int_or_uint(&s);
		v->last = ss_xstat_int_or_uint(&s);
		if (v->n >= v->least)
			return true;
	}
	return false;
}

bool ss_host_marks_steps(const struct ss_host *h, size_t least)
{
	struct numbers v = { .least = least };
	for (uint32_t i = 0; i < h->nplanes; i++) {
		const struct ss_xplane *x = h->planes[i].x;
		if (h->planes[i].kind == SS_PLANE_TENSOR_CORE && ss_plane_has_events_of(&h->planes[i], SS_STR("Steps"), least))
			return true;
		for (uint32_t k = 0; ss_xplane_has(x, SS_STAT_STEP_NUM) && k < x->nlines; k++)
			if (count_numbers(x, &x->lines[k], &v))
				return true;
	}
	return false;
}

static bool build_plane(struct ss_host *h, struct ss_plane *p, const struct ss_xplane *x)
{
	*p = (struct ss_plane){ .x = x, .name = x->name, .kind = kind_of(x->name), .id = x->id, .nlines = x->nlines };
	p->lines = SS_NEW_N(&h->arena, struct ss_line, x->nlines);
	/*
	 * Copies, for reading events completes them: who reads some only (partial_read.h) begins
	 * with copies of its own.
	 */
	struct ss_xline *src = SS_NEW_N(&h->arena, struct ss_xline, x->nlines);
	if (!p->lines || !src) {
		p->nlines = 0; /* closing goes through them */
		return false;
	}
	for (uint32_t i = 0; i < x->nlines; i++) {
		src[i] = x->lines[i];
		p->lines[i].src = &src[i];
	}
	return true;
}

/* The name of the host: the file's, without folder and what follows the host in it. */
static struct ss_str host_name(struct ss_str path)
{
	size_t slash = ss_str_rchr(path, '/');
	struct ss_str name = slash == SS_NPOS ? path : ss_str_sub(path, slash + 1, path.n);
	return ss_profile_host(name);
}

/* Did its writer preprocess it? Then all host and device planes name the stat group_id. */
static bool preprocessed(const struct ss_host *h)
{
	for (uint32_t i = 0; i < h->nplanes; i++) {
		const struct ss_plane *p = &h->planes[i];
		if ((ss_plane_is_host(p) || ss_plane_is_device(p)) && !ss_xplane_has(p->x, SS_STAT_GROUP_ID))
			return false;
	}
	return true;
}

static bool build(struct ss_host *h, struct ss_err *err)
{
	for (size_t i = 0; i < SS_HOST_PART_COUNT; i++)
		ss_part_init(&h->parts[i]);
	h->name = host_name(h->x.path);
	h->planes = SS_NEW_N(&h->arena, struct ss_plane, h->x.nplanes);
	bool ok = h->planes;
	for (uint32_t i = 0; ok && i < h->x.nplanes; i++, h->nplanes++)
		ok = build_plane(h, &h->planes[i], &h->x.planes[i]);
	if (ok) {
		h->preprocessed = preprocessed(h);
		return true;
	}
	ss_host_close(h);
	return ss_fail_mem(err);
}

/*
 * The XSpace made of a large file is not kept in memory: it is read piece by piece, as a file is.
 */
#define SPILL_FROM ((size_t)16 << 20)

static bool open_made(struct ss_host *h, struct ss_imported *made, const char *path, struct ss_err *err)
{
	struct ss_file f;
	if (made->space.n < SPILL_FROM || !ss_spill(&f, &made->space))
		f = (struct ss_file){ .bytes = ss_buf_get(&made->space), .borrowed = true };
	return ss_xspace_open_made(&h->x, &f, made->hold, path, err);
}

static void free_space(struct ss_host *h)
{
	ss_buf_free(&h->imported.space);
	ss_hold_close(h->imported.hold);
	h->imported.hold = NULL;
}

/* The categories of its events: texts that events share stand among the names of stats. */
static unsigned categories_of(const struct ss_xspace *x)
{
	unsigned found = 0;
	for (uint32_t i = 0; i < x->nplanes; i++)
		for (uint32_t k = 0; k < x->planes[i].nstat_meta; k++)
			found |= 1u << ss_kineto_of(x->planes[i].stat_meta[k].name);
	return found;
}

/* Make an XSpace of a file in another format. */
static bool import(struct ss_host *h, const struct ss_file *f, const char *path, struct ss_err *err)
{
	struct ss_arena notes = { 0 };
	struct ss_imported made;
	bool ok = ss_import(f, ss_str_from(path), &notes, &made, err);
	if (ok && ss_file_torn(f))
		ok = ss_fail(err, SS_EIO, "'%s' was truncated while it was being read", path);
	ok = ok && open_made(h, &made, path, err);
	for (size_t i = 0; ok && i < made.nnotes; i++) {
		ok = ss_xspace_note(&h->x, ss_arena_str(&h->x.arena, made.notes[i]), err);
		if (!ok)
			ss_xspace_close(&h->x);
	}
	ss_arena_release(&notes);
	h->imported.any = !made.own;
	h->imported.form = made.form;
	h->imported.launch_ops = made.launch_ops;
	h->imported.cut = made.cut;
	h->imported.categories = ok && h->imported.any ? categories_of(&h->x) : 0;
	h->imported.space = made.space;
	h->imported.hold = made.hold;
	if (!ok)
		free_space(h);
	return ok;
}

bool ss_host_open(struct ss_host *h, const char *path, struct ss_err *err)
{
	return ss_host_open_below(h, NULL, path, err);
}

bool ss_host_open_below(struct ss_host *h, const char *top, const char *path, struct ss_err *err)
{
	struct ss_file f;
	*h = (struct ss_host){ 0 };
	if (!ss_file_open_below(&f, top, path, err))
		return false;
	h->source.file_bytes = f.bytes.n;
	h->source.file_mtime_ns = f.mtime_ns;
	bool ok = ss_import_is(&f, ss_str_from(path)) ? import(h, &f, path, err) : ss_xspace_open_file(&h->x, &f, path, err);
	ss_file_close(&f);
	return ok && build(h, err);
}

bool ss_host_open_among(struct ss_host *h, const char *top, const char *path, struct ss_err *why, struct ss_err *err)
{
	*why = (struct ss_err){ 0 };
	if (ss_host_open_below(h, top, path, why))
		return true;
	if (why->code == SS_ENOMEM)
		return ss_fail_mem(err);
	uint64_t bytes = h->source.file_bytes;
	int64_t mtime_ns = h->source.file_mtime_ns;
	*h = (struct ss_host){ .source = { .state = SS_HOST_IS_UNREADABLE, .file_bytes = bytes, .file_mtime_ns = mtime_ns } };
	h->x.path = ss_arena_str(&h->x.arena, ss_str_from(path));
	if (!h->x.path.p || !build(h, err)) {
		ss_arena_release(&h->x.arena);
		return ss_fail_mem(err);
	}
	if (ss_xspace_note(&h->x, ss_arena_printf(&h->x.arena, "%s", why->text), err))
		return true;
	ss_host_close(h);
	return false;
}

bool ss_host_open_bytes(struct ss_host *h, struct ss_str bytes, const char *name, struct ss_err *err)
{
	struct ss_file f = { .bytes = bytes, .borrowed = true };
	*h = (struct ss_host){ .source.file_bytes = bytes.n };
	bool ok = ss_import_is(&f, ss_str_from(name)) ? import(h, &f, name, err)
						      : ss_xspace_open_bytes(&h->x, bytes, name, err);
	return ok && build(h, err);
}

bool ss_host_open_space(struct ss_host *h, struct ss_str bytes, const char *path, struct ss_err *err)
{
	*h = (struct ss_host){ .source.file_bytes = bytes.n };
	return ss_xspace_open_bytes(&h->x, bytes, path, err) && build(h, err);
}

bool ss_host_describe(struct ss_host *h, const char *top, const char *path, uint64_t file_bytes)
{
	*h = (struct ss_host){ .source = { .state = SS_HOST_IS_DESCRIBED, .file_bytes = file_bytes } };
	h->x.path = ss_arena_str(&h->arena, ss_str_from(path));
	h->source.top = top ? ss_arena_str(&h->arena, ss_str_from(top)).p : NULL;
	h->name = h->x.path.p ? host_name(h->x.path) : SS_STR("");
	return h->x.path.p && (h->source.top || !top);
}

static bool build_raw(struct ss_host *h, struct ss_str path, struct ss_str name, struct ss_err *err)
{
	for (size_t i = 0; i < SS_HOST_PART_COUNT; i++)
		ss_part_init(&h->parts[i]);
	h->source.state = SS_HOST_IS_RAW;
	h->source.file_bytes = h->x.file.bytes.n;
	h->source.file_mtime_ns = h->x.file.mtime_ns;
	h->x.path = ss_arena_str(&h->x.arena, path);
	h->name = ss_arena_str(&h->arena, name);
	if (h->x.path.p && h->name.p)
		return true;
	h->x.path = SS_STR("");
	ss_host_close(h);
	return ss_fail_mem(err);
}

bool ss_host_open_raw(struct ss_host *h, const char *top, const char *path, struct ss_str name, struct ss_err *err)
{
	*h = (struct ss_host){ 0 };
	return ss_file_open_below(&h->x.file, top, path, err) && build_raw(h, ss_str_from(path), name, err);
}

bool ss_host_open_raw_bytes(struct ss_host *h, struct ss_str bytes, const char *name, struct ss_err *err)
{
	*h = (struct ss_host){ .x.file = { .bytes = bytes, .borrowed = true } };
	return build_raw(h, ss_str_from(name), ss_str_from(name), err);
}

void ss_line_free(struct ss_line *l)
{
	ss_xevents_free(&l->ev);
	free(l->group);
	free(l->runs);
	free(l->dev_begin_ps);
	free(l->dev_dur_ps);
	free(l->eager);
	free(l->added.v);
	l->group = NULL;
	l->runs = NULL;
	l->nruns = 0;
	l->dev_begin_ps = NULL;
	l->dev_dur_ps = NULL;
	l->eager = NULL;
	l->added = (struct ss_added_stats){ 0 };
}

void ss_host_free_events(struct ss_host *h)
{
	for (uint32_t i = 0; i < h->nplanes; i++)
		for (uint32_t j = 0; j < h->planes[i].nlines; j++)
			ss_line_free(&h->planes[i].lines[j]);
}

void ss_host_close(struct ss_host *h)
{
	if (!h->x.path.p)
		return;
	/* Later parts are built from earlier ones. */
	for (size_t i = SS_HOST_PART_COUNT; i-- > 0;)
		ss_part_release(&h->parts[i]);
	ss_host_free_events(h);
	ss_arena_release(&h->arena);
	ss_xspace_close(&h->x);
	free_space(h);
	*h = (struct ss_host){ 0 };
}

static void note_most(_Atomic uint64_t *to, uint64_t n)
{
	uint64_t known = *to;
	while (n > known && !atomic_compare_exchange_weak(to, &known, n))
		;
}

void ss_host_note_losses(struct ss_host *h, uint64_t dropped, uint64_t clipped)
{
	note_most(&h->ndropped, dropped);
	note_most(&h->nclipped, clipped);
}

struct ss_str ss_host_hostname(const struct ss_host *h)
{
	return h->x.nhostnames ? h->x.hostnames[0] : SS_STR("localhost");
}

struct ss_plane *ss_host_plane(const struct ss_host *h, enum ss_plane_kind kind)
{
	for (uint32_t i = 0; i < h->nplanes; i++)
		if (h->planes[i].kind == kind)
			return &h->planes[i];
	return NULL;
}

/* "step 7", "iteration_7": what the program calls all of its steps. */
static struct ss_str without_number(struct ss_str name)
{
	size_t n = name.n;
	while (n && isdigit((unsigned char)name.p[n - 1]))
		n--;
	while (n && n < name.n && strchr(" _#:", name.p[n - 1]))
		n--;
	return n ? ss_str_sub(name, 0, n) : name;
}

struct ss_str ss_event_kind_label(const struct ss_plane *p, uint32_t meta)
{
	bool step = ss_kineto_is_step(ss_event_name(p, meta));
	return step ? without_number(ss_event_name_in_file(p, meta)) : ss_event_label(p, meta);
}

struct ss_line *ss_plane_line(const struct ss_plane *p, struct ss_str name)
{
	for (uint32_t i = 0; i < p->nlines; i++)
		if (ss_str_eq(p->lines[i].name, name))
			return &p->lines[i];
	return NULL;
}

int64_t ss_event_group(const struct ss_plane *p, const struct ss_line *l, uint32_t i)
{
	size_t at = SIZE_MAX;
	return ss_event_group_at(p, l, i, &at);
}

int64_t ss_event_group_in_file(const struct ss_plane *p, const struct ss_line *l, uint32_t i)
{
	struct ss_xstat s;
	if (!l->ev.off || !ss_xplane_has(p->x, SS_STAT_GROUP_ID) ||
	    !ss_xstats_find(ss_line_stats(p, l, i), SS_STAT_GROUP_ID, &s))
		return SS_NO_GROUP;
	return ss_xstat_int_or_uint(&s);
}
