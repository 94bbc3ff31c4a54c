/*
 * tool.h - the contract of an analysis.
 *
 * To add one: copy template.c, name it, declare its columns with units, write run(), add TOOL(name)
 * to tools.def, and write docs/tools/<name>.md. That alone gives it a command, a URL, a menu entry,
 * a page with a sortable table, CSV, and its tests.
 *
 * A tool reads the model and returns tables. It never sees files, HTTP or text formats, keeps no
 * state, and gives the same answer for the same bytes and parameters.
 */
#ifndef SS_TOOLS_TOOL_H
#define SS_TOOLS_TOOL_H

#include "base/err.h"
#include "base/intern.h"
#include "model/facts/facts.h"
#include "model/visit.h"
#include "table/cols.h"

struct ss_host;
struct ss_model;

enum ss_kind { SS_KIND_TABLES, SS_KIND_TIMELINE, SS_KIND_TREE, SS_KIND_GRAPH };

enum ss_tool_flags {
	SS_TOOL_ALL_HOSTS = 1 << 0,	/* combines hosts: "ALL_HOSTS" may be asked for */
	SS_TOOL_ONLY_ALL_HOSTS = 1 << 1, /* with several hosts, only their combination is offered */
	SS_TOOL_UNLISTED = 1 << 2,	/* XProf answers it when asked for, but does not list it; we do, timelines apart */
	SS_TOOL_ONE_TABLE = 1 << 3,	/* XProf's JSON is the one table, not an array of tables */
	SS_TOOL_OURS = 1 << 4,		/* XProf does not have it: not in its list of tools, but in ours */
	/*
	 * With many hosts, no host needs to be open: the tool uses facts (below) or visits the hosts
	 * (visit.h), and its answer points into no host. Its memory then does not grow with the number
	 * of hosts.
	 */
	SS_TOOL_VISITS = 1 << 5,
	/* Without a named host it also covers the hosts of runs of the same recording (store/session.h). */
	SS_TOOL_SESSION = 1 << 6,
	/* It also works on merged parts: it uses only facts that parts hold (model/reduced/part.h). */
	SS_TOOL_OF_PARTS = 1 << 8,
	/* About one compiled program, which any host may hold: by default those of all hosts are offered (module_pick.h). */
	SS_TOOL_OF_PROGRAM = 1 << 9,
	/* It shows one host if none is named; "ALL_HOSTS" sums all hosts. XProf offers only single hosts. */
	SS_TOOL_SUMS_HOSTS = 1 << 10,
	SS_TOOL_XPROF_ALL_HOSTS = 1 << 7, /* XProf's clients are offered the combination alone; ours each host, too */
};

/*
 * What a profile must hold for a tool to have rows. An opened host's index answers each (needs.c), however many events it
 * has. Some may be met by any host of a run, the others are asked of the first.
 */
enum ss_needs {
	SS_NEEDS_PROGRAMS = 1 << 0,	/* a device, or threads that run operations of compiled programs */
	SS_NEEDS_OPS = 1 << 1,		/* a device, or such threads and the programs themselves */
	SS_NEEDS_HLO_OPS = 1 << 2,	/* the same, of operations that name themselves */
	SS_NEEDS_PATHS = 1 << 3,	/* the first, or operators of PyTorch's own profiler */
	SS_NEEDS_ALLOCATIONS = 1 << 4,
	SS_NEEDS_COLLECTIVES = 1 << 5,
	SS_NEEDS_FRAMEWORK_OPS = 1 << 6, /* of a trace in another format: operations of a framework around its work */
	/* Of traces in other formats: events of these categories. */
	SS_NEEDS_OPERATORS = 1 << 7,
	SS_NEEDS_CALLS = 1 << 8,	/* of the device's library, that name what they start */
	SS_NEEDS_KERNELS = 1 << 9,
	SS_NEEDS_COPIES = 1 << 10,
	SS_NEEDS_DEVICE_WORK = 1 << 11,	/* kernels or copies */
	SS_NEEDS_STEPS = 1 << 12,	/* marked ones */
	SS_NEEDS_TWO_STEPS = 1 << 13,
	SS_NEEDS_HLO = 1 << 14,		/* compiled programs */
	SS_NEEDS_RANKS = 1 << 15,	/* collectives of PyTorch's ranks, on devices or on the host */
	SS_NEEDS_ASYNC = 1 << 16,	/* operations of a TPU that start and are done */
	SS_NEEDS_TIMES = 1 << 17,	/* events that take time: samples of counters take none */
	SS_NEEDS_OF_ANY_HOST = SS_NEEDS_COLLECTIVES | SS_NEEDS_STEPS | SS_NEEDS_TWO_STEPS | SS_NEEDS_HLO | SS_NEEDS_RANKS |
			       SS_NEEDS_TIMES,
};

/* A parameter of a request: k=v. */
struct ss_param {
	const char *name;
	const char *values;	/* what it takes, for --help and messages: "program|category|provenance", "ms", "name" */
	const char *preset;	/* value when absent, or NULL */
	const char *doc;
};

struct ss_param_value {
	struct ss_str name, value;
};

struct ss_request {
	struct ss_model *model;	/* hosts as asked for */
	const struct ss_param_value *params;
	size_t nparams;
	struct ss_arena *arena;	/* of the request: results go here */
	/* A client of XProf asks: the answer leaves open what XProf leaves open (docs/parity.md). */
	bool as_xprof;
	/* A person reads it: add the conclusion in sentences (struct ss_conclusion). */
	bool for_people;
	/* A timeline becomes rows of tables: its events, instead of what to draw. */
	bool as_tables;
};

struct ss_tool {
	const char *name, *title, *summary;
	enum ss_kind kind;
	unsigned flags;
	const struct ss_param *params;
	size_t nparams;
	/* enum ss_facts: what it will ask the model for, so that one visit of many hosts gathers all of it. */
	unsigned facts;
	/* Does the run have data for it? Reads the first host, which is opened but not loaded. NULL: always. */
	bool (*present)(const struct ss_host *first);
	/* enum ss_needs: without all of them it has no rows, and of the clients only XProf's are offered it. */
	unsigned needs;
	/*
	 * A note for people where it has no rows, or the needs are not met, and its own notes say
	 * nothing.
	 */
	const char *missing;
	bool (*run)(const struct ss_request *q, struct ss_result *out, struct ss_err *err);
	/*
	 * Adds the conclusion to what was filled, reading its tables: they may be those of an older program
	 * (legacy/legacy.h), with columns missing. NULL: the tables say enough. Facts as above, for this alone.
	 */
	bool (*conclude)(const struct ss_request *q, struct ss_result *out, struct ss_err *err);
	unsigned conclude_facts;
};

/* Has this host, opened but not loaded, data for it? A trace in another format tells less than a profile. */
bool ss_tool_present(const struct ss_tool *t, const struct ss_host *first);

/* Which of these needs does it meet? */
unsigned ss_host_meets(const struct ss_host *h, unsigned needs);

/* Run it, and for people add the conclusion. With many hosts, the facts it needs are gathered first. */
bool ss_tool_run(const struct ss_tool *t, const struct ss_request *q, struct ss_result *out, struct ss_err *err);
/* Only the second half, for tables that exist already: those of a stored answer. */
bool ss_tool_conclude(const struct ss_tool *t, const struct ss_request *q, struct ss_result *out, struct ss_err *err);

/*
 * Visit the hosts of the request. What is set into cells of `out` meanwhile outlives them; other texts of a host that a tool
 * holds on to go through ss_intern_str(&out->texts, ...).
 */
bool ss_tool_visit(const struct ss_request *q, struct ss_result *out, const struct ss_visit *v, struct ss_err *err);

/* Value of a parameter: as asked for, else the tool's preset, else "". */
struct ss_str ss_request_param(const struct ss_request *q, const struct ss_tool *tool, const char *name);
/*
 * A parameter that is a time in ms, as ps: 0 for one before 0, INT64_MAX for one beyond. *ps stays where it has no value.
 * SS_EINVAL: it is no number.
 */
bool ss_request_time_ps(const struct ss_request *q, const struct ss_tool *tool, const char *name, int64_t *ps, struct ss_err *err);

#endif
