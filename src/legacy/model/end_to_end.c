/* end_to_end.c - see end_to_end.h. */
#include "legacy/model/end_to_end.h"

#include "base/vec.h"
#include "legacy/files/event_file.h"
#include "model/host/host.h"
#include "model/host/identity.h"
#include "wire/json.h"

#include <math.h>
#include <stdlib.h>

static const char *const category_names[] = {
	[SS_E2E_TO_INIT] = "beginning to init-system's start",
	[SS_E2E_INIT] = "init-system",
	[SS_E2E_TO_MODEL] = "init-system's end to model-fn's start",
	[SS_E2E_MODEL] = "model-fn",
	[SS_E2E_INFEED] = "setup-infeed",
	[SS_E2E_TRAINING] = "training",
	[SS_E2E_TO_EVAL] = "training's end to eval's start",
	[SS_E2E_EVALUATION] = "eval",
	[SS_E2E_TO_PREDICT] = "eval's end to predict's start",
	[SS_E2E_PREDICTION] = "predict",
};

static const char *const session_names[] = { "train", "eval", "predict" };
static const char *const phase_names[] = { "whole session", "init_system", "model_fn", "setup_infeed" };

const char *ss_e2e_category_name(enum ss_e2e_category c)
{
	return category_names[c];
}

const char *ss_e2e_session_name(enum ss_e2e_session s)
{
	return session_names[s];
}

const char *ss_e2e_phase_name(enum ss_e2e_phase p)
{
	return phase_names[p];
}

/* A begin or end of a phase that is in no session yet. */
struct mark {
	enum ss_e2e_phase phase;
	bool end;
	double ms;
};

struct log {
	struct ss_end_to_end *out;
	SS_VEC(struct mark) marks;
};

static void set(struct ss_e2e_span *span, bool end, double ms)
{
	if (end)
		span->end_ms = ms;
	else
		span->begin_ms = ms;
}

/* "profile/train_begin", in the oldest logs "train_begin". Others are not ours. */
static bool take_tag(void *arg, const struct ss_tf_event *e, struct ss_str tag, struct ss_err *err)
{
	struct log *log = arg;
	const struct ss_str prefix = SS_STR("profile/"), begin = SS_STR("_begin"), end = SS_STR("_end");
	double ms = e->wall_time_s * 1000;
	bool ends = ss_str_ends(tag, end);
	if (ss_str_starts(tag, prefix))
		tag = ss_str_sub(tag, prefix.n, tag.n);
	if ((!ends && !ss_str_ends(tag, begin)) || !isfinite(ms))
		return true;
	tag = ss_str_sub(tag, 0, tag.n - (ends ? end.n : begin.n));
	for (unsigned s = 0; s < SS_E2E_SESSIONS; s++)
		if (ss_str_is(tag, session_names[s])) {
			set(&log->out->span[s][SS_E2E_WHOLE], ends, ms);
			log->out->nevents++;
			return true;
		}
	for (unsigned p = SS_E2E_INIT_SYSTEM; p < SS_E2E_PHASES; p++)
		if (ss_str_is(tag, phase_names[p])) {
			log->out->nevents++;
			if (!ss_vec_push(&log->marks, (struct mark){ (enum ss_e2e_phase)p, ends, ms }))
				return ss_fail_mem(err);
		}
	return true;
}

/* A span without begin or end is NaN, which nothing lies in. */
static bool lies_in(double ms, const struct ss_e2e_span *s)
{
	return ms >= s->begin_ms && ms <= s->end_ms;
}

/* In a session of which the log has no end: the program was still running. */
static bool goes_on(double ms, const struct ss_e2e_span *s)
{
	return ms >= s->begin_ms && isnan(s->end_ms);
}

static void place_marks(const struct log *log)
{
	struct ss_end_to_end *out = log->out;
	for (size_t i = 0; i < log->marks.n; i++) {
		const struct mark *m = &log->marks.v[i];
		unsigned s = 0;
		while (s < SS_E2E_SESSIONS && !lies_in(m->ms, &out->span[s][SS_E2E_WHOLE]))
			s++;
		if (s == SS_E2E_SESSIONS)
			for (s = 0; s < SS_E2E_SESSIONS && !goes_on(m->ms, &out->span[s][SS_E2E_WHOLE]);)
				s++;
		if (s < SS_E2E_SESSIONS)
			set(&out->span[s][m->phase], m->end, m->ms);
		else
			out->nstray++;
	}
}

/* `to` - `from`: 0 where either is missing, or it would be negative. */
static double gap(double from, double to)
{
	double d = to - from;
	return d > 0 ? d : 0;
}

static double length(const struct ss_e2e_span *s)
{
	return gap(s->begin_ms, s->end_ms);
}

/*
 * A later session: the gap before it and its duration, or what of it lies behind the end of the one
 * before.
 */
static void add_session(double *ms, enum ss_e2e_category to, const struct ss_e2e_span *s, double *last_end_ms)
{
	bool there = !isnan(s->begin_ms) && !isnan(s->end_ms);
	if (!there)
		return;
	bool overlaps = !isnan(*last_end_ms) && s->begin_ms <= *last_end_ms;
	ms[to] = gap(*last_end_ms, s->begin_ms);
	ms[to + 1] = overlaps ? gap(*last_end_ms, s->end_ms) : length(s);
	*last_end_ms = s->end_ms;
}

static void add_up(struct ss_end_to_end *e)
{
	const struct ss_e2e_span *train = e->span[SS_E2E_TRAIN];
	double *ms = e->category_ms, last_end_ms = (double)NAN;
	if (length(&train[SS_E2E_WHOLE]) > 0) {
		ms[SS_E2E_TO_INIT] = gap(train[SS_E2E_WHOLE].begin_ms, train[SS_E2E_INIT_SYSTEM].begin_ms);
		ms[SS_E2E_INIT] = length(&train[SS_E2E_INIT_SYSTEM]);
		ms[SS_E2E_TO_MODEL] = gap(train[SS_E2E_INIT_SYSTEM].end_ms, train[SS_E2E_MODEL_FN].begin_ms);
		ms[SS_E2E_INFEED] = length(&train[SS_E2E_SETUP_INFEED]);
		/* setup_infeed happens inside of model_fn. */
		ms[SS_E2E_MODEL] = gap(ms[SS_E2E_INFEED], length(&train[SS_E2E_MODEL_FN]));
		ms[SS_E2E_TRAINING] = length(&train[SS_E2E_WHOLE]);
		last_end_ms = train[SS_E2E_WHOLE].end_ms;
	}
	add_session(ms, SS_E2E_TO_EVAL, &e->span[SS_E2E_EVAL][SS_E2E_WHOLE], &last_end_ms);
	add_session(ms, SS_E2E_TO_PREDICT, &e->span[SS_E2E_PREDICT][SS_E2E_WHOLE], &last_end_ms);
}

static bool read_log(const struct ss_host *h, struct ss_end_to_end *out, struct ss_err *err)
{
	struct log log = { .out = out };
	struct ss_event_tally tally = { 0 };
	for (unsigned s = 0; s < SS_E2E_SESSIONS; s++)
		for (unsigned p = 0; p < SS_E2E_PHASES; p++)
			out->span[s][p] = (struct ss_e2e_span){ (double)NAN, (double)NAN };
	bool ok = ss_event_file_tags(h->x.file.bytes, take_tag, &log, &tally, err);
	if (ok)
		place_marks(&log);
	ss_vec_free(&log.marks);
	if (!ok)
		return false;
	out->ndamaged = tally.ndamaged;
	out->cut = tally.cut;
	out->bad = tally.bad;
	add_up(out);
	return out->nevents || ss_fail(err, SS_ENODATA, "'" SS_FMT "' holds no phase: none of its %llu records has a tag "
				       "such as profile/train_begin", SS_ARG(h->name), (unsigned long long)tally.nrecords);
}

struct chart {
	struct ss_end_to_end *out;
	int category[64];	/* of each column, -1 for none */
	unsigned row, col, found;
};

/* A cell: of the first row a name, of the second a duration. */
static void take_cell(struct chart *c, const struct ss_jtok *t)
{
	double ms;
	unsigned col = c->col++;
	if (col >= SS_COUNT(c->category))
		return;
	if (c->row == 1) {
		c->category[col] = -1;
		for (int i = 0; t->kind == SS_J_STRING && i < SS_E2E_CATEGORIES; i++)
			if (ss_jtok_is(t, category_names[i]))
				c->category[col] = i;
	} else if (c->row == 2 && c->category[col] >= 0 && ss_jtok_f64(t, &ms) && isfinite(ms) && ms >= 0) {
		c->out->category_ms[c->category[col]] = ms;
		c->found++;
	}
}

/* [["Category", <names>, {...}], ["", <milliseconds>, ""]], as the old tool wrote it. */
static bool read_json(const struct ss_host *h, struct ss_str text, struct ss_end_to_end *out, struct ss_err *err)
{
	struct chart c = { .out = out };
	struct ss_jsonr r = ss_jsonr_of(text);
	struct ss_jtok t;
	for (size_t i = 0; i < SS_COUNT(c.category); i++)
		c.category[i] = -1;
	out->from_json = true;
	while (ss_jsonr_next(&r, &t)) {
		bool opens = t.kind == SS_J_ARRAY || t.kind == SS_J_OBJECT;
		if (t.kind == SS_J_END || t.kind == SS_J_KEY)
			continue;
		if (t.kind == SS_J_ARRAY && r.depth == 2) {
			c.row++;
			c.col = 0;
			continue;
		}
		if (r.depth == (opens ? 3 : 2))
			take_cell(&c, &t);
		if (opens && r.depth >= 3)
			ss_jsonr_skip(&r, &t);
	}
	if (r.bad)
		return ss_fail(err, SS_EFORMAT, "'" SS_FMT "' is not well-formed JSON", SS_ARG(h->name));
	return c.found || ss_fail(err, SS_ENODATA, "'" SS_FMT "' holds none of the categories of an end-to-end breakdown",
				  SS_ARG(h->name));
}

bool ss_end_to_end_read(const struct ss_host *h, struct ss_end_to_end *out, struct ss_err *err)
{
	struct ss_str bytes = h->x.file.bytes;
	*out = (struct ss_end_to_end){ 0 };
	if (!ss_host_is_raw(h))
		return ss_fail(err, SS_ENODATA, "'" SS_FMT "' is a profile, which holds no log of a program's phases",
			       SS_ARG(h->name));
	if (ss_event_file_is(bytes))
		return read_log(h, out, err);
	size_t i = ss_str_starts(bytes, SS_STR("\xef\xbb\xbf")) ? 3 : 0;
	while (i < bytes.n && (bytes.p[i] == ' ' || bytes.p[i] == '\n' || bytes.p[i] == '\t' || bytes.p[i] == '\r'))
		i++;
	if (i < bytes.n && bytes.p[i] == '[')
		return read_json(h, ss_str_sub(bytes, i, bytes.n), out, err);
	return ss_fail(err, SS_EFORMAT, "'" SS_FMT "' is neither an event file nor an end_to_end.json", SS_ARG(h->name));
}
