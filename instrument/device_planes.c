/* device_planes.c - see device_planes.h. */
#include "device_planes.h"

#include "base/write.h"
#include "record.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { XPLANE_STATS = 6, XSTAT_REF = 7 };
enum { IS_EVENT = 1, IS_STAT = 2 };
#define STATS_MAX 16u
#define DEVICES_MAX 256u	/* more is a damaged record */

/* A text with its number on the plane, found by its bytes. Names of kernels are demangled where they are written. */
struct named {
	struct named *next;
	uint64_t hash;
	uint32_t id;
	uint8_t kinds;		/* IS_EVENT, IS_STAT: as what it is written already */
	size_t n;
	char text[];
};

struct stream {
	struct stream *next;	/* by number, then in order of appearance */
	uint32_t id, context;
	uint32_t nth;		/* 0: the first of its number; contexts number their streams each for itself */
	unsigned types;		/* 1 << enum device_event_type: what it has */
	bool unordered;
	uint64_t last_begin_ps, nevents;
	struct buffer *first, *last;
};

struct plane {
	uint32_t device;
	struct spool spool;
	struct buffer *names, *names_last;
	struct named **table;
	uint32_t ntable, nnames; /* slots (a power of two), entries */
	struct stream *streams;
	const char *facts[STATS_MAX];
	unsigned nfacts;
};

struct device_planes {
	struct device_planes_options o;
	char *path, *host;
	struct plane *planes[DEVICES_MAX];
	uint64_t dropped, events;
};

static const char *const type_names[DEVICE_EVENT_TYPES] = { "Compute", "MemcpyH2D", "MemcpyD2H", "MemcpyD2D", "MemcpyP2P",
							     "MemcpyOther", "Memset" };

struct device_planes *ss_device_planes_new(const struct device_planes_options *o)
{
	struct device_planes *p = calloc(1, sizeof(*p));
	char *path = strdup(o->path), *host = strdup(o->host);
	if (!p || !path || !host) {
		free(p);
		free(path);
		free(host);
		return NULL;
	}
	p->o = *o;
	p->path = path;
	p->host = host;
	return p;
}

/* --- buffers ------------------------------------------------------------------------------------ */

static struct buffer *new_buffer(struct plane *plane, struct buffer **first, struct buffer **last)
{
	struct buffer *b = calloc(1, sizeof(*b));
	if (!b)
		return NULL;
	b->base = ss_spool_buffer(&plane->spool);
	if (!b->base) {
		free(b);
		return NULL;
	}
	if (*last)
		(*last)->next = b;
	else
		*first = b;
	*last = b;
	return b;
}

static void put_record(struct buffer *b, const unsigned char *record, size_t n)
{
	append_record(b->base + b->used, b->base + SPOOL_BUFFER, record, n);
	b->used += (uint32_t)n;
}

/* Room for n bytes among the names, fields of the plane in any order. */
static struct buffer *room_on_plane(struct plane *plane, size_t n)
{
	struct buffer *b = plane->names_last;
	return b && SPOOL_BUFFER - b->used >= n ? b : new_buffer(plane, &plane->names, &plane->names_last);
}

static bool put_on_plane(struct plane *plane, const unsigned char *record, size_t n)
{
	struct buffer *b = room_on_plane(plane, n);
	if (b)
		put_record(b, record, n);
	return b;
}

static void stream_name(const struct stream *s, char *out, size_t n)
{
	int at = snprintf(out, n, "Stream #%u(", s->id);
	for (unsigned i = 0; i < DEVICE_EVENT_TYPES; i++)
		if (s->types >> i & 1 && at > 0 && (size_t)at < n)
			at += snprintf(out + at, n - (size_t)at, "%s%s", out[at - 1] == '(' ? "" : ",", type_names[i]);
	if (at > 0 && (size_t)at < n)
		at += snprintf(out + at, n - (size_t)at, ")");
	if (s->nth && at > 0 && (size_t)at < n)
		snprintf(out + at, n - (size_t)at, " of context %u", s->context);
}

/* Lines are told apart by their numbers, of which readers take 32 bits. That of the first is the stream's own. */
static uint64_t line_number(const struct stream *s)
{
	return (uint32_t)(s->id + (s->nth << 24));
}

static struct buffer *stream_buffer(struct plane *plane, struct stream *s, size_t n)
{
	struct buffer *b = s->last;
	if (b && SPOOL_BUFFER - b->used >= n)
		return b;
	b = new_buffer(plane, &s->first, &s->last);
	if (!b)
		return NULL;
	/* Named by what the stream had so far; the whole list is known at the end. */
	char name[128];
	stream_name(s, name, sizeof(name));
	size_t header = put_line_header(b->base + 8, (int64_t)line_number(s), name);
	b->events_at = b->used = (uint32_t)(8 + header);
	put_rest(b->base + b->used, b->base + SPOOL_BUFFER);
	store_word(b->base, message_word(XPLANE_LINES, SPOOL_BUFFER - 8));
	return b;
}

/* --- names -------------------------------------------------------------------------------------- */

static uint64_t hash_of(const char *text, size_t n)
{
	uint64_t h = UINT64_C(14695981039346656037);
	for (size_t i = 0; i < n; i++)
		h = (h ^ (unsigned char)text[i]) * UINT64_C(1099511628211);
	return h ^ h >> 32;
}

static bool grow_table(struct plane *plane)
{
	uint32_t n = plane->ntable ? plane->ntable * 2 : 256;
	struct named **table = calloc(n, sizeof(struct named *));
	if (!table)
		return false;
	for (uint32_t i = 0; i < plane->ntable; i++)
		for (struct named *e = plane->table[i], *next; e; e = next) {
			next = e->next;
			e->next = table[e->hash & (n - 1)];
			table[e->hash & (n - 1)] = e;
		}
	free(plane->table);
	plane->table = table;
	plane->ntable = n;
	return true;
}

static struct named *find_name(struct plane *plane, const char *text)
{
	size_t n = strlen(text);
	uint64_t hash = hash_of(text, n);
	if (plane->nnames >= plane->ntable && !grow_table(plane))
		return NULL;
	struct named **slot = &plane->table[hash & (plane->ntable - 1)];
	for (struct named *e = *slot; e; e = e->next)
		if (e->hash == hash && e->n == n && memcmp(e->text, text, n) == 0)
			return e;
	struct named *e = malloc(sizeof(*e) + n + 1);
	if (!e)
		return NULL;
	*e = (struct named){ .next = *slot, .hash = hash, .id = ++plane->nnames, .n = n };
	memcpy(e->text, text, n + 1);
	*slot = e;
	return e;
}

/* Number of a text on the plane, written there as what it is used for; 0: no room. */
static uint32_t number_of(struct plane *plane, const char *text, uint8_t kind)
{
	struct named *e = find_name(plane, text);
	if (!e)
		return 0;
	if (e->kinds & kind)
		return e->id;
	size_t n = e->n < NAME_MAX_BYTES ? e->n : NAME_MAX_BYTES;
	struct buffer *b = room_on_plane(plane, NAME_HEAD_MAX + n);
	if (!b)
		return 0;
	unsigned field = kind == IS_EVENT ? XPLANE_EVENT_METADATA : XPLANE_STAT_METADATA;
	b->used += (uint32_t)append_name(b->base + b->used, b->base + SPOOL_BUFFER, field, e->id, e->text, n);
	e->kinds |= kind;
	return e->id;
}

/* --- planes and lines --------------------------------------------------------------------------- */

/* "<folder>/<host>.xplane.pb" becomes "<folder>/<host>.gpu0.xplane.pb". */
static bool spool_path(const struct device_planes *p, uint32_t device, char *out, size_t n)
{
	static const char suffix[] = ".xplane.pb";
	size_t length = strlen(p->path), cut = sizeof(suffix) - 1;
	if (length > cut && strcmp(p->path + length - cut, suffix) == 0)
		length -= cut;
	int got = snprintf(out, n, "%.*s.gpu%u%s", (int)length, p->path, device, suffix);
	return got > 0 && (size_t)got < n;
}

/* Id and name in whole words: the width of the id's varint takes up the slack. */
static bool write_plane_name(struct plane *plane)
{
	unsigned char record[48];
	char name[32];
	size_t n = (size_t)snprintf(name, sizeof(name), "/device:GPU:%u", plane->device);
	unsigned width = varint_size(plane->device);
	while ((1 + width + 2 + n) % 8)
		width++;
	record[0] = XPLANE_ID << 3;
	unsigned char *end = put_bytes(put_varint_n(record + 1, plane->device, width), XPLANE_NAME, name, n);
	return put_on_plane(plane, record, (size_t)(end - record));
}

static void free_buffers(struct buffer *b)
{
	for (struct buffer *next; b; b = next) {
		next = b->next;
		munmap(b->base, SPOOL_BUFFER);
		free(b);
	}
}

static void free_plane(struct plane *plane, bool remove)
{
	if (remove)
		unlink(plane->spool.path);
	for (struct stream *s = plane->streams, *next; s; s = next) {
		next = s->next;
		free_buffers(s->first);
		free(s);
	}
	free_buffers(plane->names);
	for (uint32_t i = 0; i < plane->ntable; i++)
		for (struct named *e = plane->table[i], *next; e; e = next) {
			next = e->next;
			free(e);
		}
	free(plane->table);
	ss_spool_close(&plane->spool);
	free(plane);
}

static struct plane *plane_of(struct device_planes *p, uint32_t device)
{
	if (device >= DEVICES_MAX)
		return NULL;
	if (p->planes[device])
		return p->planes[device];
	struct plane *plane = calloc(1, sizeof(*plane));
	if (!plane)
		return NULL;
	plane->device = device;
	plane->spool.fd = -1;
	struct spool_info info = { p->host, p->o.start_unix_ns, 0 };
	if (!spool_path(p, device, plane->spool.path, sizeof(plane->spool.path)) ||
	    !ss_spool_open(&plane->spool, &info, p->o.max_bytes)) {
		free(plane);
		return NULL;
	}
	if (!write_plane_name(plane)) {
		free_plane(plane, true);
		return NULL;
	}
	return p->planes[device] = plane;
}

static struct stream *stream_of(struct plane *plane, uint32_t context, uint32_t id)
{
	struct stream **at = &plane->streams;
	uint32_t nth = 0;
	for (; *at && (*at)->id <= id; at = &(*at)->next) {
		if ((*at)->id == id && (*at)->context == context)
			return *at;
		nth += (*at)->id == id;
	}
	struct stream *s = calloc(1, sizeof(*s));
	if (!s)
		return NULL;
	s->id = id;
	s->context = context;
	s->nth = nth;
	s->next = *at;
	return *at = s;
}

/* --- events ------------------------------------------------------------------------------------- */

/* A reference to a text of the plane. */
static size_t put_ref(unsigned char *p, uint32_t key, uint32_t ref)
{
	unsigned char value[16];
	return put_padded_stat(p, key, value, (size_t)(put_field(value, XSTAT_REF, ref) - value));
}

/* 0 when a name found no room. */
static size_t put_device_stat(struct plane *plane, unsigned char *p, const struct device_stat *s)
{
	uint32_t key = number_of(plane, s->key, IS_STAT);
	if (!key)
		return 0;
	if (s->kind == SS_TRACE_TEXT) {
		uint32_t ref = number_of(plane, s->v.text, IS_STAT);
		return ref ? put_ref(p, key, ref) : 0;
	}
	struct ss_trace_arg arg = { .kind = s->kind };
	if (s->kind == SS_TRACE_DOUBLE)
		arg.v.d = s->v.d;
	else
		arg.v.u = s->v.u;
	return put_stat(p, key, &arg);
}

static bool add(struct device_planes *p, const struct device_event *e)
{
	unsigned char record[EVENT_BYTES + STATS_MAX * 40];
	struct plane *plane = plane_of(p, e->device);
	struct stream *s = plane ? stream_of(plane, e->context, e->stream) : NULL;
	uint32_t id = s ? number_of(plane, e->name, IS_EVENT) : 0;
	if (!id)
		return false;
	size_t n = EVENT_BYTES;
	for (size_t i = 0; i < e->nstats && i < STATS_MAX; i++)
		n += put_device_stat(plane, record + n, &e->stats[i]);
	s->types |= 1u << e->type;
	struct buffer *b = stream_buffer(plane, s, n);
	if (!b)
		return false;
	uint64_t begin_ps = e->begin_ns * 1000, ns = e->end_ns > e->begin_ns ? e->end_ns - e->begin_ns : 0;
	put_event(record, id, begin_ps, varint8(ns < VARINT8_MAX / 1000 ? ns * 1000 : VARINT8_MAX, false), n - EVENT_BYTES);
	put_record(b, record, n);
	s->unordered |= begin_ps < s->last_begin_ps;
	s->last_begin_ps = begin_ps;
	s->nevents++;
	return true;
}

bool ss_device_planes_add(struct device_planes *p, const struct device_event *e)
{
	bool done = add(p, e);
	p->dropped += !done;
	p->events += done;
	return done;
}

bool ss_device_planes_fact(struct device_planes *p, uint32_t device, const struct device_stat *stat)
{
	struct plane *plane = plane_of(p, device);
	if (!plane || plane->nfacts == STATS_MAX)
		return false;
	for (unsigned i = 0; i < plane->nfacts; i++)
		if (strcmp(plane->facts[i], stat->key) == 0)
			return true;
	/* A stat of a plane is one of an event but for the number of its field. */
	unsigned char record[64];
	size_t n = put_device_stat(plane, record, stat);
	record[0] = XPLANE_STATS << 3 | 2;
	if (!n || !put_on_plane(plane, record, n))
		return false;
	plane->facts[plane->nfacts++] = stat->key;
	return true;
}

uint64_t ss_device_planes_dropped(const struct device_planes *p)
{
	return p->dropped;
}

uint64_t ss_device_planes_events(const struct device_planes *p)
{
	return p->events;
}

/* --- at the end --------------------------------------------------------------------------------- */

struct place {
	uint64_t begin_ps, end_ps;
	const unsigned char *at;
	uint32_t n;
	uint32_t order;		/* of arrival: makes the sort a stable one */
};

/* By begin, the longer first: parents before children. */
static int by_time(const void *a, const void *b)
{
	const struct place *x = a, *y = b;
	if (x->begin_ps != y->begin_ps)
		return x->begin_ps < y->begin_ps ? -1 : 1;
	if (x->end_ps != y->end_ps)
		return x->end_ps > y->end_ps ? -1 : 1;
	return x->order < y->order ? -1 : 1;
}

/* Buffers that other threads filled arrive late: then the events are put in order. Without memory for it they stay as they came. */
static struct place *in_order(const struct stream *s)
{
	struct place *places = s->unordered ? malloc(s->nevents * sizeof(*places)) : NULL;
	size_t n = 0;
	for (const struct buffer *b = s->first; places && b; b = b->next)
		for (uint32_t at = b->events_at; at < b->used; n++) {
			struct event_at e = event_at(b->base + at);
			places[n] = (struct place){ e.offset_ps, e.offset_ps + get_varint_n(e.duration, 8), b->base + at, e.bytes,
						    (uint32_t)n };
			at += e.bytes;
		}
	if (places)
		qsort(places, n, sizeof(*places), by_time);
	return places;
}

static bool write_places(int fd, const struct place *places, uint64_t n)
{
	unsigned char chunk[32768];
	size_t used = 0;
	bool ok = true;
	for (uint64_t i = 0; ok && i < n; i++) {
		if (used + places[i].n > sizeof(chunk)) {
			ok = ss_write_all(fd, chunk, used);
			used = 0;
		}
		memcpy(chunk + used, places[i].at, places[i].n);
		used += places[i].n;
	}
	return ok && ss_write_all(fd, chunk, used);
}

static size_t put_head(const struct stream *s, unsigned char *out)
{
	char name[128];
	stream_name(s, name, sizeof(name));
	return (size_t)(put_bytes(put_field(out, XLINE_ID, line_number(s)), XLINE_NAME, name, strlen(name)) - out);
}

static size_t stream_bytes(const struct stream *s)
{
	unsigned char head[160];
	size_t n = put_head(s, head);
	for (const struct buffer *b = s->first; b; b = b->next)
		n += b->used - b->events_at;
	return n;
}

static bool write_stream(int fd, const struct stream *s)
{
	unsigned char head[160], tag[16];
	size_t n = put_head(s, head);
	unsigned char *end = put_varint(put_varint(tag, XPLANE_LINES << 3 | 2), stream_bytes(s));
	if (!ss_write_all(fd, tag, (size_t)(end - tag)) || !ss_write_all(fd, head, n))
		return false;
	struct place *places = in_order(s);
	bool ok = true;
	if (places)
		ok = write_places(fd, places, s->nevents);
	for (const struct buffer *b = s->first; !places && ok && b; b = b->next)
		ok = ss_write_all(fd, b->base + b->events_at, b->used - b->events_at);
	free(places);
	return ok;
}

static bool write_plane(int fd, const struct plane *plane)
{
	unsigned char tag[16];
	size_t n = 0;
	for (const struct buffer *b = plane->names; b; b = b->next)
		n += b->used;
	for (const struct stream *s = plane->streams; s; s = s->next) {
		size_t bytes = stream_bytes(s);
		n += s->nevents ? 1 + varint_size(bytes) + bytes : 0;
	}
	unsigned char *end = put_varint(put_varint(tag, XSPACE_PLANES << 3 | 2), n);
	bool ok = ss_write_all(fd, tag, (size_t)(end - tag));
	for (const struct buffer *b = plane->names; ok && b; b = b->next)
		ok = ss_write_all(fd, b->base, b->used);
	for (const struct stream *s = plane->streams; ok && s; s = s->next)
		ok = !s->nevents || write_stream(fd, s);
	return ok;
}

bool ss_device_planes_write(struct device_planes *p, int fd)
{
	bool ok = true;
	for (unsigned i = 0; ok && i < DEVICES_MAX; i++)
		ok = !p->planes[i] || write_plane(fd, p->planes[i]);
	return ok;
}

void ss_device_planes_free(struct device_planes *p, bool written)
{
	if (!p)
		return;
	for (unsigned i = 0; i < DEVICES_MAX; i++)
		if (p->planes[i])
			free_plane(p->planes[i], written);
	free(p->path);
	free(p->host);
	free(p);
}
