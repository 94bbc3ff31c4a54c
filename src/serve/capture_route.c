/*
 * capture_route.c - /capture_profile of XProf: take a profile of running programs, into the log
 * directory that is shown. Parameters, statuses and answers are XProf's; it answers when the
 * profile is there. Beyond XProf, cancel=true ends what another request has begun.
 *
 * It makes this program connect to whatever address it is told, and write: so it is off unless the
 * server was started with --allow-capture, and then answers nobody but pages of its own and
 * programs on this machine.
 */
#include "capture/requests.h"
#include "capture/capture.h"
#include "capture/tpu_name.h"
#include "serve/call.h"

#include <stdio.h>
#include <unistd.h>

bool ss_capture_begin(struct ss_server_state *srv)
{
	return !atomic_exchange(&srv->capturing, true);
}

void ss_capture_over(struct ss_server_state *srv)
{
	char cancelled[64];
	/* A cancellation of this capture must not end the next one. */
	while (read(srv->stop[0], cancelled, sizeof(cancelled)) > 0)
		;
	atomic_store(&srv->capturing, false);
}

void ss_capture_cancel(struct ss_server_state *srv)
{
	if (srv->stop[1] >= 0 && atomic_load(&srv->capturing) && write(srv->stop[1], "", 1) < 0)
		return;	/* it is full: it is readable already */
}

static bool reply(struct ss_call *c, unsigned status, const char *key, const char *text, struct ss_err *err)
{
	struct ss_out o;
	ss_out_init(&o, NULL, NULL);
	ss_out_printf(&o, "{\"%s\": ", key);
	ss_out_json_str(&o, ss_str_from(text));
	ss_out_char(&o, '}');
	return ss_reply_out(c, status, "application/json", &o, err);
}

/* A whole number of the request, or what XProf takes without it. */
static bool number(struct ss_call *c, const char *name, uint64_t without, uint64_t max, uint64_t *out, struct ss_err *err)
{
	struct ss_str text = ss_call_arg(c, name);
	*out = without;
	return !text.n || (ss_str_to_u64(text, out) && *out <= max) ||
	       ss_fail(err, SS_EINVAL, "the parameter '%s' is not a number from 0 to %llu", name, (unsigned long long)max);
}

struct asked {
	struct ss_capture_config config;
	struct ss_str workers, addresses;	/* NUL-terminated */
};

static bool read_numbers(struct ss_call *c, struct ss_capture_config *config, struct ss_err *err)
{
	struct ss_profile_options *o = &config->options;
	uint64_t retries;
	if (!number(c, "duration", 1000, 86400000, &o->duration_ms, err) || !number(c, "num_retry", 0, 1000, &retries, err) ||
	    !number(c, "delay", 0, 86400000, &config->delay_ms, err) ||
	    !number(c, "host_tracer_level", 2, 3, &o->host_level, err) ||
	    !number(c, "device_tracer_level", 1, 2, &o->device_level, err) ||
	    !number(c, "python_tracer_level", 0, 1, &o->python_level, err))
		return false;
	config->attempts = (unsigned)retries + 1;
	return true;
}

/* A TPU's name becomes addresses. */
static bool find_tpu(struct ss_call *c, struct asked *a, struct ss_err *err)
{
	struct ss_tpu tpu;
	if (!ss_str_is(ss_call_arg(c, "is_tpu_name"), "true"))
		return true;
	if (!ss_tpu_find(a->addresses.p, NULL, NULL, c->req->arena, &tpu, err))
		return false;
	a->addresses = tpu.master;
	if (!a->workers.n && tpu.nworkers > 1)
		a->workers = tpu.workers;
	return true;
}

static bool read_request(struct ss_call *c, struct asked *a, struct ss_err *err)
{
	*a = (struct asked){ .config = { .options = ss_profile_defaults, .logdir = c->srv->capture_dir,
					 .wake_fd = c->srv->stop[0] } };
	a->addresses = ss_arena_str(c->req->arena, ss_call_arg(c, "service_addr"));
	struct ss_str workers = ss_arena_str(c->req->arena, ss_call_arg(c, "worker_list"));
	a->workers = workers.n ? ss_profiler_addresses(c->req->arena, workers.p) : workers;
	if (!a->addresses.p || !a->workers.p)
		return ss_fail_mem(err);
	if (!a->addresses.n)
		return ss_fail(err, SS_EINVAL, "the parameter 'service_addr' is missing");
	return read_numbers(c, &a->config, err) && find_tpu(c, a, err);
}

/*
 * A pod's master takes the profile of its workers by itself. False with UNIMPLEMENTED where it
 * cannot.
 */
static bool ask_master(const struct asked *a, struct ss_grpc_status *status)
{
	const struct ss_capture_config *config = &a->config;
	const struct ss_peer peer = { .target = a->addresses.p, .wake_fd = config->wake_fd,
				      .timeout_ns = ss_capture_timeout_ns(config) };
	struct ss_run_dir d;
	struct ss_err err = { 0 };
	if (!ss_run_dir_make(&d, config->logdir, NULL, &err))
		return ss_grpc_fail(status, ss_grpc_code_of_err(err.code), "%s", err.text);
	struct ss_new_session s = { .request = { .options = &config->options, .repository_root = d.root.p,
						 .session_id = d.run.p, .host_name = a->addresses.p },
				    .workers = a->workers.p };
	bool ok = false;
	for (unsigned i = 0; !ok && i < config->attempts && ss_request_new_session(&peer, &s, status); i++)
		ok = !s.empty_trace;
	if (!ok && status->code == SS_GRPC_OK)
		ss_grpc_fail(status, SS_GRPC_UNAVAILABLE, "no trace event was collected");
	ss_run_dir_release(&d);
	return ok;
}

/* What became of it: a run, or the status as XProf prints one. */
struct taken {
	struct ss_str run;	/* its name; "" where a pod's master named it */
	struct ss_buf missing;	/* hosts without a profile, and why */
	char why[1200];		/* "" when there is a profile */
};

static void put_missing(struct ss_buf *out, const struct ss_capture_host *h)
{
	ss_buf_printf(out, "%s%s: ", out->n ? "; " : "", h->target);
	if (h->end == SS_CAPTURE_FAILED)
		ss_buf_printf(out, "%s: %s", ss_grpc_code_name(h->status.code), h->status.text);
	else
		ss_buf_lit(out, "no trace event was collected");
}

static void take(struct asked *a, struct ss_arena *arena, struct taken *t)
{
	struct ss_grpc_status status = { 0 };
	struct ss_capture c;
	struct ss_err err = { 0 };
	if (a->workers.n && ask_master(a, &status))
		return;
	if (a->workers.n && status.code != SS_GRPC_UNIMPLEMENTED) {
		snprintf(t->why, sizeof(t->why), "%s: %s", ss_grpc_code_name(status.code), status.text);
		return;
	}
	a->config.targets = a->workers.n ? a->workers.p : a->addresses.p;
	if (!ss_capture_run(&c, &a->config, &err))
		snprintf(t->why, sizeof(t->why), "%s: %s",
			 err.code == SS_EINVAL ? "INVALID_ARGUMENT" : err.code == SS_EBUSY ? "CANCELLED" : "UNAVAILABLE", err.text);
	else
		t->run = ss_arena_str(arena, c.dir.run);
	for (size_t i = 0; !t->why[0] && i < c.nhosts; i++)
		if (c.hosts[i].end == SS_CAPTURE_FAILED || c.hosts[i].end == SS_CAPTURE_EMPTY)
			put_missing(&t->missing, &c.hosts[i]);
	ss_capture_release(&c);
}

/* XProf's sentence; beyond it the run's name, and a warning where it is not whole. */
static bool reply_taken(struct ss_call *c, const struct taken *t, struct ss_err *err)
{
	struct ss_out o;
	ss_out_init(&o, NULL, NULL);
	ss_out_lit(&o, "{\"result\": \"Capture profile successfully. Please refresh.\"");
	if (t->run.n) {
		ss_out_lit(&o, ", \"run\": ");
		ss_out_json_str(&o, t->run);
	}
	if (t->missing.n) {
		ss_out_lit(&o, ", \"warning\": ");
		ss_out_json_str(&o, ss_buf_get(&t->missing));
	}
	ss_out_char(&o, '}');
	return ss_reply_out(c, 200, "application/json", &o, err);
}

bool ss_route_capture_profile(struct ss_call *c, struct ss_err *err)
{
	struct asked a;
	struct ss_err why = { 0 };
	char text[1200];
	if (!c->srv->capture_dir)
		return reply(c, 501, "error",
			     "this server does not capture profiles: start it with stepscope serve --allow-capture, or "
			     "stepscope capture",
			     err);
	if (ss_from_elsewhere(c->req))
		return reply(c, 403, "error", "this request comes from another site", err);
	/*
	 * A GET is what any page elsewhere can make a browser send; browsers of today say where it
	 * comes from.
	 */
	if (c->req->method != SS_HTTP_POST && !ss_str_is(c->req->fetch_site, "same-origin") && !c->srv->capture_by_get)
		return reply(c, 403, "error",
			     "taking a profile requires POST, unless a page of this server asks for it; stepscope serve "
			     "--allow-capture-get allows GET for older clients", err);
	if (ss_str_is(ss_call_arg(c, "cancel"), "true")) {
		ss_capture_cancel(c->srv);
		return reply(c, 200, "result", "No capture is running.", err);
	}
	if (!read_request(c, &a, &why)) {
		snprintf(text, sizeof(text), "%s: %s", why.code == SS_EINVAL ? "INVALID_ARGUMENT" : "UNAVAILABLE", why.text);
		return reply(c, 500, "error", text, err);
	}
	if (!ss_capture_begin(c->srv))
		return reply(c, 500, "error", "UNAVAILABLE: another profile is being taken", err);
	struct taken t = { .run = SS_STR("") };
	take(&a, c->req->arena, &t);
	ss_capture_over(c->srv);
	bool ok = t.why[0] ? reply(c, 500, "error", t.why, err) : reply_taken(c, &t, err);
	ss_buf_free(&t.missing);
	return ok;
}
