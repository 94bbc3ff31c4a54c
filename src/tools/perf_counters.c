/*
 * perf_counters.c - hardware counters as they were read: one row an event, all chips, lines
 * (samples) and hosts.
 *
 * Counters of TPU v6e and v7x are put into the sets of the chip's own list, whatever the event
 * says; those of other chips show what their events bring along. Nothing is derived here; for
 * utilisation see utilization_viewer.c.
 */
#include "base/buf.h"
#include "model/counters/tpu_counters.h"
#include "model/host/host.h"
#include "model/model.h"
#include "tools/tool.h"
#include "tools/words.h"

enum { COL_HOST, COL_CHIP, COL_KERNEL, COL_SAMPLE, COL_COUNTER, COL_VALUE, COL_DESCRIPTION, COL_SET };

static const struct ss_col cols[] = {
	STR("Host", "Host", NULL),
	INT("Chip", "Chip", NONE, "Global chip ID, or device ordinal on its host"),
	STR("Kernel", "Kernel", "Name of the line that holds the sample"),
	INT("Sample", "Sample", NONE, "Number of the line that holds the sample"),
	STR("Counter", "Counter", NULL),
	INT("Value", "Value (Hex)", HEX, "Raw register value"),
	STR("Description", "Description", NULL),
	STR("Set", "Set", "Groups that the counter belongs to, separated by spaces"),
};

struct counter {
	bool has_value;
	uint64_t id, value;
	struct ss_str description, set;
};

/*
 * The value must be the event's own; what it means may stand in its metadata. The event's word goes
 * first.
 */
static void read_stats(struct counter *c, struct ss_xstats it, bool own)
{
	struct ss_xstat s;
	while (ss_xstats_next(&it, &s)) {
		switch (s.stat) {
		case SS_STAT_COUNTER_VALUE:
			if (own && !c->has_value) {
				c->has_value = true;
				c->value = ss_counter_value(&s);
			}
			break;
		case SS_STAT_PERFORMANCE_COUNTER_ID:
			if (!c->id)
				c->id = (uint64_t)ss_xstat_int_or_uint(&s);
			break;
		case SS_STAT_PERFORMANCE_COUNTER_DESCRIPTION:
			if (!c->description.n)
				c->description = ss_xstat_str(&s);
			break;
		case SS_STAT_PERFORMANCE_COUNTER_SETS:
			if (!c->set.n)
				c->set = ss_xstat_str(&s);
			break;
		default:
			break;
		}
	}
}

/* The chip's own list goes before what the event says: writers differ in how much they say. */
static void describe(struct counter *c, enum ss_tpu_chip chip)
{
	struct ss_str set = ss_tpu_counter_set(chip, c->id), doc = ss_tpu_counter_doc(chip, c->id);
	if (doc.n && (set.n || !c->description.n))
		c->description = doc;
	if (set.n)
		c->set = set;
}

/*
 * Names are compared by people and scripts in lower case; letters outside ASCII stay as they are.
 */
static struct ss_str lower(struct ss_arena *arena, struct ss_str s)
{
	char *p = ss_arena_alloc(arena, s.n + 1);
	for (size_t i = 0; p && i < s.n; i++)
		p[i] = s.p[i] >= 'A' && s.p[i] <= 'Z' ? (char)(s.p[i] + ('a' - 'A')) : s.p[i];
	return (struct ss_str){ p, p ? s.n : 0 };
}

struct counter_rows {
	struct ss_model *m;
	struct ss_table *t;
};

static void add_row(struct counter_rows *j, const struct ss_line *l, struct ss_str host, int64_t chip, struct ss_str name,
		    const struct counter *c)
{
	struct ss_table *t = j->t;
	ss_table_row(t);
	ss_set_str(t, COL_HOST, host);
	ss_set_i64(t, COL_CHIP, chip);
	ss_set_str(t, COL_KERNEL, l->name);
	ss_set_i64(t, COL_SAMPLE, l->id);
	ss_set_str(t, COL_COUNTER, name);
	ss_set_i64(t, COL_VALUE, (int64_t)c->value);
	ss_set_str(t, COL_DESCRIPTION, c->description);
	ss_set_str(t, COL_SET, c->set);
}

/* One lower-case name for each event metadata, made when first needed. */
struct names {
	struct ss_str *of;	/* by metadata, p == NULL: not made yet */
};

static bool add_line(struct counter_rows *j, const struct ss_plane *p, const struct ss_line *l, struct ss_str host, int64_t chip,
		     struct names *names)
{
	enum ss_tpu_chip kind = ss_tpu_chip_of(ss_plane_str_stat(p, SS_STAT_DEVICE_TYPE_STRING));
	for (uint32_t i = 0; i < l->ev.n; i++) {
		uint32_t meta = l->ev.meta[i];
		struct ss_str name = SS_STR("");
		struct counter c = { .description = SS_STR(""), .set = SS_STR("") };
		read_stats(&c, ss_line_stats(p, l, i), true);
		if (!c.has_value)
			continue;
		read_stats(&c, ss_xevent_meta_stats(p->x, meta), false);
		describe(&c, kind);
		if (meta != SS_NONE) {
			if (!names->of[meta].p)
				names->of[meta] = lower(j->t->arena, ss_event_name(p, meta));
			if (!names->of[meta].p)
				return false;
			name = names->of[meta];
		}
		add_row(j, l, host, chip, name, &c);
	}
	return true;
}

static bool add_plane(struct counter_rows *j, struct ss_str host, const struct ss_plane *p)
{
	int64_t chip;
	if (!p->nlines)
		return true;
	if (!ss_plane_int_stat(p, SS_STAT_GLOBAL_CHIP_ID, &chip) && !ss_plane_int_stat(p, SS_STAT_DEVICE_ID, &chip))
		return true;
	struct names names = { SS_NEW_N(j->t->arena, struct ss_str, (size_t)p->x->nevent_meta + 1) };
	bool ok = names.of != NULL;
	for (uint32_t i = 0; ok && i < p->nlines; i++)
		ok = add_line(j, p, &p->lines[i], host, chip, &names);
	return ok;
}

extern const struct ss_tool ss_tool_perf_counters;

static const struct ss_param params[] = {
	{ "names_only", "0|1", "0", "list the known counter IDs and names of a chip instead of a profile's values" },
	{ "device_type", "v6e|v7x", "", "the chip whose counters are listed" },
};

/* [{"name": ..., "val": id}], whatever the profile holds. */
static bool names_only(struct ss_str version, struct ss_result *out, struct ss_err *err)
{
	struct ss_tpu_counter_name *names;
	size_t n = 0;
	enum ss_tpu_chip chip = ss_tpu_chip_of_version(version);
	struct ss_buf b = { 0 };
	if (chip == SS_TPU_OTHER)
		return ss_fail(err, SS_EINVAL, "names_only needs a device_type: v6e or v7x, not '" SS_FMT "'", SS_ARG(version));
	bool ok = ss_tpu_counter_names(chip, out->arena, &names, &n);
	ss_buf_char(&b, '[');
	for (size_t i = 0; ok && i < n; i++) {
		ss_buf_z(&b, i ? ",{\"name\":" : "{\"name\":");
		ss_buf_json_str(&b, names[i].name);
		ss_buf_lit(&b, ",\"val\":");
		ss_buf_u64(&b, names[i].id);
		ss_buf_char(&b, '}');
	}
	ss_buf_char(&b, ']');
	out->content_type = "application/json";
	out->body = ss_buf_to_arena(&b, out->arena);
	return ok || ss_fail_mem(err);
}

static bool read_host(void *arg, size_t i, struct ss_host *h, struct ss_err *err)
{
	(void)arg;
	(void)i;
	return ss_host_counters(h, err) != NULL;
}

static bool take_host(void *arg, size_t i, struct ss_host *h, struct ss_err *err)
{
	struct counter_rows *j = arg;
	const struct ss_plane *planes = ss_host_counters(h, err);
	for (uint32_t k = 0; planes && k < h->nplanes; k++)
		if (!add_plane(j, j->m->hosts[i]->name, &planes[k]))
			return ss_fail_mem(err);
	return planes;
}

static bool run(const struct ss_request *q, struct ss_result *out, struct ss_err *err)
{
	if (ss_str_is(ss_request_param(q, &ss_tool_perf_counters, "names_only"), "1"))
		return names_only(ss_request_param(q, &ss_tool_perf_counters, "device_type"), out, err);
	struct counter_rows j = { .m = q->model };
	const struct ss_visit visit = { .read = read_host, .take = take_host, .arg = &j };
	j.t = ss_result_table(out, "perf_counters", "Performance counters", cols, SS_COUNT(cols));
	if (!j.t)
		return ss_fail_mem(err);
	if (!ss_tool_visit(q, out, &visit, err))
		return false;
	if (!j.t->nrows)
		ss_result_note(out, SS_INFO,
			       SS_STR("the profile holds no hardware counters: the profiler records them only on request"));
	return true;
}

/* How much was read. A list of known counters has no values, and needs no conclusion. */
static bool conclude(const struct ss_request *q, struct ss_result *out, struct ss_err *err)
{
	(void)err;
	const struct ss_table *t = ss_result_at(out, 0);
	size_t nzero = 0;
	if (!t->nrows || ss_table_col(t, "Value") == SS_NPOS)
		return true;
	for (size_t i = 0; i < t->nrows; i++)
		nzero += !ss_cell_i64(t, i, "Value");
	(void)q;
	ss_say(out, "%s of counters %s read.", ss_count_words((double)t->nrows, "value").s, t->nrows == 1 ? "was" : "were");
	if (nzero && t->nrows == 1)
		ss_result_say(out, SS_STR("It is zero: the counted event did not happen, or was not counted."));
	else if (nzero)
		ss_say(out, "%zu of them %s zero: the counted event did not happen, or was not counted.", nzero,
		       nzero == 1 ? "is" : "are");
	return true;
}

const struct ss_tool ss_tool_perf_counters = {
	.name = "perf_counters",
	.title = "Perf counters",
	.summary = "Raw hardware counters of TPUs and GPUs",
	.kind = SS_KIND_TABLES,
	.flags = SS_TOOL_ALL_HOSTS | SS_TOOL_ONE_TABLE | SS_TOOL_VISITS,
	.params = params,
	.nparams = SS_COUNT(params),
	.present = ss_host_has_tpu_counters,
	.run = run,
	.conclude = conclude,
};
