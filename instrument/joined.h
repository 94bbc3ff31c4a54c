/*
 * joined.h - a program that is linked with libsstrace.a has a recorder of its own. When it is run by
 * `stepscope record`, another one is loaded into it, which has the GPUs, the driver's calls and NVTX;
 * so that both are one profile, its own hands everything on from the first ss_trace_start.
 *
 * libsstrace.so needs none of this: the loader lets the functions of the library that is loaded first take the
 * place of its own.
 */
#ifndef SS_INSTRUMENT_JOINED_H
#define SS_INSTRUMENT_JOINED_H

#include "ss_trace.h"

/* The functions that a recorder hands on; those of ss_trace.h that are not here are made of these. */
struct recorder_table {
	size_t size;		/* sizeof(struct recorder_table) of the library that was loaded: it may be another version */
	bool (*start)(const struct ss_trace_options *options);
	const char *(*stop)(void);
	const char *(*error)(void);
	uint64_t (*dropped)(void);
	struct ss_trace_scope (*begin)(struct ss_trace_name *name, const struct ss_trace_arg *args, size_t nargs);
	void (*end)(struct ss_trace_scope scope);
	void (*instant)(int level, struct ss_trace_name *name, const struct ss_trace_arg *args, size_t nargs);
	void (*counter)(struct ss_trace_name *name, double value);
	void (*thread_name)(const char *name);
	bool (*gpu_start)(void);
	const char *(*gpu_error)(void);
	const int *level;
};

/* The name by which the loaded library's table is found: a function without arguments that returns it. */
#define RECORDER_TABLE_NAME "ss_rec_injected_table"

/* The other recorder, or NULL: there is none, or this is it. Looked for once, by the first start. */
const struct recorder_table *ss_rec_other(void);
void ss_rec_find_other(void);

#endif
