/*
 * fuzz_hlo_texts.c - any bytes as a compiled program: texts, graphs, buffers and heaps end in
 * bounded time and memory.
 */
#include "fuzz/mutate.h"
#include "hlo/config.h"
#include "hlo/library_call.h"
#include "hlo/pbtxt.h"
#include "hlo/text.h"
#include "model/program/heap.h"
#include "model/program/hlo_graph.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void print_texts(const struct ss_hlo_module *m)
{
	for (int style = SS_HLO_SHORT; style <= SS_HLO_LONG; style++) {
		struct ss_buf b = { .limit_bytes = m->bytes.n * 64 + 4096 };

		ss_hlo_text(&b, m, (enum ss_hlo_style)style, style == SS_HLO_LONG, NULL);
		if (b.n > b.limit_bytes)
			abort();
		ss_buf_free(&b);
	}
	struct ss_buf b = { .limit_bytes = m->bytes.n * 64 + 4096 };
	ss_hlo_pbtxt(&b, m->bytes);
	ss_buf_free(&b);
}

static void print_canonical(const struct ss_hlo_module *m)
{
	struct ss_hlo_canonical c;
	struct ss_arena arena = { 0 };
	struct ss_buf b = { 0 };
	struct ss_str text;
	uint64_t all = 64 * (uint64_t)m->bytes.n + 65536, sum = 0;

	if (ss_hlo_canonical_open(&c, m, &arena, NULL))
		for (uint32_t i = 0; i < m->ninstrs; i++) {
			ss_hlo_canonical_text(&c, i, &b, &text);
			sum += text.n;
		}
	if (sum > all)
		abort();
	ss_buf_free(&b);
	ss_arena_release(&arena);
}

static void play_heaps(const struct ss_hlo_module *m)
{
	struct ss_arena arena = { 0 };
	struct ss_hlo_buffers b;
	struct ss_heap h;

	if (ss_hlo_buffers_read(&b, m, NULL))
		for (int64_t space = 0; space < 2; space++)
			if (ss_heap_play(&h, &b, space, &arena, NULL) && h.trace != SS_NONE && h.peak_bytes < 0)
				abort();
	ss_hlo_buffers_free(&b);
	ss_arena_release(&arena);
}

static void draw_graphs(const struct ss_hlo_module *m)
{
	struct ss_arena arena = { 0 };
	struct ss_hlo_graph g;

	for (uint32_t i = 0; i < m->ninstrs && i < 4; i++) {
		struct ss_hlo_graph_request ask = { .instr = i, .radius = 3, .max_nodes = 100, .merge_fusions = i % 2 };

		if (!ss_hlo_graph_of(&g, m, &ask, &arena, NULL))
			continue;
		for (uint32_t k = 0; k < g.nedges; k++)
			if (g.edges[k].from >= g.nnodes || g.edges[k].to >= g.nnodes)
				abort();
		for (uint32_t k = 0; k < g.nclusters; k++)
			if (g.clusters[k].parent != SS_NONE && g.clusters[k].parent >= k)
				abort();
	}
	ss_arena_release(&arena);
}

static void read_settings(const struct ss_hlo_module *m)
{
	for (uint32_t i = 0; i < m->ninstrs && i < 16; i++) {
		struct ss_buf b = { .limit_bytes = m->bytes.n * 64 + 4096 };
		struct ss_hlo_instr instr;

		ss_hlo_instr_read(m->instrs[i], &instr);
		ss_hlo_library_settings(&b, &instr, ss_hlo_backend_config(instr.body));
		ss_buf_free(&b);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct ss_hlo_module m;

	ss_hlo_open(&m, (struct ss_str){ (const char *)data, size });
	if (ss_hlo_index(&m, NULL)) {
		print_texts(&m);
		print_canonical(&m);
		play_heaps(&m);
		draw_graphs(&m);
		read_settings(&m);
	}
	ss_hlo_close(&m);
	return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
	return mutate_message(data, size, max, seed);
}
