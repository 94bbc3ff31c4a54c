"""Jobs that somebody could have run: profiles of one to three hosts with GPUs or without, drawn from a seed.

Unlike invent.py's they resemble programs: kernels launched by host threads, on several streams, of programs that the profile carries
(hlo_text.py) or does not, CUDA graphs, copies of all kinds, collectives, allocators, input pipelines, servers with batches. And like real ones
they are untidy: stats missing, lines out of order or begun at other times, planes empty, names twice, devices numbered with gaps.
"""
import hlo_text
import invent

US = 1_000_000
KERNELS = ('ampere_sgemm_128x64_nn', 'ampere_h16816gemm_128x64', 'sm80_xmma_gemm_f16f16_f16f32', 'void cutlass::Kernel<cutlass_80_tensorop_s1688>',
           'loop_add_fusion', 'input_reduce_fusion_1', 'void cask_cudnn::computeOffsetsKernel<half>', 'cudnn_fp16_conv_dgrad_1x1_stride_2x2',
           'void Eigen::internal::EigenMetaKernel', 'gemm_fusion_dot_3', 'nvjet_hsh_128x256', 'triton_softmax', 'wrapped_transpose', 'hmma_kernel')
AMD_KERNELS = ('Cijk_Ailk_Bljk_HHS_MT64x64_MI16x16x16x1.kd', 'loop_add_fusion.kd', '__amd_rocclr_copyBuffer.kd', 'gemm_fusion_dot_1.kd', 'mfma_conv.kd',
               'igemm_fwd_gtcx_nhwc', 'kernel_wmma_x', 'attn_fwd', 'k_MI16x16', 'x_xdl_y')
NCCL = ('ncclDevKernel_AllReduce_Sum_f32_RING_LL', 'ncclKernel_AllGather_RING_LL_Sum_int8_t', 'NcclFancy', 'rcclKernel')
COPIES = ('MemcpyH2D', 'MemcpyD2H', 'MemcpyD2D', 'MEMCPYHtoD', 'MEMCPYDtoH', 'MEMCPYDToD', 'Memset', 'memcpyhtod async', 'MemcpyP2P')
TF_OPS = ('model/dense/MatMul:MatMul', 'model/conv2d/Conv2D:Conv2D', 'model/conv2d/BiasAdd:BiasAdd', 'gradient_tape/model/dense/MatMul:MatMul',
          'Adam/Adam/update/ResourceApplyAdam:ResourceApplyAdam', 'model/bn/FusedBatchNormV3', 'while/body/lstm/CudnnRNN:CudnnRNNV3', 'einsum/Einsum:Einsum',
          'Cast_1', 'jit(f)/dense/dot_general:dot_general', 'jit(f)/transpose(jvp(x))/mul:mul[y=1]', ':', 'odd name without type', 'XlaModule:',
          'StatefulPartitionedCall/model/dense/Relu:_FusedMatMul', 'a:b:c', 'cluster_0_1/xla_run:_XlaRun')
SHAPES = ('(half[8,128];float[128])', '(float[64])', 'half', '', '(bfloat16[2])')
HOST_OPS = ('IteratorGetNext:IteratorGetNext', 'dense/MatMul:MatMul', 'dense/Relu:Relu', 'loss/mul:', 'AddV2:AddV2', 'infeed/InfeedEnqueueTuple:InfeedEnqueueTuple',
            'Iterator::Model::Prefetch', 'train/x:Y', 'ReadVariableOp:ReadVariableOp', 'PyFunc:EagerPyFunc', 'jit(f)/add:add', 'x', 'b/c/MatMul_1')


class U(int):
    """A number that the file holds as unsigned."""


class Plane(invent.Plane):
    def stat(self, name, value):
        if isinstance(value, U):
            return [[1, 0, self.stat_id(name)], [3, 0, int(value)]]
        if isinstance(value, int):
            return [[1, 0, self.stat_id(name)], [4, 0, value]]
        return super().stat(name, value)

    def set(self, **stats):
        self.own += [self.stat(k, v) for k, v in stats.items()]


class Job:
    """What the hosts of one job have in common."""

    def __init__(self, rnd, protos):
        self.rnd, self.protos = rnd, protos
        self.steps = rnd.choice((0, 1, 2, 4, 6, 7, 9, 12))
        self.period = rnd.choice((200, 1500, 20_000)) * US
        self.marked = rnd.random() < 0.75       # somebody marks steps
        self.framework = rnd.choice(('jax', 'jax', 'jax', 'tf', 'mixed'))
        self.amd = rnd.random() < 0.2
        self.apart = rnd.random() < 0.25        # lines begin at different times
        self.untidy = rnd.random() < 0.3        # some lines are out of order
        self.losses = rnd.choice((0, 0, 0.02, 0.2))     # share of stats that are missing
        self.stage = rnd.choice(('read', 'Enqueue', 'preprocessing', 'odd'))
        self.tie = 1000

    def some(self, share):
        return self.rnd.random() < share

    def thin(self, stats):
        return {k: v for k, v in stats.items() if not self.losses or k == 'program_id' or self.rnd.random() >= self.losses}

    def begin_ns(self):
        return self.rnd.choice((0, 3_000, 41_537)) if self.apart else 5_000


class Threads:
    """The lines of a host's plane: events by thread, in the order of time at the end."""

    def __init__(self, plane):
        self.plane, self.lines = plane, {}

    def add(self, thread, name, begin, dur, **stats):
        self.lines.setdefault(thread, []).append((self.plane.meta(name), begin, max(0, dur), stats))

    def write(self, job):
        for number, (thread, events) in enumerate(sorted(self.lines.items())):
            events = nest(sorted(events, key=lambda e: (e[1], -e[2])), 37_000 * number)
            if job.untidy and job.some(0.1):
                job.rnd.shuffle(events)
            ident = number + 10 if job.some(0.8) else 77
            self.plane.line(ident, thread, job.begin_ns(), events)


def nest(events, shift):
    """
    Events of a thread lie inside one another and neither begin nor end together nor one where another ends, and those of different threads do not begin together: XProf
    takes such roots in the order of a hash table, and loses such ops (docs/parity.md). What happens at a moment (length 0) stays there.
    """
    around, out = [], []
    for meta, begin, dur, stats in events:
        begin, end = begin + shift, begin + shift + dur - (500 if dur > 1000 else 0)
        while around and around[-1][1] <= begin:
            around.pop()
        if dur and around:
            begin = max(begin, around[-1][0] + 1000)
            end = min(end, around[-1][1] - 1000)
            if end <= begin:
                continue
        if dur:
            around.append((begin, end))
        out.append((meta, begin, end - begin, stats))
    return out


def kernel_details(job):
    rnd = job.rnd
    if job.amd:
        return f' grid:{rnd.choice((1, 256))},1,1 block:512,1,1 private_mem:0 group_mem:{rnd.choice((0, 1024))} occ_pct:0'
    parts = [f'regs:{rnd.choice((8, 40, 255))}', f'static_shared:{rnd.choice((0, 1024))}', f'dynamic_shared:{rnd.choice((0, 49152))}',
             f'grid:{rnd.choice((1, 64, 4096))},{rnd.choice((1, 2))},1', f'block:{rnd.choice(("128,1,1", "256,1,1", "32,4,2"))}',
             f'occ_pct:{rnd.choice(("50", "66.6667", "100", "0", "12.5"))}']
    if rnd.random() < 0.1:
        del parts[rnd.randrange(len(parts))]
    return (' ' if rnd.random() < 0.9 else '\n').join(parts)


class Gpus:
    """The GPUs of one host: launches on its threads, kernels on their streams."""

    def __init__(self, job, threads, number):
        rnd = job.rnd
        self.job, self.threads, self.number = job, threads, number
        self.plane = Plane(f'/device:GPU:{number}', rnd.choice((number, number + 2, 0)))
        self.streams = {}
        self.free = {}
        self.device_stats()
        compute = rnd.choice(('Compute', 'Compute', 'Kernel', 'Compute,MemcpyD2D'))
        self.names = {13 + i: f'Stream #{13 + i}({compute if i < 2 else rnd.choice(("MemcpyH2D", "MemcpyD2H,Memset", "Compute", "Unknown"))})'
                      for i in range(rnd.randrange(1, 5))}
        self.costed = rnd.random() < 0.1        # kernels say what they cost
        self.annotated = rnd.random() < 0.3     # newer files: what a kernel is, by its own stats

    def device_stats(self):
        rnd, amd = self.job.rnd, self.job.amd
        cc = rnd.choice(((7, 0), (7, 5), (8, 0), (8, 6), (8, 9), (9, 0), (10, 0), (6, 1), (3, 7), (12, 0))) if not amd else rnd.choice(((9, 4), (9, 0)))
        stats = {'clock_rate': rnd.choice((1_410_000, 1_980_000)), 'core_count': rnd.choice((28, 80, 132)), 'memory_bandwidth': U(1_555_200_000_000),
                 'memory_size': U(42_505_273_344), 'compute_cap_major': cc[0], 'compute_cap_minor': cc[1], 'device_vendor': 'AMD' if amd else 'Nvidia'}
        if rnd.random() < 0.5:
            stats['gpu_device_name'] = rnd.choice(('gfx942', 'gfx90a:sramecc+', 'AMD Instinct')) if amd else 'NVIDIA A100-SXM4-40GB'
        if rnd.random() < 0.1:
            stats['peak_teraflops_per_second'] = 312.0
        if rnd.random() < 0.2:
            del stats[rnd.choice(list(stats))]
        self.plane.set(**stats)

    def on_device(self, at, dur, name, stats, stream=None):
        rnd = self.job.rnd
        stream = stream or rnd.choice(list(self.names))
        begin = max(at, self.free.get(stream, 0)) if rnd.random() < 0.95 else at
        self.free[stream] = begin + dur
        stats = self.job.thin(stats)
        self.streams.setdefault(stream, []).append((self.plane.meta(name), begin, dur, stats))
        return begin + dur

    def duration(self):
        rnd = self.job.rnd
        return rnd.choice((0, 1, 999, 1000, 1001)) if rnd.random() < 0.05 else rnd.randrange(1000, self.job.period // 15)

    def launch(self, thread, at, name, stats, count=1, call=None):
        """One call of the driver and what it starts; returns when the call ends."""
        rnd, job = self.job.rnd, self.job
        job.tie += 1
        dur = rnd.randrange(1, 5) * US // 2
        call = call or rnd.choice(('cudaLaunchKernel', 'cuLaunchKernel', 'KernelLaunch', 'hipModuleLaunchKernel' if job.amd else 'cuLaunchKernelEx'))
        self.threads.add(thread, call, at, dur, **job.thin({'device_id': self.number, 'correlation_id': U(job.tie), 'context_id': '$$1'}))
        when = at + dur + rnd.randrange(0, 8) * US
        stream = rnd.choice(list(self.names))
        for _ in range(count):
            more = {'correlation_id': U(job.tie), **stats()} if callable(stats) else {'correlation_id': U(job.tie), **stats}
            chosen = name() if callable(name) else name
            when = self.on_device(when, self.duration(), chosen, more, stream if rnd.random() < 0.8 else None)
        return at + dur + rnd.randrange(0, 3) * US // 2

    def write(self):
        job = self.job
        lines = list(self.streams.items())
        if job.some(0.3):
            job.rnd.shuffle(lines)
        for stream, events in lines:
            if not job.some(0.15):
                events.sort(key=lambda e: e[1])
            self.plane.line(stream, self.names[stream], job.begin_ns(), events)
        if job.some(0.1):
            self.plane.line(99, 'Stream #99(Compute)', job.begin_ns(), [])
        return self.plane.fields()


class Trainer:
    """A host of a training job: step after step, ops on its threads, kernels on its GPUs."""

    def __init__(self, job, host):
        self.job, self.rnd, self.host = job, job.rnd, host
        self.plane = Plane('/host:CPU', job.rnd.choice((0, 1, 700)))
        self.threads = Threads(self.plane)
        self.gpus = []

    def step(self, k, at):
        job, rnd = self.job, self.rnd
        end = at + int(job.period * rnd.uniform(0.6, 0.95))
        main = 'python'
        if job.marked:
            stats = {'step_num': k + 10, '_r': 1}
            if job.some(0.1):
                stats['graph_type'] = 'Train'
            self.threads.add(main, rnd.choice(('train', 'train', 'train', 'TraceContext')), at, end - at, **stats)
        t = at + 2 * US
        if job.framework != 'jax' or job.some(0.3):
            t = self.input(main, t)
        if job.framework == 'tf' or not job.marked:
            t = self.function(main, k, t, end)
        else:
            t = self.execute(main, k, t, end)
        if job.some(0.2):
            self.threads.add('other', rnd.choice(HOST_OPS), t, 5 * US)

    def input(self, main, t):
        dur = self.rnd.choice((3, 30)) * US
        self.threads.add(main, self.rnd.choice(('IteratorGetNext:IteratorGetNext', 'IteratorGetNextOp::DoCompute')), t, dur)
        if self.job.some(0.5):
            self.threads.add('tf_data', 'Iterator::Root::Prefetch::Map', t + US, dur - 2 * US, id=5, parent_id=4)
        if self.job.some(0.2):
            self.threads.add('tf_data', 'read', t + dur, 3 * US, _ipl_stage_id=1_000_003, _ipl_stage_cat=self.job.stage,
                             _ipl_stage_name='stage')
        return t + dur + US

    def function(self, main, k, t, end):
        """TensorFlow: a function runs on executor threads."""
        rnd, job = self.rnd, self.job
        name = rnd.choice(('FunctionRun', 'SessionRun', 'EagerKernelExecute', 'RunGraph'))
        stats = {} if name.startswith('Eager') else {'id': k * 3 + 1}
        if job.some(0.3):
            stats['step_num'] = k
        job.tie += 1
        if name.startswith('Eager') and job.some(0.8):
            self.threads.add(main, 'EagerExecute', t, end - t - US, is_func=rnd.randrange(2))
            t += US
        self.threads.add(main, name, t, (end - t) // 2, **stats, _pt=2, _p=job.tie)
        begin = t + US
        for i in range(rnd.randrange(1, 3)):
            thread = f'tf_Compute/{rnd.randrange(3)}'
            self.threads.add(thread, 'ExecutorState::Process', begin, end - begin - US, id=k * 3 + 1, iter_num=0, **({'_ct': 2, '_c': job.tie} if i == 0 else {}))
            self.ops(thread, begin + US, end - 2 * US)
            begin += 3 * US
        return end

    def execute(self, main, k, t, end):
        """JAX: a program is enqueued, on this thread or on another."""
        rnd, job = self.rnd, self.job
        thread = main
        self.threads.add(main, 'PjitFunction(step)', t, end - t - 2 * US)
        t += US
        if job.some(0.5):
            job.tie += 1
            self.threads.add(main, 'PjRtStreamExecutorLoadedExecutable::Execute', t, 3 * US, _pt=5, _p=job.tie)
            thread = 'py_xla_execute'
            t += 4 * US
            self.threads.add(thread, 'PjRtStreamExecutorLoadedExecutable::EnqueueExecution', t, end - t - US, _ct=5, _c=job.tie)
            t += US
        self.ops(thread, t, end - 3 * US)
        return end

    def ops(self, thread, t, end):
        rnd, job = self.rnd, self.job
        for _ in range(rnd.randrange(1, 14)):
            if t >= end:
                return
            if not self.gpus or job.some(0.25):
                dur = min(end - t, rnd.randrange(1, 20) * US)
                if job.some(0.1):       # beside a name that is an op, too, XProf counts it twice (docs/parity.md)
                    self.threads.add(thread, 'x', t, dur, tf_op=rnd.choice(TF_OPS))
                else:
                    self.threads.add(thread, rnd.choice(HOST_OPS), t, dur)
                if job.some(0.3):
                    self.threads.add(thread, rnd.choice(HOST_OPS), t, dur // 2)
                t += dur
                continue
            t = self.launch(rnd.choice(self.gpus), thread, t)

    def launch(self, gpu, thread, t):
        rnd = self.rnd
        what = rnd.random()
        if what < 0.15:
            return self.copy(gpu, thread, t)
        if what < 0.25:
            return gpu.launch(thread, t, rnd.choice(NCCL), self.kernel_stats(gpu, 'all-reduce'))
        if what < 0.33:
            graph = {'cuda_graph_exec_id': rnd.randrange(1, 4), 'cuda_graph_id': 1}
            count = rnd.randrange(1, 6)
            return gpu.launch(thread, t, lambda: rnd.choice(KERNELS), lambda: {**self.kernel_stats(gpu, ''), **graph}, count,
                              rnd.choice(('cuGraphLaunch', 'cudaGraphLaunch')))
        names = AMD_KERNELS if self.job.amd else KERNELS
        return gpu.launch(thread, t, lambda: rnd.choice(names), lambda: self.kernel_stats(gpu, ''), rnd.choice((1, 1, 1, 2)))

    def copy(self, gpu, thread, t):
        rnd = self.rnd
        size = rnd.choice((4, 4096, 1 << 20))
        kind = rnd.choice(('pageable', 'pinned', 'device'))
        stats = {'memcpy_details': f'kind_src:{kind} kind_dst:device size:{size} dest:0 async:1'}
        if self.job.some(0.3):
            stats['memcpy_details'] += f'\nnum_bytes:{size}\nto device:0'
        if self.job.some(0.2):
            stats.update(self.kernel_stats(gpu, 'copy'))
        return gpu.launch(thread, t, rnd.choice(COPIES), stats, call=rnd.choice(('cuMemcpyHtoDAsync_v2', 'cudaMemcpyAsync', 'hipMemcpyAsync')))

    def kernel_stats(self, gpu, prefer):
        rnd, job, out = self.rnd, self.job, {}
        details = kernel_details(job)
        if rnd.random() < 0.9:
            out['kernel_details'] = (details,) if rnd.random() < 0.8 else details
        if rnd.random() < 0.5:
            out.update(theoretical_occupancy_pct=50.0, occupancy_min_grid_size=56, occupancy_suggested_block_size=1024)
        if job.framework != 'tf' and rnd.random() < 0.9:
            program, ident = rnd.choice(job.programs)
            named = [n for n, op in program.launched if prefer in n] or [n for n, _ in program.launched]
            op = rnd.choice(named) if rnd.random() < 0.95 else 'nobody.1'
            out.update(hlo_op=(op,), hlo_module=(program.name,), program_id=U(ident) if rnd.random() < 0.2 else ident)
            if rnd.random() < 0.3:
                out['tf_op'] = ('XlaModule:',)
        if job.framework == 'tf' or (job.framework == 'mixed' and rnd.random() < 0.5):
            out['tf_op'] = rnd.choice(TF_OPS)
            if job.framework == 'mixed' and rnd.random() < 0.5:
                out.pop('hlo_op', None)
            if rnd.random() < 0.1:
                out['equation'] = rnd.choice(('ab,bc->ac', 'ab->ba', 'a,b,c->abc'))
        if rnd.random() < 0.2:
            out['shape'] = rnd.choice(SHAPES)
        if gpu.costed:
            out.update(flops=U(1000), bytes_accessed=4096)
        if rnd.random() < 0.1:
            out['is_eager'] = rnd.randrange(2)
        if gpu.annotated and rnd.random() < 0.8:
            out['scope_range_id'] = rnd.choice((1, 2, 3, 9))
        return out


def allocations(job, threads, span):
    """What allocators report: with a peak or without, known addresses and unknown ones, several at one time."""
    rnd = job.rnd
    for name in rnd.sample(('GPU_0_bfc', 'xla_gpu_host_bfc', 'cpu', 'gpu_host_bfc'), rnd.randrange(1, 3)):
        live, used, peak, at = {}, rnd.choice((0, 1 << 20)), 0, 0
        says_peak, says_op, by_number = rnd.random() < 0.8, rnd.random() < 0.7, rnd.random() < 0.3
        size_of, alike = 1 << 30, rnd.random() < 0.1     # of allocations that are alike XProf shows any
        n = rnd.choice((3, 40, 400, 1001, 2500))
        for k in range(n):
            at += rnd.randrange(1, 2 + 2 * span // n)       # of allocations at one time XProf takes any order
            address = rnd.randrange(1, n // 2 + 2) * 256
            free = address in live if rnd.random() < 0.95 else True
            size = live.pop(address, 512) if free else rnd.choice((256, 512, 4096, 1 << 20))
            used += -size if free else size
            used = max(0, used)
            if not free:
                live[address] = size
            peak = max(peak, used)
            stats = {'bytes_reserved': rnd.choice((0, 0, 0, 512)), 'bytes_allocated': used, 'bytes_available': size_of - used,
                     'fragmentation': round(rnd.random(), 3), 'requested_bytes': size - (rnd.choice((0, 3)) if alike else k % 251), 'allocation_bytes': size, 'addr': address}
            stats['index_on_host' if by_number else 'allocator_name'] = 1 if by_number else (name,)
            if says_peak:
                stats['peak_bytes_in_use'] = peak
            if says_op and not free:
                stats.update(tf_op=(rnd.choice(TF_OPS) + ('' if alike else f'/{at}'),), region_type=(rnd.choice(('temp', 'output', 'persist')),),
                             data_type=rnd.choice((0, 1, 3, 9, 14, 19, 24, 30, 50, 101)), shape=(rnd.choice(SHAPES),))
            thread = 'allocator' if job.apart or rnd.random() < 0.7 else 'python'
            threads.add(thread, 'MemoryDeallocation' if free else 'MemoryAllocation', at, 0, **stats)


def serve(job, threads):
    """A server: requests on several threads, with batches or without. The batch's id ties its requests to it."""
    rnd = job.rnd
    batching, t = rnd.random() < 0.6, US
    kind = rnd.choice(('SessionRun', 'TfrtModelRun', 'ServingModelRun'))
    schedule = rnd.choice(('ScheduleWithoutSplit', 'ASBSQueue::Schedule', 'ScheduleWithSplit'))
    models = rnd.sample(('m:1', 'm:2', 'other:7'), rnd.choice((1, 1, 1, 2, 3)))
    free, waiting = {}, []
    for _ in range(rnd.choice((3, 30, 150))):
        t += rnd.randrange(1, 60) * US
        dur = rnd.randrange(20 * US, 300 * US)
        thread = next(name for name in (f'server/{k}' for k in range(1000)) if free.get(name, 0) <= t)
        free[thread] = t + dur + US
        if batching:
            if not waiting:
                job.tie += 1
            threads.add(thread, 'BatchingSessionRun', t, dur)
            threads.add(thread, schedule, t + US, 2 * US, batching_input_task_size=rnd.choice((1, 4)), _pt=4, _p=job.tie)
            waiting.append(t)
            if len(waiting) >= 4 or rnd.random() < 0.3:
                batch(job, threads, max(waiting) + 4 * US, free, models, kind)
                waiting = []
        else:
            threads.add(thread, kind, t, dur, _r=1, **({'model_id': rnd.choice(models)} if rnd.random() < 0.9 else {}))
            work(job, threads, thread, t + US, dur - 2 * US)
    if waiting and rnd.random() < 0.7:      # the rest is executed after the recording
        batch(job, threads, max(waiting) + 4 * US, free, models, kind)


def batch(job, threads, t, free, models, kind):
    rnd = job.rnd
    dur = rnd.randrange(30 * US, 200 * US)
    thread = next(name for name in (f'batch/{k}' for k in range(1000)) if free.get(name, 0) <= t)
    free[thread] = t + dur + US
    threads.add(thread, 'ProcessBatch', t, dur, _ct=4, _c=job.tie)
    threads.add(thread, 'ConcatInputTensors', t + US, 3 * US, padding_amount=rnd.choice((0, 2)), batch_size_after_padding=rnd.choice((4, 8)))
    threads.add(thread, kind, t + 5 * US, dur - 6 * US, model_id=models[job.tie % len(models)])
    work(job, threads, thread, t + 6 * US, dur - 8 * US)


def work(job, threads, thread, t, dur):
    """What a request or a batch does with a device."""
    rnd = job.rnd
    part = max(1, dur // 8)
    for name in ('TransferH2DRequest', 'tpu::System::Execute', 'DoEnqueueProgram', 'CompleteCallbacks', 'TransferD2HRequest'):
        if rnd.random() < 0.7:
            threads.add(thread, name, t, part)
        t += part + rnd.choice((0, US))


def pipelines(job, threads):
    """Input pipelines of tf.data: nested iterators, asynchronous stages on threads of their own."""
    rnd = job.rnd
    stages = rnd.sample(('Map', 'BatchV2', 'Shuffle', 'Filter', 'ParallelMapV2[1]', 'MapAndBatch'), rnd.randrange(1, 4))
    t, element = US, 0
    for k in range(rnd.randrange(1, 25)):
        dur = rnd.randrange(1, 80) * US
        name, at, rest = 'Iterator::Root', t, dur
        for i, stage in enumerate([None, 'Prefetch', *stages]):
            name = f'{name}::{stage}' if stage else name
            if stage == 'Prefetch' and i:
                threads.add('tf_data/main', name, at, rest, id=100 + i, parent_id=99 + i)
                threads.add('tf_data/main', 'PrefetchConsume', at, rest // 2, element_id=element)
                element += 1
                at = max(0, at - rest // 2)
                threads.add('tf_data/prefetch', 'PrefetchProduce', at, rest, element_id=element)
            else:
                thread = 'tf_data/main' if i == 0 else 'tf_data/prefetch'
                threads.add(thread, name, at, rest, id=100 + i, **({'parent_id': 99 + i} if i else {}))
            at, rest = at + rest // 8, rest * 3 // 4
        if rnd.random() < 0.3:
            threads.add('tf_data/ops', rnd.choice(('Iterator::Batch::TFRecord', 'Iterator::Interleave::TextLine', 'Iterator::FlatMap::FixedLengthRecord')), t, dur // 2, id=7)
        t += dur + rnd.randrange(1, 40) * US


def metadata_plane(job):
    plane = Plane('/host:metadata', job.rnd.choice((0, 900)))
    spelled = 'Hlo Proto' if job.some(0.9) else 'HLO Proto'
    for program, ident in job.programs:
        proto = job.protos.get(program.text())
        if proto and not job.some(0.1):
            plane.meta(f'{program.name}({ident})', **{spelled: proto})
    return plane.fields()


def scope_plane():
    plane = Plane('/host:__ScopeRangeCallStack__', 800)
    plane.own = [[[1, 0, child], [4, 0, parent]] for child, parent in ((2, 1), (3, 2), (9, 8))]
    return plane.fields()


def trainer_space(job, k):
    rnd = job.rnd
    host = Trainer(job, k)
    if job.kind == 'gpu' and not (k and job.some(0.2)):         # a host of a GPU job may have none
        numbers = rnd.choice(((0,), (0, 1), (0, 1, 2, 3), (1, 3), (0, 7)))
        host.gpus = [Gpus(job, host.threads, i) for i in numbers]
    t = rnd.randrange(1, 100) * US + int(k * job.period * rnd.choice((0, 0, 0.3, 1.1)))
    for step in range(job.steps if job.kind != 'server' else 0):
        host.step(step, t)
        t += int(job.period * rnd.choice((1, 1, 1, 1, 1.02, 1.7)))
    if job.steps == 0 and job.kind != 'server':
        host.ops('python', t, t + job.period)
    if job.some(0.5):
        allocations(job, host.threads, t)
    if job.some(0.4):
        pipelines(job, host.threads)
    if job.kind == 'server':
        serve(job, host.threads)
    host.threads.write(job)
    planes = [g.write() for g in host.gpus]
    if host.gpus and job.some(0.2):
        planes.append(Plane('/device:GPU:9', 50).fields())
    if job.some(0.95):
        planes.insert(rnd.randrange(len(planes) + 1), host.plane.fields())
    if job.programs and job.some(0.95):
        planes.append(metadata_plane(job))
    if any(g.annotated for g in host.gpus):
        planes.append(scope_plane())
    environment = Plane('Task Environment', 0)
    environment.set(profile_start_time=U(1_700_000_000_000_000_000), profile_stop_time=U(1_700_000_001_000_000_000))
    if job.some(0.7):
        planes.append(environment.fields())
    if job.some(0.15):
        rnd.shuffle(planes)
    texts = [[2, 2, f'error {rnd.randrange(2)}'.encode()] for _ in range(rnd.choice((0, 0, 0, 2)))]
    texts += [[3, 2, f'warning {rnd.randrange(2)}'.encode()] for _ in range(rnd.choice((0, 0, 0, 2)))]
    return planes + texts + ([[4, 2, f'host{k}'.encode()]] if job.some(0.9) else [])


def start(rnd, protos, kind=None):
    """A job of a seed's `rnd`; its programs' texts are to be found in `protos` (text: bytes) once it is recorded."""
    job = Job(rnd, protos)
    job.kind = kind or rnd.choice(('gpu', 'gpu', 'gpu', 'cpu', 'server'))
    job.programs = []
    if job.kind == 'gpu':
        for i in range(rnd.randrange(1, 4)):
            job.programs.append((hlo_text.program(rnd, f'jit_f{i}'), rnd.choice((i + 1, i + 40, 12345678901234567 + i))))
    job.hosts = rnd.choice((1, 1, 1, 2, 3)) if job.kind != 'server' else 1
    return job


def record(job):
    """[(file name, XSpace as fields)]"""
    return [(f'host{k}.xplane.pb', trainer_space(job, k)) for k in range(job.hosts)]
