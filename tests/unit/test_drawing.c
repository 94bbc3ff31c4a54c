/* test_drawing.c - places of nodes and routes of edges, and the tables that a page draws of them. */
#include "unit/unit.h"

#include "drawing/drawing.h"
#include "drawing/layered.h"
#include "drawing/letters.h"
#include "table/cols.h"

#define NEAR 0.01
#define SPACING { .across = 22, .down = 34, .title = 30, .pad = 14 }
#define NODE(box) { 60, 20, 0, 0, box }
#define FREE NODE(SS_LAYERED_NONE)

static bool overlap(const struct ss_layered_node *a, const struct ss_layered_node *b)
{
	return a->x < b->x + b->w - NEAR && b->x < a->x + a->w - NEAR && a->y < b->y + b->h - NEAR && b->y < a->y + a->h - NEAR;
}

static bool within(const struct ss_layered_node *a, const struct ss_layered_node *b)
{
	return a->x >= b->x && a->y >= b->y && a->x + a->w <= b->x + b->w + NEAR && a->y + a->h <= b->y + b->h + NEAR;
}

static double middle(const struct ss_layered_node *n)
{
	return n->x + n->w / 2;
}

static void a_chain_is_straight(void **state)
{
	struct ss_layered_node nodes[] = { FREE, { 100, 20, 0, 0, SS_LAYERED_NONE }, FREE };
	struct ss_layered_edge edges[] = { { .from = 0, .to = 1 }, { .from = 1, .to = 2 } };
	struct ss_layered g = { .nodes = nodes, .nnodes = 3, .edges = edges, .nedges = 2, .spacing = SPACING };
	struct ss_arena a = { 0 };
	(void)state;
	assert_true(ss_layered_place(&g, &a));
	for (int i = 0; i < 2; i++) {
		assert_true(middle(&nodes[i]) - middle(&nodes[i + 1]) < 1e-6 && middle(&nodes[i + 1]) - middle(&nodes[i]) < 1e-6);
		assert_true(nodes[i].y + nodes[i].h < nodes[i + 1].y);
		assert_int_equal(edges[i].npoints, 2);
	}
	assert_true(g.w == 100);
	ss_arena_release(&a);
}

static void sources_stand_above_their_users(void **state)
{
	struct ss_layered_node nodes[] = { FREE, FREE, FREE, FREE };
	struct ss_layered_edge edges[] = { { .from = 0, .to = 1 }, { .from = 1, .to = 2 }, { .from = 3, .to = 2 } };
	struct ss_layered g = { .nodes = nodes, .nnodes = 4, .edges = edges, .nedges = 3, .spacing = SPACING };
	struct ss_arena a = { 0 };
	(void)state;
	assert_true(ss_layered_place(&g, &a));
	assert_true(nodes[3].y == nodes[1].y);
	ss_arena_release(&a);
}

static void long_edges_go_around(void **state)
{
	struct ss_layered_node nodes[] = { FREE, FREE, FREE };
	struct ss_layered_edge edges[] = { { .from = 0, .to = 1 }, { .from = 1, .to = 2 }, { .from = 0, .to = 2 } };
	struct ss_layered g = { .nodes = nodes, .nnodes = 3, .edges = edges, .nedges = 3, .spacing = SPACING };
	struct ss_arena a = { 0 };
	(void)state;
	assert_true(ss_layered_place(&g, &a));
	assert_int_equal(edges[2].npoints, 4);
	for (int k = 1; k < 3; k++) {
		double x = edges[2].points[2 * k];

		assert_true(x < nodes[1].x || x > nodes[1].x + nodes[1].w);
	}
	/* Both edges of node 0 begin at its lower side, each at a point of its own. */
	assert_true(edges[0].points[0] < edges[2].points[0] || edges[0].points[0] > edges[2].points[0]);
	assert_true(edges[0].points[1] == nodes[0].y + nodes[0].h && edges[2].points[1] == edges[0].points[1]);
	ss_arena_release(&a);
}

static void boxes_hold_what_is_in_them(void **state)
{
	struct ss_layered_node nodes[] = { FREE, NODE(0), NODE(1), NODE(1), FREE };
	struct ss_layered_node boxes[] = { { 90, 30, 0, 0, SS_LAYERED_NONE }, { 40, 30, 0, 0, 0 } };
	struct ss_layered_edge edges[] = { { .from = 0, .to = 1 }, { .from = 1, .to = 2 }, { .from = 2, .to = 3 },
					   { .from = 3, .to = 4 } };
	struct ss_layered g = { .nodes = nodes, .nnodes = 5, .boxes = boxes, .nboxes = 2, .edges = edges, .nedges = 4,
				.spacing = SPACING };
	struct ss_arena a = { 0 };
	(void)state;
	assert_true(ss_layered_place(&g, &a));
	const struct ss_layered_node whole = { g.w, g.h, 0, 0, SS_LAYERED_NONE };
	assert_true(within(&boxes[1], &boxes[0]) && within(&nodes[1], &boxes[0]));
	assert_true(within(&nodes[2], &boxes[1]) && within(&nodes[3], &boxes[1]));
	assert_false(overlap(&nodes[0], &boxes[0]) || overlap(&nodes[4], &boxes[0]) || overlap(&nodes[1], &boxes[1]));
	assert_true(within(&boxes[0], &whole));
	ss_arena_release(&a);
}

static void circles_end(void **state)
{
	struct ss_layered_node nodes[] = { FREE, FREE, FREE };
	struct ss_layered_edge edges[] = { { .from = 0, .to = 1 }, { .from = 1, .to = 2 }, { .from = 2, .to = 0 },
					   { .from = 1, .to = 1 }, { .from = 0, .to = 1 } };
	struct ss_layered g = { .nodes = nodes, .nnodes = 3, .edges = edges, .nedges = 5, .spacing = SPACING };
	struct ss_layered none = { .nnodes = 0 };
	struct ss_arena a = { 0 };
	(void)state;
	assert_true(ss_layered_place(&g, &a));
	for (int i = 0; i < 3; i++)
		for (int k = 0; k < i; k++)
			assert_false(overlap(&nodes[i], &nodes[k]));
	for (int i = 0; i < 5; i++)
		assert_true(edges[i].npoints >= 2);
	assert_true(ss_layered_place(&none, &a) && none.w == 0 && none.h == 0);
	ss_arena_release(&a);
}

/* Of a row no two overlap; far more long edges than places may be kept free. */
static void many_nodes(void **state)
{
	enum { N = 5000 };
	struct ss_layered_node *nodes = calloc(N, sizeof(*nodes));
	struct ss_layered_edge *edges = calloc(2 * N, sizeof(*edges));
	struct ss_layered g = { .nodes = nodes, .nnodes = N, .edges = edges, .spacing = SPACING };
	struct ss_arena a = { 0 };
	uint32_t seed = 7;
	(void)state;
	assert_non_null(nodes);
	assert_non_null(edges);
	for (uint32_t i = 0; i < N; i++) {
		seed = seed * 1103515245 + 12345;
		nodes[i] = (struct ss_layered_node){ 40 + (seed >> 16) % 80, 20, 0, 0, SS_LAYERED_NONE };
		for (uint32_t k = 1; i && k <= 2; k++) {
			seed = seed * 1103515245 + 12345;
			uint32_t back = 1 + (seed >> 16) % (40 * k * k);
			edges[g.nedges++] = (struct ss_layered_edge){ .from = i > back ? i - back : 0, .to = i };
		}
	}
	assert_true(ss_layered_place(&g, &a));
	for (uint32_t i = 0; i < N; i++)
		for (uint32_t k = i + 1; k < N; k++)
			if (overlap(&nodes[i], &nodes[k]))
				fail_msg("nodes %u and %u overlap", i, k);
	ss_arena_release(&a);
	free(nodes);
	free(edges);
}

static void texts_have_a_width(void **state)
{
	(void)state;
	assert_true(ss_text_width(SS_STR(""), 11, false) == 0);
	assert_true(ss_text_width(SS_STR("iii"), 11, false) < ss_text_width(SS_STR("WWW"), 11, false));
	assert_true(ss_text_width(SS_STR("fusion"), 11, false) < ss_text_width(SS_STR("fusion"), 11, true));
	/* One letter of two bytes. */
	assert_true(ss_text_width(SS_STR("\xc3\xa4"), 10, false) == 10);
}

/* --- tables ------------------------------------------------------------------------------------ */

static const struct ss_col pipeline_cols[] = { STR("host", "", NULL), STR("id", "", NULL) };
static const struct ss_col stage_cols[] = { STR("host", "", NULL), STR("id", "", NULL), STR("parent_id", "", NULL),
					    STR("name", "", NULL), STR("long_name", "", NULL) };
static const struct ss_col call_cols[] = { STR("host", "", NULL), STR("pipeline_id", "", NULL), STR("id", "", NULL) };

static void row(struct ss_result *r, size_t table, size_t n, const char *const *cells)
{
	struct ss_table *t = ss_result_at(r, table);
	ss_table_row(t);
	for (size_t i = 0; i < n; i++)
		ss_set_str(t, i, ss_str_from(cells[i]));
}

/* Stages below the root, one that was called for it, and two that ask each other: they belong to nobody. */
static void draws_pipelines(void **state)
{
	struct ss_arena a = { 0 };
	struct ss_result r;
	(void)state;
	ss_result_init(&r, &a);
	ss_result_table(&r, "input_pipelines", "", pipeline_cols, SS_COUNT(pipeline_cols));
	ss_result_table(&r, "iterators", "", stage_cols, SS_COUNT(stage_cols));
	ss_result_table(&r, "calls", "", call_cols, SS_COUNT(call_cols));
	row(&r, 0, 2, (const char *const[]){ "h", "1" });
	row(&r, 1, 5, (const char *const[]){ "h", "2", "1", "Map", "Iterator::Root::AnEverLongerNameOfOneStage::Map" });
	row(&r, 1, 5, (const char *const[]){ "h", "1", "0", "Root", "Iterator::Root" });
	row(&r, 1, 5, (const char *const[]){ "h", "3", "9", "Range", "Iterator::Range" });
	row(&r, 1, 5, (const char *const[]){ "h", "4", "5", "A", "A" });
	row(&r, 1, 5, (const char *const[]){ "h", "5", "4", "B", "B" });
	row(&r, 1, 5, (const char *const[]){ "other", "2", "1", "Map", "Map" });
	row(&r, 2, 3, (const char *const[]){ "h", "1", "3" });
	ss_drawing_add(&r, SS_STR("tf_data_bottleneck_analysis"));
	const struct ss_table *places = ss_result_find(&r, "places"), *routes = ss_result_find(&r, "routes");
	assert_int_equal(places->nrows, 6);
	assert_int_equal(routes->nrows, 2);
	for (size_t i = 0; i < 6; i++) {
		assert_int_equal(ss_cell_i64(places, i, "picture"), i / 3);
		assert_int_equal(ss_cell_i64(places, i, "row"), i % 3);
	}
	assert_str(ss_cell_str(places, 0, "lines"), "Map");
	assert_str(ss_cell_str(places, 3, "lines"), "Iterator::Root\n::AnEverLongerNameOfOneStage::Map");
	/* Below the root. */
	assert_true(ss_cell_f64(places, 0, "y") > ss_cell_f64(places, 1, "y") + ss_cell_f64(places, 1, "height"));
	assert_int_equal(ss_cell_i64(routes, 0, "from"), 1);
	assert_int_equal(ss_cell_i64(routes, 0, "to"), 0);
	ss_arena_release(&a);
}

static const struct ss_col child_cols[] = { STR("label", "", NULL), FLAG("is_scope", "", NULL), STR("op", "", NULL),
					    INT("ops", "", COUNT, NULL) };
static const struct ss_col link_cols[] = { INT("from", "", NONE, NULL), INT("to", "", NONE, NULL), INT("tensors", "", COUNT, NULL),
					   INT("control", "", COUNT, NULL) };

static void add_child(struct ss_result *r, const char *label, bool is_scope, int64_t ops)
{
	struct ss_table *t = ss_result_at(r, 0);
	ss_table_row(t);
	ss_set_str(t, 0, ss_str_from(label));
	ss_set_bool(t, 1, is_scope);
	ss_set_str(t, 2, SS_STR("MatMul"));
	ss_set_i64(t, 3, ops);
}

static void add_link(struct ss_result *r, int64_t from, int64_t to, int64_t tensors)
{
	struct ss_table *t = ss_result_at(r, 1);
	ss_table_row(t);
	ss_set_i64(t, 0, from);
	ss_set_i64(t, 1, to);
	ss_set_i64(t, 2, tensors);
}

static void draws_scopes(void **state)
{
	struct ss_arena a = { 0 };
	struct ss_result r;
	(void)state;
	ss_result_init(&r, &a);
	ss_result_table(&r, "children", "", child_cols, SS_COUNT(child_cols));
	ss_result_table(&r, "links", "", link_cols, SS_COUNT(link_cols));
	add_child(&r, "dense", true, 12345);
	add_child(&r, "a_name_that_is_a_little_longer_than_forty_letters", false, 1);
	add_link(&r, -1, 0, 3);
	add_link(&r, 0, 1, 1);
	add_link(&r, 1, 7, 1);	/* the row was cut off */
	ss_drawing_add(&r, SS_STR("tf_graph"));
	const struct ss_table *places = ss_result_find(&r, "places"), *routes = ss_result_find(&r, "routes");
	assert_int_equal(places->nrows, 2);
	assert_str(ss_cell_str(places, 0, "lines"), "dense\n12,345 operations\n\xe2\x86\x90 3 from outside");
	assert_str(ss_cell_str(places, 1, "lines"), "a_name_that_is_a_little_longer_than_fort\xe2\x80\xa6\nMatMul");
	assert_int_equal(routes->nrows, 1);
	assert_int_equal(ss_cell_i64(routes, 0, "row"), 1);
	ss_arena_release(&a);
}

/* Too many for a picture, and an answer that is no graph. */
static void draws_nothing_else(void **state)
{
	struct ss_arena a = { 0 };
	struct ss_result r;
	(void)state;
	ss_result_init(&r, &a);
	ss_result_table(&r, "children", "", child_cols, SS_COUNT(child_cols));
	ss_result_table(&r, "links", "", link_cols, SS_COUNT(link_cols));
	for (int i = 0; i < 1201; i++)
		add_child(&r, "x", false, 1);
	ss_drawing_add(&r, SS_STR("overview_page"));
	assert_int_equal(r.ntables, 2);
	ss_drawing_add(&r, SS_STR("tf_graph"));
	assert_int_equal(ss_result_find(&r, "places")->nrows, 0);
	assert_true(ss_drawing_known(SS_STR("graph_viewer")) && !ss_drawing_known(SS_STR("overview_page")));
	ss_arena_release(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_chain_is_straight),	cmocka_unit_test(sources_stand_above_their_users),
		cmocka_unit_test(long_edges_go_around), cmocka_unit_test(boxes_hold_what_is_in_them),
		cmocka_unit_test(circles_end),		cmocka_unit_test(many_nodes),
		cmocka_unit_test(texts_have_a_width),	cmocka_unit_test(draws_pipelines),
		cmocka_unit_test(draws_scopes),		cmocka_unit_test(draws_nothing_else),
	};
	return RUN_TESTS(tests);
}
