/* op_programs.c - see op_programs.h. */
#include "model/ops/op_programs.h"

#include "base/map.h"
#include "model/host/host.h"
#include "model/model.h"
#include "model/program/hlo_map.h"

#include <stdlib.h>

enum { MISSING, FOUND };

/* Programs that are looked for. Who has none has number 0, which is no reason to look on. */
struct looking {
	struct ss_u64map programs; /* by number: MISSING, FOUND */
	size_t left;
};

/* Does the host name programs that no host before it does? */
static bool find_programs(struct looking *l, struct ss_host *h, bool *any, struct ss_err *err)
{
	struct ss_hlo_map *map = ss_host_hlo(h, err);
	uint32_t n = 0;
	const struct ss_hlo_entry *e = map ? ss_hlo_map_entries(map, &n) : NULL;
	for (uint32_t i = 0; i < n; i++) {
		uint64_t id = (uint64_t)e[i].program_id;
		if (ss_u64map_get(&l->programs, id) != MISSING)
			continue;
		if (!ss_u64map_put(&l->programs, id, FOUND))
			return ss_fail_mem(err);
		l->left -= id != 0;
		*any = true;
	}
	return map;
}

/* Open the host; keep it if it is good for something. */
static bool take(struct ss_op_programs *p, const struct ss_host *known, struct looking *l, struct ss_err *err)
{
	struct ss_err why;
	struct ss_host *h = malloc(sizeof(*h));
	if (!h)
		return ss_fail_mem(err);
	if (!ss_host_open_among(h, known->source.top, known->x.path.p, &why, err)) {
		free(h);
		return false;
	}
	bool any = false, ok = true;
	/* Traces in other formats are read whole when they are opened, and hold no programs. */
	if (h->imported.any)
		l->left = 0;
	else
		ok = find_programs(l, h, &any, err);
	if (any) {
		p->opened[p->n++] = h;
		return ok;
	}
	ss_host_close(h);
	free(h);
	return ok;
}

bool ss_op_programs_open(struct ss_op_programs *p, const struct ss_model *m, const struct ss_op_db *db, struct ss_err *err)
{
	struct looking l = { .left = 0 };
	*p = (struct ss_op_programs){ .hosts = m->hosts, .n = m->nhosts };
	if (!m->visited)
		return true;
	*p = (struct ss_op_programs){ .opened = calloc(m->nhosts + 1, sizeof(*p->opened)) };
	p->hosts = p->opened;
	bool ok = p->opened;
	for (size_t i = 0; ok && i < db->n; i++) {
		uint64_t id = db->v[i].program_id;
		if (ss_u64map_get(&l.programs, id) == MISSING)
			continue;
		ok = ss_u64map_put(&l.programs, id, MISSING);
		l.left += id != 0;
	}
	ok = ok || ss_fail_mem(err);
	for (size_t i = 0; ok && l.left && i < m->nhosts; i++)
		ok = take(p, m->hosts[i], &l, err);
	ss_u64map_free(&l.programs);
	return ok;
}

void ss_op_programs_close(struct ss_op_programs *p)
{
	for (size_t i = 0; p->opened && i < p->n; i++) {
		ss_host_close(p->opened[i]);
		free(p->opened[i]);
	}
	free(p->opened);
	*p = (struct ss_op_programs){ .n = 0 };
}
