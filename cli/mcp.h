/*
 * mcp.h - the server of the Model Context Protocol: what its parts share.
 *
 * A tool is a command of this program: arguments become its words, a child runs it, and its output is
 * given out in pages. So an agent gets the same answer as people in the terminal, a crash ends only a
 * child process, and the answer names the command that repeats it.
 */
#ifndef SS_CLI_MCP_H
#define SS_CLI_MCP_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "wire/json.h"

struct mcp_input;

#define MCP_WORDS 96u

enum mcp_type { MCP_TEXT, MCP_NUMBER, MCP_FLAG, MCP_MAP, MCP_VALUES /* a map whose texts stay texts */, MCP_PATH };

struct mcp_param {
	const char *name;
	enum mcp_type type;
	bool required;
	/*
	 * The form of the argument on the command line: "--host" is followed by the value; "--fmt=" has
	 * the value in the same word; "--value start_ps=" has it in the next word; NULL is an operand.
	 */
	const char *option;
	const char *preset; /* given where the client gives nothing; NULL: nothing is */
	const char *doc;
};

struct mcp_tool {
	const char *name, *doc;
	const char *words[8]; /* of the command, before the arguments */
	struct mcp_param params[16];
};

extern const struct mcp_tool mcp_tools[]; /* the last has no name */

/* A call: the words of its command, and what of the arguments is asked for again. */
struct mcp_call {
	const struct mcp_tool *tool;
	struct ss_str root; /* canonical: profiles lie in it */
	bool root_is_profile; /* no directory of this machine: it has no paths inside */
	bool strict;
	char *argv[MCP_WORDS + 1];
	size_t argc;
	const char *profile, *run, *host, *start, *end; /* NULL: not given */
	uint64_t cursor_hash, cursor_byte;
	bool has_cursor;
	uint64_t max_bytes;
	uint64_t timeout_ms;
	/* Messages that come meanwhile: one may cancel the call of this id. */
	struct mcp_input *in;
	struct ss_str id;
	bool (*is_cancelled)(struct mcp_input *in, struct ss_str id);
	struct ss_arena arena;
};

const struct mcp_tool *mcp_tool_find(struct ss_str name);
/* All tools with the schemas of their arguments, as JSON. */
void mcp_tools_list(struct ss_buf *b);
/* The words of the command, from the object of arguments (JSON; "" for none). */
bool mcp_call_read(struct mcp_call *c, struct ss_str arguments, struct ss_err *err);

/* Run it: the result of tools/call, as JSON. What went wrong in the command is a result, too. False: it was cancelled. */
bool mcp_call_run(struct mcp_call *c, struct ss_buf *b);
void mcp_put_failure(struct ss_buf *b, struct ss_str text);

#endif
