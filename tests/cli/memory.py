"""What tools of many hosts and the export to HTML hold of each event, and the overview of each thread: peaks of profiles of two sizes, less each other;
and that databases which name more GPUs than any machine has stay within the bound of docs/security.md.

The program as it is released, on one processor: how many threads come to have pieces of the heap of their own is chance. So is how
pages of the file are read ahead, some MB of it; the limits leave a third, and the least of three tries counts.
"""
import os
import sqlite3
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), 'lib'))
import checks
import xspace

ROOT = os.path.dirname(os.path.dirname(HERE))
FEW, MANY = 200_000, 1_200_000

# Bytes for each event more: a file has 39 of each
LIMITS = {
    'stragglers': 60,
    'critical_path': 56,
    'what_if': 84,
    'html': 150,
}
LINE_LIMIT = 2500
PLANE_LIMIT = 2500
GPUS = 80_000
FILE_LIMIT = (24, 96 << 20)     # for each byte of a file that is no XSpace, and once: the budget, and what a process takes


def make(top, generator, events):
    path = os.path.join(top, f'{events}.xplane.pb')
    subprocess.run([generator, path, str(events)], stdout=subprocess.DEVNULL, check=True)
    return path


def peak(binary, what, path, top):
    """In bytes; None where the program failed."""
    command = ['export', path, '--to', 'html', '--output', os.path.join(top, 'out.html')] if what == 'html' else \
        ['tool', what, path, '--format', 'json']
    # The system counts what this process had when it forked as well: a shell has less than any of them
    processor = str(min(os.sched_getaffinity(0)))
    with subprocess.Popen(['taskset', '-c', processor, binary] + command, stdout=subprocess.DEVNULL) as run:
        _, status, used = os.wait4(run.pid, 0)
        run.returncode = os.waitstatus_to_exitcode(status)
    return used.ru_maxrss << 10 if run.returncode == 0 else None


def each_event(binary, what, paths, top):
    """Bytes for each event more, in the best of three tries: what else is resident is chance and only adds."""
    peaks = {events: [] for events in paths}
    for _ in range(3):
        for events, path in paths.items():
            peaks[events].append(peak(binary, what, path, top))
        if None in peaks[FEW] + peaks[MANY]:
            return None
        bytes_each = (min(peaks[MANY]) - min(peaks[FEW])) / (MANY - FEW)
        if bytes_each <= LIMITS[what]:
            break
    return bytes_each


def lines(top, n, plane):
    """A profile of n threads or streams with an event each, 29 bytes a line."""
    path = os.path.join(top, f'lines{n}.xplane.pb')
    with open(path, 'wb') as f:
        f.write(xspace.serialize([[1, 2, [[2, 2, plane], [4, 2, [[1, 0, 1], [2, 2, [[1, 0, 1], [2, 2, b'k']]]]],
                                          *[[3, 2, [[1, 0, i + 1], [2, 2, b's%d' % i], [3, 0, 1000], [4, 2, [[1, 0, 1], [2, 0, i * 1000], [3, 0, 800]]]]]
                                            for i in range(n)]]]]))
    return path


def planes(top, n):
    """A profile of n planes without lines, long enough that all are read."""
    path = os.path.join(top, f'planes{n}.xplane.pb')
    with open(path, 'wb') as f:
        f.write(xspace.serialize([[1, 2, [[1, 0, i + 1], [2, 2, b'p%0300d' % i]]] for i in range(n)]))
    return path


def each_plane(binary, top):
    """Bytes for each plane more. Had each a block of memory for what is derived of it, it were 4,000 at least."""
    few, many = (min(peak(binary, 'trace_viewer@', planes(top, n), top) for _ in range(3)) for n in (5_000, 45_000))
    return (many - few) / 40_000


def each_line(binary, plane, top):
    """Bytes for each line more, or less where this process is larger. Had each room for a batch of claims, it were 4,000 at least."""
    few, many = (min(peak(binary, 'overview_page', lines(top, n, plane), top) for _ in range(3)) for n in (2_000, 22_000))
    return (many - few) / 20_000


NSYS = ("CREATE TABLE StringIds(id, value); INSERT INTO StringIds VALUES(1, 'gemm');"
        'CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(start, end, deviceId, streamId, globalPid, demangledName);',
        'INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES(?1, ?1 + 900, ?2, 7, 16777216, 1)')
ROCPD = ("CREATE TABLE rocpd_info_agent_0a(id, type); CREATE TABLE rocpd_info_kernel_symbol_0a(id, display_name);"
         "INSERT INTO rocpd_info_kernel_symbol_0a VALUES(4, 'gemm');"
         'CREATE TABLE rocpd_string_0a(id, string); CREATE TABLE rocpd_kernel_dispatch_0a(start, end, pid, tid, agent_id, kernel_id, queue_id);',
         'INSERT INTO rocpd_kernel_dispatch_0a VALUES(?1, ?1 + 900, 1, 1, ?2, 4, 2)')


def gpus(top, name, schema, insert, more=None):
    """A database in which each of GPUS devices ran one kernel."""
    path = os.path.join(top, name)
    with sqlite3.connect(path) as db:
        db.executescript(schema)
        if more:
            db.executemany(more, ((i,) for i in range(GPUS)))
        db.executemany(insert, ((1000 * i, i) for i in range(GPUS)))
    db.close()
    return path


class Limits(checks.Counts):
    def within(self, what, count, limit, unit):
        """The count is None where the program failed."""
        good = count is not None and count <= limit
        self.check(what, good, f'{count} {unit}, {limit} at most')
        if good and os.environ.get('VERBOSE'):
            print(f'{what}: {count:.0f} {unit}')


def check_all(binary, top):
    c = Limits()
    generator = os.path.join(top, 'gen_xspace')
    subprocess.run(['cc', '-std=c11', '-D_DEFAULT_SOURCE', '-O2', os.path.join(ROOT, 'bench/gen_xspace.c'), '-o', generator, '-lm'],
                   check=True)
    paths = {events: make(top, generator, events) for events in (FEW, MANY)}
    for what, limit in LIMITS.items():
        bytes_each = each_event(binary, what, paths, top)
        c.within(what, bytes_each if bytes_each and bytes_each > 0 else None, limit, 'bytes for each event')
    for plane in (b'/host:CPU', b'/device:GPU:0'):
        c.within(plane.decode(), each_line(binary, plane, top), LINE_LIMIT, 'bytes for each line')
    c.within('planes', each_plane(binary, top), PLANE_LIMIT, 'bytes for each plane')
    for path in (gpus(top, 'nsys.sqlite', *NSYS), gpus(top, 'rocpd.db', *ROCPD, "INSERT INTO rocpd_info_agent_0a VALUES(?, 'GPU')")):
        limit = FILE_LIMIT[0] * os.path.getsize(path) + FILE_LIMIT[1]
        c.within(os.path.basename(path), peak(binary, 'overview_page', path, top), limit, 'bytes')
    return c


if __name__ == '__main__':
    sys.exit(checks.main('memory', check_all))
