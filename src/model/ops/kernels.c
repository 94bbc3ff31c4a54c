/*
 * kernels.c - kernels of GPUs by launch geometry (docs/tools/kernel_stats.md).
 *
 * Whether a kernel ran on tensor cores can only be told from its name: the lists are those of
 * NVIDIA's and AMD's libraries as XProf recognises them. Newer families that it misses (wgmma,
 * nvjet) are missed here too, so that the figures agree.
 */
#include "model/device/env.h"

#include "base/buf.h"
#include "base/vec.h"
#include "model/host/host.h"
#include "model/host/opname.h"
#include "model/ops/gpu_stats.h"
#include "model/ops/ops_build.h"
#include "model/program/hlo_map.h"
#include "model/torch/kernel_name.h"
#include "model/torch/torch.h"
#include "xprof/quirks/quirks.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

static bool contains_any(struct ss_str s, const struct ss_str *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (ss_str_contains(s, list[i]))
			return true;
	return false;
}

static bool nvidia_tensor_core(struct ss_str name)
{
	static const struct ss_str parts[] = {
		SS_STR_INIT("16816"), SS_STR_INIT("c1688"), SS_STR_INIT("conv1x1"), SS_STR_INIT("conv2d_c1_k1"),
		SS_STR_INIT("dgrad_1x1_stride_2x2"), SS_STR_INIT("direct_group"),
		SS_STR_INIT("first_layer_wgrad_kernel"), SS_STR_INIT("h1688"), SS_STR_INIT("h884"),
		SS_STR_INIT("hmma"), SS_STR_INIT("i16832"), SS_STR_INIT("i8816"), SS_STR_INIT("s884"),
		SS_STR_INIT("s1688"), SS_STR_INIT("xmma_gemm"), SS_STR_INIT("xmma_implicit_gemm"),
		SS_STR_INIT("xmma_sparse_conv"), SS_STR_INIT("xmma_sparse_gemm"),
		SS_STR_INIT("xmma_warp_specialized_implicit_gemm"),
	};
	return contains_any(name, parts, SS_COUNT(parts));
}

static size_t digits_at(struct ss_str s, size_t i)
{
	size_t n = 0;
	while (i + n < s.n && s.p[i + n] >= '0' && s.p[i + n] <= '9')
		n++;
	return n;
}

/* "_MI<digits>x<digits>x<digits>": a matrix instruction in the name of a generated kernel. */
static bool has_matrix_instruction(struct ss_str name)
{
	size_t at;
	while ((at = ss_str_find(name, SS_STR("_MI"))) != SS_NPOS) {
		size_t i = at + 3, parts = 0, n;
		while (parts < 3 && (n = digits_at(name, i)) > 0) {
			i += n;
			if (++parts < 3 && (i >= name.n || name.p[i++] != 'x'))
				break;
		}
		if (parts == 3)
			return true;
		name = ss_str_sub(name, at + 3, name.n);
	}
	return false;
}

static bool amd_tensor_core(struct ss_str name)
{
	static const struct ss_str parts[] = {
		SS_STR_INIT("mfma"),	 SS_STR_INIT("wmma"), SS_STR_INIT("gemm_fusion"),
		SS_STR_INIT("attn_fwd"), SS_STR_INIT("_xdl"), SS_STR_INIT("gtcx"),
	};
	return contains_any(name, parts, SS_COUNT(parts)) || has_matrix_instruction(name);
}

/* Nothing is known of the kernels of a device that names no vendor. */
static bool uses_tensor_core(enum ss_gpu_vendor vendor, struct ss_str name)
{
	return vendor == SS_GPU_NVIDIA ? nvidia_tensor_core(name) : vendor == SS_GPU_AMD && amd_tensor_core(name);
}

/* Could the framework op of this name run on tensor cores? */
static bool op_is_eligible(struct ss_str name)
{
	static const struct ss_str ends[] = {
		SS_STR_INIT("Conv2D"), SS_STR_INIT("Conv2DBackpropFilter"), SS_STR_INIT("Conv2DBackpropInput"),
		SS_STR_INIT("Conv3D"), SS_STR_INIT("DepthwiseConv2dNative"),
		SS_STR_INIT("DepthwiseConv2dNativeBackpropFilter"), SS_STR_INIT("DepthwiseConv2dNativeBackpropInput"),
		SS_STR_INIT("/MatMul"), SS_STR_INIT("FusedMatMul"), SS_STR_INIT("/CudnnRNN"), SS_STR_INIT("XlaDot"),
		SS_STR_INIT("XlaDotV2"),
	};
	static const struct ss_str parts[] = {
		SS_STR_INIT("BatchMatMul"),	SS_STR_INIT("CudnnRNNV"),
		SS_STR_INIT("CudnnRNNForward"), SS_STR_INIT("CudnnRNNBackprop"),
		SS_STR_INIT("dot_general"),	SS_STR_INIT("conv_general_dilated"),
	};
	for (size_t i = 0; i < SS_COUNT(ends); i++)
		if (ss_str_ends(name, ends[i]))
			return true;
	return contains_any(name, parts, SS_COUNT(parts));
}

/* An einsum equation "a,b->c" of two inputs is a matrix product. */
static bool is_product(struct ss_str equation)
{
	size_t arrow = ss_str_find(equation, SS_STR("->"));
	if (arrow == SS_NPOS)
		return false;
	struct ss_str inputs = ss_str_sub(equation, 0, arrow);
	size_t comma = ss_str_chr(inputs, ',');
	return comma != SS_NPOS && comma == ss_str_rchr(inputs, ',');
}

static void parse_u32(struct ss_str s, uint32_t *out)
{
	uint64_t v;
	if (ss_str_to_u64(s, &v) && v <= UINT32_MAX)
		*out = (uint32_t)v;
}

static void parse_float(struct ss_str s, double *out)
{
	double v;
	if (ss_str_to_f64(s, &v) && fabs(v) <= FLT_MAX)
		*out = ss_quirk_float(v);
}

/* "x,y,z" */
static void parse_dim3(struct ss_str s, uint32_t out[3])
{
	for (size_t i = 0; i < 3; i++) {
		size_t comma = ss_str_chr(s, ',');
		parse_u32(ss_str_sub(s, 0, comma), &out[i]);
		if (comma == SS_NPOS)
			return;
		s = ss_str_sub(s, comma + 1, s.n);
	}
}

static void parse_token(struct ss_str token, struct ss_kernel *k)
{
	size_t colon = ss_str_chr(token, ':');
	if (colon == SS_NPOS)
		return;
	struct ss_str key = ss_str_sub(token, 0, colon),
		      value = ss_str_sub(token, colon + 1, token.n);
	if (ss_str_is(key, "regs"))
		parse_u32(value, &k->regs);
	else if (ss_str_is(key, "static_shared"))
		parse_u32(value, &k->static_shmem_bytes);
	else if (ss_str_is(key, "dynamic_shared"))
		parse_u32(value, &k->dynamic_shmem_bytes);
	else if (ss_str_is(key, "block"))
		parse_dim3(value, k->block);
	else if (ss_str_is(key, "grid"))
		parse_dim3(value, k->grid);
	else if (ss_str_is(key, "occ_pct"))
		parse_float(value, &k->occupancy_pct);
}

/* The stat kernel_details: "regs:40 static_shared:0 ... grid:64,2,1 block:256,1,1 occ_pct:50". */
static void parse_details(struct ss_str s, struct ss_kernel *k)
{
	for (size_t i = 0; i < s.n;) {
		size_t end = i;
		while (end < s.n && s.p[end] != ' ' && s.p[end] != '\n')
			end++;
		parse_token(ss_str_sub(s, i, end), k);
		i = end + 1;
	}
}

struct pass {
	struct ss_host *h;
	struct ss_hlo_map *hlo;
	enum ss_gpu_vendor vendor;
	SS_VEC(struct ss_kernel) v;
	struct ss_u64map by_key;
	struct ss_arena *arena;	  /* of names that stand nowhere in the file */
	struct ss_strmap names;	  /* the same, to hold each once */
	uint8_t *told;		  /* of a trace of PyTorch, by text: what its names tell, found once */
	struct ss_buf scratch;
};

/*
 * The name that "<op_name>:<op_type>" is parsed to: what stands before the colon if the two go
 * together, the whole text if they do not. False when memory is out.
 */
static bool framework_name(struct pass *s, const struct ss_hlo_instr *in, struct ss_str *name)
{
	*name = in->op_name;
	if (!in->op_name.n && !in->op_type.n)
		return true;
	s->scratch.n = 0;
	ss_buf_str(&s->scratch, in->op_name);
	ss_buf_char(&s->scratch, ':');
	ss_buf_str(&s->scratch, in->op_type);
	if (s->scratch.no_memory)
		return false;
	struct ss_str parsed = ss_op_name_parse(ss_buf_get(&s->scratch)).name;
	if (parsed.n == in->op_name.n)
		return true;
	uint32_t known = ss_strmap_get(&s->names, parsed);
	if (known == SS_NONE) {
		parsed = ss_arena_str(s->arena, parsed);
		known = parsed.p ? ss_strmap_add(&s->names, parsed) : SS_NONE;
	}
	if (known != SS_NONE)
		*name = s->names.keys[known];
	return known != SS_NONE;
}

/* The framework op behind the kernel, and whether tensor cores suit it. */
static bool name_op(struct pass *s, const struct ss_gpu_stats *e, struct ss_kernel *k,
		    struct ss_err *err)
{
	const struct ss_hlo_module *m = NULL;
	struct ss_str hlo_name = { "", 0 };
	bool found = false;
	if (e->hlo_op.n && !ss_hlo_map_get(s->hlo, (int64_t)e->program_id, &m, err))
		return false;
	uint32_t instr = m ? ss_hlo_instr_by_name(m, ss_gpu_innermost(e->hlo_op)) : SS_NONE;
	if (instr != SS_NONE) {
		struct ss_hlo_instr in;
		ss_hlo_instr_read(m->instrs[instr], &in);
		if (!framework_name(s, &in, &hlo_name))
			return ss_fail_mem(err);
		found = true;
		k->is_eligible = op_is_eligible(hlo_name);
	}
	k->op_name = hlo_name;
	if (e->tf_op.n) {
		struct ss_op_name n = ss_op_name_parse(e->tf_op);
		if (!found)
			k->op_name = n.name;
		k->is_eligible |=
			k->uses_tensor_core || op_is_eligible(n.name) || is_product(e->equation);
	}
	return true;
}

static int compare_dims(const uint32_t a[3], const uint32_t b[3])
{
	return SS_CMP(a[0], b[0]) ?: SS_CMP(a[1], b[1]) ?: SS_CMP(a[2], b[2]);
}

/* By what makes two rows different; 0: the same kernel. */
static int compare_keys(const struct ss_kernel *a, const struct ss_kernel *b)
{
	return ss_str_cmp(a->name, b->name) ?: compare_dims(a->grid, b->grid) ?: compare_dims(a->block, b->block) ?:
	       SS_CMP(a->regs, b->regs) ?: SS_CMP(a->static_shmem_bytes, b->static_shmem_bytes) ?:
	       SS_CMP(a->dynamic_shmem_bytes, b->dynamic_shmem_bytes) ?: SS_CMP(a->uses_tensor_core, b->uses_tensor_core) ?:
	       SS_CMP(a->is_eligible, b->is_eligible) ?: ss_str_cmp(a->op_name, b->op_name);
}

static uint64_t hash_of(const struct ss_kernel *k)
{
	uint64_t h = ss_mix(ss_str_hash(k->name), ss_str_hash(k->op_name));
	for (size_t i = 0; i < 3; i++)
		h = ss_mix(h, (uint64_t)k->grid[i] << 32 | k->block[i]);
	h = ss_mix(h, (uint64_t)k->regs << 32 | k->static_shmem_bytes);
	return ss_mix(h, (uint64_t)k->dynamic_shmem_bytes << 2 |
				 (uint64_t)k->uses_tensor_core << 1 | k->is_eligible);
}

static bool add_kernel(struct pass *s, const struct ss_kernel *k)
{
	for (uint64_t key = hash_of(k);; key++) {
		uint32_t i = ss_u64map_get(&s->by_key, key);
		if (i == SS_NONE)
			return ss_vec_push(&s->v, *k) &&
			       ss_u64map_add(&s->by_key, key, (uint32_t)s->v.n - 1) != SS_NONE;
		struct ss_kernel *had = &s->v.v[i];
		if (compare_keys(had, k))
			continue;
		had->occurrences++;
		had->total_ns += k->total_ns;
		if (k->min_ns < had->min_ns)
			had->min_ns = k->min_ns;
		if (k->max_ns > had->max_ns)
			had->max_ns = k->max_ns;
		return true;
	}
}

static bool add_event(struct pass *s, const struct ss_plane *p, const struct ss_line *l, uint32_t i,
		      struct ss_err *err)
{
	uint64_t ns = l->ev.dur_ps[i] / 1000;
	if (l->ev.dur_ps[i] == 0)
		return true;
	struct ss_gpu_stats e = ss_gpu_stats_read(p, l, i);
	if (!e.details.n)
		return true;
	struct ss_kernel k = {
		.name = ss_event_name_in_file(p, l->ev.meta[i]),
		.block = { 1, 1, 1 },
		.grid = { 1, 1, 1 },
		.occurrences = 1,
		.total_ns = ns,
		.min_ns = ns,
		.max_ns = ns,
	};
	parse_details(e.details, &k);
	k.uses_tensor_core = uses_tensor_core(s->vendor, k.name);
	if (!name_op(s, &e, &k, err))
		return false;
	return add_kernel(s, &k) || ss_fail_mem(err);
}

enum { TOLD = 1, USES_TENSOR_CORE = 2, COULD_USE_TENSOR_CORE = 4 };

/* The facts in a text, as the name of a kernel and as that of an operator. */
static uint8_t told(struct pass *s, const struct ss_torch *t, uint32_t text)
{
	struct ss_str name = ss_torch_text(t, text);
	if (!s->told[text])
		s->told[text] = (uint8_t)(TOLD | (ss_torch_uses_tensor_core(name) ? USES_TENSOR_CORE : 0) |
					  (ss_torch_could_use_tensor_core(name) ? COULD_USE_TENSOR_CORE : 0));
	return s->told[text];
}

/* In a trace of PyTorch: with or without a launch or a geometry (AMD), and with any duration. */
static bool add_torch_kernel(struct pass *s, const struct ss_torch *t, const struct ss_torch_device_event *d)
{
	const struct ss_plane *p = &s->h->planes[d->plane];
	uint64_t ns = (uint64_t)(d->end_ns - d->begin_ns);
	struct ss_gpu_stats e = ss_gpu_stats_read(p, &p->lines[d->line], d->event);
	struct ss_kernel k = {
		.name = ss_torch_text(t, d->name), .block = { 1, 1, 1 }, .grid = { 1, 1, 1 },
		.occurrences = 1, .total_ns = ns, .min_ns = ns, .max_ns = ns,
	};
	uint32_t op = d->op == SS_NONE ? 0 : t->ops.v[d->op].name;
	k.op_name = ss_torch_text(t, op);
	parse_details(e.details, &k);
	k.uses_tensor_core = told(s, t, d->name) & USES_TENSOR_CORE;
	k.is_eligible = k.uses_tensor_core || told(s, t, op) & COULD_USE_TENSOR_CORE;
	return add_kernel(s, &k);
}

/*
 * The host is loaded, and its lines have the order of the part's: a trace's are written in that of
 * time.
 */
static bool add_torch(struct pass *s, const struct ss_torch *t, struct ss_err *err)
{
	s->told = calloc((size_t)t->texts.n + 1, 1);
	if (!s->told)
		return ss_fail_mem(err);
	struct ss_forget passed = { .h = s->h };
	for (size_t i = 0; i < t->device.n; i++) {
		const struct ss_torch_device_event *d = &t->device.v[i];
		const struct ss_line *l = &s->h->planes[d->plane].lines[d->line];
		if (ss_torch_is_kernel(d) && d->event < l->ev.n && !add_torch_kernel(s, t, d))
			return ss_fail_mem(err);
		ss_forget_passed(&passed, l, d->event);
	}
	ss_forget_rest(&passed);
	return true;
}

static bool add_plane(struct pass *s, const struct ss_plane *p, struct ss_err *err)
{
	s->vendor = ss_gpu_vendor(p);
	if (!ss_xplane_has(p->x, SS_STAT_KERNEL_DETAILS))
		return true;
	for (uint32_t k = 0; k < p->nlines; k++) {
		const struct ss_line *l = &p->lines[k];
		struct ss_forget f = { .h = s->h };
		for (uint32_t i = 0; !l->derived && i < l->ev.n; i++) {
			if (!add_event(s, p, l, i, err))
				return false;
			ss_forget_passed(&f, l, i);
		}
		ss_forget_line(&f, l);
		ss_forget_rest(&f);
	}
	return true;
}

static int longest_first(const void *a, const void *b)
{
	const struct ss_kernel *ka = a, *kb = b;
	return SS_CMP(kb->total_ns, ka->total_ns) ?: compare_keys(ka, kb);
}

void ss_kernels_sort(struct ss_kernels *k)
{
	if (k->n)
		qsort(k->v, k->n, sizeof(*k->v), longest_first);
	if (k->n > SS_MAX_KERNELS)
		k->n = SS_MAX_KERNELS;
}

bool ss_host_kernels(struct ss_kernels *out, struct ss_host *h, struct ss_arena *arena, struct ss_err *err)
{
	struct pass s = { .h = h, .hlo = ss_host_hlo(h, err), .arena = arena };
	const struct ss_torch *t = s.hlo ? ss_host_torch(h, err) : NULL;
	bool ok = t;
	if (ok && t->is_torch)
		ok = add_torch(&s, t, err);
	for (uint32_t i = 0; ok && !t->is_torch && i < h->nplanes; i++)
		if (h->planes[i].kind == SS_PLANE_GPU)
			ok = add_plane(&s, &h->planes[i], err);
	ss_u64map_free(&s.by_key);
	ss_strmap_free(&s.names);
	ss_buf_free(&s.scratch);
	free(s.told);
	*out = (struct ss_kernels){ s.v.v, s.v.n };
	ss_kernels_sort(out);
	return ok;
}
