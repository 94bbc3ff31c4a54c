/* hlo.c - reading HLO modules in place. */
#include "hlo/hlo.h"

#include <stdlib.h>

void ss_hlo_open(struct ss_hlo_module *m, struct ss_str bytes)
{
	struct ss_pb c = ss_pb_of(bytes);
	struct ss_pb_field f;
	*m = (struct ss_hlo_module){ .bytes = bytes, .name = SS_STR(""), .entry_name = SS_STR("") };
	while (ss_pb_next(&c, &f))
		if (f.key == PB_LEN(HLO_PROTO_MODULE) && !m->body.n)
			m->body = f.bytes;
	c = ss_pb_of(m->body);
	while (ss_pb_next(&c, &f))
		switch (f.key) {
		case PB_LEN(HLO_MODULE_NAME):
			m->name = f.bytes;
			break;
		case PB_LEN(HLO_MODULE_ENTRY_NAME):
			m->entry_name = f.bytes;
			break;
		case PB_VAR(HLO_MODULE_ID):
			m->id = (int64_t)f.u;
			break;
		case PB_VAR(HLO_MODULE_ENTRY_ID):
			m->entry_id = (int64_t)f.u;
			break;
		}
}

static void read_computation(struct ss_hlo_computation *comp, struct ss_str body, struct ss_hlo_module *m)
{
	struct ss_pb c = ss_pb_of(body);
	struct ss_pb_field f;
	*comp = (struct ss_hlo_computation){ .name = SS_STR(""), .body = body, .first = m->ninstrs };
	while (ss_pb_next(&c, &f))
		switch (f.key) {
		case PB_LEN(HLO_COMPUTATION_NAME):
			comp->name = f.bytes;
			break;
		case PB_LEN(HLO_COMPUTATION_INSTRUCTIONS):
			if (m->instrs)
				m->instrs[m->ninstrs] = f.bytes;
			m->ninstrs++;
			break;
		case PB_VAR(HLO_COMPUTATION_ID):
			comp->id = (int64_t)f.u;
			break;
		case PB_VAR(HLO_COMPUTATION_ROOT_ID):
			comp->root_id = (int64_t)f.u;
			break;
		case PB_VAR(HLO_COMPUTATION_IS_FUSION):
			comp->is_fusion = f.u != 0;
			break;
		}
	comp->ninstrs = m->ninstrs - comp->first;
	m->ndamaged += c.bad;
}

/* Count (without arrays), then fill. */
static void walk(struct ss_hlo_module *m)
{
	struct ss_pb c = ss_pb_of(m->body);
	struct ss_pb_field f;
	struct ss_hlo_computation ignored;
	m->ncomputations = m->ninstrs = m->ndamaged = 0;
	while (m->ninstrs < SS_NONE / 2 && ss_pb_next(&c, &f))
		if (f.key == PB_LEN(HLO_MODULE_COMPUTATIONS)) {
			read_computation(m->computations ? &m->computations[m->ncomputations] : &ignored, f.bytes, m);
			m->ncomputations++;
		}
	m->ndamaged += c.bad;
}

/* Name and id of an instruction: all that the index needs. False: its bytes are damaged. */
static bool read_keys(struct ss_str body, struct ss_str *name, int64_t *id)
{
	struct ss_pb c = ss_pb_of(body);
	struct ss_pb_field f;
	*name = (struct ss_str){ "", 0 };
	*id = 0;
	while (ss_pb_next(&c, &f))
		if (f.key == PB_LEN(HLO_INSTRUCTION_NAME))
			*name = f.bytes;
		else if (f.key == PB_VAR(HLO_INSTRUCTION_ID))
			*id = (int64_t)f.u;
	return !c.bad;
}

static struct ss_str name_of(const struct ss_hlo_module *m, uint32_t i)
{
	struct ss_str name;
	int64_t id;
	read_keys(m->instrs[i], &name, &id);
	return name;
}

/*
 * The key of a name: its hash, moved on while another name has it. A collision of 64-bit hashes is
 * all but impossible by accident; the bound keeps constructed ones from costing more than a little.
 */
#define MAX_REHASH 8

static uint32_t find_name(const struct ss_hlo_module *m, struct ss_str name, uint64_t *key)
{
	*key = ss_str_hash(name);
	for (int i = 0; i < MAX_REHASH; i++, *key = ss_mix(*key, 1)) {
		uint32_t at = ss_u64map_get(&m->instr_by_name, *key);
		if (at == SS_NONE || ss_str_eq(name_of(m, at), name))
			return at;
	}
	return SS_NONE;
}

static bool map_keys(struct ss_hlo_module *m)
{
	for (uint32_t i = 0; i < m->ncomputations; i++)
		if (ss_u64map_add(&m->computation_by_id, (uint64_t)m->computations[i].id, i) == SS_NONE)
			return false;
	for (uint32_t i = 0; i < m->ninstrs; i++) {
		struct ss_str name;
		int64_t id;
		uint64_t key;
		m->ndamaged += !read_keys(m->instrs[i], &name, &id);
		if (ss_u64map_add(&m->instr_by_id, (uint64_t)id, i) == SS_NONE)
			return false;
		if (find_name(m, name, &key) == SS_NONE && ss_u64map_add(&m->instr_by_name, key, i) == SS_NONE)
			return false;
	}
	return true;
}

static void drop_index(struct ss_hlo_module *m)
{
	free(m->computations);
	free(m->instrs);
	ss_u64map_free(&m->computation_by_id);
	ss_u64map_free(&m->instr_by_id);
	ss_u64map_free(&m->instr_by_name);
	m->computations = NULL;
	m->instrs = NULL;
	m->ncomputations = m->ninstrs = 0;
}

/*
 * Indexed bytes are read many times, with indices and counts of an earlier moment. They are copied to
 * own memory, so that no other process can change them.
 */
static bool settle(struct ss_hlo_module *m)
{
	struct ss_str bytes = m->bytes;
	char *own = malloc(bytes.n + 1);
	if (!own)
		return false;
	if (bytes.n)
		memcpy(own, bytes.p, bytes.n);
	ss_hlo_open(m, (struct ss_str){ own, bytes.n });
	m->own = own;
	return true;
}

bool ss_hlo_index(struct ss_hlo_module *m, struct ss_err *err)
{
	drop_index(m);
	if (!m->own && !settle(m))
		return ss_fail_mem(err);
	walk(m);
	struct ss_hlo_computation *computations = calloc((size_t)m->ncomputations + 1, sizeof(*computations));
	m->instrs = calloc((size_t)m->ninstrs + 1, sizeof(*m->instrs));
	m->computations = computations;
	if (computations && m->instrs) {
		walk(m);
		if (map_keys(m))
			return true;
	}
	drop_index(m);
	return ss_fail_mem(err);
}

void ss_hlo_close(struct ss_hlo_module *m)
{
	drop_index(m);
	free(m->own);
	*m = (struct ss_hlo_module){ 0 };
}

static void read_metadata(struct ss_str body, struct ss_hlo_instr *out)
{
	struct ss_pb c = ss_pb_of(body);
	struct ss_pb_field f;
	while (ss_pb_next(&c, &f))
		switch (f.key) {
		case PB_LEN(OP_METADATA_OP_TYPE):
			out->op_type = f.bytes;
			break;
		case PB_LEN(OP_METADATA_OP_NAME):
			out->op_name = f.bytes;
			break;
		case PB_LEN(OP_METADATA_SOURCE_FILE):
			out->source_file = f.bytes;
			break;
		case PB_VAR(OP_METADATA_SOURCE_LINE):
			out->source_line = (int32_t)f.u;
			break;
		case PB_VAR(OP_METADATA_STACK_FRAME_ID):
			out->stack_frame_id = (int32_t)f.u;
			break;
		}
}

void ss_hlo_instr_read(struct ss_str body, struct ss_hlo_instr *out)
{
	static const struct ss_str empty = SS_STR_INIT("");
	struct ss_pb c = ss_pb_of(body);
	struct ss_pb_field f;
	*out = (struct ss_hlo_instr){ .name = empty, .opcode = empty, .op_name = empty, .op_type = empty,
				      .source_file = empty, .fusion_kind = empty, .custom_call_target = empty,
				      .shape = empty, .body = body };
	while (ss_pb_next(&c, &f))
		switch (f.key) {
		case PB_LEN(HLO_INSTRUCTION_NAME):
			out->name = f.bytes;
			break;
		case PB_LEN(HLO_INSTRUCTION_OPCODE):
			out->opcode = f.bytes;
			break;
		case PB_LEN(HLO_INSTRUCTION_SHAPE):
			out->shape = f.bytes;
			break;
		case PB_LEN(HLO_INSTRUCTION_METADATA):
			read_metadata(f.bytes, out);
			break;
		case PB_VAR(HLO_INSTRUCTION_PARAMETER_NUMBER):
			out->parameter_number = (int64_t)f.u;
			break;
		case PB_LEN(HLO_INSTRUCTION_FUSION_KIND):
			out->fusion_kind = f.bytes;
			break;
		case PB_VAR(HLO_INSTRUCTION_TUPLE_INDEX):
			out->tuple_index = (int64_t)f.u;
			break;
		case PB_LEN(HLO_INSTRUCTION_CUSTOM_CALL_TARGET):
			out->custom_call_target = f.bytes;
			break;
		case PB_VAR(HLO_INSTRUCTION_ID):
			out->id = (int64_t)f.u;
			break;
		}
}

uint32_t ss_hlo_instr_by_name(const struct ss_hlo_module *m, struct ss_str name)
{
	uint64_t key;
	return find_name(m, name, &key);
}

uint32_t ss_hlo_instr_by_id(const struct ss_hlo_module *m, int64_t id)
{
	return ss_u64map_get(&m->instr_by_id, (uint64_t)id);
}

uint32_t ss_hlo_computation_by_id(const struct ss_hlo_module *m, int64_t id)
{
	return ss_u64map_get(&m->computation_by_id, (uint64_t)id);
}

struct ss_hlo_ids ss_hlo_ids_of(struct ss_str body, uint32_t number)
{
	return (struct ss_hlo_ids){ ss_pb_of(body), ss_pb_of((struct ss_str){ "", 0 }), number };
}

bool ss_hlo_ids_next(struct ss_hlo_ids *it, int64_t *id)
{
	struct ss_pb_field f;
	uint64_t u;
	for (;;) {
		if (it->packed.at != it->packed.end && ss_pb_varint(&it->packed.at, it->packed.end, &u)) {
			*id = (int64_t)u;
			return true;
		}
		if (!ss_pb_next(&it->outer, &f))
			return false;
		if (f.key == PB_LEN(it->number)) {
			it->packed = ss_pb_of(f.bytes);
		} else if (f.key == PB_VAR(it->number)) {
			*id = (int64_t)f.u;
			return true;
		}
	}
}
