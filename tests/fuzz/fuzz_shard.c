/*
 * fuzz_shard.c - any bytes as a part of a run of many hosts (model/reduced/part.h), and what tools
 * over hosts make of it. An input that does not begin as a part is packed as the contents of one,
 * with a checksum that is right.
 */
#include "fuzz/mutate.h"
#include "model/reduced/part.h"
#include "sweep/drive.h"
#include "wire/gz_out.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool pack(struct ss_str contents, struct ss_buf *to)
{
	struct ss_gz_out *gz = ss_gz_open(SS_GZ_FAST);
	struct ss_str deflated;
	bool ok = gz;

	if (gz)
		ss_gz_write(gz, contents);
	ok = ok && ss_gz_finish(gz, &deflated);
	if (ok) {
		ss_buf_lit(to, SS_PART_MAGIC);
		ss_buf_str(to, deflated);
		uint64_t sum = ss_str_digest(ss_buf_get(to));
		for (unsigned i = 0; i < 64; i += 8)
			ss_buf_char(to, (char)(sum >> i));
	}
	ss_gz_close(gz);
	return ok && !to->no_memory;
}

static void ask(const struct ss_shard *s)
{
	static struct drive d;
	struct ss_err err = { 0 };
	uint64_t digest;

	d.has_pair = false;
	if (!ss_model_init_shard(&d.model, s, &err)) {
		if (!err.code || !err.text[0])
			abort();
		return;
	}
	for (size_t i = 0; ss_tools[i]; i++) {
		struct ss_err why = { 0 };
		if (!(ss_tools[i]->flags & SS_TOOL_OF_PARTS))
			continue;
		if (!drive_run(&d, ss_tools[i], drive_question(ss_tools[i], 1), &digest, &why) && (!why.code || !why.text[0]))
			abort();
	}
	ss_model_release(&d.model);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct ss_str bytes = { (const char *)data, size };
	struct ss_buf packed = { 0 };
	struct ss_shard s;
	struct ss_err err = { 0 };

	if (ss_str_starts(bytes, SS_STR(SS_PART_MAGIC)) || pack(bytes, &packed)) {
		if (ss_shard_read(&s, packed.n ? ss_buf_get(&packed) : bytes, &err)) {
			struct ss_buf again = { 0 };
			if (!ss_shard_write(&s, &again, &err) && (!err.code || !err.text[0]))
				abort();
			ss_buf_free(&again);
			ask(&s);
			ss_shard_free(&s);
		} else if (!err.code || !err.text[0]) {
			abort();
		}
	}
	ss_buf_free(&packed);
	return 0;
}
