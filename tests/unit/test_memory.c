/* test_memory.c - what the allocators did, from events made by hand. */
#include "model/host/host.h"

#include "model/model.h"
#include "model/runtime/memory.h"
#include "unit/build_pb.h"
#include "unit/unit.h"

enum { ALLOC = 1, FREE = 2 };			/* event metadata */
enum { NAME = 1, HEAP, SIZE, ADDR, OP, PEAK, STACK }; /* stat metadata */

static void put_stat(struct bytes *e, uint64_t stat, uint64_t v)
{
	struct bytes s = { .n = 0 };

	put_num(&s, 1, stat);
	put_num(&s, 4, v);
	put_msg(e, 4, &s);
}

static void put_memory(struct bytes *line, uint64_t kind, uint64_t at_ps, uint64_t address, uint64_t size, uint64_t heap,
		       const char *op)
{
	struct bytes e = { .n = 0 }, s = { .n = 0 };

	put_num(&e, 1, kind);
	put_num(&e, 2, at_ps);
	put_num(&s, 1, NAME);
	put_text(&s, 5, "bfc");
	put_msg(&e, 4, &s);
	put_stat(&e, HEAP, heap);
	put_stat(&e, SIZE, size);
	put_stat(&e, ADDR, address);
	if (size != 77)		/* an allocator of such says nothing of its peak */
		put_stat(&e, PEAK, heap + 1);
	if (op) {
		s.n = 0;
		put_num(&s, 1, OP);
		put_text(&s, 5, op);
		put_msg(&e, 4, &s);
	}
	put_msg(line, 4, &e);
}

/* Two lines that begin at different times: the second begins 1 ns later, so its offset 0 is after offsets of the first. */
static void build(struct bytes *space)
{
	static const char *const stats[] = { "allocator_name", "bytes_allocated", "allocation_bytes", "addr", "tf_op",
					     "peak_bytes_in_use", "bytes_reserved" };
	struct bytes plane = { .n = 0 }, line = { .n = 0 };

	put_text(&plane, 2, "/host:CPU");
	put_num(&line, 3, 0);
	put_memory(&line, ALLOC, 100, 7, 40, 140, "a");
	put_memory(&line, ALLOC, 200, 8, 40, 180, "a");
	put_memory(&line, ALLOC, 2000, 9, 10, 170, "c");
	put_msg(&plane, 3, &line);
	line.n = 0;
	put_num(&line, 3, 1);
	put_memory(&line, FREE, 0, 7, 40, 140, NULL);
	put_memory(&line, ALLOC, 10, 7, 20, 160, "b");
	put_memory(&line, FREE, 20, 99, 5, 155, "before");
	put_msg(&plane, 3, &line);
	put_meta(&plane, 4, ALLOC, "MemoryAllocation");
	put_meta(&plane, 4, FREE, "MemoryDeallocation");
	for (size_t i = 0; i < SS_COUNT(stats); i++)
		put_meta(&plane, 5, i + 1, stats[i]);
	put_msg(space, 1, &plane);
}

static void orders_by_time(void **state)
{
	static const uint64_t addresses[] = { 7, 8, 7, 7, 99, 9 };
	struct bytes space = { .n = 0 };
	struct ss_host h;
	struct ss_arena arena = { 0 };
	struct ss_mem_details d;
	const struct ss_memory *m;

	(void)state;
	build(&space);
	assert_ok(ss_host_open_bytes(&h, bytes_str(&space), "x", &err));
	assert_ok((m = ss_host_memory(&h, &err)) != NULL);
	assert_int_equal(m->nallocators, 1);
	assert_str(m->allocators[0].id, "bfc");
	assert_int_equal(m->allocators[0].n, SS_COUNT(addresses));
	for (uint32_t i = 0; i < SS_COUNT(addresses); i++)
		assert_int_equal(m->allocators[0].events[i].address, addresses[i]);
	/* The deallocation of address 7 is described by its allocation, that of 99 by itself. */
	assert_int_equal(m->allocators[0].events[2].origin, 0);
	assert_true(ss_mem_details(m, &m->allocators[0], 2, &arena, &d));
	assert_str(d.tf_op, "a");
	assert_int_equal(d.offset_ps, 0);
	assert_true(ss_mem_details(m, &m->allocators[0], 4, &arena, &d));
	assert_str(d.tf_op, "before");
	/* The last event in the file tells the lifetime's peak; the profile's is the greatest heap. */
	assert_int_equal(m->allocators[0].lifetime_peak_bytes, 156);
	assert_int_equal(m->allocators[0].peak, 1);
	ss_arena_release(&arena);
	ss_host_close(&h);
}

/* Where nothing begins a step only allocations are read; else all of the host, with the same answer. */
static void reads_all_for_steps(void **state)
{
	struct bytes space = { .n = 0 }, plane = { .n = 0 };

	(void)state;
	build(&space);
	put_text(&plane, 2, "/host:python-tracer");
	put_meta(&plane, 5, 1, "_r");
	for (int marked = 0; marked < 2; marked++) {
		const struct ss_memory *m;
		struct ss_host h;

		if (marked)
			put_msg(&space, 1, &plane);
		assert_ok(ss_host_open_bytes(&h, bytes_str(&space), "x", &err));
		assert_ok((m = ss_host_memory(&h, &err)) != NULL);
		assert_int_equal(ss_part_is_built(&h.parts[SS_HOST_EVENTS]), marked);
		assert_int_equal(m->nallocators, 1);
		assert_int_equal(m->allocators[0].n, 6);
		for (uint32_t i = 0; i < 6; i++)
			assert_int_equal(m->allocators[0].events[i].step, 0);
		assert_int_equal(m->allocators[0].events[5].address, 9);
		ss_host_close(&h);
	}
}

/* No event states a peak: the greatest use that was seen is the greatest that is known. */
static void no_stated_peak(void **state)
{
	static const char *const stats[] = { "allocator_name", "bytes_allocated", "allocation_bytes", "addr", "tf_op" };
	struct bytes space = { .n = 0 }, plane = { .n = 0 }, line = { .n = 0 };
	struct ss_host h;
	const struct ss_memory *m;

	(void)state;
	put_text(&plane, 2, "/host:CPU");
	put_memory(&line, ALLOC, 100, 7, 77, 500, NULL);
	put_memory(&line, FREE, 200, 7, 77, 423, NULL);
	put_msg(&plane, 3, &line);
	put_meta(&plane, 4, ALLOC, "MemoryAllocation");
	put_meta(&plane, 4, FREE, "MemoryDeallocation");
	for (size_t i = 0; i < SS_COUNT(stats); i++)
		put_meta(&plane, 5, i + 1, stats[i]);
	put_msg(&space, 1, &plane);
	assert_ok(ss_host_open_bytes(&h, bytes_str(&space), "x", &err));
	assert_ok((m = ss_host_memory(&h, &err)) != NULL);
	assert_int_equal(m->nallocators, 1);
	assert_int_equal(m->allocators[0].lifetime_peak_bytes, 500);
	ss_host_close(&h);
}

static void breaks_down_the_peak(void **state)
{
	struct bytes space = { .n = 0 };
	struct ss_host h;
	struct ss_arena arena = { 0 };
	struct ss_mem_active *rows;
	const struct ss_memory *m;
	size_t n;

	(void)state;
	build(&space);
	assert_ok(ss_host_open_bytes(&h, bytes_str(&space), "x", &err));
	assert_ok((m = ss_host_memory(&h, &err)) != NULL);
	assert_ok(ss_mem_at_peak(m, &m->allocators[0], &arena, &rows, &n, &err));
	/* 180 in use: 100 were held before, two equal allocations of 40 are one row. */
	assert_int_equal(n, 2);
	assert_int_equal(rows[0].event, SS_NONE);
	assert_int_equal(rows[0].bytes, 100);
	assert_int_equal(rows[1].event, 0);
	assert_int_equal(rows[1].bytes, 40);
	assert_int_equal(rows[1].count, 2);
	ss_arena_release(&arena);
	ss_host_close(&h);
}

static void samples_keep_peaks(void **state)
{
	struct ss_mem_event events[7] = { 0 };
	struct ss_mem_allocator a = { .events = events, .n = 7 };
	uint32_t picked[8];

	(void)state;
	for (uint32_t i = 0; i < 7; i++)
		events[i].in_use_bytes = i == 1 || i == 5 ? 9 : 1;
	assert_int_equal(ss_mem_sample(&a, 8, picked), 7);
	/* Boxes of 2, 2 and 3. */
	assert_int_equal(ss_mem_sample(&a, 3, picked), 3);
	assert_int_equal(picked[0], 1);
	assert_int_equal(picked[1], 2);
	assert_int_equal(picked[2], 5);
}

/* One allocation on an allocator that has as much left. */
static void build_device(struct bytes *space, const char *allocator, uint64_t heap, uint64_t unused, double fragmentation)
{
	static const char *const stats[] = { "allocator_name", "bytes_allocated", "bytes_available", "fragmentation", "tf_op",
					     "allocation_bytes" };
	struct bytes plane = { .n = 0 }, line = { .n = 0 }, e = { .n = 0 }, s = { .n = 0 };

	put_num(&e, 1, ALLOC);
	put_num(&e, 2, 100);
	put_num(&s, 1, 1);
	put_text(&s, 5, allocator);
	put_msg(&e, 4, &s);
	put_stat(&e, 2, heap);
	put_stat(&e, 3, unused);
	s.n = 0;
	put_num(&s, 1, 4);
	put_varint(&s, 2 << 3 | 1);
	memcpy(s.p + s.n, &fragmentation, 8);
	s.n += 8;
	put_msg(&e, 4, &s);
	s.n = 0;
	put_num(&s, 1, 5);
	put_text(&s, 5, "dense/MatMul");
	put_msg(&e, 4, &s);
	put_stat(&e, 6, heap);
	put_msg(&line, 4, &e);
	put_text(&plane, 2, "/host:CPU");
	put_msg(&plane, 3, &line);
	put_meta(&plane, 4, ALLOC, "MemoryAllocation");
	for (size_t i = 0; i < SS_COUNT(stats); i++)
		put_meta(&plane, 5, i + 1, stats[i]);
	put_msg(space, 1, &plane);
}

/* A host's own memory is no device's, however full it is. */
static void the_peak_of_all_hosts(void **state)
{
	static const struct {
		const char *allocator;
		uint64_t heap, unused;
		double fragmentation;
	} made[] = { { "cpu", 100, 0, 0 }, { "GPU_0_bfc", 60, 40, 0.1 }, { "GPU_1_bfc", 95, 5, 0.4 },
		   { "gpu_host_bfc", 99, 1, 0 } };
	struct bytes space[SS_COUNT(made)] = { 0 };
	struct ss_host hosts[SS_COUNT(made)], *list[SS_COUNT(made)];
	struct ss_model model;
	const struct ss_memory_peak *f;

	(void)state;
	for (size_t i = 0; i < SS_COUNT(made); i++) {
		build_device(&space[i], made[i].allocator, made[i].heap, made[i].unused, made[i].fragmentation);
		assert_ok(ss_host_open_bytes(&hosts[i], bytes_str(&space[i]), made[i].allocator, &err));
		list[i] = &hosts[i];
	}
	assert_ok(ss_model_init(&model, list, SS_COUNT(made), &err));
	assert_ok((f = ss_model_memory_peak(&model, &err)) != NULL);
	assert_str(f->id, "GPU_1_bfc");
	assert_int_equal(f->used_bytes, 95);
	assert_int_equal(f->capacity_bytes, 100);
	assert_true(f->fragmentation == 0.4);
	assert_str(f->op, "dense/MatMul");
	assert_int_equal(f->op_bytes, 95);
	ss_model_release(&model);
	for (size_t i = 0; i < SS_COUNT(made); i++)
		ss_host_close(&hosts[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(orders_by_time),
		cmocka_unit_test(reads_all_for_steps),
		cmocka_unit_test(no_stated_peak),
		cmocka_unit_test(breaks_down_the_peak),
		cmocka_unit_test(samples_keep_peaks),
		cmocka_unit_test(the_peak_of_all_hosts),
	};
	return RUN_TESTS(tests);
}
