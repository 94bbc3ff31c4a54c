/* drive.c - see drive.h. */
#define _XOPEN_SOURCE 700
#include "sweep/drive.h"

#include "emit/chrome.h"
#include "emit/shape.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

bool drive_open(struct drive *d, struct ss_str bytes, struct ss_err *err)
{
	struct ss_host *host = &d->host;

	if (!ss_host_open_bytes(host, bytes, "host.xplane.pb", err))
		return false;
	if (ss_model_init(&d->model, &host, 1, err))
		return true;
	ss_host_close(host);
	return false;
}

void drive_close(struct drive *d)
{
	ss_model_release(&d->model);
	ss_host_close(&d->host);
}

/* Questions beyond the plain one, as in a URL. */
static const struct {
	const char *tool, *question;
} questions[] = {
	{ "trace_viewer@", "resolution=8000" },
	{ "trace_viewer@", "start_time_ms=0.1&end_time_ms=0.4&resolution=100&full_dma=true" },
	{ "trace_viewer@", "search_prefix=f&search_metadata=true" },
	{ "trace_viewer@", "event_name=dense/MatMul:MatMul&start_time_ms=0.105&duration_ms=0.02&unique_id=2" },
};

const char *drive_question(const struct ss_tool *tool, size_t number)
{
	if (number == 0)
		return "";
	for (size_t i = 0; i < SS_COUNT(questions); i++)
		if (strcmp(questions[i].tool, tool->name) == 0 && --number == 0)
			return questions[i].question;
	return NULL;
}

/* "k=v&k=v" as parameters; returns how many. */
static size_t split(struct ss_str question, struct ss_param_value *out, size_t max)
{
	size_t n = 0;

	while (question.n && n < max) {
		size_t amp = ss_str_chr(question, '&'), end = amp == SS_NPOS ? question.n : amp;
		struct ss_str pair = ss_str_sub(question, 0, end);
		size_t eq = ss_str_chr(pair, '=');

		out[n].name = ss_str_sub(pair, 0, eq);
		out[n++].value = ss_str_sub(pair, eq + 1, pair.n);
		question = ss_str_sub(question, end + 1, question.n);
	}
	return n;
}

static bool mix(void *arg, const char *p, size_t n)
{
	uint64_t *h = arg;

	for (size_t i = 0; i < n; i++)
		*h = (*h ^ (unsigned char)p[i]) * 1099511628211u;
	return true;
}

static void print_cell(struct ss_out *o, const struct ss_table *t, size_t col, size_t row)
{
	switch (t->cols[col].type) {
	case SS_TYPE_STR:
		ss_out_json_str(o, t->data[col].str[row]);
		break;
	case SS_TYPE_F64:
		ss_out_f64(o, t->data[col].f64[row]);
		break;
	case SS_TYPE_I64:
		ss_out_i64(o, t->data[col].i64[row]);
		break;
	case SS_TYPE_BOOL:
		ss_out_u64(o, t->data[col].b[row]);
		break;
	}
}

/* Everything that is in the answer, and what XProf's clients get of it. */
static void print(struct ss_out *o, const struct ss_tool *tool, const struct ss_result *r)
{
	ss_shape_fn *shape = ss_shape_find(ss_str_from(tool->name));

	for (size_t i = 0; i < r->ntables; i++) {
		const struct ss_table *t = &r->tables[i];

		for (size_t c = 0; c < t->ncols; c++)
			for (size_t row = 0; row < t->nrows; row++)
				print_cell(o, t, c, row);
		for (size_t k = 0; k < t->nprops; k++)
			ss_out_json_str(o, t->props[k].text);
	}
	for (size_t i = 0; i < r->nnotes; i++)
		ss_out_json_str(o, r->notes[i].text);
	if (r->timeline)
		ss_chrome_write(o, r->timeline);
	if (shape)
		shape(o, r);
}

static bool answer(const struct ss_query *q, const struct ss_tool *tool, uint64_t *digest, struct ss_err *err)
{
	struct ss_result r;
	struct ss_out out;
	bool ok;

	*digest = 14695981039346656037u;
	ss_result_init(&r, q->arena);
	if (!tool->run(q, &r, err))
		return false;
	ss_out_init(&out, mix, digest);
	print(&out, tool, &r);
	ok = ss_out_finish(&out, err);
	ss_out_free(&out);
	return ok;
}

bool drive_run(struct drive *d, const struct ss_tool *tool, const char *question, uint64_t *digest,
	       struct ss_err *err)
{
	struct ss_param_value params[8];
	struct ss_arena arena = { 0 };
	struct ss_query q = { .model = &d->model, .params = params, .arena = &arena };
	bool ok;

	q.nparams = split(ss_str_from(question), params, SS_COUNT(params));
	ok = answer(&q, tool, digest, err);
	ss_arena_release(&arena);
	return ok;
}

/* --- Samples ---------------------------------------------------------------------------------- */

static bool read_file(const char *path, size_t size, struct sample *s)
{
	FILE *f = fopen(path, "rb");
	char *p = malloc(size ? size : 1);
	size_t n = f && p ? fread(p, 1, size, f) : 0;

	if (f)
		fclose(f);
	if (n != size) {
		free(p);
		return false;
	}
	snprintf(s->path, sizeof(s->path), "%s", path);
	s->bytes = (struct ss_str){ p, size };
	return true;
}

static void collect(struct samples *out, const char *dir, size_t max_bytes)
{
	char path[512];
	struct dirent *e;
	struct stat st;
	DIR *d = opendir(dir);

	while (d && (e = readdir(d))) {
		if (e->d_name[0] == '.')
			continue;
		if (snprintf(path, sizeof(path), "%s/%s", dir, e->d_name) >= (int)sizeof(path) || stat(path, &st))
			continue;
		if (S_ISDIR(st.st_mode)) {
			collect(out, path, max_bytes);
		} else if (ss_str_ends(ss_str_from(path), SS_STR(".xplane.pb")) && (size_t)st.st_size <= max_bytes) {
			struct sample *v = realloc(out->v, (out->n + 1) * sizeof(*v));

			if (!v)
				abort();
			out->v = v;
			out->n += read_file(path, (size_t)st.st_size, &v[out->n]);
		}
	}
	if (d)
		closedir(d);
}

static int by_path(const void *a, const void *b)
{
	return strcmp(((const struct sample *)a)->path, ((const struct sample *)b)->path);
}

struct samples samples_load(const char *dir, size_t max_bytes)
{
	struct samples s = { 0 };

	collect(&s, dir, max_bytes);
	if (s.n)
		qsort(s.v, s.n, sizeof(*s.v), by_path);
	return s;
}

void samples_free(struct samples *s)
{
	for (size_t i = 0; i < s->n; i++)
		free((void *)(uintptr_t)s->v[i].bytes.p);
	free(s->v);
}
