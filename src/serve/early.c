/*
 * early.c - the address must be, letter for letter, the one that the page will ask for
 * (web/src/api/fetch.ts): else the browser asks twice.
 */
#include "serve/early.h"

#include "request/registry.h"

/* Bounds the header. Without it the page still works: its script asks. */
#define MAX_NAMES_BYTES 2048

/*
 * As URLSearchParams of a browser writes it. Nothing is left that could end the address or the
 * header.
 */
static void put_value(struct ss_buf *b, struct ss_str value)
{
	for (size_t i = 0; i < value.n; i++) {
		char c = value.p[i];
		bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '*' || c == '-' ||
			     c == '.' || c == '_';
		if (plain || c == ' ')
			ss_buf_char(b, plain ? c : '+');
		else
			ss_buf_printf(b, "%%%02X", (unsigned char)c);
	}
}

static bool shows_timeline(const struct ss_call *c)
{
	const struct ss_tool *tool = ss_tool_find(ss_call_arg(c, "tool"));
	return tool && tool->kind == SS_KIND_TIMELINE && !ss_call_arg(c, "compare").n && !ss_call_arg(c, "sql").n &&
	       !ss_call_arg(c, "history").n;
}

struct ss_str ss_early_link(const struct ss_call *c)
{
	struct ss_str run = ss_call_arg(c, "run"), host = ss_call_arg(c, "host");
	struct ss_buf b = { 0 };
	if (!run.n || !host.n || run.n + host.n > MAX_NAMES_BYTES || !shows_timeline(c))
		return SS_STR("");
	ss_buf_lit(&b, "<api/timeline?run=");
	put_value(&b, run);
	ss_buf_lit(&b, "&host=");
	put_value(&b, host);
	if (ss_str_is(ss_call_arg(c, "clocks"), "aligned"))
		ss_buf_lit(&b, "&clocks=aligned");
	ss_buf_lit(&b, ">; rel=preload; as=fetch; crossorigin");
	return ss_buf_to_arena(&b, c->req->arena);
}
