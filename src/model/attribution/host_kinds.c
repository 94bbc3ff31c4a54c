/* host_kinds.c - see host_kinds.h. */
#include "model/attribution/host_kinds.h"

#include "model/attribution/frames.h"
#include "model/host/opname.h"
#include "model/steps/inferred.h"

#include <stdlib.h>

enum match { PREFIX, SUFFIX, PART, WHOLE };

struct word {
	enum ss_host_kind kind;
	enum match match;
	struct ss_str text;
};

/* The first that matches counts. */
static const struct word words[] = {
	{ SS_KIND_SKIP, PREFIX, SS_STR_INIT("ThreadpoolListener::") },
	{ SS_KIND_SKIP, PREFIX, SS_STR_INIT("end: ") },
	{ SS_KIND_SKIP, PREFIX, SS_STR_INIT("ProfilerStep#") },
	{ SS_KIND_SKIP, PREFIX, SS_STR_INIT("TraceContext") },
	{ SS_KIND_SKIP, WHOLE, SS_STR_INIT("train") },
	{ SS_KIND_SKIP, WHOLE, SS_STR_INIT("step") },
	{ SS_KIND_SKIP, WHOLE, SS_STR_INIT("epoch") },
	{ SS_KIND_SKIP, WHOLE, SS_STR_INIT("Profiled batch") },
	{ SS_KIND_SKIP, WHOLE, SS_STR_INIT("MemoryAllocation") },
	{ SS_KIND_SKIP, WHOLE, SS_STR_INIT("MemoryDeallocation") },
	{ SS_KIND_SKIP, PREFIX, SS_STR_INIT("PyTorch Profiler (") },
	{ SS_KIND_PROFILER, PREFIX, SS_STR_INIT("torch/profiler/") },
	{ SS_KIND_PROFILER, PREFIX, SS_STR_INIT("torch/autograd/profiler.py") },
	{ SS_KIND_COMPILE, PART, SS_STR_INIT("backend_compile") },
	{ SS_KIND_COMPILE, PART, SS_STR_INIT("Compiler::Compile") },
	{ SS_KIND_COMPILE, PART, SS_STR_INIT("Client::Compile") },
	{ SS_KIND_COMPILE, PART, SS_STR_INIT("Compiler::Run") },
	{ SS_KIND_COMPILE, PART, SS_STR_INIT("graph_building") },
	{ SS_KIND_COMPILE, PREFIX, SS_STR_INIT("lower_sharding_computation") },
	{ SS_KIND_COMPILE, PREFIX, SS_STR_INIT("trace_to_jaxpr") },
	{ SS_KIND_COMPILE, PREFIX, SS_STR_INIT("XlaCompile") },
	{ SS_KIND_COMPILE, PREFIX, SS_STR_INIT("$compiler.py:") },
	{ SS_KIND_COMPILE, PREFIX, SS_STR_INIT("$mlir.py:") },
	{ SS_KIND_COMPILE, PREFIX, SS_STR_INIT("torch/_dynamo/convert_frame") },
	{ SS_KIND_COMPILE, PREFIX, SS_STR_INIT("torch/_inductor/compile") },
	{ SS_KIND_COMPILE, PREFIX, SS_STR_INIT("dynamo_timed") },
	{ SS_KIND_COMPILE, SUFFIX, SS_STR_INIT(" (dynamo_timed)") },
	{ SS_KIND_COMPILE, WHOLE, SS_STR_INIT("dynamo") },
	{ SS_KIND_COMPILE, PREFIX, SS_STR_INIT("entire_frame_compile") },
	{ SS_KIND_COMPILE, PREFIX, SS_STR_INIT("entire_backward_compile") },
	{ SS_KIND_COMPILE, PART, SS_STR_INIT("compile_fx") },
	{ SS_KIND_CALLBACK, PREFIX, SS_STR_INIT("PyFunc:") },
	{ SS_KIND_CALLBACK, PREFIX, SS_STR_INIT("EagerPyFunc:") },
	{ SS_KIND_CALLBACK, PART, SS_STR_INIT(":PyFunc") },
	{ SS_KIND_CALLBACK, PART, SS_STR_INIT(":EagerPyFunc") },
	{ SS_KIND_CALLBACK, PART, SS_STR_INIT("PythonCpuCallback") },
	{ SS_KIND_CALLBACK, PART, SS_STR_INIT("PythonGpuCallback") },
	{ SS_KIND_CALLBACK, PART, SS_STR_INIT("FfiCallback") },
	{ SS_KIND_DEMAND, PREFIX, SS_STR_INIT("IteratorGetNext") },
	{ SS_KIND_DEMAND, PREFIX, SS_STR_INIT("EagerLocalExecute: IteratorGetNext") },
	{ SS_KIND_DEMAND, PART, SS_STR_INIT("DataLoader") },
	{ SS_KIND_DEMAND, PREFIX, SS_STR_INIT("$iterator_ops.py:") },
	{ SS_KIND_DEMAND, PART, SS_STR_INIT("torch/utils/data/") },
	{ SS_KIND_INPUT, PREFIX, SS_STR_INIT("Iterator::") },
	{ SS_KIND_INPUT, PREFIX, SS_STR_INIT("MakeIterator") },
	{ SS_KIND_INPUT, PREFIX, SS_STR_INIT("EagerLocalExecute: MakeIterator") },
	{ SS_KIND_INPUT, SUFFIX, SS_STR_INIT("Dataset") },
	{ SS_KIND_INPUT, SUFFIX, SS_STR_INIT("DatasetV2") },
	{ SS_KIND_INPUT, PREFIX, SS_STR_INIT("InfeedEnqueue") },
	{ SS_KIND_COPY, PREFIX, SS_STR_INIT("H2D Dispatch") },
	{ SS_KIND_COPY, PREFIX, SS_STR_INIT("D2H Dispatch") },
	{ SS_KIND_COPY, PREFIX, SS_STR_INIT("DevicePut") },
	{ SS_KIND_COPY, PREFIX, SS_STR_INIT("TransferToDevice") },
	{ SS_KIND_COPY, PREFIX, SS_STR_INIT("TransferFromDevice") },
	{ SS_KIND_COPY, PART, SS_STR_INIT("BufferFromHostBuffer") },
	{ SS_KIND_COPY, PART, SS_STR_INIT("CopyRawToHost") },
	{ SS_KIND_COPY, PART, SS_STR_INIT("TransferLiteral") },
	{ SS_KIND_COPY, WHOLE, SS_STR_INIT("Linearize") },
	{ SS_KIND_COPY, WHOLE, SS_STR_INIT("Delinearize") },
	{ SS_KIND_SYNC, WHOLE, SS_STR_INIT("np.asarray(jax.Array)") },
	{ SS_KIND_SYNC, PART, SS_STR_INIT("block_until_ready") },
	{ SS_KIND_SYNC, PART, SS_STR_INIT("BlockHostUntilReady") },
	{ SS_KIND_SYNC, PART, SS_STR_INIT("BlockUntilReady") },
	{ SS_KIND_SYNC, PART, SS_STR_INIT("::Await") },
	{ SS_KIND_SYNC, PREFIX, SS_STR_INIT("Wait for ") },
	{ SS_KIND_SYNC, PART, SS_STR_INIT("ToLiteralSync") },
	{ SS_KIND_COLLECTIVE, PREFIX, SS_STR_INIT("c10d::") },
	{ SS_KIND_COLLECTIVE, PREFIX, SS_STR_INIT("gloo:") },
	{ SS_KIND_COLLECTIVE, PREFIX, SS_STR_INIT("nccl:") },
	{ SS_KIND_MESSAGE, PREFIX, SS_STR_INIT("MPI_") },
	{ SS_KIND_COLLECTIVE, PART, SS_STR_INIT(":CollectiveReduce") },
	{ SS_KIND_COLLECTIVE, PART, SS_STR_INIT(":CollectiveGather") },
	{ SS_KIND_DEMAND, PART, SS_STR_INIT(":IteratorGetNext") },
	{ SS_KIND_SYNC, WHOLE, SS_STR_INIT("aten::item") },
	{ SS_KIND_SYNC, WHOLE, SS_STR_INIT("aten::_local_scalar_dense") },
	{ SS_KIND_SYNC, WHOLE, SS_STR_INIT("aten::is_nonzero") },
	{ SS_KIND_SYNC, PART, SS_STR_INIT("StreamSynchronize") },
	{ SS_KIND_SYNC, PART, SS_STR_INIT("DeviceSynchronize") },
	{ SS_KIND_SYNC, PART, SS_STR_INIT("EventSynchronize") },
	{ SS_KIND_SYNC, PART, SS_STR_INIT("CtxSynchronize") },
	{ SS_KIND_SYNC, PART, SS_STR_INIT("effects_barrier") },
	{ SS_KIND_COPY, PREFIX, SS_STR_INIT("cudaMemcpy") },
	{ SS_KIND_COPY, PREFIX, SS_STR_INIT("hipMemcpy") },
	{ SS_KIND_COPY, PREFIX, SS_STR_INIT("cuMemcpy") },
	{ SS_KIND_EXECUTE, PREFIX, SS_STR_INIT("ThunkExecutor::Execute") },
	{ SS_KIND_EXECUTE, PREFIX, SS_STR_INIT("ExecutorState::Process") },
	{ SS_KIND_FUNCTION, PREFIX, SS_STR_INIT("PjitFunction(") },
	{ SS_KIND_FUNCTION, PREFIX, SS_STR_INIT("EagerLocalExecute: __") },
	{ SS_KIND_FUNCTION, PREFIX, SS_STR_INIT("SessionRun") },
	{ SS_KIND_FUNCTION, PREFIX, SS_STR_INIT("TfrtSessionRun") },
	{ SS_KIND_FUNCTION, PREFIX, SS_STR_INIT("Torch-Compiled Region") },
	{ SS_KIND_FUNCTION, PREFIX, SS_STR_INIT("Optimizer.") },
	{ SS_KIND_EAGER_OP, PREFIX, SS_STR_INIT("EagerLocalExecute: ") },
	{ SS_KIND_EAGER_OP, PREFIX, SS_STR_INIT("## Call CompiledFxGraph ") },
	{ SS_KIND_LAUNCH, PREFIX, SS_STR_INIT("TorchDynamo Cache Lookup") },
	{ SS_KIND_LAUNCH, PREFIX, SS_STR_INIT("AOTDispatcher Runtime Wrapper") },
	{ SS_KIND_LAUNCH, PREFIX, SS_STR_INIT("Pregraph bytecode") },
	{ SS_KIND_WAIT, WHOLE, SS_STR_INIT("FunctionRun") },
	{ SS_KIND_WAIT, WHOLE, SS_STR_INIT("KernelAndDeviceFunc::Run") },
	{ SS_KIND_LAUNCH, PREFIX, SS_STR_INIT("TFE_") },
	{ SS_KIND_LAUNCH, PREFIX, SS_STR_INIT("Eager") },
	{ SS_KIND_LAUNCH, WHOLE, SS_STR_INIT("convert_to_tensor") },
	{ SS_KIND_LAUNCH, WHOLE, SS_STR_INIT("tf.constant") },
	{ SS_KIND_LAUNCH, WHOLE, SS_STR_INIT("ParseArguments") },
	{ SS_KIND_LAUNCH, WHOLE, SS_STR_INIT("shard_args") },
	{ SS_KIND_LAUNCH, PREFIX, SS_STR_INIT("ExecuteReplicated") },
	{ SS_KIND_LAUNCH, PREFIX, SS_STR_INIT("PJRT_") },
	{ SS_KIND_LAUNCH, WHOLE, SS_STR_INIT("ExecutorDoneCallback") },
	{ SS_KIND_LAUNCH, WHOLE, SS_STR_INIT("ValidateInputTypeAndPlacement") },
	/* JAX's own Python around the operations that it starts: files of names that programs hardly have. */
	{ SS_KIND_LAUNCH, PREFIX, SS_STR_INIT("$array_methods.py:") },
	{ SS_KIND_LAUNCH, PREFIX, SS_STR_INIT("$array_constructors.py:") },
	{ SS_KIND_LAUNCH, PREFIX, SS_STR_INIT("$array_creation.py:") },
	{ SS_KIND_LAUNCH, PREFIX, SS_STR_INIT("$ufunc_api.py:") },
	{ SS_KIND_LAUNCH, PREFIX, SS_STR_INIT("$ufuncs.py:") },
	{ SS_KIND_LAUNCH, PREFIX, SS_STR_INIT("$lax_numpy.py:") },
	{ SS_KIND_LAUNCH, PREFIX, SS_STR_INIT("$lax.py:") },
	{ SS_KIND_LAUNCH, PREFIX, SS_STR_INIT("$pjit.py:") },
	{ SS_KIND_LAUNCH, PREFIX, SS_STR_INIT("$pxla.py:") },
	{ SS_KIND_LAUNCH, PREFIX, SS_STR_INIT("$tensor_contractions.py:") },
	{ SS_KIND_LAUNCH, PREFIX, SS_STR_INIT("$traceback_util.py:") },
	/* Layers of PyTorch in Python. */
	{ SS_KIND_LAUNCH, PREFIX, SS_STR_INIT("nn.Module: ") },
	{ SS_KIND_SKIP, PREFIX, SS_STR_INIT("torch/utils/_contextlib") }, /* around functions with @torch.no_grad() */
	{ SS_KIND_LAUNCH, PREFIX, SS_STR_INIT("torch/nn/") },
	{ SS_KIND_LAUNCH, PREFIX, SS_STR_INIT("torch/optim/") },
	{ SS_KIND_LAUNCH, PREFIX, SS_STR_INIT("torch/autograd/") },
	{ SS_KIND_LAUNCH, PREFIX, SS_STR_INIT("torch/_") },
	{ SS_KIND_LAUNCH, PREFIX, SS_STR_INIT("torch/functional") },
	{ SS_KIND_LAUNCH, PREFIX, SS_STR_INIT("torch/overrides.py") },
	{ SS_KIND_LAUNCH, PREFIX, SS_STR_INIT("torch/amp/") },
	{ SS_KIND_LAUNCH, PREFIX, SS_STR_INIT("torch/accelerator/") },
	{ SS_KIND_LAUNCH, PREFIX, SS_STR_INIT("torch/cuda/__init__.py") },
	{ SS_KIND_LAUNCH, PREFIX, SS_STR_INIT("torch/utils/_") },
};

static bool matches(const struct word *w, struct ss_str name)
{
	switch (w->match) {
	case PREFIX:
		return ss_str_starts(name, w->text);
	case SUFFIX:
		return ss_str_ends(name, w->text);
	case PART:
		return ss_str_contains(name, w->text);
	case WHOLE:
		break;
	}
	return ss_str_eq(name, w->text);
}

/* ---- Python ---- */

static bool is_one_of(struct ss_str s, const char *const *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (ss_str_is(s, list[i]))
			return true;
	return false;
}

/*
 * Functions of JAX that programs call, or that frames without events lead to, in files whose names programs may have, too.
 */
static bool is_of_jax(struct ss_str file, struct ss_str func)
{
	static const struct {
		const char *file, *func;
	} known[] = {
		{ "array.py", "__getitem__" },	   { "array.py", "__iter__" },
		{ "core.py", "bind" },		   { "core.py", "bind_with_trace" },
		{ "core.py", "_true_bind" },	   { "core.py", "process_primitive" },
		{ "dispatch.py", "apply_primitive" }, { "indexing.py", "rewriting_take" },
		{ "indexing.py", "take" },	   { "reductions.py", "sum" },
		{ "reductions.py", "mean" },	   { "reductions.py", "max" },
		{ "reductions.py", "min" },	   { "reductions.py", "prod" },
		{ "reductions.py", "any" },	   { "reductions.py", "all" },
		{ "reductions.py", "var" },	   { "reductions.py", "std" },
		{ "slicing.py", "slice" },	   { "slicing.py", "dynamic_slice" },
		{ "slicing.py", "gather" },	   { "slicing.py", "dynamic_update_slice" },
		{ "slicing.py", "dynamic_index_in_dim" },
	};
	for (size_t i = 0; i < SS_COUNT(known); i++)
		if (ss_str_is(file, known[i].file) && ss_str_is(func, known[i].func))
			return true;
	return false;
}

/*
 * The start and stop of a recording. XLA's tracer of Python keeps the last part of a path alone, and a program may have a
 * profiler.py of its own: then the function decides as well.
 */
static bool is_profiler(struct ss_str path, struct ss_str file, struct ss_str func)
{
	static const char *const jax[] = { "start_trace", "stop_trace", "stop_and_get_fdo_profile", "_write_perfetto_trace_file",
					   "_host_perfetto_trace_file" };
	static const char *const tf[] = { "start", "stop", "warmup", "__enter__", "__exit__" };
	if (path.n > file.n)
		return ss_str_ends(path, SS_STR("jax/_src/profiler.py")) ||
		       ss_str_contains(path, SS_STR("tensorflow/python/profiler/")) ||
		       ss_str_contains(path, SS_STR("torch/profiler/"));
	return (ss_str_is(file, "profiler.py") && is_one_of(func, jax, SS_COUNT(jax))) ||
	       (ss_str_is(file, "profiler_v2.py") && is_one_of(func, tf, SS_COUNT(tf)));
}

static enum ss_host_kind kind_of_frame(const struct ss_frame *f)
{
	static const char *const waits[] = { "acquire", "wait", "join", "_wait_for_tstate_lock", "wait_for" };
	static const char *const passes[] = { "get", "put" };
	static const char *const reads[] = { "__float__", "__int__", "__bool__", "__index__",
					     "__array__", "item",    "tolist",	 "_value" };
	struct ss_str file = f->file;
	size_t slash = ss_str_rchr(file, '/');
	if (slash != SS_NPOS)
		file = ss_str_sub(file, slash + 1, file.n);
	if (ss_frame_marks_collection(f))
		return SS_KIND_GC_MARK;
	if (f->line && is_profiler(f->file, file, f->func))
		return SS_KIND_PROFILER;
	if (!f->line && (ss_str_is(f->func, "acquire") || ss_str_is(f->func, "acquire_lock")))
		return SS_KIND_LOCK;
	if (ss_str_is(file, "threading.py") && is_one_of(f->func, waits, SS_COUNT(waits)))
		return SS_KIND_LOCK;
	if ((ss_str_is(file, "queue.py") || ss_str_is(file, "queues.py")) &&
	    is_one_of(f->func, passes, SS_COUNT(passes)))
		return SS_KIND_LOCK;
	if (!f->line && ss_str_is(f->func, "collect") && (!file.n || ss_str_is(file, "gc")))
		return SS_KIND_GC;
	if (ss_str_is(file, "array.py") && is_one_of(f->func, reads, SS_COUNT(reads)))
		return SS_KIND_SYNC;
	/* Threads of PyTorch run the backward pass. */
	if (!f->line && ss_str_is(f->func, "run_backward"))
		return SS_KIND_WAIT;
	if (!f->line && (ss_str_is(f->func, "item") || ss_str_is(f->func, "synchronize")))
		return SS_KIND_SYNC;
	return f->line && is_of_jax(file, f->func) ? SS_KIND_LAUNCH : SS_KIND_PYTHON;
}

/* ---- operations ---- */

/*
 * "aten::mm", "c10d::allreduce_", "AddmmBackward0": operators of PyTorch begin with a small letter.
 */
static bool is_torch_op(struct ss_str name)
{
	size_t at = ss_str_find(name, SS_STR("::"));
	if (at != SS_NPOS && at > 0 && name.p[0] >= 'a' && name.p[0] <= 'z')
		return true;
	at = ss_str_find(name, SS_STR("Backward"));
	return at != SS_NPOS && name.n <= at + 10 && ss_str_chr(name, ' ') == SS_NPOS;
}

static bool is_driver_call(struct ss_str name)
{
	return ss_thread_event_of(name) == SS_THREAD_DRIVER_CALL;
}

/* Which characters occur, some of them together: no text holds another one that has more. */
static uint64_t letters_of(struct ss_str s)
{
	uint64_t letters = 0;
	for (size_t i = 0; i < s.n; i++)
		letters |= UINT64_C(1) << (s.p[i] & 63);
	return letters;
}

/* `letters` of the words, in their order; NULL: not known. */
static enum ss_host_kind kind_of_name(struct ss_str name, const uint64_t *letters)
{
	struct ss_frame f;
	uint64_t without = letters ? ~letters_of(name) : 0;
	if (!name.n)
		return SS_KIND_SKIP;
	for (size_t i = 0; i < SS_COUNT(words); i++)
		if (!(letters && letters[i] & without) && matches(&words[i], name))
			return words[i].kind;
	if (ss_frame_parse(name, &f))
		return kind_of_frame(&f);
	if (is_driver_call(name))
		return SS_KIND_LAUNCH;
	if (is_torch_op(name))
		return SS_KIND_EAGER_OP;
	struct ss_op_name op = ss_op_name_parse(name);
	if (op.category == SS_OP_TENSORFLOW)
		return SS_KIND_OP;
	if (ss_op_is_memcpy(op.category))
		return SS_KIND_COPY;
	/* "CommonPjRtClient::CreateOutputs": a detail of a runtime in C++. */
	return ss_str_contains(name, SS_STR("::")) ? SS_KIND_LAUNCH : SS_KIND_OTHER;
}

enum ss_host_kind ss_host_kind_of_name(struct ss_str name)
{
	return kind_of_name(name, NULL);
}

/* ---- with stats ---- */

bool ss_hlo_holds_others(struct ss_str name)
{
	static const struct ss_str holds[] = { SS_STR_INIT("while"), SS_STR_INIT("call"), SS_STR_INIT("conditional") };
	for (size_t i = 0; i < SS_COUNT(holds); i++)
		if (ss_str_starts(name, holds[i]) && (name.n == holds[i].n || name.p[holds[i].n] == '.'))
			return true;
	return false;
}

/* An instruction of a program that a CPU runs. */
static enum ss_host_kind kind_of_hlo(struct ss_str name)
{
	static const struct ss_str python[] = { SS_STR_INIT("callback"), SS_STR_INIT("debug_print"),
						SS_STR_INIT("py_func") };
	for (size_t i = 0; i < SS_COUNT(python); i++)
		if (ss_str_contains(name, python[i]))
			return SS_KIND_CALLBACK;
	if (ss_hlo_holds_others(name))
		return SS_KIND_EXECUTE;
	return ss_is_collective(name) ? SS_KIND_COLLECTIVE : SS_KIND_OP;
}

/*
 * JAX names instructions by what the program calls: "psum.3" is an all-reduce. The program knows.
 * One whose kind its name tells needs no look.
 */
static enum ss_host_kind kind_of_instruction(struct ss_host_kinds *k, const struct ss_line *l, uint32_t i, struct ss_str name)
{
	enum ss_host_kind kind = kind_of_hlo(name);
	const struct ss_hlo_module *m = NULL;
	struct ss_hlo_instr in;
	struct ss_xstat s;
	struct ss_err err;
	if (kind != SS_KIND_OP || !k->programs || !ss_xstats_find(ss_line_stats(k->p, l, i), SS_STAT_PROGRAM_ID, &s))
		return kind;
	if (!ss_hlo_map_get(k->programs, ss_xstat_int_or_uint(&s), &m, &err))
		k->no_memory = true;
	uint32_t at = m ? ss_hlo_instr_by_name(m, name) : SS_NONE;
	if (at == SS_NONE)
		return kind;
	ss_hlo_instr_read(m->instrs[at], &in);
	if (ss_is_collective(in.opcode))
		return SS_KIND_COLLECTIVE;
	if (ss_str_contains(in.custom_call_target, SS_STR("python_cpu_callback")))
		return SS_KIND_CALLBACK;
	return ss_hlo_holds_others(in.opcode) ? SS_KIND_EXECUTE : kind;
}

bool ss_host_kinds_init(struct ss_host_kinds *k, const struct ss_plane *p, struct ss_str marker, bool has_device)
{
	static const enum ss_stat hlo[] = { SS_STAT_HLO_OP }, function[] = { SS_STAT_TF_FUNCTION_CALL },
				  root[] = { SS_STAT_ROOT_LEVEL };
	*k = (struct ss_host_kinds){
		.p = p,
		.marker = marker,
		.has_device = has_device,
		.hlo_op = ss_stat_filter_of(p->x, hlo, 1),
		.function = ss_stat_filter_of(p->x, function, 1),
		.root = ss_stat_filter_of(p->x, root, 1),
	};
	k->known = calloc((size_t)p->x->nevent_meta + 1, 1);
	k->letters = calloc(SS_COUNT(words), sizeof(*k->letters));
	for (size_t i = 0; k->letters && i < SS_COUNT(words); i++)
		k->letters[i] = letters_of(words[i].text);
	return k->known && k->letters;
}

static bool has_stat(const struct ss_host_kinds *k, const struct ss_stat_filter *f, const struct ss_line *l, uint32_t i,
		     enum ss_stat stat)
{
	struct ss_xstat s;
	return ss_stat_filter_line(f, l, i) && ss_xstats_find(ss_line_stats(k->p, l, i), stat, &s);
}

enum ss_host_kind ss_host_kinds_find(struct ss_host_kinds *k, const struct ss_line *l, uint32_t i)
{
	uint32_t meta = l->ev.meta[i];
	struct ss_str name = ss_event_name(k->p, meta);
	enum ss_host_kind kind = kind_of_name(name, k->letters);
	bool marks = k->marker.n && ss_str_eq(name, k->marker);
	if (marks)
		kind = SS_KIND_SKIP;
	else if (kind != SS_KIND_SKIP && has_stat(k, &k->hlo_op, l, i, SS_STAT_HLO_OP))
		kind = kind_of_instruction(k, l, i, name);
	if (has_stat(k, &k->function, l, i, SS_STAT_TF_FUNCTION_CALL))
		kind = SS_KIND_FUNCTION;
	/* A root that the program marks is a step, and no cause of time. */
	else if (kind == SS_KIND_OTHER && has_stat(k, &k->root, l, i, SS_STAT_ROOT_LEVEL))
		kind = SS_KIND_SKIP;
	if (kind == SS_KIND_COPY && k->has_device && is_driver_call(name))
		kind = SS_KIND_SYNC;
	if (kind == SS_KIND_SYNC && k->eager_cpu)
		kind = is_torch_op(name) ? SS_KIND_EAGER_OP : SS_KIND_LAUNCH;
	k->any_compile = k->any_compile || kind == SS_KIND_COMPILE;
	/* A function of TensorFlow may have the name of the mark around its call: its stat tells them apart. */
	if (meta < k->p->x->nevent_meta && (!marks || !k->function.line_ids))
		k->known[meta] = (uint8_t)kind;
	return kind;
}

void ss_host_kinds_free(struct ss_host_kinds *k)
{
	free(k->known);
	free(k->letters);
	k->known = NULL;
	k->letters = NULL;
}

#define COMPILED_GRAPH_NAME 24 /* "CompiledFxGraph" and eight letters of its hash */

struct ss_str ss_called_name(struct ss_str event)
{
	struct ss_str s = event;
	if (ss_str_take(&s, SS_STR("PjitFunction(")))
		return ss_str_ends(s, SS_STR(")")) ? ss_str_sub(s, 0, s.n - 1) : s;
	if (ss_str_take(&s, SS_STR("EagerLocalExecute: "))) {
		if (!ss_str_take(&s, SS_STR("__inference_")))
			return s;
		size_t number = ss_str_rchr(s, '_');
		int64_t n;
		if (number != SS_NPOS && ss_str_to_i64(ss_str_sub(s, number + 1, s.n), &n))
			s = ss_str_sub(s, 0, number);
		return s;
	}
	if (ss_str_take(&s, SS_STR("autograd::engine::evaluate_function: ")))
		return s;
	/* By its hash, and a compiled graph has a long one. */
	if (ss_str_take(&s, SS_STR("## Call ")))
		return ss_str_sub(s, 0, s.n < COMPILED_GRAPH_NAME ? s.n : COMPILED_GRAPH_NAME);
	return event;
}
