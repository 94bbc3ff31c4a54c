/*
 * gpu_words.h - what other profilers recorded of GPUs, in the words of PyTorch's traces, which
 * everything behind knows.
 */
#ifndef SS_IMPORT_GPU_WORDS_H
#define SS_IMPORT_GPU_WORDS_H

#include "import/chrome_args.h"

/* One event on its way into a space: arguments are added, then it is placed. */
struct ss_gpu_event {
	struct ss_str category, name;
	int64_t begin_ns, end_ns;
	struct ss_chrome_args args;
	struct ss_arena scratch;
};

void ss_gpu_event_begin(struct ss_gpu_event *e, struct ss_str category, struct ss_str name, int64_t begin_ns, int64_t end_ns);
void ss_gpu_event_int(struct ss_gpu_event *e, const char *name, int64_t v);
void ss_gpu_event_num(struct ss_gpu_event *e, const char *name, double v);
void ss_gpu_event_str(struct ss_gpu_event *e, const char *name, struct ss_str s);
/* "[x, y, z]", as the geometry of kernels is written. */
void ss_gpu_event_dims(struct ss_gpu_event *e, struct ss_space_out *o, const char *name, const int64_t v[3]);
/*
 * Add it to the line. Ranges of the user: "step 7", "iteration 7" and "ProfilerStep#7" mark steps.
 */
void ss_gpu_event_place(struct ss_gpu_event *e, struct ss_space_out *o, uint32_t plane, uint32_t line);

/* The plane of a GPU, and the line of a stream on it. SS_NONE when memory is out. */
uint32_t ss_gpu_plane(struct ss_space_out *o, int64_t device);
/* What ROCm calls a GPU, "gfx942" or ""; nothing where it ran nothing. */
void ss_gpu_is_amd(struct ss_space_out *o, int64_t device, struct ss_str name);
uint32_t ss_gpu_stream(struct ss_space_out *o, uint32_t plane, int64_t context, int64_t stream);
/*
 * The plane of a process, and the line of a thread of it; `what` tells lines of one thread apart:
 * "", " OS runtime".
 */
uint32_t ss_host_process(struct ss_space_out *o, int64_t pid);
uint32_t ss_host_thread(struct ss_space_out *o, uint32_t plane, int64_t tid, struct ss_str name, const char *what);
/*
 * Name the planes of processes: the busiest is the host. `name_of` may say the name of a pid. False
 * when memory is out.
 */
typedef struct ss_str ss_process_name_fn(void *arg, int64_t pid);
bool ss_name_processes(struct ss_space_out *o, ss_process_name_fn *name_of, void *arg);

#endif
