/* cupti.h - find and load the driver and CUPTI at run time, and describe missing parts in sentences. */
#ifndef SS_INSTRUMENT_CUPTI_H
#define SS_INSTRUMENT_CUPTI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DEVICE_NAME_MAX 128u
#define UUID_BYTES 16u

/* Facts about a device, from CUPTI or from the driver. */
struct device_facts {
	char name[DEVICE_NAME_MAX];
	uint8_t uuid[UUID_BYTES]; /* all 0: not known. Of the slice, where it is one */
	bool mig;		/* a slice of a GPU */
	uint32_t gpu_instance, compute_instance; /* of a slice; UINT32_MAX: not known */
	uint64_t memory_bytes, bandwidth_kbps;
	uint32_t clock_khz, sms, warp, warps_per_sm, blocks_per_sm, shared_per_sm, registers_per_sm, major, minor;
};

typedef void cupti_callback_fn(void *user, int domain, uint32_t cbid, const void *data);
typedef void cupti_requested_fn(uint8_t **buffer, size_t *size, size_t *max_records);
typedef void cupti_completed_fn(void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid);

/* CUPTI's functions, by their names without the prefix. */
struct cupti {
	void *library;
	char path[1024];
	uint32_t version;
	int (*get_version)(uint32_t *version);
	int (*get_timestamp)(uint64_t *ns);
	int (*get_result_string)(int status, const char **text);
	int (*subscribe)(void **subscriber, cupti_callback_fn *callback, void *user);
	int (*unsubscribe)(void *subscriber);
	int (*enable_callback)(uint32_t on, void *subscriber, int domain, uint32_t cbid);
	int (*register_callbacks)(cupti_requested_fn *requested, cupti_completed_fn *completed);
	int (*enable)(int kind);
	int (*disable)(int kind);
	int (*flush_all)(uint32_t flags);
	int (*next_record)(uint8_t *buffer, size_t valid, void **record);
	int (*dropped_records)(void *context, uint32_t stream, size_t *n);
	int (*get_device_id)(void *context, uint32_t *device);
};

/* The driver's library. Without it `why` says what to do. */
struct cuda_driver {
	void *library;
	uint32_t cuda;		/* 12040: CUDA 12.4 */
	int (*init)(unsigned flags);
	int (*device_count)(int *n);
	/* Functions for one device; missing functions are NULL. */
	int (*device_get)(int *device, int ordinal);
	int (*device_name)(char *name, int n, int device);
	int (*device_attribute)(int *value, int attribute, int device);
	int (*device_memory)(size_t *bytes, int device);
	int (*device_uuid)(uint8_t uuid[UUID_BYTES], int device);
};

bool ss_cuda_load(struct cuda_driver *d, char *why, size_t n);
/* Initializes CUDA and counts GPUs. */
bool ss_cuda_count(const struct cuda_driver *d, int *ngpus, char *why, size_t n);
/*
 * Get the facts of a device from the driver. False: the driver is not initialized (this function does
 * not initialize it), or has no such device.
 */
bool ss_cuda_facts(const struct cuda_driver *d, int ordinal, struct device_facts *out);
/* `d` may be NULL: then versions are not compared. */
bool ss_cupti_load(struct cupti *c, const struct cuda_driver *d, char *why, size_t n);

/* "12.9", "13.5", or the known part of the version. */
void ss_cupti_version_text(uint32_t version, char *out, size_t n);
/* A sentence about the failure of a call: its meaning and the remedy. */
void ss_cupti_explain(const struct cupti *c, const char *call, int status, char *out, size_t n);

#endif
