/* test_fetcher.c - the process that fetches for a server does what the server may ask for, and nothing else. */
#include "unit/unit.h"

#include "base/provide.h"
#include "base/write.h"
#include "location/fetcher_wire.h"
#include "location/tree_files.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define LISTED "plugins/profile/run/a.xplane.pb"

static bool list_one(struct ss_bucket *b, struct ss_str prefix, struct ss_str from, struct ss_arena *arena, struct ss_page *page,
		     struct ss_err *err)
{
	const struct ss_object o = { SS_STR("l/" LISTED), SS_STR("t"), 100, 1000000000 };
	(void)b, (void)prefix, (void)from, (void)arena;
	*page = (struct ss_page){ .next = SS_STR("") };
	return ss_vec_push(&page->v, o) || ss_fail_mem(err);
}

/* Nothing may be asked for there: a request would be counted. */
static struct ss_str url_of(struct ss_bucket *b, struct ss_str key, struct ss_str tag, struct ss_arena *arena)
{
	(void)b, (void)tag;
	return ss_arena_printf(arena, "http://127.0.0.1:1/" SS_FMT, SS_ARG(key));
}

static bool no_auth(struct ss_bucket *b, struct ss_auth *auth, struct ss_arena *arena, struct ss_err *err)
{
	(void)auth, (void)arena;
	b->requests++;
	return ss_fail(err, SS_EIO, "no credentials");
}

static bool never(struct ss_bucket *b)
{
	(void)b;
	return false;
}

static const struct ss_bucket_kind kind = {
	.scheme = SS_STR_INIT("s3://"), .list = list_one, .url = url_of, .auth = no_auth, .again = never, .tagged = true,
};

static void tell(struct ss_str text)
{
	(void)text;
}

struct other {
	char cache[32];
	struct ss_location place;
	struct ss_tree *t;
	int fd;
	pid_t pid;
};

static void start(struct other *o)
{
	int ends[2];
	struct ss_err err = { 0 };
	struct ss_bucket *b = calloc(1, sizeof(*b));
	assert_non_null(b);
	memcpy(o->cache, "/tmp/fetcher-XXXXXX", 20);
	assert_non_null(mkdtemp(o->cache));
	setenv("STEPSCOPE_CACHE", o->cache, 1);
	b->kind = &kind;
	b->named = SS_STR("s3://b/l");
	b->name = SS_STR("b");
	b->path = SS_STR("l");
	pthread_mutex_init(&b->lock, NULL);
	o->place = ss_location_plain("s3://b/l");
	assert_true(ss_tree_open(&o->t, b, &o->place, &err));
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	o->pid = fork();
	if (o->pid == 0) {
		close(ends[0]);
		ss_fetcher_run(o->t, ends[1], tell);
	}
	close(ends[1]);
	o->fd = ends[0];
}

/* It has ended by itself, and taken its directory away. */
static void has_ended(struct other *o)
{
	int status;
	char c;
	assert_false(ss_fetch_read(o->fd, &c, 1));
	assert_int_equal(waitpid(o->pid, &status, 0), o->pid);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	assert_int_not_equal(access(ss_tree_path(o->t), F_OK), 0);
	close(o->fd);
	ss_tree_close(o->t);
	ss_location_close(&o->place);
	char command[64];
	snprintf(command, sizeof(command), "rm -r %s", o->cache);
	assert_int_equal(system(command), 0);
}

static struct ss_fetch_answer ask(struct other *o, uint32_t id, const char *path)
{
	struct ss_fetch_question q = { id, (uint32_t)strlen(path), SS_WHOLE_FILE };
	struct ss_fetch_answer a;
	char text[1000];
	assert_true(ss_write_all(o->fd, &q, sizeof(q)) && ss_write_all(o->fd, path, q.n));
	assert_true(ss_fetch_read(o->fd, &a, sizeof(a)) && a.n < sizeof(text) && ss_fetch_read(o->fd, text, a.n));
	assert_int_equal(a.id, id);
	return a;
}

static void takes_names_of_its_list_alone(void **state)
{
	static const char *const others[] = { "../../../../etc/passwd", "/etc/passwd", "plugins/profile/run/b.xplane.pb", "..",
					      "./" LISTED, LISTED "/", "plugins", "l/" LISTED };
	struct other o;
	(void)state;
	start(&o);
	for (size_t i = 0; i < SS_COUNT(others); i++)
		assert_int_equal(ask(&o, (uint32_t)i, others[i]).cost.requests, 0);
	struct ss_fetch_answer a = ask(&o, 100, "");
	assert_true(!a.code && a.cost.requests == 0 && a.cost.nlists == 1 && a.cost.nshown == 1);
	a = ask(&o, 101, LISTED);
	assert_true(a.code == SS_EIO && a.cost.requests == 1);
	shutdown(o.fd, SHUT_WR);
	has_ended(&o);
}

static void ends_at_what_makes_no_sense(void **state)
{
	static const struct ss_fetch_question bad[] = { { 1, SS_FETCH_PATH_BYTES, 1 }, { 1, UINT32_MAX, 1 }, { 1, 4, 1 } };
	(void)state;
	for (size_t i = 0; i < SS_COUNT(bad); i++) {
		struct other o;
		start(&o);
		/* Behind the last one: a name with a zero in it. */
		assert_true(ss_write_all(o.fd, &bad[i], sizeof(bad[i])) && ss_write_all(o.fd, "a\0bc", 4));
		has_ended(&o);
	}
}

/* Holes are known as such, and what replaces one is another file. */
static void tells_what_is_there(void **state)
{
	static const struct {
		mode_t mode;
		uint64_t bytes;
		bool there;
	} cases[] = {
		{ 0600, SS_WHOLE_FILE, true },	 { 0644, SS_WHOLE_FILE, true },	  { 0700, 1, false },
		{ 0710, SS_TREE_HEAD, true },	 { 0710, SS_TREE_HEAD + 1, false }, { 0711, SS_TREE_BEGIN, true },
		{ 0711, SS_TREE_BEGIN + 1, false }, { 0710, SS_WHOLE_FILE, false }, { 0711, SS_WHOLE_FILE, false },
	};
	(void)state;
	for (size_t i = 0; i < SS_COUNT(cases); i++) {
		const struct stat st = { .st_mode = S_IFREG | cases[i].mode };
		assert_int_equal(ss_tree_has(&st, cases[i].bytes), cases[i].there);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(takes_names_of_its_list_alone),
		cmocka_unit_test(ends_at_what_makes_no_sense),
		cmocka_unit_test(tells_what_is_there),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
