/*
 * mcp.c - stepscope mcp: profiles for agents, over the Model Context Protocol on standard input and
 * output.
 */
#include "mcp.h"

#include "base/write.h"
#include "cli.h"
#include "mcp_input.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define TIMEOUT_S 60u

extern const struct cli_command cli_command_mcp;

/* Numbers of JSON-RPC. */
enum { PARSE_ERROR = -32700, INVALID_REQUEST = -32600, NO_METHOD = -32601, INVALID_PARAMS = -32602 };

/* Versions of the protocol that are alike as far as tools go, the newest first. */
static const char *const versions[] = { "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05" };

static const char instructions[] =
	"stepscope reads recorded profiles of JAX, TensorFlow and PyTorch programs on TPUs, GPUs and CPUs. Ask summary "
	"first: it names what slows the program down, with figures. findings has the same as JSON with the tool that "
	"proves each figure. Then ask tool, events or sql for details, and diff to compare two runs. Every answer says "
	"its profile, hosts, window, and the command that repeats it: quote these with a figure. A page that is "
	"truncated has a next_cursor; never add up the rows of a truncated page. Items under 'Not judged' are unknown, "
	"not zero.";

struct server {
	struct ss_location place;
	struct ss_str root;
	bool root_is_profile;
	uint64_t timeout_ms;
	struct mcp_input in;
};

/* A message: the values as they stand, "" where there is none. */
struct message {
	struct ss_str id, method, params;
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

/* Can the answer repeat it? The reader takes more than JSON has: NaN, control characters, bytes that are no UTF-8. */
static bool is_id(const struct ss_jtok *value, struct ss_str text)
{
	if (value->kind == SS_J_NUMBER)
		return strchr("0123456789", text.p[text.n > 1 && *text.p == '-']);
	for (size_t i = 0; i < text.n; i++)
		if ((unsigned char)text.p[i] < 0x20)
			return false;
	return value->kind == SS_J_STRING && ss_utf8_valid(text);
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
			good = is_id(&value, text);
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

/* Does a line that has come since say that nobody waits for the answer to this id any more? */
static bool is_cancelled(struct mcp_input *in, struct ss_str id)
{
	struct ss_str line;
	struct message m;
	struct ss_jtok value;
	while (mcp_input_peek(in, &line))
		if (line.n <= MCP_MESSAGE_BYTES && is_json(line) && read_message(line, &m) && !m.id.n &&
		    ss_str_is(m.method, "notifications/cancelled") && ss_str_eq(member(m.params, "requestId", &value), id))
			return true;
	return false;
}

/* False: it was cancelled. */
static bool put_call(struct server *s, struct ss_buf *b, const struct message *m)
{
	struct mcp_call c = {
		.root = s->root,
		.root_is_profile = s->root_is_profile,
		.strict = cli_strict,
		.timeout_ms = s->timeout_ms,
		.in = &s->in,
		.id = m->id,
		.is_cancelled = is_cancelled,
	};
	struct ss_str params = m->params;
	bool waited_for = !is_cancelled(&s->in, m->id);
	struct ss_jtok name, arguments;
	struct ss_err err = { 0 };
	member(params, "name", &name);
	struct ss_str text = member(params, "arguments", &arguments);
	struct ss_str tool = name.kind == SS_J_STRING ? ss_jtok_str(&name, &c.arena) : SS_STR("");
	c.tool = mcp_tool_find(tool);
	if (!waited_for) {
		/* it was cancelled before its turn came */
	} else if (!c.tool) {
		struct ss_str why = ss_arena_printf(&c.arena, "There is no tool '" SS_FMT "'; tools/list has them.",
						    SS_ARG(ss_str_sub(tool, 0, 60)));
		put_error(b, INVALID_PARAMS, why);
	} else {
		ss_buf_lit(b, "\"result\":");
		if (mcp_call_read(&c, arguments.kind == SS_J_NULL ? SS_STR("") : text, &err))
			waited_for = mcp_call_run(&c, b);
		else
			mcp_put_failure(b, ss_str_from(err.text));
	}
	ss_arena_release(&c.arena);
	return waited_for;
}

/* False: nobody waits for it any more. */
static bool put_answer(struct server *s, struct ss_buf *b, const struct message *m)
{
	if (ss_str_is(m->method, "initialize"))
		put_initialize(b, m->params);
	else if (ss_str_is(m->method, "ping"))
		ss_buf_lit(b, "\"result\":{}");
	else if (ss_str_is(m->method, "tools/list")) {
		ss_buf_lit(b, "\"result\":");
		mcp_tools_list(b);
	} else if (ss_str_is(m->method, "tools/call"))
		return put_call(s, b, m);
	else
		put_error(b, NO_METHOD, SS_STR("This server has only tools: initialize, ping, tools/list and tools/call."));
	return true;
}

/* The answer to a line; nothing for what wants none. */
static void answer(struct server *s, struct ss_str line, bool too_long, struct ss_buf *b)
{
	struct message m;
	ss_buf_lit(b, "{\"jsonrpc\":\"2.0\",\"id\":");
	if (too_long || !is_json(line)) {
		ss_buf_lit(b, "null,");
		put_error(b, PARSE_ERROR,
			  too_long ? SS_STR("The message is longer than 1 MiB.")
				   : SS_STR("The message is not JSON, or not one value per line."));
	} else if (!read_message(line, &m) || (!m.method.n && m.id.n == 0)) {
		ss_buf_lit(b, "null,");
		put_error(b, INVALID_REQUEST, SS_STR("The message is not a JSON-RPC 2.0 request with a method."));
	} else if (!m.id.n || !m.method.n) {
		b->n = 0; /* a notification, or an answer to what was never asked */
		return;
	} else {
		ss_buf_str(b, m.id);
		ss_buf_char(b, ',');
		if (!put_answer(s, b, &m)) {
			b->n = 0;
			return;
		}
	}
	ss_buf_lit(b, "}\n");
}

static bool reply(struct server *s, struct ss_str line, bool too_long)
{
	struct ss_buf b = { 0 };
	while (line.n && strchr(" \t\r", line.p[line.n - 1]))
		line.n--;
	bool ok = true;
	if (line.n || too_long) {
		answer(s, line, too_long, &b);
		ok = !b.no_memory && ss_write_all(STDOUT_FILENO, ss_buf_get(&b).p, b.n);
	}
	ss_buf_free(&b);
	return ok;
}

/*
 * Messages are lines. One is copied before it is answered, as the lines behind it come to stand elsewhere meanwhile.
 */
static bool serve(struct server *s)
{
	struct ss_str line;
	struct ss_buf own = { 0 };
	bool too_long, ok = true;
	while (ok && mcp_input_line(&s->in, &line, &too_long)) {
		own.n = 0;
		ss_buf_str(&own, line);
		ok = !own.no_memory && reply(s, ss_buf_get(&own), too_long);
	}
	ok = ok && !s->in.held.no_memory;
	ss_buf_free(&own);
	ss_buf_free(&s->in.held);
	return ok;
}

/* An archive or an address is opened once, for all answers. */
static bool open_root(struct server *s, const char *path, struct ss_err *err)
{
	static char real[PATH_MAX];
	struct stat st;
	if (strcmp(path, "-") == 0)
		return ss_fail(err, SS_EINVAL,
			       "'-' is standard input, which carries the messages of the agent: name a directory, a file or "
			       "an address");
	if (realpath(path, real))
		path = real;
	else if (!strstr(path, "://"))
		return ss_fail(err, SS_ENOTFOUND, "'%s' cannot be read: %s", path, strerror(errno));
	if (!cli_location_open(&s->place, path, err))
		return false;
	s->root = ss_str_from(s->place.named);
	s->root_is_profile = ss_location_is_made(&s->place) || (stat(path, &st) == 0 && !S_ISDIR(st.st_mode));
	if (ss_location_is_made(&s->place))
		ss_location_share(&s->place);
	return true;
}

static int run(int argc, char **argv)
{
	uint64_t timeout_s = TIMEOUT_S;
	const struct cli_opt opts[] = { CLI_NUMBER("timeout", 't', 86400, &timeout_s), CLI_STRICT };
	int status = cli_parse(&cli_command_mcp, argc, argv, opts, SS_COUNT(opts), 0, 1);
	if (status >= 0)
		return status;
	const char *path = optind < argc ? argv[optind] : ".";
	struct server s = { .timeout_ms = timeout_s * 1000 };
	struct ss_err err = { 0 };
	if (!timeout_s)
		return cli_misuse(&cli_command_mcp, "--timeout takes seconds, from 1 to 86400");
	signal(SIGPIPE, SIG_IGN);
	status = !open_root(&s, path, &err) ? cli_fail(&err) : serve(&s) ? CLI_DONE : CLI_FAILED;
	ss_location_share(NULL);
	cli_location_close(&s.place);
	return status;
}

const struct cli_command cli_command_mcp = {
	.name = "mcp",
	.args = "[PATH] [--timeout S]",
	.summary = "answer agents over the Model Context Protocol",
	.help = "Answers the messages of an agent on standard input: one JSON-RPC message a line, as the Model Context\n"
		"Protocol has it. Profiles lie in PATH (default: the current directory); nothing outside of it is read,\n"
		"and nothing is written. PATH may be an archive or an https:// address, too: it is opened when the server\n"
		"starts, and is then the only profile (\".\").\n"
		"docs/agents.md has the tools and how to set an agent up.\n\n"
		"  -t, --timeout S   stop an answer after S seconds (default: 60)\n"
		"      --strict      refuse profiles of which anything is missing (default: a warning)\n\n"
		"  stepscope mcp /srv/train/logs\n",
	.run = run,
};
