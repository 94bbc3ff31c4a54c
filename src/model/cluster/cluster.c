/* cluster.c - see cluster.h: making it, and unpacking parts of it. */
#include "model/cluster/cluster.h"

#include "model/fold.h"

#include <math.h>
#include <stdlib.h>

/*
 * Unpacked skeletons that are held at a time, by what they take; of parts that are looked at once.
 */
#define OPEN_BYTES ((uint64_t)128 << 20)
#define OPEN_BYTES_ONCE ((uint64_t)4 << 20)

const char *ss_host_state_name(enum ss_host_state state)
{
	static const char *const names[] = { "ok", "cut", "missing", "unreadable" };
	return names[state];
}

const char *ss_clock_state_name(enum ss_clock_state state)
{
	static const char *const names[] = { "good", "corrected", "unknown" };
	return names[state];
}

/* ---- times ---- */

/* ---- unpacked parts ---- */

static uint64_t bytes_of(const struct ss_skeleton *s)
{
	uint64_t n = s->events.cap * sizeof(*s->events.v) + s->ops.cap * sizeof(*s->ops.v) + s->arena.used_bytes +
		     s->unpacked.cap;
	for (size_t i = 0; i < s->devices.n; i++)
		n += s->devices.v[i].spans.cap * sizeof(struct ss_skel_span) +
		     s->devices.v[i].comms.cap * sizeof(struct ss_skel_comm);
	return n;
}

static void shut(struct ss_cluster *c, struct ss_cluster_part *p)
{
	if (!p->open)
		return;
	c->open_bytes -= bytes_of(p->open);
	ss_skeleton_free(p->open);
	free(p->open);
	p->open = NULL;
}

static void to_common_clock(const struct ss_cluster *c, const struct ss_cluster_part *p, struct ss_skeleton *s)
{
	for (size_t i = 0; i < s->events.n; i++) {
		s->events.v[i].begin_ps = ss_cluster_time(c, p, s->events.v[i].begin_ps);
		s->events.v[i].end_ps = ss_cluster_time(c, p, s->events.v[i].end_ps);
	}
	for (size_t k = 0; k < s->devices.n; k++) {
		struct ss_skel_device *d = &s->devices.v[k];
		for (size_t i = 0; i < d->spans.n; i++) {
			d->spans.v[i].begin_ps = ss_cluster_time(c, p, d->spans.v[i].begin_ps);
			d->spans.v[i].end_ps = ss_cluster_time(c, p, d->spans.v[i].end_ps);
		}
		for (size_t i = 0; i < d->comms.n; i++) {
			d->comms.v[i].begin_ps = ss_cluster_time(c, p, d->comms.v[i].begin_ps);
			d->comms.v[i].end_ps = ss_cluster_time(c, p, d->comms.v[i].end_ps);
		}
		for (size_t i = 0; i < d->steps.n; i++) {
			d->steps.v[i].begin_ps = ss_cluster_time(c, p, d->steps.v[i].begin_ps);
			d->steps.v[i].end_ps = ss_cluster_time(c, p, d->steps.v[i].end_ps);
		}
	}
}

/* Let go of those that were not asked for the longest. */
static void make_room(struct ss_cluster *c, const struct ss_cluster_part *keep, uint64_t bytes)
{
	while (c->open_bytes > bytes) {
		struct ss_cluster_part *oldest = NULL;
		for (uint32_t i = 0; i < c->nparts; i++)
			if (c->parts[i].open && &c->parts[i] != keep && (!oldest || c->parts[i].used < oldest->used))
				oldest = &c->parts[i];
		if (!oldest)
			return;
		shut(c, oldest);
	}
}

bool ss_cluster_outline(const struct ss_cluster *c, uint32_t part, struct ss_outline *o, struct ss_err *err)
{
	const struct ss_cluster_part *p = &c->parts[part];
	if (!ss_outline_open(c->outlines, p->number, p->packed, o, err))
		return false;
	to_common_clock(c, p, &o->s);
	return true;
}

static const struct ss_skeleton *open_part(struct ss_cluster *c, uint32_t part, uint64_t bytes, struct ss_err *err)
{
	struct ss_cluster_part *p = &c->parts[part];
	p->used = ++c->clock_of_use;
	if (p->open)
		return p->open;
	struct ss_skeleton *s = malloc(sizeof(*s));
	if (!s) {
		ss_fail_mem(err);
		return NULL;
	}
	if (!ss_skeleton_unpack(s, p->packed, err)) {
		free(s);
		return NULL;
	}
	to_common_clock(c, p, s);
	p->open = s;
	c->open_bytes += bytes_of(s);
	make_room(c, p, bytes);
	return s;
}

const struct ss_skeleton *ss_cluster_part(struct ss_cluster *c, uint32_t part, struct ss_err *err)
{
	return open_part(c, part, OPEN_BYTES, err);
}

const struct ss_skeleton *ss_cluster_part_once(struct ss_cluster *c, uint32_t part, struct ss_err *err)
{
	return open_part(c, part, OPEN_BYTES_ONCE, err);
}

void ss_cluster_rest(struct ss_cluster *c)
{
	make_room(c, NULL, OPEN_BYTES_ONCE);
}

/* ---- the whole ---- */

void ss_cluster_free(struct ss_cluster *c)
{
	if (!c)
		return;
	for (uint32_t i = 0; i < c->nparts; i++)
		shut(c, &c->parts[i]);
	free(c->parts);
	free(c->order);
	ss_vec_free(&c->hosts);
	ss_vec_free(&c->devices);
	ss_vec_free(&c->ops);
	ss_vec_free(&c->groups);
	ss_vec_free(&c->members);
	ss_vec_free(&c->keys);
	ss_vec_free(&c->collectives);
	ss_vec_free(&c->steps);
	ss_vec_free(&c->step_nums);
	ss_vec_free(&c->notes);
	ss_strmap_free(&c->names);
	ss_arena_release(&c->arena);
	ss_outlines_free(c->own_outlines);
	pthread_mutex_destroy(&c->lock);
	free(c);
}

struct ss_cluster *ss_cluster_of(const struct ss_str *packed, size_t n, struct ss_outlines *outlines, struct ss_err *err)
{
	struct ss_cluster *c = calloc(1, sizeof(*c));
	if (c)
		pthread_mutex_init(&c->lock, NULL);
	bool ok = c && n < UINT32_MAX && (c->parts = calloc(n + 1, sizeof(*c->parts))) &&
		  (outlines || (c->own_outlines = ss_outlines_new(packed, n)));
	if (!ok) {
		ss_cluster_free(c);
		ss_fail_mem(err);
		return NULL;
	}
	c->outlines = outlines ? outlines : c->own_outlines;
	for (; c->nparts < n; c->nparts++)
		c->parts[c->nparts] = (struct ss_cluster_part){ .packed = packed[c->nparts], .number = c->nparts };
	ok = ss_cluster_unite(c, err) &&
	     ((ss_cluster_number_steps(c) && ss_cluster_place(c) && ss_cluster_join(c) && ss_cluster_align(c) &&
	       ss_cluster_time_collectives(c) && ss_cluster_find_strangers(c) && ss_cluster_find_apart(c)) ||
	      ss_fail_mem(err));
	if (ok)
		return c;
	ss_cluster_free(c);
	return NULL;
}

/* ---- as a part of the model ---- */

struct gathered {
	struct ss_cluster *cluster; /* first: what the getter returns */
	SS_VEC(struct ss_str) packed; /* of hosts that go away: in memory of our own */
	struct ss_intern intern;
};

static bool pack_host(struct ss_host *h, struct ss_buf *to, struct ss_err *err)
{
	struct ss_skeleton s;
	if (!ss_skeleton_read(&s, h, err))
		return false;
	bool ok = ss_skeleton_pack(&s, to, err);
	ss_skeleton_free(&s);
	return ok;
}

static void *build_packed(void *owner, struct ss_err *err)
{
	struct ss_buf *b = calloc(1, sizeof(*b));
	if (!b) {
		ss_fail_mem(err);
		return NULL;
	}
	if (pack_host(owner, b, err))
		return b;
	ss_buf_free(b);
	free(b);
	return NULL;
}

static void release_packed(void *data)
{
	ss_buf_free(data);
	free(data);
}

static const struct ss_host_fact of_host = { SS_HOST_SKELETON, build_packed, release_packed };

const struct ss_buf *ss_host_skeleton(struct ss_host *h, struct ss_err *err)
{
	return ss_host_fact_get(h, &of_host, err);
}

static bool take_host(void *data, size_t i, struct ss_host *h, const void *fact, struct ss_err *err)
{
	struct gathered *g = data;
	struct ss_str bytes = ss_buf_get(fact);
	(void)i, (void)h;
	if (g->intern.copies) {
		const char *copy = ss_intern_copy(&g->intern, bytes.p, bytes.n, 1);
		bytes.p = copy;
		if (!copy)
			return ss_fail_mem(err);
	}
	return ss_vec_push(&g->packed, bytes) || ss_fail_mem(err);
}

static bool end(void *data, struct ss_err *err)
{
	struct gathered *g = data;
	g->cluster = ss_cluster_of(g->packed.v, g->packed.n, NULL, err);
	return g->cluster;
}

static void release(void *data)
{
	struct gathered *g = data;
	ss_cluster_free(g->cluster);
	ss_vec_free(&g->packed);
	ss_intern_release(&g->intern);
	free(g);
}

/* In the order of the parts, which is the session's. */
static void *unvisited(struct ss_model *m, struct ss_err *err)
{
	struct gathered *g = calloc(1, sizeof(*g));
	if (!g) {
		ss_fail_mem(err);
		return NULL;
	}
	g->cluster = ss_cluster_of(m->opener.skeletons, m->nhosts, m->opener.outlines, err);
	if (g->cluster)
		return g;
	release(g);
	return NULL;
}

const struct ss_fold ss_fold_cluster = {
	.part = SS_MODEL_CLUSTER,
	SS_FOLD_DATA(struct gathered),
	.of = &of_host,
	.take = take_host,
	.end = end,
	.release = release,
	.unvisited = unvisited,
};

struct ss_cluster *ss_model_cluster(struct ss_model *m, struct ss_err *err)
{
	struct gathered *g = ss_fold_get(m, &ss_fold_cluster, err);
	return g ? g->cluster : NULL;
}

bool ss_cluster_any_device(const struct ss_cluster *c)
{
	for (size_t h = 0; h < c->hosts.n; h++)
		if (c->hosts.v[h].ndevices)
			return true;
	return false;
}
