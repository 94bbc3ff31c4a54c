/* fuzz_hlo.c - open any bytes as a compiled program, index it, read every instruction and follow its ids. */
#include "fuzz/mutate.h"
#include "hlo/hlo.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_instr(const struct ss_hlo_module *m, uint32_t i, size_t size)
{
	static const uint32_t lists[] = { HLO_INSTRUCTION_OPERAND_IDS, HLO_INSTRUCTION_CONTROL_IDS,
		HLO_INSTRUCTION_CALLED_IDS };
	struct ss_hlo_instr in;
	size_t steps = 0;

	ss_hlo_instr_read(m->instrs[i], &in);
	if (in.name.n > size || in.op_name.n > size || in.shape.n > size)
		abort();
	for (size_t k = 0; k < SS_COUNT(lists); k++) {
		struct ss_hlo_ids it = ss_hlo_ids_of(in.body, lists[k]);
		int64_t id;

		while (ss_hlo_ids_next(&it, &id)) {
			uint32_t at = ss_hlo_instr_by_id(m, id), comp = ss_hlo_computation_by_id(m, id);

			if ((at != SS_NONE && at >= m->ninstrs) || (comp != SS_NONE && comp >= m->ncomputations))
				abort();
			if (++steps > 3 * size)
				abort();
		}
	}
	if (ss_hlo_instr_by_name(m, in.name) == SS_NONE && in.name.n)
		abort();	/* what stands in the index is found there */
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct ss_hlo_module m;
	struct ss_err err = { 0 };

	ss_hlo_open(&m, (struct ss_str){ (const char *)data, size });
	if (ss_hlo_index(&m, &err)) {
		if (m.ninstrs > size || m.ncomputations > size)
			abort();
		for (uint32_t i = 0; i < m.ncomputations; i++)
			if (m.computations[i].first + m.computations[i].ninstrs > m.ninstrs)
				abort();
		for (uint32_t i = 0; i < m.ninstrs; i++)
			read_instr(&m, i, size);
	} else if (!err.code || !err.text[0]) {
		abort();
	}
	ss_hlo_close(&m);
	return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
	return mutate_message(data, size, max, seed);
}
