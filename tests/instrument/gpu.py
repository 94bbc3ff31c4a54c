#!/usr/bin/env python3
"""GPU tracing, record and doctor, with a CUDA driver and a CUPTI that stand in for NVIDIA's (standin/standin.h).

    tests/instrument/gpu.py --build build
"""
import argparse
import collections
import glob
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(ROOT, 'tests/instrument'), os.path.join(ROOT, 'tests/lib')]
from examples import Checks   # noqa: E402
import xspace   # noqa: E402

STEPS = 8
GEMM = 'gemm_h884(float*, float*, float*, int)'


class World:
    def __init__(self, build):
        self.build = os.path.abspath(build)
        self.bin = os.path.join(self.build, 'stepscope')
        self.standin = os.path.join(self.build, 'tests/standin')
        self.logdir = tempfile.mkdtemp(prefix='stepscope-gpu-')

    def env(self, **more):
        keep = {k: v for k, v in os.environ.items() if not k.startswith(('STANDIN_', 'SS_', 'CUDA_', 'NVTX_', 'LD_'))}
        paths = f'{self.standin}:{os.path.join(self.build, "instrument")}'
        return dict(keep, LD_LIBRARY_PATH=paths, **more)

    def program(self, name):
        return os.path.join(self.standin, name)

    def run(self, *command, env=None):
        return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, env=env or self.env())

    def record(self, session, *program, options=(), env=None):
        return self.run(self.bin, 'record', '--logdir', self.logdir, '--session', session, '--host', 'h', *options, '--', *program,
                        env=env)

    def folder(self, session):
        return os.path.join(self.logdir, 'plugins/profile', session)

    def files(self, session):
        return sorted(os.listdir(self.folder(session))) if os.path.isdir(self.folder(session)) else []

    def tool(self, name, session, where=None):
        got = self.run(self.bin, 'tool', name, where or self.logdir, '--run', session, '--format', 'xprof')
        if got.returncode:
            raise SystemExit(f'{name} of {session}: {got.stderr}')
        return json.loads(got.stdout)

    def space(self, session):
        with open(os.path.join(self.folder(session), 'h.xplane.pb'), 'rb') as f:
            return xspace.parse(f.read())


def rows_of(table):
    ids = [c['id'] for c in table['cols']]
    return [dict(zip(ids, [v['v'] for v in r['c']])) for r in table['rows']]


def numbers(fields, number):
    return [value for n, _, value in fields if n == number]


def warnings_of(space):
    return [w.decode() for w in numbers(space, 3)]


def plane_named(space, name):
    return [p for p in numbers(space, 1) if xspace.get(p, 2) == name.encode()]


def check_kernels(c, what, w, session):
    rows = {r['kernel_name']: r for r in rows_of(w.tool('kernel_stats', session))}
    c.equal(f'{what}: kernels', sorted(rows), sorted([GEMM, 'relu']))
    for name, count, us, registers, shared, block, grid, occupancy, tensor in (
            (GEMM, STEPS, 200, 96, 24576, '256,1,1', '128,2,1', 25, True),
            ('relu', 2 * STEPS, 20, 16, 0, '1024,1,1', '64,1,1', 100, False)):
        r = rows.get(name, {})
        got = [r.get(k) for k in ('occurrences', 'avg_duration_us', 'total_duration_us', 'registers_per_thread', 'shmem_bytes', 'block_dim',
                                  'grid_dim', 'occupancy_pct', 'is_kernel_using_tensor_core')]
        c.equal(f'{what}: {name}', got, [count, us, count * us, registers, shared, block, grid, occupancy, tensor])


def check_timeline(c, what, w, session, steps):
    events = [e for e in w.tool('trace_viewer', session)['traceEvents'] if e.get('ph') == 'X']
    launches = {e['args']['correlation_id']: e for e in events if e['name'] == 'cuLaunchKernel'}
    kernels = {e['args']['correlation_id']: e for e in events if e['name'] in (GEMM, 'relu') and 'kernel_details' in e['args']}
    c.equal(f'{what}: launches and their kernels', (len(launches), sorted(kernels) == sorted(launches)), (3 * STEPS, True))
    # The stand-in's device is a day ahead; a kernel begins at least a microsecond after its launch, and soon.
    late = [kernels[i]['ts'] - launches[i]['ts'] for i in launches]
    c.holds(f'{what}: kernels begin after their launches', min(late) > 0 and max(late) < 2e6)
    c.equal(f'{what}: copies', [sum(e['name'] == n for e in events) for n in ('MemcpyHToD', 'MemcpyDToH', 'Memset')], [STEPS] * 3)
    groups = {e['args'].get('group_id') for e in kernels.values()}
    c.equal(f'{what}: kernels stand in the steps that launched them', len(groups), STEPS if steps else 1)


def check_order(c, what, w, session):
    plane = plane_named(w.space(session), '/device:GPU:0')
    c.equal(f'{what}: one plane of the device', len(plane), 1)
    for line in numbers(plane[0], 3):
        begins = [xspace.get(e, 2, 0) for e in numbers(line, 4)]
        c.equal(f'{what}: events of {xspace.get(line, 2).decode()} in order', begins, sorted(begins))
    c.equal(f'{what}: names of streams', [xspace.get(line, 2).decode() for line in numbers(plane[0], 3)],
            ['Stream #13(Compute,Memset)', 'Stream #14(MemcpyH2D,MemcpyD2H)'])


def check_memory(c, what, w, session):
    pools = w.tool('memory_profile', session)['memoryProfilePerAllocator']
    c.equal(f'{what}: allocators', sorted(pools), ['GPU_0_cuda'])
    summary = pools['GPU_0_cuda']['profileSummary']
    c.equal(f'{what}: peak of memory', summary['peakBytesUsageLifetime'], str((1 << 20) + 65536))
    c.equal(f'{what}: capacity', summary['memoryCapacity'], '85520809984')


def check_overview(c, what, w, session):
    tables = w.tool('overview_page', session)
    environment = next(t['p'] for t in tables if 'device_type' in t.get('p', {}))
    c.equal(f'{what}: device', (environment['device_type'], environment['device_core_count']), ('Nvidia GPU (Hopper)', '2'))
    steps = next(t for t in tables if any(col['id'] == 'deviceComputeTimeMs' for col in t['cols']))
    got = [round(r['deviceComputeTimeMs'], 6) for r in rows_of(steps)]
    c.equal(f'{what}: device time of the steps but the first and the last', got, [.24104] * (STEPS - 2))


def library(c, w, version):
    """A program that records itself."""
    what, where = f'library, CUPTI {version}', os.path.join(w.logdir, f'library{version}')
    got = w.run(w.program('gpu_static'), str(STEPS), where, env=w.env(STANDIN_CUPTI=str(version)))
    c.equal(f'{what}: prints its profile', got.stdout.strip(), os.path.join(where, 'plugins/profile/run/h.xplane.pb'))
    session = f'library{version}'
    shutil.move(os.path.join(where, 'plugins/profile/run'), w.folder(session))
    c.equal(f'{what}: leaves one file', w.files(session), ['h.xplane.pb'])
    check_kernels(c, what, w, session)
    check_timeline(c, what, w, session, steps=True)
    check_order(c, what, w, session)
    check_memory(c, what, w, session)
    check_overview(c, what, w, session)
    check_facts(c, what, w, session)
    c.equal(f'{what}: no warnings', warnings_of(w.space(session)), [])


def recorded(c, w):
    """A program that knows nothing of it."""
    got = w.record('plain', w.program('gpu_plain'), str(STEPS))
    c.equal('record: status and words', (got.returncode, got.stderr.strip()), (0, f"stepscope: recorded 1 process in '{w.folder('plain')}'"))
    c.equal('record: files', w.files('plain'), ['h.xplane.pb'])
    check_kernels(c, 'record', w, 'plain')
    check_timeline(c, 'record', w, 'plain', steps=False)
    check_memory(c, 'record', w, 'plain')
    events = [e for e in w.tool('trace_viewer', 'plain')['traceEvents'] if e.get('ph') == 'X']
    for name in ('forward', 'gemm'):
        c.equal(f'record: NVTX ranges named {name}', sum(e['name'] == name for e in events), STEPS)
    c.equal('record: ranges of the kernels', sorted({e['args'].get('nvtx_range') for e in events if e['name'] in (GEMM, 'relu')}),
            ['forward', 'forward/gemm'])
    c.equal('record: begin and end of the process', [e['args']['command'].split()[-1] for e in events if e['name'].startswith('process ')],
            [str(STEPS)] * 2)
    w.record('steps', w.program('gpu_plain'), str(STEPS), options=['--step', 'forward'])
    events = [e for e in w.tool('trace_viewer', 'steps')['traceEvents'] if e.get('ph') == 'X']
    c.equal('record --step: numbers', sorted(int(e['args']['step_num']) for e in events if 'step_num' in e['args']), list(range(STEPS)))
    check_timeline(c, 'record --step', w, 'steps', steps=True)
    tables = w.tool('overview_page', 'steps')
    rows = rows_of(next(t for t in tables if any(col['id'] == 'deviceComputeTimeMs' for col in t['cols'])))
    c.equal('record --step: steps of the overview', len(rows), STEPS - 2)
    for program in ('gpu_shared', 'gpu_static'):
        session, nowhere = f'again {program}', os.path.join(w.logdir, 'nowhere')
        got = w.record(session, w.program(program), str(STEPS), nowhere)
        c.equal(f'record of {program}: one recording', (got.returncode, w.files(session)), (0, ['h.xplane.pb']))
        c.equal(f'record of {program}: is told where', got.stdout.strip(), os.path.join(w.folder(session), 'h.xplane.pb'))
        c.holds('... in our log directory', not os.path.exists(nowhere))
        check_kernels(c, f'record of {program}', w, session)
        check_timeline(c, f'record of {program}', w, session, steps=True)
        check_overview(c, f'record of {program}', w, session)


def facts_of(w, session, device=0):
    """Stats of a device's plane by name, texts resolved."""
    plane = plane_named(w.space(session), f'/device:GPU:{device}')
    if not plane:
        return {}
    names = {xspace.get(e, 1): xspace.get(xspace.get(e, 2), 2).decode() for e in numbers(plane[0], 5)}
    facts = {}
    for stat in numbers(plane[0], 6):
        value = next((v for n, _, v in stat if n != 1), None)
        facts[names[xspace.get(stat, 1)]] = names[value] if any(n == 7 for n, _, _ in stat) else value
    return facts


def check_facts(c, what, w, session, sms=132):
    got = facts_of(w, session)
    want = {'device_vendor': 'Nvidia', 'clock_rate': 1980000, 'core_count': sms, 'memory_bandwidth': 3352320000000,
            'memory_size': 85520809984, 'compute_cap_major': 9, 'compute_cap_minor': 0}
    c.equal(f'{what}: facts of the device', {k: got.get(k) for k in want}, want)
    c.holds(f'{what}: name {got.get("gpu_device_name")}', got.get('gpu_device_name', '').startswith('Stand-in GPU'))
    return got


def uuid(prefix, first):
    text = bytes(range(first, first + 16)).hex()
    return '-'.join([prefix, text[:8], text[8:12], text[12:16], text[16:20], text[20:]])


def graphs(c, w):
    """A CUDA graph is one call; its kernels have that call's correlation, its range and its step."""
    got = w.record('graph', w.program('gpu_shared'), str(STEPS), '/nowhere', 'graph')
    c.equal('graph: status', got.returncode, 0)
    events = [e for e in w.tool('trace_viewer', 'graph')['traceEvents'] if e.get('ph') == 'X']
    launches = {e['args']['correlation_id']: e for e in events if e['name'] == 'cuGraphLaunch'}
    nodes = [e for e in events if 'cuda_graph_id' in e.get('args', {})]
    c.equal('graph: launches, kernels and sets', (len(launches), len(nodes)), (STEPS, 4 * STEPS))
    c.equal('graph: nodes belong to launches', {e['args']['correlation_id'] for e in nodes} - set(launches), set())
    c.equal('graph: number of the graph', {int(e['args']['cuda_graph_id']) for e in nodes}, {5})
    # Nodes of graphs have large numbers; node 0 of graph 5 is the matrix product.
    c.equal('graph: numbers of the nodes', sorted({int(e['args']['cuda_graph_node_id']) - (5 << 32) for e in nodes}), [0, 1, 2, 3])
    c.equal('graph: range', {e['args'].get('nvtx_range') for e in nodes}, {'replay'})
    kernels = [e for e in nodes if 'kernel_details' in e['args']]
    c.equal('graph: kernels of the steps', sorted(collections.Counter(e['args'].get('group_id') for e in kernels).values()), [3] * STEPS)
    rows = {r['kernel_name']: r['occurrences'] for r in rows_of(w.tool('kernel_stats', 'graph'))}
    c.equal('graph: kernel_stats', rows, {GEMM: STEPS, 'relu': 2 * STEPS})


def two_gpus(c, w):
    got = w.record('two', w.program('gpu_plain'), str(STEPS), 'two')
    c.equal('two GPUs: status', got.returncode, 0)
    trace = w.tool('trace_viewer', 'two')['traceEvents']
    pids = {e['args']['name']: e['pid'] for e in trace if e.get('name') == 'process_name'}
    planes = sorted(name.split()[0] for name in pids if 'GPU' in name)
    c.equal('two GPUs: planes, and none of the GPU that is hidden', planes, ['/device:GPU:0', '/device:GPU:1'])
    events = [e for e in trace if e.get('ph') == 'X']
    for device in (0, 1):
        pid = next((p for name, p in pids.items() if name.startswith(f'/device:GPU:{device}')), None)
        here = [e for e in events if e['pid'] == pid]
        c.equal(f'two GPUs: kernels of GPU {device}', sum('kernel_details' in e['args'] and e['name'] == 'relu' for e in here), STEPS)
        copies = [e['args']['memcpy_details'] for e in here if e['name'] == 'MemcpyP2P']
        c.equal(f'two GPUs: copies on GPU {device}', len(copies), 0 if device else STEPS)
        c.holds(f'two GPUs: where copies of GPU {device} go', all('dest:1' in d and 'size:1048576' in d for d in copies))
        c.equal(f'two GPUs: number of GPU {device}', facts_of(w, 'two', device).get('device_uuid'), uuid('GPU', 16 * (device + 1)))
    launches = collections.Counter((e['name'], e['args'].get('device_id')) for e in events if e['name'] == 'cuLaunchKernel')
    c.equal('two GPUs: launches know their device', sorted(launches.values()), [STEPS, STEPS])
    c.equal('two GPUs: kernel_stats', [r['occurrences'] for r in rows_of(w.tool('kernel_stats', 'two'))], [2 * STEPS])


def contexts(c, w):
    """Contexts number their streams each for itself: streams of one number are lines of their own."""
    got = w.record('contexts', w.program('gpu_plain'), str(STEPS), 'contexts')
    c.equal('contexts: status', got.returncode, 0)
    lines = numbers(plane_named(w.space('contexts'), '/device:GPU:0')[0], 3)
    c.equal('contexts: streams', [(xspace.get(line, 2).decode(), len(numbers(line, 4))) for line in lines],
            [('Stream #13(Compute)', STEPS), ('Stream #13(Compute) of context 1', STEPS)])
    c.equal('contexts: numbers of lines differ', len({xspace.get(line, 1) for line in lines}), 2)
    c.equal('contexts: kernel_stats', [r['occurrences'] for r in rows_of(w.tool('kernel_stats', 'contexts'))], [2 * STEPS])
    events = [e for e in w.tool('trace_viewer', 'contexts')['traceEvents'] if e.get('ph') == 'X' and e['name'] == 'relu']
    c.equal('contexts: in the timeline', collections.Counter(e['args'].get('context_id') for e in events), {'$$1': STEPS, '$$3': STEPS})


def slices(c, w):
    """A slice of a GPU (MIG): its own number of cores and its own identity, whoever tells of it."""
    got = w.record('mig', w.program('gpu_plain'), str(STEPS), env=w.env(STANDIN_MIG='1'))
    c.equal('MIG: status', got.returncode, 0)
    check_kernels(c, 'MIG', w, 'mig')
    facts = check_facts(c, 'MIG', w, 'mig', sms=16)
    c.equal('MIG: slice', (facts.get('device_uuid'), facts.get('mig_gpu_instance'), facts.get('mig_compute_instance')),
            (uuid('MIG', 144), 7, 0))
    capture(c, w, 'migserved', w.env(STANDIN_MIG='1'))
    facts = check_facts(c, 'MIG, served', w, 'migserved', sms=16)
    c.equal('MIG, served: slice', (facts.get('gpu_device_name'), facts.get('device_uuid')), ('Stand-in GPU MIG 1g.10gb', uuid('MIG', 144)))


def destroyed(c, w):
    """A context that ends takes along what was not delivered of it: it must be asked for before."""
    got = w.record('destroyed', w.program('gpu_plain'), str(STEPS), 'destroy')
    c.equal('destroyed: status', got.returncode, 0)
    check_kernels(c, 'destroyed', w, 'destroyed')


def capture(c, w, session, env):
    program = subprocess.Popen([w.program('gpu_served'), '20000'], stdout=subprocess.PIPE, text=True, env=env)
    try:
        port = program.stdout.readline().strip()
        got = w.run(w.bin, 'capture', '-a', f'localhost:{port}', '-l', w.logdir, '--session_id', session,
                    '--duration_ms', '300')
        c.equal(f'{session}: captured\n{got.stderr}', got.returncode, 0)
    finally:
        program.kill()
        program.wait()
    for name in w.files(session):
        os.rename(os.path.join(w.folder(session), name), os.path.join(w.folder(session), 'h.xplane.pb'))


def served(c, w):
    """A program that others record while it runs."""
    capture(c, w, 'served', w.env())
    c.equal('served: one file', len(w.files('served')), 1)
    rows = {r['kernel_name']: r for r in rows_of(w.tool('kernel_stats', 'served'))}
    c.holds('served: kernels', rows.get(GEMM, {}).get('occurrences', 0) > 20 and rows['relu']['avg_duration_us'] == 20)
    # CUPTI tells of devices only those who ask before CUDA is initialized: here the driver was asked.
    facts = check_facts(c, 'served', w, 'served')
    c.equal('served: number of the device', facts.get('device_uuid'), uuid('GPU', 16))
    c.equal('served: occupancy', (rows[GEMM]['occupancy_pct'], rows['relu']['occupancy_pct']), (25, 100))
    again = w.record('joined', w.program('gpu_served'), '3')
    c.equal('served and recorded: one recording', (again.returncode, w.files('joined')), (0, ['h.xplane.pb']))


def storm(c, w):
    """Short sessions while threads use the GPU: none fails, hangs or leaves a damaged file."""
    sessions = 40
    got = w.run(w.program('gpu_static'), str(sessions), w.logdir, 'storm')
    c.equal(f'storm: sessions that began and ended\n{got.stderr}', (got.returncode, got.stdout.strip()), (0, str(sessions)))
    launched = 0
    for i in range(sessions):
        rows = rows_of(w.tool('kernel_stats', f'storm{i}'))
        launched += sum(r['occurrences'] for r in rows)
        c.holds(f'storm {i}: one kernel', {r['kernel_name'] for r in rows} <= {'relu'})
        usual = ('no GPU record', 'did not fit', 'were still running when the recording ended')
        said = [s for s in warnings_of(w.space(f'storm{i}')) if not any(u in s for u in usual)]
        c.equal(f'storm {i}: warnings', said, [])
    c.holds('storm: kernels', launched > 100)


def killed(c, w):
    got = w.record('killed', w.program('gpu_plain'), str(STEPS), 'kill')
    c.equal('killed: status', got.returncode, 128 + signal.SIGKILL)
    c.holds('killed: is said', 'killed before its recording ended' in got.stderr)
    c.equal('killed: parts are joined', w.files('killed'), ['h.xplane.pb'])
    check_kernels(c, 'killed', w, 'killed')
    check_memory(c, 'killed', w, 'killed')
    where = os.path.join(w.logdir, 'alone')
    got = w.run(w.program('gpu_static'), str(STEPS), where, 'kill')
    c.equal('killed without record: status', got.returncode, -signal.SIGKILL)
    shutil.move(os.path.join(where, 'plugins/profile/run'), w.folder('alone'))
    c.equal('killed without record: a file each', w.files('alone'), ['h.gpu0.xplane.pb', 'h.gpu1.xplane.pb', 'h.xplane.pb'])
    check_kernels(c, 'killed without record', w, 'alone')


def children(c, w):
    got = w.record('shell', 'sh', '-c', f'{w.program("gpu_plain")} {STEPS}; ls / >/dev/null; exit 7')
    files = w.files('shell')
    c.equal('children: status of the shell', got.returncode, 7)
    c.equal('children: the shell, and the one that used CUDA', (len(files), 'h.xplane.pb' in files), (2, True))
    check_kernels(c, 'children', w, 'shell')
    got = w.record('exec', 'sh', '-c', f'exec {w.program("gpu_plain")} {STEPS}')
    c.equal('exec: one process, one file', (got.returncode, w.files('exec')), (0, ['h.xplane.pb']))
    check_kernels(c, 'exec', w, 'exec')
    standin = os.path.join(w.standin, 'libcuda.so.1')
    script = (f'import ctypes, sys; sys.path.insert(0, {ROOT + "/instrument"!r}); import sstrace\n'
              f'sstrace.start(logdir={w.logdir!r}, session="pygpu", host="h", gpu=True); print(sstrace.gpu_error())\n'
              f'cuda = ctypes.CDLL({standin!r}); cuda.cuInit(0); cuda.cuMemsetD8Async(ctypes.c_uint64(4096), 0, 100, None)\n'
              'sstrace.stop()')
    got = w.run(sys.executable, '-c', script, env=w.env(SSTRACE_LIBRARY=os.path.join(w.build, 'instrument/libsstrace.so')))
    c.equal('python with gpu=True: starts', (got.stderr, got.stdout.strip()), ('', ''))
    names = [e['name'] for e in w.tool('trace_viewer', 'pygpu')['traceEvents'] if e.get('ph') == 'X']
    c.holds('python with gpu=True: the call and what the device did', 'cuMemsetD8Async' in names and 'Memset' in names)
    got = w.record('python', sys.executable, '-c', f'import sys; sys.path.insert(0, {ROOT + "/instrument"!r}); import sstrace\n'
                   'sstrace.start(logdir="/nowhere")\nwith sstrace.step("train", 1): pass\nprint(sstrace.stop())')
    c.equal('python: joins', (got.returncode, got.stdout.strip()), (0, os.path.join(w.folder('python'), 'h.xplane.pb')))
    names = [e['name'] for e in w.tool('trace_viewer', 'python')['traceEvents'] if e.get('ph') == 'X']
    c.holds('python: its events are there', 'train 1' in names and 'process stop' in names)


def missing(c, w):
    """What is missing is said, on stderr and in the profile, and the program does not notice."""
    cases = (
        ('privileges', {'STANDIN_FAIL': 'cuptiActivityEnable=35'}, 'NVreg_RestrictProfilingToAdminUsers=0'),
        ('subscriber', {'STANDIN_FAIL': 'cuptiSubscribe=39'}, 'records this program already'),
        ('older', {'STANDIN_API': '17'}, '12.0 or newer is needed'),
        ('newer', {'STANDIN_CUPTI': '13', 'STANDIN_DRIVER': '12040'}, 'use the CUPTI of CUDA 12, or a newer driver'),
        ('clock', {'STANDIN_FAIL': 'cuptiGetTimestamp=999'}, 'CUPTI could not be initialized'),
        ('named', {'SS_TRACE_CUPTI': '/nowhere/libcupti.so'}, "SS_TRACE_CUPTI names '/nowhere/libcupti.so'"),
        ('damaged', {'SS_TRACE_CUPTI': os.path.join(w.standin, 'libcuda.so.1')}, 'is not CUPTI: functions are missing'),
    )
    for name, env, text in cases:
        got = w.record(name, w.program('gpu_plain'), str(STEPS), env=w.env(**env))
        c.equal(f'{name}: the program runs', got.returncode, 0)
        c.holds(f'{name}: stderr says {text!r}, not {got.stderr!r}', text in got.stderr)
        said = warnings_of(w.space(name))
        c.holds(f'{name}: the profile says it', len(said) == 1 and text in said[0])
        c.equal(f'{name}: no plane of a device', plane_named(w.space(name), '/device:GPU:0'), [])
    got = w.record('partly', w.program('gpu_plain'), str(STEPS), env=w.env(STANDIN_FAIL='cuptiActivityEnable:49=35', STANDIN_DROP='12'))
    said = warnings_of(w.space('partly'))
    c.equal('partly: warnings', [s.split(':')[0] for s in said], ['allocations are not recorded', 'CUPTI dropped 12 records of the GPUs'])
    check_kernels(c, 'partly', w, 'partly')
    got = w.record('no-gpu', w.program('gpu_plain'), str(STEPS), options=['--no-gpu'])
    c.equal('--no-gpu: status and words', (got.returncode, got.stderr.count('\n')), (0, 1))
    c.equal('--no-gpu: no plane', plane_named(w.space('no-gpu'), '/device:GPU:0'), [])
    got = w.record('cpu', sys.executable, '-c', 'pass', env=dict(w.env(), LD_LIBRARY_PATH=''))
    c.holds('no driver: says so', got.returncode == 0 and 'the NVIDIA driver is missing' in got.stderr)
    got = w.record('unused', sys.executable, '-c', 'pass')
    c.holds('no CUDA in the program: says so', got.returncode == 0 and 'the program did not use CUDA' in got.stderr)


def small(c, w):
    """A bound that is too small: what no longer fits is counted and said."""
    got = w.record('small', w.program('gpu_plain'), '4000', options=['--max-mb', '2'])
    c.equal('small: the program runs', got.returncode, 0)
    c.holds('small: says how many', any('did not fit in the recording' in s for s in warnings_of(w.space('small'))))
    c.holds('small: the rest is there', rows_of(w.tool('kernel_stats', 'small')))


def misuse(c, w):
    for what, args, status, text in (
            ('no program', ['--logdir', w.logdir], 2, 'which program?'),
            ('no program behind --', ['--'], 2, 'which program?'),
            ('unknown program', ['--logdir', w.logdir, '/nowhere/x'], 127, "cannot run '/nowhere/x'"),
            ('a session twice', ['--logdir', w.logdir, '--session', 'plain', 'true'], 1, "run 'plain' already exists"),
            ('a log directory that cannot be', ['--logdir', '/dev/null/x', 'true'], 1, '/dev/null/x'),
            ('no number', ['--max-mb', 'many', 'true'], 2, 'not a number from 0'),
            ('a slash in a name', ['--session', 'a/b', 'true'], 2, 'valid file names'),
            ('options of the program are its own', ['--logdir', w.logdir, 'sh', '-c', 'exit 9'], 9, 'recorded 1 process')):
        got = w.run(w.bin, 'record', *args)
        c.holds(f'record, {what}: {got.returncode} {got.stderr!r}', got.returncode == status and text in got.stderr)
    left = [d for d in glob.glob(os.path.join(w.logdir, 'plugins/profile/*')) if not os.listdir(d)]
    c.equal('record: leaves no empty runs', left, [])


def doctor(c, w):
    with socket.socket() as taken, socket.socket() as other:
        taken.bind(('127.0.0.1', 0))
        taken.listen()
        other.bind(('127.0.0.1', 0))
        busy, free = taken.getsockname()[1], other.getsockname()[1]
        other.close()
        good = w.run(w.bin, 'doctor', '--logdir', w.logdir, '--port', str(free), '--gpu', env=w.env(STANDIN_FAIL=''))
        port = w.run(w.bin, 'doctor', '--logdir', w.logdir, '--port', str(busy))
    # Whether a GPU is seen on the bus is the machine's: the stand-in's driver is enough.
    c.equal(f'doctor: all is well\n{good.stdout}', good.returncode, 0)
    for text in ('2 GPUs', 'CUPTI may record', 'free', 'is writable'):
        c.holds(f'doctor: says {text!r}', text in good.stdout)
    c.holds('doctor: a port that is taken', port.returncode == 1 and 'another program uses this port' in port.stdout)
    for what, env, args, text in (
            ('privileges', {'STANDIN_FAIL': 'cuptiActivityEnable=35'}, [], 'NVreg_RestrictProfilingToAdminUsers=0'),
            ('no device', {'STANDIN_NO_GPU': '1'}, ['--gpu'], 'the NVIDIA driver finds no GPU'),
            ('driver too old', {'STANDIN_CUPTI': '13', 'STANDIN_DRIVER': '12040'}, [], 'use the CUPTI of CUDA 12'),
            ('no driver', {'LD_LIBRARY_PATH': ''}, ['--gpu'], 'the NVIDIA driver is missing'),
            ('a log directory that cannot be', {}, ['--logdir', '/dev/null/x'], 'is not writable')):
        got = w.run(w.bin, 'doctor', '--port', str(free), *args, env={**w.env(), **env})
        c.holds(f'doctor, {what}: {got.returncode} {got.stdout}', got.returncode == 1 and text in got.stdout)


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--build', default='build')
    w, c = World(p.parse_args().build), Checks()
    try:
        os.makedirs(os.path.join(w.logdir, 'plugins/profile'))
        for version in (12, 13):
            library(c, w, version)
        for check in (recorded, graphs, two_gpus, contexts, slices, destroyed, served, storm, killed, children, missing, small, misuse, doctor):
            check(c, w)
    finally:
        shutil.rmtree(w.logdir)
    print(f'{c.passed} passed, {c.failed} failed')
    return 1 if c.failed else 0


if __name__ == '__main__':
    sys.exit(main())
