"""Random traces in the forms that versions of PyTorch and makers of devices write.

make(seed) returns what the trace is, and the trace. Names, categories, numbering and arguments follow what was seen in files; times and
nesting are random: operators within operators, several threads, calls that launch one kernel, a graph or nothing, kernels whose call is
not in the file, kernels that run side by side, ranges over the device's lines, modules, allocations.
"""
import random

OPERATORS = ('aten::linear', 'aten::addmm', 'aten::add_', 'aten::copy_', 'aten::layer_norm', 'aten::conv2d', 'MyOp', 'torch::autograd::AccumulateGrad')
BACKWARD = ('autograd::engine::evaluate_function: AddmmBackward0', 'autograd::engine::evaluate_function: torch::autograd::AccumulateGrad', 'AddmmBackward0')
FRAMES = ('nn.Module: Linear_0', 'nn.Module: Block_1', 'nn.Module: Net_0', 'model.py(12): forward', '<built-in method relu>')
KERNELS = ('gemm_bf16_16816', 'void at::native::elementwise<float>(int)', 'Cijk_Ailk_HHS_MT64', 'triton_poi_0', 'sm90_tf32_gemm')
COLLECTIVES = ('ncclDevKernel_AllReduce_Sum_f32_RING_LL', 'ncclKernel_Generic', 'void nccl_all_gather', 'cross_device_reduce_1stage', 'rcclGenericKernel')
OPERATIONS = ('allreduce', '_allgather_base', 'reduce_scatter_tensor_coalesced', 'all_to_allv', 'broadcast', 'send', 'barrier')
COPIES = ('Memcpy HtoD (Pageable -> Device)', 'Memcpy DtoD (Device -> Device)')
LOADER = 'enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__'
RUNTIMES = {'amd': ('hip_runtime', 'hip'), 'xpu': ('xpu_runtime', 'ur'), 'mtia': ('mtia_runtime', 'mtia'), 'hpu': ('privateuse1_runtime', 'syn')}
MEMORY_TYPES = {'amd': 6, 'xpu': 12, 'mtia': 19, 'hpu': 15}


class Random:
    """One trace. Times are whole nanoseconds until they are written."""

    def __init__(self, seed):
        self.r = r = random.Random(seed)
        self.style = r.choice(('1.8', '1.12', '2.1', '2.6', '2.6', '2.6'))
        old = self.style in ('1.8', '1.12')
        self.maker = r.choice(('nvidia', 'cpu') if old else ('nvidia', 'nvidia', 'amd', 'cpu', 'xpu', 'mtia', 'hpu'))
        self.grain = r.choice((1, 1, 1000))
        self.events, self.next_id, self.next_call = [], 100, 5000
        self.op_cat = 'Operator' if self.style == '1.8' else 'cpu_op'
        self.range_cat = 'Operator' if self.style == '1.8' else 'user_annotation'
        self.runtime, self.prefix = RUNTIMES.get(self.maker, ('cuda_runtime', 'cuda'))
        kernel = 'mtia_ccp_events' if self.maker == 'mtia' else r.choice(('kernel', 'concurrent_kernel'))
        self.work_cats = (kernel, 'gpu_memcpy', 'gpu_memset')
        if self.style == '1.8':
            self.runtime, self.work_cats = 'Runtime', ('Kernel', 'Memcpy', 'Memset')
        self.pid = r.randrange(100, 9999)
        self.threads = [self.pid + i for i in range(r.choice((1, 2, 3)))]
        first = 2 if self.maker == 'amd' else 0    # AMD counts agents, and the CPUs are the first
        self.devices = [first + i for i in range(0 if self.maker == 'cpu' else r.choice((1, 1, 1, 2)))]
        self.streams = (7, 20, 24)[:r.choice((1, 2, 3))]
        self.free = {}                              # (device, stream) to when it is free
        self.has_stacks = r.random() < .5 and self.style != '1.8'
        self.has_memory, self.has_sequence, self.has_collectives, self.names_collectives = (r.random() < p for p in (.5, .7, .5, .6))
        self.has_memory &= self.style != '1.8'     # it gave no totals: stepscope counts from the lowest level, not from the first event
        self.trimmed = r.random() < .2
        self.allocated, self.blocks, self.sequences = 1 << 20, [], []

    # --- events

    def time(self, t):
        """Microseconds: as text where a double could not hold the nanoseconds."""
        t = t // self.grain * self.grain
        if t % 1000 == 0:
            return t // 1000
        return t / 1000 if t < 1 << 50 else f'{t // 1000}.{t % 1000:03d}'

    def put(self, cat, name, pid, tid, begin, end, **args):
        begin, end = begin // self.grain * self.grain, max(end, begin + self.grain) // self.grain * self.grain
        self.events.append({'ph': 'X', 'cat': cat, 'name': name, 'pid': pid, 'tid': tid, 'ts': self.time(begin), 'dur': self.time(end - begin), 'args': args})
        return end

    def id_of(self, operator, call):
        """Versions 1.12 to 2.2 give the call's correlation, those behind them sometimes."""
        if self.style == '1.12' or (self.style == '2.1' and self.r.random() < .5):
            return {'External id': call}
        return {'External id': operator} if self.r.random() < .95 else {}

    def collective_args(self):
        r = self.r
        n = r.choice((64, 4096))
        return {'Collective name': r.choice(OPERATIONS), 'dtype': r.choice(('Float', 'BFloat16', 'Long', 'Float8_e4m3fn')), 'In msg nelems': n,
                'Out msg nelems': n * r.choice((1, 2)), 'Group size': r.choice((1, 2, 8)), 'Process Group Name': r.choice(('0', '3', 'default_pg'))}

    def work(self, at, operator, call, kind, where=None):
        """What runs on a device: 0 a kernel, 1 a copy, 2 a fill."""
        r = self.r
        device, stream = where or (r.choice(self.devices), r.choice(self.streams))
        begin = max(self.free.get((device, stream), 0) + r.randrange(1, 500), at + r.randrange(200, 5000))
        if r.random() < .05:
            begin = max(at + 1, begin - r.randrange(1, 3000))    # beside the one before
        end = begin + r.choice((r.randrange(1, 3000), r.randrange(1000, 60000)))
        args = {'device': device, 'stream': stream, 'correlation': call, **self.id_of(operator, call)}
        name = r.choice(KERNELS)
        if kind == 0 and self.has_collectives and r.random() < .2:
            name = r.choice(COLLECTIVES)
            args.update(self.collective_args() if self.names_collectives and self.maker != 'amd' else {})
        elif kind == 1:
            name = r.choice(COPIES)
            args.update({} if self.maker == 'amd' and r.random() < .5 else {'bytes': r.randrange(4096), 'memory bandwidth (GB/s)': 1.5})
        elif kind == 2:
            name = 'Memset (Device)'
            args['bytes'] = r.randrange(99)
        if kind == 0 and self.maker == 'nvidia':
            args.update({'blocks per SM': round(r.random() * 2, 3), 'est. achieved occupancy %': r.randrange(100), 'grid': [1, 2, 3], 'block': [32, 1, 1]})
        end = self.put(self.work_cats[kind], name, device, f'stream {stream}' if self.style == '1.8' else stream, begin, end, **args)
        self.free[device, stream] = max(self.free.get((device, stream), 0), end)

    def call(self, begin, end, tid, operator):
        r, number = self.r, self.next_call
        self.next_call += 1
        kind = r.choice((0, 0, 0, 0, 1, 2))
        graph = kind == 0 and r.random() < .08
        driver = kind == 0 and not graph and self.style != '1.8' and r.random() < .15
        name = 'cuLaunchKernelEx' if driver else self.prefix + ('GraphLaunch' if graph else ('LaunchKernel', 'MemcpyAsync', 'MemsetAsync')[kind])
        if not self.trimmed or r.random() < .9:
            self.put('cuda_driver' if driver else self.runtime, name, self.pid, tid, begin, end, correlation=number, cbid=1, **self.id_of(operator, number))
        if r.random() < .03:
            return    # what it launched ran after the recording
        where = (r.choice(self.devices), r.choice(self.streams))
        for _ in range(r.randrange(2, 7) if graph else 1):
            self.work(begin, operator, number, kind, where)
        if self.style != '1.8' and r.random() < .3:
            self.events.append({'ph': 's', 'id': number, 'pid': self.pid, 'tid': tid, 'ts': self.time(begin), 'cat': 'ac2g', 'name': 'ac2g'})

    def memory(self, at, tid):
        if not self.has_memory:
            return
        r = self.r
        if self.blocks and r.random() < .45:
            device, address, size = self.blocks.pop(r.randrange(len(self.blocks)))
            size = -size
        else:
            device, address, size = r.choice([-1] + self.devices), r.randrange(1, 50) * 512, r.choice((0, 512, 4096, 100))
            self.blocks.append((device, address, size))
        self.allocated += size
        args = {'Device Type': 0 if device == -1 else MEMORY_TYPES.get(self.maker, 1), 'Device Id': device, 'Bytes': size, 'Addr': address,
                'Total Allocated': self.allocated, 'Total Reserved': 1 << 24}
        self.events.append({'ph': 'i', 's': 't', 'cat': 'cpu_instant_event', 'name': '[memory]', 'pid': self.pid, 'tid': tid, 'ts': self.time(at), 'args': args})

    def operator(self, begin, end, tid, depth, name=None, **more):
        r, own = self.r, self.next_id
        self.next_id += 1
        name, args = name or r.choice(OPERATORS), {'External id': own, **more}
        if r.random() < .5:
            args.update({'Input Dims': r.choice(([[16, 32], []], [], [[[2, 3], [4]], [5]], [[1]])), 'Input type': ['float', '']})
        if self.has_collectives and r.random() < .1:
            name = 'record_param_comms' if r.random() < .7 else name
            args.update(self.collective_args())
        if r.random() < .05:
            self.put(self.range_cat, r.choice(('nccl:all_reduce', 'DistributedDataParallel.forward')) if self.style != '1.8' else 'DataParallel.forward',
                     self.pid, tid, begin, end, **{'External id': own + 100000})
        self.put(self.op_cat, name, self.pid, tid, begin, end, **args)
        at = begin + 10
        for _ in range(r.randrange(0, 4)):
            if end - at < 100:
                break
            to = r.randrange(at + 50, end) if r.random() < .9 else end
            what = r.random()
            if depth < 4 and what < .45:
                self.operator(at, to, tid, depth + 1, name if r.random() < .35 else None)
            elif self.devices and what < .8:
                self.call(at, min(to, at + r.randrange(20, 3000)), tid, own)
            else:
                self.memory(at, tid)
            at = to + r.choice((0, 1, 50))

    def frame(self, begin, end, tid, depth):
        r = self.r
        self.put('python_function', r.choice(FRAMES), self.pid, tid, begin, end, **{'Python id': self.next_id, 'Python parent id': None})
        at = begin + r.randrange(0, 100)
        while end - at > 300:
            to = r.randrange(at + 200, end)
            if depth < 3 and r.random() < .4:
                self.frame(at, to, tid, depth + 1)
            elif self.has_sequence and r.random() < .5:
                self.sequences.append(r.randrange(1, 500))
                self.operator(at, to, tid, 1, **{'Sequence number': self.sequences[-1]})
            else:
                self.operator(at, to, tid, 1)
            at = to + r.randrange(0, 3000)

    # --- the whole

    def anything(self, begin, end, tid):
        """A thing at the top of a thread."""
        r, what = self.r, self.r.random()
        if self.has_stacks and what < .5:
            self.frame(begin, end, tid, 0)
        elif self.sequences and what < .7:
            self.operator(begin, end, tid, 0, r.choice(BACKWARD), **{'Sequence number': r.choice(self.sequences), 'Fwd thread id': 1})
        elif self.devices and what < .8:
            self.call(begin, min(end, begin + 2000), tid, 1)
        elif self.maker in ('nvidia', 'amd') and what < .85:
            name = self.prefix + r.choice(('DeviceSynchronize', 'StreamSynchronize', 'EventSynchronize'))
            self.put(self.runtime, name, self.pid, tid, begin, end, correlation=self.next_call)
            self.next_call += 1
        else:
            self.operator(begin, end, tid, 0)

    def step(self, begin, end):
        r, at = self.r, begin + 100
        if r.random() < .6:
            to = at + r.randrange(1000, 40000)
            self.put(self.range_cat, LOADER, self.pid, self.threads[0], at, to)
            self.operator(at + 50, to - 100, self.threads[0], 2)
            at = to + 100
        for tid in self.threads:
            t = at
            while end - t > 2000:
                to = r.randrange(t + 1000, end) if r.random() < .8 else end - 1
                self.anything(t, to, tid)
                t = to + r.choice((0, 10, 5000))
        if r.random() < .5:
            self.put(self.range_cat, 'Optimizer.step#SGD.step', self.pid, self.threads[0], end - 900, end - 100)
        if self.maker == 'cpu' and self.style == '2.6' and r.random() < .5:
            self.put('user_annotation', 'gloo:all_reduce', self.pid, self.threads[-1], begin + 5000, begin + r.randrange(6000, 90000))

    def trace(self):
        r = self.r
        at, number = r.choice((1000, 4520480694375, 1623143089861351)) * 1000, r.choice((0, 3, 511))
        mark = r.choice(('', self.range_cat, self.range_cat, self.op_cat))
        start = at
        for _ in range(r.choice((1, 2, 3))):
            end = at + r.randrange(100000, 900000)
            if mark:
                self.put(mark, f'ProfilerStep#{number}', self.pid, self.threads[0], at, end, **{'External id': self.next_id})
                self.next_id += 1
            if self.style != '1.8' and self.devices and r.random() < .5:
                self.put('gpu_user_annotation', f'ProfilerStep#{number}', self.devices[0], 7, at + 500, end + 50000)
            self.step(at, end)
            number += r.choice((1, 1, 5))
            at = end + r.choice((0, 10, 30000))
        if self.maker == 'nvidia' and self.style == '2.6' and r.random() < .3:
            self.put('cuda_sync', 'Stream Sync', self.devices[0], 7, start + 500, start + 90000, stream=7, correlation=4)
        if r.random() < .3:
            self.put('overhead', 'Activity Buffer Request', -1, 0, start, start + 700000)
        if r.random() < .5:
            r.shuffle(self.events)
        if r.random() < .7:    # labels of devices, also of those that were not used
            self.events += [{'ph': 'M', 'name': 'process_labels', 'pid': p, 'tid': 0, 'ts': 0, 'args': {'labels': f'GPU {p}'}} for p in range(8)]
            self.events.append({'ph': 'M', 'name': 'process_labels', 'pid': self.pid, 'tid': 0, 'ts': 0, 'args': {'labels': 'CPU'}})
        whole = {'schemaVersion': 1, 'record_shapes': 1, 'profile_memory': int(self.has_memory), 'with_stack': int(self.has_stacks), 'traceEvents': self.events}
        if r.random() < .5:
            whole['deviceProperties'] = [{'id': i, 'name': 'G', 'totalGlobalMem': 1 << 34, 'numSms': 132} for i in range(4)]
        return f'seed of torch {self.style}, {self.maker}, steps in {mark or "nothing"}', whole


def make(seed):
    return Random(seed).trace()
