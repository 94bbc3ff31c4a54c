/*
 * h2.c - bytes between an nghttp2 session and its link.
 *
 * Frames are gathered into one buffer, so that headers, data and trailers of a small answer leave
 * in one packet. Nothing else is buffered here: what was read is handed on at once, and what is to
 * be sent is asked for when there is room.
 */
#include "rpc/h2.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define READ_BYTES ((size_t)64 << 10)
#define TURN_BYTES ((size_t)1 << 20)	/* read of one connection before others get their turn */
#define WINDOW_BYTES (16 << 20)
#define FRAME_BYTES (1 << 20)
#define RESETS_PER_S 50			/* a peer that resets streams faster than so is sent away */
#define RESETS_AT_ONCE 500

bool ss_h2_open(struct ss_h2 *h, int fd, const struct ss_tls *tls, const char *host, struct ss_err *err)
{
	*h = (struct ss_h2){ .heard_ns = ss_net_now_ns() };
	h->sent_ns = h->heard_ns;
	bool ok = ss_link_open(&h->link, fd, tls, host, err);
	h->out = malloc(SS_H2_OUT_BYTES);
	return ok && (h->out || ss_fail_mem(err));
}

void ss_h2_close(struct ss_h2 *h)
{
	nghttp2_session_del(h->session);
	h->session = NULL;
	ss_link_close(&h->link);
	free(h->out);
	h->out = NULL;
	h->over = true;
}

static void end(struct ss_h2 *h, const char *why)
{
	if (!h->over)
		snprintf(h->why, sizeof(h->why), "%s", why);
	h->over = true;
}

static void take(struct ss_h2 *h, const uint8_t *p, size_t n)
{
	while (h->nfirst < sizeof(h->first) && h->nfirst < n) {
		h->first[h->nfirst] = p[h->nfirst];
		h->nfirst++;
	}
	ssize_t rc = nghttp2_session_mem_recv(h->session, p, n);
	if (rc == NGHTTP2_ERR_FLOODED)
		end(h, "the other side sends too many frames that require an answer");
	else if (rc < 0)
		end(h, nghttp2_strerror((int)rc));
}

static void read_some(struct ss_h2 *h)
{
	uint8_t buf[READ_BYTES];
	size_t total = 0;
	h->backlog = false;
	while (!h->over && total < TURN_BYTES) {
		long n = ss_link_read(&h->link, buf, sizeof(buf));
		if (n == SS_LINK_AGAIN)
			return;
		if (n <= 0) {
			end(h, n == 0 ? "" : "the connection broke");
			return;
		}
		h->heard_ns = ss_net_now_ns();
		total += (size_t)n;
		take(h, buf, (size_t)n);
	}
	h->backlog = !h->over;
}

/* Fill the buffer with frames, as far as there are any. */
static bool gather(struct ss_h2 *h)
{
	if (h->out_at == h->out_n)
		h->out_at = h->out_n = 0;
	while (h->out_n < SS_H2_OUT_BYTES) {
		if (!h->piece_n) {
			ssize_t n = nghttp2_session_mem_send(h->session, &h->piece);
			if (n < 0) {
				end(h, nghttp2_strerror((int)n));
				return false;
			}
			if (n == 0)
				break;
			h->piece_n = (size_t)n;
		}
		size_t room = SS_H2_OUT_BYTES - h->out_n, n = h->piece_n < room ? h->piece_n : room;
		memcpy(h->out + h->out_n, h->piece, n);
		h->out_n += n;
		h->piece += n;
		h->piece_n -= n;
	}
	return h->out_n > h->out_at;
}

static void write_some(struct ss_h2 *h)
{
	h->link.write_wants = 0;
	while (gather(h)) {
		long n = ss_link_write(&h->link, h->out + h->out_at, h->out_n - h->out_at);
		if (n == SS_LINK_AGAIN)
			return;
		if (n < 0) {
			end(h, "the connection broke");
			return;
		}
		h->link.write_wants = 0;
		h->out_at += (size_t)n;
		h->sent_ns = ss_net_now_ns();
	}
}

/* Is anything waiting to be written? */
static bool unsent(const struct ss_h2 *h)
{
	return h->out_n > h->out_at || h->piece_n;
}

void ss_h2_pump(struct ss_h2 *h)
{
	struct ss_err err = { 0 };
	if (h->over)
		return;
	long rc = ss_link_handshake(&h->link, &err);
	if (rc == SS_LINK_AGAIN)
		return;
	if (rc <= 0) {
		end(h, err.text[0] ? err.text : "the TLS handshake was aborted");
		return;
	}
	read_some(h);
	if (!h->over)
		write_some(h);
	/* Both sides said goodbye, and our last words are on their way. */
	if (!h->over && !nghttp2_session_want_read(h->session) && !nghttp2_session_want_write(h->session) && !unsent(h))
		end(h, "");
}

bool ss_h2_busy(const struct ss_h2 *h)
{
	return h->backlog || (h->link.shaken && (unsent(h) || nghttp2_session_want_write(h->session)));
}

short ss_h2_events(const struct ss_h2 *h)
{
	if (!h->link.shaken)
		return h->link.read_wants ? h->link.read_wants : POLLIN | POLLOUT;
	short events = h->link.read_wants ? h->link.read_wants : POLLIN;
	if (unsent(h))
		events |= h->link.write_wants ? h->link.write_wants : POLLOUT;
	else if (nghttp2_session_want_write(h->session))
		events |= POLLOUT;
	return events;
}

bool ss_h2_greet(struct ss_h2 *h, const nghttp2_settings_entry *extra, size_t nextra, struct ss_err *err)
{
	nghttp2_settings_entry v[8] = {
		{ NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, WINDOW_BYTES },
		{ NGHTTP2_SETTINGS_MAX_FRAME_SIZE, FRAME_BYTES },
		{ NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, SS_H2_HEADER_BYTES },
	};
	size_t n = 3;
	for (size_t i = 0; i < nextra && n < 8; i++)
		v[n++] = extra[i];
	return (nghttp2_submit_settings(h->session, NGHTTP2_FLAG_NONE, v, n) == 0 &&
		nghttp2_session_set_local_window_size(h->session, NGHTTP2_FLAG_NONE, 0, WINDOW_BYTES) == 0) ||
	       ss_fail_mem(err);
}

nghttp2_option *ss_h2_option(void)
{
	nghttp2_option *o = NULL;
	if (nghttp2_option_new(&o) != 0)
		return NULL;
	/* Streams that are over are kept for priorities only, which nobody asks for. */
	nghttp2_option_set_no_closed_streams(o, 1);
	nghttp2_option_set_stream_reset_rate_limit(o, RESETS_AT_ONCE, RESETS_PER_S);
	return o;
}
