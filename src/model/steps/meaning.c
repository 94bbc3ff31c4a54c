/* meaning.c - see meaning.h. */
#include "model/steps/meaning.h"

#include "model/steps/inferred.h"
#include "model/steps/steps.h"

/* Between devices; from and to the host they are another category, "host send". */
static bool is_transfer(struct ss_str s)
{
	return ss_str_istarts(s, SS_STR("send")) || ss_str_istarts(s, SS_STR("recv"));
}

static bool is_copy(struct ss_str s)
{
	return ss_str_istarts(s, SS_STR("memcpy")) || ss_str_istarts(s, SS_STR("memset")) || ss_str_istarts(s, SS_STR("copy"));
}

static struct ss_str category_or_name(const struct ss_plane *p, uint32_t meta)
{
	struct ss_xstat s;
	bool known = meta < p->x->nevent_meta && ss_xstats_find(ss_xevent_meta_stats(p->x, meta), SS_STAT_HLO_CATEGORY, &s);
	return known ? ss_xstat_str(&s) : ss_event_name(p, meta);
}

enum ss_meaning ss_event_meaning(const struct ss_plane *p, uint32_t meta)
{
	struct ss_str text = category_or_name(p, meta);
	if (is_copy(text))
		return SS_MEANING_COPY;
	if (is_transfer(text) || ss_is_slice_transfer(p, meta))
		return SS_MEANING_COMMUNICATION;
	switch (ss_device_event_work(p, meta)) {
	case SS_WORK_UNKNOWN:
		return SS_MEANING_OTHER;
	case SS_WORK_COLLECTIVES:
		return SS_MEANING_COMMUNICATION;
	case SS_WORK_DEVICE_WAIT_HOST:
		return SS_MEANING_INPUT;
	case SS_WORK_DEVICE_COMPUTE_16:
	case SS_WORK_DEVICE_COMPUTE_32:
		return SS_MEANING_COMPUTE;
	default:
		return SS_MEANING_COPY;
	}
}

const char *ss_meaning_name(enum ss_meaning m)
{
	static const char *const names[] = { "other", "compute", "communication", "copy", "input" };
	_Static_assert(SS_COUNT(names) == SS_MEANING_COUNT, "a name for each");
	return names[m];
}
