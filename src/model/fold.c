/* fold.c - see fold.h. */
#include "model/fold.h"

#include "model/host/host.h"

#include <stdlib.h>

struct gathering {
	struct {
		const struct ss_fold *fold;
		void *data;
	} v[SS_MAX_FOLDS];
	size_t n;
};

const void *ss_host_fact_get(struct ss_host *h, const struct ss_host_fact *f, struct ss_err *err)
{
	return ss_part_get(&h->parts[f->part], f->build, f->release, h, err);
}

static bool read_host(void *arg, size_t i, struct ss_host *h, struct ss_err *err)
{
	const struct gathering *j = arg;
	bool ok = true;
	(void)i;
	for (size_t k = 0; ok && k < j->n; k++) {
		const struct ss_fold *f = j->v[k].fold;
		ok = f->of ? ss_host_fact_get(h, f->of, err) != NULL : f->read(h, err);
	}
	return ok;
}

static bool take_host(void *arg, size_t i, struct ss_host *h, struct ss_err *err)
{
	const struct gathering *j = arg;
	bool ok = true;
	for (size_t k = 0; ok && k < j->n; k++) {
		const struct ss_fold *f = j->v[k].fold;
		const void *fact = f->of ? ss_host_fact_get(h, f->of, err) : NULL;
		ok = (fact || !f->of) && f->take(j->v[k].data, i, h, fact, err);
	}
	return ok;
}

static void *begin(const struct ss_fold *f, const struct ss_model *m, struct ss_err *err)
{
	char *data = calloc(1, f->size);
	/* A result must not point into files that are opened one after the other; of hosts that stay open, nothing is copied. */
	if (data && f->intern_at)
		*(struct ss_intern *)(void *)(data + f->intern_at) = (struct ss_intern){ .copies = m->visited };
	if (data && (!f->begin || f->begin(data, m)))
		return data;
	if (data)
		f->release(data);
	ss_fail_mem(err);
	return NULL;
}

static bool run(struct gathering *j, struct ss_model *m, struct ss_err *err)
{
	const struct ss_visit visit = { .read = read_host, .take = take_host, .arg = j };
	bool ok = true;
	for (size_t k = 0; ok && k < j->n; k++)
		ok = (j->v[k].data = begin(j->v[k].fold, m, err)) != NULL;
	ok = ok && ss_model_visit(m, &visit, err);
	for (size_t k = 0; ok && k < j->n; k++)
		ok = !j->v[k].fold->end || j->v[k].fold->end(j->v[k].data, err);
	for (size_t k = 0; !ok && k < j->n; k++)
		if (j->v[k].data)
			j->v[k].fold->release(j->v[k].data);
	return ok;
}

struct wish {
	struct ss_model *m;
	const struct ss_fold *fold;
};

static bool is_unvisited(const struct ss_model *m, const struct ss_fold *f)
{
	return f->unvisited && m->opener.open;
}

static void *build(void *owner, struct ss_err *err)
{
	const struct wish *w = owner;
	if (is_unvisited(w->m, w->fold))
		return w->fold->unvisited(w->m, err);
	struct gathering j = { .v = { { w->fold, NULL } }, .n = 1 };
	return run(&j, w->m, err) ? j.v[0].data : NULL;
}

void *ss_fold_get(struct ss_model *m, const struct ss_fold *f, struct ss_err *err)
{
	struct wish w = { m, f };
	return ss_part_get(&m->parts[f->part], build, f->release, &w, err);
}

bool ss_model_gather_folds(struct ss_model *m, const struct ss_fold *const *folds, size_t n, struct ss_err *err)
{
	struct gathering j = { .n = 0 };
	if (!m->visited)
		return true;
	/* A second thread finds the facts that the first has gathered. */
	pthread_mutex_lock(&m->gathering);
	for (size_t i = 0; i < n && i < SS_MAX_FOLDS; i++)
		if (!is_unvisited(m, folds[i]) && !ss_part_is_built(&m->parts[folds[i]->part]))
			j.v[j.n++].fold = folds[i];
	bool ok = !j.n || run(&j, m, err);
	for (size_t k = 0; ok && k < j.n; k++)
		ss_part_put(&m->parts[j.v[k].fold->part], j.v[k].data, j.v[k].fold->release);
	pthread_mutex_unlock(&m->gathering);
	return ok;
}
