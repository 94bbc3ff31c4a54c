/* added.c - stats added to events. */
#include "model/preprocess/added.h"

#include <stdlib.h>

static bool add(struct ss_added *a, struct ss_added_stats *to, struct ss_added_stat s)
{
	return ss_vec_push(&a->all, (struct ss_added_entry){ to, s });
}

bool ss_added_int(struct ss_added *a, struct ss_added_stats *to, uint32_t event, enum ss_stat stat, int64_t v)
{
	return add(a, to, (struct ss_added_stat){ .event = event, .stat = stat, .kind = SS_X_INT, .u = (uint64_t)v });
}

bool ss_added_double(struct ss_added *a, struct ss_added_stats *to, uint32_t event, enum ss_stat stat, double v)
{
	struct ss_added_stat s = { .event = event, .stat = stat, .kind = SS_X_DOUBLE };
	memcpy(&s.u, &v, sizeof(s.u));
	return add(a, to, s);
}

bool ss_added_str(struct ss_added *a, struct ss_added_stats *to, uint32_t event, enum ss_stat stat, struct ss_str v)
{
	return add(a, to, (struct ss_added_stat){ .event = event, .stat = stat, .kind = SS_X_STR, .s = v });
}

/*
 * The order in which lines stand in memory is that of their plane; planes do not matter. qsort
 * moves equals, so the kind of stat decides.
 */
static int by_line(const void *a, const void *b)
{
	const struct ss_added_entry *x = a, *y = b;
	return SS_CMP(x->to, y->to) ?: SS_CMP(x->stat.event, y->stat.event) ?: SS_CMP(x->stat.stat, y->stat.stat);
}

static int by_event(const void *a, const void *b)
{
	const struct ss_added_stat *x = a, *y = b;
	return SS_CMP(x->event, y->event) ?: SS_CMP(x->stat, y->stat);
}

static bool deliver(struct ss_added_stats *to, const struct ss_added_entry *v, size_t n)
{
	struct ss_added_stat *all = realloc(to->v, (to->n + n) * sizeof(*all));
	if (!all)
		return false;
	for (size_t i = 0; i < n; i++)
		all[to->n + i] = v[i].stat;
	if (to->n)
		qsort(all, to->n + n, sizeof(*all), by_event);
	to->v = all;
	to->n += n;
	return true;
}

bool ss_added_deliver(struct ss_added *a)
{
	for (size_t i = 1; i < a->all.n; i++)
		if (by_line(&a->all.v[i - 1], &a->all.v[i]) > 0) {
			qsort(a->all.v, a->all.n, sizeof(*a->all.v), by_line);
			break;
		}
	for (size_t from = 0, to; from < a->all.n; from = to) {
		for (to = from + 1; to < a->all.n && a->all.v[to].to == a->all.v[from].to; to++)
			;
		if (!deliver(a->all.v[from].to, &a->all.v[from], to - from))
			return false;
	}
	a->all.n = 0;
	return true;
}

void ss_added_free(struct ss_added *a)
{
	ss_vec_free(&a->all);
}
