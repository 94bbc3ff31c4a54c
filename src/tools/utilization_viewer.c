/*
 * utilization_viewer.c - how busy the units of a TPU were, from hardware counters: achieved work
 * against possible work of every unit, for each sample of each chip. The formulas stand in
 * model/counters/tpu_use.c.
 *
 * XProf leaves the division to its page; here the last column has it. TPUs other than v6e and v7x
 * are left out: the meaning of their counters is not known.
 */
#include "model/counters/tpu_counters.h"

#include "model/host/host.h"
#include "model/model.h"
#include "tools/tool.h"
#include "tools/words.h"

#include <math.h>

enum { COL_HOST, COL_DEVICE, COL_SAMPLE, COL_NODE, COL_NAME, COL_ACHIEVED, COL_PEAK, COL_UNIT, COL_FRAC };

static const struct ss_col cols[] = {
	INT("host", "Host", NONE, "Number of the host in the selection"),
	INT("device", "Device", NONE, "Number of the device on its host"),
	INT("sample", "Sample", NONE, "Number of the line that holds the sample"),
	INT("node", "Node", NONE, "TensorCore or SparseCore of the chip"),
	STR("name", "Name", "Unit of the chip"),
	NUM("achieved", "Achieved", NONE, "Achieved amount, in the unit of the row"),
	NUM("peak", "Peak", NONE, "Possible amount in the counted cycles"),
	STR("unit", "Unit", "Unit of achieved and peak"),
	NUM("utilization_frac", "Utilization", FRAC,
	    "achieved / peak; empty if the peak is 0"),
};

struct place {
	size_t host;
	int64_t device, sample;
	double unknown;		/* share of a unit that could do nothing: 0 for XProf's clients, else none */
};

static void add_rows(struct ss_table *t, const struct place *at, const struct ss_tpu_use *use, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct ss_tpu_use *u = &use[i];
		ss_table_row(t);
		ss_set_i64(t, COL_HOST, (int64_t)at->host);
		ss_set_i64(t, COL_DEVICE, at->device);
		ss_set_i64(t, COL_SAMPLE, at->sample);
		ss_set_i64(t, COL_NODE, u->node);
		ss_set_str(t, COL_NAME, ss_str_from(u->name));
		ss_set_f64(t, COL_ACHIEVED, u->achieved);
		ss_set_f64(t, COL_PEAK, u->peak);
		ss_set_str(t, COL_UNIT, ss_str_from(u->unit));
		ss_set_f64(t, COL_FRAC, u->peak > 0 ? u->achieved / u->peak : at->unknown);
	}
}

static bool add_plane(struct ss_table *t, struct place *at, const struct ss_plane *p)
{
	static const struct ss_tpu_use_options plain;
	enum ss_tpu_chip chip = ss_tpu_chip_of(ss_plane_str_stat(p, SS_STAT_DEVICE_TYPE_STRING));
	struct ss_tpu_use use[SS_TPU_MAX_USES];
	if (!ss_str_starts(p->name, SS_STR("/device:TPU:")) || chip == SS_TPU_OTHER ||
	    !ss_plane_int_stat(p, SS_STAT_DEVICE_ID, &at->device))
		return true;
	bool ok = true;
	for (uint32_t i = 0; ok && i < p->nlines; i++) {
		struct ss_tpu_sample s;
		double longest_s;
		at->sample = p->lines[i].id;
		ok = ss_tpu_sample_read(&s, p, &p->lines[i]);
		if (ok && s.n)
			add_rows(t, at, use, ss_tpu_utilization(chip, &s, &plain, use, &longest_s));
		ss_tpu_sample_free(&s);
	}
	return ok;
}

static bool run(const struct ss_request *q, struct ss_result *out, struct ss_err *err)
{
	struct ss_table *t = ss_result_table(out, "utilization_viewer", "Utilization", cols, SS_COUNT(cols));
	for (size_t i = 0; i < q->model->nhosts; i++) {
		struct ss_host *h = q->model->hosts[i];
		const struct ss_plane *planes = ss_host_counters(h, err);
		if (!planes)
			return false;
		struct place at = { .host = i, .unknown = q->as_xprof ? 0 : (double)NAN };
		for (uint32_t k = 0; k < h->nplanes; k++)
			if (!add_plane(t, &at, &planes[k]))
				return ss_fail_mem(err);
	}
	if (!t->nrows)
		ss_result_note(out, SS_INFO, SS_STR("the profile holds no hardware counters of a TPU v6e or v7x"));
	return true;
}

#define MOST_FRAC 1.0005 /* above it a share is none: rounding of counters aside */

/*
 * Does it stand for a unit, or all units of a kind? Skipped clocks, mixes of work, and how many are
 * busy at once do not.
 */
static bool is_unit(struct ss_str name)
{
	return name.n && !(name.p[0] >= '0' && name.p[0] <= '9') &&
	       !ss_str_starts(name, SS_STR("No ")) && !ss_str_contains(name, SS_STR("Ratio")) &&
	       !ss_str_contains(name, SS_STR("Clocks Skipped"));
}

/* The unit that is used most. */
static bool conclude(const struct ss_request *q, struct ss_result *out, struct ss_err *err)
{
	(void)err;
	const struct ss_table *t = ss_result_at(out, 0);
	size_t top = SS_NPOS, nover = 0;
	double max = 0;
	(void)q;
	for (size_t i = 0; i < t->nrows; i++) {
		double v = ss_cell_f64(t, i, "utilization_frac");
		nover += v > MOST_FRAC;
		if (v > max && v <= MOST_FRAC && is_unit(ss_cell_str(t, i, "name"))) {
			max = v;
			top = i;
		}
	}
	if (top == SS_NPOS)
		return true;
	ss_say(out,
	       "The unit that is used most is '" SS_FMT
	       "' (host %lld, device %lld, core %lld): %s of what it can do.",
	       SS_ARG(ss_cell_str(t, top, "name")), (long long)ss_cell_i64(t, top, "host"),
	       (long long)ss_cell_i64(t, top, "device"),
	       (long long)ss_cell_i64(t, top, "node"), ss_value_words(SS_UNIT_FRAC, max).s);
	if (nover)
		ss_say(out,
		       "%zu figure%s above 100 %%, which is impossible: the counters of a sample "
		       "are not read at one moment.",
		       nover, nover == 1 ? " is" : "s are");
	return true;
}

const struct ss_tool ss_tool_utilization_viewer = {
	.name = "utilization_viewer",
	.title = "Utilization viewer",
	.summary = "How busy each unit of a TPU was, from hardware counters",
	.kind = SS_KIND_TABLES,
	.flags = SS_TOOL_ONE_TABLE,
	.present = ss_host_has_tpu_counters,
	.run = run,
	.conclude = conclude,
};
