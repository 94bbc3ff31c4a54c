/*
 * xspace.h - a zero-copy view of one profile file (`<host>.xplane.pb`, a serialized XSpace).
 *
 * Opening walks planes, lines and metadata, never the events: it costs microseconds per line,
 * whatever the file's size. Events are read line by line (events.h). Everything points into the
 * mapped file and lives until ss_xspace_close.
 *
 * Tolerant: unknown fields are skipped, fields may come in any order (metadata after lines),
 * several concatenated XSpaces are one, and a file that was cut short shows what is whole;
 * ss_xspace.notes then says what is missing.
 */
#ifndef SS_XSPACE_XSPACE_H
#define SS_XSPACE_XSPACE_H

#include "base/arena.h"
#include "base/err.h"
#include "base/file.h"
#include "base/hold.h"
#include "base/map.h"
#include "wire/pb.h"

/* Stats with a known name; SS_STAT_OTHER is every other. */
enum ss_stat {
	SS_STAT_OTHER = 0,
#define STAT(id, name) SS_STAT_##id,
#include "xspace/stats.def"
#undef STAT
	SS_STAT_COUNT
};

enum ss_stat ss_stat_of(struct ss_str name);
struct ss_str ss_stat_name(enum ss_stat stat);

struct ss_xstat_meta {
	int64_t id;
	struct ss_str name;
	enum ss_stat stat;
};

struct ss_xevent_meta {
	int64_t id;
	struct ss_str name, display_name;
	struct ss_str name_in_file; /* of a trace in another format, where analyses know the event by another name; else "" */
	struct ss_str body;	/* the whole XEventMetadata: its stats by ss_xevent_meta_stats */
};

struct ss_xline {
	int64_t id, display_id;
	struct ss_str name, display_name;
	int64_t timestamp_ns;	/* event offsets count from here; 0 until loaded if it stands after the events */
	uint64_t duration_ps;
	struct ss_str body;	/* the whole XLine */
	const uint8_t *events;	/* where in body the first event's field begins; NULL: no events */
	bool cut;		/* the file ends inside this line */
};

struct ss_xplane {
	int64_t id;
	struct ss_str name;
	struct ss_str body;
	struct ss_xline *lines;
	uint32_t nlines;
	struct ss_xevent_meta *event_meta;
	uint32_t nevent_meta;
	struct ss_xstat_meta *stat_meta;
	uint32_t nstat_meta;
	struct ss_u64map event_meta_by_id, stat_meta_by_id;
	/* Ids are mostly small: direct tables beside the maps, index or SS_NONE. */
	uint32_t *event_meta_direct, *stat_meta_direct;
	uint32_t nevent_meta_direct, nstat_meta_direct;
	uint64_t has_stat[(SS_STAT_COUNT + 63) / 64]; /* bit per enum ss_stat that stat_meta names */
	bool cut;
	bool bad;		/* malformed inside: what stood before that is there */
};

struct ss_xspace {
	struct ss_file file;
	struct ss_str path;		/* as opened, for messages */
	struct ss_xplane *planes;
	uint32_t nplanes;
	struct ss_str *hostnames, *errors, *warnings;
	uint32_t nhostnames, nerrors, nwarnings;
	/*
	 * Subtracted from every line's timestamp, in ns. 0 for saved profiles, whose timestamps are
	 * relative to the start of the session; the smallest timestamp where they are absolute (in
	 * ps they would not fit 63 bits).
	 */
	int64_t origin_ns;
	struct ss_str *notes;		/* what could not be read, for the user */
	uint32_t nnotes;
	uint64_t index_bytes;		/* what planes, lines and metadata take, against the bound in xspace.c */
	struct ss_hold *hold;		/* where index and columns count; NULL: nowhere */
	struct ss_arena arena;
};

/*
 * Index the file, which is the XSpace's from now on, whatever comes of it. SS_EFORMAT if nothing of it is an XSpace, or if it is
 * empty.
 */
bool ss_xspace_open_file(struct ss_xspace *x, struct ss_file *f, const char *path, struct ss_err *err);
/* The same over bytes that stay with the caller. */
bool ss_xspace_open_bytes(struct ss_xspace *x, struct ss_str bytes, const char *name, struct ss_err *err);
/* The same of a file that was made of another one: index and columns count in `hold`, which stays with the caller. */
bool ss_xspace_open_made(struct ss_xspace *x, struct ss_file *f, struct ss_hold *hold, const char *path, struct ss_err *err);
void ss_xspace_close(struct ss_xspace *x);
/*
 * Say something of the file to the user, beside what opening found; there is room for some twenty.
 * False when memory is out.
 */
bool ss_xspace_note(struct ss_xspace *x, struct ss_str text, struct ss_err *err);

/* First plane of this name, NULL if there is none. */
const struct ss_xplane *ss_xspace_plane(const struct ss_xspace *x, struct ss_str name);

static inline bool ss_xplane_has(const struct ss_xplane *p, enum ss_stat stat)
{
	return p->has_stat[stat / 64] >> (stat % 64) & 1;
}

/* Index into event_meta or stat_meta of a metadata id, SS_NONE if the plane does not define it. */
static inline uint32_t ss_xplane_event_meta(const struct ss_xplane *p, uint64_t id)
{
	if (id < p->nevent_meta_direct)
		return p->event_meta_direct[id];
	return ss_u64map_get(&p->event_meta_by_id, id);
}

static inline uint32_t ss_xplane_stat_meta(const struct ss_xplane *p, uint64_t id)
{
	if (id < p->nstat_meta_direct)
		return p->stat_meta_direct[id];
	return ss_u64map_get(&p->stat_meta_by_id, id);
}

/*
 * One stat. Which member of the value is set is in `kind`; a reading of the wrong kind gives 0 or
 * "", as in XProf.
 */
enum ss_xkind { SS_X_NONE, SS_X_DOUBLE, SS_X_UINT, SS_X_INT, SS_X_STR, SS_X_BYTES };

struct ss_xstat {
	enum ss_stat stat;
	enum ss_xkind kind;
	uint32_t meta;		/* index into the plane's stat_meta; SS_NONE: not defined there */
	uint64_t u;		/* SS_X_UINT, SS_X_INT and SS_X_DOUBLE: the bits */
	struct ss_str s;	/* SS_X_STR (references resolved) and SS_X_BYTES */
};

static inline int64_t ss_xstat_int(const struct ss_xstat *s)
{
	return s->kind == SS_X_INT ? (int64_t)s->u : 0;
}

static inline uint64_t ss_xstat_uint(const struct ss_xstat *s)
{
	return s->kind == SS_X_UINT ? s->u : 0;
}

/* int64 or uint64, as writers are not consistent about it. */
static inline int64_t ss_xstat_int_or_uint(const struct ss_xstat *s)
{
	return s->kind == SS_X_INT || s->kind == SS_X_UINT ? (int64_t)s->u : 0;
}

static inline double ss_xstat_double(const struct ss_xstat *s)
{
	return s->kind == SS_X_DOUBLE ? ss_pb_double(s->u) : 0;
}

static inline struct ss_str ss_xstat_str(const struct ss_xstat *s)
{
	return s->kind == SS_X_STR ? s->s : (struct ss_str){ "", 0 };
}

/*
 * Walking the stats of an event, a metadata entry or a plane:
 *
 *	struct ss_xstats it = ss_xevent_meta_stats(plane, meta);
 *	struct ss_xstat s;
 *	while (ss_xstats_next(&it, &s)) ...
 *
 * A malformed stat ends the walk.
 */
struct ss_xstats {
	struct ss_pb c;
	const uint8_t *readable; /* end of the bytes that may be loaded: c.end or later */
	const struct ss_xplane *plane;
	uint32_t key;
};

static inline struct ss_xstats ss_xstats_of(const struct ss_xplane *plane, struct ss_str message, uint32_t key)
{
	struct ss_pb c = ss_pb_of(message);
	return (struct ss_xstats){ c, c.end, plane, key };
}

struct ss_xstats ss_xplane_stats(const struct ss_xplane *plane);
/* `meta` is an index into event_meta; SS_NONE walks nothing. */
struct ss_xstats ss_xevent_meta_stats(const struct ss_xplane *plane, uint32_t meta);
/* `event` is the body of an XEvent. */
struct ss_xstats ss_xevent_stats(const struct ss_xplane *plane, struct ss_str event);
/* Decode one serialized XStat. */
bool ss_xstat_parse(const struct ss_xplane *plane, struct ss_str bytes, struct ss_xstat *out);

/* Whatever ss_xstats_next does not do inline. */
bool ss_xstats_next_slow(struct ss_xstats *it, struct ss_xstat *out);
/* out->u names a stat metadata, whose name is the value. */
void ss_xstat_resolve(const struct ss_xplane *plane, struct ss_xstat *out);

/*
 * Nearly every stat is `<tag> <length> 08 <id> <kind> <number>` with a one-byte length and id and
 * an integer or a reference as its value: those are decoded here, some 5 ns each.
 */
static inline bool ss_xstats_next(struct ss_xstats *it, struct ss_xstat *out)
{
	static const uint8_t kinds[8] = { [3] = SS_X_UINT, [4] = SS_X_INT, [7] = SS_X_STR };
	const uint8_t *p = it->c.at, *end;
	uint64_t v;
	if (it->c.end - p < 6 || p[0] != it->key || p[2] != PB_VAR(1))
		return ss_xstats_next_slow(it, out);
	/* Read once each: the file may be written to between a test and what it is a test for. */
	uint8_t id = ss_pb_once(p + 3), tag = ss_pb_once(p + 4), n = ss_pb_once(p + 1);
	if (id >= 0x80 || id >= it->plane->nstat_meta_direct || (tag & 0xc7) != 0 || !kinds[tag >> 3])
		return ss_xstats_next_slow(it, out);
	end = p + 2 + n;
	out->kind = (enum ss_xkind)kinds[tag >> 3];
	out->meta = it->plane->stat_meta_direct[id];
	p += 5;
	/*
	 * A length of 128 and more, a longer value or a second field: then the value does not end
	 * where the stat does.
	 */
	if (!ss_pb_varint(&p, it->readable, &v) || p != end || end > it->c.end)
		return ss_xstats_next_slow(it, out);
	out->u = v;
	out->stat = out->meta == SS_NONE ? SS_STAT_OTHER : it->plane->stat_meta[out->meta].stat;
	it->c.at = end;
	if (out->kind == SS_X_STR)
		ss_xstat_resolve(it->plane, out);
	return true;
}

/* The first stat of this kind in the walk; false if there is none. */
bool ss_xstats_find(struct ss_xstats it, enum ss_stat stat, struct ss_xstat *out);

/* Name of event metadata: "" for SS_NONE (an id that the plane does not define). */
static inline struct ss_str ss_xevent_meta_name(const struct ss_xplane *p, uint32_t meta)
{
	return meta == SS_NONE ? (struct ss_str){ "", 0 } : p->event_meta[meta].name;
}

/* The name in the file, in any format. */
static inline struct ss_str ss_xevent_meta_name_in_file(const struct ss_xplane *p, uint32_t meta)
{
	bool other = meta != SS_NONE && p->event_meta[meta].name_in_file.n;
	return other ? p->event_meta[meta].name_in_file : ss_xevent_meta_name(p, meta);
}

#endif
