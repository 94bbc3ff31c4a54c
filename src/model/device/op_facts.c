/* op_facts.c - decoding the stats of event metadata. */
#include "model/device/op_facts.h"

#include "model/host/plane.h"

enum {
	MEM_ACCESSED = 1,	/* MemoryAccessBreakdown.memory_accessed */
	MEM_OPERATION_TYPE = 1, /* 1 read, 2 write */
	MEM_MEMORY_SPACE = 2,	/* 1 HBM, 2 CMEM, 3 VMEM */
	MEM_BYTES_ACCESSED = 3,
};

static void add_access(struct ss_str bytes, struct ss_cost *cost)
{
	struct ss_pb c = ss_pb_of(bytes);
	struct ss_pb_field f;
	uint64_t type = 0, space = 0, n = 0;
	while (ss_pb_next(&c, &f)) {
		switch (f.key) {
		case PB_VAR(MEM_OPERATION_TYPE):
			type = f.u;
			break;
		case PB_VAR(MEM_MEMORY_SPACE):
			space = f.u;
			break;
		case PB_VAR(MEM_BYTES_ACCESSED):
			n = f.u;
			break;
		}
	}
	enum ss_mem first = space == 1	 ? SS_MEM_HBM_READ
			    : space == 2 ? SS_MEM_CMEM_READ
			    : space == 3 ? SS_MEM_VMEM_READ
					 : SS_MEM_OTHER_READ;
	if (type == 1 || type == 2)
		cost->mem[(int)first + (type == 2)] += n;
	else if (space == 1)
		cost->mem[SS_MEM_HBM_UNKNOWN] += n;
	cost->has_mem = true;
}

/* A serialized MemoryAccessBreakdown. */
static void mem_parse(struct ss_str bytes, struct ss_cost *cost)
{
	struct ss_pb c = ss_pb_of(bytes);
	struct ss_pb_field f;
	while (ss_pb_next(&c, &f))
		if (f.key == PB_LEN(MEM_ACCESSED))
			add_access(f.bytes, cost);
}

/* "file:line": split at the first colon. */
static void source_parse(struct ss_str text, struct ss_str *file, int64_t *line)
{
	size_t colon = ss_str_chr(text, ':');
	int64_t n;
	struct ss_str digits = ss_str_sub(text, colon == SS_NPOS ? text.n : colon + 1, text.n);
	while (digits.n && digits.p[0] == ' ')
		digits = ss_str_sub(digits, 1, digits.n);
	while (digits.n && digits.p[digits.n - 1] == ' ')
		digits.n--;
	if (!ss_str_to_i64(digits, &n) || n < INT32_MIN || n > INT32_MAX)
		return;
	*file = ss_str_sub(text, 0, colon);
	*line = n;
}

static void read_stat(struct ss_op_facts *f, const struct ss_xstat *s, bool *has_program)
{
	switch (s->stat) {
	case SS_STAT_PROGRAM_ID:
		f->program_id = (uint64_t)ss_xstat_int_or_uint(s);
		*has_program = true;
		break;
	case SS_STAT_SYMBOL_ID:
		f->symbol_id = (uint64_t)ss_xstat_int_or_uint(s);
		break;
	case SS_STAT_HLO_CATEGORY:
		f->category = ss_xstat_str(s);
		break;
	case SS_STAT_TF_OP:
		f->provenance = ss_xstat_str(s);
		break;
	case SS_STAT_DEDUPLICATED_NAME:
		f->dedup_name = ss_xstat_str(s);
		break;
	case SS_STAT_SOURCE:
		source_parse(ss_xstat_str(s), &f->source_file, &f->source_line);
		break;
	case SS_STAT_SOURCE_STACK:
		f->source_stack = ss_xstat_str(s);
		break;
	case SS_STAT_FLOPS:
		f->cost.flops = (double)(uint64_t)ss_xstat_int_or_uint(s);
		break;
	case SS_STAT_MODEL_FLOPS:
		f->cost.model_flops = (double)(uint64_t)ss_xstat_int_or_uint(s);
		break;
	case SS_STAT_BYTES_ACCESSED:
		f->cost.bytes = (uint64_t)ss_xstat_int_or_uint(s);
		break;
	case SS_STAT_MEMORY_ACCESS_BREAKDOWN:
		if (s->kind == SS_X_BYTES)
			mem_parse(s->s, &f->cost);
		break;
	default:
		break;
	}
}

bool ss_op_facts_read(struct ss_op_facts *f, const struct ss_xplane *x, uint32_t meta)
{
	struct ss_xstats it = ss_xevent_meta_stats(x, meta);
	struct ss_xstat s;
	bool has_program = false;
	*f = (struct ss_op_facts){ .name = x->event_meta[meta].name };
	if (x->event_meta[meta].display_name.n) {
		f->name = x->event_meta[meta].display_name;
		f->long_name = x->event_meta[meta].name;
	}
	while (ss_xstats_next(&it, &s))
		read_stat(f, &s, &has_program);
	if (f->cost.model_flops == 0)
		f->cost.model_flops = f->cost.flops;
	return has_program && f->symbol_id;
}
