/* test_heap.c - reading buffer assignments and playing heap traces, from modules made by hand. */
#include "unit/unit.h"

#include "hlo/shape.h"
#include "model/program/heap.h"
#include "unit/build_pb.h"

/* f32[elements]{0} */
static void put_shape(struct bytes *b, unsigned field, uint64_t elements)
{
	struct bytes shape = { .n = 0 }, layout = { .n = 0 };

	put_num(&layout, LAYOUT_MINOR_TO_MAJOR, 0);
	put_num(&shape, SHAPE_ELEMENT_TYPE, SS_HLO_F32);
	put_num(&shape, SHAPE_DIMENSIONS, elements);
	put_msg(&shape, SHAPE_LAYOUT, &layout);
	put_msg(b, field, &shape);
}

static void put_buffer(struct bytes *b, uint64_t id, uint64_t size)
{
	struct bytes buffer = { .n = 0 }, at = { .n = 0 };

	put_num(&at, LOCATION_INSTRUCTION_ID, 1);
	put_num(&buffer, LOGICAL_BUFFER_ID, id);
	put_num(&buffer, LOGICAL_BUFFER_SIZE, size);
	put_msg(&buffer, LOGICAL_BUFFER_DEFINED_AT, &at);
	put_msg(b, BUFFER_ASSIGNMENT_BUFFERS, &buffer);
}

struct event {
	unsigned kind;
	uint64_t buffer, canonical;
};

/* One instruction f32[2], buffers 1..3 of 10, 20 and 40 bytes in one temporary allocation, and the trace. */
static void build(struct bytes *proto, const struct event *events, size_t n)
{
	struct bytes module = { .n = 0 }, comp = { .n = 0 }, instr = { .n = 0 };
	struct bytes assignment = { .n = 0 }, alloc = { .n = 0 }, trace = { .n = 0 };

	put_text(&instr, HLO_INSTRUCTION_NAME, "a");
	put_num(&instr, HLO_INSTRUCTION_ID, 1);
	put_shape(&instr, HLO_INSTRUCTION_SHAPE, 2);
	put_msg(&comp, HLO_COMPUTATION_INSTRUCTIONS, &instr);
	put_msg(&module, HLO_MODULE_COMPUTATIONS, &comp);
	put_msg(proto, HLO_PROTO_MODULE, &module);
	for (uint64_t id = 1; id <= 3; id++) {
		struct bytes assigned = { .n = 0 };

		put_buffer(&assignment, id, (uint64_t)5 << id);
		put_num(&assigned, ASSIGNED_BUFFER_ID, id);
		put_msg(&alloc, ALLOCATION_ASSIGNED, &assigned);
	}
	put_msg(&assignment, BUFFER_ASSIGNMENT_ALLOCATIONS, &alloc);
	for (size_t i = 0; i < n; i++) {
		struct bytes e = { .n = 0 };

		put_num(&e, TRACE_EVENT_KIND, events[i].kind);
		put_num(&e, TRACE_EVENT_BUFFER_ID, events[i].buffer);
		put_num(&e, TRACE_EVENT_CANONICAL_ID, events[i].canonical);
		put_msg(&trace, TRACE_EVENTS, &e);
	}
	put_msg(&assignment, BUFFER_ASSIGNMENT_TRACES, &trace);
	put_msg(proto, HLO_PROTO_BUFFER_ASSIGNMENT, &assignment);
}

struct played {
	struct bytes proto;
	struct ss_hlo_module m;
	struct ss_hlo_buffers b;
	struct ss_heap h;
	struct ss_arena arena;
};

static bool play(struct played *p, const struct event *events, size_t n, struct ss_err *err)
{
	memset(p, 0, sizeof(*p));
	build(&p->proto, events, n);
	ss_hlo_open(&p->m, bytes_str(&p->proto));
	return ss_hlo_index(&p->m, err) && ss_hlo_buffers_read(&p->b, &p->m, err) &&
	       ss_heap_play(&p->h, &p->b, 0, &p->arena, err);
}

static void done(struct played *p)
{
	ss_hlo_buffers_free(&p->b);
	ss_hlo_close(&p->m);
	ss_arena_release(&p->arena);
}

static void plays(void **state)
{
	static const struct event events[] = {
		{ SS_HLO_TRACE_ALLOC, 1, 0 }, { SS_HLO_TRACE_ALLOC, 3, 0 },
		{ SS_HLO_TRACE_FREE, 1, 0 }, { SS_HLO_TRACE_FREE, 3, 0 },
	};
	static const int64_t want[] = { 0, 10, 50, 40, 0 };
	static struct played p;

	(void)state;
	assert_ok(play(&p, events, SS_COUNT(events), &err));
	for (size_t i = 0; i < SS_COUNT(want); i++)
		assert_int_equal(p.h.bytes[i], want[i]);
	assert_int_equal(p.h.unpadded_bytes[2], 16);
	assert_int_equal(p.h.peak_bytes, 50);
	assert_int_equal(p.h.peak_at, 1);
	assert_int_equal(p.h.nlive, 2);
	assert_int_equal(p.h.span_begin[2], 1);
	assert_int_equal(p.h.span_end[2], 3);
	assert_int_equal(p.h.span_begin[1], SS_NONE);
	done(&p);
}

/* Sharing keeps memory alive; sharing what was freed brings it back under the new name. */
static void shares(void **state)
{
	static const struct event events[] = {
		{ SS_HLO_TRACE_ALLOC, 1, 0 }, { SS_HLO_TRACE_SHARE, 2, 1 },
		{ SS_HLO_TRACE_FREE, 1, 0 }, { SS_HLO_TRACE_FREE, 2, 0 },
		{ SS_HLO_TRACE_SHARE, 3, 2 }, { SS_HLO_TRACE_FREE, 3, 0 },
	};
	static const int64_t want[] = { 0, 10, 10, 10, 0, 10, 0 };
	static struct played p;

	(void)state;
	assert_ok(play(&p, events, SS_COUNT(events), &err));
	for (size_t i = 0; i < SS_COUNT(want); i++)
		assert_int_equal(p.h.bytes[i], want[i]);
	assert_int_equal(p.h.span_begin[0], 0);
	assert_int_equal(p.h.span_end[0], 3);
	assert_int_equal(p.h.span_begin[2], 4);
	assert_int_equal(p.h.span_end[2], 5);
	done(&p);
}

static void refuses_nonsense(void **state)
{
	static const struct event twice[] = {
		{ SS_HLO_TRACE_ALLOC, 1, 0 }, { SS_HLO_TRACE_FREE, 1, 0 }, { SS_HLO_TRACE_FREE, 1, 0 },
	};
	static const struct event circle[] = { { SS_HLO_TRACE_SHARE, 1, 2 }, { SS_HLO_TRACE_SHARE, 2, 1 } };
	static const struct event unknown[] = { { SS_HLO_TRACE_ALLOC, 99, 0 }, { 7, 1, 0 } };
	static struct played p;

	(void)state;
	assert_fails(play(&p, twice, SS_COUNT(twice), &err), SS_EFORMAT);
	done(&p);
	assert_fails(play(&p, circle, SS_COUNT(circle), &err), SS_EFORMAT);
	done(&p);
	assert_ok(play(&p, unknown, SS_COUNT(unknown), &err));
	done(&p);
}

static void prints_shapes(void **state)
{
	struct bytes tuple = { .n = 0 }, layout = { .n = 0 }, tile = { .n = 0 }, shape = { .n = 0 };
	struct ss_buf b = { 0 };

	(void)state;
	put_num(&tile, TILE_DIMENSIONS, 8);
	put_num(&tile, TILE_DIMENSIONS, 128);
	put_num(&layout, LAYOUT_MINOR_TO_MAJOR, 1);
	put_num(&layout, LAYOUT_MINOR_TO_MAJOR, 0);
	put_msg(&layout, LAYOUT_TILES, &tile);
	put_num(&layout, LAYOUT_MEMORY_SPACE, 1);
	put_num(&shape, SHAPE_ELEMENT_TYPE, SS_HLO_BF16);
	put_num(&shape, SHAPE_DIMENSIONS, 3);
	put_num(&shape, SHAPE_DIMENSIONS, 5);
	put_msg(&shape, SHAPE_LAYOUT, &layout);
	put_num(&tuple, SHAPE_ELEMENT_TYPE, SS_HLO_TUPLE);
	put_msg(&tuple, SHAPE_TUPLE_SHAPES, &shape);
	for (int i = 0; i < 5; i++)
		put_shape(&tuple, SHAPE_TUPLE_SHAPES, 4);
	ss_hlo_shape_print(&b, bytes_str(&tuple), true);
	assert_str(ss_buf_get(&b), "(bf16[3,5]{1,0:T(8,128)S(1)}, f32[4]{0}, f32[4]{0}, f32[4]{0}, "
				   "f32[4]{0}, /*index=5*/f32[4]{0})");
	assert_int_equal(ss_hlo_shape_bytes(bytes_str(&shape)), 30);
	assert_int_equal(ss_hlo_shape_bytes(bytes_str(&tuple)), 48);
	b.n = 0;
	ss_hlo_shape_print(&b, bytes_str(&shape), false);
	assert_str(ss_buf_get(&b), "bf16[3,5]");
	ss_buf_free(&b);
}

/* u2[9]: a byte each, or four in a byte where the layout packs them. */
static void counts_packed_elements(void **state)
{
	static struct bytes layout, odd, plain, packed;
	(void)state;
	put_num(&plain, SHAPE_ELEMENT_TYPE, SS_HLO_U2);
	put_num(&plain, SHAPE_DIMENSIONS, 9);
	assert_int_equal(ss_hlo_shape_bytes(bytes_str(&plain)), 9);
	put_num(&layout, LAYOUT_ELEMENT_BITS, 2);
	packed = plain;
	put_msg(&packed, SHAPE_LAYOUT, &layout);
	assert_int_equal(ss_hlo_shape_bytes(bytes_str(&packed)), 3);
	put_num(&odd, LAYOUT_ELEMENT_BITS, (uint64_t)-1);
	packed = plain;
	put_msg(&packed, SHAPE_LAYOUT, &odd);
	assert_int_equal(ss_hlo_shape_bytes(bytes_str(&packed)), 9);
}

/* Tuples in tuples, deeper than anybody writes. */
static void bounds_nesting(void **state)
{
	static struct bytes a, b;
	struct ss_buf out = { .limit_bytes = 1000 };

	(void)state;
	for (int i = 0; i < 300; i++) {
		b = a;
		a.n = 0;
		put_num(&a, SHAPE_ELEMENT_TYPE, SS_HLO_TUPLE);
		put_msg(&a, SHAPE_TUPLE_SHAPES, &b);
	}
	ss_hlo_shape_print(&out, bytes_str(&a), true);
	assert_true(ss_str_contains(ss_buf_get(&out), SS_STR("...")));
	ss_buf_free(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(plays),	 cmocka_unit_test(shares),	  cmocka_unit_test(refuses_nonsense),
		cmocka_unit_test(prints_shapes), cmocka_unit_test(counts_packed_elements),
		cmocka_unit_test(bounds_nesting),
	};
	return RUN_TESTS(tests);
}
