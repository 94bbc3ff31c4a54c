/* hash.c - do two hosts hold the same program? */
#include "base/hash.h"
#include "hlo/hlo.h"

static uint64_t hash_field(const struct ss_pb_field *f)
{
	bool text = (f->key & 7) == 2;
	return ss_hash_fold(f->key ^ ss_hash_seeds[0], (text ? ss_str_hash(f->bytes) : f->u) ^ ss_hash_seeds[1]);
}

/* The entries of a map are written in any order. */
static uint64_t hash_map(struct ss_str body)
{
	struct ss_pb c = ss_pb_of(body);
	struct ss_pb_field f;
	uint64_t sum = 0;
	while (ss_pb_next(&c, &f))
		sum += hash_field(&f);
	return sum;
}

static uint64_t hash_instruction(struct ss_str body)
{
	struct ss_pb c = ss_pb_of(body);
	struct ss_pb_field f;
	uint64_t h = body.n;
	while (ss_pb_next(&c, &f))
		h = ss_hash_fold(h ^ ss_hash_seeds[0],
				 ss_hash_seeds[1] ^ (f.key == PB_LEN(HLO_INSTRUCTION_FRONTEND_ATTRIBUTES) ? hash_map(f.bytes)
													   : hash_field(&f)));
	return h;
}

static uint64_t hash_computation(struct ss_str body)
{
	struct ss_pb c = ss_pb_of(body);
	struct ss_pb_field f;
	uint64_t h = 0;
	while (ss_pb_next(&c, &f))
		h = ss_hash_fold(h ^ ss_hash_seeds[0],
				 ss_hash_seeds[1] ^ (f.key == PB_LEN(HLO_COMPUTATION_INSTRUCTIONS) ? hash_instruction(f.bytes)
												    : hash_field(&f)));
	return h;
}

uint64_t ss_hlo_hash(const struct ss_hlo_module *m)
{
	struct ss_pb c = ss_pb_of(m->body);
	struct ss_pb_field f;
	uint64_t h = (uint64_t)m->entry_id;
	while (ss_pb_next(&c, &f))
		if (f.key == PB_LEN(HLO_MODULE_COMPUTATIONS))
			h = ss_hash_fold(h ^ ss_hash_seeds[0], ss_hash_seeds[1] ^ hash_computation(f.bytes));
	return h;
}
