/*
 * request.h - one question to one tool, answered in one format: what the server and the command line
 * share.
 */
#ifndef SS_REQUEST_REQUEST_H
#define SS_REQUEST_REQUEST_H

#include "emit/out.h"
#include "emit/text.h"
#include "legacy/legacy.h"
#include "request/registry.h"
#include "store/store.h"
#include "tools/tool.h"

struct ss_host;
struct ss_model;

enum ss_format {
	SS_FORMAT_JSON,		/* ours: docs/api.md, "A result" */
	SS_FORMAT_XPROF,	/* as XProf's clients read it */
	SS_FORMAT_CSV,		/* as XProf exports its first table, with labels for names */
	SS_FORMAT_CSV_IDS,	/* with ids for names */
	SS_FORMAT_TEXT,		/* for a terminal */
	SS_FORMAT_FOLDED,	/* the first table that is a tree, as stacks (emit/folded.h) */
};

struct ss_tool_request {
	const struct ss_tool *tool;
	struct ss_model *model;
	const struct ss_param_value *params;
	size_t nparams;
	enum ss_format format;
	struct ss_str run, host;	/* names for the answer */
	struct ss_str table;		/* CSV: "": the first; "all": each, after a line "# name"; else this one */
	struct ss_str column;		/* folded: the column whose values are the weights; "": the first that can be */
	size_t most_rows;		/* JSON: further rows of a table that is no tree are left out, with a note; 0: no limit */
	bool drawing;			/* JSON: graphs with the place of each node (drawing/drawing.h) */
	bool notes_apart;		/* text: the caller shows the result's notes elsewhere */
	struct ss_text_style style;	/* of text */
	/* Answered: */
	struct ss_result result;	/* lives until ss_tool_request_release */
	const char *content_type;	/* before the first byte is written */
	struct ss_arena arena;		/* of the result; ss_tool_request_release */
};

/*
 * Run the tool and write the answer. What could not be read of the files is among the notes of the
 * result. SS_EINVAL when the answer has no such format: a drawing is no table.
 */
bool ss_tool_answer(struct ss_tool_request *a, struct ss_out *o, struct ss_err *err);
/* The first half: the result, without writing anything. */
bool ss_tool_request_run(struct ss_tool_request *a, struct ss_err *err);
void ss_tool_request_release(struct ss_tool_request *a);

/* The tool's tables, whether the model's hosts are profiles or files with its stored answer. */
bool ss_request_tables(const struct ss_tool *t, const struct ss_request *q, struct ss_result *out, struct ss_err *err);
/* The kind of files that the tool reads for this run: files with its stored answers, if there are any. */
const char *ss_request_file_kind(const struct ss_tool *t, const struct ss_run *run);
/* Does the run consist of merged parts, which cannot answer this tool? The second function fails then, and names those they can. */
bool ss_request_lacks_profiles(const struct ss_tool *t, const struct ss_run *run);
bool ss_request_refuse_parts(const struct ss_tool *t, struct ss_err *err);
/* Does it answer for several hosts at once? */
bool ss_request_combines(const struct ss_tool *t, const struct ss_run *run);
/* Does it do so where all hosts are asked for by name? */
bool ss_request_sums(const struct ss_tool *t, const struct ss_run *run);
/* Does it answer only for several hosts? A stored answer may also be that of one host. */
bool ss_request_only_combined(const struct ss_tool *t, const struct ss_run *run, bool as_xprof);
bool ss_request_listed(const struct ss_tool *t, const struct ss_run *run);
/*
 * Does the run have the data that the tool reads? `first` is its first host; NULL: it has none. `met`: of
 * ss_request_met. A tool that reads other files is not listed if there are none.
 */
bool ss_request_present(const struct ss_tool *t, const struct ss_run *run, const struct ss_host *first, unsigned met);
/*
 * Which of the needs of tools (tools/tool.h; ~0u: all) the first host meets, or any host: opens one after the other while
 * some are missing. What a host that was not opened may meet counts as met.
 */
unsigned ss_request_met(const struct ss_run *run, const struct ss_host *first, unsigned needs);

#endif
