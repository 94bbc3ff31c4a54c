/* torch_collectives.c - see torch_collectives.h. Rules: model/torch/comm.h. */
#include "tools/torch_collectives.h"

#include "model/model.h"
#include "model/torch/comm.h"
#include "model/torch/device.h"
#include "tools/torch_tool.h"

#include <math.h>
#include <stdlib.h>

enum {
	C_KIND, C_GROUP, C_DTYPE, C_SIZE, C_IN, C_OUT, C_CALLS, C_BYTES, C_TOTAL, C_MIN, C_MAX, C_EXPOSED, C_ALGBW, C_BUSBW, C_COLS
};

static const struct ss_col cols[C_COLS] = {
	STR("collective", "Collective", NULL),
	STR("process_group", "Process group", NULL),
	STR("dtype", "Type", NULL),
	INT("group_size", "Group size", COUNT, "Number of ranks; 0: not recorded"),
	INT("in_elements", "Elements in", COUNT, NULL),
	INT("out_elements", "Elements out", COUNT, NULL),
	INT("calls", "Calls", COUNT, NULL),
	INT("size_bytes", "Size", BYTES, "Size of one call, as nccl-tests define it"),
	NUM("total_us", "Total", US, NULL),
	NUM("min_us", "Shortest", US, NULL),
	NUM("max_us", "Longest", US, NULL),
	NUM("exposed_us", "Exposed", US, "Time in which no other kernel of the device runs"),
	NUM("algbw_gb_per_s", "Algorithm bandwidth", GB_PER_S, "Size * calls / total time"),
	NUM("busbw_gb_per_s", "Bus bandwidth", GB_PER_S, "Rate times the factor that makes it comparable with the bandwidth "
	    "of the links"),
};

struct row {
	struct ss_torch_comm_call of;	 /* the first: what all have in common */
	struct ss_intervals times;	 /* of one device, in time */
	int64_t calls, total_ns, min_ns, max_ns, exposed_ns;
};

struct rows {
	SS_VEC(struct row) v;
	SS_VEC(int32_t) devices;
};

static bool same(const struct ss_torch_comm_call *a, const struct ss_torch_comm_call *b)
{
	return strcmp(a->kind, b->kind) == 0 && ss_str_eq(a->group, b->group) && ss_str_eq(a->dtype, b->dtype) &&
	       a->group_size == b->group_size && a->in_elements == b->in_elements && a->out_elements == b->out_elements;
}

static uint64_t hash_of(const struct ss_torch_comm_call *c)
{
	uint64_t h = ss_mix(ss_str_hash(ss_str_from(c->kind)), ss_str_hash(c->group));
	h = ss_mix(h, ss_str_hash(c->dtype));
	h = ss_mix(h, (uint64_t)c->group_size);
	return ss_mix(ss_mix(h, (uint64_t)c->in_elements), (uint64_t)c->out_elements);
}

static struct row *row_of(struct rows *r, struct ss_u64map *by_key, const struct ss_torch_comm_call *c)
{
	for (uint64_t key = hash_of(c);; key++) {
		uint32_t i = ss_u64map_add(by_key, key, (uint32_t)r->v.n);
		if (i == SS_NONE)
			return NULL;
		if (i < r->v.n && !same(&r->v.v[i].of, c))
			continue;
		if (i == r->v.n && !ss_vec_push(&r->v, ((struct row){ .of = *c, .min_ns = INT64_MAX })))
			return NULL;
		return &r->v.v[i];
	}
}

static bool add_device(struct rows *r, int32_t device)
{
	for (size_t i = 0; i < r->devices.n; i++)
		if (r->devices.v[i] == device)
			return true;
	return ss_vec_push(&r->devices, device);
}

static bool make_rows(struct rows *r, const struct ss_torch_comm_call *v, size_t n, uint32_t *row)
{
	struct ss_u64map by_key = { 0 };
	bool ok = true;
	for (size_t i = 0; ok && i < n; i++) {
		struct row *to = row_of(r, &by_key, &v[i]);
		ok = to && add_device(r, v[i].device);
		if (!ok)
			break;
		int64_t ns = v[i].end_ns - v[i].begin_ns;
		row[i] = (uint32_t)(to - r->v.v);
		to->calls++;
		to->total_ns += ns;
		to->min_ns = ns < to->min_ns ? ns : to->min_ns;
		to->max_ns = ns > to->max_ns ? ns : to->max_ns;
	}
	ss_u64map_free(&by_key);
	return ok;
}

/* Device by device: the union of a row's calls, without what other kernels cover of it. */
static bool add_exposed(struct rows *r, const struct ss_torch *t, const struct ss_torch_comm_call *v, size_t n,
			const uint32_t *row)
{
	bool ok = true;
	for (size_t d = 0; ok && d < r->devices.n; d++) {
		struct ss_intervals compute = { 0 };
		ok = ss_torch_compute(t, r->devices.v[d], &compute);
		for (size_t i = 0; ok && i < n; i++)
			if (v[i].device == r->devices.v[d])
				ok = ss_intervals_add(&r->v.v[row[i]].times, v[i].begin_ns, v[i].end_ns);
		for (size_t i = 0; ok && i < r->v.n; i++) {
			struct ss_intervals *s = &r->v.v[i].times;
			ss_intervals_unite(s);
			r->v.v[i].exposed_ns += ss_intervals_ns(s);
			for (size_t k = 0; k < s->v.n; k++)
				r->v.v[i].exposed_ns -=
					ss_intervals_within_ns(&compute, s->v.v[k].begin_ns, s->v.v[k].end_ns);
			s->v.n = 0;
		}
		ss_intervals_free(&compute);
	}
	return ok;
}

static int longest_first(const void *a, const void *b)
{
	const struct row *x = a, *y = b;
	return SS_CMP(y->total_ns, x->total_ns) ?: SS_CMP(x->of.begin_ns, y->of.begin_ns);
}

static void put(struct ss_table *t, const struct row *r)
{
	const struct ss_torch_comm_call *c = &r->of;
	int64_t bytes = ss_torch_comm_bytes(c->kind, c->in_elements, c->out_elements, ss_torch_element_bytes(c->dtype));
	double rate = r->total_ns > 0 ? (double)bytes * (double)r->calls / (double)r->total_ns : 0;
	ss_table_row(t);
	ss_set_str(t, C_KIND, ss_str_from(c->kind));
	ss_set_str(t, C_GROUP, c->group);
	ss_set_str(t, C_DTYPE, c->dtype);
	ss_set_i64(t, C_SIZE, c->group_size);
	ss_set_i64(t, C_IN, c->in_elements);
	ss_set_i64(t, C_OUT, c->out_elements);
	ss_set_i64(t, C_CALLS, r->calls);
	ss_set_i64(t, C_BYTES, bytes);
	ss_set_f64(t, C_TOTAL, (double)r->total_ns / 1000);
	ss_set_f64(t, C_MIN, (double)r->min_ns / 1000);
	ss_set_f64(t, C_MAX, (double)r->max_ns / 1000);
	ss_set_f64(t, C_EXPOSED, c->device < 0 ? NAN : (double)r->exposed_ns / 1000);
	ss_set_f64(t, C_ALGBW, rate);
	ss_set_f64(t, C_BUSBW, rate * ss_torch_bus_factor(c->kind, c->group_size));
}

static bool fill(struct ss_result *out, const struct ss_torch *t)
{
	struct ss_torch_comm_call *calls = NULL;
	struct rows r = { .v = { 0 } };
	size_t n = 0;
	struct ss_table *table = ss_result_table(out, "by_shape", "Collectives of this recording by size", cols, C_COLS);
	bool ok = ss_torch_comm_calls(t, &calls, &n);
	uint32_t *row = ok ? malloc((n + 1) * sizeof(*row)) : NULL;
	ok = row && make_rows(&r, calls, n, row) && add_exposed(&r, t, calls, n, row);
	for (size_t i = 0; i < r.v.n; i++)
		ss_intervals_free(&r.v.v[i].times);
	if (ok && r.v.n)
		qsort(r.v.v, r.v.n, sizeof(*r.v.v), longest_first);
	for (size_t i = 0; ok && i < r.v.n; i++)
		put(table, &r.v.v[i]);
	ss_vec_free(&r.v);
	ss_vec_free(&r.devices);
	free(row);
	free(calls);
	return ok;
}

bool ss_torch_collectives(const struct ss_request *q, struct ss_result *out, struct ss_err *err)
{
	if (!ss_torch_is_asked(q))
		return true;
	const struct ss_torch *t = ss_host_torch(q->model->hosts[0], err);
	return t && (fill(out, t) || ss_fail_mem(err));
}
