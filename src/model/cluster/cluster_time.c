/* cluster_time.c - see cluster.h: notes, and times on the common clock. */
#include "model/cluster/cluster.h"

#include "model/fold.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

bool ss_cluster_note(struct ss_cluster *c, bool warning, const char *fmt, ...)
{
	char text[600];
	va_list args;
	va_start(args, fmt);
	int n = vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	size_t size = n < 0 ? 0 : (size_t)n < sizeof(text) ? (size_t)n : sizeof(text) - 1;
	struct ss_cluster_note note = { warning, ss_arena_str(&c->arena, (struct ss_str){ text, size }) };
	return note.text.p && ss_vec_push(&c->notes, note);
}

int64_t ss_cluster_time(const struct ss_cluster *c, const struct ss_cluster_part *p, int64_t own_ps)
{
	int64_t t = (int64_t)((uint64_t)own_ps + (uint64_t)p->zero_ps);
	const struct ss_clock *k = &c->hosts.v[p->host].clock;
	if (!k->applied)
		return t;
	/* The reading is right + offset + drift (right - middle): offsets may be hours. */
	double off = k->offset_ps + k->drift / (1 + k->drift) * ((double)(t - c->middle_ps) - k->offset_ps);
	return (int64_t)((uint64_t)t - (uint64_t)llrint(off));
}

double ss_cluster_uncertainty_ps(const struct ss_cluster *c, uint32_t host_a, uint32_t host_b)
{
	if (host_a == host_b)
		return 0;
	const struct ss_clock *a = &c->hosts.v[host_a].clock, *b = &c->hosts.v[host_b].clock;
	if (!a->aligned || !b->aligned)
		return INFINITY;
	return sqrt(a->uncertainty_ps * a->uncertainty_ps + b->uncertainty_ps * b->uncertainty_ps);
}
