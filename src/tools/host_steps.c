/*
 * host_steps.c - any figure of a step by host: the way into runs of many hosts. And the hosts of
 * the run, with those that have no recording.
 */
#include "model/cluster/straggler.h"
#include "tools/cluster_notes.h"
#include "tools/words.h"

#include <math.h>
#include <stdlib.h>

static const char *const figures[] = { "step_us",	"compute_us",	"exposed_wait_us", "exposed_transfer_us", "copy_us",
				       "idle_input_us", "idle_host_us", "idle_other_us",   "overlapped_us",	  "lost_us" };
static const char *const labels[] = { "Step (us)", "Compute (us)", "Exposed Wait (us)", "Exposed Transfer (us)", "Copies (us)",
				      "Idle for Input (us)", "Idle for Host (us)", "Idle (us)", "Overlapped (us)", "Lost (us)" };
#define LOST (SS_COUNT(figures) - 1)

enum { H_HOST, H_STATE, H_FIRST, H_LAST, H_FILES, H_RUN };

static const struct ss_col host_cols[] = {
	STR("host", "Host", NULL),
	STR("state", "State", "ok; cut: the recording ends early; missing: there is none; unreadable"),
	ID("first_step", "First step", "-1: none"),
	ID("last_step", "Last step", "-1: none"),
	INT("files", "Files", COUNT, NULL),
	STR("run", "Run", "The run that holds the recording"),
};

static const struct ss_param params[] = {
	{ "figure",
	  "step_us|compute_us|exposed_wait_us|exposed_transfer_us|copy_us|idle_input_us|idle_host_us|idle_other_us|overlapped_us|"
	  "lost_us",
	  "step_us", "figure of the matrix: the largest value of the host's devices" },
};

extern const struct ss_tool ss_tool_host_steps;

static double figure_of(const struct ss_device_step *r, size_t figure)
{
	if (figure == 0)
		return ss_ps_us(r->end_ps - r->begin_ps);
	return figure <= SS_EXPOSED_CLASSES ? ss_ps_us(r->class_ps[figure - 1]) : ss_ps_us(r->overlapped_ps);
}

struct cell {
	int64_t step;
	uint32_t host;
	double value;
};

static int by_step(const void *a, const void *b)
{
	const struct cell *x = a, *y = b;
	return SS_CMP(x->step, y->step) ?: SS_CMP(x->host, y->host);
}

/*
 * Of the devices of a host the largest; of what was lost the host's excess in steps that all have.
 */
static void cells_of(const struct ss_cluster *c, const struct ss_exposed *x, const struct ss_straggler *s, size_t figure,
		     struct cell *v, size_t *n)
{
	*n = 0;
	for (size_t i = 0; s && i < s->steps.n; i++)
		for (size_t h = 0; h < s->hosts.n; h++)
			v[(*n)++] =
				(struct cell){ s->steps.v[i].step, s->hosts.v[h].host, s->excess.ps[i * s->hosts.n + h] * 1e-6 };
	for (size_t i = 0; !s && i < x->rows.n; i++)
		v[(*n)++] = (struct cell){ x->rows.v[i].step, c->devices.v[x->rows.v[i].device].host,
					   figure_of(&x->rows.v[i], figure) };
	if (*n)
		qsort(v, *n, sizeof(*v), by_step);
	size_t kept = 0;
	for (size_t i = 0; i < *n; i++) {
		struct cell *last = kept ? &v[kept - 1] : NULL;
		if (last && last->step == v[i].step && last->host == v[i].host)
			last->value = v[i].value > last->value ? v[i].value : last->value;
		else
			v[kept++] = v[i];
	}
	*n = kept;
}

static bool fill_matrix(const struct ss_request *q, struct ss_result *out, size_t figure,
			struct ss_err *err)
{
	const struct ss_exposed *x = ss_model_exposed(q->model, err);
	const struct ss_cluster *c = x ? ss_model_cluster(q->model, err) : NULL;
	const struct ss_straggler *s = c && figure == LOST ? ss_model_straggler(q->model, err) : NULL;
	if (!c || (figure == LOST && !s))
		return false;
	struct ss_col *cols = SS_NEW_N(q->arena, struct ss_col, 4);
	size_t room = s ? s->steps.n * s->hosts.n : x->rows.n, n;
	struct cell *v = calloc(room + 1, sizeof(*v));
	struct ss_table *t = NULL;
	bool ok = cols && v;
	if (ok) {
		cols[0] = (struct ss_col)INT("step_num", "Step", NONE, NULL);
		cols[1] = (struct ss_col)STR("host", "Host", NULL);
		cols[2] = (struct ss_col)NUM(figures[figure], labels[figure], US, "Largest value of the host's devices");
		cols[3] = (struct ss_col)SS_STEP_ROUND_COL;
		t = ss_result_table(out, "matrix", "Steps by host", cols, ss_step_columns(c, 4));
		cells_of(c, x, s, figure, v, &n);
		ss_table_reserve(t, n);
	}
	for (size_t i = 0; ok && i < n; i++) {
		ss_table_row(t);
		ss_set_step(t, c, 0, 3, v[i].step);
		ss_set_str(t, 1, c->hosts.v[v[i].host].name);
		ss_set_f64(t, 2, v[i].value);
	}
	free(v);
	return ok || ss_fail_mem(err);
}

static bool fill_hosts(struct ss_result *out, const struct ss_cluster *c)
{
	struct ss_table *t = ss_result_table(out, "hosts", "Hosts", host_cols, SS_COUNT(host_cols));
	for (size_t i = 0; i < c->hosts.n; i++) {
		ss_table_row(t);
		const struct ss_cluster_host *h = &c->hosts.v[i];
		ss_set_str(t, H_HOST, h->name);
		ss_set_str(t, H_STATE, ss_str_from(ss_host_state_name(h->state)));
		ss_set_i64(t, H_FIRST, ss_step_cell(c, h->first_step));
		ss_set_i64(t, H_LAST, ss_step_cell(c, h->last_step));
		ss_set_i64(t, H_FILES, h->nfiles);
		ss_set_str(t, H_RUN, h->run);
	}
	return true;
}

static bool run(const struct ss_request *q, struct ss_result *out, struct ss_err *err)
{
	struct ss_str name = ss_request_param(q, &ss_tool_host_steps, "figure");
	size_t figure = 0;
	while (figure < SS_COUNT(figures) && !ss_str_is(name, figures[figure]))
		figure++;
	if (figure == SS_COUNT(figures))
		return ss_fail(err, SS_EINVAL,
			       "there is no figure '" SS_FMT "'; there are step_us, compute_us, exposed_wait_us, "
							     "exposed_transfer_us, "
			       "copy_us, idle_input_us, idle_host_us, idle_other_us, overlapped_us and lost_us",
			       SS_ARG(name));
	const struct ss_cluster *c = ss_model_cluster(q->model, err);
	bool ok = c && fill_matrix(q, out, figure, err) &&
		  ((fill_hosts(out, c)) || ss_fail_mem(err)) &&
		  (ss_cluster_notes(c, out) || ss_fail_mem(err));
	return ok;
}

/* The hosts, and the recordings that are cut or missing. */
/* Collectives make steps equally long on all hosts: who is late is seen in another figure. */
static bool say_late(const struct ss_request *q, struct ss_result *out, struct ss_err *err)
{
	struct ss_straggler_verdict v;
	if (!ss_straggler_verdict(q->model, &v, err))
		return false;
	if (v.kind != SS_STRAGGLER_ONE)
		return true;
	out->conclusion.mood = SS_MOOD_WARN;
	ss_say(out, "'" SS_FMT "' holds up the other hosts in %s of the steps: the figure lost_us shows by how much.",
	       SS_ARG(v.host), ss_value_words(SS_UNIT_FRAC, v.steps_frac).s);
	return true;
}

static bool conclude(const struct ss_request *q, struct ss_result *out, struct ss_err *err)
{
	const struct ss_table *t = ss_result_find(out, "hosts");
	size_t whole = 0, bad = SS_NPOS;
	for (size_t i = 0; i < t->nrows; i++) {
		bool ok = ss_str_is(ss_cell_str(t, i, "state"), "ok");
		whole += ok;
		bad = !ok && bad == SS_NPOS ? i : bad;
	}
	if (!t->nrows)
		return true;
	if (bad == SS_NPOS && t->nrows == 1) {
		ss_result_say(out, SS_STR("The profile is of one host, and its recording is whole."));
		return true;
	}
	const struct ss_cluster *c = ss_model_cluster(q->model, err);
	if (!c)
		return false;
	if (bad == SS_NPOS) {
		ss_say(out, "The recordings of all %zu %ss are whole.", t->nrows, ss_cluster_noun(c));
		return say_late(q, out, err);
	}
	out->conclusion.mood = SS_MOOD_WARN;
	ss_say(out, "%zu of %zu %ss %s a whole recording; that of '" SS_FMT "'%s is " SS_FMT ".", whole, t->nrows,
	       ss_cluster_noun(c), whole == 1 ? "has" : "have", SS_ARG(ss_cell_str(t, bad, "host")),
	       t->nrows - whole > 1 ? ", the first of the others," : "", SS_ARG(ss_cell_str(t, bad, "state")));
	return say_late(q, out, err);
}

const struct ss_tool ss_tool_host_steps = {
	.name = "host_steps",
	.title = "Hosts and steps",
	.summary = "A figure of each step by host, and the hosts that have recordings",
	.kind = SS_KIND_TABLES,
	.flags = SS_TOOL_ALL_HOSTS | SS_TOOL_OURS | SS_TOOL_VISITS | SS_TOOL_SESSION | SS_TOOL_OF_PARTS,
	.params = params,
	.nparams = SS_COUNT(params),
	.facts = SS_FACTS_CLUSTER,
	.run = run,
	.conclude = conclude,
};
