/* gpu_stats.c - see gpu_stats.h. */
#include "model/ops/gpu_stats.h"
#include "model/host/plane.h"

struct ss_gpu_stats ss_gpu_stats_read(const struct ss_plane *p, const struct ss_line *l, uint32_t i)
{
	struct ss_gpu_stats e = { .details = SS_STR("") };
	struct ss_xstats it = ss_line_stats(p, l, i);
	struct ss_xstat s;
	while (ss_xstats_next(&it, &s)) {
		switch (s.stat) {
		case SS_STAT_KERNEL_DETAILS:
			e.details = ss_xstat_str(&s);
			break;
		case SS_STAT_HLO_OP:
			e.hlo_op = ss_xstat_str(&s);
			break;
		case SS_STAT_TF_OP:
			e.tf_op = ss_xstat_str(&s);
			break;
		case SS_STAT_EQUATION:
			e.equation = ss_xstat_str(&s);
			break;
		case SS_STAT_PROGRAM_ID:
			e.program_id = (uint64_t)ss_xstat_int_or_uint(&s);
			break;
		case SS_STAT_FLOPS:
			e.flops = (uint64_t)ss_xstat_int_or_uint(&s);
			break;
		case SS_STAT_BYTES_ACCESSED:
			e.bytes = (uint64_t)ss_xstat_int_or_uint(&s);
			break;
		case SS_STAT_IS_EAGER:
			e.eager = ss_xstat_int_or_uint(&s) != 0;
			break;
		default:
			break;
		}
	}
	/* The result of grouping has precedence over the event's own stats. */
	if (l->eager && l->eager[i] >= 0)
		e.eager = l->eager[i] == 1;
	return e;
}

struct ss_str ss_gpu_innermost(struct ss_str hlo_op)
{
	for (size_t i = hlo_op.n; i >= 2; i--)
		if (hlo_op.p[i - 1] == ':' && hlo_op.p[i - 2] == ':')
			return ss_str_sub(hlo_op, i, hlo_op.n);
	return hlo_op;
}
