/* megascale_names.c - see megascale.h. */
#include "model/megascale/megascale.h"

#include "base/vec.h"
#include "model/host/plane.h"

bool ss_ms_read_number(struct ss_str *s, int64_t *v)
{
	struct ss_str rest = *s;
	uint64_t u;
	if (!ss_str_take_u64(&rest, &u) || u > INT64_MAX)
		return false;
	*s = rest;
	*v = (int64_t)u;
	return true;
}

bool ss_ms_parse_key(struct ss_str text, int64_t *device, struct ss_str *collective)
{
	if (!ss_str_take(&text, SS_STR("device_")) || !ss_ms_read_number(&text, device) || !ss_str_take(&text, SS_STR("_gid_")))
		return false;
	*collective = ss_str_sub(text, 0, ss_str_chr(text, '$'));
	return collective->n > 0;
}

bool ss_ms_is_execution(struct ss_str name)
{
	int64_t device, number;
	struct ss_str collective;
	if (ss_str_chr(name, '$') != SS_NPOS || !ss_ms_parse_key(name, &device, &collective))
		return false;
	size_t bar = ss_str_rchr(collective, '_');
	struct ss_str end = bar == SS_NPOS ? SS_STR("") : ss_str_sub(collective, bar + 1, collective.n);
	return bar != SS_NPOS && bar > 0 && ss_ms_read_number(&end, &number) && end.n == 0;
}

struct ss_str ss_ms_name(const struct ss_megascale *m, const struct ss_ms_track *t, const struct ss_ms_event *e)
{
	if (e->rare != SS_NONE && m->rare[e->rare].name.n)
		return m->rare[e->rare].name;
	if (e->at == SS_NONE)
		return SS_STR("");
	uint32_t meta = e->line->ev.meta[e->at];
	struct ss_str name = ss_event_display_name(t->plane, meta);
	return name.n ? name : ss_event_name(t->plane, meta);
}

struct ss_ms_rare_stats *ss_ms_rare_stats_of(struct ss_megascale *m, struct ss_ms_event *e)
{
	if (e->rare == SS_NONE) {
		if (m->nrare >= SS_NONE || !ss_grow((void **)&m->rare, &m->rare_cap, m->nrare + 1, sizeof(*m->rare)))
			return NULL;
		m->rare[m->nrare] = (struct ss_ms_rare_stats){ .name = SS_STR(""), .hidden = SS_STR("") };
		e->rare = (uint32_t)m->nrare++;
	}
	return &m->rare[e->rare];
}
