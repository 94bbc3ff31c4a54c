/* test_keras_graph.c - the layers of models as Keras 2 writes them; what Keras 3 writes is recorded (data/events/keras_model). */
#include "unit/unit.h"

#include "base/buf.h"
#include "legacy/files/graphdef.h"
#include "legacy/files/keras_graph.h"

#include <stdio.h>

/* "name<input,input" of each layer, with blanks between them. */
static void read_layers(const char *json, char *out, size_t size)
{
	struct ss_arena arena = { 0 };
	struct ss_graphdef g;
	struct ss_str graph;
	size_t n = 0;
	assert_ok(ss_keras_graph_read(ss_str_from(json), &graph, &arena, &err));
	assert_ok(ss_graphdef_read(&g, &graph, 1, NULL, &arena, &err));
	for (uint32_t i = 0; i < g.nnodes && n < size; i++) {
		struct ss_graph_inputs it = ss_graph_inputs_of(&g.nodes[i]);
		struct ss_graph_input in;
		n += (size_t)snprintf(out + n, size - n, "%s" SS_FMT, i ? " " : "", SS_ARG(g.nodes[i].name));
		for (bool first = true; ss_graph_inputs_next(&it, &in) && n < size; first = false)
			n += (size_t)snprintf(out + n, size - n, "%s" SS_FMT, first ? "<" : ",", SS_ARG(in.name));
	}
	ss_arena_release(&arena);
}

static void reads_models_of_keras_2(void **state)
{
	static const char json[] =
		"{\"class_name\": \"Functional\", \"config\": {\"name\": \"m\", \"layers\": ["
		"{\"class_name\": \"InputLayer\", \"config\": {\"name\": \"i\"}, \"name\": \"i\", \"inbound_nodes\": []},"
		"{\"class_name\": \"Sequential\", \"config\": {\"name\": \"s\", \"layers\": ["
		"{\"class_name\": \"Dense\", \"config\": {\"name\": \"d\", \"units\": 3}},"
		"{\"class_name\": \"Dense\", \"config\": {\"name\": \"e\"}}]},"
		" \"name\": \"s\", \"inbound_nodes\": [[[\"i\", 0, 0, {}]]]},"
		"{\"class_name\": \"Add\", \"config\": {\"name\": \"j\"}, \"name\": \"j\", "
		"\"inbound_nodes\": [[[\"s\", 1, 0, {}], [\"i\", 0, 0, {\"y\": [\"s\", 1, 0]}]]]}],"
		"\"input_layers\": [[\"i\", 0, 0]], \"output_layers\": [[\"j\", 0, 0]]}, \"keras_version\": \"2.15.0\"}";
	char got[200];
	(void)state;
	read_layers(json, got, sizeof(got));
	assert_string_equal(got, "m/i m/s/d<m/i m/s/e<m/s/d m/j<m/s/e,m/i,m/s/e");
}

static void refuses_what_tells_no_layers(void **state)
{
	static const struct {
		const char *json;
		enum ss_errcode code;
	} bad[] = {
		{ "{\"class_name\": \"Mine\", \"config\": {}}", SS_ENODATA },
		{ "[]", SS_ENODATA }, { "{", SS_EFORMAT }, { "", SS_EFORMAT },
	};
	(void)state;
	for (size_t i = 0; i < SS_COUNT(bad); i++) {
		struct ss_arena arena = { 0 };
		struct ss_err err = { 0 };
		struct ss_str graph;
		assert_false(ss_keras_graph_read(ss_str_from(bad[i].json), &graph, &arena, &err));
		assert_int_equal(err.code, bad[i].code);
		ss_arena_release(&arena);
	}
}

/* Models one in another, more than are looked into, with names that are longer than is kept. */
static void bounds_what_it_keeps(void **state)
{
	enum { DEPTH = 60, NAME = 1000 };
	struct ss_buf b = { 0 };
	struct ss_arena arena = { 0 };
	struct ss_str graph;
	(void)state;
	for (int i = 0; i < DEPTH; i++) {
		ss_buf_z(&b, "{\"class_name\": \"Sequential\", \"config\": {\"name\": \"");
		for (int k = 0; k < NAME; k++)
			ss_buf_char(&b, 'a');
		ss_buf_z(&b, "\", \"layers\": [");
	}
	for (int i = 0; i < DEPTH; i++)
		ss_buf_z(&b, "]}}");
	assert_ok(ss_keras_graph_read(ss_buf_get(&b), &graph, &arena, &err));
	assert_true(graph.n > 0 && graph.n < 20000);
	ss_arena_release(&arena);
	ss_buf_free(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_models_of_keras_2),
		cmocka_unit_test(refuses_what_tells_no_layers),
		cmocka_unit_test(bounds_what_it_keeps),
	};
	return RUN_TESTS(tests);
}
