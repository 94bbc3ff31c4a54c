/*
 * test_part.c - parts of runs that somebody forged: the checksum is right, and what it covers is
 * not. Each is refused with a sentence, or answers; memory stays bounded by the bytes.
 */
#include "unit/unit.h"

#include "model/attribution/attribution.h"
#include "model/cluster/cluster.h"
#include "model/cluster/straggler.h"
#include "model/host/host.h"
#include "model/reduced/part.h"
#include "request/registry.h"
#include "wire/gz_out.h"
#include "wire/pb_out.h"

#include <stdlib.h>
#include <sys/resource.h>

/* Contents of a part, as it has them before they are deflated. */
struct contents {
	struct ss_buf b;
};

static void put_text(struct contents *c, struct ss_str s)
{
	ss_pbo_varint(&c->b, s.n);
	ss_buf_str(&c->b, s);
}

static void put(struct contents *c, uint64_t v)
{
	ss_pbo_varint(&c->b, v);
}

/* Shard 0 of 1 with the names of `hosts` hosts, all of them "h", and the number of those that follow. */
static void put_head(struct contents *c, uint64_t hosts, uint64_t follow)
{
	put(c, 0);
	put(c, 1);
	put_text(c, SS_STR("run"));
	put_text(c, SS_STR("run"));
	put(c, hosts);
	for (uint64_t i = 0; i < hosts; i++)
		put_text(c, SS_STR("h"));
	put(c, follow);
}

static void put_host(struct contents *c, uint64_t index, uint64_t notes, struct ss_str packed)
{
	put(c, index);
	ss_buf_str(&c->b, (struct ss_str){ "\0\0\0\0\0\0\0\0", 8 });
	put_text(c, SS_STR("run/h.xplane.pb"));
	put(c, 100);
	put(c, 0);
	put(c, notes);
	put_text(c, packed);
}

/* As a part, whose checksum is right. */
static void seal(struct contents *c, struct ss_buf *part)
{
	struct ss_gz_out *gz = ss_gz_open(SS_GZ_SMALL);
	struct ss_str deflated;
	assert_non_null(gz);
	ss_gz_write(gz, ss_buf_get(&c->b));
	assert_true(ss_gz_finish(gz, &deflated));
	ss_buf_lit(part, SS_PART_MAGIC);
	ss_buf_str(part, deflated);
	ss_gz_close(gz);
	uint64_t sum = ss_str_digest(ss_buf_get(part));
	for (unsigned i = 0; i < 64; i += 8)
		ss_buf_char(part, (char)(sum >> i));
	ss_buf_free(&c->b);
	assert_false(part->no_memory);
}

static void assert_refused(struct contents *c, const char *says)
{
	struct ss_buf part = { 0 };
	struct ss_shard s;
	struct ss_err why = { 0 };
	seal(c, &part);
	assert_false(ss_shard_read(&s, ss_buf_get(&part), &why));
	if (!strstr(why.text, says))
		fail_msg("'%s' instead of '%s'", why.text, says);
	ss_buf_free(&part);
}

static uint64_t peak_bytes(void)
{
	struct rusage u;
	getrusage(RUSAGE_SELF, &u);
	return (uint64_t)u.ru_maxrss << 10;
}

static void lengths(void **state)
{
	struct contents c = { 0 };
	(void)state;
	assert_refused(&c, "damaged");
	/* A name, a list of hosts, a number of hosts and of notes that the bytes cannot hold. */
	put(&c, 0);
	put(&c, 1);
	put(&c, UINT64_MAX);
	assert_refused(&c, "damaged");
	put(&c, 0);
	put(&c, 1);
	put_text(&c, SS_STR("run"));
	put_text(&c, SS_STR("run"));
	put(&c, UINT64_MAX / 16 + 2);
	assert_refused(&c, "damaged");
	put_head(&c, 1, UINT64_MAX);
	put_host(&c, 0, 0, SS_STR(""));
	assert_refused(&c, "damaged");
	put_head(&c, 1, 1);
	put_host(&c, 0, (uint64_t)1 << 60, SS_STR(""));
	assert_refused(&c, "damaged");
	put_head(&c, 1, 1);
	put_host(&c, 0, 0, SS_STR(""));
	put(&c, (uint64_t)1 << 60);
	assert_refused(&c, "damaged");
	/* Bytes behind the end; a shard beyond their number. */
	put_head(&c, 0, 0);
	put(&c, 0);
	put(&c, 0);
	assert_refused(&c, "damaged");
	put(&c, 1);
	put(&c, 1);
	put_text(&c, SS_STR(""));
	put_text(&c, SS_STR(""));
	put(&c, 0);
	put(&c, 0);
	put(&c, 0);
	assert_refused(&c, "damaged");
}

static void order(void **state)
{
	struct contents c = { 0 };
	(void)state;
	put_head(&c, 2, 2);
	put_host(&c, 1, 0, SS_STR(""));
	put_host(&c, 0, 0, SS_STR(""));
	assert_refused(&c, "damaged");
	put_head(&c, 2, 2);
	put_host(&c, 0, 0, SS_STR(""));
	put_host(&c, 0, 0, SS_STR(""));
	assert_refused(&c, "damaged");
	put_head(&c, 1, 1);
	put_host(&c, 1, 0, SS_STR(""));
	assert_refused(&c, "damaged");
	/* Texts by a number before the first, behind the last, and more of them than the bytes can name. */
	static const uint64_t numbers[] = { 1, 2, UINT64_MAX, UINT64_MAX - 1 };
	for (size_t i = 0; i < SS_COUNT(numbers); i++) {
		put_head(&c, 1, 1);
		put_host(&c, 0, 0, SS_STR(""));
		put(&c, 1);
		put_text(&c, SS_STR("text"));
		put(&c, 1);
		put(&c, numbers[i]);
		put_text(&c, SS_STR(""));
		assert_refused(&c, "damaged");
	}
	put_head(&c, 1, 1);
	put_host(&c, 0, 0, SS_STR(""));
	put(&c, 0);
	put(&c, UINT64_MAX);
	assert_refused(&c, "damaged");
}

/* Letters of a name that deflate to a thousandth: what it may take goes by the bytes of the part. */
static void long_name(void **state)
{
	struct contents c = { 0 };
	const size_t n = (size_t)100 << 20;
	char *letters = malloc(n);
	(void)state;
	assert_non_null(letters);
	memset(letters, 'a', n);
	put(&c, 0);
	put(&c, 1);
	put_text(&c, (struct ss_str){ letters, n });
	put_text(&c, SS_STR(""));
	put(&c, 0);
	put(&c, 0);
	put(&c, 0);
	free(letters);
	uint64_t before = peak_bytes();
	assert_refused(&c, "memory");
	assert_true(peak_bytes() < before + ((uint64_t)256 << 20));
}

/* Opens the hosts of a part and asks who holds up the others; false: `why` says why not. */
static bool ask(struct contents *c, struct ss_err *why)
{
	struct ss_buf part = { 0 };
	struct ss_shard s;
	struct ss_model m;
	struct ss_straggler_verdict v;
	seal(c, &part);
	assert_ok(ss_shard_read(&s, ss_buf_get(&part), &err));
	bool ok = ss_model_init_shard(&m, &s, why);
	if (ok) {
		ok = ss_straggler_verdict(&m, &v, why);
		ss_model_release(&m);
	}
	ss_shard_free(&s);
	ss_buf_free(&part);
	assert_true(ok || (why->code && why->text[0]));
	return ok;
}

/* Of an operation that stands on one device for a moment. */
static void pack_skeleton(struct ss_buf *to)
{
	struct ss_skeleton s = { .hostname = SS_STR(""), .note = SS_STR(""), .run = SS_STR("run"), .host = SS_STR("h") };
	struct ss_skel_device d = { .global = 0 };
	assert_true(ss_vec_push(&s.ops, ((struct ss_skel_op){ .name = SS_STR("fusion"), .program = SS_STR("jit"),
							      .groups = SS_STR("") })));
	assert_true(ss_vec_push(&d.spans, ((struct ss_skel_span){ 0, 1000, 0, SS_NO_LAUNCH, 0 })));
	assert_true(ss_vec_push(&s.devices, d));
	assert_ok(ss_skeleton_pack(&s, to, &err));
	ss_skeleton_free(&s);
}

static void put_facts(struct contents *c, uint64_t hosts, struct ss_str facts)
{
	put(c, 0);
	for (uint64_t i = 0; i < hosts; i++)
		put(c, 0);
	for (uint64_t i = 0; i < hosts; i++)
		put_text(c, facts);
}

static void one_name(void **state)
{
	enum { HOSTS = 4000 };
	struct contents c = { 0 };
	struct ss_buf packed = { 0 };
	struct ss_err why = { 0 };
	(void)state;
	pack_skeleton(&packed);
	uint64_t before = peak_bytes();
	put_head(&c, HOSTS, HOSTS);
	for (uint64_t i = 0; i < HOSTS; i++)
		put_host(&c, i, 0, ss_buf_get(&packed));
	put_facts(&c, HOSTS, SS_STR(""));
	ask(&c, &why);
	assert_true(peak_bytes() < before + ((uint64_t)512 << 20));
	ss_buf_free(&packed);
}

/* A skeleton and facts of which any byte is another, and each in the place of the other. */
static void other_kinds(void **state)
{
	struct contents c = { 0 };
	struct ss_buf packed = { 0 };
	(void)state;
	pack_skeleton(&packed);
	struct ss_str whole = ss_buf_get(&packed);
	for (size_t i = 0; i <= whole.n; i++) {
		struct ss_err why = { 0 };
		put_head(&c, 2, 2);
		put_host(&c, 0, 0, ss_str_sub(whole, 0, i));
		put_host(&c, 1, 0, whole);
		put_facts(&c, 2, SS_STR(""));
		ask(&c, &why);
	}
	for (size_t i = 0; i < whole.n; i++)
		for (unsigned bit = 0; bit < 8; bit++) {
			struct ss_err why = { 0 };
			packed.p[i] = (char)(packed.p[i] ^ 1 << bit);
			put_head(&c, 2, 2);
			put_host(&c, 0, 0, whole);
			put_host(&c, 1, 0, whole);
			put_facts(&c, 2, SS_STR(""));
			ask(&c, &why);
			packed.p[i] = (char)(packed.p[i] ^ 1 << bit);
		}
	struct ss_err why = { 0 };
	put_head(&c, 1, 1);
	put_host(&c, 0, 0, SS_STR("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"));
	put_facts(&c, 1, whole);
	ask(&c, &why);
	ss_buf_free(&packed);
}

/* A host on which so many functions of one name take time; each is written as it is. */
static void write_facts(struct ss_part_host *out, struct ss_arena *arena, size_t n, int64_t begin_ps, int64_t end_ps)
{
	struct ss_host h;
	const struct ss_err fine = { 0 };
	static const char profile[] = "\x0a\x0b\x12\x09/host:CPU";
	assert_ok(ss_host_open_bytes(&h, (struct ss_str){ profile, sizeof(profile) - 1 }, "run/h.xplane.pb", &err));
	const struct ss_buf *packed = ss_host_skeleton(&h, &(struct ss_err){ 0 });
	assert_non_null(packed);
	struct ss_time_host *t = (struct ss_time_host *)(uintptr_t)ss_host_attribution(&h, &(struct ss_err){ 0 });
	assert_non_null(t);
	struct ss_time_unit u = { .device = SS_STR("/device:TPU:0"), .window_ps = 100 };
	u.nsubjects = n;
	u.subjects = SS_NEW_N(arena, struct ss_time_subject, n + 1);
	assert_non_null(u.subjects);
	for (size_t i = 0; i < n; i++)
		u.subjects[i] = (struct ss_time_subject){ .class = SS_TIME_SYNC, .name = SS_STR("wait"), .ps = { 1 },
							  .begin_ps = begin_ps, .end_ps = end_ps };
	t->units = &u;
	t->nunits = 1;
	assert_ok(ss_facts_write(&out->facts, &h, &fine, arena, &err));
	out->packed = ss_arena_str(arena, ss_buf_get(packed));
	t->units = NULL;
	t->nunits = 0;
	ss_host_close(&h);
}

static bool ask_where_time_goes(size_t n, int64_t begin_ps, int64_t end_ps, struct ss_err *why)
{
	struct ss_str name = SS_STR("h");
	struct ss_shard made = { .count = 1, .run = SS_STR("run"), .label = SS_STR("run"), .hosts = &name, .nhosts = 1 }, s;
	struct ss_part_host host = { .path = SS_STR("run/h.xplane.pb") };
	struct ss_buf part = { 0 };
	struct ss_model m;
	struct ss_request q = { .model = &m };
	struct ss_arena arena = { 0 };
	struct ss_result out;
	write_facts(&host, &made.arena, n, begin_ps, end_ps);
	assert_true(ss_vec_push(&made.v, host));
	assert_ok(ss_shard_write(&made, &part, &err));
	assert_ok(ss_shard_read(&s, ss_buf_get(&part), &err));
	assert_ok(ss_model_init_shard(&m, &s, &err));
	ss_result_init(&out, &arena);
	bool ok = ss_tool_run(ss_tool_find(SS_STR("host_boundness")), &q, &out, why);
	ss_model_release(&m);
	ss_arena_release(&arena);
	ss_shard_free(&s);
	ss_shard_free(&made);
	ss_buf_free(&part);
	return ok;
}

/* Lists that a host has only so many of, and times at both ends of what 64 bits hold. */
static void beyond_any_host(void **state)
{
	struct ss_err why = { 0 };
	(void)state;
	assert_true(ask_where_time_goes(8, INT64_MIN + 1, INT64_MAX, &why));
	assert_false(ask_where_time_goes(300000, 0, 1, &why));
	assert_non_null(strstr(why.text, "damaged"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lengths),  cmocka_unit_test(order),	   cmocka_unit_test(long_name),
		cmocka_unit_test(one_name), cmocka_unit_test(other_kinds),
		cmocka_unit_test(beyond_any_host),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
