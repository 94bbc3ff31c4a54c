/* ask.c - NewSession, continuous profiling, Monitor. */
#include "capture/ask.h"

#include "wire/pb.h"
#include "wire/pb_out.h"

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
	return status->code == SS_GRPC_OK;
}

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

bool ss_ask_new_session(const struct ss_peer *peer, struct ss_new_session *s, struct ss_grpc_status *status)
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

bool ss_ask_start_continuous(const struct ss_peer *peer, const struct ss_profile_options *options,
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

bool ss_ask_stop_continuous(const struct ss_peer *peer, struct ss_grpc_status *status)
{
	struct ss_buf reply = { 0 };
	bool ok = ask(peer, SS_METHOD_STOP_CONTINUOUS, SS_STR(""), &reply, status);
	ss_buf_free(&reply);
	return ok;
}

bool ss_ask_monitor(const struct ss_peer *peer, uint64_t duration_ms, unsigned level, bool timestamp, struct ss_buf *out,
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
