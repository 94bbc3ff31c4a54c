/* aws_finding.c - see aws_finding.h. */
#include "location/aws_finding.h"

#include "location/bucket.h"
#include "rpc/download.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

struct ss_str ss_aws_variable(const char *name)
{
	const char *v = getenv(name);
	return v ? ss_str_from(v) : SS_STR("");
}

bool ss_aws_take(struct ss_aws_finding *f, const struct ss_aws_given *g, struct ss_str from)
{
	if (!g->key.p || !g->secret.p || !g->session.p)
		return ss_fail_mem(f->err);
	if (!g->key.n || !g->secret.n)
		return ss_fail(f->err, SS_EFORMAT, "the answer for the credentials " SS_FMT " holds none",
			       SS_ARG(from));
	if (g->expires_ns && g->expires_ns <= (int64_t)time(NULL) * 1000000000)
		return ss_fail(f->err, SS_EIO,
			       "the credentials " SS_FMT " that were given have expired: is the clock of this machine "
			       "right?",
			       SS_ARG(from));
	*f->a = (struct ss_aws){ g->key, g->secret, g->session, from, g->expires_ns, f->a->region, f->a->endpoint,
		f->a->of_program };
	return true;
}

struct ss_str ss_aws_set_endpoint(const struct ss_aws_finding *f, const char *upper, const char *lower)
{
	char name[64];
	snprintf(name, sizeof(name), "AWS_ENDPOINT_URL_%s", upper);
	if (ss_str_ieq(ss_aws_variable("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS"), SS_STR("true")))
		return SS_STR("");
	struct ss_str services = ss_aws_of_profile(&f->config, f->profile, "services"), of_service = SS_STR("");
	if (services.n)
		of_service = ss_aws_of_section(&f->config, "services", services, lower, "endpoint_url");
	return ss_aws_first(ss_aws_first(ss_aws_variable(name), ss_aws_variable("AWS_ENDPOINT_URL")),
			ss_aws_first(of_service, ss_aws_of_profile(&f->config, f->profile, "endpoint_url")));
}

struct ss_str ss_aws_endpoint(struct ss_aws_finding *f, const char *upper, const char *lower, struct ss_str usual)
{
	struct ss_str s = ss_arena_str(f->arena, ss_aws_first(ss_aws_set_endpoint(f, upper, lower), usual));
	while (s.n && s.p[s.n - 1] == '/')
		s.n--;
	s = ss_arena_printf(f->arena, SS_FMT "/", SS_ARG(s));
	if (f->arena->no_memory || !s.p) {
		ss_fail_mem(f->err);
		return (struct ss_str){ NULL, 0 };
	}
	return ss_address_allowed(s, f->err) ? s : (struct ss_str){ NULL, 0 };
}
