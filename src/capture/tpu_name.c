/* tpu_name.c - Cloud TPUs by name. */
#include "capture/tpu_name.h"

#include "base/buf.h"
#include "rpc/fetch.h"
#include "wire/json.h"

#include <stdlib.h>

#define PROFILER_PORT 8466

static bool no_memory(struct ss_str s, struct ss_err *err)
{
	return !s.p && !ss_fail_mem(err);
}

/* A name that may stand in a URL as it is. */
static bool is_name(const char *s)
{
	if (!*s)
		return false;
	for (; *s; s++)
		if (!((*s >= 'a' && *s <= 'z') || (*s >= 'A' && *s <= 'Z') || (*s >= '0' && *s <= '9') || strchr("-_.:", *s)))
			return false;
	return true;
}

static bool check_name(const char *what, const char *s, struct ss_err *err)
{
	return is_name(s) || ss_fail(err, SS_EINVAL, "'%.100s' cannot be the name of a %s", s, what);
}

/* The metadata server's answer at `path`. */
static bool metadata(const char *path, struct ss_buf *out, struct ss_err *err)
{
	static const char *const headers[] = { "Metadata-Flavor: Google", NULL };
	const char *host = getenv("GCE_METADATA_HOST");
	struct ss_arena a = { 0 };
	long status = 0;
	struct ss_str url = ss_arena_printf(&a, "http://%s/computeMetadata/v1/%s",
					    host && *host ? host : "metadata.google.internal", path);
	bool ok = !no_memory(url, err) && ss_fetch(url.p, headers, out, &status, err) &&
		  (status == 200 || ss_fail(err, SS_EIO, "the metadata server answers %s with status %ld", path, status));
	ss_arena_release(&a);
	return ok;
}

/*
 * A project or a zone: as given, or the machine's own. "projects/1/zones/us-central1-b" ends with
 * the zone.
 */
static bool given_or_own(const char *given, const char *what, const char *path, struct ss_arena *a, struct ss_str *out,
			 struct ss_err *err)
{
	struct ss_buf b = { 0 };
	struct ss_err why = { 0 };
	if (given && *given) {
		*out = ss_arena_str(a, ss_str_from(given));
		return !no_memory(*out, err) && check_name(what, out->p, err);
	}
	bool ok = metadata(path, &b, &why) ||
		  ss_fail(err, why.code, "the %s of the TPU is not given, and this machine does not know its own: %s", what,
			  why.text);
	struct ss_str s = ss_buf_get(&b);
	size_t slash = ss_str_rchr(s, '/');
	*out = ok ? ss_arena_str(a, ss_str_sub(s, slash == SS_NPOS ? 0 : slash + 1, s.n)) : SS_STR("");
	ss_buf_free(&b);
	return ok && !no_memory(*out, err) && check_name(what, out->p, err);
}

/* The value of a member of the outermost object. */
static bool member(struct ss_str json, const char *name, struct ss_arena *a, struct ss_str *out)
{
	struct ss_jsonr r = ss_jsonr_of(json);
	struct ss_jtok t;
	if (!ss_jsonr_next(&r, &t) || t.kind != SS_J_OBJECT)
		return false;
	while (ss_jsonr_next(&r, &t) && t.kind == SS_J_KEY) {
		bool wanted = ss_jtok_is(&t, name);
		if (!ss_jsonr_next(&r, &t))
			return false;
		if (wanted && (t.kind == SS_J_STRING || t.kind == SS_J_NUMBER)) {
			*out = ss_jtok_str(&t, a);
			return out->p;
		}
		ss_jsonr_skip(&r, &t);
	}
	return false;
}

static bool token(struct ss_arena *a, struct ss_str *out, struct ss_err *err)
{
	const char *given = getenv("CLOUDSDK_AUTH_ACCESS_TOKEN");
	struct ss_buf b = { 0 };
	struct ss_err why = { 0 };
	struct ss_str value = ss_str_from(given ? given : "");
	bool ok = value.n || metadata("instance/service-accounts/default/token", &b, &why) ||
		  ss_fail(err, why.code, "no token for the Cloud TPU API: %s", why.text);
	ok = ok && (value.n || member(ss_buf_get(&b), "access_token", a, &value) ||
		    ss_fail(err, SS_EFORMAT, "the metadata server gives no access token"));
	for (size_t i = 0; ok && i < value.n; i++)
		ok = (value.p[i] > ' ' && value.p[i] <= '~') ||
		     ss_fail(err, SS_EFORMAT, "the access token holds invalid bytes");
	*out = ok ? ss_arena_printf(a, "Authorization: Bearer " SS_FMT, SS_ARG(value)) : SS_STR("");
	ss_buf_free(&b);
	return ok && !no_memory(*out, err);
}

/* One of networkEndpoints: {"ipAddress": "10.0.0.2", "port": 8470}. */
static bool take_endpoint(struct ss_jsonr *r, struct ss_buf *list, size_t *n, struct ss_arena *a)
{
	struct ss_jtok t;
	struct ss_str ip = SS_STR("");
	while (ss_jsonr_next(r, &t) && t.kind == SS_J_KEY) {
		bool is_ip = ss_jtok_is(&t, "ipAddress");
		if (!ss_jsonr_next(r, &t))
			return false;
		if (is_ip && t.kind == SS_J_STRING)
			ip = ss_jtok_str(&t, a);
		ss_jsonr_skip(r, &t);
	}
	if (!ip.n || !ip.p || !is_name(ss_arena_str(a, ip).p))
		return !r->bad;
	bool v6 = ss_str_chr(ip, ':') != SS_NPOS;
	ss_buf_printf(list, v6 ? "%s[" SS_FMT "]:%d" : "%s" SS_FMT ":%d", (*n)++ ? "," : "", SS_ARG(ip), PROFILER_PORT);
	return !r->bad;
}

static bool take_endpoints(struct ss_str json, struct ss_buf *list, size_t *n, struct ss_arena *a)
{
	struct ss_jsonr r = ss_jsonr_of(json);
	struct ss_jtok t;
	if (!ss_jsonr_next(&r, &t) || t.kind != SS_J_OBJECT)
		return false;
	while (ss_jsonr_next(&r, &t) && t.kind == SS_J_KEY) {
		bool wanted = ss_jtok_is(&t, "networkEndpoints");
		if (!ss_jsonr_next(&r, &t))
			return false;
		if (!wanted || t.kind != SS_J_ARRAY) {
			ss_jsonr_skip(&r, &t);
			continue;
		}
		while (ss_jsonr_next(&r, &t) && t.kind == SS_J_OBJECT)
			if (!take_endpoint(&r, list, n, a))
				return false;
	}
	return !r.bad;
}

/* The answer of the API: its endpoints, or why there are none. */
static bool read_node(struct ss_str json, const char *name, struct ss_arena *a, struct ss_tpu *out, struct ss_err *err)
{
	struct ss_buf list = { 0 };
	struct ss_str state = SS_STR(""), ip;
	size_t n = 0;
	bool ok = take_endpoints(json, &list, &n, a) ||
		  ss_fail(err, SS_EFORMAT, "the answer of the Cloud TPU API cannot be parsed");
	/* Older nodes have one address, and no list. */
	if (ok && !n && member(json, "ipAddress", a, &ip) && is_name(ip.p ? ss_arena_str(a, ip).p : "")) {
		ss_buf_printf(&list, SS_FMT ":%d", SS_ARG(ip), PROFILER_PORT);
		n = 1;
	}
	member(json, "state", a, &state);
	if (ok && !n)
		ok = ss_fail(err, SS_EFORMAT, "TPU '%s' has no address; its state is '" SS_FMT "'", name, SS_ARG(state));
	if (ok) {
		out->workers = ss_arena_str(a, ss_buf_get(&list));
		out->master = ss_arena_str(a, ss_str_sub(out->workers, 0, ss_str_chr(out->workers, ',')));
		out->nworkers = n;
		ok = (ss_buf_ok(&list, "list of workers", err) && out->workers.p && out->master.p) || ss_fail_mem(err);
	}
	ss_buf_free(&list);
	return ok;
}

bool ss_tpu_find(const char *name, const char *zone, const char *project, struct ss_arena *arena, struct ss_tpu *out,
		 struct ss_err *err)
{
	const char *api = getenv("CLOUDSDK_API_ENDPOINT_OVERRIDES_TPU");
	struct ss_str z, p, authorization;
	struct ss_buf body = { 0 };
	long status = 0;
	if (!check_name("TPU", name, err) || !given_or_own(project, "project", "project/project-id", arena, &p, err) ||
	    !given_or_own(zone, "zone", "instance/zone", arena, &z, err) || !token(arena, &authorization, err))
		return false;
	size_t n = api && *api ? strlen(api) : 0;
	const char *const headers[] = { authorization.p, NULL };
	/* TPU VMs are known to v2; the nodes of old, to v1. */
	static const char *const versions[] = { "v2", "v1" };
	bool ok = true;
	for (size_t i = 0; ok && i < SS_COUNT(versions) && (!i || status == 404); i++) {
		struct ss_str url = ss_arena_printf(arena, "%s%s%s/projects/" SS_FMT "/locations/" SS_FMT "/nodes/%s",
						    n ? api : "https://tpu.googleapis.com", n && api[n - 1] == '/' ? "" : "/",
						    versions[i], SS_ARG(p), SS_ARG(z), name);
		body.n = 0;
		ok = !no_memory(url, err) && ss_fetch(url.p, headers, &body, &status, err);
	}
	if (ok && status == 404)
		ok = ss_fail(err, SS_ENOTFOUND, "failed to find TPU '%s' in zone " SS_FMT " of project " SS_FMT, name, SS_ARG(z),
			     SS_ARG(p));
	else if (ok && status != 200)
		ok = ss_fail(err, SS_EIO, "the Cloud TPU API answers for '%s' with status %ld", name, status);
	ok = ok && read_node(ss_buf_get(&body), name, arena, out, err);
	ss_buf_free(&body);
	return ok;
}

struct ss_str ss_profiler_addresses(struct ss_arena *arena, const char *list)
{
	const struct ss_str scheme = SS_STR("grpc://"), worker = SS_STR(":8470");
	struct ss_str rest = ss_str_from(list);
	struct ss_buf out = { 0 };
	for (size_t i = 0; rest.n || !i; i++) {
		size_t comma = ss_str_chr(rest, ',');
		struct ss_str one = ss_str_sub(rest, 0, comma == SS_NPOS ? rest.n : comma);
		rest = comma == SS_NPOS ? SS_STR("") : ss_str_sub(rest, comma + 1, rest.n);
		if (ss_str_starts(one, scheme))
			one = ss_str_sub(one, scheme.n, one.n);
		if (i)
			ss_buf_char(&out, ',');
		if (ss_str_ends(one, worker)) {
			ss_buf_str(&out, ss_str_sub(one, 0, one.n - worker.n));
			ss_buf_printf(&out, ":%d", PROFILER_PORT);
		} else {
			ss_buf_str(&out, one);
			/* Older releases list bare addresses. */
			if (one.n && ss_str_chr(one, ':') == SS_NPOS)
				ss_buf_printf(&out, ":%d", PROFILER_PORT);
		}
	}
	struct ss_str s = out.no_memory ? (struct ss_str){ NULL, 0 } : ss_arena_str(arena, ss_buf_get(&out));
	ss_buf_free(&out);
	return s;
}
