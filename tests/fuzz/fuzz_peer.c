/*
 * fuzz_peer.c - any bytes as the answers of a profiler or of a pod's master (grpc://), and of Google's servers that tell where a
 * TPU is. Pieces end at a byte 0x1e: what is asked, then answers, each with its status on the first line. No request leaves the
 * process (see CMakeLists.txt).
 */
#include "capture/requests.h"
#include "capture/tpu_name.h"
#include "location/location.h"
#include "rpc/fetch.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
struct ss_grpc_channel *__wrap_ss_grpc_channel_open(const struct ss_grpc_channel_config *config, struct ss_err *err);
void __wrap_ss_grpc_channel_close(struct ss_grpc_channel *ch);
struct ss_grpc_call *__wrap_ss_grpc_call_start(struct ss_grpc_channel *ch, const struct ss_grpc_call_config *config,
					       struct ss_err *err);
bool __wrap_ss_grpc_run(struct ss_grpc_channel *const *v, size_t n, int wake_fd, int64_t until_ns, struct ss_err *err);
bool __wrap_ss_grpc_call_ended(const struct ss_grpc_call *call);
void __wrap_ss_grpc_call_cancel(struct ss_grpc_call *call);
const struct ss_grpc_status *__wrap_ss_grpc_call_status(const struct ss_grpc_call *call);
struct ss_str __wrap_ss_grpc_call_reply(const struct ss_grpc_call *call);
void __wrap_ss_grpc_call_free(struct ss_grpc_call *call);
bool __wrap_ss_fetch(const char *url, const char *const *headers, struct ss_buf *body, long *status, struct ss_err *err);

static struct ss_str rest;	/* of the input */
static struct ss_str reply;
static struct ss_grpc_status status;
static bool ended;
static char place;		/* its address stands for the channel and the call */

static struct ss_str next_piece(void)
{
	size_t end = ss_str_chr(rest, '\x1e');
	struct ss_str piece = ss_str_sub(rest, 0, end);
	rest = ss_str_sub(rest, end == SS_NPOS ? rest.n : end + 1, rest.n);
	return piece;
}

/* "200\nBODY"; false: the piece has no status. */
static bool next_answer(uint64_t *number, struct ss_str *body)
{
	struct ss_str piece = next_piece();
	size_t line = ss_str_chr(piece, '\n');
	*body = line == SS_NPOS ? SS_STR("") : ss_str_sub(piece, line + 1, piece.n);
	return line != SS_NPOS && ss_str_to_u64(ss_str_sub(piece, 0, line), number) && *number < 1000;
}

struct ss_grpc_channel *__wrap_ss_grpc_channel_open(const struct ss_grpc_channel_config *config, struct ss_err *err)
{
	(void)config;
	(void)err;
	return (struct ss_grpc_channel *)(void *)&place;
}

void __wrap_ss_grpc_channel_close(struct ss_grpc_channel *ch)
{
	(void)ch;
}

struct ss_grpc_call *__wrap_ss_grpc_call_start(struct ss_grpc_channel *ch, const struct ss_grpc_call_config *config,
					       struct ss_err *err)
{
	uint64_t code;
	(void)ch;
	status = (struct ss_grpc_status){ 0 };
	ended = next_answer(&code, &reply);
	if (!config->method || !rest.p) {
		ss_fail_mem(err);
		return NULL;
	}
	if (ended && code)
		ss_grpc_fail(&status, (enum ss_grpc_code)(code % 17), "%.*s", (int)(reply.n < 400 ? reply.n : 400), reply.p);
	return (struct ss_grpc_call *)(void *)&place;
}

bool __wrap_ss_grpc_run(struct ss_grpc_channel *const *v, size_t n, int wake_fd, int64_t until_ns, struct ss_err *err)
{
	(void)v;
	(void)n;
	(void)wake_fd;
	(void)until_ns;
	return ended || rest.n || ss_fail(err, SS_EIO, "there is no answer");
}

bool __wrap_ss_grpc_call_ended(const struct ss_grpc_call *call)
{
	(void)call;
	return ended;
}

void __wrap_ss_grpc_call_cancel(struct ss_grpc_call *call)
{
	(void)call;
}

const struct ss_grpc_status *__wrap_ss_grpc_call_status(const struct ss_grpc_call *call)
{
	(void)call;
	return &status;
}

struct ss_str __wrap_ss_grpc_call_reply(const struct ss_grpc_call *call)
{
	(void)call;
	return reply;
}

void __wrap_ss_grpc_call_free(struct ss_grpc_call *call)
{
	(void)call;
}

bool __wrap_ss_fetch(const char *url, const char *const *headers, struct ss_buf *body, long *code, struct ss_err *err)
{
	struct ss_str text;
	uint64_t number = 0;
	if (!headers || !ss_str_starts(ss_str_from(url), SS_STR("http")) || !next_answer(&number, &text))
		return ss_fail(err, SS_EIO, "there is no answer");
	*code = (long)number;
	ss_buf_str(body, text);
	return true;
}

static void must_say(bool ok, const struct ss_err *err)
{
	if (!ok && (!err->code || !err->text[0]))
		abort();
}

static void must_tell(bool ok, const struct ss_grpc_status *s)
{
	if (ok != (s->code == SS_GRPC_OK))
		abort();
}

static const char *below;

static int check_file(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)st;
	(void)at;
	if (type == FTW_SL || strncmp(path, below, strlen(below)) != 0)
		abort();
	return 0;
}

/* Its answers become files of the location's directory, and nothing else. */
static void as_master(const char *name)
{
	struct ss_location p;
	struct ss_err err = { 0 };
	bool ok = ss_location_open(&p, name, &err);
	must_say(ok, &err);
	if (ok) {
		below = p.scratch.path;
		if (nftw(below, check_file, 8, FTW_PHYS) != 0 || !ss_str_starts(ss_str_from(p.path), ss_str_from(below)))
			abort();
	}
	ss_location_close(&p);
}

static void ask_requests(void)
{
	const struct ss_peer peer = { .target = "peer:1" };
	const struct ss_profile_options options = { 0 };
	const struct ss_tool_question q = { .root = "", .session = "s", .tool = "t", .host = "" };
	struct ss_new_session session = { .workers = "a:1,b:2", .request = { .options = &options } };
	struct ss_grpc_status why;
	struct ss_arena arena = { 0 };
	struct ss_sessions all;
	struct ss_buf out = { .limit_bytes = 1 << 20 };
	char format[64];
	session.request.repository_root = session.request.session_id = session.request.host_name = "";
	must_tell(ss_request_new_session(&peer, &session, &why), &why);
	must_tell(ss_request_sessions(&peer, "", &arena, &all, &why), &why);
	must_tell(ss_request_tool_data(&peer, &q, &out, format, &why), &why);
	must_tell(ss_request_monitor(&peer, 100, 1, true, &out, &why), &why);
	must_tell(ss_request_start_continuous(&peer, &options, &why), &why);
	must_tell(ss_request_stop_continuous(&peer, &why), &why);
	ss_buf_free(&out);
	ss_arena_release(&arena);
}

static void find_tpu(bool says_all)
{
	struct ss_arena arena = { 0 };
	struct ss_err err = { 0 };
	struct ss_tpu tpu;
	bool ok = ss_tpu_find("a", says_all ? "z" : NULL, says_all ? "p" : NULL, &arena, &tpu, &err);
	must_say(ok, &err);
	if (ok && (!tpu.nworkers || !tpu.master.n || !ss_profiler_addresses(&arena, tpu.workers.p).p))
		abort();
	ss_arena_release(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static bool begun;
	char name[200];
	if (!begun) {
		if (access("/dev/shm", W_OK) == 0)	/* on a disk nearly all the time would go into waiting for it */
			setenv("TMPDIR", "/dev/shm", 1);
		unsetenv("STEPSCOPE_GRPC_TOKEN_FILE");
		unsetenv("CLOUDSDK_AUTH_ACCESS_TOKEN");
		begun = true;
	}
	rest = (struct ss_str){ (const char *)data, size };
	struct ss_str what = next_piece();
	if (ss_str_is(what, "requests")) {
		ask_requests();
	} else if (ss_str_starts(what, SS_STR("tpu"))) {
		find_tpu(what.n > 3);
	} else {
		snprintf(name, sizeof(name), "grpc://%.*s", (int)(what.n < 150 ? what.n : 150), what.n ? what.p : "");
		as_master(name);
	}
	return 0;
}
