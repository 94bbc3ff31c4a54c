/* recorded.c - see recorded.h. What files tell is kept: a server asks for it with each request. */
#include "request/recorded.h"

#include "base/hash.h"
#include "model/host/host.h"
#include "model/host/plane.h"
#include "store/kinds.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define MOST_PROGRAMS 32
#define KEPT_FILES 4096 /* a power of two; 1.2 MB */
#define FINGERPRINT_DIGITS 8
#define MOST_FILES 256 /* a run of more is one recording */

struct recorded {
	uint64_t key; /* of the file as it was then; 0: nothing is here */
	int64_t begin_ns, end_ns; /* 0: not told */
	uint64_t programs[MOST_PROGRAMS];
	uint32_t nprograms;
};

static struct recorded kept[KEPT_FILES];
static pthread_mutex_t kept_lock = PTHREAD_MUTEX_INITIALIZER;

/*
 * "jit_step(12345678901234567890)": a number that the program's content gave it. A small one counts
 * programs of a process.
 */
static bool has_fingerprint(struct ss_str name)
{
	size_t open = ss_str_rchr(name, '(');
	uint64_t number;
	return open != SS_NPOS && ss_str_ends(name, SS_STR(")")) && name.n - open - 2 >= FINGERPRINT_DIGITS &&
	       ss_str_to_u64(ss_str_sub(name, open + 1, name.n - 1), &number);
}

/* The compiled programs that a plane names: as what it holds, or as what ran. */
static void read_programs(const struct ss_plane *p, struct recorded *out)
{
	for (uint32_t i = 0; p && i < p->x->nevent_meta && out->nprograms < MOST_PROGRAMS; i++)
		if (has_fingerprint(p->x->event_meta[i].name))
			out->programs[out->nprograms++] = ss_str_hash(p->x->event_meta[i].name);
}

static void read_host(const struct ss_host *h, struct recorded *out)
{
	const struct ss_plane *p = ss_host_plane(h, SS_PLANE_TASK_ENV);
	struct ss_xstat s;
	if (p && ss_xstats_find(ss_xplane_stats(p->x), SS_STAT_PROFILE_START_TIME, &s))
		out->begin_ns = ss_xstat_int_or_uint(&s);
	if (p && ss_xstats_find(ss_xplane_stats(p->x), SS_STAT_PROFILE_STOP_TIME, &s))
		out->end_ns = ss_xstat_int_or_uint(&s);
	if (out->begin_ns <= 0 || out->end_ns <= out->begin_ns)
		out->begin_ns = out->end_ns = 0;
	read_programs(ss_host_plane(h, SS_PLANE_METADATA), out);
	for (uint32_t i = 0; i < h->nplanes && !out->nprograms; i++)
		if (ss_plane_is_device(&h->planes[i]))
			read_programs(&h->planes[i], out);
}

static struct recorded recorded_of(const struct ss_host_file *f)
{
	struct recorded r = { .key = ss_mix(ss_mix(ss_str_hash(f->path), f->bytes), (uint64_t)f->mtime_ns) | 1 };
	struct recorded *slot = &kept[(r.key >> 1) & (KEPT_FILES - 1)];
	struct ss_err ignored = { 0 };
	struct ss_host h;
	pthread_mutex_lock(&kept_lock);
	bool known = slot->key == r.key;
	if (known)
		r = *slot;
	pthread_mutex_unlock(&kept_lock);
	/* Other forms than XSpace would have to be read as a whole. */
	if (known || ss_file_kind_is_raw(f->kind) || !ss_str_ends(f->path, SS_STR(".xplane.pb")) ||
	    !ss_host_open_below(&h, f->top, f->path.p, &ignored))
		return r;
	read_host(&h, &r);
	ss_host_close(&h);
	pthread_mutex_lock(&kept_lock);
	*slot = r;
	pthread_mutex_unlock(&kept_lock);
	return r;
}

static bool share_a_program(const struct recorded *a, const struct recorded *b)
{
	for (uint32_t i = 0; i < a->nprograms; i++)
		for (uint32_t k = 0; k < b->nprograms; k++)
			if (a->programs[i] == b->programs[k])
				return true;
	return false;
}

/* Recordings at one time are of one job. An end is no time of the recording any more. */
static bool overlap(const struct recorded *a, const struct recorded *b)
{
	return a->begin_ns < b->end_ns && b->begin_ns < a->end_ns;
}

/* ---- runs of different names ---- */

static bool together(const struct ss_run *x, const struct ss_run *y)
{
	struct recorded a = recorded_of(&x->hosts[0]), b = recorded_of(&y->hosts[0]);
	return !a.begin_ns || !b.begin_ns || overlap(&a, &b) || share_a_program(&a, &b);
}

const struct ss_run *ss_recorded_run(const struct ss_store *s, const struct ss_run *run, struct ss_arena *arena)
{
	return ss_session_run(s, run, together, arena);
}

/* ---- files of one run ---- */

struct told {
	const struct ss_host_file *file;
	struct recorded when;
};

static int by_begin(const void *a, const void *b)
{
	const struct told *x = a, *y = b;
	return SS_CMP(x->when.begin_ns, y->when.begin_ns) ?: ss_str_cmp(x->file->name, y->file->name);
}

static int by_name(const void *a, const void *b)
{
	return ss_str_cmp(((const struct ss_host_file *)a)->name, ((const struct ss_host_file *)b)->name);
}

/* The recording of v[from..to). */
static void make(struct ss_run *out, const struct ss_run *run, struct ss_host_file *files, const struct told *v, size_t n)
{
	*out = *run;
	out->hosts = files;
	out->nhosts = n;
	out->bytes = 0;
	for (size_t i = 0; i < n; i++) {
		files[i] = *v[i].file;
		out->bytes += v[i].file->bytes;
	}
	qsort(files, n, sizeof(*files), by_name);
}

static size_t first_of_next(const struct told *v, size_t n, size_t from)
{
	struct recorded all = v[from].when;
	size_t to = from + 1;
	for (; to < n && overlap(&v[to].when, &all); to++)
		all.end_ns = v[to].when.end_ns > all.end_ns ? v[to].when.end_ns : all.end_ns;
	return to;
}

static bool split(const struct ss_run *run, struct told *v, struct ss_arena *arena, struct ss_recordings *out)
{
	size_t n = run->nhosts, parts = 0;
	qsort(v, n, sizeof(*v), by_begin);
	for (size_t i = 0; i < n; i = first_of_next(v, n, i))
		parts++;
	if (parts < 2)
		return true;
	struct ss_run *runs = SS_NEW_N(arena, struct ss_run, parts);
	struct ss_host_file *files = SS_NEW_N(arena, struct ss_host_file, n);
	if (!runs || !files)
		return false;
	for (size_t i = 0, k = 0; i < n; k++) {
		size_t to = first_of_next(v, n, i);
		make(&runs[k], run, files + i, v + i, to - i);
		i = to;
	}
	*out = (struct ss_recordings){ runs, parts };
	return true;
}

bool ss_recordings_of(const struct ss_run *run, struct ss_arena *arena, struct ss_recordings *out)
{
	*out = (struct ss_recordings){ run, 1 };
	if (run->nhosts < 2 || run->nhosts > MOST_FILES)
		return true;
	struct told *v = calloc(run->nhosts, sizeof(*v));
	bool known = v;
	for (size_t i = 0; known && i < run->nhosts; i++) {
		v[i] = (struct told){ &run->hosts[i], recorded_of(&run->hosts[i]) };
		known = v[i].when.begin_ns;
	}
	bool ok = v && (!known || split(run, v, arena, out));
	free(v);
	return ok;
}
