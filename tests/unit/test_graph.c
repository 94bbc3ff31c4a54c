/* test_graph.c - neighbourhoods in the sample programs. */
#include "unit/unit.h"

#include "base/file.h"
#include "hlo/pbtxt.h"
#include "model/program/hlo_graph.h"

#include <stdio.h>

struct opened {
	struct ss_file file;
	struct ss_hlo_module m;
	struct ss_hlo_graph g;
	struct ss_arena arena;
};

static void open_graph(struct opened *o, const char *name, const char *node, uint32_t radius, bool merge)
{
	char path[400];
	struct ss_hlo_graph_request ask = { .radius = radius, .merge_fusions = merge, .max_nodes = 1000 };

	memset(o, 0, sizeof(*o));
	snprintf(path, sizeof(path), "%s/hlo/%s.pb", SS_TEST_DATA, name);
	assert_ok(ss_file_open(&o->file, path, &err));
	ss_hlo_open(&o->m, o->file.bytes);
	assert_ok(ss_hlo_index(&o->m, &err));
	ask.instr = ss_hlo_instr_by_name(&o->m, ss_str_from(node));
	assert_int_not_equal(ask.instr, SS_NONE);
	assert_ok(ss_hlo_graph_of(&o->g, &o->m, &ask, &o->arena, &err));
}

static void close_graph(struct opened *o)
{
	ss_hlo_close(&o->m);
	ss_arena_release(&o->arena);
	ss_file_close(&o->file);
}

static struct ss_str node_name(const struct opened *o, uint32_t node)
{
	struct ss_hlo_instr i;

	ss_hlo_instr_read(o->m.instrs[o->g.nodes[node].instr], &i);
	return i.name;
}

static bool has_edge(const struct opened *o, const char *from, const char *to)
{
	for (uint32_t i = 0; i < o->g.nedges; i++)
		if (ss_str_is(node_name(o, o->g.edges[i].from), from) && ss_str_is(node_name(o, o->g.edges[i].to), to))
			return true;
	return false;
}

static void opens_fusions(void **state)
{
	static struct opened o;

	(void)state;
	open_graph(&o, "control", "f", 2, false);
	/* The fusion is a box; its operand leads to its parameter, its root to its user. */
	assert_int_equal(o.g.nclusters, 3);
	assert_true(has_edge(&o, "c1", "p.5"));
	assert_true(has_edge(&o, "r.3", "cs"));
	assert_true(has_edge(&o, "r", "c1"));
	assert_int_equal(o.g.node_of[ss_hlo_instr_by_name(&o.m, SS_STR("f"))], SS_NONE);
	close_graph(&o);
}

static void merges_fusions(void **state)
{
	static struct opened o;
	uint32_t node;

	(void)state;
	open_graph(&o, "control", "f", 1, true);
	node = o.g.node_of[ss_hlo_instr_by_name(&o.m, SS_STR("f"))];
	assert_int_not_equal(node, SS_NONE);
	assert_int_equal(o.g.nodes[node].state, SS_GRAPH_ROOT);
	assert_true(has_edge(&o, "c1", "f"));
	assert_true(has_edge(&o, "f", "cs"));
	/* c1's operands are elements of a tuple, one step too far. */
	assert_int_equal(o.g.nodes[o.g.node_of[ss_hlo_instr_by_name(&o.m, SS_STR("c1"))]].state, SS_GRAPH_OPERANDS_OMITTED);
	close_graph(&o);
}

static void stops_at_the_limit(void **state)
{
	static struct opened o;
	struct ss_hlo_graph_request ask = { .radius = 3, .max_nodes = 4 };

	(void)state;
	open_graph(&o, "control", "f", 0, false);
	ask.instr = ss_hlo_instr_by_name(&o.m, SS_STR("w"));
	assert_ok(ss_hlo_graph_of(&o.g, &o.m, &ask, &o.arena, &err));
	assert_true(o.g.nleft_out > 0);
	close_graph(&o);
}

static void prints_protos(void **state)
{
	static struct opened o;
	struct ss_buf b = { 0 };
	const struct ss_str begin = SS_STR("hlo_module {\n  name: \"control\"\n"
					   "  entry_computation_name: \"main\"\n  computations {\n"
					   "    name: \"body\"\n    instructions {\n"
					   "      name: \"p\"\n      opcode: \"parameter\"\n"
					   "      shape {\n        element_type: TUPLE\n");

	(void)state;
	open_graph(&o, "control", "f", 0, false);
	ss_hlo_pbtxt(&b, o.m.bytes);
	assert_true(ss_str_starts(ss_buf_get(&b), begin));
	assert_true(ss_str_ends(ss_buf_get(&b), SS_STR("  frontend_attributes {\n  }\n}\n")));
	ss_buf_free(&b);
	close_graph(&o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(opens_fusions), cmocka_unit_test(merges_fusions), cmocka_unit_test(stops_at_the_limit),
		cmocka_unit_test(prints_protos),
	};
	return RUN_TESTS(tests);
}
