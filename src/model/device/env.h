/*
 * env.h - the environment of a profile: devices and their peaks, hosts, problems while profiling
 * (docs/tools/overview_page.md).
 */
#ifndef SS_MODEL_DEVICE_ENV_H
#define SS_MODEL_DEVICE_ENV_H

#include "base/err.h"
#include "model/device/places.h"

struct ss_host;
struct ss_model;
struct ss_plane;

enum ss_hardware { SS_HW_UNKNOWN, SS_HW_CPU_ONLY, SS_HW_GPU, SS_HW_TPU };

/* "UNKNOWN_HARDWARE", "CPU_ONLY", "GPU", "TPU". */
struct ss_str ss_hardware_name(enum ss_hardware hw);

/* Index into ss_peaks.bw_gb_per_s. */
enum ss_peak_bw {
	SS_BW_HBM,
	SS_BW_SRAM_RD,
	SS_BW_SRAM_WR,
	SS_BW_CMEM_RD,
	SS_BW_CMEM_WR,
	SS_BW_VMEM_RD,
	SS_BW_VMEM_WR,
	SS_BW_COUNT
};

struct ss_peaks {
	double tflops; /* per core */
	double bw_gb_per_s[SS_BW_COUNT];
	bool has_cmem, has_merged_vmem, has_megacore;
};

struct ss_env {
	struct ss_str device_type; /* "TPU v6 Lite", "Nvidia GPU (Hopper)", "CPU" */
	enum ss_hardware hardware;
	uint32_t host_count; /* distinct host names */
	bool hosts_unknown;  /* several recordings, of which one is not a host's by its format and names none */
	uint32_t task_count; /* profiles */
	uint32_t core_count;
	bool is_training;
	bool has_sparse_core; /* some core_details is of a SparseCore */
	struct ss_peaks peaks;
	struct ss_places places; /* of TensorCores, host by host */
	double mxu_percent, hbm_percent;  /* hardware counters, mean over hosts; 0 without */
	struct ss_str *errors, *warnings; /* of the profiles themselves */
	size_t nerrors, nwarnings;
};

const struct ss_env *ss_model_env(struct ss_model *m, struct ss_err *err);

/* Does a program of the host compute gradients? */
bool ss_host_trains(struct ss_host *h, bool *out, struct ss_err *err);

/* Hardware of one host: from the planes it has. */
enum ss_hardware ss_host_hardware(const struct ss_host *h);

/* peaks.c: capabilities of the device that a plane describes. */
void ss_peaks_read(struct ss_peaks *peaks, const struct ss_plane *p);
/*
 * "Nvidia GPU (Ampere)", "AMD GPU - gfx942": `arena` for what is made up; p is NULL when memory is
 * out.
 */
struct ss_str ss_gpu_model_name(const struct ss_plane *p, struct ss_arena *arena);
enum ss_gpu_vendor { SS_GPU_UNKNOWN = 0, SS_GPU_NVIDIA, SS_GPU_AMD };
enum ss_gpu_vendor ss_gpu_vendor(const struct ss_plane *p);

static inline double ss_giga_to_gibi(double x)
{
	return x * 1e9 / (1024.0 * 1024.0 * 1024.0);
}

#endif
