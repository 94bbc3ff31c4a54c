/*
 * fuzz_answers.c - any bytes as the stored answer of an older tool, in JSON and as a message, and as
 * the program of a memory viewer; and every question to the tool that shows it.
 */
#include "fuzz/mutate.h"
#include "sweep/drive.h"

#include "store/kinds.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void ask(const struct ss_tool *tool, const char *path, struct ss_str bytes)
{
	static struct drive d;
	struct sample s = { .kind = ss_legacy_answers(tool) };
	struct ss_err err = { 0 };
	uint64_t digest;

	memcpy(s.path, path, strlen(path) + 1);
	if (!drive_open(&d, &s, bytes, &err)) {
		if (!err.code || !err.text[0])
			abort();
		return;
	}
	for (size_t k = 0; k < 4 && drive_question(tool, k); k++) {
		struct ss_err why = { 0 };

		if (drive_run(&d, tool, drive_question(tool, k), &digest, &why))
			continue;
		if (!why.code || !why.text[0])
			abort();
		break;	/* no answer of this tool's, whatever is asked: on to the next */
	}
	drive_close(&d);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct ss_str bytes = { (const char *)data, size };

	bool json = size && (data[0] == '{' || data[0] == '[');

	for (size_t i = 0; ss_tools[i]; i++)
		if (ss_legacy_answers(ss_tools[i]))
			ask(ss_tools[i], json ? "fuzz.json" : "fuzz.pb", bytes);
	return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
	bool json = size && (data[0] == '{' || data[0] == '[');

	return json ? mutate_json(data, size, max, seed) : mutate_message(data, size, max, seed);
}
