/* api.h - what the files of the C interface share. */
#ifndef SS_API_API_H
#define SS_API_API_H

#include "location/location.h"
#include "serve/session.h"
#include "stepscope/stepscope.h"
#include "store/store.h"

struct stepscope {
	char *named;		/* the path, as the caller gave it */
	struct ss_location location;
	struct ss_store store;
	struct ss_sessions *sessions;
};

struct ss_sql_rows;

/* The table of the rows that the caller holds. */
struct ss_sql_rows *ss_api_rows(struct stepscope_rows *r);
/* The failure as text for the caller. */
void ss_api_explain(const struct ss_err *err, char *why, size_t why_bytes);
/* The run of this name; NULL: the newest. */
const struct ss_run *ss_api_run(const struct stepscope *s, const char *name, struct ss_err *err);
/*
 * The hosts of the run that `kind` and `host` select, opened. `all`: without a host all of them; `visits`: their events are only
 * visited. NULL on failure.
 */
struct ss_session *ss_api_session(struct stepscope *s, const struct ss_run *run, const char *kind, struct ss_str host, bool all,
				  bool visits, struct ss_selection *sel, struct ss_arena *arena, struct ss_err *err);

#endif
