/*
 * mcp.c - stepscope mcp: profiles for agents, over the Model Context Protocol on standard input and
 * output.
 */
#include "mcp.h"

#include "cli.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define MESSAGE_BYTES (1u << 20)
#define TIMEOUT_S 60u

extern const struct cli_command cli_command_mcp;

/* Numbers of JSON-RPC. */
enum { PARSE_ERROR = -32700, INVALID_REQUEST = -32600, NO_METHOD = -32601, INVALID_PARAMS = -32602 };

/* Versions of the protocol that are alike as far as tools go, the newest first. */
static const char *const versions[] = { "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05" };

static const char instructions[] =
	"stepscope reads recorded profiles of JAX, TensorFlow and PyTorch programs on TPUs, GPUs and CPUs. Ask summary "
	"first: it names what holds the program up, with figures. findings has the same as JSON with the tool that "
	"proves each figure. Then ask tool, events or sql for details, and diff to compare two runs. Every answer says "
	"its profile, hosts, window, and the command that repeats it: quote these with a figure. A page that is "
	"truncated has a next_cursor; never add up the rows of a truncated page. What is under 'Not judged' is unknown, "
	"not zero.";

struct server {
	struct ss_str root;
	uint64_t timeout_ms;
};

/* A message: the values as they stand, "" where there is none. */
struct message {
	struct ss_str id, method, params;
	bool id_is_text;
};

/* Members of an object; `value` is the text of the value, quotes and all. */
static bool next_member(struct ss_jsonr *r, struct ss_jtok *key, struct ss_jtok *value, struct ss_str *text)
{
	if (!ss_jsonr_next(r, key) || key->kind != SS_J_KEY || !ss_jsonr_next(r, value))
		return false;
	const char *begin = value->text.p;
	if (value->kind == SS_J_OBJECT || value->kind == SS_J_ARRAY) {
		begin = r->at - 1;
		if (!ss_jsonr_skip(r, value))
			return false;
	} else if (value->kind == SS_J_STRING) {
		begin--;
	}
	*text = begin && begin < r->at ? (struct ss_str){ begin, (size_t)(r->at - begin) } : SS_STR("");
	return true;
}

static bool is_json(struct ss_str line)
{
	struct ss_jsonr r = ss_jsonr_of(line);
	struct ss_jtok t;
	while (ss_jsonr_next(&r, &t))
		;
	return !r.bad && r.done;
}

static bool read_message(struct ss_str line, struct message *m)
{
	struct ss_jsonr r = ss_jsonr_of(line);
	struct ss_jtok key, value;
	struct ss_str text;
	*m = (struct message){ 0 };
	if (!ss_jsonr_next(&r, &key) || key.kind != SS_J_OBJECT)
		return false;
	bool version = false, good = true;
	while (next_member(&r, &key, &value, &text)) {
		if (ss_jtok_is(&key, "jsonrpc"))
			version = value.kind == SS_J_STRING && ss_jtok_is(&value, "2.0");
		else if (ss_jtok_is(&key, "method") && value.kind == SS_J_STRING)
			m->method = value.text;
		else if (ss_jtok_is(&key, "params"))
			m->params = value.kind == SS_J_OBJECT ? text : SS_STR("");
		else if (ss_jtok_is(&key, "id")) {
			m->id = text;
			good = value.kind == SS_J_STRING || value.kind == SS_J_NUMBER;
		}
	}
	return good && version;
}

/* The member of params of this name, as it stands. */
static struct ss_str member(struct ss_str object, const char *name, struct ss_jtok *value)
{
	struct ss_jsonr r = ss_jsonr_of(object);
	struct ss_jtok key;
	struct ss_str text;
	if (object.n && ss_jsonr_next(&r, &key))
		while (next_member(&r, &key, value, &text))
			if (ss_jtok_is(&key, name))
				return text;
	*value = (struct ss_jtok){ .kind = SS_J_NULL };
	return SS_STR("");
}

static void put_error(struct ss_buf *b, int code, struct ss_str text)
{
	ss_buf_printf(b, "\"error\":{\"code\":%d,\"message\":", code);
	ss_buf_json_str(b, text);
	ss_buf_char(b, '}');
}

static void put_initialize(struct ss_buf *b, struct ss_str params)
{
	struct ss_jtok wanted;
	const char *version = versions[0];
	member(params, "protocolVersion", &wanted);
	for (size_t i = 0; wanted.kind == SS_J_STRING && i < SS_COUNT(versions); i++)
		if (ss_jtok_is(&wanted, versions[i]))
			version = versions[i];
	ss_buf_printf(b,
		      "\"result\":{\"protocolVersion\":\"%s\",\"capabilities\":{\"tools\":{}},"
		      "\"serverInfo\":{\"name\":\"stepscope\",\"title\":\"stepscope\",\"version\":\"" SS_VERSION "\"},"
		      "\"instructions\":",
		      version);
	ss_buf_json_str(b, ss_str_from(instructions));
	ss_buf_char(b, '}');
}

static void put_call(const struct server *s, struct ss_buf *b, struct ss_str params)
{
	struct mcp_call c = { .root = s->root, .timeout_ms = s->timeout_ms };
	struct ss_jtok name, arguments;
	struct ss_err err = { 0 };
	member(params, "name", &name);
	struct ss_str text = member(params, "arguments", &arguments);
	struct ss_str tool = name.kind == SS_J_STRING ? ss_jtok_str(&name, &c.arena) : SS_STR("");
	c.tool = mcp_tool_find(tool);
	if (!c.tool) {
		struct ss_str why = ss_arena_printf(&c.arena, "There is no tool '" SS_FMT "'; tools/list has them.",
						    SS_ARG(ss_str_sub(tool, 0, 60)));
		put_error(b, INVALID_PARAMS, why);
	} else {
		ss_buf_lit(b, "\"result\":");
		if (mcp_call_read(&c, arguments.kind == SS_J_NULL ? SS_STR("") : text, &err))
			mcp_call_run(&c, b);
		else
			mcp_put_failure(b, ss_str_from(err.text));
	}
	ss_arena_release(&c.arena);
}

static void put_answer(const struct server *s, struct ss_buf *b, const struct message *m)
{
	if (ss_str_is(m->method, "initialize"))
		put_initialize(b, m->params);
	else if (ss_str_is(m->method, "ping"))
		ss_buf_lit(b, "\"result\":{}");
	else if (ss_str_is(m->method, "tools/list")) {
		ss_buf_lit(b, "\"result\":");
		mcp_tools_list(b);
	} else if (ss_str_is(m->method, "tools/call"))
		put_call(s, b, m->params);
	else
		put_error(b, NO_METHOD, SS_STR("This server has tools alone: initialize, ping, tools/list and tools/call."));
}

/* The answer to a line; nothing for what wants none. */
static void answer(const struct server *s, struct ss_str line, bool too_long, struct ss_buf *b)
{
	struct message m;
	ss_buf_lit(b, "{\"jsonrpc\":\"2.0\",\"id\":");
	if (too_long || !is_json(line)) {
		ss_buf_lit(b, "null,");
		put_error(b, PARSE_ERROR,
			  too_long ? SS_STR("The message is longer than a MiB.")
				   : SS_STR("The message is no JSON, or not one value a line."));
	} else if (!read_message(line, &m) || (!m.method.n && m.id.n == 0)) {
		ss_buf_lit(b, "null,");
		put_error(b, INVALID_REQUEST, SS_STR("The message is no request of JSON-RPC 2.0 with a method."));
	} else if (!m.id.n || !m.method.n) {
		b->n = 0; /* a notification, or an answer to what was never asked */
		return;
	} else {
		ss_buf_str(b, m.id);
		ss_buf_char(b, ',');
		put_answer(s, b, &m);
	}
	ss_buf_lit(b, "}\n");
}

static bool write_all(const char *p, size_t n)
{
	while (n) {
		ssize_t k = write(STDOUT_FILENO, p, n);
		if (k < 0 && errno == EINTR)
			continue;
		if (k <= 0)
			return false;
		p += k;
		n -= (size_t)k;
	}
	return true;
}

static bool reply(const struct server *s, struct ss_str line, bool too_long)
{
	struct ss_buf b = { 0 };
	while (line.n && strchr(" \t\r", line.p[line.n - 1]))
		line.n--;
	bool ok = true;
	if (line.n || too_long) {
		answer(s, line, too_long, &b);
		ok = !b.no_memory && write_all(ss_buf_get(&b).p, b.n);
	}
	ss_buf_free(&b);
	return ok;
}

/* Messages are lines. What is longer than a message may be is passed over to its end. */
static bool serve(const struct server *s)
{
	struct ss_buf line = { 0 };
	char buf[16384];
	bool too_long = false, ok = true;
	ssize_t n;
	while (ok && ((n = read(STDIN_FILENO, buf, sizeof(buf))) > 0 || (n < 0 && errno == EINTR))) {
		for (ssize_t i = 0; ok && i < n;) {
			const char *end = memchr(buf + i, '\n', (size_t)(n - i));
			size_t k = end ? (size_t)(end - buf - i) : (size_t)(n - i);
			too_long = too_long || line.n + k > MESSAGE_BYTES;
			if (!too_long)
				ss_buf_str(&line, (struct ss_str){ buf + i, k });
			i += (ssize_t)k + (end != NULL);
			if (end) {
				ok = !line.no_memory && reply(s, ss_buf_get(&line), too_long);
				line.n = 0;
				too_long = false;
			}
		}
	}
	ok = ok && reply(s, ss_buf_get(&line), too_long);
	ss_buf_free(&line);
	return ok;
}

static int run(int argc, char **argv)
{
	uint64_t timeout_s = TIMEOUT_S;
	const struct cli_opt opts[] = { CLI_NUMBER("timeout", 't', 86400, &timeout_s) };
	int status = cli_parse(&cli_command_mcp, argc, argv, opts, SS_COUNT(opts), 0, 1);
	if (status >= 0)
		return status;
	const char *path = optind < argc ? argv[optind] : ".";
	struct server s = { .timeout_ms = timeout_s * 1000 };
	struct ss_err err = { 0 };
	char root[PATH_MAX];
	if (!timeout_s)
		return cli_misuse(&cli_command_mcp, "--timeout takes seconds, from 1 to 86400");
	if (!realpath(path, root)) {
		ss_fail(&err, SS_ENOTFOUND, "'%s' cannot be read: %s", path, strerror(errno));
		return cli_fail(&err);
	}
	s.root = ss_str_from(root);
	signal(SIGPIPE, SIG_IGN);
	return serve(&s) ? CLI_DONE : CLI_FAILED;
}

const struct cli_command cli_command_mcp = {
	.name = "mcp",
	.args = "[PATH] [--timeout S]",
	.summary = "answer agents over the Model Context Protocol",
	.help = "Answers the messages of an agent on standard input: one JSON-RPC message a line, as the Model Context\n"
		"Protocol has it. Profiles lie in PATH (default: the current directory); nothing outside of it is read,\n"
		"and nothing is written.\n"
		"docs/agents.md has the tools and how to set an agent up.\n\n"
		"  -t, --timeout S   stop an answer after S seconds (default: 60)\n\n"
		"  stepscope mcp /srv/train/logs\n",
	.run = run,
};
