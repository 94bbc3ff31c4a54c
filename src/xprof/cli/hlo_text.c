/*
 * hlo_text.c - programs as text: get_hlo_module_content, get_hlo_text, get_graph_viewer,
 * get_hlo_neighborhood.
 */
#include "xprof/cli/graph.h"
#include "xprof/cli/modules.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

static size_t count_lines(struct ss_str s)
{
	size_t n = 0;
	for (size_t i = 0; i < s.n; i++)
		n += s.p[i] == '\n';
	return n + (s.n && s.p[s.n - 1] != '\n');
}

/* The first lines, without the end of the last. */
static struct ss_str first_lines(struct ss_str s, size_t n)
{
	size_t i = 0;
	for (; i < s.n; i++)
		if (s.p[i] == '\n' && !--n)
			break;
	return ss_str_sub(s, 0, i);
}

/* A text and a sentence behind it. */
static struct ss_str with_note(struct xcli *x, struct ss_str text, const char *note)
{
	size_t n = strlen(note);
	char *p = ss_arena_alloc(&x->arena, text.n + n + 1);
	if (!p) {
		x->make.no_memory = true;
		return SS_STR("");
	}
	memcpy(p, text.p, text.n);
	memcpy(p + text.n, note, n + 1);
	return (struct ss_str){ p, text.n + n };
}

static struct ss_str cut(struct xcli *x, struct ss_str text, size_t lines, int64_t most)
{
	char note[160];
	if (most <= 0 || lines <= (uint64_t)most)
		return text;
	snprintf(note, sizeof(note),
		 "\n... [the first %lld of %zu lines; --max_lines=-1 gives all]", (long long)most,
		 lines);
	return with_note(x, first_lines(text, (size_t)most), note);
}

static struct xv *text_value(struct xcli *x, struct ss_str text)
{
	struct xv *list = xv_array(&x->make);
	xv_str(list, NULL, text);
	return xv_length(list) ? list->m.v[0].value : NULL;
}

bool xcli_get_hlo_module_content(struct xcli *x, struct xv **out)
{
	struct ss_str module, text;
	int64_t most;
	if (!xcli_int(x, "max_lines", &most) || !xcli_open(x) ||
	    !xg_module(x, xcli_text(x, "module_name"), &module))
		return false;
	if (strcmp(xcli_text(x, "fmt"), "text") != 0)
		return xcli_fail(x, XCLI_INVALID, "--fmt: only 'text' is known, not '%.100s'",
				 xcli_text(x, "fmt"));
	if (!xg_text(x, module, xcli_flag(x, "print_metadata") ? "long_txt" : "short_txt", &text))
		return false;
	size_t lines = count_lines(text);
	struct xv *v = *out = xv_object(&x->make);
	xv_z(v, "status", "SUCCESS");
	xv_str(v, "module_name", module);
	xv_u64(v, "line_count", lines);
	xv_bool(v, "truncated", most > 0 && lines > (uint64_t)most);
	xv_str(v, "content", cut(x, text, lines, most));
	return true;
}

/* --- neighbourhood ----------------------------------------------------------------------------- */

struct around {
	struct xcli *x;
	struct xg_graph *g;
	int64_t radius;
	uint32_t most;
	unsigned direction; /* enum ss_hlo_direction */
	bool calls, blockers, markdown;
	struct ss_str filter; /* part of an opcode, or "" */
	struct ss_hlo_near near;
	int64_t *distance; /* of those that are shown */
	bool *shown;
	uint32_t nshown, nfound;
};

static bool read_direction(struct xcli *x, struct around *a)
{
	static const char *const up[] = { "parents",  "up",	   "upstream",
					  "operands", "producers", "inputs" };
	static const char *const down[] = { "children", "down",	     "downstream",
					    "users",	"consumers", "outputs" };
	struct ss_str word = ss_str_from(xcli_text(x, "direction"));
	if (!word.n || ss_str_ieq(word, SS_STR("both")) || ss_str_ieq(word, SS_STR("all")))
		a->direction = SS_HLO_UP | SS_HLO_DOWN;
	for (size_t i = 0; i < SS_COUNT(up); i++) {
		a->direction |= ss_str_ieq(word, ss_str_from(up[i])) ? SS_HLO_UP : 0;
		a->direction |= ss_str_ieq(word, ss_str_from(down[i])) ? SS_HLO_DOWN : 0;
	}
	if (a->direction)
		return true;
	return xcli_fail(x, XCLI_INVALID,
			 "There is no direction '" SS_FMT "': use both, operands or users",
			 SS_ARG(word));
}

static bool passes(const struct around *a, uint32_t i)
{
	struct ss_str opcode = a->g->instrs[i].opcode;
	for (size_t k = 0; k + a->filter.n <= opcode.n; k++)
		if (ss_str_ieq(ss_str_sub(opcode, k, k + a->filter.n), a->filter))
			return true;
	return false;
}

static void show(struct around *a, uint32_t i, int64_t distance)
{
	if (!passes(a, i))
		return;
	a->nfound++;
	if (a->nshown >= a->most)
		return;
	a->shown[i] = true;
	a->distance[i] = distance;
	a->nshown++;
}

static bool walk(struct around *a, uint32_t centre)
{
	struct ss_hlo_walk w = xg_walk(a->g);
	uint32_t radius = a->radius < 0 ? 0 : a->radius > INT32_MAX ? INT32_MAX : (uint32_t)a->radius;
	if (!ss_hlo_near_of(&a->near, &w, centre, radius, a->direction, false, &a->x->arena))
		return xcli_no_memory(a->x);
	a->shown[centre] = true;
	a->nshown = a->nfound = 1;
	for (uint32_t k = 1; k < a->near.n; k++)
		show(a, a->near.order[k], a->near.distance[a->near.order[k]]);
	return true;
}

/* Instructions of what the shown ones call, one step behind the farthest; computations by name. */
static bool walk_calls(struct around *a)
{
	const struct xg_graph *g = a->g;
	bool *wanted = SS_NEW_N(&a->x->arena, bool, g->ncomputations + 1);
	if (!wanted)
		return xcli_no_memory(a->x);
	for (uint32_t i = 0; i < a->near.n; i++) {
		const struct xg_instr *in = &g->instrs[a->near.order[i]];
		for (uint32_t k = 0; a->shown[a->near.order[i]] && k < in->called.n; k++)
			wanted[xg_link(g, in->called, k)] = true;
	}
	for (uint32_t done = 0; done < g->ncomputations; done++) {
		uint32_t least = SS_NONE;
		for (uint32_t c = 0; c < g->ncomputations; c++)
			if (wanted[c] &&
			    (least == SS_NONE ||
			     ss_str_cmp(g->computations[c].name, g->computations[least].name) < 0))
				least = c;
		if (least == SS_NONE)
			break;
		wanted[least] = false;
		for (uint32_t i = g->computations[least].first;
		     i < g->computations[least].first + g->computations[least].n; i++)
			if (!a->shown[i])
				show(a, i, a->radius + 1);
	}
	return true;
}

struct place {
	const struct xg_graph *g;
	int64_t distance;
	uint32_t i;
};

static int by_distance(const void *p, const void *q)
{
	const struct place *a = p, *b = q;
	return SS_CMP(a->distance, b->distance) ?: ss_str_cmp(a->g->instrs[a->i].name, b->g->instrs[b->i].name) ?:
	       SS_CMP(a->i, b->i);
}

static bool print(struct around *a, uint32_t centre, struct xv **out)
{
	const struct xg_graph *g = a->g;
	struct place *v = SS_NEW_N(&a->x->arena, struct place, a->nshown + 1);
	struct ss_buf b = { 0 };
	uint32_t n = 0;
	if (!v)
		return xcli_no_memory(a->x);
	for (uint32_t i = 0; i < g->n; i++)
		if (a->shown[i])
			v[n++] = (struct place){ g, a->distance[i], i };
	qsort(v, n, sizeof(*v), by_distance);
	ss_buf_printf(&b,
		      "%sNeighborhood of '" SS_FMT "' (radius=%lld):", a->markdown ? "### " : "",
		      SS_ARG(g->instrs[centre].name), (long long)a->radius);
	for (uint32_t k = 0; k < n; k++) {
		const struct xg_instr *i = &g->instrs[v[k].i];
		ss_buf_printf(&b, "\n%s[dist=%lld] [" SS_FMT "] ", a->markdown ? "- " : "  ",
			      (long long)v[k].distance,
			      SS_ARG(g->computations[i->computation].name));
		ss_buf_str(&b, i->expression);
		if (a->blockers && xg_is_blocker(i))
			ss_buf_printf(&b, " [FUSION_BLOCKER: " SS_FMT "]", SS_ARG(i->opcode));
	}
	if (a->nfound > a->nshown)
		ss_buf_printf(&b,
			      "\n  ... [the first %u of %u instructions; --max_nodes gives more]",
			      a->nshown, a->nfound);
	struct ss_str text = b.no_memory ? (struct ss_str){ NULL, 0 }
					 : ss_arena_str(&a->x->arena, ss_buf_get(&b));
	ss_buf_free(&b);
	*out = text.p ? text_value(a->x, text) : NULL;
	return text.p || xcli_no_memory(a->x);
}

static bool neighbourhood(struct around *a, const char *name, struct xv **out)
{
	struct xcli *x = a->x;
	uint32_t centre = xg_find(a->g, name), n = a->g->n + 1;
	if (centre == SS_NONE) {
		struct ss_str text =
			ss_arena_printf(&x->arena, "Instruction '%.300s' not found in HLO module.",
					name + (*name == '%'));
		*out = text.p ? text_value(x, text) : NULL;
		return text.p || xcli_no_memory(x);
	}
	a->distance = SS_NEW_N(&x->arena, int64_t, n);
	a->shown = SS_NEW_N(&x->arena, bool, n);
	if (!a->distance || !a->shown)
		return xcli_no_memory(x);
	return walk(a, centre) && (!a->calls || walk_calls(a)) && print(a, centre, out);
}

/* An error that XProf says in words, with status 0. */
static bool say_error(struct xcli *x, struct xv **out)
{
	*out = text_value(x, x->error);
	x->status = XCLI_OK;
	return *out || xcli_no_memory(x);
}

static bool of_module(struct xcli *x, struct around *a, const char *name, bool metadata,
		      struct xv **out)
{
	struct xg_graph g;
	a->x = x;
	a->g = &g;
	if (!xg_open(x, xcli_text(x, "module_name"), metadata, &g))
		return x->status == XCLI_INTERNAL ? false : say_error(x, out);
	bool ok = neighbourhood(a, name, out);
	xg_close(&g);
	return ok;
}

bool xcli_get_hlo_neighborhood(struct xcli *x, struct xv **out)
{
	const char *name = xcli_text(x, "instruction_name"), *op = xcli_text(x, "op_name");
	struct around a = { .calls = xcli_flag(x, "follow_calls"),
			    .blockers = xcli_flag(x, "detect_fusion_blockers") };
	int64_t most;
	if (*name && *op && strcmp(name, op) != 0)
		return xcli_fail(x, XCLI_INVALID,
				 "--instruction_name and --op_name name different instructions");
	name = *name ? name : op;
	if (!*name)
		return xcli_fail(x, XCLI_INVALID, "--instruction_name is needed");
	if (!xcli_int(x, "radius", &a.radius) || !xcli_int(x, "max_nodes", &most) ||
	    !read_direction(x, &a))
		return false;
	a.most = most < 0 ? 0 : most > INT32_MAX ? INT32_MAX : (uint32_t)most;
	a.markdown = strcmp(xcli_text(x, "fmt"), "markdown") == 0;
	a.filter = ss_str_from(xcli_text(x, "opcode_filter"));
	return of_module(x, &a, name, xcli_flag(x, "print_metadata"), out);
}

/* --- get_hlo_text ------------------------------------------------------------------------------ */

#define PREVIEW_LINES 50

static bool save(struct xcli *x, const char *path, struct ss_str text)
{
	FILE *f = fopen(path, "wb");
	bool ok = f && fwrite(text.p, 1, text.n, f) == text.n;
	int why = errno;
	if (f && fclose(f) != 0)
		ok = false;
	return ok || xcli_fail(x, XCLI_PATH, "Cannot write '%s': %s", path, strerror(why));
}

bool xcli_get_hlo_text(struct xcli *x, struct xv **out)
{
	const char *path = xcli_text(x, "path"), *op = xcli_text(x, "op_name"),
		   *name = xcli_text(x, "module_name");
	struct ss_str module, text, shown;
	int64_t most;
	if (!xcli_int(x, "max_lines", &most) || !xcli_open(x) || !xg_module(x, name, &module))
		return false;
	if (*op) {
		struct around a = { .radius = 2, .most = 200, .direction = SS_HLO_UP | SS_HLO_DOWN };
		struct xv *answer;
		if (!of_module(x, &a, op, false, &answer))
			return false;
		text = answer->s;
	} else if (!xg_text(x, module, "short_txt", &text)) {
		return false;
	}
	size_t lines = count_lines(text), returned = lines;
	shown = text;
	if (*path && !save(x, path, text))
		return false;
	if (*path && lines > PREVIEW_LINES) {
		returned = PREVIEW_LINES;
		shown = with_note(x, first_lines(text, PREVIEW_LINES),
				  "\n... [the file has all lines]");
	} else if (!*path && most > 0 && lines > (uint64_t)most) {
		returned = (size_t)most;
		shown = cut(x, text, lines, most);
	}
	struct xv *v = *out = xv_object(&x->make);
	xv_z(v, "status", "SUCCESS");
	xv_str(v, "module_name", module);
	if (*op)
		xv_z(v, "op_name", op);
	else
		xv_null(v, "op_name");
	if (*path)
		xv_z(v, "saved_to_path", path);
	else
		xv_null(v, "saved_to_path");
	xv_bool(v, "truncated", returned < lines);
	xv_u64(v, "line_count", lines);
	xv_u64(v, "returned_line_count", returned);
	xv_u64(v, "byte_count", text.n);
	xv_str(v, "content", shown);
	return true;
}

/* --- get_graph_viewer -------------------------------------------------------------------------- */

bool xcli_get_graph_viewer(struct xcli *x, struct xv **out)
{
	static const struct {
		const char *flag, *param;
	} passed[] = { { "node_name", "node_name" },
		       { "graph_width", "graph_width" },
		       { "output_type", "type" } };
	struct ss_param_value *p = SS_NEW_N(&x->arena, struct ss_param_value, SS_COUNT(passed) + 3);
	struct ss_str module;
	struct ss_err err;
	int64_t most;
	size_t n = 0;
	if (!p)
		return xcli_no_memory(x);
	if (xcli_given(x, "symbol_id"))
		return xcli_fail(x, XCLI_INVALID, "--symbol_id is not supported: give a session");
	if (!xcli_int(x, "max_lines", &most) || !xcli_open(x) ||
	    !xg_module(x, xcli_text(x, "module_name"), &module))
		return false;
	if (strcmp(xcli_text(x, "output_type"), "graph") == 0)
		return xcli_fail(x, XCLI_INVALID,
				 "A drawing (--output_type=graph) is not text: get_hlo_neighborhood "
				 "lists what is near an instruction, and 'stepscope serve' draws it");
	p[n++] = (struct ss_param_value){ SS_STR("module_name"), module };
	for (size_t i = 0; i < SS_COUNT(passed); i++)
		if (*xcli_text(x, passed[i].flag))
			p[n++] = (struct ss_param_value){ ss_str_from(passed[i].param),
							  ss_str_from(
								  xcli_text(x, passed[i].flag)) };
	/* XProf's texts have no metadata, whatever --show_metadata says. */
	if (!ss_str_ends(ss_str_from(xcli_text(x, "output_type")), SS_STR("_txt")) &&
	    xcli_flag(x, "show_metadata"))
		p[n++] = (struct ss_param_value){ SS_STR("show_metadata"), SS_STR("true") };
	p[n++] = (struct ss_param_value){
		SS_STR("merge_fusion"), ss_str_from(xcli_flag(x, "merge_fusion") ? "true" : "false")
	};
	const struct ss_result *r = xcli_tool_of(x, "graph_viewer", p, n, &err);
	if (!r)
		return xcli_failed(x, &err);
	if (!r->content_type)
		return xcli_fail(x, XCLI_INVALID, "The graph of type '%.100s' is not text",
				 xcli_text(x, "output_type"));
	struct ss_str text = r->body;
	*out = text_value(x, cut(x, text, count_lines(text), most));
	return true;
}
