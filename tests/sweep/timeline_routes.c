/*
 * timeline_routes.c - the page's timeline routes with every allocation failing in turn, and on
 * damaged profiles.
 *
 * 	timeline DIR
 *
 * A failed allocation must be told, leave nothing behind, and change nothing for the next question;
 * damage must never do more than change the answer.
 */
#include "sweep/drive.h"
#include "sweep/hook.h"

#include "emit/slices.h"
#include "tools/timeline.h"

#include <stdio.h>
#include <stdlib.h>

enum { SMALL = 16 << 10, FLIPS = 40, QUESTIONS = 11, FAILING = 2 /* samples swept by allocation */ };

static bool print_layout(struct ss_model *m, struct ss_arena *a, struct ss_out *o, struct ss_err *err)
{
	struct ss_timeline *tl = ss_timeline_layout(m, a, err);

	if (tl)
		ss_emit_timeline_layout(o, tl);
	return tl;
}

static bool print_slices(struct ss_model *m, struct ss_arena *a, struct ss_out *o, uint32_t width_px, struct ss_err *err)
{
	struct ss_timeline_request q = { .end_ps = UINT64_C(2000000000), .width_px = width_px, .arrows = SS_ARROWS_FLOWS };
	struct ss_timeline *tl = ss_timeline_slices(m, &q, a, err);

	if (tl)
		ss_emit_timeline_slices(o, tl);
	return tl;
}

static bool print_event(struct ss_model *m, struct ss_arena *a, struct ss_out *o, uint64_t event, struct ss_err *err)
{
	struct ss_timeline *tl = ss_timeline_event(m, event, a, err);

	if (tl)
		ss_emit_timeline_event(o, tl);
	return tl;
}

static bool print_search(struct ss_model *m, struct ss_arena *a, struct ss_out *o, struct ss_err *err)
{
	struct ss_timeline_search q = { .text = SS_STR("e"), .where = SS_SEARCH_AFTER, .event = 1, .limit = 20 };
	struct ss_timeline *tl = ss_timeline_search(m, &q, a, err);

	if (tl)
		ss_emit_timeline_search(o, tl);
	return tl;
}

static bool print_sums(struct ss_model *m, struct ss_arena *a, struct ss_out *o, struct ss_err *err)
{
	struct ss_timeline_sums q = { .begin_ps = 200000000, .end_ps = UINT64_C(2000000000), .limit = 50 };
	struct ss_tl_summary *s = ss_timeline_summary(m, &q, a, err);

	if (s)
		ss_emit_timeline_summary(o, s);
	return s;
}

static bool print_gap(struct ss_model *m, struct ss_arena *a, struct ss_out *o, struct ss_err *err)
{
	struct ss_timeline_gap_query q = { .at_ps = 1000000, .track = SS_NONE, .where = SS_GAP_NEXT, .least_ps = 1000 };
	struct ss_tl_gap gap;
	bool ok = ss_timeline_gap(&gap, m, &q, a, err);

	if (ok)
		ss_emit_timeline_gap(o, &gap);
	return ok;
}

static bool print_steps(struct ss_model *m, struct ss_arena *a, struct ss_out *o, struct ss_err *err)
{
	struct ss_tl_steps steps;
	bool ok = ss_timeline_steps(&steps, m, a, err);

	if (ok)
		ss_emit_timeline_steps(o, &steps);
	return ok;
}

static bool print_names(struct ss_model *m, struct ss_arena *a, struct ss_out *o, struct ss_str text, enum ss_names_how how,
			struct ss_err *err)
{
	struct ss_timeline_names_query q = { .text = text, .how = how, .end_ps = INT64_MAX, .limit = 20 };
	struct ss_tl_names *names = ss_timeline_names(m, &q, a, err);

	if (names)
		ss_emit_timeline_names(o, names);
	return names;
}

static bool ask(struct ss_model *m, int question, struct ss_arena *a, struct ss_out *o, struct ss_err *err)
{
	switch (question) {
	case 0:
		return print_layout(m, a, o, err);
	case 1:
		return print_slices(m, a, o, 0, err);
	case 2:
		return print_slices(m, a, o, 100, err);
	case 3:
		return print_event(m, a, o, 1, err);
	case 4:
		return print_event(m, a, o, 30, err);
	case 5:
		return print_search(m, a, o, err);
	case 7:
		return print_gap(m, a, o, err);
	case 8:
		return print_steps(m, a, o, err);
	case 9:
		return print_names(m, a, o, SS_STR("e"), SS_NAMES_WITHIN, err);
	case 10:
		return print_names(m, a, o, SS_STR("[a-m].*[0-9]$"), SS_NAMES_REGEX, err);
	default:
		return print_sums(m, a, o, err);
	}
}

static bool answer(struct drive *d, int question, uint64_t *digest, struct ss_err *err)
{
	struct ss_arena arena = { 0 };
	struct ss_out out;

	ss_out_init(&out, NULL, NULL);
	bool ok = ask(&d->model, question, &arena, &out, err);
	ok = ss_out_finish(&out, ok ? err : NULL) && ok;
	*digest = ss_str_hash((struct ss_str){ out.buf, out.n });
	ss_out_free(&out);
	ss_arena_release(&arena);
	return ok;
}

static bool complain(const struct sample *s, int question, size_t n, const char *what)
{
	printf("%s, question %d, case %zu: %s\n", s->path, question, n, what);
	return false;
}

/* Open and ask with the n-th allocation failing; *done when it was not reached. */
static bool try_nth(const struct sample *s, int question, size_t n, uint64_t want, bool *done)
{
	static struct drive d;
	struct ss_err err = { 0 }, again = { 0 };
	size_t before = hook_live_bytes();
	uint64_t got = 0;
	bool good = true;

	hook_arm(n);
	bool ok = drive_open(&d, s, s->bytes, &err);
	if (ok) {
		ok = answer(&d, question, &got, &err);
		*done = !hook_fired();
		hook_arm(0);
		if (ok && got != want)
			good = complain(s, question, n, "another answer");
		if (!ok && (!answer(&d, question, &got, &again) || got != want))
			good = complain(s, question, n, "another answer afterwards");
		drive_close(&d);
	}
	hook_arm(0);
	if (!ok && err.code != SS_ENOMEM)
		good = complain(s, question, n, err.code ? err.text : "failed without a reason");
	if (hook_live_bytes() != before)
		good = complain(s, question, n, "leak");
	return good;
}

static bool sweep_allocations(const struct sample *s, int question)
{
	static struct drive d;
	struct ss_err err = { 0 };
	uint64_t want = 0;
	bool done = false, good = true;

	if (!drive_open(&d, s, s->bytes, &err))
		return complain(s, question, 0, err.text);
	bool any = answer(&d, question, &want, &err);
	drive_close(&d);
	if (!any)		/* no such event in a small profile */
		return err.code == SS_ENOTFOUND || complain(s, question, 0, err.text);
	for (size_t n = 1; good && !done; n += n < 300 ? 1 : n / 40)
		good = try_nth(s, question, n, want, &done);
	return good;
}

static bool sweep_flips(const struct sample *s)
{
	static struct drive d;
	char *copy = malloc(s->bytes.n + 1);
	uint64_t seed = s->bytes.n, digest;
	size_t before = hook_live_bytes();

	if (!copy)
		return false;
	for (size_t n = 0; n < FLIPS; n++) {
		struct ss_err err = { 0 };

		memcpy(copy, s->bytes.p, s->bytes.n);
		for (size_t i = 0; i <= n % 3; i++) {
			seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
			copy[(seed >> 20) % s->bytes.n] ^= (char)(1u << (seed >> 60 & 7));
		}
		if (!drive_open(&d, s, (struct ss_str){ copy, s->bytes.n }, &err))
			continue;
		for (int question = 0; question < QUESTIONS; question++)
			answer(&d, question, &digest, &err);
		drive_close(&d);
	}
	bool good = hook_live_bytes() == before || complain(s, -1, 0, "leak");
	free(copy);
	return good;
}

int main(int argc, char **argv)
{
	struct samples samples = samples_load(argc > 1 ? argv[1] : ".", SMALL);
	unsigned passed = 0, failed = 0;

	for (size_t i = 0; i < samples.n; i++) {
		for (int question = 0; i < FAILING && question < QUESTIONS; question++)
			*(sweep_allocations(&samples.v[i], question) ? &passed : &failed) += 1;
		*(sweep_flips(&samples.v[i]) ? &passed : &failed) += 1;
	}
	samples_free(&samples);
	printf("%u passed, %u failed\n", passed, failed);
	return failed || !passed;
}
