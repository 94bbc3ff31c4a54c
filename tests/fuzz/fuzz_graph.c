/*
 * fuzz_graph.c - any bytes as a graph in any of its forms (event file, GraphDef, SavedModel, text),
 * and every question to the tool that shows it: an answer or a reason.
 */
#include "legacy/model/tfgraph.h"
#include "sweep/drive.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* All attributes and inputs, also those that no answer holds. */
static void visit(struct ss_host *h)
{
	const struct ss_tfgraph *g = ss_host_tfgraph(h, NULL);
	struct ss_arena arena = { 0 };

	for (uint32_t i = 0; g && i < g->nops; i++) {
		const struct ss_graph_node *n = g->ops[i].node;
		struct ss_graph_inputs inputs = ss_graph_inputs_of(n);
		struct ss_graph_attrs attrs = ss_graph_attrs_of(n);
		struct ss_graph_input input;
		struct ss_str name, value;

		if (g->ops[i].scope >= g->nscopes)
			abort();
		while (ss_graph_inputs_next(&inputs, &input))
			if (input.name.n > n->body.n)
				abort();
		while (ss_graph_attrs_next(&attrs, &name, &value))
			if (!ss_graph_attr_text(value, &arena).p)
				abort();
	}
	ss_arena_release(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct sample graph = { .path = "fuzz", .kind = "graph" };
	static struct drive d;
	const struct ss_tool *tool = ss_tool_find(SS_STR("tf_graph"));
	struct ss_err err = { 0 };
	uint64_t digest;

	if (!drive_open(&d, &graph, (struct ss_str){ (const char *)data, size }, &err))
		abort();
	visit(&d.host);
	for (size_t k = 0; drive_question(tool, k); k++) {
		struct ss_err why = { 0 };

		if (!drive_run(&d, tool, drive_question(tool, k), &digest, &why) && (!why.code || !why.text[0]))
			abort();
	}
	drive_close(&d);
	return 0;
}
