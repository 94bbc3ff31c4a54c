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

void ss_hlo_backend_config_print(struct ss_buf *b, struct ss_str config)
{
	const struct ss_str left_out = SS_STR("\"wait_on_operation_queues\":[],");
	size_t at = ss_str_find(config, left_out);
	ss_buf_str(b, ss_str_sub(config, 0, at));
	if (at != SS_NPOS)
		ss_buf_str(b, ss_str_sub(config, at + left_out.n, config.n));
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
	int64_t max = 0;
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
			return max;
		while (ss_jsonr_next(&r, &t) && t.kind == SS_J_OBJECT) {
			int64_t size = one_config(&r, memory_space);
			max = size > max ? size : max;
		}
	}
	return r.bad ? 0 : max;
}

/* Is it the named member of the object that the reader stands in? Then its value's first token follows in *t. */
static bool find_member(struct ss_jsonr *r, const char *name, struct ss_jtok *t)
{
	while (ss_jsonr_next(r, t) && t->kind == SS_J_KEY) {
		if (ss_jtok_is(t, name))
			return ss_jsonr_next(r, t);
		ss_jsonr_skip(r, t);
	}
	return false;
}

static int base64_value(char c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	return c == '+' || c == '-' ? 62 : c == '/' || c == '_' ? 63 : -1;
}

/* False for what is no base64; `out` then holds a part of it. */
static bool decode_base64(struct ss_str s, struct ss_buf *out)
{
	uint32_t bits = 0;
	unsigned n = 0;
	for (size_t i = 0; i < s.n && s.p[i] != '='; i++) {
		int v = base64_value(s.p[i]);
		if (v < 0)
			return false;
		bits = bits << 6 | (uint32_t)v;
		if (++n % 4 != 1)
			ss_buf_char(out, (char)(bits >> (6 - 2 * ((n - 1) % 4)) & 0xff));
	}
	return true;
}

bool ss_hlo_custom_call_body(struct ss_str config, struct ss_buf *out, struct ss_err *err)
{
	struct ss_jsonr r = ss_jsonr_of(config);
	struct ss_arena arena = { 0 };
	struct ss_jtok t;
	if (!config.n)
		return ss_fail(err, SS_ENODATA, "the instruction has no backend config");
	if (!ss_jsonr_next(&r, &t) || t.kind != SS_J_OBJECT || !find_member(&r, "custom_call_config", &t) ||
	    t.kind != SS_J_OBJECT || !find_member(&r, "body", &t) || t.kind != SS_J_STRING)
		return ss_fail(err, SS_ENODATA, "the instruction's backend config holds no program (custom_call_config.body)");
	struct ss_str body = ss_jtok_str(&t, &arena);
	bool ok = body.p != NULL || ss_fail_mem(err);
	size_t before = out->n;
	if (ok && !decode_base64(body, out)) {
		out->n = before;
		ss_buf_str(out, body);
	}
	ss_arena_release(&arena);
	struct ss_str text = ss_str_sub(ss_buf_get(out), before, out->n);
	if (ok && (ss_str_starts(text, SS_STR("ML\xefR")) || !ss_utf8_valid(text)))
		ok = ss_fail(err, SS_ENODATA, "the program is MLIR in its binary form, %zu bytes, and has no text",
			     text.n);
	return ok;
}
