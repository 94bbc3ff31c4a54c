/*
 * cupti.h - find and load the driver and CUPTI at run time, and say what is missing in words.
 */
#ifndef SS_INSTRUMENT_CUPTI_H
#define SS_INSTRUMENT_CUPTI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef void cupti_callback_fn(void *user, int domain, uint32_t cbid, const void *data);
typedef void cupti_requested_fn(uint8_t **buffer, size_t *size, size_t *max_records);
typedef void cupti_completed_fn(void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid);

/* CUPTI's functions, by their names without the prefix. Names that may be missing come after `optional`. */
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
	int (*flush_period)(uint32_t ms);
};

/* The driver's library. Without it `why` says what to do. */
struct cuda_driver {
	void *library;
	uint32_t cuda;		/* 12040: CUDA 12.4 */
	int (*init)(unsigned flags);
	int (*device_count)(int *n);
};

bool ss_cuda_load(struct cuda_driver *d, char *why, size_t n);
/* Initializes CUDA and counts GPUs. */
bool ss_cuda_count(const struct cuda_driver *d, int *ngpus, char *why, size_t n);
/* `d` may be NULL: then versions are not compared. */
bool ss_cupti_load(struct cupti *c, const struct cuda_driver *d, char *why, size_t n);

/* "12.9", "13.5", or what is known of it. */
void ss_cupti_version_text(uint32_t version, char *out, size_t n);
/* What a call's failure means and what to do. */
void ss_cupti_explain(const struct cupti *c, const char *call, int status, char *out, size_t n);

#endif
