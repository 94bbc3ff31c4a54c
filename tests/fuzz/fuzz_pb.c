/* fuzz_pb.c - the protobuf cursor: any bytes end in `bad` or at the end, and every string lies inside them. */
#include "fuzz/mutate.h"
#include "wire/pb.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void inside(struct ss_str whole, struct ss_str part)
{
	if (part.n > whole.n)
		abort();
	if (part.n && (part.p < whole.p || part.p + part.n > whole.p + whole.n))
		abort();
}

/* Each field is taken for a message as well, to a few levels. */
static void walk(struct ss_str s, bool lenient, int depth)
{
	struct ss_pb c = lenient ? ss_pb_lenient(s) : ss_pb_of(s);
	struct ss_pb_field f;
	size_t fields = 0;

	while (ss_pb_next(&c, &f)) {
		uint64_t key;
		struct ss_str value;

		if (++fields > s.n)	/* a field takes a byte at least: else the cursor stands still */
			abort();
		if ((f.key & 7) != 2)
			continue;
		inside(s, f.bytes);
		ss_utf8_valid(f.bytes);
		if (ss_pb_map_entry(f.bytes, &key, &value) && value.n)
			inside(f.bytes, value);
		if (depth)
			walk(f.bytes, lenient, depth - 1);
	}
	if (!c.bad && c.at != c.end)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct ss_str s = { (const char *)data, size };

	walk(s, false, 3);
	walk(s, true, 3);
	return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
	return mutate_message(data, size, max, seed);
}
