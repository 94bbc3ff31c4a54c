/* recordings.c - see recordings.h. */
#include "recordings.h"

#include "request/recorded.h"

#include <stdlib.h>
#include <string.h>

/* Machines of one job are started seconds apart at most; a run of more files than this is one. */
#define MOST_FILES 256

struct span {
	struct ss_host_file file;
	int64_t begin_ns, end_ns;
};

static bool read_span(const struct ss_host_file *f, struct span *out)
{
	out->file = *f;
	return ss_recorded_at(f, &out->begin_ns, &out->end_ns);
}

static int by_begin(const void *a, const void *b)
{
	const struct span *x = a, *y = b;
	if (x->begin_ns != y->begin_ns)
		return x->begin_ns < y->begin_ns ? -1 : 1;
	return ss_str_cmp(x->file.name, y->file.name);
}

static int by_name(const void *a, const void *b)
{
	return ss_str_cmp(((const struct ss_host_file *)a)->name, ((const struct ss_host_file *)b)->name);
}

/* The recording of v[from..to). */
static void make(struct ss_run *out, const struct ss_run *run, struct ss_host_file *files, const struct span *v, size_t n)
{
	*out = *run;
	out->hosts = files;
	out->nhosts = n;
	out->bytes = 0;
	for (size_t i = 0; i < n; i++) {
		files[i] = v[i].file;
		out->bytes += v[i].file.bytes;
	}
	qsort(files, n, sizeof(*files), by_name);
}

static size_t first_of_next(const struct span *v, size_t n, size_t from)
{
	int64_t end_ns = v[from].end_ns;
	size_t to = from + 1;
	for (; to < n && v[to].begin_ns < end_ns; to++)
		end_ns = v[to].end_ns > end_ns ? v[to].end_ns : end_ns;
	return to;
}

static bool split(const struct ss_run *run, struct span *v, struct ss_arena *arena, struct cli_recordings *out)
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
	*out = (struct cli_recordings){ runs, parts };
	return true;
}

bool cli_recordings_of(const struct ss_run *run, struct ss_arena *arena, struct cli_recordings *out)
{
	*out = (struct cli_recordings){ run, 1 };
	if (run->nhosts < 2 || run->nhosts > MOST_FILES)
		return true;
	struct span *v = calloc(run->nhosts, sizeof(*v));
	bool known = v;
	for (size_t i = 0; known && i < run->nhosts; i++)
		known = read_span(&run->hosts[i], &v[i]);
	bool ok = v && (!known || split(run, v, arena, out));
	free(v);
	return ok;
}
