/* mcp_tools.c - the tools of the server, and from their arguments to the words of a command. */
#include "mcp.h"

#include "cli.h"
#include "sql/sql.h"

#include <limits.h>
#include <stdlib.h>

#define MAX_BYTES_LEAST 1000
#define MAX_BYTES_MOST 200000
#define MAX_BYTES_PRESET 20000
#define TEXT(x) #x
#define NUMBER_TEXT(x) TEXT(x)

#define PROFILE                                                                                                                \
	{ "profile", MCP_PATH, true, NULL, NULL, "a log directory, a run, or one file; relative to the directory of the server" }
#define RUN { "run", MCP_TEXT, false, "--run", NULL, "the run of a log directory (default: the newest)" }
#define HOST { "host", MCP_TEXT, false, "--host", NULL, "one host, or several separated by commas (default: all)" }

#define SHOWN "coalesce(display_name, name)"
#define EVENTS                                                                                                                 \
	"SELECT host, plane, line, " SHOWN " AS name, start_ps, dur_ps, self_ps, depth, event_id FROM events WHERE "           \
	"start_ps < :end_ps AND end_ps > :start_ps AND plane GLOB :plane AND line GLOB :line AND " SHOWN " GLOB :name AND "    \
	"dur_ps >= :min_dur_ps "                                                                                               \
	"ORDER BY start_ps, event_id"

const struct mcp_tool mcp_tools[] = {
	{ "runs",
	  "Lists the runs of a log directory: name, time, size, device, step time, hosts.",
	  { "runs" },
	  .params = { { "profile", MCP_PATH, false, NULL, ".", "the log directory; without it the directory of the server" } } },
	{ "summary",
	  "Says what slows a program down and what helps, where the time of a step goes, the longest operations, and what could "
	  "not be judged. Call this first.",
	  { "summary", "--color=never" },
	  .params = { PROFILE, RUN, HOST } },
	{ "findings",
	  "The findings of the summary as JSON: cause, share of the time, subject, text, advice, and the figures that prove each "
	  "with the tool that has them.",
	  { "summary", "--format", "json" },
	  .params = { PROFILE, RUN, HOST } },
	{ "tools",
	  "Lists the analyses that a profile has data for, with their parameters.",
	  { "tools", "--color=never" },
	  .params = { PROFILE, RUN } },
	{ "tool",
	  "The tables of one analysis as CSV, after a summary in sentences. The list of tools has the names.",
	  { "tool", "--format", "csv" },
	  .params = { { "name", MCP_TEXT, true, NULL, NULL, "name of the analysis: overview_page, op_profile, kernel_stats, ..." },
	    PROFILE,
	    RUN,
	    HOST,
	    { "table", MCP_TEXT, false, "--table", "all", "one of its tables (default: all)" },
	    { "params", MCP_MAP, false, "--param", NULL, "parameters of the analysis by name" } } },
	{ "sql",
	  "Runs one SELECT in the dialect of SQLite; one object per line. Tables: events, stats, steps, hosts, planes, "
	  "lines, modules, "
	  "instructions, edges, counters, memory_events, run, xprof_events, tool_NAME. Times that end in _ps are picoseconds since "
	  "the first event.",
	  { "sql", "--format", "jsonl" },
	  .params = { PROFILE,
	    { "query", MCP_TEXT, true, NULL, NULL, "the SELECT; with ORDER BY, so that pages fit together" },
	    RUN,
	    HOST,
	    { "values", MCP_VALUES, false, "--value", NULL,
	      "values of the parameters :name in the query; a string stays text" } } },
	{ "saved_sql",
	  "Runs a named query: top_ops, longest_gaps, overlap, layers, late_kernels, slowest_steps and others; an unknown name "
	  "or parameter is answered with the list of known ones. One object per line.",
	  { "sql", "--format", "jsonl" },
	  .params = { { "name", MCP_TEXT, true, "--saved", NULL, "name of the query" },
	    PROFILE,
	    RUN,
	    HOST,
	    { "values", MCP_MAP, false, "--value", NULL, "parameters of the query by name" } } },
	{ "events",
	  "Events in a window of time, in order of their start; one object per line. Patterns are GLOB's: * and ?.",
	  { "sql", "--format", "jsonl" },
	  .params = { PROFILE,
	    { "query", MCP_TEXT, false, NULL, EVENTS, NULL },
	    RUN,
	    HOST,
	    { "start_ps", MCP_NUMBER, false, "--value start_ps=", "-9000000000000000000", "picoseconds since the first event" },
	    { "end_ps", MCP_NUMBER, false, "--value end_ps=", "9000000000000000000", "the end of the window" },
	    { "plane", MCP_TEXT, false, "--value plane=", "*", "a pattern of plane names: /device:* , /host:CPU" },
	    { "line", MCP_TEXT, false, "--value line=", "*", "a pattern of line names (threads and streams): XLA Ops" },
	    { "name", MCP_TEXT, false, "--value name=", "*", "a pattern of event names, as displayed: fusion*" },
	    { "min_dur_ps", MCP_NUMBER, false, "--value min_dur_ps=", "0", "minimum duration of the events" } } },
	{ "hlo_neighborhood",
	  "The instructions around one instruction of a compiled program, with their times, as CSV: its "
	  "operands and its users. The analysis hlo_query has more conditions.",
	  { "tool", "--format", "csv", "--table", "instructions" },
	  .params = { { "analysis", MCP_TEXT, false, NULL, "hlo_query", NULL },
	    PROFILE,
	    { "instruction", MCP_TEXT, true, "--param instruction=", NULL, "name of the instruction: fusion.12" },
	    RUN,
	    HOST,
	    { "module", MCP_TEXT, false, "--param module_name=", NULL,
	      "a program of the table modules (default: the program with the most time of those that have the instruction)" },
	    { "radius", MCP_NUMBER, false, "--param radius=", NULL, "maximum distance from the instruction (default: 2)" },
	    { "direction", MCP_TEXT, false, "--param direction=", NULL, "operands, users or both (default)" },
	    { "follow_calls", MCP_TEXT, false, "--param follow_calls=", NULL,
	      "true: also enter the computations that instructions call: bodies of fusions, loops and branches" } } },
	{ "diff",
	  "Compares the runs of two sides: the step time with its interval, where the difference is, which operations changed.",
	  { "diff", "--color=never" },
	  .params = { { "profile", MCP_PATH, true, NULL, NULL, "the run before the change" },
	    { "new_profile", MCP_PATH, true, NULL, NULL, "the run after the change" },
	    HOST,
	    { "by", MCP_TEXT, false, "--by", NULL, "op, scope, module, kernel, source, host or memory" },
	    { "anyway", MCP_FLAG, false, "--anyway", NULL, "also list operations of sides that cannot be compared" } } },
	{ .name = NULL },
};

const struct mcp_tool *mcp_tool_find(struct ss_str name)
{
	for (const struct mcp_tool *t = mcp_tools; t->name; t++)
		if (ss_str_is(name, t->name))
			return t;
	return NULL;
}

/* ---- the list ---- */

static void put_param(struct ss_buf *b, const char *name, enum mcp_type type, const char *doc, bool first)
{
	static const char map[] = "\"type\":\"object\",\"additionalProperties\":{\"type\":[\"string\",\"number\",\"boolean\"]}";
	static const char *const types[] = { [MCP_TEXT] = "\"type\":\"string\"",
					     [MCP_NUMBER] = "\"type\":\"integer\"",
					     [MCP_FLAG] = "\"type\":\"boolean\"",
					     [MCP_MAP] = map,
					     [MCP_VALUES] = map,
					     [MCP_PATH] = "\"type\":\"string\"" };
	ss_buf_printf(b, "%s\"%s\":{%s,\"description\":", first ? "" : ",", name, types[type]);
	ss_buf_json_str(b, ss_str_from(doc));
	ss_buf_char(b, '}');
}

static void put_schema(struct ss_buf *b, const struct mcp_tool *t)
{
	bool first = true;
	ss_buf_lit(b, "{\"type\":\"object\",\"additionalProperties\":false,\"properties\":{");
	for (const struct mcp_param *p = t->params; p->name; p++) {
		if (p->doc)
			put_param(b, p->name, p->type, p->doc, first);
		first = first && !p->doc;
	}
	put_param(b, "cursor", MCP_TEXT, "next_cursor of the previous page, to continue there", false);
	put_param(b, "max_bytes", MCP_NUMBER,
		  "length of a page, " NUMBER_TEXT(MAX_BYTES_LEAST) " to " NUMBER_TEXT(MAX_BYTES_MOST), false);
	ss_buf_lit(b, "},\"required\":[");
	first = true;
	for (const struct mcp_param *p = t->params; p->name; p++)
		if (p->required) {
			ss_buf_printf(b, "%s\"%s\"", first ? "" : ",", p->name);
			first = false;
		}
	ss_buf_lit(b, "]}");
}

void mcp_tools_list(struct ss_buf *b)
{
	ss_buf_lit(b, "{\"tools\":[");
	for (const struct mcp_tool *t = mcp_tools; t->name; t++) {
		ss_buf_printf(b, "%s{\"name\":\"%s\",\"description\":", t == mcp_tools ? "" : ",", t->name);
		ss_buf_json_str(b, ss_str_from(t->doc));
		ss_buf_lit(b, ",\"inputSchema\":");
		put_schema(b, t);
		ss_buf_lit(b, ",\"annotations\":{\"readOnlyHint\":true,\"openWorldHint\":false}}");
	}
	ss_buf_lit(b, "]}");
}

/* ---- the words ---- */

struct given {
	bool set[16]; /* of the tool's params */
	char *operands[16];
	struct mcp_call *c;
	struct ss_err *err;
};

static bool add_word(struct given *g, const char *word)
{
	struct mcp_call *c = g->c;
	if (c->argc == MCP_WORDS)
		return ss_fail(g->err, SS_EINVAL, "there are too many arguments");
	struct ss_str own = ss_arena_str(&c->arena, ss_str_from(word));
	if (!own.p)
		return ss_fail_mem(g->err);
	c->argv[c->argc++] = (char *)own.p;
	return true;
}

/* Three forms: "--host VALUE" (two arguments), "--fmt=VALUE" (one), "--value k=VALUE" (two). */
static bool add_option(struct given *g, const char *option, const char *value)
{
	const char *blank = strchr(option, ' ');
	size_t n = strlen(option);
	if (blank) {
		struct ss_str first = ss_arena_str(&g->c->arena, (struct ss_str){ option, (size_t)(blank - option) });
		return (first.p || ss_fail_mem(g->err)) && add_word(g, first.p) && add_option(g, blank + 1, value);
	}
	if (option[n - 1] != '=')
		return add_word(g, option) && add_word(g, value);
	struct ss_str joined = ss_arena_printf(&g->c->arena, "%s%s", option, value);
	return (joined.p || ss_fail_mem(g->err)) && add_word(g, joined.p);
}

/* A server of one profile has only this one. */
static const char *whole_root(struct given *g, const char *value)
{
	struct ss_str root = g->c->root;
	size_t slash = ss_str_rchr(root, '/');
	struct ss_str name = ss_str_sub(root, slash == SS_NPOS ? 0 : slash + 1, root.n);
	if (!*value || strcmp(value, ".") == 0 || ss_str_is(root, value) || ss_str_is(name, value))
		return root.p;
	ss_fail(g->err, SS_ENOTFOUND, "there is no profile '%.200s': this server has '" SS_FMT "' alone, which is '.'", value,
		SS_ARG(root));
	return NULL;
}

/* A profile: in the server's directory, links resolved. */
static const char *path_of(struct given *g, const char *value)
{
	struct mcp_call *c = g->c;
	char real[PATH_MAX];
	if (c->root_is_profile)
		return whole_root(g, value);
	struct ss_str path = *value == '/' ? ss_str_from(value) : ss_arena_printf(&c->arena, SS_FMT "/%s", SS_ARG(c->root), value);
	if (!path.p) {
		ss_fail_mem(g->err);
		return NULL;
	}
	if (!realpath(path.p, real) || !ss_store_inside(c->root, real)) {
		ss_fail(g->err, SS_ENOTFOUND, "there is no profile '%.200s' in '" SS_FMT "', the directory of this server", value,
			SS_ARG(c->root));
		return NULL;
	}
	return ss_arena_str(&c->arena, ss_str_from(real)).p;
}

static void note(struct mcp_call *c, const struct mcp_param *p, const char *value)
{
	static const struct {
		const char *name;
		size_t at;
	} kept[] = { { "profile", offsetof(struct mcp_call, profile) },
		     { "run", offsetof(struct mcp_call, run) },
		     { "host", offsetof(struct mcp_call, host) },
		     { "start_ps", offsetof(struct mcp_call, start) },
		     { "end_ps", offsetof(struct mcp_call, end) } };
	for (size_t i = 0; i < SS_COUNT(kept); i++)
		if (strcmp(p->name, kept[i].name) == 0)
			*(const char **)((char *)c + kept[i].at) = value;
}

static bool take(struct given *g, size_t at, const char *value)
{
	const struct mcp_param *p = &g->c->tool->params[at];
	if (p->type == MCP_PATH && !(value = path_of(g, value)))
		return false;
	if (p->type == MCP_PATH || value != p->preset)
		note(g->c, p, value);
	g->set[at] = true;
	if (!p->option) {
		g->operands[at] = (char *)value;
		return true;
	}
	if (p->type != MCP_FLAG)
		return add_option(g, p->option, value);
	return strcmp(value, "true") != 0 || add_word(g, p->option);
}

static bool text_of(struct given *g, const struct ss_jtok *t, struct ss_str name, const char **out)
{
	struct ss_str text = t->kind == SS_J_TRUE    ? SS_STR("true")
			     : t->kind == SS_J_FALSE ? SS_STR("false")
						     : ss_jtok_str(t, &g->c->arena);
	if (t->kind != SS_J_STRING && t->kind != SS_J_NUMBER && t->kind != SS_J_TRUE && t->kind != SS_J_FALSE)
		return ss_fail(g->err, SS_EINVAL, "'" SS_FMT "' must be a text, a number, true or false", SS_ARG(name));
	if (text.n && memchr(text.p, 0, text.n))
		return ss_fail(g->err, SS_EINVAL, "'" SS_FMT "' has a zero byte", SS_ARG(name));
	*out = text.p ? ss_arena_str(&g->c->arena, text).p : NULL;
	return *out || ss_fail_mem(g->err);
}

static bool take_map(struct given *g, struct ss_jsonr *r, const struct mcp_param *p)
{
	struct ss_jtok key, value;
	const char *text;
	double number;
	while (ss_jsonr_next(r, &key) && key.kind == SS_J_KEY && ss_jsonr_next(r, &value)) {
		struct ss_str name = ss_jtok_str(&key, &g->c->arena);
		if (!name.p)
			return ss_fail_mem(g->err);
		if (!text_of(g, &value, name, &text))
			return false;
		struct ss_str word = ss_arena_printf(&g->c->arena, SS_FMT "=%s", SS_ARG(name), text);
		if (!word.p)
			return ss_fail_mem(g->err);
		bool looks_a_number = p->type == MCP_VALUES && value.kind == SS_J_STRING &&
				      ss_sql_decimal(ss_str_from(text), &number);
		if (!add_option(g, looks_a_number ? "--text" : p->option, word.p))
			return false;
	}
	return true;
}

static bool take_cursor(struct mcp_call *c, const char *text, struct ss_err *err)
{
	char *end;
	c->cursor_hash = strtoull(text, &end, 16);
	struct ss_str rest = ss_str_from(end);
	c->has_cursor = end == text + 16 && strspn(text, "0123456789abcdef") == 16 && ss_str_take(&rest, SS_STR("-")) &&
			ss_str_to_u64(rest, &c->cursor_byte);
	return c->has_cursor || ss_fail(err, SS_EINVAL, "'%.60s' is not a cursor: use next_cursor of a page", text);
}

static bool take_max_bytes(struct mcp_call *c, const char *text, struct ss_err *err)
{
	return (ss_str_to_u64(ss_str_from(text), &c->max_bytes) && c->max_bytes >= MAX_BYTES_LEAST &&
		c->max_bytes <= MAX_BYTES_MOST) ||
	       ss_fail(err, SS_EINVAL, "'max_bytes' takes a number from %d to %d", MAX_BYTES_LEAST, MAX_BYTES_MOST);
}

static bool take_argument(struct given *g, struct ss_jsonr *r, struct ss_str name, const struct ss_jtok *t)
{
	const struct mcp_param *p = g->c->tool->params;
	const char *text;
	int64_t number;
	while (p->name && !(p->doc && ss_str_is(name, p->name)))
		p++;
	if (p->name && (p->type == MCP_MAP || p->type == MCP_VALUES))
		return t->kind == SS_J_OBJECT ? take_map(g, r, p)
					      : ss_fail(g->err, SS_EINVAL, "'%s' must be an object", p->name);
	if (!p->name && !ss_str_is(name, "cursor") && !ss_str_is(name, "max_bytes"))
		return ss_fail(g->err, SS_EINVAL, "%s has no argument '" SS_FMT "'", g->c->tool->name,
			       SS_ARG(ss_str_sub(name, 0, 60)));
	if (!text_of(g, t, name, &text))
		return false;
	if (ss_str_is(name, "cursor"))
		return take_cursor(g->c, text, g->err);
	if (!p->name)
		return take_max_bytes(g->c, text, g->err);
	if (p->type == MCP_NUMBER && !ss_str_to_i64(ss_str_from(text), &number))
		return ss_fail(g->err, SS_EINVAL, "'%s' must be a whole number", p->name);
	if (p->type == MCP_FLAG && t->kind != SS_J_TRUE && t->kind != SS_J_FALSE)
		return ss_fail(g->err, SS_EINVAL, "'%s' must be true or false", p->name);
	size_t at = (size_t)(p - g->c->tool->params);
	return g->set[at] ? ss_fail(g->err, SS_EINVAL, "'%s' is given twice", p->name) : take(g, at, text);
}

static bool take_arguments(struct given *g, struct ss_str arguments)
{
	struct ss_jsonr r = ss_jsonr_of(arguments);
	struct ss_jtok key, value;
	if (!arguments.n)
		return true;
	if (!ss_jsonr_next(&r, &key) || key.kind != SS_J_OBJECT)
		return ss_fail(g->err, SS_EINVAL, "'arguments' must be an object");
	while (ss_jsonr_next(&r, &key) && key.kind == SS_J_KEY && ss_jsonr_next(&r, &value)) {
		struct ss_str name = ss_jtok_str(&key, &g->c->arena);
		if (!name.p)
			return ss_fail_mem(g->err);
		if (!take_argument(g, &r, name, &value))
			return false;
	}
	return true;
}

/* Check required arguments; then add the operands after "--", so that none is taken for an option. */
static bool finish(struct given *g)
{
	const struct mcp_param *p = g->c->tool->params;
	bool xprof = strcmp(g->c->tool->words[0], "xprof") == 0; /* no operand of it begins with a dash */
	for (size_t i = 0; p[i].name; i++) {
		if (!g->set[i] && p[i].required)
			return ss_fail(g->err, SS_EINVAL, "%s needs '%s': %s", g->c->tool->name, p[i].name, p[i].doc);
		if (!g->set[i] && p[i].preset && !take(g, i, p[i].preset))
			return false;
	}
	if (!xprof && !add_word(g, "--"))
		return false;
	for (size_t i = 0; p[i].name; i++)
		if (g->operands[i] && !add_word(g, g->operands[i]))
			return false;
	return true;
}

bool mcp_call_read(struct mcp_call *c, struct ss_str arguments, struct ss_err *err)
{
	struct given g = { .c = c, .err = err };
	c->max_bytes = MAX_BYTES_PRESET;
	for (size_t i = 0; c->tool->words[i]; i++)
		if (!add_word(&g, c->tool->words[i]))
			return false;
	if (c->strict && !add_word(&g, "--strict"))
		return false;
	return take_arguments(&g, arguments) && finish(&g);
}
