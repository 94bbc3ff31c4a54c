/* suggestion_rules.c - see suggestion_rules.h. */
#include "tools/suggestion_rules.h"

#include "base/str.h"

const struct ss_figure_name ss_figure_names[SS_FIG_COUNT] = {
	[SS_FIG_BARRIER] = { "Step time in barrier-cores, mean over chips and steps", "trace_viewer@" },
	[SS_FIG_COLLECTIVE] = { "Time in collective operations", "hlo_stats" },
	[SS_FIG_MXU] = { "Utilization of the matrix units", "overview_page" },
	[SS_FIG_HBM] = { "Utilization of the memory bandwidth", "roofline_model" },
	[SS_FIG_SHUFFLE] = { "Device time in moving data around", "hlo_stats" },
	[SS_FIG_INPUT] = { "Step time waiting for input", "input_pipeline_analyzer" },
	[SS_FIG_ENQUEUE] = { "Share of enqueueing in the host's input work", "input_pipeline_analyzer" },
	[SS_FIG_HOST_WORK] = { "Share of reading and preprocessing in the host's input work", "input_pipeline_analyzer" },
	[SS_FIG_DEBUG] = { "Host time in debug printing", "framework_op_stats" },
	[SS_FIG_IDLE] = { "Idle time of the device", "framework_op_stats" },
	[SS_FIG_SPARSE] = { "Step time of SparseCores", "overview_page" },
	[SS_FIG_ASYNC] = { "Device time waiting for asynchronous work", "hlo_stats" },
	[SS_FIG_COPY] = { "Device time waiting for copies between memories", "hlo_stats" },
	[SS_FIG_MEMORY] = { "Memory of a device in use at its peak", "memory_profile" },
	[SS_FIG_FRAGMENTED] = { "Fragmentation of that device's free memory", "memory_profile" },
	[SS_FIG_GAPS] = { "Step time in which no operation runs", "trace_viewer@" },
};

const struct ss_rule ss_rules[] = {
	{
		.name = "BarrierCoresRule",
		.title = "Cores wait for each other",
		.before = "TPU barrier-cores operations take an average of ",
		.after = " of each step time: cores wait there until all others have arrived.",
		.when = { { SS_FIG_BARRIER, '>', 10 } },
		.advice = {
			{ "Balance the work",
			  "Look for cores or hosts that arrive late. Uneven shards, or one host with a slower "
			  "input pipeline, make all others wait." },
			{ "Optimize collective operations",
			  "Each of them is a meeting point. Join small ones, and keep their data small." },
			{ "Check the network",
			  "Latency and lost bandwidth between hosts lengthen every wait." },
			{ "Improve the input pipeline",
			  "A host that hands its data over late stalls the whole job." },
		},
	},
	{
		.name = "CollectiveBoundRule",
		.title = "Bound by collective operations",
		.before = "Collective operations take ",
		.after = " of the time.",
		.when = { { SS_FIG_COLLECTIVE, '>', 30 } },
		.advice = {
			{ "Send less",
			  "Use a smaller type for gradients, accumulate them over several batches, or shard "
			  "differently." },
			{ "Overlap",
			  "Let communication run beside computation: latency-hiding scheduling, or asynchronous"
			  " collectives." },
		},
	},
	{
		.name = "ComputeBoundRule",
		.title = "Bound by computation",
		.before = "The matrix units are busy ",
		.after = " of the time while memory has room: the program computes as fast as it can.",
		.when = { { SS_FIG_MXU, '>', 70 }, { SS_FIG_HBM, '<', 50 } },
		.advice = {
			{ "Compute less",
			  "Use bfloat16, 8-bit floats or int8 where accuracy allows; avoid recomputation that "
			  "memory no longer asks for." },
			{ "Use more devices",
			  "The program will scale." },
		},
	},
	{
		.name = "MemoryBoundRule",
		.title = "Bound by memory",
		.before = "Memory bandwidth is used to ",
		.after = " while the matrix units have room.",
		.when = { { SS_FIG_HBM, '>', 70 }, { SS_FIG_MXU, '<', 50 } },
		.advice = {
			{ "Read less",
			  "Fuse element-wise operations, use smaller types, and enlarge the batch so that "
			  "weights are read for more rows." },
			{ "Keep data close",
			  "Look in the roofline for operations bound by HBM that could work from on-chip "
			  "memory." },
		},
	},
	{
		.name = "DataShuffleBoundRule",
		.title = "Bound by moving data around",
		.before = "Operations that only rearrange data take ",
		.after = " of the device's time.",
		.when = { { SS_FIG_SHUFFLE, '>', 30 } },
		.advice = {
			{ "Choose layouts",
			  "Transpositions and copies appear where producer and consumer want different layouts:"
			  " swap dimensions in the model, or transpose once before training." },
			{ "Avoid gathers and scatters",
			  "Replace lookups by one-hot products where tables are small; avoid dynamic slices in "
			  "loops." },
		},
	},
	{
		.name = "DataTransferBoundRule",
		.title = "Input bound: copying to the device",
		.before = "Steps wait ",
		.after = " of their time for input, and the host mostly copies.",
		.when = { { SS_FIG_INPUT, '>', 10 }, { SS_FIG_ENQUEUE, '>', 30 } },
		.advice = {
			{ "Send less",
			  "Smaller types, and preprocessing on the device, make transfers shorter." },
			{ "Send earlier",
			  "Prefetch to the device so that the copy runs beside the step." },
		},
	},
	{
		.name = "HostProcessingBoundRule",
		.title = "Input bound: the host prepares data too slowly",
		.before = "Steps wait ",
		.after = " of their time for input, and the host mostly reads and preprocesses.",
		.when = { { SS_FIG_INPUT, '>', 10 }, { SS_FIG_HOST_WORK, '>', 50 } },
		.advice = {
			{ "Work in parallel",
			  "num_parallel_calls=tf.data.AUTOTUNE, more loader processes, or a data service." },
			{ "Work once",
			  "Preprocess offline, or cache what comes out of the expensive stages." },
		},
	},
	{
		.name = "InputBoundRule",
		.title = "Input bound",
		.before = "Steps wait ",
		.after = " of their time for input; no operation of the host tells by its kind what takes so long.",
		.when = { { SS_FIG_INPUT, '>', 10 }, { SS_FIG_ENQUEUE, '<', 1e-6 }, { SS_FIG_HOST_WORK, '<', 1e-6 } },
		.advice = {
			{ "Find the slow stage",
			  "See in the timeline which threads of the host work while steps wait. Where there are "
			  "none, profile again with the host tracer on." },
		},
	},
	{
		.name = "DebugPrintRule",
		.title = "Debug printing costs time",
		.before = "Printing from compiled code takes ",
		.after = " of the step time on the host.",
		.when = { { SS_FIG_DEBUG, '>', 5 } },
		.advice = {
			{ "Remove it",
			  "Take debug prints out of the step, or print every n-th step only: each one makes the"
			  " device wait for the host." },
		},
	},
	{
		.name = "TensorCoreIdleBoundRule",
		.title = "The device is idle",
		.before = "The device does nothing for ",
		.after = " of the time.",
		.when = { { SS_FIG_IDLE, '>', 10 }, { SS_FIG_MXU, '<', 50 }, { SS_FIG_HBM, '<', 50 } },
		.advice = {
			{ "Look at the gaps",
			  "In the timeline: input, Python code between steps, compilation, or a host that waits"
			  " for a result." },
			{ "Give it more at once",
			  "Larger batches, several steps in one call, asynchronous dispatch." },
		},
	},
	{
		.name = "HostGapRule",
		.title = "Nothing computes",
		.before = "For ",
		.after = " of the step time no operation runs.",
		.when = { { SS_FIG_GAPS, '>', 10 }, { SS_FIG_INPUT, '<', 10 } },
		.advice = {
			{ "Look at the gaps",
			  "In the timeline: Python code between steps, compilation, or a host that waits for a "
			  "result." },
			{ "Compile more of the step",
			  "What is inside of one compiled function (jax.jit, tf.function) runs without Python." },
			{ "Give it more at once",
			  "Larger batches, several steps in one call, asynchronous dispatch." },
		},
	},
	{
		.name = "SparseCoreBoundRule",
		.title = "Bound by SparseCores",
		.before = "SparseCores work for ",
		.after = " of the step time while the TensorCores have room.",
		.when = { { SS_FIG_SPARSE, '>', 10 }, { SS_FIG_MXU, '<', 50 }, { SS_FIG_HBM, '<', 50 } },
		.advice = {
			{ "Balance embeddings",
			  "Distribute tables evenly, drop duplicate ids in a batch, and overlap lookups with "
			  "dense work." },
		},
	},
	{
		.name = "SparseCoreOffloadRule",
		.title = "Waiting for offloaded work",
		.before = "Operations that end asynchronous work take ",
		.after = " of the device's time while memory has room.",
		.when = { { SS_FIG_ASYNC, '>', 10 }, { SS_FIG_HBM, '<', 50 } },
		.advice = {
			{ "Start earlier",
			  "Give the scheduler independent work to put between start and end of offloaded "
			  "operations." },
		},
	},
	{
		.name = "CopyWaitRule",
		.title = "Waiting for copies between memories",
		.before = "The device waits ",
		.after = " of its time for copies that it has started: between HBM and the host's memory, or to on-chip memory.",
		.when = { { SS_FIG_COPY, '>', 10 } },
		.advice = {
			{ "Offload less",
			  "Where values are kept in the host's memory (memory space 5 in the layout, S(5)), keep more of them in "
			  "HBM, or compute them again." },
			{ "Start earlier",
			  "Give the scheduler independent work to put between start and end of a copy." },
		},
	},
	{
		.name = "MemoryFullRule",
		.title = "The memory of a device is nearly full",
		.before = "At its peak ",
		.after = " of the memory is in use",
		.when = { { SS_FIG_MEMORY, '>', 90 } },
		.about_memory = true,
		.advice = {
			{ "Keep less",
			  "Donate the buffers of parameters and optimizer state to the step (donate_argnums), keep activations "
			  "in bfloat16, or compute them again (jax.checkpoint, tf.recompute_grad)." },
			{ "Spread it",
			  "Shard parameters and optimizer state over the devices, or accumulate gradients over smaller "
			  "batches." },
		},
	},
	{
		.name = "MemoryFragmentedRule",
		.title = "The free memory of a device is in pieces",
		.before = "",
		.after = " of the free memory is outside of its largest block",
		.when = { { SS_FIG_FRAGMENTED, '>', 30 }, { SS_FIG_MEMORY, '>', 70 } },
		.about_memory = true,
		.advice = {
			{ "Keep shapes the same",
			  "Sizes that change from step to step leave holes: pad batches to a few sizes." },
			{ "Let the allocator move on",
			  "TF_GPU_ALLOCATOR=cuda_malloc_async, or XLA_PYTHON_CLIENT_ALLOCATOR=platform, where what is free "
			  "is enough but an allocation fails." },
		},
	},
};

const size_t ss_nrules = SS_COUNT(ss_rules);
