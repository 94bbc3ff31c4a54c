/* hlo_proto.c - see hlo_proto.h. */
#include "import/hlo_proto.h"

#include "legacy/files/hlo_json.h"
#include "wire/pb.h"
#include "wire/pb_out.h"

/* Fields of HloModuleProto; field 1 of an HloProto is the module, and it has no field 2. */
enum { MODULE_NAME = 1, MODULE_ENTRY_NAME = 2, MODULE_COMPUTATIONS = 3, MODULE_ID = 5 };

struct module {
	struct ss_str name;
	int64_t id;
	bool has_entry, has_computations;
};

static struct module module_of(struct ss_str bytes)
{
	struct module m = { { NULL, 0 }, 0, false, false };
	struct ss_pb c = ss_pb_lenient(bytes);
	struct ss_pb_field f;
	while (ss_pb_next(&c, &f)) {
		if (f.key == PB_LEN(MODULE_NAME))
			m.name = f.bytes;
		else if (f.key == PB_LEN(MODULE_ENTRY_NAME))
			m.has_entry = true;
		else if (f.key == PB_LEN(MODULE_COMPUTATIONS))
			m.has_computations = true;
		else if (f.key == PB_VAR(MODULE_ID))
			m.id = (int64_t)f.u;
	}
	return m;
}

bool ss_hlo_proto_read(struct ss_str bytes, struct ss_buf *space, struct ss_err *err)
{
	struct module m = module_of(bytes);
	struct ss_buf program = { 0 };
	if (m.has_entry)
		ss_pbo_bytes(&program, 1, bytes);
	else
		m = module_of(m.name);
	bool ok = m.name.n && m.has_computations;
	if (ok) {
		ss_hlo_put_space(space, m.name, m.id, program.p ? ss_buf_get(&program) : bytes);
		ok = (!program.no_memory && !space->no_memory) || ss_fail_mem(err);
	} else {
		ok = ss_fail(err, SS_EFORMAT, "it holds no XLA module with computations");
	}
	ss_buf_free(&program);
	return ok;
}
