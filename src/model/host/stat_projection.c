/* stat_projection.c - stats that are asked for. */
#include "model/host/stat_projection.h"

static unsigned index_of(const struct ss_stat_projection *w, enum ss_stat stat)
{
	unsigned k = 0;
	while (k < w->nstats && w->stats[k] != stat)
		k++;
	return k;
}

bool ss_projection_init(struct ss_stat_projection *w, const struct ss_xplane *x, const enum ss_stat *stats, unsigned nstats,
		    struct ss_arena *arena)
{
	*w = (struct ss_stat_projection){ .x = x, .stats = stats, .nstats = nstats, .direct = true,
					   .nby_id = x->nstat_meta_direct };
	w->nshort = w->nby_id < 0x80 ? w->nby_id : 0x80;
	w->by_id = ss_arena_zalloc(arena, (size_t)w->nby_id + 1, 1);
	if (!w->by_id)
		return false;
	for (uint32_t i = 0; i < x->nstat_meta; i++) {
		if (index_of(w, x->stat_meta[i].stat) == nstats)
			continue;
		w->any = true;
		w->ids |= ss_stat_id_bit((uint64_t)x->stat_meta[i].id);
		w->direct &= (uint64_t)x->stat_meta[i].id < w->nby_id;
	}
	for (uint32_t id = 0; id < w->nby_id; id++) {
		uint32_t i = x->stat_meta_direct[id];
		unsigned k = i == SS_NONE ? nstats : index_of(w, x->stat_meta[i].stat);
		w->by_id[id] = k == nstats ? 0 : (uint8_t)(k + 1);
	}
	return true;
}

/*
 * Behind the metadata id stands one number, as uint64 or int64: nothing more needs decoding. False:
 * something else does.
 */
static bool read_number(const struct ss_stat_projection *w, struct ss_str stat, unsigned which, struct ss_xstat *out)
{
	const uint8_t *p = (const uint8_t *)stat.p + (((const uint8_t *)stat.p)[1] < 0x80 ? 2 : 3);
	const uint8_t *end = (const uint8_t *)stat.p + stat.n;
	uint8_t tag = p < end ? *p++ : 0;
	if (tag != PB_VAR(XSTAT_INT64_VALUE) && tag != PB_VAR(XSTAT_UINT64_VALUE))
		return false;
	out->stat = w->stats[which];
	out->kind = tag == PB_VAR(XSTAT_INT64_VALUE) ? SS_X_INT : SS_X_UINT;
	out->meta = SS_NONE;
	out->s = (struct ss_str){ "", 0 };
	return ss_pb_varint(&p, end, &out->u) && p == end;
}

/*
 * The next stat's bytes. Events begin with three or four small numbers, and their stats are short:
 * with tags and lengths of one byte a field is passed over by looking at it. Anything else goes
 * through the cursor.
 */
static bool next_stat(struct ss_projection_walk *walk, struct ss_str *stat)
{
	const uint8_t *p = walk->c.at, *end = walk->c.end;
	struct ss_pb_field f;
	for (;;) {
		while (p < end && *p < 0x80 && (*p & 7) == 0 && *p >= 8) {
			const uint8_t *q = p + 1;
			while (q < end && *q >= 0x80)
				q++;
			if (q == end || q - p > 10)
				break;
			p = q + 1;
		}
		uint8_t n = end - p >= 2 && *p == walk->key ? ss_pb_once(p + 1) : 0x80;
		if (n < 0x80 && n <= end - p - 2) {
			*stat = (struct ss_str){ (const char *)p + 2, n };
			walk->c.at = p + 2 + n;
			return true;
		}
		walk->c.at = p;
		if (!ss_pb_next(&walk->c, &f))
			return false;
		if (f.key == walk->key) {
			*stat = f.bytes;
			return true;
		}
		p = walk->c.at;
	}
}

/*
 * Nearly every stat is `<tag> <length> 08 <id> <kind> <number>` with a one-byte length and id.
 * Passes over those that are not wanted, and over the event's own numbers; true when it has read
 * one that is. False at whatever is spelled otherwise.
 */
static bool read_usual(struct ss_projection_walk *walk, unsigned *which, struct ss_xstat *out)
{
	const struct ss_stat_projection *w = walk->w;
	const uint8_t *p = walk->c.at, *end = walk->c.end;
	const uint32_t key = walk->key, nshort = w->nshort;
	while (end - p >= 6) {
		const uint8_t *q = p + 1;
		if (*p == key) {
			uint32_t n = ss_pb_once(p + 1), id = ss_pb_once(p + 3);
			if (n >= 0x80 || n < 4 || n > end - p - 2 || p[2] != PB_VAR(XSTAT_METADATA_ID) || id >= nshort)
				break;
			unsigned k = w->by_id[id];
			if (!k) {
				p += 2 + n;
				continue;
			}
			walk->c.at = p;
			q = p + 5;
			if ((p[4] != PB_VAR(XSTAT_INT64_VALUE) && p[4] != PB_VAR(XSTAT_UINT64_VALUE)) ||
			    !ss_pb_varint(&q, walk->readable, &out->u) || q != p + 2 + n)
				return false;
			*which = k - 1;
			out->stat = w->stats[k - 1];
			out->kind = p[4] == PB_VAR(XSTAT_INT64_VALUE) ? SS_X_INT : SS_X_UINT;
			out->meta = SS_NONE;
			out->s = (struct ss_str){ "", 0 };
			walk->c.at = q;
			return true;
		}
		if (*p < 8 || (*p & 0x87) != 0 || !ss_pb_skip(&q, walk->readable) || q > end)
			break;
		p = q;
	}
	walk->c.at = p;
	return false;
}

bool ss_projection_read(struct ss_projection_walk *walk, unsigned *which, struct ss_xstat *out)
{
	const struct ss_stat_projection *w = walk->w;
	struct ss_str stat;
	for (;;) {
		if (w->direct && read_usual(walk, which, out))
			return true;
		if (walk->c.at == walk->c.end || !next_stat(walk, &stat))
			return false;
		*which = ss_projection_glance(w, stat);
		if (*which == w->nstats)
			continue;
		if (*which < w->nstats && read_number(w, stat, *which, out))
			return true;
		if (!ss_xstat_parse(w->x, stat, out))
			return false;
		*which = index_of(w, out->stat);
		if (*which < w->nstats)
			return true;
	}
}
