/* sidecar.c - see sidecar.h. Linear in files, runs and the depth of directories. */
#include "store/sidecar.h"

#include "base/file.h"
#include "base/map.h"
#include "base/system.h"
#include "base/vec.h"
#include "legacy/files/event_file.h"
#include "store/kinds.h"

#include <stdlib.h>
#include <sys/stat.h>

bool ss_sidecar_add(struct ss_sidecar *b, struct ss_str dir, const struct ss_host_file *file)
{
	return ss_vec_push(b, (struct ss_sidecar_file){ dir, *file });
}

void ss_sidecar_free(struct ss_sidecar *b)
{
	ss_vec_free(b);
}

static struct ss_str parent_of(struct ss_str path)
{
	size_t slash = ss_str_rchr(path, '/');
	return ss_str_sub(path, 0, slash == SS_NPOS ? 0 : slash);
}

static struct ss_str home_of(const struct ss_run *run)
{
	struct ss_str above = parent_of(run->dir);
	const struct ss_str middle = SS_STR("/plugins/profile");
	return ss_str_ends(above, middle) ? ss_str_sub(above, 0, above.n - middle.n) : run->dir;
}

/* The nearest home at or above `dir`, SS_NONE if there is none. */
static uint32_t find_home(const struct ss_strmap *homes, struct ss_str dir)
{
	uint32_t at = ss_strmap_get(homes, dir);
	while (at == SS_NONE && dir.n) {
		dir = parent_of(dir);
		at = ss_strmap_get(homes, dir);
	}
	return at;
}

static int by_name(const void *a, const void *b)
{
	return ss_str_cmp(((const struct ss_host_file *)a)->name, ((const struct ss_host_file *)b)->name);
}

/* The lists of all homes, in the order of `homes`; NULL when memory is out. */
static struct ss_files *lists_of(const struct ss_sidecar *b, const struct ss_strmap *homes, struct ss_arena *arena)
{
	struct ss_files *lists = SS_NEW_N(arena, struct ss_files, homes->n + 1);
	for (size_t i = 0; lists && i < b->n; i++) {
		uint32_t home = find_home(homes, b->v[i].dir);
		if (home != SS_NONE)
			lists[home].n++;
	}
	for (uint32_t k = 0; lists && k < homes->n; k++) {
		lists[k].v = SS_NEW_N(arena, struct ss_host_file, lists[k].n);
		if (!lists[k].v)
			return NULL;
		lists[k].n = 0;
	}
	for (size_t i = 0; lists && i < b->n; i++) {
		uint32_t home = find_home(homes, b->v[i].dir);
		if (home == SS_NONE)
			continue;
		struct ss_host_file f = b->v[i].file;
		size_t skip = homes->keys[home].n + 1;
		f.name = ss_str_sub(f.path, skip, f.path.n);
		lists[home].v[lists[home].n++] = f;
	}
	for (uint32_t k = 0; lists && k < homes->n; k++)
		if (lists[k].n)
			qsort(lists[k].v, lists[k].n, sizeof(*lists[k].v), by_name);
	return lists;
}

bool ss_sidecar_give(const struct ss_sidecar *b, struct ss_run *runs, size_t nruns, struct ss_arena *arena)
{
	struct ss_strmap homes = { 0 };
	bool ok = true;
	if (!b->n || !nruns)
		return true;
	for (size_t i = 0; ok && i < nruns; i++)
		ok = ss_strmap_add(&homes, home_of(&runs[i])) != SS_NONE;
	struct ss_files *lists = ok ? lists_of(b, &homes, arena) : NULL;
	for (size_t i = 0; lists && i < nruns; i++)
		runs[i].sidecar = lists[ss_strmap_get(&homes, home_of(&runs[i]))];
	ss_strmap_free(&homes);
	return lists;
}

#define SNIFF_BYTES ((size_t)1 << 20)

bool ss_sidecar_tells_graph(const struct ss_host_file *f)
{
	struct ss_file file;
	bool tells = false;
	if (!ss_str_contains(f->name, SS_STR("tfevents")))
		return true;	/* a graph by its name */
	if (!f->bytes || !ss_file_open_begin(&file, f->top, f->path.p, SNIFF_BYTES, NULL))
		return false;
	tells = ss_event_file_tells_graph(ss_str_sub(file.bytes, 0, SNIFF_BYTES));
	ss_file_close(&file);
	return tells;
}

bool ss_sidecar_orphans(const struct ss_sidecar *b, const struct ss_run *runs, size_t nruns, struct ss_sidecar *orphans)
{
	struct ss_strmap homes = { 0 };
	size_t skipped = 0;
	bool ok = true;
	for (size_t i = 0; ok && i < nruns; i++)
		ok = ss_strmap_add(&homes, home_of(&runs[i])) != SS_NONE;
	for (size_t i = 0; ok && i < b->n; i++) {
		const struct ss_sidecar_file *f = &b->v[i];
		bool graph = strcmp(f->file.kind, SS_KIND_FILE_GRAPH) == 0;
		bool phases = strcmp(f->file.kind, SS_KIND_FILE_END_TO_END) == 0 ||
			      strcmp(f->file.kind, SS_KIND_FILE_SNAPSHOT) == 0;
		if (find_home(&homes, f->dir) != SS_NONE || (!graph && !phases))
			continue;
		if (phases || (skipped++ < SS_SIDECAR_SNIFFED && ss_sidecar_tells_graph(&f->file)))
			ok = ss_vec_push(orphans, *f);
	}
	ss_strmap_free(&homes);
	return ok;
}

static struct ss_str dir_meant(const struct ss_sidecar_file *f)
{
	bool phases = strcmp(f->file.kind, SS_KIND_FILE_END_TO_END) == 0;
	return phases && ss_str_ends(f->dir, SS_STR("/profile")) ? parent_of(f->dir) : f->dir;
}

static bool make_run(struct ss_run *run, struct ss_str dir, struct ss_str root, struct ss_arena *arena)
{
	struct stat st;
	/*
	 * A directory `profile` may itself be the top: then what is meant lies above, and is not
	 * ours to name.
	 */
	if (dir.n < root.n)
		dir = root;
	size_t slash = ss_str_rchr(root, '/');
	size_t skip = dir.n == root.n ? (slash == SS_NPOS ? 0 : slash + 1) : root.n + (root.n > 1);
	*run = (struct ss_run){ .name = ss_arena_str(arena, ss_str_sub(dir, skip, dir.n)), .dir = ss_arena_str(arena, dir) };
	if (!run->name.p || !run->dir.p)
		return false;
	if (stat(run->dir.p, &st) == 0)
		run->mtime_ns = run->dir_mtime_ns = ss_mtime_ns(&st);
	return true;
}

bool ss_sidecar_runs(const struct ss_sidecar *b, struct ss_str root, struct ss_run **runs, size_t *nruns,
		    struct ss_arena *arena)
{
	struct ss_strmap dirs = { 0 };
	bool ok = true;
	for (size_t i = 0; ok && i < b->n; i++)
		ok = ss_strmap_add(&dirs, dir_meant(&b->v[i])) != SS_NONE;
	*nruns = dirs.n;
	*runs = ok ? SS_NEW_N(arena, struct ss_run, dirs.n) : NULL;
	for (uint32_t i = 0; *runs && ok && i < dirs.n; i++)
		ok = make_run(&(*runs)[i], dirs.keys[i], root, arena);
	ss_strmap_free(&dirs);
	if (!*runs || !ok || !ss_sidecar_give(b, *runs, *nruns, arena))
		return false;
	for (size_t i = 0; i < *nruns; i++) {
		struct ss_run *r = &(*runs)[i];
		for (size_t k = 0; k < r->sidecar.n; k++) {
			r->bytes += r->sidecar.v[k].bytes;
			if (k == 0 || r->sidecar.v[k].mtime_ns > r->mtime_ns)
				r->mtime_ns = r->sidecar.v[k].mtime_ns;
		}
	}
	return true;
}
