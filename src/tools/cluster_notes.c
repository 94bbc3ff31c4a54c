/* cluster_notes.c - see cluster_notes.h. */
#include "tools/cluster_notes.h"

#include "base/map.h"

#define MOST_NAMED 8

int64_t ss_step_cell(const struct ss_cluster *c, int64_t step)
{
	return step == SS_NO_STEP ? -1 : ss_step_number(&c->rounds, step);
}

size_t ss_step_columns(const struct ss_cluster *c, size_t n)
{
	return c->rounds.span ? n : n - 1;
}

void ss_set_step(struct ss_table *t, const struct ss_cluster *c, size_t col, size_t round_col, int64_t step)
{
	ss_set_i64(t, col, ss_step_cell(c, step));
	if (c->rounds.span)
		ss_set_i64(t, round_col, step == SS_NO_STEP ? -1 : (int64_t)ss_step_round(&c->rounds, step));
}

double ss_ps_us(int64_t ps)
{
	return (double)ps * 1e-6;
}

static bool is_missing(const struct ss_cluster_host *h)
{
	return h->state == SS_HOST_MISSING;
}

static bool is_cut(const struct ss_cluster_host *h)
{
	return h->state == SS_HOST_CUT;
}

static bool is_unreadable(const struct ss_cluster_host *h)
{
	return h->state == SS_HOST_UNREADABLE;
}

static bool is_stranger(const struct ss_cluster_host *h)
{
	return h->stranger;
}

/* "host3, host7 and 12 others" that are so. */
static bool name_hosts(const struct ss_cluster *c, bool (*is)(const struct ss_cluster_host *h), const char *what,
		       struct ss_result *out)
{
	struct ss_buf b = { 0 };
	uint32_t n = 0;
	struct ss_err err;
	for (size_t i = 0; i < c->hosts.n; i++) {
		if (!is(&c->hosts.v[i]))
			continue;
		if (n < MOST_NAMED) {
			ss_buf_z(&b, n ? ", " : "");
			ss_buf_str(&b, c->hosts.v[i].name);
		}
		n++;
	}
	if (!n)
		return true;
	if (n > MOST_NAMED)
		ss_buf_printf(&b, " and %u others", n - MOST_NAMED);
	bool ok = ss_buf_ok(&b, "a note", &err);
	struct ss_str names = ss_buf_get(&b);
	struct ss_str text = ss_arena_printf(out->arena, "%u of %zu %ss %s: " SS_FMT, n, c->hosts.n, ss_cluster_noun(c), what,
					       SS_ARG(names));
	ss_result_note(out, SS_WARNING, text);
	ss_buf_free(&b);
	return ok;
}

/* Hosts whose profilers began seconds apart have runs of their own. */
static bool name_runs(const struct ss_cluster *c, struct ss_result *out)
{
	struct ss_strmap runs = { 0 };
	struct ss_buf b = { 0 };
	struct ss_err err;
	bool ok = true;
	for (size_t i = 0; ok && i < c->hosts.n; i++)
		ok = !c->hosts.v[i].run.n || ss_strmap_add(&runs, c->hosts.v[i].run) != SS_NONE;
	for (uint32_t i = 0; i < runs.n && i < MOST_NAMED; i++) {
		ss_buf_z(&b, i ? ", " : "");
		ss_buf_str(&b, runs.keys[i]);
	}
	if (runs.n > MOST_NAMED)
		ss_buf_printf(&b, " and %zu others", (size_t)runs.n - MOST_NAMED);
	ok = ok && ss_buf_ok(&b, "a note", &err);
	if (ok && runs.n > 1)
		ss_result_note(out, SS_INFO,
			       ss_arena_printf(out->arena, "the hosts' recordings are taken from %zu runs: " SS_FMT,
					       (size_t)runs.n, SS_ARG(ss_buf_get(&b))));
	ss_buf_free(&b);
	ss_strmap_free(&runs);
	return ok;
}

/* Their hosts are not known. Who asks of one recording has the others elsewhere. */
static void count_ranks(const struct ss_cluster *c, struct ss_result *out)
{
	if (c->nranks_missing && !c->nmissing && c->nparts > 1)
		ss_result_note(out, SS_WARNING,
			       ss_arena_printf(out->arena, "%llu of %llu ranks have no recording here, so their part is unknown",
					       (unsigned long long)c->nranks_missing,
					       (unsigned long long)(c->nparts + c->nranks_missing)));
}

static bool say_notes(const struct ss_cluster *c, const char *cut, struct ss_result *out)
{
	bool ok = name_runs(c, out) &&
		  name_hosts(c, is_missing, "have no recording here, so their part is unknown", out) &&
		  name_hosts(c, is_cut, cut, out) &&
		  name_hosts(c, is_unreadable, "have files that cannot be read", out) &&
		  name_hosts(c, is_stranger, "run another program than the others and are not compared with them", out);
	if (ok)
		count_ranks(c, out);
	if (ok && c->of_ranks)
		ss_result_note(out, SS_INFO,
			       SS_STR("the recordings do not name their hosts: each rank counts as a host of its own"));
	for (size_t i = 0; ok && i < c->notes.n; i++) {
		struct ss_str text = ss_arena_str(out->arena, c->notes.v[i].text);
		ss_result_note(out, c->notes.v[i].warning ? SS_WARNING : SS_INFO, text);
	}
	return ok;
}

bool ss_cluster_notes(const struct ss_cluster *c, struct ss_result *out)
{
	return say_notes(c, "have recordings that end early; only whole steps of them count", out);
}

bool ss_cluster_notes_of_whole(const struct ss_cluster *c, struct ss_result *out)
{
	return say_notes(c, "have recordings that end early and are not compared with the others, late or not", out);
}
