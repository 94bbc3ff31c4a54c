/*
 * cupti.c - see cupti.h.
 *
 * CUPTI comes with the CUDA toolkit, with Python packages beside CUDA's other libraries, and in
 * containers at any place; the right one is the one that belongs to the program's CUDA. So: the one
 * that $SS_TRACE_CUPTI names, and nothing else; the one that is loaded already; the one beside the
 * CUDA runtime that is loaded; what the loader finds; the toolkit's folder; Python's environment.
 */
#include "cupti.h"

#include "cupti_abi.h"

#include <dlfcn.h>
#include <glob.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NEWEST_MAJOR = 13, OLDEST_MAJOR = 12 };

/* Functions of a library are looked up as data: POSIX says how to make functions of them. */
static bool find(void *library, const char *name, void *function)
{
	void *at = dlsym(library, name);
	memcpy(function, &at, sizeof(at));
	return at != NULL;
}

bool ss_cuda_load(struct cuda_driver *d, char *why, size_t n)
{
	int version = 0, (*get_version)(int *) = NULL;
	*d = (struct cuda_driver){ .library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL) };
	if (!d->library) {
		snprintf(why, n, "the NVIDIA driver is missing: its library libcuda.so.1 was not found. Install the driver; in a "
			 "container, start it with GPU access (docker run --gpus all)");
		return false;
	}
	if (!find(d->library, "cuDriverGetVersion", &get_version) || !find(d->library, "cuInit", &d->init) ||
	    !find(d->library, "cuDeviceGetCount", &d->device_count) || get_version(&version) != 0 || version <= 0) {
		snprintf(why, n, "libcuda.so.1 is not the library of an NVIDIA driver");
		return false;
	}
	d->cuda = (uint32_t)version;
	find(d->library, "cuDeviceGet", &d->device_get);
	find(d->library, "cuDeviceGetName", &d->device_name);
	find(d->library, "cuDeviceGetAttribute", &d->device_attribute);
	find(d->library, "cuDeviceTotalMem_v2", &d->device_memory);
	/* The second version tells slices of a GPU apart. */
	if (!find(d->library, "cuDeviceGetUuid_v2", &d->device_uuid))
		find(d->library, "cuDeviceGetUuid", &d->device_uuid);
	return true;
}

static uint32_t attribute(const struct cuda_driver *d, int device, int number)
{
	int v = 0;
	return d->device_attribute(&v, number, device) == 0 && v > 0 ? (uint32_t)v : 0;
}

/*
 * CUPTI tells of devices when CUDA is initialized and never again, so a recording that begins later
 * asks the driver. The driver's name of a slice says that it is one.
 */
bool ss_cuda_facts(const struct cuda_driver *d, int ordinal, struct device_facts *out)
{
	int device = 0;
	size_t bytes = 0;
	*out = (struct device_facts){ .gpu_instance = UINT32_MAX, .compute_instance = UINT32_MAX };
	if (!d->device_get || !d->device_attribute || d->device_get(&device, ordinal) != 0)
		return false;
	if (d->device_name && d->device_name(out->name, (int)sizeof(out->name), device) != 0)
		out->name[0] = '\0';
	out->name[sizeof(out->name) - 1] = '\0';
	if (d->device_memory && d->device_memory(&bytes, device) == 0)
		out->memory_bytes = bytes;
	if (d->device_uuid && d->device_uuid(out->uuid, device) != 0)
		memset(out->uuid, 0, sizeof(out->uuid));
	out->mig = strstr(out->name, " MIG ") != NULL;
	out->clock_khz = attribute(d, device, CUDA_CLOCK);
	out->sms = attribute(d, device, CUDA_SMS);
	out->warp = attribute(d, device, CUDA_WARP);
	out->warps_per_sm = out->warp ? attribute(d, device, CUDA_THREADS_PER_SM) / out->warp : 0;
	out->blocks_per_sm = attribute(d, device, CUDA_BLOCKS_PER_SM);
	out->shared_per_sm = attribute(d, device, CUDA_SHARED_PER_SM);
	out->registers_per_sm = attribute(d, device, CUDA_REGISTERS_PER_SM);
	out->major = attribute(d, device, CUDA_CAP_MAJOR);
	out->minor = attribute(d, device, CUDA_CAP_MINOR);
	/* Memory moves data twice a cycle. */
	out->bandwidth_kbps = (uint64_t)attribute(d, device, CUDA_MEMORY_CLOCK) * 2 * attribute(d, device, CUDA_BUS_BITS) / 8;
	return true;
}

static const struct { int status; const char *text; } init_failures[] = {
	{ 34, "libcuda.so.1 is the stub for linking, not the driver: remove its directory from LD_LIBRARY_PATH" },
	{ 100, "the NVIDIA driver finds no GPU: see nvidia-smi, and CUDA_VISIBLE_DEVICES" },
	{ 304, "the operating system denies access to the GPU: check the permissions of /dev/nvidia*" },
	{ 802, "the GPUs are not ready: is nvidia-fabricmanager running?" },
	{ 803, "the driver's library and its kernel module are of different versions: reboot after the update" },
	{ 804, "this driver cannot run the newer CUDA (forward compatibility is not supported on this GPU)" },
};

bool ss_cuda_count(const struct cuda_driver *d, int *ngpus, char *why, size_t n)
{
	*ngpus = 0;
	int status = d->init(0);
	if (status == 0)
		status = d->device_count(ngpus);
	if (status == 0 && *ngpus > 0)
		return true;
	if (status == 0)
		status = 100;
	for (size_t i = 0; i < sizeof(init_failures) / sizeof(*init_failures); i++)
		if (init_failures[i].status == status) {
			snprintf(why, n, "%s", init_failures[i].text);
			return false;
		}
	snprintf(why, n, "CUDA cannot be initialized: the driver says error %d; see nvidia-smi and the kernel's log", status);
	return false;
}

void ss_cupti_version_text(uint32_t version, char *out, size_t n)
{
	if (version >= 10000)
		snprintf(out, n, "%u.%u", version / 10000, version / 100 % 100);
	else if (version >= CUPTI_12_0)
		snprintf(out, n, "12 (interface %u)", version);
	else
		snprintf(out, n, "11 or older (interface %u)", version);
}

void ss_cupti_explain(const struct cupti *c, const char *call, int status, char *out, size_t n)
{
	const char *name = NULL, *what;
	char number[32];
	snprintf(number, sizeof(number), "error %d", status);
	if (c->get_result_string(status, &name) != CUPTI_OK || !name)
		name = number;
	switch (status) {
	case CUPTI_INSUFFICIENT_PRIVILEGES:
	case CUPTI_VIRTUALIZED_PRIVILEGES:
		what = "the driver lets only administrators profile. Run as root, or give the program CAP_SYS_ADMIN, or "
		       "allow everybody: options nvidia NVreg_RestrictProfilingToAdminUsers=0 in a file of "
		       "/etc/modprobe.d, then reload the driver (for a virtual GPU the host's administrator does)";
		break;
	case CUPTI_MULTIPLE_SUBSCRIBERS:
		what = "another profiler (Nsight, or that of TensorFlow, JAX or PyTorch) records this program already, and "
		    "only one can record at a time. Stop it, or record without GPUs (--no-gpu)";
		break;
	case CUPTI_NOT_INITIALIZED:
	case CUPTI_UNKNOWN:
		what = "CUPTI could not be initialized: the driver is missing, or too old for this CUPTI";
		break;
	case CUPTI_HARDWARE_BUSY:
		what = "another profiler uses the GPU: wait until it has ended";
		break;
	case CUPTI_VIRTUALIZED:
		what = "this virtual GPU cannot be profiled: its host has to allow it (vGPU parameter enable_profiling)";
		break;
	case CUPTI_CONFIDENTIAL_COMPUTING:
		what = "a GPU in confidential computing mode cannot be profiled";
		break;
	case CUPTI_CMP_DEVICE:
	case CUPTI_MIG_DEVICE:
	case CUPTI_SLI_DEVICE:
	case CUPTI_WSL_DEVICE:
		what = "CUPTI does not support this kind of device (mining card, MIG slice, SLI or WSL)";
		break;
	default:
		what = "this call failed";
	}
	snprintf(out, n, "%s (%s: %s)", what, call, name);
}

/* --- finding the library ------------------------------------------------------------------------ */

struct search {
	struct cupti *c;
	const struct cuda_driver *driver;
	char folder[900];	/* of the CUDA runtime that is loaded */
	char loaded[900];	/* of a CUPTI that is loaded */
	char why[900];		/* the last library that was found and does not do */
};

static bool take_functions(struct cupti *c)
{
	void *l = c->library;
	return find(l, "cuptiGetVersion", &c->get_version) && find(l, "cuptiGetTimestamp", &c->get_timestamp) &&
	       find(l, "cuptiGetResultString", &c->get_result_string) && find(l, "cuptiSubscribe", &c->subscribe) &&
	       find(l, "cuptiUnsubscribe", &c->unsubscribe) && find(l, "cuptiEnableCallback", &c->enable_callback) &&
	       find(l, "cuptiActivityRegisterCallbacks", &c->register_callbacks) &&
	       find(l, "cuptiActivityEnable", &c->enable) && find(l, "cuptiActivityDisable", &c->disable) &&
	       find(l, "cuptiActivityFlushAll", &c->flush_all) &&
	       find(l, "cuptiActivityGetNextRecord", &c->next_record) &&
	       find(l, "cuptiActivityGetNumDroppedRecords", &c->dropped_records) &&
	       find(l, "cuptiGetDeviceId", &c->get_device_id);
}

/* Is the library one that we and the driver can use? */
static bool fits(struct search *s, const char *path)
{
	struct cupti *c = s->c;
	char version[48];
	if (!take_functions(c)) {
		snprintf(s->why, sizeof(s->why), "'%.600s' is not CUPTI: functions are missing", path);
		return false;
	}
	int status = c->get_version(&c->version);
	if (status != CUPTI_OK) {
		snprintf(s->why, sizeof(s->why), "'%.600s' does not work without a driver (error %d)", path, status);
		return false;
	}
	ss_cupti_version_text(c->version, version, sizeof(version));
	if (c->version < CUPTI_12_0) {
		snprintf(s->why, sizeof(s->why), "'%.600s' is CUPTI %s: 12.0 or newer is needed", path, version);
		return false;
	}
	uint32_t major = c->version >= 10000 ? c->version / 10000 : 12;
	if (s->driver && s->driver->cuda / 1000 < major) {
		snprintf(s->why, sizeof(s->why), "'%.600s' is CUPTI %s, but the driver supports CUDA up to %u.%u: use the "
		    "CUPTI of CUDA %u, or a newer driver", path, version, s->driver->cuda / 1000, s->driver->cuda / 10 % 100,
			 s->driver->cuda / 1000);
		return false;
	}
	return true;
}

static bool try(struct search *s, const char *path)
{
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!library) {
		const char *text = dlerror();
		/* Most tries fail because the file does not exist. */
		if (text && !strstr(text, "No such file"))
			snprintf(s->why, sizeof(s->why), "%s", text);
		return false;
	}
	*s->c = (struct cupti){ .library = library };
	if (!fits(s, path)) {
		dlclose(library);
		*s->c = (struct cupti){ 0 };
		return false;
	}
	Dl_info info;
	void *function = dlsym(library, "cuptiGetVersion");
	bool known = dladdr(function, &info) && info.dli_fname;
	snprintf(s->c->path, sizeof(s->c->path), "%s", known ? info.dli_fname : path);
	return true;
}

static bool try_versions(struct search *s, const char *folder)
{
	char path[1200];
	for (int major = NEWEST_MAJOR; major >= OLDEST_MAJOR; major--) {
		snprintf(path, sizeof(path), "%s%slibcupti.so.%d", folder, *folder ? "/" : "", major);
		if (try(s, path))
			return true;
	}
	snprintf(path, sizeof(path), "%s%slibcupti.so", folder, *folder ? "/" : "");
	return try(s, path);
}

static int look_at(struct dl_phdr_info *info, size_t size, void *arg)
{
	(void)size;
	struct search *s = arg;
	const char *name = strrchr(info->dlpi_name, '/');
	if (name && strncmp(name, "/libcupti.so", 12) == 0)
		snprintf(s->loaded, sizeof(s->loaded), "%s", info->dlpi_name);
	if (name && strncmp(name, "/libcudart.so", 13) == 0)
		snprintf(s->folder, sizeof(s->folder), "%.*s", (int)(name - info->dlpi_name), info->dlpi_name);
	return 0;
}

/* Beside the runtime: in a toolkit, and in Python's packages, where every library has a folder of its own up to 12.x. */
static bool try_beside_runtime(struct search *s)
{
	static const char *const places[] = { "", "/../extras/CUPTI/lib64", "/../../cuda_cupti/lib" };
	char folder[1000];
	for (size_t i = 0; s->folder[0] && i < sizeof(places) / sizeof(*places); i++) {
		snprintf(folder, sizeof(folder), "%s%s", s->folder, places[i]);
		if (try_versions(s, folder))
			return true;
	}
	return false;
}

static bool try_pattern(struct search *s, const char *variable, const char *below)
{
	const char *root = variable[0] == '/' ? variable : getenv(variable);
	char pattern[1200];
	glob_t found;
	bool done = false;
	if (!root || !*root || (size_t)snprintf(pattern, sizeof(pattern), "%s/%s", root, below) >= sizeof(pattern) ||
	    glob(pattern, 0, NULL, &found) != 0)
		return false;
	/* Names sort by version: the newest comes last. */
	for (size_t i = found.gl_pathc; !done && i-- > 0;)
		done = try(s, found.gl_pathv[i]);
	globfree(&found);
	return done;
}

static bool try_folders(struct search *s)
{
	static const struct { const char *root, *below; } places[] = {
		{ "CUDA_HOME", "extras/CUPTI/lib64/libcupti.so.1[0-9]" }, { "CUDA_HOME", "lib64/libcupti.so.1[0-9]" },
		{ "CUDA_PATH", "extras/CUPTI/lib64/libcupti.so.1[0-9]" },
		{ "/usr/local", "cuda/extras/CUPTI/lib64/libcupti.so.1[0-9]" },
		{ "/usr/local", "cuda*/extras/CUPTI/lib64/libcupti.so.1[0-9]" },
		{ "VIRTUAL_ENV", "lib/python3*/site-packages/nvidia/cuda_cupti/lib/libcupti.so.1[0-9]" },
		{ "VIRTUAL_ENV", "lib/python3*/site-packages/nvidia/cu1[0-9]/lib/libcupti.so.1[0-9]" },
		{ "CONDA_PREFIX", "lib/libcupti.so.1[0-9]" },
	};
	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++)
		if (try_pattern(s, places[i].root, places[i].below))
			return true;
	return false;
}

bool ss_cupti_load(struct cupti *c, const struct cuda_driver *d, char *why, size_t n)
{
	struct search s = { .c = c, .driver = d };
	const char *named = getenv("SS_TRACE_CUPTI");
	*c = (struct cupti){ 0 };
	if (named && *named) {
		if (try(&s, named))
			return true;
		snprintf(why, n, "SS_TRACE_CUPTI names '%.300s', which cannot be used: %.500s", named,
			 s.why[0] ? s.why : "there is no such file");
		return false;
	}
	dl_iterate_phdr(look_at, &s);
	if ((s.loaded[0] && try(&s, s.loaded)) || try_beside_runtime(&s) || try_versions(&s, "") || try_folders(&s))
		return true;
	snprintf(why, n, "no compatible CUPTI was found%s%.600s. It comes with the CUDA toolkit (extras/CUPTI/lib64), or: "
		 "pip install nvidia-cuda-cupti-cu12. SS_TRACE_CUPTI=/path/to/libcupti.so.12 names one",
		 s.why[0] ? ": " : "", s.why);
	return false;
}
