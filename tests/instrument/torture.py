#!/usr/bin/env python3
"""libsstrace in programs that fork, unload it, end threads by the thousand, are interrupted by signals, and stop while
others record: as it is built, and with a sanitizer for data races. Nothing hangs or crashes, and every event is in the
profile or counted as dropped.

    tests/instrument/torture.py --build build
"""
import argparse
import collections
import glob
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
XSPACE_PLANES, PLANE_NAME, PLANE_LINES, PLANE_EVENT_NAMES = 1, 2, 3, 4
LINE_ID, LINE_NAME, LINE_EVENTS = 1, 2, 4
EVENT_NAME, EVENT_OFFSET, EVENT_DURATION = 1, 2, 3


class Broken(Exception):
    pass


def varint(b, at):
    v = shift = 0
    while True:
        v |= (b[at] & 0x7f) << shift
        at += 1
        if b[at - 1] < 0x80:
            return v, at
        shift += 7
        if shift > 63:
            raise Broken('a varint of more than ten bytes')


def fields(b):
    at = 0
    while at < len(b):
        key, at = varint(b, at)
        if key & 7 == 0:
            value, at = varint(b, at)
        elif key & 7 == 1:
            value, at = b[at:at + 8], at + 8
        elif key & 7 == 2:
            n, at = varint(b, at)
            value, at = b[at:at + n], at + n
        else:
            raise Broken(f'wire type {key & 7}')
        if at > len(b):
            raise Broken('a field that is longer than what it is in')
        yield key >> 3, value


def last(message, number, default=0):
    value = default
    for n, v in fields(message):
        if n == number:
            value = v
    return value


def names_of(plane):
    entries = [v for n, v in fields(plane) if n == PLANE_EVENT_NAMES]
    return {last(e, 1): bytes(last(last(e, 2, b''), 2, b'')).decode() for e in entries}


def events_of(path):
    """How often each name stands in a profile; raises Broken if it is not one, or out of order, or an end is missing."""
    count = collections.Counter()
    with open(path, 'rb') as f:
        space = memoryview(f.read())
    for plane in (v for n, v in fields(space) if n == XSPACE_PLANES):
        if last(plane, PLANE_NAME, b'') != b'/host:CPU':
            continue
        names = names_of(plane)
        seen = set()
        for line in (v for n, v in fields(plane) if n == PLANE_LINES):
            thread = last(line, LINE_ID)
            name = bytes(last(line, LINE_NAME, b'')).decode()
            before = 0
            seen.add(thread)
            for event in (v for n, v in fields(line) if n == LINE_EVENTS):
                of = dict(fields(event))
                if of[EVENT_OFFSET] < before:
                    raise Broken(f'{path}: an event of {name} stands behind a later one')
                before = of[EVENT_OFFSET]
                if of[EVENT_DURATION] == 0:
                    raise Broken(f'{path}: an event of {name} has no end')
                count[names[of[EVENT_NAME]]] += 1
    return count


class Tests:
    def __init__(self):
        self.passed = self.failed = 0

    def result(self, name, why):
        if why:
            self.failed += 1
            print(f'{name}: {why}')
        else:
            self.passed += 1

    def run(self, name, command, env, check, seconds=75):
        """The program's status and output, then what its profiles hold."""
        with tempfile.TemporaryDirectory() as logdir:
            try:
                done = subprocess.run([*command[:2], logdir, *command[2:]], capture_output=True, text=True, check=False,
                                      timeout=seconds, env=dict(os.environ, **env))
            except subprocess.TimeoutExpired:
                self.result(name, f'does not end within {seconds} s')
                return
            why = f'status {done.returncode}: {(done.stderr or done.stdout)[-3000:]}' if done.returncode else ''
            try:
                why = why or check(logdir, done.stdout)
            except (Broken, IndexError, KeyError) as e:
                why = f'{type(e).__name__}: {e}'
            self.result(name, why)


def profiles(logdir):
    return sorted(glob.glob(logdir + '/plugins/profile/*/*.xplane.pb'))


def whole(logdir, out):
    """All there are can be read, nothing is left beside them, and every event is there or was counted."""
    found = profiles(logdir)
    if not found:
        return 'no profile'
    children = 0
    for path in found:
        count = events_of(path)
        if '/children/' in path:
            children += 1
            if count.total() != 6:
                return f'{path} of a child has {count.total()} events, not 6'
        elif count['in a child']:
            return f'{path} has {count["in a child"]} events of children'
    for line in out.splitlines():
        words = line.split()
        attempted, dropped, path = int(words[1]), int(words[3]), words[5]
        recorded = events_of(path).total()
        if recorded + dropped != attempted:
            return f'{path}: {recorded} events and {dropped} dropped of {attempted}'
        print(f'{os.path.basename(os.path.dirname(path))}: {attempted} events, {dropped} dropped')
    if glob.glob(logdir + '/**/*.tmp', recursive=True):
        return 'a temporary file is left'
    return ''


def library_sources():
    with open(f'{ROOT}/instrument/CMakeLists.txt', encoding='utf-8') as f:
        listed = re.search(r'set\(SSTRACE_SOURCES ([^)]*)\)', f.read())
    return [name.replace('${CMAKE_SOURCE_DIR}', ROOT) if '/' in name else f'{ROOT}/instrument/{name}' for name in listed[1].split()]


def compile_all(out, args):
    sources = library_sources()
    command = ['clang', '-std=gnu11', '-O1', '-g1', '-fno-strict-aliasing', '-D_GNU_SOURCE', '-DSS_VERSION="0"', f'-I{ROOT}/instrument', f'-I{ROOT}/src', *args, *sources,
               '-o', out, '-lpthread', '-ldl']
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(done.stderr)
    return out


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--build', default='build')
    p.add_argument('--ms', default='500', help='how long each torture takes, about')
    a = p.parse_args()
    build = os.path.abspath(a.build)
    where = build + '/torture'
    os.makedirs(where, exist_ok=True)
    t = Tests()
    kinds = ('threads', 'stop', 'exits', 'fork', 'cancels', 'signals')
    for kind in kinds:
        t.run(kind, [f'{build}/tests/torture', kind, a.ms], {}, whole)

    raced = compile_all(f'{where}/torture-tsan', ['-fsanitize=thread', f'{ROOT}/tests/instrument/torture.c'])
    # The stop has the kernel put other memory in the place of buffers that owners may still write to: that is what it is for.
    with open(f'{where}/suppressions', 'w', encoding='utf-8') as f:
        f.write('race:ss_rec_end_extent\n')
    options = {'TSAN_OPTIONS': f'halt_on_error=1 exitcode=66 die_after_fork=0 suppressions={where}/suppressions'}
    for kind in kinds:
        # The sanitizer's own state does not survive a fork of several threads, nor one in a handler.
        if kind not in ('fork', 'signals'):
            t.run(f'{kind}, races', [raced, kind, a.ms], options, whole)

    # Two libraries that are unloaded: ours, and a plug-in with the recorder in it.
    plugin = compile_all(f'{where}/plugin.so', ['-shared', '-fPIC'])
    shared = f'{build}/instrument/libsstrace.so'
    for name, library in (('libsstrace.so', shared), ('a plug-in', plugin)):
        t.run(f'{name} is unloaded', [f'{build}/tests/torture_unload', library], {}, lambda logdir, out: '' if len(profiles(logdir)) == 6 else 'profiles are missing')
    print(f'{t.passed} passed, {t.failed} failed')
    return t.failed > 0


if __name__ == '__main__':
    sys.exit(main())
