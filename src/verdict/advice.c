/*
 * advice.c - what helps against a cause, in the words of the framework that made the profile. What
 * is for another framework or another device is never said.
 */
#include "verdict/judge.h"

#define ANY 0u
#define JAX SS_FW_JAX
#define TF SS_FW_TENSORFLOW
#define TORCH SS_FW_PYTORCH
#define TORCH_XLA SS_FW_TORCH_XLA
#define UNNAMED 0x80u /* whatever made it is not known */

enum where { ANYWHERE, ON_DEVICE, ON_CPU };

static const struct advice {
	enum ss_cause cause;
	unsigned frameworks; /* ANY: of whatever made it */
	enum where where;
	const char *text;
	unsigned with, without; /* bits of enum ss_trait: all of these, and none of those */
} table[] = {
	{ SS_CAUSE_INPUT, TF, ANYWHERE,
	  "If the pipeline does not read ahead yet, end it with prefetch(tf.data.AUTOTUNE), and give map() "
	  "num_parallel_calls=tf.data.AUTOTUNE.",
	  .without = SS_TRAIT_STAGE },
	{ SS_CAUSE_INPUT, TF, ANYWHERE, "Read ahead: end the pipeline with prefetch(tf.data.AUTOTUNE).",
	  .with = SS_TRAIT_STAGE, .without = SS_TRAIT_PREFETCHED },
	{ SS_CAUSE_INPUT, TF, ANYWHERE, "Give map() num_parallel_calls=tf.data.AUTOTUNE.", .with = SS_TRAIT_SEQUENTIAL_MAP },
	{ SS_CAUSE_INPUT, TF, ANYWHERE,
	  "Set num_parallel_calls=tf.data.AUTOTUNE where the program makes the slow stage. tf.data runs map() followed by batch() "
	  "as one stage, MapAndBatch: there it is the option of map().",
	  .with = SS_TRAIT_FIXED_PARALLELISM },
	{ SS_CAUSE_INPUT, TF, ANYWHERE,
	  "Replace Python in the pipeline (from_generator, py_function) with TensorFlow operations, or run it offline: "
	  "only one thread of Python runs at a time.",
	  .with = SS_TRAIT_PYTHON_INPUT },
	{ SS_CAUSE_INPUT, TF, ANYWHERE,
	  "The pipeline works ahead but does not keep up: reduce the work of the slow stage, or give it more cores or "
	  "machines (tf.data service).",
	  .with = SS_TRAIT_PREFETCHED,
	  .without = SS_TRAIT_SEQUENTIAL_MAP | SS_TRAIT_PYTHON_INPUT | SS_TRAIT_FIXED_PARALLELISM },
	{ SS_CAUSE_INPUT, TORCH, ANYWHERE,
	  "The DataLoader starts its workers within the steps: make it once, with persistent_workers=True, so that they are "
	  "started once.",
	  .with = SS_TRAIT_STARTS_WORKERS },
	{ SS_CAUSE_INPUT, TORCH, ANYWHERE,
	  "Let the DataLoader prefetch: num_workers above 0, persistent_workers=True, and a larger "
	  "prefetch_factor.",
	  .without = SS_TRAIT_WORKERS | SS_TRAIT_STARTS_WORKERS },
	{ SS_CAUSE_INPUT, TORCH, ANYWHERE,
	  "Give the DataLoader more workers (num_workers) and a larger prefetch_factor, and make its __getitem__ "
	  "quicker.",
	  .with = SS_TRAIT_WORKERS, .without = SS_TRAIT_STARTS_WORKERS },
	{ SS_CAUSE_INPUT, JAX, ANYWHERE,
	  "Prepare the next batch on another thread while the device computes, and put it onto the device early "
	  "(jax.device_put is asynchronous).", 0, 0 },
	{ SS_CAUSE_INPUT, TORCH_XLA, ANYWHERE,
	  "Load ahead with torch_xla's MpDeviceLoader, and give the DataLoader several workers.", 0, 0 },
	{ SS_CAUSE_INPUT, ANY, ANYWHERE, "Cache or store the output of the slow stage, so that its work is done once.",
	  .without = SS_TRAIT_STARTS_WORKERS },
	{ SS_CAUSE_HOST_CODE, JAX, ANYWHERE,
	  "Start the next step before this work: jax.jit functions return before they finish, so both run at the same "
	  "time.", 0, 0 },
	{ SS_CAUSE_HOST_CODE, TF, ANYWHERE,
	  "With Keras, set steps_per_execution above 1 in compile(): one call then runs several steps.",
	  .with = SS_TRAIT_KERAS | SS_TRAIT_FRAMEWORK_CALLS },
	{ SS_CAUSE_HOST_CODE, ANY, ANYWHERE, "Do more work in each call, so that a step needs fewer calls.",
	  .with = SS_TRAIT_FRAMEWORK_CALLS, .without = SS_TRAIT_KERAS },
	{ SS_CAUSE_HOST_CODE, TF, ANYWHERE, "Put more of the step into one tf.function, so that fewer calls start it.",
	  .with = SS_TRAIT_FRAMEWORK_CALLS, .without = SS_TRAIT_KERAS },
	{ SS_CAUSE_HOST_CODE, ANY, ANYWHERE,
	  "Make this code faster, run it less often, or move it to another thread that works ahead.",
	  .without = SS_TRAIT_FRAMEWORK_CALLS | SS_TRAIT_RANGE },
	{ SS_CAUSE_HOST_CODE, TORCH, ANYWHERE, "Record Python, profile(with_stack=True), to see which code runs in this range.",
	  .with = SS_TRAIT_RANGE, .without = SS_TRAIT_FRAMEWORK_CALLS | SS_TRAIT_OTHER_PROFILER },
	{ SS_CAUSE_HOST_CODE, JAX, ANYWHERE,
	  "Record Python, ProfileOptions.python_tracer_level = 1, to see which code runs in this range.",
	  .with = SS_TRAIT_RANGE, .without = SS_TRAIT_FRAMEWORK_CALLS },
	{ SS_CAUSE_HOST_CODE, ANY, ANYWHERE,
	  "If the program's own code runs in this range, make it faster, run it less often, or move it to another thread that "
	  "works ahead.",
	  .with = SS_TRAIT_RANGE, .without = SS_TRAIT_FRAMEWORK_CALLS },
	{ SS_CAUSE_DISPATCH, JAX, ANYWHERE,
	  "Put the whole step into one jax.jit function, or several steps into one with jax.lax.scan.",
	  .without = SS_TRAIT_ONE_CALL },
	{ SS_CAUSE_DISPATCH, JAX, ANYWHERE, "Put several steps into one program with jax.lax.scan.", .with = SS_TRAIT_ONE_CALL },
	{ SS_CAUSE_DISPATCH, TF, ANYWHERE,
	  "Put the whole step into one tf.function; with Keras, set steps_per_execution above 1 in compile().",
	  .without = SS_TRAIT_ONE_CALL },
	{ SS_CAUSE_DISPATCH, TF, ANYWHERE,
	  "Run several steps in one call: a loop inside of the tf.function, or steps_per_execution above 1 in Keras' compile().",
	  .with = SS_TRAIT_ONE_CALL },
	{ SS_CAUSE_DISPATCH, TORCH, ANYWHERE,
	  "Use torch.compile, which fuses small operations, and the foreach or fused versions of optimizers.",
	  .without = SS_TRAIT_COMPILED },
	{ SS_CAUSE_DISPATCH, TORCH, ANYWHERE,
	  "Compile more of the step with torch.compile, including the optimizer's step, or use the fused versions of optimizers.",
	  .with = SS_TRAIT_COMPILED },
	{ SS_CAUSE_DISPATCH, TORCH, ON_DEVICE,
	  "Capture the step in a CUDA graph (torch.cuda.graph), so that one call starts all kernels.", 0, 0 },
	{ SS_CAUSE_DISPATCH, ANY, ANYWHERE, "Do more work per operation, for example with larger batches.",
	  .without = SS_TRAIT_NO_PYTHON },
	{ SS_CAUSE_DISPATCH, ANY, ON_DEVICE,
	  "Do more work per kernel: join small kernels that follow each other, or capture them in a graph (CUDA graphs, HIP "
	  "graphs).",
	  .with = SS_TRAIT_NO_PYTHON },
	{ SS_CAUSE_SYNC, JAX, ANYWHERE,
	  "Read results later: keep losses as arrays and convert them every n-th step (float(), np.asarray and "
	  "block_until_ready wait).", 0, 0 },
	{ SS_CAUSE_SYNC, TF, ANYWHERE,
	  "Read results later: call .numpy() every n-th step, after the next one was started.", 0, 0 },
	{ SS_CAUSE_SYNC, TORCH, ANYWHERE,
	  "Read results later: .item(), .cpu() and print() of a tensor wait; sum losses on the device and read them "
	  "every n-th step.", 0, 0 },
	{ SS_CAUSE_COMPILE, JAX, ANYWHERE,
	  "Keep shapes, types and static arguments the same from step to step: pad batches to a few sizes. "
	  "jax.log_compiles() says what is compiled.",
	  .without = SS_TRAIT_SAME_ARGUMENTS | SS_TRAIT_COMPILED_ONCE },
	{ SS_CAUSE_COMPILE, JAX, ANYWHERE,
	  "Make the function once, outside of the loop, and pass what changes as an argument that is not static: "
	  "jax.log_compiles() says what is compiled.",
	  .with = SS_TRAIT_SAME_ARGUMENTS },
	{ SS_CAUSE_COMPILE, TF, ANYWHERE,
	  "Keep the arguments of tf.function the same: pass tensors instead of Python numbers, and give "
	  "input_signature or reduce_retracing=True.",
	  .without = SS_TRAIT_COMPILED_ONCE },
	{ SS_CAUSE_COMPILE, TORCH, ANYWHERE,
	  "Keep shapes the same, or mark what changes (torch._dynamo.mark_dynamic); TORCH_LOGS=recompiles says what "
	  "changed.",
	  .without = SS_TRAIT_COMPILED_ONCE },
	{ SS_CAUSE_COMPILE, TORCH_XLA, ANYWHERE,
	  "Keep shapes the same from step to step: each new graph is compiled.",
	  .without = SS_TRAIT_COMPILED_ONCE },
	{ SS_CAUSE_COMPILE, ANY, ANYWHERE,
	  "If it happens only in the first steps, start recording after a few warm-up steps.",
	  .without = SS_TRAIT_COMPILED_ONCE },
	{ SS_CAUSE_COMPILE, ANY, ANYWHERE, "Start recording after a few warm-up steps: a first compilation is not repeated.",
	  .with = SS_TRAIT_COMPILED_ONCE },
	{ SS_CAUSE_TRANSFER, ANY, ON_DEVICE,
	  "Overlap copies with compute: prefetch the next batch from pinned host memory.",
	  .without = SS_TRAIT_NO_PYTHON },
	{ SS_CAUSE_TRANSFER, ANY, ON_DEVICE,
	  "Overlap copies with compute: copy asynchronously from pinned host memory, on a stream of its own.",
	  .with = SS_TRAIT_NO_PYTHON },
	{ SS_CAUSE_TRANSFER, TORCH, ON_DEVICE,
	  "Set pin_memory=True in the DataLoader, and use .to(device, non_blocking=True).", 0, 0 },
	{ SS_CAUSE_TRANSFER, JAX, ANYWHERE,
	  "Keep data on the device between steps, and use jax.device_put for the next batch while this one computes.", 0, 0 },
	{ SS_CAUSE_TRANSFER, ANY, ANYWHERE, "Copy less: use smaller types, and copy only what is needed.", 0, 0 },
	{ SS_CAUSE_COMPUTE, ANY, ANYWHERE,
	  "Optimize the largest operation first: do less work there, or use a narrower type where accuracy allows.",
	  .without = SS_TRAIT_SPREAD | SS_TRAIT_HOOKS },
	{ SS_CAUSE_COMPUTE, TORCH, ANYWHERE,
	  "Hooks of gradients run in this operation, such as the communication hook of DistributedDataParallel: record Python, "
	  "profile(with_stack=True), to see how long they take.",
	  .with = SS_TRAIT_HOOKS },
	{ SS_CAUSE_COMPUTE, JAX, ANYWHERE,
	  "The largest operation is a copy. If it preserves an argument that is no longer needed, donate that argument "
	  "(donate_argnums).",
	  .with = SS_TRAIT_COPY },
	{ SS_CAUSE_COMPUTE, ANY, ANYWHERE,
	  "No single operation matters, but a category may: see the categories in the op profile.",
	  .with = SS_TRAIT_SPREAD },
	{ SS_CAUSE_COMPUTE, TORCH, ANYWHERE,
	  "Try torch.compile: fused operations pass over memory less often.",
	  .without = SS_TRAIT_COMPILED | SS_TRAIT_HOOKS },
	{ SS_CAUSE_COLLECTIVE, TORCH, ANYWHERE,
	  "Send less: accumulate gradients over several batches (DistributedDataParallel's no_sync()), send them as "
	  "bfloat16 (register_comm_hook with bf16_compress_hook), or change the sharding.",
	  .without = SS_TRAIT_WAITS_FOR_OTHERS },
	{ SS_CAUSE_COLLECTIVE, TORCH, ANYWHERE,
	  "Start communication earlier: a smaller bucket_cap_mb of DistributedDataParallel, forward_prefetch and "
	  "backward_prefetch of FSDP.",
	  .without = SS_TRAIT_WAITS_FOR_OTHERS },
	{ SS_CAUSE_COLLECTIVE, JAX | TF | TORCH_XLA | UNNAMED, ANYWHERE,
	  "Send less: send gradients in a smaller type, accumulate them over several batches, or change the sharding.",
	  .without = SS_TRAIT_WAITS_FOR_OTHERS | SS_TRAIT_NO_PYTHON },
	{ SS_CAUSE_COLLECTIVE, UNNAMED, ANYWHERE, "Send less: only what has changed, and in a smaller type where accuracy allows.",
	  .with = SS_TRAIT_NO_PYTHON, .without = SS_TRAIT_WAITS_FOR_OTHERS },
	{ SS_CAUSE_COLLECTIVE, JAX | TF | TORCH_XLA | UNNAMED, ANYWHERE,
	  "Overlap communication with compute: use smaller buckets that start earlier.",
	  .without = SS_TRAIT_WAITS_FOR_OTHERS | SS_TRAIT_NO_PYTHON },
	{ SS_CAUSE_COLLECTIVE, UNNAMED, ANYWHERE,
	  "Overlap communication with compute: start it as soon as its data is ready (MPI_Isend, MPI_Irecv), and wait for it late.",
	  .with = SS_TRAIT_NO_PYTHON, .without = SS_TRAIT_WAITS_FOR_OTHERS },
	{ SS_CAUSE_COLLECTIVE, ANY, ANYWHERE,
	  "Give the participants equal work between collective operations, or let them meet less often. Sending less does "
	  "not help.",
	  .with = SS_TRAIT_WAITS_FOR_OTHERS },
	{ SS_CAUSE_STRAGGLER, ANY, ANYWHERE,
	  "Look at what the late participant does before the collective operation: its input, its share of the data, its "
	  "hardware. Sending less does not help.", 0, 0 },
	{ SS_CAUSE_CALLBACK, JAX, ANYWHERE,
	  "Take jax.debug.print, jax.pure_callback and jax.experimental.io_callback out of the step, or call them "
	  "every n-th step.", 0, 0 },
	{ SS_CAUSE_CALLBACK, TF, ANYWHERE, "Replace tf.py_function and tf.numpy_function with TensorFlow operations.", 0, 0 },
	{ SS_CAUSE_CALLBACK, ANY, ANYWHERE,
	  "Each callback makes the program wait for Python: do the work inside the program or outside the step.", 0, 0 },
	{ SS_CAUSE_OUTSIDE_STEPS, TF, ANYWHERE,
	  "With Keras, callbacks run between the steps: make those of each batch (on_train_batch_end) faster, or let them work "
	  "every n-th batch.",
	  .with = SS_TRAIT_KERAS },
	{ SS_CAUSE_OUTSIDE_STEPS, ANY, ANYWHERE, "Do this work while a step runs: on another thread, ahead of time.", 0, 0 },
	{ SS_CAUSE_OUTLIER_STEPS, ANY, ANYWHERE,
	  "Do the extra work of these steps less often, or on another thread that they do not wait for.",
	  .without = SS_TRAIT_ALL_DO | SS_TRAIT_COMPILES | SS_TRAIT_COLLECTS | SS_TRAIT_EXTRA_UNKNOWN },
	{ SS_CAUSE_OUTLIER_STEPS, ANY, ANYWHERE,
	  "Collect garbage outside the steps: gc.freeze() after setting up, gc.disable(), and gc.collect() every few hundred "
	  "steps.",
	  .with = SS_TRAIT_COLLECTS },
	{ SS_CAUSE_OUTLIER_STEPS, ANY, ANYWHERE,
	  "All steps do this, but it takes longer in these. Compare them in the timeline with a usual one: more of it, more data, "
	  "a slower clock, or other programs on the machine.",
	  .with = SS_TRAIT_ALL_DO, .without = SS_TRAIT_COMPILES | SS_TRAIT_COLLECTS | SS_TRAIT_EXTRA_UNKNOWN },
	{ SS_CAUSE_OUTLIER_STEPS, ANY, ANYWHERE,
	  "Run a step of each kind before the loop, so that everything is compiled, or start recording after a few warm-up "
	  "steps.",
	  .with = SS_TRAIT_COMPILES },
	{ SS_CAUSE_OUTLIER_STEPS, ANY, ANYWHERE,
	  "Put annotations around what the program does beside its steps, so that the profile names it.",
	  .with = SS_TRAIT_EXTRA_UNKNOWN },
	{ SS_CAUSE_MEMORY_CAPACITY, JAX, ON_DEVICE,
	  "Donate the buffers of parameters and optimizer state (donate_argnums), or recompute activations "
	  "(jax.checkpoint).", 0, 0 },
	{ SS_CAUSE_MEMORY_CAPACITY, TF, ON_DEVICE,
	  "Recompute activations (tf.recompute_grad), or use a smaller batch.", 0, 0 },
	{ SS_CAUSE_MEMORY_CAPACITY, TORCH, ON_DEVICE,
	  "Recompute activations (torch.utils.checkpoint), and free gradients with zero_grad(set_to_none=True).", 0, 0 },
	{ SS_CAUSE_MEMORY_CAPACITY, ANY, ANYWHERE,
	  "Spread parameters and optimizer state over devices, or accumulate gradients over smaller batches.",
	  .without = SS_TRAIT_NO_PYTHON },
	{ SS_CAUSE_MEMORY_GROWTH, TORCH, ANYWHERE,
	  "Do not keep tensors with their graphs: sum losses with .detach().", 0, 0 },
	{ SS_CAUSE_MEMORY_GROWTH, ANY, ANYWHERE,
	  "Look for lists and caches that keep results of each step; the memory profile says which operation made "
	  "them.", 0, 0 },
	{ SS_CAUSE_FRAGMENTATION, JAX, ON_DEVICE,
	  "Keep allocation sizes the same from step to step: pad batches. XLA_PYTHON_CLIENT_ALLOCATOR=platform asks the "
	  "driver for each allocation.", 0, 0 },
	{ SS_CAUSE_FRAGMENTATION, TF, ON_DEVICE,
	  "Keep allocation sizes the same from step to step: pad batches. TF_GPU_ALLOCATOR=cuda_malloc_async reduces "
	  "fragmentation.", 0, 0 },
	{ SS_CAUSE_FRAGMENTATION, TORCH, ON_DEVICE,
	  "Set PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True, and keep allocation sizes the same from step to step.", 0, 0 },
	{ SS_CAUSE_FRAGMENTATION, ANY, ANYWHERE,
	  "Keep allocation sizes the same from step to step: pad batches to a few sizes.", 0, 0 },
	{ SS_CAUSE_PRECISION, JAX, ON_DEVICE,
	  "Compute in bfloat16, or set jax.default_matmul_precision to 'tensorfloat32'.", 0, 0 },
	{ SS_CAUSE_PRECISION, TF, ON_DEVICE,
	  "Use the policy mixed_bfloat16 (or mixed_float16) of Keras, or enable TensorFloat-32.", 0, 0 },
	{ SS_CAUSE_PRECISION, TORCH, ON_DEVICE,
	  "Use torch.autocast with bfloat16, or torch.set_float32_matmul_precision('high').", 0, 0 },
	{ SS_CAUSE_PRECISION, ANY, ON_DEVICE,
	  "Compute matrix products in bfloat16, float16 or TensorFloat-32 where accuracy allows.", 0, 0 },
	{ SS_CAUSE_LOCK, ANY, ANYWHERE,
	  "Look in the timeline at what the other thread does meanwhile; hold the lock for a shorter time, or pass "
	  "data through a queue that is filled ahead.", 0, 0 },
	{ SS_CAUSE_GC, ANY, ANYWHERE,
	  "Collect outside the steps: gc.freeze() after setting up, gc.disable(), and gc.collect() every few "
	  "hundred steps.", 0, 0 },
	{ SS_CAUSE_IDLE, JAX | TF, ANYWHERE, "Record the host's threads: set the profiler's option host_tracer_level to 2.",
	  .with = SS_TRAIT_NO_THREADS },
	{ SS_CAUSE_IDLE, JAX, ANYWHERE,
	  "Record Python: set ProfileOptions.python_tracer_level = 1, or put jax.profiler.TraceAnnotation around "
	  "code that you suspect.",
	  .without = SS_TRAIT_PYTHON },
	{ SS_CAUSE_IDLE, JAX, ANYWHERE,
	  "Put jax.profiler.TraceAnnotation around code that you suspect, so that the profile names it.",
	  .with = SS_TRAIT_PYTHON },
	{ SS_CAUSE_IDLE, TF, ANYWHERE,
	  "Put tf.profiler.experimental.Trace around code that you suspect, so that the profile names it.", 0, 0 },
	{ SS_CAUSE_IDLE, TORCH, ANYWHERE,
	  "Record Python: profile(with_stack=True), or put torch.profiler.record_function around code that you suspect.",
	  .without = SS_TRAIT_PYTHON | SS_TRAIT_OTHER_PROFILER },
	{ SS_CAUSE_IDLE, TORCH, ANYWHERE,
	  "Put torch.profiler.record_function around code that you suspect, so that the profile names it.",
	  .with = SS_TRAIT_PYTHON },
	{ SS_CAUSE_IDLE, TORCH_XLA | UNNAMED, ANYWHERE,
	  "Profile again with the host's threads and Python's calls recorded.",
	  .without = SS_TRAIT_PYTHON | SS_TRAIT_NO_PYTHON },
	{ SS_CAUSE_IDLE, UNNAMED, ANYWHERE,
	  "Put a range (NVTX, ROCTx, or one of your tracer) around code that you suspect, so that the recording names it.",
	  .with = SS_TRAIT_NO_PYTHON },
	{ SS_CAUSE_IDLE, TORCH, ANYWHERE, "Profile again with the host's threads and Python's calls recorded.",
	  .with = SS_TRAIT_OTHER_PROFILER, .without = SS_TRAIT_PYTHON },
	{ SS_CAUSE_NONE, ANY, ANYWHERE, "Only less work, narrower types or a faster device can make it faster.", 0, 0 },
};

static unsigned traits_of(const struct ss_judge *j, const struct ss_verdict_finding *f)
{
	return f->traits | (j->habits & SS_HABIT_COMPILED ? SS_TRAIT_COMPILED : 0) |
	       (j->habits & SS_HABIT_WORKERS ? SS_TRAIT_WORKERS : 0) | (j->habits & SS_HABIT_KERAS ? SS_TRAIT_KERAS : 0) |
	       (j->habits & SS_HABIT_OTHER_PROFILER ? SS_TRAIT_OTHER_PROFILER : 0) | (j->has_python ? SS_TRAIT_PYTHON : 0) |
	       (j->no_python ? SS_TRAIT_NO_PYTHON : 0);
}

static bool fits(const struct ss_judge *j, const struct advice *a, unsigned traits)
{
	if (a->where == ON_DEVICE && !j->has_device)
		return false;
	if (a->where == ON_CPU && j->has_device)
		return false;
	/* If a profile has marks of two frameworks, the one that is named. */
	unsigned own = j->frameworks & SS_FW_TORCH_XLA ? SS_FW_TORCH_XLA
		       : j->frameworks & SS_FW_PYTORCH ? SS_FW_PYTORCH
		       : j->frameworks & SS_FW_JAX     ? SS_FW_JAX
		       : j->frameworks		       ? j->frameworks
						       : UNNAMED;
	if ((a->without & traits) || (a->with & ~traits))
		return false;
	return !a->frameworks || (a->frameworks & own);
}

void ss_advise(struct ss_judge *j, struct ss_verdict_finding *f)
{
	unsigned traits = traits_of(j, f);
	for (size_t i = 0; i < SS_COUNT(table) && f->nadvice < SS_MOST_ADVICE; i++)
		if (table[i].cause == f->cause && fits(j, &table[i], traits))
			f->advice[f->nadvice++] = ss_str_from(table[i].text);
}
