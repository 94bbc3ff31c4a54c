/*
 * session.h - opened profiles, shared by concurrent requests and kept between them.
 *
 * A session is a model over one selection of hosts, pinned while a request uses it. Hosts are shared by
 * all sessions that hold them. A file that changed (size, time or inode) is opened again for the next
 * session; sessions with the old one keep it. Unused profiles are closed after some idle time, and
 * earlier, oldest first, when all together exceed their memory limit.
 */
#ifndef SS_SERVE_SESSION_H
#define SS_SERVE_SESSION_H

#include "base/err.h"
#include "store/store.h"

struct ss_model;
struct ss_session;
struct ss_sessions;

/*
 * `memory_bytes`: what opened profiles may take together, as estimated from their sizes. NULL when
 * memory is out.
 */
struct ss_sessions *ss_sessions_new(uint64_t memory_bytes, unsigned idle_s);
void ss_sessions_free(struct ss_sessions *c);
/* From now on no host is kept open for somebody who visits them, not even one. */
void ss_sessions_visit_all(struct ss_sessions *c);

/* Pin the model of these hosts, opening what is not open. Events are not loaded here. */
struct ss_session *ss_session_open(struct ss_sessions *c, const struct ss_host_file *const *files, size_t n,
				   struct ss_err *err);

/* If a request visits more hosts than this (model/visit.h), they are not kept open. */
#define SS_MAX_OPEN_HOSTS 8

/* The same for a request that also works with a model that visits its hosts. */
struct ss_session *ss_session_open_visiting(struct ss_sessions *c, const struct ss_host_file *const *files, size_t n,
					    struct ss_err *err);
struct ss_model *ss_session_model(const struct ss_session *s);
/*
 * Fails when one of the files was truncated while it was being read: answers made from it are
 * wrong.
 */
bool ss_session_intact(const struct ss_session *s, struct ss_err *err);
void ss_session_close(struct ss_sessions *c, struct ss_session *s);

/* Closes what has been idle for too long. To be called regularly. */
void ss_sessions_sweep(struct ss_sessions *c);

#endif
