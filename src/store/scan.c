/*
 * scan.c - walking a directory tree, breadth first, in the order of names.
 *
 * Directories that links lead to wait until all others are done, so that a run is found under its
 * own path first; each directory is descended into once (device and inode), so loops end. A
 * directory below `plugins/profile` is a run however it was reached.
 */
#include "base/below.h"
#include "base/map.h"
#include "base/provide.h"
#include "base/system.h"
#include "base/vec.h"
#include "import/kineto.h"
#include "import/names.h"
#include "store/sidecar.h"
#include "store/kinds.h"
#include "store/not_a_profile.h"
#include "store/processes.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/*
 * A log directory of a year of runs has some ten thousand entries; a home directory some million.
 */
#define MAX_DEPTH 24
#define MAX_DIRS 50000
#define MAX_ENTRIES 2000000

struct dir {
	struct ss_str path; /* absolute, canonical but for links below the root */
	struct ss_str rel;  /* from the root, "" for itself */
	int depth;
	bool is_run; /* its parent is a plugins/profile, or it was named as a run */
};

struct file {
	struct ss_str name;
	uint64_t bytes;
	int64_t mtime_ns;
	const char *kind; /* NULL: a host's */
	bool by_content;  /* its name does not say what it is */
	uint32_t older;	  /* how many recordings of the same host are newer */
};

struct files {
	struct file *v;
	size_t n, cap;
};

struct walk {
	struct ss_store *s;
	enum ss_scan what;
	SS_VEC(struct dir) dirs; /* to visit; links after all others */
	SS_VEC(struct dir) links;
	SS_VEC(struct ss_run) runs;  /* below plugins/profile */
	SS_VEC(struct ss_run) loose; /* anywhere else */
	SS_VEC(struct ss_skipped) skipped;
	struct ss_sidecar sidecar; /* files of other kinds, to be handed to the runs at the end */
	struct ss_u64map seen;
	size_t nentries, nsniffed;
	/* of the directory being read */
	struct files files;	    /* hosts */
	struct files torch;	    /* hosts of PyTorch's traces that stand among profiles */
	SS_VEC(struct file) others; /* of other kinds */
	SS_VEC(struct ss_str) subdirs;
	SS_VEC(struct ss_str) linked;
	bool no_memory;
};

static struct ss_str join(struct ss_arena *a, struct ss_str dir, struct ss_str name)
{
	bool slash = dir.n && dir.p[dir.n - 1] != '/';
	return ss_arena_printf(a, SS_FMT "%s" SS_FMT, SS_ARG(dir), slash ? "/" : "", SS_ARG(name));
}

/* Take note of something passed over. `name` NULL: the directory itself. */
static void look(struct walk *w, struct ss_str dir, struct ss_str name, const char *why)
{
	w->s->nskipped_all++;
	if (w->skipped.n >= SS_SKIPPED_MAX)
		return;
	struct ss_str path = name.n ? join(&w->s->arena, dir, name) : dir;
	if (!path.p || !ss_vec_push(&w->skipped, (struct ss_skipped){ path, why }))
		w->no_memory = true;
}

static struct ss_str last_part(struct ss_str path)
{
	size_t slash = ss_str_rchr(path, '/');
	return slash == SS_NPOS ? path : ss_str_sub(path, slash + 1, path.n);
}

bool ss_store_reads(struct ss_str path)
{
	struct ss_str label, name = last_part(path);
	return ss_profile_rank(name) != SS_NO_PROFILE || ss_profile_rank_in_run(name) != SS_NO_PROFILE ||
	       ss_file_kind(name, SS_PLACE_RUN | SS_PLACE_SIDECAR | SS_PLACE_LOOSE, &label) || ss_str_ends(name, SS_STR(".json")) ||
	       ss_str_ends(name, SS_STR(".json.gz")) || ss_str_ends(name, SS_STR(".ssp")) || ss_not_a_profile(name);
}

static bool is_host_file(const struct dir *d, struct ss_str name)
{
	return (d->is_run ? ss_profile_rank_in_run(name) : ss_profile_rank(name)) != SS_NO_PROFILE;
}

#define SNIFF_BYTES 16384
#define MOST_SPANS 200
#define MOST_SNIFFED 4096 /* files of a scan */

/*
 * Traces of PyTorch have any name that ends so: rank-0.json.gz, libkineto_activities_77.json. Links
 * are not followed.
 */
static bool is_trace_inside(struct walk *w, const struct dir *d, int dir, struct ss_str name)
{
	char head[SNIFF_BYTES];
	if (!(ss_str_ends(name, SS_STR(".json")) || ss_str_ends(name, SS_STR(".json.gz"))) || w->nsniffed >= MOST_SNIFFED)
		return false;
	char path[PATH_MAX];
	int path_bytes = snprintf(path, sizeof(path), SS_FMT "/" SS_FMT, SS_ARG(d->path), SS_ARG(name));
	if (path_bytes < 0 || (size_t)path_bytes >= sizeof(path) || !ss_provide(path, SNIFF_BYTES, NULL))
		return false;
	int fd = openat(dir, name.p, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return false;
	struct stat st;
	w->nsniffed++;
	ssize_t n = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) ? read(fd, head, sizeof(head)) : 0;
	close(fd);
	return n > 0 && ss_kineto_is_trace((struct ss_str){ head, (size_t)n });
}

static int by_str(const void *a, const void *b)
{
	return ss_str_cmp(*(const struct ss_str *)a, *(const struct ss_str *)b);
}

static int by_file(const void *a, const void *b)
{
	return ss_str_cmp(((const struct file *)a)->name, ((const struct file *)b)->name);
}

/* Numbers as digits, the greatest first. */
static int by_span_desc(struct ss_str a, struct ss_str b)
{
	if (a.n != b.n)
		return a.n > b.n ? -1 : 1;
	return ss_str_cmp(b, a);
}

/* By host, the newest of its recordings first, its best profile first. */
static int by_host(const void *a, const void *b)
{
	struct ss_str na = ((const struct file *)a)->name, nb = ((const struct file *)b)->name;
	int order = ss_str_cmp(ss_profile_host(na), ss_profile_host(nb));
	if (!order)
		order = by_span_desc(ss_profile_span(na), ss_profile_span(nb));
	return order ? order : ss_profile_rank_in_run(na) - ss_profile_rank_in_run(nb);
}

static int by_run_desc(const void *a, const void *b)
{
	return ss_str_cmp(((const struct ss_run *)b)->name, ((const struct ss_run *)a)->name);
}

/* A file whose name says that it is a host's, or with `kind` what a tool reads. */
static void take_file(struct walk *w, const struct dir *d, int fd, struct file f, bool link)
{
	struct ss_str name = f.name;
	struct stat st;
	if (fstatat(fd, name.p, &st, 0) != 0) {
		look(w, d->path, name, link ? "is a broken link" : "cannot be read");
		return;
	}
	if (!S_ISREG(st.st_mode)) {
		look(w, d->path, name, "is not a plain file");
		return;
	}
	if (link) {
		struct ss_str path = join(&w->s->arena, d->path, name);
		if (path.p && !ss_store_inside(w->s->top, path.p)) {
			look(w, d->path, name, "is a link to outside of the log directory");
			return;
		}
	}
	if (st.st_size == 0)
		look(w, d->path, name, "is empty (0 bytes)");
	else if (faccessat(fd, name.p, R_OK, AT_EACCESS) != 0)
		look(w, d->path, name, "is not readable: permission denied");
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

static void take_entry(struct walk *w, const struct dir *d, int fd, const struct dirent *e)
{
	struct ss_str name = ss_str_from(e->d_name);
	unsigned char type = type_of(fd, e);
	struct stat st;
	bool link = type == DT_LNK;
	bool is_dir = type == DT_DIR || (link && fstatat(fd, e->d_name, &st, 0) == 0 && S_ISDIR(st.st_mode));
	const char *why = NULL, *kind = NULL;
	bool by_content = false;
	if (!is_dir) {
		struct ss_str label;
		w->s->nfiles++;
		if (!is_host_file(d, name))
			kind = ss_file_kind(name, d->is_run ? SS_PLACE_RUN : SS_PLACE_SIDECAR | SS_PLACE_LOOSE, &label);
		by_content = !kind && !is_host_file(d, name) && type == DT_REG && is_trace_inside(w, d, fd, name);
		if (!kind && !by_content && !is_host_file(d, name)) {
			why = ss_not_a_profile(name);
			if (why)
				look(w, d->path, name, why);
			return;
		}
	}
	name = ss_arena_str(&w->s->arena, name);
	if (!name.p)
		w->no_memory = true;
	else if (!is_dir)
		take_file(w, d, fd, (struct file){ .name = name, .kind = kind, .by_content = by_content }, link);
	else if (!(link ? ss_vec_push(&w->linked, name) : ss_vec_push(&w->subdirs, name)))
		w->no_memory = true;
}

static bool is_profile(struct ss_str name)
{
	int rank = ss_profile_rank(name);
	return rank != SS_NO_PROFILE && rank <= SS_LAST_XSPACE;
}

/* PyTorch's traces among profiles are recordings of their own, not by-products: they wait in `torch`. */
static bool part_torch(struct walk *w)
{
	size_t n = 0;
	for (size_t i = 0; i < w->files.n; i++) {
		struct file f = w->files.v[i];
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
static void keep_best_of(struct walk *w, const struct dir *d, struct files *files, bool profiles)
{
	size_t n = 0;
	if (files->n)
		qsort(files->v, files->n, sizeof(*files->v), by_host);
	for (size_t i = 0; i < files->n; i++) {
		struct file f = files->v[i];
		struct ss_str before = n ? files->v[n - 1].name : SS_STR("");
		bool same = n && ss_str_eq(ss_profile_host(f.name), ss_profile_host(before));
		bool duplicate = same && ss_str_eq(ss_profile_span(f.name), ss_profile_span(before));
		f.older = same && !duplicate ? files->v[n - 1].older + 1 : 0;
		if (f.older > MOST_SPANS)
			look(w, d->path, f.name, "is one of too many recordings of this host, and an old one");
		else if (profiles && !is_profile(f.name))
			look(w, d->path, f.name, "is a trace or a program; the profile is the *.xplane.pb next to it");
		else if (duplicate)
			look(w, d->path, f.name, "is a duplicate of another file of this host");
		else
			files->v[n++] = f;
	}
	files->n = n;
}

static void keep_best(struct walk *w, const struct dir *d)
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
		struct file f = w->others.v[i];
		if (profiles && ss_file_kind_is_answer(f.kind))
			look(w, d->path, f.name,
			     "holds results of an older tool; stepscope computes them from the profile instead");
		else
			w->others.v[k++] = f;
	}
	w->others.n = k;
}

/* Read one directory into files, subdirs and linked, each by name. */
static bool read_dir(struct walk *w, const struct dir *d, int fd)
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
	closedir(dir);
	if (w->files.n || w->others.n)
		keep_best(w, d);
	if (w->others.n)
		qsort(w->others.v, w->others.n, sizeof(*w->others.v), by_file);
	if (w->subdirs.n)
		qsort(w->subdirs.v, w->subdirs.n, sizeof(*w->subdirs.v), by_str);
	if (w->linked.n)
		qsort(w->linked.v, w->linked.n, sizeof(*w->linked.v), by_str);
	return true;
}

/*
 * "a/b/plugins/profile/r" is called "a/b/r"; whatever of it lies above the root is not there to be
 * said.
 */
static struct ss_str run_name(struct ss_arena *a, const struct dir *d)
{
	struct ss_str name = last_part(d->path), rel = d->rel;
	const struct ss_str middle = SS_STR("plugins/profile/");
	if (rel.n < middle.n + name.n)
		return name;
	struct ss_str above = ss_str_sub(rel, 0, rel.n - middle.n - name.n);
	return above.n ? join(a, above, name) : name;
}

/* The same answer of the same host in two formats: then both have their files' names. */
static struct ss_str own_label(const struct ss_run *run, const struct file *f, bool *duplicate)
{
	struct ss_str label;
	ss_file_kind(f->name, SS_PLACE_RUN, &label);
	const struct ss_host_file *last = run->own.n ? &run->own.v[run->own.n - 1] : NULL;
	*duplicate = last && last->kind == f->kind && ss_str_eq(last->name, label);
	return *duplicate ? f->name : label;
}

/* The files of other kinds in a run's own directory; in others, those that make it one. */
static bool add_own(struct walk *w, const struct dir *d, struct ss_run *run)
{
	struct ss_arena *a = &w->s->arena;
	run->own.v = SS_NEW_N(a, struct ss_host_file, w->others.n);
	for (size_t i = 0; run->own.v && i < w->others.n; i++) {
		const struct file *f = &w->others.v[i];
		if (!d->is_run && !ss_file_kind_is_answer(f->kind))
			continue;
		bool duplicate;
		struct ss_str label = ss_arena_str(a, own_label(run, f, &duplicate)), path = join(a, d->path, f->name);
		if (!path.p || !label.p)
			return false;
		if (ss_file_kind_is_answer(f->kind))
			run->bytes += f->bytes;
		run->own.v[run->own.n++] = (struct ss_host_file){ label, path, f->bytes, f->mtime_ns, f->kind,
								   w->s->top.p, duplicate };
		if (!run->nhosts && (i == 0 || f->mtime_ns > run->mtime_ns))
			run->mtime_ns = f->mtime_ns;
	}
	return run->own.v;
}

/* Processes that followed each other are no hosts of one run. */
static bool part_processes(struct walk *w, const struct dir *d)
{
	struct ss_recording *v = calloc(w->files.n + 1, sizeof(*v));
	for (size_t i = 0; v && i < w->files.n; i++)
		v[i] = (struct ss_recording){ w->files.v[i].name, w->files.v[i].older };
	bool ok = v && ss_processes_in_turn(v, w->files.n);
	size_t n = 0;
	for (size_t i = 0; ok && i < w->files.n; i++) {
		struct file f = w->files.v[i];
		f.older = v[i].older;
		if (f.older > MOST_SPANS)
			look(w, d->path, f.name, "was written by one of too many processes, and an old one");
		else
			w->files.v[n++] = f;
	}
	w->files.n = ok ? n : w->files.n;
	free(v);
	return ok;
}

static size_t count_older(const struct walk *w, uint32_t older)
{
	size_t n = 0;
	for (size_t i = 0; i < w->files.n; i++)
		n += w->files.v[i].older == older;
	return n;
}

/* Of each host the recording that so many are newer than. */
static bool add_hosts(struct walk *w, const struct dir *d, struct ss_run *run, uint32_t older)
{
	struct ss_arena *a = &w->s->arena;
	run->hosts = SS_NEW_N(a, struct ss_host_file, count_older(w, older));
	for (size_t i = 0; run->hosts && i < w->files.n; i++) {
		const struct file *f = &w->files.v[i];
		if (f->older != older)
			continue;
		bool named = f->by_content || ss_profile_rank(f->name) != SS_NO_PROFILE;
		struct ss_str host = ss_arena_str(a, named ? ss_profile_host(f->name) : SS_STR(SS_UNNAMED_HOST));
		struct ss_str path = join(a, d->path, f->name);
		if (!path.p || !host.p)
			return false;
		run->hosts[run->nhosts++] = (struct ss_host_file){ host, path, f->bytes, f->mtime_ns, NULL, w->s->top.p, false };
		run->bytes += f->bytes;
		if (run->nhosts == 1 || f->mtime_ns > run->mtime_ns)
			run->mtime_ns = f->mtime_ns;
	}
	return run->hosts;
}

/* The greatest number in the names of its recordings, "" where they have none. */
static struct ss_str newest_span(const struct walk *w, uint32_t older)
{
	struct ss_str span = SS_STR("");
	for (size_t i = 0; i < w->files.n; i++) {
		struct ss_str other = ss_profile_span(w->files.v[i].name);
		if (w->files.v[i].older == older && other.n && (!span.n || by_span_desc(other, span) < 0))
			span = other;
	}
	return span;
}

static bool push_run(struct walk *w, const struct dir *d, struct ss_run run)
{
	return d->is_run ? ss_vec_push(&w->runs, run) : ss_vec_push(&w->loose, run);
}

/*
 * Recordings of one host one after the other are runs, not hosts. The number in their names says
 * which is newer, whatever copying did to the times of the files.
 */
static bool add_older(struct walk *w, const struct dir *d, struct ss_run newest)
{
	uint32_t most = 0;
	int64_t newer_ns = newest.mtime_ns;
	for (size_t i = 0; i < w->files.n; i++)
		most = w->files.v[i].older > most ? w->files.v[i].older : most;
	for (uint32_t older = 1; older <= most; older++) {
		struct ss_run run = { .dir = d->path, .dir_mtime_ns = newest.dir_mtime_ns, .aside = newest.aside };
		struct ss_str span = newest_span(w, older);
		run.name = ss_arena_printf(&w->s->arena, SS_FMT "." SS_FMT, SS_ARG(newest.name), SS_ARG(span));
		if (!run.name.p || !add_hosts(w, d, &run, older))
			return false;
		run.mtime_ns = run.mtime_ns < newer_ns ? run.mtime_ns : newer_ns - 1;
		newer_ns = run.mtime_ns;
		if (!push_run(w, d, run))
			return false;
	}
	return true;
}

/* PyTorch's traces among the profiles of a run: the same program, or another, as PyTorch's profiler saw it. */
static bool add_torch(struct walk *w, const struct dir *d, struct ss_run beside)
{
	struct ss_run run = { .dir = beside.dir, .dir_mtime_ns = beside.dir_mtime_ns, .aside = true };
	run.name = ss_arena_printf(&w->s->arena, SS_FMT ".pytorch", SS_ARG(beside.name));
	struct files profiles = w->files;
	w->files = w->torch;
	w->torch = profiles;
	return run.name.p && part_processes(w, d) && add_hosts(w, d, &run, 0) && push_run(w, d, run) && add_older(w, d, run);
}

static bool add_run(struct walk *w, const struct dir *d, const struct stat *st)
{
	struct ss_run run = { .dir = d->path, .mtime_ns = ss_mtime_ns(st), .dir_mtime_ns = ss_mtime_ns(st) };
	if (w->what == SS_SCAN_ANY && d->is_run)
		run.name = run_name(&w->s->arena, d);
	else
		run.name = d->rel.n && w->what != SS_SCAN_RUN ? d->rel : last_part(d->path);
	if (!run.name.p || !part_processes(w, d) || !add_hosts(w, d, &run, 0) || !add_own(w, d, &run))
		return false;
	return push_run(w, d, run) && add_older(w, d, run) && (!w->torch.n || add_torch(w, d, run));
}

/* Many files are called *.pickle: a few hundred are looked at. Others are what their names say. */
static bool is_snapshot(struct walk *w, const struct dir *d, const struct file *f)
{
	if (strcmp(f->kind, SS_KIND_FILE_SNAPSHOT) != 0)
		return true;
	struct ss_str path = join(&w->s->arena, d->path, f->name);
	w->no_memory |= !path.p;
	return path.p && w->nsniffed++ < SS_SIDECAR_SNIFFED && ss_file_kind_of_bytes(path.p, true);
}

/* Files of other kinds outside of a run's directory wait for the runs they may belong to. */
static bool add_sidecar(struct walk *w, const struct dir *d)
{
	for (size_t i = 0; i < w->others.n; i++) {
		const struct file *f = &w->others.v[i];
		if (ss_file_kind_is_answer(f->kind) || !is_snapshot(w, d, f))
			continue;
		struct ss_host_file file = { f->name, join(&w->s->arena, d->path, f->name), f->bytes, f->mtime_ns, f->kind,
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

static bool push_children(struct walk *w, const struct dir *d, const struct ss_str *names, size_t n, bool links)
{
	struct ss_arena *a = &w->s->arena;
	bool runs = w->what == SS_SCAN_RUNS || is_plugins_profile(d->path);
	for (size_t i = 0; i < n; i++) {
		struct dir sub = { .depth = d->depth + 1, .is_run = runs };
		sub.path = join(a, d->path, names[i]);
		sub.rel = d->rel.n ? join(a, d->rel, names[i]) : names[i];
		if (!sub.path.p || !sub.rel.p)
			return false;
		if (links && !ss_store_inside(w->s->top, sub.path.p)) {
			look(w, sub.path, (struct ss_str){ 0 }, "is a link to outside of the log directory");
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
		return "is a link to outside of the log directory";
	case EMFILE:
	case ENFILE:
		return "could not be opened: too many open files";
	}
	return "could not be read";
}

static bool has_answers(const struct walk *w)
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
static enum entry enter(struct walk *w, const struct dir *d, int *fd, struct stat *st)
{
	*fd = ss_open_below(w->s->top.p, d->path.p, O_RDONLY | O_DIRECTORY | O_NONBLOCK);
	if (*fd < 0 || fstat(*fd, st) != 0) {
		look(w, d->path, (struct ss_str){ 0 }, why_not_opened(errno));
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
static bool goes_deeper(struct walk *w, const struct dir *d)
{
	if (w->what != SS_SCAN_ANY)
		return w->what == SS_SCAN_RUNS && d->depth == 0;
	if (d->depth < MAX_DEPTH)
		return true;
	if (w->subdirs.n) {
		look(w, d->path, (struct ss_str){ 0 }, "is nested too deep: its directories were not searched");
		w->s->stopped = true;
	}
	return false;
}

static bool visit(struct walk *w, const struct dir *d)
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
		look(w, d->path, itself, "could not be read");
	if (d->is_run && w->files.n + w->others.n == 0)
		look(w, d->path, itself, "holds no *.xplane.pb file");
	if ((d->is_run || w->files.n || has_answers(w)) && !add_run(w, d, &st))
		return false;
	if (!d->is_run && !add_sidecar(w, d))
		return false;
	if (entry == ENTRY_NEW && goes_deeper(w, d) &&
	    !(push_children(w, d, w->subdirs.v, w->subdirs.n, false) && push_children(w, d, w->linked.v, w->linked.n, true)))
		return false;
	return !w->no_memory;
}

static bool walk_all(struct walk *w)
{
	size_t at = 0, link_at = 0;
	while (at < w->dirs.n || link_at < w->links.n) {
		if (w->s->ndirs >= MAX_DIRS || w->nentries > MAX_ENTRIES) {
			w->s->stopped = true;
			return true;
		}
		/* A copy: visiting grows the array. */
		struct dir d = at < w->dirs.n ? w->dirs.v[at++] : w->links.v[link_at++];
		if (!visit(w, &d))
			return false;
	}
	return true;
}

/*
 * One file: the only host of the only run. A name that tells of another kind is taken at its word,
 * but a *.pb may be either.
 */
static bool scan_file(struct ss_store *s, const struct stat *st)
{
	struct ss_str dir = ss_str_sub(s->root, 0, ss_str_rchr(s->root, '/')), name = last_part(s->root), label;
	struct ss_str parent = ss_str_sub(dir, 0, dir.n - last_part(dir).n);
	const char *kind = ss_file_kind(name, SS_PLACE_NAMED, &label), *told = ss_file_kind_of_bytes(s->root.p, false);
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
	*run = (struct ss_run){ .name = in_run ? ss_arena_str(&s->arena, last_part(dir)) : files[kind ? 1 : 0].name,
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

/* The runs of the snapshot, with the files beside them. */
static bool keep_runs(struct walk *w)
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
static bool keep(struct walk *w)
{
	struct ss_store *s = w->s;
	for (size_t i = 0; w->runs.n && i < w->loose.n; i++)
		look(w, w->loose.v[i].dir, (struct ss_str){ 0 },
		     "holds profiles, but not below plugins/profile: open this directory itself");
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
	struct walk w = { .s = s, .what = what };
	struct dir top = { .path = s->root, .rel = SS_STR(""), .is_run = what == SS_SCAN_RUN };
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
