/* pprof.c - stacks as a profile of pprof: executions and ns of self time, gzip'ed. */
#include "export/stacks.h"

#include "sql/directory.h"
#include "wire/gz_out.h"
#include "wire/pb_out.h"

/* Fields of Profile and its messages. */
enum {
	PROFILE_SAMPLE_TYPE = 1,
	PROFILE_SAMPLE = 2,
	PROFILE_LOCATION = 4,
	PROFILE_FUNCTION = 5,
	PROFILE_STRINGS = 6,
	PROFILE_TIME_NS = 9,
	PROFILE_DEFAULT_TYPE = 14,
	TYPE_TYPE = 1,
	TYPE_UNIT = 2,
	SAMPLE_LOCATION = 1,
	SAMPLE_VALUE = 2,
	SAMPLE_LABEL = 3,
	LABEL_KEY = 1,
	LABEL_TEXT = 2,
	LOCATION_ID = 1,
	LOCATION_LINE = 4,
	LINE_FUNCTION = 1,
	FUNCTION_ID = 1,
	FUNCTION_NAME = 2,
};

/* The first texts of the table; frames stand behind them. */
static const char *const texts[] = { "", "executions", "count", "self", "nanoseconds", "device" };
enum { T_EXECUTIONS = 1, T_COUNT, T_SELF, T_NANOSECONDS, T_DEVICE };

struct writer {
	struct ss_gz_out *gz;
	struct ss_buf out, inner, packed;
};

static void put_message(struct writer *w, uint32_t field)
{
	ss_pbo_bytes(&w->out, field, ss_buf_get(&w->inner));
	w->inner.n = 0;
	if (w->out.n < 1 << 16)
		return;
	ss_gz_write(w->gz, ss_buf_get(&w->out));
	w->out.n = 0;
}

static void put_type(struct writer *w, unsigned type, unsigned unit)
{
	ss_pbo_uint(&w->inner, TYPE_TYPE, type);
	ss_pbo_uint(&w->inner, TYPE_UNIT, unit);
	put_message(w, PROFILE_SAMPLE_TYPE);
}

static void put_sample(struct writer *w, const struct ss_stack_tree *s, uint32_t at)
{
	uint32_t root = at;
	for (uint32_t k = at; k != SS_NONE; root = k, k = s->v.v[k].parent)
		ss_pbo_varint(&w->packed, s->v.v[k].frame + 1u);
	ss_pbo_bytes(&w->inner, SAMPLE_LOCATION, ss_buf_get(&w->packed));
	w->packed.n = 0;
	ss_pbo_varint(&w->packed, s->v.v[at].count);
	ss_pbo_varint(&w->packed, (uint64_t)(s->v.v[at].self_ps / 1000));
	ss_pbo_bytes(&w->inner, SAMPLE_VALUE, ss_buf_get(&w->packed));
	w->packed.n = 0;
	ss_pbo_uint(&w->packed, LABEL_KEY, T_DEVICE);
	ss_pbo_uint(&w->packed, LABEL_TEXT, SS_COUNT(texts) + s->v.v[root].frame);
	ss_pbo_bytes(&w->inner, SAMPLE_LABEL, ss_buf_get(&w->packed));
	w->packed.n = 0;
	put_message(w, PROFILE_SAMPLE);
}

/* A frame is a function, and a location in it. */
static void put_frame(struct writer *w, uint32_t frame)
{
	ss_pbo_uint(&w->packed, LINE_FUNCTION, frame + 1u);
	ss_pbo_uint(&w->inner, LOCATION_ID, frame + 1u);
	ss_pbo_bytes(&w->inner, LOCATION_LINE, ss_buf_get(&w->packed));
	w->packed.n = 0;
	put_message(w, PROFILE_LOCATION);
	ss_pbo_uint(&w->inner, FUNCTION_ID, frame + 1u);
	ss_pbo_uint(&w->inner, FUNCTION_NAME, SS_COUNT(texts) + frame);
	put_message(w, PROFILE_FUNCTION);
}

static void put_text(struct writer *w, struct ss_str s)
{
	ss_buf_utf8(&w->inner, s);
	put_message(w, PROFILE_STRINGS);
}

static void put_profile(struct writer *w, const struct ss_export *x, const struct ss_stack_tree *s)
{
	put_type(w, T_EXECUTIONS, T_COUNT);
	put_type(w, T_SELF, T_NANOSECONDS);
	for (uint32_t i = 0; i < s->v.n; i++)
		if (s->v.v[i].count)
			put_sample(w, s, i);
	for (uint32_t i = 0; i < s->frames.n; i++)
		put_frame(w, i);
	for (size_t i = 0; i < SS_COUNT(texts); i++)
		put_text(w, ss_str_from(texts[i]));
	for (uint32_t i = 0; i < s->frames.n; i++)
		put_text(w, s->frames.keys[i]);
	ss_pbo_uint(&w->out, PROFILE_TIME_NS, (uint64_t)x->d->origin_ns);
	ss_pbo_uint(&w->out, PROFILE_DEFAULT_TYPE, T_SELF);
}

static bool write(struct ss_export *x, struct ss_out *o, struct ss_err *err)
{
	struct ss_stack_tree s;
	struct writer w = { .gz = ss_gz_open(SS_GZ_FAST) };
	struct ss_str packed;
	bool ok = ss_stacks_of(&s, x) && w.gz;
	if (ok) {
		put_profile(&w, x, &s);
		ss_gz_write(w.gz, ss_buf_get(&w.out));
		ok = !w.out.no_memory && !w.inner.no_memory && !w.packed.no_memory &&
		     ss_gz_finish(w.gz, &packed);
	}
	if (ok)
		ss_out_str(o, packed);
	ss_gz_close(w.gz);
	ss_buf_free(&w.out);
	ss_buf_free(&w.inner);
	ss_buf_free(&w.packed);
	ss_stack_tree_free(&s);
	return ok || ss_fail_mem(err);
}

const struct ss_export_format ss_export_pprof = {
	.name = "pprof",
	.doc = "stacks for 'go tool pprof' and its viewers, gzip'ed",
	.binary = true,
	.omits = SS_STACKS_OMIT,
	.write = write,
};
