/* memory.c - get_memory_profile and get_peak_allocations. */
#include "xprof/cli/modules.h"

#include <ctype.h>
#include <math.h>

static double gib(double bytes)
{
	return xv_round(bytes / 1073741824, 2);
}

static void put_gib(struct xv *v, const char *key, double bytes, bool known)
{
	xv_f64(v, key, known ? gib(bytes) : -1);
}

/* The allocator of the largest peak; SS_NPOS: none has one. */
static size_t largest_peak(const struct ss_table *t)
{
	size_t best = SS_NPOS;
	int64_t most = -1;
	for (size_t i = 0; t && i < t->nrows; i++)
		if (ss_cell_i64(t, i, "peak_bytes") > most) {
			most = ss_cell_i64(t, i, "peak_bytes");
			best = i;
		}
	return best;
}

bool xcli_get_memory_profile(struct xcli *x, struct xv **out)
{
	struct ss_err err;
	if (!xcli_open(x))
		return false;
	const struct ss_table *t = NULL;
	size_t row = SS_NPOS;
	for (size_t i = 0; i < x->nhosts && row == SS_NPOS; i++) {
		const struct ss_result *r = xcli_tool_on(x, "memory_profile", i, &err);
		if (!r && err.code != SS_ENODATA)
			return xcli_failed(x, &err);
		t = r ? ss_result_find(r, "allocators") : t;
		row = largest_peak(t);
	}
	bool any = row != SS_NPOS;
	double capacity = -1, peak = any ? (double)ss_cell_i64(t, row, "peak_bytes") : -1;
	for (size_t i = 0; t && i < t->nrows; i++)
		capacity = fmax(capacity, (double)ss_cell_i64(t, i, "capacity_bytes"));
	struct xv *v = *out = xv_object(&x->make);
	put_gib(v, "memory_capacity_gib", capacity, capacity > 0);
	put_gib(v, "peak_memory_usage_gib", peak, peak > 0);
	struct xv *d = xv_add_object(v, "peak_usage_details");
	put_gib(d, "stack_reservation_gib", any ? (double)ss_cell_i64(t, row, "stack_bytes") : 0,
		any);
	put_gib(d, "heap_allocation_gib", any ? (double)ss_cell_i64(t, row, "heap_bytes") : 0, any);
	put_gib(d, "free_memory_gib", any ? (double)ss_cell_i64(t, row, "free_bytes") : 0, any);
	double lost = any ? ss_cell_f64(t, row, "fragmentation_frac") : -1;
	xv_f64(d, "fragmentation_percent", lost >= 0 ? xv_round(100 * lost, 2) : -1);
	xv_f64(d, "utilization_percent",
	       gib(capacity) > 0 && gib(peak) > 0 ? xv_round(gib(peak) / gib(capacity) * 100, 2)
						  : -1);
	return true;
}

/* --- get_peak_allocations ---------------------------------------------------------------------- */

struct buffer {
	struct ss_str name;
	double mib;
};

struct program {
	struct ss_str name;
	double mib;
	struct buffer *v;
	size_t n;
};

/* "name" of "name.12"; the whole name where no number ends it. */
static struct ss_str base_of(struct ss_str name, bool *numbered)
{
	size_t dot = ss_str_rchr(name, '.');
	*numbered = dot != SS_NPOS && dot + 1 < name.n && dot > 0;
	for (size_t i = dot + 1; *numbered && i < name.n; i++)
		*numbered = isdigit((unsigned char)name.p[i]);
	return *numbered ? ss_str_sub(name, 0, dot) : name;
}

struct same {
	uint32_t first, count;
};

/* Buffers of one name but for the number, and of one size, become one. */
static bool merge(struct xcli *x, struct program *p)
{
	struct ss_u64map map = { 0 };
	struct same *same = SS_NEW_N(&x->arena, struct same, p->n + 1);
	uint32_t n = 0;
	bool ok = same, numbered;
	for (uint32_t i = 0; ok && i < p->n; i++) {
		uint64_t size;
		struct ss_str base = base_of(p->v[i].name, &numbered);
		memcpy(&size, &p->v[i].mib, sizeof(size));
		uint32_t at =
			ss_u64map_add(&map, ss_mix(ss_str_hash(base), ss_mix(size, numbered)), n);
		ok = at != SS_NONE;
		if (!ok)
			break;
		if (at == n)
			same[n++] = (struct same){ i, 0 };
		same[at].count++;
	}
	for (uint32_t i = 0; ok && i < n; i++) {
		struct buffer b = p->v[same[i].first];
		struct ss_str base = base_of(b.name, &numbered);
		if (same[i].count > 1)
			b.name = ss_arena_printf(
				&x->arena, SS_FMT "%s (%u occurrences of size %g MiB)",
				SS_ARG(base), numbered ? ".*" : "", same[i].count, b.mib);
		b.mib *= same[i].count;
		ok = b.name.p;
		p->v[i] = b;
	}
	p->n = n;
	ss_u64map_free(&map);
	return ok || xcli_no_memory(x);
}

struct limits {
	double least_mib;
	bool merged;
};

static bool read_program(struct xcli *x, struct ss_str module, const struct limits *l,
			 struct program *p, bool *has)
{
	struct ss_param_value *param = SS_NEW(&x->arena, struct ss_param_value);
	struct ss_err err;
	if (!param)
		return xcli_no_memory(x);
	*param = (struct ss_param_value){ SS_STR("module_name"), module };
	const struct ss_result *r = xcli_tool_of(x, "memory_viewer", param, 1, &err);
	*has = r;
	if (!r)
		return err.code != SS_ENOMEM || xcli_no_memory(x);
	const struct ss_table *peak = ss_result_find(r, "peak");
	double others = 0, total = ss_result_number(r, "total_buffer_allocation");
	*p = (struct program){ .name = module, .mib = total == total ? total / 1048576 : 0 };
	p->v = SS_NEW_N(&x->arena, struct buffer, peak->nrows + 2);
	if (!p->v)
		return xcli_no_memory(x);
	for (size_t i = 0; i < peak->nrows; i++) {
		struct buffer b = { ss_cell_str(peak, i, "name"),
				    ss_cell_f64(peak, i, "size_bytes") / 1048576 };
		b.name = b.name.n ? b.name : SS_STR("unknown");
		if (l->merged && b.mib < l->least_mib)
			others += b.mib;
		else
			p->v[p->n++] = b;
	}
	if (l->merged && !merge(x, p))
		return false;
	if (l->merged && others > 0) {
		char number[40];
		struct ss_out o;
		ss_out_init(&o, NULL, NULL);
		ss_out_f64(&o, l->least_mib);
		memcpy(number, o.buf ? o.buf : "", o.n < 39 ? o.n : 39);
		number[o.n < 39 ? o.n : 39] = '\0';
		ss_out_free(&o);
		p->v[p->n++] =
			(struct buffer){ ss_arena_printf(&x->arena, "Others (< %s MiB)", number),
					 others };
	}
	/* Of equal sizes the order of the heap stays. */
	double *key = SS_NEW_N(&x->arena, double, p->n + 1);
	struct buffer *sorted = SS_NEW_N(&x->arena, struct buffer, p->n + 1);
	uint32_t *order;
	if (!key || !sorted)
		return xcli_no_memory(x);
	for (size_t i = 0; i < p->n; i++)
		key[i] = p->v[i].mib;
	if (!xcli_rank(x, key, p->n, &order))
		return false;
	for (size_t i = 0; i < p->n; i++)
		sorted[i] = p->v[order[i]];
	p->v = sorted;
	return true;
}

static struct xv *json_of(struct xcli *x, const struct program *p, const uint32_t *order, size_t n,
			  size_t all)
{
	struct xv *list = xv_array(&x->make), *v = list;
	if (xcli_flag(x, "include_summary")) {
		v = xv_object(&x->make);
		struct xv *summary = xv_add_object(v, "summary"), *top;
		xv_u64(summary, "total_modules", all);
		top = xv_add_array(summary, "top_modules");
		for (size_t i = 0; i < n; i++) {
			struct xv *one = xv_add_object(top, NULL);
			xv_str(one, "module_name", p[order[i]].name);
			xv_f64(one, "total_hbm_mib", p[order[i]].mib);
		}
		xv_put(v, "modules", list);
	}
	for (size_t i = 0; i < n; i++) {
		const struct program *one = &p[order[i]];
		struct xv *m = xv_add_object(list, NULL), *buffers;
		xv_str(m, "module_name", one->name);
		xv_f64(m, "total_hbm_mib", one->mib);
		buffers = xv_add_array(m, "top_buffers");
		for (size_t k = 0; k < one->n; k++) {
			struct xv *b = xv_add_object(buffers, NULL);
			xv_str(b, "instruction", one->v[k].name);
			xv_f64(b, "size_mib", one->v[k].mib);
		}
	}
	return v;
}

/* Tables in Markdown. */
static struct xv *markdown_of(struct xcli *x, const struct program *p, const uint32_t *order,
			      size_t n, size_t all, const struct limits *l)
{
	struct ss_buf b = { 0 };
	struct xv *list = xv_array(&x->make);
	ss_buf_lit(&b, "# Peak Memory Allocations by Module\n\n");
	if (l->merged)
		ss_buf_printf(&b,
			      "> [!NOTE]\n> - Buffers of one size whose names differ in the number at the end (`name.1`, `name.2`) "
			      "share a row, `name.*`.\n> - Buffers below %g MiB are summed up as Others.\n\n",
			      l->least_mib);
	if (xcli_flag(x, "include_summary")) {
		ss_buf_printf(&b,
			      "## Session Summary\n- Total Modules: %zu\n\n| Module | Total HBM "
			      "(MiB) |\n| :--- | ---: |\n",
			      all);
		for (size_t i = 0; i < n; i++)
			ss_buf_printf(&b, "| `" SS_FMT "` | %.2f |\n", SS_ARG(p[order[i]].name),
				      p[order[i]].mib);
		ss_buf_char(&b, '\n');
	}
	for (size_t i = 0; i < n; i++) {
		const struct program *one = &p[order[i]];
		ss_buf_printf(
			&b,
			"## Module: `" SS_FMT
			"`\nTotal HBM: %.2f MiB\n\n| Instruction | Size (MiB) |\n| :--- | ---: |\n",
			SS_ARG(one->name), one->mib);
		for (size_t k = 0; k < one->n; k++)
			ss_buf_printf(&b, "| `" SS_FMT "` | %.2f |\n", SS_ARG(one->v[k].name),
				      one->v[k].mib);
		ss_buf_char(&b, '\n');
	}
	struct ss_str text =
		b.no_memory ? (struct ss_str){ NULL, 0 } : ss_arena_str(&x->arena, ss_buf_get(&b));
	ss_buf_free(&b);
	if (!text.p) {
		x->make.no_memory = true;
		return NULL;
	}
	xv_str(list, NULL, text);
	return list ? list->m.v[0].value : NULL;
}

bool xcli_get_peak_allocations(struct xcli *x, struct xv **out)
{
	struct xcli_modules list;
	struct limits l = { .merged = xcli_flag(x, "aggregate_instructions") };
	int64_t limit;
	uint32_t *order;
	size_t n = 0;
	if (!xcli_int(x, "limit", &limit) || !xcli_real(x, "min_size_mib", &l.least_mib) ||
	    !xcli_modules(x, &list))
		return false;
	if (!list.n)
		return xcli_fail(x, XCLI_INVALID, "The profile holds no programs");
	struct program *p = SS_NEW_N(&x->arena, struct program, list.n);
	double *key = SS_NEW_N(&x->arena, double, list.n);
	if (!p || !key)
		return xcli_no_memory(x);
	for (size_t i = 0; i < list.n; i++) {
		bool has;
		if (!read_program(x, list.v[i], &l, &p[n], &has))
			return false;
		if (has)
			key[n] = p[n].mib;
		n += has;
	}
	if (!xcli_rank(x, key, n, &order))
		return false;
	size_t shown = xcli_limited(n, limit);
	bool markdown = strcmp(xcli_text(x, "output_format"), "markdown") == 0;
	*out = markdown ? markdown_of(x, p, order, shown, n, &l) : json_of(x, p, order, shown, n);
	return true;
}
