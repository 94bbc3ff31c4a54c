#!/usr/bin/env python3
"""Writes the samples of tests/data/others: an export of Nsight Systems and a trace of Perfetto, small and by hand, in the form in which
these tools write them (docs/formats/others.md)."""
import os
import sqlite3
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), 'lib'))
from xspace import field, varint

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'others')
PID, TID = 9, 10
THREAD, PROCESS = PID << 24 | TID, PID << 24


def nsys(path):
    """Four steps of two kernels, a copy and their calls, within NVTX ranges of steps and operators."""
    if os.path.exists(path):
        os.remove(path)
    db = sqlite3.connect(path)
    db.executescript('''
        PRAGMA page_size = 512;
        CREATE TABLE StringIds(id INTEGER PRIMARY KEY, value TEXT);
        INSERT INTO StringIds VALUES (1, 'void gemm<float>(float*)'), (2, 'softmax'), (3, 'cudaLaunchKernel_v7000'), (4, 'cudaMemcpyAsync_v3020'),
            (5, 'main'), (6, 'poll');
        CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(start, end, deviceId, contextId, streamId, correlationId, globalPid, demangledName, gridX, gridY,
            gridZ, blockX, blockY, blockZ, registersPerThread, staticSharedMemory, dynamicSharedMemory);
        CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY(start, end, deviceId, contextId, streamId, correlationId, globalPid, bytes, copyKind, srcKind, dstKind);
        CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME(start, end, globalTid, correlationId, nameId, returnValue, eventClass);
        CREATE TABLE NVTX_EVENTS(start, end, eventType, text, textId, globalTid);
        CREATE TABLE OSRT_API(start, end, globalTid, nameId);
        CREATE TABLE ThreadNames(nameId, globalTid);
        CREATE TABLE TARGET_INFO_GPU(id, name, totalMemory, memoryBandwidth, clockRate, smCount, computeMajor, computeMinor);
        INSERT INTO TARGET_INFO_GPU VALUES (0, 'NVIDIA A100-SXM4-80GB', 84990623744, 2039040000000, 1410000000, 108, 8, 0);
        CREATE TABLE TARGET_INFO_SYSTEM_ENV(name, value);
        INSERT INTO TARGET_INFO_SYSTEM_ENV VALUES ('Hostname', 'node7');
        CREATE TABLE TARGET_INFO_SESSION_START_TIME(utcEpochNs);
        INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES (1700000000000000000);''')
    run = db.execute
    run('INSERT INTO ThreadNames VALUES (5, ?)', (THREAD,))
    for step in range(4):
        at, c = 1_000_000 * step, 10 * step
        run('INSERT INTO NVTX_EVENTS VALUES (?, ?, 59, ?, NULL, ?)', (at, at + 950_000, f'step {step}', THREAD))
        run('INSERT INTO NVTX_EVENTS VALUES (?, ?, 59, ?, NULL, ?)', (at + 90_000, at + 120_000, f'aten::mm, seq = {step}, sizes = [[8, 8]]', THREAD))
        for k, (name, begin, end) in enumerate(((4, 10_000, 20_000), (3, 100_000, 110_000), (3, 200_000, 210_000))):
            run('INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (?, ?, ?, ?, ?, 0, 0)', (at + begin, at + end, THREAD, c + k, name))
        run('INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (?, ?, 0, 1, 7, ?, ?, 4096, 1, 1, 2)', (at + 30_000, at + 50_000, c, PROCESS))
        for k, (begin, end) in enumerate(((120_000, 520_000), (530_000, 730_000)), 1):
            run('INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (?, ?, 0, 1, 7, ?, ?, ?, 64, 1, 1, 128, 1, 1, 40, 0, 512)',
                (at + begin, at + end, c + k, PROCESS, k))
        run('INSERT INTO OSRT_API VALUES (?, ?, ?, 6)', (at + 800_000, at + 900_000, THREAD))
    db.commit()
    db.execute('VACUUM')
    db.close()


def perfetto(path):
    """A thread with nested slices whose names are held once, a counter, an arrow to a GPU's queue."""
    def packet(body):
        return field(1, field(10, 1) + body)

    def event(at, kind, track, more=b''):
        return packet(field(8, at) + field(11, field(9, kind) + field(11, track) + more))

    out = packet(field(13, 1) + field(12, field(2, field(1, 1) + field(2, 'work'))))
    out += packet(field(60, field(1, 7) + field(4, field(1, 12) + field(2, 34) + field(5, 'main'))))
    out += packet(field(60, field(1, 6) + field(3, field(1, 12) + field(6, 'python'))))
    out += packet(field(60, field(1, 8) + field(2, 'COMPUTE GPU [0] QUEUE [0]')))
    out += packet(field(60, field(1, 9) + field(5, 6) + field(2, 'queue length') + field(8, b'')))
    for i in range(4):
        at = 1000 + 10_000 * i
        flow = varint(47 << 3 | 1) + (i + 1).to_bytes(8, 'little')
        out += event(at, 1, 7, field(10, 1)) + event(at + 100, 1, 7, field(23, 'launch') + field(22, 'hip_api') + flow)
        out += event(at + 300, 2, 7) + event(at + 900, 2, 7) + event(at + 500, 4, 9, field(30, i))
        out += event(at + 1000, 1, 8, field(23, 'gemm') + field(22, 'kernel_dispatch') + field(4, field(10, 'corr_id') + field(3, i)) + flow)
        out += event(at + 9000, 2, 8)
    with open(path, 'wb') as f:
        f.write(out)


if __name__ == '__main__':
    for name in ('nsys', 'perfetto'):
        os.makedirs(os.path.join(HERE, name, 'run'), exist_ok=True)
    nsys(os.path.join(HERE, 'nsys', 'run', 'node7.sqlite'))
    perfetto(os.path.join(HERE, 'perfetto', 'run', 'app.pftrace'))
