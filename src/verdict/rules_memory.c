/* rules_memory.c - memory that is short, grows, or is in pieces. These cost no time yet. */
#include "verdict/judge.h"
#include "verdict/limits.h"

static double gib(uint64_t bytes)
{
	return (double)bytes / (double)(1u << 30);
}

static const struct ss_judged_unit *unit_of(const struct ss_judge *j, const struct ss_time_host *h)
{
	for (size_t i = 0; i < j->nunits; i++)
		if (j->units[i].h == h)
			return &j->units[i];
	return NULL;
}

static void say_full(struct ss_judge *j, const struct ss_memory_trend *m, const struct ss_judged_unit *u, double frac)
{
	struct ss_verdict_finding *f = ss_find(j, SS_CAUSE_MEMORY_CAPACITY, NAN);
	if (!f)
		return;
	f->subject = ss_say(j, "memory of " SS_FMT, SS_ARG(m->allocator));
	bool same = j->peak->op.n && ss_str_eq(j->peak->id, m->allocator) && j->peak->used_bytes == m->peak_bytes;
	struct ss_str most = same ? ss_say(j, ", the largest part (%.1f GiB) for " SS_FMT, gib(j->peak->op_bytes),
					   SS_ARG(ss_shorten(j, j->peak->op, 120)))
				  : SS_STR("");
	f->text = ss_say(j,
			 "Memory is nearly full: %.1f GiB of %.1f GiB (%.1f%%) of " SS_FMT " is in use at the peak" SS_FMT
			 ".",
			 gib(m->peak_bytes), gib(m->capacity_bytes), 100 * frac, SS_ARG(m->allocator), SS_ARG(most));
	ss_prove(j, f, "memory in use at the peak", (double)m->peak_bytes, "bytes", u, "memory_profile");
	ss_prove(j, f, "memory of the device", (double)m->capacity_bytes, "bytes", u, "memory_profile");
	ss_prove(j, f, "share of the memory in use at the peak", frac, "share", u, "memory_profile");
	if (same)
		ss_prove(j, f, "of that, the largest operation", (double)j->peak->op_bytes, "bytes", u, "memory_profile");
}

static void say_grows(struct ss_judge *j, const struct ss_memory_trend *m, const struct ss_judged_unit *u)
{
	struct ss_verdict_finding *f = ss_find(j, SS_CAUSE_MEMORY_GROWTH, NAN);
	double each = (double)(m->last_bytes - m->first_bytes) / (double)m->steps;
	if (!f)
		return;
	f->subject = ss_say(j, "memory of " SS_FMT, SS_ARG(m->grower));
	f->text = ss_say(j,
			 "Memory in use on " SS_FMT " grows by %.1f MiB per step: after %zu of %zu steps it is higher than "
			 "after any earlier step.",
			 SS_ARG(m->grower), each / (1 << 20), m->grew, m->steps);
	ss_prove(j, f, "in use after the first step", (double)m->first_bytes, "bytes", u, "memory_profile");
	ss_prove(j, f, "in use after the last step", (double)m->last_bytes, "bytes", u, "memory_profile");
	ss_prove(j, f, "growth per step", each, "bytes", u, "memory_profile");
}

static void say_pieces(struct ss_judge *j, const struct ss_memory_trend *m, const struct ss_judged_unit *u)
{
	struct ss_verdict_finding *f = ss_find(j, SS_CAUSE_FRAGMENTATION, NAN);
	if (!f)
		return;
	f->subject = ss_say(j, "memory of " SS_FMT, SS_ARG(m->allocator));
	f->text = ss_say(
		j,
		"Free memory of " SS_FMT
		" is fragmented: %.1f GiB is free at the peak, but %.0f%% of it lies outside the largest block.",
		SS_ARG(m->allocator), gib(m->free_bytes), 100 * m->fragmentation);
	ss_prove(j, f, "fragmentation of free memory", m->fragmentation, "share", u, "memory_profile");
	ss_prove(j, f, "free at the peak", (double)m->free_bytes, "bytes", u, "memory_profile");
}

static bool grows(const struct ss_memory_trend *m)
{
	return m->steps + 1 >= SS_GROWS_LEAST_STEPS && (double)m->grew >= SS_GROWS_STEPS_FRAC * (double)m->steps &&
	       (double)m->last_bytes > (1 + SS_GROWS_FRAC) * (double)m->first_bytes &&
	       m->last_bytes - m->first_bytes >= m->steps * SS_GROWS_LEAST_BYTES;
}

void ss_rule_memory(struct ss_judge *j)
{
	bool known = false, full = false, growing = false, pieces = false;
	for (size_t i = 0; i < j->a->nhosts; i++) {
		const struct ss_memory_trend *m = &j->a->hosts[i].memory;
		const struct ss_judged_unit *u = unit_of(j, &j->a->hosts[i]);
		double frac = m->capacity_bytes ? (double)m->peak_bytes / (double)m->capacity_bytes : 0;
		double spare = m->capacity_bytes ? (double)m->free_bytes / (double)m->capacity_bytes : 0;
		known = known || m->known;
		/* Of hosts that do the same one is enough. */
		if (!full && frac >= SS_MEMORY_FULL_FRAC) {
			full = true;
			say_full(j, m, u, frac);
		}
		if (!growing && m->known && grows(m)) {
			growing = true;
			say_grows(j, m, u);
		}
		if (!pieces && m->is_device && m->fragmentation >= SS_FRAGMENTED_FRAC &&
		    spare >= SS_FRAGMENTED_FREE_FRAC) {
			pieces = true;
			say_pieces(j, m, u);
		}
	}
	if (known)
		return;
	ss_cannot_judge(j, SS_CAUSE_MEMORY_CAPACITY, "no allocation was recorded");
	ss_cannot_judge(j, SS_CAUSE_MEMORY_GROWTH, "no allocation was recorded");
	ss_cannot_judge(j, SS_CAUSE_FRAGMENTATION, "no allocation was recorded");
}
