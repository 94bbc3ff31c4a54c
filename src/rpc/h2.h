/*
 * h2.h - an HTTP/2 connection: an nghttp2 session and the link under it. Client and server share it.
 * Internal to this folder.
 */
#ifndef SS_RPC_H2_H
#define SS_RPC_H2_H

#include "rpc/net.h"

#include <nghttp2/nghttp2.h>

#define SS_H2_OUT_BYTES ((size_t)64 << 10)
#define SS_H2_HEADER_BYTES ((size_t)16 << 10) /* of one call's headers and trailers together */

struct ss_h2 {
	struct ss_link link;
	nghttp2_session *session;
	uint8_t *out;		/* SS_H2_OUT_BYTES of frames, in one write */
	size_t out_n, out_at;
	const uint8_t *piece;	/* of the session: what did not fit */
	size_t piece_n;
	int64_t heard_ns;	/* when bytes last came and went */
	int64_t sent_ns;
	uint8_t first[8];	/* what the other side began with, to tell what it is */
	size_t nfirst;
	bool over;		/* there is nothing more to read */
	bool backlog;		/* there is more to read that poll does not see */
	char why[500];		/* why it is over; "" when it ended in order */
};

/* Takes over an established socket. The session is made by the caller; link is closed by ss_h2_close. */
bool ss_h2_open(struct ss_h2 *h, int fd, const struct ss_tls *tls, const char *host, struct ss_err *err);
void ss_h2_close(struct ss_h2 *h);

/*
 * Read and write what can be without waiting. After it `over` says whether the connection is
 * done with; calls in work then have no other side.
 */
void ss_h2_pump(struct ss_h2 *h);
/* The events to poll for. */
short ss_h2_events(const struct ss_h2 *h);
/* Is anything waiting to be read or written, whatever poll says? */
bool ss_h2_busy(const struct ss_h2 *h);

/* Windows and limits of both sides, with extra settings of one. */
bool ss_h2_greet(struct ss_h2 *h, const nghttp2_settings_entry *extra, size_t nextra, struct ss_err *err);
/* Options of both sides; NULL when memory is out. */
nghttp2_option *ss_h2_option(void);

/* A header of literals; the bytes must live until it was submitted. */
static inline nghttp2_nv ss_h2_nv(const char *name, const char *value)
{
	return (nghttp2_nv){ (uint8_t *)(uintptr_t)name, (uint8_t *)(uintptr_t)value, __builtin_strlen(name),
			     __builtin_strlen(value), NGHTTP2_NV_FLAG_NONE };
}

#endif
