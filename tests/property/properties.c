/*
 * properties.c - what must hold of any profile, whatever it holds.
 *
 *	properties DIR
 *
 * Every folder below DIR with profiles is a run.
 *
 *	self times	operations of a thread or core sum up to the time in which it ran any
 *	threads		every tool answers the same when the profile was read by 1, 3 or 16 threads
 *	hosts		every tool that combines hosts answers the same in whatever order they come
 *	visits		and the same when hosts are opened one after the other in place of all at once
 */
#define _XOPEN_SOURCE 700
#include "model/host/opname.h"

#include "model/host/host.h"
#include "model/model.h"
#include "model/ops/ops.h"
#include "model/ops/tpu.h"
#include "request/request.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_HOSTS = 16, MAX_TOOLS = 64, PATH = 1024 };

/* The number of processors that the library sees; the linker's --wrap sends its question here. */
static unsigned processors = 1;
unsigned __wrap_ss_processors(void);

unsigned __wrap_ss_processors(void)
{
	return processors;
}

struct run {
	char dir[PATH], paths[MAX_HOSTS][PATH];
	size_t n;
};

struct opened {
	struct ss_host hosts[MAX_HOSTS], *order[MAX_HOSTS];
	size_t n;
	struct ss_model model;
};

static void close_run(struct opened *o)
{
	ss_model_release(&o->model);
	while (o->n)
		ss_host_close(&o->hosts[--o->n]);
}

/* The k-th host asked for is the file at place (first + k * stride) of the run. */
static bool open_run(struct opened *o, const struct run *r, size_t first, size_t stride, struct ss_err *err)
{
	*o = (struct opened){ .n = 0 };
	for (; o->n < r->n; o->n++) {
		if (!ss_host_open(&o->hosts[o->n], r->paths[(first + o->n * stride) % r->n], err))
			break;
		o->order[o->n] = &o->hosts[o->n];
	}
	if (o->n == r->n && ss_model_init(&o->model, o->order, o->n, err))
		return true;
	while (o->n)
		ss_host_close(&o->hosts[--o->n]);
	return false;
}

/* ---- self times ---- */

struct span {
	int64_t begin_ps, end_ps;
};

static int by_begin(const void *a, const void *b)
{
	const struct span *sa = a, *sb = b;

	if (sa->begin_ps != sb->begin_ps)
		return sa->begin_ps < sb->begin_ps ? -1 : 1;
	return sa->end_ps > sb->end_ps ? -1 : sa->end_ps < sb->end_ps;
}

static uint64_t union_ps(struct span *v, size_t n)
{
	uint64_t sum_ps = 0;
	int64_t end_ps = INT64_MIN;

	if (n)
		qsort(v, n, sizeof(*v), by_begin);
	for (size_t i = 0; i < n; i++) {
		int64_t from_ps = v[i].begin_ps > end_ps ? v[i].begin_ps : end_ps;

		if (v[i].end_ps > from_ps)
			sum_ps += (uint64_t)(v[i].end_ps - from_ps);
		end_ps = v[i].end_ps > end_ps ? v[i].end_ps : end_ps;
	}
	return sum_ps;
}

/* Do spans, in order, lie one inside the other or apart? */
static bool are_nested(const struct span *v, size_t n)
{
	int64_t *ends = malloc((n + 1) * sizeof(*ends));
	size_t depth = 0;
	bool nested = true;

	for (size_t i = 0; i < n && nested; i++) {
		while (depth && ends[depth - 1] <= v[i].begin_ps)
			depth--;
		nested = !depth || v[i].end_ps <= ends[depth - 1];
		ends[depth++] = v[i].end_ps;
	}
	free(ends);
	return nested;
}

/* Is the event an operation of its thread? Said here by the stats themselves, one by one. */
static bool is_thread_op(const struct ss_plane *p, const struct ss_line *l, uint32_t i)
{
	struct ss_xstats it = ss_line_stats(p, l, i);
	struct ss_xstat s;
	bool id = false, category = false;

	if (ss_op_name_parse(ss_event_name(p, l->ev.meta[i])).category != SS_OP_UNKNOWN)
		return true;
	while (ss_xstats_next(&it, &s)) {
		if (s.stat == SS_STAT_TF_OP)
			return true;
		id |= s.stat == SS_STAT_IPL_STAGE_ID;
		category |= s.stat == SS_STAT_IPL_STAGE_CATEGORY;
	}
	return id && category;
}

static uint64_t thread_busy_ps(const struct ss_host *h)
{
	const struct ss_plane *p = ss_host_plane(h, SS_PLANE_HOST_CPU);
	uint64_t sum_ps = 0;

	for (uint32_t k = 0; p && k < p->nlines; k++) {
		const struct ss_line *l = &p->lines[k];
		struct span *v = malloc(((size_t)l->ev.n + 1) * sizeof(*v));
		size_t n = 0;

		for (uint32_t i = 0; !l->derived && i < l->ev.n; i++)
			if (is_thread_op(p, l, i))
				v[n++] = (struct span){ l->ev.begin_ps[i], ss_xevents_end_ps(&l->ev, i) };
		sum_ps += union_ps(v, n);
		free(v);
	}
	return sum_ps;
}

/*
 * Time in which a core ran anything. *exact: its operations neither cross nor lie inside of what is
 * none, which takes its time from them.
 */
static uint64_t core_busy_ps(const struct ss_plane *p, bool *exact)
{
	uint64_t sum_ps = 0;
	unsigned lines = 0;

	*exact = true;
	for (uint32_t k = 0; k < p->nlines; k++) {
		const struct ss_line *l = &p->lines[k];
		struct span *v;

		if (!ss_str_is(l->name, "XLA Ops"))
			continue;
		v = malloc(((size_t)l->ev.n + 1) * sizeof(*v));
		lines++;
		for (uint32_t i = 0; i < l->ev.n; i++) {
			struct ss_xstat s;
			uint64_t dur_ps;

			ss_device_span(p, l, i, &v[i].begin_ps, &dur_ps);
			v[i].end_ps = (int64_t)((uint64_t)v[i].begin_ps + dur_ps);
			*exact &= (i == 0 || by_begin(&v[i - 1], &v[i]) <= 0) && l->ev.meta[i] < p->x->nevent_meta &&
				  ss_xstats_find(ss_xevent_meta_stats(p->x, l->ev.meta[i]), SS_STAT_SYMBOL_ID, &s) &&
				  ss_xstats_find(ss_xevent_meta_stats(p->x, l->ev.meta[i]), SS_STAT_PROGRAM_ID, &s);
		}
		*exact &= are_nested(v, l->ev.n);
		sum_ps += union_ps(v, l->ev.n);
		free(v);
	}
	*exact &= lines == 1;
	return sum_ps;
}

static bool complain(const char *where, const char *what, uint64_t got, uint64_t want)
{
	printf("%s: %s: %llu, not %llu\n", where, what, (unsigned long long)got, (unsigned long long)want);
	return false;
}

static unsigned exact_cores, exact_threads;

static bool check_self_times(const struct run *r)
{
	static struct opened o;
	struct ss_err err = { 0 };
	bool good = true;

	if (!open_run(&o, r, 0, 1, &err))
		return true;	/* damaged beyond opening: nothing to sum up */
	for (size_t i = 0; i < o.n; i++) {
		const struct ss_host_ops *ops = ss_host_ops(&o.hosts[i], &err);
		uint64_t busy_ps = ops ? thread_busy_ps(&o.hosts[i]) : 0;

		if (ops && ops->host.op_ps != busy_ps)
			good = complain(r->paths[i], "self times of threads", ops->host.op_ps, busy_ps);
		exact_threads += ops && busy_ps;
		for (size_t k = 0; ops && k < ops->ncores; k++) {
			const struct ss_tpu_core *core = &ops->cores[k];
			bool exact;

			busy_ps = core_busy_ps(core->plane, &exact);
			exact_cores += exact && busy_ps;
			if (exact && core->ops.op_ps != busy_ps)
				good = complain(r->paths[i], "self times of a core", core->ops.op_ps, busy_ps);
		}
	}
	close_run(&o);
	return good;
}

/* ---- the same answer ---- */

static bool mix(void *arg, const char *p, size_t n)
{
	uint64_t *h = arg;

	for (size_t i = 0; i < n; i++)
		*h = (*h ^ (unsigned char)p[i]) * 1099511628211u;
	return true;
}

/*
 * A number for the answer of each tool that has any of the flags (0: of all); failures are answers
 * as well.
 */
static void answers(struct ss_model *m, unsigned flags, uint64_t digest[MAX_TOOLS])
{
	for (size_t i = 0; ss_tools[i]; i++) {
		struct ss_tool_request ask = { .tool = ss_tools[i], .model = m, .format = SS_FORMAT_JSON,
			.run = SS_STR("run"), .host = SS_STR("host") };
		struct ss_out out;
		struct ss_err err = { 0 };

		digest[i] = 14695981039346656037u;
		if (flags && !(ss_tools[i]->flags & flags))
			continue;
		ss_out_init(&out, mix, &digest[i]);
		if (!ss_tool_answer(&ask, &out, &err))
			mix(&digest[i], err.text, strlen(err.text));
		ss_out_finish(&out, &err);
		ss_out_free(&out);
		ss_tool_request_release(&ask);
	}
}

static bool same(const struct run *r, const char *what, const uint64_t *want, const uint64_t *got)
{
	bool good = true;

	for (size_t i = 0; ss_tools[i]; i++)
		if (want[i] != got[i]) {
			printf("%s: %s: %s answers otherwise\n", r->dir, what, ss_tools[i]->name);
			good = false;
		}
	return good;
}

static bool open_and_answer(const struct run *r, size_t first, size_t stride, unsigned flags, uint64_t *digest)
{
	static struct opened o;
	struct ss_err err = { 0 };

	if (!open_run(&o, r, first, stride, &err))
		return false;
	answers(&o.model, flags, digest);
	close_run(&o);
	return true;
}

static bool check_threads(const struct run *r)
{
	uint64_t one[MAX_TOOLS], many[MAX_TOOLS];
	bool good = true;

	processors = 1;
	if (!open_and_answer(r, 0, 1, 0, one))
		return true;
	for (processors = 3; processors <= 16; processors += 13)
		good = open_and_answer(r, 0, 1, 0, many) && same(r, "more threads", one, many) && good;
	return good;
}

#define COMBINING (SS_TOOL_ALL_HOSTS | SS_TOOL_ONLY_ALL_HOSTS)

static bool check_order(const struct run *r)
{
	uint64_t one[MAX_TOOLS], other[MAX_TOOLS];

	if (r->n < 2 || !open_and_answer(r, 0, 1, COMBINING, one))
		return true;
	return open_and_answer(r, r->n - 1, r->n - 1, COMBINING, other) && same(r, "hosts backwards", one, other) &&
	       open_and_answer(r, 1, 1, COMBINING, other) && same(r, "hosts turned round", one, other);
}

/* The last file first: the model puts them in order. */
static bool visit_and_answer(const struct run *r, uint64_t *digest)
{
	struct ss_host_file_at files[MAX_HOSTS];
	struct ss_model m;
	struct ss_err err = { 0 };
	struct stat st;

	for (size_t i = 0; i < r->n; i++) {
		const char *path = r->paths[r->n - 1 - i];

		if (stat(path, &st))
			return false;
		files[i] = (struct ss_host_file_at){ .path = path, .bytes = (uint64_t)st.st_size };
	}
	if (!ss_model_init_visited(&m, files, r->n, &err))
		return false;
	answers(&m, SS_TOOL_VISITS, digest);
	ss_model_release(&m);
	return true;
}

static bool check_visits(const struct run *r)
{
	uint64_t held[MAX_TOOLS], visited[MAX_TOOLS];
	bool good = true;

	if (!open_and_answer(r, 0, 1, SS_TOOL_VISITS, held))
		return true;
	for (processors = 1; processors <= 16; processors += 5)
		good = visit_and_answer(r, visited) && same(r, "hosts visited", held, visited) && good;
	return good;
}

/* ---- runs ---- */

struct tally {
	unsigned runs, several, passed, failed;
};

static void count(struct tally *t, bool good)
{
	t->passed += good;
	t->failed += !good;
}

static void check_run(struct tally *t, const struct run *r)
{
	t->runs++;
	t->several += r->n > 1;
	count(t, check_self_times(r));
	count(t, check_threads(r));
	count(t, check_visits(r));
	if (r->n > 1)
		count(t, check_order(r));
}

static int by_name(const void *a, const void *b)
{
	return strcmp(a, b);
}

static void walk(struct tally *t, const char *dir)
{
	struct run *r = calloc(1, sizeof(*r));
	char path[PATH];
	struct dirent *e;
	struct stat st;
	DIR *d = opendir(dir);

	snprintf(r->dir, sizeof(r->dir), "%s", dir);
	while (d && (e = readdir(d))) {
		if (e->d_name[0] == '.' ||
		    snprintf(path, sizeof(path), "%s/%s", dir, e->d_name) >= (int)sizeof(path) || stat(path, &st))
			continue;
		if (S_ISDIR(st.st_mode))
			walk(t, path);
		else if (ss_str_ends(ss_str_from(path), SS_STR(".xplane.pb")) && r->n < MAX_HOSTS)
			memcpy(r->paths[r->n++], path, sizeof(path));
	}
	if (d)
		closedir(d);
	qsort(r->paths, r->n, sizeof(r->paths[0]), by_name);
	if (r->n)
		check_run(t, r);
	free(r);
}

int main(int argc, char **argv)
{
	struct tally t = { 0 };

	walk(&t, argc > 1 ? argv[1] : ".");
	printf("%u runs, %u of several hosts; self times held exactly on %u hosts and %u cores\n", t.runs, t.several,
	       exact_threads, exact_cores);
	if (!t.several || !exact_cores || !exact_threads)	/* nothing to compare proves nothing */
		t.failed++;
	printf("%u passed, %u failed\n", t.passed, t.failed);
	return t.failed || !t.passed;
}
