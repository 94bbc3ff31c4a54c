/* model.c - a selection of hosts. */
#include "model/model.h"

#include <stdlib.h>

static int by_name(const void *a, const void *b)
{
	return ss_str_cmp((*(struct ss_host *const *)a)->name, (*(struct ss_host *const *)b)->name);
}

bool ss_model_init(struct ss_model *m, struct ss_host *const *hosts, size_t nhosts, struct ss_err *err)
{
	*m = (struct ss_model){ 0 };
	m->hosts = malloc((nhosts + 1) * sizeof(*m->hosts));
	if (!m->hosts)
		return ss_fail_mem(err);
	if (nhosts)
		memcpy(m->hosts, hosts, nhosts * sizeof(*hosts));
	m->nhosts = nhosts;
	qsort(m->hosts, nhosts, sizeof(*m->hosts), by_name);
	for (size_t i = 0; i < SS_MODEL_PART_COUNT; i++)
		ss_part_init(&m->parts[i]);
	return true;
}

void ss_model_release(struct ss_model *m)
{
	if (!m->hosts)
		return;
	/* Later parts are built from earlier ones. */
	for (size_t i = SS_MODEL_PART_COUNT; i-- > 0;)
		ss_part_release(&m->parts[i]);
	free(m->hosts);
	*m = (struct ss_model){ 0 };
}

bool ss_model_load(struct ss_model *m, struct ss_err *err)
{
	for (size_t i = 0; i < m->nhosts; i++)
		if (!ss_host_load(m->hosts[i], err))
			return false;
	return true;
}
