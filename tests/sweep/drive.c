/* drive.c - see drive.h. */
#define _XOPEN_SOURCE 700
#include "sweep/drive.h"
#include "sweep/judged.h"

#include "import/names.h"
#include "store/kinds.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

bool drive_open(struct drive *d, const struct sample *s, struct ss_str bytes, struct ss_err *err)
{
	const char *slash = strrchr(s->path, '/'), *name = slash ? slash + 1 : s->path;
	struct ss_host *host = &d->host;

	/* What a file is may be told by its name. */
	if (!(ss_file_kind_is_raw(s->kind) ? ss_host_open_raw_bytes(host, bytes, name, err)
					   : ss_host_open_bytes(host, bytes, name, err)))
		return false;
	d->has_pair = false;
	if (!ss_model_init(&d->model, &host, 1, err)) {
		ss_host_close(host);
		return false;
	}
	if (!ss_file_kind_is_answer(s->kind) || !ss_file_kind_is_raw(s->kind))
		return true;
	d->has_pair = ss_model_init(&d->pair, (struct ss_host *[]){ host, host }, 2, err);
	if (!d->has_pair)
		drive_close(d);
	return d->has_pair;
}

bool drive_open_file(struct drive *d, const struct sample *s, const char *path, struct ss_err *err)
{
	const char *slash = strrchr(s->path, '/');
	struct ss_host *host = &d->host;

	d->has_pair = false;
	if (!(ss_file_kind_is_raw(s->kind) ? ss_host_open_raw(host, NULL, path, ss_str_from(slash ? slash + 1 : s->path), err)
					   : ss_host_open(host, path, err)))
		return false;
	if (ss_model_init(&d->model, &host, 1, err))
		return true;
	ss_host_close(host);
	return false;
}

bool drive_open_visited(struct drive *d, const struct sample *s, struct ss_err *err)
{
	const struct ss_host_file_at file = { .path = s->path, .bytes = s->bytes.n }, both[] = { file, file };

	d->host = (struct ss_host){ 0 };
	d->has_pair = false;
	return ss_model_init_visited(&d->model, both, SS_COUNT(both), err);
}

void drive_close(struct drive *d)
{
	ss_model_release(&d->model);
	if (d->has_pair)
		ss_model_release(&d->pair);
	ss_host_close(&d->host);
}

bool drive_fits(const struct sample *s, const struct ss_tool *tool)
{
	const char *kind = ss_file_kind_is_answer(s->kind) ? ss_legacy_answers(tool) : ss_legacy_files(tool);

	return s->kind && kind ? strcmp(s->kind, kind) == 0 : !s->kind && !kind;
}

/* Questions beyond the plain one, as in a URL; those without a tool are for all. */
static const struct {
	const char *tool;
	struct drive_question question;
} questions[] = {
	{ NULL, { SS_FORMAT_XPROF, "" } },
	{ NULL, { SS_FORMAT_JSON, "" } },
	{ NULL, { SS_FORMAT_TEXT, "" } },
	{ NULL, { SS_FORMAT_CSV, "" } },
	{ "megascale_stats", { SS_FORMAT_XPROF, "perfetto=true" } },
	{ "kernel_utilization", { SS_FORMAT_XPROF, "duration_us=5&force_duration=true" } },
	{ "tf_graph", { SS_FORMAT_JSON, "scope=/" } },
	{ "tf_graph", { SS_FORMAT_JSON, "scope=tower" } },
	{ "tf_graph", { SS_FORMAT_JSON, "node=model/lookup" } },
	{ "trace_viewer@", { SS_FORMAT_XPROF, "resolution=8000" } },
	{ "trace_viewer@", { SS_FORMAT_TEXT, "search_prefix=a" } },
	{ "trace_viewer@",
	  { SS_FORMAT_XPROF, "start_time_ms=0.1&end_time_ms=0.4&resolution=100&full_dma=true" } },
	{ "trace_viewer@", { SS_FORMAT_XPROF, "search_prefix=f&search_metadata=true" } },
	{ "trace_viewer@",
	  { SS_FORMAT_XPROF,
	    "event_name=dense/MatMul:MatMul&start_time_ms=0.105&duration_ms=0.02&unique_id=2" } },
};

const struct drive_question *drive_question(const struct ss_tool *tool, size_t number)
{
	for (size_t i = 0; i < SS_COUNT(questions); i++)
		if ((!questions[i].tool || strcmp(questions[i].tool, tool->name) == 0) && number-- == 0)
			return &questions[i].question;
	return NULL;
}

/* "k=v&k=v" as parameters; returns how many. */
static size_t split(struct ss_str text, struct ss_param_value *out, size_t max)
{
	size_t n = 0;

	while (text.n && n < max) {
		size_t amp = ss_str_chr(text, '&'), end = amp == SS_NPOS ? text.n : amp;
		struct ss_str pair = ss_str_sub(text, 0, end);
		size_t eq = ss_str_chr(pair, '=');

		out[n].name = ss_str_sub(pair, 0, eq);
		out[n++].value = ss_str_sub(pair, eq + 1, pair.n);
		text = ss_str_sub(text, end + 1, text.n);
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

static bool ask_model(struct ss_model *model, const struct ss_tool *tool, const struct drive_question *q, uint64_t *digest,
		      struct ss_err *err)
{
	struct ss_param_value params[8];
	struct ss_tool_request ask = { .tool = tool, .model = model, .params = params, .format = q->format,
		.run = SS_STR("run"), .host = SS_STR("host"), .drawing = true };
	struct ss_out out;
	bool ok;

	ask.nparams = split(ss_str_from(q->params), params, SS_COUNT(params));
	ss_out_init(&out, mix, digest);
	ok = ss_tool_answer(&ask, &out, err);
	ok = ss_out_finish(&out, err) && ok;
	ss_out_free(&out);
	ss_tool_request_release(&ask);
	return ok;
}

bool drive_run(struct drive *d, const struct ss_tool *tool, const struct drive_question *q, uint64_t *digest,
	       struct ss_err *err)
{
	*digest = 14695981039346656037u;
	return ask_model(&d->model, tool, q, digest, err) &&
	       (strcmp(tool->name, "overview_page") != 0 || judged(&d->model, mix, digest, err)) &&
	       (!d->has_pair || !(tool->flags & SS_TOOL_ALL_HOSTS) || ask_model(&d->pair, tool, q, digest, err));
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

/* Does a tool read files of this name? *kind says which, NULL: profiles. */
static bool is_sample(const char *path, const char **kind)
{
	struct ss_str name = ss_str_from(path), label;

	name = ss_str_sub(name, ss_str_rchr(name, '/') + 1, name.n);
	*kind = ss_file_kind(name, SS_PLACE_SIDECAR, &label);
	if (!*kind)
		*kind = ss_file_kind(name, SS_PLACE_RUN, &label);
	/* Packed profiles are those that are too large to be damaged many times. */
	return *kind || (ss_profile_rank(name) != SS_NO_PROFILE && !ss_str_ends(name, SS_STR(".xplane.pb.gz")));
}

static void collect(struct samples *out, const char *dir, size_t max_bytes)
{
	char path[512];
	const char *kind;
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
		} else if (is_sample(path, &kind) && (size_t)st.st_size <= max_bytes) {
			struct sample *v = realloc(out->v, (out->n + 1) * sizeof(*v));

			if (!v)
				abort();
			out->v = v;
			v[out->n].kind = kind;
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
