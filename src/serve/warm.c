/*
 * warm.c - one thread at a time. The parts of the model that tools build stay with the session;
 * their text is thrown away.
 */
#include "serve/warm.h"

#include "base/system.h"
#include "model/model.h"

#include <stdlib.h>

struct warm {
	struct ss_server_state *srv;
	struct ss_session *session;
	const struct ss_tool *tools[SS_WARM_TOOLS];
	size_t ntools;
};

static bool discard(void *arg, const char *p, size_t n)
{
	(void)arg;
	(void)p;
	(void)n;
	return true;
}

static void *run(void *arg)
{
	struct warm *w = arg;
	struct ss_server_state *srv = w->srv;
	for (size_t i = 0; i < w->ntools; i++) {
		struct ss_tool_request ask = { .tool = w->tools[i], .model = ss_session_model(w->session),
						.format = SS_FORMAT_XPROF };
		struct ss_out o;
		/* Of many hosts it is asked about one at a time. */
		if (ask.model->visited && !(w->tools[i]->flags & SS_TOOL_VISITS))
			continue;
		ss_out_init(&o, discard, NULL);
		ss_tool_answer(&ask, &o, NULL);
		ss_out_free(&o);
		ss_tool_request_release(&ask);
	}
	ss_session_close(srv->sessions, w->session);
	free(w);
	/* The last touch: after this the server may be freed. */
	atomic_store(&srv->warming, false);
	return NULL;
}

bool ss_warm(struct ss_server_state *srv, const struct ss_selection *sel, const struct ss_tool *const *tools, size_t ntools,
	     struct ss_err *err)
{
	pthread_t thread;
	bool idle = false;
	if (!atomic_compare_exchange_strong(&srv->warming, &idle, true))
		return ss_fail(err, SS_EBUSY, "another profile is being prepared: try again later");
	struct warm *w = calloc(1, sizeof(*w));
	bool ok = w || ss_fail_mem(err);
	if (ok) {
		w->srv = srv;
		w->session = ss_session_open_visiting(srv->sessions, sel->files, sel->n, err);
		ok = w->session;
	}
	for (size_t i = 0; ok && i < ntools && i < SS_WARM_TOOLS; i++)
		w->tools[w->ntools++] = tools[i];
	if (ok && ss_thread_start(&thread, run, w) == 0) {
		pthread_detach(thread);
		return true;
	}
	if (ok) {
		ss_session_close(srv->sessions, w->session);
		ss_fail(err, SS_EBUSY, "the server is busy: no thread is free for this request");
	}
	free(w);
	atomic_store(&srv->warming, false);
	return false;
}

bool ss_warm_busy(struct ss_server_state *srv)
{
	return atomic_load(&srv->warming);
}
