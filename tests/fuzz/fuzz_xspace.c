/* fuzz_xspace.c - open any bytes as a profile and visit every plane, line, event and stat. */
#include "fuzz/mutate.h"
#include "xspace/events.h"
#include "xspace/xspace.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint64_t sink;

static void visit_stats(struct ss_xstats it)
{
	struct ss_xstat s;

	while (ss_xstats_next(&it, &s)) {
		sink += ss_xstat_str(&s).n + (uint64_t)ss_xstat_int_or_uint(&s);
		sink += ss_xstat_double(&s) > 0;
		if ((s.kind == SS_X_STR || s.kind == SS_X_BYTES) && s.s.n)
			sink += (uint8_t)s.s.p[0] + (uint8_t)s.s.p[s.s.n - 1];
	}
}

static void visit_line(const struct ss_xspace *x, const struct ss_xplane *p, struct ss_xline *l, size_t size)
{
	struct ss_xevents e;
	struct ss_err err = { 0 };

	if (!ss_xevents_load(&e, x, p, l, &err)) {
		if (!err.code)
			abort();
		return;
	}
	if (e.n > size)		/* bounded by the input */
		abort();
	for (uint32_t i = 0; i < e.n; i++) {
		sink += (uint64_t)ss_xevents_end_ps(&e, i) + ss_xevents_occurrences(&e, i);
		sink += ss_xevent_meta_name(p, e.meta[i]).n;
		visit_stats(ss_xevents_stats(&e, p, l, i));
	}
	/* In another order they are the same. */
	uint32_t n = e.n, *from;
	if (ss_xevents_sort(&e, &from)) {
		if (e.n != n)
			abort();
		for (uint32_t i = 0; i < n; i++)
			visit_stats(ss_xevents_stats(&e, p, l, i));
		free(from);
	}
	ss_xevents_free(&e);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct ss_xspace x;
	struct ss_err err = { 0 };

	if (!ss_xspace_open_bytes(&x, (struct ss_str){ (const char *)data, size }, "fuzz", &err)) {
		if (!err.code || !err.text[0])
			abort();
		return 0;
	}
	for (uint32_t i = 0; i < x.nplanes; i++) {
		struct ss_xplane *p = &x.planes[i];

		if (!ss_xspace_plane(&x, p->name))
			abort();
		visit_stats(ss_xplane_stats(p));
		for (uint32_t m = 0; m < p->nevent_meta; m++)
			visit_stats(ss_xevent_meta_stats(p, m));
		for (uint32_t l = 0; l < p->nlines; l++)
			visit_line(&x, p, &p->lines[l], size);
	}
	ss_xspace_close(&x);
	return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
	return mutate_message(data, size, max, seed);
}
