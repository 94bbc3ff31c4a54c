/* job.c - see job.h. */
#include "model/host/job.h"

#include "model/host/plane.h"
#include "wire/json.h"

/* {"rank": 3, "world_size": 8, "pg_count": 1} */
struct ss_host_job ss_host_job(const struct ss_host *h)
{
	struct ss_host_job job = { -1, -1, -1 };
	const struct ss_plane *p = ss_host_plane(h, SS_PLANE_TASK_ENV);
	struct ss_xstat stat;
	struct ss_jtok key, value;
	int64_t v;
	if (!p || !ss_xstats_find(ss_xplane_stats(p->x), SS_STAT_DISTRIBUTED_INFO, &stat))
		return job;
	struct ss_jsonr r = ss_jsonr_of(ss_xstat_str(&stat));
	if (!ss_jsonr_next(&r, &key) || key.kind != SS_J_OBJECT)
		return job;
	while (ss_jsonr_next(&r, &key) && key.kind == SS_J_KEY && ss_jsonr_next(&r, &value)) {
		if (ss_jtok_is(&key, "rank") && ss_jtok_i64(&value, &v) && v >= 0)
			job.rank = v;
		else if (ss_jtok_is(&key, "world_size") && ss_jtok_i64(&value, &v) && v > 0)
			job.world = v;
		else if (ss_jtok_is(&key, "pg_count") && ss_jtok_i64(&value, &v) && v >= 0)
			job.groups = v;
		if (!ss_jsonr_skip(&r, &value))
			break;
	}
	return job;
}
