/*
 * test_store.c - finding runs: names, layouts, what is passed over and why, and directories made to
 * hurt.
 */
#include "unit/unit.h"

#include "base/file.h"
#include "store/kinds.h"
#include "store/session.h"
#include "store/processes.h"
#include "store/store.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

/* A fresh directory for each test, and everything in it gone afterwards. */
static char top[64];

static int make_top(void **state)
{
	(void)state;
	snprintf(top, sizeof(top), "/tmp/stepscope-store-XXXXXX");
	return mkdtemp(top) ? 0 : -1;
}

static int remove_top(void **state)
{
	char command[200];
	(void)state;
	snprintf(command, sizeof(command), "chmod -R u+rwx %s && rm -rf %s", top, top);
	return system(command);
}

/* Path below the top; of the last four calls. */
static const char *below(const char *rel)
{
	static char paths[4][4096];
	static unsigned at;
	char *p = paths[at++ % 4];
	snprintf(p, sizeof(paths[0]), "%s/%s", top, rel);
	return p;
}

static void make_file(const char *rel, const char *text)
{
	char path[4096];
	snprintf(path, sizeof(path), "%s", below(rel));
	for (char *slash = path + strlen(top) + 1; (slash = strchr(slash, '/')); slash++) {
		*slash = '\0';
		mkdir(path, 0777);
		*slash = '/';
	}
	FILE *f = fopen(path, "wb");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static void scan(struct ss_store *s, const char *rel)
{
	assert_ok(ss_store_scan(s, rel ? below(rel) : top, SS_SCAN_ANY, &err));
}

static const char *why(const struct ss_store *s, const char *suffix)
{
	for (size_t i = 0; i < s->nskipped; i++)
		if (ss_str_ends(s->skipped[i].path, ss_str_from(suffix)))
			return s->skipped[i].why;
	return "";
}

static void names_runs_as_xprof_does(void **state)
{
	struct ss_store s;
	(void)state;
	make_file("plugins/profile/r1/a.xplane.pb", "x");
	make_file("train/plugins/profile/r1/hostB.xplane.pb", "xx");
	make_file("train/plugins/profile/r1/hostA.xplane.pb", "xxx");
	make_file("train/plugins/profile/r1/events.out.tfevents.1", "");
	make_file("new_job/tensorboard/plugins/profile/r2/1.2.3.4_6009.xplane.pb", "x");
	scan(&s, NULL);
	assert_int_equal(s.nruns, 3);
	assert_str(s.runs[0].name, "train/r1");	/* descending */
	assert_str(s.runs[1].name, "r1");
	assert_str(s.runs[2].name, "new_job/tensorboard/r2");
	const struct ss_run *run = ss_store_run(&s, SS_STR("train/r1"));
	assert_non_null(run);
	assert_int_equal(run->nhosts, 2);
	assert_str(run->hosts[0].name, "hostA");
	assert_str(run->hosts[1].name, "hostB");
	assert_int_equal(run->bytes, 5);
	assert_null(ss_store_run(&s, SS_STR("train")));
	assert_null(ss_store_run(&s, SS_STR("../train/r1")));
	assert_false(ss_run_changed(run));
	make_file("train/plugins/profile/r1/hostC.xplane.pb", "x");
	assert_true(ss_run_changed(run));
	ss_store_free(&s);
}

static void opens_a_profile_from_wherever_one_stands(void **state)
{
	static const struct {
		const char *path, *run, *host;
	} cases[] = {
		{ "logs", "job/r", "h" },
		{ "logs/job", "r", "h" },
		{ "logs/job/plugins", "r", "h" },
		{ "logs/job/plugins/profile", "r", "h" },
		{ "logs/job/plugins/profile/r", "r", "h" },
		{ "logs/job/plugins/profile/r/h.xplane.pb", "r", "h" },
		{ "copied", "one", "k" },	/* runs without the layout around them */
		{ "copied/one", "one", "k" },
		{ "copied/one/k.xplane.pb", "k", "k" },
		{ "copied/../copied/one/.", "one", "k" },
	};
	(void)state;
	make_file("logs/job/plugins/profile/r/h.xplane.pb", "x");
	make_file("copied/one/k.xplane.pb", "x");
	for (size_t i = 0; i < SS_COUNT(cases); i++) {
		struct ss_store s;
		scan(&s, cases[i].path);
		assert_int_equal(s.nruns, 1);
		assert_str(s.runs[0].name, cases[i].run);
		assert_int_equal(s.runs[0].nhosts, 1);
		assert_str(s.runs[0].hosts[0].name, cases[i].host);
		assert_int_equal(access(s.runs[0].hosts[0].path.p, R_OK), 0);
		ss_store_free(&s);
	}
}

/* Jobs of several profilers below one directory: each is a run. XProf lists those of its own layout, and they are opened first. */
static void shows_loose_files_beside_the_layout(void **state)
{
	struct ss_store s;
	const char *const loose[] = { "torch/a", "torch/b" };
	(void)state;
	make_file("plugins/profile/r/h.xplane.pb", "x");
	make_file("torch/a/rank-0.pt.trace.json", "x");
	make_file("torch/a/rank-1.pt.trace.json", "x");
	make_file("torch/b/h.xplane.pb", "x");
	make_file("r/h.xplane.pb", "x");
	scan(&s, NULL);
	assert_int_equal(s.nruns, 3);
	for (size_t i = 0; i < SS_COUNT(loose); i++) {
		const struct ss_run *run = ss_store_run(&s, ss_str_from(loose[i]));
		assert_non_null(run);
		assert_true(run->aside);
		assert_int_equal(run->nhosts, 2 - i);
	}
	assert_str(ss_store_newest(&s)->name, "r");
	assert_false(ss_store_newest(&s)->aside);
	/* The name is taken. */
	assert_non_null(strstr(why(&s, "/r"), "plugins/profile"));
	ss_store_free(&s);
}

static void scans_what_it_is_told_to(void **state)
{
	struct ss_store s;
	(void)state;
	make_file("x/one/h.xplane.pb", "x");
	make_file("x/two/h.xplane.pb", "x");
	make_file("x/two/deeper/h.xplane.pb", "x");
	assert_ok(ss_store_scan(&s, below("x"), SS_SCAN_RUNS, &err));
	assert_int_equal(s.nruns, 2);
	assert_str(s.runs[0].name, "two");
	assert_str(s.runs[1].name, "one");
	ss_store_free(&s);
	assert_ok(ss_store_scan(&s, below("x/two"), SS_SCAN_RUN, &err));
	assert_int_equal(s.nruns, 1);
	assert_str(s.runs[0].name, "two");
	ss_store_free(&s);
	assert_ok(ss_store_scan(&s, below("x"), SS_SCAN_RUN, &err));
	assert_int_equal(s.runs[0].nhosts, 0);
	ss_store_free(&s);
	assert_fails(ss_store_scan(&s, below("x/one/h.xplane.pb"), SS_SCAN_RUN, &err), SS_EIO);
}

static void says_why_nothing_was_found(void **state)
{
	struct ss_store s;
	struct ss_arena a = { 0 };
	(void)state;
	make_file("plugins/profile/r/.keep", "");
	make_file("plugins/profile/r/vm.tracetable", "x");
	make_file("plugins/profile/r/xplane.pb", "x");
	make_file("plugins/profile/r/jit_f(4).hlo_proto.pb", "x");
	make_file("notes.txt", "x");
	scan(&s, NULL);
	assert_int_equal(s.nruns, 1);	/* XProf lists the directory as a run, too */
	assert_int_equal(s.runs[0].nhosts, 0);
	assert_null(ss_store_newest(&s));
	assert_non_null(strstr(why(&s, ".tracetable"), "server"));
	assert_non_null(strstr(why(&s, "/xplane.pb"), "host name"));
	assert_non_null(strstr(why(&s, ".hlo_proto.pb"), "HLO"));
	assert_string_equal(why(&s, "notes.txt"), "");
	struct ss_str text = ss_store_why_empty(&s, &a);
	assert_true(ss_str_contains(text, SS_STR("plugins/profile/<run>")));
	ss_arena_release(&a);
	ss_store_free(&s);
	assert_fails(ss_store_scan(&s, below("nowhere"), SS_SCAN_ANY, &err), SS_ENOTFOUND);
	assert_fails(ss_store_scan(&s, "/dev/null", SS_SCAN_ANY, &err), SS_EIO);
}

/* What tools of other times wrote, one host each; the best where a host has several. */
static void takes_traces_and_answers(void **state)
{
	struct ss_store s;
	(void)state;
	make_file("plugins/profile/old/a.trace", "x");
	make_file("plugins/profile/old/a.trace.json.gz", "x");
	make_file("plugins/profile/old/b.pt.trace.json", "x");
	make_file("plugins/profile/old/c.op_profile.json", "x");
	make_file("plugins/profile/old/c.overview_page.json", "x");
	make_file("plugins/profile/old/c.overview_page.pb", "x");
	make_file("plugins/profile/new/a.xplane.pb.gz", "x");
	make_file("plugins/profile/new/a.trace.json.gz", "x");
	make_file("plugins/profile/new/a.overview_page.pb", "x");
	scan(&s, NULL);
	const struct ss_run *old = ss_store_run(&s, SS_STR("old")), *new = ss_store_run(&s, SS_STR("new"));
	assert_int_equal(old->nhosts, 2);
	assert_str(old->hosts[0].name, "a");
	assert_true(ss_str_ends(old->hosts[0].path, SS_STR("a.trace.json.gz")));
	assert_str(old->hosts[1].name, "b");
	assert_int_equal(old->own.n, 3);
	assert_str(old->own.v[0].name, "c");
	assert_str(old->own.v[1].name, "c");
	assert_str(old->own.v[2].name, "c.overview_page.pb");
	assert_true(ss_run_has(old, SS_KIND_FILE_OP_PROFILE));
	assert_non_null(strstr(why(&s, "/a.trace"), "duplicate"));
	assert_int_equal(new->nhosts, 1);
	assert_str(new->hosts[0].name, "a");
	assert_int_equal(new->own.n, 0);
	assert_non_null(strstr(why(&s, "new/a.overview_page.pb"), "from the profile"));
	ss_store_free(&s);
	assert_ok(ss_store_scan(&s, below("plugins/profile/old/c.op_profile.json"), SS_SCAN_ANY, &err));
	assert_int_equal(s.runs[0].nhosts, 0);
	assert_str(s.runs[0].own.v[0].name, "c");
	ss_store_free(&s);
}

/* PyTorch's traces are no by-products of the profiles beside them: they are a run of their own, which XProf does not list. */
static void opens_torch_among_profiles(void **state)
{
	struct ss_store s;
	const char *const runs[] = { "r", "r.pytorch", "r.pytorch.1790000000123" };
	(void)state;
	make_file("plugins/profile/r/a.xplane.pb", "x");
	make_file("plugins/profile/r/a.trace.json.gz", "x");
	make_file("plugins/profile/r/a.1790000000456.pt.trace.json", "x");
	make_file("plugins/profile/r/a.1790000000123.pt.trace.json", "x");
	make_file("plugins/profile/r/rank-0.json", "{\"schemaVersion\": 1, \"traceEvents\": []}");
	scan(&s, NULL);
	assert_int_equal(s.nruns, 3);
	for (size_t i = 0; i < 3; i++) {
		const struct ss_run *run = ss_store_run(&s, ss_str_from(runs[i]));
		assert_non_null(run);
		assert_int_equal(run->nhosts, i == 1 ? 2 : 1);
		assert_str(run->hosts[0].name, "a");
		assert_int_equal(run->aside, i > 0);
	}
	assert_str(ss_store_run(&s, SS_STR("r.pytorch"))->hosts[1].name, "rank-0");
	assert_non_null(strstr(why(&s, "/a.trace.json.gz"), "next to it"));
	assert_int_equal(s.nskipped_all, 1);
	ss_store_free(&s);
}

/* Files whose names do not say what they are: of a directory on disk 4096 are looked into, the rest is counted. */
static void looks_into_some_files(void **state)
{
	struct ss_store s;
	(void)state;
	for (int i = 0; i < 4099; i++) {
		char name[40];
		snprintf(name, sizeof(name), "x/%04d.json", i);
		make_file(name, i == 4095 || i == 4096 ? "{\"schemaVersion\": 1, \"traceEvents\": []}" : "{}");
	}
	scan(&s, NULL);
	assert_int_equal(s.nruns, 1);
	assert_int_equal(s.runs[0].nhosts, 1);
	assert_str(s.runs[0].hosts[0].name, "4095");
	assert_int_equal(s.nunread, 3);
	assert_str(s.skipped[0].path, s.root.p);
	assert_non_null(strstr(s.skipped[0].why, "holds 3 JSON files that were not read"));
	assert_int_equal(s.nskipped, SS_SKIPPED_MAX);
	assert_int_equal(s.nskipped_all, 4095 + 1);
	ss_store_free(&s);
}

/* Outside of plugins/profile such a directory is a run where there is no other. */
static void takes_loose_answers(void **state)
{
	struct ss_store s;
	(void)state;
	make_file("x/h.pod_viewer.json", "x");
	make_file("x/my_pod_viewer.json", "x");
	make_file("x/events.out.tfevents.1", "x");
	scan(&s, NULL);
	assert_int_equal(s.nruns, 1);
	assert_str(s.runs[0].name, "x");
	assert_int_equal(s.runs[0].own.n, 1);
	assert_int_equal(s.runs[0].sidecar.n, 1);
	ss_store_free(&s);
}

/* capture_tpu_profile gave the files of a single TPU no host's name. */
static void files_without_a_host(void **state)
{
	struct ss_store s;
	(void)state;
	make_file("plugins/profile/r/trace", "x");
	make_file("plugins/profile/r/trace.json.gz", "x");
	make_file("plugins/profile/r/op_profile.json", "x");
	make_file("plugins/profile/r/overview_page.json", "x");
	make_file("plugins/profile/r/overview_page.pb", "x");
	make_file("elsewhere/trace", "x");
	scan(&s, NULL);
	assert_int_equal(s.nruns, 1);
	assert_int_equal(s.runs[0].nhosts, 1);
	assert_str(s.runs[0].hosts[0].name, "unnamed");
	assert_true(ss_str_ends(s.runs[0].hosts[0].path, SS_STR("/trace.json.gz")));
	assert_int_equal(s.runs[0].own.n, 3);
	for (size_t i = 0, duplicate = 0; i < 3; i++) {
		duplicate += s.runs[0].own.v[i].duplicate;
		if (!s.runs[0].own.v[i].duplicate)
			assert_str(s.runs[0].own.v[i].name, "unnamed");
		assert_int_equal(duplicate, i == 2);
	}
	ss_store_free(&s);
}

/* A program's evaluation writes event files later than its training, and no graph. */
static void prefers_runs_with_a_graph(void **state)
{
	struct ss_store s;
	(void)state;
	make_file("train/graph.pbtxt", "x");
	make_file("validation/events.out.tfevents.2", "x");
	scan(&s, NULL);
	assert_int_equal(s.nruns, 2);
	assert_str(ss_store_newest_with(&s, SS_KIND_FILE_GRAPH)->name, "train");
	ss_store_free(&s);
	scan(&s, "validation");
	assert_str(ss_store_newest_with(&s, SS_KIND_FILE_GRAPH)->name, "validation");
	assert_null(ss_store_newest_with(&s, SS_KIND_FILE_POD));
	ss_store_free(&s);
}

static void notices_empty_and_special_files(void **state)
{
	struct ss_store s;
	(void)state;
	make_file("plugins/profile/r/empty.xplane.pb", "");
	mkfifo(below("plugins/profile/r/pipe.xplane.pb"), 0666);
	mkdir(below("plugins/profile/r/dir.xplane.pb"), 0777);
	scan(&s, NULL);
	const struct ss_run *run = ss_store_run(&s, SS_STR("r"));
	assert_int_equal(run->nhosts, 1);
	assert_str(run->hosts[0].name, "empty");
	assert_non_null(strstr(why(&s, "/empty.xplane.pb"), "0 bytes"));
	assert_non_null(strstr(why(&s, "/pipe.xplane.pb"), "plain file"));
	ss_store_free(&s);
}

static void reports_directories_it_may_not_read(void **state)
{
	struct ss_store s;
	(void)state;
	if (geteuid() == 0)
		return;		/* who may read everything */
	make_file("open/plugins/profile/r/h.xplane.pb", "x");
	make_file("shut/plugins/profile/r/h.xplane.pb", "x");
	chmod(below("shut"), 0);
	scan(&s, NULL);
	assert_int_equal(s.nruns, 1);
	assert_non_null(strstr(why(&s, "/shut"), "may not be read"));
	ss_store_free(&s);
}

static void stays_inside(void **state)
{
	struct ss_store s;
	(void)state;
	make_file("secret/plugins/profile/r/h.xplane.pb", "x");
	make_file("logs/plugins/profile/mine/h.xplane.pb", "x");
	assert_int_equal(symlink(below("secret"), below("logs/out")), 0);
	assert_int_equal(symlink(below("secret/plugins/profile/r"), below("logs/plugins/profile/stolen")), 0);
	assert_int_equal(symlink(below("secret/plugins/profile/r/h.xplane.pb"), below("logs/plugins/profile/mine/x.xplane.pb")), 0);
	assert_int_equal(symlink("mine", below("logs/plugins/profile/latest")), 0);
	assert_int_equal(symlink("nowhere", below("logs/plugins/profile/mine/gone.xplane.pb")), 0);
	scan(&s, "logs");
	assert_int_equal(s.nruns, 2);
	assert_str(s.runs[0].name, "mine");
	assert_int_equal(s.runs[0].nhosts, 1);
	assert_str(s.runs[1].name, "latest");	/* a link to a run inside is a run */
	assert_non_null(strstr(why(&s, "/out"), "to a place outside"));
	assert_non_null(strstr(why(&s, "/stolen"), "to a place outside"));
	assert_non_null(strstr(why(&s, "/x.xplane.pb"), "to a place outside"));
	assert_non_null(strstr(why(&s, "/gone.xplane.pb"), "broken"));
	assert_true(ss_store_inside(s.root, below("logs/plugins")));
	assert_true(ss_store_inside(s.root, below("logs")));
	assert_false(ss_store_inside(s.root, below("logs/out")));
	assert_false(ss_store_inside(s.root, below("logs/..")));
	make_file("logs2/f", "");
	assert_false(ss_store_inside(s.root, below("logs2")));	/* begins alike */
	ss_store_free(&s);
}

static void selects_hosts(void **state)
{
	static const struct {
		const char *names;
		bool all;
		size_t n;
		const char *first, *name;
	} cases[] = {
		{ "", false, 1, "a", "a" },
		{ "", true, 4, "a", "ALL_HOSTS" },
		{ "ALL_HOSTS", false, 4, "a", "ALL_HOSTS" },
		{ "b", true, 1, "b", "b" },
		{ "c,a,c", false, 2, "a", "c,a,c" },
		{ "c,d", true, 1, "c,d", "c,d" },	/* one host of that name */
		{ "nobody", true, 0, NULL, NULL },
		{ "a,nobody", true, 0, NULL, NULL },
		{ "ALL_HOSTS,a", true, 0, NULL, NULL },
	};
	struct ss_store s;
	struct ss_arena arena = { 0 };
	struct ss_selection sel;
	(void)state;
	make_file("plugins/profile/r/a.xplane.pb", "x");
	make_file("plugins/profile/r/b.xplane.pb", "x");
	make_file("plugins/profile/r/c.xplane.pb", "x");
	make_file("plugins/profile/r/c,d.xplane.pb", "x");
	make_file("plugins/profile/none/.keep", "");
	scan(&s, NULL);
	const struct ss_run *run = ss_store_run(&s, SS_STR("r"));
	for (size_t i = 0; i < SS_COUNT(cases); i++) {
		struct ss_str names = ss_str_from(cases[i].names);
		if (!cases[i].n) {
			assert_fails(ss_run_select(run, NULL, names, cases[i].all, &arena, &sel, &err), SS_ENOTFOUND);
			continue;
		}
		assert_ok(ss_run_select(run, NULL, names, cases[i].all, &arena, &sel, &err));
		assert_int_equal(sel.n, cases[i].n);
		assert_str(sel.files[0]->name, cases[i].first);
		assert_str(sel.name, cases[i].name);
	}
	run = ss_store_run(&s, SS_STR("none"));
	assert_fails(ss_run_select(run, NULL, SS_STR(""), true, &arena, &sel, &err), SS_ENOTFOUND);
	ss_arena_release(&arena);
	ss_store_free(&s);
}

/* Profilers of a job's hosts start seconds apart, and each names its run by the second. */
static void joins_runs_of_one_recording(void **state)
{
	struct ss_store s;
	struct ss_arena arena = { 0 };
	(void)state;
	make_file("plugins/profile/2026_11_20_10_00_04/host2.xplane.pb", "x");
	make_file("plugins/profile/2026_11_20_10_00_09/host10.xplane.pb", "xx");
	make_file("plugins/profile/2026_11_20_10_00_58/host0.xplane.pb", "x");
	/* The same host again is another recording; so is what began much later, or has no time for a name. */
	make_file("plugins/profile/2026_11_20_10_00_50/host2.xplane.pb", "x");
	make_file("plugins/profile/2026_11_20_10_02_00/host3.xplane.pb", "x");
	make_file("plugins/profile/other/host4.xplane.pb", "x");
	/* Another log directory is another job's, also where it named its run by the same second. */
	make_file("job/plugins/profile/2026_11_20_10_00_04/host5.xplane.pb", "x");
	scan(&s, NULL);
	const struct ss_run *run = ss_store_run(&s, SS_STR("2026_11_20_10_00_04"));
	const struct ss_run *whole = ss_session_run(&s, run, NULL, &arena);
	assert_non_null(whole);
	assert_str(whole->name, "2026_11_20_10_00_04");
	assert_int_equal(whole->nhosts, 3);
	assert_int_equal(whole->bytes, 4);
	assert_str(whole->hosts[0].name, "host0");
	assert_str(whole->hosts[1].name, "host10");
	assert_str(whole->hosts[2].name, "host2");
	assert_true(ss_str_ends(whole->hosts[1].path, SS_STR("2026_11_20_10_00_09/host10.xplane.pb")));
	run = ss_store_run(&s, SS_STR("other"));
	assert_ptr_equal(ss_session_run(&s, run, NULL, &arena), run);
	run = ss_store_run(&s, SS_STR("2026_11_20_10_02_00"));
	assert_ptr_equal(ss_session_run(&s, run, NULL, &arena), run);
	run = ss_store_run(&s, SS_STR("job/2026_11_20_10_00_04"));
	assert_ptr_equal(ss_session_run(&s, run, NULL, &arena), run);
	ss_arena_release(&arena);
	ss_store_free(&s);
}

static void ends_in_loops(void **state)
{
	struct ss_store s;
	(void)state;
	make_file("a/plugins/profile/r/h.xplane.pb", "x");
	assert_int_equal(symlink("..", below("a/up")), 0);
	assert_int_equal(symlink(".", below("a/self")), 0);
	assert_int_equal(symlink(top, below("a/plugins/profile/top")), 0);
	scan(&s, NULL);
	assert_int_equal(s.nruns, 2);
	assert_int_equal(ss_store_run(&s, SS_STR("a/r"))->nhosts, 1);
	assert_int_equal(ss_store_run(&s, SS_STR("a/top"))->nhosts, 0);
	assert_true(s.ndirs < 20);
	ss_store_free(&s);
}

static void bounds_the_depth(void **state)
{
	struct ss_store s;
	char rel[4000] = "";
	(void)state;
	for (int i = 0; i < 60; i++)
		strcat(rel, "deep/");
	strcat(rel, "plugins/profile/r/h.xplane.pb");
	make_file(rel, "x");
	scan(&s, NULL);
	assert_int_equal(s.nruns, 0);
	assert_true(s.stopped);
	assert_true(s.ndirs < 60);
	ss_store_free(&s);
}

/* A copy of a sample event file, which holds a graph. */
static void copy_sample(const char *rel)
{
	char command[8192];
	make_file(rel, "");
	snprintf(command, sizeof(command), "cp %s/events/tf1_mnist/run/events.out.tfevents.1795251845.host %s", SS_TEST_DATA,
		 below(rel));
	assert_int_equal(system(command), 0);
}

static void hands_event_files_to_runs(void **state)
{
	struct ss_store s;
	struct ss_selection sel;
	(void)state;
	make_file("train/plugins/profile/r1/a.xplane.pb", "x");
	make_file("train/plugins/profile/r2/a.xplane.pb", "x");
	make_file("train/plugins/profile/r2/a.end_to_end.json", "x");
	make_file("train/events.out.tfevents.2.h", "x");
	make_file("train/eval/events.out.tfevents.1.h", "x");
	make_file("train/events.out.tfevents.3.h.profile-empty", "x");
	make_file("train/profile/events.out.tfevents.4.h.profile_logger", "x");
	make_file("scalars/events.out.tfevents.5.h", "no graph in it");
	copy_sample("graph/events.out.tfevents.6.h");
	make_file("text/graph.pbtxt", "x");
	make_file("phases/profile/events.out.tfevents.7.h.profile_logger", "x");
	scan(&s, NULL);
	static const struct {
		const char *name;
		size_t nhosts, own, sidecar;
		bool aside;
	} want[] = {
		{ "train/r2", 1, 1, 3, false }, { "train/r1", 1, 0, 3, false }, { "text", 0, 0, 1, true },
		{ "phases", 0, 0, 1, true },	 { "graph", 0, 0, 1, true },
	};
	assert_int_equal(s.nruns, SS_COUNT(want));
	for (size_t i = 0; i < s.nruns; i++) {
		assert_str(s.runs[i].name, want[i].name);
		assert_int_equal(s.runs[i].nhosts, want[i].nhosts);
		assert_int_equal(s.runs[i].own.n, want[i].own);
		assert_int_equal(s.runs[i].sidecar.n, want[i].sidecar);
		assert_int_equal(s.runs[i].aside, want[i].aside);
	}
	assert_true(ss_store_newest(&s)->nhosts > 0);
	const struct ss_run *run = &s.runs[0];
	assert_ok(ss_run_select(run, SS_KIND_FILE_GRAPH, SS_STR(""), true, &s.arena, &sel, &err));
	assert_int_equal(sel.n, 2);
	assert_str(sel.files[0]->name, "eval/events.out.tfevents.1.h");
	assert_str(sel.files[1]->name, "events.out.tfevents.2.h");
	assert_ok(ss_run_select(run, SS_KIND_FILE_END_TO_END, SS_STR("a"), true, &s.arena, &sel, &err));
	assert_int_equal(sel.n, 1);
	assert_ok(ss_run_select(run, SS_KIND_FILE_END_TO_END, SS_STR(""), true, &s.arena, &sel, &err));
	assert_int_equal(sel.n, 2);	/* its own, and the log of its program */
	assert_fails(ss_run_select(&s.runs[4], NULL, SS_STR(""), true, &s.arena, &sel, &err), SS_ENOTFOUND);
	assert_fails(ss_run_select(&s.runs[4], SS_KIND_FILE_END_TO_END, SS_STR(""), true, &s.arena, &sel, &err), SS_ENOTFOUND);
	ss_store_free(&s);
}

/*
 * Many files are called *.pickle: those that hold a snapshot are listed. One that is named is
 * looked into, whatever its name.
 */
static void lists_memory_snapshots(void **state)
{
	const char *snapshot = "\x80\x04}(\x8c\x08segments]\x8c\x0d" "device_traces]]au.";
	struct ss_store s;
	(void)state;
	make_file("a/rank0.pickle", snapshot);
	make_file("a/rank1.pickle", snapshot);
	make_file("a/weights.pickle", "\x80\x04}.");
	make_file("a/host.prof", "c c c");
	make_file("x.bin", snapshot);
	assert_ok(ss_store_scan(&s, top, SS_SCAN_ANY, &err));
	assert_int_equal(s.nruns, 1);
	assert_int_equal(s.runs[0].sidecar.n, 2);
	assert_true(ss_run_has(&s.runs[0], SS_KIND_FILE_SNAPSHOT));
	ss_store_free(&s);
	assert_ok(ss_store_scan(&s, below("x.bin"), SS_SCAN_ANY, &err));
	assert_int_equal(s.runs[0].nhosts, 0);
	assert_true(ss_run_has(&s.runs[0], SS_KIND_FILE_SNAPSHOT));
	ss_store_free(&s);
}

static void lists_event_files_without_profiles(void **state)
{
	struct ss_store s;
	(void)state;
	make_file("a/events.out.tfevents.1.h", "x");
	make_file("a/profile/events.out.tfevents.1.h.profile_logger", "x");
	make_file("b/c/events.out.tfevents.2.h", "x");
	scan(&s, NULL);
	assert_int_equal(s.nruns, 2);
	assert_str(s.runs[0].name, "b/c");
	assert_str(s.runs[1].name, "a");
	assert_int_equal(s.runs[1].sidecar.n, 2);
	assert_false(s.runs[0].aside);
	ss_store_free(&s);
	scan(&s, "b/c/events.out.tfevents.2.h");
	assert_int_equal(s.nruns, 1);
	assert_int_equal(s.runs[0].nhosts, 0);
	assert_true(ss_run_has(&s.runs[0], SS_KIND_FILE_GRAPH));
	ss_store_free(&s);
}

struct swapping {
	atomic_bool stop;
	char link[PATH_MAX], other[PATH_MAX];
	const char *inside, *outside;
};

static void *swap_links(void *arg)
{
	struct swapping *s = arg;
	for (unsigned i = 0; !atomic_load(&s->stop); i++) {
		assert_int_equal(symlink(i % 2 ? s->inside : s->outside, s->other), 0);
		assert_int_equal(rename(s->other, s->link), 0);
	}
	return NULL;
}

/* From now on this thread is on a system without openat2. */
static void forget_openat2(void)
{
	struct sock_filter rules[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 437, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { SS_COUNT(rules), rules };
	assert_int_equal(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
	assert_int_equal(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), 0);
}

/*
 * What a link leads to may change between any two looks at it: the arguments are its two targets.
 */
static void open_what_is_swapped(const char *inside, const char *outside)
{
	struct swapping s = { .inside = inside, .outside = outside };
	char logs[PATH_MAX];
	unsigned opened = 0;
	pthread_t thread;
	struct ss_file f;
	snprintf(logs, sizeof(logs), "%s", below("logs"));
	snprintf(s.link, sizeof(s.link), "%s", below("logs/link"));
	snprintf(s.other, sizeof(s.other), "%s", below("logs/other"));
	assert_int_equal(symlink(inside, s.link), 0);
	assert_int_equal(pthread_create(&thread, NULL, swap_links, &s), 0);
	for (int i = 0; i < 3000; i++) {
		if (!ss_file_open_below(&f, logs, s.link, NULL))
			continue;
		assert_int_equal(f.bytes.n, 2);
		ss_file_close(&f);
		opened++;
	}
	atomic_store(&s.stop, true);
	pthread_join(thread, NULL);
	unlink(s.link);
	assert_true(opened > 20);
}

static void *open_all_swapped(void *without_openat2)
{
	char outside[PATH_MAX], inside[PATH_MAX];
	snprintf(outside, sizeof(outside), "%s", below("out"));
	snprintf(inside, sizeof(inside), "%s", below("logs/in"));
	if (without_openat2)
		forget_openat2();
	open_what_is_swapped("in", "../out");
	open_what_is_swapped("in", outside);
	open_what_is_swapped(inside, "../out");
	open_what_is_swapped(inside, outside);
	return NULL;
}

static void opens_nothing_outside(void **state)
{
	pthread_t thread;
	make_file("logs/in", "in");
	make_file("out", "outside");
	open_all_swapped(NULL);
	/* Rules of a thread end with it. */
	assert_int_equal(pthread_create(&thread, NULL, open_all_swapped, state), 0);
	pthread_join(thread, NULL);
}

#define AT(machine, process, span) { SS_STR_INIT(machine "_" process "." span ".pt.trace.json"), 0 }

/* Ranks of one job stay together; a program that was started again, with two recordings each time, comes in turn. */
static void processes_in_turn(void **state)
{
	struct ss_recording v[] = {
		AT("a", "11", "1790000000000000000"), AT("a", "12", "1790000004000000000"), /* ranks */
		AT("b", "21", "1790000102000"),	      AT("b", "21", "1790000100000"),	    /* milliseconds */
		AT("b", "22", "1790000202"),	      AT("b", "22", "1790000200"),
		AT("c", "31", "1790000000000000000"), AT("c", "x", "1790000900000000000"),
		AT("d", "41", "1790000000"),	      AT("d", "42", "1790000005"),
		AT("d", "43", "1790000016"),	      AT("d", "44", "1790000100"),
	};
	static const uint32_t older[] = { 0, 0, 2, 3, 0, 1, 0, 0, 2, 2, 1, 0 };
	(void)state;
	v[3].older = v[5].older = 1;
	assert_true(ss_processes_in_turn(v, SS_COUNT(v)));
	for (size_t i = 0; i < SS_COUNT(v); i++)
		assert_int_equal(v[i].older, older[i]);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, make_top, remove_top)
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(processes_in_turn),
		TEST(names_runs_as_xprof_does),
		TEST(opens_a_profile_from_wherever_one_stands),
		TEST(shows_loose_files_beside_the_layout),
		TEST(files_without_a_host),
		TEST(prefers_runs_with_a_graph),
		TEST(scans_what_it_is_told_to),
		TEST(says_why_nothing_was_found),
		TEST(takes_traces_and_answers),
		TEST(opens_torch_among_profiles),
		TEST(looks_into_some_files),
		TEST(takes_loose_answers),
		TEST(hands_event_files_to_runs),
		TEST(lists_event_files_without_profiles),
		TEST(lists_memory_snapshots),
		TEST(notices_empty_and_special_files),
		TEST(reports_directories_it_may_not_read),
		TEST(stays_inside),
		TEST(opens_nothing_outside),
		TEST(selects_hosts),
		TEST(joins_runs_of_one_recording),
		TEST(ends_in_loops),
		TEST(bounds_the_depth),
	};
	return RUN_TESTS(tests);
}
