/* model.c - a selection of hosts. */
#include "model/model.h"
#include "model/host/host.h"

#include "model/preprocess/load.h"

#include <stdlib.h>

static int by_name(const void *a, const void *b)
{
	return ss_str_cmp((*(struct ss_host *const *)a)->name, (*(struct ss_host *const *)b)->name);
}

/* Room for the hosts, and parts that are still to be made. */
static bool begin(struct ss_model *m, size_t nhosts, struct ss_err *err)
{
	*m = (struct ss_model){ 0 };
	m->hosts = malloc((nhosts + 1) * sizeof(*m->hosts));
	if (!m->hosts)
		return ss_fail_mem(err);
	m->nhosts = nhosts;
	pthread_mutex_init(&m->lock, NULL);
	pthread_mutex_init(&m->gathering, NULL);
	for (size_t i = 0; i < SS_MODEL_PART_COUNT; i++)
		ss_part_init(&m->parts[i]);
	return true;
}

bool ss_model_init(struct ss_model *m, struct ss_host *const *hosts, size_t nhosts, struct ss_err *err)
{
	if (!begin(m, nhosts, err))
		return false;
	if (nhosts)
		memcpy(m->hosts, hosts, nhosts * sizeof(*hosts));
	qsort(m->hosts, nhosts, sizeof(*m->hosts), by_name);
	return true;
}

bool ss_model_init_visited(struct ss_model *m, const struct ss_host_file_at *files, size_t n, struct ss_err *err)
{
	if (!begin(m, n, err))
		return false;
	m->visited = true;
	m->known = calloc(n + 1, sizeof(*m->known));
	bool ok = m->known;
	for (size_t i = 0; ok && i < n; i++) {
		ok = ss_host_describe(&m->known[i], files[i].top, files[i].path, files[i].bytes);
		m->hosts[i] = &m->known[i];
	}
	if (!ok) {
		ss_model_release(m);
		return ss_fail_mem(err);
	}
	qsort(m->hosts, n, sizeof(*m->hosts), by_name);
	return true;
}

void ss_model_release(struct ss_model *m)
{
	if (!m->hosts)
		return;
	/* Later parts are built from earlier ones. */
	for (size_t i = SS_MODEL_PART_COUNT; i-- > 0;)
		ss_part_release(&m->parts[i]);
	for (size_t i = 0; m->known && i < m->nhosts; i++)
		ss_arena_release(&m->known[i].arena);
	free(m->known);
	if (m->opener.close)
		m->opener.close(&m->opener);
	pthread_mutex_destroy(&m->lock);
	pthread_mutex_destroy(&m->gathering);
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
