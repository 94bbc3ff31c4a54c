/*
 * mcp_input.h - the lines of standard input, which can be looked at while a call is answered: the client may cancel it.
 */
#ifndef SS_CLI_MCP_INPUT_H
#define SS_CLI_MCP_INPUT_H

#include "base/buf.h"

#define MCP_MESSAGE_BYTES (1u << 20)
#define MCP_HELD_BYTES (4 * MCP_MESSAGE_BYTES)	/* of lines that wait */

struct mcp_input {
	struct ss_buf held;
	size_t at;		/* where the next line begins */
	size_t seen;		/* lines up to here were asked whether they cancel the call at hand */
	bool ended, passing;	/* passing: the line is too long, and passed over to its end */
};

/*
 * The next line, "" and *too_long for one of more than MCP_MESSAGE_BYTES. False at the end, or when
 * memory is out (held.no_memory).
 */
bool mcp_input_line(struct mcp_input *in, struct ss_str *line, bool *too_long);
/* Is there room for more, so that it is worth waiting for? */
bool mcp_input_waits(const struct mcp_input *in);
/* Read the available bytes. */
void mcp_input_read(struct mcp_input *in);
/* The lines that wait and have not been given out, one after the other; from `seen` on. */
bool mcp_input_peek(struct mcp_input *in, struct ss_str *line);

#endif
