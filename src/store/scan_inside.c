/*
 * scan_inside.c - JSON files whose names do not say what they are: their first bytes tell whether they are traces of PyTorch.
 *
 * That costs a read for a local file and a request for a file of a bucket. Files whose names differ only in numbers are mostly
 * of one kind. In a bucket, therefore, a few files of each such form are read, and all files of a form that has a trace.
 */
#include "base/provide.h"
#include "import/kineto.h"
#include "store/not_a_profile.h"
#include "store/scan_walk.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define HEAD_BYTES 16384
#define MOST_NAMES 65536	/* held of a directory, and forms of a scan */
#define MOST_LOOKED 4096	/* files of a scan */

/* The limits of files that are read and turn out not to be traces. */
struct thrift {
	size_t of_form, in_dir, in_all;
};

static const struct thrift on_disk = { SIZE_MAX, SIZE_MAX, MOST_LOOKED }, from_elsewhere = { 8, 64, 500 };

bool ss_walk_is_unsure(struct ss_str name)
{
	return ss_str_ends(name, SS_STR(".json")) || ss_str_ends(name, SS_STR(".json.gz"));
}

static bool is_hex(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
}

/* The name with '#' for each number, decimal or hexadecimal. */
static struct ss_str form_of(struct ss_str name, struct ss_arena *a)
{
	char *out = ss_arena_alloc(a, name.n + 1);
	size_t n = 0;
	for (size_t i = 0, end; out && i < name.n; i = end) {
		bool number = false;
		for (end = i; end < name.n && is_hex(name.p[end]); end++)
			number |= name.p[end] <= '9';
		end += end == i;
		if (!number)
			memcpy(out + n, name.p + i, end - i);
		else
			out[n] = '#';
		n += number ? 1 : end - i;
	}
	return (struct ss_str){ out, n };
}

/* The number of the form of this name; SS_NONE: there are too many forms, or memory is out. */
static uint32_t form_number(struct ss_walk *w, struct ss_str name)
{
	struct ss_str form = form_of(name, &w->names);
	uint32_t k = form.p ? ss_strmap_get(&w->form_numbers, form) : SS_NONE;
	if (k != SS_NONE || (form.p && w->forms.n >= MOST_NAMES))
		return k;
	struct ss_str kept = form.p ? ss_arena_str(&w->form_names, form) : form;
	k = kept.p ? ss_strmap_add(&w->form_numbers, kept) : SS_NONE;
	if (k != SS_NONE && ss_vec_push(&w->forms, (struct ss_walk_form){ 0 }))
		return k;
	w->no_memory = true;
	return SS_NONE;
}

void ss_walk_add_unsure(struct ss_walk *w, struct ss_str name)
{
	if (w->unsure.n >= MOST_NAMES) {
		w->nunsure_over++;
		return;
	}
	struct ss_str kept = ss_arena_str(&w->names, name);
	if (!kept.p || !ss_vec_push(&w->unsure, (struct ss_walk_unsure){ .name = kept, .form = form_number(w, kept) }))
		w->no_memory = true;
}

/* Links are not followed. */
static bool is_trace(struct ss_walk *w, const struct ss_walk_dir *d, int dir, struct ss_str name, const char *path)
{
	char head[HEAD_BYTES];
	struct stat st;
	int fd = openat(dir, name.p, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return false;
	bool plain = fstat(fd, &st) == 0 && S_ISREG(st.st_mode), there = ss_provided(path, fd, HEAD_BYTES);
	ssize_t n = plain && there ? read(fd, head, sizeof(head)) : 0;
	close(fd);
	if (plain && !there)
		ss_walk_look(w, d->path, name, "was not read: its first bytes could not be fetched");
	return n > 0 && ss_kineto_is_trace((struct ss_str){ head, (size_t)n });
}

/* Choose the files to read next, after `nmissed` files of the directory were not traces. False: there are none. */
static bool choose(struct ss_walk *w, const struct thrift *most, size_t nmissed)
{
	size_t chosen = 0, unknown = 0;
	for (size_t i = 0; i < w->forms.n; i++)
		w->forms.v[i].chosen = 0;
	for (size_t i = 0; i < w->unsure.n; i++) {
		struct ss_walk_unsure *u = &w->unsure.v[i];
		struct ss_walk_form *form = u->form == SS_NONE ? NULL : &w->forms.v[u->form];
		if (u->looked || !form || w->nlooked + chosen >= MOST_LOOKED)
			continue;
		if (!form->has_trace &&
		    (form->nmissed + form->chosen >= most->of_form || nmissed + unknown >= most->in_dir ||
		     w->nmissed + unknown >= most->in_all))
			continue;
		unknown += !form->has_trace;
		form->chosen++;
		chosen++;
		u->chosen = true;
	}
	return chosen;
}

static const char *path_of(const struct ss_walk_dir *d, struct ss_str name, struct ss_arena *a)
{
	struct ss_str path = ss_walk_join(a, d->path, name);
	return path.n && path.n < PATH_MAX ? path.p : NULL;
}

/* Fetch several files at once. Files that do not arrive are reported when they are read. */
static void fetch_chosen(struct ss_walk *w, const struct ss_walk_dir *d)
{
	const char **paths = calloc(w->unsure.n, sizeof(*paths));
	size_t n = 0;
	for (size_t i = 0; paths && i < w->unsure.n; i++) {
		const char *path = w->unsure.v[i].chosen ? path_of(d, w->unsure.v[i].name, &w->names) : NULL;
		if (path)
			paths[n++] = path;
	}
	if (paths)
		(void)ss_provide_all(paths, n, HEAD_BYTES, 0, NULL);
	free(paths);
}

static void look_at_chosen(struct ss_walk *w, const struct ss_walk_dir *d, int dir, ss_walk_take_fn *take)
{
	for (size_t i = 0; i < w->unsure.n; i++) {
		struct ss_walk_unsure *u = &w->unsure.v[i];
		if (!u->chosen)
			continue;
		const char *path = path_of(d, u->name, &w->names);
		u->chosen = false;
		u->looked = true;
		w->nlooked++;
		if (path && is_trace(w, d, dir, u->name, path)) {
			w->forms.v[u->form].has_trace = true;
			take(w, d, dir, u->name);
		} else {
			const char *why = ss_not_a_profile(u->name);
			w->nmissed++;
			w->forms.v[u->form].nmissed++;
			if (why)
				ss_walk_look(w, d->path, u->name, why);
		}
	}
}

static void count_rest(struct ss_walk *w, const struct thrift *most)
{
	w->nothers += w->nunsure_over;
	for (size_t i = 0; i < w->unsure.n; i++) {
		const struct ss_walk_unsure *u = &w->unsure.v[i];
		const struct ss_walk_form *form = u->form == SS_NONE ? NULL : &w->forms.v[u->form];
		bool alike = form && !form->has_trace && form->nmissed >= most->of_form;
		w->nalike += !u->looked && alike;
		w->nothers += !u->looked && !alike;
	}
}

static int by_name(const void *a, const void *b)
{
	return ss_str_cmp(((const struct ss_walk_unsure *)a)->name, ((const struct ss_walk_unsure *)b)->name);
}

void ss_walk_look_inside(struct ss_walk *w, const struct ss_walk_dir *d, int dir, ss_walk_take_fn *take)
{
	bool elsewhere = w->unsure.n && ss_provides(d->path);
	const struct thrift *most = elsewhere ? &from_elsewhere : &on_disk;
	size_t before = w->nmissed;
	if (w->unsure.n)
		qsort(w->unsure.v, w->unsure.n, sizeof(*w->unsure.v), by_name);
	while (!w->no_memory && choose(w, most, w->nmissed - before)) {
		if (elsewhere)
			fetch_chosen(w, d);
		look_at_chosen(w, d, dir, take);
	}
	count_rest(w, most);
	w->unsure.n = w->nunsure_over = 0;
	ss_arena_release(&w->names);
}

/* One sentence on those that were not looked into, and before all that were. */
static void tell(struct ss_walk *w, size_t n, const char *why)
{
	struct ss_str text = ss_arena_printf(&w->s->arena,
		"holds %zu JSON file%s that %s not read: %s. To open one, give its path", n, n == 1 ? "" : "s",
		n == 1 ? "was" : "were", why);
	struct ss_skipped note = { w->s->root, text.p };
	w->no_memory |= !text.p || !ss_vec_push(&w->skipped, note);
	if (w->no_memory)
		return;
	memmove(w->skipped.v + 1, w->skipped.v, (w->skipped.n - 1) * sizeof(note));
	w->skipped.v[0] = note;
	w->skipped.n -= w->skipped.n > SS_SKIPPED_MAX;
	w->s->nskipped_all++;
}

void ss_walk_tell_rest(struct ss_walk *w)
{
	w->s->nunread = w->nothers + w->nalike;
	if (w->nothers)
		tell(w, w->nothers, "too many other files were read");
	if (w->nalike)
		tell(w, w->nalike, "none of the files with similar names that were read is a trace");
}
