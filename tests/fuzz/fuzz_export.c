/*
 * fuzz_export.c - any bytes as a profile, written in the format of every other viewer that has one:
 * an answer or a reason.
 */
#include "export/export.h"
#include "fuzz/mutate.h"
#include "sql/directory.h"
#include "sweep/drive.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool drop(void *arg, const char *p, size_t n)
{
	(void)arg;
	(void)p;
	(void)n;
	return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct sample profile = { .path = "fuzz.xplane.pb" };
	static struct drive d;
	struct ss_err err = { 0 };

	if (!drive_open(&d, &profile, (struct ss_str){ (const char *)data, size }, &err)) {
		if (!err.code || !err.text[0])
			abort();
		return 0;
	}
	struct ss_sql_directory *dir = ss_model_sql_directory(&d.model, &err);
	if (!dir && (!err.code || !err.text[0]))
		abort();
	for (size_t i = 0; dir && ss_export_at(i); i++) {
		const struct ss_export_format *f = ss_export_find(ss_str_from(ss_export_at(i)->name));
		struct ss_export x = { .model = &d.model, .d = dir, .start_ps = INT64_MIN, .end_ps = INT64_MAX };
		struct ss_err why = { 0 };
		struct ss_out out;
		if (!f->write)
			continue;
		x.name = SS_STR("run");
		if (size % 3 == 0) {
			x.start_ps = 1000;
			x.end_ps = (int64_t)size * 100000;
		}
		ss_out_init(&out, drop, NULL);
		bool ok = f->write(&x, &out, &why);
		ok = ss_out_finish(&out, &why) && ok;
		if (!ok && (!why.code || !why.text[0]))
			abort();
		ss_out_free(&out);
	}
	drive_close(&d);
	return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
	return mutate_message(data, size, max, seed);
}
