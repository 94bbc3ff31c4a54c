/*
 * fuzz_formats.c - any bytes as what other profilers write, known by how it begins (SQLite of Nsight Systems and rocprofv3,
 * Perfetto, JSON): an answer or a reason.
 */
#include "sweep/drive.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct sample sample = { .path = "fuzz" };
	const struct ss_tool *tool = ss_tool_find(SS_STR("kernel_stats"));
	struct ss_str bytes = { (const char *)data, size };
	static struct drive d;
	struct ss_err err = { 0 };
	uint64_t digest;

	if (!drive_open(&d, &sample, bytes, &err)) {
		if (!err.code || !err.text[0])
			abort();
		return 0;
	}
	if (!drive_run(&d, tool, drive_question(tool, 0), &digest, &err) && (!err.code || !err.text[0]))
		abort();
	drive_close(&d);
	return 0;
}
