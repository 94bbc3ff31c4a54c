/* stats.c - names of stats and decoding of XStat messages. */
#include "xspace/fields.h"
#include "xspace/xspace.h"

static const struct ss_str names[] = {
	SS_STR_INIT(""),
#define STAT(id, name) SS_STR_INIT(name),
#include "xspace/stats.def"
#undef STAT
};

enum ss_stat ss_stat_of(struct ss_str name)
{
	size_t at = ss_str_find_in_order(names + 1, SS_COUNT(names) - 1, name);
	return at == SS_NPOS ? SS_STAT_OTHER : (enum ss_stat)(at + 1);
}

struct ss_str ss_stat_name(enum ss_stat stat)
{
	return names[stat];
}

/* Long strings that repeat are stored once, as names of stat metadata. */
void ss_xstat_resolve(const struct ss_xplane *plane, struct ss_xstat *out)
{
	uint32_t meta = ss_xplane_stat_meta(plane, out->u);
	out->kind = SS_X_STR;
	out->s = meta == SS_NONE ? (struct ss_str){ "", 0 } : plane->stat_meta[meta].name;
}

bool ss_xstat_parse(const struct ss_xplane *plane, struct ss_str bytes, struct ss_xstat *out)
{
	struct ss_pb c = ss_pb_of(bytes);
	struct ss_pb_field f;
	uint64_t id = 0;
	out->kind = SS_X_NONE;
	out->u = 0;
	while (ss_pb_next(&c, &f)) {
		switch (f.key) {
		case PB_VAR(XSTAT_METADATA_ID):
			id = f.u;
			break;
		case PB_I64(XSTAT_DOUBLE_VALUE):
			out->kind = SS_X_DOUBLE;
			out->u = f.u;
			break;
		case PB_VAR(XSTAT_UINT64_VALUE):
			out->kind = SS_X_UINT;
			out->u = f.u;
			break;
		case PB_VAR(XSTAT_INT64_VALUE):
			out->kind = SS_X_INT;
			out->u = f.u;
			break;
		case PB_LEN(XSTAT_STR_VALUE):
			out->kind = SS_X_STR;
			out->s = f.bytes;
			break;
		case PB_LEN(XSTAT_BYTES_VALUE):
			out->kind = SS_X_BYTES;
			out->s = f.bytes;
			break;
		case PB_VAR(XSTAT_REF_VALUE):
			out->u = f.u;
			ss_xstat_resolve(plane, out);
			break;
		}
	}
	out->meta = ss_xplane_stat_meta(plane, id);
	out->stat = out->meta == SS_NONE ? SS_STAT_OTHER : plane->stat_meta[out->meta].stat;
	return !c.bad;
}

/* A message inside the plane: whatever follows it up to the plane's end may be loaded too, though not used. */
static struct ss_xstats inside(const struct ss_xplane *plane, struct ss_str message, uint32_t key)
{
	struct ss_xstats it = ss_xstats_of(plane, message, key);
	if (message.n)
		it.readable = (const uint8_t *)plane->body.p + plane->body.n;
	return it;
}

struct ss_xstats ss_xplane_stats(const struct ss_xplane *plane)
{
	return inside(plane, plane->body, PB_LEN(XPLANE_STATS));
}

struct ss_xstats ss_xevent_meta_stats(const struct ss_xplane *plane, uint32_t meta)
{
	struct ss_str body = meta == SS_NONE ? (struct ss_str){ "", 0 } : plane->event_meta[meta].body;
	return inside(plane, body, PB_LEN(XEVENT_METADATA_STATS));
}

/* Writers put id, offset and duration first: passed over here, so that the walk begins at a stat. */
struct ss_xstats ss_xevent_stats(const struct ss_xplane *plane, struct ss_str event)
{
	struct ss_xstats it = inside(plane, event, PB_LEN(XEVENT_STATS));
	const uint8_t *p = it.c.at;
	while (p < it.c.end && (*p & 0x87) == 0 && *p >= 8) {
		p++;
		if (!ss_pb_skip(&p, it.readable) || p > it.c.end)
			break;
		it.c.at = p;
	}
	return it;
}

bool ss_xstats_next_slow(struct ss_xstats *it, struct ss_xstat *out)
{
	struct ss_pb_field f;
	while (ss_pb_next(&it->c, &f))
		if (f.key == it->key)
			return ss_xstat_parse(it->plane, f.bytes, out);
	return false;
}

bool ss_xstats_find(struct ss_xstats it, enum ss_stat stat, struct ss_xstat *out)
{
	while (ss_xstats_next(&it, out))
		if (out->stat == stat)
			return true;
	return false;
}
