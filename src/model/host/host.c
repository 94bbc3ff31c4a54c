/* host.c - opening one host's profile, and closing it. */
#include "model/host/host.h"

#include "base/spill.h"
#include "import/import.h"
#include "import/kineto.h"
#include "import/names.h"
#include "model/host/plane.h"
#include "xspace/fields.h"

#include <stdatomic.h>

bool ss_host_runs_programs(const struct ss_host *h)
{
	for (uint32_t i = 0; i < h->nplanes; i++)
		if (ss_plane_is_device(&h->planes[i]) || ss_xplane_has(h->planes[i].x, SS_STAT_HLO_OP))
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
	*p = (struct ss_plane){ .x = x, .name = x->name, .kind = ss_plane_kind_of(x->name), .id = x->id, .nlines = x->nlines };
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
