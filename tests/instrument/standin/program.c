/*
 * program.c - a training loop on the stand-in GPU: per step a copy to the device, three kernels, a memset
 * and a copy back, in NVTX ranges.
 *	program STEPS [HOW]		knows nothing of any recording
 *	program STEPS LOGDIR [HOW]	records itself (built with -DUSE_SSTRACE)
 *	program STEPS LOGDIR storm	as many short sessions while four threads use the GPU (built with -DUSE_SSTRACE)
 *	program STEPS			lets others record it, and prints the port (built with -DUSE_SERVER)
 * HOW: kill (itself at the end), graph (the kernels as a CUDA graph), two (GPUs, and copies between them),
 * contexts (two on one GPU), destroy (the context before the end).
 * NVTX is asked for a tool as NVIDIA's header does it.
 */
#include "standin.h"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#ifdef USE_SSTRACE
#include "ss_trace_gpu.h"
#endif
#ifdef USE_SERVER
#include "ss_trace_server.h"
#endif

static const struct standin_function gemm = { "_Z9gemm_h884PfS_S_i", 96, 16384, 200000 };
static const struct standin_function relu = { "relu", 16, 0, 20000 };
static const struct standin_graph graph = { 5, 3, { &gemm, &relu, &relu } };

struct cuda {
	int (*init)(unsigned);
	int (*set_current)(void *);
	int (*alloc)(uint64_t *, size_t);
	int (*release)(uint64_t);
	int (*set)(uint64_t, unsigned char, size_t, void *);
	int (*to_device)(uint64_t, const void *, size_t, void *);
	int (*to_host)(void *, uint64_t, size_t, void *);
	int (*launch)(const void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **);
	int (*wait)(void *);
	int (*launch_graph)(const void *, void *);
	int (*to_peer)(uint64_t, void *, uint64_t, void *, size_t, void *);
	int (*destroy)(void *);
};

static void find(void *library, const char *name, void *function)
{
	void *at = dlsym(library, name);
	if (!at) {
		fprintf(stderr, "no %s\n", name);
		exit(1);
	}
	memcpy(function, &at, sizeof(at));
}

static struct cuda load(void)
{
	struct cuda c;
	void *l = dlopen("libcuda.so.1", RTLD_NOW);
	if (!l) {
		fprintf(stderr, "%s\n", dlerror());
		exit(1);
	}
	find(l, "cuInit", &c.init);
	find(l, "cuCtxSetCurrent", &c.set_current);
	find(l, "cuMemAlloc_v2", &c.alloc);
	find(l, "cuMemFree_v2", &c.release);
	find(l, "cuMemsetD8Async", &c.set);
	find(l, "cuMemcpyHtoDAsync_v2", &c.to_device);
	find(l, "cuMemcpyDtoHAsync_v2", &c.to_host);
	find(l, "cuLaunchKernel", &c.launch);
	find(l, "cuStreamSynchronize", &c.wait);
	find(l, "cuGraphLaunch", &c.launch_graph);
	find(l, "cuMemcpyPeerAsync", &c.to_peer);
	find(l, "cuCtxDestroy_v2", &c.destroy);
	return c;
}

/* --- NVTX, from the program's side -------------------------------------------------------------- */

static int (*nvtx_push)(const char *);
static int (*nvtx_pop)(void);
static void *nvtx_slots[17];	/* where the header keeps its pointers; two of them are looked at */
static void **nvtx_table[17];

static int module_table(int module, void ****table, unsigned *n)
{
	*table = NULL;
	*n = 0;
	if (module != 1)
		return 0;
	for (size_t i = 0; i < 17; i++)
		nvtx_table[i] = &nvtx_slots[i];
	void ***first = nvtx_table;
	memcpy(table, &first, sizeof(first));
	*n = 16;
	return 1;
}

static const void *export_table(unsigned id)
{
	static const struct {
		size_t size;
		int (*module)(int, void ****, unsigned *);
	} callbacks = { sizeof(callbacks), module_table };
	return id == 1 ? &callbacks : NULL;
}

static void nvtx_begin(void)
{
	const char *path = getenv("NVTX_INJECTION64_PATH");
	void *library = path ? dlopen(path, RTLD_LAZY) : NULL;
	int (*begin)(const void *(*)(unsigned)) = NULL;
	void *at = library ? dlsym(library, "InitializeInjectionNvtx2") : NULL;
	memcpy(&begin, &at, sizeof(at));
	if (!begin || !begin(export_table))
		return;
	memcpy(&nvtx_push, &nvtx_slots[9], sizeof(nvtx_push));
	memcpy(&nvtx_pop, &nvtx_slots[11], sizeof(nvtx_pop));
}

static void push(const char *text)
{
	if (nvtx_push)
		nvtx_push(text);
}

static void pop(void)
{
	if (nvtx_pop)
		nvtx_pop();
}

/* --- the loop ----------------------------------------------------------------------------------- */

static void step(const struct cuda *c, uint64_t weights, char *host)
{
	void *compute = (void *)13, *copies = (void *)14;
	push("forward");
	c->to_device(weights, host, 65536, copies);
	push("gemm");
	c->launch(&gemm, 128, 2, 1, 256, 1, 1, 8192, compute, NULL, NULL);
	pop();
	c->launch(&relu, 64, 1, 1, 1024, 1, 1, 0, compute, NULL, NULL);
	c->launch(&relu, 64, 1, 1, 1024, 1, 1, 0, compute, NULL, NULL);
	pop();
	c->set(weights, 0, 4096, compute);
	c->to_host(host, weights, 4096, copies);
	c->wait(compute);
	c->wait(copies);
}

static void step_of_graph(const struct cuda *c)
{
	push("replay");
	c->launch_graph(&graph, (void *)13);
	pop();
	c->wait((void *)13);
}

/* Both devices compute, and the first one sends the second what it has. */
static void step_of_two(const struct cuda *c)
{
	for (uintptr_t context = 2; context; context--) {
		c->set_current((void *)context);
		c->launch(&relu, 64, 1, 1, 1024, 1, 1, 0, (void *)13, NULL, NULL);
	}
	c->to_peer(8192, (void *)2, 4096, (void *)1, 1 << 20, (void *)14);
	c->wait((void *)14);
	for (uintptr_t context = 2; context; context--) {
		c->set_current((void *)context);
		c->wait((void *)13);
	}
}

/* Streams of two contexts of the first GPU, of the same number. */
static void step_of_contexts(const struct cuda *c)
{
	for (int i = 0; i < 2; i++) {
		c->set_current((void *)(uintptr_t)(i ? 1 : 3));
		c->launch(&relu, 64, 1, 1, 1024, 1, 1, 0, (void *)13, NULL, NULL);
		c->wait((void *)13);
	}
}

static void train(const struct cuda *c, int steps, const char *how)
{
	static char host[65536];
	uint64_t weights, batch;
	c->alloc(&weights, 1 << 20);
	for (int i = 0; i < steps; i++) {
#if defined(USE_SSTRACE) || defined(USE_SERVER)
		SS_TRACE_STEP("train", i);
#endif
		if (strcmp(how, "graph") == 0) {
			step_of_graph(c);
			continue;
		}
		if (strcmp(how, "contexts") == 0) {
			step_of_contexts(c);
			continue;
		}
		if (strcmp(how, "two") == 0) {
			step_of_two(c);
			continue;
		}
		c->alloc(&batch, 65536);
		step(c, weights, host);
		c->release(batch);
	}
}

#ifdef USE_SSTRACE
static volatile int storm_over;

static void *use_gpu(void *arg)
{
	const struct cuda *c = arg;
	c->set_current((void *)1);
	for (uint64_t weights = 4096; !storm_over;) {
		push("storm");
		c->launch(&relu, 64, 1, 1, 1024, 1, 1, 0, (void *)13, NULL, NULL);
		c->set(weights, 0, 64, (void *)14);
		pop();
		usleep(20);
	}
	return NULL;
}

/* Every session must begin, end, and have what was launched in it. Prints how many did. */
static int storm(struct cuda *c, int sessions, const char *logdir)
{
	pthread_t threads[4];
	char name[32];
	int good = 0;
	for (size_t i = 0; i < 4; i++)
		if (pthread_create(&threads[i], NULL, use_gpu, c) != 0)
			return 1;
	for (int i = 0; i < sessions; i++) {
		snprintf(name, sizeof(name), "storm%d", i);
		const struct ss_trace_options o = { .size = sizeof(o), .logdir = logdir, .session = name, .host = "h",
						    .max_bytes = i % 4 ? 0 : 3 << 20 };
		bool begun = ss_trace_start(&o) && ss_trace_gpu_start();
		usleep((useconds_t)(i % 5) * 1000);
		good += ss_trace_stop() && begun;
	}
	storm_over = 1;
	for (size_t i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	printf("%d\n", good);
	return 0;
}
#endif

int main(int argc, char **argv)
{
	int steps = argc > 1 ? atoi(argv[1]) : 3;
	struct cuda c = load();
#ifdef USE_SSTRACE
	if (strcmp(argv[argc - 1], "storm") == 0)
		return c.init(0) ? 3 : storm(&c, steps, argv[2]);
	const struct ss_trace_options o = { .size = sizeof(o), .logdir = argv[2], .session = "run", .host = "h" };
	if (!ss_trace_start(&o) || !ss_trace_gpu_start())
		fprintf(stderr, "%s%s\n", ss_trace_error(), ss_trace_gpu_error());
#endif
#ifdef USE_SERVER
	if (!ss_trace_server_start(0))
		fprintf(stderr, "%s\n", ss_trace_server_error());
	printf("%d\n", ss_trace_server_port());
	fflush(stdout);
#endif
	nvtx_begin();
	int status = c.init(0);
	if (status) {
		fprintf(stderr, "cuInit: %d\n", status);
		return 3;
	}
	c.set_current((void *)1);
	train(&c, steps, argv[argc - 1]);
	if (strcmp(argv[argc - 1], "destroy") == 0)
		c.destroy((void *)1);
	if (strcmp(argv[argc - 1], "kill") == 0) {
		struct timespec t = { 1, 500000000 };	/* more than a flush period */
		nanosleep(&t, NULL);
		raise(SIGKILL);
	}
#ifdef USE_SSTRACE
	const char *path = ss_trace_stop();
	puts(path ? path : ss_trace_error());
#endif
	return 0;
}
