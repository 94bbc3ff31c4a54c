"""What tools of many hosts and the export to HTML hold of each event: peaks of profiles of two sizes, less each other.

The program as it is released, on one processor: how many threads come to have pieces of the heap of their own is chance. So is how
pages of the file are read ahead, some MB of it; the limits leave a third, and the least of three tries counts.
"""
import argparse
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
FEW, MANY = 200_000, 1_200_000

# Bytes for each event more: a file has 39 of each
LIMITS = {
    'stragglers': 60,
    'critical_path': 56,
    'what_if': 94,
    'html': 150,
}


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


def main():
    ap = argparse.ArgumentParser(description=__doc__)
    ap.add_argument('--bin', default=os.path.join(ROOT, 'build/stepscope'))
    args = ap.parse_args()
    passed = failed = 0
    with tempfile.TemporaryDirectory() as top:
        generator = os.path.join(top, 'gen_xspace')
        subprocess.run(['cc', '-std=c11', '-D_DEFAULT_SOURCE', '-O2', os.path.join(ROOT, 'bench/gen_xspace.c'), '-o', generator, '-lm'],
                       check=True)
        paths = {events: make(top, generator, events) for events in (FEW, MANY)}
        for what, limit in LIMITS.items():
            bytes_each = each_event(os.path.abspath(args.bin), what, paths, top)
            good = bytes_each is not None and 0 < bytes_each <= limit
            passed, failed = passed + good, failed + (not good)
            if not good:
                print(f'{what}: {bytes_each} bytes for each event, {limit} at most')
            elif os.environ.get('VERBOSE'):
                print(f'{what}: {bytes_each:.0f} bytes for each event')
    print(f'{passed} passed, {failed} failed')
    return failed > 0


if __name__ == '__main__':
    sys.exit(main())
