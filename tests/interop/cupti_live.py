#!/usr/bin/env python3
"""NVIDIA's own headers and libraries, of CUDA 12.0, 12.9 and 13.5, against what libsstrace takes them for.

Their headers: every offset, number and size of instrument/cupti_abi.h and instrument/nvtx.c, by the compiler, for every version of a
record that such a library can deliver. Their NVTX: a program that includes it is recorded. Their libcupti: it loads, and says without
a driver what we say it says. XProf: a recording of the stand-in GPU opens and has the same kernels and memory as ours.
What only a GPU can show is not here.

    scripts/bootstrap cupti; tests/interop/cupti_live.py
"""
import glob
import json
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path[:0] = [HERE, os.path.join(ROOT, 'tests/instrument'), os.path.join(ROOT, 'tests/lib')]
import against_xprof   # noqa: E402
from examples import Checks   # noqa: E402

BUILD = os.path.join(ROOT, 'build')
INSTRUMENT = os.path.join(ROOT, 'instrument')

# What the headers include of CUDA's compiler.
HOST_DEFINES = '''
#define __device_builtin__
#define __cudart_builtin__
#define __host__
#define __device__
#define __forceinline__ inline
#define __device_builtin_texture_type__
#define __device_builtin_surface_type__
#define __specialization_static static
#define CUDARTAPI
#define CUDARTAPI_CDECL
#define __align__(n) __attribute__((aligned(n)))
#define __builtin_align__(n) __attribute__((aligned(n)))
'''

# Record, the oldest version of it that a CUPTI from 12.0 on delivers, its fields and our offsets.
RECORDS = (
    ('Kernel', 9, {'registersPerThread': 'KERNEL_REGISTERS', 'start': 'KERNEL_START', 'end': 'KERNEL_END', 'deviceId': 'KERNEL_DEVICE',
                   'contextId': 'KERNEL_CONTEXT', 'streamId': 'KERNEL_STREAM', 'gridX': 'KERNEL_GRID', 'gridY': 'KERNEL_GRID + 4',
                   'gridZ': 'KERNEL_GRID + 8', 'blockX': 'KERNEL_BLOCK', 'blockY': 'KERNEL_BLOCK + 4', 'blockZ': 'KERNEL_BLOCK + 8',
                   'staticSharedMemory': 'KERNEL_STATIC_SHARED', 'dynamicSharedMemory': 'KERNEL_DYNAMIC_SHARED',
                   'correlationId': 'KERNEL_CORRELATION', 'name': 'KERNEL_NAME', 'graphNodeId': 'KERNEL_GRAPH_NODE',
                   'graphId': 'KERNEL_GRAPH'}),
    ('Memcpy', 5, {'copyKind': 'MEMCPY_COPY_KIND', 'srcKind': 'MEMCPY_SRC_KIND', 'dstKind': 'MEMCPY_DST_KIND', 'flags': 'MEMCPY_FLAGS',
                   'bytes': 'MEMCPY_SIZE', 'start': 'MEMCPY_START', 'end': 'MEMCPY_END', 'deviceId': 'MEMCPY_DEVICE',
                   'contextId': 'MEMCPY_CONTEXT', 'streamId': 'MEMCPY_STREAM', 'correlationId': 'MEMCPY_CORRELATION',
                   'graphNodeId': 'MEMCPY_GRAPH_NODE', 'graphId': 'MEMCPY_GRAPH'}),
    ('MemcpyPtoP', 4, {'copyKind': 'MEMCPY_COPY_KIND', 'srcKind': 'MEMCPY_SRC_KIND', 'dstKind': 'MEMCPY_DST_KIND',
                       'flags': 'MEMCPY_FLAGS', 'bytes': 'MEMCPY_SIZE', 'start': 'MEMCPY_START', 'end': 'MEMCPY_END',
                       'deviceId': 'MEMCPY_DEVICE', 'contextId': 'MEMCPY_CONTEXT', 'streamId': 'MEMCPY_STREAM',
                       'dstDeviceId': 'PEER_DST_DEVICE', 'correlationId': 'PEER_CORRELATION', 'graphNodeId': 'PEER_GRAPH_NODE',
                       'graphId': 'PEER_GRAPH'}),
    ('Memset', 4, {'value': 'MEMSET_VALUE', 'bytes': 'MEMSET_SIZE', 'start': 'MEMSET_START', 'end': 'MEMSET_END',
                   'deviceId': 'MEMSET_DEVICE', 'contextId': 'MEMSET_CONTEXT', 'streamId': 'MEMSET_STREAM',
                   'correlationId': 'MEMSET_CORRELATION', 'flags': 'MEMSET_FLAGS', 'memoryKind': 'MEMSET_MEMORY_KIND',
                   'graphNodeId': 'MEMSET_GRAPH_NODE', 'graphId': 'MEMSET_GRAPH'}),
    ('Memory', 3, {'memoryOperationType': 'MEMORY_OPERATION', 'memoryKind': 'MEMORY_MEMORY_KIND', 'correlationId': 'MEMORY_CORRELATION',
                   'address': 'MEMORY_ADDRESS', 'bytes': 'MEMORY_SIZE', 'timestamp': 'MEMORY_TIME', 'deviceId': 'MEMORY_DEVICE'}),
    ('Device', 4, {'globalMemoryBandwidth': 'DEVICE_BANDWIDTH', 'globalMemorySize': 'DEVICE_MEMORY', 'numThreadsPerWarp': 'DEVICE_WARP',
                   'coreClockRate': 'DEVICE_CLOCK', 'numMultiprocessors': 'DEVICE_SMS',
                   'maxWarpsPerMultiprocessor': 'DEVICE_WARPS_PER_SM', 'maxBlocksPerMultiprocessor': 'DEVICE_BLOCKS_PER_SM',
                   'maxSharedMemoryPerMultiprocessor': 'DEVICE_SHARED_PER_SM',
                   'maxRegistersPerMultiprocessor': 'DEVICE_REGISTERS_PER_SM', 'computeCapabilityMajor': 'DEVICE_CAP_MAJOR',
                   'computeCapabilityMinor': 'DEVICE_CAP_MINOR', 'id': 'DEVICE_ID', 'name': 'DEVICE_NAME', 'uuid': 'DEVICE_UUID',
                   'isCudaVisible': 'DEVICE_VISIBLE', 'isMigEnabled': 'DEVICE_MIG', 'gpuInstanceId': 'DEVICE_GPU_INSTANCE',
                   'computeInstanceId': 'DEVICE_COMPUTE_INSTANCE', 'migUuid': 'DEVICE_MIG_UUID'}),
)
# Sizes of records that the comment of cupti_abi.h and the stand-in rely on: (record, version): bytes
SIZES = {('Kernel', 9): 208, ('Kernel', 10): 216, ('Kernel', 13): 248, ('Memcpy', 5): 88, ('Memcpy', 6): 96, ('Memcpy', 7): 112,
         ('Memset', 4): 88, ('Memset', 5): 104, ('Memory', 3): 120, ('Memory', 4): 128, ('Device', 4): 176, ('Device', 5): 184,
         ('Device', 6): 192, ('MemcpyPtoP', 4): 96}
CALLBACK = {'callbackSite': 'CALLBACK_SITE', 'functionName': 'CALLBACK_FUNCTION', 'context': 'CALLBACK_CONTEXT',
            'contextUid': 'CALLBACK_CONTEXT_UID', 'correlationId': 'CALLBACK_CORRELATION'}
NUMBERS = {
    'CUPTI_SUCCESS': 'CUPTI_OK', 'CUPTI_ERROR_MAX_LIMIT_REACHED': 'CUPTI_MAX_LIMIT_REACHED',
    'CUPTI_ERROR_NOT_INITIALIZED': 'CUPTI_NOT_INITIALIZED', 'CUPTI_ERROR_HARDWARE_BUSY': 'CUPTI_HARDWARE_BUSY',
    'CUPTI_ERROR_VIRTUALIZED_DEVICE_NOT_SUPPORTED': 'CUPTI_VIRTUALIZED',
    'CUPTI_ERROR_INSUFFICIENT_PRIVILEGES': 'CUPTI_INSUFFICIENT_PRIVILEGES',
    'CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED': 'CUPTI_MULTIPLE_SUBSCRIBERS',
    'CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES': 'CUPTI_VIRTUALIZED_PRIVILEGES', 'CUPTI_ERROR_UNKNOWN': 'CUPTI_UNKNOWN',
    'CUPTI_ACTIVITY_KIND_MEMCPY': 'CUPTI_KIND_MEMCPY', 'CUPTI_ACTIVITY_KIND_MEMSET': 'CUPTI_KIND_MEMSET',
    'CUPTI_ACTIVITY_KIND_DEVICE': 'CUPTI_KIND_DEVICE', 'CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL': 'CUPTI_KIND_CONCURRENT_KERNEL',
    'CUPTI_ACTIVITY_KIND_MEMCPY2': 'CUPTI_KIND_MEMCPY_PEER', 'CUPTI_ACTIVITY_KIND_MEMORY2': 'CUPTI_KIND_MEMORY',
    'CUPTI_ACTIVITY_FLAG_MEMCPY_ASYNC': 'MEMCPY_FLAG_ASYNC', 'CUPTI_ACTIVITY_FLAG_MEMSET_ASYNC': 'MEMSET_FLAG_ASYNC',
    'CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION': 'MEMORY_ALLOCATION',
    'CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE': 'MEMORY_RELEASE', 'CUPTI_ACTIVITY_FLAG_FLUSH_FORCED': 'FLUSH_FORCED',
    'CUPTI_CB_DOMAIN_DRIVER_API': 'CUPTI_DOMAIN_DRIVER', 'CUPTI_API_ENTER': 'CUPTI_API_ENTER_', 'CUPTI_API_EXIT': 'CUPTI_API_EXIT_',
    'CUPTI_ACTIVITY_MEMCPY_KIND_HTOD': '1', 'CUPTI_ACTIVITY_MEMCPY_KIND_DTOH': '2', 'CUPTI_ACTIVITY_MEMCPY_KIND_DTOD': '8',
    'CUPTI_ACTIVITY_MEMCPY_KIND_HTOH': '9', 'CUPTI_ACTIVITY_MEMCPY_KIND_PTOP': '10', 'CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE': '1',
    'CUPTI_ACTIVITY_MEMORY_KIND_PINNED': '2', 'CUPTI_ACTIVITY_MEMORY_KIND_DEVICE': '3', 'CUPTI_ACTIVITY_MEMORY_KIND_ARRAY': '4',
    'CUPTI_ACTIVITY_MEMORY_KIND_MANAGED': '5', 'CUPTI_ACTIVITY_MEMORY_KIND_DEVICE_STATIC': '6',
    'CUPTI_ACTIVITY_MEMORY_KIND_MANAGED_STATIC': '7',
    'CUPTI_CB_DOMAIN_RUNTIME_API': 'CUPTI_DOMAIN_RUNTIME', 'CUPTI_RUNTIME_TRACE_CBID_cudaDeviceReset_v3020': 'CUPTI_DEVICE_RESET',
}
# Of cuda.h, which cupti.h includes.
ATTRIBUTES = {
    'WARP_SIZE': 'CUDA_WARP', 'CLOCK_RATE': 'CUDA_CLOCK', 'MULTIPROCESSOR_COUNT': 'CUDA_SMS', 'MEMORY_CLOCK_RATE': 'CUDA_MEMORY_CLOCK',
    'GLOBAL_MEMORY_BUS_WIDTH': 'CUDA_BUS_BITS', 'MAX_THREADS_PER_MULTIPROCESSOR': 'CUDA_THREADS_PER_SM',
    'COMPUTE_CAPABILITY_MAJOR': 'CUDA_CAP_MAJOR', 'COMPUTE_CAPABILITY_MINOR': 'CUDA_CAP_MINOR',
    'MAX_SHARED_MEMORY_PER_MULTIPROCESSOR': 'CUDA_SHARED_PER_SM', 'MAX_REGISTERS_PER_MULTIPROCESSOR': 'CUDA_REGISTERS_PER_SM',
    'MAX_BLOCKS_PER_MULTIPROCESSOR': 'CUDA_BLOCKS_PER_SM',
}
NVTX_NUMBERS = {
    'TABLE_CALLBACKS': 'NVTX_ETID_CALLBACKS', 'MODULE_CORE': 'NVTX_CB_MODULE_CORE', 'MODULE_CORE2': 'NVTX_CB_MODULE_CORE2',
    'CORE_MARK_EX': 'NVTX_CBID_CORE_MarkEx', 'CORE_MARK': 'NVTX_CBID_CORE_MarkA', 'CORE_RANGE_START_EX': 'NVTX_CBID_CORE_RangeStartEx',
    'CORE_RANGE_START': 'NVTX_CBID_CORE_RangeStartA', 'CORE_RANGE_END': 'NVTX_CBID_CORE_RangeEnd',
    'CORE_PUSH_EX': 'NVTX_CBID_CORE_RangePushEx', 'CORE_PUSH': 'NVTX_CBID_CORE_RangePushA', 'CORE_POP': 'NVTX_CBID_CORE_RangePop',
    'CORE_NAME_THREAD': 'NVTX_CBID_CORE_NameOsThreadA', 'DOMAIN_MARK': 'NVTX_CBID_CORE2_DomainMarkEx',
    'DOMAIN_RANGE_START': 'NVTX_CBID_CORE2_DomainRangeStartEx', 'DOMAIN_RANGE_END': 'NVTX_CBID_CORE2_DomainRangeEnd',
    'DOMAIN_PUSH': 'NVTX_CBID_CORE2_DomainRangePushEx', 'DOMAIN_POP': 'NVTX_CBID_CORE2_DomainRangePop',
    'DOMAIN_REGISTER': 'NVTX_CBID_CORE2_DomainRegisterStringA', 'DOMAIN_CREATE': 'NVTX_CBID_CORE2_DomainCreateA',
    'DOMAIN_DESTROY': 'NVTX_CBID_CORE2_DomainDestroy', 'MESSAGE_ASCII': 'NVTX_MESSAGE_TYPE_ASCII',
    'MESSAGE_REGISTERED': 'NVTX_MESSAGE_TYPE_REGISTERED', 'MESSAGE_WIDE': 'NVTX_MESSAGE_TYPE_UNICODE',
    'CORE_MARK_WIDE': 'NVTX_CBID_CORE_MarkW', 'CORE_RANGE_START_WIDE': 'NVTX_CBID_CORE_RangeStartW',
    'CORE_PUSH_WIDE': 'NVTX_CBID_CORE_RangePushW', 'DOMAIN_REGISTER_WIDE': 'NVTX_CBID_CORE2_DomainRegisterStringW',
    'DOMAIN_CREATE_WIDE': 'NVTX_CBID_CORE2_DomainCreateW',
}
# Driver functions that a recording must have, and what the recorded ones are called like.
NEEDED = ('cuLaunchKernel', 'cuLaunchKernel_ptsz', 'cuLaunchKernelEx', 'cuLaunchKernelEx_ptsz', 'cuLaunchCooperativeKernel', 'cuGraphLaunch',
          'cuMemcpyHtoD_v2', 'cuMemcpyHtoDAsync_v2', 'cuMemcpyDtoHAsync_v2', 'cuMemcpyDtoDAsync_v2_ptsz', 'cuMemcpyAsync', 'cuMemsetD8Async',
          'cuMemsetD32Async', 'cuMemAlloc_v2', 'cuMemFree_v2', 'cuMemAllocAsync', 'cuMemFreeAsync', 'cuMemAllocFromPoolAsync',
          'cuMemAllocManaged', 'cuStreamSynchronize', 'cuEventSynchronize', 'cuCtxSynchronize', 'cuMemcpyPeerAsync', 'cuCtxSynchronize_v2',
          'cuMemcpyBatchAsync', 'cuMemcpyBatchAsync_v2', 'cuMemPrefetchAsync_v2', 'cuMemcpyWithAttributesAsync', 'cuLaunchHostFunc_v2')
LIKE = re.compile(r'cu(Launch|GraphLaunch|Mem|Module(Load|GetFunction)|LibraryLoad|(Ctx|Stream|Event)Synchronize)')

NVTX_PROGRAM = '''
#include <nvtx3/nvToolsExt.h>
#include <stdio.h>
int main(void)
{
	nvtxDomainHandle_t d = nvtxDomainCreateA("loader");
	nvtxStringHandle_t s = nvtxDomainRegisterStringA(d, "registered");
	nvtxEventAttributes_t a = { 0 }, r = { 0 };
	a.version = r.version = NVTX_VERSION;
	a.size = r.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
	a.messageType = NVTX_MESSAGE_TYPE_ASCII;
	a.message.ascii = "attributes";
	r.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
	r.message.registered = s;
	nvtxRangeId_t id = nvtxRangeStartA("across threads");
	int depth[4] = { nvtxRangePushA("outer"), nvtxRangePushEx(&a) };
	nvtxMarkA("mark");
	depth[2] = nvtxDomainRangePushEx(d, &r);
	nvtxDomainRangePop(d);
	nvtxRangePop();
	depth[3] = nvtxRangePop();
	nvtxRangeEnd(id);
	/* Ranges of domains are stacks of their own: these cross. */
	int crossed[4] = { nvtxRangePushW(L"gr\\u00f6\\u00dfer \\U0001f600"), nvtxDomainRangePushEx(d, &r) };
	crossed[2] = nvtxRangePop();
	crossed[3] = nvtxDomainRangePop(d);
	nvtxMarkA("after");
	nvtxDomainDestroy(d);
	printf("%d %d %d %d %d %d %d %d %d\\n", depth[0], depth[1], depth[2], depth[3], crossed[0], crossed[1], crossed[2], crossed[3],
	       nvtxRangePop());
	return 0;
}
'''


class Release:
    """What the Python packages of one CUDA release hold."""
    def __init__(self, name):
        self.name = name
        found = glob.glob(os.path.join(against_xprof.CACHE, f'venv-cupti{name}', 'lib/python3*/site-packages/nvidia'))
        if not found:
            sys.exit('run scripts/bootstrap cupti first')
        self.includes = sorted(glob.glob(f'{found[0]}/*/include'))
        self.header = glob.glob(f'{found[0]}/*/include/cupti_activity.h')[0]
        self.library = glob.glob(f'{found[0]}/*/lib/libcupti.so.1*')[0]
        self.nvtx = glob.glob(f'{found[0]}/*/include/nvtx3/nvToolsExt.h')

    def text(self, name):
        path = os.path.join(os.path.dirname(self.header), name)
        if not os.path.exists(path):    # older records had no header of their own in 12.0
            return ''
        with open(path, encoding='utf-8', errors='replace') as f:
            return f.read()

    def versions(self, record, oldest):
        """Versions of a record that the headers know, from `oldest` on."""
        text = self.text('cupti_activity.h') + self.text('cupti_activity_deprecated.h')
        found = {int(v) for v in re.findall(rf'}} CUpti_Activity{record}(\d+);', text)}
        return sorted(v for v in found if v >= oldest)


def compile_check(c, release, scratch, lines, includes):
    """Each line is an assertion with a name of its own: those that fail are named."""
    source = os.path.join(scratch, 'check.c')
    with open(source, 'w') as f:
        f.write('\n'.join(includes) + '\n#include <stddef.h>\n' + '\n'.join(lines) + '\nint unused;\n')
    flags = ['-iquote', INSTRUMENT] + [f'-I{d}' for d in (os.path.join(scratch, 'shim'), *release.includes)]
    got = subprocess.run(['cc', '-std=gnu11', '-w', '-fsyntax-only', *flags, source], capture_output=True, text=True, check=False)
    failed = re.findall(r'static assertion failed: "([^"]*)"', got.stderr)
    c.equal(f'{release.name}: assertions that do not hold', failed, [])
    c.passed += max(0, len(lines) - len(failed) - 1) if failed or got.returncode == 0 else 0
    if got.returncode and not failed:
        c.equal(f'{release.name}: the check compiles', got.stderr[:1500], '')


def say(condition, name):
    return f'_Static_assert({condition}, "{name}");'


def check_layout(c, release, scratch):
    lines = []
    for record, oldest, fields in RECORDS:
        versions = release.versions(record, oldest)
        c.holds(f'{release.name}: knows {record} from version {oldest} on', versions)
        for v in versions:
            struct = f'CUpti_Activity{record}{v}'
            lines += [say(f'offsetof({struct}, {field}) == {ours}', f'{struct}.{field}') for field, ours in fields.items()]
            if (record, v) in SIZES:
                lines.append(say(f'sizeof({struct}) == {SIZES[record, v]}', f'size of {struct}'))
    lines += [say(f'offsetof(CUpti_CallbackData, {field}) == {ours}', f'CUpti_CallbackData.{field}') for field, ours in CALLBACK.items()]
    lines += [say(f'{theirs} == {ours}', theirs) for theirs, ours in NUMBERS.items()]
    lines += [say(f'CU_DEVICE_ATTRIBUTE_{theirs} == {ours}', theirs) for theirs, ours in ATTRIBUTES.items()]
    # Names that both have are seen before theirs is included.
    ours_first = ['#define CUPTI_API_ENTER CUPTI_API_ENTER_', '#define CUPTI_API_EXIT CUPTI_API_EXIT_', '#include "cupti_abi.h"',
                  '#undef CUPTI_API_ENTER', '#undef CUPTI_API_EXIT', '#include <cupti.h>']
    compile_check(c, release, scratch, lines, ours_first)


def check_callbacks(c, release):
    names = {int(n): name for name, n in
             re.findall(r'CUPTI_DRIVER_TRACE_CBID_(cu\w+)\s*=\s*(\d+)', release.text('cupti_driver_cbid.h'))}
    with open(os.path.join(INSTRUMENT, 'cupti_abi.h')) as f:
        listed, ending = (re.findall(r'R\((\d+), (\d+)\)', part) for part in f.read().split('#define CUPTI_RECORDED')[1].split('#define CUPTI_ENDING'))
    ranges = [(int(a), int(b)) for a, b in listed]
    ends = sorted(names[i] for a, b in ending for i in range(int(a), int(b) + 1))
    c.equal(f'{release.name}: functions that end a context', ends,
            ['cuCtxDestroy_v2', 'cuDevicePrimaryCtxRelease', 'cuDevicePrimaryCtxRelease_v2', 'cuDevicePrimaryCtxReset', 'cuDevicePrimaryCtxReset_v2'])
    recorded = {names[i] for a, b in ranges for i in range(a, b + 1) if i in names}
    known = {n for n in NEEDED if n in names.values()}
    c.equal(f'{release.name}: functions that are not recorded', sorted(known - recorded), [])
    c.equal(f'{release.name}: functions that should not be', sorted(n for n in recorded if not LIKE.match(n)), [])
    c.holds(f'{release.name}: numbers below our bound', max(names) < 1024)


def check_nvtx(c, release, scratch):
    with open(os.path.join(INSTRUMENT, 'nvtx.c')) as f:
        text = f.read()
    enums = '\n'.join('enum {' + body + '};' for body in re.findall(r'^enum \{(.*?)\};', text, re.S | re.M))
    lines = [enums] + [say(f'{ours} == {theirs}', ours) for ours, theirs in NVTX_NUMBERS.items()]
    for field, ours in (('size', 'ATTRIBUTES_SIZE'), ('messageType', 'ATTRIBUTES_MESSAGE_TYPE'), ('message', 'ATTRIBUTES_MESSAGE')):
        lines.append(say(f'offsetof(nvtxEventAttributes_t, {field}) == {ours}', f'nvtxEventAttributes_t.{field}'))
    lines.append(say('offsetof(NvtxExportTableCallbacks, GetModuleFunctionTable) == 8', 'NvtxExportTableCallbacks'))
    compile_check(c, release, scratch, lines, ['#include <nvtx3/nvToolsExt.h>'])

    source, program = os.path.join(scratch, 'ranges.c'), os.path.join(scratch, f'ranges{release.name}')
    with open(source, 'w') as f:
        f.write(NVTX_PROGRAM)
    subprocess.run(['cc', '-w', *[f'-I{d}' for d in release.includes], source, '-o', program, '-ldl'], check=True)
    session = f'nvtx{release.name}'
    got = run(['record', '--logdir', scratch, '--session', session, '--host', 'h', '--no-gpu', '--', program])
    c.equal(f'{release.name}: depths of ranges', (got.returncode, got.stdout), (0, '0 1 0 0 0 0 0 0 -2\n'))
    trace = run(['tool', 'trace_viewer', scratch, '--run', session, '--format', 'xprof'])
    events = {e['name']: e for e in json.loads(trace.stdout)['traceEvents'] if e.get('ph') == 'X'}
    c.equal(f'{release.name}: ranges and marks', sorted(set(events) - {'process start', 'process stop'}),
            ['across threads', 'after', 'attributes', 'gr\u00f6\u00dfer \U0001f600', 'mark', 'outer', 'registered'])
    c.equal(f'{release.name}: domain', events['registered']['args'].get('nvtx_domain'), 'loader')
    order = [events[n]['ts'] for n in ('across threads', 'outer', 'attributes', 'mark', 'registered')]
    c.equal(f'{release.name}: in the order of their begins', order, sorted(order))


def run(args, **env):
    keep = {k: v for k, v in os.environ.items() if not k.startswith(('STANDIN_', 'SS_', 'CUDA_', 'NVTX_', 'LD_', 'VIRTUAL_ENV'))}
    return subprocess.run([os.path.join(BUILD, 'stepscope'), *args], capture_output=True, text=True, timeout=120, check=False,
                          env=dict(keep, **env))


def check_library(c, release, scratch):
    """Without a driver, and with one that is none."""
    old = release.name != '135'
    alone = run(['doctor', '--gpu', '--port', '65000'], SS_TRACE_CUPTI=release.library).stdout
    want = 'ok    CUPTI' if old else 'does not work without a driver (error 999)'
    c.holds(f'{release.name}: loads without a driver, or says why not: {alone}', want in alone and 'driver is missing' in alone)
    standin = os.path.join(BUILD, 'tests/standin')
    got = run(['record', '--logdir', scratch, '--session', f'real{release.name}', '--', os.path.join(standin, 'gpu_plain'), '3'],
              SS_TRACE_CUPTI=release.library, LD_LIBRARY_PATH=standin)
    want = 'CUPTI could not be initialized' if old else 'does not work without a driver'
    c.equal(f'{release.name}: the program runs', got.returncode, 0)
    c.holds(f'{release.name}: record says why: {got.stderr}', want in got.stderr)


def check_xprof(c, scratch):
    """A recording of the stand-in GPU in XProf."""
    logdir, standin = os.path.join(scratch, 'standin'), os.path.join(BUILD, 'tests/standin')
    subprocess.run([os.path.join(standin, 'gpu_static'), '8', logdir], check=True, stdout=subprocess.DEVNULL,
                   env=dict(os.environ, LD_LIBRARY_PATH=standin))
    folder = os.path.join(logdir, 'plugins/profile/run')
    copy = os.path.join(scratch, 'copy')
    os.mkdir(copy)
    with open(os.path.join(folder, 'h.xplane.pb'), 'rb') as f, open(os.path.join(copy, 'h.xplane.pb'), 'wb') as g:
        g.write(f.read())
    requests, answers = os.path.join(scratch, 'requests'), os.path.join(scratch, 'answers')
    with open(requests, 'w') as f:
        json.dump([{'id': tool, 'files': [os.path.join(copy, 'h.xplane.pb')], 'tool': tool, 'params': {}}
                   for tool in ('kernel_stats', 'memory_profile')], f)
    subprocess.run([against_xprof.XPROF, os.path.join(HERE, 'xprof_answers.py'), requests, answers], check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    with open(answers) as f:
        theirs = {a['id']: json.loads(a['answer']) for a in map(json.loads, f)}
    ours = {tool: json.loads(run(['tool', tool, logdir, '--format', 'xprof']).stdout) for tool in theirs}
    c.equal('XProf: kernels', ours['kernel_stats']['rows'], theirs['kernel_stats']['rows'])
    summaries = [{k: v['profileSummary'] for k, v in a['memory_profile']['memoryProfilePerAllocator'].items()} for a in (ours, theirs)]
    c.equal('XProf: memory', summaries[0], summaries[1])
    c.holds('XProf: there is memory, and kernels', summaries[1] and theirs['kernel_stats']['rows'])


def main():
    c = Checks()
    releases = [Release(n) for n in ('120', '129', '135')]
    with tempfile.TemporaryDirectory() as scratch:
        os.makedirs(os.path.join(scratch, 'shim/crt'))
        with open(os.path.join(scratch, 'shim/crt/host_defines.h'), 'w') as f:
            f.write(HOST_DEFINES)
        for release in releases:
            check_layout(c, release, scratch)
            check_callbacks(c, release)
            if release.nvtx:
                check_nvtx(c, release, scratch)
            check_library(c, release, scratch)
        check_xprof(c, scratch)
    print(f'{c.passed} passed, {c.failed} failed')
    return 1 if c.failed else 0


if __name__ == '__main__':
    sys.exit(main())
