/* requests.c - NewSession, EnumSessions, GetSessionToolData, continuous profiling, Monitor. */
#include "capture/requests.h"

#include "wire/pb.h"
#include "wire/pb_out.h"

#include <stdio.h>

/* Until it has ended, or somebody wants us to stop. */
static bool wait_for(struct ss_grpc_channel *ch, struct ss_grpc_call *call, int wake_fd, struct ss_buf *reply,
		     struct ss_grpc_status *status)
{
	struct ss_err err = { 0 };
	if (!ss_grpc_run(&ch, 1, wake_fd > 0 ? wake_fd : -1, SS_NEVER_NS, &err))
		return ss_grpc_fail(status, ss_grpc_code_of_err(err.code), "%s", err.text);
	if (!ss_grpc_call_ended(call)) {
		ss_grpc_call_cancel(call);
		return ss_grpc_fail(status, SS_GRPC_CANCELLED, "cancelled");
	}
	*status = *ss_grpc_call_status(call);
	if (status->code == SS_GRPC_OK)
		ss_buf_str(reply, ss_grpc_call_reply(call));
	if (reply->no_memory || reply->over)
		ss_grpc_fail(status, SS_GRPC_RESOURCE_EXHAUSTED, "out of memory for the answer");
	return status->code == SS_GRPC_OK;
}

#define ANSWER_BYTES ((uint64_t)1 << 30)

/* One unary call over a connection of its own. */
static bool ask(const struct ss_peer *peer, const char *method, struct ss_str request, struct ss_buf *reply,
		struct ss_grpc_status *status)
{
	struct ss_err err = { 0 };
	struct ss_grpc_channel *ch = ss_grpc_channel_open(
		&(struct ss_grpc_channel_config){ .target = peer->target, .tls = peer->tls, .token = peer->token }, &err);
	*status = (struct ss_grpc_status){ 0 };
	if (!ch)
		return ss_grpc_fail(status, SS_GRPC_UNAVAILABLE, "%s", err.text);
	struct ss_grpc_call *call = ss_grpc_call_start(ch, &(struct ss_grpc_call_config){ .method = method, .request = request,
										  .max_reply_bytes = ANSWER_BYTES,
										  .timeout_ns = peer->timeout_ns }, &err);
	bool ok = call ? wait_for(ch, call, peer->wake_fd, reply, status)
		       : ss_grpc_fail(status, ss_grpc_code_of_err(err.code), "%s", err.text);
	ss_grpc_call_free(call);
	ss_grpc_channel_close(ch);
	return ok;
}

static void put_request(struct ss_buf *out, const struct ss_new_session *s)
{
	struct ss_buf b = { 0 };
	struct ss_str rest = ss_str_from(s->workers), one;
	ss_put_profile_request(&b, &s->request);
	ss_pbo_bytes(out, NEW_SESSION_REQUEST, ss_buf_get(&b));
	ss_pbo_bytes(out, NEW_SESSION_REPOSITORY_ROOT, ss_str_from(s->request.repository_root));
	while (ss_next_target(&rest, &one))
		ss_pbo_bytes(out, NEW_SESSION_HOSTS, one);
	ss_pbo_bytes(out, NEW_SESSION_SESSION_ID, ss_str_from(s->request.session_id));
	out->no_memory |= b.no_memory;
	ss_buf_free(&b);
}

bool ss_request_new_session(const struct ss_peer *peer, struct ss_new_session *s, struct ss_grpc_status *status)
{
	struct ss_buf request = { 0 }, reply = { 0 };
	struct ss_pb_field f;
	put_request(&request, s);
	s->empty_trace = false;
	bool ok = ask(peer, SS_METHOD_NEW_SESSION, ss_buf_get(&request), &reply, status);
	struct ss_pb c = ss_pb_of(ss_buf_get(&reply));
	while (ok && ss_pb_next(&c, &f))
		if (f.key == PB_VAR(NEW_SESSION_EMPTY_TRACE))
			s->empty_trace = f.u;
		else if (f.key == PB_LEN(NEW_SESSION_ERROR_MESSAGE) && f.bytes.n)
			ss_grpc_fail(status, SS_GRPC_UNKNOWN, SS_FMT, SS_ARG(f.bytes));
	if (ok && c.bad)
		ss_grpc_fail(status, SS_GRPC_INTERNAL, "the answer is not what a profiler sends");
	ss_buf_free(&request);
	ss_buf_free(&reply);
	return status->code == SS_GRPC_OK;
}

bool ss_request_start_continuous(const struct ss_peer *peer, const struct ss_profile_options *options,
			     struct ss_grpc_status *status)
{
	const struct ss_profile_request r = { .options = options, .host_name = peer->target, .emit_xspace = true };
	struct ss_buf request = { 0 }, reply = { 0 };
	struct ss_err err = { 0 };
	ss_put_profile_request(&request, &r);
	*status = (struct ss_grpc_status){ 0 };
	bool ok = ss_buf_ok(&request, "request", &err)
			  ? ask(peer, SS_METHOD_START_CONTINUOUS, ss_buf_get(&request), &reply, status)
			  : ss_grpc_fail(status, SS_GRPC_RESOURCE_EXHAUSTED, "%s", err.text);
	ss_buf_free(&request);
	ss_buf_free(&reply);
	return ok;
}

bool ss_request_stop_continuous(const struct ss_peer *peer, struct ss_grpc_status *status)
{
	struct ss_buf reply = { 0 };
	bool ok = ask(peer, SS_METHOD_STOP_CONTINUOUS, SS_STR(""), &reply, status);
	ss_buf_free(&reply);
	return ok;
}

bool ss_request_monitor(const struct ss_peer *peer, uint64_t duration_ms, unsigned level, bool timestamp, struct ss_buf *out,
		    struct ss_grpc_status *status)
{
	struct ss_buf request = { 0 }, reply = { 0 };
	struct ss_pb_field f;
	ss_pbo_uint(&request, MONITOR_REQUEST_DURATION_MS, duration_ms);
	ss_pbo_uint(&request, MONITOR_REQUEST_LEVEL, level);
	ss_pbo_uint(&request, MONITOR_REQUEST_TIMESTAMP, timestamp);
	bool ok = ask(peer, SS_METHOD_MONITOR, ss_buf_get(&request), &reply, status);
	struct ss_pb c = ss_pb_of(ss_buf_get(&reply));
	while (ok && ss_pb_next(&c, &f))
		if (f.key == PB_LEN(MONITOR_RESPONSE_DATA))
			ss_buf_str(out, f.bytes);
	if (ok && c.bad)
		ss_grpc_fail(status, SS_GRPC_INTERNAL, "the answer is not what a profiler sends");
	ss_buf_free(&request);
	ss_buf_free(&reply);
	return status->code == SS_GRPC_OK;
}

static void put_z(struct ss_buf *out, uint32_t field, const char *z)
{
	if (z && z[0])
		ss_pbo_bytes(out, field, ss_str_from(z));
}

/* A message of tools' names and an id. */
static bool read_session(struct ss_str bytes, struct ss_arena *a, struct ss_session *out)
{
	struct ss_pb c = ss_pb_of(bytes);
	struct ss_pb_field f;
	struct ss_buf tools = { 0 };
	struct ss_str id = SS_STR("");
	while (ss_pb_next(&c, &f))
		if (f.key == PB_LEN(SESSION_ID))
			id = f.bytes;
		else if (f.key == PB_LEN(SESSION_TOOLS))
			ss_buf_printf(&tools, "%s" SS_FMT, tools.n ? ", " : "", SS_ARG(f.bytes));
	out->id = ss_arena_str(a, id);
	out->tools = ss_arena_str(a, ss_buf_get(&tools));
	bool ok = !tools.no_memory && out->id.p && out->tools.p;
	ss_buf_free(&tools);
	return ok;
}

static bool read_sessions(struct ss_str reply, struct ss_arena *a, struct ss_sessions *out, struct ss_grpc_status *status)
{
	struct ss_pb c = ss_pb_of(reply), again = c;
	struct ss_pb_field f;
	size_t n = 0;
	while (ss_pb_next(&c, &f))
		if (f.key == PB_LEN(ENUM_SESSIONS))
			n++;
		else if (f.key == PB_LEN(ENUM_ERROR_MESSAGE) && f.bytes.n)
			return ss_grpc_fail(status, SS_GRPC_UNKNOWN, SS_FMT, SS_ARG(f.bytes));
	if (c.bad)
		return ss_grpc_fail(status, SS_GRPC_INTERNAL, "the answer is not what a profiler sends");
	out->v = n ? SS_NEW_N(a, struct ss_session, n) : NULL;
	bool ok = !n || out->v;
	while (ok && ss_pb_next(&again, &f))
		if (f.key == PB_LEN(ENUM_SESSIONS))
			ok = read_session(f.bytes, a, &out->v[out->n++]);
	return ok || ss_grpc_fail(status, SS_GRPC_RESOURCE_EXHAUSTED, "out of memory");
}

bool ss_request_sessions(const struct ss_peer *peer, const char *root, struct ss_arena *a, struct ss_sessions *out,
		     struct ss_grpc_status *status)
{
	struct ss_buf request = { 0 }, reply = { 0 };
	*out = (struct ss_sessions){ 0 };
	put_z(&request, ENUM_REPOSITORY_ROOT, root);
	bool ok = ask(peer, SS_METHOD_ENUM_SESSIONS, ss_buf_get(&request), &reply, status) &&
		  read_sessions(ss_buf_get(&reply), a, out, status);
	ss_buf_free(&request);
	ss_buf_free(&reply);
	return ok;
}

static void put_param(struct ss_buf *out, const char *param)
{
	struct ss_str s = ss_str_from(param);
	struct ss_buf entry = { 0 };
	size_t equals = ss_str_chr(s, '=');
	ss_pbo_bytes(&entry, 1, ss_str_sub(s, 0, equals == SS_NPOS ? s.n : equals));
	ss_pbo_bytes(&entry, 2, ss_str_sub(s, equals == SS_NPOS ? s.n : equals + 1, s.n));
	ss_pbo_bytes(out, DATA_PARAMETERS, ss_buf_get(&entry));
	out->no_memory |= entry.no_memory;
	ss_buf_free(&entry);
}

bool ss_request_tool_data(const struct ss_peer *peer, const struct ss_tool_question *q, struct ss_buf *out, char format[64],
		      struct ss_grpc_status *status)
{
	struct ss_buf request = { 0 }, reply = { 0 };
	struct ss_pb_field f;
	put_z(&request, DATA_REPOSITORY_ROOT, q->root);
	put_z(&request, DATA_SESSION_ID, q->session);
	put_z(&request, DATA_TOOL_NAME, q->tool);
	for (size_t i = 0; i < q->nparams; i++)
		put_param(&request, q->params[i]);
	put_z(&request, DATA_HOST_NAME, q->host);
	format[0] = '\0';
	bool ok = ask(peer, SS_METHOD_SESSION_TOOL_DATA, ss_buf_get(&request), &reply, status);
	struct ss_pb c = ss_pb_of(ss_buf_get(&reply));
	while (ok && ss_pb_next(&c, &f))
		if (f.key == PB_LEN(DATA_OUTPUT))
			ss_buf_str(out, f.bytes);
		else if (f.key == PB_LEN(DATA_OUTPUT_FORMAT))
			snprintf(format, 64, SS_FMT, SS_ARG(f.bytes));
		else if (f.key == PB_LEN(DATA_ERROR_MESSAGE) && f.bytes.n)
			ss_grpc_fail(status, SS_GRPC_UNKNOWN, SS_FMT, SS_ARG(f.bytes));
	if (ok && c.bad)
		ss_grpc_fail(status, SS_GRPC_INTERNAL, "the answer is not what a profiler sends");
	else if (ok && (out->no_memory || out->over))
		ss_grpc_fail(status, SS_GRPC_RESOURCE_EXHAUSTED, "out of memory");
	ss_buf_free(&request);
	ss_buf_free(&reply);
	return status->code == SS_GRPC_OK;
}
