#!/usr/bin/env python3
"""Large files as PyTorch writes them.

    gen_torch.py trace FILE EVENTS       a trace of torch.profiler: operators, calls, kernels, arrows, allocations, steps
    gen_torch.py snapshot FILE BYTES     a memory snapshot of about so many bytes

Both depend on their arguments alone.
"""
import json
import random
import struct
import sys


# --- a trace ------------------------------------------------------------------------------------

HEAD = {'schemaVersion': 1, 'deviceProperties': [{'id': 0, 'name': 'NVIDIA H100 80GB HBM3', 'totalGlobalMem': 84942979072, 'computeMajor': 9,
                                                  'computeMinor': 0, 'numSms': 132}],
        'record_shapes': 1, 'profile_memory': 1, 'displayTimeUnit': 'ms', 'baseTimeNanoseconds': 1700000000000000000}
OPERATORS = ('aten::linear', 'aten::addmm', 'aten::layer_norm', 'aten::gelu', 'aten::add_', 'aten::copy_', 'aten::mul', 'aten::sum')
KERNELS = ('sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_warpgroupsize1x1x1_execute_segment_k_off_kernel__5x_cublas',
           'void at::native::vectorized_elementwise_kernel<4, at::native::GeluCUDAKernelImpl(at::TensorIteratorBase&)::{lambda()#1}>',
           'void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<c10::BFloat16, float>(int, float, c10::BFloat16 const*)')


def laid_out(event):
    """An event with the blanks and ends of lines that Kineto writes."""
    def members(names):
        return ', '.join(f'{json.dumps(k)}: {json.dumps(event[k])}' for k in names if k in event)
    lines = [members(k for k in event if k not in ('ts', 'dur', 'args')), members(('ts', 'dur'))]
    if 'args' in event:
        lines.append('"args": {\n      ' + ','.join(f'{json.dumps(k)}: {json.dumps(v)}' for k, v in event['args'].items()) + '\n    }')
    return '  {\n    ' + ',\n    '.join(lines) + '\n  }'


def trace(path, events):
    rng = random.Random(1)
    n, at, gpu, ids, allocated = 0, 1000.0, 1000.0, 1, 1 << 30
    with open(path, 'w', encoding='utf-8') as f:
        f.write(json.dumps(HEAD)[:-1] + ',\n"traceEvents": [\n')

        def put(**event):
            nonlocal n
            f.write((',\n' if n else '') + laid_out(event))
            n += 1

        put(ph='M', name='process_name', pid=100, tid=0, ts=0, args={'name': 'python'})
        put(ph='M', name='process_labels', pid=0, tid=0, ts=0, args={'labels': 'GPU 0'})
        step = 0
        while n < events:
            begin = at
            for _ in range(1500):
                op, size = rng.randrange(len(OPERATORS)), 1 << rng.randrange(8, 14)
                args = {'External id': ids, 'Record function id': 0, 'Concrete Inputs': ['', ''], 'Input type': ['c10::BFloat16', 'Scalar'],
                        'Input Strides': [[4096, 1], []], 'Input Dims': [[size, 4096], []], 'Ev Idx': n}
                put(ph='X', cat='cpu_op', name=OPERATORS[op], pid=100, tid=100, ts=round(at, 3), dur=11.25, args=args)
                put(ph='X', cat='cpu_op', name='aten::empty', pid=100, tid=100, ts=round(at + 0.5, 3), dur=1.5,
                    args={'External id': ids + 1, 'Record function id': 0, 'Ev Idx': n})
                allocated += 4096 * (rng.randrange(64) - 31)
                put(ph='i', cat='cpu_instant_event', s='t', name='[memory]', pid=100, tid=100, ts=round(at + 1, 3),
                    args={'Total Reserved': 3 << 30, 'Total Allocated': allocated, 'Bytes': 4096, 'Addr': 140000000000000 + 512 * ids,
                          'Device Id': 0, 'Device Type': 1, 'Ev Idx': n})
                put(ph='X', cat='cuda_runtime', name='cudaLaunchKernel', pid=100, tid=100, ts=round(at + 3, 3), dur=4.125,
                    args={'External id': ids, 'cbid': 211, 'correlation': ids})
                put(ph='s', id=ids, pid=100, tid=100, ts=round(at + 3, 3), cat='ac2g', name='ac2g')
                gpu, dur = max(gpu, at + 8), round(rng.uniform(2, 14), 3)
                put(ph='X', cat='kernel', name=KERNELS[op % len(KERNELS)], pid=0, tid=7, ts=round(gpu, 3), dur=dur,
                    args={'External id': ids, 'queued': 0, 'device': 0, 'context': 1, 'stream': 7, 'correlation': ids,
                          'registers per thread': 32, 'shared memory': 0, 'blocks per SM': 8.0, 'warps per SM': 32.0, 'grid': [size, 1, 1],
                          'block': [128, 1, 1], 'est. achieved occupancy %': 50})
                put(ph='f', id=ids, pid=0, tid=7, ts=round(gpu, 3), cat='ac2g', name='ac2g', bp='e')
                gpu += dur + 0.25
                at += 12
                ids += 2
            put(ph='X', cat='user_annotation', name=f'ProfilerStep#{step}', pid=100, tid=100, ts=round(begin, 3), dur=round(at - begin, 3),
                args={'External id': ids, 'Record function id': 0, 'Ev Idx': n})
            step += 1
            ids += 1
        f.write('\n], "traceName": "bench.pt.trace.json"}\n')


# --- a snapshot ---------------------------------------------------------------------------------

class Pickle:
    """What Python's pickle writes of such a snapshot with protocol 4, piece by piece."""

    def __init__(self, f):
        self.f, self.memo, self.n, self.out = f, {}, 0, bytearray(b'\x80\x04')

    def memoize(self):
        self.out += b'\x94'
        self.n += 1
        return self.n - 1

    def again(self, number):
        self.out += b'h' + bytes([number]) if number < 256 else b'j' + struct.pack('<I', number)

    def text(self, s):
        if s in self.memo:
            self.again(self.memo[s])
            return
        raw = s.encode()
        self.out += (b'\x8c' + bytes([len(raw)]) if len(raw) < 256 else b'X' + struct.pack('<I', len(raw))) + raw
        self.memo[s] = self.memoize()

    def number(self, v):
        if 0 <= v < 256:
            self.out += b'K' + bytes([v])
        elif 0 <= v < 65536:
            self.out += b'M' + struct.pack('<H', v)
        elif -2**31 <= v < 2**31:
            self.out += b'J' + struct.pack('<i', v)
        else:
            raw = v.to_bytes((v.bit_length() >> 3) + 1, 'little', signed=True)
            self.out += b'\x8a' + bytes([len(raw)]) + raw

    def value(self, v):
        if isinstance(v, str):
            self.text(v)
        elif isinstance(v, int):
            self.number(v)
        elif isinstance(v, tuple):
            for x in v:
                self.number(x)
            self.out += b'\x86'
            self.memoize()
        else:
            self.again(v.number)

    def dict(self, members):
        self.out += b'}'
        self.memoize()
        self.out += b'('
        for k, v in members:
            self.text(k)
            self.value(v)
        self.out += b'u'

    def flush(self):
        self.f.write(self.out)
        written = len(self.out)
        self.out.clear()
        return written


class Frames:
    def __init__(self, number):
        self.number = number


def frames_of(p, depth, which):
    p.out += b']'
    made = Frames(p.memoize())
    p.out += b'('
    for i in range(depth):
        p.dict([('filename', f'/srv/train/model/layer_{(which * 7 + i) % 61}.py'), ('line', (which * 13 + i) % 900 + 1),
                ('name', f'forward_{(which + i) % 97}')])
    p.out += b'e'
    return made


def snapshot(path, size):
    rng = random.Random(2)
    with open(path, 'wb') as f:
        p = Pickle(f)
        p.out += b'}'
        p.memoize()
        p.out += b'('
        p.text('segments')
        p.out += b']'
        p.memoize()
        p.text('stacks')    # a key that the format does not have: where the frames come first
        p.out += b']'
        p.memoize()
        p.out += b'('
        stacks = [frames_of(p, 12 + i % 20, i) for i in range(2000)]
        p.out += b'e'
        p.text('device_traces')
        p.out += b']'
        p.memoize()
        p.out += b']'
        p.memoize()
        written, live, at, address = p.flush(), [], 1700000000000000, 0x7f0000000000
        while written < size:
            p.out += b'('
            for _ in range(1000):
                at += rng.randrange(1, 20)
                if len(live) > 3000 or (live and rng.random() < 0.45):
                    action, (addr, n) = 'free_completed', live.pop(rng.randrange(len(live)))
                else:
                    action, addr, n = 'alloc', address, 512 << rng.randrange(16)
                    address += n
                    live.append((addr, n))
                p.dict([('action', action), ('addr', addr), ('size', n), ('stream', 0), ('time_us', at), ('compile_context', 'N/A'),
                        ('user_metadata', ''), ('pool_id', (0, 0)), ('frames', stacks[rng.randrange(2000)])])
            p.out += b'e'
            written += p.flush()
        p.out += b'au.'
        p.flush()


if __name__ == '__main__':
    {'trace': trace, 'snapshot': snapshot}[sys.argv[1]](sys.argv[2], int(sys.argv[3]))
