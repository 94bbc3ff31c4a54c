/*
 * test_big_file.c - files over 4 GiB. The file is sparse: a line that begins with a field of 4.5 GB
 * that nobody knows, then two events, and metadata behind it all.
 */
#include "unit.h"

#include "model/host/host.h"
#include "model/host/plane.h"
#include "model/preprocess/load.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#define HOLE UINT64_C(4500000000)

static unsigned char *put_varint(unsigned char *p, uint64_t v)
{
	while (v > 127) {
		*p++ = (unsigned char)(v | 128);
		v >>= 7;
	}
	*p++ = (unsigned char)v;
	return p;
}

static unsigned char *put_len(unsigned char *p, unsigned field, uint64_t n)
{
	return put_varint(put_varint(p, field << 3 | 2), n);
}

static unsigned char *put_raw(unsigned char *p, const char *bytes, size_t n)
{
	memcpy(p, bytes, n);
	return p + n;
}

/* XEvent{metadata_id=1 offset_ps duration_ps stats={metadata_id=1}} as field 4 of a line. */
static unsigned char *put_event(unsigned char *p, uint64_t offset_ps, uint64_t dur_ps)
{
	unsigned char body[40], *end = put_raw(body, "\x08\x01\x10", 3);
	end = put_varint(end, offset_ps);
	*end++ = 3 << 3;
	end = put_raw(put_varint(end, dur_ps), "\x22\x02\x08\x01", 4);
	size_t n = (size_t)(end - body);
	return put_raw(put_len(p, 4, n), (const char *)body, n);
}

struct big {
	unsigned char before[128], after[256];
	size_t nbefore, nafter;
};

static void compose(struct big *b)
{
	static const char name[] = "/host:CPU", thread[] = "thread", event[] = "\x08\x01\x12\x05" "event";
	unsigned char line[64], tail[64], meta[64], *p = line;
	p = put_raw(put_len(p, 2, 6), thread, 6);
	p = put_len(p, 1000, HOLE);
	size_t nline = (size_t)(p - line);
	size_t ntail = (size_t)(put_event(put_event(tail, 1000, 10), 5000, 20) - tail);
	p = put_raw(meta, "\x08\x01", 2);
	p = put_raw(put_len(p, 2, sizeof(event) - 1), event, sizeof(event) - 1);
	size_t nmeta = (size_t)(p - meta);

	unsigned char head[64];
	p = put_raw(put_len(head, 2, 9), name, 9);
	p = put_len(p, 3, nline + HOLE + ntail);
	size_t nhead = (size_t)(p - head);
	unsigned char *q = put_raw(b->after, (const char *)tail, ntail);
	q = put_raw(put_len(q, 4, nmeta), (const char *)meta, nmeta);
	b->nafter = (size_t)(q - b->after);
	p = put_len(b->before, 1, nhead + nline + HOLE + b->nafter);
	p = put_raw(p, (const char *)head, nhead);
	p = put_raw(p, (const char *)line, nline);
	b->nbefore = (size_t)(p - b->before);
}

static void offsets_beyond_32_bits(void **state)
{
	(void)state;
	struct big b;
	char path[] = "/tmp/stepscope-big-XXXXXX";
	int fd = mkstemp(path);
	assert_true(fd >= 0);
	compose(&b);
	assert_int_equal(pwrite(fd, b.before, b.nbefore, 0), b.nbefore);
	assert_int_equal(pwrite(fd, b.after, b.nafter, (off_t)(b.nbefore + HOLE)), b.nafter);
	close(fd);

	struct ss_host h;
	assert_ok(ss_host_open(&h, path, &err));
	unlink(path);
	assert_int_equal(h.x.nnotes, 0);
	assert_ok(ss_host_load(&h, &err));
	assert_int_equal(h.ndropped, 0);
	const struct ss_plane *p = ss_host_plane(&h, SS_PLANE_HOST_CPU);
	const struct ss_line *l = ss_plane_line(p, SS_STR("thread"));
	assert_non_null(l);
	assert_int_equal(l->ev.n, 2);
	assert_int_equal(l->ev.begin_ps[1], 5000);
	assert_int_equal(l->ev.dur_ps[1], 20);
	assert_str(ss_event_name(p, l->ev.meta[1]), "event");
	struct ss_str body = ss_xevents_body(&l->ev, l->src, 1);	/* found again by its offset */
	assert_int_equal(body.n, 11);
	assert_memory_equal(body.p, "\x08\x01\x10\x88\x27\x18\x14\x22\x02\x08\x01", 11);
	ss_host_close(&h);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(offsets_beyond_32_bits) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
