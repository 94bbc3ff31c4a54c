/*
 * module_pick.h - choosing the compiled program that a tool shows, and listing all programs.
 */
#ifndef SS_TOOLS_MODULE_PICK_H
#define SS_TOOLS_MODULE_PICK_H

#include "model/program/hlo_map.h"
#include "tools/tool.h"

struct ss_host;

/* The parameters by which a program is chosen; the tool's own follow. */
#define SS_MODULE_PARAMS                                                                                            \
	{ "module_name", "name", NULL, "compiled program, as module_list names it: \"jit_step(17)\"" },             \
	{ "program_id", "number", NULL, "compiled program by (part of) its ID, if no name is given" }

struct ss_module_pick {
	const struct ss_hlo_module *module; /* indexed */
	struct ss_str file;	/* "jit_step(17)" */
	int64_t program_id;
	struct ss_host *host;	/* the host of the program and of its times; other hosts may have the program, too */
};

/*
 * Choose one of the programs of all hosts of the model. Programs with one name are one program if their instructions are the same
 * (ss_hlo_hash); else each is named with the first host that has it. Hosts with devices come before those without.
 *
 * If the query gives a name or a number, the program with it. Otherwise a program of the first host that holds programs: the one
 * whose operations take most time, or the largest one if no such time is known. XProf's clients get the first program with the
 * name, and otherwise the largest of all. SS_ENODATA: there is no program; SS_ENOTFOUND: not the one asked for.
 */
bool ss_module_pick(const struct ss_request *q, const struct ss_tool *tool, struct ss_module_pick *out, struct ss_err *err);
/*
 * The program that holds an instruction with this name, or with `computations` also a computation; the name may begin with '%'.
 * Of several programs the one with most time, or the first by name if no time is known. XProf's clients always get the first by
 * name, and only instructions are found for them. out->module is NULL if there is none.
 */
bool ss_module_pick_by_node(const struct ss_request *q, struct ss_str node, bool computations, struct ss_module_pick *out,
			    struct ss_err *err);

/*
 * The operations of the programs of the program's host, with times (ss_ops_computed). NULL and true:
 * the request is of an XProf client, or the operations are not known; a profile whose operations cannot
 * be read still has programs.
 */
struct ss_op_db;
bool ss_module_ops(const struct ss_request *q, const struct ss_module_pick *p, const struct ss_op_db **out, struct ss_err *err);
/* The operation that this instruction of the program is; NULL: its time is not known. */
const struct ss_op *ss_module_op(const struct ss_op_db *db, const struct ss_module_pick *p, struct ss_str name);

/*
 * The operation of the program with the most device time among the nodes of its graph. If no time is known, the operation that
 * makes the largest part of the tuple that the program returns; "" for a program that returns none, and for XProf's clients.
 */
bool ss_module_hottest_op(const struct ss_request *q, const struct ss_module_pick *p, struct ss_str *name, struct ss_err *err);

/* The table "modules": all programs by name, with the hosts that hold them; a note where the one shown has another's name. */
bool ss_module_table(const struct ss_request *q, const struct ss_module_pick *p, struct ss_result *out, struct ss_err *err);

/* Does the profile contain HLO protos? */
bool ss_module_present(const struct ss_host *first);

#endif
