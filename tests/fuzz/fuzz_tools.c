/* fuzz_tools.c - any bytes as a profile, and every registered tool on it: an answer or a reason. */
#include "fuzz/mutate.h"
#include "sweep/drive.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct sample profile = { .path = "fuzz.xplane.pb" };
	static struct drive d;
	struct ss_err err = { 0 };
	uint64_t digest;

	if (!drive_open(&d, &profile, (struct ss_str){ (const char *)data, size }, &err)) {
		if (!err.code || !err.text[0])
			abort();
		return 0;
	}
	for (size_t i = 0, k = 0; ss_tools[i]; k++) {
		const struct drive_question *question = drive_question(ss_tools[i], k);
		struct ss_err why = { 0 };

		if (!question || !drive_fits(&profile, ss_tools[i])) {	/* on to the next tool; k becomes 0 */
			i++;
			k = SIZE_MAX;
		} else if (!drive_run(&d, ss_tools[i], question, &digest, &why) && (!why.code || !why.text[0])) {
			abort();
		}
	}
	drive_close(&d);
	return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
	return mutate_message(data, size, max, seed);
}
