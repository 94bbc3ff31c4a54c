/*
 * pipelines.c - the pictures of tf_data_bottleneck_analysis: of each input pipeline the tree of its stages, with short and with
 * long names. Picture 2 * N is of row N of input_pipelines, 2 * N + 1 the same with long names.
 */
#include "base/hash.h"
#include "base/map.h"
#include "drawing/picture.h"

#include <stdlib.h>

#define MAX_DEPTH 200
#define LONG_NAME_LETTERS 40
/* The page adds four lines like "Total Duration: 123.456 ms" below each stage's name. */
#define TIME_LINES 4
#define TIME_WIDTH 140.0

static const struct ss_picture_style style = { .line = 16, .margin = 12, .pad = 22, .min_width = 130, .bold = true };

/* A stage of a pipeline: rows of their tables. */
struct member {
	uint32_t pipeline, stage;
};

struct members {
	const struct ss_table *pipelines, *stages, *calls;
	struct ss_u64map pipeline_of, stage_of;	/* by host and id */
	SS_VEC(struct member) v;
	bool no_memory;
};

static uint64_t key_of(struct ss_str host, struct ss_str id)
{
	return ss_mix(ss_str_hash(host), ss_str_hash(id));
}

static void index_rows(struct members *m, struct ss_u64map *map, const struct ss_table *t)
{
	for (size_t i = 0; i < t->nrows && !m->no_memory; i++) {
		uint64_t key = key_of(ss_cell_str(t, i, "host"), ss_cell_str(t, i, "id"));
		m->no_memory = ss_u64map_add(map, key, (uint32_t)i) == SS_NONE;
	}
}

static void add_member(struct members *m, uint32_t pipeline, uint32_t stage)
{
	m->no_memory |= !ss_vec_push(&m->v, (struct member){ pipeline, stage });
}

/* A stage belongs to each pipeline whose root asks it for elements, perhaps through others. */
static void add_by_parents(struct members *m)
{
	for (size_t i = 0; i < m->stages->nrows && !m->no_memory; i++) {
		struct ss_str host = ss_cell_str(m->stages, i, "host");
		uint32_t at = (uint32_t)i;
		for (int depth = 0; at != SS_NONE && depth < MAX_DEPTH; depth++) {
			uint32_t root = ss_u64map_get(&m->pipeline_of, key_of(host, ss_cell_str(m->stages, at, "id")));
			if (root != SS_NONE)
				add_member(m, root, (uint32_t)i);
			at = ss_u64map_get(&m->stage_of, key_of(host, ss_cell_str(m->stages, at, "parent_id")));
		}
	}
}

/* And to each for whose elements it was called. */
static void add_by_calls(struct members *m)
{
	struct ss_u64map known = { 0 };
	for (size_t i = 0; i < m->calls->nrows && !m->no_memory; i++) {
		struct ss_str host = ss_cell_str(m->calls, i, "host");
		uint32_t root = ss_u64map_get(&m->pipeline_of, key_of(host, ss_cell_str(m->calls, i, "pipeline_id")));
		uint32_t stage = ss_u64map_get(&m->stage_of, key_of(host, ss_cell_str(m->calls, i, "id")));
		size_t before = known.n;
		if (root == SS_NONE || stage == SS_NONE)
			continue;
		m->no_memory = ss_u64map_add(&known, (uint64_t)root << 32 | stage, 0) == SS_NONE;
		if (known.n > before)
			add_member(m, root, stage);
	}
	ss_u64map_free(&known);
}

static int by_pipeline_then_stage(const void *a, const void *b)
{
	const struct member *x = a, *y = b;
	return SS_CMP(x->pipeline, y->pipeline) ?: SS_CMP(x->stage, y->stage);
}

static void find_members(struct members *m)
{
	size_t n = 0;
	index_rows(m, &m->pipeline_of, m->pipelines);
	index_rows(m, &m->stage_of, m->stages);
	add_by_parents(m);
	add_by_calls(m);
	if (m->v.n)
		qsort(m->v.v, m->v.n, sizeof(*m->v.v), by_pipeline_then_stage);
	for (size_t i = 0; i < m->v.n; i++)
		if (!n || by_pipeline_then_stage(&m->v.v[n - 1], &m->v.v[i]))
			m->v.v[n++] = m->v.v[i];
	m->v.n = n;
}

/* A long name in lines of about 40 letters, cut between its parts: "Iterator::Root", "::Prefetch" */
static void add_long_name(struct ss_picture *p, struct ss_str name)
{
	const struct ss_str mark = SS_STR("::");
	size_t from = 0, at = 0;
	while (at < name.n) {
		size_t part = ss_str_find(ss_str_sub(name, at + mark.n, name.n), mark);
		size_t end = part == SS_NPOS ? name.n : at + mark.n + part;
		if (at > from && end - from >= LONG_NAME_LETTERS) {
			ss_picture_line(p, ss_str_sub(name, from, at));
			from = at;
		}
		at = end;
	}
	ss_picture_line(p, ss_str_sub(name, from, name.n));
}

/* The number of a stage in the picture: members are sorted by their rows. */
static int64_t number_of(const struct member *v, size_t n, uint32_t stage)
{
	struct member m = { v->pipeline, stage };
	const struct member *found = bsearch(&m, v, n, sizeof(*v), by_pipeline_then_stage);
	return found ? found - v : -1;
}

static void draw(struct ss_picture *p, const struct members *m, const struct member *v, size_t n, bool long_names)
{
	p->number = 2 * (int64_t)v->pipeline + long_names;
	for (size_t i = 0; i < n; i++) {
		if (long_names)
			add_long_name(p, ss_cell_str(m->stages, v[i].stage, "long_name"));
		else
			ss_picture_line(p, ss_cell_str(m->stages, v[i].stage, "name"));
		ss_picture_node(p, v[i].stage, SS_LAYERED_NONE, TIME_LINES, TIME_WIDTH);
	}
	for (size_t i = 0; i < n; i++) {
		struct ss_str host = ss_cell_str(m->stages, v[i].stage, "host");
		uint32_t parent = ss_u64map_get(&m->stage_of, key_of(host, ss_cell_str(m->stages, v[i].stage, "parent_id")));
		if (parent != SS_NONE && parent != v[i].stage)
			ss_picture_edge(p, v[i].stage, number_of(v, n, parent), (int64_t)i);
	}
	ss_picture_end(p);
}

void ss_draw_pipelines(struct ss_picture *p)
{
	struct members m = { .pipelines = ss_result_find(p->out, "input_pipelines"), .stages = ss_result_find(p->out, "iterators"),
			     .calls = ss_result_find(p->out, "calls") };
	p->style = &style;
	find_members(&m);
	for (size_t from = 0, to; from < m.v.n; from = to) {
		for (to = from + 1; to < m.v.n && m.v.v[to].pipeline == m.v.v[from].pipeline; to++)
			;
		draw(p, &m, m.v.v + from, to - from, false);
		draw(p, &m, m.v.v + from, to - from, true);
	}
	p->no_memory |= m.no_memory;
	ss_u64map_free(&m.pipeline_of);
	ss_u64map_free(&m.stage_of);
	ss_vec_free(&m.v);
}
