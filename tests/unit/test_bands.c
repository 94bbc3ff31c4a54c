/*
 * test_bands.c - how busy sections were, and what lies in a stretch: of three made-up cores, of which one computes longer.
 */
#include "unit/build_pb.h"
#include "model/model.h"

#include "model/host/host.h"
#include "request/registry.h"
#include "tools/timeline.h"
#include "unit/unit.h"
#include "xspace/fields.h"

extern const struct ss_tool ss_tool_flame_graph;

static struct ss_err why;

static void put_ev(struct bytes *line, uint64_t meta, uint64_t offset_ps, uint64_t dur_ps)
{
	struct bytes e = { .n = 0 };

	put_num(&e, XEVENT_METADATA_ID, meta);
	put_num(&e, XEVENT_OFFSET_PS, offset_ps);
	put_num(&e, XEVENT_DURATION_PS, dur_ps);
	put_msg(line, XLINE_EVENTS, &e);
}

/* [0, compute) dot, with a copy of 100 ps inside; then all-reduce until 1000; nothing until 2000. */
static void put_core(struct bytes *space, const char *name, uint64_t id, uint64_t compute_ps)
{
	static const char *const names[] = { "dot.1", "copy.1", "all-reduce.1" };
	struct bytes plane = { .n = 0 }, line = { .n = 0 };

	put_num(&plane, XPLANE_ID, id);
	put_text(&plane, XPLANE_NAME, name);
	put_num(&line, XLINE_ID, 3);
	put_text(&line, XLINE_NAME, "XLA Ops");
	put_ev(&line, 1, 0, compute_ps);
	put_ev(&line, 2, 100, 100);
	put_ev(&line, 3, compute_ps, 1000 - compute_ps);
	put_ev(&line, 1, 2000, 1);
	put_msg(&plane, XPLANE_LINES, &line);
	for (uint64_t i = 0; i < SS_COUNT(names); i++)
		put_meta(&plane, XPLANE_EVENT_METADATA, i + 1, names[i]);
	put_msg(space, XSPACE_PLANES, &plane);
}

struct fixture {
	struct bytes bytes;
	struct ss_host host;
	struct ss_model model;
	struct ss_arena arena;
};

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	struct ss_host *hosts[1];

	assert_non_null(f);
	put_core(&f->bytes, "/device:TPU:0", 1, 500);
	put_core(&f->bytes, "/device:TPU:1", 2, 800);
	put_core(&f->bytes, "/device:TPU:2", 3, 500);
	assert_ok(ss_host_open_bytes(&f->host, bytes_str(&f->bytes), "dir/h1.xplane.pb", &err));
	hosts[0] = &f->host;
	assert_ok(ss_model_init(&f->model, hosts, 1, &err));
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	ss_arena_release(&f->arena);
	ss_model_release(&f->model);
	ss_host_close(&f->host);
	free(f);
	return 0;
}

static const uint8_t *part(const struct ss_tl_bands *b, size_t i, const char *meaning)
{
	for (size_t k = 0; k < b->nmeanings; k++)
		if (strcmp(b->meanings[k], meaning) == 0)
			return b->v[i].parts + k * b->bins;
	fail();
	return NULL;
}

static void bands_count_each_moment_once(void **state)
{
	struct fixture *f = *state;
	struct ss_timeline_bands_query q = { .begin_ps = 0, .end_ps = 2000, .bins = 20 };
	struct ss_tl_bands *b = ss_timeline_bands(&f->model, &q, &f->arena, &why);

	assert_non_null(b);
	assert_int_equal(b->n, 3);
	assert_int_equal(b->v[0].busy_ps, 1000);
	assert_int_equal(b->v[0].own_ps, 500);
	assert_true(b->v[0].busy_frac > 0.499 && b->v[0].busy_frac < 0.501);
	assert_int_equal(b->v[0].busy[0], 255);
	assert_int_equal(b->v[0].busy[9], 255);
	assert_int_equal(b->v[0].busy[10], 0);
	/* The copy inside is taken off what is around it. */
	assert_int_equal(part(b, 0, "compute")[0], 255);
	assert_int_equal(part(b, 0, "compute")[1], 0);
	assert_int_equal(part(b, 0, "copy")[1], 255);
	assert_int_equal(part(b, 0, "communication")[5], 255);
	assert_int_equal(part(b, 0, "communication")[4], 0);
	/* In the middle of an event, what began before counts. */
	q = (struct ss_timeline_bands_query){ .begin_ps = 150, .end_ps = 250, .bins = 2 };
	assert_non_null(b = ss_timeline_bands(&f->model, &q, &f->arena, &why));
	assert_int_equal(b->v[0].busy_ps, 100);
	assert_int_equal(part(b, 0, "copy")[0], 255);
	assert_int_equal(part(b, 0, "compute")[0], 0);
	assert_int_equal(part(b, 0, "compute")[1], 255);
	q = (struct ss_timeline_bands_query){ .begin_ps = 1200, .end_ps = 1300, .bins = 3 };
	assert_non_null(b = ss_timeline_bands(&f->model, &q, &f->arena, &why));
	assert_int_equal(b->v[0].busy_ps, 0);
}

static void the_slowest_of_equals_is_marked(void **state)
{
	struct fixture *f = *state;
	struct ss_timeline_bands_query q = { .begin_ps = 0, .end_ps = 2000, .bins = 20 };
	struct ss_tl_bands *b = ss_timeline_bands(&f->model, &q, &f->arena, &why);

	assert_non_null(b);
	assert_true(b->v[1].slowest && !b->v[0].slowest && !b->v[2].slowest);
	assert_int_equal(b->v[1].own_ps, 800);
	assert_int_equal(b->v[1].median_own_ps, 500);
	/* Where all do the same none is. */
	q.end_ps = 400;
	assert_non_null(b = ss_timeline_bands(&f->model, &q, &f->arena, &why));
	for (size_t i = 0; i < b->n; i++)
		assert_false(b->v[i].slowest);
}

static void flame(struct fixture *f, const struct ss_param_value *params, size_t n, struct ss_result *r)
{
	struct ss_request q = { .model = &f->model, .params = params, .nparams = n, .arena = &f->arena };

	ss_result_init(r, &f->arena);
	assert_ok(ss_tool_run(&ss_tool_flame_graph, &q, r, &err));
}

#define PARAM(name, value) { SS_STR_INIT(name), SS_STR_INIT(value) }

static void a_stretch_is_cut_at_its_ends(void **state)
{
	struct fixture *f = *state;
	const struct ss_param_value stretch[] = { PARAM("from", "0.000000150"), PARAM("to", "0.000000600"),
						  PARAM("by", "category") };
	const struct ss_param_value track[] = { PARAM("tracks", "1") };
	const struct ss_param_value empty[] = { PARAM("from", "0.0000012"), PARAM("to", "0.0000013") };
	struct ss_result r;
	const struct ss_table *t;

	flame(f, stretch, SS_COUNT(stretch), &r);
	t = ss_result_at(&r, 0);
	assert_int_equal(ss_cell_i64(t, 0, "time_ps"), 450);
	/* compute 300 (150 .. 500 without the copy's 50), communication 100, copy 50. */
	assert_str(ss_cell_str(t, 1, "name"), "compute");
	assert_int_equal(ss_cell_i64(t, 1, "time_ps"), 300);
	assert_str(ss_cell_str(t, 3, "name"), "communication");
	assert_int_equal(ss_cell_i64(t, 3, "time_ps"), 100);
	assert_str(ss_cell_str(t, 5, "name"), "copy");
	assert_int_equal(ss_cell_i64(t, 5, "time_ps"), 50);
	flame(f, track, SS_COUNT(track), &r);
	t = ss_result_at(&r, 0);
	for (size_t i = 1; i < t->nrows; i++)
		assert_true(ss_cell_i64(t, i, "parent") >= 0);
	flame(f, empty, SS_COUNT(empty), &r);
	assert_int_equal(ss_result_at(&r, 0)->nrows, 0);
}

static void what_is_no_stretch_is_refused(void **state)
{
	static const struct ss_param_value bad[][1] = { { PARAM("by", "colour") }, { PARAM("from", "soon") } };
	static const struct ss_param_value back[] = { PARAM("from", "3"), PARAM("to", "2") };
	struct fixture *f = *state;
	struct ss_request q = { .model = &f->model, .nparams = 1, .arena = &f->arena };
	struct ss_result r;

	for (size_t i = 0; i < SS_COUNT(bad); i++) {
		q.params = bad[i];
		ss_result_init(&r, &f->arena);
		assert_false(ss_tool_run(&ss_tool_flame_graph, &q, &r, &why));
		assert_int_equal(why.code, SS_EINVAL);
	}
	q.params = back;
	q.nparams = 2;
	ss_result_init(&r, &f->arena);
	assert_false(ss_tool_run(&ss_tool_flame_graph, &q, &r, &why));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(bands_count_each_moment_once), TEST(the_slowest_of_equals_is_marked), TEST(a_stretch_is_cut_at_its_ends),
		TEST(what_is_no_stretch_is_refused),
	};

	return RUN_TESTS(tests);
}
