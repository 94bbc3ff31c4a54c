/* identity.c - what a host is called, and what its source is. */
#include "model/host/identity.h"

#include "model/host/host.h"

struct ss_str ss_host_name(const struct ss_host *h)
{
	return h->name;
}

struct ss_str ss_host_hostname(const struct ss_host *h)
{
	return h->x.nhostnames ? h->x.hostnames[0] : SS_STR("localhost");
}

struct ss_str ss_host_shown(const struct ss_host *h, bool as_xprof)
{
	return as_xprof ? ss_host_hostname(h) : h->name;
}

bool ss_host_is_raw(const struct ss_host *h)
{
	return h->source.state == SS_HOST_IS_RAW;
}

bool ss_host_is_described(const struct ss_host *h)
{
	return h->source.state == SS_HOST_IS_DESCRIBED;
}
