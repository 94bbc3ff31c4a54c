/*
 * export_html.c - `stepscope export --to html`: the page and the answers that it asks for in one
 * file, which opens without a server.
 *
 * The answers are those of the routes, compressed, under the address that the page would ask. The
 * file contains the timeline at several levels of detail. Each level consists of windows that
 * overlap by half, so that one window covers any view. Answers beyond 10 MB are omitted, and the
 * file lists them.
 */
#include "export_html.h"

#include "cli.h"

#include "drawing/drawing.h"
#include "request/registry.h"
#include "serve/gzip.h"
#include "serve/page.h"
#include "serve/server.h"
#include "wire/json.h"

#include <stdio.h>
#include <stdlib.h>

#define FILE_BYTES 10000000u
#define RESERVE_BYTES 100000u	 /* for what stands around the answers */
#define TABLE_ROWS 2000u
#define ANSWER_BYTES 2500000u	 /* of one answer at most */
#define TIMELINE_SHARE 2u	 /* of what is left, a half is the timeline's */
#define WIDTH_PX 4000u
#ifndef LEVELS		 /* a fuzzer has fewer */
#define LEVELS 6u
#endif
#define FINER 4u		 /* windows of a level in one of the level above */
#define MOST_HOSTS 16u

struct html {
	const char *logdir;
	struct ss_server *server;
	struct ss_str run;
	struct ss_arena arena;
	struct ss_buf answers;	/* "address":"base64",... */
	struct ss_buf windows;	/* of the timeline */
	struct ss_buf left_out; /* sentences */
	size_t most;		/* bytes of answers */
	struct ss_err why;	/* there is no answer to what was asked last */
};

/* ---- one answer ---- */

static void put_base64(struct ss_buf *b, struct ss_str s)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	for (size_t i = 0; i < s.n; i += 3) {
		uint32_t v = 0;
		for (size_t k = 0; k < 3; k++)
			v = v << 8 | (i + k < s.n ? (unsigned char)s.p[i + k] : 0);
		for (size_t k = 0; k < 4; k++)
			ss_buf_char(b, i + k > s.n ? '=' : digits[v >> (18 - 6 * k) & 63]);
	}
}

static void say_left_out(struct html *h, const char *what, struct ss_str which)
{
	ss_buf_z(&h->left_out, h->left_out.n ? "," : "");
	struct ss_str text = ss_arena_printf(&h->arena, "%s" SS_FMT, what, SS_ARG(which));
	ss_buf_json_str(&h->left_out, text);
}

/*
 * Ask, and keep the plain answer in `plain` if it is given. Names of arguments ascend: the page
 * looks answers up so.
 */
static bool take_answer(struct html *h, const char *path, const struct ss_http_arg *args, size_t nargs, struct ss_buf *plain,
			struct ss_buf *to)
{
	struct ss_buf body = { 0 };
	bool ok = ss_server_ask(h->server, path, args, nargs, &body, &h->why);
	struct ss_str packed = ok ? ss_gzip(ss_buf_get(&body)) : SS_STR("");
	void *made = ok ? (void *)(uintptr_t)packed.p : NULL;
	ok = ok && packed.p;
	if (ok && packed.n / 3 * 4 <= ANSWER_BYTES) {
		struct ss_buf key = { 0 };
		ss_buf_z(&key, path + 1);
		for (size_t i = 0; i < nargs; i++) {
			ss_buf_printf(&key, "%c%s=", i ? '&' : '?', args[i].name.p);
			ss_buf_str(&key, args[i].value);
		}
		ss_buf_z(to, to->n ? "," : "");
		ss_buf_json_str(to, ss_buf_get(&key));
		ss_buf_lit(to, ":\"");
		put_base64(to, packed);
		ss_buf_char(to, '"');
		ok = !key.no_memory;
		ss_buf_free(&key);
	} else if (ok) {
		say_left_out(h, "the answer of ", ss_str_from(path + 1));
		ok = false;
	}
	free(made);
	if (plain && ok)
		ss_buf_str(plain, ss_buf_get(&body));
	ss_buf_free(&body);
	return ok;
}

/* The same, if it fits into what is left. */
static bool add_answer(struct html *h, const char *path, const struct ss_http_arg *args, size_t nargs, struct ss_buf *plain)
{
	struct ss_buf text = { 0 };
	bool ok = take_answer(h, path, args, nargs, plain, &text);
	bool fits = h->answers.n + text.n < h->most;
	if (ok && fits) {
		ss_buf_z(&h->answers, h->answers.n ? "," : "");
		ss_buf_str(&h->answers, ss_buf_get(&text));
	} else if (ok) {
		say_left_out(h, "the answer of ", ss_str_from(path + 1));
	}
	h->answers.no_memory = h->answers.no_memory || text.no_memory;
	ss_buf_free(&text);
	return ok && fits;
}

/* ---- the timeline ---- */

static struct ss_str number(struct html *h, uint64_t v)
{
	return ss_arena_printf(&h->arena, "%llu", (unsigned long long)v);
}

/* A window of all tracks. *whole: nothing is missing in it. */
static bool add_window(struct html *h, struct ss_str host, uint64_t begin_ps, uint64_t end_ps, struct ss_buf *to, bool *whole)
{
	struct ss_buf plain = { 0 };
	const struct ss_http_arg args[] = { { SS_STR("begin_ps"), number(h, begin_ps) },
					    { SS_STR("end_ps"), number(h, end_ps) },
					    { SS_STR("host"), host },
					    { SS_STR("run"), h->run },
					    { SS_STR("width_px"), number(h, WIDTH_PX) } };
	bool ok = take_answer(h, "/api/timeline/slices", args, SS_COUNT(args), &plain, to);
	if (ok && ss_str_contains(ss_buf_get(&plain), SS_STR("\"complete\":false")))
		*whole = false;
	ss_buf_free(&plain);
	return ok;
}

static void add_level(struct html *h, struct ss_str host, uint64_t begin_ps, uint64_t length_ps, unsigned level, size_t *left,
		      bool *whole)
{
	struct ss_buf text = { 0 }, list = { 0 };
	uint64_t n = 1, step_ps;
	for (unsigned i = 0; i < level; i++)
		n *= FINER;
	step_ps = length_ps / n;
	bool ok = step_ps > 1;
	*whole = true;
	for (uint64_t k = 0; ok && k < 2 * n - 1; k++) {
		uint64_t from = begin_ps + k * step_ps / 2, to = k == 2 * n - 2 ? begin_ps + length_ps : from + step_ps;
		ok = add_window(h, host, from, to, &text, whole) && text.n < *left;
		ss_buf_printf(&list, "%s[%llu,%llu]", k ? "," : "", (unsigned long long)from, (unsigned long long)to);
	}
	if (ok) {
		ss_buf_z(&h->answers, h->answers.n ? "," : "");
		ss_buf_str(&h->answers, ss_buf_get(&text));
		ss_buf_z(&h->windows, h->windows.n ? "," : "");
		ss_buf_str(&h->windows, ss_buf_get(&list));
		*left -= text.n;
	} else {
		say_left_out(h, "the shortest events of the timeline", SS_STR(""));
		*whole = true;
	}
	h->answers.no_memory = h->answers.no_memory || text.no_memory || list.no_memory;
	ss_buf_free(&text);
	ss_buf_free(&list);
}

static uint64_t number_in(struct ss_str json, const char *key)
{
	struct ss_jsonr r = ss_jsonr_of(json);
	struct ss_jtok t;
	int64_t v = 0;
	while (ss_jsonr_next(&r, &t))
		if (t.kind == SS_J_KEY && ss_jtok_is(&t, key) && ss_jsonr_next(&r, &t))
			return ss_jtok_i64(&t, &v) && v > 0 ? (uint64_t)v : 0;
	return 0;
}

static void add_timeline(struct html *h, struct ss_str host)
{
	const struct ss_http_arg args[] = { { SS_STR("host"), host }, { SS_STR("run"), h->run } };
	struct ss_buf layout = { 0 };
	if (add_answer(h, "/api/timeline", args, 2, &layout)) {
		uint64_t begin_ps = number_in(ss_buf_get(&layout), "begin_ps"), end_ps = number_in(ss_buf_get(&layout), "end_ps");
		size_t left = h->answers.n < h->most ? (h->most - h->answers.n) / TIMELINE_SHARE : 0;
		bool whole = false;
		add_answer(h, "/api/timeline/conclusion", args, 2, NULL);
		for (unsigned level = 0; level < LEVELS && !whole; level++)
			add_level(h, host, begin_ps, end_ps > begin_ps ? end_ps - begin_ps : 2, level, &left, &whole);
	}
	ss_buf_free(&layout);
}

/* ---- the tools ---- */

struct tool {
	struct ss_str name, preset, hosts[MOST_HOSTS];
	size_t nhosts;
	bool available, timeline;
};

static void read_hosts(struct html *h, struct ss_jsonr *r, struct tool *t)
{
	struct ss_jtok tok;
	while (ss_jsonr_next(r, &tok) && tok.kind == SS_J_STRING)
		if (t->nhosts < MOST_HOSTS) {
			struct ss_str name = ss_jtok_str(&tok, &h->arena);
			/* First what the page shows first. */
			size_t at = ss_str_eq(name, t->preset) ? 0 : t->nhosts;
			if (at < t->nhosts)
				t->hosts[t->nhosts] = t->hosts[at];
			t->hosts[at] = name;
			t->nhosts++;
		}
}

static bool next_tool(struct html *h, struct ss_jsonr *r, struct tool *t)
{
	struct ss_jtok key, value;
	*t = (struct tool){ 0 };
	if (!ss_jsonr_next(r, &key) || key.kind != SS_J_OBJECT)
		return false;
	while (ss_jsonr_next(r, &key) && key.kind == SS_J_KEY && ss_jsonr_next(r, &value)) {
		if (ss_jtok_is(&key, "name") && value.kind == SS_J_STRING)
			t->name = ss_jtok_str(&value, &h->arena);
		else if (ss_jtok_is(&key, "kind") && value.kind == SS_J_STRING)
			t->timeline = ss_jtok_is(&value, "timeline");
		else if (ss_jtok_is(&key, "preset_host") && value.kind == SS_J_STRING)
			t->preset = ss_jtok_str(&value, &h->arena);
		else if (ss_jtok_is(&key, "available"))
			t->available = value.kind == SS_J_TRUE;
		else if (ss_jtok_is(&key, "hosts") && value.kind == SS_J_ARRAY)
			read_hosts(h, r, t);
		else if (!ss_jsonr_skip(r, &value))
			return false;
	}
	return true;
}

static void add_tool(struct html *h, const struct tool *t, size_t host)
{
	struct ss_str path = ss_arena_printf(&h->arena, "/api/tool/" SS_FMT, SS_ARG(t->name));
	const struct ss_http_arg args[] = { { SS_STR("drawing"), SS_STR("true") }, { SS_STR("host"), t->hosts[host] },
					    { SS_STR("run"), h->run } };
	bool graph = ss_drawing_known(t->name);
	if (path.p && !t->timeline)
		add_answer(h, path.p, graph ? args : args + 1, graph ? 3 : 2, NULL);
	else if (host == 0 && ss_str_ends(t->name, SS_STR("@")))
		add_timeline(h, t->hosts[0]);
}

/* Is it a tool over all hosts, which needs none open? */
static bool is_of_cluster(const struct tool *t)
{
	const struct ss_tool *tool = ss_tool_find(t->name);
	return tool && tool->facts == SS_FACTS_CLUSTER;
}

static void add_tools_of(struct html *h, struct ss_str json, size_t host, bool cluster)
{
	struct ss_jsonr r = ss_jsonr_of(json);
	struct ss_jtok tok;
	struct tool t;
	ss_jsonr_next(&r, &tok);
	ss_jsonr_next(&r, &tok);
	if (!ss_jsonr_next(&r, &tok) || tok.kind != SS_J_ARRAY)
		return;
	while (next_tool(h, &r, &t))
		if (t.available && (host < t.nhosts || (host == 0 && !t.nhosts)) && is_of_cluster(&t) == cluster)
			add_tool(h, &t, host);
}

/* A server anew: what the one before held is given back. */
static bool start(struct html *h, bool visits, struct ss_err *err)
{
	const struct ss_server_config config = {
		.logdir = h->logdir,
		.offline = true,
		.visits = visits,
		.most_rows = TABLE_ROWS,
	};
	if (h->server)
		ss_server_stop(h->server);
	h->server = ss_server_start(&config, err);
	return h->server;
}

/*
 * First what the page opens with, of the hosts together or the first; then the other hosts, as far
 * as there is room. What the tools over all hosts make takes as much memory as the events of one:
 * they come when hosts are closed.
 */
static bool add_tools(struct html *h, struct ss_str json, struct ss_err *err)
{
	add_tools_of(h, json, 0, false);
	if (!start(h, true, err))
		return false;
	add_tools_of(h, json, 0, true);
	if (!start(h, false, err))
		return false;
	for (size_t host = 1; host < MOST_HOSTS; host++)
		add_tools_of(h, json, host, false);
	return true;
}

/* ---- the file ---- */

static struct ss_str page_text(const char *path)
{
	for (const struct ss_page_file *f = ss_page_files; f->path; f++)
		if (strcmp(f->path, path) == 0)
			return ss_gunzip((struct ss_str){ (const char *)f->begin, (size_t)(f->end - f->begin) });
	return (struct ss_str){ NULL, 0 };
}

/*
 * A script ends where its text has the end of the element: a backslash there changes nothing in a
 * string.
 */
static void put_script(struct ss_out *o, struct ss_str text)
{
	const struct ss_str end = SS_STR("</script");
	for (size_t at; (at = ss_str_find(text, end)) != SS_NPOS; text = ss_str_sub(text, at + end.n, text.n)) {
		ss_out_str(o, ss_str_sub(text, 0, at));
		ss_out_lit(o, "<\\/script");
	}
	ss_out_str(o, text);
}

static bool put_file(struct html *h, struct ss_out *o, struct ss_err *err)
{
	struct ss_str style = page_text("/app.css"), script = page_text("/app.js");
	bool ok = (style.p && script.p && !h->answers.no_memory && !h->windows.no_memory && !h->left_out.no_memory) ||
		  ss_fail_mem(err);
	if (ok) {
		ss_out_lit(o, "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
			      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src "
			      "'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'\">\n"
			      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
			      "<meta name=\"color-scheme\" content=\"light dark\">\n<title>stepscope</title>\n<style>\n");
		ss_out_str(o, style);
		ss_out_lit(o, "</style>\n</head>\n<body>\n<div id=\"app\"></div>\n"
			      "<noscript>This file draws its tables and timelines with JavaScript, which is switched off "
			      "here.</noscript>\n<script type=\"application/json\" id=\"saved\">\n{\"run\":");
		ss_out_json_str(o, h->run);
		ss_out_lit(o, ",\"width_px\":");
		ss_out_u64(o, WIDTH_PX);
		ss_out_lit(o, ",\"windows\":[");
		ss_out_str(o, ss_buf_get(&h->windows));
		ss_out_lit(o, "],\"left_out\":[");
		ss_out_str(o, ss_buf_get(&h->left_out));
		ss_out_lit(o, "],\n\"answers\":{");
		ss_out_str(o, ss_buf_get(&h->answers));
		ss_out_lit(o, "}}\n</script>\n<script>\n");
		put_script(o, script);
		ss_out_lit(o, "</script>\n</body>\n</html>\n");
	}
	free((void *)(uintptr_t)style.p);
	free((void *)(uintptr_t)script.p);
	return ok;
}

static bool collect(struct html *h, struct ss_err *err)
{
	const struct ss_http_arg run[] = { { SS_STR("run"), h->run }, { SS_STR("steps"), SS_STR("1") } };
	struct ss_buf tools = { 0 };
	bool ok = (add_answer(h, "/api/runs", NULL, 0, NULL) && add_answer(h, "/api/tools", run, 1, &tools)) ||
		  ss_fail(err, SS_ENODATA, "%s", h->why.text);
	if (ok) {
		add_answer(h, "/api/run", run, 1, NULL);
		add_answer(h, "/api/run", run, 2, NULL);
		ok = add_tools(h, ss_buf_get(&tools), err);
	}
	ss_buf_free(&tools);
	return ok;
}

static struct ss_str only_run(struct html *h)
{
	struct ss_buf runs = { 0 };
	struct ss_err err = { 0 };
	struct ss_str name = SS_STR("");
	if (ss_server_ask(h->server, "/api/runs", NULL, 0, &runs, &err)) {
		struct ss_jsonr r = ss_jsonr_of(ss_buf_get(&runs));
		struct ss_jtok t;
		while (!name.n && ss_jsonr_next(&r, &t))
			if (t.kind == SS_J_KEY && ss_jtok_is(&t, "run") && ss_jsonr_next(&r, &t) && t.kind == SS_J_STRING)
				name = ss_arena_str(&h->arena, ss_jtok_str(&t, &h->arena));
	}
	ss_buf_free(&runs);
	return name;
}

bool cli_export_html(const char *path, struct ss_out *o, struct ss_err *err)
{
	struct html h = { .logdir = path, .most = FILE_BYTES - RESERVE_BYTES };
	struct ss_str style = page_text("/app.css"), script = page_text("/app.js");
	h.most -= style.n + script.n;
	free((void *)(uintptr_t)style.p);
	free((void *)(uintptr_t)script.p);
	bool ok = start(&h, false, err);
	if (ok) {
		h.run = only_run(&h);
		ok = collect(&h, err) && put_file(&h, o, err);
	}
	if (h.server)
		ss_server_stop(h.server);
	ss_buf_free(&h.answers);
	ss_buf_free(&h.windows);
	ss_buf_free(&h.left_out);
	ss_arena_release(&h.arena);
	return ok;
}
