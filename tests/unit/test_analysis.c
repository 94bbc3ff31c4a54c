/* test_analysis.c - ProfileAnalysis over gRPC: sessions, answers of tools, and taking a profile. */
#include "capture/requests.h"
#include "rpc/grpc_server.h"
#include "serve/server.h"

#include "unit.h"
#include "wire/pb.h"
#include "wire/pb_out.h"

#include <ftw.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#define PROFILES SS_TEST_DATA "/profiles"

static struct ss_server *serve(const char *logdir, bool capture, char target[64])
{
	struct ss_err err = { 0 };
	const struct ss_server_config config = { .logdir = logdir, .grpc = true, .allow_capture = capture,
						 .memory_bytes = 1 << 28 };
	struct ss_server *s = ss_server_start(&config, &err);
	if (!s)
		fail_msg("%s", err.text);
	snprintf(target, 64, "127.0.0.1:%u", ss_server_grpc_port(s));
	return s;
}

static bool call(const char *target, const char *method, const struct ss_buf *request, struct ss_buf *reply,
		 struct ss_grpc_status *st)
{
	struct ss_err err = { 0 };
	struct ss_grpc_channel *ch = ss_grpc_channel_open(&(struct ss_grpc_channel_config){ .target = target }, &err);
	assert_non_null(ch);
	bool ok = ss_grpc_unary(ch, &(struct ss_grpc_call_config){ .method = method, .request = ss_buf_get(request),
								   .timeout_ns = 60000000000 }, reply, st);
	ss_grpc_channel_close(ch);
	return ok;
}

/* A bytes field of a reply, the last of its number. */
static struct ss_str field(const struct ss_buf *reply, uint32_t number)
{
	struct ss_pb c = ss_pb_of(ss_buf_get(reply));
	struct ss_pb_field f;
	struct ss_str found = SS_STR("");
	while (ss_pb_next(&c, &f))
		if (f.key == PB_LEN(number))
			found = f.bytes;
	assert_false(c.bad);
	return found;
}

static void sessions(void **state)
{
	char target[64];
	struct ss_server *s = serve(PROFILES "/synth_tpu1", false, target);
	struct ss_buf request = { 0 }, reply = { 0 };
	struct ss_grpc_status st;
	(void)state;
	assert_true(call(target, SS_METHOD_ENUM_SESSIONS, &request, &reply, &st));
	struct ss_str session = field(&reply, 2);
	assert_true(ss_str_contains(session, SS_STR("run")));
	assert_true(ss_str_contains(session, SS_STR("overview_page")));
	/* A directory that is not ours. */
	ss_pbo_bytes(&request, 1, SS_STR("/etc"));
	reply.n = 0;
	assert_true(call(target, SS_METHOD_ENUM_SESSIONS, &request, &reply, &st));
	assert_true(ss_str_contains(field(&reply, 1), SS_STR("not a directory of this log directory")));
	request.n = 0;
	ss_buf_lit(&request, "\x0a\x7f");
	assert_false(call(target, SS_METHOD_ENUM_SESSIONS, &request, &reply, &st));
	assert_int_equal(st.code, SS_GRPC_INVALID_ARGUMENT);
	ss_buf_free(&request);
	ss_buf_free(&reply);
	ss_server_stop(s);
}

static void put_parameter(struct ss_buf *out, const char *key, const char *value)
{
	struct ss_buf b = { 0 };
	ss_pbo_bytes(&b, 1, ss_str_from(key));
	ss_pbo_bytes(&b, 2, ss_str_from(value));
	ss_pbo_bytes(out, 4, ss_buf_get(&b));
	ss_buf_free(&b);
}

static void tool_data(void **state)
{
	char target[64];
	struct ss_server *s = serve(PROFILES "/synth_tpu1", false, target);
	struct ss_buf request = { 0 }, reply = { 0 };
	struct ss_grpc_status st;
	(void)state;
	ss_pbo_bytes(&request, 2, SS_STR("run"));
	ss_pbo_bytes(&request, 3, SS_STR("overview_page"));
	ss_pbo_bytes(&request, 5, SS_STR("host0"));
	assert_true(call(target, SS_METHOD_SESSION_TOOL_DATA, &request, &reply, &st));
	assert_str(field(&reply, 1), "");
	assert_str(field(&reply, 2), "json");
	assert_true(ss_str_starts(field(&reply, 3), SS_STR("[{")));
	/* The streaming trace viewer of old. */
	request.n = reply.n = 0;
	ss_pbo_bytes(&request, 2, SS_STR("run"));
	ss_pbo_bytes(&request, 3, SS_STR("trace_viewer@"));
	ss_pbo_bytes(&request, 5, SS_STR("host0"));
	put_parameter(&request, "resolution", "1000");
	put_parameter(&request, "start_time_ms", "0");
	put_parameter(&request, "end_time_ms", "100");
	assert_true(call(target, SS_METHOD_SESSION_TOOL_DATA, &request, &reply, &st));
	assert_true(ss_str_contains(field(&reply, 3), SS_STR("traceEvents")));
	request.n = reply.n = 0;
	ss_pbo_bytes(&request, 2, SS_STR("no such run"));
	ss_pbo_bytes(&request, 3, SS_STR("overview_page"));
	assert_true(call(target, SS_METHOD_SESSION_TOOL_DATA, &request, &reply, &st));
	assert_true(ss_str_contains(field(&reply, 1), SS_STR("no such run")));
	ss_buf_free(&request);
	ss_buf_free(&reply);
	ss_server_stop(s);
}

static void profile(void *arg, const struct ss_grpc_asked *asked, struct ss_grpc_answer *answer)
{
	(void)arg;
	(void)asked;
	ss_pbo_bytes(&answer->body, PROFILE_RESPONSE_XSPACE, SS_STR("\x0a\x02\x08\x01"));
}

static int remove_one(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
	(void)st;
	(void)flag;
	(void)ftw;
	return remove(path);
}

static void new_session(void **state)
{
	char target[64], program[64], logdir[] = "/tmp/ss_analysis_XXXXXX", path[400], root[256];
	const struct ss_grpc_method method = { SS_METHOD_PROFILE, profile, NULL };
	struct ss_err err = { 0 };
	struct ss_grpc_status st = { 0 };
	struct stat file;
	(void)state;
	assert_non_null(mkdtemp(logdir));
	struct ss_grpc_server *p = ss_grpc_server_start(&(struct ss_grpc_server_config){ .methods = &method, .nmethods = 1 }, &err);
	snprintf(program, sizeof(program), "127.0.0.1:%u", ss_grpc_server_port(p));
	snprintf(root, sizeof(root), "%s/plugins/profile", logdir);
	struct ss_server *s = serve(logdir, true, target);
	const struct ss_peer peer = { .target = target, .timeout_ns = 20000000000 };
	struct ss_new_session n = { .request = { .options = &ss_profile_defaults, .repository_root = root, .session_id = "r" },
				    .workers = program };
	assert_true(ss_request_new_session(&peer, &n, &st));
	assert_false(n.empty_trace);
	snprintf(path, sizeof(path), "%s/r/127.0.0.1_%u.xplane.pb", root, ss_grpc_server_port(p));
	assert_int_equal(stat(path, &file), 0);
	/* Again, and elsewhere. */
	assert_false(ss_request_new_session(&peer, &n, &st));
	assert_non_null(strstr(st.text, "already"));
	n.request.repository_root = "/tmp/elsewhere";
	assert_false(ss_request_new_session(&peer, &n, &st));
	assert_non_null(strstr(st.text, "its own log directory"));
	ss_server_stop(s);
	s = serve(logdir, false, target);
	assert_false(ss_request_new_session(&peer, &n, &st));
	assert_int_equal(st.code, SS_GRPC_PERMISSION_DENIED);
	ss_server_stop(s);
	ss_grpc_server_stop(p, 0);
	nftw(logdir, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static void other_addresses(void **state)
{
	(void)state;
	struct ss_server_config config = { .logdir = PROFILES, .bind = "0.0.0.0", .open = true, .grpc = true };
	assert_fails(ss_server_start(&config, &err), SS_EINVAL);
	config = (struct ss_server_config){ .logdir = PROFILES, .bind = "0.0.0.0" };
	assert_fails(ss_server_start(&config, &err), SS_EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(sessions), cmocka_unit_test(tool_data), cmocka_unit_test(new_session),
					    cmocka_unit_test(other_addresses) };
	return RUN_TESTS(tests);
}
