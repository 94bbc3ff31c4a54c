/* test_capture.c - taking profiles, with our own gRPC server as the program that is profiled. */
#include "capture/capture.h"

#include "rpc/grpc_server.h"
#include "unit.h"
#include "wire/pb.h"
#include "wire/pb_out.h"

#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- a scratch directory ---- */

static char scratch[64];

static int rm_one(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
	(void)st;
	(void)flag;
	(void)ftw;
	return remove(path);
}

static int make_scratch(void **state)
{
	(void)state;
	strcpy(scratch, "/tmp/ss_capture_XXXXXX");
	return mkdtemp(scratch) ? 0 : -1;
}

static int drop_scratch(void **state)
{
	(void)state;
	return nftw(scratch, rm_one, 8, FTW_DEPTH | FTW_PHYS);
}

static int is_file(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
	(void)path;
	(void)st;
	(void)ftw;
	return flag == FTW_F;
}

/* Does any file or directory stand below scratch/name? */
static bool anything(const char *name)
{
	char path[128];
	struct stat st;
	snprintf(path, sizeof(path), "%s/%s", scratch, name);
	return stat(path, &st) == 0;
}

static struct ss_str read_whole(const char *path, char *buf, size_t cap)
{
	FILE *f = fopen(path, "rb");
	assert_non_null(f);
	size_t n = fread(buf, 1, cap, f);
	fclose(f);
	return (struct ss_str){ buf, n };
}

/* ---- replies in pieces ---- */

static void put_tool(struct ss_buf *out, const char *name, const char *data, bool name_last)
{
	struct ss_buf b = { 0 };
	if (!name_last)
		ss_pbo_bytes(&b, TOOL_DATA_NAME, ss_str_from(name));
	ss_pbo_bytes(&b, TOOL_DATA_DATA, ss_str_from(data));
	if (name_last)
		ss_pbo_bytes(&b, TOOL_DATA_NAME, ss_str_from(name));
	ss_pbo_bytes(out, PROFILE_RESPONSE_TOOL_DATA, ss_buf_get(&b));
	ss_buf_free(&b);
}

/* A plane of nine bytes. */
#define XSPACE "\x0a\x09" "an xspace"

/* The same bytes, cut at every place into two pieces, give the same files. */
static void any_cut(void **state)
{
	struct ss_buf b = { 0 };
	(void)state;
	put_tool(&b, "op_profile.json", "{}", false);
	ss_pbo_uint(&b, 99, 300);
	ss_pbo_fixed64(&b, 98, 7);
	ss_pbo_bytes(&b, PROFILE_RESPONSE_XSPACE, SS_STR("\x0a\x05" "abc"));
	put_tool(&b, "overview_page.json", "[1]", true);
	put_tool(&b, "x.tf_stats_helper_result", "no", true);
	ss_pbo_bytes(&b, PROFILE_RESPONSE_XSPACE, SS_STR("de\x12\x01" "f"));
	ss_pbo_bytes(&b, PROFILE_RESPONSE_ENCODED_TRACE, SS_STR("old"));
	ss_pbo_uint(&b, PROFILE_RESPONSE_EMPTY_TRACE, 0);
	for (size_t cut = 0; cut <= b.n; cut++) {
		struct ss_run_dir d;
		struct ss_reply r;
		char run[32], path[512], text[64];
		snprintf(run, sizeof(run), "run%zu", cut);
		assert_ok(ss_run_dir_make(&d, scratch, run, &err));
		ss_reply_init(&r, &d, "host_1");
		assert_ok(ss_reply_take(&r, ss_str_sub(ss_buf_get(&b), 0, cut), b.n, &err));
		assert_ok(ss_reply_take(&r, ss_str_sub(ss_buf_get(&b), cut, b.n), b.n, &err));
		assert_ok(ss_reply_finish(&r, &err));
		assert_int_equal(r.kept.n, 4);
		assert_false(r.empty_trace);
		snprintf(path, sizeof(path), "%s/host_1.xplane.pb", d.path.p);
		assert_str(read_whole(path, text, sizeof(text)), "\x0a\x05" "abcde\x12\x01" "f");
		snprintf(path, sizeof(path), "%s/host_1.trace", d.path.p);
		assert_str(read_whole(path, text, sizeof(text)), "old");
		snprintf(path, sizeof(path), "%s/host_1.overview_page.json", d.path.p);
		assert_str(read_whole(path, text, sizeof(text)), "[1]");
		ss_reply_release(&r);
		ss_run_dir_release(&d);
	}
	ss_buf_free(&b);
}

/* A message that ends too early, or is none, leaves nothing behind. */
static void bad_replies(void **state)
{
	struct ss_buf b = { 0 };
	static const struct ss_str bad[] = {
		SS_STR_INIT("\x42\x05" "abc"),		/* XSpace cut short */
		SS_STR_INIT("\x32\x05\x0a\x09" "abc"),	/* a name longer than its message */
		SS_STR_INIT("\x32\x06\x12\x01x\x0a\x01/"),	/* a name that leads elsewhere */
		SS_STR_INIT("\x32\x0d\x12\x01x\x0a\x08../../zz"),
		SS_STR_INIT("\x32\x07\x12\x01x\x0a\x02.x"),
		SS_STR_INIT("\x07"),
		SS_STR_INIT("\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01"),
		SS_STR_INIT("\x32\x02\x09\x00\x00\x00\x00\x00\x00\x00\x00"),
		SS_STR_INIT("\x42\x80"),
		SS_STR_INIT("\x42\x09" "an xspace"),	/* what is no XSpace */
		SS_STR_INIT("\x42\x05\x0a\x01x\x0a\x02"),	/* one that is cut short */
		SS_STR_INIT("\x32\x08\x12\x01x\x0a\x03" "a\0b"),	/* a name that says another one */
	};
	(void)state;
	for (size_t i = 0; i < SS_COUNT(bad); i++) {
		struct ss_run_dir d;
		struct ss_reply r;
		struct ss_err err = { 0 };
		if (!ss_run_dir_make(&d, scratch, "bad", &err))
			fail_msg("%s", err.text);
		ss_reply_init(&r, &d, "h");
		bool ok = ss_reply_take(&r, bad[i], bad[i].n, &err) && ss_reply_finish(&r, &err);
		if (ok || err.code != SS_EFORMAT)
			fail_msg("row %zu was taken: %s", i, err.text);
		ss_reply_release(&r);
		ss_run_dir_release(&d);
		assert_false(anything("plugins"));
	}
	ss_buf_free(&b);
}

/* A file that was whole before the answer turned out to be worth nothing goes with it. */
static void undone_replies(void **state)
{
	const struct ss_str reply = SS_STR("\x32\x06\x12\x01x\x0a\x01" "a\x42\x03" "abc");
	struct ss_run_dir d;
	struct ss_reply r;
	(void)state;
	assert_ok(ss_run_dir_make(&d, scratch, "bad", &err));
	ss_reply_init(&r, &d, "h");
	assert_ok(ss_reply_take(&r, reply, reply.n, &err));
	assert_int_equal(r.kept.n, 1);
	assert_fails(ss_reply_finish(&r, &err), SS_EFORMAT);
	ss_reply_undo(&r);
	ss_run_dir_release(&d);
	assert_false(anything("plugins"));
}

/* What is written to the disk, in this order: the C library's is hidden by this one. */
static char synced[16][512];
static size_t nsynced;

int fsync(int fd)
{
	char link[64];
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	ssize_t n = nsynced < SS_COUNT(synced) ? readlink(link, synced[nsynced], sizeof(synced[0]) - 1) : -1;
	if (n > 0)
		synced[nsynced++][n] = '\0';
	return 0;
}

/*
 * A profile is on the disk with its name, and with the names of the directories that were made for
 * it.
 */
static void names_are_on_the_disk(void **state)
{
	static const char *const dirs[] = { "/a/b/plugins/profile/run", "/a/b/plugins/profile", "/a/b/plugins", "/a/b", "/a", "" };
	struct ss_run_dir d;
	struct ss_new_file f;
	char logdir[300], real[PATH_MAX], want[PATH_MAX + 100];
	(void)state;
	assert_non_null(realpath(scratch, real));
	snprintf(logdir, sizeof(logdir), "%s/a/b", scratch);
	for (int second = 0; second < 2; second++) {
		assert_ok(ss_run_dir_make(&d, logdir, "run", &err));
		assert_ok(ss_new_file_open(&f, &d, &err));
		assert_ok(ss_new_file_write(&f, SS_STR("abc"), &err));
		nsynced = 0;
		assert_ok(ss_new_file_keep(&f, &d, second ? "two" : "one", &err));
		assert_int_equal(nsynced, second ? 2 : 7);	/* the file before its name, then directories */
		const char *made = strstr(synced[0], "/run/");
		assert_true(made && strcmp(made, second ? "/run/two" : "/run/one") != 0);
		for (size_t i = 1; i < nsynced; i++) {
			snprintf(want, sizeof(want), "%s%s", real, dirs[i - 1]);
			assert_string_equal(synced[i], want);
		}
		ss_run_dir_release(&d);
	}
}

/* ---- a program that is profiled ---- */

enum mode { SEND, TOOLS, WRITE, NOTHING, EMPTY, REFUSE, HANG, ONCE_EMPTY, RUBBISH };

struct program {
	enum mode mode;
	unsigned asked;
	uint64_t start_unix_ns, duration_ms;
	uint32_t host_level, python_level;
	char advanced[256];
	char root[256], session[64], name[64];
};

static void copy(char *out, size_t cap, struct ss_str s)
{
	snprintf(out, cap, SS_FMT, SS_ARG(s));
}

/* An entry of advanced_configuration in words. */
static void read_advanced(struct program *p, struct ss_str entry)
{
	struct ss_pb c = ss_pb_of(entry), v = { 0 };
	struct ss_pb_field f;
	struct ss_str name = SS_STR("");
	size_t n = strlen(p->advanced);
	while (ss_pb_next(&c, &f))
		if (f.key == PB_LEN(1))
			name = f.bytes;
		else if (f.key == PB_LEN(2))
			v = ss_pb_of(f.bytes);
	assert_true(ss_pb_next(&v, &f));
	if (f.key == PB_LEN(ADVANCED_STRING_VALUE))
		snprintf(p->advanced + n, sizeof(p->advanced) - n, SS_FMT ": text " SS_FMT ", ", SS_ARG(name), SS_ARG(f.bytes));
	else
		snprintf(p->advanced + n, sizeof(p->advanced) - n, SS_FMT ": %s %lld, ", SS_ARG(name),
			 f.key == PB_VAR(ADVANCED_BOOL_VALUE) ? "bool" : "number", (long long)f.u);
	assert_false(ss_pb_next(&v, &f));
}

static void read_request(struct program *p, struct ss_str request)
{
	struct ss_pb c = ss_pb_of(request), o = { 0 };
	struct ss_pb_field f;
	while (ss_pb_next(&c, &f))
		switch (f.key) {
		case PB_LEN(PROFILE_REQUEST_OPTS):
			o = ss_pb_of(f.bytes);
			break;
		case PB_LEN(PROFILE_REQUEST_REPOSITORY_ROOT):
			copy(p->root, sizeof(p->root), f.bytes);
			break;
		case PB_LEN(PROFILE_REQUEST_SESSION_ID):
			copy(p->session, sizeof(p->session), f.bytes);
			break;
		case PB_LEN(PROFILE_REQUEST_HOST_NAME):
			copy(p->name, sizeof(p->name), f.bytes);
			break;
		}
	assert_false(c.bad);
	while (ss_pb_next(&o, &f))
		switch (f.key) {
		case PB_VAR(PROFILE_OPTIONS_START_TIMESTAMP_NS):
			p->start_unix_ns = f.u;
			break;
		case PB_VAR(PROFILE_OPTIONS_DURATION_MS):
			p->duration_ms = f.u;
			break;
		case PB_LEN(PROFILE_OPTIONS_ADVANCED):
			read_advanced(p, f.bytes);
			break;
		case PB_VAR(PROFILE_OPTIONS_HOST_TRACER_LEVEL):
			p->host_level = (uint32_t)f.u;
			break;
		case PB_VAR(PROFILE_OPTIONS_PYTHON_TRACER_LEVEL):
			p->python_level = (uint32_t)f.u;
			break;
		}
	assert_false(o.bad);
}

static void write_itself(const struct program *p)
{
	struct ss_arena a = { 0 };
	char path[1024];
	snprintf(path, sizeof(path), "%s/%s/%s.xplane.pb", p->root, p->session, ss_host_file_stem(&a, p->name).p);
	FILE *f = fopen(path, "wb");
	if (f) {
		fputs("theirs", f);
		fclose(f);
	}
	ss_arena_release(&a);
}

static void profile(void *arg, const struct ss_grpc_asked *asked, struct ss_grpc_answer *answer)
{
	struct program *p = arg;
	p->asked++;
	read_request(p, asked->request);
	enum mode mode = p->mode == ONCE_EMPTY ? p->asked == 1 ? EMPTY : SEND : p->mode;
	switch (mode) {
	case SEND:
		ss_pbo_bytes(&answer->body, PROFILE_RESPONSE_XSPACE, SS_STR(XSPACE));
		break;
	case TOOLS:
		put_tool(&answer->body, "xplane.pb", "old", false);
		break;
	case WRITE:
		write_itself(p);
		break;
	case EMPTY:
		ss_pbo_uint(&answer->body, PROFILE_RESPONSE_EMPTY_TRACE, 1);
		ss_pbo_bytes(&answer->body, PROFILE_RESPONSE_XSPACE, SS_STR("without events"));
		break;
	case REFUSE:
		ss_grpc_fail(&answer->status, SS_GRPC_INTERNAL, "another profiler is at work");
		break;
	case HANG:
		ss_grpc_asked_sleep(asked, 20000000000);
		break;
	case RUBBISH:
		ss_buf_lit(&answer->body, "\x42\x7f" "not as much as that");
		break;
	default:
		break;
	}
}

struct job {
	struct program p[3];
	struct ss_grpc_method methods[3];
	struct ss_grpc_server *servers[3];
	char targets[256];
	size_t n;
};

static void start_job(struct job *j, const enum mode *modes, size_t n)
{
	struct ss_err err = { 0 };
	*j = (struct job){ .n = n };
	for (size_t i = 0; i < n; i++) {
		j->p[i].mode = modes[i];
		j->methods[i] = (struct ss_grpc_method){ SS_METHOD_PROFILE, profile, &j->p[i] };
		j->servers[i] = ss_grpc_server_start(
			&(struct ss_grpc_server_config){ .methods = &j->methods[i], .nmethods = 1 }, &err);
		assert_non_null(j->servers[i]);
		size_t at = strlen(j->targets);
		snprintf(j->targets + at, sizeof(j->targets) - at, "%s127.0.0.1:%u", i ? "," : "",
			 ss_grpc_server_port(j->servers[i]));
	}
}

static void stop_job(struct job *j)
{
	for (size_t i = 0; i < j->n; i++)
		ss_grpc_server_stop(j->servers[i], 0);
}

static struct ss_capture_config ask(const struct job *j)
{
	return (struct ss_capture_config){ .targets = j->targets, .logdir = scratch, .run = "r", .options = ss_profile_defaults,
					   .wake_fd = -1 };
}

static void all_of_them(void **state)
{
	const enum mode modes[] = { SEND, TOOLS, WRITE };
	struct job j;
	struct ss_capture c;
	char path[512], text[64];
	(void)state;
	start_job(&j, modes, 3);
	struct ss_capture_config config = ask(&j);
	config.options = (struct ss_profile_options){ .duration_ms = 50, .host_level = 3, .device_level = 1, .python_level = 1,
						      .include_dataset_ops = true, .nadvanced = 5,
						      .advanced = { "mode=XLA", "ring=true", "n=7", "below=-1", "no=" } };
	assert_ok(ss_capture_run(&c, &config, &err));
	assert_int_equal(ss_capture_count(&c, SS_CAPTURE_KEPT), 3);
	static const char *const want[] = { XSPACE, "old", "theirs" };
	for (int i = 0; i < 3; i++) {
		snprintf(path, sizeof(path), "%s/" SS_FMT ".xplane.pb", c.dir.path.p, SS_ARG(c.hosts[i].stem));
		assert_str(read_whole(path, text, sizeof(text)), want[i]);
		assert_int_equal(j.p[i].duration_ms, 50);
		assert_int_equal(j.p[i].host_level, 3);
		assert_int_equal(j.p[i].python_level, 1);
		assert_string_equal(j.p[i].advanced, "mode: text XLA, ring: bool 1, n: number 7, below: number -1, no: text , ");
		assert_true(j.p[i].start_unix_ns == j.p[0].start_unix_ns && j.p[i].start_unix_ns);
	}
	assert_true(nftw(c.dir.path.p, is_file, 4, FTW_PHYS) == 1);
	ss_capture_release(&c);
	stop_job(&j);
}

static void some_of_them(void **state)
{
	const enum mode modes[] = { SEND, REFUSE, RUBBISH };
	struct job j;
	struct ss_capture c;
	(void)state;
	start_job(&j, modes, 3);
	struct ss_capture_config config = ask(&j);
	assert_ok(ss_capture_run(&c, &config, &err));
	assert_int_equal(c.hosts[0].end, SS_CAPTURE_KEPT);
	assert_int_equal(c.hosts[1].end, SS_CAPTURE_FAILED);
	assert_int_equal(c.hosts[1].status.code, SS_GRPC_INTERNAL);
	assert_string_equal(c.hosts[1].status.text, "another profiler is at work");
	assert_int_equal(c.hosts[2].end, SS_CAPTURE_FAILED);
	ss_capture_release(&c);
	/* The same run again: what is there stays. */
	assert_fails(ss_capture_run(&c, &config, &err), SS_EINVAL);
	ss_capture_release(&c);
	assert_true(anything("plugins/profile/r"));
	stop_job(&j);
}

static void none_of_them(void **state)
{
	static const struct {
		enum mode mode;
		enum ss_errcode code;
	} rows[] = { { EMPTY, SS_ENODATA }, { REFUSE, SS_EIO }, { RUBBISH, SS_EIO } };
	(void)state;
	for (size_t i = 0; i < SS_COUNT(rows); i++) {
		struct job j;
		struct ss_capture c;
		start_job(&j, &rows[i].mode, 1);
		struct ss_capture_config config = ask(&j);
		config.attempts = 2;
		assert_fails(ss_capture_run(&c, &config, &err), rows[i].code);
		assert_int_equal(j.p[0].asked, rows[i].mode == EMPTY ? 2 : 1);
		ss_capture_release(&c);
		/* Not even the directories. */
		assert_false(anything("plugins"));
		stop_job(&j);
	}
}

static void second_attempt(void **state)
{
	const enum mode mode = ONCE_EMPTY;
	struct job j;
	struct ss_capture c;
	(void)state;
	start_job(&j, &mode, 1);
	struct ss_capture_config config = ask(&j);
	config.attempts = 3;
	assert_ok(ss_capture_run(&c, &config, &err));
	assert_int_equal(c.attempt, 2);
	ss_capture_release(&c);
	stop_job(&j);
}

static void written_elsewhere(void **state)
{
	const enum mode mode = NOTHING;
	struct job j;
	struct ss_capture c;
	(void)state;
	start_job(&j, &mode, 1);
	struct ss_capture_config config = ask(&j);
	config.mode = SS_CAPTURE_WRITE;
	assert_ok(ss_capture_run(&c, &config, &err));
	assert_int_equal(c.hosts[0].end, SS_CAPTURE_ELSEWHERE);
	ss_capture_release(&c);
	config.logdir = "gs://bucket/logs";
	assert_ok(ss_capture_run(&c, &config, &err));
	assert_string_equal(j.p[0].root, "gs://bucket/logs/plugins/profile");
	ss_capture_release(&c);
	stop_job(&j);
}

static void ended_early(void **state)
{
	const enum mode modes[] = { SEND, HANG };
	struct job j;
	struct ss_capture c;
	int fds[2];
	(void)state;
	start_job(&j, modes, 2);
	struct ss_capture_config config = ask(&j);
	config.timeout_ms = 200;
	assert_ok(ss_capture_run(&c, &config, &err));
	assert_int_equal(c.hosts[1].status.code, SS_GRPC_DEADLINE_EXCEEDED);
	ss_capture_release(&c);
	stop_job(&j);
	start_job(&j, modes + 1, 1);
	config = ask(&j);
	config.run = "r2";
	assert_int_equal(pipe(fds), 0);
	assert_int_equal(write(fds[1], "", 1), 1);
	config.wake_fd = fds[0];
	assert_fails(ss_capture_run(&c, &config, &err), SS_EBUSY);
	ss_capture_release(&c);
	assert_false(anything("plugins/profile/r2"));
	close(fds[0]);
	close(fds[1]);
	stop_job(&j);
}

static void misuse(void **state)
{
	static const struct {
		const char *targets, *logdir, *run;
		uint64_t duration_ms;
		enum ss_errcode code;
	} rows[] = {
		{ "localhost", "l", NULL, 1, SS_EINVAL },	   { "", "l", NULL, 1, SS_EINVAL },
		{ "a:1,a:1", "l", NULL, 1, SS_EINVAL },	   { "a:1,grpc://a:1", "l", NULL, 1, SS_EINVAL },
		{ "a:1", "l", "../up", 1, SS_EINVAL },	   { "a:1", "l", ".hidden", 1, SS_EINVAL },
		{ "a:1", "l", "", 1, SS_EINVAL },		   { "a:1", "l", NULL, 0, SS_EINVAL },
		{ "a:1", "", NULL, 1, SS_EINVAL },		   { "a:1", "/proc/nothing", NULL, 1, SS_EIO },
		{ "a:1", "/dev/null", NULL, 1, SS_EIO },
	};
	struct ss_capture c;
	(void)state;
	assert_int_equal(chdir(scratch), 0);
	for (size_t i = 0; i < SS_COUNT(rows); i++) {
		struct ss_capture_config config = { .targets = rows[i].targets, .logdir = rows[i].logdir, .run = rows[i].run,
						    .options = ss_profile_defaults, .wake_fd = -1 };
		config.options.duration_ms = rows[i].duration_ms;
		assert_fails(ss_capture_run(&c, &config, &err), rows[i].code);
		ss_capture_release(&c);
	}
	assert_false(anything("l"));
	assert_int_equal(chdir("/"), 0);
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, make_scratch, drop_scratch)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(any_cut),
		TEST(bad_replies),
		TEST(undone_replies),
		TEST(names_are_on_the_disk),
		TEST(all_of_them),
		TEST(some_of_them),
		TEST(none_of_them),
		TEST(second_attempt),
		TEST(written_elsewhere),
		TEST(ended_early),
		TEST(misuse),
	};
	return RUN_TESTS(tests);
}
