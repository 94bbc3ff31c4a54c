/* api_track.c - the history that is shown beside the runs: /api/track?metric=M[,M], as `stepscope track show` (docs/diff.md). */
#include "diff/track.h"
#include "emit/json.h"
#include "serve/call.h"

#define MOST_METRICS 32
#define LAST_RUNS 5 /* as of the command */

static bool read_metrics(struct ss_str list, struct ss_str *metrics, size_t *n, struct ss_err *err)
{
	*n = 0;
	while (list.n) {
		size_t comma = ss_str_chr(list, ','), end = comma == SS_NPOS ? list.n : comma;
		if (*n == MOST_METRICS)
			return ss_fail(err, SS_EINVAL, "more than %d metrics are requested", MOST_METRICS);
		metrics[(*n)++] = ss_str_sub(list, 0, end);
		list = ss_str_sub(list, end + 1, list.n);
	}
	return true;
}

bool ss_route_api_track(struct ss_call *c, struct ss_err *err)
{
	const struct ss_json_head head = { SS_STR("track"), SS_STR("History"), SS_STR(""), SS_STR(""), SS_STR("") };
	struct ss_str metrics[MOST_METRICS];
	struct ss_track_filter f = { .metrics = metrics };
	struct ss_track_change sum;
	struct ss_track t;
	struct ss_result r;
	struct ss_out o;
	if (!c->srv->history)
		return ss_fail(err, SS_ENOTFOUND, "no history is shown here: start with 'stepscope serve --history FILE'");
	if (!read_metrics(ss_call_arg(c, "metric"), metrics, &f.nmetrics, err))
		return false;
	ss_result_init(&r, c->req->arena);
	bool ok = ss_track_open(&t, c->srv->history, false, err) && ss_track_result(&t, &f, LAST_RUNS, &r, &sum, err);
	ss_out_init(&o, NULL, NULL);
	if (ok) {
		ss_emit_json(&o, &r, &head);
		ok = ss_reply_out(c, 200, "application/json", &o, err);
	}
	ss_track_close(&t); /* paths and texts of the answer are its */
	return ok;
}
