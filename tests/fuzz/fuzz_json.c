/* fuzz_json.c - any bytes as JSON: every token lies inside, decoding stays within bounds. */
#include "fuzz/mutate.h"
#include "wire/json.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct ss_jsonr r = ss_jsonr_of((struct ss_str){ (const char *)data, size });
	struct ss_arena arena = { 0 };
	struct ss_jtok t;

	while (ss_jsonr_next(&r, &t)) {
		int64_t i;

		ss_jtok_i64(&t, &i);
		if (t.text.n && (t.text.p < (const char *)data || t.text.p + t.text.n > (const char *)data + size))
			abort();
		if (ss_jtok_str(&t, &arena).n > t.text.n)
			abort();
		if (t.kind == SS_J_KEY && t.text.n % 3 == 0)
			ss_jsonr_skip(&r, &t);
	}
	ss_arena_release(&arena);
	return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
	return mutate_json(data, size, max, seed);
}
