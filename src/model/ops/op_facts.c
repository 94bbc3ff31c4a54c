/* op_facts.c - see tpu.h. */
#include "model/ops/tpu.h"

#include "model/device/op_facts.h"

struct ss_op ss_op_facts_op(const struct ss_op_facts *f)
{
	return (struct ss_op){
		.program_id = f->program_id,
		.name = f->name,
		.long_name = f->long_name,
		.category = f->category,
		.provenance = f->provenance,
		.dedup_name = f->dedup_name,
		.source_file = f->source_file,
		.source_stack = f->source_stack,
		.source_line = f->source_line,
	};
}
