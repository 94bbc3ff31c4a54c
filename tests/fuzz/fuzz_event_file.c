/*
 * fuzz_event_file.c - any bytes as an event file, as they are and, since hardly any have the right
 * checksums, as the payload of two records that do; and every question to the tools that read such
 * files.
 */
#include "legacy/files/tfrecord.h"
#include "sweep/drive.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static size_t put(char *p, uint64_t v, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		p[i] = (char)(v >> 8 * i);
	return n;
}

static uint32_t masked_crc(const char *p, size_t n)
{
	uint32_t crc = ss_crc32c((struct ss_str){ p, n });

	return (crc >> 15 | crc << 17) + 0xa282ead8u;
}

/* Returns where the record ends. */
static char *put_record(char *p, const uint8_t *data, size_t n)
{
	char *at = p + put(p, n, 8);

	at += put(at, masked_crc(p, 8), 4);
	if (n)
		memcpy(at, data, n);
	return at + n + put(at + n, masked_crc(at, n), 4);
}

/* Every tool that reads other files, on these. */
static void ask(struct ss_str bytes)
{
	for (size_t i = 0; ss_tools[i]; i++) {
		static struct drive d;
		struct sample sample = { .path = "fuzz", .kind = ss_legacy_files(ss_tools[i]) };
		struct ss_err err = { 0 };
		uint64_t digest;

		if (!sample.kind)
			continue;
		if (!drive_open(&d, &sample, bytes, &err))
			abort();
		for (size_t k = 0; drive_question(ss_tools[i], k); k++) {
			struct ss_err why = { 0 };

			bool ok = drive_run(&d, ss_tools[i], drive_question(ss_tools[i], k), &digest, &why);

			if (!ok && (!why.code || !why.text[0]))
				abort();
		}
		drive_close(&d);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t half = size / 2;
	char *file = malloc(size + 32), *end;

	if (!file)
		return 0;
	ask((struct ss_str){ (const char *)data, size });
	end = put_record(file, data, half);
	end = put_record(end, data + half, size - half);
	ask((struct ss_str){ file, (size_t)(end - file) });
	end = put_record(file, data, size);
	ask((struct ss_str){ file, (size_t)(end - file) });
	free(file);
	return 0;
}
