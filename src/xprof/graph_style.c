/* graph_style.c - colours and words of nodes and boxes. */
#include "xprof/graph_style.h"

#include "base/html.h"

/* The style of a class of instructions: text, border, inside. The colours are those of the compiler's drawings. */
static const struct ss_node_style styles[] = {
	{ "elementwise", "black", "#9e9e9e", "white" },	  { "movement", "black", "#97b498", "#c8e6c9" },
	{ "update", "black", "#cbc693", "#fff9c4" },	  { "heavy", "white", "#003c8f", "#1565c0" },
	{ "parameter", "black", "#cbae82", "#ffe0b2" },	  { "reduction", "black", "#af8eb5", "#e1bee7" },
	{ "container", "black", "#9ea7aa", "#cfd8dc" },	  { "communication", "black", "#8c7b75", "#bcaaa4" },
	{ "control", "white", "#005005", "#2e7d32" },
};

static const struct ss_node_style root_style = { "root", "white", "#7f0000", "#b71c1c" };
static const struct ss_node_style omitted_style = { "omitted", "#757575", "#757575", "white" };
static const struct ss_node_style large_parameter = { "parameter", "black", "#c88719", "#ffb74d" };

bool ss_graph_is_omitted(struct ss_str state)
{
	return ss_str_contains(state, SS_STR("omitted"));
}

const struct ss_node_style *ss_node_style_of(const struct ss_table *t, size_t row)
{
	struct ss_str class = ss_cell_str(t, row, "class"), state = ss_cell_str(t, row, "state");
	if (ss_str_eq(state, SS_STR("root")))
		return &root_style;
	if (ss_graph_is_omitted(state))
		return &omitted_style;
	if (ss_cell_bool(t, row, "large") && ss_str_is(class, large_parameter.class))
		return &large_parameter;
	for (size_t i = 0; i < SS_COUNT(styles); i++)
		if (ss_str_is(class, styles[i].class))
			return &styles[i];
	return &styles[0];
}

static void escape(struct ss_out *o, struct ss_str s)
{
	size_t run = 0;
	for (size_t i = 0; i < s.n; i++) {
		char c = s.p[i];
		struct ss_str as = c == '\'' ? SS_STR("") : ss_html_entity(c);
		if (!as.n && ((unsigned char)c >= 0x20 || c == '\n' || c == '\t'))
			continue;
		ss_out_str(o, ss_str_sub(s, run, i));
		ss_out_str(o, as.n ? as : SS_STR(" "));
		run = i + 1;
	}
	ss_out_str(o, ss_str_sub(s, run, s.n));
}

void ss_graph_escaped(struct ss_out *o, struct ss_str s)
{
	escape(o, ss_utf8_valid(s) ? s : SS_STR("?"));
}

/* --- lines ------------------------------------------------------------------------------------- */

struct lines {
	ss_graph_line_fn *fn;
	void *arg;
};

static void say(const struct lines *l, struct ss_str text, enum ss_graph_style style)
{
	l->fn(l->arg, &(struct ss_graph_line){ { { text, style } } });
}

static void plain(const struct lines *l, struct ss_str text)
{
	say(l, text, SS_GRAPH_PLAIN);
}

static bool next_line(struct ss_str *rest, struct ss_str *line)
{
	if (!rest->n)
		return false;
	size_t end = ss_str_chr(*rest, '\n');
	*line = ss_str_sub(*rest, 0, end == SS_NPOS ? rest->n : end);
	*rest = ss_str_sub(*rest, line->n + 1, rest->n);
	return true;
}

static size_t put(char *to, size_t n, size_t room, struct ss_str s)
{
	size_t take = s.n < room - n ? s.n : room - n;
	memcpy(to + n, s.p, take);
	return n + take;
}

/* "label", or "label 2" where the line is "2<tab>text". */
static struct ss_str labelled(char *to, size_t room, const char *label, struct ss_str line, size_t tab)
{
	size_t n = put(to, 0, room, ss_str_from(label));
	if (tab) {
		n = put(to, n, room, SS_STR(" "));
		n = put(to, n, room, ss_str_sub(line, 0, tab));
	}
	return (struct ss_str){ to, n };
}

static void subcomputations(const struct lines *l, struct ss_str all)
{
	struct ss_str line;
	while (next_line(&all, &line)) {
		char label[48];
		size_t tab = ss_str_chr(line, '\t');
		struct ss_str name = ss_str_sub(line, tab == SS_NPOS ? 0 : tab + 1, line.n);
		struct ss_str head = labelled(label, sizeof(label), "Subcomputation", line, tab == SS_NPOS ? 0 : tab);
		l->fn(l->arg, &(struct ss_graph_line){
				      { { head, SS_GRAPH_PLAIN }, { SS_STR(": "), SS_GRAPH_PLAIN }, { name, SS_GRAPH_STRONG } } });
	}
}

/* A line without a tab is no operand but says something of them all. */
static void operands(const struct lines *l, struct ss_str all)
{
	struct ss_str line;
	while (next_line(&all, &line)) {
		char label[48];
		size_t tab = ss_str_chr(line, '\t');
		if (tab == SS_NPOS) {
			plain(l, line);
			continue;
		}
		struct ss_str head = labelled(label, sizeof(label), "operand", line, tab);
		struct ss_str text = ss_str_sub(line, tab + 1, line.n);
		l->fn(l->arg, &(struct ss_graph_line){
				      { { head, SS_GRAPH_STRONG }, { SS_STR(" = "), SS_GRAPH_PLAIN }, { text, SS_GRAPH_PLAIN } } });
	}
}

/* That a convolution is grouped is easily overlooked. */
static void attributes(const struct lines *l, struct ss_str all)
{
	struct ss_str line;
	while (next_line(&all, &line))
		say(l, line, ss_str_starts(line, SS_STR("feature_group_count=")) ? SS_GRAPH_STRONG : SS_GRAPH_PLAIN);
}

static void config(const struct lines *l, struct ss_str text)
{
	if (text.n)
		l->fn(l->arg, &(struct ss_graph_line){ { { SS_STR("backend_config=\""), SS_GRAPH_PLAIN },
							 { text, SS_GRAPH_PLAIN },
							 { SS_STR("\""), SS_GRAPH_PLAIN } } });
}

/* More than one setting stands apart from the rest. */
static void library(const struct lines *l, struct ss_str all)
{
	struct ss_str line;
	if (ss_str_chr(all, '\n') != SS_NPOS)
		plain(l, SS_STR(""));
	while (next_line(&all, &line))
		plain(l, line);
}

void ss_graph_lines(const struct ss_table *t, size_t row, ss_graph_line_fn *fn, void *arg)
{
	struct lines l = { fn, arg };
	struct ss_str settings = ss_cell_str(t, row, "library"), origin = ss_cell_str(t, row, "origin");
	say(&l, ss_cell_str(t, row, "title"), SS_GRAPH_STRONG);
	if (ss_cell_str(t, row, "opcode").n)
		plain(&l, ss_cell_str(t, row, "opcode"));
	subcomputations(&l, ss_cell_str(t, row, "subcomputations"));
	if (origin.n)
		fn(arg, &(struct ss_graph_line){ { { SS_STR("from "), SS_GRAPH_SLANTED }, { origin, SS_GRAPH_SLANTED } } });
	attributes(&l, ss_cell_str(t, row, "attributes"));
	plain(&l, ss_cell_str(t, row, "shape"));
	operands(&l, ss_cell_str(t, row, "inlined"));
	if (settings.n)
		library(&l, settings);
	else
		config(&l, ss_cell_str(t, row, "backend_config"));
}

void ss_graph_box_lines(const struct ss_table *t, size_t row, ss_graph_line_fn *fn, void *arg)
{
	struct lines l = { fn, arg };
	bool fusion = ss_cell_bool(t, row, "fusion");
	fn(arg, &(struct ss_graph_line){
			{ { fusion ? SS_STR("Fused expression for ") : SS_STR("Subcomputation for "), SS_GRAPH_PLAIN },
			  { ss_cell_str(t, row, "name"), SS_GRAPH_STRONG } } });
	if (!fusion) {
		plain(&l, ss_cell_str(t, row, "computation"));
		return;
	}
	fn(arg, &(struct ss_graph_line){
			{ { ss_cell_str(t, row, "kind"), SS_GRAPH_PLAIN }, { SS_STR(" fusion"), SS_GRAPH_PLAIN } } });
	attributes(&l, ss_cell_str(t, row, "attributes"));
	config(&l, ss_cell_str(t, row, "backend_config"));
}

void ss_graph_title(const struct ss_table *t, ss_graph_line_fn *fn, void *arg)
{
	const enum ss_graph_style s = SS_GRAPH_PLAIN;
	struct lines l = { fn, arg };
	struct ss_str name = ss_shape_prop_text(t, "node_name"), width = ss_shape_prop_text(t, "graph_width");
	struct ss_str computation = ss_shape_prop_text(t, "computation"), fusion = ss_shape_prop_text(t, "fusion");
	struct ss_str callers = ss_shape_prop_text(t, "callers");
	if (name.n)
		fn(arg, &(struct ss_graph_line){ { { SS_STR("Neighborhood of "), s }, { width, s },
						   { SS_STR(" nodes around "), s }, { name, s } } });
	else
		plain(&l, SS_STR(""));
	if (fusion.n)
		fn(arg, &(struct ss_graph_line){ { { SS_STR("Computation "), s }, { computation, s },
						   { SS_STR(" (in fusion instruction "), s }, { fusion, s },
						   { SS_STR(")"), s } } });
	else
		fn(arg, &(struct ss_graph_line){ { { SS_STR("Computation "), s }, { computation, s } } });
	if (!fusion.n && ss_str_eq(ss_shape_prop_text(t, "entry"), SS_STR("true")))
		plain(&l, SS_STR("ENTRY computation"));
	else if (!fusion.n && callers.n)
		fn(arg, &(struct ss_graph_line){ { { SS_STR("Caller instructions: "), s }, { callers, s } } });
}
