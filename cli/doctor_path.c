/*
 * doctor_path.c - what is wrong with a file or a directory, and what to do: each file that could be
 * a profile is opened, and what the search for profiles passed over is named with its cause.
 */
#include "doctor.h"
#include "model/host/host.h"
#include "model/runtime/snapshot.h"

#include "location/location.h"
#include "store/kinds.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define FRESH_S 10		/* a file that changed so lately may still be written */
#define MOST_FILES 200		/* of a directory are opened */

/* ---- one profile ---- */

struct facts {
	uint64_t lines, events_bytes;
	bool device, named, program;
};

static struct facts facts_of(const struct ss_host *h)
{
	struct facts f = { 0 };
	for (uint32_t i = 0; i < h->x.nplanes; i++) {
		const struct ss_xplane *p = &h->x.planes[i];
		f.device |= ss_str_starts(p->name, SS_STR("/device:"));
		f.named |= p->name.n != 0;
		f.program |= ss_xplane_has(p, SS_STAT_HLO_PROTO);
		f.lines += p->nlines;
		for (uint32_t k = 0; k < p->nlines; k++)
			f.events_bytes += p->lines[k].events ? p->lines[k].body.n : 0;
	}
	return f;
}

/* May a program still be writing the file? Then it is too early to judge. */
static bool is_fresh(const struct doctor *d, int64_t mtime_ns)
{
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	int64_t age_s = (int64_t)now.tv_sec - mtime_ns / 1000000000;
	return !d->copied && age_s >= 0 && age_s < FRESH_S;
}

/*
 * A text that begins with the file's path, without it: the line names the file already. In an
 * archive it is the archive's.
 */
static struct ss_str without_path(struct ss_str text, struct ss_str path)
{
	struct ss_str rest = text, name = ss_str_sub(path, ss_str_rchr(path, '/') + 1, path.n);
	if (!ss_str_take(&rest, SS_STR("'")))
		return text;
	size_t at = ss_str_find(rest, name);
	rest = ss_str_sub(rest, at == SS_NPOS ? rest.n : at + name.n, rest.n);
	return ss_str_take(&rest, SS_STR("' ")) || ss_str_take(&rest, SS_STR("': ")) ? rest : text;
}

static void judge_host(struct doctor *d, const char *what, const struct ss_host *h, const struct ss_host_file *file)
{
	struct facts f = facts_of(h);
	const char *form = h->imported.any ? h->imported.form : NULL;
	bool whole = !h->x.nnotes;
	for (uint32_t i = 0; i < h->x.nnotes; i++)
		doctor_say(d, DOCTOR_BAD, what, SS_FMT, SS_ARG(without_path(h->x.notes[i], file->path)));
	if (!whole && is_fresh(d, file->mtime_ns))
		doctor_say(d, DOCTOR_NOTE, what,
			   "it changed less than %d s ago: the program may still be writing it. Try again later", FRESH_S);
	for (uint32_t i = 0; i < h->x.nerrors; i++)
		doctor_say(d, DOCTOR_NOTE, what, "the profiler reported: " SS_FMT, SS_ARG(h->x.errors[i]));
	if (whole && !h->x.nplanes)
		doctor_say(d, DOCTOR_BAD, what,
			   "it holds no plane: the profiler recorded nothing. Profile while steps run, and stop the profiler "
			   "before the program ends");
	else if (whole && f.program && !f.lines && h->imported.any)
		doctor_say(d, DOCTOR_GOOD, what,
			   "complete: it is a program of XLA, without a profile: 'stepscope tool graph_viewer' and "
			   "'memory_viewer' show it");
	else if (whole && !f.named && !f.events_bytes)
		doctor_say(d, DOCTOR_BAD, what,
			   "it is not a profile: its %u plane%s neither names nor events. It is a message of another kind, or "
			   "damaged", h->x.nplanes, h->x.nplanes == 1 ? " has" : "s have");
	else if (whole && !f.events_bytes)
		doctor_say(d, DOCTOR_BAD, what,
			   "it holds %u plane%s without events: nothing ran while it was recorded, or recording ended at once. "
			   "Profile for longer, while steps run",
			   h->x.nplanes, h->x.nplanes == 1 ? "" : "s");
	else if (whole && !f.device && !h->imported.any)
		doctor_say(d, DOCTOR_NOTE, what,
			   "complete, but it holds no device: the program ran on the CPU, or the profiler could not trace the "
			   "accelerator ('stepscope tool plane_stats' shows more)");
	else if (whole)
		doctor_say(d, DOCTOR_GOOD, what, "complete: %u plane%s, %llu line%s%s%s", h->x.nplanes,
			   h->x.nplanes == 1 ? "" : "s", (unsigned long long)f.lines, f.lines == 1 ? "" : "s",
			   form ? "; it is " : "", form ? form : "");
}

/*
 * The tool that shows a snapshot finds more; whether it can be read, and to its end, is known
 * before.
 */
static void judge_snapshot(struct doctor *d, const char *what, struct ss_host *h)
{
	struct ss_err err = { 0 };
	const struct ss_snapshot *s = ss_host_snapshot(h, &err);
	if (!s)
		doctor_say(d, DOCTOR_BAD, what, SS_FMT, SS_ARG(without_path(ss_str_from(err.text), h->name)));
	else if (s->cut || s->stopped.n)
		doctor_say(d, DOCTOR_BAD, what, "the memory snapshot is truncated or damaged: the content before the damage is "
			   "shown. Copy it again");
	else if (!s->segments.n && !s->events.n && !s->blocks.n)
		doctor_say(d, DOCTOR_BAD, what, "the memory snapshot holds no memory: call "
			   "torch.cuda.memory._record_memory_history before the program allocates, and write the snapshot later");
	else
		doctor_say(d, DOCTOR_GOOD, what, "a complete memory snapshot: 'stepscope tool memory_snapshot' shows it");
}

static void judge_raw(struct doctor *d, const char *what, const struct ss_host_file *f)
{
	struct ss_host h;
	struct ss_err err = { 0 };
	if (strcmp(f->kind, SS_KIND_FILE_SNAPSHOT) != 0) {
		doctor_say(d, DOCTOR_GOOD, what, "a %s: not a profile, but a file that stepscope can show",
			   ss_file_kind_says(f->kind));
		return;
	}
	if (!ss_host_open_raw(&h, f->top, f->path.p, f->name, &err)) {
		doctor_say(d, DOCTOR_BAD, what, SS_FMT, SS_ARG(without_path(ss_str_from(err.text), f->path)));
		return;
	}
	judge_snapshot(d, what, &h);
	ss_host_close(&h);
}

/* Reports what the reader of the file's format finds wrong. */
static void judge_file(struct doctor *d, const char *what, const struct ss_host_file *f)
{
	struct ss_host h;
	struct ss_err err = { 0 };
	if (ss_file_kind_is_raw(f->kind)) {
		judge_raw(d, what, f);
		return;
	}
	if (!ss_host_open_below(&h, f->top, f->path.p, &err)) {
		doctor_say(d, DOCTOR_BAD, what, SS_FMT "%s", SS_ARG(without_path(ss_str_from(err.text), f->path)),
			   is_fresh(d, f->mtime_ns) ? ". It changed just now: the program may still be writing it" : "");
		return;
	}
	judge_host(d, what, &h, f);
	ss_host_close(&h);
}

/* ---- a directory ---- */

/* The path below what the user named; of the file that he named itself, his name for it. */
static struct ss_str below_root(const struct ss_store *s, struct ss_str path)
{
	if (s->named.n && ss_str_eq(path, s->root))
		return s->named;
	struct ss_str rest = ss_str_sub(path, s->root.n, path.n);
	if (!ss_str_starts(path, s->root))
		return path;
	return rest.n > 1 ? ss_str_sub(rest, 1, rest.n) : path;
}

/* A file that was skipped because a better one exists is no problem. */
static bool is_harmless(const char *why)
{
	return strstr(why, "duplicate") || strstr(why, "next to it") || strstr(why, "an old one") || strstr(why, "computes them") ||
	       strstr(why, "not a profile");
}

static bool is_host(const struct ss_store *s, struct ss_str path)
{
	for (size_t i = 0; i < s->nruns; i++)
		for (size_t k = 0; k < s->runs[i].nhosts; k++)
			if (ss_str_eq(s->runs[i].hosts[k].path, path))
				return true;
	return false;
}

static void say_skipped(struct doctor *d, const struct ss_store *s)
{
	for (size_t i = 0; i < s->nskipped; i++) {
		const struct ss_skipped *k = &s->skipped[i];
		char what[300];
		if (is_host(s, k->path))	/* it was opened, and said so itself */
			continue;
		snprintf(what, sizeof(what), SS_FMT, SS_ARG(below_root(s, k->path)));
		doctor_say(d, is_harmless(k->why) ? DOCTOR_NOTE : DOCTOR_BAD, what, "%s", k->why);
	}
	if (s->nskipped_all > s->nskipped)
		doctor_say(d, DOCTOR_NOTE, "more", "%zu more %s passed over", s->nskipped_all - s->nskipped,
			   s->nskipped_all - s->nskipped == 1 ? "file or directory was" : "files and directories were");
}

/* The log directory that a path inside of one belongs to: what stands before "/plugins". */
static struct ss_str log_directory(struct ss_str path)
{
	size_t at = ss_str_find(path, SS_STR("/plugins/profile"));
	return at == SS_NPOS || !at ? SS_STR("") : ss_str_sub(path, 0, at);
}

static void say_nothing_found(struct doctor *d, const struct ss_store *s)
{
	struct ss_str above = log_directory(s->root);
	bool others = false;
	for (size_t i = 0; i < s->nruns; i++)
		others |= ss_run_holds(&s->runs[i]);
	if (s->stopped)
		doctor_say(d, DOCTOR_BAD, "directory",
			   "no profile was found before the search stopped after %zu directories: name the log directory itself",
			   s->ndirs);
	else if (others)
		doctor_say(d, DOCTOR_BAD, "directory",
			   "it holds no profile, only other files that programs log. Take a profile (jax.profiler.trace, "
			   "tf.profiler.experimental.start) and write it here");
	else if (above.n)
		doctor_say(d, DOCTOR_BAD, "directory", "no profile is in this part of the log directory '" SS_FMT "'",
			   SS_ARG(above));
	else if (!s->nfiles && s->ndirs > 1)
		doctor_say(d, DOCTOR_BAD, "directory", "no profile is in it: its directories hold no file that can be opened");
	else if (!s->nfiles && s->nskipped_all)
		doctor_say(d, DOCTOR_BAD, "directory", "no profile is in it: the lines above say what was not opened");
	else if (!s->nfiles)
		doctor_say(d, DOCTOR_BAD, "directory", "it is empty: no program has written a profile here yet");
	else
		doctor_say(d, DOCTOR_BAD, "directory",
			   "no profile is in its %zu file%s: a profile is a file plugins/profile/<run>/<host>.xplane.pb", s->nfiles,
			   s->nfiles == 1 ? "" : "s");
}

static void judge_run(struct doctor *d, const struct ss_store *s, const struct ss_run *run, size_t *left)
{
	char what[300];
	for (size_t i = 0; i < run->nhosts && *left; i++, --*left) {
		snprintf(what, sizeof(what), SS_FMT, SS_ARG(below_root(s, run->hosts[i].path)));
		judge_file(d, what, &run->hosts[i]);
	}
	for (size_t i = 0; !run->nhosts && i < run->own.n && *left; i++, --*left) {
		snprintf(what, sizeof(what), SS_FMT, SS_ARG(below_root(s, run->own.v[i].path)));
		judge_file(d, what, &run->own.v[i]);
	}
}

/* ---- a path ---- */

static void say_missing(struct doctor *d, const char *path, const char *why)
{
	char above[4096];
	bool missing = errno == ENOENT;
	doctor_existing(path, above, sizeof(above));
	doctor_say(d, DOCTOR_BAD, path, "%s%s%s%s", why, missing ? ". The path exists up to '" : "", missing ? above : "",
		   missing ? "'" : "");
}

void doctor_path(struct doctor *d, const char *path)
{
	struct ss_store s;
	struct ss_location place;
	struct ss_err err = { 0 };
	struct stat st;
	size_t left = MOST_FILES, hosts = 0;
	if (!ss_location_open(&place, path, &err) || !cli_location_say_cost(&place, &err) || !ss_location_scan(&place, &s, &err)) {
		errno = strcmp(place.named, "-") == 0 || strstr(place.named, "://") || stat(path, &st) == 0 ? 0 : errno;
		say_missing(d, place.named, err.text);
		cli_location_close(&place);
		return;
	}
	d->copied = ss_location_is_made(&place);
	for (size_t i = 0; i < s.nruns; i++) {
		hosts += s.runs[i].nhosts;
		judge_run(d, &s, &s.runs[i], &left);
	}
	if (!left)
		doctor_say(d, DOCTOR_NOTE, "more", "only the first %d files were opened", MOST_FILES);
	say_skipped(d, &s);
	if (!hosts && stat(place.path, &st) == 0 && S_ISDIR(st.st_mode))
		say_nothing_found(d, &s);
	ss_store_free(&s);
	cli_location_close(&place);
}
