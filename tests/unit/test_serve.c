/*
 * test_serve.c - what stands behind the server: answers in flight, answers kept, profiles shared.
 */
#include "model/host/host.h"

#include "model/host/plane.h"
#include "model/model.h"
#include "serve/answers.h"
#include "serve/catalog.h"
#include "serve/gzip.h"
#include "serve/session.h"
#include "serve/spool.h"
#include "serve/turns.h"
#include "unit/unit.h"

#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

/* Writes numbered lines until `bytes` are written, then ends as `fail` says. */
struct maker {
	size_t bytes;
	bool fail;
	bool broken_off;
};

static bool make_lines(void *arg, struct ss_out *o, struct ss_err *err)
{
	struct maker *m = arg;
	for (unsigned i = 0; o->total_bytes + o->n < m->bytes && !o->refused; i++)
		ss_out_printf(o, "line %u\n", i);
	m->broken_off = o->refused;
	return !m->fail || ss_fail(err, SS_ENODATA, "there was nothing");
}

static void gives_small_answers_whole(void **state)
{
	struct maker m = { .bytes = 1000 };
	char *body;
	size_t n;
	(void)state;
	struct ss_spool *s = ss_spool_start(make_lines, &m, 1 << 20, (struct ss_str){ NULL, 0 }, NULL);
	assert_non_null(s);
	assert_ok(ss_spool_settle(s, &err));
	assert_true(ss_spool_take(s, &body, &n));
	ss_spool_end(s);
	assert_in_range(n, 1000, 1010);
	assert_memory_equal(body, "line 0\nline 1\n", 14);
	free(body);
}

static void reports_failures_before_the_first_byte(void **state)
{
	struct maker m = { .fail = true };
	(void)state;
	struct ss_spool *s = ss_spool_start(make_lines, &m, 1 << 20, (struct ss_str){ NULL, 0 }, NULL);
	assert_fails(ss_spool_settle(s, &err), SS_ENODATA);
	ss_spool_end(s);
}

/* Read to the end; -1 when it broke off. The bytes go through inflate where they are packed. */
static long drain(struct ss_spool *s, bool gzip, uint32_t *crc)
{
	char buf[5000];
	unsigned char plain[70000];
	long sum = 0, n;
	z_stream z = { 0 };
	if (gzip)
		assert_int_equal(inflateInit2(&z, 15 + 16), Z_OK);
	*crc = (uint32_t)crc32(0, NULL, 0);
	while ((n = ss_spool_read(s, buf, sizeof(buf))) > 0) {
		if (!gzip) {
			*crc = (uint32_t)crc32(*crc, (const Bytef *)buf, (uInt)n);
			sum += n;
			continue;
		}
		z.next_in = (Bytef *)buf;
		z.avail_in = (uInt)n;
		do {
			z.next_out = plain;
			z.avail_out = sizeof(plain);
			int rc = inflate(&z, Z_NO_FLUSH);
			assert_true(rc == Z_OK || rc == Z_STREAM_END || rc == Z_BUF_ERROR);
			*crc = (uint32_t)crc32(*crc, plain, (uInt)(sizeof(plain) - z.avail_out));
			sum += (long)(sizeof(plain) - z.avail_out);
		} while (z.avail_out == 0);
	}
	if (gzip)
		inflateEnd(&z);
	return n < 0 ? -1 : sum;
}

static void streams_large_answers(void **state)
{
	uint32_t crcs[2];
	(void)state;
	for (int gzip = 0; gzip < 2; gzip++) {
		struct maker m = { .bytes = 5000000 };
		char *body;
		size_t n;
		struct ss_spool *s = ss_spool_start(make_lines, &m, 200000, (struct ss_str){ NULL, 0 }, NULL);
		assert_ok(ss_spool_settle(s, &err));
		assert_false(ss_spool_take(s, &body, &n));
		if (gzip)
			assert_true(ss_spool_gzip(s));
		assert_in_range(drain(s, gzip, &crcs[gzip]), 5000000, 5000020);
		assert_int_equal(ss_spool_read(s, (char[1]){ 0 }, 1), 0);	/* the end stays the end */
		ss_spool_end(s);
	}
	assert_int_equal(crcs[0], crcs[1]);
}

static void breaks_off_late_failures(void **state)
{
	struct maker m = { .bytes = 1000000, .fail = true };
	uint32_t crc;
	(void)state;
	struct ss_spool *s = ss_spool_start(make_lines, &m, 100000, (struct ss_str){ NULL, 0 }, NULL);
	ss_spool_settle(s, NULL);
	assert_int_equal(drain(s, false, &crc), -1);
	ss_spool_end(s);
}

static void ends_the_maker_when_the_reader_goes(void **state)
{
	struct maker m = { .bytes = SIZE_MAX };	/* would never end by itself */
	char buf[1000];
	(void)state;
	struct ss_spool *s = ss_spool_start(make_lines, &m, 100000, (struct ss_str){ NULL, 0 }, NULL);
	assert_ok(ss_spool_settle(s, &err));
	assert_true(ss_spool_read(s, buf, sizeof(buf)) > 0);
	ss_spool_end(s);
	assert_true(m.broken_off);
}

static void packs_and_unpacks(void **state)
{
	char text[10000];
	(void)state;
	for (size_t i = 0; i < sizeof(text); i++)
		text[i] = (char)(i % 97 * i % 13);
	for (size_t n = 0; n <= sizeof(text); n = n * 3 + 1) {
		struct ss_str packed = ss_gzip((struct ss_str){ text, n });
		assert_non_null(packed.p);
		struct ss_str back = ss_gunzip(packed);
		assert_non_null(back.p);
		assert_int_equal(back.n, n);
		assert_memory_equal(back.p, text, n);
		free((void *)(uintptr_t)back.p);
		assert_null(ss_gunzip(ss_str_sub(packed, 0, packed.n - 1)).p);
		free((void *)(uintptr_t)packed.p);
	}
	assert_null(ss_gunzip(SS_STR("no gzip, but long enough to be")).p);
}

static struct ss_str request(uint64_t i)
{
	static char text[20];
	return (struct ss_str){ text, (size_t)snprintf(text, sizeof(text), "/%llu", (unsigned long long)i) };
}

static struct ss_answer *keep(struct ss_answers *c, uint64_t i, size_t bytes)
{
	char *body = malloc(bytes);
	memset(body, 'x', bytes);
	struct ss_answer *a = ss_answers_keep(c, request(i), (struct ss_str){ body, bytes }, i & 1, "text/plain");
	assert_ptr_equal(a->body.p, body);
	return a;
}

static void keeps_answers_within_bounds(void **state)
{
	struct ss_answers c;
	struct ss_answer *a;
	char text[900];
	(void)state;
	memset(text, 'x', sizeof(text));
	ss_answers_init(&c, 1000);
	for (uint64_t i = 0; i < 50; i++) {
		ss_answer_drop(keep(&c, i, i + 1));
		assert_true(c.bytes <= 1000);
		/* The first is used again and again, and stays. */
		a = ss_answers_hold(&c, request(0), false);
		assert_non_null(a);
		assert_int_equal(a->body.n, 1);
		assert_string_equal(a->type, "text/plain");
		ss_answer_drop(a);
	}
	assert_null(ss_answers_hold(&c, request(1), true));
	assert_null(ss_answers_hold(&c, request(0), true));
	assert_null(ss_answers_hold(&c, SS_STR("/"), false));
	a = ss_answers_hold(&c, request(49), true);
	assert_non_null(a);
	assert_int_equal(a->body.n, 50);
	assert_true(a->gzip);
	assert_null(ss_answers_keep(&c, request(60), (struct ss_str){ text, 900 }, false, "text/plain"));
	ss_answers_release(&c);
	assert_memory_equal(a->body.p, text, 50);	/* who holds one may read on */
	ss_answer_drop(a);
	/* Small ones are bounded in number, so that looking for one stays quick. */
	ss_answers_init(&c, 1 << 20);
	for (uint64_t i = 0; i < 3 * SS_ANSWERS; i++)
		ss_answer_drop(keep(&c, i, 1));
	assert_int_equal(c.n, SS_ANSWERS);
	ss_answers_release(&c);
}

/* Profiles to open: the smallest that are one, one plane of a name. */
static char top[64];

static const char *file_path(const char *name)
{
	static char path[200];
	snprintf(path, sizeof(path), "%s/plugins/profile/r/%s.xplane.pb", top, name);
	return path;
}

static void write_profile(const char *host, const char *plane)
{
	FILE *f = fopen(file_path(host), "wb");
	assert_non_null(f);
	int n = (int)strlen(plane);
	fprintf(f, "\x0a%c\x12%c%s", n + 2, n, plane);
	fclose(f);
}

static int make_log(void **state)
{
	char path[100];
	(void)state;
	snprintf(top, sizeof(top), "/tmp/stepscope-serve-XXXXXX");
	if (!mkdtemp(top))
		return -1;
	static const char *const dirs[] = { "plugins", "plugins/profile", "plugins/profile/r" };
	for (size_t i = 0; i < SS_COUNT(dirs); i++) {
		snprintf(path, sizeof(path), "%s/%s", top, dirs[i]);
		mkdir(path, 0777);
	}
	write_profile("a", "/host:CPU");
	write_profile("b", "/device:TPU:0");
	return 0;
}

static int remove_log(void **state)
{
	char command[100];
	(void)state;
	snprintf(command, sizeof(command), "rm -rf %s", top);
	return system(command);
}

static void shares_opened_profiles(void **state)
{
	struct ss_store s;
	(void)state;
	assert_ok(ss_store_scan(&s, top, SS_SCAN_ANY, &err));
	const struct ss_host_file *both[] = { &s.runs[0].hosts[0], &s.runs[0].hosts[1] };
	struct ss_sessions *c = ss_sessions_new(1 << 30, 300);
	struct ss_session *one = ss_session_open(c, both, 1, NULL), *same = ss_session_open(c, both, 1, NULL);
	struct ss_session *two = ss_session_open(c, both, 2, NULL);
	assert_ptr_equal(one, same);
	assert_ptr_not_equal(one, two);
	/* The host is opened once, whoever has it. */
	assert_ptr_equal(ss_session_model(one)->hosts[0], ss_session_model(two)->hosts[0]);
	assert_ok(ss_session_intact(two, &err));
	ss_session_close(c, one);
	ss_session_close(c, same);
	ss_session_close(c, two);
	assert_ptr_equal(ss_session_open(c, both, 2, NULL), two);	/* kept */
	ss_session_close(c, two);
	ss_sessions_free(c);
	ss_store_free(&s);
}

static void opens_changed_files_anew(void **state)
{
	struct ss_store s;
	(void)state;
	struct ss_sessions *c = ss_sessions_new(1 << 30, 300);
	assert_ok(ss_store_scan(&s, top, SS_SCAN_ANY, &err));
	const struct ss_host_file *first[] = { &s.runs[0].hosts[0] };
	struct ss_session *old = ss_session_open(c, first, 1, NULL);
	assert_str(ss_session_model(old)->hosts[0]->planes[0].name, "/host:CPU");
	struct ss_store later;
	char moved[200];
	snprintf(moved, sizeof(moved), "%s/moved", top);
	assert_int_equal(rename(file_path("a"), moved), 0);
	write_profile("a", "/device:GPU:17");
	assert_ok(ss_store_scan(&later, top, SS_SCAN_ANY, &err));
	const struct ss_host_file *second[] = { &later.runs[0].hosts[0] };
	struct ss_session *new = ss_session_open(c, second, 1, NULL);
	assert_str(ss_session_model(new)->hosts[0]->planes[0].name, "/device:GPU:17");
	/* Who began with the old file ends with it. */
	assert_str(ss_session_model(old)->hosts[0]->planes[0].name, "/host:CPU");
	ss_session_close(c, new);
	ss_session_close(c, old);
	ss_sessions_free(c);
	ss_store_free(&s);
	ss_store_free(&later);
}

static void fails_for_what_cannot_be_opened(void **state)
{
	struct ss_store s;
	(void)state;
	struct ss_sessions *c = ss_sessions_new(1 << 30, 300);
	assert_ok(ss_store_scan(&s, top, SS_SCAN_ANY, &err));
	const struct ss_host_file *one[] = { &s.runs[0].hosts[1] };
	unlink(file_path("b"));
	assert_fails(ss_session_open(c, one, 1, &err), SS_ENOTFOUND);
	write_profile("b", "/device:TPU:0");
	struct ss_session *again = ss_session_open(c, one, 1, NULL);	/* a failure is not kept */
	assert_non_null(again);
	ss_session_close(c, again);
	ss_sessions_free(c);
	ss_store_free(&s);
}

static void gives_back_what_is_too_much(void **state)
{
	struct ss_store s;
	(void)state;
	struct ss_sessions *c = ss_sessions_new(0, 300);	/* nothing may be kept that costs anything */
	assert_ok(ss_store_scan(&s, top, SS_SCAN_ANY, &err));
	const struct ss_host_file *both[] = { &s.runs[0].hosts[0], &s.runs[0].hosts[1] };
	struct ss_session *x = ss_session_open(c, both, 2, NULL);
	assert_ok(ss_model_load(ss_session_model(x), &err));
	ss_session_close(c, x);
	ss_sessions_sweep(c);
	ss_sessions_free(c);
	ss_store_free(&s);
}

struct crowd {
	struct ss_sessions *c;
	const struct ss_host_file *const *files;
	bool failed;
};

static void *open_and_close(void *arg)
{
	struct crowd *w = arg;
	for (int i = 0; i < 200; i++) {
		size_t n = 1 + (size_t)i % 2;
		struct ss_session *s = ss_session_open(w->c, w->files, n, NULL);
		if (!s || ss_session_model(s)->nhosts != n || !ss_model_load(ss_session_model(s), NULL))
			w->failed = true;
		ss_session_close(w->c, s);
	}
	return NULL;
}

static void bears_a_crowd(void **state)
{
	struct ss_store s;
	pthread_t threads[8];
	struct crowd crowd[8];
	(void)state;
	struct ss_sessions *c = ss_sessions_new(0, 300);
	assert_ok(ss_store_scan(&s, top, SS_SCAN_ANY, &err));
	const struct ss_host_file *both[] = { &s.runs[0].hosts[0], &s.runs[0].hosts[1] };
	for (size_t i = 0; i < SS_COUNT(threads); i++) {
		crowd[i] = (struct crowd){ c, both, false };
		assert_int_equal(pthread_create(&threads[i], NULL, open_and_close, &crowd[i]), 0);
	}
	for (size_t i = 0; i < SS_COUNT(threads); i++) {
		pthread_join(threads[i], NULL);
		assert_false(crowd[i].failed);
	}
	ss_sessions_free(c);
	ss_store_free(&s);
}

static void renews_snapshots(void **state)
{
	struct ss_catalog c;
	(void)state;
	const struct ss_location place = ss_location_plain(top);
	ss_catalog_init(&c, &place);
	struct ss_snapshot *first = ss_catalog_get(&c, -1, NULL), *same = ss_catalog_get(&c, 100000, NULL);
	assert_ptr_equal(first, same);
	ss_catalog_put(&c, same);
	usleep(5000);
	write_profile("c", "/host:CPU");
	struct ss_snapshot *second = ss_catalog_get(&c, 0, NULL);
	assert_ptr_not_equal(first, second);
	assert_int_equal(first->store.runs[0].nhosts, 2);	/* whoever holds it still may */
	assert_int_equal(second->store.runs[0].nhosts, 3);
	ss_catalog_put(&c, first);
	ss_catalog_put(&c, second);
	ss_catalog_release(&c);
}

/* A file that shrinks under the reader: what is gone reads as zeros, and is known. */
static void survives_shrinking_files(void **state)
{
	struct ss_file f;
	char page[4096];
	(void)state;
	FILE *file = fopen(file_path("big"), "wb");
	memset(page, 'x', sizeof(page));
	for (int i = 0; i < 64; i++)
		fwrite(page, 1, sizeof(page), file);
	fclose(file);
	ss_file_guard();
	assert_ok(ss_file_open(&f, file_path("big"), &err));
	assert_int_equal(f.bytes.p[200000], 'x');
	assert_false(ss_file_torn(&f));
	assert_int_equal(truncate(file_path("big"), 4096), 0);
	assert_int_equal(((volatile const char *)f.bytes.p)[200000], 0);
	assert_int_equal(((volatile const char *)f.bytes.p)[100], 'x');
	assert_true(ss_file_torn(&f));
	ss_file_close(&f);
}

/* However many files are open. The places of files that were closed are taken again. */
static void survives_shrinking_files_among_many(void **state)
{
	enum { N = 2500 };
	static struct ss_file files[N];
	(void)state;
	FILE *file = fopen(file_path("one of many"), "wb");
	for (int i = 0; i < 8192; i++)
		fputc('x', file);
	fclose(file);
	ss_file_guard();
	for (int round = 0; round < 2; round++)
		for (int i = 0; i < N; i++) {
			if (round)
				ss_file_close(&files[i]);
			assert_ok(ss_file_open(&files[i], file_path("one of many"), &err));
		}
	assert_int_equal(truncate(file_path("one of many"), 0), 0);
	for (int i = 0; i < N; i++) {
		assert_false(ss_file_torn(&files[i]));
		assert_int_equal(((volatile const char *)files[i].bytes.p)[5000], 0);
		assert_true(ss_file_torn(&files[i]));
		ss_file_close(&files[i]);
	}
}

/* ---- turns ---- */

static void *give_soon(void *arg)
{
	poll(NULL, 0, 50);
	ss_turns_give(arg, 1);
	return NULL;
}

static void takes_turns(void **state)
{
	struct ss_turns t;
	pthread_t thread;
	(void)state;
	ss_turns_init(&t, 2, 2000, 60000);
	assert_int_equal(ss_turns_take(&t), 1);
	assert_int_equal(ss_turns_take(&t), 2);
	/* Who waits gets the place that is given back. */
	assert_int_equal(pthread_create(&thread, NULL, give_soon, &t), 0);
	assert_int_equal(ss_turns_take(&t), 3);
	pthread_join(thread, NULL);
	ss_turns_give(&t, 0);
	ss_turns_give(&t, 1);
	ss_turns_release(&t);
	/* Not for ever. */
	ss_turns_init(&t, 1, 50, 60000);
	assert_int_equal(ss_turns_take(&t), 1);
	assert_int_equal(ss_turns_take(&t), 0);
	ss_turns_release(&t);
	/*
	 * A place that is held for too long is given to another; who held it gives back nothing of
	 * his.
	 */
	ss_turns_init(&t, 1, 2000, 50);
	assert_int_equal(ss_turns_take(&t), 1);
	assert_int_equal(ss_turns_take(&t), 2);
	ss_turns_give(&t, 1);
	assert_int_equal(t.places[0].number, 2);
	ss_turns_give(&t, 2);
	assert_int_equal(t.places[0].number, 0);
	ss_turns_release(&t);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, make_log, remove_log)
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(gives_small_answers_whole),
		cmocka_unit_test(reports_failures_before_the_first_byte),
		cmocka_unit_test(streams_large_answers),
		cmocka_unit_test(breaks_off_late_failures),
		cmocka_unit_test(ends_the_maker_when_the_reader_goes),
		cmocka_unit_test(packs_and_unpacks),
		cmocka_unit_test(keeps_answers_within_bounds),
		cmocka_unit_test(takes_turns),
		TEST(shares_opened_profiles),
		TEST(opens_changed_files_anew),
		TEST(fails_for_what_cannot_be_opened),
		TEST(gives_back_what_is_too_much),
		TEST(bears_a_crowd),
		TEST(renews_snapshots),
		TEST(survives_shrinking_files),
		TEST(survives_shrinking_files_among_many),
	};
	return RUN_TESTS(tests);
}
