/* reply.c - see call.h. */

#include "serve/call.h"

#include <stdlib.h>
#include <unistd.h>

bool ss_origin_is_ours(const struct ss_http_req *req)
{
	size_t slashes = ss_str_find(req->origin, SS_STR("//"));
	return !req->origin.n || (slashes != SS_NPOS &&
				  ss_str_ieq(ss_str_sub(req->origin, slashes + 2, req->origin.n), req->host));
}

bool ss_from_elsewhere(const struct ss_http_req *req)
{
	return !ss_origin_is_ours(req) || (req->fetch_site.n && !ss_str_is(req->fetch_site, "same-origin") &&
					!ss_str_is(req->fetch_site, "none"));
}

bool ss_reply_read(struct ss_http_reply *r, struct ss_buf *body)
{
	char buf[16384];
	long n = 0;
	if (r->read)
		while ((n = r->read(r->read_arg, buf, sizeof(buf))) > 0 && !body->no_memory && !body->over)
			ss_buf_str(body, (struct ss_str){ buf, (size_t)n });
	else
		ss_buf_str(body, r->body);
	if (r->done)
		r->done(r->read_arg);
	free(r->owned);
	return n == 0 && !body->no_memory && !body->over;
}
