/* job.h - what a trace of PyTorch says of its job (distributedInfo). */
#ifndef SS_MODEL_HOST_JOB_H
#define SS_MODEL_HOST_JOB_H

#include <stdint.h>

struct ss_host;

struct ss_host_job {
	int64_t rank, world;	/* -1: not said */
	int64_t groups;		/* process groups of this rank's process; -1: not said */
};

struct ss_host_job ss_host_job(const struct ss_host *h);

#endif
