/* torch.c - the part: what the trace says of itself, then the stages of torch_build.h. */
#include "model/torch/torch.h"
#include "model/host/identity.h"

#include "base/bisect.h"
#include "model/host/host.h"
#include "model/host/plane.h"
#include "model/torch/torch_build.h"
#include "wire/json_tree.h"

#include <stdlib.h>

/* Stats that no other profile has: PyTorch's own, or the importer's for its categories. */
static bool is_torch_plane(const struct ss_xplane *x)
{
	bool category = false, id = false;
	for (uint32_t i = 0; i < x->nstat_meta; i++) {
		category |= ss_str_is(x->stat_meta[i].name, "category");
		id |= ss_str_ieq(x->stat_meta[i].name, SS_STR("External id")) ||
		      ss_str_ieq(x->stat_meta[i].name, SS_STR("Ev Idx")) ||
		      ss_str_is(x->stat_meta[i].name, "Python id") || x->stat_meta[i].stat == SS_STAT_CORRELATION_ID ||
		      ss_str_is(x->stat_meta[i].name, "stream");
	}
	return category && id;
}

/* The trace's own metadata. The trace may have no events. */
static bool has_schema(const struct ss_host *h)
{
	const struct ss_plane *p = ss_host_plane(h, SS_PLANE_TASK_ENV);
	for (uint32_t k = 0; p && k < p->x->nstat_meta; k++)
		if (ss_str_is(p->x->stat_meta[k].name, "schemaVersion"))
			return true;
	return false;
}

bool ss_host_is_torch(const struct ss_host *h)
{
	for (uint32_t i = 0; h->imported.any && i < h->nplanes; i++)
		if (is_torch_plane(h->planes[i].x))
			return true;
	return h->imported.any && has_schema(h);
}

bool ss_host_names_torch_modules(const struct ss_host *h)
{
	for (uint32_t i = 0; ss_host_is_torch(h) && i < h->nplanes; i++)
		for (uint32_t k = 0; k < h->planes[i].x->nevent_meta; k++)
			if (ss_str_starts(h->planes[i].x->event_meta[k].name, SS_STR(SS_TORCH_MODULE)))
				return true;
	return false;
}

bool ss_host_is_kineto(const struct ss_host *h)
{
	static const struct ss_str own[] = { SS_STR_INIT("External id"), SS_STR_INIT("Ev Idx"), SS_STR_INIT("Python id"),
					     SS_STR_INIT("Record function id"), SS_STR_INIT("schemaVersion") };
	for (uint32_t i = 0; h->imported.any && i < h->nplanes; i++)
		for (uint32_t k = 0; k < h->planes[i].x->nstat_meta; k++)
			for (size_t n = 0; n < SS_COUNT(own); n++)
				if (ss_str_ieq(h->planes[i].x->stat_meta[k].name, own[n]))
					return true;
	return false;
}

bool ss_host_names_ranges(const struct ss_host *h)
{
	return h->imported.launch_ops || ss_host_is_kineto(h);
}

/* ---- what the trace says of itself ---- */

static bool read_gpus(struct ss_torch *t, struct ss_str text)
{
	struct ss_err why = { 0 };
	const struct ss_jnode *root = ss_jtree_of_json(text, &t->arena, &why);
	for (const struct ss_jnode *d = root && root->kind == SS_J_ARRAY ? root->first : NULL; d; d = d->next) {
		struct ss_torch_gpu g = { .name = ss_jnode_text(d, "name") };
		g.id = (int64_t)ss_jnode_num(d, "id", -1);
		double bytes = ss_jnode_num(d, "totalGlobalMem", 0);
		g.memory_bytes = bytes > 0 && bytes < 9e18 ? (int64_t)bytes : 0;
		g.sms = (int64_t)ss_jnode_num(d, "numSms", 0);
		g.major = (int64_t)ss_jnode_num(d, "computeMajor", 0);
		g.minor = (int64_t)ss_jnode_num(d, "computeMinor", 0);
		if (!ss_vec_push(&t->gpus, g))
			return false;
	}
	return why.code != SS_ENOMEM;
}

static bool read_job(struct ss_torch *t, struct ss_str text)
{
	struct ss_err why = { 0 };
	const struct ss_jnode *root = ss_jtree_of_json(text, &t->arena, &why);
	double rank = ss_jnode_num(root, "rank", -1), world = ss_jnode_num(root, "world_size", -1);
	t->rank = rank >= 0 && rank < 1e9 ? (int64_t)rank : -1;
	t->world_size = world >= 0 && world < 1e9 ? (int64_t)world : -1;
	double groups = ss_jnode_num(root, "pg_count", -1);
	t->groups = groups >= 0 && groups < 1e9 ? (int64_t)groups : -1;
	return why.code != SS_ENOMEM;
}

static bool read_about(struct ss_torch *t, const struct ss_host *h)
{
	const struct ss_plane *p = ss_host_plane(h, SS_PLANE_TASK_ENV);
	const struct {
		const char *name;
		bool *flag;
	} flags[] = {
		{ "record_shapes", &t->record_shapes }, { "profile_memory", &t->profile_memory },
		{ "with_stack", &t->with_stack },	{ "with_modules", &t->with_modules },
		{ "with_flops", &t->with_flops },
	};
	struct ss_xstats it;
	struct ss_xstat s;
	if (!p)
		return true;
	for (it = ss_xplane_stats(p->x); ss_xstats_next(&it, &s);) {
		struct ss_str name = s.meta == SS_NONE ? SS_STR("") : p->x->stat_meta[s.meta].name;
		for (size_t i = 0; i < SS_COUNT(flags); i++)
			if (ss_str_is(name, flags[i].name))
				*flags[i].flag = s.kind == SS_X_STR ? !ss_str_is(s.s, "0") : s.u != 0;
		if (ss_str_is(name, "deviceProperties") && !read_gpus(t, ss_xstat_str(&s)))
			return false;
		if (ss_str_is(name, "distributedInfo") && !read_job(t, ss_xstat_str(&s)))
			return false;
	}
	return true;
}

/* ---- the part ---- */

static void release(void *data)
{
	struct ss_torch *t = data;
	ss_strmap_free(&t->texts);
	ss_vec_free(&t->threads);
	ss_vec_free(&t->ops);
	ss_vec_free(&t->shapes);
	ss_vec_free(&t->op_comms);
	ss_vec_free(&t->calls);
	ss_vec_free(&t->device);
	ss_vec_free(&t->by_call);
	ss_vec_free(&t->ranges);
	ss_vec_free(&t->modules);
	ss_vec_free(&t->frames);
	ss_vec_free(&t->comms);
	ss_vec_free(&t->memory);
	ss_vec_free(&t->steps);
	ss_vec_free(&t->gpus);
	ss_arena_release(&t->arena);
	free(t);
}

static void free_build(struct ss_torch_build *b)
{
	ss_vec_free(&b->op_ids);
	ss_vec_free(&b->call_ids);
	ss_vec_free(&b->device_ids);
	ss_vec_free(&b->call_links);
	ss_vec_free(&b->device_links);
	ss_vec_free(&b->device_arrows);
	ss_u64map_free(&b->shape_of);
	ss_vec_free(&b->open);
	ss_u64map_free(&b->frame_of);
	ss_u64map_free(&b->path_of);
	ss_buf_free(&b->text);
}

/* What growing took beyond what is there goes back. A block that cannot be made smaller stays as it is. */
static void trim(void **v, size_t n, size_t *cap, size_t size)
{
	void *less = n && n < *cap ? realloc(*v, n * size) : NULL;
	if (!less)
		return;
	*v = less;
	*cap = n;
}

#define TRIM(vec) trim((void **)&(vec).v, (vec).n, &(vec).cap, sizeof(*(vec).v))

static void trim_all(struct ss_torch *t)
{
	TRIM(t->ops);
	TRIM(t->op_comms);
	TRIM(t->calls);
	TRIM(t->device);
	TRIM(t->by_call);
	TRIM(t->ranges);
	TRIM(t->modules);
	TRIM(t->comms);
	TRIM(t->memory);
}

static bool fill(struct ss_torch *t, struct ss_host *h, struct ss_err *err)
{
	struct ss_torch_build b = { .t = t, .h = h };
	bool ok = ss_strmap_add(&t->texts, SS_STR("")) != SS_NONE;
	t->is_torch = ss_host_is_torch(h);
	t->kineto = ss_host_is_kineto(h);
	if (ok && t->is_torch) {
		ok = read_about(t, h);
		if (ok && !ss_torch_read(&b, err)) {
			free_build(&b);
			return false;
		}
		ok = ok && ss_torch_nest(&b) && ss_torch_find_steps(t);
	}
	free_build(&b);
	trim_all(t);
	return ok || ss_fail_mem(err);
}

static void *build(void *owner, struct ss_err *err)
{
	struct ss_torch *t = calloc(1, sizeof(*t));
	if (t) {
		t->rank = t->world_size = t->groups = -1;
		if (fill(t, owner, err))
			return t;
		release(t);
		return NULL;
	}
	ss_fail_mem(err);
	return NULL;
}

const struct ss_torch *ss_host_torch(struct ss_host *h, struct ss_err *err)
{
	if (ss_host_is_described(h)) {
		ss_fail(err, SS_EINVAL, "host '" SS_FMT "' is not open", SS_ARG(h->name));
		return NULL;
	}
	return ss_part_get(&h->parts[SS_HOST_TORCH], build, release, h, err);
}

uint32_t ss_torch_op_comm(const struct ss_torch *t, uint32_t op)
{
	size_t from = 0, to = t->op_comms.n;
	SS_BISECT(from, to, mid, t->op_comms.v[mid].op < op);
	return from < t->op_comms.n && t->op_comms.v[from].op == op ? t->op_comms.v[from].comm : SS_NONE;
}

#define MAX_FRAMES 200	/* of a stack that is shown */

struct ss_str ss_torch_stack(const struct ss_torch *t, uint32_t stack, struct ss_arena *arena)
{
	struct ss_buf b = { 0 };
	if (stack == SS_NONE || !t->stack_is_frame)
		return stack == SS_NONE ? SS_STR("") : ss_torch_text(t, stack);
	size_t n = 0;
	for (uint32_t f = stack; f != SS_NONE && n < MAX_FRAMES; f = t->frames.v[f].parent, n++) {
		if (n)
			ss_buf_char(&b, ';');
		ss_buf_str(&b, ss_torch_text(t, t->frames.v[f].name));
	}
	return ss_buf_to_arena(&b, arena);
}
