/*
 * scan.c - walking a directory tree, breadth first, in the order of names.
 *
 * Directories that links lead to wait until all others are done, so that a run is found under its
 * own path first; each directory is descended into once (device and inode), so loops end. A
 * directory below `plugins/profile` is a run however it was reached.
 */
#include "base/below.h"
#include "base/system.h"
#include "import/names.h"
#include "store/kinds.h"
#include "store/not_a_profile.h"
#include "store/scan_walk.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/*
 * A log directory of a year of runs has some ten thousand entries; a home directory some million.
 */
#define MAX_DEPTH 24
#define MAX_DIRS 50000
#define MAX_ENTRIES 2000000

/*
 * macOS lays a file "._NAME" beside a file on foreign disks and in archives. It is taken for
 * nothing else.
 */
static bool is_of_macos(struct ss_str name)
{
	return ss_str_starts(name, SS_STR("._"));
}

bool ss_store_reads(struct ss_str path)
{
	struct ss_str label, name = ss_walk_last_part(path);
	if (is_of_macos(name))
		return false;
	return ss_profile_rank(name) != SS_NO_PROFILE || ss_profile_rank_in_run(name) != SS_NO_PROFILE ||
	       ss_file_kind(name, SS_PLACE_RUN | SS_PLACE_SIDECAR | SS_PLACE_LOOSE, &label) || ss_str_ends(name, SS_STR(".json")) ||
	       ss_str_ends(name, SS_STR(".json.gz")) || ss_str_ends(name, SS_STR(".ssp")) || ss_not_a_profile(name);
}

static bool is_host_file(const struct ss_walk_dir *d, struct ss_str name)
{
	return (d->is_run ? ss_profile_rank_in_run(name) : ss_profile_rank(name)) != SS_NO_PROFILE;
}

static int by_file(const void *a, const void *b)
{
	return ss_str_cmp(((const struct ss_walk_file *)a)->name, ((const struct ss_walk_file *)b)->name);
}

/* By host, the newest of its recordings first, its best profile first. */
static int by_host(const void *a, const void *b)
{
	struct ss_str na = ((const struct ss_walk_file *)a)->name, nb = ((const struct ss_walk_file *)b)->name;
	int order = ss_str_cmp(ss_profile_host(na), ss_profile_host(nb));
	if (!order)
		order = ss_walk_by_span_desc(ss_profile_span(na), ss_profile_span(nb));
	return order ? order : ss_profile_rank_in_run(na) - ss_profile_rank_in_run(nb);
}

static int by_run_desc(const void *a, const void *b)
{
	return ss_str_cmp(((const struct ss_run *)b)->name, ((const struct ss_run *)a)->name);
}

/* A file whose name says that it is a host's, or with `kind` what a tool reads. */
static void take_file(struct ss_walk *w, const struct ss_walk_dir *d, int fd, struct ss_walk_file f, bool link)
{
	struct ss_str name = f.name;
	struct stat st;
	if (fstatat(fd, name.p, &st, 0) != 0) {
		ss_walk_look(w, d->path, name, link ? "is a broken link" : "cannot be read");
		return;
	}
	if (!S_ISREG(st.st_mode)) {
		ss_walk_look(w, d->path, name, "is not a plain file");
		return;
	}
	if (link) {
		struct ss_str path = ss_walk_join(&w->s->arena, d->path, name);
		if (path.p && !ss_store_inside(w->s->top, path.p)) {
			ss_walk_look(w, d->path, name, "is a link to a place outside the log directory");
			return;
		}
	}
	if (st.st_size == 0)
		ss_walk_look(w, d->path, name, "is empty (0 bytes)");
	else if (faccessat(fd, name.p, R_OK, AT_EACCESS) != 0)
		ss_walk_look(w, d->path, name, "is not readable: permission denied");
	f.bytes = (uint64_t)st.st_size;
	f.mtime_ns = ss_mtime_ns(&st);
	if (!(f.kind ? ss_vec_push(&w->others, f) : ss_vec_push(&w->files, f)))
		w->no_memory = true;
}

static unsigned char type_of(int fd, const struct dirent *e)
{
	struct stat st;
	if (e->d_type != DT_UNKNOWN)
		return e->d_type;
	if (fstatat(fd, e->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0)
		return DT_UNKNOWN;
	return S_ISDIR(st.st_mode) ? DT_DIR : S_ISLNK(st.st_mode) ? DT_LNK : DT_REG;
}

static void take_entry(struct ss_walk *w, const struct ss_walk_dir *d, int fd, const struct dirent *e)
{
	struct ss_str name = ss_str_from(e->d_name);
	unsigned char type = type_of(fd, e);
	struct stat st;
	bool link = type == DT_LNK;
	bool is_dir = type == DT_DIR || (link && fstatat(fd, e->d_name, &st, 0) == 0 && S_ISDIR(st.st_mode));
	const char *why = NULL, *kind = NULL;
	if (!is_dir) {
		struct ss_str label;
		w->s->nfiles++;
		bool host = is_host_file(d, name) && !is_of_macos(name);
		if (!host && !is_of_macos(name))
			kind = ss_file_kind(name, d->is_run ? SS_PLACE_RUN : SS_PLACE_SIDECAR | SS_PLACE_LOOSE, &label);
		if (!kind && !host) {
			why = ss_not_a_profile(name);
			if (type == DT_REG && ss_walk_is_unsure(name))
				ss_walk_add_unsure(w, name);
			else if (why)
				ss_walk_look(w, d->path, name, why);
			return;
		}
	}
	name = ss_arena_str(&w->s->arena, name);
	if (!name.p)
		w->no_memory = true;
	else if (!is_dir)
		take_file(w, d, fd, (struct ss_walk_file){ .name = name, .kind = kind }, link);
	else if (!(link ? ss_vec_push(&w->linked, name) : ss_vec_push(&w->subdirs, name)))
		w->no_memory = true;
}

static void take_trace(struct ss_walk *w, const struct ss_walk_dir *d, int dir, struct ss_str name)
{
	name = ss_arena_str(&w->s->arena, name);
	if (name.p)
		take_file(w, d, dir, (struct ss_walk_file){ .name = name, .by_content = true }, false);
	else
		w->no_memory = true;
}

static bool is_profile(struct ss_str name)
{
	int rank = ss_profile_rank(name);
	return rank != SS_NO_PROFILE && rank <= SS_LAST_XSPACE;
}

/*
 * PyTorch's traces among profiles are recordings of their own, not by-products: they wait in
 * `torch`.
 */
static bool part_torch(struct ss_walk *w)
{
	size_t n = 0;
	for (size_t i = 0; i < w->files.n; i++) {
		struct ss_walk_file f = w->files.v[i];
		if (!f.by_content && !ss_profile_is_torch(f.name))
			w->files.v[n++] = f;
		else if (!ss_vec_push(&w->torch, f))
			return false;
	}
	w->files.n = n;
	return true;
}

/*
 * One file for each host. Where there are profiles, traces are by-products of theirs and other
 * answers were computed from them: both are computed anew.
 */
static void keep_best_of(struct ss_walk *w, const struct ss_walk_dir *d, struct ss_walk_files *files, bool profiles)
{
	size_t n = 0;
	if (files->n)
		qsort(files->v, files->n, sizeof(*files->v), by_host);
	for (size_t i = 0; i < files->n; i++) {
		struct ss_walk_file f = files->v[i];
		struct ss_str before = n ? files->v[n - 1].name : SS_STR("");
		bool same = n && ss_str_eq(ss_profile_host(f.name), ss_profile_host(before));
		bool duplicate = same && ss_str_eq(ss_profile_span(f.name), ss_profile_span(before));
		f.older = same && !duplicate ? files->v[n - 1].older + 1 : 0;
		if (f.older > MOST_SPANS)
			ss_walk_look(w, d->path, f.name, "is an older recording: this host has too many recordings");
		else if (profiles && !is_profile(f.name))
			ss_walk_look(w, d->path, f.name, "is a trace or a program; the profile is the *.xplane.pb next to it");
		else if (duplicate)
			ss_walk_look(w, d->path, f.name, "is a duplicate of another file of this host");
		else
			files->v[n++] = f;
	}
	files->n = n;
}

static void keep_best(struct ss_walk *w, const struct ss_walk_dir *d)
{
	bool profiles = false;
	size_t k = 0;
	for (size_t i = 0; i < w->files.n; i++)
		profiles |= is_profile(w->files.v[i].name);
	if (profiles && !part_torch(w))
		w->no_memory = true;
	keep_best_of(w, d, &w->files, profiles);
	keep_best_of(w, d, &w->torch, false);
	for (size_t i = 0; i < w->others.n; i++) {
		struct ss_walk_file f = w->others.v[i];
		if (profiles && ss_file_kind_is_answer(f.kind))
			ss_walk_look(w, d->path, f.name,
			     "holds results of an older tool; stepscope computes them from the profile instead");
		else
			w->others.v[k++] = f;
	}
	w->others.n = k;
}

/* Read one directory into files, subdirs and linked, each by name. */
static bool read_dir(struct ss_walk *w, const struct ss_walk_dir *d, int fd)
{
	w->files.n = w->torch.n = w->others.n = w->subdirs.n = w->linked.n = 0;
	DIR *dir = fdopendir(fd);
	if (!dir) {
		close(fd);
		return false;
	}
	for (struct dirent *e; !w->no_memory && (e = readdir(dir));) {
		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
			continue;
		if (++w->nentries > MAX_ENTRIES) {
			w->s->stopped = true;
			break;
		}
		take_entry(w, d, fd, e);
	}
	ss_walk_look_inside(w, d, fd, take_trace);
	closedir(dir);
	if (w->files.n || w->others.n)
		keep_best(w, d);
	if (w->others.n)
		qsort(w->others.v, w->others.n, sizeof(*w->others.v), by_file);
	if (w->subdirs.n)
		qsort(w->subdirs.v, w->subdirs.n, sizeof(*w->subdirs.v), ss_cmp_str);
	if (w->linked.n)
		qsort(w->linked.v, w->linked.n, sizeof(*w->linked.v), ss_cmp_str);
	return true;
}

/* Many files are called *.pickle: a few hundred are looked at. Others are what their names say. */
static bool is_snapshot(struct ss_walk *w, const struct ss_walk_dir *d, const struct ss_walk_file *f)
{
	if (strcmp(f->kind, SS_KIND_FILE_SNAPSHOT) != 0)
		return true;
	struct ss_str path = ss_walk_join(&w->s->arena, d->path, f->name);
	w->no_memory |= !path.p;
	if (path.p && w->nsniffed++ < SS_SIDECAR_SNIFFED)
		return ss_file_kind_of_bytes(path.p, true);
	ss_walk_look(w, d->path, f->name, "was not read: too many files have such names. To open it, give its path");
	return false;
}

/* Files of other kinds outside of a run's directory wait for the runs they may belong to. */
static bool add_sidecar(struct ss_walk *w, const struct ss_walk_dir *d)
{
	for (size_t i = 0; i < w->others.n; i++) {
		const struct ss_walk_file *f = &w->others.v[i];
		if (ss_file_kind_is_answer(f->kind) || !is_snapshot(w, d, f))
			continue;
		struct ss_host_file file = { f->name, ss_walk_join(&w->s->arena, d->path, f->name), f->bytes, f->mtime_ns, f->kind,
					     w->s->top.p, false };
		if (!file.path.p || !ss_sidecar_add(&w->sidecar, d->path, &file))
			return false;
	}
	return true;
}

static bool is_plugins_profile(struct ss_str path)
{
	return ss_str_ends(path, SS_STR("/plugins/profile"));
}

static bool push_children(struct ss_walk *w, const struct ss_walk_dir *d, const struct ss_str *names, size_t n, bool links)
{
	struct ss_arena *a = &w->s->arena;
	bool runs = w->what == SS_SCAN_RUNS || is_plugins_profile(d->path);
	for (size_t i = 0; i < n; i++) {
		struct ss_walk_dir sub = { .depth = d->depth + 1, .is_run = runs };
		sub.path = ss_walk_join(a, d->path, names[i]);
		sub.rel = d->rel.n ? ss_walk_join(a, d->rel, names[i]) : names[i];
		if (!sub.path.p || !sub.rel.p)
			return false;
		if (links && !ss_store_inside(w->s->top, sub.path.p)) {
			ss_walk_look(w, sub.path, (struct ss_str){ 0 }, "is a link to a place outside the log directory");
			continue;
		}
		if (!(links ? ss_vec_push(&w->links, sub) : ss_vec_push(&w->dirs, sub)))
			return false;
	}
	return true;
}

static const char *why_not_opened(int error)
{
	switch (error) {
	case EACCES:
	case EPERM:
		return "is not readable: permission denied";
	case ENOENT:
		return "disappeared while it was being read";
	case EXDEV:
		return "is a link to a place outside the log directory";
	case EMFILE:
	case ENFILE:
		return "could not be opened: too many open files";
	}
	return "could not be read";
}

static bool has_answers(const struct ss_walk *w)
{
	for (size_t i = 0; i < w->others.n; i++)
		if (ss_file_kind_is_answer(w->others.v[i].kind))
			return true;
	return false;
}

enum entry { ENTRY_SKIPPED, ENTRY_NEW, ENTRY_AGAIN };

/*
 * Open a directory for the first time, by device and inode; a run also again, because it counts
 * under each of its names. What is skipped may leave *fd open.
 */
static enum entry enter(struct ss_walk *w, const struct ss_walk_dir *d, int *fd, struct stat *st)
{
	*fd = ss_open_below(w->s->top.p, d->path.p, O_RDONLY | O_DIRECTORY | O_NONBLOCK);
	if (*fd < 0 || fstat(*fd, st) != 0) {
		ss_walk_look(w, d->path, (struct ss_str){ 0 }, why_not_opened(errno));
		return ENTRY_SKIPPED;
	}
	uint64_t key = ss_mix((uint64_t)st->st_dev, (uint64_t)st->st_ino);
	if (ss_u64map_get(&w->seen, key) != SS_NONE)
		return d->is_run ? ENTRY_AGAIN : ENTRY_SKIPPED;
	if (ss_u64map_add(&w->seen, key, 0) != SS_NONE)
		return ENTRY_NEW;
	w->no_memory = true;
	return ENTRY_SKIPPED;
}

/* Are the directories in it visited, too? */
static bool goes_deeper(struct ss_walk *w, const struct ss_walk_dir *d)
{
	if (w->what != SS_SCAN_ANY)
		return w->what == SS_SCAN_RUNS && d->depth == 0;
	if (d->depth < MAX_DEPTH)
		return true;
	if (w->subdirs.n) {
		ss_walk_look(w, d->path, (struct ss_str){ 0 }, "is nested too deep: its directories were not searched");
		w->s->stopped = true;
	}
	return false;
}

static bool visit(struct ss_walk *w, const struct ss_walk_dir *d)
{
	struct stat st;
	const struct ss_str itself = { 0 };
	int fd;
	enum entry entry = enter(w, d, &fd, &st);
	if (entry == ENTRY_SKIPPED) {
		if (fd >= 0)
			close(fd);
		return !w->no_memory;
	}
	w->s->ndirs++;
	if (!read_dir(w, d, fd))
		ss_walk_look(w, d->path, itself, "could not be read");
	if (d->is_run && w->files.n + w->others.n == 0)
		ss_walk_look(w, d->path, itself, "holds no *.xplane.pb file");
	if ((d->is_run || w->files.n || has_answers(w)) && !ss_walk_add_run(w, d, &st))
		return false;
	if (!d->is_run && !add_sidecar(w, d))
		return false;
	if (entry == ENTRY_NEW && goes_deeper(w, d) &&
	    !(push_children(w, d, w->subdirs.v, w->subdirs.n, false) && push_children(w, d, w->linked.v, w->linked.n, true)))
		return false;
	return !w->no_memory;
}

static bool walk_all(struct ss_walk *w)
{
	size_t at = 0, link_at = 0;
	while (at < w->dirs.n || link_at < w->links.n) {
		if (w->s->ndirs >= MAX_DIRS || w->nentries > MAX_ENTRIES) {
			w->s->stopped = true;
			return true;
		}
		/* A copy: visiting grows the array. */
		struct ss_walk_dir d = at < w->dirs.n ? w->dirs.v[at++] : w->links.v[link_at++];
		if (!visit(w, &d))
			return false;
	}
	return true;
}

/*
 * One file: the only host of the only run. A name that tells of another kind is taken at its word,
 * but a *.pb may be either where its bytes do not tell.
 */
static bool scan_file(struct ss_store *s, const struct stat *st)
{
	struct ss_str dir = ss_str_sub(s->root, 0, ss_str_rchr(s->root, '/')), name = ss_walk_last_part(s->root), label;
	struct ss_str parent = ss_str_sub(dir, 0, dir.n - ss_walk_last_part(dir).n);
	const char *kind = ss_file_kind(name, SS_PLACE_NAMED, &label), *told = ss_file_kind_of_bytes(s->root.p, false);
	if (kind && strcmp(kind, SS_KIND_FILE_GRAPH) == 0 && ss_str_ends(name, SS_STR(".pb")) && ss_file_shows_profile(s->root.p))
		kind = NULL;
	/* Bytes tell a memory snapshot, whatever it is called. */
	if (told || (kind && strcmp(kind, SS_KIND_FILE_SNAPSHOT) == 0))
		kind = told;
	bool answer = ss_file_kind_is_answer(kind);
	struct ss_run *run = SS_NEW(&s->arena, struct ss_run);
	struct ss_host_file *files = SS_NEW_N(&s->arena, struct ss_host_file, 2);
	if (!run || !files)
		return false;
	bool in_run = ss_str_ends(parent, SS_STR("/plugins/profile/"));
	files[0] = (struct ss_host_file){ .name = ss_arena_str(&s->arena, ss_profile_host(name)), .path = s->root,
					  .bytes = (uint64_t)st->st_size, .mtime_ns = ss_mtime_ns(st), .top = s->top.p };
	files[1] = files[0];
	files[1].name = ss_arena_str(&s->arena, answer ? label : name);
	files[1].kind = kind;
	*run = (struct ss_run){ .name = in_run ? ss_arena_str(&s->arena, ss_walk_last_part(dir)) : files[kind ? 1 : 0].name,
				.dir = ss_arena_str(&s->arena, dir.n ? dir : SS_STR("/")),
				.hosts = files,
				.nhosts = !kind || (!answer && ss_str_ends(name, SS_STR(".pb"))),
				.own = { &files[1], kind != NULL },
				.mtime_ns = ss_mtime_ns(st),
				.bytes = (uint64_t)st->st_size };
	if (run->nhosts && !in_run)
		run->name = files[0].name;
	struct stat above;
	if (run->dir.p && stat(run->dir.p, &above) == 0)
		run->dir_mtime_ns = ss_mtime_ns(&above);
	s->runs = run;
	s->nruns = 1;
	s->nfiles = 1;
	return files[0].name.p && files[1].name.p && run->name.p && run->dir.p;
}

/*
 * Profiles in other directories than those of a log directory are runs beside its runs, such as
 * PyTorch's beside JAX's. One that has the name of another run is passed over.
 */
static bool add_loose(struct ss_walk *w)
{
	struct ss_strmap names = { 0 };
	bool ok = true;
	for (size_t i = 0; ok && i < w->runs.n; i++)
		ok = ss_strmap_add(&names, w->runs.v[i].name) != SS_NONE;
	for (size_t i = 0; ok && i < w->loose.n; i++) {
		struct ss_run run = w->loose.v[i];
		run.aside = true;
		if (run.nhosts && ss_strmap_get(&names, run.name) == SS_NONE)
			ok = ss_vec_push(&w->runs, run);
		else
			ss_walk_look(w, run.dir, (struct ss_str){ 0 },
				     "holds profiles, but not below plugins/profile: open this directory itself");
	}
	ss_strmap_free(&names);
	return ok;
}

/* The runs of the snapshot, with the files beside them. */
static bool keep_runs(struct ss_walk *w)
{
	struct ss_store *s = w->s;
	bool regular = w->runs.n > 0;
	const struct ss_run *from = regular ? w->runs.v : w->loose.v;
	s->nruns = regular ? w->runs.n : w->loose.n;
	if (!s->nruns && w->what == SS_SCAN_ANY)
		return ss_sidecar_runs(&w->sidecar, s->root, &s->runs, &s->nruns, &s->arena);
	struct ss_sidecar orphans = { 0 };
	struct ss_run *others = NULL;
	size_t nothers = 0;
	bool ok = true;
	if (w->what == SS_SCAN_ANY)
		ok = ss_sidecar_orphans(&w->sidecar, from, s->nruns, &orphans) &&
		     ss_sidecar_runs(&orphans, s->root, &others, &nothers, &s->arena);
	s->runs = ok ? SS_NEW_N(&s->arena, struct ss_run, s->nruns + nothers) : NULL;
	if (s->runs && s->nruns)
		memcpy(s->runs, from, s->nruns * sizeof(*from));
	ok = s->runs && ss_sidecar_give(&w->sidecar, s->runs, s->nruns, &s->arena);
	for (size_t i = 0; ok && i < nothers; i++) {
		others[i].aside = true;
		s->runs[s->nruns++] = others[i];
	}
	ss_sidecar_free(&orphans);
	return ok;
}

/* Keep what the walk found, in memory of the snapshot's own. */
static bool keep(struct ss_walk *w)
{
	struct ss_store *s = w->s;
	if (w->runs.n && !add_loose(w))
		return false;
	ss_walk_tell_rest(w);
	s->skipped = SS_NEW_N(&s->arena, struct ss_skipped, w->skipped.n);
	if (!s->skipped || !keep_runs(w) || w->no_memory)
		return false;
	if (w->skipped.n)
		memcpy(s->skipped, w->skipped.v, w->skipped.n * sizeof(*w->skipped.v));
	s->nskipped = w->skipped.n;
	qsort(s->runs, s->nruns, sizeof(*s->runs), by_run_desc);
	return true;
}

static bool scan_tree(struct ss_store *s, enum ss_scan what)
{
	struct ss_walk w = { .s = s, .what = what };
	struct ss_walk_dir top = { .path = s->root, .rel = SS_STR(""), .is_run = what == SS_SCAN_RUN };
	size_t slash = ss_str_rchr(s->root, '/');
	if (what == SS_SCAN_ANY && slash != SS_NPOS)
		top.is_run = is_plugins_profile(ss_str_sub(s->root, 0, slash));
	bool ok = ss_vec_push(&w.dirs, top) && walk_all(&w) && keep(&w);
	ss_vec_free(&w.dirs);
	ss_vec_free(&w.links);
	ss_vec_free(&w.runs);
	ss_vec_free(&w.loose);
	ss_vec_free(&w.skipped);
	ss_vec_free(&w.files);
	ss_vec_free(&w.torch);
	ss_vec_free(&w.others);
	ss_sidecar_free(&w.sidecar);
	ss_vec_free(&w.subdirs);
	ss_vec_free(&w.linked);
	ss_vec_free(&w.unsure);
	ss_vec_free(&w.forms);
	ss_strmap_free(&w.form_numbers);
	ss_arena_release(&w.names);
	ss_arena_release(&w.form_names);
	ss_u64map_free(&w.seen);
	return ok;
}

bool ss_store_scan(struct ss_store *s, const char *path, enum ss_scan what, struct ss_err *err)
{
	return ss_store_scan_below(s, (struct ss_str){ 0 }, path, what, err);
}

bool ss_store_scan_below(struct ss_store *s, struct ss_str top, const char *path, enum ss_scan what, struct ss_err *err)
{
	struct stat st;
	*s = (struct ss_store){ 0 };
	char *real = realpath(path, NULL);
	if (!real || stat(real, &st) != 0) {
		free(real);
		return ss_fail(err,
			       errno == ENOENT || errno == ENOTDIR ? SS_ENOTFOUND
			       : errno == ENOMEM		   ? SS_ENOMEM
								   : SS_EIO,
			       "cannot open '%s': %s", path, strerror(errno));
	}
	/* As the path is now, whatever it was when somebody looked. */
	if (top.p && !ss_path_below(top, ss_str_from(real)).p) {
		free(real);
		return ss_fail(err, SS_ENOTFOUND, "cannot open '%s': %s", path, strerror(ENOENT));
	}
	s->root = s->named = ss_arena_str(&s->arena, ss_str_from(real));
	s->top = top.p ? ss_arena_str(&s->arena, top) : s->root;
	free(real);
	if (!s->root.p || !s->top.p) {
		ss_store_free(s);
		return ss_fail_mem(err);
	}
	if (!S_ISDIR(st.st_mode) && (!S_ISREG(st.st_mode) || what != SS_SCAN_ANY)) {
		ss_store_free(s);
		return ss_fail(err, SS_EIO, "cannot open '%s': it is neither a directory nor a plain file",
			       path);
	}
	if (S_ISDIR(st.st_mode) ? scan_tree(s, what) : scan_file(s, &st))
		return true;
	ss_store_free(s);
	return ss_fail_mem(err);
}
