/*
 * fuzz_shard.c - any bytes as a part of a run of many hosts (model/reduced/part.h), and what tools
 * over hosts make of it. An input that begins as a profile does is reduced to a part of two equal
 * hosts; any other that does not begin as a part is packed as the contents of one, with a checksum
 * that is right.
 */
#include "fuzz/mutate.h"
#include "model/cluster/cluster.h"
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

/* A first field 1 with a length: planes. As contents it would be shard 10. */
#define PROFILE_BEGIN '\n'

static bool keep_host(struct ss_shard *s, struct ss_host *h, struct ss_err *err)
{
	const struct ss_buf *packed = ss_host_skeleton(h, err);
	struct ss_part_host p = { .path = SS_STR("run/a.xplane.pb"), .notes = h->x.notes, .nnotes = h->x.nnotes };
	if (!packed || !ss_facts_write(&p.facts, h, &(struct ss_err){ 0 }, &s->arena, err))
		return false;
	p.packed = ss_buf_get(packed);
	bool ok = ss_vec_push(&s->v, p);
	p.index = 1;
	p.path = SS_STR("run/b.xplane.pb");
	return (ok && ss_vec_push(&s->v, p)) || ss_fail_mem(err);
}

/* As 'stepscope reduce' does. */
static bool reduce(struct ss_str profile, struct ss_buf *to)
{
	struct ss_str names[] = { SS_STR("a"), SS_STR("b") };
	struct ss_shard s = { .count = 1, .run = SS_STR("run"), .label = SS_STR("run"), .hosts = names, .nhosts = SS_COUNT(names) };
	struct ss_host h;
	struct ss_err err = { 0 };
	bool opened = ss_host_open_bytes(&h, profile, "a.xplane.pb", &err);
	bool ok = opened && keep_host(&s, &h, &err) && ss_shard_write(&s, to, &err);
	if (!ok && (!err.code || !err.text[0]))
		abort();
	s.bytes = (struct ss_buf){ 0 };
	ss_shard_free(&s);
	if (opened)
		ss_host_close(&h);
	return ok;
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

	bool whole = ss_str_starts(bytes, SS_STR(SS_PART_MAGIC)), profile = size && data[0] == PROFILE_BEGIN;
	if (whole || (profile ? reduce : pack)(bytes, &packed)) {
		if (ss_shard_read(&s, whole ? bytes : ss_buf_get(&packed), &err)) {
			struct ss_buf again = { 0 };
			if (!ss_shard_write(&s, &again, &err) && (!err.code || !err.text[0]))
				abort();
			ss_buf_free(&again);
			ask(&s);
			ss_shard_free(&s);
		} else if (profile || !err.code || !err.text[0]) {
			abort();
		}
	}
	ss_buf_free(&packed);
	return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
	if (size && data[0] == PROFILE_BEGIN)
		return mutate_message(data, size, max, seed);
	if (ss_str_starts((struct ss_str){ (const char *)data, size }, SS_STR(SS_PART_MAGIC)))
		return LLVMFuzzerMutate(data, size, max);
	return mutate_part(data, size, max, seed);
}
