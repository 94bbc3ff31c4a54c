/* spool.c - a bounded queue of pieces between two threads. */
#include "serve/spool.h"

#include <pthread.h>
#include <stdlib.h>
#include <zlib.h>

/* Up to here an answer is copied out of the room that it was made in. */
#define SMALL_BYTES ((size_t)64 << 10)
/* An answer that flows is made so far ahead of its reader. */
#define AHEAD_BYTES ((size_t)1 << 20)

struct piece {
	struct piece *next;
	size_t n;
	char *bytes;		/* owned */
};

struct ss_spool {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	pthread_t thread;
	ss_make_fn *make;
	void *arg;
	/*
	 * The maker's own until it has ended. Until the limit is reached it holds the answer in one
	 * growing block, which becomes the first piece then.
	 */
	struct ss_out out;
	/* Under the lock. */
	struct piece *first, **last;
	size_t held_bytes;
	bool flowing;		/* the limit was reached: the reader has begun */
	bool ended, failed, abandoned;
	struct ss_err err;
	/* The reader's own. */
	struct piece *reading;
	size_t at;
	bool gzip, gzip_over;
	z_stream z;
};

static void free_piece(struct piece *p)
{
	if (p)
		free(p->bytes);
	free(p);
}

/* Under the lock. */
static void append(struct ss_spool *s, struct piece *piece)
{
	*s->last = piece;
	s->last = &piece->next;
	pthread_cond_broadcast(&s->changed);
}

/* Under the lock: what there is so far becomes the first piece. */
static bool begin_flow(struct ss_spool *s)
{
	struct piece *piece = malloc(sizeof(*piece));
	if (!piece)
		return false;
	*piece = (struct piece){ .n = s->out.n, .bytes = s->out.buf };
	s->out.buf = NULL;
	s->out.cap = 0;
	s->held_bytes = piece->n;
	s->flowing = true;
	append(s, piece);
	return true;
}

static bool put_piece(struct ss_spool *s, const char *p, size_t n)
{
	struct piece *piece = malloc(sizeof(*piece));
	char *bytes = malloc(n);
	if (!piece || !bytes) {
		free(piece);
		free(bytes);
		return false;
	}
	memcpy(bytes, p, n);
	*piece = (struct piece){ .n = n, .bytes = bytes };
	while (s->held_bytes >= AHEAD_BYTES && !s->abandoned)
		pthread_cond_wait(&s->changed, &s->lock);
	if (s->abandoned) {
		free_piece(piece);
		return false;
	}
	s->held_bytes += n;
	append(s, piece);
	return true;
}

static bool put(void *arg, const char *p, size_t n)
{
	struct ss_spool *s = arg;
	if (n == 0)
		return true;
	pthread_mutex_lock(&s->lock);
	bool ok = !s->abandoned && (s->flowing ? put_piece(s, p, n) : begin_flow(s));
	pthread_mutex_unlock(&s->lock);
	return ok;
}

static void *run(void *arg)
{
	struct ss_spool *s = arg;
	struct ss_err err = { 0 };
	bool ok = s->make(s->arg, &s->out, &err);
	/* Only this thread lets it begin to flow. */
	if (!s->flowing)
		s->out.fn = NULL;
	ok = ss_out_finish(&s->out, &err) && ok;
	pthread_mutex_lock(&s->lock);
	s->ended = true;
	s->failed = !ok;
	s->err = err;
	pthread_cond_broadcast(&s->changed);
	pthread_mutex_unlock(&s->lock);
	return NULL;
}

struct ss_spool *ss_spool_start(ss_make_fn *make, void *arg, size_t limit, struct ss_str room, struct ss_err *err)
{
	struct ss_spool *s = calloc(1, sizeof(*s));
	if (!s) {
		free((void *)(uintptr_t)room.p);
		ss_fail_mem(err);
		return NULL;
	}
	s->make = make;
	s->arg = arg;
	s->last = &s->first;
	ss_out_init(&s->out, put, s);
	s->out.hold_bytes = limit;
	s->out.buf = (char *)(uintptr_t)room.p;
	s->out.cap = room.p ? room.n : 0;
	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->changed, NULL);
	if (pthread_create(&s->thread, NULL, run, s) == 0)
		return s;
	ss_fail(err, SS_EBUSY, "the server is busy: no thread is free for this request");
	pthread_cond_destroy(&s->changed);
	pthread_mutex_destroy(&s->lock);
	ss_out_free(&s->out);
	free(s);
	return NULL;
}

bool ss_spool_settle(struct ss_spool *s, struct ss_err *err)
{
	pthread_mutex_lock(&s->lock);
	while (!s->ended && !s->flowing)
		pthread_cond_wait(&s->changed, &s->lock);
	/* A failure after the first bytes flowed shows as a broken-off answer. */
	bool ok = !(s->ended && s->failed);
	if (!ok)
		ss_fail(err, s->err.code, "%s", s->err.text);
	pthread_mutex_unlock(&s->lock);
	return ok;
}

bool ss_spool_take(struct ss_spool *s, char **body, size_t *n)
{
	/* After the end there is no other thread. */
	pthread_mutex_lock(&s->lock);
	bool whole = s->ended && !s->failed;
	pthread_mutex_unlock(&s->lock);
	if (!whole || s->flowing || s->reading)
		return false;
	/*
	 * A small answer leaves its room to others; a large one takes it, without much that is left
	 * over.
	 */
	struct ss_out *o = &s->out;
	*n = o->n;
	if (o->n <= SMALL_BYTES) {
		*body = malloc(o->n + 1);
		if (*body && o->n)
			memcpy(*body, o->buf, o->n);
		return *body;
	}
	char *fit = o->cap - o->n > o->n / 8 ? realloc(o->buf, o->n) : NULL;
	*body = fit ? fit : o->buf;
	o->buf = NULL;
	o->n = o->cap = 0;
	return true;
}

void *ss_spool_take_room(struct ss_spool *s)
{
	void *p = s->out.buf;
	s->out.buf = NULL;
	s->out.n = s->out.cap = 0;
	return p;
}

bool ss_spool_flowed(struct ss_spool *s)
{
	pthread_mutex_lock(&s->lock);
	bool flowing = s->flowing;
	pthread_mutex_unlock(&s->lock);
	return flowing;
}

bool ss_spool_gzip(struct ss_spool *s)
{
	/* 16: a gzip frame. Level 1: the answer is made for one reader, now. */
	s->gzip = deflateInit2(&s->z, 1, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) == Z_OK;
	return s->gzip;
}

/* Under the lock: the piece that was read is over, and counted as held until now. */
static void drop_reading(struct ss_spool *s)
{
	if (s->reading) {
		s->held_bytes -= s->reading->n;
		pthread_cond_broadcast(&s->changed);
	}
	free_piece(s->reading);
	s->reading = NULL;
	s->at = 0;
}

/* Under the lock: wait for a piece and take it. */
static int take_piece(struct ss_spool *s)
{
	while (!s->first && !s->ended)
		pthread_cond_wait(&s->changed, &s->lock);
	/* A whole answer that could not be taken as such. */
	if (!s->first && !s->flowing && s->out.n && !begin_flow(s))
		return -1;
	if (!s->first)
		return s->failed ? -1 : 0;
	s->reading = s->first;
	s->first = s->reading->next;
	if (!s->first)
		s->last = &s->first;
	return 1;
}

/* The next piece to read, waited for. 1: there is one, 0: the end, -1: it failed. */
static int next_piece(struct ss_spool *s)
{
	if (s->reading && s->at < s->reading->n)
		return 1;
	pthread_mutex_lock(&s->lock);
	drop_reading(s);
	int rc = take_piece(s);
	pthread_mutex_unlock(&s->lock);
	return rc;
}

static long read_plain(struct ss_spool *s, char *buf, size_t n)
{
	int rc = next_piece(s);
	if (rc <= 0)
		return rc;
	size_t left = s->reading->n - s->at;
	if (n > left)
		n = left;
	memcpy(buf, s->reading->bytes + s->at, n);
	s->at += n;
	return (long)n;
}

static long read_gzip(struct ss_spool *s, char *buf, size_t n)
{
	s->z.next_out = (Bytef *)buf;
	s->z.avail_out = n > UINT32_MAX ? UINT32_MAX : (uInt)n;
	size_t room = s->z.avail_out;
	while (s->z.avail_out == room && !s->gzip_over) {
		int more = next_piece(s);
		if (more < 0)
			return -1;
		uInt in = 0;
		if (more) {
			in = (uInt)(s->reading->n - s->at);
			s->z.next_in = (Bytef *)s->reading->bytes + s->at;
		}
		s->z.avail_in = in;
		int rc = deflate(&s->z, more ? Z_NO_FLUSH : Z_FINISH);
		if (rc == Z_STREAM_ERROR)
			return -1;
		s->at += in - s->z.avail_in;
		s->gzip_over = rc == Z_STREAM_END;
	}
	return (long)(room - s->z.avail_out);
}

long ss_spool_read(void *spool, char *buf, size_t n)
{
	struct ss_spool *s = spool;
	return s->gzip ? read_gzip(s, buf, n) : read_plain(s, buf, n);
}

void ss_spool_end(struct ss_spool *s)
{
	if (!s)
		return;
	pthread_mutex_lock(&s->lock);
	s->abandoned = true;
	pthread_cond_broadcast(&s->changed);
	pthread_mutex_unlock(&s->lock);
	pthread_join(s->thread, NULL);
	for (struct piece *p = s->first, *next; p; p = next) {
		next = p->next;
		free_piece(p);
	}
	free_piece(s->reading);
	ss_out_free(&s->out);
	if (s->gzip)
		deflateEnd(&s->z);
	pthread_cond_destroy(&s->changed);
	pthread_mutex_destroy(&s->lock);
	free(s);
}
