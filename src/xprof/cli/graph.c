/* graph.c - reading a program's text into a graph. */
#include "xprof/cli/graph.h"

#include "xprof/cli/modules.h"

#include <ctype.h>
#include <stdlib.h>

bool xg_module(struct xcli *x, const char *name, struct ss_str *module)
{
	struct xcli_modules list;
	struct ss_str want = ss_str_from(name);
	if (!xcli_modules(x, &list))
		return false;
	if (!list.n)
		return xcli_fail(x, XCLI_PATH, "No HLO proto found.");
	*module = list.v[0];
	if (!want.n)
		return true;
	for (size_t i = 0; i < list.n; i++)
		if (ss_str_eq(list.v[i], want)) {
			*module = list.v[i];
			return true;
		}
	for (int prefix = 0; prefix < 2; prefix++) {
		size_t found = 0;
		for (size_t i = 0; i < list.n; i++) {
			size_t paren = ss_str_chr(list.v[i], '(');
			struct ss_str base =
				ss_str_sub(list.v[i], 0, paren == SS_NPOS ? list.v[i].n : paren);
			if (prefix ? !ss_str_starts(list.v[i], want) : !ss_str_eq(base, want))
				continue;
			*module = list.v[i];
			found++;
		}
		if (found == 1)
			return true;
		if (found)
			return xcli_fail(x, XCLI_INVALID,
					 "%zu programs are called '" SS_FMT
					 "': list_hlo_modules gives their whole names",
					 found, SS_ARG(want));
	}
	return xcli_fail(x, XCLI_INVALID,
			 "There is no program '" SS_FMT "': list_hlo_modules names them",
			 SS_ARG(want));
}

bool xg_text(struct xcli *x, struct ss_str module, const char *type, struct ss_str *text)
{
	struct ss_param_value *p = SS_NEW_N(&x->arena, struct ss_param_value, 2);
	struct ss_err err;
	if (!p)
		return xcli_no_memory(x);
	p[0] = (struct ss_param_value){ SS_STR("module_name"), module };
	p[1] = (struct ss_param_value){ SS_STR("type"), ss_str_from(type) };
	const struct ss_result *r = xcli_tool_of(x, "graph_viewer", p, 2, &err);
	if (!r)
		return xcli_failed(x, &err);
	*text = r->body;
	return true;
}

/* --- lines of the text ------------------------------------------------------------------------- */

static struct ss_str stripped(struct ss_str s)
{
	while (s.n && isspace((unsigned char)s.p[0]))
		s = ss_str_sub(s, 1, s.n);
	while (s.n && isspace((unsigned char)s.p[s.n - 1]))
		s.n--;
	return s;
}

static bool next_line(struct ss_str *text, struct ss_str *line)
{
	if (!text->n)
		return false;
	size_t end = ss_str_chr(*text, '\n');
	*line = stripped(ss_str_sub(*text, 0, end == SS_NPOS ? text->n : end));
	*text = ss_str_sub(*text, end == SS_NPOS ? text->n : end + 1, text->n);
	return true;
}

/*
 * "%name (params) -> result {" or "ENTRY ...": the computation's name; empty: the line begins none.
 */
static struct ss_str computation_name(struct ss_str line, bool *entry)
{
	*entry = ss_str_take(&line, SS_STR("ENTRY "));
	bool opens = ss_str_ends(line, SS_STR("{")) || ss_str_ends(line, SS_STR("("));
	bool named = line.n &&
		     (*entry || line.p[0] == '%' ||
		      (isalpha((unsigned char)line.p[0]) &&
		       (ss_str_chr(line, '(') != SS_NPOS || ss_str_chr(line, '=') == SS_NPOS)));
	if (!opens || !named)
		return SS_STR("");
	size_t n = 0;
	while (n < line.n && line.p[n] != '(' && line.p[n] != '{')
		n++;
	struct ss_str name = stripped(ss_str_sub(line, 0, n));
	if (name.n && name.p[0] == '%')
		name = ss_str_sub(name, 1, name.n);
	return ss_str_starts(name, SS_STR("HloModule")) ? SS_STR("") : name;
}

/* Where the bracket at `at` closes; SS_NPOS: nowhere. */
static size_t closing(struct ss_str s, size_t at, char open, char close)
{
	size_t depth = 0;
	for (size_t i = at; i < s.n; i++) {
		depth += s.p[i] == open;
		if (s.p[i] == close && !--depth)
			return i;
	}
	return SS_NPOS;
}

static size_t find_from(struct ss_str s, size_t from, char c)
{
	size_t at = ss_str_chr(ss_str_sub(s, from, s.n), c);
	return at == SS_NPOS ? SS_NPOS : from + at;
}

/* The parenthesis of the operands: behind the result's shape and layout. */
static size_t operands_at(struct ss_str rhs)
{
	if (ss_str_starts(rhs, SS_STR("("))) {
		size_t end = closing(rhs, 0, '(', ')');
		return end == SS_NPOS ? SS_NPOS : find_from(rhs, end + 1, '(');
	}
	size_t from = 0, bracket = ss_str_chr(rhs, '[');
	if (bracket != SS_NPOS) {
		size_t end = closing(rhs, bracket, '[', ']');
		from = end == SS_NPOS ? 0 : end + 1;
	}
	size_t brace = from;
	while (brace < rhs.n && isspace((unsigned char)rhs.p[brace]))
		brace++;
	if (brace < rhs.n && rhs.p[brace] == '{') {
		size_t end = closing(rhs, brace, '{', '}');
		from = end == SS_NPOS ? from : end + 1;
	}
	return find_from(rhs, from, '(');
}

/* "f32[2]{0} add" before the operands. */
static void read_shape(struct xg_instr *i, struct ss_str before)
{
	i->opcode = i->shape = SS_STR("unknown");
	before = stripped(before);
	size_t space = before.n;
	while (space > 0 && !isspace((unsigned char)before.p[space - 1]))
		space--;
	if (!before.n)
		return;
	i->opcode = ss_str_sub(before, space, before.n);
	if (space)
		i->shape = stripped(ss_str_sub(before, 0, space));
	if (ss_str_is(i->shape, "unknown"))
		return;
	size_t bracket = ss_str_chr(i->shape, '['), brace = ss_str_chr(i->shape, '{');
	if (i->shape.p[0] == '(') {
		i->dtype = SS_STR("tuple");
		return;
	}
	i->dtype = bracket != SS_NPOS && bracket > 0 ? ss_str_sub(i->shape, 0, bracket) : i->shape;
	i->layout = brace == SS_NPOS ? SS_STR("") : ss_str_sub(i->shape, brace, i->shape.n);
}

static bool is_name(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '.' || c == '-';
}

static bool ends_name(struct ss_str s, size_t i)
{
	return i == s.n || s.p[i] == ',' || s.p[i] == ')' || isspace((unsigned char)s.p[i]);
}

/* The next word among operands, from *at on. */
static bool next_operand(struct ss_str s, size_t *at, struct ss_str *name)
{
	for (size_t i = *at; i < s.n; i++) {
		bool begins = i == 0 || s.p[i - 1] == ',' || s.p[i - 1] == '(' ||
			      isspace((unsigned char)s.p[i - 1]);
		size_t from = i + (begins && s.p[i] == '%'), end = from;
		while (end < s.n && is_name(s.p[end]))
			end++;
		if (!begins || end == from || !ends_name(s, end))
			continue;
		*name = ss_str_sub(s, from, end);
		*at = end;
		return true;
	}
	return false;
}

/* --- the graph --------------------------------------------------------------------------------- */

struct block {
	struct ss_str text; /* its lines */
};

struct reader {
	struct xcli *x;
	struct xg_graph *g;
	struct block *blocks;	 /* by computation */
	struct ss_str *operands; /* texts, by instruction */
	uint32_t cap_links;
};

static bool add_link(struct reader *r, uint32_t to)
{
	struct xg_graph *g = r->g;
	if (g->nlinks == r->cap_links) {
		uint32_t cap = r->cap_links ? 2 * r->cap_links : 256;
		uint32_t *v = realloc(g->links, cap * sizeof(*v));
		if (!v)
			return xcli_no_memory(r->x);
		g->links = v;
		r->cap_links = cap;
	}
	g->links[g->nlinks++] = to;
	return true;
}

/* The computations and their lines; the number of lines bounds that of instructions. */
static bool split(struct reader *r, struct ss_str text, size_t *lines)
{
	struct xg_graph *g = r->g;
	struct ss_str rest = text, line;
	size_t n = 0;
	*lines = 0;
	while (next_line(&rest, &line))
		++*lines;
	g->computations = SS_NEW_N(&r->x->arena, struct xg_computation, *lines + 1);
	r->blocks = SS_NEW_N(&r->x->arena, struct block, *lines + 1);
	if (!g->computations || !r->blocks)
		return xcli_no_memory(r->x);
	g->entry = SS_NONE;
	uint32_t open = SS_NONE;
	const char *from = NULL;
	rest = text;
	while (next_line(&rest, &line)) {
		bool entry;
		struct ss_str name = computation_name(line, &entry);
		if (line.n && name.n) {
			open = ss_strmap_add(&g->computation_names, name);
			if (open == SS_NONE)
				return xcli_no_memory(r->x);
			if (open == n)
				g->computations[n++] =
					(struct xg_computation){ .name = name, .root = SS_NONE };
			if (entry || g->entry == SS_NONE)
				g->entry = open;
			from = rest.p;
		} else if (open != SS_NONE && (ss_str_is(line, "}") || ss_str_is(line, ")"))) {
			r->blocks[open].text = (struct ss_str){ from, (size_t)(line.p - from) };
			open = SS_NONE;
		}
	}
	g->ncomputations = (uint32_t)n;
	return true;
}

static void read_instruction(struct reader *r, uint32_t c, struct ss_str line)
{
	struct xg_graph *g = r->g;
	struct xg_instr *i = &g->instrs[g->n];
	struct ss_str body = line;
	bool root = ss_str_take(&body, SS_STR("ROOT "));
	size_t eq = ss_str_chr(body, '='), at;
	if (eq == SS_NPOS)
		return;
	*i = (struct xg_instr){ .expression = line,
				.computation = c,
				.is_root = root,
				.layout = SS_STR(""),
				.dtype = SS_STR("") };
	i->name = stripped(ss_str_sub(body, 0, eq));
	if (i->name.n && i->name.p[0] == '%')
		i->name = ss_str_sub(i->name, 1, i->name.n);
	struct ss_str rhs = stripped(ss_str_sub(body, eq + 1, body.n));
	r->operands[g->n] = SS_STR("");
	at = operands_at(rhs);
	if (at != SS_NPOS) {
		size_t end = closing(rhs, at, '(', ')');
		read_shape(i, ss_str_sub(rhs, 0, at));
		r->operands[g->n] = end == SS_NPOS ? SS_STR("") : ss_str_sub(rhs, at + 1, end);
	} else {
		i->opcode = i->shape = SS_STR("unknown");
	}
	if (root)
		g->computations[c].root = g->n;
	g->n++;
}

static bool read_computation(struct reader *r, uint32_t c)
{
	struct xg_graph *g = r->g;
	struct ss_str rest = r->blocks[c].text, line;
	g->computations[c].first = g->n;
	while (next_line(&rest, &line))
		if (line.n)
			read_instruction(r, c, line);
	g->computations[c].n = g->n - g->computations[c].first;
	if (g->computations[c].root == SS_NONE && g->computations[c].n)
		g->computations[c].root = g->n - 1;
	for (uint32_t i = g->computations[c].first; i < g->n; i++) {
		uint32_t at = ss_strmap_add(&g->names, g->instrs[i].name);
		if (at == SS_NONE)
			return xcli_no_memory(r->x);
		if (at + 1 == g->names.n && g->by_name[at] == SS_NONE)
			g->by_name[at] = i;
	}
	return true;
}

/* "a.1" as "a_1". */
static struct ss_str respelt(struct ss_str name, char from, char to, char *buf, size_t size)
{
	size_t n = name.n < size ? name.n : size;
	for (size_t i = 0; i < n; i++)
		buf[i] = name.p[i] == from ? to : name.p[i];
	return (struct ss_str){ buf, n };
}

static uint32_t local(const struct ss_strmap *map, const uint32_t *at, struct ss_str name)
{
	char buf[512];
	uint32_t i = ss_strmap_get(map, name);
	if (i == SS_NONE && name.n < sizeof(buf))
		i = ss_strmap_get(map, respelt(name, '.', '_', buf, sizeof(buf)));
	return i == SS_NONE ? SS_NONE : at[i];
}

/* Operands: names of instructions of the same computation. */
static bool link_operands(struct reader *r, uint32_t c, uint32_t *at)
{
	struct xg_graph *g = r->g;
	const struct xg_computation *comp = &g->computations[c];
	struct ss_strmap map = { 0 };
	bool ok = true;
	for (uint32_t i = comp->first; ok && i < comp->first + comp->n; i++) {
		uint32_t k = ss_strmap_add(&map, g->instrs[i].name);
		ok = k != SS_NONE;
		if (ok)
			at[k] = i;
	}
	for (uint32_t i = comp->first; ok && i < comp->first + comp->n; i++) {
		struct ss_str name;
		size_t pos = 0;
		g->instrs[i].operands.first = g->nlinks;
		while (ok && next_operand(r->operands[i], &pos, &name)) {
			uint32_t to = local(&map, at, name);
			ok = to == SS_NONE || add_link(r, to);
		}
		g->instrs[i].operands.n = g->nlinks - g->instrs[i].operands.first;
	}
	ss_strmap_free(&map);
	return ok || xcli_no_memory(r->x);
}

/* Computations that attributes name, those of one attribute in the order of the text. */
static bool link_called(struct reader *r, uint32_t i)
{
	static const char *const attributes[] = { "to_apply=",	       "calls=",
						  "condition=",	       "body=",
						  "true_computation=", "false_computation=" };
	struct xg_graph *g = r->g;
	struct xg_instr *in = &g->instrs[i];
	in->called.first = g->nlinks;
	for (size_t a = 0; a < SS_COUNT(attributes); a++) {
		struct ss_str rest = in->expression, word = ss_str_from(attributes[a]);
		for (size_t at; (at = ss_str_find(rest, word)) != SS_NPOS;) {
			rest = ss_str_sub(rest, at + word.n, rest.n);
			size_t from = rest.n && rest.p[0] == '%', end = from;
			while (end < rest.n && rest.p[end] != ',' && rest.p[end] != '}' &&
			       !isspace((unsigned char)rest.p[end]))
				end++;
			uint32_t c =
				ss_strmap_get(&g->computation_names, ss_str_sub(rest, from, end));
			if (c != SS_NONE && !add_link(r, c))
				return false;
		}
	}
	in->called.n = g->nlinks - in->called.first;
	return true;
}

/* Users in the order of the instructions, each once; and who calls a computation. */
static bool link_back(struct reader *r)
{
	struct xg_graph *g = r->g;
	uint32_t *fill = calloc(g->n + g->ncomputations + 1, sizeof(*fill)),
		 *callers = fill ? fill + g->n : NULL;
	uint32_t forward = g->nlinks, total = 0;
	if (!fill)
		return xcli_no_memory(r->x);
	for (uint32_t i = 0; i < g->n; i++) {
		for (uint32_t k = 0; k < g->instrs[i].operands.n; k++)
			g->instrs[xg_link(g, g->instrs[i].operands, k)].users.n++;
		for (uint32_t k = 0; k < g->instrs[i].called.n; k++)
			g->computations[xg_link(g, g->instrs[i].called, k)].callers.n++;
	}
	for (uint32_t i = 0; i < g->n; i++) {
		g->instrs[i].users.first = forward + total;
		total += g->instrs[i].users.n;
	}
	for (uint32_t c = 0; c < g->ncomputations; c++) {
		g->computations[c].callers.first = forward + total;
		total += g->computations[c].callers.n;
	}
	uint32_t *links = realloc(g->links, ((size_t)forward + total + 1) * sizeof(*links));
	if (!links) {
		free(fill);
		return xcli_no_memory(r->x);
	}
	g->links = links;
	g->nlinks = forward + total;
	for (uint32_t i = 0; i < g->n; i++) {
		for (uint32_t k = 0; k < g->instrs[i].operands.n; k++) {
			uint32_t o = xg_link(g, g->instrs[i].operands, k),
				 at = g->instrs[o].users.first + fill[o];
			if (!fill[o] || links[at - 1] != i)
				links[at] = i, fill[o]++;
		}
		for (uint32_t k = 0; k < g->instrs[i].called.n; k++) {
			uint32_t c = xg_link(g, g->instrs[i].called, k);
			links[g->computations[c].callers.first + callers[c]++] = i;
		}
	}
	for (uint32_t i = 0; i < g->n; i++)
		g->instrs[i].users.n = fill[i];
	free(fill);
	return true;
}

static bool read_all(struct reader *r, struct ss_str text)
{
	struct xg_graph *g = r->g;
	size_t lines;
	if (!split(r, text, &lines))
		return false;
	g->instrs = SS_NEW_N(&r->x->arena, struct xg_instr, lines + 1);
	r->operands = SS_NEW_N(&r->x->arena, struct ss_str, lines + 1);
	g->by_name = SS_NEW_N(&r->x->arena, uint32_t, lines + 1);
	uint32_t *at = SS_NEW_N(&r->x->arena, uint32_t, lines + 1);
	if (!g->instrs || !r->operands || !g->by_name || !at)
		return xcli_no_memory(r->x);
	memset(g->by_name, 0xff, (lines + 1) * sizeof(*g->by_name));
	bool ok = g->entry == SS_NONE || read_computation(r, g->entry);
	for (uint32_t c = g->ncomputations; ok && c-- > 0;)
		ok = c == g->entry || read_computation(r, c);
	for (uint32_t c = 0; ok && c < g->ncomputations; c++)
		ok = link_operands(r, c, at);
	for (uint32_t i = 0; ok && i < g->n; i++)
		ok = link_called(r, i);
	return ok && link_back(r);
}

bool xg_open(struct xcli *x, const char *module, bool metadata, struct xg_graph *g)
{
	struct reader r = { .x = x, .g = g };
	struct ss_str text;
	*g = (struct xg_graph){ .n = 0 };
	if (!xcli_open(x) || !xg_module(x, module, &g->module) ||
	    !xg_text(x, g->module, metadata ? "long_txt" : "short_txt", &text))
		return false;
	if (read_all(&r, text))
		return true;
	xg_close(g);
	return false;
}

void xg_close(struct xg_graph *g)
{
	free(g->links);
	g->links = NULL;
	ss_strmap_free(&g->names);
	ss_strmap_free(&g->computation_names);
}

static uint32_t by_name(const struct xg_graph *g, struct ss_str name)
{
	uint32_t at = ss_strmap_get(&g->names, name);
	return at == SS_NONE ? SS_NONE : g->by_name[at];
}

uint32_t xg_find(const struct xg_graph *g, const char *name)
{
	struct ss_str s = stripped(ss_str_from(name));
	char buf[512];
	uint64_t id;
	if (s.n && s.p[0] == '%')
		s = ss_str_sub(s, 1, s.n);
	if (ss_str_to_u64(s, &id) && id >= 1 && id <= g->n)
		return (uint32_t)id - 1;
	uint32_t at = by_name(g, s);
	if (at != SS_NONE || s.n >= sizeof(buf))
		return at;
	at = by_name(g, respelt(s, '_', '.', buf, sizeof(buf)));
	if (at != SS_NONE)
		return at;
	size_t last = ss_str_rchr(s, '_');
	if (last != SS_NPOS) {
		struct ss_str one = respelt(s, '\0', '\0', buf, sizeof(buf));
		buf[last] = '.';
		at = by_name(g, one);
	}
	return at != SS_NONE ? at : by_name(g, respelt(s, '.', '_', buf, sizeof(buf)));
}

/* --- for walks --------------------------------------------------------------------------------- */

static struct ss_hlo_list list_of(const void *graph, uint32_t of, enum ss_hlo_tie tie)
{
	const struct xg_graph *g = graph;
	struct xg_list l = tie == SS_HLO_CALLERS  ? g->computations[of].callers
			   : tie == SS_HLO_CALLED ? g->instrs[of].called
			   : tie == SS_HLO_USERS  ? g->instrs[of].users
						  : g->instrs[of].operands;
	return (struct ss_hlo_list){ l.n ? g->links + l.first : NULL, l.n };
}

static struct ss_hlo_body body_of(const void *graph, uint32_t computation)
{
	const struct xg_computation *c = &((const struct xg_graph *)graph)->computations[computation];
	return (struct ss_hlo_body){ c->first, c->n, c->root };
}

static uint32_t computation_of(const void *graph, uint32_t instr)
{
	return ((const struct xg_graph *)graph)->instrs[instr].computation;
}

static bool is_parameter(const void *graph, uint32_t instr)
{
	return ss_str_is(((const struct xg_graph *)graph)->instrs[instr].opcode, "parameter");
}

struct ss_hlo_walk xg_walk(const struct xg_graph *g)
{
	return (struct ss_hlo_walk){ g, g->n, g->ncomputations, list_of, body_of, computation_of, is_parameter };
}
