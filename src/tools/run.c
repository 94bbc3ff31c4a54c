/* run.c - running a tool: its tables, its conclusion, and what the recording lacks for it. */
#include "tools/tool.h"

#include "model/host/host.h"
#include "model/model.h"
#include "verdict/verdict.h"

static bool has_rows(const struct ss_result *r)
{
	for (size_t i = 0; i < r->ntables; i++)
		if (r->tables[i].nrows)
			return true;
	return false;
}

/* A tool that visits hosts answers the same whether they are open or not: by its rows. */
static bool meets(const struct ss_tool *t, const struct ss_model *m)
{
	unsigned met = 0;
	if ((t->flags & SS_TOOL_VISITS) || !m->nhosts)
		return true;
	for (size_t i = 0; i < m->nhosts; i++)
		met |= ss_host_meets(m->hosts[i], t->needs & ~met);
	return !(t->needs & ~met) && ss_tool_present(t, m->hosts[0]);
}

bool ss_tool_run(const struct ss_tool *t, const struct ss_request *q, struct ss_result *out, struct ss_err *err)
{
	/* XProf's clients are told of no steps that the program did not mark. */
	unsigned facts = q->as_xprof ? t->facts & ~(unsigned)SS_FACTS_INFERRED_STEPS : t->facts;
	if (q->for_people)
		facts |= t->conclude_facts;
	/* A tool that needs the attribution needs the verdict. */
	if (facts & SS_FACTS_ATTRIBUTION)
		facts |= ss_verdict_facts(q->model);
	if (!ss_model_gather(q->model, facts, err) || !t->run(q, out, err))
		return false;
	if (q->for_people && t->missing && !out->nnotes && !(has_rows(out) && meets(t, q->model)))
		ss_result_note(out, SS_INFO, ss_str_from(t->missing));
	return ss_result_is_whole(out, err) && ss_tool_conclude(t, q, out, err) && ss_result_is_whole(out, err);
}

bool ss_tool_conclude(const struct ss_tool *t, const struct ss_request *q, struct ss_result *out, struct ss_err *err)
{
	return !q->for_people || !t->conclude || t->conclude(q, out, err);
}
