/*
 * test_riegeli.c - profiles in the riegeli format: each codec, chunks across blocks, records that
 * are joined, and what is left of a damaged file.
 */
#include "unit.h"

#include "build_pb.h"
#include "base/file.h"
#include "import/riegeli.h"
#include "model/host/host.h"
#include "wire/highway.h"
#include "wire/snappy.h"
#include "wire/packed.h"
#include "xspace/events.h"
#include "xspace/fields.h"

#include <stdio.h>

/* ---- writing a file: simple chunks without packing ---- */

#define BLOCK ((size_t)65536)
#define USABLE (BLOCK - 24)

static uint64_t hash(struct ss_str s)
{
	static const uint64_t key[4] = { 0x2f696c6567656952u, 0x0a7364726f636572u, 0x2f696c6567656952u, 0x0a7364726f636572u };
	return ss_highway64(key, s);
}

static void put_u64(struct ss_buf *b, uint64_t v, unsigned bytes)
{
	for (unsigned i = 0; i < bytes; i++)
		ss_buf_char(b, (char)(v >> (8 * i)));
}

/* `text`, cut by the headers of blocks, then zeros up to where a chunk may end. */
static void put_through(struct ss_buf *file, struct ss_str text)
{
	size_t begin = file->n, end = begin + text.n + 24 * ((text.n + (begin + USABLE - 1) % BLOCK) / USABLE), at = 0;
	size_t rest = BLOCK - 1 - (end + BLOCK - 1) % BLOCK;
	end += rest > USABLE - 1 ? rest - (USABLE - 1) : 0;
	while (file->n < end) {
		if (file->n % BLOCK) {
			ss_buf_char(file, at < text.n ? text.p[at] : '\0');
			at++;
			continue;
		}
		struct ss_buf header = { 0 };
		put_u64(&header, file->n - begin, 8);
		put_u64(&header, end - file->n, 8);
		put_u64(file, hash(ss_buf_get(&header)), 8);
		ss_buf_str(file, ss_buf_get(&header));
		ss_buf_free(&header);
	}
}

static void put_chunk(struct ss_buf *file, char type, struct ss_str data, uint64_t nrecords, uint64_t decoded)
{
	struct ss_buf header = { 0 }, whole = { 0 };
	put_u64(&header, data.n, 8);
	put_u64(&header, hash(data), 8);
	ss_buf_char(&header, type);
	put_u64(&header, nrecords, 7);
	put_u64(&header, decoded, 8);
	put_u64(&whole, hash(ss_buf_get(&header)), 8);
	ss_buf_str(&whole, ss_buf_get(&header));
	ss_buf_str(&whole, data);
	put_through(file, ss_buf_get(&whole));
	ss_buf_free(&header);
	ss_buf_free(&whole);
}

static void put_records(struct ss_buf *file, const struct ss_str *records, size_t n)
{
	struct ss_buf data = { 0 }, sizes = { 0 };
	uint64_t decoded = 0;
	for (size_t i = 0; i < n; i++) {
		struct bytes size = { .n = 0 };
		put_varint(&size, records[i].n);
		ss_buf_str(&sizes, bytes_str(&size));
		decoded += records[i].n;
	}
	struct bytes nsizes = { .n = 0 };
	put_varint(&nsizes, sizes.n);
	ss_buf_char(&data, '\0');
	ss_buf_str(&data, bytes_str(&nsizes));
	ss_buf_str(&data, ss_buf_get(&sizes));
	for (size_t i = 0; i < n; i++)
		ss_buf_str(&data, records[i]);
	put_chunk(file, 'r', ss_buf_get(&data), n, decoded);
	ss_buf_free(&data);
	ss_buf_free(&sizes);
}

static struct ss_buf new_file(void)
{
	struct ss_buf file = { 0 };
	put_chunk(&file, 's', SS_STR(""), 0, 0);
	assert_true(ss_riegeli_is(ss_buf_get(&file)));
	return file;
}

/* ---- reading ---- */

static struct ss_riegeli_loss loss;

static struct ss_buf read_all(struct ss_str file)
{
	struct ss_buf space = { 0 };
	assert_ok(ss_riegeli_read(file, NULL, &space, &loss, &err));
	return space;
}

static const char *sample(const char *name)
{
	static char path[600];
	snprintf(path, sizeof(path), SS_TEST_DATA "/riegeli/%s.xplane.riegeli", name);
	return path;
}

static const char *const packed[] = { "none-simple",   "brotli-simple",	   "zstd-simple",   "snappy-simple",
				      "none-transpose", "brotli-transpose", "zstd-transpose", "snappy-transpose" };

static void every_codec_gives_the_same_records(void **state)
{
	struct ss_buf first = { 0 };
	(void)state;
	for (size_t i = 0; i < SS_COUNT(packed); i++) {
		struct ss_file f;
		assert_ok(ss_file_open(&f, sample(packed[i]), &err));
		struct ss_buf space = read_all(f.bytes);
		assert_int_equal(loss.records, 6);
		assert_false(loss.cut || loss.over || loss.lost_chunks || loss.lost_bytes);
		if (i == 0)
			first = space;
		else
			assert_true(ss_str_eq(ss_buf_get(&space), ss_buf_get(&first)));
		if (i)
			ss_buf_free(&space);
		ss_file_close(&f);
	}
	ss_buf_free(&first);
}

/*
 * Cut at every place: what is there is read, and what is missing is said; bytes before the cut stay
 * the same.
 */
static void cut_files_are_salvaged(void **state)
{
	(void)state;
	for (size_t i = 0; i < SS_COUNT(packed); i++) {
		struct ss_file f;
		size_t most = 0;
		assert_ok(ss_file_open(&f, sample(packed[i]), &err));
		struct ss_buf whole = read_all(f.bytes);
		for (size_t n = 0; n < f.bytes.n; n += 1 + n / 100) {
			struct ss_buf space = { 0 };
			struct ss_err err = { 0 };
			bool ok = ss_riegeli_read(ss_str_sub(f.bytes, 0, n), NULL, &space, &loss, &err);
			assert_true(ok || (err.code == SS_EFORMAT && strstr(err.text, "ends at byte")));
			assert_true(loss.cut || n <= 64);
			assert_true(space.n >= most);	/* the longer the file, the more */
			most = space.n;
			assert_true(ss_str_starts(ss_buf_get(&whole), ss_buf_get(&space)));
			ss_buf_free(&space);
		}
		/*
		 * All records of these files stand in one chunk. Simple ones give up their values
		 * as the codec does: zstd in blocks.
		 */
		assert_true(strstr(packed[i], "simple") && !strstr(packed[i], "zstd") ? most > whole.n / 2 : most == 0);
		ss_buf_free(&whole);
		ss_file_close(&f);
	}
}

static void no_flipped_bit_goes_unnoticed(void **state)
{
	(void)state;
	for (size_t i = 0; i < SS_COUNT(packed); i++) {
		struct ss_file f;
		assert_ok(ss_file_open(&f, sample(packed[i]), &err));
		char *copy = malloc(f.bytes.n);
		assert_non_null(copy);
		memcpy(copy, f.bytes.p, f.bytes.n);
		for (size_t n = 64; n < f.bytes.n; n += 1 + f.bytes.n / 700) {
			struct ss_buf space = { 0 };
			struct ss_err err = { 0 };
			copy[n] = (char)(copy[n] ^ 1 << n % 8);
			assert_false(ss_riegeli_read((struct ss_str){ copy, f.bytes.n }, NULL, &space, &loss, &err));
			assert_non_null(strstr(err.text, "damaged"));
			assert_int_equal(loss.lost_at, 64);
			copy[n] = f.bytes.p[n];
			ss_buf_free(&space);
		}
		free(copy);
		ss_file_close(&f);
	}
}

/* ---- chunks and blocks ---- */

/* An XSpace whose one plane has this name and `fill` more bytes. */
static struct ss_str plane_of(struct ss_buf *to, const char *name, size_t fill)
{
	struct bytes head = { .n = 0 }, length = { .n = 0 };
	to->n = 0;
	put_text(&head, XPLANE_NAME, name);
	put_varint(&head, 15 << 3 | 2);
	put_varint(&head, fill);
	put_varint(&length, XSPACE_PLANES << 3 | 2);
	put_varint(&length, head.n + fill);
	ss_buf_str(to, bytes_str(&length));
	ss_buf_str(to, bytes_str(&head));
	for (size_t i = 0; i < fill; i++)
		ss_buf_char(to, (char)('a' + i % 26));
	return ss_buf_get(to);
}

/* Records of all lengths around the borders of blocks, a chunk each. */
static void chunks_cross_blocks(void **state)
{
	static const size_t fills[] = { 1, 65000, 500, 65490, 1, 131000, 70, 64 << 10, 65511, 30, 1 };
	struct ss_buf file = new_file(), all = { 0 }, one = { 0 };
	(void)state;
	for (size_t i = 0; i < SS_COUNT(fills); i++) {
		char name[20];
		snprintf(name, sizeof(name), "/p%zu", i);
		struct ss_str record = plane_of(&one, name, fills[i]);
		put_records(&file, &record, 1);
		ss_buf_str(&all, record);
	}
	struct ss_buf space = read_all(ss_buf_get(&file));
	assert_int_equal(loss.records, SS_COUNT(fills));
	assert_true(ss_str_eq(ss_buf_get(&space), ss_buf_get(&all)));
	ss_buf_free(&space);
	/*
	 * Damage in the header of the second chunk: reading goes on behind, at what the next block
	 * names.
	 */
	for (size_t at = 64; at < file.n; at++)
		if (memcmp(file.p + at, "/p1", 3) == 0) {
			memset(file.p + at - 45, 'x', 20);
			break;
		}
	space = read_all(ss_buf_get(&file));
	assert_int_equal(loss.records, SS_COUNT(fills) - 1);
	assert_true(loss.lost_bytes > 65000 && loss.lost_bytes < 65100);
	assert_true(ss_str_contains(ss_buf_get(&space), SS_STR("/p0")));
	assert_false(ss_str_contains(ss_buf_get(&space), SS_STR("/p1z")));
	assert_true(ss_str_contains(ss_buf_get(&space), SS_STR("/p10")));
	ss_buf_free(&space);
	ss_buf_free(&file);
	ss_buf_free(&all);
	ss_buf_free(&one);
}

/* A damaged chunk among others: the others are read. */
static void one_damaged_chunk_is_left_out(void **state)
{
	struct ss_buf file = new_file(), one = { 0 };
	(void)state;
	for (int i = 0; i < 3; i++) {
		const char *const names[] = { "/first", "/second", "/third" };
		struct ss_str record = plane_of(&one, names[i], 100);
		put_records(&file, &record, 1);
	}
	put_chunk(&file, 'Z', SS_STR("of the future"), 1, 13);
	for (size_t at = 0; at + 7 < file.n; at++)
		if (memcmp(file.p + at, "/second", 7) == 0)
			file.p[at + 3] ^= 4;
	struct ss_buf space = read_all(ss_buf_get(&file));
	assert_int_equal(loss.records, 2);
	assert_int_equal(loss.lost_chunks, 1);
	assert_int_equal(loss.lost_records, 1);
	assert_int_equal(loss.other_chunks, 1);
	assert_int_equal(loss.lost_bytes, 0);
	assert_true(ss_str_contains(ss_buf_get(&space), SS_STR("/third")));
	ss_buf_free(&space);
	ss_buf_free(&file);
	ss_buf_free(&one);
}

/* Chunks that say more than they hold cost no more than they hold. */
static void boasting_chunks_are_refused(void **state)
{
	static const struct ss_str packed_data[] = {
		SS_STR_INIT("b\2\1\x10\xff\xff\xff\xff\xff\x7f"), SS_STR_INIT("z\2\1\x10\xff\xff\xff\xff\xff\x7f"),
		SS_STR_INIT("s\2\1\x10\xff\xff\xff\xff\xff\x7f"), SS_STR_INIT("\0\xff\xff\xff\xff\x0f"), SS_STR_INIT("?"),
		SS_STR_INIT(""),
	};
	(void)state;
	for (int transposed = 0; transposed < 2; transposed++)
		for (size_t i = 0; i < SS_COUNT(packed_data); i++) {
			struct ss_buf file = new_file(), space = { .hold = ss_hold_open(100) };
			struct ss_err err = { 0 };
			put_chunk(&file, transposed ? 't' : 'r', packed_data[i], 3, UINT64_C(1) << 40);
			bool ok = ss_riegeli_read(ss_buf_get(&file), NULL, &space, &loss, &err);
			assert_true(ok ? loss.over : err.code == SS_EFORMAT);
			struct ss_hold *hold = space.hold;
			ss_buf_free(&space);
			ss_hold_close(hold);
			assert_int_equal(ss_hold_spent_bytes(), 0);
			ss_buf_free(&file);
		}
}

/* ---- records that are joined ---- */

static void put_op(struct bytes *line, uint64_t meta, uint64_t offset_ps, uint64_t stat_id, uint64_t ref)
{
	struct bytes e = { .n = 0 }, s = { .n = 0 };
	put_num(&e, XEVENT_METADATA_ID, meta);
	put_num(&e, XEVENT_OFFSET_PS, offset_ps);
	put_num(&e, XEVENT_DURATION_PS, 5);
	put_num(&s, XSTAT_METADATA_ID, stat_id);
	put_num(&s, XSTAT_REF_VALUE, ref);
	put_msg(&e, XEVENT_STATS, &s);
	put_msg(line, XLINE_EVENTS, &e);
}

/* A plane with ids of its own: the names of its events and stats in this order. */
static void plane_with(struct bytes *space, uint64_t line_id, int64_t begin_ns, const uint64_t ids[2], const char *const names[2],
		       uint64_t stat, uint64_t value, const char *value_name)
{
	struct bytes plane = { .n = 0 }, line = { .n = 0 };
	space->n = 0;
	put_text(&plane, XPLANE_NAME, "/device:TPU:0");
	for (int i = 0; i < 2; i++)
		put_meta(&plane, XPLANE_EVENT_METADATA, ids[i], names[i]);
	put_meta(&plane, XPLANE_STAT_METADATA, stat, "hlo_category");
	put_meta(&plane, XPLANE_STAT_METADATA, value, value_name);
	put_num(&line, XLINE_ID, line_id);
	put_text(&line, XLINE_NAME, "XLA Ops");
	put_num(&line, XLINE_TIMESTAMP_NS, (uint64_t)begin_ns);
	put_op(&line, ids[0], 10, stat, value);
	put_op(&line, ids[1], 20, stat, value);
	put_msg(&plane, XPLANE_LINES, &line);
	put_msg(space, XSPACE_PLANES, &plane);
}

static void check_event(const struct ss_xplane *p, struct ss_xevents *e, uint32_t i, const char *name, int64_t begin_ps,
			const char *category)
{
	struct ss_xstat s;
	assert_str(ss_xevent_meta_name(p, e->meta[i]), name);
	assert_int_equal(e->begin_ps[i], begin_ps);
	assert_true(ss_xstats_find(ss_xevents_stats(e, p, &p->lines[0], i), SS_STAT_HLO_CATEGORY, &s));
	assert_str(ss_xstat_str(&s), category);
}

static void planes_of_one_name_become_one(void **state)
{
	struct bytes a, b;
	struct ss_buf file = new_file();
	struct ss_xspace x;
	struct ss_xevents e;
	(void)state;
	plane_with(&a, 3, 1000, (uint64_t[]){ 1, 2 }, (const char *[]){ "add", "mul" }, 1, 2, "fusion");
	/*
	 * The ids mean others, "add" is known, "sub" is new; the line goes on earlier than the
	 * first part.
	 */
	plane_with(&b, 3, 900, (uint64_t[]){ 2, 1 }, (const char *[]){ "add", "sub" }, 2, 1, "copy");
	put_records(&file, (struct ss_str[]){ bytes_str(&a) }, 1);
	put_records(&file, (struct ss_str[]){ bytes_str(&b) }, 1);
	struct ss_buf space = read_all(ss_buf_get(&file));
	assert_ok(ss_xspace_open_bytes(&x, ss_buf_get(&space), "x", &err));
	assert_int_equal(x.nnotes, 0);
	assert_int_equal(x.nplanes, 1);
	struct ss_xplane *p = &x.planes[0];
	assert_int_equal(p->nlines, 1);
	assert_int_equal(p->nevent_meta, 3);
	assert_int_equal(p->nstat_meta, 3);
	assert_int_equal(p->lines[0].timestamp_ns, 900);
	assert_ok(ss_xevents_load(&e, &x, p, &p->lines[0], &err));
	assert_int_equal(e.n, 4);
	check_event(p, &e, 0, "add", 1000010, "fusion");
	check_event(p, &e, 1, "mul", 1000020, "fusion");
	check_event(p, &e, 2, "add", 900010, "copy");
	check_event(p, &e, 3, "sub", 900020, "copy");
	ss_xevents_free(&e);
	ss_xspace_close(&x);
	ss_buf_free(&space);
	/* In one record they are two planes, as in a file *.xplane.pb. */
	ss_buf_free(&file);
	file = new_file();
	struct ss_buf both = { 0 };
	ss_buf_str(&both, bytes_str(&a));
	ss_buf_str(&both, bytes_str(&b));
	put_records(&file, (struct ss_str[]){ ss_buf_get(&both) }, 1);
	space = read_all(ss_buf_get(&file));
	assert_true(ss_str_eq(ss_buf_get(&space), ss_buf_get(&both)));
	ss_buf_free(&both);
	ss_buf_free(&space);
	ss_buf_free(&file);
}

/* ---- what the user sees ---- */

static void hosts_say_what_is_lost(void **state)
{
	struct ss_host host;
	struct ss_file f;
	(void)state;
	assert_ok(ss_host_open(&host, sample("cut"), &err));
	assert_int_equal(host.x.nnotes, 0);
	assert_false(host.imported.any);
	assert_str(host.name, "cut");
	ss_host_close(&host);
	assert_ok(ss_file_open(&f, sample("none-simple"), &err));
	assert_ok(ss_host_open_bytes(&host, ss_str_sub(f.bytes, 0, f.bytes.n / 2), "h.xplane.riegeli", &err));
	assert_true(host.imported.cut && host.x.nnotes >= 1);
	bool said = false;
	for (uint32_t i = 0; i < host.x.nnotes; i++)
		said |= ss_str_contains(host.x.notes[i], SS_STR("truncated"));
	assert_true(said);
	ss_host_close(&host);
	/*
	 * Opened as a profile of any name: its first bytes tell. An empty file is no profile.
	 */
	assert_ok(ss_host_open_bytes(&host, f.bytes, "anything", &err));
	assert_int_equal(host.x.nnotes, 0);
	ss_host_close(&host);
	assert_fails(ss_host_open_bytes(&host, SS_STR(""), "h.xplane.riegeli", &err), SS_EFORMAT);
	assert_fails(ss_host_open_bytes(&host, SS_STR("no such thing at all"), "h.xplane.riegeli", &err), SS_EFORMAT);
	ss_file_close(&f);
}

/* ---- pieces ---- */

static void snappy_checks_every_copy(void **state)
{
	static const struct {
		struct ss_str in, out;
		bool whole;
	} cases[] = {
		{ SS_STR_INIT("\5\x10" "abcde"), SS_STR_INIT("abcde"), true },
		{ SS_STR_INIT("\x0a\4ab\x15\2\x02\2\0"), SS_STR_INIT("abababababa"), false },	/* a byte too many */
		{ SS_STR_INIT("\x0a\4ab\x11\2"), SS_STR_INIT("ababababab"), true },	/* a copy of what it writes itself */
		{ SS_STR_INIT("\6\4ab\x0e\2\0"), SS_STR_INIT("ababab"), true },
		{ SS_STR_INIT("\6\4ab\x0f\2\0\0\0"), SS_STR_INIT("ababab"), true },
		{ SS_STR_INIT("\6\4ab\x0e\3\0"), SS_STR_INIT("ab"), false },	/* from before the beginning */
		{ SS_STR_INIT("\6\4ab\x0e\0\0"), SS_STR_INIT("ab"), false },
		{ SS_STR_INIT("\6\4ab\x0e\2"), SS_STR_INIT("ab"), false },
		{ SS_STR_INIT("\6\x14" "abc"), SS_STR_INIT("abc"), false },
		{ SS_STR_INIT("\6\xf0\5abcdef"), SS_STR_INIT("abcdef"), true },
		{ SS_STR_INIT("\6\xf4\5"), SS_STR_INIT(""), false },
	};
	(void)state;
	for (size_t i = 0; i < SS_COUNT(cases); i++) {
		char to[16];
		size_t n;
		bool whole = ss_snappy(cases[i].in, to, (unsigned char)cases[i].in.p[0], &n);
		if (whole != cases[i].whole || (whole && !ss_str_eq((struct ss_str){ to, n }, cases[i].out)))
			fail_msg("case %zu: %d, %zu bytes", i, whole, n);
		assert_true(ss_str_starts(cases[i].out, (struct ss_str){ to, n }));
	}
}

/* The header of the first block of every file, and what another implementation of the hash says. */
static void hashes_are_those_of_the_format(void **state)
{
	(void)state;
	assert_int_equal(hash((struct ss_str){ "\0\0\0\0\0\0\0\0\x40\0\0\0\0\0\0\0", 16 }), 0x3f4a880dd170af83);
	char text[100];
	for (size_t i = 0; i < sizeof(text); i++)
		text[i] = (char)i;
	assert_int_equal(hash(SS_STR("")), 0x72c3b1e9c0139fe1);
	assert_int_equal(hash(SS_STR("Riegeli")), 0x07179813ca01243c);
	assert_int_equal(hash((struct ss_str){ text, sizeof(text) }), 0xe809487465a44f74);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_codec_gives_the_same_records),
		cmocka_unit_test(cut_files_are_salvaged),
		cmocka_unit_test(no_flipped_bit_goes_unnoticed),
		cmocka_unit_test(chunks_cross_blocks),
		cmocka_unit_test(one_damaged_chunk_is_left_out),
		cmocka_unit_test(boasting_chunks_are_refused),
		cmocka_unit_test(planes_of_one_name_become_one),
		cmocka_unit_test(hosts_say_what_is_lost),
		cmocka_unit_test(snappy_checks_every_copy),
		cmocka_unit_test(hashes_are_those_of_the_format),
	};
	return RUN_TESTS(tests);
}
