/* drive.c - see drive.h. */
#define _XOPEN_SOURCE 700
#include "sweep/drive.h"

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

static uint64_t mix_str(uint64_t h, struct ss_str s)
{
	for (size_t i = 0; i < s.n; i++)
		h = (h ^ (unsigned char)s.p[i]) * 1099511628211u;
	return (h ^ s.n) * 1099511628211u;
}

static uint64_t mix_cell(uint64_t h, const struct ss_table *t, size_t col, size_t row)
{
	uint64_t bits = 0;

	switch (t->cols[col].type) {
	case SS_TYPE_STR:
		return mix_str(h, t->data[col].str[row]);
	case SS_TYPE_F64:
		memcpy(&bits, &t->data[col].f64[row], sizeof(bits));
		break;
	case SS_TYPE_I64:
		bits = (uint64_t)t->data[col].i64[row];
		break;
	case SS_TYPE_BOOL:
		bits = t->data[col].b[row];
		break;
	}
	return (h ^ bits) * 1099511628211u;
}

static uint64_t mix_table(uint64_t h, const struct ss_table *t)
{
	h = mix_str(h, ss_str_from(t->name));
	for (size_t c = 0; c < t->ncols; c++)
		for (size_t r = 0; r < t->nrows; r++)
			h = mix_cell(h, t, c, r);
	for (size_t i = 0; i < t->nprops; i++)
		h = mix_str(mix_str(h, ss_str_from(t->props[i].id)), t->props[i].text);
	return h;
}

bool drive_run(struct drive *d, const struct ss_tool *tool, uint64_t *digest, struct ss_err *err)
{
	struct ss_arena arena = { 0 };
	struct ss_query q = { .model = &d->model, .arena = &arena };
	struct ss_result out;
	uint64_t h = 14695981039346656037u;
	bool ok;

	ss_result_init(&out, &arena);
	ok = tool->run(&q, &out, err);
	for (size_t i = 0; ok && i < out.ntables; i++)
		h = mix_table(h, &out.tables[i]);
	for (size_t i = 0; ok && i < out.nnotes; i++)
		h = mix_str(h, out.notes[i].text);
	*digest = h;
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
