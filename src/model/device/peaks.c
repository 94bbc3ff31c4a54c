/*
 * peaks.c - the fastest a device can compute and move bytes (docs/tools/roofline_model.md).
 *
 * TPUs write it into the profile. For GPUs it follows from clock, number of multiprocessors and
 * what one of them does in a cycle; those figures are NVIDIA's and AMD's published ones.
 */
#include "model/device/env.h"

#include "model/host/plane.h"

#include <math.h>

struct gpu_stats {
	uint64_t clock_khz, cores, memory_bytes_per_s, cc_major, cc_minor;
	struct ss_str vendor, device_name;
	double tflops;
};

static struct gpu_stats read_gpu(const struct ss_plane *p)
{
	struct ss_xstats it = ss_xplane_stats(p->x);
	struct ss_xstat s;
	struct gpu_stats g = { .vendor = SS_STR("") };
	while (ss_xstats_next(&it, &s)) {
		switch (s.stat) {
		case SS_STAT_CLOCK_RATE:
			g.clock_khz = (uint64_t)ss_xstat_int_or_uint(&s);
			break;
		case SS_STAT_CORE_COUNT:
			g.cores = (uint64_t)ss_xstat_int_or_uint(&s);
			break;
		case SS_STAT_MEMORY_BANDWIDTH:
			g.memory_bytes_per_s = (uint64_t)ss_xstat_int_or_uint(&s);
			break;
		case SS_STAT_COMPUTE_CAP_MAJOR:
			g.cc_major = (uint64_t)ss_xstat_int_or_uint(&s);
			break;
		case SS_STAT_COMPUTE_CAP_MINOR:
			g.cc_minor = (uint64_t)ss_xstat_int_or_uint(&s);
			break;
		case SS_STAT_DEVICE_VENDOR:
			g.vendor = ss_xstat_str(&s);
			break;
		case SS_STAT_GPU_DEVICE_NAME:
			g.device_name = ss_xstat_str(&s);
			break;
		case SS_STAT_PEAK_TERAFLOPS_PER_SECOND:
			g.tflops = ss_xstat_double(&s);
			break;
		default:
			break;
		}
	}
	return g;
}

static bool is_amd(const struct gpu_stats *g)
{
	return ss_str_is(g->vendor, "AMD");
}

static bool is_nvidia(const struct gpu_stats *g)
{
	return ss_str_is(g->vendor, "Nvidia");
}

enum ss_gpu_vendor ss_gpu_vendor(const struct ss_plane *p)
{
	struct gpu_stats g = read_gpu(p);
	return is_nvidia(&g) ? SS_GPU_NVIDIA : is_amd(&g) ? SS_GPU_AMD : SS_GPU_UNKNOWN;
}

/* "gfx" and at least three hexadecimal digits. */
static bool is_gfx_name(struct ss_str s)
{
	if (s.n < 6 || !ss_str_starts(s, SS_STR("gfx")))
		return false;
	for (size_t i = 3; i < s.n; i++)
		if (!((s.p[i] >= '0' && s.p[i] <= '9') || (s.p[i] >= 'a' && s.p[i] <= 'f')))
			return false;
	return true;
}

/* AMD's name of the architecture, "" if it cannot be told. */
static struct ss_str amd_arch(const struct gpu_stats *g)
{
	if (is_gfx_name(g->device_name))
		return g->device_name;
	if (g->cc_major == 9 && g->cc_minor == 4)
		return SS_STR("gfx942");
	if (g->cc_major == 9 && g->cc_minor == 5)
		return SS_STR("gfx950");
	return SS_STR("");
}

/*
 * Of the largest of vector and matrix units, fp32 and fp16: floating point operations per
 * multiprocessor and cycle.
 */
static double nvidia_flops_per_cycle(const struct gpu_stats *g)
{
	static const struct {
		uint32_t capability; /* major * 1000 + minor * 10 */
		double flops;
	} table[] = {
		{ 10000, 8192 }, { 9000, 4096 }, { 8090, 1024 }, { 8060, 1024 },
		{ 8000, 2048 },	 { 7050, 1024 }, { 7000, 1024 }, { 6010, 256 },
		{ 6000, 256 },	 { 5000, 256 },	 { 3000, 384 },	 { 2000, 64 },
	};
	uint64_t capability = g->cc_major * 1000 + g->cc_minor * 10;
	for (size_t i = 0; i < SS_COUNT(table); i++)
		if (capability >= table[i].capability)
			return table[i].flops;
	return table[SS_COUNT(table) - 1].flops;
}

struct amd_rates {
	double flops, lds_bytes; /* per compute unit and cycle */
};

static struct amd_rates amd_rates(const struct gpu_stats *g)
{
	static const struct {
		struct ss_str arch;
		struct amd_rates rates;
	} table[] = {
		{ SS_STR_INIT("gfx908"), { 1024, 128 } },
		{ SS_STR_INIT("gfx90a"), { 1024, 128 } },
		{ SS_STR_INIT("gfx942"), { 2048, 128 } },
		{ SS_STR_INIT("gfx950"), { 4096, 256 } },
	};
	struct ss_str arch = amd_arch(g);
	for (size_t i = 0; i < SS_COUNT(table); i++)
		if (ss_str_eq(arch, table[i].arch))
			return table[i].rates;
	return (struct amd_rates){ 0, 0 };
}

static void gpu_peaks(struct ss_peaks *peaks, const struct ss_plane *p)
{
	struct gpu_stats g = read_gpu(p);
	double flops = 0, shared_bytes = 0; /* per multiprocessor and cycle */
	if (is_nvidia(&g)) {
		flops = nvidia_flops_per_cycle(&g);
		shared_bytes = g.cc_major <= 2 ? 64 : 256;
	} else if (is_amd(&g)) {
		struct amd_rates r = amd_rates(&g);
		flops = r.flops;
		shared_bytes = r.lds_bytes;
	}
	double cycles_per_ns = (double)g.clock_khz / 1e6 * (double)g.cores;
	peaks->tflops = g.tflops > 0 ? g.tflops : flops * cycles_per_ns / 1000;
	peaks->bw_gb_per_s[SS_BW_HBM] = (double)g.memory_bytes_per_s / 1e9;
	peaks->bw_gb_per_s[SS_BW_SRAM_RD] = shared_bytes * cycles_per_ns;
	peaks->bw_gb_per_s[SS_BW_SRAM_WR] = shared_bytes * cycles_per_ns;
}

static void tpu_peaks(struct ss_peaks *peaks, const struct ss_plane *p)
{
	static const enum ss_stat bw[SS_BW_COUNT] = {
		[SS_BW_HBM] = SS_STAT_PEAK_HBM_BW_GIGABYTES_PER_SECOND,
		[SS_BW_SRAM_RD] = SS_STAT_PEAK_SRAM_RD_BW_GIGABYTES_PER_SECOND,
		[SS_BW_SRAM_WR] = SS_STAT_PEAK_SRAM_WR_BW_GIGABYTES_PER_SECOND,
		[SS_BW_CMEM_RD] = SS_STAT_PEAK_CMEM_RD_BW_GIGABYTES_PER_SECOND,
		[SS_BW_CMEM_WR] = SS_STAT_PEAK_CMEM_WR_BW_GIGABYTES_PER_SECOND,
		[SS_BW_VMEM_RD] = SS_STAT_PEAK_VMEM_RD_BW_GIGABYTES_PER_SECOND,
		[SS_BW_VMEM_WR] = SS_STAT_PEAK_VMEM_WR_BW_GIGABYTES_PER_SECOND,
	};
	struct ss_xstats it = ss_xplane_stats(p->x);
	struct ss_xstat s;
	while (ss_xstats_next(&it, &s)) {
		if (s.stat == SS_STAT_PEAK_TERAFLOPS_PER_SECOND)
			peaks->tflops = ss_xstat_double(&s);
		else if (s.stat == SS_STAT_HAS_MEGACORE)
			peaks->has_megacore = ss_xstat_int_or_uint(&s) != 0;
		else if (s.stat == SS_STAT_HAS_MERGED_VMEM)
			peaks->has_merged_vmem = ss_xstat_int_or_uint(&s) != 0;
		for (size_t i = 0; i < SS_BW_COUNT; i++)
			if (s.stat == bw[i])
				peaks->bw_gb_per_s[i] = ss_xstat_double(&s);
	}
	peaks->has_cmem =
		peaks->bw_gb_per_s[SS_BW_CMEM_RD] > 0 || peaks->bw_gb_per_s[SS_BW_CMEM_WR] > 0;
}

void ss_peaks_read(struct ss_peaks *peaks, const struct ss_plane *p)
{
	*peaks = (struct ss_peaks){ 0 };
	if (p->kind == SS_PLANE_GPU)
		gpu_peaks(peaks, p);
	else
		tpu_peaks(peaks, p);
	/* A profile can claim anything; what is no number is no peak. */
	if (!isfinite(peaks->tflops))
		peaks->tflops = 0;
	for (size_t i = 0; i < SS_BW_COUNT; i++)
		if (!isfinite(peaks->bw_gb_per_s[i]))
			peaks->bw_gb_per_s[i] = 0;
}

static struct ss_str nvidia_name(const struct gpu_stats *g)
{
	switch (g->cc_major) {
	case 2:
		return SS_STR("Nvidia GPU (Fermi)");
	case 3:
		return SS_STR("Nvidia GPU (Kepler)");
	case 5:
		return SS_STR("Nvidia GPU (Maxwell)");
	case 6:
		return SS_STR("Nvidia GPU (Pascal)");
	case 7:
		return g->cc_minor < 5 ? SS_STR("Nvidia GPU (Volta)")
				       : SS_STR("Nvidia GPU (Turing)");
	case 8:
		return g->cc_minor < 9 ? SS_STR("Nvidia GPU (Ampere)")
				       : SS_STR("Nvidia GPU (Ada Lovelace)");
	case 9:
		return SS_STR("Nvidia GPU (Hopper)");
	case 10:
		return SS_STR("Nvidia GPU (Blackwell)");
	default:
		return SS_STR("Nvidia GPU");
	}
}

struct ss_str ss_gpu_model_name(const struct ss_plane *p, struct ss_arena *arena)
{
	struct gpu_stats g = read_gpu(p);
	if (is_nvidia(&g))
		return nvidia_name(&g);
	if (!is_amd(&g))
		return SS_STR("GPU");
	struct ss_str arch = amd_arch(&g);
	if (arch.n)
		return ss_arena_printf(arena, "AMD GPU - " SS_FMT, SS_ARG(arch));
	switch (g.cc_major) {
	case 9:
		return SS_STR("AMD GPU - gfx-9XX series");
	case 10:
		return SS_STR("AMD GPU - gfx-10XX series");
	case 11:
		return SS_STR("AMD GPU - gfx-11XX series");
	default:
		return SS_STR("AMD GPU");
	}
}
