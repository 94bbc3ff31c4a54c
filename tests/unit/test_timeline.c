/*
 * test_timeline.c - from the bytes of a profile to tracks, XProf's JSON, and the answers for our
 * page.
 */
#include "unit/build_pb.h"
#include "model/model.h"

#include "emit/chrome.h"
#include "emit/slices.h"
#include "model/host/host.h"
#include "request/registry.h"
#include "tools/timeline.h"
#include "unit/unit.h"
#include "xspace/fields.h"

enum { STEP_NAME = 1, FLOW, ASYNC, VALUE, GROUP };

/* An XEvent: numbers, then stats given as (stat, value) until stat 0. */
static void put_ev(struct bytes *line, uint64_t meta, uint64_t offset_ps, uint64_t dur_ps, const uint64_t (*stats)[2])
{
	struct bytes e = { .n = 0 };

	put_num(&e, XEVENT_METADATA_ID, meta);
	put_num(&e, XEVENT_OFFSET_PS, offset_ps);
	put_num(&e, XEVENT_DURATION_PS, dur_ps);
	for (; stats && (*stats)[0]; stats++) {
		struct bytes s = { .n = 0 };

		put_num(&s, XSTAT_METADATA_ID, (*stats)[0]);
		if ((*stats)[0] == STEP_NAME)
			put_text(&s, XSTAT_STR_VALUE, "step <7>");
		else
			put_num(&s, XSTAT_UINT64_VALUE, (*stats)[1]);
		put_msg(&e, XEVENT_STATS, &s);
	}
	put_msg(line, XLINE_EVENTS, &e);
}

#define STATS(...) ((const uint64_t[][2]){ __VA_ARGS__, { 0, 0 } })
#define FLOW_OF(id, dir, category) ((uint64_t)(id) << 2 | (dir) | (uint64_t)(category) << 58)

static void put_line(struct bytes *plane, uint64_t id, const char *name, const struct bytes *events)
{
	struct bytes line = { .n = 0 };

	put_num(&line, XLINE_ID, id);
	put_text(&line, XLINE_NAME, name);
	put_num(&line, XLINE_TIMESTAMP_NS, 1);
	memcpy(line.p + line.n, events->p, events->n);
	line.n += events->n;
	put_msg(plane, XPLANE_LINES, &line);
}

static void put_names(struct bytes *plane)
{
	static const char *const events[] = { "outer", "inner", "MemoryAllocation", "marks", "load" };
	static const char *const stats[] = { "step_name", "flow", "_a", "value", "group_id" };

	for (uint64_t i = 0; i < SS_COUNT(events); i++)
		put_meta(plane, XPLANE_EVENT_METADATA, i + 1, events[i]);
	for (uint64_t i = 0; i < SS_COUNT(stats); i++)
		put_meta(plane, XPLANE_STAT_METADATA, i + 1, stats[i]);
}

static void put_host_plane(struct bytes *space)
{
	struct bytes plane = { .n = 0 }, thread = { .n = 0 }, counters = { .n = 0 }, empty = { .n = 0 };

	put_num(&plane, XPLANE_ID, 1);
	put_text(&plane, XPLANE_NAME, "/host:CPU");
	/* Not in time order: 5, 2, 1 (the longer of two at once), 3, 4 by position. */
	put_ev(&thread, 2, 3000, 10, STATS({ FLOW, FLOW_OF(4, 2, 9) }));
	put_ev(&thread, 2, 1000, 100, NULL);
	put_ev(&thread, 1, 1000, 5000, STATS({ GROUP, 3 }));
	put_ev(&thread, 1, 4000, 20, STATS({ STEP_NAME, 0 }, { FLOW, FLOW_OF(4, 1, 9) }));
	put_ev(&thread, 3, 4500, 20, NULL);
	put_ev(&thread, 4, 5000, 30, STATS({ FLOW, FLOW_OF(8, 2, 5) }, { ASYNC, 1 }));
	put_ev(&thread, 4, 7000, 30, STATS({ FLOW, FLOW_OF(8, 1, 5) }, { ASYNC, 1 }));
	put_ev(&counters, 5, 200, 0, STATS({ VALUE, 7 }));
	put_ev(&counters, 5, 100, 0, STATS({ VALUE, 4 }));
	put_line(&plane, (uint64_t)-2, "thread", &thread);
	put_line(&plane, 9, "_counters_", &counters);
	put_line(&plane, 10, "nothing", &empty);
	put_names(&plane);
	put_msg(space, XSPACE_PLANES, &plane);
}

static void put_device_plane(struct bytes *space, const char *name, uint64_t id)
{
	struct bytes plane = { .n = 0 }, ops = { .n = 0 };

	put_num(&plane, XPLANE_ID, id);
	put_text(&plane, XPLANE_NAME, name);
	put_ev(&ops, 1, 0, 900, NULL);
	put_ev(&ops, 2, 100, 200, STATS({ FLOW, FLOW_OF(5, 3, 17) }));
	put_ev(&ops, 2, 400, 200, NULL);
	put_line(&plane, 3, "ops", &ops);
	put_names(&plane);
	put_msg(space, XSPACE_PLANES, &plane);
}

struct fixture {
	struct bytes bytes;
	struct ss_host host;
	struct ss_model model;
	struct ss_arena arena;
	struct ss_out out;
};

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	struct ss_host *hosts[1];

	assert_non_null(f);
	put_host_plane(&f->bytes);
	put_device_plane(&f->bytes, "/device:TPU:0", 2);
	put_device_plane(&f->bytes, "#Chip0 HBM", 4);
	put_device_plane(&f->bytes, "/device:CUSTOM:x", 6);
	assert_ok(ss_host_open_bytes(&f->host, bytes_str(&f->bytes), "dir/h1.xplane.pb", &err));
	hosts[0] = &f->host;
	assert_ok(ss_model_init(&f->model, hosts, 1, &err));
	ss_out_init(&f->out, NULL, NULL);
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	ss_out_free(&f->out);
	ss_arena_release(&f->arena);
	ss_model_release(&f->model);
	ss_host_close(&f->host);
	free(f);
	return 0;
}

/* Everything printed since the last call, NUL-terminated. */
static const char *printed(struct fixture *f)
{
	ss_out_char(&f->out, '\0');
	assert_ok(ss_out_finish(&f->out, &err));
	f->out.n = 0;
	return f->out.buf;
}

static void assert_has(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("\"%s\" is not in %s", part, text);
}

static void assert_lacks(const char *text, const char *part)
{
	if (strstr(text, part))
		fail_msg("\"%s\" is in %s", part, text);
}

static const char *ask_tool(struct fixture *f, struct ss_str name, const struct ss_param_value *params, size_t n)
{
	struct ss_request q = { .model = &f->model, .params = params, .nparams = n, .arena = &f->arena };
	const struct ss_tool *tool = ss_tool_find(name);
	struct ss_result r;

	assert_non_null(tool);
	ss_result_init(&r, &f->arena);
	assert_ok(tool->run(&q, &r, &err));
	ss_chrome_write(&f->out, r.timeline);
	return printed(f);
}

static const char *ask(struct fixture *f, const struct ss_param_value *params, size_t n)
{
	return ask_tool(f, SS_STR("trace_viewer@"), params, n);
}

static void planes_become_sections(void **state)
{
	struct fixture *f = *state;
	const struct ss_trace *tr;

	assert_non_null(tr = ss_host_trace(&f->host, NULL));
	assert_int_equal(tr->nsections, 3);	/* the chip's other parts are not shown */
	assert_int_equal(tr->sections[0].device, 3);
	assert_true(tr->sections[0].tensor_core);
	assert_int_equal(tr->sections[1].device, 507);
	assert_int_equal(tr->sections[2].device, 701);
	assert_int_equal(tr->sections[2].nthreads, 1);
	assert_int_equal(tr->sections[2].ntracks, 3);
	assert_int_equal(tr->begin_ps, 1000);
	assert_int_equal(tr->end_ps, 8030);
	assert_int_equal(tr->nflows, 3);
}

static void lines_become_tracks(void **state)
{
	struct fixture *f = *state;
	const struct ss_trace *tr = ss_host_trace(&f->host, NULL);
	const struct ss_track *t = &tr->tracks[tr->sections[2].first_track];

	assert_int_equal(t[0].kind, SS_TRACE_COUNTER);
	assert_str(t[0].name, "load");
	assert_int_equal(t[0].n, 2);
	assert_int_equal(ss_track_begin_ps(&t[0], 0), 1100);
	assert_int_equal(t[1].kind, SS_TRACE_ASYNC);
	assert_str(t[1].name, "marks");
	assert_int_equal(t[1].n, 2);
	assert_int_equal(t[2].kind, SS_TRACE_SLICES);
	assert_int_equal(t[2].tid, 0xfffffffe);
	assert_int_equal(t[2].n, 7);
	assert_int_equal(t[2].nshown, 4);	/* not the allocation, nor the asynchronous ones */
	assert_str(ss_track_event_name(&t[2], 0), "outer");
	assert_str(ss_track_event_name(&t[2], 1), "inner");
	assert_str(ss_track_event_name(&t[2], 3), "step <7>");
	assert_int_equal(ss_track_row(&t[2], 0), 0);
	assert_int_equal(ss_track_row(&t[2], 1), 1);
	assert_int_equal(t[2].nrows, 2);
	assert_int_equal(ss_trace_track_of(tr, t[2].first + 6), tr->ntracks - 1);
	assert_int_equal(ss_trace_track_of(tr, tr->nevents), SS_NONE);
}

static void a_range_is_xprofs_json(void **state)
{
	struct fixture *f = *state;
	const char *text = ask(f, NULL, 0);

	assert_has(text, "{\"displayTimeUnit\":\"ns\",\"metadata\":{\"highres-ticks\":true}, \"codeLink\":\"\","
			 "\"useNewBackend\": false,\"details\":[{\"name\":\"mpmd_pipeline_view\",\"value\":false},"
			 "{\"name\":\"full_dma\",\"value\":false}],\"returnedEventsSize\":");
	assert_has(text, "{\"args\":{\"name\":\"h1 /host:CPU\"},\"name\":\"process_name\",\"ph\":\"M\",\"pid\":1701,"
			 "\"thread_count\":1}");
	assert_has(text, "{\"args\":{\"sort_index\":4294967294},\"name\":\"thread_sort_index\",\"ph\":\"M\",\"pid\":1701,"
			 "\"tid\":4294967294}");
	assert_has(text, "{\"pid\":1701,\"tid\":4294967294,\"name\":\"step \\u003c7\\u003e\",\"ts\":0.005,\"dur\":0.00002,"
			 "\"bind_id\":");
	assert_has(text, "\"cat\":\"gpu_launch\",\"flow_out\":true,\"ph\":\"X\"");
	assert_has(text, "\"name\":\"outer\",\"ts\":0.002,\"dur\":0.005,\"ph\":\"X\",\"args\":{\"group_id\":3,\"uid\":");
	assert_has(text, "{\"pid\":1701,\"name\":\"load\",\"ph\":\"C\",\"event_stats\":\"value\",\"entries\":"
			 "[[0.0011,4],[0.0012,7]]}");
	assert_has(text, "\"ph\":\"b\",\"args\":");
	assert_has(text, "\"ph\":\"e\",\"args\":");
	assert_has(text, "], \"showCounterMessage\": \"\" ,\"totalCounterEvents\":2}");
	assert_lacks(text, "MemoryAllocation");
	assert_has(text, "\"returnedEventsSize\":13,");	/* one between the ends of a flow is hidden on the core */
}

static void full_dma_shows_more(void **state)
{
	static const struct ss_param_value params[] = { { SS_STR_INIT("full_dma"), SS_STR_INIT("true") } };
	const char *text = ask(*state, params, 1);

	assert_has(text, "{\"name\":\"full_dma\",\"value\":true}");
	assert_has(text, "\"returnedEventsSize\":14,");
	assert_has(text, "\"cat\":\"sparsecore_offload\",\"flow_in\":true,\"flow_out\":true");
}

static void a_narrow_range_holds_what_overlaps(void **state)
{
	static const struct ss_param_value params[] = {
		{ SS_STR_INIT("start_time_ms"), SS_STR_INIT("0.000003") },
		{ SS_STR_INIT("end_time_ms"), SS_STR_INIT("0.0000035") },
		{ SS_STR_INIT("resolution"), SS_STR_INIT("100") },
	};
	const char *text = ask(*state, params, SS_COUNT(params));

	assert_has(text, "\"returnedEventsSize\":1,");
	assert_has(text, "\"name\":\"outer\",\"ts\":0.002");
}

static void an_event_is_found_by_name_and_time(void **state)
{
	struct ss_param_value params[] = {
		{ SS_STR_INIT("event_name"), SS_STR_INIT("step <7>") },
		{ SS_STR_INIT("start_time_ms"), SS_STR_INIT("5e-06") },
		{ SS_STR_INIT("duration_ms"), SS_STR_INIT("2e-08") },
		{ SS_STR_INIT("unique_id"), SS_STR_INIT("99999") },	/* of another selection */
	};
	const struct ss_tool *tool = ss_tool_find(SS_STR("trace_viewer@"));
	struct fixture *f = *state;
	struct ss_request q = {
		.model = &f->model, .params = params, .nparams = SS_COUNT(params), .arena = &f->arena
	};
	struct ss_result r;
	const char *text = ask(f, params, SS_COUNT(params));

	assert_has(text, "\"returnedEventsSize\":1,");
	assert_has(text, "\"args\":{\"step_name\":\"step \\u003c7\\u003e\"}");
	params[0].value = SS_STR("nobody");
	ss_result_init(&r, &f->arena);
	assert_fails(tool->run(&q, &r, &err), SS_ENOTFOUND);
	params[1].value = SS_STR("soon");
	assert_fails(tool->run(&q, &r, &err), SS_EINVAL);
}

static void a_prefix_is_found_everywhere(void **state)
{
	static const struct ss_param_value params[] = { { SS_STR_INIT("search_prefix"), SS_STR_INIT("inn") } };

	assert_has(ask(*state, params, 1), "\"returnedEventsSize\":6,");
}

/* Every event a line of its own, with all arguments as text; no levels, flows or counters. */
static void a_file_holds_everything(void **state)
{
	static const struct ss_param_value params[] = { { SS_STR_INIT("max_events"), SS_STR_INIT("3") } };
	const char *text = ask_tool(*state, SS_STR("trace_viewer"), NULL, 0);

	assert_has(text, "{\"displayTimeUnit\":\"ns\",\"metadata\":{\"highres-ticks\":true},\n\"traceEvents\":[\n"
			 "{\"args\":{\"name\":\"/device:TPU:0\"},\"name\":\"process_name\",\"ph\":\"M\",\"pid\":3},\n");
	assert_has(text, "{\"args\":{\"group_id\":\"3\"},\"dur\":0.005,\"name\":\"outer\",\"ph\":\"X\",\"pid\":701,"
			 "\"tid\":4294967294,\"ts\":0.002},\n");
	assert_has(text, "{\"args\":{\"value\":\"4\"},\"name\":\"load\",\"ph\":\"i\",\"pid\":701,\"s\":\"t\",\"tid\":9,"
			 "\"ts\":0.0011},\n");
	assert_has(text, "\"args\":{\"_a\":\"1\",\"flow\":\"");
	assert_has(text, "\"name\":\"nothing\"");
	assert_lacks(text, "MemoryAllocation");
	assert_lacks(text, "CUSTOM");	/* only where there is no other device */
	text = ask_tool(*state, SS_STR("trace_viewer"), params, 1);
	assert_has(text, "\"ts\":0.0011},\n");
	assert_lacks(text, "\"ts\":0.0014}");
}

static void the_layout_lists_tracks(void **state)
{
	struct fixture *f = *state;
	struct ss_timeline *tl = ss_timeline_layout(&f->model, &f->arena, NULL);

	assert_non_null(tl);
	ss_emit_timeline_layout(&f->out, tl);
	const char *text = printed(f);
	assert_has(text, "{\"begin_ps\":1000,\"end_ps\":8030,\"start_unix_ns\":null,\"events\":");
	assert_has(text, "{\"pid\":1701,\"name\":\"h1 /host:CPU\",\"kind\":\"host\",\"tracks\":[{\"track\":");
	assert_has(text, "\"name\":\"load\",\"kind\":\"counter\",\"rows\":1,\"events\":2,\"min\":4.0,\"max\":7.0}");
}

static uint32_t u32_at(const char *p)
{
	const unsigned char *u = (const unsigned char *)p;

	return u[0] | (uint32_t)u[1] << 8 | (uint32_t)u[2] << 16 | (uint32_t)u[3] << 24;
}

static void slices_are_columns(void **state)
{
	struct fixture *f = *state;
	struct ss_timeline_request q = { .begin_ps = 1000, .end_ps = 9000, .width_px = 100, .arrows = SS_ARROWS_FLOWS };
	struct ss_timeline *tl = ss_timeline_slices(&f->model, &q, &f->arena, NULL);

	assert_non_null(tl);
	ss_emit_timeline_slices(&f->out, tl);
	assert_ok(ss_out_finish(&f->out, &err));
	const char *p = f->out.buf;
	uint32_t head = u32_at(p + 4), n = 3 + 3 + 2 + 4;
	assert_memory_equal(p, "SSL1", 4);
	assert_int_equal(head % 4, 0);
	assert_int_equal(f->out.n, 8 + head + 16 * n + n);
	struct ss_str json = { p + 8, head };
	assert_true(ss_str_contains(json, SS_STR("\"tick_ps\":10,\"nslices\":12,")));
	assert_true(ss_str_contains(json, SS_STR("\"counters\":[{\"track\":2,\"t_ps\":[1100,1200],\"value\":[4,7]}]")));
	assert_true(ss_str_contains(json, SS_STR("\"flows\":[{\"id\":")));
	/* The first track: 1000 to 1900 and two inside, in ticks after 0. */
	const char *begin = p + 8 + head, *dur = begin + 4 * n, *row = begin + 16 * n;
	assert_int_equal(u32_at(begin), 100);
	assert_int_equal(u32_at(begin + 4), 10);
	assert_int_equal(u32_at(begin + 8), 30);
	assert_int_equal(u32_at(dur), 90);
	assert_int_equal(u32_at(dur + 4), 20);
	assert_int_equal(row[0], 0);
	assert_int_equal(row[1], 1);
}

static void far_slices_are_cut(void **state)
{
	struct fixture *f = *state;
	struct ss_timeline_request q = { .begin_ps = 6000, .end_ps = 6100, .width_px = 10 };
	struct ss_timeline *tl = ss_timeline_slices(&f->model, &q, &f->arena, NULL);

	assert_non_null(tl);
	assert_int_equal(tl->nslices, 2);	/* "outer", and one of the asynchronous marks */
	ss_emit_timeline_slices(&f->out, tl);
	assert_ok(ss_out_finish(&f->out, &err));
	const char *begin = f->out.buf + 8 + u32_at(f->out.buf + 4);
	/* A tick is 1 ps; origin 5900, end 6200: a window's width outside. */
	assert_int_equal(u32_at(begin + 4), 0);
	assert_int_equal(u32_at(begin + 8 + 4), 300);
	q.begin_ps = 7000;
	assert_null(ss_timeline_slices(&f->model, &q, &f->arena, NULL));
}

static void an_event_has_all_its_arguments(void **state)
{
	struct fixture *f = *state;
	const struct ss_trace *tr = ss_host_trace(&f->host, NULL);
	uint32_t first = tr->tracks[tr->ntracks - 1].first;
	struct ss_timeline *tl = ss_timeline_event(&f->model, first, &f->arena, NULL);

	assert_non_null(tl);
	ss_emit_timeline_event(&f->out, tl);
	const char *text = printed(f);
	assert_has(text, "\"row\":0,\"name\":\"outer\",\"begin_ps\":2000,\"dur_ps\":5000,\"self_ps\":4870,");
	assert_has(text, "\"args\":[{\"name\":\"group_id\",\"value\":3}],\"flows\":[]}");
	tl = ss_timeline_event(&f->model, first + 3, &f->arena, NULL);
	assert_non_null(tl);
	ss_emit_timeline_event(&f->out, tl);
	assert_has(printed(f), "\"flows\":[{\"direction\":\"in\",\"event\":");
	assert_null(ss_timeline_event(&f->model, tr->nevents, &f->arena, NULL));
}

/* Walking forward from one match to the next, and back, meets all of them in order. */
static void search_steps_through_matches(void **state)
{
	struct fixture *f = *state;
	struct ss_timeline_search q = { .text = SS_STR("INN"), .limit = 1 };
	uint64_t begin_ps = 0, steps = 0;
	struct ss_timeline *tl;

	while ((tl = ss_timeline_search(&f->model, &q, &f->arena, NULL)) && tl->nslices) {
		assert_int_equal(tl->nfound, 6);
		assert_int_equal(tl->rank, steps++);
		assert_true(tl->slices[0].begin_ps >= begin_ps);
		begin_ps = tl->slices[0].begin_ps;
		q.where = SS_SEARCH_AFTER;
		q.event = tl->slices[0].event;
	}
	assert_int_equal(steps, 6);
	for (q.where = SS_SEARCH_BEFORE; steps; q.event = tl->slices[0].event) {
		assert_non_null(tl = ss_timeline_search(&f->model, &q, &f->arena, NULL));
		if (tl->nslices == 0)
			break;
		assert_int_equal(tl->rank, --steps - 1);
	}
	assert_int_equal(steps, 1);	/* the last one forward was not passed again */
	q = (struct ss_timeline_search){ .text = SS_STR("inner"), .where = SS_SEARCH_FROM, .from_ps = 1900, .limit = 9 };
	assert_non_null(tl = ss_timeline_search(&f->model, &q, &f->arena, NULL));
	assert_int_equal(tl->nslices, 2);
	assert_int_equal(tl->rank, 4);
	ss_emit_timeline_search(&f->out, tl);
	assert_has(printed(f), "{\"count\":6,\"rank\":4,\"hits\":[{\"event\":");
}

static void sums_are_by_name(void **state)
{
	struct fixture *f = *state;
	struct ss_timeline_rows rows = { 4, 1, 1 };
	struct ss_timeline_sums q = { .begin_ps = 0, .end_ps = 9000, .limit = 2 };
	struct ss_tl_summary *s = ss_timeline_summary(&f->model, &q, &f->arena, NULL);

	assert_non_null(s);
	assert_int_equal(s->nnames, 3);
	assert_int_equal(s->nrows, 2);
	assert_int_equal(s->count, 3 + 3 + 4);
	assert_str(s->rows[0].name, "outer");
	assert_int_equal(s->rows[0].count, 3);
	assert_int_equal(s->rows[0].total_ps, 5000 + 900 + 900);
	assert_int_equal(s->rows[0].self_ps, 4870 + 500 + 500);
	assert_int_equal(s->rows[0].min_ps, 900);
	assert_int_equal(s->total_ps, s->self_ps + 130 + 400 + 400);
	ss_emit_timeline_summary(&f->out, s);
	assert_has(printed(f), "\"nnames\":3,\"names\":[{\"name\":\"outer\",\"count\":3,\"total_ps\":6800,\"avg_ps\":2266,");
	/*
	 * Only the inner row of the last track, and only what overlaps; the outer one is not
	 * counted, nor its self time.
	 */
	q = (struct ss_timeline_sums){ .begin_ps = 2050, .end_ps = 2060, .limit = 9, .rows = &rows, .nrows = 1 };
	assert_non_null(s = ss_timeline_summary(&f->model, &q, &f->arena, NULL));
	assert_int_equal(s->count, 1);
	assert_int_equal(s->self_ps, 10);
	assert_int_equal(s->rows[0].total_ps, 10);
	assert_int_equal(s->rows[0].max_ps, 100);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(planes_become_sections), TEST(lines_become_tracks), TEST(a_range_is_xprofs_json),
		TEST(full_dma_shows_more), TEST(a_narrow_range_holds_what_overlaps),
		TEST(an_event_is_found_by_name_and_time), TEST(a_prefix_is_found_everywhere), TEST(a_file_holds_everything),
		TEST(the_layout_lists_tracks), TEST(slices_are_columns), TEST(far_slices_are_cut),
		TEST(an_event_has_all_its_arguments), TEST(search_steps_through_matches), TEST(sums_are_by_name),
	};

	return RUN_TESTS(tests);
}
