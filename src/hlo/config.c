/* config.c - reading backend configs. */
#include "hlo/config.h"

#include "hlo/fields.h"
#include "wire/json.h"
#include "wire/pb.h"

struct ss_str ss_hlo_backend_config(struct ss_str instr_body)
{
	struct ss_pb c = ss_pb_of(instr_body);
	struct ss_pb_field f;
	struct ss_str found = { "", 0 };
	while (ss_pb_next(&c, &f))
		if (f.key == PB_LEN(HLO_INSTRUCTION_BACKEND_CONFIG))
			found = f.bytes;
	return found;
}

/* One {"memory_space": 1, "size": "1024"}; the reader stands behind its opening bracket. */
static int64_t one_config(struct ss_jsonr *r, int64_t memory_space)
{
	int64_t space = 0, size = 0;
	struct ss_jtok t;
	while (ss_jsonr_next(r, &t) && t.kind == SS_J_KEY) {
		int64_t *to = ss_jtok_is(&t, "memory_space") ? &space : ss_jtok_is(&t, "size") ? &size : NULL;
		if (!to) {
			ss_jsonr_skip(r, &t);
		} else if (ss_jsonr_next(r, &t) && !ss_jtok_i64(&t, to)) {
			*to = 0;
			ss_jsonr_skip(r, &t);
		}
	}
	return space == memory_space ? size : 0;
}

int64_t ss_hlo_scoped_bytes(struct ss_str config, int64_t memory_space)
{
	struct ss_jsonr r = ss_jsonr_of(config);
	struct ss_jtok t;
	int64_t most = 0;
	if (!ss_str_contains(config, SS_STR("used_scoped_memory_configs")))
		return 0;
	if (!ss_jsonr_next(&r, &t) || t.kind != SS_J_OBJECT)
		return 0;
	while (ss_jsonr_next(&r, &t) && t.kind == SS_J_KEY) {
		if (!ss_jtok_is(&t, "used_scoped_memory_configs")) {
			ss_jsonr_skip(&r, &t);
			continue;
		}
		if (!ss_jsonr_next(&r, &t) || t.kind != SS_J_ARRAY)
			return most;
		while (ss_jsonr_next(&r, &t) && t.kind == SS_J_OBJECT) {
			int64_t size = one_config(&r, memory_space);
			most = size > most ? size : most;
		}
	}
	return r.bad ? 0 : most;
}
