/* op_cells.c - see op_cells.h. */
#include "tools/op_cells.h"

#include "base/html.h"

#include <inttypes.h>

static struct ss_str escaped(struct ss_str s, struct ss_arena *arena)
{
	struct ss_buf b = { 0 };
	ss_html_escape(&b, s);
	return ss_buf_to_arena(&b, arena);
}

static struct ss_str joined(const struct ss_str *v, size_t n, struct ss_arena *arena)
{
	size_t size = 0, at = 0;
	for (size_t i = 0; i < n; i++)
		size += v[i].n;
	char *p = ss_arena_alloc(arena, size + 1);
	if (!p)
		return (struct ss_str){ NULL, 0 };
	for (size_t i = 0; i < n; i++) {
		if (v[i].n)
			memcpy(p + at, v[i].p, v[i].n);
		at += v[i].n;
	}
	p[at] = '\0';
	return (struct ss_str){ p, size };
}

struct ss_str ss_source_cell(const struct ss_op *op, struct ss_arena *arena)
{
	if (op->source_file.n == 0 || op->source_line == -1)
		return SS_STR("");
	struct ss_str stack = escaped(op->source_stack, arena), file = escaped(op->source_file, arena);
	struct ss_str line = ss_arena_printf(arena, "%" PRId64, op->source_line);
	if (!stack.p || !file.p || !line.p)
		return (struct ss_str){ NULL, 0 };
	const struct ss_str parts[] = { SS_STR("<div class='source-info-cell' title='"), stack, SS_STR("'>"),
					file, SS_STR(":"), line, SS_STR("</div>") };
	return joined(parts, SS_COUNT(parts), arena);
}

struct ss_str ss_program_cell(const struct ss_op *op, struct ss_arena *arena)
{
	return ss_arena_printf(arena, "%" PRIu64, op->program_id);
}

struct ss_str ss_instruction_name(struct ss_str expression)
{
	size_t end = ss_str_find(expression, SS_STR(" = "));
	struct ss_str name = end == SS_NPOS ? expression : ss_str_sub(expression, 0, end);
	return ss_str_starts(name, SS_STR("%")) ? ss_str_sub(name, 1, name.n) : name;
}

bool ss_op_is_outside_compilation(const struct ss_op *op)
{
	return ss_str_ends(op->provenance, SS_STR(":XlaSendToHost")) ||
	       ss_str_ends(op->provenance, SS_STR(":XlaRecvFromHost"));
}

bool ss_has_kernels_alone(const struct ss_kernels *k)
{
	for (size_t i = 0; i < k->n; i++)
		if (!k->v[i].op_name.n && k->v[i].total_ns)
			return true;
	return false;
}
