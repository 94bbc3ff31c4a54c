/*
 * fail_rpc.c - a gRPC call, and taking a profile, with every allocation of ours failing in turn.
 *
 * Client, server and handler run in threads of one process, so which of them the n-th allocation hits
 * is not always the same; over the sweep all are hit. Each time the outcome is an answer or a reason,
 * within the deadline, and afterwards all works again. That nothing leaks is the sanitizer's to say:
 * what the C library allocates for us is beyond the hook.
 */
#include "capture/requests.h"
#include "capture/capture.h"
#include "rpc/grpc_server.h"
#include "sweep/hook.h"
#include "wire/pb_out.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { MAX_COUNT = 3000 };

static void profile(void *arg, const struct ss_grpc_asked *asked, struct ss_grpc_answer *answer)
{
	(void)arg;
	(void)asked;
	ss_pbo_bytes(&answer->body, PROFILE_RESPONSE_XSPACE, SS_STR("an xspace"));
}

static void sessions(void *arg, const struct ss_grpc_asked *asked, struct ss_grpc_answer *answer)
{
	(void)arg;
	(void)asked;
	for (int i = 0; i < 3; i++)
		ss_pbo_bytes(&answer->body, ENUM_SESSIONS, SS_STR("\x0a\1r\x12\5first\x12\6second"));
}

static void tool_data(void *arg, const struct ss_grpc_asked *asked, struct ss_grpc_answer *answer)
{
	(void)arg;
	(void)asked;
	ss_pbo_bytes(&answer->body, DATA_OUTPUT_FORMAT, SS_STR("json"));
	ss_pbo_bytes(&answer->body, DATA_OUTPUT, SS_STR("[]"));
}

static const struct ss_grpc_method methods[] = {
	{ SS_METHOD_PROFILE, profile, NULL },
	{ SS_METHOD_ENUM_SESSIONS, sessions, NULL },
	{ SS_METHOD_SESSION_TOOL_DATA, tool_data, NULL },
};

/* Is it said when it fails? */
static bool one_call(const char **what)
{
	struct ss_err err = { 0 };
	struct ss_grpc_status st = { 0 };
	struct ss_buf reply = { 0 };
	char target[64];
	bool ok = false;
	*what = "server";
	struct ss_grpc_server *s =
		ss_grpc_server_start(&(struct ss_grpc_server_config){ .methods = methods, .nmethods = 1, .token = "t" }, &err);
	if (!s)
		return err.code;
	snprintf(target, sizeof(target), "127.0.0.1:%u", ss_grpc_server_port(s));
	*what = "channel";
	struct ss_grpc_channel *ch = ss_grpc_channel_open(&(struct ss_grpc_channel_config){ .target = target, .token = "t" }, &err);
	if (ch) {
		*what = "call";
		ok = ss_grpc_unary(ch, &(struct ss_grpc_call_config){ .method = SS_METHOD_PROFILE, .request = SS_STR("x"),
								      .timeout_ns = 3000000000 }, &reply, &st);
		ok = ok ? st.code == SS_GRPC_OK : st.code != SS_GRPC_OK && st.code != SS_GRPC_DEADLINE_EXCEEDED;
	} else {
		ok = err.code;
	}
	ss_grpc_channel_close(ch);
	ss_grpc_server_stop(s, 0);
	ss_buf_free(&reply);
	return ok;
}

/* The questions to ProfileAnalysis: right, or not answered. */
static bool one_question(const char **what)
{
	struct ss_err err = { 0 };
	struct ss_grpc_status st = { 0 };
	struct ss_arena arena = { 0 };
	struct ss_buf out = { 0 };
	struct ss_sessions v;
	char target[64], format[64];
	const char *const params[] = { "a=b" };
	*what = "sessions";
	struct ss_grpc_server *s =
		ss_grpc_server_start(&(struct ss_grpc_server_config){ .methods = methods, .nmethods = 3 }, &err);
	if (!s)
		return err.code;
	snprintf(target, sizeof(target), "127.0.0.1:%u", ss_grpc_server_port(s));
	const struct ss_peer peer = { .target = target, .timeout_ns = 3000000000 };
	bool ok = ss_request_sessions(&peer, "/x", &arena, &v, &st)
			  ? v.n == 3 && ss_str_is(v.v[2].id, "r") && ss_str_is(v.v[2].tools, "first, second")
			  : st.code != SS_GRPC_OK && st.code != SS_GRPC_DEADLINE_EXCEEDED;
	if (ok) {
		*what = "tool data";
		const struct ss_tool_question q = { .session = "r", .tool = "t", .params = params, .nparams = 1 };
		ok = ss_request_tool_data(&peer, &q, &out, format, &st) ? ss_str_is(ss_buf_get(&out), "[]")
								    : st.code != SS_GRPC_OK && st.code != SS_GRPC_DEADLINE_EXCEEDED;
	}
	ss_grpc_server_stop(s, 0);
	ss_arena_release(&arena);
	ss_buf_free(&out);
	return ok;
}

static int remove_one(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
	(void)st;
	(void)flag;
	(void)ftw;
	return remove(path);
}

static bool one_capture(const char **what)
{
	struct ss_err err = { 0 };
	struct ss_capture c;
	char target[64], dir[] = "/tmp/fail_rpc_XXXXXX";
	*what = "capture";
	struct ss_grpc_server *s =
		ss_grpc_server_start(&(struct ss_grpc_server_config){ .methods = methods, .nmethods = 1 }, &err);
	if (!s || !mkdtemp(dir)) {
		ss_grpc_server_stop(s, 0);
		return err.code;
	}
	snprintf(target, sizeof(target), "127.0.0.1:%u", ss_grpc_server_port(s));
	const struct ss_capture_config config = { .targets = target, .logdir = dir, .options = ss_profile_defaults, .attempts = 1,
						  .timeout_ms = 3000, .wake_fd = -1 };
	bool ok = ss_capture_run(&c, &config, &err) ? ss_capture_count(&c, SS_CAPTURE_KEPT) == 1 : err.code != SS_OK;
	ss_capture_release(&c);
	ss_grpc_server_stop(s, 0);
	nftw(dir, remove_one, 8, FTW_DEPTH | FTW_PHYS);
	return ok;
}

static bool sweep(const char *name, bool (*fn)(const char **what))
{
	const char *what;
	size_t n = 1;
	for (bool fired = true; fired && n < MAX_COUNT; n++) {
		hook_arm(n);
		bool ok = fn(&what);
		fired = hook_fired();
		hook_arm(0);
		if (!ok || !fn(&what)) {
			printf("%s, allocation %zu: %s went wrong%s\n", name, n, what, ok ? " afterwards" : "");
			return false;
		}
	}
	printf("%s: %zu allocations\n", name, n - 2);
	return true;
}

int main(void)
{
	int good = sweep("call", one_call) + sweep("question", one_question) + sweep("capture", one_capture);
	printf("%d passed, %d failed\n", good, 3 - good);
	return good == 3 ? 0 : 1;
}
