/* messages.c - requests. */
#include "capture/messages.h"

#include "wire/pb_out.h"

#define MAX_EVENTS 1000000

const struct ss_profile_options ss_profile_defaults = {
	.duration_ms = 1000, .host_level = 2, .device_level = 1, .python_level = 0, .include_dataset_ops = true
};

/* Fields with proto3's default are left out, as its own writers do. */
static void put_uint(struct ss_buf *out, uint32_t field, uint64_t v)
{
	if (v)
		ss_pbo_uint(out, field, v);
}

static void put_z(struct ss_buf *out, uint32_t field, const char *z)
{
	if (z && z[0])
		ss_pbo_bytes(out, field, ss_str_from(z));
}

/* An entry of advanced_configuration, of "name=value". */
static void put_advanced(struct ss_buf *out, const char *text)
{
	struct ss_buf value = { 0 }, entry = { 0 };
	struct ss_str s = ss_str_from(text);
	size_t equals = ss_str_chr(s, '=');
	struct ss_str v = ss_str_sub(s, equals == SS_NPOS ? s.n : equals + 1, s.n);
	bool minus = v.n > 1 && v.p[0] == '-';
	uint64_t number;
	if (ss_str_is(v, "true") || ss_str_is(v, "false"))
		ss_pbo_uint(&value, ADVANCED_BOOL_VALUE, ss_str_is(v, "true"));
	else if (ss_str_to_u64(ss_str_sub(v, minus, v.n), &number) && number <= INT64_MAX)
		ss_pbo_uint(&value, ADVANCED_INT64_VALUE, minus ? -number : number);
	else
		ss_pbo_bytes(&value, ADVANCED_STRING_VALUE, v);
	ss_pbo_bytes(&entry, 1, ss_str_sub(s, 0, equals == SS_NPOS ? s.n : equals));
	ss_pbo_bytes(&entry, 2, ss_buf_get(&value));
	ss_pbo_bytes(out, PROFILE_OPTIONS_ADVANCED, ss_buf_get(&entry));
	out->no_memory |= value.no_memory || entry.no_memory;
	ss_buf_free(&value);
	ss_buf_free(&entry);
}

static void put_options(struct ss_buf *out, const struct ss_profile_request *r)
{
	const struct ss_profile_options *o = r->options;
	put_uint(out, PROFILE_OPTIONS_INCLUDE_DATASET_OPS, o->include_dataset_ops);
	put_uint(out, PROFILE_OPTIONS_HOST_TRACER_LEVEL, o->host_level);
	put_uint(out, PROFILE_OPTIONS_DEVICE_TRACER_LEVEL, o->device_level);
	put_uint(out, PROFILE_OPTIONS_PYTHON_TRACER_LEVEL, o->python_level);
	put_uint(out, PROFILE_OPTIONS_VERSION, 1);
	put_uint(out, PROFILE_OPTIONS_ENABLE_HLO_PROTO, 1);
	put_uint(out, PROFILE_OPTIONS_START_TIMESTAMP_NS, r->start_unix_ns);
	/* Here as well as in the request: servers sleep for this one. */
	put_uint(out, PROFILE_OPTIONS_DURATION_MS, o->duration_ms);
	put_z(out, PROFILE_OPTIONS_REPOSITORY_PATH, r->repository_root);
	put_z(out, PROFILE_OPTIONS_SESSION_ID, r->session_id);
	put_z(out, PROFILE_OPTIONS_OVERRIDE_HOSTNAME, r->override_hostname);
	if (o->circular_buffer)
		put_advanced(out, "tpu_circular_buffer_tracing=true");
	for (size_t i = 0; i < o->nadvanced; i++)
		put_advanced(out, o->advanced[i]);
}

void ss_put_profile_request(struct ss_buf *out, const struct ss_profile_request *r)
{
	/* Older servers answer with one file for each of these. */
	static const char *const tools[] = { "trace_viewer", "op_profile", "input_pipeline", "kernel_stats", "memory_viewer",
					     "memory_profile", "overview_page", "pod_viewer", "tensorflow_stats", "xplane.pb" };
	struct ss_buf opts = { 0 };
	put_options(&opts, r);
	put_uint(out, PROFILE_REQUEST_DURATION_MS, r->options->duration_ms);
	put_uint(out, PROFILE_REQUEST_MAX_EVENTS, MAX_EVENTS);
	for (size_t i = 0; i < SS_COUNT(tools); i++)
		put_z(out, PROFILE_REQUEST_TOOLS, tools[i]);
	ss_pbo_bytes(out, PROFILE_REQUEST_OPTS, ss_buf_get(&opts));
	put_z(out, PROFILE_REQUEST_REPOSITORY_ROOT, r->repository_root);
	put_z(out, PROFILE_REQUEST_SESSION_ID, r->session_id);
	put_z(out, PROFILE_REQUEST_HOST_NAME, r->host_name);
	put_uint(out, PROFILE_REQUEST_EMIT_XSPACE, r->emit_xspace);
	out->no_memory |= opts.no_memory;
	ss_buf_free(&opts);
}

static struct ss_str trim(struct ss_str s)
{
	while (s.n && s.p[0] == ' ')
		s = ss_str_sub(s, 1, s.n);
	while (s.n && s.p[s.n - 1] == ' ')
		s.n--;
	return s;
}

bool ss_next_target(struct ss_str *list, struct ss_str *one)
{
	const struct ss_str scheme = SS_STR("grpc://");
	while (list->n) {
		size_t comma = ss_str_chr(*list, ',');
		struct ss_str s = trim(ss_str_sub(*list, 0, comma == SS_NPOS ? list->n : comma));
		*list = ss_str_sub(*list, comma == SS_NPOS ? list->n : comma + 1, list->n);
		*one = ss_str_starts(s, scheme) ? ss_str_sub(s, scheme.n, s.n) : s;
		if (one->n)
			return true;
	}
	return false;
}
