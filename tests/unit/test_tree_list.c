/* test_tree_list.c - lists of hostile servers: what is kept of them does not grow with what they send. */
#include "unit/unit.h"

#include "base/buf.h"
#include "location/tree_files.h"

#include <stdio.h>
#include <stdlib.h>

#define PAGES 4u
#define REFUSED 100u		/* objects of a page whose names no file can have */
#define NAME_BYTES 40000u
#define TAG_BYTES 500000u

static struct ss_str letters(struct ss_arena *arena, const char *begin, size_t n, const char *end)
{
	struct ss_buf b = { 0 };
	ss_buf_z(&b, begin);
	for (size_t i = 0; i < n; i++)
		ss_buf_char(&b, 'x');
	ss_buf_z(&b, end);
	return ss_buf_to_arena(&b, arena);
}

/* A page of names that are refused, and of one file with a long tag and one with a short one. */
static bool list_much(struct ss_bucket *b, struct ss_str prefix, struct ss_str from, struct ss_arena *arena, struct ss_page *page,
		      struct ss_err *err)
{
	unsigned number = from.n ? (unsigned)(from.p[0] - 'a') : 0;
	(void)b, (void)prefix;
	*page = (struct ss_page){ .next = SS_STR("") };
	if (number + 1 < PAGES)
		page->next = ss_arena_printf(arena, "%c", 'a' + (int)number + 1);
	struct ss_str refused = letters(arena, "l/a//", NAME_BYTES, ".xplane.pb"), tag = letters(arena, "t", TAG_BYTES, "");
	struct ss_str odd = ss_arena_printf(arena, "l/plugins/profile/r/odd%u.xplane.pb", number);
	struct ss_str usual = ss_arena_printf(arena, "l/plugins/profile/r/usual%u.xplane.pb", number);
	bool ok = ss_vec_push(&page->v, (struct ss_object){ odd, tag, 100, 1000000000 }) &&
		  ss_vec_push(&page->v, (struct ss_object){ usual, SS_STR("t"), 100, 1000000000 });
	for (unsigned i = 0; ok && i < REFUSED; i++)
		ok = ss_vec_push(&page->v, (struct ss_object){ refused, SS_STR("t"), 100, 1000000000 });
	return ok || ss_fail_mem(err);
}

static bool never(struct ss_bucket *b)
{
	(void)b;
	return false;
}

static const struct ss_bucket_kind kind = { .scheme = SS_STR_INIT("s3://"), .list = list_much, .again = never, .tagged = true };

static void keeps_no_more_than_it_shows(void **state)
{
	char cache[] = "/tmp/tree-list-XXXXXX", command[64];
	struct ss_location p = ss_location_plain("s3://b/l");
	struct ss_bucket *b = calloc(1, sizeof(*b));
	struct ss_tree *t;
	struct ss_err err = { 0 };
	(void)state;
	assert_non_null(b);
	assert_non_null(mkdtemp(cache));
	setenv("STEPSCOPE_CACHE", cache, 1);
	*b = (struct ss_bucket){ .kind = &kind, .named = SS_STR("s3://b/l"), .name = SS_STR("b"), .path = SS_STR("l") };
	pthread_mutex_init(&b->lock, NULL);
	assert_true(ss_tree_open(&t, b, &p, &err));
	assert_int_equal(p.notes.n, SS_SKIPPED_MAX);
	assert_int_equal(p.nnotes_all, PAGES * REFUSED);
	assert_true(p.arena.used_bytes < 1000 * SS_SKIPPED_MAX);
	assert_int_equal(t->files.n, 2 * PAGES);
	for (size_t i = 0; i < t->files.n; i++)
		assert_int_equal(t->files.v[i]->object.tag.n, i < PAGES ? 0 : 1);
	ss_tree_close(t);
	ss_location_close(&p);
	snprintf(command, sizeof(command), "rm -r %s", cache);
	assert_int_equal(system(command), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(keeps_no_more_than_it_shows) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
