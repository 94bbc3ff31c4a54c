/* test_sstrace_server.c - recording a program from outside: what callers get, and what they must not. */
#include "unit.h"

#include "capture/messages.h"
#include "rpc/grpc_client.h"
#include "ss_trace_server.h"
#include "wire/pb.h"
#include "wire/pb_out.h"

#include <ftw.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static char dir[64];
static bool working = true;
static pthread_t worker;

/* The program: a step about each millisecond. */
static void *work(void *arg)
{
	(void)arg;
	for (int i = 0; __atomic_load_n(&working, __ATOMIC_RELAXED); i++) {
		SS_TRACE_STEP("train", i);
		usleep(1000);
	}
	return NULL;
}

static int setup(void **state)
{
	(void)state;
	snprintf(dir, sizeof(dir), "/tmp/sstrace-server-XXXXXX");
	return mkdtemp(dir) && pthread_create(&worker, NULL, work, NULL) == 0 ? 0 : -1;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

static int teardown(void **state)
{
	(void)state;
	ss_trace_server_stop();
	__atomic_store_n(&working, false, __ATOMIC_RELAXED);
	pthread_join(worker, NULL);
	return nftw(dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static void serve(const char *logdir, const char *token)
{
	const struct ss_trace_server_options o = { .size = sizeof(o), .logdir = logdir, .token = token };
	ss_trace_server_stop();
	assert_true(ss_trace_server_start_with(&o));
	assert_true(ss_trace_server_port() > 0);
}

static struct ss_grpc_channel *channel(const char *token)
{
	static char target[32];
	struct ss_err err = { 0 };
	snprintf(target, sizeof(target), "127.0.0.1:%u", ss_trace_server_port());
	const struct ss_grpc_channel_config c = { .target = target, .token = token };
	struct ss_grpc_channel *ch = ss_grpc_channel_open(&c, &err);
	assert_non_null(ch);
	return ch;
}

static struct ss_grpc_status ask(const char *method, struct ss_str request, const char *token, struct ss_buf *reply)
{
	struct ss_grpc_status status = { 0 };
	struct ss_grpc_channel *ch = channel(token);
	const struct ss_grpc_call_config c = { .method = method, .request = request, .timeout_ns = 20000 * SS_NS_PER_MS };
	ss_grpc_unary(ch, &c, reply, &status);
	ss_grpc_channel_close(ch);
	return status;
}

struct request {
	const char *root, *session, *host;
	uint64_t ms;
	unsigned level;
	bool emit;
};

static struct ss_buf body_of(const struct request *r)
{
	struct ss_buf b = { 0 };
	struct ss_profile_options o = ss_profile_defaults;
	o.duration_ms = r->ms;
	o.host_level = r->level;
	const struct ss_profile_request p = { .options = &o, .repository_root = r->root ? r->root : "", .emit_xspace = r->emit,
					      .session_id = r->session ? r->session : "", .host_name = r->host ? r->host : "h" };
	ss_put_profile_request(&b, &p);
	return b;
}

static struct ss_grpc_status profile(const struct request *r, struct ss_buf *reply)
{
	struct ss_buf b = body_of(r);
	struct ss_grpc_status s = ask(SS_METHOD_PROFILE, ss_buf_get(&b), NULL, reply);
	ss_buf_free(&b);
	return s;
}

/* Field `number` of a reply; "" when it has none. */
static struct ss_str field(const struct ss_buf *reply, uint32_t number)
{
	struct ss_pb c = ss_pb_of(ss_buf_get(reply));
	struct ss_pb_field f;
	while (ss_pb_next(&c, &f))
		if (f.key == PB_LEN(number))
			return f.bytes;
	return SS_STR("");
}

static bool says_empty(const struct ss_buf *reply)
{
	struct ss_pb c = ss_pb_of(ss_buf_get(reply));
	struct ss_pb_field f;
	while (ss_pb_next(&c, &f))
		if (f.key == PB_VAR(PROFILE_RESPONSE_EMPTY_TRACE))
			return f.u != 0;
	return false;
}

static void is_code(struct ss_grpc_status s, enum ss_grpc_code code, const char *word)
{
	if (s.code != code || !strstr(s.text, word))
		fail_msg("%s: '%s', want %s with '%s'", ss_grpc_code_name(s.code), s.text, ss_grpc_code_name(code), word);
}

static void sends_the_profile(void **state)
{
	struct ss_buf reply = { 0 };
	(void)state;
	serve(NULL, NULL);
	is_code(profile(&(struct request){ .ms = 60, .level = 2, .emit = true }, &reply), SS_GRPC_OK, "");
	struct ss_str xspace = field(&reply, PROFILE_RESPONSE_XSPACE);
	assert_true(xspace.n > 200);
	assert_true(ss_str_contains(xspace, SS_STR("train")));
	assert_false(says_empty(&reply));
	ss_buf_free(&reply);
	/* The next one works as well, and the folder of the first is gone: nothing but ours begins so. */
	is_code(profile(&(struct request){ .ms = 20, .level = 2, .emit = true }, &reply), SS_GRPC_OK, "");
	assert_true(field(&reply, PROFILE_RESPONSE_XSPACE).n > 100);
	ss_buf_free(&reply);
}

static void writes_where_it_is_told(void **state)
{
	struct ss_buf reply = { 0 };
	char path[256];
	struct stat st;
	(void)state;
	serve(dir, NULL);
	struct request r = { .root = dir, .session = "one", .host = "a:1", .ms = 30, .level = 2 };
	is_code(profile(&r, &reply), SS_GRPC_OK, "");
	snprintf(path, sizeof(path), "%s/one/a_1.xplane.pb", dir);
	assert_int_equal(stat(path, &st), 0);
	assert_true(st.st_size > 200);
	ss_buf_free(&reply);
	/* Not over what is there. */
	is_code(profile(&r, &reply), SS_GRPC_INTERNAL, "exists");
	struct stat again;
	assert_int_equal(stat(path, &again), 0);
	assert_int_equal(again.st_size, st.st_size);
	ss_buf_free(&reply);
}

static void writes_nowhere_else(void **state)
{
	struct ss_buf reply = { 0 };
	char out[128], beside[128];
	(void)state;
	serve(dir, NULL);
	snprintf(out, sizeof(out), "%s/../outside", dir);
	snprintf(beside, sizeof(beside), "%sx", dir);
	const struct {
		const char *root, *session, *host;
		enum ss_grpc_code code;
		const char *word;
	} cases[] = {
		{ "/tmp", "s", "h", SS_GRPC_PERMISSION_DENIED, dir },
		{ out, "s", "h", SS_GRPC_PERMISSION_DENIED, dir },
		{ beside, "s", "h", SS_GRPC_PERMISSION_DENIED, dir },
		{ "relative", "s", "h", SS_GRPC_INVALID_ARGUMENT, "absolute" },
		{ "", "s", "h", SS_GRPC_INVALID_ARGUMENT, "absolute" },
		{ dir, "..", "h", SS_GRPC_INVALID_ARGUMENT, "names" },
		{ dir, "a/b", "h", SS_GRPC_INVALID_ARGUMENT, "names" },
		{ dir, "", "h", SS_GRPC_INVALID_ARGUMENT, "names" },
		{ dir, "s", "../h", SS_GRPC_INVALID_ARGUMENT, "names" },
	};
	for (size_t i = 0; i < SS_COUNT(cases); i++) {
		struct request r = { cases[i].root, cases[i].session, cases[i].host, 10, 2, false };
		is_code(profile(&r, &reply), cases[i].code, cases[i].word);
		ss_buf_free(&reply);
	}
}

static void bad_requests_are_refused(void **state)
{
	struct ss_buf reply = { 0 }, text = { 0 };
	char name[5000];
	(void)state;
	serve(NULL, NULL);
	is_code(profile(&(struct request){ .ms = 0, .level = 2, .emit = true }, &reply), SS_GRPC_INVALID_ARGUMENT, "duration_ms");
	is_code(profile(&(struct request){ .ms = UINT64_MAX, .level = 2, .emit = true }, &reply), SS_GRPC_INVALID_ARGUMENT, "day");
	memset(name, 'n', sizeof(name));
	ss_pbo_bytes(&text, PROFILE_REQUEST_SESSION_ID, (struct ss_str){ name, sizeof(name) });
	is_code(ask(SS_METHOD_PROFILE, ss_buf_get(&text), NULL, &reply), SS_GRPC_INVALID_ARGUMENT, "too long");
	is_code(ask(SS_METHOD_PROFILE, SS_STR("\x0a\xff\xff\xff\x0f"), NULL, &reply), SS_GRPC_INVALID_ARGUMENT, "malformed");
	is_code(ask(SS_METHOD_TERMINATE, SS_STR(""), NULL, &reply), SS_GRPC_NOT_FOUND, "session");
	is_code(ask(SS_METHOD_GET_SNAPSHOT, SS_STR(""), NULL, &reply), SS_GRPC_NOT_FOUND, "not running");
	is_code(ask(SS_METHOD_STOP_CONTINUOUS, SS_STR(""), NULL, &reply), SS_GRPC_NOT_FOUND, "not running");
	is_code(ask(SS_METHOD_MONITOR, SS_STR(""), NULL, &reply), SS_GRPC_UNIMPLEMENTED, "");
	ss_buf_free(&reply);
	ss_buf_free(&text);
}

static void nothing_traced_is_said(void **state)
{
	struct ss_buf reply = { 0 };
	(void)state;
	serve(NULL, NULL);
	is_code(profile(&(struct request){ .ms = 10, .level = 0, .emit = true }, &reply), SS_GRPC_OK, "");
	assert_true(says_empty(&reply));
	ss_buf_free(&reply);
}

static void one_recording_at_a_time(void **state)
{
	struct ss_buf reply = { 0 };
	struct ss_trace_options o = { .size = sizeof(o), .logdir = dir, .session = "own", .host = "h" };
	struct request r = { .ms = 10, .level = 2, .emit = true };
	(void)state;
	serve(NULL, NULL);
	assert_true(ss_trace_start(&o));
	is_code(profile(&r, &reply), SS_GRPC_ALREADY_EXISTS, "running");
	assert_non_null(ss_trace_stop());
	is_code(profile(&r, &reply), SS_GRPC_OK, "");
	ss_buf_free(&reply);
}

/* A capture of an hour, ended by another call; then one whose caller gives up. */
static void captures_end_early(void **state)
{
	struct ss_buf reply = { 0 }, end = { 0 }, body;
	struct ss_err err = { 0 };
	(void)state;
	serve(NULL, NULL);
	body = body_of(&(struct request){ .session = "long", .ms = 3600000, .level = 2, .emit = true });
	struct ss_grpc_channel *ch = channel(NULL);
	const struct ss_grpc_call_config c = { .method = SS_METHOD_PROFILE, .request = ss_buf_get(&body) };
	struct ss_grpc_call *call = ss_grpc_call_start(ch, &c, &err);
	assert_true(ss_grpc_run(&ch, 1, -1, ss_net_now_ns() + 200 * SS_NS_PER_MS, &err));
	assert_false(ss_grpc_call_ended(call));
	is_code(profile(&(struct request){ .ms = 10, .level = 2, .emit = true }, &reply), SS_GRPC_ALREADY_EXISTS, "another client");
	ss_pbo_bytes(&end, TERMINATE_REQUEST_SESSION_ID, SS_STR("another"));
	is_code(ask(SS_METHOD_TERMINATE, ss_buf_get(&end), NULL, &reply), SS_GRPC_NOT_FOUND, "another");
	ss_buf_free(&end);
	ss_pbo_bytes(&end, TERMINATE_REQUEST_SESSION_ID, SS_STR("long"));
	is_code(ask(SS_METHOD_TERMINATE, ss_buf_get(&end), NULL, &reply), SS_GRPC_OK, "");
	assert_true(ss_grpc_run(&ch, 1, -1, ss_net_now_ns() + 5000 * SS_NS_PER_MS, &err));
	assert_true(ss_grpc_call_ended(call));
	is_code(*ss_grpc_call_status(call), SS_GRPC_OK, "");
	assert_true(ss_str_contains(ss_grpc_call_reply(call), SS_STR("train")));
	ss_grpc_call_free(call);
	call = ss_grpc_call_start(ch, &c, &err);
	assert_true(ss_grpc_run(&ch, 1, -1, ss_net_now_ns() + 50 * SS_NS_PER_MS, &err));
	ss_grpc_call_cancel(call);
	assert_true(ss_grpc_run(&ch, 1, -1, ss_net_now_ns() + 50 * SS_NS_PER_MS, &err));
	ss_grpc_call_free(call);
	ss_grpc_channel_close(ch);
	struct ss_grpc_status s;
	for (int i = 0; i < 200; i++) {	/* until the server has seen it */
		s = profile(&(struct request){ .ms = 10, .level = 2, .emit = true }, &reply);
		if (s.code != SS_GRPC_ALREADY_EXISTS)
			break;
		usleep(10000);
	}
	is_code(s, SS_GRPC_OK, "");
	ss_buf_free(&reply);
	ss_buf_free(&end);
	ss_buf_free(&body);
}

static void snapshots_follow_each_other(void **state)
{
	struct ss_buf reply = { 0 };
	(void)state;
	serve(NULL, NULL);
	is_code(ask(SS_METHOD_START_CONTINUOUS, SS_STR(""), NULL, &reply), SS_GRPC_OK, "");
	is_code(ask(SS_METHOD_START_CONTINUOUS, SS_STR(""), NULL, &reply), SS_GRPC_ALREADY_EXISTS, "");
	for (int i = 0; i < 2; i++) {
		usleep(30000);
		ss_buf_free(&reply);
		is_code(ask(SS_METHOD_GET_SNAPSHOT, SS_STR(""), NULL, &reply), SS_GRPC_OK, "");
		assert_true(ss_str_contains(field(&reply, PROFILE_RESPONSE_XSPACE), SS_STR("train")));
	}
	is_code(ask(SS_METHOD_STOP_CONTINUOUS, SS_STR(""), NULL, &reply), SS_GRPC_OK, "");
	is_code(ask(SS_METHOD_GET_SNAPSHOT, SS_STR(""), NULL, &reply), SS_GRPC_NOT_FOUND, "");
	is_code(ask(SS_METHOD_START_CONTINUOUS, SS_STR(""), NULL, &reply), SS_GRPC_OK, "");
	ss_trace_server_stop();	/* in the middle of one */
	assert_false(ss_trace_on(SS_TRACE_CRITICAL));
	ss_buf_free(&reply);
}

static void a_token_is_asked_for(void **state)
{
	struct ss_buf reply = { 0 };
	(void)state;
	serve(NULL, "secret");
	is_code(ask(SS_METHOD_GET_SNAPSHOT, SS_STR(""), NULL, &reply), SS_GRPC_UNAUTHENTICATED, "");
	is_code(ask(SS_METHOD_GET_SNAPSHOT, SS_STR(""), "wrong", &reply), SS_GRPC_UNAUTHENTICATED, "");
	is_code(ask(SS_METHOD_GET_SNAPSHOT, SS_STR(""), "secret", &reply), SS_GRPC_NOT_FOUND, "");
	ss_buf_free(&reply);
}

static void failures_say_why(void **state)
{
	(void)state;
	serve(NULL, NULL);
	assert_false(ss_trace_server_start(0));
	assert_non_null(strstr(ss_trace_server_error(), "already"));
	uint16_t port = ss_trace_server_port();
	ss_trace_server_stop();
	ss_trace_server_stop();
	assert_int_equal(ss_trace_server_port(), 0);
	struct ss_trace_server_options o = { .size = sizeof(o), .logdir = "relative" };
	assert_false(ss_trace_server_start_with(&o));
	assert_non_null(strstr(ss_trace_server_error(), "relative"));
	o = (struct ss_trace_server_options){ .size = sizeof(o), .bind = "0.0.0.0" };
	assert_false(ss_trace_server_start_with(&o));
	assert_non_null(strstr(ss_trace_server_error(), "a token is required"));
	o.open = true;
	assert_true(ss_trace_server_start_with(&o));
	ss_trace_server_stop();
	o = (struct ss_trace_server_options){ .size = sizeof(o), .bind = "0.0.0.0", .token = "t" };
	assert_true(ss_trace_server_start_with(&o));
	ss_trace_server_stop();
	o = (struct ss_trace_server_options){ .size = sizeof(o), .bind = "no address" };
	assert_false(ss_trace_server_start_with(&o));
	assert_true(ss_trace_server_error()[0]);
	assert_true(ss_trace_server_start(port));	/* the port is free again */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sends_the_profile),
		cmocka_unit_test(writes_where_it_is_told),
		cmocka_unit_test(writes_nowhere_else),
		cmocka_unit_test(bad_requests_are_refused),
		cmocka_unit_test(nothing_traced_is_said),
		cmocka_unit_test(one_recording_at_a_time),
		cmocka_unit_test(captures_end_early),
		cmocka_unit_test(snapshots_follow_each_other),
		cmocka_unit_test(a_token_is_asked_for),
		cmocka_unit_test(failures_say_why),
	};
	return cmocka_run_group_tests(tests, setup, teardown);
}
