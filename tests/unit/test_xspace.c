/*
 * test_xspace.c - the view of a profile: what it reads, in any order, and what it makes of damage.
 */
#include "unit/build_pb.h"
#include "unit/unit.h"

#include "xspace/events.h"
#include "xspace/fields.h"

#include <stdio.h>

static struct ss_xspace open_bytes(const struct bytes *b)
{
	struct ss_xspace x;

	assert_ok(ss_xspace_open_bytes(&x, bytes_str(b), "test", &err));
	return x;
}

static struct ss_xevents load(struct ss_xspace *x, uint32_t plane, uint32_t line)
{
	struct ss_xevents e;

	assert_ok(ss_xevents_load(&e, x, &x->planes[plane], &x->planes[plane].lines[line], &err));
	return e;
}

/*
 * A plane with two kinds of event and two stats, a line of three events; metadata where `meta_last`
 * says.
 */
static void put_plane(struct bytes *space, bool meta_last)
{
	struct bytes plane = { .n = 0 }, line = { .n = 0 }, meta = { .n = 0 };

	put_num(&line, XLINE_ID, 7);
	put_text(&line, XLINE_NAME, "main");
	put_num(&line, XLINE_TIMESTAMP_NS, 5);
	put_event(&line, 1, 100, 50, 1, 11);
	put_event(&line, 2, 200, 60, 2, 2);
	put_event(&line, 9, 300, 70, 0, 0);
	put_text(&line, XLINE_DISPLAY_NAME, "Main");	/* after the events */
	put_meta(&meta, XPLANE_EVENT_METADATA, 1, "first");
	put_meta(&meta, XPLANE_EVENT_METADATA, 2, "second");
	put_meta(&meta, XPLANE_STAT_METADATA, 1, "group_id");
	put_meta(&meta, XPLANE_STAT_METADATA, 2, "something else");
	put_num(&plane, XPLANE_ID, 3);
	put_text(&plane, XPLANE_NAME, "/host:CPU");
	if (!meta_last)
		memcpy(plane.p + plane.n, meta.p, meta.n), plane.n += meta.n;
	put_msg(&plane, XPLANE_LINES, &line);
	put_num(&plane, 1000, 5);	/* fields nobody knows */
	put_text(&plane, 1001, "future");
	if (meta_last)
		memcpy(plane.p + plane.n, meta.p, meta.n), plane.n += meta.n;
	put_msg(space, XSPACE_PLANES, &plane);
}

static void check_plane(struct ss_xspace *x, uint32_t i)
{
	const struct ss_xplane *p = &x->planes[i];
	struct ss_xstats it;
	struct ss_xstat s;

	assert_str(p->name, "/host:CPU");
	assert_int_equal(p->id, 3);
	assert_int_equal(p->nlines, 1);
	assert_true(ss_xplane_has(p, SS_STAT_GROUP_ID));
	struct ss_xevents e = load(x, i, 0);
	assert_int_equal(e.n, 3);
	assert_str(p->lines[0].display_name, "Main");
	assert_true(e.sorted);
	assert_int_equal(e.begin_ps[0], 5100);
	assert_int_equal(e.dur_ps[2], 70);
	assert_int_equal(ss_xevents_end_ps(&e, 1), 5260);
	assert_str(ss_xevent_meta_name(p, e.meta[0]), "first");
	assert_str(ss_xevent_meta_name(p, e.meta[1]), "second");
	assert_int_equal(e.meta[2], SS_NONE);
	it = ss_xevents_stats(&e, p, &p->lines[0], 0);
	assert_true(ss_xstats_next(&it, &s));
	assert_int_equal(s.stat, SS_STAT_GROUP_ID);
	assert_int_equal(s.kind, SS_X_UINT);
	assert_int_equal(ss_xstat_uint(&s), 11);
	assert_int_equal(ss_xstat_int(&s), 0);	/* the wrong kind reads as nothing */
	assert_int_equal(ss_xstat_int_or_uint(&s), 11);
	assert_false(ss_xstats_next(&it, &s));
	assert_true(ss_xstats_find(ss_xevents_stats(&e, p, &p->lines[0], 1), SS_STAT_OTHER, &s));
	assert_str(p->stat_meta[s.meta].name, "something else");
	ss_xevents_free(&e);
}

static void reads_fields_in_any_order(void **state)
{
	(void)state;
	for (int meta_last = 0; meta_last < 2; meta_last++) {
		struct bytes b = { .n = 0 };

		put_plane(&b, meta_last);
		put_text(&b, XSPACE_HOSTNAMES, "vm");
		struct ss_xspace x = open_bytes(&b);
		assert_int_equal(x.nplanes, 1);
		assert_int_equal(x.nnotes, 0);
		assert_str(x.hostnames[0], "vm");
		assert_ptr_equal(ss_xspace_plane(&x, SS_STR("/host:CPU")), &x.planes[0]);
		assert_null(ss_xspace_plane(&x, SS_STR("/host")));
		check_plane(&x, 0);
		ss_xspace_close(&x);
	}
}

static void concatenated_files_are_one(void **state)
{
	struct bytes b = { .n = 0 };
	(void)state;
	put_plane(&b, false);
	put_text(&b, XSPACE_HOSTNAMES, "a");
	put_plane(&b, true);
	put_text(&b, XSPACE_HOSTNAMES, "b");
	struct ss_xspace x = open_bytes(&b);
	assert_int_equal(x.nplanes, 2);
	assert_int_equal(x.nhostnames, 2);
	check_plane(&x, 0);
	check_plane(&x, 1);
	ss_xspace_close(&x);
}

static void every_kind_of_stat(void **state)
{
	struct bytes b = { .n = 0 }, plane = { .n = 0 }, s = { .n = 0 };
	static const enum ss_xkind kinds[] = { SS_X_DOUBLE, SS_X_INT, SS_X_STR, SS_X_BYTES, SS_X_STR, SS_X_STR, SS_X_NONE };
	struct ss_xstat got[8];
	size_t n = 0;
	(void)state;
	put_meta(&plane, XPLANE_STAT_METADATA, 1, "flops");
	put_meta(&plane, XPLANE_STAT_METADATA, 2, "a long string stored once");
#define PUT_STAT(...)                                  \
	do {                                           \
		s.n = 0;                               \
		put_num(&s, XSTAT_METADATA_ID, 1);     \
		__VA_ARGS__;                           \
		put_msg(&plane, XPLANE_STATS, &s);     \
	} while (0)
	PUT_STAT(memcpy(s.p + s.n, "\x11\0\0\0\0\0\0\xf8\x3f", 9), s.n += 9);
	PUT_STAT(put_num(&s, XSTAT_INT64_VALUE, (uint64_t)-5));
	PUT_STAT(put_text(&s, XSTAT_STR_VALUE, "text"));
	PUT_STAT(put_raw(&s, XSTAT_BYTES_VALUE, SS_STR("\0\1")));
	PUT_STAT(put_num(&s, XSTAT_REF_VALUE, 2));
	PUT_STAT(put_num(&s, XSTAT_REF_VALUE, 99));	/* refers to nothing */
	PUT_STAT(put_text(&s, XSTAT_INT64_VALUE, "5"));	/* the wrong wire type */
#undef PUT_STAT
	put_msg(&b, XSPACE_PLANES, &plane);
	struct ss_xspace x = open_bytes(&b);
	struct ss_xstats it = ss_xplane_stats(&x.planes[0]);
	while (n < 8 && ss_xstats_next(&it, &got[n]))
		n++;
	assert_int_equal(n, SS_COUNT(kinds));
	for (size_t i = 0; i < n; i++)
		assert_int_equal(got[i].kind, kinds[i]);
	assert_true(ss_xstat_double(&got[0]) == 1.5);
	assert_int_equal(ss_xstat_int(&got[1]), -5);
	assert_str(ss_xstat_str(&got[2]), "text");
	assert_int_equal(got[3].s.n, 2);
	assert_str(ss_xstat_str(&got[3]), "");	/* bytes are no text */
	assert_str(ss_xstat_str(&got[4]), "a long string stored once");
	assert_str(ss_xstat_str(&got[5]), "");
	ss_xspace_close(&x);
}

static void ids_of_any_size(void **state)
{
	struct bytes b = { .n = 0 }, plane = { .n = 0 }, line = { .n = 0 };
	static const uint64_t ids[] = { 0, 1, 5, 1u << 31, UINT64_MAX, 1 };
	static const char *const names[] = { "zero", "one", "five", "large", "minus one", "one again" };
	(void)state;
	for (size_t i = 0; i < SS_COUNT(ids); i++)
		put_meta(&plane, XPLANE_EVENT_METADATA, ids[i], names[i]);
	for (size_t i = 0; i < SS_COUNT(ids); i++)
		put_event(&line, ids[i], i, 1, 0, 0);
	put_msg(&plane, XPLANE_LINES, &line);
	put_msg(&b, XSPACE_PLANES, &plane);
	struct ss_xspace x = open_bytes(&b);
	struct ss_xevents e = load(&x, 0, 0);
	for (size_t i = 0; i < SS_COUNT(ids); i++)	/* of two with one id the later counts */
		assert_str(ss_xevent_meta_name(&x.planes[0], e.meta[i]), ids[i] == 1 ? "one again" : names[i]);
	ss_xevents_free(&e);
	ss_xspace_close(&x);
}

static void order_and_times(void **state)
{
	static const struct {
		uint64_t ts_ns, begin0, dur0, begin1, dur1;
		bool sorted;
		int64_t origin_ns, first_ps;
	} cases[] = {
		{ 0, 0, 5, 0, 5, true, 0, 0 },
		{ 0, 0, 5, 0, 6, false, 0, 0 },		/* the longer one goes first */
		{ 0, 0, 6, 0, 5, true, 0, 0 },
		{ 0, 9, 1, 8, 1, false, 0, 9 },
		{ 1700000000000000000u, 7, 1, 8, 1, true, 1700000000000000000, 7 },	/* absolute */
		{ 9000000000000000u, 7, 1, 8, 1, true, 0, 9000000000000000007 },	/* just fits */
		{ 0, (uint64_t)-3, 1, 0, 1, true, 0, -3 },
		{ 0, 0, (uint64_t)-1, 1, 1, true, 0, 0 },	/* a negative duration counts as none */
	};
	(void)state;
	for (size_t i = 0; i < SS_COUNT(cases); i++) {
		struct bytes b = { .n = 0 }, plane = { .n = 0 }, line = { .n = 0 };

		put_num(&line, XLINE_TIMESTAMP_NS, cases[i].ts_ns);
		put_event(&line, 1, cases[i].begin0, cases[i].dur0, 0, 0);
		put_event(&line, 1, cases[i].begin1, cases[i].dur1, 0, 0);
		put_msg(&plane, XPLANE_LINES, &line);
		put_msg(&b, XSPACE_PLANES, &plane);
		struct ss_xspace x = open_bytes(&b);
		struct ss_xevents e = load(&x, 0, 0);
		assert_int_equal(e.sorted, cases[i].sorted);
		assert_true(x.origin_ns == cases[i].origin_ns);
		assert_true(e.begin_ps[0] == cases[i].first_ps);
		ss_xevents_free(&e);
		ss_xspace_close(&x);
	}
}

/* An event cannot end later than 64 bits can tell: it ends there, and is counted. */
static void clips_times_without_end(void **state)
{
	struct bytes space = { .n = 0 }, plane = { .n = 0 }, line = { .n = 0 };
	(void)state;
	put_event(&line, 1, 1000, INT64_MAX, 0, 0);
	put_event(&line, 1, 2000, 5, 0, 0);
	put_event(&line, 1, INT64_MAX - 1, 1, 0, 0);
	put_event(&line, 1, INT64_MAX, 1, 0, 0);
	put_num(&line, XLINE_TIMESTAMP_NS, 1);	/* behind the events: all begin later than was thought */
	put_msg(&plane, XPLANE_LINES, &line);
	put_msg(&space, XSPACE_PLANES, &plane);
	struct ss_xspace x = open_bytes(&space);
	struct ss_xevents e = load(&x, 0, 0);
	assert_int_equal(e.n, 4);
	assert_int_equal(e.clipped, 2);
	for (uint32_t i = 0; i < e.n; i++)
		assert_true(ss_xevents_end_ps(&e, i) >= e.begin_ps[i]);
	assert_true(ss_xevents_end_ps(&e, 0) == INT64_MAX);
	ss_xevents_free(&e);
	ss_xspace_close(&x);
}

static void counts_aggregated_events(void **state)
{
	struct bytes b = { .n = 0 }, plane = { .n = 0 }, line = { .n = 0 }, e1 = { .n = 0 };
	(void)state;
	put_event(&line, 1, 0, 1, 0, 0);
	put_num(&e1, XEVENT_METADATA_ID, 1);
	put_num(&e1, XEVENT_NUM_OCCURRENCES, 12);
	put_msg(&line, XLINE_EVENTS, &e1);
	put_event(&line, 1, 5, 1, 0, 0);
	put_msg(&plane, XPLANE_LINES, &line);
	put_msg(&b, XSPACE_PLANES, &plane);
	struct ss_xspace x = open_bytes(&b);
	struct ss_xevents e = load(&x, 0, 0);
	assert_int_equal(e.n, 3);
	assert_int_equal(ss_xevents_occurrences(&e, 0), 1);
	assert_int_equal(ss_xevents_occurrences(&e, 1), 12);
	assert_int_equal(ss_xevents_occurrences(&e, 2), 1);
	ss_xevents_free(&e);
	ss_xspace_close(&x);
}

/*
 * A line of n events, of which those from number `first` on have a stat: *whole gets the file, the
 * caller's to free.
 */
static struct ss_xspace open_long_line(uint32_t n_events, uint32_t first, char **whole)
{
	size_t cap = (size_t)n_events * 24, n = 0;
	char *buf = malloc(cap);
	struct bytes one = { .n = 0 }, b = { .n = 0 }, line = { .n = 0 };
	for (uint64_t i = 0; i < n_events; i++) {
		one.n = 0;
		put_event(&one, 1, i * 1000, i, i >= first, i);
		memcpy(buf + n, one.p, one.n);
		n += one.n;
	}
	/* line and plane around it */
	put_varint(&line, XPLANE_LINES << 3 | 2);
	put_varint(&line, n);
	put_varint(&b, XSPACE_PLANES << 3 | 2);
	put_varint(&b, line.n + n);
	*whole = malloc(b.n + line.n + n);
	memcpy(*whole, b.p, b.n);
	memcpy(*whole + b.n, line.p, line.n);
	memcpy(*whole + b.n + line.n, buf, n);
	struct ss_xspace x;
	assert_ok(ss_xspace_open_bytes(&x, (struct ss_str){ *whole, b.n + line.n + n }, "long", &err));
	free(buf);
	return x;
}

static void check_stats(const struct ss_xspace *x, const struct ss_xevents *e, uint32_t i, bool has)
{
	struct ss_xstats it = ss_xevents_stats(e, &x->planes[0], &x->planes[0].lines[0], i);
	struct ss_xstat s;
	assert_true(e->begin_ps[i] == (int64_t)i * 1000 && e->dur_ps[i] == i);
	assert_int_equal(ss_xstats_next(&it, &s), has);
	assert_true(!has || s.u == i);
}

/* More events than a chunk holds, each found again by its position. */
static void finds_events_in_long_lines(void **state)
{
	enum { N = 3 * SS_EVENT_CHUNK + 17 };
	char *whole;
	(void)state;
	struct ss_xspace x = open_long_line(N, 0, &whole);
	struct ss_xevents e = load(&x, 0, 0);
	assert_int_equal(e.n, N);
	for (uint32_t i = 0; i < N; i++)
		check_stats(&x, &e, i, true);
	ss_xevents_free(&e);
	ss_xspace_close(&x);
	free(whole);
}

/* Positions take memory only where an event has stats, and those of later events are right. */
static void keeps_positions_for_stats(void **state)
{
	enum { N = 3 * SS_EVENT_CHUNK + 17 };
	static const uint32_t firsts[] = { 1, 40, SS_EVENT_CHUNK - 1, SS_EVENT_CHUNK, 2 * SS_EVENT_CHUNK + 5, N - 1, N };
	(void)state;
	for (size_t k = 0; k < SS_COUNT(firsts); k++) {
		char *whole;
		struct ss_xspace x = open_long_line(N, firsts[k], &whole);
		struct ss_xevents e = load(&x, 0, 0);
		uint32_t *from = malloc(((size_t)N + 1) * sizeof(*from));
		assert_int_equal(e.n, N);
		assert_int_equal(e.off != NULL, firsts[k] < N);
		for (uint32_t i = 0; i < N; i++)
			check_stats(&x, &e, i, i >= firsts[k]);
		assert_false(e.rebuilt);
		/* The same after another one was added in front. */
		from[0] = SS_NONE;
		for (uint32_t i = 0; i < N; i++)
			from[i + 1] = i;
		assert_true(ss_xevents_rebuild(&e, from, N + 1));
		assert_true(e.rebuilt && ss_xevents_is_added(&e, 0));
		for (uint32_t i = 1; i <= N; i++) {
			struct ss_xstats it = ss_xevents_stats(&e, &x.planes[0], &x.planes[0].lines[0], i);
			struct ss_xstat s;
			assert_false(ss_xevents_is_added(&e, i));
			assert_int_equal(ss_xstats_next(&it, &s), i > firsts[k]);
		}
		free(from);
		ss_xevents_free(&e);
		ss_xspace_close(&x);
		free(whole);
	}
}

static void says_what_is_no_profile(void **state)
{
	struct ss_xspace x;
	(void)state;
	assert_fails(ss_xspace_open_bytes(&x, SS_STR("hello, world"), "test", &err), SS_EFORMAT);
	assert_fails(ss_xspace_open_bytes(&x, SS_STR("\x1f\x8b\x08\x00"), "test", &err), SS_EFORMAT);
	assert_fails(ss_xspace_open_bytes(&x, SS_STR("\x08\x01"), "test", &err), SS_EFORMAT);
	assert_fails(ss_xspace_open_bytes(&x, SS_STR(""), "test", &err), SS_EFORMAT);
}

/*
 * Cut at every byte: what is whole is shown, and the cut is said, or the file is refused with a
 * reason.
 */
static void shows_what_is_whole_of_a_cut_file(void **state)
{
	struct bytes b = { .n = 0 };
	size_t whole = 0;
	(void)state;
	put_plane(&b, false);
	size_t first = b.n;
	put_plane(&b, false);
	for (size_t n = 1; n < b.n; n++) {
		struct ss_xspace x;
		struct ss_err why = { 0 };

		if (!ss_xspace_open_bytes(&x, (struct ss_str){ b.p, n }, "cut", &why)) {
			assert_true(why.text[0] && n < 4);
			continue;
		}
		if (n >= first) {
			check_plane(&x, 0);
			whole++;
		}
		if (n != first)
			assert_true(x.nnotes > 0 || x.nplanes == 0);
		for (uint32_t i = 0; i < x.nplanes; i++)
			for (uint32_t l = 0; l < x.planes[i].nlines; l++) {
				struct ss_xevents e = load(&x, i, l);
				ss_xevents_free(&e);
			}
		ss_xspace_close(&x);
	}
	assert_int_equal(whole, b.n - first);
}

/* Thousands of malformed planes: each is counted, the memory stays in proportion. */
static void bounds_its_complaints(void **state)
{
	enum { N = 20000 };
	char *p = malloc(3 * N);
	struct ss_xspace x;
	(void)state;
	for (size_t i = 0; i < N; i++)
		memcpy(p + 3 * i, "\x0a\x01\x08", 3);
	assert_ok(ss_xspace_open_bytes(&x, (struct ss_str){ p, 3 * N }, "bad", &err));
	assert_int_equal(x.nplanes, N);
	assert_true(x.nnotes > 0 && x.nnotes < 100);
	assert_true(x.arena.used_bytes < (size_t)N * 1000);
	ss_xspace_close(&x);
	free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_fields_in_any_order),
		cmocka_unit_test(concatenated_files_are_one),
		cmocka_unit_test(every_kind_of_stat),
		cmocka_unit_test(ids_of_any_size),
		cmocka_unit_test(order_and_times),
		cmocka_unit_test(counts_aggregated_events),
		cmocka_unit_test(finds_events_in_long_lines),
		cmocka_unit_test(keeps_positions_for_stats),
		cmocka_unit_test(says_what_is_no_profile),
		cmocka_unit_test(shows_what_is_whole_of_a_cut_file),
		cmocka_unit_test(clips_times_without_end),
		cmocka_unit_test(bounds_its_complaints),
	};
	return RUN_TESTS(tests);
}
