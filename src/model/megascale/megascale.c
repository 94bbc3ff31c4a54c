/*
 * megascale.c - collecting tracks, giving their events run ids, and hiding operations too short to
 * be seen. Flows stand in megascale_flows.c, counters in megascale_count.c.
 */
#include "model/megascale/megascale.h"
#include "model/host/plane.h"

#include "base/vec.h"
#include "model/host/host.h"

#include <stdlib.h>

/* Operations shorter than this, several in one nanosecond, become one event. */
#define TINY_PS 1000
/* Text of the names of hidden events. */
#define HIDDEN_BYTES 4096

/* "...^i12..." is iteration 12; -1 without. */
static int64_t iteration_of(struct ss_str key)
{
	int64_t n;
	for (size_t i = key.n; i-- > 0;) {
		struct ss_str rest = ss_str_sub(key, i, key.n);
		if (ss_str_take(&rest, SS_STR("^i")) && ss_ms_read_number(&rest, &n))
			return n;
	}
	return -1;
}

static bool add_event(struct ss_ms_track *t, const struct ss_line *l, uint32_t i)
{
	if (!ss_grow((void **)&t->v, &t->cap, t->n + 1, sizeof(*t->v)))
		return false;
	t->v[t->n++] = (struct ss_ms_event){ l->ev.begin_ps[i], l->ev.dur_ps[i], l, i, SS_NONE, SS_MS_NO_RUN };
	return true;
}

static int in_time(const void *a, const void *b)
{
	const struct ss_ms_event *x = a, *y = b;
	return SS_CMP(x->begin_ps, y->begin_ps) ?: SS_CMP(y->dur_ps, x->dur_ps) ?: SS_CMP(x->at, y->at);
}

static bool add_line(struct ss_ms_tpu *tpu, const struct ss_plane *p, const struct ss_line *l)
{
	if (!l->ev.n)
		return true;
	if (!ss_grow((void **)&tpu->lines, &tpu->line_cap, tpu->nlines + 1, sizeof(*tpu->lines)))
		return false;
	struct ss_ms_track *t = &tpu->lines[tpu->nlines++];
	*t = (struct ss_ms_track){ .name = l->name, .plane = p, .device = -1, .iteration = -1 };
	if (!ss_grow((void **)&t->v, &t->cap, l->ev.n, sizeof(*t->v)))
		return false;
	for (uint32_t i = 0; i < l->ev.n; i++)
		if (!add_event(t, l, i))
			return false;
	if (!l->ev.sorted)
		qsort(t->v, t->n, sizeof(*t->v), in_time);
	return true;
}

static bool add_tpu(struct ss_megascale *m, const struct ss_plane *p)
{
	static const char *const names[] = { "Steps", "XLA Modules", "XLA Ops", "XLA TraceMe" };
	struct ss_str digits = ss_str_sub(p->name, SS_STR("/device:TPU:").n, p->name.n);
	int64_t number;
	if (!ss_ms_read_number(&digits, &number) || digits.n)
		return true;
	if (!ss_grow((void **)&m->tpus, &m->tpu_cap, m->ntpus + 1, sizeof(*m->tpus)))
		return false;
	struct ss_ms_tpu *tpu = &m->tpus[m->ntpus++];
	*tpu = (struct ss_ms_tpu){ .name = p->name, .number = number };
	for (size_t k = 0; k < SS_COUNT(names); k++)
		for (uint32_t i = 0; i < p->nlines; i++)
			if (p->lines[i].src && ss_str_is(p->lines[i].name, names[k]) && !add_line(tpu, p, &p->lines[i]))
				return false;
	return true;
}

static int by_number(const void *a, const void *b)
{
	const struct ss_ms_tpu *x = a, *y = b;
	return SS_CMP(x->number, y->number);
}

/* The runtime's tracks, before they are given to TensorCores. */
struct runtime {
	struct ss_strmap keys;	/* graph keys to tracks */
	SS_VEC(struct ss_ms_track) tracks;
	SS_VEC(int64_t) devices;
};

static bool add_runtime_event(struct ss_megascale *m, struct runtime *r, const struct ss_plane *p,
			      const struct ss_line *l, uint32_t i)
{
	struct ss_xstat s;
	struct ss_str key, collective;
	int64_t device;
	if (!ss_xstats_find(ss_line_stats(p, l, i), SS_STAT_MEGASCALE_GRAPH_KEY, &s))
		return true;
	key = ss_xstat_str(&s);
	if (!ss_ms_parse_key(key, &device, &collective))
		return true;
	uint32_t t = ss_strmap_add(&r->keys, key);
	if (t == SS_NONE)
		return false;
	if (t == r->tracks.n) {
		struct ss_ms_track track = { .plane = p, .device = device, .iteration = iteration_of(key) };
		track.name = ss_arena_printf(&m->arena, SS_FMT " (%lld)", SS_ARG(collective), (long long)device);
		if (!track.name.p || !ss_vec_push(&r->tracks, track) || !ss_vec_push(&r->devices, device))
			return false;
	}
	return add_event(&r->tracks.v[t], l, i);
}

static int by_name(const void *a, const void *b)
{
	const struct ss_ms_track *x = a, *y = b;
	return ss_str_cmp(x->name, y->name) ?: SS_CMP(x->iteration, y->iteration) ?: SS_CMP(x->v[0].at, y->v[0].at);
}

/* The k-th device of the runtime is the k-th TensorCore; devices beyond belong to nobody here. */
static bool give_to_tpus(struct ss_megascale *m, struct runtime *r)
{
	size_t n = 0;
	if (!r->tracks.n)
		return true;
	qsort(r->devices.v, r->devices.n, sizeof(*r->devices.v), ss_cmp_i64);
	for (size_t i = 0; i < r->devices.n; i++)
		if (!n || r->devices.v[n - 1] != r->devices.v[i])
			r->devices.v[n++] = r->devices.v[i];
	qsort(r->tracks.v, r->tracks.n, sizeof(*r->tracks.v), by_name);
	for (size_t i = 0; i < r->tracks.n; i++) {
		struct ss_ms_track *t = &r->tracks.v[i];
		const int64_t *at = bsearch(&t->device, r->devices.v, n, sizeof(*r->devices.v), ss_cmp_i64);
		size_t k = at ? (size_t)(at - r->devices.v) : m->ntpus;
		if (k >= m->ntpus)
			continue;
		struct ss_ms_tpu *tpu = &m->tpus[k];
		if (!ss_grow((void **)&tpu->runtime, &tpu->runtime_cap, tpu->nruntime + 1, sizeof(*tpu->runtime)))
			return false;
		qsort(t->v, t->n, sizeof(*t->v), in_time);
		tpu->runtime[tpu->nruntime++] = *t;
		t->v = NULL;
	}
	return true;
}

static bool collect_runtime(struct ss_megascale *m, const struct ss_host *h)
{
	struct runtime r = { 0 };
	bool ok = true;
	for (uint32_t i = 0; ok && i < h->nplanes; i++) {
		const struct ss_plane *p = &h->planes[i];
		if (!ss_str_is(p->name, "/device:CUSTOM:Megascale Trace"))
			continue;
		for (uint32_t k = 0; ok && k < p->nlines; k++)
			for (uint32_t e = 0; ok && p->lines[k].src && e < p->lines[k].ev.n; e++)
				ok = add_runtime_event(m, &r, p, &p->lines[k], e);
	}
	ok = ok && give_to_tpus(m, &r);
	for (size_t i = 0; i < r.tracks.n; i++)
		free(r.tracks.v[i].v);
	ss_strmap_free(&r.keys);
	ss_vec_free(&r.tracks);
	ss_vec_free(&r.devices);
	return ok;
}

static bool collect(struct ss_megascale *m, const struct ss_host *h)
{
	for (uint32_t i = 0; i < h->nplanes; i++)
		if (h->planes[i].kind == SS_PLANE_TENSOR_CORE && !add_tpu(m, &h->planes[i]))
			return false;
	if (m->ntpus)
		qsort(m->tpus, m->ntpus, sizeof(*m->tpus), by_number);
	return collect_runtime(m, h);
}

/* A module and its run: by its stat, or else by its number among those without. */
struct run {
	int64_t begin_ps, id;
};

static void assign(struct ss_ms_track *t, const struct run *runs, size_t n)
{
	size_t k = 0;
	for (size_t i = 0; i < t->n; i++) {
		while (k < n && runs[k].begin_ps <= t->v[i].begin_ps)
			k++;
		if (k)
			t->v[i].run = runs[k - 1].id;
	}
}

static bool assign_tpu(struct ss_ms_tpu *tpu)
{
	struct ss_ms_track *modules = NULL;
	for (size_t i = 0; i < tpu->nlines && !modules; i++)
		if (ss_str_is(tpu->lines[i].name, "XLA Modules"))
			modules = &tpu->lines[i];
	if (!modules)
		return true;
	struct run *runs = malloc((modules->n + 1) * sizeof(*runs));
	int64_t counted = 0;
	if (!runs)
		return false;
	for (size_t i = 0; i < modules->n; i++) {
		struct ss_ms_event *e = &modules->v[i];
		struct ss_xstat s;
		bool says = ss_xstats_find(ss_line_stats(modules->plane, e->line, e->at), SS_STAT_RUN_ID, &s);
		runs[i] = (struct run){ e->begin_ps, says ? ss_xstat_int_or_uint(&s) : ++counted };
		if (!says)
			e->run = runs[i].id;
	}
	for (size_t i = 0; i < tpu->nlines; i++)
		if (&tpu->lines[i] != modules)
			assign(&tpu->lines[i], runs, modules->n);
	for (size_t i = 0; i < tpu->nruntime; i++)
		assign(&tpu->runtime[i], runs, modules->n);
	free(runs);
	return true;
}

static bool ms_assign_runs(struct ss_megascale *m)
{
	for (size_t i = 0; i < m->ntpus; i++)
		if (!assign_tpu(&m->tpus[i]))
			return false;
	return true;
}

static bool is_transfer(struct ss_str name)
{
	static const char *const names[] = { "send", "send-done", "recv", "recv-done" };
	struct ss_str base = ss_str_sub(name, 0, ss_str_chr(name, '.'));
	for (size_t i = 0; i < SS_COUNT(names); i++)
		if (ss_str_is(base, names[i]))
			return true;
	return false;
}

static int64_t nanosecond(int64_t ps)
{
	return ps / 1000 - (ps % 1000 < 0);
}

static bool is_tiny(const struct ss_megascale *m, const struct ss_ms_track *t, const struct ss_ms_event *e)
{
	return e->dur_ps < TINY_PS && !is_transfer(ss_ms_name(m, t, e));
}

/* Events [from, to) as one. */
static bool hide(struct ss_megascale *m, struct ss_ms_track *t, size_t from, size_t to, struct ss_ms_event *out)
{
	char names[HIDDEN_BYTES];
	size_t n = 0;
	int64_t end_ps = t->v[from].begin_ps;
	for (size_t i = from; i < to; i++) {
		struct ss_str name = ss_ms_name(m, t, &t->v[i]);
		int64_t end = (int64_t)((uint64_t)t->v[i].begin_ps + t->v[i].dur_ps);
		end_ps = end > end_ps ? end : end_ps;
		for (size_t k = 0; i > from && k < 2 && n < sizeof(names); k++)
			names[n++] = ", "[k];
		size_t room = sizeof(names) - n;
		memcpy(names + n, name.p, name.n < room ? name.n : room);
		n += name.n < room ? name.n : room;
	}
	*out = (struct ss_ms_event){ t->v[from].begin_ps, (uint64_t)end_ps - (uint64_t)t->v[from].begin_ps, NULL, SS_NONE,
				     SS_NONE, SS_MS_NO_RUN };
	struct ss_ms_rare_stats *rare = ss_ms_rare_stats_of(m, out);
	if (!rare)
		return false;
	rare->name = ss_arena_printf(&m->arena, "%zu events are hidden", to - from);
	rare->hidden = ss_arena_str(&m->arena, (struct ss_str){ names, n });
	return rare->name.p && rare->hidden.p;
}

static bool hide_in(struct ss_megascale *m, struct ss_ms_track *t)
{
	size_t kept = 0;
	for (size_t i = 0; i < t->n;) {
		size_t end = i + 1;
		if (is_tiny(m, t, &t->v[i]))
			while (end < t->n && is_tiny(m, t, &t->v[end]) && t->v[end].run == t->v[i].run &&
			       nanosecond(t->v[end].begin_ps) == nanosecond(t->v[i].begin_ps))
				end++;
		struct ss_ms_event one = t->v[i];
		if (end - i > 1 && !hide(m, t, i, end, &one))
			return false;
		t->v[kept++] = one;
		i = end;
	}
	t->n = kept;
	return true;
}

static bool ms_hide_tiny(struct ss_megascale *m)
{
	for (size_t i = 0; i < m->ntpus; i++)
		for (size_t k = 0; k < m->tpus[i].nlines; k++) {
			struct ss_ms_track *t = &m->tpus[i].lines[k];
			bool ops = ss_str_is(t->name, "XLA Ops") || ss_str_is(t->name, "XLA TraceMe");
			if (ops && !hide_in(m, t))
				return false;
		}
	return true;
}

bool ss_megascale_read(struct ss_megascale *m, const struct ss_host *h, bool group_tiny, struct ss_err *err)
{
	*m = (struct ss_megascale){ 0 };
	bool ok = collect(m, h) && ms_assign_runs(m) && (!group_tiny || ms_hide_tiny(m)) && ss_ms_add_flows(m) &&
		  ss_ms_count(m);
	return ok || ss_fail_mem(err);
}

void ss_megascale_release(struct ss_megascale *m)
{
	for (size_t i = 0; i < m->ntpus; i++) {
		for (size_t k = 0; k < m->tpus[i].nlines; k++)
			free(m->tpus[i].lines[k].v);
		for (size_t k = 0; k < m->tpus[i].nruntime; k++)
			free(m->tpus[i].runtime[k].v);
		free(m->tpus[i].lines);
		free(m->tpus[i].runtime);
	}
	for (size_t i = 0; i < SS_MS_COUNTERS; i++)
		free(m->counters[i].v);
	free(m->tpus);
	free(m->rare);
	ss_arena_release(&m->arena);
	*m = (struct ss_megascale){ 0 };
}
