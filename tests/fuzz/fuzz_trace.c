/*
 * fuzz_trace.c - any bytes as a trace in JSON, as a Trace message, and packed as either; and the
 * tools that look at all of what was made of them: an answer or a reason.
 */
#include "fuzz/mutate.h"
#include "sweep/drive.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What is made of it, by the tools that look at all events and all arguments. */
static void ask(const struct sample *s, struct ss_str bytes)
{
	static const char *const tools[] = { "overview_page", "trace_viewer@", "trace_viewer" };
	static struct drive d;
	struct ss_err err = { 0 };
	uint64_t digest;

	if (!drive_open(&d, s, bytes, &err)) {
		if (!err.code || !err.text[0])
			abort();
		return;
	}
	for (size_t i = 0; i < SS_COUNT(tools); i++) {
		const struct ss_tool *tool = ss_tool_find(ss_str_from(tools[i]));
		struct ss_err why = { 0 };

		if (!drive_run(&d, tool, drive_question(tool, 0), &digest, &why) && (!why.code || !why.text[0]))
			abort();
	}
	drive_close(&d);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct sample json = { .path = "fuzz.trace.json" }, proto = { .path = "fuzz.trace" };
	struct ss_str bytes = { (const char *)data, size };

	ask(&json, bytes);
	ask(&proto, bytes);
	return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
	bool json = size && (data[0] == '{' || data[0] == '[');

	return json ? mutate_json(data, size, max, seed) : mutate_message(data, size, max, seed);
}
