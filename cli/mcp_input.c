/* mcp_input.c - see mcp_input.h. */
#include "mcp_input.h"

#include <errno.h>
#include <unistd.h>

#define AT_ONCE 16384u

bool mcp_input_waits(const struct mcp_input *in)
{
	return !in->ended && in->held.n - in->at < MCP_HELD_BYTES;
}

static void forget_given(struct mcp_input *in)
{
	size_t rest = in->held.n - in->at;
	if (in->at && rest)
		memmove(in->held.p, in->held.p + in->at, rest);
	in->seen = in->seen > in->at ? in->seen - in->at : 0;
	in->held.n = rest;
	in->at = 0;
}

void mcp_input_read(struct mcp_input *in)
{
	char *room = ss_buf_room(&in->held, AT_ONCE);
	ssize_t n;
	do
		n = room ? read(STDIN_FILENO, room, AT_ONCE) : 0;
	while (n < 0 && errno == EINTR);
	in->ended = n <= 0;
	if (room)
		ss_buf_wrote(&in->held, AT_ONCE, n > 0 ? (size_t)n : 0);
}

/* The end of the line that begins at `from`; SS_NPOS: it has none yet. */
static size_t line_end(const struct mcp_input *in, size_t from)
{
	size_t n = ss_str_chr(ss_str_sub(ss_buf_get(&in->held), from, in->held.n), '\n');
	return n == SS_NPOS ? SS_NPOS : from + n;
}

bool mcp_input_line(struct mcp_input *in, struct ss_str *line, bool *too_long)
{
	size_t searched = in->at, end;
	while ((end = line_end(in, searched)) == SS_NPOS && !in->ended) {
		searched = in->held.n;
		if (in->passing || in->held.n - in->at > MCP_MESSAGE_BYTES) {
			in->passing = true;
			in->at = searched;
		}
		searched -= in->at;
		forget_given(in);
		mcp_input_read(in);
	}
	if (end == SS_NPOS)
		end = in->held.n;
	*too_long = in->passing || end - in->at > MCP_MESSAGE_BYTES;
	*line = *too_long ? SS_STR("") : ss_str_sub(ss_buf_get(&in->held), in->at, end);
	bool any = *too_long || end > in->at || end < in->held.n;
	in->passing = false;
	in->at = end < in->held.n ? end + 1 : end;
	in->seen = in->at;
	return any && !in->held.no_memory;
}

bool mcp_input_peek(struct mcp_input *in, struct ss_str *line)
{
	size_t end = line_end(in, in->seen);
	if (end == SS_NPOS)
		return false;
	*line = ss_str_sub(ss_buf_get(&in->held), in->seen, end);
	in->seen = end + 1;
	return true;
}
