/* pprof.c - tables first, then the samples that refer to them. */
#include "import/pprof.h"

#include "import/snapshot_build.h"
#include "legacy/files/unpack.h"
#include "wire/pb.h"

#include <stdlib.h>

enum {
	PROFILE_SAMPLE_TYPE = 1,
	PROFILE_SAMPLE = 2,
	PROFILE_LOCATION = 4,
	PROFILE_FUNCTION = 5,
	PROFILE_STRING = 6,
	VALUE_TYPE_NAME = 1,	/* all names are numbers of strings */
	VALUE_TYPE_UNIT = 2,
	SAMPLE_LOCATION = 1,	/* innermost first */
	SAMPLE_VALUE = 2,
	SAMPLE_LABEL = 3,
	LABEL_KEY = 1,
	LABEL_TEXT = 2,
	LOCATION_ID = 1,
	LOCATION_LINE = 4,	/* innermost first */
	LINE_FUNCTION = 1,
	LINE_NUMBER = 2,
	FUNCTION_ID = 1,
	FUNCTION_NAME = 2,
	FUNCTION_FILE = 4,
};

#define VALUES_MOST 16		/* of a sample */
#define FRAMES_MOST 1024	/* of a stack */

struct reader {
	struct ss_snapshot *s;
	struct ss_sb b;			/* finds frames and stacks that are known */
	SS_VEC(struct ss_str) strings;
	SS_VEC(struct ss_str) functions, locations; /* their bytes */
	struct ss_u64map function_ids, location_ids;
	struct ss_u64map kinds;
	size_t type_of[VALUES_MOST], unit_of[VALUES_MOST], ntypes;
	size_t count_at, bytes_at;	/* of a sample's values */
	uint64_t most_frames;
	bool no_memory;
};

bool ss_pprof_is(struct ss_str head)
{
	struct ss_pb c = ss_pb_lenient(head);
	struct ss_pb_field f, in;
	if (!ss_pb_next(&c, &f) || f.key != PB_LEN(PROFILE_SAMPLE_TYPE) || !f.bytes.n || f.bytes.n > 12)
		return false;
	struct ss_pb type = ss_pb_of(f.bytes);
	size_t n = 0;
	while (ss_pb_next(&type, &in) && (in.key == PB_VAR(VALUE_TYPE_NAME) || in.key == PB_VAR(VALUE_TYPE_UNIT)))
		n++;
	bool whole = n == 2 && !type.bad && type.at == type.end;
	return whole && ss_pb_next(&c, &f) && (f.key == PB_LEN(PROFILE_SAMPLE_TYPE) || f.key == PB_LEN(PROFILE_SAMPLE));
}

static struct ss_str string(const struct reader *r, uint64_t at)
{
	return at < r->strings.n ? r->strings.v[at] : SS_STR("");
}

static uint64_t number_in(struct ss_str message, uint32_t field)
{
	struct ss_pb c = ss_pb_of(message);
	struct ss_pb_field f;
	uint64_t v = 0;
	while (ss_pb_next(&c, &f))
		if (f.key == PB_VAR(field))
			v = f.u;
	return v;
}

static void keep(struct reader *r, struct ss_u64map *ids, uint64_t id, size_t n)
{
	r->no_memory |= n >= SS_NONE || ss_u64map_add(ids, id, (uint32_t)n) == SS_NONE;
}

static void read_tables(struct reader *r, struct ss_str bytes)
{
	struct ss_pb c = ss_pb_lenient(bytes);
	struct ss_pb_field f;
	while (!r->no_memory && ss_pb_next(&c, &f))
		switch (f.key) {
		case PB_LEN(PROFILE_STRING):
			r->no_memory |= !ss_vec_push(&r->strings, f.bytes);
			break;
		case PB_LEN(PROFILE_FUNCTION):
			keep(r, &r->function_ids, number_in(f.bytes, FUNCTION_ID), r->functions.n);
			r->no_memory |= !ss_vec_push(&r->functions, f.bytes);
			break;
		case PB_LEN(PROFILE_LOCATION):
			keep(r, &r->location_ids, number_in(f.bytes, LOCATION_ID), r->locations.n);
			r->no_memory |= !ss_vec_push(&r->locations, f.bytes);
			break;
		case PB_LEN(PROFILE_SAMPLE_TYPE):
			if (r->ntypes < VALUES_MOST) {
				r->type_of[r->ntypes] = number_in(f.bytes, VALUE_TYPE_NAME);
				r->unit_of[r->ntypes++] = number_in(f.bytes, VALUE_TYPE_UNIT);
			}
			break;
		}
	r->s->cut = c.bad || c.cut;
}

/* Find the value that is bytes in use; false: none. */
static bool find_values(struct reader *r)
{
	r->count_at = r->bytes_at = SS_NPOS;
	for (size_t i = 0; i < r->ntypes; i++) {
		struct ss_str type = string(r, r->type_of[i]), unit = string(r, r->unit_of[i]);
		if (ss_str_is(unit, "bytes") && (ss_str_is(type, "space") || ss_str_is(type, "inuse_space")))
			r->bytes_at = i;
		if (ss_str_is(unit, "count") && (ss_str_is(type, "allocations") || ss_str_is(type, "inuse_objects")))
			r->count_at = i;
	}
	return r->bytes_at != SS_NPOS;
}

static void add_line(struct reader *r, struct ss_str line)
{
	uint32_t at = ss_u64map_get(&r->function_ids, number_in(line, LINE_FUNCTION));
	struct ss_str function = at == SS_NONE ? SS_STR("") : r->functions.v[at];
	uint32_t frame = ss_sb_frame(&r->b, string(r, number_in(function, FUNCTION_FILE)),
				     string(r, number_in(function, FUNCTION_NAME)), (int64_t)number_in(line, LINE_NUMBER));
	r->no_memory |= r->b.no_memory || !ss_vec_push(&r->s->frame_ids, frame);
}

static void add_location(struct reader *r, uint64_t id, uint32_t begin)
{
	uint32_t at = ss_u64map_get(&r->location_ids, id);
	struct ss_pb c = ss_pb_of(at == SS_NONE ? SS_STR("") : r->locations.v[at]);
	struct ss_pb_field f;
	while (!r->no_memory && ss_pb_next(&c, &f))
		if (f.key == PB_LEN(LOCATION_LINE) && r->s->frame_ids.n - begin < FRAMES_MOST && r->s->frame_ids.n < r->most_frames)
			add_line(r, f.bytes);
}

struct sample {
	uint64_t values[VALUES_MOST];
	size_t nvalues;
	struct ss_str device, kind;
	uint32_t stack;
};

static void take_label(const struct reader *r, struct ss_str label, struct sample *out)
{
	struct ss_str key = string(r, number_in(label, LABEL_KEY)), text = string(r, number_in(label, LABEL_TEXT));
	if (ss_str_is(key, "device"))
		out->device = text;
	if (ss_str_is(key, "kind"))
		out->kind = text;
}

/* Numbers, packed or one by one. */
static void take_numbers(struct reader *r, const struct ss_pb_field *f, struct sample *out, uint32_t begin)
{
	const uint8_t *p = (const uint8_t *)f->bytes.p, *end = (f->key & 7) == 2 ? p + f->bytes.n : p;
	bool packed = (f->key & 7) == 2;
	uint64_t v = f->u;
	while (!r->no_memory && (packed ? p < end && ss_pb_varint(&p, end, &v) : true)) {
		if (f->key >> 3 == SAMPLE_LOCATION)
			add_location(r, v, begin);
		else if (out->nvalues < VALUES_MOST)
			out->values[out->nvalues++] = v;
		if (!packed)
			break;
	}
}

static struct sample read_sample(struct reader *r, struct ss_str body)
{
	struct sample out = { .device = { "", 0 }, .kind = { "", 0 }, .stack = SS_NONE };
	struct ss_pb c = ss_pb_of(body);
	struct ss_pb_field f;
	uint32_t begin = (uint32_t)r->s->frame_ids.n;
	while (!r->no_memory && ss_pb_next(&c, &f))
		switch (f.key) {
		case PB_LEN(SAMPLE_LOCATION):
		case PB_VAR(SAMPLE_LOCATION):
		case PB_LEN(SAMPLE_VALUE):
		case PB_VAR(SAMPLE_VALUE):
			take_numbers(r, &f, &out, begin);
			break;
		case PB_LEN(SAMPLE_LABEL):
			take_label(r, f.bytes, &out);
			break;
		}
	uint32_t n = (uint32_t)r->s->frame_ids.n - begin;
	if (n && !r->no_memory)
		out.stack = ss_sb_stack(&r->b, begin, n);
	r->no_memory |= r->b.no_memory;
	return out;
}

static void count_kind(struct reader *r, const struct sample *p, uint64_t bytes, uint64_t count)
{
	struct ss_snapshot *s = r->s;
	uint32_t at = ss_u64map_add(&r->kinds, ss_mix(ss_str_hash(p->device), ss_str_hash(p->kind)), (uint32_t)s->kinds.n);
	struct ss_snap_kind fresh = { .device = p->device, .kind = p->kind };
	if (at == SS_NONE || (at == s->kinds.n && !ss_vec_push(&s->kinds, fresh))) {
		r->no_memory = true;
		return;
	}
	s->kinds.v[at].bytes += bytes;
	s->kinds.v[at].count += count;
}

/* Each device, and what is on none, is a segment. */
static void take_sample(struct reader *r, struct ss_str body)
{
	struct ss_snapshot *s = r->s;
	struct sample p = read_sample(r, body);
	uint64_t bytes = r->bytes_at < p.nvalues ? p.values[r->bytes_at] : 0;
	uint64_t count = r->count_at < p.nvalues ? p.values[r->count_at] : 1;
	if (bytes > (uint64_t)INT64_MAX >> 8 || count > UINT32_MAX || r->no_memory) {
		s->malformed++;
		return;
	}
	uint32_t device = ss_strmap_get(&s->devices, p.device);
	if (device == SS_NONE && s->devices.n < SS_SNAP_DEVICES) {
		device = ss_strmap_add(&s->devices, p.device);
		r->no_memory |= device == SS_NONE ||
				!ss_vec_push(&s->segments, (struct ss_snap_segment){ .device = device, .stack = SS_NONE }) ||
				!ss_vec_push(&s->groups, (struct ss_snap_group){ .place = device, .segment = device });
	}
	if (device == SS_NONE || r->no_memory) {
		s->malformed++;
		return;
	}
	count_kind(r, &p, bytes, count);
	s->segments.v[device].size += bytes;
	struct ss_snap_block b = { .size = bytes, .requested = bytes, .stack = p.stack, .count = (uint32_t)count };
	b.group = device & 0xfffffff;
	b.state = SS_SNAP_ALLOCATED;
	r->no_memory |= s->blocks.n >= SS_NONE || !ss_vec_push(&s->blocks, b);
}

static void read_samples(struct reader *r, struct ss_str bytes)
{
	struct ss_pb c = ss_pb_lenient(bytes);
	struct ss_pb_field f;
	while (!r->no_memory && ss_pb_next(&c, &f))
		if (f.key == PB_LEN(PROFILE_SAMPLE) && !c.cut)
			take_sample(r, f.bytes);
}

static void release(struct reader *r)
{
	ss_sb_free(&r->b);
	ss_vec_free(&r->strings);
	ss_vec_free(&r->functions);
	ss_vec_free(&r->locations);
	ss_u64map_free(&r->function_ids);
	ss_u64map_free(&r->location_ids);
	ss_u64map_free(&r->kinds);
}

bool ss_pprof_read(const struct ss_file *f, struct ss_snapshot *s, struct ss_err *err)
{
	struct reader r = { .s = s, .b = { .s = s } };
	struct ss_str bytes;
	*s = (struct ss_snapshot){ .jax = true, .stopped = { "", 0 } };
	if (!ss_unpack(f->bytes, &s->arena, &bytes, err))
		return false;
	r.most_frames = 65536 + 4 * (uint64_t)bytes.n;
	read_tables(&r, bytes);
	bool in_use = find_values(&r);
	if (in_use)
		read_samples(&r, bytes);
	bool memory = !r.no_memory;
	release(&r);
	if (!memory || !ss_snapshot_place(s))
		return ss_fail_mem(err);
	if (!in_use)
		return ss_fail(err, SS_EFORMAT,
			       "it is a profile of pprof that counts no bytes in use: of such profiles stepscope opens "
			       "those that jax.profiler.save_device_memory_profile writes");
	return true;
}
