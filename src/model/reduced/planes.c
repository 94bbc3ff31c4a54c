/* planes.c - the planes of a host with their stats and nothing else, as an XSpace. */
#include "model/reduced/facts.h"
#include "model/host/plane.h"
#include "model/host/host.h"
#include "wire/pb_out.h"
#include "xspace/fields.h"

/* Of stats those that say something of the plane, with a metadata of its own each: few planes have more than ten. */
static void put_stat(struct ss_buf *plane, const struct ss_xplane *x, const struct ss_xstat *s, uint32_t id)
{
	struct ss_buf meta = { 0 }, entry = { 0 }, stat = { 0 };
	ss_pbo_uint(&meta, XSTAT_METADATA_META_ID, id);
	ss_pbo_bytes(&meta, XSTAT_METADATA_NAME, x->stat_meta[s->meta].name);
	ss_pbo_uint(&entry, 1, id);
	ss_pbo_bytes(&entry, 2, ss_buf_get(&meta));
	ss_pbo_bytes(plane, XPLANE_STAT_METADATA, ss_buf_get(&entry));
	ss_pbo_uint(&stat, XSTAT_METADATA_ID, id);
	if (s->kind == SS_X_DOUBLE)
		ss_pbo_fixed64(&stat, XSTAT_DOUBLE_VALUE, s->u);
	else if (s->kind == SS_X_UINT)
		ss_pbo_uint(&stat, XSTAT_UINT64_VALUE, s->u);
	else if (s->kind == SS_X_INT)
		ss_pbo_uint(&stat, XSTAT_INT64_VALUE, s->u);
	else if (s->kind == SS_X_STR)
		ss_pbo_bytes(&stat, XSTAT_STR_VALUE, s->s);
	else if (s->kind == SS_X_BYTES)
		ss_pbo_bytes(&stat, XSTAT_BYTES_VALUE, s->s);
	ss_pbo_bytes(plane, XPLANE_STATS, ss_buf_get(&stat));
	plane->no_memory |= meta.no_memory || entry.no_memory || stat.no_memory;
	ss_buf_free(&meta);
	ss_buf_free(&entry);
	ss_buf_free(&stat);
}

/* That it has lines is told by one without a name. */
static void put_plane(struct ss_buf *to, const struct ss_plane *p)
{
	struct ss_buf plane = { 0 };
	struct ss_xstats it = ss_xplane_stats(p->x);
	struct ss_xstat s;
	uint32_t id = 0;
	ss_pbo_uint(&plane, XPLANE_ID, (uint64_t)p->id);
	ss_pbo_bytes(&plane, XPLANE_NAME, p->name);
	while (ss_xstats_next(&it, &s))
		if (s.meta != SS_NONE && p->kind != SS_PLANE_METADATA)
			put_stat(&plane, p->x, &s, ++id);
	if (p->nlines)
		ss_pbo_bytes(&plane, XPLANE_LINES, SS_STR(""));
	ss_pbo_bytes(to, XSPACE_PLANES, ss_buf_get(&plane));
	to->no_memory |= plane.no_memory;
	ss_buf_free(&plane);
}

static void put_texts(struct ss_buf *to, uint32_t field, const struct ss_str *v, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		ss_pbo_bytes(to, field, v[i]);
}

void ss_facts_planes(const struct ss_host *h, struct ss_buf *to)
{
	for (uint32_t i = 0; i < h->nplanes; i++)
		put_plane(to, &h->planes[i]);
	put_texts(to, XSPACE_ERRORS, h->x.errors, h->x.nerrors);
	put_texts(to, XSPACE_WARNINGS, h->x.warnings, h->x.nwarnings);
	put_texts(to, XSPACE_HOSTNAMES, h->x.hostnames, h->x.nhostnames);
	/* A plane of a host without any: no bytes are no XSpace. */
	if (!to->n)
		ss_pbo_bytes(to, XSPACE_PLANES, SS_STR(""));
}
